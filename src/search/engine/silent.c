/*
 * Properties of which a run says the same at every region, as no region has a value that they ask for: a program without
 * MPI waits nowhere in MPI. What does not hold at one region then holds at none, so it is not asked again: candidates
 * wait until values come.
 */
#include <string.h>

#include "search/engine/parts.h"

/* Unknown at every region, or 0 at every region. */
static bool is_alike(const struct sn_tables *t, const struct sn_prop_request *request)
{
	uint32_t column = sn_tables_find_column(t, request->metric->name, request->level);

	if (!(request->metric->keys & 1u << SN_KEY_REGION) || !sn_tables_has_column(t, column))
		return true;
	for (size_t i = 0; i < t->columns.items[column].values.count; i++) {
		const struct sn_value *value =
			&t->values.items[t->columns.items[column].values.items[i]];

		if (value->value != 0 || value->open > 0 || !sn_map_get(&t->complete, column))
			return false;
	}
	return true;
}

/* Whether an expression asks for more of a region than the values of metrics. */
static bool asks_for_region(const struct sn_expr *e)
{
	if (e->kind == SN_EXPR_ATTRIBUTE || (e->kind == SN_EXPR_TIME && e->name) ||
	    (e->kind == SN_EXPR_AGGREGATE &&
	     (e->set == SN_SET_SUBREGIONS || e->set == SN_SET_DATA || e->set == SN_SET_LOCKS)))
		return true;
	for (uint32_t i = 0; i < e->arg_count; i++)
		if (e->args[i] && asks_for_region(e->args[i]))
			return true;
	return false;
}

static bool any_asks(const sn_prop_named_vec *named)
{
	for (size_t i = 0; i < named->count; i++)
		if (asks_for_region(named->items[i].expr))
			return true;
	return false;
}

static bool guarded_asks(const struct sn_guarded *guarded)
{
	return (guarded->expr && asks_for_region(guarded->expr)) || any_asks(&guarded->guards);
}

static bool is_alike_everywhere(const struct sn_search *s, const struct sn_property *p)
{
	if (!sn_property_parameter(p, SN_KEY_REGION) || sn_property_parameter(p, SN_KEY_DATA) ||
	    any_asks(&p->lets) || any_asks(&p->conditions) ||
	    (p->when && asks_for_region(p->when)) || guarded_asks(&p->severity) ||
	    guarded_asks(&p->confidence) || guarded_asks(&p->rate))
		return false;
	for (size_t i = 0; i < p->requests.count; i++)
		if (!is_alike(s->recorded->tables, &p->requests.items[i]))
			return false;
	return true;
}

void sn_search_silent_judge(struct sn_search *s, uint32_t property, bool is_closed)
{
	s->silent[property] =
		is_closed && is_alike_everywhere(s, s->library->properties.items[property]);
}

bool sn_search_silent_keep(struct sn_search *s, const struct sonde_strategy_candidate *what)
{
	bool is_new;

	if (!s->silent[what->property])
		return false;
	sn_map_put(&s->waiting_of, sn_candidate_hash(what), &is_new);
	if (is_new)
		sn_vec_push(&s->waiting, *what);
	return true;
}

void sn_search_silent_wake(struct sn_search *s)
{
	size_t count = s->waiting.count, kept = 0;

	for (uint32_t i = 0; i < s->library->properties.count; i++)
		if (s->silent[i])
			s->silent[i] = is_alike_everywhere(s, s->library->properties.items[i]);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_strategy_candidate what = s->waiting.items[i];

		if (s->silent[what.property])
			s->waiting.items[kept++] = what;
		else
			s->host.propose(s, &what);
	}
	s->waiting.count = kept;
}
