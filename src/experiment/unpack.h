/**
 * Archives of experiments and campaigns: tar in zstd (docs/format/archive.md). Reading commands take one
 * wherever they take the folder. It is unpacked into a private folder that is removed when the command
 * ends, however it ends.
 */
#ifndef SN_EXPERIMENT_UNPACK_H
#define SN_EXPERIMENT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/** Whether this is a regular file that begins as zstd does. */
bool sn_is_archive(const char *path);

/** The folder that the archive holds, under its old name; unpacked once in a command. It stays until the
 * command ends. SN_ERR_FORMAT: damaged, hostile, or of something else; SN_ERR_IO. Then nothing of it is
 * left. */
sn_status sn_archive_open(const char *path, const char **folder, struct sn_error *err);
/** The same of a path that goes on within an archive (`a.sonde/runs/x`). False, and *out as it was, if no part of it is
 * one; else *status tells whether it could be opened, and `out` gets the unpacked path. */
bool sn_archive_open_within(const char *path, struct sn_text *out, sn_status *status,
			    struct sn_error *err);

/** The archive that a path below such a folder came from; NULL: from none. */
const char *sn_archive_of(const char *path);
/** SN_ERR_USAGE, with what to do, if `path` came from an archive: it would be changed. */
sn_status sn_archive_refuse(const char *path, struct sn_error *err);
/** Where a page of the experiment goes unless somebody says: into its folder, or beside the archive. */
void sn_archive_page_path(const char *experiment, const char *page, struct sn_text *out);

/** Unpacks into `into`, an empty folder. `name` is for messages; `*top` (the caller frees) is the one
 * folder of the archive. Nothing outside `into` is touched. */
sn_status sn_unpack(const uint8_t *bytes, size_t length, const char *name, const char *into,
		    char **top, struct sn_error *err);

#endif
