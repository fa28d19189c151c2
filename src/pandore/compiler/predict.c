/*
 * Follows the control flow of a phase with the integers that every node knows, and counts the
 * messages that each statement and each nest would send. What depends on other values is reported
 * as doubtful.
 */
#include "pandore/compiler/predict.h"

#include "pandore/compiler/predictor.h"
#include "pandore/compiler/remarks.h"

enum { STEPS_MAX = 20000000 };

void sn_predict_doubt(struct sn_predictor *p, struct sn_pnd_pos pos, const char *why)
{
	if (!p->doubt) {
		p->doubt = why;
		p->doubt_line = pos.line;
	}
}

void sn_predict_count(struct sn_predictor *p, int line, bool is_broadcast, const char *source,
		      const char *target, int from, int to, int messages, int64_t bytes)
{
	struct sn_predicted_pair pair = { line, is_broadcast, source, target, from, to, 0, 0 };
	uint64_t key, *place;
	bool is_new;

	if (p->is_silent)
		return;
	key = sn_hash_u64((uint64_t)line ^ sn_hash_u64((uint64_t)(uintptr_t)source) ^
			  sn_hash_u64((uint64_t)(uintptr_t)target * 3 + is_broadcast) ^
			  sn_hash_u64((uint64_t)from << 32 | (uint64_t)to));
	place = sn_map_put(&p->pair_index, key, &is_new);
	if (is_new) {
		*place = p->pairs.count;
		sn_vec_push(&p->pairs, pair);
	}
	p->pairs.items[*place].messages += messages;
	p->pairs.items[*place].bytes += bytes;
}

const struct sn_nest *sn_predict_nest_of(struct sn_predictor *p, const struct sn_pnd_stmt *loop)
{
	bool is_new;
	uint64_t *place = sn_map_put(&p->nest_index, (uint64_t)(uintptr_t)loop, &is_new);
	struct sn_nest *nest;

	if (!is_new)
		return (const struct sn_nest *)(uintptr_t)*place;
	*place = 0;
	if (p->em->options->scheme == SN_PND_NAIVE || p->em->options->check)
		return NULL;
	nest = sn_arena_new(p->em->arena, struct sn_nest);
	*place = (uint64_t)(uintptr_t)nest;
	sn_nest_plan(nest, p->em->program, loop, ++p->em->nest_mark, p->em->options->reassoc);
	return nest;
}

/* ---- control flow ---- */

static void run(struct sn_predictor *p, const struct sn_pnd_stmt *s);

static bool holds(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value v;

	if (!s->cond)
		return true;
	p->fetched.count = 0;
	p->guard = p->guard_count = 0;
	if (!p->is_silent)
		sn_predict_operands(p, s, s->cond, SN_PREDICT_EVERYBODY, "(condition)");
	v = sn_pnd_value_of(&p->values, s->cond);
	if (!v.is_known)
		sn_predict_doubt(p, s->pos, "a condition");
	return v.number != 0;
}

/* The body of a loop; false if the loop ends by it. */
static bool run_body(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	bool goes_on;

	run(p, s->body);
	goes_on = !p->jump || p->jump == SN_S_CONTINUE;
	if (p->jump != SN_S_RETURN)
		p->jump = 0;
	return goes_on;
}

static void run_for(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	if (s->init)
		sn_predict_assign(p, s->init);
	while (!p->doubt && holds(p, s) && !p->doubt) {
		if (!run_body(p, s))
			return;
		if (s->step)
			sn_predict_assign(p, s->step);
		if (++p->steps > p->steps_max)
			sn_predict_doubt(p, s->pos, "too many iterations");
	}
}

static void run_silently(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	p->is_silent = true;
	run_for(p, s);
	p->is_silent = false;
}

/* Are all targets distributed? Then only the counters have to be followed. */
static bool writes_only_distributed(const struct sn_nest *nest)
{
	for (int i = 0; i < nest->assign_count; i++)
		if (!nest->assigns[i].stmt->lhs->var->is_distributed &&
		    !nest->assigns[i].is_private)
			return false;
	return true;
}

static bool has_conditional_loops(const struct sn_nest *nest)
{
	for (int i = 0; i < nest->loop_count; i++)
		if (nest->loops[i].is_conditional && !nest->loops[i].is_dead)
			return true;
	return false;
}

static void run_loop(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	const struct sn_nest *nest = p->is_silent ? NULL : sn_predict_nest_of(p, s);

	if (!nest || nest->refusal) {
		run_for(p, s);
		return;
	}
	sn_predict_nest(p, nest, s);
	sn_predict_partial_sums(p, nest);
	if (p->doubt)
		return;
	if (writes_only_distributed(nest) && !has_conditional_loops(nest))
		sn_predict_leave_counters(p, nest, 0);
	else
		run_silently(p, s);
}

static void run_while(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	if (s->kind == SN_S_DO && !run_body(p, s))
		return;
	while (!p->doubt && holds(p, s) && !p->doubt) {
		if (!run_body(p, s))
			return;
		if (++p->steps > p->steps_max)
			sn_predict_doubt(p, s->pos, "too many iterations");
	}
}

static void run(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	if (p->doubt || p->jump || !s)
		return;
	switch (s->kind) {
	case SN_S_BLOCK:
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			run(p, c);
		break;
	case SN_S_ASSIGN:
		sn_predict_assign(p, s);
		break;
	case SN_S_IF:
		run(p, holds(p, s) ? s->body : s->otherwise);
		break;
	case SN_S_FOR:
		run_loop(p, s);
		break;
	case SN_S_WHILE:
	case SN_S_DO:
		run_while(p, s);
		break;
	case SN_S_ZONE:
		run(p, s->body);
		break;
	case SN_S_BREAK:
	case SN_S_CONTINUE:
	case SN_S_RETURN:
		p->jump = s->kind;
		break;
	default:
		break;
	}
}

static void write_pairs(const struct sn_predictor *p, struct sn_text *out)
{
	const struct sn_predicted_pair *last = NULL;
	int64_t messages = 0, bytes = 0;

	for (size_t i = 0; i < p->pairs.count; i++) {
		const struct sn_predicted_pair *q = &p->pairs.items[i];

		if (!last || last->line != q->line || last->source != q->source ||
		    last->target != q->target || last->is_broadcast != q->is_broadcast)
			sn_text_addf(out, "  line %d, %s to %s%s\n", q->line, q->source, q->target,
				     q->is_broadcast ? ", to every node" : "");
		sn_text_addf(out, "    node %d -> node %d: %lld message%s, %lld bytes\n", q->from,
			     q->to, (long long)q->messages, q->messages == 1 ? "" : "s",
			     (long long)q->bytes);
		messages += q->messages;
		bytes += q->bytes;
		last = q;
	}
	sn_text_addf(out, "  in all %lld message%s with %lld bytes\n", (long long)messages,
		     messages == 1 ? "" : "s", (long long)bytes);
}

static void take_arguments(struct sn_predictor *p, const struct sn_pnd_phase *ph)
{
	for (const struct sn_pnd_var *v = ph->params; v; v = v->next)
		if (!v->rank && v->passed == SN_PASSED_CONSTANT)
			*sn_pnd_values_scalar(&p->values, v) =
				(struct sn_pnd_value){ true, v->passed_value };
}

static void add_arguments(const struct sn_pnd_phase *ph, struct sn_text *out)
{
	const char *before = " with ";

	for (const struct sn_pnd_var *v = ph->params; v; v = v->next)
		if (!v->rank && v->passed == SN_PASSED_CONSTANT) {
			sn_text_addf(out, "%s%s = %lld", before, v->name,
				     (long long)v->passed_value);
			before = ", ";
		}
}

/* The same as rows. */
static void give_rows(const struct sn_predictor *p, const struct sn_pnd_phase *ph,
		      struct sn_pnd_result *out)
{
	sn_vec_push(&out->foretold,
		    (struct sn_pnd_foretold){ ph->name, p->doubt, p->doubt ? p->doubt_line : 0 });
	for (size_t i = 0; !p->doubt && i < p->pairs.count; i++) {
		const struct sn_predicted_pair *q = &p->pairs.items[i];

		sn_vec_push(&out->expected,
			    (struct sn_pnd_expected){ ph->name, q->source, q->target, q->line,
						      q->is_broadcast, q->from, q->to, q->messages,
						      q->bytes });
	}
}

void sn_pnd_predict(struct sn_pnd_emitter *em, struct sn_pnd_result *result)
{
	struct sn_text *out = &result->explain;

	for (const struct sn_pnd_phase *ph = em->program->phases; ph; ph = ph->next) {
		struct sn_predictor p = { .em = em,
					  .nodes = em->program->nodes,
					  .steps_max = em->options->steps_max
							       ? em->options->steps_max
							       : STEPS_MAX };

		take_arguments(&p, ph);
		if (sn_pnd_has_late(em->program, ph))
			sn_predict_doubt(&p, ph->pos, "sizes that the run decides");
		else
			run(&p, ph->body);
		sn_pnd_explain_phase(&p, ph, out);
		sn_text_addf(out, "  messages between nodes in one call of %s", ph->name);
		add_arguments(ph, out);
		sn_text_add(out, ":\n");
		if (p.doubt)
			sn_text_addf(out, "  they depend on data: %s at line %d\n", p.doubt,
				     p.doubt_line);
		else
			write_pairs(&p, out);
		give_rows(&p, ph, result);
		sn_pnd_find_remarks(&p, ph, result);
		sn_vec_free(&p.pairs);
		sn_map_free(&p.pair_index);
		sn_vec_free(&p.fetched);
		sn_map_free(&p.nest_index);
		sn_vec_free(&p.needs);
		sn_map_free(&p.need_index);
		sn_pnd_values_free(&p.values);
	}
}
