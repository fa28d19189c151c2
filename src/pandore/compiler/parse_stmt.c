/*
 * Statements. After a finding the rest of the statement is skipped, so that the next one is parsed
 * afresh.
 */
#include "pandore/compiler/parser.h"

#include <string.h>

static struct sn_pnd_stmt *parse_stmt(struct sn_pnd_parser *p);
static struct sn_pnd_stmt *parse_block(struct sn_pnd_parser *p);

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

	if (var->is_const || var->is_read_only) {
		sn_pnd_report(p->diags, lhs->pos, 6,
			      "'%s' is a constant and cannot be assigned; declare %s", var->spelled,
			      var->is_const ? "a local" : "it without const");
		return false;
	}
	if (var->kind == SN_VAR_PARAM && var->mode == SN_MODE_IN) {
		sn_pnd_report(p->diags, lhs->pos, 6,
			      "'%s' is an IN parameter and cannot be assigned%s", var->spelled,
			      var->rank ? "; give it mode INOUT" : "; copy it to a local");
		return false;
	}
	if (var->counts_loops)
		sn_pnd_report(p->diags, lhs->pos, 11,
			      "the loop counter '%s' is written inside its loop; the loop is "
			      "translated by the naive scheme",
			      var->spelled);
	return true;
}

static bool is_counting(uint32_t punct)
{
	return punct == SN_PUNCT2('+', '+') || punct == SN_PUNCT2('-', '-');
}

static bool is_assign_punct(uint32_t punct)
{
	return punct == '=' || is_counting(punct) || sn_pnd_compound_operator(punct);
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
			      var->spelled);
}

static bool check_integers(struct sn_pnd_parser *p, const struct sn_pnd_stmt *s,
			   const struct sn_pnd_token *op)
{
	if (!s->rhs || !sn_pnd_needs_integers(sn_pnd_compound_operator(s->punct)) ||
	    (sn_pnd_type_is_integer(s->lhs->type) && sn_pnd_type_is_integer(s->rhs->type)))
		return true;
	sn_pnd_report(p->diags, op->pos, 12, "'%s' needs integers on both sides", op->text);
	return false;
}

static void refuse_call(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	if (sn_pnd_find_phase(p->program, name->text))
		sn_pnd_report(
			p->diags, name->pos, 10,
			"phase '%s' is called from a %s; phases are called by the host's functions",
			name->text, p->phase ? "phase" : "function of phases");
	else
		sn_pnd_report(p->diags, name->pos, 8,
			      "a call is no statement in Pandore C: all that a function may do is "
			      "give a value; assign it");
}

static struct sn_pnd_stmt *parse_assign(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_ASSIGN);
	const struct sn_pnd_token *op = sn_pnd_peek(p, 0);
	bool is_prefix = op->kind == SN_TOK_PUNCT && is_counting(op->punct);

	p->at += is_prefix;
	if (sn_pnd_peek(p, 0)->kind == SN_TOK_IDENT && sn_pnd_peek(p, 1)->punct == '(') {
		refuse_call(p, sn_pnd_peek(p, 0));
		return NULL;
	}
	s->lhs = sn_pnd_parse_lvalue(p);
	if (!s->lhs)
		return NULL;
	op = is_prefix ? op : sn_pnd_peek(p, 0);
	if (op->kind != SN_TOK_PUNCT || !is_assign_punct(op->punct)) {
		sn_pnd_expected(p, "an assignment operator");
		return NULL;
	}
	s->punct = op->punct;
	p->at += !is_prefix;
	if (!is_counting(s->punct)) {
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
	if (!check_integers(p, s, op) || !check_target(p, s->lhs))
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

/* A counter of a loop that is over has its name and type: they may be one. */
static struct sn_pnd_var *counter_like(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_var **last = &p->counters;

	for (; *last; last = &(*last)->next)
		if (!strcmp((*last)->name, var->name) && (*last)->type == var->type &&
		    !(*last)->is_active && !sn_pnd_find_var(p, var->spelled))
			return *last;
	sn_pnd_name_apart(p, var);
	return *last = var;
}

/* "for (int i = 0;": as if the counter were declared at the beginning of the body. */
static bool parse_counter(struct sn_pnd_parser *p, struct sn_pnd_stmt *s)
{
	struct sn_pnd_stmt *init = NULL, **inits = &init;
	enum sn_pnd_type type;
	struct sn_pnd_var *var;
	bool ok;

	if (!sn_pnd_parse_type(p, "a type", &type) ||
	    !(var = sn_pnd_parse_declarator(p, type, SN_VAR_LOCAL)))
		return false;
	if (var->rank || !sn_pnd_at_punct(p, '=')) {
		sn_pnd_report(
			p->diags, var->pos, 0,
			"a loop declares a counter with its first value: for (int %s = 0; ...",
			var->spelled);
		return false;
	}
	var = counter_like(p, var);
	p->at++;
	ok = sn_pnd_parse_local_init(p, var, &inits);
	p->scope->counter = var;
	var->is_active = true;
	s->init = init;
	if (ok && sn_pnd_at_punct(p, ',')) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 0,
			      "a loop declares one counter here; declare the others before it");
		return false;
	}
	return ok;
}

static bool parse_for_header(struct sn_pnd_parser *p, struct sn_pnd_stmt *s)
{
	if (sn_pnd_at_type(p) ? !parse_counter(p, s)
			      : !sn_pnd_at_punct(p, ';') && !(s->init = parse_assign(p)))
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

static struct sn_pnd_stmt *parse_loop_body(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *body;

	p->loops++;
	body = parse_stmt(p);
	p->loops--;
	return body;
}

static struct sn_pnd_stmt *parse_for(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_FOR);
	struct sn_pnd_scope scope = { .outer = p->scope };
	struct sn_pnd_var *counter;
	bool ok;

	p->at++;
	if (!sn_pnd_expect(p, '(', "'(' after for"))
		return NULL;
	p->scope = &scope;
	ok = parse_for_header(p, s);
	if (!ok)
		skip_header(p);
	counter = s->init && !s->init->lhs->var->rank ? s->init->lhs->var : NULL;
	if (counter)
		counter->counts_loops++;
	s->body = parse_loop_body(p);
	if (counter)
		counter->counts_loops--;
	if (scope.counter)
		scope.counter->is_active = false;
	p->scope = scope.outer;
	return ok && s->body ? s : NULL;
}

static struct sn_pnd_stmt *parse_while(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_WHILE);

	if (!parse_condition(p, s, "'(' after while"))
		return NULL;
	s->body = parse_loop_body(p);
	return s->cond && s->body ? s : NULL;
}

static struct sn_pnd_stmt *parse_do(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *s = new_stmt(p, SN_S_DO);

	p->at++;
	s->body = parse_loop_body(p);
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

	p->at++;
	if (p->phase && !sn_pnd_at_punct(p, ';')) {
		sn_pnd_report(p->diags, s->pos, 8,
			      "a phase returns no value; its results are its OUT parameters");
		return NULL;
	}
	if (p->phase)
		return sn_pnd_expect(p, ';', "';' after return") ? s : NULL;
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

static struct sn_pnd_stmt *parse_jump(struct sn_pnd_parser *p)
{
	bool is_break = sn_pnd_at_word(p, "break");
	struct sn_pnd_stmt *s = new_stmt(p, is_break ? SN_S_BREAK : SN_S_CONTINUE);

	p->at++;
	if (!p->loops) {
		sn_pnd_report(p->diags, s->pos, 0, "%s stands in no loop",
			      is_break ? "break" : "continue");
		return NULL;
	}
	return sn_pnd_expect(p, ';', is_break ? "';' after break" : "';' after continue") ? s
											  : NULL;
}

static struct sn_pnd_stmt *parse_word(struct sn_pnd_parser *p, bool *matched)
{
	static const struct {
		const char *word;
		struct sn_pnd_stmt *(*parse)(struct sn_pnd_parser *p);
	} words[] = { { "if", parse_if },	  { "for", parse_for },
		      { "while", parse_while },	  { "do", parse_do },
		      { "return", parse_return }, { "break", parse_jump },
		      { "continue", parse_jump } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sn_pnd_at_word(p, words[i].word)) {
			*matched = true;
			return words[i].parse(p);
		}
	*matched = false;
	return NULL;
}

/* "NAME:" */
static bool refuse_label(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	if (t->kind != SN_TOK_IDENT || sn_pnd_peek(p, 1)->punct != ':' ||
	    sn_pnd_is_keyword(t->text))
		return false;
	if (!p->has_goto)
		sn_pnd_report(
			p->diags, t->pos, 8,
			"labels are for goto, which is not in Pandore C; use loops and conditions");
	return true;
}

/* A structure or union is skipped with its members and what it declares. */
static void skip_members(struct sn_pnd_parser *p)
{
	int depth = 0;

	for (; sn_pnd_peek(p, 0)->kind != SN_TOK_END; p->at++) {
		depth += sn_pnd_at_punct(p, '{') - sn_pnd_at_punct(p, '}');
		if (depth <= 0 && sn_pnd_accept(p, ';'))
			return;
	}
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
		return parse_block(p);
	if (sn_pnd_at_punct(p, ';')) {
		s = new_stmt(p, SN_S_EMPTY);
		p->at++;
		return s;
	}
	s = parse_word(p, &matched);
	if (matched)
		return s;
	p->has_goto |= sn_pnd_at_word(p, "goto");
	if (refuse_label(p))
		return NULL;
	if (sn_pnd_refuse_word(p)) {
		if (sn_pnd_at_word(p, "struct") || sn_pnd_at_word(p, "union"))
			skip_members(p);
		return NULL;
	}
	if (sn_pnd_at_type(p)) {
		sn_pnd_report(p->diags, token->pos, 0,
			      "a declaration stands in a block; put it and what uses it in braces");
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
	if (!s && !p->is_unclosed) {
		const struct sn_pnd_token *last = sn_pnd_peek(p, 0);
		bool at_end =
			p->at > start && p->program->tokens.items.items[p->at - 1].punct == '}';

		if (errors == p->diags->errors && !p->has_goto)
			sn_pnd_report(p->diags, last->pos, 0, "this is no statement");
		if (!at_end &&
		    !(p->at > start && p->program->tokens.items.items[p->at - 1].punct == ';'))
			skip_statement(p);
	}
	return s;
}

/* "const double x = 2;" is a local like another; C checks no more than we do for a phase. */
static bool at_declaration(struct sn_pnd_parser *p)
{
	struct sn_pnd_parser then = *p;

	then.at += sn_pnd_at_word(p, "const");
	return sn_pnd_at_type(&then);
}

static void parse_locals(struct sn_pnd_parser *p, struct sn_pnd_stmt ***last)
{
	enum sn_pnd_type type;

	while (at_declaration(p)) {
		p->is_constant = sn_pnd_at_word(p, "const");
		p->at += p->is_constant;
		if (!sn_pnd_parse_type(p, "a type", &type) ||
		    !sn_pnd_parse_declarators(p, type, SN_VAR_LOCAL, &p->scope->vars, last))
			skip_statement(p);
	}
}

/* "dist NAME (", "TYPE NAME (" and "main (" stand outside of all braces. */
static bool at_outside(const struct sn_pnd_parser *p)
{
	enum sn_pnd_type type;
	size_t words = sn_pnd_type_length(p, &type);
	bool is_dist = sn_pnd_at_word(p, "dist"), is_main = sn_pnd_at_word(p, "main");

	words = words ? words : is_dist;
	return (words || is_main) && sn_pnd_peek(p, words)->kind == SN_TOK_IDENT &&
	       sn_pnd_peek(p, words + 1)->punct == '(';
}

/* Ends all blocks: what is next belongs to none of them. */
static void report_unclosed(struct sn_pnd_parser *p, struct sn_pnd_pos brace)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	if (p->is_unclosed)
		return;
	p->is_unclosed = true;
	if (t->kind == SN_TOK_END)
		sn_pnd_report(p->diags, brace, 0,
			      "this '{' has no '}': the file ends before it is closed");
	else
		sn_pnd_report(p->diags, brace, 0,
			      "this '{' has no '}': on line %d something new begins", t->pos.line);
}

static struct sn_pnd_stmt *parse_block(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *block = new_stmt(p, SN_S_BLOCK), **last = &block->first;
	struct sn_pnd_scope scope = { .outer = p->scope };

	if (!sn_pnd_expect(p, '{', "'{'"))
		return NULL;
	p->scope = &scope;
	while (!sn_pnd_at_punct(p, '}') && sn_pnd_peek(p, 0)->kind != SN_TOK_END) {
		size_t before = p->at;
		struct sn_pnd_stmt *s;

		if (p->is_unclosed || at_outside(p))
			break;
		if (sn_pnd_at_word(p, "static") || sn_pnd_at_word(p, "register") ||
		    sn_pnd_at_word(p, "volatile")) { /* the declaration behind it is read */
			sn_pnd_refuse_word(p);
			p->at++;
			continue;
		}
		if (at_declaration(p)) {
			parse_locals(p, &last);
			continue;
		}
		s = parse_stmt(p);
		if (s) {
			*last = s;
			last = &s->next;
		} else if (p->at == before) {
			p->at++;
		}
	}
	block->locals = scope.vars;
	p->scope = scope.outer;
	if (sn_pnd_accept(p, '}'))
		return block;
	report_unclosed(p, block->pos);
	return NULL;
}

struct sn_pnd_stmt *sn_pnd_parse_body(struct sn_pnd_parser *p)
{
	struct sn_pnd_stmt *body;
	struct sn_pnd_var **last;

	p->counters = NULL;
	p->loops = 0;
	p->is_unclosed = p->has_goto = false;
	body = parse_block(p);
	if (body) {
		for (last = &body->locals; *last; last = &(*last)->next)
			;
		*last = p->counters;
	}
	p->counters = NULL;
	return body;
}
