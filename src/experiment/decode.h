/**
 * Decoding data files (wire/data.h) into an experiment. For the reader of experiments only.
 */
#ifndef SN_EXPERIMENT_DECODE_H
#define SN_EXPERIMENT_DECODE_H

#include "base/map.h"
#include "experiment/experiment.h"

/** A sentence, and how many processes said it. */
struct sn_process_warning {
	const char *sentence;
	int32_t first_pid;
	uint32_t process_count;
	uint32_t last_process; /* index of the last one that said it */
};

/** A process that a signal ended, as who waited for it knows. */
struct sn_process_killed {
	int32_t pid, waiter_pid; /* waiter_pid -1: the launcher */
	int32_t signal;
	int64_t time_ns; /* it had ended by then; INT64_MAX: not known */
	const char *host;
};

struct sn_decoder {
	struct sn_experiment *experiment;
	struct sn_map modules; /* hash of (path, build-id) -> module index + 1 */
	/* time_ns = CLOCK_MONOTONIC of the host + clock_offset_ns: CLOCK_REALTIME until all files
	 * are decoded; the reader then subtracts the earliest start. */
	int64_t clock_offset_ns;
	bool has_clock_offset;			    /* else each file's own pair is used */
	SN_VEC(struct sn_process_warning) warnings; /* what processes said of themselves */
	SN_VEC(struct sn_process_killed) killed;
	bool is_damaged; /* the file that is being decoded */
};

/**
 * Adds every process image found in the bytes: one data file, or several one after the other.
 * Damage is counted at the process (SN_LOSS_DAMAGED) and warned of by a sentence; never an error.
 * `name` stands in messages.
 */
void sn_decode_data(struct sn_decoder *decoder, const uint8_t *bytes, size_t length,
		    const char *name);

/** The number of the experiment's module of this path and build-id, made if new. */
uint32_t sn_decoder_module(struct sn_decoder *decoder, const char *path, const char *build_id,
			   enum sn_module_kind kind, bool is_main);
/** Adds what processes said, to others that said the same. The sentence is the experiment's. */
void sn_decoder_warning(struct sn_decoder *decoder, const struct sn_process_warning *warning);

/** Notes at each process that was killed which signal it was. Moves the processes' warnings to the
 *  experiment, each sentence once, and frees what the decoder
 *  holds (not the experiment). */
void sn_decoder_finish(struct sn_decoder *decoder);

/** Length of the data file that begins at `bytes`: header and all chunks that hold something; 0 if
 *  none begins there. */
size_t sn_data_used_bytes(const uint8_t *bytes, size_t length);
/** The next data file of several that lie one after the other, from `*at` on: where it begins, and its
 * whole pieces. False: there is none. */
bool sn_data_next(const uint8_t *bytes, size_t length, size_t *at, size_t *image_bytes);

#endif
