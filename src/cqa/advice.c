#include "cqa/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_TENTHS = 11 }; /* a modelled gain below 10 % is not promised */

const char *sn_confidence_name(enum sn_confidence confidence)
{
	static const char *const names[] = { "gain", "potential", "hint", "expert" };

	return names[confidence];
}

struct adviser {
	const struct sn_machine *machine;
	struct sn_cqa_loop *result;
	const struct sn_cqa_path *path; /* the main one */
	sn_advice_list *out;
};

static void advise(struct adviser *a, enum sn_confidence confidence, const char *subject,
		   double speedup, const char *sentence, const char *evidence)
{
	struct sn_advice advice = { confidence, subject, sentence, evidence, speedup };

	sn_vec_push(a->out, advice);
}

#define TEXT(...) sn_arena_printf(&a->result->arena, __VA_ARGS__)

static bool is_worth(double speedup)
{
	return speedup * 10 >= WORTH_TENTHS;
}

static const char *why_not_vectorized(const struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (a->result->has_calls)
		return "a call in the body keeps the compiler from it: inline the function, or use "
		       "a "
		       "vector version of it (-fopenmp-simd with declare simd, -fveclib)";
	if (a->path->chain_is_through_memory)
		return "each pass needs a value that an earlier pass stored: break the recurrence, "
		       "or "
		       "vectorize along another dimension (loop interchange)";
	if (a->path->chain_is_reduction)
		return "the sum must be reordered for it: allow that with -ffast-math or "
		       "-fassociative-math, or with '#pragma omp simd reduction'";
	if (a->result->path_count > 1 || a->result->is_union)
		return "the body branches: replace the conditions by selections, or split the loop";
	if (m->strides[SN_STRIDE_INDIRECT])
		return "elements are reached through an index array: make the accesses direct or "
		       "sort the indices";
	if (m->strides[SN_STRIDE_N] + m->strides[SN_STRIDE_UNKNOWN] > m->strides[SN_STRIDE_UNIT])
		return "most accesses do not go to neighbours: make the inner loop run over the "
		       "contiguous index, or turn an array of structures into a structure of "
		       "arrays";
	return "compile with -O3 for this processor (-march=native), add 'restrict' to pointers "
	       "that "
	       "do not overlap, or '#pragma omp simd'";
}

static void advise_vectorize(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	double full = a->result->variants[SN_VARIANT_FULL_VECTOR].speedup;

	if (!a->result->variants[SN_VARIANT_FULL_VECTOR].is_applicable || !is_worth(full))
		return;
	if (m->fp_scalar >= m->fp_packed)
		advise(a, full >= 1.5 ? SN_ADVICE_GAIN : SN_ADVICE_POTENTIAL, "vectorize", full,
		       TEXT("Vectorize the loop: %s.", why_not_vectorized(a)),
		       TEXT("%u of %u FP instructions are scalar; cycles %.2f -> %.2f with %u-byte "
			    "vectors",
			    m->fp_scalar, m->fp_scalar + m->fp_packed, a->result->cycles,
			    a->result->variants[SN_VARIANT_FULL_VECTOR].cycles,
			    a->machine->rules.vector_bytes));
	else
		advise(a, SN_ADVICE_POTENTIAL, "wider vectors", full,
		       TEXT("Use wider vectors: the code holds %u bytes in a register that can "
			    "hold "
			    "%u; compile for this processor (-march=native, "
			    "-mprefer-vector-width=%u).",
			    m->width_bytes, a->machine->rules.vector_bytes,
			    a->machine->rules.vector_bytes * 8),
		       TEXT("vector efficiency %.0f %%",
			    100 * m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].efficiency));
}

static void advise_clean(struct adviser *a)
{
	double clean = a->result->variants[SN_VARIANT_CLEAN].speedup;
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (!a->result->variants[SN_VARIANT_CLEAN].is_applicable || !is_worth(clean))
		return;
	advise(a, SN_ADVICE_GAIN, "clean", clean,
	       TEXT("Remove work that is not floating point: simplify index computations, unroll, "
		    "hoist what does not change."),
	       TEXT("%u of %u instructions are FP work; without the others %.2f -> %.2f cycles",
		    m->fp_scalar + m->fp_packed, m->instructions, a->result->cycles,
		    a->result->variants[SN_VARIANT_CLEAN].cycles));
}

static void advise_dependence(struct adviser *a)
{
	double gain = a->result->variants[SN_VARIANT_NO_DEPENDENCE].speedup;

	if (a->result->bottleneck != SN_BOUND_LATENCY || !is_worth(gain))
		return;
	if (a->path->chain_is_reduction)
		advise(a, SN_ADVICE_GAIN, "partial sums", gain,
		       TEXT("Break the chain of dependent additions: keep several partial sums "
			    "(unroll "
			    "by %.0f), or let the compiler do so with -ffast-math.",
			    ceil(gain)),
		       TEXT("each pass waits %.2f cycles for the one before; the units would allow "
			    "%.2f",
			    a->path->estimate.bounds[SN_BOUND_LATENCY],
			    a->result->variants[SN_VARIANT_NO_DEPENDENCE].cycles));
	else
		advise(a, SN_ADVICE_POTENTIAL, "dependence", gain,
		       TEXT("Shorten the dependence from pass to pass%s.",
			    a->path->chain_is_through_memory
				    ? ": keep the value in a register instead of storing and "
				      "loading it"
				    : ", or run several independent instances side by side"),
		       TEXT("the chain takes %.2f cycles a pass",
			    a->path->estimate.bounds[SN_BOUND_LATENCY]));
}

static void advise_division(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (!m->divisions ||
	    a->path->estimate.bounds[SN_BOUND_DIVIDER] < 0.7 * a->path->estimate.cycles)
		return;
	advise(a, SN_ADVICE_POTENTIAL, "division",
	       a->result->bottleneck == SN_BOUND_DIVIDER
		       ? a->result->variants[SN_VARIANT_NEXT].speedup
		       : (double)NAN,
	       TEXT("Divide less: multiply by a reciprocal computed outside the loop, use single "
		    "precision where it is enough, or -mrecip."),
	       TEXT("%u divisions or square roots hold the divider for %.1f cycles a pass",
		    m->divisions, a->path->estimate.bounds[SN_BOUND_DIVIDER]));
}

static void advise_memory(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	unsigned uneven = m->strides[SN_STRIDE_N] + m->strides[SN_STRIDE_UNKNOWN];

	if (uneven && m->fp_scalar + m->fp_packed && uneven >= m->strides[SN_STRIDE_UNIT])
		advise(a, SN_ADVICE_HINT, "strides", NAN,
		       TEXT("Make accesses contiguous: an array of structures may become a "
			    "structure "
			    "of arrays, or loops may be interchanged."),
		       TEXT("%u accesses with a stride that is not one element, %u with one",
			    uneven, m->strides[SN_STRIDE_UNIT]));
	if (m->strides[SN_STRIDE_INDIRECT])
		advise(a, SN_ADVICE_HINT, "indirect access", NAN,
		       TEXT("Addresses come from memory: sort or block the indices so that "
			    "neighbours are used together."),
		       TEXT("%u indirect accesses a pass", m->strides[SN_STRIDE_INDIRECT]));
	if (m->stack_references >= 3)
		advise(a, SN_ADVICE_HINT, "spills", NAN,
		       TEXT("Values travel over the stack: split the loop or unroll less, so that "
			    "they fit into registers."),
		       TEXT("%u stack references, %.0f bytes a pass", m->stack_references,
			    m->stack_bytes));
}

static void advise_instructions(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (m->conversions)
		advise(a, SN_ADVICE_HINT, "conversions", NAN,
		       TEXT("Avoid conversions in the loop: use one type for the data, and write "
			    "constants in it (1.0f instead of 1.0)."),
		       TEXT("%u conversions a pass", m->conversions));
	if (m->add_then_mul)
		advise(a, SN_ADVICE_HINT, "fma", NAN,
		       TEXT("Let products and sums fuse: compile with -mfma (or -march=native) and "
			    "-ffp-contract=fast."),
		       TEXT("%u products feed an addition", m->add_then_mul));
	if (m->x87)
		advise(a, SN_ADVICE_HINT, "x87", NAN,
		       TEXT("The loop computes with the x87 unit: use double instead of long "
			    "double, "
			    "or -mfpmath=sse."),
		       TEXT("%u x87 instructions a pass", m->x87));
	if (m->gathers + m->scatters)
		advise(a, SN_ADVICE_EXPERT, "gathers", NAN,
		       TEXT("Gathers and scatters cost a memory access for each element: "
			    "contiguous "
			    "loads and a shuffle are often faster."),
		       TEXT("%u gathers, %u scatters", m->gathers, m->scatters));
}

static void advise_flow(struct adviser *a)
{
	if (a->result->is_union)
		advise(a, SN_ADVICE_HINT, "too many paths", NAN,
		       TEXT("The loop has more paths than can be told apart: simplify its control "
			    "flow, hoist conditions that do not change."),
		       TEXT("more than %d paths; the figures are those of all blocks together",
			    SN_CQA_PATHS_MAX));
	else if (a->result->path_count > 4)
		advise(a, SN_ADVICE_HINT, "many paths", NAN,
		       TEXT("Simplify the control flow of the loop: compilers handle straight "
			    "bodies "
			    "best."),
		       TEXT("%u paths, from %.2f to %.2f cycles", a->result->path_count,
			    a->result->cycles_min, a->result->cycles_max));
	if (a->result->has_calls)
		advise(a, SN_ADVICE_HINT, "calls", NAN,
		       TEXT("The loop calls a function, whose time is not in these figures: inline "
			    "it if it is small (-flto, 'inline')."),
		       TEXT("a call in the body"));
	if (a->path->estimate.instructions <= 4 && a->result->bottleneck == SN_BOUND_FRONT_END)
		advise(a, SN_ADVICE_EXPERT, "unroll", NAN,
		       TEXT("Unroll the loop (-funroll-loops): one taken branch a cycle is the "
			    "limit "
			    "here."),
		       TEXT("%zu instructions in %.2f cycles", a->path->estimate.instructions,
			    a->path->estimate.cycles));
	if (!a->result->loop->line_first)
		advise(a, SN_ADVICE_HINT, "debug lines", NAN,
		       TEXT("Compile with -g to see source lines here; it does not change the "
			    "code."),
		       TEXT("no line information for this loop"));
}

static void advise_front_end(struct adviser *a)
{
	if (a->result->bottleneck != SN_BOUND_FRONT_END || a->path->estimate.instructions <= 4)
		return;
	advise(a, SN_ADVICE_EXPERT, "front end", a->result->variants[SN_VARIANT_NEXT].speedup,
	       TEXT("Instructions do not arrive fast enough: align the loop (-falign-loops=32 or "
		    "64), "
		    "unroll less, or shorten the code."),
	       TEXT("front end %.2f cycles, next bound %.2f", a->path->estimate.cycles,
		    a->path->variants[SN_VARIANT_NEXT].cycles));
}

static int by_certainty(const void *a, const void *b)
{
	const struct sn_advice *x = a, *y = b;
	double gain_x = isnan(x->speedup) ? 0 : x->speedup,
	       gain_y = isnan(y->speedup) ? 0 : y->speedup;

	if (x->confidence != y->confidence)
		return x->confidence < y->confidence ? -1 : 1;
	if (gain_x != gain_y)
		return gain_x > gain_y ? -1 : 1;
	return strcmp(x->subject, y->subject);
}

void sn_cqa_advise(const struct sn_machine *machine, struct sn_cqa_loop *result,
		   sn_advice_list *out)
{
	struct adviser a = { machine, result, NULL, out };

	if (result->not_analysed)
		return;
	a.path = &result->paths[result->main_path];
	advise_vectorize(&a);
	advise_clean(&a);
	advise_dependence(&a);
	advise_division(&a);
	advise_memory(&a);
	advise_instructions(&a);
	advise_flow(&a);
	advise_front_end(&a);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_certainty);
}
