/* What the summary says of causal experiments, where they were made: what helps most, and the largest part
 * of the CPU time that does not. */
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
		if (!best || log->candidates.items[answer->candidate].cpu_share >
				     log->candidates.items[best->candidate].cpu_share)
			best = answer;
	}
	return best;
}

void sn_summary_add_causal(struct sn_summary *s)
{
	const struct sn_causal_answer *first, *no_use;
	struct sn_causal_log *log;
	struct sn_causal_answers answers;
	struct sn_text text = { 0 };
	struct sn_error err;

	if (!s->profile->experiment->path || !sn_causal_log_exists(s->profile->experiment->path))
		return;
	if (sn_causal_log_open(s->profile->experiment->path, &log, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	sn_causal_answers_find(log, &answers);
	first = answers.rows.count ? &answers.rows.items[0] : NULL;
	no_use = largest_of_no_use(log, &answers);
	if (first && first->verdict == SN_CAUSAL_HELPS)
		sn_causal_sentence(log, &answers, first, &text);
	if (no_use) {
		sn_text_add(&text, text.length ? "; " : "");
		sn_causal_sentence(log, &answers, no_use, &text);
	}
	if (!text.length)
		sn_text_add(&text, "no answer is sure yet");
	sn_text_add(&text, " (sonde show causal)");
	s->causal_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}
