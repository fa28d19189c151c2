/* What the files of the parser share: tokens, words of types, words that are refused, names. */
#include "pandore/compiler/parser.h"

#include <string.h>

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

/* What to write in the place of C that is no Pandore C. */
static const char *advice_on(const char *what, const struct sn_pnd_token *found)
{
	static const struct {
		const char *expected, *found, *advice; /* expected: a part of what was, or NULL */
	} advice[] = {
		{ "subscript", ",", "; each subscript has brackets of its own: A[i][j]" },
		{ "the loop's", ",",
		  "; a loop has one counter: set others before it and in its body" },
		{ "'map'", NULL, "; write by block(...) map regular(...)" },
		{ NULL, "map", "; block sizes come before it: by block(...) map regular(...)" },
		{ NULL, "by", "; a distribution follows the array's extents, before mode" },
		{ "condition", "=", "; a condition compares with ==" },
		{ "assignment", "=", "; each assignment is a statement of its own" },
		{ "expression", "++", "; ++ and -- are statements of their own" },
		{ "expression", "--", "; ++ and -- are statements of their own" },
		{ "')'", "=", "; an assignment has no value here and is a statement of its own" },
		{ "assignment", "?", "; what depends on a condition is written with if and else" },
	};

	for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++)
		if ((!advice[i].expected || strstr(what, advice[i].expected)) &&
		    (!advice[i].found || !strcmp(found->text, advice[i].found)))
			return advice[i].advice;
	return "";
}

void sn_pnd_expected(struct sn_pnd_parser *p, const char *what)
{
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	if (t->kind == SN_TOK_END)
		sn_pnd_report(p->diags, t->pos, 0, "expected %s, found the end of the file", what);
	else
		sn_pnd_report(p->diags, t->pos, 0, "expected %s, found '%.60s'%s", what, t->text,
			      advice_on(what, t));
}

bool sn_pnd_expect(struct sn_pnd_parser *p, uint32_t punct, const char *what)
{
	if (sn_pnd_accept(p, punct))
		return true;
	sn_pnd_expected(p, what);
	return false;
}

size_t sn_pnd_type_length(const struct sn_pnd_parser *p, enum sn_pnd_type *out)
{
	struct sn_pnd_type_words words = { 0 };

	while (sn_pnd_peek(p, words.count)->kind == SN_TOK_IDENT &&
	       sn_pnd_type_add_word(&words, sn_pnd_peek(p, words.count)->text))
		;
	*out = sn_pnd_type_of_words(&words);
	return words.count;
}

bool sn_pnd_at_type(const struct sn_pnd_parser *p)
{
	enum sn_pnd_type type;

	return sn_pnd_type_length(p, &type) > 0;
}

void sn_pnd_refuse_type(struct sn_pnd_parser *p, size_t length)
{
	struct sn_text name = { 0 };
	bool is_long_double = false;

	for (size_t i = 0; i < length; i++) {
		is_long_double |= length == 2 && !strcmp(sn_pnd_peek(p, i)->text, "double");
		sn_text_addf(&name, "%s%.20s", i ? " " : "", sn_pnd_peek(p, i)->text);
	}
	if (is_long_double)
		sn_pnd_note_foreign(p);
	sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8, "'%.80s' is no type of Pandore C%s",
		      name.chars, is_long_double ? "; use double" : "");
	sn_text_free(&name);
}

bool sn_pnd_parse_type(struct sn_pnd_parser *p, const char *what, enum sn_pnd_type *out)
{
	size_t length = sn_pnd_type_length(p, out);

	if (!length && !sn_pnd_refuse_word(p))
		sn_pnd_expected(p, what);
	else if (length && *out == SN_T_NONE)
		sn_pnd_refuse_type(p, length);
	if (!length || *out == SN_T_NONE)
		return false;
	p->at += length;
	return true;
}

static const char *const c_words[] = {
	"auto",	  "break",  "case",   "char",	  "const",    "continue", "default",  "do",
	"double", "else",   "enum",   "extern",	  "float",    "for",	  "goto",     "if",
	"inline", "int",    "long",   "register", "restrict", "return",	  "short",    "signed",
	"sizeof", "static", "struct", "switch",	  "typedef",  "union",	  "unsigned", "void",
	"while",  "asm",    "typeof", "volatile", "main",     "_Bool",	  "_Complex", "__int128",
};

bool sn_pnd_is_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++)
		if (c_words[i][0] == name[0] && !strcmp(c_words[i], name))
			return true;
	return false;
}

/* "NAME NAME" where the first is a type of the C library's headers, which only the host sees. */
bool sn_pnd_refuse_typedef(struct sn_pnd_parser *p)
{
	static const struct {
		const char *name, *ours;
	} names[] = {
		{ "bool", "_Bool" },
		{ "int8_t", "signed char" },
		{ "uint8_t", "unsigned char" },
		{ "int16_t", "short" },
		{ "uint16_t", "unsigned short" },
		{ "int32_t", "int" },
		{ "uint32_t", "unsigned" },
		{ "int64_t", "long" },
		{ "uint64_t", "unsigned long" },
		{ "size_t", "unsigned long" },
		{ "ssize_t", "long" },
		{ "ptrdiff_t", "long" },
		{ "intptr_t", "long" },
		{ "uintptr_t", "unsigned long" },
	};

	const struct sn_pnd_token *name = sn_pnd_peek(p, 0), *next = sn_pnd_peek(p, 1);
	const char *why;

	if (name->kind != SN_TOK_IDENT ||
	    (next->kind != SN_TOK_IDENT && next->punct != '*' && next->punct != ')') ||
	    sn_pnd_find_var(p, name->text))
		return false;
	sn_pnd_note_foreign(p);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sn_pnd_at_word(p, names[i].name)) {
			sn_pnd_report(p->diags, name->pos, 8,
				      "'%s' is a type of a header, which is for the host alone; "
				      "write %s",
				      names[i].name, names[i].ours);
			return true;
		}
	why = next->punct != '*' ? sn_pnd_why_foreign(p, name->text) : NULL;
	if (why)
		sn_pnd_report(p->diags, name->pos, 8, "'%s' %s", name->text, why);
	return why;
}

bool sn_pnd_refuse_word(struct sn_pnd_parser *p)
{
	static const struct {
		const char *word, *reason;
		bool may_be_hosts; /* at file scope */
	} refused[] = {
		{ "goto", "goto is not in Pandore C; use loops and conditions", false },
		{ "switch", "switch is not in Pandore C; use if and else", false },
		{ "case", "a case belongs to switch, which is not in Pandore C; use if and else",
		  false },
		{ "default", "a default belongs to switch, which is not in Pandore C; use else",
		  false },
		{ "struct", "structures are not in Pandore C; use arrays", true },
		{ "union", "unions are not in Pandore C; use arrays", true },
		{ "enum", "an enumeration stands outside of phases and functions", true },
		{ "typedef", "typedef is not in Pandore C; write the type", true },
		{ "extern", "extern is not in Pandore C; pass what is outside as a parameter",
		  true },
		{ "static",
		  "static is not in Pandore C, a phase keeps nothing between its calls; "
		  "make it a parameter",
		  false },
		{ "register", "register is not in Pandore C; leave the word out", true },
		{ "volatile", "volatile is not in Pandore C; leave the word out", true },
		{ "sizeof", "sizeof is not in Pandore C; write the number of bytes", false },
	};
	const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

	for (size_t i = 0; t->kind == SN_TOK_IDENT && i < sizeof(refused) / sizeof(*refused); i++)
		if (t->text[0] == refused[i].word[0] && !strcmp(t->text, refused[i].word)) {
			if (refused[i].may_be_hosts)
				sn_pnd_note_foreign(p);
			sn_pnd_report(p->diags, t->pos, 8, "%s", refused[i].reason);
			return true;
		}
	return sn_pnd_refuse_typedef(p);
}

struct sn_pnd_var *sn_pnd_find_var(const struct sn_pnd_parser *p, const char *name)
{
	for (const struct sn_pnd_scope *s = p->scope; s; s = s->outer) {
		if (s->counter && !strcmp(s->counter->spelled, name))
			return s->counter;
		for (struct sn_pnd_var *v = s->vars; v; v = v->next)
			if (!strcmp(v->spelled, name))
				return v;
	}
	return NULL;
}

struct sn_pnd_var *sn_pnd_find_constant(const struct sn_pnd_program *program, const char *name)
{
	for (struct sn_pnd_var *g = program->globals; g; g = g->next)
		if (g->is_const && !strcmp(g->spelled, name))
			return g;
	return NULL;
}

static bool is_seen(const struct sn_pnd_parser *p, const char *name)
{
	for (const struct sn_pnd_var *v = p->counters; v; v = v->next)
		if (!strcmp(v->spelled, name))
			return true;
	return sn_pnd_find_var(p, name) || sn_pnd_find_constant(p->program, name);
}

void sn_pnd_name_apart(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	if (is_seen(p, var->spelled))
		var->name =
			sn_arena_printf(p->arena, "pd_%s_%d", var->spelled, ++p->program->names);
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
		if (!strcmp((*list)->spelled, var->spelled) && !(*list)->is_unknown) {
			sn_pnd_report(p->diags, var->pos, 12, "'%s' is declared twice",
				      var->spelled);
			return;
		}
	*list = var;
}
