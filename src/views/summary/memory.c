/* What the summary says of the heap, where it was traced. */
#include "heap/sites.h"
#include "trace/trace.h"
#include "views/summary/summary.h"

#include "base/text.h"

/* Below these, what a program keeps to its end is no news. */
static const double leak_least_share = 0.1; /* of the peak */
static const uint64_t leak_least_bytes = 100000;

static const struct sn_heap_site *largest(const struct sn_heap_sites *sites,
					  sn_heap_measure measure)
{
	const struct sn_heap_site *best = NULL;

	for (size_t i = 0; i < sites->items.count; i++)
		if (!best || measure(&sites->items.items[i].sums) > measure(&best->sums))
			best = &sites->items.items[i];
	return best;
}

static uint64_t peak_of(const struct sn_heap_sums *sums)
{
	return sums->peak_bytes;
}

static uint64_t leaked_of(const struct sn_heap_sums *sums)
{
	return sums->leaked_bytes;
}

/* "87 % of it in f (a.c:7)" */
static void add_largest(const struct sn_program *program, const struct sn_heap_sites *sites,
			sn_heap_measure measure, uint64_t total, struct sn_text *text)
{
	const struct sn_heap_site *site = largest(sites, measure);
	const struct sn_program_line *line;

	if (!site || site->function == SN_NONE || !total)
		return;
	sn_text_addf(text, ", %.0f %% of it in %s",
		     100 * (double)measure(&site->sums) / (double)total,
		     program->functions.items[site->function].name);
	line = site->line < program->lines.count ? &program->lines.items[site->line] : NULL;
	if (line && line->file)
		sn_text_addf(text, " (%s:%u)", sn_base_name(line->file), line->line);
}

static void words_make(struct sn_summary *s, const struct sn_heap *heap)
{
	const struct sn_program *program = s->profile->program;
	struct sn_heap_sites sites = sn_heap_sites_of(program, heap);
	const struct sn_heap_sums *total = &heap->total;
	struct sn_text text = { 0 };

	if (!total->allocations) {
		s->heap_words = "the program allocated nothing";
		sn_heap_sites_free(&sites);
		return;
	}
	sn_text_addf(&text, "%s%llu allocations, at most ",
		     heap->mode == SN_HEAP_SAMPLE ? "about " : "",
		     (unsigned long long)total->allocations);
	sn_heap_add_size(&text, total->peak_bytes);
	sn_text_addf(&text, " at a time (at %.3g s)", (double)heap->peak_ns / 1e9);
	add_largest(program, &sites, peak_of, total->peak_bytes, &text);
	if (total->leaked_bytes >= leak_least_bytes &&
	    (double)total->leaked_bytes >= leak_least_share * (double)total->peak_bytes) {
		sn_text_add(&text, "; never released: ");
		sn_heap_add_size(&text, total->leaked_bytes);
		sn_text_addf(&text, " in %llu blocks", (unsigned long long)total->leaked_count);
		add_largest(program, &sites, leaked_of, total->leaked_bytes, &text);
		sn_text_add(&text, " (sonde show leaks --paths)");
	} else {
		sn_text_add(&text, " (sonde show peak --paths)");
	}
	s->heap_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	sn_heap_sites_free(&sites);
}

void sn_summary_add_heap(struct sn_summary *s)
{
	struct sn_heap *heap;
	struct sn_error err;
	struct sn_text text = { 0 };

	if (!sn_trace_has(s->profile->experiment, SN_TRACE_HEAP))
		return;
	if (sn_heap_read(s->profile->experiment, &heap, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	words_make(s, heap);
	s->heap = heap->total;
	if (heap->lost) {
		sn_text_addf(
			&text,
			"%llu events of the heap were lost, as the disk did not keep up or was "
			"full: its counts are too low, and leaks may be none",
			(unsigned long long)heap->lost);
		sn_summary_warn(s, text.chars);
		sn_text_free(&text);
	}
	sn_heap_free(heap);
}

void sn_summary_write_heap(const struct sn_summary *s, struct sn_json *json)
{
	if (!s->heap_words)
		return;
	sn_json_key(json, "heap");
	sn_json_object(json);
	sn_json_member_string(json, "sentence", s->heap_words);
	sn_json_member_uint(json, "allocations", s->heap.allocations);
	sn_json_member_uint(json, "frees", s->heap.frees);
	sn_json_member_uint(json, "bytes", s->heap.bytes);
	sn_json_member_uint(json, "peak_bytes", s->heap.peak_bytes);
	sn_json_member_uint(json, "leaked_count", s->heap.leaked_count);
	sn_json_member_uint(json, "leaked_bytes", s->heap.leaked_bytes);
	sn_json_close(json);
}
