/* What core asks of its collectors: each function of core/collector.h, of all of them in turn. */
#include "runtime/core/collector.h"

#include "runtime/core/breakpoints.h"

/* In a block's first page the collectors' parts follow the struct. Above them lies a stack for one
 * call (core/on_stack_handler.c). */
enum { PARTS_END = 2048 };

static uint32_t parts_end = sizeof(struct sn_thread);

#define ALL(function, ...)                                                                         \
	for (int i = 0; sn_collectors[i]; i++)                                                     \
		if (sn_collectors[i]->function)                                                    \
	sn_collectors[i]->function(__VA_ARGS__)

static uint32_t aligned(size_t bytes)
{
	return (uint32_t)(bytes + 15) & ~15u;
}

bool sn_collect_load(void)
{
	uint32_t scratch_at = SN_SCRATCH_OFFSET, count = 0;

	parts_end = aligned(sizeof(struct sn_thread));
	for (; sn_collectors[count]; count++) {
		struct sn_collector *collector = sn_collectors[count];
		collector->index = count;
		collector->thread_offset = parts_end;
		collector->scratch_offset = scratch_at;
		parts_end += aligned(collector->thread_bytes);
		scratch_at += aligned(collector->scratch_bytes);
	}
	ALL(load);
	return parts_end <= PARTS_END && scratch_at <= SN_BLOCK_BYTES && count <= SN_COLLECTORS_MAX;
}

void sn_collect_clear(struct sn_thread *thread)
{
	memset(thread + 1, 0, parts_end - sizeof *thread);
}

bool sn_collect_install(enum sn_data_origin origin)
{
	for (int i = 0; sn_collectors[i]; i++)
		if (sn_collectors[i]->install && !sn_collectors[i]->install(origin))
			return false;
	return true;
}

void sn_collect_share(void)
{
	ALL(share);
}

void sn_collect_fork(struct sn_thread *self, const void *function)
{
	ALL(fork, self, function);
}

void sn_collect_seal(struct sn_thread *self)
{
	ALL(seal, self);
}

void sn_collect_image_end(struct sn_thread *self, int64_t now_ns)
{
	ALL(image_end, self, now_ns);
}

void sn_collect_settle(struct sn_thread *self)
{
	ALL(settle, self);
}

void sn_collect_thread_begin(struct sn_thread *thread, enum sn_thread_origin origin)
{
	ALL(thread_begin, thread, origin);
}

void sn_collect_resume(struct sn_thread *thread)
{
	bool are_on = true;

	for (int i = 0; sn_collectors[i]; i++)
		if (sn_collectors[i]->resume && !sn_collectors[i]->resume(thread))
			are_on = false;
	if (thread == sn_self)
		sn_breakpoints_follow(thread);
	thread->is_collected = are_on;
}

void sn_collect_hold(struct sn_thread *self)
{
	ALL(pause, self);
}

void sn_collect_call_in(struct sn_thread *thread)
{
	ALL(call_in, thread);
}

void sn_collect_pause(struct sn_thread *thread)
{
	ALL(pause, thread);
	sn_breakpoints_stop(thread);
}

void sn_collect_pause_all(void)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];
		if (thread && atomic_load(&thread->is_live))
			sn_collect_pause(thread);
	}
}

void sn_collect_thread_end(struct sn_thread *self, int64_t now_ns)
{
	ALL(thread_end, self, now_ns);
}

void sn_collect_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
			bool is_ending)
{
	ALL(account, thread, writer, now_ns, is_ending);
}

void sn_collect_cost(struct sn_thread *self, uint64_t switches)
{
	ALL(cost, self, switches);
}

void sn_collect_trim(struct sn_thread *self, struct sn_frames *frames)
{
	ALL(trim, self, frames);
}

void sn_collect_translate(struct sn_unwind_regs *regs)
{
	ALL(translate, regs);
}

void sn_collect_mapped(const struct sn_map_facts *facts)
{
	ALL(mapped, facts);
}

void sn_collect_after_sample(struct sn_thread *self, uint64_t pc, int64_t cpu_ns)
{
	ALL(after_sample, self, pc, cpu_ns);
}

bool sn_collect_trap(uint64_t data, void *ucontext)
{
	for (int i = 0; sn_collectors[i]; i++)
		if (sn_collectors[i]->trap && sn_collectors[i]->trap(data, ucontext))
			return true;
	return false;
}

void sn_collect_late(struct sn_thread *self, uint32_t stack, int64_t now_ns)
{
	ALL(late, self, stack, now_ns);
}

void sn_collect_wakes(void)
{
	ALL(wakes);
}

void sn_collect_wait_begins(void)
{
	ALL(wait_begins);
}

void sn_collect_wait_is_over(void)
{
	ALL(wait_is_over);
}

bool sn_collect_interrupted(struct sn_thread *self, bool is_fault, void *ucontext)
{
	for (int i = 0; sn_collectors[i]; i++)
		if (sn_collectors[i]->interrupted &&
		    sn_collectors[i]->interrupted(self, is_fault, ucontext))
			return true;
	return false;
}

int64_t sn_collect_left_out_ns(const struct sn_thread *thread)
{
	int64_t sum = 0;

	for (int i = 0; sn_collectors[i]; i++)
		if (sn_collectors[i]->left_out_ns)
			sum += sn_collectors[i]->left_out_ns(thread);
	return sum;
}
