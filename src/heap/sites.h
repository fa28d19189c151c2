/** Sums of the heap by site (profile/site.h) and by call path, with the names of the program. */
#ifndef SN_HEAP_SITES_H
#define SN_HEAP_SITES_H

#include "base/text.h"
#include "heap/heap.h"
#include "profile/program.h"

/** A site, or one of the callers of what is below it in a tree. */
struct sn_heap_site {
	uint32_t function, line; /* of the program, line SN_NONE: unknown; both: no call path */
	bool is_new;		 /* operator new */
	uint32_t parent;	 /* place of the row that it calls, + 1; 0: it is a site */
	uint32_t depth;
	struct sn_heap_sums sums;
};

struct sn_heap_sites {
	SN_VEC(struct sn_heap_site) items;
};

/** One row a site, in no order. */
struct sn_heap_sites sn_heap_sites_of(const struct sn_program *program, const struct sn_heap *heap);

/** Which of the sums orders and prunes a tree. */
typedef uint64_t (*sn_heap_measure)(const struct sn_heap_sums *sums);

/** Sites with their callers below them, in preorder, the larger first. A row's callers that have less
 *  than `least_share` of the whole are left out. The sums of a row's callers are parts of its own. */
struct sn_heap_sites sn_heap_tree_of(const struct sn_program *program, const struct sn_heap *heap,
				     sn_heap_measure measure, double least_share);
void sn_heap_sites_free(struct sn_heap_sites *sites);

/** "12.3 MB". */
void sn_heap_add_size(struct sn_text *text, uint64_t bytes);

#endif
