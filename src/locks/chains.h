/**
 * Chains of waits: A waits for B, which waits for C meanwhile. docs/method/locks.md has the definition.
 */
#ifndef SN_LOCKS_CHAINS_H
#define SN_LOCKS_CHAINS_H

#include "locks/locks.h"

/** Who waits there, and what for. */
struct sn_lock_link {
	struct sn_site site;
	uint32_t object; /* SN_NONE: a thread to join, or it has no name */
	uint8_t kind;	 /* enum sn_sync_kind */
};

/** Waits of one first link, while those that they wait for wait at the further ones. */
struct sn_lock_chain {
	uint32_t first_link, link_count; /* of `links`; two links or more */
	struct sn_site
		last; /* where the last thread, which waits for nobody, ended the last wait; SN_NONE: not known */
	/* the link whose thread the last one waits for, for ever: a deadlock; SN_NONE: none */
	uint32_t closes;
	uint8_t last_kind; /* enum sn_wait_kind + 1: the last thread was in such a call, at `last`; 0: in none */
	bool is_last_unknown;	 /* it is not known who the last one is */
	uint64_t waits, wait_ns; /* of the first link; the time while the whole chain waited */
	size_t latest;		 /* of the finder: number of the wait that was counted last, + 1 */
};

struct sn_lock_chains {
	SN_VEC(struct sn_lock_link) links;
	SN_VEC(struct sn_lock_chain) items;
	uint64_t
		chained_ns; /* of all chains; of locks->wait_ns it is the part that waited for who waits */
};

/** `out` need not be initialised. The caller frees it. `program`: that the locks were read of; NULL: calls that
 *  block, and are no locks, are not known. */
void sn_lock_chains_find(const struct sn_locks *locks, const struct sn_program *program,
			 struct sn_lock_chains *out);
void sn_lock_chains_free(struct sn_lock_chains *chains);

#endif
