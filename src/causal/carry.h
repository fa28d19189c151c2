/**
 * What one experiment leaves behind for the next: buffers between threads that were filled or drained
 * under delays, and that baselines work off. docs/method/causal.md has the method.
 */
#ifndef SN_CAUSAL_CARRY_H
#define SN_CAUSAL_CARRY_H

#include "causal/log.h"

/** How long experiments go on before they count, shortest first: the next where something is carried over. */
#define SN_CAUSAL_SETTLE_LEAST_NS INT64_C(5000000)
#define SN_CAUSAL_SETTLE_NEXT_NS  INT64_C(1000000000)
#define SN_CAUSAL_SETTLE_MOST_NS  INT64_C(4000000000)

/**
 * By which share a baseline is off on account of the experiment just before it, at most of all: its steps,
 * or the samples of a step, which are as many only while no buffer fills or drains. Of the baselines that
 * settled for exactly `settle_ns`. 0: chance may be all of it, or there are too few of them.
 */
double sn_causal_carried(const struct sn_causal_log *log, int64_t settle_ns);

/**
 * From which settling time on experiments count: the shortest at which nothing is carried over, or else the
 * longest of which each candidate that has some has enough for a verdict. `carried` gets what is carried over with it.
 */
int64_t sn_causal_settled_ns(const struct sn_causal_log *log, double *carried);

/** How long the next experiments have to settle. */
int64_t sn_causal_settle_next_ns(const struct sn_causal_log *log);

#endif
