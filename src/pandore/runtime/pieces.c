/* Boxes that contain or continue each other become one. */
#include "pandore/runtime/pieces.h"

#include <stdlib.h>

#include "pandore/runtime/pandore.h"

/* How many of the latest boxes a new one is compared with: a stencil's offsets come together. */
enum { LOOKED_AT = 16 };

static long stride_of(const struct pd_section *s, int d)
{
	return s->first[d] == s->last[d] ? 0 : s->stride[d]; /* 0: fits any */
}

/* The stride that both have in a dimension, -1 if they do not interleave to one. */
static long common_stride(const struct pd_section *a, const struct pd_section *b, int d)
{
	long x = stride_of(a, d), y = stride_of(b, d), stride = x ? x : y;

	if (x && y && x != y)
		return -1;
	if (!stride) /* two single elements */
		return a->first[d] == b->first[d] ? 1 : labs(a->first[d] - b->first[d]);
	return (a->first[d] - b->first[d]) % stride ? -1 : stride;
}

/* Makes `a` hold `b`, too, if the box around both has no other element. */
static int join(struct pd_section *a, const struct pd_section *b, int rank)
{
	int different = -1, a_holds = 1, b_holds = 1;
	long strides[PD_DIMENSIONS_MAX];

	for (int d = 0; d < rank; d++) {
		strides[d] = common_stride(a, b, d);
		if (strides[d] < 0)
			return 0;
		a_holds &= a->first[d] <= b->first[d] && b->last[d] <= a->last[d];
		b_holds &= b->first[d] <= a->first[d] && a->last[d] <= b->last[d];
		if (a->first[d] != b->first[d] || a->last[d] != b->last[d])
			different = different < 0 ? d : rank;
	}
	/* a single element between those of the other one's stride was excluded above */
	if (a_holds)
		return 1;
	if (b_holds) {
		*a = *b;
		return 1;
	}
	if (different < 0 || different == rank ||
	    b->first[different] > a->last[different] + strides[different] ||
	    a->first[different] > b->last[different] + strides[different])
		return 0;
	if (b->first[different] < a->first[different])
		a->first[different] = b->first[different];
	if (b->last[different] > a->last[different])
		a->last[different] = b->last[different];
	a->stride[different] = strides[different];
	return 1;
}

long pd_pieces_add(struct pd_pieces *pieces, const void *storage, const struct pd_array *array,
		   int site, const struct pd_section *section)
{
	size_t oldest = pieces->count > LOOKED_AT ? pieces->count - LOOKED_AT : 0;

	for (size_t i = pieces->count; i-- > oldest;) {
		struct pd_piece *p = &pieces->items[i];
		long before;

		if (p->storage != storage)
			continue;
		before = pd_section_count(&p->section, array->rank);
		if (join(&p->section, section, array->rank))
			return pd_section_count(&p->section, array->rank) - before;
	}
	if (pieces->count == pieces->capacity) {
		size_t capacity = pieces->capacity ? pieces->capacity * 2 : 8;
		struct pd_piece *items = realloc(pieces->items, capacity * sizeof(*items));

		if (!items)
			return -1;
		pieces->items = items;
		pieces->capacity = capacity;
	}
	pieces->items[pieces->count++] = (struct pd_piece){ storage, array, site, *section };
	return pd_section_count(section, array->rank);
}
