/**
 * A recorded run as sources of evidence see it: its regions, and which of them each stack lies in.
 *
 * Regions are the program itself, functions and source loops of the program and its libraries, and
 * parallel regions of OpenMP. Runtimes of OpenMP and MPI have none: their time belongs to the
 * region that called them.
 */
#ifndef SN_SEARCH_EVIDENCE_RECORDED_H
#define SN_SEARCH_EVIDENCE_RECORDED_H

#include "caches/config.h"
#include "machine/choice.h"
#include "profile/profile.h"
#include "profile/structures.h"
#include "search/database/tables.h"

/** What a stack's thread was doing, as far as the runtimes on it tell. */
enum sn_activity {
	SN_ACTIVITY_WORK,
	SN_ACTIVITY_SPIN,    /* waiting actively, in no runtime */
	SN_ACTIVITY_RUNTIME, /* a thread of a runtime's own, which nobody waits for */
	/* in the OpenMP runtime */
	SN_ACTIVITY_OMP_BARRIER, /* an explicit one */
	SN_ACTIVITY_OMP_CRITICAL,
	SN_ACTIVITY_OMP_ORDERED,
	SN_ACTIVITY_OMP_LOCK,
	SN_ACTIVITY_OMP_TASK,
	SN_ACTIVITY_OMP_JOIN,  /* the end of a parallel region, of a loop, of sections */
	SN_ACTIVITY_OMP_OTHER, /* handing out work */
	SN_ACTIVITY_OMP_IDLE,  /* a worker between parallel regions */
	/* in MPI */
	SN_ACTIVITY_MPI_BARRIER,
	SN_ACTIVITY_MPI_NXN,
	SN_ACTIVITY_MPI_REDUCE,
	SN_ACTIVITY_MPI_BROADCAST,
	SN_ACTIVITY_MPI_POINT,
	SN_ACTIVITY_MPI_POLL,
	SN_ACTIVITY_MPI_SCAN,
	SN_ACTIVITY_MPI_OTHER,
	SN_ACTIVITIES
};

/** What is known of a stack. */
struct sn_stack_facts {
	uint32_t first, count; /* its regions, outermost first, each once, in `stack_regions` */
	uint32_t leaf;	       /* the innermost region */
	uint32_t parallel;     /* the innermost parallel region; SN_ALL: none */
	uint8_t activity;      /* enum sn_activity */
};

/** One region directly below another, with the time that went that way. */
struct sn_region_edge {
	uint32_t from, to;
	uint64_t ns;
};

/** Time of one thread in one stack. */
struct sn_recorded_cell {
	uint32_t thread, stack;
	uint64_t cpu_ns, system_ns, samples;
};

/** What the kernel counted of a thread within a part of the run; -1: unknown. */
struct sn_part_thread {
	int32_t pid, tid;
	int64_t elapsed_ns, cpu_ns, wait_cpu_ns;
	const char *host; /* borrowed; NULL: any */
};

struct sn_part_process {
	int32_t pid;
	uint64_t minor_faults, major_faults;
	const char *host; /* borrowed; NULL: any */
};

/** A part of the run that was measured by itself: executions of a phase. */
struct sn_part {
	double phase_s;	     /* wall time of all its executions */
	double share_of_run; /* of the program's executions those that were measured; 0: not known */
	uint32_t traces; /* that an agent had on in all of them: bits 1 << enum sn_monitor_source */
	SN_VEC(struct sn_part_thread) threads;
	SN_VEC(struct sn_part_process) processes;
};

enum { SN_SOURCES_MOST = 32 }; /* sources are bits of a word */

struct sn_recorded {
	const struct sn_part
		*part; /* borrowed; NULL: the run, as far as the profile's filter lets */
	const struct sn_profile *profile; /* borrowed, as are the next two */
	struct sn_structures *structures;
	const struct sn_machine_choice *machine;
	const struct sn_sim_config
		*caches; /* borrowed: that traces are replayed through; NULL: this machine's */
	double share_of_run; /* counts were made those of a part of another run that has so much of it; 0: they are the run's */
	/* borrowed: the run whose CPU times count, where this one was slowed by what it measured; NULL: this one */
	const struct sn_recorded *times;
	/* by source, as sn_sources has them: its seconds are another start's, times this; 0: they are this run's */
	double start_scales[SN_SOURCES_MOST];
	struct sn_tables *tables; /* owned */

	uint32_t *process_members, *thread_members; /* by index of the run; SN_ALL: not in scope */
	struct sn_stack_facts *stacks;		    /* by stack, stack_count + 1 */
	SN_VEC(uint32_t) stack_regions;
	SN_VEC(struct sn_recorded_cell) cells; /* of threads in scope, by thread */
	SN_VEC(struct sn_region_edge) edges;   /* most time first */
	uint32_t *main_parents;		       /* by region: where most of its time comes from */
	uint32_t *region_functions, *region_loops; /* by region: of the program, or SN_NONE */
	uint64_t *region_ns;			   /* by region: CPU and blocked, all threads */
	/* by stack, as `stacks`: of all threads; NULL: of tables alone */
	struct sn_stack_time {
		uint64_t cpu_ns, blocked_ns;
	} * stack_times;
	uint32_t *teams; /* by process member: threads that OpenMP keeps */
	bool has_ranks;
};

/** The root of all regions: the program. */
enum { SN_REGION_PROGRAM = 0 };

/** All are borrowed. The tables have members, and no values yet. */
struct sn_recorded *sn_recorded_new(const struct sn_profile *profile,
				    struct sn_structures *structures,
				    const struct sn_machine_choice *machine);
/** The same of a part of the run; with `before` (NULL: none), of another part of the same program, the
 *  regions that it has come first, in its order, so that their numbers stay. */
struct sn_recorded *sn_recorded_of_part(const struct sn_profile *profile,
					struct sn_structures *structures,
					const struct sn_machine_choice *machine,
					const struct sn_part *part,
					const struct sn_recorded *before);
/** A column in seconds that tells how much time regions take. */
struct sn_time_column {
	uint32_t column;
	bool is_exclusive; /* without what the regions inside take */
};
/** The same of tables alone, which it takes: there is no profile. Region 0 is the program, parents are
 *  no circle. A region takes the most that any of the columns says. */
struct sn_recorded *sn_recorded_of_tables(struct sn_tables *tables,
					  const struct sn_time_column *columns, size_t count);
void sn_recorded_free(struct sn_recorded *recorded);

/** The path of the program: of ranks that of the busiest, not of what started them; NULL: unknown. */
const char *sn_recorded_program(const struct sn_profile *profile);
/** The region of a loop of the program, of which one part stands for all; SN_ALL: it has none. */
uint32_t sn_recorded_loop_region(const struct sn_recorded *recorded, uint32_t loop);
/** Whether it has this number on this host (NULL: any). */
bool sn_recorded_is_process(const struct sn_process *process, int32_t pid, const char *host);
/** The thread of the run that a part's account is of; SN_NONE: none is in scope. */
uint32_t sn_recorded_part_thread(const struct sn_recorded *recorded,
				 const struct sn_part_thread *account);
/** Adds seconds to a metric at a region (SN_ALL: none) and a thread of the run. `samples` NaN:
 *  counted; `error_s` NaN: by the samples. */
void sn_recorded_add(struct sn_recorded *recorded, uint32_t column, uint32_t source,
		     uint32_t region, uint32_t thread, double seconds, double samples,
		     double error_s);

struct sn_source;
/** Adds the values that a source (evidence/sources.h) has in another run of the same program. What only the
 *  other run knows (a region that no sample met here) is left out. The source's `times` keep their share of
 *  the phase: one that takes twice as long has twice the waiting. Two starts are not one: a value's error is at least what the
 *  two differ by in the time of its region. */
void sn_recorded_join(struct sn_recorded *recorded, const struct sn_recorded *other,
		      const struct sn_source *source);

#endif
