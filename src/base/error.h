/**
 * Statuses, errors as one sentence, and the exit codes of the command line.
 */
#ifndef SN_BASE_ERROR_H
#define SN_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
	SN_OK = 0,
	SN_ERR_NOMEM,	    /* out of memory */
	SN_ERR_IO,	    /* the kernel refused: open, read, write, full disk */
	SN_ERR_FORMAT,	    /* bytes that do not say what they should */
	SN_ERR_RANGE,	    /* a number too large for what it counts */
	SN_ERR_UNSUPPORTED, /* understood, but not possible here */
	SN_ERR_NOT_FOUND,
	SN_ERR_NO_DATA, /* nothing to compute an answer from */
	SN_ERR_USAGE,
} sn_status;

enum sn_exit_code {
	SN_EXIT_OK = 0,
	SN_EXIT_FINDING = 1,
	SN_EXIT_USAGE = 2,
	SN_EXIT_NO_DATA = 3,
	SN_EXIT_UNSUPPORTED = 4,
	SN_EXIT_BAD_INPUT = 5,
	SN_EXIT_NOMEM = 70,
	SN_EXIT_NOT_MEASURED = 125, /* run, record: sonde's own failure */
	SN_EXIT_NOT_EXECUTABLE = 126,
	SN_EXIT_COMMAND_NOT_FOUND = 127,
};

/** One sentence a user can act on: what was wrong, where, what to do. No file:line of ours. */
struct sn_error {
	sn_status status;
	char sentence[1024];
};

/** Fills `err` (may be NULL) and returns `status`, so that a function can end in it. */
__attribute__((format(printf, 3, 4))) sn_status sn_error_set(struct sn_error *err, sn_status status,
							     const char *format, ...);

/** As sn_error_set, with the kernel's words for `errno` appended after a colon, and what to do where
 *  a disk is full, a quota or a limit is reached (sn_errno_remedy). */
__attribute__((format(printf, 2, 3))) sn_status sn_error_errno(struct sn_error *err,
							       const char *format, ...);

/** What to do when there is no more room, "; free some space or name another place", or "" for
 *  errors that say nothing of the kind. Into `out`, which it returns. */
const char *sn_errno_remedy(int number, char *out, size_t room);

/** The exit code of a command (not run or record) that ended in this status. */
enum sn_exit_code sn_status_exit_code(sn_status status);

/** Prints "sonde: SENTENCE" on standard error, control bytes escaped; returns the exit code. */
int sn_error_print(const struct sn_error *err);

/** Prints "sonde: ..." on standard error as one warning line, control bytes escaped. */
__attribute__((format(printf, 1, 2))) void sn_warn(const char *format, ...);

#endif
