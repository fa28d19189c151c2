/*
 * Ranks of one launch must find the same experiment without talking to each other. So the key is
 * made of what they all see: the job of SLURM or PMIx, else the parent process and when it
 * started.
 */
#include "record/launch_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"

/* Start time of a process in clock ticks since boot (proc(5), stat, field 22); 0 if it is gone. */
static uint64_t start_ticks(pid_t pid)
{
	char path[64];
	struct sn_file_view view;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sn_file_map(path, &view, NULL) != SN_OK)
		return 0;
	/* The name in field 2 may hold anything; the last ')' ends it. */
	const char *at = view.length ? memrchr(view.bytes, ')', view.length) : NULL;

	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (at)
		ticks = strtoull(at, NULL, 10);
	sn_file_unmap(&view);
	return ticks;
}

/* The rank that a variable tells; -1: none. */
static int32_t rank_of(const char *name)
{
	const char *value = getenv(name);
	char *end;
	long rank = value && *value ? strtol(value, &end, 10) : -1;

	return rank >= 0 && rank <= INT32_MAX && !*end ? (int32_t)rank : -1;
}

static int32_t rank_of_launcher(void)
{
	static const char *const names[] = { "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK" };
	int32_t rank = -1;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && rank < 0; i++)
		rank = rank_of(names[i]);
	return rank;
}

/* A batch script of Slurm has a SLURM_PROCID, but no step. */
static int32_t rank_of_variables(void)
{
	int32_t rank = rank_of_launcher();

	return rank >= 0 || !getenv("SLURM_STEP_ID") ? rank : rank_of("SLURM_PROCID");
}

bool sn_launch_is_rank(void)
{
	return rank_of_variables() >= 0;
}

void sn_launch_place(int32_t *rank, int32_t *count)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "SLURM_STEP_NUM_TASKS" };

	*rank = rank_of_variables();
	*count = -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && *count < 0; i++)
		*count = rank_of(names[i]);
	if (*rank < 0 || *count <= *rank) {
		*rank = 0;
		*count = 1;
	}
}

void sn_launch_key(const char *host, struct sn_text *key, int32_t *rank)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	const char *space = getenv("PMIX_NAMESPACE"), *ompi = getenv("OMPI_MCA_ess_base_jobid");
	pid_t parent = getppid();

	*rank = rank_of_variables();
	if (*rank >= 0 && job && step && getenv("SLURM_PROCID"))
		sn_text_addf(key, "slurm:%s.%s", job, step);
	else if (*rank >= 0 && (space || ompi))
		sn_text_addf(key, "pmix:%s:%s", space ? space : "", ompi ? ompi : "");
	else if (*rank >= 0)
		sn_text_addf(key, "parent:%s.%d.%" PRIu64, host, (int)parent, start_ticks(parent));
	else
		sn_text_addf(key, "single:%s.%d.%" PRIu64, host, (int)getpid(), sn_now_ns());
}
