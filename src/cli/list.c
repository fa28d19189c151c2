/* sonde list: the experiments of a folder, and their removal. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/counters.h"
#include "experiment/store.h"

static const struct sn_column list_columns[] = {
	{ "experiment", "experiment", SN_CELL_TEXT, 0 },
	{ "recorded", "recorded (UTC)", SN_CELL_TEXT, 0 },
	{ "size_bytes", NULL, SN_CELL_INT, 0 },
	{ "size_mb", "MB", SN_CELL_REAL, 1 },
};

static int list_remove(const struct sn_args *args)
{
	int code = SN_EXIT_OK;

	if (!args->operand_count) {
		sn_warn("name the experiments to remove: sonde list --remove sonde.app.1");
		return SN_EXIT_USAGE;
	}
	for (size_t i = 0; i < args->operand_count; i++) {
		struct sn_error err;
		struct sn_text path = { 0 };

		if (sn_store_resolve(args->operands[i], &path, &err) != SN_OK ||
		    sn_store_remove(path.chars, &err) != SN_OK)
			code = sn_error_print(&err);
		else
			printf("removed %s\n", path.chars);
		sn_text_free(&path);
	}
	return code;
}

/* "list experiments" reads well, so the word may stand there, unless it names a folder. */
static const char *folder_of(const struct sn_args *args)
{
	bool has_word = args->operand_count && !strcmp(args->operands[0], "experiments") &&
			access(args->operands[0], F_OK) != 0;

	return args->operand_count > has_word ? args->operands[has_word] : NULL;
}

static bool asks_for_counters(const struct sn_args *args)
{
	return args->operand_count == 1 && !strcmp(args->operands[0], "counters") &&
	       access(args->operands[0], F_OK) != 0;
}

/* In the manual's form, unless a table is asked for. */
static int list_counters(const struct sn_args *args)
{
	struct sn_table_view view = { 0 };
	struct sn_error err;
	sn_status status;

	if (!args->given_count) {
		sn_counters_print(stdout);
		return SN_EXIT_OK;
	}
	status = sn_args_table_view(args, &view, &err);
	if (status == SN_OK)
		status = sn_counters_write(&view, stdout, &err);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static int list_run(const struct sn_args *args)
{
	struct sn_table_view view = { .schema = "sonde.list/1" };
	struct sn_store_list list;
	struct sn_table table;
	struct sn_error err;
	sn_status status;

	if (sn_args_flag(args, "remove"))
		return list_remove(args);
	if (asks_for_counters(args))
		return list_counters(args);
	status = sn_args_table_view(args, &view, &err);
	if (status == SN_OK)
		status = sn_store_list(folder_of(args), &list, &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	sn_table_init(&table, list_columns, sizeof(list_columns) / sizeof(*list_columns));
	for (size_t i = 0; i < list.entries.count; i++) {
		const struct sn_store_entry *entry = &list.entries.items[i];
		time_t at = (time_t)(entry->modified_ns / 1000000000);
		struct tm utc;
		char recorded[32];

		strftime(recorded, sizeof(recorded), "%Y-%m-%d %H:%M:%S", gmtime_r(&at, &utc));
		sn_table_add_row(&table);
		sn_table_set_text(&table, 0, entry->path);
		sn_table_set_text(&table, 1, recorded);
		sn_table_set_int(&table, 2, (int64_t)entry->size_bytes);
		sn_table_set_real(&table, 3, (double)entry->size_bytes / 1e6);
	}
	status = sn_table_write(&table, &view, stdout, NULL, NULL, &err);
	if (status == SN_OK && !table.row_count)
		sn_warn("there is no experiment in '%s'; 'sonde record' makes one in the folder in "
			"which it is started, 'sonde list FOLDER' looks elsewhere",
			folder_of(args) ? folder_of(args) : ".");
	else if (status == SN_OK && !sn_table_rows_shown(&table, &view))
		sn_warn("none of %zu experiments passes --filter '%s'", table.row_count,
			view.filter);
	sn_table_free(&table);
	sn_store_list_free(&list);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option list_options[] = {
	{ "remove", 0, NULL, "remove the experiments named, and only what sonde wrote in them",
	  NULL },
	SN_TABLE_OPTIONS,
	{ 0 },
};

const struct sn_command sn_command_list = {
	.name = "list",
	.operands = "[experiments] [FOLDER] | counters | --remove EXPERIMENT...",
	.summary = "Lists the experiments of a folder, newest first, or the counters of record -e",
	.description =
		"@0 is the newest, @-1 the one before; every command that reads an experiment "
		"takes such names.\n\n"
		"'sonde list counters' prints the clock's range and the events that record -e knows: names, "
		"default intervals, and why one cannot be had here.",
	.options = list_options,
	.examples =
		(const char *const[]){ "sonde list", "those of this folder", "sonde list counters",
				       "the events of record -e", "sonde list --remove @-1",
				       "remove the last but one", NULL },
	.run = list_run,
};
