/*
 * Aligns functions and loops of two sets of runs, tests each difference, and corrects for the
 * number of tests. Loops whose lines moved are aligned by their order in the function.
 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "compare/drift.h"
#include "compare/entry.h"
#include "compare/pairs.h"
#include "compare/ranges.h"
#include "compare/warnings.h"

const char *sn_verdict_name(enum sn_verdict verdict)
{
	static const char *const names[] = {
		"same", "slower", "faster", "small", "repeat", "drift"
	};

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

static void functions_fill(struct sn_compare_run *run, const struct sn_profile *p)
{
	double total = (double)p->total.cpu_ns / 1e9;

	for (size_t f = 0; f < p->program->functions.count; f++) {
		const struct sn_metrics *m = &p->functions[f];
		struct sn_compare_entry entry;

		if (!m->exclusive.cpu_ns)
			continue;
		entry = sn_compare_function(p->program, (uint32_t)f, &run->arena);
		entry.cpu_s = (double)m->exclusive.cpu_ns / 1e9;
		entry.share = sn_share(m->exclusive.cpu_ns, p->total.cpu_ns);
		entry.deviation_s = deviation_of(m->exclusive_share, total);
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
		const struct sn_metrics *m = &p->loops[l];
		struct sn_compare_entry *entry;

		if (!m->exclusive.cpu_ns || p->is_runtime_loop[l])
			continue;
		if (!entry_of[loop->source_loop]) {
			struct sn_compare_entry fresh =
				sn_compare_loop(program, (uint32_t)l, &run->arena);

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

/* All waiting, over the threads that share it: a run with n of them able to run loses an n-th.
 * Where nobody else used the machine, threads waited for each other only. */
static double waited_of(const struct sn_experiment *e)
{
	double waited = 0, ran = 0, at_once;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *account = &e->threads.items[t].account;

		if (account->wait_cpu_ns < 0 || account->user_ns < 0 || account->system_ns < 0)
			return NAN;
		waited += sn_seconds(account->wait_cpu_ns);
		ran += sn_seconds(account->user_ns + account->system_ns);
	}
	if (e->elapsed_ns <= 0)
		return NAN;
	at_once = fmax((waited + ran) / sn_seconds(e->elapsed_ns), 1);
	if (e->others_share < 0)
		return at_once < 1.5 ? waited / at_once : NAN;
	return e->others_share < 0.02 ? 0 : waited / at_once;
}

static uint64_t text_hash(const char *text)
{
	return sn_hash_bytes(text, strlen(text));
}

/* Variables of the shell that say nothing of the run. */
static bool is_of_shell(const char *name)
{
	static const char *const names[] = { "_",    "PWD",   "OLDPWD",	 "SHLVL",
					     "TERM", "LINES", "COLUMNS", "WINDOWID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return sn_starts_with(name, "SSH_");
}

/* The program counts by its build id, not by its path. In sums, as the order of modules and
 * variables may vary. */
static uint64_t identity_of(const struct sn_experiment *e)
{
	const char *rest = strchr(e->arguments, ' ');
	uint64_t identity =
		text_hash(e->host) + 3 * text_hash(e->kernel) + 5 * text_hash(rest ? rest : "");

	for (size_t m = 0; m < e->modules.count; m++)
		if (e->modules.items[m].kind == SN_MODULE_FILE)
			identity += text_hash(e->modules.items[m].build_id);
	for (size_t v = 0; v < e->environment.count; v++)
		if (!is_of_shell(e->environment.items[v].name))
			identity += sn_hash_u64(text_hash(e->environment.items[v].name) +
						3 * text_hash(e->environment.items[v].value));
	return identity;
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
	char *path;

	memset(run, 0, sizeof(*run));
	run->name = copied(run, p->experiment->name);
	run->label = copied(run, p->experiment->label);
	run->program = copied(run, p->experiment->program);
	run->arguments = copied(run, p->experiment->arguments);
	run->host = copied(run, p->experiment->host);
	run->cpu_model = copied(run, p->experiment->cpu_model);
	run->kernel = copied(run, p->experiment->kernel);
	run->version = copied(run, p->experiment->version);
	path = realpath(p->experiment->path, NULL);
	run->path = copied(run, path ? path : p->experiment->path);
	free(path);
	run->started_realtime_ns = p->experiment->started_realtime_ns;
	run->boot = copied(run, p->experiment->boot);
	run->started_monotonic_ns = p->experiment->started_monotonic_ns;
	if (p->experiment->campaign) {
		run->campaign = copied(run, p->experiment->campaign->campaign);
		run->configuration = copied(run, p->experiment->campaign->configuration);
		run->block = p->experiment->campaign->block;
		run->position = p->experiment->campaign->position;
		run->is_in_blocks = p->experiment->campaign->is_in_blocks;
	}
	run->identity = identity_of(p->experiment);
	run->waited_s = p->is_filtered ? NAN : waited_of(p->experiment);
	run->others_share = p->experiment->others_share < 0 ? NAN : p->experiment->others_share;
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
	size_t last_run;		  /* that it was met in, + 1 */
	bool is_merged;			  /* into another row */
	const struct aligned *hypothesis; /* whose verdict it takes: of an only loop its function */
};

struct builder {
	struct sn_comparison *comparison;
	size_t runs;
	const struct sn_ranges *ranges;
	struct sn_pairs pairs; /* count 0: none */
	struct sn_interner keys;
	SN_VEC(struct aligned) rows; /* by key number */
};

static uint32_t key_of(struct builder *b, const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	sn_compare_key_add(entry, &key);
	number = sn_intern(&b->keys, key.chars, key.length);
	sn_text_free(&key);
	return number;
}

static void entry_add(struct builder *b, const struct sn_compare_entry *entry, size_t run,
		      bool is_a)
{
	struct sn_compare_entry named = sn_ranges_entry(b->ranges, entry);
	uint32_t key = key_of(b, &named);
	struct aligned *row;

	if (key == b->rows.count) {
		struct aligned fresh = { .row = { .entry = named } };

		fresh.times = sn_arena_array(&b->comparison->arena, double, b->runs);
		fresh.shares = sn_arena_array(&b->comparison->arena, double, b->runs);
		fresh.variances = sn_arena_array(&b->comparison->arena, double, b->runs);
		sn_vec_push(&b->rows, fresh);
	}
	row = &b->rows.items[key];
	if (row->last_run != run + 1) {
		row->last_run = run + 1;
		*(is_a ? &row->a_seen : &row->b_seen) += 1;
	}
	row->times[run] += entry->cpu_s;
	row->shares[run] += entry->share;
	row->variances[run] += entry->deviation_s * entry->deviation_s;
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

/* Joins loops of one function and depth that only one side has. If both sides have equally many,
 * lines have moved, and the loops belong together in order. */
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

static struct sn_interval mean_interval(struct sn_moments m)
{
	double half = m.df >= 1 ? sn_student_t(0.05, m.df) * sqrt(m.variance) : NAN;

	return (struct sn_interval){ m.mean - half, m.mean + half };
}

static bool is_in_all(const struct aligned *aligned, size_t runs)
{
	bool is = true;

	for (size_t i = 0; i < runs; i++)
		is &= aligned->times[i] > 0;
	return is;
}

/* Pair by pair where runs are of one campaign's blocks; else by Welch's test. Of trimmed means, but for rows that a run
 * lacks: those would be 0. */
static void row_test(struct builder *b, const struct aligned *aligned, struct sn_compare_row *row)
{
	struct sn_moments (*moments_of)(const double *, const double *, size_t) =
		is_in_all(aligned, b->runs) ? sn_moments_trimmed : sn_moments_of;
	size_t a_count = b->comparison->a_count;
	double variance, half;
	struct sn_moments d;

	if (!b->pairs.count) {
		struct sn_moments a = moments_of(aligned->times, aligned->variances, a_count);
		struct sn_moments z =
			moments_of(aligned->times + a_count, aligned->variances + a_count,
				   b->comparison->b_count);

		variance = a.variance + z.variance;
		row->p = sn_welch_p(a, z, &row->difference_interval);
		row->difference_s = z.mean - a.mean;
		row->base_s = a.mean;
		row->error_s = sqrt(variance);
		row->df = variance > 0 ? variance * variance /
						 (a.variance * a.variance / a.df +
						  z.variance * z.variance / z.df)
				       : a.df + z.df;
		return;
	}
	d = sn_pairs_moments(&b->pairs, aligned->times, aligned->variances, b->comparison->a_count);
	row->difference_s = d.mean;
	row->base_s = sn_pairs_base(&b->pairs, aligned->times, b->comparison->a_count);
	row->error_s = sqrt(d.variance);
	row->df = d.df;
	row->p = d.variance > 0 ? sn_student_p(d.mean / row->error_s, d.df) : d.mean == 0;
	half = sn_student_t(0.05, d.df) * row->error_s;
	row->difference_interval = (struct sn_interval){ d.mean - half, d.mean + half };
}

static void row_finish(struct builder *b, struct aligned *aligned)
{
	struct sn_comparison *c = b->comparison;
	struct sn_compare_row *row = &aligned->row;
	struct sn_moments a = sn_moments_of(aligned->times, aligned->variances, c->a_count);
	struct sn_moments z = sn_moments_of(aligned->times + c->a_count,
					    aligned->variances + c->a_count, c->b_count);

	row->a_runs = aligned->a_seen;
	row->b_runs = aligned->b_seen;
	row->a_cpu_s = a.mean;
	row->b_cpu_s = z.mean;
	row->a_share = sn_mean(aligned->shares, c->a_count);
	row->b_share = sn_mean(aligned->shares + c->a_count, c->b_count);
	row->difference_s = z.mean - a.mean;
	row->base_s = a.mean;
	row->p = row->error_s = row->df = NAN;
	row->difference_interval = (struct sn_interval){ NAN, NAN };
	row->a_interval = mean_interval(a);
	row->b_interval = mean_interval(z);
	if (c->a_count >= SN_COMPARE_RUNS_MIN && c->b_count >= SN_COMPARE_RUNS_MIN)
		row_test(b, aligned, row);
	if (row->entry.kind != SN_COMPARE_TOTAL &&
	    !(fmax(row->a_share, row->b_share) >= c->smallest_share)) {
		row->verdict = SN_VERDICT_SMALL;
		row->p = NAN;
	} else {
		row->verdict = isnan(row->p) ? SN_VERDICT_REPEAT : SN_VERDICT_SAME;
	}
}

static bool is_of(const struct sn_compare_entry *entry, enum sn_compare_kind kind,
		  const struct sn_compare_entry *of)
{
	return entry->kind == kind && !strcmp(entry->function, of->function) &&
	       !strcmp(entry->module, of->module);
}

/* A function whose only loop has nearly all of its time is one with it: they rise and fall
 * together. */
static const struct aligned *function_of_only_loop(const struct builder *b,
						   const struct aligned *loop)
{
	static const double NEARLY_ALL = 0.8;
	const struct aligned *found = NULL;

	for (size_t i = 0; i < b->rows.count; i++) {
		const struct aligned *other = &b->rows.items[i];

		if (isnan(other->row.p) || other->is_merged || other == loop)
			continue;
		if (is_of(&other->row.entry, SN_COMPARE_LOOP, &loop->row.entry))
			return NULL;
		if (is_of(&other->row.entry, SN_COMPARE_FUNCTION, &loop->row.entry) &&
		    loop->row.a_cpu_s >= NEARLY_ALL * other->row.a_cpu_s &&
		    loop->row.b_cpu_s >= NEARLY_ALL * other->row.b_cpu_s)
			found = other;
	}
	return found;
}

static void only_loops_find(struct builder *b)
{
	for (size_t i = 0; i < b->rows.count; i++) {
		struct aligned *row = &b->rows.items[i];

		if (row->row.entry.kind == SN_COMPARE_LOOP && !isnan(row->row.p) && !row->is_merged)
			row->hypothesis = function_of_only_loop(b, row);
		row->row.is_only_loop = row->hypothesis != NULL;
	}
}

static enum sn_verdict verdict_of(struct builder *b, const struct aligned *a,
				  const struct sn_conditions *conditions)
{
	const struct sn_compare_row *row = &a->row;
	struct sn_comparison *c = b->comparison;
	bool is_total = row->entry.kind == SN_COMPARE_TOTAL;
	bool is_elapsed = is_total && !strcmp(row->entry.function, "elapsed");

	if (!c->is_paired &&
	    sn_is_drift(conditions, is_elapsed,
			c->false_alarm_rate * sn_holm_share(c->tested_of, is_total), a->times,
			a->variances, &c->arena))
		return SN_VERDICT_DRIFT;
	return row->difference_s > 0 ? SN_VERDICT_SLOWER : SN_VERDICT_FASTER;
}

static void verdicts_find(struct builder *b, const struct sn_conditions *conditions)
{
	struct sn_comparison *c = b->comparison;
	SN_VEC(struct sn_hypothesis) tests = { 0 };
	size_t rejected;

	for (size_t i = 0; i < b->rows.count; i++) {
		struct aligned *a = &b->rows.items[i];
		struct sn_hypothesis test = { a->row.p, a->row.entry.kind == SN_COMPARE_TOTAL, 0,
					      a };

		if (isnan(test.p) || a->is_merged || a->hypothesis)
			continue;
		sn_vec_push(&tests, test);
		*(test.is_total ? &c->tested_of.totals : &c->tested_of.others) += 1;
	}
	c->tested = tests.count;
	rejected = sn_holm_reject(tests.items, c->tested_of, c->false_alarm_rate);
	for (size_t i = 0; i < rejected; i++) {
		struct aligned *a = tests.items[i].row;

		a->row.verdict = verdict_of(b, a, conditions);
		*(a->row.verdict == SN_VERDICT_DRIFT ? &c->drifted : &c->findings) += 1;
	}
	for (size_t i = 0; i < b->rows.count; i++)
		if (b->rows.items[i].hypothesis)
			b->rows.items[i].row.verdict = b->rows.items[i].hypothesis->row.verdict;
	if (!c->tested)
		c->false_alarm_rate = NAN;
	sn_vec_free(&tests);
}

const char *sn_comparison_verdict(const struct sn_comparison *c)
{
	if (isnan(c->false_alarm_rate))
		return "repeat";
	return c->findings ? "different" : c->drifted ? "drift" : "same";
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
	struct sn_ranges own = { 0 };
	struct builder builder = { .comparison = c,
				   .runs = a_count + b_count,
				   .ranges = options && options->ranges ? options->ranges : &own };
	struct sn_conditions conditions;

	c->a_count = a_count;
	c->b_count = b_count;
	c->false_alarm_rate =
		options && options->false_alarm_rate > 0 ? options->false_alarm_rate : 0.05;
	c->smallest_share =
		options && options->smallest_share > 0 ? options->smallest_share : 0.005;
	for (size_t r = 0; builder.ranges == &own && r < a_count + b_count; r++)
		sn_ranges_add(&own, r < a_count ? &a[r] : &b[r - a_count]);
	if (builder.ranges == &own)
		sn_ranges_join(&own);
	for (size_t r = 0; r < a_count; r++)
		for (size_t i = 0; i < a[r].entries.count; i++)
			entry_add(&builder, &a[r].entries.items[i], r, true);
	for (size_t r = 0; r < b_count; r++)
		for (size_t i = 0; i < b[r].entries.count; i++)
			entry_add(&builder, &b[r].entries.items[i], a_count + r, false);
	moved_loops_join(&builder);
	c->is_paired = sn_pairs_find(a, a_count, b, b_count, &c->arena, &builder.pairs);
	for (size_t i = 0; i < builder.rows.count; i++)
		row_finish(&builder, &builder.rows.items[i]);
	only_loops_find(&builder);
	conditions = sn_conditions_of(a, a_count, b, b_count, &c->arena);
	verdicts_find(&builder, &conditions);
	for (size_t i = 0; i < builder.rows.count; i++)
		if (!builder.rows.items[i].is_merged)
			sn_vec_push(&c->rows, builder.rows.items[i].row);
	if (c->drifted)
		sn_vec_push(&c->warnings, sn_conditions_sentence(&conditions, &c->arena));
	sn_compare_warn(c, a, b, options);
	if (c->rows.count)
		qsort(c->rows.items, c->rows.count, sizeof(*c->rows.items), rows_by_difference);
	sn_vec_free(&builder.rows);
	sn_interner_free(&builder.keys);
	sn_ranges_free(&own);
	return c;
}

void sn_comparison_free(struct sn_comparison *comparison)
{
	if (!comparison)
		return;
	sn_vec_free(&comparison->rows);
	sn_vec_free(&comparison->warnings);
	sn_arena_free(&comparison->arena);
	free(comparison);
}
