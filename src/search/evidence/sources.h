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
/** Adds what the source of this name takes: "needs ...", or that the search cannot read it. */
void sn_source_requirement_add(struct sn_text *out, const char *name);

#endif
