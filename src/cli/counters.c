/* sonde list counters, and sonde collect -h alone: the names of counters, in the manual's form or as a table. */
#include "cli/counters.h"

#include <stdio.h>
#include <string.h>

#include "record/counters.h"

enum { L_COUNTER, L_KIND, L_INTERVAL, L_DESCRIPTION, L_ALIAS, L_UNITS, L_AVAILABLE, L_REASON };

static const struct sn_column counter_columns[] = {
	{ "counter", "counter", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "interval", "interval", SN_CELL_INT, 0 },
	{ "description", "description", SN_CELL_TEXT, 0 },
	{ "alias_for", "alias for", SN_CELL_TEXT, 0 },
	{ "units", "units", SN_CELL_TEXT, 0 },
	{ "available", "available", SN_CELL_BOOL, 0 },
	{ "reason", "reason", SN_CELL_TEXT, 0 },
};

static const char *const kinds[] = {
	[SN_COUNTER_ALIAS] = "alias", [SN_COUNTER_SOFTWARE] = "software", [SN_COUNTER_RAW] = "raw"
};

static const char *units_of(const struct sn_counter_listed *item)
{
	if (item->is_clock)
		return item->kind == SN_COUNTER_SOFTWARE ? "ns" : "CPU-cycles";
	return item->has_addresses && item->kind != SN_COUNTER_SOFTWARE ? "load-store events"
									: "events";
}

sn_status sn_counters_write(struct sn_table_view *view, FILE *out, struct sn_error *err)
{
	struct sn_counter_list list;
	struct sn_table table;
	sn_status status;

	sn_counters_list(&list);
	sn_table_init(&table, counter_columns, sizeof(counter_columns) / sizeof(*counter_columns));
	for (size_t i = 0; i < list.items.count; i++) {
		const struct sn_counter_listed *item = &list.items.items[i];

		sn_table_add_row(&table);
		sn_table_set_text(&table, L_COUNTER, item->name);
		sn_table_set_text(&table, L_KIND, kinds[item->kind]);
		sn_table_set_int(&table, L_INTERVAL, (int64_t)item->period);
		sn_table_set_text(&table, L_DESCRIPTION, item->title);
		sn_table_set_text(&table, L_ALIAS, item->alias_for);
		sn_table_set_text(&table, L_UNITS, units_of(item));
		sn_table_set_int(&table, L_AVAILABLE, !item->refusal);
		sn_table_set_text(&table, L_REASON, item->refusal);
	}
	view->schema = "sonde.list-counters/1";
	status = sn_table_write(&table, view, out, NULL, NULL, err);
	sn_table_free(&table);
	sn_counter_list_free(&list);
	return status;
}

static void kind_print(const struct sn_counter_list *list, enum sn_counter_kind kind,
		       const char *heading, FILE *out)
{
	const char *refusal = NULL;
	size_t shown = 0, refused = 0;

	fprintf(out, "%s\n", heading);
	for (size_t i = 0; i < list->items.count; i++) {
		const struct sn_counter_listed *item = &list->items.items[i];

		if (item->kind != kind)
			continue;
		if (item->refusal) {
			refusal = item->refusal;
			refused++;
			continue;
		}
		fprintf(out, "    %s,%llu (`%s'", item->name, (unsigned long long)item->period,
			item->title);
		if (item->alias_for)
			fprintf(out, ", alias for %s", item->alias_for);
		fprintf(out, "; %s)\n", units_of(item));
		shown++;
	}
	if (refused)
		fprintf(out, "    %s%zu that have a name cannot be had here: %s\n",
			shown ? "and " : "none; ", refused, refusal);
	if (kind == SN_COUNTER_RAW && list->library)
		fprintf(out, "    %s\n", list->library);
	fputs("\n", out);
}

void sn_counters_print(FILE *out)
{
	struct sn_counter_list list;

	sn_counters_list(&list);
	fputs("Clock profiling: -p lo (10 samples a second of CPU time), on (100), hi (1000), or an interval of "
	      "0.05 to 10000 ms;\n    by perf events where the kernel has them, else by CPU timers, once a kernel "
	      "tick at most\n\n",
	      out);
	kind_print(&list, SN_COUNTER_ALIAS, "Aliased HW counters available for profiling:", out);
	kind_print(&list, SN_COUNTER_SOFTWARE, "Software counters available for profiling:", out);
	kind_print(&list, SN_COUNTER_RAW, "Raw HW counters available for profiling:", out);
	fputs("A number rUUEE (umask and event in hexadecimal) names a counter, too. The number behind a name is "
	      "the interval of `on';\n`hi' is a tenth of it, `lo' ten times as much. Linux chooses the registers.\n",
	      out);
	sn_counter_list_free(&list);
}
