/**
 * What of the environment and the command line must not travel with an experiment.
 */
#ifndef SN_RECORD_REDACT_H
#define SN_RECORD_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether a variable's (or an option's) name says that its value is a secret: it holds PASSWORD,
 *  PASSWD, PASSPHRASE, SECRET, TOKEN, CREDENTIAL, COOKIE, API_KEY, ACCESS_KEY, PRIVATE_KEY, AUTH or
 *  SESSION, in either case. */
bool sn_name_is_secret(const char *name, size_t length);

/** Overwrites with '*', in place and keeping lengths, what is secret in a command-line word: V in
 *  --password=V and in user:V@host of an URL; the whole word after an option like --token
 *  (`previous`, may be NULL). */
void sn_redact_word(char *word, const char *previous);

/** What a process wrote over its command line, as setproctitle does: one text with blanks in it, and
 *  nothing but zeros after it. `bytes` are those of
 *  /proc/PID/cmdline, and a zero after them; ends the text with a zero and
 *  masks what is secret in its words. False: it is a command line. */
bool sn_process_title(char *bytes, size_t length);

/** Masks the argument records of a data file in memory (wire/data.h). */
void sn_redact_data(uint8_t *bytes, size_t length);

#endif
