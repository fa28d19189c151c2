/** What a campaign's figures of scalability say, in words: for a terminal, and for its page. */
#ifndef SN_CAMPAIGN_SCALING_WORDS_H
#define SN_CAMPAIGN_SCALING_WORDS_H

#include "base/text.h"
#include "campaign/scaling/scaling.h"

/** Where a row loses efficiency; NULL: it loses little, or is the reference. */
const char *sn_scaling_reason(const struct sn_scaling_row *row);
/** Adds the law over the number of workers and what it predicts, or why there is none; no full stop. */
void sn_scaling_add_law(const struct sn_fit *fit, struct sn_text *out);

#endif
