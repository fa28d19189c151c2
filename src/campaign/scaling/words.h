/** What a campaign's figures of scalability say, in words: for a terminal, and for its page. */
#ifndef SN_CAMPAIGN_SCALING_WORDS_H
#define SN_CAMPAIGN_SCALING_WORDS_H

#include "base/json.h"
#include "base/text.h"
#include "campaign/scaling/scaling.h"

/** Adds where a row loses efficiency, the most important first; nothing if it loses little, or is the
 * reference. */
void sn_scaling_add_reason(const struct sn_scaling_row *row, struct sn_text *out);
/** How sure a row's efficiency is: "high", "medium", "low" (docs/method/scalability.md). */
const char *sn_scaling_confidence(const struct sn_scaling_row *row);
/** Adds the law over the number of workers and what it predicts, or why there is none; no full stop. */
void sn_scaling_add_law(const struct sn_fit *fit, struct sn_text *out);

/** The laws that a list for people has: the application's, and those of the loops that have most of the time. */
enum { SN_LAWS_SHOWN = 8 };
struct sn_scaling_laws {
	const struct sn_scaling_fit *items[SN_LAWS_SHOWN]; /* borrowed */
	size_t count;
	size_t more, small; /* left out: for want of room; loops below 1 % of the CPU time */
	size_t alike; /* left out: of applications without a law, for the reason of one that is there */
};
void sn_scaling_choose_laws(const struct sn_scaling *scaling, struct sn_scaling_laws *out);
/** Adds how many laws were left out and why, without a full stop; nothing if none was. */
void sn_scaling_add_left_out(const struct sn_scaling_laws *laws, struct sn_text *out);

/** The law's members of an open object: `model workers_80 workers_50 predicted reason`. */
void sn_scaling_write_law(const struct sn_fit *fit, struct sn_json *json);

/** The series that a law is of, borrowed; NULL: all laws are of one, which needs no name. */
const char *sn_scaling_law_series(const struct sn_scaling *scaling,
				  const struct sn_scaling_fit *fit);

/** Whether no two configurations differ in the number of workers alone, so that nothing is known of scaling. */
bool sn_scaling_is_flat(const struct sn_scaling *scaling);

/** What adds the next of several sentences: begin with `*at` 0; false: no more, and nothing was added. */
typedef bool sn_scaling_sentence_adder(const struct sn_scaling *scaling,
				       const struct sn_scaling_configuration *configurations,
				       size_t *at, struct sn_text *out);

/** Answers what the campaign asked: of each series one sentence, what more workers bring and why not more. */
sn_scaling_sentence_adder sn_scaling_add_answer;
/** Warnings: of runs of two programs in one series; of the references that cannot be trusted, why. */
sn_scaling_sentence_adder sn_scaling_add_warning;

#endif
