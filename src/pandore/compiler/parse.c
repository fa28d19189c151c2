/* Declarations: variables, constants, functions, phases and the host's main. */
#include "pandore/compiler/parser.h"

#include <string.h>

enum { FUNCTION_LOCAL_BYTES_MAX = 1 << 20 };

/* What x86-64 gives a process. */
#define ARRAY_BYTES_MAX (INT64_C(1) << 46)

/* ---- declarations ---- */

/* What is above INT64_MAX is too large for all that a constant is good for, as is INT64_MAX. */
static bool take_constant(const struct sn_pnd_expr *e, int64_t *out)
{
	uint64_t bits;

	if (!e || !sn_pnd_evaluate_bits(e, &bits))
		return false;
	if (!sn_pnd_bits_to_number(e->type, bits, out))
		*out = INT64_MAX;
	return true;
}

static bool divides_by_zero(const struct sn_pnd_expr *e)
{
	int64_t divisor;

	return e && ((e->kind == SN_E_BINARY && (e->punct == '/' || e->punct == '%') &&
		      sn_pnd_evaluate(e->b, &divisor) && !divisor) ||
		     divides_by_zero(e->a) || divides_by_zero(e->b) || divides_by_zero(e->c));
}

static bool has_only_integers(const struct sn_pnd_expr *e)
{
	return !e || ((e->kind == SN_E_INT || e->kind == SN_E_BINARY || e->kind == SN_E_UNARY) &&
		      has_only_integers(e->a) && has_only_integers(e->b));
}

/* Why an expression is no integer constant, and what to write. */
static const char *why_no_constant(const struct sn_pnd_parser *p, const struct sn_pnd_expr *e)
{
	if (divides_by_zero(e))
		return ": it divides by zero";
	if (e && !sn_pnd_type_is_integer(e->type))
		return ": it is a real number; write whole numbers, such as N / 2 for N * 0.5";
	if (e && has_only_integers(e))
		return ": it is too large for its type; write one of its numbers as a long, such "
		       "as 1000000L";
	return p->phase ? "; sizes are made of constants, earlier integer parameters and nodes"
			: "; write a number, or names that #define gives one";
}

bool sn_pnd_parse_constant(struct sn_pnd_parser *p, int64_t *out, int code, const char *what)
{
	struct sn_pnd_scope *scope = p->scope, none = { 0 };
	struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	const struct sn_pnd_expr *e;

	p->scope = &none;
	e = sn_pnd_parse_expr(p);
	p->scope = scope;
	if (take_constant(e, out))
		return true;
	p->diags->errors = errors; /* one finding for one cause */
	p->diags->items.count = kept;
	if (p->program->has_bad_nodes) {
		*out = 1;
		return true;
	}
	sn_pnd_report(p->diags, pos, code, "%s is not an integer constant%s", what,
		      why_no_constant(p, e));
	return false;
}

/* Scalar parameters and the number of nodes keep their values while the phase runs. */
static bool is_size(const struct sn_pnd_expr *e)
{
	if (!e)
		return true;
	if (!sn_pnd_type_is_integer(e->type) || e->kind == SN_E_CALL || e->kind == SN_E_INDEX ||
	    (e->kind == SN_E_VAR && (e->var->kind != SN_VAR_PARAM || e->var->rank)))
		return false;
	return is_size(e->a) && is_size(e->b) && is_size(e->c);
}

static bool names_variable(const struct sn_pnd_expr *e)
{
	return e && (e->kind == SN_E_VAR || names_variable(e->a) || names_variable(e->b) ||
		     names_variable(e->c));
}

bool sn_pnd_parse_size(struct sn_pnd_parser *p, int64_t *out, const struct sn_pnd_expr **late,
		       int code, const char *what)
{
	struct sn_pnd_scope *scope = p->scope, params = { 0 };
	size_t start = p->at, errors = p->diags->errors, kept = p->diags->items.count, end;
	struct sn_pnd_expr *e;

	*late = NULL;
	if (!p->phase)
		return sn_pnd_parse_constant(p, out, code, what);
	params.vars = p->phase->params;
	p->scope = &params;
	e = sn_pnd_parse_expr(p);
	end = p->at;
	p->scope = scope;
	if (p->diags->errors == errors && names_variable(e) && is_size(e)) {
		*late = e;
		*out = SN_PND_LATE;
		p->phase->has_late_sizes = true;
		p->at = end;
		return true;
	}
	p->diags->errors = errors;
	p->diags->items.count = kept;
	p->at = start;
	return sn_pnd_parse_constant(p, out, code, what);
}

static bool parse_extents(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	int64_t bytes = sn_pnd_type_bytes(var->type);
	bool ok = true;

	while (ok && sn_pnd_accept(p, '[')) {
		struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
		const struct sn_pnd_expr *late;
		int64_t n = 0;

		if (var->rank == SN_PND_RANK_MAX) {
			sn_pnd_report(p->diags, pos, 12, "'%s' has more than %d dimensions",
				      var->name, SN_PND_RANK_MAX);
			return false;
		}
		if (sn_pnd_at_punct(p, ']'))
			sn_pnd_note_foreign(p);
		ok = sn_pnd_parse_size(p, &n, &late, 12, "the extent of an array");
		if (!ok)
			break;
		if (n < 1 || (!late && __builtin_mul_overflow(bytes, n, &bytes)) ||
		    bytes > ARRAY_BYTES_MAX) {
			sn_pnd_report(p->diags, pos, 12,
				      n < 1 ? "'%s' has an extent below 1"
					    : "'%s' is larger than the address space of a process",
				      var->name);
			return false;
		}
		var->late_extent[var->rank] = late;
		var->extent[var->rank++] = n;
		ok = sn_pnd_expect(p, ']', "']' after an extent");
	}
	if (ok && p->function && bytes > FUNCTION_LOCAL_BYTES_MAX) {
		sn_pnd_report(p->diags, var->pos, 12,
			      "'%s' is larger than a megabyte, too large for a function's local",
			      var->name);
		return false;
	}
	return ok;
}

struct sn_pnd_var *sn_pnd_parse_declarator(struct sn_pnd_parser *p, enum sn_pnd_type type,
					   enum sn_pnd_var_kind kind)
{
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);
	struct sn_pnd_var *var;

	if (sn_pnd_at_punct(p, '*')) {
		sn_pnd_note_foreign(p);
		sn_pnd_report(p->diags, name->pos, 8,
			      "pointers are not in Pandore C; declare an array");
		return NULL;
	}
	if (sn_pnd_refuse_word(p))
		return NULL;
	if (name->kind != SN_TOK_IDENT || sn_pnd_is_keyword(name->text)) {
		if (sn_pnd_at_punct(p, '('))
			sn_pnd_note_foreign(p);
		sn_pnd_expected(p, "a name");
		return NULL;
	}
	if (name->text[0] == '_' || !strncmp(name->text, "pd_", 3) ||
	    !strncmp(name->text, "PD_", 3)) {
		sn_pnd_report(p->diags, name->pos, 12,
			      "names that begin with _, pd_ or PD_ belong to the compiler");
		return NULL;
	}
	if (type == SN_T_VOID) {
		sn_pnd_report(p->diags, name->pos, 12, "'%s' cannot be void", name->text);
		return NULL;
	}
	var = sn_arena_new(p->arena, struct sn_pnd_var);
	var->name = var->spelled = name->text;
	var->pos = name->pos;
	var->type = type;
	var->kind = kind;
	p->at++;
	return parse_extents(p, var) ? var : NULL;
}

static bool has_integer_fault(const struct sn_pnd_expr *e)
{
	uint64_t bits;
	bool is_integer = e && sn_pnd_type_is_integer(e->type);

	if (!e)
		return false;
	if (is_integer && e->kind == SN_E_BINARY && (e->punct == '/' || e->punct == '%') &&
	    !sn_pnd_evaluate_bits(e, &bits))
		return true;
	if (is_integer && e->kind != SN_E_COND && e->kind != SN_E_CAST && e->kind != SN_E_BINARY &&
	    e->kind != SN_E_UNARY && !sn_pnd_evaluate_bits(e, &bits))
		return true;
	return has_integer_fault(e->a) || has_integer_fault(e->b) || has_integer_fault(e->c);
}

/* Only literals and operators: what C accepts as a static initialiser. */
static bool is_literal(const struct sn_pnd_expr *e)
{
	if (!e)
		return true;
	return e->kind != SN_E_VAR && e->kind != SN_E_INDEX && e->kind != SN_E_CALL &&
	       is_literal(e->a) && is_literal(e->b) && is_literal(e->c);
}

static struct sn_pnd_expr *parse_literal(struct sn_pnd_parser *p)
{
	struct sn_pnd_expr *e = sn_pnd_parse_expr(p);

	if (!e || !is_literal(e))
		sn_pnd_note_foreign(p);
	if (e && (!is_literal(e) || has_integer_fault(e))) {
		sn_pnd_report(p->diags, e->pos, 12, "a global is initialised with constants only");
		return NULL;
	}
	return e;
}

static bool parse_global_init(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_expr **last = &var->init_list;
	int64_t count = 0, limit = 1;

	if (!var->rank) {
		var->init = parse_literal(p);
		return var->init != NULL;
	}
	for (int d = 0; d < var->rank; d++)
		limit *= var->extent[d];
	if (var->rank != 1) {
		sn_pnd_note_foreign(p);
		sn_pnd_report(p->diags, var->pos, 12,
			      "only scalars and one-dimensional arrays may be initialised");
		return false;
	}
	if (!sn_pnd_at_punct(p, '{'))
		sn_pnd_note_foreign(p); /* characters in quotes */
	if (!sn_pnd_expect(p, '{', "'{' of the initialiser"))
		return false;
	do {
		struct sn_pnd_expr *e = parse_literal(p);

		if (!e)
			return false;
		*last = e;
		last = &e->next;
		if (++count > limit) {
			sn_pnd_report(p->diags, e->pos, 12, "'%s' has %lld elements only",
				      var->name, (long long)limit);
			return false;
		}
	} while (sn_pnd_accept(p, ',') && !sn_pnd_at_punct(p, '}'));
	return sn_pnd_expect(p, '}', "'}' of the initialiser");
}

bool sn_pnd_parse_local_init(struct sn_pnd_parser *p, struct sn_pnd_var *var,
			     struct sn_pnd_stmt ***inits)
{
	struct sn_pnd_stmt *s = sn_arena_new(p->arena, struct sn_pnd_stmt);

	if (var->rank) {
		sn_pnd_report(p->diags, var->pos, 12, "a local array is filled by assignments");
		return false;
	}
	s->kind = SN_S_ASSIGN;
	s->pos = var->pos;
	s->punct = '=';
	s->zone = p->zone;
	s->id = p->program->assign_count++;
	s->lhs = sn_pnd_new_expr(p, SN_E_VAR, var->type, var->pos);
	s->lhs->var = var;
	s->lhs->text = var->name;
	s->rhs = sn_pnd_parse_expr(p);
	if (!s->rhs)
		return false;
	if (s->rhs->type == SN_T_VOID) {
		sn_pnd_report(p->diags, s->rhs->pos, 12, "'%s' returns no value", s->rhs->text);
		return false;
	}
	**inits = s;
	*inits = &s->next;
	return true;
}

/* The outermost block of a body shares its names with the parameters. */
static void check_param_clash(struct sn_pnd_parser *p, const struct sn_pnd_var *var)
{
	const struct sn_pnd_scope *params = p->scope ? p->scope->outer : NULL;

	if (!params || params->outer)
		return;
	for (const struct sn_pnd_var *v = params->vars; v; v = v->next)
		if (!strcmp(v->spelled, var->spelled) && !v->is_unknown)
			sn_pnd_report(p->diags, var->pos, 12, "'%s' is a parameter already",
				      var->spelled);
}

bool sn_pnd_parse_declarators(struct sn_pnd_parser *p, enum sn_pnd_type type,
			      enum sn_pnd_var_kind kind, struct sn_pnd_var **list,
			      struct sn_pnd_stmt ***inits)
{
	bool is_first = true;

	do {
		struct sn_pnd_var *var;

		/* "float A[N], float V[N];" */
		if (!is_first && sn_pnd_at_type(p) && !sn_pnd_parse_type(p, "a type", &type))
			return false;
		is_first = false;
		var = sn_pnd_parse_declarator(p, type, kind);
		if (!var)
			return false;
		check_param_clash(p, var);
		if (kind == SN_VAR_LOCAL)
			sn_pnd_name_apart(p, var);
		sn_pnd_add_var(p, list, var);
		if (kind == SN_VAR_GLOBAL && sn_pnd_why_foreign(p, var->name))
			sn_pnd_note_foreign(p); /* declared extern before */
		if (kind == SN_VAR_GLOBAL) {
			struct sn_pnd_host_item item = { .kind = SN_HOST_GLOBAL,
							 .first_token = p->at,
							 .global = var };

			sn_vec_push(&p->program->host, item);
		}
		if (sn_pnd_accept(p, '=') &&
		    !(kind == SN_VAR_GLOBAL ? parse_global_init(p, var)
					    : sn_pnd_parse_local_init(p, var, inits)))
			return false;
		var->is_const =
			kind == SN_VAR_GLOBAL && p->is_constant && (var->init || var->init_list);
		var->is_read_only = kind == SN_VAR_LOCAL && p->is_constant;
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ';', "';' after the declaration");
}

/* Reports P12 if a phase, function or global has this name. */
static bool name_is_taken(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	bool taken = sn_pnd_find_phase(p->program, name->text) ||
		     sn_pnd_find_function(p->program, name->text);

	for (const struct sn_pnd_var *g = p->program->globals; g; g = g->next)
		taken |= !strcmp(g->name, name->text);
	if (taken)
		sn_pnd_report(p->diags, name->pos, 12, "'%.60s' is declared twice", name->text);
	return taken;
}

bool sn_pnd_check_name(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
{
	if (name->kind != SN_TOK_IDENT || sn_pnd_is_keyword(name->text)) {
		sn_pnd_expected(p, "a name");
		return false;
	}
	if (name->text[0] == '_' || !strncmp(name->text, "pd_", 3) ||
	    !strncmp(name->text, "PD_", 3)) {
		sn_pnd_report(p->diags, name->pos, 12,
			      "names that begin with _, pd_ or PD_ belong to the compiler");
		return false;
	}
	if (sn_pnd_math_find(name->text)) {
		sn_pnd_report(p->diags, name->pos, 12, "'%s' is a function of the C library",
			      name->text);
		return false;
	}
	return !name_is_taken(p, name);
}

size_t sn_pnd_matching_brace(const struct sn_pnd_parser *p, size_t at)
{
	size_t count = p->program->tokens.items.count;
	int depth = 0;

	for (; at + 1 < count; at++) {
		const struct sn_pnd_token *t = &p->program->tokens.items.items[at];

		if (t->kind != SN_TOK_PUNCT)
			continue;
		depth += t->punct == '{' ? 1 : t->punct == '}' ? -1 : 0;
		if (depth == 0)
			return at;
	}
	return count - 1;
}

static void parse_main(struct sn_pnd_parser *p, size_t first)
{
	struct sn_pnd_program *program = p->program;
	struct sn_pnd_host_item item = { .kind = SN_HOST_MAIN, .first_token = first };
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0), *open;

	if (program->has_main)
		sn_pnd_report(p->diags, name->pos, 12, "main() is declared twice");
	p->at += 2; /* main ( */
	program->main_takes_arguments =
		!sn_pnd_at_punct(p, ')') &&
		!(sn_pnd_at_word(p, "void") && sn_pnd_peek(p, 1)->punct == ')');
	while (!sn_pnd_at_punct(p, '{') && sn_pnd_peek(p, 0)->kind != SN_TOK_END)
		p->at++;
	open = sn_pnd_peek(p, 0);
	program->main_brace = p->at;
	item.last_token = sn_pnd_matching_brace(p, p->at);
	program->has_main = true;
	if (open->kind != SN_TOK_END &&
	    program->tokens.items.items[item.last_token].kind == SN_TOK_END)
		sn_pnd_report(p->diags, open->pos, 0,
			      "this '{' has no '}': the file ends before it is closed");
	else if (open->kind == SN_TOK_END || open->from_macro || name->from_macro ||
		 program->tokens.items.items[item.last_token].from_macro ||
		 open->pos.file != name->pos.file)
		sn_pnd_report(p->diags, name->pos, 0, "main() has no body between braces");
	sn_vec_push(&program->host, item);
	p->at = item.last_token + 1;
}

static void skip_declaration(struct sn_pnd_parser *p, size_t start)
{
	p->at = p->at > start ? p->at : start + 1;
	for (;; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END)
			return;
		if (t->punct == '{') {
			p->at = sn_pnd_matching_brace(p, p->at);
			if (sn_pnd_peek(p, 1)->punct != ';') {
				p->at++;
				return;
			}
		}
		if (t->punct == ';') {
			p->at++;
			return;
		}
	}
}

static bool is_word_then_paren(const struct sn_pnd_parser *p, const char *word)
{
	return sn_pnd_at_word(p, word) && sn_pnd_peek(p, 1)->punct == '(';
}

/* In "TYPE WORDS ... NAME (" the number of tokens before NAME; 0 if this is no function. */
static size_t words_before_function(const struct sn_pnd_parser *p)
{
	size_t n = 0;

	while (sn_pnd_peek(p, n)->kind == SN_TOK_IDENT || sn_pnd_peek(p, n)->punct == '*')
		n++;
	if (n < 2 || sn_pnd_peek(p, n)->punct != '(' ||
	    sn_pnd_is_keyword(sn_pnd_peek(p, n - 1)->text))
		return sn_pnd_peek(p, n)->punct == '(' && n >= 2 &&
				       !strcmp(sn_pnd_peek(p, n - 1)->text, "main")
			       ? n - 1
			       : 0;
	return n - 1;
}

static void parse_globals(struct sn_pnd_parser *p, enum sn_pnd_type type, size_t first)
{
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);

	if (name->kind == SN_TOK_IDENT && (sn_pnd_find_phase(p->program, name->text) ||
					   sn_pnd_find_function(p->program, name->text)))
		name_is_taken(p, name);
	if (!sn_pnd_parse_declarators(p, type, SN_VAR_GLOBAL, &p->program->globals, NULL))
		skip_declaration(p, first);
}

static bool parse_typed(struct sn_pnd_parser *p, size_t first, bool is_const)
{
	enum sn_pnd_type type;
	size_t length = sn_pnd_type_length(p, &type), before = words_before_function(p);
	bool is_ours = length > 0 && type != SN_T_NONE;

	if (before) {
		p->at += before;
		if (sn_pnd_at_word(p, "main"))
			parse_main(p, first);
		else
			sn_pnd_parse_function(p, is_ours ? type : SN_T_VOID, first, is_const,
					      !is_ours || length != before);
		p->is_for_host = false; /* its parameters are its own business */
		return true;
	}
	if (is_ours) {
		p->at += length;
		parse_globals(p, type, first);
	} else if (length) {
		sn_pnd_refuse_type(p, length);
		skip_declaration(p, first);
	}
	return length > 0;
}

static void add_enumerator(struct sn_pnd_parser *p, const struct sn_pnd_token *name, int64_t value)
{
	struct sn_pnd_var *var = sn_arena_new(p->arena, struct sn_pnd_var), **last;

	var->name = var->spelled = name->text;
	var->pos = name->pos;
	var->kind = SN_VAR_GLOBAL;
	var->type = SN_T_INT;
	var->is_const = true;
	var->init = sn_pnd_new_expr(p, SN_E_INT, SN_T_INT, name->pos);
	var->init->value = value;
	var->init->text = value < 0 ? sn_arena_printf(p->arena, "(%lld)", (long long)value)
				    : sn_arena_printf(p->arena, "%lld", (long long)value);
	for (last = &p->program->globals; *last; last = &(*last)->next)
		;
	*last = var;
}

/* "enum [NAME] { A, B = 4 };" gives constants; the host has its text. */
static bool parse_enum(struct sn_pnd_parser *p, size_t first)
{
	struct sn_pnd_host_item item = { .kind = SN_HOST_FUNCTION, .first_token = first };
	int64_t value = -1;

	p->at += sn_pnd_at_word(p, "typedef");
	p->at += 1 + (sn_pnd_peek(p, 1)->kind == SN_TOK_IDENT);
	p->at++; /* { */
	while (!sn_pnd_at_punct(p, '}')) {
		const struct sn_pnd_token *name = sn_pnd_peek(p, 0);

		if (!sn_pnd_check_name(p, name))
			return false;
		p->at++;
		value++;
		if (sn_pnd_accept(p, '=') &&
		    !sn_pnd_parse_constant(p, &value, 12, "the value of an enumerator"))
			return false;
		if (value > INT32_MAX || value < INT32_MIN) {
			sn_pnd_report(p->diags, name->pos, 12, "'%s' is no int; use a const long",
				      name->text);
			return false;
		}
		add_enumerator(p, name, value);
		if (!sn_pnd_accept(p, ','))
			break;
	}
	if (!sn_pnd_expect(p, '}', "'}' of the enumeration"))
		return false;
	if (!sn_pnd_at_punct(p, ';')) {
		sn_pnd_pass_to_host(p, first);
		return true;
	}
	item.last_token = p->at++;
	sn_vec_push(&p->program->host, item);
	return true;
}

static bool is_enum(const struct sn_pnd_parser *p)
{
	size_t at = sn_pnd_at_word(p, "typedef");
	const struct sn_pnd_token *word = sn_pnd_peek(p, at);

	return word->kind == SN_TOK_IDENT && !strcmp(word->text, "enum") &&
	       (sn_pnd_peek(p, at + 1)->punct == '{' ||
		(sn_pnd_peek(p, at + 1)->kind == SN_TOK_IDENT &&
		 sn_pnd_peek(p, at + 2)->punct == '{'));
}

/* What is no Pandore C, but C, is the host's. */
static void parse_declaration(struct sn_pnd_parser *p, size_t first, bool is_const)
{
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	size_t hosts = p->program->host.count;
	struct sn_pnd_var **end = &p->program->globals;

	while (*end)
		end = &(*end)->next;
	p->is_for_host = false;
	if (!parse_typed(p, first, is_const)) {
		if (!sn_pnd_refuse_word(p))
			sn_pnd_expected(p, "a declaration, a function, a phase or main()");
		skip_declaration(p, first);
	}
	if (!p->is_for_host)
		return;
	*end = NULL;
	p->program->host.count = hosts;
	p->diags->errors = errors;
	p->diags->items.count = kept;
	sn_pnd_pass_to_host(p, first);
}

static void parse_top(struct sn_pnd_parser *p)
{
	size_t first = p->at;
	bool is_const, is_constant = false;

	if (sn_pnd_accept(p, ';'))
		return;
	if (sn_pnd_at_punct(p, '}')) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 0,
			      "this '}' closes nothing: it is one too many, or a '{' is missing "
			      "before it");
		p->at++;
		return;
	}
	if (sn_pnd_at_word(p, "dist") && sn_pnd_peek(p, 1)->kind == SN_TOK_IDENT &&
	    sn_pnd_peek(p, 2)->kind == SN_TOK_PUNCT &&
	    !strchr(";,=[", (int)sn_pnd_peek(p, 2)->punct)) {
		sn_pnd_parse_phase(p);
		return;
	}
	if (!is_word_then_paren(p, "main") && sn_pnd_parse_misspelt_phase(p))
		return;
	if (is_word_then_paren(p, "main")) {
		parse_main(p, first);
		return;
	}
	is_const = sn_pnd_accept_const_attribute(p);
	if (is_enum(p)) {
		if (!parse_enum(p, first))
			skip_declaration(p, first);
		return;
	}
	while (sn_pnd_at_word(p, "static") || sn_pnd_at_word(p, "inline") ||
	       sn_pnd_at_word(p, "const")) {
		is_constant |= sn_pnd_at_word(p, "const");
		p->at++;
	}
	p->is_constant = is_constant;
	parse_declaration(p, first, is_const);
}

static void find_node_count(struct sn_pnd_parser *p)
{
	struct sn_pnd_program *program = p->program;
	struct sn_pnd_tokens swapped = program->tokens;
	struct sn_pnd_pos pos = { 0, 1, 1 };
	int64_t nodes = 0;

	if (!swapped.nodes.count) {
		struct sn_pnd_var *var = sn_arena_new(p->arena, struct sn_pnd_var);

		var->name = "PD_NODES";
		var->spelled = "nodes";
		var->kind = SN_VAR_PARAM;
		var->mode = SN_MODE_IN;
		var->type = SN_T_INT;
		program->node_count = var;
	} else {
		memcpy(&program->tokens.items, &swapped.nodes, sizeof(swapped.nodes));
		pos = program->tokens.items.items[0].pos;
		if (!sn_pnd_parse_constant(p, &nodes, 0, "P, the number of nodes,") || nodes < 1 ||
		    nodes > SN_PND_NODES_MAX) {
			sn_pnd_report(p->diags, pos, 0, "P, the number of nodes, is 1 to %d",
				      SN_PND_NODES_MAX);
			program->has_bad_nodes = true;
			nodes = 1;
		}
		program->tokens = swapped;
		p->at = 0;
	}
	program->nodes = (int)nodes;
}

void sn_pnd_parse(struct sn_pnd_program *program)
{
	struct sn_pnd_parser p = {
		.program = program, .diags = program->diags, .arena = program->arena, .zone = -1
	};

	find_node_count(&p);
	while (sn_pnd_peek(&p, 0)->kind != SN_TOK_END)
		parse_top(&p);
	if (!program->has_main)
		sn_pnd_report(program->diags, sn_pnd_peek(&p, 0)->pos, 0,
			      "the program has no main(), which is the host's part");
	sn_pnd_check_host(program);
}

void sn_pnd_program_free(struct sn_pnd_program *program)
{
	sn_pnd_tokens_free(&program->tokens);
	sn_vec_free(&program->looks);
	sn_vec_free(&program->ahead);
	sn_vec_free(&program->host);
	sn_vec_free(&program->zones);
	sn_vec_free(&program->math_used);
}
