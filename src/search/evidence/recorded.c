/*
 * Cuts a recorded run into regions. Threads that hardly worked are helpers and are left out, but
 * not those of an OpenMP team; so are processes that only started others (mpirun, a shell).
 */
#include "search/evidence/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "search/evidence/activity.h"

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

/* "f._omp_fn.0", ".omp_outlined." and the like: the body of a parallel region. */
static size_t outlined_stem(const char *linkage_name)
{
	const char *gcc = strstr(linkage_name, "._omp_fn."), *clang;

	if (gcc)
		return (size_t)(gcc - linkage_name);
	clang = strstr(linkage_name, ".omp_outlined");
	return clang ? (size_t)(clang - linkage_name) : SIZE_MAX;
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
	uint32_t *of_site; /* by place: the parallel region that is started there; SN_ALL: not
				     looked at, SN_ALL - 1: none */
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

static uint32_t region_of_function(struct region_maker *m, uint32_t function)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_function *f = &program->functions.items[function];
	size_t stem = outlined_stem(f->linkage_name);
	struct sn_member member = { .kind = "function", .parent = SN_ALL, .bytes = NAN };
	struct sn_text name = { 0 };

	if (m->of_function[function] != SN_ALL)
		return m->of_function[function];
	member.id = function_id(program, function, m->r->structures, &m->id);
	member.function = member.name = f->name;
	member.file = f->file && f->line ? f->file : m->seen_files[function];
	member.line_first = f->line ? f->line : m->seen_lines[function];
	if (stem != SIZE_MAX) {
		member.kind = "parallel";
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

	if (*place != SN_ALL)
		return *place;
	member.id = code->id;
	member.name = code->label;
	member.function = program->functions.items[l->function].name;
	member.file = code->file;
	member.line_first = code->line_first;
	member.line_last = code->line_last;
	member.parent = l->parent == SN_NONE ? region_of_function(m, l->function)
					     : region_of_loop(m, l->parent);
	*place = region_add(m, &member, l->function, loop);
	return *place;
}

/* Of ranks the program of the busiest, not what started them. */
static const char *program_name(const struct sn_profile *profile)
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
	return path ? sn_base_name(path) : "the program";
}

static void program_region(struct region_maker *m)
{
	const struct sn_member member = { .id = "program",
					  .kind = "program",
					  .name = program_name(m->r->profile),
					  .parent = SN_ALL,
					  .bytes = NAN };

	region_add(m, &member, SN_NONE, SN_NONE);
}

/* ---- parallel regions by where they are started ---- */

enum { NO_SITE = SN_ALL - 1 };

/* The body of a parallel region may leave its own frame by a tail call: then only the call that
 * starts it tells that the stack is inside. */
static uint32_t region_of_site(struct region_maker *m, uint32_t place_index)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_place *place = &program->places.items[place_index];
	struct sn_member member = { .kind = "parallel", .parent = SN_ALL, .bytes = NAN };
	uint32_t *site = &m->of_site[place_index];
	struct sn_text id = { 0 }, name = { 0 };

	if (*site != SN_ALL)
		return *site;
	*site = NO_SITE;
	if (!m->has_openmp || !sn_starts_parallel(program, m->r->structures, place))
		return NO_SITE;
	member.function = program->functions.items[place->function].name;
	sn_text_addf(&name, "parallel region of %s", member.function);
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

/* The function that a parallel region's body is in is that region; so is the one that clang puts into it. */
static void outlined_join(struct region_maker *m, uint32_t site, size_t frame)
{
	const struct sn_program *program = m->r->profile->program;
	const struct sn_program_place *place = &program->places.items[program->frame_places[frame]];

	for (uint32_t k = 0; k < place->step_count; k++) {
		const struct sn_step *step = &program->steps.items[place->first_step + k];

		if (step->kind != SN_STEP_LOOP && m->of_function[step->index] == SN_ALL &&
		    outlined_stem(program->functions.items[step->index].linkage_name) != SIZE_MAX)
			m->of_function[step->index] = site;
	}
}

static void stack_read(struct region_maker *m, uint32_t stack)
{
	struct sn_recorded *r = m->r;
	const struct sn_program *program = r->profile->program;
	struct sn_stack_facts *facts = &r->stacks[stack];

	*facts = (struct sn_stack_facts){ .first = (uint32_t)r->stack_regions.count,
					  .leaf = SN_REGION_PROGRAM,
					  .parallel = SN_ALL };
	sn_vec_push(&r->stack_regions, (uint32_t)SN_REGION_PROGRAM);
	for (size_t i = program->first_frame[stack + 1]; i-- > program->first_frame[stack];) {
		uint32_t index = program->frame_places[i], site = NO_SITE;
		const struct sn_program_place *place = &program->places.items[index];

		for (uint32_t k = 0; k < place->step_count; k++)
			step_add(m, facts, &program->steps.items[place->first_step + k]);
		if (i > program->first_frame[stack])
			site = region_of_site(m, index);
		if (site == NO_SITE)
			continue;
		outlined_join(m, site, i - 1);
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
			uint32_t site = region_of_site(m, program->frame_places[i]);

			if (site != NO_SITE)
				outlined_join(m, site, i - 1);
		}
}

static void regions_find(struct sn_recorded *r, const struct sn_recorded *before)
{
	const struct sn_program *program = r->profile->program;
	size_t functions = program->functions.count + 1, loops = program->source_loop_count + 1;
	struct region_maker m = { .r = r };

	m.of_site = sn_alloc((program->places.count + 1) * sizeof(uint32_t));
	memset(m.of_site, 0xff, (program->places.count + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < program->experiment->modules.count; i++)
		m.has_openmp |= program->module_classes[i] == SN_MODULE_CLASS_OPENMP;
	m.of_function = sn_alloc(functions * sizeof(uint32_t));
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
	sn_text_free(&m.id);
	free(m.is_met);
	free(m.of_function);
	free(m.of_source_loop);
	free(m.seen_lines);
	free(m.seen_files);
}

/* ---- time by thread and stack ---- */

struct stack_time {
	uint64_t cpu_ns, system_ns, samples;
};

static void cells_flush(struct sn_recorded *r, uint32_t thread, struct stack_time *of_stack,
			uint32_t *touched, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct stack_time *t = &of_stack[touched[i]];
		struct sn_recorded_cell cell = { thread, touched[i], t->cpu_ns, t->system_ns,
						 t->samples };

		sn_vec_push(&r->cells, cell);
		of_stack[touched[i]] = (struct stack_time){ 0 };
	}
}

/* Samples are sorted by thread. */
static void cells_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint32_t stacks = r->profile->program->stack_count + 1, thread = SN_NONE;
	struct stack_time *of_stack = sn_alloc_zeroed(stacks, sizeof(*of_stack));
	uint32_t *touched = sn_alloc_zeroed(stacks, sizeof(*touched));
	size_t count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t stack = sample->stack < stacks - 1 ? sample->stack : stacks - 1;
		struct stack_time *t = &of_stack[stack];

		if (sample->thread != thread) {
			cells_flush(r, thread, of_stack, touched, count);
			count = 0;
			thread = sample->thread;
		}
		if (!sn_profile_has_sample(r->profile, sample))
			continue;
		if (!t->cpu_ns && !t->samples)
			touched[count++] = stack;
		t->cpu_ns += sample->cpu_ns;
		t->system_ns += sample->flags & SN_SAMPLE_SYSTEM ? sample->cpu_ns : 0;
		t->samples += !(sample->flags & SN_SAMPLE_REMAINDER);
		if (!t->cpu_ns && !t->samples)
			count--; /* a remainder of nothing */
	}
	cells_flush(r, thread, of_stack, touched, count);
	free(of_stack);
	free(touched);
}

/* ---- scope ---- */

static bool is_openmp(const struct sn_recorded *r, const struct sn_recorded_cell *cell)
{
	const struct sn_stack_facts *facts = &r->stacks[cell->stack];

	return facts->parallel != SN_ALL || (facts->activity >= SN_ACTIVITY_OMP_BARRIER &&
					     facts->activity <= SN_ACTIVITY_OMP_IDLE);
}

static uint64_t process_ns(const struct sn_recorded *r, uint32_t process)
{
	return r->profile->processes[process].cpu_ns;
}

/* Ranks, where there are any; else all that used a hundredth of the busiest one's CPU time. */
static bool is_in_scope(const struct sn_recorded *r, uint32_t process, uint64_t most)
{
	const struct sn_process *p = &r->profile->experiment->processes.items[process];

	if (r->has_ranks)
		return p->rank >= 0 && process_ns(r, process) * 1000 >= most;
	return process_ns(r, process) * 100 >= most;
}

static void thread_add(struct sn_recorded *r, uint32_t thread, uint32_t process_member)
{
	const struct sn_experiment *e = r->profile->experiment;
	char id[32];
	struct sn_member member = { .id = id, .parent = process_member, .bytes = NAN };

	snprintf(id, sizeof(id), "%d", e->threads.items[thread].tid);
	r->thread_members[thread] = sn_tables_add_member(r->tables, SN_KEY_THREAD, &member);
}

/* What the samples of a thread met, bits. */
enum { MET_OPENMP = 1, MET_PROGRAM = 2 };

static uint8_t cell_meets(const struct sn_recorded *r, const struct sn_recorded_cell *cell)
{
	if (is_openmp(r, cell))
		return MET_OPENMP;
	return cell->stack < r->profile->program->stack_count &&
			       r->stacks[cell->stack].activity != SN_ACTIVITY_RUNTIME
		       ? MET_PROGRAM
		       : 0;
}

/* The first thread of a process is one whatever it did. */
static bool is_lane(const struct sn_recorded *r, uint32_t thread, uint8_t met)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_thread *t = &e->threads.items[thread];

	return met & MET_OPENMP || t->tid == e->processes.items[t->process].pid ||
	       (r->profile->is_at_work[thread] && met & MET_PROGRAM);
}

static void process_add(struct sn_recorded *r, uint32_t process, const uint8_t *met)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_process *p = &e->processes.items[process];
	char id[32];
	struct sn_member member = { .id = id, .parent = SN_ALL, .bytes = NAN };
	uint32_t index;

	snprintf(id, sizeof(id), "%d", r->has_ranks ? p->rank : (int)process);
	member.name = id;
	index = sn_tables_add_member(r->tables, SN_KEY_PROCESS, &member);
	r->process_members[process] = index;
	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process == process && r->profile->thread_passes[t] &&
		    is_lane(r, t, met[t])) {
			thread_add(r, t, index);
			r->teams[index] += met[t] & MET_OPENMP;
		}
}

/* The longest of the processes: the phase is the whole run. */
static double phase_seconds(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	int64_t longest = 0;

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *p = &e->processes.items[i];
		int64_t from =
			p->start_ns > r->profile->from_ns ? p->start_ns : r->profile->from_ns;
		int64_t to = p->end_ns < r->profile->to_ns ? p->end_ns : r->profile->to_ns;

		if (r->process_members[i] != SN_ALL && to - from > longest)
			longest = to - from;
	}
	return longest > 0 ? (double)longest / 1e9 : NAN;
}

static void scope_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint8_t *met = sn_alloc_zeroed(e->threads.count + 1, 1);
	uint64_t most = 0;

	for (uint32_t p = 0; p < e->processes.count; p++) {
		r->has_ranks |= e->processes.items[p].rank >= 0;
		most = process_ns(r, p) > most ? process_ns(r, p) : most;
	}
	for (size_t i = 0; i < r->cells.count; i++)
		met[r->cells.items[i].thread] |= cell_meets(r, &r->cells.items[i]);
	for (uint32_t p = 0; p < e->processes.count; p++)
		if (is_in_scope(r, p, most))
			process_add(r, p, met);
	r->tables->phase_s = r->part ? r->part->phase_s : phase_seconds(r);
	free(met);
}

static void cells_keep_scope(struct sn_recorded *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->cells.count; i++)
		if (r->thread_members[r->cells.items[i].thread] != SN_ALL)
			r->cells.items[kept++] = r->cells.items[i];
	r->cells.count = kept;
}

/* ---- who is below whom ---- */

struct edge_sums {
	struct sn_recorded *r;
	struct sn_map of_pair;
};

static void edges_add(struct edge_sums *s, uint32_t stack, uint64_t ns)
{
	struct sn_recorded *r = s->r;
	const struct sn_stack_facts *facts = &r->stacks[stack];

	for (uint32_t i = 0; i < facts->count; i++) {
		uint32_t to = r->stack_regions.items[facts->first + i], from;
		uint64_t *place;
		bool is_new;

		r->region_ns[to] += ns;
		if (!i)
			continue;
		from = r->stack_regions.items[facts->first + i - 1];
		place = sn_map_put(&s->of_pair, (uint64_t)from << 32 | to, &is_new);
		if (is_new) {
			*place = r->edges.count;
			sn_vec_push(&r->edges, (struct sn_region_edge){ from, to, 0 });
		}
		r->edges.items[*place].ns += ns;
	}
}

static int edges_compare(const void *left, const void *right)
{
	const struct sn_region_edge *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static void edges_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	size_t regions = r->tables->members[SN_KEY_REGION].count;
	struct edge_sums sums = { .r = r };

	r->region_ns = sn_alloc_zeroed(regions, sizeof(*r->region_ns));
	r->stack_times =
		sn_alloc_zeroed(r->profile->program->stack_count + 1, sizeof(*r->stack_times));
	r->main_parents = sn_alloc(regions * sizeof(uint32_t));
	memset(r->main_parents, 0xff, regions * sizeof(uint32_t));
	for (size_t i = 0; i < r->cells.count; i++) {
		edges_add(&sums, r->cells.items[i].stack, r->cells.items[i].cpu_ns);
		r->stack_times[r->cells.items[i].stack].cpu_ns += r->cells.items[i].cpu_ns;
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint32_t stacks = r->profile->program->stack_count;
		uint32_t stack = wait->stack < stacks ? wait->stack : stacks;
		uint64_t ns = sn_profile_wait_ns(r->profile, wait);

		if (r->thread_members[wait->thread] == SN_ALL)
			continue;
		edges_add(&sums, stack, ns);
		r->stack_times[stack].blocked_ns += ns;
	}
	/* loops that ran as copies are there, too, where no sample met them */
	for (size_t i = 0; i < e->instances.count; i++)
		if (e->instances.items[i].stack != SN_NONE &&
		    r->thread_members[e->instances.items[i].thread] != SN_ALL)
			edges_add(&sums, e->instances.items[i].stack, 0);
	if (r->edges.count)
		qsort(r->edges.items, r->edges.count, sizeof(*r->edges.items), edges_compare);
	for (size_t i = 0; i < r->edges.count; i++)
		if (r->main_parents[r->edges.items[i].to] == SN_ALL)
			r->main_parents[r->edges.items[i].to] = r->edges.items[i].from;
	sn_map_free(&sums.of_pair);
}

/* ---- all ---- */

struct sn_recorded *sn_recorded_new(const struct sn_profile *profile,
				    struct sn_structures *structures,
				    const struct sn_machine_choice *machine)
{
	return sn_recorded_of_part(profile, structures, machine, NULL, NULL);
}

struct sn_recorded *sn_recorded_of_part(const struct sn_profile *profile,
					struct sn_structures *structures,
					const struct sn_machine_choice *machine,
					const struct sn_part *part,
					const struct sn_recorded *before)
{
	struct sn_recorded *r = sn_alloc_zeroed(1, sizeof(*r));
	size_t processes = profile->experiment->processes.count;
	size_t threads = profile->experiment->threads.count;

	r->part = part;
	r->profile = profile;
	r->structures = structures;
	r->machine = machine;
	r->tables = sn_tables_new();
	r->process_members = sn_alloc((processes + 1) * sizeof(uint32_t));
	r->thread_members = sn_alloc((threads + 1) * sizeof(uint32_t));
	memset(r->process_members, 0xff, (processes + 1) * sizeof(uint32_t));
	memset(r->thread_members, 0xff, (threads + 1) * sizeof(uint32_t));
	r->teams = sn_alloc_zeroed(processes + 1, sizeof(*r->teams));
	regions_find(r, before);
	cells_find(r);
	scope_find(r);
	cells_keep_scope(r);
	edges_find(r);
	for (uint32_t i = 0; before && i < before->tables->members[SN_KEY_REGION].count; i++)
		if (r->main_parents[i] == SN_ALL) /* not met in this part */
			r->main_parents[i] = before->main_parents[i];
	return r;
}

void sn_recorded_free(struct sn_recorded *r)
{
	if (!r)
		return;
	sn_tables_free(r->tables);
	sn_vec_free(&r->stack_regions);
	sn_vec_free(&r->cells);
	sn_vec_free(&r->edges);
	free(r->process_members);
	free(r->thread_members);
	free(r->stacks);
	free(r->main_parents);
	free(r->region_functions);
	free(r->region_loops);
	free(r->region_ns);
	free(r->stack_times);
	free(r->teams);
	free(r);
}

uint32_t sn_recorded_loop_region(const struct sn_recorded *r, uint32_t loop)
{
	const struct sn_program *program = r->profile->program;
	size_t regions = r->tables->members[SN_KEY_REGION].count;

	for (uint32_t g = 0; g < regions; g++)
		if (r->region_loops[g] != SN_NONE &&
		    program->loops.items[r->region_loops[g]].source_loop ==
			    program->loops.items[loop].source_loop)
			return g;
	return SN_ALL;
}

bool sn_recorded_is_process(const struct sn_process *process, int32_t pid, const char *host)
{
	return process->pid == pid && (!host || !strcmp(process->host, host));
}

uint32_t sn_recorded_part_thread(const struct sn_recorded *r, const struct sn_part_thread *account)
{
	const struct sn_experiment *e = r->profile->experiment;

	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].tid == account->tid && r->thread_members[t] != SN_ALL &&
		    sn_recorded_is_process(&e->processes.items[e->threads.items[t].process],
					   account->pid, account->host))
			return t;
	return SN_NONE;
}

void sn_recorded_add(struct sn_recorded *r, uint32_t column, uint32_t source, uint32_t region,
		     uint32_t thread, double seconds, double samples, double error_s)
{
	struct sn_value value = { .column = column,
				  .value = seconds,
				  .samples = samples,
				  .error = error_s,
				  .source = source };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_THREAD] = r->thread_members[thread];
	value.keys[SN_KEY_PROCESS] =
		r->tables->members[SN_KEY_THREAD].items[value.keys[SN_KEY_THREAD]].parent;
	sn_tables_add(r->tables, &value);
}
