/* The view of variants: what loops take with data in cache, without arithmetic, without memory. */
#include "whatif/variants.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "profile/companions.h"
#include "views/loop_parts.h"
#include "views/parts.h"

/* Columns of each variant, one after the other, by enum sn_decan_variant. */
#define FIGURES(V)                                                                                 \
	{ V "_cycles", V " cycles", SN_CELL_REAL, 2 }, { V "_stability", NULL, SN_CELL_REAL, 3 },  \
		{ V "_low", NULL, SN_CELL_REAL, 2 }, { V "_high", NULL, SN_CELL_REAL, 2 },         \
		{ V "_samples", NULL, SN_CELL_INT, 0 }, { V "_safety", NULL, SN_CELL_TEXT, 0 },    \
	{                                                                                          \
		V "_state", NULL, SN_CELL_TEXT, 0                                                  \
	}
#define GAINS(V)                                                                                   \
	{ V "_speedup", V " speedup", SN_CELL_REAL, 2 },                                           \
		{ V "_speedup_low", NULL, SN_CELL_REAL, 2 },                                       \
		{ V "_speedup_high", NULL, SN_CELL_REAL, 2 },                                      \
		{ V "_program_speedup", NULL, SN_CELL_REAL, 3 },                                   \
		{ V "_program_speedup_low", NULL, SN_CELL_REAL, 3 },                               \
	{                                                                                          \
		V "_program_speedup_high", NULL, SN_CELL_REAL, 3                                   \
	}

enum {
	V_LOOP,
	V_LABEL,
	V_FUNCTION,
	V_MODULE,
	V_FILE,
	V_LINE_FIRST,
	V_LINE_LAST,
	V_COVERAGE,
	V_BUCKET,
	V_CLASS,
	V_LEVEL,
	V_LATENCY,
	V_INSTANCES,
	V_ITERATIONS,
	V_REFERENCE,
	V_BIAS,
	V_FIGURES,
	FIGURE_COLUMNS = 7,
	V_GAINS = V_FIGURES + SN_VARIANTS * FIGURE_COLUMNS,
	GAIN_COLUMNS = 6,
	V_RATIOS = V_GAINS + 5 * GAIN_COLUMNS,
};

static const enum sn_decan_variant gained[] = { SN_VARIANT_LS, SN_VARIANT_FP, SN_VARIANT_ARITH,
						SN_VARIANT_DL1, SN_VARIANT_PF };

static const struct sn_column variants_columns[] = {
	{ "loop", "id", SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "coverage_share", "share", SN_CELL_SHARE, 0 },
	{ "bucket", "iterations", SN_CELL_TEXT, 0 },
	{ "class", "class", SN_CELL_TEXT, 0 },
	{ "level", "level", SN_CELL_TEXT, 0 },
	{ "latency_bound", NULL, SN_CELL_BOOL, 0 },
	{ "instances", "instances", SN_CELL_INT, 0 },
	{ "iterations", NULL, SN_CELL_INT, 0 },
	{ "ref_cycles", NULL, SN_CELL_REAL, 2 },
	{ "copy_bias", NULL, SN_CELL_REAL, 3 },
	FIGURES("orig"),
	FIGURES("ls"),
	FIGURES("fp"),
	FIGURES("arith"),
	FIGURES("dl1"),
	FIGURES("fes"),
	FIGURES("pf"),
	GAINS("ls"),
	GAINS("fp"),
	GAINS("arith"),
	GAINS("dl1"),
	GAINS("pf"),
	{ "orig_per_dl1", NULL, SN_CELL_REAL, 2 },
	{ "fp_per_ls", "fp per ls", SN_CELL_REAL, 2 },
	{ "saturation", NULL, SN_CELL_REAL, 2 },
	{ "dl1_per_cqa", NULL, SN_CELL_REAL, 2 },
	{ "fp_per_cqa", NULL, SN_CELL_REAL, 2 },
	{ "frequency_impact", NULL, SN_CELL_REAL, 2 },
	{ "pf_lines", NULL, SN_CELL_INT, 0 },
	{ "called_share", NULL, SN_CELL_SHARE, 0 },
};

_Static_assert(sizeof(variants_columns) / sizeof(*variants_columns) == V_RATIOS + 8,
	       "the columns are those that are filled");

static void set_real(struct sn_table *table, size_t column, double value)
{
	if (!isnan(value))
		sn_table_set_real(table, column, value);
}

static void set_figure(struct sn_table *table, enum sn_decan_variant v,
		       const struct sn_variant_figure *figure)
{
	size_t at = V_FIGURES + (size_t)v * FIGURE_COLUMNS;

	set_real(table, at, figure->cycles);
	set_real(table, at + 1, figure->stability);
	set_real(table, at + 2, figure->low);
	set_real(table, at + 3, figure->high);
	sn_table_set_int(table, at + 4, (int64_t)figure->samples);
	sn_table_set_text(table, at + 5, sn_variant_safety(v));
	sn_table_set_text(table, at + 6, sn_variant_state_name(figure));
}

static void set_gain(struct sn_table *table, size_t at, const struct sn_variant_figure *figure)
{
	set_real(table, at, figure->speedup);
	set_real(table, at + 1, figure->speedup_range.low);
	set_real(table, at + 2, figure->speedup_range.high);
	set_real(table, at + 3, figure->program_speedup);
	set_real(table, at + 4, figure->program_range.low);
	set_real(table, at + 5, figure->program_range.high);
}

static void set_bucket(struct sn_table *table, int exponent)
{
	struct sn_text text = { 0 };

	if (exponent < 0)
		sn_text_add(&text, "all");
	else
		sn_text_addf(&text, "%llu-%llu", 1ULL << exponent, (2ULL << exponent) - 1);
	sn_table_set_text(table, V_BUCKET, text.chars);
	sn_text_free(&text);
}

static const struct sn_loop_columns *loop_columns(void)
{
	static struct sn_loop_columns found;
	static bool is_found;

	if (!is_found)
		found = sn_loop_columns_find(variants_columns,
					     sizeof(variants_columns) / sizeof(*variants_columns));
	is_found = true;
	return &found;
}

/* Of what takes longer, memory or arithmetic, the part of the loop's time. */
static void set_ratios(struct sn_table *table, const struct sn_variants *row)
{
	double orig = row->figures[SN_VARIANT_ORIG].cycles, ls = row->figures[SN_VARIANT_LS].cycles;
	double work = isnan(row->figures[SN_VARIANT_FP].cycles)
			      ? row->figures[SN_VARIANT_ARITH].cycles
			      : row->figures[SN_VARIANT_FP].cycles;

	set_real(table, V_RATIOS, orig / row->figures[SN_VARIANT_DL1].cycles);
	set_real(table, V_RATIOS + 1, work / ls);
	if (!isnan(work) && !isnan(ls))
		set_real(table, V_RATIOS + 2, fmax(work, ls) / orig);
	set_real(table, V_RATIOS + 3, row->dl1_per_cqa);
	set_real(table, V_RATIOS + 4, row->fp_per_cqa);
	set_real(table, V_RATIOS + 5, row->frequency_impact);
	if (row->pf_lines)
		sn_table_set_int(table, V_RATIOS + 6, row->pf_lines);
	set_real(table, V_RATIOS + 7, row->called_share);
}

/* `exponent` is what it is shown as; -1: as the whole loop. */
static void variants_row(const struct sn_profile *profile, struct sn_table *table,
			 const struct sn_variants *row, int exponent)
{
	const struct sn_program_loop *loop = &profile->program->loops.items[row->loop];

	sn_table_add_row(table);
	sn_loop_columns_set(loop_columns(), table, loop->code);
	/* the function that it was written in, as in the view of loops */
	sn_table_set_text(table, V_FUNCTION,
			  profile->program->functions.items[loop->function].name);
	sn_table_set_text(table, V_MODULE, sn_program_module_name(profile->program, loop->module));
	sn_table_set_real(table, V_COVERAGE, row->coverage);
	set_bucket(table, exponent);
	sn_table_set_text(table, V_CLASS, sn_loop_class_name(row->class));
	sn_table_set_text(table, V_LEVEL, row->level);
	if (row->has_latency)
		sn_table_set_int(table, V_LATENCY, row->is_latency_bound);
	if (exponent < 0 || row->exponent < 0) {
		sn_table_set_int(table, V_INSTANCES, (int64_t)row->instances);
		sn_table_set_int(table, V_ITERATIONS, (int64_t)row->iterations);
	}
	set_real(table, V_REFERENCE, row->ref_cycles);
	set_real(table, V_BIAS, row->copy_bias);
	for (int v = 0; v < SN_VARIANTS; v++)
		set_figure(table, (enum sn_decan_variant)v, &row->figures[v]);
	for (size_t g = 0; g < sizeof(gained) / sizeof(*gained); g++)
		set_gain(table, V_GAINS + g * GAIN_COLUMNS, &row->figures[gained[g]]);
	set_ratios(table, row);
}

static const struct sn_machine *machine_of(const struct sn_view_input *input)
{
	return input->machine ? input->machine->machine : NULL;
}

enum by { BY_BOTH, BY_LOOP, BY_BUCKET };

static sn_status by_parse(const char *word, enum by *out, struct sn_error *err)
{
	*out = !word ? BY_BOTH : !strcmp(word, "loop") ? BY_LOOP : BY_BUCKET;
	if (word && *out == BY_BUCKET && strcmp(word, "bucket") != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'show variants' has rows --by loop or bucket, not by '%s'",
				    word);
	return SN_OK;
}

static void row_by(const struct sn_profile *profile, struct sn_table *table, enum by by,
		   const struct sn_variants *row)
{
	int exponent = by == BY_BUCKET && row->exponent < 0 ? row->only_exponent : row->exponent;

	if (by == BY_BOTH || (by == BY_BUCKET) == (exponent >= 0))
		variants_row(profile, table, row, exponent);
}

static sn_status variants_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	struct sn_variants_list list;
	enum by by;

	if (by_parse(input->by, &by, err) != SN_OK)
		return SN_ERR_USAGE;
	sn_variants_find(input->profile, input->structures, &list);
	sn_variants_compare(machine_of(input), input->profile, input->structures, &list);
	for (size_t i = 0; i < list.count; i++)
		row_by(input->profile, table, by, &list.items[i]);
	sn_variants_free(&list);
	return SN_OK;
}

/* A share that a reader of the figures should know of. */
#define CALLED_NOTED 0.01

static void put_note(const char *label, const struct sn_variants *row, FILE *out)
{
	if (row->withheld)
		fprintf(out, "%s: %s\n", label, row->withheld);
	if (row->called_share >= CALLED_NOTED && row->figures[SN_VARIANT_ORIG].samples)
		fprintf(out,
			"%s: %.0f %% of the instances that were chosen called a function, and are in "
			"no figure\n",
			label, 100 * row->called_share);
}

/* Loops whose gains are withheld, and why; and those whose figures are of some of their instances. */
static void put_withheld(const struct sn_view_input *input, FILE *out)
{
	struct sn_variants_list list;

	sn_variants_find(input->profile, input->structures, &list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].exponent < 0)
			put_note(input->profile->program->loops.items[list.items[i].loop]
					 .code->label,
				 &list.items[i], out);
	sn_variants_free(&list);
}

static void why_no_variants(const struct sn_view_input *input, struct sn_text *out)
{
	if (sn_companion_damage(input->profile, SN_COMPANION_VARIANTS))
		sn_text_add(out, sn_companion_damage(input->profile, SN_COMPANION_VARIANTS));
	else if (!sn_profile_with_variants(input->profile)->experiment->variants.count)
		sn_text_add(out, "no variants of loops ran in this run: sonde decan runs them");
	else
		sn_text_add(out, "none of the loops that had variants is known to this analysis");
}

#define FIGURE_WORDS(V, IT)                                                                              \
	{ V "_cycles", "cycles",                                                                         \
	  "Cycles an iteration of " IT                                                                   \
	  ", of the time-stamp counter: the median of what was timed, "                                  \
	  "by bucket.",                                                                                  \
	  V "_state" },                                                                                  \
		{ V "_stability", "ratio",                                                               \
		  "(median - least) / least of the timings of " IT ": below 0.05 they agree.",           \
		  V "_cycles" },                                                                         \
		{ V "_low", "cycles", "Lower end of the 95 % interval of that median.",                  \
		  V "_cycles" },                                                                         \
		{ V "_high", "cycles", "Upper end of the 95 % interval of that median.",                 \
		  V "_cycles" },                                                                         \
		{ V "_samples", "count", "Instances in which it was timed: " IT ".",                     \
		  V "_cycles" },                                                                         \
		{ V "_safety", "text",                                                                   \
		  "What it writes: none; silent (what it has just read); same (it is the loop's "        \
		  "own execution).",                                                                     \
		  V "_state" },                                                                          \
	{                                                                                                \
		V "_state", "text",                                                                      \
			"measured; weak (few timings, or instances below 500 cycles); warm (it ran "     \
			"behind other variants on the same instances, as there were few: what it "       \
			"read was in the caches, so it may be faster than it would be); else why there " \
			"is no figure, or no gain, of " IT ".",                                          \
			V "_samples"                                                                     \
	}
#define GAIN_WORDS(V, IF)                                                                          \
	{ V "_speedup", "ratio", "How many times faster the loop would be " IF ".", V "_cycles" }, \
		{ V "_speedup_low", "ratio", "Lower end of its 95 % interval.", V "_speedup" },    \
		{ V "_speedup_high", "ratio", "Upper end of its 95 % interval.", V "_speedup" },   \
		{ V "_program_speedup", "ratio",                                                   \
		  "The same of the program, by Amdahl's law and the loop's share of its time.",    \
		  "coverage_share" },                                                              \
		{ V "_program_speedup_low", "ratio", "Lower end of its 95 % interval.",            \
		  V "_program_speedup" },                                                          \
	{                                                                                          \
		V "_program_speedup_high", "ratio", "Upper end of its 95 % interval.",             \
			V "_program_speedup"                                                       \
	}

static const struct sn_explanation variants_words[] = {
	{ "level", "text",
	  "Of loops bound by data: where they are, by what DL1 gains and by what the static model says "
	  "of each level. Not known where two levels fit. In 'show caches' the simulated level "
	  "that the row is of: L1, L2, L3 or TLB.",
	  "class" },
	{ "latency_bound", "true or false",
	  "Of loops bound by data: a load in each iteration waits for the one of the iteration before, as "
	  "where a list is followed. False: bandwidth, or misses that the core overlaps.",
	  "level" },
	{ "ref_cycles", "cycles",
	  "Cycles an iteration of the loop where it ran as it is, by the samples of the run before and "
	  "the iterations of this one. Known to 2/sqrt(samples); from 100 samples on.",
	  "copy_bias" },
	{ "copy_bias", "ratio",
	  "ORIG by ref_cycles: what running as a copy, between variants, changed. The run before must have "
	  "done the same work. Surely outside 0.91 to 1.1, class and gains that "
	  "this could explain are withheld.",
	  "ref_cycles" },
	{ "dl1_per_cqa", "ratio",
	  "DL1, in core cycles (frequency_impact), by what the static model says of data in first-level "
	  "cache.",
	  "dl1_cycles" },
	{ "fp_per_cqa", "ratio",
	  "FP (or ARITH), in core cycles (frequency_impact), by what the static model says of the loop "
	  "without loads and stores; of innermost loops of one path.",
	  "fp_cycles" },
	{ "pf_lines", "count",
	  "So many lines, or iterations of a step beyond a line, PF prefetches ahead: 16, or 4 or 64 where "
	  "that is at least 3 % faster.",
	  "pf_cycles" },
	{ "called_share", "share",
	  "Of the instances in which a variant, ORIG included, was begun: the loop called a function, so that "
	  "they are in no figure.",
	  "orig_samples" },
	{ "frequency_impact", "ratio",
	  "The core's clock by that of the time-stamp counter, while variants of the loop were timed: "
	  "above 1 it ran faster than nominal, below 1 slower. Cycles times it are core cycles. By a "
	  "chain of multiplications before each timed instance.",
	  "orig_cycles" },
	FIGURE_WORDS("orig", "the loop as it is"),
	FIGURE_WORDS("ls", "LS, the loop's loads and stores without its arithmetic"),
	FIGURE_WORDS("fp", "FP, the loop without loads and stores"),
	FIGURE_WORDS("arith", "ARITH, the loop without loads and stores (integer loops)"),
	FIGURE_WORDS("dl1", "DL1, the loop on data in first-level cache"),
	FIGURE_WORDS("fes", "FES, as many instructions that do nothing"),
	FIGURE_WORDS("pf", "PF, the loop with prefetches"),
	GAIN_WORDS("ls", "if its arithmetic were free"),
	GAIN_WORDS("fp", "if its loads and stores were free"),
	GAIN_WORDS("arith", "if its loads and stores were free (integer loops)"),
	GAIN_WORDS("dl1", "if its data were in first-level cache"),
	GAIN_WORDS("pf", "with the prefetches of PF"),
	{ "orig_per_dl1", "ratio", "Cycles of the loop by those of DL1: what blocking could bring.",
	  "dl1_speedup" },
	{ "fp_per_ls", "ratio",
	  "Cycles of FP (or ARITH) by those of LS: above 1 arithmetic takes longer, below 1 memory.",
	  "class" },
	{ "saturation", "ratio",
	  "The longer of LS and FP (or ARITH) by the loop itself: near 1 that one alone explains its "
	  "time.",
	  "class" },
	{ 0 },
};

/* ---- on the page of a loop ---- */

static bool page_rows(const struct sn_loop_page *page, struct sn_table *table)
{
	struct sn_variants_list list;

	sn_table_init(table, variants_columns,
		      sizeof(variants_columns) / sizeof(*variants_columns));
	sn_variants_find(page->profile, page->input->structures, &list);
	sn_variants_compare(machine_of(page->input), page->profile, page->input->structures, &list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].loop == page->number)
			variants_row(page->profile, table, &list.items[i], list.items[i].exponent);
	sn_variants_free(&list);
	return table->row_count != 0;
}

static void put_variants(const struct sn_loop_page *page, FILE *out)
{
	struct sn_table_view how = {
		.columns =
			"bucket,class,level,orig_cycles,ls_cycles,fp_cycles,arith_cycles,dl1_cycles,"
			"fes_cycles,pf_cycles,dl1_speedup,orig_samples",
	};
	struct sn_table table;
	struct sn_error err;

	if (page_rows(page, &table)) {
		fputs("\nvariants, cycles an iteration:\n", out);
		if (sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
			fprintf(out, "%s\n", err.sentence);
	}
	sn_table_free(&table);
}

static void write_variants(const struct sn_loop_page *page, struct sn_json *json)
{
	struct sn_table table;

	sn_json_key(json, "variants");
	sn_json_array(json);
	if (page_rows(page, &table))
		sn_table_write_rows(&table, NULL, json);
	sn_json_close(json);
	sn_table_free(&table);
}

const struct sn_loop_part sn_loop_variants = { .put = put_variants, .write = write_variants };

const struct sn_view sn_view_variants = {
	.name = "variants",
	.takes_by = true,
	.title =
		"what loops take with data in cache, without arithmetic, without memory (sonde decan)",
	.needs = SN_VIEW_NEEDS_VARIANTS,
	.schema = "sonde.variants/1",
	.columns = variants_columns,
	.column_count = sizeof(variants_columns) / sizeof(*variants_columns),
	.words = variants_words,
	.text_columns =
		"coverage_share,class,level,orig_cycles,ls_cycles,fp_cycles,arith_cycles,dl1_cycles,"
		"fes_cycles,pf_cycles,dl1_speedup,bucket,label,function",
	.page_title = "Loop variants",
	.is_in_report = true,
	.fill = variants_fill,
	.why_empty = why_no_variants,
	.put_foot = put_withheld,
};
