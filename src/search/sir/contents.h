/**
 * What the machine code of a function calls and which variables it names, by loop.
 */
#ifndef SN_SEARCH_SIR_CONTENTS_H
#define SN_SEARCH_SIR_CONTENTS_H

#include "base/vec.h"
#include "code/structure.h"
#include "code/variables.h"

/** A call, or an OpenMP construct that the call of a runtime begins. */
struct sn_sir_call {
	int32_t loop;	      /* innermost, -1: none */
	const char *type;     /* "call", "io", "parallelRegion", "workshareLoop", ... */
	const char *name;     /* what is called, borrowed from the structure */
	uint32_t name_length; /* without "@plt" */
	const char *file;     /* of the line; NULL: unknown */
	uint32_t line;
};

/** A region that may touch a variable. */
struct sn_sir_touch {
	int32_t loop; /* -1: the function's code in no loop */
	uint32_t variable;
};

struct sn_sir_contents {
	SN_VEC(struct sn_sir_call) calls;    /* by address, each once a line and loop */
	SN_VEC(struct sn_sir_touch) touches; /* by loop, each once */
};

/**
 * Reads a function that is prepared. A loop touches what an instruction of it, or of a loop inside,
 * names; and it may touch that of which code around it takes the address, or what lies at its
 * operands' distances from such addresses (members of one COMMON block).
 */
void sn_sir_contents_read(const struct sn_structure *structure, const struct sn_function *function,
			  const struct sn_variables *variables, struct sn_sir_contents *out);
void sn_sir_contents_free(struct sn_sir_contents *contents);

/** The region type of a call by what is called: "parallelBarrier" of "GOMP_barrier", ... */
const char *sn_sir_type_of_call(const char *name, size_t length);

#endif
