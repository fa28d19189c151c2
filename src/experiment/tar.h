/**
 * The blocks of a tar file (POSIX.1-2001, "pax interchange format"), as archives of experiments have
 * them: folders and regular files. Long paths and sizes are in pax records; GNU tar's are read, too.
 */
#ifndef SN_EXPERIMENT_TAR_H
#define SN_EXPERIMENT_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { SN_TAR_BLOCK = 512 };

/** Bytes of zeros that follow a member of this size. */
static inline size_t sn_tar_padding(uint64_t size)
{
	return (size_t)(-size & (SN_TAR_BLOCK - 1));
}

/** Adds a member's header. Owner 0, time 0, mode 0644 or 0755, so that equal members have equal
 * bytes. */
void sn_tar_add_header(struct sn_text *out, const char *path, uint64_t size, bool is_folder);

enum sn_tar_kind {
	SN_TAR_END, /* a block of zeros */
	SN_TAR_FILE,
	SN_TAR_FOLDER,
	SN_TAR_PAX,	  /* the next member's path or size */
	SN_TAR_LONG_PATH, /* likewise, as GNU tar writes it */
	SN_TAR_PAX_GLOBAL,
	SN_TAR_LINK,
	SN_TAR_DEVICE, /* or a FIFO */
	SN_TAR_OTHER,
};

struct sn_tar_header {
	enum sn_tar_kind kind;
	uint64_t size;
	char path[257]; /* 100 bytes, a slash and a prefix of 155 */
};

/** Reads one block. False: it is no header (its sum is wrong, or its size no number). */
bool sn_tar_read_header(const uint8_t block[SN_TAR_BLOCK], struct sn_tar_header *out);
/** Reads pax records. `*path` is set if they have one (the caller frees), `*size` likewise. False: they
 * are damaged. */
bool sn_tar_read_pax(const char *bytes, size_t length, char **path, uint64_t *size);

#endif
