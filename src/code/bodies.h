/**
 * Bodies that clang before 16 outlines from OpenMP constructs and names after nothing: ".omp_outlined.",
 * ".omp_outlined._debug__.3". One belongs to the function of its file that is declared last before it.
 * Instances of a template are declared at the same line: what all of them are called is known.
 */
#ifndef SN_CODE_BODIES_H
#define SN_CODE_BODIES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "base/vec.h"

struct sn_body_writer {
	const char *name, *plain; /* for linkers, and as in the source; of libdw */
	const char *file;	  /* of libdw */
	uint32_t line;
};

/** The functions of the unit that was asked for last. Begins zeroed; free `items`. */
struct sn_body_writers {
	void *unit;
	SN_VEC(struct sn_body_writer) items;
};

/** Whether it is such a name. NULL is none. */
bool sn_is_nameless_body(const char *name);
/** Adds what clang 16 and later would call it, "f.omp_outlined_debug__.3" of ".omp_outlined._debug__.3" in "f". False: the
 * name is another one, or nobody knows where it was written. */
bool sn_body_name(struct sn_body_writers *writers, Dwarf_Die *body, const char *name,
		  struct sn_text *out);

#endif
