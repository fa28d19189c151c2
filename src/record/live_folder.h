/**
 * The folder in which a target's data lie while it runs: in memory where that can be, since a store
 * to a page of a disk's file may stall for milliseconds (docs/format/experiment.md). Its launcher
 * holds a lock on it, so that folders that killed launchers left can be told from those in use, and a
 * file in it names the launch file through which the data can be read.
 */
#ifndef SN_RECORD_LIVE_FOLDER_H
#define SN_RECORD_LIVE_FOLDER_H

#include "base/error.h"
#include "base/text.h"

struct sn_live_folder {
	struct sn_text path;
	int lock_fd;	     /* open while the folder is in use; -1: it could not be locked */
	struct sn_text mark; /* what that file says; empty: there is none, as in an experiment */
};

/** The first of $TMPDIR, /dev/shm and /tmp that has room; NULL: none. */
const char *sn_live_place(void);
/** Makes it in the first of $TMPDIR, /dev/shm and /tmp that has room, else in the folder
 * `experiment`, and sweeps there what killed launchers left. `is_on_disk`: in the experiment at
 * once, for data of which memory shall hold a small part only. `folder` must be zero. */
sn_status sn_live_folder_make(const char *experiment, const char *host, bool is_on_disk,
			      struct sn_live_folder *folder, struct sn_error *err);
/** Removes the folder if it is empty. May be called again, and for one that was not made. */
void sn_live_folder_remove(struct sn_live_folder *folder);
void sn_live_folder_free(struct sn_live_folder *folder);

/** Removes live folders in `parent` that are ours, whose launcher is gone, that nobody holds, in which
 * no process writes, and in which nothing has changed for `age_s` seconds: empty ones, and those that can be
 * read from no experiment. These are such whose launch file names them no more or was never written, and
 * such whose experiment is gone: at once with the folder around it, else after a day, as it may have been
 * moved. Of earlier versions, which do not name it, after a week. Files that are not ours stay. */
void sn_live_folders_sweep(const char *parent, int age_s);

#endif
