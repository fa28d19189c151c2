/*
 * Counts of the static model, weighed by samples, give FLOP and bytes of a pass. Passes come from
 * counted instances or from the pace of registers. Roofs are a thread's.
 */
#include "whatif/roofline.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/instances.h"
#include "profile/uncertainty.h"
#include "whatif/data_use.h"

static const double share_least = 0.001; /* of CPU time, for a row */
static const double weight_least = 0.01; /* of passes, for a path to count in the range */
static const double at_roof = 0.7; /* of a roof (chosen): a loop that reaches it is bound by it */
static const double above_roof = 1.1;	  /* roofs are this sure on a machine with others on it */
static const double far_bytes = 32 << 20; /* data spread so wide come from RAM (chosen) */

const char *sn_roofline_roofs(const struct sn_experiment *e, struct sn_arena *arena,
			      struct sn_roofs *out)
{
	char *path = sn_roofs_path();
	struct sn_text own = { 0 };
	struct sn_error err;
	const char *reason = NULL;
	sn_status status;

	sn_text_addf(&own, "%s/roofs.tsv", e->path);
	status = sn_roofs_read(own.chars, out, &err);
	if (status == SN_ERR_NOT_FOUND && e->cpu_model && e->cpu_model[0]) {
		sn_roofs_free(out);
		status = sn_roofs_read(path, out, &err);
		if (!status && strcmp(e->cpu_model, out->host) != 0)
			reason =
				"the run was recorded on another processor, whose roofs were not "
				"recorded with it; sonde calibrate --roofs there, and record again";
	}
	if (status == SN_ERR_NOT_FOUND)
		reason = "the roofs of this machine were not measured; sonde calibrate --roofs "
			 "measures them";
	else if (status)
		reason = sn_arena_strdup(arena, err.sentence);
	if (reason)
		out->items.count = 0;
	sn_text_free(&own);
	free(path);
	return reason;
}

/* ---- counts ---- */

static double bytes_of(const struct sn_cqa_metrics *m)
{
	return m->bytes_loaded + m->bytes_stored;
}

/* Over the paths, by their weights; the range is that of paths that are taken. */
static void count(const struct sn_cqa_loop *quality, struct sn_roofline_loop *out)
{
	double weights = 0;

	out->intensity_low = INFINITY;
	out->intensity_high = 0;
	for (uint32_t i = 0; i < quality->path_count; i++) {
		const struct sn_cqa_path *path = &quality->paths[i];
		double weight = quality->path_count == 1 ? 1 : path->weight;
		double bytes = bytes_of(&path->metrics), flops = path->metrics.flops;

		weights += weight;
		out->flops += weight * flops;
		out->bytes += weight * bytes;
		if (weight < weight_least || !(bytes > 0))
			continue;
		out->intensity_low = fmin(out->intensity_low, flops / bytes);
		out->intensity_high = fmax(out->intensity_high, flops / bytes);
	}
	if (weights > 0) {
		out->flops /= weights;
		out->bytes /= weights;
	}
	out->intensity = out->bytes > 0 ? out->flops / out->bytes : (double)NAN;
	if (isnan(out->intensity)) {
		out->intensity_low = out->intensity_high = NAN;
		return;
	}
	out->intensity_low = fmin(out->intensity_low, out->intensity);
	out->intensity_high = fmax(out->intensity_high, out->intensity);
}

/* The roof of its main path's arithmetic. */
static enum sn_roof_kind kind_of(const struct sn_cqa_metrics *m)
{
	bool is_double = m->elements & SN_ELEMENT_F64 || !(m->elements & SN_ELEMENT_F32);

	if (m->flops_fma > 0)
		return is_double ? SN_ROOF_FMA_DOUBLE : SN_ROOF_FMA_SINGLE;
	if (m->fp_packed)
		return is_double ? SN_ROOF_VECTOR_DOUBLE : SN_ROOF_VECTOR_SINGLE;
	return is_double ? SN_ROOF_SCALAR_DOUBLE : SN_ROOF_SCALAR_SINGLE;
}

/* ---- rates ---- */

static void set_rate(struct sn_roofline_loop *row, double rate, double low, double high,
		     const char *source)
{
	row->rate = rate;
	row->rate_low = low;
	row->rate_high = high;
	row->source = source;
}

/* Passes that were counted, over the CPU time of the loop's own code. */
static void rate_by_instances(const struct sn_profile *profile,
			      const struct sn_instances_list *instances,
			      struct sn_roofline_loop *row)
{
	const struct sn_metrics *metrics = &profile->loops[row->loop];
	double user_s = (double)(metrics->exclusive.cpu_ns - metrics->exclusive.system_ns) / 1e9;
	const struct sn_interval *range = &metrics->exclusive_share;

	for (size_t i = 0; i < instances->count; i++) {
		const struct sn_instances *it = &instances->items[i];
		double flops = row->flops * (double)it->iterations;

		if (it->loop != row->loop || !it->has_iterations || !it->iterations ||
		    !(user_s > 0))
			continue;
		set_rate(row, flops / user_s, flops / user_s * row->share / range->high,
			 range->low > 0 ? flops / user_s * row->share / range->low : INFINITY,
			 "counted");
	}
}

static void rate_by_pace(const struct sn_profile *profile, struct sn_structures *structures,
			 struct sn_roofline_loop *row)
{
	struct sn_pass_time time;

	if (sn_data_use_pass_time(profile, structures, row->loop, &time) && time.low_ns > 0)
		set_rate(row, row->flops / time.ns * 1e9, row->flops / time.high_ns * 1e9,
			 row->flops / time.low_ns * 1e9, "paced");
}

/* ---- roofs ---- */

/* Threads that run the loop, at most as many as roofs were measured for. */
static unsigned threads_of(const struct sn_profile *profile, uint32_t loop, unsigned most)
{
	uint64_t *ns = sn_alloc_zeroed(profile->experiment->threads.count + 1, sizeof(*ns)),
		 top = 0;
	unsigned threads = 0;

	for (size_t i = 0; i < profile->thread_times.count; i++) {
		const struct sn_thread_time *time = &profile->thread_times.items[i];

		if (sn_program_leaf(profile->program, time->stack)->loop == loop)
			ns[time->thread] += time->cpu_ns;
	}
	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		top = ns[t] > top ? ns[t] : top;
	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		threads += top && ns[t] > top / 10;
	free(ns);
	return threads > most ? most : threads ? threads : 1;
}

/* A thread's part: one thread alone has its own figure, several have that of all CPUs shared. */
static double roof_of(const struct sn_roofs *roofs, enum sn_roof_kind kind, unsigned level,
		      unsigned threads)
{
	const struct sn_roof *one = sn_roofs_find(roofs, kind, level, 1);
	const struct sn_roof *all = sn_roofs_find(roofs, kind, level, sn_roofs_threads(roofs));
	double alone = one ? one->value : (double)NAN;

	if (threads <= 1 || !all)
		return alone;
	/* as many threads as there are CPUs, or fewer: no less than their part, no more than alone */
	return fmin(alone, all->value / threads);
}

/* Bytes a second at L1 if all came from the level. A store beyond L1 moves its line twice: of 32
 * bytes of the triad there 24 are the loop's. */
static double bandwidth_of(const struct sn_roofs *roofs, const struct sn_cqa_loop *quality,
			   unsigned level, unsigned threads)
{
	double read = roof_of(roofs, SN_ROOF_READ, level, threads);
	double triad = roof_of(roofs, SN_ROOF_TRIAD, level, threads) * (level ? 0.75 : 1);

	if (!quality->paths[quality->main_path].metrics.stores)
		return read;
	return level ? triad : fmax(read, triad);
}

static double arithmetic_roof(const struct sn_roofs *roofs, const struct sn_cqa_metrics *m,
			      const struct sn_roofline_loop *row)
{
	double roof = roof_of(roofs, row->kind, SN_ROOF_NO_LEVEL, row->threads);
	enum sn_roof_kind scalar = row->kind % 2 == SN_ROOF_SCALAR_DOUBLE % 2
					   ? SN_ROOF_SCALAR_DOUBLE
					   : SN_ROOF_SCALAR_SINGLE;

	if (m->flops_fma > 0 && !m->fp_packed) /* an instruction that does two operations */
		return fmin(roof, 2 * roof_of(roofs, scalar, SN_ROOF_NO_LEVEL, row->threads));
	return roof;
}

static const char *far_reason(struct sn_roofline *r, const struct sn_data_use *use)
{
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_addf(
		&text,
		"as fast as if all its bytes came from RAM; its data are spread over %.0f MB or "
		"more",
		use->spread_bytes / 1e6);
	kept = sn_arena_strdup(&r->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

/* What the rate says beside the roofs; the loop has a rate. */
static void judge_rate(struct sn_roofline *r, struct sn_roofline_loop *row, double arithmetic,
		       const struct sn_data_use *use)
{
	if (row->rate_low > above_roof * row->roof) {
		row->is_above = true;
		row->reason =
			"above its roof: the roof is too low (sonde calibrate --roofs on a quiet "
			"machine), or the count of passes or operations is wrong";
	} else if (row->rate >= at_roof * row->roof) {
		row->bound_by = row->roof < arithmetic ? "L1" : sn_roof_kind_names[row->kind];
	} else if (row->rate <= above_roof * row->ram_roof &&
		   row->rate >= at_roof * row->ram_roof && use->reach != SN_DATA_NEAR &&
		   use->spread_bytes >= far_bytes) {
		row->bound_by = "RAM";
		row->reason = far_reason(r, use);
	} else if (use->reach == SN_DATA_NEAR) {
		row->reason = "below the roofs of arithmetic and L1, and its data are near: "
			      "dependences, the front end or the mix of instructions hold it";
	} else {
		row->reason =
			"below the roofs of arithmetic and L1; which level its data come from is "
			"not known";
	}
}

static void judge(struct sn_roofline *r, const struct sn_profile *profile,
		  struct sn_structures *structures, const struct sn_whatif *whatif,
		  const struct sn_cqa_loop *quality, struct sn_roofline_loop *row)
{
	const struct sn_cqa_metrics *main_path = &quality->paths[quality->main_path].metrics;
	double arithmetic = arithmetic_roof(&r->roofs, main_path, row), near, ram;
	struct sn_data_use use;

	row->roof = row->ram_roof = NAN;
	if (isnan(row->rate))
		row->reason =
			"how many passes it makes is not known; sonde vprof -- PROGRAM counts "
			"them";
	if (r->roofs_absent || isnan(arithmetic))
		return;
	near = bandwidth_of(&r->roofs, quality, 0, row->threads);
	ram = bandwidth_of(&r->roofs, quality, SN_MEMORY_LEVELS - 1, row->threads);
	row->roof = isnan(row->intensity) ? arithmetic : fmin(arithmetic, row->intensity * near);
	row->ram_roof =
		isnan(row->intensity) ? (double)NAN : fmin(arithmetic, row->intensity * ram);
	if (isnan(row->rate)) {
		if (isnan(row->intensity) || row->intensity * ram >= arithmetic)
			row->reason =
				"no level of memory is too slow for so many operations a byte; how "
				"many passes it makes is not known, sonde vprof -- PROGRAM counts "
				"them";
		return;
	}
	sn_data_use_of_loop(whatif->machine, profile, structures, row->loop, &use);
	judge_rate(r, row, arithmetic, &use);
}

static void loop_add(struct sn_roofline *r, const struct sn_profile *profile,
		     struct sn_structures *structures, const struct sn_whatif *whatif,
		     const struct sn_instances_list *instances, const struct sn_whatif_loop *loop)
{
	struct sn_roofline_loop row = { .loop = loop->loop,
					.share = loop->share,
					.rate = NAN,
					.rate_low = NAN,
					.rate_high = NAN };
	struct sn_cqa_loop quality;

	if (!sn_whatif_detail(whatif, structures, loop->loop, &quality))
		return;
	if (!quality.not_analysed && quality.path_count)
		count(&quality, &row);
	if (row.flops > 0) {
		row.kind = kind_of(&quality.paths[quality.main_path].metrics);
		row.threads = threads_of(profile, row.loop,
					 r->roofs_absent ? 1 : sn_roofs_threads(&r->roofs));
		rate_by_instances(profile, instances, &row);
		if (isnan(row.rate))
			rate_by_pace(profile, structures, &row);
		judge(r, profile, structures, whatif, &quality, &row);
		if (quality.has_calls)
			row.reason = "what the functions do that it calls is not counted";
		sn_vec_push(&r->loops, row);
		r->covered_share += row.share;
	} else if (!quality.not_analysed) {
		r->no_flops_share += row.share;
	}
	sn_cqa_loop_free(&quality);
}

void sn_roofline_find(const struct sn_profile *profile, struct sn_structures *structures,
		      const struct sn_whatif *whatif, struct sn_roofline *out)
{
	struct sn_instances_list instances;

	memset(out, 0, sizeof(*out));
	out->roofs_absent = sn_roofline_roofs(profile->experiment, &out->arena, &out->roofs);
	if (!whatif)
		return;
	sn_instances_find(profile, &instances);
	for (size_t i = 0; i < whatif->loops.count && i < SN_ROOFLINE_LOOPS_MAX; i++)
		if (whatif->loops.items[i].share >= share_least)
			loop_add(out, profile, structures, whatif, &instances,
				 &whatif->loops.items[i]);
	sn_instances_free(&instances);
}

void sn_roofline_free(struct sn_roofline *r)
{
	sn_roofs_free(&r->roofs);
	sn_vec_free(&r->loops);
	sn_arena_free(&r->arena);
}
