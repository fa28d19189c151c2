/*
 * The outside sampler from beginning to end: opens a process, drains its events, follows it
 * through forks and execs, and closes its account.
 */
#include "record/outside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "record/outside_parts.h"
#include "record/redact.h"
#include "record/outside_proc.h"
#include "unwind/unwind.h"

enum {
	CACHE_BYTES = 1 << 20,
	LOOK_INTERVAL_NS = 100000000,	 /* at /proc: accounts of threads and process */
	TICK_MOST_NS = 10000000,	 /* of a kernel with 100 a second */
	THREADS_FEW = 16,		 /* whose counts are read at each drain */
	PACKET_INTERVAL_NS = 1000000000, /* wire/data.h: once a second */
	EVENTS_AT_ONCE = 64,
};

/* ---- images ---- */

static void words_write(struct sn_outside *o)
{
	char text[65536], path[96];
	size_t length = sn_proc_read(o->options.pid, 0, "cmdline", text, sizeof(text));
	ssize_t linked;

	if (sn_process_title(text, length)) {
		sn_outside_text_write(o, SN_TEXT_TITLE, text, strlen(text));
		length = 0;
	}
	for (size_t at = 0; at < length; at += strlen(text + at) + 1)
		sn_outside_text_write(o, SN_TEXT_ARGUMENT, text + at, strlen(text + at));
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)o->options.pid);
	linked = readlink(path, text, sizeof(text) - 1);
	if (linked > 0)
		sn_outside_text_write(o, SN_TEXT_FOLDER, text, (size_t)linked);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)o->options.pid);
	linked = readlink(path, text, sizeof(text) - 1);
	if (linked > 0)
		sn_outside_text_write(o, SN_TEXT_PROGRAM, text, (size_t)linked);
}

static void first_words_say(struct sn_outside *o)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "sampled from outside: blocking calls are not recorded, children are "
			    "not followed, and threads are seen a moment after they begin");
	sn_outside_say(o, &text);
	if (o->has_kernel || !o->period_ns)
		return;
	sn_text_addf(&text, "the kernel does not show its own part to this user: system time is "
			    "estimated and attributed to the code that ran next (as root, or with "
			    "kernel.perf_event_paranoid at 1, it is exact)");
	sn_outside_say(o, &text);
}

static uint64_t pending_ns(const struct sn_outside *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			sum += sn_outside_thread_pending_ns(o->threads.items[i]);
	return sum;
}

static void clock_begin(struct sn_outside *o)
{
	sn_outside_clock_begin(&o->clock);
	/* in this order, for the reason below */
	o->clock_paused_ns = sn_proc_cpu_ns(o->options.pid);
	o->clock_base_ns = o->clock_paused_ns - (int64_t)pending_ns(o);
}

static bool has_ended(const struct sn_outside *o)
{
	struct sn_proc_stat_fields fields;

	return !sn_proc_stat(o->options.pid, 0, &fields) || fields.state == 'Z';
}

/* Counts are read first: should we be kept from a CPU between the two, nothing seems to be taken.
 */
static void clock_look(struct sn_outside *o, int64_t time_ns)
{
	uint64_t counted, slack, used_ns;
	int64_t clock_ns;

	if (time_ns < o->next_clock_ns || o->is_paused)
		return;
	size_t alive = sn_outside_threads_alive(o);
	o->next_clock_ns = alive > THREADS_FEW ? time_ns + LOOK_INTERVAL_NS : 0;
	counted = o->clock.told_count_ns + pending_ns(o);
	clock_ns = sn_proc_cpu_ns(o->options.pid);
	if (clock_ns < o->clock_base_ns)
		return;
	used_ns = (uint64_t)(clock_ns - o->clock_base_ns);
	slack = TICK_MOST_NS * (uint64_t)(alive < o->cpus ? alive : o->cpus);
	if (counted > used_ns && has_ended(o))
		sn_outside_clock_end(&o->clock, counted, used_ns);
	else
		sn_outside_clock_look(&o->clock, counted, used_ns, slack);
}

/* A new program in the process: a data file of its own. */
static sn_status image_begin(struct sn_outside *o, struct sn_error *err)
{
	struct sn_outside_file_facts facts = { o->options.folder, o->options.host, o->options.pid,
					       o->sequence,	  o->options.rank, o->period_ns };
	struct sn_proc_stat_fields fields = { 0 };
	sn_status status = sn_outside_file_create(&o->file, &facts, err);

	if (status != SN_OK)
		return status;
	o->began_ns = sn_outside_header(o)->start_ns;
	o->thread_count = 0;
	o->past_thread_cpu_ns = 0;
	o->missed_threads = o->children = o->cut_stacks = o->throttled = 0;
	clock_begin(o);
	if (sn_proc_stat(o->options.pid, 0, &fields))
		sn_outside_header(o)->parent_pid = fields.parent_pid;
	o->first_user_ns = o->user_ns = fields.user_ns;
	o->first_system_ns = o->system_ns = fields.system_ns;
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			sn_outside_thread_enter(o, o->threads.items[i], o->began_ns);
	words_write(o);
	sn_outside_counters_write(o);
	sn_outside_look_at_images(o);
	first_words_say(o);
	return SN_OK;
}

/* Names of code that a just-in-time compiler wrote, where perf looks for them, too. */
static void jit_map_tell(struct sn_outside *o)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "/tmp/perf-%d.map", (int)o->options.pid);
	if (!access(path.chars, R_OK))
		sn_outside_text_write(o, SN_TEXT_JIT, path.chars, strlen(path.chars));
	sn_text_free(&path);
}

static void last_words_say(struct sn_outside *o)
{
	struct sn_text text = { 0 };

	jit_map_tell(o);

	if (o->missed_threads) {
		sn_text_addf(&text, "%llu threads ended before they could be sampled",
			     (unsigned long long)o->missed_threads);
		sn_outside_say(o, &text);
	}
	if (o->refused_threads) {
		sn_text_addf(
			&text,
			"%llu threads could not be sampled (%s): raise 'ulimit -n' and 'ulimit "
			"-l', or sample as root",
			(unsigned long long)o->refused_threads, strerror(o->refusal));
		sn_outside_say(o, &text);
	}
	if (o->refused_counters) {
		sn_text_addf(&text,
			     "%llu counters of threads could not be opened (%s): their events are "
			     "missing",
			     (unsigned long long)o->refused_counters, strerror(o->counter_refusal));
		sn_outside_say(o, &text);
	}
	if (o->children) {
		sn_text_addf(&text, "%llu child processes were not followed",
			     (unsigned long long)o->children);
		sn_outside_say(o, &text);
	}
	if (o->cut_stacks) {
		sn_text_addf(&text,
			     "%llu stacks were deeper than the %llu bytes that are copied, and are "
			     "cut at their outer end",
			     (unsigned long long)o->cut_stacks,
			     (unsigned long long)o->cut_stack_bytes);
		sn_outside_say(o, &text);
	}
	if (o->throttled) {
		sn_text_addf(&text,
			     "the kernel held sampling back %llu times "
			     "(kernel.perf_event_max_sample_rate); CPU time is complete",
			     (unsigned long long)o->throttled);
		sn_outside_say(o, &text);
	}
}

/* The kernel's account of the image, as exact as it is known. It comes from wait4, else from the
 * last look; its sum is that of the threads' exact counts if that is more. */
static void account_end(struct sn_outside *o, const struct rusage *usage)
{
	struct sn_data_header *h = sn_outside_header(o);
	int64_t user_ns = o->user_ns - o->first_user_ns, counted_ns;
	int64_t system_ns = o->system_ns - o->first_system_ns;

	counted_ns = (int64_t)o->past_thread_cpu_ns;
	if (usage && !o->sequence) {
		user_ns = (int64_t)usage->ru_utime.tv_sec * 1000000000 +
			  (int64_t)usage->ru_utime.tv_usec * 1000;
		system_ns = (int64_t)usage->ru_stime.tv_sec * 1000000000 +
			    (int64_t)usage->ru_stime.tv_usec * 1000;
	} else if (counted_ns > user_ns + system_ns) {
		double share =
			user_ns + system_ns ? (double)system_ns / (double)(user_ns + system_ns) : 0;

		system_ns = (int64_t)((double)counted_ns * share);
		user_ns = counted_ns - system_ns;
	}
	h->start_user_ns = h->start_system_ns = 0;
	h->end_user_ns = user_ns;
	h->end_system_ns = system_ns;
}

/* Samples claim what their event counted, which on a busy machine is more than the CPU time; looks
 * at the process's clock make up for it, but not for what comes after the last. */
static void samples_settle(struct sn_outside *o)
{
	const struct sn_data_header *h = sn_outside_header(o);
	double used_ns = (double)(h->end_user_ns + h->end_system_ns);
	double told_ns = (double)o->clock.told_ns;

	if (used_ns > 0 && told_ns > used_ns)
		sn_outside_file_scale(&o->file, used_ns / told_ns);
}

static void image_end(struct sn_outside *o, enum sn_data_state state, const struct rusage *usage)
{
	struct sn_data_header *h = sn_outside_header(o);
	struct timespec realtime;

	last_words_say(o);
	account_end(o, usage);
	if (usage && !o->sequence)
		samples_settle(o);
	clock_gettime(CLOCK_REALTIME, &realtime);
	h->end_ns = sn_outside_now_ns();
	h->end_realtime_ns = (int64_t)realtime.tv_sec * 1000000000 + realtime.tv_nsec;
	h->children_not_followed = o->children;
	atomic_store_explicit(&h->state, state, memory_order_release);
	sn_outside_file_close(&o->file);
}

/* exec is told (by the closing of descriptors) before it is through; the command line is among the
 * last that it sets up. */
static void exec_wait(const struct sn_outside *o)
{
	char word[16];

	for (int waited_us = 0; waited_us < 20000; waited_us += 50) {
		if (sn_proc_read(o->options.pid, 0, "cmdline", word, sizeof(word)))
			return;
		usleep(50);
	}
}

static void exec_seen(struct sn_outside *o)
{
	struct sn_error err;

	/* Only the leader is left, and what it used so far belongs to the image before. */
	for (size_t i = 0; i < o->threads.count; i++) {
		struct sn_outside_thread *thread = o->threads.items[i];

		if (thread->has_ended)
			continue;
		sn_outside_remainder_write(o, thread);
		sn_outside_account_write(o, thread, SN_RECORD_THREAD_END);
		o->past_thread_cpu_ns += thread->user_ns + thread->system_ns;
		thread->user_ns = thread->system_ns = 0;
	}
	image_end(o, SN_DATA_EXECED, NULL);
	sn_outside_images_free(&o->images);
	o->images.generation = 0;
	memset(o->cache_memory, 0, CACHE_BYTES);
	o->cache = sn_unwind_cache_place(o->cache_memory, CACHE_BYTES);
	o->sequence++;
	exec_wait(o);
	if (image_begin(o, &err) != SN_OK)
		sn_error_print(&err);
}

/* ---- draining ---- */

struct event_ids {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time_ns;
};

static void fork_seen(struct sn_outside *o, const struct event_ids *ids)
{
	if ((pid_t)ids->pid != o->options.pid)
		o->children++;
	else if (!sn_outside_thread_find(o, (pid_t)ids->tid))
		sn_outside_thread_add(o, (pid_t)ids->tid, true, (int64_t)ids->time_ns);
}

static void events_drain(struct sn_outside *o, struct sn_outside_thread *thread)
{
	const struct perf_event_header *header;

	while (thread->events.fd >= 0 && (header = sn_ring_next(&thread->events))) {
		switch (header->type) {
		case PERF_RECORD_FORK:
			fork_seen(o, (const void *)(header + 1));
			break;
		case PERF_RECORD_COMM:
			if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
				break;
			/* The exec with which a child of ours begins is none of its own. */
			if (o->is_exec_due) {
				o->is_exec_due = false;
				o->wants_images = true;
				break;
			}
			exec_seen(o);
			return;
		case PERF_RECORD_MMAP:
		case PERF_RECORD_MMAP2:
			o->wants_images = true;
			break;
		default:
			break;
		}
	}
}

static void samples_drain(struct sn_outside *o, struct sn_outside_thread *thread)
{
	const struct perf_event_header *header;

	while (thread->samples.fd >= 0 && (header = sn_ring_next(&thread->samples))) {
		switch (header->type) {
		case PERF_RECORD_SAMPLE:
			sn_outside_sample_take(o, thread, header);
			break;
		case PERF_RECORD_LOST: {
			const uint64_t *id_and_count = (const void *)(header + 1);

			thread->lost += id_and_count[1];
			thread->lost_before += id_and_count[1];
			sn_writer_count_loss(&o->file.shared, SN_LOSS_RING, id_and_count[1]);
			break;
		}
		case PERF_RECORD_THROTTLE:
			o->throttled++;
			break;
		default:
			break;
		}
	}
	sn_outside_counters_drain(o, thread);
}

/* Hang-ups: the thread has ended, and what it left in its rings is drained. */
static void ended_leave(struct sn_outside *o)
{
	struct epoll_event ready[EVENTS_AT_ONCE];
	int count;

	do {
		count = epoll_wait(o->epoll_fd, ready, EVENTS_AT_ONCE, 0);
		for (int i = 0; i < count; i++) {
			struct sn_outside_thread *thread = ready[i].data.ptr;

			if (!(ready[i].events & (EPOLLHUP | EPOLLERR)) || thread->has_ended)
				continue;
			events_drain(o, thread);
			samples_drain(o, thread);
			sn_outside_thread_leave(o, thread);
		}
	} while (count == EVENTS_AT_ONCE);
}

static void look(struct sn_outside *o, int64_t time_ns)
{
	struct sn_proc_stat_fields fields;

	if (time_ns < o->next_look_ns)
		return;
	o->next_look_ns = time_ns + LOOK_INTERVAL_NS;
	if (sn_proc_stat(o->options.pid, 0, &fields)) {
		o->user_ns = fields.user_ns;
		o->system_ns = fields.system_ns;
		/* Should this command be killed, the account so far is there. */
		sn_outside_header(o)->end_user_ns = fields.user_ns - o->first_user_ns;
		sn_outside_header(o)->end_system_ns = fields.system_ns - o->first_system_ns;
		sn_outside_header(o)->end_ns = time_ns;
	}
	for (size_t i = 0; i < o->threads.count && i < 256; i++) {
		if (o->threads.items[i]->has_ended)
			continue;
		sn_outside_thread_look(o, o->threads.items[i]);
		if (o->threads.items[i]->is_new)
			sn_outside_thread_look_before(o, o->threads.items[i]);
	}
	if (!o->has_tried_cpus && !o->is_paused && sn_outside_cpus_are_wanted(o))
		sn_outside_cpus_open(o);
	if (time_ns < o->next_packet_ns)
		return;
	o->next_packet_ns = time_ns + PACKET_INTERVAL_NS;
	sn_outside_packet_write(o);
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			sn_outside_account_write(o, o->threads.items[i], SN_RECORD_THREAD_ACCOUNT);
}

/* The last thread hangs up a moment before the process has ended, when its clock is exact. */
static void end_wait(const struct sn_outside *o)
{
	struct epoll_event ready[2];
	int count;

	if (sn_outside_threads_alive(o) != 1)
		return;
	count = epoll_wait(o->epoll_fd, ready, 2, 0);
	if (count < 1 || !(ready[0].events & (EPOLLHUP | EPOLLERR)))
		return;
	for (int waited_us = 0; waited_us < 20000 && !has_ended(o); waited_us += 500)
		usleep(500);
}

bool sn_outside_drain(struct sn_outside *o)
{
	if (!o->file.shared.base)
		return true;
	/* First what changes the picture, then the samples taken under it. */
	for (size_t i = 0; i < o->threads.count; i++)
		events_drain(o, o->threads.items[i]);
	if (!o->file.shared.base)
		return false;
	if (o->wants_images)
		sn_outside_look_at_images(o);
	end_wait(o);
	clock_look(o, sn_outside_now_ns());
	for (size_t i = 0; i < o->threads.count; i++)
		samples_drain(o, o->threads.items[i]);
	sn_outside_cpus_drain(o);
	ended_leave(o);
	look(o, sn_outside_now_ns());
	return sn_outside_threads_alive(o) > 0;
}

/* ---- from beginning to end ---- */

static sn_status refuse(const struct sn_outside *o, struct sn_error *err)
{
	int pid = (int)o->options.pid, level = -1;
	struct sn_file_view view;

	if (o->refusal == 0 || o->refusal == ESRCH)
		return sn_error_set(err, SN_ERR_NOT_FOUND, "there is no process %d", pid);
	if (o->refusal == EMFILE || o->refusal == ENFILE)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "cannot sample process %d: too many open files; raise 'ulimit "
				    "-n'",
				    pid);
	if (o->refusal != EACCES && o->refusal != EPERM) {
		errno = o->refusal;
		return sn_error_errno(err, "cannot sample process %d: the kernel refuses", pid);
	}
	if (sn_file_map("/proc/sys/kernel/perf_event_paranoid", &view, NULL) == SN_OK) {
		level = view.length ? atoi((const char *)view.bytes) : -1;
		sn_file_unmap(&view);
	}
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"cannot sample process %d: the kernel refuses (kernel.perf_event_paranoid "
		"is %d); be its owner or root, and set that to 2 or less",
		pid, level);
}

static void outside_free(struct sn_outside *o)
{
	for (size_t i = 0; i < o->threads.count; i++) {
		sn_ring_close(&o->threads.items[i]->samples);
		sn_ring_close(&o->threads.items[i]->events);
		sn_outside_counters_close(o, o->threads.items[i]);
		free(o->threads.items[i]);
	}
	sn_vec_free(&o->threads);
	sn_outside_cpus_close(o);
	sn_outside_file_close(&o->file);
	sn_outside_images_free(&o->images);
	if (o->epoll_fd >= 0)
		close(o->epoll_fd);
	free(o->cache_memory);
	free(o);
}

static void locked_memory_allow(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &limit);
	}
}

sn_status sn_outside_open(const struct sn_outside_options *options, struct sn_outside **out,
			  struct sn_error *err)
{
	struct sn_outside *o = sn_alloc_zeroed(1, sizeof(*o));
	sn_status status = SN_OK;

	o->options = *options;
	o->is_exec_due = options->is_before_exec;
	o->is_paused = options->starts_paused;
	o->has_kernel = o->has_lost_count = true;
	o->period_ns = options->rate_hz > 0 ? (uint64_t)(1000700000.0 / options->rate_hz) : 0;
	o->cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	o->cache_memory = aligned_alloc(64, CACHE_BYTES);
	if (o->cache_memory) {
		memset(o->cache_memory, 0, CACHE_BYTES);
		o->cache = sn_unwind_cache_place(o->cache_memory, CACHE_BYTES);
	}
	locked_memory_allow();
	sn_outside_threads_scan(o);
	if (!o->threads.count)
		status = refuse(o, err);
	else if (!options->is_before_exec)
		status = sn_outside_begin(o, err);
	if (status != SN_OK) {
		outside_free(o);
		return status;
	}
	*out = o;
	return SN_OK;
}

sn_status sn_outside_begin(struct sn_outside *o, struct sn_error *err)
{
	sn_status status;

	if (o->options.is_before_exec)
		exec_wait(o);
	status = image_begin(o, err);

	o->has_begun = status == SN_OK;
	o->next_packet_ns = sn_outside_now_ns() + PACKET_INTERVAL_NS;
	return status;
}

int sn_outside_fd(const struct sn_outside *o)
{
	return o->epoll_fd;
}

static void thread_enable(const struct sn_outside *o, const struct sn_outside_thread *thread,
			  bool is_enabled)
{
	sn_ring_enable(&thread->samples, is_enabled);
	sn_outside_counters_enable(o, thread, is_enabled);
}

void sn_outside_pause(struct sn_outside *o, bool is_paused)
{
	if (o->is_paused == is_paused)
		return;
	o->is_paused = is_paused;
	int64_t clock_ns = sn_proc_cpu_ns(o->options.pid);
	if (is_paused)
		o->clock_paused_ns = clock_ns;
	else
		o->clock_base_ns += clock_ns - o->clock_paused_ns;
	/* A disabled event does not count either: what is used meanwhile is told nowhere. */
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			thread_enable(o, o->threads.items[i], !is_paused);
	sn_outside_cpus_enable(o, !is_paused);
}

void sn_outside_close(struct sn_outside *o, int wait_status, const struct rusage *usage)
{
	struct sn_data_header *h;

	if (o->file.shared.base) {
		sn_outside_drain(o);
		for (size_t i = 0; i < o->threads.count; i++)
			if (!o->threads.items[i]->has_ended)
				sn_outside_thread_leave(o, o->threads.items[i]);
	}
	if (o->file.shared.base) {
		h = sn_outside_header(o);
		if (usage && WIFEXITED(wait_status))
			h->exit_code = WEXITSTATUS(wait_status);
		image_end(o, usage && WIFSIGNALED(wait_status) ? SN_DATA_ABORTED : SN_DATA_EXITED,
			  usage);
	}
	outside_free(o);
}
