/* The view of the critical path: where the elapsed time passes. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "critical/critical.h"
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
	K_SAVED_SHARE
};

enum { HALVED_MOST = 10 };

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
};

/* Time on the path in one thread, of one kind, in one function. */
struct row {
	uint32_t process, thread; /* thread: of the experiment; SN_NONE: unknown */
	enum sn_critical_kind kind;
	struct sn_site site;
	double seconds;
};

/* Time on the path of one kind in one function, and what halving it would save; NAN: not known. */
struct part {
	enum sn_critical_kind kind;
	uint32_t function;
	double seconds, saved_s;
};

struct rows {
	SN_VEC(struct row) items;
	struct sn_map index;
};

static void row_add(struct rows *rows, const struct row *row)
{
	uint64_t key =
		sn_hash_u64((uint64_t)row->site.function << 32 | row->site.line) ^
		sn_hash_u64((uint64_t)row->thread << 32 | (uint64_t)row->process << 3 | row->kind) *
			3;
	uint64_t *place = sn_map_put(&rows->index, key, NULL);

	if (!*place) {
		sn_vec_push(&rows->items, *row);
		*place = rows->items.count;
		return;
	}
	rows->items.items[*place - 1].seconds += row->seconds;
}

static size_t samples_before(const struct sn_experiment *e, uint32_t thread, int64_t t_ns)
{
	size_t low = 0, high = e->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_sample *sample = &e->samples.items[middle];

		if (sample->thread < thread || (sample->thread == thread && sample->time_ns < t_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t waits_of(const struct sn_experiment *e, uint32_t thread)
{
	size_t low = 0, high = e->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e->waits.items[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls that blocked within the piece are where its time passed. Gives what they took. */
static double blocked_add(struct rows *rows, const struct sn_experiment *e,
			  const struct sn_critical *critical, const struct sn_critical_piece *piece,
			  struct row row)
{
	double sum = 0;

	for (size_t i = waits_of(e, row.thread);
	     i < e->waits.count && e->waits.items[i].thread == row.thread &&
	     e->waits.items[i].time_ns < piece->t1_ns;
	     i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		int64_t t0 = wait->time_ns > piece->t0_ns ? wait->time_ns : piece->t0_ns;
		int64_t end = wait->time_ns + (int64_t)wait->duration_ns;
		int64_t t1 = end < piece->t1_ns ? end : piece->t1_ns;

		if (t1 <= t0)
			continue;
		row.site = sn_critical_site(critical, wait->stack);
		row.seconds = (double)(t1 - t0) / 1e9;
		row_add(rows, &row);
		sum += row.seconds;
	}
	return sum;
}

/* A piece between calls: calls that blocked, and the rest is shared among the functions that samples found
 * there. Without samples it is the function's that makes the next call. */
static void computing_add(struct rows *rows, const struct sn_experiment *e,
			  const struct sn_critical *critical, const struct sn_critical_piece *piece,
			  struct row row)
{
	size_t first = 0, end = 0;
	double all_ns = 0, seconds;

	if (row.thread != SN_NONE) {
		row.seconds -= blocked_add(rows, e, critical, piece, row);
		first = samples_before(e, row.thread, piece->t0_ns);
		end = samples_before(e, row.thread, piece->t1_ns);
	}
	seconds = row.seconds;
	for (size_t i = first; i < end; i++)
		if (e->samples.items[i].stack != SN_NONE)
			all_ns += (double)e->samples.items[i].cpu_ns;
	if (all_ns <= 0) {
		if (piece->call != SN_NONE)
			row.site = critical->calls.items[piece->call].site;
		row_add(rows, &row);
		return;
	}
	for (size_t i = first; i < end; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sample->stack == SN_NONE)
			continue;
		row.site = sn_critical_site(critical, sample->stack);
		row.seconds = seconds * (double)sample->cpu_ns / all_ns;
		row_add(rows, &row);
	}
}

static void piece_add(struct rows *rows, const struct sn_experiment *e,
		      const struct sn_critical *critical, const struct sn_critical_piece *piece)
{
	struct row row = { .process = piece->process,
			   .thread = piece->thread,
			   .kind = piece->kind,
			   .site = { SN_NONE, SN_NONE },
			   .seconds = (double)(piece->t1_ns - piece->t0_ns) / 1e9 };

	if (piece->kind == SN_CRITICAL_COMPUTE) {
		computing_add(rows, e, critical, piece, row);
		return;
	}
	if (piece->call != SN_NONE)
		row.site = critical->calls.items[piece->call].site;
	row_add(rows, &row);
}

/* ---- what a faster function would bring ---- */

struct parts {
	SN_VEC(struct part) items;
};

static int parts_compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* The largest functions of the path, by kind. */
static struct parts parts_of(const struct rows *rows, const struct sn_critical *critical,
			     int64_t elapsed_ns)
{
	struct parts parts = { 0 };
	struct sn_map index = { 0 };

	for (size_t i = 0; i < rows->items.count; i++) {
		const struct row *row = &rows->items.items[i];
		uint64_t *place;

		if (row->site.function == SN_NONE)
			continue;
		place = sn_map_put(&index, (uint64_t)row->site.function << 3 | row->kind, NULL);
		if (!*place) {
			sn_vec_push(&parts.items, (struct part){ .kind = row->kind,
								 .function = row->site.function });
			*place = parts.items.count;
		}
		parts.items.items[*place - 1].seconds += row->seconds;
	}
	if (parts.items.count)
		qsort(parts.items.items, parts.items.count, sizeof(*parts.items.items),
		      parts_compare);
	if (parts.items.count > HALVED_MOST)
		parts.items.count = HALVED_MOST;
	for (size_t i = 0; i < parts.items.count; i++) {
		struct part *part = &parts.items.items[i];
		int64_t ns = sn_critical_halved_ns(critical, part->kind, part->function);

		/* the old path, with its pieces halved, is still a path: the new one is no shorter */
		part->saved_s =
			ns < 0 ? NAN
			       : fmin(fmax(0, (double)(elapsed_ns - ns) / 1e9), part->seconds / 2);
	}
	sn_map_free(&index);
	return parts;
}

static double saved_of(const struct parts *parts, const struct row *row)
{
	for (size_t i = 0; i < parts->items.count; i++)
		if (parts->items.items[i].kind == row->kind &&
		    parts->items.items[i].function == row->site.function)
			return parts->items.items[i].saved_s;
	return NAN;
}

static void row_show(struct sn_table *table, const struct sn_view_input *input,
		     const struct sn_mpi *mpi, const struct parts *parts, const struct row *row)
{
	double saved_s = saved_of(parts, row);
	const struct sn_experiment *e = input->profile->experiment;
	const struct sn_program *program = input->profile->program;

	sn_table_add_row(table);
	sn_table_set_int(table, K_PROCESS, row->process);
	if (row->thread != SN_NONE)
		sn_table_set_int(table, K_THREAD, e->threads.items[row->thread].tid);
	sn_table_set_text(table, K_KIND, sn_critical_kind_name(row->kind));
	if (row->site.function != SN_NONE)
		sn_table_set_text(table, K_FUNCTION,
				  program->functions.items[row->site.function].name);
	if (row->site.line != SN_NONE && row->site.line < program->lines.count) {
		const struct sn_program_line *line = &program->lines.items[row->site.line];

		sn_table_set_text(table, K_FILE, line->file);
		sn_view_set_line(table, K_LINE, line->line);
		sn_view_set_source(table, K_SOURCE, line->file, line->line);
	}
	sn_table_set_real(table, K_TIME, row->seconds);
	if (e->elapsed_ns > 0)
		sn_table_set_real(table, K_SHARE, row->seconds * 1e9 / (double)e->elapsed_ns);
	if (mpi->ranks && mpi->ranks[row->process] >= 0)
		sn_table_set_int(table, K_RANK, mpi->ranks[row->process]);
	if (!isnan(saved_s)) {
		sn_table_set_real(table, K_SAVED, saved_s);
		if (e->elapsed_ns > 0)
			sn_table_set_real(table, K_SAVED_SHARE,
					  saved_s * 1e9 / (double)e->elapsed_ns);
	}
}

static sn_status critical_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	struct sn_mpi *own = NULL, **mpi = input->mpi ? input->mpi : &own;
	struct sn_locks *own_locks = NULL, **locks = input->locks ? input->locks : &own_locks;
	struct sn_critical *critical;
	struct rows rows = { 0 };
	struct parts parts;
	sn_status status = *mpi ? SN_OK : sn_mpi_read(e, mpi, err);

	if (status == SN_OK && !*locks)
		status = sn_locks_read(input->profile->program, locks, err);
	if (status != SN_OK) {
		sn_mpi_free(own);
		return status;
	}
	critical = sn_critical_of(input->profile->program, *mpi, *locks);
	for (size_t i = 0; i < critical->pieces.count; i++)
		piece_add(&rows, e, critical, &critical->pieces.items[i]);
	parts = parts_of(&rows, critical, e->elapsed_ns);
	for (size_t i = 0; i < rows.items.count; i++)
		row_show(table, input, *mpi, &parts, &rows.items.items[i]);
	sn_vec_free(&parts.items);
	sn_vec_free(&rows.items);
	sn_map_free(&rows.index);
	sn_critical_free(critical);
	sn_locks_free(own_locks);
	sn_mpi_free(own);
	return SN_OK;
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
		"process,thread,kind,function,file,line,time_s,share,rank,saved_s,saved_share",
	.text_columns = "share,time_s,saved_share,rank,thread,kind,function,source",
	.sort = "time_s",
	.share_column = "share",
	.page_title = "Critical path",
	.is_in_report = true,
	.fill = critical_fill,
	.why_empty = why_no_path,
};
