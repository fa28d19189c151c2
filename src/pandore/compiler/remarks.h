/**
 * Remarks on loop nests: those that are not divided, that send more than twice what they need, or
 * that run element by element. Each has a line and a reason.
 */
#ifndef SN_PANDORE_COMPILER_REMARKS_H
#define SN_PANDORE_COMPILER_REMARKS_H

#include "pandore/compiler/compile.h"

struct sn_predictor;
struct sn_pnd_phase;

enum sn_pnd_remark_code {
	SN_REMARK_NAIVE = 1,   /* the nest is translated statement by statement */
	SN_REMARK_UNDIVIDED,   /* every node, or a single one, runs all iterations */
	SN_REMARK_SURPLUS,     /* more than twice the needed bytes are sent */
	SN_REMARK_SERIAL,      /* divided, but one node works after the other */
	SN_REMARK_ELEMENTWISE, /* a message for each iteration of an innermost loop */
};

/** "naive", "undivided", "surplus", "serial", "elementwise". */
const char *sn_pnd_remark_kind(int code);

/** Adds the remarks on a phase to `out` and to the program's findings. The messages of the phase must
 * have been predicted. */
void sn_pnd_find_remarks(struct sn_predictor *p, const struct sn_pnd_phase *ph,
			 struct sn_pnd_result *out);

#endif
