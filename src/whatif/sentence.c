/* What the program would gain, and what to do first: the sentences that every page repeats. */
#include "whatif/sentence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"

bool sn_whatif_promises(const struct sn_whatif *w)
{
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		if (w->variants[v].speedup >= 1.05)
			return true;
	return false;
}

/* What to do first: the most that is sure to be gained of the program, then the most that may be.
 */
struct hint {
	const struct sn_whatif_loop *loop;
	const struct sn_advice *advice;
	double sure, most;
};

#define HINT_SHARE 0.02

static bool is_better(const struct hint *a, const struct hint *b)
{
	if (!b->advice)
		return true;
	/* what does not show in print is no difference: the hotter loop comes first */
	if (fabs(a->sure - b->sure) >= 0.005)
		return a->sure > b->sure;
	return a->most >= b->most + 0.005;
}

/* Advice that brings time: to compile with -g brings names, which the summary tells apart. */
static bool is_hint(const struct sn_whatif_loop *loop, const struct sn_advice *advice)
{
	return advice->confidence <= SN_ADVICE_HINT &&
	       strcmp(advice->subject, "debug lines") != 0 && loop->user_share >= HINT_SHARE &&
	       !(loop->doubts & ~(unsigned)(SN_DOUBT_CALLS | SN_DOUBT_ESTIMATED));
}

/* Whether nothing is left of the gain when the data are far away (a list that is walked through
 * RAM). Such advice is not put first. */
static bool is_all_in_doubt(const struct sn_whatif_loop *loop, const struct sn_advice *advice)
{
	return strcmp(advice->subject, "dependence") == 0 &&
	       sn_amdahl(loop->user_share, advice->sure_speedup) < 1.005;
}

static struct hint find_hint(const struct sn_whatif *w)
{
	struct hint best = { 0 };

	for (size_t i = 0; i < w->loops.count && i < SN_WHATIF_HINT_LOOPS; i++) {
		const struct sn_whatif_loop *loop = &w->loops.items[i];

		for (size_t k = 0; k < loop->advice.count; k++) {
			const struct sn_advice *advice = &loop->advice.items[k];
			bool has_gain = !isnan(advice->speedup);
			struct hint hint = {
				.loop = loop,
				.advice = advice,
				.sure = has_gain ? sn_amdahl(loop->user_share, advice->sure_speedup)
						 : 1,
				.most = has_gain ? sn_amdahl(loop->user_share, advice->speedup) : 1,
			};

			if (is_hint(loop, advice) && !is_all_in_doubt(loop, advice) &&
			    is_better(&hint, &best))
				best = hint;
		}
	}
	return best;
}

const struct sn_whatif_loop *sn_whatif_hint(const struct sn_whatif *w, struct sn_text *out)
{
	struct hint hint = find_hint(w);
	char loop[SN_SPEEDUP_TEXT], program[SN_SPEEDUP_TEXT];

	if (!hint.advice)
		return NULL;
	sn_text_addf(out, "%s (loop #%zu): %s",
		     w->profile->program->loops.items[hint.loop->loop].code->label, hint.loop->rank,
		     hint.advice->sentence);
	if (hint.advice->speedup > 1.005)
		sn_text_addf(out, " By the model %s for the loop, %s for the program%s.",
			     sn_speedup_print(hint.advice->sure_speedup,
					      sn_advice_most(hint.advice), loop),
			     sn_speedup_print(
				     hint.sure,
				     sn_amdahl(hint.loop->user_share, sn_advice_most(hint.advice)),
				     program),
			     hint.loop->doubts ? ", with doubts" : "");
	return hint.loop;
}
