/*
 * Adds one run after the other to a tree of call paths with a time for each side; at the end small
 * branches are cut off.
 */
#include "compare/paths.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "compare/names.h"

/** A number of the function for both sides; the program itself may be called differently. */
static uint32_t name_of(struct sn_compare_paths *paths, const struct sn_profile *p,
			uint32_t function)
{
	const struct sn_program_function *f = &p->program->functions.items[function];
	const char *module = sn_program_module_name(p->program, f->module);
	bool is_main = f->module < p->experiment->modules.count &&
		       p->experiment->modules.items[f->module].is_main;
	struct sn_text key = { 0 };
	uint32_t number;

	sn_text_addf(&key, "%s\n", is_main ? "" : module);
	sn_text_add_bytes(&key, f->linkage_name, sn_compare_own_length(f->linkage_name));
	number = sn_intern(&paths->keys, key.chars, key.length);
	sn_text_free(&key);
	if (number == paths->names.count)
		sn_vec_push(&paths->names, (struct sn_compare_path_name){
						   sn_compare_own_name(&paths->arena, f->name),
						   sn_arena_strdup(&paths->arena, module) });
	return number;
}

static uint32_t path_of(struct sn_compare_paths *paths, uint32_t parent, uint32_t name)
{
	bool is_new;
	uint64_t *slot = sn_map_put(&paths->nodes, (uint64_t)(parent + 1) << 32 | name, &is_new);

	if (is_new) {
		*slot = paths->paths.count;
		sn_vec_push(&paths->paths,
			    (struct sn_compare_path){ .parent = parent, .name = name });
	}
	return (uint32_t)*slot;
}

/* A function that calls a part of itself is on the path once. */
static uint32_t step_add(struct sn_compare_paths *paths, const struct sn_profile *p, uint32_t path,
			 uint32_t function)
{
	const char *linkage_name = p->program->functions.items[function].linkage_name;
	uint32_t name = name_of(paths, p, function);
	bool is_part = linkage_name[sn_compare_own_length(linkage_name)] != '\0';

	return is_part && path != SN_NONE && paths->paths.items[path].name == name
		       ? path
		       : path_of(paths, path, name);
}

void sn_compare_paths_add(struct sn_compare_paths *paths, const struct sn_profile *p, int side)
{
	struct sn_step_vec steps = { 0 };

	paths->runs[side]++;
	for (uint32_t s = 0; s <= p->program->stack_count; s++) {
		uint32_t path = SN_NONE;

		if (!p->stacks[s].cpu_ns)
			continue;
		sn_program_stack_steps(p->program, s, &steps);
		for (size_t i = 0; i < steps.count; i++)
			if (steps.items[i].kind == SN_STEP_FUNCTION)
				path = step_add(paths, p, path, steps.items[i].index);
		if (path != SN_NONE)
			paths->paths.items[path].cpu_ns[side] += (double)p->stacks[s].cpu_ns;
	}
	sn_vec_free(&steps);
}

void sn_compare_paths_finish(struct sn_compare_paths *paths, double smallest_share)
{
	struct sn_compare_path *items = paths->paths.items;
	uint32_t *number = sn_alloc_zeroed(paths->paths.count + 1, sizeof(*number));
	double total[2] = { 0 };
	size_t kept = 0;

	for (size_t i = paths->paths.count; i-- > 0;)
		for (int side = 0; side < 2; side++) {
			double ns = items[i].cpu_ns[side];

			if (items[i].parent == SN_NONE)
				total[side] += ns;
			else
				items[items[i].parent].cpu_ns[side] += ns;
		}
	for (size_t i = 0; i < paths->paths.count; i++) {
		struct sn_compare_path path = items[i];

		/* A parent weighs at least as much as its child, so it is there. */
		number[i] = (uint32_t)kept;
		if (!(path.cpu_ns[0] > 0 && path.cpu_ns[0] >= smallest_share * total[0]) &&
		    !(path.cpu_ns[1] > 0 && path.cpu_ns[1] >= smallest_share * total[1]))
			continue;
		if (path.parent != SN_NONE)
			path.parent = number[path.parent];
		for (int side = 0; side < 2; side++)
			path.cpu_ns[side] /= fmax(1, (double)paths->runs[side]);
		items[kept++] = path;
	}
	paths->paths.count = kept;
	free(number);
}

void sn_compare_paths_free(struct sn_compare_paths *paths)
{
	sn_vec_free(&paths->paths);
	sn_vec_free(&paths->names);
	sn_map_free(&paths->nodes);
	sn_interner_free(&paths->keys);
	sn_arena_free(&paths->arena);
}
