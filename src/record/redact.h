/**
 * Which parts of the environment and the command line must not travel with an experiment.
 */
#ifndef SN_RECORD_REDACT_H
#define SN_RECORD_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/launch.h"

/** Whether a variable's (or an option's) name says that its value is a secret: it holds PASSWORD,
 *  PASSWD, PASSPHRASE, SECRET, TOKEN, CREDENTIAL, COOKIE, API_KEY, ACCESS_KEY, PRIVATE_KEY, AUTH or
 *  SESSION, in either case. */
bool sn_name_is_secret(const char *name, size_t length);

/** Overwrites what is secret in a command-line word with '*', in place and keeping lengths: V in
 * --password=V, V in user:V@host of an URL, and the whole word after an option like --token
 * (`previous`, may be NULL). */
void sn_redact_word(char *word, const char *previous);

/** Whether `bytes` are a title that a process wrote over its command line, as setproctitle does:
 * one text with blanks in it, and nothing but zeros after it. `bytes` are those of
 * /proc/PID/cmdline, and a zero after them. A title is ended with a zero, and what is secret in its
 * words is masked. False: it is a command line. */
bool sn_process_title(char *bytes, size_t length);

/** Masks the argument records of a data file in memory (wire/data.h). */
void sn_redact_data(uint8_t *bytes, size_t length);
/** Overwrites all texts of some kinds (the sum of 1 << enum sn_text_kind) in a data file in memory, and
 * what is in a chunk behind its last record. */
void sn_redact_data_texts(uint8_t *bytes, size_t length, uint32_t kinds);
/** Adds our own environment to the launch, secrets masked. */
void sn_redact_environment(struct sn_launch *launch);

/** The words of a command, ended by NULL, as one line of a shell without secrets; a title as it stands. */
char *sn_redact_command_line(struct sn_arena *arena, char *const *words, bool is_title);

#endif
