/**
 * The states of an interval count and the arcs between them (interval.h says what they mean).
 * Private to interval.c and states.c.
 */
#ifndef SN_LATTICE_STATES_H
#define SN_LATTICE_STATES_H

#include "pandore/lattice/interval.h"

/** `length` consecutive choices of a process that lead to one child: x^shift (1 + x + ..) of it. */
struct sn_state_run {
	uint32_t child, shift, length;
};

/**
 * Layer k: the states after k processes are fixed. Its own process is the next to choose; `width`
 * processes are left, that one included. The key of a state is `width` needs, then `width` limits;
 * in the last layer (width 1), where only the length matters, every need is 0.
 */
struct sn_state_layer {
	uint32_t process, width, count;
	SN_VEC(uint32_t) keys;
	uint32_t *slots; /* state + 1, open addressing; 0 = free */
	size_t slot_count;
	SN_VEC(uint8_t) arcs_wanted; /* reached without a flag: E(x) is needed too */
	/* Of state s: runs plain_first[s] .. plain_first[s+1], likewise flagged. */
	SN_VEC(size_t) plain_first;
	SN_VEC(size_t) flagged_first;
	SN_VEC(struct sn_state_run) plain;
	SN_VEC(struct sn_state_run) flagged;
};

struct sn_states {
	uint32_t layer_count; /* processes with events in the interval */
	struct sn_state_layer *layers;
	uint64_t state_count, bytes;
};

static inline const uint32_t *sn_state_key(const struct sn_state_layer *layer, uint32_t state)
{
	return layer->keys.items + (size_t)state * 2 * layer->width;
}

/** Makes all states, in an order of processes that keeps them few. Frees what it made if stopped.
 */
enum sn_interval_outcome sn_states_make(struct sn_states *states,
					const struct sn_lattice_order *order, const uint32_t *a,
					const uint32_t *b, const struct sn_interval_limits *limits);
void sn_states_free(struct sn_states *states);

/** An order of the `count` processes of `active` by which those that communicate stand close:
 *  reverse Cuthill-McKee (George and Liu 1981, chapter 4) on who waits for whom between the cuts.
 *  Reorders `active` in place. */
void sn_states_arrange(const struct sn_lattice_order *order, const uint32_t *a, const uint32_t *b,
		       uint32_t *active, uint32_t count);

#endif
