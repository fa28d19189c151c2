/* The verdict on a run. Each cause is a candidate with the seconds that it is about; the largest
 * comes first (docs/method/verdict.md). How causes are told is in verdict_words.c. */
#include "views/summary/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views/summary/verdict_parts.h"

/* Thresholds; docs/method/verdict.md has the reasons. */
static const double join_least = 0.1;	/* oversubscription takes spinning into its cause */
static const double spin_least = 0.05;	/* of CPU time: threads wait for each other */
static const double waited_least = 0.1; /* of the CPU time of lock calls: somebody waits */
static const double rival_least = 0.8;	/* of the first: the verdict is not sure */
static const double unseen_least = 2;	/* times what was seen: it leads, though nobody saw it */
static const double overhead_most = 0.2;
static const double short_s = 0.05;
static const double mpi_short_s = 10; /* MPI starts and ends in seconds: a tenth of such a run */
static const double same_order = 0.3; /* of starting and ending MPI, so long is waiting for ranks */
enum { SAMPLES_LEAST = 20, SAMPLES_GOOD = 100 };

static const struct {
	const char *name, *view, *command;
} kinds[SN_VERDICT_KINDS] = {
	[SN_VERDICT_COMPUTE_LOOPS] = { "compute_loops", "#/functions?rows=loops",
				       "sonde show loop '#1'" },
	[SN_VERDICT_COMPUTE_FLAT] = { "compute_flat", "#/functions", "sonde show tree" },
	[SN_VERDICT_OVERSUBSCRIBED] = { "oversubscribed", "#/threads", "sonde show threads" },
	[SN_VERDICT_SPIN] = { "spin", "#/categories", "sonde show categories" },
	[SN_VERDICT_LOCK_WAIT] = { "lock_wait", "#/flame?time=wall", "sonde show waits" },
	[SN_VERDICT_IO_WAIT] = { "io_wait", "#/flame?time=wall", "sonde show waits" },
	[SN_VERDICT_CHILD_WAIT] = { "child_wait", "#/threads", "sonde show processes" },
	[SN_VERDICT_MPI_WAIT] = { "mpi_wait", "#/threads", "sonde show threads" },
	[SN_VERDICT_SLEEP] = { "sleep", "#/flame?time=wall", "sonde show waits" },
	[SN_VERDICT_MEMORY] = { "memory", "#/categories", "sonde show callers" },
	[SN_VERDICT_WAITING_FOR_CPU] = { "waiting_for_cpu", "#/threads", "sonde show threads" },
	[SN_VERDICT_UNKNOWN_CODE] = { "unknown_code", "#/functions", "sonde show modules" },
	[SN_VERDICT_TOO_SHORT] = { "too_short", "#/provenance", "sonde doctor" },
	[SN_VERDICT_OPENMP] = { "openmp_wait", "#/openmp", "sonde show openmp" },
	[SN_VERDICT_CAUSAL] = { "causal", "#/causal", "sonde show causal" },
};

const char *sn_verdict_kind_name(enum sn_verdict_kind kind)
{
	return kinds[kind].name;
}

const char *sn_verdict_view(enum sn_verdict_kind kind)
{
	return kinds[kind].view;
}

const char *sn_verdict_command(enum sn_verdict_kind kind)
{
	return kinds[kind].command;
}

const char *sn_trust_name(enum sn_trust confidence)
{
	static const char *const names[] = { "high", "medium", "low" };

	return names[confidence];
}

/* ---- all causes of a run ---- */

enum {
	STORIES_MAX = SN_CAUSES,
	CAUSES_TOLD_MAX = 6, /* of the findings; the rest is for what experiments add */
};

struct causes {
	const struct sn_evidence *evidence;
	struct sn_cause items[STORIES_MAX];
	size_t count;
};

static enum sn_trust by_samples(double samples)
{
	return samples >= SAMPLES_GOOD	  ? SN_TRUST_HIGH
	       : samples >= SAMPLES_LEAST ? SN_TRUST_MEDIUM
					  : SN_TRUST_LOW;
}

/* What the kernel's account tells is sure; of samples it takes enough. */
static void tell(struct causes *causes, enum sn_cause_id id, double seconds,
		 const struct sn_evidence_place *place)
{
	const struct sn_evidence *e = causes->evidence;
	struct sn_cause cause = { .id = id, .seconds = seconds, .rank_s = seconds, .place = place };

	if (!(seconds > 0))
		return;
	if (sn_causes[id].is_of_samples)
		cause.confidence =
			by_samples(e->cpu_s > 0 ? (double)e->samples * seconds / e->cpu_s : 0);
	if (id == SN_CAUSE_BARRIER && place == &e->pauses[SN_PAUSE_OPENMP])
		cause.confidence = SN_TRUST_MEDIUM; /* that it is a barrier is concluded */
	if (id == SN_CAUSE_OVERSUBSCRIBED && e->wait_others_s > e->wait_own_s)
		cause.confidence = SN_TRUST_MEDIUM; /* others had the CPUs, too */
	if (id == SN_CAUSE_DATA && !e->data_is_sure && cause.confidence == SN_TRUST_HIGH)
		cause.confidence = SN_TRUST_MEDIUM;
	if (id == SN_CAUSE_LOOPS && sn_verdict_is_unsettled(e))
		cause.confidence = SN_TRUST_LOW;
	if ((id == SN_CAUSE_LOOPS || id == SN_CAUSE_FLAT) && sn_verdict_is_partly_unsettled(e) &&
	    cause.confidence == SN_TRUST_HIGH)
		cause.confidence = SN_TRUST_MEDIUM;
	if (id == SN_CAUSE_LOOPS && sn_verdict_is_near(e, e->near_s) &&
	    e->near_trust > cause.confidence)
		cause.confidence = e->near_trust; /* no surer than the loops' own verdicts */
	if (id == SN_CAUSE_UNTRACED || id == SN_CAUSE_UNTRACED_ALONE)
		cause.confidence = SN_TRUST_LOW;
	causes->items[causes->count++] = cause;
}

static void tell_cpu_time(struct causes *causes, const struct sn_evidence *e)
{
	bool in_loops = sn_verdict_is_in_loops(e);

	tell(causes, in_loops ? SN_CAUSE_LOOPS : SN_CAUSE_FLAT, e->compute_s, NULL);
	tell(causes, SN_CAUSE_DATA, e->data_s, NULL);
	tell(causes, SN_CAUSE_LOADING, e->loading_s, NULL);
	tell(causes, SN_CAUSE_MEMORY, e->memory_s, &e->memory);
	tell(causes, SN_CAUSE_UNKNOWN, e->unknown_s, NULL);
}

static bool is_oversubscribed(const struct sn_evidence *e)
{
	return sn_known(e->wait_own_s) >= join_least * e->threads_s;
}

/* Whether waiting for CPUs is a plain queue. Threads that neither spin nor wait for each other at
 * barriers lose little by sharing the CPUs, which they keep busy. That holds until most of their
 * time is the queue. */
static bool is_plain_queue(const struct sn_evidence *e)
{
	return sn_verdict_spin_s(e) + sn_known(e->spin_mpi_s) < spin_least * e->cpu_s &&
	       sn_verdict_barriers_s(e) < SN_FINDING_LEAST * e->threads_s &&
	       e->wait_own_s < e->cpu_s;
}

/* One pause, or two of one cause; the place is that of the larger. */
static void tell_pause(struct causes *causes, enum sn_cause_id id, enum sn_pause one,
		       enum sn_pause other, double more_s)
{
	const struct sn_evidence *e = causes->evidence;
	double first = sn_known(e->pauses_s[one]),
	       second = one == other ? 0 : sn_known(e->pauses_s[other]);

	tell(causes, id, first + second + more_s, &e->pauses[second > first ? other : one]);
}

/* A short run starts and ends MPI for as long as it waits for ranks or longer; of the two the waiting is what can be
 * mended, and what a longer run has. So it comes first. */
static void start_rank(struct causes *causes, const struct sn_evidence *e)
{
	struct sn_cause *ranks = NULL, *start = NULL;

	for (size_t i = 0; i < causes->count; i++) {
		ranks = causes->items[i].id == SN_CAUSE_MPI ? &causes->items[i] : ranks;
		start = causes->items[i].id == SN_CAUSE_MPI_START ? &causes->items[i] : start;
	}
	if (ranks && start && sn_known(e->elapsed_s) < mpi_short_s &&
	    ranks->seconds >= same_order * start->seconds)
		start->rank_s = fmin(start->rank_s, ranks->seconds);
}

/* Where there are more threads than CPUs, waiting for a CPU, spinning, and waiting at barriers for
 * threads that have none are one cause. */
static void tell_cpus(struct causes *causes, const struct sn_evidence *e)
{
	double own = sn_known(e->wait_own_s), spin = sn_verdict_spin_s(e),
	       mpi = sn_known(e->spin_mpi_s), others = sn_known(e->wait_others_s);

	if (is_oversubscribed(e) && is_plain_queue(e)) {
		tell(causes, SN_CAUSE_QUEUE, own, NULL);
		tell(causes, SN_CAUSE_SPIN, spin, NULL);
	} else if (is_oversubscribed(e)) {
		tell(causes, SN_CAUSE_OVERSUBSCRIBED, own + spin + mpi + sn_verdict_barriers_s(e),
		     NULL);
		mpi = 0;	      /* told above: what is left of it is asleep */
	} else if (e->openmp_words) { /* by events: spinning and sleeping threads alike */
		tell(causes, SN_CAUSE_OPENMP, e->openmp_wait_s, NULL);
		tell(causes, SN_CAUSE_SPIN, sn_known(e->spin_lock_s), NULL);
		others += own;
	} else {
		tell(causes, SN_CAUSE_SPIN, spin, NULL);
		others += own;
	}
	tell(causes, SN_CAUSE_MPI,
	     e->is_mpi_traced ? e->mpi_wait_s : mpi + sn_known(e->pauses_s[SN_PAUSE_MPI]),
	     mpi > 0 ? &e->mpi : &e->pauses[SN_PAUSE_MPI]);
	/* what ranks wait for each other in MPI_Finalize is told above */
	tell_pause(causes, SN_CAUSE_MPI_START, SN_PAUSE_MPI_START, SN_PAUSE_MPI_START,
		   -e->mpi_end_wait_s);
	start_rank(causes, e);
	tell(causes, SN_CAUSE_OTHERS, others, NULL);
	tell(causes, SN_CAUSE_JOBS, e->wait_jobs_s, NULL);
}

static void tell_pauses(struct causes *causes, const struct sn_evidence *e)
{
	double io = sn_known(e->pauses_s[SN_PAUSE_IO]), poll = sn_known(e->pauses_s[SN_PAUSE_POLL]),
	       lock = sn_known(e->pauses_s[SN_PAUSE_LOCK]);

	if (e->deadlock_words) { /* all that follows is its doing */
		tell(causes, SN_CAUSE_DEADLOCK, fmax(e->deadlock_s, lock), NULL);
	} else if (lock < waited_least * sn_known(e->lock_cpu_s)) { /* free locks: nobody waits */
		tell(causes, SN_CAUSE_LOCK_CALLS, e->lock_cpu_s, NULL);
		tell_pause(causes, SN_CAUSE_LOCK, SN_PAUSE_LOCK, SN_PAUSE_LOCK, 0);
	} else {
		tell_pause(causes, SN_CAUSE_LOCK, SN_PAUSE_LOCK, SN_PAUSE_LOCK,
			   sn_known(e->lock_cpu_s));
	}
	if (!is_oversubscribed(e))
		tell_pause(causes, SN_CAUSE_BARRIER, SN_PAUSE_BARRIER,
			   e->openmp_words ? SN_PAUSE_BARRIER : SN_PAUSE_OPENMP, 0);
	tell_pause(causes, SN_CAUSE_SIGNAL, SN_PAUSE_SIGNAL, SN_PAUSE_SIGNAL, 0);
	tell_pause(causes, SN_CAUSE_SLEEP, SN_PAUSE_SLEEP, SN_PAUSE_SLEEP, 0);
	tell_pause(causes, SN_CAUSE_CHILD, SN_PAUSE_CHILD, SN_PAUSE_CHILD, 0);
	if (e->io_cpu_s > io && e->io_cpu_s > poll)
		tell(causes, SN_CAUSE_IO, e->io_cpu_s + io + poll, &e->io);
	else
		tell_pause(causes, SN_CAUSE_IO, SN_PAUSE_IO, SN_PAUSE_POLL, sn_known(e->io_cpu_s));
	tell(causes, e->threads > 1 ? SN_CAUSE_UNTRACED : SN_CAUSE_UNTRACED_ALONE,
	     e->pauses_s[SN_PAUSE_UNTRACED], NULL);
	tell(causes, SN_CAUSE_WORKING_CHILD, e->child_s, &e->child);
}

/* ---- the decision ---- */

static int causes_compare(const void *left, const void *right)
{
	const struct sn_cause *x = left, *y = right;

	if ((x->id == SN_CAUSE_DEADLOCK) != (y->id == SN_CAUSE_DEADLOCK))
		return x->id == SN_CAUSE_DEADLOCK ? -1 : 1;	    /* the program does not go on */
	if (sn_causes[x->id].competes != sn_causes[y->id].competes) /* nothing is at stake */
		return sn_causes[x->id].competes ? -1 : 1;
	if (x->rank_s != y->rank_s)
		return x->rank_s > y->rank_s ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static const struct sn_cause *first_of(const struct causes *causes, size_t from)
{
	for (size_t i = from; i < causes->count; i++)
		if (sn_causes[causes->items[i].id].competes)
			return &causes->items[i];
	return NULL;
}

static bool is_unseen(const struct sn_cause *cause)
{
	return cause->id == SN_CAUSE_UNTRACED || cause->id == SN_CAUSE_UNTRACED_ALONE;
}

/* The cause with most seconds, and the next. What nobody saw leads only where it is much more than
 * what was seen: threads that a runtime parks are blocked in futexes of its own all the time. */
static void leaders(const struct causes *causes, const struct sn_cause **first,
		    const struct sn_cause **second)
{
	const struct sn_cause *swapped;

	*first = first_of(causes, 0);
	*second = *first ? first_of(causes, (size_t)(*first - causes->items) + 1) : NULL;
	if (*second && (*first)->id == SN_CAUSE_OTHERS && is_unseen(*second)) {
		const struct sn_cause *third =
			first_of(causes, (size_t)(*second - causes->items) + 1);

		if (third && third->seconds * unseen_least >= (*second)->seconds)
			*second = third;
	} else if (*second && is_unseen(*first) &&
		   (*second)->seconds * unseen_least >= (*first)->seconds) {
		swapped = *first;
		*first = *second;
		*second = swapped;
	}
}

static bool is_too_short(const struct sn_evidence *e, const struct sn_cause *first)
{
	if (first && first->id == SN_CAUSE_DEADLOCK)
		return false;
	if (!first || sn_known(e->threads_s) < short_s)
		return e->samples < SAMPLES_GOOD;
	return sn_causes[first->id].is_of_samples && e->samples < SAMPLES_LEAST;
}

/* One step less sure where another cause is nearly as large, or the figures are weak. */
static enum sn_trust verdict_confidence(const struct sn_evidence *e, const struct sn_cause *first,
					const struct sn_cause *second)
{
	enum sn_trust confidence = first->confidence;

	if (first->id != SN_CAUSE_DEADLOCK && confidence != SN_TRUST_LOW &&
	    ((second && second->seconds >= rival_least * first->seconds) ||
	     (e->is_cut && sn_causes[first->id].is_of_samples) ||
	     e->overhead_share > overhead_most))
		confidence++;
	return confidence;
}

static const char *written(struct sn_arena *arena, const struct sn_evidence *e,
			   const struct sn_cause *cause, sn_cause_fn *write)
{
	struct sn_text text = { 0 };
	const char *words;

	write(e, cause, &text);
	words = sn_arena_strdup(arena, text.chars ? text.chars : "");
	sn_text_free(&text);
	return words;
}

static void add_finding(const struct sn_evidence *e, const struct sn_cause *cause,
			struct sn_arena *arena, struct sn_answer *out)
{
	out->findings[out->count++] = (struct sn_finding){
		.kind = sn_causes[cause->id].kind,
		.confidence = cause->confidence,
		.seconds = cause->seconds,
		.is_harmless = !sn_causes[cause->id].competes,
		.share = e->threads_s > 0 ? fmin(1, cause->seconds / e->threads_s) : NAN,
		.sentence = written(arena, e, cause, sn_causes[cause->id].sentence),
		.remedy = written(arena, e, cause, sn_causes[cause->id].remedy),
	};
}

static void findings_add(const struct sn_evidence *e, const struct causes *causes,
			 struct sn_arena *arena, struct sn_answer *out)
{
	for (size_t i = 0; i < causes->count && out->count < CAUSES_TOLD_MAX; i++)
		if (causes->items[i].seconds >= SN_FINDING_LEAST * e->threads_s)
			add_finding(e, &causes->items[i], arena, out);
}

/* Where others had the CPUs, what the program does is told in the same line. */
static const char *headline(const struct sn_evidence *e, const struct sn_cause *first,
			    const struct sn_cause *second, struct sn_arena *arena)
{
	const char *words = written(arena, e, first, sn_causes[first->id].headline), *more;

	if (first->id != SN_CAUSE_OTHERS || !second)
		return words;
	more = written(arena, e, second, sn_causes[second->id].headline);
	return sn_arena_printf(arena, "%s. Otherwise: %s", words, more);
}

static void tell_all(struct causes *causes, const struct sn_evidence *e)
{
	tell_cpu_time(causes, e);
	tell_cpus(causes, e);
	tell_pauses(causes, e);
	qsort(causes->items, causes->count, sizeof(*causes->items), causes_compare);
}

void sn_verdict_decide(const struct sn_evidence *e, struct sn_arena *arena, struct sn_answer *out)
{
	struct causes causes = { .evidence = e };
	const struct sn_cause *first, *second;

	memset(out, 0, sizeof(*out));
	tell_all(&causes, e);
	leaders(&causes, &first, &second);
	if (is_too_short(e, first)) {
		struct sn_cause nothing = {
			.id = SN_CAUSE_SHORT,
			.seconds = fmax(sn_known(e->threads_s), sn_known(e->cpu_s)),
		};

		add_finding(e, &nothing, arena, out);
		out->sentence = out->findings[0].sentence;
		out->kind = SN_VERDICT_TOO_SHORT;
		return;
	}
	out->kind = sn_causes[first->id].kind;
	out->confidence = verdict_confidence(e, first, second);
	/* the line is no surer than what it goes on with */
	if (first->id == SN_CAUSE_OTHERS && second && second->confidence > out->confidence)
		out->confidence = second->confidence;
	out->sentence = headline(e, first, second, arena);
	out->goes_on = first->id == SN_CAUSE_OTHERS && second;
	findings_add(e, &causes, arena, out);
}

void sn_verdict_add(struct sn_answer *answer, const struct sn_finding *finding)
{
	size_t at = answer->count;

	while (at > 0 && (answer->findings[at - 1].is_harmless ||
			  answer->findings[at - 1].seconds < finding->seconds))
		at--;
	if (at == SN_FINDINGS_MAX)
		return;
	if (answer->count == SN_FINDINGS_MAX)
		answer->count--;
	memmove(&answer->findings[at + 1], &answer->findings[at],
		(answer->count - at) * sizeof(*answer->findings));
	answer->findings[at] = *finding;
	answer->count++;
}

/* ---- JSON ---- */

void sn_verdict_write_json(const struct sn_answer *v, struct sn_json *json)
{
	sn_json_key(json, "verdict");
	sn_json_object(json);
	sn_json_member_string(json, "kind", sn_verdict_kind_name(v->kind));
	sn_json_member_string(json, "sentence", v->sentence);
	sn_json_member_string(json, "confidence", sn_trust_name(v->confidence));
	sn_json_close(json);
	sn_json_key(json, "findings");
	sn_json_array(json);
	for (size_t i = 0; i < v->count; i++) {
		const struct sn_finding *f = &v->findings[i];

		sn_json_object(json);
		sn_json_member_string(json, "kind", sn_verdict_kind_name(f->kind));
		sn_json_member_double(json, "seconds", f->seconds);
		sn_json_member_double(json, "share", f->share);
		sn_json_member_string(json, "sentence", f->sentence);
		sn_json_member_string(json, "remedy", f->remedy);
		sn_json_member_string(json, "confidence", sn_trust_name(f->confidence));
		sn_json_close(json);
	}
	sn_json_close(json);
}
