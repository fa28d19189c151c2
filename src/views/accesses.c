/* The views of a trace: its windows, and the accesses in them. */
#include <inttypes.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "profile/companions.h"
#include "views/find.h"
#include "views/parts.h"
#include "wire/accesses.h"

/* ---- what both have ---- */

static uint32_t loop_of(const struct sn_profile *profile, const struct sn_access_window *window)
{
	if (window->stack == SN_NONE || !profile->thread_passes[window->thread])
		return SN_NONE;
	return sn_program_leaf(profile->program, window->stack)->loop;
}

static void why_no_windows(const struct sn_view_input *input, struct sn_text *out)
{
	const char *damage = sn_companion_damage(input->profile, SN_COMPANION_ACCESSES);

	if (damage)
		sn_text_add(out, damage);
	else if (!input->profile->experiment->windows.count)
		sn_text_add(out, "no accesses were recorded in this run: sonde trace records them");
	else
		sn_text_add(out, "none of the loops that were traced is what is asked for");
}

/* ---- windows ---- */

enum {
	W_LOOP,
	W_LABEL,
	W_FUNCTION,
	W_MODULE,
	W_FILE,
	W_LINE_FIRST,
	W_LINE_LAST,
	W_PROCESS,
	W_THREAD,
	W_INSTANCE,
	W_BEGIN,
	W_END,
	W_ACCESSES,
	W_RECORDS,
	W_IS_CUT,
};

static const struct sn_column window_columns[] = {
	{ "loop", "id", SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "process", "process", SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "instance", "instance", SN_CELL_INT, 0 },
	{ "begin_s", "begin s", SN_CELL_SECONDS, 0 },
	{ "end_s", "end s", SN_CELL_SECONDS, 0 },
	{ "accesses", "accesses", SN_CELL_INT, 0 },
	{ "access_records", "records", SN_CELL_INT, 0 },
	{ "is_cut", "cut", SN_CELL_BOOL, 0 },
};

static sn_status windows_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_profile *profile = input->profile;
	const struct sn_experiment *e = profile->experiment;
	struct sn_loop_columns where = sn_loop_columns_find(
		window_columns, sizeof(window_columns) / sizeof(*window_columns));

	(void)err;
	for (size_t i = 0; i < e->windows.count; i++) {
		const struct sn_access_window *window = &e->windows.items[i];
		const struct sn_thread *thread = &e->threads.items[window->thread];
		uint32_t number = loop_of(profile, window);
		const struct sn_program_loop *loop;

		if (number == SN_NONE)
			continue;
		loop = &profile->program->loops.items[number];
		sn_table_add_row(table);
		sn_loop_columns_set(&where, table, loop->code);
		sn_table_set_text(table, W_FUNCTION,
				  profile->program->functions.items[loop->function].name);
		sn_table_set_text(table, W_MODULE,
				  sn_program_module_name(profile->program, loop->module));
		sn_table_set_int(table, W_PROCESS, thread->process);
		sn_table_set_int(table, W_THREAD, thread->tid);
		sn_table_set_int(table, W_INSTANCE, (int64_t)window->number);
		sn_table_set_real(table, W_BEGIN, (double)window->begin_ns / 1e9);
		sn_table_set_real(table, W_END, (double)window->end_ns / 1e9);
		sn_table_set_int(table, W_ACCESSES, (int64_t)window->accesses);
		sn_table_set_int(table, W_RECORDS, window->record_count);
		sn_table_set_int(table, W_IS_CUT, window->is_cut);
	}
	return SN_OK;
}

static const struct sn_explanation window_words[] = {
	{ "instance", "number", "Which instance of the loop in its thread this is, from 0.",
	  "accesses" },
	{ "begin_s", "time", "When the instance began, since the start of the run.", NULL },
	{ "end_s", "time", "When its last access was recorded.", NULL },
	{ "accesses", "count",
	  "Accesses to memory that were recorded. In 'show caches' those of them that reach the level: "
	  "of L1 and TLB all, of others the misses of the level before; one that spans two lines is two.",
	  "is_cut" },
	{ "access_records", "count",
	  "Records that hold them: one for many where addresses move by a constant.", NULL },
	{ "is_cut", "yes or no",
	  "Yes: accesses are missing at the end, as there was no room for more, or the instance never "
	  "ended.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_windows = {
	.name = "windows",
	.title = "instances of loops whose memory accesses were recorded (sonde trace)",
	.needs = SN_VIEW_NEEDS_WINDOWS,
	.schema = "sonde.windows/1",
	.columns = window_columns,
	.column_count = sizeof(window_columns) / sizeof(*window_columns),
	.words = window_words,
	.text_columns =
		"process,thread,instance,begin_s,accesses,access_records,is_cut,label,function,"
		"module",
	.fill = windows_fill,
	.why_empty = why_no_windows,
};

/* ---- accesses ---- */

enum {
	A_PROCESS,
	A_THREAD,
	A_LABEL,
	A_INSTANCE,
	A_GROUP,
	A_PC,
	A_ADDRESS,
	A_STRIDE,
	A_COUNT,
	A_SIZE,
	A_KIND,
};

static const struct sn_column access_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },  { "thread", "thread", SN_CELL_INT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },	   { "instance", "instance", SN_CELL_INT, 0 },
	{ "group", "group", SN_CELL_INT, 0 },	   { "pc", "pc", SN_CELL_TEXT, 0 },
	{ "address", "address", SN_CELL_TEXT, 0 }, { "stride_bytes", "stride", SN_CELL_INT, 0 },
	{ "count", "count", SN_CELL_INT, 0 },	   { "size_bytes", "size", SN_CELL_INT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
};

static void set_hex(struct sn_table *table, size_t column, uint64_t value)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "0x%" PRIx64, value);
	sn_table_set_text(table, column, text.chars);
	sn_text_free(&text);
}

static void window_rows(const struct sn_view_input *input, struct sn_table *table,
			const struct sn_access_window *window, const char *label)
{
	static const char *const kinds[] = { "", "read", "write", "both" };
	const struct sn_thread *thread = &input->profile->experiment->threads.items[window->thread];
	int64_t group = -1;

	for (uint32_t i = 0; i < window->record_count; i++) {
		const struct sn_access_record *record = &window->records[i];

		group += record->group_length != 0;
		sn_table_add_row(table);
		sn_table_set_int(table, A_PROCESS, thread->process);
		sn_table_set_int(table, A_THREAD, thread->tid);
		sn_table_set_text(table, A_LABEL, label);
		sn_table_set_int(table, A_INSTANCE, (int64_t)window->number);
		sn_table_set_int(table, A_GROUP, group);
		set_hex(table, A_PC, record->link_addr);
		set_hex(table, A_ADDRESS, record->address);
		sn_table_set_int(table, A_STRIDE, record->stride_bytes);
		sn_table_set_int(table, A_COUNT, record->count);
		sn_table_set_int(table, A_SIZE, record->size_bytes);
		sn_table_set_text(table, A_KIND, kinds[record->kind & SN_ACCESS_BOTH]);
	}
}

static sn_status accesses_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	const struct sn_profile *profile = input->profile;
	uint32_t only = SN_NONE;

	if (input->subject) {
		sn_status status = sn_find_loop(profile, input->subject, true, &only, err);

		if (status != SN_OK)
			return status;
	}
	for (size_t i = 0; i < profile->experiment->windows.count; i++) {
		const struct sn_access_window *window = &profile->experiment->windows.items[i];
		uint32_t loop = loop_of(profile, window);

		if (loop != SN_NONE && (only == SN_NONE || only == loop))
			window_rows(input, table, window,
				    profile->program->loops.items[loop].code->label);
	}
	return SN_OK;
}

static const struct sn_explanation access_words[] = {
	{ "group", "number",
	  "Which group of the window the record is in, from 0. Records of a group take turns: first "
	  "each one's first access, then each one's second, and so on.",
	  "count" },
	{ "pc", "hexadecimal", "Of the instruction, in its module's file.", "address" },
	{ "address", "hexadecimal",
	  "Of the record's first access, in the process. In 'show sharing' of the first byte that moved.",
	  "stride_bytes" },
	{ "stride_bytes", "bytes",
	  "How far each access lies behind the one before. In 'show caches' where more than half of all "
	  "accesses keep it.",
	  "count" },
	{ 0 },
};

const struct sn_view sn_view_accesses = {
	.name = "accesses",
	.title = "memory accesses that were recorded, in their order (sonde trace)",
	.needs = SN_VIEW_NEEDS_WINDOWS,
	.subject = "[LOOP]",
	.schema = "sonde.accesses/1",
	.columns = access_columns,
	.column_count = sizeof(access_columns) / sizeof(*access_columns),
	.words = access_words,
	.text_columns = "instance,group,pc,address,stride_bytes,count,size_bytes,kind,label,thread",
	.fill = accesses_fill,
	.why_empty = why_no_windows,
};
