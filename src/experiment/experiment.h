/**
 * An experiment in memory: what one launch (all its ranks) recorded, decoded and ready to analyse.
 *
 * This is the one data model on which every analysis stands. Arrays are dense and indexed from 0;
 * other arrays refer to them by index. Times are nanoseconds since the earliest process start of
 * the experiment, with the clocks of hosts aligned. The experiment owns everything, and frees it.
 * Nothing here is symbolised: a frame is (module, link address); code/structure.h has names.
 */
#ifndef SN_EXPERIMENT_EXPERIMENT_H
#define SN_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "experiment/campaign_mark.h"
#include "wire/kinds.h"

enum { SN_NONE = 0xffffffffu }; /* "no such index" in any uint32_t index */

/** The kind of a module: a file of machine code, or what stands in for one, that frames refer to. */
enum sn_module_kind {
	SN_MODULE_FILE, /* an ELF file */
	SN_MODULE_VDSO,
	SN_MODULE_JIT, /* code written at run time; named by a JIT symbol list if there is one */
	SN_MODULE_UNKNOWN, /* pcs in no mapping we saw */
	SN_MODULE_KERNEL,
	SN_MODULE_SONDE, /* what measured: its time is overhead, whoever called it */
};

struct sn_module {
	const char *path; /* as mapped; "[vdso]", "[jit]", "[unknown]", "[kernel]", "[sonde]" */
	const char *name; /* base name for people */
	const char
		*build_id; /* lower-case hex; a content hash where there is none; "" if unknown */
	enum sn_module_kind kind;
	const char *extract_path; /* its extract in this experiment (code/extract.h), or NULL */
	bool is_main;		  /* the executable of at least one process */
};

struct sn_mapping {
	uint32_t process, module;
	uint64_t load_start, load_end; /* in the process */
	uint64_t load_bias;	       /* link_addr = load_addr - load_bias */
	int64_t map_ns, unmap_ns;      /* unmap_ns: INT64_MAX if never */
};

/** CPU time by the kernel's account, and what else elapsed time went to. Unknown is -1. */
struct sn_time_account {
	int64_t elapsed_ns; /* of a thread: not below what it is known to consist of */
	int64_t user_ns, system_ns;
	int64_t wait_cpu_ns; /* runnable, waiting for a CPU (schedstat field 2) */
	int64_t blocked_ns;  /* elapsed - user - system - wait_cpu; unknown if wait_cpu is */
};

struct sn_process {
	uint32_t index; /* by start, MPI: by rank */
	int32_t pid, parent_pid;
	uint32_t sequence; /* of this image within pid */
	int32_t rank;	   /* -1: none */
	const char *host;
	const char *program;   /* path of the executable */
	const char *arguments; /* the command line, shell-quoted; redacted words are "***" */
	const char *folder;    /* working directory */
	int64_t start_ns, end_ns;
	int64_t started_by_ns;	 /* it had: start_ns may be the tick before it; 0: not known */
	int64_t clock_offset_ns; /* what to add to CLOCK_MONOTONIC of its host */
	int32_t exit_status; /* 128+n for a signal; -1: unknown (still running, killed recorder) */
	int32_t exit_signal; /* that ended it; 0: none that is known of */
	struct sn_time_account account; /* the whole process; children excluded */
	const char *clock_mechanism;	/* perf-signal, thread-timer, itimer-prof, perf-ring, off */
	double rate_hz;			/* requested; */
	double later_hz, burst_s;	/* and after burst_s of a thread's CPU time; 0: the same */
	uint64_t losses[SN_LOSS_KINDS];
	uint64_t raw_clone_threads; /* found running without our start hook */
	uint64_t handler_ns;	    /* measured time inside our handlers and hooks */
	uint64_t overhead_ns;	    /* total: handlers, set-up, signal delivery, switches, and
				     * samples that met our own code */
	uint64_t overhead_doubt_ns; /* by which it may be more or less */
	bool has_ended_cleanly;
	bool is_of_fork;   /* it began as a copy of its parent */
	bool follows_exec; /* the same process as the image before it: an exec lies between */
};

struct sn_thread {
	uint32_t process;
	int32_t tid;
	uint32_t creator; /* the thread that made it, + 1; 0: none that is known of */
	const char *name;
	int64_t start_ns, end_ns;
	uint32_t since_made_ns; /* from the call of pthread_create to its start; 0: not known */
	struct sn_time_account account;
	uint64_t context_switches; /* voluntary + involuntary, 0 if unknown */
	uint8_t allowed_cpus;	   /* that it might run on at last, 255 or more; 0: not known */
	uint64_t
		thread_pointer; /* its own variables lie before it; 0: unknown, of all but traced threads */
};

struct sn_frame {
	uint32_t module;
	uint64_t link_addr; /* the sampled pc for the leaf, the return address for callers */
};

/** Leaf first. Interned: one entry for equal stacks of one process. */
struct sn_stack {
	uint32_t process;
	uint32_t depth;
	uint32_t flags; /* enum sn_stack_flags */
	uint32_t
		joined; /* frames of a worker, the inner ones, of a stack that is STITCHED; else 0 */
	const struct sn_frame *frames;
};

/** One observation of a thread, with the CPU time it used since the one before. */
struct sn_sample {
	int64_t time_ns;
	uint64_t cpu_ns;
	uint32_t thread;
	uint32_t stack; /* SN_NONE: none */
	uint16_t cpu;
	uint16_t flags; /* enum sn_sample_flags, SN_SAMPLE_IS_SUM */
	uint32_t more;	/* of a sum: how many observations beyond one it stands for */
};

/** A sample's flag beside those that are recorded: the sum of a thread's samples in a stack, in place
 *  of them, where a node's ranks were reduced (reduction.h). Its time is the thread's start. */
enum { SN_SAMPLE_IS_SUM = 256 };

/** A call that blocked its thread: off-CPU time with the stack of the call. */
struct sn_wait {
	int64_t time_ns; /* when it began */
	uint64_t duration_ns;
	uint32_t thread, stack;
	uint8_t kind; /* enum sn_wait_kind */
	bool is_sum; /* of a thread's calls in a stack, cut down to what they blocked (blocked.h) */
	uint32_t more; /* of a sum: how many calls beyond one it stands for */
};

/** What profiles ask of the order of samples that were summed up, of all threads of a process. */
struct sn_sequence {
	uint32_t process;
	uint64_t pairs;	       /* of a thread's observations, one after the other */
	uint64_t observed_ns;  /* by observations, */
	double sum_of_squares; /* and the sum of the squares of what each claimed */
	uint64_t late;
	double displaced_squares[3], displaced_sums[3]; /* profile/displaced.h */
};

/** How often an observation in one stack followed one in another in its thread, in a node's ranks.
 *  Stacks: SN_NONE: none. */
struct sn_transition {
	uint32_t from, to;
	bool from_is_system, to_is_system;
	uint64_t count;
};

/** CPU time of samples that were summed up, by the CPU that they fell on. */
struct sn_cpu_sum {
	uint32_t cpu;
	uint64_t cpu_ns, system_ns, samples;
};

/** The general registers at some samples, before the instruction at the stack's leaf. */
struct sn_registers {
	int64_t time_ns;
	uint32_t thread, stack;
	uint64_t values[16]; /* rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15 */
};

/** A sum that a collector kept by call path in the target. */
struct sn_tally {
	const char *name; /* of what */
	uint32_t thread;
	uint32_t stack; /* SN_NONE: none */
	uint64_t count, value;
};

/** A counter that overflows (record -e). */
struct sn_event {
	const char *name;     /* as it was asked for */
	uint64_t period;      /* events from one overflow to the next */
	uint64_t hz;	      /* its counts are of a clock of this rate; 0: no clock */
	uint32_t flags;	      /* enum sn_counter_flags (wire/counters.h) */
	int64_t kernel_count; /* that the kernel counted beside, of all processes; -1: unknown */
};

/** An overflow of a counter, or several at once. */
struct sn_event_count {
	int64_t time_ns;
	double count;		      /* of events that it stands for */
	uint64_t address;	      /* with SN_COUNT_ADDRESS: of the data */
	uint64_t data_source, weight; /* as the processor says; 0: unknown */
	uint32_t thread;
	uint32_t stack; /* SN_NONE: none */
	uint32_t event;
	uint16_t cpu;
	uint8_t flags;	   /* enum sn_count_flags (wire/data.h) */
	uint8_t is_scaled; /* the processor counted it in turn with others: `count` is estimated */
};

/** A file of wire/trace.h: pieces on disk, or one that lies live. */
struct sn_trace_file {
	const char *path, *host;
};

/** A call path that events of a trace refer to, by the number that it has there. */
struct sn_trace_path {
	uint32_t process;
	uint32_t id;
	uint32_t stack; /* its leaf lies in the call, as a sample's does in an instruction */
};

/** What a thread did in a loop that ran as a copy. */
struct sn_loop_instances {
	uint32_t thread;
	uint32_t stack;	    /* its leaf is the loop's header; SN_NONE: not known */
	uint64_t instances; /* entries */
	uint64_t open;	    /* of them without an exit: at the end of the run, or left by longjmp */
	uint64_t timed;
	uint64_t left;	     /* of the open ones that were to be timed: they were surely left */
	bool has_iterations; /* false: an open one hides how many there were */
	uint64_t iterations;
	bool lacks_open; /* iterations are without those of what is open */
	uint32_t every;	 /* one in so many was to be timed; 0: found while running */
};

/** How often a thread came to a basic block of a function that ran as a copy. */
struct sn_block_executions {
	uint32_t thread;
	uint32_t stack;	       /* its leaf is a block of the same function; SN_NONE: not known */
	int32_t offset;	       /* of the block, from that one */
	uint32_t instructions; /* in it */
	uint64_t executions;
};

/** How often a thread came to a loop by one call path. */
struct sn_loop_caller {
	uint32_t thread, stack;
	uint32_t path;	    /* its leaf is the loop's header; SN_NONE: not known */
	uint64_t instances; /* that it stands for: those since the one before that was looked at */
	uint64_t looked_at;
	uint64_t timed, iterations,
		cycles; /* of the time-stamp counter; of those that were looked at */
};

/** A timed instance. */
struct sn_loop_timing {
	uint64_t number;	     /* of the loop's instances in its thread, from 0 */
	uint64_t iterations, cycles; /* of the time-stamp counter */
	bool holds_others; /* iterations and cycles of other instances of the loop, within this one, are in them */
};

/** Timed instances of a thread in a loop with alike cycles an iteration: from 2^exponent up to twice
 *  that. */
struct sn_loop_bucket {
	uint32_t thread, stack;
	int exponent;
	uint64_t timed, iterations, cycles;
	uint64_t iterations_min,
		iterations_max; /* of an instance; 0: not known (older experiments, variants) */
	bool holds_others;	/* as of a timing, of one of them */
	const struct sn_loop_timing *timings; /* some, spread evenly over the run */
	uint32_t timing_count;
};

/** What one variant of a loop took in instances whose iterations are alike: from 2^exponent up to twice
 *  that. */
struct sn_loop_variant {
	uint32_t variant; /* its code (wire/variants.h) */
	bool is_warm;	  /* they ran behind another variant on the same instances */
	struct sn_loop_bucket timings;
	uint32_t disturbed, faulted, runaway; /* instances without a timing */
	/* so many times SN_CLOCK_CORE_CYCLES of the core took so many of the time-stamp counter */
	uint64_t clock_cycles, clock_count;
	uint64_t called; /* instances without a timing, as the loop called a function; exponent 0 */
};

/** Accesses of one instruction: `count` of them, each `stride_bytes` behind the one before. Those of a
 *  group take turns: first each record's first access, then each one's second, and so on; a record
 *  whose `count` is over is left out. sn_access_next (experiment/accesses.h) walks in that order. */
struct sn_access_record {
	uint64_t link_addr;    /* of the instruction, in the module of the window's loop */
	uint64_t address;      /* of the first access, in the process */
	int64_t stride_bytes;  /* any; 0: each at the same place */
	uint32_t count;	       /* at least 1 */
	uint32_t size_bytes;   /* of one access, at least 1 */
	uint32_t kind;	       /* enum sn_access_kind (wire/accesses.h) */
	uint32_t group_length; /* records of the group that begins here; 0: not the first of one */
};

/** What one instance of a loop did with memory, loops within it included and functions that it calls
 *  left out: a window of a trace. */
struct sn_access_window {
	uint32_t thread;
	uint32_t stack;	   /* its leaf is the loop's header; SN_NONE: not known */
	uint64_t number;   /* of the loop's instances in its thread, from 0 */
	int64_t begin_ns;  /* windows of different threads may overlap */
	int64_t end_ns;	   /* of the last that was recorded, where it is cut */
	uint64_t accesses; /* that the records hold */
	bool is_cut; /* accesses are missing at its end: the room was full, or the loop never ended */
	const struct sn_access_record *records; /* in program order */
	uint32_t record_count;
};

/** The lowest rate of samples that was asked for in a thread's life. */
static inline double sn_process_least_hz(const struct sn_process *process)
{
	return process->later_hz > 0 ? process->later_hz : process->rate_hz;
}

/** The global data of a process since it began, at one moment: they cut a run into intervals. What is
 * not known is -1 (resident_bytes: 0). */
struct sn_packet {
	int64_t time_ns;
	uint32_t process;
	enum sn_packet_kind kind;
	int64_t user_ns, system_ns, wait_cpu_ns;
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t resident_bytes;
	int64_t io_read_bytes, io_write_bytes;
	/* of the host: how long some task waited for the resource */
	int64_t pressure_cpu_ns, pressure_io_ns, pressure_memory_ns;
	const char *label; /* of SN_PACKET_LABEL, else NULL */
};

struct sn_environment_variable {
	const char *name, *value; /* value "***" if redacted */
};

struct sn_experiment {
	struct sn_arena arena;
	char *path;
	const char *name;      /* base name of the folder */
	const char *label;     /* --label, or NULL */
	const char *program;   /* of the launch: first word after `record --` */
	const char *arguments; /* shell-quoted */
	const char *version;   /* of the sonde that recorded */
	const char *host, *cpu_model, *kernel;
	int64_t memory_bytes;	      /* of that host; -1: unknown */
	int64_t started_realtime_ns;  /* CLOCK_REALTIME of time 0 */
	const char *boot;	      /* the id of that host's boot; "": unknown */
	int64_t started_monotonic_ns; /* of the launch, on the clock of that boot; 0: unknown */
	int64_t clock_error_ns;	      /* bound on the alignment between hosts */
	int32_t exit_status;	      /* of the target; -1: unknown */
	int32_t exit_signal;	      /* that ended the target; 0: none that is known of */
	int64_t elapsed_ns;
	/* the launcher's own account of the whole tree (wait4), -1: unknown */
	int64_t tree_user_ns, tree_system_ns;
	int64_t own_cpu_ns; /* CPU time of sonde's own processes while recording; -1: unknown */
	/* part of the machine's CPU time that others had meanwhile; -1: unknown, or several
	 * launches */
	double others_share;
	uint32_t processes_not_measured; /* static, setuid, 32-bit, not followed */
	bool is_windowed; /* only parts were measured: --delay, --duration, a pause by signal */
	bool is_salvaged; /* the run did not end cleanly; what was committed is here */
	const char *
		damaged_launch; /* the sentence on a record of a launch that cannot be read: its processes
				     * may be missing; NULL: none */
	const char *
		damaged_data; /* the path of a data file that is cut short or damaged; NULL: none */
	const char *
		damage; /* what of it is missing, as a sentence without an end; NULL: it is not known, or nothing */
	SN_VEC(const char *) warnings; /* sentences: fall-backs, what was not measured */
	SN_VEC(struct sn_environment_variable) environment;
	const struct sn_campaign_mark *campaign; /* that it is a run of; NULL: none */

	SN_VEC(struct sn_process) processes;
	SN_VEC(struct sn_thread) threads;
	SN_VEC(struct sn_module) modules;
	SN_VEC(struct sn_mapping) mappings;
	SN_VEC(struct sn_stack) stacks;
	SN_VEC(struct sn_sample) samples;	    /* by thread, then time */
	SN_VEC(struct sn_wait) waits;		    /* by thread, then time */
	SN_VEC(struct sn_registers) registers;	    /* by thread, then time */
	SN_VEC(struct sn_tally) tallies;	    /* as they were written */
	SN_VEC(struct sn_event) events;		    /* in the order in which they were asked for */
	SN_VEC(struct sn_event_count) event_counts; /* by thread, then time */
	SN_VEC(struct sn_loop_instances) instances; /* as they were written */
	SN_VEC(struct sn_loop_caller) loop_callers; /* likewise */
	SN_VEC(struct sn_block_executions) block_counts; /* likewise */
	SN_VEC(struct sn_loop_bucket) buckets;		 /* likewise */
	SN_VEC(struct sn_loop_variant) variants;	 /* likewise */
	SN_VEC(struct sn_access_window) windows;	 /* by thread, then time */
	SN_VEC(struct sn_packet) packets;		 /* by process, then time */
	SN_VEC(struct sn_sequence) sequences;		 /* where samples are sums; by process */
	SN_VEC(struct sn_transition) transitions;	 /* likewise; in the order of their nodes */
	SN_VEC(struct sn_cpu_sum) cpu_sums;		 /* likewise */
	SN_VEC(struct sn_trace_file) traces;
	SN_VEC(struct sn_trace_path) trace_paths; /* by process, then id */
};

/**
 * Reads an experiment. `name` is a folder, or "@0" (the newest in the working directory), "@-1"
 * (the one before), or NULL for "@0". Damage is not fatal: what was committed is read,
 * `is_salvaged` is set, a warning names what was lost. Errors: SN_ERR_NOT_FOUND, SN_ERR_IO,
 * SN_ERR_FORMAT (no experiment, or of a newer version). The caller frees it.
 */
sn_status sn_experiment_open(const char *name, struct sn_experiment **out, struct sn_error *err);
/**
 * The same, but of nodes whose ranks were reduced (reduction.h) samples and waits are sums, and
 * what profiles do not ask for is missing: mappings, packets, registers, counts of events, traces. What a
 * reduction does not match any more is read as recorded.
 */
sn_status sn_experiment_open_sums(const char *name, struct sn_experiment **out,
				  struct sn_error *err);
void sn_experiment_free(struct sn_experiment *experiment);

/** What a user calls it: the path of its folder, or of the archive that it came from. */
const char *sn_experiment_given_path(const struct sn_experiment *experiment);

/** CPUs that the run had, all hosts together: those of a host that samples fell on, or as many as each of its threads at work
 * was allowed, if these are more. 1 at least. */
unsigned sn_experiment_cpus(const struct sn_experiment *experiment);

/** An empty experiment to be filled by hand: importers and tests. Arrays are pushed to directly. */
struct sn_experiment *sn_experiment_new(const char *name);
/** The number of an equal stack, made if new. Frames are copied. */
uint32_t sn_experiment_add_stack(struct sn_experiment *experiment, uint32_t process,
				 const struct sn_frame *frames, uint32_t depth, uint32_t flags);
/** The same of one of which the inner `joined` frames are a worker's. */
uint32_t sn_experiment_add_joined_stack(struct sn_experiment *experiment, uint32_t process,
					const struct sn_frame *frames, uint32_t depth,
					uint32_t flags, uint32_t joined);
/** The event of this name and period, made if new. */
uint32_t sn_experiment_add_event(struct sn_experiment *experiment, const char *name,
				 uint64_t period);
/** Sorts samples, waits and counts by thread and time, and packets by process and time. */
void sn_experiment_sort(struct sn_experiment *experiment);

#endif
