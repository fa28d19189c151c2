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

static struct sn_record_wait *write_wait(struct sn_thread *self, int64_t begin_ns,
					 uint64_t duration_ns, enum sn_wait_kind kind,
					 uint32_t stack)
{
	struct sn_record_wait *record = sn_writer_reserve(&self->writer, sizeof *record, begin_ns);

	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return NULL;
	}
	*record = (struct sn_record_wait){
		.header = { .type = SN_RECORD_WAIT,
			    .flags = (uint8_t)kind,
			    .size_bytes = sizeof *record },
		.stack = stack,
		.time_ns = begin_ns,
		.duration_ns = duration_ns,
	};
	sn_writer_commit(&self->writer, sizeof *record);
	return record;
}

/* Takes the record back if it is still the last one; else marks it. */
static void discard(struct sn_thread *self)
{
	struct sn_record_wait *record = self->open_wait;

	self->open_wait = NULL;
	if (self->writer.chunk && sn_writer_end(&self->writer) == (void *)(record + 1)) {
		self->writer.used_bytes -= (uint32_t)sizeof *record;
		sn_writer_commit(&self->writer, 0);
	} else {
		record->header.flags |= SN_RECORD_WAIT_VOID;
	}
}

__attribute__((noinline)) void sn_wait_open(struct sn_thread *self, uint64_t begin,
					    enum sn_wait_kind kind, void *function)
{
	const void *frame = __builtin_frame_address(0);
	struct sn_unwind_regs regs;

	if (self->open_wait && frame <= self->open_frame)
		return; /* a signal's handler, within the wait that is open */
	if (sn_is_paused() || !sn_enter(self))
		return;
	if (self->open_wait)
		discard(self); /* left by longjmp */
	int64_t now_ns = sn_now_ns();
	sn_unwind_regs_here(&regs);
	uint32_t stack =
		sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)function, false, now_ns);
	self->open_wait = write_wait(self, now_ns, SN_RECORD_WAIT_OPEN, kind, stack);
	self->open_begin = begin;
	self->open_frame = frame;
	sn_count_overhead(now_ns);
	sn_leave(self);
}

void sn_wait_void(struct sn_thread *self, enum sn_wait_kind kind)
{
	self->long_kinds &= ~(1u << kind);
	if (!sn_enter(self))
		return;
	discard(self);
	sn_leave(self);
}

static bool is_too_short(int64_t duration_ns)
{
	if (duration_ns >= (int64_t)sn_config.settings.wait_min_ns)
		return false;
	atomic_fetch_add_explicit(&sn_header()->waits_short, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sn_header()->waits_short_ns, (uint64_t)duration_ns,
				  memory_order_relaxed);
	return true;
}

__attribute__((noinline)) void sn_wait_long(uint64_t begin, uint64_t ticks, enum sn_wait_kind kind,
					    void *function)
{
	struct sn_thread *self = sn_self;
	struct sn_unwind_regs regs;
	bool is_open = self->open_wait && self->open_begin == begin;

	if (!sn_enter(self))
		return;
	int64_t now_ns = sn_now_ns(), duration_ns = ns_of_ticks(ticks, now_ns);
	if (is_too_short(duration_ns)) {
		self->long_kinds &= ~(1u << kind);
		if (is_open)
			discard(self);
	} else if (is_open) {
		self->open_wait->duration_ns = (uint64_t)(now_ns - self->open_wait->time_ns);
		self->open_wait = NULL;
	} else if (!sn_is_paused()) {
		self->long_kinds |= 1u << kind;
		sn_unwind_regs_here(&regs);
		uint32_t stack =
			sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)function, false, now_ns);
		write_wait(self, now_ns - duration_ns, (uint64_t)duration_ns, kind, stack);
	}
	sn_packet_if_due(self, now_ns);
	sn_count_overhead(now_ns);
	sn_leave(self);
}
