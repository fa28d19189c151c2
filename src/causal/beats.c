/* The heartbeats of a run, nearest to a name first. */
#include "causal/beats.h"

#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

enum { LISTED_MOST = 8 };

static bool is_of_process(struct sn_causal_progress *point)
{
	return atomic_load(&point->kind) == SN_CAUSAL_BEAT &&
	       atomic_load(&point->is_taken) == SN_CAUSAL_TAKEN_BY_PROCESS;
}

bool sn_causal_beat_is_there(struct sn_causal_control *page, const char *name)
{
	for (size_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++)
		if (is_of_process(&page->points[p]) && !strcmp(page->points[p].name, name))
			return true;
	return false;
}

struct near {
	const char *name;
	size_t distance;
};

static int compare_near(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	return x->distance != y->distance
		       ? (x->distance > y->distance) - (x->distance < y->distance)
		       : strcmp(x->name, y->name);
}

size_t sn_causal_beats_list(struct sn_causal_control *page, const char *name, struct sn_text *out)
{
	struct near all[SN_CAUSAL_POINTS_MAX];
	size_t count = 0;

	for (size_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++) {
		const char *own = page->points[p].name;

		if (is_of_process(&page->points[p]) && strcmp(own, name) != 0)
			all[count++] = (struct near){ own, sn_spelling_distance(name, own) };
	}
	qsort(all, count, sizeof(*all), compare_near);
	for (size_t i = 0; i < count && i < LISTED_MOST; i++)
		sn_text_addf(out, "%s'%s'", i ? ", " : "", all[i].name);
	if (count > LISTED_MOST)
		sn_text_addf(out, " and %zu more", count - LISTED_MOST);
	return count;
}
