/* Lines by address, which level has them, and how cores keep them in step. */
#include <string.h>

#include "caches/simulate_parts.h"

/* ---- lines by address ---- */

/* The number of the block with this address, made if new. */
static uint32_t block_find(struct sn_sim_blocks *blocks, uint64_t address)
{
	bool is_new;
	uint64_t *place = sn_map_put(&blocks->number_of, address, &is_new);

	if (is_new) {
		*place = blocks->items.count;
		sn_vec_reserve(&blocks->items, blocks->items.count + 1);
		memset(&blocks->items.items[blocks->items.count++], 0xff,
		       sizeof(struct sn_sim_block));
	}
	return (uint32_t)*place;
}

void sn_sim_blocks_clear(struct sn_sim_blocks *blocks)
{
	sn_map_free(&blocks->number_of);
	blocks->items.count = 0;
}

void sn_sim_blocks_free(struct sn_sim_blocks *blocks)
{
	sn_map_free(&blocks->number_of);
	sn_vec_free(&blocks->items);
}

/* The number of a line, made if new. */
static uint32_t line_find(struct sn_sim *sim, uint64_t line_address)
{
	uint32_t *number = NULL;

	if (sim->core_count > 1) {
		uint32_t block = block_find(&sim->line_of, line_address >> SN_SIM_BLOCK_SHIFT);

		number =
			&sim->line_of.items.items[block].numbers[line_address % SN_SIM_BLOCK_LINES];
		if (*number != SN_SIM_NONE)
			return *number;
		*number = (uint32_t)sim->lines.count;
	}
	sn_vec_push(&sim->lines, (struct sn_sim_line){ .address = line_address,
						       .slot = SN_SIM_NONE,
						       .owner = SN_SIM_NO_CORE,
						       .writer = SN_SIM_NO_CORE,
						       .writer_site = SN_SIM_NONE,
						       .first_core = SN_SIM_NO_CORE });
	return (uint32_t)sim->lines.count - 1;
}

/* A line that the core has met already, or meets now; `site` may be NULL. */
uint32_t sn_sim_copy_find(struct sn_sim *sim, unsigned c, uint64_t line_address,
			  struct sn_sim_site *site)
{
	struct sn_sim_core *core = &sim->cores[c];
	uint64_t address = line_address >> SN_SIM_BLOCK_SHIFT;
	uint32_t block, *number, line_number;
	struct sn_sim_line *line;

	if (site && site->block != SN_SIM_NONE && site->block_address == address)
		block = site->block;
	else
		block = block_find(&core->copy_of, address);
	if (site) {
		site->block = block;
		site->block_address = address;
	}
	number = &core->copy_of.items.items[block].numbers[line_address % SN_SIM_BLOCK_LINES];
	if (*number != SN_SIM_NONE)
		return *number;
	*number = (uint32_t)core->copies.count;
	line_number = line_find(sim, line_address);
	line = &sim->lines.items[line_number];
	sn_vec_push(&core->copies, (struct sn_sim_copy){ .line = line_number,
							 .next_core = line->first_core,
							 .next_copy = line->first_copy,
							 .foreign = line->written });
	line->has_many = line->first_core != SN_SIM_NO_CORE;
	line->first_core = (uint16_t)c;
	line->first_copy = *number;
	return *number;
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

static void transfer_end(struct sn_sim *sim, struct sn_sim_copy *copy)
{
	if (copy->is_awaited)
		sim->shared_lines.items[copy->shared].false_transfers++;
	copy->is_awaited = false;
}

/* A valid copy's bytes are used. */
void sn_sim_transfer_use(struct sn_sim *sim, struct sn_sim_copy *copy, uint64_t bytes)
{
	if (!copy->is_awaited || !(copy->foreign & bytes))
		return;
	copy->is_awaited = false;
	sim->shared_lines.items[copy->shared].true_transfers++;
}

void sn_sim_transfer_begin(const struct sn_sim_now *now, const struct sn_sim_line *line,
			   struct sn_sim_copy *copy)
{
	struct sn_sim *sim = now->sim;
	uint32_t other = line->owner != SN_SIM_NO_CORE ? line->owner : line->writer;
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
	if (other != SN_SIM_NO_CORE)
		shared->cores[other / 64] |= 1ull << other % 64;
	if (line->writer_site != SN_SIM_NONE)
		shared_add_site(shared, line->writer_site);
}

/* A line left a level. */
static void use_end(struct sn_sim *sim, unsigned level, uint32_t cell, uint64_t bytes)
{
	struct sn_sim_stage *stage = &sim->cells.items[cell].stages[level];

	stage->lines++;
	stage->used_bytes += (uint64_t)__builtin_popcountll(bytes) << sim->byte_shift;
}

/* ---- lines come and go ---- */

void sn_sim_shared_leave(struct sn_sim *sim, const struct sn_sim_line *line)
{
	use_end(sim, sim->private_count, line->use.cell, line->use.bytes);
}

void sn_sim_shared_fill(struct sn_sim *sim, uint32_t number, uint32_t cell, uint64_t bytes)
{
	struct sn_sim_line *line = &sim->lines.items[number];
	uint32_t slot = sn_sets_choose(&sim->shared, line->address);
	uint32_t old = sim->shared.things[slot];

	if (old != SN_SETS_EMPTY) {
		sn_sim_shared_leave(sim, &sim->lines.items[old]);
		sim->lines.items[old].slot = SN_SIM_NONE;
	}
	sim->shared.things[slot] = number;
	line->use = (struct sn_sim_use){ bytes, cell };
	sn_sets_use(&sim->shared, slot);
	line->slot = slot;
}

/* The last copy of a core goes. */
static void copy_leaves(struct sn_sim *sim, unsigned c, struct sn_sim_copy *copy,
			const struct sn_sim_use *use)
{
	struct sn_sim_line *line = &sim->lines.items[copy->line];

	transfer_end(sim, copy);
	if (copy->state == SN_SIM_MODIFIED && sim->config.last_is_shared &&
	    line->slot == SN_SIM_NONE)
		sn_sim_shared_fill(sim, copy->line, use->cell, use->bytes);
	if (line->owner == c) {
		line->owner = SN_SIM_NO_CORE;
		line->is_modified = false;
	}
	copy->state = SN_SIM_INVALID;
	copy->was_invalidated = false;
	copy->foreign = 0;
}

/* What was used of a copy's line in a level counts in the next one that has it, too. */
static uint64_t use_pass_on(struct sn_sim *sim, struct sn_sim_copy *copy, unsigned level)
{
	struct sn_sim_line *line;
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
	if (line->slot != SN_SIM_NONE)
		line->use.bytes |= bytes;
	return bytes;
}

static void private_evict(struct sn_sim *sim, unsigned c, unsigned level, uint32_t slot)
{
	struct sn_sim_core *core = &sim->cores[c];
	struct sn_sim_copy *copy = &core->copies.items[core->levels[level].things[slot]];
	uint64_t bytes = use_pass_on(sim, copy, level);
	struct sn_sim_use use = { bytes, copy->cells[level] };

	use_end(sim, level, use.cell, bytes);
	copy->levels &= (uint8_t) ~(1u << level);
	if (!copy->levels)
		copy_leaves(sim, c, copy, &use);
}

void sn_sim_private_fill(struct sn_sim *sim, unsigned c, unsigned level, uint32_t copy_number,
			 const struct sn_sim_use *use)
{
	struct sn_sim_core *core = &sim->cores[c];
	struct sn_sets *sets = &core->levels[level];
	struct sn_sim_copy *copy = &core->copies.items[copy_number];
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

/* The copy leaves all levels of its core, whose slots are left empty. */
static void levels_leave(struct sn_sim *sim, struct sn_sim_core *core, struct sn_sim_copy *copy)
{
	for (unsigned l = 0; l < sim->private_count; l++)
		if (copy->levels >> l & 1) {
			uint64_t bytes = use_pass_on(sim, copy, l);

			use_end(sim, l, copy->cells[l], bytes);
			sn_sets_empty(&core->levels[l], copy->slots[l]);
		}
}

void sn_sim_copy_leave(struct sn_sim *sim, struct sn_sim_core *core, struct sn_sim_copy *copy)
{
	transfer_end(sim, copy);
	levels_leave(sim, core, copy);
}

/* Another core writes the line. */
static void copy_invalidate(struct sn_sim *sim, unsigned c, struct sn_sim_copy *copy)
{
	struct sn_sim_core *core = &sim->cores[c];

	levels_leave(sim, core, copy);
	transfer_end(sim, copy);
	copy->lost |= copy->levels;
	copy->levels = 0;
	copy->state = SN_SIM_INVALID;
	copy->was_invalidated = true;
	copy->foreign = 0;
}

/* ---- MESI ---- */

/* Another core has the line modified: its data go to the level that all share. */
void sn_sim_owner_write_back(struct sn_sim *sim, uint32_t number)
{
	const struct sn_sim_line *line = &sim->lines.items[number];
	uint32_t c = line->first_core, k = line->first_copy;
	const struct sn_sim_copy *copy;

	if (!line->is_modified || !sim->config.last_is_shared || line->slot != SN_SIM_NONE)
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
			sn_sim_shared_fill(sim, number, copy->cells[l], copy->bytes[l]);
			return;
		}
}

/* The core writes: no other keeps a copy, and each that had one knows what it does not know. */
void sn_sim_others_lose(struct sn_sim *sim, unsigned c, struct sn_sim_line *line, uint64_t bytes)
{
	if (!line->has_many)
		return;
	for (uint32_t k = line->first_core, n = line->first_copy; k != SN_SIM_NO_CORE;) {
		struct sn_sim_copy *copy = &sim->cores[k].copies.items[n];

		if (k != c) {
			if (copy->state != SN_SIM_INVALID)
				copy_invalidate(sim, k, copy);
			copy->foreign |= bytes;
		}
		k = copy->next_core;
		n = copy->next_copy;
	}
}

/* The core reads what it does not have; true: another has it, too. */
bool sn_sim_others_share(struct sn_sim *sim, unsigned c, struct sn_sim_line *line)
{
	bool is_shared = false;

	if (!line->has_many)
		return false;
	for (uint32_t k = line->first_core, n = line->first_copy; k != SN_SIM_NO_CORE;) {
		struct sn_sim_copy *copy = &sim->cores[k].copies.items[n];

		if (k != c && copy->state != SN_SIM_INVALID) {
			copy->state = SN_SIM_SHARED;
			is_shared = true;
		}
		k = copy->next_core;
		n = copy->next_copy;
	}
	line->owner = SN_SIM_NO_CORE;
	line->is_modified = false;
	return is_shared;
}
