/*
 * Room for jumps in the original. Once its header leads to the copy, the bytes of a nest are dead,
 * but for its calls and what stands before a site. A jump takes five bytes where it stands, or two
 * bytes and five others near it.
 */
#include "rewrite/rewrite_parts.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_BYTES = 5, SHORT_BYTES = 2, REACH = 127 };

/* What a byte of the nest is, by its place in the ranges one after the other. */
enum use { DEAD, LIVE, USED };

struct room {
	const struct rw_nest *nest;
	uint8_t *use;
};

/* The place of an address among the bytes of the nest, and how many follow; -1: none of them. */
static int64_t place_of(const struct room *room, uint64_t link_addr, uint64_t *left)
{
	const struct sn_loop *outer = room->nest->outer;
	uint64_t place = 0;

	for (uint32_t r = 0; r < outer->range_count; r++) {
		uint64_t first = outer->ranges[r].first_link_addr;
		uint64_t end = outer->ranges[r].end_link_addr;

		if (link_addr >= first && link_addr < end) {
			*left = end - link_addr;
			return (int64_t)(place + link_addr - first);
		}
		place += end - first;
	}
	return -1;
}

static bool take(struct room *room, uint64_t link_addr, unsigned count, bool only_look)
{
	uint64_t left = 0;
	int64_t place = place_of(room, link_addr, &left);

	if (place < 0 || left < count)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (room->use[place + i] != DEAD)
			return false;
	for (unsigned i = 0; i < count && !only_look; i++)
		room->use[place + i] = USED;
	return true;
}

static void mark_live(struct room *room, uint64_t link_addr, unsigned count)
{
	uint64_t left = 0;
	int64_t place = place_of(room, link_addr, &left);

	for (unsigned i = 0; place >= 0 && i < count && i < left; i++)
		room->use[place + i] = LIVE;
}

/* Calls stay; so does endbr64 before a site. */
static void mark_kept(struct room *room, const struct rw_sites *sites)
{
	for (size_t i = 0; i < room->nest->insns.count; i++) {
		const struct rw_insn *insn = &room->nest->insns.items[i];

		if (insn->flow == SN_FLOW_CALL || insn->flow == SN_FLOW_CALL_INDIRECT)
			mark_live(room, insn->link_addr, insn->length);
		for (size_t s = 0; insn->is_endbr && s < sites->count; s++)
			if (sites->items[s].link_addr == insn->link_addr + insn->length)
				mark_live(room, insn->link_addr, insn->length);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct rw_site *x = a, *y = b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

static const char *add_patch(const struct room *room, uint64_t link_addr, unsigned length,
			     int32_t label, int64_t displacement, struct rw_patches *out)
{
	struct rw_patch patch = { .patch = { .link_addr = link_addr,
					     .length = length,
					     .target = (uint32_t)displacement },
				  .label = label };
	size_t available;
	const uint8_t *bytes =
		sn_structure_bytes(room->nest->rewriter->structure, link_addr, &available);

	if (!bytes || available < length)
		return "it has bytes that are no instruction";
	if (rw_is_entered(&room->nest->rewriter->entered,
			  link_addr + (link_addr == room->nest->outer->header_link_addr),
			  link_addr + length))
		return "code of another function jumps to where its jump would be";
	memcpy(patch.patch.expected, bytes, length);
	sn_vec_push(&out->patches, patch);
	return NULL;
}

/* Two bytes at the site lead to five others that are within reach. */
static const char *place_apart(struct room *room, const struct rw_site *site,
			       struct rw_patches *out)
{
	uint64_t from = site->link_addr + SHORT_BYTES;

	for (int64_t far = -REACH - 1; far <= REACH; far++) {
		const char *why;

		if (!take(room, from + (uint64_t)far, LONG_BYTES, false))
			continue;
		why = add_patch(room, from + (uint64_t)far, LONG_BYTES, site->label, 0, out);
		if (!why)
			why = add_patch(room, site->link_addr, SHORT_BYTES, -1, far, out);
		return why;
	}
	return "there is no room for the jumps around its calls or at its header";
}

/* Each site has at least its two bytes before any gets others. */
static const char *place_sites(struct room *room, struct rw_sites *sites, struct rw_patches *out)
{
	bool *is_long =
		sn_arena_array(&((struct rw_nest *)room->nest)->arena, bool, sites->count + 1);
	const char *why = NULL;

	for (size_t i = 0; i < sites->count; i++)
		if (!take(room, sites->items[i].link_addr, SHORT_BYTES, false))
			return "there is no room for the jumps around its calls or at its header";
	for (size_t i = 0; i < sites->count; i++)
		is_long[i] = take(room, sites->items[i].link_addr + SHORT_BYTES,
				  LONG_BYTES - SHORT_BYTES, false);
	for (size_t i = 0; i < sites->count && !why; i++)
		why = is_long[i] ? add_patch(room, sites->items[i].link_addr, LONG_BYTES,
					     sites->items[i].label, 0, out)
				 : place_apart(room, &sites->items[i], out);
	return why;
}

const char *rw_sites_place(const struct rw_nest *nest, struct rw_sites *sites,
			   struct rw_patches *out)
{
	struct room room = { .nest = nest };

	room.use = sn_arena_array(&((struct rw_nest *)nest)->arena, uint8_t,
				  sn_loop_size_bytes(nest->outer) + 1);
	qsort(sites->items, sites->count, sizeof(*sites->items), by_address);
	for (size_t i = 1; i < sites->count; i++)
		if (sites->items[i].link_addr == sites->items[i - 1].link_addr)
			return "a call in it returns to its header";
	mark_kept(&room, sites);
	return place_sites(&room, sites, out);
}
