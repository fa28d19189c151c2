/*
 * Chooses the length of intervals by how many samples they would hold, then shares the time of
 * every sample and wait among the intervals it lies in.
 */
#include "phases/intervals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"
#include "phases/application.h"

/* Median of samples with which a length will do if others took the CPU: 20 tell a share of a half
 * from one of a fifth in 99 of 100 intervals. */
enum { SAMPLES_LEAST = 20, AHEAD = 16 /* samples to ask memory for */ };

/* When a process was there. */
struct span {
	int64_t start_ns, end_ns;
	bool is_used;
};

struct builder {
	struct sn_intervals *out;
	const struct sn_profile *profile;
	const struct sn_phase_paths *paths;
	const struct sn_experiment *experiment;
	struct span *spans;
	SN_VEC(size_t) counted; /* samples of the experiment that count */

	/* while cells are made */
	bool is_filling;      /* else they are counted */
	uint32_t *last_stack; /* by row: of its last cell */
	size_t *next_cell;    /* by row: one after its last cell; while counting: how many */
};

static uint32_t stack_known(const struct builder *b, uint32_t stack)
{
	uint32_t count = b->profile->program->stack_count;

	return stack < count ? stack : count;
}

/* Time left at a thread's exit is no observation of anything in its interval. */
static bool sample_counts(const struct builder *b, const struct sn_sample *sample)
{
	return !(sample->flags & SN_SAMPLE_REMAINDER) && sample->time_ns >= 0 &&
	       !b->paths->is_between[stack_known(b, sample->stack)] &&
	       sn_profile_has_sample(b->profile, sample) &&
	       b->experiment->threads.items[sample->thread].process <
		       b->experiment->processes.count &&
	       b->spans[b->experiment->threads.items[sample->thread].process].is_used;
}

/* Helpers that mostly sleep say nothing about the program. */
static bool wait_counts(const struct builder *b, const struct sn_wait *wait)
{
	return wait->thread < b->experiment->threads.count &&
	       b->profile->is_at_work[wait->thread] &&
	       !b->paths->is_between[stack_known(b, wait->stack)] &&
	       b->experiment->threads.items[wait->thread].process <
		       b->experiment->processes.count &&
	       b->spans[b->experiment->threads.items[wait->thread].process].is_used;
}

/* ---- which processes, from when to when ---- */

static void spans_choose(struct builder *b)
{
	uint8_t *is_used = sn_application_processes(b->profile);

	for (size_t p = 0; p < b->experiment->processes.count; p++)
		b->spans[p].is_used = is_used[p];
	free(is_used);
}

static void span_widen(struct span *span, int64_t from, int64_t to)
{
	if (from < span->start_ns)
		span->start_ns = from;
	if (to > span->end_ns)
		span->end_ns = to;
}

static void spans_measure(struct builder *b)
{
	const struct sn_experiment *e = b->experiment;

	for (size_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];

		b->spans[p].start_ns = process->start_ns > 0 ? process->start_ns : 0;
		b->spans[p].end_ns = process->end_ns > 0 ? process->end_ns : 0;
	}
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (!sample_counts(b, sample))
			continue;
		sn_vec_push(&b->counted, i);
		span_widen(&b->spans[e->threads.items[sample->thread].process], sample->time_ns,
			   sample->time_ns + 1);
	}
	for (size_t p = 0; p < e->processes.count; p++) {
		struct span *span = &b->spans[p];

		if (span->start_ns < b->profile->from_ns)
			span->start_ns = b->profile->from_ns;
		if (b->profile->to_ns && span->end_ns > b->profile->to_ns)
			span->end_ns = b->profile->to_ns;
	}
}

/* ---- the length ---- */

/* The part of a wait within its process's span: its length and, in `from`, its begin. A damaged
 * length must not be walked through interval by interval. */
static uint64_t wait_clip(const struct builder *b, const struct sn_wait *wait, int64_t *from)
{
	const struct sn_experiment *e = b->experiment;
	uint64_t ns = sn_profile_wait_elapsed_ns(b->profile, wait);
	const struct span *span;
	int64_t to;

	if (!ns)
		return 0;
	span = &b->spans[e->threads.items[wait->thread].process];
	*from = wait->time_ns > b->profile->from_ns ? wait->time_ns : b->profile->from_ns;
	if (__builtin_add_overflow(*from, (int64_t)ns, &to) || to > span->end_ns)
		to = span->end_ns;
	if (*from < span->start_ns)
		*from = span->start_ns;
	return to > *from ? (uint64_t)(to - *from) : 0;
}

/* Median of samples over rows that mostly compute, at a given length. */
struct tally {
	struct sn_map rows; /* process << 32 | number -> index */
	uint64_t last_key, last_row;
	SN_VEC(uint64_t) samples;
	SN_VEC(uint64_t) cpu_ns;
	SN_VEC(uint64_t) blocked_ns;
};

static size_t tally_row(struct tally *tally, uint32_t process, int64_t number)
{
	uint64_t key = (uint64_t)process << 32 | (uint32_t)number, *slot;
	bool is_new;

	if (tally->samples.count && key == tally->last_key)
		return tally->last_row;
	slot = sn_map_put(&tally->rows, key, &is_new);
	if (is_new) {
		*slot = tally->samples.count;
		sn_vec_push(&tally->samples, 0);
		sn_vec_push(&tally->cpu_ns, 0);
		sn_vec_push(&tally->blocked_ns, 0);
	}
	tally->last_key = key;
	tally->last_row = *slot;
	return *slot;
}

/* As the rows will count it, see wait_add. */
static void tally_add_wait(const struct builder *b, struct tally *tally, const struct sn_wait *wait,
			   int64_t interval_ns)
{
	uint64_t process = b->experiment->threads.items[wait->thread].process;
	int64_t from = 0;
	uint64_t ns = wait_clip(b, wait, &from);

	for (int64_t n = from / interval_ns; ns; n++) {
		int64_t room = (n + 1) * interval_ns - from;
		uint64_t part = ns < (uint64_t)room ? ns : (uint64_t)room, *row;

		row = sn_map_get(&tally->rows, process << 32 | (uint32_t)n);
		if (row && (int64_t)part < interval_ns - interval_ns / 100)
			tally->blocked_ns.items[*row] += part;
		ns -= part;
		from += (int64_t)part;
	}
}

static void tally_fill(const struct builder *b, struct tally *tally, int64_t interval_ns)
{
	const struct sn_experiment *e = b->experiment;

	for (size_t i = 0; i < b->counted.count; i++) {
		const struct sn_sample *sample = &e->samples.items[b->counted.items[i]];
		size_t row;

		row = tally_row(tally, e->threads.items[sample->thread].process,
				sample->time_ns / interval_ns);
		tally->samples.items[row]++;
		tally->cpu_ns.items[row] += sample->cpu_ns;
	}
	for (size_t i = 0; i < e->waits.count; i++)
		if (wait_counts(b, &e->waits.items[i]))
			tally_add_wait(b, tally, &e->waits.items[i], interval_ns);
}

static double tally_median(const struct builder *b, int64_t interval_ns)
{
	struct tally tally = { 0 };
	SN_VEC(double) counts = { 0 };
	double median;

	tally_fill(b, &tally, interval_ns);
	for (size_t i = 0; i < tally.samples.count; i++)
		if (tally.cpu_ns.items[i] >= tally.blocked_ns.items[i])
			sn_vec_push(&counts, (double)tally.samples.items[i]);
	median = sn_median(counts.items, counts.count);
	sn_map_free(&tally.rows);
	sn_vec_free(&tally.samples);
	sn_vec_free(&tally.cpu_ns);
	sn_vec_free(&tally.blocked_ns);
	sn_vec_free(&counts);
	return median;
}

/* CPU time of a sample: the mean, however much of the CPU the run was given. */
static double sample_ns(const struct builder *b)
{
	const struct sn_experiment *e = b->experiment;
	double ns = 0, count = 0;

	for (size_t i = 0; i < b->counted.count; i++) {
		ns += (double)e->samples.items[b->counted.items[i]].cpu_ns;
		count++;
	}
	return count > 0 ? ns / count : NAN;
}

/* The rate decides, not how busy the machine was; but some samples there must be. */
static bool length_will_do(const struct sn_intervals *out, double sample)
{
	return out->median_samples >= SN_PHASES_SAMPLES_MIN ||
	       (out->median_samples >= SAMPLES_LEAST &&
		(double)out->interval_ns >= SN_PHASES_SAMPLES_MIN * sample);
}

const int64_t sn_interval_lengths_ns[SN_INTERVAL_LENGTHS] = { 100000000, 200000000, 500000000,
							      1000000000, 2000000000 };

static void length_choose(struct builder *b, int64_t wanted_ns)
{
	struct sn_intervals *out = b->out;
	double sample = sample_ns(b);

	out->is_auto = !wanted_ns;
	out->interval_ns = wanted_ns;
	if (wanted_ns) {
		out->median_samples = tally_median(b, wanted_ns);
		return;
	}
	for (size_t i = 0; i < SN_INTERVAL_LENGTHS; i++) {
		out->interval_ns = sn_interval_lengths_ns[i];
		out->median_samples = tally_median(b, out->interval_ns);
		if (length_will_do(out, sample))
			return;
		if (isnan(out->median_samples)) {
			out->interval_ns = 1000000000; /* nothing computes: the paper's second */
			return;
		}
	}
	out->is_short = true;
}

/* ---- rows ---- */

static sn_status rows_lay(struct builder *b, struct sn_error *err)
{
	struct sn_intervals *out = b->out;
	size_t total = 0;

	out->first_row =
		sn_alloc_zeroed(b->experiment->processes.count + 1, sizeof(*out->first_row));
	for (uint32_t p = 0; p <= b->experiment->processes.count; p++)
		out->first_row[p] = INT64_MIN;
	for (uint32_t p = 0; p < b->experiment->processes.count; p++) {
		struct span *span = &b->spans[p];
		int64_t first = span->start_ns / out->interval_ns;
		int64_t end = (span->end_ns + out->interval_ns - 1) / out->interval_ns;

		if (!span->is_used || span->end_ns <= span->start_ns)
			continue;
		if (end > UINT32_MAX || (uint64_t)(end - first) > SN_PHASES_ROWS_MAX - total)
			return sn_error_set(err, SN_ERR_RANGE,
					    "phases: more than %d intervals of %g s; choose "
					    "longer ones with --interval, or a part of the run "
					    "with --time or --process",
					    SN_PHASES_ROWS_MAX, (double)out->interval_ns / 1e9);
		out->first_row[p] = (int64_t)total - first;
		total += (size_t)(end - first);
		for (uint32_t n = (uint32_t)first; n < (uint32_t)end; n++) {
			struct sn_interval_row row = {
				.process = p,
				.number = n,
				.end_ns = (n + 1) * out->interval_ns,
			};

			if (row.end_ns > span->end_ns)
				row.end_ns = span->end_ns;
			sn_vec_push(&out->rows, row);
		}
	}
	out->row_count = total;
	sn_vec_push(&out->rows, (struct sn_interval_row){ .process = SN_NONE });
	return SN_OK;
}

size_t sn_interval_row_at(const struct sn_intervals *intervals, uint32_t process, int64_t time_ns)
{
	int64_t row;

	if (process >= intervals->profile->experiment->processes.count || time_ns < 0 ||
	    intervals->first_row[process] == INT64_MIN)
		return intervals->row_count;
	row = intervals->first_row[process] + time_ns / intervals->interval_ns;
	if (row < 0 || row >= (int64_t)intervals->row_count ||
	    intervals->rows.items[row].process != process)
		return intervals->row_count;
	return (size_t)row;
}

/* ---- cells ---- */

/* Cells come stack by stack, so a row's last one is the one that is meant, or it is time for the
 * next. NULL while they are counted. */
static struct sn_interval_cell *cell_at(struct builder *b, size_t row, uint32_t stack)
{
	if (b->last_stack[row] != stack) {
		b->last_stack[row] = stack;
		if (b->is_filling)
			b->out->cells.items[b->next_cell[row]].stack = stack;
		b->next_cell[row]++;
	}
	return b->is_filling ? &b->out->cells.items[b->next_cell[row] - 1] : NULL;
}

static size_t sample_row(const struct builder *b, const struct sn_sample *sample)
{
	return sn_interval_row_at(b->out, b->experiment->threads.items[sample->thread].process,
				  sample->time_ns);
}

static void rows_add_samples(struct builder *b)
{
	for (size_t i = 0; i < b->counted.count; i++) {
		const struct sn_sample *sample = &b->experiment->samples.items[b->counted.items[i]];
		size_t at = sample_row(b, sample);
		struct sn_interval_row *row = &b->out->rows.items[at];

		if (at == b->out->row_count)
			continue;
		row->samples++;
		if (sample->flags & SN_SAMPLE_SYSTEM)
			row->system_ns += sample->cpu_ns;
		else
			row->user_ns += sample->cpu_ns;
	}
}

static void cell_add_sample(struct builder *b, const struct sn_sample *sample)
{
	size_t at = sample_row(b, sample);
	struct sn_interval_cell *cell =
		at < b->out->row_count ? cell_at(b, at, stack_known(b, sample->stack)) : NULL;

	if (!cell)
		return;
	cell->samples++;
	if (sample->flags & SN_SAMPLE_SYSTEM)
		cell->system_ns += sample->cpu_ns;
	else
		cell->user_ns += sample->cpu_ns;
}

static void blocked_add(struct builder *b, size_t at, uint32_t stack, uint64_t ns)
{
	struct sn_interval_cell *cell = cell_at(b, at, stack);

	if (!cell)
		return;
	cell->blocked_ns += ns;
	b->out->rows.items[at].blocked_ns += ns;
}

/* A wait lies in one row, or covers rows whole between its two ends. */
static void wait_add(struct builder *b, const struct sn_wait *wait)
{
	uint32_t process = b->experiment->threads.items[wait->thread].process;
	int64_t from = 0, step = b->out->interval_ns;
	uint64_t ns = wait_clip(b, wait, &from);

	while (ns) {
		int64_t room = (from / step + 1) * step - from;
		uint64_t part = ns < (uint64_t)room ? ns : (uint64_t)room;
		size_t at = sn_interval_row_at(b->out, process, from);

		if (at < b->out->row_count) {
			const struct sn_interval_row *row = &b->out->rows.items[at];
			int64_t length = row->end_ns - (int64_t)row->number * step;
			bool is_whole = (int64_t)part >= length - length / 100;

			/* more CPU time than the thread itself can have had */
			bool others_run = (row->user_ns + row->system_ns) * 50 > (uint64_t)length;

			if (!is_whole || !others_run)
				blocked_add(b, at, stack_known(b, wait->stack), part);
		}
		ns -= part;
		from += (int64_t)part;
	}
}

/* ---- order ---- */

/* Indices in the order of stacks: those of stack s are indices[first[s] .. first[s + 1]). */
struct by_stack {
	size_t *first, *indices;
};

static void by_stack_begin(struct by_stack *by, size_t stacks, size_t count)
{
	by->first = sn_alloc_zeroed(stacks + 2, sizeof(size_t));
	by->indices = sn_alloc_zeroed(count + 1, sizeof(size_t));
}

/* From how many each stack has (at first[stack + 2]) to where the next of each goes (at first[stack
 * + 1]). When all are there that is where the next stack's begin. */
static void by_stack_lay(struct by_stack *by, size_t stacks)
{
	for (size_t s = 2; s < stacks + 2; s++)
		by->first[s] += by->first[s - 1];
}

static void by_stack_free(struct by_stack *by)
{
	free(by->first);
	free(by->indices);
}

static void samples_by_stack(const struct builder *b, size_t stacks, struct by_stack *by)
{
	const struct sn_sample *samples = b->experiment->samples.items;

	by_stack_begin(by, stacks, b->counted.count);
	for (size_t i = 0; i < b->counted.count; i++)
		by->first[stack_known(b, samples[b->counted.items[i]].stack) + 2]++;
	by_stack_lay(by, stacks);
	for (size_t i = 0; i < b->counted.count; i++)
		by->indices[by->first[stack_known(b, samples[b->counted.items[i]].stack) + 1]++] =
			b->counted.items[i];
}

static void waits_by_stack(const struct builder *b, size_t stacks, struct by_stack *by)
{
	const struct sn_experiment *e = b->experiment;

	by_stack_begin(by, stacks, e->waits.count);
	for (size_t i = 0; i < e->waits.count; i++)
		if (wait_counts(b, &e->waits.items[i]))
			by->first[stack_known(b, e->waits.items[i].stack) + 2]++;
	by_stack_lay(by, stacks);
	for (size_t i = 0; i < e->waits.count; i++)
		if (wait_counts(b, &e->waits.items[i]))
			by->indices[by->first[stack_known(b, e->waits.items[i].stack) + 1]++] = i;
}

static void cells_visit(struct builder *b, size_t stacks, const struct by_stack *samples,
			const struct by_stack *waits)
{
	memset(b->last_stack, 0xff, (b->out->row_count + 1) * sizeof(*b->last_stack));
	for (size_t s = 0; s < stacks; s++) {
		for (size_t i = samples->first[s]; i < samples->first[s + 1]; i++) {
			if (i + AHEAD < b->counted.count)
				__builtin_prefetch(
					&b->experiment->samples.items[samples->indices[i + AHEAD]]);
			cell_add_sample(b, &b->experiment->samples.items[samples->indices[i]]);
		}
		for (size_t i = waits->first[s]; i < waits->first[s + 1]; i++)
			wait_add(b, &b->experiment->waits.items[waits->indices[i]]);
	}
}

/* Counts the cells of each row, then fills them. Both go stack by stack, so a row's cells are in
 * that order. */
static void cells_make(struct builder *b)
{
	struct sn_intervals *out = b->out;
	size_t stacks = (size_t)b->profile->program->stack_count + 1, count = 0;
	struct by_stack samples, waits;

	rows_add_samples(b);
	samples_by_stack(b, stacks, &samples);
	waits_by_stack(b, stacks, &waits);
	b->last_stack = sn_alloc_zeroed(out->row_count + 1, sizeof(*b->last_stack));
	b->next_cell = sn_alloc_zeroed(out->row_count + 1, sizeof(*b->next_cell));
	cells_visit(b, stacks, &samples, &waits);
	for (size_t r = 0; r <= out->row_count; r++) {
		out->rows.items[r].first_cell = count;
		count += b->next_cell[r];
		b->next_cell[r] = out->rows.items[r].first_cell;
	}
	out->cells.items = sn_alloc_zeroed(count + 1, sizeof(*out->cells.items));
	out->cells.count = out->cells.capacity = count;
	b->is_filling = true;
	cells_visit(b, stacks, &samples, &waits);
	by_stack_free(&samples);
	by_stack_free(&waits);
	free(b->last_stack);
	free(b->next_cell);
}

void sn_stack_sums_find(const struct sn_intervals *intervals, const uint8_t *has_row,
			struct sn_stack_sums *out)
{
	uint32_t stacks = intervals->profile->program->stack_count + 1;
	struct sn_stack_sum *sums = sn_alloc_zeroed(stacks, sizeof(*sums));
	uint8_t *is_there = sn_alloc_zeroed(stacks, 1);

	for (size_t r = 0; r < intervals->row_count; r++)
		for (size_t i = intervals->rows.items[r].first_cell;
		     (!has_row || has_row[r]) && i < intervals->rows.items[r + 1].first_cell; i++) {
			const struct sn_interval_cell *cell = &intervals->cells.items[i];

			is_there[cell->stack] = 1;
			sums[cell->stack].samples += cell->samples;
			sums[cell->stack].ns += sn_interval_cell_ns(cell);
		}
	memset(out, 0, sizeof(*out));
	for (uint32_t s = 0; s < stacks; s++) {
		sums[s].stack = s;
		if (is_there[s])
			sn_vec_push(&out->items, sums[s]);
	}
	free(sums);
	free(is_there);
}

/* A row in which neither a sample was taken nor a hundredth of the time was spent blocked. */
static void idle_mark(struct sn_intervals *out)
{
	for (size_t r = 0; r < out->row_count; r++) {
		struct sn_interval_row *row = &out->rows.items[r];
		int64_t length = row->end_ns - (int64_t)row->number * out->interval_ns;

		row->is_idle = !row->samples && row->blocked_ns * 100 < (uint64_t)length;
		out->busy_count += !row->is_idle;
	}
}

static sn_status intervals_fill(struct builder *b, int64_t interval_ns, struct sn_error *err)
{
	sn_status status;

	spans_choose(b);
	spans_measure(b);
	length_choose(b, interval_ns);
	status = rows_lay(b, err);
	if (status != SN_OK)
		return status;
	cells_make(b);
	idle_mark(b->out);
	if (!b->out->busy_count)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "phases: '%s' has no sample and no blocking call%s; there is "
				    "nothing to find phases in (record with the clock on, and for "
				    "some seconds)",
				    b->experiment->name ? b->experiment->name : "the experiment",
				    b->profile->is_filtered ? " that the filter lets through" : "");
	return SN_OK;
}

sn_status sn_intervals_new(const struct sn_profile *profile, const struct sn_phase_paths *paths,
			   int64_t interval_ns, struct sn_intervals **out, struct sn_error *err)
{
	struct sn_intervals *intervals = sn_alloc_zeroed(1, sizeof(*intervals));
	struct builder b = { .out = intervals,
			     .profile = profile,
			     .paths = paths,
			     .experiment = profile->experiment };
	sn_status status;

	intervals->profile = profile;
	b.spans = sn_alloc_zeroed(profile->experiment->processes.count + 1, sizeof(*b.spans));
	status = intervals_fill(&b, interval_ns, err);
	sn_vec_free(&b.counted);
	free(b.spans);
	if (status != SN_OK) {
		sn_intervals_free(intervals);
		return status;
	}
	*out = intervals;
	return SN_OK;
}

void sn_intervals_free(struct sn_intervals *intervals)
{
	if (!intervals)
		return;
	sn_vec_free(&intervals->rows);
	sn_vec_free(&intervals->cells);
	free(intervals->first_row);
	free(intervals);
}
