/**
 * OpenMP of an experiment, from its traces (wire/openmp.h): parallel regions, constructs in them, and what each
 * thread did. docs/method/openmp.md has the definitions. Times are sums: over executions, and over threads
 * where nothing else is said.
 */
#ifndef SN_OPENMP_OPENMP_H
#define SN_OPENMP_OPENMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/program.h"
#include "profile/site.h"
#include "wire/openmp.h"

struct sn_openmp_region {
	struct sn_site site;  /* of the construct */
	const char *function; /* it was written in */
	uint64_t executions;  /* by a whole team; exact but for what `lost` says */
	uint32_t threads;     /* of the largest team */
	bool is_nested;	      /* at least once */
	double time_ns;	      /* elapsed */
	double team_ns;	      /* the same, of all threads of the team */
	double work_ns, barrier_ns, critical_ns, task_wait_ns;
	double largest_ns; /* work of the thread that had most in each execution */
	double mean_ns;	   /* work of a thread */
	double gain_ns;	   /* elapsed: what perfect balance would save at most */
};

/** A construct at a place within a region. */
struct sn_openmp_place {
	uint32_t region; /* SN_NONE: outside all */
	uint8_t construct;
	struct sn_site site;
	const char *function;
	uint64_t count; /* by each thread */
	double wait_ns, longest_ns;
	double inside_ns; /* of what is held, and of tasks */
	uint32_t threads; /* that met it */
};

/** A thread in the bodies of a region. */
struct sn_openmp_member {
	uint32_t region, process;
	uint32_t tid;
	uint64_t bodies;
	double work_ns, barrier_ns, critical_ns, task_wait_ns;
};

/** One entry of the traces: what one thread has at one place of one region. There may be several of a place. */
struct sn_openmp_share {
	uint8_t type;	   /* enum sn_openmp_type: REGION, BODY or CONSTRUCT */
	uint8_t construct; /* of a CONSTRUCT */
	uint32_t process;
	uint32_t tid; /* 0: of no thread that was measured */
	uint32_t
		region_stack; /* of the program, of the call that opened the region; SN_NONE: unknown, or none */
	uint32_t stack;		 /* of a CONSTRUCT; SN_NONE: unknown */
	uint32_t threads;	 /* of a REGION: of the team */
	uint64_t count;		 /* executions */
	double ns;		 /* REGION: elapsed; CONSTRUCT: inside */
	double work_ns, wait_ns; /* of a REGION: of all its threads; the wait is that at its end */
	double largest_ns; /* REGION: work of the thread that had most, each time; CONSTRUCT: longest wait */
};

struct sn_openmp {
	struct sn_arena arena;
	bool is_traced; /* else all is empty: nobody asked for it */
	SN_VEC(struct sn_openmp_region) regions;
	SN_VEC(struct sn_openmp_place) places;
	SN_VEC(struct sn_openmp_member) members;
	SN_VEC(struct sn_openmp_share) shares; /* what all of these are sums of */
	double elapsed_ns;		       /* of the processes that opened a region */
	double parallel_ns;		       /* of that, with a region open */
	uint64_t lost;			       /* regions and entries that could not be kept */
	int64_t overhead_ns;
	uint64_t damaged;
};

static inline double sn_openmp_wait_ns(const struct sn_openmp_region *region)
{
	return region->barrier_ns + region->critical_ns + region->task_wait_ns;
}

/** Of the team's threads neither work nor waiting: they were woken late, or let go. */
static inline double sn_openmp_fork_join_ns(const struct sn_openmp_region *region)
{
	double rest = region->team_ns - region->work_ns - sn_openmp_wait_ns(region);

	return rest > 0 ? rest : 0;
}

/** 1 - mean / largest of the threads' work; 0 where nobody worked. */
static inline double sn_openmp_imbalance(const struct sn_openmp_region *region)
{
	return region->largest_ns > 0 && region->mean_ns < region->largest_ns
		       ? 1 - region->mean_ns / region->largest_ns
		       : 0;
}

/** Reads the traces. Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_openmp_read(const struct sn_program *program, struct sn_openmp **out,
			 struct sn_error *err);
/** The same of what an agent has measured: windows of executions of a phase (wire/monitor.h), which entries do not cross.
 *  `overhead_ns` and `elapsed_ns` stay those of all. */
sn_status sn_openmp_read_within(const struct sn_program *program, const struct sn_spans *windows,
				struct sn_openmp **out, struct sn_error *err);
void sn_openmp_free(struct sn_openmp *openmp);

/** "critical", "taskwait" ... */
const char *sn_openmp_construct_name(uint8_t construct);
enum sn_openmp_class sn_openmp_construct_class(uint8_t construct);

/** The function that code was written in: "f._omp_fn.0" is f's, so is "f.omp_outlined"; where the compiler's name
 *  tells nothing (".omp_outlined..3") it is `around`, or the name itself if that is NULL. Into the arena. */
const char *sn_openmp_function_name(struct sn_arena *arena, const char *name, const char *around);
/** Whether a compiler's name of a body tells nothing of the function. */
bool sn_openmp_is_nameless(const char *name);
/** "function (file.c:12)", with this name for the site's function; NULL: by the site. */
void sn_openmp_add_name(const struct sn_program *program, struct sn_site site, const char *function,
			struct sn_text *text);

#endif
