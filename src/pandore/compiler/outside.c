/*
 * The checking build of a phase: its control flow with every subscript that is known without data, and nothing else.
 * One process runs it for all nodes, as the naive scheme has all nodes compute all subscripts. What data decides is
 * left out: subscripts that depend on it, and what stands under conditions on it. A jump under such a condition
 * ends the checks of the phase, as nobody knows what it leaves out.
 */
#include "pandore/compiler/outside.h"

#include "pandore/compiler/data.h"
#include "pandore/compiler/overwrite.h"

struct checker {
	struct sn_pnd_emitter *em;
	const char *
		guard; /* text of the conditions under which the operand is evaluated; NULL: always */
	const char *next; /* label at the end of the innermost loop's body */
};

static void check_stmt(struct checker *ck, const struct sn_pnd_stmt *s);
static struct sn_pnd_expr *check(struct checker *ck, const struct sn_pnd_expr *e);

static bool has_subscript(const struct sn_pnd_expr *e)
{
	if (!e)
		return false;
	if (e->kind == SN_E_INDEX)
		return true;
	for (int i = 0; i < e->arg_count; i++)
		if (has_subscript(e->args[i]))
			return true;
	return has_subscript(e->a) || has_subscript(e->b) || has_subscript(e->c);
}

/* ---- expressions ---- */

/* The subscript in a variable, moved into bounds, so that what is not there is never read. */
static struct sn_pnd_expr *check_subscript(struct checker *ck, const struct sn_pnd_expr *element,
					   int d)
{
	struct sn_pnd_emitter *em = ck->em;
	const struct sn_pnd_expr *written = element->args[d];
	const struct sn_pnd_expr *value = check(ck, written);
	const char *name, *extent = sn_pnd_extent_text(em, element->var, d);
	size_t number = em->subscripts.count;

	if (sn_pnd_reads_data(written))
		return sn_pnd_raw(em, SN_T_LONG, "0");
	sn_vec_push(&em->subscripts,
		    (struct sn_pnd_subscript){ written->pos, element->var->spelled });
	name = sn_arena_printf(em->arena, "pd_s%d", ++em->temp_count);
	if (ck->guard)
		sn_pnd_line(em, "const long %s = %s ? pd_within(%zu, %s, %s) : 0;", name, ck->guard,
			    number, sn_pnd_text_of(em, value), extent);
	else
		sn_pnd_line(em, "const long %s = pd_within(%zu, %s, %s);", name, number,
			    sn_pnd_text_of(em, value), extent);
	return sn_pnd_raw(em, SN_T_LONG, name);
}

static struct sn_pnd_expr *check_element(struct checker *ck, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy = sn_pnd_copy_expr(ck->em, e);

	for (int d = 0; d < e->arg_count; d++)
		copy->args[d] = check_subscript(ck, e, d);
	return sn_pnd_reads_data(e) ? sn_pnd_raw(ck->em, e->type, "0") : copy;
}

static struct sn_pnd_expr *check_under(struct checker *ck, const struct sn_pnd_expr *e,
				       const char *guard)
{
	const char *outer = ck->guard;
	struct sn_pnd_expr *checked;

	ck->guard = guard;
	checked = check(ck, e);
	ck->guard = outer;
	return checked;
}

/* Operands that C may leave unevaluated, with subscripts among them. */
static struct sn_pnd_expr *check_conditional(struct checker *ck, const struct sn_pnd_expr *e)
{
	struct sn_pnd_emitter *em = ck->em;
	bool is_or = e->kind == SN_E_BINARY && e->punct == SN_PUNCT2('|', '|');
	struct sn_pnd_expr *copy = sn_pnd_copy_expr(em, e), *condition = check(ck, e->a);
	const char *name, *holds, *fails;

	if (sn_pnd_reads_data(e->a))
		return sn_pnd_raw(em, e->type, "0");
	name = sn_arena_printf(em->arena, "pd_c%d", ++em->temp_count);
	if (ck->guard)
		sn_pnd_line(em, "const int %s = %s && (%s);", name, ck->guard,
			    sn_pnd_text_of(em, condition));
	else
		sn_pnd_line(em, "const int %s = (%s) != 0;", name, sn_pnd_text_of(em, condition));
	holds = name;
	fails = ck->guard ? sn_arena_printf(em->arena, "(%s && !%s)", ck->guard, name)
			  : sn_arena_printf(em->arena, "!%s", name);
	copy->a = sn_pnd_raw(em, SN_T_INT, name);
	copy->b = check_under(ck, e->b, is_or ? fails : holds);
	copy->c = e->c ? check_under(ck, e->c, fails) : NULL;
	return copy;
}

static bool is_conditional(const struct sn_pnd_expr *e)
{
	if (e->kind == SN_E_COND)
		return has_subscript(e->b) || has_subscript(e->c);
	return e->kind == SN_E_BINARY && has_subscript(e->b) &&
	       (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|'));
}

/* Writes the checks, and returns what is left to evaluate; of an expression that reads data, nothing of use. */
static struct sn_pnd_expr *check(struct checker *ck, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy;

	if (!e)
		return NULL;
	if (e->kind == SN_E_INDEX)
		return check_element(ck, e);
	if (is_conditional(e))
		return check_conditional(ck, e);
	copy = sn_pnd_copy_expr(ck->em, e);
	copy->a = check(ck, e->a);
	copy->b = check(ck, e->b);
	copy->c = check(ck, e->c);
	for (int i = 0; i < e->arg_count; i++)
		copy->args[i] = check(ck, e->args[i]);
	return copy;
}

/* ---- statements ---- */

static void open_block(struct checker *ck)
{
	sn_pnd_line(ck->em, "{");
	ck->em->indent++;
}

static void close_block(struct checker *ck)
{
	ck->em->indent--;
	sn_pnd_line(ck->em, "}");
}

static void check_assign(struct checker *ck, const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_var *var = s->lhs->var;
	const struct sn_pnd_expr *lhs, *rhs;

	open_block(ck);
	lhs = check(ck, s->lhs);
	rhs = check(ck, s->rhs);
	if (!var->is_distributed && !var->is_data)
		sn_pnd_line(ck->em, "%s;", sn_pnd_assign_text(ck->em, s, lhs, rhs));
	close_block(ck);
}

/* The text of a condition, its checks before it; NULL: data decides. */
static const char *check_condition(struct checker *ck, const struct sn_pnd_expr *condition)
{
	const struct sn_pnd_expr *left = check(ck, condition);

	return sn_pnd_reads_data(condition) ? NULL : sn_pnd_text_of(ck->em, left);
}

/* What stands under a condition on data is left out. */
static void leave_out(struct checker *ck, const struct sn_pnd_stmt *s)
{
	if (sn_pnd_has_jump(s->body) || sn_pnd_has_jump(s->otherwise))
		sn_pnd_doubt(ck->em, s->pos, s->cond, "a condition", NULL);
}

static void check_if(struct checker *ck, const struct sn_pnd_stmt *s)
{
	const char *condition;

	open_block(ck);
	condition = check_condition(ck, s->cond);
	if (condition) {
		sn_pnd_line(ck->em, "if (%s) {", condition);
		check_stmt(ck, s->body);
		sn_pnd_line(ck->em, "} else {");
		if (s->otherwise)
			check_stmt(ck, s->otherwise);
		sn_pnd_line(ck->em, "}");
	} else {
		leave_out(ck, s);
	}
	close_block(ck);
}

static void check_loop_body(struct checker *ck, const struct sn_pnd_stmt *s)
{
	const char *outer = ck->next;

	ck->next = sn_arena_printf(ck->em->arena, "pd_next%d", ++ck->em->temp_count);
	open_block(ck);
	check_stmt(ck, s->body);
	close_block(ck);
	sn_pnd_line(ck->em, "%s:;", ck->next);
	ck->next = outer;
}

static void check_exit(struct checker *ck, const struct sn_pnd_stmt *s)
{
	open_block(ck);
	sn_pnd_line(ck->em, "if (!(%s)) break;", check_condition(ck, s->cond));
	close_block(ck);
}

/* The body of a do loop runs once, whatever data say. */
static void check_do(struct checker *ck, const struct sn_pnd_stmt *s)
{
	sn_pnd_line(ck->em, "for (;;) {");
	check_loop_body(ck, s);
	if (sn_pnd_reads_data(s->cond)) {
		open_block(ck);
		check_condition(ck, s->cond);
		close_block(ck);
		sn_pnd_line(ck->em, "break;");
	} else {
		check_exit(ck, s);
	}
	sn_pnd_line(ck->em, "}");
}

static void check_loop(struct checker *ck, const struct sn_pnd_stmt *s)
{
	if (s->init)
		check_assign(ck, s->init);
	if (sn_pnd_reads_data(s->cond)) {
		open_block(ck);
		check_condition(ck, s->cond);
		leave_out(ck, s);
		close_block(ck);
		return;
	}
	sn_pnd_line(ck->em, "for (;;) {");
	if (s->cond)
		check_exit(ck, s);
	check_loop_body(ck, s);
	if (s->step)
		check_assign(ck, s->step);
	sn_pnd_line(ck->em, "}");
}

static void check_block(struct checker *ck, const struct sn_pnd_stmt *s)
{
	open_block(ck);
	sn_pnd_emit_locals(ck->em, s->locals, true);
	for (const struct sn_pnd_stmt *child = s->first; child; child = child->next)
		check_stmt(ck, child);
	close_block(ck);
}

static void check_stmt(struct checker *ck, const struct sn_pnd_stmt *s)
{
	switch (s->kind) {
	case SN_S_BLOCK:
		check_block(ck, s);
		break;
	case SN_S_ASSIGN:
		check_assign(ck, s);
		break;
	case SN_S_IF:
		check_if(ck, s);
		break;
	case SN_S_DO:
		check_do(ck, s);
		break;
	case SN_S_FOR:
	case SN_S_WHILE:
		check_loop(ck, s);
		break;
	case SN_S_ZONE:
		check_stmt(ck, s->body);
		break;
	case SN_S_RETURN:
		sn_pnd_line(ck->em, "return;");
		break;
	case SN_S_BREAK:
		sn_pnd_line(ck->em, "break;");
		break;
	case SN_S_CONTINUE:
		sn_pnd_line(ck->em, "goto %s;", ck->next);
		break;
	case SN_S_OBSERVE:
	case SN_S_EMPTY:
		break;
	}
}

void sn_pnd_emit_checks(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *body)
{
	struct checker ck = { .em = em };

	check_stmt(&ck, body);
}
