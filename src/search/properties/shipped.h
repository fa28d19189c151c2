/**
 * The files of data/properties, as they were when sonde was built (tools/embed-properties.py).
 */
#ifndef SN_SEARCH_PROPERTIES_SHIPPED_H
#define SN_SEARCH_PROPERTIES_SHIPPED_H

#include <stddef.h>

struct sn_shipped_file {
	const char *name; /* "metrics.prop" */
	const char *chars;
	size_t length;
};

/** The metrics first; ended by a NULL name. */
extern const struct sn_shipped_file sn_shipped_files[];

#endif
