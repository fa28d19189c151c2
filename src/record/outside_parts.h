/**
 * The parts of the outside sampler, for its own files only: outside.c (from beginning to end),
 * outside_threads.c (events on threads), outside_samples.c (what a sample says), outside_records.c
 * (what is written, other than samples), outside_cpus.c (events of CPUs instead of threads),
 * outside_counters.c (the counters of -e).
 * outside_clock.h stands by itself.
 */
#ifndef SN_RECORD_OUTSIDE_PARTS_H
#define SN_RECORD_OUTSIDE_PARTS_H

#include "base/text.h"
#include "base/vec.h"
#include "record/outside.h"
#include "record/outside_clock.h"
#include "record/outside_file.h"
#include "record/outside_images.h"
#include "record/outside_ring.h"

struct sn_outside_thread {
	pid_t tid;
	uint32_t index; /* in the data file */
	struct sn_ring samples, events, counters[SN_COUNTERS_MAX];
	uint64_t counts[SN_COUNTERS_MAX]; /* of the counters, at their latest samples */
	struct sn_writer writer;
	uint64_t last_count_ns;	     /* the event's count at the latest sample */
	uint64_t before_ns;	     /* used before the event was there, as far as known */
	uint64_t unseen_ns;	     /* ... and not yet given to a sample */
	uint64_t user_ns, system_ns; /* as the samples say */
	uint32_t last_stack;
	uint64_t lost;	      /* samples, as LOST records told */
	uint64_t lost_before; /* ... since the latest sample */
	int64_t wait_cpu_ns, wait_before_ns;
	uint64_t voluntary, involuntary;
	uint64_t switches_counted; /* of both: in the header, or from before */
	char name[16];
	bool is_new; /* began while we watched */
	bool has_ended;
};

struct sn_outside {
	struct sn_outside_options options;
	struct sn_outside_file file;
	struct sn_outside_images images;
	struct sn_unwind_cache *cache;
	void *cache_memory;
	SN_VEC(struct sn_outside_thread *) threads;
	int epoll_fd;
	uint32_t sequence, thread_count; /* of the current image */
	uint64_t period_ns;
	uint64_t missed_threads, children, refused_threads, throttled, cut_stacks, cut_stack_bytes;
	uint64_t past_thread_cpu_ns; /* of threads that ended, in this image */
	struct sn_outside_clock clock;
	int64_t clock_base_ns;	 /* the process's CPU clock where counts began */
	int64_t clock_paused_ns; /* ... when sampling was paused */
	int64_t next_clock_ns;
	size_t cpus;
	struct sn_ring *cpu_rings; /* one for each CPU; NULL: threads have events of their own */
	bool has_tried_cpus;
	uint64_t seen_switches; /* when the rate of switches was last taken */
	int64_t seen_cpu_ns;
	int64_t began_ns, next_look_ns, next_packet_ns;
	int64_t first_user_ns, first_system_ns, user_ns, system_ns; /* the kernel's, by ticks */
	bool is_exec_due; /* of a child of ours: its first */
	bool has_kernel, has_lost_count, is_paused, has_begun, wants_images;
	int refusal; /* errno of the latest thread that could not be opened */
	uint64_t refused_counters;
	int counter_refusal; /* errno */
};

/* perf's numbers (arch/x86/include/uapi/asm/perf_regs.h) of ax bx cx dx si di bp sp ip, r8 to r15.
 */
#define SN_OUTSIDE_REGS_MASK UINT64_C(0xff01ff)

struct sn_outside_sample {
	pid_t pid, tid;
	int64_t time_ns;
	uint32_t cpu;
	uint64_t count;
	bool is_kernel, has_regs;
	struct sn_unwind_regs regs;
	const uint8_t *stack;
	uint64_t stack_bytes; /* that were really copied */
	bool is_stack_full;   /* as much as was asked for */
};

/* ---- outside_records.c ---- */

/** CLOCK_MONOTONIC, the clock of all records. */
int64_t sn_outside_now_ns(void);

static inline struct sn_data_header *sn_outside_header(struct sn_outside *o)
{
	return sn_writer_header(&o->file.shared);
}

/** Asks for more space in the file if little is left. */
void sn_outside_room_make(struct sn_outside *o);
void sn_outside_text_write(struct sn_outside *o, uint8_t kind, const char *text, size_t length);
/** Writes a warning for people; frees the text. */
void sn_outside_say(struct sn_outside *o, struct sn_text *sentence);
/** Looks at the mappings and writes what is new and what is gone. */
void sn_outside_look_at_images(struct sn_outside *o);
void sn_outside_thread_start_write(struct sn_outside *o, struct sn_outside_thread *thread,
				   int64_t time_ns);
/** `type`: SN_RECORD_THREAD_ACCOUNT or _END. */
void sn_outside_account_write(struct sn_outside *o, struct sn_outside_thread *thread, uint8_t type);
void sn_outside_packet_write(struct sn_outside *o);
/** Names the counters of -e in the data file, before any count. */
void sn_outside_counters_write(struct sn_outside *o);
/** An overflow of a counter; it stands for `count` events. */
void sn_outside_count_write(struct sn_outside *o, struct sn_outside_thread *thread, uint32_t index,
			    const struct sn_counter_sample *sample, uint32_t stack, uint64_t count);

/* ---- outside_samples.c ---- */

/** Reads the registers and the copied stack from a sample's words. Gives how many words they are. */
size_t sn_outside_stack_read(const uint64_t *words, size_t count, struct sn_outside_sample *out);
/** The number of its stack in the data file; 0: it has none. */
uint32_t sn_outside_sample_unwind(struct sn_outside *o, struct sn_outside_thread *thread,
				  struct sn_outside_sample *sample);

/** Reads, unwinds and writes one PERF_RECORD_SAMPLE. */
void sn_outside_sample_take(struct sn_outside *o, struct sn_outside_thread *thread,
			    const struct perf_event_header *header);
/** The same for one of a CPU, if it is of our process. */
void sn_outside_sample_take_of_cpu(struct sn_outside *o, const struct perf_event_header *header);
/** Writes CPU time, as an observation or (by `flags`) as a remainder. */
void sn_outside_sample_put(struct sn_outside *o, struct sn_outside_thread *thread,
			   const struct sn_outside_sample *sample, uint64_t cpu_ns, uint32_t stack,
			   uint8_t flags);

/* ---- outside_cpus.c ---- */

/** Whether the process switches so often that events of its threads slow it down. */
bool sn_outside_cpus_are_wanted(struct sn_outside *o);
/** Opens an event on each CPU in place of those of threads, if that is allowed; else all stays. */
void sn_outside_cpus_open(struct sn_outside *o);
void sn_outside_cpus_enable(struct sn_outside *o, bool is_enabled);
void sn_outside_cpus_drain(struct sn_outside *o);
void sn_outside_cpus_close(struct sn_outside *o);

/* ---- outside_counters.c ---- */

/** Opens the counters of -e on a thread; what is refused is counted. */
void sn_outside_counters_open(struct sn_outside *o, struct sn_outside_thread *thread);
void sn_outside_counters_drain(struct sn_outside *o, struct sn_outside_thread *thread);
void sn_outside_counters_enable(const struct sn_outside *o, const struct sn_outside_thread *thread,
				bool is_enabled);
/** Writes what no sample has told of. */
void sn_outside_counters_leave(struct sn_outside *o, struct sn_outside_thread *thread);
void sn_outside_counters_close(const struct sn_outside *o, struct sn_outside_thread *thread);

/* ---- outside_threads.c ---- */

/** The living thread of this number, or NULL. */
struct sn_outside_thread *sn_outside_thread_find(const struct sn_outside *o, pid_t tid);
size_t sn_outside_threads_alive(const struct sn_outside *o);
/** Opens a thread's events; `is_new`: it began while we watched, so all of its time is wanted. */
bool sn_outside_thread_add(struct sn_outside *o, pid_t tid, bool is_new, int64_t time_ns);
/** Adds all threads of the process that are not known yet, again until there are no more. */
void sn_outside_threads_scan(struct sn_outside *o);
/** Gives a thread its number in the current data file. */
void sn_outside_thread_enter(struct sn_outside *o, struct sn_outside_thread *thread,
			     int64_t time_ns);
/** Reads what /proc alone says of a thread: waiting time, switches, its name. */
void sn_outside_thread_look(struct sn_outside *o, struct sn_outside_thread *thread);
/** Estimates how much the thread used before its event; better with each look. */
void sn_outside_thread_look_before(struct sn_outside *o, struct sn_outside_thread *thread);
/** Counts of the thread since its latest sample, and CPU time before its event: what a sample now
 *  would stand for. */
uint64_t sn_outside_thread_pending_ns(const struct sn_outside_thread *thread);
/** Tells the time that no sample stands for any more. */
void sn_outside_remainder_write(struct sn_outside *o, struct sn_outside_thread *thread);
/** From samples of its own to a mere count, which costs its context switches next to nothing. */
void sn_outside_thread_only_count(struct sn_outside *o, struct sn_outside_thread *thread);
/** The thread has ended, or is left: remainder, account, and its events are closed. */
void sn_outside_thread_leave(struct sn_outside *o, struct sn_outside_thread *thread);

#endif
