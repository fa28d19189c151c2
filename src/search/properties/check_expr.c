/* Names and units of expressions. */
#include <stdlib.h>
#include <string.h>

#include "search/properties/check_parts.h"

static const struct sn_prop_type wrong = { .kind = SN_TYPE_WRONG };
static const struct sn_prop_type truth = { .kind = SN_TYPE_BOOL };
static const struct sn_prop_type plain = { .kind = SN_TYPE_NUMBER };

static struct sn_prop_type number_of(struct sn_prop_unit unit)
{
	return (struct sn_prop_type){ .kind = SN_TYPE_NUMBER, .unit = unit };
}

static struct sn_prop_type member_of(int kind)
{
	return (struct sn_prop_type){ .kind = SN_TYPE_MEMBER, .member = kind };
}

bool sn_prop_same_unit(struct sn_prop_unit a, struct sn_prop_unit b)
{
	return a.seconds == b.seconds && a.bytes == b.bytes && a.samples == b.samples;
}

const char *sn_prop_type_print(struct sn_prop_type type, char text[SN_PROP_UNIT_TEXT])
{
	switch (type.kind) {
	case SN_TYPE_NUMBER:
		return sn_prop_unit_print(type.unit, text);
	case SN_TYPE_BOOL:
		return "a truth value";
	case SN_TYPE_MEMBER:
		snprintf(text, SN_PROP_UNIT_TEXT, "a %s", sn_prop_member_name(type.member));
		return text;
	case SN_TYPE_WRONG:
		break;
	}
	return "nothing";
}

/* Whether an operand is a number (wrong ones pass: they were reported). */
static bool is_number(struct sn_prop_checker *c, const struct sn_expr *e, struct sn_prop_pos pos,
		      const char *what)
{
	char text[SN_PROP_UNIT_TEXT];

	if (e->type.kind == SN_TYPE_NUMBER || e->type.kind == SN_TYPE_WRONG)
		return true;
	sn_prop_report(&c->file->diags, pos, "%s takes numbers, not %s", what,
		       sn_prop_type_print(e->type, text));
	return false;
}

static bool is_truth(struct sn_prop_checker *c, const struct sn_expr *e, struct sn_prop_pos pos,
		     const char *what)
{
	char text[SN_PROP_UNIT_TEXT];

	if (e->type.kind == SN_TYPE_BOOL || e->type.kind == SN_TYPE_WRONG)
		return true;
	sn_prop_report(&c->file->diags, pos, "%s takes a truth value, not %s", what,
		       sn_prop_type_print(e->type, text));
	return false;
}

/* ---- operators ---- */

static bool units_fit(struct sn_prop_checker *c, const struct sn_expr *e, const struct sn_expr *a,
		      const struct sn_expr *b, const char *verb)
{
	char left[SN_PROP_UNIT_TEXT], right[SN_PROP_UNIT_TEXT];

	if (sn_prop_same_unit(a->type.unit, b->type.unit))
		return true;
	sn_prop_report(&c->file->diags, e->pos, "%s and %s cannot be %s",
		       sn_prop_type_print(a->type, left), sn_prop_type_print(b->type, right), verb);
	return false;
}

static int8_t power(int a, int b)
{
	int sum = a + b;

	return (int8_t)(sum > 100 ? 100 : sum < -100 ? -100 : sum);
}

static struct sn_prop_type product_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	struct sn_prop_unit a = e->args[0]->type.unit, b = e->args[1]->type.unit;
	int sign = e->op == SN_OP_DIVIDE ? -1 : 1;
	struct sn_prop_unit unit = { power(a.seconds, sign * b.seconds),
				     power(a.bytes, sign * b.bytes),
				     power(a.samples, sign * b.samples) };

	if (abs(unit.seconds) < 100 && abs(unit.bytes) < 100 && abs(unit.samples) < 100)
		return number_of(unit);
	sn_prop_report(&c->file->diags, e->pos, "no unit has so large a power");
	return wrong;
}

static struct sn_prop_type comparison_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	const struct sn_expr *a = e->args[0], *b = e->args[1];
	bool is_equality = e->op == SN_OP_EQUAL || e->op == SN_OP_NOT_EQUAL;

	if (is_equality && a->type.kind == SN_TYPE_MEMBER && b->type.kind == SN_TYPE_MEMBER &&
	    a->type.member == b->type.member)
		return truth;
	if (!is_number(c, a, e->pos, "a comparison") || !is_number(c, b, e->pos, "a comparison"))
		return truth;
	if (a->type.kind == SN_TYPE_NUMBER && b->type.kind == SN_TYPE_NUMBER)
		units_fit(c, e, a, b, "compared");
	return truth;
}

static struct sn_prop_type binary_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	struct sn_expr *a = e->args[0], *b = e->args[1];
	char what[8];

	snprintf(what, sizeof(what), "'%.4s'", sn_prop_op_name(e->op));
	if (e->op == SN_OP_OR || e->op == SN_OP_AND) {
		if (is_truth(c, a, e->pos, what))
			is_truth(c, b, e->pos, what);
		return truth;
	}
	if (e->op >= SN_OP_LESS && e->op <= SN_OP_NOT_EQUAL)
		return comparison_type(c, e);
	if (!is_number(c, a, e->pos, what) || !is_number(c, b, e->pos, what))
		return wrong;
	if (a->type.kind == SN_TYPE_WRONG || b->type.kind == SN_TYPE_WRONG)
		return wrong;
	if (e->op == SN_OP_MULTIPLY || e->op == SN_OP_DIVIDE)
		return product_type(c, e);
	return units_fit(c, e, a, b, e->op == SN_OP_ADD ? "added" : "subtracted") ? a->type : wrong;
}

static struct sn_prop_type unary_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	if (e->op == SN_OP_NOT) {
		is_truth(c, e->args[0], e->pos, "'not'");
		return truth;
	}
	return is_number(c, e->args[0], e->pos, "'-'") ? e->args[0]->type : wrong;
}

static struct sn_prop_type if_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	struct sn_expr *a = e->args[1], *b = e->args[2];
	char left[SN_PROP_UNIT_TEXT], right[SN_PROP_UNIT_TEXT];

	is_truth(c, e->args[0], e->pos, "'if'");
	if (a->type.kind == SN_TYPE_WRONG || b->type.kind == SN_TYPE_WRONG)
		return wrong;
	if (a->type.kind == b->type.kind && sn_prop_same_unit(a->type.unit, b->type.unit) &&
	    (a->type.kind != SN_TYPE_MEMBER || a->type.member == b->type.member))
		return a->type;
	sn_prop_report(&c->file->diags, e->pos, "'then' gives %s and 'else' %s: they must be alike",
		       sn_prop_type_print(a->type, left), sn_prop_type_print(b->type, right));
	return wrong;
}

static struct sn_prop_type root_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	struct sn_prop_unit unit = e->args[0]->type.unit;

	if (unit.seconds % 2 || unit.bytes % 2 || unit.samples % 2) {
		char text[SN_PROP_UNIT_TEXT];

		sn_prop_report(&c->file->diags, e->pos, "there is no square root of %s",
			       sn_prop_unit_print(unit, text));
		return wrong;
	}
	unit.seconds /= 2;
	unit.bytes /= 2;
	unit.samples /= 2;
	return number_of(unit);
}

static struct sn_prop_type function_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	bool takes_one = e->op == SN_OP_SQRT || e->op == SN_OP_ABS;

	if (takes_one && e->arg_count != 1) {
		sn_prop_report(&c->file->diags, e->pos, "'%s' takes one number, not %u",
			       sn_prop_op_name(e->op), e->arg_count);
		return wrong;
	}
	for (uint32_t i = 0; i < e->arg_count; i++) {
		if (!is_number(c, e->args[i], e->args[i]->pos, sn_prop_op_name(e->op)) ||
		    e->args[i]->type.kind == SN_TYPE_WRONG)
			return wrong;
		if (i && !units_fit(c, e, e->args[0], e->args[i], "compared"))
			return wrong;
	}
	return e->op == SN_OP_SQRT ? root_type(c, e) : e->args[0]->type;
}

/* ---- names ---- */

static struct sn_prop_type name_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	const struct sn_prop_symbol *symbol = sn_prop_symbol(c, e->name);
	const struct sn_param *param = sn_prop_param(c, e->name);
	char near[SN_PROP_NEAR_TEXT];

	if (symbol) {
		e->slot = symbol->slot;
		return symbol->type;
	}
	if (param) {
		e->is_param = true;
		e->param = param->value;
		return number_of(param->unit);
	}
	if (sn_prop_metric(c, e->name))
		sn_prop_report(&c->file->diags, e->pos,
			       "'%s' is a metric and wants to know of what: '%s(r)', or '%s(*)' "
			       "for all",
			       e->name, e->name, e->name);
	else
		sn_prop_report(&c->file->diags, e->pos, "there is no %s",
			       sn_prop_near(c, e->name, near));
	return wrong;
}

static struct sn_prop_type attribute_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	static const struct {
		int of;
		const char *name;
		struct sn_prop_type type;
	} attributes[] = {
		{ SN_KEY_REGION, "line", { .kind = SN_TYPE_NUMBER } },
		{ SN_KEY_REGION, "parent", { .kind = SN_TYPE_MEMBER, .member = SN_KEY_REGION } },
		{ SN_KEY_PROCESS, "threads", { .kind = SN_TYPE_NUMBER } },
		{ SN_KEY_THREAD, "process", { .kind = SN_TYPE_MEMBER, .member = SN_KEY_PROCESS } },
		{ SN_KEY_DATA, "bytes", { .kind = SN_TYPE_NUMBER, .unit = { .bytes = 1 } } },
	};
	struct sn_prop_type of = name_type(c, e);
	char text[SN_PROP_UNIT_TEXT];

	if (of.kind == SN_TYPE_WRONG)
		return wrong;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (of.kind == SN_TYPE_MEMBER && of.member == attributes[i].of &&
		    !strcmp(e->detail, attributes[i].name))
			return attributes[i].type;
	sn_prop_report(&c->file->diags, e->detail_pos,
		       "%s has no '%s'; there are line and parent of a region, threads of a "
		       "process, process of a thread, bytes of data",
		       sn_prop_type_print(of, text), e->detail);
	return wrong;
}

/* ---- metrics ---- */

static bool is_level(const char *name)
{
	return !strcmp(name, "L1") || !strcmp(name, "L2") || !strcmp(name, "L3") ||
	       !strcmp(name, "TLB");
}

static uint32_t request_add(struct sn_property *property, const struct sn_metric *metric,
			    const char *level)
{
	for (uint32_t i = 0; i < property->requests.count; i++) {
		const struct sn_prop_request *r = &property->requests.items[i];

		if (r->metric == metric &&
		    (level && r->level ? !strcmp(level, r->level) : level == r->level))
			return i;
	}
	sn_vec_push(&property->requests, (struct sn_prop_request){ metric, level });
	return (uint32_t)property->requests.count - 1;
}

void sn_prop_confidences_request(struct sn_prop_checker *c)
{
	for (size_t i = 0; i < c->confidences.count; i++) {
		const struct sn_metric *metric = c->confidences.items[i];
		bool is_asked = false;

		for (size_t k = 0; k < c->property->requests.count && !is_asked; k++)
			is_asked = c->property->requests.items[k].metric == metric;
		if (!is_asked)
			request_add(c->property, metric, NULL);
	}
	c->confidences.count = 0;
}

/* The key that an argument of this kind of member stands for: a process may be the peer. */
static int key_of_member(const struct sn_expr *e, const struct sn_metric *metric, int member)
{
	if (member == SN_KEY_PROCESS &&
	    (e->arg_slots[SN_KEY_PROCESS] == SN_ALL || !(metric->keys & 1u << SN_KEY_PEER)))
		return SN_KEY_PROCESS;
	if (member == SN_KEY_PROCESS || member == SN_KEY_PEER)
		return SN_KEY_PEER;
	return member;
}

static void metric_arg(struct sn_prop_checker *c, struct sn_expr *e, const struct sn_metric *metric,
		       struct sn_expr *arg)
{
	char text[SN_PROP_UNIT_TEXT];
	int key;

	if (arg->type.kind == SN_TYPE_WRONG)
		return;
	if (arg->type.kind != SN_TYPE_MEMBER || arg->kind != SN_EXPR_NAME) {
		sn_prop_report(&c->file->diags, arg->pos,
			       "an argument of a metric is the name of a member, a level or '*', "
			       "not %s",
			       arg->kind == SN_EXPR_NAME ? sn_prop_type_print(arg->type, text)
							 : "an expression");
		return;
	}
	key = key_of_member(e, metric, arg->type.member);
	if (key == SN_MEMBER_PHASE || !((metric->keys | 1u << SN_KEY_PROCESS) & 1u << key)) {
		sn_prop_report(&c->file->diags, arg->pos, "metric '%s' has no value by %s", e->name,
			       sn_prop_member_name(arg->type.member));
		return;
	}
	if (e->arg_slots[key] != SN_ALL)
		sn_prop_report(&c->file->diags, arg->pos, "metric '%s' has a %s already here",
			       e->name, sn_key_name((enum sn_key)key));
	e->arg_slots[key] = arg->slot;
}

/* What is left out is summed over, which only makes sense of what adds up. A thread has its
 * process with it. */
static void left_out_check(struct sn_prop_checker *c, struct sn_expr *e,
			   const struct sn_metric *metric)
{
	for (int k = 0; k < SN_KEYS; k++) {
		bool is_implied = k == SN_KEY_PROCESS && e->arg_slots[SN_KEY_THREAD] != SN_ALL;

		if (!(metric->keys & 1u << k) || e->arg_slots[k] != SN_ALL || is_implied)
			continue;
		e->is_over_all |= k == SN_KEY_PROCESS;
		if (!metric->adds) {
			sn_prop_report(&c->file->diags, e->pos,
				       "metric '%s' does not add up: it must be told its %s",
				       e->name, sn_key_name((enum sn_key)k));
			return;
		}
	}
}

static struct sn_prop_type metric_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	const struct sn_metric *metric = sn_prop_metric(c, e->name);
	const char *level = NULL;
	char near[SN_PROP_NEAR_TEXT];

	if (!metric) {
		sn_prop_report(&c->file->diags, e->pos, "there is no metric %s",
			       sn_prop_near(c, e->name, near));
		return wrong;
	}
	for (int k = 0; k < SN_KEYS; k++)
		e->arg_slots[k] = SN_ALL;
	for (uint32_t i = 0; i < e->arg_count; i++) {
		struct sn_expr *arg = e->args[i];

		if (arg->kind == SN_EXPR_ANY)
			continue;
		if (arg->kind == SN_EXPR_NAME && is_level(arg->name) &&
		    !sn_prop_symbol(c, arg->name)) {
			if (level)
				sn_prop_report(&c->file->diags, arg->pos,
					       "a metric has one level, and '%s' stands here "
					       "already",
					       level);
			level = arg->name;
			arg->type = wrong;
			continue;
		}
		arg->type = sn_prop_check_expr(c, arg);
		metric_arg(c, e, metric, arg);
	}
	left_out_check(c, e, metric);
	e->request = request_add(c->property, metric, level);
	return number_of(metric->unit);
}

/* ---- sets and aggregates ---- */

static const struct {
	int member;	/* of the set */
	int owner;	/* what it may belong to */
	bool needs_one; /* the owner cannot be left out */
} sets[SN_SETS] = {
	[SN_SET_THREADS] = { SN_KEY_THREAD, SN_KEY_PROCESS, false },
	[SN_SET_PROCESSES] = { SN_KEY_PROCESS, -1, false },
	[SN_SET_SUBREGIONS] = { SN_KEY_REGION, SN_KEY_REGION, true },
	[SN_SET_DATA] = { SN_KEY_DATA, SN_KEY_REGION, true },
	[SN_SET_PEERS] = { SN_KEY_PEER, SN_KEY_PROCESS, false },
	[SN_SET_LOCKS] = { SN_KEY_LOCK, -1, false },
	[SN_SET_PHASES] = { SN_MEMBER_PHASE, -1, false },
};

static void set_check(struct sn_prop_checker *c, struct sn_expr *e)
{
	const char *set = sn_prop_set_name(e->set);
	const struct sn_prop_symbol *owner = e->set_of ? sn_prop_symbol(c, e->set_of) : NULL;
	char near[SN_PROP_NEAR_TEXT];

	if (!e->set_of) {
		if (sets[e->set].needs_one)
			sn_prop_report(&c->file->diags, e->set_pos,
				       "'%s' must be told of which region: '%s(r)'", set, set);
		return;
	}
	if (sets[e->set].owner < 0)
		sn_prop_report(&c->file->diags, e->set_pos, "'%s' belongs to nothing", set);
	else if (!owner)
		sn_prop_report(&c->file->diags, e->set_pos, "there is no %s",
			       sn_prop_near(c, e->set_of, near));
	else if (owner->type.kind != SN_TYPE_WRONG &&
		 (owner->type.kind != SN_TYPE_MEMBER || owner->type.member != sets[e->set].owner))
		sn_prop_report(&c->file->diags, e->set_pos, "'%s' are those of a %s", set,
			       sn_prop_member_name(sets[e->set].owner));
	else
		e->set_slot = owner->slot;
}

static struct sn_prop_type aggregate_result(struct sn_prop_checker *c, struct sn_expr *e)
{
	if (e->op == SN_OP_COUNT)
		return plain;
	if (!is_number(c, e->args[0], e->pos, sn_prop_op_name(e->op)))
		return wrong;
	return e->op == SN_OP_ARGMAX ? member_of(sets[e->set].member) : e->args[0]->type;
}

static struct sn_prop_type aggregate_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	struct sn_prop_type type;

	set_check(c, e);
	if (++c->aggregates > SN_PROP_AGGREGATES_MAX)
		sn_prop_report(&c->file->diags, e->pos,
			       "aggregates stand in each other at most %d deep",
			       SN_PROP_AGGREGATES_MAX);
	e->slot = sn_prop_symbol_add(c, e->name, e->detail_pos, member_of(sets[e->set].member));
	e->args[0]->type = sn_prop_check_expr(c, e->args[0]);
	if (e->arg_count > 1) {
		e->args[1]->type = sn_prop_check_expr(c, e->args[1]);
		is_truth(c, e->args[1], e->args[1]->pos, "'with'");
	}
	type = aggregate_result(c, e);
	for (uint32_t i = 0; i < c->symbol_count; i++)
		if (c->symbols[i].slot == e->slot)
			c->symbols[i].name = NULL; /* its aggregate has ended */
	c->aggregates--;
	return type;
}

/* ---- the others ---- */

static struct sn_prop_type of_name_type(struct sn_prop_checker *c, struct sn_expr *e)
{
	const struct sn_prop_symbol *symbol = e->name ? sn_prop_symbol(c, e->name) : NULL;
	const struct sn_metric *metric = e->name ? sn_prop_metric(c, e->name) : NULL;
	char near[SN_PROP_NEAR_TEXT];

	e->slot = symbol ? symbol->slot : SN_ALL;
	if (e->kind == SN_EXPR_PENALTY) {
		if (!is_level(e->name))
			sn_prop_report(&c->file->diags, e->detail_pos,
				       "'%s' is no level; the levels are L1, L2, L3 and TLB",
				       e->name);
		metric = sn_prop_metric(c, "penalty");
		e->request = metric ? request_add(c->property, metric, e->name) : 0;
		return number_of((struct sn_prop_unit){ .seconds = 1 });
	}
	if (e->kind == SN_EXPR_TIME) {
		if (e->name && (!symbol || symbol->type.kind != SN_TYPE_MEMBER ||
				symbol->type.member != SN_KEY_REGION))
			sn_prop_report(&c->file->diags, e->detail_pos,
				       "'time' is that of the phase or of a region");
		metric = sn_prop_metric(c, "time");
		e->request = e->name && metric ? request_add(c->property, metric, NULL) : 0;
		return number_of((struct sn_prop_unit){ .seconds = 1 });
	}
	if (e->kind == SN_EXPR_CONFIDENCE && metric)
		sn_vec_push(&c->confidences, metric);
	if (e->kind == SN_EXPR_CONFIDENCE ? !metric : !metric && !symbol)
		sn_prop_report(&c->file->diags, e->detail_pos, "there is no %s%s",
			       e->kind == SN_EXPR_CONFIDENCE ? "metric " : "",
			       sn_prop_near(c, e->name, near));
	return e->kind == SN_EXPR_CONFIDENCE ? plain : truth;
}

static struct sn_prop_type number_type(struct sn_expr *e)
{
	struct sn_prop_unit unit = { 0 };

	if (e->unit)
		sn_prop_unit_parse(e->unit, &unit);
	return number_of(unit);
}

struct sn_prop_type sn_prop_check_expr(struct sn_prop_checker *c, struct sn_expr *e)
{
	if (e->kind != SN_EXPR_METRIC && e->kind != SN_EXPR_AGGREGATE && e->kind != SN_EXPR_WRONG)
		for (uint32_t i = 0; i < e->arg_count; i++)
			e->args[i]->type = sn_prop_check_expr(c, e->args[i]);
	switch (e->kind) {
	case SN_EXPR_NUMBER:
		return number_type(e);
	case SN_EXPR_NAME:
		return name_type(c, e);
	case SN_EXPR_ATTRIBUTE:
		return attribute_type(c, e);
	case SN_EXPR_METRIC:
		return metric_type(c, e);
	case SN_EXPR_AGGREGATE:
		return aggregate_type(c, e);
	case SN_EXPR_IF:
		return if_type(c, e);
	case SN_EXPR_UNARY:
		return unary_type(c, e);
	case SN_EXPR_BINARY:
		return binary_type(c, e);
	case SN_EXPR_FUNCTION:
		return function_type(c, e);
	case SN_EXPR_EXISTS:
	case SN_EXPR_CONFIDENCE:
	case SN_EXPR_TIME:
	case SN_EXPR_PENALTY:
		return of_name_type(c, e);
	case SN_EXPR_LANES:
		return plain;
	case SN_EXPR_ANY:
	case SN_EXPR_WRONG:
		break;
	}
	return wrong;
}
