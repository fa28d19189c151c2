/* Why a nest is not divided, from what its plan says of its loops and references. */
#include "pandore/compiler/remarks.h"

#include <stdarg.h>
#include <string.h>

#include "pandore/compiler/chains.h"
#include "pandore/compiler/dependence.h"
#include "pandore/compiler/predictor.h"

/* A section may hold twice what is needed before we speak of it: boxes around triangles do. */
enum { SURPLUS_FACTOR = 2 };

struct finder {
	struct sn_predictor *p;
	const struct sn_pnd_phase *phase;
	struct sn_pnd_result *out;
};

const char *sn_pnd_remark_kind(int code)
{
	static const char *const kinds[] = { "",	"naive",  "undivided",
					     "surplus", "serial", "elementwise" };

	return kinds[code];
}

static bool is_known(const struct finder *f, const struct sn_pnd_remark *remark)
{
	for (size_t i = 0; i < f->out->remarks.count; i++) {
		const struct sn_pnd_remark *r = &f->out->remarks.items[i];

		if (r->line == remark->line && r->code == remark->code &&
		    (r->column == remark->column || !strcmp(r->reason, remark->reason)))
			return true;
	}
	return false;
}

__attribute__((format(printf, 4, 5))) static void
add(struct finder *f, struct sn_pnd_pos pos, struct sn_pnd_remark remark, const char *format, ...)
{
	struct sn_pnd_diags *diags = f->p->em->program->diags;
	struct sn_text text = { 0 };
	va_list args;

	va_start(args, format);
	sn_text_addv(&text, format, args);
	va_end(args);
	remark.phase = f->phase->name;
	remark.file = diags->files.items[pos.file].name;
	remark.line = pos.line;
	remark.column = pos.column;
	remark.reason = sn_arena_strdup(f->p->em->arena, text.chars);
	if (!is_known(f, &remark)) {
		sn_vec_push(&f->out->remarks, remark);
		sn_pnd_remark(diags, pos, remark.code, "%s", remark.reason);
	}
	sn_text_free(&text);
}

static const char *text_of(struct finder *f, const struct sn_pnd_expr *e)
{
	return sn_pnd_text_of(f->p->em, e);
}

/* ---- what keeps a loop from being divided ---- */

/* Another assignment in the loop that the owner of `a`'s target does not execute alone. */
static bool blames_assignment(struct finder *f, const struct sn_nest *nest,
			      const struct sn_nest_assign *a, int loop, struct sn_text *why)
{
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *b = &nest->assigns[i];

		if (b == a || !sn_nest_is_inside(nest, b->loop, loop))
			continue;
		if (!b->target->var->is_distributed) {
			sn_text_addf(why, "line %d in it assigns %s, which every node keeps",
				     b->stmt->pos.line, text_of(f, b->target));
			return true;
		}
		if (!sn_nest_has_one_owner(a, b)) {
			sn_text_addf(why,
				     "%s (line %d) and %s (line %d) in it have different owners",
				     text_of(f, a->target), a->stmt->pos.line,
				     text_of(f, b->target), b->stmt->pos.line);
			return true;
		}
	}
	return false;
}

static bool blames_reference(struct finder *f, const struct sn_nest *nest, int loop,
			     struct sn_text *why)
{
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (r->assign >= 0 || !sn_nest_is_inside(nest, r->loop, loop))
			continue;
		if (r->is_subscript)
			sn_text_addf(why, "every node must know the subscript %s (line %d)",
				     text_of(f, r->expr), r->expr->pos.line);
		else
			sn_text_addf(why, "every node decides the condition on %s (line %d)",
				     text_of(f, r->expr), r->expr->pos.line);
		return true;
	}
	return false;
}

static bool blames_target(struct finder *f, const struct sn_nest_assign *a, int loop,
			  struct sn_text *why)
{
	const struct sn_pnd_var *var = a->target->var;
	int governed = 0;

	for (int d = 0; d < var->rank; d++) {
		if (var->grid[d] == 1)
			continue;
		if (!a->subs[d].ok) {
			sn_text_addf(why,
				     "the subscript %s of %s is no sum of counters and constants",
				     text_of(f, a->target->args[d]), var->name);
			return true;
		}
		governed += a->subs[d].coef[loop] != 0;
	}
	if (governed > 1)
		sn_text_addf(why, "the counter decides several dimensions of %s that are cut",
			     text_of(f, a->target));
	return governed > 1;
}

static bool blames_message(struct finder *f, const struct sn_nest *nest, int loop,
			   struct sn_text *why)
{
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (r->is_local || !sn_nest_is_inside(nest, r->loop, loop) ||
		    r->level < nest->loops[loop].depth)
			continue;
		sn_text_addf(why, "%s (line %d) must be fetched anew in each iteration",
			     text_of(f, r->expr), r->expr->pos.line);
		return true;
	}
	return false;
}

/* ---- what is said of an assignment ---- */

static void find_undivided(struct finder *f, const struct sn_nest *nest,
			   const struct sn_nest_assign *a)
{
	const struct sn_nest_loop *l = &nest->loops[a->loop];
	bool is_sum = a->stmt->punct == SN_PUNCT2('+', '=') && !a->target->var->rank;
	struct sn_text why = { 0 };

	/* a number for a loop in this one is no work */
	if (!a->target->var->rank && !(a->stmt->rhs && a->stmt->rhs->has_distributed) &&
	    !sn_nest_is_innermost(nest, a->loop))
		return;
	if (!a->target->var->is_distributed) {
		add(f, a->stmt->pos, (struct sn_pnd_remark){ .code = SN_REMARK_UNDIVIDED },
		    "every node runs all iterations of this: every node keeps %s%s",
		    a->target->var->name,
		    is_sum && nest->may_reassociate
			    ? " (--reassoc adds up by node only what nothing else in the nest uses)"
		    : is_sum		   ? " (--reassoc lets each node add up what it owns)"
		    : a->target->var->rank ? " (a distribution would divide it)"
					   : "");
		return;
	}
	if (!blames_target(f, a, a->loop, &why) && !blames_assignment(f, nest, a, a->loop, &why) &&
	    !blames_reference(f, nest, a->loop, &why) && !blames_message(f, nest, a->loop, &why))
		sn_text_add(&why, "a counter in it is read after the loop's ifs");
	add(f, l->stmt->pos, (struct sn_pnd_remark){ .code = SN_REMARK_UNDIVIDED },
	    "every node runs all iterations of this loop and asks in each who owns %s: %s",
	    text_of(f, a->target), why.chars);
	sn_text_free(&why);
}

/* ---- loops ---- */

/* Does any counter around decide which node it is? Else one node has all the work. */
static bool has_one_node(const struct sn_nest *nest, int loop)
{
	const struct sn_nest_assign *key = &nest->assigns[nest->loops[loop].key];

	for (int d = 0; d < key->target->var->rank; d++)
		for (int l = loop; l >= 0 && key->target->var->grid[d] > 1;
		     l = nest->loops[l].parent)
			if (key->subs[d].coef[l])
				return false;
	return true;
}

/* What would let the nodes run a chain at the same time, in words; "" if nothing is known. */
static const char *advice_on(struct finder *f, const struct sn_nest *nest,
			     const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_expr *e = s->rhs;
	const char *name = s->lhs->var->name;
	bool is_sum = s->punct == SN_PUNCT2('+', '=') ||
		      (s->punct == '=' && e->kind == SN_E_BINARY && e->punct == '+' &&
		       e->a->kind == SN_E_VAR && e->a->var == s->lhs->var);

	if (is_sum)
		return nest->may_reassociate ? ""
					     : " (--reassoc lets each node add up what it owns)";
	if (e && e->kind == SN_E_CALL && (!strcmp(e->text, "fmax") || !strcmp(e->text, "fmin")))
		return sn_arena_printf(f->p->em->arena,
				       " (if (x %c %s) %s = x; lets each node find its own)",
				       e->text[2] == 'a' ? '>' : '<', name, name);
	return "";
}

static void find_turns(struct finder *f, const struct sn_nest *nest, int loop)
{
	const struct sn_pnd_var *var;

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_pnd_stmt *s = nest->assigns[i].stmt;

		if (!sn_nest_is_inside(nest, nest->assigns[i].loop, loop) ||
		    !sn_nest_chained(nest, loop, &var, 1) || s->lhs->var != var)
			continue;
		add(f, nest->loops[loop].stmt->pos,
		    (struct sn_pnd_remark){ .code = SN_REMARK_SERIAL },
		    "the nodes run their parts of this loop one after the other, so that %s keeps "
		    "its order%s",
		    var->name, advice_on(f, nest, s));
		return;
	}
}

static void find_loops(struct finder *f, const struct sn_nest *nest)
{
	for (int l = 0; l < nest->loop_count; l++) {
		const struct sn_nest_loop *loop = &nest->loops[l];
		const struct sn_pnd_expr *key =
			loop->key < 0 ? NULL : nest->assigns[loop->key].target;
		struct sn_pnd_remark serial = { .code = SN_REMARK_SERIAL };
		struct sn_pnd_remark undivided = { .code = SN_REMARK_UNDIVIDED };

		if (loop->mode == SN_LOOP_GUARD && !loop->is_conditional && has_one_node(nest, l))
			add(f, loop->stmt->pos, undivided,
			    "one node runs all of this loop, because it owns all of %s that is "
			    "assigned",
			    text_of(f, key));
		if (sn_nest_is_in_turns(nest, l))
			find_turns(f, nest, l);
		if (loop->mode != SN_LOOP_SPANS)
			continue;
		for (int i = 0; i < nest->ref_count; i++)
			if (!nest->refs[i].is_local && nest->refs[i].span_loop == l) {
				add(f, loop->stmt->pos, serial,
				    "the nodes may have to run their parts of this loop one after "
				    "the other: %s (line %d) may need what others compute in it",
				    text_of(f, nest->refs[i].expr), nest->refs[i].expr->pos.line);
				break;
			}
	}
}

static const char *form_of(struct finder *f, const struct sn_nest *nest,
			   const struct sn_nest_ref *r)
{
	for (int d = 0; d < r->expr->arg_count; d++)
		if (!r->subs[d].ok)
			return sn_arena_printf(
				f->p->em->arena,
				"the whole dimension moves, as the subscript %s is no sum of "
				"counters and constants and cannot be run ahead",
				text_of(f, r->expr->args[d]));
	for (int l = r->loop; l >= 0; l = nest->loops[l].parent)
		if (nest->loops[l].depth > r->level && nest->loops[l].bounds_depth > r->level)
			return sn_arena_printf(f->p->em->arena,
					       "a box moves around what loop %s, whose bounds "
					       "other counters decide, needs of it",
					       nest->loops[l].var->name);
	return "boxes move around the elements that are needed";
}

/* Judges an array of the nest as a whole, at the reference with most that is not needed: what two
 * references share is counted for the first. */
static void find_surplus(struct finder *f, const struct sn_nest *nest, int first)
{
	struct sn_pnd_remark remark = { .code = SN_REMARK_SURPLUS, .has_bytes = true };
	const struct sn_pnd_var *var = nest->refs[first].expr->var;
	const struct sn_nest_ref *worst = NULL;
	int64_t most = 0;

	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];
		int64_t sent, needed;

		if (r->expr->var != var || !sn_predict_need_of(f->p, nest, r, &sent, &needed))
			continue;
		if (i < first || needed < 0)
			return;
		remark.sent_bytes += sent;
		remark.needed_bytes += needed;
		if (sent - needed > most) {
			most = sent - needed;
			worst = r;
		}
	}
	if (worst && remark.sent_bytes > SURPLUS_FACTOR * remark.needed_bytes)
		add(f, worst->expr->pos, remark,
		    "%lld bytes of %s move, and %lld are needed: for %s, %s",
		    (long long)remark.sent_bytes, var->name, (long long)remark.needed_bytes,
		    text_of(f, worst->expr), form_of(f, nest, worst));
}

static void find_references(struct finder *f, const struct sn_nest *nest)
{
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		find_surplus(f, nest, i);
		if (r->is_local || r->loop < 0)
			continue;
		if (r->span_loop < 0 && r->level == nest->loops[r->loop].depth &&
		    sn_nest_is_innermost(nest, r->loop) && !sn_nest_is_repeated(nest, i))
			add(f, r->expr->pos,
			    (struct sn_pnd_remark){ .code = SN_REMARK_ELEMENTWISE },
			    "%s moves element by element: an iteration of the loop of %s may need "
			    "what the one before has changed",
			    text_of(f, r->expr), nest->loops[r->loop].var->name);
	}
}

/* ---- */

static void find(struct finder *f, const struct sn_pnd_stmt *s)
{
	const struct sn_nest *nest;

	if (!s)
		return;
	nest = s->kind == SN_S_FOR ? sn_predict_nest_of(f->p, s) : NULL;
	if (nest && !nest->refusal && !nest->is_open) {
		for (int i = 0; i < nest->assign_count; i++)
			if (!nest->assigns[i].added &&
			    !sn_nest_is_divided(nest, nest->assigns[i].loop))
				find_undivided(f, nest, &nest->assigns[i]);
		find_loops(f, nest);
		find_references(f, nest);
		return;
	}
	if (nest && nest->refusal)
		add(f, nest->refusal_pos, (struct sn_pnd_remark){ .code = SN_REMARK_NAIVE },
		    "this loop nest is translated by the naive scheme: %s", nest->refusal);
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		find(f, c);
	find(f, s->body);
	find(f, s->otherwise);
}

void sn_pnd_find_remarks(struct sn_predictor *p, const struct sn_pnd_phase *ph,
			 struct sn_pnd_result *out)
{
	struct finder f = { p, ph, out };

	if (p->nodes != 1)
		find(&f, ph->body);
}
