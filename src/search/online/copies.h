/** Further starts in which hot loops run as copies: traced, as variants, or counting themselves. */
#ifndef SN_SEARCH_ONLINE_COPIES_H
#define SN_SEARCH_ONLINE_COPIES_H

#include "profile/analysis.h"
#include "record/record.h"
#include "search/evidence/recorded.h"
#include "whatif/plans.h"

struct sn_copies {
	struct sn_loop_plans plans;
	struct sn_record_plan *files; /* that the options borrow */
	bool has_variants;
	uint64_t begin;
	double begin_s;
};

/** Whether a source's `option` (evidence/sources.h) asks for such a start. */
bool sn_copies_are_asked(const char *option);
/** Sets what a recording has to be told of for it; `first` says which loops are hot, and which of them can miss at all. No
 *  severity below the threshold is wanted.
 *  SN_ERR_NO_DATA: no loop; the sentence says why. Free in any case. */
sn_status sn_copies_prepare(struct sn_copies *out, const char *option, struct sn_analysis *first,
			    double threshold, struct sn_record_options *options,
			    struct sn_error *err);
/** Of the sources of which a run has no values: those that such a start would not give either, as no loop of it can run as their
 *  copies. Bits of sn_sources. */
uint32_t sn_copies_barren(struct sn_analysis *run, const struct sn_recorded *recorded,
			  double threshold);
/** After the recording: what it left is made ready to be read. */
void sn_copies_ran(struct sn_copies *copies, const struct sn_analysis *first,
		   const char *experiment_path);
void sn_copies_free(struct sn_copies *copies);

#endif
