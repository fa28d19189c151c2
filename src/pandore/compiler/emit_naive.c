/*
 * The naive scheme, statement by statement: refresh the operands on the owner of the target,
 * execute there, free the copies (they are locals of a block). Every node runs all the control
 * flow, so all issue their messages in the program's order and none can block for ever.
 */
#include <string.h>

#include "pandore/compiler/emit.h"

struct fetched {
	const struct sn_pnd_expr *ref; /* after its own subscripts were lowered */
	const char *temp, *guard;
	bool is_broadcast;
};

/* How the distributed references of one statement become local values. */
struct lowering {
	struct sn_pnd_emitter *em;
	struct sn_pnd_pos pos;
	int zone;
	const char *target; /* the variable assigned, or what the value is for */
	const char *owner;  /* text: who needs the values; NULL: everybody */
	const char *guard;  /* text of the conditions under which the operand is evaluated */
	SN_VEC(struct fetched) fetched;
};

static struct sn_pnd_expr *lower(struct lowering *lo, const struct sn_pnd_expr *e);

struct sn_pnd_expr *sn_pnd_copy_expr(struct sn_pnd_emitter *em, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy = sn_arena_new(em->arena, struct sn_pnd_expr);

	*copy = *e;
	if (e->arg_count) {
		copy->args = sn_arena_array(em->arena, struct sn_pnd_expr *, (size_t)e->arg_count);
		memcpy(copy->args, e->args, sizeof(*e->args) * (size_t)e->arg_count);
	}
	return copy;
}

/* Values that every node needs (subscripts, conditions), whoever needs the statement's operands. */
static struct sn_pnd_expr *lower_for_all(struct lowering *lo, const struct sn_pnd_expr *e,
					 const char *purpose)
{
	const char *owner = lo->owner, *target = lo->target;
	struct sn_pnd_expr *lowered;

	if (owner)
		lo->target = purpose;
	lo->owner = NULL;
	lowered = lower(lo, e);
	lo->owner = owner;
	lo->target = target;
	return lowered;
}

static struct sn_pnd_expr *checked(struct lowering *lo, const struct sn_pnd_expr *index, int d,
				   struct sn_pnd_expr *sub)
{
	struct sn_pnd_emitter *em = lo->em;
	const struct sn_pnd_file *file = &em->program->diags->files.items[lo->pos.file];
	struct sn_text quoted = { 0 };
	struct sn_pnd_expr *raw;

	if (!em->options->check)
		return sub;
	sn_text_add_json(&quoted, file->name, strlen(file->name));
	raw = sn_pnd_raw(em, SN_T_LONG,
			 sn_arena_printf(em->arena, "pd_check(%s, %s, \"%s\", %s, %d)",
					 sn_pnd_text_of(em, sub),
					 sn_pnd_extent_text(em, index->var, d), index->var->name,
					 quoted.chars, lo->pos.line));
	sn_text_free(&quoted);
	return raw;
}

/* An element with subscripts that every node can compute. */
static struct sn_pnd_expr *lower_subscripts(struct lowering *lo, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy = sn_pnd_copy_expr(lo->em, e);

	for (int d = 0; d < e->arg_count; d++) {
		struct sn_pnd_expr *sub = e->var->is_distributed
						  ? lower_for_all(lo, e->args[d], "(subscript)")
						  : lower(lo, e->args[d]);

		copy->args[d] = checked(lo, e, d, sub);
	}
	return copy;
}

static const char *find_fetched(const struct lowering *lo, const struct sn_pnd_expr *ref)
{
	for (size_t i = 0; i < lo->fetched.count; i++) {
		const struct fetched *f = &lo->fetched.items[i];

		if (f->is_broadcast == !lo->owner && sn_pnd_same_expr(f->ref, ref) &&
		    (!f->guard || (lo->guard && !strcmp(f->guard, lo->guard))))
			return f->temp;
	}
	return NULL;
}

static struct sn_pnd_expr *fetch(struct lowering *lo, const struct sn_pnd_expr *e)
{
	struct sn_pnd_emitter *em = lo->em;
	struct sn_pnd_expr *ref = lower_subscripts(lo, e);
	const char *known = find_fetched(lo, ref);
	struct fetched f = { .ref = ref, .guard = lo->guard, .is_broadcast = !lo->owner };
	int site;

	if (known)
		return sn_pnd_raw(em, e->type, known);
	f.temp = sn_arena_printf(em->arena, "pd_t%d", ++em->temp_count);
	site = sn_pnd_add_site(em, lo->pos, lo->zone, f.is_broadcast, e->var->name, lo->target);
	sn_pnd_doubt_owner(em, e, lo->guard);
	sn_pnd_line(em, "%s %s = 0;", sn_pnd_type_name(e->type), f.temp);
	if (lo->guard) {
		sn_pnd_line(em, "if (%s)", lo->guard);
		em->indent++;
	}
	if (lo->owner)
		sn_pnd_line(em, "PD_REFRESH(%d, %s, %s, %s, %s);", site, f.temp,
			    sn_pnd_text_of(em, ref), sn_pnd_owner_text(em, ref), lo->owner);
	else
		sn_pnd_line(em, "PD_BROADCAST(%d, %s, %s, %s);", site, f.temp,
			    sn_pnd_text_of(em, ref), sn_pnd_owner_text(em, ref));
	if (lo->guard)
		em->indent--;
	sn_vec_push(&lo->fetched, f);
	return sn_pnd_raw(em, e->type, f.temp);
}

/* The truth of a condition in a variable, so that guards can name it. */
static const char *condition_variable(struct lowering *lo, const struct sn_pnd_expr *e)
{
	struct sn_pnd_emitter *em = lo->em;
	struct sn_pnd_expr *value = lower_for_all(lo, e, "(condition)");
	const char *name = sn_arena_printf(em->arena, "pd_c%d", ++em->temp_count);

	sn_pnd_line(em, "int %s = 0;", name);
	sn_pnd_doubt(em, lo->pos, e, "a condition", lo->guard);
	if (lo->guard)
		sn_pnd_line(em, "if (%s) %s = (%s) != 0;", lo->guard, name,
			    sn_pnd_text_of(em, value));
	else
		sn_pnd_line(em, "%s = (%s) != 0;", name, sn_pnd_text_of(em, value));
	return name;
}

static struct sn_pnd_expr *lower_guarded(struct lowering *lo, const struct sn_pnd_expr *e,
					 const char *condition)
{
	const char *outer = lo->guard;
	struct sn_pnd_expr *lowered;

	lo->guard =
		outer ? sn_arena_printf(lo->em->arena, "%s && %s", outer, condition) : condition;
	lowered = lower(lo, e);
	lo->guard = outer;
	return lowered;
}

/* Operands that C may leave unevaluated are fetched under the same condition only. */
static struct sn_pnd_expr *lower_conditional(struct lowering *lo, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy = sn_pnd_copy_expr(lo->em, e);
	bool is_or = e->punct == SN_PUNCT2('|', '|');
	const char *name = condition_variable(lo, e->a), *opposite;

	opposite = sn_arena_printf(lo->em->arena, "!%s", name);
	copy->a = sn_pnd_raw(lo->em, SN_T_INT, name);
	if (e->kind == SN_E_COND) {
		copy->b = lower_guarded(lo, e->b, name);
		copy->c = lower_guarded(lo, e->c, opposite);
	} else {
		copy->b = lower_guarded(lo, e->b, is_or ? opposite : name);
	}
	return copy;
}

static bool is_conditional(const struct sn_pnd_expr *e)
{
	if (e->kind == SN_E_COND)
		return e->b->has_distributed || e->c->has_distributed;
	return e->kind == SN_E_BINARY && e->b->has_distributed &&
	       (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|'));
}

static struct sn_pnd_expr *lower(struct lowering *lo, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy;

	if (!e)
		return NULL;
	if (e->kind == SN_E_INDEX)
		return e->var->is_distributed ? fetch(lo, e) : lower_subscripts(lo, e);
	if (is_conditional(e))
		return lower_conditional(lo, e);
	copy = sn_pnd_copy_expr(lo->em, e);
	copy->a = lower(lo, e->a);
	copy->b = lower(lo, e->b);
	copy->c = lower(lo, e->c);
	for (int i = 0; i < e->arg_count; i++)
		copy->args[i] = lower(lo, e->args[i]);
	return copy;
}

static void open_block(struct sn_pnd_emitter *em)
{
	sn_pnd_line(em, "{");
	em->indent++;
}

static void close_block(struct sn_pnd_emitter *em)
{
	em->indent--;
	sn_pnd_line(em, "}");
}

/* ---- assignments ---- */

static void emit_owned_assign(struct lowering *lo, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_emitter *em = lo->em;
	struct sn_pnd_expr *lhs = lower_subscripts(lo, s->lhs), *rhs;

	sn_pnd_doubt_owner(em, s->lhs, NULL);
	sn_pnd_line(em, "const int pd_o = %s;", sn_pnd_owner_text(em, lhs));
	lo->owner = "pd_o";
	rhs = lower(lo, s->rhs);
	sn_pnd_mark_line(em, s->pos);
	sn_pnd_line(em, "if (pd_o == pd_me) {");
	em->indent++;
	sn_pnd_line(em, "%s%s;", sn_pnd_compute_text(s), sn_pnd_assign_text(em, s, lhs, rhs));
	sn_pnd_line(em, "pd_done(%d);", s->id);
	close_block(em);
}

static void emit_assign(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s, bool is_counted)
{
	struct lowering lo = {
		.em = em, .pos = s->pos, .zone = s->zone, .target = s->lhs->var->name
	};
	bool is_plain = !s->lhs->has_distributed && !(s->rhs && s->rhs->has_distributed);
	struct sn_pnd_expr *lhs, *rhs;

	if (is_counted)
		sn_pnd_add_assignment(em, s);
	sn_pnd_mark_line(em, s->pos);
	open_block(em);
	if (s->lhs->var->is_distributed) {
		emit_owned_assign(&lo, s);
	} else {
		lhs = lower(&lo, s->lhs);
		rhs = lower(&lo, s->rhs);
		if (!is_plain)
			sn_pnd_mark_line(em, s->pos);
		sn_pnd_line(em, "%s%s;", sn_pnd_compute_text(s),
			    sn_pnd_assign_text(em, s, lhs, rhs));
		if (is_counted)
			sn_pnd_line(em, "pd_done(%d);", s->id);
	}
	close_block(em);
	sn_vec_free(&lo.fetched);
}

/* ---- control ---- */

/* The text of a condition after what it needs was fetched by every node. */
static const char *emit_condition(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	struct lowering lo = { .em = em, .pos = s->pos, .zone = s->zone, .target = "(condition)" };
	const char *text = sn_pnd_text_of(em, lower(&lo, s->cond));

	sn_pnd_doubt(em, s->pos, s->cond, "a condition", NULL);
	sn_vec_free(&lo.fetched);
	return text;
}

static void emit_body(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	open_block(em);
	sn_pnd_emit_stmt(em, s);
	close_block(em);
}

/* The body of a loop. If more of the loop stands behind it, a continue goes to a label there. */
static void emit_loop_body(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s, bool has_more)
{
	const char *label = em->loop_label;
	size_t zones = em->loop_zones;
	bool has_use = em->has_label_use;

	em->loop_label =
		has_more ? sn_arena_printf(em->arena, "pd_next%d", ++em->temp_count) : NULL;
	em->loop_zones = em->zones.count;
	em->has_label_use = false;
	emit_body(em, s);
	if (em->has_label_use)
		sn_pnd_line(em, "%s:;", em->loop_label);
	em->loop_label = label;
	em->loop_zones = zones;
	em->has_label_use = has_use;
}

static void emit_jump(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	size_t kept = s->kind == SN_S_RETURN ? 0 : em->loop_zones;

	sn_pnd_mark_line(em, s->pos);
	open_block(em);
	for (size_t i = em->zones.count; i-- > kept;)
		sn_pnd_line(em, "PD_ZONE_LEAVE(%d);", em->zones.items[i]);
	if (s->kind == SN_S_RETURN) {
		sn_pnd_line(em, "return;");
	} else if (s->kind == SN_S_BREAK) {
		sn_pnd_line(em, "break;");
	} else if (em->loop_label) {
		sn_pnd_line(em, "goto %s;", em->loop_label);
		em->has_label_use = true;
	} else {
		sn_pnd_line(em, "continue;");
	}
	close_block(em);
}

static void emit_if(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	sn_pnd_mark_line(em, s->pos);
	open_block(em);
	sn_pnd_line(em, "if (%s)", emit_condition(em, s));
	emit_body(em, s->body);
	if (s->otherwise) {
		sn_pnd_line(em, "else");
		emit_body(em, s->otherwise);
	}
	close_block(em);
}

static void emit_exit_test(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	sn_pnd_mark_line(em, s->pos);
	sn_pnd_line(em, "if (!(%s))", emit_condition(em, s));
	em->indent++;
	sn_pnd_line(em, "break;");
	em->indent--;
}

static void emit_while(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	sn_pnd_line(em, "for (;;) {");
	em->indent++;
	if (s->kind == SN_S_WHILE)
		emit_exit_test(em, s);
	emit_loop_body(em, s->body, s->kind == SN_S_DO);
	if (s->kind == SN_S_DO)
		emit_exit_test(em, s);
	close_block(em);
}

static bool is_simple_assign(const struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	return !s || (!s->lhs->has_distributed && !(s->rhs && s->rhs->has_distributed) &&
		      !em->options->check);
}

static const char *header_assign(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	return s ? sn_pnd_assign_text(em, s, s->lhs, s->rhs) : "";
}

static void emit_for(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	if (em->options->scheme == SN_PND_OPT && sn_pnd_emit_nest(em, s))
		return;
	sn_pnd_mark_line(em, s->pos);
	if (is_simple_assign(em, s->init) && is_simple_assign(em, s->step) &&
	    !(s->cond && (s->cond->has_distributed || em->options->check))) {
		sn_pnd_doubt(em, s->pos, s->cond, "a condition", NULL);
		sn_pnd_line(em, "for (%s; %s; %s)", header_assign(em, s->init),
			    s->cond ? sn_pnd_text_of(em, s->cond) : "", header_assign(em, s->step));
		emit_loop_body(em, s->body, false);
		return;
	}
	open_block(em);
	if (s->init)
		emit_assign(em, s->init, false);
	sn_pnd_line(em, "for (;;) {");
	em->indent++;
	if (s->cond)
		emit_exit_test(em, s);
	emit_loop_body(em, s->body, true);
	if (s->step)
		emit_assign(em, s->step, false);
	close_block(em);
	close_block(em);
}

enum { STATIC_BYTES_MAX = 1 << 26 };

static bool is_on_heap(const struct sn_pnd_var *v)
{
	int64_t bytes = sn_pnd_type_bytes(v->type);

	for (int d = 0; d < v->rank; d++)
		if (v->late_extent[d] || __builtin_mul_overflow(bytes, v->extent[d], &bytes) ||
		    bytes > STATIC_BYTES_MAX)
			return true;
	return false;
}

/* "double (*const t)[m] = pd_local(...);" */
static void emit_heap_local(struct sn_pnd_emitter *em, const struct sn_pnd_var *v)
{
	const char *type = sn_pnd_type_name(v->type);
	struct sn_text line = { 0 };

	sn_text_addf(&line, v->rank > 1 ? "%s (*const %s)" : "%s *const %s", type, v->name);
	for (int d = 1; d < v->rank; d++)
		sn_text_addf(&line, "[%s]", sn_pnd_extent_text(em, v, d));
	sn_text_addf(&line, " = pd_local(%d, \"%s\", sizeof(%s), %d, (const long[]){ ",
		     em->local_count++, v->spelled, type, v->rank);
	for (int d = 0; d < v->rank; d++)
		sn_text_addf(&line, "%s%s", d ? ", " : "", sn_pnd_extent_text(em, v, d));
	sn_pnd_line(em, "%s });", line.chars);
	sn_text_free(&line);
}

void sn_pnd_emit_locals(struct sn_pnd_emitter *em, const struct sn_pnd_var *locals, bool in_phase)
{
	for (const struct sn_pnd_var *v = locals; v; v = v->next) {
		struct sn_text line = { 0 };

		for (int d = 0; d < v->rank && in_phase; d++)
			sn_pnd_doubt(em, v->pos, v->late_extent[d], "sizes that the run decides",
				     NULL);
		if (in_phase && is_on_heap(v)) {
			emit_heap_local(em, v);
			continue;
		}
		/* no phase runs twice at a time, and its arrays may be too large for a stack */
		sn_text_addf(&line, "%s%s %s", v->rank && in_phase ? "static " : "",
			     sn_pnd_type_name(v->type), v->name);
		for (int d = 0; d < v->rank; d++)
			sn_text_addf(&line, "[%lld]", (long long)v->extent[d]);
		sn_pnd_line(em, "%s;", line.chars);
		sn_text_free(&line);
	}
}

static void emit_block(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	open_block(em);
	sn_pnd_emit_locals(em, s->locals, true);
	for (const struct sn_pnd_stmt *child = s->first; child; child = child->next)
		sn_pnd_emit_stmt(em, child);
	close_block(em);
}

void sn_pnd_emit_stmt(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	switch (s->kind) {
	case SN_S_BLOCK:
		emit_block(em, s);
		break;
	case SN_S_ASSIGN:
		emit_assign(em, s, true);
		break;
	case SN_S_IF:
		emit_if(em, s);
		break;
	case SN_S_FOR:
		emit_for(em, s);
		break;
	case SN_S_WHILE:
	case SN_S_DO:
		emit_while(em, s);
		break;
	case SN_S_ZONE:
		sn_pnd_line(em, "PD_ZONE_ENTER(%d);", s->zone);
		sn_vec_push(&em->zones, s->zone);
		sn_pnd_emit_stmt(em, s->body);
		em->zones.count--;
		sn_pnd_line(em, "PD_ZONE_LEAVE(%d);", s->zone);
		break;
	case SN_S_OBSERVE:
		sn_pnd_add_point(em, s, *s->name ? s->name : "observe", true);
		sn_pnd_line(em, "pd_observe(%d);", s->id);
		break;
	case SN_S_RETURN:
	case SN_S_BREAK:
	case SN_S_CONTINUE:
		emit_jump(em, s);
		break;
	case SN_S_EMPTY:
		sn_pnd_line(em, ";");
		break;
	}
}

/* ---- functions ---- */

static void emit_plain_for(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	sn_pnd_line(em, "for (%s; %s; %s)", header_assign(em, s->init),
		    s->cond ? sn_pnd_text_of(em, s->cond) : "", header_assign(em, s->step));
	sn_pnd_emit_plain(em, s->body);
}

void sn_pnd_emit_plain(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	if (s->kind != SN_S_BLOCK && s->kind != SN_S_EMPTY)
		sn_pnd_mark_line(em, s->pos);
	switch (s->kind) {
	case SN_S_BLOCK:
		open_block(em);
		sn_pnd_emit_locals(em, s->locals, false);
		for (const struct sn_pnd_stmt *child = s->first; child; child = child->next)
			sn_pnd_emit_plain(em, child);
		close_block(em);
		break;
	case SN_S_ASSIGN:
		sn_pnd_line(em, "%s;", sn_pnd_assign_text(em, s, s->lhs, s->rhs));
		break;
	case SN_S_IF:
		sn_pnd_line(em, "if (%s) {", sn_pnd_text_of(em, s->cond));
		sn_pnd_emit_plain(em, s->body);
		sn_pnd_line(em, s->otherwise ? "} else {" : "}");
		if (s->otherwise) {
			sn_pnd_emit_plain(em, s->otherwise);
			sn_pnd_line(em, "}");
		}
		break;
	case SN_S_FOR:
		emit_plain_for(em, s);
		break;
	case SN_S_WHILE:
		sn_pnd_line(em, "while (%s)", sn_pnd_text_of(em, s->cond));
		sn_pnd_emit_plain(em, s->body);
		break;
	case SN_S_DO:
		sn_pnd_line(em, "do {");
		sn_pnd_emit_plain(em, s->body);
		sn_pnd_line(em, "} while (%s);", sn_pnd_text_of(em, s->cond));
		break;
	case SN_S_RETURN:
		sn_pnd_line(em, s->rhs ? "return %s;" : "return%s;",
			    s->rhs ? sn_pnd_text_of(em, s->rhs) : "");
		break;
	case SN_S_BREAK:
		sn_pnd_line(em, "break;");
		break;
	case SN_S_CONTINUE:
		sn_pnd_line(em, "continue;");
		break;
	default:
		sn_pnd_line(em, ";");
		break;
	}
}
