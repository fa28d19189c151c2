/* sonde show summary, and without a view: the one-page answer. */
#include "base/terminal.h"
#include "views/summary/summary.h"
#include "views/view.h"

static sn_status summary_show(const struct sn_view_input *input, struct sn_table_view *how,
			      FILE *out, struct sn_error *err)
{
	struct sn_summary *summary;

	if (how->format == SN_FORMAT_CSV)
		return sn_error_set(err, SN_ERR_USAGE,
				    "the summary is one object: --format text or json");
	summary = sn_summary_of(input->profile, input->structures, input->machine);
	if (how->format == SN_FORMAT_TEXT)
		sn_summary_print(summary, out, input->is_utf8, sn_terminal_width());
	else
		sn_summary_write(summary, out);
	sn_summary_free(summary);
	return SN_OK;
}

const struct sn_view sn_view_summary = {
	.name = "summary",
	.title = "the one-page answer: what limits the run, what is at stake, and what to do",
	.needs = SN_VIEW_NEEDS_TIME,
	.has_idle = true,
	.schema = SN_SUMMARY_SCHEMA,
	.show = summary_show,
};
