/*
 * Code in which a thread waits for others, or does the work of a runtime: where a sample falls into that below a
 * target, the target is not what runs (docs/method/causal.md). Which modules are runtimes, and which code may be
 * theirs as well as the program's, is told as for categories (profile/category.h).
 */
#include "causal/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "causal/page_parts.h"

static bool is_runtime(enum sn_module_class class)
{
	return class == SN_MODULE_CLASS_MPI || class == SN_MODULE_CLASS_OPENMP;
}

/* What runtimes call, and programs. */
static bool may_be_anybodys(enum sn_module_class class)
{
	return class != SN_MODULE_CLASS_BINARY && class != SN_MODULE_CLASS_LIBRARY &&
	       class != SN_MODULE_CLASS_OTHER && !is_runtime(class);
}

static void add_range(struct sn_causal_control *page, int module, uint64_t first, uint64_t end,
		      enum sn_causal_range_kind kind)
{
	if (page->range_count == SN_CAUSAL_RANGES_MAX || first >= end)
		return;
	for (uint32_t r = page->first_runtime_range; r < page->range_count; r++)
		if (page->ranges[r].module == (uint32_t)module &&
		    page->ranges[r].first_link_addr == first &&
		    page->ranges[r].end_link_addr == end)
			return; /* of another process */
	page->ranges[page->range_count++] = (struct sn_causal_range){
		.first_link_addr = first,
		.end_link_addr = end,
		.module = (uint32_t)module,
		.kind = kind,
	};
}

/* Takes the ranges. */
static void add_code(struct sn_causal_control *page, const struct sn_analysis *analysis,
		     struct sn_causal_code *code, enum sn_causal_range_kind kind)
{
	const char *build_id = analysis->experiment->modules.items[code->module].build_id;
	int module = code->ranges.count ? sn_causal_page_module(page, build_id) : -1;

	for (size_t r = 0; module >= 0 && r < code->ranges.count; r++)
		add_range(page, module, code->ranges.items[r].first_link_addr,
			  code->ranges.items[r].end_link_addr, kind);
	sn_vec_free(&code->ranges);
}

static void add_function(struct sn_causal_control *page, const struct sn_analysis *analysis,
			 const struct sn_program_function *function, enum sn_causal_range_kind kind)
{
	struct sn_structure *structure = sn_structures_of(analysis->structures, function->module);
	const struct sn_function *code_function =
		structure && function->link_addr
			? sn_structure_function_at(structure, function->link_addr)
			: NULL;
	struct sn_causal_code code = { .module = function->module };

	if (code_function)
		sn_causal_code_of_function(code_function, &code);
	add_code(page, analysis, &code, kind);
}

/* Loops that look only whether another thread is done, and the calls that stand in such loops. */
static void add_spins(struct sn_causal_control *page, const struct sn_analysis *analysis)
{
	const struct sn_program *program = analysis->program;

	for (size_t l = 0; l < program->loops.count; l++) {
		struct sn_causal_code code = { .module = program->loops.items[l].module };

		if (!program->loops.items[l].busy_waits)
			continue;
		sn_causal_code_of_loop(program->loops.items[l].code, &code);
		add_code(page, analysis, &code, SN_CAUSAL_SPINS);
	}
	for (size_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *function = &program->functions.items[f];

		if (function->is_named && function->module != SN_NONE &&
		    program->module_classes[function->module] == SN_MODULE_CLASS_LIBC &&
		    (strstr(function->linkage_name, "pthread_spin_lock") ||
		     strstr(function->linkage_name, "sched_yield")))
			add_function(page, analysis, function, SN_CAUSAL_SPINS);
	}
}

/* Of runtimes that are linked into the program: as far as samples met them. */
static void add_static_runtimes(struct sn_causal_control *page, const struct sn_analysis *analysis)
{
	const struct sn_program *program = analysis->program;

	for (size_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *function = &program->functions.items[f];

		if (function->is_named && function->module != SN_NONE &&
		    program->module_classes[function->module] == SN_MODULE_CLASS_BINARY &&
		    is_runtime(sn_class_of_static_function(function->linkage_name)))
			add_function(page, analysis, function, SN_CAUSAL_WAITS);
	}
}

static void add_modules(struct sn_causal_control *page, const struct sn_analysis *analysis)
{
	const struct sn_experiment *e = analysis->experiment;

	for (size_t m = 0; m < e->mappings.count; m++) {
		const struct sn_mapping *mapping = &e->mappings.items[m];
		enum sn_module_class class = analysis->program->module_classes[mapping->module];
		int module = is_runtime(class) || may_be_anybodys(class)
				     ? sn_causal_page_module(
					       page, e->modules.items[mapping->module].build_id)
				     : -1;

		if (module >= 0)
			add_range(page, module, mapping->load_start - mapping->load_bias,
				  mapping->load_end - mapping->load_bias,
				  is_runtime(class) ? SN_CAUSAL_WAITS : SN_CAUSAL_PASSES);
	}
}

/* ---- samples ---- */

/* By module of the experiment: its number in the page, -1: it has none. */
static int *number_modules(const struct sn_causal_control *page, const struct sn_experiment *e)
{
	int *numbers = sn_alloc_zeroed(e->modules.count + 1, sizeof(*numbers));

	for (size_t m = 0; m < e->modules.count; m++) {
		struct sn_causal_module key;
		bool has_id = sn_causal_module_of(e->modules.items[m].build_id, &key);

		numbers[m] = -1;
		for (uint32_t p = 0; has_id && numbers[m] < 0 && p < page->module_count; p++)
			if (sn_causal_modules_are_equal(&page->modules[p], &key))
				numbers[m] = (int)p;
	}
	return numbers;
}

static bool is_in(const struct sn_causal_range *range, int module, uint64_t link_addr)
{
	return (int)range->module == module &&
	       link_addr - range->first_link_addr < range->end_link_addr - range->first_link_addr;
}

static bool is_in_target(const struct sn_causal_control *page, uint32_t target, int module,
			 uint64_t link_addr)
{
	for (uint32_t r = 0; r < page->targets[target].range_count; r++)
		if (is_in(&page->ranges[page->targets[target].first_range + r], module, link_addr))
			return true;
	return false;
}

static enum sn_causal_range_kind kind_of(const struct sn_causal_control *page, int module,
					 uint64_t link_addr)
{
	for (uint32_t r = page->first_runtime_range; r < page->range_count; r++)
		if (is_in(&page->ranges[r], module, link_addr))
			return page->ranges[r].kind;
	return SN_CAUSAL_OF_PROGRAM;
}

/* As processes judge a sample with this stack (runtime/causal/causal_handler.c). */
static bool is_hit(const struct sn_causal_control *page, const struct sn_program *program,
		   const int *modules, uint32_t target, uint32_t stack)
{
	size_t first = program->first_frame[stack], end = program->first_frame[stack + 1];
	bool may_wait = true;

	if (!(page->targets[target].flags & SN_CAUSAL_WITH_CALLEES) && end > first + 1)
		end = first + 1;
	for (size_t f = first; f < end; f++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[f]];
		int module = place->module == SN_NONE ? -1 : modules[place->module];
		enum sn_causal_range_kind kind =
			may_wait ? kind_of(page, module, place->link_addr) : SN_CAUSAL_OF_PROGRAM;

		if (f == first && kind == SN_CAUSAL_SPINS)
			return false;
		if (is_in_target(page, target, module, place->link_addr))
			return true;
		if (kind == SN_CAUSAL_WAITS)
			return false;
		may_wait = kind == SN_CAUSAL_PASSES;
	}
	return false;
}

double sn_causal_share_misjudged(const struct sn_causal_control *page,
				 const struct sn_analysis *analysis)
{
	const struct sn_program *program = analysis->program;
	int *modules = number_modules(page, analysis->experiment);
	uint64_t cpu_ns = 0;

	for (uint32_t stack = 0; stack < program->stack_count; stack++) {
		bool is_misjudged = false;

		for (uint32_t t = 0;
		     program->classes[stack].is_spin && t < page->target_count && !is_misjudged;
		     t++)
			is_misjudged = is_hit(page, program, modules, t, stack);
		if (is_misjudged)
			cpu_ns += analysis->profile->stacks[stack].cpu_ns;
	}
	free(modules);
	return sn_share(cpu_ns, analysis->profile->total.cpu_ns);
}

/* What runs below a target without the time in which it waits there. */
static double share_of(const struct sn_causal_control *page, const struct sn_analysis *analysis,
		       const int *modules, uint32_t target)
{
	uint64_t cpu_ns = 0;

	for (uint32_t stack = 0; stack < analysis->program->stack_count; stack++)
		if (is_hit(page, analysis->program, modules, target, stack))
			cpu_ns += analysis->profile->stacks[stack].cpu_ns;
	return sn_share(cpu_ns, analysis->profile->total.cpu_ns);
}

void sn_causal_page_add_runtimes(struct sn_causal_control *page, struct sn_causal_log *log,
				 const struct sn_analysis *analysis)
{
	int *modules;

	page->first_runtime_range = page->range_count;
	/* the first that holds an address decides: before the modules that they lie in */
	add_spins(page, analysis);
	add_static_runtimes(page, analysis);
	add_modules(page, analysis);
	modules = number_modules(page, analysis->experiment);
	for (uint32_t t = 0; t < page->target_count; t++)
		if (page->targets[t].range_count && page->targets[t].flags & SN_CAUSAL_WITH_CALLEES)
			log->candidates.items[t].cpu_share = share_of(page, analysis, modules, t);
	free(modules);
}
