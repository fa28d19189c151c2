/* What a recording says when data had no more room. */
#include "record/space.h"

#include <errno.h>
#include <string.h>

#include "wire/data.h"

enum { NEAR_BYTES = 4 << 20 }; /* (chosen) so near to --max-size it was reached */

static void say(struct sn_launch *launch, const char *sentence)
{
	sn_vec_push(&launch->warnings, sentence);
}

static void accesses_warn(struct sn_launch *launch, const struct sn_feeder *feeder)
{
	if (feeder->have_accesses_ended && feeder->max_bytes && !feeder->out_of_space_errno)
		say(launch, sn_arena_printf(&launch->arena,
					    "the limit of %.6g MB (--max-size) was reached: the "
					    "accesses of loops were not recorded from then on",
					    (double)feeder->max_bytes / 1e6));
	else if (feeder->have_accesses_ended)
		say(launch,
		    "there was no more space for data: the accesses of loops were not recorded "
		    "from then on");
	if (feeder->lost_for_space)
		say(launch, "there was no room for all samples: later ones are lost and counted");
}

void sn_space_warn(struct sn_launch *launch, const struct sn_feeder *feeder, bool has_accesses,
		   const char *folder, uint64_t file_bytes_most)
{
	const uint64_t first = sn_data_file_bytes(SN_DATA_CHUNKS_FIRST);
	int fault = feeder->out_of_space_errno;

	if (fault == EFBIG || (!fault && file_bytes_most < first))
		say(launch,
		    sn_arena_printf(&launch->arena,
				    "the limit on file sizes is %llu kB: samples for which that "
				    "left no room are lost and counted; raise it (ulimit -f)",
				    (unsigned long long)file_bytes_most / 1024));
	else if (fault)
		say(launch,
		    sn_arena_printf(&launch->arena,
				    "no more space for data in '%s' (%s): later samples are lost "
				    "and counted; give it space or set TMPDIR",
				    folder, strerror(fault)));
	if (has_accesses)
		accesses_warn(launch, feeder);
	else if (feeder->max_bytes && feeder->backed_bytes + NEAR_BYTES > feeder->max_bytes)
		say(launch,
		    "the limit of --max-size was reached: later samples are lost and counted");
}
