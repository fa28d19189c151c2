/*
 * The simulation. A line that a core has met is a `copy`, and knows its places in the core's levels; copies of
 * one line hang together on a `line`. So nothing is searched but the first time that an instruction comes to a
 * line, and iterations that stay within their lines are simulated twice and then only counted.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "caches/simulate_parts.h"

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

static void core_begin(struct sn_sim *sim, struct sn_sim_core *core)
{
	core->is_used = true;
	for (unsigned l = 0; l < sim->private_count; l++)
		sn_sets_init(&core->levels[l], &sim->config.levels[l], sim->config.is_plru);
	sn_sets_init(&core->tlb, &sim->config.tlb, sim->config.is_plru);
	core->sites = sn_alloc_zeroed((size_t)sim->site_count + 1, sizeof(*core->sites));
	for (uint32_t s = 0; s < sim->site_count; s++)
		core->sites[s].cell = core->sites[s].copy = core->sites[s].block =
			core->sites[s].page = SN_SIM_NONE;
}

static void core_free(struct sn_sim_core *core)
{
	for (unsigned l = 0; l < SN_SIM_LEVELS_MAX; l++)
		sn_sets_free(&core->levels[l]);
	sn_sets_free(&core->tlb);
	sn_sim_blocks_free(&core->copy_of);
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
	sn_sim_blocks_free(&sim->line_of);
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
	struct sn_sim_site *site = &sim->cores[c].sites[s];
	uint64_t first = 0, last = UINT64_MAX, *cell;
	uint32_t object = 0;
	bool is_new;

	if (site->cell != SN_SIM_NONE && address >= site->object_first &&
	    address <= site->object_last)
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

static void stage_count(const struct sn_sim *sim, struct sn_sim_stage *stage, bool is_write,
			unsigned bucket, uint64_t times)
{
	stage->accesses += times;
	stage->accesses_at_start += sim->is_at_start ? times : 0;
	if (is_write)
		stage->writes += times;
	if (bucket != SN_SIM_NO_BUCKET)
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

static void cold_count(const struct sn_sim *sim, struct sn_sim_stage *stage,
		       enum sn_sim_cause cause, struct sn_sets *sets, uint64_t address)
{
	bool could_hold = cause == SN_SIM_COLD && sn_sets_could_hold(sets, address);

	stage->open += could_hold;
	stage->open_at_start += could_hold && sim->is_at_start;
}

/* The cause of a miss that no other core has to do with. */
static enum sn_sim_cause cause_of(const struct sn_sim *sim, unsigned level, uint32_t distance)
{
	if (distance == SN_REUSE_NEW)
		return SN_SIM_COLD;
	return distance >= sim->line_counts[level] ? SN_SIM_CAPACITY : SN_SIM_CONFLICT;
}

/* ---- one access ---- */

/* After a hit or a fill; true: nothing changed that the same access again would not find changed. */
static bool write_take(const struct sn_sim_now *now, struct sn_sim_line *line,
		       struct sn_sim_copy *copy)
{
	bool was_modified = copy->state == SN_SIM_MODIFIED;

	if (!was_modified || line->has_many)
		sn_sim_others_lose(now->sim, now->c, line, now->bytes);
	copy->state = SN_SIM_MODIFIED;
	line->owner = line->writer = (uint16_t)now->c;
	line->is_modified = true;
	line->writer_site = now->site_number;
	line->written |= now->bytes;
	return was_modified;
}

/* The line came from behind the private levels; counted where the access is the program's. */
static void shared_access(const struct sn_sim_now *now, uint32_t number, bool is_counted)
{
	struct sn_sim *sim = now->sim;
	unsigned level = sim->private_count;
	struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[level];
	uint32_t slot = sim->lines.items[number].slot;

	if (is_counted)
		stage_count(now->sim, stage, now->is_write,
			    now->line_distance == SN_REUSE_NEW ? SN_SIM_NO_BUCKET
							       : reuse_bucket(now->line_distance),
			    1);
	if (slot != SN_SIM_NONE) {
		sim->lines.items[number].use.bytes |= now->bytes;
		sn_sets_use(&sim->shared, slot);
		return;
	}
	if (is_counted) {
		enum sn_sim_cause cause = cause_of(sim, level, now->line_distance);

		stage_miss(stage, now->is_write, cause);
		cold_count(now->sim, stage, cause, &sim->shared, now->line_address);
	}
	sn_sim_shared_fill(sim, number, now->cell, now->bytes);
}

/* No private level has the line: other cores, the shared level. */
static void fetch(const struct sn_sim_now *now, uint32_t copy_number, bool is_counted)
{
	struct sn_sim *sim = now->sim;
	struct sn_sim_copy *copy = &now->core->copies.items[copy_number];
	struct sn_sim_line *line = &sim->lines.items[copy->line];

	if (is_counted && line->has_many) {
		if (copy->was_invalidated || line->is_modified)
			sn_sim_transfer_begin(now, line, copy);
		sn_sim_owner_write_back(sim, copy->line);
	}
	if (sim->config.last_is_shared)
		shared_access(now, copy->line, is_counted);
	line = &sim->lines.items[copy->line];
	if (!now->is_write) {
		copy->state =
			sn_sim_others_share(sim, now->c, line) ? SN_SIM_SHARED : SN_SIM_EXCLUSIVE;
		if (copy->state == SN_SIM_EXCLUSIVE)
			line->owner = (uint16_t)now->c;
	}
	copy->was_invalidated = false;
}

/* The levels above the one that had it take it in; outer ones first. */
static void fill_above(const struct sn_sim_now *now, uint32_t copy_number, unsigned level)
{
	struct sn_sim_use use = { now->bytes, now->cell };

	while (level-- > 0)
		sn_sim_private_fill(now->sim, now->c, level, copy_number, &use);
}

static enum sn_sim_cause private_cause(const struct sn_sim_now *now, const struct sn_sim_copy *copy,
				       unsigned level)
{
	enum sn_sim_cause cause = cause_of(now->sim, level, now->distance);

	return cause == SN_SIM_CONFLICT && copy->lost >> level & 1 ? SN_SIM_COHERENCE : cause;
}

/* Level by level until one has it. */
static void miss(const struct sn_sim_now *now, uint32_t copy_number, unsigned bucket)
{
	struct sn_sim *sim = now->sim;
	struct sn_sim_copy *copy = &now->core->copies.items[copy_number];
	unsigned level = 0;

	for (;;) {
		struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[level];

		enum sn_sim_cause cause = private_cause(now, copy, level);

		stage_miss(stage, now->is_write, cause);
		cold_count(now->sim, stage, cause, &now->core->levels[level], now->line_address);
		if (++level == sim->private_count)
			break;
		stage_count(now->sim, stage + 1, now->is_write, bucket, 1);
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
static bool line_access(struct sn_sim_now *now, struct sn_sim_site *site)
{
	struct sn_sim *sim = now->sim;
	struct sn_sim_core *core = now->core;
	bool is_plain = true;
	struct sn_sim_copy *copy;

	if (site->copy == SN_SIM_NONE || site->line_address != now->line_address) {
		site->copy = sn_sim_copy_find(sim, now->c, now->line_address, site);
		site->line_address = now->line_address;
		is_plain = false;
	}
	copy = &core->copies.items[site->copy];
	now->distance = now->line_distance = sn_reuse_touch(&core->reuse, site->copy);
	if (sim->core_count > 1)
		now->line_distance = sn_reuse_touch(&sim->reuse, copy->line);
	site->bucket =
		now->distance == SN_REUSE_NEW ? SN_SIM_NO_BUCKET : reuse_bucket(now->distance);
	stage_count(sim, &sim->cells.items[now->cell].stages[0], now->is_write, site->bucket, 1);
	if (copy->levels & 1) {
		copy->bytes[0] |= now->bytes;
		sn_sets_use(&core->levels[0], copy->slots[0]);
	} else {
		miss(now, site->copy, site->bucket);
		copy = &core->copies.items[site->copy];
		is_plain = false;
	}
	sn_sim_transfer_use(sim, copy, now->bytes);
	if (now->is_write && !write_take(now, &sim->lines.items[copy->line], copy))
		is_plain = false;
	return is_plain;
}

static bool page_access(const struct sn_sim_now *now, struct sn_sim_site *site)
{
	struct sn_sim *sim = now->sim;
	struct sn_sim_core *core = now->core;
	uint64_t page_address = now->address >> sim->page_shift;
	struct sn_sim_stage *stage = &sim->cells.items[now->cell].stages[SN_SIM_TLB];
	struct sn_sim_page *page;
	uint32_t distance, slot, old;

	if (site->page == SN_SIM_NONE || site->page_address != page_address) {
		bool is_new;
		uint64_t *place = sn_map_put(&core->page_of, page_address, &is_new);

		if (is_new) {
			*place = core->pages.count;
			sn_vec_push(&core->pages, (struct sn_sim_page){ SN_SIM_NONE });
		}
		site->page = (uint32_t)*place;
		site->page_address = page_address;
	}
	distance = sn_reuse_touch(&core->page_reuse, site->page);
	site->page_bucket = distance == SN_REUSE_NEW ? SN_SIM_NO_BUCKET : reuse_bucket(distance);
	stage_count(now->sim, stage, now->is_write, site->page_bucket, 1);
	page = &core->pages.items[site->page];
	if (page->slot != SN_SIM_NONE) {
		sn_sets_use(&core->tlb, page->slot);
		return true;
	}
	stage_miss(stage, now->is_write, cause_of(sim, SN_SIM_TLB, distance));
	cold_count(sim, stage, cause_of(sim, SN_SIM_TLB, distance), &core->tlb, page_address);
	slot = sn_sets_choose(&core->tlb, page_address);
	old = core->tlb.things[slot];
	if (old != SN_SETS_EMPTY)
		core->pages.items[old].slot = SN_SIM_NONE;
	core->tlb.things[slot] = site->page;
	sn_sets_use(&core->tlb, slot);
	page->slot = slot;
	return false;
}

/* The prefetcher brings a line, unless another core has to do with it; false: it did not have to. */
static bool line_prefetch(const struct sn_sim_now *now, uint64_t line_address)
{
	struct sn_sim_now theirs = *now;
	uint32_t number = sn_sim_copy_find(now->sim, now->c, line_address, NULL);
	struct sn_sim_copy *copy = &now->core->copies.items[number];
	const struct sn_sim_line *line = &now->sim->lines.items[copy->line];
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
static bool prefetch(const struct sn_sim_now *now, const struct sn_sim_site *site)
{
	const struct sn_sim *sim = now->sim;
	int64_t line_bytes = sim->config.line_bytes;
	int64_t step = site->stride;
	uint64_t target;

	if (!step)
		return false;
	if (site->steady < SN_SIM_STEADY)
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
	struct sn_sim_core *core = &sim->cores[c];
	struct sn_sim_site *site = &core->sites[access->site];
	struct sn_sim_now now = {
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
	struct sn_sim_site *site = &sim->cores[c].sites[access->site];
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
	struct sn_sim_core *core = &sim->cores[c];

	for (size_t i = 0; i < count; i++) {
		struct sn_sim_access *access = &accesses[i];
		struct sn_sim_site *site = &core->sites[access->site];
		struct sn_sim_cell *cell = &sim->cells.items[site->cell];
		struct sn_sim_copy *copy = &core->copies.items[site->copy];
		uint64_t last = access->address + (uint64_t)access->stride_bytes * (times - 1);
		uint64_t bytes = mask_of_times(sim, access, times);

		stage_count(sim, &cell->stages[0], access->is_write, site->bucket, times);
		stage_count(sim, &cell->stages[SN_SIM_TLB], access->is_write, site->page_bucket,
			    times);
		sn_sim_stride_add(cell->strides, access->stride_bytes, times);
		site->address = last;
		site->steady = SN_SIM_STEADY;
		access->address = last + (uint64_t)access->stride_bytes;
		copy->bytes[0] |= bytes;
		sn_sim_transfer_use(sim, copy, bytes);
		if (access->is_write) {
			struct sn_sim_line *line = &sim->lines.items[copy->line];

			line->written |= bytes;
			sn_sim_others_lose(sim, c, line, bytes);
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
	struct sn_sim_core *core = &sim->cores[c];

	for (size_t i = 0; i < core->copies.count; i++)
		sn_sim_copy_leave(sim, core, &core->copies.items[i]);
	for (size_t i = 0; i < core->pages.count; i++)
		if (core->pages.items[i].slot != SN_SIM_NONE)
			sn_sets_empty(&core->tlb, core->pages.items[i].slot);
	for (uint32_t s = 0; s < sim->site_count; s++) {
		core->sites[s].copy = core->sites[s].block = core->sites[s].page = SN_SIM_NONE;
		core->sites[s].has_address = false;
		core->sites[s].steady = 0;
	}
	for (unsigned l = 0; l < sim->private_count; l++)
		sn_sets_forget(&core->levels[l]);
	sn_sets_forget(&core->tlb);
	core->copies.count = core->pages.count = 0;
	sn_sim_blocks_clear(&core->copy_of);
	sn_map_free(&core->page_of);
	sn_reuse_clear(&core->reuse);
	sn_reuse_clear(&core->page_reuse);
}

void sn_sim_objects_changed(struct sn_sim *sim, unsigned core)
{
	for (uint32_t s = 0; sim->cores[core].is_used && s < sim->site_count; s++)
		sim->cores[core].sites[s].cell = SN_SIM_NONE;
}

void sn_sim_go_on(struct sn_sim *sim)
{
	sim->is_at_start = false;
}

void sn_sim_forget(struct sn_sim *sim)
{
	sim->is_at_start = true;
	for (unsigned c = 0; c < sim->core_count; c++)
		if (sim->cores[c].is_used)
			core_forget(sim, c);
	for (size_t i = 0; i < sim->lines.count; i++) {
		uint32_t slot = sim->lines.items[i].slot;

		if (slot == SN_SIM_NONE)
			continue;
		sn_sim_shared_leave(sim, &sim->lines.items[i]);
		sn_sets_empty(&sim->shared, slot);
	}
	if (sim->config.last_is_shared)
		sn_sets_forget(&sim->shared);
	sim->lines.count = 0;
	sn_sim_blocks_clear(&sim->line_of);
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
