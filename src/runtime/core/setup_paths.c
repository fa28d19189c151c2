/* The image's table of call paths. */
#include <sys/mman.h>

#include "runtime/core/paths_parts.h"

bool sn_paths_open(void)
{
	static struct sn_paths *mapping;
	size_t bytes = (sizeof *mapping + 4095) & ~4095UL;

	if (!mapping) {
		long at = SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at < 0 && at > -4096)
			return false;
		if (SYS(madvise, at, bytes, MADV_WIPEONFORK) != 0)
			return false;
		mapping = (struct sn_paths *)at;
	}
	sn_paths = mapping;
	return true;
}
