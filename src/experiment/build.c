/*
 * An experiment being filled: stacks are interned by content, and arrays are sorted when all is
 * there.
 */
#include "experiment/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* The index of stacks by content stands behind the public structure, in one allocation. */
struct built_experiment {
	struct sn_experiment public;
	struct stack_slot {
		uint32_t hash, number; /* of the stack, from 1; 0: free */
	} * slots;
	size_t slot_count;
};

struct sn_experiment *sn_experiment_new(const char *name)
{
	struct built_experiment *built = sn_alloc_zeroed(1, sizeof(*built));
	struct sn_experiment *e = &built->public;

	e->path = sn_strdup(name);
	e->name = sn_arena_strdup(&e->arena, name);
	e->memory_bytes = -1;
	e->program = e->arguments = e->version = e->host = e->cpu_model = e->kernel = "";
	e->exit_status = -1;
	e->elapsed_ns = e->tree_user_ns = e->tree_system_ns = e->own_cpu_ns = -1;
	e->others_share = -1;
	return e;
}

/* Mixed once at the end: most frames of two stacks are the same, and there are millions. */
static uint32_t stack_hash(const struct sn_stack *stack)
{
	uint64_t hash = (uint64_t)stack->process << 32 | stack->flags;

	for (uint32_t i = 0; i < stack->depth; i++) {
		hash = (hash ^ stack->frames[i].link_addr ^
			(uint64_t)stack->frames[i].module << 48) *
		       0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return (uint32_t)sn_hash_u64(hash);
}

static bool stack_equals(const struct sn_stack *a, const struct sn_stack *b)
{
	if (a->process != b->process || a->depth != b->depth || a->flags != b->flags ||
	    a->joined != b->joined)
		return false;
	for (uint32_t i = 0; i < a->depth; i++)
		if (a->frames[i].module != b->frames[i].module ||
		    a->frames[i].link_addr != b->frames[i].link_addr)
			return false;
	return true;
}

static struct stack_slot *slot_of(struct built_experiment *built, const struct sn_stack *stack)
{
	size_t mask = built->slot_count - 1;
	uint32_t hash = stack_hash(stack);
	struct stack_slot *slot = &built->slots[hash & mask];

	for (size_t at = hash & mask; slot->number; slot = &built->slots[at = (at + 1) & mask])
		if (slot->hash == hash &&
		    stack_equals(&built->public.stacks.items[slot->number - 1], stack))
			return slot;
	slot->hash = hash;
	return slot;
}

static void slots_grow(struct built_experiment *built)
{
	size_t old_count = built->slot_count, mask;
	struct stack_slot *old = built->slots;

	built->slot_count = old_count ? old_count * 2 : 1024;
	built->slots = sn_alloc_zeroed(built->slot_count, sizeof(*built->slots));
	mask = built->slot_count - 1;
	for (size_t i = 0; i < old_count; i++) {
		size_t at = old[i].hash & mask;

		if (!old[i].number)
			continue;
		while (built->slots[at].number)
			at = (at + 1) & mask;
		built->slots[at] = old[i];
	}
	free(old);
}

uint32_t sn_experiment_add_joined_stack(struct sn_experiment *e, uint32_t process,
					const struct sn_frame *frames, uint32_t depth,
					uint32_t flags, uint32_t joined)
{
	struct built_experiment *built = (struct built_experiment *)e;
	struct sn_stack stack = { process, depth, flags, joined, frames };
	struct sn_frame *kept;
	struct stack_slot *slot;

	if (e->stacks.count >= built->slot_count / 2)
		slots_grow(built);
	slot = slot_of(built, &stack);
	if (!slot->number) {
		kept = sn_arena_array(&e->arena, struct sn_frame, depth);
		if (depth)
			memcpy(kept, frames, depth * sizeof(*kept));
		stack.frames = kept;
		sn_vec_push(&e->stacks, stack);
		slot->number = (uint32_t)e->stacks.count;
	}
	return slot->number - 1;
}

uint32_t sn_experiment_add_stack(struct sn_experiment *e, uint32_t process,
				 const struct sn_frame *frames, uint32_t depth, uint32_t flags)
{
	return sn_experiment_add_joined_stack(e, process, frames, depth, flags, 0);
}

uint32_t sn_experiment_add_event(struct sn_experiment *e, const char *name, uint64_t period)
{
	struct sn_event event = { .name = name, .period = period, .kernel_count = -1 };

	for (uint32_t i = 0; i < e->events.count; i++)
		if (!strcmp(e->events.items[i].name, name) && e->events.items[i].period == period)
			return i;
	event.name = sn_arena_strdup(&e->arena, name);
	sn_vec_push(&e->events, event);
	return (uint32_t)e->events.count - 1;
}

static int compare(int64_t ax, int64_t bx, int64_t ay, int64_t by)
{
	return ax != bx ? (ax > bx) - (ax < bx) : (ay > by) - (ay < by);
}

static int samples_compare(const void *a, const void *b)
{
	const struct sn_sample *x = a, *y = b;

	return compare(x->thread, y->thread, x->time_ns, y->time_ns);
}

static int event_counts_compare(const void *a, const void *b)
{
	const struct sn_event_count *x = a, *y = b;

	return compare(x->thread, y->thread, x->time_ns, y->time_ns);
}

static int waits_compare(const void *a, const void *b)
{
	const struct sn_wait *x = a, *y = b;

	return compare(x->thread, y->thread, x->time_ns, y->time_ns);
}

static int windows_compare(const void *a, const void *b)
{
	const struct sn_access_window *x = a, *y = b;

	return compare(x->thread, y->thread, x->begin_ns, y->begin_ns);
}

static int registers_compare(const void *a, const void *b)
{
	const struct sn_registers *x = a, *y = b;

	return compare(x->thread, y->thread, x->time_ns, y->time_ns);
}

static int packets_compare(const void *a, const void *b)
{
	const struct sn_packet *x = a, *y = b;

	return compare(x->process, y->process, x->time_ns, y->time_ns);
}

/* Data come nearly in order: looking first is ten times cheaper than sorting what is sorted. */
static void sort_if_needed(void *items, size_t count, size_t bytes,
			   int (*order)(const void *, const void *))
{
	const char *at = items;

	for (size_t i = 1; i < count; i++) {
		if (order(at + (i - 1) * bytes, at + i * bytes) > 0) {
			qsort(items, count, bytes, order);
			return;
		}
	}
}

static int trace_paths_compare(const void *a, const void *b)
{
	const struct sn_trace_path *x = a, *y = b;

	return compare(x->process, y->process, x->id, y->id);
}

void sn_experiment_sort(struct sn_experiment *e)
{
	sort_if_needed(e->samples.items, e->samples.count, sizeof(*e->samples.items),
		       samples_compare);
	sort_if_needed(e->waits.items, e->waits.count, sizeof(*e->waits.items), waits_compare);
	sort_if_needed(e->event_counts.items, e->event_counts.count, sizeof(*e->event_counts.items),
		       event_counts_compare);
	sort_if_needed(e->registers.items, e->registers.count, sizeof(*e->registers.items),
		       registers_compare);
	sort_if_needed(e->windows.items, e->windows.count, sizeof(*e->windows.items),
		       windows_compare);
	sort_if_needed(e->packets.items, e->packets.count, sizeof(*e->packets.items),
		       packets_compare);
	sort_if_needed(e->trace_paths.items, e->trace_paths.count, sizeof(*e->trace_paths.items),
		       trace_paths_compare);
}

void sn_experiment_free(struct sn_experiment *e)
{
	struct built_experiment *built = (struct built_experiment *)e;

	if (!e)
		return;
	free(built->slots);
	free(e->path);
	sn_vec_free(&e->warnings);
	sn_vec_free(&e->environment);
	sn_vec_free(&e->processes);
	sn_vec_free(&e->threads);
	sn_vec_free(&e->modules);
	sn_vec_free(&e->mappings);
	sn_vec_free(&e->stacks);
	sn_vec_free(&e->samples);
	sn_vec_free(&e->waits);
	sn_vec_free(&e->registers);
	sn_vec_free(&e->tallies);
	sn_vec_free(&e->events);
	sn_vec_free(&e->event_counts);
	sn_vec_free(&e->instances);
	sn_vec_free(&e->block_counts);
	sn_vec_free(&e->loop_callers);
	sn_vec_free(&e->buckets);
	sn_vec_free(&e->windows);
	sn_vec_free(&e->variants);
	sn_vec_free(&e->packets);
	sn_vec_free(&e->sequences);
	sn_vec_free(&e->transitions);
	sn_vec_free(&e->cpu_sums);
	sn_vec_free(&e->traces);
	sn_vec_free(&e->trace_paths);
	sn_arena_free(&e->arena);
	free(built);
}
