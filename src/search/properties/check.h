/**
 * Names, units and rules of a parsed file; what the parser cannot know.
 */
#ifndef SN_SEARCH_PROPERTIES_CHECK_H
#define SN_SEARCH_PROPERTIES_CHECK_H

#include "search/properties/syntax.h"

/** What a file may name beside its own declarations. */
struct sn_prop_scope {
	const struct sn_prop_file *const *files; /* metrics of these are visible */
	size_t file_count;
};

/** Checks a file whose text was parsed; errors go to its diags. Names in `refines` and `next` are
 *  the library's to check. */
void sn_prop_check(struct sn_prop_file *file, const struct sn_prop_scope *scope);

#endif
