/*
 * The steps of a search. A candidate is evaluated in every process of the run (and every thread, if
 * the property has one); those above the threshold are members of its finding.
 */
#include "search/engine/search.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/alloc.h"
#include "base/spelling.h"
#include "search/engine/guard.h"
#include "search/engine/parts.h"
#include "search/evidence/sources.h"

/* A search that does not end by itself ends here. */
enum { STEPS_MOST = 1000 };

/* ---- evaluating ---- */

struct evaluation {
	struct sn_search *s;
	const struct sn_property *property;
	struct sn_finding finding;
	double loss, lanes, confidence_weight, worst;
	double all_loss; /* of members below the threshold, too */
	uint32_t contexts, unknown;
	double ranges_loss; /* of members that are known as ranges, at most */
	struct sn_not_measurable missing;
};

static void needs_note(struct evaluation *ev, const struct sn_verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->need_count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < ev->missing.needs.count; k++)
			is_known |= ev->missing.needs.items[k] == verdict->needs[i];
		if (!is_known)
			sn_vec_push(&ev->missing.needs, verdict->needs[i]);
	}
}

/* Keeps what is to be said: sums of all members, the rest of the severest one. */
static void evidence_keep(struct evaluation *ev, const struct sn_verdict *verdict)
{
	struct sn_text text = { 0 };

	sn_finding_evidence_add(&ev->finding, ev->property, verdict->evidence,
				verdict->severity > ev->worst);
	if (verdict->severity <= ev->worst)
		return;
	ev->worst = verdict->severity;
	ev->finding.condition = verdict->condition;
	free(ev->finding.explanation);
	ev->finding.explanation = NULL;
	if (!ev->property->explain)
		return;
	sn_prop_text_open(ev->s->evaluator, ev->property->explain, &text);
	ev->finding.explanation = sn_text_take(&text);
}

/* Unknown, and above the threshold for all that is known: the search asks for both. */
static bool is_open(const struct sn_search *s, const struct sn_verdict *verdict)
{
	if (verdict->is_range && verdict->state == SN_PROVEN)
		return !(verdict->severity > s->options.threshold) &&
		       verdict->severity_at_most > s->options.threshold;
	return verdict->state == SN_NOT_MEASURABLE &&
	       !(verdict->severity_at_most <= s->options.threshold);
}

static void context_see(const uint32_t keys[SN_KEYS], void *context)
{
	struct evaluation *ev = context;
	struct sn_verdict verdict;
	double lanes = sn_tables_lanes(ev->s->recorded->tables, keys[SN_KEY_PROCESS]);
	struct sn_finding_member member = { .process = keys[SN_KEY_PROCESS],
					    .thread = keys[SN_KEY_THREAD] };

	sn_property_evaluate(ev->s->evaluator, ev->property, keys, &verdict);
	ev->contexts++;
	if (is_open(ev->s, &verdict)) {
		ev->unknown++;
		needs_note(ev, &verdict);
		if (verdict.is_range)
			ev->ranges_loss += verdict.severity_at_most * lanes;
	}
	if (verdict.state != SN_PROVEN)
		return;
	ev->all_loss += verdict.severity * lanes;
	if (!(verdict.severity > ev->s->options.threshold))
		return;
	member.severity = verdict.severity;
	member.confidence = isnan(verdict.confidence) ? 0 : verdict.confidence;
	sn_vec_push(&ev->finding.members, member);
	ev->loss += member.severity * lanes;
	ev->lanes += lanes;
	ev->confidence_weight += member.confidence * member.severity * lanes;
	evidence_keep(ev, &verdict);
}

/* Whether a request has no value anywhere: then no place will be measurable. */
static bool lacks_a_source(const struct sn_search *s, const struct sn_property *property,
			   const struct sn_not_measurable *missing)
{
	for (size_t i = 0; i < missing->needs.count; i++) {
		const struct sn_prop_request *r =
			&property->requests.items[missing->needs.items[i]];
		uint32_t column =
			sn_tables_find_column(s->recorded->tables, r->metric->name, r->level);

		if (!sn_tables_has_column(s->recorded->tables, column))
			return true;
	}
	return false;
}

double sn_search_lanes(const struct sn_tables *t)
{
	double lanes = 0;

	for (uint32_t p = 0; p < t->members[SN_KEY_PROCESS].count; p++)
		lanes += sn_tables_lanes(t, p);
	return lanes;
}

/* The region's CPU time as a share of all lanes; 1: not known. */
static double cpu_share_of(const struct sn_search *s, uint32_t region)
{
	struct sn_tables *t = s->recorded->tables;
	uint32_t column = sn_tables_find_column(t, "cpu", NULL), keys[SN_KEYS];
	const struct sn_sum *cpu;

	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	keys[SN_KEY_REGION] = region;
	cpu = column == SN_ALL ? NULL : sn_tables_find(t, column, keys, true);
	return cpu && t->phase_s > 0 ? fmin(1, cpu->value / (t->phase_s * sn_search_lanes(t))) : 1;
}

/* Each property is noted once, with the place where it may cost most. */
static void range_note(struct sn_search *s, struct evaluation *ev, struct sn_search_step *step)
{
	uint32_t property = ev->finding.what.property;
	struct sn_not_measurable *noted = NULL;

	step->not_measurable++;
	for (size_t i = 0; i < s->not_measurable.count; i++)
		if (s->not_measurable.items[i].property == property)
			noted = &s->not_measurable.items[i];
	ev->missing.property = property;
	ev->missing.region = ev->finding.what.region;
	ev->missing.severity_at_most = fmin(ev->ranges_loss / sn_search_lanes(s->recorded->tables),
					    cpu_share_of(s, ev->missing.region));
	if (!noted) {
		s->unmeasurable[property] = SN_KNOWN_AS_RANGE;
		sn_vec_push(&s->not_measurable, ev->missing);
	} else if (noted->severity_at_most < ev->missing.severity_at_most) {
		sn_vec_free(&noted->needs);
		*noted = ev->missing;
	} else {
		sn_vec_free(&ev->missing.needs);
	}
}

static void not_measurable_note(struct sn_search *s, struct evaluation *ev,
				struct sn_search_step *step)
{
	uint32_t property = ev->finding.what.property;

	step->not_measurable++;
	if (!lacks_a_source(s, ev->property, &ev->missing)) {
		sn_vec_free(&ev->missing.needs);
		return;
	}
	if (s->unmeasurable[property]) {
		sn_vec_free(&ev->missing.needs);
		return;
	}
	s->unmeasurable[property] = SN_NO_SOURCE;
	ev->missing.property = property;
	ev->missing.region = ev->finding.what.region;
	sn_vec_push(&s->not_measurable, ev->missing);
}

/* True: it is proven, and `out` is its finding, of this step. */
static bool candidate_judge(struct sn_search *s, size_t index, struct sn_search_step *step,
			    struct sn_finding *out)
{
	struct evaluation ev = { .s = s, .worst = -1 };
	uint32_t fixed[SN_KEYS];

	ev.finding.recorded = s->recorded;
	ev.finding.what = s->candidates.items[index].what;
	ev.finding.step = (uint32_t)s->steps.count + 1;
	ev.property = s->library->properties.items[ev.finding.what.property];
	for (int k = 0; k < SN_KEYS; k++)
		fixed[k] = SN_ALL;
	fixed[SN_KEY_REGION] = ev.finding.what.region;
	fixed[SN_KEY_DATA] = ev.finding.what.data;
	sn_property_contexts(s->recorded->tables, ev.property, fixed, context_see, &ev);
	s->candidates.items[index].severity =
		ev.all_loss > 0 ? ev.all_loss / sn_search_lanes(s->recorded->tables) : NAN;
	if (ev.ranges_loss > 0 && !ev.finding.members.count)
		range_note(s, &ev, step);
	else if (ev.contexts && ev.unknown == ev.contexts)
		not_measurable_note(s, &ev, step);
	else
		sn_vec_free(&ev.missing.needs);
	sn_search_silent_judge(s, ev.finding.what.property,
			       ev.contexts && !ev.unknown && !ev.finding.members.count);
	if (!ev.finding.members.count)
		return false;
	ev.finding.severity = ev.loss / ev.lanes;
	ev.finding.confidence = ev.loss > 0 ? ev.confidence_weight / ev.loss : 0;
	*out = ev.finding;
	return true;
}

static void candidate_evaluate(struct sn_search *s, size_t index, struct sn_search_step *step)
{
	struct sn_finding finding;

	step->candidates++;
	s->candidates.items[index].step = (uint32_t)s->steps.count + 1;
	if (!candidate_judge(s, index, step, &finding))
		return;
	step->proven++;
	sn_vec_push(&s->findings, finding);
}

static void finding_free(struct sn_finding *finding)
{
	sn_vec_free(&finding->members);
	free(finding->evidence);
	free(finding->explanation);
}

/* ---- candidates again, where values have come since ---- */

static uint32_t sources_of(const struct sn_metric *metric)
{
	uint32_t sources = 0;

	for (size_t k = 0; k < metric->needs.count; k++)
		sources |= sn_source_bit(metric->needs.items[k], metric->name);
	return sources;
}

static uint32_t asked_by(const struct sn_property *property)
{
	uint32_t sources = 0;

	for (size_t i = 0; i < property->requests.count; i++)
		sources |= sources_of(property->requests.items[i].metric);
	return sources;
}

/* What was not measurable may be so now. */
static void unmeasurable_forget(struct sn_search *s, uint32_t sources)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->not_measurable.count; i++) {
		struct sn_not_measurable *missing = &s->not_measurable.items[i];

		if (asked_by(s->library->properties.items[missing->property]) & sources) {
			s->unmeasurable[missing->property] = SN_MEASURABLE;
			sn_vec_free(&missing->needs);
		} else {
			s->not_measurable.items[kept++] = *missing;
		}
	}
	s->not_measurable.count = kept;
}

static size_t finding_of(const struct sn_search *s, const struct sonde_strategy_candidate *what)
{
	size_t at = 0;

	while (at < s->findings.count &&
	       memcmp(&s->findings.items[at].what, what, sizeof(*what)) != 0)
		at++;
	return at;
}

/* Candidates of earlier steps stand on the values of all steps. What is proven only now comes behind the findings
 * that are there; its number is returned, so that the strategy hears of it. */
static size_t candidates_again(struct sn_search *s, size_t end, uint32_t sources,
			       struct sn_search_step *step)
{
	SN_VEC(struct sn_finding) fresh = { 0 };
	size_t count;

	unmeasurable_forget(s, sources);
	for (size_t i = 0; i < end; i++) {
		const struct sonde_strategy_candidate what = s->candidates.items[i].what;
		size_t at = finding_of(s, &what);
		bool was_proven = at < s->findings.count;
		struct sn_finding finding;

		if (!(asked_by(s->library->properties.items[what.property]) & sources))
			continue;
		if (candidate_judge(s, i, step, &finding)) {
			if (!was_proven) {
				sn_vec_push(&fresh, finding);
				continue;
			}
			finding.step = s->findings.items[at].step;
			finding_free(&s->findings.items[at]);
			s->findings.items[at] = finding;
		} else if (was_proven) {
			finding_free(&s->findings.items[at]);
			memmove(&s->findings.items[at], &s->findings.items[at + 1],
				(--s->findings.count - at) * sizeof(finding));
		}
	}
	for (size_t i = 0; i < fresh.count; i++)
		sn_vec_push(&s->findings, fresh.items[i]);
	count = fresh.count;
	step->proven += (uint32_t)count;
	sn_vec_free(&fresh);
	return count;
}

/* ---- measuring more ---- */

struct lack {
	struct sn_search *s;
	const struct sn_property *property;
	uint32_t sources;
};

static void lack_see(const uint32_t keys[SN_KEYS], void *context)
{
	struct lack *lack = context;
	struct sn_verdict verdict;

	sn_property_evaluate(lack->s->evaluator, lack->property, keys, &verdict);
	if (verdict.state == SN_PROVEN && verdict.severity > lack->s->options.threshold)
		lack->sources |=
			asked_by(lack->property) & sn_sources_wanted(lack->s->recorded->tables);
	if (!is_open(lack->s, &verdict))
		return;
	for (uint32_t i = 0; i < verdict.need_count; i++)
		lack->sources |=
			sources_of(lack->property->requests.items[verdict.needs[i]].metric);
}

/* The sources that could still be measured and that candidates lack. */
static uint32_t lacking_of(struct sn_search *s, size_t first, size_t end)
{
	struct lack lack = { .s = s };
	uint32_t fixed[SN_KEYS];

	for (size_t i = first; i < end; i++) {
		const struct sonde_strategy_candidate *what = &s->candidates.items[i].what;

		for (int k = 0; k < SN_KEYS; k++)
			fixed[k] = SN_ALL;
		fixed[SN_KEY_REGION] = what->region;
		fixed[SN_KEY_DATA] = what->data;
		lack.property = s->library->properties.items[what->property];
		sn_property_contexts(s->recorded->tables, lack.property, fixed, lack_see, &lack);
	}
	return lack.sources & s->options.measuring.available;
}

/* What was proven before there were data is refined by them, too. */
static void data_propose(struct sn_search *s)
{
	for (size_t i = 0; i < s->findings.count; i++) {
		const struct sn_finding *f = &s->findings.items[i];
		const struct sonde_strategy_finding proven = { f->what, f->severity, f->confidence,
							       f->step };

		if (f->what.data == SN_ALL)
			s->host.propose_data(s, &proven);
	}
}

/* What properties of data ask for that were proposed before any data was known. */
static uint32_t lacking_of_data(const struct sn_search *s)
{
	uint32_t sources = 0;

	for (size_t i = 0; i < s->of_data.count; i++)
		sources |= asked_by(s->library->properties.items[s->of_data.items[i].property]);
	return sources & s->options.measuring.available;
}

/* A property of data is not measurable where nothing knows of any. */
static void of_data_note(struct sn_search *s, struct sn_search_step *step)
{
	for (size_t i = 0; i < s->of_data.count; i++) {
		const struct sonde_strategy_candidate *what = &s->of_data.items[i];
		struct evaluation ev = { .s = s, .finding.what = *what };

		ev.property = s->library->properties.items[what->property];
		for (uint32_t r = 0; r < ev.property->requests.count; r++)
			sn_vec_push(&ev.missing.needs, r);
		not_measurable_note(s, &ev, step);
	}
}

/* How many candidates of earlier steps are proven by what was measured: the last findings. */
static size_t lacking_measure(struct sn_search *s, size_t first, size_t end,
			      struct sn_search_step *step)
{
	size_t data = s->recorded->tables->members[SN_KEY_DATA].count;
	uint32_t sources;

	if (!s->options.measuring.available)
		return 0;
	sources = lacking_of(s, first, end) | lacking_of_data(s);
	if (!sources)
		return 0;
	s->options.measuring.measure(s->options.measuring.context, s, sources, step);
	s->options.measuring.available &= ~sources;
	sn_evaluator_free(s->evaluator); /* it knows where there was no value */
	s->evaluator = sn_evaluator_new(s->recorded->tables, s->options.severity);
	if (s->recorded->tables->members[SN_KEY_DATA].count > data)
		data_propose(s);
	return candidates_again(s, first, sources, step);
}

static void recorded_take(struct sn_search *s, struct sn_recorded *recorded)
{
	s->recorded = recorded;
	sn_evaluator_free(s->evaluator); /* it knows where there was no value */
	s->evaluator = sn_evaluator_new(recorded->tables, s->options.severity);
}

/* Where the phase can be measured no more, further steps are on what is there. */
static void measure_anew(struct sn_search *s, struct sn_search_step *step)
{
	struct sn_recorded *recorded;

	if (!s->options.measuring.anew || !s->steps.count)
		return;
	recorded = s->options.measuring.anew(s->options.measuring.context, s, step);
	if (!recorded) {
		s->options.measuring.anew = NULL;
		return;
	}
	recorded_take(s, recorded);
}

/* ---- steps ---- */

/* A call of the strategy, which is code of somebody else. */
struct call {
	struct sn_search *search;
	enum { BEGIN, FIRST, REFINE, END } function;
	void *state;
	const struct sonde_strategy_finding *proven;
	uint32_t count;
};

static void call_make(void *context)
{
	struct call *c = context;
	struct sn_search *s = c->search;

	switch (c->function) {
	case BEGIN:
		c->state = s->strategy->begin ? s->strategy->begin(&s->host) : NULL;
		break;
	case FIRST:
		s->strategy->first(&s->host, c->state);
		break;
	case REFINE:
		s->strategy->refine(&s->host, c->state, c->proven, c->count);
		break;
	case END:
		if (s->strategy->end)
			s->strategy->end(c->state);
		break;
	}
}

static sn_status call(struct call *c, int function, struct sn_error *err)
{
	static const char *const names[] = { "begin", "first", "refine", "end" };
	struct sn_search *s = c->search;
	const char *name = s->options.strategy ? s->options.strategy : "time";
	const struct sn_guard_code code = sn_guard_code_of((uintptr_t)s->strategy->first);
	int signal;

	c->function = function;
	if (s->is_left || sn_guarded(call_make, c, &code, &signal))
		return SN_OK;
	s->strategy_library = NULL; /* nothing of it runs any more */
	if (signal == SN_GUARD_LATE && s->steps.count) {
		s->is_left = s->is_partial = true;
		sn_warn("search: strategy '%s' did not come back from its function '%s' (it had %d s of CPU time, or took %d s), "
			"so the search ends here; this is the result of the steps before",
			name, names[function], SN_GUARD_CPU_S, SN_GUARD_ELAPSED_S);
		return SN_OK;
	}
	if (signal == SN_GUARD_LATE)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"search: strategy '%s' did not come back from its function '%s' (it had %d s of CPU time, or took %d s), "
			"so nothing was searched",
			name, names[function], SN_GUARD_CPU_S, SN_GUARD_ELAPSED_S);
	return sn_error_set(
		err, SN_ERR_USAGE,
		"search: strategy '%s' crashed in its function '%s' (SIG%s), so there is "
		"no result; mend it, or use one of sonde's",
		name, names[function], sigabbrev_np(signal));
}

typedef SN_VEC(struct sonde_strategy_finding) proven_vec;

static void proven_add(proven_vec *proven, const struct sn_finding *f)
{
	const struct sonde_strategy_finding told = { f->what, f->severity, f->confidence, f->step };

	sn_vec_push(proven, told);
}

static sn_status proven_refine(struct call *c, const proven_vec *proven, struct sn_error *err)
{
	const struct sonde_strategy_finding none = { 0 };

	c->proven = proven->count ? proven->items : &none;
	c->count = (uint32_t)proven->count;
	return call(c, REFINE, err);
}

static sn_status step_refine(struct call *c, size_t first_finding, struct sn_error *err)
{
	const struct sn_search *s = c->search;
	proven_vec proven = { 0 };
	sn_status status;

	for (size_t i = first_finding; i < s->findings.count; i++)
		proven_add(&proven, &s->findings.items[i]);
	status = proven_refine(c, &proven, err);
	sn_vec_free(&proven);
	return status;
}

/* ---- the values of all steps ---- */

/* What was proven by then, by candidate; all that was found is forgotten. */
static uint8_t *findings_forget(struct sn_search *s)
{
	uint8_t *was_proven = sn_alloc_zeroed(s->candidates.count + 1, 1);

	for (size_t i = 0; i < s->findings.count; i++) {
		struct sn_finding *f = &s->findings.items[i];

		was_proven[*sn_map_get(&s->seen, sn_candidate_hash(&f->what))] = 1;
		finding_free(f);
	}
	s->findings.count = 0;
	for (size_t i = 0; i < s->not_measurable.count; i++)
		sn_vec_free(&s->not_measurable.items[i].needs);
	s->not_measurable.count = 0;
	memset(s->unmeasurable, 0, s->library->properties.count);
	return was_proven;
}

/* Each step has measured its own executions: rows of two steps are shares of different ones, and do not add up. The first
 * `end` candidates are evaluated again on all that was measured, in their order; the strategy hears of what only that proves.
 * The steps stay what they were. */
static sn_status whole_evaluate(struct call *c, sn_measure_whole_fn *whole, size_t end,
				struct sn_error *err)
{
	struct sn_search *s = c->search;
	struct sn_recorded *recorded = whole(s->options.measuring.context, s);
	struct sn_search_step unused = { 0 };
	proven_vec fresh = { 0 };
	uint8_t *was_proven;
	sn_status status = SN_OK;

	s->options.measuring.whole = NULL;
	s->options.measuring.anew = NULL;
	s->options.measuring.available = 0;
	if (!recorded)
		return SN_OK;
	recorded_take(s, recorded);
	was_proven = findings_forget(s);
	for (size_t i = 0; i < end; i++) {
		struct sn_finding finding;

		if (!candidate_judge(s, i, &unused, &finding))
			continue;
		finding.step = s->candidates.items[i].step;
		sn_vec_push(&s->findings, finding);
		if (!was_proven[i])
			proven_add(&fresh, &finding);
	}
	if (fresh.count)
		status = proven_refine(c, &fresh, err);
	sn_vec_free(&fresh);
	free(was_proven);
	return status;
}

static sn_status step_run(struct call *strategy, size_t *next, struct sn_error *err)
{
	struct sn_search *s = strategy->search;
	size_t end = s->candidates.count, first_finding;
	struct sn_search_step step = { 0 };
	double begin = sn_now_s();

	if (!s->steps.count || (!s->options.measuring.measure && !s->options.measuring.context))
		step = s->options.first;
	measure_anew(s, &step);
	first_finding = lacking_measure(s, *next, end, &step);
	first_finding = s->findings.count - first_finding;
	if (s->of_data.count && s->recorded->tables->members[SN_KEY_DATA].count) {
		sn_search_propose_of_data(s);
		end = s->candidates.count;
	}
	of_data_note(s, &step);
	s->of_data.count = 0;
	for (; *next < end; ++*next)
		candidate_evaluate(s, *next, &step);
	step.elapsed_s += sn_now_s() - begin;
	sn_vec_push(&s->steps, step);
	return step_refine(strategy, first_finding, err);
}

/* Where the strategy has asked for the property where it cannot be asked; and a property of data everywhere, as regions around a
 * place may have no values of data. */
static bool start_is_wanted(const struct sn_search *s)
{
	return s->host.start != SONDE_STRATEGY_NONE &&
	       ((!s->candidates.count && !s->of_data.count) ||
		sn_property_parameter(s->library->properties.items[s->host.start], SN_KEY_DATA));
}

static sn_status steps_run(struct sn_search *s, struct sn_error *err)
{
	struct call strategy = { .search = s };
	sn_status status = call(&strategy, BEGIN, err);
	size_t next = 0, most = s->options.steps_most && s->options.steps_most < STEPS_MOST
					? s->options.steps_most
					: STEPS_MOST;

	if (status == SN_OK)
		status = call(&strategy, FIRST, err);
	if (status == SN_OK && start_is_wanted(s))
		sn_search_propose_start(s);
	while (status == SN_OK) {
		sn_search_silent_wake(s);
		if (!s->is_left && (next < s->candidates.count || s->of_data.count) &&
		    s->steps.count < most)
			status = step_run(&strategy, &next, err);
		else if (s->options.measuring.whole)
			status = whole_evaluate(&strategy, s->options.measuring.whole, next, err);
		else
			break;
	}
	return status == SN_OK ? call(&strategy, END, err) : status;
}

static sn_status start_check(const struct sn_search *s, struct sn_error *err)
{
	const char *strategy = s->options.strategy ? s->options.strategy : "time";
	const char *near = NULL;

	if (!s->options.start)
		return SN_OK;
	if (s->host.start != SONDE_STRATEGY_NONE)
		return strcmp(strategy, "time") != 0 && strcmp(strategy, "mpi") != 0
			       ? SN_OK
			       : sn_error_set(
					 err, SN_ERR_USAGE,
					 "--start is for the strategies property and data, and strategy "
					 "%s begins by itself: --strategy property --start %s",
					 strategy, s->options.start);
	for (size_t i = 0; i < s->library->properties.count; i++)
		if (sn_spelling_is_nearer(s->options.start, s->library->properties.items[i]->name,
					  near))
			near = s->library->properties.items[i]->name;
	if (near)
		return sn_error_set(err, SN_ERR_USAGE,
				    "there is no property '%s'; did you mean '%s'?",
				    s->options.start, near);
	return sn_error_set(err, SN_ERR_USAGE,
			    "there is no property '%s'; 'sonde properties list' lists them",
			    s->options.start);
}

sn_status sn_search_check(const struct sn_library *library, const struct sn_search_options *options,
			  struct sn_error *err)
{
	struct sn_search *s = sn_alloc_zeroed(1, sizeof(*s));
	sn_status status;

	s->library = library;
	s->options = *options;
	sn_search_host(s);
	status = start_check(s, err);
	if (status == SN_OK)
		status = sn_search_load(s, err);
	sn_search_free(s);
	return status;
}

sn_status sn_search_begin(struct sn_recorded *recorded, const struct sn_library *library,
			  const struct sn_search_options *options, struct sn_search **out,
			  struct sn_error *err)
{
	struct sn_search *s;
	sn_status status;

	if (!recorded->tables->members[SN_KEY_PROCESS].count)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: no process of the run has samples; record it again for "
			"longer");
	s = sn_alloc_zeroed(1, sizeof(*s));
	s->recorded = recorded;
	s->library = library;
	s->options = *options;
	s->barren = options->barren;
	s->offered = options->measuring.available;
	s->phase = (struct sn_search_phase){ .executions = 1, .mean_s = recorded->tables->phase_s };
	s->exit_status = recorded->profile ? recorded->profile->experiment->exit_status : -1;
	s->evaluator = sn_evaluator_new(recorded->tables, s->options.severity);
	s->unmeasurable = sn_alloc_zeroed(library->properties.count + 1, 1);
	s->silent = sn_alloc_zeroed(library->properties.count + 1, 1);
	sn_search_host(s);
	status = start_check(s, err);
	if (status == SN_OK)
		status = sn_search_load(s, err);
	if (status == SN_OK)
		*out = s;
	else
		sn_search_free(s);
	return status;
}

sn_status sn_search_run(struct sn_recorded *recorded, const struct sn_library *library,
			const struct sn_search_options *options, struct sn_search **out,
			struct sn_error *err)
{
	sn_status status = sn_search_begin(recorded, library, options, out, err);

	if (status != SN_OK)
		return status;
	status = steps_run(*out, err);
	if (status == SN_OK) {
		if (!options->is_of_host)
			sn_search_finish(*out);
	} else {
		sn_search_free(*out);
		*out = NULL;
	}
	return status;
}

void sn_search_free(struct sn_search *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->findings.count; i++)
		finding_free(&s->findings.items[i]);
	for (size_t i = 0; i < s->not_measurable.count; i++)
		sn_vec_free(&s->not_measurable.items[i].needs);
	sn_vec_free(&s->findings);
	sn_vec_free(&s->not_measurable);
	sn_vec_free(&s->candidates);
	sn_vec_free(&s->of_data);
	sn_vec_free(&s->steps);
	sn_map_free(&s->seen);
	sn_map_free(&s->found);
	sn_evaluator_free(s->evaluator);
	free(s->unmeasurable);
	free(s->silent);
	sn_vec_free(&s->waiting);
	sn_map_free(&s->waiting_of);
	if (s->strategy_library)
		dlclose(s->strategy_library);
	free(s);
}
