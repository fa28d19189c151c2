/* A place as progress point: code that is inserted there counts arrivals, however many, where a breakpoint costs 25 us each. */
#include <string.h>

#include "cli/causal.h"
#include "rewrite/rewrite.h"

static const struct sn_module *module_of(const struct sn_cli_causal *c,
					 const struct sn_causal_progress *point)
{
	const struct sn_experiment *experiment = c->analysis->experiment;

	for (size_t m = 0; m < experiment->modules.count; m++) {
		const char *id = experiment->modules.items[m].build_id;

		if (*id && sn_causal_page_module(c->page, id) == (int)point->module)
			return &experiment->modules.items[m];
	}
	return NULL;
}

static void plan_in(struct sn_cli_causal *c, const struct sn_module *module, uint64_t link_addr)
{
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;

	/* the file itself: an extract has not all of the code */
	if (module->kind == SN_MODULE_FILE &&
	    sn_image_open(module->path, NULL, &image, NULL) == SN_OK &&
	    !strcmp(sn_image_id(image), module->build_id) &&
	    sn_structure_open(image, &structure, NULL) == SN_OK) {
		const struct sn_function *function;

		sn_structure_prepare(structure, &link_addr, 1, SN_PREPARE_CODE);
		function = sn_structure_function_at(structure, link_addr);
		if (function) {
			struct sn_rewriter *rewriter = sn_rewriter_new(image, structure);

			sn_rewriter_point(rewriter, function, link_addr, &c->point_plan);
			sn_rewriter_free(rewriter);
		}
	}
	sn_structure_free(structure);
	sn_image_free(image);
}

void sn_cli_causal_plan_point(struct sn_cli_causal *c)
{
	struct sn_causal_progress *point = &c->page->points[0];
	const struct sn_module *module;

	/* latencies want the time of each arrival */
	if (point->kind != SN_CAUSAL_PLACE || c->session.is_latency ||
	    !(module = module_of(c, point)))
		return;
	plan_in(c, module, point->link_addr);
	c->point_module = module->build_id;
	point->is_planned = c->point_plan.length != 0;
}

void sn_cli_causal_drop_plan(struct sn_cli_causal *c)
{
	sn_text_clear(&c->point_plan);
	c->page->points[0].is_planned = 0;
}
