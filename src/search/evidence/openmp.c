/*
 * Evidence from traces of OpenMP: what threads of a team work, and where they wait for each other, by construct,
 * exactly. Times belong to the parallel region and to all that leads to it; those of a construct also to the
 * regions inside that it stands in.
 */
#include "openmp/openmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/evidence/delays.h"
#include "search/evidence/sources.h"

enum column {
	BODY,
	PARALLEL_WAIT,
	END_WAIT,
	BARRIER_WAIT,
	CRITICAL_WAIT,
	ORDERED_WAIT,
	OMP_LOCK_WAIT,
	TASK_WAIT,
	TASK_BODY,
	SINGLE_BODY,
	SECTIONS_BODY,
	/* counts from here on */
	CRITICAL_ENTRIES,
	TASKS,
	THREAD_COLUMNS,
	/* of a process */
	LARGEST_BODY = THREAD_COLUMNS,
	FORK_JOIN,
	FORK_JOIN_OWN,
	REGION_CALLS,
	TIME,
	COLUMNS
};
static const char *const column_names[COLUMNS] = {
	"body",		 "parallel_wait",    "end_wait",  "barrier_wait", "critical_wait",
	"ordered_wait",	 "omp_lock_wait",    "task_wait", "task_body",	  "single_body",
	"sections_body", "critical_entries", "tasks",	  "largest_body", "fork_join",
	"fork_join_own", "region_calls",     "time"
};
static const char team_name[] = "team", delay_name[] = "wait_delay", off_name[] = "team_off_cpu",
		  body_delay_name[] = "body_delay";

/* Regions that a value is added to, each once. */
typedef SN_VEC(uint32_t) region_vec;

struct telling {
	struct sn_recorded *r;
	const struct sn_openmp *openmp;
	uint32_t columns[COLUMNS], source;
	struct sn_map thread_of; /* process and tid -> thread of the run + 1 */
	region_vec regions;	 /* of the entry in work */
	/* by thread of the run: in all constructs and at ends; in bodies */
	double *waited_s, *worked_s;
	/* by process of the run: of the time that starting teams took, threads had no CPU; and at least so much had one */
	double *start_delay_s, *start_cpu_s;
};

/* ---- where ---- */

static uint32_t thread_of(const struct telling *t, const struct sn_openmp_share *share)
{
	const uint64_t *at = sn_map_get(&t->thread_of, (uint64_t)share->process << 32 | share->tid);

	return at && t->r->thread_members[*at - 1] != SN_ALL ? (uint32_t)(*at - 1) : SN_NONE;
}

static void threads_find(struct telling *t)
{
	const struct sn_experiment *e = t->r->profile->experiment;

	for (uint32_t i = 0; i < e->threads.count; i++)
		*sn_map_put(&t->thread_of,
			    (uint64_t)e->threads.items[i].process << 32 |
				    (uint32_t)e->threads.items[i].tid,
			    NULL) = i + 1;
}

/* The parallel region that a stack of its opening leads to; SN_ALL: unknown. */
static uint32_t parallel_of(const struct telling *t, const struct sn_openmp_share *share)
{
	return share->region_stack < t->r->profile->program->stack_count
		       ? t->r->stacks[share->region_stack].parallel
		       : SN_ALL;
}

static void stack_regions_add(struct telling *t, uint32_t stack)
{
	const struct sn_stack_facts *facts;

	if (stack >= t->r->profile->program->stack_count)
		return;
	facts = &t->r->stacks[stack];
	for (uint32_t i = 0; i < facts->count; i++) {
		uint32_t region = t->r->stack_regions.items[facts->first + i];
		bool is_there = false;

		for (size_t k = 0; k < t->regions.count && !is_there; k++)
			is_there = t->regions.items[k] == region;
		if (!is_there)
			sn_vec_push(&t->regions, region);
	}
}

/* SN_ALL, which stands for all regions together, is one of them. */
static void regions_find(struct telling *t, const struct sn_openmp_share *share)
{
	t->regions.count = 0;
	sn_vec_push(&t->regions, (uint32_t)SN_ALL);
	stack_regions_add(t, share->region_stack);
	stack_regions_add(t, share->stack);
}

/* ---- values ---- */

/* Exact: it has no error. */
static void add(struct telling *t, enum column column, uint32_t region, uint32_t thread,
		double value)
{
	sn_recorded_add(t->r, t->columns[column], t->source, region, thread, value, NAN, 0);
}

static void path_add(struct telling *t, enum column column, uint32_t thread, double value)
{
	for (size_t i = 0; i < t->regions.count; i++)
		add(t, column, t->regions.items[i], thread, value);
}

static void wait_add(struct telling *t, enum column column, uint32_t thread, double seconds)
{
	t->waited_s[thread] += seconds;
	path_add(t, PARALLEL_WAIT, thread, seconds);
	path_add(t, column, thread, seconds);
}

/* A thread of a team has a value for each kind of wait, be it 0: what samples took for one is none. */
static void body_add(struct telling *t, const struct sn_openmp_share *share)
{
	uint32_t thread = thread_of(t, share), parallel = parallel_of(t, share);

	if (thread == SN_NONE)
		return;
	regions_find(t, share);
	for (enum column c = PARALLEL_WAIT; c < THREAD_COLUMNS; c++)
		path_add(t, c, thread, 0);
	wait_add(t, END_WAIT, thread, share->wait_ns / 1e9);
	t->worked_s[thread] += share->work_ns / 1e9;
	if (parallel != SN_ALL)
		add(t, BODY, parallel, thread, share->work_ns / 1e9);
}

/* COLUMNS: it waits for nothing. */
static enum column wait_column(uint8_t construct)
{
	switch (construct) {
	case SN_OPENMP_BARRIER:
		return BARRIER_WAIT;
	case SN_OPENMP_IMPLICIT:
	case SN_OPENMP_LOOP_END:
	case SN_OPENMP_SECTIONS_END:
	case SN_OPENMP_SINGLE_COPY:
		return END_WAIT;
	case SN_OPENMP_CRITICAL:
	case SN_OPENMP_ATOMIC:
		return CRITICAL_WAIT;
	case SN_OPENMP_ORDERED:
		return ORDERED_WAIT;
	case SN_OPENMP_LOCK:
		return OMP_LOCK_WAIT;
	case SN_OPENMP_TASKWAIT:
	case SN_OPENMP_TASKGROUP:
		return TASK_WAIT;
	default:
		return COLUMNS;
	}
}

static void construct_add(struct telling *t, const struct sn_openmp_share *share)
{
	uint32_t thread = thread_of(t, share);
	enum column column = wait_column(share->construct);

	if (thread == SN_NONE)
		return;
	regions_find(t, share);
	if (column != COLUMNS)
		wait_add(t, column, thread, share->wait_ns / 1e9);
	if (share->construct == SN_OPENMP_CRITICAL)
		path_add(t, CRITICAL_ENTRIES, thread, (double)share->count);
	if (share->construct == SN_OPENMP_SINGLE || share->construct == SN_OPENMP_MASKED)
		path_add(t, SINGLE_BODY, thread, share->ns / 1e9);
	if (share->construct == SN_OPENMP_SECTIONS)
		path_add(t, SECTIONS_BODY, thread, share->ns / 1e9);
	if (share->construct == SN_OPENMP_TASK) {
		path_add(t, TASKS, thread, (double)share->count);
		path_add(t, TASK_BODY, thread, share->ns / 1e9);
	}
}

/* ---- regions: values of processes ---- */

static void process_add(struct telling *t, uint32_t column, uint32_t region, uint32_t process,
			double number)
{
	struct sn_value value = {
		.column = column, .value = number, .samples = NAN, .error = 0, .source = t->source
	};

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_PROCESS] = process;
	sn_tables_add(t->r->tables, &value);
}

/* A region in one process: its entries together, as teams may differ in size. */
struct opened {
	struct sn_openmp_share sum;
	double rest_ns, threads_ns;
};
typedef SN_VEC(struct opened) opened_vec;

/* What starting teams takes of a process's threads, all regions: as a share of that, without what they lacked of CPUs. */
static double start_share(const struct telling *t, const opened_vec *all, uint32_t process)
{
	double rest_s = 0;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].sum.process == process)
			rest_s += fmax(0, all->items[i].rest_ns) / 1e9;
	if (!(rest_s > 0))
		return 1;
	return fmin(1, fmax(rest_s - t->start_delay_s[process], t->start_cpu_s[process]) / rest_s);
}

/* What neither works nor waits, elapsed: the mean of the team's threads. */
static void region_add(struct telling *t, const struct sn_openmp_share *share, double rest_ns,
		       double own_share)
{
	uint32_t parallel = parallel_of(t, share);
	uint32_t process = t->r->process_members[share->process];

	if (parallel == SN_ALL || process == SN_ALL)
		return;
	process_add(t, t->columns[REGION_CALLS], parallel, process, (double)share->count);
	process_add(t, t->columns[TIME], parallel, process, share->ns / 1e9);
	process_add(t, t->columns[LARGEST_BODY], parallel, process, share->largest_ns / 1e9);
	process_add(t, t->columns[FORK_JOIN], parallel, process, fmax(0, rest_ns) / 1e9);
	process_add(t, t->columns[FORK_JOIN_OWN], parallel, process,
		    own_share * fmax(0, rest_ns) / 1e9);
}

static struct opened *opened_at(opened_vec *all, struct sn_map *at,
				const struct sn_openmp_share *share)
{
	uint64_t *place =
		sn_map_put(at, (uint64_t)share->process << 32 | share->region_stack, NULL);

	if (!*place) {
		struct opened fresh = { .sum = { .process = share->process,
						 .region_stack = share->region_stack } };

		sn_vec_push(all, fresh);
		*place = all->count;
	}
	return &all->items[*place - 1];
}

static void opened_add(struct opened *o, const struct sn_openmp_share *share)
{
	if (share->type == SN_OPENMP_CONSTRUCT && wait_column(share->construct) != COLUMNS)
		o->rest_ns -= share->wait_ns;
	if (share->type != SN_OPENMP_REGION)
		return;
	o->sum.count += share->count;
	o->sum.ns += share->ns;
	o->sum.largest_ns += share->largest_ns;
	o->threads_ns += share->ns * share->threads;
	o->rest_ns += share->ns * share->threads - share->work_ns - share->wait_ns;
}

static void regions_add(struct telling *t)
{
	struct sn_map at = { 0 };
	opened_vec all = { 0 };

	for (size_t i = 0; i < t->openmp->shares.count; i++)
		if (t->openmp->shares.items[i].region_stack != SN_NONE)
			opened_add(opened_at(&all, &at, &t->openmp->shares.items[i]),
				   &t->openmp->shares.items[i]);
	for (size_t i = 0; i < all.count; i++)
		if (all.items[i].threads_ns > 0)
			region_add(t, &all.items[i].sum,
				   all.items[i].rest_ns * all.items[i].sum.ns /
					   all.items[i].threads_ns,
				   start_share(t, &all, all.items[i].sum.process));
	sn_vec_free(&all);
	sn_map_free(&at);
}

static void teams_add(struct telling *t)
{
	size_t processes = t->r->profile->experiment->processes.count;
	uint32_t *most = sn_alloc_zeroed(processes + 1, sizeof(*most));
	uint32_t column = sn_tables_column(t->r->tables, team_name, NULL);

	for (size_t i = 0; i < t->openmp->shares.count; i++) {
		const struct sn_openmp_share *share = &t->openmp->shares.items[i];

		if (share->threads > most[share->process])
			most[share->process] = share->threads;
	}
	for (size_t p = 0; p < processes; p++)
		if (t->r->process_members[p] != SN_ALL && most[p])
			process_add(t, column, SN_ALL, t->r->process_members[p], most[p]);
	free(most);
}

/* ---- waiting without a CPU ---- */

static bool is_waiting(uint8_t activity)
{
	return activity >= SN_ACTIVITY_OMP_BARRIER && activity <= SN_ACTIVITY_OMP_IDLE;
}

/* What samples and blocked calls saw of a thread: its CPU time, in bodies, in the runtime (waiting for a team, or starting
 * one), and its waiting asleep. */
struct seen {
	double cpu_s, body_s, spinning_s, starting_s, blocked_s;
};

/* Of what a thread lacked of CPUs. */
struct lacked {
	double waiting_s, body_s, starting_s;
};

static bool is_of_body(const struct sn_stack_facts *facts)
{
	return facts->parallel != SN_ALL && !is_waiting(facts->activity);
}

static struct seen *waiting_see(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	struct seen *seen = sn_alloc_zeroed(e->threads.count + 1, sizeof(*seen));
	uint32_t stacks = r->profile->program->stack_count;

	for (size_t i = 0; i < r->cells.count; i++) {
		const struct sn_recorded_cell *cell = &r->cells.items[i];
		const struct sn_stack_facts *facts = &r->stacks[cell->stack];
		struct seen *at = &seen[cell->thread];
		double cpu_s = (double)cell->cpu_ns / 1e9;

		at->cpu_s += cpu_s;
		at->spinning_s += is_waiting(facts->activity) ? cpu_s : 0;
		at->starting_s += facts->activity == SN_ACTIVITY_OMP_OTHER ? cpu_s : 0;
		at->body_s += is_of_body(facts) ? cpu_s : 0;
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];

		if (wait->stack < stacks && is_waiting(r->stacks[wait->stack].activity))
			seen[wait->thread].blocked_s +=
				(double)sn_profile_wait_ns(r->profile, wait) / 1e9;
	}
	return seen;
}

/* Its waits for a team, without what it spun and slept there. */
static double off_in_waits(const struct telling *t, const struct seen *seen, uint32_t thread)
{
	return fmax(0, t->waited_s[thread] - seen->spinning_s - seen->blocked_s);
}

/* In waits, and outside of regions, in proportion to its CPU time there; in waits and in bodies no longer than it was there and
 * did not run. The rest goes to the start of regions. */
static struct lacked lacked_of(const struct telling *t, const struct seen *seen, uint32_t thread,
			       double delay_s)
{
	struct lacked out = { 0 };
	double left_s = delay_s, outside_s;

	if (!(seen->cpu_s > 0))
		return out;
	out.waiting_s =
		fmin(off_in_waits(t, seen, thread), delay_s * seen->spinning_s / seen->cpu_s);
	outside_s = delay_s * fmax(0, seen->cpu_s - seen->spinning_s - seen->body_s) / seen->cpu_s;
	left_s = fmax(0, left_s - out.waiting_s - outside_s);
	out.body_s = fmin(left_s, fmax(0, t->worked_s[thread] - seen->body_s));
	out.starting_s = left_s - out.body_s;
	return out;
}

/* What comes late to its work, or stops in it, others wait for. Between several regions it is in proportion to the thread's CPU
 * time in their bodies. */
static void body_delays_add(struct telling *t, const struct seen *seen, const struct lacked *lacked)
{
	const struct sn_recorded *r = t->r;
	uint32_t column = sn_tables_column(r->tables, body_delay_name, NULL);

	sn_tables_complete(r->tables, column);
	for (size_t i = 0; i < r->cells.count; i++) {
		const struct sn_recorded_cell *cell = &r->cells.items[i];
		const struct sn_stack_facts *facts = &r->stacks[cell->stack];

		if (!is_of_body(facts) || r->thread_members[cell->thread] == SN_ALL ||
		    !(seen[cell->thread].body_s > 0))
			continue;
		sn_recorded_add(t->r, column, t->source, facts->parallel, cell->thread,
				(lacked[cell->thread].body_s + lacked[cell->thread].starting_s) *
					(double)cell->cpu_ns / 1e9 / seen[cell->thread].body_s,
				NAN, 0);
	}
}

/* A thread that waits for its team loses nothing by having no CPU meanwhile. */
static void delays_add(struct telling *t)
{
	const struct sn_experiment *e = t->r->profile->experiment;
	uint32_t delay = sn_tables_column(t->r->tables, delay_name, NULL);
	uint32_t off = sn_tables_column(t->r->tables, off_name, NULL);
	struct seen *seen = waiting_see(t->r);
	struct lacked *lacked = sn_alloc_zeroed(e->threads.count + 1, sizeof(*lacked));
	double *delays_s = sn_delays_of_threads(t->r);

	sn_tables_complete(t->r->tables, delay);
	sn_tables_complete(t->r->tables, off);
	for (uint32_t i = 0; i < e->threads.count; i++) {
		if (t->r->thread_members[i] == SN_ALL)
			continue;
		lacked[i] = lacked_of(t, &seen[i], i, delays_s[i]);
		t->start_delay_s[e->threads.items[i].process] += lacked[i].starting_s;
		t->start_cpu_s[e->threads.items[i].process] += seen[i].starting_s;
		sn_recorded_add(t->r, delay, t->source, SN_ALL, i, lacked[i].waiting_s, NAN, 0);
		sn_recorded_add(t->r, off, t->source, SN_ALL, i, off_in_waits(t, &seen[i], i), NAN,
				0);
	}
	body_delays_add(t, seen, lacked);
	free(delays_s);
	free(lacked);
	free(seen);
}

/* ---- all ---- */

static void tell(struct telling *t)
{
	t->source = sn_tables_source(t->r->tables, "openmp");
	for (int c = 0; c < COLUMNS; c++) {
		t->columns[c] = sn_tables_column(t->r->tables, column_names[c], NULL);
		if (c != TIME)
			sn_tables_complete(t->r->tables, t->columns[c]);
	}
	threads_find(t);
	for (size_t i = 0; i < t->openmp->shares.count; i++) {
		if (t->openmp->shares.items[i].type == SN_OPENMP_BODY)
			body_add(t, &t->openmp->shares.items[i]);
		if (t->openmp->shares.items[i].type == SN_OPENMP_CONSTRUCT)
			construct_add(t, &t->openmp->shares.items[i]);
	}
	delays_add(t);
	regions_add(t);
	teams_add(t);
}

/* A part is a window of the agent's, which entries do not cross; another filter by time would cut through them. */
static sn_status entries_read(const struct sn_recorded *r, struct sn_openmp **out)
{
	const struct sn_filter *filter = &r->profile->filter;

	if (r->part)
		return sn_openmp_read_within(r->profile->program, &filter->spans, out, NULL);
	return filter->from_ns || filter->to_ns ? SN_ERR_NO_DATA
						: sn_openmp_read(r->profile->program, out, NULL);
}

static void openmp_collect(struct sn_recorded *r)
{
	struct telling t = { .r = r };
	struct sn_openmp *openmp = NULL;
	size_t threads = r->profile->experiment->threads.count + 1;
	size_t processes = r->profile->experiment->processes.count + 1;

	if (entries_read(r, &openmp) != SN_OK)
		return;
	t.openmp = openmp;
	t.waited_s = sn_alloc_zeroed(2 * threads, sizeof(double));
	t.worked_s = t.waited_s + threads;
	t.start_delay_s = sn_alloc_zeroed(2 * processes, sizeof(double));
	t.start_cpu_s = t.start_delay_s + processes;
	if (openmp->is_traced && openmp->regions.count)
		tell(&t);
	sn_map_free(&t.thread_of);
	sn_vec_free(&t.regions);
	free(t.waited_s);
	free(t.start_delay_s);
	sn_openmp_free(openmp);
}

static const char *const given[] = {
	"body",		"parallel_wait", "end_wait",  "barrier_wait", "critical_wait",
	"ordered_wait", "omp_lock_wait", "task_wait", "task_body",    "critical_entries",
	"tasks",	"largest_body",	 "fork_join", "region_calls", "time",
	"single_body",	"sections_body", "team",      "wait_delay",   "body_delay",
	"team_off_cpu", "fork_join_own", NULL
};
static const char *const times[] = { "body",
				     "parallel_wait",
				     "end_wait",
				     "barrier_wait",
				     "critical_wait",
				     "ordered_wait",
				     "omp_lock_wait",
				     "task_wait",
				     "task_body",
				     "largest_body",
				     "single_body",
				     "sections_body",
				     "fork_join",
				     "time",
				     "wait_delay",
				     "body_delay",
				     "team_off_cpu",
				     "fork_join_own",
				     NULL };

/* samples see who waits actively, and not who sleeps in the runtime */
static const char *const waits[] = { "parallel_wait",
				     "barrier_wait",
				     "critical_wait",
				     "ordered_wait",
				     "omp_lock_wait",
				     "task_wait",
				     NULL };

const struct sn_source sn_source_openmp = {
	.name = "openmp",
	.measures =
		"work and waiting of OpenMP teams by construct, regions, critical sections and tasks, "
		"exactly",
	.needs = "a run that was recorded with --openmp",
	.needs_of_phase = "a program that is linked with an OpenMP library",
	.is_cut_by_time = true,
	.trace = SN_TRACE_OPENMP,
	.costs = "what recording with --openmp costs",
	.option = "openmp",
	.gives = given,
	.times = times,
	.settles = waits,
	/* a thread that sleeps in the runtime runs in no call that is known: that is no mystery, but waiting for its team */
	.is_wanted = true,
	.wanted_with = "team",
	.collect = openmp_collect,
};
