/*
 * Turns one sample of the kernel into one of ours: unwinds the copied stack with the copied
 * registers, and tells for how much CPU time the sample stands.
 */
#include "record/outside_parts.h"

#include "unwind/stack_flags.h"

enum { FRAMES_MAX = 2048 };

/* The registers of SN_OUTSIDE_REGS_MASK in the order in which they come, as DWARF counts them
 * (arch/x86/include/uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip, r8 to r15). */
static const uint8_t dwarf_number[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15 };

size_t sn_outside_stack_read(const uint64_t *words, size_t count, struct sn_outside_sample *out)
{
	size_t at = 1, size;

	if (!count)
		return 0;
	if (words[0] == PERF_SAMPLE_REGS_ABI_64) {
		if (count < at + sizeof(dwarf_number))
			return count;
		for (size_t i = 0; i < sizeof(dwarf_number); i++)
			out->regs.value[dwarf_number[i]] = words[at++];
		out->regs.valid = SN_UNWIND_ALL_VALID;
		out->has_regs = true;
	}
	if (at >= count)
		return count;
	size = words[at++];
	if (!size)
		return at;
	if (size / 8 >= count - at)
		return count;
	out->stack = (const uint8_t *)(words + at);
	out->stack_bytes = words[at + size / 8];
	out->is_stack_full = out->stack_bytes >= size;
	if (out->stack_bytes > size)
		out->stack_bytes = 0;
	return at + size / 8 + 1;
}

/* What a sample holds of counts, in words. */
enum counts { NO_COUNT, COUNT, COUNT_AND_LOST };

static void sample_parse(const struct perf_event_header *header, enum counts counts,
			 struct sn_outside_sample *out)
{
	size_t first = 3 + (size_t)counts, left = (header->size - sizeof(*header)) / 8;
	const uint64_t *words = (const void *)(header + 1);

	*out = (struct sn_outside_sample){ .is_kernel =
						   (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
						   PERF_RECORD_MISC_KERNEL };
	if (left < first)
		return;
	out->pid = (pid_t)(uint32_t)words[0];
	out->tid = (pid_t)(words[0] >> 32);
	out->time_ns = (int64_t)words[1];
	out->cpu = (uint32_t)words[2];
	if (counts != NO_COUNT)
		out->count = words[3];
	sn_outside_stack_read(words + first, left - first, out);
}

static uint8_t stack_flags(const struct sn_unwind_walk_result *walk, bool is_stack_full)
{
	uint8_t flags = sn_unwind_stack_flags(walk);

	if (walk->end == SN_UNWIND_STACK_RANGE && is_stack_full) /* deeper than the copy */
		flags ^= SN_STACK_UNREADABLE | SN_STACK_TOO_DEEP;
	return flags;
}

uint32_t sn_outside_sample_unwind(struct sn_outside *o, struct sn_outside_thread *thread,
				  struct sn_outside_sample *sample)
{
	static uint64_t pcs[FRAMES_MAX];
	uint64_t sp = sample->regs.value[SN_UNWIND_RSP];
	struct sn_unwind_window stack = { sp, sp + sample->stack_bytes, sample->stack };
	struct sn_unwind_target target = { .modules = o->images.modules.items,
					   .module_count = (uint32_t)o->images.modules.count,
					   .generation = o->images.generation,
					   .stacks = &stack,
					   .stack_count = sample->stack_bytes != 0 };
	struct sn_unwind_walk_result walk;

	if (!sample->has_regs)
		return 0;
	sn_unwind_walk(&target, &sample->regs, o->cache, pcs, FRAMES_MAX, &walk);
	if (walk.end == SN_UNWIND_STACK_RANGE && sample->is_stack_full) {
		o->cut_stacks++;
		o->cut_stack_bytes = sample->stack_bytes;
	}
	return sn_outside_file_stack(&o->file, &thread->writer, sample->time_ns, pcs, walk.count,
				     stack_flags(&walk, sample->is_stack_full));
}

void sn_outside_sample_put(struct sn_outside *o, struct sn_outside_thread *thread,
			   const struct sn_outside_sample *sample, uint64_t cpu_ns, uint32_t stack,
			   uint8_t flags)
{
	if (!sn_writer_sample(&thread->writer, sample->time_ns, cpu_ns, stack,
			      (uint16_t)sample->cpu, flags)) {
		sn_writer_count_loss(&o->file.shared, SN_LOSS_NO_SPACE, 1);
		return;
	}
	if (!(flags & SN_SAMPLE_REMAINDER))
		sn_outside_header(o)->handler_count++;
	if (flags & SN_SAMPLE_SYSTEM)
		thread->system_ns += cpu_ns;
	else
		thread->user_ns += cpu_ns;
}

/*
 * A sample stands for the CPU time since the one before. Where the kernel hides its own part, the
 * timer still ran there but left no samples: of the k periods that passed, k - 1 were system time.
 * They are told as time without an observation, at the code that the kernel returned to.
 */
void sn_outside_sample_take(struct sn_outside *o, struct sn_outside_thread *thread,
			    const struct perf_event_header *header)
{
	struct sn_outside_sample sample;
	uint64_t count_ns, cpu_ns, shown_ns, hidden_ns = 0;
	uint32_t stack;

	sample_parse(header, o->has_lost_count ? COUNT_AND_LOST : COUNT, &sample);
	if (sample.count < thread->last_count_ns)
		return;
	count_ns = sample.count - thread->last_count_ns + thread->unseen_ns;
	thread->last_count_ns = sample.count;
	thread->unseen_ns = 0;
	cpu_ns = sn_outside_clock_tell(&o->clock, count_ns);
	sn_outside_room_make(o);
	stack = thread->last_stack = sn_outside_sample_unwind(o, thread, &sample);
	shown_ns = o->period_ns * (1 + thread->lost_before);
	thread->lost_before = 0;
	if (!o->has_kernel && count_ns > shown_ns + o->period_ns / 2)
		hidden_ns = (uint64_t)((double)cpu_ns * (double)(count_ns - shown_ns) /
				       (double)count_ns);
	if (hidden_ns)
		sn_outside_sample_put(o, thread, &sample, hidden_ns, stack,
				      SN_SAMPLE_SYSTEM | SN_SAMPLE_REMAINDER);
	sn_outside_sample_put(o, thread, &sample, cpu_ns - hidden_ns, stack,
			      sample.is_kernel ? SN_SAMPLE_SYSTEM : 0);
}

/* What is left of the count is made up for by the samples that follow, an eighth each. */
static uint64_t count_claim(const struct sn_outside *o, const struct sn_outside_thread *thread)
{
	enum { REPAY = 8 };
	uint64_t count, lost;

	if (!sn_ring_count(&thread->samples, &count, &lost) || count <= thread->last_count_ns)
		return 0;
	uint64_t left = count - thread->last_count_ns;
	uint64_t claim = o->period_ns - o->period_ns / REPAY + left / REPAY;
	uint64_t most = o->period_ns * 2;

	claim = claim < most ? claim : most;
	return claim < left ? claim : left;
}

/* A sample of a CPU stands for a period of it; the thread's count says how much that was. */
void sn_outside_sample_take_of_cpu(struct sn_outside *o, const struct perf_event_header *header)
{
	struct sn_outside_sample sample;
	struct sn_outside_thread *thread;
	uint64_t count_ns, cpu_ns;

	sample_parse(header, NO_COUNT, &sample);
	if (sample.pid != o->options.pid || !(thread = sn_outside_thread_find(o, sample.tid)))
		return;
	count_ns = count_claim(o, thread);
	thread->last_count_ns += count_ns;
	count_ns += thread->unseen_ns;
	thread->unseen_ns = 0;
	cpu_ns = sn_outside_clock_tell(&o->clock, count_ns);
	sn_outside_room_make(o);
	thread->last_stack = sn_outside_sample_unwind(o, thread, &sample);
	sn_outside_sample_put(o, thread, &sample, cpu_ns, thread->last_stack,
			      sample.is_kernel ? SN_SAMPLE_SYSTEM : 0);
}
