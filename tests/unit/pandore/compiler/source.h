/* What the tests of the compiler share: a source in memory, parsed, and its findings. */
#ifndef PANDORE_TEST_SOURCE_H
#define PANDORE_TEST_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "pandore/compiler/ast.h"
#include "pandore/compiler/compile.h"
#include "pandore/compiler/emit.h"

struct source {
	struct sn_arena arena;
	struct sn_pnd_diags diags;
	struct sn_pnd_program program;
};

static inline void source_parse(struct source *s, const char *text)
{
	struct sn_pnd_lex_options options = { 0 };
	struct sn_pnd_file file = { "t.pnd", text, strlen(text) };

	memset(s, 0, sizeof(*s));
	s->diags.arena = &s->arena;
	sn_vec_push(&s->diags.files, file);
	s->program.arena = &s->arena;
	s->program.diags = &s->diags;
	sn_pnd_lex(&s->diags, &options, &s->program.tokens);
	sn_pnd_parse(&s->program);
}

static inline void source_free(struct source *s)
{
	sn_pnd_program_free(&s->program);
	sn_pnd_diags_free(&s->diags);
	sn_arena_free(&s->arena);
}

/** "4:29 P01, 5:2 P12" in the order of the source; remarks are left out. Lives in the arena. */
static inline const char *source_findings(struct source *s)
{
	struct sn_text text = { 0 };
	const char *copy;
	FILE *nowhere = fopen("/dev/null", "w");

	if (nowhere) { /* printing puts them in order */
		sn_pnd_diags_print(&s->diags, nowhere, false);
		fclose(nowhere);
	}
	for (size_t i = 0; i < s->diags.items.count; i++) {
		const struct sn_pnd_diag *d = &s->diags.items.items[i];

		if (d->severity == SN_PND_REMARK)
			continue;
		sn_text_addf(&text, "%s%d:%d P%02d%s", text.length ? ", " : "", d->pos.line,
			     d->pos.column, d->code, d->severity == SN_PND_WARNING ? "w" : "");
	}
	copy = sn_arena_strdup(&s->arena, text.chars ? text.chars : "");
	sn_text_free(&text);
	return copy;
}

/** The first statement of a kind in the program's first phase, in the order of the text. */
static inline const struct sn_pnd_stmt *source_find(const struct sn_pnd_stmt *s,
						    enum sn_pnd_stmt_kind kind)
{
	const struct sn_pnd_stmt *found;

	for (; s; s = s->next) {
		if (s->kind == kind)
			return s;
		found = source_find(s->first, kind);
		if (!found)
			found = source_find(s->body, kind);
		if (!found)
			found = source_find(s->otherwise, kind);
		if (found)
			return found;
	}
	return NULL;
}

#endif
