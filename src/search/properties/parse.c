/*
 * Declarations of a file of properties. After an error the parser goes on behind the next ';' or at
 * the next '}', so that one reading finds all errors.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "search/properties/parse_parts.h"

static const char *const op_names[] = { "",	 "or",	    "and",    "not",	"<",	"<=",
					">",	 ">=",	    "==",     "!=",	"+",	"-",
					"*",	 "/",	    "-",      "sum",	"max",	"min",
					"mean",	 "count",   "argmax", "stddev", "sqrt", "abs",
					"least", "greatest" };

const char *sn_prop_op_name(enum sn_prop_op op)
{
	return op_names[op];
}

const char *sn_prop_set_name(enum sn_prop_set set)
{
	static const char *const names[] = { "threads", "processes", "subregions", "data",
					     "peers",	"locks",     "phases" };

	return names[set];
}

const char *sn_prop_member_name(int kind)
{
	return kind == SN_MEMBER_PHASE ? "phase" : sn_key_name((enum sn_key)kind);
}

/* ---- tokens ---- */

void sn_prop_parse_error(struct sn_prop_parser *p, struct sn_prop_pos pos, const char *format, ...)
{
	char text[400];
	va_list args;

	if (p->is_in_error)
		return;
	p->is_in_error = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sn_prop_report(&p->file->diags, pos, "%s", text);
}

bool sn_prop_at_mark(const struct sn_prop_parser *p, const char *mark)
{
	return p->at->kind == SN_PTOK_MARK && !strcmp(p->at->text, mark);
}

bool sn_prop_at_word(const struct sn_prop_parser *p, const char *word)
{
	return p->at->kind == SN_PTOK_WORD && !strcmp(p->at->text, word);
}

bool sn_prop_take_mark(struct sn_prop_parser *p, const char *mark)
{
	if (p->is_in_error || !sn_prop_at_mark(p, mark))
		return false;
	p->at++;
	return true;
}

bool sn_prop_take_word(struct sn_prop_parser *p, const char *word)
{
	if (p->is_in_error || !sn_prop_at_word(p, word))
		return false;
	p->at++;
	return true;
}

static const char *found(const struct sn_prop_parser *p)
{
	return p->at->kind == SN_PTOK_END      ? "the end of the file"
	       : p->at->kind == SN_PTOK_STRING ? "a text"
					       : p->at->text;
}

bool sn_prop_expect_mark(struct sn_prop_parser *p, const char *mark, const char *where)
{
	if (sn_prop_take_mark(p, mark))
		return true;
	sn_prop_parse_error(p, p->at->pos, "'%s' is missing %s; here is %s", mark, where, found(p));
	return false;
}

bool sn_prop_expect_word(struct sn_prop_parser *p, const char *word, const char *where)
{
	if (sn_prop_take_word(p, word))
		return true;
	sn_prop_parse_error(p, p->at->pos, "'%s' is missing %s; here is %s", word, where, found(p));
	return false;
}

static bool is_reserved(const char *word)
{
	static const char *const words[] = { "or",   "and",  "not",  "if", "then",
					     "else", "over", "with", "in" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

const char *sn_prop_expect_name(struct sn_prop_parser *p, const char *what, struct sn_prop_pos *pos)
{
	const char *name = p->at->text;

	*pos = p->at->pos;
	if (p->is_in_error)
		return "";
	if (p->at->kind != SN_PTOK_WORD) {
		sn_prop_parse_error(p, p->at->pos, "%s is missing; here is %s", what, found(p));
		return "";
	}
	if (is_reserved(name)) {
		sn_prop_parse_error(p, p->at->pos, "%s is missing; '%s' is a word of the language",
				    what, name);
		return "";
	}
	p->at++;
	return name;
}

/* Behind the next ';', or at a '}' or the end. */
static void recover(struct sn_prop_parser *p)
{
	while (p->at->kind != SN_PTOK_END && !sn_prop_at_mark(p, "}") && !sn_prop_at_mark(p, ";"))
		p->at++;
	p->is_in_error = false;
	sn_prop_take_mark(p, ";");
}

/* ---- lists ---- */

static void words_parse(struct sn_prop_parser *p, const char *what, sn_prop_word_vec *out)
{
	do {
		struct sn_prop_word word = { 0 };

		word.name = sn_prop_expect_name(p, what, &word.pos);
		if (!p->is_in_error)
			sn_vec_push(out, word);
	} while (sn_prop_take_mark(p, ","));
}

static struct sn_prop_context context_parse(struct sn_prop_parser *p)
{
	struct sn_prop_context context = { 0 };
	struct sn_prop_pos pos;
	const char *kind, *near = NULL;
	int k;

	context.name = sn_prop_expect_name(p, "the name of a parameter", &context.pos);
	sn_prop_expect_mark(p, ":", "after the parameter's name (\"r: region\")");
	kind = sn_prop_expect_name(p, "what the parameter is", &pos);
	for (k = 0; k < SN_KEYS; k++)
		if (!strcmp(kind, sn_key_name((enum sn_key)k)))
			break;
	for (int i = 0; i < SN_KEYS && k == SN_KEYS; i++)
		if (sn_spelling_is_near(kind, sn_key_name((enum sn_key)i)))
			near = sn_key_name((enum sn_key)i);
	if (k == SN_KEYS)
		sn_prop_parse_error(
			p, pos,
			near ? "a parameter is a region, data, process, thread, lock, file or "
			       "peer, not '%s'; did you mean '%s'?"
			     : "a parameter is a region, data, process, thread, lock, file or "
			       "peer, not '%s'%.0s",
			kind, near ? near : "");
	context.kind = k < SN_KEYS ? (enum sn_key)k : SN_KEY_REGION;
	if (context.kind != SN_KEY_REGION || !sn_prop_take_mark(p, "("))
		return context;
	do {
		const char *region = sn_prop_expect_name(p, "a kind of region", &pos);

		sn_vec_push(&context.kinds, region);
	} while (sn_prop_take_mark(p, "|"));
	sn_prop_expect_mark(p, ")", "after the kinds of region");
	return context;
}

/* ---- metric and param ---- */

/* A unit: "s", "1", "B/s". */
static const char *unit_parse(struct sn_prop_parser *p, struct sn_prop_unit *out)
{
	const struct sn_prop_token *token = p->at;
	char text[64];

	snprintf(text, sizeof(text), "%.60s", token->text);
	if (token->kind == SN_PTOK_WORD || token->kind == SN_PTOK_NUMBER) {
		p->at++;
		if (sn_prop_take_mark(p, "/") && p->at->kind == SN_PTOK_WORD) {
			snprintf(text, sizeof(text), "%.30s/%.30s", token->text, p->at->text);
			p->at++;
		}
	}
	if (!sn_prop_unit_parse(text, out))
		sn_prop_parse_error(p, token->pos,
				    "a unit must stand here: s, B, B/s, count, samples or 1");
	return sn_arena_strdup(&p->file->arena, text);
}

static void metric_parse(struct sn_prop_parser *p)
{
	struct sn_metric *metric = sn_arena_new(&p->file->arena, struct sn_metric);

	metric->name = sn_prop_expect_name(p, "the metric's name", &metric->pos);
	if (sn_prop_take_mark(p, "(")) {
		do {
			struct sn_prop_context context = context_parse(p);

			if (!p->is_in_error && metric->keys & 1u << context.kind)
				sn_prop_report(&p->file->diags, context.pos,
					       "the metric has a %s already",
					       sn_key_name(context.kind));
			metric->keys |= 1u << context.kind;
			sn_vec_free(&context.kinds);
		} while (sn_prop_take_mark(p, ","));
		sn_prop_expect_mark(p, ")", "after the metric's contexts");
	}
	if (sn_prop_expect_mark(p, ":", "before the metric's unit"))
		metric->unit_text = unit_parse(p, &metric->unit);
	metric->adds = sn_prop_take_word(p, "adds");
	if (sn_prop_take_word(p, "needs"))
		do {
			struct sn_prop_pos pos;
			const char *source = sn_prop_expect_name(p, "the name of a source", &pos);

			sn_vec_push(&metric->needs, source);
			sn_vec_push(&metric->needs_pos, pos);
		} while (sn_prop_take_mark(p, ","));
	sn_prop_expect_mark(p, ";", "at the end of the metric");
	sn_vec_push(&p->file->metrics, metric);
}

static double signed_number(struct sn_prop_parser *p, const char *what)
{
	bool is_negative = sn_prop_take_mark(p, "-");
	double value = p->at->number;

	if (p->at->kind != SN_PTOK_NUMBER) {
		sn_prop_parse_error(p, p->at->pos, "%s must be a number; here is %s", what,
				    found(p));
		return 0;
	}
	p->at++;
	return is_negative ? -value : value;
}

static void param_parse(struct sn_prop_parser *p)
{
	struct sn_param *param = sn_arena_new(&p->file->arena, struct sn_param);

	param->name = sn_prop_expect_name(p, "the parameter's name", &param->pos);
	sn_prop_expect_mark(p, "=", "after the parameter's name");
	param->value = signed_number(p, "the parameter's value");
	if (!p->is_in_error)
		param->unit_text = p->at[-1].unit;
	if (param->unit_text)
		sn_prop_unit_parse(param->unit_text, &param->unit);
	if (sn_prop_take_word(p, "range")) {
		param->has_range = true;
		param->low = signed_number(p, "the lower end");
		sn_prop_expect_mark(p, "..", "between the ends of the range");
		param->high = signed_number(p, "the upper end");
	}
	sn_prop_expect_mark(p, ";", "at the end of the parameter");
	sn_vec_push(&p->file->params, param);
}

/* ---- property ---- */

static void condition_parse(struct sn_prop_parser *p, struct sn_property *property)
{
	do {
		struct sn_prop_named condition = { .pos = p->at->pos };

		if (p->at->kind == SN_PTOK_WORD && p->at[1].kind == SN_PTOK_MARK &&
		    !strcmp(p->at[1].text, ":")) {
			condition.name =
				sn_prop_expect_name(p, "the condition's name", &condition.pos);
			sn_prop_take_mark(p, ":");
		}
		condition.expr = sn_prop_parse_expr(p);
		sn_vec_push(&property->conditions, condition);
	} while (sn_prop_take_word(p, "or"));
}

/* max( id -> expr, .. ), told from an aggregate by its arrow. */
static bool at_guards(const struct sn_prop_parser *p)
{
	return sn_prop_at_word(p, "max") && p->at[1].kind == SN_PTOK_MARK &&
	       !strcmp(p->at[1].text, "(") && p->at[2].kind == SN_PTOK_WORD &&
	       p->at[3].kind == SN_PTOK_MARK && !strcmp(p->at[3].text, "->");
}

static void guarded_parse(struct sn_prop_parser *p, struct sn_guarded *out)
{
	out->pos = p->at->pos;
	if (!at_guards(p)) {
		out->expr = sn_prop_parse_expr(p);
		return;
	}
	p->at += 2;
	do {
		struct sn_prop_named guard = { 0 };

		guard.name = sn_prop_expect_name(p, "the name of a condition", &guard.pos);
		sn_prop_expect_mark(p, "->", "after the condition's name");
		guard.expr = sn_prop_parse_expr(p);
		sn_vec_push(&out->guards, guard);
	} while (sn_prop_take_mark(p, ","));
	sn_prop_expect_mark(p, ")", "after the last condition");
}

static void named_parse(struct sn_prop_parser *p, sn_prop_named_vec *out)
{
	struct sn_prop_named named = { 0 };

	named.name = sn_prop_expect_name(p, "a name", &named.pos);
	sn_prop_expect_mark(p, "=", "after the name");
	named.expr = sn_prop_parse_expr(p);
	if (named.name[0]) /* what uses it has no error of its own */
		sn_vec_push(out, named);
}

static const char *string_parse(struct sn_prop_parser *p, struct sn_prop_pos *pos)
{
	const char *text = p->at->text;

	*pos = p->at->pos;
	if (p->at->kind != SN_PTOK_STRING) {
		sn_prop_parse_error(p, p->at->pos, "a text in double quotes must stand here");
		return NULL;
	}
	p->at++;
	return text;
}

enum clause {
	CLAUSE_LET,
	CLAUSE_WHEN,
	CLAUSE_CONDITION,
	CLAUSE_CONFIDENCE,
	CLAUSE_SEVERITY,
	CLAUSE_RATE,
	CLAUSE_EVIDENCE,
	CLAUSE_EXPLAIN,
	CLAUSE_HINT,
	CLAUSE_NEXT,
	CLAUSES
};
static const char *const clause_names[] = { "let",	"when", "condition", "confidence",
					    "severity", "rate", "evidence",  "explain",
					    "hint",	"next" };

static void clause_parse(struct sn_prop_parser *p, struct sn_property *property, enum clause clause)
{
	switch (clause) {
	case CLAUSE_LET:
		named_parse(p, &property->lets);
		break;
	case CLAUSE_WHEN:
		property->when = sn_prop_parse_expr(p);
		break;
	case CLAUSE_CONDITION:
		condition_parse(p, property);
		break;
	case CLAUSE_CONFIDENCE:
		guarded_parse(p, &property->confidence);
		break;
	case CLAUSE_SEVERITY:
		guarded_parse(p, &property->severity);
		break;
	case CLAUSE_RATE:
		guarded_parse(p, &property->rate);
		property->has_rate = true;
		break;
	case CLAUSE_EVIDENCE:
		named_parse(p, &property->evidence);
		break;
	case CLAUSE_EXPLAIN:
		property->explain = string_parse(p, &property->explain_pos);
		break;
	case CLAUSE_HINT:
		property->hint = string_parse(p, &property->hint_pos);
		break;
	case CLAUSE_NEXT:
		words_parse(p, "the name of a property", &property->next);
		break;
	case CLAUSES:
		break;
	}
}

static void all_disregard(sn_prop_named_vec *named)
{
	for (size_t i = 0; i < named->count; i++)
		named->items[i].expr->kind = SN_EXPR_WRONG;
}

/* What a clause with an error of syntax would be has no more errors. */
static void clause_disregard(struct sn_property *property, enum clause clause)
{
	struct sn_guarded *guarded = clause == CLAUSE_SEVERITY ? &property->severity
				     : clause == CLAUSE_RATE   ? &property->rate
							       : &property->confidence;
	sn_prop_named_vec *named = clause == CLAUSE_LET ? &property->lets : &property->evidence;

	if (clause == CLAUSE_WHEN && property->when)
		property->when->kind = SN_EXPR_WRONG;
	if (clause == CLAUSE_CONDITION)
		all_disregard(&property->conditions);
	if ((clause == CLAUSE_LET || clause == CLAUSE_EVIDENCE) && named->count)
		sn_vec_last(named).expr->kind = SN_EXPR_WRONG;
	if (clause != CLAUSE_SEVERITY && clause != CLAUSE_RATE && clause != CLAUSE_CONFIDENCE)
		return;
	all_disregard(&guarded->guards);
	guarded->guards.count = 0;
	if (guarded->expr)
		guarded->expr->kind = SN_EXPR_WRONG;
}

static void clause_unknown(struct sn_prop_parser *p)
{
	const char *near = NULL;

	for (size_t i = 0; i < CLAUSES && p->at->kind == SN_PTOK_WORD; i++)
		if (sn_spelling_is_near(p->at->text, clause_names[i]))
			near = clause_names[i];
	if (near)
		sn_prop_parse_error(p, p->at->pos, "there is no clause '%s'; did you mean '%s'?",
				    p->at->text, near);
	else
		sn_prop_parse_error(p, p->at->pos,
				    "a clause must begin here (let, when, condition, confidence, "
				    "severity, rate, evidence, explain, hint, next), not %s",
				    found(p));
}

static void body_clause(struct sn_prop_parser *p, struct sn_property *property, unsigned *seen)
{
	struct sn_prop_pos pos = p->at->pos;
	size_t clause = 0;

	while (clause < CLAUSES && !sn_prop_at_word(p, clause_names[clause]))
		clause++;
	if (clause == CLAUSES) {
		clause_unknown(p);
	} else {
		if (*seen & 1u << clause && clause != CLAUSE_LET && clause != CLAUSE_EVIDENCE)
			sn_prop_parse_error(p, pos, "'%s' is there already; it can stand once",
					    clause_names[clause]);
		*seen |= 1u << clause;
		p->at++;
		if (!p->is_in_error)
			clause_parse(p, property, (enum clause)clause);
		sn_prop_expect_mark(p, ";", "at the end of the clause");
		if (p->is_in_error)
			clause_disregard(property, (enum clause)clause);
	}
	if (p->is_in_error)
		recover(p);
}

static void body_parse(struct sn_prop_parser *p, struct sn_property *property)
{
	static const enum clause needed[] = { CLAUSE_CONDITION, CLAUSE_CONFIDENCE,
					      CLAUSE_SEVERITY };
	size_t errors = p->file->diags.errors;
	unsigned seen = 0;

	while (p->at->kind != SN_PTOK_END && !sn_prop_at_mark(p, "}"))
		body_clause(p, property, &seen);
	if (!sn_prop_expect_mark(p, "}", "at the end of the property") ||
	    p->file->diags.errors > errors)
		return; /* what is missing may be what was wrong */
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!(seen & 1u << needed[i])) {
			sn_prop_report(&p->file->diags, property->pos, "property '%s' has no '%s'",
				       property->name, clause_names[needed[i]]);
			return;
		}
}

static void property_parse(struct sn_prop_parser *p)
{
	struct sn_property *property = sn_arena_new(&p->file->arena, struct sn_property);

	property->file = p->file;
	property->name = sn_prop_expect_name(p, "the property's name", &property->pos);
	sn_vec_push(&p->file->properties, property);
	if (sn_prop_expect_mark(p, "(", "after the property's name") &&
	    !sn_prop_take_mark(p, ")")) {
		do {
			struct sn_prop_context context = context_parse(p);

			sn_vec_push(&property->contexts, context);
		} while (sn_prop_take_mark(p, ","));
		sn_prop_expect_mark(p, ")", "after the parameters");
	}
	if (sn_prop_take_word(p, "refines"))
		words_parse(p, "the name of a property", &property->refines);
	sn_prop_expect_mark(p, "{", "before the body of the property");
	if (p->is_in_error) { /* the body is read all the same */
		while (p->at->kind != SN_PTOK_END && !sn_prop_at_mark(p, "{") &&
		       !sn_prop_at_mark(p, "}") && !sn_prop_at_mark(p, ";"))
			p->at++;
		p->is_in_error = false;
		if (!sn_prop_take_mark(p, "{"))
			return;
	}
	body_parse(p, property);
}

/* ---- the file ---- */

static void declaration_parse(struct sn_prop_parser *p)
{
	static const char *const words[] = { "metric", "param", "property" };
	const char *near = NULL;

	if (sn_prop_take_word(p, "metric")) {
		metric_parse(p);
	} else if (sn_prop_take_word(p, "param")) {
		param_parse(p);
	} else if (sn_prop_take_word(p, "property")) {
		property_parse(p);
	} else {
		for (size_t i = 0; i < 3 && p->at->kind == SN_PTOK_WORD; i++)
			if (sn_spelling_is_near(p->at->text, words[i]))
				near = words[i];
		sn_prop_parse_error(p, p->at->pos,
				    near ? "a declaration must begin here (metric, param or "
					   "property), not %s; did you mean '%s'?"
					 : "a declaration must begin here (metric, param or "
					   "property), not %s%.0s",
				    found(p), near ? near : "");
	}
	if (p->is_in_error) {
		recover(p);
		sn_prop_take_mark(p, "}");
	}
}

struct sn_prop_file *sn_prop_parse(const char *name, const char *chars, size_t length)
{
	struct sn_prop_file *file = sn_alloc_zeroed(1, sizeof(*file));
	sn_prop_token_vec tokens = { 0 };
	struct sn_prop_parser parser = { .file = file };
	struct sn_prop_token end = { .kind = SN_PTOK_END, .text = "" };

	file->diags.arena = &file->arena;
	file->name = sn_arena_strdup(&file->arena, name);
	if (length > SN_PROP_FILE_BYTES_MAX) {
		sn_prop_report(&file->diags, (struct sn_prop_pos){ 1, 1 },
			       "a file of properties has at most 1 MB; this one has %zu bytes",
			       length);
		length = 0;
	}
	file->chars = sn_arena_strndup(&file->arena, length ? chars : "", length);
	file->length = length;
	sn_prop_lex(file, &tokens);
	end.pos = sn_vec_last(&tokens).pos;
	for (int i = 0; i < 3; i++) /* who looks ahead sees the end */
		sn_vec_push(&tokens, end);
	parser.tokens = parser.at = tokens.items;
	while (parser.at->kind != SN_PTOK_END) {
		declaration_parse(&parser);
		if (file->properties.count > SN_PROP_PROPERTIES_MAX) {
			sn_prop_report(&file->diags, sn_vec_last(&file->properties)->pos,
				       "a file has at most %d properties", SN_PROP_PROPERTIES_MAX);
			break;
		}
	}
	sn_vec_free(&tokens);
	return file;
}

static void guarded_free(struct sn_guarded *guarded)
{
	sn_vec_free(&guarded->guards);
}

static void property_free(struct sn_property *property)
{
	for (size_t i = 0; i < property->contexts.count; i++)
		sn_vec_free(&property->contexts.items[i].kinds);
	sn_vec_free(&property->contexts);
	sn_vec_free(&property->refines);
	sn_vec_free(&property->next);
	sn_vec_free(&property->lets);
	sn_vec_free(&property->conditions);
	sn_vec_free(&property->evidence);
	sn_vec_free(&property->requests);
	guarded_free(&property->confidence);
	guarded_free(&property->severity);
	guarded_free(&property->rate);
}

void sn_prop_file_free(struct sn_prop_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->metrics.count; i++) {
		sn_vec_free(&file->metrics.items[i]->needs);
		sn_vec_free(&file->metrics.items[i]->needs_pos);
	}
	for (size_t i = 0; i < file->properties.count; i++)
		property_free(file->properties.items[i]);
	sn_vec_free(&file->metrics);
	sn_vec_free(&file->params);
	sn_vec_free(&file->properties);
	sn_vec_free(&file->diags.items);
	sn_arena_free(&file->arena);
	free(file);
}
