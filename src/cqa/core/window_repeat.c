/* Passes through the window repeat themselves sooner or later, exactly. All that the time of the
 * coming passes depends on is hashed into a fingerprint of 64 bits. Where a pass begins with the
 * fingerprint of an earlier one, what lay between the two comes again, and the rest need not be run.
 */
#include "cqa/core/window_parts.h"

#include <assert.h>
#include <string.h>

static void mix(uint64_t *fingerprint, uint64_t number)
{
	*fingerprint = (*fingerprint ^ number) * 0x9e3779b97f4a7c15U;
	*fingerprint ^= *fingerprint >> 29;
}

static void mix_double(uint64_t *fingerprint, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	mix(fingerprint, bits);
}

static void mix_time(const struct sn_window *window, uint64_t *fingerprint, double when)
{
	mix_double(fingerprint, when - window->front);
}

/* Values that may still be waited for, each with its number. */
static void mix_value(const struct sn_window *window, uint64_t *fingerprint, size_t number,
		      double when)
{
	if (when < window->front - window->idle_cycles)
		return;
	mix(fingerprint, number);
	mix_time(window, fingerprint, when);
}

/* A ring of times that ascend: those to come. */
static void mix_ring(const struct sn_window *window, uint64_t *fingerprint, const double *ring,
		     unsigned oldest, unsigned size)
{
	for (unsigned k = 0; k < size; k++) {
		oldest = (oldest ? oldest : size) - 1;
		if (ring[oldest] <= window->front)
			break;
		mix_time(window, fingerprint, ring[oldest]);
	}
	mix(fingerprint, size);
}

static void mix_scheduler(const struct sn_window *window, uint64_t *fingerprint,
			  const struct sn_window_scheduler *scheduler, unsigned entries)
{
	int64_t cycle = scheduler->first;

	for (unsigned seen = 0; seen < entries; cycle++) {
		unsigned here = scheduler->freed[(uint64_t)cycle % SN_WINDOW_RING];

		seen += here;
		if (!here || (double)cycle <= window->front)
			continue;
		mix(fingerprint, here);
		mix_time(window, fingerprint, (double)cycle);
	}
	mix(fingerprint, entries);
}

/* Stored values that loads of this or a later pass take. */
static void mix_stored(const struct sn_window *window, uint64_t *fingerprint, unsigned pass)
{
	for (uint32_t i = 0; i < window->forwarded_load_count; i++)
		for (unsigned d = 1; d <= window->forwarded_loads[i].distance; d++)
			mix_value(window, fingerprint, i,
				  window->stored[window->forwarded_loads[i].store]
						[(pass - d) % SN_WINDOW_STORED_PASSES]);
}

/* All on which the time of the coming passes depends. */
static uint64_t fingerprint_of(struct sn_window *window, unsigned pass)
{
	const struct sn_rules *rules = window->rules;
	uint64_t fingerprint = window->was_first;

	assert(pass > window->distance);
	for (size_t i = 0; i < SN_RES_COUNT; i++)
		if (window->is_alive[i])
			mix_value(window, &fingerprint, i, window->now[i]);
	mix_stored(window, &fingerprint, pass);
	mix_ring(window, &fingerprint, window->retired, window->oldest_retired,
		 rules->reorder_uops);
	mix_ring(window, &fingerprint, window->entered, window->oldest_entered,
		 rules->vector_queue_uops);
	mix_time(window, &fingerprint, sn_later(window->last_retired, window->front));
	mix_time(window, &fingerprint, sn_later(window->last_entered, window->front));
	mix_scheduler(window, &fingerprint, &window->general, rules->general_scheduler_uops);
	mix_scheduler(window, &fingerprint, &window->address, rules->address_scheduler_uops);
	mix_scheduler(window, &fingerprint, &window->vector, rules->vector_scheduler_uops);
	for (int64_t n = sn_window_first_cycle(window, window->front); n <= window->last_used;
	     n++) {
		mix(&fingerprint, sn_window_cycle_at(window, n)->units);
		mix_time(window, &fingerprint, (double)n);
	}
	for (uint32_t i = 0; i < window->operation_count; i++)
		mix_double(&fingerprint, (double)window->operations[i].left_over);
	mix_double(&fingerprint, window->divider_rest);
	return fingerprint;
}

/* Whether passes from `mark` on repeat themselves now. The front end delivers at its own pace. It
 * repeats if it takes just as long, or if it kept nothing waiting and never will. */
static bool repeats(const struct sn_window_history *history,
		    const struct sn_window_snapshot *snapshot, const struct sn_window_snapshot *now)
{
	double cycles = now->front - snapshot->front;
	double delivered = (now->pass - snapshot->pass) * history->front_end_cycles;

	if (snapshot->fingerprint != now->fingerprint)
		return false;
	return cycles == delivered ||
	       (cycles > delivered && snapshot->late_passes == now->late_passes);
}

bool sn_window_foresee(struct sn_window_history *history, struct sn_window *window, unsigned pass)
{
	struct sn_window_snapshot now = { fingerprint_of(window, pass), window->front, pass,
					  window->late_passes };

	for (unsigned m = 0; m < history->snapshot_count; m++) {
		unsigned period = pass - history->snapshots[m].pass;

		if (!repeats(history, &history->snapshots[m], &now))
			continue;
		for (unsigned next = pass + 1; next <= history->passes; next++)
			history->retired[next] = history->retired[next - period] + now.front -
						 history->snapshots[m].front;
		return true;
	}
	if (history->snapshot_count < SN_WINDOW_SNAPSHOTS_MOST)
		history->snapshots[history->snapshot_count++] = now;
	return false;
}
