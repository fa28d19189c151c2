/*
 * Code of an optimised nest: loops over what a node owns, messages of whole sections before them.
 * The plan (which loops, which messages where) is in nest.h; this file only writes it down.
 */
#include <string.h>

#include "pandore/compiler/emit.h"
#include "pandore/compiler/nest.h"

enum { STRIP_DEFAULT = 32 };

struct nest_emitter {
	struct sn_pnd_emitter *em;
	struct sn_nest *nest;
	int number; /* of the nest in the program */
};

/* Ranges of counters that are not loops' own: of a span or a strip, as texts. */
struct fixed_range {
	int loop;
	const char *low, *high;
};

static void emit_stmt(struct nest_emitter *ne, const struct sn_pnd_stmt *s, int loop);

/* ---- texts of affine forms ---- */

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

static const char *finish(struct nest_emitter *ne, struct sn_text *text, int64_t constant)
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
static const char *base_text(struct nest_emitter *ne, const struct sn_affine *a, int depth)
{
	struct sn_text text = { 0 };

	for (int l = 0; l < ne->nest->loop_count; l++)
		if (ne->nest->loops[l].depth <= depth)
			add_term(&text, a->coef[l], ne->nest->loops[l].var->name);
	for (int i = 0; i < a->symbol_count; i++)
		add_term(&text, a->symbols[i].coef, a->symbols[i].var->name);
	return finish(ne, &text, a->constant);
}

/* The smallest or largest value over the free counters, whose bounds are in pd_l and pd_h. */
static const char *bound_text(struct nest_emitter *ne, const struct sn_affine *a, int depth,
			      bool smallest)
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

static const char *start_text(struct nest_emitter *ne, const struct sn_nest_loop *l)
{
	return sn_pnd_text_of(ne->em, l->start);
}

static const char *last_text(struct nest_emitter *ne, const struct sn_nest_loop *l)
{
	const char *end = sn_pnd_text_of(ne->em, l->end);

	if (!l->end_adjust)
		return end;
	return sn_arena_printf(ne->em->arena, "(long)(%s) %s 1", end,
			       l->end_adjust > 0 ? "+" : "-");
}

/* ---- messages ---- */

static void add_coefs(struct sn_text *table, struct nest_emitter *ne, const struct sn_affine *subs,
		      int rank, const int *loops, int count, const char *name)
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

static void emit_moves_table(struct nest_emitter *ne, const struct sn_nest_ref *ref, int number,
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

static void emit_bases(struct nest_emitter *ne, const char *name, const struct sn_affine *subs,
		       int rank, int depth)
{
	struct sn_text text = { 0 };

	for (int d = 0; d < rank; d++)
		sn_text_addf(&text, "%s%s", d ? ", " : "",
			     subs[d].ok ? base_text(ne, &subs[d], depth) : "0");
	sn_pnd_line(ne->em, "const long %s[] = { %s };", name, rank ? text.chars : "0");
	sn_text_free(&text);
}

/* pd_lN and pd_hN: bounds of a free counter. */
static void emit_range(struct nest_emitter *ne, int loop, int depth,
		       const struct fixed_range *fixed, int fixed_count)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const char *low = l->step > 0 ? start_text(ne, l) : last_text(ne, l);
	const char *high = l->step > 0 ? last_text(ne, l) : start_text(ne, l);

	if (l->low.ok)
		low = bound_text(ne, &l->low, depth, true);
	if (l->high.ok)
		high = bound_text(ne, &l->high, depth, false);
	for (int i = 0; i < fixed_count; i++)
		if (fixed[i].loop == loop) {
			low = fixed[i].low;
			high = fixed[i].high;
		}
	sn_pnd_line(ne->em, "const long pd_l%d = %s, pd_h%d = %s;", loop, low, loop, high);
}

/* Values are low, low + step, ... only where low is the loop's start. */
static int64_t range_step(const struct nest_emitter *ne, int loop, int depth, int fixed_count)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];

	if (l->step <= 0 || fixed_count)
		return l->step == 1 ? 1 : fixed_count && l->step > 0 ? l->step : 1;
	return l->bounds_depth > depth ? 1 : l->step;
}

/* A subscript that may be evaluated where the program would not: inner subscripts stay in bounds.
 */
static struct sn_pnd_expr *clipped(struct nest_emitter *ne, const struct sn_pnd_expr *e)
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
				   sn_arena_printf(ne->em->arena, "pd_clip(%s, %lld)",
						   sn_pnd_text_of(ne->em, clipped(ne, e->args[d])),
						   (long long)e->var->extent[d]));
	return copy;
}

/* "const long NAME[] = { subscripts };" and the text of the test that they are in bounds. */
static const char *emit_subscripts(struct nest_emitter *ne, const struct sn_pnd_expr *element,
				   const char *name)
{
	struct sn_text values = { 0 }, test = { 0 };
	const char *kept;

	for (int d = 0; d < element->arg_count; d++) {
		sn_text_addf(&values, "%s%s", d ? ", " : "",
			     sn_pnd_text_of(ne->em, clipped(ne, element->args[d])));
		sn_text_addf(&test, "%spd_inside(%s[%d], %lld)", d ? " && " : "", name, d,
			     (long long)element->var->extent[d]);
	}
	sn_pnd_line(ne->em, "const long %s[] = { %s };", name, values.chars);
	kept = sn_arena_strdup(ne->em->arena, test.chars);
	sn_text_free(&values);
	sn_text_free(&test);
	return kept;
}

/* The loop again, with a counter of its own. */
static void emit_shadow_loop(struct nest_emitter *ne, int loop, const struct fixed_range *fixed,
			     int fixed_count)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const char *name = l->var->name, *type = sn_pnd_type_name(l->var->type);
	int64_t step = l->step;
	const char *first = start_text(ne, l), *last = last_text(ne, l);

	for (int i = 0; i < fixed_count; i++)
		if (fixed[i].loop == loop) {
			first = fixed[i].low;
			last = fixed[i].high;
			step = step < 0 ? -step : step;
		}
	sn_pnd_line(ne->em, "for (%s %s = (%s)(%s); %s %s %s; %s += %lld)", type, name, type, first,
		    name, step > 0 ? "<=" : ">=", last, name, (long long)step);
}

static void emit_inspection(struct nest_emitter *ne, const struct sn_nest_ref *ref,
			    const struct fixed_range *fixed, int fixed_count)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &ne->nest->assigns[ref->assign];
	const char *at, *to = NULL;

	sn_pnd_line(em, "pd_inspect_begin(&pd_array_%s_%s);", em->phase->name,
		    ref->expr->var->name);
	for (int d = ref->level + 1; d <= ne->nest->loops[ref->loop].depth; d++)
		emit_shadow_loop(ne, sn_nest_ancestor(ne->nest, ref->loop, d), fixed, fixed_count);
	sn_pnd_line(em, "{");
	em->indent++;
	at = emit_subscripts(ne, ref->expr, "pd_at");
	if (a)
		to = emit_subscripts(ne, a->target, "pd_to");
	sn_pnd_line(em, "if (%s%s%s)", at, to ? " && " : "", to ? to : "");
	if (a) {
		struct sn_text owner = { 0 };

		sn_text_addf(&owner, "pd_own_%s_%s(", em->phase->name, a->target->var->name);
		for (int d = 0; d < a->target->arg_count; d++)
			sn_text_addf(&owner, "%spd_to[%d]", d ? ", " : "", d);
		sn_pnd_line(em, "\tpd_inspect(%s), pd_at);", owner.chars);
		sn_text_free(&owner);
	} else {
		sn_pnd_line(em, "\tpd_inspect(-1, pd_at);");
	}
	em->indent--;
	sn_pnd_line(em, "}");
	sn_pnd_line(em, "pd_inspect_end(%d, %s);", ref->site, ref->expr->var->name);
}

static void emit_exchange(struct nest_emitter *ne, const struct sn_nest_ref *ref,
			  const struct fixed_range *fixed, int fixed_count)
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
	em->indent--;
	sn_pnd_line(em, "}");
	sn_text_free(&ranges);
}

/* Two references that fetch the same for the same reason. */
static bool is_repeated(const struct sn_nest *nest, int index)
{
	const struct sn_nest_ref *r = &nest->refs[index];

	for (int i = 0; i < index; i++) {
		const struct sn_nest_ref *o = &nest->refs[i];

		if (!o->is_local && o->stmt == r->stmt && o->level == r->level &&
		    o->span_loop == r->span_loop && sn_pnd_same_expr(o->expr, r->expr))
			return true;
	}
	return false;
}

static void emit_messages_before(struct nest_emitter *ne, const struct sn_pnd_stmt *s)
{
	for (int i = 0; i < ne->nest->ref_count; i++) {
		const struct sn_nest_ref *r = &ne->nest->refs[i];

		if (!r->is_local && r->span_loop < 0 && sn_nest_anchor(ne->nest, r) == s &&
		    !is_repeated(ne->nest, i))
			emit_exchange(ne, r, NULL, 0);
	}
}

static void emit_messages_of_span(struct nest_emitter *ne, int loop,
				  const struct fixed_range *fixed, int fixed_count)
{
	for (int i = 0; i < ne->nest->ref_count; i++)
		if (!ne->nest->refs[i].is_local && ne->nest->refs[i].span_loop == loop &&
		    !is_repeated(ne->nest, i))
			emit_exchange(ne, &ne->nest->refs[i], fixed, fixed_count);
}

/* ---- loops ---- */

static bool has_only_assigns(const struct sn_pnd_stmt *s)
{
	if (s->kind == SN_S_ASSIGN || s->kind == SN_S_EMPTY)
		return true;
	if (s->kind != SN_S_BLOCK || s->locals)
		return false;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (!has_only_assigns(c))
			return false;
	return true;
}

/* Is the owner of what stands in this loop decided by the loops around it? */
static bool is_owned(const struct sn_nest *nest, int loop)
{
	for (; loop >= 0; loop = nest->loops[loop].parent) {
		const struct sn_nest_loop *l = &nest->loops[loop];

		if (l->mode == SN_LOOP_SPANS || l->mode == SN_LOOP_PIPE ||
		    (l->mode == SN_LOOP_OWN && l->is_complete))
			return true;
	}
	return false;
}

/* Executions of a loop's assignments can be counted at once, before it. */
static bool counts_at_once(const struct nest_emitter *ne, int loop)
{
	return has_only_assigns(ne->nest->loops[loop].stmt->body) && is_owned(ne->nest, loop);
}

static void emit_counts(struct nest_emitter *ne, const struct sn_pnd_stmt *s, const char *count)
{
	if (s->kind == SN_S_ASSIGN)
		sn_pnd_line(ne->em, "pd_done_many(%d, %s);", s->id, count);
	for (const struct sn_pnd_stmt *c = s->kind == SN_S_BLOCK ? s->first : NULL; c; c = c->next)
		emit_counts(ne, c, count);
}

static void emit_loop_body(struct nest_emitter *ne, int loop)
{
	sn_pnd_line(ne->em, "{");
	ne->em->indent++;
	emit_stmt(ne, ne->nest->loops[loop].stmt->body, loop);
	ne->em->indent--;
	sn_pnd_line(ne->em, "}");
}

/* for (counter = first; counter <= last; counter += step) */
static void emit_counted(struct nest_emitter *ne, int loop, const char *first, const char *last)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	struct sn_pnd_emitter *em = ne->em;
	const char *name = l->var->name, *type = sn_pnd_type_name(l->var->type);
	const char *step = l->step == 1	   ? sn_arena_printf(em->arena, "%s++", name)
			   : l->step == -1 ? sn_arena_printf(em->arena, "%s--", name)
					   : sn_arena_printf(em->arena, "%s += %lld", name,
							     (long long)l->step);

	sn_pnd_line(em, "{");
	em->indent++;
	sn_pnd_line(em, "const %s pd_f%d = (%s)(%s), pd_e%d = (%s)(%s);", type, loop, type, first,
		    loop, type, last);
	if (counts_at_once(ne, loop))
		emit_counts(ne, l->stmt->body,
			    sn_arena_printf(em->arena, "((long)pd_e%d - pd_f%d) / %lld + 1", loop,
					    loop, (long long)l->step));
	sn_pnd_mark_line(em, l->stmt->pos);
	sn_pnd_line(em, "for (%s = pd_f%d; %s %s pd_e%d; %s)", name, loop, name,
		    l->step > 0 ? "<=" : ">=", loop, step);
	emit_loop_body(ne, loop);
	em->indent--;
	sn_pnd_line(em, "}");
}

/* The head of a walk over spans of a counter; `unknown` is another loop still to come, or -1. */
static void emit_span_head(struct nest_emitter *ne, int loop, int key, int dimension,
			   const char *known_strip, int strip_loop, const char *who)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const struct sn_nest_assign *k = &ne->nest->assigns[key];
	const struct sn_pnd_var *var = k->target->var;
	struct sn_text known = { 0 };

	for (int d = 0; d < var->rank; d++) {
		bool is_open = var->grid[d] == 1 || d == dimension;

		for (int i = 0; i < ne->nest->loop_count; i++)
			if (k->subs[d].coef[i] && i != strip_loop &&
			    (ne->nest->loops[i].depth > l->depth || i == loop))
				is_open = true;
		if (known_strip && strip_loop >= 0 && k->subs[d].coef[strip_loop] && !is_open) {
			struct sn_affine rest = k->subs[d];

			rest.coef[strip_loop] = 0;
			sn_text_addf(&known, "%s%lldL * (%s) + %s", d ? ", " : "",
				     (long long)k->subs[d].coef[strip_loop], known_strip,
				     base_text(ne, &rest, l->depth - 1));
		} else if (is_open || (strip_loop >= 0 && k->subs[d].coef[strip_loop])) {
			sn_text_addf(&known, "%sPD_UNKNOWN", d ? ", " : "");
		} else {
			sn_text_addf(&known, "%s%s", d ? ", " : "",
				     base_text(ne, &k->subs[d], l->depth - 1));
		}
	}
	sn_pnd_line(
		ne->em,
		"for (struct pd_spans pd_s%d = { .array = &pd_array_%s_%s, .dimension = %d, .nodes "
		"= PD_NODES, .coef = %lld,",
		loop, ne->em->phase->name, var->name, dimension,
		(long long)k->subs[dimension].coef[loop]);
	sn_pnd_line(ne->em, "\t.offset = %s, .next = %s, .end = %s, .step = %lld,",
		    base_text(ne, &k->subs[dimension], l->depth - 1), start_text(ne, l),
		    last_text(ne, l), (long long)l->step);
	sn_pnd_line(ne->em, "\t.known = { %s } }; pd_span_next(&pd_s%d, %s);) {", known.chars, loop,
		    who);
	sn_text_free(&known);
}

/* Leaves the counters as the sequential program does, after a loop that not all nodes run. */
static void emit_final(struct nest_emitter *ne, int loop)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	struct sn_pnd_emitter *em = ne->em;
	const char *name = l->var->name, *last = last_text(ne, l);

	sn_pnd_line(em, "%s = %s;", name, start_text(ne, l));
	sn_pnd_line(em, "if (%s %s %s) {", name, l->step > 0 ? "<=" : ">=", last);
	em->indent++;
	sn_pnd_line(em, "%s += (%s)(((long)(%s) - %s) / %lldL * %lldL);", name,
		    sn_pnd_type_name(l->var->type), last, name, (long long)l->step,
		    (long long)l->step);
	for (int i = loop + 1; i < ne->nest->loop_count; i++)
		if (ne->nest->loops[i].parent == loop)
			emit_final(ne, i);
	sn_pnd_line(em, "%s += %lld;", name, (long long)l->step);
	em->indent--;
	sn_pnd_line(em, "}");
}

static bool is_first_filtered(const struct sn_nest *nest, int loop)
{
	for (int l = nest->loops[loop].parent; l >= 0; l = nest->loops[l].parent)
		if (nest->loops[l].mode != SN_LOOP_PLAIN)
			return false;
	return nest->loops[loop].mode != SN_LOOP_PLAIN;
}

static void emit_own(struct nest_emitter *ne, int loop)
{
	struct sn_pnd_emitter *em = ne->em;

	emit_span_head(ne, loop, ne->nest->loops[loop].key, ne->nest->loops[loop].governed, NULL,
		       -1, "pd_me");
	em->indent++;
	emit_counted(ne, loop, sn_arena_printf(em->arena, "pd_s%d.first", loop),
		     sn_arena_printf(em->arena, "pd_s%d.last", loop));
	em->indent--;
	sn_pnd_line(em, "}");
}

/* Own spans of this counter, the loop in it around them. */
static void emit_swapped(struct nest_emitter *ne, int x)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *in = &ne->nest->loops[x];
	const struct sn_nest_loop *out = &ne->nest->loops[in->swapped];
	bool has_spans = out->mode == SN_LOOP_OWN;
	const char *first = start_text(ne, out), *last = last_text(ne, out);

	emit_span_head(ne, x, in->key, in->governed, NULL, -1, "pd_me");
	em->indent++;
	sn_pnd_line(em, "%s = (%s)pd_s%d.first;", in->var->name, sn_pnd_type_name(in->var->type),
		    x);
	if (has_spans) {
		emit_span_head(ne, in->swapped, out->key, out->governed, NULL, -1, "pd_me");
		em->indent++;
		first = sn_arena_printf(em->arena, "pd_s%d.first", in->swapped);
		last = sn_arena_printf(em->arena, "pd_s%d.last", in->swapped);
	}
	if (counts_at_once(ne, in->swapped))
		emit_counts(ne, out->stmt->body,
			    sn_arena_printf(
				    em->arena,
				    "((pd_s%d.last - pd_s%d.first) / %lld + 1) * (((long)(%s) "
				    "- (%s)) / %lld + 1)",
				    x, x, (long long)in->step, last, first, (long long)out->step));
	sn_pnd_mark_line(em, out->stmt->pos);
	sn_pnd_line(em, "for (%s = (%s)(%s); %s %s %s; %s += %lld)", out->var->name,
		    sn_pnd_type_name(out->var->type), first, out->var->name,
		    out->step > 0 ? "<=" : ">=", last, out->var->name, (long long)out->step);
	sn_pnd_mark_line(em, in->stmt->pos);
	sn_pnd_line(em, "for (%s = (%s)pd_s%d.first; %s %s pd_s%d.last; %s += %lld)", in->var->name,
		    sn_pnd_type_name(in->var->type), x, in->var->name,
		    in->step > 0 ? "<=" : ">=", x, in->var->name, (long long)in->step);
	emit_loop_body(ne, in->swapped);
	if (has_spans) {
		em->indent--;
		sn_pnd_line(em, "}");
	}
	em->indent--;
	sn_pnd_line(em, "}");
}

static const char *span_edge(struct nest_emitter *ne, int loop, bool low)
{
	bool forward = ne->nest->loops[loop].step > 0;

	return sn_arena_printf(ne->em->arena, "pd_s%d.%s", loop, low == forward ? "first" : "last");
}

static void emit_spans(struct nest_emitter *ne, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	struct fixed_range span = { loop, span_edge(ne, loop, true), span_edge(ne, loop, false) };

	emit_span_head(ne, loop, ne->nest->loops[loop].key, ne->nest->loops[loop].governed, NULL,
		       -1, "-1");
	em->indent++;
	emit_messages_of_span(ne, loop, &span, 1);
	sn_pnd_line(em, "if (pd_s%d.owner == pd_me)", loop);
	emit_counted(ne, loop, sn_arena_printf(em->arena, "pd_s%d.first", loop),
		     sn_arena_printf(em->arena, "pd_s%d.last", loop));
	em->indent--;
	sn_pnd_line(em, "}");
}

/* The dimension of the key that a counter decides; -1: none that is cut. */
static int decided_dimension(const struct sn_nest *nest, int key, int loop)
{
	const struct sn_nest_assign *k = &nest->assigns[key];

	for (int d = 0; d < k->target->var->rank; d++)
		if (k->target->var->grid[d] > 1 && k->subs[d].coef[loop])
			return d;
	return -1;
}

static void emit_pipe_inner(struct nest_emitter *ne, int outer, const char *strip_low,
			    const char *strip_high)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *o = &ne->nest->loops[outer];
	int spans = o->pipe_spans, strips = o->pipe_strips;
	struct fixed_range fixed[] = { { spans, span_edge(ne, spans, true),
					 span_edge(ne, spans, false) },
				       { strips, strip_low, strip_high } };
	const struct sn_nest_loop *s = &ne->nest->loops[spans], *t = &ne->nest->loops[strips];

	emit_span_head(ne, spans, o->key, decided_dimension(ne->nest, o->key, spans), strip_low,
		       strips, "-1");
	em->indent++;
	emit_messages_of_span(ne, outer, fixed, 2);
	sn_pnd_line(em, "if (pd_s%d.owner == pd_me) {", spans);
	em->indent++;
	if (has_only_assigns(ne->nest->loops[spans == outer ? strips : spans].stmt->body))
		emit_counts(
			ne, ne->nest->loops[spans == outer ? strips : spans].stmt->body,
			sn_arena_printf(em->arena,
					"((pd_s%d.last - pd_s%d.first) / %lld + 1) * (%s - %s + 1)",
					spans, spans, (long long)s->step, strip_high, strip_low));
	sn_pnd_mark_line(em, s->stmt->pos);
	sn_pnd_line(em, "for (%s = (%s)pd_s%d.first; %s %s pd_s%d.last; %s += %lld)", s->var->name,
		    sn_pnd_type_name(s->var->type), spans, s->var->name,
		    s->step > 0 ? "<=" : ">=", spans, s->var->name, (long long)s->step);
	sn_pnd_mark_line(em, t->stmt->pos);
	sn_pnd_line(em, "for (%s = (%s)%s; %s <= %s; %s++)", t->var->name,
		    sn_pnd_type_name(t->var->type), strip_low, t->var->name, strip_high,
		    t->var->name);
	emit_loop_body(ne, spans == outer ? strips : spans);
	em->indent--;
	sn_pnd_line(em, "}");
	em->indent--;
	sn_pnd_line(em, "}");
}

static void emit_pipe(struct nest_emitter *ne, int outer)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *o = &ne->nest->loops[outer];
	int strips = o->pipe_strips, cut = decided_dimension(ne->nest, o->key, strips);
	const char *low = sn_arena_printf(em->arena, "pd_a%d", strips);
	const char *high = sn_arena_printf(em->arena, "pd_b%d", strips);
	const char *end = sn_arena_printf(em->arena, "pd_z%d", strips);
	int width = em->options->strip ? em->options->strip : STRIP_DEFAULT;

	if (cut >= 0) { /* strips stay within a block of their dimension */
		/* the other counter is not known yet: it has depth of its own */
		emit_span_head(ne, strips, o->key, cut, NULL, o->pipe_spans, "-1");
		em->indent++;
		sn_pnd_line(em, "const long pd_y%d = pd_s%d.first, %s = pd_s%d.last;", strips,
			    strips, end, strips);
	} else {
		sn_pnd_line(em, "{");
		em->indent++;
		sn_pnd_line(em, "const long pd_y%d = %s, %s = %s;", strips,
			    start_text(ne, &ne->nest->loops[strips]), end,
			    last_text(ne, &ne->nest->loops[strips]));
	}
	sn_pnd_line(em, "for (long %s = pd_y%d, %s; %s <= %s; %s = %s + 1) {", low, strips, high,
		    low, end, low, high);
	em->indent++;
	sn_pnd_line(em, "%s = %s + %d < %s ? %s + %d : %s;", high, low, width - 1, end, low,
		    width - 1, end);
	emit_pipe_inner(ne, outer, low, high);
	em->indent--;
	sn_pnd_line(em, "}");
	em->indent--;
	sn_pnd_line(em, "}");
}

static void emit_loop(struct nest_emitter *ne, int loop)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];

	switch (l->mode) {
	case SN_LOOP_OWN:
		if (l->swapped >= 0)
			emit_swapped(ne, loop);
		else
			emit_own(ne, loop);
		break;
	case SN_LOOP_SPANS:
		emit_spans(ne, loop);
		break;
	case SN_LOOP_PIPE:
		emit_pipe(ne, loop);
		break;
	case SN_LOOP_PLAIN:
		if (counts_at_once(ne, loop)) {
			sn_pnd_line(ne->em, "if (%s %s %s) {", start_text(ne, l),
				    l->step > 0 ? "<=" : ">=", last_text(ne, l));
			ne->em->indent++;
			emit_counted(ne, loop, start_text(ne, l), last_text(ne, l));
			ne->em->indent--;
			sn_pnd_line(ne->em, "}");
			break;
		}
		sn_pnd_mark_line(ne->em, l->stmt->pos);
		sn_pnd_line(ne->em, "for (%s; %s; %s)",
			    sn_pnd_assign_text(ne->em, l->stmt->init, l->stmt->init->lhs,
					       l->stmt->init->rhs),
			    sn_pnd_text_of(ne->em, l->stmt->cond),
			    sn_pnd_assign_text(ne->em, l->stmt->step, l->stmt->step->lhs,
					       l->stmt->step->rhs));
		emit_loop_body(ne, loop);
		break;
	}
	if (is_first_filtered(ne->nest, loop))
		emit_final(ne, loop);
}

/* ---- statements ---- */

static void emit_assign(struct nest_emitter *ne, const struct sn_pnd_stmt *s, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *a = sn_nest_assign_of(ne->nest, s);
	bool guarded = a->target->var->is_distributed && !is_owned(ne->nest, loop);

	sn_pnd_add_point(em, s, sn_pnd_text_of(em, s->lhs), !em->program->has_observe);
	sn_pnd_mark_line(em, s->pos);
	if (guarded)
		sn_pnd_line(em, "if (%s == pd_me) {", sn_pnd_owner_text(em, a->target));
	em->indent += guarded;
	if (a->added)
		sn_pnd_line(em, "pd_p%d += %s;", s->id, sn_pnd_text_of(em, a->added));
	else
		sn_pnd_line(em, "%s;", sn_pnd_assign_text(em, s, s->lhs, s->rhs));
	sn_pnd_line(em, counts_at_once(ne, loop) ? "pd_done_each(%d);" : "pd_done(%d);", s->id);
	em->indent -= guarded;
	if (guarded)
		sn_pnd_line(em, "}");
}

static void emit_stmt(struct nest_emitter *ne, const struct sn_pnd_stmt *s, int loop)
{
	struct sn_pnd_emitter *em = ne->em;

	emit_messages_before(ne, s);
	switch (s->kind) {
	case SN_S_BLOCK:
		sn_pnd_line(em, "{");
		em->indent++;
		sn_pnd_emit_locals(em, s->locals, true);
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			emit_stmt(ne, c, loop);
		em->indent--;
		sn_pnd_line(em, "}");
		break;
	case SN_S_ASSIGN:
		emit_assign(ne, s, loop);
		break;
	case SN_S_IF:
		sn_pnd_mark_line(em, s->pos);
		sn_pnd_line(em, "if (%s) {", sn_pnd_text_of(em, s->cond));
		em->indent++;
		emit_stmt(ne, s->body, loop);
		em->indent--;
		sn_pnd_line(em, s->otherwise ? "} else {" : "}");
		if (s->otherwise) {
			em->indent++;
			emit_stmt(ne, s->otherwise, loop);
			em->indent--;
			sn_pnd_line(em, "}");
		}
		break;
	case SN_S_FOR:
		emit_loop(ne, sn_nest_loop_of(ne->nest, s));
		break;
	default:
		sn_pnd_line(em, ";");
		break;
	}
}

static void add_sites(struct nest_emitter *ne)
{
	for (int i = 0; i < ne->nest->ref_count; i++) {
		struct sn_nest_ref *r = &ne->nest->refs[i];
		const char *target =
			r->stmt->kind == SN_S_ASSIGN ? r->stmt->lhs->var->name : "(condition)";

		if (!r->is_local)
			r->site = sn_pnd_add_site(ne->em, r->expr->pos, r->stmt->zone,
						  r->assign < 0, r->expr->var->name, target);
	}
}

/* --reassoc: each node sums what it owns; then all add the partial sums, node by node. */
static void emit_partial_sum(struct nest_emitter *ne, const struct sn_nest_assign *a)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_pnd_var *sum = a->stmt->lhs->var;
	int site = sn_pnd_add_site(em, a->stmt->pos, a->stmt->zone, true, a->target->var->name,
				   sum->name);

	sn_pnd_line(em, "for (int pd_n = 0; pd_n < PD_NODES; pd_n++) {");
	sn_pnd_line(em, "\t%s pd_part = 0;", sn_pnd_type_name(sum->type));
	sn_pnd_line(em, "\tPD_BROADCAST(%d, pd_part, pd_p%d, pd_n);", site, a->stmt->id);
	sn_pnd_line(em, "\t%s += pd_part;", sum->name);
	sn_pnd_line(em, "}");
}

static void emit_partial_sums(struct nest_emitter *ne, bool is_end)
{
	struct sn_pnd_emitter *em = ne->em;

	for (int i = 0; i < ne->nest->assign_count; i++) {
		const struct sn_nest_assign *a = &ne->nest->assigns[i];

		if (a->added && is_end)
			emit_partial_sum(ne, a);
		else if (a->added)
			sn_pnd_line(em, "%s pd_p%d = 0;", sn_pnd_type_name(a->stmt->lhs->type),
				    a->stmt->id);
	}
}

bool sn_pnd_emit_nest(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *loop)
{
	struct nest_emitter ne = { em, NULL, em->nest_count };
	struct sn_nest *nest;

	if (em->options->check)
		return false;
	if (!em->nest)
		em->nest = sn_arena_new(em->arena, struct sn_nest);
	else
		memset(em->nest, 0, sizeof(*em->nest));
	ne.nest = nest = em->nest;
	if (!sn_nest_plan(nest, em->program, loop, ++em->nest_mark, em->options->reassoc)) {
		sn_pnd_remark(em->program->diags, nest->refusal_pos, 1,
			      "this loop nest is translated by the naive scheme: %s",
			      nest->refusal);
		return false;
	}
	add_sites(&ne);
	sn_pnd_line(em, "{");
	em->indent++;
	emit_partial_sums(&ne, false);
	emit_stmt(&ne, loop, -1);
	emit_partial_sums(&ne, true);
	em->indent--;
	sn_pnd_line(em, "}");
	return true;
}
