/* Sites by contrast: the place that is on the path inside the phase and not outside of it, as far
 * up the call graph as that holds. docs/method/phases.md says why, step by step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

enum {
	SITES_MAX = 6,	   /* of a phase */
	REPEATED_MIN = 3,  /* calls or beats, to be passed again and again */
	SELDOM_FACTOR = 4, /* times the beats of the uppermost loop: one below is meant */
	STAY_ROWS = 20,	   /* intervals that a call of a body may stay for, on average */
};

/* Shares of the time of the phase's intervals, but where another whole is named. */
static const double floor_share = 0.10;	 /* to be active in an interval */
static const double lift_share = 0.85;	 /* of the best contrast, for a caller to stand for it */
static const double contrast_min = 0.05; /* share inside less share outside, to tell the phase */
static const double coverage = 0.95; /* of the phase's intervals: then no further site is sought */
static const double owner_share = 0.90; /* of the run, to own all of it as main does */
static const double loop_share = 0.85; /* of the time below a function, for a loop to be its step */
static const double deep_share = 0.5;  /* for an entity deep in the stack to be the phase's step */
static const double wrapped_share = 0.9;  /* of a function's, for one that it calls to do as well */
static const double same_share = 0.95;	  /* of each other's, for two entities to be one step */
static const double data_loop_hz = 10000; /* a loop that iterates faster runs over data */
static const double further_share = 0.02; /* of all intervals, to be worth a further site */

struct builder {
	const struct sn_phases *phases;
	const struct sn_phase_activity *activity;
	const struct sn_phase_paths *paths;
	const struct sn_sparse *inclusive;
	const uint32_t *labels;
	uint32_t label;
	uint8_t *is_open; /* by row of the phase: no site covers it yet */
	size_t count, open;
	struct sn_stack_sums open_sums; /* of open rows */
	double *inside, *outside; /* by entity: mean fraction in open rows, in rows of others */
	struct sn_pace_scope pace;
	struct sn_phase *out;
};

static uint32_t step_loop_choose(const struct builder *b, double most);

static void means_find(struct builder *b)
{
	size_t others = b->inclusive->row_count - b->count;

	memset(b->inside, 0, b->paths->entity_count * sizeof(double));
	memset(b->outside, 0, b->paths->entity_count * sizeof(double));
	for (size_t r = 0; r < b->inclusive->row_count; r++) {
		bool is_own = b->labels[r] == b->label;
		double weight = is_own ? 1.0 / (double)b->open : 1.0 / (double)others;
		double *means = is_own ? b->inside : b->outside;

		if (is_own && !b->is_open[r])
			continue;
		for (size_t i = b->inclusive->first[r]; i < b->inclusive->first[r + 1]; i++)
			means[b->inclusive->columns[i]] += weight * (double)b->inclusive->values[i];
	}
}

/* ---- choosing one ---- */

static bool is_owner(const struct builder *b, uint32_t entity)
{
	return b->activity->shares[entity] >= owner_share;
}

static double contrast_of(const struct builder *b, uint32_t entity)
{
	return b->inside[entity] < floor_share ? -1 : b->inside[entity] - b->outside[entity];
}

static double contrast_best(const struct builder *b)
{
	double best = -1;

	for (uint32_t e = 0; e < b->paths->entity_count; e++)
		if (contrast_of(b, e) > best)
			best = contrast_of(b, e);
	return best;
}

/* Whether `entity` goes before `other` among those that would do: the one further up the paths. */
static bool is_above(const struct builder *b, uint32_t entity, uint32_t other)
{
	double here = b->inside[entity], there = b->inside[other];

	if (fabs(here - there) > 1e-9)
		return here > there;
	return b->activity->depths[entity] < b->activity->depths[other];
}

/* Functions come before loops. Where a caller in a function of its own stands for the phase, it has
 * a name; a loop around the call does not. */
static uint32_t contrast_choose(const struct builder *b, double best)
{
	uint32_t chosen = SN_NONE;

	for (int loops = 0; loops < 2 && chosen == SN_NONE; loops++)
		for (uint32_t e = 0; e < b->paths->entity_count; e++) {
			if (sn_entity_is_loop(b->paths, e) != (loops == 1) || is_owner(b, e) ||
			    contrast_of(b, e) < lift_share * best)
				continue;
			if (chosen == SN_NONE || is_above(b, e, chosen))
				chosen = e;
		}
	return chosen;
}

/* The site of a run of one phase, which has nothing to contrast with: the loop that steps through
 * it, else the deepest function that still has most of it, else the function that has all. */
static uint32_t deepest_choose(const struct builder *b)
{
	uint32_t chosen = SN_NONE;
	double most = 0;

	for (uint32_t e = 0; e < b->paths->entity_count; e++)
		most = b->inside[e] > most ? b->inside[e] : most;
	chosen = step_loop_choose(b, most);
	if (chosen != SN_NONE)
		return chosen;
	for (uint32_t e = 0; e < b->paths->function_count; e++)
		if (b->inside[e] >= lift_share * most && b->inside[e] >= deep_share &&
		    (chosen == SN_NONE || b->activity->depths[e] > b->activity->depths[chosen]))
			chosen = e;
	if (chosen != SN_NONE)
		return chosen;
	for (uint32_t e = 0; e < b->paths->function_count; e++)
		if (b->inside[e] > 0 && (chosen == SN_NONE || is_above(b, e, chosen)))
			chosen = e;
	return chosen;
}

/* ---- body or loop, and which ---- */

static double row_share(const struct builder *b, size_t row, uint32_t entity)
{
	for (size_t i = b->inclusive->first[row]; i < b->inclusive->first[row + 1]; i++)
		if (b->inclusive->columns[i] == entity)
			return (double)b->inclusive->values[i];
	return 0;
}

/* Whether a function is instrumented around its body. It is if it was called ten times and more, in
 * whatever phase, or (with many short visits) entered in most of the phase's rows in which it is
 * active. A function that is entered once or twice, or stays for very many rows, is instrumented in
 * a loop. The length of an interval plays little part in this. */
static bool is_entered(const struct builder *b, uint32_t function)
{
	size_t active = 0, entered = 0, everywhere = 0;
	uint64_t calls = b->activity->function_calls[function];

	for (size_t r = 0; r < b->inclusive->row_count; r++) {
		bool is_active = row_share(b, r, function) >= floor_share;

		everywhere += is_active;
		if (b->labels[r] != b->label || !b->is_open[r] || !is_active)
			continue;
		active++;
		entered += sn_phase_beats_of(b->activity, r, function) > 0;
	}
	return entered * 2 > active ||
	       (calls >= SN_PHASES_ROUNDS_MIN && calls * STAY_ROWS >= everywhere);
}

/* Time of the phase by entity on paths through a function, from there on. */
static double *below_find(const struct builder *b, uint32_t function)
{
	double *below = sn_alloc_zeroed((size_t)b->paths->entity_count + 1, sizeof(double));

	for (size_t i = 0; i < b->open_sums.items.count; i++) {
		const struct sn_stack_sum *sum = &b->open_sums.items.items[i];
		size_t k = b->paths->first[sum->stack];

		while (k < b->paths->first[sum->stack + 1] &&
		       b->paths->entities.items[k] != function)
			k++;
		for (; k < b->paths->first[sum->stack + 1]; k++)
			below[b->paths->entities.items[k]] += (double)sum->ns;
	}
	return below;
}

/* ---- loops that beat at a useful rate ---- */

static bool is_too_often(const struct builder *b, uint32_t entity)
{
	return sn_pace_of(&b->pace, entity).expected_cost > SN_PACE_COST_MAX;
}

/* Iterations were seen to begin in every second interval, and not so many that it costs. */
static bool is_useful(const struct builder *b, uint32_t loop)
{
	return b->pace.beats[loop] >= REPEATED_MIN && b->pace.beats[loop] * 2 >= b->count &&
	       !is_too_often(b, loop);
}

/* Whether another of the function's loops that have at least `least` lies around this one. */
static bool has_loop_around(const struct builder *b, uint32_t loop, const double *time,
			    double least)
{
	uint32_t function = sn_entity_function(b->paths, loop);

	for (uint32_t e = b->paths->function_count; e < b->paths->entity_count; e++)
		if (e != loop && time[e] >= least && sn_entity_function(b->paths, e) == function &&
		    b->activity->depths[e] < b->activity->depths[loop])
			return true;
	return false;
}

/* The uppermost loop below (or in) a function that has most of its time in the phase. Where that
 * hardly iterates, as one over the commands of an input file, it is one further down that does. It
 * is not another loop of the same function: which of the two is the step is not known, but they are
 * one loop nest. */
static uint32_t loop_below(const struct builder *b, uint32_t function)
{
	double *below = below_find(b, function), least = loop_share * below[function];
	const double *depths = b->activity->depths;
	uint32_t upper = SN_NONE, other = SN_NONE;

	for (uint32_t e = b->paths->function_count; e < b->paths->entity_count; e++)
		if (below[e] >= least && below[e] > 0 &&
		    (upper == SN_NONE || below[e] > below[upper] * (1 + 1e-9) ||
		     (below[e] >= below[upper] * (1 - 1e-9) && depths[e] < depths[upper])))
			upper = e;
	for (uint32_t e = b->paths->function_count; upper != SN_NONE && e < b->paths->entity_count;
	     e++)
		if (below[e] >= least && depths[e] > depths[upper] &&
		    sn_entity_function(b->paths, e) != sn_entity_function(b->paths, upper) &&
		    b->pace.beats[e] > SELDOM_FACTOR * b->pace.beats[upper] && is_useful(b, e) &&
		    !has_loop_around(b, e, below, least) &&
		    (other == SN_NONE || depths[e] < depths[other]))
			other = e;
	free(below);
	return other != SN_NONE && b->pace.beats[upper] * 2 < b->count ? other : upper;
}

static uint64_t phase_calls(const struct builder *b, uint32_t function)
{
	uint64_t calls = 0;

	for (size_t r = 0; r < b->inclusive->row_count; r++)
		if (b->labels[r] == b->label)
			calls += sn_phase_beats_of(b->activity, r, function);
	return calls;
}

/* The deepest function that a site does nothing but call, as often as it is called itself (as far
 * as samples can tell): it would do as well. `Neighbor::build` has such a one in the variant of
 * building that it chose. SN_NONE: there is none. */
static uint32_t wrapped_by(const struct builder *b, uint32_t function)
{
	uint32_t chosen = SN_NONE;
	uint64_t calls = phase_calls(b, function);
	double depth = b->activity->depths[function];

	for (uint32_t f = 0; f < b->paths->function_count; f++)
		if (b->activity->depths[f] > depth &&
		    b->inside[f] >= wrapped_share * b->inside[function] &&
		    contrast_of(b, f) >= lift_share * contrast_of(b, function) &&
		    !b->paths->is_recursive[f] && phase_calls(b, f) * 4 <= calls * 5) {
			chosen = f;
			depth = b->activity->depths[f];
		}
	return chosen;
}

/* ---- loops whose iterations are too short for a heartbeat ---- */

/* Time of the phase on paths through one entity. */
struct through {
	double total, own;	    /* own: with no function of the application called from it */
	double *above;		    /* by entity: on the path before it */
	uint8_t *is_called_in_loop; /* by entity: some loop is above it */
};

static void through_add(const struct builder *b, struct through *t, uint32_t entity, uint32_t stack,
			double ns)
{
	const uint32_t *path = b->paths->entities.items + b->paths->first[stack];
	size_t count = b->paths->first[stack + 1] - b->paths->first[stack], at = 0;
	bool is_in_loop = false, calls = false;

	while (at < count && path[at] != entity)
		at++;
	if (at == count)
		return;
	t->total += ns;
	for (size_t i = at + 1; i < count; i++)
		calls |= !sn_entity_is_loop(b->paths, path[i]);
	t->own += calls ? 0 : ns;
	for (size_t i = 0; i <= at; i++) {
		t->above[path[i]] += i < at ? ns : 0;
		t->is_called_in_loop[path[i]] |= is_in_loop;
		is_in_loop |= sn_entity_is_loop(b->paths, path[i]);
	}
}

static void through_find(const struct builder *b, struct through *t, uint32_t entity)
{
	size_t entities = (size_t)b->paths->entity_count + 1;

	t->total = t->own = 0;
	t->above = sn_alloc_zeroed(entities, sizeof(double));
	t->is_called_in_loop = sn_alloc_zeroed(entities, 1);
	for (size_t i = 0; i < b->open_sums.items.count; i++)
		through_add(b, t, entity, b->open_sums.items.items[i].stack,
			    (double)b->open_sums.items.items[i].ns);
}

static void through_free(struct through *t)
{
	free(t->above);
	free(t->is_called_in_loop);
}

/* Whether `entity` encloses all of a loop in the phase, and little else. */
static bool has_same_time(const struct builder *b, const struct through *t, uint32_t loop,
			  uint32_t entity)
{
	return t->above[entity] >= same_share * t->total &&
	       b->inside[loop] >= same_share * b->inside[entity];
}

/* What encloses the loop and is as active: the outermost loop of its function, else the function
 * if a loop calls it, else SN_NONE. A caller of the function goes before it if it was seen to be
 * called again and again. */
static uint32_t enclosing_choose(const struct builder *b, const struct through *t, uint32_t loop)
{
	uint32_t function = sn_entity_function(b->paths, loop), chosen = SN_NONE;
	const double *depths = b->activity->depths;

	for (uint32_t e = b->paths->function_count; e < b->paths->entity_count; e++)
		if (e != loop && sn_entity_function(b->paths, e) == function &&
		    has_same_time(b, t, loop, e) &&
		    (chosen == SN_NONE || depths[e] < depths[chosen]))
			chosen = e;
	if (chosen != SN_NONE || !has_same_time(b, t, loop, function) ||
	    !t->is_called_in_loop[function])
		return chosen;
	chosen = function;
	for (uint32_t f = 0; f < b->paths->function_count; f++)
		if (has_same_time(b, t, loop, f) && t->is_called_in_loop[f] &&
		    depths[f] < depths[chosen] && phase_calls(b, f) >= REPEATED_MIN)
			chosen = f;
	return chosen;
}

/* The nearest place around an entity whose beats cost too much: a loop, or a function that a loop
 * calls, with all of its time in the phase and half of its contrast. */
static uint32_t cheaper_choose(const struct builder *b, const struct through *t, uint32_t entity)
{
	bool is_all = b->count == b->inclusive->row_count;
	uint32_t chosen = SN_NONE;

	for (uint32_t e = 0; e < b->paths->entity_count; e++)
		if (e != entity && t->above[e] >= same_share * t->total &&
		    (sn_entity_is_loop(b->paths, e) || t->is_called_in_loop[e]) &&
		    (is_all || contrast_of(b, e) >= lift_share * contrast_of(b, entity)) &&
		    !is_too_often(b, e) &&
		    (chosen == SN_NONE || b->activity->depths[e] > b->activity->depths[chosen]))
			chosen = e;
	return chosen;
}

/* Else the nearest place around it that is cheap, whatever else it does. The entity still tells the
 * phase, but the heartbeat is there. */
static uint32_t outward_choose(const struct builder *b, const struct through *t, uint32_t entity)
{
	uint32_t chosen = SN_NONE, outermost = entity;
	const double *depths = b->activity->depths;

	for (uint32_t e = 0; e < b->paths->entity_count; e++) {
		if (e == entity || t->above[e] < same_share * t->total)
			continue;
		if (depths[e] < depths[outermost])
			outermost = e;
		if (!is_too_often(b, e) && (chosen == SN_NONE || depths[e] > depths[chosen]))
			chosen = e;
	}
	return chosen == SN_NONE ? outermost : chosen;
}

/* Another phase in the same place would have the same mark, and the two would be one. */
static bool keeps_contrast(const struct builder *b, uint32_t entity, uint32_t chosen)
{
	return b->count == b->inclusive->row_count ||
	       contrast_of(b, chosen) >= lift_share * contrast_of(b, entity);
}

/* Where the heartbeat of a site is. An iteration of an innermost loop that calls nothing takes
 * nanoseconds, which a heartbeat would multiply. So a place around it stands for it, where that is
 * as active. The same holds for all places whose beats, as far as is known, would cost more than
 * they may. The mark is that place too, as long as it tells the phase as well. */
static uint32_t site_lift(const struct builder *b, uint32_t entity, uint32_t *mark)
{
	struct sn_pace pace = sn_pace_of(&b->pace, entity);
	bool is_leaf = sn_entity_is_loop(b->paths, entity) &&
		       sn_entity_loop(b->paths, entity)->code->is_innermost;
	bool is_costly = pace.expected_cost > SN_PACE_COST_MAX;
	uint32_t chosen = SN_NONE;
	struct through t;

	*mark = entity;
	if (!is_costly && (!is_leaf || !isnan(pace.at_most_hz)))
		return entity;
	through_find(b, &t, entity);
	if (sn_entity_is_loop(b->paths, entity) && (is_costly || t.own * 2 > t.total))
		chosen = enclosing_choose(b, &t, entity);
	if (is_costly && (chosen == SN_NONE || is_too_often(b, chosen)))
		chosen = cheaper_choose(b, &t, entity);
	if (chosen != SN_NONE && !keeps_contrast(b, entity, chosen))
		chosen = SN_NONE;
	if (is_costly && chosen == SN_NONE)
		chosen = outward_choose(b, &t, entity);
	through_free(&t);
	if (chosen == SN_NONE)
		return entity;
	if (keeps_contrast(b, entity, chosen))
		*mark = chosen;
	return chosen;
}

/* ---- the step of a run of one phase ---- */

/* Whether most of a loop's time is in functions that it calls. */
static bool is_driving(const struct builder *b, uint32_t loop)
{
	struct through t;

	through_find(b, &t, loop);
	through_free(&t);
	return t.own * 2 <= t.total;
}

/* The deepest loop that has nearly all of the time, calls others for most of it and iterates at a
 * useful rate. Else the uppermost of a function's loops that does not beat as fast as data loops
 * do. SN_NONE: iterations could not be told apart. */
static uint32_t step_loop_choose(const struct builder *b, double most)
{
	uint32_t driving = SN_NONE, other = SN_NONE;
	double least = fmax(lift_share * most, deep_share);
	const double *depths = b->activity->depths;

	for (uint32_t e = b->paths->function_count; e < b->paths->entity_count; e++) {
		if (b->inside[e] < least || !is_useful(b, e))
			continue;
		if (is_driving(b, e)) {
			if (driving == SN_NONE || depths[e] > depths[driving])
				driving = e;
		} else if (!(sn_pace_of(&b->pace, e).expected_hz > data_loop_hz) &&
			   !has_loop_around(b, e, b->inside, least) &&
			   (other == SN_NONE || depths[e] < depths[other])) {
			other = e;
		}
	}
	return driving != SN_NONE ? driving : other;
}

static struct sn_phase_site site_of(const struct builder *b, uint32_t entity)
{
	struct sn_phase_site site = { .entity = entity, .loop = SN_NONE, .type = SN_SITE_BODY };

	if (!sn_entity_is_loop(b->paths, entity) && !is_entered(b, entity)) {
		uint32_t loop = loop_below(b, entity);

		if (loop != SN_NONE)
			site.entity = loop; /* none is known, as in a wait: its body */
	}
	site.entity = site_lift(b, site.entity, &site.mark);
	/* of bodies with all of its time the one that was meant */
	if (!sn_entity_is_loop(b->paths, site.entity) && !sn_entity_is_loop(b->paths, entity) &&
	    b->activity->depths[site.entity] > b->activity->depths[entity] &&
	    !is_too_often(b, entity))
		site.entity = site.mark = entity;
	if (sn_entity_is_loop(b->paths, site.entity)) {
		site.type = SN_SITE_LOOP;
		site.loop = b->paths->loop_of[site.entity - b->paths->function_count];
	}
	site.function = sn_entity_function(b->paths, site.entity);
	site.pace = sn_pace_of(&b->pace, site.entity);
	return site;
}

/* ---- covering the phase ---- */

static void open_sum(struct builder *b)
{
	const struct sn_phases *p = b->phases;
	uint8_t *has_row = sn_alloc_zeroed(p->intervals->row_count + 1, 1);

	for (size_t r = 0; r < b->inclusive->row_count; r++)
		has_row[p->vectors->rows[r]] = b->labels[r] == b->label && b->is_open[r];
	sn_vec_free(&b->open_sums.items);
	sn_stack_sums_find(p->intervals, has_row, &b->open_sums);
	free(has_row);
}

static size_t rows_close(struct builder *b, uint32_t entity)
{
	size_t closed = 0;

	for (size_t r = 0; r < b->inclusive->row_count; r++) {
		if (b->labels[r] != b->label || !b->is_open[r] ||
		    row_share(b, r, entity) < floor_share)
			continue;
		b->is_open[r] = 0;
		closed++;
	}
	b->open -= closed;
	return closed;
}

static uint32_t entity_choose(const struct builder *b)
{
	double best;
	uint32_t chosen = SN_NONE;

	if (b->count < b->inclusive->row_count) {
		best = contrast_best(b);
		if (best >= contrast_min)
			chosen = contrast_choose(b, best);
	}
	return chosen == SN_NONE && !b->out->sites.count ? deepest_choose(b) : chosen;
}

static bool alternative_find(const struct builder *b, const struct sn_phase_site *site,
			     struct sn_phase_site *out)
{
	uint32_t other = wrapped_by(b, site->function);

	if (other == SN_NONE || other == site->function)
		return false;
	*out = site_of(b, other);
	out->is_alternative = true;
	return out->function != site->function;
}

static void site_add(struct builder *b, struct sn_phase_site site, size_t closed)
{
	site.phase_share = (double)closed / (double)b->count;
	site.app_share = (double)closed / (double)b->inclusive->row_count;
	sn_vec_push(&b->out->sites, site);
}

/* A further site is for a good part of the phase, and of the run: what few intervals do is chance.
 */
static bool is_worth_more(const struct builder *b, size_t rows)
{
	return (double)rows >= floor_share * (double)b->count &&
	       (double)rows >= further_share * (double)b->inclusive->row_count;
}

static void sites_add(struct builder *b)
{
	for (int i = 0; i < SITES_MAX && (double)b->open > (1 - coverage) * (double)b->count; i++) {
		struct sn_phase_site site, alternative;
		bool has_alternative;
		uint32_t entity;
		size_t closed;

		means_find(b);
		open_sum(b);
		entity = entity_choose(b);
		if (entity == SN_NONE)
			return;
		site = site_of(b, entity);
		has_alternative = alternative_find(b, &site, &alternative);
		closed = rows_close(b, entity);
		if (!closed || (i && !is_worth_more(b, closed)))
			return;
		site_add(b, site, closed);
		if (has_alternative)
			site_add(b, alternative, closed);
	}
}

static void builder_begin(struct builder *b)
{
	size_t entities = (size_t)b->paths->entity_count + 1;

	b->is_open = sn_alloc_zeroed(b->inclusive->row_count + 1, 1);
	b->inside = sn_alloc_zeroed(entities, sizeof(double));
	b->outside = sn_alloc_zeroed(entities, sizeof(double));
	for (size_t r = 0; r < b->inclusive->row_count; r++) {
		b->is_open[r] = b->labels[r] == b->label;
		b->count += b->is_open[r];
	}
	b->open = b->count;
	sn_pace_scope_init(&b->pace, b->phases, b->labels, b->label);
}

static void builder_end(struct builder *b)
{
	sn_pace_scope_free(&b->pace);
	sn_vec_free(&b->open_sums.items);
	free(b->is_open);
	free(b->inside);
	free(b->outside);
}

void sn_sites_contrast(const struct sn_phases *phases, const uint32_t *labels, uint32_t label,
		       struct sn_phase *out)
{
	const struct sn_phase_activity *activity = phases->activity;
	struct builder b = { .phases = phases,
			     .activity = activity,
			     .paths = phases->paths,
			     .inclusive = &activity->inclusive,
			     .labels = labels,
			     .label = label,
			     .out = out };

	builder_begin(&b);
	sites_add(&b);
	builder_end(&b);
}

/* As for a phase of the rows in which the function is active. */
struct sn_phase_site sn_site_of_function(const struct sn_phases *phases, uint32_t function)
{
	const struct sn_sparse *inclusive = &phases->activity->inclusive;
	uint32_t *labels = sn_alloc_zeroed(inclusive->row_count + 1, sizeof(uint32_t));
	struct builder b = { .phases = phases,
			     .activity = phases->activity,
			     .paths = phases->paths,
			     .inclusive = inclusive,
			     .labels = labels };
	struct sn_phase_site site;

	for (size_t r = 0; r < inclusive->row_count; r++)
		labels[r] = row_share(&b, r, function) < floor_share;
	builder_begin(&b);
	means_find(&b);
	open_sum(&b);
	site = site_of(&b, function);
	builder_end(&b);
	free(labels);
	return site;
}
