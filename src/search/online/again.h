/**
 * Further starts of a program of which executions of a phase were measured, for what cannot be switched on while it runs: hot
 * loops run as copies, traced, as variants or counting themselves; and counters of the processor.
 */
#ifndef SN_SEARCH_ONLINE_AGAIN_H
#define SN_SEARCH_ONLINE_AGAIN_H

#include <signal.h>
#include <sys/types.h>

#include "search/evidence/sources.h"
#include "search/online/online.h"

struct sn_again {
	const struct sn_online_options *options; /* borrowed */
	const char *base_path;			 /* of the first start's experiment; borrowed */
	sigset_t mask;				 /* as it was when the search began */
	off_t input_at;	       /* where standard input was; -1: it cannot be read again */
	uint32_t starts, most; /* most: 0, none is wanted */
	double began_s;
	bool is_over; /* somebody has ended the program, or it failed: none follows */
};

/** Before the first start. `base_path` is set when it is known. */
void sn_again_open(struct sn_again *again, const struct sn_online_options *options);
/** The sources that such starts have: bit i of sn_sources[i]; 0: none is wanted. */
uint32_t sn_again_sources(const struct sn_again *again);
/** Starts the program again for a source. `first` says which loops are hot. NULL: it has no values, which is said;
 *  `*is_barren`: no start would give it any (sn_search.barren). The caller frees. */
struct sn_analysis *sn_again_start(struct sn_again *again, const struct sn_source *source,
				   struct sn_analysis *first, bool *is_barren);

#endif
