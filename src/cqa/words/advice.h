/**
 * What to change about a loop, in words: each piece of advice names its evidence and what it may
 * gain.
 */
#ifndef SN_CQA_ADVICE_H
#define SN_CQA_ADVICE_H

#include "cqa/loop/loop.h"

/** How sure advice is, from "the model shows the gain" to "for those who know the core". */
enum sn_confidence { SN_ADVICE_GAIN, SN_ADVICE_POTENTIAL, SN_ADVICE_HINT, SN_ADVICE_EXPERT };

/** "gain", "potential", "hint", "expert". */
const char *sn_confidence_name(enum sn_confidence confidence);

struct sn_advice {
	enum sn_confidence confidence;
	const char *subject;  /* "vectorize", one word or two, stable */
	const char *sentence; /* what to do and why, in the arena */
	const char *evidence; /* the figures it rests on, in the arena */
	/* of the loop if it works out as modelled, NaN: not known; with all data in L1, and with
	 * all data in RAM, which no code brings nearer */
	double speedup, sure_speedup;
	/* at most, where the model cannot tell how much more than `speedup` it is; 0: it can */
	double most_speedup;
};

typedef SN_VEC(struct sn_advice) sn_advice_list;

/** The upper end of what advice may gain; NaN: not known. */
double sn_advice_most(const struct sn_advice *advice);

/** Adds the advice for a loop: the most certain grade first, then by what is sure, then by gain.
 * Texts are in the result's arena. */
void sn_cqa_advise(const struct sn_machine *machine, struct sn_cqa_loop *result,
		   sn_advice_list *out);

#endif
