/* What a breakpoint slows: code in the same line of the instruction cache (decision 0166). */
#include "causal/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "causal/elsewhere.h"
#include "causal/page_parts.h"
#include "code/image.h"

enum { CACHE_LINE_BYTES = 64 };

/* Whether a module of the experiment is the one that a place of the page lies in. */
static bool has_place(const struct sn_causal_control *page, const struct sn_causal_progress *point,
		      const struct sn_analysis *analysis, uint32_t module)
{
	struct sn_causal_module key;

	return sn_causal_module_of(analysis->experiment->modules.items[module].build_id, &key) &&
	       sn_causal_modules_are_equal(&page->modules[point->module], &key);
}

/* Whether ranges have code in a line of the instruction cache. */
static bool has_code_in(const struct sn_causal_code *code, uint64_t line_addr)
{
	for (size_t r = 0; r < code->ranges.count; r++)
		if (code->ranges.items[r].first_link_addr < line_addr + CACHE_LINE_BYTES &&
		    code->ranges.items[r].end_link_addr > line_addr)
			return true;
	return false;
}

double sn_causal_share_beside(const struct sn_causal_control *page, uint32_t number,
			      const struct sn_analysis *analysis, const char **name)
{
	const struct sn_program *program = analysis->program;
	const struct sn_profile *profile = analysis->profile;
	const struct sn_causal_progress *point = &page->points[number];
	uint64_t line_addr = point->link_addr & ~(uint64_t)(CACHE_LINE_BYTES - 1);
	uint64_t cpu_ns = 0, most_ns = 0;
	bool *is_counted = sn_alloc_zeroed(program->loops.count + 1, sizeof(*is_counted));

	*name = NULL;
	for (size_t l = 0; l < program->loops.count; l++) {
		const struct sn_program_loop *loop = &program->loops.items[l];
		struct sn_causal_code code = { .module = loop->module };

		if (!has_place(page, point, analysis, loop->module))
			continue;
		sn_causal_code_of_loop(loop->code, &code);
		is_counted[l] = has_code_in(&code, line_addr);
		sn_vec_free(&code.ranges);
		if (!is_counted[l])
			continue;
		cpu_ns += profile->loops[l].exclusive.cpu_ns;
		if (profile->loops[l].exclusive.cpu_ns > most_ns) {
			most_ns = profile->loops[l].exclusive.cpu_ns;
			*name = loop->code->label;
		}
	}
	for (size_t p = 0; p < program->places.count; p++) {
		const struct sn_program_place *place = &program->places.items[p];
		bool is_near = place->link_addr - line_addr < CACHE_LINE_BYTES;

		if (is_near && (place->loop == SN_NONE || !is_counted[place->loop]) &&
		    has_place(page, point, analysis, place->module)) {
			cpu_ns += profile->places[p].cpu_ns;
			if (profile->places[p].cpu_ns > most_ns) {
				most_ns = profile->places[p].cpu_ns;
				*name = program->functions.items[place->function].name;
			}
		}
	}
	free(is_counted);
	return sn_share(cpu_ns, profile->total.cpu_ns);
}

/* ---- another place ---- */

enum { PLACES_MOST = 8 };

static void add_where(struct sn_structure *structure, uint64_t link_addr, struct sn_text *where)
{
	struct sn_location at;

	if (!sn_structure_locate(structure, link_addr, &at))
		sn_text_addf(where, "0x%llx", (unsigned long long)link_addr);
	else if (at.frames[0].file && at.frames[0].line)
		sn_text_addf(where, "%s:%u in %s", sn_base_name(at.frames[0].file),
			     at.frames[0].line, at.frames[0].name);
	else
		sn_text_addf(where, "%s+0x%llx", at.frames[0].name,
			     (unsigned long long)(link_addr - at.function->link_addr));
}

static bool move_in(struct sn_causal_control *page, uint32_t number,
		    const struct sn_analysis *analysis, struct sn_structure *structure,
		    const struct sn_module *module, double share_most, struct sn_text *where)
{
	struct sn_causal_progress *point = &page->points[number];
	uint64_t places[PLACES_MOST], was = point->link_addr;
	size_t count =
		sn_causal_places_elsewhere(structure, was, module->is_main, places, PLACES_MOST);
	const char *name;

	for (size_t i = 0; i < count; i++) {
		point->link_addr = places[i];
		if (sn_causal_share_beside(page, number, analysis, &name) < share_most) {
			add_where(structure, places[i], where);
			return true;
		}
	}
	point->link_addr = was;
	return false;
}

bool sn_causal_move_place(struct sn_causal_control *page, uint32_t number,
			  const struct sn_analysis *analysis, double share_most,
			  struct sn_text *where)
{
	const struct sn_experiment *e = analysis->experiment;
	bool is_moved = false;

	for (uint32_t m = 0; m < e->modules.count && !is_moved; m++) {
		const struct sn_module *module = &e->modules.items[m];
		struct sn_structure *structure = NULL;
		struct sn_image *image = NULL;

		/* the file itself: an extract has only what samples met */
		if (module->kind == SN_MODULE_FILE &&
		    has_place(page, &page->points[number], analysis, m) &&
		    sn_image_open(module->path, NULL, &image, NULL) == SN_OK &&
		    !strcmp(sn_image_id(image), module->build_id) &&
		    sn_structure_open(image, &structure, NULL) == SN_OK)
			is_moved = move_in(page, number, analysis, structure, module, share_most,
					   where);
		sn_structure_free(structure);
		sn_image_free(image);
	}
	return is_moved;
}
