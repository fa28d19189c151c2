/* Why a property is not measurable, in words; and which are not for the same reason. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"
#include "search/engine/search.h"
#include "search/evidence/sources.h"

static struct sn_evidence_case case_of(const struct sn_search *s)
{
	const char *mode = s->options.mode ? s->options.mode : "experiment";
	const struct sn_recorded *r = s->recorded;
	const struct sn_filter *filter = r && r->profile ? &r->profile->filter : NULL;
	bool is_whole = filter && !r->part; /* a part is cut out by one */

	return (struct sn_evidence_case){
		.of = !strcmp(mode, "phases")	 ? SN_OF_PHASE
		      : !strcmp(mode, "restart") ? SN_OF_STARTS
						 : SN_OF_RECORD,
		.has_agents = s->options.has_agents,
		.offered = s->offered,
		.is_cut_by_time = is_whole && (filter->from_ns || filter->to_ns),
		.is_cut_by_code = is_whole && (filter->module || filter->function),
		.tables = r ? r->tables : NULL,
	};
}

/* What a need of a metric asks for, or why this search could not have it. */
static void need_add(const struct sn_search *s, const struct sn_metric *metric, size_t need,
		     struct sn_text *out)
{
	const char *source = metric->needs.items[need];
	const char *none = sn_source_none(source, metric->name);
	const struct sn_evidence_case in = case_of(s);

	if (s->failed & sn_source_bit(source, metric->name))
		sn_text_add(out, "had a start that failed, so that its values are left out");
	else if (s->refused & sn_source_bit(source, metric->name))
		sn_text_add(out, "costs more than --budget allows");
	else if (s->joined & sn_source_bit(source, metric->name))
		sn_text_add(out,
			    "had a start, in which nothing of this was measured surely enough");
	else if (none && s->barren & sn_source_bit(source, metric->name))
		sn_text_add(out, none);
	else
		sn_source_requirement_add(out, source, metric->name, &in);
}

void sn_not_measurable_reason(const struct sn_search *s, const struct sn_not_measurable *missing,
			      struct sn_text *out)
{
	const struct sn_property *property = s->library->properties.items[missing->property];
	const struct sn_metric *metric;
	bool is_first = true;

	if (!missing->needs.count) {
		sn_text_add(out, "its values do not give a number (a division by zero)");
		return;
	}
	sn_prop_request_print(&property->requests.items[missing->needs.items[0]], out);
	if (missing->severity_at_most > 0) {
		sn_text_addf(out, " is known as a range only: the loss is 0 to %.3f%s",
			     missing->severity_at_most,
			     s->options.is_simulated
				     ? ""
				     : "; 'sonde trace --every 1' records all accesses, whose "
				       "misses are sure");
		return;
	}
	if (s->options.is_simulated) {
		sn_text_add(out, " has no value in the scenario");
		return;
	}
	metric = property->requests.items[missing->needs.items[0]].metric;
	for (size_t i = 0; i < metric->needs.count; i++) {
		sn_text_addf(out, "%s '%s', which ", is_first ? " comes from" : ", or from",
			     metric->needs.items[i]);
		need_add(s, metric, i, out);
		is_first = false;
	}
	if (is_first)
		sn_text_add(out, " has no source");
}

/* ---- what is missing for the same reason ---- */

/* What would give the first metric that is missing. */
static void missing_source(const struct sn_search *s, const struct sn_not_measurable *missing,
			   struct sn_text *out)
{
	const struct sn_property *property = s->library->properties.items[missing->property];
	const struct sn_metric *metric =
		missing->needs.count ? property->requests.items[missing->needs.items[0]].metric
				     : NULL;

	if (missing->severity_at_most > 0) {
		sn_text_add(out,
			    s->options.is_simulated
				    ? "known as a range only"
				    : "known as a range only, as what the caches held before "
				      "was not recorded ('sonde trace --every 1' records all)");
		return;
	}
	if (metric && s->options.is_simulated) {
		sn_text_add(out, "the scenario has no value of what it needs");
		return;
	}
	for (size_t i = 0; metric && i < metric->needs.count; i++) {
		sn_text_addf(out, "%s'%s', which ", i ? "; or of " : "lacks values of ",
			     metric->needs.items[i]);
		need_add(s, metric, i, out);
	}
	if (!metric || !metric->needs.count)
		sn_text_add(out, metric ? "no source gives what it needs"
					: "its values do not give a number (a division by zero)");
}

void sn_missing_groups_make(const struct sn_search *s, struct sn_missing_groups *out)
{
	struct sn_text text = { 0 };

	*out = (struct sn_missing_groups){ .group_of = sn_alloc_zeroed(s->not_measurable.count + 1,
								       sizeof(*out->group_of)) };
	for (size_t i = 0; i < s->not_measurable.count; i++) {
		sn_text_clear(&text);
		missing_source(s, &s->not_measurable.items[i], &text);
		out->group_of[i] = sn_intern_string(&out->reasons, text.chars);
	}
	sn_text_free(&text);
}

void sn_missing_groups_free(struct sn_missing_groups *groups)
{
	free(groups->group_of);
	sn_interner_free(&groups->reasons);
}

size_t sn_missing_names_add(const struct sn_search *s, const struct sn_missing_groups *groups,
			    uint32_t group, size_t skipped, struct sn_text *out)
{
	size_t count = 0;

	for (size_t i = 0; i < s->not_measurable.count; i++) {
		const struct sn_not_measurable *missing = &s->not_measurable.items[i];

		if (groups->group_of[i] != group || count++ < skipped)
			continue;
		sn_text_addf(out, "%s%s", count > skipped + 1 ? ", " : "",
			     s->library->properties.items[missing->property]->name);
		if (missing->severity_at_most > 0)
			sn_text_addf(out, " (0 to %.3f)", missing->severity_at_most);
	}
	return count;
}
