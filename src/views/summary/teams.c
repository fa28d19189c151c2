/*
 * Threads that wait for each other at barriers, more of them than there are CPUs. Beside other
 * programs hardly ever do more of them want a CPU at once than there are: one has no CPU, and the
 * rest sleep until it comes. So what they want at once does not tell them from a busy neighbour's
 * doing; that they share their work does (docs/method/verdict.md).
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "views/summary/evidence_parts.h"

/* Of a thread's time: less in calls that nobody traced is starting and ending. */
static const double untraced_least = 0.02;

struct team {
	size_t members;
	double want_s, most_s; /* CPU time and waiting for a CPU; of the one with most */
	double wait_s;	       /* for a CPU */
};

/* By thread: it waits at barriers or in an OpenMP runtime, asleep or actively. */
static bool *members_find(const struct sn_summary *s, bool has_openmp)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;
	bool *is_member = sn_alloc_zeroed(e->threads.count + 1, sizeof(*is_member));
	uint64_t *traced_ns = sn_alloc_zeroed(e->threads.count + 1, sizeof(*traced_ns));

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		int pause = sn_evidence_pause_of(p->program, wait->stack, wait->kind);

		traced_ns[wait->thread] += p->blocked_ns[i];
		is_member[wait->thread] |= pause == SN_PAUSE_BARRIER || pause == SN_PAUSE_OPENMP;
	}
	for (size_t i = 0; i < p->thread_times.count; i++) {
		const struct sn_class *class = &p->program->classes[p->thread_times.items[i].stack];

		is_member[p->thread_times.items[i].thread] |=
			class->is_spin && class->user == SN_CATEGORY_OPENMP;
	}
	for (size_t t = 0; has_openmp && t < e->threads.count; t++) {
		const struct sn_time_account *a = &e->threads.items[t].account;

		is_member[t] |=
			a->blocked_ns >= 0 && (double)a->blocked_ns - (double)traced_ns[t] >
						      untraced_least * (double)a->elapsed_ns;
	}
	free(traced_ns);
	return is_member;
}

static void member_add(struct team *team, const struct sn_time_account *a)
{
	double wait = (double)a->wait_cpu_ns / 1e9,
	       want = (double)(a->user_ns + a->system_ns) / 1e9 + wait;

	team->members++;
	team->want_s += want;
	team->wait_s += wait;
	team->most_s = want > team->most_s ? want : team->most_s;
}

/* The part of their wanting that they do together: the mean of all but the one with most is what
 * each has of it, for that one may work alone between the regions. */
static double together(const struct team *team)
{
	double members = (double)team->members,
	       shared = members / (members - 1) * (team->want_s - team->most_s);

	return team->want_s > 0 ? fmin(1, shared / team->want_s) : 0;
}

/* Of a team of five on two CPUs three are too many: without these, three fifths of the waiting
 * would not be. */
static double too_many_s(const struct team *team, unsigned cpus)
{
	if (team->members <= cpus || team->members < 2)
		return 0;
	return team->wait_s * together(team) * (double)(team->members - cpus) /
	       (double)team->members;
}

double sn_evidence_team_wait_s(const struct sn_summary *s, unsigned cpus, bool has_openmp,
			       size_t *largest)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;
	struct team *teams = sn_alloc_zeroed(e->processes.count + 1, sizeof(*teams));
	bool *is_member = members_find(s, has_openmp);
	double sum = 0;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];

		if (is_member[t] && p->is_at_work[t] && thread->process < e->processes.count &&
		    thread->account.user_ns >= 0 && thread->account.system_ns >= 0 &&
		    thread->account.wait_cpu_ns >= 0)
			member_add(&teams[thread->process], &thread->account);
	}
	*largest = 0;
	for (size_t i = 0; i < e->processes.count; i++) {
		sum += too_many_s(&teams[i], cpus);
		*largest = teams[i].members > *largest ? teams[i].members : *largest;
	}
	free(is_member);
	free(teams);
	return sum;
}
