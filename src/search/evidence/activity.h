/**
 * What a stack's thread was doing in the runtimes of OpenMP and MPI, by construct and kind of call.
 */
#ifndef SN_SEARCH_EVIDENCE_ACTIVITY_H
#define SN_SEARCH_EVIDENCE_ACTIVITY_H

#include "search/evidence/recorded.h"

enum sn_activity sn_activity_of(const struct sn_program *program, struct sn_structures *structures,
				uint32_t stack);

/** Whether the call that a frame of the program is in starts a parallel region (a return address, by
 *  the call in front of it). */
bool sn_starts_parallel(const struct sn_program *program, struct sn_structures *structures,
			const struct sn_program_place *place);

/** The linkage name of what the call in front of this return address calls (profile/outlined.h); NULL: not known. */
const char *sn_place_called(struct sn_structures *structures, const struct sn_program_place *place);

/** Whether a function divides the iterations of its loops among a team; true where its code is not known. */
bool sn_shares_out_loops(const struct sn_structure *structure, const struct sn_function *function);

/** The kind of an MPI function by its name: "MPI_Allreduce", "PMPI_Recv", "mpi_bcast_". */
enum sn_activity sn_activity_of_mpi(const char *name);
/** The kind of an entry point of an OpenMP runtime: "GOMP_barrier", "__kmpc_critical". */
enum sn_activity sn_activity_of_openmp(const char *name);

#endif
