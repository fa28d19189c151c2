/*
 * Statements. After a finding the rest of the statement is skipped, so that the next one is parsed
 * afresh.
 */
#include "pandore/compiler/parser.h"

#include <string.h>

static struct sn_pnd_stmt *parse_stmt(struct sn_pnd_parser *p);

static struct sn_pnd_stmt *new_stmt(struct sn_pnd_parser *p, enum sn_pnd_stmt_kind kind)
{
	struct sn_pnd_stmt *s = sn_arena_new(p->arena, struct sn_pnd_stmt);

	s->kind = kind;
	s->pos = sn_pnd_peek(p, 0)->pos;
	s->zone = p->zone;
	return s;
}

/* To behind the next ';' of this level, or to a '}' that closes it. */
static void skip_statement(struct sn_pnd_parser *p)
{
	int depth = 0;

	for (;; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END)
			return;
		if (t->kind != SN_TOK_PUNCT)
			continue;
		if (t->punct == '{')
			depth++;
		if (t->punct == '}' && depth-- <= 1) {
			if (depth == 0)
				p->at++;
			return;
		}
		if (t->punct == ';' && depth == 0) {
			p->at++;
			return;
		}
	}
}

/* After "for (" or "while (": to behind the matching parenthesis. */
static void skip_header(struct sn_pnd_parser *p)
{
	int depth = 1;

	for (; depth > 0; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END || t->punct == '{' || t->punct == '}')
			return;
		depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
	}
}

static bool check_target(struct sn_pnd_parser *p, const struct sn_pnd_expr *lhs)
{
	struct sn_pnd_var *var = lhs->var;

	if (var->kind == SN_VAR_PARAM && var->mode == SN_MODE_IN) {
		sn_pnd_report(p->diags, lhs->pos, 6,
			      "'%s' is an IN parameter and cannot be assigned%s", var->name,
			      var->rank ? "; give it mode INOUT" : "; copy it to a local");
		return false;
	}
	if (var->counts_loops)
		sn_pnd_report(p->diags, lhs->pos, 11,
			      "the loop counter '%s' is written inside its loop; the loop is "
			      "translated by the naive scheme",
			      var->name);
	return true;
}

static bool is_assign_punct(uint32_t punct)
{
	return punct == '=' || punct == SN_PUNCT2('+', '=') || punct == SN_PUNCT2('-', '=') ||
	       punct == SN_PUNCT2('*', '=') || punct == SN_PUNCT2('/', '=') ||
	       punct == SN_PUNCT2('+', '+') || punct == SN_PUNCT2('-', '-');
}

/* A compound assignment reads its target, which an OUT parameter may not have yet. */
static void check_compound(struct sn_pnd_parser *p, const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_var *var = s->lhs->var;

	if (s->punct != '=' && var->kind == SN_VAR_PARAM && var->mode == SN_MODE_OUT &&
	    !var->is_written)
		sn_pnd_report(p->diags, s->pos, 14,
			      "an element of the OUT parameter '%s' is possibly read before it is "
			      "written; give it mode INOUT if the phase needs what the host had "
			      "in it",
			      var->name);
}

static void refuse_call(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	if (sn_pnd_find_phase(p->program, name->text))
		sn_pnd_report(p->diags, name->pos, 10,
			      "phase '%s' is called from a %s; only main() may call phases",
			      name->text, p->phase ? "phase" : "function");
	else
		sn_pnd_report(p->diags, name->pos, 8,
			      "a call is no statement in Pandore C: all that a function may do is "
			      "give a value; assign it");
}

static struct sn_pnd_stmt *parse_assign(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_ASSIGN);
	const struct sn_pnd_token *op;

	if (sn_pnd_peek(p, 0)->kind == SN_TOK_IDENT && sn_pnd_peek(p, 1)->punct == '(') {
		refuse_call(p, sn_pnd_peek(p, 0));
		return NULL;
	}
	s->lhs = sn_pnd_parse_lvalue(p);
	if (!s->lhs)
		return NULL;
	op = sn_pnd_peek(p, 0);
	if (op->kind != SN_TOK_PUNCT || !is_assign_punct(op->punct)) {
		sn_pnd_expected(p, "an assignment operator");
		return NULL;
	}
	s->punct = op->punct;
	p->at++;
	if (s->punct != SN_PUNCT2('+', '+') && s->punct != SN_PUNCT2('-', '-')) {
		s->rhs = sn_pnd_parse_expr(p);
		if (!s->rhs)
			return NULL;
		if (s->rhs->type == SN_T_VOID) {
			sn_pnd_report(p->diags, s->rhs->pos, 12, "'%s' returns no value",
				      s->rhs->text);
			return NULL;
		}
	}
	check_compound(p, s);
	if (!check_target(p, s->lhs))
		return NULL;
	s->lhs->var->is_written = true;
	s->id = p->program->assign_count++;
	return s;
}

/* "(condition)" behind the word that `p` is at. A condition with a fault is left NULL, and what
 * follows it is read. */
static bool parse_condition(struct sn_pnd_parser *p, struct sn_pnd_stmt *s, const char *opening)
{
	p->at++;
	if (!sn_pnd_expect(p, '(', opening))
		return false;
	s->cond = sn_pnd_parse_expr(p);
	if (s->cond)
		return sn_pnd_expect(p, ')', "')' after the condition");
	skip_header(p);
	return true;
}

static struct sn_pnd_stmt *parse_if(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_IF);

	if (!parse_condition(p, s, "'(' after if"))
		return NULL;
	s->body = parse_stmt(p);
	if (s->body && sn_pnd_at_word(p, "else")) {
		p->at++;
		s->otherwise = parse_stmt(p);
		if (!s->otherwise)
			return NULL;
	}
	return s->cond && s->body ? s : NULL;
}

static bool parse_for_header(struct sn_pnd_parser *p, struct sn_pnd_stmt *s)
{
	if (!sn_pnd_at_punct(p, ';') && !(s->init = parse_assign(p)))
		return false;
	if (!sn_pnd_expect(p, ';', "';' after the loop's first assignment"))
		return false;
	if (!sn_pnd_at_punct(p, ';') && !(s->cond = sn_pnd_parse_expr(p)))
		return false;
	if (!sn_pnd_expect(p, ';', "';' after the loop's condition"))
		return false;
	if (!sn_pnd_at_punct(p, ')') && !(s->step = parse_assign(p)))
		return false;
	return sn_pnd_expect(p, ')', "')' after the loop's step");
}

static struct sn_pnd_stmt *parse_for(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_FOR);
	struct sn_pnd_var *counter;
	bool ok;

	p->at++;
	if (!sn_pnd_expect(p, '(', "'(' after for"))
		return NULL;
	ok = parse_for_header(p, s);
	if (!ok)
		skip_header(p);
	counter = s->init && !s->init->lhs->var->rank ? s->init->lhs->var : NULL;
	if (counter)
		counter->counts_loops++;
	s->body = parse_stmt(p);
	if (counter)
		counter->counts_loops--;
	return ok && s->body ? s : NULL;
}

static struct sn_pnd_stmt *parse_while(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_WHILE);

	if (!parse_condition(p, s, "'(' after while"))
		return NULL;
	s->body = parse_stmt(p);
	return s->cond && s->body ? s : NULL;
}

static struct sn_pnd_stmt *parse_do(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_DO);

	p->at++;
	s->body = parse_stmt(p);
	if (!s->body)
		return NULL;
	if (!sn_pnd_at_word(p, "while")) {
		sn_pnd_expected(p, "'while' of the do loop");
		return NULL;
	}
	p->at++;
	if (!sn_pnd_expect(p, '(', "'(' after while") || !(s->cond = sn_pnd_parse_expr(p)) ||
	    !sn_pnd_expect(p, ')', "')' after the condition") ||
	    !sn_pnd_expect(p, ';', "';' after the do loop"))
		return NULL;
	return s;
}

static struct sn_pnd_stmt *parse_zone(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_ZONE);
	struct sn_pnd_zone zone = { sn_pnd_peek(p, 0)->text, p->phase ? p->phase->index : -1 };
	int outer = p->zone;

	s->name = zone.name;
	if (!p->phase) {
		sn_pnd_report(p->diags, s->pos, 0, "an instrumentation zone stands in a phase");
		return NULL;
	}
	p->at++;
	p->zone = (int)p->program->zones.count;
	s->zone = p->zone;
	sn_vec_push(&p->program->zones, zone);
	s->body = parse_stmt(p);
	p->zone = outer;
	return s->body ? s : NULL;
}

static struct sn_pnd_stmt *parse_observe(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_OBSERVE);

	s->name = sn_pnd_peek(p, 0)->text;
	s->id = p->program->assign_count++;
	p->at++;
	p->program->has_observe |= p->phase != NULL;
	return s;
}

static struct sn_pnd_stmt *parse_return(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_RETURN);

	if (p->phase) {
		sn_pnd_report(p->diags, s->pos, 8,
			      "a phase has no return; its results are its OUT parameters");
		return NULL;
	}
	p->at++;
	if (!sn_pnd_at_punct(p, ';') && !(s->rhs = sn_pnd_parse_expr(p)))
		return NULL;
	if ((s->rhs != NULL) != (p->function->type != SN_T_VOID) ||
	    (s->rhs && s->rhs->type == SN_T_VOID)) {
		sn_pnd_report(p->diags, s->pos, 12, "function '%s' returns %s", p->function->name,
			      s->rhs ? "no value" : "a value");
		return NULL;
	}
	return sn_pnd_expect(p, ';', "';' after return") ? s : NULL;
}

static struct sn_pnd_stmt *parse_word(struct sn_pnd_parser *p, bool *matched)
{
	static const struct {
		const char *word;
		struct sn_pnd_stmt *(*parse)(struct sn_pnd_parser *p);
	} words[] = { { "if", parse_if },
		      { "for", parse_for },
		      { "while", parse_while },
		      { "do", parse_do },
		      { "return", parse_return } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sn_pnd_at_word(p, words[i].word)) {
			*matched = true;
			return words[i].parse(p);
		}
	*matched = false;
	return NULL;
}

static struct sn_pnd_stmt *parse_stmt_inner(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *token = sn_pnd_peek(p, 0);
	struct sn_pnd_stmt *s;
	bool matched;

	if (token->kind == SN_TOK_ZONE)
		return parse_zone(p);
	if (token->kind == SN_TOK_OBSERVE)
		return parse_observe(p);
	if (sn_pnd_at_punct(p, '{'))
		return sn_pnd_parse_block(p);
	if (sn_pnd_at_punct(p, ';')) {
		s = new_stmt(p, SN_S_EMPTY);
		p->at++;
		return s;
	}
	s = parse_word(p, &matched);
	if (matched)
		return s;
	if (sn_pnd_at_type(p)) {
		sn_pnd_report(p->diags, token->pos, 0,
			      "declarations stand at the beginning of a block");
		return NULL;
	}
	s = parse_assign(p);
	return s && sn_pnd_expect(p, ';', "';' after the assignment") ? s : NULL;
}

/* NULL after a finding; the statement is skipped then. */
static struct sn_pnd_stmt *parse_stmt(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = NULL;
	size_t start = p->at, errors = p->diags->errors;

	if (++p->depth > SN_PND_DEPTH_MAX)
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 0, "statements nest too deep");
	else
		s = parse_stmt_inner(p);
	p->depth--;
	if (!s) {
		const struct sn_pnd_token *last = sn_pnd_peek(p, 0);
		bool at_end =
			p->at > start && p->program->tokens.items.items[p->at - 1].punct == '}';

		if (errors == p->diags->errors)
			sn_pnd_report(p->diags, last->pos, 0, "this is no statement");
		if (!at_end &&
		    !(p->at > start && p->program->tokens.items.items[p->at - 1].punct == ';'))
			skip_statement(p);
	}
	return s;
}

static void parse_locals(struct sn_pnd_parser *p, struct sn_pnd_stmt ***last)
{
	enum sn_pnd_type type;

	while (sn_pnd_at_type(p))
		if (!sn_pnd_parse_type(p, "a type", &type) ||
		    !sn_pnd_parse_declarators(p, type, SN_VAR_LOCAL, &p->scope->vars, last))
			skip_statement(p);
}

struct sn_pnd_stmt *sn_pnd_parse_block(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *block = new_stmt(p, SN_S_BLOCK), **last = &block->first;
	struct sn_pnd_scope scope = { p->scope, NULL };

	if (!sn_pnd_expect(p, '{', "'{'"))
		return NULL;
	p->scope = &scope;
	parse_locals(p, &last);
	while (!sn_pnd_at_punct(p, '}') && sn_pnd_peek(p, 0)->kind != SN_TOK_END) {
		size_t before = p->at;
		struct sn_pnd_stmt *s = parse_stmt(p);

		if (s) {
			*last = s;
			last = &s->next;
		} else if (p->at == before) {
			p->at++;
		}
	}
	block->locals = scope.vars;
	p->scope = scope.outer;
	if (!sn_pnd_expect(p, '}', "'}' at the end of the block"))
		return NULL;
	return block;
}
