/**
 * One experiment as scalability sees it. A worker is a place for one thread in a rank: threads that follow
 * each other in time take turns in one place, so a pool that is made anew for each phase has as many
 * workers as threads at once, and a first thread that waits while its pool works is one of these.
 *
 * The time of a function, loop or category is the largest exclusive CPU time of one worker. Elapsed time
 * would be that of the machine: on a busy one it tells nothing of one loop (docs/method/scalability.md).
 */
#ifndef SN_CAMPAIGN_SCALING_RUN_H
#define SN_CAMPAIGN_SCALING_RUN_H

#include "base/arena.h"
#include "base/vec.h"
#include "compare/compare.h"
#include "profile/structures.h"

enum sn_scaling_kind {
	SN_SCALING_APPLICATION,
	SN_SCALING_FUNCTION,
	SN_SCALING_LOOP,
	SN_SCALING_CATEGORY,
	SN_SCALING_KINDS,
};
/** "application", "function", "loop", "category". */
const char *sn_scaling_kind_name(enum sn_scaling_kind kind);

struct sn_scaling_part {
	enum sn_scaling_kind kind;
	const char *key;	       /* equal in all runs for the same thing */
	struct sn_compare_entry entry; /* names; of a category only `name` */
	const char *loop;	       /* id of the loop of the code that has most of it; NULL */
	double cpu_s;		       /* of all workers */
	double busiest_s; /* of the busiest, less what sampling alone makes of equal ones */
};

struct sn_scaling_run {
	struct sn_arena arena;
	const char *program; /* sn_run_program; NULL: not known */
	double workers;	     /* ranks x threads */
	double elapsed_s, cpu_s, system_s, wait_cpu_s;
	double useful_s,
		useful_busiest_s; /* CPU time neither in MPI or OpenMP nor waiting actively */
	double spin_s,
		turns_s; /* the second: of it, for a turn in a critical section (profile/turns.h) */
	const char *turns;     /* "critical section in crit (cr.c:8)"; NULL: nobody did */
	double busiest_wait_s; /* of the worker of useful_busiest_s: able to run, without a CPU */
	double idle_workers; /* of `workers`: with less than a tenth of the busiest one's useful time */
	SN_VEC(struct sn_scaling_part) parts;
};

/** Fills a run from a whole profile that had so many ranks, each of so many threads. Texts are copied. `structures`
 * NULL: nothing is known of turns. */
void sn_scaling_run_fill(struct sn_scaling_run *run, const struct sn_profile *profile,
			 struct sn_structures *structures, uint32_t ranks, uint32_t threads);
void sn_scaling_run_free(struct sn_scaling_run *run);

#endif
