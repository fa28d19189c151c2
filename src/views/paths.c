/* The views of call paths: tree, callers (bottom-up), calls (callers and callees of one function).
 */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "profile/calls.h"
#include "profile/tree.h"
#include "views/find.h"
#include "views/parts.h"

enum {
	R_NODE,
	R_PARENT,
	R_DEPTH,
	R_KIND,
	R_NAME,
	R_FUNCTION,
	R_MODULE,
	R_FILE,
	R_LINE,
	R_CALL_FILE,
	R_CALL_LINE,
	R_INCLUSIVE,
	R_EXCLUSIVE,
	R_INCLUSIVE_SHARE,
	R_EXCLUSIVE_SHARE,
	R_SAMPLES,
	R_INCLUSIVE_WALL,
	R_EXCLUSIVE_WALL,
	R_INCLUSIVE_WALL_SHARE,
	R_EXCLUSIVE_WALL_SHARE,
	R_PATH,
	R_SOURCE,
	R_EVENTS,
	R_OWN_EVENTS,
};

static const struct sn_column tree_columns[] = {
	{ "node", "node", SN_CELL_INT, 0 },
	{ "parent", "parent", SN_CELL_INT, 0 },
	{ "depth", "depth", SN_CELL_INT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "call_file", "call file", SN_CELL_TEXT, 0 },
	{ "call_line", "call line", SN_CELL_INT, 0 },
	{ "inclusive_cpu_s", "incl s", SN_CELL_SECONDS, 0 },
	{ "exclusive_cpu_s", "excl s", SN_CELL_SECONDS, 0 },
	{ "inclusive_share", "incl", SN_CELL_SHARE, 0 },
	{ "exclusive_share", "excl", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "inclusive_wall_s", "incl wall s", SN_CELL_SECONDS, 0 },
	{ "exclusive_wall_s", "excl wall s", SN_CELL_SECONDS, 0 },
	{ "inclusive_wall_share", "incl wall", SN_CELL_SHARE, 0 },
	{ "exclusive_wall_share", "excl wall", SN_CELL_SHARE, 0 },
	{ "path", "call path", SN_CELL_TEXT, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
	{ "inclusive", "incl events", SN_CELL_INT, 0 },
	{ "exclusive", "excl events", SN_CELL_INT, 0 },
};

#define TREE_DATA                                                                                  \
	"node,parent,depth,kind,name,function,module,file,line,call_file,call_line,"               \
	"inclusive_cpu_s,exclusive_cpu_s,inclusive_share,exclusive_share,samples"
#define TREE_TEXT "inclusive_share,exclusive_share,inclusive_cpu_s,path,source"
#define TREE_WALL "inclusive_wall_share,exclusive_wall_share,inclusive_wall_s,path,source"

struct walk {
	const struct sn_view_input *input;
	const struct sn_tree *tree;
	struct sn_table *table;
	uint64_t total, smallest;
};

static void tree_row_names(struct walk *w, const struct sn_tree_node *node)
{
	const struct sn_program *program = w->input->profile->program;
	bool is_loop = node->kind == SN_STEP_LOOP;
	const struct sn_program_loop *loop = is_loop ? &program->loops.items[node->index] : NULL;
	const struct sn_program_function *function =
		&program->functions.items[is_loop ? loop->function : node->index];
	struct sn_text path = { 0 };

	/* One blank a level; very deep paths tell their depth in figures. */
	sn_text_add_repeated(&path, ' ', node->depth <= 32 ? node->depth - 1 : 32);
	if (node->depth > 32)
		sn_text_addf(&path, "(%u) ", node->depth);
	sn_text_add(&path, is_loop ? "loop " : "");
	sn_text_add(&path, is_loop ? loop->code->label : function->name);
	sn_table_set_text(w->table, R_KIND, is_loop ? "loop" : "function");
	sn_table_set_text(w->table, R_NAME, is_loop ? loop->code->label : function->name);
	sn_table_set_text(w->table, R_FUNCTION, function->name);
	sn_table_set_text(w->table, R_MODULE, sn_program_module_name(program, function->module));
	sn_table_set_text(w->table, R_FILE, is_loop ? loop->code->file : function->file);
	sn_view_set_line(w->table, R_LINE, is_loop ? loop->code->line_first : function->line);
	sn_table_set_text(w->table, R_PATH, path.chars ? path.chars : "");
	if (node->call_line != SN_NONE) {
		const struct sn_program_line *line = &program->lines.items[node->call_line];

		sn_table_set_text(w->table, R_CALL_FILE, line->file);
		sn_view_set_line(w->table, R_CALL_LINE, line->line);
		sn_view_set_source(w->table, R_SOURCE, line->file, line->line);
	} else if (!is_loop && function->file) {
		sn_view_set_source(w->table, R_SOURCE, function->file, function->line);
	} else if (!is_loop) {
		sn_table_set_text(w->table, R_SOURCE,
				  sn_program_module_name(program, function->module));
	}
	sn_text_free(&path);
}

static void tree_row(struct walk *w, uint32_t n)
{
	const struct sn_tree_node *node = &w->tree->nodes.items[n];
	const struct sn_weight *total = &w->input->profile->total;
	uint64_t wall = sn_weight_time(total, SN_TIME_WALL);
	uint64_t in_wall = sn_weight_time(&node->inclusive, SN_TIME_WALL);
	uint64_t ex_wall = sn_weight_time(&node->exclusive, SN_TIME_WALL);

	sn_table_add_row(w->table);
	sn_table_set_int(w->table, R_NODE, n);
	sn_table_set_int(w->table, R_PARENT, node->parent);
	sn_table_set_int(w->table, R_DEPTH, node->depth);
	tree_row_names(w, node);
	if (w->input->event) {
		sn_table_set_int(w->table, R_EVENTS, (int64_t)node->inclusive.cpu_ns);
		sn_table_set_int(w->table, R_OWN_EVENTS, (int64_t)node->exclusive.cpu_ns);
	} else {
		sn_table_set_real(w->table, R_INCLUSIVE, (double)node->inclusive.cpu_ns / 1e9);
		sn_table_set_real(w->table, R_EXCLUSIVE, (double)node->exclusive.cpu_ns / 1e9);
	}
	sn_table_set_real(w->table, R_INCLUSIVE_SHARE,
			  sn_share(node->inclusive.cpu_ns, total->cpu_ns));
	sn_table_set_real(w->table, R_EXCLUSIVE_SHARE,
			  sn_share(node->exclusive.cpu_ns, total->cpu_ns));
	sn_table_set_int(w->table, R_SAMPLES, (int64_t)node->inclusive.samples);
	if (w->input->event)
		return;
	sn_table_set_real(w->table, R_INCLUSIVE_WALL, (double)in_wall / 1e9);
	sn_table_set_real(w->table, R_EXCLUSIVE_WALL, (double)ex_wall / 1e9);
	sn_table_set_real(w->table, R_INCLUSIVE_WALL_SHARE, sn_share(in_wall, wall));
	sn_table_set_real(w->table, R_EXCLUSIVE_WALL_SHARE, sn_share(ex_wall, wall));
}

/* Preorder without recursion: call paths may be very deep. */
static void tree_walk(struct walk *w)
{
	const struct sn_tree_node *nodes = w->tree->nodes.items;
	uint32_t n = nodes[0].first_child;

	while (n != SN_NONE && n) {
		bool shown = sn_weight_time(&nodes[n].inclusive, w->input->time) >= w->smallest &&
			     !sn_view_is_empty(w->input, &nodes[n].inclusive);

		if (shown)
			tree_row(w, n);
		if (shown && nodes[n].first_child != SN_NONE) {
			n = nodes[n].first_child;
			continue;
		}
		while (n != SN_NONE && n && nodes[n].next_sibling == SN_NONE)
			n = nodes[n].parent;
		n = n == SN_NONE || !n ? SN_NONE : nodes[n].next_sibling;
	}
}

static sn_status tree_fill_kind(const struct sn_view_input *input, struct sn_table *table,
				enum sn_tree_kind kind)
{
	struct sn_tree_options options = { .kind = kind,
					   .by_call_line = input->by_call_line,
					   .time = input->time };
	struct walk w = { .input = input, .table = table };
	struct sn_tree *tree = sn_tree_new(input->profile, &options);

	w.tree = tree;
	w.total = sn_weight_time(&input->profile->total, input->time);
	/* Half a per cent is what a page has room for. */
	w.smallest = input->all_paths ? 0 : w.total / 200;
	tree_walk(&w);
	sn_tree_free(tree);
	return SN_OK;
}

static sn_status tree_fill(const struct sn_view_input *input, struct sn_table *table,
			   struct sn_error *err)
{
	(void)err;
	return tree_fill_kind(input, table, SN_TREE_CALLEES);
}

static sn_status callers_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	(void)err;
	return tree_fill_kind(input, table, SN_TREE_CALLERS);
}

static const struct sn_explanation tree_words[] = {
	{ "node", "count", "Number of the node in this tree.", "parent" },
	{ "parent", "count", "Number of the node above; 0 is the root.", "node" },
	{ 0 },
};

const struct sn_view sn_view_tree = {
	.name = "tree",
	.title = "call paths from the top down, loops included",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.tree/1",
	.columns = tree_columns,
	.column_count = sizeof(tree_columns) / sizeof(*tree_columns),
	.words = tree_words,
	.data_columns = TREE_DATA,
	.text_columns = TREE_TEXT,
	.wall_columns = TREE_WALL,
	.has_events = true,
	.is_listing = true,
	.fill = tree_fill,
};

const struct sn_view sn_view_callers = {
	.name = "callers",
	.title = "call paths from the bottom up: the hottest functions and who calls them",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.callers/1",
	.columns = tree_columns,
	.column_count = sizeof(tree_columns) / sizeof(*tree_columns),
	.data_columns = TREE_DATA,
	.text_columns = "inclusive_share,inclusive_cpu_s,samples,path,source",
	.wall_columns = "inclusive_wall_share,inclusive_wall_s,path,source",
	.has_events = true,
	.is_listing = true,
	.fill = callers_fill,
};

/* ---- calls ---- */

enum {
	K_ROLE,
	K_FUNCTION,
	K_MODULE,
	K_FILE,
	K_LINE,
	K_CALL_FILE,
	K_CALL_LINE,
	K_ATTRIBUTED,
	K_SHARE,
	K_EXCLUSIVE,
	K_INCLUSIVE,
	K_SAMPLES,
	K_WALL,
	K_WALL_SHARE,
	K_NAME,
	K_SOURCE,
};

static const struct sn_column call_columns[] = {
	{ "role", "role", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "call_file", "call file", SN_CELL_TEXT, 0 },
	{ "call_line", "call line", SN_CELL_INT, 0 },
	{ "attributed_cpu_s", "attr s", SN_CELL_SECONDS, 0 },
	{ "attributed_share", "attr", SN_CELL_SHARE, 0 },
	{ "exclusive_cpu_s", "excl s", SN_CELL_SECONDS, 0 },
	{ "inclusive_cpu_s", "incl s", SN_CELL_SECONDS, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "attributed_wall_s", "attr wall s", SN_CELL_SECONDS, 0 },
	{ "attributed_wall_share", "attr wall", SN_CELL_SHARE, 0 },
	{ "name", "callers / FUNCTION / callees", SN_CELL_TEXT, 0 },
	{ "source", "call at", SN_CELL_TEXT, 0 },
};

static void call_row(const struct sn_view_input *input, struct sn_table *table, const char *role,
		     uint32_t f, uint32_t call_line, const struct sn_weight *attributed)
{
	const struct sn_profile *p = input->profile;
	const struct sn_program_function *function =
		f == SN_NONE ? NULL : &p->program->functions.items[f];
	bool is_subject = role[0] == 'f';
	const char *name = function ? function->name : "[start of the thread]";
	struct sn_text indented = { 0 };

	sn_text_addf(&indented, "%s%s", is_subject ? "" : "    ", name);
	sn_table_add_row(table);
	sn_table_set_text(table, K_ROLE, role);
	sn_table_set_text(table, K_NAME, indented.chars);
	sn_text_free(&indented);
	sn_table_set_real(table, K_ATTRIBUTED, (double)attributed->cpu_ns / 1e9);
	sn_table_set_real(table, K_SHARE, sn_share(attributed->cpu_ns, p->total.cpu_ns));
	sn_table_set_int(table, K_SAMPLES, (int64_t)attributed->samples);
	sn_table_set_real(table, K_WALL, (double)sn_weight_time(attributed, SN_TIME_WALL) / 1e9);
	sn_table_set_real(table, K_WALL_SHARE,
			  sn_share(sn_weight_time(attributed, SN_TIME_WALL),
				   sn_weight_time(&p->total, SN_TIME_WALL)));
	if (call_line != SN_NONE) {
		const struct sn_program_line *line = &p->program->lines.items[call_line];

		sn_table_set_text(table, K_CALL_FILE, line->file);
		sn_view_set_line(table, K_CALL_LINE, line->line);
		sn_view_set_source(table, K_SOURCE, line->file, line->line);
	}
	if (!function)
		return;
	sn_table_set_text(table, K_FUNCTION, function->name);
	sn_table_set_text(table, K_MODULE, sn_program_module_name(p->program, function->module));
	sn_table_set_text(table, K_FILE, function->file);
	sn_view_set_line(table, K_LINE, function->line);
	sn_table_set_real(table, K_EXCLUSIVE, (double)p->functions[f].exclusive.cpu_ns / 1e9);
	sn_table_set_real(table, K_INCLUSIVE, (double)p->functions[f].inclusive.cpu_ns / 1e9);
}

static uint32_t hottest_function(const struct sn_profile *p, enum sn_time_kind time)
{
	uint32_t best = 0;

	for (uint32_t f = 1; f < p->program->functions.count; f++)
		if (sn_weight_time(&p->functions[f].exclusive, time) >
		    sn_weight_time(&p->functions[best].exclusive, time))
			best = f;
	return best;
}

static sn_status calls_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	const struct sn_profile *p = input->profile;
	struct sn_calls calls;
	uint32_t function = 0;
	sn_status status = SN_OK;

	if (sn_weight_is_empty(&p->total))
		return SN_OK;
	if (input->subject)
		status = sn_find_function(p, input->subject, &function, err);
	else
		function = hottest_function(p, input->time);
	if (status != SN_OK)
		return status;
	sn_calls_find(p, function, input->time, &calls);
	for (size_t i = 0; i < calls.callers.count; i++)
		call_row(input, table, "caller", calls.callers.items[i].function,
			 calls.callers.items[i].line, &calls.callers.items[i].attributed);
	call_row(input, table, "function", function, SN_NONE, &p->functions[function].inclusive);
	for (size_t i = 0; i < calls.callees.count; i++)
		call_row(input, table, "callee", calls.callees.items[i].function,
			 calls.callees.items[i].line, &calls.callees.items[i].attributed);
	sn_calls_free(&calls);
	return SN_OK;
}

static const struct sn_explanation call_words[] = {
	{ "attributed_cpu_s", "time",
	  "CPU time that came through this caller, or went into this callee.", "attributed" },
	{ "attributed_share", "share", "Attributed CPU time over the sampled CPU time.",
	  "attributed" },
	{ "attributed_wall_s", "time", "Attributed CPU and blocked time.", "attributed wall" },
	{ "attributed_wall_share", "share", "Attributed wall time over that of all threads.",
	  "attributed wall" },
	{ 0 },
};

const struct sn_view sn_view_calls = {
	.name = "calls",
	.title = "callers and callees of a function, with the time that each brings",
	.sums_suffice = true,
	.subject = "[FUNCTION]",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.calls/1",
	.columns = call_columns,
	.column_count = sizeof(call_columns) / sizeof(*call_columns),
	.words = call_words,
	.data_columns = "role,function,module,file,line,call_file,call_line,attributed_cpu_s,"
			"attributed_share,exclusive_cpu_s,inclusive_cpu_s,samples",
	.text_columns = "attributed_share,attributed_cpu_s,exclusive_cpu_s,inclusive_cpu_s,name,"
			"source,module",
	.wall_columns = "attributed_wall_share,attributed_wall_s,name,source,module",
	.names_are_indented = true,
	.is_listing = true,
	.fill = calls_fill,
};
