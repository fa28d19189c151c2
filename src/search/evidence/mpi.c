/*
 * Evidence from traces of MPI: who waited for whom, and how many messages there were, exactly. Times of a call
 * belong to the regions that lead to it, in the rank that spent them.
 */
#include "mpi/mpi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/wait.h"
#include "search/evidence/activity.h"
#include "search/evidence/delays.h"
#include "search/evidence/sources.h"

enum column {
	LATE_SENDER,
	LATE_RECEIVER,
	WAIT_BARRIER,
	WAIT_NXN,
	WAIT_REDUCE,
	WAIT_BROADCAST,
	EARLY_SCAN,
	BARRIER_COMPLETION,
	NXN_COMPLETION,
	SMALL_TIME,
	BARRIER_ELAPSED,
	NXN_ELAPSED,
	REDUCE_ELAPSED,
	BROADCAST_ELAPSED,
	WAIT_DELAY,
	/* counts from here on */
	MESSAGES,
	MESSAGE_BYTES,
	SMALL_MESSAGES,
	COLUMNS
};
static const char *const column_names[COLUMNS] = {
	"late_sender",	  "late_receiver",	"wait_barrier",	   "wait_nxn",
	"wait_reduce",	  "wait_broadcast",	"early_scan",	   "barrier_completion",
	"nxn_completion", "small_message_time", "barrier_elapsed", "nxn_elapsed",
	"reduce_elapsed", "broadcast_elapsed",	"mpi_wait_delay",  "messages",
	"message_bytes",  "small_messages"
};
static const char wait_of_peer[] = "wait_of_peer";

enum { SMALL_BYTES = 1024 };

/* What one thread has in one stack. */
struct place {
	uint32_t thread, stack;
	double values[COLUMNS];
};
/* How long one stack waited for messages of one process. */
struct peer {
	uint32_t stack, process, of;
	double seconds;
};

struct adding {
	struct sn_recorded *r;
	const struct sn_mpi *mpi;
	uint32_t *first_thread; /* by process */
	struct sn_map place_of, peer_of;
	SN_VEC(struct place) places;
	SN_VEC(struct peer) peers;
	/* by thread of the run and activity: what calls took, what samples and blocked calls saw of that, and what
	 * the thread waited in them */
	struct in_calls {
		double elapsed_s, seen_s, waited_s;
	} * in_calls;
};

/* What an agent measures are whole executions of a phase: a call counts in that which it begins in. */
static bool is_within(const struct sn_recorded *r, const struct sn_mpi_event *call)
{
	return !r->part || sn_spans_have(&r->profile->filter.spans, call->t0_ns);
}

/* Of the run; SN_NONE: nobody asks for what was called there. */
static uint32_t thread_of(const struct adding *a, uint32_t event)
{
	const struct sn_experiment *e = a->r->profile->experiment;
	const struct sn_mpi_event *call = &a->mpi->events.items[event];
	uint64_t thread = (uint64_t)a->first_thread[call->process] + call->thread;

	if (call->stack >= a->r->profile->program->stack_count || thread >= e->threads.count ||
	    e->threads.items[thread].process != call->process || !is_within(a->r, call) ||
	    a->r->thread_members[thread] == SN_ALL)
		return SN_NONE;
	return (uint32_t)thread;
}

/* NULL: nobody asks for what was called there. */
static double *values_of(struct adding *a, uint32_t event)
{
	uint32_t thread = thread_of(a, event), stack = a->mpi->events.items[event].stack;
	uint64_t *at;

	if (thread == SN_NONE)
		return NULL;
	at = sn_map_put(&a->place_of, (uint64_t)thread << 32 | stack, NULL);
	if (!*at) {
		sn_vec_push(&a->places, (struct place){ .thread = thread, .stack = stack });
		*at = a->places.count;
	}
	return a->places.items[*at - 1].values;
}

static void add(struct adding *a, uint32_t event, enum column column, double value)
{
	double *values = values_of(a, event);

	if (values)
		values[column] += value;
}

/* ---- waits ---- */

static enum column column_of(const struct sn_mpi_event *call)
{
	if (sn_mpi_function_meaning(call->function) == SN_MPI_MEANS_SCAN)
		return EARLY_SCAN;
	switch ((enum sn_mpi_wait)call->wait) {
	case SN_MPI_LATE_SENDER:
	case SN_MPI_WRONG_ORDER: /* it waits all the same for a message that comes late */
		return LATE_SENDER;
	case SN_MPI_LATE_RECEIVER:
		return LATE_RECEIVER;
	case SN_MPI_WAIT_AT_BARRIER:
		return WAIT_BARRIER;
	case SN_MPI_WAIT_AT_NXN:
		return WAIT_NXN;
	case SN_MPI_EARLY_REDUCE:
		return WAIT_REDUCE;
	case SN_MPI_LATE_BROADCAST:
		return WAIT_BROADCAST;
	default:
		return COLUMNS;
	}
}

static void peer_add(struct adding *a, const struct sn_mpi_event *call)
{
	uint32_t of = a->mpi->events.items[call->waited_for].process;
	uint64_t *at = sn_map_put(&a->peer_of, (uint64_t)call->stack << 32 | of, NULL);

	if (!*at) {
		sn_vec_push(&a->peers, (struct peer){ call->stack, call->process, of, 0 });
		*at = a->peers.count;
	}
	a->peers.items[*at - 1].seconds += (double)call->wait_ns / 1e9;
}

static void waits_add(struct adding *a)
{
	for (uint32_t i = 0; i < a->mpi->events.count; i++) {
		const struct sn_mpi_event *call = &a->mpi->events.items[i];
		enum column column = column_of(call);

		if (call->wait_ns <= 0 || column == COLUMNS || !values_of(a, i))
			continue;
		add(a, i, column, (double)call->wait_ns / 1e9);
		if (column == LATE_SENDER && call->waited_for != SN_NONE)
			peer_add(a, call);
	}
}

/* ---- all of a kind of calls, as samples tell them apart ---- */

static enum sn_activity activity_of(const struct sn_mpi_event *call)
{
	return sn_activity_of_mpi(sn_mpi_function_name(call->function));
}

static enum column elapsed_column_of(const struct sn_mpi_event *call)
{
	switch (activity_of(call)) {
	case SN_ACTIVITY_MPI_BARRIER:
		return BARRIER_ELAPSED;
	case SN_ACTIVITY_MPI_NXN:
		return NXN_ELAPSED;
	case SN_ACTIVITY_MPI_REDUCE:
		return REDUCE_ELAPSED;
	case SN_ACTIVITY_MPI_BROADCAST:
		return BROADCAST_ELAPSED;
	default:
		return COLUMNS;
	}
}

static void elapsed_add(struct adding *a)
{
	for (uint32_t i = 0; i < a->mpi->events.count; i++) {
		const struct sn_mpi_event *call = &a->mpi->events.items[i];
		enum column column = elapsed_column_of(call);

		if (column != COLUMNS && call->t1_ns > call->t0_ns)
			add(a, i, column, (double)(call->t1_ns - call->t0_ns) / 1e9);
	}
}

/* ---- waiting without a CPU ---- */

static struct in_calls *in_calls_of(struct adding *a, uint32_t thread, uint8_t activity)
{
	return &a->in_calls[(size_t)thread * SN_ACTIVITIES + activity];
}

/* Who asks again and again whether something has come waits all the while. */
static double waited_s(const struct sn_mpi_event *call)
{
	int64_t waited_ns = activity_of(call) == SN_ACTIVITY_MPI_POLL ? call->t1_ns - call->t0_ns
								      : call->wait_ns;

	return fmax(0, (double)waited_ns / 1e9);
}

static void calls_see(struct adding *a)
{
	for (uint32_t i = 0; i < a->mpi->events.count; i++) {
		const struct sn_mpi_event *call = &a->mpi->events.items[i];
		uint32_t thread = thread_of(a, i);
		struct in_calls *in;

		if (thread == SN_NONE || call->t1_ns <= call->t0_ns)
			continue;
		in = in_calls_of(a, thread, (uint8_t)activity_of(call));
		in->elapsed_s += (double)(call->t1_ns - call->t0_ns) / 1e9;
		in->waited_s += waited_s(call);
	}
}

static void samples_see(struct adding *a)
{
	const struct sn_recorded *r = a->r;
	const struct sn_experiment *e = r->profile->experiment;

	for (size_t i = 0; i < r->cells.count; i++) {
		const struct sn_recorded_cell *cell = &r->cells.items[i];

		in_calls_of(a, cell->thread, r->stacks[cell->stack].activity)->seen_s +=
			(double)cell->cpu_ns / 1e9;
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];

		if (wait->stack < r->profile->program->stack_count)
			in_calls_of(a, wait->thread, r->stacks[wait->stack].activity)->seen_s +=
				(double)sn_profile_wait_ns(r->profile, wait) / 1e9;
	}
}

/* The share of the time in such calls in which the thread neither ran nor was blocked. */
static double share_without_cpu(const struct in_calls *in)
{
	return in->elapsed_s > 0 ? fmax(0, 1 - in->seen_s / in->elapsed_s) : 0;
}

/* By thread: what of the waits without a CPU the kernel's account lets be. The caller frees. */
static double *accounted_find(struct adding *a)
{
	size_t threads = a->r->profile->experiment->threads.count;
	double *accounts_s = sn_delays_of_threads(a->r);

	for (uint32_t t = 0; t < threads; t++) {
		double sum_s = 0;

		for (int k = 0; k < SN_ACTIVITIES; k++) {
			const struct in_calls *in = in_calls_of(a, t, (uint8_t)k);

			sum_s += in->waited_s * share_without_cpu(in);
		}
		accounts_s[t] = sum_s > accounts_s[t] ? accounts_s[t] / sum_s : 1;
	}
	return accounts_s;
}

/* A rank that polls waits for another one, whether its poll has a CPU or not: it loses nothing by having none. */
static void delays_add(struct adding *a)
{
	double *accounted;

	a->in_calls = sn_alloc_zeroed((a->r->profile->experiment->threads.count + 1) *
					      (size_t)SN_ACTIVITIES,
				      sizeof(*a->in_calls));
	calls_see(a);
	samples_see(a);
	accounted = accounted_find(a);
	for (uint32_t i = 0; i < a->mpi->events.count; i++) {
		const struct sn_mpi_event *call = &a->mpi->events.items[i];
		uint32_t thread = thread_of(a, i);

		if (thread != SN_NONE && waited_s(call) > 0)
			add(a, i, WAIT_DELAY,
			    waited_s(call) * accounted[thread] *
				    share_without_cpu(
					    in_calls_of(a, thread, (uint8_t)activity_of(call))));
	}
	free(accounted);
	free(a->in_calls);
}

/* ---- operations: what is left once the last rank has come ---- */

static int64_t last_entry_ns(const struct sn_mpi *mpi, const struct sn_mpi_operation *operation)
{
	int64_t last_ns = INT64_MIN;

	for (uint32_t i = 0; i < operation->part_count; i++) {
		uint32_t entered = mpi->parts.items[operation->first_part + i].entered;

		if (mpi->events.items[entered].t0_ns > last_ns)
			last_ns = mpi->events.items[entered].t0_ns;
	}
	return last_ns;
}

static void completions_add(struct adding *a)
{
	const struct sn_mpi *mpi = a->mpi;

	for (size_t o = 0; o < mpi->operations.count; o++) {
		const struct sn_mpi_operation *operation = &mpi->operations.items[o];
		int64_t last_ns;

		if (!operation->is_whole || sn_mpi_pattern_of(mpi, operation) != SN_MPI_ALL_TO_ALL)
			continue;
		last_ns = last_entry_ns(mpi, operation);
		for (uint32_t i = 0; i < operation->part_count; i++) {
			uint32_t done = mpi->parts.items[operation->first_part + i].done;
			const struct sn_mpi_event *call =
				done == SN_NONE ? NULL : &mpi->events.items[done];
			int64_t from_ns = call && call->t0_ns > last_ns ? call->t0_ns : last_ns;

			if (call && call->t1_ns > from_ns)
				add(a, done,
				    operation->meaning == SN_MPI_MEANS_BARRIER ? BARRIER_COMPLETION
									       : NXN_COMPLETION,
				    (double)(call->t1_ns - from_ns) / 1e9);
		}
	}
}

/* ---- messages ---- */

/* Waiting apart, which is another property's; each call once. */
static void small_call_add(struct adding *a, uint8_t *is_counted, uint32_t event)
{
	const struct sn_mpi_event *call = event == SN_NONE ? NULL : &a->mpi->events.items[event];

	if (!call || is_counted[event])
		return;
	is_counted[event] = 1;
	add(a, event, SMALL_TIME, (double)(call->t1_ns - call->t0_ns - call->wait_ns) / 1e9);
}

/* A message counts where it was sent. */
static void messages_add(struct adding *a)
{
	uint8_t *is_counted = sn_alloc_zeroed(a->mpi->events.count + 1, 1);

	for (size_t i = 0; i < a->mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &a->mpi->messages.items[i];
		bool is_small = m->bytes < SMALL_BYTES;

		if (m->state == SN_MPI_CANCELLED)
			continue;
		if (m->sent != SN_NONE) {
			add(a, m->sent, MESSAGES, 1);
			add(a, m->sent, MESSAGE_BYTES, (double)m->bytes);
			add(a, m->sent, SMALL_MESSAGES, is_small);
		}
		if (is_small) {
			small_call_add(a, is_counted, m->sent);
			small_call_add(a, is_counted, m->received);
		}
	}
	free(is_counted);
}

/* ---- tables ---- */

/* Of every thread, also where it is none: so it is seen that the run is traced. */
static void threads_tell(const struct adding *a, uint32_t source)
{
	struct sn_recorded *r = a->r;
	uint32_t column = sn_tables_column(r->tables, column_names[WAIT_DELAY], NULL);

	for (uint32_t t = 0; t < r->profile->experiment->threads.count; t++)
		if (r->thread_members[t] != SN_ALL)
			sn_recorded_add(r, column, source, SN_ALL, t, 0, NAN, NAN);
}

/* At each region of the stack, and once of all of them together. */
static void places_tell(const struct adding *a, uint32_t source)
{
	struct sn_recorded *r = a->r;
	uint32_t columns[COLUMNS];

	for (int c = 0; c < COLUMNS; c++) {
		columns[c] = sn_tables_column(r->tables, column_names[c], NULL);
		sn_tables_complete(r->tables, columns[c]);
	}
	for (size_t i = 0; i < a->places.count; i++) {
		const struct place *place = &a->places.items[i];
		const struct sn_stack_facts *facts = &r->stacks[place->stack];

		for (int c = 0; c < COLUMNS; c++)
			for (uint32_t k = 0; place->values[c] > 0 && k <= facts->count; k++)
				sn_recorded_add(r, columns[c], source,
						k < facts->count
							? r->stack_regions.items[facts->first + k]
							: SN_ALL,
						place->thread, place->values[c], NAN, NAN);
	}
}

static void peers_tell(const struct adding *a, uint32_t source)
{
	struct sn_recorded *r = a->r;
	struct sn_value value = { .source = source, .samples = NAN, .error = NAN };

	value.column = sn_tables_column(r->tables, wait_of_peer, NULL);
	sn_tables_complete(r->tables, value.column);
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	for (size_t i = 0; i < a->peers.count; i++) {
		const struct peer *peer = &a->peers.items[i];
		const struct sn_stack_facts *facts = &r->stacks[peer->stack];

		if (r->process_members[peer->of] == SN_ALL)
			continue;
		value.value = peer->seconds;
		value.keys[SN_KEY_PROCESS] = r->process_members[peer->process];
		value.keys[SN_KEY_PEER] = r->process_members[peer->of];
		for (uint32_t k = 0; k <= facts->count; k++) {
			value.keys[SN_KEY_REGION] =
				k < facts->count ? r->stack_regions.items[facts->first + k]
						 : SN_ALL;
			sn_tables_add(r->tables, &value);
		}
	}
}

static void first_threads_find(struct adding *a)
{
	const struct sn_experiment *e = a->r->profile->experiment;

	a->first_thread = sn_alloc((e->processes.count + 1) * sizeof(*a->first_thread));
	memset(a->first_thread, 0xff, (e->processes.count + 1) * sizeof(*a->first_thread));
	for (uint32_t t = (uint32_t)e->threads.count; t-- > 0;)
		a->first_thread[e->threads.items[t].process] = t;
}

static void mpi_collect(struct sn_recorded *r)
{
	struct adding a = { .r = r };
	struct sn_mpi *mpi = NULL;
	uint32_t source;

	if ((!r->part && (r->profile->filter.from_ns || r->profile->filter.to_ns)) ||
	    sn_mpi_read(r->profile->experiment, &mpi, NULL) != SN_OK)
		return;
	if (mpi->is_traced && mpi->rank_count > 0) {
		source = sn_tables_source(r->tables, "mpi");
		a.mpi = mpi;
		first_threads_find(&a);
		waits_add(&a);
		elapsed_add(&a);
		delays_add(&a);
		completions_add(&a);
		messages_add(&a);
		threads_tell(&a, source);
		places_tell(&a, source);
		peers_tell(&a, source);
	}
	free(a.first_thread);
	sn_map_free(&a.place_of);
	sn_map_free(&a.peer_of);
	sn_vec_free(&a.places);
	sn_vec_free(&a.peers);
	sn_mpi_free(mpi);
}

static const char *const given[] = {
	"late_sender",	      "late_receiver",	    "wait_barrier",    "wait_nxn",
	"wait_reduce",	      "wait_broadcast",	    "early_scan",      "wait_of_peer",
	"barrier_completion", "nxn_completion",	    "messages",	       "message_bytes",
	"small_messages",     "small_message_time", "barrier_elapsed", "nxn_elapsed",
	"reduce_elapsed",     "broadcast_elapsed",  "mpi_wait_delay",  NULL
};
static const char *const times[] = { "late_sender",
				     "late_receiver",
				     "wait_barrier",
				     "wait_nxn",
				     "wait_reduce",
				     "wait_broadcast",
				     "early_scan",
				     "wait_of_peer",
				     "barrier_completion",
				     "nxn_completion",
				     "small_message_time",
				     "barrier_elapsed",
				     "nxn_elapsed",
				     "reduce_elapsed",
				     "broadcast_elapsed",
				     "mpi_wait_delay",
				     NULL };

const struct sn_source sn_source_mpi = {
	.name = "mpi",
	.measures = "waiting of ranks for each other by kind, and messages, exactly",
	.needs = "a run that was recorded with --mpi",
	.needs_of_phase = "a program that is linked with an MPI library",
	.is_cut_by_time = true,
	.trace = SN_TRACE_MPI,
	.costs = "what recording with --mpi costs",
	.option = "mpi",
	.gives = given,
	.times = times,
	.collect = mpi_collect,
};
