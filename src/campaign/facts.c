/* Reads a run's facts from its experiment; counts the ranks and threads that it really had. */
#include "campaign/facts.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/stats.h"

/* As in the profile: threads with less than this part of the busiest one's CPU time are helpers. */
static const double AT_WORK = 0.01;
/* A first thread and the others never ran at once, if the times at which they ran or waited for a CPU fit
 * into the elapsed time. On a busy machine the CPU times alone always do. */
static const double ROOM = 1.05;

struct sn_run_facts sn_run_facts_unknown(void)
{
	return (struct sn_run_facts){ .elapsed_s = NAN,
				      .cpu_s = NAN,
				      .samples = -1,
				      .lost = -1,
				      .output_bytes = -1,
				      .ranks = -1,
				      .threads_least = -1,
				      .threads_most = -1 };
}

bool sn_run_has_ended(const struct sn_experiment *e)
{
	return !e->is_salvaged && e->exit_status >= 0;
}

const char *sn_run_program(const struct sn_experiment *e)
{
	double *cpu_s = sn_alloc_zeroed(e->processes.count + 1, sizeof(*cpu_s));
	size_t most = 0;
	const char *path;

	for (size_t i = 0; i < e->samples.count; i++) {
		uint32_t process = e->threads.items[e->samples.items[i].thread].process;

		cpu_s[process] += (double)e->samples.items[i].cpu_ns;
		if (cpu_s[process] > cpu_s[most])
			most = process;
	}
	free(cpu_s);
	path = most < e->processes.count ? e->processes.items[most].program : NULL;
	if (!path || !*path)
		path = e->program;
	return path ? sn_base_name(path) : "";
}

/* ---- ranks and threads ---- */

struct moment {
	int64_t at_ns;
	int change; /* +1: a thread begins; -1: it ends */
};

static int moments_compare(const void *left, const void *right)
{
	const struct moment *x = left, *y = right;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->change - y->change; /* ends first */
}

static double cpu_of(const struct sn_thread *thread)
{
	return thread->account.user_ns < 0 || thread->account.system_ns < 0
		       ? 0
		       : sn_seconds(thread->account.user_ns + thread->account.system_ns);
}

/* Threads of a rank (of all processes without one), and at most so many at once with `least_s`. */
static int32_t at_once(const struct sn_experiment *e, int32_t rank, double least_s,
		       struct moment *moments)
{
	size_t count = 0;
	int32_t now = 0, most = 0;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];

		if (e->processes.items[thread->process].rank != rank || cpu_of(thread) < least_s)
			continue;
		moments[count++] = (struct moment){ thread->start_ns, 1 };
		moments[count++] = (struct moment){ thread->end_ns, -1 };
	}
	qsort(moments, count, sizeof(*moments), moments_compare);
	for (size_t i = 0; i < count; i++) {
		now += moments[i].change;
		most = now > most ? now : most;
	}
	return most;
}

static double ready_of(const struct sn_thread *thread)
{
	return cpu_of(thread) +
	       sn_seconds(thread->account.wait_cpu_ns > 0 ? thread->account.wait_cpu_ns : 0);
}

/* The most that one thread has: of the first threads of processes, and of all others. */
struct busiest {
	double first_s, other_s;	     /* CPU time */
	double first_ready_s, other_ready_s; /* with the time waited for a CPU */
};

static struct busiest busiest_of(const struct sn_experiment *e, int32_t rank)
{
	struct busiest busiest = { 0 };

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		const struct sn_process *process = &e->processes.items[thread->process];
		bool is_first = thread->tid == process->pid;
		double *cpu_s = is_first ? &busiest.first_s : &busiest.other_s;
		double *ready_s = is_first ? &busiest.first_ready_s : &busiest.other_ready_s;

		if (process->rank != rank)
			continue;
		*cpu_s = fmax(*cpu_s, cpu_of(thread));
		*ready_s = fmax(*ready_s, ready_of(thread));
	}
	return busiest;
}

static void threads_count(const struct sn_experiment *e, int32_t rank, struct moment *moments,
			  struct sn_run_facts *facts)
{
	struct busiest busiest = busiest_of(e, rank);
	double least = AT_WORK * fmax(busiest.first_s, busiest.other_s);
	int32_t working = at_once(e, rank, fmax(least, 1e-9), moments);
	int32_t alive = at_once(e, rank, 0, moments);

	/* a first thread that prepares and waits for the others is none of the team */
	if (working > 1 && busiest.first_s >= least && busiest.other_s > 0 &&
	    busiest.first_ready_s + busiest.other_ready_s <= ROOM * sn_seconds(e->elapsed_ns))
		working--;
	if (working > facts->threads_least)
		facts->threads_least = working;
	if (facts->threads_most < 0 || alive < facts->threads_most)
		facts->threads_most = alive;
}

static int ranks_compare(const void *left, const void *right)
{
	int32_t x = *(const int32_t *)left, y = *(const int32_t *)right;

	return (x > y) - (x < y);
}

/* By rank: each, or all processes if they have none. Processes without a rank beside those that have
 * one are helpers of the launcher. */
static void workers_count(const struct sn_experiment *e, struct sn_run_facts *facts)
{
	int32_t *ranks = sn_alloc_zeroed(e->processes.count + 1, sizeof(*ranks));
	struct moment *moments = sn_alloc_zeroed(2 * e->threads.count + 1, sizeof(*moments));

	for (size_t p = 0; p < e->processes.count; p++)
		ranks[p] = e->processes.items[p].rank;
	qsort(ranks, e->processes.count, sizeof(*ranks), ranks_compare);
	facts->ranks = 0;
	for (size_t p = 0; p < e->processes.count; p++) {
		if (ranks[p] < 0 || (p && ranks[p] == ranks[p - 1]))
			continue;
		facts->ranks++;
		threads_count(e, ranks[p], moments, facts);
	}
	if (!facts->ranks && e->processes.count) {
		facts->ranks = 1;
		threads_count(e, -1, moments, facts);
	}
	free(ranks);
	free(moments);
}

struct sn_run_facts sn_run_facts_of(const struct sn_experiment *e)
{
	struct sn_run_facts facts = sn_run_facts_unknown();
	int64_t cpu_ns = 0;
	bool is_known = e->processes.count > 0;

	facts.elapsed_s = sn_seconds(e->elapsed_ns);
	facts.samples = facts.lost = 0;
	for (size_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];

		is_known &= process->account.user_ns >= 0 && process->account.system_ns >= 0;
		cpu_ns += process->account.user_ns + process->account.system_ns;
		for (int k = 0; k < SN_LOSS_KINDS; k++)
			facts.lost += (int64_t)process->losses[k];
	}
	for (size_t s = 0; s < e->samples.count; s++)
		facts.samples += !(e->samples.items[s].flags & SN_SAMPLE_REMAINDER);
	facts.cpu_s = is_known ? sn_seconds(cpu_ns) : NAN;
	workers_count(e, &facts);
	return facts;
}

bool sn_run_is_as_asked(const struct sn_run_facts *facts, uint32_t ranks, uint32_t threads,
			uint32_t helpers, struct sn_text *reason)
{
	if (ranks && facts->ranks != (int32_t)ranks) {
		sn_text_addf(
			reason,
			"%d rank%s ran where %u were asked for: does the program use the MPI of "
			"this launcher?",
			facts->ranks, facts->ranks == 1 ? "" : "s", ranks);
		return false;
	}
	if (threads && facts->threads_least - (int64_t)helpers > threads) {
		sn_text_addf(reason,
			     "%d threads worked at once in a rank where %u were asked for; if it "
			     "has helpers besides, helper_threads = %u (--helper-threads) allows "
			     "them",
			     facts->threads_least, threads,
			     facts->threads_least - (int32_t)threads);
		return false;
	}
	if (threads && facts->threads_most < (int32_t)threads) {
		sn_text_addf(reason,
			     "%d thread%s ran in a rank where %u were asked for: does the program "
			     "heed OMP_NUM_THREADS, or need {threads} in its arguments?",
			     facts->threads_most, facts->threads_most == 1 ? "" : "s", threads);
		return false;
	}
	return true;
}
