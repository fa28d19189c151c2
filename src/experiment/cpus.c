/* How many CPUs a run was seen on. */
#include "experiment/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

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

unsigned sn_experiment_cpus_of(const struct sn_experiment *e, const uint8_t *is_in)
{
	enum { CPUS = UINT16_MAX, PARTS = 20 };
	uint64_t *samples = sn_alloc_zeroed(CPUS, sizeof(*samples)), most = 0;
	uint8_t *is_last = sn_alloc_zeroed(CPUS, 1);
	const struct sn_sample *last = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		/* what is left over at a thread's end was taken on no CPU that is known */
		if (sample->flags & SN_SAMPLE_REMAINDER || sample->cpu >= CPUS ||
		    !is_in[e->threads.items[sample->thread].process])
			continue;
		if (last && last->thread != sample->thread)
			is_last[last->cpu] = 1;
		last = sample;
		if (++samples[sample->cpu] > most)
			most = samples[sample->cpu];
	}
	if (last)
		is_last[last->cpu] = 1;
	for (size_t i = 0; i < CPUS; i++)
		count += is_last[i] || (samples[i] && samples[i] * PARTS >= most);
	free(samples);
	free(is_last);
	return count ? count : 1;
}
