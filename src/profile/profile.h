/**
 * The metrics of one experiment after filtering: CPU time, blocked time and observations of every
 * function, loop, line, address, thread, process, module, CPU and category.
 *
 * Built in two steps, so that ten million samples cost little: samples are summed by thread and
 * stack, then each distinct stack is walked once.
 *
 *	struct sn_program *program = sn_program_new(experiment, &resolver);
 *	struct sn_profile *profile = sn_profile_new(program, NULL);
 *	for (size_t f = 0; f < program->functions.count; f++)
 *		use(program->functions.items[f].name, profile->functions[f].exclusive.cpu_ns);
 *
 * Exclusive belongs to the entity alone; inclusive adds what it calls, recursion counted once;
 * attributed (calls.h) is the part of a callee's inclusive that comes through one caller. The
 * exclusive times of all functions sum to `total`, as those of all lines, modules, threads,
 * processes, CPUs and categories do. docs/method/time.md has the definitions.
 */
#ifndef SN_PROFILE_PROFILE_H
#define SN_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/stats.h"
#include "base/vec.h"
#include "experiment/experiment.h"
#include "profile/category.h"
#include "profile/program.h"

struct sn_companions;

/** Time and the observations behind it. */
struct sn_weight {
	uint64_t cpu_ns;    /* user and system */
	uint64_t system_ns; /* part of cpu_ns spent in the kernel */
	uint64_t wait_ns;   /* blocked, by the traced calls */
	uint64_t samples;   /* observations; remainders at thread exit bring time, but are none */
	uint64_t waits;
};

void sn_weight_add(struct sn_weight *to, const struct sn_weight *other);

/** How evenly the threads share an entity's exclusive CPU time. Threads with less than a hundredth
 * of the busiest thread's CPU time are helpers and do not count. */
struct sn_spread {
	uint32_t threads; /* that spent time in it */
	/* standard deviation over mean, all threads of the profile; NaN for one */
	double deviation;
	uint64_t max_ns;     /* the largest time of one thread */
	uint32_t max_thread; /* index into the experiment's threads, SN_NONE: no time at all */
};

struct sn_metrics {
	struct sn_weight exclusive, inclusive;
	/* 95 % intervals of the shares of CPU time, see uncertainty.h */
	struct sn_interval exclusive_share, inclusive_share;
	struct sn_spread spread;
};

/** Which part of the experiment is looked at. NULL or zero: everything. */
struct sn_filter {
	int64_t from_ns, to_ns; /* [from, to); to 0: open */
	struct sn_spans spans;	/* of these only; their items are borrowed */
	/* in place of them: the time of the first sample packet of this label, for `to` behind
	 * `from`; NULL: none */
	const char *from_label, *to_label;
	const uint32_t *processes; /* indices; any of them */
	size_t process_count;
	const int32_t *tids;
	size_t tid_count;
	const char *module;   /* the leaf's module: base name, path or extended regex of the name */
	const char *function; /* on the path: name, or extended regex searched in the name */
	/* blocked time of threads at work only (is_at_work); not a filter in the sense above: CPU
	 * time stays whole */
	bool without_idle;
};

/** CPU time of one thread in one stack. */
struct sn_thread_time {
	uint32_t thread, stack; /* stack: up to the program's stack_count, which stands for none */
	uint64_t cpu_ns;
};

enum sn_time_kind {
	SN_TIME_CPU,
	SN_TIME_WALL, /* CPU and blocked */
};

struct sn_profile {
	struct sn_arena arena;
	const struct sn_experiment *experiment; /* borrowed, as is the program */
	const struct sn_program *program;
	struct sn_filter filter; /* borrowed texts and lists */
	bool is_filtered;
	int64_t from_ns, to_ns; /* the time range looked at */

	struct sn_weight total;
	double effective_samples;     /* observations, less for unequal weights (uncertainty.h) */
	struct sn_metrics *functions; /* by index of the program's functions */
	struct sn_metrics *loops;
	struct sn_metrics *lines;
	struct sn_metrics *modules;	   /* by module, and one more for samples without a stack */
	struct sn_weight *places;	   /* exclusive, by place: the heat of addresses */
	struct sn_weight *place_inclusive; /* and with what is called from there */
	struct sn_weight *stacks;	   /* by stack, program->stack_count + 1 */
	SN_VEC(struct sn_thread_time) thread_times; /* thread by thread; they sum to `stacks` */
	struct sn_weight *threads, *processes;	    /* by index */
	struct sn_weight cpus[1024];		    /* by CPU number; the last for larger numbers */
	uint32_t cpu_count;			    /* largest number seen + 1 */
	struct sn_metrics categories[SN_CATEGORIES]; /* exclusive only */
	uint64_t spin_ns[SN_CATEGORIES];	     /* of which waiting actively: openmp and mpi */
	uint64_t *function_spin_ns;		     /* by function: exclusive, waiting actively */
	uint64_t *program_ns; /* by module: its part of the category program */
	uint64_t loops_ns,
		innermost_loops_ns; /* leaf address in a loop; runtimes' loops excluded */
	uint64_t truncated_samples, no_stack_samples, late_samples, unnamed_ns;
	uint8_t *is_runtime_loop; /* by loop: in an OpenMP or MPI runtime, nothing to optimise */
	/* by thread: at work, that is with at least a hundredth of the busiest thread's CPU time,
	 * or the first thread of its process; the others are helpers that mostly sleep, and threads
	 * of what launched the ranks of MPI */
	uint8_t *is_at_work;
	uint8_t *launching;		       /* by process: enum sn_launching (launchers.h) */
	uint8_t *stack_passes, *thread_passes; /* what the filter lets through, by index */
	/* by wait: what it blocked its thread for. A traced call's duration holds its CPU time and
	 * its waiting for a CPU too: where the durations of a thread's waits add up to more than
	 * its account says that it was blocked, they are cut down to that (docs/method/time.md) */
	uint64_t *blocked_ns;
	/* further runs of the program (companions.h), of the analysis; NULL: none */
	struct sn_companions *companions;
};

/** SN_ERR_USAGE for a filter whose regular expression does not parse, or that names a process that
 * is not there; SN_ERR_NOT_FOUND if it names a thread, module or function that is not in the
 * experiment. `filter` may be NULL. */
sn_status sn_profile_new(const struct sn_program *program, const struct sn_filter *filter,
			 struct sn_profile **out, struct sn_error *err);
void sn_profile_free(struct sn_profile *profile);

/** Writes the modules with most time of the category program into `modules`, at most `limit` of
 * them. Returns how many there are. */
size_t sn_program_modules(const struct sn_profile *profile, uint32_t *modules, size_t limit);

/** Whether a function waits actively for most of its exclusive time. Such a function is never
 * listed as hot. */
bool sn_function_spins(const struct sn_profile *profile, uint32_t function);

/** Whether a sample passes the filter. */
bool sn_profile_has_sample(const struct sn_profile *profile, const struct sn_sample *sample);
/** The blocked time of a wait of the profile's experiment that passes the filter, clipped to the
 * time range. */
uint64_t sn_profile_wait_ns(const struct sn_profile *profile, const struct sn_wait *wait);
/** The same from the call's begin to its end. It includes the time in which the thread could have
 * run again and got no CPU: it says where the thread was, not what it waited for. */
uint64_t sn_profile_wait_elapsed_ns(const struct sn_profile *profile, const struct sn_wait *wait);

/** Time of a weight by kind. */
uint64_t sn_weight_time(const struct sn_weight *weight, enum sn_time_kind kind);

/** How much a number can be trusted: enough observations for two digits, one, or hardly any. */
enum sn_quality { SN_QUALITY_GOOD, SN_QUALITY_FAIR, SN_QUALITY_POOR };
/** good from 100 observations, fair from 20. */
enum sn_quality sn_quality_of(uint64_t samples);
/** "●" "◐" "○" or, in plain ASCII, "+" "~" "?". */
const char *sn_quality_mark(enum sn_quality quality, bool is_utf8);

#endif
