/* What the summary says of causal experiments, where they were made: what helps most, and the largest part
 * of the CPU time that does not. Both are findings, too. */
#include <math.h>
#include <string.h>

#include "causal/sentence.h"
#include "views/summary/summary.h"

static const struct sn_causal_answer *largest_of_no_use(const struct sn_causal_log *log,
							const struct sn_causal_answers *answers)
{
	const struct sn_causal_answer *best = NULL;

	for (size_t i = 0; i < answers->rows.count; i++) {
		const struct sn_causal_answer *answer = &answers->rows.items[i];

		if (answer->verdict != SN_CAUSAL_NOTHING && answer->verdict != SN_CAUSAL_CONTENDED)
			continue;
		/* that a hundredth of the CPU time brings no more is no finding */
		if (sn_causal_may_bring_its_share(log, answer))
			continue;
		if (!best || log->candidates.items[answer->candidate].cpu_share >
				     log->candidates.items[best->candidate].cpu_share)
			best = answer;
	}
	return best;
}

static const char *words_of(struct sn_arena *arena, const struct sn_causal_log *log,
			    const struct sn_causal_answers *answers,
			    const struct sn_causal_answer *answer)
{
	struct sn_text text = { 0 };
	const char *words;

	sn_causal_sentence(log, answers, answer, &text);
	words = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return words;
}

/* An effect is at stake in the whole run: all threads end sooner. */
static void keep_finding(struct sn_summary *s, const char *sentence, const char *remedy,
			 double effect, enum sn_trust confidence)
{
	s->causal_findings[s->causal_finding_count++] = (struct sn_finding){
		.kind = SN_VERDICT_CAUSAL,
		.confidence = confidence,
		.seconds =
			effect > 0 && s->threads_elapsed_s > 0 ? effect * s->threads_elapsed_s : 0,
		.share = effect,
		.sentence = sentence,
		.remedy = remedy,
	};
}

static void keep_findings(struct sn_summary *s, const struct sn_causal_log *log,
			  const struct sn_causal_answers *answers,
			  const struct sn_causal_answer *helps,
			  const struct sn_causal_answer *no_use)
{
	enum sn_trust confidence = answers->delay_error_share > SN_CAUSAL_DELAYS_OFF_MOST
					   ? SN_TRUST_MEDIUM
					   : SN_TRUST_HIGH;
	const char *first = helps ? log->candidates.items[helps->candidate].name : NULL;

	if (helps)
		keep_finding(s, words_of(&s->arena, log, answers, helps),
			     sn_arena_printf(&s->arena, "Make %s faster first", first),
			     sn_causal_told_point(helps).effect, confidence);
	if (no_use)
		keep_finding(
			s, words_of(&s->arena, log, answers, no_use),
			first ? sn_arena_printf(&s->arena,
						"Leave it as it is; %s is what brings "
						"something",
						first)
			      : "Leave it as it is, and try other code (sonde causal --target)",
			0, confidence);
}

void sn_summary_add_causal(struct sn_summary *s)
{
	const struct sn_causal_answer *first, *no_use;
	struct sn_causal_log *log;
	struct sn_causal_answers answers;
	struct sn_text text = { 0 };
	struct sn_error err;
	bool is_known = false;

	if (!s->profile->experiment->path || !sn_causal_log_exists(s->profile->experiment->path))
		return;
	if (sn_causal_log_open(s->profile->experiment->path, &log, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	sn_causal_answers_find(log, &answers);
	first = answers.rows.count ? &answers.rows.items[0] : NULL;
	no_use = largest_of_no_use(log, &answers);
	for (size_t i = 0; first && i < answers.rows.count; i++)
		is_known |= first[i].verdict != SN_CAUSAL_UNKNOWN;
	if (first && first->verdict != SN_CAUSAL_HELPS)
		first = NULL;
	keep_findings(s, log, &answers, first, no_use);
	if (first)
		sn_causal_sentence(log, &answers, first, &text);
	if (no_use) {
		sn_text_add(&text, text.length ? "; " : "");
		sn_causal_sentence(log, &answers, no_use, &text);
	}
	if (!text.length)
		sn_text_add(&text, is_known ? "no code that was tried brings much"
					    : "no answer is sure yet");
	sn_text_add(&text, " (sonde show causal)");
	s->causal_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}
