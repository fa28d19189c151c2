/**
 * Call paths as phases see them: the functions and source loops of the application on each, and
 * what a path's own time belongs to.
 *
 * An *entity* is a place that an instrumentation could stand for: a function (its number in the
 * program), or a source loop (`function_count` + its number; peel, main and tail are one loop).
 * The application is every file that is no C library, loader, MPI, OpenMP, mathematics, allocator
 * or I/O library: the time of those belongs to the application's function that called them.
 */
#ifndef SN_PHASES_PATHS_H
#define SN_PHASES_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/program.h"

struct sn_phase_call {
	uint32_t caller, callee;
};

struct sn_phase_paths {
	const struct sn_program *program; /* borrowed */
	unsigned owners;		  /* each frees */
	bool by_symbol;
	uint32_t function_count, entity_count;
	uint32_t *loop_of;  /* source loop -> one of its loops, the main one if there is one */
	uint32_t *function; /* by stack: innermost function of the application */
	uint32_t *loop;	    /* by stack: innermost source loop around that; SN_NONE: none */
	uint32_t *leaf;	    /* by stack: entity whose own code runs; SN_NONE: a library's */
	/* stack s: entities[first[s] .. first[s + 1]), outermost first, each once */
	size_t *first;
	SN_VEC(uint32_t) entities;
	/* A function right below another entity on a path, but for recursive functions and those
	 * that libraries call back. */
	SN_VEC(struct sn_phase_call) calls;
	uint32_t *call_of;	 /* by index of entities: the call from there; SN_NONE: none */
	uint8_t *is_recursive;	 /* by function: stands on some path twice */
	uint8_t *is_called_back; /* by function: a library calls it on some path */
	uint8_t *is_between; /* by stack: a thread's that waits, running or blocked, for its next
				parallel region: nothing of the application, but the OpenMP
				runtime */
};

/** `by_symbol`: functions are those that symbols name, as compiled; what was inlined into them is
 *  theirs, as gprof counts. */
struct sn_phase_paths *sn_phase_paths_new(const struct sn_program *program, bool by_symbol);
/** One more owner. */
struct sn_phase_paths *sn_phase_paths_share(struct sn_phase_paths *paths);
/** The last owner's frees them. */
void sn_phase_paths_free(struct sn_phase_paths *paths);

/** Stacks are met in no order that memory would foresee: asks for a path that is wanted some
 * stacks later. */
static inline void sn_path_prefetch(const struct sn_phase_paths *paths, uint32_t stack)
{
	const uint32_t *path = paths->entities.items + paths->first[stack];

	__builtin_prefetch(path);
	__builtin_prefetch(path + 16); /* its next cache line */
}

static inline bool sn_entity_is_loop(const struct sn_phase_paths *paths, uint32_t entity)
{
	return entity >= paths->function_count;
}
/** A loop of the program that stands for a loop entity. */
static inline const struct sn_program_loop *sn_entity_loop(const struct sn_phase_paths *paths,
							   uint32_t entity)
{
	return &paths->program->loops.items[paths->loop_of[entity - paths->function_count]];
}
/** The function that an entity is, or that its loop was written in. */
static inline uint32_t sn_entity_function(const struct sn_phase_paths *paths, uint32_t entity)
{
	return entity < paths->function_count ? entity : sn_entity_loop(paths, entity)->function;
}

#endif
