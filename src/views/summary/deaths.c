/*
 * Processes that a signal ended, a sentence each: which signal and what it means, which process, and
 * when. Equal deaths of several processes of one program share a sentence.
 */
#include "views/summary/deaths.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* What a signal mostly means to who sees a program end by it. */
static const char *const meanings[] = {
	[SIGHUP] = "its terminal or connection was closed",
	[SIGINT] = "interrupted, as by Ctrl-C",
	[SIGQUIT] = "told to quit and leave a core file",
	[SIGILL] = "an instruction that this processor does not have",
	[SIGTRAP] = "a breakpoint or a trap instruction",
	[SIGABRT] = "it gave up by itself: abort() or a failed assertion",
	[SIGBUS] = "access to memory that is not there, as of a mapped file that was cut short",
	[SIGFPE] = "an arithmetic error, as an integer division by zero",
	[SIGKILL] = "killed by force: by a person, a batch system, or the kernel out of memory",
	[SIGSEGV] = "access to memory that is not its own",
	[SIGPIPE] = "nobody read its output any more",
	[SIGALRM] = "a timer that it had set",
	[SIGTERM] = "told to end",
	[SIGXCPU] = "the limit of CPU time, 'ulimit -t'",
	[SIGXFSZ] = "the limit of file sizes, 'ulimit -f'",
	[SIGSYS] = "a system call that is forbidden to it",
};

void sn_signal_describe(int32_t number, bool is_brief, struct sn_text *out)
{
	const char *name = sigabbrev_np(number);

	if (!name) {
		sn_text_addf(out, "signal %d", number);
		return;
	}
	sn_text_addf(out, "SIG%s", name);
	if (!is_brief && number > 0 && (size_t)number < sizeof(meanings) / sizeof(*meanings) &&
	    meanings[number])
		sn_text_addf(out, " (%s)", meanings[number]);
}

static bool are_alike(const struct sn_process *a, const struct sn_process *b)
{
	return a->exit_signal == b->exit_signal &&
	       !strcmp(sn_base_name(a->program), sn_base_name(b->program));
}

static void death_add(struct sn_summary *s, const struct sn_process *first, size_t count)
{
	const char *program = sn_base_name(first->program);
	struct sn_text sentence = { 0 };

	if (count > 1)
		sn_text_addf(&sentence, "%zu processes of %s were ended by ", count, program);
	else
		sn_text_addf(&sentence, "%s (process %d) was ended by ", program, first->pid);
	sn_signal_describe(first->exit_signal, false, &sentence);
	sn_text_addf(&sentence, ", %s%.3f s after the start of the run",
		     count > 1 ? "the first one " : "", (double)first->end_ns / 1e9);
	if (count > 1)
		sn_text_addf(&sentence, " (process %d)", first->pid);
	sn_summary_warn(s, sentence.chars);
	s->death_count++;
	sn_text_free(&sentence);
}

/* The first process of all that died like this one, and how many did. */
static const struct sn_process *first_alike(const struct sn_experiment *e, size_t i, bool *is_told,
					    size_t *count)
{
	const struct sn_process *first = &e->processes.items[i];

	for (size_t k = i; k < e->processes.count; k++) {
		const struct sn_process *other = &e->processes.items[k];

		if (!are_alike(other, &e->processes.items[i]))
			continue;
		is_told[k] = true;
		++*count;
		if (other->end_ns < first->end_ns)
			first = other;
	}
	return first;
}

void sn_summary_deaths_find(struct sn_summary *s)
{
	const struct sn_experiment *e = s->profile->experiment;
	bool *is_told = sn_alloc_zeroed(e->processes.count + 1, 1);
	bool has_target = !e->exit_signal;

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *first;
		size_t count = 0;

		has_target |= e->processes.items[i].exit_signal == e->exit_signal;
		if (!e->processes.items[i].exit_signal || is_told[i])
			continue;
		first = first_alike(e, i, is_told, &count);
		death_add(s, first, count);
	}
	free(is_told);
	if (!has_target) { /* its own process was not measured */
		struct sn_text sentence = { 0 };

		sn_text_addf(&sentence, "%s was ended by ", sn_base_name(e->program));
		sn_signal_describe(e->exit_signal, false, &sentence);
		sn_text_addf(&sentence, ", %.3f s after the start of the run",
			     (double)e->elapsed_ns / 1e9);
		sn_summary_warn(s, sentence.chars);
		s->death_count++;
		sn_text_free(&sentence);
	}
}
