/**
 * Spans of time: stretches of a run that were measured by themselves.
 */
#ifndef SN_BASE_SPAN_H
#define SN_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** [from, to), in ns of the experiment. */
struct sn_span {
	int64_t from_ns, to_ns;
};

/** Some of them, in the order of time and apart from each other; the items are borrowed. Of none at all (count 0) nothing is
 *  outside: all functions take that for the whole run. */
struct sn_spans {
	const struct sn_span *items;
	size_t count;
};

/** Brings spans into the order of time and joins those that meet; returns how many are left. */
size_t sn_spans_settle(struct sn_span *items, size_t count);
/** Whether a moment is in one. */
bool sn_spans_have(const struct sn_spans *spans, int64_t time_ns);
/** How much of a stretch is in them; 0 where it ends before it begins. */
int64_t sn_spans_overlap_ns(const struct sn_spans *spans, int64_t from_ns, int64_t to_ns);

#endif
