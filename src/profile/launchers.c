/* Launchers: by the ranks below a process, its name, and the CPU time below it. */
#include "profile/launchers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/process_tree.h"

enum {
	WORK_PART = 10, /* (chosen) of what its children use: such a process does nothing itself */
	RANK_PART =
		5, /* (chosen) as for phases: a process above one rank with more is the program */
};

bool sn_launcher_is_of_mpi(const char *command)
{
	static const char *const names[] = { "mpirun", "mpiexec", "orterun", "prterun", "srun" };
	size_t length = command ? strcspn(command, " \t") : 0, start = length;

	while (start > 0 && command[start - 1] != '/')
		start--;
	for (size_t i = 0; command && i < sizeof(names) / sizeof(*names); i++)
		if (sn_starts_with(command + start, names[i]))
			return true;
	return false;
}

/* CPU time of all that a process has started, and what that has started. */
static uint64_t *below_find(const struct sn_experiment *e, const int32_t *parents,
			    const uint64_t *cpu_ns)
{
	uint64_t *below = sn_alloc_zeroed(e->processes.count + 1, sizeof(*below));

	for (size_t p = 0; p < e->processes.count; p++) {
		int32_t above = parents[p];

		/* a damaged file may have a circle of parents */
		for (size_t steps = 0; above >= 0 && steps < e->processes.count;
		     steps++, above = parents[above])
			below[above] += cpu_ns[p];
	}
	return below;
}

static bool has_several_ranks(const struct sn_experiment *e)
{
	int32_t first = -1;

	for (size_t p = 0; p < e->processes.count; p++) {
		int32_t rank = e->processes.items[p].rank;

		if (rank >= 0 && first >= 0 && rank != first)
			return true;
		first = rank >= 0 ? rank : first;
	}
	return false;
}

static enum sn_launching launching_of(const struct sn_process *process, int32_t rank,
				      uint64_t cpu_ns, uint64_t below_ns)
{
	if (process->rank >= 0)
		return below_ns / WORK_PART > cpu_ns ? SN_LAUNCHES_WORK : SN_LAUNCHES_NOTHING;
	if (rank == SN_PROCESS_RANK_LAUNCHER)
		return SN_LAUNCHES_RANKS;
	if (rank >= 0 && (below_ns / RANK_PART > cpu_ns || sn_launcher_is_of_mpi(process->program)))
		return SN_LAUNCHES_RANKS;
	return below_ns / WORK_PART > cpu_ns ? SN_LAUNCHES_WORK : SN_LAUNCHES_NOTHING;
}

void sn_launchers_find(const struct sn_experiment *e, const uint64_t *cpu_ns, uint8_t *launching)
{
	size_t count = e->processes.count;
	int32_t *parents = sn_alloc_zeroed(count + 1, sizeof(*parents)),
		*ranks = sn_alloc_zeroed(count + 1, sizeof(*ranks));
	uint64_t *below;

	sn_process_parents(e, parents);
	sn_process_ranks(e, parents, ranks);
	below = below_find(e, parents, cpu_ns);
	for (size_t p = 0; p < count; p++)
		launching[p] = (uint8_t)launching_of(&e->processes.items[p], ranks[p], cpu_ns[p],
						     below[p]);
	/* ranks that something unseen started for it: a proxy, a daemon of the batch system */
	if (count && e->processes.items[0].rank < 0 && has_several_ranks(e) &&
	    sn_launcher_is_of_mpi(e->processes.items[0].program))
		launching[0] = SN_LAUNCHES_RANKS;
	free(parents);
	free(ranks);
	free(below);
}
