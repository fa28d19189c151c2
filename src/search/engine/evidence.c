/*
 * What a row says in numbers and words. Numbers that are sums (seconds, counts) are those of all its members, as its severity
 * is; ratios and names are the severest member's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"
#include "search/evidence/sources.h"

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

/* What a text says that is a sum of members, and that is of one of them alone (regions and data are those of all). */
static void kinds_of(const struct sn_property *property, bool *has_sums, bool *has_others)
{
	const char *text = property->explain, *open;

	*has_sums = *has_others = false;
	while (text && (open = strchr(text, '{')) != NULL) {
		size_t length = strcspn(open + 1, ":}");
		bool is_sum = false, is_place = false;

		for (size_t i = 0; i < property->evidence.count; i++) {
			const struct sn_prop_named *e = &property->evidence.items[i];

			is_sum |= e->adds && strlen(e->name) == length &&
				  !memcmp(e->name, open + 1, length);
		}
		for (size_t i = 0; i < property->contexts.count; i++) {
			const struct sn_prop_context *c = &property->contexts.items[i];

			is_place |= (c->kind == SN_KEY_REGION || c->kind == SN_KEY_DATA) &&
				    strlen(c->name) == length && !memcmp(c->name, open + 1, length);
		}
		*has_sums |= is_sum;
		*has_others |= !is_sum && !is_place;
		text = open + 1 + length;
	}
}

/* Whose numbers they are, where there are several. */
static void whose_add(const struct sn_search *s, const struct sn_finding *f, struct sn_text *out)
{
	const sn_member_vec *processes = &f->recorded->tables->members[SN_KEY_PROCESS];
	const char *what = f->recorded->has_ranks ? "rank" : "process", *id;
	size_t severest = 0, count = 0;
	bool has_sums, has_others;

	for (size_t i = 0; i < f->members.count; i++) {
		if (f->members.items[i].severity > f->members.items[severest].severity)
			severest = i;
		count += !i || f->members.items[i].process != f->members.items[i - 1].process;
	}
	kinds_of(sn_finding_property(s, f), &has_sums, &has_others);
	if (count < 2)
		return;
	id = processes->items[f->members.items[severest].process].id;
	if (has_sums && has_others)
		sn_text_addf(out, " (sums are of all %zu, the rest is of %s %s, the severest)",
			     count, what, id);
	else if (has_sums)
		sn_text_addf(out, " (of all %zu %s together)", count,
			     f->recorded->has_ranks ? "ranks" : "processes");
	else if (has_others)
		sn_text_addf(out, " (of %s %s, the severest)", what, id);
}

static bool is_among(const char *name, const char *const *names)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

/* Whether the source has a value of this metric. */
static bool has_value_of(const struct sn_tables *t, const struct sn_prop_request *request,
			 const char *source)
{
	uint32_t column = sn_tables_find_column(t, request->metric->name, request->level);

	for (size_t i = 0; i < t->values.count && column != SN_ALL; i++)
		if (t->values.items[i].column == column &&
		    !strcmp(sn_interned_chars(&t->names, t->values.items[i].source), source))
			return true;
	return false;
}

double sn_finding_start_scale(const struct sn_search *s, const struct sn_finding *f,
			      const char **source)
{
	const struct sn_property *property = sn_finding_property(s, f);

	for (size_t i = 0; i < SN_SOURCES_MOST && sn_sources[i]; i++)
		for (size_t r = 0; f->recorded->start_scales[i] > 0 && r < property->requests.count;
		     r++) {
			const struct sn_prop_request *request = &property->requests.items[r];

			if (!is_among(request->metric->name, sn_sources[i]->times) ||
			    !has_value_of(f->recorded->tables, request, sn_sources[i]->name))
				continue;
			*source = sn_sources[i]->name;
			return f->recorded->start_scales[i];
		}
	return 0;
}

bool sn_finding_explain(const struct sn_search *s, const struct sn_finding *f, struct sn_text *out)
{
	const char *source;
	double scale;

	if (!f->explanation)
		return false;
	sn_prop_text_close(f->recorded->tables, sn_finding_property(s, f), f->evidence,
			   f->explanation, out);
	if (f->remainder > 0)
		sn_text_add(out, ", beside what rows of more special properties say");
	whose_add(s, f, out);
	scale = sn_finding_start_scale(s, f, &source);
	if (scale > 0)
		sn_text_addf(
			out,
			"; %s was measured in a further start, its seconds multiplied by %.2f to be "
			"those of the first",
			source, scale);
	return true;
}
