/* The view of what the last search of the run found, from the lines that it left in the experiment (search.tsv). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "views/parts.h"

enum {
	K_KIND,
	K_PROPERTY,
	K_SEVERITY,
	K_LOW,
	K_HIGH,
	K_CONFIDENCE,
	K_REGION,
	K_FILE,
	K_LINE,
	K_PROCESSES,
	K_THREADS,
	K_CLASSES,
	K_STEP,
	K_SENTENCE,
	K_COUNT
};

static const struct sn_column searched_columns[K_COUNT] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "property", "property", SN_CELL_TEXT, 0 },
	{ "severity", "severity", SN_CELL_SHARE, 0 },
	{ "severity_low", NULL, SN_CELL_SHARE, 0 },
	{ "severity_high", NULL, SN_CELL_SHARE, 0 },
	{ "severity_confidence", "confidence", SN_CELL_SHARE, 0 },
	{ "region", "region", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", "line", SN_CELL_INT, 0 },
	{ "process_ids", "processes", SN_CELL_TEXT, 0 },
	{ "thread_ids", "threads", SN_CELL_TEXT, 0 },
	{ "classes", "processes by severity", SN_CELL_TEXT, 0 },
	{ "step", "step", SN_CELL_INT, 0 },
	{ "explanation", "explanation", SN_CELL_TEXT, 0 },
};

static void cell_set(struct sn_table *table, size_t column, const char *word)
{
	char *end;
	double number;

	if (!*word)
		return; /* unknown */
	if (searched_columns[column].kind == SN_CELL_TEXT) {
		sn_table_set_text(table, column, word);
		return;
	}
	number = strtod(word, &end);
	if (*end || !isfinite(number))
		return;
	if (searched_columns[column].kind == SN_CELL_INT)
		sn_table_set_int(table, column, (int64_t)fmax(-1e15, fmin(1e15, number)));
	else
		sn_table_set_real(table, column, number);
}

static void line_add(struct sn_table *table, char *line)
{
	sn_table_add_row(table);
	for (size_t column = 0; line && column < K_COUNT; column++) {
		char *tab = strchr(line, '\t');

		if (tab)
			*tab = '\0';
		cell_set(table, column, line);
		line = tab ? tab + 1 : NULL;
	}
}

static void path_of(const struct sn_profile *profile, struct sn_text *path)
{
	sn_text_addf(path, "%s/search.tsv", profile->experiment->path);
}

bool sn_view_was_searched(const struct sn_profile *profile)
{
	struct sn_text path = { 0 };
	struct sn_file_view view;
	bool is_there;

	path_of(profile, &path);
	is_there = sn_file_map(path.chars, &view, NULL) == SN_OK;
	if (is_there)
		sn_file_unmap(&view);
	sn_text_free(&path);
	return is_there;
}

static sn_status searched_fill(const struct sn_view_input *input, struct sn_table *table,
			       struct sn_error *err)
{
	struct sn_text path = { 0 }, text = { 0 };
	struct sn_file_view view;
	char *line, *rest = NULL;

	path_of(input->profile, &path);
	if (sn_file_map(path.chars, &view, NULL) == SN_OK) {
		sn_text_add_bytes(&text, (const char *)view.bytes, view.length);
		sn_file_unmap(&view);
	}
	line = text.chars ? strtok_r(text.chars, "\n", &rest) : NULL;
	if (line && strcmp(line, "sonde.searched/1") != 0) {
		sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is damaged, or of another version of sonde: search the run again",
			path.chars);
		sn_text_free(&path);
		sn_text_free(&text);
		return SN_ERR_FORMAT;
	}
	while (line && (line = strtok_r(NULL, "\n", &rest)))
		line_add(table, line);
	sn_text_free(&path);
	sn_text_free(&text);
	return SN_OK;
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	sn_text_addf(out, "the run has not been searched: sonde search --experiment %s",
		     input->profile->experiment->path);
}

static const struct sn_explanation searched_words[] = {
	{ "property", "text", "The performance property (sonde properties explain NAME).",
	  "severity" },
	{ "severity", "share",
	  "Lane-seconds lost, over the wall time of the phase times its lanes: 0.25 of a process of four "
	  "threads means that one of them could as well have been away. Properties that say where time "
	  "is spent (kind 'place') have what is spent there. Of kind 'rate' it is the property's own ratio, "
	  "such as misses over accesses.",
	  "property" },
	{ "severity_low", "share", "The lower end of its 95 % interval.", "severity_high" },
	{ "severity_high", "share", "The upper end of its 95 % interval.", "severity_low" },
	{ "severity_confidence", "share",
	  "How sure the severity is: 1 less half the width of its 95 % interval, over itself.",
	  "severity" },
	{ "process_ids", "text", "Which processes it is about: ranks, where there are any.",
	  "classes" },
	{ "thread_ids", "text", "Which threads, where the property has one.", "process_ids" },
	{ "classes", "text",
	  "Processes that lose about as much, each class with its mean severity: four at most.",
	  "severity" },
	{ "step", "count", "The step of the search that found it.", "property" },
	{ "explanation", "text",
	  "What it means here, what to do, and the path to the region; of what could not be measured, "
	  "what would help; of a step, what it evaluated and what that cost.",
	  "property" },
	{ 0 },
};

const struct sn_view sn_view_searched = {
	.name = "searched",
	.title = "what the last search of the run found (sonde search)",
	.needs = SN_VIEW_NEEDS_SEARCH,
	.schema = "sonde.searched/1",
	.columns = searched_columns,
	.column_count = K_COUNT,
	.words = searched_words,
	.data_columns =
		"kind,property,severity,severity_low,severity_high,severity_confidence,region,file,line,"
		"process_ids,thread_ids,classes,step,explanation",
	.text_columns = "kind,severity,severity_confidence,property,region,process_ids,explanation",
	.page_columns =
		"kind,severity,severity_confidence,property,region,line,classes,step,explanation",
	.whole_column = "explanation",
	.is_listing = true,
	.page_title = "Properties",
	.page_group = "Why",
	.has_sentences = true,
	.fill = searched_fill,
	.why_empty = why_empty,
};
