/**
 * Files of the cache that hold what was made of a module: read only if they are whole and were made of
 * the same. Of this folder only.
 *
 * Behind the contents stands a footer: what kind of file it is, a hash of what it was made of, the
 * length and a sum. So damage and old files are seen, and whoever writes at the same time puts a whole
 * file in the place of a whole file.
 */
#ifndef SN_CODE_KEPT_FILE_H
#define SN_CODE_KEPT_FILE_H

#include <stdbool.h>

#include "base/file.h"
#include "base/text.h"

/** A kind of file: its ending, and 8 characters that change with its format. */
struct sn_kept_kind {
	const char *ending;
	char magic[8];
};

/** The path of a module's file of a kind. */
void sn_kept_path(struct sn_text *out, const char *folder, const char *id,
		  const struct sn_kept_kind *kind);
/** Maps a file that is whole and was made in `state`. The view holds the footer, too. False: there is none.
 * The caller unmaps. */
bool sn_kept_read(const char *path, const struct sn_kept_kind *kind, uint64_t state,
		  struct sn_file_view *out);
/** Writes contents, whose length is a multiple of 8, and a footer. Failing is no failure. */
void sn_kept_write(const char *folder, const char *path, const struct sn_kept_kind *kind,
		   uint64_t state, const void *bytes, size_t length);
/** The length of the contents of a view from sn_kept_read. */
size_t sn_kept_length(const struct sn_file_view *file);

#endif
