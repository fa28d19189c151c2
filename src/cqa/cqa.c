#include "cqa/cqa.h"

#include <math.h>

void sn_cqa_estimate(const struct sn_machine *machine, const struct sn_cqa_block *block,
		     bool is_unrolled, struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	double stores, addresses;

	out->bounds[SN_BOUND_PORTS] = sn_bound_ports(machine, block, &out->busiest_units);
	stores = sn_bound_stores(machine, block, arena);
	if (stores > out->bounds[SN_BOUND_PORTS]) {
		out->bounds[SN_BOUND_PORTS] = stores;
		out->busiest_units = machine->store_data_units;
	}
	addresses = sn_bound_addresses(machine, block);
	if (addresses > out->bounds[SN_BOUND_PORTS]) {
		out->bounds[SN_BOUND_PORTS] = addresses;
		out->busiest_units = machine->load_units | machine->vector_load_units |
				     machine->store_data_units;
	}
	out->bounds[SN_BOUND_DIVIDER] = sn_bound_divider(block);
	out->bounds[SN_BOUND_ISSUE] = sn_bound_issue(machine, block);
	out->bounds[SN_BOUND_FRONT_END] =
		sn_bound_front_end(machine, block, is_unrolled, &out->front_end);
	out->bounds[SN_BOUND_LATENCY] = sn_bound_latency(machine, block, arena, false).cycles;
	out->bottleneck = SN_BOUND_PORTS;
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++) {
		/* three digits: more would be noise, and ties should be ties */
		out->bounds[i] = round(out->bounds[i] * 1000) / 1000;
		if (out->bounds[i] > out->bounds[out->bottleneck])
			out->bottleneck = (enum sn_bound)i;
	}
	out->cycles = out->bounds[out->bottleneck];
	out->instructions = block->count;
	out->estimated_instructions = block->estimated_count;
}

sn_status sn_cqa_bytes(const struct sn_machine *machine, const uint8_t *bytes, size_t length,
		       bool is_unrolled, struct sn_cqa_estimate *out, struct sn_error *err)
{
	struct sn_arena arena = { 0 };
	struct sn_cqa_block block;
	sn_status status;

	if (!length)
		return sn_error_set(err, SN_ERR_FORMAT, "the block is empty");
	status = sn_cqa_block_decode(machine, &arena, bytes, length, &block, err);
	if (!status)
		sn_cqa_estimate(machine, &block, is_unrolled, &arena, out);
	sn_arena_free(&arena);
	return status;
}
