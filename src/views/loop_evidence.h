/**
 * What is known of one loop, each kind of evidence as a line: for `sonde show loop` and for the page
 * of the report.
 */
#ifndef SN_VIEWS_LOOP_EVIDENCE_H
#define SN_VIEWS_LOOP_EVIDENCE_H

#include "base/text.h"
#include "causal/estimate.h"
#include "views/loop_campaign.h"
#include "profile/instance_paths.h"
#include "views/loop_memory.h"
#include "views/loop_parts.h"
#include "whatif/evidence.h"

/** What the runs of an experiment counted and timed, of all loops: found once. */
struct sn_loop_runs {
	struct sn_instances_list instances;
	struct sn_variants_list variants;
	struct sn_causal_log *causal; /* NULL: no experiments */
	struct sn_causal_answers answers;
	struct sn_instance_paths paths;
	struct sn_loop_replay replay;
	struct sn_loop_campaign campaign;
};
/** Reads also the other runs of the campaign, if the experiment lies in one, which lasts. Free with
 * sn_loop_runs_free. */
void sn_loop_runs_find(const struct sn_view_input *input, struct sn_loop_runs *out);
void sn_loop_runs_free(struct sn_loop_runs *runs);

/** The kinds of evidence, in their order. */
enum {
	SN_LOOP_STATIC,
	SN_LOOP_SAMPLED,
	SN_LOOP_INSTANCES,
	SN_LOOP_VARIANTS,
	SN_LOOP_CAUSAL,
	SN_LOOP_MEMORY,
	SN_LOOP_SCALING,
	SN_LOOP_CHANGE,
	SN_LOOP_KINDS
};

/** What one kind of evidence says, or why it is missing and by which command it comes (empty: by none). */
struct sn_loop_kind {
	const char *name; /* "static", "sampled" ... */
	bool is_missing;
	struct sn_text text, command;
};

/* Not to be moved: `known` points into it. */
struct sn_loop_told {
	struct sn_variants variants; /* of the loop, with its level; if `known` has any */
	struct sn_loop_known known;
	const struct sn_causal_answer *causal; /* borrowed of the runs; NULL: none */
	struct sn_loop_memory memory;	       /* if its kind is not missing */
	const struct sn_loop_course *course;   /* in the campaign; NULL: not */
	struct sn_loop_evidence judged;
	struct sn_loop_kind kinds[SN_LOOP_KINDS];
};

/** `quality` and `advice` are the static model's (NULL: it has none). Both and `runs` are borrowed. Free with
 * sn_loop_told_free. */
void sn_loop_tell(const struct sn_loop_page *page, const struct sn_loop_runs *runs,
		  const struct sn_cqa_loop *quality, const sn_advice_list *advice,
		  struct sn_loop_told *out);
void sn_loop_told_free(struct sn_loop_told *told);

#endif
