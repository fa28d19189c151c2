/**
 * What the experiment of a run says of it: did it end, with how many ranks and threads, how much CPU
 * time, how many samples.
 */
#ifndef SN_CAMPAIGN_FACTS_H
#define SN_CAMPAIGN_FACTS_H

#include "campaign/state.h"
#include "experiment/experiment.h"

/** Facts that are not known. */
struct sn_run_facts sn_run_facts_unknown(void);

/** Takes the facts from an experiment; `output_bytes` is not known to it. Threads: see
 * docs/method/scalability.md. */
struct sn_run_facts sn_run_facts_of(const struct sn_experiment *experiment);

/** The name of the program whose process has most CPU time, without folders; "": not known. Borrowed. */
const char *sn_run_program(const struct sn_experiment *experiment);

/** Whether all of its processes ended, and the exit status of the target is known. */
bool sn_run_has_ended(const struct sn_experiment *experiment);

/** Whether the run had the ranks and threads that were asked for (0: not said); `helpers` threads more may work. If not, `reason` gets
 * a sentence. */
bool sn_run_is_as_asked(const struct sn_run_facts *facts, uint32_t ranks, uint32_t threads,
			uint32_t helpers, struct sn_text *reason);

#endif
