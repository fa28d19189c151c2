/*
 * Code of an optimised nest: loops over what a node owns, messages of whole sections before them.
 * The plan (which loops, which messages where) is in nest.h; this file only writes it down.
 */
#include <string.h>

#include "pandore/compiler/chains.h"
#include "pandore/compiler/data.h"
#include "pandore/compiler/emit_nest.h"
#include "pandore/compiler/liveness.h"

enum { STRIP_DEFAULT = 32 };

static void emit_stmt(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s, int loop);

/* ---- loops ---- */

/* Is the owner of what stands in this loop decided by the loops around it? */
static bool is_owned(const struct sn_nest *nest, int loop)
{
	for (; loop >= 0; loop = nest->loops[loop].parent) {
		const struct sn_nest_loop *l = &nest->loops[loop];

		if (l->mode == SN_LOOP_SPANS || l->mode == SN_LOOP_PIPE || l->is_chain ||
		    l->mode == SN_LOOP_GUARD || (l->mode == SN_LOOP_OWN && l->is_complete))
			return true;
	}
	return false;
}

/* Executions of a loop's assignments can be counted at once, before it. */
static bool counts_at_once(const struct sn_nest_emitter *ne, int loop)
{
	return sn_nest_has_only_assigns(ne->nest->loops[loop].stmt->body) &&
	       is_owned(ne->nest, loop);
}

static void emit_counts(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s, const char *count)
{
	if (s->kind == SN_S_ASSIGN)
		sn_pnd_line(ne->em, "pd_done_many(%d, %s);", s->id, count);
	for (const struct sn_pnd_stmt *c = s->kind == SN_S_BLOCK ? s->first : NULL; c; c = c->next)
		emit_counts(ne, c, count);
}

static void emit_loop_body(struct sn_nest_emitter *ne, int loop)
{
	sn_pnd_line(ne->em, "{");
	ne->em->indent++;
	emit_stmt(ne, ne->nest->loops[loop].stmt->body, loop);
	ne->em->indent--;
	sn_pnd_line(ne->em, "}");
}

/* for (counter = first; counter <= last; counter += step) */
static void emit_counted(struct sn_nest_emitter *ne, int loop, const char *first, const char *last)
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
static void emit_span_head(struct sn_nest_emitter *ne, int loop, int key, int dimension,
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
				     sn_nest_base_text(ne, &rest, l->depth - 1));
		} else if (is_open || (strip_loop >= 0 && k->subs[d].coef[strip_loop])) {
			sn_text_addf(&known, "%sPD_UNKNOWN", d ? ", " : "");
		} else {
			sn_text_addf(&known, "%s%s", d ? ", " : "",
				     sn_nest_base_text(ne, &k->subs[d], l->depth - 1));
		}
	}
	sn_pnd_line(
		ne->em,
		"for (struct pd_spans pd_s%d = { .array = &pd_array_%s_%s, .dimension = %d, .nodes "
		"= PD_NODES, .coef = %lld,",
		loop, ne->em->phase->name, var->name, dimension,
		(long long)k->subs[dimension].coef[loop]);
	sn_pnd_line(ne->em, "\t.offset = %s, .next = %s, .end = %s, .step = %lld,",
		    sn_nest_base_text(ne, &k->subs[dimension], l->depth - 1),
		    sn_nest_start_text(ne, l), sn_nest_last_text(ne, l), (long long)l->step);
	sn_pnd_line(ne->em, "\t.known = { %s } }; pd_span_next(&pd_s%d, %s);) {", known.chars, loop,
		    who);
	sn_text_free(&known);
}

/* Leaves the counters as the sequential program does, after a loop that not all nodes run. */
static void emit_final(struct sn_nest_emitter *ne, int loop)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	struct sn_pnd_emitter *em = ne->em;
	const char *name = l->var->name, *last = sn_nest_last_text(ne, l);

	sn_pnd_line(em, "%s = %s;", name, sn_nest_start_text(ne, l));
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

static void emit_own(struct sn_nest_emitter *ne, int loop)
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
static void emit_swapped(struct sn_nest_emitter *ne, int x)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *in = &ne->nest->loops[x];
	const struct sn_nest_loop *out = &ne->nest->loops[in->swapped];
	bool has_spans = out->mode == SN_LOOP_OWN;
	const char *first = sn_nest_start_text(ne, out), *last = sn_nest_last_text(ne, out);

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

static const char *span_edge(struct sn_nest_emitter *ne, int loop, bool low)
{
	bool forward = ne->nest->loops[loop].step > 0;

	return sn_arena_printf(ne->em->arena, "pd_s%d.%s", loop, low == forward ? "first" : "last");
}

static void emit_spans(struct sn_nest_emitter *ne, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	struct sn_fixed_range span = { loop, span_edge(ne, loop, true),
				       span_edge(ne, loop, false) };

	emit_span_head(ne, loop, ne->nest->loops[loop].key, ne->nest->loops[loop].governed, NULL,
		       -1, "-1");
	em->indent++;
	sn_emit_messages_of_span(ne, loop, &span, 1);
	sn_pnd_line(em, "if (pd_s%d.owner == pd_me)", loop);
	emit_counted(ne, loop, sn_arena_printf(em->arena, "pd_s%d.first", loop),
		     sn_arena_printf(em->arena, "pd_s%d.last", loop));
	em->indent--;
	sn_pnd_line(em, "}");
}

/* One node runs all of the loop. */
static void emit_guard(struct sn_nest_emitter *ne, int loop)
{
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	struct sn_pnd_emitter *em = ne->em;

	sn_emit_messages_of_span(ne, loop, NULL, 0);
	sn_pnd_line(em, "if (%s == pd_me && %s %s %s)",
		    sn_nest_owner_text(ne, &ne->nest->assigns[l->key], l->depth - 1),
		    sn_nest_start_text(ne, l), l->step > 0 ? "<=" : ">=", sn_nest_last_text(ne, l));
	emit_counted(ne, loop, sn_nest_start_text(ne, l), sn_nest_last_text(ne, l));
}

/* A chain's scalars pass from node to node in variables of their own. In the loop they are under their names,
 * but live no longer than it does: the C compiler has no register for a number that lives across calls. */
struct chain {
	const struct sn_pnd_var *vars[SN_NEST_ASSIGNS_MAX];
	int loop, count;
	struct sn_nest_extreme extremes[SN_NEST_ASSIGNS_MAX];
	bool has_extremes;
};

/* 'c': what the nodes so far have; 'f': what this node has found by itself. */
static const char *link_name(struct sn_nest_emitter *ne, const struct chain *chain, char prefix,
			     int i)
{
	return sn_arena_printf(ne->em->arena, "pd_%c%d_%d", prefix, chain->loop, i);
}

/* What node pd_q has goes to node `to`, or, if that is NULL, to all. */
static void emit_link(struct sn_nest_emitter *ne, const struct chain *chain, const char *to)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *key = &ne->nest->assigns[ne->nest->loops[chain->loop].key];

	for (int i = 0; i < chain->count; i++) {
		const char *name = link_name(ne, chain, 'c', i);
		int site = sn_pnd_add_site(em, key->stmt->pos, key->stmt->zone, !to,
					   key->target->var->name, chain->vars[i]->name);

		if (to)
			sn_pnd_line(em, "PD_REFRESH(%d, %s, %s, pd_q%d, %s);", site, name, name,
				    chain->loop, to);
		else
			sn_pnd_line(em, "PD_BROADCAST(%d, %s, %s, pd_q%d);", site, name, name,
				    chain->loop);
	}
}

/* A part of the loop, run by one node on scalars of this prefix. The counting build runs all of it on each:
 * scalars that no data decide may be among these. */
static void emit_chain_part(struct sn_nest_emitter *ne, const struct chain *chain, char prefix,
			    const char *owner, const char *first, const char *last)
{
	struct sn_pnd_emitter *em = ne->em;

	sn_pnd_line(em, "if (PD_COUNTED || %s == pd_me) {", owner);
	em->indent++;
	for (int i = 0; i < chain->count; i++)
		sn_pnd_line(em, "%s %s = %s;", sn_pnd_type_name(chain->vars[i]->type),
			    chain->vars[i]->name, link_name(ne, chain, prefix, i));
	emit_counted(ne, chain->loop, first, last);
	for (int i = 0; i < chain->count; i++)
		sn_pnd_line(em, "%s = %s;", link_name(ne, chain, prefix, i), chain->vars[i]->name);
	em->indent--;
	sn_pnd_line(em, "}");
}

/* Largest and smallest values: what a node has found joins what those before it have. */
static void emit_join(struct sn_nest_emitter *ne, const struct chain *chain)
{
	struct sn_pnd_emitter *em = ne->em;

	sn_pnd_line(em, "if (PD_COUNTED || pd_q%d == pd_me) {", chain->loop);
	em->indent++;
	for (int i = 0; i < chain->count; i++) {
		if (chain->extremes[i].decided_by != i)
			continue;
		sn_pnd_line(em, "if (%s %c %s) {", link_name(ne, chain, 'f', i),
			    chain->extremes[i].is_largest ? '>' : '<',
			    link_name(ne, chain, 'c', i));
		for (int k = 0; k < chain->count; k++)
			if (chain->extremes[k].decided_by == i)
				sn_pnd_line(em, "\t%s = %s;", link_name(ne, chain, 'c', k),
					    link_name(ne, chain, 'f', k));
		sn_pnd_line(em, "}");
	}
	em->indent--;
	sn_pnd_line(em, "}");
}

static void emit_chain_head(struct sn_nest_emitter *ne, const struct chain *chain)
{
	const struct sn_nest_loop *l = &ne->nest->loops[chain->loop];

	emit_span_head(ne, chain->loop, l->key, l->governed, NULL, -1, "-1");
	ne->em->indent++;
}

static void emit_spans_part(struct sn_nest_emitter *ne, const struct chain *chain, char prefix,
			    const char *owner)
{
	struct sn_pnd_emitter *em = ne->em;

	emit_chain_part(ne, chain, prefix, owner,
			sn_arena_printf(em->arena, "pd_s%d.first", chain->loop),
			sn_arena_printf(em->arena, "pd_s%d.last", chain->loop));
}

/* Spans in their order: each owner goes on with the values of the one before. All walk them, so that each
 * knows whom it hears from. Where the order does not matter all owners run their spans before. */
static void emit_chain_spans(struct sn_nest_emitter *ne, const struct chain *chain)
{
	struct sn_pnd_emitter *em = ne->em;
	int loop = chain->loop;
	const char *owner = sn_arena_printf(em->arena, "pd_s%d.owner", loop);

	if (chain->has_extremes) {
		emit_chain_head(ne, chain);
		emit_spans_part(ne, chain, 'f', owner);
		em->indent--;
		sn_pnd_line(em, "}");
	}
	sn_pnd_line(em, "int pd_q%d = -1;", loop);
	emit_chain_head(ne, chain);
	sn_pnd_line(em, "if (pd_q%d >= 0) {", loop);
	em->indent++;
	emit_link(ne, chain, owner);
	em->indent--;
	sn_pnd_line(em, "}");
	sn_pnd_line(em, "pd_q%d = %s;", loop, owner);
	if (chain->has_extremes)
		emit_join(ne, chain);
	else
		emit_spans_part(ne, chain, 'c', owner);
	em->indent--;
	sn_pnd_line(em, "}");
	sn_pnd_line(em, "if (pd_q%d >= 0) {", loop);
}

static void emit_chain(struct sn_nest_emitter *ne, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *l = &ne->nest->loops[loop];
	const char *start = sn_nest_start_text(ne, l), *last = sn_nest_last_text(ne, l);
	struct chain chain = { .loop = loop };

	chain.count = sn_nest_chained(ne->nest, loop, chain.vars, SN_NEST_ASSIGNS_MAX);
	sn_pnd_line(em, "{");
	em->indent++;
	chain.has_extremes = sn_nest_find_extremes(ne->nest, loop, chain.extremes);
	for (int i = 0; i < chain.count; i++) {
		sn_pnd_line(em, "%s %s = %s;", sn_pnd_type_name(chain.vars[i]->type),
			    link_name(ne, &chain, 'c', i), chain.vars[i]->name);
		if (chain.has_extremes)
			sn_pnd_line(em, "%s %s = %s;", sn_pnd_type_name(chain.vars[i]->type),
				    link_name(ne, &chain, 'f', i), chain.vars[i]->name);
	}
	if (l->governed >= 0) {
		emit_chain_spans(ne, &chain);
	} else {
		sn_pnd_line(em, "if (%s %s %s) {", start, l->step > 0 ? "<=" : ">=", last);
		sn_pnd_line(em, "const int pd_q%d = %s;", loop,
			    sn_nest_owner_text(ne, &ne->nest->assigns[l->key], l->depth - 1));
		emit_chain_part(ne, &chain, 'c', sn_arena_printf(em->arena, "pd_q%d", loop), start,
				last);
	}
	em->indent++;
	emit_link(ne, &chain, NULL);
	em->indent--;
	sn_pnd_line(em, "}");
	for (int i = 0; i < chain.count; i++)
		sn_pnd_line(em, "%s = %s;", chain.vars[i]->name, link_name(ne, &chain, 'c', i));
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

static void emit_pipe_inner(struct sn_nest_emitter *ne, int outer, const char *strip_low,
			    const char *strip_high)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_loop *o = &ne->nest->loops[outer];
	int spans = o->pipe_spans, strips = o->pipe_strips;
	struct sn_fixed_range fixed[] = { { spans, span_edge(ne, spans, true),
					    span_edge(ne, spans, false) },
					  { strips, strip_low, strip_high } };
	const struct sn_nest_loop *s = &ne->nest->loops[spans], *t = &ne->nest->loops[strips];

	emit_span_head(ne, spans, o->key, decided_dimension(ne->nest, o->key, spans), strip_low,
		       strips, "-1");
	em->indent++;
	sn_emit_messages_of_span(ne, outer, fixed, 2);
	sn_pnd_line(em, "if (pd_s%d.owner == pd_me) {", spans);
	em->indent++;
	if (sn_nest_has_only_assigns(ne->nest->loops[spans == outer ? strips : spans].stmt->body))
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

static void emit_pipe(struct sn_nest_emitter *ne, int outer)
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
			    sn_nest_start_text(ne, &ne->nest->loops[strips]), end,
			    sn_nest_last_text(ne, &ne->nest->loops[strips]));
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

static void emit_loop(struct sn_nest_emitter *ne, int loop)
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
	case SN_LOOP_GUARD:
		emit_guard(ne, loop);
		break;
	case SN_LOOP_CHAIN:
		emit_chain(ne, loop);
		break;
	case SN_LOOP_PLAIN:
		if (counts_at_once(ne, loop)) {
			sn_pnd_line(ne->em, "if (%s %s %s) {", sn_nest_start_text(ne, l),
				    l->step > 0 ? "<=" : ">=", sn_nest_last_text(ne, l));
			ne->em->indent++;
			emit_counted(ne, loop, sn_nest_start_text(ne, l), sn_nest_last_text(ne, l));
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

static void emit_assign(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_assign *a = sn_nest_assign_of(ne->nest, s);
	bool guarded =
		a->target->var->is_distributed && !is_owned(ne->nest, loop) && !ne->is_guarded;

	sn_pnd_add_assignment(em, s);
	sn_pnd_mark_line(em, s->pos);
	if (guarded)
		sn_pnd_line(em, "PD_COMPUTE if (%s == pd_me) {", sn_pnd_owner_text(em, a->target));
	em->indent += guarded;
	if (a->added)
		sn_pnd_line(em, "PD_COMPUTE pd_p%d += %s;", s->id, sn_pnd_text_of(em, a->added));
	else
		sn_pnd_line(em, "%s%s;", sn_pnd_compute_text(s),
			    sn_pnd_assign_text(em, s, s->lhs, s->rhs));
	sn_pnd_line(em, counts_at_once(ne, loop) ? "pd_done_each(%d);" : "pd_done(%d);", s->id);
	em->indent -= guarded;
	if (guarded)
		sn_pnd_line(em, "}");
}

/* Is something sent within this statement? */
static bool has_messages(const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	for (int i = 0; s && i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local &&
		    sn_pnd_contains(s, r->span_loop >= 0 ? nest->loops[r->span_loop].stmt
							 : sn_nest_anchor(nest, r)))
			return true;
	}
	return false;
}

/* The owners of what an if assigns decide it. */
static void emit_if(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s, int loop)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_nest_if *f = sn_nest_if_of(ne->nest, s);
	bool is_guard = f->owner_count && !is_owned(ne->nest, loop) && !ne->is_guarded;
	bool was_guarded = ne->is_guarded;

	for (int i = 0; is_guard && i < f->owner_count; i++)
		sn_pnd_line(em, "%s%s == pd_me%s", i ? "\t|| " : "if (",
			    sn_nest_owner_text(ne, &ne->nest->assigns[f->owners[i]],
					       loop < 0 ? 0 : ne->nest->loops[loop].depth),
			    i == f->owner_count - 1 ? ") {" : "");
	em->indent += is_guard;
	ne->is_guarded |= is_guard && f->owner_count == 1;
	sn_pnd_mark_line(em, s->pos);
	if (has_messages(ne->nest, s->body) || has_messages(ne->nest, s->otherwise))
		sn_pnd_doubt(em, s->pos, s->cond, "a condition", NULL);
	sn_pnd_line(em, sn_pnd_reads_data(s->cond) ? "if (PD_HOLDS(%s)) {" : "if (%s) {",
		    sn_pnd_text_of(em, s->cond));
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
	ne->is_guarded = was_guarded;
	em->indent -= is_guard;
	if (is_guard)
		sn_pnd_line(em, "}");
}

static void emit_stmt(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s, int loop)
{
	struct sn_pnd_emitter *em = ne->em;

	sn_emit_messages_before(ne, s);
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
		emit_if(ne, s, loop);
		break;
	case SN_S_FOR:
		emit_loop(ne, sn_nest_loop_of(ne->nest, s));
		break;
	default:
		sn_pnd_line(em, ";");
		break;
	}
}

static void add_sites(struct sn_nest_emitter *ne)
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
static void emit_partial_sum(struct sn_nest_emitter *ne, const struct sn_nest_assign *a)
{
	struct sn_pnd_emitter *em = ne->em;
	const struct sn_pnd_var *sum = a->stmt->lhs->var;
	int site = sn_pnd_add_site(em, a->stmt->pos, a->stmt->zone, true, a->target->var->name,
				   sum->name);

	sn_pnd_line(em, "for (int pd_n = 0; pd_n < PD_NODES; pd_n++) {");
	sn_pnd_line(em, "\t%s pd_part = 0;", sn_pnd_type_name(sum->type));
	sn_pnd_line(em, "\tPD_BROADCAST(%d, pd_part, pd_p%d, pd_n);", site, a->stmt->id);
	sn_pnd_line(em, "\t%s%s += pd_part;", sn_pnd_compute_text(a->stmt), sum->name);
	sn_pnd_line(em, "}");
}

static void emit_partial_sums(struct sn_nest_emitter *ne, bool is_end)
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

static void doubt_subscripts(struct sn_pnd_emitter *em, const struct sn_pnd_expr *element,
			     const struct sn_affine *subs, bool is_run, bool is_owner)
{
	for (int d = 0; d < element->arg_count; d++)
		if ((subs[d].ok || is_run) && !(is_owner && element->var->grid[d] == 1))
			sn_pnd_doubt(em, element->pos, element->args[d], "a subscript", NULL);
}

/* What decides the messages of the nest must be known to the counting build. */
static void emit_doubts(struct sn_nest_emitter *ne)
{
	for (int l = 0; l < ne->nest->loop_count; l++) {
		const struct sn_nest_loop *loop = &ne->nest->loops[l];

		sn_pnd_doubt(ne->em, loop->start->pos, loop->start, "a loop's bound", NULL);
		sn_pnd_doubt(ne->em, loop->end->pos, loop->end, "a loop's bound", NULL);
	}
	for (int i = 0; i < ne->nest->ref_count; i++) {
		const struct sn_nest_ref *r = &ne->nest->refs[i];

		if (!r->is_local)
			doubt_subscripts(ne->em, r->expr, r->subs, r->is_inspected, false);
		if (!r->is_local && r->assign >= 0)
			doubt_subscripts(ne->em, ne->nest->assigns[r->assign].target,
					 ne->nest->assigns[r->assign].subs, r->is_inspected, false);
	}
	for (int i = 0; i < ne->nest->assign_count; i++)
		if (ne->nest->assigns[i].target->var->is_distributed)
			doubt_subscripts(ne->em, ne->nest->assigns[i].target,
					 ne->nest->assigns[i].subs, false, true);
}

/* The plan of the nest; NULL: it stays naive. */
static struct sn_nest *plan_nest(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *loop)
{
	if (!em->nest || em->is_counting)
		em->nest = sn_arena_new(em->arena, struct sn_nest);
	if (em->is_counting)
		*sn_map_put(&em->nests, (uint64_t)(uintptr_t)loop, &(bool){ 0 }) =
			(uint64_t)(uintptr_t)em->nest;
	return sn_nest_plan(em->nest, em->program, loop, ++em->nest_mark, em->options->reassoc)
		       ? em->nest
		       : NULL;
}

bool sn_pnd_emit_nest(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *loop)
{
	struct sn_nest_emitter ne = { em, NULL, em->nest_count, false };

	ne.nest = em->options->check ? NULL : plan_nest(em, loop);
	if (!ne.nest)
		return false;
	add_sites(&ne);
	sn_pnd_line(em, "{");
	em->indent++;
	emit_doubts(&ne);
	emit_partial_sums(&ne, false);
	emit_stmt(&ne, loop, -1);
	emit_partial_sums(&ne, true);
	em->indent--;
	sn_pnd_line(em, "}");
	return true;
}
