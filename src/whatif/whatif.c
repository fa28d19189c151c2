/*
 * Joins the samples of a run with the static model. Each sampled loop is analysed and the weights
 * of its paths are fitted. The possible gains are then put in the order in which they add up to
 * most for the program.
 */
#include "whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/stats.h"
#include "cqa/loop/summary.h"
#include "machine/errors.h"
#include "profile/rank.h"
#include "whatif/evidence.h"

enum { FEW_SAMPLES = 20, WEIGH_SAMPLES = 20 };

static const char *const doubt_names[SN_DOUBTS] = { "few samples",     "not analysed",
						    "paths as one",    "holds loops",
						    "calls",	       "estimated forms",
						    "undecoded bytes", "short trips" };

const char *sn_doubts_print(unsigned doubts, char text[SN_DOUBTS_TEXT])
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned i = 0; i < SN_DOUBTS; i++)
		if (doubts & 1U << i)
			used += (size_t)snprintf(text + used, SN_DOUBTS_TEXT - used, "%s%s",
						 used ? ", " : "", doubt_names[i]);
	return text;
}

/* ---- the samples of each loop, by instruction ---- */

/* Places sorted by loop, so that each loop's heat is one run of them. */
struct sn_heat_index {
	uint32_t *places;
	size_t count;
};

static int places_compare(const void *a, const void *b, void *context)
{
	const struct sn_program *program = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t lx = program->places.items[x].loop, ly = program->places.items[y].loop;

	return lx != ly ? (lx > ly) - (lx < ly) : (x > y) - (x < y);
}

static void heat_index_make(const struct sn_profile *profile, struct sn_heat_index *out)
{
	const struct sn_program *program = profile->program;

	out->places = sn_alloc_zeroed(program->places.count + 1, sizeof(*out->places));
	out->count = 0;
	for (uint32_t i = 0; i < program->places.count; i++)
		if (program->places.items[i].loop != SN_NONE && profile->places[i].cpu_ns)
			out->places[out->count++] = i;
	qsort_r(out->places, out->count, sizeof(*out->places), places_compare, (void *)program);
}

static size_t heat_first(const struct sn_heat_index *index, const struct sn_program *program,
			 uint32_t loop)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (program->places.items[index->places[middle]].loop < loop)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

typedef SN_VEC(struct sn_heat) heat_vec;

/* User time at the loop's instructions; the caller frees. The kernel's time stands at the one that
 * faulted. */
static heat_vec heat_at(const struct sn_heat_index *index, const struct sn_profile *profile,
			uint32_t loop)
{
	const struct sn_program *program = profile->program;
	heat_vec heat = { 0 };

	for (size_t i = heat_first(index, program, loop);
	     i < index->count && program->places.items[index->places[i]].loop == loop; i++) {
		const struct sn_weight *weight = &profile->places[index->places[i]];
		struct sn_heat one = { program->places.items[index->places[i]].link_addr,
				       (double)(weight->cpu_ns - weight->system_ns) };

		sn_vec_push(&heat, one);
	}
	return heat;
}

/* ---- one loop ---- */

static bool analyse(const struct sn_machine *machine, const struct sn_profile *profile,
		    struct sn_structures *structures, const struct sn_heat_index *index,
		    uint32_t number, struct sn_cqa_loop *out)
{
	const struct sn_program_loop *loop = &profile->program->loops.items[number];
	struct sn_bandwidths bandwidths = sn_bandwidths_of(machine);
	struct sn_structure *structure = sn_structures_of(structures, loop->module);
	heat_vec heat = { 0 };

	if (!structure)
		return false;
	if (profile->loops[number].exclusive.samples >= WEIGH_SAMPLES)
		heat = heat_at(index, profile, number);
	sn_cqa_loop_analyse(machine, structure, loop->code, &bandwidths, heat.items, heat.count,
			    out);
	if (out->path_count > 1 && heat.count)
		sn_cqa_loop_weigh(out, heat.items, heat.count);
	sn_vec_free(&heat);
	return true;
}

sn_status sn_whatif_quality(const struct sn_machine *machine, const struct sn_profile *profile,
			    struct sn_structures *structures, uint32_t loop,
			    struct sn_cqa_loop *out, struct sn_error *err)
{
	struct sn_heat_index index;
	bool found;

	heat_index_make(profile, &index);
	found = analyse(machine, profile, structures, &index, loop, out);
	free(index.places);
	if (found)
		return SN_OK;
	return sn_error_set(err, SN_ERR_NOT_FOUND,
			    "the machine code of %s is not in the experiment and its file is gone "
			    "or has changed",
			    profile->program->loops.items[loop].code->label);
}

bool sn_whatif_detail(const struct sn_whatif *w, struct sn_structures *structures, uint32_t loop,
		      struct sn_cqa_loop *out)
{
	return analyse(w->machine, w->profile, structures, w->heat, loop, out);
}

static unsigned doubts_of(const struct sn_whatif_loop *loop)
{
	const struct sn_cqa_loop *q = &loop->quality;
	unsigned doubts = loop->samples < FEW_SAMPLES ? SN_DOUBT_FEW_SAMPLES : 0;
	const struct sn_cqa_path *main;

	if (q->not_analysed)
		return doubts | SN_DOUBT_NOT_ANALYSED;
	main = &q->paths[q->main_path];
	doubts |= q->loop && !q->loop->is_innermost ? SN_DOUBT_HOLDS_LOOPS
		  : q->is_union			    ? SN_DOUBT_MANY_PATHS
						    : 0;
	doubts |= q->has_calls ? SN_DOUBT_CALLS : 0;
	doubts |= q->estimated_instructions ? SN_DOUBT_ESTIMATED : 0;
	doubts |= q->undecoded_bytes ? SN_DOUBT_NOT_DECODED : 0;
	doubts |= main->widening < main->widening_of_machine ? SN_DOUBT_SHORT_TRIPS : 0;
	return doubts;
}

/* The exclusive share with its interval, and what of it is not the kernel's. */
static void take_shares(struct sn_whatif_loop *out, const struct sn_profile *profile)
{
	const struct sn_metrics *m = &profile->loops[out->loop];
	double user = m->exclusive.cpu_ns ? (double)(m->exclusive.cpu_ns - m->exclusive.system_ns) /
						    (double)m->exclusive.cpu_ns
					  : 0;

	out->share = sn_share(m->exclusive.cpu_ns, profile->total.cpu_ns);
	out->share_low = m->exclusive_share.low;
	out->share_high = m->exclusive_share.high;
	out->user_share = out->share * user;
	out->user_share_low = out->share_low * user;
	out->user_share_high = out->share_high * user;
	out->samples = m->exclusive.samples;
}

/* Share of a source loop's time that goes to its peel and tail loops; NaN where the loop is not its
 * hottest part, or too little was seen of it. */
static double remainder_share(const struct sn_profile *profile, uint32_t number)
{
	const struct sn_program *program = profile->program;
	uint32_t source = program->loops.items[number].source_loop;
	uint64_t whole = 0, remainder = 0, samples = 0;

	for (uint32_t l = 0; l < program->loops.count; l++) {
		const struct sn_program_loop *part = &program->loops.items[l];
		uint64_t ns = profile->loops[l].exclusive.cpu_ns;

		if (part->source_loop != source)
			continue;
		if (ns > profile->loops[number].exclusive.cpu_ns)
			return NAN;
		whole += ns;
		samples += profile->loops[l].exclusive.samples;
		if (part->code->role == SN_LOOP_PEEL || part->code->role == SN_LOOP_TAIL)
			remainder += ns;
	}
	return samples < FEW_SAMPLES || sn_share(whole, profile->total.cpu_ns) < 0.01
		       ? (double)NAN
		       : sn_share(remainder, whole);
}

/* Vector loops leave a remainder; where it takes much of the time, trip counts are short. */
void sn_whatif_advise(const struct sn_machine *machine, const struct sn_profile *profile,
		      uint32_t loop, struct sn_cqa_loop *quality, sn_advice_list *out)
{
	struct sn_advice advice = { .confidence = SN_ADVICE_HINT,
				    .subject = "short trips",
				    .speedup = NAN,
				    .sure_speedup = NAN };
	double remainder;

	sn_cqa_advise(machine, quality, out);
	if (quality->not_analysed)
		return;
	remainder = remainder_share(profile, loop);
	if (!(remainder >= 0.3))
		return;
	advice.sentence = sn_arena_strdup(
		&quality->arena,
		"Much of the time goes to the start and the remainder of the loop, not to its main "
		"part: trip counts are short for these vectors. Make the longer loop of the nest "
		"the innermost, pad arrays to whole vectors, or tell the compiler the trip count.");
	advice.evidence = sn_arena_printf(
		&quality->arena, "peel and tail loops take %.0f %% of its time", 100 * remainder);
	sn_vec_push(out, advice);
}

/* Where DL1 has measured that a loop waits for data, better code leaves that waiting. */
static void bound_by_measurement(struct sn_cqa_loop *quality,
				 const struct sn_variants_list *measured, uint32_t loop)
{
	for (size_t i = 0; i < measured->count; i++) {
		const struct sn_variants *of = &measured->items[i];

		if (of->loop != loop || of->exponent >= 0)
			continue;
		for (unsigned v = 0; v < SN_VARIANT_COUNT; v++) {
			struct sn_cqa_variant *variant = &quality->variants[v];

			variant->speedup = sn_variants_beside_waiting(of, variant->speedup);
			variant->ram_speedup = fmin(variant->ram_speedup, variant->speedup);
		}
		return;
	}
}

static void add_loop(struct sn_whatif *w, struct sn_structures *structures,
		     const struct sn_variants_list *measured, uint32_t number, size_t rank)
{
	struct sn_whatif_loop loop = { .loop = number, .rank = rank };

	take_shares(&loop, w->profile);
	if (!analyse(w->machine, w->profile, structures, w->heat, number, &loop.quality)) {
		loop.quality.not_analysed = "its machine code is not at hand";
	} else {
		sn_cqa_loop_shrink(&loop.quality);
		sn_whatif_advise(w->machine, w->profile, number, &loop.quality, &loop.advice);
		bound_by_measurement(&loop.quality, measured, number);
	}
	loop.doubts = doubts_of(&loop);
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++) {
		const struct sn_cqa_variant *variant = &loop.quality.variants[v];

		loop.program_speedup[v] =
			!loop.quality.not_analysed && variant->is_applicable
				? sn_amdahl(loop.user_share, fmax(1, variant->speedup))
				: 1;
	}
	sn_vec_push(&w->loops, loop);
}

/* ---- the program ---- */

static bool is_estimated(const struct sn_whatif_loop *loop, unsigned v)
{
	return !loop->quality.not_analysed && loop->quality.variants[v].is_applicable;
}

static double saved_share(double share, double speedup)
{
	return speedup > 1 ? share * (1 - 1 / speedup) : 0;
}

static int steps_compare(const void *a, const void *b)
{
	const struct sn_whatif_step *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved > y->saved ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void find_steps(const struct sn_whatif *w, unsigned v, struct sn_whatif_variant *out)
{
	double saved = 0;

	for (uint32_t i = 0; i < w->loops.count; i++) {
		const struct sn_whatif_loop *loop = &w->loops.items[i];
		struct sn_whatif_step step = { .index = i };

		*(is_estimated(loop, v) ? &out->estimated_share : &out->not_estimated_share) +=
			loop->share;
		if (!is_estimated(loop, v))
			continue;
		step.saved = saved_share(loop->user_share, loop->quality.variants[v].speedup);
		if (step.saved > 0)
			sn_vec_push(&out->steps, step);
	}
	if (out->steps.count)
		qsort(out->steps.items, out->steps.count, sizeof(*out->steps.items), steps_compare);
	for (size_t i = 0; i < out->steps.count; i++) {
		saved += out->steps.items[i].saved;
		out->steps.items[i].cumulative = 1 / (1 - saved);
	}
}

#define LEAST_SHARE 0.01

/* How much less or more of the run a loop may save: by its share, and by the model's error. */
static double below(double share, double share_low, double ram_speedup, double least)
{
	return hypot(saved_share(share - share_low, ram_speedup),
		     saved_share(share, ram_speedup) - saved_share(share, least));
}

static double above(double share, double share_high, double speedup, double most)
{
	return hypot(saved_share(share_high - share, speedup),
		     saved_share(share, most) - saved_share(share, speedup));
}

/* Shares and figures of loops err independently enough: their half widths add up as squares. */
static void find_totals(const struct sn_whatif *w, unsigned v, struct sn_whatif_variant *out)
{
	double saved = 0, reliable = 0, ram = 0, ram_below = 0, l1_above = 0;

	for (size_t i = 0; i < out->steps.count; i++) {
		const struct sn_whatif_loop *loop = &w->loops.items[out->steps.items[i].index];
		double speedup = loop->quality.variants[v].speedup;
		double ram_speedup = loop->quality.variants[v].ram_speedup;
		struct sn_interval may =
			sn_machine_speedup_interval(w->machine->name, ram_speedup, speedup);
		double low = below(loop->user_share, loop->user_share_low, ram_speedup, may.low);
		double high = above(loop->user_share, loop->user_share_high, speedup, may.high);

		saved += out->steps.items[i].saved;
		reliable += loop->doubts ? 0 : out->steps.items[i].saved;
		ram += saved_share(loop->user_share, ram_speedup);
		ram_below += low * low;
		l1_above += high * high;
	}
	out->speedup = 1 / (1 - saved);
	out->speedup_low = 1 / (1 - fmax(0, ram - sqrt(ram_below)));
	out->speedup_high = 1 / (1 - fmin(0.9999, saved + sqrt(l1_above)));
	out->reliable_speedup = 1 / (1 - reliable);
	out->ram_speedup = 1 / (1 - ram);
	while (out->loops_for_80_percent < out->steps.count &&
	       (!out->loops_for_80_percent ||
		out->steps.items[out->loops_for_80_percent - 1].cumulative - 1 <
			0.8 * (out->speedup - 1)))
		out->loops_for_80_percent++;
	/* of what is not known nothing is promised, not that nothing would be gained either */
	if (out->estimated_share < LEAST_SHARE && out->not_estimated_share > out->estimated_share)
		out->speedup = out->speedup_low = out->speedup_high = out->reliable_speedup =
			out->ram_speedup = NAN;
}

/* Weighed by time, unlike those of a binary without a run. */
static void find_code_metrics(struct sn_whatif *w)
{
	double paths = 0, time = 0, regular = 0, accesses = 0;

	for (size_t i = 0; i < w->loops.count; i++) {
		const struct sn_whatif_loop *loop = &w->loops.items[i];
		const struct sn_cqa_metrics *m;
		double count = 0;

		if (loop->quality.not_analysed)
			continue;
		w->analysed_share += loop->share;
		w->reliable_share += loop->doubts ? 0 : loop->share;
		time += loop->share;
		paths += loop->share * sn_cqa_flow_paths(&loop->quality);
		m = &loop->quality.paths[loop->quality.main_path].metrics;
		for (unsigned k = 0; k < SN_STRIDE_COUNT; k++)
			count += m->strides[k];
		if (count <= 0)
			continue;
		accesses += loop->share;
		regular += loop->share / count *
			   (m->strides[SN_STRIDE_ZERO] + m->strides[SN_STRIDE_UNIT] +
			    0.5 * m->strides[SN_STRIDE_N]);
	}
	w->flow_complexity = time > 0 ? paths / time : NAN;
	w->array_efficiency = accesses > 0 ? regular / accesses : NAN;
}

struct sn_whatif *sn_whatif_new(const struct sn_machine *machine, const struct sn_profile *profile,
				struct sn_structures *structures, size_t most)
{
	struct sn_whatif *w = sn_alloc_zeroed(1, sizeof(*w));
	struct sn_variants_list measured;
	struct sn_progress progress;
	size_t count;
	uint32_t *order = sn_rank_loops(profile, false, &count);

	w->machine = machine;
	w->profile = profile;
	w->heat = sn_alloc_zeroed(1, sizeof(*w->heat));
	heat_index_make(profile, w->heat);
	sn_variants_find(profile, structures, &measured);
	sn_progress_begin(&progress, "analysing loops", count < most ? count : most);
	for (size_t i = 0; i < count; i++) {
		if (!profile->loops[order[i]].exclusive.cpu_ns)
			continue;
		sn_progress_update(&progress, w->loops.count);
		if (w->loops.count < most)
			add_loop(w, structures, &measured, order[i], i + 1);
		else
			w->left_out++;
	}
	sn_progress_end(&progress);
	sn_variants_free(&measured);
	free(order);
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++) {
		find_steps(w, v, &w->variants[v]);
		find_totals(w, v, &w->variants[v]);
	}
	find_code_metrics(w);
	return w;
}

void sn_whatif_free(struct sn_whatif *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->loops.count; i++) {
		sn_cqa_loop_free(&w->loops.items[i].quality);
		sn_vec_free(&w->loops.items[i].advice);
	}
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		sn_vec_free(&w->variants[v].steps);
	sn_vec_free(&w->loops);
	free(w->heat->places);
	free(w->heat);
	free(w);
}
