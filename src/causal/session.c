/*
 * Design: blocks of trials in random order, a baseline before each; and how one trial is made. A block
 * has each candidate once, with one of the speed-ups, so that many blocks fit into a short time; in as
 * many blocks as there are speed-ups a candidate has each of them once.
 */
#include "causal/session.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/progress.h"
#include "causal/beats.h"
#include "causal/carry.h"

enum {
	/* an experiment */
	VISITS_LEAST = 3,
	EXPERIMENT_LEAST_NS = 250000000,
	EXPERIMENT_MOST_NS = 2000000000, /* with fewer visits than that, if there is one */
	UNREACHED_NS = 20000000,	 /* times 1000: nobody came for so long */
	COOL_DOWN_NS = 10000000,	 /* between two: everybody forgets old debts */
	POLL_LEAST_NS = 500000,
	POLL_MOST_NS = 10000000,
	/* what a refusal rests on: one burst of other programs is none */
	REFUSAL_TRIALS_LEAST = 8,
	REFUSAL_WANTED_LEAST_S = 4, /* CPU time that threads had or waited for */
	REFUSAL_ASKED_LEAST_MS = 400,
};
#define UNREACHED_S 20
/* A program that has heartbeats, but not the one that was named, may make that one a little later. */
#define NO_BEAT_S 3

void sn_causal_session_begin(struct sn_causal_session *session)
{
	uint32_t last = 0;

	for (size_t i = 0; i < session->log->trials.count; i++)
		if (session->log->trials.items[i].block >= last)
			last = session->log->trials.items[i].block + 1;
	session->block = last;
	session->runs_before = session->log->runs.count;
	session->trials_before = session->log->trials.count;
	sn_random_seed(&session->random, session->log->seed + last);
}

void sn_causal_session_free(struct sn_causal_session *session)
{
	sn_vec_free(&session->plans);
	sn_text_free(&session->beats);
}

/* ---- which comes next ---- */

static bool is_known(const struct sn_causal_session *session, int32_t candidate)
{
	uint32_t blocks;
	double width = sn_causal_slope_width(session->log, candidate, &blocks);

	return sn_causal_is_narrow(width, blocks, session->speedup_count);
}

/* The candidate's speed-up in this block: its own random order, anew each time that it is through. */
static double speedup_now(const struct sn_causal_session *session, uint32_t candidate)
{
	size_t count = session->speedup_count, at[SN_CAUSAL_SPEEDUPS_MAX];
	struct sn_random random;

	sn_random_seed(&random,
		       session->log->seed + 1000003 * (candidate + 1) + session->block / count);
	for (size_t i = 0; i < count; i++) {
		size_t j = (size_t)sn_random_below(&random, i + 1);

		at[i] = at[j];
		at[j] = i;
	}
	return session->speedups[at[session->block % count]];
}

static void push(struct sn_causal_session *session, int32_t candidate, double speedup)
{
	struct sn_causal_trial_plan plan = { candidate, speedup, session->block };

	sn_vec_push(&session->plans, plan);
}

/* Fisher and Yates. */
static void shuffle(struct sn_causal_session *session)
{
	for (size_t i = session->plans.count; i > 1; i--) {
		size_t j = (size_t)sn_random_below(&session->random, i);
		struct sn_causal_trial_plan kept = session->plans.items[i - 1];

		session->plans.items[i - 1] = session->plans.items[j];
		session->plans.items[j] = kept;
	}
}

static void make_block(struct sn_causal_session *session)
{
	size_t count;

	session->plans.count = 0;
	session->next = 0;
	session->settle_ns = sn_causal_settle_next_ns(session->log);
	for (uint32_t c = 0; c < session->page->target_count; c++)
		if (session->page->targets[c].range_count && !is_known(session, (int32_t)c))
			push(session, (int32_t)c, speedup_now(session, c));
	shuffle(session);
	count = session->plans.count;
	for (size_t i = 0; i < count; i++)
		push(session, SN_CAUSAL_BASELINE, 0);
	/* baseline, trial, baseline, trial ... */
	for (size_t i = count; i-- > 0;) {
		struct sn_causal_trial_plan trial = session->plans.items[i];
		struct sn_causal_trial_plan baseline = { SN_CAUSAL_BASELINE, 0, session->block };

		session->plans.items[2 * i + 1] = trial;
		session->plans.items[2 * i] = baseline;
	}
	/* with one experiment alone nothing tells what it leaves behind but a baseline behind a baseline */
	if (count == 1 && session->speedup_count == 1)
		push(session, SN_CAUSAL_BASELINE, 0);
	session->block++;
}

bool sn_causal_session_next(struct sn_causal_session *session, struct sn_causal_trial_plan *out)
{
	if (session->left_s <= 0) {
		session->end = SN_CAUSAL_OUT_OF_TIME;
		return false;
	}
	if (session->next >= session->plans.count)
		make_block(session);
	if (!session->plans.count) {
		session->end = SN_CAUSAL_SURE_ENOUGH;
		return false;
	}
	*out = session->plans.items[session->next];
	return true;
}

void sn_causal_session_advance(struct sn_causal_session *session)
{
	session->next++;
}

/* ---- while the target runs ---- */

struct driver {
	struct sn_causal_session *session;
	struct sn_steer *steer;
	struct sn_causal_control *page;
	struct sn_causal_progress *point;
	uint32_t number;	  /* of the experiment that is on */
	int64_t step_ns;	  /* a progress step, by the experiment before */
	int64_t began_ns, end_ns; /* end_ns: of the time for experiments */
};

static bool is_over(const struct driver *d)
{
	return atomic_load_explicit(&d->steer->is_over, memory_order_relaxed);
}

/* The target runs, and there is time for experiments. */
static bool goes_on(const struct driver *d)
{
	return !is_over(d) && sn_clock_ns(CLOCK_MONOTONIC) < d->end_ns;
}

/* Whether anybody may still come to the progress point. */
static bool is_waited_for(const struct driver *d, int64_t since_ns)
{
	return (double)(sn_clock_ns(CLOCK_MONOTONIC) - since_ns) < UNREACHED_S * 1e9 &&
	       !atomic_load_explicit(&d->point->is_too_often, memory_order_relaxed);
}

static void wait_ns(int64_t time_ns)
{
	struct timespec time = { time_ns / 1000000000, time_ns % 1000000000 };

	nanosleep(&time, NULL);
}

/* False: the target or the time ended meanwhile. */
static bool wait_for(const struct driver *d, int64_t time_ns)
{
	for (int64_t end_ns = sn_clock_ns(CLOCK_MONOTONIC) + time_ns; goes_on(d);) {
		int64_t left_ns = end_ns - sn_clock_ns(CLOCK_MONOTONIC);

		if (left_ns <= 0)
			return true;
		wait_ns(left_ns < 20000000 ? left_ns : 20000000);
	}
	return false;
}

static uint64_t begin_experiment(struct driver *d, uint32_t target, double speedup)
{
	uint64_t word =
		sn_causal_word(++d->number, target, (uint32_t)lround(speedup * SN_CAUSAL_WHOLE));

	d->page->start_due_ns = atomic_load(&d->page->due_ns);
	d->page->start_ns = sn_clock_ns(CLOCK_MONOTONIC);
	atomic_store_explicit(&d->page->experiment, word, memory_order_release);
	return word;
}

static int64_t poll_ns(const struct driver *d)
{
	int64_t time_ns = d->step_ns / 8;

	return time_ns < POLL_LEAST_NS	? POLL_LEAST_NS
	       : time_ns > POLL_MOST_NS ? POLL_MOST_NS
					: time_ns;
}

/* The first stamp of the experiment from `from_ns` on. False: the target or the time ended, or nobody
 * came. */
static bool first_stamp(const struct driver *d, uint64_t word, int64_t from_ns,
			struct sn_causal_stamp *out)
{
	while (goes_on(d) && is_waited_for(d, from_ns)) {
		if (sn_causal_stamp_read(d->point, out) && out->experiment == word &&
		    out->time_ns >= from_ns)
			return true;
		wait_ns(poll_ns(d));
	}
	return false;
}

static int64_t least_ns(const struct driver *d)
{
	int64_t least_ns = d->session->settle_ns / 2;

	return least_ns < EXPERIMENT_LEAST_NS ? EXPERIMENT_LEAST_NS : least_ns;
}

static bool is_long_enough(const struct driver *d, const struct sn_causal_stamp *first,
			   const struct sn_causal_stamp *last)
{
	uint64_t visits = last->count - first->count;
	int64_t time_ns = last->time_ns - first->time_ns;

	return visits && time_ns >= least_ns(d) &&
	       (visits >= VISITS_LEAST || time_ns >= EXPERIMENT_MOST_NS);
}

static bool last_stamp(const struct driver *d, const struct sn_causal_stamp *first,
		       struct sn_causal_stamp *last)
{
	if (!wait_for(d, least_ns(d)))
		return false;
	while (goes_on(d) && is_waited_for(d, first->time_ns)) {
		if (sn_causal_stamp_read(d->point, last) && last->experiment == first->experiment &&
		    is_long_enough(d, first, last))
			return true;
		wait_ns(poll_ns(d));
	}
	return false;
}

/* What is in flight between two points, for Little's law (Little 1961). Virtual times count from the
 * experiment's begin. */
struct flight {
	double begins, ends, begin_sum_ns, end_sum_ns, virtual_ns;
};

static struct flight flight_now(const struct driver *d)
{
	struct sn_causal_progress *begin = &d->page->points[d->session->begin_point],
				  *end = d->point;
	struct flight flight = {
		.ends = (double)atomic_load(&end->count),
		.end_sum_ns = (double)atomic_load(&end->sum_ns),
		.begin_sum_ns = (double)atomic_load(&begin->sum_ns),
		.begins = (double)atomic_load(&begin->count),
	};

	flight.virtual_ns = (double)(sn_clock_ns(CLOCK_MONOTONIC) - d->page->start_ns -
				     (atomic_load(&d->page->due_ns) - d->page->start_due_ns));
	return flight;
}

/* The mean time from begin to end: what was in flight, by time, over how many ended. */
static double time_in_flight_ns(const struct flight *from, const struct flight *to)
{
	double open = from->begins - from->ends, begun = to->begins - from->begins;
	double ended = to->ends - from->ends;
	double area = open * (to->virtual_ns - from->virtual_ns) + begun * to->virtual_ns -
		      (to->begin_sum_ns - from->begin_sum_ns) - ended * to->virtual_ns +
		      (to->end_sum_ns - from->end_sum_ns);

	return ended > 0 && area > 0 ? area / ended : NAN;
}

static bool make_trial(struct driver *d, const struct sn_causal_trial_plan *plan,
		       struct sn_causal_trial *trial)
{
	struct sn_causal_stamp first, last;
	struct flight from, to;
	uint32_t target = plan->candidate < 0 ? SN_CAUSAL_NO_TARGET : (uint32_t)plan->candidate;
	uint64_t word, samples, hits;
	int64_t hit_ns, due_ns;

	word = begin_experiment(d, target, plan->speedup);
	if (!wait_for(d, d->session->settle_ns) ||
	    !first_stamp(d, word, d->page->start_ns + d->session->settle_ns, &first))
		return false;
	from = flight_now(d);
	samples = atomic_load(&d->page->samples);
	hits = atomic_load(&d->page->hits);
	hit_ns = atomic_load(&d->page->hit_ns);
	due_ns = atomic_load(&d->page->due_ns);
	if (!last_stamp(d, &first, &last))
		return false;
	to = flight_now(d);
	*trial = (struct sn_causal_trial){
		.run = (uint32_t)d->session->log->runs.count,
		.block = plan->block,
		.candidate = plan->candidate,
		.speedup = plan->speedup,
		.visits = last.count - first.count,
		.time_ns = last.time_ns - first.time_ns,
		.virtual_ns = last.virtual_ns - first.virtual_ns,
		.samples = atomic_load(&d->page->samples) - samples,
		.hits = atomic_load(&d->page->hits) - hits,
		.hit_ns = atomic_load(&d->page->hit_ns) - hit_ns,
		.due_ns = atomic_load(&d->page->due_ns) - due_ns,
		.settle_ns = d->session->settle_ns,
	};
	trial->step_ns = d->session->is_latency ? time_in_flight_ns(&from, &to)
						: (double)trial->virtual_ns / (double)trial->visits;
	d->step_ns = trial->time_ns / (int64_t)trial->visits;
	begin_experiment(d, SN_CAUSAL_NO_TARGET, 0);
	return wait_for(d, COOL_DOWN_NS);
}

/* Whatever ends this command, the experiment has what was found. That it cannot be written is said when
 * the run is over. */
static void keep(struct sn_causal_session *session)
{
	struct sn_error err;

	if (!session->experiment_path)
		return;
	if (session->is_kept)
		session->is_kept = sn_causal_log_append_trial(
					   session->log, session->experiment_path, &err) == SN_OK;
	else
		session->is_kept =
			sn_causal_log_write(session->log, session->experiment_path, &err) == SN_OK;
}

static void spend(struct driver *d)
{
	int64_t now_ns = sn_clock_ns(CLOCK_MONOTONIC);

	d->session->left_s -= (double)(now_ns - d->began_ns) * 1e-9;
	d->began_ns = now_ns;
}

static struct sn_causal_run run_of(const struct sn_causal_control *page, int64_t elapsed_ns)
{
	return (struct sn_causal_run){
		.elapsed_ns = elapsed_ns,
		.asked_ns = page->asked_ns,
		.slept_ns = page->slept_ns,
		.excess_ns = page->excess_ns,
		.pauses = page->pauses,
		.credits = page->credits,
		.processes = page->processes,
		.sealed = page->sealed_processes,
		.timed_waits = page->timed_waits,
		.ran_ns = page->ran_ns,
		.queued_ns = page->queued_ns,
	};
}

static void add_run(struct sn_causal_run *sum, const struct sn_causal_run *run)
{
	sum->asked_ns += run->asked_ns;
	sum->slept_ns += run->slept_ns;
	sum->ran_ns += run->ran_ns;
	sum->queued_ns += run->queued_ns;
	sum->sealed += run->sealed;
}

enum sn_causal_refusal sn_causal_session_refusal(const struct sn_causal_session *session,
						 const struct sn_causal_control *page)
{
	const struct sn_causal_log *log = session->log;
	struct sn_causal_run sum = { 0 };
	bool are_enough = log->trials.count >= session->trials_before + REFUSAL_TRIALS_LEAST ||
			  log->runs.count >= session->runs_before + 2;

	for (size_t i = session->runs_before; i < log->runs.count; i++)
		add_run(&sum, &log->runs.items[i]);
	if (page) {
		struct sn_causal_run now = run_of(page, 0);

		add_run(&sum, &now);
	}
	if (sum.sealed)
		return SN_CAUSAL_REFUSED_SEALED;
	if (are_enough &&
	    sum.ran_ns + sum.queued_ns >= (int64_t)REFUSAL_WANTED_LEAST_S * 1000000000 &&
	    (double)sum.queued_ns > SN_CAUSAL_QUEUED_REFUSED * (double)(sum.ran_ns + sum.queued_ns))
		return SN_CAUSAL_REFUSED_QUEUES;
	if (are_enough && sum.asked_ns >= (int64_t)REFUSAL_ASKED_LEAST_MS * 1000000 &&
	    fabs((double)(sum.slept_ns - sum.asked_ns)) >
		    SN_CAUSAL_DELAYS_REFUSED * (double)sum.asked_ns)
		return SN_CAUSAL_REFUSED_DELAYS;
	return SN_CAUSAL_NOT_REFUSED;
}

/* The answer is there, or there will be none: who waits for it need not wait for the target's end. */
static void tell_over(struct driver *d, int64_t start_ns)
{
	struct sn_causal_session *session = d->session;

	sn_vec_push(&session->log->runs, run_of(d->page, sn_clock_ns(CLOCK_MONOTONIC) - start_ns));
	session->tell_over(session->context);
	session->log->runs.count--; /* the run goes on: sn_causal_session_note_run has all of it */
}

/* Until somebody comes to the progress point, or it is clear that nobody will. */
static void wait_for_point(struct driver *d)
{
	struct sn_causal_session *session = d->session;
	int64_t others_ns = 0;

	while (goes_on(d) && !atomic_load(&d->point->count)) {
		wait_ns(POLL_MOST_NS);
		if (!session->is_doubted || sn_causal_beat_is_there(d->page, d->point->name))
			continue;
		sn_text_clear(&session->beats);
		if (!sn_causal_beats_list(d->page, d->point->name, &session->beats))
			continue;
		if (!others_ns)
			others_ns = sn_clock_ns(CLOCK_MONOTONIC);
		if (sn_clock_ns(CLOCK_MONOTONIC) - others_ns < NO_BEAT_S * INT64_C(1000000000))
			continue;
		session->end = SN_CAUSAL_NO_BEAT;
		return;
	}
}

void sn_causal_session_steer(struct sn_steer *steer)
{
	struct sn_causal_session *session = steer->context;
	struct driver d = { .session = session,
			    .steer = steer,
			    .page = steer->shared,
			    .point = &steer->shared->points[session->point],
			    .number = 1,
			    .step_ns = POLL_LEAST_NS * 8,
			    .began_ns = sn_clock_ns(CLOCK_MONOTONIC) };
	struct sn_causal_trial_plan plan;
	int64_t start_ns = d.began_ns;

	d.end_ns = start_ns + (int64_t)(session->left_s * 1e9);
	wait_for_point(&d);
	spend(&d);
	while (!is_over(&d) && session->end == SN_CAUSAL_GOES_ON &&
	       sn_causal_session_next(session, &plan)) {
		struct sn_causal_trial trial = { 0 };
		bool is_made = make_trial(&d, &plan, &trial);

		spend(&d);
		if (is_made && trial.step_ns >= 0) {
			sn_vec_push(&session->log->trials, trial);
			keep(session);
			sn_causal_session_advance(session);
		} else if (goes_on(&d) && !is_made) {
			break; /* nobody comes any more, or nobody is counted */
		}
		if (!session->is_forced && sn_causal_session_refusal(session, d.page)) {
			session->end = SN_CAUSAL_REFUSED;
			break;
		}
	}
	if (atomic_load(&d.point->is_too_often))
		session->end = SN_CAUSAL_TOO_OFTEN;
	begin_experiment(&d, SN_CAUSAL_NO_TARGET, 0);
	spend(&d);
	if (!is_over(&d) && session->end != SN_CAUSAL_GOES_ON && session->tell_over)
		tell_over(&d, start_ns);
}

void sn_causal_session_note_run(struct sn_causal_session *session,
				const struct sn_causal_control *last, int64_t elapsed_ns)
{
	struct sn_causal_run run = run_of(last, elapsed_ns);

	session->visits += last->points[session->point].count;
	sn_vec_push(&session->log->runs, run);
}
