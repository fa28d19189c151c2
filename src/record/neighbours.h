/**
 * What the machine does beside the target: comparisons of runs need to know (docs/method/diff.md).
 */
#ifndef SN_RECORD_NEIGHBOURS_H
#define SN_RECORD_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

/** CPU time of all processors since boot (/proc/stat, in ticks of 10 ms): what was spent on
 * anything, other guests of the host included, and the same with idle time. */
struct sn_machine_time {
	bool is_known;
	int64_t busy_ns, whole_ns;
};

struct sn_machine_time sn_machine_time_now(void);
/** The share of the machine that others had between two readings, in which we used `own_ns`; -1:
 * unknown. */
double sn_machine_others_share(struct sn_machine_time from, struct sn_machine_time to,
			       int64_t own_ns);

struct sn_arena;
/** The processor's name as the kernel has it, in the arena; "" if unknown. */
const char *sn_machine_cpu_model(struct sn_arena *arena);

#endif
