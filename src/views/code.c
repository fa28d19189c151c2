/* The views of code: functions, loops, lines, modules, categories. */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "profile/rank.h"
#include "views/empty.h"
#include "views/parts.h"

/* ---- functions ---- */

enum { F_FUNCTION, F_MODULE, F_FILE, F_LINE, F_METRICS, F_SOURCE = F_METRICS + M_COUNT, F_LINKAGE };

static const struct sn_column function_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	METRIC_COLUMNS,
	{ "source", "source", SN_CELL_TEXT, 0 },
	{ "linkage_name", "linkage name", SN_CELL_TEXT, 0 },
};

static void function_row(const struct sn_view_input *input, struct sn_table *table, uint32_t f)
{
	const struct sn_program *program = input->profile->program;
	const struct sn_program_function *function = &program->functions.items[f];

	sn_table_add_row(table);
	sn_table_set_text(table, F_FUNCTION, function->name);
	sn_table_set_text(table, F_MODULE, sn_program_module_name(program, function->module));
	sn_table_set_text(table, F_FILE, function->file);
	sn_view_set_line(table, F_LINE, function->line);
	sn_view_set_metrics(input, table, F_METRICS, &input->profile->functions[f]);
	sn_view_set_source(table, F_SOURCE, function->file, function->line);
	sn_table_set_text(table, F_LINKAGE, function->linkage_name);
}

static sn_status functions_fill(const struct sn_view_input *input, struct sn_table *table,
				struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;

	(void)err;
	for (uint32_t f = 0; f < program->functions.count; f++)
		if (!sn_view_is_empty(input, &input->profile->functions[f].inclusive))
			function_row(input, table, f);
	return SN_OK;
}

static const struct sn_explanation function_words[] = {
	{ "linkage_name", "text", "The name in the object file, before demangling.", "function" },
	{ 0 },
};

const struct sn_view sn_view_functions = {
	.name = "functions",
	.title = "time by function; inlined functions are functions",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.functions/1",
	.columns = function_columns,
	.column_count = sizeof(function_columns) / sizeof(*function_columns),
	.words = function_words,
	.data_columns = "function,module,file,line,exclusive_cpu_s,inclusive_cpu_s,exclusive_share,"
			"inclusive_share,exclusive_share_low,exclusive_share_high,samples",
	.text_columns = "mark,exclusive_share,interval,exclusive_cpu_s,inclusive_share,samples,"
			"function,source,module",
	.wall_columns = "exclusive_wall_share,exclusive_wall_s,inclusive_wall_share,"
			"exclusive_cpu_s,function,source,module",
	.sort = "exclusive_cpu_s",
	.wall_sort = "exclusive_wall_s",
	.has_events = true,
	.share_column = "exclusive_share",
	.is_in_report = true,
	.page_rows = "functions",
	.page_omits = "function,module,file,line,linkage_name",
	.add_row = function_row,
	.fill = functions_fill,
};

/* ---- loops ---- */

enum {
	L_LOOP,
	L_LABEL,
	L_FUNCTION,
	L_MODULE,
	L_FILE,
	L_FIRST,
	L_LAST,
	L_DEPTH,
	L_INNERMOST,
	L_METRICS,
	L_ROLE = L_METRICS + M_COUNT,
	L_IRREDUCIBLE,
	L_RUNTIME,
	L_RANK,
	L_SOURCE_LOOP,
};

static const struct sn_column loop_columns[] = { { "loop", "id", SN_CELL_TEXT, 0 },
						 { "label", "loop", SN_CELL_TEXT, 0 },
						 { "function", "function", SN_CELL_TEXT, 0 },
						 { "module", "module", SN_CELL_TEXT, 0 },
						 { "file", "file", SN_CELL_TEXT, 0 },
						 { "line_first", "first", SN_CELL_INT, 0 },
						 { "line_last", "last", SN_CELL_INT, 0 },
						 { "depth", "depth", SN_CELL_INT, 0 },
						 { "innermost", "inner", SN_CELL_BOOL, 0 },
						 METRIC_COLUMNS,
						 { "role", "role", SN_CELL_TEXT, 0 },
						 { "irreducible", "irreducible", SN_CELL_BOOL, 0 },
						 { "runtime", "runtime", SN_CELL_BOOL, 0 },
						 { "rank", "#", SN_CELL_INT, 0 },
						 { "source_loop", "source loop", SN_CELL_INT, 0 },
						 SN_LOOP_SHAPE(SN_LOOP_COLUMN) };

/* The same for all tables, so they are found once. */
static const struct sn_loop_columns *code_columns(void)
{
	static struct sn_loop_columns found;
	static bool is_found;

	if (!is_found)
		found = sn_loop_columns_find(loop_columns,
					     sizeof(loop_columns) / sizeof(*loop_columns));
	is_found = true;
	return &found;
}

static void loop_row(const struct sn_view_input *input, struct sn_table *table, uint32_t l)
{
	const struct sn_program *program = input->profile->program;
	const struct sn_program_loop *loop = &program->loops.items[l];

	sn_table_add_row(table);
	sn_loop_columns_set(code_columns(), table, loop->code);
	/* the function that it was written in: of an inlined one not the one that holds the code */
	sn_table_set_text(table, L_FUNCTION, program->functions.items[loop->function].name);
	sn_table_set_text(table, L_MODULE, sn_program_module_name(program, loop->module));
	sn_view_set_metrics(input, table, L_METRICS, &input->profile->loops[l]);
	sn_table_set_int(table, L_RUNTIME, input->profile->is_runtime_loop[l]);
	sn_table_set_int(table, L_SOURCE_LOOP, loop->source_loop);
}

static sn_status loops_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	size_t count;
	uint32_t *order = sn_rank_loops(input->profile, input->with_runtime_loops, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		if (sn_view_is_empty(input, &input->profile->loops[order[i]].inclusive))
			continue;
		loop_row(input, table, order[i]);
		sn_table_set_int(table, L_RANK, (int64_t)i + 1);
	}
	free(order);
	return SN_OK;
}

/* CPU time in code that is in no file: there are names of it at best. */
static uint64_t generated_ns(const struct sn_profile *p)
{
	uint64_t ns = 0;

	for (size_t m = 0; m < p->experiment->modules.count; m++)
		if (p->experiment->modules.items[m].kind == SN_MODULE_JIT ||
		    p->experiment->modules.items[m].kind == SN_MODULE_UNKNOWN)
			ns += p->modules[m].exclusive.cpu_ns;
	return ns;
}

static bool has_runtime_loops(const struct sn_profile *p)
{
	for (size_t l = 0; l < p->program->loops.count; l++)
		if (p->is_runtime_loop[l] && p->loops[l].inclusive.cpu_ns)
			return true;
	return false;
}

static void why_no_loops(const struct sn_view_input *input, struct sn_text *out)
{
	const struct sn_profile *p = input->profile;
	uint64_t generated = generated_ns(p);

	if (!p->total.samples)
		return;
	if (!input->with_runtime_loops && has_runtime_loops(p))
		sn_text_add(out, "all loops that were met are those of OpenMP and MPI runtimes: "
				 "--runtime-loops lists them");
	else if (generated * 5 > p->total.cpu_ns)
		sn_text_addf(out,
			     "no loop is known: %.1f %% of CPU time is in code made at run time, "
			     "whose machine code is not kept; loops are found in programs and "
			     "libraries that are files",
			     100 * sn_share(generated, p->total.cpu_ns));
	else
		sn_text_addf(
			out,
			"none of the %llu samples lies in a loop: the time is in code without "
			"loops ('sonde show functions'), or there are too few samples (let the "
			"program work longer, or record with '--clock 10000')",
			(unsigned long long)p->total.samples);
}

static const struct sn_explanation loop_words[] = {
	{ "label", "text",
	  "The loop as people read it: file.c:41-57, or the function's name and an offset "
	  "where no lines are known. In 'show packets': the text that the program gave to "
	  "sonde_sample.",
	  "loop" },
	{ "line_first", "count", "First source line of the loop.", NULL },
	{ "line_last", "count", "Last source line of the loop.", NULL },
	{ "innermost", "text",
	  "Whether no other loop is nested in this one. Innermost loops are what "
	  "compilers vectorise.",
	  NULL },
	{ "irreducible", "text",
	  "Whether the loop can be entered elsewhere than at its header (goto, "
	  "coroutines). Compilers give up on such loops.",
	  NULL },
	{ "runtime", "text",
	  "Whether the loop belongs to an OpenMP or MPI runtime: it waits or hands out "
	  "work. Listed only with --runtime-loops.",
	  "spin" },
	{ "source_loop", "count",
	  "Number of the source loop: equal for its peel, main and tail loops and "
	  "inlined copies.",
	  "role" },
#define KIND_OF_TEXT				    "text"
#define KIND_OF_INT				    "count"
#define WORD(key, title, cell, how, value, meaning) { key, KIND_OF_##cell, meaning, NULL },
	SN_LOOP_SHAPE(WORD)
#undef WORD
		{ 0 },
};

const struct sn_view sn_view_loops = {
	.name = "loops",
	.title = "time by loop, by address of the leaf",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.loops/1",
	.columns = loop_columns,
	.column_count = sizeof(loop_columns) / sizeof(*loop_columns),
	.words = loop_words,
	.data_columns =
		"loop,label,function,module,file,line_first,line_last,depth,innermost,"
		"exclusive_cpu_s,exclusive_share,inclusive_share,samples,exclusive_share_low,"
		"exclusive_share_high,thread_deviation,role,rank",
	.text_columns =
		"rank,mark,exclusive_share,interval,exclusive_cpu_s,inclusive_share,samples,"
		"thread_deviation,depth,innermost,role,label,function",
	.wall_columns = "rank,exclusive_wall_share,exclusive_wall_s,inclusive_wall_share,depth,"
			"innermost,label,function,module",
	.has_events = true,
	.share_column = "exclusive_share",
	.is_in_report = true,
	.page_rows = "loops",
	.page_omits = "loop,label,function,module,file,line_first,line_last,innermost,irreducible,"
		      "runtime,rank",
	.add_row = loop_row,
	.fill = loops_fill,
	.why_empty = why_no_loops,
};

/* ---- lines ---- */

enum { N_FILE, N_LINE, N_FUNCTION, N_MODULE, N_METRICS, N_SOURCE = N_METRICS + M_COUNT };

static const struct sn_column line_columns[] = {
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	METRIC_COLUMNS,
	{ "source", "source", SN_CELL_TEXT, 0 },
};

static sn_status lines_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;

	(void)err;
	for (uint32_t n = 0; n < program->lines.count; n++) {
		const struct sn_program_line *line = &program->lines.items[n];
		const struct sn_program_function *function =
			&program->functions.items[line->function];

		if (sn_view_is_empty(input, &input->profile->lines[n].inclusive))
			continue;
		sn_table_add_row(table);
		sn_table_set_text(table, N_FILE, line->file);
		sn_view_set_line(table, N_LINE, line->line);
		sn_table_set_text(table, N_FUNCTION, function->name);
		sn_table_set_text(table, N_MODULE,
				  sn_program_module_name(program, function->module));
		sn_view_set_metrics(input, table, N_METRICS, &input->profile->lines[n]);
		sn_view_set_source(table, N_SOURCE, line->file, line->line);
	}
	return SN_OK;
}

const struct sn_view sn_view_lines = {
	.name = "lines",
	.title = "time by source line",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.lines/1",
	.columns = line_columns,
	.column_count = sizeof(line_columns) / sizeof(*line_columns),
	.data_columns = "file,line,function,module,exclusive_cpu_s,inclusive_cpu_s,exclusive_share,"
			"inclusive_share,exclusive_share_low,exclusive_share_high,samples",
	.text_columns = "mark,exclusive_share,interval,exclusive_cpu_s,inclusive_share,samples,"
			"source,function,module",
	.wall_columns =
		"exclusive_wall_share,exclusive_wall_s,inclusive_wall_share,source,function,"
		"module",
	.sort = "exclusive_cpu_s",
	.wall_sort = "exclusive_wall_s",
	.has_events = true,
	.share_column = "exclusive_share",
	.is_in_report = true,
	.fill = lines_fill,
};

/* ---- modules ---- */

enum { O_MODULE, O_PATH, O_BUILD_ID, O_CLASS, O_METRICS, O_WARNING = O_METRICS + M_COUNT };

static const struct sn_column module_columns[] = {
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "path", "path", SN_CELL_TEXT, 0 },
	{ "build_id", "build id", SN_CELL_TEXT, 0 },
	{ "class", "class", SN_CELL_TEXT, 0 },
	METRIC_COLUMNS,
	{ "warning", "warning", SN_CELL_TEXT, 0 },
};

static void module_row(const struct sn_view_input *input, struct sn_table *table, uint32_t m)
{
	const struct sn_experiment *e = input->profile->experiment;

	sn_table_add_row(table);
	sn_table_set_text(table, O_MODULE, sn_program_module_name(input->profile->program, m));
	sn_view_set_metrics(input, table, O_METRICS, &input->profile->modules[m]);
	sn_table_set_text(table, O_CLASS,
			  sn_module_class_name(input->profile->program->module_classes[m]));
	if (m == e->modules.count)
		return;
	sn_table_set_text(table, O_PATH, e->modules.items[m].path);
	if (e->modules.items[m].build_id && e->modules.items[m].build_id[0])
		sn_table_set_text(table, O_BUILD_ID, e->modules.items[m].build_id);
	if (input->structures)
		sn_table_set_text(table, O_WARNING, sn_structures_warning(input->structures, m));
}

static sn_status modules_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;

	(void)err;
	for (uint32_t m = 0; m <= e->modules.count; m++)
		if (!sn_view_is_empty(input, &input->profile->modules[m].inclusive))
			module_row(input, table, m);
	return SN_OK;
}

static const struct sn_explanation module_words[] = {
	{ "build_id", "text",
	  "The module's build-id, which tells two builds of a file apart; a hash of the "
	  "content where the linker wrote none.",
	  NULL },
	{ "class", "text",
	  "What the module is taken for: program, library (of the system, no kind of its own), "
	  "libc, loader, maths, openmp, mpi, allocator, io, kernel, other. Decides the category of "
	  "its samples. In 'show variants' what bounds the loop, where differences exceed noise: data "
	  "(LS takes as long as the loop, arithmetic less), compute (the other way round), both, "
	  "neither (each alone takes less: they do not overlap), front_end (instructions that do "
	  "nothing take as long), unknown.",
	  "program" },
	{ "warning", "text",
	  "What could not be read of the module and is therefore missing: names, lines or "
	  "loops.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_modules = {
	.name = "modules",
	.title = "time by program and library",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.modules/2",
	.columns = module_columns,
	.column_count = sizeof(module_columns) / sizeof(*module_columns),
	.words = module_words,
	.data_columns =
		"module,path,build_id,class,exclusive_cpu_s,inclusive_cpu_s,exclusive_share,"
		"inclusive_share,exclusive_share_low,exclusive_share_high,samples,warning",
	.text_columns =
		"mark,exclusive_share,interval,exclusive_cpu_s,inclusive_share,samples,class,"
		"module,path",
	.wall_columns =
		"exclusive_wall_share,exclusive_wall_s,inclusive_wall_share,class,module,path",
	.sort = "exclusive_cpu_s",
	.wall_sort = "exclusive_wall_s",
	.has_events = true,
	.share_column = "exclusive_share",
	.is_in_report = true,
	.page_rows = "modules",
	.page_omits = "module,path,build_id",
	.add_row = module_row,
	.fill = modules_fill,
};

/* ---- categories ---- */

enum { C_CATEGORY, C_CPU, C_SHARE, C_LOW, C_HIGH, C_SPIN, C_SPIN_SHARE, C_SAMPLES, C_MODULES };

static const struct sn_column category_columns[] = {
	{ "category", "category", SN_CELL_TEXT, 0 },
	{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "share_low", "low", SN_CELL_SHARE, 0 },
	{ "share_high", "high", SN_CELL_SHARE, 0 },
	{ "spin_s", "spinning s", SN_CELL_SECONDS, 0 },
	{ "spin_share", "spinning", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "modules", "of which", SN_CELL_TEXT, 0 },
};

/* "libsqlite3.so.0 88.4 %, sqlite3 0.6 %" */
static void program_modules_set(const struct sn_profile *p, struct sn_table *table)
{
	uint32_t modules[3];
	size_t count = sn_program_modules(p, modules, 3);
	struct sn_text text = { 0 };

	for (size_t i = 0; i < count; i++)
		sn_text_addf(&text, "%s%s %.1f %%", i ? ", " : "",
			     sn_program_module_name(p->program, modules[i]),
			     100 * sn_share(p->program_ns[modules[i]], p->total.cpu_ns));
	if (count)
		sn_table_set_text(table, C_MODULES, text.chars);
	sn_text_free(&text);
}

static sn_status categories_fill(const struct sn_view_input *input, struct sn_table *table,
				 struct sn_error *err)
{
	const struct sn_profile *p = input->profile;

	(void)err;
	for (int c = 0; c < SN_CATEGORIES && !sn_view_has_no_time(p); c++) {
		const struct sn_metrics *m = &p->categories[c];

		sn_table_add_row(table);
		sn_table_set_text(table, C_CATEGORY, sn_category_name((enum sn_category)c));
		sn_table_set_real(table, C_CPU, (double)m->exclusive.cpu_ns / 1e9);
		sn_table_set_real(table, C_SHARE, sn_share(m->exclusive.cpu_ns, p->total.cpu_ns));
		sn_table_set_real(table, C_LOW, p->total.cpu_ns ? m->exclusive_share.low : NAN);
		sn_table_set_real(table, C_HIGH, p->total.cpu_ns ? m->exclusive_share.high : NAN);
		sn_table_set_real(table, C_SPIN, (double)p->spin_ns[c] / 1e9);
		sn_table_set_real(table, C_SPIN_SHARE, sn_share(p->spin_ns[c], p->total.cpu_ns));
		sn_table_set_int(table, C_SAMPLES, (int64_t)m->exclusive.samples);
		if (c == SN_CATEGORY_PROGRAM)
			program_modules_set(p, table);
	}
	return SN_OK;
}

static const struct sn_explanation category_words[] = {
	{ "modules", "text",
	  "The three modules with most of the time, and their shares of all CPU time.", "program" },
	{ "share_low", "share", "Lower end of the share's 95 % interval.", "interval" },
	{ "share_high", "share", "Upper end of the share's 95 % interval.", "interval" },
	{ "spin_s", "time", "CPU time spent waiting actively.", "spin" },
	{ "spin_share", "share", "Waiting actively, over the sampled CPU time.", "spin" },
	{ 0 },
};

const struct sn_view sn_view_categories = {
	.name = "categories",
	.title = "time by kind of work: the program, MPI, OpenMP, memory, I/O, maths ...",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.categories/2",
	.columns = category_columns,
	.column_count = sizeof(category_columns) / sizeof(*category_columns),
	.words = category_words,
	.is_listing = true,
	.is_in_report = true,
	.fill = categories_fill,
};
