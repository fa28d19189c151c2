/** Between the files of the evidence. */
#ifndef SN_PROFILE_EVIDENCE_PARTS_H
#define SN_PROFILE_EVIDENCE_PARTS_H

#include "profile/evidence.h"

/** The part of the evidence that tells time off CPUs: pauses, waiting for a CPU, own workers. Comes
 * last: it needs the CPU time by kind. */
void sn_evidence_find_time(struct sn_summary *summary, struct sn_evidence *out);

#endif
