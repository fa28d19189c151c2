/* The view of the critical path: where the elapsed time passes. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "mpi/critical.h"
#include "mpi/sites.h"
#include "trace/trace.h"
#include "views/parts.h"

enum { K_PROCESS, K_THREAD, K_KIND, K_FUNCTION, K_FILE, K_LINE, K_TIME, K_SHARE, K_RANK, K_SOURCE };

static const struct sn_column critical_columns[] = {
	{ "process", NULL, SN_CELL_INT, 0 },	    { "thread", NULL, SN_CELL_INT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },	    { "function", "function", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },	    { "line", NULL, SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 }, { "share", "share", SN_CELL_SHARE, 0 },
	{ "rank", "rank", SN_CELL_INT, 0 },	    { "source", "source", SN_CELL_TEXT, 0 },
};

/* Time on the path in one thread, of one kind, in one function. */
struct row {
	uint32_t process, thread; /* thread: of the experiment; SN_NONE: unknown */
	enum sn_critical_kind kind;
	struct sn_mpi_site site;
	double seconds;
};

struct rows {
	SN_VEC(struct row) items;
	struct sn_map index;
};

static void row_add(struct rows *rows, const struct row *row)
{
	uint64_t key =
		sn_hash_u64((uint64_t)row->site.function << 32 | row->site.line) ^
		sn_hash_u64((uint64_t)row->thread << 32 | (uint64_t)row->process << 2 | row->kind) *
			3;
	uint64_t *place = sn_map_put(&rows->index, key, NULL);

	if (!*place) {
		sn_vec_push(&rows->items, *row);
		*place = rows->items.count;
		return;
	}
	rows->items.items[*place - 1].seconds += row->seconds;
}

/* The experiment's thread: those of a process lie together, in the order of their start. */
static uint32_t thread_of(const struct sn_experiment *e, uint32_t process, uint32_t number)
{
	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process == process)
			return t + number < e->threads.count &&
					       e->threads.items[t + number].process == process
				       ? t + number
				       : SN_NONE;
	return SN_NONE;
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
static double blocked_add(struct rows *rows, const struct sn_view_input *input,
			  const struct sn_critical_piece *piece, struct row row)
{
	const struct sn_experiment *e = input->profile->experiment;
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
		row.site = sn_mpi_site_of(input->profile->program, wait->stack);
		row.seconds = (double)(t1 - t0) / 1e9;
		row_add(rows, &row);
		sum += row.seconds;
	}
	return sum;
}

/* A piece between calls of MPI: calls that blocked, and the rest is shared among the functions that samples
 * found there. Without samples it is the function's that makes the next call. */
static void computing_add(struct rows *rows, const struct sn_view_input *input,
			  const struct sn_mpi *mpi, const struct sn_critical_piece *piece,
			  struct row row)
{
	const struct sn_program *program = input->profile->program;
	const struct sn_experiment *e = input->profile->experiment;
	size_t first = 0, end = 0;
	double all_ns = 0, seconds;

	if (row.thread != SN_NONE) {
		row.seconds -= blocked_add(rows, input, piece, row);
		first = samples_before(e, row.thread, piece->t0_ns);
		end = samples_before(e, row.thread, piece->t1_ns);
	}
	seconds = row.seconds;
	for (size_t i = first; i < end; i++)
		if (e->samples.items[i].stack != SN_NONE)
			all_ns += (double)e->samples.items[i].cpu_ns;
	if (all_ns <= 0) {
		if (piece->event != SN_NONE)
			row.site = sn_mpi_site_of(program, mpi->events.items[piece->event].stack);
		row_add(rows, &row);
		return;
	}
	for (size_t i = first; i < end; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sample->stack == SN_NONE)
			continue;
		row.site = sn_mpi_site_of(program, sample->stack);
		row.seconds = seconds * (double)sample->cpu_ns / all_ns;
		row_add(rows, &row);
	}
}

static void piece_add(struct rows *rows, const struct sn_view_input *input,
		      const struct sn_mpi *mpi, const struct sn_critical_piece *piece)
{
	struct row row = { .process = piece->process,
			   .thread = thread_of(input->profile->experiment, piece->process,
					       piece->thread),
			   .kind = piece->kind,
			   .site = { SN_NONE, SN_NONE },
			   .seconds = (double)(piece->t1_ns - piece->t0_ns) / 1e9 };

	if (piece->kind == SN_CRITICAL_COMPUTE) {
		computing_add(rows, input, mpi, piece, row);
		return;
	}
	if (piece->kind == SN_CRITICAL_MPI)
		row.site = sn_mpi_site_of(input->profile->program,
					  mpi->events.items[piece->event].stack);
	row_add(rows, &row);
}

static void row_show(struct sn_table *table, const struct sn_view_input *input,
		     const struct sn_mpi *mpi, const struct row *row)
{
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
	if (mpi->ranks[row->process] >= 0)
		sn_table_set_int(table, K_RANK, mpi->ranks[row->process]);
}

static sn_status critical_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	struct sn_mpi *own = NULL, **place = input->mpi ? input->mpi : &own;
	struct sn_critical critical;
	struct rows rows = { 0 };

	if (!*place) {
		sn_status status = sn_mpi_read(input->profile->experiment, place, err);

		if (status != SN_OK)
			return status;
	}
	critical = sn_critical_of(input->profile->experiment, *place);
	for (size_t i = 0; i < critical.pieces.count; i++)
		piece_add(&rows, input, *place, &critical.pieces.items[i]);
	for (size_t i = 0; i < rows.items.count; i++)
		row_show(table, input, *place, &rows.items.items[i]);
	sn_vec_free(&rows.items);
	sn_map_free(&rows.index);
	sn_vec_free(&critical.pieces);
	sn_mpi_free(own);
	return SN_OK;
}

static void why_no_path(const struct sn_view_input *input, struct sn_text *out)
{
	if (sn_trace_has(input->profile->experiment, SN_TRACE_MPI))
		sn_text_add(out, "no rank called MPI, and the path goes over ranks");
	else
		sn_text_add(out,
			    "the path goes over ranks, and MPI was not traced; 'mpirun -n N sonde "
			    "record --mpi PROGRAM' does that");
}

const struct sn_view sn_view_critical = {
	.name = "critical",
	.title = "the critical path over MPI ranks: where the elapsed time passes",
	.needs = SN_VIEW_NEEDS_MPI,
	.schema = "sonde.critical/1",
	.columns = critical_columns,
	.column_count = sizeof(critical_columns) / sizeof(*critical_columns),
	.data_columns = "process,thread,kind,function,file,line,time_s,share,rank",
	.text_columns = "share,time_s,rank,kind,function,source",
	.sort = "time_s",
	.share_column = "share",
	.page_title = "Critical path",
	.is_in_report = true,
	.fill = critical_fill,
	.why_empty = why_no_path,
};
