/*
 * Speed-ups in elapsed time. The run is cut into slices; in each the busiest worker's useful time is what
 * others wait for, so what the run gains is what this maximum loses. One slice for the whole run and many
 * slices are the two ends of what is known of where workers meet.
 */
#include "whatif/global.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "experiment/cpus.h"
#include "profile/compile.h"
#include "profile/uncertainty.h"
#include "whatif/variants.h"
#include "whatif/worker_time.h"

enum {
	SLICES_MOST = 64,
	SLICE_SAMPLES = 50, /* of a worker, for a slice: its time is known to some 15 % */
	OWN_MODULES = 64,
};

/* A speed-up is called one number if the gain in RAM is this part of that in L1. */
#define LEVEL_MATTERS 0.9

struct builder {
	const struct sn_profile *profile;
	struct sn_structures *structures;
	const struct sn_whatif *whatif;
	struct sn_global *out;
	double begin_s, elapsed_s; /* of what is looked at */
	struct sn_worker_time fine, whole;
};

/* ---- rows ---- */

static double speedup(const struct builder *b, double saved_s)
{
	return b->elapsed_s / (b->elapsed_s - fmin(fmax(saved_s, 0), 0.9999 * b->elapsed_s));
}

static void add(struct builder *b, struct sn_global_row row)
{
	if (row.reason)
		row.reason = sn_arena_strdup(&b->out->arena, row.reason);
	sn_vec_push(&b->out->rows, row);
}

static void add_unknown(struct builder *b, const char *metric, const char *unit, const char *reason)
{
	add(b, (struct sn_global_row){ metric, unit, NULL, reason, NAN, NAN, NAN, NAN, 0, false });
}

static void add_exact(struct builder *b, const char *metric, const char *unit, const char *source,
		      double value, double basis_share)
{
	if (isnan(value))
		add_unknown(b, metric, unit, "nothing of it was seen in this run");
	else
		add(b, (struct sn_global_row){ metric, unit, source, NULL, value, value, value,
					       basis_share, 0, false });
}

static void add_share(struct builder *b, const char *metric, uint64_t part_ns)
{
	double share = sn_share(part_ns, b->profile->total.cpu_ns);
	struct sn_interval range = sn_share_interval(share, b->profile->effective_samples, 1);

	if (isnan(share))
		add_unknown(b, metric, "share", "there are no samples");
	else
		add(b, (struct sn_global_row){ metric, "share", "measured", NULL, share, range.low,
					       range.high, 1, 0, false });
}

static double cpu_seconds(const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	if (profile->is_filtered || e->tree_user_ns < 0 || e->tree_system_ns < 0)
		return (double)profile->total.cpu_ns / 1e9;
	return sn_seconds(e->tree_user_ns) + sn_seconds(e->tree_system_ns);
}

static void add_compile_score(struct builder *b)
{
	uint32_t modules[OWN_MODULES];
	size_t count = sn_program_modules(b->profile, modules, OWN_MODULES);
	double known = 0, level = 0, target = 0;

	for (size_t i = 0; i < count && i < OWN_MODULES; i++) {
		struct sn_compile_facts facts =
			sn_compile_facts_find(b->profile, b->structures, modules[i]);

		known += (double)facts.known_ns;
		level += (double)facts.missing_ns[SN_MISSING_LEVEL] +
			 0.5 * (double)facts.missing_ns[SN_MISSING_O3];
		target += (double)facts.missing_ns[SN_MISSING_TARGET];
	}
	if (known <= 0)
		add_unknown(
			b, "compile_score", "share",
			"the options of the compiler were not recorded; gcc writes them with -g");
	else
		add_exact(b, "compile_score", "share", "static", 1 - (level + target) / known / 2,
			  known / (double)b->profile->total.cpu_ns);
}

/* The samples that their thread took on the CPU of its sample before. */
static void add_affinity(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	uint32_t *before = sn_alloc_zeroed(e->threads.count + 1, sizeof(*before)); /* CPU + 1 */
	double pairs = 0, same = 0;
	struct sn_interval range;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *s = &e->samples.items[i];

		if (s->flags & SN_SAMPLE_REMAINDER || !sn_profile_has_sample(b->profile, s))
			continue;
		pairs += before[s->thread] != 0;
		same += before[s->thread] == s->cpu + 1U;
		before[s->thread] = s->cpu + 1U;
	}
	free(before);
	range = sn_wilson_interval(same, pairs);
	if (same >= pairs)
		range.high = 1; /* rounding left it below */
	if (same <= 0)
		range.low = 0;
	if (pairs > 0)
		add(b, (struct sn_global_row){ "affinity", "share", "measured", NULL, same / pairs,
					       range.low, range.high, 1, 0, false });
	else
		add_unknown(b, "affinity", "share", "there are no samples");
}

static void add_run(struct builder *b)
{
	const struct sn_profile *p = b->profile;
	double cpu_s = cpu_seconds(p);

	add_exact(b, "elapsed", "s", "measured", b->elapsed_s, 1);
	add_exact(b, "cpu", "s", "measured", cpu_s, 1);
	add_share(b, "loops_share", p->loops_ns);
	add_share(b, "innermost_share", p->innermost_loops_ns);
	add_share(b, "user_code_share", p->categories[SN_CATEGORY_PROGRAM].exclusive.cpu_ns);
	add_compile_score(b);
	if (b->whatif) {
		add_exact(b, "flow_complexity", "paths", "static", b->whatif->flow_complexity,
			  b->whatif->analysed_share);
		add_exact(b, "array_access_efficiency", "share", "static",
			  b->whatif->array_efficiency, b->whatif->analysed_share);
	} else {
		add_unknown(b, "flow_complexity", "paths", "there is no model of this processor");
		add_unknown(b, "array_access_efficiency", "share",
			    "there is no model of this processor");
	}
	add_exact(b, "active_threads", "threads", "measured",
		  b->elapsed_s > 0 ? cpu_s / b->elapsed_s : NAN, 1);
	add_affinity(b);
}

/* ---- loops ---- */

struct gain {
	uint32_t loop;
	double saved_s;
};

static int gains_compare(const void *left, const void *right)
{
	const struct gain *x = left, *y = right;

	if (x->saved_s != y->saved_s)
		return x->saved_s < y->saved_s ? 1 : -1;
	return (x->loop > y->loop) - (x->loop < y->loop);
}

/* Loops by what each alone would save of elapsed time, and how many bring 80 % of the gain. */
static size_t loops_for_80_percent(const struct builder *b, const double *spared)
{
	const struct sn_worker_time *c = &b->fine;
	size_t loops = b->profile->program->loops.count, low = 0, high;
	size_t *order = sn_alloc_zeroed(loops + 1, sizeof(*order));
	double wanted = 0.8 * (speedup(b, sn_worker_time_saved(c, c->pace, spared, NULL, 0)) - 1);
	SN_VEC(struct gain) gains = { 0 };

	for (uint32_t l = 0; l < loops; l++) {
		order[l] = l == 0;
		if (spared[l] > 0)
			sn_vec_push(&gains, ((struct gain){ l, 0 }));
	}
	for (size_t i = 0; i < gains.count; i++) {
		for (size_t l = 0; l < loops; l++)
			order[l] = l != gains.items[i].loop;
		gains.items[i].saved_s = sn_worker_time_saved(c, c->pace, spared, order, 1);
	}
	if (gains.count)
		qsort(gains.items, gains.count, sizeof(*gains.items), gains_compare);
	for (size_t l = 0; l < loops; l++)
		order[l] = gains.count;
	for (size_t i = 0; i < gains.count; i++)
		order[gains.items[i].loop] = i;
	high = wanted > 1e-9 ? gains.count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (speedup(b, sn_worker_time_saved(c, c->pace, spared, order, middle)) - 1 >=
		    wanted - 1e-12)
			high = middle;
		else
			low = middle + 1;
	}
	free(order);
	sn_vec_free(&gains);
	return low;
}

/* Parts of each loop's time that it would be spared: at least, most likely, at most. */
struct spared {
	double *low, *value, *high;
};

static struct spared spared_new(const struct builder *b)
{
	size_t count = b->profile->program->loops.count + 1;

	return (struct spared){ sn_alloc_zeroed(count, sizeof(double)),
				sn_alloc_zeroed(count, sizeof(double)),
				sn_alloc_zeroed(count, sizeof(double)) };
}

static void spared_free(struct spared *s)
{
	free(s->low);
	free(s->value);
	free(s->high);
}

static double part_spared(double by)
{
	return by > 1 ? 1 - 1 / by : 0;
}

/* Workers meet in each slice or once, and wait for the busiest or take turns. */
static double most_saved(const struct builder *b, const double *spared)
{
	double waiting = fmax(sn_worker_time_saved(&b->fine, b->fine.pace, spared, NULL, 0),
			      sn_worker_time_saved(&b->whole, b->whole.pace, spared, NULL, 0));

	return fmax(waiting, sn_worker_time_saved_in_turns(&b->fine, b->fine.pace, spared));
}

/* `below` and `above`: what sampling may have made of the sums. */
static struct sn_global_row gain_row(const struct builder *b, const struct spared *s, double below,
				     double above)
{
	double value = sn_worker_time_saved(&b->fine, b->fine.pace, s->value, NULL, 0);
	double low = fmin(sn_worker_time_saved(&b->fine, b->fine.least_pace, s->low, NULL, 0),
			  sn_worker_time_saved(&b->whole, b->whole.least_pace, s->low, NULL, 0));
	double high = most_saved(b, s->high);

	return (struct sn_global_row){ .unit = "ratio",
				       .value = speedup(b, value),
				       .low = fmin(speedup(b, low * below), speedup(b, value)),
				       .high = fmax(speedup(b, high * above), speedup(b, value)),
				       .loops_for_80_percent = loops_for_80_percent(b, s->value),
				       .has_loops = true };
}

/* 1 - 1/x of one speed-up over that of another. */
static double ratio_of_savings(double one, double other)
{
	return other > 1 ? part_spared(one) / part_spared(other) : 1;
}

static void add_static(struct builder *b, const char *metric, enum sn_variant v)
{
	const struct sn_whatif_variant *variant;
	struct sn_global_row row;
	struct spared s;

	if (!b->whatif) {
		add_unknown(b, metric, "ratio",
			    "there is no model of this processor; --arch names another");
		return;
	}
	variant = &b->whatif->variants[v];
	if (isnan(variant->speedup)) {
		add_unknown(b, metric, "ratio", "no loop with time has an estimate for it");
		return;
	}
	s = spared_new(b);
	for (size_t i = 0; i < variant->steps.count; i++) {
		const struct sn_whatif_loop *loop =
			&b->whatif->loops.items[variant->steps.items[i].index];
		const struct sn_cqa_variant *better = &loop->quality.variants[v];

		s.high[loop->loop] = s.value[loop->loop] = part_spared(better->speedup);
		s.low[loop->loop] = part_spared(better->ram_speedup);
	}
	row = gain_row(b, &s, ratio_of_savings(variant->speedup_low, variant->ram_speedup),
		       ratio_of_savings(variant->speedup_high, variant->speedup));
	row.metric = metric;
	row.source = "static";
	row.basis_share = variant->estimated_share;
	if (sn_worker_time_saved(&b->fine, b->fine.pace, s.low, NULL, 0) <
	    LEVEL_MATTERS * sn_worker_time_saved(&b->fine, b->fine.pace, s.value, NULL, 0)) {
		row.value = NAN;
		row.reason =
			"samples do not tell which memory level the data come from: the low end "
			"is for RAM, the high end for L1; sonde decan measures it";
	}
	spared_free(&s);
	add(b, row);
}

static bool are_withheld(const struct sn_variants_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].withheld)
			return true;
	return false;
}

static void add_measured(struct builder *b, const struct sn_variants_list *list, const char *metric,
			 enum sn_decan_variant v)
{
	struct spared s = spared_new(b);
	struct sn_global_row row;
	uint64_t basis_ns = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct sn_variants *loop = &list->items[i];
		const struct sn_variant_figure *figure = &loop->figures[v];

		if (loop->exponent >= 0 || !sn_variant_counts(loop, v))
			continue;
		basis_ns += b->profile->loops[loop->loop].exclusive.cpu_ns;
		s.value[loop->loop] = part_spared(figure->speedup);
		s.low[loop->loop] = part_spared(sn_variant_range(loop, v).low);
		s.high[loop->loop] = part_spared(sn_variant_range(loop, v).high);
	}
	if (!basis_ns) {
		add_unknown(
			b, metric, "ratio",
			are_withheld(list)
				? "gains are withheld: 'sonde show variants' says of which loops, and why"
				: "no such variant of a loop was run; sonde decan -- PROGRAM runs them");
	} else {
		row = gain_row(b, &s, 1, 1);
		row.metric = metric;
		row.source = "measured";
		row.basis_share = sn_share(basis_ns, b->profile->total.cpu_ns);
		add(b, row);
	}
	spared_free(&s);
}

/* ---- parallelism ---- */

/* Elapsed seconds: with workers that meet in each slice, and the ends of what may be. */
struct parallel_gain {
	double value, low, high;
};

static struct parallel_gain gain_of(const struct builder *b,
				    double (*saved)(const struct sn_worker_time *, const double *))
{
	double fine = saved(&b->fine, b->fine.pace), whole = saved(&b->whole, b->whole.pace);

	return (struct parallel_gain){ fine,
				       fmin(fmin(saved(&b->fine, b->fine.least_pace),
						 saved(&b->whole, b->whole.least_pace)),
					    fmin(fine, whole)),
				       fmax(fine, whole) };
}

static void add_parallel_row(struct builder *b, const char *metric, struct parallel_gain gain)
{
	add(b, (struct sn_global_row){ .metric = metric,
				       .unit = "ratio",
				       .source = "measured",
				       .value = speedup(b, gain.value),
				       .low = speedup(b, gain.low),
				       .high = speedup(b, gain.high),
				       .basis_share = 1 });
}

static void add_parallel(struct builder *b)
{
	struct parallel_gain balance = gain_of(b, sn_worker_time_balance),
			     runtime = gain_of(b, sn_worker_time_runtime);

	/* workers that keep each other from the CPUs take as long if they share the work otherwise */
	if (b->whole.workers_at_work > sn_experiment_cpus(b->profile->experiment))
		balance.low = 0;
	add_parallel_row(b, "speedup_perfect_balance", balance);
	add_parallel_row(b, "speedup_perfect_parallel", runtime);
	add_parallel_row(b, "speedup_perfect_both",
			 (struct parallel_gain){ balance.value + runtime.value,
						 balance.low + runtime.low,
						 balance.high + runtime.high });
}

static void add_speedups(struct builder *b)
{
	struct sn_variants_list measured;

	sn_variants_find(b->profile, b->structures, &measured);
	add_static(b, "speedup_clean", SN_VARIANT_CLEAN);
	add_static(b, "speedup_fp_vector", SN_VARIANT_FP_VECTOR);
	add_static(b, "speedup_full_vector", SN_VARIANT_FULL_VECTOR);
	add_measured(b, &measured, "speedup_dl1", SN_VARIANT_DL1);
	add_measured(b, &measured, "speedup_fp_only", SN_VARIANT_FP);
	add_static(b, "speedup_no_dependence", SN_VARIANT_NO_DEPENDENCE);
	add_measured(b, &measured, "speedup_perfect_prefetch", SN_VARIANT_PF);
	add_parallel(b);
	sn_variants_free(&measured);
}

static const char *const speedups[] = {
	"speedup_clean",
	"speedup_fp_vector",
	"speedup_full_vector",
	"speedup_dl1",
	"speedup_fp_only",
	"speedup_no_dependence",
	"speedup_perfect_prefetch",
	"speedup_perfect_balance",
	"speedup_perfect_parallel",
	"speedup_perfect_both",
};

/* Cuts the run into slices; false: nothing was sampled. Free the cells. */
static bool begin(struct builder *b)
{
	int64_t from_ns = b->profile->from_ns, to_ns = b->profile->to_ns;
	size_t slices;

	if (from_ns < 0)
		from_ns = 0;
	if (to_ns > b->profile->experiment->elapsed_ns)
		to_ns = b->profile->experiment->elapsed_ns;
	b->begin_s = sn_seconds(from_ns);
	b->elapsed_s = to_ns > from_ns ? sn_seconds(to_ns - from_ns) : 0;
	if (!b->profile->total.cpu_ns || !(b->elapsed_s > 0))
		return false;
	sn_worker_time_fill(&b->whole, b->profile, b->structures, b->begin_s, b->elapsed_s, 1);
	slices = b->profile->total.samples / SLICE_SAMPLES / (b->whole.workers_at_work + 1);
	sn_worker_time_fill(&b->fine, b->profile, b->structures, b->begin_s, b->elapsed_s,
			    slices < 1		   ? 1
			    : slices < SLICES_MOST ? slices
						   : SLICES_MOST);
	return true;
}

static void end(struct builder *b)
{
	sn_worker_time_free(&b->whole);
	sn_worker_time_free(&b->fine);
}

/* Above it elapsed times are the machine's as much as the program's. */
static const double MUCH_WAITING = 0.05;

char *sn_global_warning(const struct sn_profile *profile, struct sn_arena *arena)
{
	double waiting = sn_worker_time_waiting(profile);
	struct sn_text text = { 0 };
	char *out;

	if (!(waiting > MUCH_WAITING))
		return NULL;
	sn_text_addf(
		&text,
		"threads had no CPU for %.0f %% of the time that they could run. Speed-ups take "
		"such waiting to shrink with the work: they are those of a machine as busy as this one was",
		100 * waiting);
	out = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return out;
}

void sn_global_find(const struct sn_profile *profile, struct sn_structures *structures,
		    const struct sn_whatif *whatif, struct sn_global *out)
{
	struct builder b = {
		.profile = profile, .structures = structures, .whatif = whatif, .out = out
	};
	bool has_samples;

	memset(out, 0, sizeof(*out));
	has_samples = begin(&b);
	add_run(&b);
	if (has_samples)
		add_speedups(&b);
	for (size_t i = 0; i < sizeof(speedups) / sizeof(*speedups) && !has_samples; i++)
		add_unknown(&b, speedups[i], "ratio", "there are no samples");
	end(&b);
}

void sn_global_vectors_of_groups(const struct sn_profile *profile, const struct sn_whatif *whatif,
				 const uint32_t *group_of, size_t groups, double *high)
{
	const struct sn_whatif_variant *variant = &whatif->variants[SN_VARIANT_FULL_VECTOR];
	double above = ratio_of_savings(variant->speedup_high, variant->speedup);
	struct builder b = { .profile = profile, .whatif = whatif };
	bool has_samples = begin(&b) && !isnan(variant->speedup);

	for (size_t g = 0; g < groups; g++) {
		double *spared =
			sn_alloc_zeroed(profile->program->loops.count + 1, sizeof(*spared));

		for (size_t i = 0; i < variant->steps.count && has_samples; i++) {
			const struct sn_whatif_loop *loop =
				&whatif->loops.items[variant->steps.items[i].index];

			if (group_of[loop->loop] == g)
				spared[loop->loop] = part_spared(
					loop->quality.variants[SN_VARIANT_FULL_VECTOR].speedup);
		}
		high[g] = has_samples ? speedup(&b, above * most_saved(&b, spared)) : NAN;
		free(spared);
	}
	end(&b);
}

void sn_global_free(struct sn_global *global)
{
	sn_vec_free(&global->rows);
	sn_arena_free(&global->arena);
}
