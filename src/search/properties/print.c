/* Prints syntax trees with as few parentheses as their order of evaluation needs. */
#include "search/properties/print.h"

#include <string.h>

/* How tightly an expression binds; a looser one inside it stands in parentheses. */
enum binding { LOOSE, BY_OR, BY_AND, BY_NOT, BY_COMPARISON, BY_SUM, BY_PRODUCT, BY_SIGN, TIGHT };

static enum binding binding_of(const struct sn_expr *e)
{
	if (e->kind == SN_EXPR_IF)
		return LOOSE;
	if (e->kind == SN_EXPR_UNARY)
		return e->op == SN_OP_NOT ? BY_NOT : BY_SIGN;
	if (e->kind != SN_EXPR_BINARY)
		return TIGHT;
	if (e->op == SN_OP_OR)
		return BY_OR;
	if (e->op == SN_OP_AND)
		return BY_AND;
	if (e->op <= SN_OP_NOT_EQUAL)
		return BY_COMPARISON;
	return e->op == SN_OP_ADD || e->op == SN_OP_SUBTRACT ? BY_SUM : BY_PRODUCT;
}

static void print(const struct sn_expr *e, enum binding least, struct sn_text *out);

static void print_args(const struct sn_expr *e, struct sn_text *out)
{
	for (uint32_t i = 0; i < e->arg_count; i++) {
		sn_text_add(out, i ? ", " : "");
		print(e->args[i], LOOSE, out);
	}
}

static void print_set(const struct sn_expr *e, struct sn_text *out)
{
	sn_text_addf(out, " over %s in %s", e->name, sn_prop_set_name(e->set));
	if (e->set_of)
		sn_text_addf(out, "(%s)", e->set_of);
}

/* The operands of comparisons are sums; those of other operators are of one level to the left. */
static void print_binary(const struct sn_expr *e, struct sn_text *out)
{
	enum binding own = binding_of(e);

	print(e->args[0], own == BY_COMPARISON ? BY_SUM : own, out);
	sn_text_addf(out, " %s ", sn_prop_op_name(e->op));
	print(e->args[1], own + 1, out);
}

static void print_bare(const struct sn_expr *e, struct sn_text *out)
{
	switch (e->kind) {
	case SN_EXPR_NUMBER:
		sn_text_add_double(out, e->number);
		if (e->unit)
			sn_text_addf(out, " %s", e->unit);
		break;
	case SN_EXPR_NAME:
	case SN_EXPR_LANES:
		sn_text_add(out, e->name);
		break;
	case SN_EXPR_ATTRIBUTE:
		sn_text_addf(out, "%s.%s", e->name, e->detail);
		break;
	case SN_EXPR_METRIC:
	case SN_EXPR_FUNCTION:
		sn_text_addf(out, "%s(", e->name);
		print_args(e, out);
		sn_text_add(out, ")");
		break;
	case SN_EXPR_AGGREGATE:
		sn_text_addf(out, "%s(", sn_prop_op_name(e->op));
		print(e->args[0], LOOSE, out);
		print_set(e, out);
		if (e->arg_count > 1) {
			sn_text_add(out, " with ");
			print(e->args[1], LOOSE, out);
		}
		sn_text_add(out, ")");
		break;
	case SN_EXPR_IF:
		sn_text_add(out, "if ");
		print(e->args[0], LOOSE, out);
		sn_text_add(out, " then ");
		print(e->args[1], LOOSE, out);
		sn_text_add(out, " else ");
		print(e->args[2], LOOSE, out);
		break;
	case SN_EXPR_UNARY:
		sn_text_add(out, e->op == SN_OP_NOT ? "not " : "-");
		print(e->args[0], e->op == SN_OP_NOT ? BY_COMPARISON : BY_SIGN, out);
		break;
	case SN_EXPR_BINARY:
		print_binary(e, out);
		break;
	case SN_EXPR_EXISTS:
		sn_text_addf(out, "exists(%s)", e->name);
		break;
	case SN_EXPR_CONFIDENCE:
		sn_text_addf(out, "confidence(%s)", e->name);
		break;
	case SN_EXPR_TIME:
		sn_text_addf(out, "time(%s)", e->name ? e->name : "phase");
		break;
	case SN_EXPR_PENALTY:
		sn_text_addf(out, "penalty(%s)", e->name);
		break;
	case SN_EXPR_ANY:
	case SN_EXPR_WRONG:
		sn_text_add(out, "*");
		break;
	}
}

static void print(const struct sn_expr *e, enum binding least, struct sn_text *out)
{
	bool is_inside = binding_of(e) < least;

	sn_text_add(out, is_inside ? "(" : "");
	print_bare(e, out);
	sn_text_add(out, is_inside ? ")" : "");
}

/* ---- clauses ---- */

static void print_words(const char *before, const sn_prop_word_vec *words, struct sn_text *out)
{
	for (size_t i = 0; i < words->count; i++)
		sn_text_addf(out, "%s%s", i ? ", " : before, words->items[i].name);
}

static void print_named(const char *clause, const sn_prop_named_vec *named, struct sn_text *out)
{
	for (size_t i = 0; i < named->count; i++) {
		sn_text_addf(out, "  %-10s %s = ", clause, named->items[i].name);
		print(named->items[i].expr, LOOSE, out);
		sn_text_add(out, ";\n");
	}
}

static void print_guarded(const char *clause, const struct sn_guarded *guarded, struct sn_text *out)
{
	if (!guarded->expr && !guarded->guards.count)
		return;
	sn_text_addf(out, "  %-10s ", clause);
	if (guarded->expr)
		print(guarded->expr, LOOSE, out);
	for (size_t i = 0; i < guarded->guards.count; i++) {
		sn_text_addf(out, "%s%s -> ", i ? ", " : "max(", guarded->guards.items[i].name);
		print(guarded->guards.items[i].expr, LOOSE, out);
	}
	sn_text_add(out, guarded->expr ? ";\n" : ");\n");
}

static void print_string(const char *clause, const char *text, struct sn_text *out)
{
	if (!text)
		return;
	sn_text_addf(out, "  %-10s \"", clause);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			sn_text_add_char(out, '\\');
		if (*text == '\n' || *text == '\t')
			sn_text_add(out, *text == '\n' ? "\\n" : "\\t");
		else
			sn_text_add_char(out, *text);
	}
	sn_text_add(out, "\";\n");
}

/* An alternative without a name would read as an 'or' of the one before. */
static void print_conditions(const struct sn_property *property, struct sn_text *out)
{
	for (size_t i = 0; i < property->conditions.count; i++) {
		const struct sn_prop_named *condition = &property->conditions.items[i];

		sn_text_addf(out, "%s", i ? " or " : "  condition  ");
		if (condition->name)
			sn_text_addf(out, "%s: ", condition->name);
		print(condition->expr, LOOSE, out);
	}
	sn_text_add(out, ";\n");
}

static void print_contexts(const struct sn_property *property, struct sn_text *out)
{
	sn_text_add(out, "(");
	for (size_t i = 0; i < property->contexts.count; i++) {
		const struct sn_prop_context *context = &property->contexts.items[i];

		sn_text_addf(out, "%s%s: %s", i ? ", " : "", context->name,
			     sn_key_name(context->kind));
		for (size_t k = 0; k < context->kinds.count; k++)
			sn_text_addf(out, "%s%s", k ? "|" : "(", context->kinds.items[k]);
		sn_text_add(out, context->kinds.count ? ")" : "");
	}
	sn_text_add(out, ")");
}

void sn_property_print(const struct sn_property *property, struct sn_text *out)
{
	sn_text_addf(out, "property %s", property->name);
	print_contexts(property, out);
	print_words(" refines ", &property->refines, out);
	sn_text_add(out, " {\n");
	print_named("let", &property->lets, out);
	if (property->when) {
		sn_text_add(out, "  when       ");
		print(property->when, LOOSE, out);
		sn_text_add(out, ";\n");
	}
	print_conditions(property, out);
	print_guarded("confidence", &property->confidence, out);
	print_guarded("severity", &property->severity, out);
	print_guarded("rate", &property->rate, out);
	print_named("evidence", &property->evidence, out);
	print_string("explain", property->explain, out);
	print_string("hint", property->hint, out);
	print_words("  next       ", &property->next, out);
	sn_text_add(out, property->next.count ? ";\n}\n" : "}\n");
}

/* ---- metrics and parameters ---- */

/* As the files that come with sonde name parameters. */
static const char letters[SN_KEYS] = {
	[SN_KEY_REGION] = 'r', [SN_KEY_DATA] = 'd', [SN_KEY_PROCESS] = 'p', [SN_KEY_THREAD] = 't',
	[SN_KEY_LOCK] = 'l',   [SN_KEY_FILE] = 'f', [SN_KEY_PEER] = 'q'
};

void sn_metric_print(const struct sn_metric *metric, struct sn_text *out)
{
	bool is_first = true;

	sn_text_addf(out, "metric %s", metric->name);
	for (int k = 0; k < SN_KEYS; k++)
		if (metric->keys & 1u << k) {
			sn_text_addf(out, "%s%c: %s", is_first ? "(" : ", ", letters[k],
				     sn_key_name((enum sn_key)k));
			is_first = false;
		}
	sn_text_addf(out, "%s: %s%s", is_first ? "" : ")", metric->unit_text,
		     metric->adds ? " adds" : "");
	for (size_t i = 0; i < metric->needs.count; i++)
		sn_text_addf(out, "%s%s", i ? ", " : " needs ", metric->needs.items[i]);
	sn_text_add(out, ";\n");
}

static void print_number(double value, const char *unit, struct sn_text *out)
{
	sn_text_add_double(out, value);
	if (unit)
		sn_text_addf(out, " %s", unit);
}

void sn_param_print(const struct sn_param *param, struct sn_text *out)
{
	sn_text_addf(out, "param %s = ", param->name);
	print_number(param->value, param->unit_text, out);
	if (param->has_range) {
		sn_text_add(out, " range ");
		print_number(param->low, NULL, out);
		sn_text_add(out, " .. ");
		print_number(param->high, NULL, out);
	}
	sn_text_add(out, ";\n");
}

void sn_prop_file_print(const struct sn_prop_file *file, struct sn_text *out)
{
	for (size_t i = 0; i < file->metrics.count; i++)
		sn_metric_print(file->metrics.items[i], out);
	for (size_t i = 0; i < file->params.count; i++)
		sn_param_print(file->params.items[i], out);
	for (size_t i = 0; i < file->properties.count; i++)
		sn_property_print(file->properties.items[i], out);
}
