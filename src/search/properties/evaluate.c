/*
 * Evaluates expressions over the values of tables: in each context the lets first, in their order,
 * then the clauses. Every number is finite: what overflows or divides by zero is unknown.
 */
#include "search/properties/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/properties/evaluate_parts.h"

const char *sn_state_name(enum sn_state state)
{
	static const char *const names[] = { "not_proven", "proven", "not_measurable" };

	return names[state];
}

static struct sn_prop_value number(double value)
{
	return isfinite(value) ? (struct sn_prop_value){ .is_known = true, .number = value }
			       : unknown;
}

static struct sn_prop_value truth(bool holds)
{
	return (struct sn_prop_value){ .is_known = true, .number = holds };
}

static bool holds(struct sn_prop_value value)
{
	return value.is_known && value.number != 0;
}

static bool fails(struct sn_prop_value value)
{
	return value.is_known && value.number == 0;
}

static struct sn_prop_value evaluate(struct sn_evaluator *ev, const struct sn_expr *e);

struct sn_evaluator *sn_evaluator_new(struct sn_tables *tables, enum sn_severity severity)
{
	struct sn_evaluator *ev = sn_alloc_zeroed(1, sizeof(*ev));

	ev->tables = tables;
	ev->severity = severity;
	return ev;
}

void sn_evaluator_free(struct sn_evaluator *ev)
{
	if (!ev)
		return;
	sn_vec_free_owned(&ev->column_lists);
	sn_map_free(&ev->columns_of);
	sn_map_free(&ev->exists);
	sn_vec_free(&ev->touched.items);
	sn_vec_free(&ev->children.items);
	free(ev->evidence);
	free(ev);
}

/* ---- values of metrics ---- */

static const struct sn_sum *sum_find(struct sn_evaluator *ev, uint32_t request,
				     const uint32_t keys[SN_KEYS])
{
	const struct sn_metric *metric = ev->property->requests.items[request].metric;
	const struct sn_sum *sum =
		sn_tables_find(ev->tables, ev->request_columns[request], keys, metric->adds);

	if (sum && (metric->adds || sum->values == 1))
		return sum;
	if (request < SN_NEEDS_MAX)
		ev->missing[request] = 1;
	return NULL;
}

static struct sn_prop_value metric_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	uint32_t keys[SN_KEYS];
	const struct sn_sum *sum;

	for (int k = 0; k < SN_KEYS; k++) {
		struct sn_prop_value member = unknown;

		keys[k] = SN_ALL;
		if (e->arg_slots[k] == SN_ALL)
			continue;
		member = ev->slots[e->arg_slots[k]];
		if (!ev->is_set[e->arg_slots[k]])
			return unknown; /* a let that is a member, not yet known */
		if (!member.is_known)
			return unknown;
		keys[k] = member.member;
	}
	if (keys[SN_KEY_THREAD] != SN_ALL)
		keys[SN_KEY_PROCESS] =
			ev->tables->members[SN_KEY_THREAD].items[keys[SN_KEY_THREAD]].parent;
	else if (keys[SN_KEY_PROCESS] == SN_ALL && !e->is_over_all)
		keys[SN_KEY_PROCESS] = ev->keys[SN_KEY_PROCESS];
	sum = sum_find(ev, e->request, keys);
	if (!sum)
		return unknown;
	if (sum->open > 0 && e->request < SN_NEEDS_MAX)
		ev->ranged[e->request] = 1;
	return number(sum->value + (ev->at_most ? sum->open : 0));
}

/* The keys of the context that a metric has, its process too. */
static void context_keys(const struct sn_evaluator *ev, const struct sn_metric *metric,
			 uint32_t keys[SN_KEYS])
{
	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = k == SN_KEY_PROCESS || metric->keys & 1u << k ? ev->keys[k] : SN_ALL;
}

/* 1 - half width over value, of the worst level that the property asks for. */
static struct sn_prop_value confidence_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	double worst = 1;
	bool is_found = false;

	for (uint32_t i = 0; i < ev->property->requests.count; i++) {
		const struct sn_metric *metric = ev->property->requests.items[i].metric;
		uint32_t keys[SN_KEYS];
		const struct sn_sum *sum;

		if (strcmp(metric->name, e->name) != 0)
			continue;
		context_keys(ev, metric, keys);
		sum = sn_tables_find(ev->tables, ev->request_columns[i], keys, true);
		if (!sum)
			return unknown;
		is_found = true;
		worst = fmin(worst, 1 - fmin(1, sn_sum_relative_error(sum)));
	}
	return is_found ? number(worst) : unknown;
}

static struct sn_prop_value time_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	uint32_t keys[SN_KEYS];
	const struct sn_sum *sum;

	if (!e->name)
		return number(ev->tables->phase_s);
	if (!ev->is_set[e->slot] || !ev->slots[e->slot].is_known)
		return unknown;
	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	keys[SN_KEY_REGION] = ev->slots[e->slot].member;
	keys[SN_KEY_PROCESS] = ev->keys[SN_KEY_PROCESS];
	sum = sum_find(ev, e->request, keys);
	return sum ? number(sum->value) : unknown;
}

static struct sn_prop_value penalty_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	uint32_t keys[SN_KEYS];
	const struct sn_sum *sum;

	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	keys[SN_KEY_PROCESS] = ev->keys[SN_KEY_PROCESS];
	keys[SN_KEY_REGION] = ev->keys[SN_KEY_REGION];
	sum = sum_find(ev, e->request, keys);
	return sum ? number(sum->value) : unknown;
}

/* ---- operators ---- */

static struct sn_prop_value junction(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value a = evaluate(ev, e->args[0]), b;
	bool is_or = e->op == SN_OP_OR;

	if (is_or ? holds(a) : fails(a))
		return a;
	b = evaluate(ev, e->args[1]);
	if (is_or ? holds(b) : fails(b))
		return b;
	return a.is_known && b.is_known ? a : unknown;
}

static struct sn_prop_value compared(enum sn_prop_op op, double a, double b)
{
	switch (op) {
	case SN_OP_LESS:
		return truth(a < b);
	case SN_OP_LESS_EQUAL:
		return truth(a <= b);
	case SN_OP_GREATER:
		return truth(a > b);
	case SN_OP_GREATER_EQUAL:
		return truth(a >= b);
	case SN_OP_EQUAL:
		return truth(a == b);
	default:
		return truth(a != b);
	}
}

static struct sn_prop_value binary_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value a, b;

	if (e->op == SN_OP_OR || e->op == SN_OP_AND)
		return junction(ev, e);
	a = evaluate(ev, e->args[0]);
	b = evaluate(ev, e->args[1]);
	if (!a.is_known || !b.is_known)
		return unknown;
	switch (e->op) {
	case SN_OP_ADD:
		return number(a.number + b.number);
	case SN_OP_SUBTRACT:
		return number(a.number - b.number);
	case SN_OP_MULTIPLY:
		return number(a.number * b.number);
	case SN_OP_DIVIDE:
		return b.number != 0 ? number(a.number / b.number) : unknown;
	default:
		break;
	}
	if (e->args[0]->type.kind == SN_TYPE_MEMBER)
		return truth((a.member == b.member) == (e->op == SN_OP_EQUAL));
	return compared(e->op, a.number, b.number);
}

static struct sn_prop_value unary_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value a = evaluate(ev, e->args[0]);

	if (!a.is_known)
		return unknown;
	return e->op == SN_OP_NOT ? truth(a.number == 0) : number(-a.number);
}

static struct sn_prop_value function_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value best = evaluate(ev, e->args[0]), next;

	if (!best.is_known)
		return unknown;
	if (e->op == SN_OP_SQRT)
		return best.number >= 0 ? number(sqrt(best.number)) : unknown;
	if (e->op == SN_OP_ABS)
		return number(fabs(best.number));
	for (uint32_t i = 1; i < e->arg_count; i++) {
		next = evaluate(ev, e->args[i]);
		if (!next.is_known)
			return unknown;
		if (e->op == SN_OP_LEAST ? next.number < best.number : next.number > best.number)
			best = next;
	}
	return best;
}

/* ---- aggregates ---- */

struct gathering {
	SN_VEC(double) numbers;
	size_t count;  /* of `count`: that hold, or are there */
	uint32_t best; /* of `argmax` */
	double largest;
	bool is_unknown;
};

/* Adds a member to what the aggregate gathers. */
static void gather(struct sn_evaluator *ev, const struct sn_expr *e, uint32_t member,
		   struct gathering *g)
{
	struct sn_prop_value with = truth(true), value;

	ev->slots[e->slot] = (struct sn_prop_value){ .is_known = true, .member = member };
	if (e->arg_count > 1)
		with = evaluate(ev, e->args[1]);
	if (fails(with))
		return;
	value = evaluate(ev, e->args[0]);
	if (!with.is_known || !value.is_known) {
		g->is_unknown = true;
		return;
	}
	if (e->op == SN_OP_COUNT) {
		g->count += e->args[0]->type.kind != SN_TYPE_BOOL || value.number != 0;
		return;
	}
	if (!g->numbers.count || value.number > g->largest) {
		g->largest = value.number;
		g->best = member;
	}
	sn_vec_push(&g->numbers, value.number);
}

static void pairs_add(struct pairs *pairs, uint32_t first, uint32_t second)
{
	if (first != SN_ALL && second != SN_ALL)
		sn_vec_push(&pairs->items, (uint64_t)first << 32 | second);
}

static int pairs_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void pairs_sort(struct pairs *pairs)
{
	size_t kept = 0;

	if (!pairs->items.count)
		return;
	qsort(pairs->items.items, pairs->items.count, sizeof(uint64_t), pairs_compare);
	for (size_t i = 0; i < pairs->items.count; i++)
		if (!kept || pairs->items.items[kept - 1] != pairs->items.items[i])
			pairs->items.items[kept++] = pairs->items.items[i];
	pairs->items.count = kept;
}

/* What each region touches and holds, found once. */
static void pairs_find(struct sn_evaluator *ev)
{
	const sn_member_vec *regions = &ev->tables->members[SN_KEY_REGION];

	for (size_t i = 0; i < ev->tables->values.count; i++)
		pairs_add(&ev->touched, ev->tables->values.items[i].keys[SN_KEY_REGION],
			  ev->tables->values.items[i].keys[SN_KEY_DATA]);
	for (uint32_t r = 0; r < regions->count; r++)
		pairs_add(&ev->children, regions->items[r].parent, r);
	pairs_sort(&ev->touched);
	pairs_sort(&ev->children);
	ev->has_pairs = true;
}

/* The second members of all pairs with this first one. */
static void pairs_gather(struct sn_evaluator *ev, const struct sn_expr *e, uint32_t first,
			 struct gathering *g)
{
	const struct pairs *pairs;
	size_t low = 0, high;

	if (!ev->has_pairs)
		pairs_find(ev);
	pairs = e->set == SN_SET_DATA ? &ev->touched : &ev->children;
	high = pairs->items.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pairs->items.items[middle] < (uint64_t)first << 32)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < pairs->items.count && pairs->items.items[low] >> 32 == first && !g->is_unknown;
	     low++)
		gather(ev, e, (uint32_t)pairs->items.items[low], g);
}

/* What the set belongs to: a variable, or the context's process. */
static uint32_t set_owner(const struct sn_evaluator *ev, const struct sn_expr *e, bool *is_known)
{
	*is_known = true;
	if (e->set_slot == SN_ALL)
		return ev->keys[SN_KEY_PROCESS];
	*is_known = ev->is_set[e->set_slot] && ev->slots[e->set_slot].is_known;
	return ev->slots[e->set_slot].member;
}

static void set_gather(struct sn_evaluator *ev, const struct sn_expr *e, struct gathering *g)
{
	const sn_member_vec *processes = &ev->tables->members[SN_KEY_PROCESS];
	bool is_known;
	uint32_t owner = set_owner(ev, e, &is_known), first = 0, end = 0;

	if (!is_known) {
		g->is_unknown = true;
		return;
	}
	switch (e->set) {
	case SN_SET_THREADS:
		first = processes->items[owner].first_thread;
		end = first + processes->items[owner].thread_count;
		break;
	case SN_SET_PROCESSES:
	case SN_SET_PEERS:
		end = (uint32_t)processes->count;
		break;
	case SN_SET_SUBREGIONS:
	case SN_SET_DATA:
		pairs_gather(ev, e, owner, g);
		break;
	case SN_SET_LOCKS:
		end = (uint32_t)ev->tables->members[SN_KEY_LOCK].count;
		break;
	case SN_SET_PHASES:
		end = 1;
		break;
	case SN_SETS:
		break;
	}
	for (uint32_t m = first; m < end && !g->is_unknown; m++)
		if (e->set != SN_SET_PEERS || m != owner)
			gather(ev, e, m, g);
}

static double sum_of(const struct gathering *g)
{
	double sum = 0;

	for (size_t i = 0; i < g->numbers.count; i++)
		sum += g->numbers.items[i];
	return sum;
}

static double deviation_of(const struct gathering *g)
{
	double mean = sum_of(g) / (double)g->numbers.count, squares = 0;

	for (size_t i = 0; i < g->numbers.count; i++)
		squares += (g->numbers.items[i] - mean) * (g->numbers.items[i] - mean);
	return sqrt(squares / (double)g->numbers.count);
}

static double least_of(const struct gathering *g)
{
	double least = g->numbers.items[0];

	for (size_t i = 1; i < g->numbers.count; i++)
		least = g->numbers.items[i] < least ? g->numbers.items[i] : least;
	return least;
}

static struct sn_prop_value gathered(const struct gathering *g, enum sn_prop_op op)
{
	if (g->is_unknown)
		return unknown;
	if (op == SN_OP_COUNT)
		return number((double)g->count);
	if (op == SN_OP_SUM)
		return number(sum_of(g));
	if (!g->numbers.count)
		return unknown;
	switch (op) {
	case SN_OP_MAX:
		return number(g->largest);
	case SN_OP_MIN:
		return number(least_of(g));
	case SN_OP_MEAN:
		return number(sum_of(g) / (double)g->numbers.count);
	case SN_OP_STDDEV:
		return number(deviation_of(g));
	default:
		return (struct sn_prop_value){ .is_known = true, .member = g->best };
	}
}

static struct sn_prop_value aggregate_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct gathering g = { 0 };
	struct sn_prop_value result;

	ev->is_set[e->slot] = true;
	set_gather(ev, e, &g);
	ev->is_set[e->slot] = false;
	result = gathered(&g, e->op);
	sn_vec_free(&g.numbers);
	return result;
}

/* ---- names ---- */

static struct sn_prop_value name_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	if (e->is_param)
		return number(e->param);
	return ev->is_set[e->slot] ? ev->slots[e->slot] : unknown;
}

static struct sn_prop_value attribute_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value of = name_value(ev, e);
	const struct sn_member *member;
	struct sn_prop_value result = unknown;

	if (!of.is_known)
		return unknown;
	if (!strcmp(e->detail, "bytes"))
		return number(ev->tables->members[SN_KEY_DATA].items[of.member].bytes);
	if (!strcmp(e->detail, "threads"))
		return number(ev->tables->members[SN_KEY_PROCESS].items[of.member].thread_count);
	if (!strcmp(e->detail, "process")) {
		member = &ev->tables->members[SN_KEY_THREAD].items[of.member];
		return (struct sn_prop_value){ .is_known = true, .member = member->parent };
	}
	member = &ev->tables->members[SN_KEY_REGION].items[of.member];
	if (!strcmp(e->detail, "line"))
		return member->line_first ? number(member->line_first) : unknown;
	result.is_known = member->parent != SN_ALL;
	result.member = member->parent;
	return result;
}

/* Whether a name has a value, or a metric any value at all. */
static struct sn_prop_value exists_value(struct sn_evaluator *ev, const struct sn_expr *e)
{
	uint64_t *place;
	bool is_new;

	if (e->slot != SN_ALL)
		return truth(ev->is_set[e->slot] && ev->slots[e->slot].is_known);
	place = sn_map_put(&ev->exists, sn_hash_bytes(e->name, strlen(e->name)), &is_new);
	if (is_new)
		*place = sn_tables_has_metric(ev->tables, e->name);
	return truth(*place != 0);
}

static struct sn_prop_value evaluate(struct sn_evaluator *ev, const struct sn_expr *e)
{
	struct sn_prop_value value;

	switch (e->kind) {
	case SN_EXPR_NUMBER:
		return number(e->number);
	case SN_EXPR_NAME:
		return name_value(ev, e);
	case SN_EXPR_ATTRIBUTE:
		return attribute_value(ev, e);
	case SN_EXPR_METRIC:
		return metric_value(ev, e);
	case SN_EXPR_AGGREGATE:
		return aggregate_value(ev, e);
	case SN_EXPR_IF:
		value = evaluate(ev, e->args[0]);
		return value.is_known ? evaluate(ev, e->args[holds(value) ? 1 : 2]) : unknown;
	case SN_EXPR_UNARY:
		return unary_value(ev, e);
	case SN_EXPR_BINARY:
		return binary_value(ev, e);
	case SN_EXPR_FUNCTION:
		return function_value(ev, e);
	case SN_EXPR_EXISTS:
		return exists_value(ev, e);
	case SN_EXPR_CONFIDENCE:
		return confidence_value(ev, e);
	case SN_EXPR_TIME:
		return time_value(ev, e);
	case SN_EXPR_PENALTY:
		return penalty_value(ev, e);
	case SN_EXPR_LANES:
		return number(sn_tables_lanes(ev->tables, ev->keys[SN_KEY_PROCESS]));
	case SN_EXPR_ANY:
	case SN_EXPR_WRONG:
		break;
	}
	return unknown;
}

/* ---- a property in a context ---- */

/* Columns are looked up by name once for each property. */
static const uint32_t *columns_of(struct sn_evaluator *ev, const struct sn_property *property)
{
	bool is_new;
	uint64_t *place = sn_map_put(&ev->columns_of, (uint64_t)(uintptr_t)property, &is_new);
	uint32_t *columns;

	if (!is_new)
		return ev->column_lists.items[*place];
	*place = ev->column_lists.count;
	columns = sn_alloc_zeroed(property->requests.count + 1, sizeof(*columns));
	for (size_t i = 0; i < property->requests.count; i++)
		columns[i] =
			sn_tables_find_column(ev->tables, property->requests.items[i].metric->name,
					      property->requests.items[i].level);
	sn_vec_push(&ev->column_lists, columns);
	return columns;
}

static void context_enter(struct sn_evaluator *ev, const struct sn_property *property,
			  const uint32_t keys[SN_KEYS])
{
	ev->property = property;
	ev->keys = keys;
	ev->request_columns = columns_of(ev, property);
	memset(ev->missing, 0, sizeof(ev->missing));
	memset(ev->ranged, 0, sizeof(ev->ranged));
	memset(ev->is_set, 0, property->slot_count * sizeof(*ev->is_set));
	for (size_t i = 0; i < property->contexts.count; i++) {
		ev->slots[i] =
			(struct sn_prop_value){ .is_known = true,
						.member = keys[property->contexts.items[i].kind] };
		ev->is_set[i] = true;
	}
	for (size_t i = 0; i < property->lets.count; i++) {
		const struct sn_prop_named *let = &property->lets.items[i];

		ev->slots[let->slot] = evaluate(ev, let->expr);
		ev->is_set[let->slot] = true;
	}
}

/* The largest over the conditions that hold; unknown if one is, or none is named. */
static struct sn_prop_value guarded_value(struct sn_evaluator *ev, const struct sn_guarded *guarded,
					  const bool *condition_holds)
{
	struct sn_prop_value largest = unknown;

	if (guarded->expr)
		return evaluate(ev, guarded->expr);
	for (size_t i = 0; i < guarded->guards.count; i++) {
		struct sn_prop_value value;

		if (!condition_holds[guarded->conditions[i]])
			continue;
		value = evaluate(ev, guarded->guards.items[i].expr);
		if (!value.is_known)
			return unknown;
		if (!largest.is_known || value.number > largest.number)
			largest = value;
	}
	return largest;
}

static enum sn_state conditions_evaluate(struct sn_evaluator *ev, bool *condition_holds,
					 struct sn_verdict *out)
{
	const sn_prop_named_vec *conditions = &ev->property->conditions;
	enum sn_state state = SN_NOT_PROVEN;

	for (size_t i = 0; i < conditions->count; i++) {
		struct sn_prop_value value = evaluate(ev, conditions->items[i].expr);

		condition_holds[i] = holds(value);
		if (holds(value) && state != SN_PROVEN) {
			state = SN_PROVEN;
			out->condition = conditions->items[i].name;
		}
		if (!value.is_known && state == SN_NOT_PROVEN)
			state = SN_NOT_MEASURABLE;
	}
	return state;
}

static double clamped(struct sn_prop_value value)
{
	return value.is_known ? fmax(0, fmin(1, value.number)) : NAN;
}

const char *sn_severity_name(enum sn_severity unit)
{
	return unit == SN_SEVERITY_RATE ? "rate" : "lost";
}

enum sn_severity sn_severity_of(const struct sn_property *property, enum sn_severity asked)
{
	return property->has_rate ? asked : SN_SEVERITY_LOST;
}

/* As it was asked for; only a share is cut. */
static double severity_number(const struct sn_evaluator *ev, struct sn_prop_value value)
{
	if (sn_severity_of(ev->property, ev->severity) == SN_SEVERITY_LOST)
		return clamped(value);
	return value.is_known ? value.number : NAN;
}

static const struct sn_guarded *severity_clause(const struct sn_evaluator *ev)
{
	return sn_severity_of(ev->property, ev->severity) == SN_SEVERITY_LOST
		       ? &ev->property->severity
		       : &ev->property->rate;
}

/* What lacks a value for its condition alone still says what it would cost. What the severity lacks
 * is not what the condition needs. */
static double severity_if_it_holds(struct sn_evaluator *ev)
{
	uint8_t needed[sizeof(ev->missing)];
	double severity = NAN;

	memcpy(needed, ev->missing, sizeof(needed));
	if (severity_clause(ev)->expr)
		severity = severity_number(ev, evaluate(ev, severity_clause(ev)->expr));
	memcpy(ev->missing, needed, sizeof(needed));
	return severity;
}

static void weigh(struct sn_evaluator *ev, struct sn_verdict *out)
{
	bool condition_holds[SN_PROP_CONDITIONS_MAX] = { 0 };
	struct sn_prop_value severity, rate;

	out->state = conditions_evaluate(ev, condition_holds, out);
	if (out->state == SN_NOT_MEASURABLE)
		out->severity_at_most = severity_if_it_holds(ev);
	if (out->state != SN_PROVEN)
		return;
	severity = guarded_value(ev, severity_clause(ev), condition_holds);
	if (!severity.is_known) {
		out->state = SN_NOT_MEASURABLE;
		out->condition = NULL;
		return;
	}
	out->severity = severity_number(ev, severity);
	out->severity_unclamped = severity.number;
	rate = ev->property->has_rate ? guarded_value(ev, &ev->property->rate, condition_holds)
				      : unknown;
	out->rate = rate.is_known ? rate.number : NAN;
	out->confidence = clamped(guarded_value(ev, &ev->property->confidence, condition_holds));
}

/* What is not proven, or hardly costs anything, with the lower ends of ranges is asked again with their upper ends. */
static void upper_ends_weigh(struct sn_evaluator *ev, struct sn_verdict *out)
{
	bool condition_holds[SN_PROP_CONDITIONS_MAX] = { 0 };
	uint8_t ranged[sizeof(ev->ranged)];
	struct sn_verdict most;

	memcpy(ranged, ev->ranged, sizeof(ranged));
	if (!memchr(ranged, 1, sizeof(ranged)) || out->state == SN_NOT_MEASURABLE)
		return;
	ev->at_most = true;
	context_enter(ev, ev->property, out->keys);
	if (conditions_evaluate(ev, condition_holds, &most) == SN_PROVEN)
		out->severity_at_most = severity_if_it_holds(ev);
	out->is_range = !isnan(out->severity_at_most);
	ev->at_most = false;
	if (out->state == SN_NOT_PROVEN && out->is_range)
		out->state = SN_NOT_MEASURABLE;
	context_enter(ev, ev->property, out->keys);
	memcpy(ev->missing, ranged, sizeof(ranged));
}

static void evidence_evaluate(struct sn_evaluator *ev, struct sn_verdict *out)
{
	const sn_prop_named_vec *evidence = &ev->property->evidence;

	if (ev->evidence_room < evidence->count) {
		ev->evidence_room = evidence->count;
		ev->evidence =
			sn_realloc_array(ev->evidence, ev->evidence_room, sizeof(*ev->evidence));
	}
	for (size_t i = 0; i < evidence->count; i++)
		ev->evidence[i] = evaluate(ev, evidence->items[i].expr);
	out->evidence = ev->evidence;
}

void sn_property_evaluate(struct sn_evaluator *ev, const struct sn_property *property,
			  const uint32_t keys[SN_KEYS], struct sn_verdict *out)
{
	struct sn_prop_value when = truth(true);

	*out = (struct sn_verdict){ .property = property,
				    .severity = NAN,
				    .rate = NAN,
				    .severity_unclamped = NAN,
				    .confidence = NAN,
				    .severity_at_most = NAN };
	memcpy(out->keys, keys, sizeof(out->keys));
	context_enter(ev, property, out->keys);
	if (property->when)
		when = evaluate(ev, property->when);
	if (!when.is_known) {
		out->state = SN_NOT_MEASURABLE;
	} else if (holds(when)) {
		weigh(ev, out);
		upper_ends_weigh(ev, out);
	}
	for (uint32_t i = 0; i < property->requests.count && i < SN_NEEDS_MAX; i++)
		if ((out->state == SN_NOT_MEASURABLE || out->is_range) && ev->missing[i])
			out->needs[out->need_count++] = i;
	evidence_evaluate(ev, out);
}
