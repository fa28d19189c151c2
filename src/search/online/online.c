/* Which kind of search a program has. */
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "search/online/hosts_parts.h"
#include "search/online/parts.h"

/* Exit codes above are of signals, by the shell's rule. */
enum { SIGNALLED = 128 };

sn_status sn_online_run(const struct sn_online_options *options, struct sn_online *out,
			struct sn_error *err)
{
	if (!options->phase || !strcmp(options->phase, SN_PHASE_AUTO))
		return sn_online_restart(options, out, err);
	return options->agents ? sn_online_hosts(options, out, err)
			       : sn_online_phases(options, out, err);
}

sn_status sn_online_again(const struct sn_online_options *options, const char *folder,
			  struct sn_online *out, struct sn_error *err)
{
	return sn_spool_exists(folder) ? sn_phases_again(options, folder, out, err)
				       : sn_hosts_again(options, folder, out, err);
}

void sn_online_death_tell(const struct sn_online_options *options, int exit_code)
{
	int signal = exit_code - SIGNALLED;

	if (signal > 0 && signal < NSIG && !options->is_quiet)
		sn_warn("the program died of signal %d (%s); the result is of its run until then",
			signal, strsignal(signal));
}

void sn_online_refusal_tell(const char *source, const char *path, double share, double budget)
{
	char whose[512] = "";

	if (path)
		snprintf(whose, sizeof(whose), " in '%.500s'", path);
	/* another start costs a little more or less */
	sn_warn("values of %s%s are refused: measuring them took %.2f %% of the CPU time, more than "
		"the budget of %.2f %%; --budget %.2f takes them, of a program that is slowed so much",
		source, whose, 100 * share, 100 * budget, fmin(1, ceil(120 * share) / 100));
}

bool sn_online_start_failed(const struct sn_experiment *start, const struct sn_experiment *first,
			    const char *source, bool is_quiet)
{
	if (start->exit_status <= 0 || start->exit_status == first->exit_status)
		return false;
	if (!is_quiet)
		sn_warn("values of %s are left out: their start '%s' ended with status %d, the first one "
			"with %d",
			source, start->path, start->exit_status, first->exit_status);
	return true;
}

void sn_online_progress_begin(struct sn_progress *progress, struct sn_text *words, uint32_t start,
			      const char *what, const struct sn_experiment *first)
{
	sn_text_clear(words);
	sn_text_addf(words, "start %u runs (%s)", start, what);
	sn_progress_begin_timed(progress, words->chars,
				first ? fmax(0, (double)first->elapsed_ns / 1e9) : 0);
}

void sn_online_phases_begin(struct sn_progress *progress, struct sn_text *words,
			    const struct sn_phase *phase)
{
	sn_text_clear(words);
	sn_text_addf(words, "the program runs ('%s' is watched)", phase->name.chars);
	sn_progress_begin_timed(progress, words->chars, 0);
}

void sn_online_free(struct sn_online *online)
{
	sn_search_free(online->search);
	sn_executions_free(online->phases);
	sn_online_front_free(online->front);
	sn_hosts_free(online->hosts);
	sn_text_free(&online->path);
	sn_recorded_free(online->recorded);
	sn_analysis_free(online->analysis);
	*online = (struct sn_online){ 0 };
}
