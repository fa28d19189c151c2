/**
 * The trace of OpenMP: who works and who waits, by region, construct and thread, as entries that are counted
 * up where they lie (wire/openmp.h). It is in builds of the runtime that only tracing loads.
 *
 * A thread is at work, or waits in a construct; `mark` is when that began. A region's team is where its
 * threads add up what they did. A thread learns how long it waited at the region's end when it is met
 * again, because it sleeps in the library until then: the team keeps the time of the last to arrive, and
 * is not used again before all have asked.
 */
#ifndef SN_RUNTIME_OPENMP_TRACE_H
#define SN_RUNTIME_OPENMP_TRACE_H

#include "runtime/core/entries.h"
#include "runtime/openmp/regions.h"
#include "wire/openmp.h"

enum {
	SN_OPENMP_TEAMS = 64,  /* of one thread that opens regions: a power of two */
	SN_OPENMP_PLACES = 64, /* of regions whose path a thread knows: a power of two */
	SN_OPENMP_HELD = 16,   /* locks and critical sections that a thread is in */
	SN_OPENMP_TASKS = 256, /* explicit tasks within each other on one stack */
};

struct sn_openmp_team {
	_Atomic uint32_t pinned; /* threads that have yet to ask for end */
	_Atomic uint32_t ended;	 /* bodies */
	_Atomic uint32_t is_open;
	uint32_t region; /* its path */
	uint64_t pc;	 /* of the call that opened it */
	uint64_t open_tsc;
	bool is_nested;
	/* from open_tsc on: the last end of a body, and the sum of all */
	_Atomic uint64_t last_end, sum_end;
	_Atomic uint64_t work, largest;
} __attribute__((aligned(64)));

struct sn_openmp_held {
	const void *object; /* NULL: of critical sections */
	uint64_t pc, begin_tsc;
	uint8_t construct;
};

/** What the collector knows of a thread; in scratch. Teams outlive the thread. */
struct sn_openmp_worker {
	struct sn_openmp_team teams[SN_OPENMP_TEAMS];
	uint32_t next_team;

	/* cleared for a thread that begins, from here on */
	struct sn_openmp_team *team; /* that it works in; NULL: none */
	uint64_t mark, work, waited;
	bool is_waiting;
	_Atomic(struct sn_openmp_team *) pending; /* it is to ask for its end */
	uint64_t pending_end;			  /* when it ended its body, from open_tsc on */
	uint64_t joined_end; /* the same, while it runs a task behind its body */
	uint64_t done;	     /* its work for that team */
	uint64_t
		microtask; /* the body of the region that it is about to open, by LLVM's compiler */
	/* the block that one thread runs, or some do, which it is in; block_begin 0: none */
	uint64_t block_pc, block_begin;
	uint8_t block_construct;
	uint32_t held_count, task_count, before_count;
	struct sn_openmp_held held[SN_OPENMP_HELD];
	struct sn_openmp_before tasks[SN_OPENMP_TASKS];
	struct sn_openmp_before before[SN_REGIONS_MAX]; /* by OMPT */
	struct {
		uint64_t pc, body;
		uint32_t path;
	} places[SN_OPENMP_PLACES];
	struct sn_entries entries;
};
extern struct sn_collector sn_openmp_trace_collector;

/** Of the process image. */
struct sn_openmp_trace {
	_Atomic uint32_t is_on;
	_Atomic uint32_t open_regions;
	_Atomic uint64_t span_tsc; /* since when there is one */
};
extern struct sn_openmp_trace sn_openmp_trace;

/** The calling thread's part; NULL: it is not traced. */
static inline struct sn_openmp_worker *sn_openmp_worker(void)
{
	struct sn_thread *self = sn_self;

	return self && sn_openmp_trace.is_on && sn_is_active() && !sn_is_paused()
		       ? sn_thread_scratch(self, &sn_openmp_trace_collector)
		       : NULL;
}

/** A wait begins and ends. An end without a begin is none. `pc`: where the construct's call returns to. */
void sn_openmp_wait_begins(struct sn_openmp_worker *worker);
void sn_openmp_wait_ends(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
			 uint64_t pc);
/** A construct that waits for nothing was met. */
void sn_openmp_met(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
		   uint64_t pc);
/** The thread is in a block that some of the team run (single, masked, a section), until it says so, comes to a
 *  barrier, or ends its body. */
void sn_openmp_block_begins(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
			    uint64_t pc);
void sn_openmp_block_ends(struct sn_openmp_worker *worker);
/** What was waited for is had, and released. */
void sn_openmp_hold(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
		    const void *object, uint64_t pc);
void sn_openmp_release(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
		       const void *object);
/** An explicit task begins and ends; what the thread waits for otherwise goes on behind it. One that runs
 *  after the body is still the body's work. */
void sn_openmp_task_begins(struct sn_openmp_worker *worker, struct sn_openmp_before *before);
void sn_openmp_task_ends(struct sn_openmp_worker *worker, const struct sn_openmp_before *before,
			 uint64_t pc);

/** The body of the calling thread is over. */
void sn_openmp_end_body(struct sn_openmp_worker *worker, const struct sn_openmp_before *before);
void sn_openmp_begin_body(const struct sn_region *region, struct sn_openmp_before *before);
/* ompt_trace_handler.c */
void sn_ompt_trace_implicit_task(const struct sn_region *region, bool is_begin, unsigned index);
/** For kmpc_stubs_handler.c: the thread is about to open a region with this body. Gives the library's function;
 *  NULL: there is none. */
void *sn_kmpc_opens(uint64_t microtask, unsigned which);
void sn_ompt_trace_ask(int (*set)(int event, void (*callback)(void)));

#endif
