/* Words that several views share, and the search in all words. */
#include "views/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "views/view.h"

static const struct sn_explanation explanations[] = {
	/* ---- ideas ---- */
	{ "exclusive", "count",
	  "Exclusive time belongs to the function, loop or line alone: the processor was executing "
	  "an instruction of it. What it calls is not in it. The exclusive times of all functions "
	  "sum to the sampled CPU time. As a column (show counters, --metric): the events that "
	  "happened there, as many as the samples stand for.",
	  "inclusive attributed event" },
	{ "inclusive", "count",
	  "Inclusive time is exclusive time and that of everything called from it, however deep. A "
	  "function that stands several times on a call path (recursion) counts once for that "
	  "path, so inclusive time never exceeds the total. As a column: the same of events.",
	  "exclusive attributed event" },
	{ "attributed", "idea",
	  "Attributed time is the part of a function's time that came through one caller, or went "
	  "into one callee. The callers' attributed times sum to the function's inclusive time; "
	  "the callees' with its exclusive time do too. Under recursion the outermost occurrence "
	  "decides the caller, the innermost the callee.",
	  "'sonde show calls FUNCTION'" },
	{ "cpu_time", "idea",
	  "CPU time is time on a processor, in user code or in the kernel on the program's behalf. "
	  "Every sample carries the CPU time that its thread used since its sample before, so the "
	  "sum is the thread's CPU time and not a count of ticks.",
	  "wall system_s user_s" },
	{ "wall", "idea",
	  "Wall time (--wall) is CPU time and the time blocked in calls that sonde traces: locks, "
	  "I/O, polling, sleep, waiting for children. Use it when a program is slow without being "
	  "busy.",
	  "'sonde show waits' blocked_s" },
	{ "loop", "idea",
	  "A loop is a natural loop of the machine code, shown with the source lines it was "
	  "written in. Its id is BUILDID:FUNCTION:HEADER: the function's offset from the module's "
	  "link base and the header's from the function, in hex. The compiler may make several of "
	  "one source loop (peel, main, tail): the summary adds them up, 'show loops' lists each.",
	  "role innermost 'sonde show loop #1'" },
	{ "spin", "idea",
	  "Waiting actively: threads of OpenMP and MPI runtimes poll for work or messages, spin "
	  "locks and loops that look at a flag burn CPU. It is never a hot loop or function: the "
	  "cure is balance, or to sleep, not tuning that loop.",
	  "openmp mpi 'sonde show categories'" },
	{ "quality", "text",
	  "How far a number carries: good (● or +) stands on 100 observations or more, fair (◐ or "
	  "~) on 20 or more, poor (○ or ?) on fewer. The 95 % interval says it in figures.",
	  "samples exclusive_share_low" },
	{ "mark", "text", "The quality as a mark: ● good, ◐ fair, ○ poor; in ASCII + ~ ?.",
	  "quality" },
	{ "interval", "text",
	  "The 95 % interval of the exclusive share: repeated runs of a program that behaves the "
	  "same way give intervals that hold the true share in about 95 of 100 cases. Periodic "
	  "sampling is more precise than tossing coins where the program stays long in one place; "
	  "docs/method/uncertainty.md tells how that is used.",
	  "exclusive_share_low exclusive_share_high samples" },
	{ "no_stack", "idea",
	  "The function [no stack] holds CPU time that no observation stands for: the kernel's "
	  "work at the start and exit of threads, threads that ended before their first sample, "
	  "and samples whose stack could not be kept. [libfoo.so] holds addresses that nothing "
	  "names.",
	  "samples" },
	{ "CPU", "idea",
	  "In the summary's tables: the exclusive share of the sampled CPU time, the order of the "
	  "rows. In 'show cpus' and 'show samples': the number of the processor.",
	  "exclusive_share cpu cpu_time" },
	{ "not_running", "time",
	  "Elapsed time that was no CPU time. A thread that was killed leaves no account of how "
	  "much of it was waiting for a CPU and how much was blocked; the sum of both is known.",
	  "wait_cpu_s blocked_s" },
	{ "idle", "idea",
	  "A thread is idle if it has less than a hundredth of the busiest thread's CPU time and "
	  "is not the first of its process: helpers that mostly sleep, such as progress threads of "
	  "MPI. The summary's elapsed time and views with --wall leave idle threads out and say "
	  "how many; --thread brings them.",
	  "wall 'sonde show threads --all'" },
	/* ---- categories ---- */
	{ "program", "category",
	  "The program itself and all libraries of no kind that has a category of its own "
	  "(maths, MPI, I/O ...): 'modules' in 'show categories' splits it. As a column: the path "
	  "of the executable; in 'show whatif' the speed-up of the whole program.",
	  "'sonde show modules' full_vector_program_speedup" },
	{ "mpi", "category",
	  "Inside an MPI library, including what it calls (memcpy, poll) and waiting "
	  "for other ranks. Callbacks into the program are not.",
	  "spin" },
	{ "openmp", "category",
	  "Inside an OpenMP runtime (libgomp, libomp, libiomp5): handing out work, "
	  "and waiting at barriers for other threads. The code of parallel regions is "
	  "the program's own.",
	  "spin" },
	{ "memory", "category",
	  "Allocating, releasing, copying and clearing memory: malloc, free, "
	  "operator new, memcpy, memset, mmap, with their kernel time.",
	  NULL },
	{ "io", "category",
	  "Input and output: files, sockets, pipes, stdio, iostreams, with the kernel time "
	  "of their calls. CPU time only; blocked time is under 'show waits'.",
	  "'sonde show waits'" },
	{ "maths", "category", "Mathematical libraries: libm, BLAS, LAPACK, FFTW, MKL, GMP ...",
	  NULL },
	{ "strings", "category",
	  "Characters and text: strlen, strcmp, memchr, strtod, snprintf, regular "
	  "expressions, std::string.",
	  "memory" },
	{ "os", "category",
	  "The kernel on behalf of the program (page faults and system calls that are "
	  "neither I/O nor memory management), threads and locks of the C library, the "
	  "dynamic loader. It is not the kernel's share of CPU time: that is system_s.",
	  "system_s" },
	{ "other", "category",
	  "Parts of the C library and its neighbours that no rule names (qsort, rand), and "
	  "addresses that no module has.",
	  "'sonde show modules'" },
	/* ---- names ---- */
	{ "function", "text",
	  "The function's name, demangled. An inlined function is a function of its own: "
	  "its copies in all callers and its own body count together.",
	  NULL },
	{ "module", "text",
	  "Base name of the program or library that the code is in; [vdso], [jit] and "
	  "[kernel] are no files.",
	  "path" },
	{ "path", "text",
	  "Path of the module as it was mapped. In trees: the call path, indented by depth. Of instances: a "
	  "list of the functions that led to the loop, outermost first; the last is the loop's own, "
	  "inlined functions are functions.",
	  NULL },
	{ "file", "text",
	  "Source file: of the function's declaration, of the loop, or of the line.", NULL },
	{ "line", "count", "Source line, from 1.", NULL },
	{ "source", "text", "Source file and line, short.", "file line" },
	{ "depth", "count",
	  "Nesting: of a loop among loops, from 1; of a node in its tree; of a sample's "
	  "stack in frames.",
	  NULL },
	{ "role", "text",
	  "Of a loop: what it is of its source loop: main; peel (iterations before, for "
	  "alignment); tail (the rest after); version (chosen at run time). In 'show calls': "
	  "caller, function or callee.",
	  "loop" },
	{ "rank", "count",
	  "Of a loop: its place in the loops table, as '#1' in 'show loop #1'. Of a "
	  "process: its MPI rank; null without MPI.",
	  NULL },
	{ "category", "text",
	  "The kind of work: program, mpi, openmp, memory, io, maths, strings, os or "
	  "other. It belongs to the whole stack: memcpy called by MPI is MPI.",
	  "program" },
	/* ---- times and shares ---- */
	{ "exclusive_cpu_s", "time", "CPU seconds in it alone.", "exclusive" },
	{ "inclusive_cpu_s", "time", "CPU seconds in it and in all it calls.", "inclusive" },
	{ "exclusive_share", "share",
	  "Exclusive CPU time over the sampled CPU time (what the filters let "
	  "through).",
	  "exclusive interval" },
	{ "inclusive_share", "share", "Inclusive CPU time over the sampled CPU time.",
	  "inclusive" },
	{ "exclusive_share_low", "share", "Lower end of the 95 % interval of the exclusive share.",
	  "interval" },
	{ "exclusive_share_high", "share", "Upper end of the 95 % interval of the exclusive share.",
	  "interval" },
	{ "inclusive_share_low", "share",
	  "Lower end of the 95 % interval of the inclusive share; a cautious "
	  "one, as if samples were independent.",
	  "interval" },
	{ "inclusive_share_high", "share", "Upper end of the 95 % interval of the inclusive share.",
	  "interval" },
	{ "exclusive_system_s", "time",
	  "Part of the exclusive CPU time that was spent in the kernel.", "system_s" },
	{ "exclusive_wall_s", "time", "Exclusive CPU time and time blocked in it.", "wall" },
	{ "inclusive_wall_s", "time", "Inclusive CPU time and time blocked below it.", "wall" },
	{ "exclusive_wall_share", "share", "Exclusive wall time over the wall time of all threads.",
	  "wall" },
	{ "inclusive_wall_share", "share", "Inclusive wall time over the wall time of all threads.",
	  "wall" },
	{ "bytes", "count",
	  "Of a site of the heap: what was asked for, in bytes; allocators round up. Of an "
	  "instruction: its bytes in hex.",
	  "allocations" },
	{ "samples", "count",
	  "Observations: how often the clock found the program here. The time comes from "
	  "the samples' weights, not from their number.",
	  "quality interval" },
	{ "threads", "count",
	  "Threads that spent time in it; of a process: all its threads; of a region of OpenMP: of "
	  "its largest team.",
	  NULL },
	{ "thread_deviation", "count",
	  "Standard deviation of the exclusive time over threads, divided by the mean; threads "
	  "that never were there count as 0, helpers with less than a hundredth of the busiest "
	  "thread's time do not count. 0 is perfect balance; null with one thread.",
	  "thread_max_s" },
	{ "thread_max_s", "time", "The exclusive time of the thread that spent most in it.",
	  "thread_deviation" },
	{ "share", "share",
	  "Part of the whole: of the sampled CPU time; in 'show waits' of all traced "
	  "blocked time.",
	  NULL },
	{ "cpu_s", "time",
	  "CPU seconds, user and system: of threads and processes by the kernel's account; "
	  "of CPUs, categories and single samples as sampled.",
	  "sampled_cpu_s" },
	{ "user_s", "time", "CPU seconds in user code, by the kernel's account.", "system_s" },
	{ "system_s", "time",
	  "CPU seconds in the kernel on the program's behalf, by the kernel's account; of "
	  "a CPU as sampled.",
	  "user_s" },
	{ "sampled_cpu_s", "time",
	  "Sum of the CPU times that samples carry: the denominator of all shares. "
	  "It should agree with the kernel's account; a difference over 2 % is "
	  "printed.",
	  "cpu_s" },
	{ "elapsed_s", "time", "Seconds from start to end.", "wait_cpu_s blocked_s" },
	{ "wait_cpu_s", "time",
	  "Seconds ready to run without getting a processor: the machine had other work "
	  "or the program has more busy threads than it may use processors.",
	  "blocked_s" },
	{ "blocked_s", "time",
	  "Seconds neither running nor ready to run: waiting for a lock, for I/O, for "
	  "time to pass. Of a thread or process: elapsed less user, system and waiting "
	  "for a CPU; in 'show waits' as traced.",
	  "'sonde show waits'" },
	{ "kind", "text",
	  "Of a wait: lock, condition, io, poll, sleep, child or other. Of a tree's node: "
	  "function or loop. In 'show env': run or variable. Of system time: call, fault, "
	  "unseen (time without an observation), sonde or unknown. Of a sample packet: why it "
	  "was written (periodic, start, end, label, signal, pause, resume or fork).",
	  NULL },
	{ "caller", "text",
	  "The nearest function of the program itself on the path to the wait or "
	  "system call.",
	  NULL },
	/* ---- who and where ---- */
	{ "process", "count",
	  "Index of the process in the experiment, from 0 in order of start; with MPI "
	  "by rank.",
	  "pid" },
	{ "thread", "count", "The kernel's id of the thread (tid).", NULL },
	{ "name", "text",
	  "Name: of a thread as the kernel shows it, of a variable, of a tree's node.", NULL },
	{ "cpu", "count", "Number of the processor.", NULL },
	/* ---- samples, trees, text ---- */
	{ "call_file", "text", "Source file of the call.", NULL },
	{ "call_line", "count", "Source line of the call.", NULL },
	{ "text", "text", "The source line, or the instruction in Intel syntax.", NULL },
	{ "heat", "text", "Time relative to the hottest row, as a bar.", NULL },
	/* ---- summary ---- */
	{ "loops_share", "share",
	  "Share of CPU time whose leaf address lies in a loop; loops of OpenMP and "
	  "MPI runtimes are left out.",
	  "innermost_share" },
	{ "innermost_share", "share",
	  "Share of CPU time whose leaf address lies in an innermost loop.", "loops_share" },
	{ "categories", "share", "Shares of CPU time by kind of work.", "program" },
	{ "processes", "count", "Processes that were measured.", "images" },
	{ "images", "count",
	  "Programs that ran in the measured processes: an exec within a process begins another "
	  "one.",
	  "processes" },
	{ "warnings", "text", "What fell back, was lost or is missing, in sentences.", NULL },
	/* ---- diff ---- */
	{ "a_cpu_s", "time", "Exclusive CPU seconds on side A (mean of its runs).", "b_cpu_s" },
	{ "b_cpu_s", "time", "Exclusive CPU seconds on side B (mean of its runs).", "a_cpu_s" },
	{ "difference_s", "time", "B less A, in exclusive CPU seconds.", NULL },
	{ "difference_low_s", "time", "Lower end of the 95 % interval of the difference.", NULL },
	{ "difference_high_s", "time", "Upper end of the 95 % interval of the difference.", NULL },
	{ "a_share", "share", "Exclusive share on side A.", NULL },
	{ "b_share", "share", "Exclusive share on side B.", NULL },
	{ "ratio", "count", "B over A; null where A is 0.", NULL },
	{ "findings", "text",
	  "What is at stake, most seconds of the threads' time first, each with its evidence and a "
	  "remedy: computing in loops or flat, oversubscription, spinning, waiting for locks, I/O, "
	  "children, other ranks or CPUs, sleep, memory, code without names (docs: verdict).",
	  "verdict" },
	{ "own workers", "time",
	  "Waiting for threads of its own to end, or for a measured child while somebody works: no "
	  "blocking, for the time is told with the workers.",
	  "blocked_s" },
	{ "verdict", "text",
	  "In the summary: what limits the run, in one line, with its confidence. In 'diff': "
	  "slower, faster, same (no difference beyond noise), new, gone, or repeat: one "
	  "run a side cannot tell noise from change.",
	  "p_value" },
	{ "p_value", "count",
	  "Chance of a difference this large between runs that do not differ (Welch's t-test), "
	  "before the correction for many rows.",
	  "verdict" },
	{ "a_runs", "count", "Runs on side A in which it was met.", NULL },
	{ "b_runs", "count", "Runs on side B in which it was met.", NULL },
};

/* What tables for people call a thing that has a key: words of the summary, and short ones. */
static const struct {
	const char *heading, *key;
} headings[] = {
	{ "●", "quality" },
	{ "◐", "quality" },
	{ "○", "quality" },
	{ "+", "quality" },
	{ "~", "quality" },
	{ "?", "quality" },
	{ "[gain]", "gain" },
	{ "[potential]", "potential" },
	{ "[hint]", "hint" },
	{ "[expert]", "expert" },
	{ "ranks", "processes" },
	{ "phase ID", "phase" },
	{ "HB ID", "heartbeat" },
	{ "discovered site", "site" },
	{ "app", "app_share" },
	{ "inst. type", "type" },
	{ "beats/s", "beats_per_s" },
	{ "mean s", "mean_s" },
	{ "user code", "user_s" },
	{ "system", "system_s" },
	{ "binary", "program" },
	{ "of which", "modules" },
	{ "of time", "findings" },
	{ "at stake", "findings" },
	{ "what is at stake", "findings" },
	{ "not seen", "unknown_code" },
	{ "80 % by", "loops_for_80_percent" },
	{ "perf-signal, then timers", "timers" },
	{ "perf-signal+thread-timer", "timers" },
	{ "loops", "loop" },
	{ "functions", "function" },
	{ "what is at stake, and what to do", "findings" },
	{ "OS/libc", "os" },
	{ "waiting for CPU", "wait_cpu_s" },
	{ "with callees", "inclusive_share" },
	{ "95 %", "interval" },
	{ "seconds", "exclusive_cpu_s" },
	{ "hottest source loops", "loop" },
	{ "hottest functions", "function" },
	{ "in function", "function" },
	{ "what waits, and who called it", "caller" },
	{ "what", "call" },
	{ "in", "function" },
	{ "[page fault]", "call" },
	{ "[not seen]", "call" },
	{ "[system call]", "call" },
	{ "parts", "role" },
	{ "time", "coverage_share" },
	{ "program speedup", "full_vector_program_speedup" },
	{ "all so far", "full_vector_cumulative_speedup" },
	{ "programs", "images" },
	{ "CPU time by kind of work", "categories" },
	{ "elapsed time", "elapsed_s" },
};

const struct sn_explanation *sn_explanation_at(size_t index)
{
	const size_t shared = sizeof(explanations) / sizeof(*explanations);

	if (index < shared)
		return &explanations[index];
	index -= shared;
	if (index < sn_explained_word_count)
		return &sn_explained_words[index];
	index -= sn_explained_word_count;
	if (index < sn_explained_value_count)
		return &sn_explained_values[index];
	index -= sn_explained_value_count;
	for (const struct sn_view *const *view = sn_views; *view; view++)
		for (const struct sn_explanation *e = (*view)->words; e && e->key; e++)
			if (!index--)
				return e;
	return NULL;
}

static const struct sn_explanation *by_key(const char *key)
{
	const struct sn_explanation *e;

	for (size_t i = 0; (e = sn_explanation_at(i)) != NULL; i++)
		if (!strcmp(e->key, key))
			return e;
	return NULL;
}

/* The title of a column of any view, or one without its unit: "no CPU" for "no CPU s". */
static const struct sn_explanation *by_title(const char *word, const char *unit)
{
	size_t length = strlen(word);

	for (const struct sn_view *const *view = sn_views; length && *view; view++) {
		for (size_t c = 0; c < (*view)->column_count; c++) {
			const char *title = (*view)->columns[c].title;

			if (title && !strncasecmp(title, word, length) &&
			    !strcmp(title + length, unit))
				return by_key((*view)->columns[c].key);
		}
	}
	return NULL;
}

static const struct sn_explanation *by_words(const char *words)
{
	char key[64];
	size_t i = 0;

	for (; words[i] && i + 1 < sizeof(key); i++)
		key[i] = words[i] == ' ' || words[i] == '-'
				 ? '_'
				 : (char)tolower((unsigned char)words[i]);
	key[i] = 0;
	return by_key(key);
}

/* What is said of one variant of 'show whatif' holds for each. */
static const struct sn_explanation *by_variant(const char *key)
{
	static const char *const variants[] = { "clean_", "fp_vector_", "no_dependence_",
						"next_bottleneck_" };
	char full[64];

	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		size_t length = strlen(variants[i]);

		if (strncmp(key, variants[i], length) != 0)
			continue;
		snprintf(full, sizeof(full), "full_vector_%s", key + length);
		return by_key(full);
	}
	return NULL;
}

const struct sn_explanation *sn_explanation_find(const char *word)
{
	const struct sn_explanation *e = by_key(word);

	for (size_t i = 0; !e && i < sizeof(headings) / sizeof(*headings); i++)
		if (!strcasecmp(headings[i].heading, word))
			e = by_key(headings[i].key);
	if (!e)
		e = by_title(word, "");
	if (!e)
		e = by_title(word, " s");
	if (!e)
		e = by_variant(word);
	return e ? e : by_words(word);
}
