/* The view of input and output: calls, bytes, time and errors by file and operation. */
#include "io/io.h"

#include "base/text.h"
#include "heap/sites.h"
#include "views/parts.h"

enum {
	I_FILE,
	I_OPERATION,
	I_CALLS,
	I_BYTES,
	I_TIME,
	I_ERRORS,
	I_MEAN,
	I_SMALL,
	I_SEQUENTIAL,
	I_BELOW,
	I_ERROR_KINDS,
	I_SITE,
	I_FUNCTION,
	I_SOURCE_FILE,
	I_LINE,
	I_MODULE,
	I_MET,
	I_CALLS_LOW,
	I_CALLS_HIGH,
};

static const struct sn_column io_columns[] = {
	{ "file", "file", SN_CELL_TEXT, 0 },
	{ "operation", "operation", SN_CELL_TEXT, 0 },
	{ "calls", "calls", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 },
	{ "errors", "errors", SN_CELL_INT, 0 },
	{ "mean_bytes", "mean B", SN_CELL_REAL, 1 },
	{ "small_share", "small", SN_CELL_SHARE, 0 },
	{ "sequential_share", "in turn", SN_CELL_SHARE, 0 },
	{ "below_bytes", "below B", SN_CELL_INT, 0 },
	{ "error_kinds", "errors were", SN_CELL_TEXT, 0 },
	{ "site", "mostly from", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "source_file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "met", NULL, SN_CELL_INT, 0 },
	{ "calls_low", NULL, SN_CELL_INT, 0 },
	{ "calls_high", NULL, SN_CELL_INT, 0 },
};

/* What was read before for the same input, or now. */
static sn_status io_get(const struct sn_view_input *input, struct sn_io **out, struct sn_error *err)
{
	if (!*input->io) {
		sn_status status = sn_io_read(input->profile->program, input->io, err);

		if (status != SN_OK)
			return status;
	}
	*out = *input->io;
	return SN_OK;
}

static void use_add(struct sn_table *table, const struct sn_program *program,
		    const struct sn_io_use *use)
{
	static const struct sn_site_columns columns = { I_SITE, I_FUNCTION, I_SOURCE_FILE, I_LINE,
							I_MODULE };
	uint64_t low, high;

	sn_table_add_row(table);
	sn_view_set_site(table, &columns, program, use->site);
	sn_table_set_text(table, I_FILE, use->file);
	sn_table_set_text(table, I_OPERATION, sn_io_operation_name(use->operation));
	sn_table_set_int(table, I_CALLS, (int64_t)use->calls);
	sn_table_set_int(table, I_BYTES, (int64_t)use->bytes);
	sn_table_set_real(table, I_TIME, (double)use->time_ns / 1e9);
	sn_table_set_int(table, I_ERRORS, (int64_t)use->errors);
	sn_table_set_text(table, I_ERROR_KINDS, use->error_words);
	sn_io_interval(use->calls, use->calls_variance, &low, &high);
	sn_table_set_int(table, I_MET, (int64_t)use->met);
	sn_table_set_int(table, I_CALLS_LOW, (int64_t)low);
	sn_table_set_int(table, I_CALLS_HIGH, (int64_t)high);
	if (!use->moving)
		return;
	sn_table_set_real(table, I_MEAN, (double)use->bytes / (double)use->moving);
	sn_table_set_real(table, I_SMALL, sn_share(use->small, use->moving));
	sn_table_set_real(table, I_SEQUENTIAL, sn_share(use->sequential, use->calls));
	sn_table_set_int(table, I_BELOW, (int64_t)use->below_bytes);
}

static sn_status io_fill(const struct sn_view_input *input, struct sn_table *table,
			 struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_io *io, *own = NULL;
	sn_status status;

	if (!ours.io)
		ours.io = &own;
	status = io_get(&ours, &io, err);
	for (size_t i = 0; status == SN_OK && i < io->uses.count; i++)
		use_add(table, input->profile->program, &io->uses.items[i]);
	sn_io_free(own);
	return status;
}

static void why_no_io(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_io *io;
	struct sn_error err;

	if (input->io && io_get(input, &io, &err) == SN_OK && io->is_traced)
		sn_text_add(out, "the program made no call of input or output");
	else
		sn_text_add(out, "input and output were not traced; 'sonde record --io PROGRAM' "
				 "does that");
}

static void unseen_write(struct sn_json *json, const char *key, int64_t kernel, uint64_t traced)
{
	sn_json_key(json, key);
	if (kernel < 0)
		sn_json_null(json);
	else
		sn_json_int(json, kernel - (int64_t)traced);
}

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_io *io;
	struct sn_error err;

	if (io_get(input, &io, &err) != SN_OK)
		return;
	sn_json_member_uint(json, "calls", io->calls);
	sn_json_member_uint(json, "met", io->met);
	sn_json_member_double(json, "time_s", (double)io->time_ns / 1e9);
	sn_json_member_uint(json, "read_bytes", io->read_bytes);
	sn_json_member_uint(json, "written_bytes", io->written_bytes);
	unseen_write(json, "unseen_read_bytes", io->kernel_read_bytes, io->countable_read_bytes);
	unseen_write(json, "unseen_write_bytes", io->kernel_written_bytes,
		     io->countable_written_bytes);
	sn_json_key(json, "lost");
	sn_json_object(json);
	sn_json_member_uint(json, "io", io->lost);
	sn_json_close(json);
	sn_json_key(json, "overhead_s");
	sn_json_object(json);
	sn_json_member_double(json, "io", (double)io->overhead_ns / 1e9);
	sn_json_close(json);
}

static void account_tell(const struct sn_io *io, struct sn_text *text)
{
	if (io->kernel_read_bytes < 0) {
		sn_text_add(text, "; the kernel's account is not known: a process was killed, or "
				  "ended in another way that we do not see");
		return;
	}
	sn_text_addf(text, "; the kernel's account has %+lld and %+lld bytes besides",
		     (long long)(io->kernel_read_bytes - (int64_t)io->countable_read_bytes),
		     (long long)(io->kernel_written_bytes - (int64_t)io->countable_written_bytes));
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_text text = { 0 };
	struct sn_io *io;
	struct sn_error err;

	if (io_get(input, &io, &err) != SN_OK || !io->is_traced)
		return;
	sn_text_add_counted(&text, io->calls, "call");
	sn_text_addf(&text, ", %.3g s in all threads; ", (double)io->time_ns / 1e9);
	sn_heap_add_size(&text, io->read_bytes);
	sn_text_add(&text, " read, ");
	sn_heap_add_size(&text, io->written_bytes);
	sn_text_add(&text, " written");
	if (io->met < io->calls) {
		uint64_t low, high;

		sn_io_interval(io->calls, io->calls_variance, &low, &high);
		sn_text_addf(&text,
			     "; estimates, from %llu calls that were met: 95 %% within %llu and "
			     "%llu calls",
			     (unsigned long long)io->met, (unsigned long long)low,
			     (unsigned long long)high);
	} else {
		account_tell(io, &text);
	}
	if (io->lost)
		sn_text_addf(&text, "; %llu %s lost", (unsigned long long)io->lost,
			     io->lost == 1 ? "call was" : "calls were");
	if (io->damaged)
		sn_text_addf(&text, "; %llu %s", (unsigned long long)io->damaged,
			     sn_view_pieces_are_damaged(io->damaged));
	fprintf(out, "%s\n", text.chars);
	sn_text_free(&text);
}

static const struct sn_explanation io_words[] = {
	{ "operation", "text",
	  "The call that the program made: of a stream fread or fprintf, not the read or write "
	  "beneath it.",
	  NULL },
	{ "error_kinds", "text", "Which errors, and how often each.", "errors" },
	{ "small_share", "share",
	  "Which part of the calls that moved bytes moved fewer than 4,096.", "mean_bytes" },
	{ "sequential_share", "share",
	  "Which part of the calls began where the one before on the descriptor had ended.", NULL },
	{ "met", "count", "Calls that were looked at: all, but of a sample (--io=sample).",
	  "calls" },
	{ "calls_low", "count", "The fewest calls that a sample leaves possible (95 %).", "calls" },
	{ "calls_high", "count", "The most calls that a sample leaves possible (95 %).", "calls" },
	{ "below_bytes", "count", "No call moved so many bytes: a power of two.", "mean_bytes" },
	{ "source_file", "text", "The source file of the site.", "site" },
	{ 0 },
};

const struct sn_view sn_view_io = {
	.name = "io",
	.title = "input and output by file and operation: calls, bytes, time, errors",
	.needs = SN_VIEW_NEEDS_IO,
	.schema = "sonde.io/1",
	.columns = io_columns,
	.column_count = sizeof(io_columns) / sizeof(*io_columns),
	.words = io_words,
	.text_columns = "time_s,calls,bytes,mean_bytes,small_share,errors,operation,file,site",
	.sort = "time_s",
	.page_title = "Input and output",
	.is_in_report = true,
	.fill = io_fill,
	.why_empty = why_no_io,
	.write_members = members_write,
	.put_foot = foot_put,
};
