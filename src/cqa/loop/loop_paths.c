/* The blocks of a loop and the paths through them, by control flow alone or by where time was
 * observed. */
#include "cqa/loop/loop_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { STEPS_MAX = 20000, SMALL_BLOCK_BYTES = 12 }; /* (room), (chosen) */

static bool is_own_block(const struct sn_loop *loop, const struct sn_block *block)
{
	return block->loop == (int32_t)loop->index;
}

void sn_loop_body_find(const struct sn_loop *loop, struct loop_body *out)
{
	const struct sn_function *function = loop->function;
	const struct sn_block *header = sn_function_block_at(function, loop->header_link_addr);

	out->loop = loop;
	out->header = header ? (uint32_t)(header - function->blocks) : UINT32_MAX;
	out->block_count = 0;
	for (uint32_t r = 0; r < loop->range_count; r++) {
		const struct sn_block *first =
			sn_function_block_at(function, loop->ranges[r].first_link_addr);
		uint32_t i = first ? (uint32_t)(first - function->blocks) : function->block_count;

		for (; i < function->block_count &&
		       function->blocks[i].link_addr < loop->ranges[r].end_link_addr;
		     i++) {
			if (!is_own_block(loop, &function->blocks[i]))
				continue;
			if (out->block_count < LOOP_BLOCKS_MAX)
				out->blocks[out->block_count] = i;
			out->block_count++;
		}
	}
}

uint32_t sn_loop_body_place(const struct loop_body *body, uint32_t block)
{
	uint32_t low = 0, high = body->block_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (body->blocks[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < body->block_count && body->blocks[low] == block ? low : UINT32_MAX;
}

struct step {
	uint32_t block, next;
};

/* All ways from the header back to it, depth first without recursion. `is_cold` (may be NULL) says,
 * by block of the function, where not to go. */
static void enumerate_paths(const struct loop_body *body, const bool *is_cold,
			    struct loop_paths *out)
{
	const struct sn_function *function = body->loop->function;
	SN_VEC(struct step) stack = { 0 };
	uint64_t steps = 0;

	sn_vec_push(&stack, (struct step){ body->header, 0 });
	while (stack.count && !out->overflows) {
		size_t top = stack.count - 1;
		const struct sn_block *block = &function->blocks[stack.items[top].block];
		uint32_t successor;

		if (stack.items[top].next == block->successor_count ||
		    stack.count > body->block_count || ++steps > STEPS_MAX) {
			out->overflows |= steps > STEPS_MAX;
			stack.count--;
			continue;
		}
		successor = function->successors[block->first_successor + stack.items[top].next++];
		if (successor == body->header) {
			if (out->count == SN_CQA_PATHS_MAX) {
				out->overflows = true;
				break;
			}
			for (size_t i = 0; i < stack.count; i++)
				sn_vec_push(&out->blocks, stack.items[i].block);
			out->ends[out->count++] = (uint32_t)out->blocks.count;
		} else if (is_own_block(body->loop, &function->blocks[successor]) &&
			   !(is_cold && is_cold[successor])) {
			sn_vec_push(&stack, (struct step){ successor, 0 });
		}
	}
	sn_vec_free(&stack);
}

static double heat_of(const struct sn_block *block, const struct sn_heat *heat, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		if (heat[i].link_addr >= block->link_addr &&
		    heat[i].link_addr - block->link_addr < block->size_bytes)
			sum += heat[i].weight;
	return sum;
}

/* Blocks of the loop in an order in which each comes behind all that lead to it, the header first.
 * Returns how many could be ordered: fewer if the body has a cycle of its own. */
static uint32_t order_blocks(const struct loop_body *body, uint32_t *order)
{
	const struct sn_function *function = body->loop->function;
	uint32_t *waiting = sn_alloc_zeroed(body->block_count, sizeof(*waiting));
	uint32_t first = sn_loop_body_place(body, body->header), count = 0;

	for (uint32_t b = 0; b < body->block_count; b++) {
		const struct sn_block *block = &function->blocks[body->blocks[b]];

		for (uint32_t k = 0; k < block->successor_count; k++) {
			uint32_t to = sn_loop_body_place(
				body, function->successors[block->first_successor + k]);

			if (to != UINT32_MAX)
				waiting[to]++;
		}
	}
	if (first != UINT32_MAX)
		order[count++] = first;
	for (uint32_t at = 0; at < count; at++) {
		const struct sn_block *block = &function->blocks[body->blocks[order[at]]];

		for (uint32_t k = 0; k < block->successor_count; k++) {
			uint32_t to = sn_loop_body_place(
				body, function->successors[block->first_successor + k]);

			if (to != UINT32_MAX && to != first && --waiting[to] == 0)
				order[count++] = to;
		}
	}
	free(waiting);
	return count;
}

/* The way with the fewest bytes of cold code from the header to each block, and back. */
struct way {
	uint64_t bytes;
	uint32_t
		neighbour; /* place of the block before, or behind; UINT32_MAX: none, or the header */
};

static void way_take(struct way *way, uint64_t bytes, uint32_t neighbour)
{
	if (bytes < way->bytes)
		*way = (struct way){ bytes, neighbour };
}

static void ways_find(const struct loop_body *body, const bool *is_cold, const uint32_t *order,
		      struct way *in, struct way *back)
{
	const struct sn_function *function = body->loop->function;

	for (uint32_t i = 0; i < body->block_count; i++)
		in[i] = back[i] = (struct way){ UINT64_MAX, UINT32_MAX };
	in[order[0]].bytes = 0;
	for (uint32_t at = 0; at < 2 * body->block_count; at++) {
		bool is_forward = at < body->block_count;
		uint32_t from = order[is_forward ? at : 2 * body->block_count - 1 - at];
		const struct sn_block *block = &function->blocks[body->blocks[from]];

		for (uint32_t k = 0; k < block->successor_count; k++) {
			uint32_t number = function->successors[block->first_successor + k];
			uint32_t to = sn_loop_body_place(body, number);
			uint64_t bytes = to == UINT32_MAX  ? 0
					 : is_cold[number] ? function->blocks[number].size_bytes
							   : 0;

			if (to == UINT32_MAX)
				continue;
			if (to == order[0] && !is_forward)
				way_take(&back[from], 0, UINT32_MAX);
			else if (to != order[0] && is_forward && in[from].bytes != UINT64_MAX)
				way_take(&in[to], in[from].bytes + bytes, from);
			else if (to != order[0] && !is_forward && back[to].bytes != UINT64_MAX)
				way_take(&back[from], back[to].bytes + bytes, to);
		}
	}
}

/* A block with samples was reached, and the loop went on from it, if only through blocks without samples: those on its
 * way with the fewest bytes are no longer cold. */
static void ways_keep(const struct loop_body *body, const bool *is_hot, bool *is_cold)
{
	uint32_t *order = sn_alloc_zeroed(body->block_count + 1, sizeof(*order));
	struct way *in = sn_alloc_zeroed(body->block_count + 1, sizeof(*in));
	struct way *back = sn_alloc_zeroed(body->block_count + 1, sizeof(*back));

	if (body->block_count && order_blocks(body, order) == body->block_count) {
		ways_find(body, is_cold, order, in, back);
		for (uint32_t b = 0; b < body->block_count; b++) {
			if (!is_hot[b] || in[b].bytes == UINT64_MAX || back[b].bytes == UINT64_MAX)
				continue;
			for (uint32_t at = b; at != UINT32_MAX; at = in[at].neighbour)
				is_cold[body->blocks[at]] = false;
			for (uint32_t at = b; at != UINT32_MAX; at = back[at].neighbour)
				is_cold[body->blocks[at]] = false;
		}
	}
	free(order);
	free(in);
	free(back);
}

/* The paths that took time, where there are too many to look at all. Blocks with less and less of
 * the loop's time are left out until the rest has few enough paths. Blocks of a few bytes may have
 * had no sample by chance and stay, as do those that lie on the only way of one with samples. */
static void enumerate_hot_paths(const struct loop_body *body, const struct sn_heat *heat,
				size_t count, struct loop_paths *out)
{
	static const double shares[] = { 0.001, 0.005, 0.02, 0.05 }; /* (chosen) */
	const struct sn_function *function = body->loop->function;
	bool *is_cold = sn_alloc_zeroed(function->block_count, sizeof(bool));
	bool *is_hot = sn_alloc_zeroed(body->block_count + 1, sizeof(bool));
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += heat[i].weight;
	for (unsigned k = 0; k < sizeof(shares) / sizeof(*shares) && out->overflows && total > 0;
	     k++) {
		for (uint32_t b = 0; b < body->block_count; b++) {
			const struct sn_block *block = &function->blocks[body->blocks[b]];

			is_hot[b] = heat_of(block, heat, count) >= shares[k] * total;
			is_cold[body->blocks[b]] = body->blocks[b] != body->header &&
						   block->size_bytes > SMALL_BLOCK_BYTES &&
						   !is_hot[b];
		}
		ways_keep(body, is_hot, is_cold);
		out->blocks.count = out->count = 0;
		out->overflows = false;
		enumerate_paths(body, is_cold, out);
	}
	/* no way round is left: the samples tell nothing */
	out->overflows |= !out->count;
	free(is_cold);
	free(is_hot);
}

static uint64_t add_paths(uint64_t a, uint64_t b)
{
	return a + b < SN_CQA_PATHS_COUNTED ? a + b : SN_CQA_PATHS_COUNTED;
}

/* Ways from the header back to it; 0 if the body has a cycle of its own. */
static uint64_t count_paths(const struct loop_body *body)
{
	const struct sn_function *function = body->loop->function;
	uint32_t *order = sn_alloc_zeroed(body->block_count, sizeof(*order));
	uint64_t *ways = sn_alloc_zeroed(body->block_count, sizeof(*ways)), total = 0;
	uint32_t count = order_blocks(body, order);

	if (count)
		ways[order[0]] = 1;
	for (uint32_t at = 0; at < count; at++) {
		const struct sn_block *block = &function->blocks[body->blocks[order[at]]];

		for (uint32_t k = 0; k < block->successor_count; k++) {
			uint32_t to = sn_loop_body_place(
				body, function->successors[block->first_successor + k]);

			if (to == order[0])
				total = add_paths(total, ways[order[at]]);
			else if (to != UINT32_MAX)
				ways[to] = add_paths(ways[to], ways[order[at]]);
		}
	}
	free(order);
	free(ways);
	return count == body->block_count ? total : 0;
}

void sn_loop_paths_find(const struct loop_body *body, const struct sn_heat *heat, size_t heat_count,
			struct loop_paths *out)
{
	memset(out, 0, sizeof(*out));
	if (body->loop->is_irreducible || !body->loop->is_innermost)
		return;
	enumerate_paths(body, NULL, out);
	if (!out->count)
		return;
	out->has_any = true;
	out->total = out->overflows ? count_paths(body) : out->count;
	if (out->overflows && heat_count) {
		enumerate_hot_paths(body, heat, heat_count, out);
		out->is_pruned = !out->overflows;
	}
}

double sn_loop_body_frequencies(const struct loop_body *body, double *frequency)
{
	const struct sn_function *function = body->loop->function;
	uint32_t *order = sn_alloc_zeroed(body->block_count, sizeof(*order));
	uint32_t count = order_blocks(body, order);
	double taken = 0;

	if (count)
		frequency[order[0]] = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = order[i], staying = 0;
		const struct sn_block *block = &function->blocks[body->blocks[at]];
		const uint32_t *successors = &function->successors[block->first_successor];

		for (uint32_t k = 0; k < block->successor_count; k++)
			staying += sn_loop_body_place(body, successors[k]) != UINT32_MAX;
		for (uint32_t k = 0; k < block->successor_count; k++) {
			uint32_t to = sn_loop_body_place(body, successors[k]);

			if (to == UINT32_MAX)
				continue;
			if (function->blocks[successors[k]].link_addr !=
			    block->link_addr + block->size_bytes)
				taken += frequency[at] / staying;
			if (to != order[0])
				frequency[to] += frequency[at] / staying;
		}
	}
	free(order);
	return taken;
}
