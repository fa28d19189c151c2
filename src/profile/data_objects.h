/**
 * What lies at an address of a process's data: a variable of a module by its debug information or its symbols, a
 * section of one without, or memory of no file (heap, stack, mappings).
 */
#ifndef SN_PROFILE_DATA_OBJECTS_H
#define SN_PROFILE_DATA_OBJECTS_H

#include <stdint.h>

#include "code/held.h"
#include "experiment/experiment.h"

struct sn_variable;

struct sn_data_objects;

enum sn_data_object_kind {
	SN_DATA_VARIABLE,
	SN_DATA_SECTION,
	SN_DATA_MEMORY,
	SN_DATA_HEAP, /* for who knows blocks: sn_data_object_at does not */
};

struct sn_data_object {
	enum sn_data_object_kind kind;
	const char *name;		    /* "table", ".bss"; "memory" for memory of no file */
	const char *type;		    /* of a variable, for people; else NULL */
	const char *module;		    /* base name; NULL: none */
	const struct sn_variable *variable; /* NULL: no debug information has it */
	uint64_t address;		    /* of a variable's begin, in the process */
	/* bytes around the address, both inclusive, that have the same answer; there may be more */
	uint64_t first_address, last_address;
};

/** Reads modules as addresses meet them: their files as they are here now, where these are the ones that ran. The
 *  experiment is borrowed. */
struct sn_data_objects *sn_data_objects_new(const struct sn_experiment *experiment);
void sn_data_objects_free(struct sn_data_objects *objects);

/** The block of a thread's own variables of the program, and what lies in it: `found` becomes a variable, or a section
 *  where no debug information names one. False: the address lies in none that is known (struct sn_thread,
 *  thread_pointer); `first` and `last` become addresses around it that do not, either. Texts as below. */
bool sn_data_thread_local_at(struct sn_data_objects *objects, uint32_t process, uint64_t address,
			     struct sn_data_object *found, uint64_t *first, uint64_t *last);

/** The variable that holds the pointer which a call of a module returned (code/held.h), the address behind the call as
 *  linked. Its name is in the arena. */
struct sn_held sn_data_held(struct sn_data_objects *objects, uint32_t module,
			    uint64_t return_link_addr, struct sn_arena *arena);

/** Texts live as long as `objects`. */
struct sn_data_object sn_data_object_at(struct sn_data_objects *objects, uint32_t process,
					uint64_t address, int64_t time_ns);

/** The program of a process, if its file here is not the one that ran, so that nobody can tell its data from the heap;
 *  else NULL. */
const char *sn_data_program_replaced(struct sn_data_objects *objects, uint32_t process);

#endif
