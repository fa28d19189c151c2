/**
 * The phase that a recorded run shows by itself: a place that its main loop passes again and again.
 *
 * Of the parts of main loops (phases/phases.h) that were seen one by one, ten times at least in each process and not
 * too often for a breakpoint, it is that with the largest share of the run. Arrivals there bound whole rounds of the
 * loop, whatever else a round does. If the loop itself was seen as often, its header is the place.
 */
#ifndef SN_SEARCH_ONLINE_FOUND_H
#define SN_SEARCH_ONLINE_FOUND_H

#include "base/text.h"
#include "profile/analysis.h"

struct sn_found_phase {
	struct sn_text name; /* a function's, or FILE:LINE of a loop */
	struct sn_text module, file;
	uint32_t line; /* 0: unknown */
	uint64_t link_addr;
	uint64_t passed; /* in all processes, at least */
};

/** SN_ERR_NO_DATA: nothing repeats that could be seen. The caller frees with sn_found_phase_free in any case. */
sn_status sn_found_phase_of(const struct sn_analysis *analysis, struct sn_found_phase *out,
			    struct sn_error *err);
void sn_found_phase_free(struct sn_found_phase *found);

#endif
