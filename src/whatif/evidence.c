/* From figures of one loop to a verdict and to advice with what speaks for and against it. */
#include "whatif/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gain below a tenth is no reason to change code (chosen, as of the static model's advice). */
#define WORTH 1.1
/* Prefetches are one line of code: a twentieth is worth it (chosen). */
#define WORTH_PREFETCH 1.05
/* The model's speed-ups for data in L1 are within 20 % of measured ones for 18 of 22 loops and more
 * (bench/RESULTS.md). */
#define MODEL_ERROR   1.2
#define VARIANT_ERROR SN_VARIANT_ERROR
/* A list whose loads take so many times what they would from first-level cache is farther away (chosen: second-level
 * cache takes three times as long). */
#define FAR_TIMES 3
/* Vectors of 32 single-precision elements and a remainder want so many iterations (chosen). */
enum { SHORT_ITERATIONS = 32 };
/* An iteration that takes so many times what the model says, in cycles of the time-stamp counter, which may run at half
 * of a core's rate (chosen), is no matter of the model's error. */
#define FAR_FROM_MODEL 2

const char *sn_evidence_trust_name(enum sn_evidence_trust trust)
{
	static const char *const names[] = { "high", "medium", "low", "none" };

	return names[trust];
}

struct judge {
	const struct sn_loop_known *known;
	struct sn_loop_evidence *out;
	const struct sn_variant_figure *figures; /* by variant; NULL: none were measured */
};

static const struct sn_cqa_path *main_path(const struct judge *j)
{
	const struct sn_cqa_loop *q = j->known->quality;

	return q && q->paths ? &q->paths[q->main_path] : NULL;
}

/* ---- where its data are ---- */

enum reach { REACH_UNKNOWN, REACH_NEAR, REACH_FAR };

/* Why nothing is concluded from what was timed, by the limits that its class has; NULL: no such reason. */
static const char *why_untold(const struct judge *j)
{
	const struct sn_variant_figure *orig = &j->figures[SN_VARIANT_ORIG];

	if (j->known->variants->withheld && j->known->variants->class == SN_CLASS_UNKNOWN)
		return j->known->variants->withheld;
	if (orig->instance_cycles < SN_VARIANT_CYCLES_LEAST)
		return sn_arena_printf(
			&j->out->arena,
			"an instance takes %.0f cycles, and below %.0f they do not tell",
			orig->instance_cycles, SN_VARIANT_CYCLES_LEAST);
	if (j->known->variants->keeps_loads && j->known->variants->class == SN_CLASS_UNKNOWN)
		return "every one has the loads that decide where it goes on";
	return NULL;
}

static bool has(const struct judge *j, enum sn_decan_variant v)
{
	return j->figures && sn_variant_counts(j->known->variants, v);
}

static enum reach reach_of(const struct judge *j)
{
	if (!has(j, SN_VARIANT_DL1))
		return REACH_UNKNOWN;
	if (j->figures[SN_VARIANT_DL1].speedup_range.low > WORTH)
		return REACH_FAR;
	return j->figures[SN_VARIANT_DL1].speedup_range.high < WORTH ? REACH_NEAR : REACH_UNKNOWN;
}

static const char *dl1_words(const struct judge *j)
{
	const struct sn_variant_figure *f = &j->figures[SN_VARIANT_DL1];

	return sn_arena_printf(&j->out->arena,
			       "with data in first-level cache it would be %.2f times as fast "
			       "(95 %%: %.2f-%.2f, measured)",
			       f->speedup, f->speedup_range.low, f->speedup_range.high);
}

/* ---- the verdict ---- */

static const char *static_words(const struct judge *j)
{
	static const char *const by[SN_BOUND_COUNT] = {
		[SN_BOUND_PORTS] = "execution units",
		[SN_BOUND_DIVIDER] = "the divider",
		[SN_BOUND_ISSUE] = "the number of its instructions",
		[SN_BOUND_FRONT_END] = "instruction supply",
		[SN_BOUND_LATENCY] = "a chain of operations that wait for each other",
	};

	return j->known->quality ? by[j->known->quality->bottleneck] : NULL;
}

static const char *data_verdict(const struct judge *j)
{
	j->out->kind = reach_of(j) == REACH_FAR ? "memory_bound" : "l1_bound";
	switch (reach_of(j)) {
	case REACH_FAR:
		return sn_arena_printf(
			&j->out->arena, "It waits for data from %s%s: %s",
			j->known->variants->level ? j->known->variants->level
						  : "beyond first-level cache",
			j->known->variants->is_latency_bound ? ", one load after the other" : "",
			dl1_words(j));
	case REACH_NEAR:
		return j->known->variants->is_latency_bound
			       ? "Its loads and stores bound it, one load after the other, with data in "
				 "first-level cache"
			       : "Its loads and stores bound it, with data in first-level cache";
	default:
		return "Its loads and stores bound it; how far away their data are is not clear";
	}
}

static const char *compute_verdict(const struct judge *j)
{
	const char *why =
		"Its arithmetic bounds it: with free loads and stores it would take as long";

	if (j->known->quality && (j->known->quality->bottleneck == SN_BOUND_DIVIDER ||
				  j->known->quality->bottleneck == SN_BOUND_LATENCY))
		return sn_arena_printf(&j->out->arena, "%s; by %s, says the static model", why,
				       static_words(j));
	return why;
}

/* Variants were timed, but not all that tell a class. */
static const char *dl1_verdict(const struct judge *j)
{
	switch (reach_of(j)) {
	case REACH_FAR:
		return data_verdict(j);
	case REACH_NEAR:
		j->out->kind = "not_memory_bound";
		return static_words(j)
			       ? sn_arena_printf(
					 &j->out->arena,
					 "Data in first-level cache would not help: %s bounds "
					 "it, says the static model",
					 static_words(j))
			       : "Data in first-level cache would not help";
	default:
		return NULL;
	}
}

/* What all variants keep: each decides where it goes on as the loop does. */
static const char *front_end_verdict(const struct judge *j)
{
	const struct sn_variant_figure *work = &j->figures[SN_VARIANT_FP];

	if (isnan(work->cycles))
		work = &j->figures[SN_VARIANT_ARITH];
	return work->cycles >= 0.9 * j->figures[SN_VARIANT_ORIG].cycles
		       ? "Neither its loads nor its arithmetic bound it: without both it takes as long. What is "
			 "left is where it goes on (mispredicted branches) and instruction supply"
		       : "Instruction supply bounds it: as many instructions that do nothing take as "
			 "long";
}

/* A list: DL1 cannot be made, as its loads decide where it goes on, but their time can be told from what they take. */
static bool is_far_list(const struct judge *j)
{
	const struct sn_cqa_path *path = main_path(j);

	return j->figures && j->known->variants->keeps_loads &&
	       (j->known->variants->class == SN_CLASS_UNKNOWN ||
		j->known->variants->is_list_by_model) &&
	       path && path->loads_on_chain &&
	       j->figures[SN_VARIANT_ORIG].cycles > FAR_TIMES * j->known->quality->cycles;
}

static const char *list_verdict(const struct judge *j)
{
	if (!is_far_list(j)) {
		j->out->kind = "l1_bound";
		return "It follows a list, one load after the other, not far from first-level cache";
	}
	j->out->kind = "memory_bound";
	return sn_arena_printf(
		&j->out->arena,
		"It follows a list, one load after the other, beyond first-level cache: %.0f "
		"cycles an iteration, where the static model says %.1f for data in it",
		j->figures[SN_VARIANT_ORIG].cycles, j->known->quality->cycles);
}

static const char *measured_verdict(const struct judge *j)
{
	if (!j->figures)
		return NULL;
	switch (j->known->variants->class) {
	case SN_CLASS_DATA:
		return j->known->variants->is_list_by_model ? list_verdict(j) : data_verdict(j);
	case SN_CLASS_COMPUTE:
		j->out->kind = "compute_bound";
		return compute_verdict(j);
	case SN_CLASS_BOTH:
		j->out->kind = "balanced";
		return "Balanced: its loads and stores alone take as long as its arithmetic alone, and "
		       "as the loop";
	case SN_CLASS_NEITHER:
		j->out->kind = "chained";
		return "Its loads and its arithmetic wait for each other: neither alone explains its "
		       "time";
	case SN_CLASS_FRONT_END:
		j->out->kind = "front_end_bound";
		return front_end_verdict(j);
	default:
		return is_far_list(j) ? list_verdict(j) : dl1_verdict(j);
	}
}

static bool is_warm(const struct judge *j)
{
	for (int v = 0; v < SN_VARIANTS; v++)
		if (j->figures[v].state == SN_VARIANT_WARMED)
			return true;
	return false;
}

static void give_verdict(struct judge *j)
{
	struct sn_loop_evidence *out = j->out;
	const char *why;

	out->verdict = measured_verdict(j);
	if (out->verdict && is_warm(j))
		out->verdict = sn_arena_printf(&out->arena,
					       "%s (few instances: variants shared them, and those "
					       "behind LS found warm caches)",
					       out->verdict);
	if (out->verdict) {
		out->trust = sn_variants_are_sure(j->known->variants) ? SN_EVIDENCE_HIGH
								      : SN_EVIDENCE_MEDIUM;
		return;
	}
	out->kind = static_words(j) ? "estimated" : "unknown";
	out->trust = static_words(j) ? SN_EVIDENCE_LOW : SN_EVIDENCE_NONE;
	why = j->figures ? why_untold(j) : NULL;
	out->verdict = sn_arena_printf(
		&out->arena, "%s%s%s%s%s",
		why	     ? "Variants were timed, but "
		: j->figures ? "Variants were timed, but differ by less than their timings do"
			     : "What bounds it was not measured",
		why ? why : "",
		static_words(j) ? "; with data in first-level cache it would be " : "",
		static_words(j) ? static_words(j) : "",
		static_words(j) ? ", says the static model" : "");
}

/* ---- advice ---- */

static void set_program(struct sn_loop_advice *advice, double share)
{
	if (isnan(advice->speedup)) {
		advice->program_speedup = NAN;
		advice->program_range = advice->range;
		return;
	}
	advice->program_speedup = sn_amdahl(share, advice->speedup);
	advice->program_range = (struct sn_interval){ sn_amdahl(share, advice->range.low),
						      sn_amdahl(share, advice->range.high) };
}

static void add_measured(struct judge *j, enum sn_decan_variant v, double worth,
			 const char *subject, const char *sentence, const char *what)
{
	const struct sn_variant_figure *f = &j->figures[v];
	struct sn_loop_advice advice = {
		.grade = "measured",
		.subject = subject,
		.sentence = sentence,
		.speedup = f->speedup,
		.range = f->speedup_range,
		.for_it = sn_arena_printf(&j->out->arena,
					  "%s is %.2f times as fast (95 %%: %.2f-%.2f)", what,
					  f->speedup, f->speedup_range.low, f->speedup_range.high)
	};

	if (!has(j, v) || !(f->speedup_range.low > worth))
		return;
	advice.range = sn_variant_range(j->known->variants, v);
	if (v == SN_VARIANT_DL1)
		advice.range.low = 1; /* not all data that come nearer come that near */
	if (f->state == SN_VARIANT_WEAK)
		advice.against = "few timings, or short instances: the figure is weak";
	if (f->state == SN_VARIANT_WARMED)
		advice.against =
			"it ran behind other variants on the same few instances, on warm caches: "
			"the gain may be smaller";
	set_program(&advice, j->known->inclusive_share);
	sn_vec_push(&j->out->advice, advice);
}

/* Of a list on nearer data no variant can be made: at best it takes what the model says of first-level cache. */
static void add_list_advice(struct judge *j)
{
	double times = j->figures[SN_VARIANT_ORIG].cycles / j->known->quality->cycles;
	struct sn_loop_advice advice = {
		.grade = sn_confidence_name(SN_ADVICE_POTENTIAL),
		.subject = "locality",
		.sentence =
			"Bring the list nearer: lay its nodes out in the order of the walk, make "
			"them smaller, or use an array.",
		.speedup = times,
		.range = { 1, times * VARIANT_ERROR },
		.for_it = sn_arena_printf(
			&j->out->arena,
			"each load waits for the one before, and its data are far away: %.0f cycles "
			"an iteration (measured), %.1f in first-level cache (by the model)",
			j->figures[SN_VARIANT_ORIG].cycles, j->known->quality->cycles),
	};

	set_program(&advice, j->known->exclusive_share);
	sn_vec_push(&j->out->advice, advice);
}

static void add_measured_advice(struct judge *j)
{
	if (!j->figures)
		return;
	if (is_far_list(j))
		add_list_advice(j);
	add_measured(
		j, SN_VARIANT_DL1, WORTH, "locality",
		"Bring the data nearer: block the loops around it, pack what is used together, take "
		"smaller types, or walk along memory. All of it in first-level cache brings the most.",
		"DL1, the loop on data in first-level cache,");
	add_measured(j, SN_VARIANT_PF, WORTH_PREFETCH, "prefetch",
		     "Prefetch what the loop will load (__builtin_prefetch).",
		     "PF, the loop with prefetches,");
}

/* Better code leaves the waiting for data: at most so much faster, with that part of the time unchanged. */
static double beside_waiting(double speedup, double dl1_speedup)
{
	return 1 / (1 / dl1_speedup / speedup + 1 - 1 / dl1_speedup);
}

double sn_variants_beside_waiting(const struct sn_variants *variants, double speedup)
{
	const struct sn_variant_figure *dl1 = &variants->figures[SN_VARIANT_DL1];
	double most;

	if (!sn_variant_counts(variants, SN_VARIANT_DL1) || !(dl1->speedup_range.low > WORTH))
		return speedup;
	most = beside_waiting(speedup, dl1->speedup_range.low);
	return fmin(most, speedup);
}

static void bound_by_waiting(struct judge *j, struct sn_loop_advice *advice)
{
	const struct sn_variant_figure *dl1 = &j->figures[SN_VARIANT_DL1];
	double most = beside_waiting(advice->range.high, dl1->speedup_range.low);

	advice->speedup = beside_waiting(advice->speedup, dl1->speedup);
	if (most < advice->range.high) {
		j->out->disagreement = sn_arena_printf(
			&j->out->arena,
			"The static model assumes data in first-level cache; %s. The measurement "
			"decides: the ranges of advice leave that waiting in",
			dl1_words(j));
		advice->range.high = most;
	}
	advice->against = sn_arena_printf(&j->out->arena,
					  "the loop waits for data, which this does not change: %s",
					  dl1_words(j));
}

/* LS also loads what it stores: at worst it takes so many times as long as the loads of the loop. */
static double loads_of_ls(const struct judge *j)
{
	const struct sn_cqa_path *path = main_path(j);

	return path && path->metrics.loads
		       ? 1 + (double)path->metrics.stores / (double)path->metrics.loads
		       : 1;
}

/* What saves arithmetic alone, with as many elements in each pass, brings no more than free arithmetic. */
static void bound_by_free_arithmetic(struct judge *j, struct sn_loop_advice *advice)
{
	const struct sn_variant_figure *ls =
		has(j, SN_VARIANT_LS) ? &j->figures[SN_VARIANT_LS] : NULL;
	double most;

	if (!ls)
		return;
	most = ls->speedup_range.high * VARIANT_ERROR * loads_of_ls(j);
	if (!(most < advice->range.high))
		return;
	advice->range.high = fmax(1, most);
	advice->range.low = 1; /* a bound from above promises nothing */
	advice->speedup = fmin(advice->speedup, fmax(1, ls->speedup));
	advice->against = sn_arena_printf(
		&j->out->arena,
		"with arithmetic free the loop would be %.2f times as fast (95 %%: %.2f-%.2f, measured): "
		"this brings no more, as long as a pass has as many elements",
		ls->speedup, ls->speedup_range.low, ls->speedup_range.high);
}

static bool saves_arithmetic_alone(const char *subject)
{
	/* several chains or sums ("dependence", "partial sums") also take fewer passes */
	static const char *const subjects[] = { "division", "fma", "fma order", "conversions" };

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (!strcmp(subject, subjects[i]))
			return true;
	return false;
}

/* Chains of arithmetic, where the loop without it gains nothing to speak of. LS keeps those that lead through a load. */
static bool is_chain_disproved(const struct judge *j, const char *subject)
{
	const struct sn_cqa_path *path = main_path(j);

	return (!strcmp(subject, "dependence") || !strcmp(subject, "partial sums")) &&
	       has(j, SN_VARIANT_LS) && j->figures[SN_VARIANT_LS].speedup_range.high < WORTH &&
	       !(path && path->loads_on_chain > 0);
}

static bool is_bounded_by_free_arithmetic(const struct judge *j, const char *subject)
{
	return saves_arithmetic_alone(subject) || is_chain_disproved(j, subject);
}

static bool is_on_vectors(const char *subject)
{
	return !strncmp(subject, "vectorize", 9) || !strcmp(subject, "wider vectors");
}

static void weigh_iterations(struct judge *j, struct sn_loop_advice *advice)
{
	const struct sn_instances *it = j->known->instances;

	if (!it || !sn_instances_have_iterations(&it->all) ||
	    it->all.iterations_median >= SHORT_ITERATIONS ||
	    (!is_on_vectors(advice->subject) && strcmp(advice->subject, "unroll") != 0))
		return;
	advice->against = sn_arena_printf(
		&j->out->arena,
		"%s%san instance has %llu iterations (median, counted): much of them is "
		"start and remainder of the better loop",
		advice->against ? advice->against : "", advice->against ? "; " : "",
		(unsigned long long)it->all.iterations_median);
}

/* The level that holds what an instance touches, by the smallest caches of x86-64 cores of these years (chosen). That
 * data in first-level cache would not help says that the loop as it is does not wait for them; a faster one may. */
static enum sn_level level_of_instance(const struct judge *j, double bytes_a_pass)
{
	static const double room_bytes[] = {
		[SN_LEVEL_L1] = 32 << 10, [SN_LEVEL_L2] = 256 << 10, [SN_LEVEL_L3] = 4 << 20
	};
	const struct sn_instances *it = j->known->instances;
	unsigned level = SN_LEVEL_L1;

	if (!it || !sn_instances_have_iterations(&it->all))
		return SN_LEVEL_RAM;
	while (level < SN_LEVEL_RAM &&
	       (double)it->all.iterations_median * bytes_a_pass > room_bytes[level])
		level++;
	return (enum sn_level)level;
}

/* A vector that is as wide as a line lies in two of them, if it does not begin with one. */
static bool may_cross_lines(const struct judge *j, const char *subject)
{
	const struct sn_cqa_path *path = main_path(j);

	return is_on_vectors(subject) && path && path->metrics.loads + path->metrics.stores &&
	       j->known->quality->machine && j->known->quality->machine->rules.vector_bytes == 64;
}

static double speedup_at_its_level(const struct judge *j, double speedup)
{
	const struct sn_cqa_loop *q = j->known->quality;
	const struct sn_cqa_path *path = main_path(j);

	if (!path || !(q->cycles > 0))
		return 1;
	return q->cycles /
	       fmax(q->cycles / speedup,
		    path->moved_cycles[level_of_instance(j, path->metrics.bytes_from_memory)]);
}

/* The data are where the model assumes them, so its own error is what is left; of chains that are no sums it is not
 * known how many independent ones there can be. */
static void trust_near(struct judge *j, struct sn_loop_advice *advice)
{
	double sure = speedup_at_its_level(j, advice->speedup) / MODEL_ERROR;

	if (may_cross_lines(j, advice->subject)) {
		sure /= 2;
		advice->against = "vectors of 64 bytes take two accesses each, unless the data are "
				  "aligned to 64 bytes (malloc aligns to 16)";
	}
	advice->range.low = !strcmp(advice->subject, "dependence") ? 1 : fmax(1, sure);
	advice->range.high *= MODEL_ERROR;
	advice->for_it =
		sn_arena_printf(&j->out->arena,
				"%s; data in first-level cache would not help (measured), so the "
				"static model's figure for such data holds, to a fifth",
				advice->for_it);
}

static bool is_on_layout(const char *subject)
{
	return !strcmp(subject, "strides") || !strcmp(subject, "array of structures");
}

/* Data that go to neighbours are nearer, but no nearer than first-level cache; if they are that near already, an
 * interchange may break a chain, and no more. */
static void bound_by_locality(struct judge *j, struct sn_loop_advice *advice)
{
	const struct sn_variant_figure *dl1 = &j->figures[SN_VARIANT_DL1];
	double chain = main_path(j) && main_path(j)->chain_is_reduction &&
				       !strcmp(advice->subject, "strides")
			       ? main_path(j)->variants[SN_VARIANT_NO_DEPENDENCE].speedup
			       : 1;
	double most = dl1->speedup_range.high * VARIANT_ERROR * chain;

	if (!(most < advice->range.high))
		return;
	advice->range.high = fmax(1, most);
	advice->speedup = fmin(advice->speedup, advice->range.high);
	advice->against =
		sn_arena_printf(&j->out->arena, "%s: neighbours bring no more", dl1_words(j));
}

static void add_static_advice(struct judge *j)
{
	for (size_t i = 0; j->known->advice && i < j->known->advice->count; i++) {
		const struct sn_advice *from = &j->known->advice->items[i];
		struct sn_loop_advice advice = { .grade = sn_confidence_name(from->confidence),
						 .subject = from->subject,
						 .sentence = from->sentence,
						 .speedup = from->speedup,
						 .range = { from->sure_speedup,
							    sn_advice_most(from) },
						 .for_it = from->evidence };

		if (!isnan(advice.speedup) && is_on_layout(advice.subject)) {
			if (reach_of(j) != REACH_UNKNOWN)
				bound_by_locality(j, &advice);
		} else if (!isnan(advice.speedup) && reach_of(j) == REACH_FAR) {
			bound_by_waiting(j, &advice);
		} else if (!isnan(advice.speedup) && reach_of(j) == REACH_NEAR &&
			   !is_chain_disproved(j, advice.subject)) {
			trust_near(j, &advice);
		}
		if (!isnan(advice.speedup) && is_bounded_by_free_arithmetic(j, advice.subject))
			bound_by_free_arithmetic(j, &advice);
		advice.range.low = fmin(advice.range.low, advice.range.high);
		weigh_iterations(j, &advice);
		set_program(&advice, j->known->exclusive_share);
		sn_vec_push(&j->out->advice, advice);
	}
}

/* What is sure first; of equals what may be; advice without figures last, as the model has it. */
static bool comes_before(const struct sn_loop_advice *a, const struct sn_loop_advice *b)
{
	double sure_a = isnan(a->program_range.low) ? 0 : a->program_range.low;
	double sure_b = isnan(b->program_range.low) ? 0 : b->program_range.low;

	if (sure_a != sure_b)
		return sure_a > sure_b;
	return (isnan(a->program_range.high) ? 0 : a->program_range.high) >
	       (isnan(b->program_range.high) ? 0 : b->program_range.high);
}

/* By insertion: few, and equals keep their order. */
static void order(struct sn_loop_evidence *out)
{
	for (size_t i = 1; i < out->advice.count; i++)
		for (size_t k = i;
		     k && comes_before(&out->advice.items[k], &out->advice.items[k - 1]); k--) {
			struct sn_loop_advice swapped = out->advice.items[k];

			out->advice.items[k] = out->advice.items[k - 1];
			out->advice.items[k - 1] = swapped;
		}
}

/* No variant tells why, but instances were timed. */
static void check_against_instances(struct judge *j)
{
	const struct sn_instances *instances = j->known->instances;
	const struct sn_cqa_loop *quality = j->known->quality;
	double measured;

	if (!instances || !instances->has_iterations || !quality || j->out->disagreement)
		return;
	measured = instances->all.cycles_median;
	if (!(quality->cycles > 0) || !(measured > FAR_FROM_MODEL * quality->cycles))
		return;
	j->out->disagreement = sn_arena_printf(
		&j->out->arena,
		"An iteration takes %.1f cycles, %.1f times the %.2f of the static model with data in "
		"first-level cache. The measurement decides: waiting for data from farther away, "
		"mispredicted branches or other paths than the model weighs most take the rest",
		measured, measured / quality->cycles, quality->cycles);
}

void sn_loop_evidence_judge(const struct sn_loop_known *known, struct sn_loop_evidence *out)
{
	struct judge j = { .known = known, .out = out };

	*out = (struct sn_loop_evidence){ 0 };
	if (known->variants && known->variants->figures[SN_VARIANT_ORIG].samples)
		j.figures = known->variants->figures;
	give_verdict(&j);
	add_measured_advice(&j);
	add_static_advice(&j);
	check_against_instances(&j);
	order(out);
}

void sn_loop_evidence_free(struct sn_loop_evidence *evidence)
{
	sn_vec_free(&evidence->advice);
	sn_arena_free(&evidence->arena);
}
