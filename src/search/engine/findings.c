/* What is known of a finding: its property and what that is of, its region, and the way to it. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

enum { NESTED_MOST = 4096 };

bool sn_search_is_locator(const struct sn_property *property)
{
	return sn_search_is_exclusive(property) || !strcmp(property->name, "HeapLeak");
}

bool sn_search_is_exclusive(const struct sn_property *property)
{
	return !strcmp(property->name, "HotRegion") || !strcmp(property->name, "LateRankRegion");
}

const struct sn_property *sn_finding_property(const struct sn_search *s,
					      const struct sn_finding *finding)
{
	return s->library->properties.items[finding->what.property];
}

enum sn_severity sn_finding_unit(const struct sn_search *s, const struct sn_finding *finding)
{
	return sn_severity_of(sn_finding_property(s, finding), s->options.severity);
}

const struct sn_member *sn_finding_region(const struct sn_search *s,
					  const struct sn_finding *finding)
{
	return finding->what.region == SN_ALL
		       ? NULL
		       : &s->recorded->tables->members[SN_KEY_REGION].items[finding->what.region];
}

uint32_t *sn_search_path(const struct sn_search *s, uint32_t region, size_t *count)
{
	uint32_t *path = sn_alloc((NESTED_MOST + 1) * sizeof(*path));
	size_t length = 0;

	/* recursion makes circles of main parents: nothing twice */
	for (uint32_t r = region; r != SN_ALL && length < NESTED_MOST;
	     r = s->recorded->main_parents[r]) {
		bool is_there = false;

		for (size_t i = 0; i < length && !is_there; i++)
			is_there = path[i] == r;
		if (is_there)
			break;
		path[length++] = r;
	}
	for (size_t i = 0; i < length / 2; i++) {
		uint32_t other = path[i];

		path[i] = path[length - 1 - i];
		path[length - 1 - i] = other;
	}
	*count = length;
	return path;
}

bool sn_search_is_of_machine(const struct sn_property *property)
{
	return !strcmp(property->name, "CpusTakenByOthers");
}

double sn_search_severity_at(const struct sn_search *s, uint32_t property, uint32_t region,
			     uint32_t data)
{
	const struct sonde_strategy_candidate what = { property, region, data };
	const uint64_t *place = sn_map_get(&s->seen, sn_candidate_hash(&what));

	return place ? s->candidates.items[*place].severity : NAN;
}
