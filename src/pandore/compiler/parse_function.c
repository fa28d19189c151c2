/* Functions: Pandore C without effects, or text that is passed on for the host alone. */
#include "pandore/compiler/parser.h"

#include <string.h>

static bool parse_function_params(struct sn_pnd_parser *p, struct sn_pnd_function *f,
				  bool is_prototype)
{
	enum sn_pnd_type type;

	if (!sn_pnd_expect(p, '(', "'('"))
		return false;
	if (sn_pnd_at_word(p, "void") && sn_pnd_peek(p, 1)->punct == ')')
		p->at++;
	if (sn_pnd_accept(p, ')'))
		return true;
	do {
		struct sn_pnd_var *var;

		if (sn_pnd_at_punct(p, SN_PUNCT3('.', '.', '.'))) {
			sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
				      "it takes a variable number of arguments");
			return false;
		}
		if (!sn_pnd_parse_type(p, "a parameter's type", &type))
			return false;
		if (is_prototype && (sn_pnd_at_punct(p, ',') || sn_pnd_at_punct(p, ')'))) {
			var = sn_arena_new(p->arena, struct sn_pnd_var); /* of a prototype */
			var->type = type;
			var->name = var->spelled = sn_arena_printf(p->arena, "x%d", f->param_count);
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

bool sn_pnd_accept_const_attribute(struct sn_pnd_parser *p)
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
		f->body = p->at == body ? sn_pnd_parse_body(p) : NULL;
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

	is_const |= sn_pnd_accept_const_attribute(p);
	ok = ok && p->at == end && p->diags->errors == errors;
	p->diags->errors = errors;
	p->diags->items.count = kept;
	p->at = end + 1;
	f->last_token = end;
	if (ok && is_const && f->type != SN_T_VOID)
		return;
	f->impure = "its body is not in this program or comes later; if its value depends on its "
		    "arguments only, declare it __attribute__((const))";
	add_opaque(p, f);
}

/* The place in the list of a function that this declaration repeats, or the list's end. */
static struct sn_pnd_function **find_place(struct sn_pnd_program *program, const char *name,
					   bool is_prototype)
{
	struct sn_pnd_function **place = &program->functions;

	while (*place &&
	       (strcmp((*place)->name, name) || !(is_prototype || (*place)->is_prototype)))
		place = &(*place)->next;
	return place;
}

static void parse_definition(struct sn_pnd_parser *p, struct sn_pnd_function *f, size_t body,
			     bool is_foreign)
{
	f->last_token = sn_pnd_matching_brace(p, body);
	if (p->program->tokens.items.items[f->last_token].kind == SN_TOK_END)
		sn_pnd_report(p->diags, p->program->tokens.items.items[body].pos, 0,
			      "this '{' has no '}': the file ends before it is closed");
	parse_pure(p, f, body);
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

/* Of two declarations: phases may call what either a prototype that says const or a definition in
 * Pandore C allows; a definition says more than a prototype. */
static bool is_better(const struct sn_pnd_function *f, const struct sn_pnd_function *earlier)
{
	if (f->is_prototype)
		return earlier->is_prototype && earlier->is_opaque;
	return !f->is_opaque || earlier->is_opaque;
}

void sn_pnd_parse_function(struct sn_pnd_parser *p, enum sn_pnd_type type, size_t first,
			   bool is_const, bool is_foreign)
{
	struct sn_pnd_function *f = sn_arena_new(p->arena, struct sn_pnd_function);
	struct sn_pnd_function **place, *earlier, *rest;
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);
	size_t body = p->at, count = p->program->tokens.items.count;
	bool fine;

	f->name = name->text;
	f->pos = name->pos;
	f->type = type;
	f->first_token = first;
	while (body + 1 < count && p->program->tokens.items.items[body].punct != '{' &&
	       p->program->tokens.items.items[body].punct != ';')
		body++;
	f->is_prototype = p->program->tokens.items.items[body].punct != '{';
	place = find_place(p->program, f->name, f->is_prototype);
	earlier = *place;
	rest = earlier ? earlier->next : NULL;
	*place = rest;
	fine = sn_pnd_check_name(p, name);
	p->at++;
	if (f->is_prototype) {
		if (body + 1 >= count)
			sn_pnd_report(p->diags, name->pos, 0, "'%.60s' has no body", f->name);
		parse_prototype(p, f, body, is_const);
	} else {
		f->next = rest;
		*place = f; /* it may call itself */
		parse_definition(p, f, body, is_foreign);
		*place = rest;
	}
	if (earlier && (!fine || !is_better(f, earlier))) {
		if (f->is_prototype || fine)
			earlier->is_prototype &= f->is_prototype;
		f = earlier;
	} else if (!fine) {
		return;
	}
	f->next = rest;
	*place = f;
}
