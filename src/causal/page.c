/* Candidates and progress points, from what a first run has shown. */
#include "causal/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/text.h"
#include "causal/names.h"
#include "causal/page_parts.h"
#include "code/image.h"
#include "code/structure.h"
#include "profile/rank.h"

/* Candidates with less of the CPU time are left out where nobody named them: they cannot be told from
 * noise. */
#define SHARE_LEAST 0.01

struct maker {
	struct sn_causal_control *page;
	struct sn_causal_log *log;
	const struct sn_analysis *analysis;
	bool with_callees;
	const char *kind; /* of functions */
};

struct sn_causal_control *sn_causal_page_new(void)
{
	struct sn_causal_control *page = aligned_alloc(64, (sizeof(*page) + 63) & ~(size_t)63);

	if (!page)
		page = sn_alloc(SIZE_MAX); /* says so and ends */
	memset(page, 0, sizeof(*page));
	page->magic = SN_CAUSAL_MAGIC;
	page->version = SN_CAUSAL_VERSION;
	page->file_bytes = sizeof(*page);
	atomic_store(&page->experiment, sn_causal_word(1, SN_CAUSAL_NO_TARGET, 0));
	return page;
}

/* ---- code ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Of a build-id in hex. False: it is none ('h...': a hash of the file, which processes do not know). */
bool sn_causal_module_of(const char *build_id, struct sn_causal_module *out)
{
	*out = (struct sn_causal_module){ .id_bytes = 0 };
	for (; build_id[0] && build_id[1]; build_id += 2) {
		int high = hex_digit(build_id[0]), low = hex_digit(build_id[1]);

		if (high < 0 || low < 0 || out->id_bytes == SN_CAUSAL_ID_MAX)
			return false;
		out->id[out->id_bytes++] = (uint8_t)(high << 4 | low);
	}
	return out->id_bytes > 0;
}

bool sn_causal_modules_are_equal(const struct sn_causal_module *a, const struct sn_causal_module *b)
{
	return a->id_bytes == b->id_bytes && !memcmp(a->id, b->id, a->id_bytes);
}

/* The number of a module in the page, made if new; -1: it has no build-id, or there is no room. */
int sn_causal_page_module(struct sn_causal_control *page, const char *build_id)
{
	struct sn_causal_module module;

	if (!sn_causal_module_of(build_id, &module))
		return -1;
	for (uint32_t m = 0; m < page->module_count; m++)
		if (sn_causal_modules_are_equal(&page->modules[m], &module))
			return (int)m;
	if (page->module_count == SN_CAUSAL_MODULES_MAX)
		return -1;
	page->modules[page->module_count] = module;
	return (int)page->module_count++;
}

static void add_range(struct sn_causal_code *code, uint64_t first, uint64_t end)
{
	if (code->ranges.count && sn_vec_last(&code->ranges).end_link_addr == first)
		sn_vec_last(&code->ranges).end_link_addr = end;
	else
		sn_vec_push(&code->ranges, (struct sn_range){ first, end });
}

/* The blocks of a loop without those of loops within: its exclusive code. */
void sn_causal_code_of_loop(const struct sn_loop *loop, struct sn_causal_code *code)
{
	const struct sn_function *function = loop->function;

	for (uint32_t b = 0; b < function->block_count; b++)
		if (function->blocks[b].loop == (int32_t)loop->index)
			add_range(code, function->blocks[b].link_addr,
				  function->blocks[b].link_addr + function->blocks[b].size_bytes);
}

void sn_causal_code_of_function(const struct sn_function *function, struct sn_causal_code *code)
{
	for (uint32_t r = 0; r < function->range_count; r++)
		add_range(code, function->ranges[r].first_link_addr,
			  function->ranges[r].end_link_addr);
}

/* A row goes to the next one, or to the end of its part of the function. */
static uint64_t end_of_row(const struct sn_function *function, uint32_t row)
{
	uint64_t first = function->lines[row].link_addr, end = first;

	for (uint32_t r = 0; r < function->range_count; r++)
		if (first - function->ranges[r].first_link_addr <
		    function->ranges[r].end_link_addr - function->ranges[r].first_link_addr)
			end = function->ranges[r].end_link_addr;
	if (row + 1 < function->line_count && function->lines[row + 1].link_addr > first &&
	    function->lines[row + 1].link_addr < end)
		end = function->lines[row + 1].link_addr;
	return end;
}

static bool is_same_line(const struct sn_program_line *a, const struct sn_program_line *b)
{
	return a->line == b->line && a->file && b->file && !strcmp(a->file, b->file);
}

static bool has_addr(const struct sn_causal_code *code, uint64_t link_addr)
{
	for (size_t r = 0; r < code->ranges.count; r++)
		if (link_addr - code->ranges.items[r].first_link_addr <
		    code->ranges.items[r].end_link_addr - code->ranges.items[r].first_link_addr)
			return true;
	return false;
}

static void add_line_in(const struct sn_function *function, const struct sn_program_line *wanted,
			struct sn_causal_code *code)
{
	for (uint32_t i = 0; i < function->line_count; i++) {
		const struct sn_line *row = &function->lines[i];

		if (row->line == wanted->line && row->file && !strcmp(row->file, wanted->file) &&
		    !has_addr(code, row->link_addr))
			add_range(code, row->link_addr, end_of_row(function, i));
	}
}

/* In every function of the file that samples met it in: inlined, or an instance of a template. */
static void code_of_line(const struct maker *maker, uint32_t line, struct sn_causal_code *code)
{
	const struct sn_program *program = maker->analysis->program;
	const struct sn_program_line *wanted = &program->lines.items[line];

	for (size_t p = 0; p < program->places.count; p++) {
		const struct sn_program_place *place = &program->places.items[p];
		struct sn_structure *structure;
		const struct sn_function *function;

		if (place->line == SN_NONE || has_addr(code, place->link_addr) ||
		    (code->ranges.count && place->module != code->module) ||
		    !is_same_line(&program->lines.items[place->line], wanted))
			continue;
		structure = sn_structures_of(maker->analysis->structures, place->module);
		function = structure ? sn_structure_function_at(structure, place->link_addr) : NULL;
		if (!function)
			continue;
		code->module = place->module;
		sn_function_prepare(structure, function, SN_PREPARE_LINES);
		add_line_in(function, wanted, code);
	}
}

static double share_of(const struct maker *maker, const struct sn_causal_code *code)
{
	const struct sn_profile *profile = maker->analysis->profile;
	uint64_t cpu_ns = 0;

	for (size_t p = 0; p < maker->analysis->program->places.count; p++) {
		const struct sn_program_place *place = &maker->analysis->program->places.items[p];

		for (size_t r = 0; place->module == code->module && r < code->ranges.count; r++)
			if (place->link_addr - code->ranges.items[r].first_link_addr <
			    code->ranges.items[r].end_link_addr -
				    code->ranges.items[r].first_link_addr)
				cpu_ns += maker->with_callees ? profile->place_inclusive[p].cpu_ns
							      : profile->places[p].cpu_ns;
	}
	return cpu_ns >= profile->total.cpu_ns ? 1 : sn_share(cpu_ns, profile->total.cpu_ns);
}

/* Code with what it calls is another candidate than the code alone. */
static const char *kind_of(const struct maker *maker, const char *kind)
{
	static const char *const kinds[][2] = { { "loop", "loop with callees" },
						{ "function", "function with callees" },
						{ "line", "line with callees" } };

	for (size_t i = 0; maker->with_callees && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i][0], kind))
			return kinds[i][1];
	return kind;
}

static uint32_t number_of(const struct maker *maker, const struct sn_causal_candidate *candidate)
{
	const struct sn_causal_log *log = maker->log;
	const char *kind = kind_of(maker, candidate->kind);

	for (uint32_t c = 0; c < log->candidates.count; c++)
		if (!strcmp(log->candidates.items[c].id, candidate->id) &&
		    !strcmp(log->candidates.items[c].kind, kind))
			return c;
	return SN_NONE;
}

/* Whether its code is in the page. */
static bool is_there(const struct maker *maker, const struct sn_causal_candidate *candidate)
{
	uint32_t number = number_of(maker, candidate);

	return number != SN_NONE && maker->page->targets[number].range_count;
}

static uint32_t log_candidate(struct maker *maker, const struct sn_causal_candidate *candidate)
{
	struct sn_causal_log *log = maker->log;
	struct sn_causal_candidate kept = *candidate;
	const char *kind = kind_of(maker, candidate->kind);
	uint32_t known = number_of(maker, candidate);

	if (known != SN_NONE)
		return known;
	kept.kind = sn_arena_strdup(&log->arena, kind);
	kept.id = sn_arena_strdup(&log->arena, candidate->id);
	kept.name = sn_arena_strdup(&log->arena, candidate->name);
	kept.function =
		sn_arena_strdup(&log->arena, candidate->function ? candidate->function : "");
	kept.file = sn_arena_strdup(&log->arena, candidate->file ? candidate->file : "");
	sn_vec_push(&log->candidates, kept);
	return (uint32_t)log->candidates.count - 1;
}

/* Takes the ranges. False: too little time in it, or it cannot be told from other code. */
static bool add_candidate(struct maker *maker, struct sn_causal_candidate *candidate,
			  struct sn_causal_code *code, uint32_t flags, double share_least)
{
	struct sn_causal_control *page = maker->page;
	const char *build_id = maker->analysis->experiment->modules.items[code->module].build_id;
	int module = code->ranges.count ? sn_causal_page_module(page, build_id) : -1;
	bool is_added = false;
	uint32_t number;

	candidate->cpu_share = flags & SN_CAUSAL_HELD ? NAN : share_of(maker, code);
	if (module >= 0 && !(candidate->cpu_share < share_least) &&
	    page->range_count + code->ranges.count <= SN_CAUSAL_RANGES_MAX &&
	    maker->log->candidates.count < SN_CAUSAL_CANDIDATES_MAX) {
		number = log_candidate(maker, candidate);
		page->targets[number] = (struct sn_causal_target){
			.first_range = page->range_count,
			.range_count = (uint32_t)code->ranges.count,
			.flags = flags,
		};
		for (size_t r = 0; r < code->ranges.count; r++)
			page->ranges[page->range_count++] = (struct sn_causal_range){
				.first_link_addr = code->ranges.items[r].first_link_addr,
				.end_link_addr = code->ranges.items[r].end_link_addr,
				.module = (uint32_t)module,
			};
		if (number >= page->target_count)
			page->target_count = number + 1;
		is_added = true;
	}
	sn_vec_free(&code->ranges);
	return is_added;
}

static uint32_t code_flags(const struct maker *maker)
{
	return maker->with_callees ? SN_CAUSAL_WITH_CALLEES : 0;
}

static bool add_loop(struct maker *maker, uint32_t l, double share_least)
{
	const struct sn_program_loop *loop = &maker->analysis->program->loops.items[l];
	struct sn_causal_code code = { .module = loop->module };
	struct sn_causal_candidate candidate = {
		.kind = "loop",
		.id = loop->code->id,
		.name = loop->code->label,
		.function = maker->analysis->program->functions.items[loop->function].name,
		.file = loop->code->file,
		.line_first = loop->code->line_first,
		.line_last = loop->code->line_last,
	};

	sn_causal_code_of_loop(loop->code, &code);
	return add_candidate(maker, &candidate, &code, code_flags(maker), share_least);
}

static bool add_function(struct maker *maker, uint32_t f, double share_least)
{
	const struct sn_program_function *function = &maker->analysis->program->functions.items[f];
	struct sn_structure *structure =
		function->module != SN_NONE
			? sn_structures_of(maker->analysis->structures, function->module)
			: NULL;
	const struct sn_function *code_function =
		structure && function->link_addr
			? sn_structure_function_at(structure, function->link_addr)
			: NULL;
	struct sn_causal_code code = { .module = function->module };
	struct sn_causal_candidate candidate = { .kind = maker->kind,
						 .name = function->name,
						 .function = function->name,
						 .file = function->file,
						 .line_first = function->line };

	if (!code_function)
		return false; /* only its inlined copies were met */
	candidate.id = sn_function_id(structure, code_function);
	sn_causal_code_of_function(code_function, &code);
	return add_candidate(maker, &candidate, &code, code_flags(maker), share_least);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool add_line(struct maker *maker, uint32_t l, double share_least)
{
	const struct sn_program *program = maker->analysis->program;
	const struct sn_program_line *line = &program->lines.items[l];
	struct sn_text id = { 0 }, name = { 0 };
	struct sn_causal_code code = { .module = 0 };
	bool is_added = false;

	if (line->file && line->line) {
		struct sn_causal_candidate candidate = {
			.kind = "line",
			.function = program->functions.items[line->function].name,
			.file = line->file,
			.line_first = line->line,
			.line_last = line->line,
		};

		sn_text_addf(&id, "%s:%u", line->file, line->line);
		sn_text_addf(&name, "%s:%u", base_name(line->file), line->line);
		candidate.id = id.chars;
		candidate.name = name.chars;
		if (is_there(maker, &candidate)) /* by another function that has it, too */
			is_added = !(share_least > 0);
		else {
			code_of_line(maker, l, &code);
			is_added = add_candidate(maker, &candidate, &code, code_flags(maker),
						 share_least);
		}
	}
	sn_text_free(&id);
	sn_text_free(&name);
	return is_added;
}

/* ---- locks ---- */

/* A variable of this name in a module: where it lies. */
static bool find_variable(const struct sn_module *module, const char *name,
			  struct sn_causal_code *code)
{
	struct sn_image *image = NULL;
	const struct sn_symbol *symbols;
	size_t count;

	if (module->kind != SN_MODULE_FILE ||
	    sn_image_open(module->path, NULL, &image, NULL) != SN_OK)
		return false;
	symbols = sn_image_data_symbols(image, &count);
	for (size_t i = 0; i < count && !strcmp(sn_image_id(image), module->build_id); i++)
		if (sn_causal_is_variable(&symbols[i], name))
			add_range(code, symbols[i].link_addr,
				  symbols[i].link_addr + symbols[i].size_bytes);
	sn_image_free(image);
	return code->ranges.count > 0;
}

/* What threads run while they hold a lock that is, or lies in, a variable with a name. */
static bool add_lock(struct maker *maker, const char *name)
{
	const struct sn_experiment *experiment = maker->analysis->experiment;
	struct sn_causal_candidate candidate = { .kind = "lock", .name = name };
	struct sn_text id = { 0 };
	bool is_added = false;

	sn_text_addf(&id, "lock:%s", name);
	candidate.id = id.chars;
	for (int is_library = 0; !is_added && is_library < 2; is_library++)
		for (uint32_t m = 0; !is_added && m < experiment->modules.count; m++) {
			struct sn_causal_code code = { .module = m };

			if (experiment->modules.items[m].is_main == (is_library == 0) &&
			    find_variable(&experiment->modules.items[m], name, &code))
				is_added =
					add_candidate(maker, &candidate, &code, SN_CAUSAL_HELD, 0);
		}
	sn_text_free(&id);
	return is_added;
}

/* ---- which ---- */

struct heat {
	uint32_t index;
	uint64_t cpu_ns;
};

static int compare_heat(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* The body of a parallel region, as compilers outline it, with all that it calls. */
static bool is_region(const struct sn_program_function *function)
{
	return strstr(function->linkage_name, "._omp_fn.") ||
	       strstr(function->linkage_name, ".omp_outlined") ||
	       strstr(function->name, "._omp_fn.");
}

static bool add_region(struct maker *maker, uint32_t f, double share_least)
{
	struct maker with_callees = *maker;

	with_callees.with_callees = true;
	with_callees.kind = "region";
	return is_region(&maker->analysis->program->functions.items[f]) &&
	       add_function(&with_callees, f, share_least);
}

static void add_hottest(struct maker *maker, const struct sn_metrics *metrics, size_t count,
			size_t most, bool (*add)(struct maker *, uint32_t, double))
{
	struct heat *heats = sn_alloc_zeroed(count + 1, sizeof(*heats));
	size_t added = 0;

	for (size_t i = 0; i < count; i++)
		heats[i] = (struct heat){ (uint32_t)i, add == add_region
							       ? metrics[i].inclusive.cpu_ns
							       : metrics[i].exclusive.cpu_ns };
	qsort(heats, count, sizeof(*heats), compare_heat);
	for (size_t i = 0; i < count && added < most && heats[i].cpu_ns; i++)
		added += add(maker, heats[i].index, SHARE_LEAST);
	free(heats);
}

static bool add_working_loop(struct maker *maker, uint32_t l, double share_least)
{
	return !maker->analysis->program->loops.items[l].busy_waits &&
	       !maker->analysis->profile->is_runtime_loop[l] && add_loop(maker, l, share_least);
}

static bool add_working_function(struct maker *maker, uint32_t f, double share_least)
{
	return !sn_function_spins(maker->analysis->profile, f) &&
	       add_function(maker, f, share_least);
}

/* The loop with a rank in the list of loops (show loops); SN_NONE: there is none. */
static uint32_t loop_of_rank(const struct sn_analysis *analysis, const char *name)
{
	size_t count;
	uint32_t *order = sn_rank_loops(analysis->profile, false, &count);
	unsigned long rank = strtoul(name + 1, NULL, 10);
	uint32_t found = rank >= 1 && rank <= count ? order[rank - 1] : SN_NONE;

	free(order);
	return found;
}

/* The hottest of those that go by the name best; SN_NONE: none does. */
static uint32_t find_function(const struct sn_analysis *analysis, const char *name)
{
	const struct sn_program *program = analysis->program;
	enum sn_causal_match best = SN_CAUSAL_NO_MATCH;
	uint32_t found = SN_NONE;

	for (uint32_t f = 0; f < program->functions.count; f++) {
		enum sn_causal_match match =
			sn_causal_function_match(program->functions.items[f].name,
						 program->functions.items[f].linkage_name, name);

		if (match && (match > best ||
			      (match == best &&
			       analysis->profile->functions[f].exclusive.cpu_ns >
				       analysis->profile->functions[found].exclusive.cpu_ns))) {
			best = match;
			found = f;
		}
	}
	return found;
}

static bool add_named(struct maker *maker, const char *name)
{
	const struct sn_program *program = maker->analysis->program;
	uint32_t found;

	if (sn_causal_is_rank(name)) {
		found = loop_of_rank(maker->analysis, name);
		return found != SN_NONE && add_loop(maker, found, 0);
	}

	for (uint32_t l = 0; l < program->loops.count; l++)
		if (!strcmp(program->loops.items[l].code->id, name) ||
		    !strcmp(program->loops.items[l].code->label, name))
			return add_loop(maker, l, 0);
	found = find_function(maker->analysis, name);
	if (found != SN_NONE)
		return add_function(maker, found, 0);
	for (uint32_t l = 0; l < program->lines.count; l++)
		if (sn_causal_is_line(program->lines.items[l].file, program->lines.items[l].line,
				      name))
			return add_line(maker, l, 0);
	return false;
}

static void add_hottest_of(struct maker *maker, const struct sn_causal_choice *choice)
{
	const struct sn_profile *profile = maker->analysis->profile;
	const struct sn_program *program = maker->analysis->program;

	switch (choice->kind) {
	case SN_CAUSAL_CHOICE_LOOPS:
		add_hottest(maker, profile->loops, program->loops.count, choice->count,
			    add_working_loop);
		break;
	case SN_CAUSAL_CHOICE_FUNCTIONS:
		add_hottest(maker, profile->functions, program->functions.count, choice->count,
			    add_working_function);
		break;
	case SN_CAUSAL_CHOICE_LINES:
		add_hottest(maker, profile->lines, program->lines.count, choice->count, add_line);
		break;
	case SN_CAUSAL_CHOICE_REGIONS:
		add_hottest(maker, profile->functions, program->functions.count, choice->count,
			    add_region);
		break;
	default:
		break;
	}
}

static sn_status add_word(struct maker *maker, const char *word, struct sn_error *err)
{
	struct sn_causal_choice choice;
	sn_status status = sn_causal_choice_parse(word, &choice, err);

	if (status != SN_OK)
		return status;
	if (choice.kind == SN_CAUSAL_CHOICE_LOCK && !add_lock(maker, choice.name))
		return sn_error_set(
			err, SN_ERR_NOT_FOUND,
			"--target: no file of '%s' with a build-id has a variable '%s'; a "
			"lock must lie in a global or static one (sonde record --sync and "
			"show locks name those of a run)",
			sn_experiment_given_path(maker->analysis->experiment), choice.name);
	if (choice.kind == SN_CAUSAL_CHOICE_NAME && !add_named(maker, word))
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "--target: no sample of '%s' lies in a loop, function or line "
				    "'%s' of a file with a build-id; 'loops', 'functions', 'lines' "
				    "and 'regions' take the hottest",
				    sn_experiment_given_path(maker->analysis->experiment), word);
	add_hottest_of(maker, &choice);
	return SN_OK;
}

sn_status sn_causal_page_add_candidates(struct sn_causal_control *page, struct sn_causal_log *log,
					const struct sn_analysis *analysis, const char *what,
					bool with_callees, struct sn_error *err)
{
	struct maker maker = { page, log, analysis, with_callees, "function" };
	char *words = sn_strdup(what), *next = words;
	sn_status status = SN_OK;

	while (next && status == SN_OK) {
		const char *word = sn_causal_next_word(&next);

		if (*word)
			status = add_word(&maker, word, err);
	}
	free(words);
	return status;
}

/* ---- progress points ---- */

void sn_causal_page_add_beat(struct sn_causal_control *page, uint32_t number, const char *name)
{
	struct sn_causal_progress *point = &page->points[number];

	snprintf(point->name, sizeof(point->name), "%s", name);
	atomic_store(&point->is_taken, 1);
	atomic_store(&point->kind, SN_CAUSAL_BEAT);
}

static uint64_t find_loop(const struct sn_analysis *analysis, const char *name, uint32_t *module)
{
	uint32_t ranked = sn_causal_is_rank(name) ? loop_of_rank(analysis, name) : SN_NONE;

	for (uint32_t l = 0; l < analysis->program->loops.count; l++) {
		const struct sn_program_loop *loop = &analysis->program->loops.items[l];

		if (l != ranked && strcmp(loop->code->id, name) != 0)
			continue;
		*module = loop->module;
		return loop->code->header_link_addr;
	}
	return 0;
}

static uint64_t find_in_module(const struct sn_module *module, const char *name)
{
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;
	uint64_t found = 0;

	/* the file itself: an extract has only what samples met */
	if (module->kind == SN_MODULE_FILE &&
	    sn_image_open(module->path, NULL, &image, NULL) == SN_OK &&
	    !strcmp(sn_image_id(image), module->build_id) &&
	    sn_structure_open(image, &structure, NULL) == SN_OK)
		found = sn_causal_place_find(structure, name);
	sn_structure_free(structure);
	sn_image_free(image);
	return found;
}

/* In which turn a place is looked for in the module; -1: in none. */
static int turn_of(const struct sn_module *module)
{
	enum sn_module_class class = sn_module_class_of(module);

	return module->is_main			  ? 0
	       : class == SN_MODULE_CLASS_BINARY  ? 1
	       : sn_module_class_is_chosen(class) ? 2
						  : -1;
}

sn_status sn_causal_page_add_place(struct sn_causal_control *page, uint32_t number,
				   const char *option, const char *name,
				   const struct sn_analysis *analysis, struct sn_error *err)
{
	struct sn_causal_progress *point = &page->points[number];
	const struct sn_experiment *experiment = analysis->experiment;
	uint32_t module = 0;
	uint64_t found = find_loop(analysis, name, &module);
	int in_page;

	/* the program, its own libraries, others; not the system's: libc has a function 'step' */
	for (int turn = 0; !found && turn < 3; turn++)
		for (uint32_t m = 0; !found && m < experiment->modules.count; m++) {
			if (turn_of(&experiment->modules.items[m]) != turn)
				continue;
			found = find_in_module(&experiment->modules.items[m], name);
			module = m;
		}
	if (!found)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "%s: there is no %sfunction, line or loop '%s' in this "
				    "program",
				    option, strcmp(option, "--latency") != 0 ? "heartbeat, " : "",
				    name);
	in_page = sn_causal_page_module(page, experiment->modules.items[module].build_id);
	if (in_page < 0)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "%s: '%s' is in '%s', which has no build-id; link it with "
				    "--build-id",
				    option, name, experiment->modules.items[module].path);
	point->module = (uint32_t)in_page;
	point->link_addr = found;
	snprintf(point->name, sizeof(point->name), "%s", name);
	atomic_store(&point->is_taken, 1);
	atomic_store(&point->kind, SN_CAUSAL_PLACE);
	return SN_OK;
}
