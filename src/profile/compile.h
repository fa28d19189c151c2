/**
 * How the hot code of a module was compiled, weighed by the time spent in it.
 *
 * gcc writes its options into DW_AT_producer; with -frecord-command-line (clang) or
 * -frecord-gcc-switches they are in .GCC.command.line. Where neither is, nothing is claimed.
 */
#ifndef SN_PROFILE_COMPILE_H
#define SN_PROFILE_COMPILE_H

#include <stdint.h>

#include "code/options.h"
#include "profile/profile.h"
#include "profile/structures.h"

struct sn_compile_facts {
	uint32_t module;
	uint64_t cpu_ns;	 /* exclusive time in the module */
	uint64_t unnamed_ns;	 /* where not even a function is known */
	uint64_t no_lines_ns;	 /* without line information: no -g */
	uint64_t known_ns;	 /* where options are known */
	uint64_t of_level_ns[7]; /* by enum sn_optimization */
	uint64_t no_target_ns;	 /* options known, and no -march beyond the baseline */
	char compiler[64];	 /* of the hottest unit: "GNU C17 12.2.0", or "" */
};

/** Facts of one module. The structures are those that the profile's program was resolved with. */
struct sn_compile_facts sn_compile_facts_find(const struct sn_profile *profile,
					      struct sn_structures *structures, uint32_t module);

#endif
