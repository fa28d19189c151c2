/*
 * The preprocessor: macros, conditionals, includes and line markers over the raw tokens of scan.c.
 */
#include "pandore/compiler/lex.h"

#include <errno.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/text.h"
#include "pandore/compiler/headers.h"
#include "pandore/compiler/scan.h"

enum {
	INCLUDE_DEPTH_MAX = 16,
	CONDITION_DEPTH_MAX = 64,
	EXPANSION_DEPTH_MAX = 64,
	TOKENS_MAX = 4000000,
	PARAMS_MAX = 32,
};

struct token_list {
	SN_VEC(struct sn_pnd_token) items;
};

struct macro {
	bool is_live, is_function, is_fixed; /* fixed: by -D, a #define does not change it */
	bool is_expanding;
	size_t param_count;
	const char *params[PARAMS_MAX];
	struct token_list body;
};

struct condition {
	bool is_active, was_taken, parent_active, has_else;
};

struct lexer {
	struct sn_pnd_diags *diags;
	const struct sn_pnd_lex_options *options;
	struct sn_pnd_tokens *out;
	struct sn_interner names;
	SN_VEC(struct macro *) macros; /* by the name's number */
	struct token_list pending;     /* of the file read now, not yet expanded */
	struct condition conditions[CONDITION_DEPTH_MAX];
	size_t condition_depth;
	int include_depth, expansion_depth;
	bool overflowed;
	struct sn_pnd_token end; /* of the file read last */
};

static struct macro *macro_of(struct lexer *lex, const char *name, bool make)
{
	uint32_t number = make ? sn_intern_string(&lex->names, name)
			       : sn_intern_find(&lex->names, name, strlen(name));

	if (number == UINT32_MAX)
		return NULL;
	while (lex->macros.count <= number)
		sn_vec_push(&lex->macros, NULL);
	if (!lex->macros.items[number] && make)
		lex->macros.items[number] = sn_arena_new(lex->diags->arena, struct macro);
	return lex->macros.items[number];
}

static const struct macro *live_macro(struct lexer *lex, const char *name)
{
	const struct macro *m = macro_of(lex, name, false);

	return m && m->is_live ? m : NULL;
}

static void expand_range(struct lexer *lex, const struct sn_pnd_token *tokens, size_t count,
			 struct token_list *out);

static void emit_token(struct lexer *lex, struct token_list *out, struct sn_pnd_token token)
{
	if (out->items.count + lex->out->items.count >= TOKENS_MAX) {
		if (!lex->overflowed)
			sn_pnd_report(lex->diags, token.pos, 0,
				      "the program grows beyond %d tokens by its macros",
				      TOKENS_MAX);
		lex->overflowed = true;
		return;
	}
	sn_vec_push(&out->items, token);
}

/* The arguments of a macro call; tokens[0] is the opening parenthesis. The number of tokens read,
 * or 0 if the call has no end in this range. */
static size_t read_arguments(const struct sn_pnd_token *tokens, size_t count,
			     struct token_list *args, size_t *arg_count)
{
	size_t depth = 0, n = 0, i;

	for (i = 0; i < count; i++) {
		uint32_t punct = tokens[i].kind == SN_TOK_PUNCT ? tokens[i].punct : 0;

		if (punct == '(' && depth++ == 0)
			continue;
		if (punct == ')' && --depth == 0)
			break;
		if (punct == ',' && depth == 1 && n + 1 < PARAMS_MAX)
			n++;
		else
			sn_vec_push(&args[n].items, tokens[i]);
	}
	*arg_count = n + 1;
	return i < count ? i + 1 : 0;
}

static size_t param_index(const struct macro *macro, const struct sn_pnd_token *token)
{
	for (size_t i = 0; i < macro->param_count && token->kind == SN_TOK_IDENT; i++)
		if (!strcmp(macro->params[i], token->text))
			return i;
	return SIZE_MAX;
}

static bool is_hashes(const struct sn_pnd_token *token)
{
	return token->kind == SN_TOK_PUNCT && token->punct == SN_PUNCT2('#', '#');
}

/* #ARGUMENT: its tokens as written, one blank where there were some (C11 6.10.3.2). */
static struct sn_pnd_token stringified(struct lexer *lex, const struct token_list *argument,
				       struct sn_pnd_token hash)
{
	struct sn_text text = { 0 };
	struct sn_pnd_token string = hash;

	sn_text_add_char(&text, '"');
	for (size_t i = 0; i < argument->items.count; i++) {
		const struct sn_pnd_token *t = &argument->items.items[i], *last = t - 1;
		bool is_quoted = t->kind == SN_TOK_STRING || t->kind == SN_TOK_CHAR;

		if (i && t->offset != last->offset + last->length)
			sn_text_add_char(&text, ' ');
		for (const char *c = t->text; *c; c++) {
			if (is_quoted && (*c == '"' || *c == '\\'))
				sn_text_add_char(&text, '\\');
			sn_text_add_char(&text, *c);
		}
	}
	sn_text_add_char(&text, '"');
	string.kind = SN_TOK_STRING;
	string.punct = 0;
	string.text = sn_arena_strndup(lex->diags->arena, text.chars, text.length);
	string.length = text.length;
	sn_text_free(&text);
	return string;
}

/* A ## B: the last token of a list and the first of what follows become one (C11 6.10.3.3). */
static void paste(struct lexer *lex, struct sn_pnd_token *left, const struct sn_pnd_token *right)
{
	char *text = sn_arena_printf(lex->diags->arena, "%s%s", left->text, right->text);
	struct sn_pnd_scanner scan = {
		.diags = lex->diags, .chars = text, .length = strlen(text), .pos = left->pos
	};
	size_t errors = lex->diags->errors, kept = lex->diags->items.count;
	struct sn_pnd_token one = sn_pnd_scan(&scan, false);

	if (scan.at == scan.length && lex->diags->errors == errors && one.kind != SN_TOK_OTHER) {
		one.pos = left->pos;
		one.offset = left->offset;
		*left = one;
		return;
	}
	lex->diags->errors = errors;
	lex->diags->items.count = kept;
	sn_pnd_report(lex->diags, left->pos, 0, "'%.40s' and '%.40s' are no token together",
		      left->text, right->text);
}

/* The body with its arguments. Those beside # and ## stay as they were written. */
static void put_arguments(struct lexer *lex, const struct macro *macro, struct token_list *args,
			  struct token_list *body)
{
	size_t count = macro->body.items.count, pasted_from = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct sn_pnd_token *t = &macro->body.items.items[i];
		bool is_left = i + 1 < count && is_hashes(t + 1), is_right = i && is_hashes(t - 1);
		bool is_hash = args && t->kind == SN_TOK_PUNCT && t->punct == '#' && i + 1 < count;
		size_t p = args ? param_index(macro, t) : SIZE_MAX, start = body->items.count;

		if (is_hashes(t) && i && i + 1 < count)
			continue;
		if (is_hash && param_index(macro, t + 1) != SIZE_MAX) {
			i++;
			emit_token(lex, body,
				   stringified(lex, &args[param_index(macro, t + 1)], *t));
		} else if (p == SIZE_MAX) {
			emit_token(lex, body, *t);
		} else if (is_left || is_right) {
			for (size_t k = 0; k < args[p].items.count; k++)
				emit_token(lex, body, args[p].items.items[k]);
		} else {
			expand_range(lex, args[p].items.items, args[p].items.count, body);
		}
		/* pasted to what the left side gave, if it gave something */
		if (is_right && start > pasted_from && body->items.count > start) {
			paste(lex, &body->items.items[start - 1], &body->items.items[start]);
			memmove(&body->items.items[start], &body->items.items[start + 1],
				(body->items.count - start - 1) * sizeof(*body->items.items));
			body->items.count--;
		}
		if (!is_right)
			pasted_from = start;
	}
}

static void substitute(struct lexer *lex, struct macro *macro, struct token_list *args,
		       struct sn_pnd_token use, struct token_list *out)
{
	struct token_list body = { 0 };

	put_arguments(lex, macro, args, &body);
	for (size_t i = 0; i < body.items.count; i++) {
		body.items.items[i].pos = use.pos;
		body.items.items[i].offset = use.offset;
		body.items.items[i].from_macro = true;
	}
	macro->is_expanding = true;
	expand_range(lex, body.items.items, body.items.count, out);
	macro->is_expanding = false;
	sn_vec_free(&body.items);
}

/* Expands the macro call at tokens[0]; the number of tokens it took, 0 if it is no call. */
static size_t expand_call(struct lexer *lex, struct macro *macro, const struct sn_pnd_token *tokens,
			  size_t count, struct token_list *out)
{
	struct token_list *args;
	size_t taken, arg_count = 0;

	if (!macro->is_function) {
		substitute(lex, macro, NULL, tokens[0], out);
		return 1;
	}
	if (count < 2 || tokens[1].kind != SN_TOK_PUNCT || tokens[1].punct != '(')
		return 0;
	args = sn_arena_array(lex->diags->arena, struct token_list, PARAMS_MAX);
	taken = read_arguments(tokens + 1, count - 1, args, &arg_count);
	if (macro->param_count == 0 && arg_count == 1 && args[0].items.count == 0)
		arg_count = 0;
	if (!taken || arg_count != macro->param_count)
		sn_pnd_report(lex->diags, tokens[0].pos, 0,
			      "macro '%s' takes %zu arguments, not %zu", tokens[0].text,
			      macro->param_count, arg_count);
	else
		substitute(lex, macro, args, tokens[0], out);
	for (size_t i = 0; i < PARAMS_MAX; i++)
		sn_vec_free(&args[i].items);
	return taken ? taken + 1 : count;
}

static void expand_range(struct lexer *lex, const struct sn_pnd_token *tokens, size_t count,
			 struct token_list *out)
{
	if (lex->expansion_depth >= EXPANSION_DEPTH_MAX || lex->overflowed)
		return;
	lex->expansion_depth++;
	for (size_t i = 0; i < count;) {
		struct macro *macro = tokens[i].kind == SN_TOK_IDENT
					      ? macro_of(lex, tokens[i].text, false)
					      : NULL;
		size_t taken = 0;

		if (macro && macro->is_live && !macro->is_expanding)
			taken = expand_call(lex, macro, tokens + i, count - i, out);
		if (!taken) {
			emit_token(lex, out, tokens[i]);
			taken = 1;
		}
		i += taken;
	}
	lex->expansion_depth--;
}

/* Expands onto the end of the program's tokens, which are lent to a list for that. */
static void flush(struct lexer *lex)
{
	struct token_list list = { 0 };

	list.items.items = lex->out->items.items;
	list.items.count = lex->out->items.count;
	list.items.capacity = lex->out->items.capacity;
	expand_range(lex, lex->pending.items.items, lex->pending.items.count, &list);
	lex->out->items.items = list.items.items;
	lex->out->items.count = list.items.count;
	lex->out->items.capacity = list.items.capacity;
	lex->pending.items.count = 0;
}

static bool is_active(const struct lexer *lex)
{
	return !lex->condition_depth || lex->conditions[lex->condition_depth - 1].is_active;
}

/* Replaces "defined X" and "defined(X)" by 0 or 1. */
static void resolve_defined(struct lexer *lex, struct token_list *line)
{
	size_t kept = 0;

	for (size_t i = 0; i < line->items.count; i++) {
		struct sn_pnd_token token = line->items.items[i];
		size_t n = i + 1;
		bool paren;

		if (token.kind == SN_TOK_IDENT && !strcmp(token.text, "defined")) {
			paren = n < line->items.count && line->items.items[n].punct == '(';
			n += paren;
			if (n < line->items.count && line->items.items[n].kind == SN_TOK_IDENT) {
				token.kind = SN_TOK_INT;
				token.text = live_macro(lex, line->items.items[n].text) ? "1" : "0";
				i = n + paren;
			}
		}
		line->items.items[kept++] = token;
	}
	line->items.count = kept;
}

static bool condition_holds(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct token_list line = { 0 }, expanded = { 0 };
	struct sn_pnd_token token;
	int64_t value = 0;

	while ((token = sn_pnd_scan(scan, true)).kind != SN_TOK_END)
		sn_vec_push(&line.items, token);
	resolve_defined(lex, &line);
	expand_range(lex, line.items.items, line.items.count, &expanded);
	if (!sn_pnd_condition_value(expanded.items.items, expanded.items.count, &value))
		sn_pnd_report(lex->diags, pos, 0,
			      "this condition is not an integer constant expression");
	sn_vec_free(&line.items);
	sn_vec_free(&expanded.items);
	return value != 0;
}

static void condition_push(struct lexer *lex, bool parent, bool holds, struct sn_pnd_pos pos)
{
	if (lex->condition_depth == CONDITION_DEPTH_MAX) {
		sn_pnd_report(lex->diags, pos, 0, "conditionals nest deeper than %d",
			      CONDITION_DEPTH_MAX);
		return;
	}
	lex->conditions[lex->condition_depth++] =
		(struct condition){ parent && holds, parent && holds, parent, false };
}

/* ---- directives ---- */

static void record(struct lexer *lex, struct sn_pnd_pos pos, const char *text)
{
	struct sn_pnd_directive d = { text, lex->out->items.count, pos };

	sn_vec_push(&lex->out->directives, d);
}

static void read_macro_params(struct lexer *lex, struct sn_pnd_scanner *scan, struct macro *macro,
			      struct sn_pnd_pos pos)
{
	struct sn_pnd_token token;

	macro->is_function = true;
	sn_pnd_scan(scan, true); /* the parenthesis */
	token = sn_pnd_scan(scan, true);
	while (token.kind == SN_TOK_IDENT && macro->param_count < PARAMS_MAX) {
		macro->params[macro->param_count++] = token.text;
		token = sn_pnd_scan(scan, true);
		if (token.punct != ',')
			break;
		token = sn_pnd_scan(scan, true);
	}
	if (token.punct != ')')
		sn_pnd_report(lex->diags, pos, 0, "the parameters of this macro are not names");
}

static void directive_define(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct sn_pnd_token name = sn_pnd_scan(scan, true), token;
	struct sn_pnd_scanner look = *scan;
	struct macro *macro;
	bool has_params;

	if (name.kind != SN_TOK_IDENT) {
		sn_pnd_report(lex->diags, pos, 0, "#define needs a name");
		return;
	}
	macro = macro_of(lex, name.text, true);
	if (macro->is_fixed)
		return;
	has_params = scan->at < scan->length && scan->chars[scan->at] == '(';
	record(lex, pos,
	       sn_arena_printf(lex->diags->arena, "#define %s%s", name.text,
			       sn_pnd_scan_rest(&look)));
	sn_vec_free(&macro->body.items);
	*macro = (struct macro){ .is_live = true };
	if (has_params)
		read_macro_params(lex, scan, macro, pos);
	while ((token = sn_pnd_scan(scan, true)).kind != SN_TOK_END)
		sn_vec_push(&macro->body.items, token);
}

static void directive_undef(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct sn_pnd_token name = sn_pnd_scan(scan, true);
	struct macro *macro = name.kind == SN_TOK_IDENT ? macro_of(lex, name.text, false) : NULL;

	if (name.kind != SN_TOK_IDENT) {
		sn_pnd_report(lex->diags, pos, 0, "#undef needs a name");
		return;
	}
	if (macro && !macro->is_fixed)
		macro->is_live = false;
	if (!macro || !macro->is_fixed)
		record(lex, pos, sn_arena_printf(lex->diags->arena, "#undef %s", name.text));
}

static void lex_file(struct lexer *lex, int file);

static bool try_include(struct lexer *lex, const char *path, const char *shown)
{
	struct sn_file_view view = { 0 };
	struct sn_pnd_file file;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return false;
	file.name = shown;
	file.chars = sn_arena_strndup(lex->diags->arena, (const char *)view.bytes, view.length);
	file.length = view.length;
	sn_file_unmap(&view);
	sn_vec_push(&lex->diags->files, file);
	lex->include_depth++;
	lex_file(lex, (int)lex->diags->files.count - 1);
	lex->include_depth--;
	return true;
}

static void include_quoted(struct lexer *lex, const char *name, struct sn_pnd_pos pos)
{
	const char *from = lex->diags->files.items[pos.file].name, *slash = strrchr(from, '/');
	struct sn_arena *arena = lex->diags->arena;
	const char *path;

	if (!lex->options->may_read_files || lex->include_depth >= INCLUDE_DEPTH_MAX) {
		sn_pnd_report(lex->diags, pos, 0, "cannot include '%.200s' here%s", name,
			      lex->options->may_read_files ? ": files include each other" : "");
		return;
	}
	flush(lex);
	path = slash && name[0] != '/'
		       ? sn_arena_printf(arena, "%.*s/%s", (int)(slash - from), from, name)
		       : name;
	if (try_include(lex, path, path))
		return;
	for (size_t i = 0; i < lex->options->include_folder_count; i++) {
		path = sn_arena_printf(arena, "%s/%s", lex->options->include_folders[i], name);
		if (try_include(lex, path, path))
			return;
	}
	sn_pnd_report(lex->diags, pos, 0, "cannot read '%.200s': name its folder with -I", name);
}

static struct macro *define_as(struct lexer *lex, const char *where, const char *name,
			       const char *value)
{
	struct macro *macro = macro_of(lex, name, true);
	struct sn_pnd_file file = { where, value, strlen(value) };
	struct sn_pnd_scanner scan;
	struct sn_pnd_token token;

	sn_vec_push(&lex->diags->files, file);
	scan = sn_pnd_scanner_over(lex->diags, (int)lex->diags->files.count - 1);
	sn_vec_free(&macro->body.items);
	*macro = (struct macro){ .is_live = true };
	while ((token = sn_pnd_scan(&scan, false)).kind != SN_TOK_END)
		sn_vec_push(&macro->body.items, token);
	return macro;
}

/* The C compiler reads the header itself; phases get what they may use of it. */
static void define_standard(struct lexer *lex, const char *header, size_t length)
{
	for (const struct sn_pnd_standard_macro *m = sn_pnd_standard_macros; m->name; m++)
		if (strlen(m->header) == length && !strncmp(m->header, header, length) &&
		    !live_macro(lex, m->name))
			define_as(lex, m->header, m->name, m->value);
}

static void directive_include(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct sn_pnd_scanner look = *scan;
	struct sn_pnd_token name = sn_pnd_scan(scan, true);
	const char *rest = sn_pnd_scan_rest(&look), *close;

	while (*rest == ' ' || *rest == '\t')
		rest++;
	close = *rest == '<' ? strchr(rest, '>') : NULL;
	if (close && close > rest + 1) {
		*scan = look;
		record(lex, pos,
		       sn_arena_printf(lex->diags->arena, "#include %.*s", (int)(close - rest) + 1,
				       rest));
		define_standard(lex, rest + 1, (size_t)(close - rest) - 1);
		return;
	}
	if (name.kind != SN_TOK_STRING || name.length <= 2) {
		sn_pnd_report(lex->diags, pos, 0, "#include needs \"file\" or <file>");
		return;
	}
	include_quoted(lex, sn_arena_strndup(lex->diags->arena, name.text + 1, name.length - 2),
		       pos);
}

static void directive_pragma(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct sn_pnd_token what = sn_pnd_scan(scan, true), verb, token;

	if (what.kind != SN_TOK_IDENT || strcmp(what.text, "pandore"))
		return; /* not ours */
	verb = sn_pnd_scan(scan, true);
	token = sn_pnd_scan(scan, true);
	if (verb.kind == SN_TOK_IDENT && !strcmp(verb.text, "zone") && token.kind == SN_TOK_IDENT) {
		token.kind = SN_TOK_ZONE;
	} else if (verb.kind == SN_TOK_IDENT && !strcmp(verb.text, "observe") &&
		   (token.kind == SN_TOK_STRING || token.kind == SN_TOK_END)) {
		token.text = token.kind == SN_TOK_END || token.length < 2
				     ? ""
				     : sn_arena_strndup(lex->diags->arena, token.text + 1,
							token.length - 2);
		token.kind = SN_TOK_OBSERVE;
	} else {
		sn_pnd_report(lex->diags, pos, 0,
			      "a pandore pragma is 'zone NAME' or 'observe [\"LABEL\"]'");
		return;
	}
	token.pos = pos;
	sn_vec_push(&lex->pending.items, token);
}

/* "# 12 "file"" and "#line 12 "file"": what follows stands there. */
static void line_marker(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_token number)
{
	int64_t line = 0;

	if (!sn_pnd_integer_value(&number, &line) || line < 1 || line > 100000000) {
		sn_pnd_report(lex->diags, number.pos, 0, "a line marker needs a line number");
		return;
	}
	sn_pnd_scan_rest(scan);
	scan->pos.line = (int)line - 1; /* the newline to come adds one */
}

static bool conditional_directive(struct lexer *lex, struct sn_pnd_scanner *scan,
				  const struct sn_pnd_token *name)
{
	struct condition *top =
		lex->condition_depth ? &lex->conditions[lex->condition_depth - 1] : NULL;
	bool active = is_active(lex), is_if = !strcmp(name->text, "if");
	bool is_ifdef = !strcmp(name->text, "ifdef"), is_ifndef = !strcmp(name->text, "ifndef");
	bool is_elif = !strcmp(name->text, "elif"), is_else = !strcmp(name->text, "else");

	if (is_if || is_ifdef || is_ifndef) {
		bool holds = false;

		flush(lex);
		if (active && is_if)
			holds = condition_holds(lex, scan, name->pos);
		else if (active)
			holds = (live_macro(lex, sn_pnd_scan(scan, true).text) != NULL) == is_ifdef;
		condition_push(lex, active, holds, name->pos);
		return true;
	}
	if (!is_elif && !is_else && strcmp(name->text, "endif"))
		return false;
	flush(lex);
	if (!top || (top->has_else && (is_elif || is_else))) {
		sn_pnd_report(lex->diags, name->pos, 0, "#%s without #if", name->text);
	} else if (is_else || is_elif) {
		top->has_else |= is_else;
		top->is_active = top->parent_active && !top->was_taken &&
				 (is_else || condition_holds(lex, scan, name->pos));
		top->was_taken |= top->is_active;
	} else {
		lex->condition_depth--;
	}
	return true;
}

static void directive(struct lexer *lex, struct sn_pnd_scanner *scan, struct sn_pnd_pos pos)
{
	struct sn_pnd_token name = sn_pnd_scan(scan, true);

	if (name.kind == SN_TOK_END)
		return;
	if (name.kind == SN_TOK_IDENT && conditional_directive(lex, scan, &name)) {
		sn_pnd_scan_rest(scan);
		return;
	}
	if (is_active(lex)) {
		flush(lex);
		if (name.kind == SN_TOK_INT)
			line_marker(lex, scan, name);
		else if (!strcmp(name.text, "line"))
			line_marker(lex, scan, sn_pnd_scan(scan, true));
		else if (!strcmp(name.text, "define"))
			directive_define(lex, scan, pos);
		else if (!strcmp(name.text, "undef"))
			directive_undef(lex, scan, pos);
		else if (!strcmp(name.text, "include"))
			directive_include(lex, scan, pos);
		else if (!strcmp(name.text, "pragma"))
			directive_pragma(lex, scan, pos);
		else if (!strcmp(name.text, "error"))
			sn_pnd_report(lex->diags, pos, 0, "#error%s", sn_pnd_scan_rest(scan));
		else
			sn_pnd_report(lex->diags, pos, 0, "#%.40s is not a directive known here",
				      name.text);
	}
	sn_pnd_scan_rest(scan);
}

static void lex_file(struct lexer *lex, int file)
{
	struct sn_pnd_scanner scan = sn_pnd_scanner_over(lex->diags, file);
	size_t depth = lex->condition_depth;
	struct sn_pnd_token token;

	for (;;) {
		bool line_start;
		int line = scan.pos.line;

		token = sn_pnd_scan(&scan, false);
		if (token.kind == SN_TOK_END)
			break;
		line_start = token.offset == 0 || line != token.pos.line;
		for (size_t i = token.offset; !line_start && i > 0; i--) {
			char c = scan.chars[i - 1];

			if (c == '\n')
				line_start = true;
			else if (c != ' ' && c != '\t')
				break;
			else
				line_start = i == 1;
		}
		if (token.punct == '#' && line_start)
			directive(lex, &scan, token.pos);
		else if (is_active(lex))
			sn_vec_push(&lex->pending.items, token);
	}
	flush(lex);
	lex->end = token;
	if (lex->condition_depth > depth)
		sn_pnd_report(lex->diags, token.pos, 0, "an #if has no #endif");
	lex->condition_depth = depth < lex->condition_depth ? depth : lex->condition_depth;
}

static void predefine(struct lexer *lex, const struct sn_pnd_define *define)
{
	define_as(lex, "-D", define->name, define->value)->is_fixed = true;
	record(lex, (struct sn_pnd_pos){ .file = (int)lex->diags->files.count - 1, .line = 1 },
	       sn_arena_printf(lex->diags->arena, "#define %s %s", define->name, define->value));
}

static void keep_node_count(struct lexer *lex)
{
	struct macro *macro = macro_of(lex, "P", false);
	struct token_list out = { 0 };

	if (!macro || !macro->is_live || macro->is_function)
		return;
	expand_range(lex, macro->body.items.items, macro->body.items.count, &out);
	for (size_t i = 0; i < out.items.count; i++)
		sn_vec_push(&lex->out->nodes, out.items.items[i]);
	sn_vec_push(&lex->out->nodes, lex->end);
	sn_vec_free(&out.items);
}

void sn_pnd_lex(struct sn_pnd_diags *diags, const struct sn_pnd_lex_options *options,
		struct sn_pnd_tokens *out)
{
	struct lexer lex = { .diags = diags, .options = options, .out = out };
	for (size_t i = 0; i < options->define_count; i++)
		predefine(&lex, &options->defines[i]);
	lex_file(&lex, 0);
	lex.end.text = "the end of the file";
	sn_vec_push(&out->items, lex.end);
	keep_node_count(&lex);
	for (size_t i = 0; i < lex.macros.count; i++)
		if (lex.macros.items[i])
			sn_vec_free(&lex.macros.items[i]->body.items);
	sn_vec_free(&lex.macros);
	sn_vec_free(&lex.pending.items);
	sn_interner_free(&lex.names);
}

void sn_pnd_tokens_free(struct sn_pnd_tokens *tokens)
{
	sn_vec_free(&tokens->items);
	sn_vec_free(&tokens->directives);
	sn_vec_free(&tokens->nodes);
}

bool sn_pnd_integer_value(const struct sn_pnd_token *token, int64_t *out)
{
	uint64_t bits;

	if (!sn_pnd_integer_bits(token, &bits) || (token->kind == SN_TOK_INT && bits > INT64_MAX))
		return false;
	*out = (int64_t)bits;
	return true;
}

bool sn_pnd_integer_bits(const struct sn_pnd_token *token, uint64_t *out)
{
	static const char escapes[] = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\"??";
	unsigned long long value;
	char *end;

	if (token->kind == SN_TOK_CHAR) {
		const char *c = token->text + 1;

		if (*c != '\\' && c[0] && c[1] == '\'') {
			*out = (uint64_t)(signed char)*c;
			return true;
		}
		if (*c != '\\' || !c[1])
			return false;
		for (const char *e = escapes; *e; e += 2)
			if (*e == c[1] && c[2] == '\'') {
				*out = (uint64_t)e[1];
				return true;
			}
		if (c[1] == 'x' && isxdigit((unsigned char)c[2]))
			value = strtoull(c + 2, &end, 16);
		else if (c[1] >= '0' && c[1] <= '7')
			value = strtoull(c + 1, &end, 8);
		else
			return false;
		*out = (uint64_t)(signed char)value;
		return *end == '\'' && value < 256;
	}
	errno = 0;
	value = strtoull(token->text, &end, 0);
	*out = value;
	return !errno && end != token->text;
}
