/*
 * Call paths at the price of a comparison. Between two events of a thread most of its stack stays
 * as it was. So the frames of the last walk are kept, with where each found its caller: the words
 * there are compared, and what is unchanged is not walked again.
 *
 * A frame is the same if its return address, rsp and rbp are: rules that need no other register find
 * the same caller from them, if the same words lie on the stack. Frames with other rules, of other
 * stacks, or deeper than we keep are walked by the unwinder, each time.
 *
 * This file is compiled for general registers only: what sn_path_known_at does spares those of vectors.
 *
 * A path is a node: its parent is its caller's. So a new path costs as many nodes as frames differ.
 */
#include "runtime/core/paths_parts.h"

#include "runtime/core/collector.h"
#include "unwind/cache.h"

struct sn_paths *sn_paths;

enum {
	NODE_PROBES = 64,
	NODES_FULL = SN_PATH_NODES / 4 * 3,
	ID_BITS = 24,
	RBP_OF_SIX = 1, /* in sn_unwind_short_row: rbx rbp r12 r13 r14 r15 */
};
#define SITE_BIT (1ULL << ID_BITS)
#define ID_MASK	 (SITE_BIT - 1)

/* ---- nodes ---- */

/* Whether the caller holds the thread busy. While it does no handler of ours walks a stack. KNOWN: it does,
 * and what is not known already is not to be found out. */
enum hold { FREE, HELD, KNOWN };

static bool write_node(struct sn_thread *self, enum hold hold, uint32_t id, uint32_t parent,
		       uint64_t pc, uint8_t flags)
{
	struct sn_record_path *record = NULL;

	if (hold == HELD || sn_enter(self)) {
		record = sn_writer_reserve(&self->writer, sizeof *record, sn_now_ns());
		if (record) {
			*record = (struct sn_record_path){
				.header = { .type = SN_RECORD_PATH,
					    .flags = flags,
					    .size_bytes = sizeof *record },
				.id = id,
				.parent = parent,
				.pc = pc,
			};
			sn_writer_commit(&self->writer, sizeof *record);
		}
		if (hold == FREE)
			sn_leave(self);
	}
	if (!record)
		sn_lose(SN_LOSS_STACK_TABLE);
	return record != NULL;
}

static uint64_t hash_node(uint32_t parent, uint64_t pc)
{
	uint64_t hash = (pc ^ (uint64_t)parent << 40 ^ parent) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 32;
	return hash * 0xd6e8feb86659fd93ULL;
}

/* A fresh node in an empty place; 0: somebody else was there first, or it cannot be written. */
static uint64_t make_node(struct sn_thread *self, enum hold hold, _Atomic uint64_t *place,
			  uint64_t tag, uint32_t parent, uint64_t pc)
{
	uint32_t id = atomic_fetch_add_explicit(&sn_paths->next_path, 1, memory_order_relaxed) + 1;
	uint64_t empty = 0, node = tag | id;

	if (id > ID_MASK || !write_node(self, hold, id, parent, pc, 0) ||
	    !atomic_compare_exchange_strong(place, &empty, node))
		return 0;
	atomic_fetch_add_explicit(&sn_paths->node_count, 1, memory_order_relaxed);
	return node;
}

/* The place of a node in the table, made if new; NULL: it cannot be had. */
static _Atomic uint64_t *find_node(struct sn_thread *self, enum hold hold, uint32_t parent,
				   uint64_t pc)
{
	uint64_t hash = hash_node(parent, pc), tag = hash >> (ID_BITS + 1) << (ID_BITS + 1);

	for (uint32_t probe = 0; probe < NODE_PROBES; probe++) {
		_Atomic uint64_t *place = &sn_paths->nodes[(hash + probe) & (SN_PATH_NODES - 1)];
		uint64_t node = atomic_load_explicit(place, memory_order_relaxed);
		if (node == 0 && hold == KNOWN)
			return NULL;
		if (node == 0) {
			if (atomic_load_explicit(&sn_paths->node_count, memory_order_relaxed) >=
			    NODES_FULL)
				break;
			if (make_node(self, hold, place, tag, parent, pc))
				return place;
			node = atomic_load_explicit(place, memory_order_relaxed);
			if (node == 0)
				return NULL;
		}
		if (node >> (ID_BITS + 1) << (ID_BITS + 1) == tag)
			return place;
	}
	if (hold != KNOWN)
		sn_lose(SN_LOSS_STACK_TABLE);
	return NULL;
}

/* The path of a frame below `parent`. Our own code is no frame of the program's. 0: none. */
static uint32_t extend(struct sn_thread *self, enum hold hold, uint32_t parent, uint64_t pc)
{
	_Atomic uint64_t *place;

	if (sn_is_own_code(pc))
		return parent;
	place = find_node(self, hold, parent, pc);
	return place ? (uint32_t)(*place & ID_MASK) : 0;
}

/* That events refer to this path is said once, so that a reader makes stacks of those only. */
static uint32_t mark_site(struct sn_thread *self, enum hold hold, uint32_t parent, uint64_t pc)
{
	_Atomic uint64_t *place = find_node(self, hold, parent, pc);

	if (!place)
		return 0;
	uint32_t id = (uint32_t)(*place & ID_MASK);
	if (!(atomic_load_explicit(place, memory_order_relaxed) & SITE_BIT)) {
		if (hold == KNOWN || !write_node(self, hold, id, parent, pc, SN_RECORD_PATH_SITE))
			return 0;
		atomic_fetch_or_explicit(place, SITE_BIT, memory_order_relaxed);
	}
	return id;
}

uint32_t sn_path_below(struct sn_thread *self, uint32_t path, uint64_t pc)
{
	return mark_site(self, FREE, path, pc);
}

/* ---- rules in short ---- */

static struct sn_path_row *place_of_row(struct sn_path_cache *cache, uint64_t pc)
{
	return &cache->rows[(pc ^ pc >> 10) & (SN_PATH_ROWS - 1)];
}

static uint8_t kind_of(const struct sn_unwind_short_row *row)
{
	unsigned rbp = 1u << RBP_OF_SIX;

	if (row->flags & SN_UNWIND_SHORT_OUTERMOST)
		return SN_PATH_ROW_OUTERMOST;
	if (row->flags || row->from_rbp & rbp ||
	    (row->cfa_reg != SN_UNWIND_RSP && row->cfa_reg != SN_UNWIND_RBP))
		return SN_PATH_ROW_HARD;
	return SN_PATH_ROW_STEP;
}

/* Whether the innermost frame's pc is where it returns to, or behind the first byte of the instruction that
 * it has come to. */
enum leaf { RETURNS, EXACT };

/* What the unwinder has learned of a frame's pc; NULL: nothing yet. */
static inline const struct sn_path_row *find_row(struct sn_thread *self,
						 struct sn_path_cache *cache, enum hold hold,
						 uint64_t pc, enum leaf leaf)
{
	struct sn_path_row *place = place_of_row(cache, pc);
	struct sn_unwind_short_row row;

	if (__builtin_expect(place->pc == pc, 1))
		return place;
	if (hold == KNOWN || !sn_unwind_cache_get(self->cache,
						  leaf == EXACT ? sn_unwind_cache_key(pc - 1, false)
								: sn_unwind_cache_key(pc, true),
						  cache->generation, &row))
		return NULL;
	place->pc = pc;
	place->cfa_offset = row.cfa_offset;
	place->rbp_slot = row.saved & 1u << RBP_OF_SIX ? row.slot[RBP_OF_SIX] : 0;
	place->is_by_rbp = row.cfa_reg == SN_UNWIND_RBP;
	place->kind = kind_of(&row);
	return place;
}

/* ---- walks ---- */

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

static inline bool is_on_stack(const struct sn_thread *self, uint64_t rsp, uint64_t address)
{
	return address >= rsp && address <= self->stack_end - 8 && !(address & 7);
}

/* The frame's caller. False: its rule cannot be followed here. */
static inline bool step(const struct sn_thread *self, const struct sn_path_row *row,
			struct sn_path_frame *frame, struct sn_path_frame *caller)
{
	uint64_t cfa =
		(row->is_by_rbp ? frame->rbp : frame->rsp) + (uint64_t)(int64_t)row->cfa_offset;
	uint64_t saved = cfa + (uint64_t)((int64_t)row->rbp_slot * 8);

	if (cfa <= frame->rsp || !is_on_stack(self, frame->rsp, cfa - 8) ||
	    (row->rbp_slot && !is_on_stack(self, frame->rsp, saved)))
		return false;
	caller->pc = word_at(cfa - 8);
	caller->rsp = cfa;
	caller->rbp = row->rbp_slot ? word_at(saved) : frame->rbp;
	frame->saved_at = row->rbp_slot ? (int32_t)(saved - frame->rsp) : SN_PATH_NOT_SAVED;
	return true;
}

/* Whether the stack still leads from a frame to the next one out. */
static inline bool still_leads(const struct sn_path_frame *frame)
{
	const struct sn_path_frame *caller = frame - 1;

	return word_at(caller->rsp - 8) == caller->pc &&
	       (frame->saved_at == SN_PATH_NOT_SAVED ||
		word_at(frame->rsp + (uint64_t)(int64_t)frame->saved_at) == caller->rbp);
}

/* The path from the outermost of `count` frames to number `first`. The caller holds the thread busy until
 * then: a sample would put its own frames there. */
static uint32_t path_of_walk(struct sn_thread *self, uint32_t count, uint32_t first)
{
	uint32_t path = 0;

	for (uint32_t i = count; i-- > first + 1;) {
		path = extend(self, HELD, path, self->pcs[i]);
		if (!path)
			return 0;
	}
	return mark_site(self, HELD, path, self->pcs[first]);
}

/* For what the short rules do not know, from an instruction that the caller has reached. */
static __attribute__((noinline)) uint32_t
walk_at(struct sn_thread *self, struct sn_path_cache *cache, const struct sn_unwind_regs *regs)
{
	uint32_t count;

	cache->frame_count = 0;
	count = sn_stack_walk(self, regs, sn_now_ns());
	if (!count)
		return 0;
	self->pcs[0] = regs->value[SN_UNWIND_RIP] + 1; /* as all frames of a path */
	return path_of_walk(self, count, 0);
}

/* For what the short rules do not know, too. */
__attribute__((noinline)) uint32_t sn_path_walk(struct sn_thread *self, struct sn_path_cache *cache,
						uint64_t leaf)
{
	struct sn_unwind_regs regs;
	uint32_t count, first = 0, path = 0;

	cache->frame_count = 0;
	sn_unwind_regs_here(&regs);
	if (!sn_enter_call(self))
		return 0;
	count = sn_stack_walk(self, &regs, sn_now_ns());
	/* frames of an allocator's own may lie between */
	while (first < count && self->pcs[first] != leaf)
		first++;
	path = first < count ? path_of_walk(self, count, first) : 0;
	sn_leave_call(self);
	return path;
}

/* Follows the stack out from fresh[0] until it meets frames that are as they were. Sets how many are
 * fresh, and how many of the old are left. False: it cannot be followed. */
static inline bool follow(struct sn_thread *self, struct sn_path_cache *cache, enum hold hold,
			  enum leaf leaf, uint32_t *fresh_count, uint32_t *kept)
{
	uint32_t top = cache->frame_count, count = 1;

	for (;;) {
		struct sn_path_frame *frame = &cache->fresh[count - 1];

		while (top && cache->frames[top - 1].rsp < frame->rsp)
			top--;
		const struct sn_path_frame *old = &cache->frames[top - 1];
		if (top && old->rsp == frame->rsp && old->pc == frame->pc &&
		    old->rbp == frame->rbp) {
			uint32_t same = top - 1;
			while (same && still_leads(&cache->frames[same]))
				same--;
			if (same == 0) {
				*kept = top;
				*fresh_count = count - 1;
				return true;
			}
			top = same; /* the next one out was left since */
		}
		const struct sn_path_row *row =
			find_row(self, cache, hold, frame->pc, count == 1 ? leaf : RETURNS);
		if (!row || row->kind == SN_PATH_ROW_HARD)
			return false;
		if (row->kind == SN_PATH_ROW_OUTERMOST)
			break;
		if (count == SN_PATH_FRAMES || !step(self, row, frame, frame + 1))
			return false;
		if (frame[1].pc == 0)
			break;
		count++;
	}
	*kept = 0;
	*fresh_count = count;
	return true;
}

/* The path of the innermost frame, which an event now refers to. */
static uint32_t site_of(struct sn_thread *self, struct sn_path_cache *cache, enum hold hold)
{
	struct sn_path_frame *leaf = &cache->frames[cache->frame_count - 1];

	if (!leaf->is_site) {
		uint32_t parent = cache->frame_count > 1 ? leaf[-1].path : 0;
		if (!mark_site(self, hold, parent, leaf->pc))
			return 0;
		leaf->is_site = 1;
	}
	return leaf->path;
}

/* Makes the stack from `first` on the one that was seen last. False: it cannot be followed. */
static inline bool take(struct sn_thread *self, struct sn_path_cache *cache, enum hold hold,
			enum leaf leaf, const struct sn_path_frame *first, uint32_t *out)
{
	uint32_t generation =
		atomic_load_explicit(&sn_state->table, memory_order_acquire)->generation;
	uint32_t fresh, kept, path;

	cache->fresh[0] = *first;
	if (hold == KNOWN && cache->generation != generation)
		return false;
	if (cache->generation != generation) {
		cache->generation = generation;
		cache->frame_count = 0;
		memset(cache->rows, 0, sizeof cache->rows);
	}
	if (first->rsp - self->stack_start >= self->stack_end - self->stack_start ||
	    !follow(self, cache, hold, leaf, &fresh, &kept) || kept + fresh > SN_PATH_FRAMES)
		return false;
	path = kept ? cache->frames[kept - 1].path : 0;
	cache->frame_count = 0;
	*out = 0;
	for (uint32_t i = fresh; i-- > 0;) {
		struct sn_path_frame *to = &cache->frames[kept++];
		*to = cache->fresh[i];
		path = extend(self, hold, path, to->pc);
		to->path = path & INT32_MAX;
		if (!path && !sn_is_own_code(to->pc))
			return true;
	}
	cache->frame_count = kept;
	*out = site_of(self, cache, hold);
	return true;
}

uint32_t sn_path_take(struct sn_thread *self, struct sn_path_cache *cache, const uint64_t *frame)
{
	struct sn_path_frame first = { .pc = frame[1],
				       .rsp = (uint64_t)(uintptr_t)(frame + 2),
				       .rbp = frame[0] };
	uint32_t path;

	return take(self, cache, FREE, RETURNS, &first, &path)
		       ? path
		       : sn_path_walk(self, cache, frame[1]);
}

uint32_t sn_path_known_at(struct sn_thread *self, struct sn_path_cache *cache,
			  const struct sn_path_frame *at)
{
	uint32_t path;

	return take(self, cache, KNOWN, EXACT, at, &path) ? path : 0;
}

uint32_t sn_path_take_at(struct sn_thread *self, struct sn_path_cache *cache,
			 const struct sn_unwind_regs *regs)
{
	struct sn_path_frame first = { .pc = regs->value[SN_UNWIND_RIP] + 1,
				       .rsp = regs->value[SN_UNWIND_RSP],
				       .rbp = regs->value[SN_UNWIND_RBP] };
	uint32_t path;

	return take(self, cache, HELD, EXACT, &first, &path) ? path : walk_at(self, cache, regs);
}
