/**
 * What lies at an address of a process's data: a variable of a module by its debug information, a section of
 * one without, or memory of no file (heap, stack, mappings).
 */
#ifndef SN_PROFILE_DATA_OBJECTS_H
#define SN_PROFILE_DATA_OBJECTS_H

#include <stdint.h>

#include "experiment/experiment.h"

struct sn_data_objects;

enum sn_data_kind { SN_DATA_VARIABLE, SN_DATA_SECTION, SN_DATA_MEMORY };

struct sn_data_object {
	enum sn_data_kind kind;
	const char *name;   /* "table", ".bss"; "memory" for memory of no file */
	const char *type;   /* of a variable, for people; else NULL */
	const char *module; /* base name; NULL: none */
};

/** Reads modules as addresses meet them: their files as they are here now, where these are the ones that ran. The
 *  experiment is borrowed. */
struct sn_data_objects *sn_data_objects_new(const struct sn_experiment *experiment);
void sn_data_objects_free(struct sn_data_objects *objects);

/** Texts live as long as `objects`. */
struct sn_data_object sn_data_object_at(struct sn_data_objects *objects, uint32_t process,
					uint64_t address, int64_t time_ns);

#endif
