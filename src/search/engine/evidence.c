/*
 * What a row says in numbers and words. Numbers that are sums (seconds, counts) are those of all its members, as its severity
 * is; ratios and names are the severest member's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

static struct sn_prop_value joined(struct sn_prop_value a, struct sn_prop_value b)
{
	return (struct sn_prop_value){ .is_known = a.is_known && b.is_known,
				       .number = a.number + b.number };
}

void sn_finding_evidence_add(struct sn_finding *f, const struct sn_property *property,
			     const struct sn_prop_value *evidence, bool is_severest)
{
	size_t count = property->evidence.count;

	if (!f->evidence) {
		f->evidence = sn_alloc_zeroed(count + 1, sizeof(*f->evidence));
		if (count)
			memcpy(f->evidence, evidence, count * sizeof(*evidence));
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (property->evidence.items[i].adds)
			f->evidence[i] = joined(f->evidence[i], evidence[i]);
		else if (is_severest)
			f->evidence[i] = evidence[i];
}

void sn_finding_evidence_scale(struct sn_finding *f, const struct sn_property *property,
			       double share)
{
	for (size_t i = 0; i < property->evidence.count; i++)
		if (property->evidence.items[i].adds)
			f->evidence[i].number *= share;
}

/* ---- in words ---- */

/* Whose numbers they are, where there are several. */
static void whose_add(const struct sn_finding *f, struct sn_text *out)
{
	const sn_member_vec *processes = &f->recorded->tables->members[SN_KEY_PROCESS];
	size_t severest = 0, count = 0;

	for (size_t i = 0; i < f->members.count; i++) {
		if (f->members.items[i].severity > f->members.items[severest].severity)
			severest = i;
		count += !i || f->members.items[i].process != f->members.items[i - 1].process;
	}
	if (count > 1)
		sn_text_addf(out, " (sums are of all %zu, the rest is of %s %s, the severest)",
			     count, f->recorded->has_ranks ? "rank" : "process",
			     processes->items[f->members.items[severest].process].id);
}

bool sn_finding_explain(const struct sn_search *s, const struct sn_finding *f, struct sn_text *out)
{
	if (!f->explanation)
		return false;
	sn_prop_text_close(f->recorded->tables, sn_finding_property(s, f), f->evidence,
			   f->explanation, out);
	if (f->remainder > 0)
		sn_text_add(out, ", beside what rows of more special properties say");
	whose_add(f, out);
	return true;
}
