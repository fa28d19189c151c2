/* Heartbeat files: the first byte chooses the format and where the bytes are cut in two. What is
 * read in two pieces is what is read in one, and every row is sound. */
#include "heartbeat/reader.h"

#include <stdlib.h>
#include <string.h>

struct sum {
	uint64_t headers, rows, hash;
};

static sn_status add_header(void *context, const struct sn_beat_header *header,
			    struct sn_error *err)
{
	struct sum *sum = context;

	(void)err;
	if (!header->host || !header->program || !header->arguments || header->pid < 0)
		abort();
	sum->headers++;
	sum->hash = sum->hash * 31 + strlen(header->host) + (uint64_t)header->pid;
	return SN_OK;
}

static sn_status add_row(void *context, const struct sn_beat_row *row, struct sn_error *err)
{
	struct sum *sum = context;
	int64_t timed = 0;

	(void)err;
	for (int i = 0; i < SN_BEAT_BUCKETS; i++)
		timed += row->histogram[i];
	if (timed != row->timed || timed > row->count || row->t_ns < 0 || row->sum_ns < 0)
		abort();
	sum->rows++;
	sum->hash = sum->hash * 31 + strlen(row->heartbeat) + (uint64_t)row->count;
	return SN_OK;
}

static struct sum read_pieces(const char *bytes, size_t length, size_t cut, bool is_csv)
{
	struct sum sum = { 0 };
	struct sn_beat_reader reader = { .sink = { &sum, add_header, add_row }, .is_csv = is_csv };
	size_t used = 0, more = 0;

	if (cut && sn_beat_reader_add(&reader, bytes, cut, false, &used, NULL) != SN_OK)
		abort();
	if (used > cut ||
	    sn_beat_reader_add(&reader, bytes + used, length - used, true, &more, NULL) != SN_OK ||
	    used + more != length)
		abort();
	sn_beat_reader_free(&reader);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sum whole, pieces;

	if (length < 2)
		return 0;
	whole = read_pieces((const char *)bytes + 1, length - 1, 0, bytes[0] & 1);
	pieces = read_pieces((const char *)bytes + 1, length - 1,
			     (length - 1) * (bytes[0] >> 1) / 128, bytes[0] & 1);
	/* an open quote at the cut of a CSV file may be taken for damage in one piece only */
	if (!(bytes[0] & 1) && memcmp(&whole, &pieces, sizeof(whole)))
		abort();
	return 0;
}
