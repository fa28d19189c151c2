/**
 * Experiment folders on disk: names, numbers, one folder for all `record`s of one launch.
 *
 *	sonde.NAME.N/
 *	  launch-key               what all records of this launch have in common (MPI job id, ...)
 *	  launch.HOST.PID.json     one per `record`: the command, the machine, how it ended
 *	  HOST.PID.data            one per `record`: the data of its processes, one after the other
 *	  extracts/BUILDID.extract machine code, symbols, lines, source of what was sampled
 *	  report.html
 */
#ifndef SN_EXPERIMENT_STORE_H
#define SN_EXPERIMENT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

/**
 * Makes the folder of a new experiment, or joins the one that another record of the same launch has
 * made. `wanted` is the name given by -o, or NULL: `sonde.NAME.N` in the working directory, N one
 * more than the largest there. `key` identifies the launch; a record of its own gives a key that no
 * other has. The folder of another launch is never used again: SN_ERR_USAGE. `path` stays empty
 * unless it succeeds.
 */
sn_status sn_store_create(const char *wanted, const char *program, const char *key,
			  struct sn_text *path, bool *is_joined, struct sn_error *err);

/** Whether sn_store_create can be expected to take this name (NULL: always); else says why, as it would. */
sn_status sn_store_check(const char *wanted, const char *key, struct sn_error *err);

/** The name that an experiment of this program would have now in the working directory. */
void sn_store_next(const char *program, struct sn_text *path);

/** The folder meant by a name: a path, an archive (unpacked: unpack.h), "@0", "@-1" ..., or NULL for
 *  "@0". Other processes may be writing it. SN_ERR_NOT_FOUND says what there is instead. */
sn_status sn_store_resolve(const char *name, struct sn_text *path, struct sn_error *err);

struct sn_store_entry {
	char *path;
	int64_t modified_ns; /* realtime */
	uint64_t size_bytes;
	bool is_pruned; /* the walk found something it could not read */
};

struct sn_store_list {
	SN_VEC(struct sn_store_entry) entries; /* newest first */
};

/** The experiments in `folder` (NULL: "."). */
sn_status sn_store_list(const char *folder, struct sn_store_list *list, struct sn_error *err);
void sn_store_list_free(struct sn_store_list *list);

/** Removes an experiment: only a folder that has a launch-key, and only files sonde wrote. */
sn_status sn_store_remove(const char *path, struct sn_error *err);

/** A name as a word of a folder's name: what could break a path or a shell line becomes '_', and 100
 * bytes are the most. The caller frees it. */
char *sn_store_word(const char *program);

/** Whether the folder is an experiment, or the file an archive of one (unpack.h). An archive that cannot
 * be read counts as one: opening it says why. */
bool sn_store_is_experiment(const char *path);
/** Whether sonde writes files of this name into an experiment. */
bool sn_store_is_ours(const char *name);
/** Whether sonde writes files of this name into a folder of live data. */
bool sn_store_is_live(const char *name);

#endif
