/* Long calls as WAIT records: written when they end, or when they begin if they are likely to be long. */
#include "runtime/sync/waits.h"

#include "runtime/calls/calls.h"

/* What the collector knows of a thread: the wait that was written when it began. */
struct waits {
	struct sn_record_wait *open; /* NULL: none */
	uint64_t begin;		     /* of its struct sn_call */
	const void *frame;	     /* where on the stack */
};

enum { ALL_KINDS = (1u << SN_WAIT_KINDS) - 1 };

static struct waits *waits_of(const struct sn_thread *thread)
{
	return sn_thread_part(thread, &sn_waits_collector);
}

/* Whether calls of this kind are to be written when they begin. */
static void expect_long(struct sn_thread *self, uint32_t kinds, bool are_long)
{
	sn_calls_ask(self, &sn_waits_collector, kinds, are_long);
}

/* The run is at least as long as the wait. */
int64_t sn_waits_ns_of_ticks(uint64_t ticks, int64_t now_ns)
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
static void discard(struct sn_thread *self, struct waits *waits)
{
	struct sn_record_wait *record = waits->open;

	waits->open = NULL;
	if (self->writer.chunk && sn_writer_end(&self->writer) == (void *)(record + 1)) {
		self->writer.used_bytes -= (uint32_t)sizeof *record;
		sn_writer_commit(&self->writer, 0);
	} else {
		record->header.flags |= SN_RECORD_WAIT_VOID;
	}
}

/* The stack of the call, with libc's function as its leaf. */
static inline __attribute__((always_inline)) uint32_t
stack_of(struct sn_thread *self, const struct sn_call *call, int64_t now_ns)
{
	struct sn_unwind_regs regs;

	sn_unwind_regs_here(&regs);
	return sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)call->function, false, now_ns);
}

static void begin_wait(struct sn_thread *self, const struct sn_call *call)
{
	struct waits *waits = waits_of(self);
	const void *frame = __builtin_frame_address(0);

	if (waits->open && frame <= waits->frame)
		return; /* a signal's handler, within the wait that is open */
	if (sn_is_paused() || !sn_enter_call(self))
		return;
	if (waits->open)
		discard(self, waits); /* left by longjmp */
	int64_t now_ns = sn_now_ns();
	uint32_t stack = stack_of(self, call, now_ns);
	waits->open = write_wait(self, now_ns, SN_RECORD_WAIT_OPEN, call->group, stack);
	waits->begin = call->begin;
	waits->frame = frame;
	sn_count_overhead(now_ns);
	sn_leave_call(self);
}

static bool is_too_short(int64_t duration_ns)
{
	return duration_ns < (int64_t)sn_config.settings.wait_min_ns;
}

/* It was written when it began, and was short after all. */
static void take_back(struct sn_thread *self, struct waits *waits, const struct sn_call *call)
{
	if (!sn_enter_call(self))
		return;
	expect_long(self, 1u << call->group, false);
	discard(self, waits);
	sn_leave_call(self);
}

static void end_long_wait(struct sn_thread *self, struct waits *waits, const struct sn_call *call,
			  bool is_open)
{
	if (!sn_enter_call(self))
		return;
	int64_t now_ns = sn_now_ns(), duration_ns = sn_waits_ns_of_ticks(call->ticks, now_ns);
	if (is_too_short(duration_ns)) {
		expect_long(self, 1u << call->group, false);
		if (is_open)
			discard(self, waits);
	} else if (is_open) {
		waits->open->duration_ns = (uint64_t)(now_ns - waits->open->time_ns);
		waits->open = NULL;
	} else if (!sn_is_paused()) {
		expect_long(self, 1u << call->group, true);
		write_wait(self, now_ns - duration_ns, (uint64_t)duration_ns, call->group,
			   stack_of(self, call, now_ns));
	}
	sn_packet_if_due(self, now_ns);
	sn_count_overhead(now_ns);
	sn_leave_call(self);
}

static void end_wait(struct sn_thread *self, const struct sn_call *call)
{
	struct waits *waits = waits_of(self);
	bool is_open = waits->open && waits->begin == call->begin;

	if (call->ticks > sn_config.settings.wait_min_ns)
		end_long_wait(self, waits, call, is_open);
	else if (is_open)
		take_back(self, waits, call);
}

static bool install(enum sn_data_origin origin)
{
	(void)origin;
	if (sn_config.settings.wait_min_ns)
		sn_calls_ask_long(&sn_waits_collector, ALL_KINDS, sn_config.settings.wait_min_ns);
	return true;
}

/* Most threads have something to do before they wait for input. */
static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	if (sn_config.settings.wait_min_ns)
		expect_long(thread,
			    origin == SN_THREAD_MAIN ? ALL_KINDS : ALL_KINDS & ~(1u << SN_WAIT_IO),
			    true);
}

/* Cancelled while it waited. */
static void end_thread(struct sn_thread *self, int64_t now_ns)
{
	struct waits *waits = waits_of(self);

	if (waits->open)
		waits->open->duration_ns = (uint64_t)(now_ns - waits->open->time_ns);
}

struct sn_collector sn_waits_collector = {
	.name = "waits",
	.thread_bytes = sizeof(struct waits),
	.install = install,
	.thread_begin = begin_thread,
	.thread_end = end_thread,
	.before_call = begin_wait,
	.after_call = end_wait,
};
