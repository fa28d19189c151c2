/* Blocks given as text are read, planned and timed pass by pass. */
#include "cqa/calibrate/timed_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/block/hex.h"

void sn_timed_block_read(const struct sn_machine *machine, const char *hex, size_t length,
			 bool is_unrolled, struct sn_timed_block *out)
{
	memset(out, 0, sizeof(*out));
	out->length = length / 2 + 1;
	out->bytes = sn_alloc(out->length);
	if (!sn_hex_parse(hex, length, out->bytes, &out->length, &out->err))
		sn_trip_plan(machine, out->bytes, out->length, is_unrolled, &out->request,
			     &out->err);
}

void sn_timed_block_run(struct sn_timed_block *block)
{
	double cycles;

	block->request.code = block->bytes;
	if (!block->err.status && !sn_timing_run(&block->request, &cycles, &block->err))
		sn_timing_result_add(&block->result, cycles);
}

void sn_timed_block_free(struct sn_timed_block *block)
{
	free(block->bytes);
	block->bytes = NULL;
}

void sn_timed_blocks_read(const struct sn_machine *machine, const char *text, size_t length,
			  bool is_unrolled, sn_timed_blocks *out)
{
	const char *next = text, *end = text + strnlen(text, length);

	while (next < end) {
		const char *stop = memchr(next, '\n', (size_t)(end - next));
		size_t line_length = (size_t)((stop ? stop : end) - next);

		if (sn_hex_is_block(next, line_length)) {
			struct sn_timed_block block;

			sn_timed_block_read(machine, next, line_length, is_unrolled, &block);
			sn_vec_push(out, block);
		}
		next = stop ? stop + 1 : end;
	}
}

void sn_timed_blocks_run(sn_timed_blocks *blocks, unsigned passes)
{
	for (unsigned pass = 0; pass < passes; pass++)
		for (size_t i = 0; i < blocks->count; i++)
			sn_timed_block_run(&blocks->items[i]);
}

void sn_timed_blocks_free(sn_timed_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		sn_timed_block_free(&blocks->items[i]);
	sn_vec_free(blocks);
}
