/** What a campaign's figures of scalability say, in words: for a terminal, and for its page. */
#ifndef SN_CAMPAIGN_SCALING_WORDS_H
#define SN_CAMPAIGN_SCALING_WORDS_H

#include "base/text.h"
#include "campaign/scaling/scaling.h"

/** Adds where a row loses efficiency, the most important first; nothing if it loses little, or is the
 * reference. */
void sn_scaling_add_reason(const struct sn_scaling_row *row, struct sn_text *out);
/** How sure a row's efficiency is: "high", "medium", "low" (docs/method/scalability.md). */
const char *sn_scaling_confidence(const struct sn_scaling_row *row);
/** Adds the law over the number of workers and what it predicts, or why there is none; no full stop. */
void sn_scaling_add_law(const struct sn_fit *fit, struct sn_text *out);

/** Whether all runs had the same number of workers, so that nothing is known of scaling. */
bool sn_scaling_is_flat(const struct sn_scaling *scaling);

/** What adds the next of several sentences: begin with `*at` 0; false: no more, and nothing was added. */
typedef bool sn_scaling_sentence_adder(const struct sn_scaling *scaling,
				       const struct sn_scaling_configuration *configurations,
				       size_t *at, struct sn_text *out);

/** Answers what the campaign asked: of each series one sentence, what more workers bring and why not more. */
sn_scaling_sentence_adder sn_scaling_add_answer;
/** Warnings: of each reference that could not be trusted, why. */
sn_scaling_sentence_adder sn_scaling_add_warning;

#endif
