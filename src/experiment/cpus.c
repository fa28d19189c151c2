/* How many CPUs a run had. */
#include "experiment/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { PARTS = 20 }; /* what has less than one of them of the most is not at work */

/* What each thread at work might run on, at least; 0: not known of one. Threads of one host, or, with `hosts` NULL, all that
 * have samples. */
static unsigned allowed_of(const struct sn_experiment *e, const uint32_t *hosts, uint32_t host,
			   const uint64_t *samples)
{
	unsigned least = UINT8_MAX;
	uint64_t most = 0;

	for (int is_second = 0; is_second < 2; is_second++)
		for (size_t t = 0; t < e->threads.count; t++) {
			const struct sn_thread *thread = &e->threads.items[t];

			if (!samples[t] || (hosts && hosts[thread->process] != host))
				continue;
			if (!is_second)
				most = samples[t] > most ? samples[t] : most;
			else if (samples[t] * PARTS >= most && thread->allowed_cpus < least)
				least = thread->allowed_cpus;
		}
	return least;
}

/* By process: the first process of its host. */
static uint32_t *hosts_of(const struct sn_experiment *e)
{
	uint32_t *hosts = sn_alloc_zeroed(e->processes.count + 1, sizeof(*hosts));

	for (uint32_t p = 0; p < e->processes.count; p++)
		while (hosts[p] < p &&
		       strcmp(e->processes.items[hosts[p]].host, e->processes.items[p].host))
			hosts[p]++; /* most runs have one host */
	return hosts;
}

unsigned sn_experiment_cpus(const struct sn_experiment *e)
{
	enum { BYTES = 1024 / 8 };
	uint8_t *seen = sn_alloc_zeroed(e->processes.count + 1, BYTES);
	uint64_t *of_thread = sn_alloc_zeroed(e->threads.count + 1, sizeof(*of_thread));
	uint32_t *hosts = hosts_of(e);
	unsigned count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t host = hosts[e->threads.items[sample->thread].process];

		of_thread[sample->thread]++;
		if (sample->cpu < 1023)
			seen[host * BYTES + sample->cpu / 8] |= (uint8_t)(1U << sample->cpu % 8);
	}
	for (uint32_t host = 0; host < e->processes.count; host++) {
		unsigned on_host = 0, allowed;

		if (hosts[host] != host)
			continue;
		for (size_t i = 0; i < BYTES; i++)
			on_host += (unsigned)__builtin_popcount(seen[host * BYTES + i]);
		allowed = on_host ? allowed_of(e, hosts, host, of_thread) : 0;
		count += on_host > allowed ? on_host : allowed;
	}
	free(seen);
	free(of_thread);
	free(hosts);
	return count ? count : 1;
}

unsigned sn_experiment_cpus_of(const struct sn_experiment *e, const uint8_t *is_in)
{
	enum { CPUS = UINT16_MAX };
	uint64_t *samples = sn_alloc_zeroed(CPUS, sizeof(*samples)), most = 0;
	uint64_t *of_thread = sn_alloc_zeroed(e->threads.count + 1, sizeof(*of_thread));
	uint8_t *is_last = sn_alloc_zeroed(CPUS, 1);
	const struct sn_sample *last = NULL;
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
		of_thread[sample->thread]++;
	}
	if (last)
		is_last[last->cpu] = 1;
	for (size_t i = 0; i < CPUS; i++)
		count += is_last[i] || (samples[i] && samples[i] * PARTS >= most);
	allowed = last ? allowed_of(e, NULL, 0, of_thread) : 1;
	free(samples);
	free(of_thread);
	free(is_last);
	return count > allowed ? count : allowed;
}
