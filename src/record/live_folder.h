/**
 * The folder in which a target's data lie while it runs: in memory where that can be, since a store
 * to a page of a disk's file may stall for milliseconds (docs/format/experiment.md). Its launcher
 * holds a lock on it, so that folders that killed launchers left empty can be told from those in use.
 */
#ifndef SN_RECORD_LIVE_FOLDER_H
#define SN_RECORD_LIVE_FOLDER_H

#include "base/error.h"
#include "base/text.h"

struct sn_live_folder {
	struct sn_text path;
	int lock_fd; /* open while the folder is in use; -1: it could not be locked */
};

/** The first of $TMPDIR, /dev/shm and /tmp that has room; NULL: none. */
const char *sn_live_place(void);
/** Makes it in the first of $TMPDIR, /dev/shm and /tmp that has room, else in the folder
 * `experiment`, and removes what killed launchers left empty there. `is_on_disk`: in the experiment at
 * once, for data of which memory shall hold a small part only. `folder` must be zero. */
sn_status sn_live_folder_make(const char *experiment, const char *host, bool is_on_disk,
			      struct sn_live_folder *folder, struct sn_error *err);
/** Removes the folder if it is empty. May be called again, and for one that was not made. */
void sn_live_folder_remove(struct sn_live_folder *folder);
void sn_live_folder_free(struct sn_live_folder *folder);

/** Removes live folders in `parent` that are ours and empty, whose launcher is gone, that nobody
 * holds, and in which nothing has changed for `age_s` seconds. */
void sn_live_folders_sweep(const char *parent, int age_s);

#endif
