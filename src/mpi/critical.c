/*
 * Walks back from the rank that ended last. Where a call waited for another rank, the path goes on there, at
 * the moment when that rank did what was waited for; what the waiting rank did before is not on the path.
 */
#include "mpi/critical.h"

#include <stdlib.h>

#include "base/alloc.h"

struct walker {
	const struct sn_experiment *experiment;
	const struct sn_mpi *mpi;
	struct sn_critical *out;
	uint32_t *first; /* by process: its events in the list; [count]: the end */
	uint32_t *order; /* events by process, then end */
};

const char *sn_critical_kind_name(enum sn_critical_kind kind)
{
	static const char *const names[] = {
		[SN_CRITICAL_COMPUTE] = "compute",
		[SN_CRITICAL_MPI] = "mpi",
		[SN_CRITICAL_START] = "start",
		[SN_CRITICAL_END] = "end",
	};

	return names[kind];
}

static int end_compare(const void *a, const void *b, void *context)
{
	const struct sn_mpi_event *events = context;
	const struct sn_mpi_event *x = &events[*(const uint32_t *)a];
	const struct sn_mpi_event *y = &events[*(const uint32_t *)b];

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->t1_ns != y->t1_ns)
		return x->t1_ns < y->t1_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void piece_add(struct walker *w, int64_t t0, int64_t t1, struct sn_critical_piece piece)
{
	if (t1 <= t0)
		return;
	piece.t0_ns = t0;
	piece.t1_ns = t1;
	sn_vec_push(&w->out->pieces, piece);
}

/* What the rank did in [t0, t1): its calls that ended before `from` in the list, and what lies between. Of
 * several threads' calls at a time the one that ended last counts. */
static void stretch_add(struct walker *w, uint32_t process, int64_t t0, int64_t t1, uint32_t from)
{
	const struct sn_mpi_event *next = NULL;
	uint32_t thread = 0;

	for (uint32_t i = from; i-- > w->first[process] && t1 > t0;) {
		const struct sn_mpi_event *event = &w->mpi->events.items[w->order[i]];
		int64_t end = event->t1_ns < t1 ? event->t1_ns : t1;
		int64_t begin = event->t0_ns > t0 ? event->t0_ns : t0;
		struct sn_critical_piece piece = { .process = process, .thread = event->thread };

		if (end <= t0)
			break;
		piece.kind = SN_CRITICAL_COMPUTE;
		piece.event = next ? (uint32_t)(next - w->mpi->events.items) : SN_NONE;
		piece_add(w, end, t1, piece);
		piece.kind = SN_CRITICAL_MPI;
		piece.event = w->order[i];
		piece_add(w, begin, end, piece);
		if (begin < t1)
			t1 = begin;
		next = event;
		thread = event->thread;
	}
	piece_add(w, t0, t1,
		  (struct sn_critical_piece){
			  .kind = SN_CRITICAL_COMPUTE,
			  .process = process,
			  .thread = thread,
			  .event = next ? (uint32_t)(next - w->mpi->events.items) : SN_NONE });
}

/* How many of the process's events began before t: those after them in the list are of no interest. */
static uint32_t begun_before(const struct walker *w, uint32_t process, int64_t t)
{
	uint32_t low = w->first[process], high = w->first[process + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->mpi->events.items[w->order[middle]].t0_ns < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last call before t whose waiting was over before t; SN_NONE: there is none. */
static uint32_t last_wait(const struct walker *w, uint32_t process, int64_t t, uint32_t from)
{
	for (uint32_t i = from; i-- > w->first[process];) {
		const struct sn_mpi_event *event = &w->mpi->events.items[w->order[i]];

		if (event->wait_ns > 0 && event->waited_for != SN_NONE &&
		    event->t0_ns + event->wait_ns < t)
			return w->order[i];
	}
	return SN_NONE;
}

static int64_t walk_from(struct walker *w, uint32_t *process, int64_t t)
{
	for (;;) {
		uint32_t from = begun_before(w, *process, t);
		uint32_t wait = last_wait(w, *process, t, from);
		const struct sn_process *p = &w->experiment->processes.items[*process];
		int64_t released;

		if (wait == SN_NONE) {
			int64_t start = p->start_ns > 0 ? p->start_ns : 0;

			if (start > t)
				start = t;
			stretch_add(w, *process, start, t, from);
			return start;
		}
		released = w->mpi->events.items[wait].t0_ns + w->mpi->events.items[wait].wait_ns;
		if (released < 0)
			released = 0;
		stretch_add(w, *process, released, t, from);
		*process = w->mpi->events.items[w->mpi->events.items[wait].waited_for].process;
		t = released;
	}
}

/* The rank that ended last; SN_NONE: there is none. */
static uint32_t last_rank(const struct walker *w)
{
	const struct sn_process *processes = w->experiment->processes.items;
	uint32_t last = SN_NONE;

	for (uint32_t p = 0; p < w->experiment->processes.count; p++)
		if (w->first[p] < w->first[p + 1] &&
		    (last == SN_NONE || processes[p].end_ns > processes[last].end_ns))
			last = p;
	return last;
}

static void walker_open(struct walker *w)
{
	size_t count = w->mpi->events.count, processes = w->experiment->processes.count;
	uint32_t at = 0;

	w->order = sn_alloc_zeroed(count + 1, sizeof(*w->order));
	w->first = sn_alloc_zeroed(processes + 1, sizeof(*w->first));
	for (uint32_t i = 0; i < count; i++)
		w->order[i] = i;
	qsort_r(w->order, count, sizeof(*w->order), end_compare, w->mpi->events.items);
	for (uint32_t p = 0; p <= processes; p++) {
		while (at < count && w->mpi->events.items[w->order[at]].process < p)
			at++;
		w->first[p] = at;
	}
}

struct sn_critical sn_critical_of(const struct sn_experiment *experiment, const struct sn_mpi *mpi)
{
	struct sn_critical critical = { 0 };
	struct walker w = { .experiment = experiment, .mpi = mpi, .out = &critical };
	uint32_t process;

	walker_open(&w);
	process = last_rank(&w);
	if (process != SN_NONE) {
		int64_t end = experiment->processes.items[process].end_ns;

		if (end > experiment->elapsed_ns)
			end = experiment->elapsed_ns;
		piece_add(&w, end, experiment->elapsed_ns,
			  (struct sn_critical_piece){
				  .kind = SN_CRITICAL_END, .process = process, .event = SN_NONE });
		int64_t start = walk_from(&w, &process, end);
		piece_add(&w, 0, start,
			  (struct sn_critical_piece){ .kind = SN_CRITICAL_START,
						      .process = process,
						      .event = SN_NONE });
	}
	free(w.order);
	free(w.first);
	return critical;
}
