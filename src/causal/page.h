/**
 * The first content of a control page (wire/causal.h): code that may be chosen, found in a profile, and
 * the progress point.
 */
#ifndef SN_CAUSAL_PAGE_H
#define SN_CAUSAL_PAGE_H

#include "causal/log.h"
#include "profile/analysis.h"
#include "wire/causal.h"

/** An empty page. The caller frees. */
struct sn_causal_control *sn_causal_page_new(void);

/**
 * Adds the candidates that `what` names to the log and their code to the page, as targets of the same
 * numbers: "loops", "functions" or "lines" (":N" behind one: the N hottest, else 5), or one by its id,
 * label, name or FILE:LINE (names.h); several between commas. Those that the log has already keep their numbers.
 * `with_callees`: time in what they call is theirs, too. SN_ERR_NOT_FOUND names what is not there.
 */
sn_status sn_causal_page_add_candidates(struct sn_causal_control *page, struct sn_causal_log *log,
					const struct sn_analysis *analysis, const char *what,
					bool with_callees, struct sn_error *err);

/** Makes point `number` the heartbeat of this name, wherever it is used. */
void sn_causal_page_add_beat(struct sn_causal_control *page, uint32_t number, const char *name);
/** Makes point `number` a place of the program: a function's entry, the first instruction of FILE:LINE,
 * or a loop's header by its id. SN_ERR_NOT_FOUND. `option` named it, for messages. */
sn_status sn_causal_page_add_place(struct sn_causal_control *page, uint32_t number,
				   const char *option, const char *name,
				   const struct sn_analysis *analysis, struct sn_error *err);
/**
 * Share of CPU time that the profile has in code in the same cache line as a place, and in loops with
 * code there; `name`: of the largest part, borrowed. A processor runs such code much slower while there is a breakpoint (an AMD EPYC
 * 3.4 times: decision 0166), and the program is no longer the one that was asked about.
 */
double sn_causal_share_beside(const struct sn_causal_control *page, uint32_t number,
			      const struct sn_analysis *analysis, const char **name);
/**
 * Share of CPU time that the profile has in MPI, called by targets with their callees. A rank that waits there
 * actively would count as working in the target, and hold up the one that it waits for.
 */
double sn_causal_share_in_mpi(const struct sn_causal_control *page,
			      const struct sn_analysis *analysis);

#endif
