/* All evidence on one loop side by side: what each kind says, what follows, what is missing and how to get it. */
#include "whatif/evidence.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profile/companions.h"
#include "views/loop_parts.h"
#include "views/summary/text_page.h"
#include "whatif/whatif.h"

/* What is known of the page's loop, and what owns it. */
struct gathered {
	struct sn_cqa_loop quality;
	sn_advice_list advice;
	bool has_quality;
	struct sn_instances_list instances;
	struct sn_variants_list variants;
	struct sn_loop_known known;
	struct sn_loop_evidence judged;
};

static void gather_static(const struct sn_loop_page *page, struct gathered *g)
{
	const struct sn_machine *machine = page->input->machine->machine;
	const struct sn_weight *own = &page->metrics->exclusive;
	struct sn_error err;

	g->known.exclusive_share =
		sn_share(own->cpu_ns - own->system_ns, page->profile->total.cpu_ns);
	g->known.inclusive_share =
		sn_share(page->metrics->inclusive.cpu_ns, page->profile->total.cpu_ns);
	if (!machine || sn_whatif_quality(machine, page->profile, page->input->structures,
					  page->number, &g->quality, &err) != SN_OK)
		return;
	g->has_quality = true;
	sn_whatif_advise(machine, page->profile, page->number, &g->quality, &g->advice);
	if (!g->quality.not_analysed) {
		g->known.quality = &g->quality;
		g->known.advice = &g->advice;
	}
}

static void gather(const struct sn_loop_page *page, struct gathered *g)
{
	memset(g, 0, sizeof(*g));
	gather_static(page, g);
	sn_instances_find(page->profile, &g->instances);
	for (size_t i = 0; i < g->instances.count; i++)
		if (g->instances.items[i].loop == page->number)
			g->known.instances = &g->instances.items[i];
	sn_variants_find(page->profile, page->input->structures, &g->variants);
	for (size_t i = 0; i < g->variants.count; i++)
		if (g->variants.items[i].loop == page->number && g->variants.items[i].exponent < 0)
			g->known.variants = &g->variants.items[i];
	sn_loop_evidence_judge(&g->known, &g->judged);
}

static void gathered_free(struct gathered *g)
{
	sn_loop_evidence_free(&g->judged);
	sn_variants_free(&g->variants);
	sn_instances_free(&g->instances);
	sn_vec_free(&g->advice);
	if (g->has_quality)
		sn_cqa_loop_free(&g->quality);
}

/* ---- what is missing ---- */

enum kind { STATIC, SAMPLED, INSTANCES, VARIANTS, MEMORY, SCALING, CHANGE, KINDS };
static const char *const kind_names[KINDS] = { "static", "sampled", "instances", "variants",
					       "memory", "scaling", "change" };

struct missing {
	const char *reason;
	struct sn_text command; /* empty: nothing helps */
	struct sn_text text;	/* of a reason that is made; else empty */
};

static void missing_free(struct missing *missing)
{
	sn_text_free(&missing->command);
	sn_text_free(&missing->text);
}

static void analyze_command(const struct sn_loop_page *page, int level, struct missing *out)
{
	sn_text_addf(&out->command, "sonde analyze --level %d --from ", level);
	sn_text_add_shell_word(&out->command, sn_experiment_given_path(page->profile->experiment));
	sn_text_add(&out->command, " -- PROGRAM ARGS");
}

static void missing_static(const struct sn_loop_page *page, const struct gathered *g,
			   struct missing *out)
{
	if (!page->input->machine->machine) {
		out->reason = "there is no model of this processor";
		sn_text_add(&out->command, "sonde show loop LOOP --arch NAME");
	} else {
		out->reason = g->quality.not_analysed ? g->quality.not_analysed
						      : "its machine code is not at hand";
	}
}

/* There was such a run, but this loop has nothing from it. */
static void missing_of_loop(const struct sn_loop_page *page, bool is_of_variants,
			    struct missing *out)
{
	const char *why = is_of_variants && page->structure
				  ? sn_variants_refusal(page->structure, page->loop->code)
				  : NULL;

	if (why) {
		sn_text_addf(&out->text, "it can have none: %s", why);
		out->reason = out->text.chars;
		return;
	}
	out->reason = is_of_variants
			      ? "it had none: others were chosen, or a loop around it or in it"
			      : "it was not among the loops that were counted, or cannot be";
	sn_text_add(&out->command, "sonde structure -l rewritable BINARY");
}

static void missing_runs(const struct sn_loop_page *page, bool is_of_variants, struct missing *out)
{
	const struct sn_profile *run = is_of_variants ? sn_profile_with_variants(page->profile)
						      : sn_profile_with_instances(page->profile);
	const char *damage = sn_companion_damage(
		page->profile, is_of_variants ? SN_COMPANION_VARIANTS : SN_COMPANION_INSTANCES);

	if (damage) {
		out->reason = damage;
	} else if (is_of_variants ? run->experiment->variants.count
				  : run->experiment->instances.count) {
		missing_of_loop(page, is_of_variants, out);
	} else {
		out->reason =
			is_of_variants ? "no variants of loops were run" : "no loops were counted";
		analyze_command(page, is_of_variants ? 3 : 2, out);
	}
}

/* False: it is not missing. */
static bool is_missing(const struct sn_loop_page *page, const struct gathered *g, enum kind kind,
		       struct missing *out)
{
	*out = (struct missing){ 0 };
	switch (kind) {
	case STATIC:
		if (!g->known.quality)
			missing_static(page, g, out);
		break;
	case SAMPLED:
		break;
	case INSTANCES:
		if (!g->known.instances)
			missing_runs(page, false, out);
		break;
	case VARIANTS:
		if (!g->known.variants)
			missing_runs(page, true, out);
		break;
	case MEMORY:
		out->reason = "which accesses miss which cache is not measured";
		break;
	case SCALING:
		out->reason = "one run alone tells nothing of scaling";
		sn_text_add(&out->command, page->profile->experiment->campaign
						   ? "sonde show scalability CAMPAIGN"
						   : "sonde scale --threads 1,2,4 -- PROGRAM ARGS");
		break;
	default:
		out->reason = "one run alone has no change";
		sn_text_add(&out->command, "sonde diff BEFORE ");
		sn_text_add_shell_word(&out->command,
				       sn_experiment_given_path(page->profile->experiment));
	}
	return out->reason != NULL;
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
		sn_text_addf(text, " cycles an iteration; class %s", sn_loop_class_name(v->class));
	else
		sn_text_addf(text, "none was timed: %s",
			     v->figures[SN_VARIANT_ORIG].reason ? v->figures[SN_VARIANT_ORIG].reason
								: "no instance was long enough");
}

static void instances_words(const struct sn_instances *it, struct sn_text *text)
{
	sn_text_addf(text, "%llu instances", (unsigned long long)it->instances);
	if (!it->all.kept_count)
		return;
	sn_text_addf(
		text,
		" of %llu iterations (median; %llu to %llu); %.2f cycles an iteration, stability "
		"%.3f",
		(unsigned long long)it->all.iterations_median,
		(unsigned long long)it->all.iterations_min,
		(unsigned long long)it->all.iterations_max, it->all.cycles_median,
		it->all.stability);
}

static void kind_words(const struct sn_loop_page *page, const struct gathered *g, enum kind kind,
		       struct sn_text *text)
{
	const struct sn_cqa_loop *q = g->known.quality;

	if (kind == STATIC)
		sn_text_addf(
			text,
			"%.2f cycles a pass with data in L1, %.2f with data in RAM; bound by %s",
			q->level_cycles[SN_LEVEL_L1], q->level_cycles[SN_LEVEL_RAM],
			sn_bound_names[q->bottleneck]);
	else if (kind == SAMPLED)
		sn_text_addf(text, "%.1f %% of CPU time, %llu samples",
			     100 * sn_share(page->metrics->exclusive.cpu_ns,
					    page->profile->total.cpu_ns),
			     (unsigned long long)page->metrics->exclusive.samples);
	else if (kind == INSTANCES)
		instances_words(g->known.instances, text);
	else if (kind == VARIANTS)
		variants_words(g->known.variants, text);
}

static void put_kinds(const struct sn_loop_page *page, const struct gathered *g, FILE *out)
{
	for (int k = 0; k < KINDS; k++) {
		struct sn_text text = { 0 };
		struct missing missing;
		char head[16];

		if (is_missing(page, g, (enum kind)k, &missing)) {
			sn_text_addf(&text, "- %s", missing.reason);
			if (missing.command.length)
				sn_text_addf(&text, ": %s", missing.command.chars);
		} else {
			kind_words(page, g, (enum kind)k, &text);
		}
		snprintf(head, sizeof(head), "  %-10s ", kind_names[k]);
		put_folded(out, head, text.chars);
		missing_free(&missing);
		sn_text_free(&text);
	}
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

static void put_evidence(const struct sn_loop_page *page, FILE *out)
{
	struct gathered g;
	struct sn_text text = { 0 };

	gather(page, &g);
	sn_text_addf(&text, "%s (confidence: %s).", g.judged.verdict,
		     sn_evidence_trust_name(g.judged.trust));
	fputc('\n', out);
	put_folded(out, "verdict: ", text.chars);
	if (g.judged.disagreement) {
		sn_text_clear(&text);
		sn_text_addf(&text, "%s.", g.judged.disagreement);
		put_folded(out, "         ", text.chars);
	}
	fputs("evidence:\n", out);
	put_kinds(page, &g, out);
	fputs(g.judged.advice.count
		      ? "advice, what the program gains for sure first:\n"
		      : "advice: none, nothing in the code or in the measurements stands "
			"out\n",
	      out);
	for (size_t i = 0; i < g.judged.advice.count; i++)
		put_advice(&g.judged.advice.items[i], out);
	sn_text_free(&text);
	gathered_free(&g);
}

/* ---- JSON ---- */

static void write_static(const struct sn_loop_page *page, const struct gathered *g,
			 struct sn_json *json)
{
	sn_json_member_string(json, "arch", page->input->machine->machine->name);
	sn_json_member_double(json, "cycles", g->known.quality->level_cycles[SN_LEVEL_L1]);
	sn_json_member_double(json, "ram_cycles", g->known.quality->level_cycles[SN_LEVEL_RAM]);
	sn_json_member_string(json, "bottleneck", sn_bound_names[g->known.quality->bottleneck]);
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
	if (it->all.kept_count)
		sn_json_member_uint(json, "iterations_median", it->all.iterations_median);
	else
		sn_json_member_null(json, "iterations_median");
	sn_json_member_double(json, "cycles_median", it->all.cycles_median);
	sn_json_member_double(json, "stability", it->all.stability);
}

static void write_variants(const struct sn_variants *v, struct sn_json *json)
{
	sn_json_member_string(json, "class", sn_loop_class_name(v->class));
	for (int i = 0; i < SN_VARIANTS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_cycles", sn_loop_variant_names[i]);
		sn_json_member_double(json, key, v->figures[i].cycles);
	}
}

static void write_kinds(const struct sn_loop_page *page, const struct gathered *g,
			struct sn_json *json)
{
	for (int k = 0; k < KINDS; k++) {
		struct missing missing;

		if (is_missing(page, g, (enum kind)k, &missing)) {
			sn_json_member_null(json, kind_names[k]);
			missing_free(&missing);
			continue;
		}
		sn_json_key(json, kind_names[k]);
		sn_json_object(json);
		if (k == STATIC)
			write_static(page, g, json);
		else if (k == SAMPLED)
			write_sampled(page, json);
		else if (k == INSTANCES)
			write_instances(g->known.instances, json);
		else
			write_variants(g->known.variants, json);
		sn_json_close(json);
	}
}

static void write_missing(const struct sn_loop_page *page, const struct gathered *g,
			  struct sn_json *json)
{
	for (int k = 0; k < KINDS; k++) {
		struct missing missing;

		if (!is_missing(page, g, (enum kind)k, &missing))
			continue;
		sn_json_key(json, kind_names[k]);
		sn_json_object(json);
		sn_json_member_string(json, "reason", missing.reason);
		sn_json_member_string(json, "command", missing.command.chars);
		sn_json_close(json);
		missing_free(&missing);
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
	struct gathered g;

	gather(page, &g);
	sn_json_member_string(json, "verdict", g.judged.kind);
	sn_json_member_string(json, "sentence", g.judged.verdict);
	sn_json_member_string(json, "confidence", sn_evidence_trust_name(g.judged.trust));
	sn_json_member_string(json, "disagreement", g.judged.disagreement);
	sn_json_key(json, "evidence");
	sn_json_object(json);
	write_kinds(page, &g, json);
	sn_json_close(json);
	sn_json_key(json, "missing");
	sn_json_object(json);
	write_missing(page, &g, json);
	sn_json_close(json);
	sn_json_key(json, "advice");
	sn_json_array(json);
	for (size_t i = 0; i < g.judged.advice.count; i++)
		write_advice(&g.judged.advice.items[i], json);
	sn_json_close(json);
	gathered_free(&g);
}

const struct sn_loop_part sn_loop_evidence_part = { .put = put_evidence, .write = write_evidence };
