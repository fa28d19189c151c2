/* Regions of a recorded run: the program, its functions, loops and parallel regions, and which of them each stack lies in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/outlined.h"
#include "search/evidence/activity.h"
#include "search/evidence/recorded_parts.h"

/* ---- regions ---- */

static const char *function_id(const struct sn_program *program, uint32_t function,
			       struct sn_structures *structures, struct sn_text *text)
{
	const struct sn_program_function *f = &program->functions.items[function];
	const struct sn_module *module =
		f->module == SN_NONE ? NULL : &program->experiment->modules.items[f->module];
	struct sn_structure *structure =
		module && structures ? sn_structures_of(structures, f->module) : NULL;
	const struct sn_function *code = structure && f->link_addr
						 ? sn_structure_function_at(structure, f->link_addr)
						 : NULL;

	if (code)
		return sn_function_id(structure, code);
	sn_text_clear(text); /* only inlined copies were seen, or no code */
	sn_text_addf(text, "%s:%s", module && module->build_id ? module->build_id : "",
		     f->linkage_name);
	return text->chars;
}

static bool has_regions(const struct sn_program *program, uint32_t module)
{
	enum sn_module_class class;

	if (module == SN_NONE)
		return false;
	class = program->module_classes[module];
	return class != SN_MODULE_CLASS_OPENMP && class != SN_MODULE_CLASS_MPI &&
	       class != SN_MODULE_CLASS_SONDE && class != SN_MODULE_CLASS_KERNEL;
}

/* What starts a program or a thread is no place of the program. */
static bool is_start(const char *name)
{
	static const char *const names[] = { "_start",	     "__libc_start_main",
					     "clone3",	     "__libc_start_call_main",
					     "start_thread", "clone",
					     "__clone",	     "__libc_start_main@@GLIBC_2.34",
					     "__clone3" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The first line that was seen in a function whose declaration has none. */
static void lines_find(const struct sn_program *program, uint32_t *lines, const char **files)
{
	for (size_t i = 0; i < program->lines.count; i++) {
		const struct sn_program_line *line = &program->lines.items[i];

		if (line->line && (!lines[line->function] || line->line < lines[line->function])) {
			lines[line->function] = line->line;
			files[line->function] = line->file;
		}
	}
}

struct region_maker {
	struct sn_recorded *r;
	uint32_t *of_function;	  /* SN_ALL: not made yet */
	uint32_t *of_source_loop; /* likewise */
	/* parallel regions; SN_ALL: not looked at, NO_SITE: none */
	uint32_t *of_site; /* by place: that is started by the call there */
	uint32_t *
		of_opening; /* by place: that is started by the last call of what is called there */
	uint32_t *of_entry; /* by function: whose body has it as its outermost frame */
	struct sn_map opened; /* place << 32 | outermost function of the team's code, of openings */
	bool has_openmp;
	uint32_t *seen_lines;
	const char **seen_files;
	struct sn_text id;
	size_t room;
	uint32_t known; /* regions of another part, the first ones */
	bool *is_met;	/* of those: in this part, too */
};

static void room_make(struct region_maker *m, size_t regions)
{
	struct sn_recorded *r = m->r;

	if (regions <= m->room)
		return;
	m->room = regions < 256 ? 256 : 2 * regions;
	r->region_functions = sn_realloc_array(r->region_functions, m->room, sizeof(uint32_t));
	r->region_loops = sn_realloc_array(r->region_loops, m->room, sizeof(uint32_t));
}

/* Regions of another part, which keep their numbers. */
static void regions_keep(struct region_maker *m, const struct sn_recorded *before)
{
	const sn_member_vec *regions = &before->tables->members[SN_KEY_REGION];

	m->known = (uint32_t)regions->count;
	m->is_met = sn_alloc_zeroed(m->known + 1, sizeof(*m->is_met));
	room_make(m, m->known);
	for (uint32_t i = 0; i < m->known; i++) {
		sn_tables_add_member(m->r->tables, SN_KEY_REGION, &regions->items[i]);
		m->r->region_functions[i] = m->r->region_loops[i] = SN_NONE;
	}
}

static uint32_t region_add(struct region_maker *m, const struct sn_member *member,
			   uint32_t function, uint32_t loop)
{
	struct sn_recorded *r = m->r;
	uint32_t region = SN_ALL;

	if (m->known)
		region = sn_tables_member(r->tables, SN_KEY_REGION, SN_ALL, member->id);
	if (region >= m->known || m->is_met[region])
		region = sn_tables_add_member(r->tables, SN_KEY_REGION, member);
	else
		m->is_met[region] = true;
	room_make(m, region + 1);
	r->region_functions[region] = function;
	r->region_loops[region] = loop;
	return region;
}

/* An address in place of a name has its module behind it; borrows the text, or the name. */
static const char *name_with_module(const struct sn_program *program, const char *name,
				    uint32_t function, struct sn_text *text)
{
	uint32_t module = program->functions.items[function].module;

	if (!sn_name_is_address(name) || module == SN_NONE)
		return name;
	sn_text_clear(text);
	sn_text_addf(text, "%s (%s)", name, program->experiment->modules.items[module].name);
	return text->chars;
}

static uint32_t region_of_function(struct region_maker *m, uint32_t function)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_function *f = &program->functions.items[function];
	size_t stem = sn_outlined_stem(f->linkage_name);
	struct sn_member member = { .kind = "function", .parent = SN_ALL, .bytes = NAN };
	struct sn_text name = { 0 };

	if (m->of_function[function] != SN_ALL)
		return m->of_function[function];
	member.id = function_id(program, function, m->r->structures, &m->id);
	member.function = f->name;
	member.name = name_with_module(program, f->name, function, &name);
	member.file = f->file && f->line ? f->file : m->seen_files[function];
	member.line_first = f->line ? f->line : m->seen_lines[function];
	if (stem != SIZE_MAX) {
		member.kind = "parallel";
		sn_text_clear(&name);
		sn_text_add(&name, "parallel region");
		if (stem)
			sn_text_addf(&name, " of %.*s", (int)stem, f->linkage_name);
		member.name = name.chars;
	}
	m->of_function[function] = region_add(m, &member, function, SN_NONE);
	sn_text_free(&name);
	return m->of_function[function];
}

static uint32_t region_of_loop(struct region_maker *m, uint32_t loop)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_loop *l = &program->loops.items[loop];
	const struct sn_loop *code = sn_loop_main(l->code);
	uint32_t *place = &m->of_source_loop[l->source_loop];
	struct sn_member member = { .kind = "loop", .parent = SN_ALL, .bytes = NAN };
	struct sn_text name = { 0 };

	if (*place != SN_ALL)
		return *place;
	member.id = code->id;
	member.name = name_with_module(program, code->label, l->function, &name);
	member.function = program->functions.items[l->function].name;
	member.file = code->file;
	member.line_first = code->line_first;
	member.line_last = code->line_last;
	member.parent = l->parent == SN_NONE ? region_of_function(m, l->function)
					     : region_of_loop(m, l->parent);
	*place = region_add(m, &member, l->function, loop);
	sn_text_free(&name);
	return *place;
}

const char *sn_recorded_program(const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;
	const char *path = e->program;
	uint64_t most = 0;

	for (size_t i = 0; i < e->processes.count; i++)
		if (e->processes.items[i].rank >= 0 && e->processes.items[i].program &&
		    profile->processes[i].cpu_ns > most) {
			path = e->processes.items[i].program;
			most = profile->processes[i].cpu_ns;
		}
	return path;
}

static void program_region(struct region_maker *m)
{
	const char *path = sn_recorded_program(m->r->profile);
	const struct sn_member member = { .id = "program",
					  .kind = "program",
					  .name = path ? sn_base_name(path) : "the program",
					  .parent = SN_ALL,
					  .bytes = NAN };

	region_add(m, &member, SN_NONE, SN_NONE);
}

/* ---- parallel regions by where they are started ---- */

enum { NO_SITE = SN_ALL - 1 };

/* The region that is started at a place: by a call there, or by a function (`starter`) that was called there and
 * left by a tail call. */
static uint32_t site_add(struct region_maker *m, uint32_t place_index, const char *starter,
			 uint32_t *site)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_place *place = &program->places.items[place_index];
	struct sn_member member = { .kind = "parallel", .parent = SN_ALL, .bytes = NAN };
	struct sn_text id = { 0 }, name = { 0 };

	if (*site < NO_SITE)
		return *site;
	member.function = program->functions.items[place->function].name;
	sn_text_addf(&name, "parallel region of %s", starter ? starter : member.function);
	sn_text_addf(&id, "%s:parallel:%llx",
		     function_id(program, place->function, m->r->structures, &m->id),
		     (unsigned long long)place->link_addr);
	member.name = name.chars;
	member.id = id.chars;
	if (place->line != SN_NONE) {
		member.file = program->lines.items[place->line].file;
		member.line_first = program->lines.items[place->line].line;
	}
	*site = region_add(m, &member, place->function, SN_NONE);
	sn_text_free(&id);
	sn_text_free(&name);
	return *site;
}

/* The body of a parallel region may leave its own frame by a tail call: then only the call that
 * starts it tells that the stack is inside. */
static uint32_t region_of_call(struct region_maker *m, uint32_t place_index)
{
	const struct sn_program *program = m->r->profile->program;

	if (m->of_site[place_index] != SN_ALL)
		return m->of_site[place_index];
	m->of_site[place_index] = NO_SITE;
	return m->has_openmp && sn_starts_parallel(program, m->r->structures,
						   &program->places.items[place_index])
		       ? site_add(m, place_index, NULL, &m->of_site[place_index])
		       : NO_SITE;
}

static enum sn_module_class class_at(const struct sn_program *program, size_t frame)
{
	uint32_t module = program->places.items[program->frame_places[frame]].module;

	return program
		->module_classes[module == SN_NONE ? program->experiment->modules.count : module];
}

static const struct sn_program_function *function_at(const struct sn_program *program, size_t frame)
{
	return &program->functions
			.items[program->places.items[program->frame_places[frame]].function];
}

/* Whether what is inside of a frame of the program was started by it as a team's work. The starting call may be
 * its caller's last, and is then on no stack: a worker's stack that was joined, or the runtime's frame, tells. */
static bool is_opening(const struct sn_program *program, uint32_t stack, size_t frame)
{
	size_t first = program->first_frame[stack];

	if (frame == first ||
	    !has_regions(program, program->places.items[program->frame_places[frame]].module))
		return false;
	if (program->experiment->stacks.items[stack].joined == frame - first)
		return true;
	return class_at(program, frame - 1) == SN_MODULE_CLASS_OPENMP &&
	       function_at(program, frame - 1)->is_named &&
	       sn_is_parallel_start(function_at(program, frame - 1)->linkage_name);
}

/* The frame of a team's code inside of the one that opens its region, behind those of the runtime; the leaf where
 * there is none. */
static size_t team_frame(const struct sn_program *program, uint32_t stack, size_t opening)
{
	size_t frame = opening - 1;

	while (frame > program->first_frame[stack] &&
	       class_at(program, frame) == SN_MODULE_CLASS_OPENMP)
		frame--;
	return frame;
}

static uint64_t opened_key(const struct sn_program *program, uint32_t stack, size_t frame)
{
	size_t inner = team_frame(program, stack, frame);

	return (uint64_t)program->frame_places[frame] << 32 |
	       program->places.items[program->frame_places[inner]].function;
}

/* The region that a frame of a stack opens; NO_SITE: none. Of LLVM's runtime the thread that opens one shows no
 * frame of it: there its workers tell, whose stacks lead to the same code from the same place. */
static uint32_t region_of_site(struct region_maker *m, uint32_t stack, size_t frame)
{
	const struct sn_program *program = m->r->profile->program;
	uint32_t place = program->frame_places[frame], site;

	if (!m->has_openmp || frame == program->first_frame[stack])
		return NO_SITE;
	site = region_of_call(m, place);
	if (site != NO_SITE || stack >= program->stack_count)
		return site;
	if (is_opening(program, stack, frame)) {
		sn_map_put(&m->opened, opened_key(program, stack, frame), NULL);
		return site_add(m, place,
				sn_place_called(m->r->structures, &program->places.items[place]),
				&m->of_opening[place]);
	}
	return sn_map_get(&m->opened, opened_key(program, stack, frame)) ? m->of_opening[place]
									 : NO_SITE;
}

/* ---- stacks ---- */

static void stack_add(struct region_maker *m, struct sn_stack_facts *facts, uint32_t region)
{
	struct sn_recorded *r = m->r;
	bool is_known = false;

	for (size_t k = facts->first; k < r->stack_regions.count && !is_known; k++)
		is_known = r->stack_regions.items[k] == region;
	if (!is_known)
		sn_vec_push(&r->stack_regions, region);
	facts->leaf = region;
	if (!strcmp(r->tables->members[SN_KEY_REGION].items[region].kind, "parallel"))
		facts->parallel = region;
}

static void step_add(struct region_maker *m, struct sn_stack_facts *facts,
		     const struct sn_step *step)
{
	const struct sn_program *program = m->r->profile->program;
	bool is_loop = step->kind == SN_STEP_LOOP;
	const struct sn_program_function *function =
		is_loop ? NULL : &program->functions.items[step->index];
	uint32_t module = is_loop ? program->loops.items[step->index].module : function->module;

	if (!has_regions(program, module) || (function && is_start(function->linkage_name)))
		return;
	stack_add(m, facts,
		  is_loop ? region_of_loop(m, step->index) : region_of_function(m, step->index));
}

/* The function that a parallel region's body is in is that region; so is the one that clang puts into it. What
 * stands in its place where the body has left by a tail call is called by others, too: only a worker whose stack
 * shows nothing outside of it is in the region by that. */
static void outlined_join(struct region_maker *m, uint32_t site, uint32_t stack, size_t opening)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_place *place =
		&program->places.items[program->frame_places[team_frame(program, stack, opening)]];

	for (uint32_t k = 0; k < place->step_count; k++) {
		const struct sn_step *step = &program->steps.items[place->first_step + k];

		if (step->kind != SN_STEP_LOOP && m->of_function[step->index] == SN_ALL &&
		    sn_outlined_stem(program->functions.items[step->index].linkage_name) !=
			    SIZE_MAX)
			m->of_function[step->index] = site;
	}
	if (m->of_entry[place->function] == SN_ALL)
		m->of_entry[place->function] = site;
}

/* The region of a worker of which no caller is known: runtime's frames alone are outside of this one. NO_SITE:
 * none, or its code tells by itself. */
static uint32_t region_of_entry(struct region_maker *m, uint32_t stack, size_t frame)
{
	const struct sn_program *program = m->r->profile->program;
	uint32_t function = program->places.items[program->frame_places[frame]].function;
	struct sn_member member = { .kind = "parallel", .parent = SN_ALL, .bytes = NAN };
	struct sn_text id = { 0 }, name = { 0 };

	if (!m->has_openmp || frame + 1 >= program->first_frame[stack + 1] ||
	    class_at(program, frame + 1) != SN_MODULE_CLASS_OPENMP ||
	    !has_regions(program, program->places.items[program->frame_places[frame]].module) ||
	    sn_outlined_stem(program->functions.items[function].linkage_name) != SIZE_MAX)
		return NO_SITE;
	if (m->of_entry[function] != SN_ALL)
		return m->of_entry[function];
	member.function = program->functions.items[function].name;
	member.file = program->functions.items[function].file;
	member.line_first = program->functions.items[function].line;
	sn_text_addf(&name, "parallel region around %s", member.function);
	sn_text_addf(&id, "%s:parallel", function_id(program, function, m->r->structures, &m->id));
	member.name = name.chars;
	member.id = id.chars;
	m->of_entry[function] = region_add(m, &member, function, SN_NONE);
	sn_text_free(&id);
	sn_text_free(&name);
	return m->of_entry[function];
}

/* Whether a frame is a runtime's, or what that calls in the C library (outside of it: was_in_runtime): this has no regions
 * either. */
static bool is_of_runtime(const struct sn_program *program, size_t frame, bool was_in_runtime)
{
	switch (class_at(program, frame)) {
	case SN_MODULE_CLASS_MPI:
	case SN_MODULE_CLASS_OPENMP:
		return true;
	case SN_MODULE_CLASS_LIBC:
	case SN_MODULE_CLASS_LOADER:
	case SN_MODULE_CLASS_ALLOCATOR:
		return was_in_runtime;
	default:
		return false;
	}
}

static void stack_read(struct region_maker *m, uint32_t stack)
{
	struct sn_recorded *r = m->r;
	const struct sn_program *program = r->profile->program;
	struct sn_stack_facts *facts = &r->stacks[stack];
	bool is_in_runtime = false;
	uint32_t entry;

	*facts = (struct sn_stack_facts){ .first = (uint32_t)r->stack_regions.count,
					  .leaf = SN_REGION_PROGRAM,
					  .parallel = SN_ALL };
	sn_vec_push(&r->stack_regions, (uint32_t)SN_REGION_PROGRAM);
	for (size_t i = program->first_frame[stack + 1]; i-- > program->first_frame[stack];) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];
		uint32_t site;

		entry = facts->leaf == SN_REGION_PROGRAM ? region_of_entry(m, stack, i) : NO_SITE;
		if (entry != NO_SITE)
			stack_add(m, facts, entry);
		is_in_runtime = is_of_runtime(program, i, is_in_runtime);
		for (uint32_t k = 0; k < place->step_count && !is_in_runtime; k++)
			step_add(m, facts, &program->steps.items[place->first_step + k]);
		site = region_of_site(m, stack, i);
		if (site == NO_SITE)
			continue;
		outlined_join(m, site, stack, i);
		stack_add(m, facts, site);
	}
	facts->count = (uint32_t)(r->stack_regions.count - facts->first);
	facts->activity = (uint8_t)sn_activity_of(program, r->structures, stack);
}

/* Before any stack is read, so that the body of a parallel region is that region in all of them, also where a
 * stack does not show who started it. */
static void sites_find(struct region_maker *m)
{
	const struct sn_program *program = m->r->profile->program;

	for (uint32_t s = 0; m->has_openmp && s < program->stack_count; s++)
		for (size_t i = program->first_frame[s + 1]; i-- > program->first_frame[s] + 1;) {
			uint32_t site = region_of_site(m, s, i);

			if (site != NO_SITE)
				outlined_join(m, site, s, i);
		}
}

void sn_recorded_find_regions(struct sn_recorded *r, const struct sn_recorded *before)
{
	const struct sn_program *program = r->profile->program;
	size_t functions = program->functions.count + 1, loops = program->source_loop_count + 1;
	struct region_maker m = { .r = r };

	m.of_site = sn_alloc((program->places.count + 1) * sizeof(uint32_t));
	memset(m.of_site, 0xff, (program->places.count + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < program->experiment->modules.count; i++)
		m.has_openmp |= program->module_classes[i] == SN_MODULE_CLASS_OPENMP;
	m.of_function = sn_alloc(functions * sizeof(uint32_t));
	m.of_opening = sn_alloc((program->places.count + 1) * sizeof(uint32_t));
	memset(m.of_opening, 0xff, (program->places.count + 1) * sizeof(uint32_t));
	m.of_entry = sn_alloc(functions * sizeof(uint32_t));
	memset(m.of_entry, 0xff, functions * sizeof(uint32_t));
	m.of_source_loop = sn_alloc(loops * sizeof(uint32_t));
	memset(m.of_function, 0xff, functions * sizeof(uint32_t));
	memset(m.of_source_loop, 0xff, loops * sizeof(uint32_t));
	m.seen_lines = sn_alloc_zeroed(functions, sizeof(*m.seen_lines));
	m.seen_files = sn_alloc_zeroed(functions, sizeof(*m.seen_files));
	lines_find(program, m.seen_lines, m.seen_files);
	if (before)
		regions_keep(&m, before);
	program_region(&m);
	sites_find(&m);
	r->stacks = sn_alloc_zeroed(program->stack_count + 1, sizeof(*r->stacks));
	for (uint32_t s = 0; s <= program->stack_count; s++)
		stack_read(&m, s);
	free(m.of_site);
	free(m.of_opening);
	sn_map_free(&m.opened);
	free(m.of_entry);
	sn_text_free(&m.id);
	free(m.is_met);
	free(m.of_function);
	free(m.of_source_loop);
	free(m.seen_lines);
	free(m.seen_files);
}
