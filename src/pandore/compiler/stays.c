/*
 * The host is any C, so what follows looks at its tokens only and says no in every doubt: an array
 * whose address may be known elsewhere is brought home after each phase.
 */
#include "pandore/compiler/stays.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pandore/compiler/parser.h"

enum { CALLS_FOLLOWED = 4 };

struct looker {
	struct sn_pnd_program *program;
	const char *name;
	int parameter_rank, rank; /* of the phase's parameter; brackets behind an element's name */
	bool is_global;
};

static const struct sn_pnd_token *token_at(const struct sn_pnd_program *program, size_t i)
{
	return &program->tokens.items.items[i];
}

static bool is_word(const struct sn_pnd_token *t, const char *const *words)
{
	for (; t->kind == SN_TOK_IDENT && *words; words++)
		if (!strcmp(t->text, *words))
			return true;
	return false;
}

static bool is_name(const struct sn_pnd_program *program, size_t i, const char *name)
{
	const struct sn_pnd_token *t = token_at(program, i);

	return t->kind == SN_TOK_IDENT && !strcmp(t->text, name);
}

/* ---- the text as the C compiler will see it: it may keep what our preprocessor left out ---- */

static size_t skip_quoted(const char *chars, size_t at, size_t end)
{
	char quote = chars[at++];

	while (at < end && chars[at] != quote)
		at += chars[at] == '\\' ? 2 : 1;
	return at < end ? at + 1 : end;
}

static size_t skip_comment(const char *chars, size_t at, size_t end)
{
	bool is_line = chars[at + 1] == '/';

	for (at += 2; at < end; at++)
		if (is_line ? chars[at] == '\n'
			    : at + 1 < end && chars[at] == '*' && chars[at + 1] == '/')
			return is_line ? at : at + 2;
	return end;
}

static int count_words(const char *chars, size_t at, size_t end, const char *name)
{
	size_t length = strlen(name);
	int count = 0;

	while (at < end) {
		size_t word = 0;

		if (chars[at] == '"' || chars[at] == '\'') {
			at = skip_quoted(chars, at, end);
			continue;
		}
		if (at + 1 < end && chars[at] == '/' &&
		    (chars[at + 1] == '/' || chars[at + 1] == '*')) {
			at = skip_comment(chars, at, end);
			continue;
		}
		while (at + word < end &&
		       (isalnum((unsigned char)chars[at + word]) || chars[at + word] == '_'))
			word++;
		count += word == length && !memcmp(chars + at, name, length);
		at += word ? word : 1;
	}
	return count;
}

static bool sees_every_mention(const struct sn_pnd_program *program,
			       const struct sn_pnd_host_item *item, const char *name)
{
	const struct sn_pnd_token *first = token_at(program, item->first_token);
	const struct sn_pnd_token *last = token_at(program, item->last_token);
	const struct sn_pnd_file *file = &program->diags->files.items[first->pos.file];
	int count = 0;

	if (first->pos.file != last->pos.file || last->offset < first->offset)
		return false;
	for (size_t i = item->first_token; i <= item->last_token; i++)
		if (is_name(program, i, name)) {
			if (token_at(program, i)->from_macro)
				return false;
			count++;
		}
	return count == count_words(file->chars, first->offset, last->offset + last->length, name);
}

/* ---- calls ---- */

/* The name of the call whose argument a token is all of, and which one; else 0. */
static size_t call_around(const struct sn_pnd_program *program, size_t at, int *argument)
{
	int depth = 0;

	*argument = 0;
	for (size_t i = at; i-- > 1;) {
		uint32_t punct = token_at(program, i)->punct;

		if (punct == ')' || punct == ']')
			depth++;
		else if ((punct == '(' || punct == '[') && depth-- == 0)
			return punct == '(' && token_at(program, i - 1)->kind == SN_TOK_IDENT
				       ? i - 1
				       : 0;
		else if (punct == ';' || punct == '{' || punct == '}')
			return 0;
		else if (punct == ',' && depth == 0)
			++*argument;
	}
	return 0;
}

static bool is_whole_argument(const struct sn_pnd_program *program, size_t first, size_t last)
{
	uint32_t before = token_at(program, first - 1)->punct;
	uint32_t after = token_at(program, last + 1)->punct;

	return (before == '(' || before == ',') && (after == ')' || after == ',');
}

/* Functions of libc that forget an address when they return. */
static bool is_forgetful(const struct sn_pnd_token *name)
{
	static const char *const words[] = { "memset", "memcpy", "memmove", "memcmp", "fread",
					     "fwrite", "printf", "fprintf", "scanf",  "fscanf",
					     "sscanf", "qsort",	 "free",    NULL };

	return is_word(name, words);
}

static bool keeps(const struct sn_pnd_program *program, size_t call, int argument, int rank,
		  int depth);

/* The token after `count` pairs of brackets, or 0. */
static size_t after_brackets(const struct sn_pnd_program *program, size_t at, int count)
{
	for (; count > 0; count--) {
		int depth = 0;

		if (token_at(program, at)->punct != '[')
			return 0;
		do {
			uint32_t punct = token_at(program, at)->punct;

			if (token_at(program, at)->kind == SN_TOK_END || punct == ';')
				return 0;
			depth += (punct == '[') - (punct == ']');
			at++;
		} while (depth);
	}
	return at;
}

/* What a mention is. */
enum mention { BAD, ELEMENT, WHOLE, SIZE, DECLARED };

static bool is_declaration_start(const struct sn_pnd_program *program, size_t at)
{
	static const char *const words[] = { "static", "const",	   "volatile", "register", "auto",
					     "struct", "union",	   "enum",     "extern",   "char",
					     "short",  "int",	   "long",     "float",	   "double",
					     "signed", "unsigned", "_Bool",    "void",	   NULL };
	const struct sn_pnd_token *t = token_at(program, at), *next = token_at(program, at + 1);

	return is_word(t, words) ||
	       (t->kind == SN_TOK_IDENT && (next->kind == SN_TOK_IDENT || next->punct == '*'));
}

/* Is the comma before a token one of a declaration? */
static bool is_declarator(const struct sn_pnd_program *program, size_t at)
{
	int depth = 0;

	for (size_t i = at; i-- > 1;) {
		uint32_t punct = token_at(program, i)->punct;

		if (punct == ')' || punct == ']' || punct == '}')
			depth++;
		else if ((punct == '(' || punct == '[') && depth-- == 0)
			return false;
		else if (punct == '{' ? depth-- == 0 : punct == ';' && depth == 0)
			return is_declaration_start(program, i + 1);
	}
	return true;
}

static enum mention classify_element(const struct sn_pnd_program *program, size_t at, int rank)
{
	static const char *const before_values[] = {
		"return", "else", "do", "case", "sizeof", NULL
	};
	const struct sn_pnd_token *before = token_at(program, at - 1);
	const struct sn_pnd_token *second = token_at(program, at - 2);
	bool is_operand = second->kind == SN_TOK_IDENT || second->kind == SN_TOK_INT ||
			  second->kind == SN_TOK_REAL || second->punct == ')' ||
			  second->punct == ']';
	size_t end = after_brackets(program, at + 1, rank);
	int argument;

	if (before->kind == SN_TOK_IDENT)
		return end && is_word(before, before_values) ? ELEMENT : DECLARED;
	if (before->punct == ',' && is_declarator(program, at))
		return DECLARED;
	if (!end)
		return BAD;
	if (before->punct == '*')
		return is_operand && !is_declaration_start(program, at - 2) ? ELEMENT : BAD;
	if (before->punct == '&' && !is_operand) {
		size_t call = call_around(program, at - 1, &argument);

		return call && is_whole_argument(program, at - 1, end - 1) &&
				       is_forgetful(token_at(program, call))
			       ? ELEMENT
			       : BAD;
	}
	return ELEMENT;
}

static enum mention classify(const struct sn_pnd_program *program, size_t at, int rank, int depth)
{
	static const char *const sizes[] = { "sizeof", NULL };
	const struct sn_pnd_token *before = token_at(program, at - 1);
	int argument;
	size_t call;

	if (before->punct == '.' || before->punct == SN_PUNCT2('-', '>'))
		return BAD;
	if (token_at(program, at + 1)->punct == '[')
		return classify_element(program, at, rank);
	if (is_word(before, sizes) ||
	    (before->punct == '(' && is_word(token_at(program, at - 2), sizes)))
		return SIZE;
	call = call_around(program, at, &argument);
	if (!call || !is_whole_argument(program, at, at))
		return BAD;
	return keeps(program, call, argument, rank, depth + 1) ? BAD : WHOLE;
}

/* ---- functions of the host that an array is passed to ---- */

static const struct sn_pnd_host_item *definition_of(const struct sn_pnd_program *program,
						    const char *name, size_t *open)
{
	for (size_t h = 0; h < program->host.count; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		if (item->kind != SN_HOST_FUNCTION ||
		    token_at(program, item->last_token)->punct != '}')
			continue;
		for (size_t i = item->first_token; token_at(program, i)->punct != '{'; i++)
			if (token_at(program, i + 1)->punct == '(') {
				if (!is_name(program, i, name))
					break;
				*open = i + 1;
				return item;
			}
	}
	return NULL;
}

static bool ends_declarator(const struct sn_pnd_token *t)
{
	return t->punct == ',' || t->punct == ')' || t->punct == '[';
}

/* The name of parameter number `index`; the token, or 0: there is none, or it stands in parentheses. */
static size_t parameter_name(const struct sn_pnd_program *program, size_t open, int index)
{
	size_t found = 0;
	int depth = 0, at = 0;

	for (size_t i = open;; i++) {
		const struct sn_pnd_token *t = token_at(program, i);

		if (t->kind == SN_TOK_END || t->punct == '{')
			return 0;
		depth +=
			(t->punct == '(' || t->punct == '[') - (t->punct == ')' || t->punct == ']');
		if (!depth)
			return found;
		if (t->punct == ',' && depth == 1)
			at++;
		else if (at == index && depth == 1 && t->kind == SN_TOK_IDENT)
			found = ends_declarator(token_at(program, i + 1)) ? i : 0;
	}
}

/* "const unsigned char *c = bytes;" or "= (char *)bytes;": the token of c, or 0. What it points to must
 * be a number, so that *c and c[i] are no addresses. */
static size_t alias_made_of(const struct sn_pnd_program *program, size_t at)
{
	static const char *const numbers[] = { "const", "char",	    "short",	"int",
					       "long",	"float",    "double",	"signed",
					       "_Bool", "unsigned", "volatile", "register",
					       NULL };
	uint32_t after = token_at(program, at + 1)->punct;
	size_t name = at - 2;

	if (after != ';' && after != ',')
		return 0;
	if (token_at(program, at - 1)->punct == ')') {
		size_t open = at - 2;

		while (token_at(program, open)->punct == '*' ||
		       is_word(token_at(program, open), numbers))
			open--;
		if (token_at(program, open)->punct != '(')
			return 0;
		name = open - 2;
	}
	if (token_at(program, name + 1)->punct != '=' ||
	    token_at(program, name)->kind != SN_TOK_IDENT ||
	    token_at(program, name - 1)->punct != '*')
		return 0;
	for (size_t i = name - 2;; i--) {
		uint32_t punct = token_at(program, i)->punct;

		if (punct == ';' || punct == '{' || punct == '}')
			return i == name - 2 ? 0 : name;
		if (!is_word(token_at(program, i), numbers))
			return 0;
	}
}

/* A pointer to numbers that is only followed and counted on. A star before it is no product: there is
 * none of a pointer. After a name it declares another one. */
static bool is_followed_only(const struct sn_pnd_program *program, size_t at)
{
	static const char *const before_values[] = { "return", "else", "do", "case", NULL };
	const struct sn_pnd_token *before = token_at(program, at - 1);
	const struct sn_pnd_token *second = token_at(program, at - 2);
	uint32_t after = token_at(program, at + 1)->punct;

	if (before->punct == '*' &&
	    (second->kind != SN_TOK_IDENT || is_word(second, before_values)))
		return second->punct != '*' && after != '[' && after != '(';
	return (before->punct == ';' || before->punct == '{' || before->punct == '}') &&
	       (after == SN_PUNCT2('+', '+') || after == SN_PUNCT2('+', '='));
}

static bool alias_leaks(const struct sn_pnd_program *program, const struct sn_pnd_host_item *item,
			size_t alias, int depth)
{
	const char *name = token_at(program, alias)->text;

	if (!sees_every_mention(program, item, name))
		return true;
	for (size_t i = item->first_token; i <= item->last_token; i++) {
		enum mention m;

		if (i == alias || !is_name(program, i, name) || is_followed_only(program, i))
			continue;
		m = classify(program, i, 1, depth);
		if (m == BAD || m == DECLARED)
			return true;
	}
	return false;
}

static bool keeps(const struct sn_pnd_program *program, size_t call, int argument, int rank,
		  int depth)
{
	const char *name = token_at(program, call)->text;
	const struct sn_pnd_host_item *item;
	size_t open = 0, param;

	if (sn_pnd_find_phase(program, name))
		return false;
	item = definition_of(program, name, &open);
	if (!item)
		return !is_forgetful(token_at(program, call));
	param = parameter_name(program, open, argument);
	if (depth > CALLS_FOLLOWED || !param ||
	    !sees_every_mention(program, item, token_at(program, param)->text))
		return true;
	for (size_t i = item->first_token; i <= item->last_token; i++) {
		enum mention m;
		size_t alias;

		if (i == param || !is_name(program, i, token_at(program, param)->text))
			continue;
		alias = alias_made_of(program, i);
		if (alias && !alias_leaks(program, item, alias, depth))
			continue;
		m = classify(program, i, rank, depth);
		if (m == BAD || m == DECLARED)
			return true;
	}
	return false;
}

/* ---- arrays ---- */

static int depth_at(const struct sn_pnd_program *program, size_t at)
{
	int depth = 0;

	for (size_t i = program->main_brace; i < at; i++) {
		uint32_t punct = token_at(program, i)->punct;

		depth += (punct == '{') - (punct == '}');
	}
	return depth;
}

static bool is_phase_call(const struct sn_pnd_program *program, size_t at)
{
	int argument;
	size_t call = call_around(program, at, &argument);

	return call && is_whole_argument(program, at, at) &&
	       sn_pnd_find_phase(program, token_at(program, call)->text);
}

/* "double *A = malloc(...)", "double (*A)[n] = calloc(...)": nobody else knows that address. Returns the brackets
 * behind an element's name, or 0. */
static int rank_of_allocated(const struct sn_pnd_program *program, size_t at, int rank)
{
	static const char *const allocators[] = { "malloc", "calloc", "aligned_alloc", NULL };
	bool is_of_rows = token_at(program, at - 2)->punct == '(';
	size_t i = is_of_rows ? after_brackets(program, at + 2, rank - 1) : at + 1;
	int depth = 0;

	if (token_at(program, at - 1)->punct != '*' || token_at(program, at - 2)->punct == '*' ||
	    (is_of_rows && token_at(program, at + 1)->punct != ')') || !i ||
	    token_at(program, i)->punct != '=')
		return 0;
	do { /* a conversion in front of the call */
		i++;
		depth += token_at(program, i)->punct == '(';
		depth -= token_at(program, i)->punct == ')';
	} while (token_at(program, i)->kind != SN_TOK_END &&
		 (depth || token_at(program, i)->punct == ')'));
	return is_word(token_at(program, i), allocators) && token_at(program, i + 1)->punct == '('
		       ? (is_of_rows ? rank : 1)
		       : 0;
}

/* "if (!A)", "A == NULL", "sizeof(*A)": what needs no element. */
static bool is_no_use(const struct sn_pnd_program *program, size_t at)
{
	static const char *const nulls[] = { "NULL", NULL }, *const sizes[] = { "sizeof", NULL };
	uint32_t after = token_at(program, at + 1)->punct;

	if (token_at(program, at - 1)->punct == '*')
		return is_word(token_at(program, at - 2), sizes) ||
		       (token_at(program, at - 2)->punct == '(' && after == ')' &&
			is_word(token_at(program, at - 3), sizes));
	if (token_at(program, at - 1)->punct == '!')
		return after == ')' || after == SN_PUNCT2('|', '|') || after == SN_PUNCT2('&', '&');
	return (after == SN_PUNCT2('=', '=') || after == SN_PUNCT2('!', '=')) &&
	       is_word(token_at(program, at + 2), nulls);
}

/* Adds the mentions in one piece of the host; false if one of them may lead anywhere. */
static bool add_mentions(const struct looker *l, const struct sn_pnd_host_item *item,
			 int *declarations)
{
	struct sn_pnd_program *program = l->program;

	if (!sees_every_mention(program, item, l->name))
		return false;
	for (size_t i = item->first_token + 1; i <= item->last_token; i++) {
		struct sn_pnd_look look = { i, false };

		if (!l->is_global && is_name(program, i, "goto"))
			return false;
		if (!is_name(program, i, l->name))
			continue;
		look.is_argument = is_phase_call(program, i);
		switch (look.is_argument				   ? WHOLE
			: rank_of_allocated(program, i, l->parameter_rank) ? DECLARED
			: is_no_use(program, i)				   ? SIZE
						: classify(program, i, l->rank, 0)) {
		case ELEMENT:
		case WHOLE:
			sn_vec_push(&program->looks, look);
			break;
		case SIZE:
			break;
		case DECLARED:
			if (l->is_global || depth_at(program, i) != 1 || ++*declarations > 1)
				return false;
			break;
		case BAD:
			return false;
		}
	}
	return true;
}

static bool mentions(const struct sn_pnd_program *program, const struct sn_pnd_host_item *item,
		     const char *name)
{
	for (size_t i = item->first_token; i <= item->last_token; i++)
		if (is_name(program, i, name))
			return true;
	return false;
}

/* How many brackets an element of an array of this rank has in main(). */
static int find_rank(const struct sn_pnd_program *program, const char *name, int rank)
{
	for (size_t h = 0; h < program->host.count; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		for (size_t i = item->first_token + 2;
		     item->kind == SN_HOST_MAIN && i <= item->last_token; i++)
			if (is_name(program, i, name) && rank_of_allocated(program, i, rank))
				return rank_of_allocated(program, i, rank);
	}
	return rank;
}

static void try_array(struct sn_pnd_program *program, const char *name, int rank)
{
	struct looker l = { program, name, rank, rank, false };
	size_t kept = program->looks.count;
	int declarations = 0;
	bool ok = true;

	for (const struct sn_pnd_var *g = program->globals; g; g = g->next)
		l.is_global |= !strcmp(g->name, name);
	l.rank = find_rank(program, name, rank);
	for (size_t h = 0; h < program->host.count && ok; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		if (item->kind == SN_HOST_TEXT && l.is_global && mentions(program, item, name))
			ok = false;
		if (item->kind == SN_HOST_MAIN || (item->kind == SN_HOST_FUNCTION && l.is_global))
			ok = add_mentions(&l, item, &declarations);
	}
	if (!ok || (!l.is_global && declarations != 1))
		program->looks.count = kept;
}

static bool is_tried(struct sn_pnd_program *program, size_t from, size_t at)
{
	for (size_t i = from; i < at; i++)
		if (is_name(program, i, token_at(program, at)->text) && is_phase_call(program, i))
			return true;
	return false;
}

/* ---- loops of calls ---- */

static bool has_only_phase_calls(const struct sn_pnd_program *program, size_t first, size_t last)
{
	static const char *const control[] = { "for", "while", "if", "sizeof", NULL };
	static const char *const leaves[] = {
		"return", "goto", "asm", "__asm__", "volatile", NULL
	};
	bool calls = false;

	for (size_t i = first; i <= last; i++) {
		const struct sn_pnd_token *t = token_at(program, i);
		bool is_phase;

		if (is_word(t, leaves))
			return false;
		if (token_at(program, i + 1)->punct != '(' || t->punct == '(' ||
		    (t->kind == SN_TOK_PUNCT && t->punct != ')' && t->punct != ']'))
			continue;
		is_phase = t->kind == SN_TOK_IDENT && sn_pnd_find_phase(program, t->text);
		if (!is_phase && !is_word(t, control))
			return false;
		calls |= is_phase;
	}
	return calls;
}

/* The brace that ends a loop with a body in braces, or 0. */
static size_t end_of_loop(const struct sn_pnd_program *program, size_t at)
{
	size_t i = at + 1;
	int depth = 0;

	if (token_at(program, i)->punct != '(')
		return 0;
	do {
		uint32_t punct = token_at(program, i++)->punct;

		if (token_at(program, i)->kind == SN_TOK_END)
			return 0;
		depth += (punct == '(') - (punct == ')');
	} while (depth);
	if (token_at(program, i)->punct != '{')
		return 0;
	do {
		uint32_t punct = token_at(program, i++)->punct;

		if (token_at(program, i)->kind == SN_TOK_END)
			return 0;
		depth += (punct == '{') - (punct == '}');
	} while (depth);
	return i - 1;
}

static void find_loops_of_calls(struct sn_pnd_program *program, const struct sn_pnd_host_item *item)
{
	static const char *const loops[] = { "for", "while", NULL };

	for (size_t i = item->first_token + 1; i < item->last_token; i++) {
		uint32_t before = token_at(program, i - 1)->punct;
		size_t end = is_word(token_at(program, i), loops) ? end_of_loop(program, i) : 0;

		if (!end || (before != ';' && before != '{' && before != '}') ||
		    token_at(program, i)->from_macro || token_at(program, end)->from_macro ||
		    !has_only_phase_calls(program, i, end))
			continue;
		sn_vec_push(&program->ahead, ((struct sn_pnd_ahead){ i, end }));
		i = end;
	}
}

static int by_token(const void *left, const void *right)
{
	const struct sn_pnd_look *a = left, *b = right;

	return a->token < b->token ? -1 : a->token > b->token;
}

void sn_pnd_find_staying(struct sn_pnd_program *program)
{
	for (size_t h = 0; h < program->host.count; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		if (item->kind != SN_HOST_MAIN)
			continue;
		find_loops_of_calls(program, item);
		for (size_t i = item->first_token; i < item->last_token; i++) {
			const struct sn_pnd_phase *phase;
			int argument;

			if (token_at(program, i)->kind != SN_TOK_IDENT ||
			    !is_phase_call(program, i) || is_tried(program, item->first_token, i))
				continue;
			phase = sn_pnd_find_phase(
				program,
				token_at(program, call_around(program, i, &argument))->text);
			for (const struct sn_pnd_var *v = phase->params; v; v = v->next)
				if (v->index == argument && v->rank)
					try_array(program, token_at(program, i)->text, v->rank);
		}
	}
	if (program->looks.count)
		qsort(program->looks.items, program->looks.count, sizeof(*program->looks.items),
		      by_token);
}
