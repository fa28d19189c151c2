/** What the files that cut a recorded run into regions share. Private to src/search/evidence. */
#ifndef SN_SEARCH_EVIDENCE_RECORDED_PARTS_H
#define SN_SEARCH_EVIDENCE_RECORDED_PARTS_H

#include "search/evidence/recorded.h"

/** Makes the regions of a run, behind those of `before` (NULL: none), and says which ones each stack lies in. */
void sn_recorded_find_regions(struct sn_recorded *recorded, const struct sn_recorded *before);

#endif
