/**
 * Figures of this machine: its memory and the instruction forms of its core, measured until they
 * are stable. Those that do not become stable keep the figures of the run before.
 */
#ifndef SN_CQA_CALIBRATE_CALIBRATION_H
#define SN_CQA_CALIBRATE_CALIBRATION_H

#include "machine/settle.h"

enum { SN_MEMORY_MEASUREMENTS_MAX = 8 };

struct sn_calibration {
	struct sn_core_profile core, older_core;
	struct sn_memory_profile memory, older_memory, measured[SN_MEMORY_MEASUREMENTS_MAX];
	size_t measured_count;
	bool has_older; /* of this processor */
	struct sn_settled core_settled, memory_settled;
};

/** Measures everything, which takes up to two minutes. `path` holds the figures of the run before,
 * or is not there. `calibration` must be zero, and is to be freed even after a failure. */
sn_status sn_calibration_measure(struct sn_calibration *calibration,
				 const struct sn_machine *machine, const char *path,
				 struct sn_error *err);
void sn_calibration_free(struct sn_calibration *calibration);

/** Reads the older figures from `path`, if they are of the processor of that name; of none for NULL.
 * A part of sn_calibration_measure. */
void sn_calibration_read_older(struct sn_calibration *calibration, const char *path,
			       const char *processor);

#endif
