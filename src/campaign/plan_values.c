/* The values of [campaign]: numbers, durations, and what starts runs. */
#include "campaign/plan_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "campaign/values.h"

const char *const sn_plan_campaign_names[C_KEYS] = {
	"name",	   "level", "repeat",	"order", "launcher", "timeout", "budget",  "retry",
	"scaling", "jobs",  "parallel", "step",	 "template", "loops",	"exclude", "helper_threads"
};

static sn_status duration_set(struct sn_plan_reader *r, int key, double *out)
{
	struct sn_error inner;

	if (r->campaign[key] && sn_campaign_duration_parse(r->campaign[key], out, &inner) != SN_OK)
		return sn_plan_fault(r, r->campaign_lines[key], "%s: %s",
				     sn_plan_campaign_names[key], inner.sentence);
	return SN_OK;
}

sn_status sn_plan_whole(struct sn_plan_reader *r, int line, const char *name, const char *text,
			long least, long most, uint32_t *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || errno || value < least || value > most)
		return sn_plan_fault(r, line, "%s takes a whole number from %ld to %ld, not '%s'",
				     name, least, most, text);
	*out = (uint32_t)value;
	return SN_OK;
}

static sn_status campaign_whole(struct sn_plan_reader *r, int key, long least, long most,
				uint32_t *out)
{
	if (!r->campaign[key])
		return SN_OK;
	return sn_plan_whole(r, r->campaign_lines[key], sn_plan_campaign_names[key],
			     r->campaign[key], least, most, out);
}

static sn_status order_set(struct sn_plan_reader *r)
{
	const char *order = r->campaign[C_ORDER];

	if (!order || !strcmp(order, "blocks"))
		r->plan->order = SN_CAMPAIGN_BLOCKS;
	else if (!strcmp(order, "sequential"))
		r->plan->order = SN_CAMPAIGN_SEQUENTIAL;
	else
		return sn_plan_fault(r, r->campaign_lines[C_ORDER],
				     "order is blocks or sequential, not '%s'", order);
	return SN_OK;
}

static sn_status scaling_set(struct sn_plan_reader *r)
{
	const char *scaling = r->campaign[C_SCALING];

	r->plan->is_weak = scaling && !strcmp(scaling, "weak");
	if (scaling && !r->plan->is_weak && strcmp(scaling, "strong") != 0)
		return sn_plan_fault(r, r->campaign_lines[C_SCALING],
				     "scaling is strong or weak, not '%s'", scaling);
	return SN_OK;
}

const char *sn_plan_below(struct sn_plan_reader *r, const char *folder, const char *path)
{
	if (path[0] == '/')
		return path;
	if (!path[0] || !strcmp(path, "."))
		return folder;
	return sn_arena_printf(&r->plan->arena, "%s/%s", folder, path);
}

/* "sbatch", with options behind it. */
static bool is_sbatch(const char *launcher)
{
	return sn_starts_with(launcher, "sbatch") && strchr(" \t", launcher[6]);
}

/* What begins a run: of the key `key`. */
static sn_status starter_set(struct sn_plan_reader *r, int key, const char *unless_said)
{
	static const char *const known[] = { "local", "mpirun", "srun" };
	const char *value = r->campaign[key];

	r->plan->launcher = value && *value ? value : unless_said;
	if (!value || !*value || sn_plan_index_of(known, 3, value) >= 0 ||
	    (strstr(value, "{command}") && !is_sbatch(value)))
		return SN_OK;
	return sn_plan_fault(
		r, r->campaign_lines[key],
		"%s is local, mpirun, srun,%s or a command with {command} in it, not '%s'",
		sn_plan_campaign_names[key], key == C_LAUNCHER ? " sbatch with its options," : "",
		value);
}

static sn_status jobs_each_set(struct sn_plan_reader *r)
{
	static const char *const known[] = { "run", "block", "all" };
	const char *value = r->campaign[C_JOBS];
	int each = value ? sn_plan_index_of(known, 3, value) : SN_JOB_OF_RUN;

	if (each < 0)
		return sn_plan_fault(r, r->campaign_lines[C_JOBS],
				     "jobs is run, block or all (what one job is of), not '%s'",
				     value);
	r->plan->jobs.each = (enum sn_campaign_jobs_of)each;
	return SN_OK;
}

static sn_status jobs_set(struct sn_plan_reader *r)
{
	struct sn_campaign_jobs *jobs = &r->plan->jobs;
	struct sn_words words = { 0 };
	struct sn_error inner;
	sn_status status;

	jobs->is_used = true;
	jobs->parallel = 1;
	jobs->options = r->campaign[C_LAUNCHER] + strlen("sbatch");
	status = sn_words_split(jobs->options, "", &r->plan->arena, &words, &inner);
	if (status != SN_OK)
		status = sn_plan_fault(r, r->campaign_lines[C_LAUNCHER], "launcher: %s",
				       inner.sentence);
	for (size_t i = 0; status == SN_OK && i < words.items.count; i++)
		if (!strcmp(words.items.items[i], "{command}"))
			status = sn_plan_fault(
				r, r->campaign_lines[C_LAUNCHER],
				"launcher: sbatch takes options only; what starts a run in its "
				"job is 'step', and a script of your own is 'template'");
	sn_vec_free(&words.items);
	if (status == SN_OK)
		status = starter_set(r, C_STEP, "");
	if (status == SN_OK)
		status = jobs_each_set(r);
	if (status == SN_OK)
		status = campaign_whole(r, C_PARALLEL, 1, 10000, &jobs->parallel);
	if (r->campaign[C_TEMPLATE] && *r->campaign[C_TEMPLATE])
		jobs->template = sn_plan_below(r, r->folder, r->campaign[C_TEMPLATE]);
	return status;
}

static sn_status launcher_set(struct sn_plan_reader *r)
{
	static const int of_jobs[] = { C_JOBS, C_PARALLEL, C_STEP, C_TEMPLATE };

	if (r->campaign[C_LAUNCHER] && is_sbatch(r->campaign[C_LAUNCHER]))
		return jobs_set(r);
	for (size_t i = 0; i < sizeof(of_jobs) / sizeof(*of_jobs); i++)
		if (r->campaign[of_jobs[i]])
			return sn_plan_fault(r, r->campaign_lines[of_jobs[i]],
					     "%s is said of jobs: it needs launcher = sbatch",
					     sn_plan_campaign_names[of_jobs[i]]);
	return starter_set(r, C_LAUNCHER, "local");
}

/* Loops are chosen for what a level adds. */
static sn_status loops_set(struct sn_plan_reader *r)
{
	static const int keys[] = { C_LOOPS, C_EXCLUDE };
	const char **const values[] = { &r->plan->loops, &r->plan->exclude };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = r->campaign[keys[i]];

		if (value && r->plan->level < 2)
			return sn_plan_fault(
				r, r->campaign_lines[keys[i]],
				"%s is said of level 2 or 3: level 1 samples all loops",
				sn_plan_campaign_names[keys[i]]);
		*values[i] = value && *value ? value : NULL;
	}
	return SN_OK;
}

sn_status sn_plan_campaign_values(struct sn_plan_reader *r)
{
	struct sn_campaign_plan *plan = r->plan;
	sn_status status = campaign_whole(r, C_LEVEL, 1, 3, &plan->level);

	if (status == SN_OK)
		status = campaign_whole(r, C_REPEAT, 1, SN_CAMPAIGN_RUNS_MAX, &plan->repeat);
	if (status == SN_OK)
		status = campaign_whole(r, C_RETRY, 0, 100, &plan->retry);
	if (status == SN_OK)
		status = campaign_whole(r, C_HELPERS, 0, 10000, &plan->helper_threads);
	if (status == SN_OK)
		status = order_set(r);
	if (status == SN_OK)
		status = scaling_set(r);
	if (status == SN_OK)
		status = launcher_set(r);
	if (status == SN_OK)
		status = loops_set(r);
	if (status == SN_OK)
		status = duration_set(r, C_TIMEOUT, &plan->timeout_s);
	return status == SN_OK ? duration_set(r, C_BUDGET, &plan->budget_s) : status;
}
