/* The view of counts: calls of functions and executed instructions, as copies of the functions counted them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/structures.h"
#include "views/parts.h"

enum {
	C_FUNCTION,
	C_MODULE,
	C_FILE,
	C_LINE,
	C_ADDRESS,
	C_CALLS,
	C_EXECUTIONS,
	C_INSTRUCTIONS,
	C_SHARE,
	C_PER_CALL,
	C_SOURCE,
};

static const struct sn_column counts_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "address", NULL, SN_CELL_TEXT, 0 },
	{ "calls", "calls", SN_CELL_INT, 0 },
	{ "block_executions", NULL, SN_CELL_INT, 0 },
	{ "instructions", "instructions", SN_CELL_INT, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "instructions_per_call", "instr./call", SN_CELL_REAL, 1 },
	{ "source", "source", SN_CELL_TEXT, 0 },
};

/* A block, its executions summed up over threads. */
struct block {
	uint32_t module, function; /* of the program: the one whose body it is in */
	uint64_t link_addr;
	uint64_t instructions, executions;
};

struct blocks {
	SN_VEC(struct block) items;
	uint64_t instructions; /* executed, of all */
};

static int by_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

static void blocks_find(const struct sn_profile *p, struct blocks *out)
{
	const struct sn_program *program = p->program;
	size_t kept = 0;

	for (size_t i = 0; i < p->experiment->block_counts.count; i++) {
		const struct sn_block_executions *from = &p->experiment->block_counts.items[i];
		const struct sn_program_place *place;
		struct block block = { .instructions = from->instructions,
				       .executions = from->executions };

		if (from->stack == SN_NONE || !p->thread_passes[from->thread] || !from->executions)
			continue;
		place = sn_program_leaf(program, from->stack);
		block.module = place->module;
		block.function = program->steps.items[place->first_step].index;
		block.link_addr = place->link_addr + (uint64_t)(int64_t)from->offset;
		sn_vec_push(&out->items, block);
	}
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items), by_address);
	for (size_t i = 0; i < out->items.count; i++) {
		const struct block *block = &out->items.items[i];

		out->instructions += block->instructions * block->executions;
		if (kept && !by_address(&out->items.items[kept - 1], block))
			out->items.items[kept - 1].executions += block->executions;
		else
			out->items.items[kept++] = *block;
	}
	out->items.count = kept;
}

static void set_function(const struct sn_profile *p, const struct block *block,
			 struct sn_table *table)
{
	const struct sn_program_function *function = &p->program->functions.items[block->function];

	sn_table_add_row(table);
	sn_table_set_text(table, C_FUNCTION, function->name);
	sn_table_set_text(table, C_MODULE, sn_program_module_name(p->program, block->module));
}

static void set_source(struct sn_table *table, const char *file, uint32_t line)
{
	sn_table_set_text(table, C_FILE, file);
	sn_view_set_line(table, C_LINE, line);
	sn_view_set_source(table, C_SOURCE, file, line);
}

static void add_function(const struct sn_profile *p, const struct blocks *blocks, size_t first,
			 size_t end, struct sn_table *table)
{
	const struct block *block = &blocks->items.items[first];
	const struct sn_program_function *function = &p->program->functions.items[block->function];
	uint64_t calls = 0, instructions = 0;

	for (size_t i = first; i < end; i++) {
		block = &blocks->items.items[i];
		instructions += block->instructions * block->executions;
		if (block->link_addr == function->link_addr)
			calls = block->executions;
	}
	set_function(p, block, table);
	set_source(table, function->file, function->line);
	sn_table_set_int(table, C_CALLS, (int64_t)calls);
	sn_table_set_int(table, C_INSTRUCTIONS, (int64_t)instructions);
	sn_table_set_real(table, C_SHARE, sn_share(instructions, blocks->instructions));
	if (calls)
		sn_table_set_real(table, C_PER_CALL, (double)instructions / (double)calls);
}

static void add_block(const struct sn_view_input *input, const struct blocks *blocks, size_t at,
		      struct sn_table *table)
{
	const struct block *block = &blocks->items.items[at];
	struct sn_structure *structure =
		input->structures ? sn_structures_of(input->structures, block->module) : NULL;
	const struct sn_function *function =
		structure ? sn_structure_function_at(structure, block->link_addr) : NULL;
	const struct sn_line *line = NULL;
	char address[20];

	if (function) {
		sn_function_prepare(structure, function, SN_PREPARE_LINES);
		line = sn_function_line_at(function, block->link_addr);
	}
	set_function(input->profile, block, table);
	snprintf(address, sizeof(address), "%#llx", (unsigned long long)block->link_addr);
	sn_table_set_text(table, C_ADDRESS, address);
	if (line)
		set_source(table, line->file, line->line);
	sn_table_set_int(table, C_EXECUTIONS, (int64_t)block->executions);
	sn_table_set_int(table, C_INSTRUCTIONS, (int64_t)(block->instructions * block->executions));
	sn_table_set_real(table, C_SHARE,
			  sn_share(block->instructions * block->executions, blocks->instructions));
}

static sn_status counts_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct blocks blocks = { 0 };
	bool by_block = input->by && !strcmp(input->by, "block");

	if (input->by && !by_block && strcmp(input->by, "function") != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "counts are --by function or block, not by '%s'", input->by);
	blocks_find(input->profile, &blocks);
	for (size_t first = 0, end; first < blocks.items.count; first = end) {
		for (end = first + 1;
		     end < blocks.items.count &&
		     blocks.items.items[end].module == blocks.items.items[first].module &&
		     blocks.items.items[end].function == blocks.items.items[first].function;)
			end++;
		for (size_t i = first; by_block && i < end; i++)
			add_block(input, &blocks, i, table);
		if (!by_block)
			add_function(input->profile, &blocks, first, end, table);
	}
	sn_vec_free(&blocks.items);
	return SN_OK;
}

/* ---- what was not counted ---- */

/* A module, or a function of a module in which others were counted, that has time and no counts. */
struct uncounted {
	uint32_t module, function; /* function: SN_NONE: all of the module */
	uint64_t cpu_ns;
};

struct uncounted_list {
	SN_VEC(struct uncounted) items;
	uint64_t cpu_ns;
};

/* Of parts with less time nothing is said. */
static const double share_told = 0.001;
enum { PARTS_TOLD = 6 };

/* By module: whether functions of it were counted. By function: whether it was. */
struct counted {
	bool *modules, *functions;
};

static void counted_find(const struct sn_profile *p, struct counted *out)
{
	const struct sn_experiment *e = p->experiment;

	out->modules = sn_alloc_zeroed(e->modules.count + 1, sizeof(bool));
	out->functions = sn_alloc_zeroed(p->program->functions.count + 1, sizeof(bool));
	for (size_t i = 0; i < e->block_counts.count; i++) {
		const struct sn_program_place *place;

		if (e->block_counts.items[i].stack == SN_NONE)
			continue;
		place = sn_program_leaf(p->program, e->block_counts.items[i].stack);
		if (place->module < e->modules.count)
			out->modules[place->module] = true;
		out->functions[p->program->steps.items[place->first_step].index] = true;
	}
}

static void uncounted_add(struct uncounted_list *list, uint32_t module, uint32_t function,
			  uint64_t cpu_ns)
{
	list->cpu_ns += cpu_ns;
	for (size_t i = 0; i < list->items.count; i++)
		if (list->items.items[i].module == module &&
		    list->items.items[i].function == function) {
			list->items.items[i].cpu_ns += cpu_ns;
			return;
		}
	sn_vec_push(&list->items, ((struct uncounted){ module, function, cpu_ns }));
}

static int by_time(const void *a, const void *b)
{
	const struct uncounted *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return x->module != y->module	   ? (x->module < y->module ? -1 : 1)
	       : x->function < y->function ? -1
					   : x->function > y->function;
}

static void uncounted_find(const struct sn_profile *p, const struct counted *counted,
			   struct uncounted_list *out)
{
	const struct sn_program *program = p->program;

	for (size_t i = 0; i < program->places.count; i++) {
		const struct sn_program_place *place = &program->places.items[i];
		uint32_t function = program->steps.items[place->first_step].index;
		bool is_known = place->module < p->experiment->modules.count;
		bool has_counted = is_known && counted->modules[place->module];

		if (p->places[i].cpu_ns && !(has_counted && counted->functions[function]))
			uncounted_add(out, is_known ? place->module : SN_NONE,
				      has_counted ? function : SN_NONE, p->places[i].cpu_ns);
	}
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items), by_time);
}

static void name_add(struct sn_text *out, const char *before, const char *name)
{
	sn_text_add(out, before);
	sn_text_add_printable(out, name, strlen(name));
}

static void modules_add(const struct sn_profile *p, const struct counted *counted,
			struct sn_text *out)
{
	size_t before = out->length;

	for (uint32_t m = 0; m < p->experiment->modules.count; m++)
		if (counted->modules[m])
			name_add(out, out->length > before ? ", " : "",
				 sn_program_module_name(p->program, m));
}

static void parts_add(const struct sn_profile *p, const struct uncounted_list *list,
		      struct sn_text *out)
{
	size_t told = 0, more = 0;

	for (size_t i = 0; i < list->items.count; i++) {
		const struct uncounted *part = &list->items.items[i];
		double share = sn_share(part->cpu_ns, p->total.cpu_ns);

		if (share < share_told)
			continue;
		if (told == PARTS_TOLD) {
			more++;
			continue;
		}
		name_add(out, told++ ? ", " : ": ",
			 part->function == SN_NONE
				 ? sn_program_module_name(p->program, part->module)
				 : p->program->functions.items[part->function].name);
		sn_text_addf(out, " %.1f %%", 100 * share);
	}
	if (more)
		sn_text_addf(out, ", and %zu more", more);
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	const struct sn_profile *p = input->profile;
	struct uncounted_list list = { 0 };
	struct counted counted;
	struct sn_text text = { 0 };

	if (!p->experiment->block_counts.count)
		return;
	counted_find(p, &counted);
	uncounted_find(p, &counted, &list);
	sn_text_add(&text, "counted: functions of ");
	modules_add(p, &counted, &text);
	sn_text_add(&text, "; the C library, the loader and runtimes run as they are\n");
	if (sn_share(list.cpu_ns, p->total.cpu_ns) >= share_told) {
		sn_text_addf(&text, "not counted is what has %.1f %% of the CPU time of this run",
			     100 * sn_share(list.cpu_ns, p->total.cpu_ns));
		parts_add(p, &list, &text);
		sn_text_add(&text, "\n");
	}
	sn_text_add(&text,
		    "counting makes the program slower: look at times in a run without it\n");
	fputs(text.chars, out);
	sn_text_free(&text);
	sn_vec_free(&list.items);
	free(counted.modules);
	free(counted.functions);
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	sn_text_add(out,
		    input->profile->experiment->block_counts.count
			    ? "none of the functions that were counted was called"
			    : "no functions were counted in this run: 'sonde count PROGRAM' does "
			      "that");
}

static const struct sn_explanation counts_words[] = {
	{ "block_executions", "count",
	  "How often control came to the basic block: instructions that are always executed one after "
	  "the other.",
	  "instructions" },
	{ "instructions", "count",
	  "Instructions that were executed: those of each basic block, times its executions. Exact, but "
	  "where a call in a block did not return (exit, longjmp, an exception): the rest of that block "
	  "is counted, too.",
	  "block_executions" },
	{ "instructions_per_call", "count",
	  "Instructions of the function itself, without those of functions that it calls, for each of "
	  "its calls.",
	  "calls" },
	{ 0 },
};

const struct sn_view sn_view_counts = {
	.name = "counts",
	.title = "calls of functions and executed instructions, exactly (sonde count)",
	.needs = SN_VIEW_NEEDS_COUNTS,
	.takes_by = true,
	.schema = "sonde.counts/1",
	.columns = counts_columns,
	.column_count = sizeof(counts_columns) / sizeof(*counts_columns),
	.words = counts_words,
	.data_columns = "function,module,file,line,calls,instructions,share,instructions_per_call,"
			"address,block_executions",
	.text_columns = "share,instructions,calls,instructions_per_call,function,source,module",
	.by_columns = "block_executions,address,",
	.sort = "instructions",
	.is_in_report = true,
	.page_title = "Counts",
	.fill = counts_fill,
	.why_empty = why_empty,
	.put_foot = put_foot,
};
