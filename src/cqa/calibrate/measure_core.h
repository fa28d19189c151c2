/**
 * 'sonde calibrate' of the core: times of the instruction forms of a model, and its loop buffer,
 * measured in rounds until they are stable (machine/settle.h).
 */
#ifndef SN_CQA_CALIBRATE_MEASURE_CORE_H
#define SN_CQA_CALIBRATE_MEASURE_CORE_H

#include "machine/settle.h"

/** Fills `out`; what did not become stable keeps the figures of `older` (of this machine, may be
 * empty), or is left to the model. Takes half a minute, on a busy machine up to two. */
sn_status sn_calibrate_core(const struct sn_machine *machine, const struct sn_core_profile *older,
			    struct sn_core_profile *out, struct sn_settled *settled,
			    struct sn_error *err);

#endif
