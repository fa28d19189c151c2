/*
 * Time off CPUs, for the verdict: what each wait is for, and how much of it anyone could win back.
 *
 * A thread that hardly works and waits while others do (a pool without work, a main thread, an
 * event loop beside its workers) loses nothing: only what is left when nobody works counts. For
 * that the run is cut into equal slices, and each knows how many threads worked in it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/launchers.h"
#include "views/summary/evidence_parts.h"

enum { SLICES = 1024, WORK_LEAST_PART = 100 };

/* A thread is idle that works for less of the time that it works or is blocked. What it waits for a
 * CPU says nothing of it. */
static const double idle_most = 0.25;

/* What is no pause: waiting for one's own threads. */
enum { WAIT_JOIN = SN_PAUSES };

struct slices {
	struct sn_summary *summary;
	int64_t from_ns, to_ns;
	double width_ns;
	double active[SLICES];	 /* threads that worked or wanted to */
	double rooted[SLICES];	 /* threads in a wait that others may follow from: I/O, sleep */
	double signal[SLICES];	 /* threads that wait for another's signal, as far as that costs */
	double untraced[SLICES]; /* threads that are blocked nobody knows in what, likewise */
	double own[SLICES];	 /* of the thread looked at */
	uint32_t *children;	 /* processes by parent's pid */
};

/* The waits of one thread: [first, end). */
struct thread_waits {
	uint32_t thread;
	size_t first, end;
};

static void slices_add(const struct slices *s, double *slices, int64_t from, int64_t to,
		       double weight)
{
	double begin = ((double)(from - s->from_ns)) / s->width_ns,
	       end = ((double)(to - s->from_ns)) / s->width_ns;

	begin = fmax(0, begin);
	end = fmin(SLICES, end);
	for (size_t i = (size_t)begin; (double)i < end && i < SLICES; i++)
		slices[i] += weight * (fmin(end, (double)i + 1) - fmax(begin, (double)i));
}

/* The mean of a slice's value over a range of time, at most 1 each. */
static double mean_of(const struct slices *s, const double *values, const double *less,
		      int64_t from, int64_t to)
{
	double begin = fmax(0, ((double)(from - s->from_ns)) / s->width_ns),
	       end = fmin(SLICES, ((double)(to - s->from_ns)) / s->width_ns), sum = 0;

	for (size_t i = (size_t)begin; (double)i < end && i < SLICES; i++)
		sum += (fmin(end, (double)i + 1) - fmax(begin, (double)i)) *
		       fmin(1, fmax(0, values[i] - (less ? less[i] : 0)));
	return end > begin ? sum / (end - begin) : 0;
}

static int64_t wait_end(const struct sn_wait *wait)
{
	int64_t end;

	return wait->duration_ns > INT64_MAX ||
			       __builtin_add_overflow(wait->time_ns, (int64_t)wait->duration_ns,
						      &end)
		       ? INT64_MAX
		       : end;
}

/* ---- what a wait is for ---- */

int sn_evidence_pause_of(const struct sn_program *program, uint32_t stack, uint32_t kind)
{
	static const int plain[SN_WAIT_KINDS] = {
		[SN_WAIT_LOCK] = SN_PAUSE_LOCK,	   [SN_WAIT_CONDITION] = SN_PAUSE_SIGNAL,
		[SN_WAIT_IO] = SN_PAUSE_IO,	   [SN_WAIT_POLL] = SN_PAUSE_POLL,
		[SN_WAIT_SLEEP] = SN_PAUSE_SLEEP,  [SN_WAIT_CHILD] = SN_PAUSE_CHILD,
		[SN_WAIT_OTHER] = SN_PAUSE_SIGNAL, [SN_WAIT_JOIN] = WAIT_JOIN,
	};
	enum sn_mpi_call call = sn_mpi_call_of(program, stack);
	const char *name;

	stack = stack < program->stack_count ? stack : program->stack_count;
	name = program->functions.items[sn_program_leaf(program, stack)->function].linkage_name;
	if (call != SN_MPI_CALL_NONE)
		return call == SN_MPI_CALL_START ? SN_PAUSE_MPI_START : SN_PAUSE_MPI;
	if (program->classes[stack].user == SN_CATEGORY_OPENMP)
		return SN_PAUSE_OPENMP;
	if (kind == SN_WAIT_CONDITION && strstr(name, "barrier"))
		return SN_PAUSE_BARRIER;
	return plain[kind < SN_WAIT_KINDS ? kind : SN_WAIT_OTHER];
}

static bool is_root(int pause)
{
	return pause == SN_PAUSE_IO || pause == SN_PAUSE_POLL || pause == SN_PAUSE_SLEEP ||
	       pause == SN_PAUSE_LOCK;
}

/* ---- who works when ---- */

static double blocked_sum(const struct slices *s, const struct thread_waits *w)
{
	const struct sn_profile *p = s->summary->profile;
	uint64_t sum = 0;

	for (size_t i = w->first; i < w->end; i++)
		sum += p->blocked_ns[i];
	return (double)sum;
}

/* The part of a thread's time outside of traced waits that it works or wants to. */
static double activity_of(const struct sn_thread *thread, double blocked_ns)
{
	const struct sn_time_account *a = &thread->account;
	double left = (double)a->elapsed_ns - blocked_ns, running;

	if (a->elapsed_ns <= 0 || a->user_ns < 0 || a->system_ns < 0)
		return 0;
	running = (double)(a->user_ns + a->system_ns + (a->wait_cpu_ns > 0 ? a->wait_cpu_ns : 0));
	return left > 0 ? fmin(1, running / left) : 0;
}

static void own_find(struct slices *s, const struct thread_waits *w)
{
	const struct sn_profile *p = s->summary->profile;
	const struct sn_experiment *e = p->experiment;
	const struct sn_thread *thread = &e->threads.items[w->thread];
	double activity = activity_of(thread, blocked_sum(s, w));

	memset(s->own, 0, sizeof(s->own));
	slices_add(s, s->own, thread->start_ns, thread->end_ns, activity);
	for (size_t i = w->first; i < w->end; i++) {
		const struct sn_wait *wait = &e->waits.items[i];

		if (wait->duration_ns)
			slices_add(s, s->own, wait->time_ns, wait_end(wait),
				   -activity * (double)p->blocked_ns[i] /
					   (double)wait->duration_ns);
	}
}

static void active_add(struct slices *s, const struct thread_waits *w)
{
	const struct sn_profile *p = s->summary->profile;

	own_find(s, w);
	for (size_t i = 0; i < SLICES; i++)
		s->active[i] += fmax(0, s->own[i]);
	for (size_t i = w->first; i < w->end; i++) {
		const struct sn_wait *wait = &p->experiment->waits.items[i];

		if (is_root(sn_evidence_pause_of(p->program, wait->stack, wait->kind)))
			slices_add(s, s->rooted, wait->time_ns, wait_end(wait), 1);
	}
}

static bool is_idle(const struct sn_thread *thread)
{
	const struct sn_time_account *a = &thread->account;

	return a->elapsed_ns > 0 && a->user_ns >= 0 && a->system_ns >= 0 &&
	       (double)(a->user_ns + a->system_ns) <
		       idle_most *
			       (double)(a->elapsed_ns - (a->wait_cpu_ns > 0 ? a->wait_cpu_ns : 0));
}

/* ---- children ---- */

static int parents_compare(const void *left, const void *right, void *context)
{
	const struct sn_experiment *e = context;
	int32_t x = e->processes.items[*(const uint32_t *)left].parent_pid,
		y = e->processes.items[*(const uint32_t *)right].parent_pid;

	return (x > y) - (x < y);
}

static uint32_t *children_sort(const struct sn_experiment *e)
{
	uint32_t *order = sn_alloc_zeroed(e->processes.count + 1, sizeof(*order));

	for (uint32_t i = 0; i < e->processes.count; i++)
		order[i] = i;
	qsort_r(order, e->processes.count, sizeof(*order), parents_compare, (void *)e);
	return order;
}

/* The part of a wait during which a measured child of its process lived. */
static double child_share(const struct slices *s, const struct sn_wait *wait)
{
	const struct sn_experiment *e = s->summary->profile->experiment;
	const struct sn_process *process =
		&e->processes.items[e->threads.items[wait->thread].process];
	int64_t from = wait->time_ns, to = wait_end(wait), lived = 0;
	size_t low = 0, high = e->processes.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (e->processes.items[s->children[middle]].parent_pid < process->pid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < e->processes.count; low++) {
		const struct sn_process *child = &e->processes.items[s->children[low]];
		int64_t begin = child->start_ns > from ? child->start_ns : from,
			end = child->end_ns < to ? child->end_ns : to;

		if (child->parent_pid != process->pid)
			break;
		if (!strcmp(child->host, process->host) && end > begin)
			lived += end - begin;
	}
	return to > from ? fmin(1, (double)lived / (double)(to - from)) : 0;
}

/* ---- all waits ---- */

static double busy_share(const struct slices *s, const struct sn_wait *wait)
{
	return mean_of(s, s->active, s->own, wait->time_ns, wait_end(wait));
}

static void child_add(const struct slices *s, const struct sn_wait *wait, double seconds,
		      struct sn_evidence *out)
{
	double measured = child_share(s, wait);

	out->child_s += seconds * fmin(measured, busy_share(s, wait));
	out->pauses_s[SN_PAUSE_CHILD] += seconds * (1 - measured);
}

/* What merely waits for its children says nothing that these do not: make waits in pselect, a shell
 * reads from its children's pipe, a script looks every tenth of a second whether they have ended. */
static bool launches_work(const struct sn_profile *p, uint32_t thread)
{
	uint32_t process = p->experiment->threads.items[thread].process;

	return process < p->experiment->processes.count &&
	       p->launching[process] != SN_LAUNCHES_NOTHING;
}

/* The part of a launcher's wait that is no cause of its own, in seconds. */
static double launching_take(const struct slices *s, const struct sn_wait *wait, double seconds,
			     struct sn_evidence *out)
{
	double taken = launches_work(s->summary->profile, wait->thread)
			       ? seconds * child_share(s, wait)
			       : 0;

	if (taken > 0)
		out->child_s += fmin(taken, seconds * busy_share(s, wait));
	return taken;
}

static void wait_add(struct slices *s, const struct sn_wait *wait, bool in_idle_thread,
		     struct sn_evidence *out)
{
	const struct sn_profile *p = s->summary->profile;
	double seconds = (double)sn_profile_wait_ns(p, wait) / 1e9;
	int pause = sn_evidence_pause_of(p->program, wait->stack, wait->kind);
	bool may_idle = pause == SN_PAUSE_SIGNAL || pause == SN_PAUSE_IO ||
			pause == SN_PAUSE_POLL || pause == SN_PAUSE_SLEEP;

	if (!(seconds > 0))
		return;
	if (pause == WAIT_JOIN) {
		out->join_s += seconds;
		return;
	}
	if (pause == SN_PAUSE_CHILD) {
		child_add(s, wait, seconds, out);
		return;
	}
	seconds -= may_idle ? launching_take(s, wait, seconds, out) : 0;
	if (in_idle_thread && may_idle) {
		double taken = busy_share(s, wait);

		if (pause == SN_PAUSE_SIGNAL)
			taken = fmax(taken,
				     mean_of(s, s->rooted, NULL, wait->time_ns, wait_end(wait)));
		seconds *= 1 - taken;
	}
	if (pause == SN_PAUSE_SIGNAL)
		slices_add(s, s->signal, wait->time_ns, wait_end(wait),
			   seconds * 1e9 / (double)wait->duration_ns);
	else
		out->pauses_s[pause] += seconds;
}

/* Where threads of the program have the CPUs, a thread that waits for a signal of theirs could not
 * run either. So these waits cost at most the CPUs left free. The same holds for waits that nothing
 * traced: runtimes of languages keep threads that sleep in futexes of their own. */
static double capped_s(const struct slices *s, const double *values, unsigned cpus)
{
	double sum = 0;

	for (size_t i = 0; i < SLICES; i++)
		sum += fmin(values[i], fmax(0, cpus - s->active[i]));
	return sum * s->width_ns / 1e9;
}

static bool has_openmp(const struct sn_profile *p)
{
	for (size_t m = 0; m < p->experiment->modules.count; m++)
		if (p->program->module_classes[m] == SN_MODULE_CLASS_OPENMP)
			return true;
	return false;
}

/* The one thread of a child that only waits: a daemon, an orphan. What others wait for it, they
 * tell themselves. */
static bool hardly_worked(const struct sn_profile *p, uint32_t thread)
{
	uint64_t most = 0;

	for (size_t t = 0; t < p->experiment->threads.count; t++)
		most = p->threads[t].cpu_ns > most ? p->threads[t].cpu_ns : most;
	return p->experiment->threads.items[thread].process > 0 &&
	       p->threads[thread].cpu_ns * WORK_LEAST_PART < most;
}

/* Blocked by the kernel's account, and in no traced call. OpenMP runtimes call futex themselves. */
static void untraced_add(struct slices *s, const struct thread_waits *w, struct sn_evidence *out)
{
	const struct sn_profile *p = s->summary->profile;
	const struct sn_thread *thread = &p->experiment->threads.items[w->thread];
	double left = ((double)thread->account.blocked_ns - blocked_sum(s, w)) / 1e9;
	enum sn_pause pause = has_openmp(p) ? SN_PAUSE_OPENMP : SN_PAUSE_UNTRACED;

	if (thread->account.blocked_ns < 0 || !(left > 0) || p->is_filtered)
		return;
	if (pause == SN_PAUSE_OPENMP) {
		out->pauses_s[pause] += left;
		return;
	}
	if (hardly_worked(p, w->thread))
		return;
	if (thread->end_ns > thread->start_ns)
		left -= launching_take(
			s,
			&(struct sn_wait){ .thread = w->thread,
					   .time_ns = thread->start_ns,
					   .duration_ns =
						   (uint64_t)(thread->end_ns - thread->start_ns) },
			left, out);
	if (is_idle(thread))
		left *= 1 - mean_of(s, s->active, s->own, thread->start_ns, thread->end_ns);
	slices_add(s, s->untraced, thread->start_ns, thread->end_ns,
		   left * 1e9 / (double)(thread->end_ns - thread->start_ns));
}

static void thread_add(struct slices *s, const struct thread_waits *w, struct sn_evidence *out)
{
	const struct sn_profile *p = s->summary->profile;
	bool idle = is_idle(&p->experiment->threads.items[w->thread]);

	own_find(s, w);
	for (size_t i = w->first; i < w->end; i++)
		wait_add(s, &p->experiment->waits.items[i], idle, out);
	untraced_add(s, w, out);
}

static void each_thread(struct slices *s, struct sn_evidence *out)
{
	const struct sn_profile *p = s->summary->profile;
	const struct sn_experiment *e = p->experiment;
	size_t at = 0;

	for (uint32_t t = 0; t < e->threads.count; t++) {
		struct thread_waits w = { .thread = t };

		while (at < e->waits.count && e->waits.items[at].thread < t)
			at++;
		w.first = at;
		while (at < e->waits.count && e->waits.items[at].thread == t)
			at++;
		w.end = at;
		if (!p->is_at_work[t])
			continue;
		if (out)
			thread_add(s, &w, out);
		else
			active_add(s, &w);
	}
}

/* ---- waiting for a CPU ---- */

static bool is_one_program(const struct sn_profile *p, unsigned cpus)
{
	const struct sn_experiment *e = p->experiment;
	double *wanted = sn_alloc_zeroed(e->processes.count + 1, sizeof(*wanted));
	bool is_one = false;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		const struct sn_process *process = &e->processes.items[thread->process];
		const struct sn_time_account *a = &thread->account;
		double elapsed = (double)(process->end_ns - process->start_ns);

		if (elapsed > 0 && a->user_ns >= 0 && a->wait_cpu_ns >= 0)
			wanted[thread->process] +=
				(double)(a->user_ns + a->system_ns + a->wait_cpu_ns) / elapsed;
		is_one |= wanted[thread->process] > 1.05 * cpus;
	}
	free(wanted);
	return is_one;
}

/* More threads wanted a CPU than there were, or share their work: that part of the waiting is the
 * program's own. */
static void cpu_waits_find(const struct slices *s, struct sn_evidence *out)
{
	double wait = s->summary->threads_wait_cpu_s, own = 0, team,
	       spin = out->spin_openmp_s + out->spin_lock_s + out->spin_mpi_s;

	if (!(wait > 0))
		return;
	for (size_t i = 0; i < SLICES; i++)
		own += fmax(0, s->active[i] - out->cpus) * s->width_ns / 1e9;
	team = sn_evidence_team_wait_s(s->summary, out->cpus, has_openmp(s->summary->profile),
				       &out->team);
	own = fmin(fmax(own, team), wait);
	out->wait_others_s = wait - own;
	if (team > 0 || spin > 0.05 * out->cpu_s || is_one_program(s->summary->profile, out->cpus))
		out->wait_own_s = own;
	else
		out->wait_jobs_s = own;
}

/* ---- names ---- */

static void places_find(const struct sn_summary *s, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;

	out->pauses[SN_PAUSE_OPENMP].what = "the OpenMP runtime";
	for (size_t i = s->waits.items.count; i-- > 0;) { /* the longest last */
		const struct sn_wait_group *g = &s->waits.items.items[i];
		int pause = sn_evidence_pause_of(program, g->stack, g->kind);
		struct sn_evidence_place place = {
			.what = program->functions.items[g->function].name,
			.seconds = (double)g->blocked_ns / 1e9
		};

		if (g->caller != SN_NONE)
			place.caller = program->functions.items[g->caller].name;
		if (g->line != SN_NONE && program->lines.items[g->line].line) {
			place.file = sn_base_name(program->lines.items[g->line].file);
			place.line = program->lines.items[g->line].line;
		}
		if (pause == SN_PAUSE_MPI || pause == SN_PAUSE_MPI_START)
			continue; /* several sites make one call */
		if (pause < SN_PAUSES && place.seconds > out->pauses[pause].seconds)
			out->pauses[pause] = place;
		if (pause == SN_PAUSE_CHILD)
			out->child = place;
	}
}

static void span_find(struct slices *s)
{
	const struct sn_experiment *e = s->summary->profile->experiment;

	s->from_ns = 0;
	s->to_ns = e->elapsed_ns;
	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].end_ns > s->to_ns)
			s->to_ns = e->threads.items[t].end_ns;
	s->width_ns = s->to_ns > 0 ? (double)s->to_ns / SLICES : 1;
}

void sn_evidence_find_time(struct sn_summary *summary, struct sn_evidence *out)
{
	struct slices *s = sn_alloc_zeroed(1, sizeof(*s));
	double account = 0;

	s->summary = summary;
	s->children = children_sort(summary->profile->experiment);
	span_find(s);
	each_thread(s, NULL);
	each_thread(s, out);
	out->cpus = sn_experiment_cpus(summary->profile->experiment);
	out->pauses_s[SN_PAUSE_SIGNAL] += capped_s(s, s->signal, out->cpus);
	out->pauses_s[SN_PAUSE_UNTRACED] += capped_s(s, s->untraced, out->cpus);
	cpu_waits_find(s, out);
	places_find(summary, out);
	sn_evidence_find_mpi_calls(summary, out);
	for (int i = 0; i < SN_PAUSES; i++)
		account += out->pauses_s[i];
	if (isnan(out->threads_s)) /* what is known of it */
		out->threads_s = out->cpu_s + account;
	free(s->children);
	free(s);
}
