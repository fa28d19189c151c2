/* Joins ranges of lines, pair by pair within one function, file and depth. */
#include "compare/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "compare/entry.h"

static bool is_loop_with_lines(const struct sn_compare_entry *entry)
{
	return entry->kind == SN_COMPARE_LOOP && entry->line_first && entry->file &&
	       entry->line_last >= entry->line_first;
}

static uint32_t key_find(const struct sn_ranges *ranges, const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	sn_compare_key_add(entry, &key);
	number = sn_intern_find(&ranges->keys, key.chars, key.length);
	sn_text_free(&key);
	return number;
}

void sn_ranges_add_entry(struct sn_ranges *ranges, const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };

	if (!is_loop_with_lines(entry))
		return;
	sn_compare_key_add(entry, &key);
	if (sn_intern(&ranges->keys, key.chars, key.length) == ranges->loops.count)
		sn_vec_push(&ranges->loops, *entry);
	sn_text_free(&key);
}

void sn_ranges_add(struct sn_ranges *ranges, const struct sn_compare_run *run)
{
	for (size_t i = 0; i < run->entries.count; i++)
		sn_ranges_add_entry(ranges, &run->entries.items[i]);
}

static int by_nest(const struct sn_compare_entry *x, const struct sn_compare_entry *y)
{
	int order = strcmp(x->module, y->module);

	if (!order)
		order = strcmp(x->function, y->function);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : (x->depth > y->depth) - (x->depth < y->depth);
}

static int by_place(const void *left, const void *right, void *context)
{
	const struct sn_compare_entry *loops = context;
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	int order = by_nest(&loops[x], &loops[y]);

	if (!order)
		order = (loops[x].line_first > loops[y].line_first) -
			(loops[x].line_first < loops[y].line_first);
	return order ? order : (x > y) - (x < y);
}

static bool holds(const struct sn_compare_entry *x, const struct sn_compare_entry *y)
{
	return x->line_first <= y->line_first && x->line_last >= y->line_last;
}

/* One range lies in the other, and is at least half of it. Ranges that only overlap are lines that moved, or two loops. */
static bool are_one(const struct sn_compare_entry *x, const struct sn_compare_entry *y)
{
	uint64_t lines_x = (uint64_t)x->line_last - x->line_first + 1;
	uint64_t lines_y = (uint64_t)y->line_last - y->line_first + 1;

	return holds(x, y) ? 2 * lines_y >= lines_x : holds(y, x) ? 2 * lines_x >= lines_y : false;
}

static uint32_t joined_find(const uint32_t *joined, uint32_t loop)
{
	while (joined[loop] != loop)
		loop = joined[loop];
	return loop;
}

void sn_ranges_join(struct sn_ranges *ranges)
{
	size_t count = ranges->loops.count;
	const struct sn_compare_entry *loops = ranges->loops.items;
	uint32_t *order = sn_alloc_zeroed(count + 1, sizeof(*order));

	ranges->joined = sn_alloc_zeroed(count + 1, sizeof(*ranges->joined));
	for (uint32_t i = 0; i < count; i++)
		order[i] = ranges->joined[i] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_place, ranges->loops.items);
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count && !by_nest(&loops[order[i]], &loops[order[k]]) &&
				       loops[order[k]].line_first <= loops[order[i]].line_last;
		     k++) {
			uint32_t x = joined_find(ranges->joined, order[i]);
			uint32_t y = joined_find(ranges->joined, order[k]);

			if (are_one(&loops[order[i]], &loops[order[k]]))
				ranges->joined[x > y ? x : y] = x > y ? y : x;
		}
	free(order);
}

struct sn_compare_entry sn_ranges_entry(const struct sn_ranges *ranges,
					const struct sn_compare_entry *entry)
{
	struct sn_compare_entry named = *entry;
	const struct sn_compare_entry *of;
	uint32_t key;

	if (!is_loop_with_lines(entry))
		return named;
	key = key_find(ranges, entry);
	if (key == UINT32_MAX)
		return named;
	of = &ranges->loops.items[joined_find(ranges->joined, key)];
	named.name = of->name;
	named.line_first = of->line_first;
	named.line_last = of->line_last;
	return named;
}

void sn_ranges_free(struct sn_ranges *ranges)
{
	free(ranges->joined);
	sn_vec_free(&ranges->loops);
	sn_interner_free(&ranges->keys);
	*ranges = (struct sn_ranges){ 0 };
}
