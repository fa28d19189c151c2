/*
 * Expressions, by recursive descent with one function for all binary operators. Types are resolved
 * on the way.
 */
#include "pandore/compiler/headers.h"
#include "pandore/compiler/parser.h"

#include <string.h>

#include "base/spelling.h"

enum { ARGS_MAX = 64 };

static struct sn_pnd_expr *parse_cond(struct sn_pnd_parser *p);
static struct sn_pnd_expr *parse_unary(struct sn_pnd_parser *p);

struct sn_pnd_expr *sn_pnd_new_expr(struct sn_pnd_parser *p, enum sn_pnd_expr_kind kind,
				    enum sn_pnd_type type, struct sn_pnd_pos pos)
{
	struct sn_pnd_expr *e = sn_arena_new(p->arena, struct sn_pnd_expr);

	e->kind = kind;
	e->type = type;
	e->pos = pos;
	return e;
}

static bool check_value(struct sn_pnd_parser *p, const struct sn_pnd_expr *e)
{
	if (e->type != SN_T_VOID)
		return true;
	sn_pnd_report(p->diags, e->pos, 12, "'%s' returns no value", e->text ? e->text : "this");
	return false;
}

static struct sn_pnd_expr *parse_args(struct sn_pnd_parser *p, struct sn_pnd_expr *call)
{
	struct sn_pnd_expr *args[ARGS_MAX];
	int count = 0;

	p->at++; /* the parenthesis */
	while (!sn_pnd_at_punct(p, ')')) {
		const struct sn_pnd_token *name = sn_pnd_peek(p, 0), *then = sn_pnd_peek(p, 1);
		const struct sn_pnd_var *var =
			name->kind == SN_TOK_IDENT ? sn_pnd_find_var(p, name->text) : NULL;

		if (count == ARGS_MAX) {
			sn_pnd_report(p->diags, call->pos, 0, "more than %d arguments", ARGS_MAX);
			return NULL;
		}
		if (var && var->is_distributed && then->kind == SN_TOK_PUNCT &&
		    (then->punct == ',' || then->punct == ')')) {
			sn_pnd_report(
				p->diags, name->pos, 13,
				"'%s' is distributed and cannot be passed whole to a function; "
				"pass its elements",
				var->spelled);
			return NULL;
		}
		args[count] = sn_pnd_parse_expr(p);
		if (!args[count] || !check_value(p, args[count]))
			return NULL;
		call->has_distributed |= args[count++]->has_distributed;
		if (!sn_pnd_accept(p, ','))
			break;
	}
	if (!sn_pnd_expect(p, ')', "')' after the arguments"))
		return NULL;
	call->args = sn_arena_array(p->arena, struct sn_pnd_expr *, (size_t)count + 1);
	memcpy(call->args, args, sizeof(*args) * (size_t)count);
	call->arg_count = count;
	return call;
}

static bool check_arity(struct sn_pnd_parser *p, const struct sn_pnd_expr *call, int wanted)
{
	if (call->arg_count == wanted)
		return true;
	sn_pnd_report(p->diags, call->pos, 12, "'%s' takes %d argument%s, not %d", call->text,
		      wanted, wanted == 1 ? "" : "s", call->arg_count);
	return false;
}

static void use_math(struct sn_pnd_program *program, const char *name)
{
	for (size_t i = 0; i < program->math_used.count; i++)
		if (!strcmp(program->math_used.items[i], name))
			return;
	sn_vec_push(&program->math_used, name);
}

static bool resolve_call(struct sn_pnd_parser *p, struct sn_pnd_expr *call)
{
	const struct sn_pnd_math *math = sn_pnd_math_find(call->text);
	struct sn_pnd_function *function = sn_pnd_find_function(p->program, call->text);

	if (sn_pnd_find_phase(p->program, call->text)) {
		sn_pnd_report(
			p->diags, call->pos, 10,
			"phase '%s' is called from a %s; phases are called by the host, so this "
			"belongs into a function that no phase calls",
			call->text, p->phase ? "phase" : "function that gives a value");
		return false;
	}
	if (function) {
		if (function->impure) {
			sn_pnd_report(p->diags, call->pos, 9,
				      "function '%s' cannot be called from a phase: %s", call->text,
				      function->impure);
			return false;
		}
		call->function = function;
		call->type = function->type;
		return check_arity(p, call, function->param_count);
	}
	if (!math) {
		sn_pnd_report(
			p->diags, call->pos, 9,
			"'%s' is no function of this program nor one of math.h that is known to "
			"have no effect but its value; call it in the host, and pass what it gives",
			call->text);
		return false;
	}
	use_math(p->program, math->name);
	call->type = math->type;
	return check_arity(p, call, math->arity);
}

static struct sn_pnd_expr *parse_call(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);
	struct sn_pnd_expr *call = sn_pnd_new_expr(p, SN_E_CALL, SN_T_INT, name->pos);

	call->text = name->text;
	p->at++;
	if (sn_pnd_find_var(p, name->text)) {
		sn_pnd_report(p->diags, name->pos, 12, "'%s' is a variable and cannot be called",
			      name->text);
		return NULL;
	}
	if (!parse_args(p, call) || !resolve_call(p, call))
		return NULL;
	return call;
}

static bool parse_subscripts(struct sn_pnd_parser *p, struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *subs[SN_PND_RANK_MAX];
	int64_t value;

	while (sn_pnd_at_punct(p, '[')) {
		struct sn_pnd_expr *sub;

		p->at++;
		sub = sn_pnd_parse_expr(p);
		if (!sub || !sn_pnd_expect(p, ']', "']' after a subscript"))
			return false;
		if (!sn_pnd_type_is_integer(sub->type)) {
			sn_pnd_report(p->diags, sub->pos, 12, "a subscript must be an integer");
			return false;
		}
		if (e->arg_count == SN_PND_RANK_MAX) {
			sn_pnd_report(p->diags, sub->pos, 12, "more than %d subscripts",
				      SN_PND_RANK_MAX);
			return false;
		}
		e->has_distributed |= sub->has_distributed;
		subs[e->arg_count++] = sub;
	}
	e->args = sn_arena_array(p->arena, struct sn_pnd_expr *, SN_PND_RANK_MAX);
	memcpy(e->args, subs, sizeof(*subs) * (size_t)e->arg_count);
	if (e->var->is_unknown)
		return true;
	if (e->arg_count != e->var->rank) {
		sn_pnd_report(p->diags, e->pos, 12,
			      e->var->rank ? "'%s' has %d dimension%s; here it has %d subscript%s"
					   : "'%s' is a scalar and takes no subscript",
			      e->var->spelled, e->var->rank, e->var->rank == 1 ? "" : "s",
			      e->arg_count, e->arg_count == 1 ? "" : "s");
		return false;
	}
	for (int d = 0; d < e->arg_count; d++)
		if (sn_pnd_evaluate(e->args[d], &value) &&
		    (value < 0 || value >= e->var->extent[d]))
			sn_pnd_report(p->diags, e->args[d]->pos, 16,
				      "subscript %lld of '%s' is out of bounds: 0 to %lld",
				      (long long)value, e->var->spelled,
				      (long long)e->var->extent[d] - 1);
	return true;
}

static void report_undeclared(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	const struct sn_pnd_standard_macro *standard = sn_pnd_standard_macros;
	const char *near = NULL;

	while (standard->name && strcmp(standard->name, name->text) != 0)
		standard++;
	if (standard->name) {
		sn_pnd_report(p->diags, name->pos, 12, "'%s' is of <%s>, which is not included",
			      name->text, standard->header);
		return;
	}
	for (const struct sn_pnd_scope *s = p->scope; s; s = s->outer)
		for (const struct sn_pnd_var *v = s->vars; v; v = v->next)
			if (!near && !v->is_unknown && sn_spelling_is_near(name->text, v->spelled))
				near = v->spelled;
	if (near)
		sn_pnd_report(p->diags, name->pos, 12, "'%s' is not declared; did you mean '%s'?",
			      name->text, near);
	else
		sn_pnd_report(p->diags, name->pos, 12,
			      "'%s' is not declared; declare it at the start of the %s%s",
			      name->text, p->phase ? "phase" : "function",
			      p->phase ? ", or make it a parameter" : "");
}

static struct sn_pnd_var *declare_unknown(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	struct sn_pnd_var *var = sn_arena_new(p->arena, struct sn_pnd_var);
	struct sn_pnd_scope *outermost = p->scope;
	const char *why;

	/* a parameter that could not be read is in no list, and was reported */
	if (p->phase && p->phase->has_unread_parameters)
		goto declared;
	for (const struct sn_pnd_var *g = p->program->globals; g; g = g->next)
		if (!strcmp(g->name, name->text)) {
			sn_pnd_report(p->diags, name->pos, p->phase ? 12 : 9,
				      "'%s' is a global of the host; %s", name->text,
				      p->phase ? "pass it to the phase as a parameter"
					       : "a function that a phase calls cannot use it");
			goto declared;
		}
	why = sn_pnd_why_foreign(p, name->text);
	if (why && sn_pnd_peek(p, 1)->punct == '.')
		goto declared; /* a structure, which is told */
	if (why)
		sn_pnd_report(p->diags, name->pos, p->phase ? 12 : 9, "'%s' %s", name->text, why);
	else
		report_undeclared(p, name);
declared:
	*var = (struct sn_pnd_var){ .name = name->text,
				    .spelled = name->text,
				    .pos = name->pos,
				    .kind = SN_VAR_LOCAL,
				    .type = SN_T_INT,
				    .is_unknown = true };
	if (!outermost) /* in the initialiser of a global */
		return var;
	while (outermost->outer)
		outermost = outermost->outer;
	var->next = outermost->vars;
	outermost->vars = var;
	return var;
}

/* A constant of the host by its value. */
static struct sn_pnd_expr *parse_constant_of(struct sn_pnd_parser *p, const struct sn_pnd_var *var)
{
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_CAST, var->type, sn_pnd_peek(p, 0)->pos);

	p->at++;
	e->a = var->init;
	return var->init->kind == SN_E_INT && var->init->type == var->type ? var->init : e;
}

/* `nodes`, and P where no macro says what it is. */
static bool is_node_count(const struct sn_pnd_parser *p, const char *name)
{
	return !strcmp(name, "nodes") || (!p->program->nodes && !strcmp(name, "P"));
}

static struct sn_pnd_expr *parse_node_count(struct sn_pnd_parser *p)
{
	const struct sn_pnd_program *program = p->program;
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, program->nodes ? SN_E_INT : SN_E_VAR, SN_T_INT,
						sn_pnd_peek(p, 0)->pos);

	p->at++;
	e->value = program->nodes;
	e->var = program->node_count;
	e->text = program->nodes ? sn_arena_printf(p->arena, "%d", program->nodes)
				 : program->node_count->name;
	return e;
}

/* A variable or an element; `is_read` is false for the left side of "=". */
static struct sn_pnd_expr *parse_variable(struct sn_pnd_parser *p, bool is_read)
{
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);
	struct sn_pnd_var *var = sn_pnd_find_var(p, name->text);
	struct sn_pnd_expr *e;

	if (!var)
		var = sn_pnd_find_constant(p->program, name->text);
	if (var && var->is_const && !var->rank && is_read)
		return parse_constant_of(p, var);
	if (!var && is_read && is_node_count(p, name->text))
		return parse_node_count(p);
	if (!var)
		var = declare_unknown(p, name);
	p->at++;
	e = sn_pnd_new_expr(p, sn_pnd_at_punct(p, '[') ? SN_E_INDEX : SN_E_VAR, var->type,
			    name->pos);
	e->var = var;
	e->text = var->name;
	if (e->kind == SN_E_INDEX && !parse_subscripts(p, e))
		return NULL;
	if (e->kind == SN_E_VAR && var->rank) {
		sn_pnd_report(
			p->diags, e->pos, 12,
			"'%s' is an array and needs %d subscript%s here; loops work on whole arrays",
			var->spelled, var->rank, var->rank == 1 ? "" : "s");
		return NULL;
	}
	e->has_distributed |= var->is_distributed;
	if (is_read && var->kind == SN_VAR_PARAM && var->mode == SN_MODE_OUT && !var->is_written)
		sn_pnd_report(p->diags, e->pos, 14,
			      "an element of the OUT parameter '%s' is possibly read before it is "
			      "written; give it mode INOUT if the phase needs what the host had "
			      "in it",
			      var->spelled);
	return e;
}

/* The first type that holds the constant (C11 6.4.4.1): decimal ones are unsigned only where they
 * say so. False if there is none. */
static bool set_integer(struct sn_pnd_expr *e, const struct sn_pnd_token *token)
{
	const char *l = strpbrk(token->text, "lL");
	bool says_unsigned = strpbrk(token->text, "uU"), is_long = l && l[1] != *l, fits;
	uint64_t bits;

	e->type = SN_T_INT;
	if (!sn_pnd_integer_bits(token, &bits))
		return false;
	e->value = (int64_t)bits;
	if (token->kind == SN_TOK_CHAR)
		return true;
	e->type = !l ? SN_T_INT : is_long ? SN_T_LONG : SN_T_LLONG;
	for (; e->type < SN_T_FLOAT; e->type++) {
		bool is_unsigned = sn_pnd_type_is_unsigned(e->type);

		fits = sn_pnd_convert_bits(e->type, bits) == bits && (is_unsigned || e->value >= 0);
		if (fits && (is_unsigned ? says_unsigned || token->text[0] == '0' : !says_unsigned))
			return true;
	}
	return false;
}

static struct sn_pnd_expr *parse_constant(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *token = sn_pnd_peek(p, 0);
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_REAL, SN_T_DOUBLE, token->pos);
	char last = token->length ? token->text[token->length - 1] : 0;

	e->text = token->text;
	p->at++;
	if (token->kind == SN_TOK_REAL) {
		if (last == 'l' || last == 'L') {
			sn_pnd_report(p->diags, e->pos, 0, "long double is not in Pandore C");
			return NULL;
		}
		e->type = last == 'f' || last == 'F' ? SN_T_FLOAT : SN_T_DOUBLE;
		return e;
	}
	e->kind = SN_E_INT;
	if (!set_integer(e, token)) {
		sn_pnd_report(p->diags, e->pos, 0, "'%.40s' is not a constant that fits a long",
			      token->text);
		return NULL;
	}
	return e;
}

/* sizeof (TYPE): a constant. */
static struct sn_pnd_expr *parse_sizeof(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_INT, SN_T_ULONG, sn_pnd_peek(p, 0)->pos);
	enum sn_pnd_type type;

	p->at++;
	if (!sn_pnd_at_punct(p, '(') || (p->at++, !sn_pnd_at_type(p))) {
		sn_pnd_report(p->diags, e->pos, 8,
			      "a phase knows the sizes of types alone: sizeof (double); write the "
			      "type that it has, or the extent");
		return NULL;
	}
	if (!sn_pnd_parse_type(p, "a type", &type) || !sn_pnd_expect(p, ')', "')' after the type"))
		return NULL;
	e->value = (int64_t)sn_pnd_type_bytes(type);
	e->text = sn_arena_printf(p->arena, "%lldUL", (long long)e->value);
	return e;
}

static struct sn_pnd_expr *parse_primary(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *token = sn_pnd_peek(p, 0), *then = sn_pnd_peek(p, 1);
	struct sn_pnd_expr *e;

	if (token->kind == SN_TOK_INT || token->kind == SN_TOK_REAL || token->kind == SN_TOK_CHAR)
		return parse_constant(p);
	if (token->kind == SN_TOK_IDENT) {
		if (!strcmp(token->text, "sizeof"))
			return parse_sizeof(p);
		if (sn_pnd_refuse_word(p))
			return NULL;
		if (sn_pnd_is_keyword(token->text)) {
			sn_pnd_expected(p, "an expression");
			return NULL;
		}
		return then->kind == SN_TOK_PUNCT && then->punct == '(' ? parse_call(p)
									: parse_variable(p, true);
	}
	if (sn_pnd_accept(p, '(')) {
		e = sn_pnd_parse_expr(p);
		return e && sn_pnd_expect(p, ')', "')'") ? e : NULL;
	}
	sn_pnd_expected(p, "an expression");
	return NULL;
}

static struct sn_pnd_expr *parse_postfix(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e = parse_primary(p);

	if (e && (sn_pnd_at_punct(p, '.') || sn_pnd_at_punct(p, SN_PUNCT2('-', '>')))) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
			      "structures are not in Pandore C; use arrays");
		return NULL;
	}
	if (e &&
	    (sn_pnd_at_punct(p, SN_PUNCT2('+', '+')) || sn_pnd_at_punct(p, SN_PUNCT2('-', '-')))) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 0,
			      "++ and -- are statements here, not part of an expression");
		return NULL;
	}
	return e;
}

static struct sn_pnd_expr *parse_cast(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_CAST, SN_T_INT, sn_pnd_peek(p, 0)->pos);

	p->at++;
	if (!sn_pnd_parse_type(p, "a type", &e->type))
		return NULL;
	if (sn_pnd_at_punct(p, '*')) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
			      "pointers are not in Pandore C; use arrays and subscripts");
		return NULL;
	}
	if (!sn_pnd_expect(p, ')', "')' after the type"))
		return NULL;
	e->a = parse_unary(p);
	if (!e->a || !check_value(p, e->a))
		return NULL;
	if (e->type == SN_T_VOID) {
		sn_pnd_report(p->diags, e->pos, 12, "a value cannot become void here");
		return NULL;
	}
	e->has_distributed = e->a->has_distributed;
	return e;
}

static struct sn_pnd_expr *parse_sign(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *op = sn_pnd_peek(p, 0);
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_UNARY, SN_T_INT, op->pos);

	e->punct = op->punct;
	p->at++;
	e->a = parse_unary(p);
	if (!e->a || !check_value(p, e->a))
		return NULL;
	if (op->punct == '~' && !sn_pnd_type_is_integer(e->a->type)) {
		sn_pnd_report(p->diags, op->pos, 12, "~ needs an integer");
		return NULL;
	}
	e->type = op->punct == '!' ? SN_T_INT : sn_pnd_type_common(e->a->type, SN_T_INT);
	e->has_distributed = e->a->has_distributed;
	return e;
}

static struct sn_pnd_expr *parse_unary(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *op = sn_pnd_peek(p, 0);
	struct sn_pnd_expr *e;
	bool is_cast, is_refused;

	if (++p->depth > SN_PND_DEPTH_MAX) {
		sn_pnd_report(p->diags, op->pos, 0, "this expression nests too deep");
		p->depth--;
		return NULL;
	}
	p->at++;
	is_cast = op->kind == SN_TOK_PUNCT && op->punct == '(' && sn_pnd_at_type(p);
	is_refused = op->kind == SN_TOK_PUNCT && op->punct == '(' &&
		     sn_pnd_peek(p, 1)->punct == ')' && sn_pnd_refuse_typedef(p);
	p->at--;
	if (is_refused) {
		e = NULL;
	} else if (is_cast) {
		e = parse_cast(p);
	} else if (op->kind == SN_TOK_PUNCT && (op->punct == '*' || op->punct == '&')) {
		sn_pnd_report(p->diags, op->pos, 8,
			      op->punct == '*' ? "pointers are not in Pandore C; use subscripts"
					       : "the address of a variable cannot be taken in "
						 "Pandore C");
		e = NULL;
	} else if (op->kind == SN_TOK_PUNCT &&
		   (op->punct == '-' || op->punct == '+' || op->punct == '!' || op->punct == '~')) {
		e = parse_sign(p);
	} else {
		e = parse_postfix(p);
	}
	p->depth--;
	return e;
}

static struct sn_pnd_expr *make_binary(struct sn_pnd_parser *p, const struct sn_pnd_token *op,
				       struct sn_pnd_expr *a, struct sn_pnd_expr *b)
{
	struct sn_pnd_expr *e = sn_pnd_new_expr(p, SN_E_BINARY, SN_T_INT, op->pos);
	int level = sn_pnd_binary_level(op->punct);

	if (!check_value(p, a) || !check_value(p, b))
		return NULL;
	if (sn_pnd_needs_integers(op->punct) &&
	    (!sn_pnd_type_is_integer(a->type) || !sn_pnd_type_is_integer(b->type))) {
		sn_pnd_report(p->diags, op->pos, 12, "'%s' needs integers on both sides", op->text);
		return NULL;
	}
	e->punct = op->punct;
	e->a = a;
	e->b = b;
	if (level == 9) /* shifts: the left side's type */
		e->type = sn_pnd_type_common(a->type, SN_T_INT);
	else if (level >= 10 || (level >= 4 && level <= 6))
		e->type = sn_pnd_type_common(a->type, b->type);
	e->has_distributed = a->has_distributed || b->has_distributed;
	return e;
}

static struct sn_pnd_expr *parse_binary(struct sn_pnd_parser *p, int lowest)
{
	struct sn_pnd_expr *left = parse_unary(p);

	while (left) {
		const struct sn_pnd_token *op = sn_pnd_peek(p, 0);
		int level = op->kind == SN_TOK_PUNCT ? sn_pnd_binary_level(op->punct) : 0;
		struct sn_pnd_expr *right;

		if (level <= lowest)
			return left;
		p->at++;
		right = parse_binary(p, level);
		left = right ? make_binary(p, op, left, right) : NULL;
	}
	return NULL;
}

static struct sn_pnd_expr *parse_cond(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e = parse_binary(p, 1), *cond = e;
	struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;

	if (!cond || !sn_pnd_accept(p, '?'))
		return cond;
	e = sn_pnd_new_expr(p, SN_E_COND, SN_T_INT, pos);
	e->a = cond;
	e->b = sn_pnd_parse_expr(p);
	if (!e->b || !sn_pnd_expect(p, ':', "':' of the conditional expression"))
		return NULL;
	e->c = parse_cond(p);
	if (!e->c || !check_value(p, e->a) || !check_value(p, e->b) || !check_value(p, e->c))
		return NULL;
	e->type = sn_pnd_type_common(e->b->type, e->c->type);
	e->has_distributed =
		e->a->has_distributed || e->b->has_distributed || e->c->has_distributed;
	return e;
}

struct sn_pnd_expr *sn_pnd_parse_expr(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e;

	if (++p->depth > SN_PND_DEPTH_MAX) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 0,
			      "this expression nests too deep");
		e = NULL;
	} else {
		e = parse_cond(p);
	}
	p->depth--;
	return e;
}

struct sn_pnd_expr *sn_pnd_parse_lvalue(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);

	if (name->kind == SN_TOK_PUNCT && (name->punct == '*' || name->punct == '&')) {
		sn_pnd_report(p->diags, name->pos, 8,
			      "pointers are not in Pandore C; use arrays and subscripts");
		return NULL;
	}
	if (name->kind == SN_TOK_IDENT && sn_pnd_refuse_word(p))
		return NULL;
	if (name->kind != SN_TOK_IDENT || sn_pnd_is_keyword(name->text)) {
		sn_pnd_expected(p, "a statement");
		return NULL;
	}
	return parse_variable(p, false);
}
