/* Code of a nest's messages: descriptors of what moves (struct pd_moves), the values of subscripts
 * and counters at the place of a message, and inspections. */
#include <stdlib.h>
#include <string.h>

#include "pandore/compiler/data.h"
#include "pandore/compiler/emit_nest.h"

enum { KEY_MAX = 16 };

static void add_term(struct sn_text *text, int64_t coef, const char *name)
{
	if (!coef)
		return;
	if (text->length)
		sn_text_add(text, coef < 0 ? " - " : " + ");
	else if (coef < 0)
		sn_text_add(text, "-");
	if (coef != 1 && coef != -1)
		sn_text_addf(text, "%lldL * ", (long long)(coef < 0 ? -coef : coef));
	sn_text_add(text, name);
}

static const char *finish(struct sn_nest_emitter *ne, struct sn_text *text, int64_t constant)
{
	const char *kept;

	if (!text->length)
		sn_text_addf(text, "%lldL", (long long)constant);
	else if (constant)
		sn_text_addf(text, " %c %lldL", constant < 0 ? '-' : '+',
			     (long long)(constant < 0 ? -constant : constant));
	kept = sn_arena_strdup(ne->em->arena, text->chars);
	sn_text_free(text);
	return kept;
}

/* The form without the counters of loops deeper than `depth`. */
const char *sn_nest_base_text(struct sn_nest_emitter *ne, const struct sn_affine *a, int depth)
{
	struct sn_text text = { 0 };

	for (int l = 0; l < ne->nest->loop_count; l++)
		if (ne->nest->loops[l].depth <= depth)
			add_term(&text, a->coef[l], ne->nest->loops[l].var->name);
	for (int i = 0; i < a->symbol_count; i++)
		add_term(&text, a->symbols[i].coef, a->symbols[i].var->name);
	return finish(ne, &text, a->constant);
}

const char *sn_nest_owner_text(struct sn_nest_emitter *ne, const struct sn_nest_assign *a,
			       int depth)
{
	const struct sn_pnd_var *var = a->target->var;
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_addf(&text, "pd_own_%s_%s(", ne->em->phase->name, var->name);
	for (int d = 0; d < var->rank; d++)
		sn_text_addf(&text, "%s%s", d ? ", " : "",
			     var->grid[d] == 1 ? "0" : sn_nest_base_text(ne, &a->subs[d], depth));
	sn_text_add(&text, ")");
	kept = sn_arena_strdup(ne->em->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

/* The smallest or largest value over the free counters, whose bounds are in pd_l and pd_h. */
static const char *sn_nest_bound_text(struct sn_nest_emitter *ne, const struct sn_affine *a,
				      int depth, bool smallest)
{
	struct sn_text text = { 0 };

	for (int l = 0; l < ne->nest->loop_count; l++) {
		bool is_free = ne->nest->loops[l].depth > depth;
		char name[32];

		snprintf(name, sizeof(name), "pd_%c%d", (a->coef[l] > 0) == smallest ? 'l' : 'h',
			 l);
		add_term(&text, a->coef[l], is_free ? name : ne->nest->loops[l].var->name);
	}
	for (int i = 0; i < a->symbol_count; i++)
		add_term(&text, a->symbols[i].coef, a->symbols[i].var->name);
	return finish(ne, &text, a->constant);
}

/* An expression as an operand of whatever operator. */
static const char *operand_text(struct sn_nest_emitter *ne, const struct sn_pnd_expr *e)
{
	const char *text = sn_pnd_text_of(ne->em, e);

	return e->kind == SN_E_INT || e->kind == SN_E_VAR
		       ? text
		       : sn_arena_printf(ne->em->arena, "(%s)", text);
}

const char *sn_nest_start_text(struct sn_nest_emitter *ne, const struct sn_nest_loop *l)
{
	return operand_text(ne, l->start);
}

const char *sn_nest_last_text(struct sn_nest_emitter *ne, const struct sn_nest_loop *l)
{
	const char *end = operand_text(ne, l->end);

	if (!l->end_adjust)
		return end;
	return sn_arena_printf(ne->em->arena, "((long)%s %s %lld)", end,
			       l->end_adjust > 0 ? "+" : "-", llabs(l->end_adjust));
}

/* ---- messages ---- */

static void add_coefs(struct sn_text *table, struct sn_nest_emitter *ne,
		      const struct sn_affine *subs, int rank, const int *loops, int count,
		      const char *name)
{
	unsigned whole = 0;

	sn_text_addf(table, "\t.%s_coef = { ", name);
	for (int d = 0; d < rank; d++) {
		sn_text_add(table, "{ ");
		for (int i = 0; i < count; i++)
			sn_text_addf(table, "%lld, ",
				     (long long)(subs[d].ok ? subs[d].coef[loops[i]] : 0));
		sn_text_add(table, count ? "}, " : "0 }, ");
		whole |= subs[d].ok ? 0 : 1u << d;
	}
	sn_text_addf(table, "},\n\t.%s_whole = %u,\n", name, whole);
	(void)ne;
}

static void emit_moves_table(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref, int number,
			     const int *loops, int count)
{
	struct sn_text *table = ne->em->tables;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &ne->nest->assigns[ref->assign];
	const char *phase = ne->em->phase->name;

	sn_text_addf(table,
		     "static const struct pd_moves pd_moves_%s_%d = {\n\t.site = %d, .source = "
		     "&pd_array_%s_%s, ",
		     phase, number, ref->site, phase, ref->expr->var->name);
	if (a)
		sn_text_addf(table, ".target = &pd_array_%s_%s, ", phase, a->target->var->name);
	sn_text_addf(table, ".loop_count = %d,\n", count);
	add_coefs(table, ne, ref->subs, ref->expr->arg_count, loops, count, "source");
	if (a)
		add_coefs(table, ne, a->subs, a->target->arg_count, loops, count, "target");
	sn_text_add(table, "};\n");
}

static void emit_bases(struct sn_nest_emitter *ne, const char *name, const struct sn_affine *subs,
		       int rank, int depth)
{
	struct sn_text text = { 0 };

	for (int d = 0; d < rank; d++)
		sn_text_addf(&text, "%s%s", d ? ", " : "",
			     subs[d].ok ? sn_nest_base_text(ne, &subs[d], depth) : "0");
	sn_pnd_line(ne->em, "const long %s[] = { %s };", name, rank ? text.chars : "0");
	sn_text_free(&text);
}

/* pd_lN and pd_hN: bounds of a free counter. */
static void emit_range(struct sn_nest_emitter *ne, int loop, int depth,
		       const struct sn_fixed_range *fixed, int fixed_count)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const char *low = l->step > 0 ? sn_nest_start_text(ne, l) : sn_nest_last_text(ne, l);
	const char *high = l->step > 0 ? sn_nest_last_text(ne, l) : sn_nest_start_text(ne, l);

	if (l->low.ok)
		low = sn_nest_bound_text(ne, &l->low, depth, true);
	if (l->high.ok)
		high = sn_nest_bound_text(ne, &l->high, depth, false);
	for (int i = 0; i < fixed_count; i++)
		if (fixed[i].loop == loop) {
			low = fixed[i].low;
			high = fixed[i].high;
		}
	sn_pnd_line(ne->em, "const long pd_l%d = %s, pd_h%d = %s;", loop, low, loop, high);
}

/* Values are low, low + step, ... only where low is the loop's start. */
static int64_t range_step(const struct sn_nest_emitter *ne, int loop, int depth, int fixed_count)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];

	if (l->step <= 0 || fixed_count)
		return l->step == 1 ? 1 : fixed_count && l->step > 0 ? l->step : 1;
	return l->bounds_depth > depth ? 1 : l->step;
}

/* A subscript that may be evaluated where the program would not: inner subscripts stay in bounds.
 */
static struct sn_pnd_expr *clipped(struct sn_nest_emitter *ne, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy = sn_arena_new(ne->em->arena, struct sn_pnd_expr);

	*copy = *e;
	copy->a = e->a ? clipped(ne, e->a) : NULL;
	copy->b = e->b ? clipped(ne, e->b) : NULL;
	copy->c = e->c ? clipped(ne, e->c) : NULL;
	if (e->kind != SN_E_INDEX)
		return copy;
	copy->args = sn_arena_array(ne->em->arena, struct sn_pnd_expr *, (size_t)e->arg_count);
	for (int d = 0; d < e->arg_count; d++)
		copy->args[d] =
			sn_pnd_raw(ne->em, SN_T_LONG,
				   sn_arena_printf(ne->em->arena, "pd_clip(%s, %s)",
						   sn_pnd_text_of(ne->em, clipped(ne, e->args[d])),
						   sn_pnd_extent_text(ne->em, e->var, d)));
	return copy;
}

/* "const long NAME[] = { subscripts };" and the text of the test that they are in bounds. */
static const char *emit_subscripts(struct sn_nest_emitter *ne, const struct sn_pnd_expr *element,
				   const char *name)
{
	struct sn_text values = { 0 }, test = { 0 };
	const char *kept;

	for (int d = 0; d < element->arg_count; d++) {
		sn_text_addf(&values, "%s%s", d ? ", " : "",
			     sn_pnd_text_of(ne->em, clipped(ne, element->args[d])));
		sn_text_addf(&test, "%spd_inside(%s[%d], %s)", d ? " && " : "", name, d,
			     sn_pnd_extent_text(ne->em, element->var, d));
	}
	sn_pnd_line(ne->em, "const long %s[] = { %s };", name, values.chars);
	kept = sn_arena_strdup(ne->em->arena, test.chars);
	sn_text_free(&values);
	sn_text_free(&test);
	return kept;
}

/* The loop again, with a counter of its own. One whose counter names no element runs once. `also`: a
 * further condition of it, or "". */
static void emit_shadow_loop(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref, int loop,
			     const struct sn_fixed_range *fixed, int fixed_count, const char *also)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const char *name = l->var->name, *type = sn_pnd_type_name(l->var->type);
	int64_t step = l->step;
	const char *first = sn_nest_start_text(ne, l), *last = sn_nest_last_text(ne, l);

	for (int i = 0; i < fixed_count; i++)
		if (fixed[i].loop == loop) {
			first = fixed[i].low;
			last = fixed[i].high;
			step = step < 0 ? -step : step;
		}
	if (!sn_nest_is_listed_by(ne->nest, ref, loop)) {
		sn_pnd_line(ne->em,
			    "for (%s %s = (%s)(%s), pd_o%d = 1; pd_o%d && %s %s %s; pd_o%d = 0)",
			    type, name, type, first, loop, loop, name, step > 0 ? "<=" : ">=", last,
			    loop);
		return;
	}
	sn_pnd_line(ne->em, "for (%s %s = (%s)(%s); %s %s %s%s; %s += %lld)", type, name, type,
		    first, name, step > 0 ? "<=" : ">=", last, also, name, (long long)step);
}

/* What decides which elements an inspection lists: numbers and versions of arrays. */
struct key {
	struct sn_nest_emitter *ne;
	const struct sn_nest_ref *ref;
	const struct sn_pnd_var *vars[KEY_MAX];
	struct sn_text text;
	int count;
	bool is_known;
};

static bool is_walked(const struct key *key, const struct sn_pnd_var *var)
{
	const struct sn_nest *nest = key->ne->nest;

	for (int l = key->ref->loop; l >= 0; l = nest->loops[l].parent)
		if (nest->loops[l].depth > key->ref->level && nest->loops[l].var == var)
			return true;
	return false;
}

static void add_to_key(struct key *key, const char *before, const char *text, const char *after)
{
	if (key->count == KEY_MAX) {
		key->is_known = false;
		return;
	}
	sn_text_add(&key->text, key->count ? ", " : "");
	sn_text_addf(&key->text, "%s%s%s", before, text, after);
	key->count++;
}

static void add_var_to_key(struct key *key, const struct sn_pnd_var *var)
{
	if (is_walked(key, var) || (var->is_const && var->kind == SN_VAR_GLOBAL))
		return;
	for (int i = 0; i < key->count; i++)
		if (key->vars[i] == var)
			return;
	if (key->count < KEY_MAX)
		key->vars[key->count] = var;
	if (!var->rank) {
		key->is_known &= sn_pnd_type_is_integer(var->type);
		add_to_key(key, "(long)", var->name, "");
		return;
	}
	/* an array of the phase's own, or one that it changes, has no version */
	key->is_known &= var->kind == SN_VAR_PARAM && !var->is_written;
	add_to_key(key, "pd_version(", var->name, ")");
}

static void add_expr_to_key(struct key *key, const struct sn_pnd_expr *e)
{
	if (!e)
		return;
	if (e->kind == SN_E_CALL || e->kind == SN_E_REAL)
		key->is_known = false;
	if (e->var)
		add_var_to_key(key, e->var);
	for (int i = 0; i < e->arg_count; i++)
		add_expr_to_key(key, e->args[i]);
	add_expr_to_key(key, e->a);
	add_expr_to_key(key, e->b);
	add_expr_to_key(key, e->c);
}

/* The key of an inspection as a list of expressions; NULL: what it lists may change unseen. */
static const char *key_of(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref,
			  const struct sn_fixed_range *fixed, int fixed_count, int *count)
{
	struct key key = { .ne = ne, .ref = ref, .is_known = true };
	const char *text = NULL;

	for (int d = 0; d < ref->expr->arg_count; d++)
		add_expr_to_key(&key, ref->expr->args[d]);
	for (int d = 0; ref->assign >= 0 && d < ne->nest->assigns[ref->assign].target->arg_count;
	     d++)
		add_expr_to_key(&key, ne->nest->assigns[ref->assign].target->args[d]);
	for (int l = ref->loop; l >= 0; l = ne->nest->loops[l].parent) {
		if (ne->nest->loops[l].depth <= ref->level)
			continue;
		add_expr_to_key(&key, ne->nest->loops[l].start);
		add_expr_to_key(&key, ne->nest->loops[l].end);
	}
	for (int i = 0; i < fixed_count; i++) {
		add_to_key(&key, "", fixed[i].low, "");
		add_to_key(&key, "", fixed[i].high, "");
	}
	if (key.is_known)
		text = sn_arena_strdup(ne->em->arena, key.count ? key.text.chars : "0");
	*count = key.count;
	sn_text_free(&key.text);
	return text;
}

/* pd_inspect_begin(), or a test whether the lists of the last time are still right. */
static bool emit_inspection_head(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref,
				 const struct sn_fixed_range *fixed, int fixed_count)
{
	struct sn_pnd_emitter *em = ne->em;
	int count, number = em->nest_count++;
	const char *key = key_of(ne, ref, fixed, fixed_count, &count);
	const char *phase = em->phase->name, *name = ref->expr->var->name;

	if (!key) {
		sn_pnd_line(em, "pd_inspect_begin(&pd_array_%s_%s, %d, %s);", phase, name,
			    ref->site, name);
		return false;
	}
	sn_text_addf(em->tables, "static struct pd_kept *pd_kept_%s_%d;\n", phase, number);
	sn_pnd_line(em, "const long pd_key[] = { %s };", key);
	sn_pnd_line(em,
		    "if (!pd_inspect_again(&pd_kept_%s_%d, &pd_array_%s_%s, %d, %s, pd_key, %d)) {",
		    phase, number, phase, name, ref->site, name, count);
	em->indent++;
	return true;
}

static const char *owner_call(struct sn_nest_emitter *ne, const struct sn_pnd_var *var,
			      const char *subscripts)
{
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_addf(&text, "pd_own_%s_%s(", ne->em->phase->name, var->name);
	for (int d = 0; d < var->rank; d++)
		sn_text_addf(&text, "%s%s[%d]", d ? ", " : "", subscripts, d);
	sn_text_add(&text, ")");
	kept = sn_arena_strdup(ne->em->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

static void emit_inspection(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref,
			    const struct sn_fixed_range *fixed, int fixed_count)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &ne->nest->assigns[ref->assign];
	const char *at, *to = NULL;
	bool is_kept;

	sn_pnd_line(em, "{");
	em->indent++;
	is_kept = emit_inspection_head(ne, ref, fixed, fixed_count);
	for (int d = ref->level + 1; d <= ne->nest->loops[ref->loop].depth; d++)
		emit_shadow_loop(ne, ref, sn_nest_ancestor(ne->nest, ref->loop, d), fixed,
				 fixed_count, "");
	sn_pnd_line(em, "{");
	em->indent++;
	at = emit_subscripts(ne, ref->expr, "pd_at");
	if (a)
		to = emit_subscripts(ne, a->target, "pd_to");
	sn_pnd_line(em, "if (%s%s%s)", at, to ? " && " : "", to ? to : "");
	if (a) {
		sn_pnd_line(em, "{");
		sn_pnd_line(em, "\tconst int pd_from = %s, pd_needs = %s;",
			    owner_call(ne, ref->expr->var, "pd_at"),
			    owner_call(ne, a->target->var, "pd_to"));
		sn_pnd_line(
			em,
			"\tif (pd_from != pd_needs && (pd_from == pd_me || pd_needs == pd_me))");
		sn_pnd_line(em, "\t\tpd_inspect(pd_needs, pd_at);");
		sn_pnd_line(em, "}");
	} else {
		sn_pnd_line(em, "\tpd_inspect(-1, pd_at);");
	}
	em->indent--;
	sn_pnd_line(em, "}");
	sn_pnd_line(em, "pd_inspect_end();");
	if (is_kept) {
		em->indent--;
		sn_pnd_line(em, "}");
	}
	em->indent--;
	sn_pnd_line(em, "}");
}

static bool has_data_in_subscripts(const struct sn_pnd_expr *element)
{
	for (int d = 0; d < element->arg_count; d++)
		if (sn_pnd_reads_data(element->args[d]))
			return true;
	return false;
}

/* The counting build runs the subscripts to know what is needed of the sections, if it knows them. One node
 * does it for all. */
static void emit_need(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref,
		      const struct sn_fixed_range *fixed, int fixed_count)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest *nest = ne->nest;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];
	int depth = nest->loops[ref->loop].depth;
	const char *more = sn_arena_printf(em->arena, " && pd_need_more(%d)", ref->site);
	const char *at, *to = NULL;

	if (!sn_nest_can_inspect(nest, ref->expr, ref->loop) || has_data_in_subscripts(ref->expr) ||
	    (a && (!sn_nest_can_inspect(nest, a->target, ref->loop) ||
		   has_data_in_subscripts(a->target))))
		return;
	sn_pnd_line(em, "if (pd_me == 0)");
	for (int d = ref->level + 1; d <= depth; d++)
		emit_shadow_loop(ne, ref, sn_nest_ancestor(nest, ref->loop, d), fixed, fixed_count,
				 more);
	sn_pnd_line(em, "{");
	em->indent++;
	at = emit_subscripts(ne, ref->expr, "pd_at");
	if (a)
		to = emit_subscripts(ne, a->target, "pd_to");
	sn_pnd_line(em, "if (%s%s%s)", at, to ? " && " : "", to ? to : "");
	sn_pnd_line(em, "\tpd_need(%d, &pd_array_%s_%s, %s, pd_at, %s);", ref->site,
		    em->phase->name, ref->expr->var->name, ref->expr->var->name,
		    a ? owner_call(ne, a->target->var, "pd_to") : "-1");
	em->indent--;
	sn_pnd_line(em, "}");
}

static void emit_exchange(struct sn_nest_emitter *ne, const struct sn_nest_ref *ref,
			  const struct sn_fixed_range *fixed, int fixed_count)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &ne->nest->assigns[ref->assign];
	int loops[SN_NEST_DEPTH_MAX], count = 0, number = em->nest_count++;
	struct sn_text ranges = { 0 };

	if (ref->is_inspected) {
		emit_inspection(ne, ref, fixed, fixed_count);
		return;
	}
	for (int d = ref->level + 1; d <= ne->nest->loops[ref->loop].depth; d++)
		loops[count++] = sn_nest_ancestor(ne->nest, ref->loop, d);
	emit_moves_table(ne, ref, number, loops, count);
	sn_pnd_line(em, "{");
	em->indent++;
	for (int i = 0; i < count; i++) {
		emit_range(ne, loops[i], ref->level, fixed, fixed_count);
		sn_text_addf(&ranges, "%s{ pd_l%d, pd_h%d, %lld }", i ? ", " : "", loops[i],
			     loops[i],
			     (long long)range_step(ne, loops[i], ref->level, fixed_count));
	}
	if (a)
		emit_bases(ne, "pd_to", a->subs, a->target->arg_count, ref->level);
	emit_bases(ne, "pd_at", ref->subs, ref->expr->arg_count, ref->level);
	sn_pnd_line(em, "const struct pd_range pd_r[] = { %s };",
		    count ? ranges.chars : "{ 0, 0, 1 }");
	sn_pnd_line(em, "pd_exchange(&pd_moves_%s_%d, %s, %s, pd_at, pd_r);", em->phase->name,
		    number, ref->expr->var->name, a ? "pd_to" : "0");
	if (em->is_counting)
		emit_need(ne, ref, fixed, fixed_count);
	em->indent--;
	sn_pnd_line(em, "}");
	sn_text_free(&ranges);
}

/* All messages of one place, which move together: before a statement, or at the start of a loop's
 * spans. What is listed comes last: its subscripts may read what has moved. */
static void emit_place(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *before, int span_loop,
		       const struct sn_fixed_range *fixed, int fixed_count)
{
	bool is_pending = false;

	for (int is_listed = 0; is_listed < 2; is_listed++)
		for (int i = 0; i < ne->nest->ref_count; i++) {
			const struct sn_nest_ref *r = &ne->nest->refs[i];

			if (r->is_inspected != is_listed ||
			    !sn_nest_stands_at(ne->nest, i, before, span_loop))
				continue;
			if (is_pending && sn_nest_needs_moved(ne->nest, r))
				sn_pnd_line(ne->em, "pd_move();");
			emit_exchange(ne, r, fixed, fixed_count);
			is_pending = true;
		}
	if (is_pending)
		sn_pnd_line(ne->em, "pd_move();");
}

void sn_emit_messages_before(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s)
{
	emit_place(ne, s, -1, NULL, 0);
}

void sn_emit_messages_of_span(struct sn_nest_emitter *ne, int loop,
			      const struct sn_fixed_range *fixed, int fixed_count)
{
	emit_place(ne, NULL, loop, fixed, fixed_count);
}
