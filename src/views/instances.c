/* The view of instances: how often each counted loop is entered, and how long an iteration takes. */
#include "profile/instances.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "profile/companions.h"
#include "profile/instance_paths.h"
#include "views/loop_parts.h"
#include "views/parts.h"
#include "whatif/untouched.h"

/* A copy that takes so much longer than the loop, and surely so, is told. */
#define SLOWED 1.25

enum {
	I_LOOP,
	I_LABEL,
	I_FUNCTION,
	I_MODULE,
	I_FILE,
	I_LINE_FIRST,
	I_LINE_LAST,
	I_BUCKET,
	I_INSTANCES,
	I_ITERATIONS,
	I_ITERATIONS_MIN,
	I_ITERATIONS_MEDIAN,
	I_ITERATIONS_MAX,
	I_CYCLES_MIN,
	I_CYCLES_MEDIAN,
	I_CYCLES_MEAN,
	I_CYCLES_DEVIATION,
	I_STABILITY,
	I_SHARE,
	I_OPEN,
	I_ABORTED,
	I_TIMED,
	I_REPRESENTATIVES,
	I_STATE,
	I_PROCESS,
	I_THREAD,
	I_INSTANCE,
	I_PATH,
	I_CALL_PATH,
	I_LOOKED_AT,
};

static const struct sn_column instances_columns[] = {
	{ "loop", "id", SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "bucket", "bucket", SN_CELL_TEXT, 0 },
	{ "instances", "instances", SN_CELL_INT, 0 },
	{ "iterations", "iterations", SN_CELL_INT, 0 },
	{ "iterations_min", "it least", SN_CELL_INT, 0 },
	{ "iterations_median", "it median", SN_CELL_INT, 0 },
	{ "iterations_max", "it most", SN_CELL_INT, 0 },
	{ "cycles_min", "cy least", SN_CELL_REAL, 2 },
	{ "cycles_median", "cy median", SN_CELL_REAL, 2 },
	{ "cycles_mean", "cy mean", SN_CELL_REAL, 2 },
	{ "cycles_stddev", "cy dev", SN_CELL_REAL, 2 },
	{ "stability", "stability", SN_CELL_REAL, 3 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "open", "open", SN_CELL_INT, 0 },
	{ "aborted", "aborted", SN_CELL_INT, 0 },
	{ "timed_instances", "timed", SN_CELL_INT, 0 },
	{ "representatives", NULL, SN_CELL_JSON, 0 },
	{ "cycles_state", NULL, SN_CELL_TEXT, 0 },
	{ "process", NULL, SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "instance", "instance", SN_CELL_INT, 0 },
	{ "path", NULL, SN_CELL_JSON, 0 },
	{ "call_path", "called by", SN_CELL_TEXT, 0 },
	{ "path_instances", "looked at", SN_CELL_INT, 0 },
};

static void set_real(struct sn_table *table, size_t column, double value)
{
	if (!isnan(value))
		sn_table_set_real(table, column, value);
}

/* A list of {process, thread, instance}. */
static void set_representatives(const struct sn_profile *counted, struct sn_table *table,
				const struct sn_instance_bucket *bucket)
{
	enum { MOST = 31 };
	size_t step = (bucket->kept_count + MOST - 1) / MOST;
	struct sn_text text = { 0 };

	sn_text_add(&text, "[");
	for (size_t i = 0; step && i < bucket->kept_count; i += step) {
		const struct sn_thread *thread =
			&counted->experiment->threads.items[bucket->kept[i].thread];

		sn_text_addf(&text, "%s{\"process\":%u,\"thread\":%d,\"instance\":%llu}",
			     i ? "," : "", thread->process, thread->tid,
			     (unsigned long long)bucket->kept[i].timing.number);
	}
	sn_text_add(&text, "]");
	sn_table_set_text(table, I_REPRESENTATIVES, text.chars);
	sn_text_free(&text);
}

static const struct sn_loop_columns *loop_columns(void)
{
	static struct sn_loop_columns found;
	static bool is_found;

	if (!is_found)
		found = sn_loop_columns_find(instances_columns, sizeof(instances_columns) /
									sizeof(*instances_columns));
	is_found = true;
	return &found;
}

static void names_set(const struct sn_profile *profile, struct sn_table *table, uint32_t l)
{
	const struct sn_program_loop *loop = &profile->program->loops.items[l];

	sn_table_add_row(table);
	sn_loop_columns_set(loop_columns(), table, loop->code);
	/* the function that it was written in, as in the view of loops */
	sn_table_set_text(table, I_FUNCTION,
			  profile->program->functions.items[loop->function].name);
	sn_table_set_text(table, I_MODULE, sn_program_module_name(profile->program, loop->module));
}

/* What rows are made from. */
struct rows {
	const struct sn_profile *profile;
	const struct sn_profile *counted; /* of struct sn_instances_list */
	uint64_t timed_cycles;		  /* of the loop, in all threads, without what is apart */
};

static void set_thread(const struct sn_profile *counted, struct sn_table *table, uint32_t thread)
{
	const struct sn_thread *t = &counted->experiment->threads.items[thread];

	sn_table_set_int(table, I_PROCESS, t->process);
	sn_table_set_int(table, I_THREAD, t->tid);
}

/* Why no instance of a loop has cycles. */
static const char *untimed_reason(const struct rows *rows, const struct sn_instances *of)
{
	const struct sn_experiment *e = rows->counted->experiment;

	if (of->open == of->instances)
		return of->open == 1
			       ? "its instance had no end: it was at work when the run ended, or was left"
			       : "its instances had no end: they were left";
	if (e->windows.count)
		return "what is recorded takes too long to be timed: sonde vprof times it";
	if (e->variants.count)
		return "variants ran in its instances, or in those of a loop in or around it: sonde vprof "
		       "times it";
	return "none of those that ended was to be timed: --every 1 times all";
}

#define TOO_SHORT "timed, but too short: most take less than reading the counter does"
#define APART                                                                                       \
	"timed, but apart: few, and far slower than the loop's others; time off the CPU may be in " \
	"them, so they have no share"

static const char *timed_state(const struct sn_instance_bucket *bucket)
{
	return bucket->is_apart ? APART : bucket->is_too_short ? TOO_SHORT : "timed";
}

static void bucket_set(const struct rows *rows, struct sn_table *table,
		       const struct sn_instances *of, const struct sn_instance_bucket *bucket)
{
	const struct sn_profile *profile = rows->profile;
	double share = sn_share(profile->loops[of->loop].inclusive.cpu_ns, profile->total.cpu_ns);

	sn_table_set_int(table, I_TIMED, (int64_t)bucket->timed);
	if (of->thread != SN_NONE)
		set_thread(rows->counted, table, of->thread);
	if (bucket == &of->all && of->thread == SN_NONE)
		sn_table_set_real(table, I_SHARE, share);
	else if (rows->timed_cycles && !bucket->is_apart)
		sn_table_set_real(table, I_SHARE,
				  share * (double)bucket->share_cycles /
					  (double)rows->timed_cycles);
	set_real(table, I_CYCLES_MIN, bucket->cycles_min);
	set_real(table, I_CYCLES_MEDIAN, bucket->cycles_median);
	set_real(table, I_CYCLES_MEAN, bucket->cycles_mean);
	set_real(table, I_CYCLES_DEVIATION, bucket->cycles_deviation);
	set_real(table, I_STABILITY, bucket->stability);
	if (!bucket->kept_count)
		return;
	if (sn_instances_have_iterations(bucket)) {
		sn_table_set_int(table, I_ITERATIONS_MIN, (int64_t)bucket->iterations_min);
		sn_table_set_int(table, I_ITERATIONS_MEDIAN, (int64_t)bucket->iterations_median);
		sn_table_set_int(table, I_ITERATIONS_MAX, (int64_t)bucket->iterations_max);
	}
	set_representatives(rows->counted, table, bucket);
}

static void bucket_name(struct sn_table *table, int exponent)
{
	struct sn_text text = { 0 };

	sn_instance_bucket_name(exponent, &text);
	sn_table_set_text(table, I_BUCKET, text.chars);
	sn_text_free(&text);
}

static void whole_row(const struct rows *rows, struct sn_table *table,
		      const struct sn_instances *of)
{
	names_set(rows->profile, table, of->loop);
	sn_table_set_text(table, I_BUCKET, "all");
	sn_table_set_int(table, I_INSTANCES, (int64_t)of->instances);
	if (of->has_iterations)
		sn_table_set_int(table, I_ITERATIONS, (int64_t)of->iterations);
	sn_table_set_int(table, I_OPEN, (int64_t)of->open);
	if (of->has_aborted)
		sn_table_set_int(table, I_ABORTED, (int64_t)of->aborted);
	sn_table_set_text(table, I_STATE,
			  of->all.timed ? timed_state(&of->all) : untimed_reason(rows, of));
	bucket_set(rows, table, of, &of->all);
}

static void bucket_rows(const struct rows *rows, struct sn_table *table,
			const struct sn_instances *of)
{
	bool all_timed = of->all.timed == of->instances;

	for (size_t b = 0; b < of->bucket_count; b++) {
		const struct sn_instance_bucket *bucket = &of->buckets[b];

		names_set(rows->profile, table, of->loop);
		bucket_name(table, bucket->exponent);
		if (all_timed) {
			sn_table_set_int(table, I_INSTANCES, (int64_t)bucket->timed);
			sn_table_set_int(table, I_ITERATIONS, (int64_t)bucket->timed_iterations);
		}
		sn_table_set_text(table, I_STATE, timed_state(bucket));
		bucket_set(rows, table, of, bucket);
	}
}

/* The instances that were kept, fastest first. */
static void instance_rows(const struct rows *rows, struct sn_table *table,
			  const struct sn_instances *of)
{
	for (size_t i = 0; i < of->all.kept_count; i++) {
		const struct sn_instance *one = &of->all.kept[i];

		names_set(rows->profile, table, of->loop);
		set_thread(rows->counted, table, one->thread);
		sn_table_set_int(table, I_INSTANCE, (int64_t)one->timing.number);
		if (!one->timing.holds_others)
			sn_table_set_int(table, I_ITERATIONS, (int64_t)one->timing.iterations);
		if (one->timing.cycles) {
			sn_table_set_real(table, I_CYCLES_MEDIAN, one->cycles_per_iteration);
			sn_table_set_real(table, I_CYCLES_MEAN, one->cycles_per_iteration);
		}
		sn_table_set_text(table, I_STATE, one->timing.cycles ? "timed" : TOO_SHORT);
	}
}

/* ---- by call path ---- */

static void path_names(const struct sn_profile *counted, const struct sn_instance_path *path,
		       struct sn_table *table)
{
	struct sn_text list = { 0 }, line = { 0 };

	if (!path->functions)
		return;
	for (size_t i = 0; i < path->function_count; i++) {
		const char *name = counted->program->functions.items[path->functions[i]].name;

		sn_text_add(&list, i ? "," : "[");
		sn_text_add_json(&list, name, strlen(name));
	}
	sn_text_add(&list, "]");
	/* nearest first, as the other end is cut off where there is no room */
	for (size_t i = path->function_count - 1; i-- > 0;)
		sn_text_addf(&line, "%s%s", line.length ? " < " : "",
			     counted->program->functions.items[path->functions[i]].name);
	sn_table_set_text(table, I_PATH, list.chars);
	sn_table_set_text(table, I_CALL_PATH, line.chars ? line.chars : "");
	sn_text_free(&list);
	sn_text_free(&line);
}

static const char *path_state(const struct sn_instance_path *path)
{
	if (!path->functions)
		return "which call paths led to these is not known: too many, or none was looked for "
		       "(variants ran in the loop's instances, or a handler came in between)";
	return path->timed ? "timed" : "no instance that was looked at had an end";
}

/* What the loop took by this path, by its timed instances. */
static double path_cycles(const struct sn_instance_path *path)
{
	return path->timed
		       ? (double)path->timed_cycles / (double)path->timed * (double)path->instances
		       : 0;
}

static void path_row(const struct rows *rows, struct sn_table *table,
		     const struct sn_instance_path *path, double loop_cycles)
{
	const struct sn_profile *profile = rows->profile;
	double share = sn_share(profile->loops[path->loop].inclusive.cpu_ns, profile->total.cpu_ns);

	names_set(profile, table, path->loop);
	path_names(rows->counted, path, table);
	sn_table_set_text(table, I_BUCKET, "all");
	sn_table_set_int(table, I_INSTANCES, (int64_t)path->instances);
	sn_table_set_int(table, I_TIMED, (int64_t)path->timed);
	sn_table_set_int(table, I_LOOKED_AT, (int64_t)path->looked_at);
	sn_table_set_text(table, I_STATE, path_state(path));
	if (!path->timed)
		return;
	if (!path->is_estimated && path->timed == path->instances)
		sn_table_set_int(table, I_ITERATIONS, (int64_t)path->timed_iterations);
	sn_table_set_real(table, I_CYCLES_MEAN,
			  (double)path->timed_cycles / (double)path->timed_iterations);
	if (loop_cycles > 0)
		sn_table_set_real(table, I_SHARE, share * path_cycles(path) / loop_cycles);
}

/* Loops in the order of the list, with their paths. */
static void path_rows(const struct rows *rows, struct sn_table *table,
		      const struct sn_instance_paths *paths, uint32_t loop)
{
	double cycles = 0;

	for (size_t i = 0; i < paths->count; i++)
		cycles += paths->items[i].loop == loop ? path_cycles(&paths->items[i]) : 0;
	for (size_t i = 0; i < paths->count; i++)
		if (paths->items[i].loop == loop)
			path_row(rows, table, &paths->items[i], cycles);
}

static void rows_by_path(const struct sn_profile *profile, const struct sn_instances_list *list,
			 struct sn_table *table)
{
	struct rows rows = { .profile = profile, .counted = list->counted };
	struct sn_instance_paths paths;

	sn_instance_paths_find(profile, &paths);
	for (size_t i = 0; i < list->count; i++)
		path_rows(&rows, table, &paths, list->items[i].loop);
	sn_instance_paths_free(&paths);
}

enum by { BY_LOOP, BY_BUCKET, BY_THREAD, BY_INSTANCE, BY_PATH, BYS };

static void rows_of(const struct sn_profile *profile, struct sn_table *table, enum by by,
		    const struct sn_instances_list *list, const struct sn_instances *of)
{
	struct rows rows = { profile, list->counted, of->all.share_cycles };

	if (by == BY_THREAD) {
		rows.timed_cycles = 0;
		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].loop == of->loop)
				rows.timed_cycles += list->items[i].all.share_cycles;
	}
	if (by == BY_INSTANCE)
		instance_rows(&rows, table, of);
	else if (by != BY_BUCKET)
		whole_row(&rows, table, of);
	/* where they say more */
	if (by == BY_BUCKET || (by == BY_LOOP && of->bucket_count > 1))
		bucket_rows(&rows, table, of);
}

static sn_status by_parse(const char *word, enum by *out, struct sn_error *err)
{
	static const char *const names[BYS] = { NULL, "bucket", "thread", "instance", "path" };

	*out = BY_LOOP;
	for (int i = BY_BUCKET; word && i < BYS; i++)
		if (!strcmp(word, names[i])) {
			*out = (enum by)i;
			return SN_OK;
		}
	return word ? sn_error_set(
			      err, SN_ERR_USAGE,
			      "'show instances' has rows --by bucket, path, thread or instance, not by "
			      "'%s'",
			      word)
		    : SN_OK;
}

static sn_status instances_fill(const struct sn_view_input *input, struct sn_table *table,
				struct sn_error *err)
{
	struct sn_instances_list list;
	enum by by;

	if (by_parse(input->by, &by, err) != SN_OK)
		return SN_ERR_USAGE;
	if (by == BY_THREAD)
		sn_instances_find_by_thread(input->profile, &list);
	else
		sn_instances_find(input->profile, &list);
	if (by == BY_PATH)
		rows_by_path(input->profile, &list, table);
	for (size_t i = 0; by != BY_PATH && i < list.count; i++)
		rows_of(input->profile, table, by, &list, &list.items[i]);
	sn_instances_free(&list);
	return SN_OK;
}

/* What the figures of a loop lack, and why. */
static void put_notes(const struct rows *rows, const struct sn_instances *of, FILE *out)
{
	const char *label = rows->profile->program->loops.items[of->loop].code->label;
	uint64_t apart = 0;

	for (size_t b = 0; b < of->bucket_count; b++)
		apart += of->buckets[b].is_apart ? of->buckets[b].timed : 0;
	if (!of->all.timed)
		fprintf(out, "%s has no cycles: %s\n", label, untimed_reason(rows, of));
	if (of->all.is_too_short)
		fprintf(out, "%s has no median of cycles: %s\n", label, TOO_SHORT);
	if (apart)
		fprintf(out,
			"%s: %llu of %llu timed instances have no share: few, and far slower than "
			"the others; time off the CPU may be in them\n",
			label, (unsigned long long)apart, (unsigned long long)of->all.timed);
	if (of->uncounted)
		fprintf(out,
			"%s: iterations are without those of %llu instance%s that %s at work when the run "
			"ended, or left by a handler\n",
			label, (unsigned long long)of->uncounted, of->uncounted == 1 ? "" : "s",
			of->uncounted == 1 ? "was" : "were");
	if (of->all.holds_others)
		fprintf(out,
			"%s: iterations of an instance are not known: other instances of it ran "
			"within those that were timed (recursion, or a handler)\n",
			label);
}

static double typical_cycles(const struct sn_instances *of)
{
	uint64_t iterations = of->all.timed_iterations;

	for (size_t b = 0; b < of->bucket_count; b++)
		iterations -= of->buckets[b].is_apart ? of->buckets[b].timed_iterations : 0;
	return iterations ? (double)of->all.share_cycles / (double)iterations : NAN;
}

/* Being counted and timed may take longer than the loop itself. */
static void put_slowed(const struct rows *rows, const struct sn_instances *of,
		       const struct sn_untouched *untouched, FILE *out)
{
	const struct sn_loop *loop = rows->profile->program->loops.items[of->loop].code;
	const struct sn_untouched_loop *before = sn_untouched_find(untouched, loop->id);
	double was =
		sn_untouched_cycles(untouched, before, of->has_iterations ? of->iterations : 0);
	double is = typical_cycles(of);

	if (before && is > was * SLOWED * exp(2 / sqrt((double)before->samples)))
		fprintf(out,
			"%s: counted and timed, an iteration takes %.2f times what it took in the run "
			"before (%.2f cycles for %.2f): these cycles tell its instances apart, but are "
			"not those of the loop as it is\n",
			loop->label, is / was, is, was);
}

static void put_untimed(const struct sn_view_input *input, FILE *out)
{
	struct sn_instances_list list;
	struct rows rows = { .profile = input->profile };
	struct sn_untouched untouched;
	struct sn_error err;

	if (input->by)
		return;
	sn_instances_find(input->profile, &list);
	rows.counted = list.counted;
	/* without the file, as in older experiments, there is nothing to compare with */
	(void)sn_untouched_read(list.counted->experiment->path, &untouched, &err);
	for (size_t i = 0; i < list.count; i++) {
		put_notes(&rows, &list.items[i], out);
		put_slowed(&rows, &list.items[i], &untouched, out);
	}
	sn_untouched_free(&untouched);
	sn_instances_free(&list);
}

static void why_no_instances(const struct sn_view_input *input, struct sn_text *out)
{
	if (sn_companion_damage(input->profile, SN_COMPANION_INSTANCES))
		sn_text_add(out, sn_companion_damage(input->profile, SN_COMPANION_INSTANCES));
	else if (input->by && !strcmp(input->by, "path") &&
		 sn_profile_with_instances(input->profile)->experiment->instances.count)
		sn_text_add(out,
			    "call paths of instances were not looked for in this run: sonde vprof "
			    "does");
	else if (!sn_profile_with_instances(input->profile)->experiment->instances.count)
		sn_text_add(out, "no loops were counted in this run: sonde vprof counts them");
	else
		sn_text_add(out, "none of the loops that were counted is known to this analysis");
}

static const struct sn_explanation instances_words[] = {
	{ "bucket", "text",
	  "Cycles an iteration of the instances in the row: from, up to; 'all' is the whole loop, "
	  "exact in instances and iterations. In 'show variants' iterations of the instances instead; "
	  "'all' is then the loop, its buckets weighed by their iterations.",
	  "cycles_mean" },
	{ "instances", "count",
	  "Executions of the loop, each from an arrival at its header from outside to an exit; those "
	  "that have not ended, too. Of a bucket only where every instance was timed.",
	  "iterations" },
	{ "iterations", "count",
	  "Arrivals at the loop's header, of all instances; those that were left, too. Of a loop without calls "
	  "those of an instance that was at work when the run ended are not known, as a line below the table "
	  "says, and all are unknown where a handler left several.",
	  "instances" },
	{ "iterations_min", "count",
	  "Fewest iterations of an instance, of all that were timed. Unknown where other instances of the "
	  "loop ran within one (recursion).",
	  NULL },
	{ "iterations_median", "count", "Median of the representatives' iterations.", NULL },
	{ "iterations_max", "count", "Most iterations of an instance, of all that were timed.",
	  NULL },
	{ "cycles_min", "cycles",
	  "Cycles an iteration of the fastest representative, of the time-stamp counter; where the "
	  "core's clock differs from it, they differ from core cycles by the same factor.",
	  "stability" },
	{ "cycles_median", "cycles", "Median of the representatives' cycles an iteration.", NULL },
	{ "cycles_mean", "cycles", "All timed cycles by all timed iterations.", NULL },
	{ "cycles_stddev", "cycles",
	  "Standard deviation of the representatives' cycles an iteration.", NULL },
	{ "stability", "ratio",
	  "(median - least) / least of the representatives' cycles an iteration: below 0.05 they "
	  "agree.",
	  NULL },
	{ "open", "count",
	  "Instances without an exit: those at work when the run ended, and those left by longjmp, an "
	  "exception or the end of their thread.",
	  "instances" },
	{ "aborted", "count",
	  "Those of the open instances that longjmp, an exception or the end of their thread has left. "
	  "Unknown where some are open and not all were to be timed.",
	  "open" },
	{ "timed_instances", "count", "Instances that were timed.", NULL },
	{ "cycles_state", "text",
	  "timed; else why there are no cycles, no median (too short) or no share (apart from the loop's "
	  "others: they may have been interrupted).",
	  "timed_instances" },
	{ "representatives", "text",
	  "Some of the timed instances, spread over the run: a list of {process, thread, instance}; "
	  "instances of a loop are numbered in each thread from 0.",
	  NULL },
	{ "call_path", "text",
	  "The functions that led to the loop, in one line, nearest caller first. Unknown where nobody "
	  "looked.",
	  "path" },
	{ "path_instances", "count",
	  "Instances whose call path was looked at: with --every 1 each, so that instances by path are "
	  "exact; else each stands for those since the one before.",
	  "path" },
	{ 0 },
};

/* ---- on the page of a loop ---- */

#define PAGE_DATA                                                                                  \
	"bucket,share,instances,iterations,open,timed_instances,iterations_min,iterations_median," \
	"iterations_max,cycles_min,cycles_median,cycles_mean,cycles_stddev,stability,"             \
	"representatives,aborted,cycles_state"

#define PAGE_PATHS "path,instances,share,iterations,timed_instances,path_instances,cycles_mean"

/* Rows of the loop alone; false: it was not counted. */
static bool page_rows(const struct sn_loop_page *page, struct sn_table *table)
{
	struct sn_instances_list list;

	sn_table_init(table, instances_columns,
		      sizeof(instances_columns) / sizeof(*instances_columns));
	sn_instances_find(page->profile, &list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].loop == page->number)
			rows_of(page->profile, table, BY_LOOP, &list, &list.items[i]);
	sn_instances_free(&list);
	return table->row_count != 0;
}

/* Likewise by call path; false: no call path of it was looked at. */
static bool page_paths(const struct sn_loop_page *page, struct sn_table *table)
{
	struct sn_instance_paths paths;
	struct rows rows = { .profile = page->profile };

	sn_table_init(table, instances_columns,
		      sizeof(instances_columns) / sizeof(*instances_columns));
	sn_instance_paths_find(page->profile, &paths);
	rows.counted = paths.counted;
	path_rows(&rows, table, &paths, page->number);
	sn_instance_paths_free(&paths);
	return table->row_count != 0;
}

static void put_paths(const struct sn_loop_page *page, FILE *out)
{
	enum { SHOWN = 10 };
	struct sn_table_view how = { .columns = "share,instances,cycles_mean,call_path",
				     .top = SHOWN };
	struct sn_table table;
	struct sn_error err;

	if (page_paths(page, &table)) {
		fputs("\ninstances, by who came to the loop:\n", out);
		if (sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
			fprintf(out, "%s\n", err.sentence);
	}
	sn_table_free(&table);
}

static void put_instances(const struct sn_loop_page *page, FILE *out)
{
	struct sn_table_view how = {
		.columns = "bucket,share,instances,iterations,iterations_median,cycles_median,"
			   "stability,timed_instances",
	};
	struct sn_table table;
	struct sn_error err;

	if (page_rows(page, &table)) {
		fputs("\ninstances, by cycles an iteration:\n", out);
		if (sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
			fprintf(out, "%s\n", err.sentence);
	}
	sn_table_free(&table);
	put_paths(page, out);
}

static void write_instances(const struct sn_loop_page *page, struct sn_json *json)
{
	struct sn_table table;

	sn_json_key(json, "instances");
	sn_json_array(json);
	if (page_rows(page, &table))
		sn_table_write_rows(&table, PAGE_DATA, json);
	sn_json_close(json);
	sn_table_free(&table);
	sn_json_key(json, "instance_paths");
	sn_json_array(json);
	if (page_paths(page, &table))
		sn_table_write_rows(&table, PAGE_PATHS, json);
	sn_json_close(json);
	sn_table_free(&table);
}

const struct sn_loop_part sn_loop_instances = { .put = put_instances, .write = write_instances };

const struct sn_view sn_view_instances = {
	.name = "instances",
	.takes_by = true,
	.title = "how often loops are entered, and what an iteration takes (sonde vprof)",
	.needs = SN_VIEW_NEEDS_INSTANCES,
	.schema = "sonde.instances/1",
	.columns = instances_columns,
	.column_count = sizeof(instances_columns) / sizeof(*instances_columns),
	.words = instances_words,
	.text_columns =
		"share,instances,iterations,iterations_median,cycles_median,stability,bucket,"
		"timed_instances,label,function,call_path,module",
	.by_columns = "process,thread,instance,",
	.page_title = "Loop instances",
	.is_in_report = true,
	.fill = instances_fill,
	.why_empty = why_no_instances,
	.put_foot = put_untimed,
};
