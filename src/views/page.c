/* Columns of views on the page: which it has, and how they are called there. */
#include <string.h>

#include "views/parts.h"

/* Headings of tables in a terminal are short, and say the unit. */
static const struct {
	const char *key, *heading;
} headings[] = {
	{ "exclusive_cpu_s", "Exclusive" },
	{ "exclusive_share", "Share" },
	{ "inclusive_cpu_s", "Inclusive" },
	{ "inclusive_share", "Inclusive share" },
	{ "samples", "Samples" },
	{ "interval", "±" },
	{ "module", "Module" },
	{ "source", "Source" },
	{ "elapsed_s", "Elapsed" },
	{ "user_s", "User" },
	{ "system_s", "System" },
	{ "wait_cpu_s", "Waiting for CPU" },
	{ "blocked_s", "Blocked" },
	{ "sampled_cpu_s", "CPU sampled" },
	{ "traced_blocked_s", "Traced waits" },
};

const char *sn_view_page_heading(const struct sn_column *column)
{
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (!strcmp(headings[i].key, column->key))
			return headings[i].heading;
	return column->title;
}

static bool is_metric(const char *key)
{
	static const struct sn_column metrics[] = { METRIC_COLUMNS };

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (!strcmp(metrics[i].key, key))
			return true;
	return false;
}

bool sn_view_is_on_page(const struct sn_view *view, const char *key)
{
	return view->page_rows && !is_metric(key) && !sn_view_is_composed(view, key) &&
	       !sn_view_list_has(view->page_omits, key);
}
