/* Adds up the exclusive CPU time of loops over the loops around them. */
#include "whatif/nest_time.h"

#include "base/alloc.h"

struct sn_weight *sn_nest_time(const struct sn_profile *profile)
{
	const struct sn_program *program = profile->program;
	struct sn_weight *own = sn_alloc_zeroed(program->loops.count + 1, sizeof(*own));

	for (size_t l = 0; l < program->loops.count; l++)
		for (uint32_t at = (uint32_t)l; profile->loops[l].exclusive.cpu_ns && at != SN_NONE;
		     at = program->loops.items[at].parent)
			sn_weight_add(&own[at], &profile->loops[l].exclusive);
	return own;
}
