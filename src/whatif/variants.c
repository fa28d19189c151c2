/* Joins what threads measured of a loop's variants, and says what it means. */
#include "whatif/variants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/companions.h"
#include "profile/instances.h"
#include "rewrite/rewrite.h"
#include "whatif/nest_time.h"
#include "whatif/untouched.h"

/* Limits of trust, as the paper on ONE View has them: cycles of an instance (section 5). */
#define CYCLES_TRUSTED 500.0
#define CYCLES_LEAST   SN_VARIANT_CYCLES_LEAST
/* ORIG is the loop as it is, if it takes as long but for so much (as the paper has it), beyond what samples leave
 * open. */
#define BIAS_TRUSTED 1.1
/* Else a gain must be so many times that difference. */
#define BIAS_TIMES 10
/* The share of a sampled loop is known to 2/sqrt(n): with fewer samples to a fifth and worse. */
/* A variant that takes so much of what the loop takes explains it. */
#define EXPLAINS 0.9
/* With fewer timings the interval of a median is all that was seen, and less sure than 95 %. */
enum { SAMPLES_FEW = 8 };

/* ---- gathering ---- */

struct timing {
	double cycles; /* an iteration */
	double instance;
};

/* What was measured of one variant in instances of like iterations. */
struct cell {
	SN_VEC(struct timing) timings, warm; /* warm: behind other variants on the same instances */
	uint64_t warm_timed;
	uint64_t timed, cycles, iterations;
	uint64_t disturbed, faulted, runaway, called;
};

struct gathered {
	uint32_t loop;
	uint64_t clock_cycles, clock_count;
	struct cell cells[SN_VARIANT_CODES][SN_VARIANT_BUCKETS];
	unsigned pf_lines; /* of PF's distances the one that took least; its cells are PF's */
};

static void gather(struct gathered *to, const struct sn_loop_variant *from)
{
	unsigned exponent = (unsigned)from->timings.exponent;
	struct cell *cell;

	if (exponent >= SN_VARIANT_BUCKETS)
		exponent = SN_VARIANT_BUCKETS - 1;
	cell = &to->cells[from->variant][exponent];
	*(from->is_warm ? &cell->warm_timed : &cell->timed) += from->timings.timed;
	cell->cycles += from->timings.cycles;
	cell->iterations += from->timings.iterations;
	cell->disturbed += from->disturbed;
	cell->faulted += from->faulted;
	cell->runaway += from->runaway;
	cell->called += from->called;
	to->clock_cycles += from->clock_cycles;
	to->clock_count += from->clock_count;
	for (uint32_t i = 0; i < from->timings.timing_count; i++) {
		const struct sn_loop_timing *t = &from->timings.timings[i];
		struct timing timing = { (double)t->cycles / (double)t->iterations,
					 (double)t->cycles };

		if (t->iterations && from->is_warm)
			sn_vec_push(&cell->warm, timing);
		else if (t->iterations)
			sn_vec_push(&cell->timings, timing);
	}
}

/* NaN: not known, as in experiments of older versions. */
static double frequency_of(const struct gathered *from)
{
	return from->clock_count && from->clock_cycles
		       ? SN_CLOCK_CORE_CYCLES * (double)from->clock_count /
				 (double)from->clock_cycles
		       : NAN;
}

static int by_cycles(const void *a, const void *b)
{
	double x = ((const struct timing *)a)->cycles, y = ((const struct timing *)b)->cycles;

	return x < y ? -1 : x > y;
}

/* ---- one variant in one bucket ---- */

/* Those that others have warmed the caches for are taken only where there are few besides. Whether they are. */
static bool take_warm(struct cell *cell)
{
	bool is_taken = cell->timings.count < SAMPLES_FEW && cell->warm.count;

	for (size_t i = 0; is_taken && i < cell->warm.count; i++)
		sn_vec_push(&cell->timings, cell->warm.items[i]);
	if (is_taken)
		cell->timed += cell->warm_timed;
	cell->warm.count = 0;
	return is_taken;
}

/* The interval of the median by the order of the timings: the ranks n/2 -+ 0.98 sqrt(n) hold it with 95 %
 * (a binomial's deviation is sqrt(n)/2). */
static void summarize(struct cell *cell, struct sn_variant_figure *out)
{
	bool is_warm = take_warm(cell);
	size_t n = cell->timings.count;
	const struct timing *t = cell->timings.items;
	double reach = 0.98 * sqrt((double)n);
	size_t low, high;

	if (!n)
		return;
	qsort(cell->timings.items, n, sizeof(*t), by_cycles);
	low = (double)n / 2 > reach ? (size_t)floor((double)n / 2 - reach) : 0;
	high = (size_t)ceil((double)n / 2 + reach);
	if (high >= n)
		high = n - 1;
	out->samples = cell->timed;
	out->cycles = n % 2 ? t[n / 2].cycles : (t[n / 2 - 1].cycles + t[n / 2].cycles) / 2;
	out->low = t[low].cycles;
	out->high = t[high].cycles;
	out->instance_cycles = t[n / 2].instance;
	if (t[0].cycles > 0)
		out->stability = (out->cycles - t[0].cycles) / t[0].cycles;
	out->state = is_warm ? SN_VARIANT_WARMED
		     : n < SAMPLES_FEW || out->instance_cycles < CYCLES_TRUSTED
			     ? SN_VARIANT_WEAK
			     : SN_VARIANT_MEASURED;
}

static void clear_figure(struct sn_variant_figure *figure)
{
	*figure = (struct sn_variant_figure){ .state = SN_VARIANT_NOT_THERE,
					      .cycles = NAN,
					      .low = NAN,
					      .high = NAN,
					      .instance_cycles = NAN,
					      .stability = NAN,
					      .speedup = NAN,
					      .program_speedup = NAN,
					      .speedup_range = { NAN, NAN },
					      .program_range = { NAN, NAN } };
}

/* ---- all buckets of a variant ---- */

/* Half the width of the interval, as a part of the value. */
static double half_width(const struct sn_variant_figure *f)
{
	return f->cycles > 0 ? (f->high - f->low) / 2 / f->cycles : NAN;
}

/* Buckets weigh as much as iterations of the loop fall into them; those in which the variant was not
 * timed are left out of both it and the loop. */
static void join_buckets(const struct gathered *from, const struct sn_variants *buckets,
			 size_t count, enum sn_decan_variant v, struct sn_variant_figure *out,
			 struct sn_variant_figure *orig)
{
	double weight = 0, sum = 0, orig_sum = 0, variance = 0, orig_variance = 0, stability = 0;
	double instance = 0;
	bool is_weak = false, is_warm = false;

	clear_figure(out);
	clear_figure(orig);
	for (size_t b = 0; b < count; b++) {
		const struct sn_variant_figure *f = &buckets[b].figures[v];
		const struct sn_variant_figure *o = &buckets[b].figures[SN_VARIANT_ORIG];
		double w = (double)from->cells[SN_VARIANT_ORIG][buckets[b].exponent].iterations;

		if (isnan(f->cycles) || isnan(o->cycles) || w <= 0)
			continue;
		weight += w;
		sum += w * f->cycles;
		orig_sum += w * o->cycles;
		variance += pow(w * (f->high - f->low) / 2, 2);
		orig_variance += pow(w * (o->high - o->low) / 2, 2);
		stability += w * f->stability;
		instance += w * f->instance_cycles;
		is_warm |= f->state == SN_VARIANT_WARMED;
		out->samples += f->samples;
		orig->samples += o->samples;
	}
	if (weight <= 0)
		return;
	out->cycles = sum / weight;
	out->low = (sum - sqrt(variance)) / weight;
	out->high = (sum + sqrt(variance)) / weight;
	out->stability = stability / weight;
	out->instance_cycles = instance / weight;
	orig->cycles = orig_sum / weight;
	orig->low = (orig_sum - sqrt(orig_variance)) / weight;
	orig->high = (orig_sum + sqrt(orig_variance)) / weight;
	/* a few timings of a variant in a bucket of little weight do not make it weak */
	is_weak = out->samples < SAMPLES_FEW || out->instance_cycles < CYCLES_TRUSTED;
	out->state = is_warm ? SN_VARIANT_WARMED : is_weak ? SN_VARIANT_WEAK : SN_VARIANT_MEASURED;
}

static double amdahl(double share, double speedup)
{
	return 1 / (1 - share + share / speedup);
}

static void set_range(struct sn_variant_figure *f, double low, double high, double coverage)
{
	f->speedup_range = (struct sn_interval){ low, high };
	f->program_range = (struct sn_interval){ amdahl(coverage, low), amdahl(coverage, high) };
}

/* ORIG by the variant, with the errors of both. */
static void set_speedup(const struct sn_variant_figure *orig, struct sn_variant_figure *f,
			double coverage)
{
	double width = hypot(half_width(orig), half_width(f));

	if (isnan(orig->cycles) || isnan(f->cycles) || f->cycles <= 0)
		return;
	f->speedup = orig->cycles / f->cycles;
	f->program_speedup = amdahl(coverage, f->speedup);
	set_range(f, f->speedup * exp(-width), f->speedup * exp(width), coverage);
}

/* ---- why a variant is not there ---- */

static const char *why_not(const struct gathered *from, enum sn_decan_variant v, const char *judged,
			   const char *others, struct sn_arena *arena)
{
	uint64_t disturbed = 0, faulted = 0, runaway = 0, called = 0, before = 0, timed = 0;

	for (int b = 0; b < SN_VARIANT_BUCKETS; b++) {
		disturbed += from->cells[v][b].disturbed;
		faulted += from->cells[v][b].faulted;
		runaway += from->cells[v][b].runaway;
		called += from->cells[v][b].called;
		before += from->cells[SN_VARIANT_ORIG][b].called;
		timed += from->cells[SN_VARIANT_ORIG][b].timed;
	}
	/* none has a turn before ORIG has a timing */
	if (!called && !disturbed && !timed)
		called = before;
	if (judged)
		return judged;
	if (faulted)
		return "it ended by a fault";
	if (runaway)
		return "it took many times what the loop takes";
	if (called && !disturbed)
		return sn_arena_printf(arena,
				       "the loop called a function in all %llu instances, which "
				       "no variant does",
				       (unsigned long long)called);
	if (called)
		return sn_arena_printf(
			arena,
			"the loop called a function in %llu instances, which no variant does, and "
			"a page fault, another thread or another CPU came between in the other %llu",
			(unsigned long long)called, (unsigned long long)disturbed);
	if (disturbed)
		return sn_arena_printf(
			arena,
			"a page fault, another thread or another CPU came between in "
			"all %llu instances",
			(unsigned long long)disturbed);
	return others;
}

/* ---- what it means ---- */

enum order { FASTER, AS_FAST, UNCLEAR };

/* Whether a variant takes EXPLAINS of what the loop takes, or surely less. */
static enum order compare(const struct sn_variant_figure *orig, const struct sn_variant_figure *f)
{
	double ratio = f->cycles / orig->cycles;
	double width = hypot(half_width(orig), half_width(f));

	if (isnan(ratio) || isnan(width))
		return UNCLEAR;
	if (ratio * exp(-width) >= EXPLAINS)
		return AS_FAST;
	return ratio * exp(width) < EXPLAINS ? FASTER : UNCLEAR;
}

/* The loop without its loads and stores: where it has no arithmetic either, that is FES. */
static const struct sn_variant_figure *work_of(const struct sn_variants *v)
{
	if (v->figures[SN_VARIANT_FP].samples)
		return &v->figures[SN_VARIANT_FP];
	return &v->figures[v->has_no_arithmetic ? SN_VARIANT_FES : SN_VARIANT_ARITH];
}

enum sn_loop_class sn_loop_class_of(const struct sn_variants *v)
{
	const struct sn_variant_figure *orig = &v->figures[SN_VARIANT_ORIG];
	const struct sn_variant_figure *work = work_of(v);
	const struct sn_variant_figure *memory = &v->figures[SN_VARIANT_LS];
	enum order ls, fp, fes;

	if (isnan(orig->cycles) || orig->instance_cycles < CYCLES_LEAST)
		return SN_CLASS_UNKNOWN;
	ls = compare(orig, memory);
	fp = compare(orig, work);
	fes = compare(orig, &v->figures[SN_VARIANT_FES]);
	/* without loads and stores FP is the loop itself: FES alone leaves anything out */
	if (v->has_no_memory)
		return fes == AS_FAST			? SN_CLASS_FRONT_END
		       : fp == AS_FAST && fes == FASTER ? SN_CLASS_COMPUTE
							: SN_CLASS_UNKNOWN;
	/* nor how much less they take, if another variant has brought what they load */
	if (v->keeps_loads && fp == FASTER && work->state == SN_VARIANT_WARMED)
		return SN_CLASS_UNKNOWN;
	/* where arithmetic alone explains the time, instructions that do nothing cannot tell more; where neither it nor loads
	 * can be left out for a gain, and both together neither, what is left does: supply, or where to go on */
	/* the loads that are kept may be what these take as long for */
	if (v->keeps_loads && (fes == AS_FAST || fp == AS_FAST))
		return SN_CLASS_UNKNOWN;
	if (fes == AS_FAST && (fp == FASTER || (fp == AS_FAST && ls == AS_FAST)))
		return SN_CLASS_FRONT_END;
	if (ls == AS_FAST && fp == AS_FAST)
		return SN_CLASS_BOTH;
	if (ls == AS_FAST && fp == FASTER)
		return SN_CLASS_DATA;
	if (fp == AS_FAST && ls == FASTER)
		return v->has_no_arithmetic ? SN_CLASS_UNKNOWN : SN_CLASS_COMPUTE;
	if (ls == FASTER && fp == FASTER)
		return SN_CLASS_NEITHER;
	/* LS is not there, or its timings differ too much: DL1 is all of the loop but for where its data are */
	if (fp == FASTER && v->figures[SN_VARIANT_DL1].speedup_range.low * EXPLAINS > 1)
		return SN_CLASS_DATA;
	return SN_CLASS_UNKNOWN;
}

bool sn_variant_explains(const struct sn_variants *variants, enum sn_decan_variant variant)
{
	return compare(&variants->figures[SN_VARIANT_ORIG], &variants->figures[variant]) == AS_FAST;
}

/* ---- all of it ---- */

struct finder {
	const struct sn_profile *profile;
	struct sn_weight *time; /* sn_nest_time's */
	struct sn_structures *structures;
	struct sn_instances_list instances;
	struct sn_variants_list *out;
	SN_VEC(struct gathered *) loops;
	SN_VEC(struct sn_variants) rows;
	const char *why[SN_VARIANTS]; /* of the loop in hand, by its code */
	bool keeps_loads;	      /* likewise */
};

static struct gathered *gathered_of(struct finder *finder, uint32_t loop)
{
	for (size_t i = 0; i < finder->loops.count; i++)
		if (finder->loops.items[i]->loop == loop)
			return finder->loops.items[i];
	struct gathered *new = sn_alloc_zeroed(1, sizeof(*new));

	new->loop = loop;
	sn_vec_push(&finder->loops, new);
	return new;
}

static void gather_all(struct finder *finder)
{
	const struct sn_profile *varied = sn_profile_with_variants(finder->profile);
	const struct sn_experiment *e = varied->experiment;
	uint32_t *number_of = sn_loops_map(varied->program, finder->profile->program);

	for (size_t i = 0; i < e->variants.count; i++) {
		const struct sn_loop_variant *from = &e->variants.items[i];
		uint32_t loop;

		if (from->timings.stack == SN_NONE || !varied->thread_passes[from->timings.thread])
			continue;
		loop = sn_program_leaf(varied->program, from->timings.stack)->loop;
		if (loop != SN_NONE && number_of[loop] != SN_NONE)
			gather(gathered_of(finder, number_of[loop]), from);
	}
	free(number_of);
}

static bool judge(struct finder *finder, uint32_t loop)
{
	const struct sn_program_loop *l = &finder->profile->program->loops.items[loop];
	struct sn_structure *structure =
		finder->structures ? sn_structures_of(finder->structures, l->module) : NULL;

	memset(finder->why, 0, sizeof(finder->why));
	return structure && sn_loop_variants_judge(structure, l->code, finder->why);
}

static void drop_data_variants(struct sn_variants *row)
{
	/* timed by a version that made them */
	clear_figure(&row->figures[SN_VARIANT_LS]);
	clear_figure(&row->figures[SN_VARIANT_DL1]);
}

/* Of the instances in which a variant was begun those that came to a call. */
static double called_share(const struct gathered *from)
{
	uint64_t called = 0, others = 0;

	for (int v = 0; v < SN_VARIANT_CODES; v++)
		for (int b = 0; b < SN_VARIANT_BUCKETS; b++) {
			const struct cell *cell = &from->cells[v][b];

			called += cell->called;
			others += cell->timed + cell->disturbed + cell->faulted + cell->runaway;
		}
	return called + others ? (double)called / (double)(called + others) : NAN;
}

static void finish(struct finder *finder, const struct gathered *from, struct sn_variants *row)
{
	row->keeps_loads = finder->keeps_loads;
	row->has_no_memory = finder->why[SN_VARIANT_LS] == sn_loop_without_memory;
	row->has_no_arithmetic = finder->why[SN_VARIANT_ARITH] == sn_loop_without_arithmetic;
	if (row->has_no_memory)
		drop_data_variants(row);
	for (int v = 0; v < SN_VARIANTS; v++) {
		struct sn_variant_figure *f = &row->figures[v];

		if (f->state == SN_VARIANT_NOT_THERE)
			f->reason = why_not(from, (enum sn_decan_variant)v, finder->why[v],
					    "no instance came for it: --every 1 asks for more",
					    &finder->out->arena);
	}
	if (!isnan(row->figures[SN_VARIANT_PF].cycles))
		row->pf_lines = from->pf_lines;
	sn_variants_doubt_dl1(row);
	row->class = sn_loop_class_of(row);
	row->called_share = called_share(from);
}

/* Of PF's distances another one must be so much better than the first (chosen): three timings with noise have a
 * least one. */
#define DISTANCE_GAIN 0.97

/* What one distance takes by what the first one does, in the buckets that have both; NaN: there is none. */
static double distance_ratio(struct gathered *from, unsigned code)
{
	double sum = 0, first = 0;

	for (int b = 0; b < SN_VARIANT_BUCKETS; b++) {
		double w = (double)from->cells[SN_VARIANT_ORIG][b].iterations;
		struct sn_variant_figure a, o;

		clear_figure(&a);
		clear_figure(&o);
		summarize(&from->cells[code][b], &a);
		summarize(&from->cells[SN_VARIANT_PF][b], &o);
		if (a.samples < SAMPLES_FEW || o.samples < SAMPLES_FEW)
			continue;
		sum += w * a.cycles;
		first += w * o.cycles;
	}
	return first > 0 ? sum / first : NAN;
}

/* PF is the best of its distances; of loops with few timings the first one. */
static void distance_choose(struct gathered *from)
{
	unsigned best = SN_VARIANT_PF;
	double least = DISTANCE_GAIN;

	for (unsigned code = SN_VARIANT_PF + 1; code < SN_VARIANT_CODES; code++) {
		double ratio = distance_ratio(from, code);

		if (ratio < least) {
			least = ratio;
			best = code;
		}
	}
	from->pf_lines = sn_variant_lines_ahead(best);
	for (int b = 0; best != SN_VARIANT_PF && b < SN_VARIANT_BUCKETS; b++) {
		struct cell kept = from->cells[SN_VARIANT_PF][b];

		from->cells[SN_VARIANT_PF][b] = from->cells[best][b];
		from->cells[best][b] = kept; /* to be freed */
	}
}

/* Rows of the buckets in which anything was timed; their number. */
static size_t bucket_rows(struct gathered *from, struct sn_variants *rows)
{
	size_t count = 0;

	for (int b = 0; b < SN_VARIANT_BUCKETS; b++) {
		bool is_there = false;
		struct sn_variants *row = &rows[count];

		*row = (struct sn_variants){ .loop = from->loop,
					     .exponent = b,
					     .ref_cycles = NAN,
					     .copy_bias = NAN,
					     .dl1_per_cqa = NAN,
					     .fp_per_cqa = NAN,
					     .frequency_impact = frequency_of(from) };
		for (int v = 0; v < SN_VARIANTS; v++) {
			clear_figure(&row->figures[v]);
			summarize(&from->cells[v][b], &row->figures[v]);
			is_there |= row->figures[v].samples != 0;
		}
		count += is_there;
	}
	return count;
}

static void loop_row(const struct gathered *from, const struct sn_variants *buckets, size_t count,
		     struct sn_variants *row)
{
	struct sn_variant_figure orig;

	*row = (struct sn_variants){ .loop = from->loop,
				     .exponent = -1,
				     .coverage = row->coverage,
				     .instances = row->instances,
				     .iterations = row->iterations,
				     .ref_cycles = NAN,
				     .copy_bias = NAN,
				     .dl1_per_cqa = NAN,
				     .fp_per_cqa = NAN,
				     .frequency_impact = frequency_of(from) };
	join_buckets(from, buckets, count, SN_VARIANT_ORIG, &row->figures[SN_VARIANT_ORIG], &orig);
	for (int v = SN_VARIANT_ORIG + 1; v < SN_VARIANTS; v++) {
		join_buckets(from, buckets, count, (enum sn_decan_variant)v, &row->figures[v],
			     &orig);
		if (v != SN_VARIANT_FES)
			set_speedup(&orig, &row->figures[v], row->coverage);
	}
}

static void set_counts(const struct finder *finder, struct sn_variants *row)
{
	row->coverage = sn_share(finder->time[row->loop].cpu_ns, finder->profile->total.cpu_ns);
	for (size_t i = 0; i < finder->instances.count; i++)
		if (finder->instances.items[i].loop == row->loop) {
			row->instances = finder->instances.items[i].instances;
			row->iterations = finder->instances.items[i].has_iterations
						  ? finder->instances.items[i].iterations
						  : 0;
		}
}

static void add_rows(struct finder *finder, struct gathered *from)
{
	struct sn_variants buckets[SN_VARIANT_BUCKETS];
	struct sn_variants whole = { .loop = from->loop };
	size_t count;

	distance_choose(from);
	count = bucket_rows(from, buckets);
	finder->keeps_loads = judge(finder, from->loop);
	set_counts(finder, &whole);
	loop_row(from, buckets, count, &whole);
	whole.only_exponent = count == 1 ? buckets[0].exponent : -1;
	finish(finder, from, &whole);
	sn_vec_push(&finder->rows, whole);
	for (size_t b = 0; count > 1 && b < count; b++) {
		buckets[b].coverage = whole.coverage;
		buckets[b].only_exponent = -1;
		for (int v = SN_VARIANT_ORIG + 1; v < SN_VARIANTS; v++)
			if (v != SN_VARIANT_FES)
				set_speedup(&buckets[b].figures[SN_VARIANT_ORIG],
					    &buckets[b].figures[v], whole.coverage);
		finish(finder, from, &buckets[b]);
		sn_vec_push(&finder->rows, buckets[b]);
	}
}

/* ---- beside the loop as it was ---- */

/* Whether the gain is surely so many times what ORIG and the loop are apart that this is no part of what it tells. */
static bool is_beyond(const struct sn_variant_figure *f, double apart)
{
	return f->state != SN_VARIANT_NOT_THERE &&
	       f->speedup_range.low - 1 > BIAS_TIMES * (apart - 1);
}

/* Class and gains that ORIG's being `apart` times the loop, or a part of it, could explain are taken away; of those
 * far beyond it the intervals are as much wider. */
static void withhold(struct sn_variants *row, const char *why, double apart)
{
	struct sn_variant_figure *f = row->figures;
	bool is_data = is_beyond(&f[SN_VARIANT_DL1], apart) ||
		       is_beyond(&f[SN_VARIANT_FP], apart) ||
		       is_beyond(&f[SN_VARIANT_ARITH], apart);

	if (!(row->class == SN_CLASS_DATA && is_data) &&
	    !(row->class == SN_CLASS_COMPUTE && is_beyond(&f[SN_VARIANT_LS], apart)))
		row->class = SN_CLASS_UNKNOWN;
	row->withheld = why;
	for (int v = 0; v < SN_VARIANTS; v++) {
		if (f[v].state == SN_VARIANT_NOT_THERE)
			continue;
		if (is_beyond(&f[v], apart)) {
			set_range(&f[v], f[v].speedup_range.low / apart,
				  f[v].speedup_range.high * apart, row->coverage);
			continue;
		}
		f[v].state = SN_VARIANT_WITHHELD;
		f[v].reason = why;
		f[v].speedup = f[v].program_speedup = NAN;
		f[v].speedup_range = f[v].program_range = (struct sn_interval){ NAN, NAN };
	}
}

static double apart_of(const struct sn_variants *row)
{
	return fmax(row->copy_bias, 1 / row->copy_bias);
}

void sn_variants_refer(struct sn_variants *variants, double ref_cycles, uint64_t samples,
		       struct sn_arena *arena)
{
	/* of the samples, and of ORIG */
	double doubt =
		hypot(2 / sqrt((double)samples), half_width(&variants->figures[SN_VARIANT_ORIG]));

	variants->ref_cycles = ref_cycles;
	variants->ref_samples = samples;
	variants->copy_bias = variants->figures[SN_VARIANT_ORIG].cycles / ref_cycles;
	if (!(log(apart_of(variants)) > log(BIAS_TRUSTED) + doubt))
		return;
	withhold(
		variants,
		sn_arena_printf(
			arena,
			"ORIG, timed between variants, takes %.2f times what the loop takes as it "
			"is (%.2f cycles for %.2f): it is not that loop, so no gain is known that is not "
			"ten times this difference",
			variants->copy_bias, variants->figures[SN_VARIANT_ORIG].cycles, ref_cycles),
		apart_of(variants));
}

static bool is_within_another(const struct sn_variants_list *list, const struct sn_program *program,
			      uint32_t loop)
{
	for (uint32_t l = program->loops.items[loop].parent; l != SN_NONE;
	     l = program->loops.items[l].parent)
		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].loop == l)
				return true;
	return false;
}

/* All that it did is in the counts, as all that the run before did is in its samples. */
static bool is_whole(const struct sn_profile *varied)
{
	const struct sn_experiment *e = varied->experiment;

	for (size_t i = 0; i < e->threads.count; i++)
		if (!varied->thread_passes[i])
			return false;
	return true;
}

/* One that was killed has done less, or more, than the run before. */
static bool ended_by_itself(const struct sn_profile *varied)
{
	const struct sn_experiment *e = varied->experiment;

	for (size_t i = 0; i < e->processes.count; i++)
		if (!e->processes.items[i].has_ended_cleanly)
			return false;
	return true;
}

/* Iterations of a loop within another one that had variants are not all counted. */
static void refer(const struct sn_profile *profile, const struct sn_untouched *untouched,
		  bool is_judged, struct sn_variants_list *list, struct sn_variants *row)
{
	const struct sn_program *program = profile->program;
	const struct sn_untouched_loop *before =
		sn_untouched_find(untouched, program->loops.items[row->loop].code->id);
	double cycles = sn_untouched_cycles(untouched, before, row->iterations);

	if (isnan(cycles) || is_within_another(list, program, row->loop))
		return;
	if (is_judged) {
		sn_variants_refer(row, cycles, before->samples, &list->arena);
		return;
	}
	row->ref_cycles = cycles;
	row->ref_samples = before->samples;
	row->copy_bias = row->figures[SN_VARIANT_ORIG].cycles / cycles;
}

static void refer_all(const struct sn_profile *profile, struct sn_variants_list *list)
{
	const struct sn_profile *varied = sn_profile_with_variants(profile);
	bool is_judged = ended_by_itself(varied);
	struct sn_untouched untouched;
	struct sn_error err;
	const struct sn_variants *loop = NULL;

	/* without the file, as in older experiments, there is nothing to compare with */
	(void)sn_untouched_read(varied->experiment->path, &untouched, &err);
	for (size_t i = 0; i < list->count && is_whole(varied); i++) {
		if (list->items[i].exponent < 0) {
			refer(profile, &untouched, is_judged, list, &list->items[i]);
			loop = &list->items[i];
		} else if (loop && loop->withheld) {
			withhold(&list->items[i], loop->withheld,
				 apart_of(loop)); /* a bucket of it */
		}
	}
	sn_untouched_free(&untouched);
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct gathered *x = *(struct gathered *const *)a, *y = *(struct gathered *const *)b;
	const struct sn_weight *time = context;
	uint64_t tx = time[x->loop].cpu_ns, ty = time[y->loop].cpu_ns;

	if (tx != ty)
		return tx > ty ? -1 : 1;
	return x->loop < y->loop ? -1 : x->loop > y->loop;
}

static void gathered_free(struct gathered *gathered)
{
	for (int v = 0; v < SN_VARIANT_CODES; v++)
		for (int b = 0; b < SN_VARIANT_BUCKETS; b++) {
			sn_vec_free(&gathered->cells[v][b].timings);
			sn_vec_free(&gathered->cells[v][b].warm);
		}
	free(gathered);
}

void sn_variants_find(const struct sn_profile *profile, struct sn_structures *structures,
		      struct sn_variants_list *out)
{
	struct finder finder = { .profile = profile, .structures = structures, .out = out };

	*out = (struct sn_variants_list){ 0 };
	sn_instances_find(profile, &finder.instances);
	finder.time = sn_nest_time(profile);
	gather_all(&finder);
	if (finder.loops.count)
		qsort_r(finder.loops.items, finder.loops.count, sizeof(*finder.loops.items),
			by_time, finder.time);
	for (size_t i = 0; i < finder.loops.count; i++) {
		add_rows(&finder, finder.loops.items[i]);
		gathered_free(finder.loops.items[i]);
	}
	out->count = finder.rows.count;
	out->items = sn_arena_array(&out->arena, struct sn_variants, out->count + 1);
	if (out->count)
		memcpy(out->items, finder.rows.items, out->count * sizeof(*out->items));
	if (out->count)
		refer_all(profile, out);
	free(finder.time);
	sn_vec_free(&finder.rows);
	sn_vec_free(&finder.loops);
	sn_instances_free(&finder.instances);
}

void sn_variants_free(struct sn_variants_list *list)
{
	sn_arena_free(&list->arena);
}

const char *sn_variants_refusal(struct sn_structure *structure, const struct sn_loop *loop)
{
	const char *why[SN_VARIANTS];

	sn_loop_variants_judge(structure, loop, why);
	return why[SN_VARIANT_ORIG];
}
