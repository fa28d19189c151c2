/**
 * Debug files from debuginfod servers, through the debuginfod-find command of elfutils. That
 * command honours DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH and DEBUGINFOD_TIMEOUT. Servers are asked
 * only where the user wants it, since a request tells them which programs run here.
 */
#ifndef SN_CODE_DEBUGINFOD_H
#define SN_CODE_DEBUGINFOD_H

#include "base/error.h"

/** SN_ERR_UNSUPPORTED, with the remedy, if there is no command or no server to ask. */
sn_status sn_debuginfod_ready(struct sn_error *err);
/** The path of the debug file for a build-id (lower-case hex) in the command's cache, to be freed;
 *  NULL: no server has it. Blocks until the servers have answered. */
char *sn_debuginfod_find(const char *build_id);

#endif
