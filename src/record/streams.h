/**
 * Several starts of one program: each reads the same standard input, and what those before the last
 * one write to standard output is not the user's.
 */
#ifndef SN_RECORD_STREAMS_H
#define SN_RECORD_STREAMS_H

#include <stdbool.h>
#include <sys/types.h>

struct sn_streams {
	int input;	/* where input can be read again; -1: as it is */
	off_t input_at; /* -1: it cannot be read again (a terminal) */
	int output;	/* the user's standard output while a start runs; -1: it does not */
	int aside;	/* what the last start wrote; -1: nothing was kept */
	int before;	/* what the start before it wrote; -1: there was none */
};

/** Keeps what comes by a pipe, so that it can be read again; standard input is at its beginning. */
void sn_streams_open(struct sn_streams *streams);
/** Input is at its beginning again. */
void sn_streams_rewind(const struct sn_streams *streams);
/** A start begins: its input is at the beginning, its output goes aside. */
void sn_streams_begin(struct sn_streams *streams);
/** It is over: standard output is the user's again. */
void sn_streams_end(struct sn_streams *streams);
/** Whether the last start wrote what the one before it wrote, byte for byte; true of the first. */
bool sn_streams_are_alike(const struct sn_streams *streams);
/** Writes what the last start wrote to a descriptor. */
void sn_streams_show(const struct sn_streams *streams, int fd);
void sn_streams_close(struct sn_streams *streams);

#endif
