/*
 * The program is the phase: one start measures what costs little, and each source that steps lack
 * has a start of its own, so that what it costs is in no other source's values.
 */
#include "search/online/hosts_parts.h"
#include "search/online/parts.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/stats.h"
#include "experiment/store.h"
#include "record/launch_key.h"
#include "record/streams.h"
#include "record/target.h"
#include "search/evidence/sources.h"
#include "search/online/copies.h"
#include "search/online/found.h"
#include "search/online/further.h"
#include "search/online/traced.h"
#include "wire/settings.h"

struct restart {
	const struct sn_online_options *options;
	struct sn_online *out;
	struct sn_streams streams;
	sigset_t mask;	 /* as it was when the search began */
	uint32_t starts; /* so far */
	double began_s;
	bool is_interrupted; /* by a signal from the terminal or a batch system */
	const char *base_path;
};

/* ---- one start ---- */

static const int enders[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

bool sn_online_signals_restore(const sigset_t *mask)
{
	const struct timespec none = { 0 };
	bool is_interrupted = false;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(enders) / sizeof(*enders); i++)
		sigaddset(&set, enders[i]);
	while (sigtimedwait(&set, NULL, &none) > 0)
		is_interrupted = true;
	sigprocmask(SIG_SETMASK, mask, NULL);
	return is_interrupted;
}

static bool is_ended_from_outside(int signal)
{
	for (size_t i = 0; i < sizeof(enders) / sizeof(*enders); i++)
		if (enders[i] == signal)
			return true;
	return false;
}

static void announce(const struct restart *r, const char *what)
{
	if (!r->options->is_quiet)
		fprintf(stderr, "sonde: start %u of %u at most: %s\n", r->starts,
			r->options->restarts + 1, what);
}

/* A program that does not do the same again makes values of two starts a poor pair. */
static void compare_starts(const struct restart *r, int exit_code_before)
{
	if (r->options->is_quiet || r->starts < 2)
		return;
	if (r->out->exit_code != exit_code_before)
		fprintf(stderr, "sonde: start %u ended with %d, the one before with %d\n",
			r->starts, r->out->exit_code, exit_code_before);
	if (!sn_streams_are_alike(&r->streams))
		fprintf(stderr,
			"sonde: start %u wrote something else than the one before; what is "
			"printed is the last one's\n",
			r->starts);
}

/* The first one alone: what a source needs is given to recordings of this host only. */
static sn_status start_elsewhere(struct restart *r, struct sn_text *path, struct sn_error *err)
{
	struct sn_online_options options = *r->options;
	sn_status status;

	options.output_fd = STDOUT_FILENO; /* the streams' */
	status = sn_hosts_record(&options, path, &r->out->exit_code, err);
	r->out->has_run |= status == SN_OK;
	r->is_interrupted |= sn_online_signals_restore(&r->mask);
	return status;
}

static sn_status start(struct restart *r, const struct sn_record_options *options, const char *what,
		       struct sn_text *path, struct sn_error *err)
{
	struct sn_record_result result;
	int exit_code_before = r->out->exit_code;
	struct sn_progress progress;
	struct sn_text words = { 0 };
	sn_status status;

	r->starts++;
	announce(r, what);
	sn_streams_begin(&r->streams);
	if (sn_hosts_are_elsewhere(r->options)) {
		status = start_elsewhere(r, path, err);
		sn_streams_end(&r->streams);
		return status;
	}
	sn_online_progress_begin(&progress, &words, r->starts, what,
				 r->out->analysis ? r->out->analysis->experiment : NULL);
	status = sn_record_run(options, &result, err);
	sn_progress_end(&progress);
	sn_text_free(&words);
	sn_streams_end(&r->streams);
	r->out->exit_code = result.exit_code;
	r->out->has_run |= status == SN_OK;
	if (status == SN_OK) {
		sn_record_extracts(result.experiment_path.chars, options);
		compare_starts(r, exit_code_before);
		sn_text_add(path, result.experiment_path.chars);
	}
	sn_text_free(&result.experiment_path);
	if (status == SN_OK && !is_ended_from_outside(result.exit_signal))
		sn_online_death_tell(r->options, result.exit_code);
	/* a launcher makes an exit status of it */
	r->is_interrupted |= result.was_told_to_end || is_ended_from_outside(result.exit_signal);
	r->is_interrupted |= sn_online_signals_restore(&r->mask);
	return status;
}

/* What can be known to fail is said before a start is announced. */
static sn_status start_check(struct restart *r, struct sn_error *err)
{
	struct sn_target target = { 0 };
	struct sn_text key = { 0 };
	char host[256] = "";
	int32_t rank;
	sn_status status = sn_target_find(r->options->record.arguments[0], &target, err);

	if (status != SN_OK) {
		r->out->exit_code = target.exit_code;
		return status;
	}
	gethostname(host, sizeof(host) - 1);
	sn_launch_key(host, &key, &rank);
	status = sn_store_check(r->options->record.output, key.chars, err);
	sn_text_free(&key);
	return status;
}

/* ---- further starts ---- */

double sn_online_overhead(const struct sn_analysis *analysis)
{
	const struct sn_experiment *e = analysis->experiment;
	double overhead_ns = 0, cpu_ns = 0;

	for (size_t i = 0; i < e->processes.count; i++)
		overhead_ns += (double)e->processes.items[i].overhead_ns;
	for (size_t i = 0; i < e->samples.count; i++)
		cpu_ns += (double)e->samples.items[i].cpu_ns;
	return cpu_ns > 0 ? fmin(1, sn_overhead_share(overhead_ns, cpu_ns)) : 0;
}

static bool options_add(struct sn_record_options *options, const struct sn_source *source,
			struct sn_error *err)
{
	if (!strcmp(source->option, "heap"))
		options->heap = SN_HEAP_TRACE;
	else if (!strcmp(source->option, "mpi"))
		options->mpi = true;
	else if (!strcmp(source->option, "io"))
		options->has_io = true;
	else if (!strcmp(source->option, "counters"))
		return sn_traced_counters_add(options, err) == SN_OK;
	else if (!strcmp(source->option, "sync"))
		options->has_sync = true;
	else if (!strcmp(source->option, "openmp"))
		options->has_openmp = true;
	else
		return sn_copies_are_asked(source->option);
	return true;
}

/* Those that cannot be had say so when they are asked for. */
static uint32_t sources_available(void)
{
	uint32_t available = 0;

	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sn_sources[i]->option)
			available |= 1u << i;
	return available;
}

static void barren_note(const struct restart *r, struct sn_search *search,
			const struct sn_source *source, const struct sn_error *why)
{
	if (!r->options->is_quiet)
		fprintf(stderr, "sonde: no start for %s: %s\n", source->name, why->sentence);
	search->barren |= sn_source_own_bit(source);
}

static bool may_start(const struct restart *r, const char *what)
{
	const char *why = NULL;

	if (r->is_interrupted)
		why = "the program was interrupted";
	else if (r->starts > r->options->restarts)
		why = "there were as many starts as --restarts allows";
	else if (r->options->max_time_s > 0 && sn_now_s() - r->began_s > r->options->max_time_s)
		why = "--max-time is over";
	if (why && !r->options->is_quiet)
		fprintf(stderr, "sonde: no start for %s: %s\n", what, why);
	return !why;
}

/* What a source costs is known when it has been measured: beyond the budget the program did not run as it does. The
 * first start has what samples cost, which is in every start. */
static bool is_refused(const struct restart *r, struct sn_search *search,
		       const struct sn_source *source, double overhead_share)
{
	/* what copies of loops count does not change with what it costs */
	if (sn_copies_are_asked(source->option))
		return false;
	overhead_share = fmax(0, overhead_share - search->options.first.overhead_share);
	if (overhead_share <= sn_source_cost_most(source, r->options->budget))
		return false;
	search->refused |= sn_source_own_bit(source);
	if (!r->options->is_quiet)
		sn_online_refusal_tell(source->name, NULL, overhead_share, r->options->budget);
	return true;
}

static void values_join(struct restart *r, struct sn_search *search, const char *path,
			const struct sn_source *source, struct sn_search_step *step)
{
	struct sn_analysis *analysis = NULL;
	double overhead_share;
	struct sn_error err;

	if (sn_analysis_open(path, &r->options->analysis, &analysis, &err) != SN_OK) {
		sn_error_print(&err);
		return;
	}
	/* its time is not the phase's: what a source costs is in it */
	search->phase.executions++;
	step->executions++;
	overhead_share = sn_online_overhead(analysis);
	step->overhead_share = fmax(step->overhead_share, overhead_share);
	if (sn_online_start_failed(analysis->experiment, r->out->analysis->experiment, source->name,
				   r->options->is_quiet))
		search->failed |= sn_source_own_bit(source);
	else if (!is_refused(r, search, source, overhead_share)) {
		sn_further_values_join(search->recorded, analysis, source);
		search->joined |= sn_source_own_bit(source);
	}
	sn_analysis_free(analysis);
}

/* Loops that run as copies have to be found first; false: there are none. */
static bool copies_prepare(const struct restart *r, struct sn_search *search,
			   const struct sn_source *source, struct sn_copies *copies,
			   struct sn_record_options *options)
{
	struct sn_error err;

	if (!sn_copies_are_asked(source->option) ||
	    sn_copies_prepare(copies, source->option, r->out->analysis,
			      r->options->search.threshold, options, &err) == SN_OK)
		return true;
	barren_note(r, search, source, &err);
	return false;
}

static void what_is_measured(const struct sn_source *source, const struct sn_copies *copies,
			     struct sn_text *out)
{
	sn_text_add(out, source->name);
	if (copies->files)
		sn_text_addf(out, ", of %zu hot %s with %.0f %% of CPU time", copies->plans.loops,
			     copies->plans.loops == 1 ? "loop" : "loops",
			     100 * copies->plans.covered_share);
}

static void source_measure(struct restart *r, struct sn_search *search,
			   const struct sn_source *source, struct sn_search_step *step)
{
	struct sn_record_options options = r->options->record;
	struct sn_text path = { 0 }, label = { 0 }, what = { 0 };
	struct sn_copies copies = { 0 };
	struct sn_error err;

	if (!options_add(&options, source, &err)) {
		barren_note(r, search, source, &err);
		return;
	}
	if (!copies_prepare(r, search, source, &copies, &options) || !may_start(r, source->name)) {
		sn_copies_free(&copies);
		return;
	}
	if (options.heap == SN_HEAP_TRACE && !strcmp(source->option, "heap"))
		sn_traced_heap_bound(&options,
				     sn_traced_cpu_share(search->recorded->tables, "heap_time"),
				     r->options->budget);
	if (!strcmp(source->option, "io"))
		sn_traced_io_bound(&options,
				   sn_traced_cpu_share(search->recorded->tables, "io_cpu"),
				   r->options->budget);
	what_is_measured(source, &copies, &what);
	sn_text_addf(&label, "%s for the search of %s", source->name, r->base_path);
	options.output = NULL;
	options.label = label.chars;
	if (start(r, &options, what.chars, &path, &err) == SN_OK) {
		if (copies.files)
			sn_copies_ran(&copies, r->out->analysis, path.chars);
		search->exit_status = r->out->exit_code;
		if (!r->options->is_quiet)
			fprintf(stderr, "sonde: %s is in %s\n", source->name, path.chars);
		values_join(r, search, path.chars, source, step);
	} else {
		sn_error_print(&err);
	}
	sn_copies_free(&copies);
	sn_text_free(&what);
	sn_text_free(&path);
	sn_text_free(&label);
}

static void measure(void *context, struct sn_search *search, uint32_t sources,
		    struct sn_search_step *step)
{
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sources & 1u << i)
			source_measure(context, search, sn_sources[i], step);
}

/* ---- what repeats ---- */

static void found_announce(struct restart *r, const struct sn_found_phase *found)
{
	struct sn_text what = { 0 };

	sn_text_addf(
		&what,
		"%s is passed again and again (seen %llu times); executions of it are measured",
		found->name.chars, (unsigned long long)found->passed);
	announce(r, what.chars);
	sn_text_free(&what);
}

/* The result of the phase takes the place of what the first start gave. */
static void result_take(struct restart *r, struct sn_online *online)
{
	struct sn_online *out = r->out;

	sn_recorded_free(out->recorded);
	sn_analysis_free(out->analysis);
	*out = *online;
	*online = (struct sn_online){ 0 };
}

static sn_status executions_run(struct restart *r, struct sn_phase *phase, const char *label,
				struct sn_online *out, struct sn_error *err)
{
	struct sn_online_options options = *r->options;
	sn_status status;

	options.record.output = NULL;
	options.record.label = label;
	options.output_fd = STDOUT_FILENO; /* the streams' */
	options.phase = phase->name.chars; /* as hosts find the same place */
	sn_streams_begin(&r->streams);
	status = options.agents ? sn_online_hosts(&options, out, err)
				: sn_online_phases_at(&options, phase, out, err);
	sn_streams_end(&r->streams);
	r->is_interrupted |= sn_online_signals_restore(&r->mask);
	return status;
}

static sn_status executions_start(struct restart *r, const struct sn_found_phase *found,
				  struct sn_error *err)
{
	struct sn_online online = { 0 };
	struct sn_text label = { 0 };
	struct sn_phase phase;
	int exit_code_before = r->out->exit_code;
	sn_status status =
		sn_phase_at(found->name.chars, found->module.chars, found->link_addr, &phase, err);

	if (status == SN_OK)
		status = sn_online_phase_check(&phase, err);
	sn_text_add(&phase.file, found->file.chars);
	phase.line = found->line;
	sn_text_addf(&label, "executions of %s for the search of %s", found->name.chars,
		     r->base_path);
	if (status == SN_OK) {
		r->starts++;
		found_announce(r, found);
		status = executions_run(r, &phase, label.chars, &online, err);
		r->out->exit_code = online.exit_code;
		compare_starts(r, exit_code_before);
	}
	if (status == SN_OK && !r->options->is_quiet)
		fprintf(stderr, "sonde: what was measured is in %s\n", online.path.chars);
	if (status == SN_OK)
		result_take(r, &online);
	sn_online_free(&online);
	sn_phase_free(&phase);
	sn_text_free(&label);
	return status;
}

/* False: the whole program is the phase, as nothing repeats or no execution could be measured. */
static bool executions_searched(struct restart *r)
{
	static const char of_search[] = "search: ";
	struct sn_found_phase found;
	struct sn_error err;
	sn_status status = sn_found_phase_of(r->out->analysis, &found, &err);

	if (status == SN_OK && !may_start(r, found.name.chars))
		status = sn_error_set(&err, SN_ERR_NO_DATA, "%s repeats, but is not measured",
				      found.name.chars);
	else if (status == SN_OK)
		status = executions_start(r, &found, &err);
	if (status != SN_OK && !r->options->is_quiet)
		fprintf(stderr, "sonde: the whole program is the phase: %s\n",
			sn_starts_with(err.sentence, of_search) ? err.sentence + strlen(of_search)
								: err.sentence);
	sn_found_phase_free(&found);
	return status == SN_OK;
}

/* ---- all ---- */

static sn_status search_run(struct restart *r, struct sn_error *err)
{
	struct sn_search_options options = r->options->search;
	struct sn_online *out = r->out;
	int64_t elapsed_ns = out->analysis->experiment->elapsed_ns;

	for (const struct sn_source *const *source = sn_sources; *source; source++)
		(*source)->collect(out->recorded);
	options.mode = "restart";
	options.measuring = (struct sn_measuring){ .context = r,
						   .available = sn_hosts_are_elsewhere(r->options)
									? 0
									: sources_available(),
						   .measure = measure };
	options.first =
		(struct sn_search_step){ .executions = 1,
					 .overhead_share = sn_online_overhead(out->analysis),
					 .elapsed_s =
						 elapsed_ns > 0 ? (double)elapsed_ns / 1e9 : 0 };
	return sn_search_run(out->recorded, r->options->library, &options, &out->search, err);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return a && !stat(a, &of_a) && !stat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/* The command line of the process that nobody who was recorded has started; NULL: not known. */
static const char *launcher_words(const struct sn_experiment *e)
{
	for (size_t i = 0; i < e->processes.count; i++) {
		bool is_first = true;

		for (size_t k = 0; k < e->processes.count && is_first; k++)
			is_first = e->processes.items[k].pid != e->processes.items[i].parent_pid;
		if (is_first)
			return e->processes.items[i].arguments;
	}
	return NULL;
}

/* A launcher may start the program where no recording of ours begins: what there is then is the launcher's own. */
static sn_status program_check(const struct restart *r, const struct sn_experiment *e,
			       struct sn_error *err)
{
	const struct sn_online_options *options = r->options;
	const char *launcher = options->record.arguments[0], *program = options->program;
	const char *own = launcher_words(e);
	struct sn_target target;
	struct sn_error ignored;

	if (launcher == program || !own || sn_target_find(program, &target, &ignored) != SN_OK)
		return SN_OK;
	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *p = &e->processes.items[i];

		/* the launcher has the program's name among its words, and so has a script's interpreter */
		if (is_same_file(p->program, target.path) ||
		    (p->arguments && strcmp(p->arguments, own) != 0 &&
		     strstr(p->arguments, program)))
			return SN_OK;
	}
	if (r->is_interrupted)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: interrupted before '%s' had started, so nothing was measured",
			program);
	return sn_error_set(
		err, SN_ERR_NO_DATA,
		"search: nothing was measured of '%s': '%s' starts it on other hosts, or "
		"without this command's environment. --phase PLACE (or auto) with --agents "
		"ssh, srun or auto measures it there",
		program, launcher);
}

sn_status sn_online_restart(const struct sn_online_options *options, struct sn_online *out,
			    struct sn_error *err)
{
	struct restart r = { .options = options, .out = out, .began_s = sn_now_s() };
	struct sn_text path = { 0 };
	sn_status status;

	*out = (struct sn_online){ .exit_code = SN_EXIT_NOT_MEASURED };
	status = sn_search_check(options->library, &options->search, err);
	if (status != SN_OK) {
		out->exit_code = SN_EXIT_USAGE;
		return status;
	}
	status = start_check(&r, err);
	if (status != SN_OK)
		return status;
	sigprocmask(SIG_SETMASK, NULL, &r.mask);
	sn_streams_open(&r.streams);
	status = start(&r, &options->record, "samples, waits, the kernel's account", &path, err);
	r.base_path = path.chars;
	if (status == SN_OK)
		status = sn_analysis_open(path.chars, &options->analysis, &out->analysis, err);
	if (status == SN_OK)
		status = program_check(&r, out->analysis->experiment, err);
	if (status == SN_OK) {
		out->recorded = sn_recorded_new(out->analysis->profile, out->analysis->structures,
						sn_analysis_machine(out->analysis));
		out->recorded->caches = options->caches;
		if (!options->phase || !executions_searched(&r))
			status = search_run(&r, err);
	}
	sn_streams_show(&r.streams, options->output_fd);
	sn_streams_close(&r.streams);
	sn_text_free(&path);
	return status;
}
