/* How many CPUs a run was seen on. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "experiment/experiment.h"

unsigned sn_experiment_cpus_seen(const struct sn_experiment *e)
{
	uint8_t *seen = sn_alloc_zeroed(e->processes.count + 1, 1024 / 8);
	unsigned count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t process = e->threads.items[sample->thread].process, host = 0;

		/* the first process of the host stands for it; most runs have one host */
		while (host < process &&
		       strcmp(e->processes.items[host].host, e->processes.items[process].host))
			host++;
		if (sample->cpu < 1023)
			seen[host * 128 + sample->cpu / 8] |= (uint8_t)(1U << sample->cpu % 8);
	}
	for (size_t i = 0; i < e->processes.count * 128; i++)
		count += (unsigned)__builtin_popcount(seen[i]);
	free(seen);
	return count ? count : 1;
}
