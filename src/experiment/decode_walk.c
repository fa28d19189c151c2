/* From bytes to records: chunks in the order of time, records of each thread. */
#include "experiment/decode_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static const struct sn_chunk_header *chunk_of(const struct image *image, uint32_t index)
{
	return (const void *)(image->bytes + sn_data_chunk_offset(index));
}

static uint32_t chunk_committed(const struct image *image, uint32_t index)
{
	const struct sn_chunk_header *chunk = chunk_of(image, index);
	uint32_t committed = atomic_load_explicit(&chunk->committed_bytes, memory_order_acquire);

	if (chunk->magic != SN_CHUNK_MAGIC || committed < sizeof(*chunk) ||
	    committed > SN_DATA_CHUNK_BYTES)
		return 0;
	return committed;
}

static size_t record_minimum(uint8_t type)
{
	static const size_t least[SN_RECORD_KINDS] = {
		[SN_RECORD_SAMPLE] = sizeof(struct sn_record_sample),
		[SN_RECORD_OWNER] = sizeof(struct sn_record_owner),
		[SN_RECORD_TIME] = sizeof(struct sn_record_time),
		[SN_RECORD_CPU] = sizeof(struct sn_record_cpu),
		[SN_RECORD_STACK] = sizeof(struct sn_record_stack),
		[SN_RECORD_MAP] = sizeof(struct sn_record_map),
		[SN_RECORD_UNMAP] = sizeof(struct sn_record_unmap),
		[SN_RECORD_THREAD_START] = sizeof(struct sn_record_thread_start),
		[SN_RECORD_THREAD_ACCOUNT] = sizeof(struct sn_record_thread_account),
		[SN_RECORD_THREAD_END] = sizeof(struct sn_record_thread_account),
		[SN_RECORD_WAIT] = sizeof(struct sn_record_wait),
		[SN_RECORD_PACKET] = SN_PACKET_BYTES_LEAST,
		[SN_RECORD_TEXT] = sizeof(struct sn_record_text),
		[SN_RECORD_EXEC] = sizeof(struct sn_record_exec),
		[SN_RECORD_FORK] = sizeof(struct sn_record_fork),
		[SN_RECORD_TASK] = sizeof(struct sn_record_thread_account),
		[SN_RECORD_TALLY] = sizeof(struct sn_record_tally),
		[SN_RECORD_PATH] = sizeof(struct sn_record_path),
		[SN_RECORD_INSTANCES] = sizeof(struct sn_record_instances),
		[SN_RECORD_THREAD_POINTER] = sizeof(struct sn_record_thread_pointer),
		[SN_RECORD_BLOCKS] = sizeof(struct sn_record_blocks),
		[SN_RECORD_CALLER] = sizeof(struct sn_record_caller),
		[SN_RECORD_BUCKET] = sizeof(struct sn_record_bucket),
		[SN_RECORD_VARIANT] = SN_VARIANT_BYTES_LEAST,
		[SN_RECORD_ACCESS_TABLE] = sizeof(struct sn_record_access_table),
		[SN_RECORD_ACCESSES] = sizeof(struct sn_record_accesses),
		[SN_RECORD_COUNTER] = sizeof(struct sn_record_counter),
		[SN_RECORD_COUNT] = SN_COUNT_BYTES_LEAST,
		[SN_RECORD_CHILD_KILLED] = sizeof(struct sn_record_child_killed),
		[SN_RECORD_REGISTERS] = sizeof(struct sn_record_registers),
	};

	return type < SN_RECORD_KINDS ? least[type] : 0;
}

/* The text of a record whose fixed part is `fixed` bytes, cut to what the record holds. */
char *sn_decode_record_text(struct image *image, const void *record, const char *text,
			    uint32_t bytes)
{
	const struct sn_record_header *header = record;
	size_t before = (size_t)(text - (const char *)record);
	size_t room = header->size_bytes > before ? header->size_bytes - before : 0;

	if (bytes > room) {
		image->damaged++;
		bytes = (uint32_t)room;
	}
	return sn_arena_strndup(&image->decoder->experiment->arena, text, bytes);
}

static void owner_update(struct owner *owner, const void *record)
{
	const struct sn_record_header *header = record;

	if (header->type == SN_RECORD_OWNER) {
		const struct sn_record_owner *o = record;

		*owner = (struct owner){ o->thread_index, o->tid, o->base_ns, 0, true };
	} else if (header->type == SN_RECORD_TIME) {
		owner->base_ns = ((const struct sn_record_time *)record)->base_ns;
	} else if (header->type == SN_RECORD_CPU) {
		owner->extra_cpu_ns += ((const struct sn_record_cpu *)record)->cpu_ns;
	}
}

static void chunk_walk(struct image *image, uint32_t index, record_fn visit)
{
	const uint8_t *bytes = (const uint8_t *)chunk_of(image, index);
	uint32_t committed = chunk_committed(image, index), at = sizeof(struct sn_chunk_header);
	struct owner owner = { 0 };

	while (at < committed) {
		const struct sn_record_header *header = (const void *)(bytes + at);
		uint32_t size = sn_record_bytes(header, committed - at);

		if (!size || size < record_minimum(header->type)) {
			image->damaged++;
			return;
		}
		owner_update(&owner, header);
		visit(image, &owner, header);
		if (header->type == SN_RECORD_SAMPLE)
			owner.extra_cpu_ns = 0;
		at += size;
	}
}

/* When the first owner of a chunk began to write to it; 0 if that cannot be read. */
static int64_t chunk_base_ns(const struct image *image, uint32_t index)
{
	const struct sn_record_owner *owner = (const void *)(chunk_of(image, index) + 1);

	if (chunk_committed(image, index) < sizeof(struct sn_chunk_header) + sizeof(*owner) ||
	    owner->header.type != SN_RECORD_OWNER)
		return 0;
	return owner->base_ns;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct image *image = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t tx = chunk_base_ns(image, x), ty = chunk_base_ns(image, y);

	return tx != ty ? (tx > ty) - (tx < ty) : (x > y) - (x < y);
}

void sn_decode_walk(struct image *image, record_fn visit)
{
	uint32_t *order = sn_alloc_zeroed(image->chunk_count, sizeof(*order));
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->chunk_count; i++) {
		if (chunk_committed(image, i))
			order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), by_time, image);
	for (uint32_t i = 0; i < count; i++)
		chunk_walk(image, order[i], visit);
	free(order);
}
