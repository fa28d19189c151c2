/* What ran, as rows: modules, functions, loops, processes and threads, and the run itself. */
#include "report/model/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/rank.h"
#include "profile/category.h"

uint32_t sn_report_file(struct sn_report *report, const char *path)
{
	uint32_t number;

	if (!path)
		return SN_NONE;
	number = sn_intern_string(&report->file_paths, path);
	if (number == report->files.count) {
		struct sn_report_file file = {
			.path = sn_interned_chars(&report->file_paths, number), .line_first = 1
		};

		sn_vec_push(&report->files, file);
	}
	return number;
}

/* ---- rows in order of heat ---- */

struct rank {
	uint64_t exclusive_ns, inclusive_ns;
	uint32_t index;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->exclusive_ns != b->exclusive_ns)
		return a->exclusive_ns < b->exclusive_ns ? 1 : -1;
	if (a->inclusive_ns != b->inclusive_ns)
		return a->inclusive_ns < b->inclusive_ns ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool is_seen(const struct sn_metrics *m)
{
	return m->inclusive.cpu_ns || m->inclusive.samples || m->inclusive.wait_ns ||
	       m->exclusive.cpu_ns;
}

/** Those of `count` entities that have any weight, hottest first; the caller frees. */
static struct rank *rank_entities(const struct sn_metrics *metrics, size_t count, size_t *ranked)
{
	struct rank *ranks = sn_alloc((count + 1) * sizeof(*ranks));
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (is_seen(&metrics[i]))
			ranks[used++] = (struct rank){ metrics[i].exclusive.cpu_ns,
						       metrics[i].inclusive.cpu_ns, (uint32_t)i };
	qsort(ranks, used, sizeof(*ranks), compare_ranks);
	*ranked = used;
	return ranks;
}

/** One row for all that are too many. It keeps the sum of exclusive times right. */
static void fold_function(struct sn_report *report, const struct sn_metrics *m, size_t folded)
{
	struct sn_report_function *last = &sn_vec_last(&report->functions);

	if (report->functions.count < SN_REPORT_ROWS_MAX) {
		struct sn_report_function other = { .module = SN_NONE, .file = SN_NONE };

		other.name = sn_arena_printf(&report->arena, "[%zu other functions]", folded);
		sn_vec_push(&report->functions, other);
		last = &sn_vec_last(&report->functions);
		last->share_high = 1;
	}
	last->exclusive_ns += m->exclusive.cpu_ns;
	last->inclusive_ns += m->exclusive.cpu_ns;
	last->samples += m->exclusive.samples;
}

static void add_functions(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_program *program = profile->program;
	size_t count;
	struct rank *ranks = rank_entities(profile->functions, program->functions.count, &count);

	report->function_of =
		sn_arena_array(&report->arena, uint32_t, program->functions.count + 1);
	memset(report->function_of, 0xff, program->functions.count * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		const struct sn_program_function *from = &program->functions.items[ranks[i].index];
		const struct sn_metrics *m = &profile->functions[ranks[i].index];

		if (i >= SN_REPORT_ROWS_MAX - 1 && count > SN_REPORT_ROWS_MAX) {
			fold_function(report, m, count - (SN_REPORT_ROWS_MAX - 1));
			report->function_of[ranks[i].index] = (uint32_t)report->functions.count - 1;
			continue;
		}
		report->function_of[ranks[i].index] = (uint32_t)report->functions.count;
		sn_vec_push(&report->functions,
			    (struct sn_report_function){
				    .name = from->name,
				    .module = from->module,
				    .file = sn_report_file(report, from->file),
				    .line = from->line,
				    .is_inlined = !from->link_addr && from->is_named,
				    .is_spin = sn_function_spins(profile, ranks[i].index),
				    .exclusive_ns = m->exclusive.cpu_ns,
				    .inclusive_ns = m->inclusive.cpu_ns,
				    .samples = m->exclusive.samples,
				    .share_low = m->exclusive_share.low,
				    .share_high = m->exclusive_share.high });
	}
	free(ranks);
}

/** Loops of OpenMP and MPI runtimes stand last: they wait, and nobody is to optimise them. */
static uint32_t *loops_ordered(const struct sn_profile *profile, size_t *count)
{
	uint32_t *order = sn_rank_loops(profile, true, count);
	uint32_t *out = sn_alloc_zeroed(*count + 1, sizeof(*out));
	size_t next = 0;

	for (int runtime = 0; runtime < 2; runtime++)
		for (size_t i = 0; i < *count; i++)
			if (profile->is_runtime_loop[order[i]] == runtime)
				out[next++] = order[i];
	free(order);
	return out;
}

static void add_loops(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_program *program = profile->program;
	size_t count;
	uint32_t *order = loops_ordered(profile, &count);

	if (count > SN_REPORT_ROWS_MAX)
		count = SN_REPORT_ROWS_MAX;
	report->loop_of = sn_arena_array(&report->arena, uint32_t, program->loops.count + 1);
	memset(report->loop_of, 0xff, program->loops.count * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++)
		report->loop_of[order[i]] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		const struct sn_program_loop *from = &program->loops.items[order[i]];
		const struct sn_metrics *m = &profile->loops[order[i]];

		sn_vec_push(
			&report->loops,
			(struct sn_report_loop){ .code = from->code,
						 .function = report->function_of[from->function],
						 .file = sn_report_file(report, from->code->file),
						 .parent = from->parent == SN_NONE
								   ? SN_NONE
								   : report->loop_of[from->parent],
						 .is_runtime = profile->is_runtime_loop[order[i]],
						 .exclusive_ns = m->exclusive.cpu_ns,
						 .inclusive_ns = m->inclusive.cpu_ns,
						 .samples = m->exclusive.samples,
						 .share_low = m->exclusive_share.low,
						 .share_high = m->exclusive_share.high });
	}
	free(order);
}

/* ---- what ran ---- */

static void add_modules(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->modules.count; i++)
		sn_vec_push(&report->modules,
			    (struct sn_report_module){
				    .name = e->modules.items[i].name,
				    .path = e->modules.items[i].path,
				    .build_id = e->modules.items[i].build_id,
				    .cpu_ns = profile->modules[i].exclusive.cpu_ns });
	for (int c = 0; c < SN_CATEGORIES; c++)
		sn_vec_push(&report->categories,
			    (struct sn_report_category){
				    .name = sn_category_name((enum sn_category)c),
				    .cpu_ns = profile->categories[c].exclusive.cpu_ns });
}

static void add_processes(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *from = &e->processes.items[i];

		sn_vec_push(&report->processes,
			    (struct sn_report_process){ .pid = from->pid,
							.rank = from->rank,
							.host = from->host,
							.program = from->program,
							.arguments = from->arguments,
							.clock_mechanism = from->clock_mechanism,
							.start_ns = from->start_ns,
							.end_ns = from->end_ns,
							.exit_status = from->exit_status,
							.asked_hz = from->rate_hz,
							.account = from->account });
	}
}

static void add_threads(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->threads.count; i++) {
		const struct sn_thread *from = &e->threads.items[i];

		sn_vec_push(&report->threads,
			    (struct sn_report_thread){ .process = from->process,
						       .tid = from->tid,
						       .name = from->name,
						       .start_ns = from->start_ns,
						       .end_ns = from->end_ns,
						       .account = from->account,
						       .cpu_ns = profile->threads[i].cpu_ns,
						       .samples = profile->threads[i].samples,
						       .is_helper = !profile->is_at_work[i] });
	}
}

void sn_report_add_rows(struct sn_report *report)
{
	const struct sn_profile *profile = report->profile;

	add_modules(report, profile);
	add_functions(report, profile);
	add_loops(report, profile);
	add_processes(report, profile);
	add_threads(report, profile);
}

/* ---- the run ---- */

static int64_t nanoseconds(double seconds)
{
	return seconds >= 0 ? (int64_t)llround(seconds * 1e9) : -1;
}

/* One number has one source: the figures are those of `sonde show summary`. */
static void take_summary(struct sn_report *report, const struct sn_summary *summary)
{
	report->cpu_ns = nanoseconds(summary->cpu_s);
	report->user_ns = nanoseconds(summary->user_s);
	report->system_ns = nanoseconds(summary->system_s);
	report->thread_elapsed_ns = nanoseconds(summary->threads_elapsed_s);
	report->thread_user_ns = nanoseconds(summary->threads_user_s);
	report->thread_system_ns = nanoseconds(summary->threads_system_s);
	report->wait_cpu_ns = nanoseconds(summary->threads_wait_cpu_s);
	report->blocked_ns = nanoseconds(summary->threads_blocked_s);
	report->off_cpu_ns = nanoseconds(summary->threads_off_cpu_s);
	report->workers_ns = nanoseconds(summary->threads_workers_s);
	report->spin_ns = nanoseconds(summary->threads_spin_s);
	report->sampled_ns = report->profile->total.cpu_ns;
	report->sample_count = summary->samples;
	report->lost = summary->lost;
	report->process_count = summary->processes;
	report->thread_count = summary->threads;
	report->overhead_share = summary->overhead_share;
	report->loops_share = summary->loops_share;
	report->innermost_share = summary->innermost_share;
	report->clock_mechanism = summary->clock_mechanism;
	report->rate_hz = summary->rate_hz;
	report->asked_hz = summary->asked_hz;
	report->verdict = summary->verdict;
	for (size_t i = 0; i < summary->warnings.count; i++)
		if (!sn_summary_is_minor(summary, i))
			sn_vec_push(&report->warnings, summary->warnings.items[i]);
}

void sn_report_add_run(struct sn_report *report)
{
	const struct sn_experiment *e = report->profile->experiment;

	report->experiment = e->name;
	report->label = e->label;
	report->program = e->program;
	report->arguments = e->arguments;
	report->version = e->version;
	report->host = e->host;
	report->cpu_model = e->cpu_model;
	report->kernel = e->kernel;
	report->started_realtime_ns = e->started_realtime_ns;
	report->clock_error_ns = e->clock_error_ns;
	report->elapsed_ns = e->elapsed_ns;
	report->exit_status = e->exit_status;
	for (size_t i = 0; i < e->environment.count; i++)
		sn_vec_push(&report->environment, e->environment.items[i]);
	take_summary(report, report->summary);
}
