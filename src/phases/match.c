/* Phases of two runs, matched by their profiles. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double likeness_min = 0.3, same_name = 0.25;

static const char *name_of(const struct sn_phases *p, const struct sn_phase *phase, size_t part)
{
	return p->paths->program->functions.items[phase->profile.items[part].function].name;
}

/* The part of the time that both spend alike; phases of one name are favoured over others, since
 * the name is the site. */
static double likeness_of(const struct sn_phases *a, const struct sn_phase *x,
			  const struct sn_phases *b, const struct sn_phase *y)
{
	double sum = 0;

	for (size_t i = 0; i < x->profile.count; i++)
		for (size_t j = 0; j < y->profile.count; j++)
			if (!strcmp(name_of(a, x, i), name_of(b, y, j))) {
				double here = x->profile.items[i].share;
				double there = y->profile.items[j].share;

				sum += here < there ? here : there;
				break;
			}
	return sum;
}

void sn_phases_match(const struct sn_phases *a, const struct sn_phases *b,
		     struct sn_phase_pairs *out)
{
	size_t rows = a->phases.count, columns = b->phases.count;
	double *likeness = sn_alloc_zeroed(rows * columns + 1, sizeof(double));
	size_t *partner = sn_alloc_zeroed(rows + 1, sizeof(size_t)); /* column + 1 */
	uint8_t *is_taken = sn_alloc_zeroed(columns + 1, 1);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			likeness[i * columns + j] =
				likeness_of(a, &a->phases.items[i], b, &b->phases.items[j]);
	for (;;) {
		double best = likeness_min;
		size_t x = rows, y = columns;

		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < columns; j++) {
				bool is_same =
					!strcmp(a->phases.items[i].name, b->phases.items[j].name);
				double value =
					likeness[i * columns + j] + (is_same ? same_name : 0);

				if (!partner[i] && !is_taken[j] && value > best) {
					best = value;
					x = i;
					y = j;
				}
			}
		if (x == rows)
			break;
		partner[x] = y + 1;
		is_taken[y] = 1;
	}
	for (size_t i = 0; i < rows; i++) {
		struct sn_phase_pair pair = { .a = &a->phases.items[i] };

		if (partner[i]) {
			pair.b = &b->phases.items[partner[i] - 1];
			pair.likeness = likeness[i * columns + partner[i] - 1];
		}
		sn_vec_push(&out->items, pair);
	}
	for (size_t j = 0; j < columns; j++)
		if (!is_taken[j])
			sn_vec_push(&out->items,
				    (struct sn_phase_pair){ .b = &b->phases.items[j] });
	free(likeness);
	free(partner);
	free(is_taken);
}
