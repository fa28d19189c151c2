/* dist NAME(parameters with their distributions) body */
#include "pandore/compiler/parser.h"

#include <string.h>

#include "base/spelling.h"

enum { PARAMS_MAX = 200 };

static bool parse_block_sizes(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_pos pos = sn_pnd_peek(p, 0)->pos;
	bool ok = true;
	int count = 0;

	if (!sn_pnd_expect(p, '(', "'(' after block"))
		return false;
	do {
		struct sn_pnd_pos at = sn_pnd_peek(p, 0)->pos;
		const struct sn_pnd_expr *late = NULL;
		int64_t size = 1;

		if (!sn_pnd_parse_size(p, &size, &late, 1, "this block size")) {
			while (!sn_pnd_at_punct(p, ',') && !sn_pnd_at_punct(p, ')') &&
			       sn_pnd_peek(p, 0)->kind == SN_TOK_IDENT)
				p->at++;
			ok = false;
		} else if (size < 1 && p->program->has_bad_nodes) {
			ok = false;
		} else if (size < 1) {
			sn_pnd_report(p->diags, at, 2, "a block size is at least 1, not %lld",
				      (long long)size);
			ok = false;
		}
		if (count < SN_PND_RANK_MAX) {
			var->block[count] = size < 1 ? 1 : size;
			var->late_block[count] = late;
		}
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

/* After a finding: to the ')' of this list, or to the ',' or the mode of this parameter. */
static void skip_to_end_of(struct sn_pnd_parser *p, bool is_list)
{
	int depth = 0;

	for (;; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END || t->punct == '{' || t->punct == ';')
			return;
		if (depth == 0 && !is_list && sn_pnd_at_word(p, "mode"))
			return;
		if (depth == 0 && (t->punct == ')' || (t->punct == ',' && !is_list)))
			return;
		depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
	}
}

static void skip_parameter(struct sn_pnd_parser *p)
{
	skip_to_end_of(p, false);
	while (sn_pnd_at_word(p, "mode")) {
		p->at++;
		skip_to_end_of(p, false);
	}
}

/* The list of dimensions; `pos` is the mapping's. */
static void report_order(struct sn_pnd_parser *p, const struct sn_pnd_var *var,
			 struct sn_pnd_pos pos)
{
	struct sn_text list = { 0 };

	for (int d = 0; d < var->rank; d++)
		sn_text_addf(&list, "%s%d", d ? "," : "", d);
	sn_pnd_report(
		p->diags, pos, 4,
		"the mapping names each dimension of '%s' once, the slowest first; write (%s)%s",
		var->spelled, list.chars ? list.chars : "",
		var->rank > 1 ? " or another order of it" : "");
	sn_text_free(&list);
}

static bool parse_order(struct sn_pnd_parser *p, struct sn_pnd_var *var, struct sn_pnd_pos pos)
{
	unsigned seen = 0;
	int count = 0;

	do {
		int64_t d = -1;
		struct sn_pnd_pos at = sn_pnd_peek(p, 0)->pos;

		if (!sn_pnd_parse_constant(p, &d, 4, "a dimension in the mapping"))
			return false;
		if (d < 0 || d >= var->rank || (seen >> d & 1) || count >= var->rank) {
			report_order(p, var, at);
			return false;
		}
		seen |= 1u << d;
		var->order[count++] = (int)d;
	} while (sn_pnd_accept(p, ','));
	if (count != var->rank) {
		report_order(p, var, pos);
		return false;
	}
	return true;
}

static bool parse_map(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_pos pos = sn_pnd_peek(p, 1)->pos;
	bool is_known = true;

	if (!sn_pnd_at_word(p, "map")) {
		sn_pnd_expected(p, "'map' after the block sizes");
		return false;
	}
	p->at++;
	if (!sn_pnd_at_word(p, "regular") && !sn_pnd_at_word(p, "wrapped")) {
		sn_pnd_report(p->diags, pos, 5, "unknown mapping '%.40s': regular or wrapped",
			      sn_pnd_peek(p, 0)->text);
		is_known = false;
		if (sn_pnd_peek(p, 1)->punct != '(')
			return false;
	}
	var->is_wrapped = sn_pnd_at_word(p, "wrapped");
	p->at++;
	if (!sn_pnd_expect(p, '(', "'(' of the mapping's dimensions"))
		return false;
	if (!parse_order(p, var, pos)) {
		skip_to_end_of(p, true);
		sn_pnd_accept(p, ')');
		return false;
	}
	return sn_pnd_expect(p, ')', "')' after the mapping's dimensions") && is_known;
}

/* The run does it; what is known already is whether a dimension is cut at all. */
static void lay_out_late(struct sn_pnd_var *var)
{
	for (int d = 0; d < var->rank; d++) {
		bool is_late = var->late_extent[d] || var->late_block[d];

		if (!is_late && var->block[d] > var->extent[d])
			var->block[d] = var->extent[d];
		if (!is_late)
			var->grid[d] = (var->extent[d] + var->block[d] - 1) / var->block[d];
		else
			var->grid[d] = sn_pnd_same_expr(var->late_extent[d], var->late_block[d])
					       ? 1
					       : SN_PND_LATE;
	}
	var->block_count = var->blocks_per_node = SN_PND_LATE;
}

static void lay_out(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	int nodes = p->program->nodes;

	var->is_distributed = true;
	if (sn_pnd_is_late(p->program, var)) {
		lay_out_late(var);
		return;
	}
	var->block_count = 1;
	for (int d = 0; d < var->rank; d++) {
		if (var->block[d] > var->extent[d]) /* one short block is all of it */
			var->block[d] = var->extent[d];
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
	bool ok, is_block = sn_pnd_peek(p, 1)->kind == SN_TOK_IDENT &&
			    !strcmp(sn_pnd_peek(p, 1)->text, "block");

	p->at++; /* by */
	if (!var->rank) {
		sn_pnd_report(p->diags, var->pos, 3, "'%s' is a scalar and cannot be distributed",
			      var->name);
		return false;
	}
	if (!is_block) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 5,
			      "unknown distribution '%.40s': by block(...) is what there is",
			      sn_pnd_peek(p, 0)->text);
		if (sn_pnd_peek(p, 1)->punct != '(')
			return false;
	}
	p->at++;
	ok = parse_block_sizes(p, var) && is_block;
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

/* NULL: there is no variable to speak of. `*ok` false: something was found. */
static struct sn_pnd_var *parse_phase_param(struct sn_pnd_parser *p, bool *ok)
{
	bool is_const = sn_pnd_at_word(p, "const");
	struct sn_pnd_var *var;
	enum sn_pnd_type type;

	*ok = false;
	p->at += is_const;
	if (sn_pnd_at_punct(p, SN_PUNCT3('.', '.', '.'))) {
		sn_pnd_report(p->diags, sn_pnd_peek(p, 0)->pos, 8,
			      "a phase takes a fixed list of parameters");
		return NULL;
	}
	if (!sn_pnd_parse_type(p, "a parameter's type", &type))
		return NULL;
	var = sn_pnd_parse_declarator(p, type, SN_VAR_PARAM);
	if (!var)
		return NULL;
	var->mode = var->rank && !is_const ? SN_MODE_INOUT : SN_MODE_IN;
	*ok = true;
	if (sn_pnd_at_word(p, "by"))
		*ok = parse_distribution(p, var);
	if (!*ok)
		skip_to_end_of(p, false);
	if (sn_pnd_at_word(p, "mode"))
		*ok = parse_mode(p, var) && *ok;
	return var;
}

static bool parse_phase_params(struct sn_pnd_parser *p, struct sn_pnd_phase *phase)
{
	if (!sn_pnd_expect(p, '(', "'(' after the phase's name"))
		return false;
	if (sn_pnd_accept(p, ')'))
		return true;
	do {
		bool ok;
		struct sn_pnd_var *var = parse_phase_param(p, &ok);

		if (var && phase->param_count == PARAMS_MAX) {
			sn_pnd_report(p->diags, var->pos, 0, "more than %d parameters", PARAMS_MAX);
		} else if (var) {
			var->index = phase->param_count++;
			sn_pnd_add_var(p, &phase->params, var);
		}
		if (!ok) {
			phase->is_damaged = true;
			phase->has_unread_parameters |= !var;
			skip_parameter(p);
		}
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ')', "')' after the parameters");
}

/* At the name. */
static void parse_named_phase(struct sn_pnd_parser *p)
{
	struct sn_pnd_phase *phase = sn_arena_new(p->arena, struct sn_pnd_phase), **last;
	struct sn_pnd_scope scope = { 0 };
	const struct sn_pnd_token *name = sn_pnd_peek(p, 0);

	for (last = &p->program->phases; *last; last = &(*last)->next)
		phase->index++;
	if (sn_pnd_check_name(p, name)) {
		phase->name = name->text;
		phase->pos = name->pos;
		*last = phase;
	}
	p->at++;
	p->phase = phase;
	p->zone = -1;
	if (!parse_phase_params(p, phase)) {
		phase->is_damaged = phase->has_unread_parameters = true;
		while (!sn_pnd_at_punct(p, '{') && sn_pnd_peek(p, 0)->kind != SN_TOK_END)
			p->at++;
	}
	scope.vars = phase->params;
	p->scope = &scope;
	if (sn_pnd_at_punct(p, '{')) {
		size_t end = sn_pnd_matching_brace(p, p->at);

		phase->body = sn_pnd_parse_body(p);
		if (!phase->body && !p->is_unclosed)
			p->at = end + 1;
	} else {
		sn_pnd_expected(p, "'{' of the phase's body");
	}
	p->scope = NULL;
	p->phase = NULL;
}

/* In "WORD NAME (...) {" the words of parameters of a phase, which no function has. */
static bool has_distribution(const struct sn_pnd_parser *p, size_t open)
{
	int depth = 0;

	for (size_t n = open;; n++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, n), *next = sn_pnd_peek(p, n + 1);

		depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
		if (t->kind == SN_TOK_END || t->punct == ';' || t->punct == '{' || depth == 0)
			return false;
		if (t->kind == SN_TOK_IDENT && next->kind == SN_TOK_IDENT && n > open + 1 &&
		    (!strcmp(t->text, "by") || !strcmp(t->text, "map") || !strcmp(t->text, "mode")))
			return true;
	}
}

static bool is_typedef(const struct sn_pnd_program *program, const char *name)
{
	bool inside = false;

	for (size_t i = 0; i < program->tokens.items.count; i++) {
		const struct sn_pnd_token *t = &program->tokens.items.items[i];

		if (t->kind == SN_TOK_IDENT && !strcmp(t->text, "typedef"))
			inside = true;
		else if (t->punct == ';')
			inside = false;
		else if (inside && t->kind == SN_TOK_IDENT && !strcmp(t->text, name))
			return true;
	}
	return false;
}

/* "list" is a word of its own. */
static bool looks_like_dist(const struct sn_pnd_parser *p)
{
	const char *word = sn_pnd_peek(p, 0)->text;

	return sn_spelling_is_near(word, "dist") && (word[0] | 32) == 'd' &&
	       !is_typedef(p->program, word);
}

bool sn_pnd_parse_misspelt_phase(struct sn_pnd_parser *p)
{
	const struct sn_pnd_token *word = sn_pnd_peek(p, 0), *name = sn_pnd_peek(p, 1);
	size_t words = 0;
	bool has_type;

	while (sn_pnd_peek(p, words)->kind == SN_TOK_IDENT)
		words++;
	if (words < 1 || words > 3 || sn_pnd_peek(p, words)->punct != '(')
		return false;
	has_type = words == 3 && !strcmp(word->text, "dist");
	if (!has_distribution(p, words) && !has_type && !(words == 2 && looks_like_dist(p)))
		return false;
	if (words == 1)
		sn_pnd_report(p->diags, word->pos, 0,
			      "a phase begins with 'dist': write 'dist %.60s('", word->text);
	else if (has_type)
		sn_pnd_report(
			p->diags, name->pos, 8,
			"a phase returns no value; its results are its OUT parameters: write 'dist %.60s('",
			sn_pnd_peek(p, 2)->text);
	else
		sn_pnd_report(p->diags, word->pos, 0,
			      "a phase begins with 'dist', not '%.60s': write 'dist %.60s('",
			      word->text, words == 2 ? name->text : sn_pnd_peek(p, 2)->text);
	p->at += words - 1;
	parse_named_phase(p);
	return true;
}

void sn_pnd_parse_phase(struct sn_pnd_parser *p)
{
	p->at++; /* dist */
	parse_named_phase(p);
}
