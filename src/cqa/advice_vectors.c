/* Whether a loop should run on vectors, and what keeps it from that. */
#include "cqa/advice_parts.h"

#include <math.h>

#include "code/options.h"

/* Some pass may be the last one before the counter says so: it is not known beforehand how many
 * there are. A loop with several ways back has an end on each. */
static bool leaves_early(const struct adviser *a)
{
	return a->result->loop->exit_count > a->result->loop->latch_count;
}

static bool branches(const struct adviser *a)
{
	return a->result->path_count > 1 || a->result->is_union;
}

static const char *why_not_reordered(const struct adviser *a)
{
	return branches(a) ? "the sum (product, minimum, maximum) must be reordered for it "
			     "(-ffast-math or -fassociative-math), and the body must not branch: "
			     "replace the conditions by selections"
			   : "the sum (product, minimum, maximum) must be reordered for it: allow "
			     "that with -ffast-math or -fassociative-math, or with "
			     "'#pragma omp simd reduction'";
}

static const char *why_not_vectorized(const struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (sn_cqa_option_for_call(a->result))
		return TEXT("a function is called for what is an instruction: compile with %s",
			    sn_cqa_option_for_call(a->result));
	if (a->result->has_calls)
		return "a call in the body keeps the compiler from it: inline the function, or use "
		       "a "
		       "vector version of it (-fopenmp-simd with declare simd, -fveclib)";
	if (a->path->chain_is_through_memory)
		return "each pass needs a value that an earlier pass stored: break the recurrence, "
		       "or "
		       "vectorize along another dimension (loop interchange)";
	if (a->path->chain_is_recurrence)
		return "each pass computes with the value of the one before, which no compiler "
		       "reorders: move the rest into a loop of its own";
	if (leaves_early(a))
		return "the loop leaves early, so that no compiler knows how many passes there "
		       "are: work on blocks of fixed length, and look after each block whether "
		       "to stop";
	if (a->path->chain_is_reduction && !sn_may_reorder(a->result->options))
		return why_not_reordered(a);
	if (branches(a))
		return "the body branches: replace the conditions by selections, or split the loop";
	if (m->strides[SN_STRIDE_INDIRECT])
		return "elements are reached through an index array: make the accesses direct or "
		       "sort the indices";
	if (m->strides[SN_STRIDE_N] + m->strides[SN_STRIDE_UNKNOWN] > m->strides[SN_STRIDE_UNIT])
		return "most accesses do not go to neighbours: make the inner loop run over the "
		       "contiguous index, or turn an array of structures into a structure of "
		       "arrays";
	return sn_advice_what_to_tell(a);
}

/* The loop that the compiler vectorized where this one does the rest, or serves if pointers
 * overlap; NULL: none. */
static const struct sn_loop *vectorized_twin(const struct adviser *a)
{
	const struct sn_loop *loop = a->result->loop;

	for (uint32_t i = 0; i < loop->function->loop_count && loop->role != SN_LOOP_MAIN; i++) {
		const struct sn_loop *other = &loop->function->loops[i];

		if (other != loop && other->group == loop->group &&
		    other->vector_bytes > loop->vector_bytes)
			return other;
	}
	return NULL;
}

static void advise_fallback(struct adviser *a, const struct sn_loop *twin)
{
	sn_advise(
		a, SN_ADVICE_HINT, "fallback", NAN,
		a->result->loop->role == SN_LOOP_VERSION
			? TEXT("The loop is vectorized: this is the version for what a test at run "
			       "time rules out, such as pointers that overlap. If much time goes "
			       "here, rule that out in the source ('restrict', contiguous data).")
			: TEXT("The loop is vectorized: these are the passes that do not fill a "
			       "vector. If much time goes here, the loop is short: let it run over "
			       "more at a time, or make its length a multiple of the vector's."),
		TEXT("role %s; its other version uses vectors of %u bytes",
		     sn_loop_role_name((enum sn_loop_role)a->result->loop->role),
		     twin->vector_bytes));
}

static void advise_vectorize(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	double full = a->result->variants[SN_VARIANT_FULL_VECTOR].speedup;
	bool is_known, has_target = a->result->options &&
				    sn_has_target_option(a->result->options, &is_known);

	if (!a->result->variants[SN_VARIANT_FULL_VECTOR].is_applicable || !sn_advice_is_worth(full))
		return;
	if (m->fp_scalar >= m->fp_packed)
		sn_advise(a, full >= 1.5 && !leaves_early(a) ? SN_ADVICE_GAIN : SN_ADVICE_POTENTIAL,
			  "vectorize", full, TEXT("Vectorize the loop: %s.", why_not_vectorized(a)),
			  TEXT("%u of %u FP instructions scalar; cycles %.2f -> %.2f with %u-byte "
			       "vectors",
			       m->fp_scalar, m->fp_scalar + m->fp_packed, a->result->cycles,
			       a->result->variants[SN_VARIANT_FULL_VECTOR].cycles,
			       a->machine->rules.vector_bytes));
	else if (m->width_bytes < a->machine->rules.vector_bytes)
		sn_advise(a, SN_ADVICE_POTENTIAL, "wider vectors", full,
			  TEXT("Use wider vectors: the code holds %u bytes in a register that can "
			       "hold %u; compile %s-mprefer-vector-width=%u%s.",
			       m->width_bytes, a->machine->rules.vector_bytes,
			       has_target ? "with " : "for this processor (-march=native, ",
			       a->machine->rules.vector_bytes * 8, has_target ? "" : ")"),
			  TEXT("vector efficiency %.0f %%",
			       100 * m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].efficiency));
}

/* Integer code has no vector variant: how wide its data are is not seen, so no gain is named. */
static void advise_integers(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	const struct sn_vectorization *v = m->vectorization[SN_DATA_INTEGER];

	if (m->fp_scalar + m->fp_packed || !(v[SN_CLASS_ALL].ratio < 0.5) ||
	    !m->strides[SN_STRIDE_UNIT] || isnan(v[SN_CLASS_LOAD].ratio) ||
	    a->path->chain_is_through_memory || a->path->chain_is_recurrence ||
	    sn_cqa_option_for_call(a->result))
		return;
	sn_advise(a, SN_ADVICE_POTENTIAL, "vectorize integers", NAN,
		  TEXT("Vectorize the loop: %s.", why_not_vectorized(a)),
		  TEXT("contiguous integers are handled one by one; registers are used to %.0f %%",
		       100 * v[SN_CLASS_ALL].efficiency));
}

bool sn_advise_vectors(struct adviser *a)
{
	const struct sn_loop *twin = vectorized_twin(a);

	if (twin) {
		advise_fallback(a, twin);
		return true;
	}
	advise_vectorize(a);
	advise_integers(a);
	return false;
}
