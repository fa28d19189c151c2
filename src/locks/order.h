/**
 * What a thread did before another one could do something: before it made it, or made one that made it, or after it
 * had ended and been joined. Whatever this does not put in order can happen at one time, in this run or another.
 */
#ifndef SN_LOCKS_ORDER_H
#define SN_LOCKS_ORDER_H

#include "locks/parts.h"

/** A thread from one moment to another. */
struct sn_lock_span {
	uint32_t thread; /* of the experiment */
	int64_t begin_ns, end_ns;
};

struct sn_lock_order;
/** Borrows the reader, whose waits are still all there. The caller frees it. */
struct sn_lock_order *sn_lock_order_new(const struct sn_lock_reader *reader);
void sn_lock_order_free(struct sn_lock_order *order);

/** Whether what was done in the spans can overlap. Of a thread that nobody is known to have made: whether both lived at
 *  one time. Two threads of one process. */
bool sn_lock_can_overlap(struct sn_lock_order *order, const struct sn_lock_span *a,
			 const struct sn_lock_span *b);

#endif
