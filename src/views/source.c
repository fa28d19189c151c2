/* The views of text with heat: source and assembly. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "code/decode.h"
#include "views/empty.h"
#include "views/find.h"
#include "views/parts.h"

/* Eight steps of a bar: the shape tells what colour would. */
static void heat_set(const struct sn_view_input *input, struct sn_table *table, size_t column,
		     double share_of_hottest)
{
	char bar[40] = "";
	int steps = (int)(share_of_hottest * 8 + 0.5);

	if (share_of_hottest > 0 && !steps)
		steps = 1;
	for (int i = 0; i < steps && i < 8; i++)
		strcat(bar, input->is_utf8 ? "█" : "#");
	sn_table_set_text(table, column, bar);
}

static sn_status nothing_set(const struct sn_profile *p, struct sn_error *err)
{
	struct sn_text reason = { 0 };

	sn_view_add_why_no_samples(p, &reason);
	sn_error_set(err, SN_ERR_NO_DATA, "%s", reason.chars);
	sn_text_free(&reason);
	return SN_ERR_NO_DATA;
}

/* ---- source ---- */

enum {
	X_FILE,
	X_LINE,
	X_EXCLUSIVE,
	X_INCLUSIVE,
	X_EXCLUSIVE_SHARE,
	X_INCLUSIVE_SHARE,
	X_SAMPLES,
	X_TEXT,
	X_HEAT,
};

static const struct sn_column source_columns[] = {
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "exclusive_cpu_s", "excl s", SN_CELL_SECONDS, 0 },
	{ "inclusive_cpu_s", "incl s", SN_CELL_SECONDS, 0 },
	{ "exclusive_share", "excl", SN_CELL_SHARE, 0 },
	{ "inclusive_share", "incl", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "text", "source", SN_CELL_TEXT, 0 },
	{ "heat", "heat", SN_CELL_TEXT, 0 },
};

/* What is shown of which file. */
struct extent {
	const char *file;
	uint32_t module;
	uint32_t first, last; /* last 0: to the end */
};

static bool file_is(const char *file, const char *wanted)
{
	return file &&
	       (!strcmp(file, wanted) || !strcmp(sn_base_name(file), wanted) ||
		(sn_ends_with(file, wanted) && file[strlen(file) - strlen(wanted) - 1] == '/'));
}

static void extent_of_function(const struct sn_profile *p, uint32_t f, struct extent *out)
{
	const struct sn_program *program = p->program;
	const struct sn_program_function *function = &program->functions.items[f];

	*out = (struct extent){ function->file, function->module, function->line, 0 };
	for (size_t n = 0; n < program->lines.count; n++) {
		const struct sn_program_line *line = &program->lines.items[n];

		if (line->function != f || !line->file)
			continue;
		if (!out->file)
			out->file = line->file;
		if (strcmp(line->file, out->file) != 0)
			continue;
		if (line->line > out->last)
			out->last = line->line;
		if (!out->first || line->line < out->first)
			out->first = line->line;
	}
	if (out->last)
		out->last += 2;
}

/* A file, a loop or a function, in this order; the hottest function if nothing is named. */
static sn_status extent_find(const struct sn_view_input *input, struct extent *out,
			     struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	uint32_t index = 0, best = SN_NONE;

	for (uint32_t n = 0; n < program->lines.count; n++) {
		const struct sn_program_line *line = &program->lines.items[n];

		if (input->subject ? !file_is(line->file, input->subject) : !line->file)
			continue;
		if (best == SN_NONE || input->profile->lines[n].exclusive.cpu_ns >
					       input->profile->lines[best].exclusive.cpu_ns)
			best = n;
	}
	if (best != SN_NONE) {
		const struct sn_program_line *line = &program->lines.items[best];

		*out = (struct extent){ line->file, program->functions.items[line->function].module,
					1, 0 };
		if (!input->subject)
			extent_of_function(input->profile, line->function, out);
		return SN_OK;
	}
	if (sn_view_has_no_time(input->profile))
		return nothing_set(input->profile, err);
	if (!input->subject)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "no line of source is known: the program was compiled without "
				    "-g, or its debug information is not installed");
	if (sn_find_loop(input->profile, input->subject, true, &index, err) == SN_OK) {
		const struct sn_program_loop *loop = &program->loops.items[index];

		*out = (struct extent){ loop->code->file, loop->module, loop->code->line_first,
					loop->code->line_last };
	} else if (sn_find_function(input->profile, input->subject, &index, err) == SN_OK) {
		extent_of_function(input->profile, index, out);
	} else {
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "'%s' is no file, loop or function that time was spent in "
				    "(sonde show lines --all lists files)",
				    input->subject);
	}
	if (!out->file)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "no line of source is known for '%s': it was compiled without "
				    "-g, or its debug information is not installed",
				    input->subject);
	return SN_OK;
}

struct line_sums {
	struct sn_weight *exclusive, *inclusive; /* by line number */
	uint32_t count;
	uint64_t hottest;
};

static void line_sums_find(const struct sn_view_input *input, const char *file,
			   struct line_sums *sums)
{
	const struct sn_profile *p = input->profile;
	const struct sn_program *program = p->program;
	enum { LINES_MAX = 10000000 };

	for (size_t n = 0; n < program->lines.count; n++)
		if (program->lines.items[n].file && !strcmp(program->lines.items[n].file, file) &&
		    program->lines.items[n].line >= sums->count &&
		    program->lines.items[n].line < LINES_MAX)
			sums->count = program->lines.items[n].line + 1;
	sums->exclusive = sn_alloc_zeroed(sums->count + 1, sizeof(struct sn_weight));
	sums->inclusive = sn_alloc_zeroed(sums->count + 1, sizeof(struct sn_weight));
	for (size_t n = 0; n < program->lines.count; n++) {
		const struct sn_program_line *line = &program->lines.items[n];

		if (!line->file || strcmp(line->file, file) != 0 || line->line >= sums->count)
			continue;
		sn_weight_add(&sums->exclusive[line->line], &p->lines[n].exclusive);
		sn_weight_add(&sums->inclusive[line->line], &p->lines[n].inclusive);
	}
	for (uint32_t n = 0; n < sums->count; n++)
		if (sn_weight_time(&sums->exclusive[n], input->time) > sums->hottest)
			sums->hottest = sn_weight_time(&sums->exclusive[n], input->time);
}

static void source_row(const struct sn_view_input *input, struct sn_table *table, const char *file,
		       uint32_t number, const struct line_sums *sums, const char *text,
		       size_t length)
{
	const struct sn_weight *total = &input->profile->total;
	char *copy = sn_strndup(text, length);

	sn_table_add_row(table);
	sn_table_set_text(table, X_FILE, file);
	sn_table_set_int(table, X_LINE, number);
	for (char *c = copy; *c; c++)
		if (*c == '\t')
			*c = ' ';
	if (length || text)
		sn_table_set_text(table, X_TEXT, copy);
	free(copy);
	sn_table_set_text(table, X_HEAT, "");
	if (number >= sums->count || sn_weight_is_empty(&sums->inclusive[number]))
		return;
	sn_table_set_real(table, X_EXCLUSIVE, (double)sums->exclusive[number].cpu_ns / 1e9);
	sn_table_set_real(table, X_INCLUSIVE, (double)sums->inclusive[number].cpu_ns / 1e9);
	sn_table_set_real(table, X_EXCLUSIVE_SHARE,
			  sn_share(sums->exclusive[number].cpu_ns, total->cpu_ns));
	sn_table_set_real(table, X_INCLUSIVE_SHARE,
			  sn_share(sums->inclusive[number].cpu_ns, total->cpu_ns));
	sn_table_set_int(table, X_SAMPLES, (int64_t)sums->exclusive[number].samples);
	if (sums->hottest)
		heat_set(input, table, X_HEAT,
			 (double)sn_weight_time(&sums->exclusive[number], input->time) /
				 (double)sums->hottest);
}

static void source_rows(const struct sn_view_input *input, struct sn_table *table,
			const struct extent *extent, const struct line_sums *sums)
{
	struct sn_structure *structure =
		input->structures ? sn_structures_of(input->structures, extent->module) : NULL;
	size_t length = 0;
	const char *text = structure ? sn_structure_source(structure, extent->file, &length) : NULL;
	uint32_t number = 1;

	/* Without the text the lines that have time are still worth showing. */
	if (!text) {
		for (number = 1; number < sums->count; number++)
			if (!sn_weight_is_empty(&sums->inclusive[number]) &&
			    number >= extent->first && (!extent->last || number <= extent->last))
				source_row(input, table, extent->file, number, sums, "", 0);
		return;
	}
	for (const char *at = text, *end = text + length; at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		if (number >= extent->first && (!extent->last || number <= extent->last))
			source_row(input, table, extent->file, number, sums, at,
				   (size_t)(stop - at));
		at = stop + 1;
	}
}

static sn_status source_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct line_sums sums = { 0 };
	struct extent extent = { 0 };
	sn_status status = extent_find(input, &extent, err);

	if (status != SN_OK)
		return status;
	line_sums_find(input, extent.file, &sums);
	source_rows(input, table, &extent, &sums);
	free(sums.exclusive);
	free(sums.inclusive);
	return SN_OK;
}

const struct sn_view sn_view_source = {
	.name = "source",
	.title = "source with heat, of a file, function or loop",
	.subject = "[FILE|FUNCTION|LOOP]",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.source/1",
	.columns = source_columns,
	.column_count = sizeof(source_columns) / sizeof(*source_columns),
	.data_columns = "file,line,exclusive_cpu_s,inclusive_cpu_s,exclusive_share,inclusive_share,"
			"samples,text",
	.text_columns = "heat,exclusive_share,inclusive_share,samples,line,text",
	.share_column = "exclusive_share",
	.is_listing = true,
	.fill = source_fill,
};

/* ---- assembly ---- */

enum {
	A_ADDR,
	A_OFFSET,
	A_FUNCTION,
	A_MODULE,
	A_LOOP,
	A_DEPTH,
	A_FILE,
	A_LINE,
	A_EXCLUSIVE,
	A_INCLUSIVE,
	A_EXCLUSIVE_SHARE,
	A_INCLUSIVE_SHARE,
	A_SAMPLES,
	A_BYTES,
	A_TEXT,
	A_HEAT,
	A_SOURCE,
	A_NEST,
};

static const struct sn_column asm_columns[] = {
	{ "link_addr", "address", SN_CELL_TEXT, 0 },
	{ "offset_bytes", "offset", SN_CELL_INT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "loop", "loop", SN_CELL_TEXT, 0 },
	{ "depth", "depth", SN_CELL_INT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "exclusive_cpu_s", "excl s", SN_CELL_SECONDS, 0 },
	{ "inclusive_cpu_s", "incl s", SN_CELL_SECONDS, 0 },
	{ "exclusive_share", "excl", SN_CELL_SHARE, 0 },
	{ "inclusive_share", "incl", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_TEXT, 0 },
	{ "text", "instruction", SN_CELL_TEXT, 0 },
	{ "heat", "heat", SN_CELL_TEXT, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
	{ "nest", "", SN_CELL_TEXT, 0 },
};

struct listing {
	const struct sn_view_input *input;
	struct sn_table *table;
	struct sn_structure *structure;
	const struct sn_function *function;
	const char *module;
	struct sn_map place_of; /* link address to place number: pcs of leaves */
	uint64_t hottest;
};

static const char *symbol_name(void *context, uint64_t link_addr, uint64_t *offset)
{
	const struct sn_function *function =
		sn_structure_function_at(((struct listing *)context)->structure, link_addr);

	if (!function)
		return NULL;
	*offset = link_addr - function->link_addr;
	return function->name;
}

static void listing_index(struct listing *l, uint32_t module)
{
	const struct sn_profile *p = l->input->profile;

	for (size_t i = 0; i < p->program->places.count; i++) {
		const struct sn_program_place *place = &p->program->places.items[i];
		uint64_t time = sn_weight_time(&p->places[i], l->input->time);

		if (place->module != module)
			continue;
		*sn_map_put(&l->place_of, place->link_addr, NULL) = i;
		if (sn_structure_function_at(l->structure, place->link_addr) == l->function &&
		    time > l->hottest)
			l->hottest = time;
	}
}

/* A sampled pc is an instruction's start; the byte before a return address lies in the call. */
static void instruction_weights(const struct listing *l, uint64_t link_addr, unsigned length,
				struct sn_weight *exclusive, struct sn_weight *inclusive)
{
	const struct sn_profile *p = l->input->profile;

	for (unsigned i = 0; i < length; i++) {
		const uint64_t *place = sn_map_get(&l->place_of, link_addr + i);

		if (!place)
			continue;
		sn_weight_add(exclusive, &p->places[*place]);
		sn_weight_add(inclusive, &p->place_inclusive[*place]);
	}
}

static void instruction_place(const struct listing *l, uint64_t link_addr)
{
	const struct sn_line *line = sn_function_line_at(l->function, link_addr);
	const struct sn_loop *loop = sn_function_loop_at(l->function, link_addr);
	char nest[16] = "";

	if (line && line->file) {
		sn_table_set_text(l->table, A_FILE, line->file);
		sn_view_set_line(l->table, A_LINE, line->line);
		sn_view_set_source(l->table, A_SOURCE, line->file, line->line);
	}
	if (!loop) {
		sn_table_set_text(l->table, A_NEST, "");
		return;
	}
	sn_table_set_text(l->table, A_LOOP, loop->id);
	sn_table_set_int(l->table, A_DEPTH, loop->depth);
	for (unsigned i = 0; i < loop->depth && i < 8; i++)
		nest[i] = '|';
	if (loop->header_link_addr == link_addr)
		nest[loop->depth < 8 ? loop->depth - 1 : 7] = '>';
	sn_table_set_text(l->table, A_NEST, nest);
}

static unsigned instruction_row(struct listing *l, uint64_t link_addr, const uint8_t *bytes,
				size_t available)
{
	const struct sn_weight *total = &l->input->profile->total;
	struct sn_weight exclusive = { 0 }, inclusive = { 0 };
	struct sn_text text = { 0 };
	unsigned length = sn_instruction_format(&text, SN_SYNTAX_INTEL, bytes, available, link_addr,
						symbol_name, l);
	char hex[48] = "";

	sn_table_add_row(l->table);
	sn_table_set_text(l->table, A_TEXT, text.chars);
	sn_text_clear(&text);
	sn_text_addf(&text, "0x%llx", (unsigned long long)link_addr);
	sn_table_set_text(l->table, A_ADDR, text.chars);
	sn_text_free(&text);
	sn_table_set_int(l->table, A_OFFSET, (int64_t)(link_addr - l->function->link_addr));
	sn_table_set_text(l->table, A_FUNCTION, l->function->name);
	sn_table_set_text(l->table, A_MODULE, l->module);
	for (unsigned i = 0; i < (length ? length : 1) && i < 15; i++)
		snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x", bytes[i]);
	sn_table_set_text(l->table, A_BYTES, hex);
	instruction_place(l, link_addr);
	sn_table_set_text(l->table, A_HEAT, "");
	length = length ? length : 1;
	instruction_weights(l, link_addr, length, &exclusive, &inclusive);
	if (sn_weight_is_empty(&inclusive))
		return length;
	sn_table_set_real(l->table, A_EXCLUSIVE, (double)exclusive.cpu_ns / 1e9);
	sn_table_set_real(l->table, A_INCLUSIVE, (double)inclusive.cpu_ns / 1e9);
	sn_table_set_real(l->table, A_EXCLUSIVE_SHARE, sn_share(exclusive.cpu_ns, total->cpu_ns));
	sn_table_set_real(l->table, A_INCLUSIVE_SHARE, sn_share(inclusive.cpu_ns, total->cpu_ns));
	sn_table_set_int(l->table, A_SAMPLES, (int64_t)exclusive.samples);
	if (l->hottest)
		heat_set(l->input, l->table, A_HEAT,
			 (double)sn_weight_time(&exclusive, l->input->time) / (double)l->hottest);
	return length;
}

static void listing_range(struct listing *l, const struct sn_range *range)
{
	for (uint64_t at = range->first_link_addr; at < range->end_link_addr;) {
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(l->structure, at, &available);

		if (!bytes || !available)
			return;
		if (available > range->end_link_addr - at)
			available = range->end_link_addr - at;
		at += instruction_row(l, at, bytes, available);
	}
}

static sn_status listing_target(const struct sn_view_input *input, uint32_t *module,
				uint64_t *link_addr, const struct sn_loop **loop,
				struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	uint32_t index = 0;
	sn_status status = SN_ERR_NOT_FOUND;

	*loop = NULL;
	if (input->subject && (strchr(input->subject, ':') || input->subject[0] == '#'))
		status = sn_find_loop(input->profile, input->subject, true, &index, err);
	if (status == SN_OK) {
		*module = program->loops.items[index].module;
		*loop = program->loops.items[index].code;
		*link_addr = (*loop)->function->link_addr;
		return SN_OK;
	}
	if (input->subject) {
		status = sn_find_function(input->profile, input->subject, &index, err);
		if (status != SN_OK)
			return status;
	} else {
		for (uint32_t f = 1; f < program->functions.count; f++)
			if (input->profile->functions[f].exclusive.cpu_ns >
			    input->profile->functions[index].exclusive.cpu_ns)
				index = f;
	}
	*module = program->functions.items[index].module;
	*link_addr = program->functions.items[index].link_addr;
	if (*link_addr)
		return SN_OK;
	/* Only inlined: show the function that holds its hottest place. */
	for (uint32_t i = 0, best = SN_NONE; i < program->places.count; i++) {
		if (program->places.items[i].function == index &&
		    (best == SN_NONE ||
		     input->profile->places[i].cpu_ns > input->profile->places[best].cpu_ns)) {
			best = i;
			*link_addr = program->places.items[i].link_addr;
		}
	}
	return SN_OK;
}

static sn_status asm_fill(const struct sn_view_input *input, struct sn_table *table,
			  struct sn_error *err)
{
	struct listing l = { .input = input, .table = table };
	const struct sn_loop *loop;
	uint64_t link_addr = 0;
	uint32_t module = SN_NONE;
	sn_status status;

	if (!input->profile->program->functions.count || sn_view_has_no_time(input->profile))
		return nothing_set(input->profile, err);
	status = listing_target(input, &module, &link_addr, &loop, err);
	if (status != SN_OK)
		return status;
	l.structure = input->structures ? sn_structures_of(input->structures, module) : NULL;
	l.function = l.structure ? sn_structure_function_at(l.structure, link_addr) : NULL;
	if (!l.function)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "the machine code of '%s' is not at hand: neither in the "
				    "experiment nor in an unchanged file",
				    sn_program_module_name(input->profile->program, module));
	l.module = sn_program_module_name(input->profile->program, module);
	sn_function_prepare(l.structure, l.function, SN_PREPARE_ALL);
	listing_index(&l, module);
	if (loop)
		for (uint32_t r = 0; r < loop->range_count; r++)
			listing_range(&l, &loop->ranges[r]);
	else
		for (uint32_t r = 0; r < l.function->range_count; r++)
			listing_range(&l, &l.function->ranges[r]);
	sn_map_free(&l.place_of);
	return SN_OK;
}

static const struct sn_explanation asm_words[] = {
	{ "link_addr", "text", "Address in the file (link address), in hex.", "offset_bytes" },
	{ "offset_bytes", "count", "Bytes from the function's entry.", NULL },
	{ "nest", "text", "One bar for each loop around the instruction; > is a loop's header.",
	  "depth" },
	{ 0 },
};

const struct sn_view sn_view_asm = {
	.name = "asm",
	.title = "machine code with heat, of a function or loop",
	.subject = "[FUNCTION|LOOP]",
	.needs = SN_VIEW_NEEDS_TIME,
	.schema = "sonde.asm/1",
	.columns = asm_columns,
	.column_count = sizeof(asm_columns) / sizeof(*asm_columns),
	.words = asm_words,
	.data_columns =
		"link_addr,offset_bytes,function,module,loop,depth,file,line,exclusive_cpu_s,"
		"inclusive_cpu_s,exclusive_share,inclusive_share,samples,bytes,text",
	.text_columns = "heat,exclusive_share,samples,link_addr,nest,text,source",
	.share_column = "exclusive_share",
	.is_listing = true,
	.fill = asm_fill,
};
