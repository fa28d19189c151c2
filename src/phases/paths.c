/*
 * Reduces each stack to what phases are made of: functions and loops of the application. Libraries
 * and start-up code are left out.
 */
#include "phases/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static void loops_represent(struct sn_phase_paths *paths)
{
	const struct sn_program *program = paths->program;

	paths->loop_of = sn_alloc_zeroed(program->source_loop_count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < program->source_loop_count; i++)
		paths->loop_of[i] = SN_NONE;
	for (uint32_t i = 0; i < program->loops.count; i++) {
		const struct sn_program_loop *loop = &program->loops.items[i];
		uint32_t *slot = &paths->loop_of[loop->source_loop];

		if (*slot == SN_NONE || (program->loops.items[*slot].code->role != SN_LOOP_MAIN &&
					 loop->code->role == SN_LOOP_MAIN))
			*slot = i;
	}
}

/* In a static program the C library stands in the program's own file; stubs of the linker lead to
 * what they are called after. */
static bool function_is_library(const struct sn_program_function *function)
{
	if (sn_ends_with(function->linkage_name, "@plt"))
		return true;
	return function->is_named && !function->file && function->linkage_name[0] == '_' &&
	       sn_category_of_function(function->linkage_name) != SN_CATEGORIES;
}

/* Start-up code is on every path and says nothing. */
static bool function_is_start(const struct sn_program_function *function)
{
	static const char *const names[] = { "_start",
					     "__libc_start_main",
					     "__libc_start_call_main",
					     "clone",
					     "clone3",
					     "start_thread",
					     NULL };

	for (const char *const *name = names; *name; name++)
		if (!strcmp(function->linkage_name, *name))
			return true;
	return false;
}

static bool place_is_application(const struct sn_program *program,
				 const struct sn_program_place *place)
{
	const struct sn_program_function *function =
		&program->functions.items[program->steps.items[place->first_step].index];

	if (place->module == SN_NONE)
		return false;
	switch (program->module_classes[place->module]) {
	case SN_MODULE_CLASS_BINARY:
	case SN_MODULE_CLASS_LIBRARY:
	case SN_MODULE_CLASS_OTHER:
		return !function_is_library(function) && !function_is_start(function);
	default:
		return false;
	}
}

static void entity_add(struct sn_phase_paths *paths, size_t from, uint32_t entity)
{
	for (size_t i = from; i < paths->entities.count; i++)
		if (paths->entities.items[i] == entity) {
			if (entity < paths->function_count)
				paths->is_recursive[entity] = 1;
			return;
		}
	sn_vec_push(&paths->entities, entity);
}

/* The loop that an address is in, else the function whose code it is, not what was inlined there.
 */
static uint32_t leaf_entity(const struct sn_phase_paths *paths,
			    const struct sn_program_place *place)
{
	const struct sn_program *program = paths->program;

	if (place->loop != SN_NONE)
		return paths->function_count + program->loops.items[place->loop].source_loop;
	return place->step_count ? program->steps.items[place->first_step].index : place->function;
}

/* A path without any frame of the application is its leaf's alone. */
static void path_add(struct sn_phase_paths *paths, const uint8_t *is_application, uint32_t stack)
{
	const struct sn_program *program = paths->program;
	const struct sn_program_place *own = NULL;
	size_t from = paths->entities.count;
	bool is_back = false;

	for (size_t i = program->first_frame[stack + 1]; i-- > program->first_frame[stack];) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		if (!is_application[program->frame_places[i]]) {
			is_back = own != NULL;
			continue;
		}
		own = place;
		if (is_back && place->step_count)
			paths->is_called_back[program->steps.items[place->first_step].index] = 1;
		is_back = false;
		for (uint32_t s = 0; s < place->step_count; s++) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];

			if (paths->by_symbol && s && step->kind == SN_STEP_FUNCTION)
				continue;
			entity_add(paths, from,
				   step->kind == SN_STEP_FUNCTION
					   ? step->index
					   : paths->function_count +
						     program->loops.items[step->index].source_loop);
		}
	}
	if (!own)
		own = sn_program_leaf(program, stack);
	paths->leaf[stack] =
		own == sn_program_leaf(program, stack) ? leaf_entity(paths, own) : SN_NONE;
	paths->function[stack] =
		paths->by_symbol && own->step_count &&
				program->steps.items[own->first_step].kind == SN_STEP_FUNCTION
			? program->steps.items[own->first_step].index
			: own->function;
	paths->loop[stack] =
		own->loop == SN_NONE ? SN_NONE : program->loops.items[own->loop].source_loop;
}

static bool stack_is_between(const struct sn_phase_paths *paths, uint32_t stack)
{
	const struct sn_program *program = paths->program;

	if (paths->first[stack] < paths->entities.count)
		return false;
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		if (place->module != SN_NONE &&
		    program->module_classes[place->module] == SN_MODULE_CLASS_OPENMP)
			return true;
	}
	return false;
}

/* Indices of entities in the order of callers, and each caller's: indices[first[c] .. first[c + 1]).
 */
static size_t *by_caller(const struct sn_phase_paths *paths, size_t *first)
{
	size_t count = paths->entities.count;
	size_t *indices = sn_alloc_zeroed(count + 1, sizeof(*indices));

	for (size_t i = 0; i < count; i++)
		first[paths->entities.items[i] + 2]++;
	for (size_t e = 2; e < (size_t)paths->entity_count + 2; e++)
		first[e] += first[e - 1];
	for (size_t i = 0; i < count; i++)
		indices[first[paths->entities.items[i] + 1]++] = i;
	return indices;
}

/* Numbers the calls, caller by caller: a table by callee then tells which there are already. */
static void calls_number(struct sn_phase_paths *paths, const uint8_t *is_last)
{
	size_t entities = (size_t)paths->entity_count + 2;
	size_t *first = sn_alloc_zeroed(entities, sizeof(*first));
	size_t *indices = by_caller(paths, first);
	uint32_t *known = sn_alloc_zeroed(entities, sizeof(*known)); /* by callee: call + 1 */

	paths->call_of = sn_alloc_zeroed(paths->entities.count + 1, sizeof(uint32_t));
	for (uint32_t caller = 0; caller < paths->entity_count; caller++) {
		size_t calls_before = paths->calls.count;

		for (size_t i = first[caller]; i < first[caller + 1]; i++) {
			size_t at = indices[i];
			uint32_t callee = is_last[at] ? SN_NONE : paths->entities.items[at + 1];

			paths->call_of[at] = SN_NONE;
			if (callee == SN_NONE || sn_entity_is_loop(paths, callee) ||
			    paths->is_recursive[callee] || paths->is_called_back[callee])
				continue;
			if (known[callee] <= calls_before) {
				sn_vec_push(&paths->calls,
					    (struct sn_phase_call){ caller, callee });
				known[callee] = (uint32_t)paths->calls.count;
			}
			paths->call_of[at] = known[callee] - 1;
		}
	}
	free(first);
	free(indices);
	free(known);
}

static void calls_find(struct sn_phase_paths *paths)
{
	uint8_t *is_last = sn_alloc_zeroed(paths->entities.count + 1, 1);

	for (size_t s = 0; s <= paths->program->stack_count; s++)
		if (paths->first[s + 1] > paths->first[s])
			is_last[paths->first[s + 1] - 1] = 1;
	calls_number(paths, is_last);
	free(is_last);
}

struct sn_phase_paths *sn_phase_paths_new(const struct sn_program *program, bool by_symbol)
{
	struct sn_phase_paths *paths = sn_alloc_zeroed(1, sizeof(*paths));
	size_t count = (size_t)program->stack_count + 1;
	uint8_t *is_application = sn_alloc_zeroed(program->places.count + 1, 1);

	paths->program = program;
	paths->owners = 1;
	paths->by_symbol = by_symbol;
	paths->function_count = (uint32_t)program->functions.count;
	paths->entity_count = paths->function_count + program->source_loop_count;
	paths->function = sn_alloc_zeroed(count, sizeof(uint32_t));
	paths->loop = sn_alloc_zeroed(count, sizeof(uint32_t));
	paths->leaf = sn_alloc_zeroed(count, sizeof(uint32_t));
	paths->first = sn_alloc_zeroed(count + 1, sizeof(size_t));
	paths->is_recursive = sn_alloc_zeroed((size_t)paths->function_count + 1, 1);
	paths->is_between = sn_alloc_zeroed(count, 1);
	paths->is_called_back = sn_alloc_zeroed((size_t)paths->function_count + 1, 1);
	loops_represent(paths);
	for (size_t i = 0; i < program->places.count; i++)
		is_application[i] = place_is_application(program, &program->places.items[i]);
	for (uint32_t s = 0; s < count; s++) {
		paths->first[s] = paths->entities.count;
		path_add(paths, is_application, s);
		paths->is_between[s] = stack_is_between(paths, s);
	}
	paths->first[count] = paths->entities.count;
	calls_find(paths);
	free(is_application);
	return paths;
}

struct sn_phase_paths *sn_phase_paths_share(struct sn_phase_paths *paths)
{
	paths->owners++;
	return paths;
}

void sn_phase_paths_free(struct sn_phase_paths *paths)
{
	if (!paths || --paths->owners)
		return;
	free(paths->loop_of);
	free(paths->function);
	free(paths->loop);
	free(paths->leaf);
	free(paths->first);
	free(paths->call_of);
	sn_vec_free(&paths->calls);
	free(paths->is_recursive);
	free(paths->is_between);
	free(paths->is_called_back);
	sn_vec_free(&paths->entities);
	free(paths);
}
