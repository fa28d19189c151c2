/*
 * The simulation. A line that a core has met is a `copy`, and knows its places in the core's levels; copies of
 * one line hang together on a `line`. So nothing is searched but the first time that an instruction comes to a
 * line, and iterations that stay within their lines are simulated twice and then only counted.
 */
#include "caches/simulate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "caches/reuse.h"
#include "caches/sets.h"

#define NONE UINT32_MAX

enum mesi { INVALID, SHARED, EXCLUSIVE, MODIFIED };

/* What was used of a line since a level took it in, and the cell that it came for. */
struct use {
	uint64_t bytes;
	uint32_t cell;
};

/* A line as one core has it. `levels` are bits. */
struct copy {
	uint64_t foreign; /* not valid: bytes that others wrote since; awaited: that make it true */
	uint32_t line;	  /* number */
	uint32_t next_copy;
	uint16_t next_core;   /* NO_CORE */
	uint8_t state;	      /* enum mesi */
	uint8_t levels;	      /* that have it */
	uint8_t lost;	      /* that had it when another core wrote it */
	bool was_invalidated; /* when it last left all of them */
	bool is_awaited;      /* it was transferred, and no byte of others' was used yet */
	uint32_t shared;      /* number of the struct sn_sim_shared that its transfer counts for */
	/* by level, where that has it */
	uint32_t slots[SN_SIM_LEVELS_MAX], cells[SN_SIM_LEVELS_MAX];
	uint64_t bytes[SN_SIM_LEVELS_MAX];
};

enum { NO_CORE = UINT16_MAX };

struct line {
	uint64_t address;     /* by line_bytes */
	uint64_t written;     /* bytes that were written by anybody */
	uint32_t slot;	      /* in the shared level; NONE */
	struct use use;	      /* of the shared level */
	uint32_t writer_site; /* last; NONE */
	uint32_t first_copy;
	uint16_t first_core; /* NO_CORE */
	uint16_t owner;	     /* the core whose copy is exclusive or modified; NO_CORE */
	uint16_t writer;     /* the last; NO_CORE */
	bool has_many;	     /* copies of more than one core */
	bool is_modified;    /* the owner's copy is */
};

/* Neighbouring lines: their numbers, so that an address is looked for once in so many lines. */
enum { BLOCK_SHIFT = 5, BLOCK_LINES = 1 << BLOCK_SHIFT };

struct block {
	uint32_t numbers[BLOCK_LINES]; /* of copies, or of lines; NONE */
};

/* Numbers by line. */
struct blocks {
	struct sn_map number_of; /* of blocks, by address */
	SN_VEC(struct block) items;
};

struct page {
	uint32_t slot; /* NONE: not in the TLB */
};

/* An instruction of a core. */
struct site {
	uint64_t object_first, object_last; /* of `cell`, inclusive; cell NONE: none */
	uint32_t cell;
	uint64_t line_address; /* of `copy` */
	uint32_t copy;	       /* NONE: none */
	uint64_t block_address;
	uint32_t block; /* of the core's copies; NONE: none */
	uint64_t page_address;
	uint32_t page; /* NONE: none */
	bool has_address;
	uint64_t address;
	int64_t stride;
	unsigned steady;	      /* accesses in a row with this stride */
	unsigned bucket, page_bucket; /* of the last access's distances; NO_BUCKET: new */
};

enum { NO_BUCKET = SN_SIM_REUSE_BUCKETS, STEADY = 2 };

struct core {
	bool is_used;
	struct sn_sets levels[SN_SIM_LEVELS_MAX], tlb;
	struct blocks copy_of;
	struct sn_map page_of; /* by address */
	SN_VEC(struct copy) copies;
	SN_VEC(struct page) pages;
	struct sn_reuse reuse, page_reuse; /* of copies, of pages */
	struct site *sites;
};

struct sn_sim {
	struct sn_sim_config config;
	unsigned core_count, private_count;
	unsigned line_shift, page_shift, byte_shift; /* byte_shift: of bytes to a bit of a mask */
	uint64_t line_counts[SN_SIM_STAGES];	     /* lines, entries that a level can hold */
	uint32_t site_count;
	sn_sim_object_at object_at;
	void *context;
	struct core *cores;
	struct sn_sets shared; /* the last level, if it is shared */
	struct blocks
		line_of; /* where there are several cores; a line's number is else its copy's */
	SN_VEC(struct line) lines;
	struct sn_reuse reuse; /* of lines; only where there are several cores */
	struct sn_map cell_of;
	SN_VEC(struct sn_sim_cell) cells;
	struct sn_map shared_of;
	SN_VEC(struct sn_sim_shared) shared_lines;
};

/* ---- lines by address ---- */

/* The number of the block with this address, made if new. */
static uint32_t block_find(struct blocks *blocks, uint64_t address)
{
	bool is_new;
	uint64_t *place = sn_map_put(&blocks->number_of, address, &is_new);

	if (is_new) {
		*place = blocks->items.count;
		sn_vec_reserve(&blocks->items, blocks->items.count + 1);
		memset(&blocks->items.items[blocks->items.count++], 0xff, sizeof(struct block));
	}
	return (uint32_t)*place;
}

static void blocks_clear(struct blocks *blocks)
{
	sn_map_free(&blocks->number_of);
	blocks->items.count = 0;
}

static void blocks_free(struct blocks *blocks)
{
	sn_map_free(&blocks->number_of);
	sn_vec_free(&blocks->items);
}

/* ---- made and freed ---- */

struct sn_sim *sn_sim_new(const struct sn_sim_config *config, unsigned core_count,
			  uint32_t site_count, sn_sim_object_at object_at, void *context)
{
	struct sn_sim *sim = sn_alloc_zeroed(1, sizeof(*sim));

	assert(core_count && core_count <= SN_SIM_CORES_MAX);
	sim->config = *config;
	sim->core_count = core_count;
	sim->site_count = site_count;
	sim->private_count = config->level_count - config->last_is_shared;
	assert(sim->private_count);
	sim->line_shift = (unsigned)__builtin_ctz(config->line_bytes);
	sim->page_shift = (unsigned)__builtin_ctzll(config->page_bytes);
	sim->byte_shift = sim->line_shift > 6 ? sim->line_shift - 6 : 0;
	for (unsigned l = 0; l < config->level_count; l++)
		sim->line_counts[l] = config->levels[l].sets * config->levels[l].ways;
	sim->line_counts[SN_SIM_TLB] = config->tlb.sets * config->tlb.ways;
	sim->object_at = object_at;
	sim->context = context;
	sim->cores = sn_alloc_zeroed(core_count, sizeof(*sim->cores));
	if (config->last_is_shared)
		sn_sets_init(&sim->shared, &config->levels[sim->private_count], config->is_plru);
	return sim;
}

static void core_begin(struct sn_sim *sim, struct core *core)
{
	core->is_used = true;
	for (unsigned l = 0; l < sim->private_count; l++)
		sn_sets_init(&core->levels[l], &sim->config.levels[l], sim->config.is_plru);
	sn_sets_init(&core->tlb, &sim->config.tlb, sim->config.is_plru);
	core->sites = sn_alloc_zeroed((size_t)sim->site_count + 1, sizeof(*core->sites));
	for (uint32_t s = 0; s < sim->site_count; s++)
		core->sites[s].cell = core->sites[s].copy = core->sites[s].block =
			core->sites[s].page = NONE;
}

static void core_free(struct core *core)
{
	for (unsigned l = 0; l < SN_SIM_LEVELS_MAX; l++)
		sn_sets_free(&core->levels[l]);
	sn_sets_free(&core->tlb);
	blocks_free(&core->copy_of);
	sn_map_free(&core->page_of);
	sn_vec_free(&core->copies);
	sn_vec_free(&core->pages);
	sn_reuse_free(&core->reuse);
	sn_reuse_free(&core->page_reuse);
	free(core->sites);
}

void sn_sim_free(struct sn_sim *sim)
{
	if (!sim)
		return;
	for (unsigned c = 0; c < sim->core_count; c++)
		core_free(&sim->cores[c]);
	free(sim->cores);
	sn_sets_free(&sim->shared);
	blocks_free(&sim->line_of);
	sn_vec_free(&sim->lines);
	sn_reuse_free(&sim->reuse);
	sn_map_free(&sim->cell_of);
	sn_vec_free(&sim->cells);
	sn_map_free(&sim->shared_of);
	sn_vec_free(&sim->shared_lines);
	free(sim);
}

/* ---- counting ---- */

static unsigned reuse_bucket(uint32_t distance)
{
	unsigned power;

	if (distance < 8)
		return distance;
	power = 31 - (unsigned)__builtin_clz(distance);
	return 8 + (power - 3) * 4 + (distance >> (power - 2) & 3);
}

/* The cell of what an instruction does at an address. */
static uint32_t cell_find(struct sn_sim *sim, unsigned c, uint32_t s, uint64_t address)
{
	struct site *site = &sim->cores[c].sites[s];
	uint64_t first = 0, last = UINT64_MAX, *cell;
	uint32_t object = 0;
	bool is_new;

	if (site->cell != NONE && address >= site->object_first && address <= site->object_last)
		return site->cell;
	if (sim->object_at)
		object = sim->object_at(sim->context, address, &first, &last);
	cell = sn_map_put(&sim->cell_of, ((uint64_t)c * sim->site_count + s) << 32 | object,
			  &is_new);
	if (is_new) {
		*cell = sim->cells.count;
		sn_vec_push(&sim->cells,
			    (struct sn_sim_cell){ .core = c, .site = s, .object = object });
	}
	site->object_first = first;
	site->object_last = last;
	site->cell = (uint32_t)*cell;
	return site->cell;
}

static void stage_count(struct sn_sim_stage *stage, bool is_write, unsigned bucket, uint64_t times)
{
	stage->accesses += times;
	if (is_write)
		stage->writes += times;
	if (bucket != NO_BUCKET)
		stage->reuse[bucket] += times;
}

static void stage_miss(struct sn_sim_stage *stage, bool is_write, enum sn_sim_cause cause)
{
	if (is_write)
		stage->write_misses++;
	else
		stage->read_misses++;
	stage->misses[cause]++;
}

/* The cause of a miss that no other core has to do with. */
static enum sn_sim_cause cause_of(const struct sn_sim *sim, unsigned level, uint32_t distance)
{
	if (distance == SN_REUSE_NEW)
		return SN_SIM_COLD;
	return distance >= sim->line_counts[level] ? SN_SIM_CAPACITY : SN_SIM_CONFLICT;
}

/* A line left a level. */
static void use_end(struct sn_sim *sim, unsigned level, uint32_t cell, uint64_t bytes)
{
	struct sn_sim_stage *stage = &sim->cells.items[cell].stages[level];

	stage->lines++;
	stage->used_bytes += (uint64_t)__builtin_popcountll(bytes) << sim->byte_shift;
}

/* ---- transfers between cores ---- */

static uint32_t shared_find(struct sn_sim *sim, uint64_t line_address, uint32_t object)
{
	bool is_new;
	uint64_t *number = sn_map_put(&sim->shared_of,
				      sn_hash_u64(line_address) ^ (uint64_t)object << 1, &is_new);

	if (is_new) {
		*number = sim->shared_lines.count;
		sn_vec_push(&sim->shared_lines,
			    (struct sn_sim_shared){ .line = line_address,
						    .object = object,
						    .first_address = UINT64_MAX });
	}
	return (uint32_t)*number;
}

static void shared_add_site(struct sn_sim_shared *shared, uint32_t site)
{
	for (uint32_t i = 0; i < shared->site_count; i++)
		if (shared->sites[i] == site)
			return;
	if (shared->site_count < SN_SIM_SITES_MAX)
		shared->sites[shared->site_count++] = site;
}

static void transfer_end(struct sn_sim *sim, struct copy *copy)
{
	if (copy->is_awaited)
		sim->shared_lines.items[copy->shared].false_transfers++;
	copy->is_awaited = false;
}

/* A valid copy's bytes are used. */
static void transfer_use(struct sn_sim *sim, struct copy *copy, uint64_t bytes)
{
	if (!copy->is_awaited || !(copy->foreign & bytes))
		return;
	copy->is_awaited = false;
	sim->shared_lines.items[copy->shared].true_transfers++;
}

/* What an access is, for the functions below. */
struct now {
	struct sn_sim *sim;
	struct core *core;
	unsigned c;
	uint32_t site_number, cell;
	uint64_t address, line_address;
	uint32_t size_bytes; /* within the line */
	uint64_t bytes;	     /* as a mask */
	bool is_write;
	uint32_t distance, line_distance; /* in the core's accesses, in all */
};

static void transfer_begin(const struct now *now, const struct line *line, struct copy *copy)
{
	struct sn_sim *sim = now->sim;
	uint32_t other = line->owner != NO_CORE ? line->owner : line->writer;
	struct sn_sim_shared *shared;

	copy->shared = shared_find(sim, now->line_address, sim->cells.items[now->cell].object);
	copy->is_awaited = true;
	shared = &sim->shared_lines.items[copy->shared];
	if (now->address < shared->first_address)
		shared->first_address = now->address;
	if (now->address + now->size_bytes - 1 > shared->last_address)
		shared->last_address = now->address + now->size_bytes - 1;
	shared->cores[now->c / 64] |= 1ull << now->c % 64;
	shared_add_site(shared, now->site_number);
	if (other != NO_CORE)
		shared->cores[other / 64] |= 1ull << other % 64;
	if (line->writer_site != NONE)
		shared_add_site(shared, line->writer_site);
}

/* ---- lines come and go ---- */

static void shared_leaves(struct sn_sim *sim, const struct line *line)
{
	use_end(sim, sim->private_count, line->use.cell, line->use.bytes);
}

static void shared_fill(struct sn_sim *sim, uint32_t number, uint32_t cell, uint64_t bytes)
{
	struct line *line = &sim->lines.items[number];
	uint32_t slot = sn_sets_choose(&sim->shared, line->address);
	uint32_t old = sim->shared.things[slot];

	if (old != SN_SETS_EMPTY) {
		shared_leaves(sim, &sim->lines.items[old]);
		sim->lines.items[old].slot = NONE;
	}
	sim->shared.things[slot] = number;
	line->use = (struct use){ bytes, cell };
	sn_sets_use(&sim->shared, slot);
	line->slot = slot;
}

/* The last copy of a core goes. */
static void copy_leaves(struct sn_sim *sim, unsigned c, struct copy *copy, const struct use *use)
{
	struct line *line = &sim->lines.items[copy->line];

	transfer_end(sim, copy);
	if (copy->state == MODIFIED && sim->config.last_is_shared && line->slot == NONE)
		shared_fill(sim, copy->line, use->cell, use->bytes);
	if (line->owner == c) {
		line->owner = NO_CORE;
		line->is_modified = false;
	}
	copy->state = INVALID;
	copy->was_invalidated = false;
	copy->foreign = 0;
}

/* What was used of a copy's line in a level counts in the next one that has it, too. */
static uint64_t use_pass_on(struct sn_sim *sim, struct copy *copy, unsigned level)
{
	struct line *line;
	uint64_t bytes = 0;

	for (unsigned l = 0; l <= level; l++)
		if (copy->levels >> l & 1)
			bytes |= copy->bytes[l];
	for (unsigned l = level + 1; l < sim->private_count; l++)
		if (copy->levels >> l & 1) {
			copy->bytes[l] |= bytes;
			return bytes;
		}
	line = &sim->lines.items[copy->line];
	if (line->slot != NONE)
		line->use.bytes |= bytes;
	return bytes;
}

static void private_evict(struct sn_sim *sim, unsigned c, unsigned level, uint32_t slot)
{
	struct core *core = &sim->cores[c];
	struct copy *copy = &core->copies.items[core->levels[level].things[slot]];
	uint64_t bytes = use_pass_on(sim, copy, level);
	struct use use = { bytes, copy->cells[level] };

	use_end(sim, level, use.cell, bytes);
	copy->levels &= (uint8_t) ~(1u << level);
	if (!copy->levels)
		copy_leaves(sim, c, copy, &use);
}

static void private_fill(struct sn_sim *sim, unsigned c, unsigned level, uint32_t copy_number,
			 const struct use *use)
{
	struct core *core = &sim->cores[c];
	struct sn_sets *sets = &core->levels[level];
	struct copy *copy = &core->copies.items[copy_number];
	uint32_t slot = sn_sets_choose(sets, sim->lines.items[copy->line].address);

	if (sets->things[slot] != SN_SETS_EMPTY)
		private_evict(sim, c, level, slot);
	sets->things[slot] = copy_number;
	copy->cells[level] = use->cell;
	copy->bytes[level] = use->bytes;
	sn_sets_use(sets, slot);
	copy->slots[level] = slot;
	copy->levels |= (uint8_t)(1u << level);
	copy->lost &= (uint8_t) ~(1u << level);
}

/* Another core writes the line. */
static void copy_invalidate(struct sn_sim *sim, unsigned c, struct copy *copy)
{
	struct core *core = &sim->cores[c];

	for (unsigned l = 0; l < sim->private_count; l++)
		if (copy->levels >> l & 1) {
			uint64_t bytes = use_pass_on(sim, copy, l);

			use_end(sim, l, copy->cells[l], bytes);
			sn_sets_empty(&core->levels[l], copy->slots[l]);
		}
	transfer_end(sim, copy);
	copy->lost |= copy->levels;
	copy->levels = 0;
	copy->state = INVALID;
	copy->was_invalidated = true;
	copy->foreign = 0;
}

/* ---- MESI ---- */

/* Another core has the line modified: its data go to the level that all share. */
static void owner_write_back(struct sn_sim *sim, uint32_t number)
{
	const struct line *line = &sim->lines.items[number];
	uint32_t c = line->first_core, k = line->first_copy;
	const struct copy *copy;

	if (!line->is_modified || !sim->config.last_is_shared || line->slot != NONE)
		return;
	for (;;) {
		copy = &sim->cores[c].copies.items[k];
		if (c == line->owner)
			break;
		c = copy->next_core;
		k = copy->next_copy;
	}
	for (unsigned l = sim->private_count; l-- > 0;)
		if (copy->levels >> l & 1) {
			shared_fill(sim, number, copy->cells[l], copy->bytes[l]);
			return;
		}
}

/* The core writes: no other keeps a copy, and each that had one knows what it does not know. */
static void others_lose(struct sn_sim *sim, unsigned c, struct line *line, uint64_t bytes)
{
	if (!line->has_many)
		return;
	for (uint32_t k = line->first_core, n = line->first_copy; k != NO_CORE;) {
		struct copy *copy = &sim->cores[k].copies.items[n];

		if (k != c) {
			if (copy->state != INVALID)
				copy_invalidate(sim, k, copy);
			copy->foreign |= bytes;
		}
		k = copy->next_core;
		n = copy->next_copy;
	}
}

/* The core reads what it does not have; true: another has it, too. */
static bool others_share(struct sn_sim *sim, unsigned c, struct line *line)
{
	bool is_shared = false;

	if (!line->has_many)
		return false;
	for (uint32_t k = line->first_core, n = line->first_copy; k != NO_CORE;) {
		struct copy *copy = &sim->cores[k].copies.items[n];

		if (k != c && copy->state != INVALID) {
			copy->state = SHARED;
			is_shared = true;
		}
		k = copy->next_core;
		n = copy->next_copy;
	}
	line->owner = NO_CORE;
	line->is_modified = false;
	return is_shared;
}

/* After a hit or a fill; true: nothing changed that the same access again would not find changed. */
static bool write_take(const struct now *now, struct line *line, struct copy *copy)
{
	bool was_modified = copy->state == MODIFIED;

	if (!was_modified || line->has_many)
		others_lose(now->sim, now->c, line, now->bytes);
	copy->state = MODIFIED;
	line->owner = line->writer = (uint16_t)now->c;
	line->is_modified = true;
	line->writer_site = now->site_number;
	line->written |= now->bytes;
	return was_modified;
}

/* ---- one access ---- */

/* The number of a line, made if new. */
static uint32_t line_find(struct sn_sim *sim, uint64_t line_address)
{
	uint32_t *number = NULL;

	if (sim->core_count > 1) {
		uint32_t block = block_find(&sim->line_of, line_address >> BLOCK_SHIFT);

		number = &sim->line_of.items.items[block].numbers[line_address % BLOCK_LINES];
		if (*number != NONE)
			return *number;
		*number = (uint32_t)sim->lines.count;
	}
	sn_vec_push(&sim->lines, (struct line){ .address = line_address,
						.slot = NONE,
						.owner = NO_CORE,
						.writer = NO_CORE,
						.writer_site = NONE,
						.first_core = NO_CORE });
	return (uint32_t)sim->lines.count - 1;
}

/* A line that the core has met already, or meets now; `site` may be NULL. */
static uint32_t copy_find(struct sn_sim *sim, unsigned c, uint64_t line_address, struct site *site)
{
	struct core *core = &sim->cores[c];
	uint64_t address = line_address >> BLOCK_SHIFT;
	uint32_t block, *number, line_number;
	struct line *line;

	if (site && site->block != NONE && site->block_address == address)
		block = site->block;
	else
		block = block_find(&core->copy_of, address);
	if (site) {
		site->block = block;
		site->block_address = address;
	}
	number = &core->copy_of.items.items[block].numbers[line_address % BLOCK_LINES];
	if (*number != NONE)
		return *number;
	*number = (uint32_t)core->copies.count;
	line_number = line_find(sim, line_address);
	line = &sim->lines.items[line_number];
	sn_vec_push(&core->copies, (struct copy){ .line = line_number,
						  .next_core = line->first_core,
						  .next_copy = line->first_copy,
						  .foreign = line->written });
	line->has_many = line->first_core != NO_CORE;
	line->first_core = (uint16_t)c;
	line->first_copy = *number;
	return *number;
}

/* The line came from behind the private levels; counted where the access is the program's. */
static void shared_access(const struct now *now, uint32_t number, bool is_counted)
{
	struct sn_sim *sim = now->sim;
	unsigned level = sim->private_count;
	struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[level];
	uint32_t slot = sim->lines.items[number].slot;

	if (is_counted)
		stage_count(stage, now->is_write,
			    now->line_distance == SN_REUSE_NEW ? NO_BUCKET
							       : reuse_bucket(now->line_distance),
			    1);
	if (slot != NONE) {
		sim->lines.items[number].use.bytes |= now->bytes;
		sn_sets_use(&sim->shared, slot);
		return;
	}
	if (is_counted)
		stage_miss(stage, now->is_write, cause_of(sim, level, now->line_distance));
	shared_fill(sim, number, now->cell, now->bytes);
}

/* No private level has the line: other cores, the shared level. */
static void fetch(const struct now *now, uint32_t copy_number, bool is_counted)
{
	struct sn_sim *sim = now->sim;
	struct copy *copy = &now->core->copies.items[copy_number];
	struct line *line = &sim->lines.items[copy->line];

	if (is_counted && line->has_many) {
		if (copy->was_invalidated || line->is_modified)
			transfer_begin(now, line, copy);
		owner_write_back(sim, copy->line);
	}
	if (sim->config.last_is_shared)
		shared_access(now, copy->line, is_counted);
	line = &sim->lines.items[copy->line];
	if (!now->is_write) {
		copy->state = others_share(sim, now->c, line) ? SHARED : EXCLUSIVE;
		if (copy->state == EXCLUSIVE)
			line->owner = (uint16_t)now->c;
	}
	copy->was_invalidated = false;
}

/* The levels above the one that had it take it in; outer ones first. */
static void fill_above(const struct now *now, uint32_t copy_number, unsigned level)
{
	struct use use = { now->bytes, now->cell };

	while (level-- > 0)
		private_fill(now->sim, now->c, level, copy_number, &use);
}

static enum sn_sim_cause private_cause(const struct now *now, const struct copy *copy,
				       unsigned level)
{
	enum sn_sim_cause cause = cause_of(now->sim, level, now->distance);

	return cause == SN_SIM_CONFLICT && copy->lost >> level & 1 ? SN_SIM_COHERENCE : cause;
}

/* Level by level until one has it. */
static void miss(const struct now *now, uint32_t copy_number, unsigned bucket)
{
	struct sn_sim *sim = now->sim;
	struct copy *copy = &now->core->copies.items[copy_number];
	unsigned level = 0;

	for (;;) {
		struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[level];

		stage_miss(stage, now->is_write, private_cause(now, copy, level));
		if (++level == sim->private_count)
			break;
		stage_count(stage + 1, now->is_write, bucket, 1);
		if (copy->levels >> level & 1) {
			sn_sets_use(&now->core->levels[level], copy->slots[level]);
			break;
		}
	}
	if (!copy->levels)
		fetch(now, copy_number, true);
	fill_above(now, copy_number, level);
}

/* An access within one line; true: the same again would change nothing but counts. */
static bool line_access(struct now *now, struct site *site)
{
	struct sn_sim *sim = now->sim;
	struct core *core = now->core;
	bool is_plain = true;
	struct copy *copy;

	if (site->copy == NONE || site->line_address != now->line_address) {
		site->copy = copy_find(sim, now->c, now->line_address, site);
		site->line_address = now->line_address;
		is_plain = false;
	}
	copy = &core->copies.items[site->copy];
	now->distance = now->line_distance = sn_reuse_touch(&core->reuse, site->copy);
	if (sim->core_count > 1)
		now->line_distance = sn_reuse_touch(&sim->reuse, copy->line);
	site->bucket = now->distance == SN_REUSE_NEW ? NO_BUCKET : reuse_bucket(now->distance);
	stage_count(&sim->cells.items[now->cell].stages[0], now->is_write, site->bucket, 1);
	if (copy->levels & 1) {
		copy->bytes[0] |= now->bytes;
		sn_sets_use(&core->levels[0], copy->slots[0]);
	} else {
		miss(now, site->copy, site->bucket);
		copy = &core->copies.items[site->copy];
		is_plain = false;
	}
	transfer_use(sim, copy, now->bytes);
	if (now->is_write && !write_take(now, &sim->lines.items[copy->line], copy))
		is_plain = false;
	return is_plain;
}

static bool page_access(const struct now *now, struct site *site)
{
	struct sn_sim *sim = now->sim;
	struct core *core = now->core;
	uint64_t page_address = now->address >> sim->page_shift;
	struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[SN_SIM_TLB];
	struct page *page;
	uint32_t distance, slot, old;

	if (site->page == NONE || site->page_address != page_address) {
		bool is_new;
		uint64_t *place = sn_map_put(&core->page_of, page_address, &is_new);

		if (is_new) {
			*place = core->pages.count;
			sn_vec_push(&core->pages, (struct page){ NONE });
		}
		site->page = (uint32_t)*place;
		site->page_address = page_address;
	}
	distance = sn_reuse_touch(&core->page_reuse, site->page);
	site->page_bucket = distance == SN_REUSE_NEW ? NO_BUCKET : reuse_bucket(distance);
	stage_count(stage, now->is_write, site->page_bucket, 1);
	page = &core->pages.items[site->page];
	if (page->slot != NONE) {
		sn_sets_use(&core->tlb, page->slot);
		return true;
	}
	stage_miss(stage, now->is_write, cause_of(sim, SN_SIM_TLB, distance));
	slot = sn_sets_choose(&core->tlb, page_address);
	old = core->tlb.things[slot];
	if (old != SN_SETS_EMPTY)
		core->pages.items[old].slot = NONE;
	core->tlb.things[slot] = site->page;
	sn_sets_use(&core->tlb, slot);
	page->slot = slot;
	return false;
}

/* The prefetcher brings a line, unless another core has to do with it; false: it did not have to. */
static bool line_prefetch(const struct now *now, uint64_t line_address)
{
	struct now theirs = *now;
	uint32_t number = copy_find(now->sim, now->c, line_address, NULL);
	struct copy *copy = &now->core->copies.items[number];
	const struct line *line = &now->sim->lines.items[copy->line];
	unsigned level = 0;

	if (copy->levels & 1 || (line->has_many && line->written))
		return false;
	theirs.line_address = line_address;
	theirs.bytes = 0;
	theirs.is_write = false;
	while (level < now->sim->private_count && !(copy->levels >> level & 1))
		level++;
	if (level == now->sim->private_count)
		fetch(&theirs, number, false);
	else
		sn_sets_use(&now->core->levels[level], copy->slots[level]);
	fill_above(&theirs, number, level);
	return true;
}

/* The next line on the way of an instruction that has kept its stride, within the page; false: nothing was
 * done, and nothing will be if the same goes on within the line. */
static bool prefetch(const struct now *now, const struct site *site)
{
	const struct sn_sim *sim = now->sim;
	int64_t line_bytes = sim->config.line_bytes;
	int64_t step = site->stride;
	uint64_t target;

	if (!step)
		return false;
	if (site->steady < STEADY)
		return true;
	if (step > -line_bytes && step < line_bytes)
		step = step > 0 ? line_bytes : -line_bytes;
	target = now->address + (uint64_t)step;
	if (target >> sim->page_shift != now->address >> sim->page_shift)
		return false;
	return line_prefetch(now, target >> sim->line_shift);
}

/* A mask of bytes of a line, a bit for each 1 << byte_shift. */
static uint64_t mask_of(const struct sn_sim *sim, uint64_t first, uint64_t last)
{
	uint64_t in_line = sim->config.line_bytes - 1;
	unsigned from = (unsigned)((first & in_line) >> sim->byte_shift);
	unsigned to = (unsigned)((last & in_line) >> sim->byte_shift);

	return ~0ull >> (63 - to) & ~0ull << from;
}

static bool access_part(struct sn_sim *sim, unsigned c, const struct sn_sim_access *access,
			uint64_t first, uint64_t last)
{
	struct core *core = &sim->cores[c];
	struct site *site = &core->sites[access->site];
	struct now now = {
		.sim = sim,
		.core = core,
		.c = c,
		.site_number = access->site,
		.cell = cell_find(sim, c, access->site, first),
		.address = first,
		.line_address = first >> sim->line_shift,
		.size_bytes = (uint32_t)(last - first + 1),
		.bytes = mask_of(sim, first, last),
		.is_write = access->is_write,
	};
	bool is_plain = page_access(&now, site);

	is_plain &= line_access(&now, site);
	if (sim->config.has_prefetcher)
		is_plain &= !prefetch(&now, site);
	return is_plain;
}

static void stride_note(struct sn_sim *sim, unsigned c, const struct sn_sim_access *access)
{
	struct site *site = &sim->cores[c].sites[access->site];
	int64_t stride = (int64_t)(access->address - site->address);

	if (site->has_address) {
		uint32_t cell = cell_find(sim, c, access->site, access->address);

		sn_sim_stride_add(sim->cells.items[cell].strides, stride, 1);
		site->steady = stride == site->stride ? site->steady + 1 : 1;
		site->stride = stride;
	}
	site->has_address = true;
	site->address = access->address;
}

static bool access_do(struct sn_sim *sim, unsigned c, const struct sn_sim_access *access)
{
	uint64_t first = access->address;
	uint64_t last = first + (access->size_bytes ? access->size_bytes : 1) - 1;
	bool is_plain = true;

	stride_note(sim, c, access);
	if (last < first)
		last = UINT64_MAX;
	for (;;) {
		uint64_t line_last = first | (sim->config.line_bytes - 1);

		is_plain &= access_part(sim, c, access, first, last < line_last ? last : line_last);
		if (last <= line_last)
			return is_plain;
		first = line_last + 1;
		is_plain = false;
	}
}

/* ---- many accesses ---- */

/* How many iterations, this one too, all accesses stay within the lines that they are in. */
static uint64_t times_in_lines(const struct sn_sim *sim, const struct sn_sim_access *accesses,
			       size_t count, uint64_t times)
{
	uint64_t line_bytes = sim->config.line_bytes;

	for (size_t i = 0; i < count && times > 1; i++) {
		uint64_t stride = (uint64_t)accesses[i].stride_bytes;
		uint64_t at = accesses[i].address & (line_bytes - 1);
		uint64_t end = at + (accesses[i].size_bytes ? accesses[i].size_bytes : 1);
		uint64_t room = line_bytes - end;

		if (end > line_bytes)
			return 1;
		if (!stride)
			continue;
		if (accesses[i].stride_bytes < 0) {
			stride = -stride;
			room = at;
		}
		if (stride > room)
			return 1;
		if (room / stride + 1 < times)
			times = room / stride + 1;
	}
	return times;
}

/* Bytes of so many accesses within a line. */
static uint64_t mask_of_times(const struct sn_sim *sim, const struct sn_sim_access *access,
			      uint64_t times)
{
	uint64_t size = access->size_bytes ? access->size_bytes : 1, at = access->address;
	uint64_t bytes = 0;

	if (!access->stride_bytes)
		times = 1;
	for (; times; times--, at += (uint64_t)access->stride_bytes)
		bytes |= mask_of(sim, at, at + size - 1);
	return bytes;
}

/* So many more iterations like the last, in which nothing changed but counts; bytes that they use, too. */
static void times_add(struct sn_sim *sim, unsigned c, struct sn_sim_access *accesses, size_t count,
		      uint64_t times)
{
	struct core *core = &sim->cores[c];

	for (size_t i = 0; i < count; i++) {
		struct sn_sim_access *access = &accesses[i];
		struct site *site = &core->sites[access->site];
		struct sn_sim_cell *cell = &sim->cells.items[site->cell];
		struct copy *copy = &core->copies.items[site->copy];
		uint64_t last = access->address + (uint64_t)access->stride_bytes * (times - 1);
		uint64_t bytes = mask_of_times(sim, access, times);

		stage_count(&cell->stages[0], access->is_write, site->bucket, times);
		stage_count(&cell->stages[SN_SIM_TLB], access->is_write, site->page_bucket, times);
		sn_sim_stride_add(cell->strides, access->stride_bytes, times);
		site->address = last;
		site->steady = STEADY;
		access->address = last + (uint64_t)access->stride_bytes;
		copy->bytes[0] |= bytes;
		transfer_use(sim, copy, bytes);
		if (access->is_write) {
			struct line *line = &sim->lines.items[copy->line];

			line->written |= bytes;
			others_lose(sim, c, line, bytes);
		}
	}
}

/* Within one iteration each instruction comes once: its counts are the last access's. */
static bool iteration_do(struct sn_sim *sim, unsigned c, struct sn_sim_access *accesses,
			 size_t count)
{
	bool is_plain = true;

	for (size_t i = 0; i < count; i++) {
		is_plain &= access_do(sim, c, &accesses[i]);
		accesses[i].address += (uint64_t)accesses[i].stride_bytes;
	}
	return is_plain;
}

static bool has_site_twice(const struct sn_sim_access *accesses, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (accesses[i].site == accesses[k].site)
				return true;
	return false;
}

void sn_sim_run(struct sn_sim *sim, unsigned core, struct sn_sim_access *accesses, size_t count,
		uint64_t times)
{
	enum { COUNTED_ACCESSES_MAX = 64 };
	bool is_first = true; /* its distances tell of what came before */
	bool can_count =
		times > 4 && count <= COUNTED_ACCESSES_MAX && !has_site_twice(accesses, count);

	assert(core < sim->core_count);
	if (!sim->cores[core].is_used)
		core_begin(sim, &sim->cores[core]);
	while (times) {
		uint64_t alike = can_count ? times_in_lines(sim, accesses, count, times) : times;
		bool was_plain = false;

		times -= alike;
		while (alike) {
			if (was_plain && can_count && alike > 1) {
				times_add(sim, core, accesses, count, alike);
				break;
			}
			was_plain = iteration_do(sim, core, accesses, count) && !is_first;
			is_first = false;
			alike--;
		}
	}
}

/* ---- the end of what is known ---- */

static void core_forget(struct sn_sim *sim, unsigned c)
{
	struct core *core = &sim->cores[c];

	for (size_t i = 0; i < core->copies.count; i++) {
		struct copy *copy = &core->copies.items[i];

		transfer_end(sim, copy);
		for (unsigned l = 0; l < sim->private_count; l++)
			if (copy->levels >> l & 1) {
				uint64_t bytes = use_pass_on(sim, copy, l);

				use_end(sim, l, copy->cells[l], bytes);
				sn_sets_empty(&core->levels[l], copy->slots[l]);
			}
	}
	for (size_t i = 0; i < core->pages.count; i++)
		if (core->pages.items[i].slot != NONE)
			sn_sets_empty(&core->tlb, core->pages.items[i].slot);
	for (uint32_t s = 0; s < sim->site_count; s++) {
		core->sites[s].copy = core->sites[s].block = core->sites[s].page = NONE;
		core->sites[s].has_address = false;
		core->sites[s].steady = 0;
	}
	core->copies.count = core->pages.count = 0;
	blocks_clear(&core->copy_of);
	sn_map_free(&core->page_of);
	sn_reuse_clear(&core->reuse);
	sn_reuse_clear(&core->page_reuse);
}

void sn_sim_forget(struct sn_sim *sim)
{
	for (unsigned c = 0; c < sim->core_count; c++)
		if (sim->cores[c].is_used)
			core_forget(sim, c);
	for (size_t i = 0; i < sim->lines.count; i++) {
		uint32_t slot = sim->lines.items[i].slot;

		if (slot == NONE)
			continue;
		shared_leaves(sim, &sim->lines.items[i]);
		sn_sets_empty(&sim->shared, slot);
	}
	sim->lines.count = 0;
	blocks_clear(&sim->line_of);
	sn_reuse_clear(&sim->reuse);
}

const struct sn_sim_cell *sn_sim_cells(const struct sn_sim *sim, size_t *count)
{
	*count = sim->cells.count;
	return sim->cells.items;
}

const struct sn_sim_shared *sn_sim_shared(const struct sn_sim *sim, size_t *count)
{
	*count = sim->shared_lines.count;
	return sim->shared_lines.items;
}
