/*
 * Fills the summary: accounts of time, warnings about what was not measured, the hottest loops and
 * functions.
 */
#include "profile/event_profile.h"
#include "views/summary/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/generated.h"
#include "profile/rank.h"
#include "profile/uncertainty.h"
#include "whatif/sentence.h"
#include "views/summary/deaths.h"
#include "views/summary/evidence.h"
#include "views/summary/rate.h"

/* ---- accounts ---- */

static void add_known(double *sum, int64_t ns)
{
	*sum += sn_seconds(ns);
}

/* Times of threads cannot be cut by time range or code: then they are unknown. */
static bool filter_cuts_threads(const struct sn_profile *p)
{
	return p->filter.from_ns || p->filter.to_ns || p->filter.module || p->filter.function;
}

/* Whether a thread of the experiment is one met before: the main thread of an image after an exec
 * is that of the image before it, if that passes the filter. */
static bool goes_on(const struct sn_profile *p, size_t t)
{
	const struct sn_experiment *e = p->experiment;
	const struct sn_thread *thread = &e->threads.items[t];
	const struct sn_process *process;

	if (thread->process >= e->processes.count)
		return false;
	process = &e->processes.items[thread->process];
	if (!process->follows_exec || thread->tid != process->pid)
		return false;
	for (size_t other = t; other-- > 0;) {
		const struct sn_thread *before = &e->threads.items[other];

		if (before->tid == thread->tid && before->process < thread->process &&
		    p->thread_passes[other] &&
		    !strcmp(e->processes.items[before->process].host, process->host) &&
		    e->processes.items[before->process].pid == process->pid)
			return true;
	}
	return false;
}

static void threads_sum(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	bool is_known = false, knows_waiting = false;
	double unknown_s = 0, off_s;

	for (size_t t = 0; t < p->experiment->threads.count; t++) {
		const struct sn_time_account *a = &p->experiment->threads.items[t].account;

		if (!p->thread_passes[t])
			continue;
		s->threads += !goes_on(p, t);
		s->threads_idle += !p->is_at_work[t];
		if (!p->is_at_work[t])
			continue;
		if (a->user_ns < 0 || a->system_ns < 0) {
			s->threads_unknown++;
			continue;
		}
		is_known = true;
		add_known(&s->threads_elapsed_s, a->elapsed_ns);
		add_known(&s->threads_user_s, a->user_ns);
		add_known(&s->threads_system_s, a->system_ns);
		off_s = sn_seconds(a->elapsed_ns - a->user_ns - a->system_ns);
		s->threads_off_cpu_s += off_s;
		if (a->wait_cpu_ns < 0 || a->blocked_ns < 0) {
			unknown_s += off_s;
			continue;
		}
		knows_waiting = true;
		add_known(&s->threads_wait_cpu_s, a->wait_cpu_ns);
		add_known(&s->threads_blocked_s, a->blocked_ns);
	}
	/* The moment before an exec leaves no account of its waiting: too little to hide the rest.
	 */
	if (knows_waiting && unknown_s <= 0.01 * s->threads_elapsed_s)
		s->threads_blocked_s += unknown_s;
	else if (!knows_waiting || unknown_s > 0 || isnan(unknown_s))
		s->threads_wait_cpu_s = s->threads_blocked_s = NAN;
	if (filter_cuts_threads(p) || !is_known)
		s->threads_elapsed_s = s->threads_user_s = s->threads_system_s =
			s->threads_wait_cpu_s = s->threads_blocked_s = s->threads_off_cpu_s = NAN;
}

/* By the kernel's account, of the threads that pass; unknown if the filter cuts through threads. */
static double filtered_seconds(const struct sn_profile *p, bool is_system)
{
	double sum = 0;

	for (size_t t = 0; t < p->experiment->threads.count; t++) {
		const struct sn_time_account *a = &p->experiment->threads.items[t].account;

		if (p->thread_passes[t])
			sum += sn_seconds(is_system ? a->system_ns : a->user_ns);
	}
	return filter_cuts_threads(p) ? NAN : sum;
}

/* In parts of the time without: above, what is left of the CPU time is a difference of doubtful figures. */
enum { OVERHEAD_UNBOUNDED = 10 };

/* CPU time in which ranks of MPI poll, by process. */
static double *spins_find(const struct sn_profile *p)
{
	const struct sn_experiment *e = p->experiment;
	double *spins = sn_alloc_zeroed(e->processes.count + 1, sizeof(*spins));

	for (size_t i = 0; i < p->thread_times.count; i++) {
		const struct sn_thread_time *time = &p->thread_times.items[i];
		const struct sn_class *class = &p->program->classes[time->stack];
		uint32_t process = e->threads.items[time->thread].process;

		if (process < e->processes.count && class->is_spin &&
		    class->user == SN_CATEGORY_MPI)
			spins[process] += (double)time->cpu_ns / 1e9;
	}
	return spins;
}

/* What a rank that polls loses to measuring, it may have polled anyway, for as long as another one
 * works. So the least of the overhead is without it. */
static void processes_sum(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;
	double overhead = 0, doubt = 0, least = 0, cpu = 0, *spins = spins_find(p);

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *process = &e->processes.items[i];
		double used = sn_seconds(process->account.user_ns) +
			      sn_seconds(process->account.system_ns);

		s->processes += !process->follows_exec;
		add_known(&s->user_s, process->account.user_ns);
		add_known(&s->system_s, process->account.system_ns);
		for (int k = 0; k < SN_LOSS_KINDS; k++)
			s->lost += process->losses[k];
		if (used > 0) {
			double own = (double)process->overhead_ns / 1e9,
			       own_doubt = (double)process->overhead_doubt_ns / 1e9;

			overhead += own;
			doubt += own_doubt;
			least += fmax(0, own - own_doubt - spins[i]);
			cpu += used;
		}
	}
	free(spins);
	s->overhead_share = sn_overhead_share(overhead, cpu);
	s->overhead_share_low = sn_overhead_share(least, cpu);
	s->overhead_share_high = sn_overhead_share(overhead + doubt, cpu);
	if (s->overhead_share_high > OVERHEAD_UNBOUNDED) {
		s->overhead_share = sn_overhead_share(fmax(0, overhead - doubt), cpu);
		s->overhead_share_high = NAN;
	}
	s->images = e->processes.count;
}

/* The kernel's account of the whole tree knows of processes that were not measured, too. */
static void accounts_find(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;

	s->own_cpu_s = sn_seconds(e->own_cpu_ns);
	s->sampled_cpu_s = (double)p->total.cpu_ns / 1e9;
	s->samples = p->total.samples;
	s->elapsed_s = sn_seconds(e->elapsed_ns);
	threads_sum(s);
	processes_sum(s);
	sn_summary_rate(s);
	if (!e->processes.count)
		s->user_s = s->system_s = NAN;
	if (p->is_filtered) {
		s->user_s = filtered_seconds(p, false);
		s->system_s = filtered_seconds(p, true);
	} else if (e->tree_user_ns >= 0 && e->tree_system_ns >= 0 &&
		   !(sn_seconds(e->tree_user_ns + e->tree_system_ns) < s->user_s + s->system_s)) {
		s->user_s = sn_seconds(e->tree_user_ns);
		s->system_s = sn_seconds(e->tree_system_ns);
	}
	s->cpu_s = s->user_s + s->system_s;
}

/* ---- warnings ---- */

__attribute__((format(printf, 2, 3))) static void warn(struct sn_summary *s, const char *format,
						       ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		sn_out_of_memory(strlen(format));
	va_end(args);
	sn_vec_push(&s->warnings, sn_arena_strdup(&s->arena, text));
	free(text);
}

/* A smaller share of the samples, lost in our own code, changes no figure that is shown: of 100,000 samples a half
 * has an error of 0.3 %. It is in `lost` and among the warnings of JSON, and no note of a page. Other losses mean
 * that something was full, damaged or forbidden: each is told. */
static const double losses_note_share = 0.001;

static void warn_losses(struct sn_summary *s, bool are_minor)
{
	static const char *const causes[] = {
		[SN_LOSS_NO_SPACE] = "no space left for data",
		[SN_LOSS_THREAD_TABLE] = "more threads than the table holds",
		[SN_LOSS_STACK_TABLE] = "the table of stacks was full",
		[SN_LOSS_SMALL_STACK] = "a signal stack too small",
		[SN_LOSS_REENTRY] = "a signal inside our own code",
		[SN_LOSS_SECCOMP] = "system calls forbidden by seccomp",
		[SN_LOSS_RING] = "the perf ring overran",
		[SN_LOSS_DAMAGED] = "bytes that could not be decoded",
	};
	_Static_assert(sizeof(causes) / sizeof(*causes) == SN_LOSS_KINDS,
		       "each cause has its words");
	const struct sn_experiment *e = s->profile->experiment;

	for (int k = 0; k < SN_LOSS_KINDS; k++) {
		uint64_t lost = 0;

		for (size_t i = 0; i < e->processes.count; i++)
			lost += e->processes.items[i].losses[k];
		bool is_minor = k == SN_LOSS_REENTRY &&
				(double)lost < losses_note_share * (double)s->samples;

		if (!lost || is_minor != are_minor)
			continue;
		warn(s, "%llu sample%s lost: %s", (unsigned long long)lost, lost == 1 ? "" : "s",
		     causes[k]);
		s->minor_count += are_minor;
	}
}

/*
 * What a process is known to have used. One that was killed left no last account, one behind a
 * seccomp filter none at all: then its samples may know of more than the latest account does.
 */
static double process_known_s(const struct sn_profile *p, size_t i, bool *is_cut)
{
	const struct sn_process *process = &p->experiment->processes.items[i];
	double account =
		sn_seconds(process->account.user_ns) + sn_seconds(process->account.system_ns);
	double sampled = (double)p->processes[i].cpu_ns / 1e9;

	if ((process->has_ended_cleanly && account > 0) || sampled <= account)
		return account;
	*is_cut = true;
	return sampled;
}

/* CPU time that we report is checked against the kernel's own account of it. */
static void warn_reconciliation(struct sn_summary *s)
{
	const struct sn_experiment *e = s->profile->experiment;
	double measured = 0, tree = sn_seconds(e->tree_user_ns) + sn_seconds(e->tree_system_ns);
	bool is_cut = false;

	if (s->profile->is_filtered || (s->clock_mechanism && !strcmp(s->clock_mechanism, "off")))
		return;
	for (size_t i = 0; i < e->processes.count; i++)
		measured += process_known_s(s->profile, i, &is_cut);
	if (e->is_windowed) {
		if (measured > s->sampled_cpu_s)
			warn(s,
			     "only a part of the run was measured, as asked: %.3f s of its %.3f s "
			     "of CPU time; elapsed and CPU time above are of the whole run",
			     s->sampled_cpu_s, fmax(measured, tree));
		return;
	}
	if (!is_cut && measured > 0.05 && fabs(s->sampled_cpu_s - measured) > 0.02 * measured)
		warn(s,
		     "samples account for %.3f s of the %.3f s of CPU time that the kernel counted "
		     "(%+.1f %%)",
		     s->sampled_cpu_s, measured, 100 * (s->sampled_cpu_s / measured - 1));
	if (e->processes_not_measured)
		warn(s, "%u process%s not measured%s", e->processes_not_measured,
		     e->processes_not_measured == 1 ? " was" : "es were",
		     tree > measured ? "" : " (static, setuid, 32-bit or not followed)");
	if (tree - measured > 0.02 * tree && tree > 0.05)
		warn(s,
		     "%.3f s of CPU time (%.1f %% of the launch) lie in processes that were not "
		     "measured, or at the very ends of processes, after they were last looked at",
		     tree - measured, 100 * (1 - measured / tree));
}

/* Samples over those that are due; 1: as many, or too few to say. System time is seen at the
 * kernel's tick at least. */
static double rate_error(const struct sn_profile *p, size_t i)
{
	enum { DUE_LEAST = 200 };
	const struct sn_process *process = &p->experiment->processes.items[i];
	const struct sn_weight *seen = &p->processes[i];
	double rate = process->rate_hz, got = (double)seen->samples;
	double most = rate * (double)seen->cpu_ns / 1e9;
	double least =
		sn_process_least_hz(process) * (double)(seen->cpu_ns - seen->system_ns) / 1e9;

	if (rate > 0 && got > DUE_LEAST && got > most * 2)
		return got / most;
	if (rate > 0 && least > DUE_LEAST && got < least / 2 &&
	    (!strcmp(process->clock_mechanism, "perf-signal") ||
	     !strcmp(process->clock_mechanism, "perf-ring")))
		return got / least;
	return 1;
}

static void warn_rates(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;

	if (p->is_filtered)
		return;
	/* of timers the runtime has said why */
	if (s->rate_reason && !sn_summary_rate_is_chosen(s) &&
	    !strstr(s->clock_mechanism, "thread-timer"))
		warn(s, "%.0f samples a CPU second, where %g were asked for: %s", s->rate_hz,
		     s->asked_hz, s->rate_reason);
	for (size_t i = 0; i < e->processes.count; i++) {
		const char *program = sn_base_name(e->processes.items[i].program);
		double error = rate_error(p, i);

		if (error != 1)
			warn(s,
			     "process %d (%s) has %.3g %% of the samples that %.3g s of CPU time "
			     "should have: %s",
			     e->processes.items[i].pid, program, 100 * error,
			     (double)p->processes[i].cpu_ns / 1e9,
			     error > 1 ? "sampling has slowed it down, by more than is printed"
				       : "it blocked the signals, or the kernel held them back");
	}
}

/* Who made the code that most stacks are cut off in, if there is a way to have its callers. */
static const struct sn_generated_maker *maker_of_cut(const struct sn_profile *p)
{
	const struct sn_generated_maker *maker = sn_generated_maker_of(p->experiment);
	uint64_t samples = 0;

	for (size_t m = 0; m < p->experiment->modules.count; m++)
		if (sn_module_is_generated(&p->experiment->modules.items[m]))
			samples += p->modules[m].exclusive.samples;
	return maker && maker->callers && samples * 2 > p->truncated_samples ? maker : NULL;
}

/* What lies in generated code that its list of names does not have. Without any list the module's
 * own warning says so. */
static void warn_unlisted(struct sn_summary *s, struct sn_structures *structures)
{
	const struct sn_profile *p = s->profile;
	const struct sn_program *program = p->program;
	uint64_t unlisted_ns = 0;

	for (size_t i = 0; structures && i < program->places.count; i++) {
		uint32_t m = program->places.items[i].module;

		if (m < p->experiment->modules.count &&
		    sn_module_is_generated(&p->experiment->modules.items[m]) &&
		    !sn_structures_warning(structures, m) &&
		    !program->functions.items[program->places.items[i].function].is_named)
			unlisted_ns += p->places[i].cpu_ns;
	}
	if (unlisted_ns * 100 >= p->total.cpu_ns && unlisted_ns)
		warn(s,
		     "%.1f %% of CPU time lies in generated code that no list of names "
		     "(/tmp/perf-PID.map) has: code that was made and dropped before the list was "
		     "written, or stubs",
		     100 * sn_share(unlisted_ns, p->total.cpu_ns));
}

static void warn_stacks(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_generated_maker *maker = maker_of_cut(p);
	uint64_t raw_threads = 0;

	for (size_t i = 0; i < p->experiment->processes.count; i++)
		raw_threads += p->experiment->processes.items[i].raw_clone_threads;
	if (raw_threads)
		warn(s,
		     "%llu thread%s made past pthread_create (by clone(), or by a library that "
		     "looks it up in the C library): counted, not sampled",
		     (unsigned long long)raw_threads, raw_threads == 1 ? " was" : "s were");
	if (p->truncated_samples * 1000 > p->total.samples)
		warn(s, "%.1f %% of the stacks are cut off: callers of these are missing%s%s%s",
		     100 * sn_share(p->truncated_samples, p->total.samples), maker ? " (run " : "",
		     maker ? maker->callers : "", maker ? ")" : "");
	if (p->no_stack_samples)
		warn(s, "%llu sample%s no stack", (unsigned long long)p->no_stack_samples,
		     p->no_stack_samples == 1 ? " has" : "s have");
	if (p->late_samples * 50 > p->total.samples)
		warn(s,
		     "%.1f %% of the samples came late and stand where the program went on: the "
		     "signal was blocked, by the program or in its handler of a fault, or a "
		     "virtual machine's host had its CPU at work elsewhere (docs: limits)",
		     100 * sn_share(p->late_samples, p->total.samples));
}

/* What matters of a module's warning, or NULL. */
static const char *module_warning(const struct sn_summary *s, struct sn_structures *structures,
				  uint32_t m)
{
	const struct sn_profile *p = s->profile;
	double share = sn_share(p->modules[m].exclusive.cpu_ns, p->total.cpu_ns);

	return share >= 0.01 || sn_structures_damage(structures, m)
		       ? sn_structures_warning(structures, m)
		       : NULL;
}

/* Modules of one kind of trouble share a sentence. */
static void warn_modules(struct sn_summary *s, struct sn_structures *structures)
{
	const struct sn_profile *p = s->profile;
	uint32_t count = structures ? (uint32_t)p->experiment->modules.count : 0;
	bool *is_told = sn_alloc_zeroed(count + 1, 1);

	for (uint32_t m = 0; m < count; m++) {
		const char *warning = module_warning(s, structures, m);
		struct sn_text names = { 0 };

		if (!warning || is_told[m])
			continue;
		for (uint32_t other = m; other < count; other++) {
			const char *same = module_warning(s, structures, other);

			if (!same || strcmp(same, warning) != 0)
				continue;
			is_told[other] = true;
			sn_text_addf(&names, "%s%s (%.1f %%)", names.length ? ", " : "",
				     sn_program_module_name(p->program, other),
				     100 * sn_share(p->modules[other].exclusive.cpu_ns,
						    p->total.cpu_ns));
		}
		warn(s, "%s of CPU time: %s", names.chars, warning);
		sn_text_free(&names);
	}
	free(is_told);
}

static void warnings_find(struct sn_summary *s, struct sn_structures *structures)
{
	const struct sn_experiment *e = s->profile->experiment;

	sn_summary_deaths_find(s);
	for (size_t i = 0; i < e->warnings.count; i++)
		sn_vec_push(&s->warnings, e->warnings.items[i]);
	if (e->is_salvaged)
		warn(s, "the run did not end cleanly: this is what was saved until then");
	if (e->block_counts.count)
		warn(s,
		     "functions were counted in this run (sonde count), which makes it slower: look "
		     "at times in a run without it");
	warn_reconciliation(s);
	warn_losses(s, false);
	warn_rates(s);
	warn_stacks(s);
	warn_modules(s, structures);
	warn_unlisted(s, structures);
	s->minor_first = s->warnings.count;
	warn_losses(s, true);
}

/* ---- the hottest ---- */

/* The next part of a source loop; the first one is the hottest. Returns its squared half width. */
static double part_add(struct sn_summary_loop *row, const struct sn_profile *p, uint32_t l)
{
	const struct sn_metrics *m = &p->loops[l];
	double half = (m->exclusive_share.high - m->exclusive_share.low) / 2;

	if (!row->parts++) {
		row->loop = l;
		row->deviation = m->spread.deviation;
		row->inclusive_ns = m->inclusive.cpu_ns;
	}
	sn_weight_add(&row->exclusive, &m->exclusive);
	return half * half;
}

/* The order of `show loops` has the parts of a source loop side by side. */
static void loops_find(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_program *program = p->program;
	size_t count, next;
	uint32_t *order = sn_rank_loops(p, false, &count);

	for (size_t i = 0; i < count; i = next) {
		uint32_t source = program->loops.items[order[i]].source_loop;
		struct sn_summary_loop row = { .rank = i + 1 };
		double squares = 0, share, half;

		for (next = i;
		     next < count && program->loops.items[order[next]].source_loop == source;
		     next++)
			if (p->loops[order[next]].exclusive.cpu_ns)
				squares += part_add(&row, p, order[next]);
		if (!row.parts)
			continue;
		s->source_loop_count++;
		if (s->loop_count == SN_SUMMARY_ROWS)
			continue;
		share = sn_share(row.exclusive.cpu_ns, p->total.cpu_ns);
		half = sqrt(squares);
		row.share = row.parts == 1 ? p->loops[row.loop].exclusive_share
					   : (struct sn_interval){ fmax(0, share - half),
								   fmin(1, share + half) };
		s->loops[s->loop_count++] = row;
	}
	free(order);
}

static int functions_compare(const void *left, const void *right, void *context)
{
	const struct sn_profile *p = context;
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	uint64_t tx = p->functions[x].exclusive.cpu_ns, ty = p->functions[y].exclusive.cpu_ns;

	if (tx != ty)
		return tx > ty ? -1 : 1;
	return (x > y) - (x < y);
}

static void functions_find(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	uint32_t *order = sn_alloc_zeroed(p->program->functions.count + 1, sizeof(*order));
	size_t count = 0;

	for (uint32_t f = 0; f < p->program->functions.count; f++)
		if (p->functions[f].exclusive.cpu_ns && !sn_function_spins(p, f))
			order[count++] = f;
	qsort_r(order, count, sizeof(*order), functions_compare, (void *)p);
	s->all_function_count = count;
	s->function_count = count < SN_SUMMARY_ROWS ? count : SN_SUMMARY_ROWS;
	memcpy(s->functions, order, s->function_count * sizeof(*order));
	free(order);
}

static int facts_compare(const void *left, const void *right)
{
	const struct sn_compile_facts *x = left, *y = right;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return (x->module > y->module) - (x->module < y->module);
}

static void compile_find(struct sn_summary *s, struct sn_structures *structures)
{
	const struct sn_profile *p = s->profile;

	for (uint32_t m = 0; structures && m < p->experiment->modules.count; m++) {
		if (p->program->module_classes[m] != SN_MODULE_CLASS_BINARY ||
		    p->experiment->modules.items[m].kind != SN_MODULE_FILE ||
		    !(sn_share(p->modules[m].exclusive.cpu_ns, p->total.cpu_ns) >= 0.02) ||
		    s->compile_count == SN_SUMMARY_MODULES)
			continue;
		s->compile[s->compile_count++] = sn_compile_facts_find(p, structures, m);
	}
	qsort(s->compile, s->compile_count, sizeof(*s->compile), facts_compare);
}

/* What to do first, and with that what the verdict is. */
static void verdict_find(struct sn_summary *s, const struct sn_whatif *whatif)
{
	const struct sn_whatif_loop *loop = NULL;
	struct sn_text hint = { 0 };
	struct sn_evidence evidence;
	struct sn_judged judged;

	sn_judged_find(s->profile, s->structures, whatif, &judged);
	if (whatif)
		loop = sn_whatif_hint(whatif, &judged, &hint);
	s->hint_loop = loop ? loop->loop : SN_NONE;
	if (loop)
		s->hint = sn_arena_strdup(&s->arena, hint.chars);
	sn_text_free(&hint);
	sn_evidence_find(s, whatif ? whatif->machine : NULL, &judged,
			 loop && sn_judged_of(&judged, loop->loop) ? loop->loop : SN_NONE,
			 &evidence);
	sn_judged_free(&judged);
	s->threads_workers_s = evidence.join_s + evidence.child_s;
	s->threads_spin_s = evidence.spin_openmp_s + evidence.spin_mpi_s + evidence.spin_lock_s;
	sn_verdict_decide(&evidence, &s->arena, &s->verdict);
	for (size_t i = 0; i < s->causal_finding_count; i++)
		sn_verdict_add(&s->verdict, &s->causal_findings[i]);
}

struct sn_summary *sn_summary_new(const struct sn_profile *profile,
				  struct sn_structures *structures, const struct sn_whatif *whatif)
{
	struct sn_summary *s = sn_alloc_zeroed(1, sizeof(*s));

	s->profile = profile;
	s->structures = structures;
	accounts_find(s);
	s->loops_share = sn_share(profile->loops_ns, profile->total.cpu_ns);
	s->innermost_share = sn_share(profile->innermost_loops_ns, profile->total.cpu_ns);
	for (int c = 0; c < SN_CATEGORIES; c++)
		s->category_shares[c] =
			sn_share(profile->categories[c].exclusive.cpu_ns, profile->total.cpu_ns);
	loops_find(s);
	functions_find(s);
	compile_find(s, structures);
	sn_wait_groups_find(profile, profile->is_at_work, &s->waits);
	warnings_find(s, structures);
	sn_summary_add_heap(s);
	sn_summary_add_causal(s);
	verdict_find(s, whatif);
	return s;
}

void sn_summary_warn(struct sn_summary *s, const char *sentence)
{
	warn(s, "%s", sentence);
}

struct sn_summary *sn_summary_of(const struct sn_profile *profile, struct sn_structures *structures,
				 const struct sn_machine_choice *choice)
{
	struct sn_whatif *whatif = NULL;
	struct sn_summary *summary;

	if (choice->machine)
		whatif = sn_whatif_new(choice->machine, profile, structures, SN_WHATIF_HINT_LOOPS);
	summary = sn_summary_new(profile, structures, whatif);
	if (choice->warning[0])
		sn_summary_warn(summary, choice->warning);
	sn_whatif_free(whatif);
	return summary;
}

void sn_summary_free(struct sn_summary *s)
{
	if (!s)
		return;
	sn_wait_groups_free(&s->waits);
	sn_vec_free(&s->warnings);
	sn_arena_free(&s->arena);
	free(s);
}

/* ---- JSON ---- */

static void categories_write(const struct sn_summary *s, struct sn_json *json)
{
	sn_json_key(json, "categories");
	sn_json_object(json);
	for (int c = 0; c < SN_CATEGORIES; c++)
		sn_json_member_double(json, sn_category_name((enum sn_category)c),
				      s->category_shares[c]);
	sn_json_close(json);
}

static void program_modules_write(const struct sn_summary *s, struct sn_json *json)
{
	const struct sn_profile *p = s->profile;
	uint32_t modules[SN_SUMMARY_ROWS];
	size_t count = sn_program_modules(p, modules, SN_SUMMARY_ROWS);

	sn_json_key(json, "program_modules");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		sn_json_object(json);
		sn_json_member_string(json, "module",
				      sn_program_module_name(p->program, modules[i]));
		sn_json_member_double(json, "share",
				      sn_share(p->program_ns[modules[i]], p->total.cpu_ns));
		sn_json_close(json);
	}
	sn_json_close(json);
}

void sn_summary_write_json(const struct sn_summary *s, struct sn_json *json)
{
	const struct sn_experiment *e = s->profile->experiment;

	sn_json_member_string(json, "program", e->program);
	sn_json_member_string(json, "arguments", e->arguments);
	if (e->exit_status >= 0)
		sn_json_member_int(json, "exit_status", e->exit_status);
	else
		sn_json_member_null(json, "exit_status");
	sn_json_member_double(json, "elapsed_s", s->elapsed_s);
	sn_json_member_double(json, "cpu_s", s->cpu_s);
	sn_json_member_double(json, "user_s", s->user_s);
	sn_json_member_double(json, "system_s", s->system_s);
	sn_json_member_double(json, "sampled_cpu_s", s->sampled_cpu_s);
	sn_json_member_uint(json, "samples", s->samples);
	sn_json_member_uint(json, "lost", s->lost);
	sn_json_member_uint(json, "threads", s->threads);
	sn_json_member_uint(json, "processes", s->processes);
	sn_json_member_uint(json, "images", s->images);
	sn_json_member_double(json, "overhead_share", s->overhead_share);
	sn_json_member_double(json, "overhead_share_low", s->overhead_share_low);
	sn_json_member_double(json, "overhead_share_high", s->overhead_share_high);
	sn_json_member_double(json, "own_cpu_s", s->own_cpu_s);
	sn_json_member_double(json, "loops_share", s->loops_share);
	sn_json_member_double(json, "innermost_share", s->innermost_share);
	categories_write(s, json);
	program_modules_write(s, json);
	sn_json_member_string(json, "clock_mechanism", s->clock_mechanism);
	sn_json_member_double(json, "rate_hz", s->rate_hz);
	sn_json_member_double(json, "asked_hz", s->asked_hz);
	if (s->rate_reason)
		sn_json_member_string(json, "rate_reason", s->rate_reason);
	else
		sn_json_member_null(json, "rate_reason");
	sn_verdict_write_json(&s->verdict, json);
	sn_summary_write_heap(s, json);
	if (s->causal_words)
		sn_json_member_string(json, "causal", s->causal_words);
	if (e->events.count)
		sn_event_write_json(e, json);
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < s->warnings.count; i++)
		sn_json_string(json, s->warnings.items[i]);
	sn_json_close(json);
}

void sn_summary_write(const struct sn_summary *s, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", SN_SUMMARY_SCHEMA);
	sn_json_member_string(&json, "experiment", s->profile->experiment->name);
	sn_summary_write_json(s, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
