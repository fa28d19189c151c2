/* What the numbers say, in words, each with the view that shows why. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/build.h"
#include "report/quality.h"
#include "report/words.h"

__attribute__((format(printf, 4, 5))) static void say(struct sn_report *report, bool is_warning,
						      const char *link, const char *format, ...)
{
	char words[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	sn_vec_push(&report->sentences,
		    (struct sn_report_sentence){ .words = sn_arena_strdup(&report->arena, words),
						 .link = link,
						 .is_warning = is_warning });
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void say_loops(struct sn_report *report)
{
	const struct sn_report_loop *loop = report->loops.items;
	const char *function, *link;
	char a[64], b[64];
	uint64_t sum = 0;
	size_t count = 0;

	if (!report->loops.count || !loop->exclusive_ns || loop->is_runtime)
		return;
	while (count < report->loops.count && !report->loops.items[count].is_runtime &&
	       sum * 5 < report->sampled_ns * 4)
		sum += report->loops.items[count++].exclusive_ns;
	link = sn_arena_printf(&report->arena, "#/loop/%s", loop->id);
	function = loop->function == SN_NONE ? "an unnamed function"
					     : report->functions.items[loop->function].name;
	sn_words_percent(a, share_of(loop->exclusive_ns, report->sampled_ns));
	sn_words_percent(b, report->loops_share);
	if (sn_starts_with(loop->label, function)) /* without lines the label has the name */
		say(report, false, link,
		    "The hottest loop, %.300s, takes %s of CPU time; all loops together %s.",
		    loop->label, a, b);
	else
		say(report, false, link,
		    "The hottest loop, %s in %.200s, takes %s of CPU time; all loops together %s.",
		    loop->label, function, a, b);
	if (sum * 5 >= report->sampled_ns * 4 && count > 1)
		say(report, false, "#/categories", "%zu loops make up 80 %% of CPU time.", count);
}

static void say_functions(struct sn_report *report)
{
	char words[64];

	if (report->loops_share > 0.5 || !report->sample_count || !report->functions.count ||
	    !report->functions.items[0].exclusive_ns)
		return;
	say(report, false, "#/functions",
	    "The hottest function, %.300s, takes %s of CPU time itself.",
	    report->functions.items[0].name,
	    sn_words_percent(
		    words, share_of(report->functions.items[0].exclusive_ns, report->sampled_ns)));
}

/** What the static model promises, and its word on the hottest loop. */
static void say_whatif(struct sn_report *report)
{
	const struct sn_report_whatif *w = report->whatif;

	if (w && w->hint)
		say(report, false,
		    w->hint_loop ? sn_arena_printf(&report->arena, "#/loop/%s", w->hint_loop)
				 : NULL,
		    "%s", w->hint);
	if (w && w->sentence)
		say(report, false, "#/expert", "%s", w->sentence);
}

/** Where threads were when they were on no CPU. */
static void say_waiting(struct sn_report *report)
{
	static const char *const kinds[SN_WAIT_KINDS] = {
		"locks", "conditions and barriers", "reading and writing", "poll and select",
		"sleep", "child processes",	    "other system calls",
	};
	uint64_t by_kind[SN_WAIT_KINDS] = { 0 }, best = 0, sum = 0;
	char a[64], b[64];
	double share;

	if (report->blocked_ns < 0 || report->thread_elapsed_ns <= 0)
		return;
	share = (double)report->blocked_ns / (double)report->thread_elapsed_ns;
	for (size_t i = 0; i < report->waits.count; i++) {
		if (report->threads.items[report->waits.items[i].thread].is_helper)
			continue;
		by_kind[report->waits.items[i].kind % SN_WAIT_KINDS] +=
			report->waits.items[i].duration_ns;
		sum += report->waits.items[i].duration_ns;
	}
	for (uint64_t k = 1; k < SN_WAIT_KINDS; k++)
		best = by_kind[k] > by_kind[best] ? k : best;
	if (share < 0.1)
		return;
	if (sum)
		say(report, false, "#/flame?time=wall",
		    "Threads were blocked %s of their time; of what was traced, most in %s (%s).",
		    sn_words_percent(a, share), kinds[best],
		    sn_words_seconds(b, (int64_t)by_kind[best]));
	else
		say(report, false, "#/threads",
		    "Threads were blocked %s of their time; no call path of that was recorded.",
		    sn_words_percent(a, share));
}

static void say_starved(struct sn_report *report)
{
	char words[64];
	double share = report->thread_elapsed_ns > 0
			       ? (double)report->wait_cpu_ns / (double)report->thread_elapsed_ns
			       : 0;

	if (report->wait_cpu_ns >= 0 && share >= 0.05)
		say(report, true, "#/threads",
		    "Threads waited %s of their time for a free CPU: more of them were ready to "
		    "run "
		    "than there were CPUs for.",
		    sn_words_percent(words, share));
}

/** The kernel's share is what its account says, as the figures above the sentences do. The category
 * is another thing: its kernel time is there already, so it is told for what it has besides. */
static void say_system(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_weight *libs = &profile->categories[SN_CATEGORY_OS].exclusive;
	double kernel = report->cpu_ns > 0 && report->system_ns >= 0
				? (double)report->system_ns / (double)report->cpu_ns
				: 0;
	char words[64];

	if (kernel >= 0.1)
		say(report, false, "#/threads", "%s of CPU time is spent in the kernel.",
		    sn_words_percent(words, kernel));
	if (share_of(libs->cpu_ns, report->sampled_ns) >= 0.1 &&
	    (kernel < 0.1 || share_of(libs->cpu_ns - libs->system_ns, report->sampled_ns) >= 0.1))
		say(report, false, "#/categories",
		    "%s of CPU time is spent in the parts of libc and the kernel that serve "
		    "threads, "
		    "locks, processes, page faults and the loader.",
		    sn_words_percent(words, share_of(libs->cpu_ns, report->sampled_ns)));
}

static void say_kind(struct sn_report *report, const struct sn_profile *profile)
{
	static const struct {
		enum sn_category category;
		const char *words;
	} kinds[] = {
		{ SN_CATEGORY_MEMORY, "in allocating and copying memory" },
		{ SN_CATEGORY_OPENMP, "in the OpenMP runtime, mostly waiting" },
		{ SN_CATEGORY_MPI, "in the MPI library" },
		{ SN_CATEGORY_IO, "in reading and writing" },
	};
	char words[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t ns = profile->categories[kinds[i].category].exclusive.cpu_ns;

		if (share_of(ns, report->sampled_ns) >= 0.1)
			say(report, false, "#/categories", "%s of CPU time is spent %s.",
			    sn_words_percent(words, share_of(ns, report->sampled_ns)),
			    kinds[i].words);
	}
}

/** Threads that worked much more than the rest, where several worked at all. */
static void say_balance(struct sn_report *report)
{
	uint64_t most = 0, sum = 0;
	size_t working = 0;
	char words[64];

	for (size_t i = 0; i < report->threads.count; i++) {
		uint64_t ns = report->threads.items[i].cpu_ns;

		if (ns * 100 < report->sampled_ns)
			continue;
		working++;
		sum += ns;
		most = ns > most ? ns : most;
	}
	if (working > 1 && (double)most > 1.25 * (double)sum / (double)working)
		say(report, false, "#/threads",
		    "The busiest of %zu working threads used %s, %.2f times their mean: work is "
		    "not "
		    "evenly spread.",
		    working, sn_words_seconds(words, (int64_t)most),
		    (double)most * (double)working / (double)sum);
}

static void say_options(struct sn_report *report)
{
	char words[64];

	for (size_t i = 0; i < report->modules.count; i++) {
		const struct sn_report_module *module = &report->modules.items[i];

		if (module->missing && share_of(module->cpu_ns, report->sampled_ns) >= 0.05)
			say(report, false, NULL,
			    "%s, with %s of CPU time, was compiled without (%% of its time): %s.",
			    module->name,
			    sn_words_percent(words, share_of(module->cpu_ns, report->sampled_ns)),
			    module->missing);
	}
}

static void say_doubts(struct sn_report *report)
{
	char a[64], b[64];
	double off = report->cpu_ns > 0 ? (double)report->sampled_ns / (double)report->cpu_ns : 1;

	if (report->cpu_ns > 0 && fabs(off - 1) > 0.02)
		say(report, true, "#/provenance",
		    "Samples account for %s of CPU time, the kernel for %s: shares may be off by "
		    "as "
		    "much.",
		    sn_words_seconds(a, (int64_t)report->sampled_ns),
		    sn_words_seconds(b, report->cpu_ns));
	if (report->sample_count < 100)
		say(report, true, NULL,
		    "Only %s samples were taken, so shares are rough; a longer run tells more.",
		    sn_words_count(a, report->sample_count));
}

void sn_report_add_sentences(struct sn_report *report, const struct sn_profile *profile)
{
	say_loops(report);
	say_functions(report);
	say_whatif(report);
	say_waiting(report);
	say_starved(report);
	say_system(report, profile);
	say_kind(report, profile);
	say_balance(report);
	say_options(report);
	say_doubts(report);
}
