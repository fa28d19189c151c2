#include "wire/writer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "harness/tap.h"

enum { CHUNKS = 64 };

static struct sn_writer_file file_new(uint32_t chunks)
{
	struct sn_writer_file file = { .base = calloc(1, sn_data_file_bytes(CHUNKS)),
				       .half_full = SN_CHUNK_NONE };
	sn_writer_header(&file)->chunks_backed = chunks;
	return file;
}

/* Walks every chunk; per thread: number of samples, sum of cpu_ns, last time. */
struct seen {
	uint64_t samples, cpu_ns, texts, unknown;
	int64_t last_ns;
	uint32_t damaged;
};

static void walk(const struct sn_writer_file *file, struct seen *seen)
{
	for (uint32_t i = 0; i < sn_writer_header(file)->next_chunk; i++) {
		const struct sn_chunk_header *chunk = sn_writer_chunk(file, i);
		uint32_t thread = UINT32_MAX, end = chunk->committed_bytes;
		int64_t base_ns = 0;
		uint64_t cpu_ns = 0;
		for (uint32_t at = sizeof *chunk, size; at < end; at += size) {
			const uint8_t *record = (const uint8_t *)chunk + at;
			size = sn_record_bytes(record, end - at);
			if (size == 0) {
				seen[0].damaged++;
				break;
			}
			if (record[0] == SN_RECORD_OWNER) {
				const struct sn_record_owner *owner = (const void *)record;
				thread = owner->thread_index;
				base_ns = owner->base_ns;
			} else if (record[0] == SN_RECORD_TIME) {
				base_ns = ((const struct sn_record_time *)(const void *)record)
						  ->base_ns;
			} else if (record[0] == SN_RECORD_CPU) {
				cpu_ns = ((const struct sn_record_cpu *)(const void *)record)
						 ->cpu_ns;
			} else if (record[0] == SN_RECORD_SAMPLE) {
				const struct sn_record_sample *sample = (const void *)record;
				seen[thread].samples++;
				seen[thread].cpu_ns += sample->cpu_ns + cpu_ns;
				seen[thread].last_ns = base_ns + sample->time_ns;
				cpu_ns = 0;
			} else if (record[0] == SN_RECORD_TEXT) {
				seen[thread].texts++;
			} else {
				seen[thread].unknown++;
			}
		}
	}
}

TEST(samples_come_back_with_long_times)
{
	struct sn_writer_file file = file_new(CHUNKS);
	struct sn_writer writer = { .file = &file, .thread_index = 0, .tid = 7 };
	struct seen seen[1] = { { 0 } };
	int64_t now = 1000;

	for (int i = 0; i < 2000; i++)
		CHECK(sn_writer_sample(&writer, now += 1000000, 1000000, 1, 0, 0));
	CHECK(sn_writer_sample(&writer, now += 20000000000, 20000000000, 1, 0, 0));
	CHECK(sn_writer_text(&writer, now, SN_TEXT_WARNING, "hello", 5));
	walk(&file, seen);
	CHECK_INT(seen[0].samples, 2001);
	CHECK_INT(seen[0].cpu_ns, 22000000000);
	CHECK_INT(seen[0].last_ns, now);
	CHECK_INT(seen[0].texts, 1);
	CHECK_INT(seen[0].damaged, 0);
	CHECK_INT(sn_writer_header(&file)->next_chunk, 4);
	free(file.base);
}

TEST(no_space_is_said_and_growth_is_seen)
{
	struct sn_writer_file file = file_new(1);
	struct sn_writer writer = { .file = &file };
	struct seen seen[1] = { { 0 } };
	int written = 0;

	for (int i = 0; i < 600; i++)
		written += sn_writer_sample(&writer, i, 1, 0, 0, 0);
	CHECK(written >= 505 && written < 512);
	CHECK_INT(sn_writer_header(&file)->next_chunk, 1);
	sn_writer_header(&file)->chunks_backed = 2;
	CHECK(sn_writer_sample(&writer, 600, 1, 0, 0, 0));
	walk(&file, seen);
	CHECK_INT(seen[0].samples, written + 1);
	free(file.base);
}

TEST(text_is_cut_not_dropped)
{
	struct sn_writer_file file = file_new(CHUNKS);
	struct sn_writer writer = { .file = &file };
	char text[5000];

	memset(text, 'x', sizeof text);
	CHECK(sn_writer_text(&writer, 1, SN_TEXT_ARGUMENT, text, sizeof text));
	const struct sn_record_text *record =
		(const void *)((uint8_t *)writer.chunk + sizeof(struct sn_chunk_header) +
			       sizeof(struct sn_record_owner));
	CHECK_INT(record->text_bytes, SN_DATA_STRING_MAX);
	CHECK_INT(record->header.flags, SN_TEXT_ARGUMENT | SN_TEXT_CUT);
	free(file.base);
}

/* A handler that cannot wait, between the reserving of a record and its end. */
TEST(a_nested_record_leaves_the_half_written_one_alone)
{
	struct sn_writer_file file = file_new(CHUNKS);
	struct sn_writer writer = { .file = &file, .thread_index = 0 };
	struct seen seen[1] = { { 0 } };

	for (int i = 0; i < 1000; i++) {
		uint32_t bytes = sizeof(struct sn_record_unmap);
		struct sn_record_unmap *record = sn_writer_reserve(&writer, bytes, i);
		record->header = (struct sn_record_header){ .type = SN_RECORD_UNMAP,
							    .size_bytes = (uint16_t)bytes };
		struct sn_writer interrupted = sn_writer_step_aside(&writer);
		CHECK(sn_writer_sample(&writer, i, 1, 1, 0, 0));
		CHECK(sn_writer_text(&writer, i, SN_TEXT_WARNING, "nested", 6));
		sn_writer_step_back(&writer, &interrupted);
		record->time_ns = i;
		record->load_start = record->load_end = UINT64_MAX;
		sn_writer_commit(&writer, bytes);
	}
	walk(&file, seen);
	CHECK_INT(seen[0].samples, 1000);
	CHECK_INT(seen[0].texts, 1000);
	CHECK_INT(seen[0].unknown, 1000);
	CHECK_INT(seen[0].damaged, 0);
	CHECK(sn_writer_header(&file)->next_chunk <=
	      1000 * 100 / 7000 + 4); /* both go on in theirs */
	free(file.base);
}

/* Wherever the writer is when it is interrupted, even as it goes from chunk to chunk. */
TEST(a_nested_record_may_fall_between_chunks)
{
	struct sn_writer_file file = file_new(CHUNKS);
	struct sn_writer writer = { .file = &file, .thread_index = 0 };
	struct seen seen[1] = { { 0 } };

	CHECK(sn_writer_sample(&writer, 1, 1, 1, 0, 0));
	struct sn_writer before = writer;
	writer.chunk = sn_writer_chunk(&file, sn_writer_draw_chunk(&file));
	struct sn_writer interrupted = sn_writer_step_aside(&writer);
	CHECK(sn_writer_sample(&writer, 2, 1, 1, 0, 0));
	sn_writer_step_back(&writer, &interrupted);
	CHECK_INT(writer.used_bytes, before.used_bytes);
	CHECK(writer.chunk == interrupted.chunk);
	walk(&file, seen);
	CHECK_INT(seen[0].samples, 2);
	CHECK_INT(seen[0].damaged, 0);
	free(file.base);
}

/* Many short threads share the chunks that earlier ones left half full. */
struct job {
	struct sn_writer_file *file;
	uint32_t first;
};

static void *short_threads(void *context)
{
	struct job *job = context;

	for (uint32_t i = 0; i < 1000; i++) {
		struct sn_writer writer = { .file = job->file, .thread_index = job->first + i };
		for (int k = 0; k < 3; k++)
			sn_writer_sample(&writer, k, 10, 0, 0, 0);
		sn_writer_release(&writer);
	}
	return NULL;
}

TEST(half_full_chunks_are_continued)
{
	static struct seen seen[4000];
	struct sn_writer_file file = file_new(CHUNKS);
	struct job jobs[4];
	pthread_t threads[4];

	for (uint32_t i = 0; i < 4; i++) {
		jobs[i] = (struct job){ &file, i * 1000 };
		pthread_create(&threads[i], NULL, short_threads, &jobs[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	walk(&file, seen);
	int wrong = 0;
	for (int i = 0; i < 4000; i++)
		wrong += seen[i].samples != 3 || seen[i].cpu_ns != 30;
	CHECK_INT(wrong, 0);
	CHECK_INT(seen[0].damaged, 0);
	CHECK(sn_writer_header(&file)->next_chunk <= 4000 * 80 / 7000 + 8);
	free(file.base);
}

TEST(a_damaged_size_is_refused)
{
	_Alignas(8) struct sn_record_header words[8] = { 0 };
	struct sn_record_header *header = words;

	CHECK_INT(sn_record_bytes(words, 32), 0);
	header->type = 200;
	header->size_bytes = 24;
	CHECK_INT(sn_record_bytes(words, 32), 24);
	CHECK_INT(sn_record_bytes(words, 16), 0);
	header->size_bytes = 12;
	CHECK_INT(sn_record_bytes(words, 32), 0);
	header->size_bytes = 0;
	CHECK_INT(sn_record_bytes(words, 32), 0);
	header->type = SN_RECORD_SAMPLE;
	CHECK_INT(sn_record_bytes(words, 32), 16);
	CHECK_INT(sn_record_bytes(words, 8), 0);
}
