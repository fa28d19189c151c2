/*
 * Nothing is known of a program's buffers. But a baseline that differs by what was tried just before it has
 * something left of that. A buffer behind the progress point does not show in its steps; while it fills or
 * drains, the stages on both sides of it work unequally, so that a step has more samples or fewer.
 */
#include "causal/carry.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/stats.h"
#include "causal/estimate.h"

/* The chance that something is said to be carried over where nothing is. */
#define CHANCE_OF_ALL 0.01
/* Less is no more than what effects may be off by for other reasons (0.03 is the method's goal). Samples of
 * a step vary more than steps do. */
#define STEPS_LEAST 0.03
#define WORK_LEAST  0.06

enum { GROUP_LEAST = 2, FREEDOM_LEAST = 4 };

/* Baselines behind the same kind of experiment. */
struct group {
	int32_t candidate;
	double speedup;
	double sum;
	size_t count;
};

struct groups {
	SN_VEC(struct group) all;
	double sum, squares; /* of the values; of what they are off from their group's mean */
	size_t count;
};

enum what { STEPS, WORK };

static double value_of(const struct sn_causal_trial *trial, enum what what)
{
	return what == STEPS ? log(trial->step_ns)
			     : log((double)trial->samples / (double)trial->visits);
}

static bool is_usable(const struct sn_causal_trial *trial, int64_t settle_ns)
{
	return trial->settle_ns == settle_ns && trial->step_ns > 0 && trial->visits;
}

static struct group *group_of(struct groups *groups, const struct sn_causal_trial *before)
{
	struct group new = { .candidate = before->candidate, .speedup = before->speedup };

	for (size_t g = 0; g < groups->all.count; g++)
		if (groups->all.items[g].candidate == before->candidate &&
		    groups->all.items[g].speedup == before->speedup)
			return &groups->all.items[g];
	sn_vec_push(&groups->all, new);
	return &groups->all.items[groups->all.count - 1];
}

static struct groups make_groups(const struct sn_causal_log *log, int64_t settle_ns, enum what what)
{
	struct groups groups = { 0 };

	for (size_t i = 1; i < log->trials.count; i++) {
		const struct sn_causal_trial *trial = &log->trials.items[i], *before = trial - 1;

		if (trial->candidate != SN_CAUSAL_BASELINE || before->run != trial->run ||
		    !is_usable(trial, settle_ns) || (what == WORK && !trial->samples))
			continue;
		struct group *group = group_of(&groups, before);
		double value = value_of(trial, what);
		/* mean and squares as they come (B. Welford, Technometrics 4, 1962) */
		double off = group->count ? value - group->sum / (double)group->count : 0;

		groups.squares += off * off * (double)group->count / (double)(group->count + 1);
		group->sum += value;
		group->count++;
		groups.sum += value;
		groups.count++;
	}
	return groups;
}

/* How far the group that differs most is from all others. */
static double most_of(const struct groups *groups, double least)
{
	size_t freedom = groups->count - groups->all.count;
	double most = 0, chance_most;

	if (groups->all.count < 2 || groups->count < groups->all.count + FREEDOM_LEAST)
		return 0;
	/* of steps and of samples */
	chance_most = CHANCE_OF_ALL / (2 * (double)groups->all.count);
	for (size_t g = 0; g < groups->all.count; g++) {
		const struct group *group = &groups->all.items[g];
		double others = (double)(groups->count - group->count);
		double off =
			group->sum / (double)group->count - (groups->sum - group->sum) / others;
		double deviation = sqrt(groups->squares / (double)freedom *
					(1 / (double)group->count + 1 / others));

		if (group->count >= GROUP_LEAST && fabs(off) >= least && fabs(off) > most &&
		    sn_student_p(off / fmax(deviation, 1e-9), (double)freedom) < chance_most)
			most = fabs(off);
	}
	return most;
}

double sn_causal_carried(const struct sn_causal_log *log, int64_t settle_ns)
{
	double most = 0;

	for (enum what what = STEPS; what <= WORK; what++) {
		struct groups groups = make_groups(log, settle_ns, what);

		most = fmax(most, most_of(&groups, what == STEPS ? STEPS_LEAST : WORK_LEAST));
		sn_vec_free(&groups.all);
	}
	return most;
}

/* The next longer settling time of the log; 0: there is none. */
static int64_t longer_than(const struct sn_causal_log *log, int64_t settle_ns)
{
	int64_t next_ns = 0;

	for (size_t i = 0; i < log->trials.count; i++) {
		int64_t own_ns = log->trials.items[i].settle_ns;

		if (own_ns > settle_ns && (!next_ns || own_ns < next_ns))
			next_ns = own_ns;
	}
	return next_ns;
}

/* Whether answers can rest on what settled for so long: a longer time that a few experiments have tried is no reason to
 * forget all others. */
static bool are_enough(const struct sn_causal_log *log, int64_t settle_ns)
{
	size_t least = SIZE_MAX;

	for (size_t c = 0; c < log->candidates.count; c++) {
		size_t count = 0;

		for (size_t i = 0; i < log->trials.count; i++)
			count += log->trials.items[i].candidate == (int32_t)c &&
				 log->trials.items[i].settle_ns >= settle_ns;
		if (count && count < least)
			least = count;
	}
	return least != SIZE_MAX && least >= SN_CAUSAL_BLOCKS_LEAST;
}

/* The shortest time of the log at which nothing is carried over, or else the longest; `is_for_answers`: of those that have
 * experiments enough. */
static int64_t settled_ns(const struct sn_causal_log *log, bool is_for_answers, double *carried)
{
	int64_t settle_ns = longer_than(log, 0), longer_ns;

	*carried = 0;
	/* whole runs leave nothing behind */
	if (log->kind[0] == 'e')
		return settle_ns;
	while ((*carried = sn_causal_carried(log, settle_ns)) > 0 &&
	       (longer_ns = longer_than(log, settle_ns)) > 0 &&
	       (!is_for_answers || are_enough(log, longer_ns)))
		settle_ns = longer_ns;
	return settle_ns;
}

int64_t sn_causal_settled_ns(const struct sn_causal_log *log, double *carried)
{
	return settled_ns(log, true, carried);
}

int64_t sn_causal_settle_next_ns(const struct sn_causal_log *log)
{
	double carried;
	int64_t settled = settled_ns(log, false, &carried);

	if (settled < SN_CAUSAL_SETTLE_LEAST_NS)
		return SN_CAUSAL_SETTLE_LEAST_NS;
	if (!(carried > 0))
		return settled;
	return settled < SN_CAUSAL_SETTLE_NEXT_NS ? SN_CAUSAL_SETTLE_NEXT_NS
						  : SN_CAUSAL_SETTLE_MOST_NS;
}
