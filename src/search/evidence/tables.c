/*
 * Tables that no recorded run is behind, as a search sees them: regions hang on each other by their
 * parents, and take the time that their values say.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/evidence/recorded.h"

enum { DEPTH_MOST = 4096 };

static int edges_compare(const void *left, const void *right)
{
	const struct sn_region_edge *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Seconds of each region by one column; what its values do not include is added on the way up. */
static void column_add(const struct sn_tables *t, const struct sn_time_column *column,
		       double *seconds)
{
	const struct sn_member *regions = t->members[SN_KEY_REGION].items;

	for (size_t i = 0; i < t->values.count; i++) {
		const struct sn_value *v = &t->values.items[i];
		uint32_t region = v->keys[SN_KEY_REGION];

		for (int depth = 0;
		     v->column == column->column && region != SN_ALL && depth < DEPTH_MOST;
		     depth++) {
			seconds[region] += v->value;
			region = column->is_exclusive ? regions[region].parent : SN_ALL;
		}
	}
}

static void times_find(struct sn_recorded *r, const struct sn_time_column *columns, size_t count)
{
	size_t regions = r->tables->members[SN_KEY_REGION].count;
	double *most = sn_alloc_zeroed(regions + 1, sizeof(*most));
	double *seconds = sn_alloc_zeroed(regions + 1, sizeof(*seconds));

	for (size_t c = 0; c < count; c++) {
		memset(seconds, 0, regions * sizeof(*seconds));
		column_add(r->tables, &columns[c], seconds);
		for (size_t i = 0; i < regions; i++)
			most[i] = fmax(most[i], seconds[i]);
	}
	for (size_t i = 0; i < regions; i++)
		r->region_ns[i] = (uint64_t)(fmin(most[i], 1e9) * 1e9);
	free(most);
	free(seconds);
}

/* The program's time is that of all lanes. */
static void program_time(struct sn_recorded *r)
{
	const struct sn_tables *t = r->tables;
	double lanes = 0;

	for (size_t p = 0; p < t->members[SN_KEY_PROCESS].count; p++)
		lanes += sn_tables_lanes(t, (uint32_t)p);
	if (!isnan(t->phase_s))
		r->region_ns[SN_REGION_PROGRAM] = (uint64_t)(fmin(t->phase_s * lanes, 1e9) * 1e9);
}

struct sn_recorded *sn_recorded_of_tables(struct sn_tables *tables,
					  const struct sn_time_column *columns, size_t count)
{
	struct sn_recorded *r = sn_alloc_zeroed(1, sizeof(*r));
	const sn_member_vec *regions = &tables->members[SN_KEY_REGION];

	r->tables = tables;
	r->region_ns = sn_alloc_zeroed(regions->count + 1, sizeof(*r->region_ns));
	r->main_parents = sn_alloc((regions->count + 1) * sizeof(*r->main_parents));
	times_find(r, columns, count);
	program_time(r);
	for (uint32_t i = 0; i < regions->count; i++) {
		r->main_parents[i] = regions->items[i].parent;
		if (regions->items[i].parent != SN_ALL)
			sn_vec_push(&r->edges, (struct sn_region_edge){ regions->items[i].parent, i,
									r->region_ns[i] });
	}
	if (r->edges.count)
		qsort(r->edges.items, r->edges.count, sizeof(*r->edges.items), edges_compare);
	return r;
}
