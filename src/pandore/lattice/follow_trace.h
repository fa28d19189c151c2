/**
 * Following a trace that is being written, with a line of exact counts now and then.
 */
#ifndef SN_LATTICE_FOLLOW_TRACE_H
#define SN_LATTICE_FOLLOW_TRACE_H

#include <stdio.h>

#include "pandore/lattice/execution.h"

struct sn_follow_options {
	double every_s; /* a line so often, if something has changed */
	double idle_s;	/* the end, if nothing comes for so long; 0: never */
	FILE *out;	/* of the lines */
};

/**
 * Reads `path` ("-": standard input) until its {"end":true}, the end of a pipe, a pause of idle_s,
 * or the first SIGINT, printing exact counts of what has happened so far. Then `*out` is what a
 * plain reading of the same bytes gives, with its statuses.
 */
sn_status sn_follow_trace(const char *path, const struct sn_follow_options *options,
			  struct sn_execution **out, struct sn_error *err);

#endif
