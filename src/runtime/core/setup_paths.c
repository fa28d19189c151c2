/* The image's table of call paths. */
#include "runtime/core/pages.h"
#include "runtime/core/paths_parts.h"

bool sn_paths_open(void)
{
	static struct sn_paths *mapping;

	if (!mapping)
		mapping = sn_pages_wiped_in_children(sizeof(*mapping));
	sn_paths = mapping;
	return mapping;
}
