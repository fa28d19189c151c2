/* Reading a loop nest: loops, assignments, references, affine forms. */
#include "pandore/compiler/nest.h"

#include "pandore/compiler/bounds.h"
#include "pandore/compiler/dependence.h"
#include "pandore/compiler/liveness.h"
#include "pandore/compiler/overwrite.h"
#include "pandore/compiler/owners.h"

enum { COEFFICIENT_MAX = 1 << 30 };

static bool refuse(struct sn_nest *nest, struct sn_pnd_pos pos, const char *why)
{
	if (!nest->refusal) {
		nest->refusal = why;
		nest->refusal_pos = pos;
	}
	return false;
}

int sn_nest_ancestor(const struct sn_nest *nest, int loop, int depth)
{
	while (loop >= 0 && nest->loops[loop].depth > depth)
		loop = nest->loops[loop].parent;
	return loop;
}

bool sn_nest_is_inside(const struct sn_nest *nest, int loop, int outer)
{
	return loop >= 0 && sn_nest_ancestor(nest, loop, nest->loops[outer].depth) == outer;
}

bool sn_nest_is_innermost(const struct sn_nest *nest, int loop)
{
	for (int l = 0; l < nest->loop_count; l++)
		if (nest->loops[l].parent == loop)
			return false;
	return true;
}

const struct sn_nest_assign *sn_nest_assign_of(const struct sn_nest *nest,
					       const struct sn_pnd_stmt *stmt)
{
	for (int i = 0; i < nest->assign_count; i++)
		if (nest->assigns[i].stmt == stmt)
			return &nest->assigns[i];
	return NULL;
}

int sn_nest_loop_of(const struct sn_nest *nest, const struct sn_pnd_stmt *stmt)
{
	for (int i = 0; i < nest->loop_count; i++)
		if (nest->loops[i].stmt == stmt)
			return i;
	return -1;
}

bool sn_nest_is_divided(const struct sn_nest *nest, int loop)
{
	for (; loop >= 0; loop = nest->loops[loop].parent)
		if (nest->loops[loop].mode != SN_LOOP_PLAIN)
			return true;
	return false;
}

const struct sn_nest_if *sn_nest_if_of(const struct sn_nest *nest, const struct sn_pnd_stmt *stmt)
{
	for (int i = 0; i < nest->if_count; i++)
		if (nest->ifs[i].stmt == stmt)
			return &nest->ifs[i];
	return NULL;
}

/* ---- what is written ---- */

static bool mark_written(struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	switch (s->kind) {
	case SN_S_ASSIGN:
		s->lhs->var->nest_mark = nest->mark;
		return true;
	case SN_S_BLOCK:
		for (const struct sn_pnd_var *v = s->locals; v; v = v->next)
			if (v->rank)
				return refuse(nest, v->pos, "an array is declared inside the loop");
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			if (!mark_written(nest, c))
				return false;
		return true;
	case SN_S_IF:
		return mark_written(nest, s->body) &&
		       (!s->otherwise || mark_written(nest, s->otherwise));
	case SN_S_FOR:
		if (s->init)
			s->init->lhs->var->nest_mark = nest->mark;
		if (s->step)
			s->step->lhs->var->nest_mark = nest->mark;
		return mark_written(nest, s->body);
	case SN_S_EMPTY:
		return true;
	case SN_S_WHILE:
	case SN_S_DO:
		return refuse(nest, s->pos, "a while or do loop stands inside");
	case SN_S_BREAK:
	case SN_S_CONTINUE:
	case SN_S_RETURN:
		return refuse(nest, s->pos, "a break, continue or return stands inside");
	case SN_S_ZONE:
		return refuse(nest, s->pos, "an instrumentation zone begins inside");
	default:
		return refuse(nest, s->pos, "an observation point stands inside");
	}
}

/* ---- affine forms ---- */

static int path_loop(const struct sn_nest *nest, int loop, const struct sn_pnd_var *var)
{
	for (; loop >= 0; loop = nest->loops[loop].parent)
		if (nest->loops[loop].var == var)
			return loop;
	return -1;
}

static void affine_add(struct sn_affine *a, const struct sn_affine *b, int64_t factor)
{
	a->ok &= b->ok;
	a->constant += factor * b->constant;
	for (int i = 0; i < SN_NEST_LOOPS_MAX; i++)
		a->coef[i] += factor * b->coef[i];
	for (int i = 0; i < b->symbol_count; i++) {
		int k = 0;

		while (k < a->symbol_count && a->symbols[k].var != b->symbols[i].var)
			k++;
		if (k == SN_NEST_SYMBOLS_MAX) {
			a->ok = false;
			return;
		}
		if (k == a->symbol_count) {
			a->symbols[a->symbol_count].var = b->symbols[i].var;
			a->symbols[a->symbol_count++].coef = 0;
		}
		a->symbols[k].coef += factor * b->symbols[i].coef;
	}
	for (int i = 0; i < SN_NEST_LOOPS_MAX; i++)
		a->ok &= a->coef[i] <= COEFFICIENT_MAX && a->coef[i] >= -COEFFICIENT_MAX;
	a->ok &= a->constant <= COEFFICIENT_MAX && a->constant >= -COEFFICIENT_MAX;
}

static struct sn_affine affine_of(const struct sn_nest *nest, const struct sn_pnd_expr *e,
				  int loop);

static struct sn_affine affine_of_binary(const struct sn_nest *nest, const struct sn_pnd_expr *e,
					 int loop)
{
	struct sn_affine none = { 0 }, a, b;
	int64_t factor;

	if (e->punct == '*') {
		const struct sn_pnd_expr *other = e->b;

		if (!sn_pnd_evaluate(e->a, &factor)) {
			if (!sn_pnd_evaluate(e->b, &factor))
				return none;
			other = e->a;
		}
		if (factor > COEFFICIENT_MAX || factor < -COEFFICIENT_MAX)
			return none;
		a = affine_of(nest, other, loop);
		b = (struct sn_affine){ .ok = true };
		affine_add(&b, &a, factor);
		return b;
	}
	if (e->punct != '+' && e->punct != '-')
		return none;
	a = affine_of(nest, e->a, loop);
	b = affine_of(nest, e->b, loop);
	affine_add(&a, &b, e->punct == '+' ? 1 : -1);
	return a;
}

static struct sn_affine affine_of_variable(const struct sn_nest *nest, const struct sn_pnd_expr *e,
					   int loop)
{
	struct sn_affine a = { .ok = true };
	int l = path_loop(nest, loop, e->var);

	if (l >= 0) {
		a.coef[l] = 1;
	} else if (e->var->nest_mark == nest->mark || e->var->kind == SN_VAR_ARGUMENT) {
		a.ok = false;
	} else {
		a.symbol_count = 1;
		a.symbols[0].var = e->var;
		a.symbols[0].coef = 1;
	}
	return a;
}

static struct sn_affine affine_of(const struct sn_nest *nest, const struct sn_pnd_expr *e, int loop)
{
	struct sn_affine none = { 0 }, a = { .ok = true };
	int64_t value;

	/* arithmetic of unsigned types wraps; what is narrower than int becomes an int first */
	if (!sn_pnd_type_is_integer(e->type) ||
	    (sn_pnd_type_is_unsigned(e->type) && sn_pnd_type_bytes(e->type) >= 4))
		return none;
	if (sn_pnd_evaluate(e, &value)) {
		a.constant = value;
		a.ok = value <= COEFFICIENT_MAX && value >= -COEFFICIENT_MAX;
		return a;
	}
	if (e->kind == SN_E_VAR)
		return affine_of_variable(nest, e, loop);
	if (e->kind == SN_E_BINARY)
		return affine_of_binary(nest, e, loop);
	if (e->kind == SN_E_CAST && sn_pnd_type_is_integer(e->a->type) &&
	    sn_pnd_type_holds(e->type, e->a->type))
		return affine_of(nest, e->a, loop);
	if (e->kind == SN_E_UNARY && e->punct == '-') {
		struct sn_affine inner = affine_of(nest, e->a, loop);

		affine_add(&a, &inner, -1);
		return a;
	}
	return none;
}

/* ---- loops ---- */

/* The deepest loop whose counter an expression names; -1 if it names what the nest changes. */
static int invariant_depth(const struct sn_nest *nest, const struct sn_pnd_expr *e, int loop)
{
	int depth = 0;
	const struct sn_pnd_expr *parts[] = { e->a, e->b, e->c };

	if (e->kind == SN_E_VAR || e->kind == SN_E_INDEX) {
		int l = e->kind == SN_E_VAR ? path_loop(nest, loop, e->var) : -1;

		if (l >= 0)
			depth = nest->loops[l].depth;
		else if (e->var->nest_mark == nest->mark)
			return -1;
	}
	for (int i = 0; i < 3 + e->arg_count; i++) {
		const struct sn_pnd_expr *part = i < 3 ? parts[i] : e->args[i - 3];
		int d = part ? invariant_depth(nest, part, loop) : 0;

		if (d < 0)
			return -1;
		depth = d > depth ? d : depth;
	}
	return depth;
}

static bool has_only_safe_operators(const struct sn_pnd_expr *e)
{
	int64_t divisor;

	if (!e)
		return true;
	if (e->kind == SN_E_CALL || !sn_pnd_type_is_integer(e->type))
		return false;
	if (e->kind == SN_E_BINARY && (e->punct == '/' || e->punct == '%') &&
	    (!sn_pnd_evaluate(e->b, &divisor) || divisor == 0))
		return false;
	for (int i = 0; i < e->arg_count; i++)
		if (!has_only_safe_operators(e->args[i]))
			return false;
	return has_only_safe_operators(e->a) && has_only_safe_operators(e->b) &&
	       has_only_safe_operators(e->c);
}

bool sn_nest_can_inspect(const struct sn_nest *nest, const struct sn_pnd_expr *element, int loop)
{
	for (int d = 0; d < element->arg_count; d++)
		if (invariant_depth(nest, element->args[d], loop) < 0 ||
		    !has_only_safe_operators(element->args[d]))
			return false;
	return true;
}

static bool read_step(struct sn_nest *nest, struct sn_nest_loop *l)
{
	const struct sn_pnd_stmt *s = l->stmt->step;

	if (!s || s->lhs->var != l->var || s->lhs->kind != SN_E_VAR)
		return refuse(nest, l->stmt->pos, "the loop has no simple counter");
	if (s->punct == SN_PUNCT2('+', '+'))
		l->step = 1;
	else if (s->punct == SN_PUNCT2('-', '-'))
		l->step = -1;
	else if (!s->rhs || !sn_pnd_evaluate(s->rhs, &l->step) || l->step == 0 ||
		 l->step > COEFFICIENT_MAX || l->step < -COEFFICIENT_MAX ||
		 (s->punct != SN_PUNCT2('+', '=') && s->punct != SN_PUNCT2('-', '=')))
		return refuse(nest, s->pos, "the loop's step is not a constant");
	if (s->punct == SN_PUNCT2('-', '='))
		l->step = -l->step;
	return true;
}

static const char *why_no_bound(const struct sn_pnd_expr *c, const struct sn_pnd_var *counter)
{
	if (sn_pnd_binary_level(c->punct) != 8 || c->a->kind != SN_E_VAR || c->a->var != counter)
		return "the loop's condition is no comparison (<, <=, >, >=) of sums of signed "
		       "integers, such as i + 1 < n";
	if (!sn_pnd_type_is_integer(c->b->type) ||
	    sn_pnd_type_is_unsigned(sn_pnd_type_common(counter->type, c->b->type)))
		return "the loop's bound is not a signed integer";
	return "the loop's bounds change inside the nest or are distributed";
}

static bool read_condition(struct sn_nest *nest, struct sn_nest_loop *l)
{
	const struct sn_pnd_expr *c = l->stmt->cond;
	struct sn_pnd_bound bound;

	if (!c || !sn_pnd_count_reads(c, l->var))
		return refuse(nest, l->stmt->pos, "the loop's condition does not name its counter");
	if (!sn_pnd_read_bound(nest->program->arena, c, l->var, &bound))
		return refuse(nest, c->pos, why_no_bound(c, l->var));
	if (bound.is_upper != (l->step > 0))
		return refuse(nest, c->pos, "the loop's condition does not fit its step");
	l->end = bound.end;
	l->end_adjust = bound.adjust;
	return true;
}

static bool read_bounds(struct sn_nest *nest, struct sn_nest_loop *l)
{
	int a = invariant_depth(nest, l->start, l->parent);
	int b = invariant_depth(nest, l->end, l->parent);
	struct sn_affine start = affine_of(nest, l->start, l->parent);
	struct sn_affine last = affine_of(nest, l->end, l->parent);

	if (a < 0 || b < 0 || l->start->has_distributed || l->end->has_distributed)
		return refuse(nest, l->stmt->pos,
			      "the loop's bounds change inside the nest or are "
			      "distributed");
	last.constant += l->end_adjust;
	l->bounds_depth = a > b ? a : b;
	l->low = l->step > 0 ? start : last;
	l->high = l->step > 0 ? last : start;
	return true;
}

static bool collect(struct sn_nest *nest, const struct sn_pnd_stmt *s, int loop, int in_if);

/* Types whose sums do not wrap, so that a counter takes the values of its affine form. */
static bool counts(enum sn_pnd_type type)
{
	return sn_pnd_type_is_integer(type) && sn_pnd_type_holds(type, SN_T_INT);
}

/* What the counter starts with: the value after the assignment's conversion. */
static const struct sn_pnd_expr *start_of(const struct sn_nest *nest,
					  const struct sn_pnd_stmt *init)
{
	struct sn_pnd_expr *cast;

	if (sn_pnd_type_holds(init->lhs->type, init->rhs->type) ||
	    !sn_pnd_type_is_integer(init->rhs->type))
		return init->rhs;
	cast = sn_arena_new(nest->program->arena, struct sn_pnd_expr);
	*cast = (struct sn_pnd_expr){ .kind = SN_E_CAST,
				      .type = init->lhs->type,
				      .pos = init->rhs->pos,
				      .a = init->rhs,
				      .has_distributed = init->rhs->has_distributed };
	return cast;
}

/* Is an if around, within the innermost loop? */
static bool is_in_if(const struct sn_nest *nest, int loop, int in_if)
{
	return in_if >= 0 && nest->ifs[in_if].loop == loop;
}

static bool collect_for(struct sn_nest *nest, const struct sn_pnd_stmt *s, int parent, int in_if)
{
	struct sn_nest_loop *l = &nest->loops[nest->loop_count];
	const struct sn_pnd_stmt *init = s->init;
	int index = nest->loop_count;

	if (nest->loop_count == SN_NEST_LOOPS_MAX ||
	    (parent >= 0 && nest->loops[parent].depth == SN_NEST_DEPTH_MAX))
		return refuse(nest, s->pos, "too many loops");
	if (!init || init->lhs->kind != SN_E_VAR || init->punct != '=' || !init->rhs ||
	    init->lhs->var->kind != SN_VAR_LOCAL)
		return refuse(nest, s->pos, "the loop has no simple counter");
	if (!counts(init->lhs->var->type))
		return refuse(nest, s->pos, "the loop's counter is not an int, long or long long");
	if (path_loop(nest, parent, init->lhs->var) >= 0)
		return refuse(nest, s->pos, "two loops around each other have one counter");
	*l = (struct sn_nest_loop){ .stmt = s,
				    .var = init->lhs->var,
				    .parent = parent,
				    .depth = parent < 0 ? 1 : nest->loops[parent].depth + 1,
				    .start = start_of(nest, init),
				    .is_conditional = is_in_if(nest, parent, in_if),
				    .in_if = in_if,
				    .governed = -1,
				    .swapped = -1,
				    .key = -1 };
	if (!sn_pnd_type_is_integer(init->rhs->type))
		return refuse(nest, s->pos, "the loop's start is not an integer");
	if (!read_step(nest, l) || !read_condition(nest, l) || !read_bounds(nest, l))
		return false;
	nest->loop_count++;
	return collect(nest, s->body, index, in_if);
}

/* ---- references ---- */

struct sn_affine *sn_nest_read_subs(const struct sn_nest *nest, const struct sn_pnd_expr *e,
				    int loop)
{
	struct sn_affine *subs =
		sn_arena_array(nest->program->arena, struct sn_affine, (size_t)e->arg_count);

	for (int d = 0; d < e->arg_count; d++)
		subs[d] = affine_of(nest, e->args[d], loop);
	return subs;
}

static bool collect_refs(struct sn_nest *nest, const struct sn_pnd_expr *e,
			 const struct sn_pnd_stmt *stmt, int loop, int in_if, int order,
			 int assign);

/* What subscripts read is every node's to know: it decides who owns the element. */
static bool collect_subscripts(struct sn_nest *nest, const struct sn_pnd_expr *e,
			       const struct sn_pnd_stmt *stmt, int loop, int in_if, int order)
{
	int first = nest->ref_count;

	for (int d = 0; d < e->arg_count; d++)
		if (!collect_refs(nest, e->args[d], stmt, loop, in_if, order, -1))
			return false;
	for (int i = first; i < nest->ref_count; i++)
		nest->refs[i].is_subscript = true;
	return true;
}

static bool collect_refs(struct sn_nest *nest, const struct sn_pnd_expr *e,
			 const struct sn_pnd_stmt *stmt, int loop, int in_if, int order, int assign)
{
	const struct sn_pnd_expr *parts[3];
	struct sn_nest_ref *ref;

	if (!e || !e->has_distributed)
		return true;
	parts[0] = e->a;
	parts[1] = e->b;
	parts[2] = e->c;
	if (e->kind == SN_E_INDEX && !e->var->is_distributed)
		return collect_subscripts(nest, e, stmt, loop, in_if, order);
	if (e->kind == SN_E_INDEX) {
		if (!collect_subscripts(nest, e, stmt, loop, in_if, order))
			return false;
		ref = &nest->refs[nest->ref_count];
		if (nest->ref_count == SN_NEST_REFS_MAX)
			return refuse(nest, e->pos, "too many references");
		nest->ref_count++;
		*ref = (struct sn_nest_ref){ .expr = e,
					     .stmt = stmt,
					     .loop = loop,
					     .order = order,
					     .in_if = in_if,
					     .assign = assign,
					     .span_loop = -1 };
		ref->subs = sn_nest_read_subs(nest, e, loop);
		return true;
	}
	for (int i = 0; i < 3 + e->arg_count; i++)
		if (!collect_refs(nest, i < 3 ? parts[i] : e->args[i - 3], stmt, loop, in_if, order,
				  assign))
			return false;
	return true;
}

const struct sn_pnd_expr *sn_nest_first_element(const struct sn_pnd_expr *e)
{
	const struct sn_pnd_expr *found;
	bool is_lazy;

	if (!e || !e->has_distributed)
		return NULL;
	if (e->kind == SN_E_INDEX && e->var->is_distributed) {
		for (int d = 0; d < e->arg_count; d++)
			if (e->args[d]->has_distributed)
				return NULL;
		return e;
	}
	is_lazy = e->kind == SN_E_COND ||
		  (e->kind == SN_E_BINARY &&
		   (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|')));
	found = sn_nest_first_element(e->a);
	if (!found && !is_lazy)
		found = sn_nest_first_element(e->b);
	for (int i = 0; i < e->arg_count && !found; i++)
		found = sn_nest_first_element(e->args[i]);
	return found;
}

/* "s += e" or "s = s + e" where nothing else in the nest knows s: what is added, else NULL. */
static const struct sn_pnd_expr *added_by(const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_expr *e = s->rhs;
	int uses = 1;

	if (!nest->may_reassociate || s->lhs->kind != SN_E_VAR || !e || s->lhs->var->rank)
		return NULL;
	if (s->punct == '=') {
		if (e->kind != SN_E_BINARY || e->punct != '+' || e->a->kind != SN_E_VAR ||
		    e->a->var != s->lhs->var)
			return NULL;
		e = e->b;
		uses = 2;
	} else if (s->punct != SN_PUNCT2('+', '=')) {
		return NULL;
	}
	/* an integer sum cuts off after each real value added */
	if (sn_pnd_type_is_integer(s->lhs->type) && !sn_pnd_type_is_integer(e->type))
		return NULL;
	return sn_pnd_count_uses(nest->loops[0].stmt, s->lhs->var) == uses ? e : NULL;
}

static bool collect_assign(struct sn_nest *nest, const struct sn_pnd_stmt *s, int loop, int in_if)
{
	struct sn_nest_assign *a = &nest->assigns[nest->assign_count];
	const struct sn_pnd_expr *added = added_by(nest, s),
				 *element = sn_nest_first_element(added);
	int needs = s->lhs->var->is_distributed || element ? nest->assign_count : -1;

	if (nest->assign_count == SN_NEST_ASSIGNS_MAX)
		return refuse(nest, s->pos, "too many assignments");
	if (path_loop(nest, loop, s->lhs->var) >= 0)
		return refuse(nest, s->pos, "a loop counter is written inside its loop");
	*a = (struct sn_nest_assign){ .stmt = s, .loop = loop, .order = s->id, .target = s->lhs };
	if (element) {
		a->target = element;
		a->added = added;
	}
	nest->assign_count++;
	if (!collect_subscripts(nest, s->lhs, s, loop, in_if, s->id))
		return false;
	if (a->target->var->is_distributed)
		a->subs = sn_nest_read_subs(nest, a->target, loop);
	return collect_refs(nest, s->rhs, s, loop, in_if, s->id, needs);
}

static bool collect_if(struct sn_nest *nest, const struct sn_pnd_stmt *s, int loop, int in_if)
{
	struct sn_nest_if *f = &nest->ifs[nest->if_count];
	int index = nest->if_count;

	if (index == SN_NEST_IFS_MAX)
		return refuse(nest, s->pos, "too many ifs");
	nest->if_count++;
	/* the condition comes before all assignments in the if */
	*f = (struct sn_nest_if){
		.stmt = s,
		.loop = loop,
		.parent = in_if,
		.order = nest->assign_count ? nest->assigns[nest->assign_count - 1].order + 1 : 0,
		.first_assign = nest->assign_count,
	};
	for (int i = 0; i < nest->refused_if_count; i++)
		f->is_refused |= nest->refused_ifs[i] == s;
	if (!collect_refs(nest, s->cond, s, loop, in_if, f->order, -1) ||
	    !collect(nest, s->body, loop, index) ||
	    (s->otherwise && !collect(nest, s->otherwise, loop, index)))
		return false;
	f->end_assign = nest->assign_count;
	return true;
}

static bool collect(struct sn_nest *nest, const struct sn_pnd_stmt *s, int loop, int in_if)
{
	switch (s->kind) {
	case SN_S_BLOCK:
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			if (!collect(nest, c, loop, in_if))
				return false;
		return true;
	case SN_S_ASSIGN:
		return collect_assign(nest, s, loop, in_if);
	case SN_S_IF:
		return collect_if(nest, s, loop, in_if);
	case SN_S_FOR:
		return collect_for(nest, s, loop, in_if);
	default:
		return true;
	}
}

/* ---- nests that are better planned in parts ---- */

/* A scalar in the subscripts of an element that the nest changes, but not the statement of the outermost
 * loop that the element stands in: A[p][j] where p was searched for before. There it is known. */
static bool has_known_scalar(const struct sn_nest *nest, const struct sn_pnd_expr *element,
			     const struct sn_affine *subs, int loop)
{
	int inner = sn_nest_ancestor(nest, loop, 2);

	if (loop < 0 || nest->loops[loop].depth < 2)
		return false;
	for (int d = 0; d < element->arg_count; d++)
		for (int i = 0; i < nest->assign_count && !subs[d].ok; i++) {
			const struct sn_pnd_var *var = nest->assigns[i].stmt->lhs->var;

			if (!var->rank && sn_pnd_count_reads(element->args[d], var) &&
			    !sn_pnd_assigns(nest->loops[inner].stmt, var))
				return true;
		}
	return false;
}

/* Every node runs the outermost loop, no message stands before it, and subscripts would be known in what it
 * has in it. */
static bool should_open(const struct sn_nest *nest)
{
	bool is_better = false;

	if (!nest->loop_count || nest->loops[0].mode != SN_LOOP_PLAIN)
		return false;
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local && r->level < 1)
			return false;
		is_better |= has_known_scalar(nest, r->expr, r->subs, r->loop);
	}
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		if (a->target->var->is_distributed)
			is_better |= has_known_scalar(nest, a->target, a->subs, a->loop);
	}
	return is_better;
}

static bool plan(struct sn_nest *nest, const struct sn_pnd_stmt *root, int *obstacle)
{
	*obstacle = -1;
	nest->loop_count = nest->assign_count = nest->ref_count = nest->if_count = 0;
	if (!mark_written(nest, root) || !collect(nest, root, -1, -1))
		return false;
	*obstacle = sn_nest_find_owners(nest);
	if (*obstacle >= 0)
		return true;
	for (int i = 0; i < nest->ref_count; i++)
		sn_nest_place(nest, &nest->refs[i]);
	sn_nest_choose_modes(nest);
	*obstacle = sn_nest_find_obstacle(nest);
	return true;
}

bool sn_nest_plan(struct sn_nest *nest, const struct sn_pnd_program *program,
		  const struct sn_pnd_stmt *root, unsigned mark, bool may_reassociate)
{
	int obstacle;

	nest->program = program;
	nest->mark = mark;
	nest->may_reassociate = may_reassociate;
	nest->refused_if_count = 0;
	nest->refusal = NULL;
	nest->is_open = false;
	nest->phase_body = NULL;
	for (const struct sn_pnd_phase *ph = program->phases; ph && !nest->phase_body;
	     ph = ph->next)
		if (sn_pnd_contains(ph->body, root))
			nest->phase_body = ph->body;
	do {
		if (!plan(nest, root, &obstacle))
			return false;
		if (obstacle >= 0)
			nest->refused_ifs[nest->refused_if_count++] = nest->ifs[obstacle].stmt;
	} while (obstacle >= 0);
	nest->is_open = should_open(nest);
	return !nest->is_open;
}

bool sn_nest_is_repeated(const struct sn_nest *nest, int index)
{
	const struct sn_nest_ref *r = &nest->refs[index];

	for (int i = 0; i < index; i++) {
		const struct sn_nest_ref *o = &nest->refs[i];

		if (!o->is_local && o->stmt == r->stmt && o->assign == r->assign &&
		    o->level == r->level && o->span_loop == r->span_loop &&
		    sn_pnd_same_expr(o->expr, r->expr))
			return true;
	}
	return false;
}

bool sn_nest_stands_at(const struct sn_nest *nest, int index, const struct sn_pnd_stmt *before,
		       int span_loop)
{
	const struct sn_nest_ref *r = &nest->refs[index];

	if (r->is_local || r->span_loop != span_loop || sn_nest_is_repeated(nest, index))
		return false;
	return !before || sn_nest_anchor(nest, r) == before;
}

static bool has_distributed_subscript(const struct sn_pnd_expr *element)
{
	for (int d = 0; d < element->arg_count; d++)
		if (element->args[d]->has_distributed)
			return true;
	return false;
}

bool sn_nest_needs_moved(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	return ref->is_inspected &&
	       (has_distributed_subscript(ref->expr) ||
		(ref->assign >= 0 && has_distributed_subscript(nest->assigns[ref->assign].target)));
}

static bool names_counter(const struct sn_pnd_expr *element, const struct sn_pnd_var *counter)
{
	for (int d = 0; d < element->arg_count; d++)
		if (sn_pnd_count_reads(element->args[d], counter))
			return true;
	return false;
}

/* A dimension that is not cut has nothing to say. */
static bool decides_owner(const struct sn_pnd_expr *element, const struct sn_pnd_var *counter)
{
	for (int d = 0; d < element->arg_count; d++)
		if (element->var->grid[d] != 1 && sn_pnd_count_reads(element->args[d], counter))
			return true;
	return false;
}

bool sn_nest_is_listed_by(const struct sn_nest *nest, const struct sn_nest_ref *ref, int loop)
{
	const struct sn_pnd_var *counter = nest->loops[loop].var;

	if (names_counter(ref->expr, counter) ||
	    (ref->assign >= 0 && decides_owner(nest->assigns[ref->assign].target, counter)))
		return true;
	/* does it bound a loop that matters? */
	for (int l = ref->loop; l >= 0 && l != loop; l = nest->loops[l].parent)
		if ((sn_pnd_count_reads(nest->loops[l].start, counter) ||
		     sn_pnd_count_reads(nest->loops[l].end, counter)))
			return true;
	return false;
}
