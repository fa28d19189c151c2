/* Pages that children find empty. */
#include "runtime/core/pages.h"

#include <sys/mman.h>

#include "runtime/core/sys.h"

void *sn_pages_wiped_in_children(size_t needed)
{
	size_t bytes = (needed + 4095) & ~4095UL;
	long at = SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at < 0 && at > -4096)
		return NULL;
	if (SYS(madvise, at, bytes, MADV_WIPEONFORK)) {
		SYS(munmap, at, bytes);
		return NULL;
	}
	return (void *)at;
}
