/* The view of counters: each event that overflowed, by function. */
#include <math.h>

#include "base/text.h"
#include "profile/event_profile.h"
#include "views/parts.h"

enum {
	C_FUNCTION,
	C_MODULE,
	C_FILE,
	C_LINE,
	C_EVENT,
	C_EXCLUSIVE,
	C_INCLUSIVE,
	C_EXCLUSIVE_S,
	C_SHARE,
	C_INCLUSIVE_SHARE,
	C_SAMPLES,
	C_SOURCE,
};

static const struct sn_column counters_columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "event", "event", SN_CELL_TEXT, 0 },
	{ "exclusive", "excl events", SN_CELL_INT, 0 },
	{ "inclusive", "incl events", SN_CELL_INT, 0 },
	{ "exclusive_s", "excl s", SN_CELL_SECONDS, 0 },
	{ "exclusive_share", "excl", SN_CELL_SHARE, 0 },
	{ "inclusive_share", "incl", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "source", "source", SN_CELL_TEXT, 0 },
};

static void row_add(const struct sn_event *event, const struct sn_profile *p, uint32_t f,
		    struct sn_table *table)
{
	const struct sn_program_function *function = &p->program->functions.items[f];
	const struct sn_metrics *m = &p->functions[f];

	sn_table_add_row(table);
	sn_table_set_text(table, C_FUNCTION, function->name);
	sn_table_set_text(table, C_MODULE, sn_program_module_name(p->program, function->module));
	sn_table_set_text(table, C_FILE, function->file);
	sn_view_set_line(table, C_LINE, function->line);
	sn_view_set_source(table, C_SOURCE, function->file, function->line);
	sn_table_set_text(table, C_EVENT, event->name);
	sn_table_set_int(table, C_EXCLUSIVE, (int64_t)m->exclusive.cpu_ns);
	sn_table_set_int(table, C_INCLUSIVE, (int64_t)m->inclusive.cpu_ns);
	if (event->hz)
		sn_table_set_real(table, C_EXCLUSIVE_S,
				  (double)m->exclusive.cpu_ns / (double)event->hz);
	sn_table_set_real(table, C_SHARE, sn_share(m->exclusive.cpu_ns, p->total.cpu_ns));
	sn_table_set_real(table, C_INCLUSIVE_SHARE, sn_share(m->inclusive.cpu_ns, p->total.cpu_ns));
	sn_table_set_int(table, C_SAMPLES, (int64_t)m->exclusive.samples);
}

static sn_status counters_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	const struct sn_profile *whole = input->profile;

	for (uint32_t v = 0; v < whole->experiment->events.count; v++) {
		struct sn_event_profile *event;
		sn_status status =
			sn_event_profile_new(whole->program, &whole->filter, v, &event, err);

		if (status != SN_OK)
			return status;
		for (uint32_t f = 0; f < whole->program->functions.count; f++)
			if (event->profile->functions[f].inclusive.samples)
				row_add(&whole->experiment->events.items[v], event->profile, f,
					table);
		sn_event_profile_free(event);
	}
	return SN_OK;
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	sn_text_add(
		out,
		input->profile->experiment->events.count
			? "none of the events that were asked for happened"
			: "no events were sampled; 'sonde record -e page-faults:1 PROGRAM' does that "
			  "('sonde list counters' has their names)");
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	struct sn_text text = { 0 };

	for (uint32_t v = 0; v < input->profile->experiment->events.count; v++) {
		sn_text_clear(&text);
		sn_event_add_words(input->profile->experiment, v, &text);
		fprintf(out, "%s\n", text.chars);
	}
	sn_text_free(&text);
}

static void write_members(const struct sn_view_input *input, struct sn_json *json)
{
	sn_event_write_json(input->profile->experiment, json);
}

static const struct sn_explanation counters_words[] = {
	{ "event", "text",
	  "An event that was sampled (record -e): of the kernel, as page-faults, or of the processor.",
	  "exclusive" },
	{ "exclusive_s", "time",
	  "Exclusive events of a counter that counts cycles, over the clock rate that the processor had "
	  "when the run began.",
	  "exclusive" },
	{ 0 },
};

const struct sn_view sn_view_counters = {
	.name = "counters",
	.title = "events of the kernel and the processor (record -e) by function",
	.needs = SN_VIEW_NEEDS_EVENTS,
	.schema = "sonde.counters/1",
	.columns = counters_columns,
	.column_count = sizeof(counters_columns) / sizeof(*counters_columns),
	.words = counters_words,
	.data_columns = "function,module,file,line,event,exclusive,inclusive,exclusive_s,samples,"
			"exclusive_share,inclusive_share",
	.text_columns =
		"event,exclusive_share,exclusive,exclusive_s,inclusive_share,samples,function,"
		"source,module",
	.sort = "exclusive",
	.is_in_report = true,
	.page_title = "Counters",
	.fill = counters_fill,
	.why_empty = why_empty,
	.write_members = write_members,
	.put_foot = put_foot,
};
