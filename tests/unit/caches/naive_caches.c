#include "naive_caches.h"

#include <stdlib.h>
#include <string.h>

static unsigned long newest_of(const struct naive_way *ways, unsigned first, unsigned end)
{
	unsigned long newest = 0;

	for (unsigned w = first; w < end; w++)
		if (ways[w].last_use > newest)
			newest = ways[w].last_use;
	return newest;
}

/* Tree-PLRU by its sense: of two halves, that which does not hold the last use. */
static unsigned plru_victim(const struct naive_way *ways, unsigned first, unsigned length,
			    unsigned way_count)
{
	unsigned half = length / 2;

	if (length == 1)
		return first;
	if (first + half >= way_count)
		return plru_victim(ways, first, half, way_count);
	if (newest_of(ways, first, first + half) >
	    newest_of(ways, first + half, first + length < way_count ? first + length : way_count))
		return plru_victim(ways, first + half, half, way_count);
	return plru_victim(ways, first, half, way_count);
}

static struct naive_way *victim_of(const struct naive *naive, struct naive_way *ways,
				   const struct sn_sim_shape *shape)
{
	unsigned length = 1, oldest = 0;

	for (unsigned w = 0; w < shape->ways; w++)
		if (!ways[w].is_full)
			return &ways[w];
	while (length < shape->ways)
		length *= 2;
	if (naive->config.is_plru)
		return &ways[plru_victim(ways, 0, length, shape->ways)];
	for (unsigned w = 1; w < shape->ways; w++)
		if (ways[w].last_use < ways[oldest].last_use)
			oldest = w;
	return &ways[oldest];
}

static struct naive_way *find(struct naive_cache *cache, const struct sn_sim_shape *shape,
			      unsigned line)
{
	for (unsigned w = 0; w < shape->ways; w++) {
		struct naive_way *way = &cache->ways[line % shape->sets][w];

		if (way->is_full && way->line == line)
			return way;
	}
	return NULL;
}

/* How many others were met since; -1: it was not. It is met now. */
static int meet(struct naive_list *list, unsigned item)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->items[i] == item) {
			memmove(list->items + 1, list->items, i * sizeof(*list->items));
			list->items[0] = item;
			return (int)i;
		}
	memmove(list->items + 1, list->items, list->count * sizeof(*list->items));
	list->items[0] = item;
	list->count++;
	return -1;
}

static void end_use(struct naive *naive, unsigned level, const struct naive_way *way)
{
	uint64_t bytes = (uint64_t)__builtin_popcountll(way->bytes);

	naive->counts[level].lines++;
	naive->counts[level].used +=
		naive->config.line_bytes > 64 ? bytes * (naive->config.line_bytes / 64) : bytes;
}

static const struct sn_sim_shape *shape_of(const struct naive *naive, unsigned stage)
{
	return stage == SN_SIM_TLB ? &naive->config.tlb : &naive->config.levels[stage];
}

static void count_miss(struct naive *naive, unsigned stage, unsigned core, unsigned line,
		       bool is_write, int distance, bool was_lost)
{
	struct naive_counts *counts = &naive->counts[stage];
	const struct sn_sim_shape *shape = shape_of(naive, stage);
	int lines = (int)(shape->sets * shape->ways);

	naive->cold[stage][core][line % shape->sets] += distance < 0;
	counts->read_misses += !is_write;
	counts->write_misses += is_write;
	counts->misses[distance < 0	   ? SN_SIM_COLD
		       : distance >= lines ? SN_SIM_CAPACITY
		       : was_lost	   ? SN_SIM_COHERENCE
					   : SN_SIM_CONFLICT]++;
}

static void put_shared(struct naive *naive, unsigned line, uint64_t bytes)
{
	const struct sn_sim_shape *shape = &naive->config.levels[naive->private_count];
	struct naive_way *way = victim_of(naive, naive->shared.ways[line % shape->sets], shape);

	if (way->is_full)
		end_use(naive, naive->private_count, way);
	*way = (struct naive_way){ true, line, bytes, ++naive->now };
}

static void write_back(struct naive *naive, unsigned line, uint64_t bytes)
{
	if (naive->config.last_is_shared &&
	    !find(&naive->shared, &naive->config.levels[naive->private_count], line))
		put_shared(naive, line, bytes);
}

static void end_wait(struct naive *naive, unsigned core, unsigned line)
{
	naive->false_transfers += naive->is_awaited[core][line];
	naive->is_awaited[core][line] = false;
}

static bool has_it(struct naive *naive, unsigned core, unsigned line)
{
	for (unsigned l = 0; l < naive->private_count; l++)
		if (find(&naive->levels[core][l], &naive->config.levels[l], line))
			return true;
	return false;
}

static void put_private(struct naive *naive, unsigned core, unsigned level, unsigned line,
			uint64_t bytes)
{
	const struct sn_sim_shape *shape = &naive->config.levels[level];
	struct naive_way *way =
		victim_of(naive, naive->levels[core][level].ways[line % shape->sets], shape);
	struct naive_way old = *way;

	way->is_full = false;
	if (old.is_full) {
		end_use(naive, level, &old);
		if (!has_it(naive, core, old.line)) {
			end_wait(naive, core, old.line);
			if (naive->state[core][old.line] == 'M')
				write_back(naive, old.line, old.bytes);
			naive->state[core][old.line] = 'I';
			naive->was_invalidated[core][old.line] = false;
			naive->unseen[core][old.line] = 0;
		}
	}
	*way = (struct naive_way){ true, line, bytes, ++naive->now };
	naive->was_lost[core][line][level] = false;
}

/* Of the outermost private level that has it. */
static uint64_t bytes_of(struct naive *naive, unsigned core, unsigned line)
{
	for (unsigned l = naive->private_count; l-- > 0;) {
		struct naive_way *way =
			find(&naive->levels[core][l], &naive->config.levels[l], line);

		if (way)
			return way->bytes;
	}
	return 0;
}

static bool is_valid(const struct naive *naive, unsigned core, unsigned line)
{
	return naive->state[core][line] && naive->state[core][line] != 'I';
}

static void invalidate(struct naive *naive, unsigned core, unsigned line)
{
	for (unsigned l = 0; l < naive->private_count; l++) {
		struct naive_way *way =
			find(&naive->levels[core][l], &naive->config.levels[l], line);

		if (!way)
			continue;
		end_use(naive, l, way);
		way->is_full = false;
		naive->was_lost[core][line][l] = true;
	}
	end_wait(naive, core, line);
	naive->state[core][line] = 'I';
	naive->was_invalidated[core][line] = true;
	naive->unseen[core][line] = 0;
}

/* No private level of the core has it. */
static void fetch(struct naive *naive, unsigned core, unsigned line, uint64_t bytes, bool is_write,
		  int all_distance)
{
	bool is_modified = false, is_shared = false;

	for (unsigned c = 0; c < NAIVE_CORES; c++) {
		if (c == core || !is_valid(naive, c, line))
			continue;
		is_shared = true;
		if (naive->state[c][line] == 'M') {
			is_modified = true;
			write_back(naive, line, bytes_of(naive, c, line));
		}
	}
	if (is_modified || naive->was_invalidated[core][line]) {
		naive->is_awaited[core][line] = true;
		naive->awaited[core][line] = naive->unseen[core][line];
	}
	naive->was_invalidated[core][line] = false;
	if (naive->config.last_is_shared) {
		unsigned level = naive->private_count;
		struct naive_way *way = find(&naive->shared, &naive->config.levels[level], line);

		naive->counts[level].accesses++;
		naive->counts[level].writes += is_write;
		if (way) {
			way->bytes |= bytes;
			way->last_use = ++naive->now;
		} else {
			count_miss(naive, level, 0, line, is_write, all_distance, false);
			put_shared(naive, line, bytes);
		}
	}
	if (is_write)
		return;
	for (unsigned c = 0; c < NAIVE_CORES; c++)
		if (c != core && is_valid(naive, c, line))
			naive->state[c][line] = 'S';
	naive->state[core][line] = is_shared ? 'S' : 'E';
}

static void tlb_access(struct naive *naive, unsigned core, unsigned page, bool is_write)
{
	const struct sn_sim_shape *shape = &naive->config.tlb;
	struct naive_way *way = find(&naive->tlb[core], shape, page);
	int distance = meet(&naive->pages_met[core], page);

	naive->counts[SN_SIM_TLB].accesses++;
	naive->counts[SN_SIM_TLB].writes += is_write;
	if (!way) {
		count_miss(naive, SN_SIM_TLB, core, page, is_write, distance, false);
		way = victim_of(naive, naive->tlb[core].ways[page % shape->sets], shape);
		*way = (struct naive_way){ true, page, 0, 0 };
	}
	way->last_use = ++naive->now;
}

static void line_access(struct naive *naive, unsigned core, unsigned line, uint64_t bytes,
			bool is_write)
{
	int distance = meet(&naive->met[core], line);
	int all_distance = meet(&naive->all_met, line);
	unsigned level = 0;

	for (; level < naive->private_count; level++) {
		struct naive_way *way =
			find(&naive->levels[core][level], &naive->config.levels[level], line);

		naive->counts[level].accesses++;
		naive->counts[level].writes += is_write;
		if (way) {
			way->last_use = ++naive->now;
			break;
		}
		count_miss(naive, level, core, line, is_write, distance,
			   naive->was_lost[core][line][level]);
	}
	if (level == naive->private_count)
		fetch(naive, core, line, bytes, is_write, all_distance);
	for (unsigned l = level; l-- > 0;)
		put_private(naive, core, l, line, bytes);
	for (unsigned l = 0; l < naive->private_count; l++) {
		struct naive_way *way =
			find(&naive->levels[core][l], &naive->config.levels[l], line);

		if (way)
			way->bytes |= bytes;
	}
	if (naive->is_awaited[core][line] && naive->awaited[core][line] & bytes) {
		naive->is_awaited[core][line] = false;
		naive->true_transfers++;
	}
	if (!is_write)
		return;
	for (unsigned c = 0; c < NAIVE_CORES; c++) {
		if (c == core)
			continue;
		if (is_valid(naive, c, line))
			invalidate(naive, c, line);
		naive->unseen[c][line] |= bytes;
	}
	naive->state[core][line] = 'M';
}

void naive_access(struct naive *naive, unsigned core, uint64_t address, unsigned size,
		  bool is_write)
{
	unsigned line_bytes = naive->config.line_bytes;
	unsigned per_bit = line_bytes > 64 ? line_bytes / 64 : 1;

	while (size) {
		unsigned line = (unsigned)(address / line_bytes), part = size;
		uint64_t bytes = 0;

		if (part > line_bytes - address % line_bytes)
			part = line_bytes - (unsigned)(address % line_bytes);
		for (unsigned b = 0; b < part; b++)
			bytes |= 1ull << (address % line_bytes + b) / per_bit;
		tlb_access(naive, core, (unsigned)(address / naive->config.page_bytes), is_write);
		line_access(naive, core, line, bytes, is_write);
		address += part;
		size -= part;
	}
}

/* A set held at most as many lines as it has ways before the first access. */
static void open_find(struct naive *naive, unsigned stage)
{
	uint64_t ways = shape_of(naive, stage)->ways;

	for (unsigned c = 0; c < NAIVE_CORES; c++)
		for (unsigned s = 0; s < NAIVE_SETS; s++) {
			uint64_t cold = naive->cold[stage][c][s];

			naive->counts[stage].open += cold < ways ? cold : ways;
		}
}

void naive_end(struct naive *naive)
{
	for (unsigned stage = 0; stage < SN_SIM_STAGES; stage++)
		open_find(naive, stage);
	for (unsigned c = 0; c < NAIVE_CORES; c++) {
		for (unsigned line = 0; line < NAIVE_LINES; line++)
			end_wait(naive, c, line);
		for (unsigned l = 0; l < naive->private_count; l++)
			for (unsigned s = 0; s < NAIVE_SETS; s++)
				for (unsigned w = 0; w < NAIVE_WAYS; w++)
					if (naive->levels[c][l].ways[s][w].is_full)
						end_use(naive, l, &naive->levels[c][l].ways[s][w]);
	}
}
