/**
 * The source places behind a bottleneck, for people: its entries gathered by source line (by label
 * where there is none), the heaviest first.
 */
#ifndef SN_LATTICE_PLACES_H
#define SN_LATTICE_PLACES_H

#include "base/text.h"
#include "pandore/lattice/execution.h"
#include "pandore/lattice/segments.h"

enum sn_segment_list { SN_SEGMENT_ACTS, SN_SEGMENT_WAITS };

/** A line each, `prefix` before it; after `limit` of them, how many more there are. */
void sn_segment_add_places(struct sn_text *text, const struct sn_execution *execution,
			   const struct sn_segment *segment, enum sn_segment_list list,
			   const char *prefix, uint32_t limit);

/** The event in which most time of a segment passes; NULL: none acts. */
const struct sn_execution_event *sn_segment_heaviest(const struct sn_execution *execution,
						     const struct sn_segment *segment);

/** Whether two events are one place of the program in one process, after the same work. */
bool sn_event_does_the_same(const struct sn_execution_event *a, const struct sn_execution_event *b);

#endif
