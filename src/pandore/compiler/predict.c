/* Reads what the counting build has printed, and says it by line, array and pair of nodes. */
#include "pandore/compiler/predict.h"

#include <stdlib.h>
#include <string.h>

#include "pandore/compiler/data.h"
#include "pandore/compiler/predictor.h"
#include "pandore/compiler/remarks.h"

struct pd_array sn_predict_layout(const struct sn_pnd_var *v)
{
	struct pd_array a = { .rank = v->rank,
			      .is_wrapped = v->is_wrapped,
			      .block_count = v->block_count,
			      .per_node = v->blocks_per_node };

	for (int d = 0; d < v->rank; d++) {
		a.extent[d] = v->extent[d];
		a.block[d] = v->block[d];
		a.grid[d] = v->grid[d];
		a.order[d] = v->order[d];
	}
	return a;
}

const struct sn_nest *sn_predict_nest_of(const struct sn_predictor *p,
					 const struct sn_pnd_stmt *loop)
{
	const uint64_t *at = sn_map_get(&p->em->nests, (uint64_t)(uintptr_t)loop);

	return at ? (const struct sn_nest *)(uintptr_t)*at : NULL;
}

static bool is_exact(const struct sn_nest *nest, const struct sn_nest_ref *ref);

bool sn_predict_need_of(const struct sn_predictor *p, const struct sn_nest *nest,
			const struct sn_nest_ref *ref, int64_t *sent, int64_t *needed)
{
	*sent = 0;
	for (size_t i = 0; i < p->pairs.count; i++)
		if (p->pairs.items[i].site == ref->site)
			*sent += p->pairs.items[i].bytes;
	if (ref->is_local || ref->is_inspected || !*sent)
		return false;
	*needed = p->needed[ref->site];
	if (*needed < 0 && is_exact(nest, ref))
		*needed = *sent;
	if (!sn_nest_can_inspect(nest, ref->expr, ref->loop) ||
	    (ref->assign >= 0 &&
	     !sn_nest_can_inspect(nest, nest->assigns[ref->assign].target, ref->loop)))
		*needed = -1;
	return true;
}

/* Does a counter that is free at the message decide at most one subscript, alone, with bounds that no
 * other one decides? Then a box holds what is needed and nothing else. */
static bool is_exact(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];
	int of_dimension[SN_PND_RANK_MAX * 2] = { 0 };

	for (int l = ref->loop; l >= 0; l = nest->loops[l].parent) {
		const struct sn_nest_loop *loop = &nest->loops[l];
		int dimensions = 0;

		if (loop->depth <= ref->level)
			continue;
		if (loop->bounds_depth > ref->level || loop->step < -1)
			return false;
		for (int d = 0; d < ref->expr->arg_count; d++) {
			dimensions += ref->subs[d].coef[l] != 0;
			of_dimension[d] += ref->subs[d].coef[l] != 0;
		}
		for (int d = 0; a && d < a->target->arg_count; d++)
			of_dimension[SN_PND_RANK_MAX + d] += a->subs[d].coef[l] != 0;
		if (dimensions > 1)
			return false;
	}
	for (int d = 0; d < ref->expr->arg_count; d++)
		if (!ref->subs[d].ok || of_dimension[d] > 1)
			return false;
	for (int d = 0; a && d < a->target->arg_count; d++)
		if (!a->subs[d].ok || of_dimension[SN_PND_RANK_MAX + d] > 1)
			return false;
	return true;
}

/* ---- reading ---- */

static void doubt(struct sn_predictor *p, int line, const char *why)
{
	if (!p->doubt) {
		p->doubt = why;
		p->doubt_line = line;
	}
}

static bool number(char **at, int64_t *out)
{
	char *end;

	*out = strtoll(*at, &end, 10);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* One line of what was printed of a phase; runtime/count.c has the forms. */
static void read_line(struct sn_predictor *p, char *line)
{
	int64_t n[5] = { 0 }, sites = (int64_t)p->em->sites.count;
	char *at = line + 1;
	int count = 0;

	while (count < 5 && number(&at, &n[count]))
		count++;
	if (*line == 'd')
		doubt(p, (int)n[0], sn_arena_strdup(p->em->arena, *at == ' ' ? at + 1 : at));
	else if (*line == 'n' && count == 2 && n[0] >= 0 && n[0] < sites)
		p->needed[n[0]] = n[1];
	else if (*line == 'm' && count == 5 && n[0] >= 0 && n[0] < sites)
		sn_vec_push(&p->pairs, (struct sn_predicted_pair){ (int)n[0], (int)n[1], (int)n[2],
								   n[3], n[4] });
	else
		doubt(p, 0, "what counted them printed something else");
}

/* The lines of one phase. */
static void read_phase(struct sn_predictor *p, const struct sn_text *said, int phase)
{
	char *copy = sn_arena_strdup(p->em->arena, said->chars ? said->chars : ""), *rest = copy;
	int at = -1;

	for (char *line; (line = strtok_r(rest, "\n", &rest));)
		if (*line == 'p')
			at = atoi(line + 1);
		else if (at == phase)
			read_line(p, line);
	if (at < phase)
		doubt(p, 0, said->chars ? said->chars : "they were not counted");
}

/* ---- subscripts ---- */

static void uncheck(struct sn_pnd_result *out, const struct sn_pnd_phase *ph, const char *why,
		    int line)
{
	sn_vec_push(&out->unchecked, (struct sn_pnd_foretold){ ph->name, why, line });
}

static void read_outside(const struct sn_pnd_emitter *em, char *at)
{
	int64_t n[3] = { -1, 0, 0 };
	int count = 0;

	while (count < 3 && number(&at, &n[count]))
		count++;
	if (count < 3 || n[0] < 0 || n[0] >= (int64_t)em->subscripts.count)
		return;
	sn_pnd_report(em->program->diags, em->subscripts.items[n[0]].pos, 16,
		      "subscript %lld of '%s' is out of bounds: 0 to %lld", (long long)n[1],
		      em->subscripts.items[n[0]].array, (long long)n[2] - 1);
}

/* What was printed of the checks of all phases. */
static void read_checks(const struct sn_pnd_emitter *em, const struct sn_text *said,
			struct sn_pnd_result *out)
{
	char *rest = sn_arena_strdup(em->arena, said->chars ? said->chars : "");
	const struct sn_pnd_phase *ph = NULL;

	if (*rest != 'p')
		for (ph = em->program->phases; ph; ph = ph->next)
			uncheck(out, ph, sn_arena_strdup(em->arena, rest), 0);
	for (char *line; (line = strtok_r(rest, "\n", &rest));) {
		char *why = line + 1;
		int64_t at;

		if (*line == 'p')
			ph = ph ? ph->next : em->program->phases;
		else if (*line == 'x')
			read_outside(em, line + 1);
		else if (*line == 'd' && ph && number(&why, &at))
			uncheck(out, ph, sn_arena_strdup(em->arena, why + (*why == ' ')), (int)at);
	}
}

static void check_subscripts(struct sn_pnd_emitter *em, int nodes, struct sn_pnd_result *out)
{
	struct sn_text code = { 0 }, said = { 0 };
	struct sn_pnd_options options = *em->options;
	struct sn_pnd_emitter checking = { .program = em->program,
					   .options = &options,
					   .arena = em->arena,
					   .out = &code,
					   .is_counting = true,
					   .is_checking = true };

	options.scheme = SN_PND_NAIVE;
	sn_pnd_emit_program(&checking);
	em->options->count(em->options->context, &code, nodes, &said);
	read_checks(&checking, &said, out);
	sn_vec_free(&checking.subscripts);
	sn_vec_free(&checking.zones);
	sn_vec_free(&checking.sites);
	sn_vec_free(&checking.points);
	sn_map_free(&checking.nests);
	sn_text_free(&code);
	sn_text_free(&said);
}

/* ---- saying ---- */

static const struct sn_pnd_site *site_of(const struct sn_predictor *p,
					 const struct sn_predicted_pair *pair)
{
	return &p->em->sites.items[pair->site];
}

static int by_place(const void *left, const void *right)
{
	const struct sn_pnd_expected *a = left, *b = right;
	int names = a->line != b->line ? a->line - b->line : strcmp(a->source, b->source);

	names = names ? names : strcmp(a->target, b->target);
	names = names ? names : a->is_broadcast - b->is_broadcast;
	return names ? names : a->from != b->from ? a->from - b->from : a->to - b->to;
}

/* Rows of the phase, sorted, with one for each line, array, target and pair of nodes. */
static void give_rows(const struct sn_predictor *p, const struct sn_pnd_phase *ph,
		      struct sn_pnd_result *out)
{
	size_t first = out->expected.count, kept = first;

	sn_vec_push(&out->foretold,
		    (struct sn_pnd_foretold){ ph->name, p->doubt, p->doubt ? p->doubt_line : 0 });
	for (size_t i = 0; !p->doubt && i < p->pairs.count; i++) {
		const struct sn_predicted_pair *q = &p->pairs.items[i];
		const struct sn_pnd_site *s = site_of(p, q);

		sn_vec_push(&out->expected,
			    (struct sn_pnd_expected){ ph->name, s->source, s->target, s->line,
						      s->is_broadcast, q->from, q->to, q->messages,
						      q->bytes });
	}
	if (out->expected.count == first)
		return;
	qsort(out->expected.items + first, out->expected.count - first,
	      sizeof(*out->expected.items), by_place);
	for (size_t i = first + 1; i < out->expected.count; i++) {
		struct sn_pnd_expected *e = &out->expected.items[kept];

		if (by_place(e, &out->expected.items[i])) {
			out->expected.items[++kept] = out->expected.items[i];
			continue;
		}
		e->messages += out->expected.items[i].messages;
		e->bytes += out->expected.items[i].bytes;
	}
	out->expected.count = kept + 1;
}

static void write_rows(const struct sn_pnd_result *result, size_t first, struct sn_text *out)
{
	const struct sn_pnd_expected *last = NULL;
	int64_t messages = 0, bytes = 0;

	for (size_t i = first; i < result->expected.count; i++) {
		const struct sn_pnd_expected *e = &result->expected.items[i];

		if (!last || last->line != e->line || strcmp(last->source, e->source) ||
		    strcmp(last->target, e->target) || last->is_broadcast != e->is_broadcast)
			sn_text_addf(out, "  line %d, %s to %s%s\n", e->line, e->source, e->target,
				     e->is_broadcast ? ", to every node" : "");
		sn_text_addf(out, "    node %d -> node %d: %lld message%s, %lld bytes\n", e->from,
			     e->to, (long long)e->messages, e->messages == 1 ? "" : "s",
			     (long long)e->bytes);
		messages += e->messages;
		bytes += e->bytes;
		last = e;
	}
	sn_text_addf(out, "  in all %lld message%s with %lld bytes\n", (long long)messages,
		     messages == 1 ? "" : "s", (long long)bytes);
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

static void write_messages(const struct sn_predictor *p, const struct sn_pnd_phase *ph,
			   const struct sn_pnd_result *result, size_t first, struct sn_text *out)
{
	sn_text_addf(out, "  messages between nodes in one call of %s", ph->name);
	add_arguments(ph, out);
	sn_text_add(out, ":\n");
	if (!p->doubt)
		write_rows(result, first, out);
	else if (p->doubt_line)
		sn_text_addf(out, "  they depend on data: %s at line %d\n", p->doubt,
			     p->doubt_line);
	else
		sn_text_addf(out, "  not known: %s\n", p->doubt);
}

static void write_unchecked(const struct sn_pnd_phase *ph, const struct sn_pnd_result *result,
			    struct sn_text *out)
{
	for (size_t i = 0; i < result->unchecked.count; i++) {
		const struct sn_pnd_foretold *u = &result->unchecked.items[i];

		if (strcmp(u->phase, ph->name) != 0)
			continue;
		sn_text_addf(out, "  not all subscripts were checked: %s", u->why);
		sn_text_addf(out, u->line ? " at line %d\n" : "\n", u->line);
	}
}

/* Layouts that no known number decides. */
static void doubt_sizes(struct sn_predictor *p, const struct sn_pnd_phase *ph)
{
	if (!p->nodes)
		doubt(p, 0, "the run decides the number of nodes; --nodes gives one");
	for (const struct sn_pnd_var *v = ph->params; v; v = v->next)
		for (int d = 0; d < v->rank; d++)
			if (sn_pnd_reads_data(v->late_extent[d]) ||
			    sn_pnd_reads_data(v->late_block[d]))
				doubt(p, v->pos.line,
				      "sizes that the run decides (--with NAME=VALUE gives them)");
}

void sn_pnd_predict(struct sn_pnd_emitter *em, struct sn_pnd_result *result)
{
	struct sn_text code = { 0 }, said = { 0 };
	struct sn_pnd_emitter counting = { .program = em->program,
					   .options = em->options,
					   .arena = em->arena,
					   .out = &code,
					   .nest_mark = em->nest_mark,
					   .is_counting = true };
	int nodes = em->program->nodes ? em->program->nodes : em->options->nodes;

	sn_pnd_emit_program(&counting);
	if (em->options->count)
		em->options->count(em->options->context, &code, nodes, &said);
	if (said.chars && *said.chars == 'p')
		check_subscripts(em, nodes, result);
	for (const struct sn_pnd_phase *ph = em->program->phases; ph; ph = ph->next) {
		struct sn_predictor p = { .em = &counting, .nodes = nodes };
		size_t first = result->expected.count;

		p.needed = sn_arena_array(em->arena, int64_t, counting.sites.count + 1);
		doubt_sizes(&p, ph);
		if (!p.doubt)
			read_phase(&p, &said, ph->index);
		give_rows(&p, ph, result);
		sn_pnd_explain_phase(&p, ph, &result->explain);
		write_messages(&p, ph, result, first, &result->explain);
		write_messages(&p, ph, result, first, &result->messages);
		if (!p.doubt) {
			write_unchecked(ph, result, &result->explain);
			write_unchecked(ph, result, &result->messages);
		}
		sn_pnd_find_remarks(&p, ph, result);
		sn_vec_free(&p.pairs);
	}
	sn_vec_free(&counting.zones);
	sn_vec_free(&counting.sites);
	sn_vec_free(&counting.points);
	sn_map_free(&counting.nests);
	sn_text_free(&code);
	sn_text_free(&said);
}
