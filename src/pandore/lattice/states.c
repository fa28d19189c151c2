/*
 * Makes the states of a count, one layer for each process. A state is what the processes before
 * have fixed for those after; equal states are one. Choices that lead to the same state are kept
 * as one run.
 */
#include "pandore/lattice/states.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"

enum { STATES_PER_CLOCK_READ = 256 };

/* What one layer's process tells the processes after it, in their order: for c events of it done,
 * row c - lo has `rest` pasts and `rest` futures, clipped to the interval. */
struct layer_tables {
	uint32_t lo, rest;
	uint32_t *past, *future;
	uint32_t *same_until; /* row -> last row with the same past and future */
	uint32_t *same_past_until;
};

struct making {
	struct sn_states *states;
	const struct sn_lattice_order *order;
	const uint32_t *a, *b;
	uint32_t *processes;
	const struct sn_interval_limits *limits;
	uint32_t *key; /* of the child in the making: needs, limits */
};

static uint32_t larger(uint32_t x, uint32_t y)
{
	return x > y ? x : y;
}

static uint32_t smaller(uint32_t x, uint32_t y)
{
	return x < y ? x : y;
}

static void fill_row(const struct making *m, struct layer_tables *tables, uint32_t layer,
		     uint32_t c)
{
	const uint32_t *past = sn_lattice_past(m->order, m->processes[layer], c);
	const uint32_t *future = sn_lattice_future(m->order, m->processes[layer], c);
	size_t row = (size_t)(c - tables->lo) * tables->rest;

	for (uint32_t j = 0; j < tables->rest; j++) {
		uint32_t q = m->processes[layer + 1 + j];

		tables->past[row + j] = larger(past[q], m->a[q]);
		tables->future[row + j] = smaller(future[q], m->b[q]);
	}
}

static void make_tables(const struct making *m, struct layer_tables *tables, uint32_t layer)
{
	uint32_t p = m->processes[layer], rows = m->b[p] - m->a[p] + 1;
	size_t bytes;

	tables->lo = m->a[p];
	tables->rest = m->states->layer_count - layer - 1;
	bytes = tables->rest * sizeof(uint32_t);
	tables->past = sn_alloc(rows * bytes);
	tables->future = sn_alloc(rows * bytes);
	tables->same_until = sn_alloc(rows * sizeof(uint32_t));
	tables->same_past_until = sn_alloc(rows * sizeof(uint32_t));
	for (uint32_t r = 0; r < rows; r++)
		fill_row(m, tables, layer, m->a[p] + r);
	tables->same_until[rows - 1] = tables->same_past_until[rows - 1] = rows - 1;
	for (uint32_t r = rows - 1; r-- > 0;) {
		size_t here = (size_t)r * tables->rest, next = here + tables->rest;
		bool same_past = !memcmp(tables->past + here, tables->past + next, bytes);
		bool same_future = !memcmp(tables->future + here, tables->future + next, bytes);

		tables->same_past_until[r] = same_past ? tables->same_past_until[r + 1] : r;
		tables->same_until[r] = same_past && same_future ? tables->same_until[r + 1] : r;
	}
}

static void free_tables(struct layer_tables *tables)
{
	free(tables->past);
	free(tables->future);
	free(tables->same_until);
	free(tables->same_past_until);
}

static uint64_t hash_key(const uint32_t *key, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i + 1 < count; i += 2) {
		hash ^= (uint64_t)key[i + 1] << 32 | key[i];
		hash *= 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	hash *= 0xbf58476d1ce4e5b9u;
	return hash ^ hash >> 32;
}

static void grow_slots(struct sn_state_layer *layer)
{
	layer->slot_count = layer->slot_count ? 2 * layer->slot_count : 64;
	free(layer->slots);
	layer->slots = sn_alloc_zeroed(layer->slot_count, sizeof(uint32_t));
	for (uint32_t s = 0; s < layer->count; s++) {
		size_t slot = hash_key(sn_state_key(layer, s), 2 * layer->width);

		while (layer->slots[slot & (layer->slot_count - 1)])
			slot++;
		layer->slots[slot & (layer->slot_count - 1)] = s + 1;
	}
}

/* The state with this key, made if new. */
static uint32_t intern_state(struct sn_state_layer *layer, const uint32_t *key)
{
	uint32_t size = 2 * layer->width;
	size_t slot, mask;

	if (layer->count >= layer->slot_count / 2)
		grow_slots(layer);
	mask = layer->slot_count - 1;
	slot = hash_key(key, size) & mask;
	for (; layer->slots[slot]; slot = (slot + 1) & mask) {
		const uint32_t *other = sn_state_key(layer, layer->slots[slot] - 1);
		uint32_t i = 0;

		while (i < size && other[i] == key[i])
			i++;
		if (i == size)
			return layer->slots[slot] - 1;
	}
	sn_vec_reserve(&layer->keys, layer->keys.count + size);
	memcpy(layer->keys.items + layer->keys.count, key, size * sizeof(uint32_t));
	layer->keys.count += size;
	sn_vec_push(&layer->arcs_wanted, 0);
	layer->slots[slot] = ++layer->count;
	return layer->count - 1;
}

/* The child reached with `past` of one row and `future` of another; `*lowest` is the least number
 * of events by which its cuts exceed the parent's needs. */
static uint32_t find_child(struct making *m, struct sn_state_layer *child_layer,
			   const uint32_t *parent, const struct layer_tables *tables,
			   uint32_t past_row, uint32_t future_row, uint32_t *lowest)
{
	uint32_t rest = tables->rest, sum = 0;
	const uint32_t *past = tables->past + (size_t)past_row * rest;
	const uint32_t *future = tables->future + (size_t)future_row * rest;
	const uint32_t *need = parent + 1, *limit = parent + rest + 2;

	for (uint32_t j = 0; j < rest; j++) {
		m->key[j] = larger(need[j], past[j]);
		sum += m->key[j] - need[j];
	}
	for (uint32_t j = 0; j < rest; j++)
		m->key[rest + j] = smaller(limit[j], future[j]);
	*lowest = sum;
	if (rest == 1) {
		m->key[1] -= m->key[0];
		m->key[0] = 0;
	}
	return intern_state(child_layer, m->key);
}

/* Lengthens the run if the next choices go on where it ended. */
static bool goes_on(struct sn_state_run *last, uint32_t child, uint32_t shift, uint32_t length)
{
	if (last->child != child || last->shift + last->length != shift)
		return false;
	last->length += length;
	return true;
}

/* Appends a run to a vector, unless it lengthens the last one of this state. */
#define PUSH_RUN(runs, first, child, shift, length)                                                \
	do {                                                                                       \
		if ((runs)->count == (first) ||                                                    \
		    !goes_on(&sn_vec_last(runs), (child), (shift), (length)))                      \
			sn_vec_push((runs), (struct sn_state_run){ (child), (shift), (length) });  \
	} while (0)

/* Choices lo .. hi (rows) of the layer's process lead to one child without a flag. With a flag, the
 * same, as long as the next event brings no news; otherwise the child of the next event's past. */
static void expand_rows(struct making *m, uint32_t layer, uint32_t state,
			const struct layer_tables *tables, uint32_t lo, uint32_t hi)
{
	struct sn_state_layer *own = &m->states->layers[layer], *next = own + 1;
	const uint32_t *key = sn_state_key(own, state);
	uint32_t need = key[0] - tables->lo, limit = key[own->width] - tables->lo;
	size_t plain_first = own->plain_first.items[state];
	size_t flagged_first = own->flagged_first.items[state];
	uint32_t lowest, flagged_hi = tables->same_past_until[lo] > hi ? hi + 1 : hi;
	uint32_t child = find_child(m, next, key, tables, lo, lo, &lowest);

	PUSH_RUN(&own->plain, plain_first, child, lo - need + lowest, hi - lo + 1);
	if (own->arcs_wanted.items[state])
		next->arcs_wanted.items[child] = 1;
	flagged_hi = smaller(flagged_hi, limit);
	if (flagged_hi > lo)
		PUSH_RUN(&own->flagged, flagged_first, child, lo - need + lowest, flagged_hi - lo);
	if (flagged_hi == hi && hi < limit) {
		child = find_child(m, next, key, tables, hi + 1, hi, &lowest);
		PUSH_RUN(&own->flagged, flagged_first, child, hi - need + lowest, 1);
	}
}

static void expand_state(struct making *m, uint32_t layer, uint32_t state,
			 const struct layer_tables *tables)
{
	struct sn_state_layer *own = &m->states->layers[layer];
	const uint32_t *key = sn_state_key(own, state);
	uint32_t row = key[0] - tables->lo, limit = key[own->width] - tables->lo;

	sn_vec_push(&own->plain_first, own->plain.count);
	sn_vec_push(&own->flagged_first, own->flagged.count);
	while (row <= limit) {
		uint32_t hi = smaller(tables->same_until[row], limit);

		expand_rows(m, layer, state, tables, row, hi);
		row = hi + 1;
	}
}

static uint64_t layer_bytes(const struct sn_state_layer *layer)
{
	return layer->keys.capacity * sizeof(uint32_t) + layer->slot_count * sizeof(uint32_t) +
	       (layer->plain.capacity + layer->flagged.capacity) * sizeof(struct sn_state_run) +
	       (layer->plain_first.capacity + layer->flagged_first.capacity) * sizeof(size_t);
}

static enum sn_interval_outcome check_limits(const struct making *m, uint32_t layer)
{
	const struct sn_state_layer *own = &m->states->layers[layer];
	uint64_t states = m->states->state_count + own->count + own[1].count;

	if (m->limits->states && states > m->limits->states)
		return SN_INTERVAL_STATES;
	if (m->limits->bytes &&
	    m->states->bytes + layer_bytes(own) + layer_bytes(own + 1) > m->limits->bytes)
		return SN_INTERVAL_STATES;
	if (m->limits->deadline_ns && sn_lattice_clock_ns() > m->limits->deadline_ns)
		return SN_INTERVAL_TIME;
	return SN_INTERVAL_DONE;
}

static enum sn_interval_outcome expand_layer(struct making *m, uint32_t layer)
{
	enum sn_interval_outcome outcome = SN_INTERVAL_DONE;
	struct sn_state_layer *own = &m->states->layers[layer];
	struct layer_tables tables;

	make_tables(m, &tables, layer);
	for (uint32_t s = 0; s < own->count && outcome == SN_INTERVAL_DONE; s++) {
		expand_state(m, layer, s, &tables);
		if (s % STATES_PER_CLOCK_READ == 0)
			outcome = check_limits(m, layer);
	}
	sn_vec_push(&own->plain_first, own->plain.count);
	sn_vec_push(&own->flagged_first, own->flagged.count);
	free_tables(&tables);
	free(own->slots);
	own->slots = NULL;
	own->slot_count = 0;
	m->states->state_count += own->count;
	m->states->bytes += layer_bytes(own);
	return outcome;
}

static void make_root(struct making *m)
{
	struct sn_state_layer *root = &m->states->layers[0];

	for (uint32_t k = 0; k < m->states->layer_count; k++) {
		m->key[k] = m->a[m->processes[k]];
		m->key[m->states->layer_count + k] = m->b[m->processes[k]];
	}
	if (m->states->layer_count == 1) {
		m->key[1] -= m->key[0];
		m->key[0] = 0;
	}
	intern_state(root, m->key);
	root->arcs_wanted.items[0] = 1;
}

static uint32_t *active_processes(const struct sn_lattice_order *order, const uint32_t *a,
				  const uint32_t *b, uint32_t *count)
{
	uint32_t *active = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));

	*count = 0;
	for (uint32_t p = 0; p < order->process_count; p++)
		if (a[p] < b[p])
			active[(*count)++] = p;
	return active;
}

enum sn_interval_outcome sn_states_make(struct sn_states *states,
					const struct sn_lattice_order *order, const uint32_t *a,
					const uint32_t *b, const struct sn_interval_limits *limits)
{
	struct making m = { .states = states, .order = order, .a = a, .b = b, .limits = limits };
	enum sn_interval_outcome outcome = SN_INTERVAL_DONE;

	*states = (struct sn_states){ 0 };
	m.processes = active_processes(order, a, b, &states->layer_count);
	sn_states_arrange(order, a, b, m.processes, states->layer_count);
	states->layers = sn_alloc_zeroed((size_t)states->layer_count + 1, sizeof(*states->layers));
	m.key = sn_alloc_zeroed(2 * (size_t)states->layer_count + 2, sizeof(uint32_t));
	for (uint32_t k = 0; k < states->layer_count; k++) {
		states->layers[k].process = m.processes[k];
		states->layers[k].width = states->layer_count - k;
	}
	if (states->layer_count)
		make_root(&m);
	for (uint32_t k = 0; k + 1 < states->layer_count && outcome == SN_INTERVAL_DONE; k++)
		outcome = expand_layer(&m, k);
	free(m.processes);
	free(m.key);
	if (outcome != SN_INTERVAL_DONE)
		sn_states_free(states);
	return outcome;
}

void sn_states_free(struct sn_states *states)
{
	for (uint32_t k = 0; k < states->layer_count; k++) {
		struct sn_state_layer *layer = &states->layers[k];

		sn_vec_free(&layer->keys);
		free(layer->slots);
		sn_vec_free(&layer->arcs_wanted);
		sn_vec_free(&layer->plain_first);
		sn_vec_free(&layer->flagged_first);
		sn_vec_free(&layer->plain);
		sn_vec_free(&layer->flagged);
	}
	free(states->layers);
	*states = (struct sn_states){ 0 };
}
