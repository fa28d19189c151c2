/* Calls of phases in the host's text: whole arrays by name, right shapes, no aliases. What is not
 * seen here is checked by the C compiler (types) and when the phase is called (sizes, aliases). */
#include <stdlib.h>
#include <string.h>

#include "pandore/compiler/parser.h"

enum { ARGS_MAX = 256 };

struct host_array {
	bool is_pointer;
	bool is_known; /* shape and type are known; else the C compiler checks */
	enum sn_pnd_type type;
	int rank;
	int64_t extent[SN_PND_RANK_MAX];
};

static const struct sn_pnd_token *token_at(const struct sn_pnd_program *program, size_t i)
{
	return &program->tokens.items.items[i];
}

/* Extents written as plain numbers after a declarator in main(). */
static bool read_extents(const struct sn_pnd_program *program, size_t at, struct host_array *out)
{
	while (token_at(program, at)->punct == '[') {
		if (token_at(program, at + 1)->kind != SN_TOK_INT ||
		    token_at(program, at + 2)->punct != ']' || out->rank == SN_PND_RANK_MAX)
			return false;
		if (!sn_pnd_integer_value(token_at(program, at + 1), &out->extent[out->rank++]))
			return false;
		at += 3;
	}
	return out->rank > 0;
}

/* Declarations stand where statements do, maybe behind words like "static". */
static bool may_declare(const struct sn_pnd_program *program, size_t at)
{
	static const char *const words[] = { "static", "const", "volatile", "register", "auto" };
	const struct sn_pnd_token *before = token_at(program, at - 1);

	for (size_t i = 0; before->kind == SN_TOK_IDENT && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(before->text, words[i]))
			return true;
	return before->punct == '{' || before->punct == '}' || before->punct == ';';
}

/* Looks for NAME among the declarators from `at` on; returns their end. */
static size_t read_declarators(const struct sn_pnd_program *program, size_t at, size_t call,
			       const char *name, enum sn_pnd_type type, struct host_array *found)
{
	bool is_start = true;
	int depth = 0, stars = 0;

	for (; at < call && token_at(program, at)->punct != ';'; at++) {
		const struct sn_pnd_token *t = token_at(program, at);

		if (is_start && (t->punct == '*' || t->punct == '(')) {
			stars += t->punct == '*';
			depth += t->punct == '(';
			continue;
		}
		if (is_start && t->kind == SN_TOK_IDENT && !strcmp(t->text, "const"))
			continue;
		if (is_start && t->kind == SN_TOK_IDENT && !strcmp(t->text, name)) {
			*found = (struct host_array){ .type = type, .is_pointer = stars > 0 };
			found->is_known = !stars && read_extents(program, at + 1, found);
		}
		is_start = false;
		depth += t->punct == '(' || t->punct == '[' || t->punct == '{';
		depth -= t->punct == ')' || t->punct == ']' || t->punct == '}';
		if (t->punct == ',' && !depth) {
			is_start = true;
			stars = 0;
		}
	}
	return at;
}

/* An array declared in the function as "type NAME[N].." or after a comma of such a declaration. */
static struct host_array local_array(const struct sn_pnd_parser *p, size_t brace, size_t call,
				     const char *name)
{
	struct host_array found = { 0 };

	for (size_t i = brace + 1; i < call; i++) {
		struct sn_pnd_parser at = *p;
		enum sn_pnd_type type;
		size_t length;

		at.at = i;
		length = may_declare(p->program, i) ? sn_pnd_type_length(&at, &type) : 0;
		if (length)
			i = read_declarators(p->program, i + length, call, name, type, &found);
	}
	return found;
}

/* Is it a parameter of the function, or declared in a way that was not read? Then the C compiler
 * checks. */
static bool is_mentioned(const struct sn_pnd_program *program, size_t first, size_t brace,
			 const char *name)
{
	for (size_t i = first; i < brace; i++)
		if (token_at(program, i)->kind == SN_TOK_IDENT &&
		    !strcmp(token_at(program, i)->text, name))
			return true;
	return false;
}

static struct host_array find_array(const struct sn_pnd_parser *p, size_t first, size_t brace,
				    size_t call, const char *name)
{
	struct host_array local = local_array(p, brace, call, name), none = { 0 };

	if (local.is_known || local.is_pointer)
		return local;
	if (is_mentioned(p->program, first, brace, name))
		return none;
	for (const struct sn_pnd_var *g = p->program->globals; g; g = g->next)
		if (!strcmp(g->name, name)) {
			struct host_array array = { .is_known = true,
						    .type = g->type,
						    .rank = g->rank };

			memcpy(array.extent, g->extent, sizeof(array.extent));
			return array;
		}
	return local;
}

struct argument {
	size_t first, count; /* tokens */
};

static void check_array(struct sn_pnd_parser *p, const struct sn_pnd_var *param,
			const struct host_array *array, const struct sn_pnd_token *arg)
{
	bool same = array->type == param->type && array->rank == param->rank;

	for (int d = 0; d < param->rank && same; d++)
		same = array->extent[d] == param->extent[d] || param->late_extent[d];
	if (!same)
		sn_pnd_report(p->diags, arg->pos, 7,
			      "'%.60s' has not the type and shape of the parameter '%s'", arg->text,
			      param->name);
}

static int read_args(const struct sn_pnd_program *program, size_t open, struct argument *args)
{
	int depth = 0, count = 0;

	args[0] = (struct argument){ open + 1, 0 };
	for (size_t i = open;; i++) {
		const struct sn_pnd_token *t = token_at(program, i);

		if (t->kind == SN_TOK_END)
			return -1;
		if (t->punct == '(' && depth++ == 0)
			continue;
		if (t->punct == ')' && --depth == 0)
			return count + (count || args[0].count);
		if (t->punct == ',' && depth == 1) {
			if (++count == ARGS_MAX)
				return -1;
			args[count] = (struct argument){ i + 1, 0 };
		} else {
			args[count].count++;
		}
	}
}

/* An argument that is an integer constant, without a word if it is none. */
static bool constant_argument(struct sn_pnd_parser *p, const struct argument *arg, int64_t *out)
{
	struct sn_pnd_program *program = p->program;
	size_t errors = p->diags->errors, kept = p->diags->items.count;
	size_t maths = program->math_used.count;
	struct sn_pnd_parser at = *p;
	bool ok;

	at.at = arg->first;
	ok = sn_pnd_parse_constant(&at, out, 0, "an argument") &&
	     at.at == arg->first + arg->count && !program->has_bad_nodes;
	p->diags->errors = errors;
	p->diags->items.count = kept;
	program->math_used.count = maths;
	return ok;
}

/* Sizes that this call passes as constants: rows may be left out, but lines in memory are as long as declared. */
static void check_sizes(struct sn_pnd_parser *p, const struct sn_pnd_var *param,
			const struct host_array *array, const struct argument *args)
{
	const struct sn_pnd_token *name = token_at(p->program, args[param->index].first);
	int64_t size;

	for (int d = 0; d < param->rank && array->rank == param->rank; d++) {
		const struct sn_pnd_expr *late = param->late_extent[d];

		if (!late || late->kind != SN_E_VAR || late->var->kind != SN_VAR_PARAM ||
		    !constant_argument(p, &args[late->var->index], &size) ||
		    (d ? size == array->extent[d] : size <= array->extent[d]))
			continue;
		sn_pnd_report(p->diags, name->pos, 7,
			      "'%.60s' has %lld elements in dimension %d, and this call says that "
			      "'%s' has %s = %lld",
			      name->text, (long long)array->extent[d], d + 1, param->spelled,
			      late->var->spelled, (long long)size);
	}
}

static void check_alias(struct sn_pnd_parser *p, const struct sn_pnd_phase *phase,
			const struct argument *args, const struct sn_pnd_var *param)
{
	const struct sn_pnd_token *arg = token_at(p->program, args[param->index].first);

	for (const struct sn_pnd_var *other = phase->params; other != param; other = other->next) {
		const struct sn_pnd_token *first = token_at(p->program, args[other->index].first);

		if (other->rank && args[other->index].count == 1 &&
		    !strcmp(first->text, arg->text) &&
		    (other->mode != SN_MODE_IN || param->mode != SN_MODE_IN))
			sn_pnd_report(p->diags, arg->pos, 7,
				      "'%.60s' is passed twice to '%s', which writes it", arg->text,
				      phase->name);
	}
}

/* For --explain: what every call passes is as good as a constant of the phase. */
static void note_scalar(struct sn_pnd_parser *p, struct sn_pnd_var *param,
			const struct argument *arg)
{
	int64_t value = 0;
	bool is_constant =
		constant_argument(p, arg, &value) && sn_pnd_type_is_integer(param->type) &&
		sn_pnd_bits_to_number(param->type,
				      sn_pnd_convert_bits(param->type, (uint64_t)value), &value) &&
		value >= INT32_MIN && value <= INT32_MAX;

	if (!is_constant || (param->passed == SN_PASSED_CONSTANT && param->passed_value != value))
		param->passed = SN_PASSED_OTHERS;
	else if (param->passed == SN_PASSED_NEVER)
		param->passed = SN_PASSED_CONSTANT;
	param->passed_value = value;
}

/* A name, or a member of a structure by names. */
static bool is_named(const struct sn_pnd_program *program, const struct argument *arg)
{
	for (size_t i = 0; i < arg->count; i++) {
		const struct sn_pnd_token *t = token_at(program, arg->first + i);

		if (i % 2 ? t->punct != '.' && t->punct != SN_PUNCT2('-', '>')
			  : t->kind != SN_TOK_IDENT || sn_pnd_is_keyword(t->text))
			return false;
	}
	return arg->count % 2;
}

/* `first` is the function's first token, `brace` that of its body. */
static void check_call(struct sn_pnd_parser *p, const struct sn_pnd_phase *phase, size_t first,
		       size_t brace, size_t call)
{
	struct argument args[ARGS_MAX];
	int count = read_args(p->program, call + 1, args);
	const struct sn_pnd_token *name = token_at(p->program, call);

	if (phase->is_damaged)
		return;
	if (count != phase->param_count) {
		sn_pnd_report(p->diags, name->pos, 7, "phase '%s' takes %d argument%s, not %d",
			      phase->name, phase->param_count, phase->param_count == 1 ? "" : "s",
			      count < 0 ? 0 : count);
		return;
	}
	for (struct sn_pnd_var *param = phase->params; param; param = param->next) {
		const struct argument *arg = &args[param->index];
		const struct sn_pnd_token *t = token_at(p->program, arg->first);
		struct host_array array;

		if (!param->rank) {
			if (!arg->count)
				sn_pnd_report(p->diags, name->pos, 7, "an argument is missing");
			else
				note_scalar(p, param, arg);
			continue;
		}
		if (!is_named(p->program, arg)) {
			sn_pnd_report(p->diags, arg->count ? t->pos : name->pos, 7,
				      "the parameter '%s' takes a whole array by its name, or a "
				      "pointer by that of a variable: double *p = ...;",
				      param->name);
			continue;
		}
		if (arg->count > 1)
			continue; /* the C compiler and the run check it */
		array = find_array(p, first, brace, call, t->text);
		if (array.is_known) {
			check_array(p, param, &array, t);
			check_sizes(p, param, &array, args);
		}
		check_alias(p, phase, args, param);
	}
}

/* Is a phase's name used as a value? Else it is a member, a label, or something of the function, which
 * begins at `first`. */
static bool is_value(const struct sn_pnd_program *program, size_t first, size_t at)
{
	const char *name = token_at(program, at)->text;
	uint32_t before = at ? token_at(program, at - 1)->punct : 0;
	uint32_t after = token_at(program, at + 1)->punct;
	bool is_begun = before == '=' || before == '&' || before == '(' || before == ',' ||
			before == '{' || before == '?';

	for (size_t i = first + 1; i < at; i++)
		if (token_at(program, i)->kind == SN_TOK_IDENT &&
		    !strcmp(token_at(program, i)->text, name) &&
		    (token_at(program, i - 1)->kind == SN_TOK_IDENT ||
		     token_at(program, i - 1)->punct == '*'))
			return false;
	return is_begun &&
	       (after == ';' || after == ',' || after == ')' || after == '}' || after == ':');
}

void sn_pnd_check_host(struct sn_pnd_program *program)
{
	struct sn_pnd_parser p = { .program = program,
				   .diags = program->diags,
				   .arena = program->arena };

	for (size_t h = 0; h < program->host.count; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		size_t brace = item->first_token;

		if (item->kind == SN_HOST_GLOBAL || item->kind == SN_HOST_TEXT)
			continue;
		while (brace < item->last_token && token_at(program, brace)->punct != '{')
			brace++;
		for (size_t i = item->first_token; i < item->last_token; i++) {
			const struct sn_pnd_token *t = token_at(program, i);
			const struct sn_pnd_phase *phase =
				t->kind == SN_TOK_IDENT ? sn_pnd_find_phase(program, t->text)
							: NULL;

			if (phase && token_at(program, i + 1)->punct == '(')
				check_call(&p, phase, item->first_token, brace, i);
			else if (phase && is_value(program, item->first_token, i))
				sn_pnd_report(
					p.diags, t->pos, 7,
					"phase '%s' is used here without its arguments; a "
					"phase has no address: write a function that calls it",
					phase->name);
		}
	}
}
