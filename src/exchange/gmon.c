/* Reads the records of a gmon.out file; gmon_import.c makes an experiment of them. */
#include "exchange/gmon.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"

enum { TAG_HISTOGRAM, TAG_ARC, TAG_BLOCKS, HEADER_SPARE = 12, DIMENSION_BYTES = 16 };

static sn_status damaged(const char *name, size_t at, const char *what, struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_FORMAT,
			    "import: '%s' is damaged: %s at byte %zu; leave this snapshot out",
			    name, what, at);
}

static bool histogram_read(struct sn_cursor *cur, struct sn_gmon *out)
{
	struct sn_gmon_histogram h = { .low_link_addr = sn_cursor_u64(cur) };

	h.high_link_addr = sn_cursor_u64(cur);
	h.bin_count = sn_cursor_u32(cur);
	h.rate_hz = sn_cursor_u32(cur);
	sn_cursor_skip(cur, DIMENSION_BYTES);
	if (cur->status != SN_OK || h.bin_count > sn_cursor_left(cur) / 2 || !h.rate_hz ||
	    h.high_link_addr < h.low_link_addr)
		return false;
	h.bins = sn_alloc_zeroed(h.bin_count + 1u, sizeof(*h.bins));
	for (uint32_t i = 0; i < h.bin_count; i++)
		h.bins[i] = sn_cursor_u16(cur);
	sn_vec_push(&out->histograms, h);
	return true;
}

static bool arc_read(struct sn_cursor *cur, struct sn_gmon *out)
{
	struct sn_gmon_arc arc = { .from_link_addr = sn_cursor_u64(cur) };

	arc.self_link_addr = sn_cursor_u64(cur);
	arc.count = sn_cursor_u32(cur);
	if (cur->status == SN_OK)
		sn_vec_push(&out->arcs, arc);
	return cur->status == SN_OK;
}

static bool blocks_skip(struct sn_cursor *cur)
{
	uint64_t count = sn_cursor_u32(cur);

	if (count > sn_cursor_left(cur) / 16)
		return false;
	sn_cursor_skip(cur, (size_t)count * 16);
	return cur->status == SN_OK;
}

static bool record_read(struct sn_cursor *cur, struct sn_gmon *out)
{
	switch (sn_cursor_u8(cur)) {
	case TAG_HISTOGRAM:
		return histogram_read(cur, out);
	case TAG_ARC:
		return arc_read(cur, out);
	case TAG_BLOCKS:
		return blocks_skip(cur);
	default:
		return false;
	}
}

sn_status sn_gmon_read(const void *bytes, size_t length, const char *name, struct sn_gmon *out,
		       struct sn_error *err)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	const uint8_t *magic = sn_cursor_bytes(&cur, 4);

	memset(out, 0, sizeof(*out));
	if (!magic || memcmp(magic, "gmon", 4) != 0)
		return sn_error_set(err, SN_ERR_FORMAT,
				    "import: '%s' is no gmon.out file (it does not begin with "
				    "'gmon')",
				    name);
	if (sn_cursor_u32(&cur) != 1)
		return damaged(name, 4, "an unknown version", err);
	sn_cursor_skip(&cur, HEADER_SPARE);
	while (cur.status == SN_OK && sn_cursor_left(&cur)) {
		size_t at = length - sn_cursor_left(&cur);

		if (!record_read(&cur, out)) {
			sn_gmon_free(out);
			return damaged(name, at, "a record is cut short or unknown", err);
		}
	}
	if (cur.status != SN_OK) {
		sn_gmon_free(out);
		return damaged(name, length, "the header is cut short", err);
	}
	return SN_OK;
}

void sn_gmon_free(struct sn_gmon *gmon)
{
	for (size_t i = 0; i < gmon->histograms.count; i++)
		free(gmon->histograms.items[i].bins);
	sn_vec_free(&gmon->histograms);
	sn_vec_free(&gmon->arcs);
}
