/**
 * Entries of OpenMP in a piece of a trace (wire/trace.h, SN_TRACE_OPENMP; wire/entries.h).
 *
 *   REGION     executions of one parallel region by teams of one size, by the thread that opened it
 *   BODY       what one thread did in the bodies of one region
 *   CONSTRUCT  one construct at one place, within one region
 *   SPAN       time in which the process had at least one region open
 *
 * A region is known by the call path of the call that opens it, where that was first seen: several numbers
 * may be one region of the source.
 */
#ifndef SN_WIRE_OPENMP_H
#define SN_WIRE_OPENMP_H

#include "wire/entries.h"

enum sn_openmp_type {
	SN_OPENMP_REGION = 2,
	SN_OPENMP_BODY,
	SN_OPENMP_CONSTRUCT,
	SN_OPENMP_SPAN,
	SN_OPENMP_TYPES,
};

/** What a thread waits for in a construct. */
enum sn_openmp_class {
	SN_OPENMP_AT_BARRIER,
	SN_OPENMP_FOR_OTHERS,
	SN_OPENMP_FOR_TASKS,
	SN_OPENMP_FOR_NOTHING
};
/* Stored: append only. */
/* clang-format off */
#define SN_OPENMP_CONSTRUCTS(X) \
	X(BARRIER, "barrier", AT_BARRIER) X(IMPLICIT, "implicit barrier", AT_BARRIER) X(LOOP_END, "end of for", AT_BARRIER) \
	X(SECTIONS_END, "end of sections", AT_BARRIER) X(CRITICAL, "critical", FOR_OTHERS) X(ATOMIC, "atomic", FOR_OTHERS) \
	X(ORDERED, "ordered", FOR_OTHERS) X(LOCK, "lock", FOR_OTHERS) X(TASKWAIT, "taskwait", FOR_TASKS) \
	X(TASKGROUP, "taskgroup", FOR_TASKS) X(TASK, "task", FOR_NOTHING) X(SINGLE, "single", FOR_NOTHING) \
	X(SINGLE_COPY, "single copyprivate", AT_BARRIER) X(LOOP, "for", FOR_NOTHING) X(SECTIONS, "sections", FOR_NOTHING) \
	X(REDUCTION, "reduction", FOR_NOTHING) X(MASKED, "masked", FOR_NOTHING)
/* clang-format on */
#define SN_OPENMP_NAMED(word, name, class) SN_OPENMP_##word,
enum sn_openmp_construct { SN_OPENMP_CONSTRUCTS(SN_OPENMP_NAMED) SN_OPENMP_CONSTRUCT_COUNT };
#undef SN_OPENMP_NAMED

struct sn_openmp_entry {
	uint8_t type;	   /* enum sn_openmp_type */
	uint8_t construct; /* enum sn_openmp_construct */
	uint8_t is_nested; /* REGION: opened within another one */
	uint8_t unused;
	uint32_t region; /* its path; 0: none, or unknown */
	uint32_t path;	 /* CONSTRUCT: where it was first met; REGION: size of the team */
	uint32_t thread; /* BODY: index + 1, if it is not the piece's; else 0 */
	uint64_t count;	 /* executions; of BODY and CONSTRUCT by this thread */
	uint64_t ticks;	 /* REGION: from its opening to its end; BODY, CONSTRUCT: inside; SPAN */
	uint64_t work;	 /* REGION, BODY: inside bodies, without waiting */
	uint64_t
		largest; /* REGION: work of the thread that had most, each time; CONSTRUCT: longest wait */
	uint64_t
		wait; /* REGION, BODY: at the end, for the last thread; CONSTRUCT: waiting, without tasks */
	uint64_t pc; /* REGION, CONSTRUCT: where the call returns to */
};
_Static_assert(sizeof(struct sn_openmp_entry) == SN_ENTRY_BYTES, "an entry is a line of the cache");

#endif
