/*
 * Counters: an event of the thread's own for each, with a ring and a signal. Standard signals coalesce, so
 * that any SIGTRAP may stand for several overflows: whichever comes, all rings are emptied.
 */
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/core/collector.h"
#include "runtime/core/signals.h"

/* in sig_data: tells them from the clock's and from breakpoints */
#define COOKIE 0x736f6e6363000000ULL

enum {
	PAGE_BYTES = 4096,
	SAMPLES_MAX = 2048,
	/* An event whose period is shorter than its interrupt leaves the thread no time to go on, and one that its own
	 * handler closes may fire on: no first period is below these. As in clock/events_handler.c. */
	FIRST_LEAST_NS = 100000,
	FIRST_LEAST = 1000, /* of the processor's events; record/counters.c */
};

static const char REFUSED[] =
	"some threads could not open a counter (limit of locked memory or of descriptors, or the processor's "
	"counters are taken): what they did is not in its counts";
static const char TRACED[] =
	"a debugger watches the program and owns SIGTRAP: counters are not sampled";
static const char SEALED[] =
	"threads that began behind a seccomp filter have no counters: what they did is not in the counts";

/* Of a thread and a counter. */
struct counter {
	struct perf_event_mmap_page *page; /* NULL: not open */
	uint64_t last;			   /* its value at the overflow before */
	uint64_t period;		   /* as it is open */
	bool is_first; /* a random part of the period, so that short threads are met as often as long ones */
};

struct counters {
	uint32_t rng;
	struct counter items[SN_COUNTERS_MAX];
};

extern struct sn_collector sn_counters_collector;

static struct counters *counters_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_counters_collector);
}

static uint32_t counter_count(void)
{
	return sn_config.settings.counter_count;
}

/* ---- events ---- */

static void close_one(struct counter *counter)
{
	void *page = counter->page;

	counter->page = NULL;
	if (page)
		SYS(munmap, page, PAGE_BYTES + SN_COUNTER_RING_BYTES);
}

/* In place of the one before. The mapping keeps the event alive when the descriptor is closed. The signal of a first period may
 * come at once, and must find that it is one: else its event, however short, stays. */
static bool open_one(struct counter *counter, uint32_t index, uint64_t period, bool is_first)
{
	struct perf_event_attr attr = sn_counter_attr(&sn_config.settings.counters[index], period);
	struct counter before = *counter;

	attr.sig_data = COOKIE | index;
	long fd = SYS(perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	long page = SYS(mmap, NULL, PAGE_BYTES + SN_COUNTER_RING_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	if (page < 0 && page > -4096) {
		SYS(close, fd);
		return false;
	}
	*counter = (struct counter){ .page = (void *)page, .period = period, .is_first = is_first };
	close_one(&before);
	SYS(ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	SYS(close, fd);
	return true;
}

static uint64_t first_least(const struct sn_counter_spec *spec)
{
	if (spec->type != PERF_TYPE_SOFTWARE)
		return FIRST_LEAST;
	return spec->config == PERF_COUNT_SW_CPU_CLOCK || spec->config == PERF_COUNT_SW_TASK_CLOCK
		       ? FIRST_LEAST_NS
		       : 0;
}

/* Uniform in [1, period]; one that would be too short comes that much later. */
static uint64_t random_part(struct counters *counters, const struct sn_counter_spec *spec)
{
	uint64_t first, least = first_least(spec);

	counters->rng = counters->rng * 1664525u + 1013904223u;
	first = 1 + (uint64_t)((double)counters->rng / 4294967296.0 * (double)spec->period);
	return first < least ? first + least : first;
}

static bool open_all(struct sn_thread *self)
{
	struct counters *counters = counters_of(self);

	if (!counter_count())
		return true;
	if (self != sn_self)
		return false; /* it opens its own when it is set up */
	if (sn_config.is_traced || sn_state->is_sealed) {
		sn_warn(sn_config.is_traced ? TRACED : SEALED);
		return true;
	}
	for (uint32_t i = 0; i < counter_count(); i++) {
		struct counter *counter = &counters->items[i];
		const struct sn_counter_spec *spec = &sn_config.settings.counters[i];

		if (counter->page)
			continue;
		if (!open_one(counter, i, random_part(counters, spec), spec->period > 1))
			sn_warn(REFUSED);
	}
	return true;
}

/* The usual period, after the first, random one. */
static void go_on(struct counter *counter, uint32_t index)
{
	if (sn_state->is_sealed || !counter->is_first)
		return;
	if (!open_one(counter, index, sn_config.settings.counters[index].period, false))
		sn_warn(REFUSED);
	counter->is_first = false;
}

/* ---- overflows ---- */

static void write_count(struct sn_thread *self, uint32_t index,
			const struct sn_counter_sample *sample, uint32_t stack, uint64_t count,
			int64_t now_ns)
{
	bool has_address = (sn_config.settings.counters[index].flags & SN_COUNTER_ADDRESSES) != 0;
	uint32_t bytes = has_address || sample->is_exact ? sizeof(struct sn_record_count)
							 : (uint32_t)SN_COUNT_BYTES_LEAST;
	struct sn_record_count *record = sn_writer_reserve(&self->writer, bytes, now_ns);

	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	record->header = (struct sn_record_header){
		.type = SN_RECORD_COUNT,
		.flags = (uint8_t)((has_address ? SN_COUNT_ADDRESS : 0) |
				   (sample->is_exact ? SN_COUNT_EXACT : 0) |
				   (sample->is_kernel ? SN_COUNT_IN_KERNEL : 0)),
		.size_bytes = (uint16_t)bytes,
	};
	record->stack = stack;
	record->time_ns = now_ns;
	record->count = count;
	record->counter = (uint16_t)index;
	record->cpu = (uint16_t)sample->cpu;
	record->counted_share = 65535;
	record->reserved = 0;
	if (sample->running_ns < sample->enabled_ns)
		record->counted_share =
			(uint16_t)((double)sample->running_ns / (double)sample->enabled_ns * 65535);
	if (bytes == sizeof *record) {
		record->pc = sample->pc;
		record->address = sample->address;
		record->data_source = sample->data_source;
		record->weight = sample->weight;
	}
	sn_writer_commit(&self->writer, bytes);
}

static bool is_within(uint64_t address, const void *start, uint64_t bytes)
{
	return address - (uint64_t)(uintptr_t)start < bytes;
}

/* An overflow in our own code is ours, and so is a page fault of the kernel's in our own memory, where it puts
 * a signal's frame. `is_here`: `stack` is that of the overflow, as its signal came at once; else all that is
 * known is the place where it was. */
static uint32_t stack_of(struct sn_thread *self, const struct sn_counter_sample *sample,
			 uint32_t stack, bool is_here, int64_t now_ns)
{
	uint64_t pc = sample->pc;

	if (sample->is_kernel &&
	    (is_within(sample->address, self, SN_BLOCK_BYTES) ||
	     is_within(sample->address, sn_state->file.base, SN_DATA_MAP_BYTES)))
		pc = (uint64_t)(uintptr_t)stack_of;
	else if (sample->is_kernel || (is_here && stack && !sn_is_own_code(pc)))
		return stack;
	return sn_stack_intern(&self->writer, &pc, 1, 0, 0, now_ns);
}

/* What a ring holds goes to the data file. */
static void empty_ring(struct sn_thread *self, uint32_t index, uint32_t stack, uint64_t stack_pc,
		       int64_t now_ns)
{
	struct counter *counter = &counters_of(self)->items[index];
	const struct sn_counter_spec *spec = &sn_config.settings.counters[index];
	struct perf_event_mmap_page *page = counter->page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail,
		 lost = 0;
	struct sn_counter_ring ring = { .bytes = (const uint8_t *)page + PAGE_BYTES,
					.size_bytes = SN_COUNTER_RING_BYTES,
					.sample_type = sn_counter_sample_type(spec) };
	struct sn_counter_sample sample;
	int kind;

	while (tail != head &&
	       (kind = sn_counter_ring_next(&ring, &tail, head, &sample, &lost)) >= 0) {
		uint64_t overflows;
		uint32_t own;

		if (kind == 0)
			continue;
		overflows = sn_counter_overflows(sample.value, counter->last, counter->period);
		counter->last = sample.value;
		if (sn_is_paused())
			continue;
		own = stack_of(self, &sample, stack, tail == head || sample.pc == stack_pc, now_ns);
		write_count(self, index, &sample, own,
			    overflows * (counter->is_first ? spec->period : counter->period),
			    now_ns);
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (tail == head && counter->is_first && counter->last)
		go_on(counter, index);
}

static bool has_overflows(const struct sn_thread *self)
{
	const struct counters *counters = counters_of(self);

	for (uint32_t i = 0; i < counter_count(); i++) {
		const struct perf_event_mmap_page *page = counters->items[i].page;

		if (page && __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) != page->data_tail)
			return true;
	}
	return false;
}

static void empty_all(struct sn_thread *self, uint32_t stack, uint64_t stack_pc, int64_t now_ns)
{
	struct counters *counters = counters_of(self);

	for (uint32_t i = 0; i < counter_count(); i++)
		if (counters->items[i].page)
			empty_ring(self, i, stack, stack_pc, now_ns);
}

static void take(void *first, void *ucontext)
{
	struct sn_thread *self = first;
	const ucontext_t *context = ucontext;
	int64_t begin_ns = sn_now_ns();
	struct sn_unwind_regs regs;
	uint32_t stack;

	sn_signals_note_call(self, context);
	sn_unwind_regs_from_gregs(&regs, (const int64_t *)context->uc_mcontext.gregs);
	stack = sn_stack_capture(self, &regs, 0, true, begin_ns);
	empty_all(self, stack, (uint64_t)context->uc_mcontext.gregs[REG_RIP], begin_ns);
	sn_count_overhead(begin_ns);
}

static bool trap(uint64_t data, void *ucontext)
{
	bool is_ours = (data & ~(uint64_t)(SN_COUNTERS_MAX - 1)) == COOKIE;
	struct sn_thread *self = sn_self;

	if (is_ours && self &&
	    sn_is_active()) /* each of them costs as much as one of the clock's */
		atomic_fetch_add_explicit(&sn_header()->handler_count, 1, memory_order_relaxed);
	if (!self || !counter_count() || !sn_is_active() || !has_overflows(self) || !sn_enter(self))
		return is_ours;
	sn_signals_run(self, take, self, ucontext);
	sn_leave(self);
	return is_ours;
}

/* ---- the collector ---- */

/* The counters of the file, before any count. */
static bool install(enum sn_data_origin origin)
{
	(void)origin;
	for (uint32_t i = 0; i < counter_count(); i++) {
		const struct sn_counter_spec *spec = &sn_config.settings.counters[i];
		struct sn_record_counter *record =
			sn_writer_reserve(&sn_self->writer, sizeof *record, sn_now_ns());

		if (!record)
			return true;
		*record = (struct sn_record_counter){ .header = { .type = SN_RECORD_COUNTER,
								  .size_bytes = sizeof *record },
						      .index = i,
						      .period = spec->period,
						      .hz = spec->hz,
						      .flags = spec->flags };
		memcpy(record->name, spec->name, sizeof record->name);
		sn_writer_commit(&sn_self->writer, sizeof *record);
	}
	return true;
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	(void)origin;
	if (!counter_count())
		return;
	*counters_of(thread) = (struct counters){ .rng = (uint32_t)thread->start_ns ^
							 (uint32_t)thread->tid * 2654435761u };
}

static void pause_thread(struct sn_thread *thread)
{
	struct counters *counters = counters_of(thread);

	if (!counter_count())
		return;
	if (thread == sn_self && sn_is_active() && has_overflows(thread))
		empty_all(thread, 0, 0, sn_now_ns());
	for (uint32_t i = 0; i < counter_count(); i++)
		close_one(&counters->items[i]);
}

/* Of overflows that no signal has told of yet. */
static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	(void)writer;
	(void)is_ending;
	if (counter_count() && thread == sn_self && has_overflows(thread))
		empty_all(thread, 0, 0, now_ns);
}

static void seal(struct sn_thread *self)
{
	struct counters *counters = counters_of(self);

	for (uint32_t i = 0; i < counter_count(); i++)
		if (counters->items[i].page)
			go_on(&counters->items[i], i);
}

struct sn_collector sn_counters_collector = {
	.name = "counters",
	.scratch_bytes = sizeof(struct counters),
	.install = install,
	.thread_begin = begin_thread,
	.resume = open_all,
	.pause = pause_thread,
	.account = account,
	.seal = seal,
	.trap = trap,
};
