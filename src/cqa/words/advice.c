/*
 * Gathers advice from the figures of a loop. Every piece names its evidence and what it may gain,
 * and says nothing that the evidence does not hold.
 */
#include "cqa/words/advice_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/options.h"

enum { FP_LOOP_SHARE = 25 }; /* (chosen) an FP loop: one instruction in so many is FP work */
enum { LONG_UOPS = 8 };	    /* (chosen) an instruction of so many operations comes from microcode */
enum { WORTH_TENTHS = 11 }; /* (chosen) a modelled gain below 10 % is not promised */
#define DIVIDING 0.7	    /* (chosen) of the cycles, in which the divider is busy */

const char *sn_confidence_name(enum sn_confidence confidence)
{
	static const char *const names[] = { "gain", "potential", "hint", "expert" };

	return names[confidence];
}

struct sn_advice *sn_advise(struct adviser *a, enum sn_confidence confidence, const char *subject,
			    double speedup, const char *sentence, const char *evidence)
{
	struct sn_advice advice = { .confidence = confidence,
				    .subject = subject,
				    .sentence = sentence,
				    .evidence = evidence,
				    .speedup = speedup,
				    .sure_speedup = sn_cqa_sure_speedup(a->result, speedup) };

	if (!a->result->takes_c_options)
		advice.sentence = sn_advice_without_options(&a->result->arena, sentence);
	if (!advice.sentence)
		return NULL;
	/* what a loop gains whose calls it leaves out is not shown by the model */
	if (a->result->has_calls && !isnan(speedup)) {
		advice.speedup = advice.sure_speedup = NAN;
		advice.evidence = TEXT("%s, without the function that is called", evidence);
		if (confidence < SN_ADVICE_HINT)
			advice.confidence = SN_ADVICE_HINT;
	}

	sn_vec_push(a->out, advice);
	return &a->out->items[a->out->count - 1];
}

void sn_advise_up_to(struct adviser *a, enum sn_confidence confidence, const char *subject,
		     double speedup, double most, const char *sentence, const char *evidence)
{
	struct sn_advice *advice = sn_advise(a, confidence, subject, speedup, sentence, evidence);

	if (advice)
		advice->most_speedup = most;
}

double sn_advice_most(const struct sn_advice *advice)
{
	return isnan(advice->speedup) ? advice->speedup
				      : fmax(advice->speedup, advice->most_speedup);
}

bool sn_advice_is_worth(double speedup)
{
	return speedup * 10 >= WORTH_TENTHS;
}

static void advise_clean(struct adviser *a)
{
	double clean = a->result->variants[SN_VARIANT_CLEAN].speedup;
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (!a->result->variants[SN_VARIANT_CLEAN].is_applicable || !sn_advice_is_worth(clean))
		return;
	/* a few FP instructions do not make an interpreter's loop one that computes */
	if (a->result->is_union || a->result->has_calls ||
	    (m->fp_scalar + m->fp_packed) * FP_LOOP_SHARE < m->instructions)
		return;
	sn_advise(
		a, SN_ADVICE_GAIN, "clean", clean,
		TEXT("Remove work that is not floating point: simplify index computations, unroll, "
		     "hoist what does not change."),
		TEXT("%u of %u instructions are FP work; without the others %.2f -> %.2f cycles",
		     m->fp_scalar + m->fp_packed, m->instructions, a->result->cycles,
		     a->result->variants[SN_VARIANT_CLEAN].cycles));
}

/* Several partial results are several elements a pass, which share what keeps the loop going: an addition, a comparison
 * and a jump (chosen), and the cycle that a taken jump costs. */
static double cycles_of_partial_sums(const struct sn_cqa_path *path)
{
	enum { CONTROL = 3 };
	const double *bounds = path->estimate.bounds;
	double count = (double)path->estimate.instructions;
	double issue = bounds[SN_BOUND_ISSUE] * fmax(count - CONTROL, 1) / fmax(count, 1);
	double supply = bounds[SN_BOUND_FRONT_END] > 1 ? bounds[SN_BOUND_FRONT_END] : issue;

	return fmax(fmax(bounds[SN_BOUND_PORTS], bounds[SN_BOUND_DIVIDER]), fmax(issue, supply));
}

static void advise_dependence(struct adviser *a)
{
	double gain = a->result->variants[SN_VARIANT_NO_DEPENDENCE].speedup;
	double in_register = fmin(gain, a->path->estimate.bounds[SN_BOUND_LATENCY] /
						fmax(a->path->register_chain_cycles, 1));

	double unrolled = cycles_of_partial_sums(a->path);

	if (a->path->chain_is_reduction && unrolled > 0)
		gain = fmax(gain, a->path->estimate.cycles / unrolled);
	if (a->path->chain_is_reduction && a->path->recurrence_cycles > 0)
		gain = fmin(gain, a->path->estimate.cycles / a->path->recurrence_cycles);
	if (a->result->bottleneck != SN_BOUND_LATENCY || a->path->chain_is_leftover ||
	    !sn_advice_is_worth(gain))
		return;
	if (a->path->chain_is_reduction)
		sn_advise(a, SN_ADVICE_GAIN, "partial sums", gain,
			  TEXT("Break the chain of dependent operations: keep several partial "
			       "results (unroll by %.0f)%s.",
			       ceil(gain),
			       sn_may_reorder(a->result->options)
				       ? ""
				       : TEXT(", or let the compiler do so with -ffast-math%s",
					      sn_advice_unless_so(a))),
			  TEXT("each pass waits %.2f cycles for the one before; the units would "
			       "allow %.2f",
			       a->path->estimate.bounds[SN_BOUND_LATENCY], unrolled));
	else if (sn_advice_is_worth(in_register))
		sn_advise(
			a, SN_ADVICE_POTENTIAL, "dependence", in_register,
			TEXT("Keep the value that goes from pass to pass in a register instead of "
			     "storing and loading it."),
			TEXT("the chain takes %.2f cycles a pass, its arithmetic %.2f of them",
			     a->path->estimate.bounds[SN_BOUND_LATENCY],
			     a->path->register_chain_cycles));
	else
		sn_advise(
			a, SN_ADVICE_POTENTIAL, "dependence", gain,
			TEXT("Shorten the dependence from pass to pass, or run several independent "
			     "instances side by side."),
			TEXT("the chain takes %.2f cycles a pass; the bound without any of it is "
			     "%.2f",
			     a->path->estimate.bounds[SN_BOUND_LATENCY],
			     a->result->variants[SN_VARIANT_NO_DEPENDENCE].cycles));
}

static void advise_division(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (!m->divisions ||
	    a->path->estimate.bounds[SN_BOUND_DIVIDER] < DIVIDING * a->path->estimate.cycles)
		return;
	sn_advise(a, SN_ADVICE_POTENTIAL, "division",
		  a->result->bottleneck == SN_BOUND_DIVIDER
			  ? a->result->variants[SN_VARIANT_NEXT].speedup
			  : (double)NAN,
		  m->integer_divisions == m->divisions
			  ? TEXT("Divide less: by a constant or a power of two the compiler "
				 "multiplies or shifts, 32 bits take less than 64, and a remainder "
				 "that counts round is a comparison.")
		  : m->element_bytes == 4
			  ? TEXT("Divide less: multiply by a reciprocal computed outside the loop, "
				 "or let the compiler approximate: %s-mrecip.",
				 sn_may_reorder(a->result->options) ? "" : "-ffast-math ")
			  : TEXT("Divide less: multiply by a reciprocal computed outside the loop, "
				 "or use single precision where it is enough."),
		  TEXT("%u %s the divider for %.1f cycles a pass", m->divisions,
		       m->integer_divisions == m->divisions
			       ? (m->divisions == 1 ? "integer division holds"
						    : "integer divisions hold")
		       : m->divisions == 1 ? "division or square root holds"
					   : "divisions or square roots hold",
		       a->path->estimate.bounds[SN_BOUND_DIVIDER]));
}

/* Accesses that go to neighbours: in L1 they cost the same, from RAM each element is moved once. Where loops are
 * interchanged, a sum over the innermost one is no chain any more. */
static double most_of_neighbours(const struct adviser *a, bool interchanges)
{
	const struct sn_cqa_path *path = a->path;
	double gain = interchanges && path->chain_is_reduction &&
				      a->result->bottleneck == SN_BOUND_LATENCY
			      ? path->variants[SN_VARIANT_NO_DEPENDENCE].speedup
			      : 1;
	double ram = path->level_cycles[SN_LEVEL_RAM] / path->contiguous_ram_cycles;

	return fmax(gain, ram);
}

static void advise_layout(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	unsigned even = m->strides[SN_STRIDE_UNIT];
	unsigned uneven = m->strides[SN_STRIDE_N] + m->register_steps;
	/* in a nest one place of each row is a column sooner than a field */
	unsigned columns = a->result->loop->depth > 1 ? m->lone_fields : 0;
	unsigned fields = m->fields - columns;
	double most = most_of_neighbours(a, !fields);

	if (fields)
		sn_advise_up_to(
			a, SN_ADVICE_HINT, "array of structures", 1, most,
			TEXT("Turn the array of structures into a structure of arrays: fields of "
			     "neighbours then lie side by side, for vectors and for cache lines%s.",
			     fields == m->lone_fields
				     ? "; if it is a column of a matrix, interchange loops or "
				       "store it transposed"
				     : ""),
			TEXT("%u access%s to fields of a structure that is stepped over as a whole",
			     fields, fields == 1 ? "" : "es"));
	else if (uneven && uneven >= even &&
		 (m->fp_scalar + m->fp_packed || (m->register_steps && even)))
		sn_advise_up_to(
			a, SN_ADVICE_HINT, "strides", 1, most,
			TEXT("Make accesses contiguous: interchange loops so that the innermost "
			     "runs over the contiguous index, or store the array transposed%s%s.",
			     m->register_steps && even
				     ? "; if that only moves the stride to another array (a "
				       "transposition), work on blocks of rows and columns"
				     : "",
			     columns ? " (fields of structures: as arrays of their own)" : ""),
			TEXT("%u access%s with a stride that is not one element, %u with one",
			     uneven, uneven == 1 ? "" : "es", even));
	if (m->strides[SN_STRIDE_INDIRECT] > sn_advice_conflicts(a))
		sn_advise(a, SN_ADVICE_HINT, "indirect access", NAN,
			  TEXT("Addresses come from memory: sort or block the indices so that "
			       "neighbours are used together."),
			  TEXT("%u indirect access%s a pass", m->strides[SN_STRIDE_INDIRECT],
			       m->strides[SN_STRIDE_INDIRECT] == 1 ? "" : "es"));
}

static void advise_memory(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	double ram = a->result->level_cycles[SN_LEVEL_RAM];

	if (m->stack_references >= 3)
		sn_advise(
			a, SN_ADVICE_HINT, "spills", NAN,
			TEXT("Values travel over the stack: split the loop or unroll less, so that "
			     "they fit into registers."),
			TEXT("%u stack references, %.0f bytes a pass", m->stack_references,
			     m->stack_bytes));
	if (ram >= 2 * a->result->cycles && m->bytes_from_memory > 0)
		sn_advise(
			a, SN_ADVICE_EXPERT, "bandwidth", NAN,
			TEXT("If the data do not fit into the caches, memory decides and faster "
			     "code gains nothing: work on blocks that stay in a cache, merge loops "
			     "over the same data, or use smaller types."),
			TEXT("%.0f new bytes a pass: %.2f cycles from L1, %.2f from RAM",
			     m->bytes_from_memory, a->result->cycles, ram));
}

static void advise_instructions(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	const struct sn_cqa_variant *one_type = &a->path->without_conversions;

	if (m->conversions)
		sn_advise(
			a, SN_ADVICE_HINT, "conversions",
			one_type->is_applicable ? one_type->speedup : NAN,
			TEXT("Avoid conversions in the loop: use one type for the data, and write "
			     "constants in it (1.0f instead of 1.0)."),
			one_type->is_applicable
				? TEXT("%u conversion%s a pass; without those between floating-point "
				       "types %.2f -> %.2f cycles",
				       m->conversions, S(m->conversions), a->path->estimate.cycles,
				       one_type->cycles)
				: TEXT("%u conversion%s a pass from or to integers: what takes their "
				       "place, and so the gain, is not seen in the code",
				       m->conversions, S(m->conversions)));
	if (m->add_then_mul && sn_advice_may_fuse(a) && !sn_may_contract(a->result->options))
		sn_advise(a, SN_ADVICE_HINT, "fma", NAN,
			  TEXT("Let more products and sums fuse: -ffp-contract=fast does so across "
			       "statements%s.",
			       sn_advice_unless_so(a)),
			  TEXT("%u product%s an addition", m->add_then_mul,
			       m->add_then_mul == 1 ? " feeds" : "s feed"));
	else if (m->add_then_mul && !sn_advice_may_fuse(a))
		sn_advise(a, SN_ADVICE_HINT, "fma", NAN,
			  TEXT("Let products and sums fuse: compile with -mfma (or "
			       "-march=native)%s%s.",
			       sn_may_contract(a->result->options) ? "" : " and -ffp-contract=fast",
			       sn_advice_unless_so(a)),
			  TEXT("%u product%s an addition", m->add_then_mul,
			       m->add_then_mul == 1 ? " feeds" : "s feed"));
	if (m->sum_times && m->isas & SN_ISA_FMA)
		sn_advise(
			a, SN_ADVICE_EXPERT, "fma order", NAN,
			TEXT("Rearrange sums and products so that a product comes before its sum: "
			     "(a + b) * c is two operations, a * c + d is one FMA."),
			TEXT("%u product%s of a sum a pass", m->sum_times, S(m->sum_times)));
	if (m->longest_uops >= LONG_UOPS && m->longest_uops * 2 > m->uops && !m->specials)
		sn_advise(a, SN_ADVICE_HINT, "slow instructions", NAN,
			  TEXT("Do without the instruction %s: the processor carries it out as a "
			       "little program.",
			       m->longest_name),
			  TEXT("%s is %u of the %u operations of a pass", m->longest_name,
			       m->longest_uops, m->uops));
	if (m->specials)
		sn_advise(a, SN_ADVICE_HINT, "slow instructions", NAN,
			  TEXT("Take string, atomic and system instructions out of the loop: each "
			       "costs tens of cycles or orders memory."),
			  TEXT("%u such instruction%s a pass", m->specials, S(m->specials)));
	if (m->x87)
		sn_advise(a, SN_ADVICE_HINT, "x87", NAN,
			  TEXT("The loop computes with the x87 unit: use double instead of long "
			       "double, or -mfpmath=sse."),
			  TEXT("%u x87 instruction%s a pass", m->x87, S(m->x87)));
	if (m->gathers + m->scatters)
		sn_advise(a, SN_ADVICE_EXPERT, "gathers", NAN,
			  TEXT("Gathers and scatters cost a memory access for each element: "
			       "contiguous loads and a shuffle are often faster."),
			  TEXT("%u gathers, %u scatters", m->gathers, m->scatters));
}

static void advise_flow(struct adviser *a)
{
	if (a->result->is_union && a->result->path_total)
		sn_advise(
			a, SN_ADVICE_HINT, "too many paths", NAN,
			TEXT("The loop has more paths than can be told apart: simplify its control "
			     "flow, hoist conditions that do not change."),
			TEXT("%" PRIu64 " paths, more than %d; the figures are those of all blocks "
			     "together, each by the share of passes that runs it if branches go "
			     "either way alike",
			     a->result->path_total, SN_CQA_PATHS_MAX));
	else if (a->result->path_count > 4)
		sn_advise(a, SN_ADVICE_HINT, "many paths", NAN,
			  TEXT("Simplify the control flow of the loop: compilers handle straight "
			       "bodies best."),
			  TEXT("%u paths, from %.2f to %.2f cycles", a->result->path_count,
			       a->result->cycles_min, a->result->cycles_max));
	if (sn_cqa_option_for_call(a->result))
		sn_advise(a, SN_ADVICE_POTENTIAL, "calls", NAN,
			  TEXT("The loop calls a function for what is an instruction: compile with "
			       "%s.",
			       sn_cqa_option_for_call(a->result)),
			  TEXT("%s%s",
			       a->result->callee ? "a call of " : "a call beside a square root",
			       a->result->callee ? a->result->callee : ""));
	else if (a->result->has_calls)
		sn_advise(a, SN_ADVICE_HINT, "calls", NAN,
			  TEXT("The loop calls a function, whose time is not in these figures: "
			       "inline it if it is small (-flto, 'inline')."),
			  TEXT("a call in the body"));
	if (!a->result->loop->line_first)
		sn_advise(a, SN_ADVICE_HINT, "debug lines", NAN,
			  TEXT("Compile with -g to see source lines here; it does not change the "
			       "code."),
			  TEXT("no line information for this loop"));
}

/* Instructions that keep the loop going weigh on a small body. */
static void advise_unroll(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	double gain = a->result->variants[SN_VARIANT_NEXT].speedup;
	bool is_supply = a->result->bottleneck == SN_BOUND_FRONT_END ||
			 a->result->bottleneck == SN_BOUND_ISSUE;

	if (a->result->loop->unroll > 1 && a->path->chain_is_reduction &&
	    a->result->bottleneck == SN_BOUND_LATENCY && m->fp_scalar > 1)
		sn_advise(a, SN_ADVICE_HINT, "partial unroll",
			  a->result->variants[SN_VARIANT_NO_DEPENDENCE].speedup,
			  TEXT("Unrolling alone did not help: every sum still waits for the one "
			       "before. Give the copies sums of their own%s.",
			       sn_may_reorder(a->result->options)
				       ? ""
				       : TEXT(", or allow it with -ffast-math%s",
					      sn_advice_unless_so(a))),
			  TEXT("%u source iterations a pass, one chain of %.2f cycles",
			       a->result->loop->unroll,
			       a->path->estimate.bounds[SN_BOUND_LATENCY]));
	if (!is_supply || !sn_advice_is_worth(gain) || m->longest_uops >= LONG_UOPS)
		return;
	if (a->path->estimate.instructions <= 16 && a->result->loop->unroll <= 1)
		sn_advise(a, SN_ADVICE_EXPERT, "unroll", gain,
			  TEXT("Unroll the loop (%s'#pragma GCC unroll 4'): the instructions that "
			       "keep it going are what limits it.",
			       sn_has_option(a->result->options, "-funroll-loops")
				       ? ""
				       : "-funroll-loops or "),
			  TEXT("%zu instructions a pass; %s %.2f cycles, next bound %.2f",
			       a->path->estimate.instructions,
			       sn_bound_names[a->result->bottleneck], a->path->estimate.cycles,
			       a->path->variants[SN_VARIANT_NEXT].cycles));
	else
		sn_advise(a, SN_ADVICE_EXPERT, "front end", gain,
			  TEXT("Instructions do not arrive fast enough: align the loop "
			       "(-falign-loops=32 or 64), unroll less, or shorten the code."),
			  TEXT("%s %.2f cycles, next bound %.2f",
			       sn_bound_names[a->result->bottleneck], a->path->estimate.cycles,
			       a->path->variants[SN_VARIANT_NEXT].cycles));
}

enum { SHORT_TRIP = 16 }; /* (chosen) */

static void advise_trips(struct adviser *a)
{
	unsigned trips = a->path->metrics.trips;

	if (!trips || trips > SHORT_TRIP)
		return;
	sn_advise(
		a, SN_ADVICE_HINT, "short trip", NAN,
		TEXT("The loop is short: its start, end and mispredicted exit weigh as much as its "
		     "body. Unroll it fully ('#pragma GCC unroll %u'), or make the longer loop of "
		     "the nest the innermost.",
		     trips),
		TEXT("%u passes, if its counter begins at 0", trips));
}

static int by_certainty(const void *a, const void *b)
{
	const struct sn_advice *x = a, *y = b;
	double gains[2][2] = { { x->sure_speedup, y->sure_speedup }, { x->speedup, y->speedup } };

	if (x->confidence != y->confidence)
		return x->confidence < y->confidence ? -1 : 1;
	for (unsigned i = 0; i < 2; i++) {
		double gain_x = isnan(gains[i][0]) ? 0 : gains[i][0],
		       gain_y = isnan(gains[i][1]) ? 0 : gains[i][1];

		if (gain_x != gain_y)
			return gain_x > gain_y ? -1 : 1;
	}
	return strcmp(x->subject, y->subject);
}

void sn_cqa_advise(const struct sn_machine *machine, struct sn_cqa_loop *result,
		   sn_advice_list *out)
{
	struct adviser a = { machine, result, NULL, out };
	bool is_rest;

	if (result->not_analysed)
		return;
	a.path = &result->paths[result->main_path];
	if (!sn_advise_options(&a)) {
		is_rest = sn_advise_vectors(&a);
		if (!is_rest) {
			advise_clean(&a);
			advise_dependence(&a);
		}
		advise_division(&a);
		advise_layout(&a);
		advise_memory(&a);
		advise_instructions(&a);
		advise_flow(&a);
		if (!is_rest)
			advise_unroll(&a);
		advise_trips(&a);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_certainty);
}
