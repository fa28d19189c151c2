/* Passes through the window repeat themselves sooner or later, exactly. All that the time of the
 * coming passes depends on is made into a print of 64 bits; where a pass begins with the print of
 * an earlier one, what lay between the two comes again, and the rest need not be run. */
#include "cqa/core/window_parts.h"

#include <assert.h>
#include <string.h>

static void mix(uint64_t *print, uint64_t number)
{
	*print = (*print ^ number) * 0x9e3779b97f4a7c15U;
	*print ^= *print >> 29;
}

static void mix_double(uint64_t *print, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	mix(print, bits);
}

static void mix_time(const struct window *window, uint64_t *print, double when)
{
	mix_double(print, when - window->front);
}

/* Values that may still be waited for, each with its number. */
static void mix_value(const struct window *window, uint64_t *print, size_t number, double when)
{
	if (when < window->front - window->idle_cycles)
		return;
	mix(print, number);
	mix_time(window, print, when);
}

/* A ring of times that ascend: those to come. */
static void mix_ring(const struct window *window, uint64_t *print, const double *ring,
		     unsigned place, unsigned size)
{
	for (unsigned k = 0; k < size; k++) {
		place = (place ? place : size) - 1;
		if (ring[place] <= window->front)
			break;
		mix_time(window, print, ring[place]);
	}
	mix(print, size);
}

static void mix_scheduler(const struct window *window, uint64_t *print,
			  const struct scheduler *scheduler, unsigned places)
{
	int64_t cycle = scheduler->first;

	for (unsigned seen = 0; seen < places; cycle++) {
		unsigned here = scheduler->places[(uint64_t)cycle % RING];

		seen += here;
		if (!here || (double)cycle <= window->front)
			continue;
		mix(print, here);
		mix_time(window, print, (double)cycle);
	}
	mix(print, places);
}

/* Stored values that loads of this or a later pass take. */
static void mix_stored(const struct window *window, uint64_t *print, unsigned pass)
{
	for (uint32_t i = 0; i < window->taken_count; i++)
		for (unsigned d = 1; d <= window->taken[i].distance; d++)
			mix_value(window, print, i,
				  window->stored[window->taken[i].store][(pass - d) % HISTORY]);
}

/* All on which the time of the coming passes depends: two passes of the same print take the same
 * course. */
static uint64_t print_of(struct window *window, unsigned pass)
{
	const struct sn_rules *rules = window->rules;
	uint64_t print = window->was_first;

	assert(pass > window->distance);
	for (size_t i = 0; i < SN_RES_COUNT; i++)
		if (window->is_alive[i])
			mix_value(window, &print, i, window->now[i]);
	mix_stored(window, &print, pass);
	mix_ring(window, &print, window->retired, window->retired_place, rules->reorder_uops);
	mix_ring(window, &print, window->entered, window->entered_place, rules->vector_queue_uops);
	mix_time(window, &print, later(window->last_retired, window->front));
	mix_time(window, &print, later(window->last_entered, window->front));
	mix_scheduler(window, &print, &window->general, rules->general_scheduler_uops);
	mix_scheduler(window, &print, &window->address, rules->address_scheduler_uops);
	mix_scheduler(window, &print, &window->vector, rules->vector_scheduler_uops);
	for (int64_t n = first_cycle(window->front); n <= window->last_used; n++) {
		mix(&print, cycle_at(window, n)->units);
		mix_time(window, &print, (double)n);
	}
	for (uint32_t i = 0; i < window->operation_count; i++)
		mix_double(&print, (double)window->operations[i].left_over);
	mix_double(&print, window->divider_rest);
	return print;
}

/* Whether passes from `mark` on repeat themselves now. The front end delivers at its own pace: that
 * repeats if it takes just as long, or if it kept nothing waiting and never will. */
static bool repeats(const struct course *course, const struct mark *mark, const struct mark *now)
{
	double cycles = now->front - mark->front;
	double delivered = (now->pass - mark->pass) * course->front_end_cycles;

	if (mark->print != now->print)
		return false;
	return cycles == delivered || (cycles > delivered && mark->late_passes == now->late_passes);
}

bool sn_window_foresee(struct course *course, struct window *window, unsigned pass)
{
	struct mark now = { print_of(window, pass), window->front, pass, window->late_passes };

	for (unsigned m = 0; m < course->mark_count; m++) {
		unsigned period = pass - course->marks[m].pass;

		if (!repeats(course, &course->marks[m], &now))
			continue;
		for (unsigned next = pass + 1; next <= course->passes; next++)
			course->retired[next] =
				course->retired[next - period] + now.front - course->marks[m].front;
		return true;
	}
	if (course->mark_count < MARKS_MOST)
		course->marks[course->mark_count++] = now;
	return false;
}
