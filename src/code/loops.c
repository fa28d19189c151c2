/* Natural loops of one function: from the loop forest of its blocks to what a reader sees. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/graph.h"
#include "code/structure_parts.h"

/* Deeper nests than this are folded into the loop at this depth, so that listing bodies stays
 * linear. */

struct finder {
	struct sn_structure *structure;
	struct sn_function *function;
	struct sn_arena arena; /* for the time of the search */
	struct sn_loop *loops;
	uint32_t *subtree;	/* loop -> loops in it, itself included */
	uint32_t *header_block; /* loop -> block */
	uint32_t loop_count;
	int32_t *loop_of_header;      /* block -> loop headed by it, -1 */
	struct sn_loop_forest forest; /* of nodes: block + 1, 0 is outside */
};

/* ---- the graph: node 0 stands for outside, node i + 1 for block i ---- */

static void add_edge(uint32_t *first, uint32_t *edges, uint32_t from, uint32_t to, bool is_counting)
{
	if (is_counting)
		first[from + 1]++;
	else
		edges[first[from]++] = to;
}

static void visit_edges(const struct sn_function *function, const uint32_t *extra,
			size_t extra_count, uint32_t *first, uint32_t *edges, bool is_counting)
{
	if (function->block_count)
		for (uint32_t b = 0; b < function->block_count; b++)
			if (function->blocks[b].link_addr == function->link_addr)
				add_edge(first, edges, 0, b + 1, is_counting);
	for (uint32_t b = 0; b < function->block_count; b++)
		for (uint32_t e = 0; e < function->blocks[b].successor_count; e++)
			add_edge(first, edges, b + 1,
				 function->successors[function->blocks[b].first_successor + e] + 1,
				 is_counting);
	for (size_t i = 0; i < extra_count; i++)
		add_edge(first, edges, extra[2 * i] == UINT32_MAX ? 0 : extra[2 * i] + 1,
			 extra[2 * i + 1] + 1, is_counting);
}

static struct sn_graph make_graph(struct finder *f, const uint32_t *extra, size_t extra_count)
{
	uint32_t nodes = f->function->block_count + 1;
	uint32_t *first = sn_arena_array(&f->arena, uint32_t, (size_t)nodes + 1);
	uint32_t *edges;

	visit_edges(f->function, extra, extra_count, first, NULL, true);
	for (uint32_t i = 0; i < nodes; i++)
		first[i + 1] += first[i];
	edges = sn_arena_array(&f->arena, uint32_t, (size_t)first[nodes] + 1);
	visit_edges(f->function, extra, extra_count, first, edges, false);
	/* filling moved each start to the next one's */
	memmove(first + 1, first, (size_t)nodes * sizeof(*first));
	first[0] = 0;
	return (struct sn_graph){ nodes, first, edges };
}

/* ---- loops in order: parents first, siblings by header ---- */

struct header {
	uint64_t link_addr;
	uint32_t block;
	int32_t parent; /* index in the sorted headers */
	int32_t first_child, next_sibling;
	uint16_t depth;
};

static int by_link_addr(const void *a, const void *b)
{
	const struct header *x = a, *y = b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

static int32_t header_above(const struct finder *f, uint32_t block)
{
	int32_t node = f->forest.header[block + 1];

	return node > 0 ? node - 1 : -1;
}

static struct header *sorted_headers(struct finder *f, uint32_t *count)
{
	const struct sn_function *function = f->function;
	struct header *headers;
	uint32_t n = 0;

	for (uint32_t b = 0; b < function->block_count; b++)
		n += f->forest.is_header[b + 1];
	headers = sn_arena_array(&f->arena, struct header, (size_t)n + 1);
	n = 0;
	for (uint32_t b = 0; b < function->block_count; b++)
		if (f->forest.is_header[b + 1])
			headers[n++] =
				(struct header){ function->blocks[b].link_addr, b, -1, -1, -1, 0 };
	qsort(headers, n, sizeof(*headers), by_link_addr);
	*count = n;
	return headers;
}

static void link_children(struct finder *f, struct header *headers, uint32_t count, int32_t *roots)
{
	int32_t *index_of = sn_arena_array(&f->arena, int32_t, f->function->block_count + 1u);

	*roots = -1;
	for (uint32_t i = 0; i < count; i++)
		index_of[headers[i].block] = (int32_t)i;
	for (uint32_t i = count; i-- > 0;) { /* backwards: lists come out by address */
		int32_t above = header_above(f, headers[i].block);
		int32_t *list = roots;

		if (above >= 0) {
			headers[i].parent = index_of[above];
			list = &headers[headers[i].parent].first_child;
		}
		headers[i].next_sibling = *list;
		*list = (int32_t)i;
	}
}

/* Headers that some jump back reaches otherwise than through a jump table. */
static bool *directly_closed(struct finder *f)
{
	enum { STEPS_MAX = 2 * SN_LOOP_DEPTH_MAX };
	const struct sn_function *function = f->function;
	bool *is_direct = sn_arena_array(&f->arena, bool, function->block_count + 1u);

	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		for (uint32_t e = 0; e < block->successor_count; e++) {
			uint32_t to = function->successors[block->first_successor + e];
			int32_t at = (int32_t)b;

			if (block->flags & SN_BLOCK_INDIRECT || !f->forest.is_header[to + 1])
				continue;
			for (int i = 0; i < STEPS_MAX && at >= 0 && at != (int32_t)to; i++)
				at = header_above(f, (uint32_t)at);
			is_direct[to] |= at == (int32_t)to;
		}
	}
	return is_direct;
}

/*
 * An interpreter that jumps from each instruction's code straight to the next one's is one loop to
 * its author. To the theory it is a region with hundreds of entries: the forest nests regions by
 * the order of a walk, and makes a loop of each piece that may follow itself. So what is
 * irreducible or closed by table jumps only, directly in an irreducible region, is no loop of its
 * own.
 */
static bool is_folded(const struct finder *f, const struct header *header, int32_t parent,
		      const bool *is_direct)
{
	if (parent < 0)
		return false;
	if (f->loops[parent].depth == SN_LOOP_DEPTH_MAX)
		return true;
	return f->loops[parent].is_irreducible &&
	       (f->forest.is_irreducible[header->block + 1] || !is_direct[header->block]);
}

/* Preorder over the nest, without recursion. */
static void list_loops(struct finder *f)
{
	const bool *is_direct = directly_closed(f);
	uint32_t count;
	struct header *headers = sorted_headers(f, &count);
	int32_t *stack = sn_arena_array(&f->arena, int32_t, (size_t)count + 1);
	int32_t *loop_of = sn_arena_array(&f->arena, int32_t, (size_t)count + 1);
	size_t depth = 0;
	int32_t at;

	f->loops = sn_arena_array(&f->structure->arena, struct sn_loop, count);
	f->header_block = sn_arena_array(&f->arena, uint32_t, (size_t)count + 1);
	f->subtree = sn_arena_array(&f->arena, uint32_t, (size_t)count + 1);
	link_children(f, headers, count, &at);
	while (at >= 0 || depth) {
		struct header *header;
		struct sn_loop *loop;
		int32_t parent;

		if (at < 0) {
			at = stack[--depth];
			continue;
		}
		header = &headers[at];
		if (header->next_sibling >= 0)
			stack[depth++] = header->next_sibling;
		parent = header->parent >= 0 ? loop_of[header->parent] : -1;
		if (is_folded(f, header, parent, is_direct)) {
			loop_of[at] = parent;
		} else {
			loop_of[at] = (int32_t)f->loop_count;
			f->header_block[f->loop_count] = header->block;
			loop = &f->loops[f->loop_count];
			loop->function = f->function;
			loop->index = f->loop_count++;
			loop->group = loop->index;
			loop->parent = parent;
			loop->depth = (uint16_t)(parent >= 0 ? f->loops[parent].depth + 1 : 1);
			loop->is_innermost = true;
			if (parent >= 0)
				f->loops[parent].is_innermost = false;
			loop->is_irreducible = f->forest.is_irreducible[header->block + 1];
			loop->header_link_addr = header->link_addr;
			loop->inline_index = -1;
		}
		f->loop_of_header[header->block] = loop_of[at];
		at = header->first_child;
	}
	for (uint32_t i = f->loop_count; i-- > 0;) {
		f->subtree[i]++;
		if (f->loops[i].parent >= 0)
			f->subtree[f->loops[i].parent] += f->subtree[i];
	}
}

/* ---- bodies ---- */

static bool loop_holds(const struct finder *f, int32_t outer, int32_t inner)
{
	return inner >= outer && inner < outer + (int32_t)f->subtree[outer];
}

static void assign_blocks(struct finder *f, struct sn_block *blocks)
{
	for (uint32_t b = 0; b < f->function->block_count; b++) {
		int32_t above = header_above(f, b);

		if (f->loop_of_header[b] >= 0)
			blocks[b].loop = f->loop_of_header[b];
		else
			blocks[b].loop = above >= 0 ? f->loop_of_header[above] : -1;
		for (int32_t l = blocks[b].loop; l >= 0; l = f->loops[l].parent) {
			f->loops[l].block_count++;
			f->loops[l].instruction_count += blocks[b].instruction_count;
		}
	}
}

static void count_edges(struct finder *f)
{
	const struct sn_function *function = f->function;

	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		for (uint32_t e = 0; e < block->successor_count; e++) {
			uint32_t to = function->successors[block->first_successor + e];
			int32_t to_loop = function->blocks[to].loop;

			for (int32_t l = block->loop; l >= 0; l = f->loops[l].parent) {
				if (to_loop >= 0 && loop_holds(f, l, to_loop))
					break;
				f->loops[l].exit_count++;
			}
			if (f->loop_of_header[to] >= 0 && block->loop >= 0 &&
			    f->header_block[f->loop_of_header[to]] == to &&
			    loop_holds(f, f->loop_of_header[to], block->loop))
				f->loops[f->loop_of_header[to]].latch_count++;
		}
	}
}

static int blocks_by_address(const void *a, const void *b)
{
	const struct sn_block *x = *(const struct sn_block *const *)a;
	const struct sn_block *y = *(const struct sn_block *const *)b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

/* Blocks by address, each added to the last range of every loop around it, or beginning a new one.
 * Two passes: count, then fill. */
static void body_ranges(struct finder *f)
{
	const struct sn_function *function = f->function;
	const struct sn_block **sorted =
		sn_arena_array(&f->arena, const struct sn_block *, function->block_count);
	uint64_t *end = sn_arena_array(&f->arena, uint64_t, (size_t)f->loop_count + 1);
	struct sn_range **ranges =
		sn_arena_array(&f->arena, struct sn_range *, (size_t)f->loop_count + 1);
	size_t count = 0;

	for (uint32_t b = 0; b < function->block_count; b++)
		if (function->blocks[b].loop >= 0)
			sorted[count++] = &function->blocks[b];
	qsort(sorted, count, sizeof(*sorted), blocks_by_address);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t l = 0; pass && l < f->loop_count; l++) {
			ranges[l] = sn_arena_array(&f->structure->arena, struct sn_range,
						   f->loops[l].range_count);
			f->loops[l].ranges = ranges[l];
			f->loops[l].range_count = 0;
			end[l] = 0;
		}
		for (size_t i = 0; i < count; i++) {
			uint64_t first = sorted[i]->link_addr;
			uint64_t block_end = first + sorted[i]->size_bytes;

			for (int32_t l = sorted[i]->loop; l >= 0; l = f->loops[l].parent) {
				if (first > end[l] || !f->loops[l].range_count) {
					if (pass)
						ranges[l][f->loops[l].range_count] =
							(struct sn_range){ first, block_end };
					f->loops[l].range_count++;
				} else if (pass && block_end > end[l]) {
					ranges[l][f->loops[l].range_count - 1].end_link_addr =
						block_end;
				}
				if (block_end > end[l])
					end[l] = block_end;
			}
		}
	}
}

static void name_loops(struct finder *f)
{
	for (uint32_t l = 0; l < f->loop_count; l++)
		f->loops[l].id =
			sn_loop_id(f->structure, f->function, f->loops[l].header_link_addr);
}

void sn_loops_find(struct sn_structure *structure, struct sn_function *function,
		   const uint32_t *extra, size_t extra_count)
{
	struct finder f = { .structure = structure, .function = function };
	struct sn_graph graph = make_graph(&f, extra, extra_count);

	f.forest = sn_graph_loops(&graph, &f.arena);
	f.loop_of_header = sn_arena_array(&f.arena, int32_t, function->block_count + 1u);
	memset(f.loop_of_header, 0xff, function->block_count * sizeof(*f.loop_of_header));
	list_loops(&f);
	assign_blocks(&f, (struct sn_block *)function->blocks);
	count_edges(&f);
	body_ranges(&f);
	name_loops(&f);
	function->loops = f.loops;
	function->loop_count = f.loop_count;
	sn_arena_free(&f.arena);
}
