/**
 * What-if in one sentence: what all loops together would bring, and what to do first.
 */
#ifndef SN_WHATIF_SENTENCE_H
#define SN_WHATIF_SENTENCE_H

#include "base/text.h"
#include "whatif/judged.h"
#include "whatif/whatif.h"

/** Whether any variant promises the program 1.05x or more: less is inside the model's error, and no
 * table is worth the room. */
bool sn_whatif_promises(const struct sn_whatif *whatif);

/** So many loops are looked at for a hint. */
enum { SN_WHATIF_HINT_LOOPS = 5 };

/** What to do first, as one sentence with what it would bring. It is the advice that is sure to
 * gain the program most, whichever memory level the data come from; of equals, the one that may
 * gain most. Of other loops than the hottest only what promises the program 1.05x, or something for sure. Loops that were judged by their variants have the advice of that. `judged` may be NULL. Returns its
 * loop; NULL if there is nothing to say that can be relied on. */
const struct sn_whatif_loop *sn_whatif_hint(const struct sn_whatif *whatif,
					    const struct sn_judged *judged, struct sn_text *out);

#endif
