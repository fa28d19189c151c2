/*
 * The threads of a process that is sampled from outside: how their events are opened within the
 * user's limits, and how much CPU time each had used before and at its last sample.
 */
#include "record/outside_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/alloc.h"
#include "record/outside_proc.h"

/* Rings and stack copies from generous to meagre, by the number of threads: an unprivileged user
 * may lock some 8 MB in all, and nobody should take gigabytes. */
static const struct {
	unsigned order; /* of the ring, in pages */
	uint32_t stack_bytes;
	uint32_t threads_most, threads_most_root;
} sizes[] = {
	{ 8, 32768, 3, 16 },
	{ 6, 16384, 8, 64 },
	{ 5, 8192, 16, 256 },
	{ 4, 4096, 40, 1024 },
	{ 2, 1024, UINT32_MAX, UINT32_MAX },
};

static void attr_samples(const struct sn_outside *o, uint32_t stack_bytes, unsigned order,
			 struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = o->period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.read_format = o->has_lost_count ? PERF_FORMAT_LOST : 0,
		.sample_regs_user = SN_OUTSIDE_REGS_MASK,
		.sample_stack_user = stack_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = !o->has_kernel,
		.exclude_hv = 1,
		.disabled = (o->options.is_before_exec && !o->has_begun) || o->is_paused,
		.enable_on_exec = o->options.is_before_exec && !o->has_begun && !o->is_paused,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(4096u << order) / 2,
	};
	if (!o->period_ns) { /* only the account: the count is all that is wanted */
		attr->sample_period = INT64_MAX;
		attr->sample_stack_user = 8;
	}
}

/* An event without samples has no timer to start and stop. */
static void attr_count(const struct sn_outside *o, struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = !o->has_kernel,
		.exclude_hv = 1,
		.disabled = o->is_paused,
	};
}

static void attr_events(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
}

/* What the kernel grants: kernel samples or not, a count of what is lost or not. */
static int samples_open_once(struct sn_outside *o, struct sn_outside_thread *thread, size_t size)
{
	struct perf_event_attr attr;
	int fault;

	for (;;) {
		attr_samples(o, sizes[size].stack_bytes, sizes[size].order, &attr);
		fault = sn_ring_open(&thread->samples, &attr, thread->tid, sizes[size].order);
		if (fault == EINVAL && o->has_lost_count)
			o->has_lost_count = false; /* older than 6.0 */
		else if ((fault == EACCES || fault == EPERM) && o->has_kernel && !o->threads.count)
			o->has_kernel = false;
		else
			return fault;
	}
}

size_t sn_outside_threads_alive(const struct sn_outside *o)
{
	size_t alive = 0;

	for (size_t i = 0; i < o->threads.count; i++)
		alive += !o->threads.items[i]->has_ended;
	return alive;
}

static int rings_open(struct sn_outside *o, struct sn_outside_thread *thread)
{
	struct perf_event_attr attr;
	int fault = 0;
	size_t i = 0, alive = sn_outside_threads_alive(o);

	if (o->cpu_rings) {
		attr_count(o, &attr);
		fault = sn_ring_open(&thread->samples, &attr, thread->tid, 0);
		i = sizeof(sizes) / sizeof(*sizes);
	}
	while (!o->cpu_rings &&
	       alive >= (o->has_kernel ? sizes[i].threads_most_root : sizes[i].threads_most))
		i++;
	for (; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fault = samples_open_once(o, thread, i);
		if (fault != EPERM && fault != ENOMEM)
			break;
	}
	if (fault)
		return fault;
	attr_events(&attr);
	fault = sn_ring_open(&thread->events, &attr, thread->tid, 0);
	if (fault)
		sn_ring_close(&thread->samples);
	return fault;
}

struct sn_outside_thread *sn_outside_thread_find(const struct sn_outside *o, pid_t tid)
{
	for (size_t i = o->threads.count; i-- > 0;)
		if (o->threads.items[i]->tid == tid && !o->threads.items[i]->has_ended)
			return o->threads.items[i];
	return NULL;
}

/* Each costs more while the thread carries an event of ours with a timer. */
static void switches_count(struct sn_outside *o, struct sn_outside_thread *thread)
{
	uint64_t switches = thread->voluntary + thread->involuntary;

	if (o->file.shared.base && !o->cpu_rings && o->period_ns && !o->is_paused)
		sn_outside_header(o)->switch_count += switches - thread->switches_counted;
	thread->switches_counted = switches;
}

void sn_outside_thread_look(struct sn_outside *o, struct sn_outside_thread *thread)
{
	int64_t cpu_ns, wait_ns;
	char name[sizeof(thread->name) + 1];
	size_t length;

	if (sn_proc_schedstat(o->options.pid, thread->tid, &cpu_ns, &wait_ns))
		thread->wait_cpu_ns = wait_ns;
	sn_proc_switches(o->options.pid, thread->tid, &thread->voluntary, &thread->involuntary);
	switches_count(o, thread);
	length = sn_proc_read(o->options.pid, thread->tid, "comm", name, sizeof(name));
	if (length < 2)
		return;
	memset(thread->name, 0, sizeof(thread->name));
	memcpy(thread->name, name, length - 1); /* less the end of line */
}

uint64_t sn_outside_thread_pending_ns(const struct sn_outside_thread *thread)
{
	uint64_t count, lost;

	if (!sn_ring_count(&thread->samples, &count, &lost) || count < thread->last_count_ns)
		return thread->unseen_ns;
	return count - thread->last_count_ns + thread->unseen_ns;
}

/*
 * CPU time that the thread had used when its event began to count. Both its times are read one
 * after the other. The kernel's is behind by up to a tick while the thread runs, so the largest
 * difference is the best, unless the thread ran between the two readings.
 */
void sn_outside_thread_look_before(struct sn_outside *o, struct sn_outside_thread *thread)
{
	enum { TRIES = 4, AT_ONCE_NS = 50000 };
	uint64_t count = 0, again = 0, lost;
	int64_t cpu_ns = 0, wait_ns = 0, more_ns;

	for (int i = 0; i < TRIES; i++) {
		if (!sn_ring_count(&thread->samples, &count, &lost) ||
		    !sn_proc_schedstat(o->options.pid, thread->tid, &cpu_ns, &wait_ns) ||
		    !sn_ring_count(&thread->samples, &again, &lost))
			return;
		if (again - count < AT_ONCE_NS)
			break;
	}
	more_ns = cpu_ns - (int64_t)again - (int64_t)thread->before_ns;
	if (more_ns <= 0)
		return;
	thread->before_ns += (uint64_t)more_ns;
	thread->unseen_ns += (uint64_t)more_ns;
}

void sn_outside_thread_enter(struct sn_outside *o, struct sn_outside_thread *thread,
			     int64_t time_ns)
{
	thread->index = o->thread_count++;
	thread->writer = (struct sn_writer){ .file = &o->file.shared,
					     .thread_index = thread->index,
					     .tid = thread->tid };
	sn_outside_thread_start_write(o, thread, time_ns);
}

/* Opens a thread's events; `is_new`: it began while we watched, so all of its time is wanted. */
bool sn_outside_thread_add(struct sn_outside *o, pid_t tid, bool is_new, int64_t time_ns)
{
	struct sn_outside_thread *thread = sn_alloc_zeroed(1, sizeof(*thread));
	struct epoll_event event = { .events = EPOLLIN };
	int fault;

	thread->tid = tid;
	thread->wait_cpu_ns = -1;
	thread->samples.fd = thread->events.fd = -1;
	for (size_t i = 0; i < SN_COUNTERS_MAX; i++)
		thread->counters[i].fd = -1;
	fault = rings_open(o, thread);
	if (fault) {
		if (fault != ESRCH) {
			o->refusal = fault;
			o->refused_threads++;
		} else if (is_new) {
			o->missed_threads++;
		}
		free(thread);
		return false;
	}
	event.data.ptr = thread;
	epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, thread->events.fd, &event);
	epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, thread->samples.fd, &event);
	sn_vec_push(&o->threads, thread);
	sn_outside_counters_open(o, thread);
	sn_outside_thread_look(o, thread);
	thread->is_new = is_new;
	if (is_new) {
		sn_outside_thread_look_before(o, thread);
	} else {
		thread->wait_before_ns = thread->wait_cpu_ns > 0 ? thread->wait_cpu_ns : 0;
		/* Switches are counted from the thread's start by the kernel; so are they here. */
	}
	if (o->file.shared.base)
		sn_outside_thread_enter(o, thread, time_ns);
	return true;
}

/* All threads of the process that are not known yet, again until there are no more. */
void sn_outside_threads_scan(struct sn_outside *o)
{
	char path[64];
	bool has_more = true;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)o->options.pid);
	for (int round = 0; has_more && round < 20; round++) {
		DIR *folder = opendir(path);
		struct dirent *entry;
		uint64_t refused = o->refused_threads;

		has_more = false;
		while (folder && (entry = readdir(folder))) {
			pid_t tid = (pid_t)atoi(entry->d_name);

			if (tid > 0 && !sn_outside_thread_find(o, tid))
				has_more |= sn_outside_thread_add(o, tid, o->has_begun,
								  sn_outside_now_ns());
		}
		if (folder)
			closedir(folder);
		if (o->refused_threads != refused)
			break;
	}
}

/* Writes time that no sample stands for any more, without an observation. Where the kernel's part
 * is hidden it stands at the code that ran last; the kernel's part of other samples stands at the
 * code that ran next. */
void sn_outside_remainder_write(struct sn_outside *o, struct sn_outside_thread *thread)
{
	struct sn_outside_sample sample = { .time_ns = sn_outside_now_ns() };
	uint64_t count, lost, left_ns, system_ns;

	if (!sn_ring_count(&thread->samples, &count, &lost) || count < thread->last_count_ns)
		return;
	left_ns =
		sn_outside_clock_tell(&o->clock, count - thread->last_count_ns + thread->unseen_ns);
	thread->last_count_ns = count;
	thread->unseen_ns = 0;
	if (lost > thread->lost)
		sn_writer_count_loss(&o->file.shared, SN_LOSS_RING, lost - thread->lost);
	if (lost > thread->lost)
		thread->lost = lost;
	system_ns = thread->user_ns + thread->system_ns
			    ? (uint64_t)((double)left_ns * (double)thread->system_ns /
					 (double)(thread->user_ns + thread->system_ns))
			    : 0;
	if (system_ns)
		sn_outside_sample_put(o, thread, &sample, system_ns,
				      o->has_kernel ? 0 : thread->last_stack,
				      SN_SAMPLE_SYSTEM | SN_SAMPLE_REMAINDER);
	if (left_ns > system_ns)
		sn_outside_sample_put(o, thread, &sample, left_ns - system_ns, 0,
				      SN_SAMPLE_REMAINDER);
}

void sn_outside_thread_only_count(struct sn_outside *o, struct sn_outside_thread *thread)
{
	struct perf_event_attr attr;
	struct sn_ring counter;
	uint64_t count, lost;

	attr_count(o, &attr);
	if (sn_ring_open(&counter, &attr, thread->tid, 0))
		return; /* it has ended: what it left is in its own ring */
	if (sn_ring_count(&thread->samples, &count, &lost)) {
		thread->unseen_ns += count - thread->last_count_ns;
		thread->before_ns += count;
	}
	thread->last_count_ns = 0;
	sn_ring_close(&thread->samples);
	thread->samples = counter;
}

void sn_outside_thread_leave(struct sn_outside *o, struct sn_outside_thread *thread)
{
	if (o->file.shared.base) {
		sn_outside_remainder_write(o, thread);
		sn_outside_counters_leave(o, thread);
		sn_outside_account_write(o, thread, SN_RECORD_THREAD_END);
		o->past_thread_cpu_ns += thread->user_ns + thread->system_ns;
	}
	sn_ring_close(&thread->samples);
	sn_ring_close(&thread->events);
	sn_outside_counters_close(o, thread);
	thread->has_ended = true;
	/* The first one's writer tells of the process, too, and is kept to the end. */
	if (thread != o->threads.items[0])
		sn_writer_release(&thread->writer);
}
