/**
 * What both publishers keep of each heartbeat: rows of all threads added up.
 */
#ifndef SN_RUNTIME_HEARTBEAT_SUMS_H
#define SN_RUNTIME_HEARTBEAT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/heartbeat_publisher.h"

struct beat_sum {
	const char *name; /* NULL: no row yet */
	size_t name_length;
	struct sonde_heartbeat_row last; /* of the interval now running; count 0, open 0: nothing */
	struct sonde_heartbeat_row total; /* since the process began, without `last` */
	bool is_touched;		  /* a row came in this interval */
};

struct beat_sums {
	struct beat_sum *items; /* by the heartbeat's index */
	uint32_t count;
};

/** A row more; it is lost when memory ran out. */
void beat_sums_add(struct beat_sums *sums, const struct sonde_heartbeat_row *row);
/** Moves the interval into the totals. `open` and `open_ns` of the totals are those of the last
 *  interval: they are levels, not counts. */
void beat_sums_settle(struct beat_sums *sums);
void beat_sums_free(struct beat_sums *sums);

#endif
