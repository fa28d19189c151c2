/**
 * Where a place of the source is in the code of a file. Inlined copies, versions of a loop and clones of a function are
 * one place of the source, so all of them bound a phase.
 */
#ifndef SN_SEARCH_ONLINE_PLACES_H
#define SN_SEARCH_ONLINE_PLACES_H

#include "base/text.h"
#include "base/vec.h"
#include "code/structure.h"
#include "wire/monitor.h"

struct sn_place {
	uint64_t link_addr;
	const struct sn_function *function; /* the concrete one, which the copy is in */
	int32_t inline_index;		    /* of the copy's innermost subroutine, -1: none */
	const struct sn_loop *loop;	    /* innermost; NULL: none */
	const char *file;		    /* NULL: unknown */
	uint32_t line;			    /* 0: unknown */
};

struct sn_places {
	SN_VEC(struct sn_place) items;
	size_t unwatchable; /* copies that have no instruction which is passed once an execution */
};

/** A function by its name, with or without parameters, or by its linkage name: entries, and beginnings of inlined
 *  copies. Texts live as long as the structure. The caller frees `items` with sn_vec_free, here and below. */
void sn_places_of_function(struct sn_structure *structure, const char *name, struct sn_places *out);
/** A loop that begins at this line of a file whose path ends in these `length` bytes: headers. Where none does, the
 *  instruction that each execution of the line passes first, or the first ones of alternatives, in each copy; in the innermost
 *  loop around it, as others were moved out of that. The structure is to be prepared. */
void sn_places_of_line(const struct sn_structure *structure, const char *file, size_t length,
		       uint32_t line, struct sn_places *out);
/** FUNCTION+0xOFFSET: a loop by its label, or what begins a line, a loop or a block there. */
void sn_places_of_label(struct sn_structure *structure, const char *label, struct sn_places *out);

/** Every name of a function, of inlined copies too, as the file has it: with parameters where it has them. */
void sn_places_names_see(const struct sn_structure *structure,
			 void (*see)(const char *name, void *context), void *context);
/** Every source file of a row of lines, by its path; often again and again. */
void sn_places_files_see(const struct sn_structure *structure,
			 void (*see)(const char *file, void *context), void *context);

/** Whether they are of two functions, or of lines of two files, that only have the same name. */
bool sn_places_are_several(const struct sn_places *places);
/** "main+0x1a0". */
void sn_place_add_label(const struct sn_place *place, struct sn_text *out);
/** The line nearest to one of the file that can be watched, SN_MONITOR_PLACES_MAX places at most: one that is passed in each
 *  iteration of the loop that the line is in, or begins, if there is one. False: there is none. */
bool sn_places_nearest(const struct sn_structure *structure, const char *file, size_t length,
		       uint32_t line, struct sn_place *out);

#endif
