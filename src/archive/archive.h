/**
 * One file of an experiment or a campaign, to be sent to somebody. Every command that reads the folder
 * reads the file (experiment/unpack.h).
 */
#ifndef SN_ARCHIVE_ARCHIVE_H
#define SN_ARCHIVE_ARCHIVE_H

#include <stdint.h>

#include "archive/private.h"

struct sn_archive_result {
	size_t files;
	uint64_t bytes; /* of the files, before they were packed */
};

/**
 * Writes the archive of `folder` to `path`, whole or not at all. In it are the files that sonde wrote;
 * pages, which can be made again, and what a campaign's programs printed and builds made are not.
 * SN_ERR_USAGE: the run has not ended, or its data are not in the folder; SN_ERR_UNSUPPORTED: see
 * sn_private_plan.
 */
sn_status sn_archive_write(const char *folder, const char *path,
			   const struct sn_archive_redaction *redaction,
			   struct sn_archive_result *result, struct sn_error *err);

#endif
