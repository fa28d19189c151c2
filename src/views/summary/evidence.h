/**
 * The figures that the verdict stands on, taken from a summary: which part of CPU time is work, and
 * which part of the time off CPUs anyone could win back.
 */
#ifndef SN_VIEWS_EVIDENCE_H
#define SN_VIEWS_EVIDENCE_H

#include "views/summary/summary.h"
#include "views/summary/verdict.h"
#include "whatif/judged.h"

/** Takes the evidence from a summary whose accounts, loops, functions and waits are there. Texts are the program's, or
 * lie in the summary's arena. `machine`: whose static model is asked, or NULL. */
void sn_evidence_find(struct sn_summary *summary, const struct sn_machine *machine,
		      const struct sn_judged *judged, uint32_t hint_loop, struct sn_evidence *out);

#endif
