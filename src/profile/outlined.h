/**
 * Bodies that compilers outline from OpenMP constructs, and the calls that hand them to a team.
 *
 * The call is the compiler's own, so it has no line of the source. Debug information then counts it to whatever code
 * stands before it: a subroutine that was inlined there, though the construct is written in the function around it.
 * The body's name tells who wrote it: "main._omp_fn.0", "main.omp_outlined".
 */
#ifndef SN_PROFILE_OUTLINED_H
#define SN_PROFILE_OUTLINED_H

#include "profile/program.h"

/** How much of a body's linkage name is the name of the function it was written in; 0: it tells of none
 *  (".omp_outlined."); SIZE_MAX: the name is no body's. */
size_t sn_outlined_stem(const char *linkage_name);

/** Whether a function of this name begins a parallel region: "GOMP_parallel", "__kmpc_fork_call". */
bool sn_is_parallel_start(const char *linkage_name);

/** The linkage name of the function that the call in front of a return address calls (`link_addr` is looked up one
 *  byte before): "GOMP_barrier"; NULL: no direct call of a known function. */
const char *sn_called_name(struct sn_structure *structure, uint64_t link_addr);

/** Where `link_addr` is a call that begins a parallel region: takes inlined scopes away that no body was written in,
 *  down to the one that has a body, with the loops in them, and gives that one the body's line. */
void sn_outlined_scopes(struct sn_structure *structure, uint64_t link_addr,
			struct sn_resolved *resolved);

#endif
