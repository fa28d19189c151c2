#include "report/model/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "profile/rank.h"
#include "views/summary/summary.h"

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

static const char *copy(struct sn_report *report, const char *chars)
{
	return chars ? sn_arena_strdup(&report->arena, chars) : NULL;
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
				    .name = copy(report, from->name),
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

		sn_vec_push(&report->loops,
			    (struct sn_report_loop){
				    .id = copy(report, from->code->id),
				    .label = copy(report, from->code->label),
				    .function = report->function_of[from->function],
				    .file = sn_report_file(report, from->code->file),
				    .line_first = from->code->line_first,
				    .line_last = from->code->line_last,
				    .parent = from->parent == SN_NONE
						      ? SN_NONE
						      : report->loop_of[from->parent],
				    .depth = (uint8_t)(from->code->depth > 255 ? 255
									       : from->code->depth),
				    .is_innermost = from->code->is_innermost,
				    .is_irreducible = from->code->is_irreducible,
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

static void add_known(int64_t *sum, int64_t value)
{
	if (value >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + value;
}

static void add_modules(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t i = 0; i < e->modules.count; i++)
		sn_vec_push(&report->modules,
			    (struct sn_report_module){
				    .name = copy(report, e->modules.items[i].name),
				    .path = copy(report, e->modules.items[i].path),
				    .build_id = copy(report, e->modules.items[i].build_id),
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
	uint64_t overhead_ns = 0;

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *from = &e->processes.items[i];

		sn_vec_push(&report->processes,
			    (struct sn_report_process){ .pid = from->pid,
							.rank = from->rank,
							.host = copy(report, from->host),
							.program = copy(report, from->program),
							.arguments = copy(report, from->arguments),
							.clock_mechanism =
								copy(report, from->clock_mechanism),
							.start_ns = from->start_ns,
							.end_ns = from->end_ns,
							.exit_status = from->exit_status,
							.rate_hz = from->rate_hz,
							.account = from->account });
		report->process_count += !from->follows_exec;
		add_known(&report->user_ns, from->account.user_ns);
		add_known(&report->system_ns, from->account.system_ns);
		for (int loss = 0; loss < SN_LOSS_KINDS; loss++)
			report->lost += from->losses[loss];
		overhead_ns += from->overhead_ns;
	}
	report->cpu_ns = report->user_ns;
	if (report->cpu_ns >= 0)
		add_known(&report->cpu_ns, report->system_ns);
	report->overhead_share =
		report->cpu_ns > 0 ? (double)overhead_ns / (double)report->cpu_ns : NAN;
	if (e->processes.count) {
		report->clock_mechanism = report->processes.items[0].clock_mechanism;
		report->rate_hz = e->processes.items[0].rate_hz;
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
						       .name = copy(report, from->name),
						       .start_ns = from->start_ns,
						       .end_ns = from->end_ns,
						       .account = from->account,
						       .cpu_ns = profile->threads[i].cpu_ns,
						       .samples = profile->threads[i].samples,
						       .is_helper = !profile->is_at_work[i] });
	}
}

static void add_run(struct sn_report *report, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	report->experiment = copy(report, e->name);
	report->label = copy(report, e->label);
	report->program = copy(report, e->program);
	report->arguments = copy(report, e->arguments);
	report->version = copy(report, e->version);
	report->host = copy(report, e->host);
	report->cpu_model = copy(report, e->cpu_model);
	report->kernel = copy(report, e->kernel);
	report->started_realtime_ns = e->started_realtime_ns;
	report->clock_error_ns = e->clock_error_ns;
	report->elapsed_ns = e->elapsed_ns;
	report->exit_status = e->exit_status;
	report->user_ns = report->system_ns = report->thread_elapsed_ns = -1;
	report->thread_user_ns = report->thread_system_ns = -1;
	report->wait_cpu_ns = report->blocked_ns = report->off_cpu_ns = -1;
	report->workers_ns = report->spin_ns = -1;
	report->sampled_ns = profile->total.cpu_ns;
	report->sample_count = profile->total.samples;
	report->loops_share = report->innermost_share = NAN;
	if (profile->total.cpu_ns) {
		report->loops_share = (double)profile->loops_ns / (double)profile->total.cpu_ns;
		report->innermost_share =
			(double)profile->innermost_loops_ns / (double)profile->total.cpu_ns;
	}
	for (size_t i = 0; i < e->warnings.count; i++)
		sn_vec_push(&report->warnings, copy(report, e->warnings.items[i]));
	for (size_t i = 0; i < e->environment.count; i++)
		sn_vec_push(&report->environment,
			    (struct sn_environment_variable){
				    copy(report, e->environment.items[i].name),
				    copy(report, e->environment.items[i].value) });
}

struct sn_report *sn_report_new(const struct sn_profile *profile, struct sn_structures *structures)
{
	struct sn_report *report = sn_alloc_zeroed(1, sizeof(*report));
	struct sn_progress progress;

	sn_progress_begin(&progress, "collecting times and phases", 0);
	add_run(report, profile);
	add_modules(report, profile);
	add_functions(report, profile);
	add_loops(report, profile);
	add_processes(report, profile);
	add_threads(report, profile);
	sn_report_add_paths(report, profile);
	sn_report_add_phases(report, profile, structures);
	sn_progress_end(&progress);
	return report;
}
