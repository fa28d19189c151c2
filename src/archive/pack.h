/**
 * Writes a tar file through zstd. Equal members in equal order give equal bytes, by one version of
 * libzstd.
 */
#ifndef SN_ARCHIVE_PACK_H
#define SN_ARCHIVE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sn_pack;

/** Begins a file; nothing stands at `path` before the commit. */
sn_status sn_pack_open(const char *path, struct sn_pack **out, struct sn_error *err);
void sn_pack_folder(struct sn_pack *pack, const char *name);
void sn_pack_file(struct sn_pack *pack, const char *name, const void *bytes, size_t length);
/** Ends it, and frees `pack` in either case. */
sn_status sn_pack_commit(struct sn_pack *pack, struct sn_error *err);
void sn_pack_abandon(struct sn_pack *pack);

/** Files and their bytes so far. */
void sn_pack_count(const struct sn_pack *pack, size_t *files, uint64_t *bytes);

#endif
