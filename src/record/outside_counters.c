/*
 * The counters of record -e on a process that is sampled from outside: an event for each counter on each
 * thread, whose samples hold the user registers and a copy of the stack, as those of the clock do.
 */
#include "record/outside_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* Rings and stack copies, by the number of threads. A sample that a full ring loses is in the count that the next
 * one tells. */
static const struct {
	unsigned order; /* of the ring, in pages */
	uint32_t stack_bytes;
	size_t threads_most;
} sizes[] = {
	{ 8, 8192, 2 },
	{ 6, 4096, 8 },
	{ 4, 4096, 32 },
	{ 2, 1024, SIZE_MAX },
};

/* Below that period samples come in thousands, and a ring should hold many: less of each stack is copied. */
enum { RARE_PERIOD = 100, OFTEN_STACK_BYTES = 1024 };

static void attr_make(const struct sn_outside *o, uint32_t index, size_t size,
		      struct perf_event_attr *attr)
{
	const struct sn_counter_spec *spec = &o->options.counters[index];
	bool waits_for_exec = o->options.is_before_exec && !o->has_begun;

	*attr = sn_counter_attr(spec, spec->period);
	attr->sigtrap = attr->remove_on_exec = 0; /* those are for a runtime in the process */
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = SN_OUTSIDE_REGS_MASK;
	attr->sample_stack_user = sizes[size].stack_bytes;
	if (spec->period < RARE_PERIOD && sizes[size].stack_bytes > OFTEN_STACK_BYTES)
		attr->sample_stack_user = OFTEN_STACK_BYTES;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = waits_for_exec || o->is_paused;
	attr->enable_on_exec = waits_for_exec && !o->is_paused;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)(4096u << sizes[size].order) / 4;
}

static int open_one(const struct sn_outside *o, struct sn_outside_thread *thread, uint32_t index)
{
	size_t alive = sn_outside_threads_alive(o), size = 0;
	struct perf_event_attr attr;
	int fault = 0;

	while (alive > sizes[size].threads_most)
		size++;
	for (; size < sizeof(sizes) / sizeof(*sizes); size++) {
		attr_make(o, index, size, &attr);
		fault = sn_ring_open(&thread->counters[index], &attr, thread->tid,
				     sizes[size].order);
		if (fault != EPERM && fault != ENOMEM)
			break;
	}
	return fault;
}

void sn_outside_counters_open(struct sn_outside *o, struct sn_outside_thread *thread)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = thread };

	for (uint32_t i = 0; i < o->options.counter_count; i++) {
		int fault = open_one(o, thread, i);

		if (!fault) {
			epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, thread->counters[i].fd, &event);
		} else if (fault != ESRCH) {
			o->counter_refusal = fault;
			o->refused_counters++;
		}
	}
}

/* The words of a sample: those of the event, then registers and stack, then what the processor says of an access. */
static bool sample_read(const struct perf_event_header *header, const struct sn_counter_spec *spec,
			struct sn_counter_sample *counted, struct sn_outside_sample *sample)
{
	static const uint64_t late = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
	const uint64_t *words = (const void *)(header + 1);
	size_t count = (header->size - sizeof(*header)) / 8, first;
	uint64_t type = sn_counter_sample_type(spec);

	*counted = (struct sn_counter_sample){ 0 };
	first = (size_t)__builtin_popcountll(type & ~late) +
		(type & PERF_SAMPLE_READ ? 2 : 0); /* which is three words */
	if (first > count || !sn_counter_sample_read(words, (uint32_t)first, type & ~late, counted))
		return false;
	counted->is_exact = (header->misc & PERF_RECORD_MISC_EXACT_IP) != 0;
	counted->is_kernel =
		(header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	*sample = (struct sn_outside_sample){ .time_ns = (int64_t)counted->time_ns,
					      .cpu = counted->cpu,
					      .is_kernel = counted->is_kernel };
	first += sn_outside_stack_read(words + first, count - first, sample);
	if (type & late && first + 2 <= count) {
		counted->weight = words[first];
		counted->data_source = words[first + 1];
	}
	return true;
}

static void sample_take(struct sn_outside *o, struct sn_outside_thread *thread, uint32_t index,
			const struct perf_event_header *header)
{
	const struct sn_counter_spec *spec = &o->options.counters[index];
	struct sn_counter_sample counted;
	struct sn_outside_sample sample;
	uint64_t overflows;
	uint32_t stack;

	if (!sample_read(header, spec, &counted, &sample))
		return;
	overflows = sn_counter_overflows(counted.value, thread->counts[index], spec->period);
	thread->counts[index] = counted.value;
	sn_outside_room_make(o);
	stack = sn_outside_sample_unwind(o, thread, &sample);
	sn_outside_count_write(o, thread, index, &counted, stack, overflows * spec->period);
}

void sn_outside_counters_drain(struct sn_outside *o, struct sn_outside_thread *thread)
{
	const struct perf_event_header *header;

	for (uint32_t i = 0; i < o->options.counter_count; i++)
		while (thread->counters[i].fd >= 0 &&
		       (header = sn_ring_next(&thread->counters[i]))) {
			if (header->type == PERF_RECORD_SAMPLE)
				sample_take(o, thread, i, header);
			else if (header->type == PERF_RECORD_THROTTLE)
				o->throttled++;
		}
}

void sn_outside_counters_enable(const struct sn_outside *o, const struct sn_outside_thread *thread,
				bool is_enabled)
{
	for (uint32_t i = 0; i < o->options.counter_count; i++)
		sn_ring_enable(&thread->counters[i], is_enabled);
}

/* Events whose samples a full ring lost at the end, when none came that could have told. */
static void remainder_write(struct sn_outside *o, struct sn_outside_thread *thread, uint32_t index)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} count;
	uint64_t period = o->options.counters[index].period;
	struct sn_counter_sample none = { .time_ns = (uint64_t)sn_outside_now_ns() };

	if (thread->counters[index].fd < 0 ||
	    read(thread->counters[index].fd, &count, sizeof(count)) != sizeof(count) ||
	    count.value < thread->counts[index] + period)
		return;
	sn_outside_count_write(o, thread, index, &none, 0,
			       (count.value - thread->counts[index]) / period * period);
}

void sn_outside_counters_leave(struct sn_outside *o, struct sn_outside_thread *thread)
{
	for (uint32_t i = 0; i < o->options.counter_count; i++)
		remainder_write(o, thread, i);
}

void sn_outside_counters_close(const struct sn_outside *o, struct sn_outside_thread *thread)
{
	for (uint32_t i = 0; i < o->options.counter_count; i++)
		sn_ring_close(&thread->counters[i]);
}
