/*
 * What-if as a table, a page of text and JSON, the view of it, and the one hint that the summary
 * repeats.
 */
#include "views/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cqa/words/table.h"
#include "cqa/words/view.h"
#include "machine/bandwidth.h"
#include "machine/errors.h"
#include "views/empty.h"
#include "views/view.h"

static const char *const variant_titles[SN_VARIANT_COUNT] = { "clean (FP work only)",
							      "FP arithmetic as vectors",
							      "full vectors", "without dependences",
							      "without the first bottleneck" };

/* ---- the table: columns of its own, then all of `sonde cqa` ---- */

enum {
	W_RANK,
	W_MARK,
	W_SHARE,
	W_LOW,
	W_HIGH,
	W_USER,
	W_INTERVAL,
	W_SAMPLES,
	W_MODULE,
	W_RELIABLE,
	W_DOUBTS,
	W_PROGRAM,				   /* by variant */
	W_ORDER = W_PROGRAM + SN_VARIANT_COUNT,	   /* by variant */
	W_CUMULATIVE = W_ORDER + SN_VARIANT_COUNT, /* by variant */
	W_COUNT = W_CUMULATIVE + SN_VARIANT_COUNT
};

#define BY_VARIANT(suffix, title, kind, decimals)                                                  \
	{ "clean_" suffix, title, kind, decimals },                                                \
		{ "fp_vector_" suffix, title, kind, decimals },                                    \
		{ "full_vector_" suffix, title, kind, decimals },                                  \
		{ "no_dependence_" suffix, title, kind, decimals },                                \
	{                                                                                          \
		"next_bottleneck_" suffix, title, kind, decimals                                   \
	}

static const struct sn_column own_columns[W_COUNT] = {
	{ "rank", "#", SN_CELL_INT, 0 },
	{ "mark", "", SN_CELL_TEXT, 0 },
	{ "coverage_share", "time", SN_CELL_SHARE, 0 },
	{ "coverage_share_low", NULL, SN_CELL_SHARE, 0 },
	{ "coverage_share_high", NULL, SN_CELL_SHARE, 0 },
	{ "user_share", NULL, SN_CELL_SHARE, 0 },
	{ "interval", "95 % interval", SN_CELL_TEXT, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "reliable", NULL, SN_CELL_BOOL, 0 },
	{ "doubts", "doubts", SN_CELL_TEXT, 0 },
	BY_VARIANT("program_speedup", "program", SN_CELL_REAL, 3),
	BY_VARIANT("rank", NULL, SN_CELL_INT, 0),
	BY_VARIANT("cumulative_speedup", "all so far", SN_CELL_REAL, 3),
};

static struct sn_column *all_columns;

static void make_columns(void)
{
	if (all_columns)
		return;
	all_columns = sn_alloc_zeroed(W_COUNT + sn_cqa_column_count, sizeof(*all_columns));
	memcpy(all_columns, own_columns, sizeof(own_columns));
	memcpy(all_columns + W_COUNT, sn_cqa_columns,
	       sn_cqa_column_count * sizeof(*sn_cqa_columns));
}

static size_t column_of(const char *key)
{
	for (size_t i = 0; i < sn_cqa_column_count; i++)
		if (strcmp(sn_cqa_columns[i].key, key) == 0)
			return W_COUNT + i;
	return W_COUNT;
}

/* Identity is known where the code is not at hand, too. */
static void set_identity(struct sn_table *table, const struct sn_program *program, uint32_t number)
{
	const struct sn_program_loop *loop = &program->loops.items[number];

	sn_table_set_text(table, column_of("loop"), loop->code->id);
	sn_table_set_text(table, column_of("label"), loop->code->label);
	sn_table_set_text(table, column_of("function"),
			  program->functions.items[loop->function].name);
	sn_table_set_text(table, column_of("file"), loop->code->file);
	sn_table_set_text(table, column_of("role"), sn_loop_role_name(loop->code->role));
	sn_table_set_text(table, W_MODULE, sn_program_module_name(program, loop->module));
}

static void set_coverage(struct sn_table *table, const struct sn_whatif_loop *loop, bool is_utf8)
{
	char text[SN_DOUBTS_TEXT];

	sn_table_set_text(table, W_MARK, sn_quality_mark(sn_quality_of(loop->samples), is_utf8));
	sn_table_set_real(table, W_SHARE, loop->share);
	sn_table_set_real(table, W_LOW, loop->share_low);
	sn_table_set_real(table, W_HIGH, loop->share_high);
	sn_table_set_real(table, W_USER, loop->user_share);
	snprintf(text, sizeof(text), "%.1f-%.1f %%", 100 * loop->share_low, 100 * loop->share_high);
	sn_table_set_text(table, W_INTERVAL, text);
	sn_table_set_int(table, W_SAMPLES, (int64_t)loop->samples);
	sn_table_set_int(table, W_RELIABLE, !loop->doubts);
	if (loop->doubts)
		sn_table_set_text(table, W_DOUBTS, sn_doubts_print(loop->doubts, text));
}

/* By loop and variant: its step, counted from 1. */
static uint32_t *steps_of(const struct sn_whatif *w)
{
	uint32_t *steps = sn_alloc_zeroed(w->loops.count * SN_VARIANT_COUNT + 1, sizeof(*steps));

	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		for (uint32_t i = 0; i < w->variants[v].steps.count; i++)
			steps[w->variants[v].steps.items[i].index * SN_VARIANT_COUNT + v] = i + 1;
	return steps;
}

static void add_row(const struct sn_whatif *w, size_t index, const uint32_t *steps, bool is_utf8,
		    const char *columns, struct sn_table *table)
{
	struct sn_whatif_loop *loop = &w->loops.items[index];

	sn_table_add_row(table);
	sn_table_set_int(table, W_RANK, (int64_t)loop->rank);
	set_coverage(table, loop, is_utf8);
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++) {
		uint32_t step = steps[index * SN_VARIANT_COUNT + v];

		if (!loop->quality.not_analysed && loop->quality.variants[v].is_applicable)
			sn_table_set_real(table, W_PROGRAM + v, loop->program_speedup[v]);
		if (!step)
			continue;
		sn_table_set_int(table, W_ORDER + v, step);
		sn_table_set_real(table, W_CUMULATIVE + v,
				  w->variants[v].steps.items[step - 1].cumulative);
	}
	sn_cqa_row_set(table, W_COUNT, w->machine, &loop->quality, NULL, &loop->advice, columns);
	set_identity(table, w->profile->program, loop->loop);
}

void sn_whatif_table(const struct sn_whatif *w, enum sn_variant variant, bool is_utf8,
		     const char *columns, struct sn_table *out)
{
	uint32_t *steps = steps_of(w);
	bool by_gain = variant < SN_VARIANT_COUNT;

	make_columns();
	sn_table_init(out, all_columns, W_COUNT + sn_cqa_column_count);
	for (size_t i = 0; by_gain && i < w->variants[variant].steps.count; i++)
		add_row(w, w->variants[variant].steps.items[i].index, steps, is_utf8, columns, out);
	for (size_t i = 0; i < w->loops.count; i++)
		if (!by_gain || !steps[i * SN_VARIANT_COUNT + variant])
			add_row(w, i, steps, is_utf8, columns, out);
	free(steps);
}

void sn_whatif_columns(enum sn_variant variant, enum sn_format format, struct sn_text *out)
{
	const char *name = sn_variant_names[variant];

	if (format == SN_FORMAT_TEXT) {
		sn_text_addf(out,
			     "rank,mark,coverage_share,interval,l1_cycles,bottleneck,%s_speedup,"
			     "%s_program_speedup,%s_cumulative_speedup,label,function,doubts",
			     name, name, name);
		return;
	}
	for (unsigned i = 0; i < W_COUNT; i++)
		if (i != W_MARK && i != W_INTERVAL)
			sn_text_addf(out, "%s%s", out->length ? "," : "", own_columns[i].key);
	sn_text_addf(out, ",%s", sn_cqa_default_columns);
}

/* The keys that the words of --cols ask for: keys, groups of `sonde cqa`, "all" (of both). */
static void expand_columns(const char *asked, struct sn_text *out)
{
	struct sn_text with_own = { 0 };

	for (const char *at = asked; *at;) {
		size_t length = strcspn(at, ",");

		for (unsigned i = 0; length == 3 && memcmp(at, "all", 3) == 0 && i < W_COUNT; i++)
			if (i != W_MARK && i != W_INTERVAL)
				sn_text_addf(&with_own, "%s,", own_columns[i].key);
		sn_text_add_bytes(&with_own, at, length);
		at += length + (at[length] == ',');
		if (*at)
			sn_text_add_char(&with_own, ',');
	}
	sn_cqa_columns_expand(with_own.chars ? with_own.chars : "", out);
	sn_text_free(&with_own);
}

sn_status sn_whatif_variant_find(const struct sn_whatif *w, const char *name, enum sn_variant *out,
				 struct sn_error *err)
{
	if (!name) {
		bool has_fp = w->variants[SN_VARIANT_FULL_VECTOR].speedup - 1 >
			      0.1 * (w->variants[SN_VARIANT_NEXT].speedup - 1);

		*out = has_fp ? SN_VARIANT_FULL_VECTOR : SN_VARIANT_NEXT;
		return SN_OK;
	}
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		if (strcmp(name, sn_variant_names[v]) == 0) {
			*out = v;
			return SN_OK;
		}
	return sn_error_set(err, SN_ERR_USAGE,
			    "there is no variant '%s': clean, fp_vector, full_vector, "
			    "no_dependence or next_bottleneck; measured ones are ls, fp, arith, "
			    "dl1 and pf",
			    name);
}

/* ---- the page of text ---- */

static double after(const struct sn_whatif_variant *v, size_t loops)
{
	if (loops > v->steps.count)
		return NAN;
	return v->steps.items[loops - 1].cumulative;
}

#define SHARE_NOTICED 0.0005

static void print_not_estimated(const struct sn_whatif_variant *v, FILE *out)
{
	if (v->not_estimated_share >= SHARE_NOTICED)
		fprintf(out, "; %.1f %% not estimated", 100 * v->not_estimated_share);
	fputs("\n", out);
}

static void print_variant(const struct sn_whatif_variant *v, const char *title, FILE *out)
{
	static const size_t marks[] = { 1, 2, 5, 10 };
	char range[SN_SPEEDUP_TEXT];

	fprintf(out, " %-28s", title);
	if (isnan(v->speedup)) {
		fprintf(out, " unknown  %.1f %% of CPU time is in loops without an estimate\n",
			100 * v->not_estimated_share);
		return;
	}
	if (!v->steps.count) {
		fprintf(out, "  1.00x   no loop %swould gain",
			v->not_estimated_share >= SHARE_NOTICED ? "with an estimate " : "");
		print_not_estimated(v, out);
		return;
	}
	fprintf(out, " %15s  %6.2fx  %6.2fx  %6.2fx ",
		sn_speedup_print(v->speedup_low, v->speedup_high, range), v->ram_speedup,
		v->speedup, v->reliable_speedup);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (isnan(after(v, marks[i])))
			fputs("     -", out);
		else
			fprintf(out, " %5.2f", after(v, marks[i]));
	fprintf(out, "  %zu of %zu", v->loops_for_80_percent, v->steps.count);
	print_not_estimated(v, out);
}

const char *const sn_whatif_headings[] = { "program 95 %",   "in RAM",	"in L1", "no doubt",
					   "after the best", "80 % by", NULL };

static void print_totals(const struct sn_whatif *w, FILE *out)
{
	static const int columns[] = { 16, 8, 9, 10, 16, 12 };
	struct sn_text levels = { 0 };

	fprintf(out, "%-29s", "If every loop were");
	for (size_t i = 0; sn_whatif_headings[i]; i++)
		fprintf(out, "%*s", columns[i], sn_whatif_headings[i]);
	fprintf(out,
		"\n"
		"%-29s                                             1     2     5    10   loops\n",
		"");
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		print_variant(&w->variants[v], variant_titles[v], out);
	fprintf(out,
		" Static model of %s. Where the data come from is not known: the interval goes "
		"from all\n"
		" in RAM to all in L1, with the model's own error (a factor of %.2f); what "
		"follows\n"
		" it ('no doubt' ...) is for L1.\n"
		" Loops with figures hold %.1f %% of CPU time, %.1f %% without a doubt",
		w->machine->title, sn_machine_ratio_error(w->machine->name),
		100 * w->analysed_share, 100 * w->reliable_share);
	if (w->variants[SN_VARIANT_CLEAN].not_estimated_share >= SHARE_NOTICED)
		fputs(";\n clean and vector code is estimated of loops with FP arithmetic only",
		      out);
	sn_memory_profile_describe(w->machine->name, &levels);
	if (w->left_out)
		fprintf(out, "; %zu more were not looked at", w->left_out);
	if (!isnan(w->flow_complexity))
		fprintf(out, ";\n %.2f paths a loop", w->flow_complexity);
	if (!isnan(w->array_efficiency))
		fprintf(out, ", %.0f %% of accesses at a regular stride",
			100 * w->array_efficiency);
	fprintf(out, ".\n Memory levels: %s.\n", levels.chars);
	sn_text_free(&levels);
}

/* ---- JSON ---- */

static void write_steps(const struct sn_whatif *w, const struct sn_whatif_variant *v,
			struct sn_json *json)
{
	sn_json_key(json, "cumulative");
	sn_json_array(json);
	for (size_t i = 0; i < v->steps.count; i++) {
		const struct sn_whatif_step *step = &v->steps.items[i];
		uint32_t loop = w->loops.items[step->index].loop;

		sn_json_object(json);
		sn_json_member_string(json, "loop",
				      w->profile->program->loops.items[loop].code->id);
		sn_json_member_double(json, "saved_share", step->saved);
		sn_json_member_double(json, "cumulative_speedup", step->cumulative);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_variant(const struct sn_whatif *w, unsigned number, bool has_steps,
			  struct sn_json *json)
{
	const struct sn_whatif_variant *v = &w->variants[number];

	sn_json_object(json);
	sn_json_member_string(json, "variant", sn_variant_names[number]);
	sn_json_member_double(json, "estimated_share", v->estimated_share);
	sn_json_member_double(json, "not_estimated_share", v->not_estimated_share);
	sn_json_member_double(json, "speedup", v->speedup);
	sn_json_member_double(json, "speedup_low", v->speedup_low);
	sn_json_member_double(json, "speedup_high", v->speedup_high);
	sn_json_member_double(json, "reliable_speedup", v->reliable_speedup);
	sn_json_member_double(json, "ram_speedup", v->ram_speedup);
	sn_json_member_uint(json, "loops", v->steps.count);
	sn_json_member_uint(json, "loops_for_80_percent", v->loops_for_80_percent);
	if (has_steps)
		write_steps(w, v, json);
	sn_json_close(json);
}

void sn_whatif_totals_table(const struct sn_whatif *w, struct sn_table *out)
{
	static const struct sn_column columns[] = {
		{ "variant", "variant", SN_CELL_TEXT, 0 },
		{ "estimated_share", "estimated", SN_CELL_SHARE, 0 },
		{ "not_estimated_share", "not estimated", SN_CELL_SHARE, 0 },
		{ "speedup", "speedup", SN_CELL_REAL, 3 },
		{ "speedup_low", "low", SN_CELL_REAL, 3 },
		{ "speedup_high", "high", SN_CELL_REAL, 3 },
		{ "reliable_speedup", "no doubt", SN_CELL_REAL, 3 },
		{ "ram_speedup", "in RAM", SN_CELL_REAL, 3 },
		{ "loops", "loops", SN_CELL_INT, 0 },
		{ "loops_for_80_percent", "for 80 %", SN_CELL_INT, 0 },
	};

	sn_table_init(out, columns, sizeof(columns) / sizeof(*columns));
	for (unsigned i = 0; i < SN_VARIANT_COUNT; i++) {
		const struct sn_whatif_variant *v = &w->variants[i];
		const double reals[] = { v->estimated_share, v->not_estimated_share,
					 v->speedup,	     v->speedup_low,
					 v->speedup_high,    v->reliable_speedup,
					 v->ram_speedup };

		sn_table_add_row(out);
		sn_table_set_text(out, 0, sn_variant_names[i]);
		for (size_t k = 0; k < sizeof(reals) / sizeof(*reals); k++)
			sn_table_set_real(out, k + 1, reals[k]);
		sn_table_set_int(out, 8, (int64_t)v->steps.count);
		sn_table_set_int(out, 9, (int64_t)v->loops_for_80_percent);
	}
}

static void write_figures(const struct sn_whatif *w, bool has_steps, struct sn_json *json)
{
	sn_json_member_string(json, "arch", w->machine->name);
	sn_json_member_string(json, "arch_title", w->machine->title);
	sn_cqa_json_memory_profile(w->machine, json);
	sn_json_member_double(json, "analysed_share", w->analysed_share);
	sn_json_member_double(json, "reliable_share", w->reliable_share);
	sn_json_member_uint(json, "left_out_loops", w->left_out);
	sn_json_member_double(json, "flow_complexity", w->flow_complexity);
	sn_json_member_double(json, "array_access_efficiency_share", w->array_efficiency);
	sn_json_key(json, "variants");
	sn_json_array(json);
	for (unsigned i = 0; i < SN_VARIANT_COUNT; i++)
		write_variant(w, i, has_steps, json);
	sn_json_close(json);
}

void sn_whatif_write_totals(const struct sn_whatif *w, struct sn_json *json)
{
	write_figures(w, false, json);
}

void sn_whatif_write_json(const struct sn_whatif *w, struct sn_json *json)
{
	write_figures(w, true, json);
}

/* ---- sonde show whatif ---- */

static void write_members(struct sn_json *json, void *context)
{
	const struct sn_whatif *w = context;

	sn_json_member_double(json, "sampled_cpu_s", (double)w->profile->total.cpu_ns / 1e9);
	sn_whatif_write_json(w, json);
}

/* Keys of this view and groups of `sonde cqa`. */
static void take_columns(struct sn_table_view *how, enum sn_variant variant,
			 struct sn_text *columns)
{
	if (how->columns)
		expand_columns(how->columns, columns);
	else
		sn_whatif_columns(variant, how->format, columns);
	how->columns = columns->chars;
}

sn_status sn_whatif_show(const struct sn_whatif *w, enum sn_variant variant, bool is_utf8,
			 struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	struct sn_text columns = { 0 }, looked_at = { 0 };
	struct sn_table table;
	sn_status status;

	take_columns(how, variant, &columns);
	sn_text_addf(&looked_at, "%s %s %s", how->columns, how->filter ? how->filter : "",
		     how->sort ? how->sort : "");
	sn_whatif_table(w, variant, is_utf8, looked_at.chars, &table);
	if (how->format == SN_FORMAT_TEXT) {
		print_totals(w, out);
		fprintf(out, "\nLoops, most to gain by %s first:\n", sn_variant_names[variant]);
	}
	status = sn_table_write(&table, how, out, write_members, (void *)w, err);
	if (status == SN_OK && table.row_count && !sn_table_rows_shown(&table, how)) {
		struct sn_text reason = { 0 };

		sn_view_add_why_filtered(&table, how, &reason);
		sn_warn("%s", reason.chars);
		sn_text_free(&reason);
	}
	sn_table_free(&table);
	how->columns = NULL;
	sn_text_free(&columns);
	sn_text_free(&looked_at);
	return status;
}

/* The same reasons as those of 'show loops'. */
static sn_status tell_no_loops(const struct sn_view_input *input, struct sn_error *err)
{
	const struct sn_table_view all = { 0 };
	const struct sn_table none = { 0 };
	const struct sn_view *loops = sn_view_find("loops");
	struct sn_text reason = { 0 };
	sn_status status;

	sn_view_why_empty(loops, input, &none, &all, &reason);
	status = sn_view_tell_empty(loops, input, reason.chars, err);
	sn_text_free(&reason);
	return status;
}

static sn_status whatif_show(const struct sn_view_input *input, struct sn_table_view *how,
			     FILE *out, struct sn_error *err)
{
	const struct sn_machine_choice *choice = input->machine;
	struct sn_whatif *w;
	enum sn_decan_variant measured;
	enum sn_variant variant;
	sn_status status;

	if (sn_whatif_measured_find(input->subject, &measured))
		return sn_whatif_measured_show(input, measured, how, out, err);
	if (!choice->machine)
		return sn_error_set(err, choice->absence.status, "%s", choice->absence.sentence);
	w = sn_whatif_new(choice->machine, input->profile, input->structures, SN_WHATIF_LOOPS_MAX);
	status = sn_whatif_variant_find(w, input->subject, &variant, err);
	if (status == SN_OK)
		status = sn_whatif_show(w, variant, input->is_utf8, how, out, err);
	if (status == SN_OK && !w->loops.count)
		status = tell_no_loops(input, err);
	sn_whatif_free(w);
	return status;
}

#define MEASURED_WORDS(V)                                                                          \
	{ V "_rank", "count",                                                                      \
	  "Of a loop in 'show whatif " V "': its place by what the program would gain, from 1.",   \
	  V "_saved_share" },                                                                      \
		{ V "_saved_share", "share",                                                       \
		  "CPU time of the run that this loop would save as " V                            \
		  ", as measured; below 0: it would lose.",                                        \
		  V "_speedup coverage_share" },                                                   \
		{ V "_cumulative_speedup", "ratio",                                                \
		  "The speed-up of the program with this loop and all loops that bring more, as "  \
		  "measured.",                                                                     \
		  V "_saved_share counted_with" },                                                 \
		{ V "_cumulative_speedup_low", "ratio", "Lower end of its 95 % interval.",         \
		  V "_cumulative_speedup" },                                                       \
	{                                                                                          \
		V "_cumulative_speedup_high", "ratio", "Upper end of its 95 % interval.",          \
			V "_cumulative_speedup"                                                    \
	}

static const struct sn_explanation whatif_words[] = {
	MEASURED_WORDS("ls"),
	MEASURED_WORDS("fp"),
	MEASURED_WORDS("arith"),
	MEASURED_WORDS("dl1"),
	MEASURED_WORDS("pf"),
	{ "counted_with", "text",
	  "Of a loop in 'show whatif dl1' and the like: the loop around it, or in it, that stands for "
	  "both, as it saves more of the same time.",
	  "dl1_cumulative_speedup" },
	{ "measured_share", "share",
	  "CPU time in loops in which the variant was timed: what a measured curve rests on.",
	  "coverage_share" },
	{ "coverage_share", "share",
	  "Of a loop in 'show whatif': its exclusive CPU time, of all CPU time: the exclusive share "
	  "of 'show loops'. In 'show variants' that of loops in it counts, too, but not what they call.",
	  "exclusive_share user_share" },
	{ "user_share", "share",
	  "Of a loop in 'show whatif': the coverage without the kernel's part (page faults, system "
	  "calls). It is what better code could save: speed-ups of the program begin with it.",
	  "coverage_share full_vector_program_speedup" },
	{ "full_vector_program_speedup", "ratio",
	  "How many times as fast the whole program would be if this loop alone were fully "
	  "vectorized, by Amdahl's law; the same for clean_, fp_vector_, no_dependence_ and "
	  "next_bottleneck_. The static model's word, for data in L1: docs/method/whatif.md.",
	  "user_share full_vector_cumulative_speedup" },
	{ "full_vector_cumulative_speedup", "ratio",
	  "The speed-up of the program with this loop and all loops that bring more; the same for "
	  "the other variants.",
	  "full_vector_program_speedup" },
	{ "coverage_share_low", "share", "Lower end of the 95 % interval of the coverage.",
	  "coverage_share interval" },
	{ "coverage_share_high", "share", "Upper end of the 95 % interval of the coverage.",
	  "coverage_share interval" },
	{ "full_vector_rank", "count",
	  "Of a loop in 'show whatif': its place by what the program would gain from this variant, "
	  "from 1; the same for the other variants.",
	  "full_vector_program_speedup" },
	{ "reliable", "text", "Whether nothing is said against a loop's what-if figures.",
	  "doubts" },
	{ "doubts", "text",
	  "Why a loop's what-if figures are weak: few samples, not analysed, paths as one, holds "
	  "loops, calls, estimated forms, undecoded bytes, short trips. Empty: none, and "
	  "'reliable' is true.",
	  "samples" },
	{ 0 },
};

/* The static model's columns (cqa/words/table.h) follow its own. */
const struct sn_view sn_view_whatif = {
	.name = "whatif",
	.title = "what the program would gain if its loops were cleaned or vectorized",
	.subject = "[VARIANT]",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.has_idle = true,
	.schema = SN_WHATIF_SCHEMA,
	.columns = own_columns,
	.column_count = W_COUNT,
	.words = whatif_words,
	.share_column = "coverage_share",
	.show = whatif_show,
};
