/* A file of roofs: what is read has a name and its figures in order, and reads the same once written. */
#include <assert.h>

#include "machine/roofs.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_roofs roofs;
	struct sn_error err;

	if (sn_roofs_read_memory(bytes, length, "fuzz", &roofs, &err) == SN_OK) {
		assert(roofs.items.count && roofs.host[0] && sn_roofs_threads(&roofs));
		for (size_t i = 0; i < roofs.items.count; i++) {
			const struct sn_roof *r = &roofs.items.items[i];

			assert(r->low > 0 && r->low <= r->value && r->value <= r->high);
			assert((r->level == SN_ROOF_NO_LEVEL) == (r->kind > SN_ROOF_TRIAD));
			assert(sn_roofs_find(&roofs, r->kind, r->level, r->threads) == r);
		}
	}
	sn_roofs_free(&roofs);
	return 0;
}
