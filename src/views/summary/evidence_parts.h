/** Between the files of the evidence. */
#ifndef SN_VIEWS_EVIDENCE_PARTS_H
#define SN_VIEWS_EVIDENCE_PARTS_H

#include "views/summary/evidence.h"

/** The part of the evidence on time off CPUs: pauses, waiting for a CPU, own workers. It comes
 * last, as it needs the CPU time by kind. */
void sn_evidence_find_time(struct sn_summary *summary, struct sn_evidence *out);
/** What a wait is for: enum sn_pause, or SN_PAUSES for one's own threads. */
int sn_evidence_pause_of(const struct sn_program *program, uint32_t stack, uint32_t kind);
/** summary/teams.c: the waiting for a CPU that fewer threads would not have had, of threads that
 * wait for each other at barriers and are more than the CPUs. `largest`: of such a process. */
double sn_evidence_team_wait_s(const struct sn_summary *summary, unsigned cpus, bool has_openmp,
			       size_t *largest);
/** What a stack in MPI waits for, if it waits. */
enum sn_mpi_call {
	SN_MPI_CALL_NONE,  /* no call of the program: a daemon, a thread of the library's own */
	SN_MPI_CALL_RANKS, /* other ranks */
	SN_MPI_CALL_START, /* MPI itself: MPI_Init, MPI_Init_thread, MPI_Finalize */
};
/** summary/mpi_calls.c. */
enum sn_mpi_call sn_mpi_call_of(const struct sn_program *program, uint32_t stack);
/** summary/mpi_calls.c: in which calls of MPI the threads at work wait most: asleep
 * (`pauses[SN_PAUSE_MPI]` and `SN_PAUSE_MPI_START`), asleep and actively (`mpi`). */
void sn_evidence_find_mpi_calls(struct sn_summary *summary, struct sn_evidence *out);
/** summary/mpi.c: waiting for other ranks, where MPI was traced. */
void sn_evidence_find_mpi(struct sn_summary *summary, struct sn_evidence *out);
/** summary/traced.c: whom waiters wait for, where locks were traced. */
void sn_evidence_find_locks(struct sn_summary *summary, struct sn_evidence *out);
/** summary/traced.c: what most of the time of input and output went to, where it was traced. */
void sn_evidence_find_io(struct sn_summary *summary, struct sn_evidence *out);
/** summary/openmp.c: which region's threads wait most, where OpenMP was traced. */
void sn_evidence_find_openmp(struct sn_summary *summary, struct sn_evidence *out);

#endif
