/* What runs of loops measured: variants and instances of each, and the program's gain over loops. */
#include <math.h>

#include "base/text.h"
#include "report/model/model_parts.h"
#include "whatif/measured.h"

static const char *copy(struct sn_report *report, const struct sn_text *text)
{
	return sn_arena_strdup(&report->arena, text->chars ? text->chars : "");
}

/* ---- variants ---- */

static const char *bucket_of(struct sn_report *report, int exponent)
{
	return exponent < 0 ? "all"
			    : sn_arena_printf(&report->arena, "%llu-%llu", 1ULL << exponent,
					      (2ULL << exponent) - 1);
}

void sn_report_add_static_figure(struct sn_report *report, uint32_t loop,
				 const struct sn_loop_told *told)
{
	const struct sn_cqa_loop *quality = told->known.quality;
	double clock = told->known.variants ? told->known.variants->frequency_impact : NAN;

	if (!quality)
		return;
	if (isnan(clock))
		clock = 1;
	sn_vec_push(&report->evidence.figures,
		    ((struct sn_report_figure){ .loop = loop,
						.bucket = "all",
						.name = "static",
						.cycles = NAN,
						.low = quality->level_cycles[SN_LEVEL_L1] / clock,
						.high = quality->level_cycles[SN_LEVEL_RAM] / clock,
						.speedup = NAN,
						.range = { NAN, NAN } }));
}

static void add_sampled(struct sn_report *report, uint32_t loop, const struct sn_variants *of)
{
	double doubt = 2 / sqrt((double)of->ref_samples);

	if (isnan(of->ref_cycles) || !of->ref_samples)
		return;
	sn_vec_push(&report->evidence.figures,
		    ((struct sn_report_figure){ .loop = loop,
						.bucket = "all",
						.name = "sampled",
						.cycles = of->ref_cycles,
						.low = of->ref_cycles * fmax(0, 1 - doubt),
						.high = of->ref_cycles * (1 + doubt),
						.samples = of->ref_samples,
						.speedup = NAN,
						.range = { NAN, NAN } }));
}

static void add_variants(struct sn_report *report, const struct sn_variants *of)
{
	uint32_t loop = report->loop_of[of->loop];

	if (loop == SN_NONE)
		return;
	if (of->exponent < 0)
		add_sampled(report, loop, of);
	for (int v = 0; v < SN_VARIANTS; v++) {
		const struct sn_variant_figure *figure = &of->figures[v];

		if (of->exponent >= 0 && isnan(figure->cycles))
			continue; /* why it is not there is said of the loop */
		sn_vec_push(&report->evidence.figures,
			    ((struct sn_report_figure){
				    loop, bucket_of(report, of->exponent), sn_loop_variant_names[v],
				    figure->cycles, figure->low, figure->high, figure->samples,
				    sn_arena_strdup(&report->arena, sn_variant_state_name(figure)),
				    figure->speedup, figure->speedup_range }));
	}
}

/* ---- instances by call path ---- */

static double cycles_of(const struct sn_instance_path *path)
{
	return path->timed
		       ? (double)path->timed_cycles / (double)path->timed * (double)path->instances
		       : 0;
}

static const char *callers_of(struct sn_report *report, const struct sn_profile *counted,
			      const struct sn_instance_path *path)
{
	struct sn_text text = { 0 };
	const char *callers;

	for (size_t i = path->functions ? path->function_count : 0; i-- > 0;)
		if (i + 1 < path->function_count)
			sn_text_addf(&text, "%s%s", text.length ? " < " : "",
				     counted->program->functions.items[path->functions[i]].name);
	callers = copy(report, &text);
	sn_text_free(&text);
	return callers;
}

static void add_entry(struct sn_report *report, const struct sn_profile *counted,
		      const struct sn_instance_path *path, double all)
{
	struct sn_report_entry entry = { .loop = report->loop_of[path->loop],
					 .bucket = "",
					 .call_path = callers_of(report, counted, path),
					 .instances = path->instances,
					 .share = NAN,
					 .cycles = NAN };
	struct sn_text bucket = { 0 };

	if (path->timed_iterations && path->timed_cycles) {
		entry.cycles = (double)path->timed_cycles / (double)path->timed_iterations;
		entry.share = cycles_of(path) / all;
		sn_instance_bucket_name(ilogb(entry.cycles), &bucket);
		entry.bucket = copy(report, &bucket);
	}
	sn_vec_push(&report->evidence.entries, entry);
	sn_text_free(&bucket);
}

static void add_paths(struct sn_report *report, const struct sn_instance_paths *paths)
{
	for (size_t first = 0, end; first < paths->count; first = end) {
		uint32_t loop = paths->items[first].loop;
		double all = 0;

		for (end = first; end < paths->count && paths->items[end].loop == loop; end++)
			all += cycles_of(&paths->items[end]);
		for (size_t i = first; i < end && report->loop_of[loop] != SN_NONE; i++)
			add_entry(report, paths->counted, &paths->items[i], all);
	}
}

/* ---- the program ---- */

static void add_step(struct sn_report *report, const struct sn_measured_loop *loop)
{
	struct sn_report_evidence *out = &report->evidence;

	sn_vec_push(&out->steps,
		    ((struct sn_report_curve_step){ .curve = (uint8_t)(out->curves.count - 1),
						    .loop = report->loop_of[loop->variants->loop],
						    .saved_share = loop->saved,
						    .cumulative_speedup = loop->cumulative,
						    .range = loop->cumulative_range }));
}

static void add_curve(struct sn_report *report, const struct sn_variants_list *list,
		      enum sn_decan_variant variant)
{
	struct sn_measured_curve curve;

	sn_measured_curve_find(report->profile->program, list, variant, &curve);
	if (curve.count) {
		sn_vec_push(
			&report->evidence.curves,
			((struct sn_report_curve){ sn_loop_variant_names[variant],
						   curve.measured_share, curve.speedup, curve.range,
						   curve.count, curve.loops_for_80_percent }));
		for (size_t i = 0; i < curve.count; i++)
			add_step(report, &curve.loops.items[i]);
	}
	sn_measured_curve_free(&curve);
}

void sn_report_add_measured(struct sn_report *report, const struct sn_loop_runs *runs)
{
	/* what is drawn by itself comes first: data in first-level cache, which blocking is for */
	static const enum sn_decan_variant gained[] = { SN_VARIANT_DL1, SN_VARIANT_LS,
							SN_VARIANT_FP, SN_VARIANT_ARITH,
							SN_VARIANT_PF };

	for (size_t i = 0; i < runs->variants.count; i++)
		add_variants(report, &runs->variants.items[i]);
	add_paths(report, &runs->paths);
	for (size_t i = 0; i < sizeof(gained) / sizeof(*gained); i++)
		add_curve(report, &runs->variants, gained[i]);
}
