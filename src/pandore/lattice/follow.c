/*
 * Takes events as soon as their past is complete, adds the observed ones to the graph while that
 * is small enough, and counts the prefix by states when it is not.
 */
#include "pandore/lattice/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/online.h"

enum { EVENTS_MAX = UINT32_MAX / 2, GAP_MAX = 1000000 };

static const uint64_t CLOCK_BYTES_MAX = 2ull << 30;

/* An event that was heard of. Its clocks are rows of numbers, one a process, once it is taken. */
struct heard {
	bool is_here, is_observed;
	size_t first_dep, dep_count; /* direct ones, of other processes */
};

struct process {
	SN_VEC(struct heard) events;
	SN_VEC(uint32_t) clocks; /* of the first `done` events: observed events in the past */
	uint32_t done, observed, heard;
};

struct sn_follow {
	struct process *processes;
	uint32_t process_count; /* room for so many */
	uint32_t seen_count;	/* the largest number named, plus one */
	uint32_t node_limit;
	SN_VEC(struct sn_lattice_ref) deps;
	struct sn_lattice_graph *graph; /* NULL: to be made, or too large */
	bool is_too_large;		/* the graph */
	bool has_given_up;		/* the clocks */
	uint64_t heard_count;
	uint32_t events, observed;
};

struct sn_follow *sn_follow_new(uint32_t node_limit)
{
	struct sn_follow *f = sn_alloc_zeroed(1, sizeof(*f));

	f->node_limit = node_limit;
	return f;
}

void sn_follow_free(struct sn_follow *f)
{
	if (!f)
		return;
	for (uint32_t p = 0; p < f->process_count; p++) {
		sn_vec_free(&f->processes[p].events);
		sn_vec_free(&f->processes[p].clocks);
	}
	free(f->processes);
	sn_vec_free(&f->deps);
	sn_lattice_graph_free(f->graph);
	free(f);
}

static const uint32_t *clock_of(const struct sn_follow *f, uint32_t process, uint32_t index)
{
	return f->processes[process].clocks.items + (size_t)index * f->process_count;
}

/* ---- taking events ---- */

/* An observed event whose clock counts itself. False: the graph has become too large. */
static bool add_to_graph(struct sn_follow *f, uint32_t process, const uint32_t *clock)
{
	struct sn_lattice_ref *after = sn_alloc((f->process_count + 1) * sizeof(*after));
	struct sn_error err;
	size_t count = 0;
	sn_status status;

	for (uint32_t q = 0; q < f->process_count; q++)
		if (q != process && clock[q])
			after[count++] = (struct sn_lattice_ref){ q, clock[q] - 1 };
	status = sn_lattice_graph_add(f->graph, process, clock[process] - 1, after, count, &err);
	free(after);
	if (status == SN_OK)
		return true;
	sn_lattice_graph_free(f->graph);
	f->graph = NULL;
	f->is_too_large = true;
	return false;
}

static bool is_ready(const struct sn_follow *f, const struct heard *e)
{
	for (size_t i = 0; i < e->dep_count; i++) {
		const struct sn_lattice_ref *dep = &f->deps.items[e->first_dep + i];

		if (dep->process >= f->process_count ||
		    dep->index >= f->processes[dep->process].done)
			return false;
	}
	return true;
}

static void join(uint32_t *clock, const uint32_t *other, uint32_t count)
{
	for (uint32_t q = 0; q < count; q++)
		clock[q] = clock[q] > other[q] ? clock[q] : other[q];
}

/* The next event of a process, if its past is complete. */
static bool take_next(struct sn_follow *f, uint32_t process)
{
	struct process *p = &f->processes[process];
	uint32_t P = f->process_count;
	const struct heard *e;
	uint32_t *clock;

	if (p->done >= p->events.count || !p->events.items[p->done].is_here)
		return false;
	e = &p->events.items[p->done];
	if (!is_ready(f, e))
		return false;
	sn_vec_reserve(&p->clocks, ((size_t)p->done + 1) * P);
	clock = p->clocks.items + (size_t)p->done * P;
	if (p->done)
		memcpy(clock, clock - P, P * sizeof(*clock));
	else
		memset(clock, 0, P * sizeof(*clock));
	for (size_t i = 0; i < e->dep_count; i++) {
		const struct sn_lattice_ref *dep = &f->deps.items[e->first_dep + i];

		join(clock, clock_of(f, dep->process, dep->index), P);
	}
	p->done++;
	p->clocks.count = (size_t)p->done * P;
	f->events++;
	if (!e->is_observed)
		return true;
	clock[process] = ++p->observed;
	f->observed++;
	if (f->graph)
		add_to_graph(f, process, clock);
	return true;
}

static void take_all(struct sn_follow *f, uint32_t from)
{
	bool any = take_next(f, from);

	while (any) {
		any = false;
		for (uint32_t p = 0; p < f->process_count; p++)
			while (take_next(f, p))
				any = true;
	}
}

/* ---- hearing of events ---- */

/* Rows have a number for each process: with more processes all begin again. Traces that say how
 * many there are on their first line come here once. */
static void grow(struct sn_follow *f, uint32_t count)
{
	struct process *processes = sn_alloc_zeroed(count, sizeof(*processes));

	if (f->process_count)
		memcpy(processes, f->processes, f->process_count * sizeof(*processes));
	free(f->processes);
	f->processes = processes;
	f->process_count = count;
	f->events = f->observed = 0;
	for (uint32_t p = 0; p < count; p++) {
		processes[p].clocks.count = 0;
		processes[p].done = processes[p].observed = 0;
	}
	sn_lattice_graph_free(f->graph);
	f->graph = f->is_too_large ? NULL : sn_lattice_graph_new(count, f->node_limit);
	for (uint32_t p = 0; p < count; p++)
		take_all(f, p);
}

static void add_dep(struct sn_follow *f, struct heard *e, uint32_t process, uint32_t index)
{
	sn_vec_push(&f->deps, (struct sn_lattice_ref){ process, index });
	e->dep_count++;
}

void sn_follow_expect(struct sn_follow *f, uint32_t process_count)
{
	f->seen_count = process_count > f->seen_count ? process_count : f->seen_count;
	if (process_count > f->process_count && process_count <= SN_LATTICE_PROCESSES_MAX)
		grow(f, process_count);
}

static bool is_too_much(const struct sn_follow *f, uint32_t process_count)
{
	return (f->heard_count + 1) * process_count * sizeof(uint32_t) > CLOCK_BYTES_MAX;
}

/* Room for this process, and some more, so that a growing number costs a few beginnings only. */
static void make_room(struct sn_follow *f, uint32_t process)
{
	uint32_t count = f->process_count ? f->process_count : 2;

	while (count <= process)
		count *= 2;
	if (is_too_much(f, count))
		f->has_given_up = true;
	else
		grow(f, count < SN_LATTICE_PROCESSES_MAX ? count : SN_LATTICE_PROCESSES_MAX);
}

void sn_follow_add(struct sn_follow *f, const struct sn_lattice_event *event)
{
	struct heard e = { .is_here = true,
			   .is_observed = event->is_observed,
			   .first_dep = f->deps.count };
	struct process *p;

	if (event->process >= SN_LATTICE_PROCESSES_MAX || event->index >= EVENTS_MAX)
		return;
	if (event->process >= f->process_count)
		make_room(f, event->process);
	f->has_given_up = f->has_given_up || is_too_much(f, f->process_count);
	if (f->has_given_up)
		return;
	f->seen_count = event->process >= f->seen_count ? event->process + 1 : f->seen_count;
	p = &f->processes[event->process];
	/* a trace may skip an index, but not so far that this would cost memory for nothing */
	if (event->index > p->events.count + GAP_MAX ||
	    (event->index < p->events.count && p->events.items[event->index].is_here))
		return;
	for (size_t i = 0; i < event->after_count; i++)
		if (event->after[i].process != event->process)
			add_dep(f, &e, event->after[i].process, event->after[i].index);
	for (uint32_t q = 0; q < event->clock_count; q++)
		if (q != event->process && event->clock[q])
			add_dep(f, &e, q, event->clock[q] - 1);
	while (p->events.count <= event->index)
		sn_vec_push(&p->events, (struct heard){ 0 });
	p->events.items[event->index] = e;
	p->heard++;
	f->heard_count++;
	take_all(f, event->process);
}

/* ---- looking ---- */

static void add_number(struct sn_text *text, uint64_t number)
{
	sn_text_addf(text, "%llu", (unsigned long long)number);
}

static void look_at_graph(struct sn_follow *f, struct sn_follow_view *view)
{
	uint32_t nodes = sn_lattice_graph_node_count(f->graph);
	uint64_t arcs = 0;

	for (uint32_t node = 0; node < nodes; node++) {
		const uint32_t *above = sn_lattice_graph_arcs(f->graph, node);

		for (uint32_t p = 0; p < f->process_count; p++)
			arcs += above[p] != SN_NODE_NONE;
	}
	view->is_exact = true;
	add_number(&view->cuts, nodes);
	add_number(&view->arcs, arcs);
	view->mean_out_degree = nodes > 1 ? (double)arcs / (nodes - 1) : NAN;
}

static void fill_order(const struct sn_follow *f, struct sn_lattice_order *order)
{
	uint32_t *counts = sn_alloc_zeroed(f->process_count, sizeof(*counts));

	for (uint32_t p = 0; p < f->process_count; p++)
		counts[p] = f->processes[p].observed;
	sn_lattice_order_init(order, f->process_count, counts);
	for (uint32_t p = 0; p < f->process_count; p++) {
		uint32_t row = order->base[p];

		for (uint32_t i = 0; i < f->processes[p].done; i++)
			if (f->processes[p].events.items[i].is_observed)
				memcpy(order->past + (size_t)++row * order->stride,
				       clock_of(f, p, i), f->process_count * sizeof(uint32_t));
	}
	sn_lattice_order_complete(order);
	free(counts);
}

static void count_prefix(const struct sn_follow *f, const struct sn_lattice_budget *budget,
			 struct sn_follow_view *view)
{
	struct sn_lattice_order order = { 0 };
	struct sn_lattice_profile profile;

	fill_order(f, &order);
	sn_lattice_profile_make(&order, budget, &profile);
	view->is_exact = profile.is_exact;
	if (profile.is_exact) {
		const struct sn_lattice_window *whole = &profile.windows.items[0];

		sn_limbs_add_decimal(&view->cuts, whole->counts.cuts, whole->counts.limbs);
		sn_limbs_add_decimal(&view->arcs, whole->counts.arcs, whole->counts.limbs);
		view->mean_out_degree = sn_lattice_window_mean(whole);
	}
	sn_lattice_profile_free(&profile);
	sn_lattice_order_free(&order);
}

void sn_follow_look(struct sn_follow *f, const struct sn_lattice_budget *budget,
		    struct sn_follow_view *out)
{
	*out = (struct sn_follow_view){ .processes = f->seen_count,
					.has_given_up = f->has_given_up,
					.events = f->events,
					.observed = f->observed,
					.mean_out_degree = NAN };
	for (uint32_t p = 0; p < f->process_count; p++) {
		out->pending += f->processes[p].heard - f->processes[p].done;
		out->frontier += f->processes[p].observed > 0;
	}
	if (f->graph)
		look_at_graph(f, out);
	else if (f->process_count)
		count_prefix(f, budget, out);
}

void sn_follow_view_free(struct sn_follow_view *view)
{
	sn_text_free(&view->cuts);
	sn_text_free(&view->arcs);
}
