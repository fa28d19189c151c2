/**
 * Before and after: the main loops of two builds side by side.
 */
#ifndef SN_CQA_WORDS_COMPARE_H
#define SN_CQA_WORDS_COMPARE_H

#include <stdio.h>

#include "base/table.h"
#include "cqa/loop/visit.h"

/** A main loop of one build. */
struct sn_cqa_side {
	char *function, *label;
	double cycles, flops;
	bool has_calls;
	enum sn_bound bottleneck;
	unsigned unroll;	   /* iterations of the source in a pass; 0: unknown */
	uint64_t code;		   /* equal: the same instructions */
	struct sn_cqa_side *other; /* its counterpart in the other build, or NULL */
};

/** The loops of one build in the order of its code. */
struct sn_cqa_sides {
	struct sn_arena arena; /* of the texts */
	SN_VEC(struct sn_cqa_side) items;
};

/** Adds the chosen main loops of a module that can be analysed. */
void sn_cqa_sides_read(struct sn_cqa_sides *out, struct sn_cqa_module *module,
		       const struct sn_machine *machine, const struct sn_loop_choice *choice);
void sn_cqa_sides_free(struct sn_cqa_sides *sides);

/** Sets `other` of each loop that has a counterpart: loops of one function and label, in order; then
 * those left, in order, of functions that have as many left in both builds. */
void sn_cqa_sides_pair(struct sn_cqa_sides *before, struct sn_cqa_sides *after);

/** The time of the same source work, before over after. `*by` says how the work was compared: "same
 * code", "iterations" or "FLOP". NaN, with `*by` unset, if nothing shows it. */
double sn_cqa_sides_speedup(const struct sn_cqa_side *before, const struct sn_cqa_side *after,
			    const char **by);

/** The table of paired builds, and as text how many loops are faster. `view->columns` is set where a
 * text table leaves some out. */
sn_status sn_cqa_compare_write(const struct sn_cqa_sides *before, const struct sn_cqa_sides *after,
			       struct sn_table_view *view, const struct sn_machine *machine,
			       FILE *out, struct sn_error *err);

#endif
