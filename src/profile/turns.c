/* Finds the calls of the program in which threads spin for their turn. */
#include "profile/turns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/outlined.h"

struct turn {
	const char *name; /* begins so */
	const char *kind;
};

/* libgomp's and libomp's */
static const struct turn turns_of[] = {
	{ "GOMP_critical_", "critical section" },
	{ "__kmpc_critical", "critical section" },
	{ "GOMP_atomic_start", "atomic update" },
	{ "__kmpc_atomic_", "atomic update" },
	{ "GOMP_ordered_start", "ordered block" },
	{ "GOMP_doacross_", "ordered block" },
	{ "__kmpc_ordered", "ordered block" },
	{ "__kmpc_doacross_", "ordered block" },
	{ "omp_set_lock", "lock" },
	{ "omp_set_nest_lock", "lock" },
	{ "__kmpc_set_lock", "lock" },
	{ "__kmpc_set_nest_lock", "lock" },
};

static const struct turn *turn_of(const char *called)
{
	for (size_t i = 0; called && i < sizeof(turns_of) / sizeof(*turns_of); i++)
		if (sn_starts_with(called, turns_of[i].name))
			return &turns_of[i];
	return NULL;
}

/* The frame of the stack that called the runtime; NULL: none did. */
static const struct sn_program_place *caller_of(const struct sn_program *program, uint32_t stack)
{
	size_t first = program->first_frame[stack], end = program->first_frame[stack + 1];

	for (size_t i = first; i < end; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		if (place->module == SN_NONE)
			return NULL;
		if (program->module_classes[place->module] != SN_MODULE_CLASS_OPENMP)
			return i > first ? place : NULL;
	}
	return NULL;
}

/* What the stack's caller calls to have its turn; NULL: it does not wait for one. */
static const char *called_by(const struct sn_profile *profile, struct sn_structures *structures,
			     uint32_t stack, const struct sn_program_place **caller)
{
	const struct sn_class *class = &profile->program->classes[stack];
	struct sn_structure *structure;
	const char *called;

	if (!profile->stacks[stack].cpu_ns || !class->is_spin || class->user != SN_CATEGORY_OPENMP)
		return NULL;
	*caller = caller_of(profile->program, stack);
	structure = *caller ? sn_structures_of(structures, (*caller)->module) : NULL;
	called = structure ? sn_called_name(structure, (*caller)->link_addr) : NULL;
	return turn_of(called) ? called : NULL;
}

uint8_t *sn_turns_stacks(const struct sn_profile *profile, struct sn_structures *structures)
{
	const struct sn_program_place *caller;
	uint8_t *out = NULL;

	for (uint32_t s = 0; structures && s < profile->program->stack_count; s++) {
		if (!called_by(profile, structures, s, &caller))
			continue;
		if (!out)
			out = sn_alloc_zeroed(profile->program->stack_count + 1, sizeof(*out));
		out[s] = 1;
	}
	return out;
}

void sn_turns_find(const struct sn_profile *profile, struct sn_structures *structures,
		   struct sn_turns *out)
{
	struct sn_map places = { 0 }; /* function and line -> ns */

	*out = (struct sn_turns){ .caller = SN_NONE, .line = SN_NONE };
	for (uint32_t s = 0; structures && s < profile->program->stack_count; s++) {
		const struct sn_program_place *caller;
		const char *called = called_by(profile, structures, s, &caller);
		uint64_t *ns;

		if (!called)
			continue;
		ns = sn_map_put(&places, (uint64_t)caller->function << 32 | caller->line, NULL);
		*ns += profile->stacks[s].cpu_ns;
		out->seconds += (double)profile->stacks[s].cpu_ns / 1e9;
		if ((double)*ns / 1e9 < out->place_seconds)
			continue;
		out->place_seconds = (double)*ns / 1e9;
		out->caller = caller->function;
		out->line = caller->line;
		out->called = called;
	}
	sn_map_free(&places);
}

const char *sn_turns_kind(const struct sn_turns *turns)
{
	const struct turn *turn = turn_of(turns->called);

	return turn ? turn->kind : "lock";
}

void sn_turns_add_place(const struct sn_program *program, const struct sn_turns *turns,
			struct sn_text *out)
{
	sn_text_add(out, program->functions.items[turns->caller].name);
	if (turns->line != SN_NONE)
		sn_text_addf(out, " (%s:%u)", sn_base_name(program->lines.items[turns->line].file),
			     program->lines.items[turns->line].line);
}
