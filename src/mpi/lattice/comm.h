/** Who sent what to whom in a program of MPI, as the profile that `sonde comm` reads of Pandore programs. */
#ifndef SN_MPI_LATTICE_COMM_H
#define SN_MPI_LATTICE_COMM_H

#include "mpi/mpi.h"
#include "pandore/profiler/comm.h"
#include "profile/program.h"

/**
 * Nodes are ranks; variables are the functions that sent and received, or their call paths ("main / solve / exchange"). A broadcast counts once a receiver. Waiting is that of
 * the receiver for this message. Collective operations but broadcasts are not in it, as what they send to whom is the
 * library's choice. SN_ERR_NO_DATA: MPI was not traced.
 */
sn_status sn_mpi_comm_profile_of(const struct sn_program *program, const struct sn_mpi *mpi,
				 bool by_path, struct sn_comm_profile **out, struct sn_error *err);

#endif
