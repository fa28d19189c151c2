/* Declarations at file scope that are C and no Pandore C: text for the C compiler, out of reach of phases. */
#include "pandore/compiler/parser.h"

#include <string.h>

void sn_pnd_note_foreign(struct sn_pnd_parser *p)
{
	p->is_for_host |= !p->phase && !p->function;
}

/* A ';' was left out behind a structure: better that the C compiler says so than that all the rest is one
 * declaration. */
static bool begins_another(const struct sn_pnd_token *t)
{
	static const char *const words[] = { "dist",   "typedef", "struct", "static", "extern",
					     "double", "float",	  "int",    "long",   "void" };

	for (size_t i = 0; t->kind == SN_TOK_IDENT && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(t->text, words[i]))
			return true;
	return t->kind == SN_TOK_END;
}

/* The last token of a declaration: its ';'. */
static size_t end_of_declaration(struct sn_pnd_parser *p, size_t first)
{
	size_t at = first;

	for (;; at++) {
		const struct sn_pnd_token *t;

		p->at = at;
		t = sn_pnd_peek(p, 0);
		if (t->kind == SN_TOK_END)
			return at > first ? at - 1 : first;
		if (t->punct == '{') {
			at = p->at = sn_pnd_matching_brace(p, at);
			if (begins_another(sn_pnd_peek(p, 1)))
				return at;
		}
		if (t->punct == ';')
			return at;
	}
}

void sn_pnd_pass_to_host(struct sn_pnd_parser *p, size_t first)
{
	struct sn_pnd_host_item item = { .kind = SN_HOST_TEXT, .first_token = first };

	item.last_token = end_of_declaration(p, first);
	p->at = item.last_token + 1;
	sn_vec_push(&p->program->host, item);
}

/* "typedef WORDS NAME;": what to write in the place of NAME. */
static const char *advice_on_type(struct sn_pnd_parser *p, const struct sn_pnd_host_item *item)
{
	struct sn_pnd_parser at = *p;
	enum sn_pnd_type type;
	size_t length;

	at.at = item->first_token + 1;
	length = sn_pnd_type_length(&at, &type);
	if (!length || type == SN_T_NONE || at.at + length + 1 != item->last_token)
		return "is a type of the host; phases have the types of C and arrays of them";
	return sn_arena_printf(p->arena, "is a type of the host; write %s", sn_pnd_type_name(type));
}

static bool declares(const struct sn_pnd_program *program, const struct sn_pnd_host_item *item,
		     const char *name)
{
	int depth = 0;

	for (size_t i = item->first_token; i <= item->last_token; i++) {
		const struct sn_pnd_token *t = &program->tokens.items.items[i];

		depth += t->punct == '{' ? 1 : t->punct == '}' ? -1 : 0;
		if (!depth && t->kind == SN_TOK_IDENT && !strcmp(t->text, name))
			return true;
	}
	return false;
}

const char *sn_pnd_why_foreign(struct sn_pnd_parser *p, const char *name)
{
	const struct sn_pnd_program *program = p->program;

	for (size_t h = 0; h < program->host.count; h++) {
		const struct sn_pnd_host_item *item = &program->host.items[h];

		if (item->kind != SN_HOST_TEXT || !declares(program, item, name))
			continue;
		if (!strcmp(program->tokens.items.items[item->first_token].text, "typedef"))
			return advice_on_type(p, item);
		return p->phase ? "is declared for the host alone; pass what is needed of it as a "
				  "parameter"
				: "is declared for the host alone; a function that a phase calls "
				  "cannot use it";
	}
	return NULL;
}
