/**
 * The way up of an agent of a search's host: whom it turns to, by what stands in the folder that hosts share.
 */
#ifndef SN_SEARCH_ONLINE_ABOVE_H
#define SN_SEARCH_ONLINE_ABOVE_H

#include "base/map.h"
#include "search/link/uplink.h"

struct sn_above {
	const char *folder; /* borrowed */
	uint32_t fanout;
	uint8_t secret[SN_LINK_SECRET];
	struct sn_map turns; /* by parent: which of its addresses is tried next */
};

/** Reads the search's secret. SN_ERR_IO, SN_ERR_FORMAT: there is none that is ours alone. */
sn_status sn_above_open(const char *folder, uint32_t fanout, struct sn_above *out,
			struct sn_error *err);
/** Valid as long as `above` stays where it is. */
struct sn_uplink_above sn_above_uplink(struct sn_above *above);
void sn_above_close(struct sn_above *above);

/** Runs an inner agent of the search until the search is over; the exit status of the process. With `is_local` only this
 *  host can come. */
int sn_above_inner_run(const char *folder, uint32_t fanout, bool is_local, uint32_t agent,
		       uint32_t epoch);

#endif
