/**
 * Which variable holds the pointer that a call returns: an array of the heap by its name in the source.
 *
 * The code behind the call is followed, past tests for NULL, to where the pointer is stored: to a variable with an address
 * (globals, statics, Fortran modules and their descriptors), or to a local one by its place in DWARF (DWARF 5, 2.6).
 * Members that are reached by a pointer are told where a variable holds that pointer.
 */
#ifndef SN_CODE_HELD_H
#define SN_CODE_HELD_H

#include "base/arena.h"
#include "code/image.h"
#include "code/variables.h"

struct sn_held {
	const char *name; /* "unew", "grid->cells"; NULL: not known. In the arena */
	bool is_returned; /* to the caller, which may hold it for longer */
};

/** `return_link_addr` is where the call returns to. `variables` may be NULL. */
struct sn_held sn_held_find(struct sn_image *image, const struct sn_variables *variables,
			    uint64_t return_link_addr, struct sn_arena *arena);

#endif
