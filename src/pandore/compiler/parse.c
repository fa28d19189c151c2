#include "pandore/compiler/parser.h"

#include <string.h>

enum { PARAMS_MAX = 200, ARRAY_BYTES_MAX = 1 << 30, FUNCTION_LOCAL_BYTES_MAX = 1 << 20 };

const struct sn_pnd_token *sn_pnd_peek(const struct sn_pnd_parser *p, size_t ahead)
{
	size_t count = p->program->tokens.items.count, at = p->at + ahead;

	return &p->program->tokens.items.items[at < count ? at : count - 1];
}

bool sn_pnd_at_punct(const struct sn_pnd_parser *p, uint32_t punct)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	return t->kind == SN_TOK_PUNCT && t->punct == punct;
}

bool sn_pnd_at_word(const struct sn_pnd_parser *p, const char *word)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	return t->kind == SN_TOK_IDENT && !strcmp(t->text, word);
}

bool sn_pnd_accept(struct sn_pnd_parser *p, uint32_t punct)
{
	bool there = sn_pnd_at_punct(p, punct);

	p->at += there;
	return there;
}

void sn_pnd_expected(struct sn_pnd_parser *p, const char *what)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	if (t->kind == SN_TOK_END)
		sn_pnd_report(p->diags, t->pos, 0, "expected %s, found the end of the file", what);
	else
		sn_pnd_report(p->diags, t->pos, 0, "expected %s, found '%.60s'", what, t->text);
}

bool sn_pnd_expect(struct sn_pnd_parser *p, uint32_t punct, const char *what)
{
	if (sn_pnd_accept(p, punct))
		return true;
	sn_pnd_expected(p, what);
	return false;
}

bool sn_pnd_at_type(const struct sn_pnd_parser *p, enum sn_pnd_type *out, size_t *words)
{
	static const struct {
		const char *first, *second;
		enum sn_pnd_type type;
	} types[] = {
		{ "unsigned", "int", SN_T_UNSIGNED },
		{ "long", "int", SN_T_LONG },
		{ "unsigned", NULL, SN_T_UNSIGNED },
		{ "long", NULL, SN_T_LONG },
		{ "int", NULL, SN_T_INT },
		{ "float", NULL, SN_T_FLOAT },
		{ "double", NULL, SN_T_DOUBLE },
		{ "char", NULL, SN_T_CHAR },
		{ "void", NULL, SN_T_VOID },
	};
	const struct sn_pnd_token *a = sn_pnd_peek(p, 0), *b = sn_pnd_peek(p, 1);

	for (size_t i = 0; a->kind == SN_TOK_IDENT && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(a->text, types[i].first) &&
		    (!types[i].second ||
		     (b->kind == SN_TOK_IDENT && !strcmp(b->text, types[i].second)))) {
			*out = types[i].type;
			*words = types[i].second ? 2 : 1;
			return true;
		}
	return false;
}

static const char *const c_words[] = {
	"auto",	  "break",  "case",   "char",	  "const",    "continue", "default",  "do",
	"double", "else",   "enum",   "extern",	  "float",    "for",	  "goto",     "if",
	"inline", "int",    "long",   "register", "restrict", "return",	  "short",    "signed",
	"sizeof", "static", "struct", "switch",	  "typedef",  "union",	  "unsigned", "void",
	"while",  "asm",    "typeof", "volatile", "main",
};

bool sn_pnd_is_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++)
		if (!strcmp(c_words[i], name))
			return true;
	return false;
}

bool sn_pnd_refuse_word(struct sn_pnd_parser *p)
{
	static const struct {
		const char *word, *reason;
	} refused[] = {
		{ "goto", "goto is not in Pandore C; use loops and conditions" },
		{ "switch", "switch is not in Pandore C; use if and else" },
		{ "case", "switch is not in Pandore C; use if and else" },
		{ "break", "break is not in Pandore C; put the condition into the loop's header" },
		{ "continue", "continue is not in Pandore C; use if" },
		{ "struct", "structures are not in Pandore C; use arrays" },
		{ "union", "unions are not in Pandore C; use arrays" },
		{ "enum", "enumerations are not in Pandore C; use #define" },
		{ "typedef", "typedef is not in Pandore C" },
		{ "extern", "extern is not in Pandore C" },
		{ "sizeof", "sizeof is not in Pandore C" },
		{ "short", "short is not in Pandore C; use int" },
		{ "signed", "signed is not in Pandore C; use int" },
	};
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	for (size_t i = 0; t->kind == SN_TOK_IDENT && i < sizeof(refused) / sizeof(*refused); i++)
		if (!strcmp(t->text, refused[i].word)) {
			sn_pnd_report(p->diags, t->pos, 8, "%s", refused[i].reason);
			return true;
		}
	return false;
}

struct sn_pnd_var *sn_pnd_find_var(const struct sn_pnd_parser *p, const char *name)
{
	for (const struct sn_pnd_scope *s = p->scope; s; s = s->outer)
		for (struct sn_pnd_var *v = s->vars; v; v = v->next)
			if (!strcmp(v->name, name))
				return v;
	return NULL;
}

struct sn_pnd_phase *sn_pnd_find_phase(const struct sn_pnd_program *program, const char *name)
{
	for (struct sn_pnd_phase *ph = program->phases; ph; ph = ph->next)
		if (!strcmp(ph->name, name))
			return ph;
	return NULL;
}

struct sn_pnd_function *sn_pnd_find_function(const struct sn_pnd_program *program, const char *name)
{
	for (struct sn_pnd_function *f = program->functions; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

void sn_pnd_add_var(struct sn_pnd_parser *p, struct sn_pnd_var **list, struct sn_pnd_var *var)
{
	for (; *list; list = &(*list)->next)
		if (!strcmp((*list)->name, var->name) && !(*list)->is_unknown) {
			sn_pnd_report(p->diags, var->pos, 12, "'%s' is declared twice", var->name);
			return;
		}
	*list = var;
}

/* ---- declarations ---- */

static bool parse_constant(struct sn_pnd_parser *p, int64_t *out)
{
	struct sn_pnd_expr *e = sn_pnd_parse_expr(p);

	return e && sn_pnd_evaluate(e, out);
}

/* In a constant expression names are no variables: look them up nowhere. */
static bool parse_constant_alone(struct sn_pnd_parser *p, int64_t *out, int code, const char *what)
{
	struct sn_pnd_scope *scope = p->scope, none = { 0 };
	struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	bool ok;

	p->scope = &none;
	ok = parse_constant(p, out);
	p->scope = scope;
	if (ok)
		return true;
	p->diags->errors = errors; /* one finding for one cause */
	p->diags->items.count = kept;
	sn_pnd_report(p->diags, pos, code, "%s is not an integer constant", what);
	return false;
}

static bool parse_extents(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	int64_t bytes = sn_pnd_type_bytes(var->type);
	bool ok = true;

	while (ok && sn_pnd_accept(p, '[')) {
		struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
		int64_t n = 0;

		if (var->rank == SN_PND_RANK_MAX) {
			sn_pnd_report(p->diags, pos, 12, "'%s' has more than %d dimensions",
				      var->name, SN_PND_RANK_MAX);
			return false;
		}
		ok = parse_constant_alone(p, &n, 12, "the extent of an array");
		if (!ok)
			break;
		if (n < 1 || __builtin_mul_overflow(bytes, n, &bytes) || bytes > ARRAY_BYTES_MAX) {
			sn_pnd_report(p->diags, pos, 12,
				      n < 1 ? "'%s' has an extent below 1"
					    : "'%s' is larger than a gigabyte",
				      var->name);
			return false;
		}
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
		sn_pnd_report(p->diags, name->pos, 8,
			      "pointers are not in Pandore C; declare an array");
		return NULL;
	}
	if (sn_pnd_refuse_word(p))
		return NULL;
	if (name->kind != SN_TOK_IDENT || sn_pnd_is_keyword(name->text)) {
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
	var->name = name->text;
	var->pos = name->pos;
	var->type = type;
	var->kind = kind;
	p->at++;
	return parse_extents(p, var) ? var : NULL;
}

static bool has_integer_fault(const struct sn_pnd_expr *e)
{
	int64_t value;

	if (!e)
		return false;
	if (e->kind != SN_E_COND && e->type < SN_T_FLOAT && !sn_pnd_evaluate(e, &value) &&
	    !(e->kind == SN_E_CAST || e->kind == SN_E_BINARY || e->kind == SN_E_UNARY))
		return true;
	if (e->kind == SN_E_BINARY && (e->punct == '/' || e->punct == '%') &&
	    e->type < SN_T_FLOAT && !sn_pnd_evaluate(e, &value))
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
		sn_pnd_report(p->diags, var->pos, 12,
			      "only scalars and one-dimensional arrays may be initialised");
		return false;
	}
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

static bool parse_local_init(struct sn_pnd_parser *p, struct sn_pnd_var *var,
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
		if (!strcmp(v->name, var->name) && !v->is_unknown)
			sn_pnd_report(p->diags, var->pos, 12, "'%s' is a parameter already",
				      var->name);
}

bool sn_pnd_parse_declarators(struct sn_pnd_parser *p, enum sn_pnd_type type,
			      enum sn_pnd_var_kind kind, struct sn_pnd_var **list,
			      struct sn_pnd_stmt ***inits)
{
	do {
		struct sn_pnd_var *var;
		size_t words;

		if (sn_pnd_at_type(p, &type, &words)) /* "float A[N], float V[N];" */
			p->at += words;
		var = sn_pnd_parse_declarator(p, type, kind);
		if (!var)
			return false;
		check_param_clash(p, var);
		sn_pnd_add_var(p, list, var);
		if (kind == SN_VAR_GLOBAL) {
			struct sn_pnd_host_item item = { .kind = SN_HOST_GLOBAL,
							 .first_token = p->at,
							 .global = var };

			sn_vec_push(&p->program->host, item);
		}
		if (sn_pnd_accept(p, '=') &&
		    !(kind == SN_VAR_GLOBAL ? parse_global_init(p, var)
					    : parse_local_init(p, var, inits)))
			return false;
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ';', "';' after the declaration");
}

/* ---- phases ---- */

static bool parse_block_sizes(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
	bool ok = true;
	int count = 0;

	if (!sn_pnd_expect(p, '(', "'(' after block"))
		return false;
	do {
		struct sn_pnd_pos at = sn_pnd_peek(p, 0)->pos;
		int64_t size = 1;

		if (!parse_constant_alone(p, &size, 1, "this block size")) {
			while (!sn_pnd_at_punct(p, ',') && !sn_pnd_at_punct(p, ')') &&
			       sn_pnd_peek(p, 0)->kind == SN_TOK_IDENT)
				p->at++;
			ok = false;
		} else if (size < 1) {
			sn_pnd_report(p->diags, at, 2, "a block size is at least 1, not %lld",
				      (long long)size);
			ok = false;
		}
		if (count < SN_PND_RANK_MAX)
			var->block[count] = size < 1 ? 1 : size;
		count++;
	} while (sn_pnd_accept(p, ','));
	if (!sn_pnd_expect(p, ')', "')' after the block sizes"))
		return false;
	if (count != var->rank) {
		sn_pnd_report(p->diags, pos, 3, "'%s' has %d dimension%s, but %d block size%s",
			      var->name, var->rank, var->rank == 1 ? "" : "s", count,
			      count == 1 ? "" : "s");
		ok = false;
	}
	return ok;
}

static bool parse_map(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_pos pos = sn_pnd_peek(p, 1)->pos;
	unsigned seen = 0;
	int count = 0;

	if (!sn_pnd_at_word(p, "map")) {
		sn_pnd_expected(p, "'map' after the block sizes");
		return false;
	}
	p->at++;
	if (!sn_pnd_at_word(p, "regular") && !sn_pnd_at_word(p, "wrapped")) {
		sn_pnd_report(p->diags, pos, 5, "unknown mapping '%.40s': regular or wrapped",
			      sn_pnd_peek(p, 0)->text);
		return false;
	}
	var->is_wrapped = sn_pnd_at_word(p, "wrapped");
	p->at++;
	if (!sn_pnd_expect(p, '(', "'(' of the mapping's dimensions"))
		return false;
	do {
		int64_t d = -1;
		struct sn_pnd_pos at = sn_pnd_peek(p, 0)->pos;

		if (!parse_constant_alone(p, &d, 4, "a dimension in the mapping"))
			return false;
		if (d < 0 || d >= var->rank || (seen >> d & 1) || count >= var->rank) {
			sn_pnd_report(p->diags, at, 4,
				      "the mapping's list is not a permutation of 0 to %d",
				      var->rank - 1);
			return false;
		}
		seen |= 1u << d;
		var->order[count++] = (int)d;
	} while (sn_pnd_accept(p, ','));
	if (count != var->rank) {
		sn_pnd_report(p->diags, pos, 4,
			      "the mapping's list is not a permutation of 0 to %d", var->rank - 1);
		return false;
	}
	return sn_pnd_expect(p, ')', "')' after the mapping's dimensions");
}

static void lay_out(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	int nodes = p->program->nodes;

	var->is_distributed = true;
	var->block_count = 1;
	for (int d = 0; d < var->rank; d++) {
		var->grid[d] = (var->extent[d] + var->block[d] - 1) / var->block[d];
		var->block_count *= var->grid[d];
	}
	var->blocks_per_node = (var->block_count + nodes - 1) / nodes;
	if (var->block_count < nodes)
		sn_pnd_report(p->diags, var->pos, 15,
			      "'%s' has %lld block%s for %d nodes; the others own nothing of it",
			      var->name, (long long)var->block_count,
			      var->block_count == 1 ? "" : "s", nodes);
}

static bool parse_distribution(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	bool ok;

	p->at++; /* by */
	if (!var->rank) {
		sn_pnd_report(p->diags, var->pos, 3, "'%s' is a scalar and cannot be distributed",
			      var->name);
		return false;
	}
	if (!sn_pnd_at_word(p, "block")) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 5,
			      "unknown distribution '%.40s': by block(...) is what there is",
			      sn_pnd_peek(p, 0)->text);
		return false;
	}
	p->at++;
	ok = parse_block_sizes(p, var);
	ok = (ok || sn_pnd_at_word(p, "map")) && parse_map(p, var) && ok;
	if (ok)
		lay_out(p, var);
	return ok;
}

static bool parse_mode(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	static const char *const modes[] = { "IN", "OUT", "INOUT" };
	const struct sn_pnd_token *name;

	p->at++;
	name = sn_pnd_peek(p, 0);
	for (int m = 0; m < 3; m++)
		if (sn_pnd_at_word(p, modes[m])) {
			p->at++;
			var->mode = (enum sn_pnd_mode)m;
			if (!var->rank && m != SN_MODE_IN) {
				sn_pnd_report(
					p->diags, name->pos, 5,
					"'%s' is a scalar, passed by value: its mode can only "
					"be IN; use an array of one element",
					var->name);
				return false;
			}
			return true;
		}
	sn_pnd_report(p->diags, name->pos, 5, "unknown mode '%.40s': IN, OUT or INOUT", name->text);
	return false;
}

static struct sn_pnd_var *parse_phase_param(struct sn_pnd_parser *p)
{
	struct sn_pnd_var *var;
	enum sn_pnd_type type;
	size_t words;
	bool ok = true;

	if (sn_pnd_at_punct(p, SN_PUNCT3('.', '.', '.'))) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
			      "a phase takes a fixed list of parameters");
		return NULL;
	}
	if (!sn_pnd_at_type(p, &type, &words)) {
		if (!sn_pnd_refuse_word(p))
			sn_pnd_expected(p, "a parameter's type");
		return NULL;
	}
	p->at += words;
	var = sn_pnd_parse_declarator(p, type, SN_VAR_PARAM);
	if (!var)
		return NULL;
	var->mode = var->rank ? SN_MODE_INOUT : SN_MODE_IN;
	if (sn_pnd_at_word(p, "by"))
		ok = parse_distribution(p, var);
	if (ok && sn_pnd_at_word(p, "mode"))
		ok = parse_mode(p, var);
	return ok ? var : NULL;
}

/* After a finding: to the ',' or ')' of this parameter list. */
static void skip_param(struct sn_pnd_parser *p)
{
	int depth = 0;

	for (;; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END || t->punct == '{' || t->punct == ';')
			return;
		if (depth == 0 && (t->punct == ')' || t->punct == ','))
			return;
		depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
	}
}

static bool parse_phase_params(struct sn_pnd_parser *p, struct sn_pnd_phase *phase)
{
	if (!sn_pnd_expect(p, '(', "'(' after the phase's name"))
		return false;
	if (sn_pnd_accept(p, ')'))
		return true;
	do {
		struct sn_pnd_var *var = parse_phase_param(p);

		if (var && phase->param_count == PARAMS_MAX) {
			sn_pnd_report(p->diags, var->pos, 0, "more than %d parameters", PARAMS_MAX);
		} else if (var) {
			var->index = phase->param_count++;
			sn_pnd_add_var(p, &phase->params, var);
		} else {
			skip_param(p);
		}
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ')', "')' after the parameters");
}

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

static bool check_name(struct sn_pnd_parser *p, const struct sn_pnd_token *name)
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

/* The token of the brace that closes the one at `at`, or the end. */
static size_t matching_brace(const struct sn_pnd_parser *p, size_t at)
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

static void parse_phase(struct sn_pnd_parser *p)
{
	struct sn_pnd_phase *phase = sn_arena_new(p->arena, struct sn_pnd_phase), **last;
	struct sn_pnd_scope scope = { 0 };
	const struct sn_pnd_token *name;

	p->at++; /* dist */
	name = sn_pnd_peek(p, 0);
	for (last = &p->program->phases; *last; last = &(*last)->next)
		phase->index++;
	if (check_name(p, name)) {
		phase->name = name->text;
		phase->pos = name->pos;
		*last = phase;
	}
	p->at++;
	p->phase = phase;
	p->zone = -1;
	if (!parse_phase_params(p, phase))
		while (!sn_pnd_at_punct(p, '{') && sn_pnd_peek(p, 0)->kind != SN_TOK_END)
			p->at++;
	scope.vars = phase->params;
	p->scope = &scope;
	if (sn_pnd_at_punct(p, '{')) {
		size_t end = matching_brace(p, p->at);

		phase->body = sn_pnd_parse_block(p);
		if (!phase->body)
			p->at = end + 1;
	} else {
		sn_pnd_expected(p, "'{' of the phase's body");
	}
	p->scope = NULL;
	p->phase = NULL;
}

/* ---- functions ---- */

static bool parse_function_params(struct sn_pnd_parser *p, struct sn_pnd_function *f,
				  bool is_prototype)
{
	enum sn_pnd_type type;
	size_t words;

	if (!sn_pnd_expect(p, '(', "'('"))
		return false;
	if (sn_pnd_at_type(p, &type, &words) && type == SN_T_VOID &&
	    sn_pnd_peek(p, 1)->punct == ')')
		p->at += words;
	if (sn_pnd_accept(p, ')'))
		return true;
	do {
		struct sn_pnd_var *var;

		if (sn_pnd_at_punct(p, SN_PUNCT3('.', '.', '.'))) {
			sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
				      "it takes a variable number of arguments");
			return false;
		}
		if (!sn_pnd_at_type(p, &type, &words)) {
			sn_pnd_expected(p, "a parameter's type");
			return false;
		}
		p->at += words;
		if (is_prototype && (sn_pnd_at_punct(p, ',') || sn_pnd_at_punct(p, ')'))) {
			var = sn_arena_new(p->arena, struct sn_pnd_var); /* of a prototype */
			var->type = type;
			var->name = sn_arena_printf(p->arena, "x%d", f->param_count);
		} else {
			var = sn_pnd_parse_declarator(p, type, SN_VAR_ARGUMENT);
		}
		if (!var)
			return false;
		if (var->rank) {
			sn_pnd_report(p->diags, var->pos, 9, "its parameter '%s' is an array",
				      var->name);
			return false;
		}
		var->index = f->param_count++;
		sn_pnd_add_var(p, &f->params, var);
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ')', "')' after the parameters");
}

/* "__attribute__((const))" or "((pure))": the author's word that only the arguments matter. */
static bool accept_const_attribute(struct sn_pnd_parser *p)
{
	bool is_const;

	if (!sn_pnd_at_word(p, "__attribute__"))
		return false;
	is_const = sn_pnd_peek(p, 1)->punct == '(' && sn_pnd_peek(p, 2)->punct == '(' &&
		   sn_pnd_peek(p, 3)->kind == SN_TOK_IDENT &&
		   !strcmp(sn_pnd_peek(p, 3)->text, "const") && sn_pnd_peek(p, 4)->punct == ')' &&
		   sn_pnd_peek(p, 5)->punct == ')';
	if (is_const)
		p->at += 6;
	return is_const;
}

static bool ends_in_return(const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_stmt *last = s ? s->first : NULL;

	if (!s)
		return false;
	switch (s->kind) {
	case SN_S_RETURN:
		return true;
	case SN_S_BLOCK:
		while (last && last->next)
			last = last->next;
		return ends_in_return(last);
	case SN_S_IF:
		return s->otherwise && ends_in_return(s->body) && ends_in_return(s->otherwise);
	default:
		return false;
	}
}

/* Tries to read the function as Pandore C. What does not fit makes it a function of the host. */
static void parse_pure(struct sn_pnd_parser *p, struct sn_pnd_function *f, size_t body)
{
	struct sn_pnd_scope scope = { 0 };
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	size_t maths = p->program->math_used.count;
	int ids = p->program->assign_count;

	p->function = f;
	p->zone = -1;
	if (parse_function_params(p, f, false)) {
		scope.vars = f->params;
		p->scope = &scope;
		f->body = p->at == body ? sn_pnd_parse_block(p) : NULL;
		if (p->diags->errors == errors && f->body && f->type != SN_T_VOID &&
		    !ends_in_return(f->body))
			sn_pnd_report(p->diags, f->pos, 9, "it may end without returning a value");
	}
	if (p->diags->errors > errors || !f->body) {
		const struct sn_pnd_diag *first =
			p->diags->items.count > kept ? &p->diags->items.items[kept] : NULL;

		f->impure = first ? sn_arena_printf(p->arena, "line %d: %s", first->pos.line,
						    first->text)
				  : "it is not Pandore C";
		f->is_opaque = true;
		f->body = NULL;
		p->diags->errors = errors;
		p->program->math_used.count = maths;
		p->program->assign_count = ids;
	}
	p->diags->items.count = kept; /* warnings in functions do not matter either */
	p->scope = NULL;
	p->function = NULL;
}

static void add_opaque(struct sn_pnd_parser *p, struct sn_pnd_function *f)
{
	struct sn_pnd_host_item item = { .kind = SN_HOST_FUNCTION,
					 .first_token = f->first_token,
					 .last_token = f->last_token };

	f->is_opaque = true;
	sn_vec_push(&p->program->host, item);
}

static void parse_prototype(struct sn_pnd_parser *p, struct sn_pnd_function *f, size_t end,
			    bool is_const)
{
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	bool ok = parse_function_params(p, f, true);

	is_const |= accept_const_attribute(p);
	ok = ok && p->at == end && p->diags->errors == errors;
	p->diags->errors = errors;
	p->diags->items.count = kept;
	p->at = end + 1;
	f->last_token = end;
	if (ok && is_const && f->type != SN_T_VOID)
		return;
	f->impure = "its body is not in this program; if its value depends on its arguments only, "
		    "declare it __attribute__((const))";
	add_opaque(p, f);
}

static void parse_function(struct sn_pnd_parser *p, enum sn_pnd_type type, size_t first,
			   bool is_const, bool is_foreign)
{
	struct sn_pnd_function *f = sn_arena_new(p->arena, struct sn_pnd_function), **last;
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);
	size_t body = p->at, count = p->program->tokens.items.count;
	bool fine = check_name(p, name);

	f->name = name->text;
	f->pos = name->pos;
	f->type = type;
	f->first_token = first;
	p->at++;
	while (body + 1 < count && p->program->tokens.items.items[body].punct != '{' &&
	       p->program->tokens.items.items[body].punct != ';')
		body++;
	for (last = &p->program->functions; *last; last = &(*last)->next)
		;
	if (p->program->tokens.items.items[body].punct != '{') {
		if (body + 1 >= count)
			sn_pnd_report(p->diags, name->pos, 0, "'%.60s' has no body", f->name);
		parse_prototype(p, f, body, is_const);
	} else {
		f->last_token = matching_brace(p, body);
		if (p->program->tokens.items.items[f->last_token].kind == SN_TOK_END)
			sn_pnd_report(p->diags, p->program->tokens.items.items[body].pos, 0,
				      "this brace is never closed");
		*last = f; /* it may call itself */
		parse_pure(p, f, body);
		*last = NULL;
		if (is_foreign && !f->is_opaque) {
			f->is_opaque = true;
			f->body = NULL;
		}
		if (is_foreign)
			f->impure = "its type is not one of Pandore C";
		if (f->is_opaque)
			add_opaque(p, f);
		p->at = f->last_token + 1;
	}
	if (fine)
		*last = f;
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
	item.last_token = matching_brace(p, p->at);
	program->has_main = true;
	if (open->kind == SN_TOK_END || open->from_macro || name->from_macro ||
	    program->tokens.items.items[item.last_token].from_macro ||
	    program->tokens.items.items[item.last_token].kind == SN_TOK_END ||
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
			p->at = matching_brace(p, p->at);
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
	enum sn_pnd_type type = SN_T_VOID;
	size_t words = 0, before = words_before_function(p);
	bool is_type = sn_pnd_at_type(p, &type, &words);

	if (before) {
		p->at += before;
		if (sn_pnd_at_word(p, "main"))
			parse_main(p, first);
		else
			parse_function(p, type, first, is_const, !is_type || words != before);
		return true;
	}
	p->at += words;
	if (is_type)
		parse_globals(p, type, first);
	return is_type;
}

static void parse_top(struct sn_pnd_parser *p)
{
	size_t first = p->at;
	bool is_const;

	if (sn_pnd_accept(p, ';'))
		return;
	if (sn_pnd_at_word(p, "dist") && sn_pnd_peek(p, 1)->kind == SN_TOK_IDENT &&
	    sn_pnd_peek(p, 2)->punct == '(') {
		parse_phase(p);
		return;
	}
	if (is_word_then_paren(p, "main")) {
		parse_main(p, first);
		return;
	}
	is_const = accept_const_attribute(p);
	while (sn_pnd_at_word(p, "static") || sn_pnd_at_word(p, "inline") ||
	       sn_pnd_at_word(p, "const"))
		p->at++;
	if (parse_typed(p, first, is_const))
		return;
	if (!sn_pnd_refuse_word(p))
		sn_pnd_expected(p, "a declaration, a function, a phase or main()");
	skip_declaration(p, first);
}

static void find_node_count(struct sn_pnd_parser *p)
{
	struct sn_pnd_program *program = p->program;
	struct sn_pnd_tokens swapped = program->tokens;
	struct sn_pnd_pos pos = { 0, 1, 1 };
	int64_t nodes = 1;

	if (!swapped.nodes.count) {
		sn_pnd_report(p->diags, pos, 15,
			      "the number of nodes is not fixed, 1 is taken: add '#define P 4' or "
			      "compile with -D P=4");
	} else {
		memcpy(&program->tokens.items, &swapped.nodes, sizeof(swapped.nodes));
		pos = program->tokens.items.items[0].pos;
		if (!parse_constant_alone(p, &nodes, 0, "P, the number of nodes,") || nodes < 1 ||
		    nodes > SN_PND_NODES_MAX) {
			sn_pnd_report(p->diags, pos, 0, "P, the number of nodes, is 1 to %d",
				      SN_PND_NODES_MAX);
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
	sn_vec_free(&program->host);
	sn_vec_free(&program->zones);
	sn_vec_free(&program->math_used);
}
