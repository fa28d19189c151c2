/**
 * Where else a place of the program can be watched, if a breakpoint at itself would slow hot code.
 */
#ifndef SN_CAUSAL_ELSEWHERE_H
#define SN_CAUSAL_ELSEWHERE_H

#include <stddef.h>

#include "code/structure.h"

/**
 * Up to `most` link addresses in `out` of instructions that are reached as often as `place`, and in lines of 64 bytes other
 * than its own, nearest first: later ones of its block, up to a call, and where `place` is a function's entry to which nothing
 * but one call or jump of the file refers, that. Only of the program's own file (`is_program`): a library's functions are called
 * from elsewhere. What refers to it by data (a table of functions) is not seen.
 */
size_t sn_causal_places_elsewhere(struct sn_structure *structure, uint64_t place, bool is_program,
				  uint64_t *out, size_t most);

#endif
