/*
 * From a profile to plans: modules are opened anew, as copies are made of the file's own bytes. The
 * loops that samples met are looked up in there by their headers.
 */
#include "whatif/plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rewrite/rewrite.h"
#include "wire/plan.h"

struct wanted {
	uint32_t loop; /* of the program, SN_NONE: not sampled */
	const struct sn_loop *code;
};

struct maker {
	const struct sn_profile *profile;
	struct sn_loop_plans *out;
	const struct sn_loop_choice *choice;
	uint32_t variants;
	size_t room;	  /* for loops that no sample met */
	bool *is_counted; /* by the program's loop */
};

/* ---- nests ---- */

static bool lies_in(const struct sn_program *program, uint32_t inner, uint32_t outer)
{
	while (inner != SN_NONE && inner != outer)
		inner = program->loops.items[inner].parent;
	return inner == outer;
}

static bool has_more_time(const struct sn_profile *profile, uint32_t a, uint32_t b)
{
	uint64_t of_a = profile->loops[a].exclusive.cpu_ns,
		 of_b = profile->loops[b].exclusive.cpu_ns;

	return of_a != of_b ? of_a > of_b : a < b;
}

void sn_loop_choice_keep_one_of_nest(const struct sn_profile *profile,
				     struct sn_loop_choice *choice)
{
	struct sn_loop_numbers *loops = &choice->loops;
	const struct sn_program *program = profile->program;
	size_t kept = 0;
	bool *is_out = sn_alloc_zeroed(loops->count + 1, sizeof(*is_out));

	for (size_t i = 0; i < loops->count; i++)
		for (size_t k = 0; k < loops->count; k++) {
			uint32_t a = loops->items[i], b = loops->items[k];

			is_out[i] |= a != b && has_more_time(profile, b, a) &&
				     (lies_in(program, a, b) || lies_in(program, b, a));
		}
	for (size_t i = 0; i < loops->count; i++)
		if (!is_out[i])
			loops->items[kept++] = loops->items[i];
	loops->count = kept;
	free(is_out);
}

/* ---- a module ---- */

static bool unmet_have(const struct sn_unmet_loops *loops, uint32_t module,
		       uint64_t header_link_addr)
{
	for (size_t i = 0; i < loops->count; i++)
		if (loops->items[i].module == module &&
		    loops->items[i].header_link_addr == header_link_addr)
			return true;
	return false;
}

static const struct sn_loop *loop_of(struct sn_structure *structure, uint64_t header_link_addr,
				     enum sn_prepare what)
{
	const struct sn_function *function = sn_structure_function_at(structure, header_link_addr);

	if (!function)
		return NULL;
	sn_function_prepare(structure, function, what);
	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].header_link_addr == header_link_addr)
			return &function->loops[l];
	return NULL;
}

static void refuse(struct maker *maker, uint32_t loop, const char *why)
{
	struct sn_loop_refusal refusal = { .loop = loop, .why = why };

	if (loop != SN_NONE)
		sn_vec_push(&maker->out->refusals, refusal);
}

/* One that was named, where no sample met it. */
static void refuse_unmet(struct maker *maker, uint32_t module, const struct sn_loop *code,
			 const char *why)
{
	struct sn_loop_refusal refusal = { .loop = SN_NONE, .why = why };

	if (!unmet_have(&maker->choice->unmet, module, code->header_link_addr))
		return;
	snprintf(refusal.label, sizeof(refusal.label), "%s", code->label);
	sn_vec_push(&maker->out->refusals, refusal);
}

static void plan_loops(struct maker *maker, struct sn_image *image, struct sn_structure *structure,
		       const struct wanted *wanted, size_t count, uint32_t module)
{
	struct sn_rewriter *rewriter = sn_rewriter_new(image, structure);
	const struct sn_loop **loops = sn_alloc_zeroed(count + 1, sizeof(*loops));
	const char **refusals = sn_alloc_zeroed(count + 1, sizeof(*refusals));
	struct sn_module_plan plan = {
		.id = maker->profile->experiment->modules.items[module].build_id
	};

	for (size_t i = 0; i < count; i++)
		loops[i] = wanted[i].code;
	maker->out->loops +=
		sn_rewriter_plan(rewriter, loops, count, maker->variants, refusals, &plan.bytes);
	for (size_t i = 0; i < count; i++) {
		if (refusals[i] && wanted[i].loop == SN_NONE)
			refuse_unmet(maker, module, wanted[i].code, refusals[i]);
		else if (refusals[i])
			refuse(maker, wanted[i].loop, refusals[i]);
		else if (wanted[i].loop != SN_NONE)
			maker->is_counted[wanted[i].loop] = true;
	}
	if (plan.bytes.length)
		sn_vec_push(&maker->out->modules, plan);
	else
		sn_text_free(&plan.bytes);
	free(loops);
	free(refusals);
	sn_rewriter_free(rewriter);
}

/* Of loops that no sample chose. */
static bool is_excluded(const struct maker *maker, uint32_t module, const struct sn_loop *code)
{
	const struct sn_loop_numbers *excluded = &maker->choice->excluded;

	for (size_t i = 0; i < excluded->count; i++) {
		const struct sn_program_loop *loop =
			&maker->profile->program->loops.items[excluded->items[i]];

		if (loop->module == module &&
		    loop->code->header_link_addr == code->header_link_addr)
			return true;
	}
	return unmet_have(&maker->choice->unmet_excluded, module, code->header_link_addr);
}

static void plan_image(struct maker *maker, struct sn_image *image, uint32_t module)
{
	const struct sn_program *program = maker->profile->program;
	SN_VEC(struct wanted) wanted = { 0 };
	struct sn_structure *structure = NULL;
	size_t sampled;

	if (sn_structure_open(image, &structure, NULL) != SN_OK)
		return;
	for (size_t i = 0; i < maker->choice->loops.count; i++) {
		uint32_t loop = maker->choice->loops.items[i];
		struct wanted one = { loop, NULL };

		if (program->loops.items[loop].module != module)
			continue;
		one.code = loop_of(structure, program->loops.items[loop].code->header_link_addr,
				   SN_PREPARE_CODE);
		if (one.code)
			sn_vec_push(&wanted, one);
	}
	for (size_t i = 0; i < maker->choice->unmet.count; i++) {
		const struct sn_unmet_loop *unmet = &maker->choice->unmet.items[i];
		struct wanted one = { SN_NONE, NULL };

		if (unmet->module == module)
			one.code = loop_of(structure, unmet->header_link_addr, SN_PREPARE_ALL);
		if (one.code)
			sn_vec_push(&wanted, one);
	}
	sampled = wanted.count;
	if (maker->choice->is_all) {
		sn_structure_prepare_all(structure, SN_PREPARE_CODE);
		for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
			const struct sn_function *function = sn_structure_function(structure, f);

			for (uint32_t l = 0; l < function->loop_count; l++) {
				struct wanted one = { SN_NONE, &function->loops[l] };
				bool is_there = is_excluded(maker, module, one.code);

				for (size_t i = 0; i < sampled; i++)
					is_there |= wanted.items[i].code == one.code;
				if (is_there)
					continue;
				if (maker->room) {
					maker->room--;
					sn_vec_push(&wanted, one);
				} else {
					maker->out->left_out++;
				}
			}
		}
	}
	plan_loops(maker, image, structure, wanted.items, wanted.count, module);
	sn_vec_free(&wanted);
	sn_structure_free(structure);
}

static void refuse_module(struct maker *maker, uint32_t module, const char *why)
{
	for (size_t i = 0; i < maker->choice->loops.count; i++)
		if (maker->profile->program->loops.items[maker->choice->loops.items[i]].module ==
		    module)
			refuse(maker, maker->choice->loops.items[i], why);
}

const char *sn_plan_image_open(const struct sn_module *module, struct sn_image **image)
{
	struct sn_image_options options = { .only_this_file = false };

	*image = NULL;
	if (module->kind != SN_MODULE_FILE ||
	    sn_image_open(module->path, &options, image, NULL) != SN_OK)
		return "its file cannot be read";
	if (!sn_image_has_build_id(*image))
		return "its file has no build-id (link with --build-id)";
	if (strcmp(sn_image_id(*image), module->build_id) != 0)
		return "its file is another one than was run";
	return NULL;
}

/* The program may have another name by now. */
static const char *open_renamed(const struct maker *maker, const struct sn_module *module,
				struct sn_image **image, const char *why)
{
	struct sn_module renamed = *module;
	struct sn_image *other;

	if (!why || !maker->choice->program || !module->is_main)
		return why;
	renamed.path = maker->choice->program;
	if (sn_plan_image_open(&renamed, &other)) {
		sn_image_free(other);
		return why;
	}
	sn_image_free(*image);
	*image = other;
	return NULL;
}

static void plan_module(struct maker *maker, uint32_t index)
{
	const struct sn_module *module = &maker->profile->experiment->modules.items[index];
	struct sn_image *image;
	const char *why = sn_plan_image_open(module, &image);

	why = open_renamed(maker, module, &image, why);
	if (why)
		refuse_module(maker, index, why);
	else
		plan_image(maker, image, index);
	sn_image_free(image);
}

static bool is_module_wanted(const struct maker *maker, uint32_t module)
{
	const struct sn_program *program = maker->profile->program;

	if (maker->choice->is_all && (maker->profile->experiment->modules.items[module].is_main ||
				      maker->profile->modules[module].exclusive.samples))
		return true;
	for (size_t i = 0; i < maker->choice->loops.count; i++)
		if (program->loops.items[maker->choice->loops.items[i]].module == module)
			return true;
	for (size_t i = 0; i < maker->choice->unmet.count; i++)
		if (maker->choice->unmet.items[i].module == module)
			return true;
	return false;
}

void sn_loop_choice_free(struct sn_loop_choice *choice)
{
	sn_vec_free(&choice->loops);
	sn_vec_free(&choice->unmet);
	sn_vec_free(&choice->excluded);
	sn_vec_free(&choice->unmet_excluded);
}

void sn_loop_plans_make(const struct sn_profile *profile, const struct sn_loop_choice *choice,
			uint32_t variants, struct sn_loop_plans *out)
{
	struct maker maker = {
		.profile = profile, .out = out, .choice = choice, .variants = variants
	};
	uint64_t covered_ns = 0;

	*out = (struct sn_loop_plans){ 0 };
	if (choice->loops.count < SN_PLAN_LOOPS_MAX)
		maker.room = SN_PLAN_LOOPS_MAX - choice->loops.count;
	maker.is_counted = sn_alloc_zeroed(profile->program->loops.count + 1, sizeof(bool));
	for (uint32_t m = 0; m < profile->experiment->modules.count; m++)
		if (is_module_wanted(&maker, m))
			plan_module(&maker, m);
	for (size_t l = 0; l < profile->program->loops.count; l++)
		if (maker.is_counted[l])
			covered_ns += profile->loops[l].exclusive.cpu_ns;
	out->entries = out->loops;
	out->covered_share = sn_share(covered_ns, profile->total.cpu_ns);
	free(maker.is_counted);
}

void sn_loop_plans_free(struct sn_loop_plans *plans)
{
	for (size_t i = 0; i < plans->modules.count; i++)
		sn_text_free(&plans->modules.items[i].bytes);
	sn_vec_free(&plans->modules);
	sn_vec_free(&plans->refusals);
}
