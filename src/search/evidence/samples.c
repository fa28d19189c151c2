/*
 * Evidence from samples of stacks: CPU time by region and thread, and from the runtimes on the
 * stacks the time of OpenMP teams and MPI calls.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/system_call.h"
#include "search/evidence/activity.h"
#include "search/evidence/delays.h"
#include "search/evidence/sources.h"
#include "search/evidence/wait_errors.h"

enum column {
	CPU,
	OWN,
	FAULTS,
	SPIN,
	HEAP_TIME,
	IO_CPU,
	BODY,
	BODY_CPU,
	TEAM_DELAY,
	LOOP_BODY,
	PARALLEL_WAIT,
	BARRIER_WAIT,
	CRITICAL_WAIT,
	ORDERED_WAIT,
	OMP_LOCK_WAIT,
	TASK_WAIT,
	MPI_TIME,
	MPI_BARRIER,
	MPI_NXN,
	MPI_REDUCE,
	MPI_BROADCAST,
	MPI_POINT,
	MPI_POLL,
	MPI_SCAN,
	MPI_DELAY,
	SERIAL,
	COLUMNS
};
static const char *const column_names[COLUMNS] = {
	"cpu",		 "own",		 "faults",	  "spin",	  "heap_time",
	"io_cpu",	 "body",	 "body_cpu",	  "team_delay",	  "loop_body",
	"parallel_wait", "barrier_wait", "critical_wait", "ordered_wait", "omp_lock_wait",
	"task_wait",	 "mpi_time",	 "mpi_barrier",	  "mpi_nxn",	  "mpi_reduce",
	"mpi_broadcast", "mpi_point",	 "mpi_poll",	  "mpi_scan",	  "mpi_delay",
	"serial"
};

/* What else the time of an activity counts as. */
static const uint8_t column_of_activity[SN_ACTIVITIES] = {
	[SN_ACTIVITY_OMP_BARRIER] = BARRIER_WAIT,
	[SN_ACTIVITY_OMP_CRITICAL] = CRITICAL_WAIT,
	[SN_ACTIVITY_OMP_ORDERED] = ORDERED_WAIT,
	[SN_ACTIVITY_OMP_LOCK] = OMP_LOCK_WAIT,
	[SN_ACTIVITY_OMP_TASK] = TASK_WAIT,
	[SN_ACTIVITY_MPI_BARRIER] = MPI_BARRIER,
	[SN_ACTIVITY_MPI_NXN] = MPI_NXN,
	[SN_ACTIVITY_MPI_REDUCE] = MPI_REDUCE,
	[SN_ACTIVITY_MPI_BROADCAST] = MPI_BROADCAST,
	[SN_ACTIVITY_MPI_POINT] = MPI_POINT,
	[SN_ACTIVITY_MPI_POLL] = MPI_POLL,
	[SN_ACTIVITY_MPI_SCAN] = MPI_SCAN,
};

struct sampling {
	struct sn_recorded *r;
	uint32_t columns[COLUMNS], source;
	/* by region: parallel regions that it starts, and what their bodies took */
	SN_VEC(struct sn_region_edge) started;
	double *own_relative; /* by region: half width of the 95 % interval over the share */
	uint64_t *own_samples, *own_ns;
	uint8_t *shared_out; /* by region, of loops: 0, not asked yet */
};
enum { NOT_SHARED = 1, SHARED };

static bool is_of_openmp(uint8_t activity)
{
	return activity >= SN_ACTIVITY_OMP_BARRIER && activity <= SN_ACTIVITY_OMP_IDLE;
}

static bool is_of_mpi(uint8_t activity)
{
	return activity >= SN_ACTIVITY_MPI_BARRIER;
}

/* A time, with what is known of how sure it is: observations, or half the width of its interval. */
struct told {
	double seconds, samples, error_s; /* NaN: none */
};

static void told_add(struct sampling *s, enum column column, uint32_t region, uint32_t thread,
		     struct told told)
{
	sn_recorded_add(s->r, s->columns[column], s->source, region, thread, told.seconds,
			told.samples, told.error_s);
}

/* Adds to all regions of a stack, and once to all of them together. */
static void path_add(struct sampling *s, enum column column, uint32_t stack, uint32_t thread,
		     struct told told)
{
	const struct sn_stack_facts *facts = &s->r->stacks[stack];

	told_add(s, column, SN_ALL, thread, told);
	for (uint32_t i = 0; i < facts->count; i++)
		told_add(s, column, s->r->stack_regions.items[facts->first + i], thread, told);
}

/* ---- the parallel regions that a function starts ---- */

/* The region outside the innermost parallel one, on the stack; SN_ALL: none. */
static uint32_t starter_of(const struct sn_recorded *r, const struct sn_stack_facts *facts)
{
	for (uint32_t i = 1; i < facts->count; i++)
		if (r->stack_regions.items[facts->first + i] == facts->parallel)
			return r->stack_regions.items[facts->first + i - 1];
	return SN_ALL;
}

static void started_find(struct sampling *s)
{
	for (size_t i = 0; i < s->r->cells.count; i++) {
		const struct sn_recorded_cell *cell = &s->r->cells.items[i];
		const struct sn_stack_facts *facts = &s->r->stacks[cell->stack];
		uint32_t starter = facts->parallel == SN_ALL ? SN_ALL : starter_of(s->r, facts);
		size_t at = 0;

		if (starter == SN_ALL)
			continue;
		while (at < s->started.count && (s->started.items[at].from != starter ||
						 s->started.items[at].to != facts->parallel))
			at++;
		if (at == s->started.count)
			sn_vec_push(&s->started,
				    (struct sn_region_edge){ starter, facts->parallel, 0 });
		s->started.items[at].ns += cell->cpu_ns;
	}
}

/* Waiting at the end of a parallel region stands in its starter: it is that of the regions that
 * the starter starts, by what their bodies took. */
static void join_add(struct sampling *s, uint32_t stack, uint32_t thread, struct told told)
{
	uint32_t starter = s->r->stacks[stack].leaf;
	double all_ns = 0;

	for (size_t i = 0; i < s->started.count; i++)
		if (s->started.items[i].from == starter)
			all_ns += (double)s->started.items[i].ns;
	for (size_t i = 0; i < s->started.count && all_ns > 0; i++) {
		double part = (double)s->started.items[i].ns / all_ns;

		if (s->started.items[i].from == starter)
			told_add(s, PARALLEL_WAIT, s->started.items[i].to, thread,
				 (struct told){ part * told.seconds, part * told.samples,
						part * told.error_s });
	}
}

/* ---- what a stack is ---- */

static void openmp_add(struct sampling *s, uint32_t stack, uint32_t thread, struct told told)
{
	const struct sn_stack_facts *facts = &s->r->stacks[stack];

	if (facts->activity == SN_ACTIVITY_OMP_IDLE)
		return; /* between parallel regions: what the others do then counts */
	path_add(s, PARALLEL_WAIT, stack, thread, told);
	if (column_of_activity[facts->activity])
		path_add(s, column_of_activity[facts->activity], stack, thread, told);
	if (facts->parallel == SN_ALL)
		join_add(s, stack, thread, told);
}

/* What waits in a runtime, whether it polls or sleeps: waits.c adds what sleeps. */
static void runtime_add(struct sampling *s, uint32_t stack, uint32_t thread, struct told told)
{
	uint8_t activity = s->r->stacks[stack].activity;

	if (is_of_openmp(activity))
		openmp_add(s, stack, thread, told);
	if (!is_of_mpi(activity))
		return;
	path_add(s, MPI_TIME, stack, thread, told);
	if (column_of_activity[activity])
		path_add(s, column_of_activity[activity], stack, thread, told);
}

static bool is_allocating(const struct sn_program *program, uint32_t stack)
{
	static const char *const names[] = {
		"malloc",  "calloc",  "realloc",      "free",
		"_int_ma", "_int_fr", "operator new", "operator delete"
	};
	const struct sn_program_function *leaf =
		&program->functions.items[sn_program_leaf(program, stack)->function];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(leaf->name, names[i]))
			return true;
	return false;
}

static bool is_first_thread(const struct sn_recorded *r, uint32_t thread)
{
	const struct sn_member *member =
		&r->tables->members[SN_KEY_THREAD].items[r->thread_members[thread]];

	return r->tables->members[SN_KEY_PROCESS].items[member->parent].first_thread ==
	       r->thread_members[thread];
}

/* As if each observation were a coin toss. Where there was none, what a thread spent is known, and not where. */
static double toss_s(double seconds, double samples)
{
	return samples > 0 ? 1.96 * seconds / sqrt(samples) : seconds;
}

static void own_add(struct sampling *s, const struct sn_recorded_cell *cell, double seconds,
		    double samples)
{
	uint32_t leaf = s->r->stacks[cell->stack].leaf;
	double relative = s->own_relative[leaf], error = toss_s(seconds, samples);

	if (!isnan(relative) && samples > 0 && s->own_samples[leaf])
		/* so that the errors of all cells add up, squared, to the region's */
		error = relative * seconds * sqrt((double)s->own_samples[leaf] / samples);
	sn_recorded_add(s->r, s->columns[OWN], s->source, leaf, cell->thread, seconds, samples,
			error);
}

/* Whether the iterations of a loop are divided among a team: asked once. */
static bool is_shared_out(struct sampling *s, uint32_t region)
{
	const struct sn_recorded *r = s->r;
	const struct sn_program_loop *loop =
		r->region_loops[region] == SN_NONE
			? NULL
			: &r->profile->program->loops.items[r->region_loops[region]];
	struct sn_structure *structure =
		loop && r->structures ? sn_structures_of(r->structures, loop->module) : NULL;

	if (!s->shared_out[region])
		s->shared_out[region] =
			!structure || sn_shares_out_loops(structure, loop->code->function)
				? SHARED
				: NOT_SHARED;
	return s->shared_out[region] == SHARED;
}

/* What a team shares out: the outermost loop of the parallel region's own code. SN_ALL: none; a loop that each thread runs
 * whole is none. */
static uint32_t shared_loop(struct sampling *s, const struct sn_stack_facts *facts)
{
	const struct sn_recorded *r = s->r;
	const sn_member_vec *regions = &r->tables->members[SN_KEY_REGION];
	bool is_inside = false;

	for (uint32_t i = 0; i < facts->count; i++) {
		uint32_t region = r->stack_regions.items[facts->first + i];

		if (is_inside && !strcmp(regions->items[region].kind, "loop") &&
		    regions->items[region].parent == facts->parallel)
			return is_shared_out(s, region) ? region : SN_ALL;
		is_inside |= region == facts->parallel;
	}
	return SN_ALL;
}

static void body_add(struct sampling *s, const struct sn_recorded_cell *cell, double seconds,
		     double samples)
{
	uint32_t loop = shared_loop(s, &s->r->stacks[cell->stack]);

	double error = toss_s(seconds, samples);

	path_add(s, BODY, cell->stack, cell->thread, (struct told){ seconds, samples, error });
	path_add(s, BODY_CPU, cell->stack, cell->thread, (struct told){ seconds, samples, error });
	if (loop != SN_ALL)
		sn_recorded_add(s->r, s->columns[LOOP_BODY], s->source, loop, cell->thread, seconds,
				samples, error);
	sn_recorded_add(s->r, s->columns[LOOP_BODY], s->source, s->r->stacks[cell->stack].parallel,
			cell->thread, seconds, samples, error);
}

/* Of some of what is told: as many of the observations. */
static struct told share_of(struct told told, double share)
{
	double seconds = told.seconds * share, samples = told.samples * share;

	return (struct told){ seconds, samples, toss_s(seconds, samples) };
}

static void cell_add(struct sampling *s, const struct sn_recorded_cell *cell)
{
	struct sn_recorded *r = s->r;
	const struct sn_program *program = r->profile->program;
	const struct sn_stack_facts *facts = &r->stacks[cell->stack];
	double seconds = (double)cell->cpu_ns / 1e9, samples = (double)cell->samples;
	const struct told told = { seconds, samples, toss_s(seconds, samples) };
	uint32_t process =
		r->tables->members[SN_KEY_THREAD].items[r->thread_members[cell->thread]].parent;

	path_add(s, CPU, cell->stack, cell->thread, told);
	if (facts->activity == SN_ACTIVITY_WORK)
		own_add(s, cell, seconds, samples);
	if (facts->activity == SN_ACTIVITY_SPIN)
		path_add(s, SPIN, cell->stack, cell->thread, told);
	if (facts->parallel != SN_ALL && !is_of_openmp(facts->activity))
		body_add(s, cell, seconds, samples);
	if (facts->activity == SN_ACTIVITY_WORK && facts->parallel == SN_ALL &&
	    r->teams[process] > 1 && is_first_thread(r, cell->thread))
		path_add(s, SERIAL, cell->stack, cell->thread, told);
	if (cell->system_ns &&
	    sn_system_kind_of(program, r->structures, cell->stack) == SN_SYSTEM_FAULT)
		path_add(s, FAULTS, cell->stack, cell->thread,
			 share_of(told, (double)cell->system_ns / (double)cell->cpu_ns));
	if (cell->stack < program->stack_count &&
	    program->classes[cell->stack].user == SN_CATEGORY_MEMORY &&
	    is_allocating(program, cell->stack))
		path_add(s, HEAP_TIME, cell->stack, cell->thread, told);
	if (cell->stack < program->stack_count &&
	    program->classes[cell->stack].user == SN_CATEGORY_IO)
		path_add(s, IO_CPU, cell->stack, cell->thread, told);
	runtime_add(s, cell->stack, cell->thread, told);
}

/* ---- waits in runtimes ---- */

static void waits_add(struct sampling *s)
{
	const struct sn_profile *profile = s->r->profile;
	const struct sn_experiment *e = profile->experiment;
	uint32_t stacks = profile->program->stack_count;
	double *errors = sn_wait_errors(s->r);

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint64_t ns = sn_profile_wait_ns(profile, wait);

		if (ns && wait->stack < stacks && s->r->thread_members[wait->thread] != SN_ALL)
			runtime_add(s, wait->stack, wait->thread,
				    (struct told){ (double)ns / 1e9, NAN, errors[i] });
	}
	free(errors);
}

/* Who polls in MPI waits there also while its poll has no CPU. Of who has none in the work of a team the others wait. */
static void delays_add(struct sampling *s)
{
	double *delays_s = sn_delays_of_cells(s->r);

	for (size_t i = 0; i < s->r->cells.count; i++) {
		const struct sn_recorded_cell *cell = &s->r->cells.items[i];
		const struct sn_stack_facts *facts = &s->r->stacks[cell->stack];
		const struct told told = { delays_s[i], (double)cell->samples, NAN };

		if (!(delays_s[i] > 0))
			continue;
		if (is_of_mpi(facts->activity) && s->r->has_ranks)
			path_add(s, MPI_DELAY, cell->stack, cell->thread, told);
		if (facts->parallel != SN_ALL && !is_of_openmp(facts->activity))
			path_add(s, TEAM_DELAY, cell->stack, cell->thread, told);
	}
	free(delays_s);
}

/* ---- what a team waits while one has no CPU ---- */

struct doubts {
	size_t regions, processes;
	double *late_s;	    /* by process and region, all threads */
	double *waiting;    /* by the same: threads that wait */
	struct sn_map late; /* thread and region -> what it is late there: index of the value */
};

static size_t place_of(const struct doubts *d, const struct sn_value *value)
{
	uint32_t region = value->keys[SN_KEY_REGION];

	return value->keys[SN_KEY_PROCESS] * (d->regions + 1) +
	       (region == SN_ALL ? d->regions : region);
}

static uint64_t thread_and_region(const struct sn_value *value)
{
	return (uint64_t)value->keys[SN_KEY_THREAD] << 32 | value->keys[SN_KEY_REGION];
}

static bool is_of_thread(const struct sn_value *value, uint32_t column)
{
	return value->column == column && value->keys[SN_KEY_THREAD] != SN_ALL &&
	       value->keys[SN_KEY_PROCESS] != SN_ALL;
}

/* It may be that others waited all the time that a thread lacked, or none of it: as wide is the interval. The errors of threads,
 * which are added up as if they were each by chance, come to that. */
static void waits_doubt(struct sampling *s, struct doubts *d)
{
	const uint32_t column = s->columns[PARALLEL_WAIT];
	struct sn_tables *t = s->r->tables;

	for (size_t i = 0; i < t->values.count; i++)
		if (is_of_thread(&t->values.items[i], column))
			d->waiting[place_of(d, &t->values.items[i])]++;
	for (size_t i = 0; i < t->values.count; i++) {
		struct sn_value *value = &t->values.items[i];
		const uint64_t *own;
		double late_s;

		if (!is_of_thread(value, column) || value->source != s->source)
			continue;
		own = sn_map_get(&d->late, thread_and_region(value));
		late_s = d->late_s[place_of(d, value)] - (own ? t->values.items[*own].value : 0);
		late_s = fmin(value->value, fmax(0, late_s));
		value->error = hypot(isnan(value->error) ? 0 : value->error,
				     late_s * sqrt(d->waiting[place_of(d, value)]));
	}
}

static void doubts_add(struct sampling *s)
{
	const struct sn_tables *t = s->r->tables;
	struct doubts d = { .regions = t->members[SN_KEY_REGION].count,
			    .processes = t->members[SN_KEY_PROCESS].count };

	d.late_s = sn_alloc_zeroed((d.regions + 1) * d.processes + 1, sizeof(*d.late_s));
	d.waiting = sn_alloc_zeroed((d.regions + 1) * d.processes + 1, sizeof(*d.waiting));
	for (size_t i = 0; i < t->values.count; i++) {
		const struct sn_value *value = &t->values.items[i];

		if (!is_of_thread(value, s->columns[TEAM_DELAY]))
			continue;
		d.late_s[place_of(&d, value)] += value->value;
		*sn_map_put(&d.late, thread_and_region(value), NULL) = i;
	}
	waits_doubt(s, &d);
	sn_map_free(&d.late);
	free(d.late_s);
	free(d.waiting);
}

/* ---- tables ---- */

/* Half the width of the calibrated interval over the value, of a region that is one function or the only loop of
 * its source; NaN: another one. */
static double own_relative(const struct sampling *s, size_t region)
{
	const struct sn_recorded *r = s->r;
	double total = (double)r->profile->total.cpu_ns, share;
	const struct sn_metrics *m;

	if (r->region_loops[region] != SN_NONE)
		m = &r->profile->loops[r->region_loops[region]];
	else if (r->region_functions[region] != SN_NONE)
		m = &r->profile->functions[r->region_functions[region]];
	else
		return NAN;
	/* what else ends in the region (the vdso in its caller) has another interval */
	if (fabs((double)m->exclusive.cpu_ns - (double)s->own_ns[region]) >
	    0.02 * (double)s->own_ns[region])
		return NAN;
	share = total > 0 ? (double)m->exclusive.cpu_ns / total : 0;
	return share > 0 ? (m->exclusive_share.high - m->exclusive_share.low) / 2 / share : NAN;
}

static void intervals_find(struct sampling *s)
{
	const struct sn_recorded *r = s->r;
	size_t regions = r->tables->members[SN_KEY_REGION].count;

	s->own_relative = sn_alloc_zeroed(regions, sizeof(*s->own_relative));
	s->own_samples = sn_alloc_zeroed(regions, sizeof(*s->own_samples));
	s->own_ns = sn_alloc_zeroed(regions, sizeof(*s->own_ns));
	for (size_t i = 0; i < r->cells.count; i++) {
		s->own_samples[r->stacks[r->cells.items[i].stack].leaf] +=
			r->cells.items[i].samples;
		s->own_ns[r->stacks[r->cells.items[i].stack].leaf] += r->cells.items[i].cpu_ns;
	}
	for (size_t g = 0; g < regions; g++)
		s->own_relative[g] = own_relative(s, g);
}

/* The time of a region is the CPU time of its busiest thread. */
static void times_add(struct sampling *s)
{
	struct sn_tables *t = s->r->tables;
	size_t regions = t->members[SN_KEY_REGION].count, values = t->values.count;
	size_t processes = t->members[SN_KEY_PROCESS].count;
	double *most = sn_alloc_zeroed(regions * processes + 1, sizeof(*most));
	struct sn_value value = { .column = sn_tables_column(t, "time", NULL),
				  .source = s->source,
				  .samples = NAN,
				  .error = NAN };

	for (size_t i = 0; i < values; i++) {
		const struct sn_value *v = &t->values.items[i];
		double *place;

		if (v->column != s->columns[CPU] || v->keys[SN_KEY_REGION] == SN_ALL)
			continue;
		place = &most[v->keys[SN_KEY_PROCESS] * regions + v->keys[SN_KEY_REGION]];
		*place = fmax(*place, v->value);
	}
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	for (uint32_t p = 0; p < processes; p++)
		for (uint32_t g = 0; g < regions; g++) {
			value.keys[SN_KEY_PROCESS] = p;
			value.keys[SN_KEY_REGION] = g;
			value.value = most[p * regions + g];
			if (value.value > 0)
				sn_tables_add(t, &value);
		}
	free(most);
}

static void counts_add(struct sampling *s)
{
	struct sn_tables *t = s->r->tables;
	uint32_t team = sn_tables_column(t, "team", NULL),
		 ranks = sn_tables_column(t, "ranks", NULL);
	size_t processes = t->members[SN_KEY_PROCESS].count;
	struct sn_value value = { .source = s->source, .samples = NAN, .error = NAN };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	for (uint32_t p = 0; p < processes; p++) {
		value.keys[SN_KEY_PROCESS] = p;
		value.column = team;
		value.value = s->r->teams[p] ? s->r->teams[p] : 1;
		sn_tables_add(t, &value);
		value.column =
			s->columns[MPI_SCAN]; /* it is looked for, also where there is none */
		value.value = 0;
		sn_tables_add(t, &value);
		value.column = ranks;
		value.value = s->r->has_ranks ? (double)processes : 1;
		sn_tables_add(t, &value);
	}
}

static void samples_collect(struct sn_recorded *r)
{
	struct sampling s = { .r = r, .source = sn_tables_source(r->tables, "samples") };

	for (int c = 0; c < COLUMNS; c++) {
		s.columns[c] = sn_tables_column(r->tables, column_names[c], NULL);
		sn_tables_complete(r->tables, s.columns[c]);
	}
	intervals_find(&s);
	s.shared_out = sn_alloc_zeroed(r->tables->members[SN_KEY_REGION].count + 1, 1);
	started_find(&s);
	for (size_t i = 0; i < r->cells.count; i++)
		cell_add(&s, &r->cells.items[i]);
	waits_add(&s);
	delays_add(&s);
	doubts_add(&s);
	times_add(&s);
	counts_add(&s);
	sn_vec_free(&s.started);
	free(s.own_relative);
	free(s.shared_out);
	free(s.own_samples);
	free(s.own_ns);
}

const struct sn_source sn_source_samples = {
	.name = "samples",
	.measures =
		"CPU time by region and thread; time in OpenMP and MPI by the calls on the stacks",
	.needs = "a run that was recorded with samples",
	.costs = "what recording costs",
	.collect = samples_collect,
};
