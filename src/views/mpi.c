/* The views of MPI: calls by rank and function, messages, the matrix of who sent to whom, and waiting. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "mpi/mpi.h"
#include "mpi/sites.h"
#include "trace/trace.h"
#include "views/parts.h"

/* MPI as it was read before for the same input, or now; `own` is what the caller frees. */
static sn_status mpi_get(const struct sn_view_input *input, struct sn_mpi **own,
			 struct sn_mpi **out, struct sn_error *err)
{
	struct sn_mpi **place = input->mpi ? input->mpi : own;

	*own = NULL;
	if (!*place) {
		sn_status status = sn_mpi_read(input->profile->experiment, place, err);

		if (status != SN_OK)
			return status;
	}
	*out = *place;
	return SN_OK;
}

static void rank_set(struct sn_table *table, size_t column, int32_t rank)
{
	if (rank >= 0)
		sn_table_set_int(table, column, rank);
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* ---- calls ---- */

enum {
	C_RANK,
	C_FUNCTION,
	C_CALLS,
	C_TIME,
	C_WORK,
	C_WAIT,
	C_SENT,
	C_RECEIVED,
	C_MESSAGES,
	C_PROCESS,
	C_WAIT_SHARE,
	C_ERRORS,
	C_OPEN,
};

static const struct sn_column call_columns[] = {
	{ "rank", "rank", SN_CELL_INT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "calls", "calls", SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 },
	{ "work_s", "work s", SN_CELL_SECONDS, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "bytes_sent", "sent B", SN_CELL_INT, 0 },
	{ "bytes_received", "received B", SN_CELL_INT, 0 },
	{ "messages", "messages", SN_CELL_INT, 0 },
	{ "process", NULL, SN_CELL_INT, 0 },
	{ "wait_share", "waiting", SN_CELL_SHARE, 0 },
	{ "errors", NULL, SN_CELL_INT, 0 },
	{ "unfinished", NULL, SN_CELL_INT, 0 },
};

struct call_sum {
	uint32_t process;
	uint16_t function;
	uint64_t calls, bytes_out, bytes_in, messages, errors, open;
	int64_t time_ns, wait_ns;
};

struct call_sums {
	SN_VEC(struct call_sum) items;
	struct sn_map index; /* process and function -> place + 1 */
};

static struct call_sum *call_sum_of(struct call_sums *sums, uint32_t process, uint16_t function)
{
	uint64_t *place = sn_map_put(&sums->index, (uint64_t)process << 16 | function, NULL);

	if (!*place) {
		sn_vec_push(&sums->items,
			    (struct call_sum){ .process = process, .function = function });
		*place = sums->items.count;
	}
	return &sums->items.items[*place - 1];
}

static void calls_sum(const struct sn_mpi *mpi, struct call_sums *sums)
{
	for (size_t i = 0; i < mpi->events.count; i++) {
		const struct sn_mpi_event *event = &mpi->events.items[i];
		struct call_sum *sum = call_sum_of(sums, event->process, event->function);

		sum->calls++;
		sum->time_ns += event->t1_ns - event->t0_ns;
		sum->wait_ns += event->wait_ns;
		sum->bytes_out += event->bytes_out;
		sum->bytes_in += event->bytes_in;
		sum->messages += event->messages;
		sum->errors += event->error != 0;
		sum->open += event->is_open;
	}
	for (size_t i = 0; i < mpi->counts.count; i++) {
		const struct sn_mpi_count *count = &mpi->counts.items[i];
		struct call_sum *sum = call_sum_of(sums, count->process, count->function);

		sum->calls += count->calls;
		sum->time_ns += count->time_ns;
	}
}

static void call_row(struct sn_table *table, const struct sn_mpi *mpi, const struct call_sum *sum)
{
	sn_table_add_row(table);
	rank_set(table, C_RANK, mpi->ranks[sum->process]);
	sn_table_set_text(table, C_FUNCTION, sn_mpi_function_name(sum->function));
	sn_table_set_int(table, C_CALLS, (int64_t)sum->calls);
	sn_table_set_real(table, C_TIME, seconds(sum->time_ns));
	sn_table_set_real(table, C_WORK, seconds(sum->time_ns - sum->wait_ns));
	sn_table_set_real(table, C_WAIT, seconds(sum->wait_ns));
	sn_table_set_int(table, C_SENT, (int64_t)sum->bytes_out);
	sn_table_set_int(table, C_RECEIVED, (int64_t)sum->bytes_in);
	sn_table_set_int(table, C_MESSAGES, (int64_t)sum->messages);
	sn_table_set_int(table, C_PROCESS, sum->process);
	if (sum->time_ns > 0)
		sn_table_set_real(table, C_WAIT_SHARE, (double)sum->wait_ns / (double)sum->time_ns);
	sn_table_set_int(table, C_ERRORS, (int64_t)sum->errors);
	sn_table_set_int(table, C_OPEN, (int64_t)sum->open);
}

static sn_status calls_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	struct call_sums sums = { 0 };
	struct sn_mpi *mpi, *own;
	sn_status status = mpi_get(input, &own, &mpi, err);

	if (status != SN_OK)
		return status;
	calls_sum(mpi, &sums);
	for (size_t i = 0; i < sums.items.count; i++)
		call_row(table, mpi, &sums.items.items[i]);
	sn_vec_free(&sums.items);
	sn_map_free(&sums.index);
	sn_mpi_free(own);
	return SN_OK;
}

/* ---- the matrix ---- */

enum { X_FROM, X_TO, X_MESSAGES, X_BYTES, X_MEAN };

static const struct sn_column matrix_columns[] = {
	{ "from", "from", SN_CELL_INT, 0 },	     { "to", "to", SN_CELL_INT, 0 },
	{ "messages", "messages", SN_CELL_INT, 0 },  { "bytes", "bytes", SN_CELL_INT, 0 },
	{ "mean_bytes", "mean B", SN_CELL_REAL, 1 },
};

struct pair_sum {
	int32_t from, to;
	uint64_t messages, bytes;
};

static int pair_compare(const void *a, const void *b)
{
	const struct pair_sum *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static sn_status matrix_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	SN_VEC(struct pair_sum) pairs = { 0 };
	struct sn_map index = { 0 };
	struct sn_mpi *mpi, *own;
	sn_status status = mpi_get(input, &own, &mpi, err);

	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *message = &mpi->messages.items[i];
		uint64_t *place;

		if (message->state == SN_MPI_CANCELLED)
			continue;
		place = sn_map_put(&index,
				   (uint64_t)(uint32_t)message->from << 32 | (uint32_t)message->to,
				   NULL);
		if (!*place) {
			sn_vec_push(&pairs, (struct pair_sum){ message->from, message->to, 0, 0 });
			*place = pairs.count;
		}
		pairs.items[*place - 1].messages++;
		pairs.items[*place - 1].bytes += message->bytes;
	}
	if (pairs.count)
		qsort(pairs.items, pairs.count, sizeof(*pairs.items), pair_compare);
	for (size_t i = 0; i < pairs.count; i++) {
		const struct pair_sum *pair = &pairs.items[i];

		sn_table_add_row(table);
		rank_set(table, X_FROM, pair->from);
		rank_set(table, X_TO, pair->to);
		sn_table_set_int(table, X_MESSAGES, (int64_t)pair->messages);
		sn_table_set_int(table, X_BYTES, (int64_t)pair->bytes);
		sn_table_set_real(table, X_MEAN, (double)pair->bytes / (double)pair->messages);
	}
	sn_vec_free(&pairs);
	sn_map_free(&index);
	sn_mpi_free(own);
	return SN_OK;
}

/* ---- messages ---- */

enum { M_FROM, M_TO, M_TAG, M_COMM, M_BYTES, M_T0, M_T1, M_STATE, M_SENT_BY, M_RECEIVED_BY };

static const struct sn_column message_columns[] = {
	{ "from", "from", SN_CELL_INT, 0 },
	{ "to", "to", SN_CELL_INT, 0 },
	{ "tag", "tag", SN_CELL_INT, 0 },
	{ "comm", "comm", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_INT, 0 },
	{ "t0_s", "sent s", SN_CELL_SECONDS, 0 },
	{ "t1_s", "received s", SN_CELL_SECONDS, 0 },
	{ "state", "state", SN_CELL_TEXT, 0 },
	{ "sent_by", "sent by", SN_CELL_TEXT, 0 },
	{ "received_by", "received by", SN_CELL_TEXT, 0 },
};

static void call_set(struct sn_table *table, size_t column, const struct sn_mpi *mpi,
		     uint32_t event)
{
	if (event != SN_NONE)
		sn_table_set_text(table, column,
				  sn_mpi_function_name(mpi->events.items[event].function));
}

static sn_status messages_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	struct sn_mpi *mpi, *own;
	sn_status status = mpi_get(input, &own, &mpi, err);
	size_t count;

	if (status != SN_OK)
		return status;
	count = mpi->messages.count;
	if (input->row_limit && input->row_limit < count)
		count = input->row_limit;
	for (size_t i = 0; i < count; i++) {
		const struct sn_mpi_message *message = &mpi->messages.items[i];

		sn_table_add_row(table);
		rank_set(table, M_FROM, message->from);
		rank_set(table, M_TO, message->to);
		sn_table_set_int(table, M_TAG, message->tag);
		if (message->comm != SN_NONE)
			sn_table_set_int(table, M_COMM, message->comm);
		sn_table_set_int(table, M_BYTES, (int64_t)message->bytes);
		if (message->sent != SN_NONE)
			sn_table_set_real(table, M_T0,
					  seconds(mpi->events.items[message->sent].t0_ns));
		if (message->received != SN_NONE)
			sn_table_set_real(table, M_T1,
					  seconds(mpi->events.items[message->received].t1_ns));
		sn_table_set_text(table, M_STATE, sn_mpi_message_state_name(message->state));
		call_set(table, M_SENT_BY, mpi, message->sent);
		call_set(table, M_RECEIVED_BY, mpi, message->received);
	}
	sn_mpi_free(own);
	return SN_OK;
}

/* ---- waiting ---- */

enum {
	W_RANK,
	W_KIND,
	W_FUNCTION,
	W_FILE,
	W_LINE,
	W_COUNT,
	W_WAIT,
	W_CALL,
	W_FOR,
	W_FOR_FUNCTION,
	W_SHARE,
	W_MAX,
	W_SOURCE,
};

static const struct sn_column wait_columns[] = {
	{ "rank", "rank", SN_CELL_INT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "count", "count", SN_CELL_INT, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "mpi_function", "MPI", SN_CELL_TEXT, 0 },
	{ "for_rank", "for rank", SN_CELL_INT, 0 },
	{ "for_function", "which was in", SN_CELL_TEXT, 0 },
	{ "wait_share", "share", SN_CELL_SHARE, 0 },
	{ "wait_max_s", "longest s", SN_CELL_SECONDS, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
};

static void site_set(struct sn_table *table, const struct sn_program *program, size_t function_at,
		     struct sn_mpi_site site)
{
	if (site.function != SN_NONE)
		sn_table_set_text(table, function_at, program->functions.items[site.function].name);
}

static void wait_row(struct sn_table *table, const struct sn_view_input *input,
		     const struct sn_mpi *mpi, const struct sn_mpi_wait_sum *sum, int64_t all_ns)
{
	const struct sn_program *program = input->profile->program;

	sn_table_add_row(table);
	rank_set(table, W_RANK, mpi->ranks[sum->process]);
	sn_table_set_text(table, W_KIND, sn_mpi_wait_name(sum->kind));
	site_set(table, program, W_FUNCTION, sum->site);
	if (sum->site.line != SN_NONE && sum->site.line < program->lines.count) {
		const struct sn_program_line *line = &program->lines.items[sum->site.line];

		sn_table_set_text(table, W_FILE, line->file);
		sn_view_set_line(table, W_LINE, line->line);
		sn_view_set_source(table, W_SOURCE, line->file, line->line);
	}
	sn_table_set_int(table, W_COUNT, (int64_t)sum->count);
	sn_table_set_real(table, W_WAIT, seconds(sum->wait_ns));
	sn_table_set_text(table, W_CALL, sn_mpi_function_name(sum->function));
	if (sum->for_process != SN_NONE)
		rank_set(table, W_FOR, mpi->ranks[sum->for_process]);
	site_set(table, program, W_FOR_FUNCTION, sum->for_site);
	if (all_ns)
		sn_table_set_real(table, W_SHARE, (double)sum->wait_ns / (double)all_ns);
	sn_table_set_real(table, W_MAX, seconds(sum->longest_ns));
}

static sn_status waits_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	struct sn_mpi_wait_sums sums;
	struct sn_mpi *mpi, *own;
	sn_status status = mpi_get(input, &own, &mpi, err);
	int64_t all_ns = 0;

	if (status != SN_OK)
		return status;
	sums = sn_mpi_wait_sums_of(input->profile->program, mpi);
	for (size_t i = 0; i < sums.items.count; i++)
		all_ns += sums.items.items[i].wait_ns;
	for (size_t i = 0; i < sums.items.count; i++)
		wait_row(table, input, mpi, &sums.items.items[i], all_ns);
	sn_vec_free(&sums.items);
	sn_mpi_free(own);
	return SN_OK;
}

/* ---- what goes with the rows ---- */

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_mpi *mpi, *own;
	struct sn_error err;

	if (mpi_get(input, &own, &mpi, &err) != SN_OK)
		return;
	sn_json_key(json, "mode");
	if (mpi->is_traced)
		sn_json_string(json, "trace");
	else
		sn_json_null(json);
	sn_json_member_int(json, "ranks", mpi->rank_count);
	sn_json_key(json, "clock_error_s");
	if (mpi->is_traced && mpi->is_aligned)
		sn_json_double(json, seconds(mpi->clock_error_ns));
	else
		sn_json_null(json);
	sn_json_key(json, "lost");
	sn_json_object(json);
	sn_json_member_uint(json, "mpi", mpi->lost);
	sn_json_close(json);
	sn_json_key(json, "overhead_s");
	sn_json_object(json);
	sn_json_member_double(json, "mpi", seconds(mpi->overhead_ns));
	sn_json_close(json);
	sn_mpi_free(own);
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_text text = { 0 };
	struct sn_mpi *mpi, *own;
	struct sn_error err;

	if (mpi_get(input, &own, &mpi, &err) != SN_OK)
		return;
	if (mpi->is_traced) {
		sn_text_addf(&text, "%d ranks, %zu calls with an event, %zu messages",
			     mpi->rank_count, mpi->events.count, mpi->messages.count);
		if (mpi->host_count > 1 && mpi->is_aligned)
			sn_text_addf(&text, "; clocks of %u hosts agree within %.3g us",
				     mpi->host_count, (double)mpi->clock_error_ns / 1e3);
		else if (mpi->host_count > 1)
			sn_text_addf(&text, "; clocks of %u hosts could not be aligned by messages",
				     mpi->host_count);
		if (mpi->lost)
			sn_text_addf(&text, "; %llu events were lost",
				     (unsigned long long)mpi->lost);
		if (mpi->damaged)
			sn_text_addf(&text, "; the trace is damaged in %llu places",
				     (unsigned long long)mpi->damaged);
		fprintf(out, "%s\n", text.chars);
	}
	sn_text_free(&text);
	sn_mpi_free(own);
}

static void why_no_mpi(const struct sn_view_input *input, struct sn_text *out)
{
	if (!sn_trace_has(input->profile->experiment, SN_TRACE_MPI))
		sn_text_add(out, "MPI was not traced; 'mpirun -n N sonde record --mpi PROGRAM' "
				 "does that");
	else
		sn_text_add(out, "no call of MPI was made that this table would show");
}

static const struct sn_explanation call_words[] = {
	{ "time_s", "time",
	  "Elapsed time within the function, from the call to its return; of a region of OpenMP "
	  "from its opening to its end.",
	  "wait_s" },
	{ "work_s", "time",
	  "Time in the function less waiting for other ranks. Of a region of OpenMP: what its "
	  "threads spent in its code without waiting; a region within it is its work.",
	  "wait_s" },
	{ "bytes_sent", "count",
	  "Bytes that the function's arguments say were given to MPI: messages, and this rank's part "
	  "of collective operations.",
	  "bytes_received" },
	{ "bytes_received", "count",
	  "Bytes that came: of messages where the receive completed, and of collective operations "
	  "what this rank got.",
	  "bytes_sent" },
	{ "messages", "count",
	  "Messages between two ranks: those sent count where the sending began, those received where "
	  "the receive completed.",
	  "bytes_sent" },
	{ "errors", "count", "Calls that failed or returned an error.", NULL },
	{ "unfinished", "count", "Calls that never returned, as the process ended in them.", NULL },
	{ 0 },
};

static const struct sn_explanation message_words[] = {
	{ "from", "key", "World rank of the sender; unknown if it is of another MPI_COMM_WORLD.",
	  "to" },
	{ "to", "key", "World rank of the receiver.", "from" },
	{ "tag", "key", "The message's tag.", NULL },
	{ "comm", "key",
	  "Number of the communicator in this experiment: 0 is MPI_COMM_WORLD, others in the order in "
	  "which they were met.",
	  NULL },
	{ "t0_s", "time", "When the call that sent it began.", "t1_s" },
	{ "t1_s", "time", "When the call in which it came had returned.", "t0_s" },
	{ "state", "key",
	  "received; unreceived: nobody is known to have received it; unsent: it came, and its sender "
	  "was not traced or died in the call; cancelled.",
	  NULL },
	{ "sent_by", "name", "The function that sent it.", "received_by" },
	{ "received_by", "name", "The function in which it came.", "sent_by" },
	{ 0 },
};

static const struct sn_explanation wait_words[] = {
	{ "count", "count", "How often.", NULL },
	{ "mpi_function", "name", "The MPI function in which the rank waited.", NULL },
	{ "for_rank", "key", "The rank that came late, most often.", "wait_s" },
	{ "for_function", "name",
	  "The function from which the late rank called MPI when it came at last.", "for_rank" },
	{ "wait_max_s", "time", "The longest single wait.", "wait_s" },
	{ "wait_s", "time",
	  "Time in calls of MPI before another rank did what the call needs: sent, asked for the "
	  "message, or entered the operation. Of a lock, condition or the like: time from the call "
	  "until the waiter ran again, of all threads together; of OpenMP at barriers, for others "
	  "and for tasks.",
	  "work_s" },
	{ "wait_share", "share",
	  "Part of all waiting for other ranks; in mpi, of the function's time; in blame, of all "
	  "waits for mutexes, read-write and spin locks.",
	  "wait_s" },
	{ 0 },
};

#define COLUMNS(array) .columns = array, .column_count = sizeof(array) / sizeof(*array)

const struct sn_view sn_view_mpi = {
	.name = "mpi",
	.title = "calls of MPI by rank and function: time, waiting, bytes",
	.needs = SN_VIEW_NEEDS_MPI,
	.schema = "sonde.mpi/1",
	COLUMNS(call_columns),
	.words = call_words,
	.text_columns =
		"time_s,wait_s,work_s,wait_share,calls,messages,bytes_sent,bytes_received,rank,"
		"function",
	.sort = "time_s",
	.page_title = "MPI",
	.is_in_report = true,
	.fill = calls_fill,
	.why_empty = why_no_mpi,
	.write_members = members_write,
	.put_foot = foot_put,
};

const struct sn_view sn_view_matrix = {
	.name = "matrix",
	.title = "MPI messages from each rank to each other",
	.needs = SN_VIEW_NEEDS_MPI,
	.schema = "sonde.matrix/1",
	COLUMNS(matrix_columns),
	.is_listing = true,
	.page_title = "MPI messages",
	.fill = matrix_fill,
	.why_empty = why_no_mpi,
	.write_members = members_write,
	.put_foot = foot_put,
};

const struct sn_view sn_view_messages = {
	.name = "messages",
	.title = "each MPI message: who, to whom, when",
	.needs = SN_VIEW_NEEDS_MPI,
	.schema = "sonde.messages/1",
	COLUMNS(message_columns),
	.words = message_words,
	.is_listing = true,
	.fill = messages_fill,
	.why_empty = why_no_mpi,
	.write_members = members_write,
	.put_foot = foot_put,
};

const struct sn_view sn_view_waitstates = {
	.name = "waitstates",
	.title = "ranks that waited for others in MPI, why and where",
	.needs = SN_VIEW_NEEDS_MPI,
	.schema = "sonde.waitstates/1",
	COLUMNS(wait_columns),
	.words = wait_words,
	.data_columns =
		"rank,kind,function,file,line,count,wait_s,mpi_function,for_rank,for_function,wait_share,"
		"wait_max_s",
	.text_columns =
		"wait_share,wait_s,count,wait_max_s,rank,kind,mpi_function,function,source,for_rank,"
		"for_function",
	.sort = "wait_s",
	.page_title = "MPI waiting",
	.is_in_report = true,
	.fill = waits_fill,
	.why_empty = why_no_mpi,
	.write_members = members_write,
	.put_foot = foot_put,
};
