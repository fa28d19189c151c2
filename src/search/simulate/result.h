/**
 * What a node agent tells: for each phase what its search found, candidate by candidate, then what the phase
 * was. These are the bodies of results (SN_LINK_RESULT); fields are only ever added at their ends.
 *
 *	share	u8 1, u32 phase, u32 step, string property, region, data (NULL: none), f64 lanes lost, f64 severity
 *		of the severest member, string condition, explanation (open for sums: sn_prop_text_close), u32
 *		evidence (sums of all the host's members, else of the severest): u32 known, f64 number,
 *		u32 kind (SN_ALL: a number), u32 process, u32 index; u32 members: u32 process, u32 thread
 *		(SN_ALL: none), f64 severity, f64 confidence
 *	phase	u8 2, u32 phase, u32 shares before it, u32 steps: u32 candidates, u32 proven, u32 not measurable;
 *		u32 missing: string property, string region, u32 needs: u32 request; u32 epochs: u32 epoch,
 *		u64 results
 *
 * A process is the host's own, from 0; a thread its process's. A string is u8 0, or u8 1, bytes and 0.
 */
#ifndef SN_SEARCH_SIMULATE_RESULT_H
#define SN_SEARCH_SIMULATE_RESULT_H

#include "search/engine/search.h"
#include "search/link/outbox.h"

enum sn_result_kind { SN_RESULT_SHARE = 1, SN_RESULT_PHASE };

/** Bodies of what a host's search found. The texts are the caller's to free. */
typedef SN_VEC(struct sn_text) sn_bodies;
void sn_result_shares_write(const struct sn_search *search, uint32_t phase, sn_bodies *out);
/** The phase's own. It counts itself among the results of the last epoch. */
void sn_result_phase_write(const struct sn_search *search, uint32_t phase,
			   const struct sn_outbox *outbox, uint32_t shares, struct sn_text *out);

/** Of any body: its kind and phase; false: it is damaged. */
bool sn_result_head(const uint8_t *body, size_t length, enum sn_result_kind *kind, uint32_t *phase);
/** Of a phase: how many shares belong to it, and the results of its agent's epochs. */
bool sn_result_phase_head(const uint8_t *body, size_t length, uint32_t *shares,
			  void (*epoch)(uint32_t epoch, uint64_t count, void *context),
			  void *context);

/** Adds what a host found to the search of all. `first_process` is the host's first in its tables. False:
 *  it names what the search does not have. */
bool sn_result_share_add(const uint8_t *body, size_t length, uint32_t first_process,
			 uint32_t processes, struct sn_search *search);
/** Adds what a host says of its phase: steps as large as the largest host's, and what it could not measure. */
bool sn_result_phase_add(const uint8_t *body, size_t length, struct sn_search *search);

#endif
