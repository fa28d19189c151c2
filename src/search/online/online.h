/**
 * A search of a program while or after it runs: it measures what its steps ask for.
 *
 * The whole program is the phase. It is started once with what costs little (samples, waits, the
 * kernel's account), and started again, with the same words and input, for candidates that lack a
 * source which a recording has to be told of. The first start's experiment is the search's; values of
 * later starts are put beside it, by the places that they belong to.
 */
#ifndef SN_SEARCH_ONLINE_ONLINE_H
#define SN_SEARCH_ONLINE_ONLINE_H

#include "profile/analysis.h"
#include "record/record.h"
#include "search/engine/search.h"

struct sn_online_options {
	struct sn_record_options record;     /* of the first start */
	struct sn_analysis_options analysis; /* may be all NULL */
	const struct sn_library *library;    /* borrowed */
	struct sn_search_options search;     /* without what measures: that is filled in */
	uint32_t restarts;		     /* starts after the first, at most */
	double max_time_s;		     /* no start after so long; 0: no limit */
	int output_fd;			     /* where the last start's standard output goes */
	bool is_quiet;
};

struct sn_online {
	struct sn_analysis *analysis; /* of the first start's experiment */
	struct sn_recorded *recorded;
	struct sn_search *search;
	int exit_code; /* of the program's last start; 125, 126, 127: none came about */
};

/** Not SN_OK: the program was not started (SN_EXIT_NOT_MEASURED and the like in `exit_code`), or
 *  what it left cannot be searched; then its exit code is there, too. Free in any case. */
sn_status sn_online_run(const struct sn_online_options *options, struct sn_online *out,
			struct sn_error *err);
void sn_online_free(struct sn_online *online);

#endif
