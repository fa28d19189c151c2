/**
 * Whole files: read, mapped, or written under a temporary name and renamed when complete.
 */
#ifndef SN_BASE_FILE_H
#define SN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"

/** A read-only view of a file's bytes. Freed by sn_file_unmap; {0} is an empty view. */
struct sn_file_view {
	const uint8_t *bytes;
	size_t length;
	bool is_mapped; /* else the bytes are heap memory */
};

/** Maps a regular file; reads pipes and empty files into memory. */
sn_status sn_file_map(const char *path, struct sn_file_view *out, struct sn_error *err);
void sn_file_unmap(struct sn_file_view *view);

/** A file that is being written. Nothing stands at `path` until the commit succeeded. What is no
 * regular file (a pipe, /dev/null) is written directly. Where `path` is a symbolic link, the file
 * that it names is replaced, not the link. */
struct sn_file_writer {
	FILE *out;
	char *path, *temporary; /* temporary: NULL if written directly */
};

sn_status sn_file_writer_open(struct sn_file_writer *writer, const char *path,
			      struct sn_error *err);
/** Flushes, checks for every write error (a full disk among them) and renames. Frees the writer
 *  in either case; after a failure no file is left. */
sn_status sn_file_writer_commit(struct sn_file_writer *writer, struct sn_error *err);
void sn_file_writer_abandon(struct sn_file_writer *writer);

/** Whether bytes for `out` could not be written; then errno says why, and not what came later. */
bool sn_file_has_failed(FILE *out);

/** A write beyond the limit on file sizes is an error to be told, not our end by SIGXFSZ. For the
 *  start of main; the other undoes it before a program is begun that is not ours. */
void sn_file_limit_mind(void);
void sn_file_limit_leave(void);

/** Makes a folder and the folders above it, as mkdir -p does. */
sn_status sn_make_folders(const char *path, struct sn_error *err);
/** Removes folder `name` of the open folder `parent` with all that lies in it, as far as that can be; no link in it is
 *  followed. Sets errno where something stays. */
void sn_file_remove_folder(int parent, const char *name);

/** The id of this boot of the machine, in the arena; "" if it is not told. Times of CLOCK_MONOTONIC are of one boot. */
const char *sn_boot_id(struct sn_arena *arena);

#endif
