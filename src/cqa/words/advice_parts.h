/**
 * What the advisers share: advice.c gathers and orders what all of them say, advice_options.c knows
 * what the code was compiled with, advice_vectors.c speaks of vectors.
 */
#ifndef SN_CQA_ADVICE_PARTS_H
#define SN_CQA_ADVICE_PARTS_H

#include "cqa/words/advice.h"

struct adviser {
	const struct sn_machine *machine;
	struct sn_cqa_loop *result;
	const struct sn_cqa_path *path; /* the main one */
	sn_advice_list *out;
};

#define S(count)  ((count) == 1 ? "" : "s")
#define TEXT(...) sn_arena_printf(&a->result->arena, __VA_ARGS__)

/** Adds a piece of advice, and gives it until the next is added; NULL: it has nothing to say to who compiled this
 * code. */
struct sn_advice *sn_advise(struct adviser *a, enum sn_confidence confidence, const char *subject,
			    double speedup, const char *sentence, const char *evidence);

/** The same with a gain that lies between `speedup` and `most` even with all data in L1. */
void sn_advise_up_to(struct adviser *a, enum sn_confidence confidence, const char *subject,
		     double speedup, double most, const char *sentence, const char *evidence);

/** A modelled gain below 10 % is not promised. */
bool sn_advice_is_worth(double speedup);

/** Advice on compiler options, if the binary says which were used. True: the code was compiled
 * without optimization, and nothing else is worth saying. */
bool sn_advise_options(struct adviser *a);

/** The options that let the compiler vectorize and that it was not given. */
const char *sn_advice_what_to_tell(const struct adviser *a);

/** A sentence without the part that names options of C's compilers, or words of C, where the code
 * is of another language. NULL: nothing else is left. */
const char *sn_advice_without_options(struct sn_arena *arena, const char *sentence);

/** " (if it is not compiled so already)" where the options are not known (clang records none). */
const char *sn_advice_unless_so(const struct adviser *a);

/** Whether the code was compiled for a processor with vectors of so many bytes (32 or 64), by its
 * options or by its instructions. */
bool sn_advice_has_target(const struct adviser *a, unsigned bytes);

/** The loop has FMAs, or the compiler was allowed to make them. */
bool sn_advice_may_fuse(const struct adviser *a);

/** Accesses by which passes may update the same element (h[b[i]]++). */
unsigned sn_advice_conflicts(const struct adviser *a);

/** Advice on whether and how to vectorize. True: another loop of the code is vectorized, and this
 * one does the rest. */
bool sn_advise_vectors(struct adviser *a);

#endif
