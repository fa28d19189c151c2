/** Between the files of the evidence. */
#ifndef SN_VIEWS_EVIDENCE_PARTS_H
#define SN_VIEWS_EVIDENCE_PARTS_H

#include "views/summary/evidence.h"

/** The part of the evidence on time off CPUs: pauses, waiting for a CPU, own workers. It comes
 * last, as it needs the CPU time by kind. */
void sn_evidence_find_time(struct sn_summary *summary, struct sn_evidence *out);
/** summary/mpi.c: waiting for other ranks, where MPI was traced. */
void sn_evidence_find_mpi(struct sn_summary *summary, struct sn_evidence *out);
/** summary/traced.c: whom waiters wait for, where locks were traced. */
void sn_evidence_find_locks(struct sn_summary *summary, struct sn_evidence *out);
/** summary/traced.c: what most of the time of input and output went to, where it was traced. */
void sn_evidence_find_io(struct sn_summary *summary, struct sn_evidence *out);
/** summary/openmp.c: which region's threads wait most, where OpenMP was traced. */
void sn_evidence_find_openmp(struct sn_summary *summary, struct sn_evidence *out);

#endif
