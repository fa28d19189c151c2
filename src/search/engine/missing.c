/* Why a property is not measurable, in words. */
#include "search/engine/parts.h"
#include "search/engine/search.h"
#include "search/evidence/sources.h"

void sn_search_need_add(const struct sn_search *s, const struct sn_metric *metric, size_t need,
			struct sn_text *out)
{
	const char *source = metric->needs.items[need];
	const char *none = sn_source_none(source, metric->name);

	if (s->refused & sn_source_bit(source, metric->name))
		sn_text_add(out, "costs more than --budget allows");
	else if (none && s->barren & sn_source_bit(source, metric->name))
		sn_text_add(out, none);
	else
		sn_source_requirement_add(out, source, metric->name);
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
		sn_text_addf(
			out,
			" is known as a range only: the loss is 0 to %.3f; 'sonde trace --every 1' records all "
			"accesses, whose misses are sure",
			missing->severity_at_most);
		return;
	}
	metric = property->requests.items[missing->needs.items[0]].metric;
	for (size_t i = 0; i < metric->needs.count; i++) {
		sn_text_addf(out, "%s '%s', which ", is_first ? " comes from" : ", or from",
			     metric->needs.items[i]);
		sn_search_need_add(s, metric, i, out);
		is_first = false;
	}
	if (is_first)
		sn_text_add(out, " has no source");
}
