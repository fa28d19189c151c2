/* Sums up by which call paths threads came to loops. */
#include "profile/instance_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/companions.h"
#include "profile/instances.h"

/* A row of one thread in one loop. */
struct counts {
	uint64_t instances; /* exact */
	uint64_t stood_for; /* by the instances that were looked at */
	bool is_every;	    /* each was to be looked at */
};

struct sums {
	const struct sn_profile *counted;
	uint32_t *number_of; /* of a loop, in the program that is asked about */
	struct sn_map place; /* of counts, by loop and thread */
	struct counts *counts;
	size_t count;
};

/* A path as it was written, with what it stands for now. */
struct part {
	struct sn_instance_path path;
	double instances;
};

static uint32_t loop_of(const struct sums *sums, uint32_t thread, uint32_t stack)
{
	uint32_t loop;

	if (stack == SN_NONE || !sums->counted->thread_passes[thread])
		return SN_NONE;
	loop = sn_program_leaf(sums->counted->program, stack)->loop;
	return loop == SN_NONE ? SN_NONE : sums->number_of[loop];
}

static struct counts *counts_of(struct sums *sums, uint32_t loop, uint32_t thread)
{
	bool is_new;
	uint64_t *place = sn_map_put(&sums->place, (uint64_t)loop << 32 | thread, &is_new);

	if (is_new)
		*place = sums->count++;
	return &sums->counts[*place];
}

static void add_counts(struct sums *sums)
{
	const struct sn_experiment *e = sums->counted->experiment;

	sums->counts = sn_alloc_zeroed(e->instances.count + e->loop_callers.count + 1,
				       sizeof(*sums->counts));
	for (size_t i = 0; i < e->instances.count; i++) {
		const struct sn_loop_instances *from = &e->instances.items[i];
		uint32_t loop = loop_of(sums, from->thread, from->stack);
		struct counts *to;

		if (loop == SN_NONE)
			continue;
		to = counts_of(sums, loop, from->thread);
		to->instances += from->instances;
		to->is_every = from->every == 1;
	}
	for (size_t i = 0; i < e->loop_callers.count; i++) {
		const struct sn_loop_caller *from = &e->loop_callers.items[i];
		uint32_t loop = loop_of(sums, from->thread, from->stack);

		if (loop != SN_NONE)
			counts_of(sums, loop, from->thread)->stood_for += from->instances;
	}
}

/* The functions of a stack, outermost first. */
static void take_functions(const struct sn_program *program, uint32_t stack,
			   struct sn_step_vec *steps, struct sn_arena *arena,
			   struct sn_instance_path *to)
{
	uint32_t *functions;

	if (stack == SN_NONE)
		return;
	sn_program_stack_steps(program, stack, steps);
	functions = sn_arena_array(arena, uint32_t, steps->count + 1);
	for (size_t i = 0; i < steps->count; i++)
		if (steps->items[i].kind == SN_STEP_FUNCTION)
			functions[to->function_count++] = steps->items[i].index;
	to->functions = to->function_count ? functions : NULL;
}

static size_t take_parts(struct sums *sums, struct sn_arena *arena, struct part *parts)
{
	const struct sn_experiment *e = sums->counted->experiment;
	struct sn_step_vec steps = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < e->loop_callers.count; i++) {
		const struct sn_loop_caller *from = &e->loop_callers.items[i];
		uint32_t loop = loop_of(sums, from->thread, from->stack);
		const struct counts *counts;
		struct part *to = &parts[count];

		if (loop == SN_NONE)
			continue;
		counts = counts_of(sums, loop, from->thread);
		*to = (struct part){ .path = { .loop = loop,
					       .is_estimated = !counts->is_every,
					       .looked_at = from->looked_at,
					       .timed = from->timed,
					       .timed_iterations = from->iterations,
					       .timed_cycles = from->cycles },
				     .instances = (double)from->instances };
		/* those since the last that was looked at are as the ones before */
		if (!counts->is_every && counts->stood_for)
			to->instances *= (double)counts->instances / (double)counts->stood_for;
		take_functions(sums->counted->program, from->path, &steps, arena, &to->path);
		count++;
	}
	/* what nothing stands for */
	for (size_t i = 0; i < e->instances.count; i++) {
		const struct sn_loop_instances *from = &e->instances.items[i];
		uint32_t loop = loop_of(sums, from->thread, from->stack);
		struct counts *counts;

		if (loop == SN_NONE)
			continue;
		counts = counts_of(sums, loop, from->thread);
		if (counts->instances <= counts->stood_for ||
		    (!counts->is_every && counts->stood_for))
			continue;
		parts[count++] = (struct part){ .path = { .loop = loop },
						.instances = (double)(counts->instances -
								      counts->stood_for) };
		counts->instances = 0; /* once */
	}
	sn_vec_free(&steps);
	return count;
}

static int by_path(const void *a, const void *b)
{
	const struct sn_instance_path *x = &((const struct part *)a)->path;
	const struct sn_instance_path *y = &((const struct part *)b)->path;

	if (x->loop != y->loop)
		return x->loop < y->loop ? -1 : 1;
	if (!x->functions != !y->functions)
		return x->functions ? -1 : 1;
	for (size_t i = 0; i < x->function_count && i < y->function_count; i++)
		if (x->functions[i] != y->functions[i])
			return x->functions[i] < y->functions[i] ? -1 : 1;
	return x->function_count < y->function_count ? -1 : x->function_count > y->function_count;
}

static int by_instances(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->path.loop != y->path.loop)
		return x->path.loop < y->path.loop ? -1 : 1;
	if (!x->path.functions != !y->path.functions)
		return x->path.functions ? -1 : 1;
	if (x->instances != y->instances)
		return x->instances > y->instances ? -1 : 1;
	return by_path(a, b);
}

static size_t join_parts(struct part *parts, size_t count)
{
	size_t kept = 0;

	qsort(parts, count, sizeof(*parts), by_path);
	for (size_t i = 0; i < count; i++) {
		struct part *to = kept ? &parts[kept - 1] : NULL;

		if (!to || by_path(to, &parts[i]) != 0) {
			parts[kept++] = parts[i];
			continue;
		}
		to->instances += parts[i].instances;
		to->path.is_estimated |= parts[i].path.is_estimated;
		to->path.looked_at += parts[i].path.looked_at;
		to->path.timed += parts[i].path.timed;
		to->path.timed_iterations += parts[i].path.timed_iterations;
		to->path.timed_cycles += parts[i].path.timed_cycles;
	}
	qsort(parts, kept, sizeof(*parts), by_instances);
	return kept;
}

/* Whole numbers, whose sum is that of the loop. */
static void give(const struct part *parts, size_t count, struct sn_instance_paths *out)
{
	double before = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && parts[i].path.loop != parts[i - 1].path.loop)
			before = 0;
		out->items[i] = parts[i].path;
		out->items[i].instances =
			(uint64_t)(round(before + parts[i].instances) - round(before));
		before += parts[i].instances;
	}
	out->count = count;
}

void sn_instance_paths_find(const struct sn_profile *profile, struct sn_instance_paths *out)
{
	struct sums sums = { .counted = sn_profile_with_instances(profile) };
	const struct sn_experiment *e = sums.counted->experiment;
	size_t most = e->loop_callers.count + e->instances.count + 1, count;
	struct part *parts = sn_alloc_zeroed(most, sizeof(*parts));

	*out = (struct sn_instance_paths){ .counted = sums.counted };
	out->items = sn_arena_array(&out->arena, struct sn_instance_path, most);
	if (e->loop_callers.count) {
		sums.number_of = sn_loops_map(sums.counted->program, profile->program);
		add_counts(&sums);
		count = take_parts(&sums, &out->arena, parts);
		count = join_parts(parts, count);
		give(parts, count, out);
	}
	free(parts);
	free(sums.counts);
	free(sums.number_of);
	sn_map_free(&sums.place);
}

void sn_instance_paths_free(struct sn_instance_paths *paths)
{
	sn_arena_free(&paths->arena);
}
