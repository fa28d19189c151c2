/* Opens the experiments in an experiment's folder when they are asked for, once. */
#include "profile/companions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "profile/analysis.h"

struct sn_companions {
	char *path; /* of the experiment that they lie in */
	struct companion {
		bool is_asked_for;
		struct sn_analysis *analysis; /* NULL: there is none, or it cannot be read */
		struct sn_error err; /* why it cannot; an empty sentence: it is not there */
	} items[SN_COMPANIONS];
};

static char *path_of(const char *experiment_path, enum sn_companion companion)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%s/%s", experiment_path, sn_companion_names[companion]);
	return sn_text_take(&path);
}

struct sn_companions *sn_companions_new(const char *experiment_path)
{
	struct sn_companions *companions = sn_alloc_zeroed(1, sizeof(*companions));

	companions->path = sn_strdup(experiment_path ? experiment_path : "");
	return companions;
}

void sn_companions_free(struct sn_companions *companions)
{
	if (!companions)
		return;
	for (int c = 0; c < SN_COMPANIONS; c++)
		sn_analysis_free(companions->items[c].analysis);
	free(companions->path);
	free(companions);
}

static const struct companion *ask(struct sn_companions *companions, enum sn_companion which)
{
	struct companion *companion = &companions->items[which];
	char *path;

	if (companion->is_asked_for)
		return companion;
	companion->is_asked_for = true;
	if (!companions->path[0] || !sn_companion_exists(companions->path, which))
		return companion;
	path = path_of(companions->path, which);
	if (sn_analysis_open(path, NULL, &companion->analysis, &companion->err) != SN_OK)
		companion->analysis = NULL;
	free(path);
	return companion;
}

static const struct sn_profile *profile_of(const struct sn_profile *profile,
					   enum sn_companion which)
{
	const struct companion *companion =
		profile->companions ? ask(profile->companions, which) : NULL;

	return companion && companion->analysis ? companion->analysis->profile : NULL;
}

const struct sn_profile *sn_profile_with_instances(const struct sn_profile *profile)
{
	const struct sn_profile *other = NULL;

	if (!profile->experiment->instances.count)
		other = profile_of(profile, SN_COMPANION_INSTANCES);
	return other ? other : profile;
}

/* The run with all variants has more than the one with DL1 alone. */
const struct sn_profile *sn_profile_with_variants(const struct sn_profile *profile)
{
	const struct sn_profile *other = NULL;

	if (!profile->experiment->variants.count) {
		other = profile_of(profile, SN_COMPANION_VARIANTS);
		if (!other || !other->experiment->variants.count)
			other = profile_of(profile, SN_COMPANION_INSTANCES);
	}
	return other ? other : profile;
}

const struct sn_profile *sn_profile_with_accesses(const struct sn_profile *profile,
						  struct sn_structures **structures)
{
	const struct sn_profile *other = NULL;

	if (!profile->experiment->windows.count)
		other = profile_of(profile, SN_COMPANION_ACCESSES);
	if (!other || !other->experiment->windows.count)
		return profile;
	if (structures)
		*structures =
			profile->companions->items[SN_COMPANION_ACCESSES].analysis->structures;
	return other;
}

const char *sn_companion_damage(const struct sn_profile *profile, enum sn_companion which)
{
	const struct companion *companion =
		profile->companions ? ask(profile->companions, which) : NULL;

	return companion && !companion->analysis && companion->err.sentence[0]
		       ? companion->err.sentence
		       : NULL;
}

uint32_t *sn_loops_map(const struct sn_program *from, const struct sn_program *to)
{
	uint32_t *map = sn_alloc_zeroed(from->loops.count + 1, sizeof(*map));
	struct sn_interner ids = { 0 };

	/* ids differ, so an id's number is its loop's */
	for (uint32_t l = 0; from != to && l < to->loops.count; l++)
		sn_intern_string(&ids, to->loops.items[l].code->id);
	for (uint32_t l = 0; l < from->loops.count; l++) {
		const char *id = from->loops.items[l].code->id;

		map[l] = from == to ? l : sn_intern_find(&ids, id, strlen(id));
	}
	sn_interner_free(&ids);
	return map;
}
