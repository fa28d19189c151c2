/**
 * The spool of a node agent's results: each stays here until the front's journal has it.
 *
 * A file of frames: first the agent's state, then results. Results are added in batches that count whole or
 * not at all: a batch ends with the state behind it. When the journal has all of them, the file is written
 * anew with the state alone. The file outlives the process (SIGKILL at any instruction), not the host.
 */
#ifndef SN_SEARCH_LINK_OUTBOX_H
#define SN_SEARCH_LINK_OUTBOX_H

#include "base/vec.h"
#include "search/link/frame.h"

enum { SN_OUTBOX_EPOCHS_MOST = 4096 };

/** How many results an epoch has made. */
struct sn_outbox_epoch {
	uint32_t epoch;
	uint64_t count;
};

struct sn_outbox_frame {
	uint32_t epoch;
	uint64_t number;
	uint32_t length;
	size_t at; /* in `bytes`: the whole frame */
	bool is_acked;
};

struct sn_outbox {
	char *path;
	uint32_t agent, epoch;
	int64_t began_ns;		       /* CLOCK_BOOTTIME; 0: the phases have not begun */
	uint32_t phase;			       /* the last whose results are all here */
	bool has_ended;			       /* no further results come */
	SN_VEC(struct sn_outbox_epoch) epochs; /* of all incarnations, this one last */
	SN_VEC(struct sn_outbox_frame) frames; /* not in the journal, as far as is known */
	struct sn_text bytes;
	size_t unacked; /* of the frames */
};

/** Opens the spool of an agent's incarnation (`epoch` from 1 on) with what earlier ones left. No file is an
 *  empty spool; what is damaged or half written is left out. */
sn_status sn_outbox_open(const char *path, uint32_t agent, uint32_t epoch, struct sn_outbox *out,
			 struct sn_error *err);
/** Adds results with the next numbers, and then the state, in one write. `bodies[i]` is a body. */
sn_status sn_outbox_add(struct sn_outbox *outbox, const struct sn_text *bodies, size_t count,
			struct sn_error *err);
/** The journal has all of `epoch` up to `number`. */
void sn_outbox_ack(struct sn_outbox *outbox, uint32_t epoch, uint64_t number);
void sn_outbox_close(struct sn_outbox *outbox);

/** From memory, for a spool without a file. */
void sn_outbox_read_memory(const void *bytes, size_t length, struct sn_outbox *out);

#endif
