/* The view of the critical path: where the elapsed time passes. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "critical/critical.h"
#include "experiment/moments.h"
#include "trace/trace.h"
#include "views/parts.h"

enum {
	K_PROCESS,
	K_THREAD,
	K_KIND,
	K_FUNCTION,
	K_FILE,
	K_LINE,
	K_TIME,
	K_SHARE,
	K_RANK,
	K_SOURCE,
	K_SAVED,
	K_SAVED_SHARE,
	K_THREADS,
	K_SPANS,
	K_SENTENCE
};

enum { HALVED_MOST = 10 };

static const double OFF_LEAST = 0.05; /* of the elapsed time: less is not told of */

static const struct sn_column critical_columns[] = {
	{ "process", NULL, SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "rank", "rank", SN_CELL_INT, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
	{ "saved_s", "2x saves s", SN_CELL_SECONDS, 0 },
	{ "saved_share", "2x saves", SN_CELL_SHARE, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "spans", NULL, SN_CELL_JSON, 0 },
	{ "sentence", NULL, SN_CELL_TEXT, 0 },
};

/* Time on the path in one thread, of one kind, in one function. Of several threads: of one kind in one function. */
struct row {
	uint32_t process, thread; /* of the experiment; SN_NONE: unknown, or several */
	uint32_t threads;
	enum sn_critical_kind kind;
	struct sn_site site;
	double seconds;
	double saved_s;	  /* what halving it would save, in all threads; NAN: not known */
	double largest_s; /* of the rows that it is the sum of */
	double open_s;	  /* in calls that never ended */
	double untraced_s; /* of sums: on the path in its threads, blocked in no call that is known of */
};

/* What a thread was off the CPU and in no call that is known of, by the kernel's account. */
struct off {
	double left_ns;	    /* that no piece has taken yet */
	double no_cpu_part; /* of it the part in which it could run */
	double untraced_s;  /* that pieces took as untraced */
};

/* The run in equal parts: which row has most of each. */
enum { BUCKETS = 1000 };

struct part {
	uint32_t bucket, row;
	double ns;
};

struct rows {
	SN_VEC(struct row) items;
	struct sn_map index;
	struct sn_map index_of_part; /* bucket and row -> number of its part + 1 */
	SN_VEC(struct part) parts;
	double bucket_ns;
	struct off *offs; /* by thread */
};

static size_t row_add(struct rows *rows, const struct row *row)
{
	uint64_t key =
		sn_hash_u64((uint64_t)row->site.function << 32 | row->site.line) ^
		sn_hash_u64((uint64_t)row->thread << 32 | (uint64_t)row->process << 4 | row->kind) *
			3;
	uint64_t *place = sn_map_put(&rows->index, key, NULL);

	if (!*place) {
		sn_vec_push(&rows->items, *row);
		rows->items.items[rows->items.count - 1].threads = row->thread != SN_NONE;
		*place = rows->items.count;
		return *place - 1;
	}
	rows->items.items[*place - 1].seconds += row->seconds;
	rows->items.items[*place - 1].open_s += row->open_s;
	return *place - 1;
}

static struct part *part_of(struct rows *rows, uint64_t bucket, uint64_t row)
{
	uint64_t *place = sn_map_put(&rows->index_of_part, bucket << 32 | row, NULL);

	if (!*place) {
		sn_vec_push(&rows->parts, (struct part){ (uint32_t)bucket, (uint32_t)row, 0 });
		*place = rows->parts.count;
	}
	return &rows->parts.items[*place - 1];
}

/* The row has this time of the run. */
static void span_add(struct rows *rows, size_t row, int64_t t0, int64_t t1)
{
	for (double at = (double)t0; rows->bucket_ns > 0 && at < (double)t1;) {
		uint64_t bucket = (uint64_t)(at / rows->bucket_ns);
		double end = fmin((double)(bucket + 1) * rows->bucket_ns, (double)t1);

		if (end <= at)
			end = at + 1;
		part_of(rows, bucket, row)->ns += end - at;
		at = end;
	}
}

static bool is_wait_of(const struct sn_experiment *e, size_t wait, uint32_t thread, int64_t end_ns)
{
	return wait < e->waits.count && e->waits.items[wait].thread == thread &&
	       e->waits.items[wait].time_ns < end_ns;
}

/* Calls that blocked within the piece are where its time passed. Gives what they took. */
static double blocked_add(struct rows *rows, const struct sn_experiment *e,
			  const struct sn_critical *critical, const struct sn_critical_piece *piece,
			  struct row row)
{
	double sum = 0;

	for (size_t i = sn_waits_ending_from(e, row.thread, piece->t0_ns);
	     is_wait_of(e, i, row.thread, piece->t1_ns); i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		int64_t t0 = wait->time_ns > piece->t0_ns ? wait->time_ns : piece->t0_ns;
		int64_t t1 =
			sn_wait_end_ns(wait) < piece->t1_ns ? sn_wait_end_ns(wait) : piece->t1_ns;

		if (t1 <= t0)
			continue;
		row.kind = sn_critical_kind_of(wait->kind);
		row.site = sn_critical_site(critical, wait->stack);
		row.seconds = (double)(t1 - t0) / 1e9;
		span_add(rows, row_add(rows, &row), t0, t1);
		sum += row.seconds;
	}
	return sum;
}

static struct off *offs_find(const struct sn_profile *p)
{
	const struct sn_experiment *e = p->experiment;
	struct off *offs = sn_alloc_zeroed(e->threads.count + 1, sizeof(*offs));

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *account = &e->threads.items[t].account;

		if (account->wait_cpu_ns >= 0 && account->blocked_ns >= 0)
			offs[t].left_ns = (double)account->blocked_ns;
	}
	for (size_t i = 0; i < e->waits.count; i++)
		offs[e->waits.items[i].thread].left_ns -= (double)p->blocked_ns[i];
	for (size_t t = 0; t < e->threads.count; t++) {
		double untraced = fmax(0, offs[t].left_ns);
		double no_cpu = fmax(0, (double)e->threads.items[t].account.wait_cpu_ns);

		offs[t].left_ns = untraced + no_cpu;
		if (e->threads.items[t].account.blocked_ns < 0)
			offs[t].left_ns = 0;
		offs[t].no_cpu_part = untraced + no_cpu > 0 ? no_cpu / (untraced + no_cpu) : 0;
	}
	return offs;
}

/* Of the time from t0 to t1 in no call, at least this much passed off the CPU if the thread used no more than so
 * much CPU time. */
static double gap_ns(const struct sn_experiment *e, uint32_t thread, int64_t t0, int64_t t1,
		     uint64_t cpu_ns)
{
	double wall = (double)(t1 - t0) - (double)cpu_ns;

	for (size_t i = sn_waits_ending_from(e, thread, t0);
	     wall > 0 && is_wait_of(e, i, thread, t1); i++) {
		int64_t begin = e->waits.items[i].time_ns, end = sn_wait_end_ns(&e->waits.items[i]);

		wall -= fmax(0, (double)((end < t1 ? end : t1) - (begin > t0 ? begin : t0)));
	}
	return fmax(0, wall);
}

/* The CPU time that the thread can have used at the end of a piece, behind its last sample: what the next one
 * has, else what is between samples. */
static double cpu_behind(const struct sn_experiment *e, const struct sn_thread *thread,
			 uint32_t index, size_t next)
{
	double hz = sn_process_least_hz(&e->processes.items[thread->process]);

	if (next < e->samples.count && e->samples.items[next].thread == index)
		return (double)e->samples.items[next].cpu_ns;
	return hz > 0 ? 1e9 / hz : 1e18;
}

/* What of a piece between calls passed off the CPU, by its samples [first, end); no more than the account has. */
static double off_take(const struct rows *rows, const struct sn_experiment *e,
		       const struct sn_critical_piece *piece, size_t first, size_t end)
{
	struct off *off = &rows->offs[piece->thread];
	double sum = 0;
	int64_t at = piece->t0_ns;

	/* a thread without samples tells of nothing */
	if (sn_samples_from(e, piece->thread, INT64_MAX) ==
	    sn_samples_from(e, piece->thread, INT64_MIN))
		return 0;
	for (size_t i = first; i < end; i++) {
		sum += gap_ns(e, piece->thread, at, e->samples.items[i].time_ns,
			      e->samples.items[i].cpu_ns);
		at = e->samples.items[i].time_ns;
	}
	sum += gap_ns(
		e, piece->thread, at, piece->t1_ns,
		(uint64_t)cpu_behind(e, &e->threads.items[piece->thread], piece->thread, end));
	sum = fmin(sum, off->left_ns);
	off->left_ns -= sum;
	return sum;
}

/* Off the CPU: `row` says where the thread computed before and behind. Takes it from the row's time. */
static void off_add(struct rows *rows, struct row *row, double off_s, int64_t t0, int64_t t1)
{
	struct off *off;
	struct row part = *row;

	if (!(off_s > 0))
		return;
	off = &rows->offs[row->thread];
	off_s = fmin(off_s, row->seconds);
	row->seconds -= off_s;
	part.kind = SN_CRITICAL_NO_CPU;
	part.seconds = off_s * off->no_cpu_part;
	if (part.seconds > 0)
		span_add(rows, row_add(rows, &part), t0,
			 t0 + (int64_t)((double)(t1 - t0) * off->no_cpu_part));
	part.kind = SN_CRITICAL_UNTRACED;
	part.site = (struct sn_site){ SN_NONE, SN_NONE };
	part.seconds = off_s * (1 - off->no_cpu_part);
	if (part.seconds > 0)
		span_add(rows, row_add(rows, &part),
			 t0 + (int64_t)((double)(t1 - t0) * off->no_cpu_part), t1);
	off->untraced_s += part.seconds;
}

/* Whether a sample tells of computing: it lies in no call that blocked. `wait` moves on with it. */
static bool is_computing(const struct sn_experiment *e, const struct sn_sample *sample,
			 size_t *wait)
{
	while (is_wait_of(e, *wait, sample->thread, sample->time_ns) &&
	       sn_wait_end_ns(&e->waits.items[*wait]) < sample->time_ns)
		++*wait;
	return sample->stack != SN_NONE && !is_wait_of(e, *wait, sample->thread, sample->time_ns);
}

/* A piece between calls: calls that blocked, and the rest is shared among the functions that samples found
 * there. Without samples it is the function's that makes the next call. */
static void computing_add(struct rows *rows, const struct sn_experiment *e,
			  const struct sn_critical *critical, const struct sn_critical_piece *piece,
			  struct row row)
{
	size_t first = 0, end = 0, first_wait = 0, wait;
	double all_ns = 0, seconds, off_s = 0, part;
	int64_t at = piece->t0_ns, stop, gone;

	if (row.thread != SN_NONE) {
		row.seconds -= blocked_add(rows, e, critical, piece, row);
		first = sn_samples_from(e, row.thread, piece->t0_ns);
		end = sn_samples_from(e, row.thread, piece->t1_ns);
		first_wait = sn_waits_ending_from(e, row.thread, piece->t0_ns);
		off_s = off_take(rows, e, piece, first, end) / 1e9;
	}
	wait = first_wait;
	for (size_t i = first; i < end; i++)
		if (is_computing(e, &e->samples.items[i], &wait))
			all_ns += (double)e->samples.items[i].cpu_ns;
	seconds = fmax(0, row.seconds);
	if (all_ns <= 0) {
		row.seconds = seconds;
		if (piece->call != SN_NONE)
			row.site = critical->calls.items[piece->call].site;
		stop = at + (int64_t)(fmin(off_s, seconds) * 1e9);
		off_add(rows, &row, off_s, at, stop);
		if (row.seconds > 0)
			span_add(rows, row_add(rows, &row), stop, piece->t1_ns);
		return;
	}
	wait = first_wait;
	for (size_t i = first; i < end; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (!is_computing(e, sample, &wait))
			continue;
		row.site = sn_critical_site(critical, sample->stack);
		part = (double)sample->cpu_ns / all_ns;
		row.seconds = seconds * part;
		/* it stands for what lies before it */
		stop = i + 1 < end ? sample->time_ns : piece->t1_ns;
		gone = off_s > 0 ? at + (int64_t)gap_ns(e, row.thread, at, stop, sample->cpu_ns)
				 : at;
		off_add(rows, &row, off_s * part, at, gone);
		span_add(rows, row_add(rows, &row), gone, stop);
		at = sample->time_ns;
	}
}

static void piece_add(struct rows *rows, const struct sn_experiment *e,
		      const struct sn_critical *critical, const struct sn_critical_piece *piece)
{
	struct row row = { .process = piece->process,
			   .thread = piece->thread,
			   .kind = piece->kind,
			   .site = { SN_NONE, SN_NONE },
			   .saved_s = NAN,
			   .seconds = (double)(piece->t1_ns - piece->t0_ns) / 1e9 };

	if (piece->kind == SN_CRITICAL_COMPUTE) {
		computing_add(rows, e, critical, piece, row);
		return;
	}
	if (piece->call != SN_NONE) {
		row.site = critical->calls.items[piece->call].site;
		row.open_s = critical->calls.items[piece->call].never_ended ? row.seconds : 0;
	}
	span_add(rows, row_add(rows, &row), piece->t0_ns, piece->t1_ns);
}

static void rows_free(struct rows *rows)
{
	sn_vec_free(&rows->items);
	sn_map_free(&rows->index);
	sn_map_free(&rows->index_of_part);
	sn_vec_free(&rows->parts);
	free(rows->offs);
}

/* ---- rows of all threads, and what a faster function would bring ---- */

static uint64_t sum_key(const struct row *row)
{
	return (uint64_t)row->site.function << 4 | row->kind;
}

/* Sums up threads, processes and lines. */
static struct rows rows_sum(const struct rows *rows)
{
	struct rows sums = { 0 };
	struct sn_map threads = { 0 };

	for (size_t i = 0; i < rows->items.count; i++) {
		const struct row *row = &rows->items.items[i];
		uint64_t *place = sn_map_put(&sums.index, sum_key(row), NULL);
		bool is_new;
		struct row *sum;

		if (!*place) {
			sn_vec_push(&sums.items, *row);
			*place = sums.items.count;
			sum = &sums.items.items[*place - 1];
			sum->threads = 0;
			sum->seconds = sum->open_s = sum->untraced_s = 0;
			sum->largest_s = row->seconds;
		}
		sum = &sums.items.items[*place - 1];
		sum->seconds += row->seconds;
		sum->open_s += row->open_s;
		if (sum->process != row->process)
			sum->process = SN_NONE;
		if (sum->thread != row->thread)
			sum->thread = SN_NONE;
		if (row->seconds > sum->largest_s) {
			sum->largest_s = row->seconds;
			sum->site = row->site;
		}
		sn_map_put(&threads, *place << 32 | row->thread, &is_new);
		sum->threads += is_new && row->thread != SN_NONE;
		if (is_new && row->thread != SN_NONE)
			sum->untraced_s += rows->offs[row->thread].untraced_s;
	}
	sn_map_free(&threads);
	return sums;
}

static int sums_compare(const void *a, const void *b)
{
	const struct row *const *x = a, *const *y = b;

	if ((*x)->seconds != (*y)->seconds)
		return (*x)->seconds > (*y)->seconds ? -1 : 1;
	return (sum_key(*x) > sum_key(*y)) - (sum_key(*x) < sum_key(*y));
}

/* What is saved is known: what never ended can be no shorter, and a wait in the same threads that nobody knows the
 * end of may take up as much. */
static double saved_of(const struct row *row, int64_t saved_ns)
{
	/* the old path, with its pieces halved, is still a path: the new one is no shorter */
	double saved_s = fmin(fmax(0, (double)saved_ns / 1e9), (row->seconds - row->open_s) / 2);

	if (row->open_s > row->seconds / 2 || (row->untraced_s > 0 && saved_s <= row->untraced_s))
		return NAN;
	return saved_s;
}

/* Lets the run pass once for each of the largest sums. */
static void savings_find(struct rows *sums, const struct sn_critical *critical, int64_t elapsed_ns)
{
	size_t count = 0;
	struct row **largest = sn_alloc_zeroed(sums->items.count + 1, sizeof(struct row *));

	for (size_t i = 0; i < sums->items.count; i++)
		if (sums->items.items[i].site.function != SN_NONE &&
		    sums->items.items[i].kind != SN_CRITICAL_NO_CPU)
			largest[count++] = &sums->items.items[i];
	qsort(largest, count, sizeof(struct row *), sums_compare);
	for (size_t i = 0; i < count && i < HALVED_MOST; i++) {
		struct row *row = largest[i];
		int64_t ns = sn_critical_halved_ns(critical, row->kind, row->site.function);

		if (ns >= 0)
			row->saved_s = saved_of(row, elapsed_ns - ns);
	}
	free(largest);
}

static const struct row *sum_of(const struct rows *sums, const struct row *row)
{
	const uint64_t *place = sn_map_get(&sums->index, sum_key(row));

	return place ? &sums->items.items[*place - 1] : NULL;
}

/* ---- the answer in words ---- */

/* What is best made faster: what saves most, else what has most. */
static const struct row *best_of(const struct rows *sums)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < sums->items.count; i++) {
		const struct row *row = &sums->items.items[i];
		double saves = isnan(row->saved_s) ? 0 : row->saved_s;
		double best_saves = best && !isnan(best->saved_s) ? best->saved_s : 0;

		if (!best || saves > best_saves ||
		    (saves >= best_saves && row->seconds > best->seconds))
			best = row;
	}
	/* a wait that never ended is what the run came to */
	for (size_t i = 0; i < sums->items.count; i++)
		if (sums->items.items[i].open_s > best->seconds)
			best = &sums->items.items[i];
	return best;
}

static void best_add(struct sn_text *out, const struct sn_program *program, const struct row *row,
		     double elapsed_s)
{
	static const char *const what[SN_CRITICAL_KINDS] = {
		[SN_CRITICAL_COMPUTE] = "computing",
		[SN_CRITICAL_MPI] = "calls of MPI",
		[SN_CRITICAL_SYNC] = "waits for other threads",
		[SN_CRITICAL_IO] = "reading and writing",
		[SN_CRITICAL_POLL] = "waits for events",
		[SN_CRITICAL_SLEEP] = "sleep",
		[SN_CRITICAL_OTHER] = "blocking calls",
		[SN_CRITICAL_NO_CPU] = "waiting for a CPU",
		[SN_CRITICAL_UNTRACED] = "waits in no traced call",
		[SN_CRITICAL_START] = "the time before the process began",
		[SN_CRITICAL_END] = "the time after the last one ended",
	};

	sn_text_addf(out, "Of the elapsed time %.1f %% is %s", 100 * row->seconds / elapsed_s,
		     what[row->kind]);
	if (row->site.function != SN_NONE)
		sn_text_addf(out, " in %s", program->functions.items[row->site.function].name);
	if (row->threads > 1)
		sn_text_addf(out, ", in %u threads", row->threads);
	if (row->open_s > row->seconds / 2)
		sn_text_add(out,
			    ": they never ended ('sonde show chains' says for whom they wait)");
	else if (!isnan(row->saved_s) && row->saved_s >= 0.0005 * elapsed_s)
		sn_text_addf(out, ": with half of it the run would take %.1f %% less",
			     100 * row->saved_s / elapsed_s);
	else if (!isnan(row->saved_s))
		sn_text_add(out, ": with half of it the run would be no shorter, as other "
				 "threads or ranks come close");
	sn_text_add(out, ".");
}

/* Runtimes of OpenMP wait past libc, so no thread is known to end such a wait: which region it is and what balance would
 * save its trace knows all the same. */
static void openmp_words_add(struct sn_text *out, const struct sn_view_input *input,
			     double elapsed_s)
{
	const struct sn_program *program = input->profile->program;
	const struct sn_openmp_region *most = NULL;
	struct sn_openmp *openmp = NULL;
	struct sn_error err;

	if (!sn_trace_has(input->profile->experiment, SN_TRACE_OPENMP) ||
	    sn_openmp_read(program, &openmp, &err) != SN_OK) {
		sn_text_add(out, ", and what they waited for is not known; 'sonde record --openmp' "
				 "shows it of runtimes of OpenMP.");
		return;
	}
	for (size_t i = 0; i < openmp->regions.count; i++)
		if (!most || openmp->regions.items[i].gain_ns > most->gain_ns)
			most = &openmp->regions.items[i];
	sn_text_add(out, ": the path does not follow waits within runtimes of OpenMP");
	if (most && most->gain_ns >= 0.0005 * elapsed_s * 1e9) {
		sn_text_add(out, ". Perfect balance of ");
		sn_openmp_add_name(program, most->site, most->function, out);
		sn_text_addf(out, " would save at most %.1f %% of the run",
			     100 * most->gain_ns / 1e9 / elapsed_s);
	}
	sn_text_add(out, " (sonde show openmp).");
	sn_openmp_free(openmp);
}

/* What nobody saves by making code faster, where there is much of it. */
static void off_words_add(struct sn_text *out, const struct sn_view_input *input,
			  const struct rows *sums, double elapsed_s)
{
	double no_cpu_s = 0, untraced_s = 0;

	for (size_t i = 0; i < sums->items.count; i++) {
		no_cpu_s += sums->items.items[i].kind == SN_CRITICAL_NO_CPU
				    ? sums->items.items[i].seconds
				    : 0;
		untraced_s += sums->items.items[i].kind == SN_CRITICAL_UNTRACED
				      ? sums->items.items[i].seconds
				      : 0;
	}
	if (no_cpu_s >= OFF_LEAST * elapsed_s)
		sn_text_addf(
			out,
			"%sFor %.1f %% of the elapsed time threads on the path could run and had "
			"no CPU: fewer threads or programs beside it would show what the code takes.",
			out->length ? " " : "", 100 * no_cpu_s / elapsed_s);
	if (untraced_s >= OFF_LEAST * elapsed_s) {
		sn_text_addf(
			out,
			"%sFor %.1f %% of the elapsed time threads on the path were blocked in "
			"no traced call",
			out->length ? " " : "", 100 * untraced_s / elapsed_s);
		openmp_words_add(out, input, elapsed_s);
	}
}

/* ---- when ---- */

/* By row: "[[t0,t1],..]" in seconds, of the parts of the run of which it has most. */
static struct sn_text *spans_make(const struct rows *rows)
{
	struct part *owners = sn_alloc_zeroed(BUCKETS + 1, sizeof(*owners));
	struct sn_text *texts = sn_alloc_zeroed(rows->items.count + 1, sizeof(*texts));

	for (size_t i = 0; i < rows->parts.count; i++) {
		const struct part *part = &rows->parts.items[i];
		struct part *owner = &owners[part->bucket < BUCKETS ? part->bucket : BUCKETS];

		if (part->ns > owner->ns || (part->ns >= owner->ns && part->row < owner->row))
			*owner = *part;
	}
	for (size_t first = 0, end; first <= BUCKETS; first = end) {
		struct sn_text *text = &texts[owners[first].row];

		for (end = first + 1;
		     end <= BUCKETS && owners[end].ns > 0 && owners[end].row == owners[first].row;)
			end++;
		if (owners[first].ns > 0)
			sn_text_addf(text, "%c[%.6g,%.6g]", text->length ? ',' : '[',
				     (double)first * rows->bucket_ns / 1e9,
				     (double)end * rows->bucket_ns / 1e9);
	}
	for (size_t i = 0; i < rows->items.count; i++)
		sn_text_add(&texts[i], texts[i].length ? "]" : "[]");
	free(owners);
	return texts;
}

static void row_show(struct sn_table *table, const struct sn_view_input *input,
		     const struct sn_mpi *mpi, const struct row *row)
{
	const struct sn_experiment *e = input->profile->experiment;
	const struct sn_program *program = input->profile->program;

	sn_table_add_row(table);
	if (row->process != SN_NONE)
		sn_table_set_int(table, K_PROCESS, row->process);
	if (row->thread != SN_NONE)
		sn_table_set_int(table, K_THREAD, e->threads.items[row->thread].tid);
	if (row->threads)
		sn_table_set_int(table, K_THREADS, row->threads);
	sn_table_set_text(table, K_KIND, sn_critical_kind_name(row->kind));
	if (row->site.function != SN_NONE)
		sn_table_set_text(table, K_FUNCTION,
				  program->functions.items[row->site.function].name);
	if (row->site.line != SN_NONE && row->site.line < program->lines.count &&
	    program->lines.items[row->site.line].line) {
		const struct sn_program_line *line = &program->lines.items[row->site.line];

		sn_table_set_text(table, K_FILE, line->file);
		sn_view_set_line(table, K_LINE, line->line);
		sn_view_set_source(table, K_SOURCE, line->file, line->line);
	} else if (row->site.function != SN_NONE) {
		sn_table_set_text(
			table, K_SOURCE,
			sn_program_module_name(
				program, program->functions.items[row->site.function].module));
	}
	sn_table_set_real(table, K_TIME, row->seconds);
	if (e->elapsed_ns > 0)
		sn_table_set_real(table, K_SHARE, row->seconds * 1e9 / (double)e->elapsed_ns);
	if (row->process != SN_NONE && mpi->ranks && mpi->ranks[row->process] >= 0)
		sn_table_set_int(table, K_RANK, mpi->ranks[row->process]);
	if (!isnan(row->saved_s)) {
		sn_table_set_real(table, K_SAVED, row->saved_s);
		if (e->elapsed_ns > 0)
			sn_table_set_real(table, K_SAVED_SHARE,
					  row->saved_s * 1e9 / (double)e->elapsed_ns);
	}
}

/* The sentence stands in the first row of what it tells of. */
static void rows_show(struct sn_table *table, const struct sn_view_input *input,
		      const struct sn_mpi *mpi, const struct rows *rows, const struct rows *sums)
{
	const struct sn_experiment *e = input->profile->experiment;
	const struct row *best = best_of(sums);
	const struct rows *shown = input->sums_rows ? sums : rows;
	struct sn_text *spans = input->sums_rows ? NULL : spans_make(rows);
	bool is_told = false;

	for (size_t i = 0; i < shown->items.count; i++) {
		struct row row = shown->items.items[i];
		const struct row *sum = sum_of(sums, &row);

		row.saved_s = sum ? sum->saved_s : NAN;
		row_show(table, input, mpi, &row);
		if (spans) {
			sn_table_set_text(table, K_SPANS, spans[i].chars);
			sn_text_free(&spans[i]);
		}
		if (sum == best && !is_told && e->elapsed_ns > 0) {
			struct sn_text sentence = { 0 };

			if (best->kind != SN_CRITICAL_UNTRACED && best->kind != SN_CRITICAL_NO_CPU)
				best_add(&sentence, input->profile->program, best,
					 (double)e->elapsed_ns / 1e9);
			off_words_add(&sentence, input, sums, (double)e->elapsed_ns / 1e9);
			sn_table_set_text(table, K_SENTENCE, sentence.chars);
			sn_text_free(&sentence);
			is_told = true;
		}
	}
	free(spans);
}

static sn_status critical_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	struct sn_mpi *own = NULL, **mpi = input->mpi ? input->mpi : &own;
	struct sn_locks *own_locks = NULL, **locks = input->locks ? input->locks : &own_locks;
	struct sn_critical *critical;
	struct rows rows = { .bucket_ns = (double)e->elapsed_ns / BUCKETS }, sums;
	sn_status status = *mpi ? SN_OK : sn_mpi_read(e, mpi, err);

	if (status == SN_OK && !*locks)
		status = sn_locks_read(input->profile->program, locks, err);
	if (status != SN_OK) {
		sn_mpi_free(own);
		return status;
	}
	critical = sn_critical_of(input->profile->program, *mpi, *locks);
	rows.offs = offs_find(input->profile);
	for (size_t i = 0; i < critical->pieces.count; i++)
		piece_add(&rows, e, critical, &critical->pieces.items[i]);
	sums = rows_sum(&rows);
	savings_find(&sums, critical, e->elapsed_ns);
	rows_show(table, input, *mpi, &rows, &sums);
	rows_free(&rows);
	rows_free(&sums);
	sn_critical_free(critical);
	sn_locks_free(own_locks);
	sn_mpi_free(own);
	return SN_OK;
}

static void sentence_put(const struct sn_table *table, FILE *out)
{
	for (size_t i = 0; i < table->row_count; i++) {
		const struct sn_cell *cell =
			&table->cells.items[i * table->column_count + K_SENTENCE];

		if (cell->is_known)
			fprintf(out, "%s\n", cell->text);
	}
}

static void why_no_path(const struct sn_view_input *input, struct sn_text *out)
{
	if (sn_trace_has(input->profile->experiment, SN_TRACE_MPI))
		sn_text_add(out,
			    "no rank called MPI, and locks were not traced: the path goes over "
			    "ranks or threads");
	else
		sn_text_add(
			out,
			"the path goes over threads or ranks, and neither locks nor MPI were "
			"traced; 'sonde record --sync PROGRAM' does the one, 'mpirun -n N sonde "
			"record --mpi PROGRAM' the other");
}

static const struct sn_explanation critical_words[] = {
	{ "saved_s", "time",
	  "Elapsed time that the run would save if all that this function does of this kind took half "
	  "its time, in all its lines and threads; for the ten functions that have most of the path. "
	  "It is less than half of their time where another thread or rank then is the last one.",
	  "saved_share" },
	{ "saved_share", "share", "saved_s as a share of the elapsed time.", "saved_s" },
	{ "spans", "text",
	  "On the critical path: when the row has most of the path, as begin and end in seconds, in "
	  "thousandths of the run.",
	  "time_s" },
	{ 0 },
};

const struct sn_view sn_view_critical = {
	.name = "critical",
	.title = "the critical path over threads or MPI ranks: where the elapsed time passes",
	.needs = SN_VIEW_NEEDS_LANES,
	.schema = "sonde.critical/1",
	.columns = critical_columns,
	.column_count = sizeof(critical_columns) / sizeof(*critical_columns),
	.words = critical_words,
	.data_columns =
		"process,thread,kind,function,file,line,time_s,share,rank,saved_s,saved_share,threads",
	.text_columns = "share,time_s,saved_share,rank,threads,kind,function,source",
	.sort = "time_s",
	.share_column = "share",
	.page_title = "Critical path",
	.page_group = "Why",
	.page_columns =
		"share,time_s,saved_share,process,rank,thread,kind,function,source,spans,sentence",
	.is_in_report = true,
	.fill = critical_fill,
	.why_empty = why_no_path,
	.put_below = sentence_put,
};
