/* Algorithm 1 of O. Aaziz, M. Al-Tahat, S. Trecakov, J. Cook, "IncProf: Efficient Source-Oriented
 * Phase Identification for Application Behavior Understanding" (2022), section V.B, from the text
 * of the paper. A function is active in an interval where it has own time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double coverage = 0.95;

struct member {
	size_t row;
	double distance2;
};

struct builder {
	const struct sn_phases *phases;
	const struct sn_sparse *self;
	struct member *members; /* the phase's rows, nearest to the centroid first (line 3) */
	size_t count;
	double *rank;	    /* by function: fraction of the rows in which it is active */
	uint8_t *is_chosen; /* by function */
	struct sn_phase *out;
};

static int members_compare(const void *left, const void *right)
{
	const struct member *x = left, *y = right;

	if (x->distance2 != y->distance2)
		return x->distance2 < y->distance2 ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void members_find(struct builder *b, const uint32_t *labels, uint32_t label)
{
	const struct sn_choice *choice = b->phases->choice;

	for (size_t r = 0; r < b->self->row_count; r++)
		if (labels[r] == label)
			b->members[b->count++] = (struct member){ r, choice->distances2[r] };
	qsort(b->members, b->count, sizeof(*b->members), members_compare);
	for (size_t m = 0; m < b->count; m++) {
		size_t row = b->members[m].row;

		for (size_t i = b->self->first[row]; i < b->self->first[row + 1]; i++)
			b->rank[b->self->columns[i]] += 1.0 / (double)b->count;
	}
}

/* The first chosen site that is active in the row, or the number of sites. */
static size_t row_site(const struct builder *b, size_t row)
{
	size_t first = b->out->sites.count;

	for (size_t i = b->self->first[row]; i < b->self->first[row + 1]; i++)
		for (size_t s = 0; b->is_chosen[b->self->columns[i]] && s < first; s++)
			if (b->out->sites.items[s].function == b->self->columns[i])
				first = s;
	return first;
}

/* Lines 10-12: fewest calls first, then highest rank; then the program's order. */
static uint32_t row_choose(const struct builder *b, size_t row)
{
	uint32_t best = SN_NONE;
	uint64_t best_calls = 0;

	for (size_t i = b->self->first[row]; i < b->self->first[row + 1]; i++) {
		uint32_t f = b->self->columns[i];
		uint64_t calls = sn_phase_beats_of(b->phases->activity, row, f);

		if (best == SN_NONE || calls < best_calls ||
		    (calls == best_calls && b->rank[f] > b->rank[best])) {
			best = f;
			best_calls = calls;
		}
	}
	return best;
}

/* Lines 13-19. One function may stand as body and as loop. */
static void site_add(struct builder *b, size_t row, uint32_t function)
{
	struct sn_phase_site site = {
		.function = function, .loop = SN_NONE, .entity = function, .mark = function
	};

	site.type =
		sn_phase_beats_of(b->phases->activity, row, function) ? SN_SITE_BODY : SN_SITE_LOOP;
	b->is_chosen[function] = 1;
	sn_vec_push(&b->out->sites, site);
}

static size_t rows_covered(const struct builder *b)
{
	size_t covered = 0;

	for (size_t m = 0; m < b->count; m++)
		covered += row_site(b, b->members[m].row) < b->out->sites.count;
	return covered;
}

/* Algorithm 1 does not say which loop it means, so how fast it is cannot be told. */
static void paces_find(const struct builder *b, const uint32_t *labels, uint32_t label)
{
	struct sn_pace_scope scope;

	sn_pace_scope_init(&scope, b->phases, labels, label);
	for (size_t s = 0; s < b->out->sites.count; s++) {
		struct sn_phase_site *site = &b->out->sites.items[s];

		site->pace = site->type == SN_SITE_BODY
				     ? sn_pace_of(&scope, site->entity)
				     : (struct sn_pace){ NAN, NAN, NAN, NAN, NAN };
	}
	sn_pace_scope_free(&scope);
}

static void shares_find(struct builder *b)
{
	size_t total = b->self->row_count;
	size_t *rows = sn_alloc_zeroed(b->out->sites.count + 1, sizeof(size_t));

	for (size_t m = 0; m < b->count; m++)
		rows[row_site(b, b->members[m].row)]++;
	for (size_t s = 0; s < b->out->sites.count; s++) {
		b->out->sites.items[s].phase_share = (double)rows[s] / (double)b->count;
		b->out->sites.items[s].app_share = (double)rows[s] / (double)total;
	}
	free(rows);
}

void sn_sites_paper(const struct sn_phases *phases, const uint32_t *labels, uint32_t label,
		    struct sn_phase *out)
{
	const struct sn_sparse *self = &phases->activity->self;
	struct builder b = { .phases = phases, .self = self, .out = out };
	size_t covered = 0;

	b.members = sn_alloc_zeroed(self->row_count + 1, sizeof(*b.members));
	b.rank = sn_alloc_zeroed((size_t)self->column_count + 1, sizeof(double));
	b.is_chosen = sn_alloc_zeroed((size_t)self->column_count + 1, 1);
	members_find(&b, labels, label);
	for (size_t m = 0; m < b.count && (double)covered < coverage * (double)b.count; m++) {
		size_t row = b.members[m].row;
		uint32_t function;

		if (row_site(&b, row) < out->sites.count)
			continue; /* lines 7-9 */
		function = row_choose(&b, row);
		if (function == SN_NONE)
			continue;
		site_add(&b, row, function);
		covered = rows_covered(&b);
	}
	shares_find(&b);
	paces_find(&b, labels, label);
	free(b.members);
	free(b.rank);
	free(b.is_chosen);
}
