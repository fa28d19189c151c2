/**
 * libpandore: what a compiled Pandore program stands on.
 *
 * A program is a host and P nodes, numbered 0..P-1. The nodes execute the phases; the host executes
 * main() and triggers them. Messages are FIFO per ordered pair of processes, sends never block. Two
 * back ends implement net.h: local (fork and shared-memory rings) and MPI.
 *
 * Every node holds an array under one index function: address space for the whole array, of which
 * it touches its own blocks and the elements it receives. So A[i][j] is the same expression on
 * every node, and a received element lies where the sequential program has it.
 *
 * PD_PROFILE and PD_TRACE choose the instrumented macros; the generated code is the same.
 */
#ifndef PANDORE_H
#define PANDORE_H

#include <stddef.h>
#include <stdint.h>

#include "sections.h"

enum { PD_RANK_MAX = 8, PD_PARAMS_MAX = 256 };

enum pd_mode { PD_IN, PD_OUT, PD_INOUT };

/** An array parameter of a phase. Blocks of `block` elements form a grid, numbered with dimension
 *  order[0] slowest; block b lives on node b / per_node (regular) or b % nodes (wrapped). */
struct pd_array {
	const char *name;
	size_t element_bytes;
	int rank;
	long extent[PD_RANK_MAX];
	int is_distributed, is_wrapped;
	enum pd_mode mode;
	int is_overwritten; /* OUT, and the phase writes all of it: old values are not needed */
	long block[PD_RANK_MAX], grid[PD_RANK_MAX], block_count, per_node;
	int order[PD_RANK_MAX];
};

union pd_scalar {
	long integer;
	double real;
};

struct pd_phase {
	const char *name;
	int param_count;
	const struct pd_array *const *arrays; /* a NULL for a scalar parameter */
	void (*run)(void *const *storage, const union pd_scalar *scalars);
	/* computes the layouts that depend on scalars or on the number of nodes; NULL: none do */
	void (*lay_out)(const union pd_scalar *scalars);
	const union pd_scalar *given; /* a counting build: what is known of its scalars */
};

/** The number of nodes of this run. */
extern int pd_nodes;

/** Grid, blocks and blocks of each node from extents and sizes of blocks. */
void pd_lay_out(const char *phase, struct pd_array *array);

/** Memory for a local array of a phase that is too large for the program, or of a size known late.
 * It is the same in each call as long as it is large enough. */
void *pd_local(int number, const char *name, size_t element_bytes, int rank, const long *extent);

/** A place where values move: one reference of one statement. */
struct pd_site {
	int line, phase, zone;	     /* zone -1: none */
	int is_broadcast;	     /* else from partition to partition */
	const char *source, *target; /* arrays; of a broadcast: the variable assigned */
};

/** An assignment or an observation point. */
struct pd_point {
	int line, phase, zone, is_observed;
	const char *label;
};

struct pd_zone {
	const char *name;
	int phase;
};

struct pd_program {
	const char *name, *source, *scheme;
	int nodes; /* 0: the run decides */
	int host_inside;
	int phase_count, site_count, point_count, zone_count;
	const struct pd_phase *phases;
	const struct pd_site *sites;
	const struct pd_point *points;
	const struct pd_zone *zones;
	int has_profile, has_trace;
	int is_counting; /* only count what would be sent */
	int is_checking; /* only check subscripts, on one node for all */
};

/**
 * The counting build (PD_COUNT): phases run on each node in turn, without data, and what they would
 * send is counted. So the code that sends is the code that predicts.
 *
 * PD_COMPUTE stands before what needs data, PD_HOLDS around a condition on data without messages
 * under it, PD_DOUBT where messages depend on data: it ends the counting of the phase.
 */
#ifdef PD_COUNT
#define PD_COUNTED 1
#else
#define PD_COUNTED 0
#endif
#define PD_COMPUTE	    if (!PD_COUNTED)
#define PD_HOLDS(condition) (!PD_COUNTED && (condition))
#define PD_DOUBT(line, what)                                                                       \
	do {                                                                                       \
		if (PD_COUNTED)                                                                    \
			pd_doubt(line, what);                                                      \
	} while (0)
__attribute__((noreturn)) void pd_doubt(int line, const char *what);

/** Checking: the subscript, or 0 where it is out of bounds, which is printed once for each number. */
long pd_outside(int number, long subscript, long extent);
static inline long pd_within(int number, long subscript, long extent)
{
	return subscript >= 0 && subscript < extent ? subscript
						    : pd_outside(number, subscript, extent);
}

/** Counting: the node `to` (-1: every node) needs an element for a reference. It counts once until the
 * next pd_move(). pd_need_more() is false after too many steps. */
void pd_need(int site, const struct pd_array *array, const void *storage, const long *subscripts,
	     int to);
int pd_need_more(int site);

/** Starts the nodes, runs main() on the host, ends the nodes. Returns main()'s status. */
int pd_main(const struct pd_program *program, int argc, char **argv, int (*host)(int, char **));

/** The host's side of a phase call: trigger, distribute, collect. `rows` has the bytes of what an
 * array's elements of the first dimension are for the host: rows, or single elements behind a plain
 * pointer. Other sizes, and arrays that overlap and are written, end the run with a sentence. */
void pd_call(int phase, void *const *arrays, const union pd_scalar *scalars, const size_t *rows);

/* An array argument by its C type: TYPE A[n], TYPE *A; with rows TYPE A[n][m], TYPE (*A)[m], TYPE *A.
 * Of three dimensions and more only the size is checked. */
__attribute__((error("this argument of a phase is a table of pointers; a phase takes one "
		     "contiguous array"))) void *
pd_table_of_pointers(void);
#define PD_HOST_ARRAY_1(type, a)                                                                   \
	_Generic(*(a), type : (void *)(uintptr_t)(a), const type : (void *)(uintptr_t)(a))
#define PD_HOST_ARRAY_2(type, a)                                                                   \
	__builtin_choose_expr(__builtin_types_compatible_p(__typeof__(*(a)), type *),              \
			      pd_table_of_pointers(),                                              \
			      _Generic(*(a),                                                       \
					type: (void *)(uintptr_t)(a),                              \
					type *: (void *)(uintptr_t)(a),                            \
					const type *: (void *)(uintptr_t)(a)))
#define PD_HOST_ARRAY_3(type, a) ((void *)(uintptr_t)(a))

/** An array argument whose every use by the host is written with pd_look(): it may stay on the nodes
 * after the phase. Returns it. */
void *pd_stay(void *base);
/** Brings such an array back if the nodes have it. From then on the host may change it. */
void pd_bring_home(const void *base);
/** How many arrays are on the nodes. */
extern int pd_away;

/** Between these two the host does nothing but call phases: it need not wait for the end of each. */
void pd_ahead_begin(void);
void pd_ahead_end(void);

/** Before each use of an array that may be on the nodes. */
static inline void *pd_look(const void *base)
{
	if (__builtin_expect(pd_away != 0, 0))
		pd_bring_home(base);
	return (void *)(uintptr_t)base;
}

/** This process's number among the nodes. */
int pd_node(void);

/** A message of `bytes` to or from a node. A receive of another size ends the program. */
void pd_send(int to, const void *bytes, size_t count);
void pd_receive(int from, void *bytes, size_t count);

/** Prints one sentence and ends the run. */
__attribute__((noreturn, format(printf, 1, 2))) void pd_die(const char *format, ...);

/** --check: the subscript, or the end of the run with a sentence that names the place. */
long pd_check(long subscript, long extent, const char *array, const char *file, int line);

/** Notes what the nodes need of an array; all nodes call it together. pd_move() moves it. */
void pd_exchange(const struct pd_moves *moves, void *storage, const long *target_base,
		 const long *source_base, const struct pd_range *loops);

/**
 * Subscripts known only at run time (A[idx[i]]): all nodes run the iterations once and note which
 * element of `array` each node needs (to -1: all). Subscripts out of
 * bounds are passed over: the program does not read there either.
 */
void pd_inspect_begin(const struct pd_array *array, int site, void *storage);
void pd_inspect(int to, const long *subscripts);
void pd_inspect_end(void);

/**
 * Lists that are kept from one execution to the next. `key` has all numbers that decide what is
 * listed, and the versions of the arrays that do. Returns 1 if all are as the last time: then the lists are
 * there again. Else it begins an inspection. `*kept` is NULL at first.
 */
struct pd_kept;
int pd_inspect_again(struct pd_kept **kept, const struct pd_array *array, int site, void *storage,
		     const long *key, int count);
/** A number that is another one after each change of the array's elements by host or phase. */
long pd_version(const void *storage);
/** The elements may have changed. */
void pd_changed(const void *storage);

/** Moves all that was noted since the last call: one message for each pair of nodes. It is counted
 * for the reference that asked first, its bytes for the references that asked for them. */
void pd_move(void);

static inline long pd_clip(long subscript, long extent)
{
	return subscript < 0 ? 0 : subscript >= extent ? extent - 1 : subscript;
}

static inline int pd_inside(long subscript, long extent)
{
	return subscript >= 0 && subscript < extent;
}

/* ---- instrumentation ---- */

struct pd_counter {
	uint64_t messages, bytes; /* sent to this peer */
	uint64_t wait_ticks;	  /* waited for this peer's messages */
};

/** Counters by site * nodes + peer; executions by point. NULL in a plain build. */
extern struct pd_counter *pd_counters;
extern uint64_t *pd_executions;

void pd_receive_timed(int from, void *bytes, size_t count, uint64_t *wait_ticks);
void pd_zone_enter(int zone);
void pd_zone_leave(int zone);
/** Trace: records an event and returns its index on this node. */
void pd_trace_point(int point);
void pd_trace_send(int site, int to, const void *bytes, size_t count);
void pd_trace_receive(int site, int from, void *bytes, size_t count, uint64_t *wait_ticks);

#ifdef PD_PROFILE
#define PD_PROFILED 1
#else
#define PD_PROFILED 0
#endif
#ifdef PD_TRACE
#define PD_TRACED 1
#else
#define PD_TRACED 0
#endif

static inline void pd_site_send(int site, int nodes, int to, const void *bytes, size_t count)
{
	if (PD_PROFILED) {
		struct pd_counter *counter = &pd_counters[site * nodes + to];

		counter->messages++;
		counter->bytes += count;
	}
	if (PD_COUNTED)
		return;
	if (PD_TRACED)
		pd_trace_send(site, to, bytes, count);
	else
		pd_send(to, bytes, count);
}

static inline void pd_site_receive(int site, int nodes, int from, void *bytes, size_t count)
{
	uint64_t *wait = PD_PROFILED ? &pd_counters[site * nodes + from].wait_ticks : NULL;

	if (PD_COUNTED)
		return;
	if (PD_TRACED)
		pd_trace_receive(site, from, bytes, count, wait);
	else if (PD_PROFILED)
		pd_receive_timed(from, bytes, count, wait);
	else
		pd_receive(from, bytes, count);
}

static inline void pd_done(int point)
{
	if (PD_PROFILED)
		pd_executions[point]++;
	if (PD_TRACED)
		pd_trace_point(point);
}

/* In a loop that counts its executions at once (pd_done_many), only a trace sees each one. */
static inline void pd_done_each(int point)
{
	if (PD_TRACED)
		pd_trace_point(point);
}

static inline void pd_done_many(int point, long count)
{
	if (PD_PROFILED && count > 0)
		pd_executions[point] += (uint64_t)count;
}

static inline void pd_observe(int point)
{
	if (PD_TRACED)
		pd_trace_point(point);
}

/* refresh: node `to` needs the value of `place`, which node `from` owns. */
#define PD_REFRESH(site, value, place, from, to)                                                   \
	do {                                                                                       \
		const int pd_from = (from), pd_to = (to);                                          \
		if (pd_from == pd_to) {                                                            \
			if (pd_to == pd_me && !PD_COUNTED)                                         \
				(value) = (place);                                                 \
		} else if (pd_from == pd_me) {                                                     \
			pd_site_send(site, PD_NODES, pd_to, &(place), sizeof(value));              \
		} else if (pd_to == pd_me) {                                                       \
			pd_site_receive(site, PD_NODES, pd_from, &(value), sizeof(value));         \
		}                                                                                  \
	} while (0)

/* Every node needs the value of `place`, which node `from` owns. */
#define PD_BROADCAST(site, value, place, from)                                                     \
	do {                                                                                       \
		const int pd_from = (from);                                                        \
		if (pd_from == pd_me) {                                                            \
			PD_COMPUTE(value) = (place);                                               \
			for (int pd_to = 0; pd_to < PD_NODES; pd_to++)                             \
				if (pd_to != pd_me)                                                \
					pd_site_send(site, PD_NODES, pd_to, &(value),              \
						     sizeof(value));                               \
		} else {                                                                           \
			pd_site_receive(site, PD_NODES, pd_from, &(value), sizeof(value));         \
		}                                                                                  \
	} while (0)

#define PD_ZONE_ENTER(zone)                                                                        \
	do {                                                                                       \
		if (PD_PROFILED)                                                                   \
			pd_zone_enter(zone);                                                       \
	} while (0)
#define PD_ZONE_LEAVE(zone)                                                                        \
	do {                                                                                       \
		if (PD_PROFILED)                                                                   \
			pd_zone_leave(zone);                                                       \
	} while (0)

#endif
