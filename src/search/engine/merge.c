/* Findings of many hosts as one search: members keep their own values, and nothing is averaged on the way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

static struct sn_candidate *candidate_at(struct sn_search *s,
					 const struct sonde_strategy_candidate *what)
{
	bool is_new;
	uint64_t *place = sn_map_put(&s->seen, sn_candidate_hash(what), &is_new);

	if (is_new) {
		*place = s->candidates.count;
		sn_vec_push(&s->candidates,
			    (struct sn_candidate){ .what = *what, .severity = NAN });
	}
	return &s->candidates.items[*place];
}

static struct sn_finding *finding_at(struct sn_search *s,
				     const struct sonde_strategy_candidate *what)
{
	struct sn_finding fresh = { .recorded = s->recorded, .what = *what, .severity = -1 };
	bool is_new;
	uint64_t *place = sn_map_put(&s->found, sn_candidate_hash(what), &is_new);

	if (is_new) {
		*place = s->findings.count;
		sn_vec_push(&s->findings, fresh);
	}
	return &s->findings.items[*place];
}

/* The severest member speaks; of equal ones the first. */
static bool speaks(const struct sn_finding *f, const struct sn_search_share *share, uint32_t first)
{
	return share->worst > f->severity ||
	       (share->worst >= f->severity && first < f->members.items[0].process);
}

void sn_search_share_add(struct sn_search *s, const struct sn_search_share *share)
{
	struct sn_candidate *candidate = candidate_at(s, &share->what);
	struct sn_finding *f;
	bool is_severest;

	if (share->loss > 0)
		candidate->severity = (isnan(candidate->severity) ? 0 : candidate->severity) +
				      share->loss / sn_search_lanes(s->recorded->tables);
	if (!share->member_count)
		return;
	f = finding_at(s, &share->what);
	if (!f->step || share->step < f->step)
		f->step = share->step;
	is_severest = !f->members.count || speaks(f, share, share->members[0].process);
	sn_finding_evidence_add(f, s->library->properties.items[share->what.property],
				share->evidence, is_severest);
	if (is_severest) {
		f->severity = share->worst; /* of the severest, until it is settled */
		f->condition = share->condition;
		free(f->explanation);
		f->explanation = share->explanation ? sn_strdup(share->explanation) : NULL;
		/* the speaker's members first, so that the next one is compared with them */
		sn_vec_reserve(&f->members, f->members.count + share->member_count);
		memmove(f->members.items + share->member_count, f->members.items,
			f->members.count * sizeof(*f->members.items));
		memcpy(f->members.items, share->members,
		       share->member_count * sizeof(*share->members));
		f->members.count += share->member_count;
		return;
	}
	for (size_t i = 0; i < share->member_count; i++)
		sn_vec_push(&f->members, share->members[i]);
}

static int members_compare(const void *left, const void *right)
{
	const struct sn_finding_member *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static int steps_compare(const void *left, const void *right)
{
	const struct sn_finding *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->what.property != b->what.property)
		return a->what.property < b->what.property ? -1 : 1;
	if (a->what.region != b->what.region)
		return a->what.region < b->what.region ? -1 : 1;
	return (a->what.data > b->what.data) - (a->what.data < b->what.data);
}

static void finding_settle(struct sn_search *s, struct sn_finding *f)
{
	double loss = 0, lanes = 0, confidence = 0;

	qsort(f->members.items, f->members.count, sizeof(*f->members.items), members_compare);
	for (size_t i = 0; i < f->members.count; i++) {
		const struct sn_finding_member *m = &f->members.items[i];
		double own = sn_tables_lanes(s->recorded->tables, m->process);

		loss += m->severity * own;
		lanes += own;
		confidence += m->confidence * m->severity * own;
	}
	f->severity = loss / lanes;
	f->confidence = loss > 0 ? confidence / loss : 0;
}

/* What no host could measure is not measurable; what one has found is. */
static void found_are_measurable(struct sn_search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->not_measurable.count; i++) {
		struct sn_not_measurable *missing = &s->not_measurable.items[i];
		bool is_found = false;

		for (size_t k = 0; k < s->candidates.count && !is_found; k++)
			is_found = s->candidates.items[k].what.property == missing->property &&
				   !isnan(s->candidates.items[k].severity);
		if (is_found)
			sn_vec_free(&missing->needs);
		else
			s->not_measurable.items[kept++] = *missing;
	}
	s->not_measurable.count = kept;
}

void sn_search_settle(struct sn_search *s)
{
	for (size_t i = 0; i < s->findings.count; i++)
		finding_settle(s, &s->findings.items[i]);
	if (s->findings.count)
		qsort(s->findings.items, s->findings.count, sizeof(*s->findings.items),
		      steps_compare);
	found_are_measurable(s);
	sn_search_finish(s);
}
