/*
 * The front of a search with a phase: it starts the program and its agent, shows what the agent finds, and evaluates what is in
 * the spool when the program has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "search/evidence/sources.h"
#include "search/online/parts.h"
#include "search/online/traced.h"

/* How long a program waits for its agent to be there. */
static const double page_wait_s = 5;
/* How long the front waits for an agent to say that it has ended. */
static const double agent_wait_s = 10;
/* How often it looks for what the agent has found. */
static const double watch_s = 0.2;

struct sn_online_front {
	const struct sn_online_options *options; /* its own */
	struct sn_online_options own;
	struct sn_phase phase;
	struct sn_spool spool;
	size_t next; /* window of the spool */
	struct sn_text experiment_path;
	uint64_t watched; /* bytes of the spool */
	double watched_s;
	double ran_s;	     /* the program */
	bool is_told_to_end; /* by a signal */
	bool is_at_work;     /* the agent measures on: what there is until now is asked for */
	struct sn_again again;
};

static void agent_begin(void *context, const char *live_folder, const char *experiment_path)
{
	struct sn_online_front *f = context;
	struct sn_agent_options options = { .online = f->options,
					    .phase = &f->phase,
					    .live_folder = live_folder,
					    .experiment_path = experiment_path };
	char host[256] = "";
	struct sn_error err;

	sn_text_add(&f->experiment_path, experiment_path);
	if (sn_online_words_write(experiment_path, f->options, &err) != SN_OK)
		sn_error_print(&err);
	gethostname(host, 64); /* as the runtime has it */
	options.host = host;
	if (sn_agent_start(&options, &err) != SN_OK ||
	    sn_agent_wait(live_folder, host, page_wait_s, &err) != SN_OK)
		sn_error_print(&err);
}

static void say(const char *sentence)
{
	sn_warn("%s", sentence);
}

/* What the agent finds is told while the program runs. */
static void watch(void *context)
{
	struct sn_online_front *f = context;

	if (sn_now_s() - f->watched_s < watch_s)
		return;
	f->watched_s = sn_now_s();
	f->watched = sn_spool_watch(f->experiment_path.chars, f->watched, say);
}

/* Neither gone nor frozen. */
static bool is_at_work(int pid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	in = fopen(path, "re");
	if (!in)
		return false;
	state = fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
	fclose(in);
	return state && state[1] && !strchr("TtZX", state[2]);
}

static bool is_any_at_work(const struct sn_spool *spool)
{
	for (size_t i = 0; i < spool->agents.count; i++)
		if (is_at_work(spool->agents.items[i]))
			return true;
	return false;
}

/* The program has ended, so its agent will. */
static void spool_wait(struct sn_online_front *f, const char *experiment_path)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	double begin_s = sn_now_s();

	for (;;) {
		sn_spool_read(experiment_path, &f->spool);
		if (f->spool.has_ended || !is_any_at_work(&f->spool) ||
		    sn_now_s() - begin_s > agent_wait_s)
			return;
		sn_spool_free(&f->spool);
		nanosleep(&moment, NULL);
	}
}

static bool spooled_next(struct sn_executions *s, sn_windows *out)
{
	struct sn_online_front *f = s->context;
	struct sn_mri_window *window;

	if (f->next == f->spool.windows.count)
		return false;
	window = &f->spool.windows.items[f->next++];
	sn_vec_push(out, *window); /* it is the taker's now */
	*window = (struct sn_mri_window){ 0 };
	return true;
}

static sn_status nothing_measured(const struct sn_online_front *f, struct sn_error *err)
{
	const char *name = f->phase.name.chars;
	const struct sn_spool_end *end = &f->spool.end;

	if (f->is_at_work)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: the agent that measures '%s' has measured nothing yet",
				    name);
	if (!f->spool.has_ended)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: the agent that measures '%s' was killed before it had "
				    "measured anything; the program ran on",
				    name);
	if (!end->is_found && f->is_told_to_end)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: interrupted before '%s' was watched, so nothing was measured",
			name);
	if (!end->is_found)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: no process could watch for '%s': the program did not "
			"start, or neither code can be put there nor a hardware breakpoint be "
			"had (a debugger has them, or perf_event_open is refused)",
			name);
	if (end->is_deaf) {
		struct sn_text why = { 0 };

		sn_phase_often_add(&f->phase, &why);
		sn_error_set(err, SN_ERR_NO_DATA, "search: %s", why.chars);
		sn_text_free(&why);
		return SN_ERR_NO_DATA;
	}
	if (!end->executions && end->is_reached)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: no execution of '%s' ended: it was reached, and %.1f s after its start "
			"the program died in it; without --phase the whole program is searched",
			name, f->ran_s);
	if (!end->executions && f->phase.boundary.kind == SN_MONITOR_BOUNDARY_BEAT)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no execution of '%s' ended: in the %.1f s that the "
				    "program ran no beat of that heartbeat came; if a function of "
				    "that name is meant, give its place as FILE:LINE",
				    name, f->ran_s);
	if (!end->executions)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no execution of '%s' ended: it was never reached in "
				    "the %.1f s that the program ran",
				    name, f->ran_s);
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "search: the program ended before an execution of '%s' could be "
			    "measured; %u had passed in all: let it run longer, or leave --phase "
			    "away",
			    name, end->executions);
}

/* One that nothing follows. */
static void only_tell(const struct sn_online_front *f)
{
	if (f->spool.has_ended && f->spool.end.executions == 1 && !f->options->is_quiet)
		sn_warn("'%s' was passed once: measured is this one execution, from its begin to "
			"%s; there is none for further steps, so less is measurable than without --phase",
			f->phase.name.chars,
			f->phase.boundary.kind == SN_MONITOR_BOUNDARY_BEAT ? "its end"
									   : "the program's end");
}

/* What the rows stand for. Executions are counted as long as the agent is there. */
static void share_tell(const struct sn_online_front *f, const struct sn_search *search)
{
	const uint32_t measured = search->phase.executions, passed = f->spool.end.executions;
	const double s = measured * search->phase.mean_s;

	if (f->options->is_quiet || !f->spool.has_ended || passed < 2 || !(f->ran_s > 0) ||
	    (2 * measured >= passed && 2 * s >= f->ran_s))
		return;
	sn_warn("measured are %u of the %u executions of '%s' that passed while the agent watched, %.1f %%, "
		"and %.3f s of the %.1f s that the program ran",
		measured, passed, f->phase.name.chars, 100.0 * measured / passed, s, f->ran_s);
}

static void agents_tell(const struct sn_online_front *f, struct sn_search *search)
{
	search->agents = (struct sn_search_agents){ .hosts = 1,
						    .joined = f->spool.agents.count > 0,
						    .lost = !f->spool.has_ended && !f->is_at_work,
						    .restarted = f->spool.restarted,
						    .refused = f->spool.end.refused };
	search->is_partial |= f->is_at_work;
	if (search->agents.lost && !f->options->is_quiet)
		sn_warn("the agent was lost; the result is of what it had measured");
}

static sn_status result_find(struct sn_online_front *f, struct sn_online *out, struct sn_text *path,
			     struct sn_error *err)
{
	struct sn_executions *s;
	sn_status status;

	if (!f->spool.windows.count)
		return nothing_measured(f, err);
	s = sn_alloc_zeroed(1, sizeof(*s));
	*s = (struct sn_executions){ .options = f->options,
				     .phase = &f->phase,
				     .experiment_path = path->chars,
				     .next = spooled_next,
				     .available =
					     sn_traced_switched() | sn_again_sources(&f->again),
				     .again = &f->again,
				     .ended = f->spool.end.executions,
				     .context = f };
	out->phases = s;
	status = sn_executions_search(s, &out->search, err);
	if (status == SN_OK) {
		agents_tell(f, out->search);
		only_tell(f);
		share_tell(f, out->search);
		out->search->exit_status = out->exit_code;
	}
	return status;
}

/* Its standard output is the program's own, or goes where there is room for it. The recording leaves
 * signals blocked, so that another Ctrl-C does not take the answer away. */
static sn_status program_run(struct sn_online_front *f, struct sn_record_result *result,
			     const struct sn_record_options *record, struct sn_error *err)
{
	int own = dup(STDOUT_FILENO);
	struct sn_progress progress;
	struct sn_text words = { 0 };
	sn_status status;

	fflush(stdout);
	if (f->options->output_fd != STDOUT_FILENO)
		dup2(f->options->output_fd, STDOUT_FILENO);
	sn_online_phases_begin(&progress, &words, &f->phase);
	status = sn_record_run(record, result, err);
	sn_progress_end(&progress);
	sn_text_free(&words);
	if (own >= 0) {
		dup2(own, STDOUT_FILENO);
		close(own);
	}
	if (status == SN_OK)
		sn_record_extracts(result->experiment_path.chars, record);
	return status;
}

sn_status sn_online_phases(const struct sn_online_options *options, struct sn_online *out,
			   struct sn_error *err)
{
	struct sn_phase phase = { 0 };
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .exit_code = SN_EXIT_USAGE };
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &phase, err);
	if (status == SN_OK && (status = sn_online_phase_check(&phase, err)) != SN_OK)
		phase.exit_code = SN_EXIT_NOT_MEASURED;
	if (status == SN_OK)
		return sn_online_phases_at(options, &phase, out, err);
	if (phase.exit_code)
		out->exit_code = phase.exit_code;
	sn_phase_free(&phase);
	return status;
}

sn_status sn_online_phases_at(const struct sn_online_options *options, struct sn_phase *phase,
			      struct sn_online *out, struct sn_error *err)
{
	struct sn_online_front *f = sn_alloc_zeroed(1, sizeof(*f));
	struct sn_record_options record = options->record;
	struct sn_record_result result = { .exit_code = SN_EXIT_USAGE };
	double begin_s;
	sn_status status;

	*out = (struct sn_online){ .front = f };
	f->own = *options;
	f->options = &f->own;
	f->phase = *phase;
	*phase = (struct sn_phase){ 0 };
	record.is_monitored = true;
	sn_phase_watch(&f->phase, &record);
	sn_traced_add(options->program, &record);
	sn_traced_add_switched(&record, options->budget);
	record.prepared = agent_begin;
	record.round = options->is_quiet ? NULL : watch;
	record.context = f;
	begin_s = sn_now_s();
	sn_again_open(&f->again, f->options);
	status = program_run(f, &result, &record, err);
	f->ran_s = sn_now_s() - begin_s;
	f->again.base_path = result.experiment_path.chars;
	f->is_told_to_end = result.was_told_to_end;
	f->again.is_over = result.exit_signal || result.was_told_to_end;
	if (status == SN_OK)
		sn_online_death_tell(options, result.exit_code);
	out->exit_code = result.exit_code;
	if (status == SN_OK) {
		spool_wait(f, result.experiment_path.chars);
		out->has_run = true;
		status = result_find(f, out, &result.experiment_path, err);
	}
	out->path = result.experiment_path;
	return status;
}

sn_status sn_phases_again(const struct sn_online_options *options, const char *folder,
			  struct sn_online *out, struct sn_error *err)
{
	struct sn_online_front *f = sn_alloc_zeroed(1, sizeof(*f));
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .front = f,
				   .exit_code = -1 }; /* nobody has waited for the program */
	f->own = *options;
	f->options = &f->own;
	sn_text_add(&f->experiment_path, folder);
	sn_text_add(&out->path, folder);
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &f->phase, err);
	if (status != SN_OK)
		return status;
	sn_spool_read(folder, &f->spool);
	f->is_at_work = !f->spool.has_ended && is_any_at_work(&f->spool);
	if (f->is_at_work && !options->is_quiet)
		sn_warn("the program still runs, and its agent measures on; this command then has the "
			"rest");
	return result_find(f, out, &out->path, err);
}

void sn_online_front_free(struct sn_online_front *f)
{
	if (!f)
		return;
	sn_phase_free(&f->phase);
	sn_spool_free(&f->spool);
	sn_text_free(&f->experiment_path);
	free(f);
}
