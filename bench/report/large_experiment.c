/* Writes an experiment with many samples and distinct stacks, to time show and report on:
 *
 *	large_experiment FOLDER PROGRAM [SAMPLES [STACKS [FRAMES]]]
 *
 * Stacks are made of random addresses in PROGRAM's own functions; nothing is run. Paths share their
 * upper frames, as real ones do, and few stacks have most of the samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stats.h"
#include "code/image.h"
#include "experiment/experiment.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "wire/writer.h"

enum { CHUNKS = 1 << 20, THREADS = 8, FRAMES_MOST = 60, FUNCTIONS_MOST = 1000 };

static const int64_t period_ns = 1000000;

struct making {
	struct sn_image *image;
	struct sn_writer_file file;
	struct sn_writer writers[THREADS];
	struct sn_random random;
	const struct sn_symbol *functions[FUNCTIONS_MOST];
	size_t function_count, frames;
};

static void header_begin(struct making *m)
{
	struct sn_data_header *h = sn_writer_header(&m->file);

	h->magic = SN_DATA_MAGIC;
	h->version = SN_DATA_VERSION;
	h->header_bytes = SN_DATA_HEADER_BYTES;
	h->chunk_bytes = SN_DATA_CHUNK_BYTES;
	h->state = SN_DATA_EXECED;
	h->chunks_backed = h->chunks_max = CHUNKS;
	h->origin = SN_DATA_ORIGIN_OUTSIDE;
	h->pid = 1;
	h->parent_sequence = 0xffffffff;
	h->rank = h->rank_count = -1;
	h->exit_code = -1;
	h->period_ns = (uint64_t)period_ns;
	h->mechanism = SN_MECHANISM_ITIMER_PROF;
	h->end_wait_cpu_ns = -1;
	snprintf(h->host, sizeof(h->host), "bench");
	snprintf(h->program, sizeof(h->program), "%s", sn_image_path(m->image));
}

static void threads_begin(struct making *m)
{
	for (int t = 0; t < THREADS; t++) {
		struct sn_record_thread_start *start;

		m->writers[t] = (struct sn_writer){ .file = &m->file,
						    .thread_index = (uint32_t)t,
						    .tid = 1 + t };
		start = sn_writer_reserve(&m->writers[t], sizeof(*start), 0);
		*start = (struct sn_record_thread_start){
			.header = { .type = SN_RECORD_THREAD_START, .size_bytes = sizeof(*start) },
			.tid = 1 + t,
			.creator_index = t ? 0 : 0xffffffff,
		};
		sn_writer_commit(&m->writers[t], sizeof(*start));
	}
}

static void build_id_set(const struct making *m, struct sn_record_map *map)
{
	const char *hex = sn_image_id(m->image);
	unsigned byte;

	if (!sn_image_has_build_id(m->image))
		return;
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		map->build_id[map->build_id_bytes++] = (uint8_t)byte;
}

static void mappings_write(struct making *m)
{
	const char *path = sn_image_path(m->image);
	size_t path_bytes = strlen(path), count;
	size_t bytes = (sizeof(struct sn_record_map) + path_bytes + 1 + 7) & ~(size_t)7;
	const struct sn_segment *segments = sn_image_segments(m->image, &count);

	for (size_t i = 0; i < count; i++) {
		struct sn_record_map *map;

		if (!segments[i].is_executable)
			continue;
		map = sn_writer_reserve(&m->writers[0], (uint32_t)bytes, 0);
		memset(map, 0, bytes);
		map->header = (struct sn_record_header){ .type = SN_RECORD_MAP,
							 .size_bytes = (uint16_t)bytes,
							 .flags = SN_RECORD_MAP_MAIN };
		map->path_bytes = (uint32_t)path_bytes;
		map->load_start = segments[i].link_addr;
		map->load_end = segments[i].link_addr + segments[i].memory_bytes;
		map->file_offset = segments[i].file_offset;
		build_id_set(m, map);
		memcpy(map->path, path, path_bytes);
		sn_writer_commit(&m->writers[0], (uint32_t)bytes);
	}
}

static void functions_choose(struct making *m)
{
	size_t count;
	const struct sn_symbol *symbols = sn_image_symbols(m->image, &count);

	for (size_t i = 0; i < count && m->function_count < FUNCTIONS_MOST; i += 3)
		if (symbols[i].kind == SN_SYMBOL_FUNCTION && symbols[i].size_bytes >= 32)
			m->functions[m->function_count++] = &symbols[i];
}

/* The outermost frames come from few functions, the innermost from all. A function has a few places
 * that call, and some more where samples fall. */
static uint64_t address(struct making *m, size_t from_top, bool is_leaf)
{
	size_t among = from_top < 3 ? 1 + from_top : from_top < 12 ? 60 : m->function_count;
	uint64_t places = is_leaf ? 40 : 6;
	const struct sn_symbol *symbol;

	among = among < m->function_count ? among : m->function_count;
	symbol = m->functions[sn_random_below(&m->random, among)];
	return symbol->link_addr + 1 +
	       sn_random_below(&m->random, places) * (symbol->size_bytes - 1) / places;
}

static void stack_write(struct making *m, uint32_t id)
{
	size_t bytes = sizeof(struct sn_record_stack) + 8 * m->frames;
	struct sn_record_stack *stack = sn_writer_reserve(&m->writers[0], (uint32_t)bytes, 0);

	stack->header = (struct sn_record_header){ .type = SN_RECORD_STACK,
						   .flags = SN_STACK_COMPLETE,
						   .size_bytes = (uint16_t)bytes };
	stack->id = id;
	stack->parent = 0;
	stack->depth = (uint32_t)m->frames;
	for (size_t i = 0; i < m->frames; i++)
		stack->pc[i] = address(m, m->frames - 1 - i, i == 0);
	sn_writer_commit(&m->writers[0], (uint32_t)bytes);
}

static void samples_write(struct making *m, uint64_t samples, uint64_t stacks)
{
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t pick = sn_random_below(&m->random, stacks);

		if (i >= stacks) /* each once, then mostly the first */
			pick = sn_random_below(&m->random, pick + 1);
		sn_writer_sample(&m->writers[i % THREADS], (int64_t)(i / THREADS + 1) * period_ns,
				 (uint64_t)period_ns, (uint32_t)(i < stacks ? i : pick) + 1,
				 (uint16_t)(i % THREADS), 0);
	}
}

static void threads_end(struct making *m, uint64_t samples)
{
	struct sn_data_header *h = sn_writer_header(&m->file);
	int64_t end_ns = (int64_t)(samples / THREADS + 1) * period_ns;

	for (int t = 0; t < THREADS; t++) {
		struct sn_record_thread_account *account =
			sn_writer_reserve(&m->writers[t], sizeof(*account), end_ns);

		*account = (struct sn_record_thread_account){
			.header = { .type = SN_RECORD_THREAD_END, .size_bytes = sizeof(*account) },
			.time_ns = end_ns,
			.user_ns = -1,
			.system_ns = -1,
			.cpu_ns = -2,
			.wait_cpu_ns = -1
		};
		sn_writer_commit(&m->writers[t], sizeof(*account));
	}
	h->end_user_ns = (int64_t)samples * period_ns;
	h->end_ns = h->end_realtime_ns = end_ns;
	h->chunks_backed = h->next_chunk;
}

static sn_status folder_write(const struct making *m, const char *output, uint64_t samples,
			      struct sn_error *err)
{
	const struct sn_data_header *h = sn_writer_header(&m->file);
	struct sn_launch launch = { .version = "bench",
				    .program = sn_image_path(m->image),
				    .arguments = sn_image_path(m->image),
				    .label = "",
				    .host = "bench",
				    .cpu_model = "",
				    .kernel = "",
				    .folder = "",
				    .clock = "bench",
				    .rate_hz = 1e9 / (double)period_ns,
				    .pid = 1,
				    .rank = -1,
				    .exit_status = -1,
				    .has_ended = true,
				    .tree_user_ns = -1,
				    .tree_system_ns = -1 };
	struct sn_text folder = { 0 }, path = { 0 };
	struct sn_file_writer writer;
	bool is_joined;
	sn_status status = sn_store_create(output, "large", "bench", &folder, &is_joined, err);

	if (status != SN_OK)
		return status;
	launch.elapsed_ns = (int64_t)(samples / THREADS) * period_ns;
	sn_text_addf(&path, "%s/bench.1.data", folder.chars);
	status = sn_file_writer_open(&writer, path.chars, err);
	if (status == SN_OK) {
		fwrite(m->file.base, 1, sn_data_file_bytes(h->next_chunk), writer.out);
		status = sn_file_writer_commit(&writer, err);
	}
	if (status == SN_OK)
		status = sn_launch_write(&launch, folder.chars, err);
	sn_text_free(&folder);
	sn_text_free(&path);
	return status;
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 3 ? strtoull(argv[3], NULL, 10) : 1300000;
	uint64_t stacks = argc > 4 ? strtoull(argv[4], NULL, 10) : 300000;
	struct making m = { .frames = argc > 5 ? strtoul(argv[5], NULL, 10) : 25 };
	struct sn_error err;

	if (argc < 3 || !m.frames || m.frames > FRAMES_MOST || !stacks) {
		fprintf(stderr, "usage: large_experiment FOLDER PROGRAM [SAMPLES [STACKS "
				"[FRAMES up to 60]]]\n");
		return 2;
	}
	if (sn_image_open(argv[2], NULL, &m.image, &err) != SN_OK) {
		sn_error_print(&err);
		return 1;
	}
	m.file.base = mmap(NULL, sn_data_file_bytes(CHUNKS), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	m.file.half_full = SN_CHUNK_NONE;
	sn_random_seed(&m.random, 7);
	header_begin(&m);
	threads_begin(&m);
	mappings_write(&m);
	functions_choose(&m);
	for (uint64_t i = 0; i < stacks; i++)
		stack_write(&m, (uint32_t)i + 1);
	samples_write(&m, samples, stacks);
	threads_end(&m, samples);
	if (folder_write(&m, argv[1], samples, &err) != SN_OK) {
		sn_error_print(&err);
		return 1;
	}
	return 0;
}
