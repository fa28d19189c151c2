/**
 * The control page of causal experiments: what the launcher tells the processes that it follows, and
 * what they count. One file "causal" in the launch's data folder, mapped and shared by all of them.
 *
 *   [control][modules][ranges][targets][points]        little-endian, x86-64 only
 *
 * Delay is time that all threads but those in the chosen code are held up. `due_ns` is how much of it
 * each thread should have had by now; a thread's own part counts what it has had, or was spared because
 * it ran the chosen code itself or waited for one that had it. A thread's *virtual time* is the clock
 * less its own part: the time at which it would be if the chosen code were faster
 * (docs/method/causal.md).
 */
#ifndef SN_WIRE_CAUSAL_H
#define SN_WIRE_CAUSAL_H

#include <stdatomic.h>
#include <stdint.h>

#define SN_CAUSAL_MAGIC 0x4c41535541434e53ULL /* "SNCAUSAL" */
#define SN_CAUSAL_FILE	"causal"

enum {
	SN_CAUSAL_VERSION = 6,
	SN_CAUSAL_ID_MAX = 64, /* room for a build-id */
	SN_CAUSAL_MODULES_MAX = 1024,
	SN_CAUSAL_RANGES_MAX = 8192,
	SN_CAUSAL_TARGETS_MAX = 1024,
	SN_CAUSAL_POINTS_MAX = 64,
	SN_CAUSAL_NAME_MAX = 128,
	SN_CAUSAL_NO_TARGET = 0xffff,
	SN_CAUSAL_TAKEN_BY_PROCESS = 2,
	SN_CAUSAL_WHOLE = 1000, /* a speed-up by which the code takes no time */
};

/** A launcher that has not been at work for so long was killed: nobody is held up any more. (chosen) Far above what a
 *  loaded machine keeps a process from a CPU. */
#define SN_CAUSAL_GONE_NS INT64_C(10000000000)
/** In the number of an experiment that processes began, without delays, as the launcher is gone. */
#define SN_CAUSAL_ALONE 0x80000000U

struct sn_causal_module {
	uint8_t id[SN_CAUSAL_ID_MAX];
	uint32_t id_bytes, reserved;
};

/** What code is to a sample below a target. */
enum sn_causal_range_kind {
	SN_CAUSAL_OF_PROGRAM, /* work; of a target's ranges all are */
	SN_CAUSAL_SPINS,      /* leaf of a sample: a loop that waits actively */
	SN_CAUSAL_WAITS,      /* a runtime's: what it calls waits, or is the runtime's work */
	SN_CAUSAL_PASSES,     /* anybody's: its caller decides */
};

/** Half-open, of one module. */
struct sn_causal_range {
	uint64_t first_link_addr, end_link_addr;
	uint32_t module, kind; /* enum sn_causal_range_kind */
};

enum sn_causal_target_flags {
	SN_CAUSAL_WITH_CALLEES = 1, /* any frame of a sample in the ranges, not only its leaf */
	SN_CAUSAL_HELD = 2, /* the ranges are of locks: whatever a thread runs while it holds one */
};

/** Code that may be chosen. */
struct sn_causal_target {
	uint32_t first_range, range_count;
	uint32_t flags, reserved;
	/* hits behind another thread's: the time since their own thread last met others, a period of samples at most, summed
	 * up; and how many of the others' hits lay within it */
	_Atomic int64_t seen_ns;
	_Atomic uint64_t together;
};

enum sn_causal_point_kind {
	SN_CAUSAL_FREE,	 /* not used */
	SN_CAUSAL_BEAT,	 /* ends of a heartbeat of sonde/heartbeat.h; found by the processes */
	SN_CAUSAL_PLACE, /* an address that is reached; given by the launcher */
};

/** The last visit of a point that was noted: all of one moment. */
struct sn_causal_stamp {
	uint64_t experiment; /* its word */
	uint64_t count;	     /* visits until then */
	int64_t time_ns;     /* CLOCK_MONOTONIC */
	int64_t virtual_ns;  /* of the visiting thread, on the same scale */
};

/** A progress point. */
struct sn_causal_progress {
	_Atomic uint32_t kind;	   /* enum sn_causal_point_kind; the last member to be set */
	_Atomic uint32_t is_taken; /* SN_CAUSAL_TAKEN_BY_PROCESS: a process has this heartbeat */
	uint32_t
		is_planned; /* a place: code that a plan inserts counts arrivals (wire/plan.h), and no breakpoint */
	uint32_t module, is_bare; /* a place: no visit at its breakpoint in some thread */
	uint64_t link_addr;
	char name[SN_CAUSAL_NAME_MAX];
	_Atomic uint64_t count;
	/* where the time between two points is asked for: each visit adds its virtual time since the
	 * experiment began, and a heartbeat's begin is a visit of another point */
	uint32_t is_timed, begin_point; /* 0: none */
	_Atomic int64_t sum_ns;
	_Atomic uint32_t version;      /* odd while the stamp is written */
	_Atomic uint32_t is_too_often; /* a place: its breakpoint is told no more in some thread */
	_Atomic uint64_t stamp_experiment, stamp_count;
	_Atomic int64_t stamp_time_ns, stamp_virtual_ns;
};

struct sn_causal_control {
	uint64_t magic;
	uint32_t version, file_bytes;
	uint32_t module_count, range_count, target_count;
	uint32_t
		first_runtime_range; /* from there on ranges are of no target; the first that fits decides */

	/* the experiment that is on: its number << 32 | target << 16 | speed-up in thousandths. It
	 * changes with every experiment and every pause between two. */
	_Atomic uint64_t experiment __attribute__((aligned(64)));
	int64_t start_due_ns; /* `due_ns` when it began; set before `experiment` */
	int64_t start_ns;
	_Atomic int64_t alive_ns; /* CLOCK_MONOTONIC: when the launcher was last at work */

	_Atomic int64_t due_ns __attribute__((aligned(64)));

	/* bookkeeping */
	_Atomic int64_t asked_ns __attribute__((aligned(64))); /* of all pauses */
	_Atomic int64_t slept_ns;			       /* that they took */
	_Atomic int64_t excess_ns;			       /* taken, and not yet set off */
	_Atomic int64_t credited_ns;			       /* by waits for others */
	_Atomic uint64_t pauses, credits;
	_Atomic uint64_t samples, hits; /* of all experiments; in the chosen code */
	_Atomic int64_t hit_ns;
	/* the thread that was last sampled in the chosen code, << 32, and when, in units of 1024 ns; they wrap after 73 min */
	_Atomic uint64_t last_hit;
	_Atomic uint64_t processes, sealed_processes;
	_Atomic uint64_t timed_waits;	   /* that ran out of time while delays became due */
	_Atomic int64_t ran_ns, queued_ns; /* CPU time of threads; that they waited for a CPU */

	/* a bit for each port of TCP at which a process has waited: both ends of a connection here are the program's */
	_Atomic uint64_t ports[65536 / 64];

	struct sn_causal_module modules[SN_CAUSAL_MODULES_MAX];
	struct sn_causal_range ranges[SN_CAUSAL_RANGES_MAX];
	struct sn_causal_target targets[SN_CAUSAL_TARGETS_MAX];
	struct sn_causal_progress points[SN_CAUSAL_POINTS_MAX];
};

static inline uint64_t sn_causal_word(uint32_t number, uint32_t target, uint32_t speedup)
{
	return (uint64_t)number << 32 | (uint64_t)(target & 0xffff) << 16 | (speedup & 0xffff);
}

static inline uint32_t sn_causal_number(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

static inline uint32_t sn_causal_target_of(uint64_t word)
{
	return (uint32_t)(word >> 16) & 0xffff;
}

static inline uint32_t sn_causal_speedup(uint64_t word)
{
	return (uint32_t)word & 0xffff;
}

/** For readers: the last stamp of a point, whole. 0: none, or it is being written again and again. */
static inline int sn_causal_stamp_read(struct sn_causal_progress *point,
				       struct sn_causal_stamp *out)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		uint32_t version = atomic_load_explicit(&point->version, memory_order_acquire);

		if (version & 1)
			continue;
		out->experiment =
			atomic_load_explicit(&point->stamp_experiment, memory_order_relaxed);
		out->count = atomic_load_explicit(&point->stamp_count, memory_order_relaxed);
		out->time_ns = atomic_load_explicit(&point->stamp_time_ns, memory_order_relaxed);
		out->virtual_ns =
			atomic_load_explicit(&point->stamp_virtual_ns, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&point->version, memory_order_relaxed) == version)
			return version != 0;
	}
	return 0;
}

/** Whether a mapping of `bytes` is a control page. */
static inline int sn_causal_is_control(const struct sn_causal_control *control, uint64_t bytes)
{
	return bytes >= sizeof(*control) && control->magic == SN_CAUSAL_MAGIC &&
	       control->version == SN_CAUSAL_VERSION && control->file_bytes == sizeof(*control) &&
	       control->module_count <= SN_CAUSAL_MODULES_MAX &&
	       control->range_count <= SN_CAUSAL_RANGES_MAX &&
	       control->first_runtime_range <= control->range_count &&
	       control->target_count <= SN_CAUSAL_TARGETS_MAX;
}

#endif
