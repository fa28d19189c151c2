#include "runtime/sync/waits.h"

/* Ticks to ns by the whole run so far: it is at least as long as the wait. */
static int64_t ns_of_ticks(uint64_t ticks, int64_t now_ns)
{
	uint64_t since = __builtin_ia32_rdtsc() - sn_config.start_tsc;
	int64_t elapsed_ns = now_ns - sn_config.start_tsc_ns;

	if (!since || elapsed_ns <= 0)
		return 0;
	return (int64_t)((double)ticks * (double)elapsed_ns / (double)since);
}

static void write_wait(struct sn_thread *self, int64_t now_ns, int64_t duration_ns,
		       enum sn_wait_is kind, uint32_t stack)
{
	struct sn_record_wait *record = sn_writer_reserve(&self->writer, sizeof *record, now_ns);

	if (!record) {
		sn_lose(SN_DATA_LOSS_NO_SPACE);
		return;
	}
	*record = (struct sn_record_wait){
		.header = { .type = SN_RECORD_WAIT,
			    .flags = (uint8_t)kind,
			    .size_bytes = sizeof *record },
		.stack = stack,
		.time_ns = now_ns - duration_ns,
		.duration_ns = (uint64_t)duration_ns,
	};
	sn_writer_commit(&self->writer, sizeof *record);
}

__attribute__((noinline)) void sn_wait_long(uint64_t ticks, enum sn_wait_is kind, void *function)
{
	struct sn_thread *self = sn_self;
	struct sn_unwind_regs regs;

	if (!sn_enter(self))
		return;
	int64_t now_ns = sn_now_ns(), duration_ns = ns_of_ticks(ticks, now_ns);
	if (duration_ns < (int64_t)sn_config.settings.wait_min_ns) {
		atomic_fetch_add_explicit(&sn_header()->waits_short, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&sn_header()->waits_short_ns, (uint64_t)duration_ns,
					  memory_order_relaxed);
	} else if (!atomic_load_explicit(&sn_header()->is_paused, memory_order_relaxed)) {
		sn_unwind_regs_here(&regs);
		uint32_t stack =
			sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)function, false, now_ns);
		write_wait(self, now_ns, duration_ns, kind, stack);
		sn_packet_if_due(self, now_ns);
		sn_count_overhead(now_ns);
	}
	sn_leave(self);
}
