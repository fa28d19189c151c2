/*
 * Of a line with branches, as in "if (x) a(); else b();", one block decides, and alternatives follow, in any order of addresses.
 * The search begins with the rows that no other row leads to. What an execution can still pass without one of them is added, as where
 * the compiler joined the test with that of an earlier line. A row that always leads to another one is then removed.
 */
#include "search/online/rows.h"

#include <stdlib.h>

#include "base/alloc.h"

struct region {
	const struct sn_function *f;
	const struct sn_loop *loop;
	uint32_t header; /* where an iteration, or a call, begins */
	bool *is_in, *is_entered;
	uint64_t *first; /* of the rows in each block; 0: none */
	bool *is_row, *is_chosen;
	bool *seen; /* by a walk */
	SN_VEC(uint32_t) stack;
};

static uint32_t index_of(const struct region *r, uint64_t link_addr)
{
	const struct sn_block *block = sn_function_block_at(r->f, link_addr);

	return block ? (uint32_t)(block - r->f->blocks) : UINT32_MAX;
}

static bool loop_has(const struct region *r, uint32_t block)
{
	int32_t at = r->f->blocks[block].loop;

	while (r->loop && at >= 0 && at != (int32_t)r->loop->index)
		at = r->f->loops[at].parent;
	return !r->loop || at >= 0;
}

static bool is_within(const struct region *r, uint32_t block)
{
	return r->is_in[block] && (!r->loop || block != r->header);
}

static uint32_t successor(const struct region *r, uint32_t block, uint32_t i)
{
	return r->f->successors[r->f->blocks[block].first_successor + i];
}

static void push(struct region *r, uint32_t block)
{
	if (!r->seen[block])
		sn_vec_push(&r->stack, block);
	r->seen[block] = true;
}

static void walk_begin(struct region *r)
{
	for (uint32_t b = 0; b < r->f->block_count; b++)
		r->seen[b] = false;
	r->stack.count = 0;
}

/* Sees what is on the stack and all that follows in the same execution, without going through chosen blocks. */
static void walk(struct region *r)
{
	while (r->stack.count) {
		uint32_t at = r->stack.items[--r->stack.count];

		for (uint32_t i = 0; !r->is_chosen[at] && i < r->f->blocks[at].successor_count; i++)
			if (is_within(r, successor(r, at, i)))
				push(r, successor(r, at, i));
	}
}

/* What an execution can pass before a chosen block, and the first of those. */
static void walk_from_entries(struct region *r)
{
	walk_begin(r);
	for (uint32_t b = 0; b < r->f->block_count; b++)
		if (r->is_entered[b])
			push(r, b);
	walk(r);
}

/* What can follow a block before another chosen one. Whether the execution can end so. */
static bool walk_from(struct region *r, uint32_t from)
{
	bool was_chosen = r->is_chosen[from], ends = false;

	r->is_chosen[from] = false;
	walk_begin(r);
	sn_vec_push(&r->stack, from);
	walk(r);
	for (uint32_t b = 0; b < r->f->block_count; b++) {
		if ((!r->seen[b] && b != from) || r->is_chosen[b])
			continue;
		ends |= r->f->blocks[b].flags &
			(SN_BLOCK_RETURNS | SN_BLOCK_LEAVES | SN_BLOCK_UNRESOLVED);
		for (uint32_t i = 0; i < r->f->blocks[b].successor_count; i++)
			ends |= !is_within(r, successor(r, b, i));
	}
	r->is_chosen[from] = was_chosen;
	return ends;
}

/* ---- what there is ---- */

static bool region_open(struct region *r, const sn_addresses *rows)
{
	const uint32_t count = r->f->block_count;

	r->is_in = sn_alloc_zeroed(count + 1, sizeof(bool));
	r->is_entered = sn_alloc_zeroed(count + 1, sizeof(bool));
	r->is_row = sn_alloc_zeroed(count + 1, sizeof(bool));
	r->is_chosen = sn_alloc_zeroed(count + 1, sizeof(bool));
	r->seen = sn_alloc_zeroed(count + 1, sizeof(bool));
	r->first = sn_alloc_zeroed(count + 1, sizeof(*r->first));
	r->header = index_of(r, r->loop ? r->loop->header_link_addr : r->f->link_addr);
	for (size_t i = 0; i < rows->count; i++) {
		uint32_t b = index_of(r, rows->items[i]);

		if (b == UINT32_MAX)
			return false;
		r->is_row[b] = true;
		if (!r->first[b] || rows->items[i] < r->first[b])
			r->first[b] = rows->items[i];
	}
	return r->header != UINT32_MAX;
}

static void region_close(struct region *r)
{
	free(r->is_in);
	free(r->is_entered);
	free(r->is_row);
	free(r->is_chosen);
	free(r->seen);
	free(r->first);
	sn_vec_free(&r->stack);
}

/* An irreducible region is entered elsewhere, too. */
static void entries_find(struct region *r)
{
	for (uint32_t b = 0; b < r->f->block_count; b++)
		r->is_in[b] = loop_has(r, b);
	r->is_entered[r->header] = true;
	for (uint32_t b = 0; b < r->f->block_count; b++)
		for (uint32_t i = 0; !r->is_in[b] && i < r->f->blocks[b].successor_count; i++)
			if (r->is_in[successor(r, b, i)])
				r->is_entered[successor(r, b, i)] = true;
}

/* What only exceptions lead to begins no execution. Where a jump's targets are not known the code may be reached after all. */
static void strays_remove(struct region *r)
{
	bool is_unresolved = false, is_any = false;

	walk_from_entries(r);
	for (uint32_t b = 0; b < r->f->block_count; b++) {
		is_unresolved |= r->f->blocks[b].flags & SN_BLOCK_UNRESOLVED;
		is_any |= r->is_row[b] && r->seen[b];
	}
	for (uint32_t b = 0; b < r->f->block_count && is_any && !is_unresolved; b++)
		r->is_row[b] = r->is_row[b] && r->seen[b];
}

/* ---- the choice ---- */

/* Those of some rows that no other of them leads to; where they lead to each other the first by address. */
static void first_choose(struct region *r, const bool *among)
{
	const uint32_t count = r->f->block_count;
	bool *is_late = sn_alloc_zeroed(count + 1, sizeof(*is_late));

	for (uint32_t from = 0; from < count; from++) {
		if (!among[from] || is_late[from])
			continue;
		walk_from(r, from);
		for (uint32_t b = 0; b < count; b++)
			is_late[b] |= among[b] && r->seen[b] && b != from;
	}
	for (uint32_t b = 0; b < count; b++)
		r->is_chosen[b] |= among[b] && !is_late[b];
	free(is_late);
}

static void all_cover(struct region *r)
{
	bool *rest = sn_alloc_zeroed(r->f->block_count + 1, sizeof(*rest));
	bool is_any = true;

	first_choose(r, r->is_row);
	while (is_any) {
		is_any = false;
		walk_from_entries(r);
		for (uint32_t b = 0; b < r->f->block_count; b++) {
			rest[b] = r->is_row[b] && r->seen[b] && !r->is_chosen[b];
			is_any |= rest[b];
		}
		first_choose(r, rest);
	}
	free(rest);
}

/* False: an execution may pass two chosen ones, or the first of them alone. */
static bool doubles_remove(struct region *r)
{
	for (uint32_t b = 0; b < r->f->block_count; b++) {
		bool ends, leads = false;

		if (!r->is_chosen[b])
			continue;
		ends = walk_from(r, b);
		for (uint32_t other = 0; other < r->f->block_count; other++)
			leads |= other != b && r->is_chosen[other] && r->seen[other];
		if (leads && ends)
			return false;
		r->is_chosen[b] = !leads;
	}
	return true;
}

bool sn_rows_bound(const struct sn_function *function, const struct sn_loop *loop,
		   sn_addresses *rows)
{
	struct region r = { .f = function, .loop = loop };
	bool is_there = region_open(&r, rows);

	if (is_there) {
		entries_find(&r);
		strays_remove(&r);
		all_cover(&r);
		is_there = doubles_remove(&r);
	}
	if (is_there) {
		rows->count = 0;
		for (uint32_t b = 0; b < function->block_count; b++)
			if (r.is_chosen[b])
				sn_vec_push(rows, r.first[b]);
	}
	region_close(&r);
	return is_there;
}
