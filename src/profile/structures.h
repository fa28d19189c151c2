/**
 * The program structure of every module of an experiment: from its extract, else from the file it
 * was mapped from, if that is still the same file.
 */
#ifndef SN_PROFILE_STRUCTURES_H
#define SN_PROFILE_STRUCTURES_H

#include "code/structure.h"
#include "experiment/experiment.h"
#include "profile/program.h"

struct sn_structures;

/** Opens nothing yet; modules are opened when addresses of theirs are resolved. The experiment is
 *  borrowed. */
struct sn_structures *sn_structures_new(const struct sn_experiment *experiment);
void sn_structures_free(struct sn_structures *structures);

/** Resolves addresses for sn_program_new; lives as long as the structures. */
struct sn_resolver sn_structures_resolver(struct sn_structures *structures);

/** The structure of a module, NULL if it could not be had (or no address of it was resolved). */
struct sn_structure *sn_structures_of(struct sn_structures *structures, uint32_t module);

/** Sentences on modules that could not be read, or not fully; by module, NULL: none. */
const char *sn_structures_warning(const struct sn_structures *structures, uint32_t module);

/** Of a module whose extract is there and cannot be read: which, what is wrong, what to do. NULL:
 * all is well with it, or there is none. */
const char *sn_structures_damage(const struct sn_structures *structures, uint32_t module);

/** Source paths that begin with `from` are looked for under `to`; before anything is resolved. */
void sn_structures_map_source(struct sn_structures *structures, const char *from, const char *to);

#endif
