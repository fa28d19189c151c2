/**
 * What a start of a program writes to its standard output and standard error: shown to the user as it comes, or kept
 * aside; told by its size and hash, so that several starts can be compared.
 *
 * What is shown is looked at without a change for the program: a file is read afterwards, and a pipe has one more before it. Of a
 * terminal nothing is known. Where output and error are one file, they stay one, and are compared as one.
 */
#ifndef SN_RECORD_WRITTEN_H
#define SN_RECORD_WRITTEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"
#include "base/text.h"

/** Of one of the two. */
struct sn_written_stream {
	bool is_known;
	uint64_t bytes;
	uint8_t hash[32];
};

struct sn_written {
	int fds[2];  /* what the program gets for its output and error; -1: as they are */
	bool is_one; /* both go into one file */
	bool is_aside;
	bool has_begun;			     /* zero-initialised it has not, and may be closed */
	struct sn_written_stream streams[2]; /* output, error; when it is over */

	/* ---- private ---- */
	struct sn_written_copy {
		int from, to; /* a pipe's end that is read, and where it goes; -1: there is none */
		pthread_t thread;
		bool has_thread;
		atomic_bool is_over;
		bool has_ended; /* all that had the other end are gone */
		struct sn_sha256 hash;
		uint64_t bytes;
	} copies[2];
	off_t begin; /* of what is shown in a file; -1: it is in none */
};

/** A start begins; `fds` are to be its own (record.h, `standard_fds`). Not to be moved until sn_written_close. */
void sn_written_begin(struct sn_written *written, bool is_aside);
/** It is over: all that it wrote has come to where it goes. */
void sn_written_end(struct sn_written *written);
/** Of what was kept aside: into `stdout.txt` and `stderr.txt` of a folder, if there is something. */
void sn_written_keep(const struct sn_written *written, const char *folder);
/** Of what was kept aside: to the user after all. */
void sn_written_show(const struct sn_written *written);
void sn_written_close(struct sn_written *written);

/** What differs, in words ("standard output (120 bytes, not 118)"), added; false: nothing that is known does. */
bool sn_written_differ(const struct sn_written *of, const struct sn_written *from,
		       struct sn_text *out);

#endif
