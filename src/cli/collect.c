/* sonde collect: the options of gprofng's and Studio's collect, as those of sonde record. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/counters.h"
#include "cli/help.h"
#include "experiment/store.h"

/* Words for sonde record. Those that were made here are freed. */
struct translation {
	const char *command; /* of ours, that does it */
	sn_strings words;
};

static void add(struct translation *t, const char *option, const char *value)
{
	struct sn_text word = { 0 };

	sn_text_addf(&word, "--%s", option);
	if (value)
		sn_text_addf(&word, "=%s", value);
	sn_vec_push(&t->words, sn_text_take(&word));
}

static bool is_one_of(const char *value, const char *a, const char *b, const char *c)
{
	return !strcmp(value, a) || !strcmp(value, b) || (c && !strcmp(value, c));
}

/* ---- one option each ---- */

/* off, on, hi, lo, or an interval in ms; 'u' behind it: us. */
static sn_status profile_set(struct translation *t, const char *value, struct sn_error *err)
{
	char rate[32], *end;
	double interval;

	if (is_one_of(value, "off", "on", "hi") || !strcmp(value, "lo")) {
		add(t, "clock", value);
		return SN_OK;
	}
	interval = strtod(value, &end);
	if (*end == 'u' && !end[1])
		interval /= 1000;
	else if (*end && (*end != 'm' || end[1]))
		interval = 0;
	if (!(interval >= 0.05 && interval <= 10000))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-p takes off, lo, on, hi or an interval of 0.05 to 10000 ms, not '%s'",
			value);
	snprintf(rate, sizeof(rate), "%.6g", 1000 / interval);
	add(t, "clock", rate);
	return SN_OK;
}

static bool is_interval(const char *word)
{
	return !word[0] || is_one_of(word, "on", "hi", "lo") ||
	       strspn(word, "0123456789") == strlen(word);
}

/* ctr[/reg][,interval],ctr... as EVENT:PERIOD,... */
static sn_status counters_set(struct translation *t, const char *value, struct sn_error *err)
{
	char *words = sn_strdup(value), *rest = words, *word;
	struct sn_text list = { 0 };
	sn_status status = SN_OK;

	while (status == SN_OK && (word = strsep(&rest, ","))) {
		char *slash = strchr(word, '/');

		if (is_interval(word) && !list.length)
			status = sn_error_set(
				err, SN_ERR_USAGE,
				"-h takes COUNTER[,INTERVAL],.. and '%s' names no counter", word);
		else if (is_interval(word))
			sn_text_addf(&list, "%s%s", word[0] && strcmp(word, "0") != 0 ? ":" : "",
				     word[0] && strcmp(word, "0") != 0 ? word : "");
		else {
			if (slash)
				*slash = '\0'; /* Linux chooses the register */
			sn_text_addf(&list, "%s%s", list.length ? "," : "", word);
		}
	}
	if (status == SN_OK)
		add(t, "event", list.chars);
	sn_text_free(&list);
	free(words);
	return status;
}

/* on, calibrate: calibrated; off; all; a threshold in us; a scope (",n") may follow. */
static sn_status sync_set(struct translation *t, const char *value, struct sn_error *err)
{
	char *least = sn_strdup(value);
	sn_status status = SN_OK;

	least[strcspn(least, ",")] = '\0';
	if (is_one_of(least, "on", "calibrate", NULL))
		add(t, "sync", "on");
	else if (!strcmp(least, "all"))
		add(t, "sync", "all");
	else if (least[0] && strspn(least, "0123456789") == strlen(least))
		add(t, "sync", least);
	else if (strcmp(least, "off") != 0)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"-s takes off, on, calibrate, all or a threshold in us, not '%s'", value);
	free(least);
	return status;
}

static sn_status switch_set(struct translation *t, const char *letter, const char *option,
			    const char *value, struct sn_error *err)
{
	if (!strcmp(value, "on"))
		add(t, option, NULL);
	else if (strcmp(value, "off") != 0)
		return sn_error_set(err, SN_ERR_USAGE, "-%s takes on or off, not '%s'", letter,
				    value);
	return SN_OK;
}

static sn_status heap_set(struct translation *t, const char *value, struct sn_error *err)
{
	return switch_set(t, "H", "heap", value, err);
}

static sn_status io_set(struct translation *t, const char *value, struct sn_error *err)
{
	return switch_set(t, "i", "io", value, err);
}

static sn_status mpi_set(struct translation *t, const char *value, struct sn_error *err)
{
	return switch_set(t, "m", "mpi", value, err);
}

/* Sample packets: on is each second. They cost nothing that could be seen, so off means seldom. */
static sn_status packets_set(struct translation *t, const char *value, struct sn_error *err)
{
	bool is_number = value[0] && strspn(value, "0123456789") == strlen(value);

	if (!strcmp(value, "off"))
		add(t, "packets", "86400");
	else if (is_number)
		add(t, "packets", value);
	else if (strcmp(value, "on") != 0)
		return sn_error_set(err, SN_ERR_USAGE, "-S takes off, on or seconds, not '%s'",
				    value);
	return SN_OK;
}

static sn_status packet_signal_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)err;
	add(t, "packet-signal", value);
	return SN_OK;
}

static sn_status pause_signal_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)err;
	add(t, "pause-signal", value);
	return SN_OK;
}

static sn_status follow_set(struct translation *t, const char *value, struct sn_error *err)
{
	if (is_one_of(value, "on", "all", NULL))
		add(t, "follow", "all");
	else if (!strcmp(value, "off"))
		add(t, "follow", "none");
	else if (value[0] == '=')
		add(t, "follow", value);
	else
		return sn_error_set(err, SN_ERR_USAGE, "-F takes on, all, off or =REGEX, not '%s'",
				    value);
	return SN_OK;
}

/* "90", "90s", "2m" -> seconds. False: none of them. */
static bool seconds_parse(const char *word, size_t length, double *out)
{
	char text[32], *end;

	snprintf(text, sizeof(text), "%.*s", (int)length, word);
	*out = strtod(text, &end);
	if (end == text || *out < 0)
		return false;
	if (*end == 'm' || *end == 's') {
		*out *= *end == 'm' ? 60 : 1;
		end++;
	}
	return !*end;
}

/* N, or FROM-TO. */
static sn_status time_set(struct translation *t, const char *value, struct sn_error *err)
{
	const char *dash = strchr(value, '-');
	double from = 0, to = 0;
	char text[32];

	if (!seconds_parse(dash ? dash + 1 : value, strlen(dash ? dash + 1 : value), &to) ||
	    (dash && !seconds_parse(value, (size_t)(dash - value), &from)) ||
	    (to > 0 && to <= from))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-t takes a duration or FROM-TO, in seconds or with m for minutes, not '%s'",
			value);
	if (from > 0) {
		snprintf(text, sizeof(text), "%.9g", from);
		add(t, "delay", text);
	}
	if (to > from) {
		snprintf(text, sizeof(text), "%.9g", to - from);
		add(t, "duration", text);
	}
	return SN_OK;
}

static sn_status dry_run_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)value, (void)err;
	add(t, "dry-run", NULL);
	return SN_OK;
}

static sn_status output_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)err;
	add(t, "output", value);
	return SN_OK;
}

/* The experiment of that name goes, and only an experiment. */
static sn_status overwrite_set(struct translation *t, const char *value, struct sn_error *err)
{
	if (sn_store_is_experiment(value) && sn_store_remove(value, err) != SN_OK)
		return err->status;
	return output_set(t, value, err);
}

static sn_status comment_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)err;
	add(t, "label", value);
	return SN_OK;
}

/* Experiments always hold what is needed to read them elsewhere; source is what can be left out. */
static sn_status archive_set(struct translation *t, const char *value, struct sn_error *err)
{
	if (is_one_of(value, "off", "ldobjects", "usedldobjects"))
		add(t, "no-source", NULL);
	else if (!is_one_of(value, "on", "src", "usedsrc") &&
		 !is_one_of(value, "copy", "all", NULL))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-%c takes off, on, ldobjects, usedldobjects, src or usedsrc, not '%s'",
			'a', value);
	return SN_OK;
}

/* What takes off alone. */
static sn_status off_only(char letter, const char *value, const char *why, struct sn_error *err)
{
	if (!strcmp(value, "off"))
		return SN_OK;
	return sn_error_set(err, SN_ERR_UNSUPPORTED, "-%c %s: %s", letter, value, why);
}

static sn_status java_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)t;
	return off_only(
		'j', value,
		"Java's own stacks are not taken; leave -j away, and java -XX:+DumpPerfMapAtExit "
		"(JDK 17) gives its functions names",
		err);
}

static sn_status count_set(struct translation *t, const char *value, struct sn_error *err)
{
	if (!strcmp(value, "on"))
		t->command = "count";
	else if (!strcmp(value, "static"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"-c static: functions and instructions without a run are in 'sonde "
			"structure -l functions PROGRAM'");
	else if (strcmp(value, "off") != 0)
		return sn_error_set(err, SN_ERR_USAGE, "-c takes on or off, not '%s'", value);
	return SN_OK;
}

static sn_status race_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)t;
	return off_only(
		'r', value,
		"data races are not looked for; gcc -fsanitize=thread and valgrind --tool=drd do, "
		"and 'sonde collect -s all' finds deadlocks",
		err);
}

static sn_status attach_set(struct translation *t, const char *value, struct sn_error *err)
{
	(void)err;
	add(t, "pid", value);
	return SN_OK;
}

static const struct sn_option collect_options[] = {
	{ "profile", 'p', "VALUE",
	  "clock profiling: off, lo, on (unless said), hi, or an interval in ms (10, 997u)", NULL },
	{ "counters", 'h', "COUNTER[,INTERVAL],..",
	  "counters: names of -h alone, each with hi, on, lo or a number; +COUNTER: with addresses",
	  NULL },
	{ "sync", 's', "VALUE",
	  "waiting for locks: off, on or calibrate, all, or a threshold in us", NULL },
	{ "heap", 'H', "VALUE", "allocations: off, on", NULL },
	{ "io", 'i', "VALUE", "input and output: off, on", NULL },
	{ "mpi", 'm', "VALUE", "calls of MPI: off, on", NULL },
	{ "sample", 'S', "VALUE", "sample packets: off, on (each second, unless said), or seconds",
	  NULL },
	{ "sample-signal", 'l', "SIGNAL", "sent to this command, it writes a sample packet", NULL },
	{ "pause", 'y', "SIGNAL[,r]",
	  "sent to this command, it resumes and pauses; ,r: measuring begins at once", NULL },
	{ "follow", 'F', "VALUE", "descendants: on, all, off, =REGEX of program paths", NULL },
	{ "time", 't', "SECONDS", "how long to measure, or FROM-TO; 2m is two minutes", NULL },
	{ "dry-run", 'n', NULL, "say what would be measured, and do not run", NULL },
	{ "output", 'o', "FOLDER", "name of the experiment", NULL },
	{ "overwrite", 'O', "FOLDER", "the same; an experiment of that name is removed first",
	  NULL },
	{ "comment", 'C', "TEXT", "a label for the experiment", NULL },
	{ "archive", 'a', "VALUE", "what is kept: on, src, usedsrc; off, ldobjects: no source text",
	  NULL },
	{ "java", 'j', "VALUE", "off: Java's own stacks cannot be had", NULL },
	{ "count", 'c', "VALUE", "on: count calls and instructions, as sonde count does; off",
	  NULL },
	{ "race", 'r', "VALUE", "off: data races are not looked for", NULL },
	{ "attach", 'P', "PID", "sample a process that runs already", NULL },
	{ 0 },
};

static sn_status (*const setters[])(struct translation *t, const char *value,
				    struct sn_error *err) = {
	profile_set, counters_set, sync_set,	      heap_set,		io_set,
	mpi_set,     packets_set,  packet_signal_set, pause_signal_set, follow_set,
	time_set,    dry_run_set,  output_set,	      overwrite_set,	comment_set,
	archive_set, java_set,	   count_set,	      race_set,		attach_set,
};
_Static_assert(sizeof(setters) / sizeof(*setters) + 1 ==
		       sizeof(collect_options) / sizeof(*collect_options),
	       "each option has its meaning");

static int collect_run(const struct sn_args *args)
{
	struct translation t = { .command = "record" };
	const struct sn_command *command;
	struct sn_args theirs;
	struct sn_error err;
	sn_status status = SN_OK;
	size_t made;
	int code = SN_EXIT_NOT_MEASURED;

	if (!args->operand_count && !sn_args_value(args, "attach")) {
		sn_error_set(&err, SN_ERR_USAGE, "what shall be run? sonde collect PROGRAM ARGS");
		sn_error_print(&err);
		return code;
	}
	/* the Collector's default is 100 samples a second of CPU time, not sonde's 1000 */
	if (!sn_args_value(args, "profile") && !sn_args_value(args, "attach"))
		add(&t, "clock", sn_args_value(args, "counters") ? "off" : "on");
	for (size_t i = 0; i < args->given_count && status == SN_OK; i++)
		status = setters[args->given[i].option](&t, args->given[i].value, &err);
	made = t.words.count;
	sn_vec_push(&t.words, (char *)"--");
	for (size_t i = 0; i < args->operand_count; i++)
		sn_vec_push(&t.words, args->operands[i]);
	command = sn_command_find(t.command);
	if (status == SN_OK)
		status = sn_args_parse(command, (int)(t.words.count), t.words.items, &theirs, &err);
	if (status == SN_OK) {
		code = command->run(&theirs);
		sn_args_free(&theirs);
	} else {
		sn_error_print(&err);
	}
	for (size_t i = 0; i < made; i++)
		free(t.words.items[i]);
	sn_vec_free(&t.words);
	return code;
}

static int counters_list(void)
{
	sn_counters_print(stdout);
	return SN_EXIT_OK;
}

const struct sn_command sn_command_collect = {
	.name = "collect",
	.operands = "PROGRAM [ARGS...]",
	.summary = "The same as record, with the options of gprofng's and Studio's collect",
	.description =
		"Each option is one of 'sonde record', which has more. -h alone lists the counters. As with the "
		"Collector, the clock takes 100 samples a second of CPU time unless -p says otherwise, and none "
		"with -h.",
	.options = collect_options,
	.examples = (const char *const[]){ "sonde collect -p hi -s on ./app",
					   "clock and waiting for locks",
					   "sonde collect -h page-faults,1 ./app",
					   "every page fault", "sonde collect -h",
					   "the counters that there are here", NULL },
	.stops_at_operand = true,
	.h_alone = counters_list,
	.run = collect_run,
};
