/**
 * The queue of a batch system, Slurm's: sbatch, squeue and scancel, run as commands. Its accounting is not
 * asked: it is often off. Any of them may be gone for a while, as when Slurm is started again.
 */
#ifndef SN_CAMPAIGN_QUEUE_H
#define SN_CAMPAIGN_QUEUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/words.h"

enum sn_queue_state {
	SN_QUEUE_GONE, /* the queue does not know the job */
	SN_QUEUE_WAITS,
	SN_QUEUE_RUNS,
	SN_QUEUE_TIMED_OUT, /* by its time limit */
	SN_QUEUE_CANCELLED, /* by somebody */
	SN_QUEUE_LOST,	    /* its node failed, or another job took it */
	SN_QUEUE_ENDED,	    /* by itself */
};

/** A job of ours. */
struct sn_queue_row {
	const char *job;    /* its number */
	const char *script; /* absolute path, by which we know it */
	const char *reason; /* why it waits: "Priority" */
	enum sn_queue_state state;
};

struct sn_queue_rows {
	SN_VEC(struct sn_queue_row) items; /* texts are in the arena that they were read into */
};

/** What `squeue -o '%i|%T|%r|%o'` printed; lines that are none are passed over. The caller frees the vector. */
void sn_queue_read(const char *bytes, size_t length, struct sn_arena *arena,
		   struct sn_queue_rows *out);
/** The row of the job of a script, or NULL. */
const struct sn_queue_row *sn_queue_find(const struct sn_queue_rows *rows, const char *script);

/** Asks for all jobs of this user that the queue still knows. False: there was no answer, with its words. */
bool sn_queue_ask(struct sn_arena *arena, struct sn_queue_rows *out, struct sn_text *words);

enum sn_queue_answer { SN_QUEUE_TAKEN, SN_QUEUE_REFUSED, SN_QUEUE_SILENT };
/** Submits a script: `words` are sbatch's, with options, without the script. `*job` gets the number. Refused:
 * `reason` has its words. Silent: nobody answers, which may end; the job may have been taken none the less.
 * SN_ERR_NOT_FOUND: there is no sbatch here. */
sn_status sn_queue_submit(const struct sn_words *words, const char *script, const char *directory,
			  struct sn_arena *arena, enum sn_queue_answer *answer, const char **job,
			  struct sn_text *reason, struct sn_error *err);

/** Cancels a job. A job that is over is no fault. False: there was no answer, with its words. */
bool sn_queue_cancel(const char *job, struct sn_text *words);

/** What a job's own output says of its end, where the queue has forgotten it: Slurm writes it there. */
enum sn_queue_state sn_queue_end_in(const char *bytes, size_t length);

#endif
