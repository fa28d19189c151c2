/* --explain: how the statements of a phase are translated, in words, before the messages to expect.
 */
#include <string.h>

#include "pandore/compiler/chains.h"
#include "pandore/compiler/overwrite.h"
#include "pandore/compiler/predictor.h"
#include "pandore/runtime/pandore.h"

enum { STRIP_DEFAULT = 32, NODES_LISTED = 8, SPANS_LISTED = 2 };

struct explainer {
	struct sn_pnd_emitter *em;
	struct sn_text *out;
	struct sn_predictor *predictor;
	int indent;
};

static void explain_stmt(struct explainer *x, const struct sn_pnd_stmt *s);

/* "  line 12   " and the indent: where all lines of the explanation begin. */
static void begin(struct explainer *x, int line)
{
	if (line)
		sn_text_addf(x->out, "  line %-4d", line);
	else
		sn_text_add(x->out, "           ");
	sn_text_add_repeated(x->out, ' ', (size_t)x->indent * 2);
}

/* ---- arrays ---- */

static void add_sizes(struct explainer *x, const int64_t *sizes,
		      const struct sn_pnd_expr *const *late, int rank)
{
	for (int d = 0; d < rank; d++)
		if (late[d])
			sn_text_addf(x->out, "%s(%s)", d ? " x " : "",
				     sn_pnd_text_of(x->em, late[d]));
		else
			sn_text_addf(x->out, "%s%lld", d ? " x " : "", (long long)sizes[d]);
}

static void explain_array(struct explainer *x, const struct sn_pnd_phase *ph,
			  const struct sn_pnd_var *v)
{
	static const char *const modes[] = { "IN", "OUT", "INOUT" };
	int nodes = x->em->program->nodes;

	sn_text_addf(x->out, "  %s (", v->name);
	add_sizes(x, v->extent, v->late_extent, v->rank);
	sn_text_addf(x->out, " %s, %s", sn_pnd_type_name(v->type), modes[v->mode]);
	if (v->mode == SN_MODE_OUT)
		sn_text_add(x->out,
			    sn_pnd_is_overwritten(ph, v)
				    ? ", written whole: not brought to the nodes"
				    : ", maybe not written whole: brought to the nodes like "
				      "INOUT");
	sn_text_add(x->out, "): ");
	if (!v->is_distributed) {
		sn_text_add(x->out, "replicated, whole on each node\n");
		return;
	}
	if (sn_pnd_is_late(x->em->program, v)) {
		sn_text_add(x->out, "blocks of ");
		add_sizes(x, v->block, v->late_block, v->rank);
		sn_text_add(x->out, v->is_wrapped ? ", dealt out in turn\n"
						  : ", a run of them on each node\n");
		return;
	}
	sn_text_addf(x->out, "%lld block%s of ", (long long)v->block_count,
		     v->block_count == 1 ? "" : "s");
	add_sizes(x, v->block, v->late_block, v->rank);
	if (v->is_wrapped)
		sn_text_addf(x->out, ", block b on node b %% %d\n", nodes);
	else if (v->blocks_per_node == 1)
		sn_text_add(x->out, ", block b on node b\n");
	else
		sn_text_addf(x->out, ", block b on node b / %lld\n", (long long)v->blocks_per_node);
}

/* ---- statements as the source has them ---- */

static const char *assign_text(struct explainer *x, const struct sn_pnd_stmt *s)
{
	return s ? sn_pnd_assign_text(x->em, s, s->lhs, s->rhs) : "";
}

static const char *head_of(struct explainer *x, const struct sn_pnd_stmt *s)
{
	return sn_arena_printf(x->em->arena, "for (%s; %s; %s)", assign_text(x, s->init),
			       s->cond ? sn_pnd_text_of(x->em, s->cond) : "",
			       assign_text(x, s->step));
}

/* ---- naive statements ---- */

/* The distributed elements of an expression, each once, but for one. */
static void list_elements(struct explainer *x, const struct sn_pnd_expr *e, const char *but,
			  struct sn_text *list)
{
	if (!e || !e->has_distributed)
		return;
	for (int i = 0; i < e->arg_count; i++)
		list_elements(x, e->args[i], but, list);
	list_elements(x, e->a, but, list);
	list_elements(x, e->b, but, list);
	list_elements(x, e->c, but, list);
	if (e->kind == SN_E_INDEX && e->var->is_distributed) {
		const char *text = sn_pnd_text_of(x->em, e);

		if ((!but || strcmp(but, text)) && (!list->chars || !strstr(list->chars, text)))
			sn_text_addf(list, "%s%s", list->length ? " and of " : "", text);
	}
}

static void explain_naive_assign(struct explainer *x, const struct sn_pnd_stmt *s)
{
	struct sn_text elements = { 0 };
	const char *target = sn_pnd_text_of(x->em, s->lhs);
	bool is_owned = s->lhs->var->is_distributed;

	list_elements(x, s->rhs, is_owned ? target : NULL, &elements);
	begin(x, s->pos.line);
	sn_text_addf(x->out, "%s: ", assign_text(x, s));
	if (is_owned)
		sn_text_addf(x->out, "the owner of %s executes it", target);
	else
		sn_text_add(x->out, "every node executes it");
	if (elements.length)
		sn_text_addf(x->out, "; before, the owner of %s sends it %s", elements.chars,
			     is_owned ? "there" : "to all");
	sn_text_add(x->out, "\n");
	sn_text_free(&elements);
}

static void explain_condition(struct explainer *x, const struct sn_pnd_stmt *s, const char *word)
{
	struct sn_text elements = { 0 };

	list_elements(x, s->cond, NULL, &elements);
	begin(x, s->pos.line);
	sn_text_addf(x->out, "%s (%s): every node decides it", word,
		     s->cond ? sn_pnd_text_of(x->em, s->cond) : "");
	if (elements.length)
		sn_text_addf(x->out, "; before, the owner of %s sends it to all", elements.chars);
	sn_text_add(x->out, "\n");
	sn_text_free(&elements);
}

static void explain_inner(struct explainer *x, const struct sn_pnd_stmt *s)
{
	x->indent++;
	explain_stmt(x, s);
	x->indent--;
}

static void explain_naive_for(struct explainer *x, const struct sn_pnd_stmt *s, const char *refusal)
{
	begin(x, s->pos.line);
	sn_text_addf(x->out, "%s: every node runs all of it", head_of(x, s));
	if (refusal)
		sn_text_addf(x->out, ", statement by statement (naive: %s)", refusal);
	sn_text_add(x->out, "\n");
	explain_inner(x, s->body);
}

/* ---- optimised nests ---- */

/* Is the counter the only one that decides the dimension, with bounds known here? */
static bool spans_are_known(const struct sn_nest *nest, int loop, int64_t *first, int64_t *last)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	const struct sn_affine *sub = &nest->assigns[l->key].subs[l->governed];
	int64_t end;

	for (int i = 0; i < nest->loop_count; i++)
		if (i != loop && sub->coef[i])
			return false;
	if (sub->symbol_count || !sn_pnd_evaluate(l->start, first) ||
	    !sn_pnd_evaluate(l->end, &end))
		return false;
	*last = end + l->end_adjust;
	return true;
}

static void add_span(struct sn_text *out, bool is_next, const struct pd_spans *spans)
{
	sn_text_addf(out, "%s %ld", is_next ? " and" : "", spans->first);
	if (spans->last != spans->first)
		sn_text_addf(out, "-%ld", spans->last);
}

/* What each node runs of a counter: "node 0: 0-31, node 1: 32-63, ...". */
static void add_spans(struct explainer *x, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	const struct sn_nest_assign *key = &nest->assigns[l->key];
	struct pd_array layout = sn_predict_layout(key->target->var);
	int64_t first, last;

	if (sn_pnd_is_late(x->em->program, key->target->var) ||
	    !spans_are_known(nest, loop, &first, &last))
		return;
	for (int node = 0; node < x->em->program->nodes; node++) {
		struct pd_spans spans = { .array = &layout,
					  .dimension = l->governed,
					  .nodes = x->em->program->nodes,
					  .coef = (long)key->subs[l->governed].coef[loop],
					  .offset = (long)key->subs[l->governed].constant,
					  .next = (long)first,
					  .end = (long)last,
					  .step = (long)l->step };
		int count = 0;

		if (node == NODES_LISTED) {
			sn_text_add(x->out, ", ...");
			return;
		}
		for (int d = 0; d < PD_DIMENSIONS_MAX; d++)
			spans.known[d] = PD_UNKNOWN;
		sn_text_addf(x->out, "%s node %d:", node ? "," : "; on", node);
		while (pd_span_next(&spans, node) && ++count <= SPANS_LISTED)
			add_span(x->out, count > 1, &spans);
		sn_text_add(x->out, !count ? " none" : count > SPANS_LISTED ? " and so on" : "");
	}
}

static const char *plain_words(const struct sn_nest *nest, int loop)
{
	for (int outer = nest->loops[loop].parent; outer >= 0; outer = nest->loops[outer].parent) {
		const struct sn_nest_loop *o = &nest->loops[outer];

		if (o->mode == SN_LOOP_PIPE && (o->pipe_strips == loop || o->pipe_spans == loop))
			return "the other loop of the pipeline";
		if (o->mode != SN_LOOP_PLAIN)
			return "all of it";
	}
	return "every node runs all of it";
}

static void explain_loop(struct explainer *x, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	const char *name = l->var->name;
	const char *key =
		l->mode == SN_LOOP_PLAIN ? "" : sn_pnd_text_of(x->em, nest->assigns[l->key].target);

	begin(x, l->stmt->pos.line);
	sn_text_addf(x->out, "%s: ", head_of(x, l->stmt));
	switch (l->mode) {
	case SN_LOOP_PLAIN:
		sn_text_add(x->out, plain_words(nest, loop));
		break;
	case SN_LOOP_OWN:
		sn_text_addf(x->out, "each node runs the %s for which it owns %s", name, key);
		if (l->swapped >= 0)
			sn_text_addf(x->out, ", inside the loop of %s",
				     nest->loops[l->swapped].var->name);
		add_spans(x, nest, loop);
		break;
	case SN_LOOP_GUARD:
		sn_text_addf(x->out, "the owner of %s runs all of it", key);
		break;
	case SN_LOOP_CHAIN:
		if (l->governed < 0) {
			sn_text_addf(
				x->out,
				"the owner of %s runs all of it and sends all nodes the result",
				key);
			break;
		}
		if (sn_nest_is_in_turns(nest, loop))
			sn_text_addf(x->out,
				     "one node after the other runs the %s for which it owns %s, "
				     "with the values that the one before sends it; the last one "
				     "sends them to all",
				     name, key);
		else
			sn_text_addf(x->out,
				     "each node runs the %s for which it owns %s; what it finds "
				     "goes from node to node, and from the last one to all",
				     name, key);
		add_spans(x, nest, loop);
		break;
	case SN_LOOP_SPANS:
		sn_text_addf(x->out,
			     "one node after the other runs the %s for which it owns %s, because "
			     "it needs what others compute there",
			     name, key);
		break;
	case SN_LOOP_PIPE:
		sn_text_addf(x->out,
			     "a pipeline: strips of %d %s, and in each of them one node after the "
			     "other runs the %s for which it owns %s",
			     x->em->options->strip ? x->em->options->strip : STRIP_DEFAULT,
			     nest->loops[l->pipe_strips].var->name,
			     nest->loops[l->pipe_spans].var->name, key);
		break;
	}
	sn_text_add(x->out, "\n");
}

/* A loop that became two. */
static void explain_split(struct explainer *x, const struct sn_pnd_stmt *s)
{
	begin(x, s->pos.line);
	sn_text_addf(
		x->out,
		"%s: two loops (loop fission), one for elements and one for scalars that every "
		"node keeps; what elements need is not for all nodes then\n",
		head_of(x, s->first));
}

/* Where the messages of a reference stand. */
static void explain_ref(struct explainer *x, const struct sn_nest *nest,
			const struct sn_nest_ref *r)
{
	const struct sn_pnd_stmt *anchor = sn_nest_anchor(nest, r);
	const char *to = r->assign < 0 ? "to every node" : "to where it is needed";

	begin(x, 0);
	sn_text_addf(x->out, "  %s goes %s, ", sn_pnd_text_of(x->em, r->expr), to);
	if (r->span_loop >= 0)
		sn_text_add(x->out, nest->loops[r->span_loop].mode == SN_LOOP_PIPE
					    ? "a section before each node's part of a strip"
					    : "a section before each node's turn");
	else if (r->level == 0)
		sn_text_addf(x->out, "in one section before line %d", anchor->pos.line);
	else
		sn_text_addf(x->out, "a section for each %s, before line %d",
			     nest->loops[sn_nest_ancestor(nest, r->loop, r->level)].var->name,
			     anchor->pos.line);
	if (r->is_inspected)
		sn_text_add(x->out, ", found by running the subscripts first");
	sn_text_add(x->out, "\n");
}

/* What may have to move need not: then no message was counted for this line and array. */
static bool moves(const struct explainer *x, const struct sn_nest_ref *r)
{
	const struct sn_predictor *p = x->predictor;

	for (size_t i = 0; i < p->pairs.count && !r->is_local; i++) {
		const struct sn_pnd_site *site = &p->em->sites.items[p->pairs.items[i].site];

		if (site->line == r->expr->pos.line && !strcmp(site->source, r->expr->var->name))
			return true;
	}
	return !r->is_local && p->doubt;
}

static void explain_refs(struct explainer *x, const struct sn_nest *nest,
			 const struct sn_pnd_stmt *s)
{
	struct sn_text local = { 0 };

	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];
		const char *text = sn_pnd_text_of(x->em, r->expr);

		if (r->stmt != s)
			continue;
		if (moves(x, r) && !sn_nest_is_repeated(nest, i))
			explain_ref(x, nest, r);
		else if (!moves(x, r) && (!local.chars || !strstr(local.chars, text)))
			sn_text_addf(&local, "%s%s", local.length ? ", " : "", text);
	}
	if (local.length) {
		begin(x, 0);
		sn_text_addf(x->out, "  no message for %s\n", local.chars);
	}
	sn_text_free(&local);
}

static void explain_assign(struct explainer *x, const struct sn_nest *nest,
			   const struct sn_pnd_stmt *s)
{
	const struct sn_nest_assign *a = sn_nest_assign_of(nest, s);

	begin(x, s->pos.line);
	sn_text_addf(x->out, "%s: ", assign_text(x, s));
	if (a->added)
		sn_text_addf(x->out,
			     "each node adds up where it owns %s; after the loops the nodes' sums "
			     "are sent to all and added",
			     sn_pnd_text_of(x->em, a->target));
	else if (a->target->var->is_distributed)
		sn_text_addf(x->out, "the owner of %s executes it%s",
			     sn_pnd_text_of(x->em, a->target),
			     a->is_private ? ", which alone needs it" : "");
	else
		sn_text_add(x->out, "every node executes it");
	sn_text_add(x->out, "\n");
	explain_refs(x, nest, s);
}

static void explain_owners(struct explainer *x, const struct sn_nest *nest,
			   const struct sn_pnd_stmt *s)
{
	const struct sn_nest_if *f = sn_nest_if_of(nest, s);

	for (int i = 0; i < f->owner_count; i++)
		sn_text_addf(x->out, "%s%s", i ? " and of " : ": decided by the owner of ",
			     sn_pnd_text_of(x->em, nest->assigns[f->owners[i]].target));
	sn_text_add(x->out, "\n");
}

static void explain_nest(struct explainer *x, const struct sn_nest *nest,
			 const struct sn_pnd_stmt *s)
{
	switch (s->kind) {
	case SN_S_BLOCK:
		if (s->is_split)
			explain_split(x, s);
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			explain_nest(x, nest, c);
		break;
	case SN_S_ASSIGN:
		explain_assign(x, nest, s);
		break;
	case SN_S_FOR:
		explain_loop(x, nest, sn_nest_loop_of(nest, s));
		x->indent++;
		explain_nest(x, nest, s->body);
		x->indent--;
		break;
	case SN_S_IF:
		begin(x, s->pos.line);
		sn_text_addf(x->out, "if (%s)", sn_pnd_text_of(x->em, s->cond));
		explain_owners(x, nest, s);
		x->indent++;
		explain_refs(x, nest, s);
		explain_nest(x, nest, s->body);
		x->indent--;
		if (s->otherwise) {
			begin(x, s->otherwise->pos.line);
			sn_text_add(x->out, "else\n");
			x->indent++;
			explain_nest(x, nest, s->otherwise);
			x->indent--;
		}
		break;
	default:
		break;
	}
}

/* ---- */

static void explain_for(struct explainer *x, const struct sn_pnd_stmt *s)
{
	const struct sn_nest *nest = sn_predict_nest_of(x->predictor, s);

	if (nest && !nest->refusal && !nest->is_open)
		explain_nest(x, nest, s);
	else
		explain_naive_for(x, s, nest ? nest->refusal : NULL);
}

static void explain_stmt(struct explainer *x, const struct sn_pnd_stmt *s)
{
	if (!s)
		return;
	switch (s->kind) {
	case SN_S_BLOCK:
		if (s->is_split)
			explain_split(x, s);
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			explain_stmt(x, c);
		break;
	case SN_S_ASSIGN:
		explain_naive_assign(x, s);
		break;
	case SN_S_IF:
		explain_condition(x, s, "if");
		explain_inner(x, s->body);
		if (s->otherwise) {
			begin(x, s->otherwise->pos.line);
			sn_text_add(x->out, "else\n");
			explain_inner(x, s->otherwise);
		}
		break;
	case SN_S_FOR:
		explain_for(x, s);
		break;
	case SN_S_WHILE:
	case SN_S_DO:
		explain_condition(x, s, s->kind == SN_S_DO ? "do, while" : "while");
		explain_inner(x, s->body);
		break;
	case SN_S_ZONE:
		begin(x, s->pos.line);
		sn_text_addf(x->out, "zone %s\n", s->name);
		explain_inner(x, s->body);
		break;
	default:
		break;
	}
}

/* The generated program's name of "nodes" becomes the user's. */
static void name_nodes(struct sn_text *text)
{
	static const char generated[] = "PD_NODES";
	struct sn_text out = { 0 };
	const char *at = text->length ? text->chars : "", *next;

	for (; (next = strstr(at, generated)) != NULL; at = next + strlen(generated)) {
		sn_text_add_bytes(&out, at, (size_t)(next - at));
		sn_text_add(&out, "nodes");
	}
	sn_text_add(&out, at);
	sn_text_free(text);
	*text = out;
}

void sn_pnd_explain_phase(struct sn_predictor *p, const struct sn_pnd_phase *ph,
			  struct sn_text *out)
{
	struct explainer x = { p->em, out, p, 0 };

	sn_text_addf(out, "phase %s on ", ph->name);
	if (p->nodes)
		sn_text_addf(out, "%d node%s", p->nodes, p->nodes == 1 ? "" : "s");
	else
		sn_text_add(out, "the nodes of the run");
	sn_text_addf(out, ", %s scheme\n",
		     p->em->options->scheme == SN_PND_OPT && !p->em->options->check ? "optimised"
										    : "naive");
	for (const struct sn_pnd_var *v = ph->params; v; v = v->next)
		if (v->rank)
			explain_array(&x, ph, v);
	explain_stmt(&x, ph->body);
	name_nodes(out);
}
