/* Loops without a measured variant, grouped by why. */
#include "whatif/refusals.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/companions.h"
#include "whatif/variants.h"

#define LEAST_SHARE 0.005 /* (chosen) as tables of loops have it */

static void refusal_add(struct sn_refusals *out, const char *reason, double share)
{
	for (size_t i = 0; i < out->items.count; i++)
		if (!strcmp(out->items.items[i].reason, reason)) {
			out->items.items[i].share += share;
			out->items.items[i].loops++;
			return;
		}
	sn_vec_push(&out->items,
		    ((struct sn_refusal){ sn_arena_strdup(&out->arena, reason), share, 1 }));
}

static bool is_measured(const struct sn_variants_list *list, uint32_t loop)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].loop == loop)
			return true;
	return false;
}

static int by_share(const void *left, const void *right)
{
	const struct sn_refusal *x = left, *y = right;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return strcmp(x->reason, y->reason);
}

/* What the run said of all of its variants. */
static const char *run_reason(const struct sn_profile *profile)
{
	const struct sn_experiment *e = sn_profile_with_variants(profile)->experiment;

	for (size_t i = 0; i < e->warnings.count && !e->variants.count; i++)
		if (strstr(e->warnings.items[i], "variants of loops"))
			return e->warnings.items[i];
	return NULL;
}

void sn_refusals_find(const struct sn_profile *profile, struct sn_structures *structures,
		      struct sn_refusals *out)
{
	const struct sn_program *program = profile->program;
	const char *run = run_reason(profile);
	struct sn_variants_list list;

	*out = (struct sn_refusals){ 0 };
	if (!structures)
		return;
	out->run = run ? sn_arena_strdup(&out->arena, run) : NULL;
	sn_variants_find(profile, structures, &list);
	for (uint32_t l = 0; l < program->loops.count; l++) {
		double share = sn_share(profile->loops[l].exclusive.cpu_ns, profile->total.cpu_ns);
		struct sn_structure *structure;
		const char *why;

		if (!(share >= LEAST_SHARE) || is_measured(&list, l))
			continue;
		structure = sn_structures_of(structures, program->loops.items[l].module);
		why = structure ? sn_variants_refusal(structure, program->loops.items[l].code)
				: "its code is not at hand";
		refusal_add(out, why ? why : "it could have them, and none was run", share);
	}
	sn_variants_free(&list);
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items), by_share);
}

void sn_refusals_free(struct sn_refusals *refusals)
{
	sn_vec_free(&refusals->items);
	sn_arena_free(&refusals->arena);
}
