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
#include "base/map.h"
#include "profile/compile.h"
#include "profile/uncertainty.h"
#include "profile/workers.h"
#include "whatif/variants.h"

enum {
	SLICES_MOST = 64,
	SLICE_SAMPLES = 50, /* of a worker, for a slice: its time is known to some 15 % */
	OWN_MODULES = 64,
};

/* A speed-up is called one number if the gain in RAM is this part of that in L1. */
#define LEVEL_MATTERS 0.9

struct loop_time {
	uint32_t loop;
	size_t cell;
	double seconds; /* without the kernel's */
};

/* CPU time of each worker in each slice; a cell is slice x workers + worker. */
struct cells {
	size_t workers, slices;
	double *useful_s, *runtime_s;
	SN_VEC(struct loop_time) loops; /* by loop */
	uint8_t *at_work;		/* by worker: it counts where workers are compared */
	size_t workers_at_work;
	double sample_s; /* CPU time of a sample */
};

struct builder {
	const struct sn_profile *profile;
	struct sn_structures *structures;
	const struct sn_whatif *whatif;
	struct sn_global *out;
	double begin_s, elapsed_s; /* of what is looked at */
	struct cells fine, whole;
};

/* ---- cells ---- */

static size_t slice_of(const struct builder *b, const struct cells *c, int64_t time_ns)
{
	double at = ((double)time_ns / 1e9 - b->begin_s) / b->elapsed_s;
	double slice = floor(at * (double)c->slices);

	return slice <= 0 ? 0 : slice >= (double)c->slices ? c->slices - 1 : (size_t)slice;
}

static int slots_compare(const void *left, const void *right)
{
	const struct sn_map_slot *x = left, *y = right;

	return (x->key > y->key) - (x->key < y->key);
}

static void loops_sort(struct cells *c, const struct sn_map *times)
{
	struct sn_map_slot *slots = sn_alloc_zeroed(times->count + 1, sizeof(*slots));
	size_t count = 0;

	for (size_t i = 0; i < times->capacity; i++)
		if (times->slots[i].used)
			slots[count++] = times->slots[i];
	qsort(slots, count, sizeof(*slots), slots_compare);
	for (size_t i = 0; i < count; i++)
		sn_vec_push(&c->loops, ((struct loop_time){ (uint32_t)(slots[i].key >> 32),
							    slots[i].key & 0xffffffff,
							    (double)slots[i].value / 1e9 }));
	free(slots);
}

static void sample_add(const struct builder *b, struct cells *c, const uint32_t *worker_of,
		       const struct sn_sample *sample, struct sn_map *times)
{
	const struct sn_program *program = b->profile->program;
	uint32_t stack =
		sample->stack < program->stack_count ? sample->stack : program->stack_count;
	const struct sn_class *class = &program->classes[stack];
	const struct sn_weight *weight = &b->profile->stacks[stack];
	uint32_t loop = sn_program_leaf(program, stack)->loop;
	size_t cell = slice_of(b, c, sample->time_ns) * c->workers + worker_of[sample->thread];
	double seconds = (double)sample->cpu_ns / 1e9;

	if (class->is_spin || class->user == SN_CATEGORY_MPI || class->user == SN_CATEGORY_OPENMP) {
		c->runtime_s[cell] += seconds;
		return;
	}
	c->useful_s[cell] += seconds;
	if (loop != SN_NONE)
		*sn_map_put(times, (uint64_t)loop << 32 | cell, NULL) +=
			(uint64_t)((double)sample->cpu_ns *
				   (1 - sn_share(weight->system_ns, weight->cpu_ns)));
}

static void workers_compare(const struct sn_profile *profile, const uint32_t *worker_of,
			    struct cells *c)
{
	double *cpu_s = sn_alloc_zeroed(c->workers + 1, sizeof(*cpu_s));

	for (size_t i = 0; i < c->workers * c->slices; i++)
		cpu_s[i % c->workers] += c->useful_s[i] + c->runtime_s[i];
	c->at_work = sn_alloc_zeroed(c->workers + 1, sizeof(*c->at_work));
	c->workers_at_work = sn_workers_at_work(profile, worker_of, c->workers, cpu_s, c->at_work);
	free(cpu_s);
}

static void cells_fill(const struct builder *b, struct cells *c, size_t slices)
{
	const struct sn_experiment *e = b->profile->experiment;
	uint32_t *worker_of = sn_alloc_zeroed(e->threads.count + 1, sizeof(*worker_of));
	struct sn_map times = { 0 };

	c->workers = sn_workers_assign(e, worker_of);
	c->slices = slices;
	c->useful_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	c->runtime_s = sn_alloc_zeroed(c->workers * slices + 1, sizeof(double));
	if (b->profile->total.samples)
		c->sample_s =
			(double)b->profile->total.cpu_ns / 1e9 / (double)b->profile->total.samples;
	for (size_t i = 0; i < e->samples.count; i++)
		if (sn_profile_has_sample(b->profile, &e->samples.items[i]))
			sample_add(b, c, worker_of, &e->samples.items[i], &times);
	loops_sort(c, &times);
	workers_compare(b->profile, worker_of, c);
	sn_map_free(&times);
	free(worker_of);
}

static void cells_free(struct cells *c)
{
	free(c->useful_s);
	free(c->runtime_s);
	free(c->at_work);
	sn_vec_free(&c->loops);
}

static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, values[i]);
	return most;
}

/* What the busiest workers lose if each loop is spared that part of its time; loops whose place in
 * `order` lies behind `limit` stay as they are. `order` NULL: none does. */
static double seconds_saved(const struct cells *c, const double *spared, const size_t *order,
			    size_t limit)
{
	double *left = sn_alloc_zeroed(c->workers * c->slices + 1, sizeof(*left));
	double saved = 0;

	memcpy(left, c->useful_s, c->workers * c->slices * sizeof(*left));
	for (size_t i = 0; i < c->loops.count; i++) {
		const struct loop_time *time = &c->loops.items[i];

		if (!order || order[time->loop] < limit)
			left[time->cell] -= time->seconds * spared[time->loop];
	}
	for (size_t s = 0; s < c->slices; s++)
		saved += largest(c->useful_s + s * c->workers, c->workers) -
			 largest(left + s * c->workers, c->workers);
	free(left);
	return saved;
}

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
	const struct cells *c = &b->fine;
	size_t loops = b->profile->program->loops.count, low = 0, high;
	size_t *order = sn_alloc_zeroed(loops + 1, sizeof(*order));
	double wanted = 0.8 * (speedup(b, seconds_saved(c, spared, NULL, 0)) - 1);
	SN_VEC(struct gain) gains = { 0 };

	for (uint32_t l = 0; l < loops; l++) {
		order[l] = l == 0;
		if (spared[l] > 0)
			sn_vec_push(&gains, ((struct gain){ l, 0 }));
	}
	for (size_t i = 0; i < gains.count; i++) {
		for (size_t l = 0; l < loops; l++)
			order[l] = l != gains.items[i].loop;
		gains.items[i].saved_s = seconds_saved(c, spared, order, 1);
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

		if (speedup(b, seconds_saved(c, spared, order, middle)) - 1 >= wanted - 1e-12)
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

/* `below` and `above`: what sampling may have made of the sums. */
static struct sn_global_row gain_row(const struct builder *b, const struct spared *s, double below,
				     double above)
{
	double value = seconds_saved(&b->fine, s->value, NULL, 0);
	double low = fmin(seconds_saved(&b->fine, s->low, NULL, 0),
			  seconds_saved(&b->whole, s->low, NULL, 0));
	double high = fmax(seconds_saved(&b->fine, s->high, NULL, 0),
			   seconds_saved(&b->whole, s->high, NULL, 0));

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
	if (seconds_saved(&b->fine, s.low, NULL, 0) <
	    LEVEL_MATTERS * seconds_saved(&b->fine, s.value, NULL, 0)) {
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
		s.low[loop->loop] = part_spared(figure->speedup_range.low);
		s.high[loop->loop] = part_spared(figure->speedup_range.high);
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

/* Useful times of the workers at work in a slice; returns which of all workers is the busiest. */
static size_t slice_read(const struct cells *c, size_t slice, double *useful)
{
	size_t busiest = 0, count = 0;
	double most = -1;

	for (size_t w = 0; w < c->workers; w++) {
		double seconds = c->useful_s[slice * c->workers + w];

		if (!c->at_work[w])
			continue;
		useful[count++] = seconds;
		if (seconds > most) {
			most = seconds;
			busiest = w;
		}
	}
	return busiest;
}

/* What perfect balance of useful time saves, and what no time in the runtimes does. */
static void parallel_saved(const struct cells *c, double *balance_s, double *runtime_s)
{
	double *useful = sn_alloc_zeroed(c->workers + 1, sizeof(*useful));

	*balance_s = *runtime_s = 0;
	for (size_t s = 0; s < c->slices; s++) {
		size_t busiest = slice_read(c, s, useful);
		double mean = sn_mean(useful, c->workers_at_work);

		*balance_s += fmax(
			0, sn_largest_of(useful, c->workers_at_work, mean * c->sample_s) - mean);
		*runtime_s += c->runtime_s[s * c->workers + busiest];
	}
	free(useful);
}

static void add_parallel_row(struct builder *b, const char *metric, double fine_s, double whole_s)
{
	add(b, (struct sn_global_row){ .metric = metric,
				       .unit = "ratio",
				       .source = "measured",
				       .value = speedup(b, fine_s),
				       .low = speedup(b, fmin(fine_s, whole_s)),
				       .high = speedup(b, fmax(fine_s, whole_s)),
				       .basis_share = 1 });
}

static void add_parallel(struct builder *b)
{
	double fine[2], whole[2];

	parallel_saved(&b->fine, &fine[0], &fine[1]);
	parallel_saved(&b->whole, &whole[0], &whole[1]);
	add_parallel_row(b, "speedup_perfect_balance", fine[0], whole[0]);
	add_parallel_row(b, "speedup_perfect_parallel", fine[1], whole[1]);
	add_parallel_row(b, "speedup_perfect_both", fine[0] + fine[1], whole[0] + whole[1]);
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
	cells_fill(b, &b->whole, 1);
	slices = b->profile->total.samples / SLICE_SAMPLES / (b->whole.workers_at_work + 1);
	cells_fill(b, &b->fine, slices < 1 ? 1 : slices < SLICES_MOST ? slices : SLICES_MOST);
	return true;
}

static void end(struct builder *b)
{
	cells_free(&b->whole);
	cells_free(&b->fine);
}

void sn_global_find(const struct sn_profile *profile, struct sn_structures *structures,
		    const struct sn_whatif *whatif, struct sn_global *out)
{
	struct builder b = { profile, structures, whatif, out, 0, 0, { 0 }, { 0 } };
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
		high[g] = has_samples
				  ? speedup(&b,
					    above * fmax(seconds_saved(&b.fine, spared, NULL, 0),
							 seconds_saved(&b.whole, spared, NULL, 0)))
				  : NAN;
		free(spared);
	}
	end(&b);
}

void sn_global_free(struct sn_global *global)
{
	sn_vec_free(&global->rows);
	sn_arena_free(&global->arena);
}
