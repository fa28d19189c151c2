/**
 * The names that users give code and progress points: choices of --target, and places in one file of
 * machine code.
 */
#ifndef SN_CAUSAL_NAMES_H
#define SN_CAUSAL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "code/image.h"
#include "code/structure.h"

enum sn_causal_choice_kind {
	SN_CAUSAL_CHOICE_NAME, /* one piece of code, by name */
	SN_CAUSAL_CHOICE_LOCK, /* by the name of the lock's variable */
	/* the hottest of them */
	SN_CAUSAL_CHOICE_LOOPS,
	SN_CAUSAL_CHOICE_FUNCTIONS,
	SN_CAUSAL_CHOICE_LINES,
	SN_CAUSAL_CHOICE_REGIONS,
};

/** One word of --target. */
struct sn_causal_choice {
	enum sn_causal_choice_kind kind;
	const char *name; /* borrows the word */
	size_t count;	  /* of the hottest; 1 to 1024 */
};

/** The next word of a list, NULL: there is none. Words end at commas, but not at those within the brackets of a name ("f(int, char)",
 *  "g<a, b>", "<code at 0x10, after h>"). Cuts the text at `next`, and moves that on. */
char *sn_causal_next_word(char **next);

/** "loops", "loops:3", "lock:NAME", or a name. SN_ERR_USAGE: a number that is none, or no name behind
 *  "lock:". */
sn_status sn_causal_choice_parse(const char *word, struct sn_causal_choice *out,
				 struct sn_error *err);

/** How a function goes by a name; the higher, the better. */
enum sn_causal_match {
	SN_CAUSAL_NO_MATCH,
	SN_CAUSAL_CLONE, /* a compiler's copy: "f.constprop.0", ".isra.0", ".part.0" of "f" */
	SN_CAUSAL_MATCH, /* its own, the linker's, or its own up to the parameters */
};
/** `linkage`: as the linker has it; NULL: unknown. */
enum sn_causal_match sn_causal_function_match(const char *own, const char *linkage,
					      const char *name);
/** The part of a function's name ("a::b<c::d>::f(int)") that has no scopes ("f"), and its length. */
const char *sn_causal_unscoped(const char *own, size_t *length);

/** Whether the name is a loop's rank in a profile: "#3". */
bool sn_causal_is_rank(const char *name);

/** Whether FILE:LINE (or a loop's label, FILE:FIRST-LAST) names this line: FILE is how its path ends. */
bool sn_causal_is_line(const char *file, uint32_t line, const char *name);
/** Whether the name has a colon and a number behind it. */
bool sn_causal_looks_like_line(const char *name);

/** What a file's line tables have of FILE:LINE. Begins as zeros; several structures may add to it. */
struct sn_causal_line_search {
	uint64_t lowest_link_addr; /* of the line's code; 0: it has none */
	uint32_t nearest_line;	   /* of this file that has code; 0: no such file */
	const char
		*nearest_file; /* the base name that FILE is perhaps a misspelling of; NULL: none */
};
void sn_causal_line_find(struct sn_structure *structure, const char *name,
			 struct sn_causal_line_search *search);

/** The link address of a place: a function's entry, or the lowest of a line; 0: there is none. */
uint64_t sn_causal_place_find(struct sn_structure *structure, const char *name);

/** Whether a data symbol is the variable of this name. */
bool sn_causal_is_variable(const struct sn_symbol *symbol, const char *name);

#endif
