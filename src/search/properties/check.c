/* The rules of declarations and properties; expressions are checked in check_expr.c. */
#include "search/properties/check.h"

#include <ctype.h>
#include <string.h>

#include "base/spelling.h"
#include "search/properties/check_parts.h"

/* ---- names ---- */

static const struct sn_metric *metric_in(const struct sn_prop_file *file, const char *name)
{
	for (size_t i = 0; i < file->metrics.count; i++)
		if (!strcmp(file->metrics.items[i]->name, name))
			return file->metrics.items[i];
	return NULL;
}

const struct sn_metric *sn_prop_metric(const struct sn_prop_checker *c, const char *name)
{
	const struct sn_metric *metric = metric_in(c->file, name);

	for (size_t i = 0; i < c->scope->file_count && !metric; i++)
		metric = metric_in(c->scope->files[i], name);
	return metric;
}

const struct sn_prop_symbol *sn_prop_symbol(const struct sn_prop_checker *c, const char *name)
{
	for (uint32_t i = c->symbol_count; i-- > 0;)
		if (c->symbols[i].name && !strcmp(c->symbols[i].name, name))
			return &c->symbols[i];
	return NULL;
}

const struct sn_param *sn_prop_param(const struct sn_prop_checker *c, const char *name)
{
	for (size_t i = 0; i < c->file->params.count; i++)
		if (!strcmp(c->file->params.items[i]->name, name))
			return c->file->params.items[i];
	return NULL;
}

uint32_t sn_prop_symbol_add(struct sn_prop_checker *c, const char *name, struct sn_prop_pos pos,
			    struct sn_prop_type type)
{
	if (sn_prop_symbol(c, name) || sn_prop_param(c, name))
		sn_prop_report(&c->file->diags, pos, "'%s' is there already", name);
	if (c->symbol_count == SN_PROP_NAMES_MAX) {
		sn_prop_report(&c->file->diags, pos, "a property has at most %d names",
			       SN_PROP_NAMES_MAX);
		return 0;
	}
	c->symbols[c->symbol_count] =
		(struct sn_prop_symbol){ .name = name, .type = type, .slot = c->symbol_count };
	return c->symbol_count++;
}

static void near_try(const char *written, const char *name, const char **near)
{
	if (sn_spelling_is_nearer(written, name, *near))
		*near = name;
}

const char *sn_prop_near(const struct sn_prop_checker *c, const char *name,
			 char text[SN_PROP_NEAR_TEXT])
{
	static const char *const of_the_language[] = { "lanes",	  "time",  "confidence", "exists",
						       "penalty", "least", "greatest" };
	const char *near = NULL;

	for (uint32_t i = 0; i < c->symbol_count; i++)
		if (c->symbols[i].name)
			near_try(name, c->symbols[i].name, &near);
	for (size_t i = 0; i < c->file->params.count; i++)
		near_try(name, c->file->params.items[i]->name, &near);
	for (size_t i = 0; i < c->file->metrics.count; i++)
		near_try(name, c->file->metrics.items[i]->name, &near);
	for (size_t f = 0; f < c->scope->file_count; f++)
		for (size_t i = 0; i < c->scope->files[f]->metrics.count; i++)
			near_try(name, c->scope->files[f]->metrics.items[i]->name, &near);
	for (size_t i = 0; i < sizeof(of_the_language) / sizeof(*of_the_language); i++)
		near_try(name, of_the_language[i], &near);
	if (near)
		snprintf(text, SN_PROP_NEAR_TEXT, "'%.80s'; did you mean '%.80s'?", name, near);
	else
		snprintf(text, SN_PROP_NEAR_TEXT, "'%.80s'", name);
	return text;
}

/* ---- metrics and parameters ---- */

static bool has_source(const struct sn_prop_file *file, const char *name)
{
	for (size_t i = 0; i < file->metrics.count; i++)
		for (size_t k = 0; k < file->metrics.items[i]->needs.count; k++)
			if (!strcmp(file->metrics.items[i]->needs.items[k], name))
				return true;
	return false;
}

static const char *source_near(const struct sn_prop_file *file, const char *name, const char *best)
{
	for (size_t i = 0; i < file->metrics.count; i++)
		for (size_t k = 0; k < file->metrics.items[i]->needs.count; k++) {
			const char *source = file->metrics.items[i]->needs.items[k];

			if (sn_spelling_is_nearer(name, source, best))
				best = source;
		}
	return best;
}

/* The sources are those that metrics need which come with sonde. */
static void sources_check(struct sn_prop_checker *c, const struct sn_metric *metric)
{
	for (size_t i = 0; i < metric->needs.count && !c->file->is_shipped; i++) {
		const char *name = metric->needs.items[i], *near = NULL;
		bool is_there = false;

		for (size_t f = 0; f < c->scope->file_count; f++) {
			is_there |= has_source(c->scope->files[f], name);
			near = source_near(c->scope->files[f], name, near);
		}
		if (is_there)
			continue;
		if (near)
			sn_prop_report(&c->file->diags, metric->needs_pos.items[i],
				       "there is no source '%.80s'; did you mean '%.80s'?", name,
				       near);
		else
			sn_prop_report(
				&c->file->diags, metric->needs_pos.items[i],
				"there is no source '%.80s'; 'sonde properties list' has those of "
				"each property; a metric of tables alone needs none",
				name);
	}
}

static void metric_check(struct sn_prop_checker *c, size_t index)
{
	const struct sn_metric *metric = c->file->metrics.items[index], *other;
	char text[SN_PROP_UNIT_TEXT];

	sources_check(c, metric);
	if (metric_in(c->file, metric->name) != metric) {
		sn_prop_report(&c->file->diags, metric->pos, "metric '%s' is there already",
			       metric->name);
		return;
	}
	for (size_t f = 0; f < c->scope->file_count; f++) {
		other = metric_in(c->scope->files[f], metric->name);
		if (other && !sn_prop_same_unit(other->unit, metric->unit))
			sn_prop_report(&c->file->diags, metric->pos,
				       "metric '%s' comes with sonde, and its unit is %s",
				       metric->name, sn_prop_unit_print(other->unit, text));
	}
}

static void param_check(struct sn_prop_checker *c, size_t index)
{
	const struct sn_param *param = c->file->params.items[index];

	for (size_t i = 0; i < index; i++)
		if (!strcmp(c->file->params.items[i]->name, param->name))
			sn_prop_report(&c->file->diags, param->pos,
				       "parameter '%s' is there already", param->name);
	if (metric_in(c->file, param->name))
		sn_prop_report(&c->file->diags, param->pos, "'%s' is a metric", param->name);
	if (param->has_range && param->low > param->high)
		sn_prop_report(&c->file->diags, param->pos, "the range of '%s' is empty",
			       param->name);
	else if (param->has_range && (param->value < param->low || param->value > param->high))
		sn_prop_report(&c->file->diags, param->pos, "'%s' is outside its own range",
			       param->name);
}

/* ---- clauses ---- */

static void must_be(struct sn_prop_checker *c, struct sn_expr *e, bool is_truth, const char *what)
{
	static const struct sn_prop_unit none = { 0 };
	char text[SN_PROP_UNIT_TEXT];

	e->type = sn_prop_check_expr(c, e);
	if (e->type.kind == SN_TYPE_WRONG)
		return;
	if (is_truth && e->type.kind != SN_TYPE_BOOL)
		sn_prop_report(&c->file->diags, e->pos, "a %s is a truth value, not %s", what,
			       sn_prop_type_print(e->type, text));
	else if (!is_truth &&
		 (e->type.kind != SN_TYPE_NUMBER || !sn_prop_same_unit(e->type.unit, none)))
		sn_prop_report(&c->file->diags, e->pos, "a %s is a %s without a unit, not %s", what,
			       strcmp(what, "rate") ? "share" : "number",
			       sn_prop_type_print(e->type, text));
}

static void conditions_check(struct sn_prop_checker *c)
{
	sn_prop_named_vec *conditions = &c->property->conditions;

	for (size_t i = 0; i < conditions->count; i++) {
		const struct sn_prop_named *condition = &conditions->items[i];

		must_be(c, condition->expr, true, "condition");
		if (i == SN_PROP_CONDITIONS_MAX)
			sn_prop_report(&c->file->diags, condition->pos,
				       "a property has at most %d conditions",
				       SN_PROP_CONDITIONS_MAX);
		for (size_t j = 0; j < i && condition->name; j++)
			if (conditions->items[j].name &&
			    !strcmp(conditions->items[j].name, condition->name))
				sn_prop_report(&c->file->diags, condition->pos,
					       "condition '%s' is there already", condition->name);
	}
}

static void guarded_check(struct sn_prop_checker *c, struct sn_guarded *guarded, const char *what)
{
	const sn_prop_named_vec *conditions = &c->property->conditions;

	if (guarded->expr)
		must_be(c, guarded->expr, false, what);
	for (size_t i = 0; i < guarded->guards.count; i++) {
		const struct sn_prop_named *guard = &guarded->guards.items[i];
		size_t at = 0;

		must_be(c, guard->expr, false, what);
		while (at < conditions->count && (!conditions->items[at].name ||
						  strcmp(conditions->items[at].name, guard->name)))
			at++;
		if (i >= SN_PROP_CONDITIONS_MAX)
			sn_prop_report(&c->file->diags, guard->pos,
				       "'max' takes at most %d conditions here",
				       SN_PROP_CONDITIONS_MAX);
		else if (at == conditions->count)
			sn_prop_report(&c->file->diags, guard->pos,
				       "no condition of '%s' is called '%s'", c->property->name,
				       guard->name);
		else
			guarded->conditions[i] = (uint32_t)at;
	}
}

static void names_unique(struct sn_prop_checker *c, const sn_prop_named_vec *named)
{
	for (size_t i = 0; i < named->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(named->items[i].name, named->items[j].name))
				sn_prop_report(&c->file->diags, named->items[i].pos,
					       "'%s' is there already", named->items[i].name);
}

/* ---- texts ---- */

/* False: there is no such name. */
static bool is_of_text(const struct sn_prop_checker *c, const char *name, size_t length,
		       struct sn_prop_type *type)
{
	const sn_prop_named_vec *lists[] = { &c->property->lets, &c->property->evidence };

	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			if (strlen(lists[l]->items[i].name) == length &&
			    !memcmp(lists[l]->items[i].name, name, length)) {
				*type = lists[l]->items[i].expr->type;
				return true;
			}
	for (size_t i = 0; i < c->property->contexts.count; i++)
		if (strlen(c->property->contexts.items[i].name) == length &&
		    !memcmp(c->property->contexts.items[i].name, name, length)) {
			*type = (struct sn_prop_type){ .kind = SN_TYPE_MEMBER };
			return true;
		}
	return false;
}

/* ".1f" or ".1%". */
static bool is_digits_format(const char *format, const char *end)
{
	return end - format == 3 && format[0] == '.' && isdigit((unsigned char)format[1]) &&
	       (format[2] == 'f' || format[2] == '%');
}

static bool is_duration_format(const char *format, const char *end)
{
	return (size_t)(end - format) == strlen(SN_PROP_DURATION) &&
	       !memcmp(format, SN_PROP_DURATION, (size_t)(end - format));
}

/* "{name}", "{name:.1f}" or "{name:time}". */
static void placeholder_check(struct sn_prop_checker *c, struct sn_prop_pos pos, const char *at,
			      const char *end)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));
	const char *name_end = colon ? colon : end;
	static const struct sn_prop_unit seconds = { .seconds = 1 };
	struct sn_prop_type type = { .kind = SN_TYPE_WRONG };
	char text[SN_PROP_UNIT_TEXT];

	if (!is_of_text(c, at, (size_t)(name_end - at), &type))
		sn_prop_report(&c->file->diags, pos,
			       "the text names '{%.*s}', which is no let, evidence or parameter of "
			       "the property",
			       (int)(name_end - at > 60 ? 60 : name_end - at), at);
	if (!colon || is_digits_format(colon + 1, end))
		return;
	if (!is_duration_format(colon + 1, end))
		sn_prop_report(&c->file->diags, pos,
			       "a number in a text is shown as '{x}', '{x:.1f}', '{x:.1%%}' or "
			       "'{x:time}'");
	else if (type.kind != SN_TYPE_WRONG &&
		 (type.kind != SN_TYPE_NUMBER || !sn_prop_same_unit(type.unit, seconds)))
		sn_prop_report(&c->file->diags, pos, "'{%.*s:time}' shows a time, and '%.*s' is %s",
			       (int)(name_end - at > 60 ? 60 : name_end - at), at,
			       (int)(name_end - at > 60 ? 60 : name_end - at), at,
			       sn_prop_type_print(type, text));
}

static void text_check(struct sn_prop_checker *c, const char *text, struct sn_prop_pos pos)
{
	for (const char *at = text; at && (at = strchr(at, '{')); at++) {
		const char *end = strchr(at, '}');

		if (!end) {
			sn_prop_report(&c->file->diags, pos, "a '{' of the text has no '}'");
			return;
		}
		placeholder_check(c, pos, at + 1, end);
		at = end;
	}
}

/* ---- properties ---- */

static void contexts_check(struct sn_prop_checker *c)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < c->property->contexts.count; i++) {
		const struct sn_prop_context *context = &c->property->contexts.items[i];
		const struct sn_prop_type type = { .kind = SN_TYPE_MEMBER,
						   .member = context->kind };

		if (seen & 1u << context->kind)
			sn_prop_report(&c->file->diags, context->pos,
				       "a property has one parameter of each kind; there is a %s "
				       "already",
				       sn_key_name(context->kind));
		seen |= 1u << context->kind;
		sn_prop_symbol_add(c, context->name, context->pos, type);
	}
}

static void property_check(struct sn_prop_checker *c, struct sn_property *property)
{
	c->property = property;
	c->symbol_count = 0;
	c->aggregates = 0;
	contexts_check(c);
	for (size_t i = 0; i < property->lets.count; i++) {
		struct sn_prop_named *let = &property->lets.items[i];

		let->expr->type = sn_prop_check_expr(c, let->expr);
		let->slot = sn_prop_symbol_add(c, let->name, let->pos, let->expr->type);
	}
	if (property->when)
		must_be(c, property->when, true, "'when'");
	conditions_check(c);
	guarded_check(c, &property->confidence, "confidence");
	guarded_check(c, &property->severity, "severity");
	guarded_check(c, &property->rate, "rate");
	names_unique(c, &property->evidence);
	for (size_t i = 0; i < property->evidence.count; i++)
		property->evidence.items[i].expr->type =
			sn_prop_check_expr(c, property->evidence.items[i].expr);
	sn_prop_confidences_request(c);
	sn_prop_sums_find(property);
	sn_prop_constants_check(property, &c->file->diags);
	text_check(c, property->explain, property->explain_pos);
	text_check(c, property->hint, property->hint_pos);
	property->slot_count = c->symbol_count;
}

void sn_prop_check(struct sn_prop_file *file, const struct sn_prop_scope *scope)
{
	struct sn_prop_checker c = { .file = file, .scope = scope };

	for (size_t i = 0; i < file->metrics.count; i++)
		metric_check(&c, i);
	for (size_t i = 0; i < file->params.count; i++)
		param_check(&c, i);
	for (size_t i = 0; i < file->properties.count; i++) {
		const struct sn_property *property = file->properties.items[i];

		for (size_t j = 0; j < i; j++)
			if (!strcmp(file->properties.items[j]->name, property->name))
				sn_prop_report(&file->diags, property->pos,
					       "property '%s' is there already", property->name);
		property_check(&c, file->properties.items[i]);
	}
	sn_vec_free(&c.confidences);
}
