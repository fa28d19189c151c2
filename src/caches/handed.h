/** Which lines one thread wrote and another used: those that can move between caches. */
#ifndef SN_CACHES_HANDED_H
#define SN_CACHES_HANDED_H

#include "base/map.h"
#include "base/vec.h"
#include "experiment/experiment.h"

/** An address that was used, and when. */
struct sn_handed_line {
	uint64_t address;
	int64_t at_ns;
};

/** All zero but `line_bytes` is empty. */
struct sn_handed {
	unsigned line_bytes;
	struct sn_map users;		     /* of lines */
	SN_VEC(struct sn_handed_line) lines; /* each such line once, as they were found */
};

/** Adds what a window did with memory; at what time of the window is not asked. All are of one process. */
void sn_handed_add(struct sn_handed *handed, const struct sn_access_window *window);
void sn_handed_free(struct sn_handed *handed);

#endif
