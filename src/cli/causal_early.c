/* What is looked at before time is spent on experiments: names, builds, and what the first run says. */
#include "cli/causal.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/stats.h"
#include "causal/early.h"
#include "record/redact.h"

/* Of the CPU time, in what a breakpoint slows: with 3.4 times the time of it, that much is 2 %. */
#define SLOWED_SHARE_MOST 0.01
/* Of the CPU time, waiting that would be taken for work in the code that is tried. */
#define MISJUDGED_MOST 0.001

void sn_cli_causal_say(const struct sn_cli_causal *c, const char *format, ...)
{
	va_list words;

	if (c->is_quiet)
		return;
	fputs("sonde: ", stderr);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputc('\n', stderr);
}

/* ---- names ---- */

/* "BEGIN..END" in two; false: it is one point. */
bool sn_cli_causal_split_latency(const char *name, char **begin, const char **end)
{
	const char *dots = name ? strstr(name, "..") : NULL;

	if (!dots || dots == name || !dots[2])
		return false;
	*begin = strndup(name, (size_t)(dots - name));
	*end = dots + 2;
	return true;
}

const char *sn_cli_causal_point_option(const struct sn_cli_causal *c)
{
	return sn_args_value(c->args, "latency") ? "--latency" : "--progress";
}

/* A name that is not there costs no run. */
sn_status sn_cli_causal_check_names(struct sn_cli_causal *c, struct sn_error *err)
{
	const char *latency = sn_args_value(c->args, "latency");
	const char *name = latency ? latency : sn_args_value(c->args, "progress"), *end = NULL;
	/* with --from the profile says which code there is, and it has the names of its own */
	bool has_profile = sn_args_value(c->args, "from");
	struct sn_causal_wanted wanted = { .targets = has_profile ? NULL : sn_cli_causal_targets(c),
					   .point = name,
					   .option = sn_cli_causal_point_option(c),
					   .is_heartbeat = latency != NULL,
					   .may_be_heartbeat = name != NULL,
					   .is_doubted = &c->is_point_doubted };
	struct sn_image_options options = { 0 };
	struct sn_target target;
	struct sn_text doubt = { 0 };
	SN_VEC(const char *) folders = { 0 };
	char *begin = NULL;
	sn_status status;

	for (size_t i = 0; i < c->args->given_count; i++)
		if (!strcmp(c->args->command->options[c->args->given[i].option].name,
			    "debug-folder"))
			sn_vec_push(&folders, c->args->given[i].value);
	if (folders.count)
		sn_vec_push(&folders, "/usr/lib/debug");
	options.debug_folders = folders.items;
	options.debug_folder_count = folders.count;
	if (sn_cli_causal_split_latency(name, &begin, &end)) {
		wanted.begin = begin;
		wanted.point = end;
		wanted.is_heartbeat = wanted.may_be_heartbeat = false;
	}
	status = sn_target_find(c->args->operands[0], &target, NULL);
	/* that it is not there, or cannot be measured, is said where it is run */
	status = status != SN_OK || target.kind != SN_TARGET_DYNAMIC
			 ? SN_OK
			 : sn_causal_names_check(&target, &options, &wanted, &doubt, err);
	if (status == SN_OK && doubt.length)
		sn_cli_causal_say(c, "%s", doubt.chars);
	sn_vec_free(&folders);
	sn_text_free(&doubt);
	free(begin);
	return status;
}

/* ---- what the run that found the code says ---- */

/* Those with a hundredth of the CPU time. Many brief threads may have as much together: then there are
 * two at least. */
static uint32_t threads_at_work(const struct sn_profile *profile)
{
	uint64_t busiest_ns = 0, total_ns = profile->total.cpu_ns;
	uint32_t count = 0;

	for (size_t t = 0; t < profile->experiment->threads.count; t++) {
		uint64_t cpu_ns = profile->threads[t].cpu_ns;

		if (cpu_ns > busiest_ns)
			busiest_ns = cpu_ns;
		count += profile->is_at_work[t] && cpu_ns * 100 >= total_ns;
	}
	return count < 2 && (total_ns - busiest_ns) * 100 >= total_ns ? 2 : count;
}

/* Of the time in which threads wanted a CPU, what they waited for one, in the run that found the code;
 * NaN: not known. */
static double queued_share(const struct sn_cli_causal *c)
{
	const struct sn_experiment *e = c->analysis->experiment;
	double waited = 0, ran = 0;

	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].account.wait_cpu_ns >= 0) {
			waited += (double)e->threads.items[t].account.wait_cpu_ns;
			ran += (double)c->analysis->profile->threads[t].cpu_ns;
		}
	return ran > 0 ? waited / (waited + ran) : NAN;
}

static const struct sn_causal_candidate *largest_candidate(const struct sn_causal_log *log)
{
	const struct sn_causal_candidate *best = &log->candidates.items[0];

	for (size_t i = 1; i < log->candidates.count; i++)
		if (log->candidates.items[i].cpu_share > best->cpu_share || isnan(best->cpu_share))
			best = &log->candidates.items[i];
	return best;
}

/* By Amdahl's law: of one thread. */
static void add_amdahl(const struct sn_cli_causal *c, struct sn_text *text)
{
	const struct sn_causal_candidate *best = largest_candidate(c->log);
	double cpu_s = (double)c->analysis->profile->total.cpu_ns * 1e-9;

	sn_text_add(text, "one thread is at work: its profile says it all, by Amdahl's law");
	if (!isnan(best->cpu_share))
		sn_text_addf(
			text,
			" (%s has %.2f s of %.2f s of CPU time, in a run of %.2f s: without it "
			"a run takes %.2f s less)",
			best->name, best->cpu_share * cpu_s, cpu_s,
			(double)c->analysis->experiment->elapsed_ns * 1e-9,
			best->cpu_share * cpu_s);
	sn_text_add(text, "; sonde show loops");
}

/* Fewer than fifty samples at the usual rate: what is hot is not known. */
static bool is_too_short(const struct sn_cli_causal *c)
{
	enum { LEAST_NS = 50000000 };

	return c->analysis->profile->total.cpu_ns < LEAST_NS;
}

static void add_too_short(const struct sn_cli_causal *c, struct sn_text *text)
{
	sn_text_addf(text, "the program had %.3f s of CPU time",
		     (double)c->analysis->profile->total.cpu_ns * 1e-9);
	if (c->is_shown && c->exit_code)
		sn_text_addf(text, " and ended with status %d", c->exit_code);
	sn_text_add(
		text,
		", too little to try what a part of it brings: let it work for a second or more");
}

/* A breakpoint that slows hot code makes another program of it. */
static bool slows_code(const struct sn_cli_causal *c, struct sn_text *text)
{
	const char *name;

	for (uint32_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++) {
		const struct sn_causal_progress *point = &c->page->points[p];
		double share;

		if (point->kind != SN_CAUSAL_PLACE || point->is_planned)
			continue;
		share = sn_causal_share_beside(c->page, p, c->analysis, &name);
		if (share < SLOWED_SHARE_MOST)
			continue;
		sn_text_addf(
			text,
			"the progress point '%s' shares a line of the instruction cache with %s, "
			"and %.0f %% of CPU time is there: a breakpoint would make that several "
			"times slower; name another place (the caller's line, another function), a "
			"heartbeat, or 'end' for whole runs",
			point->name, name, 100 * share);
		return true;
	}
	return false;
}

/* A breakpoint slows the code beside it: then one at another instruction, which is reached as often, does as well. */
static void move_points(struct sn_cli_causal *c)
{
	const char *name;

	for (uint32_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++) {
		const struct sn_causal_progress *point = &c->page->points[p];
		struct sn_text where = { 0 };

		if (point->kind == SN_CAUSAL_PLACE && !point->is_planned &&
		    sn_causal_share_beside(c->page, p, c->analysis, &name) >= SLOWED_SHARE_MOST &&
		    sn_causal_move_place(c->page, p, c->analysis, SLOWED_SHARE_MOST, &where))
			sn_cli_causal_say(
				c, "a breakpoint at '%s' would slow %s, so it is watched at %s",
				point->name, name, where.chars);
		sn_text_free(&where);
	}
}

/* What the run that found the code says of experiments, before there is time spent on them. */
sn_status sn_cli_causal_say_early(struct sn_cli_causal *c, struct sn_error *err)
{
	double queued = queued_share(c);
	struct sn_text why = { 0 };
	sn_status status = SN_OK;

	move_points(c);
	if (c->is_forced)
		return SN_OK;
	if (c->first_page && c->first_page->sealed_processes) {
		c->log->refused = "sealed";
		sn_text_add(&why,
			    "a process forbids system calls (seccomp), so its threads cannot be "
			    "held up");
	} else if (is_too_short(c)) {
		c->log->refused = "too-short";
		add_too_short(c, &why);
	} else if (c->log->threads <= 1) {
		c->log->refused = "one-thread";
		add_amdahl(c, &why);
	} else if (sn_causal_share_misjudged(c->page, c->analysis) >= MISJUDGED_MOST) {
		c->log->refused = "waits-below";
		sn_text_add(
			&why,
			"threads wait actively below the code that is tried, in a library without a "
			"build-id: a thread that waits there would count as working, and hold up the one "
			"that it waits for; link that library with --build-id, or name the code that "
			"computes, without --with-callees");
	} else if (slows_code(c, &why)) {
		c->log->refused = "slowed-code";
	} else if (queued > SN_CAUSAL_QUEUED_REFUSED) {
		c->log->refused = "cpu-waits";
		sn_text_addf(
			&why,
			"threads waited for CPUs %.0f %% of the time in which they wanted one, "
			"so that no effect could be told: run fewer threads than CPUs, other "
			"programs later, or 'chrt -r 1 sonde causal ...'",
			100 * queued);
	} else {
		return SN_OK;
	}
	sn_text_add(&why, ". No experiments are made; --force makes them all the same");
	if (!c->log->trials.count)
		status = sn_causal_log_write(c->log, c->experiment.chars, err);
	if (status == SN_OK && c->is_shown)
		sn_cli_causal_say(c, "%s", why.chars);
	else if (status == SN_OK)
		status = sn_error_set(err, SN_ERR_NO_DATA, "%s", why.chars);
	sn_text_free(&why);
	return status;
}

void sn_cli_causal_take_facts(struct sn_cli_causal *c)
{
	const struct sn_experiment *e = c->analysis->experiment;
	uint64_t overhead_ns = 0, cpu_ns = 0;

	c->log->threads = threads_at_work(c->analysis->profile);
	for (size_t p = 0; p < e->processes.count; p++)
		overhead_ns += e->processes.items[p].overhead_ns;
	cpu_ns = c->analysis->profile->total.cpu_ns;
	if (cpu_ns)
		c->log->overhead_share = sn_overhead_share((double)overhead_ns, (double)cpu_ns);
	if (!c->log->seed)
		c->log->seed = (uint64_t)e->processes.count + (uint64_t)cpu_ns;
}

/* ---- whether it is the same program ---- */

void sn_cli_causal_warn_of_arguments(const struct sn_cli_causal *c)
{
	struct sn_arena arena = { 0 };
	const char *now = sn_redact_command_line(&arena, c->args->operands, false);

	if (strcmp(now, c->analysis->experiment->arguments) != 0)
		sn_cli_causal_say(
			c,
			"'%s' was recorded of other arguments ('%s'): what was hot there is tried here, "
			"and the answers of both are put together",
			c->experiment.chars, c->analysis->experiment->arguments);
	sn_arena_free(&arena);
}
