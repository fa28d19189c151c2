/* dist NAME(parameters with their distributions) body */
#include "pandore/compiler/parser.h"

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
		int64_t size = 1;

		if (!sn_pnd_parse_constant(p, &size, 1, "this block size")) {
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

/* After a finding: to the ')' of this list, or to the ',' of this parameter. */
static void skip_to_end_of(struct sn_pnd_parser *p, bool is_list)
{
	int depth = 0;

	for (;; p->at++) {
		const struct sn_pnd_token *t = sn_pnd_peek(p, 0);

		if (t->kind == SN_TOK_END || t->punct == '{' || t->punct == ';')
			return;
		if (depth == 0 && (t->punct == ')' || (t->punct == ',' && !is_list)))
			return;
		depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
	}
}

/* The list of dimensions; `pos` is the mapping's. */
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
	return true;
}

static bool parse_map(struct sn_pnd_parser *p, struct sn_pnd_var *var)
{
	struct sn_pnd_pos pos = sn_pnd_peek(p, 1)->pos;

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
	if (!parse_order(p, var, pos)) {
		skip_to_end_of(p, true);
		sn_pnd_accept(p, ')');
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

/* NULL: there is no variable to speak of. `*ok` false: something was found. */
static struct sn_pnd_var *parse_phase_param(struct sn_pnd_parser *p, bool *ok)
{
	struct sn_pnd_var *var;
	enum sn_pnd_type type;
	size_t words;

	*ok = false;
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
	*ok = true;
	if (sn_pnd_at_word(p, "by"))
		*ok = parse_distribution(p, var);
	if (*ok && sn_pnd_at_word(p, "mode"))
		*ok = parse_mode(p, var);
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
			skip_to_end_of(p, false);
		}
	} while (sn_pnd_accept(p, ','));
	return sn_pnd_expect(p, ')', "')' after the parameters");
}

void sn_pnd_parse_phase(struct sn_pnd_parser *p)
{
	struct sn_pnd_phase *phase = sn_arena_new(p->arena, struct sn_pnd_phase), **last;
	struct sn_pnd_scope scope = { 0 };
	const struct sn_pnd_token *name;

	p->at++; /* dist */
	name = sn_pnd_peek(p, 0);
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
	if (!parse_phase_params(p, phase))
		while (!sn_pnd_at_punct(p, '{') && sn_pnd_peek(p, 0)->kind != SN_TOK_END)
			p->at++;
	scope.vars = phase->params;
	p->scope = &scope;
	if (sn_pnd_at_punct(p, '{')) {
		size_t end = sn_pnd_matching_brace(p, p->at);

		phase->body = sn_pnd_parse_block(p);
		if (!phase->body)
			p->at = end + 1;
	} else {
		sn_pnd_expected(p, "'{' of the phase's body");
	}
	p->scope = NULL;
	p->phase = NULL;
}
