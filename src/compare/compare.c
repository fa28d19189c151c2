#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "profile/view.h"

const char *sn_verdict_name(enum sn_verdict verdict)
{
	static const char *const names[] = { "same", "slower", "faster", "small", "repeat" };

	return names[verdict];
}

/* ---- one run ---- */

static const char *copied(struct sn_compare_run *run, const char *text)
{
	return text ? sn_arena_strdup(&run->arena, text) : NULL;
}

/* The standard deviation behind a 95 % interval of a share, in seconds. */
static double deviation_of(struct sn_interval interval, double total_s)
{
	return (interval.high - interval.low) / 2 / 1.96 * total_s;
}

static const char *module_key(const struct sn_program *program, uint32_t module)
{
	return module < program->experiment->modules.count &&
			       program->experiment->modules.items[module].is_main
		       ? ""
		       : sn_program_module_name(program, module);
}

static void functions_fill(struct sn_compare_run *run, const struct sn_profile *p)
{
	double total = (double)p->total.cpu_ns / 1e9;

	for (size_t f = 0; f < p->program->functions.count; f++) {
		const struct sn_program_function *function = &p->program->functions.items[f];
		const struct sn_metrics *m = &p->functions[f];
		struct sn_compare_entry entry = {
			.kind = SN_COMPARE_FUNCTION,
			.module = copied(run, module_key(p->program, function->module)),
			.function = copied(run, function->linkage_name),
			.name = copied(run, function->name),
			.file = copied(run, sn_file_base_name(function->file)),
			.line_first = function->line,
			.cpu_s = (double)m->exclusive.cpu_ns / 1e9,
			.share = sn_share(m->exclusive.cpu_ns, p->total.cpu_ns),
			.deviation_s = deviation_of(m->exclusive_share, total),
		};

		if (m->exclusive.cpu_ns)
			sn_vec_push(&run->entries, entry);
	}
}

/* Parts of one source loop are one entry. */
static void loops_fill(struct sn_compare_run *run, const struct sn_profile *p)
{
	const struct sn_program *program = p->program;
	uint32_t *entry_of = sn_alloc_zeroed(program->source_loop_count + 1, sizeof(*entry_of));
	double total = (double)p->total.cpu_ns / 1e9;

	for (size_t l = 0; l < program->loops.count; l++) {
		const struct sn_program_loop *loop = &program->loops.items[l];
		const struct sn_program_function *function =
			&program->functions.items[loop->function];
		const struct sn_metrics *m = &p->loops[l];
		struct sn_compare_entry *entry;

		if (!m->exclusive.cpu_ns || p->is_runtime_loop[l])
			continue;
		if (!entry_of[loop->source_loop]) {
			struct sn_compare_entry fresh = {
				.kind = SN_COMPARE_LOOP,
				.module = copied(run, module_key(program, loop->module)),
				.function = copied(run, function->linkage_name),
				.name = copied(run, loop->label),
				.file = copied(run, sn_file_base_name(loop->file)),
				.line_first = loop->line_first,
				.line_last = loop->line_last,
				.depth = loop->depth,
			};

			sn_vec_push(&run->entries, fresh);
			entry_of[loop->source_loop] = (uint32_t)run->entries.count;
		}
		entry = &run->entries.items[entry_of[loop->source_loop] - 1];
		entry->cpu_s += (double)m->exclusive.cpu_ns / 1e9;
		entry->share += sn_share(m->exclusive.cpu_ns, p->total.cpu_ns);
		entry->deviation_s =
			hypot(entry->deviation_s, deviation_of(m->exclusive_share, total));
	}
	free(entry_of);
}

void sn_compare_run_fill(struct sn_compare_run *run, const struct sn_profile *p)
{
	struct sn_compare_entry elapsed = { .kind = SN_COMPARE_TOTAL,
					    .module = "",
					    .function = "elapsed",
					    .name = "elapsed",
					    .cpu_s = sn_seconds(p->experiment->elapsed_ns),
					    .share = NAN };
	struct sn_compare_entry cpu = { .kind = SN_COMPARE_TOTAL,
					.module = "",
					.function = "cpu",
					.name = "CPU",
					.cpu_s = (double)p->total.cpu_ns / 1e9,
					.share = 1 };

	memset(run, 0, sizeof(*run));
	run->name = copied(run, p->experiment->name);
	run->label = copied(run, p->experiment->label);
	run->program = copied(run, p->experiment->program);
	run->arguments = copied(run, p->experiment->arguments);
	run->host = copied(run, p->experiment->host);
	run->cpu_model = copied(run, p->experiment->cpu_model);
	run->kernel = copied(run, p->experiment->kernel);
	run->version = copied(run, p->experiment->version);
	run->started_realtime_ns = p->experiment->started_realtime_ns;
	run->samples = p->total.samples;
	if (!p->is_filtered && !isnan(elapsed.cpu_s))
		sn_vec_push(&run->entries, elapsed);
	sn_vec_push(&run->entries, cpu);
	functions_fill(run, p);
	loops_fill(run, p);
}

void sn_compare_run_free(struct sn_compare_run *run)
{
	sn_vec_free(&run->entries);
	sn_arena_free(&run->arena);
}

/* ---- alignment ---- */

struct aligned {
	struct sn_compare_row row;
	uint32_t a_seen, b_seen; /* runs that have it */
	double *times;		 /* by run: those of A, then those of B */
	double *shares, *variances;
	bool is_merged; /* into another row */
};

struct builder {
	struct sn_comparison *comparison;
	size_t runs;
	struct sn_interner keys;
	SN_VEC(struct aligned) rows; /* by key number */
};

/* Files are no part of it: a renamed source is still the same function. */
static uint32_t key_of(struct builder *b, const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	sn_text_addf(&key, "%d\n%s\n%s\n", (int)entry->kind, entry->module, entry->function);
	if (entry->kind == SN_COMPARE_LOOP && entry->line_first)
		sn_text_addf(&key, "%u\n%u\n%u", entry->line_first, entry->line_last, entry->depth);
	else if (entry->kind == SN_COMPARE_LOOP)
		sn_text_addf(&key, "%s\n%u", entry->name, entry->depth);
	number = sn_intern(&b->keys, key.chars, key.length);
	sn_text_free(&key);
	return number;
}

static void entry_add(struct builder *b, const struct sn_compare_entry *entry, size_t run,
		      bool is_a)
{
	uint32_t key = key_of(b, entry);
	struct aligned *row;

	if (key == b->rows.count) {
		struct aligned fresh = { .row = { .entry = *entry } };

		fresh.times = sn_arena_array(&b->comparison->arena, double, b->runs);
		fresh.shares = sn_arena_array(&b->comparison->arena, double, b->runs);
		fresh.variances = sn_arena_array(&b->comparison->arena, double, b->runs);
		sn_vec_push(&b->rows, fresh);
	}
	row = &b->rows.items[key];
	row->times[run] += entry->cpu_s;
	row->shares[run] += entry->share;
	row->variances[run] += entry->deviation_s * entry->deviation_s;
	if (is_a)
		row->a_seen++;
	else
		row->b_seen++;
}

static int loops_by_function(const void *left, const void *right, void *context)
{
	const struct aligned *rows = context;
	const struct sn_compare_entry *x = &rows[*(const size_t *)left].row.entry;
	const struct sn_compare_entry *y = &rows[*(const size_t *)right].row.entry;
	int order = strcmp(x->module, y->module);

	if (!order)
		order = strcmp(x->function, y->function);
	if (!order)
		order = (x->depth > y->depth) - (x->depth < y->depth);
	if (!order)
		order = (x->line_first > y->line_first) - (x->line_first < y->line_first);
	return order ? order
		     : (*(const size_t *)left > *(const size_t *)right) -
			       (*(const size_t *)left < *(const size_t *)right);
}

static bool same_nest(const struct sn_compare_entry *x, const struct sn_compare_entry *y)
{
	return !strcmp(x->module, y->module) && !strcmp(x->function, y->function) &&
	       x->depth == y->depth;
}

static void row_merge(struct builder *b, struct aligned *into, struct aligned *from)
{
	for (size_t r = 0; r < b->runs; r++) {
		into->times[r] += from->times[r];
		into->shares[r] += from->shares[r];
		into->variances[r] += from->variances[r];
	}
	into->b_seen += from->b_seen;
	into->row.is_moved = true;
	from->is_merged = true;
}

/* Loops of one function and depth that only one side has: if both have equally many, lines have
 * moved, and they belong together in order. */
static void moved_loops_join(struct builder *b)
{
	struct aligned *rows = b->rows.items;
	size_t *order = sn_alloc_zeroed(b->rows.count + 1, sizeof(*order)), count = 0;

	for (size_t i = 0; i < b->rows.count; i++)
		if (rows[i].row.entry.kind == SN_COMPARE_LOOP && rows[i].row.entry.line_first &&
		    (!rows[i].a_seen || !rows[i].b_seen))
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), loops_by_function, rows);
	for (size_t first = 0, end; first < count; first = end) {
		size_t of_a = 0, of_b = 0, a = first, z = first;

		for (end = first; end < count && same_nest(&rows[order[first]].row.entry,
							   &rows[order[end]].row.entry);
		     end++) {
			of_a += rows[order[end]].a_seen > 0;
			of_b += rows[order[end]].b_seen > 0;
		}
		if (of_a != of_b)
			continue;
		for (size_t pair = 0; pair < of_a; pair++, a++, z++) {
			while (!rows[order[a]].a_seen || rows[order[a]].row.is_moved)
				a++;
			while (rows[order[z]].a_seen)
				z++;
			row_merge(b, &rows[order[a]], &rows[order[z]]);
		}
	}
	free(order);
}

/* ---- statistics ---- */

struct moments {
	double mean, variance; /* of the mean */
	double df;
};

/* The spread between runs holds the sampling error; where few runs agree by luck, the sampling
 * error is what is known at least. */
static struct moments moments_of(const double *times, const double *variances, size_t count)
{
	double deviation = sn_deviation(times, count), sampling = sn_mean(variances, count);
	struct moments m = { .mean = sn_mean(times, count), .df = (double)count - 1 };

	m.variance = fmax(deviation * deviation, sampling) / (double)count;
	return m;
}

static void row_test(struct sn_compare_row *row, struct moments a, struct moments b)
{
	double variance = a.variance + b.variance, df, half;

	row->p = NAN;
	row->difference_interval = (struct sn_interval){ NAN, NAN };
	if (a.df + 1 < SN_COMPARE_RUNS_MIN || b.df + 1 < SN_COMPARE_RUNS_MIN)
		return;
	if (!(variance > 0)) {
		row->p = row->difference_s == 0 ? 1 : 0;
		row->difference_interval =
			(struct sn_interval){ row->difference_s, row->difference_s };
		return;
	}
	/* Welch (1947), with Satterthwaite's degrees of freedom */
	df = variance * variance /
	     (a.variance * a.variance / a.df + b.variance * b.variance / b.df);
	row->p = sn_student_p(row->difference_s / sqrt(variance), df);
	half = sn_student_t(0.05, df) * sqrt(variance);
	row->difference_interval =
		(struct sn_interval){ row->difference_s - half, row->difference_s + half };
}

static void row_finish(struct builder *b, struct aligned *aligned)
{
	struct sn_comparison *c = b->comparison;
	struct sn_compare_row *row = &aligned->row;
	struct moments a = moments_of(aligned->times, aligned->variances, c->a_count);
	struct moments z = moments_of(aligned->times + c->a_count, aligned->variances + c->a_count,
				      c->b_count);

	row->a_runs = aligned->a_seen;
	row->b_runs = aligned->b_seen;
	row->a_cpu_s = a.mean;
	row->b_cpu_s = z.mean;
	row->a_share = sn_mean(aligned->shares, c->a_count);
	row->b_share = sn_mean(aligned->shares + c->a_count, c->b_count);
	row->difference_s = z.mean - a.mean;
	row_test(row, a, z);
	if (row->entry.kind != SN_COMPARE_TOTAL &&
	    !(fmax(row->a_share, row->b_share) >= c->smallest_share)) {
		row->verdict = SN_VERDICT_SMALL;
		row->p = NAN;
	} else {
		row->verdict = isnan(row->p) ? SN_VERDICT_REPEAT : SN_VERDICT_SAME;
	}
}

static int rows_by_p(const void *left, const void *right, void *context)
{
	const struct sn_compare_row *rows = context;
	double x = rows[*(const size_t *)left].p, y = rows[*(const size_t *)right].p;

	return (x > y) - (x < y);
}

/* Holm (1979): the i-th smallest of m values is held against rate / (m - i), until one fails. */
static void verdicts_find(struct sn_comparison *c)
{
	size_t *order = sn_alloc_zeroed(c->rows.count + 1, sizeof(*order));

	for (size_t i = 0; i < c->rows.count; i++)
		if (!isnan(c->rows.items[i].p))
			order[c->tested++] = i;
	qsort_r(order, c->tested, sizeof(*order), rows_by_p, c->rows.items);
	for (size_t i = 0; i < c->tested; i++) {
		struct sn_compare_row *row = &c->rows.items[order[i]];

		if (!(row->p <= c->false_alarm_rate / (double)(c->tested - i)))
			break;
		row->verdict = row->difference_s > 0 ? SN_VERDICT_SLOWER : SN_VERDICT_FASTER;
		c->findings++;
	}
	if (!c->tested)
		c->false_alarm_rate = NAN;
	free(order);
}

static int rows_by_difference(const void *left, const void *right)
{
	const struct sn_compare_row *x = left, *y = right;
	double dx = fabs(x->difference_s), dy = fabs(y->difference_s);
	int order;

	if ((x->entry.kind == SN_COMPARE_TOTAL) != (y->entry.kind == SN_COMPARE_TOTAL))
		return x->entry.kind == SN_COMPARE_TOTAL ? -1 : 1;
	if (x->entry.kind == SN_COMPARE_TOTAL)
		return strcmp(y->entry.function, x->entry.function); /* elapsed, then CPU */
	if (dx != dy)
		return dx > dy ? -1 : 1;
	order = strcmp(x->entry.name, y->entry.name);
	return order ? order : (int)x->entry.kind - (int)y->entry.kind;
}

struct sn_comparison *sn_compare(const struct sn_compare_run *a, size_t a_count,
				 const struct sn_compare_run *b, size_t b_count,
				 const struct sn_compare_options *options)
{
	struct sn_comparison *c = sn_alloc_zeroed(1, sizeof(*c));
	struct builder builder = { .comparison = c, .runs = a_count + b_count };

	c->a_count = a_count;
	c->b_count = b_count;
	c->false_alarm_rate =
		options && options->false_alarm_rate > 0 ? options->false_alarm_rate : 0.05;
	c->smallest_share =
		options && options->smallest_share > 0 ? options->smallest_share : 0.005;
	for (size_t r = 0; r < a_count; r++)
		for (size_t i = 0; i < a[r].entries.count; i++)
			entry_add(&builder, &a[r].entries.items[i], r, true);
	for (size_t r = 0; r < b_count; r++)
		for (size_t i = 0; i < b[r].entries.count; i++)
			entry_add(&builder, &b[r].entries.items[i], a_count + r, false);
	moved_loops_join(&builder);
	for (size_t i = 0; i < builder.rows.count; i++) {
		if (builder.rows.items[i].is_merged)
			continue;
		row_finish(&builder, &builder.rows.items[i]);
		sn_vec_push(&c->rows, builder.rows.items[i].row);
	}
	verdicts_find(c);
	if (c->rows.count)
		qsort(c->rows.items, c->rows.count, sizeof(*c->rows.items), rows_by_difference);
	sn_vec_free(&builder.rows);
	sn_interner_free(&builder.keys);
	return c;
}

void sn_comparison_free(struct sn_comparison *comparison)
{
	if (!comparison)
		return;
	sn_vec_free(&comparison->rows);
	sn_arena_free(&comparison->arena);
	free(comparison);
}
