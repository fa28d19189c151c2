#include "record/outside.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "experiment/experiment.h"
#include "record/outside_file.h"
#include "record/outside_images.h"
#include "record/outside_ring.h"
#include "unwind/unwind.h"

enum {
	FRAMES_MAX = 2048,
	CACHE_BYTES = 1 << 20,
	LOOK_INTERVAL_NS = 100000000,	 /* at /proc: accounts of threads and process */
	PACKET_INTERVAL_NS = 1000000000, /* wire/data.h: once a second */
	EVENTS_AT_ONCE = 64,
	ROOM_CHUNKS = 64, /* ask for more space when fewer are left */
};

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

struct thread {
	pid_t tid;
	uint32_t index; /* in the data file */
	struct sn_ring samples, events;
	uint32_t stack_bytes;
	struct sn_writer writer;
	uint64_t base_cpu_ns;	     /* the event's count when this image began */
	uint64_t last_cpu_ns;	     /* ... at the latest sample */
	uint64_t unseen_cpu_ns;	     /* used before the event was there; goes to the first sample */
	uint64_t user_ns, system_ns; /* as the samples say */
	uint64_t lost;		     /* samples, as LOST records told */
	uint64_t lost_before;	     /* ... since the latest sample */
	int64_t wait_cpu_ns, wait_before_ns;
	uint64_t voluntary, involuntary;
	int64_t seen_ns; /* latest sample */
	char name[16];
	bool has_ended;
};

struct sn_outside {
	struct sn_outside_options options;
	struct sn_outside_file file;
	struct sn_outside_images images;
	struct sn_unwind_cache *cache;
	void *cache_memory;
	SN_VEC(struct thread *) threads;
	int epoll_fd;
	uint32_t sequence, thread_count; /* of the current image */
	uint64_t period_ns;
	uint64_t missed_threads, children, refused_threads, throttled, cut_stacks, cut_stack_bytes;
	uint64_t past_thread_cpu_ns; /* of threads that ended, in this image */
	int64_t began_ns, next_look_ns, next_packet_ns;
	int64_t first_user_ns, first_system_ns, user_ns, system_ns; /* the kernel's, by ticks */
	bool is_exec_due; /* of a child of ours: its first */
	bool has_kernel, has_lost_count, is_paused, has_begun, wants_images;
	int refusal; /* errno of the latest thread that could not be opened */
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct sn_data_header *header_of(struct sn_outside *o)
{
	return sn_writer_header(&o->file.shared);
}

/* ---- reading /proc ---- */

static size_t proc_read(pid_t pid, pid_t tid, const char *name, char *out, size_t size)
{
	char path[96];
	size_t got;
	FILE *in;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	in = fopen(path, "re");
	out[0] = '\0';
	if (!in)
		return 0;
	got = fread(out, 1, size - 1, in);
	out[got] = '\0';
	fclose(in);
	return got;
}

/* The fields of a stat file from the third on, behind the name; false if it is gone. */
struct stat_fields {
	int64_t user_ns, system_ns;
	int32_t parent_pid;
	uint64_t minor_faults, major_faults, resident_bytes, start_ticks;
	char state;
};

static bool stat_read(pid_t pid, pid_t tid, struct stat_fields *out)
{
	char text[1024], *at;
	unsigned long long minor, major, user, system, start;
	long long resident;
	int parent;
	int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);

	if (!proc_read(pid, tid, "stat", text, sizeof(text)) || !(at = strrchr(text, ')')))
		return false;
	if (sscanf(at + 1,
		   " %c %d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d %*d %*d "
		   "%*d %llu %*u %lld",
		   &out->state, &parent, &minor, &major, &user, &system, &start, &resident) < 8)
		return false;
	out->parent_pid = parent;
	out->user_ns = (int64_t)user * tick_ns;
	out->system_ns = (int64_t)system * tick_ns;
	out->minor_faults = minor;
	out->major_faults = major;
	out->start_ticks = start;
	out->resident_bytes = resident > 0 ? (uint64_t)resident * 4096 : 0;
	return true;
}

/* CPU time and time waiting for a CPU, both exact; false if it is gone. */
static bool schedstat_read(pid_t pid, pid_t tid, int64_t *cpu_ns, int64_t *wait_ns)
{
	char text[128];
	long long cpu, wait;

	if (!proc_read(pid, tid, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%lld %lld", &cpu, &wait) != 2)
		return false;
	*cpu_ns = cpu;
	*wait_ns = wait;
	return true;
}

static void switches_read(pid_t pid, pid_t tid, uint64_t *voluntary, uint64_t *involuntary)
{
	char text[4096], *at;

	if (!proc_read(pid, tid, "status", text, sizeof(text)))
		return;
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	if (at)
		*voluntary = strtoull(at + 25, NULL, 10);
	at = strstr(text, "\nnonvoluntary_ctxt_switches:");
	if (at)
		*involuntary = strtoull(at + 28, NULL, 10);
}

/* ---- records ---- */

static struct sn_writer *main_writer(struct sn_outside *o)
{
	return &o->threads.items[0]->writer;
}

static void room_make(struct sn_outside *o)
{
	struct sn_data_header *h = header_of(o);

	if (o->options.feed && h->next_chunk + ROOM_CHUNKS > h->chunks_backed)
		o->options.feed(o->options.feed_context);
}

static void *record_reserve(struct sn_outside *o, struct sn_writer *writer, uint8_t type,
			    uint8_t flags, size_t bytes)
{
	struct sn_record_header *record;

	bytes = (bytes + 7) & ~(size_t)7;
	record = sn_writer_reserve(writer, (uint32_t)bytes, now_ns());
	if (!record) {
		sn_writer_count_loss(&o->file.shared, SN_DATA_LOSS_NO_SPACE, 1);
		return NULL;
	}
	memset(record, 0, bytes);
	*record = (struct sn_record_header){ .type = type,
					     .flags = flags,
					     .size_bytes = (uint16_t)bytes };
	return record;
}

static void record_commit(struct sn_writer *writer, const void *record)
{
	sn_writer_commit(writer, ((const struct sn_record_header *)record)->size_bytes);
}

static void text_write(struct sn_outside *o, uint8_t kind, const char *text, size_t length)
{
	sn_writer_text(main_writer(o), now_ns(), kind, text, length);
}

static void say(struct sn_outside *o, struct sn_text *sentence)
{
	text_write(o, SN_TEXT_WARNING, sentence->chars, strlen(sentence->chars));
	sn_text_free(sentence);
}

static void map_write(struct sn_outside *o, struct sn_outside_image *image)
{
	size_t length = strlen(image->path);
	struct sn_record_map *record;

	if (length > SN_DATA_STRING_MAX)
		length = SN_DATA_STRING_MAX;
	record = record_reserve(o, main_writer(o), SN_RECORD_MAP, image->flags,
				offsetof(struct sn_record_map, path) + length + 1);
	if (!record)
		return;
	record->path_bytes = (uint32_t)length;
	record->time_ns = o->images.generation <= 1 ? o->began_ns : now_ns();
	record->load_start = image->load_start;
	record->load_end = image->load_end;
	record->load_bias = image->load_bias;
	record->file_offset = image->file_offset;
	record->build_id_bytes = image->build_id_bytes;
	memcpy(record->build_id, image->build_id, sizeof(record->build_id));
	memcpy(record->path, image->path, length);
	record_commit(main_writer(o), record);
	image->is_told = true;
}

static void unmap_write(struct sn_outside *o, struct sn_outside_image *image)
{
	struct sn_record_unmap *record =
		record_reserve(o, main_writer(o), SN_RECORD_UNMAP, 0, sizeof(*record));

	if (!record)
		return;
	record->time_ns = now_ns();
	record->load_start = image->load_start;
	record->load_end = image->load_end;
	record_commit(main_writer(o), record);
	image->is_gone = true;
}

static void images_look(struct sn_outside *o)
{
	o->wants_images = false;
	if (!sn_outside_images_look(&o->images, o->options.pid))
		return;
	for (size_t i = 0; i < o->images.list.count; i++) {
		struct sn_outside_image *image = o->images.list.items[i];

		if (!image->is_told)
			map_write(o, image);
		if (!image->is_there && !image->is_gone)
			unmap_write(o, image);
	}
}

static void thread_start_write(struct sn_outside *o, struct thread *thread, int64_t time_ns)
{
	struct sn_record_thread_start *record =
		record_reserve(o, &thread->writer, SN_RECORD_THREAD_START, 0, sizeof(*record));

	header_of(o)->threads_started++;
	if (!record)
		return;
	record->thread_index = thread->index;
	record->tid = thread->tid;
	record->creator_index = UINT32_MAX;
	record->time_ns = time_ns;
	record_commit(&thread->writer, record);
}

/* What the thread used in this image, exactly; user and system by its samples' modes. */
static void account_write(struct sn_outside *o, struct thread *thread, uint8_t type)
{
	uint64_t cpu_ns = thread->last_cpu_ns - thread->base_cpu_ns + thread->unseen_cpu_ns;
	uint64_t sampled_ns = thread->user_ns + thread->system_ns;
	double system_share = sampled_ns ? (double)thread->system_ns / (double)sampled_ns : 0;
	struct sn_record_thread_account *record =
		record_reserve(o, &thread->writer, type, 0, sizeof(*record));

	if (!record)
		return;
	record->thread_index = thread->index;
	record->time_ns = now_ns();
	record->cpu_ns = (int64_t)cpu_ns;
	record->system_ns = (int64_t)((double)cpu_ns * system_share);
	record->user_ns = record->cpu_ns - record->system_ns;
	record->wait_cpu_ns =
		thread->wait_cpu_ns < 0 ? -1 : thread->wait_cpu_ns - thread->wait_before_ns;
	record->voluntary_switches = thread->voluntary;
	record->involuntary_switches = thread->involuntary;
	memcpy(record->name, thread->name, sizeof(record->name));
	record_commit(&thread->writer, record);
}

static void packet_write(struct sn_outside *o)
{
	struct stat_fields fields;
	struct sn_record_packet *record;

	if (!stat_read(o->options.pid, 0, &fields))
		return;
	record = record_reserve(o, main_writer(o), SN_RECORD_PACKET, 0, sizeof(*record));
	if (!record)
		return;
	record->time_ns = now_ns();
	record->user_ns = fields.user_ns - o->first_user_ns;
	record->system_ns = fields.system_ns - o->first_system_ns;
	record->wait_cpu_ns = -1;
	record->minor_faults = fields.minor_faults;
	record->major_faults = fields.major_faults;
	record->resident_bytes = fields.resident_bytes;
	record_commit(main_writer(o), record);
}

/* ---- samples ---- */

/* perf's numbers of the registers that we ask for, in the order in which they come, as DWARF counts
 * them (arch/x86/include/uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip, r8 to r15). */
#define REGS_MASK UINT64_C(0xff01ff)
static const uint8_t dwarf_number[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15 };

struct sample {
	int64_t time_ns;
	uint32_t cpu;
	uint64_t count;
	bool is_kernel, has_regs;
	struct sn_unwind_regs regs;
	const uint8_t *stack;
	uint64_t stack_bytes; /* that were really copied */
	bool is_stack_full;   /* as much as was asked for */
};

struct words {
	const uint64_t *next;
	size_t left;
};

static uint64_t word(struct words *words)
{
	if (!words->left)
		return 0;
	words->left--;
	return *words->next++;
}

static void sample_parse(const struct perf_event_header *header, bool has_lost, struct sample *out)
{
	struct words words = { (const void *)(header + 1), (header->size - sizeof(*header)) / 8 };
	uint64_t size;

	*out = (struct sample){ .is_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
					     PERF_RECORD_MISC_KERNEL };
	word(&words); /* pid and tid */
	out->time_ns = (int64_t)word(&words);
	out->cpu = (uint32_t)word(&words);
	out->count = word(&words);
	if (has_lost)
		word(&words);
	if (word(&words) == PERF_SAMPLE_REGS_ABI_64) {
		for (size_t i = 0; i < sizeof(dwarf_number); i++)
			out->regs.value[dwarf_number[i]] = word(&words);
		out->regs.valid = SN_UNWIND_ALL_VALID;
		out->has_regs = true;
	}
	size = word(&words);
	if (!size || size / 8 + 1 > words.left)
		return;
	out->stack = (const uint8_t *)words.next;
	out->stack_bytes = words.next[size / 8];
	out->is_stack_full = out->stack_bytes >= size;
	if (out->stack_bytes > size)
		out->stack_bytes = 0;
}

static uint8_t stack_flags(const struct sn_unwind_walk_result *walk, bool is_stack_full)
{
	static const uint8_t by_end[] = {
		[SN_UNWIND_COMPLETE] = SN_STACK_COMPLETE,
		[SN_UNWIND_NO_RULE] = SN_STACK_NO_CFI,
		[SN_UNWIND_BAD_CFI] = SN_STACK_BAD_CFI,
		[SN_UNWIND_STACK_RANGE] = SN_STACK_UNREADABLE,
		[SN_UNWIND_TOO_DEEP] = SN_STACK_TOO_DEEP,
		[SN_UNWIND_UNREADABLE] = SN_STACK_UNREADABLE,
	};
	uint8_t flags = by_end[walk->end];

	if (walk->end == SN_UNWIND_STACK_RANGE && is_stack_full)
		flags = SN_STACK_TOO_DEEP; /* deeper than the copy */
	if (walk->flags & (SN_UNWIND_BY_FRAME_POINTER | SN_UNWIND_BY_RETURN_GUESS))
		flags |= SN_STACK_NO_CFI;
	return flags;
}

static uint32_t sample_unwind(struct sn_outside *o, struct thread *thread, struct sample *sample)
{
	static uint64_t pcs[FRAMES_MAX];
	uint64_t sp = sample->regs.value[SN_UNWIND_RSP];
	struct sn_unwind_window stack = { sp, sp + sample->stack_bytes, sample->stack };
	struct sn_unwind_target target = { o->images.modules.items,
					   (uint32_t)o->images.modules.count, o->images.generation,
					   &stack, sample->stack_bytes != 0 };
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

static void sample_put(struct sn_outside *o, struct thread *thread, const struct sample *sample,
		       uint64_t cpu_ns, uint32_t stack, uint8_t flags)
{
	if (!sn_writer_sample(&thread->writer, sample->time_ns, cpu_ns, stack,
			      (uint16_t)sample->cpu, flags)) {
		sn_writer_count_loss(&o->file.shared, SN_DATA_LOSS_NO_SPACE, 1);
		return;
	}
	if (flags & SN_RECORD_SAMPLE_SYSTEM)
		thread->system_ns += cpu_ns;
	else
		thread->user_ns += cpu_ns;
}

/*
 * A sample stands for the CPU time since the one before. Where the kernel hides its own part, the
 * timer still ran there but left no samples: of the k periods that passed, k - 1 were system time.
 * They are told as time without an observation, at the code that the kernel returned to.
 */
static void sample_take(struct sn_outside *o, struct thread *thread,
			const struct perf_event_header *header)
{
	struct sample sample;
	uint64_t cpu_ns, seen_ns, hidden_ns = 0;
	uint32_t stack;

	sample_parse(header, o->has_lost_count, &sample);
	if (sample.count < thread->last_cpu_ns)
		return;
	cpu_ns = sample.count - thread->last_cpu_ns + thread->unseen_cpu_ns;
	thread->last_cpu_ns = sample.count;
	thread->base_cpu_ns -= thread->unseen_cpu_ns;
	thread->unseen_cpu_ns = 0;
	thread->seen_ns = sample.time_ns;
	room_make(o);
	stack = sample_unwind(o, thread, &sample);
	seen_ns = o->period_ns * (1 + thread->lost_before);
	thread->lost_before = 0;
	if (!o->has_kernel && cpu_ns > seen_ns + o->period_ns / 2)
		hidden_ns = cpu_ns - seen_ns;
	if (hidden_ns)
		sample_put(o, thread, &sample, hidden_ns, stack,
			   SN_RECORD_SAMPLE_SYSTEM | SN_RECORD_SAMPLE_REMAINDER);
	sample_put(o, thread, &sample, cpu_ns - hidden_ns, stack,
		   sample.is_kernel ? SN_RECORD_SAMPLE_SYSTEM : 0);
}

/* ---- threads ---- */

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
		.sample_regs_user = REGS_MASK,
		.sample_stack_user = stack_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = !o->has_kernel,
		.exclude_hv = 1,
		.disabled = (o->options.is_before_exec && !o->has_begun) || o->is_paused,
		.enable_on_exec = o->options.is_before_exec && !o->has_begun,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(4096u << order) / 2,
	};
	if (!o->period_ns) { /* only the account: the count is all that is wanted */
		attr->sample_period = INT64_MAX;
		attr->sample_stack_user = 8;
	}
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
static int samples_open_once(struct sn_outside *o, struct thread *thread, size_t size)
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

static size_t threads_alive(const struct sn_outside *o)
{
	size_t alive = 0;

	for (size_t i = 0; i < o->threads.count; i++)
		alive += !o->threads.items[i]->has_ended;
	return alive;
}

static int rings_open(struct sn_outside *o, struct thread *thread)
{
	struct perf_event_attr attr;
	int fault = 0;
	size_t i = 0, alive = threads_alive(o);

	while (alive >= (o->has_kernel ? sizes[i].threads_most_root : sizes[i].threads_most))
		i++;
	for (; i < sizeof(sizes) / sizeof(*sizes); i++) {
		thread->stack_bytes = sizes[i].stack_bytes;
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

static struct thread *thread_find(const struct sn_outside *o, pid_t tid)
{
	for (size_t i = o->threads.count; i-- > 0;)
		if (o->threads.items[i]->tid == tid && !o->threads.items[i]->has_ended)
			return o->threads.items[i];
	return NULL;
}

static void thread_look(struct sn_outside *o, struct thread *thread)
{
	int64_t cpu_ns, wait_ns;
	char name[sizeof(thread->name) + 1];
	size_t length;

	if (schedstat_read(o->options.pid, thread->tid, &cpu_ns, &wait_ns))
		thread->wait_cpu_ns = wait_ns;
	switches_read(o->options.pid, thread->tid, &thread->voluntary, &thread->involuntary);
	length = proc_read(o->options.pid, thread->tid, "comm", name, sizeof(name));
	if (length < 2)
		return;
	memset(thread->name, 0, sizeof(thread->name));
	memcpy(thread->name, name, length - 1); /* less the end of line */
}

/* CPU time that the thread had used when its event began to count. */
static int64_t used_before(const struct sn_outside *o, const struct thread *thread)
{
	uint64_t count = 0, lost;
	int64_t cpu_ns = 0, wait_ns = 0;

	if (!sn_ring_count(&thread->samples, &count, &lost) ||
	    !schedstat_read(o->options.pid, thread->tid, &cpu_ns, &wait_ns))
		return 0;
	return cpu_ns > (int64_t)count ? cpu_ns - (int64_t)count : 0;
}

static void thread_enter(struct sn_outside *o, struct thread *thread, int64_t time_ns)
{
	thread->index = o->thread_count++;
	thread->writer = (struct sn_writer){ .file = &o->file.shared,
					     .thread_index = thread->index,
					     .tid = thread->tid };
	thread_start_write(o, thread, time_ns);
}

/* Opens a thread's events; `is_new`: it began while we watched, so all of its time is wanted. */
static bool thread_add(struct sn_outside *o, pid_t tid, bool is_new, int64_t time_ns)
{
	struct thread *thread = sn_alloc_zeroed(1, sizeof(*thread));
	struct epoll_event event = { .events = EPOLLIN };
	int fault;

	thread->tid = tid;
	thread->wait_cpu_ns = -1;
	thread->samples.fd = thread->events.fd = -1;
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
	thread_look(o, thread);
	if (is_new) {
		thread->unseen_cpu_ns = (uint64_t)used_before(o, thread);
	} else {
		thread->wait_before_ns = thread->wait_cpu_ns > 0 ? thread->wait_cpu_ns : 0;
		/* Switches are counted from the thread's start by the kernel; so are they here. */
	}
	if (o->file.shared.base)
		thread_enter(o, thread, time_ns);
	return true;
}

/* All threads of the process that are not known yet, again until there are no more. */
static void threads_scan(struct sn_outside *o)
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

			if (tid > 0 && !thread_find(o, tid))
				has_more |= thread_add(o, tid, o->has_begun, now_ns());
		}
		if (folder)
			closedir(folder);
		if (o->refused_threads != refused)
			break;
	}
}

/* Time that no sample stands for any more is told without one. */
static void remainder_write(struct sn_outside *o, struct thread *thread)
{
	struct sample sample = { .time_ns = now_ns() };
	uint64_t count, lost, left_ns, system_ns;

	if (!sn_ring_count(&thread->samples, &count, &lost))
		return;
	left_ns = count - thread->last_cpu_ns + thread->unseen_cpu_ns;
	if (count < thread->last_cpu_ns)
		return;
	thread->last_cpu_ns = count;
	thread->base_cpu_ns -= thread->unseen_cpu_ns;
	thread->unseen_cpu_ns = 0;
	if (lost > thread->lost)
		sn_writer_count_loss(&o->file.shared, SN_DATA_LOSS_RING, lost - thread->lost);
	if (lost > thread->lost)
		thread->lost = lost;
	system_ns = thread->user_ns + thread->system_ns
			    ? (uint64_t)((double)left_ns * (double)thread->system_ns /
					 (double)(thread->user_ns + thread->system_ns))
			    : 0;
	if (system_ns)
		sample_put(o, thread, &sample, system_ns, 0,
			   SN_RECORD_SAMPLE_SYSTEM | SN_RECORD_SAMPLE_REMAINDER);
	if (left_ns > system_ns)
		sample_put(o, thread, &sample, left_ns - system_ns, 0, SN_RECORD_SAMPLE_REMAINDER);
}

static void thread_leave(struct sn_outside *o, struct thread *thread)
{
	if (o->file.shared.base) {
		remainder_write(o, thread);
		account_write(o, thread, SN_RECORD_THREAD_END);
		o->past_thread_cpu_ns += thread->last_cpu_ns - thread->base_cpu_ns;
	}
	sn_ring_close(&thread->samples);
	sn_ring_close(&thread->events);
	thread->has_ended = true;
	/* The first one's writer tells of the process, too, and is kept to the end. */
	if (thread != o->threads.items[0])
		sn_writer_release(&thread->writer);
}

/* ---- images ---- */

static void words_write(struct sn_outside *o)
{
	char text[65536], path[96];
	size_t length = proc_read(o->options.pid, 0, "cmdline", text, sizeof(text));
	ssize_t linked;

	for (size_t at = 0; at < length; at += strlen(text + at) + 1)
		text_write(o, SN_TEXT_ARGUMENT, text + at, strlen(text + at));
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)o->options.pid);
	linked = readlink(path, text, sizeof(text) - 1);
	if (linked > 0)
		text_write(o, SN_TEXT_FOLDER, text, (size_t)linked);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)o->options.pid);
	linked = readlink(path, text, sizeof(text) - 1);
	if (linked > 0)
		text_write(o, SN_TEXT_PROGRAM, text, (size_t)linked);
}

static void first_words_say(struct sn_outside *o)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "sampled from outside: blocking calls are not recorded, children are "
			    "not followed, and threads are seen a moment after they begin");
	say(o, &text);
	if (o->has_kernel || !o->period_ns)
		return;
	sn_text_addf(&text, "the kernel does not show its own part to this user: system time is "
			    "estimated and attributed to the code that ran next (as root, or with "
			    "kernel.perf_event_paranoid at 1, it is exact)");
	say(o, &text);
}

/* A new program in the process: a data file of its own. */
static sn_status image_begin(struct sn_outside *o, struct sn_error *err)
{
	struct sn_outside_file_facts facts = { o->options.folder, o->options.host, o->options.pid,
					       o->sequence,	  o->options.rank, o->period_ns };
	struct stat_fields fields = { 0 };
	sn_status status = sn_outside_file_create(&o->file, &facts, err);

	if (status != SN_OK)
		return status;
	o->began_ns = header_of(o)->start_ns;
	o->thread_count = 0;
	o->past_thread_cpu_ns = 0;
	o->missed_threads = o->children = o->cut_stacks = o->throttled = 0;
	if (stat_read(o->options.pid, 0, &fields))
		header_of(o)->parent_pid = fields.parent_pid;
	o->first_user_ns = o->user_ns = fields.user_ns;
	o->first_system_ns = o->system_ns = fields.system_ns;
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			thread_enter(o, o->threads.items[i], o->began_ns);
	words_write(o);
	images_look(o);
	first_words_say(o);
	return SN_OK;
}

/* Names of code that a just-in-time compiler wrote, where perf looks for them, too. */
static void jit_map_tell(struct sn_outside *o)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "/tmp/perf-%d.map", (int)o->options.pid);
	if (!access(path.chars, R_OK))
		text_write(o, SN_TEXT_JIT, path.chars, strlen(path.chars));
	sn_text_free(&path);
}

static void last_words_say(struct sn_outside *o)
{
	struct sn_text text = { 0 };

	jit_map_tell(o);

	if (o->missed_threads) {
		sn_text_addf(&text, "%llu threads ended before they could be sampled",
			     (unsigned long long)o->missed_threads);
		say(o, &text);
	}
	if (o->refused_threads) {
		sn_text_addf(
			&text,
			"%llu threads could not be sampled (%s): raise 'ulimit -n' and 'ulimit "
			"-l', or sample as root",
			(unsigned long long)o->refused_threads, strerror(o->refusal));
		say(o, &text);
	}
	if (o->children) {
		sn_text_addf(&text, "%llu child processes were not followed",
			     (unsigned long long)o->children);
		say(o, &text);
	}
	if (o->cut_stacks) {
		sn_text_addf(&text,
			     "%llu stacks were deeper than the %llu bytes that are copied, and are "
			     "cut at their outer end",
			     (unsigned long long)o->cut_stacks,
			     (unsigned long long)o->cut_stack_bytes);
		say(o, &text);
	}
	if (o->throttled) {
		sn_text_addf(&text,
			     "the kernel held sampling back %llu times "
			     "(kernel.perf_event_max_sample_rate); CPU time is complete",
			     (unsigned long long)o->throttled);
		say(o, &text);
	}
}

/* The kernel's account of the image, as fine as it is: from wait4, else from the last look, whose
 * sum is that of the threads' exact counts if that says more. */
static void account_end(struct sn_outside *o, const struct rusage *usage)
{
	struct sn_data_header *h = header_of(o);
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

static void image_end(struct sn_outside *o, enum sn_data_state state, const struct rusage *usage)
{
	struct sn_data_header *h = header_of(o);
	struct timespec realtime;

	last_words_say(o);
	account_end(o, usage);
	clock_gettime(CLOCK_REALTIME, &realtime);
	h->end_ns = now_ns();
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
		if (proc_read(o->options.pid, 0, "cmdline", word, sizeof(word)))
			return;
		usleep(50);
	}
}

static void exec_seen(struct sn_outside *o)
{
	struct sn_error err;

	/* Only the leader is left, and what it used so far belongs to the image before. */
	for (size_t i = 0; i < o->threads.count; i++) {
		struct thread *thread = o->threads.items[i];

		if (thread->has_ended)
			continue;
		remainder_write(o, thread);
		account_write(o, thread, SN_RECORD_THREAD_END);
		o->past_thread_cpu_ns += thread->last_cpu_ns - thread->base_cpu_ns;
		thread->base_cpu_ns = thread->last_cpu_ns;
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
	else if (!thread_find(o, (pid_t)ids->tid))
		thread_add(o, (pid_t)ids->tid, true, (int64_t)ids->time_ns);
}

static void events_drain(struct sn_outside *o, struct thread *thread)
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

static void samples_drain(struct sn_outside *o, struct thread *thread)
{
	const struct perf_event_header *header;

	while (thread->samples.fd >= 0 && (header = sn_ring_next(&thread->samples))) {
		switch (header->type) {
		case PERF_RECORD_SAMPLE:
			sample_take(o, thread, header);
			break;
		case PERF_RECORD_LOST: {
			const uint64_t *id_and_count = (const void *)(header + 1);

			thread->lost += id_and_count[1];
			thread->lost_before += id_and_count[1];
			sn_writer_count_loss(&o->file.shared, SN_DATA_LOSS_RING, id_and_count[1]);
			break;
		}
		case PERF_RECORD_THROTTLE:
			o->throttled++;
			break;
		default:
			break;
		}
	}
}

/* Hang-ups: the thread has ended, and what it left in its rings is drained. */
static void ended_leave(struct sn_outside *o)
{
	struct epoll_event ready[EVENTS_AT_ONCE];
	int count;

	do {
		count = epoll_wait(o->epoll_fd, ready, EVENTS_AT_ONCE, 0);
		for (int i = 0; i < count; i++) {
			struct thread *thread = ready[i].data.ptr;

			if (!(ready[i].events & (EPOLLHUP | EPOLLERR)) || thread->has_ended)
				continue;
			events_drain(o, thread);
			samples_drain(o, thread);
			thread_leave(o, thread);
		}
	} while (count == EVENTS_AT_ONCE);
}

static void look(struct sn_outside *o, int64_t time_ns)
{
	struct stat_fields fields;

	if (time_ns < o->next_look_ns)
		return;
	o->next_look_ns = time_ns + LOOK_INTERVAL_NS;
	if (stat_read(o->options.pid, 0, &fields)) {
		o->user_ns = fields.user_ns;
		o->system_ns = fields.system_ns;
	}
	for (size_t i = 0; i < o->threads.count && i < 256; i++)
		if (!o->threads.items[i]->has_ended)
			thread_look(o, o->threads.items[i]);
	if (time_ns < o->next_packet_ns)
		return;
	o->next_packet_ns = time_ns + PACKET_INTERVAL_NS;
	packet_write(o);
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			account_write(o, o->threads.items[i], SN_RECORD_THREAD_ACCOUNT);
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
		images_look(o);
	for (size_t i = 0; i < o->threads.count; i++)
		samples_drain(o, o->threads.items[i]);
	ended_leave(o);
	look(o, now_ns());
	return threads_alive(o) > 0;
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
		free(o->threads.items[i]);
	}
	sn_vec_free(&o->threads);
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
	o->has_kernel = o->has_lost_count = true;
	o->period_ns = options->rate_hz > 0 ? (uint64_t)(1000700000.0 / options->rate_hz) : 0;
	o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	o->cache_memory = aligned_alloc(64, CACHE_BYTES);
	if (o->cache_memory) {
		memset(o->cache_memory, 0, CACHE_BYTES);
		o->cache = sn_unwind_cache_place(o->cache_memory, CACHE_BYTES);
	}
	locked_memory_allow();
	threads_scan(o);
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
	o->next_packet_ns = now_ns() + PACKET_INTERVAL_NS;
	return status;
}

int sn_outside_fd(const struct sn_outside *o)
{
	return o->epoll_fd;
}

void sn_outside_pause(struct sn_outside *o, bool is_paused)
{
	if (o->is_paused == is_paused)
		return;
	o->is_paused = is_paused;
	/* A disabled event does not count either: what is used meanwhile is told nowhere. */
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			sn_ring_enable(&o->threads.items[i]->samples, !is_paused);
}

void sn_outside_close(struct sn_outside *o, int wait_status, const struct rusage *usage)
{
	struct sn_data_header *h;

	if (o->file.shared.base) {
		sn_outside_drain(o);
		for (size_t i = 0; i < o->threads.count; i++)
			if (!o->threads.items[i]->has_ended)
				thread_leave(o, o->threads.items[i]);
	}
	if (o->file.shared.base) {
		h = header_of(o);
		if (usage && WIFEXITED(wait_status))
			h->exit_code = WEXITSTATUS(wait_status);
		image_end(o, usage && WIFSIGNALED(wait_status) ? SN_DATA_ABORTED : SN_DATA_EXITED,
			  usage);
	}
	outside_free(o);
}
