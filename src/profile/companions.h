/**
 * Further runs of an experiment's program that lie in its folder: one in which loops were counted, one in
 * which variants of loops ran, one in which addresses of accesses were recorded (sonde analyze). Each is an experiment of its own; a table that the
 * experiment has no data for takes theirs, loop by loop, by the loops' ids.
 */
#ifndef SN_PROFILE_COMPANIONS_H
#define SN_PROFILE_COMPANIONS_H

#include "experiment/companions.h"
#include "profile/profile.h"

struct sn_companions;

/** Opens nothing: a companion is read when somebody first asks for what it has. */
struct sn_companions *sn_companions_new(const char *experiment_path);
void sn_companions_free(struct sn_companions *companions);

/** The profile whose experiment has instances (variants): this one, one of its companions, or again this one
 * if there are none. It belongs to the analysis of `profile`. Companions are of the whole run: the filter
 * of `profile` does not choose among their threads. */
const struct sn_profile *sn_profile_with_instances(const struct sn_profile *profile);
const struct sn_profile *sn_profile_with_variants(const struct sn_profile *profile);

struct sn_structures;
/** The same of recorded accesses. `structures` (NULL: not asked for) becomes what reads the code of that
 * run's modules; it stays what it is where the result is `profile`. */
const struct sn_profile *sn_profile_with_accesses(const struct sn_profile *profile,
						  struct sn_structures **structures);

/** Why a companion that is there cannot be read, as a sentence; NULL: it can, or is not there. */
const char *sn_companion_damage(const struct sn_profile *profile, enum sn_companion companion);

/** By the number of a loop in `from`: its number in `to`, SN_NONE if that does not know it. The caller
 * frees. */
uint32_t *sn_loops_map(const struct sn_program *from, const struct sn_program *to);

#endif
