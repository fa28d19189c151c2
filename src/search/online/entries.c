/*
 * An execution of an inlined copy is a path through its code, from an edge into it to an edge out of it. Blocks are divided
 * where the copy begins or ends in them: the parts are the nodes of a graph. What is sought is a cut of all such paths of
 * which no node reaches another one. It begins as the nodes that are entered, and moves on along the paths where one of them
 * reaches another.
 */
#include "search/online/entries.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { ENTRIES_MOST = 64 }; /* of what is too much to be watched anyway */

typedef SN_VEC(uint32_t) numbers;

/* A block, or a part of one. */
struct node {
	uint64_t link_addr;
	uint32_t block;
	bool ends_block;
	bool is_in;	 /* of an execution */
	bool is_entered; /* from a node that is not */
	bool has_advanced;
	bool seen; /* by a walk */
};

struct copy {
	const struct sn_function *f;
	int32_t index;
	SN_VEC(struct node) nodes;
	uint32_t *first; /* node of each block */
	numbers stack;
};

bool sn_inline_is_within(const struct sn_function *function, int32_t inner, int32_t outer)
{
	for (; inner >= 0; inner = function->inlines[inner].parent)
		if (inner == outer)
			return true;
	return false;
}

static const struct sn_block *block_of(const struct copy *c, uint32_t node)
{
	return &c->f->blocks[c->nodes.items[node].block];
}

static uint32_t successor_count(const struct copy *c, uint32_t node)
{
	return c->nodes.items[node].ends_block ? block_of(c, node)->successor_count : 1;
}

static uint32_t successor(const struct copy *c, uint32_t node, uint32_t i)
{
	return c->nodes.items[node].ends_block
		       ? c->first[c->f->successors[block_of(c, node)->first_successor + i]]
		       : node + 1;
}

static bool is_in(const struct copy *c, uint32_t node)
{
	return c->nodes.items[node].is_in;
}

static bool is_function_entry(const struct copy *c, uint32_t node)
{
	return c->nodes.items[node].link_addr == c->f->link_addr;
}

static void walk_begin(struct copy *c)
{
	for (uint32_t n = 0; n < c->nodes.count; n++)
		c->nodes.items[n].seen = false;
	c->stack.count = 0;
}

/* ---- the copy's nodes ---- */

/* Whether code at two addresses begins with the same of the source: one is a copy of the other. */
static bool are_alike(const struct copy *c, uint64_t a, uint64_t b)
{
	const struct sn_line *first = sn_function_line_at(c->f, a);
	const struct sn_line *other = sn_function_line_at(c->f, b);

	return first && other && first->line == other->line && first->column == other->column &&
	       first->file == other->file;
}

/* The innermost loop that is not the copy's own; -1: none. */
static int32_t loop_around(const struct copy *c, int32_t loop, bool *is_own)
{
	*is_own = false;
	for (int32_t at = loop; at >= 0; at = c->f->loops[at].parent)
		if (sn_inline_is_within(c->f, c->f->loops[at].inline_index, c->index)) {
			*is_own = true;
			loop = c->f->loops[at].parent;
		}
	return loop;
}

static unsigned depth_of(const struct copy *c, uint32_t block, bool *is_own)
{
	int32_t loop = loop_around(c, c->f->blocks[block].loop, is_own);

	return loop < 0 ? 0 : c->f->loops[loop].depth;
}

static bool is_copys(const struct copy *c, const struct sn_line *row)
{
	return sn_inline_is_within(c->f, row->inline_index, c->index);
}

/* From the first of the copy's instructions in a block up to the last one it is one node, as what stands between them was
 * moved there; unless the copy begins anew. */
static void block_divide(struct copy *c, uint32_t b)
{
	const struct sn_block *block = &c->f->blocks[b];
	const struct sn_line *row = sn_function_line_at(c->f, block->link_addr);
	const struct sn_line *end = c->f->lines + c->f->line_count;
	const size_t before = c->nodes.count;
	bool was_in = false;

	sn_vec_push(&c->nodes, (struct node){ .link_addr = block->link_addr, .block = b });
	for (; row && row < end && row->link_addr < block->link_addr + block->size_bytes; row++) {
		uint64_t from =
			row->link_addr > block->link_addr ? row->link_addr : block->link_addr;
		bool is = is_copys(c, row);

		if (is != was_in && is && c->nodes.count - before > 1 &&
		    c->nodes.items[c->nodes.count - 2].is_in &&
		    !are_alike(c, from, c->nodes.items[c->nodes.count - 2].link_addr))
			c->nodes.count--;
		else if (is != was_in && from > block->link_addr)
			sn_vec_push(&c->nodes, (struct node){ .link_addr = from, .block = b });
		sn_vec_last(&c->nodes).is_in = is;
		was_in = is;
	}
	sn_vec_last(&c->nodes).ends_block = true;
}

static void block_take(struct copy *c, uint32_t b, bool is_own)
{
	c->first[b] = (uint32_t)c->nodes.count;
	if (!is_own)
		block_divide(c, b);
	else
		sn_vec_push(&c->nodes, (struct node){ .link_addr = c->f->blocks[b].link_addr,
						      .block = b,
						      .ends_block = true,
						      .is_in = true });
}

/* What compilers moved out of a loop around the call is passed before it; calls are not moved. */
static void nodes_find(struct copy *c)
{
	unsigned deepest = 0;
	bool is_own;

	for (uint32_t b = 0; b < c->f->block_count; b++) {
		unsigned depth = depth_of(c, b, &is_own);

		block_take(c, b, is_own);
		for (uint32_t n = c->first[b]; n < c->nodes.count; n++)
			if (is_in(c, n) && depth > deepest)
				deepest = depth;
	}
	for (uint32_t n = 0; n < c->nodes.count; n++)
		if (depth_of(c, c->nodes.items[n].block, &is_own) != deepest &&
		    !(block_of(c, n)->flags & SN_BLOCK_CALLS))
			c->nodes.items[n].is_in = false;
}

/* Whether a path leads from a node to another, or back to itself, among those of an execution. */
static bool reaches(struct copy *c, uint32_t from, uint32_t to)
{
	bool is_there = false;

	walk_begin(c);
	sn_vec_push(&c->stack, from);
	while (c->stack.count && !is_there) {
		uint32_t at = c->stack.items[--c->stack.count];

		for (uint32_t i = 0; i < successor_count(c, at); i++) {
			uint32_t next = successor(c, at, i);

			is_there |= next == to;
			if (!is_in(c, next) || c->nodes.items[next].seen)
				continue;
			c->nodes.items[next].seen = true;
			sn_vec_push(&c->stack, next);
		}
	}
	return is_there;
}

/* A node of the caller's that only nodes of the copy lead to, and that leads to such only, was moved into an execution. What
 * closes a circle is between two executions. */
static void gaps_close(struct copy *c)
{
	bool *is_between = sn_alloc_zeroed(c->nodes.count, sizeof(*is_between));

	for (uint32_t n = 0; n < c->nodes.count; n++)
		is_between[n] = !is_function_entry(c, n);
	for (uint32_t n = 0; n < c->nodes.count; n++)
		for (uint32_t i = 0; i < successor_count(c, n); i++) {
			uint32_t next = successor(c, n, i);

			is_between[n] = is_between[n] && is_in(c, next);
			is_between[next] = is_between[next] && is_in(c, n);
		}
	for (uint32_t n = 0; n < c->nodes.count; n++)
		if (!is_in(c, n) && is_between[n] && successor_count(c, n) && !reaches(c, n, n))
			c->nodes.items[n].is_in = true;
	free(is_between);
}

static void entries_mark(struct copy *c)
{
	for (uint32_t n = 0; n < c->nodes.count; n++) {
		if (is_in(c, n) && is_function_entry(c, n))
			c->nodes.items[n].is_entered = true;
		for (uint32_t i = 0; !is_in(c, n) && i < successor_count(c, n); i++)
			if (is_in(c, successor(c, n, i)))
				c->nodes.items[successor(c, n, i)].is_entered = true;
	}
}

/* ---- what is entered late ---- */

static bool loop_has(const struct copy *c, int32_t loop, uint32_t node)
{
	int32_t at = block_of(c, node)->loop;

	while (at >= 0 && at != loop)
		at = c->f->loops[at].parent;
	return at == loop || loop < 0;
}

/* Whether an iteration of the loop around a node can come to it without any other entry. */
static bool comes_first(struct copy *c, const numbers *entries, uint32_t node)
{
	bool is_own, is_there = false;
	int32_t loop = loop_around(c, block_of(c, node)->loop, &is_own);
	const uint64_t begin = loop < 0 ? c->f->link_addr : c->f->loops[loop].header_link_addr;

	for (uint32_t n = 0; n < c->nodes.count; n++) {
		c->nodes.items[n].seen = c->nodes.items[n].link_addr == begin;
		if (c->nodes.items[n].seen) {
			c->stack.count = 0;
			sn_vec_push(&c->stack, n);
		}
	}
	for (size_t i = 0; i < entries->count; i++)
		c->nodes.items[entries->items[i]].seen |= entries->items[i] != node;
	while (c->stack.count && !is_there) {
		uint32_t at = c->stack.items[--c->stack.count];
		bool is_other = c->nodes.items[at].is_entered && at != node;

		is_there |= at == node;
		for (uint32_t i = 0; !is_other && i < successor_count(c, at); i++) {
			uint32_t next = successor(c, at, i);

			if (c->nodes.items[next].seen || !loop_has(c, loop, next))
				continue;
			c->nodes.items[next].seen = true;
			sn_vec_push(&c->stack, next);
		}
	}
	return is_there;
}

/* A piece that was moved behind the rest begins no execution. */
static bool is_late(struct copy *c, const numbers *entries, uint32_t node)
{
	if (comes_first(c, entries, node))
		return false;
	for (size_t i = 0; i < entries->count; i++) {
		uint32_t other = entries->items[i];

		if (other != node && (are_alike(c, c->nodes.items[other].link_addr,
						c->nodes.items[node].link_addr) ||
				      reaches(c, node, other)))
			return false;
	}
	return true;
}

/* ---- the cut ---- */

static bool number_add(numbers *list, uint32_t number)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i] == number)
			return true;
	if (list->count >= ENTRIES_MOST)
		return false;
	sn_vec_push(list, number);
	return true;
}

static bool has_to_advance(struct copy *c, const numbers *cut, uint32_t node)
{
	for (size_t i = 0; i < cut->count; i++)
		if (reaches(c, node, cut->items[i]))
			return true;
	return false;
}

/* False: executions end in the node, so nothing behind it stands for them. */
static bool advance(struct copy *c, numbers *cut, size_t which)
{
	const uint32_t node = cut->items[which];
	const uint32_t flags = c->nodes.items[node].ends_block ? block_of(c, node)->flags : 0;

	c->nodes.items[node].has_advanced = true;
	cut->items[which] = cut->items[--cut->count];
	if (flags & (SN_BLOCK_RETURNS | SN_BLOCK_LEAVES | SN_BLOCK_UNRESOLVED))
		return false;
	for (uint32_t i = 0; i < successor_count(c, node); i++) {
		uint32_t next = successor(c, node, i);

		if (!is_in(c, next))
			return false;
		if (!c->nodes.items[next].has_advanced && !number_add(cut, next))
			return false;
	}
	return true;
}

/* What has advanced is in no cut again: where a path leads back to it, another node of the cut stands before that. */
static bool cut_settle(struct copy *c, numbers *cut)
{
	for (size_t i = 0; i < cut->count;) {
		if (!has_to_advance(c, cut, cut->items[i])) {
			i++;
			continue;
		}
		if (!advance(c, cut, i))
			return false;
		i = 0;
	}
	return cut->count > 0;
}

/* What is before the copy, if nothing else follows it. */
static bool cut_before(struct copy *c, const numbers *entries, numbers *cut)
{
	cut->count = 0;
	for (uint32_t n = 0; n < c->nodes.count; n++) {
		uint32_t inside = 0;

		if (is_in(c, n))
			continue;
		for (uint32_t i = 0; i < successor_count(c, n); i++)
			inside += is_in(c, successor(c, n, i));
		if (!inside)
			continue;
		if (inside < successor_count(c, n) || !number_add(cut, n))
			return false;
	}
	for (size_t i = 0; i < entries->count; i++)
		if (is_function_entry(c, entries->items[i]))
			return false;
	return cut->count > 0;
}

static bool cut_find(struct copy *c, numbers *cut)
{
	numbers entries = { 0 };
	bool is_there = true;

	for (uint32_t n = 0; n < c->nodes.count; n++)
		is_there = is_there && (!c->nodes.items[n].is_entered || number_add(&entries, n));
	for (size_t i = 0; is_there && i < entries.count; i++)
		if (!is_late(c, &entries, entries.items[i]))
			sn_vec_push(cut, entries.items[i]);
	is_there = is_there && (cut_settle(c, cut) || cut_before(c, &entries, cut));
	sn_vec_free(&entries);
	return is_there;
}

bool sn_copy_entries(const struct sn_function *function, int32_t copy, sn_addresses *out)
{
	struct copy c = { .f = function, .index = copy };
	numbers cut = { 0 };
	bool is_there;

	*out = (sn_addresses){ 0 };
	c.first = sn_alloc_zeroed(function->block_count + 1, sizeof(*c.first));
	nodes_find(&c);
	gaps_close(&c);
	entries_mark(&c);
	is_there = cut_find(&c, &cut);
	for (size_t i = 0; is_there && i < cut.count; i++)
		sn_vec_push(out, c.nodes.items[cut.items[i]].link_addr);
	sn_vec_free(&cut);
	sn_vec_free(&c.stack);
	sn_vec_free(&c.nodes);
	free(c.first);
	return is_there;
}
