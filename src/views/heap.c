/* The views of the heap: what each site allocated, what it left behind, what it held at the peak. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "heap/sites.h"
#include "trace/trace.h"
#include "views/parts.h"

enum {
	H_SITE,
	H_FUNCTION,
	H_FILE,
	H_LINE,
	H_MODULE,
	H_KIND,
	H_ALLOCATIONS,
	H_BYTES,
	H_FREES,
	H_LEAKED_COUNT,
	H_LEAKED_BYTES,
	H_PEAK_BYTES,
	H_TEMPORARY,
	H_MEAN_BYTES,
	H_PEAK_SHARE,
	H_LEAKED_SHARE,
	H_SAMPLES,
	H_ALLOCATIONS_LOW,
	H_ALLOCATIONS_HIGH,
	H_BYTES_LOW,
	H_BYTES_HIGH,
	H_LEAKED_LOW,
	H_LEAKED_HIGH,
	H_PEAK_LOW,
	H_PEAK_HIGH,
	H_NODE,
	H_PARENT,
	H_DEPTH,
};

static const struct sn_column heap_columns[] = {
	{ "site", "site", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "allocations", "allocs", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_INT, 0 },
	{ "frees", "frees", SN_CELL_INT, 0 },
	{ "leaked_count", "leaks", SN_CELL_INT, 0 },
	{ "leaked_bytes", "leaked B", SN_CELL_INT, 0 },
	{ "peak_bytes", "at peak B", SN_CELL_INT, 0 },
	{ "temporary", "temporary", SN_CELL_INT, 0 },
	{ "mean_bytes", "mean B", SN_CELL_REAL, 1 },
	{ "peak_share", "of peak", SN_CELL_SHARE, 0 },
	{ "leaked_share", "of leaks", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "allocations_low", NULL, SN_CELL_INT, 0 },
	{ "allocations_high", NULL, SN_CELL_INT, 0 },
	{ "bytes_low", NULL, SN_CELL_INT, 0 },
	{ "bytes_high", NULL, SN_CELL_INT, 0 },
	{ "leaked_bytes_low", NULL, SN_CELL_INT, 0 },
	{ "leaked_bytes_high", NULL, SN_CELL_INT, 0 },
	{ "peak_bytes_low", NULL, SN_CELL_INT, 0 },
	{ "peak_bytes_high", NULL, SN_CELL_INT, 0 },
	{ "node", NULL, SN_CELL_INT, 0 },
	{ "parent", NULL, SN_CELL_INT, 0 },
	{ "depth", NULL, SN_CELL_INT, 0 },
};

/* ---- rows ---- */

static void site_name(struct sn_table *table, const struct sn_program *program,
		      const struct sn_heap_site *site)
{
	static const struct sn_site_columns columns = { H_SITE, H_FUNCTION, H_FILE, H_LINE,
							H_MODULE };

	sn_view_set_site(table, &columns, program, (struct sn_site){ site->function, site->line });
}

static void interval_set(struct sn_table *table, int column, uint64_t bytes, double variance)
{
	uint64_t low, high;

	sn_heap_interval(bytes, variance, &low, &high);
	sn_table_set_int(table, column, (int64_t)low);
	sn_table_set_int(table, column + 1, (int64_t)high);
}

/* The 95 % intervals of a sample. */
static void intervals_set(struct sn_table *table, const struct sn_heap_sums *sums)
{
	sn_table_set_int(table, H_SAMPLES, (int64_t)sums->samples);
	interval_set(table, H_ALLOCATIONS_LOW, sums->allocations, sums->allocations_variance);
	interval_set(table, H_BYTES_LOW, sums->bytes, sums->bytes_variance);
	interval_set(table, H_LEAKED_LOW, sums->leaked_bytes, sums->leaked_variance);
	interval_set(table, H_PEAK_LOW, sums->peak_bytes, sums->peak_variance);
}

static void site_row(struct sn_table *table, const struct sn_program *program,
		     const struct sn_heap *heap, const struct sn_heap_site *site)
{
	const struct sn_heap_sums *sums = &site->sums;

	sn_table_add_row(table);
	site_name(table, program, site);
	sn_table_set_text(table, H_KIND, site->is_new ? "new" : "malloc");
	sn_table_set_int(table, H_ALLOCATIONS, (int64_t)sums->allocations);
	sn_table_set_int(table, H_BYTES, (int64_t)sums->bytes);
	sn_table_set_int(table, H_FREES, (int64_t)sums->frees);
	sn_table_set_int(table, H_LEAKED_COUNT, (int64_t)sums->leaked_count);
	sn_table_set_int(table, H_LEAKED_BYTES, (int64_t)sums->leaked_bytes);
	sn_table_set_int(table, H_PEAK_BYTES, (int64_t)sums->peak_bytes);
	/* a sample does not know a thread's next allocation */
	if (heap->mode != SN_HEAP_SAMPLE)
		sn_table_set_int(table, H_TEMPORARY, (int64_t)sums->temporary);
	if (sums->allocations)
		sn_table_set_real(table, H_MEAN_BYTES,
				  (double)sums->bytes / (double)sums->allocations);
	sn_table_set_real(table, H_PEAK_SHARE, sn_share(sums->peak_bytes, heap->total.peak_bytes));
	sn_table_set_real(table, H_LEAKED_SHARE,
			  sn_share(sums->leaked_bytes, heap->total.leaked_bytes));
	if (heap->mode == SN_HEAP_SAMPLE)
		intervals_set(table, sums);
}

static uint64_t allocations_of(const struct sn_heap_sums *sums)
{
	return sums->allocations;
}

static uint64_t leaked_bytes_of(const struct sn_heap_sums *sums)
{
	return sums->leaked_bytes;
}

static uint64_t peak_bytes_of(const struct sn_heap_sums *sums)
{
	return sums->peak_bytes;
}

static bool is_any(const struct sn_heap_sums *sums)
{
	return sums->allocations != 0;
}

static bool is_leak(const struct sn_heap_sums *sums)
{
	return sums->leaked_count != 0;
}

static bool is_at_peak(const struct sn_heap_sums *sums)
{
	return sums->peak_bytes != 0;
}

/* Of a tree, callers with less than that part of the whole are left out. */
static const double callers_least_share = 0.005;

/* The heap as it was read before for the same input, or now. */
static sn_status heap_get(const struct sn_view_input *input, struct sn_heap **out,
			  struct sn_error *err)
{
	if (!*input->heap) {
		sn_status status = sn_heap_read(input->profile->experiment, input->heap, err);

		if (status != SN_OK)
			return status;
	}
	*out = *input->heap;
	return SN_OK;
}

static void rows_add(struct sn_table *table, const struct sn_program *program,
		     const struct sn_heap *heap, const struct sn_heap_sites *sites, bool is_tree,
		     bool (*is_wanted)(const struct sn_heap_sums *))
{
	for (size_t i = 0; i < sites->items.count; i++) {
		const struct sn_heap_site *site = &sites->items.items[i];

		if (!is_wanted(&site->sums))
			continue;
		site_row(table, program, heap, site);
		if (!is_tree)
			continue;
		sn_table_set_depth(table, H_SITE, site->depth);
		sn_table_set_int(table, H_NODE, (int64_t)i + 1);
		sn_table_set_int(table, H_PARENT, site->parent);
		sn_table_set_int(table, H_DEPTH, site->depth);
	}
}

static sn_status sites_fill(const struct sn_view_input *input, struct sn_table *table,
			    bool (*is_wanted)(const struct sn_heap_sums *), sn_heap_measure measure,
			    struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	struct sn_view_input ours = *input;
	struct sn_heap *heap, *own = NULL;
	struct sn_heap_sites sites;
	sn_status status;

	if (!ours.heap)
		ours.heap = &own;
	status = heap_get(&ours, &heap, err);
	if (status != SN_OK)
		return status;
	sites = input->with_callers ? sn_heap_tree_of(program, heap, measure,
						      input->all_paths ? 0 : callers_least_share)
				    : sn_heap_sites_of(program, heap);
	rows_add(table, program, heap, &sites, input->with_callers, is_wanted);
	sn_heap_sites_free(&sites);
	sn_heap_free(own);
	return SN_OK;
}

static sn_status heap_fill(const struct sn_view_input *input, struct sn_table *table,
			   struct sn_error *err)
{
	return sites_fill(input, table, is_any, allocations_of, err);
}

static sn_status leaks_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	return sites_fill(input, table, is_leak, leaked_bytes_of, err);
}

static sn_status peak_fill(const struct sn_view_input *input, struct sn_table *table,
			   struct sn_error *err)
{
	return sites_fill(input, table, is_at_peak, peak_bytes_of, err);
}

/* ---- what goes with the rows ---- */

static const char *mode_name(enum sn_heap_mode mode)
{
	return mode == SN_HEAP_AGGREGATE ? "aggregate"
	       : mode == SN_HEAP_SAMPLE	 ? "sample"
					 : "trace";
}

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_heap *heap;
	struct sn_error err;

	if (heap_get(input, &heap, &err) != SN_OK)
		return;
	sn_json_key(json, "mode");
	if (heap->is_traced)
		sn_json_string(json, mode_name(heap->mode));
	else
		sn_json_null(json);
	if (heap->mode == SN_HEAP_SAMPLE) {
		sn_json_member_uint(json, "interval_bytes", heap->interval_bytes);
		sn_json_member_uint(json, "samples", heap->total.samples);
	}
	sn_json_member_uint(json, "allocations", heap->total.allocations);
	sn_json_member_uint(json, "frees", heap->total.frees);
	sn_json_member_uint(json, "bytes", heap->total.bytes);
	sn_json_member_uint(json, "peak_bytes", heap->total.peak_bytes);
	sn_json_member_double(json, "peak_t_s", (double)heap->peak_ns / 1e9);
	/* what was lost may have released them, and have held more */
	sn_json_member_bool(json, "is_complete", !heap->lost && !heap->damaged);
	sn_json_key(json, "live_end_bytes");
	if (heap->lost)
		sn_json_null(json);
	else
		sn_json_uint(json, heap->total.leaked_bytes);
	sn_json_member_uint(json, "unknown_frees", heap->unknown_frees);
	sn_json_key(json, "lost");
	sn_json_object(json);
	sn_json_member_uint(json, "heap", heap->lost);
	sn_json_close(json);
	sn_json_key(json, "overhead_s");
	sn_json_object(json);
	sn_json_member_double(json, "heap", (double)heap->overhead_ns / 1e9);
	sn_json_close(json);
}

/* How sure the figures above are, where they are not counts of every event. */
static void mode_tell(const struct sn_heap *heap, struct sn_text *text)
{
	uint64_t low, high, fewest, most;

	if (heap->mode == SN_HEAP_SAMPLE) {
		sn_heap_interval(heap->total.bytes, heap->total.bytes_variance, &low, &high);
		sn_text_addf(text, "; estimates from %llu blocks, one byte in ",
			     (unsigned long long)heap->total.samples);
		sn_heap_add_size(text, heap->interval_bytes);
		sn_text_add(text, ": ");
		sn_heap_interval(heap->total.allocations, heap->total.allocations_variance, &fewest,
				 &most);
		sn_text_addf(text, "%llu to %llu allocations of ", (unsigned long long)fewest,
			     (unsigned long long)most);
		sn_heap_add_size(text, low);
		sn_text_add(text, " to ");
		sn_heap_add_size(text, high);
		sn_text_add(text, " (95 %)");
	} else if (heap->mode == SN_HEAP_AGGREGATE && heap->has_several) {
		sn_text_add(text, "; the peak is that of the process that held most");
	}
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_text text = { 0 };
	struct sn_heap *heap;
	struct sn_error err;

	if (heap_get(input, &heap, &err) != SN_OK || !heap->is_traced)
		return;
	sn_text_addf(&text, "%llu allocations of ", (unsigned long long)heap->total.allocations);
	sn_heap_add_size(&text, heap->total.bytes);
	sn_text_add(&text, "; at most ");
	sn_heap_add_size(&text, heap->total.peak_bytes);
	sn_text_addf(&text, " at a time, at %.3f s; %llu blocks of ", (double)heap->peak_ns / 1e9,
		     (unsigned long long)heap->total.leaked_count);
	sn_heap_add_size(&text, heap->total.leaked_bytes);
	sn_text_add(&text, " were never released");
	mode_tell(heap, &text);
	if (heap->lost)
		sn_text_addf(
			&text,
			"; %llu events were lost: all counts are too low, and blocks that seem "
			"never released may have been",
			(unsigned long long)heap->lost);
	if (heap->damaged)
		sn_text_addf(&text, "; %llu %s", (unsigned long long)heap->damaged,
			     sn_view_pieces_are_damaged(heap->damaged));
	fprintf(out, "%s\n", text.chars);
	sn_text_free(&text);
}

static bool is_sample(const struct sn_view_input *input)
{
	struct sn_heap *heap;
	struct sn_error err;

	return heap_get(input, &heap, &err) == SN_OK && heap->mode == SN_HEAP_SAMPLE;
}

static void why_no_heap(const struct sn_view_input *input, struct sn_text *out)
{
	if (sn_trace_has(input->profile->experiment, SN_TRACE_HEAP))
		sn_text_add(out, is_sample(input)
					 ? "no block was met by the sample: ask for more by "
					   "--heap=sample:BYTES"
					 : "the program allocated nothing");
	else
		sn_text_add(out,
			    "the heap was not traced; 'sonde record --heap PROGRAM' does that");
}

/* The program may have allocated, and have left nothing. */
static void why_no_leaks(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_heap *heap;
	struct sn_error err;

	if (heap_get(input, &heap, &err) == SN_OK && heap->total.allocations)
		sn_text_add(out, heap->mode == SN_HEAP_SAMPLE
					 ? "every block that was met was released"
					 : "every block was released");
	else
		why_no_heap(input, out);
}

static const struct sn_explanation heap_words[] = {
	{ "allocations", "count",
	  "Blocks that were allocated. A realloc is an allocation of the new size and a release of "
	  "the old block.",
	  "frees" },
	{ "frees", "count", "Blocks of the site that were released, wherever that was.",
	  "allocations" },
	{ "leaked_count", "count", "Blocks of the site that were never released.", "leaked_bytes" },
	{ "leaked_bytes", "count",
	  "Bytes of the site that were never released. Blocks that a program needs to its end are "
	  "among them; a leak grows with the run.",
	  "leaked_count" },
	{ "peak_bytes", "count",
	  "Bytes of the site that were alive when the program held most. The sites' sum is the peak.",
	  NULL },
	{ "temporary", "count",
	  "Blocks that were released before their thread's next allocation: candidates for the "
	  "stack, or for one block that is kept.",
	  "allocations" },
	{ "mean_bytes", "count", "Mean size of the site's blocks.", "bytes" },
	{ "bytes_low", "count",
	  "The least allocated bytes that a sample of blocks leaves possible (95 %); only where the heap was "
	  "sampled.",
	  "bytes" },
	{ "allocations_low", "count",
	  "The fewest allocations that a sample of blocks leaves possible (95 %).", "allocations" },
	{ "allocations_high", "count",
	  "The most allocations that a sample of blocks leaves possible (95 %).", "allocations" },
	{ "bytes_high", "count", "The most allocated bytes that a sample leaves possible (95 %).",
	  "bytes" },
	{ "leaked_bytes_low", "count", "As bytes_low, of blocks that were never released.",
	  "leaked_bytes" },
	{ "leaked_bytes_high", "count", "As bytes_high, of blocks that were never released.",
	  "leaked_bytes" },
	{ "peak_bytes_low", "count", "As bytes_low, of what was alive at the peak.", "peak_bytes" },
	{ "peak_bytes_high", "count", "As bytes_high, of what was alive at the peak.",
	  "peak_bytes" },
	{ "peak_share", "share", "The site's part of the peak.", "peak_bytes" },
	{ "leaked_share", "share", "The site's part of all bytes that were never released.",
	  "leaked_bytes" },
	{ 0 },
};

#define HEAP_DATA                                                                                  \
	"site,function,file,line,module,kind,allocations,bytes,frees,leaked_count,leaked_bytes,"   \
	"peak_bytes,temporary,mean_bytes,peak_share,leaked_share,samples,allocations_low,"         \
	"allocations_high,bytes_low,bytes_high,leaked_bytes_low,leaked_bytes_high,"                \
	"peak_bytes_low,peak_bytes_high"

const struct sn_view sn_view_heap = {
	.name = "heap",
	.title = "allocations by site: how many, how large, how long they live",
	.needs = SN_VIEW_NEEDS_HEAP,
	.schema = "sonde.heap/1",
	.columns = heap_columns,
	.column_count = sizeof(heap_columns) / sizeof(*heap_columns),
	.words = heap_words,
	.data_columns = HEAP_DATA,
	.text_columns = "allocations,bytes,mean_bytes,frees,temporary,leaked_bytes,peak_bytes,kind,"
			"site",
	.caller_columns = "node,parent,depth",
	.sort = "allocations",
	.page_title = "Memory",
	.is_in_report = true,
	.fill = heap_fill,
	.why_empty = why_no_heap,
	.write_members = members_write,
	.put_foot = foot_put,
};

const struct sn_view sn_view_leaks = {
	.name = "leaks",
	.title = "blocks that were never released, by site",
	.needs = SN_VIEW_NEEDS_HEAP,
	.schema = "sonde.leaks/1",
	.columns = heap_columns,
	.column_count = sizeof(heap_columns) / sizeof(*heap_columns),
	.data_columns = HEAP_DATA,
	.text_columns = "leaked_share,leaked_bytes,leaked_count,allocations,kind,site",
	.caller_columns = "node,parent,depth",
	.sort = "leaked_bytes",
	.fill = leaks_fill,
	.why_empty = why_no_leaks,
	.write_members = members_write,
	.put_foot = foot_put,
};

const struct sn_view sn_view_peak = {
	.name = "peak",
	.title = "what the heap's peak is made of, by site",
	.needs = SN_VIEW_NEEDS_HEAP,
	.schema = "sonde.peak/1",
	.columns = heap_columns,
	.column_count = sizeof(heap_columns) / sizeof(*heap_columns),
	.data_columns = HEAP_DATA,
	.text_columns = "peak_share,peak_bytes,bytes,allocations,kind,site",
	.caller_columns = "node,parent,depth",
	.sort = "peak_bytes",
	.fill = peak_fill,
	.why_empty = why_no_heap,
	.write_members = members_write,
	.put_foot = foot_put,
};
