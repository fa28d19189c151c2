/* The views of what ran: threads, processes, CPUs, waits, environment, single samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/process_tree.h"
#include "profile/wait.h"
#include "views/parts.h"
#include "views/summary/deaths.h"

static double account_cpu(const struct sn_time_account *account)
{
	return account->user_ns < 0 || account->system_ns < 0
		       ? NAN
		       : (double)(account->user_ns + account->system_ns) / 1e9;
}

/* ---- threads ---- */

enum {
	T_PROCESS,
	T_THREAD,
	T_NAME,
	T_CPU,
	T_SAMPLES,
	T_SHARE,
	T_ELAPSED,
	T_USER,
	T_SYSTEM,
	T_WAIT_CPU,
	T_BLOCKED,
	T_SAMPLED,
	T_TRACED,
	T_SWITCHES,
};

static const struct sn_column thread_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "elapsed_s", "elapsed s", SN_CELL_SECONDS, 0 },
	{ "user_s", "user s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "wait_cpu_s", "no CPU s", SN_CELL_SECONDS, 0 },
	{ "blocked_s", "blocked s", SN_CELL_SECONDS, 0 },
	{ "sampled_cpu_s", "sampled s", SN_CELL_SECONDS, 0 },
	{ "traced_blocked_s", "traced s", SN_CELL_SECONDS, 0 },
	{ "context_switches", "switches", SN_CELL_INT, 0 },
};

static void account_set(struct sn_table *table, const size_t columns[5],
			const struct sn_time_account *account)
{
	sn_table_set_real(table, columns[0], sn_seconds(account->elapsed_ns));
	sn_table_set_real(table, columns[1], sn_seconds(account->user_ns));
	sn_table_set_real(table, columns[2], sn_seconds(account->system_ns));
	sn_table_set_real(table, columns[3], sn_seconds(account->wait_cpu_ns));
	sn_table_set_real(table, columns[4], sn_seconds(account->blocked_ns));
}

static void thread_row(const struct sn_view_input *input, struct sn_table *table, uint32_t t)
{
	static const size_t account[] = { T_ELAPSED, T_USER, T_SYSTEM, T_WAIT_CPU, T_BLOCKED };
	const struct sn_thread *thread = &input->profile->experiment->threads.items[t];
	const struct sn_weight *weight = &input->profile->threads[t];

	sn_table_add_row(table);
	sn_table_set_int(table, T_PROCESS, thread->process);
	sn_table_set_int(table, T_THREAD, thread->tid);
	sn_table_set_text(table, T_NAME, thread->name);
	sn_table_set_real(table, T_CPU, account_cpu(&thread->account));
	sn_table_set_int(table, T_SAMPLES, (int64_t)weight->samples);
	sn_table_set_real(table, T_SHARE, sn_share(weight->cpu_ns, input->profile->total.cpu_ns));
	account_set(table, account, &thread->account);
	sn_table_set_real(table, T_SAMPLED, (double)weight->cpu_ns / 1e9);
	sn_table_set_real(table, T_TRACED, (double)weight->wait_ns / 1e9);
	if (thread->context_switches)
		sn_table_set_int(table, T_SWITCHES, (int64_t)thread->context_switches);
}

static sn_status threads_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;

	(void)err;
	for (uint32_t t = 0; t < e->threads.count; t++)
		if (input->profile->thread_passes[t])
			thread_row(input, table, t);
	return SN_OK;
}

static const struct sn_explanation thread_words[] = {
	{ "traced_blocked_s", "time", "The part of the blocked time that the traced calls explain.",
	  "blocked_s" },
	{ "context_switches", "count", "How often the thread left a processor, voluntarily or not.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_threads = {
	.name = "threads",
	.title = "time by thread, by the kernel's account",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.threads/1",
	.columns = thread_columns,
	.column_count = sizeof(thread_columns) / sizeof(*thread_columns),
	.words = thread_words,
	.data_columns = "process,thread,name,cpu_s,samples,share,elapsed_s,user_s,system_s,"
			"wait_cpu_s,blocked_s,sampled_cpu_s,traced_blocked_s,context_switches",
	.text_columns =
		"process,thread,name,cpu_s,samples,share,user_s,system_s,wait_cpu_s,blocked_s,"
		"elapsed_s",
	.wall_columns = "process,thread,name,cpu_s,wait_cpu_s,blocked_s,traced_blocked_s,elapsed_s",
	.sort = "cpu_s",
	.share_column = "share",
	.is_in_report = true,
	.page_rows = "threads",
	.page_omits =
		"process,thread,name,cpu_s,samples,share,elapsed_s,user_s,system_s,wait_cpu_s,"
		"blocked_s,sampled_cpu_s,traced_blocked_s",
	.add_row = thread_row,
	.fill = threads_fill,
};

/* ---- processes ---- */

enum {
	P_PROCESS,
	P_PID,
	P_PARENT,
	P_RANK,
	P_HOST,
	P_PROGRAM,
	P_ARGUMENTS,
	P_ELAPSED,
	P_CPU,
	P_USER,
	P_SYSTEM,
	P_WAIT_CPU,
	P_BLOCKED,
	P_SAMPLED,
	P_SAMPLES,
	P_LOST,
	P_THREADS,
	P_EXIT,
	P_SIGNAL,
	P_CLOCK,
	P_RATE,
	P_ASKED,
	P_OVERHEAD,
	P_SHARE,
	P_FOLDER,
	P_DEPTH,
};

static const struct sn_column process_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "pid", "pid", SN_CELL_INT, 0 },
	{ "parent_pid", "parent", SN_CELL_INT, 0 },
	{ "rank", "rank", SN_CELL_INT, 0 },
	{ "host", "host", SN_CELL_TEXT, 0 },
	{ "program", "program", SN_CELL_TEXT, 0 },
	{ "arguments", "command", SN_CELL_TEXT, 0 },
	{ "elapsed_s", "elapsed s", SN_CELL_SECONDS, 0 },
	{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "user_s", "user s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "wait_cpu_s", "no CPU s", SN_CELL_SECONDS, 0 },
	{ "blocked_s", "blocked s", SN_CELL_SECONDS, 0 },
	{ "sampled_cpu_s", "sampled s", SN_CELL_SECONDS, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "lost", "lost", SN_CELL_INT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "exit_status", "exit", SN_CELL_INT, 0 },
	{ "exit_signal", "signal", SN_CELL_TEXT, 0 },
	{ "clock_mechanism", "clock", SN_CELL_TEXT, 0 },
	{ "rate_hz", "Hz", SN_CELL_REAL, 0 },
	{ "asked_hz", "asked Hz", SN_CELL_REAL, 0 },
	{ "overhead_share", "overhead", SN_CELL_SHARE, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "folder", "folder", SN_CELL_TEXT, 0 },
	{ "depth", "depth", SN_CELL_INT, 0 },
};

static int64_t losses_of(const struct sn_process *process)
{
	uint64_t lost = 0;

	for (int i = 0; i < SN_LOSS_KINDS; i++)
		lost += process->losses[i];
	return (int64_t)lost;
}

/* What the threads of a process add up to. */
struct thread_sums {
	int64_t threads, wait_cpu_ns, blocked_ns; /* -1: unknown of a thread */
	bool passes;
};

static void known_add(int64_t *sum, int64_t ns)
{
	*sum = *sum < 0 || ns < 0 ? -1 : *sum + ns;
}

/* A process whose main thread died by a signal leaves no status of its own; the launch's is known.
 * It is that of the one process that none of the others started, in its last image. */
static int32_t exit_status_of(const struct sn_experiment *e, size_t p)
{
	const struct sn_process *process = &e->processes.items[p];

	if (process->exit_status >= 0 || e->exit_status <= 128 || e->processes_not_measured ||
	    process->rank >= 0)
		return process->exit_status;
	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *other = &e->processes.items[i];
		bool is_root = true;

		if (other->pid == process->pid) {
			if (i > p)
				return -1;
			continue;
		}
		if (other->pid == process->parent_pid)
			return -1;
		for (size_t k = 0; k < e->processes.count && is_root; k++)
			is_root = e->processes.items[k].pid != other->parent_pid;
		if (is_root)
			return -1;
	}
	return e->exit_status;
}

static void signal_set(struct sn_table *table, int32_t number)
{
	struct sn_text name = { 0 };

	if (number <= 0)
		return;
	sn_signal_describe(number, true, &name);
	sn_table_set_text(table, P_SIGNAL, name.chars);
	sn_text_free(&name);
}

static void process_row(const struct sn_view_input *input, struct sn_table *table,
			struct sn_process_place place, const struct thread_sums *sums)
{
	static const size_t account[] = { P_ELAPSED, P_USER, P_SYSTEM, P_WAIT_CPU, P_BLOCKED };
	uint32_t p = place.process;
	const struct sn_process *process = &input->profile->experiment->processes.items[p];
	const struct sn_weight *weight = &input->profile->processes[p];
	struct sn_time_account times = process->account;
	int32_t exit_status = exit_status_of(input->profile->experiment, p);
	double cpu = account_cpu(&process->account);

	if (times.wait_cpu_ns < 0 && sums->threads)
		times.wait_cpu_ns = sums->wait_cpu_ns;
	if (times.blocked_ns < 0 && sums->threads)
		times.blocked_ns = sums->blocked_ns;
	sn_table_add_row(table);
	sn_table_set_int(table, P_PROCESS, (int64_t)p);
	sn_table_set_int(table, P_PID, process->pid);
	sn_table_set_int(table, P_PARENT, process->parent_pid);
	if (process->rank >= 0)
		sn_table_set_int(table, P_RANK, process->rank);
	sn_table_set_text(table, P_HOST, process->host);
	sn_table_set_text(table, P_PROGRAM, process->program);
	sn_table_set_text(table, P_ARGUMENTS, process->arguments);
	account_set(table, account, &times);
	sn_table_set_real(table, P_CPU, cpu);
	sn_table_set_real(table, P_SAMPLED, (double)weight->cpu_ns / 1e9);
	sn_table_set_int(table, P_SAMPLES, (int64_t)weight->samples);
	sn_table_set_int(table, P_LOST, losses_of(process));
	sn_table_set_int(table, P_THREADS, sums->threads);
	if (exit_status >= 0)
		sn_table_set_int(table, P_EXIT, exit_status);
	signal_set(table, process->exit_signal);
	sn_table_set_text(table, P_CLOCK, process->clock_mechanism);
	if (weight->cpu_ns)
		sn_table_set_real(table, P_RATE,
				  1e9 * (double)weight->samples / (double)weight->cpu_ns);
	if (process->rate_hz > 0)
		sn_table_set_real(table, P_ASKED, process->rate_hz);
	sn_table_set_real(table, P_OVERHEAD,
			  sn_overhead_share((double)process->overhead_ns / 1e9, cpu));
	sn_table_set_real(table, P_SHARE, sn_share(weight->cpu_ns, input->profile->total.cpu_ns));
	sn_table_set_text(table, P_FOLDER, process->folder);
	sn_table_set_int(table, P_DEPTH, place.depth);
	sn_table_set_depth(table, P_ARGUMENTS, place.depth);
}

static sn_status processes_fill(const struct sn_view_input *input, struct sn_table *table,
				struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	struct thread_sums *sums = sn_alloc_zeroed(e->processes.count + 1, sizeof(*sums));
	struct sn_process_place *places = sn_alloc((e->processes.count + 1) * sizeof(*places));

	(void)err;
	sn_process_tree(e, places);
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		struct thread_sums *of;

		if (thread->process >= e->processes.count)
			continue;
		of = &sums[thread->process];
		of->threads++;
		of->passes |= input->profile->thread_passes[t];
		known_add(&of->wait_cpu_ns, thread->account.wait_cpu_ns);
		known_add(&of->blocked_ns, thread->account.blocked_ns);
	}
	for (size_t i = 0; i < e->processes.count; i++)
		if (sums[places[i].process].passes || !input->profile->is_filtered)
			process_row(input, table, places[i], &sums[places[i].process]);
	free(sums);
	free(places);
	return SN_OK;
}

static const struct sn_explanation process_words[] = {
	{ "pid", "count", "The kernel's process id.", NULL },
	{ "parent_pid", "count", "Process id of the parent.", NULL },
	{ "host", "text", "Host name of the machine.", NULL },
	{ "arguments", "text",
	  "The command line, quoted as a shell would need it; *** stands for what was "
	  "redacted.",
	  NULL },
	{ "folder", "text", "Working directory.", NULL },
	{ "lost", "count",
	  "Samples that were due and could not be kept, by the collector's own count.", NULL },
	{ "exit_signal", "text",
	  "The signal that ended the process, where who waited for it is known to have learnt it.",
	  "exit_status" },
	{ "exit_status", "count",
	  "The exit status; 128 and the signal's number for a signal; null if it is "
	  "not known.",
	  NULL },
	{ "clock_mechanism", "text",
	  "What made the samples: perf-signal (a perf event that signals its thread), thread-timer "
	  "(a POSIX timer, bound to the kernel's tick), 'perf-signal+thread-timer' where threads "
	  "changed over, itimer-prof, perf-ring (from outside of the target), off.",
	  "rate_hz" },
	{ "rate_hz", "count",
	  "Samples per second of CPU time that there were: the mean over the run.",
	  "asked_hz clock_mechanism rate_reason" },
	{ "asked_hz", "count", "Samples per second of CPU time that were asked for (--clock).",
	  "rate_hz" },
	{ "rate_reason", "text",
	  "In 'show summary': why there were not as many samples as asked for; null: there were.",
	  "rate_hz" },
	{ "overhead_share", "share",
	  "What measuring cost the program, over the CPU time that it would have used without: handlers, "
	  "wrappers and traces, and what signals and context switches cost here.",
	  "overhead_share_low own_cpu_s" },
	{ "overhead_share_low", "share",
	  "The least that measuring has cost, as overhead_share: each part of it may be off, and what "
	  "ranks that poll lost to it, they may have polled anyway.",
	  "overhead_share_high overhead_share" },
	{ "overhead_share_high", "share",
	  "The most that measuring has cost, as overhead_share: each part of it may be off. null: that "
	  "cannot be told, as measuring took most of the CPU time; overhead_share is then the least.",
	  "overhead_share_low overhead_share" },
	{ "own_cpu_s", "time",
	  "CPU time of sonde's own process: starting, recording, and keeping code and symbols after the "
	  "program's end. It is in no time of the program.",
	  "overhead_share" },
	{ 0 },
};

const struct sn_view sn_view_processes = {
	.name = "processes",
	.title = "processes and ranks: who ran where, how long, with what result",
	.sums_suffice = true,
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.processes/1",
	.columns = process_columns,
	.column_count = sizeof(process_columns) / sizeof(*process_columns),
	.words = process_words,
	.data_columns =
		"process,pid,parent_pid,rank,host,program,arguments,elapsed_s,cpu_s,user_s,"
		"system_s,wait_cpu_s,blocked_s,sampled_cpu_s,samples,lost,threads,"
		"exit_status,exit_signal,clock_mechanism,rate_hz,asked_hz,overhead_share,share,depth",
	.text_columns =
		"process,rank,pid,share,cpu_s,blocked_s,elapsed_s,threads,samples,lost,exit_status,"
		"arguments",
	.wall_columns =
		"process,rank,pid,cpu_s,wait_cpu_s,blocked_s,elapsed_s,threads,host,arguments",
	.share_column = "share",
	.is_in_report = true,
	.fill = processes_fill,
};

/* ---- CPUs ---- */

enum { U_CPU, U_TIME, U_SHARE, U_SYSTEM, U_SAMPLES };

static const struct sn_column cpu_columns[] = {
	{ "cpu", "CPU", SN_CELL_INT, 0 },	  { "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },	  { "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
};

static sn_status cpus_fill(const struct sn_view_input *input, struct sn_table *table,
			   struct sn_error *err)
{
	(void)err;
	for (uint32_t c = 0; c < input->profile->cpu_count; c++) {
		const struct sn_weight *weight = &input->profile->cpus[c];

		if (sn_weight_is_empty(weight))
			continue;
		sn_table_add_row(table);
		sn_table_set_int(table, U_CPU, c);
		sn_table_set_real(table, U_TIME, (double)weight->cpu_ns / 1e9);
		sn_table_set_real(table, U_SHARE,
				  sn_share(weight->cpu_ns, input->profile->total.cpu_ns));
		sn_table_set_real(table, U_SYSTEM, (double)weight->system_ns / 1e9);
		sn_table_set_int(table, U_SAMPLES, (int64_t)weight->samples);
	}
	return SN_OK;
}

const struct sn_view sn_view_cpus = {
	.name = "cpus",
	.title = "sampled CPU time by processor",
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.cpus/1",
	.columns = cpu_columns,
	.column_count = sizeof(cpu_columns) / sizeof(*cpu_columns),
	.share_column = "share",
	.fill = cpus_fill,
};

/* ---- waits ---- */

enum {
	W_KIND,
	W_FUNCTION,
	W_CALLER,
	W_FILE,
	W_LINE,
	W_MODULE,
	W_BLOCKED,
	W_SHARE,
	W_WAITS,
	W_MEAN,
	W_MAX,
	W_THREADS,
	W_SOURCE,
};

static const struct sn_column wait_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "function", "waits in", SN_CELL_TEXT, 0 },
	{ "caller", "called by", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "blocked_s", "blocked s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "waits", "waits", SN_CELL_INT, 0 },
	{ "mean_s", "mean s", SN_CELL_SECONDS, 0 },
	{ "max_s", "longest s", SN_CELL_SECONDS, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "source", "at", SN_CELL_TEXT, 0 },
};

static sn_status waits_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	struct sn_wait_groups groups;

	(void)err;
	sn_wait_groups_find(input->profile, NULL, &groups);
	for (size_t i = 0; i < groups.items.count; i++) {
		const struct sn_wait_group *g = &groups.items.items[i];
		const struct sn_program_line *line =
			g->line == SN_NONE ? NULL : &program->lines.items[g->line];

		sn_table_add_row(table);
		sn_table_set_text(table, W_KIND, sn_wait_kind_name((enum sn_wait_kind)g->kind));
		sn_table_set_text(table, W_FUNCTION, program->functions.items[g->function].name);
		if (g->caller != SN_NONE) {
			const struct sn_program_function *caller =
				&program->functions.items[g->caller];

			sn_table_set_text(table, W_CALLER, caller->name);
			sn_table_set_text(table, W_MODULE,
					  sn_program_module_name(program, caller->module));
		}
		if (line) {
			sn_table_set_text(table, W_FILE, line->file);
			sn_view_set_line(table, W_LINE, line->line);
			sn_view_set_source(table, W_SOURCE, line->file, line->line);
		}
		sn_table_set_real(table, W_BLOCKED, (double)g->blocked_ns / 1e9);
		sn_table_set_real(table, W_SHARE,
				  sn_share(g->blocked_ns, input->profile->total.wait_ns));
		sn_table_set_int(table, W_WAITS, (int64_t)g->waits);
		sn_table_set_real(table, W_MEAN, (double)g->blocked_ns / 1e9 / (double)g->waits);
		sn_table_set_real(table, W_MAX, (double)g->max_ns / 1e9);
		sn_table_set_int(table, W_THREADS, g->threads);
	}
	sn_wait_groups_free(&groups);
	return SN_OK;
}

static void why_no_waits(const struct sn_view_input *input, struct sn_text *out)
{
	const struct sn_experiment *e = input->profile->experiment;
	bool is_outside = e->processes.count > 0;

	for (size_t i = 0; i < e->processes.count; i++)
		is_outside &= !strcmp(e->processes.items[i].clock_mechanism, "perf-ring");
	if (is_outside)
		sn_text_add(out, "blocking calls are recorded inside a program only; this one was "
				 "sampled from outside ('sonde ./PROGRAM' starts one that is "
				 "recorded from inside)");
	else if (e->processes.count)
		sn_text_addf(
			out,
			"no call that blocks its thread was met%s: the program did not wait, "
			"or not for long enough to be noted ('sonde show threads' has what the "
			"kernel counted)",
			input->profile->is_filtered ? " by what passes the filters" : "");
}

static const struct sn_explanation wait_words[] = {
	{ "mean_s", "time", "Mean duration of one wait.", NULL },
	{ "max_s", "time", "The longest single wait.", NULL },
	{ "waits", "count", "How often it blocked. In blame: waits in which the holder had a part.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_waits = {
	.name = "waits",
	.title = "calls that blocked their thread: locks, I/O, sleep, and who made them",
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.waits/1",
	.columns = wait_columns,
	.column_count = sizeof(wait_columns) / sizeof(*wait_columns),
	.words = wait_words,
	.data_columns = "kind,function,caller,file,line,module,blocked_s,share,waits,mean_s,max_s,"
			"threads",
	.text_columns = "share,blocked_s,waits,mean_s,max_s,threads,kind,function,caller,source",
	.share_column = "share",
	.fill = waits_fill,
	.why_empty = why_no_waits,
};

/* ---- environment ---- */

enum { E_KIND, E_NAME, E_VALUE };

static const struct sn_column env_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "value", "value", SN_CELL_TEXT, 0 },
};

static void env_row(struct sn_table *table, const char *kind, const char *name, const char *value)
{
	sn_table_add_row(table);
	sn_table_set_text(table, E_KIND, kind);
	sn_table_set_text(table, E_NAME, name);
	if (value && value[0])
		sn_table_set_text(table, E_VALUE, value);
}

static sn_status env_fill(const struct sn_view_input *input, struct sn_table *table,
			  struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;

	(void)err;
	env_row(table, "run", "program", e->program);
	env_row(table, "run", "arguments", e->arguments);
	env_row(table, "run", "label", e->label);
	env_row(table, "run", "host", e->host);
	env_row(table, "run", "cpu_model", e->cpu_model);
	env_row(table, "run", "kernel", e->kernel);
	env_row(table, "run", "sonde_version", e->version);
	for (size_t i = 0; i < e->environment.count; i++)
		env_row(table, "variable", e->environment.items[i].name,
			e->environment.items[i].value);
	return SN_OK;
}

static const struct sn_explanation env_words[] = {
	{ "value", "text", "The variable's value; *** if it was redacted.", NULL },
	{ 0 },
};

const struct sn_view sn_view_env = {
	.name = "env",
	.title = "the machine and the environment of the run, secrets redacted",
	.has_idle = true,
	.schema = "sonde.env/1",
	.columns = env_columns,
	.column_count = sizeof(env_columns) / sizeof(*env_columns),
	.words = env_words,
	.is_listing = true,
	.fill = env_fill,
};

/* ---- samples ---- */

enum {
	S_TIME,
	S_PROCESS,
	S_THREAD,
	S_CPU,
	S_CPU_TIME,
	S_SYSTEM,
	S_FUNCTION,
	S_MODULE,
	S_FILE,
	S_LINE,
	S_LOOP,
	S_CATEGORY,
	S_DEPTH,
	S_COMPLETE,
	S_SCANNED,
	S_OBSERVATION,
	S_SOURCE,
};

static const struct sn_column sample_columns[] = {
	{ "t_s", "time s", SN_CELL_REAL, 6 },	     { "process", "process", SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },	     { "cpu", "CPU", SN_CELL_INT, 0 },
	{ "cpu_s", "CPU s", SN_CELL_REAL, 6 },	     { "in_kernel", "kernel", SN_CELL_BOOL, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 }, { "module", "module", SN_CELL_TEXT, 0 },
	{ "file", "file", SN_CELL_TEXT, 0 },	     { "line", "line", SN_CELL_INT, 0 },
	{ "loop", "loop", SN_CELL_TEXT, 0 },	     { "category", "category", SN_CELL_TEXT, 0 },
	{ "depth", "depth", SN_CELL_INT, 0 },	     { "complete", "complete", SN_CELL_BOOL, 0 },
	{ "scanned", "scanned", SN_CELL_BOOL, 0 },   { "observation", "observed", SN_CELL_BOOL, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
};

static void sample_row(const struct sn_view_input *input, struct sn_table *table,
		       const struct sn_sample *sample)
{
	const struct sn_program *program = input->profile->program;
	const struct sn_experiment *e = input->profile->experiment;
	bool has_stack = sample->stack < program->stack_count;
	uint32_t stack = has_stack ? sample->stack : program->stack_count;
	const struct sn_program_place *leaf = sn_program_leaf(program, stack);
	const struct sn_program_line *line = &program->lines.items[leaf->line];
	bool is_system = sample->flags & SN_SAMPLE_SYSTEM;

	sn_table_add_row(table);
	sn_table_set_real(table, S_TIME, (double)sample->time_ns / 1e9);
	sn_table_set_int(table, S_PROCESS, e->threads.items[sample->thread].process);
	sn_table_set_int(table, S_THREAD, e->threads.items[sample->thread].tid);
	sn_table_set_int(table, S_CPU, sample->cpu);
	sn_table_set_real(table, S_CPU_TIME, (double)sample->cpu_ns / 1e9);
	sn_table_set_int(table, S_SYSTEM, is_system);
	sn_table_set_text(table, S_FUNCTION, program->functions.items[leaf->function].name);
	sn_table_set_text(table, S_MODULE, sn_program_module_name(program, leaf->module));
	sn_table_set_text(table, S_FILE, line->file);
	sn_view_set_line(table, S_LINE, line->line);
	if (leaf->loop != SN_NONE)
		sn_table_set_text(table, S_LOOP, program->loops.items[leaf->loop].code->id);
	sn_table_set_text(
		table, S_CATEGORY,
		sn_category_name((enum sn_category)(is_system ? program->classes[stack].system
							      : program->classes[stack].user)));
	sn_table_set_int(table, S_DEPTH, has_stack ? e->stacks.items[stack].depth : 0);
	sn_table_set_int(table, S_COMPLETE, has_stack && sn_program_stack_is_whole(program, stack));
	sn_table_set_int(table, S_SCANNED,
			 has_stack && e->stacks.items[stack].flags & SN_STACK_SCANNED);
	sn_table_set_int(table, S_OBSERVATION, !(sample->flags & SN_SAMPLE_REMAINDER));
	sn_view_set_source(table, S_SOURCE, line->file, line->line);
}

static sn_status samples_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	size_t i = input->cursor ? *input->cursor : 0;

	(void)err;
	for (; i < e->samples.count; i++) {
		if (input->row_limit && table->row_count >= input->row_limit)
			break;
		if (sn_profile_has_sample(input->profile, &e->samples.items[i]))
			sample_row(input, table, &e->samples.items[i]);
	}
	if (input->cursor)
		*input->cursor = i;
	return SN_OK;
}

static const struct sn_explanation sample_words[] = {
	{ "t_s", "time", "Seconds since the earliest process start of the experiment.", NULL },
	{ "in_kernel", "text", "Whether the sample's time was spent in the kernel.", "system_s" },
	{ "complete", "text", "Whether the stack reaches the start of the program or thread.",
	  NULL },
	{ "scanned", "text",
	  "Whether a caller was found by following code without call-frame information to its "
	  "return, as of hand-written kernels; otherwise compilers' own descriptions tell callers.",
	  "complete" },
	{ "observation", "text",
	  "Whether the clock found the program here; no for what was left at the "
	  "thread's exit, which is time but no observation.",
	  "samples" },
	{ 0 },
};

const struct sn_view sn_view_samples = {
	.name = "samples",
	.title = "single samples, by thread and time",
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.samples/3",
	.columns = sample_columns,
	.column_count = sizeof(sample_columns) / sizeof(*sample_columns),
	.words = sample_words,
	.data_columns =
		"t_s,process,thread,cpu,cpu_s,in_kernel,function,module,file,line,loop,category,"
		"depth,complete,scanned,observation",
	.text_columns = "t_s,thread,cpu,cpu_s,in_kernel,category,depth,function,source,module",
	.has_pieces = true,
	.fill = samples_fill,
};
