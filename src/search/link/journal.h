/**
 * The front's journal: every result that it has taken, on disk before its agent is told so.
 *
 * It is a row of frames, appended to and never changed. A result is told by (agent, epoch, number); one that
 * comes again is not written again. Other frames of it are notes (SN_LINK_HELLO, SN_LINK_NOTE,
 * SN_LINK_BEGIN), which may be there any number of times.
 */
#ifndef SN_SEARCH_LINK_JOURNAL_H
#define SN_SEARCH_LINK_JOURNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "search/link/frame.h"

/** Which numbers of an (agent, epoch) are there. */
struct sn_journal_stream {
	uint32_t agent, epoch;
	uint64_t through; /* all from 1 to here */
	uint64_t highest;
	struct sn_map beyond; /* those above `through` */
};

struct sn_journal {
	int fd; /* -1: read only */
	SN_VEC(struct sn_journal_stream) streams;
	struct sn_map stream_of;
	struct sn_text waiting; /* frames since the last sync */
	uint64_t received, repeated;
	uint64_t damaged_bytes; /* that were skipped when it was opened */
};

/** Opens or makes the journal at `path` and reads it: each frame goes to `see`, in order. What a write was
 *  cut off in is cut away; damage elsewhere is skipped and counted. SN_ERR_IO: it cannot be opened. SN_ERR_USAGE: another
 *  process has it open. */
sn_status sn_journal_open(const char *path, struct sn_journal *out,
			  void (*see)(const struct sn_link_frame *frame, void *context),
			  void *context, struct sn_error *err);
/** Takes a result; true if it is new. It is on disk after sn_journal_sync. */
bool sn_journal_take(struct sn_journal *journal, const struct sn_link_frame *frame);
/** Takes a note. */
void sn_journal_note(struct sn_journal *journal, const struct sn_link_frame *frame);
/** Writes what was taken, and returns when it is on disk. After a failure nothing of it is: the caller goes
 *  on with what the journal had, and takes no more. */
sn_status sn_journal_sync(struct sn_journal *journal, struct sn_error *err);
/** All numbers of (agent, epoch) from 1 to this one are there. */
uint64_t sn_journal_through(const struct sn_journal *journal, uint32_t agent, uint32_t epoch);
/** Says that (agent, epoch) has made so many; those that lack are gaps. */
void sn_journal_expect(struct sn_journal *journal, uint32_t agent, uint32_t epoch, uint64_t count);
/** How many numbers lack. */
uint64_t sn_journal_gaps(const struct sn_journal *journal);
void sn_journal_close(struct sn_journal *journal);

#endif
