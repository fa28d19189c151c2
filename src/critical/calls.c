/* Lanes, calls and waits of one form, of MPI, of locks and their kin, and of waiting for child processes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "critical/parts.h"
#include "experiment/moments.h"
#include "mpi/sites.h"

struct gatherer {
	struct sn_critical *critical;
	struct sn_critical_graph *graph;
	const struct sn_experiment *e;
	const struct sn_mpi *mpi;
	uint32_t *first_thread; /* by process; SN_NONE: it has none */
	uint32_t meetings;
};

/* ---- lanes ---- */

static void first_threads_find(struct gatherer *g)
{
	g->first_thread = sn_alloc_zeroed(g->e->processes.count + 1, sizeof(uint32_t));
	for (size_t p = 0; p < g->e->processes.count; p++)
		g->first_thread[p] = SN_NONE;
	for (uint32_t t = (uint32_t)g->e->threads.count; t-- > 0;)
		g->first_thread[g->e->threads.items[t].process] = t;
}

/* A thread of the experiment, by its number in its process; SN_NONE: it is none that was measured. */
static uint32_t thread_of(const struct gatherer *g, uint32_t process, uint32_t number)
{
	uint64_t thread = (uint64_t)g->first_thread[process] + number;

	return thread < g->e->threads.count && g->e->threads.items[thread].process == process
		       ? (uint32_t)thread
		       : SN_NONE;
}

static uint32_t lane_of(const struct gatherer *g, uint32_t process, uint32_t thread)
{
	return g->critical->is_over_threads ? thread : process;
}

/* The process that this one came from: its parent, or the image before an exec. */
static uint32_t parent_of(const struct gatherer *g, uint32_t process)
{
	const struct sn_process *of = &g->e->processes.items[process];
	uint32_t found = SN_NONE;

	for (uint32_t p = 0; p < g->e->processes.count; p++) {
		const struct sn_process *other = &g->e->processes.items[p];
		bool is_before = other->start_ns < of->start_ns ||
				 (other->start_ns == of->start_ns && p < process);
		bool is_it = of->follows_exec
				     ? other->pid == of->pid && other->sequence < of->sequence
				     : other->pid == of->parent_pid;

		if (p != process && is_it && is_before && other->host && of->host &&
		    strcmp(other->host, of->host) == 0 &&
		    (found == SN_NONE || other->start_ns > g->e->processes.items[found].start_ns))
			found = p;
	}
	return found == SN_NONE ? SN_NONE : g->first_thread[found];
}

static void thread_lanes_make(struct gatherer *g)
{
	for (uint32_t t = 0; t < g->e->threads.count; t++) {
		const struct sn_thread *thread = &g->e->threads.items[t];
		const struct sn_process *process = &g->e->processes.items[thread->process];
		struct sn_critical_lane lane = { .process = thread->process,
						 .thread = t,
						 .start_ns = thread->start_ns,
						 .end_ns = thread->end_ns };
		uint32_t first = g->first_thread[thread->process];

		if (t == first) {
			lane.maker = parent_of(g, thread->process);
			lane.start_ns = process->start_ns;
		} else {
			lane.maker = thread->creator && thread->creator - 1 < t
					     ? thread->creator - 1
					     : first;
		}
		sn_vec_push(&g->graph->lanes, lane);
	}
}

static void process_lanes_make(struct gatherer *g)
{
	for (uint32_t p = 0; p < g->e->processes.count; p++)
		sn_vec_push(&g->graph->lanes, (struct sn_critical_lane){
						      .process = p,
						      .thread = g->first_thread[p],
						      .start_ns = g->e->processes.items[p].start_ns,
						      .end_ns = g->e->processes.items[p].end_ns,
						      .maker = SN_NONE });
}

/* ---- calls ---- */

static void call_add(struct gatherer *g, struct sn_critical_call call, bool is_open)
{
	if (call.lane >= g->graph->lanes.count)
		return;
	g->graph->lanes.items[call.lane].is_open |= is_open;
	call.never_ended = is_open;
	if (call.t1_ns > call.t0_ns)
		sn_vec_push(&g->critical->calls, call);
}

static void wait_add(struct gatherer *g, struct sn_critical_wait wait)
{
	size_t lanes = g->graph->lanes.count;

	if (wait.lane < lanes && wait.by < lanes && wait.by != wait.lane &&
	    wait.released_ns > wait.t0_ns)
		sn_vec_push(&g->graph->waits, wait);
}

static void member_add(struct gatherer *g, struct sn_critical_member member)
{
	if (member.lane < g->graph->lanes.count)
		sn_vec_push(&g->graph->members, member);
}

/* What the lane needed as it came was given then, or before. */
static void bound_add(struct gatherer *g, struct sn_critical_bound bound)
{
	size_t lanes = g->graph->lanes.count;

	if (bound.given_ns > bound.came_ns)
		bound.given_ns = bound.came_ns;
	if (bound.lane < lanes && bound.by < lanes && bound.by != bound.lane)
		sn_vec_push(&g->graph->bounds, bound);
}

/* A thread that blocked for most of its life, and did not sleep, ended when somebody told it to, as helpers of a library
 * do: its end says nothing of when it could have ended. */
static bool is_mostly_blocked(const struct sn_experiment *e, uint32_t thread)
{
	const struct sn_thread *of = &e->threads.items[thread];
	uint64_t blocked_ns = 0;
	size_t i = sn_critical_first_of(e->waits.items, e->waits.count, sizeof(struct sn_wait),
					offsetof(struct sn_wait, thread), thread);

	for (; i < e->waits.count && e->waits.items[i].thread == thread; i++)
		if (e->waits.items[i].kind != SN_WAIT_SLEEP)
			blocked_ns += e->waits.items[i].duration_ns;
	return 2 * blocked_ns > (uint64_t)(of->end_ns - of->start_ns);
}

static uint32_t lane_of_event(const struct gatherer *g, const struct sn_mpi_event *event)
{
	return lane_of(g, event->process, thread_of(g, event->process, event->thread));
}

static void mpi_calls_add(struct gatherer *g)
{
	for (size_t i = 0; i < g->mpi->events.count; i++) {
		const struct sn_mpi_event *event = &g->mpi->events.items[i];
		uint32_t thread = thread_of(g, event->process, event->thread);
		uint32_t lane = lane_of(g, event->process, thread);

		call_add(g,
			 (struct sn_critical_call){
				 .t0_ns = event->t0_ns,
				 .t1_ns = event->t1_ns,
				 .lane = lane,
				 .thread = thread,
				 .site = sn_critical_site(g->critical, event->stack),
				 .kind = SN_CRITICAL_MPI },
			 event->is_open);
		if (event->wait_ns > 0 && event->waited_for != SN_NONE) {
			const struct sn_mpi_event *other = &g->mpi->events.items[event->waited_for];

			wait_add(g, (struct sn_critical_wait){ .t0_ns = event->t0_ns,
							       .released_ns = event->t0_ns +
									      event->wait_ns,
							       .lane = lane,
							       .by = lane_of_event(g, other) });
		}
	}
}

/* A call needs what began with another one: it was there, or the call waited for it, perhaps for more besides. */
static void mpi_need_add(struct gatherer *g, uint32_t call, uint32_t needed)
{
	const struct sn_mpi_event *event, *other;

	if (call == SN_NONE || needed == SN_NONE)
		return;
	event = &g->mpi->events.items[call];
	other = &g->mpi->events.items[needed];
	if (other->t0_ns <= event->t0_ns)
		bound_add(g, (struct sn_critical_bound){ .came_ns = event->t0_ns,
							 .given_ns = other->t0_ns,
							 .lane = lane_of_event(g, event),
							 .by = lane_of_event(g, other) });
	else if (event->waited_for != needed && other->t0_ns < event->t1_ns)
		wait_add(g, (struct sn_critical_wait){ .t0_ns = event->t0_ns,
						       .released_ns = other->t0_ns,
						       .lane = lane_of_event(g, event),
						       .by = lane_of_event(g, other) });
}

static void mpi_messages_add(struct gatherer *g)
{
	for (size_t i = 0; i < g->mpi->messages.count; i++)
		mpi_need_add(g, g->mpi->messages.items[i].received, g->mpi->messages.items[i].sent);
	for (size_t i = 0; i < g->mpi->probes.count; i++)
		mpi_need_add(g, g->mpi->probes.items[i].event, g->mpi->probes.items[i].sent);
}

/* Who ended MPI in one world waited for each other. */
static void mpi_endings_add(struct gatherer *g)
{
	for (size_t i = 0; i < g->mpi->endings.count; i++) {
		const struct sn_mpi_ending *ending = &g->mpi->endings.items[i];
		const struct sn_mpi_event *event = &g->mpi->events.items[ending->event];

		if (i && g->mpi->endings.items[i - 1].world != ending->world)
			g->meetings++;
		member_add(g, (struct sn_critical_member){ .meeting = g->meetings,
							   .lane = lane_of_event(g, event),
							   .came_ns = event->t0_ns,
							   .gives = true,
							   .takes = true });
	}
	g->meetings += g->mpi->endings.count > 0;
}

static void mpi_meetings_add(struct gatherer *g)
{
	for (size_t o = 0; o < g->mpi->operations.count; o++) {
		const struct sn_mpi_operation *operation = &g->mpi->operations.items[o];
		enum sn_mpi_pattern pattern = sn_mpi_pattern_of(g->mpi, operation);

		if (!operation->is_whole || pattern < SN_MPI_ALL_TO_ALL ||
		    pattern > SN_MPI_ROOT_TO_ALL)
			continue;
		for (uint32_t i = 0; i < operation->part_count; i++) {
			const struct sn_mpi_part *part =
				&g->mpi->parts.items[operation->first_part + i];
			const struct sn_mpi_event *event = &g->mpi->events.items[part->entered];
			bool is_root = part->rank == operation->root;

			member_add(g, (struct sn_critical_member){
					      .meeting = g->meetings,
					      .lane = lane_of_event(g, event),
					      .came_ns = event->t0_ns,
					      .gives = pattern != SN_MPI_ROOT_TO_ALL || is_root,
					      /* of others the wait is where they complete it */
					      .takes = part->entered == part->done &&
						       (pattern == SN_MPI_ALL_TO_ALL ||
							(pattern == SN_MPI_ROOT_TO_ALL) ==
								!is_root) });
		}
		g->meetings++;
	}
}

static void lock_calls_add(struct gatherer *g, const struct sn_locks *locks)
{
	for (size_t i = 0; i < locks->waits.count; i++) {
		const struct sn_lock_wait *wait = &locks->waits.items[i];

		call_add(g,
			 (struct sn_critical_call){ .t0_ns = wait->t0_ns,
						    .t1_ns = wait->t1_ns,
						    .lane = wait->thread,
						    .thread = wait->thread,
						    .site = wait->site,
						    .kind = SN_CRITICAL_SYNC },
			 wait->is_open);
		wait_add(g, (struct sn_critical_wait){ .t0_ns = wait->asked_ns,
						       .released_ns = wait->released_ns,
						       .lane = wait->thread,
						       .by = wait->by });
		if (wait->by != SN_NONE && wait->released_ns <= wait->asked_ns &&
		    !(wait->kind == SN_SYNC_JOIN && is_mostly_blocked(g->e, wait->by)))
			bound_add(g,
				  (struct sn_critical_bound){
					  .came_ns = wait->t0_ns,
					  .given_ns = wait->kind == SN_SYNC_JOIN
							      ? g->e->threads.items[wait->by].end_ns
							      : wait->released_ns,
					  .lane = wait->thread,
					  .by = wait->by });
		if (wait->meeting)
			member_add(g, (struct sn_critical_member){ .meeting = g->meetings +
									      wait->meeting - 1,
								   .lane = wait->thread,
								   .came_ns = wait->t0_ns,
								   .gives = true,
								   .takes = true });
	}
}

/* The child that ended last while its parent waited for children. What the launcher knows of an end may be a
 * little later than the end. */
static uint32_t child_of(const struct gatherer *g, const struct sn_wait *wait)
{
	enum { SLACK_NS = 50000000 };
	const struct sn_process *parent =
		&g->e->processes.items[g->e->threads.items[wait->thread].process];
	int64_t t1 = wait->time_ns + (int64_t)wait->duration_ns, found_ns = INT64_MIN;
	uint32_t found = SN_NONE;

	for (uint32_t p = 0; p < g->e->processes.count; p++) {
		const struct sn_process *child = &g->e->processes.items[p];
		bool is_better =
			child->end_ns <= t1
				? found_ns > t1 || child->end_ns > found_ns
				: found == SN_NONE || (found_ns > t1 && child->end_ns < found_ns);

		if (child->parent_pid == parent->pid && child->start_ns >= parent->start_ns &&
		    child->start_ns < t1 && child->end_ns > wait->time_ns &&
		    child->end_ns <= t1 + SLACK_NS && is_better) {
			found = p;
			found_ns = child->end_ns;
		}
	}
	return found;
}

static void child_calls_add(struct gatherer *g)
{
	for (size_t i = 0; i < g->e->waits.count; i++) {
		const struct sn_wait *wait = &g->e->waits.items[i];
		int64_t t1 = wait->time_ns + (int64_t)wait->duration_ns, ended_ns;
		uint32_t child;

		if (wait->kind != SN_WAIT_CHILD)
			continue;
		child = child_of(g, wait);
		call_add(g,
			 (struct sn_critical_call){
				 .t0_ns = wait->time_ns,
				 .t1_ns = t1,
				 .lane = wait->thread,
				 .thread = wait->thread,
				 .site = sn_critical_site(g->critical, wait->stack),
				 .kind = SN_CRITICAL_SYNC },
			 false);
		if (child == SN_NONE)
			continue;
		ended_ns = g->e->processes.items[child].end_ns;
		wait_add(g, (struct sn_critical_wait){ .t0_ns = wait->time_ns,
						       .released_ns = ended_ns < t1 ? ended_ns : t1,
						       .lane = wait->thread,
						       .by = g->first_thread[child] });
	}
}

/* Of the blocking calls of a thread the last one that began before this moment; SIZE_MAX: none. */
static size_t blocked_before(const struct sn_experiment *e, uint32_t thread, int64_t ns)
{
	size_t place = sn_waits_from(e, thread, ns);

	return place > 0 && e->waits.items[place - 1].thread == thread ? place - 1 : SIZE_MAX;
}

/* When who waits asked the one that ended its wait, which polled until then: as it ended its poll, or as the
 * wait began, and before it was blocked by something else. */
static int64_t asked_at(const struct gatherer *g, const struct sn_critical_wait *wait,
			const struct sn_wait *poll)
{
	int64_t ns = sn_wait_end_ns(poll) < wait->t0_ns ? sn_wait_end_ns(poll) : wait->t0_ns;
	size_t blocked = blocked_before(g->e, g->graph->lanes.items[wait->lane].thread, ns);
	const struct sn_wait *own;

	if (blocked == SIZE_MAX)
		return ns;
	own = &g->e->waits.items[blocked];
	/* who writes may do so to ask; a call that ends behind the begin of the wait is the wait itself */
	return own->kind != SN_WAIT_IO && sn_wait_end_ns(own) > ns &&
			       sn_wait_end_ns(own) <= wait->t0_ns
		       ? own->time_ns
		       : ns;
}

static int enders_compare(const void *a, const void *b)
{
	const struct sn_critical_wait *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	if (x->released_ns != y->released_ns)
		return x->released_ns < y->released_ns ? -1 : 1;
	return (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
}

/* The first wait that this lane ended at this moment or later; NULL: none. `waits`: by enders_compare. */
static const struct sn_critical_wait *next_ended(const struct sn_critical_wait *waits, size_t count,
						 uint32_t by, int64_t ns)
{
	struct sn_critical_wait key = { .t0_ns = INT64_MIN, .by = by, .released_ns = ns };
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (enders_compare(&waits[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && waits[low].by == by ? &waits[low] : NULL;
}

/*
 * A thread that polled for events and next did what another one of its process waited for had been asked to by
 * that one: as it began to wait, or before. So the poll waited for what the one that asks did until then. Else the path would end in a thread that serves.
 */
static void requests_add(struct gatherer *g)
{
	size_t count = g->graph->waits.count;
	struct sn_critical_wait *ended = sn_alloc_zeroed(count + 1, sizeof(*ended));

	for (size_t i = 0; i < count; i++)
		ended[i] = g->graph->waits.items[i];
	qsort(ended, count, sizeof(*ended), enders_compare);
	for (size_t i = 0; i < g->e->waits.count; i++) {
		const struct sn_wait *poll = &g->e->waits.items[i];
		const struct sn_critical_wait *next;

		if (poll->kind != SN_WAIT_POLL)
			continue;
		next = next_ended(ended, count, poll->thread, sn_wait_end_ns(poll));
		if (next && g->graph->lanes.items[next->lane].process ==
				    g->graph->lanes.items[next->by].process)
			wait_add(g,
				 (struct sn_critical_wait){ .t0_ns = poll->time_ns,
							    .released_ns = asked_at(g, next, poll),
							    .lane = next->by,
							    .by = next->lane });
	}
	free(ended);
}

/* ---- order ---- */

static int calls_compare(const void *a, const void *b)
{
	const struct sn_critical_call *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->t1_ns != y->t1_ns)
		return x->t1_ns < y->t1_ns ? -1 : 1;
	return (x->t0_ns < y->t0_ns) - (x->t0_ns > y->t0_ns);
}

static int waits_compare(const void *a, const void *b)
{
	const struct sn_critical_wait *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->released_ns != y->released_ns)
		return x->released_ns < y->released_ns ? -1 : 1;
	return (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
}

static int members_compare(const void *a, const void *b)
{
	const struct sn_critical_member *x = a, *y = b;

	if (x->meeting != y->meeting)
		return x->meeting < y->meeting ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

/* Of calls at one time in a lane the one that ends last counts: a call within a call is part of it. */
static void calls_flatten(struct sn_critical *critical)
{
	size_t kept = critical->calls.count;
	int64_t limit = INT64_MAX;

	for (size_t i = critical->calls.count; i-- > 0;) {
		struct sn_critical_call call = critical->calls.items[i];

		if (i + 1 == critical->calls.count ||
		    critical->calls.items[i + 1].lane != call.lane)
			limit = INT64_MAX;
		call.t1_ns = call.t1_ns < limit ? call.t1_ns : limit;
		/* what is kept lies behind what is still to be read */
		if (call.t0_ns >= call.t1_ns)
			continue;
		limit = call.t0_ns;
		critical->calls.items[--kept] = call;
	}
	for (size_t i = kept; i < critical->calls.count; i++)
		critical->calls.items[i - kept] = critical->calls.items[i];
	critical->calls.count -= kept;
}

static void order_all(struct gatherer *g)
{
	struct sn_critical *critical = g->critical;
	struct sn_critical_graph *graph = g->graph;
	uint32_t call = 0, wait = 0;

	if (critical->calls.count)
		qsort(critical->calls.items, critical->calls.count, sizeof(*critical->calls.items),
		      calls_compare);
	calls_flatten(critical);
	if (graph->waits.count)
		qsort(graph->waits.items, graph->waits.count, sizeof(*graph->waits.items),
		      waits_compare);
	if (graph->members.count)
		qsort(graph->members.items, graph->members.count, sizeof(*graph->members.items),
		      members_compare);
	for (uint32_t l = 0; l < graph->lanes.count; l++) {
		struct sn_critical_lane *lane = &graph->lanes.items[l];

		lane->first_call = call;
		while (call < critical->calls.count && critical->calls.items[call].lane == l)
			call++;
		lane->last_call = call;
		lane->first_wait = wait;
		while (wait < graph->waits.count && graph->waits.items[wait].lane == l)
			wait++;
		lane->last_wait = wait;
	}
}

/* ---- where the path ends ---- */

static int64_t last_sample_ns(const struct sn_experiment *e, uint32_t thread)
{
	size_t behind = sn_samples_from(e, thread + 1, INT64_MIN);

	return behind && e->samples.items[behind - 1].thread == thread
		       ? e->samples.items[behind - 1].time_ns
		       : INT64_MIN;
}

/* The thread that a process ended in: the first, unless that had ended before or never came back from a
 * call; then the one that was seen last. */
static uint32_t last_thread(const struct gatherer *g, uint32_t process)
{
	uint32_t first = g->first_thread[process], found = first;
	int64_t latest;

	if (first == SN_NONE)
		return SN_NONE;
	latest = g->graph->lanes.items[first].is_open ? last_sample_ns(g->e, first)
						      : g->e->threads.items[first].end_ns;
	for (uint32_t t = first;
	     t < g->e->threads.count && g->e->threads.items[t].process == process; t++) {
		int64_t seen = last_sample_ns(g->e, t);

		if (seen > latest) {
			latest = seen;
			found = t;
		}
	}
	return found;
}

/* Of all ranks, or without MPI of all processes, the one that ended last. */
static void root_find(struct gatherer *g, const struct sn_mpi *mpi)
{
	bool *is_rank = sn_alloc_zeroed(g->e->processes.count + 1, sizeof(*is_rank));
	bool has_ranks = mpi && mpi->events.count;
	uint32_t last = SN_NONE;

	for (size_t i = 0; has_ranks && i < mpi->events.count; i++)
		is_rank[mpi->events.items[i].process] = true;
	g->graph->root = SN_NONE;
	for (uint32_t p = 0; p < g->e->processes.count; p++) {
		uint32_t lane;

		if (has_ranks ? !is_rank[p] : !g->critical->is_over_threads)
			continue;
		lane = g->critical->is_over_threads ? last_thread(g, p) : p;
		if (lane == SN_NONE)
			continue;
		if (has_ranks)
			sn_vec_push(&g->graph->ends, lane);
		if (last == SN_NONE ||
		    g->e->processes.items[p].end_ns > g->e->processes.items[last].end_ns) {
			last = p;
			g->graph->root = lane;
		}
	}
	if (g->graph->root != SN_NONE) {
		int64_t end = g->e->processes.items[last].end_ns;

		g->graph->end_ns = end < 0 ? 0 : end;
		if (!has_ranks)
			sn_vec_push(&g->graph->ends, g->graph->root);
	}
	free(is_rank);
}

static void sites_find(struct gatherer *g, const struct sn_program *program)
{
	g->graph->sites = sn_alloc_zeroed(g->e->stacks.count + 1, sizeof(*g->graph->sites));
	for (uint32_t s = 0; s < g->e->stacks.count; s++) {
		struct sn_mpi_site site = sn_mpi_site_of(program, s);

		/* of a stack that no function of the program is on: the one that it ends in */
		if (site.function == SN_NONE)
			site.function = sn_program_leaf(program, s)->function;
		g->graph->sites[s] = (struct sn_site){ site.function, site.line };
	}
}

struct sn_site sn_critical_site(const struct sn_critical *critical, uint32_t stack)
{
	return stack < critical->graph->e->stacks.count ? critical->graph->sites[stack]
							: (struct sn_site){ SN_NONE, SN_NONE };
}

void sn_critical_gather(struct sn_critical *critical, const struct sn_program *program,
			const struct sn_mpi *mpi, const struct sn_locks *locks)
{
	struct gatherer g = {
		.critical = critical, .graph = critical->graph, .e = program->experiment, .mpi = mpi
	};
	bool is_over_threads = locks && locks->is_traced;

	critical->is_over_threads = is_over_threads;
	first_threads_find(&g);
	sites_find(&g, program);
	if (is_over_threads)
		thread_lanes_make(&g);
	else
		process_lanes_make(&g);
	if (mpi) {
		mpi_calls_add(&g);
		mpi_meetings_add(&g);
		mpi_endings_add(&g);
		mpi_messages_add(&g);
	}
	if (is_over_threads) {
		lock_calls_add(&g, locks);
		child_calls_add(&g);
		requests_add(&g);
	}
	order_all(&g);
	root_find(&g, mpi);
	free(g.first_thread);
}
