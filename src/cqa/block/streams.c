/* Groups accesses of one array that share cache lines, and counts the bytes of them that are new in
 * a pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cqa/block/metrics.h"

static bool is_gather(const struct sn_insn *insn)
{
	return insn->memory_count && insn->memory[0].is_vector_index;
}

/* Elements of a gather or scatter: as many as the wider of indices and data leaves room for. */
static double lanes_of(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	const char *kind = strstr(name, "gather")    ? strstr(name, "gather") + 6
			   : strstr(name, "scatter") ? strstr(name, "scatter") + 7
						     : "";
	bool wide = kind[0] == 'q' || (kind[0] && (kind[1] == 'q' || strcmp(kind + 1, "pd") == 0));
	double lanes = insn->operand_bytes / (wide ? 8.0 : 4.0);

	return lanes > 1 ? lanes : 1;
}

bool sn_insn_is_past_caches(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_MOVNTI:
	case ZYDIS_MNEMONIC_MOVNTQ:
	case ZYDIS_MNEMONIC_MOVNTDQ:
	case ZYDIS_MNEMONIC_MOVNTPD:
	case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_MOVNTSD:
	case ZYDIS_MNEMONIC_MOVNTSS:
	case ZYDIS_MNEMONIC_VMOVNTDQ:
	case ZYDIS_MNEMONIC_VMOVNTPD:
	case ZYDIS_MNEMONIC_VMOVNTPS:
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		return true;
	default:
		return false;
	}
}

static bool same_array(const struct sn_access *a, const struct sn_access *b)
{
	return a->address.base_root == b->address.base_root &&
	       a->address.index_root == b->address.index_root &&
	       a->address.scale == b->address.scale;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static bool same_stream(const struct sn_access *a, const struct sn_access *b)
{
	uint64_t apart = distance(a->address.constant, b->address.constant);
	uint64_t reach = distance(a->stride_bytes, 0);

	if (!same_array(a, b))
		return false;
	if (a->is_covered && b->is_covered && a->stride_bytes == b->stride_bytes &&
	    apart < SN_PAGE_BYTES)
		return true;
	/* neighbours within what one pass moves, or one line */
	return apart < (reach > 0 && reach <= SN_LINE_BYTES ? SN_PAGE_BYTES : SN_LINE_BYTES);
}

/* Bytes or lines of a stream that a pass has not seen before. */
static void measure(const struct sn_cqa_block *block, struct sn_stream *stream)
{
	const struct sn_access *access = stream->first;
	const struct sn_insn *insn = &block->insns[access->insn];
	double stride = fabs((double)access->stride_bytes);

	if (is_gather(insn))
		stream->lines = lanes_of(insn);
	else if (access->is_irregular || (!access->has_stride && !access->is_indirect) ||
		 (access->has_stride && stride > SN_LINE_BYTES && !access->is_covered))
		stream->lines = 1;
	else
		stream->new_bytes = access->has_stride ? stride : 0;
	if (stream->lines > 0)
		stream->new_bytes = stream->lines * SN_LINE_BYTES;
}

/* The stream that an access is part of, or a new one. */
static struct sn_stream *stream_of(const struct sn_cqa_block *block, const struct sn_access *access,
				   struct sn_streams *streams)
{
	struct sn_stream *stream;

	for (size_t i = 0; i < streams->count; i++)
		if (same_stream(streams->items[i].first, access))
			return &streams->items[i];
	stream = &streams->items[streams->count++];
	*stream = (struct sn_stream){ .first = access, .kind = sn_stride_kind_of(access) };
	measure(block, stream);
	return stream;
}

/* A prefetch some passes ahead of a stream brings what the stream would bring itself. */
static bool is_ahead_of_stream(const struct sn_access *prefetch, struct sn_streams *streams)
{
	for (size_t i = 0; i < streams->count && prefetch->has_stride; i++) {
		const struct sn_access *first = streams->items[i].first;

		if (!first->has_stride || first->stride_bytes != prefetch->stride_bytes ||
		    !same_array(first, prefetch))
			continue;
		streams->items[i].is_prefetched = true;
		return true;
	}
	return false;
}

/* What is prefetched at an irregular address is loaded by a later pass: the line comes once. */
static void drop_prefetched(struct sn_streams *streams)
{
	size_t prefetched = 0;

	for (size_t i = 0; i < streams->count; i++)
		prefetched += streams->items[i].is_prefetched && !streams->items[i].is_read &&
			      streams->items[i].first->is_irregular;
	for (size_t i = 0; i < streams->count && prefetched; i++) {
		struct sn_stream *stream = &streams->items[i];

		if (!stream->is_read || !stream->first->is_irregular)
			continue;
		stream->is_prefetched = true;
		stream->lines = stream->new_bytes = 0;
		prefetched--;
	}
}

struct sn_streams sn_streams_of(const struct sn_cqa_block *block, struct sn_arena *arena)
{
	const struct sn_accesses *accesses = sn_accesses_find_irregular(block, arena);
	struct sn_streams out = { .accesses = accesses };

	out.items = sn_arena_array(arena, struct sn_stream,
				   accesses->count + accesses->prefetch_count + 1);
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		struct sn_stream *stream = stream_of(block, access, &out);

		stream->is_read |= access->is_load;
		stream->is_written |= access->is_store;
		stream->is_past_caches |=
			access->is_store && sn_insn_is_past_caches(&block->insns[access->insn]);
	}
	for (size_t i = 0; i < accesses->prefetch_count; i++)
		if (!is_ahead_of_stream(&accesses->prefetches[i], &out))
			stream_of(block, &accesses->prefetches[i], &out)->is_prefetched = true;
	drop_prefetched(&out);
	return out;
}
