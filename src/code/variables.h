/**
 * Variables of a module as its DWARF has them: name, type, size, place and scope.
 *
 * Globals, file-scope and function-scope statics, members of Fortran modules and COMMON blocks have
 * a link address; locals and parameters have the function that they live in. One reader for all
 * who attribute accesses to data.
 */
#ifndef SN_CODE_VARIABLES_H
#define SN_CODE_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct sn_image;

enum sn_variable_scope {
	SN_VARIABLE_GLOBAL, /* visible to other files, C++ namespaces and classes included */
	SN_VARIABLE_STATIC, /* of a file, or of a function that keeps it */
	SN_VARIABLE_MODULE, /* of a Fortran module */
	SN_VARIABLE_COMMON, /* of a Fortran COMMON block */
	SN_VARIABLE_LOCAL,
	SN_VARIABLE_PARAMETER,
};

/** What a type is, of an array what its elements are. */
enum sn_variable_kind {
	SN_VARIABLE_INTEGER,
	SN_VARIABLE_REAL,
	SN_VARIABLE_COMPLEX,
	SN_VARIABLE_LOGICAL,
	SN_VARIABLE_CHARACTER,
	SN_VARIABLE_POINTER,
	SN_VARIABLE_STRUCTURE, /* struct, class, union, Fortran's derived types */
	SN_VARIABLE_OTHER,
};

enum { SN_VARIABLE_RANK_MAX = 15 };

struct sn_variable {
	const char *name;
	const char *container;	     /* the COMMON block, Fortran module or namespace; NULL: none */
	const char *function;	     /* the function that it is declared in; NULL: none */
	uint64_t function_link_addr; /* its entry; 0: unknown, or only inlined */
	const char *file;	     /* of the declaration; NULL: unknown */
	uint32_t line;
	uint8_t scope;		/* enum sn_variable_scope */
	uint8_t kind;		/* enum sn_variable_kind */
	const char *type;	/* for people: "double [512][512]", "struct node *"; never NULL */
	uint64_t size_bytes;	/* 0: not known when it was compiled */
	uint64_t element_bytes; /* of an array; else size_bytes */
	uint64_t element_count; /* of an array; else 1; 0: not known */
	uint32_t rank; /* dimensions, slowest first as the language writes them; 0: no array */
	uint64_t extents[SN_VARIABLE_RANK_MAX]; /* 0: not known */
	bool has_link_addr;
	uint64_t link_addr;
};

struct sn_variables {
	struct sn_arena arena;
	SN_VEC(struct sn_variable) items; /* those with an address first, by it; then by function */
	size_t addressed;		  /* how many have one */
	/* of which each thread has its own, by place: link_addr is the offset in its block of them; they are
	 * not among the others */
	SN_VEC(struct sn_variable) thread_locals;
};

/** Reads all variables. SN_ERR_NO_DATA if the file has no debug information. Damaged DWARF gives
 *  fewer of them. */
sn_status sn_variables_read(struct sn_image *image, struct sn_variables **out,
			    struct sn_error *err);
void sn_variables_free(struct sn_variables *variables);

/** The variable that holds a link address, of a COMMON block its member; NULL: none. */
const struct sn_variable *sn_variables_at(const struct sn_variables *variables, uint64_t link_addr);
/** The same of thread_locals, by the offset. */
const struct sn_variable *sn_variables_thread_local_at(const struct sn_variables *variables,
						       uint64_t offset);

#endif
