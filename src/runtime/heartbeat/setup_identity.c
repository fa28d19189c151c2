/*
 * Finds rank, job, launch, host and program from the environment and /proc, so that rows of many
 * processes can be put together later.
 */
#include "runtime/heartbeat/parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who this process is within its job. Read once, at the first use of the library: getenv() in the
 * drain's thread would race with setenv() in the application's. */

static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

static int64_t number_of(const char *const *names)
{
	const char *digits = first_of(names);
	char *end;
	long long value;

	if (!digits || *digits < '0' || *digits > '9')
		return -1;
	value = strtoll(digits, &end, 10);
	return *end ? -1 : value;
}

/* What stands in /proc/PID/stat (proc(5)): fields 2, 4 and 22. */
struct ancestor {
	char name[64];
	long parent_pid;
	unsigned long long start_ticks;
};

static size_t read_stat(long pid, char *out, size_t bytes)
{
	struct beat_text path = { 0 };
	ssize_t length = 0;
	int fd;

	beat_text_string(&path, "/proc/");
	beat_text_uint(&path, (uint64_t)pid);
	beat_text_add(&path, "/stat", 6);
	fd = path.is_short ? -1 : open(path.chars, O_RDONLY | O_CLOEXEC);
	free(path.chars);
	if (fd < 0)
		return 0;
	length = read(fd, out, bytes - 1);
	close(fd);
	out[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : 0;
}

static bool read_ancestor(long pid, struct ancestor *out)
{
	char stat[1024], *name, *field;

	if (!read_stat(pid, stat, sizeof(stat)) || !(name = strchr(stat, '(')) ||
	    !(field = strrchr(stat, ')')))
		return false;
	*field++ = 0;
	strncpy(out->name, name + 1, sizeof(out->name) - 1);
	for (int number = 3; number <= 22; number++) {
		if (!(field = strchr(field, ' ')))
			return false;
		field++;
		if (number == 4)
			out->parent_pid = strtol(field, NULL, 10);
	}
	out->start_ticks = strtoull(field, NULL, 10);
	return true;
}

static bool is_launcher(const char *name)
{
	static const char *const launchers[] = { "hydra", "mpiexec", "mpirun",	   "orted",
						 "prted", "prun",    "slurmstepd", "palsd" };

	for (unsigned i = 0; i < sizeof(launchers) / sizeof(*launchers); i++)
		if (!strncmp(name, launchers[i], strlen(launchers[i])))
			return true;
	return false;
}

/* The launcher's daemon on this node, as "HOST/PID/START"; the parent where none is known. */
static void find_launcher(struct beat_identity *me, struct beat_text *out)
{
	struct ancestor parent = { 0 }, found = { 0 };
	long pid = getppid(), found_pid = 0;

	for (int i = 0; i < 12 && pid > 1 && read_ancestor(pid, &parent); i++) {
		if (!found_pid || is_launcher(parent.name)) {
			found = parent;
			found_pid = pid;
		}
		if (is_launcher(parent.name))
			break;
		pid = parent.parent_pid;
	}
	if (!found_pid)
		return;
	beat_text_string(out, "node:");
	beat_text_string(out, me->host);
	beat_text_string(out, "/");
	beat_text_uint(out, (uint64_t)found_pid);
	beat_text_string(out, "/");
	beat_text_uint(out, found.start_ticks);
}

/*
 * One launch of mpirun or srun: the same for all its ranks, another for the next launch of the same
 * job. "node:" ones are known to the ranks of one node only.
 */
static void find_launch(struct beat_identity *me)
{
	static const char *const spaces[] = { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
					      "PALS_APID", "ALPS_APP_ID", NULL };
	const char *space = first_of(spaces), *step = getenv("SLURM_STEP_ID");
	struct beat_text launch = { 0 };

	if (space) {
		beat_text_string(&launch, "mpi:");
		beat_text_string(&launch, space);
	} else if (step && *step && getenv("SLURM_PROCID") && me->job_id[0]) {
		beat_text_string(&launch, "slurm:");
		beat_text_string(&launch, me->job_id);
		beat_text_string(&launch, ".");
		beat_text_string(&launch, step);
	} else if (me->rank >= 0) {
		find_launcher(me, &launch);
	}
	beat_text_add(&launch, "", 1);
	if (!launch.is_short)
		strncpy(me->launch, launch.chars, sizeof(me->launch) - 1);
	free(launch.chars);
}

static void find_host(struct beat_identity *me)
{
	if (gethostname(me->host, sizeof(me->host) - 1))
		strcpy(me->host, "localhost");
	for (char *c = me->host; *c; c++)
		if (*c == '/')
			*c = '_';
}

static void find_program(struct beat_identity *me)
{
	ssize_t length = readlink("/proc/self/exe", me->path, sizeof(me->path) - 1);

	me->path[length > 0 ? length : 0] = 0;
}

void beat_identity_read(void)
{
	static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
					     "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", NULL };
	static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL };
	static const char *const jobs[] = { "SLURM_JOB_ID", "PBS_JOBID", NULL };
	struct beat_identity *me = &beat_globals.identity;
	const char *job = first_of(jobs);

	find_host(me);
	find_program(me);
	strncpy(me->job_id, job ? job : "", sizeof(me->job_id) - 1);
	me->rank = number_of(ranks);
	me->ranks = number_of(sizes);
	find_launch(me);
}
