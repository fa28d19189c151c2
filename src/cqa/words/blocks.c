/* Estimates of blocks given as text, one JSON object a line. */
#include "cqa/words/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cqa/block/hex.h"
#include "cqa/core/cqa.h"

static void print_bounds(struct sn_json *json, const struct sn_cqa_estimate *estimate)
{
	sn_json_key(json, "bounds");
	sn_json_object(json);
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		sn_json_member_double(json, sn_bound_names[i], estimate->bounds[i]);
	sn_json_close(json);
}

static void print_block(uint64_t number, const struct sn_cqa_estimate *estimate,
			const struct sn_error *err, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.cqa-block/1");
	sn_json_member_uint(&json, "block", number);
	if (err->status) {
		sn_json_member_null(&json, "cycles");
		sn_json_member_null(&json, "bottleneck");
		sn_json_member_null(&json, "bounds");
		sn_json_member_uint(&json, "instructions", estimate->instructions);
		sn_json_member_uint(&json, "estimated_instructions",
				    estimate->estimated_instructions);
		sn_json_member_string(&json, "error", err->sentence);
	} else {
		sn_json_member_double(&json, "cycles", estimate->cycles);
		sn_json_member_string(&json, "bottleneck", sn_bound_names[estimate->bottleneck]);
		print_bounds(&json, estimate);
		sn_json_member_uint(&json, "instructions", estimate->instructions);
		sn_json_member_uint(&json, "estimated_instructions",
				    estimate->estimated_instructions);
		sn_json_member_null(&json, "error");
	}
	sn_json_close(&json);
	sn_json_finish(&json);
}

sn_status sn_cqa_blocks_print(const struct sn_machine *machine, const uint8_t *text, size_t length,
			      bool is_unrolled, FILE *out)
{
	const char *next = (const char *)text, *end = next + length;
	uint64_t number = 0;

	while (next < end) {
		const char *stop = memchr(next, '\n', (size_t)(end - next));
		size_t line_length = (size_t)((stop ? stop : end) - next);
		struct sn_error err = { 0 };
		struct sn_cqa_estimate estimate = { 0 };

		if (sn_hex_is_block(next, line_length)) {
			size_t count = line_length / 2 + 1;
			uint8_t *bytes = sn_alloc(count);

			if (!sn_hex_parse(next, line_length, bytes, &count, &err))
				sn_cqa_bytes(machine, bytes, count, is_unrolled, &estimate, &err);
			print_block(number++, &estimate, &err, out);
			free(bytes);
		}
		next = stop ? stop + 1 : end;
	}
	return SN_OK;
}
