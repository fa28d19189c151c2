/* Makes an experiment of snapshots of gmon.out, in the records of wire/data.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"
#include "code/image.h"
#include "exchange/gmon.h"
#include "experiment/experiment.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "wire/writer.h"

enum { CHUNKS = 1 << 20, THREADS_MAX = 256, TICKS_MAX = 20000000, PROLOGUE_BYTES_MAX = 128 };

struct tick {
	int64_t time_ns;
	uint64_t link_addr;
};

struct importer {
	const struct sn_gmon_import *how;
	struct sn_image *image;
	struct sn_gmon before; /* the snapshot before */
	struct sn_writer_file file;
	struct sn_writer writer;
	struct sn_map stacks; /* link address -> id */
	struct sn_text calls; /* the text of gmon.calls */
	uint64_t period_ns, user_ns, samples;
	uint64_t outside_samples;    /* in no function of the program */
	uint64_t arcs, outside_arcs; /* whose callee is not at the entry of a function */
	SN_VEC(struct tick) ticks;   /* of the interval in hand */
};

/* ---- records ---- */

static void header_begin(struct importer *im)
{
	struct sn_data_header *h = sn_writer_header(&im->file);

	h->magic = SN_DATA_MAGIC;
	h->version = SN_DATA_VERSION;
	h->header_bytes = SN_DATA_HEADER_BYTES;
	h->chunk_bytes = SN_DATA_CHUNK_BYTES;
	h->state = SN_DATA_EXECED; /* complete, but how it ended is not known */
	h->chunks_backed = h->chunks_max = CHUNKS;
	h->origin = SN_DATA_ORIGIN_OUTSIDE;
	h->pid = 1;
	h->parent_sequence = 0xffffffff;
	h->rank = h->rank_count = -1;
	h->exit_code = -1;
	h->mechanism = SN_MECHANISM_ITIMER_PROF;
	h->end_wait_cpu_ns = -1;
	snprintf(h->host, sizeof(h->host), "gmon");
	snprintf(h->program, sizeof(h->program), "%s", sn_image_path(im->image));
}

static void thread_begin(struct importer *im)
{
	struct sn_record_thread_start *start = sn_writer_reserve(&im->writer, sizeof(*start), 0);

	*start = (struct sn_record_thread_start){ .header = { .type = SN_RECORD_THREAD_START,
							      .size_bytes = sizeof(*start) },
						  .tid = 1,
						  .creator_index = 0xffffffff };
	sn_writer_commit(&im->writer, sizeof(*start));
}

static void build_id_set(const struct importer *im, struct sn_record_map *map)
{
	const char *hex = sn_image_id(im->image);
	unsigned byte;

	if (!sn_image_has_build_id(im->image))
		return;
	while (map->build_id_bytes < sizeof(map->build_id) && sscanf(hex, "%2x", &byte) == 1) {
		map->build_id[map->build_id_bytes++] = (uint8_t)byte;
		hex += 2;
	}
}

static void mapping_write(struct importer *im, const struct sn_segment *segment)
{
	const char *file = sn_image_path(im->image);
	size_t path_bytes = strnlen(file, SN_DATA_STRING_MAX);
	size_t bytes = (sizeof(struct sn_record_map) + path_bytes + 1 + 7) & ~(size_t)7;
	struct sn_record_map *map = sn_writer_reserve(&im->writer, (uint32_t)bytes, 0);

	memset(map, 0, bytes);
	map->header.type = SN_RECORD_MAP;
	map->header.size_bytes = (uint16_t)bytes;
	map->header.flags = SN_RECORD_MAP_MAIN;
	map->path_bytes = (uint32_t)path_bytes;
	map->load_start = segment->link_addr; /* gmon.out has link addresses */
	map->load_end = segment->link_addr + segment->memory_bytes;
	map->file_offset = segment->file_offset;
	build_id_set(im, map);
	memcpy(map->path, file, path_bytes);
	sn_writer_commit(&im->writer, (uint32_t)bytes);
}

static uint32_t stack_of(struct importer *im, uint64_t link_addr, int64_t now_ns)
{
	bool is_new;
	uint64_t *id = sn_map_put(&im->stacks, link_addr, &is_new);
	struct sn_record_stack *stack;

	if (!is_new)
		return (uint32_t)*id;
	*id = im->stacks.count;
	stack = sn_writer_reserve(&im->writer, sizeof(*stack) + 8, now_ns);
	stack->header = (struct sn_record_header){ .type = SN_RECORD_STACK,
						   .size_bytes = sizeof(*stack) + 8 };
	stack->id = (uint32_t)*id;
	stack->parent = 0;
	stack->depth = 1;
	stack->pc[0] = link_addr;
	sn_writer_commit(&im->writer, sizeof(*stack) + 8);
	return (uint32_t)*id;
}

static void thread_end(struct importer *im, int64_t end_ns)
{
	struct sn_data_header *h = sn_writer_header(&im->file);
	struct sn_record_thread_account *account =
		sn_writer_reserve(&im->writer, sizeof(*account), end_ns);

	*account = (struct sn_record_thread_account){ .header = { .type = SN_RECORD_THREAD_END,
								  .size_bytes = sizeof(*account) },
						      .time_ns = end_ns,
						      .user_ns = -1,
						      .system_ns = -1,
						      .cpu_ns = -2,
						      .wait_cpu_ns = -1 };
	sn_writer_commit(&im->writer, sizeof(*account));
	h->end_user_ns = (int64_t)im->user_ns;
	h->end_ns = h->end_realtime_ns = end_ns;
	h->period_ns = im->period_ns;
	h->chunks_backed = h->next_chunk;
}

/* ---- what a snapshot has more than the one before ---- */

static sn_status mixed(const char *path, struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_FORMAT,
			    "import: '%s' does not continue the snapshot before it; give the "
			    "snapshots of one run, in the order in which they were written",
			    path);
}

static bool histograms_match(const struct sn_gmon *x, const struct sn_gmon *y)
{
	if (x->histograms.count != y->histograms.count)
		return false;
	for (size_t i = 0; i < x->histograms.count; i++) {
		const struct sn_gmon_histogram *a = &x->histograms.items[i];
		const struct sn_gmon_histogram *b = &y->histograms.items[i];

		if (a->low_link_addr != b->low_link_addr || a->bin_count != b->bin_count ||
		    a->high_link_addr != b->high_link_addr || a->rate_hz != b->rate_hz)
			return false;
	}
	return true;
}

/* The ticks of a bin lie evenly in the interval. */
static void bin_add(struct importer *im, const struct sn_gmon_histogram *h, uint32_t bin,
		    uint16_t ticks, int64_t start_ns)
{
	double width = (double)(h->high_link_addr - h->low_link_addr) / h->bin_count;
	uint64_t addr = h->low_link_addr + (uint64_t)(((double)bin + 0.5) * width);

	for (uint16_t i = 0; i < ticks; i++)
		sn_vec_push(&im->ticks,
			    (struct tick){ start_ns + im->how->interval_ns * (2 * i + 1) /
							      (2 * (int64_t)ticks),
					   addr });
}

static int ticks_compare(const void *left, const void *right)
{
	const struct tick *x = left, *y = right;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->link_addr > y->link_addr) - (x->link_addr < y->link_addr);
}

static void ticks_write(struct importer *im)
{
	if (im->ticks.count)
		qsort(im->ticks.items, im->ticks.count, sizeof(*im->ticks.items), ticks_compare);
	for (size_t i = 0; i < im->ticks.count; i++) {
		const struct tick *tick = &im->ticks.items[i];
		uint32_t stack = stack_of(im, tick->link_addr, tick->time_ns);

		sn_writer_sample(&im->writer, tick->time_ns, im->period_ns, stack, 0, 0);
		im->user_ns += im->period_ns;
	}
	for (size_t i = 0; i < im->ticks.count; i++)
		im->outside_samples += !sn_image_symbol_at(im->image, im->ticks.items[i].link_addr);
	im->samples += im->ticks.count;
	im->ticks.count = 0;
}

static uint16_t ticks_of(const struct importer *im, const struct sn_gmon *now, size_t histogram,
			 uint32_t bin)
{
	uint16_t was =
		im->before.histograms.count ? im->before.histograms.items[histogram].bins[bin] : 0;

	return (uint16_t)(now->histograms.items[histogram].bins[bin] - was);
}

/* More ticks than THREADS_MAX threads could have had are damage (or a counter that went back). */
static sn_status ticks_check(const struct importer *im, const struct sn_gmon *now, const char *path,
			     struct sn_error *err)
{
	for (size_t i = 0; i < now->histograms.count; i++) {
		const struct sn_gmon_histogram *h = &now->histograms.items[i];
		double most = (double)h->rate_hz * ((double)im->how->interval_ns / 1e9 + 0.1) *
			      THREADS_MAX;
		uint64_t sum = 0;

		for (uint32_t bin = 0; bin < h->bin_count; bin++)
			sum += ticks_of(im, now, i, bin);
		if ((double)sum > most || sum > TICKS_MAX)
			return sn_error_set(err, SN_ERR_FORMAT,
					    "import: '%s' has %" PRIu64 " ticks more than the "
					    "snapshot before it, which no interval holds; give "
					    "the snapshots of one run in their order",
					    path, sum);
	}
	return SN_OK;
}

static void histograms_add(struct importer *im, const struct sn_gmon *now, int64_t start_ns)
{
	for (size_t i = 0; i < now->histograms.count; i++) {
		const struct sn_gmon_histogram *h = &now->histograms.items[i];

		im->period_ns = 1000000000 / h->rate_hz;
		for (uint32_t bin = 0; bin < h->bin_count; bin++)
			bin_add(im, h, bin, ticks_of(im, now, i, bin), start_ns);
	}
	ticks_write(im);
}

/* Calls of each function; the arcs' own addresses lie just behind the entry. */
static void calls_sum(const struct importer *im, const struct sn_gmon *gmon, struct sn_map *out)
{
	for (size_t i = 0; i < gmon->arcs.count; i++) {
		const struct sn_gmon_arc *arc = &gmon->arcs.items[i];
		const struct sn_symbol *symbol = sn_image_symbol_at(im->image, arc->self_link_addr);

		*sn_map_put(out, symbol ? symbol->link_addr : arc->self_link_addr, NULL) +=
			arc->count;
	}
}

/* Profiled functions count themselves just behind their entry. */
static void arcs_check(struct importer *im, const struct sn_gmon *gmon)
{
	for (size_t i = 0; i < gmon->arcs.count; i++) {
		uint64_t addr = gmon->arcs.items[i].self_link_addr;
		const struct sn_symbol *symbol = sn_image_symbol_at(im->image, addr);

		im->arcs++;
		im->outside_arcs += !symbol || addr - symbol->link_addr > PROLOGUE_BYTES_MAX;
	}
}

/* Names of another program would be wrong without a word. */
static sn_status program_check(const struct importer *im, struct sn_error *err)
{
	double ticks = im->samples ? (double)im->outside_samples / (double)im->samples : 0;

	if (ticks <= 0.5 && im->outside_arcs * 2 <= im->arcs)
		return SN_OK;
	return sn_error_set(err, SN_ERR_FORMAT,
			    "import: '%s' is not the program that wrote the snapshots: %.0f %% of "
			    "the ticks lie in none of its functions, %" PRIu64 " of %" PRIu64
			    " call counts at none of their entries; give the file that ran",
			    im->how->program, 100 * ticks, im->outside_arcs, im->arcs);
}

static sn_status calls_add(struct importer *im, const struct sn_gmon *now, const char *path,
			   int64_t start_ns, struct sn_error *err)
{
	struct sn_map counts = { 0 }, was = { 0 };
	sn_status status = SN_OK;

	calls_sum(im, now, &counts);
	calls_sum(im, &im->before, &was);
	for (size_t i = 0; i < was.capacity && status == SN_OK; i++)
		if (was.slots[i].used &&
		    (!sn_map_get(&counts, was.slots[i].key) ||
		     *sn_map_get(&counts, was.slots[i].key) < was.slots[i].value))
			status = mixed(path, err);
	for (size_t i = 0; i < counts.capacity && status == SN_OK; i++) {
		const struct sn_map_slot *slot = &counts.slots[i];
		const uint64_t *old = slot->used ? sn_map_get(&was, slot->key) : NULL;

		if (slot->used && slot->value > (old ? *old : 0))
			sn_text_addf(&im->calls, "%" PRId64 " %" PRIx64 " %" PRIu64 "\n",
				     start_ns + im->how->interval_ns / 2, slot->key,
				     slot->value - (old ? *old : 0));
	}
	sn_map_free(&counts);
	sn_map_free(&was);
	return status;
}

static sn_status snapshot_add(struct importer *im, size_t number, struct sn_error *err)
{
	const char *path = im->how->paths[number];
	int64_t start_ns = (int64_t)number * im->how->interval_ns;
	struct sn_file_view view;
	struct sn_gmon now = { 0 };
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = sn_gmon_read(view.bytes, view.length, path, &now, err);
	if (status == SN_OK && number && !histograms_match(&im->before, &now))
		status = mixed(path, err);
	if (status == SN_OK)
		status = ticks_check(im, &now, path, err);
	if (status == SN_OK)
		status = calls_add(im, &now, path, start_ns, err);
	if (status == SN_OK) {
		arcs_check(im, &now);
		histograms_add(im, &now, start_ns);
		sn_gmon_free(&im->before);
		im->before = now;
	} else {
		sn_gmon_free(&now);
	}
	sn_file_unmap(&view);
	return status;
}

/* ---- the experiment ---- */

static sn_status bytes_write(const char *folder, const char *name, const void *bytes, size_t length,
			     struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_writer writer;
	sn_status status;

	sn_text_addf(&path, "%s/%s", folder, name);
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	fwrite(bytes, 1, length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

static sn_status launch_write(const struct importer *im, const char *folder, struct sn_error *err)
{
	struct sn_launch launch = { .version = "import",
				    .program = sn_image_path(im->image),
				    .arguments = sn_image_path(im->image),
				    .label = im->how->label,
				    .host = "gmon",
				    .cpu_model = "",
				    .kernel = "",
				    .folder = "",
				    .clock = "gmon",
				    .rate_hz = im->period_ns ? 1e9 / (double)im->period_ns : 0,
				    .pid = 1,
				    .rank = -1,
				    .exit_status = -1,
				    .has_ended = true,
				    .tree_user_ns = -1,
				    .own_cpu_ns = -1,
				    .tree_system_ns = -1,
				    .others_share = -1 };
	sn_status status;

	launch.elapsed_ns = (int64_t)im->how->path_count * im->how->interval_ns;
	sn_vec_push(&launch.warnings, "imported from gmon.out snapshots: CPU time is counted in "
				      "ticks, there are no call paths and no blocked time");
	status = sn_launch_write(&launch, folder, err);
	sn_vec_free(&launch.warnings);
	return status;
}

static sn_status experiment_write(struct importer *im, struct sn_text *folder, struct sn_error *err)
{
	const char *base = strrchr(im->how->program, '/');
	struct sn_data_header *h = sn_writer_header(&im->file);
	char key[64];
	bool is_joined;
	sn_status status;

	thread_end(im, (int64_t)im->how->path_count * im->how->interval_ns);
	snprintf(key, sizeof(key), "gmon-%d-%" PRIu64, getpid(), im->samples);
	status = sn_store_create(im->how->output, base ? base + 1 : im->how->program, key, folder,
				 &is_joined, err);
	if (status == SN_OK)
		status = bytes_write(folder->chars, "gmon.1.data", im->file.base,
				     sn_data_file_bytes(h->next_chunk), err);
	if (status == SN_OK)
		status = bytes_write(folder->chars, "gmon.calls", im->calls.chars, im->calls.length,
				     err);
	return status == SN_OK ? launch_write(im, folder->chars, err) : status;
}

static sn_status import(struct importer *im, struct sn_text *folder, struct sn_error *err)
{
	const struct sn_segment *segments;
	size_t count;
	sn_status status = SN_OK;

	header_begin(im);
	thread_begin(im);
	segments = sn_image_segments(im->image, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].is_executable)
			mapping_write(im, &segments[i]);
	sn_text_add(&im->calls, "sonde.gmon-calls/1\n");
	for (size_t i = 0; i < im->how->path_count && status == SN_OK; i++)
		status = snapshot_add(im, i, err);
	if (status == SN_OK && !im->samples)
		status =
			sn_error_set(err, SN_ERR_NO_DATA,
				     "import: the snapshots have no ticks: the program used no CPU "
				     "time in its own code, or is not compiled with -pg");
	if (status == SN_OK)
		status = program_check(im, err);
	return status == SN_OK ? experiment_write(im, folder, err) : status;
}

sn_status sn_gmon_import(const struct sn_gmon_import *how, struct sn_text *folder,
			 uint64_t *sample_count, struct sn_error *err)
{
	struct sn_image_options options = { .only_this_file = true };
	struct importer im = { .how = how };
	size_t bytes = sn_data_file_bytes(CHUNKS);
	sn_status status = sn_image_open(how->program, &options, &im.image, err);

	if (status != SN_OK)
		return status;
	im.file.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (im.file.base == MAP_FAILED)
		sn_out_of_memory(bytes);
	im.file.half_full = SN_CHUNK_NONE;
	im.writer = (struct sn_writer){ .file = &im.file, .tid = 1 };
	status = import(&im, folder, err);
	*sample_count = im.samples;
	munmap(im.file.base, bytes);
	sn_gmon_free(&im.before);
	sn_image_free(im.image);
	sn_map_free(&im.stacks);
	sn_text_free(&im.calls);
	sn_vec_free(&im.ticks);
	return status;
}
