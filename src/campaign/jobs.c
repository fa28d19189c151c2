/* Scripts of jobs, and words that a job and its campaign leave for each other in the folder. */
#include "campaign/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "campaign/level.h"
#include "campaign/values.h"

enum {
	START_S = 60,	/* a job's own begin and end */
	RUN_END_S = 15, /* of each run: what is ended by force takes so long */
	KNOWN_S = 60,	/* a job waits so long until the state knows it */
	REPORT_MOST = 64,
};

/* ---- scripts ---- */

void sn_job_size_add(struct sn_job_size *size, const struct sn_campaign_plan *plan,
		     const struct sn_campaign_configuration *c)
{
	uint32_t ranks = c->ranks ? c->ranks : 1, threads = c->threads ? c->threads : 1;
	uint64_t cpus = (uint64_t)ranks * threads, had = (uint64_t)size->ranks * size->threads;

	/* room for 8 ranks, and for 8 threads of one, is that of 8 CPUs */
	cpus = cpus > had ? cpus : had;
	size->ranks = size->ranks > ranks ? size->ranks : ranks;
	size->threads = (uint32_t)((cpus + size->ranks - 1) / size->ranks);
	size->nodes = size->nodes > c->nodes ? size->nodes : c->nodes;
	size->per_node = size->per_node > c->per_node ? size->per_node : c->per_node;
	if (plan->timeout_s > 0)
		size->time_s += (size->time_s > 0 ? 0 : START_S) + plan->timeout_s + RUN_END_S;
}

struct script {
	const struct sn_job_size *size;
	const char *command;
	bool has_command;
};

static sn_status value_add(uint64_t value, const char *name, const char *remedy,
			   struct sn_text *out, struct sn_error *err)
{
	if (!value)
		return sn_error_set(err, SN_ERR_USAGE, "{%s} has no value: set %s", name, remedy);
	sn_text_addf(out, "%llu", (unsigned long long)value);
	return SN_OK;
}

static sn_status script_fill(void *context, const char *name, struct sn_text *out,
			     struct sn_error *err)
{
	static const char *const names[] = { "ranks",	       "threads", "nodes",
					     "ranks_per_node", "time",	  "command" };
	struct script *script = context;
	const struct sn_job_size *size = script->size;
	const char *near;

	switch (sn_plan_index_of(names, 6, name)) {
	case 0:
		return value_add(size->ranks, name, name, out, err);
	case 1:
		return value_add(size->threads, name, name, out, err);
	case 2:
		return value_add(size->nodes, name, name, out, err);
	case 3:
		return value_add(size->per_node, name, name, out, err);
	case 4: /* whole minutes */
		return value_add((uint64_t)ceil(fmin(size->time_s, 1e9) / 60), name, "timeout", out,
				 err);
	case 5:
		sn_text_add(out, script->command);
		script->has_command = true;
		return SN_OK;
	default:
		near = sn_plan_nearest(names, 6, name);
		return sn_error_set(err, SN_ERR_USAGE, "there is nothing to fill in for {%s}%s%s%s",
				    name, near ? "; did you mean {" : "", near ? near : "",
				    near ? "}?"
					 : "; known are {ranks} {threads} {nodes} {ranks_per_node} "
					   "{time} {command} ('{{' stands for a brace)");
	}
}

sn_status sn_job_script(const char *template, size_t length, const char *name,
			const struct sn_job_size *size, const char *command, struct sn_text *out,
			struct sn_error *err)
{
	struct script script = { size, command, false };
	struct sn_text line = { 0 };
	struct sn_error inner;
	sn_status status = SN_OK;
	int number = 0;

	for (const char *at = template, *end = template + length; status == SN_OK && at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t bytes = (size_t)((newline ? newline : end) - at);

		number++;
		sn_text_clear(&line);
		sn_text_add_bytes(&line, at, bytes);
		if (memchr(at, '\0', bytes))
			status = sn_error_set(err, SN_ERR_FORMAT,
					      "%s:%d: a byte 0: this is no text", name, number);
		else if (line.length &&
			 sn_fill(line.chars, true, script_fill, &script, out, &inner) != SN_OK)
			status = sn_error_set(err, SN_ERR_FORMAT, "%s:%d: %s", name, number,
					      inner.sentence);
		sn_text_add_char(out, '\n');
		at += bytes + (newline != NULL);
	}
	sn_text_free(&line);
	if (status == SN_OK && !script.has_command)
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "%s: there is no {command} in it, which starts the runs",
				      name);
	return status;
}

void sn_job_template(const struct sn_job_size *size, struct sn_text *out)
{
	sn_text_add(out,
		    "#!/bin/sh\n#SBATCH --ntasks={ranks}\n#SBATCH --cpus-per-task={threads}\n");
	sn_text_add(out, size->nodes ? "#SBATCH --nodes={nodes}\n" : "");
	sn_text_add(out, size->per_node ? "#SBATCH --ntasks-per-node={ranks_per_node}\n" : "");
	sn_text_add(out, size->time_s > 0 ? "#SBATCH --time={time}\n" : "");
	sn_text_add(out, "exec {command}\n");
}

sn_status sn_job_template_try(const struct sn_campaign_plan *plan, struct sn_text *out,
			      struct sn_error *err)
{
	struct sn_file_view view;
	struct sn_text filled = { 0 };
	sn_status status = sn_file_map(plan->jobs.template, &view, err);

	if (status != SN_OK)
		return status;
	for (size_t c = 0; status == SN_OK && c < plan->configurations.count; c++) {
		struct sn_job_size size = { 0 };

		sn_job_size_add(&size, plan, &plan->configurations.items[c]);
		sn_text_clear(&filled);
		status = sn_job_script((const char *)view.bytes, view.length, plan->jobs.template,
				       &size, "sonde", &filled, err);
	}
	if (status == SN_OK)
		sn_text_add_bytes(out, (const char *)view.bytes, view.length);
	sn_text_free(&filled);
	sn_file_unmap(&view);
	return status;
}

/* ---- reports ---- */

bool sn_job_is_known(const char *folder, uint32_t submission)
{
	struct sn_text path = { 0 };
	int fd;

	sn_text_addf(&path, "%s/jobs/%u/known", folder, submission);
	fd = open(path.chars, O_RDONLY | O_CLOEXEC);
	sn_text_free(&path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static const char *const end_names[] = { [SN_CHILD_ENDED] = "ended",
					 [SN_CHILD_TIMED_OUT] = "timed_out",
					 [SN_CHILD_STOPPED] = "stopped" };

const char *sn_job_level_name(struct sn_arena *arena, const char *experiment, uint32_t submission)
{
	return sn_arena_printf(arena, "%s.level%u", experiment, submission);
}

bool sn_job_claim(const char *experiment)
{
	struct sn_text path = { 0 };
	bool is_ours;

	sn_text_addf(&path, "%s.job", experiment);
	is_ours = !mkdir(path.chars, 0777);
	sn_text_free(&path);
	return is_ours;
}

bool sn_job_report_read(const char *bytes, size_t length, struct sn_job_report *out)
{
	char line[REPORT_MOST] = "", word[REPORT_MOST] = "";
	int end, status = -1;

	if (!length || length >= sizeof(line) || bytes[length - 1] != '\n')
		return false;
	memcpy(line, bytes, length);
	if (sscanf(line, "%63s %9d", word, &status) != 2 || status < 0 || status > 255)
		return false;
	end = sn_plan_index_of(end_names, 3, word);
	if (end < 0)
		return false;
	out->has_ended = true;
	out->end = (enum sn_child_end)end;
	out->exit_status = status;
	return true;
}

static sn_status report_write(const char *experiment, enum sn_child_end end, int exit_status,
			      struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s.job/end", experiment);
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	fprintf(writer.out, "%s %d\n", end_names[end], exit_status & 255);
	return sn_file_writer_commit(&writer, err);
}

struct sn_job_report sn_job_look(const char *experiment)
{
	struct sn_job_report report = { 0 };
	struct sn_text path = { 0 };
	char bytes[REPORT_MOST];
	int folder, file;
	ssize_t got;

	sn_text_addf(&path, "%s.job", experiment);
	/* opened: a network's file system asks its server only then what is in it now */
	folder = open(path.chars, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sn_text_free(&path);
	if (folder < 0)
		return report;
	report.is_taken = true;
	file = openat(folder, "end", O_RDONLY | O_CLOEXEC);
	got = file >= 0 ? read(file, bytes, sizeof(bytes)) : 0;
	if (got > 0)
		sn_job_report_read(bytes, (size_t)got, &report);
	if (file >= 0)
		close(file);
	close(folder);
	return report;
}

/* ---- inside a job ---- */

static const char *build_folder_of(const struct sn_campaign *c, uint32_t configuration,
				   const uint32_t *builds)
{
	return builds[configuration] == SN_NO_BUILD
		       ? NULL
		       : sn_arena_printf(&c->state->arena, "%s/builds/%u", c->path,
					 builds[configuration]);
}

/* SN_CHILD_STOPPED: the job is being ended, and nothing comes after this run. */
static sn_status run_go(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			const char *build, const char *sonde, const sigset_t *signals,
			enum sn_child_end *end, struct sn_error *err)
{
	struct sn_arena *arena = &c->state->arena;
	const char *path = sn_arena_printf(arena, "%s/%s", c->path, a->experiment);
	struct sn_command_line line = { 0 };
	struct sn_child child;
	int code = 0;
	sn_status status;

	*end = SN_CHILD_ENDED;
	if (!sn_job_claim(path))
		return SN_OK; /* it was given up, or the job was started again */
	status = sn_campaign_command(c->plan, &c->plan->configurations.items[a->configuration],
				     build, sonde, path, arena, &line, err);
	if (status == SN_OK)
		status = sn_child_start(&line, sn_arena_printf(arena, "%s.out", path),
					sn_arena_printf(arena, "%s.err", path), signals, &child,
					err);
	sn_command_line_free(&line);
	if (status != SN_OK)
		return status;
	sn_child_go(&child, true);
	*end = sn_child_wait(&child, c->plan->timeout_s, &code);
	return report_write(path, *end, code, err);
}

/* The same of the level that this job adds to a run. */
static sn_status level_go(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			  const char *build, const char *sonde, const sigset_t *signals,
			  enum sn_child_end *end, struct sn_error *err)
{
	struct sn_arena *arena = &c->state->arena;
	const char *path = sn_arena_printf(arena, "%s/%s", c->path, a->experiment);
	const char *claim = sn_job_level_name(arena, path, a->level_submission);
	struct sn_child child;
	int code = 0;
	sn_status status;

	if (!sn_job_claim(claim))
		return SN_OK;
	status = sn_campaign_level_start(c->plan, &c->plan->configurations.items[a->configuration],
					 build, sonde, path, signals, arena, &child, err);
	if (status != SN_OK)
		return status;
	sn_child_go(&child, true);
	*end = sn_child_wait(&child, c->plan->timeout_s * SN_LEVEL_RUNS_MOST, &code);
	return report_write(claim, *end, code, err);
}

static sn_status known_wait(const char *folder, uint32_t submission, struct sn_error *err)
{
	double until = sn_now_s() + KNOWN_S;

	if (!sn_is_campaign(folder))
		return sn_error_set(
			err, SN_ERR_NOT_FOUND,
			"this node does not see the campaign's folder '%s': campaigns in "
			"jobs need one that all nodes share",
			folder);
	while (!sn_job_is_known(folder, submission)) {
		if (sn_now_s() > until)
			return sn_error_set(err, SN_ERR_NO_DATA,
					    "the campaign '%s' knows no job %u: it ended when it "
					    "submitted it; nothing is run",
					    folder, submission);
		nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	}
	return SN_OK;
}

sn_status sn_job_run(const char *folder, uint32_t submission, const char *sonde,
		     struct sn_error *err)
{
	struct sn_campaign *c = NULL;
	sn_status status = known_wait(folder, submission, err);
	enum sn_child_end end = SN_CHILD_ENDED;
	uint32_t *builds;
	sigset_t signals;

	if (status == SN_OK)
		status = sn_campaign_open(folder, &c, err);
	if (status != SN_OK)
		return status;
	sn_campaign_signals_block(&signals);
	builds = sn_arena_array(&c->state->arena, uint32_t, c->plan->configurations.count + 1);
	sn_campaign_builds(c->plan, builds);
	for (size_t i = 0;
	     status == SN_OK && end != SN_CHILD_STOPPED && i < c->state->attempts.count; i++) {
		const struct sn_campaign_attempt *a = &c->state->attempts.items[i];

		/* one that ended in the state was given up */
		if (a->submission == submission && a->state == SN_RUN_QUEUED && a->experiment &&
		    a->configuration < c->state->configurations)
			status = run_go(c, a, build_folder_of(c, a->configuration, builds), sonde,
					&signals, &end, err);
		else if (a->level_submission == submission && a->state == SN_RUN_DONE &&
			 a->experiment && a->configuration < c->state->configurations)
			status = level_go(c, a, build_folder_of(c, a->configuration, builds), sonde,
					  &signals, &end, err);
	}
	sn_campaign_free(c);
	return status;
}
