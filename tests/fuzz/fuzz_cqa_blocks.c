/* Lines of hex as `sonde cqa --blocks` reads them, for an Intel and an AMD model, both modes. The
 * bytes are also taken for code as they are. */
#include <stdlib.h>

#include "cqa/core/cqa.h"
#include "cqa/calibrate/measure.h"
#include "cqa/loop/parts.h"
#include "cqa/words/blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* What instructions add to a bound is no more than the bound, and all of the longest chain. */
static void check_parts(const struct sn_machine *machine, const uint8_t *bytes, size_t length)
{
	struct sn_arena arena = { 0 };
	struct sn_cqa_path path = { .weight = 1 };
	struct sn_cqa_parts parts;
	struct sn_chain chain;
	struct sn_error err;

	if (length && !sn_cqa_block_decode(machine, &arena, bytes, length, &path.block, &err)) {
		sn_cqa_estimate(machine, &path.block, false, &arena, &path.estimate);
		parts = sn_cqa_parts_of(machine, &path, &arena);
		chain = sn_chain_of(machine, &path.block, &arena);
		for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
			if (!(parts.sums[b] <= path.estimate.bounds[b] * 1.001 + 0.002))
				abort();
		if (!(parts.sums[SN_BOUND_LATENCY] >= path.estimate.chain_cycles * 0.999 - 0.001) ||
		    !(sn_cqa_recurrence_cycles(
			      machine, &path.block, &chain, &arena,
			      sn_arena_array(&arena, bool, path.block.count + 1)) <=
		      path.estimate.chain_cycles * 1.001 + 0.001))
			abort();
	}
	sn_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const names[] = { "cascadelake", "zen5" };
	struct sn_cqa_estimate estimate;
	struct sn_timing_request request;
	struct sn_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; i < 2; i++) {
		const struct sn_machine *machine;

		if (sn_machine_find(names[i], &machine, &err))
			abort();
		sn_cqa_blocks_print(machine, bytes, length, i, out);
		if (!sn_cqa_bytes(machine, bytes, length < 400 ? length : 400, i, &estimate,
				  &err) &&
		    !(estimate.cycles >= 0))
			abort();
		check_parts(machine, bytes, length < 400 ? length : 400);
		/* the plan only: nothing is run */
		sn_trip_plan(machine, bytes, length < 400 ? length : 400, i, &request, &err);
	}
	fclose(out);
	free(text);
	return 0;
}
