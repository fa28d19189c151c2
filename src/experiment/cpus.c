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

enum { PARTS = 20 }; /* what has less than one of them of the most is not at work */

/* What each thread at work might run on, at least; 0: not known of one. */
static unsigned allowed_of(const struct sn_experiment *e, const uint64_t *samples, uint64_t most)
{
	unsigned least = UINT8_MAX;

	for (size_t t = 0; t < e->threads.count; t++)
		if (samples[t] && samples[t] * PARTS >= most &&
		    e->threads.items[t].allowed_cpus < least)
			least = e->threads.items[t].allowed_cpus;
	return least;
}

unsigned sn_experiment_cpus_of(const struct sn_experiment *e, const uint8_t *is_in)
{
	enum { CPUS = UINT16_MAX };
	uint64_t *samples = sn_alloc_zeroed(CPUS, sizeof(*samples)), most = 0;
	uint64_t *of_thread = sn_alloc_zeroed(e->threads.count + 1, sizeof(*of_thread));
	uint8_t *is_last = sn_alloc_zeroed(CPUS, 1);
	const struct sn_sample *last = NULL;
	uint64_t most_of_thread = 0;
	unsigned count = 0, allowed;

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
		if (++of_thread[sample->thread] > most_of_thread)
			most_of_thread = of_thread[sample->thread];
	}
	if (last)
		is_last[last->cpu] = 1;
	for (size_t i = 0; i < CPUS; i++)
		count += is_last[i] || (samples[i] && samples[i] * PARTS >= most);
	allowed = last ? allowed_of(e, of_thread, most_of_thread) : 1;
	free(samples);
	free(of_thread);
	free(is_last);
	return count > allowed ? count : allowed;
}
