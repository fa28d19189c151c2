/* Plans: the fuzzer's bytes with a right size and hash, as damage of the outside is caught by them. What
 * the runtime would then do with offsets is done. */
#include <stdlib.h>
#include <string.h>

#include "wire/plan.h"

static void use(const struct sn_plan *plan)
{
	uint8_t *code = malloc(plan->header->code_bytes);
	uint32_t step = plan->header->code_bytes / 64 + 1;

	memcpy(code, plan->code, plan->header->code_bytes);
	for (uint32_t i = 0; i < plan->header->relocation_count; i++)
		memset(code + plan->relocations[i].offset, 1, 4);
	for (int c = 0; c < SN_PLAN_CALLS; c++)
		memset(code + plan->header->calls[c], 2, 8);
	for (uint32_t at = 0; at < plan->header->code_bytes; at += step) {
		const struct sn_plan_map *entry = sn_plan_find(plan, at);

		if (entry && entry->offset > at)
			abort();
	}
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_plan_header *header = aligned_alloc(8, (length + sizeof(*header) + 7) & ~7UL);
	struct sn_plan plan;

	memcpy(header, bytes, length);
	if (sn_plan_read(header, length, &plan))
		use(&plan);
	if (length >= sizeof(*header)) {
		header->file_bytes = length;
		header->hash =
			sn_plan_hash((const uint8_t *)(header + 1), length - sizeof(*header));
		if (sn_plan_read(header, length, &plan))
			use(&plan);
	}
	free(header);
	return 0;
}
