/**
 * Pages of our own. All is safe in handlers.
 */
#ifndef SN_RUNTIME_CORE_PAGES_H
#define SN_RUNTIME_CORE_PAGES_H

#include <stddef.h>

/** At least `needed` bytes, zero, in pages that are there when they are touched; NULL: the kernel has
 * none. The kernel wipes them in every child, of a raw fork too, so that what was on is off there. */
void *sn_pages_wiped_in_children(size_t needed);

#endif
