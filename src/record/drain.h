/**
 * Takes the traces of running processes (wire/trace.h) to the experiment while they run: a thread of
 * the launcher's own, so that a slow disk delays neither the data files' feeding nor the target.
 */
#ifndef SN_RECORD_DRAIN_H
#define SN_RECORD_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/launch.h"

struct sn_drain;

/** For a launch whose target has just begun; the trace is HOST.PID.trace of the experiment. `max_bytes`
 * 0: no limit. What cannot be done is a warning of the launch, then NULL is returned. */
struct sn_drain *sn_drain_begin(struct sn_launch *launch, const char *experiment_path,
				uint64_t max_bytes, bool is_static);

/** The target has ended: takes what is left, with the account of each process, removes the live traces
 * and frees `drain`, which may be NULL. Gives the bytes on disk; no file is left if nothing was traced.
 * What was lost is a warning of the launch. */
uint64_t sn_drain_end(struct sn_drain *drain, struct sn_launch *launch);

#endif
