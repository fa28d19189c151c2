/** What causal experiments say, in sentences. */
#ifndef SN_CAUSAL_SENTENCE_H
#define SN_CAUSAL_SENTENCE_H

#include "base/text.h"
#include "causal/estimate.h"

/** Adds what an answer says as a sentence without a full stop: "solve.c:41-57 (21 % of CPU time): no
 *  faster code there makes a step faster: it is not what others wait for, bar is". */
void sn_causal_sentence(const struct sn_causal_log *log, const struct sn_causal_answers *answers,
			const struct sn_causal_answer *answer, struct sn_text *out);

/** Whether the code may bring as much as its share of CPU time, however little that is: then nobody can be
 *  said to wait for other code. False where the share is unknown. */
bool sn_causal_may_bring_its_share(const struct sn_causal_log *log,
				   const struct sn_causal_answer *answer);

#endif
