/* What a strategy sees of the program and the properties, and the bricks that make candidates. */
#include <math.h>
#include <string.h>

#include "search/engine/parts.h"

static struct sn_search *search_of(void *search)
{
	return search;
}

static const struct sn_member *region_at(const struct sn_search *s, uint32_t region)
{
	return &s->recorded->tables->members[SN_KEY_REGION].items[region];
}

static bool is_region(const struct sn_search *s, uint32_t region)
{
	return region < s->recorded->tables->members[SN_KEY_REGION].count;
}

static const struct sn_property *property_at(const struct sn_search *s, uint32_t property)
{
	return property < s->library->properties.count ? s->library->properties.items[property]
						       : NULL;
}

/* ---- the program ---- */

/* Regions one below another on the stacks: a loop and what is inside it, or a call. */
static uint32_t below(struct sn_search *s, uint32_t region, bool calls, uint32_t *out,
		      uint32_t room)
{
	uint32_t count = 0;

	for (size_t i = 0; i < s->recorded->edges.count; i++) {
		const struct sn_region_edge *edge = &s->recorded->edges.items[i];
		bool is_call = strcmp(region_at(s, edge->to)->kind, "function") == 0;

		if (edge->from != region || is_call != calls || edge->to == region)
			continue;
		if (count < room)
			out[count] = edge->to;
		count++;
	}
	return count;
}

static uint32_t host_subregions(void *search, uint32_t region, uint32_t *out, uint32_t room)
{
	return below(search_of(search), region, false, out, room);
}

static uint32_t host_calls(void *search, uint32_t region, uint32_t *out, uint32_t room)
{
	return below(search_of(search), region, true, out, room);
}

/* Data that any value of the region names. */
static uint32_t host_data(void *search, uint32_t region, uint32_t *out, uint32_t room)
{
	const struct sn_tables *t = search_of(search)->recorded->tables;
	uint32_t count = 0;

	for (uint32_t d = 0; d < t->members[SN_KEY_DATA].count; d++)
		for (size_t i = 0; i < t->values.count; i++) {
			const struct sn_value *v = &t->values.items[i];

			if (v->keys[SN_KEY_REGION] != region || v->keys[SN_KEY_DATA] != d)
				continue;
			if (count < room)
				out[count] = d;
			count++;
			break;
		}
	return count;
}

static double host_share(void *search, uint32_t region)
{
	const struct sn_search *s = search_of(search);
	double all = (double)s->recorded->region_ns[SN_REGION_PROGRAM];

	return is_region(s, region) && all > 0 ? (double)s->recorded->region_ns[region] / all : 0;
}

/* Where no CPU time is known, the share of all. */
static double host_process_share(void *search, uint32_t region)
{
	const struct sn_search *s = search_of(search);
	struct sn_tables *t = s->recorded->tables;
	uint32_t column = sn_tables_find_column(t, "cpu", NULL), keys[SN_KEYS];
	double most = 0;

	if (column == SN_ALL || !is_region(s, region) || !(t->phase_s > 0))
		return host_share(search, region);
	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	keys[SN_KEY_REGION] = region;
	for (uint32_t p = 0; p < t->members[SN_KEY_PROCESS].count; p++) {
		const struct sn_sum *cpu;

		keys[SN_KEY_PROCESS] = p;
		cpu = sn_tables_find(t, column, keys, true);
		if (cpu)
			most = fmax(most, cpu->value / (t->phase_s * sn_tables_lanes(t, p)));
	}
	return most;
}

/* ---- properties ---- */

static uint32_t host_property(void *search, const char *name)
{
	const struct sn_search *s = search_of(search);

	for (uint32_t i = 0; i < s->library->properties.count; i++)
		if (!strcmp(s->library->properties.items[i]->name, name))
			return i;
	return SONDE_STRATEGY_NONE;
}

static const char *host_property_name(void *search, uint32_t property)
{
	const struct sn_property *p = property_at(search_of(search), property);

	return p ? p->name : NULL;
}

static uint32_t host_refinements(void *search, uint32_t property, uint32_t *out, uint32_t room)
{
	const struct sn_search *s = search_of(search);
	const struct sn_property *parent = property_at(s, property);
	uint32_t count = 0;

	for (uint32_t i = 0; parent && i < s->library->properties.count; i++)
		if (sn_property_refines(s->library->properties.items[i], parent)) {
			if (count < room)
				out[count] = i;
			count++;
		}
	return count;
}

/* ---- proposing ---- */

/* Whether a property can be asked of this region and data, or of all where it takes none. */
static bool fits(const struct sn_search *s, const struct sonde_strategy_candidate *what)
{
	const struct sn_property *p = property_at(s, what->property);
	const struct sn_prop_context *region = p ? sn_property_parameter(p, SN_KEY_REGION) : NULL;
	const char *kind;

	if (!p || (what->region != SONDE_STRATEGY_NONE && !is_region(s, what->region)) ||
	    (sn_property_parameter(p, SN_KEY_DATA) != NULL) !=
		    (what->data != SONDE_STRATEGY_NONE) ||
	    (region != NULL) != (what->region != SONDE_STRATEGY_NONE))
		return false;
	if (what->data != SONDE_STRATEGY_NONE &&
	    what->data >= s->recorded->tables->members[SN_KEY_DATA].count)
		return false;
	if (!region || !region->kinds.count)
		return true;
	kind = region_at(s, what->region)->kind;
	for (size_t i = 0; i < region->kinds.count; i++)
		if (!strcmp(region->kinds.items[i], kind))
			return true;
	return false;
}

uint64_t sn_candidate_hash(const struct sonde_strategy_candidate *what)
{
	return sn_hash_u64(sn_hash_u64((uint64_t)what->property << 32 | what->region) ^ what->data);
}

static uint32_t candidate_add(struct sn_search *s, const struct sonde_strategy_candidate *what)
{
	uint64_t *place;
	bool is_new;

	if (!fits(s, what) || s->unmeasurable[what->property] == SN_NO_SOURCE)
		return 0;
	if (!sn_map_get(&s->seen, sn_candidate_hash(what)) && sn_search_silent_keep(s, what))
		return 0;
	place = sn_map_put(&s->seen, sn_candidate_hash(what), &is_new);
	if (!is_new)
		return 0;
	*place = s->candidates.count;
	sn_vec_push(&s->candidates, (struct sn_candidate){ .what = *what, .severity = NAN });
	return 1;
}

/* A property of the whole program is asked once, wherever it comes up. */
static uint32_t propose_at(struct sn_search *s, uint32_t property, uint32_t region, uint32_t data)
{
	const struct sn_property *p = property_at(s, property);
	struct sonde_strategy_candidate what = { property, region, data };

	if (p && !sn_property_parameter(p, SN_KEY_REGION))
		what.region = SONDE_STRATEGY_NONE;
	else if (what.region == SONDE_STRATEGY_NONE)
		what.region = SN_REGION_PROGRAM;
	return candidate_add(s, &what);
}

/* Of every data structure that the region touches. While no data is known, the search measures for it. */
static uint32_t of_data_propose(struct sn_search *s, uint32_t property, uint32_t region)
{
	enum { ROOM = 1024 };
	uint32_t data[ROOM], made = 0, count;
	const struct sonde_strategy_candidate what = {
		property, region == SONDE_STRATEGY_NONE ? SN_REGION_PROGRAM : region,
		SONDE_STRATEGY_NONE
	};

	if (!is_region(s, what.region))
		return 0;
	count = host_data(s, what.region, data, ROOM);
	for (uint32_t d = 0; d < count && d < ROOM; d++)
		made += propose_at(s, property, what.region, data[d]);
	if (s->recorded->tables->members[SN_KEY_DATA].count)
		return made;
	for (size_t i = 0; i < s->of_data.count; i++)
		if (!memcmp(&s->of_data.items[i], &what, sizeof(what)))
			return 0;
	sn_vec_push(&s->of_data, what);
	return 0;
}

static uint32_t host_propose(void *search, const struct sonde_strategy_candidate *what)
{
	struct sn_search *s = search_of(search);
	const struct sn_property *p = property_at(s, what->property);

	if (p && what->data == SONDE_STRATEGY_NONE && sn_property_parameter(p, SN_KEY_DATA))
		return of_data_propose(s, what->property, what->region);
	return propose_at(s, what->property, what->region, what->data);
}

void sn_search_propose_of_data(struct sn_search *s)
{
	size_t count = s->of_data.count;

	for (size_t i = 0; i < count; i++) {
		const struct sonde_strategy_candidate what = s->of_data.items[i];

		of_data_propose(s, what.property, what.region);
	}
	s->of_data.count = 0;
}

void sn_search_propose_start(struct sn_search *s)
{
	const struct sonde_strategy_candidate start = { s->host.start, SONDE_STRATEGY_NONE,
							SONDE_STRATEGY_NONE };

	for (uint32_t r = 0; r < s->recorded->tables->members[SN_KEY_REGION].count; r++)
		if (r == SN_REGION_PROGRAM || host_share(s, r) > s->options.threshold) {
			struct sonde_strategy_candidate what = start;

			what.region = r;
			host_propose(s, &what);
		}
}

static uint32_t host_propose_roots(void *search, uint32_t region)
{
	struct sn_search *s = search_of(search);
	uint32_t made = 0;

	for (uint32_t i = 0; i < s->library->properties.count; i++)
		if (!s->library->properties.items[i]->refines.count)
			made += propose_at(s, i, region, SONDE_STRATEGY_NONE);
	return made;
}

/* A more special property may be one of data: then of each structure that the region touches. */
static uint32_t host_propose_refinements(void *search, const struct sonde_strategy_finding *finding)
{
	struct sn_search *s = search_of(search);
	const struct sn_property *parent = property_at(s, finding->what.property);
	uint32_t made = 0;

	for (uint32_t i = 0; parent && i < s->library->properties.count; i++) {
		if (!sn_property_refines(s->library->properties.items[i], parent))
			continue;
		if (!sn_property_parameter(s->library->properties.items[i], SN_KEY_DATA))
			made += propose_at(s, i, finding->what.region, SONDE_STRATEGY_NONE);
		else if (finding->what.data != SONDE_STRATEGY_NONE)
			made += propose_at(s, i, finding->what.region, finding->what.data);
	}
	return made;
}

/* Those of its refinements that are of data, for each structure. */
static uint32_t host_propose_data(void *search, const struct sonde_strategy_finding *finding)
{
	struct sn_search *s = search_of(search);
	const struct sn_property *parent = property_at(s, finding->what.property);
	enum { ROOM = 1024 };
	uint32_t data[ROOM], made = 0, count;

	if (!parent || finding->what.region == SONDE_STRATEGY_NONE)
		return 0;
	count = host_data(search, finding->what.region, data, ROOM);
	for (uint32_t i = 0; i < s->library->properties.count; i++) {
		const struct sn_property *p = s->library->properties.items[i];

		if (!sn_property_refines(p, parent) || !sn_property_parameter(p, SN_KEY_DATA))
			continue;
		for (uint32_t d = 0; d < count && d < ROOM; d++)
			made += propose_at(s, i, finding->what.region, data[d]);
	}
	return made;
}

static uint32_t below_propose(struct sn_search *s, const struct sonde_strategy_finding *finding,
			      bool calls)
{
	enum { ROOM = 4096 };
	uint32_t regions[ROOM], made = 0, count;

	if (finding->what.region == SONDE_STRATEGY_NONE)
		return 0;
	count = below(s, finding->what.region, calls, regions, ROOM);
	for (uint32_t i = 0; i < count && i < ROOM; i++)
		made += propose_at(s, finding->what.property, regions[i], finding->what.data);
	return made;
}

static uint32_t host_propose_subregions(void *search, const struct sonde_strategy_finding *finding)
{
	return below_propose(search_of(search), finding, false);
}

static uint32_t host_propose_calls(void *search, const struct sonde_strategy_finding *finding)
{
	return below_propose(search_of(search), finding, true);
}

void sn_search_host(struct sn_search *s)
{
	s->host = (struct sonde_strategy_host){
		.search = s,
		.abi = SONDE_STRATEGY_ABI,
		.root = SN_REGION_PROGRAM,
		.start =
			s->options.start ? host_property(s, s->options.start) : SONDE_STRATEGY_NONE,
		.threshold = s->options.threshold,
		.subregions = host_subregions,
		.calls = host_calls,
		.data = host_data,
		.share = host_share,
		.property = host_property,
		.property_name = host_property_name,
		.refinements = host_refinements,
		.propose = host_propose,
		.propose_roots = host_propose_roots,
		.propose_refinements = host_propose_refinements,
		.propose_data = host_propose_data,
		.propose_subregions = host_propose_subregions,
		.propose_calls = host_propose_calls,
		.process_share = host_process_share,
	};
}
