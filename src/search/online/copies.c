/*
 * Which loops run as copies in a further start: the hottest that the first one met; where they are traced, one of each nest. Loops
 * whose accesses all stay where they are, by the static model, miss nothing, and are not traced.
 */
#include "search/online/copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "profile/rank.h"
#include "rewrite/rewrite.h"
#include "search/evidence/sources.h"
#include "whatif/untouched.h"
#include "whatif/whatif.h"
#include "wire/settings.h"
#include "wire/variants.h"

enum {
	LOOPS_MOST = 50,
	BUDGET_PERCENT = 20, /* as 'sonde trace' and 'sonde decan' have it */
};

/* (chosen) of all CPU time: what is below cannot be severe */
static const double share_least = 0.01;
static const uint64_t bytes_most = 1000000000; /* as 'sonde trace' has it */

static const struct {
	const char *option;
	uint32_t variants; /* 0: its instances are counted */
	uint32_t budget_percent;
	const char *none; /* why there is no loop */
} kinds[] = {
	{ "trace", SN_REWRITER_RECORDER | SN_REWRITER_INNERMOST, BUDGET_PERCENT,
	  "no hot loop has accesses that can miss, and calls no functions" },
	{ "decan", (1u << SN_VARIANTS) - 1, BUDGET_PERCENT,
	  "no hot loop has accesses that can miss, and calls no functions" },
	{ "vprof", 0, 0, "no loop is hot" },
};

static int kind_of(const char *option)
{
	for (int i = 0; i < (int)(sizeof(kinds) / sizeof(*kinds)); i++)
		if (!strcmp(kinds[i].option, option))
			return i;
	return -1;
}

bool sn_copies_are_asked(const char *option)
{
	return kind_of(option) >= 0;
}

/* Whether the model knows that it takes as long with its data in memory as in the first level, or that it calls functions, of
 * which a copy tells nothing. */
static bool is_not_asked(const struct sn_whatif *whatif, uint32_t loop)
{
	for (size_t i = 0; i < whatif->loops.count; i++) {
		const struct sn_cqa_loop *quality = &whatif->loops.items[i].quality;

		if (whatif->loops.items[i].loop == loop)
			return quality->has_calls ||
			       (quality->path_count &&
				quality->level_cycles[SN_LEVEL_RAM] <=
					quality->level_cycles[SN_LEVEL_L1] * 1.001);
	}
	return false;
}

static bool has_team(const struct sn_profile *profile)
{
	uint32_t at_work = 0;

	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		at_work += profile->is_at_work[t];
	return at_work > profile->experiment->processes.count;
}

static void loops_choose(struct sn_analysis *first, int kind, double least,
			 struct sn_loop_choice *out)
{
	bool is_trace = kinds[kind].variants & SN_REWRITER_RECORDER;
	const struct sn_machine_choice *machine = sn_analysis_machine(first);
	const struct sn_profile *profile = first->profile;
	struct sn_whatif *whatif = NULL;
	size_t count;
	uint32_t *order = sn_rank_loops(profile, true, &count);

	/* a place that stays is a line that moves, where several threads write it */
	if (machine->machine && kinds[kind].variants && !(is_trace && has_team(profile)))
		whatif = sn_whatif_new(machine->machine, profile, first->structures, LOOPS_MOST);
	for (size_t i = 0; i < count && out->loops.count < LOOPS_MOST; i++) {
		const struct sn_metrics *loop = &profile->loops[order[i]];
		/* what divides its work among a team is mostly not the innermost loop */
		double share = sn_share(kinds[kind].variants ? loop->exclusive.cpu_ns
							     : loop->inclusive.cpu_ns,
					profile->total.cpu_ns);

		if (share >= least && !(whatif && is_not_asked(whatif, order[i])))
			sn_vec_push(&out->loops, order[i]);
	}
	if (is_trace)
		sn_loop_choice_keep_one_of_nest(profile, out);
	sn_whatif_free(whatif);
	free(order);
}

sn_status sn_copies_prepare(struct sn_copies *out, const char *option, struct sn_analysis *first,
			    double threshold, struct sn_record_options *options,
			    struct sn_error *err)
{
	struct sn_loop_choice choice = { 0 };
	int kind = kind_of(option);
	bool is_trace = kinds[kind].variants & SN_REWRITER_RECORDER;
	size_t chosen;

	*out = (struct sn_copies){ .has_variants = kinds[kind].variants && !is_trace };
	/* misses of several loops add up to those of a region; a variant is of its loop */
	loops_choose(first, kind, is_trace ? share_least : fmax(share_least, threshold), &choice);
	chosen = choice.loops.count;
	if (chosen)
		sn_loop_plans_make(first->profile, &choice, kinds[kind].variants, &out->plans);
	sn_loop_choice_free(&choice);
	if (!chosen)
		return sn_error_set(err, SN_ERR_NO_DATA, "%s", kinds[kind].none);
	if (!out->plans.loops)
		return sn_error_set(
			err, SN_ERR_NO_DATA, "%s cannot run as a copy: %s",
			out->plans.refusals.count
				? first->program->loops.items[out->plans.refusals.items[0].loop]
					  .code->label
				: "the hottest loop",
			out->plans.refusals.count ? out->plans.refusals.items[0].why
						  : "its file is not there any more");
	out->files = sn_alloc_zeroed(out->plans.modules.count + 1, sizeof(*out->files));
	for (size_t i = 0; i < out->plans.modules.count; i++)
		out->files[i] = (struct sn_record_plan){ out->plans.modules.items[i].id,
							 out->plans.modules.items[i].bytes.chars,
							 out->plans.modules.items[i].bytes.length };
	options->plans = out->files;
	options->plan_count = out->plans.modules.count;
	options->budget_percent = kinds[kind].budget_percent;
	options->has_accesses = is_trace;
	if (is_trace) {
		options->max_bytes = bytes_most;
		if (options->heap ==
		    SN_HEAP_OFF) /* as 'sonde trace': blocks are told by who allocated them */
			options->heap = SN_HEAP_TRACE;
	}
	out->begin_s = sn_now_s();
	out->begin = __builtin_ia32_rdtsc();
	return SN_OK;
}

uint32_t sn_copies_barren(struct sn_analysis *run, const struct sn_recorded *recorded,
			  double threshold)
{
	uint32_t barren = 0;

	for (uint32_t i = 0; sn_sources[i]; i++) {
		const char *option = sn_sources[i]->option;
		struct sn_record_options scratch = { 0 };
		struct sn_copies copies;
		struct sn_error err;

		if (!option || !sn_copies_are_asked(option) ||
		    sn_tables_has_source(recorded->tables, sn_sources[i]->name))
			continue;
		if (sn_copies_prepare(&copies, option, run, threshold, &scratch, &err) ==
		    SN_ERR_NO_DATA)
			barren |= 1u << i;
		sn_copies_free(&copies);
	}
	return barren;
}

void sn_copies_ran(struct sn_copies *copies, const struct sn_analysis *first,
		   const char *experiment_path)
{
	double hz =
		(double)(__builtin_ia32_rdtsc() - copies->begin) / (sn_now_s() - copies->begin_s);
	struct sn_error err;

	if (copies->has_variants &&
	    sn_untouched_write(first->profile, hz, experiment_path, &err) != SN_OK)
		sn_error_print(&err);
}

void sn_copies_free(struct sn_copies *copies)
{
	sn_loop_plans_free(&copies->plans);
	free(copies->files);
}
