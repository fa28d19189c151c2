/**
 * Writes records into a mapped data file (wire/data.h). Header-only, no libc: the runtime uses it
 * in signal handlers, the outside sampler in an ordinary program.
 *
 * A struct sn_writer belongs to one thread. Of two copies that are written to, one writes over what the other
 * has committed, so there is never a second. It is not reentrant: the runtime keeps a flag so that a handler that interrupts a
 * writer leaves it alone, and who cannot wait steps aside (sn_writer_step_aside). struct sn_writer_file is
 * shared by all threads of the process and lock-free.
 */
#ifndef SN_WIRE_WRITER_H
#define SN_WIRE_WRITER_H

#include <stddef.h>

#include "wire/data.h"

enum { SN_CHUNK_NONE = 0xffffffff, SN_CHUNK_WORTH_KEEPING_BYTES = 1024 };

/** A data file being written. Set `base`; `half_full` starts as SN_CHUNK_NONE. */
struct sn_writer_file {
	uint8_t *base;		    /* the mapping: header, then chunks */
	_Atomic uint64_t half_full; /* list of chunks that ended threads left: tag << 32 | index */
};

struct sn_writer {
	struct sn_writer_file *file;
	struct sn_chunk_header *chunk; /* NULL: none yet, or none to be had */
	uint32_t used_bytes;	       /* committed so far in this chunk */
	uint32_t thread_index;
	int32_t tid;
	int64_t base_ns; /* of the samples that follow; valid if chunk */
};

static inline struct sn_data_header *sn_writer_header(const struct sn_writer_file *file)
{
	return (struct sn_data_header *)(void *)file->base;
}

static inline struct sn_chunk_header *sn_writer_chunk(const struct sn_writer_file *file,
						      uint32_t index)
{
	return (struct sn_chunk_header *)(void *)(file->base + sn_data_chunk_offset(index));
}

static inline void sn_writer_count_loss(struct sn_writer_file *file, enum sn_loss cause,
					uint64_t count)
{
	atomic_fetch_add_explicit(&sn_writer_header(file)->lost[cause], count,
				  memory_order_relaxed);
}

/** A half-full chunk of an ended thread, or SN_CHUNK_NONE. */
static inline uint32_t sn_writer_pop_half_full(struct sn_writer_file *file)
{
	uint64_t head = atomic_load_explicit(&file->half_full, memory_order_acquire);
	for (;;) {
		uint32_t index = (uint32_t)head;
		if (index == SN_CHUNK_NONE)
			return index;
		uint64_t next = ((head >> 32) + 1) << 32 | sn_writer_chunk(file, index)->free_next;
		if (atomic_compare_exchange_weak_explicit(&file->half_full, &head, next,
							  memory_order_acquire,
							  memory_order_acquire))
			return index;
	}
}

static inline void sn_writer_push_half_full(struct sn_writer_file *file, uint32_t index)
{
	uint64_t head = atomic_load_explicit(&file->half_full, memory_order_relaxed), next;
	do {
		sn_writer_chunk(file, index)->free_next = (uint32_t)head;
		next = ((head >> 32) + 1) << 32 | index;
	} while (!atomic_compare_exchange_weak_explicit(
		&file->half_full, &head, next, memory_order_release, memory_order_relaxed));
}

/** The next fresh chunk, or SN_CHUNK_NONE if no more are backed by disk space. */
static inline uint32_t sn_writer_draw_chunk(struct sn_writer_file *file)
{
	struct sn_data_header *header = sn_writer_header(file);
	uint32_t next = atomic_load_explicit(&header->next_chunk, memory_order_relaxed);
	do {
		if (next >= atomic_load_explicit(&header->chunks_backed, memory_order_acquire))
			return SN_CHUNK_NONE;
	} while (!atomic_compare_exchange_weak_explicit(
		&header->next_chunk, &next, next + 1, memory_order_relaxed, memory_order_relaxed));
	return next;
}

static inline void sn_writer_commit(struct sn_writer *writer, uint32_t bytes)
{
	writer->used_bytes += bytes;
	atomic_store_explicit(&writer->chunk->committed_bytes, writer->used_bytes,
			      memory_order_release);
}

static inline void *sn_writer_end(const struct sn_writer *writer)
{
	return (uint8_t *)writer->chunk + writer->used_bytes;
}

/** Takes a chunk with room for `bytes` after its OWNER record. False: none to be had. */
static inline int sn_writer_take_chunk(struct sn_writer *writer, uint32_t bytes, int64_t now_ns)
{
	struct sn_writer_file *file = writer->file;
	uint32_t index = bytes + sizeof(struct sn_record_owner) <= SN_CHUNK_WORTH_KEEPING_BYTES
				 ? sn_writer_pop_half_full(file)
				 : SN_CHUNK_NONE;
	if (index != SN_CHUNK_NONE) {
		writer->chunk = sn_writer_chunk(file, index);
		writer->used_bytes =
			atomic_load_explicit(&writer->chunk->committed_bytes, memory_order_relaxed);
	} else {
		index = sn_writer_draw_chunk(file);
		if (index == SN_CHUNK_NONE) {
			writer->chunk = NULL;
			return 0;
		}
		writer->chunk = sn_writer_chunk(file, index);
		writer->chunk->magic = SN_CHUNK_MAGIC;
		writer->chunk->index = index;
		writer->used_bytes = sizeof *writer->chunk;
	}
	struct sn_record_owner *owner = sn_writer_end(writer);
	*owner = (struct sn_record_owner){
		.header = { .type = SN_RECORD_OWNER, .size_bytes = sizeof *owner },
		.thread_index = writer->thread_index,
		.tid = writer->tid,
		.base_ns = now_ns,
	};
	writer->base_ns = now_ns;
	sn_writer_commit(writer, sizeof *owner);
	return 1;
}

/** Room for `bytes` (a multiple of 8, at most a chunk), to be filled and committed; NULL: none.
 * The caller counts the loss: it knows how much was lost. */
static inline void *sn_writer_reserve(struct sn_writer *writer, uint32_t bytes, int64_t now_ns)
{
	if (writer->chunk == NULL || writer->used_bytes + bytes > SN_DATA_CHUNK_BYTES)
		if (!sn_writer_take_chunk(writer, bytes, now_ns))
			return NULL;
	return sn_writer_end(writer);
}

/** The thread has ended: what is left of its chunk may be continued by another. */
static inline void sn_writer_release(struct sn_writer *writer)
{
	if (writer->chunk != NULL &&
	    writer->used_bytes + SN_CHUNK_WORTH_KEEPING_BYTES <= SN_DATA_CHUNK_BYTES)
		sn_writer_push_half_full(writer->file, writer->chunk->index);
	writer->chunk = NULL;
}

/** For who may have interrupted the writer between any two of its instructions, and has to write at once:
 * what follows goes to a chunk of its own. Gives what sn_writer_step_back wants. */
static inline struct sn_writer sn_writer_step_aside(struct sn_writer *writer)
{
	struct sn_writer interrupted = *writer;
	writer->chunk = NULL;
	return interrupted;
}

/** The interrupted writer goes on where it was. */
static inline void sn_writer_step_back(struct sn_writer *writer,
				       const struct sn_writer *interrupted)
{
	sn_writer_release(writer);
	*writer = *interrupted;
}

/** Writes a sample. False if there was no room: the caller carries cpu_ns to the next one. */
static inline int sn_writer_sample(struct sn_writer *writer, int64_t now_ns, uint64_t cpu_ns,
				   uint32_t stack, uint16_t cpu, uint8_t flags)
{
	uint8_t *next =
		sn_writer_reserve(writer,
				  sizeof(struct sn_record_time) + sizeof(struct sn_record_cpu) +
					  sizeof(struct sn_record_sample),
				  now_ns);
	uint32_t bytes = 0;
	if (next == NULL)
		return 0;
	if (now_ns < writer->base_ns || now_ns - writer->base_ns > UINT32_MAX) {
		*(struct sn_record_time *)(void *)next = (struct sn_record_time){
			.header = { .type = SN_RECORD_TIME,
				    .size_bytes = sizeof(struct sn_record_time) },
			.base_ns = now_ns
		};
		writer->base_ns = now_ns;
		bytes += sizeof(struct sn_record_time);
	}
	if (cpu_ns > UINT32_MAX) {
		*(struct sn_record_cpu *)(void *)(next + bytes) =
			(struct sn_record_cpu){ .header = { .type = SN_RECORD_CPU,
							    .size_bytes =
								    sizeof(struct sn_record_cpu) },
						.cpu_ns = cpu_ns };
		cpu_ns = 0;
		bytes += sizeof(struct sn_record_cpu);
	}
	*(struct sn_record_sample *)(void *)(next + bytes) =
		(struct sn_record_sample){ .type = SN_RECORD_SAMPLE,
					   .flags = flags,
					   .cpu = cpu,
					   .stack = stack,
					   .time_ns = (uint32_t)(now_ns - writer->base_ns),
					   .cpu_ns = (uint32_t)cpu_ns };
	sn_writer_commit(writer, bytes + sizeof(struct sn_record_sample));
	return 1;
}

/** Writes a TALLY record; `name` is cut to what it holds. False: no room. */
static inline int sn_writer_tally(struct sn_writer *writer, int64_t now_ns, const char *name,
				  uint32_t stack, uint64_t count, uint64_t value)
{
	struct sn_record_tally *record = sn_writer_reserve(writer, sizeof *record, now_ns);
	if (record == NULL)
		return 0;
	*record = (struct sn_record_tally){ .header = { .type = SN_RECORD_TALLY,
							.size_bytes = sizeof *record },
					    .stack = stack,
					    .count = count,
					    .value = value };
	for (size_t i = 0; i + 1 < sizeof record->name && name[i] != '\0'; i++)
		record->name[i] = name[i];
	sn_writer_commit(writer, sizeof *record);
	return 1;
}

/** Writes a TEXT record, cut at SN_DATA_STRING_MAX. False: no room. */
static inline int sn_writer_text(struct sn_writer *writer, int64_t now_ns, uint8_t kind,
				 const char *text, size_t text_bytes)
{
	if (text_bytes > SN_DATA_STRING_MAX) {
		text_bytes = SN_DATA_STRING_MAX;
		kind |= SN_TEXT_CUT;
	}
	uint32_t bytes =
		(uint32_t)(sizeof(struct sn_record_text) + text_bytes + 1 + 7) & ~(uint32_t)7;
	struct sn_record_text *record = sn_writer_reserve(writer, bytes, now_ns);
	if (record == NULL)
		return 0;
	record->header = (struct sn_record_header){ .type = SN_RECORD_TEXT,
						    .flags = kind,
						    .size_bytes = (uint16_t)bytes };
	record->text_bytes = (uint32_t)text_bytes;
	for (size_t i = 0; i < text_bytes; i++)
		record->text[i] = text[i];
	record->text[text_bytes] = '\0';
	sn_writer_commit(writer, bytes);
	return 1;
}

#endif
