/**
 * The sources of evidence on a recorded run.
 */
#ifndef SN_SEARCH_EVIDENCE_SOURCES_H
#define SN_SEARCH_EVIDENCE_SOURCES_H

#include "search/evidence/recorded.h"

struct sn_source {
	const char *name;     /* as `needs` of a metric has it */
	const char *measures; /* one line each, for people */
	const char *needs;
	const char *costs;
	/** Adds its values to the run's tables. */
	void (*collect)(struct sn_recorded *recorded);
};

/** All of them, ended by NULL. */
extern const struct sn_source *const sn_sources[];
/** The source of this name; NULL: this sonde does not have it yet. */
const struct sn_source *sn_source_find(const char *name);

#endif
