/* All evidence on one loop side by side: what each kind says, what follows, what is missing and how to get it. */
#include "views/loop_evidence.h"

#include <math.h>
#include <string.h>

#include "causal/sentence.h"
#include "profile/companions.h"
#include "rewrite/rewrite.h"
#include "views/summary/text_page.h"
#include "whatif/whatif.h"

static const char *const kind_names[SN_LOOP_KINDS] = { "static", "sampled", "instances", "variants",
						       "causal", "memory",  "scaling",	 "change" };

/* ---- what is missing ---- */

static void lacks(struct sn_loop_kind *kind, const char *reason)
{
	kind->is_missing = true;
	sn_text_add(&kind->text, reason);
}

static void analyze_command(const struct sn_loop_page *page, int level, struct sn_text *out)
{
	sn_text_addf(out, "sonde analyze --level %d --from ", level);
	sn_text_add_shell_word(out, page->experiment);
	sn_text_add(out, " -- PROGRAM ARGS");
}

static void lacks_static(const struct sn_loop_page *page, const struct sn_cqa_loop *quality,
			 struct sn_loop_kind *kind)
{
	if (!page->input->machine->machine) {
		lacks(kind, "there is no model of this processor");
		sn_text_add(&kind->command, "sonde show loop LOOP --arch NAME");
	} else {
		lacks(kind, quality && quality->not_analysed ? quality->not_analysed
							     : "its machine code is not at hand");
	}
}

/* There was such a run, but this loop has nothing from it. */
static void lacks_of_loop(const struct sn_loop_page *page, bool is_of_variants,
			  struct sn_loop_kind *kind)
{
	const char *why = is_of_variants && page->structure
				  ? sn_variants_refusal(page->structure, page->loop->code)
				  : NULL;

	if (why) {
		lacks(kind, "it can have none: ");
		sn_text_add(&kind->text, why);
		return;
	}
	lacks(kind, is_of_variants ? "it had none: others were chosen, or a loop around it or in it"
				   : "it was not among the loops that were counted, or cannot be");
	sn_text_add(&kind->command, "sonde structure -l rewritable BINARY");
}

static void lacks_runs(const struct sn_loop_page *page, bool is_of_variants,
		       struct sn_loop_kind *kind)
{
	const struct sn_profile *run = is_of_variants ? sn_profile_with_variants(page->profile)
						      : sn_profile_with_instances(page->profile);
	const char *damage = sn_companion_damage(
		page->profile, is_of_variants ? SN_COMPANION_VARIANTS : SN_COMPANION_INSTANCES);

	if (damage) {
		lacks(kind, damage);
	} else if (is_of_variants ? run->experiment->variants.count
				  : run->experiment->instances.count) {
		lacks_of_loop(page, is_of_variants, kind);
	} else {
		lacks(kind,
		      is_of_variants ? "no variants of loops were run" : "no loops were counted");
		analyze_command(page, is_of_variants ? 3 : 2, &kind->command);
	}
}

static void lacks_experiments(const struct sn_loop_page *page, struct sn_loop_kind *kind)
{
	lacks(kind, "what the program would gain if it were faster was not tried");
	sn_text_add(&kind->command, "sonde causal --from ");
	sn_text_add_shell_word(&kind->command, page->experiment);
	sn_text_add(&kind->command, " --target ");
	sn_text_add_shell_word(&kind->command, page->loop->code->label);
	sn_text_add(&kind->command, " -- PROGRAM ARGS");
}

static void lacks_accesses(const struct sn_loop_page *page, bool has_others,
			   struct sn_loop_kind *kind)
{
	const char *damage = sn_companion_damage(page->profile, SN_COMPANION_ACCESSES);
	const char *why = page->structure
				  ? sn_loop_recorder_refusal(page->structure, page->loop->code)
				  : NULL;

	if (damage) {
		lacks(kind, damage);
	} else if (why) {
		lacks(kind, "its accesses cannot be recorded: ");
		sn_text_add(&kind->text, why);
	} else if (has_others) {
		lacks(kind, "none of its accesses was recorded: others were chosen, or a loop "
			    "around it or in it");
		sn_text_add(&kind->command, "sonde structure -l rewritable BINARY");
	} else {
		lacks(kind, "which accesses miss which cache was not recorded");
		analyze_command(page, 3, &kind->command);
	}
}

/* The campaign's runs are read for one loop only. */
static void lacks_campaign(const struct sn_loop_page *page, const struct sn_loop_campaign *campaign,
			   bool is_of_scaling, struct sn_loop_kind *kind)
{
	if (campaign->path && is_of_scaling) {
		lacks(kind, "the campaign has it with one number of workers only");
		sn_text_add(&kind->command, "sonde scale --threads 1,2,4 -- PROGRAM ARGS");
	} else if (campaign->path && campaign->comparison &&
		   campaign->set == campaign->comparison->reference) {
		lacks(kind, "this run is of the reference, which others are compared with");
		sn_text_add(&kind->command, "sonde diff ");
		sn_text_add_shell_word(&kind->command, campaign->path);
	} else if (campaign->path) {
		lacks(kind, "the campaign has no reference that it was met in");
	} else if (page->profile->experiment->campaign) {
		lacks(kind, "the other runs of its campaign are not around it, or cannot be read");
	} else if (is_of_scaling) {
		lacks(kind, "one run alone tells nothing of scaling");
		sn_text_add(&kind->command, "sonde scale --threads 1,2,4 -- PROGRAM ARGS");
	} else {
		lacks(kind, "one run alone has no change");
		sn_text_add(&kind->command, "sonde diff BEFORE ");
		sn_text_add_shell_word(&kind->command, page->experiment);
	}
}

/* ---- what is there ---- */

static void add_figure(struct sn_text *text, const char *name, const struct sn_variant_figure *f)
{
	if (!isnan(f->cycles))
		sn_text_addf(text, "%s%s %.2f", text->length ? ", " : "", name, f->cycles);
}

static void variants_words(const struct sn_variants *v, struct sn_text *text)
{
	for (int i = 0; i < SN_VARIANTS; i++)
		add_figure(text, sn_loop_variant_names[i], &v->figures[i]);
	if (text->length)
		sn_text_addf(text, " cycles an iteration; class %s%s%s",
			     sn_loop_class_name(v->class), v->level ? ", from " : "",
			     v->level ? v->level : "");
	else
		sn_text_addf(text, "none was timed: %s",
			     v->figures[SN_VARIANT_ORIG].reason ? v->figures[SN_VARIANT_ORIG].reason
								: "no instance was long enough");
}

static void instances_words(const struct sn_instances *it, struct sn_text *text)
{
	sn_text_addf(text, "%llu instances", (unsigned long long)it->instances);
	if (sn_instances_have_iterations(&it->all))
		sn_text_addf(text, " of %llu iterations (median; %llu to %llu)",
			     (unsigned long long)it->all.iterations_median,
			     (unsigned long long)it->all.iterations_min,
			     (unsigned long long)it->all.iterations_max);
	if (it->all.is_too_short)
		sn_text_add(text, "; too short to be timed");
	else if (it->all.kept_count)
		sn_text_addf(text, "; %.2f cycles an iteration", it->all.cycles_median);
	if (!isnan(it->all.stability))
		sn_text_addf(text, ", stability %.3f", it->all.stability);
}

/* Nearest first, as in tables. */
static void callers_words(const struct sn_profile *counted, const struct sn_instance_path *path,
			  struct sn_text *text)
{
	enum { SHOWN = 5 };
	size_t count = path->function_count - 1; /* the last is the loop's own */

	for (size_t i = 0; i < count && i < SHOWN; i++)
		sn_text_addf(
			text, "%s%s", i ? " < " : "",
			counted->program->functions.items[path->functions[count - 1 - i]].name);
	if (count > SHOWN)
		sn_text_add(text, " < ...");
}

/* Who comes to the loop: those that do so most often. */
static void paths_words(const struct sn_instance_paths *paths, const struct sn_instances *of,
			struct sn_text *text)
{
	enum { SHOWN = 4 };
	unsigned shown = 0;

	for (size_t i = 0; i < paths->count && shown < SHOWN; i++) {
		const struct sn_instance_path *path = &paths->items[i];

		if (path->loop != of->loop || !path->functions || path->function_count < 2)
			continue;
		sn_text_addf(text, "%s%.1f %% of them from ", shown++ ? ", " : "; ",
			     100 * sn_share(path->instances, of->instances));
		callers_words(paths->counted, path, text);
	}
}

static void static_words(const struct sn_cqa_loop *q, struct sn_text *text)
{
	sn_text_addf(text, "%.2f cycles a pass with data in L1, %.2f with data in RAM; bound by %s",
		     q->level_cycles[SN_LEVEL_L1], q->level_cycles[SN_LEVEL_RAM],
		     sn_bound_names[q->bottleneck]);
}

static void sampled_words(const struct sn_loop_page *page, struct sn_text *text)
{
	const struct sn_weight *own = &page->metrics->exclusive;

	sn_text_addf(text, "%.1f %% of CPU time, %llu samples",
		     100 * sn_share(own->cpu_ns, page->profile->total.cpu_ns),
		     (unsigned long long)own->samples);
}

static void tell_kinds(const struct sn_loop_page *page, const struct sn_loop_runs *runs,
		       const struct sn_cqa_loop *quality, struct sn_loop_told *told)
{
	const struct sn_loop_known *known = &told->known;

	for (unsigned k = 0; k < SN_LOOP_KINDS; k++)
		told->kinds[k].name = kind_names[k];
	if (known->quality)
		static_words(known->quality, &told->kinds[SN_LOOP_STATIC].text);
	else
		lacks_static(page, quality, &told->kinds[SN_LOOP_STATIC]);
	sampled_words(page, &told->kinds[SN_LOOP_SAMPLED].text);
	if (known->instances) {
		instances_words(known->instances, &told->kinds[SN_LOOP_INSTANCES].text);
		paths_words(&runs->paths, known->instances, &told->kinds[SN_LOOP_INSTANCES].text);
	} else {
		lacks_runs(page, false, &told->kinds[SN_LOOP_INSTANCES]);
	}
	if (known->variants)
		variants_words(known->variants, &told->kinds[SN_LOOP_VARIANTS].text);
	else
		lacks_runs(page, true, &told->kinds[SN_LOOP_VARIANTS]);
	if (told->causal)
		sn_causal_sentence(runs->causal, &runs->answers, told->causal,
				   &told->kinds[SN_LOOP_CAUSAL].text);
	else
		lacks_experiments(page, &told->kinds[SN_LOOP_CAUSAL]);
	if (sn_loop_memory_of(&runs->replay, page->number, &told->memory))
		sn_loop_memory_add(&told->memory, &told->kinds[SN_LOOP_MEMORY].text);
	else
		lacks_accesses(page, runs->replay.replay, &told->kinds[SN_LOOP_MEMORY]);
	if (!sn_loop_scaling_add(&runs->campaign, told->course, &told->kinds[SN_LOOP_SCALING].text))
		lacks_campaign(page, &runs->campaign, true, &told->kinds[SN_LOOP_SCALING]);
	if (!sn_loop_change_add(&runs->campaign, told->course, &told->kinds[SN_LOOP_CHANGE].text))
		lacks_campaign(page, &runs->campaign, false, &told->kinds[SN_LOOP_CHANGE]);
}

/* ---- of one loop ---- */

void sn_loop_runs_find(const struct sn_view_input *input, struct sn_loop_runs *out)
{
	const struct sn_profile *profile = input->profile;

	*out = (struct sn_loop_runs){ 0 };
	sn_instances_find(profile, &out->instances);
	sn_instance_paths_find(profile, &out->paths);
	sn_variants_find(profile, input->structures, &out->variants);
	sn_loop_replay_new(input, &out->replay);
	sn_loop_campaign_open(profile->experiment, &out->campaign);
	if (sn_causal_log_exists(profile->experiment->path) &&
	    sn_causal_log_open(profile->experiment->path, &out->causal, NULL) == SN_OK)
		sn_causal_answers_find(out->causal, &out->answers);
}

void sn_loop_runs_free(struct sn_loop_runs *runs)
{
	if (runs->causal)
		sn_causal_answers_free(&runs->answers);
	sn_causal_log_free(runs->causal);
	sn_loop_replay_free(&runs->replay);
	sn_loop_campaign_close(&runs->campaign);
	sn_variants_free(&runs->variants);
	sn_instance_paths_free(&runs->paths);
	sn_instances_free(&runs->instances);
}

/* Of the loop alone, else with what it calls. */
static const struct sn_causal_answer *answer_of(const struct sn_loop_runs *runs, const char *id)
{
	const struct sn_causal_answer *found = NULL;

	for (size_t i = 0; runs->causal && i < runs->answers.rows.count; i++) {
		const struct sn_causal_answer *answer = &runs->answers.rows.items[i];
		const struct sn_causal_candidate *code =
			&runs->causal->candidates.items[answer->candidate];

		if (!strcmp(code->id, id) && (!found || !strcmp(code->kind, "loop")))
			found = answer;
	}
	return found;
}

void sn_loop_tell(const struct sn_loop_page *page, const struct sn_loop_runs *runs,
		  const struct sn_cqa_loop *quality, const sn_advice_list *advice,
		  struct sn_loop_told *out)
{
	const struct sn_weight *own = &page->metrics->exclusive;
	bool has_figures = quality && !quality->not_analysed;

	memset(out, 0, sizeof(*out));
	out->known = (struct sn_loop_known){
		.quality = has_figures ? quality : NULL,
		.advice = has_figures ? advice : NULL,
		.exclusive_share =
			sn_share(own->cpu_ns - own->system_ns, page->profile->total.cpu_ns),
		.inclusive_share =
			sn_share(page->metrics->inclusive.cpu_ns, page->profile->total.cpu_ns),
	};
	for (size_t i = 0; i < runs->instances.count; i++)
		if (runs->instances.items[i].loop == page->number)
			out->known.instances = &runs->instances.items[i];
	for (size_t i = 0; i < runs->variants.count; i++)
		if (runs->variants.items[i].loop == page->number &&
		    runs->variants.items[i].exponent < 0) {
			out->variants = runs->variants.items[i];
			sn_variants_set_level(
				has_figures && page->loop->code->is_innermost ? quality : NULL,
				&out->variants);
			out->known.variants = &out->variants;
		}
	sn_loop_evidence_judge(&out->known, &out->judged);
	out->causal = answer_of(runs, page->loop->code->id);
	out->course = sn_loop_campaign_find(&runs->campaign, page->program, page->number);
	tell_kinds(page, runs, quality, out);
}

void sn_loop_told_free(struct sn_loop_told *told)
{
	for (unsigned k = 0; k < SN_LOOP_KINDS; k++) {
		sn_text_free(&told->kinds[k].text);
		sn_text_free(&told->kinds[k].command);
	}
	sn_loop_evidence_free(&told->judged);
}

/* A loop alone, with all that is asked for its sake. */
struct gathered {
	struct sn_cqa_loop quality;
	sn_advice_list advice;
	bool has_quality;
	struct sn_loop_runs runs;
	struct sn_loop_told told;
};

static void gather(const struct sn_loop_page *page, struct gathered *g)
{
	const struct sn_machine *machine = page->input->machine->machine;
	struct sn_error err;

	memset(g, 0, sizeof(*g));
	g->has_quality =
		machine && sn_whatif_quality(machine, page->profile, page->input->structures,
					     page->number, &g->quality, &err) == SN_OK;
	if (g->has_quality)
		sn_whatif_advise(machine, page->profile, page->number, &g->quality, &g->advice);
	sn_loop_runs_find(page->input, &g->runs);
	sn_loop_tell(page, &g->runs, g->has_quality ? &g->quality : NULL, &g->advice, &g->told);
}

static void gathered_free(struct gathered *g)
{
	sn_loop_told_free(&g->told);
	sn_loop_runs_free(&g->runs);
	sn_vec_free(&g->advice);
	if (g->has_quality)
		sn_cqa_loop_free(&g->quality);
}

/* ---- text ---- */

static void put_folded(FILE *out, const char *first, const char *text)
{
	struct sn_text_spans none = { 0 };
	const struct sn_text_page page = { .out = out, .width = 100, .spans = &none };
	struct sn_text line = { 0 };

	sn_page_put_wrapped(&page, &line, first, text);
	sn_text_free(&line);
}

static void put_kind(const struct sn_loop_kind *kind, FILE *out)
{
	struct sn_text text = { 0 };
	char head[16];

	sn_text_addf(&text, "%s%s%s%s", kind->is_missing ? "- " : "", kind->text.chars,
		     kind->command.length ? ": " : "",
		     kind->command.length ? kind->command.chars : "");
	snprintf(head, sizeof(head), "  %-10s ", kind->name);
	put_folded(out, head, text.chars);
	sn_text_free(&text);
}

static void put_advice(const struct sn_loop_advice *advice, FILE *out)
{
	char range[SN_SPEEDUP_TEXT];

	if (isnan(advice->speedup)) {
		fprintf(out, "  %s, %s: gain not known\n", advice->subject, advice->grade);
	} else {
		fprintf(out, "  %s, %s: the program %s", advice->subject, advice->grade,
			sn_speedup_print(advice->program_range.low, advice->program_range.high,
					 range));
		fprintf(out, ", this loop %s\n",
			sn_speedup_print(advice->range.low, advice->range.high, range));
	}
	put_folded(out, "      ", advice->sentence);
	if (advice->for_it)
		put_folded(out, "      for: ", advice->for_it);
	if (advice->against)
		put_folded(out, "      against: ", advice->against);
}

static void put_judged(const struct sn_loop_evidence *judged, FILE *out)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "%s (confidence: %s).", judged->verdict,
		     sn_evidence_trust_name(judged->trust));
	fputc('\n', out);
	put_folded(out, "verdict: ", text.chars);
	if (judged->disagreement) {
		sn_text_clear(&text);
		sn_text_addf(&text, "%s.", judged->disagreement);
		put_folded(out, "         ", text.chars);
	}
	sn_text_free(&text);
}

static void put_evidence(const struct sn_loop_page *page, FILE *out)
{
	const struct sn_loop_evidence *judged;
	struct gathered g;

	gather(page, &g);
	judged = &g.told.judged;
	put_judged(judged, out);
	fputs("evidence:\n", out);
	for (unsigned k = 0; k < SN_LOOP_KINDS; k++)
		put_kind(&g.told.kinds[k], out);
	fputs(judged->advice.count
		      ? "advice, what the program gains for sure first:\n"
		      : "advice: none, nothing in the code or in the measurements stands "
			"out\n",
	      out);
	for (size_t i = 0; i < judged->advice.count; i++)
		put_advice(&judged->advice.items[i], out);
	gathered_free(&g);
}

/* ---- JSON ---- */

static void write_static(const struct sn_loop_page *page, const struct sn_cqa_loop *quality,
			 struct sn_json *json)
{
	sn_json_member_string(json, "arch", page->input->machine->machine->name);
	sn_json_member_double(json, "cycles", quality->level_cycles[SN_LEVEL_L1]);
	sn_json_member_double(json, "ram_cycles", quality->level_cycles[SN_LEVEL_RAM]);
	sn_json_member_string(json, "bottleneck", sn_bound_names[quality->bottleneck]);
}

static void write_sampled(const struct sn_loop_page *page, struct sn_json *json)
{
	const struct sn_metrics *m = page->metrics;

	sn_json_member_double(json, "exclusive_cpu_s", (double)m->exclusive.cpu_ns / 1e9);
	sn_json_member_double(json, "exclusive_share",
			      sn_share(m->exclusive.cpu_ns, page->profile->total.cpu_ns));
	sn_json_member_double(json, "inclusive_share",
			      sn_share(m->inclusive.cpu_ns, page->profile->total.cpu_ns));
	sn_json_member_uint(json, "samples", m->exclusive.samples);
}

static void write_instances(const struct sn_instances *it, struct sn_json *json)
{
	sn_json_member_uint(json, "instances", it->instances);
	if (it->has_iterations)
		sn_json_member_uint(json, "iterations", it->iterations);
	else
		sn_json_member_null(json, "iterations");
	sn_json_member_uint(json, "timed_instances", it->all.timed);
	if (sn_instances_have_iterations(&it->all))
		sn_json_member_uint(json, "iterations_median", it->all.iterations_median);
	else
		sn_json_member_null(json, "iterations_median");
	sn_json_member_double(json, "cycles_median", it->all.cycles_median);
	sn_json_member_double(json, "stability", it->all.stability);
}

static void write_variants(const struct sn_variants *v, struct sn_json *json)
{
	sn_json_member_string(json, "class", sn_loop_class_name(v->class));
	sn_json_member_string(json, "level", v->level);
	for (int i = 0; i < SN_VARIANTS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_cycles", sn_loop_variant_names[i]);
		sn_json_member_double(json, key, v->figures[i].cycles);
	}
}

static void write_causal(const struct sn_loop_told *told, struct sn_json *json)
{
	sn_json_member_string(json, "verdict", sn_causal_verdict_names[told->causal->verdict]);
	sn_json_member_double(json, "slope", told->causal->slope);
	sn_json_member_double(json, "slope_low", told->causal->slope_low);
	sn_json_member_double(json, "slope_high", told->causal->slope_high);
	sn_json_member_string(json, "sentence", told->kinds[SN_LOOP_CAUSAL].text.chars);
}

static void write_kinds(const struct sn_loop_page *page, const struct sn_loop_runs *runs,
			const struct sn_loop_told *told, struct sn_json *json)
{
	for (unsigned k = 0; k < SN_LOOP_KINDS; k++) {
		if (told->kinds[k].is_missing) {
			sn_json_member_null(json, told->kinds[k].name);
			continue;
		}
		sn_json_key(json, told->kinds[k].name);
		sn_json_object(json);
		if (k == SN_LOOP_STATIC)
			write_static(page, told->known.quality, json);
		else if (k == SN_LOOP_SAMPLED)
			write_sampled(page, json);
		else if (k == SN_LOOP_INSTANCES && told->known.instances)
			write_instances(told->known.instances, json);
		else if (k == SN_LOOP_CAUSAL && told->causal)
			write_causal(told, json);
		else if (k == SN_LOOP_MEMORY)
			sn_loop_memory_write(&told->memory, json);
		else if (k == SN_LOOP_SCALING)
			sn_loop_scaling_write(&runs->campaign, told->course, json);
		else if (k == SN_LOOP_CHANGE)
			sn_loop_change_write(&runs->campaign, told->course, json);
		else if (told->known.variants)
			write_variants(told->known.variants, json);
		sn_json_close(json);
	}
}

static void write_missing(const struct sn_loop_told *told, struct sn_json *json)
{
	for (unsigned k = 0; k < SN_LOOP_KINDS; k++) {
		const struct sn_loop_kind *kind = &told->kinds[k];

		if (!kind->is_missing)
			continue;
		sn_json_key(json, kind->name);
		sn_json_object(json);
		sn_json_member_string(json, "reason", kind->text.chars);
		sn_json_member_string(json, "command", kind->command.chars);
		sn_json_close(json);
	}
}

static void write_advice(const struct sn_loop_advice *advice, struct sn_json *json)
{
	sn_json_object(json);
	sn_json_member_string(json, "grade", advice->grade);
	sn_json_member_string(json, "subject", advice->subject);
	sn_json_member_string(json, "sentence", advice->sentence);
	sn_json_member_double(json, "speedup", advice->speedup);
	sn_json_member_double(json, "speedup_low", advice->range.low);
	sn_json_member_double(json, "speedup_high", advice->range.high);
	sn_json_member_double(json, "program_speedup", advice->program_speedup);
	sn_json_member_double(json, "program_speedup_low", advice->program_range.low);
	sn_json_member_double(json, "program_speedup_high", advice->program_range.high);
	sn_json_member_string(json, "for", advice->for_it);
	sn_json_member_string(json, "against", advice->against);
	sn_json_close(json);
}

static void write_evidence(const struct sn_loop_page *page, struct sn_json *json)
{
	const struct sn_loop_evidence *judged;
	struct gathered g;

	gather(page, &g);
	judged = &g.told.judged;
	sn_json_member_string(json, "verdict", judged->kind);
	sn_json_member_string(json, "sentence", judged->verdict);
	sn_json_member_string(json, "confidence", sn_evidence_trust_name(judged->trust));
	sn_json_member_string(json, "disagreement", judged->disagreement);
	sn_json_key(json, "evidence");
	sn_json_object(json);
	write_kinds(page, &g.runs, &g.told, json);
	sn_json_close(json);
	sn_json_key(json, "missing");
	sn_json_object(json);
	write_missing(&g.told, json);
	sn_json_close(json);
	sn_json_key(json, "advice");
	sn_json_array(json);
	for (size_t i = 0; i < judged->advice.count; i++)
		write_advice(&judged->advice.items[i], json);
	sn_json_close(json);
	gathered_free(&g);
}

const struct sn_loop_part sn_loop_evidence_part = { .put = put_evidence, .write = write_evidence };
