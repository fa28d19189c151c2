/* Expressions, by recursive descent; one function a level of precedence. */
#include <string.h>

#include "base/spelling.h"
#include "search/properties/parse_parts.h"

static struct sn_expr *expr_new(struct sn_prop_parser *p, enum sn_expr_kind kind,
				struct sn_prop_pos pos)
{
	struct sn_expr *e = sn_arena_new(&p->file->arena, struct sn_expr);

	e->kind = kind;
	e->pos = pos;
	e->set_slot = SN_ALL;
	return e;
}

static void args_add(struct sn_prop_parser *p, struct sn_expr *e, struct sn_expr *arg)
{
	if ((e->arg_count & (e->arg_count - 1)) == 0) { /* full at every power of two */
		struct sn_expr **grown = sn_arena_array(&p->file->arena, struct sn_expr *,
							e->arg_count ? 2 * e->arg_count : 1);

		if (e->arg_count)
			memcpy(grown, e->args, e->arg_count * sizeof(struct sn_expr *));
		e->args = grown;
	}
	e->args[e->arg_count++] = arg;
	if (arg->height >= e->height)
		e->height = (uint16_t)(arg->height + 1);
	if (e->height > SN_PROP_HEIGHT_MAX)
		sn_prop_parse_error(p, e->pos, "an expression of more than %d operators in a row",
				    SN_PROP_HEIGHT_MAX);
}

static struct sn_expr *binary(struct sn_prop_parser *p, enum sn_prop_op op, struct sn_prop_pos pos,
			      struct sn_expr *left, struct sn_expr *right)
{
	struct sn_expr *e = expr_new(p, SN_EXPR_BINARY, pos);

	e->op = op;
	args_add(p, e, left);
	args_add(p, e, right);
	return e;
}

static struct sn_expr *unary(struct sn_prop_parser *p, enum sn_prop_op op, struct sn_prop_pos pos,
			     struct sn_expr *of)
{
	struct sn_expr *e = expr_new(p, SN_EXPR_UNARY, pos);

	e->op = op;
	args_add(p, e, of);
	return e;
}

/* ---- what begins with a word ---- */

static enum sn_prop_op op_among(const char *word, enum sn_prop_op first, enum sn_prop_op last)
{
	for (enum sn_prop_op op = first; op <= last; op++)
		if (!strcmp(word, sn_prop_op_name(op)))
			return op;
	return SN_OP_NONE;
}

static void set_parse(struct sn_prop_parser *p, struct sn_expr *e)
{
	struct sn_prop_pos pos = p->at->pos;
	const char *near = NULL;
	bool is_set = false;

	for (int s = 0; s < SN_SETS && !is_set; s++)
		if (sn_prop_take_word(p, sn_prop_set_name((enum sn_prop_set)s))) {
			e->set = (enum sn_prop_set)s;
			is_set = true;
		}
	e->set_pos = pos;
	if (!is_set) {
		for (int s = 0; s < SN_SETS && p->at->kind == SN_PTOK_WORD; s++)
			if (sn_spelling_is_near(p->at->text, sn_prop_set_name((enum sn_prop_set)s)))
				near = sn_prop_set_name((enum sn_prop_set)s);
		sn_prop_parse_error(
			p, pos,
			near ? "there is no set '%s'; did you mean '%s'?"
			     : "a set must stand here: threads, processes, subregions(r), "
			       "data(r), peers(p), locks or phases%.0s%.0s",
			near ? p->at->text : "", near ? near : "");
		return;
	}
	if (sn_prop_take_mark(p, "(")) {
		e->set_of = sn_prop_expect_name(p, "what the set belongs to", &e->set_pos);
		sn_prop_expect_mark(p, ")", "after it");
	}
}

static struct sn_expr *aggregate_parse(struct sn_prop_parser *p, enum sn_prop_op op,
				       struct sn_prop_pos pos)
{
	struct sn_expr *e = expr_new(p, SN_EXPR_AGGREGATE, pos);

	e->op = op;
	args_add(p, e, sn_prop_parse_expr(p));
	if (!sn_prop_at_word(p, "over") && !p->is_in_error) {
		bool is_pair = sn_prop_at_mark(p, ",") && (op == SN_OP_MAX || op == SN_OP_MIN);

		sn_prop_parse_error(p, p->at->pos,
				    is_pair ? "'%s' goes over a set (\"over t in threads\"); of "
					      "two numbers it is '%s'"
					    : "'%s' goes over a set: \"over t in threads\" is "
					      "missing%.0s",
				    sn_prop_op_name(op), op == SN_OP_MAX ? "greatest" : "least");
	}
	sn_prop_take_word(p, "over");
	e->name = sn_prop_expect_name(p, "a name for the member", &e->detail_pos);
	sn_prop_expect_word(p, "in", "after the member's name");
	if (!p->is_in_error)
		set_parse(p, e);
	if (sn_prop_take_word(p, "with"))
		args_add(p, e, sn_prop_parse_expr(p));
	sn_prop_expect_mark(p, ")", "at the end of the aggregate");
	return e;
}

static struct sn_expr *list_parse(struct sn_prop_parser *p, struct sn_expr *e)
{
	do {
		if (e->kind == SN_EXPR_METRIC && sn_prop_at_mark(p, "*")) {
			args_add(p, e, expr_new(p, SN_EXPR_ANY, p->at->pos));
			sn_prop_take_mark(p, "*");
		} else {
			args_add(p, e, sn_prop_parse_expr(p));
		}
	} while (!p->is_in_error && sn_prop_take_mark(p, ","));
	sn_prop_expect_mark(p, ")", "at the end of the list");
	return e;
}

/* exists(x), confidence(m), time(r), penalty(L2): one name in parentheses. */
static struct sn_expr *of_name(struct sn_prop_parser *p, enum sn_expr_kind kind,
			       struct sn_prop_pos pos)
{
	struct sn_expr *e = expr_new(p, kind, pos);

	if (kind == SN_EXPR_TIME && sn_prop_take_word(p, "phase")) {
		e->name = NULL;
	} else {
		e->name = sn_prop_expect_name(p, "a name", &e->detail_pos);
	}
	sn_prop_expect_mark(
		p, ")",
		kind == SN_EXPR_EXISTS
			? "after the name: exists() takes the name of a 'let' or of a metric, and no "
			  "call"
			: "after the name");
	return e;
}

static struct sn_expr *call_parse(struct sn_prop_parser *p, const struct sn_prop_token *word)
{
	static const struct {
		const char *name;
		enum sn_expr_kind kind;
	} fixed[] = { { "exists", SN_EXPR_EXISTS },
		      { "confidence", SN_EXPR_CONFIDENCE },
		      { "time", SN_EXPR_TIME },
		      { "penalty", SN_EXPR_PENALTY } };
	enum sn_prop_op op = op_among(word->text, SN_OP_SUM, SN_OP_STDDEV);
	struct sn_expr *e;

	if (op)
		return aggregate_parse(p, op, word->pos);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (!strcmp(word->text, fixed[i].name))
			return of_name(p, fixed[i].kind, word->pos);
	op = op_among(word->text, SN_OP_SQRT, SN_OP_GREATEST);
	e = expr_new(p, op ? SN_EXPR_FUNCTION : SN_EXPR_METRIC, word->pos);
	e->op = op;
	e->name = word->text;
	return list_parse(p, e);
}

static struct sn_expr *if_parse(struct sn_prop_parser *p, struct sn_prop_pos pos)
{
	struct sn_expr *e = expr_new(p, SN_EXPR_IF, pos);

	args_add(p, e, sn_prop_parse_expr(p));
	sn_prop_expect_word(p, "then", "after the condition of 'if'");
	args_add(p, e, sn_prop_parse_expr(p));
	sn_prop_expect_word(p, "else", "after 'then'");
	args_add(p, e, sn_prop_parse_expr(p));
	return e;
}

static struct sn_expr *word_parse(struct sn_prop_parser *p)
{
	const struct sn_prop_token *word = p->at;
	struct sn_expr *e;

	if (sn_prop_take_word(p, "if"))
		return if_parse(p, word->pos);
	e = expr_new(p, SN_EXPR_NAME, word->pos);
	e->name = sn_prop_expect_name(p, "a value", &e->pos);
	if (p->is_in_error)
		return e;
	if (sn_prop_take_mark(p, "("))
		return call_parse(p, word);
	if (!strcmp(word->text, "lanes"))
		e->kind = SN_EXPR_LANES;
	if (sn_prop_take_mark(p, ".")) {
		e->kind = SN_EXPR_ATTRIBUTE;
		e->detail_pos = p->at->pos;
		e->detail = sn_prop_expect_name(p, "an attribute", &e->detail_pos);
	}
	return e;
}

/* ---- precedence ---- */

static struct sn_expr *primary_parse(struct sn_prop_parser *p)
{
	const struct sn_prop_token *token = p->at;
	struct sn_expr *e = expr_new(p, SN_EXPR_NUMBER, token->pos);

	if (token->kind == SN_PTOK_NUMBER) {
		e->number = token->number;
		e->unit = token->unit;
		p->at++;
		return e;
	}
	if (token->kind == SN_PTOK_WORD)
		return word_parse(p);
	if (sn_prop_take_mark(p, "(")) {
		e = sn_prop_parse_expr(p);
		sn_prop_expect_mark(p, ")", "to close the '('");
		return e;
	}
	if (token->kind == SN_PTOK_STRING)
		sn_prop_parse_error(p, token->pos,
				    "a text is no value; a number, a name or '(' "
				    "must stand here");
	else
		sn_prop_parse_error(p, token->pos, "a value is missing here%s%s%s",
				    token->kind == SN_PTOK_MARK ? " before '" : "", token->text,
				    token->kind == SN_PTOK_MARK ? "'" : "");
	return e;
}

/* Every level that can nest without a parenthesis counts its depth. */
static bool enter(struct sn_prop_parser *p)
{
	if (++p->depth <= SN_PROP_DEPTH_MAX)
		return true;
	sn_prop_parse_error(p, p->at->pos, "this is nested deeper than %d levels",
			    SN_PROP_DEPTH_MAX);
	return false;
}

static struct sn_expr *negation_parse(struct sn_prop_parser *p)
{
	struct sn_prop_pos pos = p->at->pos;
	struct sn_expr *e;

	if (!sn_prop_take_mark(p, "-"))
		return primary_parse(p);
	if (enter(p))
		e = unary(p, SN_OP_NEGATE, pos, negation_parse(p));
	else
		e = expr_new(p, SN_EXPR_NUMBER, pos);
	p->depth--;
	return e;
}

/* Left to right over operators of one level. */
static struct sn_expr *level_parse(struct sn_prop_parser *p, enum sn_prop_op first,
				   enum sn_prop_op last,
				   struct sn_expr *(*operand)(struct sn_prop_parser *))
{
	struct sn_expr *left = operand(p);

	while (!p->is_in_error && p->at->kind == SN_PTOK_MARK) {
		enum sn_prop_op op = op_among(p->at->text, first, last);
		struct sn_prop_pos pos = p->at->pos;

		if (!op)
			return left;
		p->at++;
		left = binary(p, op, pos, left, operand(p));
	}
	return left;
}

static struct sn_expr *product_parse(struct sn_prop_parser *p)
{
	return level_parse(p, SN_OP_MULTIPLY, SN_OP_DIVIDE, negation_parse);
}

static struct sn_expr *sum_parse(struct sn_prop_parser *p)
{
	return level_parse(p, SN_OP_ADD, SN_OP_SUBTRACT, product_parse);
}

static struct sn_expr *comparison_parse(struct sn_prop_parser *p)
{
	struct sn_expr *left = sum_parse(p);
	enum sn_prop_op op;
	struct sn_prop_pos pos = p->at->pos;

	if (p->is_in_error || p->at->kind != SN_PTOK_MARK)
		return left;
	op = op_among(p->at->text, SN_OP_LESS, SN_OP_NOT_EQUAL);
	if (!op)
		return left;
	p->at++;
	left = binary(p, op, pos, left, sum_parse(p));
	if (!p->is_in_error && p->at->kind == SN_PTOK_MARK &&
	    op_among(p->at->text, SN_OP_LESS, SN_OP_NOT_EQUAL))
		sn_prop_parse_error(p, p->at->pos,
				    "comparisons cannot be chained; join two with 'and'");
	return left;
}

static struct sn_expr *not_parse(struct sn_prop_parser *p)
{
	struct sn_prop_pos pos = p->at->pos;

	if (sn_prop_take_word(p, "not"))
		return unary(p, SN_OP_NOT, pos, comparison_parse(p));
	return comparison_parse(p);
}

static struct sn_expr *and_parse(struct sn_prop_parser *p)
{
	struct sn_expr *left = not_parse(p);

	while (!p->is_in_error && sn_prop_at_word(p, "and")) {
		struct sn_prop_pos pos = p->at->pos;

		p->at++;
		left = binary(p, SN_OP_AND, pos, left, not_parse(p));
	}
	return left;
}

/* "or ID :" begins the next alternative of a condition, which is not ours. */
static bool at_alternative(const struct sn_prop_parser *p)
{
	return p->at[1].kind == SN_PTOK_WORD && p->at[2].kind == SN_PTOK_MARK &&
	       !strcmp(p->at[2].text, ":");
}

static struct sn_expr *or_parse(struct sn_prop_parser *p)
{
	struct sn_expr *left = and_parse(p);

	while (!p->is_in_error && sn_prop_at_word(p, "or") && !at_alternative(p)) {
		struct sn_prop_pos pos = p->at->pos;

		p->at++;
		left = binary(p, SN_OP_OR, pos, left, and_parse(p));
	}
	return left;
}

struct sn_expr *sn_prop_parse_expr(struct sn_prop_parser *p)
{
	struct sn_expr *e;

	if (p->is_in_error)
		return expr_new(p, SN_EXPR_NUMBER, p->at->pos);
	if (enter(p))
		e = or_parse(p);
	else
		e = expr_new(p, SN_EXPR_NUMBER, p->at->pos);
	p->depth--;
	return e;
}
