/* Listings, sources and compile options of what is hot. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/decode.h"
#include "code/structure.h"
#include "profile/compile.h"
#include "profile/structures.h"
#include "report/model/model_parts.h"

enum {
	HOT_FUNCTIONS_MAX = 500,
	INSTRUCTIONS_MAX = 100000,
	SOURCE_BYTES_MAX = 6 << 20, /* of all files together, before compression */
	LINES_AROUND = 6,	    /* of source shown before and after what is hot */
	WHOLE_FILE_LINES = 4000,    /* files up to this length are taken whole */
};

/* A concrete function that holds hot places. */
struct host {
	uint32_t module;
	uint64_t entry_link_addr;
	uint64_t cpu_ns;
};

struct builder {
	struct sn_report *report;
	const struct sn_profile *profile;
	struct sn_structures *structures;
	uint64_t *place_ns;    /* CPU time by place */
	struct sn_map host_of; /* hash of module and entry -> host + 1 */
	SN_VEC(struct host) hosts;
	struct sn_map function_at; /* hash of module and entry -> report function + 1 */
};

static uint64_t key_of(uint32_t module, uint64_t link_addr)
{
	return sn_hash_u64(link_addr) ^ sn_hash_u64(~(uint64_t)module);
}

static void index_names(struct builder *b)
{
	const struct sn_program *program = b->profile->program;

	for (size_t i = 0; i < program->functions.count; i++) {
		const struct sn_program_function *f = &program->functions.items[i];

		if (f->link_addr && b->report->function_of[i] != SN_NONE)
			*sn_map_put(&b->function_at, key_of(f->module, f->link_addr), NULL) =
				b->report->function_of[i] + 1;
	}
}

static uint32_t loop_index(const struct builder *b, const struct sn_loop *loop)
{
	uint32_t number = loop ? sn_program_loop_of(b->profile->program, loop) : SN_NONE;

	return number == SN_NONE ? SN_NONE : b->report->loop_of[number];
}

static void sum_places(struct builder *b)
{
	const struct sn_report *report = b->report;

	b->place_ns = sn_alloc_zeroed(report->places.count + 1, sizeof(*b->place_ns));
	for (size_t i = 0; i < report->points.count; i++)
		b->place_ns[report->points.items[i].place] += report->points.items[i].cpu_ns;
}

/** Sums the heat of places by the concrete function that holds their code. */
static void find_hosts(struct builder *b)
{
	const struct sn_report *report = b->report;

	for (size_t i = 0; i < report->places.count; i++) {
		const struct sn_report_place *place = &report->places.items[i];
		struct sn_structure *structure = sn_structures_of(b->structures, place->module);
		const struct sn_function *function =
			structure ? sn_structure_function_at(structure, place->link_addr) : NULL;
		uint64_t *slot;

		if (!function)
			continue;
		slot = sn_map_put(&b->host_of, key_of(place->module, function->link_addr), NULL);
		if (!*slot) {
			sn_vec_push(&b->hosts,
				    (struct host){ place->module, function->link_addr, 0 });
			*slot = b->hosts.count;
		}
		b->hosts.items[*slot - 1].cpu_ns += b->place_ns[i];
	}
}

static int compare_hosts(const void *left, const void *right)
{
	const struct host *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns < b->cpu_ns ? 1 : -1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->entry_link_addr < b->entry_link_addr ? -1
						       : a->entry_link_addr > b->entry_link_addr;
}

/* ---- listings ---- */

static const char *name_of_target(void *context, uint64_t link_addr, uint64_t *offset)
{
	const struct sn_function *function = sn_structure_function_at(context, link_addr);

	if (!function)
		return NULL;
	*offset = link_addr - function->link_addr;
	return function->name;
}

static void add_block(struct builder *b, struct sn_structure *structure,
		      const struct sn_function *function, const struct sn_block *block,
		      uint32_t number)
{
	uint64_t at = block->link_addr, end = block->link_addr + block->size_bytes;
	struct sn_text words = { 0 };

	while (at < end && b->report->instructions.count < INSTRUCTIONS_MAX) {
		size_t available = 0;
		const uint8_t *bytes = sn_structure_bytes(structure, at, &available);
		const struct sn_line *line = sn_function_line_at(function, at);
		const struct sn_loop *loop =
			block->loop >= 0 ? &function->loops[block->loop] : NULL;
		unsigned length;

		if (!bytes)
			break;
		sn_text_clear(&words);
		length = sn_instruction_format(&words, SN_SYNTAX_INTEL, bytes, available, at,
					       name_of_target, structure);
		sn_vec_push(&b->report->instructions,
			    (struct sn_report_instruction){
				    .link_addr = at,
				    .function = number,
				    .loop = loop_index(b, loop),
				    .file = line ? sn_report_file(b->report, line->file) : SN_NONE,
				    .line = line ? line->line : 0,
				    .words = sn_arena_strndup(&b->report->arena, words.chars,
							      words.length) });
		if (!length)
			break;
		at += length;
	}
	sn_text_free(&words);
}

static void add_listing(struct builder *b, const struct host *host)
{
	struct sn_structure *structure = sn_structures_of(b->structures, host->module);
	const struct sn_function *function =
		sn_structure_function_at(structure, host->entry_link_addr);
	const uint64_t *number =
		sn_map_get(&b->function_at, key_of(host->module, host->entry_link_addr));

	if (!function || !number)
		return;
	sn_function_prepare(structure, function, SN_PREPARE_ALL);
	for (uint32_t i = 0; i < function->block_count; i++)
		add_block(b, structure, function, &function->blocks[i], (uint32_t)(*number - 1));
}

/* ---- sources ---- */

/* Lines wanted of a file, [first, last], and how hot it is. */
struct wanted {
	uint64_t cpu_ns;
	uint32_t file;
	uint8_t *lines; /* by line, `count` + 1 */
	uint32_t count;
};

static void want_lines(struct wanted *w, uint32_t first, uint32_t last)
{
	first = first > LINES_AROUND ? first - LINES_AROUND : 1;
	last += LINES_AROUND;
	for (uint32_t i = first; i <= last && i <= w->count; i++)
		w->lines[i] = 1;
}

/** Marks the lines of loops and instructions of a file; true if anything was wanted of it. */
static void want_hot_lines(const struct sn_report *report, struct wanted *w)
{
	for (size_t i = 0; i < report->loops.count; i++) {
		const struct sn_report_loop *loop = &report->loops.items[i];

		if (loop->file == w->file && loop->code->line_first)
			want_lines(w, loop->code->line_first, loop->code->line_last);
	}
	for (size_t i = 0; i < report->places.count; i++)
		if (report->places.items[i].file == w->file && report->places.items[i].line)
			want_lines(w, report->places.items[i].line, report->places.items[i].line);
	for (size_t i = 0; i < report->instructions.count; i++)
		if (report->instructions.items[i].file == w->file &&
		    report->instructions.items[i].line)
			want_lines(w, report->instructions.items[i].line,
				   report->instructions.items[i].line);
	for (size_t i = 0; i < report->functions.count; i++)
		if (report->functions.items[i].file == w->file && report->functions.items[i].line)
			want_lines(w, report->functions.items[i].line,
				   report->functions.items[i].line);
}

/** The text with the lines left out that nobody asks for: each becomes a single 0x01, so that the
 *  numbers of the others stay right. */
static void cut_text(struct sn_report *report, struct sn_report_file *file, const char *text,
		     size_t length, uint32_t line_count)
{
	struct wanted w = { .file = (uint32_t)(file - report->files.items), .count = line_count };
	struct sn_text out = { 0 };
	uint32_t line = 1;

	w.lines = sn_alloc_zeroed((size_t)line_count + 2, 1);
	want_hot_lines(report, &w);
	for (const char *at = text, *end = text + length; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *next = stop ? stop + 1 : end;

		if (w.lines[line])
			sn_text_add_bytes(&out, at, (size_t)(next - at));
		else
			sn_text_add(&out, "\x01\n");
		at = next;
	}
	file->text = sn_arena_strndup(&report->arena, out.chars ? out.chars : "", out.length);
	file->length = out.length;
	free(w.lines);
	sn_text_free(&out);
}

static void take_text(struct sn_report *report, struct sn_report_file *file, const char *text,
		      size_t length)
{
	uint32_t lines = 1;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	if (lines > WHOLE_FILE_LINES) {
		cut_text(report, file, text, length, lines);
	} else {
		file->text = sn_arena_strndup(&report->arena, text, length);
		file->length = length;
	}
}

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns < b->cpu_ns ? 1 : -1;
	return a->file < b->file ? -1 : a->file > b->file;
}

/** Asks every module that has places in a file for its text. */
static const char *find_text(struct builder *b, uint32_t file, size_t *length)
{
	const char *path = b->report->files.items[file].path;

	for (uint32_t m = 0; m < b->report->modules.count; m++) {
		struct sn_structure *structure = sn_structures_of(b->structures, m);
		const char *text = structure ? sn_structure_source(structure, path, length) : NULL;

		if (text)
			return text;
	}
	return NULL;
}

static void add_sources(struct builder *b)
{
	struct sn_report *report = b->report;
	size_t count = report->files.count, budget = SOURCE_BYTES_MAX;
	struct wanted *wanted = sn_alloc_zeroed(count + 1, sizeof(*wanted));

	for (size_t i = 0; i < count; i++)
		wanted[i].file = (uint32_t)i;
	for (size_t i = 0; i < report->places.count; i++)
		if (report->places.items[i].file != SN_NONE)
			wanted[report->places.items[i].file].cpu_ns += b->place_ns[i];
	for (size_t i = 0; i < report->functions.count; i++)
		if (report->functions.items[i].file != SN_NONE)
			wanted[report->functions.items[i].file].cpu_ns +=
				report->functions.items[i].exclusive_ns;
	qsort(wanted, count, sizeof(*wanted), compare_wanted);
	for (size_t i = 0; i < count; i++) {
		struct sn_report_file *file = &report->files.items[wanted[i].file];
		size_t length = 0;
		const char *text;

		if (wanted[i].cpu_ns * 1000 < report->sampled_ns)
			break;
		text = find_text(b, wanted[i].file, &length);
		if (!text)
			continue;
		take_text(report, file, text, length);
		if (file->length > budget) { /* it stays in the experiment; the page says so */
			file->text = NULL;
			file->length = 0;
		}
		budget -= file->length;
	}
	free(wanted);
}

/* ---- compile options ---- */

/** Those of the modules with most time are the summary's. */
static struct sn_compile_facts facts_of(const struct builder *b, uint32_t module)
{
	const struct sn_summary *summary = b->report->summary;

	for (size_t i = 0; i < summary->compile_count; i++)
		if (summary->compile[i].module == module)
			return summary->compile[i];
	return sn_compile_facts_find(b->profile, b->structures, module);
}

/** Useful options that a module was compiled without; of the program's own modules, as others are
 *  nobody's here to compile. */
static void add_options_of(struct builder *b, uint32_t number)
{
	struct sn_report_module *module = &b->report->modules.items[number];
	struct sn_compile_facts facts = facts_of(b, number);
	struct sn_text missing = { 0 };

	sn_compile_missing(&facts, &missing);
	if (facts.compiler[0])
		module->producer = sn_arena_strdup(&b->report->arena, facts.compiler);
	if (missing.length)
		module->missing = sn_arena_strdup(&b->report->arena, missing.chars);
	sn_text_free(&missing);
}

static void add_options(struct builder *b)
{
	for (uint32_t m = 0; m < b->report->modules.count; m++)
		if (b->report->modules.items[m].cpu_ns &&
		    sn_module_class_of(&b->profile->experiment->modules.items[m]) ==
			    SN_MODULE_CLASS_BINARY)
			add_options_of(b, m);
}

void sn_report_add_code(struct sn_report *report, struct sn_structures *structures)
{
	struct builder b = { .report = report,
			     .profile = report->profile,
			     .structures = structures };

	if (!structures)
		return;
	index_names(&b);
	sum_places(&b);
	find_hosts(&b);
	if (b.hosts.count)
		qsort(b.hosts.items, b.hosts.count, sizeof(*b.hosts.items), compare_hosts);
	for (size_t i = 0; i < b.hosts.count && i < HOT_FUNCTIONS_MAX; i++)
		if (b.hosts.items[i].cpu_ns * 1000 >= report->sampled_ns)
			add_listing(&b, &b.hosts.items[i]);
	add_sources(&b);
	add_options(&b);
	free(b.place_ns);
	sn_map_free(&b.host_of);
	sn_map_free(&b.function_at);
	sn_vec_free(&b.hosts);
}
