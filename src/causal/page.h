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
 * Moves a place to another instruction that is reached as often (elsewhere.h), beside which there is less than `share_most` of
 * CPU time; `where` gets its line or function. False: there is none, and nothing is changed.
 */
bool sn_causal_move_place(struct sn_causal_control *page, uint32_t number,
			  const struct sn_analysis *analysis, double share_most,
			  struct sn_text *where);
/**
 * Adds, after the candidates, the code in which threads wait or do a runtime's work: modules of MPI and OpenMP, their
 * functions within the program, loops that wait actively; and modules that a runtime calls as well as the program does.
 * Candidates with their callees have from then on the share of CPU time that is no waiting.
 */
void sn_causal_page_add_runtimes(struct sn_causal_control *page, struct sn_causal_log *log,
				 const struct sn_analysis *analysis);
/**
 * Share of CPU time in which the profile sees threads wait actively, and processes would take it for work in a target, as
 * a runtime's code has no build-id, or there was no room for it.
 */
double sn_causal_share_misjudged(const struct sn_causal_control *page,
				 const struct sn_analysis *analysis);

/** The number of a module in the page, made if new; -1: it has no build-id, or there is no room. */
int sn_causal_page_module(struct sn_causal_control *page, const char *build_id);

#endif
