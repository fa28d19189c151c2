/**
 * Inserted heartbeats: which there are, and what each thread knows of their open beats.
 *
 * A beat may be left without its end, by an exception or longjmp. So a thread keeps of every open beat a stack pointer that
 * is the same at its begin and at its end: those that lie below where the thread is now have been left.
 */
#ifndef SN_RUNTIME_INSERT_INSERT_H
#define SN_RUNTIME_INSERT_INSERT_H

#include <pthread.h>
#include <stdint.h>

#include "sonde/heartbeat.h"
#include "wire/plan.h"

enum { INSERT_SHALLOW = 4, INSERT_MODULES_MAX = 64 };

/** A heartbeat of a plan, by its index in the process. */
struct insert_beat {
	const char *name;	    /* in the plan */
	sonde_heartbeat *heartbeat; /* atomic; NULL until it beats first */
	uint32_t every;
};

/** A module that has heartbeats. */
struct insert_module {
	struct sn_plan plan;
	uint64_t load_bias, code;
};

/** Of one thread and heartbeat. */
struct insert_state {
	sonde_heartbeat *heartbeat; /* NULL: not used yet */
	uint64_t *stack_pointers;   /* of the open beats */
	uint32_t depth, capacity;
	uint32_t deepest; /* so deep the library has had all memory that it needs */
	uint32_t reserved;
	uint64_t
		busy; /* the frame that is at work here, 0: none. A signal's handler in between keeps off */
	uint64_t shallow[INSERT_SHALLOW];
};

struct insert_globals {
	struct insert_beat beats[SN_PLAN_LOOPS_MAX];
	uint32_t count;	    /* of those that are there; more may come */
	uint32_t capacity;  /* for which threads have room */
	pthread_key_t key;  /* gives back what a thread has */
	uint64_t save_mask; /* of XSAVE; 0: there is none, FXSAVE */
	struct insert_module modules[INSERT_MODULES_MAX];
	uint32_t module_count; /* atomic */
};
extern struct insert_globals insert_globals;

/** A function that gives back every register as it was: the inserted code saves none. */
#define INSERT_KEEPS __attribute__((no_caller_saved_registers))

/** Called by the inserted code, with the heartbeat's index and the beat's stack pointer. */
INSERT_KEEPS void insert_begin(uint64_t index, uint64_t stack_pointer);
INSERT_KEEPS void insert_end(uint64_t index, uint64_t stack_pointer);
INSERT_KEEPS void insert_next(uint64_t index, uint64_t stack_pointer);
/** An exception leaves the frame whose beat is the newest. */
INSERT_KEEPS void insert_left(uint64_t index, uint64_t stack_pointer);
/** An exception has come to the frame at `stack_pointer`: the beats of those that it left end. */
INSERT_KEEPS void insert_caught(uint64_t index, uint64_t stack_pointer);

/** Of a thread in the inserted code: where it would be in the program. For sonde's runtime, in handlers. */
void insert_translate(uint64_t *pc, uint64_t *stack_pointer);

/** Sonde's runtime, where it records this program as well: from now on code in these bytes is as `translate` says. */
void sonde_stack_copies(uint64_t start, uint64_t bytes,
			void (*translate)(uint64_t *pc, uint64_t *stack_pointer))
	__attribute__((weak, visibility("default")));

/** The end of a thread; `states` are its struct insert_state. */
void insert_thread_exit(void *states);

#endif
