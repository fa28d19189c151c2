/*
 * Joins the parts of all runs by their keys, forms means, and sets each configuration against the
 * reference of its series.
 */
#include "campaign/scaling/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "compare/entry.h"
#include "compare/ranges.h"

static const double SMALLEST_SHARE = 0.005;

/* A thing whose scaling is asked for, with its figures in every member. */
struct subject {
	enum sn_scaling_kind kind;
	const char *key;
	const struct sn_scaling_part
		*part; /* of the first run that has it; NULL: the application */
	const struct sn_compare_entry *entry; /* the part's, with the lines of all runs */
	double *time_s, *cpu_s;		      /* by member */
	const char **loops;		      /* by member: id in that build; NULL: it has none */
	double largest_share, cpu_sum_s;
};

struct builder {
	struct sn_scaling *scaling;
	const struct sn_scaling_member *members;
	size_t member_count;
	const struct sn_scaling_configuration *configurations;
	size_t configuration_count;
	const struct sn_scaling_options *options;
	uint32_t *reference_of; /* by configuration */
	uint32_t *repeats;	/* by configuration */
	double *workers;	/* by configuration; 0: no run */
	uint32_t *series_of;	/* by configuration: series are numbered as the plan has them */
	struct sn_interner keys;
	struct sn_ranges ranges; /* compilers give one loop other lines */
	SN_VEC(struct subject) subjects;
};

/* ---- subjects ---- */

static struct subject *subject_of(struct builder *b, const struct sn_scaling_part *part,
				  const char *key)
{
	uint32_t number = sn_intern_string(&b->keys, key);

	if (number == b->subjects.count) {
		struct subject fresh = { .kind = part ? part->kind : SN_SCALING_APPLICATION,
					 .key = key,
					 .part = part };

		fresh.time_s = sn_arena_array(&b->scaling->arena, double, b->member_count + 1);
		fresh.cpu_s = sn_arena_array(&b->scaling->arena, double, b->member_count + 1);
		fresh.loops = sn_arena_array(&b->scaling->arena, const char *, b->member_count + 1);
		sn_vec_push(&b->subjects, fresh);
	}
	return &b->subjects.items[number];
}

/* Lines stay as the first configuration has them. */
static void ranges_fill(struct builder *b)
{
	for (uint32_t c = 0; c < b->configuration_count; c++)
		for (size_t m = 0; m < b->member_count; m++) {
			const struct sn_scaling_run *run = &b->members[m].run;

			for (size_t p = 0; b->members[m].configuration == c && p < run->parts.count;
			     p++)
				if (run->parts.items[p].kind == SN_SCALING_LOOP)
					sn_ranges_add_entry(&b->ranges, &run->parts.items[p].entry);
		}
	sn_ranges_join(&b->ranges);
}

/* The subject of a part: of a loop that of the range of lines which it is. */
static struct subject *subject_of_part(struct builder *b, const struct sn_scaling_part *part)
{
	struct sn_compare_entry named = part->entry, *entry;
	struct sn_text key = { 0 };
	struct subject *subject;
	const char *chars = part->key;

	if (part->kind == SN_SCALING_LOOP && part->entry.line_first) {
		named = sn_ranges_entry(&b->ranges, &part->entry);
		sn_text_addf(&key, "%d\n", (int)part->kind);
		sn_compare_key_add(&named, &key);
		chars = sn_arena_strdup(&b->scaling->arena, key.chars);
		sn_text_free(&key);
	}
	subject = subject_of(b, part, chars);
	if (!subject->entry) {
		entry = sn_arena_array(&b->scaling->arena, struct sn_compare_entry, 1);
		*entry = named;
		subject->entry = entry;
	}
	return subject;
}

static void subjects_fill(struct builder *b)
{
	ranges_fill(b);
	for (size_t m = 0; m < b->member_count; m++) {
		const struct sn_scaling_run *run = &b->members[m].run;
		struct subject *subject = subject_of(b, NULL, "application");

		subject->time_s[m] = run->elapsed_s;
		subject->cpu_s[m] = run->cpu_s;
		subject->largest_share = 1;
		for (size_t p = 0; p < run->parts.count; p++) {
			const struct sn_scaling_part *part = &run->parts.items[p];

			subject = subject_of_part(b, part);
			if (!subject->loops[m])
				subject->loops[m] = part->loop;
			subject->time_s[m] += part->busiest_s;
			subject->cpu_s[m] += part->cpu_s;
			subject->cpu_sum_s += part->cpu_s;
			if (run->cpu_s > 0)
				subject->largest_share = fmax(subject->largest_share,
							      subject->cpu_s[m] / run->cpu_s);
		}
	}
}

static int subjects_compare(const void *left, const void *right)
{
	static const int order[SN_SCALING_KINDS] = { [SN_SCALING_APPLICATION] = 0,
						     [SN_SCALING_CATEGORY] = 1,
						     [SN_SCALING_LOOP] = 2,
						     [SN_SCALING_FUNCTION] = 3 };
	const struct subject *x = left, *y = right;

	if (x->kind != y->kind)
		return order[x->kind] - order[y->kind];
	if (x->cpu_sum_s != y->cpu_sum_s)
		return x->cpu_sum_s > y->cpu_sum_s ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* ---- means ---- */

static double mean_of(const struct builder *b, const double *values, uint32_t configuration)
{
	double sum = 0;

	for (size_t m = 0; m < b->member_count; m++)
		if (b->members[m].configuration == configuration)
			sum += values[m];
	return sum / b->repeats[configuration];
}

static double run_mean(const struct builder *b, uint32_t configuration,
		       double (*value)(const struct sn_scaling_run *))
{
	double sum = 0;

	for (size_t m = 0; m < b->member_count; m++)
		if (b->members[m].configuration == configuration)
			sum += value(&b->members[m].run);
	return sum / b->repeats[configuration];
}

/* Of the values of one configuration, with their blocks. */
struct sample {
	double *values;
	uint32_t *blocks;
	size_t count;
};

static struct sample sample_of(const struct builder *b, const double *values,
			       uint32_t configuration)
{
	struct sample s = { sn_alloc_zeroed(b->member_count + 1, sizeof(double)),
			    sn_alloc_zeroed(b->member_count + 1, sizeof(uint32_t)), 0 };

	for (size_t m = 0; m < b->member_count; m++) {
		if (b->members[m].configuration != configuration)
			continue;
		s.values[s.count] = values[m];
		s.blocks[s.count++] = b->members[m].block;
	}
	return s;
}

static void sample_free(struct sample *s)
{
	free(s->values);
	free(s->blocks);
}

/* The half width of the 95 % interval of log(a/b), pair by pair. NaN: fewer than two pairs. */
static double half_of_pairs(const struct sample *a, const struct sample *b)
{
	double *logs = sn_alloc_zeroed(a->count + 1, sizeof(*logs)), half = NAN;
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++)
			if (a->blocks[i] == b->blocks[k] && a->values[i] > 0 && b->values[k] > 0)
				logs[count++] = log(a->values[i] / b->values[k]);
	if (count > 1)
		half = sn_student_t(0.05, (double)count - 1) * sn_deviation(logs, count) /
		       sqrt((double)count);
	free(logs);
	return half;
}

static double log_variance(const struct sample *s, double *df)
{
	double mean = sn_mean(s->values, s->count), deviation = sn_deviation(s->values, s->count);

	*df = (double)s->count - 1;
	return mean > 0 ? deviation * deviation / (mean * mean) / (double)s->count : NAN;
}

/* The same where runs have no blocks in common (Welch 1947, Satterthwaite 1946). */
static double half_of_sets(const struct sample *a, const struct sample *b)
{
	double df_a, df_b, v_a = log_variance(a, &df_a), v_b = log_variance(b, &df_b), df;

	if (df_a < 1 || df_b < 1 || isnan(v_a + v_b))
		return NAN;
	if (!(v_a + v_b > 0))
		return 0;
	df = (v_a + v_b) * (v_a + v_b) / (v_a * v_a / df_a + v_b * v_b / df_b);
	return sn_student_t(0.05, df) * sqrt(v_a + v_b);
}

static struct sn_interval efficiency_interval(const struct builder *b, const struct subject *s,
					      const struct sn_scaling_row *row)
{
	struct sample here = sample_of(b, s->time_s, row->configuration);
	struct sample there = sample_of(b, s->time_s, row->reference);
	double half = NAN;

	if (row->configuration == row->reference)
		half = 0;
	else if (b->options->is_in_blocks)
		half = half_of_pairs(&there, &here);
	if (isnan(half) && row->configuration != row->reference)
		half = half_of_sets(&there, &here);
	sample_free(&here);
	sample_free(&there);
	return (struct sn_interval){ row->efficiency * exp(-half), row->efficiency * exp(half) };
}

static void time_interval(const struct builder *b, const struct subject *s,
			  struct sn_scaling_row *row)
{
	struct sample here = sample_of(b, s->time_s, row->configuration);
	double half = here.count > 1 ? sn_student_t(0.05, (double)here.count - 1) *
					       sn_deviation(here.values, here.count) /
					       sqrt((double)here.count)
				     : NAN;

	row->time_low_s = row->time_s - half;
	row->time_high_s = row->time_s + half;
	sample_free(&here);
}

/* ---- factors ---- */

static double useful_of(const struct sn_scaling_run *run)
{
	return run->useful_s;
}

static double busiest_of(const struct sn_scaling_run *run)
{
	return run->useful_busiest_s;
}

static double spin_of(const struct sn_scaling_run *run)
{
	return run->spin_s;
}

static double turns_of(const struct sn_scaling_run *run)
{
	return run->turns_s;
}

static double system_of(const struct sn_scaling_run *run)
{
	return run->system_s;
}

static double waited_of(const struct sn_scaling_run *run)
{
	return run->wait_cpu_s;
}

static double busiest_wait_of(const struct sn_scaling_run *run)
{
	return run->busiest_wait_s;
}

static double idle_of(const struct sn_scaling_run *run)
{
	return run->idle_workers;
}

/* Of the busiest worker's time, which is the elapsed time, useful work lost a part to something else:
 * how much of that part is waiting for CPUs? Both against the reference. */
static double waiting_part_of(const struct builder *b, uint32_t c, uint32_t r, double elapsed,
			      double elapsed_r)
{
	double lost = run_mean(b, r, busiest_of) / elapsed_r - run_mean(b, c, busiest_of) / elapsed;
	double waited = run_mean(b, c, busiest_wait_of) / elapsed -
			run_mean(b, r, busiest_wait_of) / elapsed_r;

	return lost > 0 && waited > 0 ? fmin(waited / lost, 1) : 0;
}

/* Threads that no worker was counted for may have waited longer than the workers were there. */
static double share_of(double part, double all)
{
	double share = part / all;

	return share > 1 ? 1 : share;
}

/* POP's tree: with useful time U of all and M of the busiest worker, of n workers in elapsed time T, load
 * balance is U/(n M), communication M/T, computation U_ref/U (weak: per worker), each against the
 * reference. */
static void application_factors(const struct builder *b, struct sn_scaling_row *row)
{
	uint32_t c = row->configuration, r = row->reference;
	double n = b->workers[c], n_r = b->workers[r];
	double u = run_mean(b, c, useful_of), u_r = run_mean(b, r, useful_of);
	double m = run_mean(b, c, busiest_of), m_r = run_mean(b, r, busiest_of);
	double elapsed = row->time_s, elapsed_r = mean_of(b, b->subjects.items[0].time_s, r);
	double all = n * elapsed, waited = run_mean(b, c, waited_of);

	row->load_balance = (u / (n * m)) / (u_r / (n_r * m_r));
	row->communication = (m / elapsed) / (m_r / elapsed_r);
	row->computation = b->options->is_weak ? (u_r / n_r) / (u / n) : u_r / u;
	row->spin_share = share_of(run_mean(b, c, spin_of), all);
	row->system_share = share_of(run_mean(b, c, system_of), all);
	row->wait_cpu_share = share_of(waited, all);
	row->blocked_share = fmax(1 - (row->cpu_s + waited) / all, 0);
	row->turns_share = run_mean(b, c, turns_of) / row->cpu_s;
	for (size_t k = 0; k < b->member_count; k++)
		if (b->members[k].configuration == c && !row->turns)
			row->turns = b->members[k].run.turns;
	row->idle_workers = run_mean(b, c, idle_of);
	row->waiting_part = waiting_part_of(b, c, r, elapsed, elapsed_r);
}

static void row_set(const struct builder *b, const struct subject *s, struct sn_scaling_row *row)
{
	uint32_t c = row->configuration, r = row->reference;
	double n = b->workers[c], n_r = b->workers[r];
	double time_r = mean_of(b, s->time_s, r), cpu_r = mean_of(b, s->cpu_s, r);
	double balance, balance_r;

	row->workers = n;
	row->repeats = b->repeats[c];
	row->time_s = mean_of(b, s->time_s, c);
	row->cpu_s = mean_of(b, s->cpu_s, c);
	row->member_time_s = s->time_s;
	row->member_cpu_s = s->cpu_s;
	row->share = row->cpu_s / mean_of(b, b->subjects.items[0].cpu_s, c);
	row->ideal_speedup = b->options->is_weak ? 1 : n / n_r;
	row->speedup = row->time_s > 0 && time_r > 0 ? time_r / row->time_s : NAN;
	row->efficiency = row->speedup / row->ideal_speedup;
	row->work = b->options->is_weak ? (cpu_r / n_r) / (row->cpu_s / n) : cpu_r / row->cpu_s;
	balance = row->cpu_s / n / row->time_s;
	balance_r = cpu_r / n_r / time_r;
	row->balance = balance / balance_r;
	row->load_balance = row->communication = row->computation = NAN;
	row->spin_share = row->blocked_share = row->wait_cpu_share = row->system_share = NAN;
	row->idle_workers = row->waiting_part = NAN;
	row->reference_wait_share = share_of(run_mean(b, r, waited_of),
					     n_r * mean_of(b, b->subjects.items[0].time_s, r));
	if (s->kind == SN_SCALING_APPLICATION)
		application_factors(b, row);
	row->interval = efficiency_interval(b, s, row);
	time_interval(b, s, row);
}

/* By configuration, the number of its series; the caller frees. */
static uint32_t *series_number(const struct sn_scaling_configuration *configurations, size_t count)
{
	uint32_t *out = sn_alloc_zeroed(count + 1, sizeof(*out));
	struct sn_interner names = { 0 };

	for (size_t c = 0; c < count; c++)
		out[c] = sn_intern_string(&names, configurations[c].series);
	sn_interner_free(&names);
	return out;
}

static int by_workers(const void *left, const void *right, void *context)
{
	const struct builder *b = context;
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;

	if (b->series_of[x] != b->series_of[y])
		return b->series_of[x] < b->series_of[y] ? -1 : 1;
	if (b->workers[x] != b->workers[y])
		return b->workers[x] < b->workers[y] ? -1 : 1;
	return (x > y) - (x < y);
}

static const char *name_of(const struct subject *s)
{
	return s->entry ? s->entry->name : "application";
}

/* A loop's id is that of a build: each configuration has its own. */
static const char *loop_of(const struct builder *b, const struct subject *s, uint32_t configuration)
{
	for (size_t m = 0; m < b->member_count; m++)
		if (b->members[m].configuration == configuration && s->loops[m])
			return s->loops[m];
	return s->part ? s->part->loop : NULL;
}

static void rows_make(struct builder *b)
{
	uint32_t *order = sn_alloc_zeroed(b->configuration_count + 1, sizeof(*order));
	size_t count = 0;
	double smallest =
		b->options->smallest_share > 0 ? b->options->smallest_share : SMALLEST_SHARE;

	for (uint32_t c = 0; c < b->configuration_count; c++)
		if (b->repeats[c])
			order[count++] = c;
	qsort_r(order, count, sizeof(*order), by_workers, b);
	for (size_t i = 0; i < b->subjects.count; i++) {
		const struct subject *s = &b->subjects.items[i];

		for (size_t k = 0; k < count && s->largest_share >= smallest; k++) {
			struct sn_scaling_row row = { .kind = s->kind,
						      .key = s->key,
						      .entry = s->entry,
						      .name = name_of(s),
						      .loop = loop_of(b, s, order[k]),
						      .configuration = order[k],
						      .reference = b->reference_of[order[k]] };

			row_set(b, s, &row);
			sn_vec_push(&b->scaling->rows, row);
		}
	}
	free(order);
}

/* ---- fits ---- */

static void fit_add(struct builder *b, const struct subject *s, uint32_t reference)
{
	const char *series = b->configurations[reference].series;
	struct sn_fit_point *points = sn_alloc_zeroed(b->member_count + 1, sizeof(*points));
	struct sn_scaling_fit fit = { .kind = s->kind,
				      .key = s->key,
				      .name = name_of(s),
				      .loop = s->part ? s->part->loop : NULL,
				      .series = series,
				      .share = s->largest_share };
	size_t count = 0;

	for (size_t m = 0; m < b->member_count; m++) {
		uint32_t c = b->members[m].configuration;

		if (!strcmp(b->configurations[c].series, series) && s->time_s[m] > 0)
			points[count++] = (struct sn_fit_point){ b->workers[c], s->time_s[m] };
	}
	sn_fit_scaling(points, count, b->options->is_weak, b->workers[reference], &fit.fit);
	sn_vec_push(&b->scaling->fits, fit);
	free(points);
}

static void fits_make(struct builder *b)
{
	double smallest =
		b->options->smallest_share > 0 ? b->options->smallest_share : SMALLEST_SHARE;

	for (size_t i = 0; i < b->subjects.count; i++) {
		const struct subject *s = &b->subjects.items[i];

		for (uint32_t c = 0; c < b->configuration_count; c++)
			if (b->repeats[c] && b->reference_of[c] == c &&
			    s->largest_share >= smallest)
				fit_add(b, s, c);
	}
}

/* ---- the reference ---- */

static bool is_better(const struct builder *b, uint32_t c, uint32_t best)
{
	const double *elapsed = b->subjects.items[0].time_s;

	if (best == UINT32_MAX)
		return true;
	if (b->options->reference && !strcmp(b->options->reference, "fastest"))
		return mean_of(b, elapsed, c) < mean_of(b, elapsed, best);
	return b->workers[c] < b->workers[best];
}

static sn_status references_find(struct builder *b, struct sn_error *err)
{
	const char *named = b->options->reference;
	bool is_named = named && strcmp(named, "fastest") != 0, found = false;

	for (uint32_t c = 0; c < b->configuration_count; c++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t k = 0; k < b->configuration_count; k++) {
			if (!b->repeats[k] ||
			    strcmp(b->configurations[k].series, b->configurations[c].series) != 0)
				continue;
			if (is_named && !strcmp(b->configurations[k].name, named)) {
				best = k;
				found = true;
				break;
			}
			if (is_better(b, k, best))
				best = k;
		}
		b->reference_of[c] = best;
	}
	if (is_named && !found)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"no configuration with runs is called '%s'; 'sonde campaign status' "
			"lists them",
			named);
	return SN_OK;
}

/* The first run of a series and the first one that ran another program. */
static void programs_compare(struct builder *b)
{
	const struct sn_scaling_member **first =
		sn_alloc_zeroed(b->configuration_count + 1, sizeof(*first)); /* by series */

	for (size_t m = 0; m < b->member_count && !b->scaling->mixed; m++) {
		const struct sn_scaling_member *here = &b->members[m];
		const struct sn_scaling_member **of = &first[b->series_of[here->configuration]];

		if (!here->run.program || !*here->run.program)
			continue;
		if (!*of)
			*of = here;
		if (strcmp((*of)->run.program, here->run.program) != 0)
			b->scaling->mixed = sn_arena_printf(
				&b->scaling->arena,
				"Runs of two programs are set against each other: a run of '%s' ran "
				"%s, one of '%s' %s. What is said of their scaling is of no use.",
				b->configurations[(*of)->configuration].name, (*of)->run.program,
				b->configurations[here->configuration].name, here->run.program);
	}
	free(first);
}

static void configurations_count(struct builder *b)
{
	for (size_t m = 0; m < b->member_count; m++) {
		b->repeats[b->members[m].configuration]++;
		b->workers[b->members[m].configuration] = b->members[m].run.workers;
	}
}

sn_status sn_scaling_new(const struct sn_scaling_member *members, size_t count,
			 const struct sn_scaling_configuration *configurations,
			 size_t configuration_count, const struct sn_scaling_options *options,
			 struct sn_scaling **out, struct sn_error *err)
{
	struct builder b = { .members = members,
			     .member_count = count,
			     .configurations = configurations,
			     .configuration_count = configuration_count,
			     .options = options };
	sn_status status;

	if (!count)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"no run of the campaign is done: 'sonde campaign status' says why");
	b.scaling = sn_alloc_zeroed(1, sizeof(*b.scaling));
	b.scaling->is_weak = options->is_weak;
	b.reference_of = sn_alloc_zeroed(configuration_count + 1, sizeof(*b.reference_of));
	b.repeats = sn_alloc_zeroed(configuration_count + 1, sizeof(*b.repeats));
	b.workers = sn_alloc_zeroed(configuration_count + 1, sizeof(*b.workers));
	b.series_of = series_number(configurations, configuration_count);
	configurations_count(&b);
	programs_compare(&b);
	subjects_fill(&b);
	status = references_find(&b, err);
	if (status == SN_OK) {
		qsort(b.subjects.items, b.subjects.count, sizeof(*b.subjects.items),
		      subjects_compare);
		rows_make(&b);
		fits_make(&b);
		*out = b.scaling;
		b.scaling = NULL;
	}
	sn_scaling_free(b.scaling);
	free(b.reference_of);
	free(b.repeats);
	free(b.workers);
	free(b.series_of);
	sn_vec_free(&b.subjects);
	sn_interner_free(&b.keys);
	sn_ranges_free(&b.ranges);
	return status;
}

void sn_scaling_free(struct sn_scaling *scaling)
{
	if (!scaling)
		return;
	sn_vec_free(&scaling->rows);
	sn_vec_free(&scaling->fits);
	sn_arena_free(&scaling->arena);
	free(scaling);
}
