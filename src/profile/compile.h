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
	uint64_t cpu_ns;     /* exclusive time in the module */
	uint64_t known_ns;   /* whose options are known, by a compiler that takes C's */
	uint64_t unnamed_ns; /* where not even a function is known */
	uint64_t missing_ns[SN_MISSING_COUNT]; /* compiled without, by enum sn_missing_option */
	char compiler[64];		       /* of the hottest unit: "GNU C17 12.2.0", or "" */
};

/** Facts of one module. The structures are those that the profile's program was resolved with. */
struct sn_compile_facts sn_compile_facts_find(const struct sn_profile *profile,
					      struct sn_structures *structures, uint32_t module);

struct sn_text;
/** "-O3 (97 %), -march=native (100 %)": what was missing, with the part of the module's time that
 *  lacked it; nothing is added for what concerns less than 5 %. */
void sn_compile_missing(const struct sn_compile_facts *facts, struct sn_text *out);

#endif
