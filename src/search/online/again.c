/* Further starts of a program of which executions of a phase were measured. What they write to standard output is nobody's. */
#include "search/online/again.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "search/online/copies.h"
#include "search/online/parts.h"
#include "search/online/traced.h"

void sn_again_open(struct sn_again *again, const struct sn_online_options *options)
{
	*again = (struct sn_again){ .options = options,
				    .input_at = lseek(STDIN_FILENO, 0, SEEK_CUR),
				    .most = options->phase_restarts,
				    .began_s = sn_now_s() };
	sigprocmask(SIG_SETMASK, NULL, &again->mask);
}

static bool is_counters(const struct sn_source *source)
{
	return !strcmp(source->option, "counters");
}

uint32_t sn_again_sources(const struct sn_again *again)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; again->most && sn_sources[i]; i++)
		if (sn_sources[i]->option &&
		    (sn_copies_are_asked(sn_sources[i]->option) || is_counters(sn_sources[i])))
			bits |= 1u << i;
	return bits;
}

static bool may_start(const struct sn_again *again, const char *what)
{
	const struct sn_online_options *o = again->options;
	const char *why = NULL;

	if (again->is_over)
		why = "the program was interrupted, or failed";
	else if (again->input_at < 0 && !isatty(STDIN_FILENO))
		why = "its standard input came by a pipe, and is gone";
	else if (again->starts >= again->most)
		why = "there were as many starts as --restarts allows";
	else if (o->max_time_s > 0 && sn_now_s() - again->began_s > o->max_time_s)
		why = "--max-time is over";
	if (why && !o->is_quiet)
		sn_warn("no start for %s: %s", what, why);
	return !why;
}

/* Its output is that of the first start once more. */
static sn_status program_run(struct sn_again *again, const struct sn_record_options *record,
			     const char *what, const struct sn_analysis *first,
			     struct sn_text *path, struct sn_error *err)
{
	struct sn_record_result result = { 0 };
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct sn_progress progress;
	struct sn_text words = { 0 };
	sn_status status;

	fflush(stdout);
	if (nowhere >= 0)
		dup2(nowhere, STDOUT_FILENO);
	if (again->input_at >= 0)
		lseek(STDIN_FILENO, again->input_at, SEEK_SET);
	sn_online_progress_begin(&progress, &words, again->starts + 1, what, first->experiment);
	status = sn_record_run(record, &result, err);
	sn_progress_end(&progress);
	sn_text_free(&words);
	if (own >= 0)
		dup2(own, STDOUT_FILENO);
	if (own >= 0)
		close(own);
	if (nowhere >= 0)
		close(nowhere);
	again->is_over |= status != SN_OK || result.exit_signal || result.was_told_to_end;
	if (status == SN_OK) {
		sn_record_extracts(result.experiment_path.chars, record);
		sn_text_add(path, result.experiment_path.chars);
	}
	sn_text_free(&result.experiment_path);
	return status;
}

/* NULL: it cannot be read, or failed. */
static struct sn_analysis *values_open(const struct sn_again *again, const char *path,
				       const char *source, const struct sn_analysis *first)
{
	struct sn_analysis *analysis = NULL;
	struct sn_error err;

	if (sn_analysis_open(path, &again->options->analysis, &analysis, &err) != SN_OK) {
		sn_error_print(&err);
		return NULL;
	}
	if (!sn_online_start_failed(analysis->experiment, first->experiment, source,
				    again->options->is_quiet))
		return analysis;
	sn_analysis_free(analysis);
	return NULL;
}

static void announce(const struct sn_again *again, const struct sn_source *source,
		     const struct sn_copies *copies)
{
	if (!again->options->is_quiet && is_counters(source))
		sn_warn("start %u of %u at most: %s", again->starts + 1, again->most + 1,
			source->name);
	else if (!again->options->is_quiet)
		sn_warn("start %u of %u at most: %s, of %zu hot %s with %.0f %% of CPU time",
			again->starts + 1, again->most + 1, source->name, copies->plans.loops,
			copies->plans.loops == 1 ? "loop" : "loops",
			100 * copies->plans.covered_share);
}

static sn_status what_is_asked(const struct sn_again *again, const struct sn_source *source,
			       struct sn_analysis *first, struct sn_copies *copies,
			       struct sn_record_options *record, struct sn_error *err)
{
	return is_counters(source)
		       ? sn_traced_counters_add(record, err)
		       : sn_copies_prepare(copies, source->option, first,
					   again->options->search.threshold, record, err);
}

struct sn_analysis *sn_again_start(struct sn_again *again, const struct sn_source *source,
				   struct sn_analysis *first, bool *is_barren)
{
	struct sn_record_options record = again->options->record;
	struct sn_text path = { 0 }, label = { 0 };
	struct sn_analysis *analysis = NULL;
	struct sn_copies copies = { 0 };
	struct sn_error err;

	*is_barren = false;
	/* another Ctrl-C than that of the start before is the program's again */
	again->is_over |= sn_online_signals_restore(&again->mask);
	record.output = NULL;
	sn_text_addf(&label, "%s for the search of %s", source->name, again->base_path);
	record.label = label.chars;
	if (!may_start(again, source->name)) {
		sn_text_free(&label);
		return NULL;
	}
	*is_barren = what_is_asked(again, source, first, &copies, &record, &err) != SN_OK;
	if (*is_barren) {
		if (!again->options->is_quiet)
			sn_warn("no start for %s: %s", source->name, err.sentence);
	} else {
		again->starts++;
		announce(again, source, &copies);
		if (program_run(again, &record, source->name, first, &path, &err) == SN_OK) {
			sn_copies_ran(&copies, first, path.chars);
			if (!again->options->is_quiet)
				sn_warn("%s is in %s", source->name, path.chars);
			analysis = values_open(again, path.chars, source->name, first);
		} else {
			sn_error_print(&err);
		}
	}
	sn_copies_free(&copies);
	sn_text_free(&path);
	sn_text_free(&label);
	return analysis;
}
