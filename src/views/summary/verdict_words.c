/* How each cause of the verdict is told: a headline, the evidence, the remedy. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "views/summary/verdict_parts.h"

static const double nearly_all = 0.95;

/* ---- words ---- */

static double percent(double part, double whole)
{
	return whole > 0 ? fmin(100, 100 * part / whole) : 0;
}

static double percent_of_time(const struct sn_evidence *e, double seconds)
{
	return percent(seconds, e->threads_s);
}

/* "the time" of one thread, "the threads' time" of several. */
static const char *whose_time(const struct sn_evidence *e)
{
	return e->threads > 1 ? "the threads' time" : "the time";
}

void sn_verdict_add_name(struct sn_text *out, const char *name)
{
	struct sn_text shown = { 0 };

	sn_text_add(&shown, name);
	sn_text_elide(&shown, 60);
	sn_text_add(out, shown.chars ? shown.chars : "");
	sn_text_free(&shown);
}

/* "fsync, called by save (weather.c:60)" */
static void add_call(struct sn_text *out, const struct sn_evidence_place *place)
{
	if (!place->what)
		return;
	sn_verdict_add_name(out, place->what);
	if (place->caller && place->caller[0] != '<') {
		sn_text_add(out, ", called by ");
		sn_verdict_add_name(out, place->caller);
	}
	if (place->file && place->line)
		sn_text_addf(out, " (%s:%u)", place->file, place->line);
}

/* " in fsync, called by ..." */
void sn_verdict_add_in(struct sn_text *out, const struct sn_evidence_place *place)
{
	if (place && place->what) {
		sn_text_add(out, " in ");
		add_call(out, place);
	}
}

/* A label of a loop without lines has the function's name, without its parameters. */
static bool has_name(const char *label, const char *function)
{
	size_t length = sn_name_stem_length(function);
	char next = strncmp(label, function, length) ? 'a' : label[length];

	return !isalnum((unsigned char)next) && next != '_' && next != '.';
}

/* "weather.c:28-32 in diffuse", "<function at 0x4970>+0xa8 (libz.so.1)" */
void sn_verdict_add_hot(struct sn_text *out, const struct sn_evidence_place *place)
{
	sn_verdict_add_name(out, place->what);
	if (place->caller && !has_name(place->what, place->caller)) {
		sn_text_add(out, " in ");
		sn_verdict_add_name(out, place->caller);
	}
	if (place->module)
		sn_text_addf(out, " (%s)", place->module);
}

void sn_verdict_add_worker(const struct sn_evidence *e, struct sn_text *out)
{
	if (!e->worker || e->worker_s < 0.5 * e->cpu_s)
		return;
	if (e->worker_processes > 1)
		sn_text_addf(out, " (%zu processes of ", e->worker_processes);
	else
		sn_text_add(out, " (the child ");
	sn_verdict_add_name(out, e->worker);
	sn_text_add_char(out, ')');
}

/* ---- CPU time that is something else ---- */

static void loading_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			     struct sn_text *out)
{
	sn_text_addf(out,
		     "Starting: loading the program and its libraries takes %.1f %% of CPU time",
		     percent(cause->seconds, e->cpu_s));
}

static void loading_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "A longer run shows the work itself; if starting is what matters: fewer "
			 "libraries, or link them statically");
}

static void memory_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	sn_text_addf(out,
		     "Busy with memory: allocating, copying and page faults take %.1f %% of CPU "
		     "time",
		     percent(cause->seconds, e->cpu_s));
}

static void memory_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	sn_text_addf(out, "%.1f %% of CPU time goes to allocating, copying and page faults",
		     percent(cause->seconds, e->cpu_s));
	if (e->memory.what) {
		sn_text_add(out, ", most of it in ");
		sn_verdict_add_name(out, e->memory.what);
	}
}

static void unknown_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			     struct sn_text *out)
{
	sn_text_addf(out, "Not seen: %.1f %% of CPU time is in code that nothing names",
		     percent(cause->seconds, e->cpu_s));
}

static void unknown_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			     struct sn_text *out)
{
	sn_text_addf(out, "%.1f %% of CPU time is in code without names",
		     percent(cause->seconds, e->cpu_s));
	if (e->unknown_is_generated)
		sn_text_add(out, ", generated at run time");
	else if (e->unknown_module)
		sn_text_addf(out, ", most of it in %s", e->unknown_module);
}

static void unknown_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	(void)cause;
	if (!e->unknown_is_generated) {
		sn_text_add(out, "Install its debug symbols, or compile it with -g");
		return;
	}
	sn_text_add(out, "Let the program write /tmp/perf-PID.map");
	if (e->unknown_names_by)
		sn_text_addf(out, ": %s", e->unknown_names_by);
}

static const char *const io_words = "reading and writing";

static void io_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			struct sn_text *out)
{
	double waiting = sn_known(e->pauses_s[SN_PAUSE_IO]),
	       polling = sn_known(e->pauses_s[SN_PAUSE_POLL]);

	if (e->io_cpu_s > waiting && e->io_cpu_s > polling)
		sn_text_addf(out, "Busy with I/O: %.1f %% of CPU time is in %s",
			     percent(e->io_cpu_s, e->cpu_s), io_words);
	else
		sn_text_addf(out, "Waiting for %s: %.1f %% of %s",
			     polling > waiting ? "input or events" : "I/O",
			     percent_of_time(e, fmax(waiting, polling)), whose_time(e));
	sn_verdict_add_in(out, cause->place);
}

/* The tables have all of a call's time. Of an idle thread's wait the verdict takes what nobody else
 * worked in. */
static void add_whole(const struct sn_evidence_place *place, double seconds, struct sn_text *out)
{
	if (place && place->what && place->seconds > 1.01 * seconds)
		sn_text_addf(out, ", which blocked %.3g s in all; others worked in the rest of it",
			     place->seconds);
}

static void add_io_part(const struct sn_evidence *e, const char *before, enum sn_pause pause,
			struct sn_text *out)
{
	sn_text_addf(out, "%s%.1f %% of %s waiting", before, percent_of_time(e, e->pauses_s[pause]),
		     whose_time(e));
	sn_verdict_add_in(out, &e->pauses[pause]);
	add_whole(&e->pauses[pause], e->pauses_s[pause], out);
}

static void io_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			struct sn_text *out)
{
	size_t before = out->length;

	if (e->io_cpu_s >= SN_FINDING_LEAST * e->cpu_s) {
		sn_text_addf(out, "I/O: %.1f %% of CPU time, most of it",
			     percent(e->io_cpu_s, e->cpu_s));
		sn_verdict_add_in(out, &e->io);
	}
	if (e->pauses_s[SN_PAUSE_IO] >= SN_FINDING_LEAST * e->threads_s)
		add_io_part(e, out->length > before ? ", " : "I/O: ", SN_PAUSE_IO, out);
	if (e->pauses_s[SN_PAUSE_POLL] >= SN_FINDING_LEAST * e->threads_s)
		add_io_part(e, out->length > before ? ", " : "Events: ", SN_PAUSE_POLL, out);
	if (out->length == before) { /* only together are they worth a finding */
		sn_text_addf(out, "I/O: %.1f %% of %s, computing and waiting together",
			     percent_of_time(e, cause->seconds), whose_time(e));
		sn_verdict_add_in(out, cause->place);
	}
	if (e->io_words)
		sn_text_addf(out, "; of %.3g s in calls of input and output %s", e->io_traced_s,
			     e->io_words);
}

static void io_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
		      struct sn_text *out)
{
	double waiting = sn_known(e->pauses_s[SN_PAUSE_IO]),
	       polling = sn_known(e->pauses_s[SN_PAUSE_POLL]);

	(void)cause;
	if (e->io_remedy) {
		sn_text_add(out, e->io_remedy);
		return;
	}
	sn_text_add(out, polling > waiting && polling > e->io_cpu_s
				 ? "It is idle until something comes: give it more load, or look "
				   "at who sends it"
			 : e->io_cpu_s > waiting ? "Fewer, larger calls: buffer, batch, map"
						 : "Fewer waits: larger blocks, fewer syncs, "
						   "or overlap them with work");
}

/* ---- waiting ---- */

static void pause_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	sn_text_addf(out, "%s: %.1f %% of %s", sn_causes[cause->id].words,
		     percent_of_time(e, cause->seconds), whose_time(e));
	sn_verdict_add_in(out, cause->place);
}

static void pause_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	pause_headline(e, cause, out);
	add_whole(cause->place, cause->seconds, out);
}

static void sleep_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			 struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "The program asks for it: wait for the event instead of a time");
}

static void deadlock_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)cause;
	sn_text_add(out, e->deadlock_words);
}

static void deadlock_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Take these locks in one order everywhere (sonde show deadlocks)");
}

static void lock_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	if (e->lock_words)
		sn_text_addf(out, "%s: %.1f %% of %s, %s", sn_causes[cause->id].words,
			     percent_of_time(e, cause->seconds), whose_time(e), e->lock_words);
	else
		pause_headline(e, cause, out);
}

static void lock_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			struct sn_text *out)
{
	(void)cause;
	if (e->lock_remedy) {
		sn_text_add(out, e->lock_remedy);
		return;
	}
	sn_text_add(out, "Hold the lock for less, split it, or give each thread data of its own");
}

static void lock_calls_headline(const struct sn_evidence *e, const struct sn_cause *cause,
				struct sn_text *out)
{
	sn_text_addf(
		out,
		"Busy with lock calls: taking and leaving locks takes %.1f %% of CPU time, and "
		"hardly anyone waits for them",
		percent(cause->seconds, e->cpu_s));
}

static void lock_calls_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Lock less often: once for a batch, or not at all where one thread works");
}

static void barrier_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Spread the work evenly: smaller pieces, dynamic schedules, less serial "
			 "work between");
}

static void signal_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "More work in parallel, or fewer threads: these have nothing to do");
}

static void untraced_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out,
		    "Calls are traced through the C library, in programs that sonde starts: with "
		    "--pid, and of futexes and page faults from disk, only the time is known");
}

static void child_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			 struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Record the child itself; the notes say why it was not measured");
}

static void mpi_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			 struct sn_text *out)
{
	sn_text_addf(out, "%s: %.1f %% of %s", sn_causes[cause->id].words,
		     percent_of_time(e, cause->seconds), whose_time(e));
	if (e->mpi_words) {
		sn_text_addf(out, ", %s", e->mpi_words);
		return;
	}
	if (cause->place->what && cause->place->seconds < nearly_all * cause->seconds)
		sn_text_addf(out, ", %.0f %% of it",
			     percent(cause->place->seconds, cause->seconds));
	sn_verdict_add_in(out, cause->place);
	if (e->mpi_ranks)
		sn_text_addf(out, "; %s", e->mpi_ranks);
}

static void mpi_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
		       struct sn_text *out)
{
	(void)cause;
	if (e->mpi_remedy) {
		sn_text_add(out, e->mpi_remedy);
		return;
	}
	sn_text_add(out, "Compare the ranks' own work (sonde show processes): the one that works "
			 "longest makes the others wait (sonde record --mpi tells for whom)");
}

static void mpi_start_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			     struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out,
		    "It comes once a run, whatever the work: a longer run shows the work itself "
		    "(mpirun, its daemons and all ranks are made ready in it)");
}

static void working_child_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
				   struct sn_text *out)
{
	sn_text_add(out, "Waiting for ");
	if (e->worker_processes > 1)
		sn_text_add(out, "children that work");
	else
		sn_text_add(out, "a child that works");
	if (e->worker) {
		sn_text_add(out, ", ");
		sn_verdict_add_name(out, e->worker);
	}
	sn_text_addf(out, ": %.1f %% of %s", percent_of_time(e, cause->seconds), whose_time(e));
	sn_verdict_add_in(out, cause->place);
}

static void working_child_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
				 struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Nothing is lost by this wait: the time is the child's own, told apart");
}

/* ---- CPUs ---- */

double sn_verdict_spin_s(const struct sn_evidence *e)
{
	return sn_known(e->spin_openmp_s) + sn_known(e->spin_lock_s);
}

double sn_verdict_barriers_s(const struct sn_evidence *e)
{
	return sn_known(e->pauses_s[SN_PAUSE_BARRIER]) + sn_known(e->pauses_s[SN_PAUSE_OPENMP]);
}

static void add_cpus(const struct sn_evidence *e, struct sn_text *out)
{
	sn_text_addf(out, "%u CPU%s", e->cpus, e->cpus == 1 ? "" : "s");
}

static void oversubscribed_headline(const struct sn_evidence *e, const struct sn_cause *cause,
				    struct sn_text *out)
{
	double spin = sn_verdict_spin_s(e) + sn_known(e->spin_mpi_s);

	(void)cause;
	sn_text_addf(out, "Oversubscribed: %zu threads on ",
		     e->team > e->cpus && e->processes < 2 ? e->team : e->threads);
	add_cpus(e, out);
	sn_text_addf(out, " wait for one %.1f %% of their time", percent_of_time(e, e->wait_own_s));
	if (sn_verdict_barriers_s(e) >= SN_FINDING_LEAST * e->threads_s)
		sn_text_addf(out, ", for each other at barriers %.1f %%",
			     percent_of_time(e, sn_verdict_barriers_s(e)));
	if (spin >= SN_FINDING_LEAST * e->cpu_s)
		sn_text_addf(out, " and spin %.1f %% of their CPU time", percent(spin, e->cpu_s));
}

static void oversubscribed_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
				  struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "Run no more threads than CPUs (%u)", e->cpus);
	if (e->spin_mpi_s > e->spin_openmp_s)
		sn_text_add(out, ": fewer ranks, or let them yield (mpi_yield_when_idle)");
	else if (e->spin_openmp_s > 0)
		sn_text_addf(out, ": OMP_NUM_THREADS=%u, or OMP_WAIT_POLICY=passive", e->cpus);
}

static void openmp_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	sn_text_addf(out, "%s: %.1f %% of %s, %s", sn_causes[cause->id].words,
		     percent_of_time(e, cause->seconds), whose_time(e), e->openmp_words);
}

static void openmp_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	(void)cause;
	sn_text_add(out, e->openmp_remedy);
}

static void others_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	sn_text_addf(out, "Waiting for CPUs: other programs had them for %.1f %% of %s",
		     percent_of_time(e, cause->seconds), whose_time(e));
}

static void others_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Measure on an idle machine or on CPUs of its own (taskset, a batch "
			 "system); elapsed times say little here");
}

static void queue_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	sn_text_addf(out, "Its own %zu threads queue for ", e->threads);
	add_cpus(e, out);
	sn_text_addf(out, ": %.1f %% of %s", percent_of_time(e, cause->seconds), whose_time(e));
}

static void jobs_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	if (e->processes > 1)
		sn_text_add(out, "Its own processes queue for ");
	else
		sn_text_addf(out, "Its own %zu threads queue for ", e->threads);
	add_cpus(e, out);
	sn_text_addf(out, ": %.1f %% of %s", percent_of_time(e, cause->seconds), whose_time(e));
}

static void jobs_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out,
		     "Harmless where they are independent: all CPUs are used; more than %u "
		     "at a time bring nothing",
		     e->cpus);
}

/* ---- not enough ---- */

static void short_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			   struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "Too short to tell: %llu sample%s in %.3f s of CPU time",
		     (unsigned long long)e->samples, e->samples == 1 ? "" : "s",
		     sn_known(e->cpu_s));
}

static void short_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			 struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Let it work for a second or more: larger input, or many runs in a loop "
			 "in one launch");
}

static void memory_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			  struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "Use buffers again in place of new ones, copy less, try another "
			 "allocator or huge pages");
}

/* ---- all of them ---- */

const struct sn_cause_words sn_causes[SN_CAUSES] = {
	[SN_CAUSE_LOOPS] = { SN_VERDICT_COMPUTE_LOOPS, true, true, sn_verdict_loops_headline,
			     sn_verdict_loops_sentence, sn_verdict_loops_remedy, NULL },
	[SN_CAUSE_FLAT] = { SN_VERDICT_COMPUTE_FLAT, true, true, sn_verdict_flat_headline,
			    sn_verdict_flat_sentence, sn_verdict_flat_remedy, NULL },
	[SN_CAUSE_DATA] = { SN_VERDICT_MEMORY, true, true, sn_verdict_data_headline,
			    sn_verdict_data_sentence, sn_verdict_data_remedy, NULL },
	[SN_CAUSE_LOADING] = { SN_VERDICT_COMPUTE_FLAT, true, true, loading_headline,
			       loading_headline, loading_remedy, NULL },
	[SN_CAUSE_MEMORY] = { SN_VERDICT_MEMORY, true, true, memory_headline, memory_sentence,
			      memory_remedy, NULL },
	[SN_CAUSE_UNKNOWN] = { SN_VERDICT_UNKNOWN_CODE, true, true, unknown_headline,
			       unknown_sentence, unknown_remedy, NULL },
	[SN_CAUSE_OVERSUBSCRIBED] = { SN_VERDICT_OVERSUBSCRIBED, true, false,
				      oversubscribed_headline, oversubscribed_headline,
				      oversubscribed_remedy, NULL },
	[SN_CAUSE_SPIN] = { SN_VERDICT_SPIN, true, true, sn_verdict_spin_headline,
			    sn_verdict_spin_headline, sn_verdict_spin_remedy, NULL },
	[SN_CAUSE_MPI] = { SN_VERDICT_MPI_WAIT, true, false, mpi_headline, mpi_headline, mpi_remedy,
			   "Waiting for other ranks" },
	[SN_CAUSE_MPI_START] = { SN_VERDICT_MPI_WAIT, true, false, pause_headline, pause_sentence,
				 mpi_start_remedy, "Starting and ending MPI" },
	[SN_CAUSE_OTHERS] = { SN_VERDICT_WAITING_FOR_CPU, true, false, others_headline,
			      others_headline, others_remedy, NULL },
	[SN_CAUSE_JOBS] = { SN_VERDICT_WAITING_FOR_CPU, false, false, jobs_sentence, jobs_sentence,
			    jobs_remedy, NULL },
	[SN_CAUSE_QUEUE] = { SN_VERDICT_WAITING_FOR_CPU, false, false, queue_sentence,
			     queue_sentence, jobs_remedy, NULL },
	[SN_CAUSE_DEADLOCK] = { SN_VERDICT_LOCK_WAIT, true, false, deadlock_headline,
				deadlock_headline, deadlock_remedy, NULL },
	[SN_CAUSE_LOCK] = { SN_VERDICT_LOCK_WAIT, true, false, lock_headline, lock_headline,
			    lock_remedy, "Waiting for locks" },
	[SN_CAUSE_LOCK_CALLS] = { SN_VERDICT_COMPUTE_FLAT, true, true, lock_calls_headline,
				  lock_calls_headline, lock_calls_remedy, NULL },
	[SN_CAUSE_BARRIER] = { SN_VERDICT_LOCK_WAIT, true, false, pause_headline, pause_sentence,
			       barrier_remedy, "Threads wait for each other at barriers" },
	[SN_CAUSE_SIGNAL] = { SN_VERDICT_LOCK_WAIT, true, false, pause_headline, pause_sentence,
			      signal_remedy, "Threads wait for other threads' signal" },
	[SN_CAUSE_IO] = { SN_VERDICT_IO_WAIT, true, false, io_headline, io_sentence, io_remedy,
			  NULL },
	[SN_CAUSE_SLEEP] = { SN_VERDICT_SLEEP, true, false, pause_headline, pause_sentence,
			     sleep_remedy, "Sleeping" },
	[SN_CAUSE_CHILD] = { SN_VERDICT_CHILD_WAIT, true, false, pause_headline, pause_sentence,
			     child_remedy, "Waiting for a child that was not measured" },
	[SN_CAUSE_WORKING_CHILD] = { SN_VERDICT_CHILD_WAIT, false, false, working_child_sentence,
				     working_child_sentence, working_child_remedy, NULL },
	[SN_CAUSE_UNTRACED] = { SN_VERDICT_LOCK_WAIT, true, false, pause_headline, pause_sentence,
				untraced_remedy, "Blocked in calls that were not traced" },
	[SN_CAUSE_UNTRACED_ALONE] = { SN_VERDICT_IO_WAIT, true, false, pause_headline,
				      pause_sentence, untraced_remedy,
				      "Blocked in calls that were not traced" },
	[SN_CAUSE_OPENMP] = { SN_VERDICT_OPENMP, true, false, openmp_headline, openmp_headline,
			      openmp_remedy, "OpenMP threads wait" },
	[SN_CAUSE_SHORT] = { SN_VERDICT_TOO_SHORT, true, false, short_headline, short_headline,
			     short_remedy, NULL },
};
