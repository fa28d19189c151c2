/**
 * How long each wait really blocked its thread.
 *
 * A traced call is timed from its entry to its return. So its duration also holds the CPU time of
 * the call (reading /dev/zero is nothing else) and waiting for a CPU afterwards. The thread's
 * account knows how long it was blocked in all.
 *
 * The rule (docs/method/time.md): a thread's waits never add up to more than that. What is too much
 * is taken first from the waits during which samples saw CPU time being used, in proportion to it, then
 * from all but sleeps in proportion, then from sleeps.
 */
#ifndef SN_PROFILE_BLOCKED_H
#define SN_PROFILE_BLOCKED_H

#include "profile/profile.h"

/** Sets blocked_ns of each wait, by index. A thread without an account keeps its durations. */
void sn_blocked_find(const struct sn_experiment *experiment, uint64_t *blocked_ns);
/** The blocked part of `ns` of the duration of a wait of the profile's experiment. */
uint64_t sn_blocked_part(const struct sn_profile *profile, const struct sn_wait *wait, uint64_t ns);

#endif
