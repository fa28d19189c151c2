/**
 * The program as one experiment saw it: functions, loops and source lines, and what stands at each
 * address that occurs in a stack. Every address is looked up once.
 *
 * A function is what a person wrote: the body of its own and all inlined copies are one function,
 * told apart by (module, linkage name, file of the declaration). A stack is read as a path of
 * *steps*, outermost first: a step enters a function (called or inlined) or a loop of the function
 * entered before. So an address in a loop that was inlined from `kernel` into `main` reads
 * `main > kernel > loop kernel.c:4-9`.
 */
#ifndef SN_PROFILE_PROGRAM_H
#define SN_PROFILE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "code/structure.h"
#include "experiment/experiment.h"
#include "profile/category.h"

enum { SN_RESOLVED_SCOPES = 64, SN_RESOLVED_LOOPS = 32 };

/** A resolver's answer on one address. Texts live as long as the resolver. */
struct sn_resolved_scope {
	const char *name, *linkage_name; /* linkage_name: NULL if it equals `name` */
	const char *decl_file;		 /* NULL: unknown */
	uint32_t decl_line;
	const char *file; /* where control is within it; NULL: unknown */
	uint32_t line;
};
struct sn_resolved_loop {
	const struct sn_loop *code; /* lives as long as the resolver; one for each loop */
	uint32_t scope;		    /* index of the scope that it was written in */
	bool busy_waits;	    /* it waits actively: code/busy_wait.h */
};
struct sn_resolved {
	uint64_t function_link_addr; /* entry of the concrete function, which the loops are in */
	uint32_t scope_count, loop_count;
	struct sn_resolved_scope scopes[SN_RESOLVED_SCOPES]; /* the concrete function first */
	struct sn_resolved_loop loops[SN_RESOLVED_LOOPS];    /* outermost first */
};

/** The source of names, lines and loops: profile/structures.h for real experiments, a table in
 * tests. */
struct sn_resolver {
	void *context;
	/** Called once with all addresses of a module, so that each unit's debug information is
	 * read once. May be NULL. */
	void (*prepare)(void *context, uint32_t module, const uint64_t *link_addrs, size_t count);
	/** Resolves an address. False, with nothing written, where nothing is known. `process` (an
	 * index) tells generated code of several processes at one address apart; for files any
	 * process that uses it may be named. */
	bool (*resolve)(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			struct sn_resolved *out);
};

struct sn_program_function {
	const char *name;	  /* demangled; "[libfoo.so]" for addresses that nothing names */
	const char *linkage_name; /* never NULL */
	const char *file;	  /* of the declaration; NULL: unknown */
	uint32_t line;		  /* 0: unknown */
	uint32_t module;	  /* SN_NONE: samples without a stack */
	uint64_t link_addr;	  /* entry of its own body; 0: only inlined copies were seen */
	bool is_named;
};

/** A loop that samples met, with its place in the program. `code` has its attributes. */
struct sn_program_loop {
	const struct sn_loop *code; /* never NULL; with the function that holds it */
	uint32_t module, function;  /* the function that it was written in, inlined or not */
	uint32_t parent;	    /* enclosing loop or SN_NONE */
	uint32_t source_loop;	    /* equal for peel, main and tail; below source_loop_count */
	bool busy_waits;	    /* code/busy_wait.h */
};

/** A source line within a function; `line` 0 and `file` NULL where nothing is known. */
struct sn_program_line {
	uint32_t function;
	const char *file;
	uint32_t line;
};

enum sn_step_kind { SN_STEP_FUNCTION, SN_STEP_LOOP };

struct sn_step {
	uint32_t kind;	/* enum sn_step_kind */
	uint32_t index; /* function or loop */
	uint32_t line;	/* index into lines: where control is in this function or loop's function */
};

struct sn_program_place {
	uint32_t module;
	uint32_t process;   /* the first that was seen there; of generated code the only one */
	uint64_t link_addr; /* as looked up: for return addresses one byte before */
	uint32_t first_step, step_count;
	uint32_t function; /* innermost, inlined ones included */
	uint32_t loop;	   /* innermost, SN_NONE: none */
	uint32_t line;	   /* of the innermost function */
};

struct sn_program {
	struct sn_arena arena;
	const struct sn_experiment *experiment; /* borrowed */
	SN_VEC(struct sn_program_function) functions;
	SN_VEC(struct sn_program_loop) loops;
	SN_VEC(struct sn_program_line) lines;
	SN_VEC(struct sn_program_place) places;
	SN_VEC(struct sn_step) steps; /* of all places */
	/* stack s has the places frame_places[first_frame[s] .. first_frame[s + 1]), leaf first;
	 * the last stack, number stack_count, stands for samples without one */
	uint32_t stack_count;
	size_t *first_frame;
	uint32_t *frame_places;
	struct sn_map loop_of_code; /* address of a struct sn_loop -> index in loops */
	uint32_t source_loop_count;
	struct sn_class *classes; /* by stack, stack_count + 1 (category.h) */
	enum sn_module_class *module_classes;
	uint32_t no_stack_function;
};

/** Resolves every stack of the experiment, which is borrowed and must outlive the result, as must
 *  the resolver. */
struct sn_program *sn_program_new(const struct sn_experiment *experiment,
				  const struct sn_resolver *resolver);
void sn_program_free(struct sn_program *program);

/** The program's number of a loop of the code; SN_NONE: no sample met it. */
uint32_t sn_program_loop_of(const struct sn_program *program, const struct sn_loop *code);
/** The number of the loop with this whole id, by which evidence from other runs names a loop.
 * SN_NONE: no sample met it. */
uint32_t sn_program_loop_with_id(const struct sn_program *program, const char *id);

/** Whether a sample is user time left at a thread's exit, of which no stack is known. */
static inline bool sn_program_is_rest(const struct sn_program *program,
				      const struct sn_sample *sample)
{
	return (sample->flags & (SN_SAMPLE_REMAINDER | SN_SAMPLE_SYSTEM)) == SN_SAMPLE_REMAINDER &&
	       sample->stack >= program->stack_count;
}

/** The place of the leaf of a stack (0 .. stack_count). */
static inline const struct sn_program_place *sn_program_leaf(const struct sn_program *program,
							     uint32_t stack)
{
	return &program->places.items[program->frame_places[program->first_frame[stack]]];
}

/** Whether a stack has all its callers: it was walked to its end, or its outermost function is one
 * that a runtime calls from nowhere (Go's scheduler starts on stacks of its own). */
bool sn_program_stack_is_whole(const struct sn_program *program, uint32_t stack);

/** The steps of a stack, outermost first, into a vector that is cleared before. */
struct sn_step_vec {
	struct sn_step *items;
	size_t count, capacity;
};
void sn_program_stack_steps(const struct sn_program *program, uint32_t stack,
			    struct sn_step_vec *steps);

/** Base name of a module for people; "[none]" for SN_NONE. */
const char *sn_program_module_name(const struct sn_program *program, uint32_t module);

#endif
