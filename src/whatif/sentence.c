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
	const char *sentence; /* NULL: there is none */
	const char *by;	      /* whose figures these are */
	double sure, most;    /* of the program */
	double loop_sure, loop_most;
	bool has_gain, is_doubtful;
};

#define HINT_SHARE 0.02

static bool is_better(const struct hint *a, const struct hint *b)
{
	if (!b->sentence)
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

/* What another loop than the hottest promises the program at least: for sure, or at best. */
#define OTHER_SURE 1.005
#define OTHER_MOST 1.05

/* Advice without such a promise is worth something on the hottest loop only. */
static bool is_worth_it(const struct hint *hint, size_t loops_before)
{
	return !loops_before || hint->sure >= OTHER_SURE || hint->most >= OTHER_MOST;
}

static void take_static(const struct sn_whatif_loop *loop, size_t loops_before, struct hint *best)
{
	for (size_t k = 0; k < loop->advice.count; k++) {
		const struct sn_advice *advice = &loop->advice.items[k];
		bool has_gain = !isnan(advice->speedup);
		struct hint hint = {
			.loop = loop,
			.sentence = advice->sentence,
			.by = "By the model",
			.sure = has_gain ? sn_amdahl(loop->user_share, advice->sure_speedup) : 1,
			.most = has_gain ? sn_amdahl(loop->user_share, advice->speedup) : 1,
			.loop_sure = advice->sure_speedup,
			.loop_most = sn_advice_most(advice),
			.has_gain = advice->speedup > 1.005,
			.is_doubtful = loop->doubts != 0,
		};

		if (!is_hint(loop, advice) || !is_worth_it(&hint, loops_before) ||
		    is_all_in_doubt(loop, advice) || !is_better(&hint, best))
			continue;
		*best = hint;
		if (has_gain)
			best->most = sn_amdahl(loop->user_share, hint.loop_most);
	}
}

/* Where variants were timed their figures bound the model's. */
static void take_judged(const struct sn_judged_loop *judged, size_t loops_before, struct hint *best)
{
	for (size_t k = 0; k < judged->evidence.advice.count; k++) {
		const struct sn_loop_advice *advice = &judged->evidence.advice.items[k];
		bool has_gain = !isnan(advice->program_range.high);
		struct hint hint = {
			.loop = judged->loop,
			.sentence = advice->sentence,
			.by = strcmp(advice->grade, "measured") ? "Within what was measured"
								: "As measured",
			.sure = has_gain ? advice->program_range.low : 1,
			.most = has_gain ? advice->program_range.high : 1,
			.loop_sure = advice->range.low,
			.loop_most = advice->range.high,
			.has_gain = has_gain && advice->range.high > 1.005,
		};

		if (!strcmp(advice->grade, "expert") || !strcmp(advice->subject, "debug lines") ||
		    judged->loop->user_share < HINT_SHARE || !is_worth_it(&hint, loops_before) ||
		    (!strcmp(advice->subject, "dependence") && hint.sure < 1.005))
			continue;
		if (is_better(&hint, best))
			*best = hint;
	}
}

const struct sn_whatif_loop *sn_whatif_hint(const struct sn_whatif *w,
					    const struct sn_judged *judged, struct sn_text *out)
{
	char loop[SN_SPEEDUP_TEXT], program[SN_SPEEDUP_TEXT];
	struct hint hint = { 0 };

	for (size_t i = 0; i < w->loops.count && i < SN_WHATIF_HINT_LOOPS; i++) {
		const struct sn_judged_loop *of = sn_judged_of(judged, w->loops.items[i].loop);

		if (of && of->loop)
			take_judged(of, i, &hint);
		else
			take_static(&w->loops.items[i], i, &hint);
	}
	if (!hint.sentence)
		return NULL;
	sn_text_addf(out, "%s (loop #%zu): %s",
		     w->profile->program->loops.items[hint.loop->loop].code->label, hint.loop->rank,
		     hint.sentence);
	if (hint.has_gain)
		sn_text_addf(out, " %s %s for the loop, %s for the program%s.", hint.by,
			     sn_speedup_print(hint.loop_sure, hint.loop_most, loop),
			     sn_speedup_print(hint.sure, hint.most, program),
			     hint.is_doubtful ? ", with doubts" : "");
	return hint.loop;
}
