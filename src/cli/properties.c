/* sonde properties: the files of performance properties: checked, listed, explained, evaluated. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/properties.h"
#include "search/database/tables.h"
#include "search/properties/library.h"
#include "search/properties/print.h"
#include "search/properties/write.h"

sn_status sn_library_of_args(const struct sn_args *args, struct sn_library **out, size_t *errors,
			     struct sn_error *err)
{
	struct sn_library *library = sn_library_new();
	sn_status status = SN_OK;

	for (size_t i = 0; i < args->given_count && status == SN_OK; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "properties"))
			status = sn_library_add(library, args->given[i].value, err);
	if (status != SN_OK) {
		sn_library_free(library);
		return status;
	}
	sn_library_settle(library);
	*errors = sn_library_print_errors(library, stderr);
	*out = library;
	return SN_OK;
}

#define PROPERTIES_OPTION                                                                          \
	{                                                                                          \
		"properties", 'P', "FILE",                                                         \
			"a file of properties, or a folder of *.prop; may be repeated", NULL       \
	}

/* ---- check ---- */

static int check_run(const struct sn_args *args)
{
	struct sn_library *library;
	struct sn_error err;
	sn_status unreadable = SN_OK;
	size_t errors;

	if (!args->operand_count) {
		sn_warn("'properties check' needs a file");
		return SN_EXIT_USAGE;
	}
	library = sn_library_new();
	for (size_t i = 0; i < args->operand_count; i++) {
		sn_status status = sn_library_add(library, args->operands[i], &err);

		if (status != SN_OK) { /* the others are checked all the same */
			sn_error_print(&err);
			unreadable = status;
		}
	}
	sn_library_settle(library);
	errors = sn_library_print_all(library, stderr);
	for (size_t f = library->shipped_files; f < library->files.count; f++) {
		const struct sn_prop_file *file = library->files.items[f];
		size_t count = file->properties.count;

		if (!file->diags.errors && file->diags.warnings)
			printf("%s: %zu %s, no errors, %zu %s\n", file->name, count,
			       count == 1 ? "property" : "properties", file->diags.warnings,
			       file->diags.warnings == 1 ? "warning" : "warnings");
		else if (!file->diags.errors)
			printf("%s: %zu %s, no errors\n", file->name, count,
			       count == 1 ? "property" : "properties");
	}
	sn_library_free(library);
	return errors ? SN_EXIT_BAD_INPUT : sn_status_exit_code(unreadable);
}

static const struct sn_option no_options[] = { { 0 } };

const struct sn_command sn_command_properties_check = {
	.name = "properties check",
	.operands = "FILE...",
	.summary = "Checks files of performance properties",
	.description =
		"Reads each file (of a folder every *.prop) and prints all that is wrong in "
		"it, each with its line and a caret. Names may be those of the metrics and "
		"properties that come with sonde. What is legal and hardly meant, such as a "
		"confidence that is the same whatever was measured, is a warning. Exit status 5 if "
		"there are errors.",
	.options = no_options,
	.examples = (const char *const[]){ "sonde properties check ours.prop",
					   "every error of the file at once", NULL },
	.run = check_run,
};

/* ---- list ---- */

enum { L_PROPERTY, L_PARAMETERS, L_REFINES, L_SOURCES, L_METRICS, L_FILE, L_LINE, L_COUNT };

static const struct sn_column list_columns[L_COUNT] = {
	[L_PROPERTY] = { "property", "Property", SN_CELL_TEXT, 0 },
	[L_PARAMETERS] = { "parameters", "Of", SN_CELL_TEXT, 0 },
	[L_REFINES] = { "refines", "Refines", SN_CELL_TEXT, 0 },
	[L_SOURCES] = { "sources", "Sources", SN_CELL_TEXT, 0 },
	[L_METRICS] = { "metrics", NULL, SN_CELL_TEXT, 0 },
	[L_FILE] = { "file", "File", SN_CELL_TEXT, 0 },
	[L_LINE] = { "line", NULL, SN_CELL_INT, 0 },
};

static void word_add(struct sn_text *text, const char *word)
{
	sn_text_addf(text, "%s%s", text->length ? " " : "", word);
}

/* "samples|mpi": any of them; without a metric's, once each. */
static void sources_add(struct sn_text *text, const struct sn_metric *metric)
{
	struct sn_text one = { 0 };
	const char *at;

	for (size_t i = 0; i < metric->needs.count; i++)
		sn_text_addf(&one, "%s%s", i ? "|" : "", metric->needs.items[i]);
	at = one.chars && text->chars ? strstr(text->chars, one.chars) : NULL;
	if (one.chars && !(at && (at == text->chars || at[-1] == ' ') &&
			   (at[one.length] == ' ' || !at[one.length])))
		word_add(text, one.chars);
	sn_text_free(&one);
}

static void property_row(const struct sn_property *p, struct sn_table *table)
{
	struct sn_text parameters = { 0 }, refines = { 0 }, sources = { 0 }, metrics = { 0 };

	for (size_t i = 0; i < p->contexts.count; i++)
		word_add(&parameters, sn_key_name(p->contexts.items[i].kind));
	for (size_t i = 0; i < p->refines.count; i++)
		word_add(&refines, p->refines.items[i].name);
	for (size_t i = 0; i < p->requests.count; i++) {
		sn_text_add(&metrics, i ? " " : "");
		sn_prop_request_print(&p->requests.items[i], &metrics);
		sources_add(&sources, p->requests.items[i].metric);
	}
	sn_table_add_row(table);
	sn_table_set_text(table, L_PROPERTY, p->name);
	sn_table_set_text(table, L_PARAMETERS, parameters.chars ? parameters.chars : "");
	sn_table_set_text(table, L_REFINES, refines.chars ? refines.chars : "");
	sn_table_set_text(table, L_SOURCES, sources.chars ? sources.chars : "");
	sn_table_set_text(table, L_METRICS, metrics.chars ? metrics.chars : "");
	sn_table_set_text(table, L_FILE, p->file->name);
	sn_table_set_int(table, L_LINE, p->pos.line);
	sn_text_free(&parameters);
	sn_text_free(&refines);
	sn_text_free(&sources);
	sn_text_free(&metrics);
}

static sn_status list(const struct sn_args *args, size_t *errors, struct sn_error *err)
{
	struct sn_table_view view = { .schema = "sonde.properties/1" };
	struct sn_library *library;
	struct sn_table table;
	sn_status status = sn_args_table_view(args, &view, err);

	if (status == SN_OK)
		status = sn_library_of_args(args, &library, errors, err);
	if (status != SN_OK)
		return status;
	if (!sn_args_value(args, "top"))
		view.top = 0;
	sn_table_init(&table, list_columns, L_COUNT);
	for (size_t i = 0; i < library->properties.count; i++)
		property_row(library->properties.items[i], &table);
	status = sn_table_write(&table, &view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	sn_library_free(library);
	return status;
}

static int list_run(const struct sn_args *args)
{
	struct sn_error err;
	size_t errors = 0;

	if (list(args, &errors, &err) != SN_OK)
		return sn_error_print(&err);
	return errors ? SN_EXIT_BAD_INPUT : SN_EXIT_OK;
}

static const struct sn_option list_options[] = { SN_TABLE_OPTIONS, PROPERTIES_OPTION, { 0 } };

const struct sn_command sn_command_properties_list = {
	.name = "properties list",
	.operands = "",
	.summary = "Lists the performance properties that sonde knows",
	.description = "One row a property: what it is evaluated for (its parameters), what it "
		       "refines, and the sources of its metrics; sources joined by '|' are each "
		       "enough.",
	.options = list_options,
	.examples = (const char *const[]){ "sonde properties list",
					   "the properties that come with sonde",
					   "sonde properties list -P ours.prop -F 'file=ours.prop'",
					   "those of a file of one's own", NULL },
	.run = list_run,
};

/* ---- explain ---- */

/* Whether a text has this name, as a word. */
static bool has_word(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !isalnum((unsigned char)at[length]) && at[length] != '_')
			return true;
	return false;
}

/* The metrics and the parameters of its file that a property asks for. */
static void needs_print(const struct sn_property *property)
{
	struct sn_text text = { 0 }, own = { 0 };

	for (size_t i = 0; i < property->requests.count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < i; k++)
			is_known |= property->requests.items[k].metric ==
				    property->requests.items[i].metric;
		if (!is_known)
			sn_metric_print(property->requests.items[i].metric, &text);
	}
	sn_property_print(property, &own);
	for (size_t i = 0; i < property->file->params.count; i++)
		if (has_word(own.chars, property->file->params.items[i]->name))
			sn_param_print(property->file->params.items[i], &text);
	printf("// %s, line %d\n%s\n", property->file->name, property->pos.line,
	       text.chars ? text.chars : "");
	sn_text_free(&text);
	sn_text_free(&own);
}

static void explain_print(const struct sn_library *library, const struct sn_property *property)
{
	struct sn_text text = { 0 };
	bool is_first = true;

	needs_print(property);
	sn_property_print(property, &text);
	fputs(text.chars, stdout);
	for (size_t i = 0; i < library->properties.count; i++)
		if (sn_property_refines(library->properties.items[i], property)) {
			printf("%s %s", is_first ? "\n// refined by:" : ",",
			       library->properties.items[i]->name);
			is_first = false;
		}
	fputs(is_first ? "" : "\n", stdout);
	sn_text_free(&text);
}

static int explain_unknown(const struct sn_library *library, const char *name)
{
	const char *near = NULL;

	for (size_t i = 0; i < library->properties.count; i++)
		if (sn_spelling_is_nearer(name, library->properties.items[i]->name, near))
			near = library->properties.items[i]->name;
	if (near)
		sn_warn("there is no property '%s'; did you mean '%s'?", name, near);
	else
		sn_warn("there is no property '%s'; 'sonde properties list' lists them", name);
	return SN_EXIT_USAGE;
}

static int explain_run(const struct sn_args *args)
{
	struct sn_library *library;
	struct sn_error err;
	size_t errors = 0;
	int code = SN_EXIT_OK;

	if (!args->operand_count) {
		sn_warn("'properties explain' needs the name of a property");
		return SN_EXIT_USAGE;
	}
	if (sn_library_of_args(args, &library, &errors, &err) != SN_OK)
		return sn_error_print(&err);
	for (size_t i = 0; i < args->operand_count && code == SN_EXIT_OK; i++) {
		const struct sn_property *property = sn_library_find(library, args->operands[i]);

		if (property)
			explain_print(library, property);
		else
			code = explain_unknown(library, args->operands[i]);
	}
	sn_library_free(library);
	return code == SN_EXIT_OK && errors ? SN_EXIT_BAD_INPUT : code;
}

static const struct sn_option properties_options[] = { PROPERTIES_OPTION, { 0 } };

const struct sn_command sn_command_properties_explain = {
	.name = "properties explain",
	.operands = "NAME...",
	.summary = "Prints a performance property with the metrics that it needs",
	.description = "The property as it is evaluated: when it holds, how severe it is, what its "
		       "evidence is; before it the metrics that it needs with their sources, after "
		       "it what refines it.",
	.options = properties_options,
	.examples = (const char *const[]){ "sonde properties explain ImbalanceInParallelRegion",
					   "what is meant by an imbalance", NULL },
	.run = explain_run,
};

/* ---- eval ---- */

static sn_status eval(const struct sn_args *args, size_t *errors, struct sn_error *err)
{
	const char *path = sn_args_value(args, "tables");
	struct sn_tables *tables = NULL;
	struct sn_library *library;
	sn_status status;

	if (!path)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'properties eval' needs --tables FILE (sonde.tables/1)");
	status = sn_library_of_args(args, &library, errors, err);
	if (status != SN_OK)
		return status;
	status = sn_tables_read(path, &tables, err);
	if (status == SN_OK) {
		sn_library_print_unknown(library, tables, path, stderr);
		sn_verdicts_write(library, tables, stdout);
	}
	sn_tables_free(tables);
	sn_library_free(library);
	return status;
}

static int eval_run(const struct sn_args *args)
{
	struct sn_error err;
	size_t errors = 0;

	if (args->operand_count) {
		sn_warn("'properties eval' takes no operand; '%s' is one (--tables FILE)",
			args->operands[0]);
		return SN_EXIT_USAGE;
	}
	if (eval(args, &errors, &err) != SN_OK)
		return sn_error_print(&err);
	return errors ? SN_EXIT_BAD_INPUT : SN_EXIT_OK;
}

static const struct sn_option eval_options[] = {
	PROPERTIES_OPTION,
	{ "tables", 0, "FILE", "the values of metrics, a file of schema sonde.tables/1", NULL },
	{ 0 },
};

const struct sn_command sn_command_properties_eval = {
	.name = "properties eval",
	.operands = "",
	.summary = "Evaluates performance properties on tables of values",
	.description =
		"Evaluates the properties of --properties (without it all that come with sonde) in "
		"every context of the tables, and prints the verdicts as JSON (sonde.verdicts/1): "
		"proven, not_proven, or not_measurable with what is needed. Conditions are "
		"evaluated as they are written; no threshold is added. A metric of the tables that "
		"no file declares is named on standard error. Exit status 5 if a file of properties has "
		"errors: the others are evaluated.",
	.options = eval_options,
	.examples =
		(const char *const[]){
			"sonde properties eval --properties ours.prop --tables t.json",
			"the verdicts on a table that was made by hand", NULL },
	.run = eval_run,
};
