/* The view of states: what threads did in each function beside computing. */
#include "profile/thread_states.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "views/faults.h"
#include "views/parts.h"

enum {
	T_FUNCTION,
	T_MODULE,
	T_FILE,
	T_LINE,
	T_TOTAL,
	T_SHARE,
	T_USER,
	T_MINOR = T_USER + SN_STATES,
	T_MAJOR
};

static const struct sn_column states_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "wall_s", "wall s", SN_CELL_SECONDS, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "user_s", "user s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "wait_cpu_s", "no CPU s", SN_CELL_SECONDS, 0 },
	{ "lock_s", "lock s", SN_CELL_SECONDS, 0 },
	{ "io_s", "I/O s", SN_CELL_SECONDS, 0 },
	{ "poll_s", "poll s", SN_CELL_SECONDS, 0 },
	{ "sleep_s", "sleep s", SN_CELL_SECONDS, 0 },
	{ "child_s", "child s", SN_CELL_SECONDS, 0 },
	{ "other_wait_s", "other s", SN_CELL_SECONDS, 0 },
	{ "minor_faults", NULL, SN_CELL_INT, 0 },
	{ "major_faults", NULL, SN_CELL_INT, 0 },
};

static void row_begin(struct sn_table *table, const struct sn_program *program,
		      const struct sn_faults *faults, uint32_t number)
{
	static const size_t columns[SN_FAULTS] = { T_MINOR, T_MAJOR };
	const struct sn_program_function *f;

	sn_table_add_row(table);
	sn_table_set_text(table, T_FUNCTION, "[not placed]");
	if (number == SN_NONE)
		return;
	f = &program->functions.items[number];
	sn_table_set_text(table, T_FUNCTION, f->name);
	sn_table_set_text(table, T_MODULE, sn_program_module_name(program, f->module));
	sn_table_set_text(table, T_FILE, f->file);
	sn_view_set_line(table, T_LINE, f->line);
	for (int kind = 0; kind < SN_FAULTS; kind++) {
		int64_t count = sn_faults_in(faults, number, (enum sn_fault)kind);

		if (count >= 0) /* else they were not sampled */
			sn_table_set_int(table, columns[kind], count);
	}
}

static void times_set(struct sn_table *table, const struct sn_function_states *row,
		      uint64_t total_ns)
{
	sn_table_set_real(table, T_TOTAL, (double)row->total_ns / 1e9);
	sn_table_set_real(table, T_SHARE, sn_share(row->total_ns, total_ns));
	for (int s = 0; s < SN_STATES; s++)
		sn_table_set_real(table, T_USER + (size_t)s, (double)row->ns[s] / 1e9);
}

/* Functions with page faults in which no sample of time fell. */
static void faulting_add(struct sn_table *table, const struct sn_program *program,
			 const struct sn_faults *faults, const uint8_t *is_there, uint64_t total_ns)
{
	static const struct sn_function_states none;

	for (uint32_t f = 0; f < program->functions.count; f++) {
		if (is_there[f] || (sn_faults_in(faults, f, SN_FAULT_MINOR) <= 0 &&
				    sn_faults_in(faults, f, SN_FAULT_MAJOR) <= 0))
			continue;
		row_begin(table, program, faults, f);
		times_set(table, &none, total_ns);
	}
}

static sn_status states_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	struct sn_thread_states states;
	struct sn_faults faults;
	uint8_t *is_there;
	uint64_t total_ns = 0;
	sn_status status = sn_faults_find(input->profile, &faults, err);

	if (status != SN_OK)
		return status;
	is_there = sn_alloc_zeroed(program->functions.count + 1, 1);
	sn_thread_states_find(input->profile, &states);
	for (int s = 0; s < SN_STATES; s++)
		total_ns += states.ns[s];
	for (size_t i = 0; i < states.items.count; i++) {
		const struct sn_function_states *row = &states.items.items[i];

		row_begin(table, program, &faults, row->function);
		times_set(table, row, total_ns);
		if (row->function != SN_NONE)
			is_there[row->function] = 1;
	}
	faulting_add(table, program, &faults, is_there, total_ns);
	sn_thread_states_free(&states);
	sn_faults_free(&faults);
	free(is_there);
	return SN_OK;
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	struct sn_thread_states states;

	sn_thread_states_find(input->profile, &states);
	if (states.threads_unknown)
		fprintf(out,
			"%u thread%s of which waiting for a CPU and untraced blocking %s not known: %s\n",
			states.threads_unknown, states.threads_unknown == 1 ? "" : "s",
			states.threads_unknown == 1 ? "is" : "are",
			input->profile->is_filtered
				? "a filter by time, module or function cuts through "
				  "the kernel's account"
				: "the kernel's account is missing");
	sn_thread_states_free(&states);
}

static void write_members(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_thread_states states;

	sn_thread_states_find(input->profile, &states);
	sn_json_member_int(json, "threads_unknown", states.threads_unknown);
	sn_thread_states_free(&states);
}

static const struct sn_explanation states_words[] = {
	{ "wall_s", "time", "In 'show states': the sum of a row's states.", NULL },
	{ "lock_s", "time",
	  "Blocked in locks, conditions, barriers, semaphores and joins that the function called.",
	  "kind" },
	{ "io_s", "time", "Blocked in reading and writing that the function asked for.", NULL },
	{ "poll_s", "time", "Blocked in poll, select or epoll_wait.", NULL },
	{ "sleep_s", "time", "Asleep, because the function asked for it.", NULL },
	{ "child_s", "time", "Blocked until a child process ended.", NULL },
	{ "other_wait_s", "time",
	  "Blocked otherwise: calls that are not traced (page faults that read a disk, system calls "
	  "of a program's own), placed by the gaps between samples.",
	  NULL },
	{ 0 },
};

const struct sn_view sn_view_states = {
	.name = "states",
	.title =
		"what threads did in each function: computed, waited for a CPU, blocked, and on what",
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = "sonde.states/1",
	.columns = states_columns,
	.column_count = sizeof(states_columns) / sizeof(*states_columns),
	.words = states_words,
	.text_columns =
		"share,wall_s,user_s,system_s,wait_cpu_s,lock_s,io_s,poll_s,sleep_s,child_s,"
		"other_wait_s,function,module",
	.share_column = "share",
	.is_in_report = true,
	.page_title = "States",
	.fill = states_fill,
	.put_foot = put_foot,
	.write_members = write_members,
};
