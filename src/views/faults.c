/* The view of page faults: minor and major ones by function, with its callees'. */
#include "views/faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/event_profile.h"
#include "views/parts.h"

static const char *const names[SN_FAULTS] = { "minor-faults", "major-faults" };

sn_status sn_faults_find(const struct sn_profile *profile, struct sn_faults *out,
			 struct sn_error *err)
{
	const struct sn_experiment *e = profile->experiment;
	size_t bytes = profile->program->functions.count * sizeof(*out->of[0]);

	*out = (struct sn_faults){ 0 };
	for (uint32_t v = 0; v < e->events.count; v++) {
		struct sn_event_profile *event;
		int kind = 0;
		sn_status status;

		while (kind < SN_FAULTS && strcmp(e->events.items[v].name, names[kind]) != 0)
			kind++;
		if (kind == SN_FAULTS || out->is_known[kind])
			continue;
		status = sn_event_profile_new(profile->program, &profile->filter, v, &event, err);
		if (status != SN_OK) {
			sn_faults_free(out);
			return status;
		}
		out->is_known[kind] = true;
		out->of[kind] = sn_alloc(bytes + 1);
		memcpy(out->of[kind], event->profile->functions, bytes);
		out->total[kind] = event->profile->total.cpu_ns;
		sn_event_profile_free(event);
	}
	return SN_OK;
}

void sn_faults_free(struct sn_faults *faults)
{
	for (int kind = 0; kind < SN_FAULTS; kind++)
		free(faults->of[kind]);
	*faults = (struct sn_faults){ 0 };
}

int64_t sn_faults_in(const struct sn_faults *faults, uint32_t function, enum sn_fault kind)
{
	return faults->is_known[kind] ? (int64_t)faults->of[kind][function].exclusive.cpu_ns : -1;
}

enum {
	F_FUNCTION,
	F_MODULE,
	F_FILE,
	F_LINE,
	F_MINOR,
	F_MINOR_INCLUSIVE,
	F_MINOR_SHARE,
	F_MAJOR,
	F_MAJOR_INCLUSIVE,
	F_MAJOR_SHARE,
	F_SOURCE,
};

static const struct sn_column faults_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "minor_faults", "minor faults", SN_CELL_INT, 0 },
	{ "minor_faults_inclusive", "incl minor", SN_CELL_INT, 0 },
	{ "minor_faults_share", "minor", SN_CELL_SHARE, 0 },
	{ "major_faults", "major faults", SN_CELL_INT, 0 },
	{ "major_faults_inclusive", "incl major", SN_CELL_INT, 0 },
	{ "major_faults_share", "major", SN_CELL_SHARE, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
};

static void kind_set(struct sn_table *table, size_t column, const struct sn_faults *faults,
		     uint32_t function, enum sn_fault kind)
{
	const struct sn_metrics *m;

	if (!faults->is_known[kind])
		return;
	m = &faults->of[kind][function];
	sn_table_set_int(table, column, (int64_t)m->exclusive.cpu_ns);
	sn_table_set_int(table, column + 1, (int64_t)m->inclusive.cpu_ns);
	sn_table_set_real(table, column + 2, sn_share(m->exclusive.cpu_ns, faults->total[kind]));
}

static bool has_any(const struct sn_faults *faults, uint32_t function)
{
	for (int kind = 0; kind < SN_FAULTS; kind++)
		if (faults->is_known[kind] && faults->of[kind][function].inclusive.cpu_ns)
			return true;
	return false;
}

static sn_status faults_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	const struct sn_program *program = input->profile->program;
	struct sn_faults faults;
	sn_status status = sn_faults_find(input->profile, &faults, err);

	for (uint32_t f = 0; status == SN_OK && f < program->functions.count; f++) {
		const struct sn_program_function *function = &program->functions.items[f];

		if (!has_any(&faults, f))
			continue;
		sn_table_add_row(table);
		sn_table_set_text(table, F_FUNCTION, function->name);
		sn_table_set_text(table, F_MODULE,
				  sn_program_module_name(program, function->module));
		sn_table_set_text(table, F_FILE, function->file);
		sn_view_set_line(table, F_LINE, function->line);
		sn_view_set_source(table, F_SOURCE, function->file, function->line);
		kind_set(table, F_MINOR, &faults, f, SN_FAULT_MINOR);
		kind_set(table, F_MAJOR, &faults, f, SN_FAULT_MAJOR);
	}
	sn_faults_free(&faults);
	return status;
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	const struct sn_experiment *e = input->profile->experiment;

	for (uint32_t v = 0; v < e->events.count; v++) {
		struct sn_text text = { 0 };

		for (int kind = 0; kind < SN_FAULTS; kind++)
			if (!strcmp(e->events.items[v].name, names[kind]))
				sn_event_add_words(e, v, &text);
		if (text.length)
			fprintf(out, "%s\n", text.chars);
		sn_text_free(&text);
	}
}

static void write_members(const struct sn_view_input *input, struct sn_json *json)
{
	sn_event_write_json(input->profile->experiment, json);
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	const struct sn_experiment *e = input->profile->experiment;
	bool is_known = false;

	for (uint32_t v = 0; v < e->events.count; v++)
		for (int kind = 0; kind < SN_FAULTS; kind++)
			is_known |= !strcmp(e->events.items[v].name, names[kind]);
	sn_text_add(out, is_known ? "no page fault was met by the sample"
				  : "page faults were not sampled; 'sonde record --collect faults "
				    "PROGRAM' does that");
}

static const struct sn_explanation faults_words[] = {
	{ "minor_faults_inclusive", "count", "Minor page faults in the function and what it calls.",
	  "minor_faults" },
	{ "major_faults_inclusive", "count", "Major page faults in the function and what it calls.",
	  "major_faults" },
	{ "minor_faults_share", "share", "The function's part of all minor page faults.",
	  "minor_faults" },
	{ "major_faults_share", "share", "The function's part of all major page faults.",
	  "major_faults" },
	{ 0 },
};

const struct sn_view sn_view_faults = {
	.name = "faults",
	.title = "page faults by function: minor ones, and major ones, which wait for a disk",
	.needs = SN_VIEW_NEEDS_EVENTS,
	.schema = "sonde.faults/1",
	.columns = faults_columns,
	.column_count = sizeof(faults_columns) / sizeof(*faults_columns),
	.words = faults_words,
	.text_columns = "minor_faults_share,minor_faults,minor_faults_inclusive,major_faults,"
			"major_faults_inclusive,function,source,module",
	.sort = "minor_faults",
	.fill = faults_fill,
	.why_empty = why_empty,
	.write_members = write_members,
	.put_foot = put_foot,
};
