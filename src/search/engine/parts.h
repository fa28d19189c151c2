/** What the files of the engine share. Private to src/search/engine. */
#ifndef SN_SEARCH_ENGINE_PARTS_H
#define SN_SEARCH_ENGINE_PARTS_H

#include "base/intern.h"
#include "search/engine/search.h"

/** Fills the host's functions, which a strategy calls. */
void sn_search_host(struct sn_search *search);
/** Candidates of the properties of data that were proposed before any data was known; those that touch none are forgotten. */
void sn_search_propose_of_data(struct sn_search *search);
/** The property of --start at every region above the threshold where it can be asked, of every data structure there. */
void sn_search_propose_start(struct sn_search *search);
/** Of the run, or as the options say. */
const char *sn_search_experiment_name(const struct sn_search *search);
uint64_t sn_candidate_hash(const struct sonde_strategy_candidate *what);
/** Loads the strategy of the options. */
sn_status sn_search_load(struct sn_search *search, struct sn_error *err);
/** The share of all lanes' time that their threads asked to sleep for; 0 of executions of a phase. Adds where they slept
 *  longest at one time. */
double sn_search_asleep(const struct sn_search *search, struct sn_text *site);
/** Says that a candidate of this property was judged; closed: it does not hold, and nothing it needs is unknown. */
void sn_search_silent_judge(struct sn_search *search, uint32_t property, bool is_closed);
/** Whether a new candidate need not be asked, as its property is silent; it is kept. */
bool sn_search_silent_keep(struct sn_search *search, const struct sonde_strategy_candidate *what);
/** Proposes what was kept of properties that have values now. */
void sn_search_silent_wake(struct sn_search *search);
/** What is not measurable, by its reason in words; free it with sn_missing_groups_free. */
struct sn_missing_groups {
	struct sn_interner reasons;
	uint32_t *group_of; /* by index in `not_measurable`: which of the reasons */
};
void sn_missing_groups_make(const struct sn_search *search, struct sn_missing_groups *out);
void sn_missing_groups_free(struct sn_missing_groups *groups);
/** Adds the properties of a group but the first so many, "A, B (0 to 0.300)". Returns how many the group has. */
size_t sn_missing_names_add(const struct sn_search *search, const struct sn_missing_groups *groups,
			    uint32_t group, size_t skipped, struct sn_text *out);
/** The ends of a severity's 95 % interval; a rate has no upper bound. */
double sn_finding_low(const struct sn_finding *finding);
double sn_finding_high(const struct sn_search *search, const struct sn_finding *finding);
/** Whether its interval reaches 0: people see such rows behind all others. */
bool sn_finding_may_be_nothing(const struct sn_finding *finding);
/** Which part of the time of regions that findings are at lies inside which others; borrows the search. */
struct sn_nesting;
struct sn_nesting *sn_nesting_new(const struct sn_search *search);
void sn_nesting_free(struct sn_nesting *nesting);
/** The share of the time of `inner` (CPU time, blocked time or both, as the property is of) that `outer`
 *  (SN_ALL: the whole program) contains; 0: not inside. */
double sn_nesting_share(const struct sn_nesting *nesting, const struct sn_property *property,
			uint32_t outer, uint32_t inner);
/** Says which findings others explain, leaves parts out, and orders by severity. */
void sn_search_finish(struct sn_search *search);

/** At most four classes of members by severity; fewer where none is wider than .05. Writes the
 *  first member of each, of members sorted by severity; returns how many. */
enum { SN_CLASSES_MAX = 4 };
size_t sn_search_classes(const double *severities, size_t count, size_t firsts[SN_CLASSES_MAX]);
/** A finding's members, the least severe first; the caller frees. */
struct sn_finding_member *sn_search_members_sorted(const struct sn_finding *finding);
/** "0-3,7" of ids that are numbers, else "a,b". */
void sn_search_set_print(const struct sn_member *members, const uint32_t *indices, size_t count,
			 struct sn_text *out);
/** Adds the evidence of a member, or of several: of what are sums to those that are there, the rest if it is the severest so far. */
void sn_finding_evidence_add(struct sn_finding *finding, const struct sn_property *property,
			     const struct sn_prop_value *evidence, bool is_severest);
/** By what the finding's seconds of a further start were multiplied, so that they are shares of this run's phase, and the source
 *  that they are from; 0: they are of this run. */
double sn_finding_start_scale(const struct sn_search *search, const struct sn_finding *finding,
			      const char **source);
/** Leaves this share of the sums. */
void sn_finding_evidence_scale(struct sn_finding *finding, const struct sn_property *property,
			       double share);
/** The explanation in words, and of several processes whose numbers it has: " (sums are of all 4, the rest is of rank 3, the
 *  severest)"; and of a further start, by what its seconds were multiplied. False: there is none. */
bool sn_finding_explain(const struct sn_search *search, const struct sn_finding *finding,
			struct sn_text *out);
/** The ranks that passed no execution of the phase that was measured, "1-3"; nothing where there are none, or no phase. */
void sn_search_left_out_print(const struct sn_search *search, struct sn_text *out);
/** The processes or threads of a finding, in the same way; nothing where it is of all. */
void sn_search_who_print(const struct sn_finding *finding, enum sn_key key, struct sn_text *out);

#endif
