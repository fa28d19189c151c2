/* From a profile to plans that count the basic blocks of functions. */
#include <stdlib.h>

#include "base/alloc.h"
#include "rewrite/rewrite.h"
#include "whatif/plans.h"
#include "wire/plan.h"

struct maker {
	const struct sn_profile *profile;
	struct sn_loop_plans *out;
	size_t room;	  /* entries of plans */
	bool *is_counted; /* by the program's function */
};

struct module_functions {
	SN_VEC(const struct sn_function *) items;
	SN_VEC(uint32_t) numbers; /* of the program; SN_NONE: no sample met it */
};

static size_t entries_of(const struct sn_function *function)
{
	return (function->block_count + SN_RECORD_BLOCKS_MAX - 1) / SN_RECORD_BLOCKS_MAX;
}

/* If there is room for it. */
static void add(struct maker *maker, struct module_functions *to, struct sn_structure *structure,
		const struct sn_function *function, uint32_t number)
{
	sn_function_prepare(structure, function, SN_PREPARE_ALL);
	if (entries_of(function) > maker->room) {
		maker->out->left_out++;
		return;
	}
	maker->room -= entries_of(function);
	sn_vec_push(&to->items, function);
	sn_vec_push(&to->numbers, number);
}

static void add_sampled(struct maker *maker, struct module_functions *to,
			struct sn_structure *structure, uint32_t module, bool *is_in)
{
	const struct sn_program *program = maker->profile->program;

	for (uint32_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *known = &program->functions.items[f];
		const struct sn_function *function;

		if (known->module != module || !known->link_addr ||
		    !maker->profile->functions[f].inclusive.samples)
			continue;
		function = sn_structure_function_at(structure, known->link_addr);
		if (!function || function->link_addr != known->link_addr || is_in[function->index])
			continue;
		is_in[function->index] = true;
		add(maker, to, structure, function, f);
	}
}

static void refuse(struct maker *maker, uint32_t function, const char *why)
{
	struct sn_loop_refusal refusal = { .loop = function, .why = why };

	if (function != SN_NONE && maker->profile->functions[function].exclusive.samples)
		sn_vec_push(&maker->out->refusals, refusal);
}

static void plan(struct maker *maker, struct sn_image *image, struct sn_structure *structure,
		 const struct module_functions *functions, const char *id)
{
	struct sn_rewriter *rewriter = sn_rewriter_new(image, structure);
	const char **refusals = sn_alloc_zeroed(functions->items.count + 1, sizeof(*refusals));
	struct sn_module_plan made = { .id = id };

	maker->out->loops += sn_rewriter_blocks(rewriter, functions->items.items,
						functions->items.count, refusals, &made.bytes);
	for (size_t i = 0; i < functions->items.count; i++) {
		uint32_t number = functions->numbers.items[i];

		if (refusals[i])
			refuse(maker, number, refusals[i]);
		else
			maker->out->entries += entries_of(functions->items.items[i]);
		if (!refusals[i] && number != SN_NONE)
			maker->is_counted[number] = true;
	}
	if (made.bytes.length)
		sn_vec_push(&maker->out->modules, made);
	else
		sn_text_free(&made.bytes);
	free(refusals);
	sn_rewriter_free(rewriter);
}

static void plan_image(struct maker *maker, struct sn_image *image, uint32_t module)
{
	struct module_functions functions = { 0 };
	struct sn_structure *structure = NULL;
	bool *is_in;

	if (sn_structure_open(image, &structure, NULL) != SN_OK)
		return;
	is_in = sn_alloc_zeroed(sn_structure_function_count(structure) + 1, sizeof(*is_in));
	add_sampled(maker, &functions, structure, module, is_in);
	for (size_t f = 0; f < sn_structure_function_count(structure); f++)
		if (!is_in[f] && sn_structure_function(structure, f)->kind != SN_FUNCTION_GAP &&
		    sn_structure_function(structure, f)->kind != SN_FUNCTION_PLT)
			add(maker, &functions, structure, sn_structure_function(structure, f),
			    SN_NONE);
	plan(maker, image, structure, &functions,
	     maker->profile->experiment->modules.items[module].build_id);
	sn_vec_free(&functions.items);
	sn_vec_free(&functions.numbers);
	free(is_in);
	sn_structure_free(structure);
}

/* The C library and runtimes are left as they are: our own code calls them, too. */
static bool is_wanted(const struct maker *maker, uint32_t module)
{
	enum sn_module_class class = maker->profile->program->module_classes[module];

	return maker->profile->experiment->modules.items[module].is_main ||
	       (maker->profile->modules[module].exclusive.samples &&
		(sn_module_class_is_chosen(class) || class == SN_MODULE_CLASS_MATHS));
}

void sn_function_plans_make(const struct sn_profile *profile, struct sn_loop_plans *out)
{
	const struct sn_program *program = profile->program;
	struct maker maker = { .profile = profile, .out = out, .room = SN_PLAN_LOOPS_MAX };
	uint64_t covered_ns = 0;

	*out = (struct sn_loop_plans){ 0 };
	maker.is_counted = sn_alloc_zeroed(program->functions.count + 1, sizeof(bool));
	for (uint32_t m = 0; m < profile->experiment->modules.count; m++) {
		struct sn_image *image = NULL;
		const char *why;

		if (!is_wanted(&maker, m))
			continue;
		why = sn_plan_image_open(&profile->experiment->modules.items[m], &image);
		for (uint32_t f = 0; why && f < program->functions.count; f++)
			if (program->functions.items[f].module == m)
				refuse(&maker, f, why);
		if (!why)
			plan_image(&maker, image, m);
		sn_image_free(image);
	}
	for (size_t f = 0; f < program->functions.count; f++)
		if (maker.is_counted[f])
			covered_ns += profile->functions[f].exclusive.cpu_ns;
	out->covered_share = sn_share(covered_ns, profile->total.cpu_ns);
	free(maker.is_counted);
}
