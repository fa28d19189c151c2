/**
 * Finding the target's program as exec would, and seeing what kind of file it is before it is
 * started.
 */
#ifndef SN_RECORD_TARGET_H
#define SN_RECORD_TARGET_H

#include <stdbool.h>

#include "base/error.h"

enum sn_target_kind {
	SN_TARGET_DYNAMIC, /* the runtime can be preloaded (scripts: into their interpreter) */
	SN_TARGET_STATIC,  /* no dynamic loader: sampled from outside */
	SN_TARGET_SETUID,  /* the loader ignores LD_PRELOAD for this user */
	SN_TARGET_FOREIGN, /* 32-bit, or another machine's code */
};

struct sn_target {
	char path[4096]; /* what execve gets; has a slash */
	enum sn_target_kind kind;
	int exit_code; /* 126 or 127 if it cannot be started; 0 else */
	/* of `path`, if that is a file of x86-64 code with a dynamic loader: that loader; else "" */
	char loader[256];
};

/** Looks `word` up in PATH as execvp does and reads the first bytes of what it names. On failure
 *  `exit_code` is set (127 not found, 126 not executable) and the error says why. */
sn_status sn_target_find(const char *word, struct sn_target *out, struct sn_error *err);
/** SN_ERR_UNSUPPORTED: nothing of sonde can be in this program (it is static, setuid, or of another machine). */
sn_status sn_target_check_insertable(const struct sn_target *target, struct sn_error *err);
/** Whether a file is a program of x86-64 code, and no library, object file or script; and one without a dynamic loader. */
bool sn_target_is_program(const char *path);
bool sn_target_is_static_program(const char *path);

#endif
