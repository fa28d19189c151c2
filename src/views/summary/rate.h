/**
 * How often a run was sampled: by which mechanisms, how often that was, and why not as often as asked
 * for.
 */
#ifndef SN_VIEWS_SUMMARY_RATE_H
#define SN_VIEWS_SUMMARY_RATE_H

#include "base/text.h"
#include "views/summary/summary.h"

/** Sets clock_mechanism, rate_hz, asked_hz and rate_reason, from samples and CPU times that are
 *  there already. */
void sn_summary_rate(struct sn_summary *summary);

/** "perf-signal at 999.3 Hz"; "perf-signal, then timers: 212 of 999.3 Hz". Nothing where no process
 *  is known. */
void sn_summary_rate_text(const struct sn_summary *summary, struct sn_text *out);

/** Whether --clock auto chose the rate, and it is as chosen: the reason is no fault then. */
bool sn_summary_rate_is_chosen(const struct sn_summary *s);

#endif
