/* Whether a loop should run on vectors, and what keeps it from that. */
#include "cqa/words/advice_parts.h"

#include <math.h>

#include "code/options.h"

/* Some pass may be the last one before the counter says so: it is not known beforehand how many
 * there are. A loop with several ways back has an end on each. */
#define FILLED	     0.95 /* (rounding) share of the vectors */
#define SURELY_WORTH 1.5  /* (chosen) speed-up */

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
	return branches(a) ? TEXT("the sum (product, minimum, maximum) must be reordered for it "
				  "(-ffast-math or -fassociative-math)%s, and the body must not "
				  "branch: replace the conditions by selections",
				  sn_advice_unless_so(a))
			   : TEXT("the sum (product, minimum, maximum) must be reordered for it: "
				  "allow that with -ffast-math or -fassociative-math%s, or with "
				  "'#pragma omp simd reduction'",
				  sn_advice_unless_so(a));
}

static const char *why_not_vectorized(const struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;

	if (sn_cqa_option_for_call(a->result))
		return TEXT("a function is called for what is an instruction: compile with %s",
			    sn_cqa_option_for_call(a->result));
	if (a->result->has_calls)
		return "a call in the body keeps the compiler from it: inline the function, or use "
		       "a vector version of it (-fopenmp-simd with declare simd, -fveclib)";
	if (a->path->chain_is_through_memory)
		return "each pass needs a value that an earlier pass stored: break the recurrence, "
		       "or vectorize along another dimension (loop interchange)";
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

/* A short loop does not fill its vectors: 12 passes fill 12 places of 16. */
static double filled_share(const struct adviser *a, unsigned places)
{
	unsigned trips = a->path->metrics.trips;

	return trips && places ? trips / (ceil((double)trips / places) * places) : 1;
}

static void advise_vectorize(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	double share = filled_share(a, a->path->widening_of_machine);
	/* the variant knows of loops that do not fill one vector */
	double full = a->result->variants[SN_VARIANT_FULL_VECTOR].speedup *
		      filled_share(a, a->path->widening);
	bool has_target = sn_advice_has_target(a, a->machine->rules.vector_bytes);
	const char *filled = share > FILLED
				     ? ""
				     : TEXT("; the loop's %u passes (if its counter begins at 0) "
					    "fill only %.0f %% of the vectors",
					    m->trips, 100 * share);

	if (!a->result->variants[SN_VARIANT_FULL_VECTOR].is_applicable || !sn_advice_is_worth(full))
		return;
	if (m->fp_scalar >= m->fp_packed)
		sn_advise(a,
			  full >= SURELY_WORTH && !leaves_early(a) ? SN_ADVICE_GAIN
								   : SN_ADVICE_POTENTIAL,
			  "vectorize", full, TEXT("Vectorize the loop: %s.", why_not_vectorized(a)),
			  TEXT("%u of %u FP instructions scalar; cycles %.2f -> %.2f with %u-byte "
			       "vectors%s",
			       m->fp_scalar, m->fp_scalar + m->fp_packed, a->result->cycles,
			       a->result->variants[SN_VARIANT_FULL_VECTOR].cycles,
			       a->machine->rules.vector_bytes, filled));
	/* each element of a gather costs as much in any width */
	else if (m->width_bytes < a->machine->rules.vector_bytes && !m->gathers && !m->scatters)
		sn_advise(a, SN_ADVICE_POTENTIAL, "wider vectors", full,
			  TEXT("Use wider vectors: the code holds %u bytes in a register that can "
			       "hold %u; compile %s-mprefer-vector-width=%u%s.",
			       m->width_bytes, a->machine->rules.vector_bytes,
			       has_target ? "with " : "for this processor (-march=native, ",
			       a->machine->rules.vector_bytes * 8, has_target ? "" : ")"),
			  TEXT("vector efficiency %.0f %%%s",
			       100 * m->vectorization[SN_DATA_BOTH][SN_CLASS_ALL].efficiency,
			       filled));
}

/* Why no gain of vectors of integers is named; NULL: one is. */
static const char *why_no_gain(const struct adviser *a)
{
	const struct sn_integer_vectors *vectors = &a->path->integer_vectors;

	if (leaves_early(a))
		return "how many passes are computed in vain where it leaves early";
	if (branches(a))
		return "what becomes of its branches";
	return vectors->as_stored.is_applicable ? NULL : vectors->reason;
}

static const char *evidence_of_integers(const struct adviser *a, const char *why_not)
{
	const struct sn_integer_vectors *vectors = &a->path->integer_vectors;
	double used =
		100 * a->path->metrics.vectorization[SN_DATA_INTEGER][SN_CLASS_ALL].efficiency;

	if (why_not)
		return TEXT(
			"contiguous integers are handled one by one; registers are used to %.0f "
			"%%; the gain is not known: %s",
			used, why_not);
	return TEXT(
		"contiguous integers are handled one by one; registers are used to %.0f %%; "
		"cycles %.2f -> %.2f with %u-byte vectors, %.2f if elements stay as narrow as in "
		"memory",
		used, a->path->estimate.cycles, vectors->as_computed.cycles,
		a->machine->rules.vector_bytes, vectors->as_stored.cycles);
}

/* How wide the elements must be is not seen, so the gain lies between two. */
static void advise_integers(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	const struct sn_integer_vectors *vectors = &a->path->integer_vectors;
	const char *why_not = why_no_gain(a);
	const struct sn_vectorization *v = m->vectorization[SN_DATA_INTEGER];

	if (m->fp_scalar + m->fp_packed || !(v[SN_CLASS_ALL].ratio < 0.5) ||
	    !m->strides[SN_STRIDE_UNIT] || isnan(v[SN_CLASS_LOAD].ratio) ||
	    a->path->chain_is_through_memory || a->path->chain_is_recurrence ||
	    sn_cqa_option_for_call(a->result))
		return;
	sn_advise_up_to(a, SN_ADVICE_POTENTIAL, "vectorize integers",
			why_not ? NAN : vectors->as_computed.speedup, vectors->as_stored.speedup,
			TEXT("Vectorize the loop: %s.", why_not_vectorized(a)),
			evidence_of_integers(a, why_not));
}

unsigned sn_advice_conflicts(const struct adviser *a)
{
	/* blocks of several paths, one after the other, show updates that none of them makes */
	return a->result->is_union ? 0 : a->path->metrics.conflicts;
}

static void advise_conflicts(struct adviser *a)
{
	unsigned conflicts = sn_advice_conflicts(a);

	sn_advise(a, SN_ADVICE_HINT, "conflicts", NAN,
		  TEXT("Keep several private tables, one for each of some neighbouring passes (or "
		       "lanes of a vector), and add them up at the end: two passes may update the "
		       "same element, so the compiler must keep their order, and equal indices "
		       "wait for each other. If all indices differ, say so: '#pragma GCC ivdep'."),
		  TEXT("%u indirect access%s to elements that are read, changed and written back",
		       conflicts, conflicts == 1 ? "" : "es"));
}

bool sn_advise_vectors(struct adviser *a)
{
	const struct sn_loop *twin = vectorized_twin(a);

	if (twin) {
		advise_fallback(a, twin);
		return true;
	}
	if (sn_advice_conflicts(a)) {
		advise_conflicts(a);
	} else if (!a->path->metrics.integer_divisions) { /* no vector has these */
		advise_vectorize(a);
		advise_integers(a);
	}
	return false;
}
