/* The part of a trace that is replayed: of each loop a time, in which it has so many accesses. */
#include "caches/replay_part.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

uint32_t sn_replay_window_loop(const struct sn_profile *profile,
			       const struct sn_access_window *window)
{
	return window->stack == SN_NONE ? SN_NONE
					: sn_program_leaf(profile->program, window->stack)->loop;
}

static bool window_passes(const struct sn_profile *profile, const struct sn_access_window *window)
{
	const struct sn_filter *filter = &profile->filter;

	return profile->thread_passes[window->thread] &&
	       (!filter->to_ns || window->begin_ns < filter->to_ns) &&
	       window->end_ns >= filter->from_ns;
}

/* ---- the windows of one loop ---- */

struct place {
	const struct sn_access_window *window;
	size_t index; /* in the experiment */
	uint32_t loop;
};

static int by_loop_and_begin(const void *left, const void *right)
{
	const struct place *x = left, *y = right;

	if (x->loop != y->loop)
		return x->loop < y->loop ? -1 : 1;
	if (x->window->begin_ns != y->window->begin_ns)
		return x->window->begin_ns < y->window->begin_ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* How many of a window's accesses come before a time: they go evenly over its length. */
static double accesses_before(const struct sn_access_window *window, double time_ns)
{
	double begin_ns = (double)window->begin_ns, end_ns = (double)window->end_ns;

	if (time_ns <= begin_ns)
		return 0;
	if (time_ns >= end_ns)
		return (double)window->accesses;
	return (double)window->accesses * (time_ns - begin_ns) / (end_ns - begin_ns);
}

static double accesses_between(const struct place *places, size_t count, double from_ns,
			       double to_ns)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += accesses_before(places[i].window, to_ns) -
		       accesses_before(places[i].window, from_ns);
	return sum;
}

/* The first time by which there are so many accesses from `from_ns` on, to a nanosecond; INFINITY: there are less. */
static double time_of_accesses(const struct place *places, size_t count, double from_ns,
			       double accesses)
{
	double low = from_ns, high = from_ns;

	for (size_t i = 0; i < count; i++)
		high = fmax(high, (double)places[i].window->end_ns);
	if (accesses_between(places, count, from_ns, INFINITY) <= accesses)
		return INFINITY;
	while (high - low > 1) {
		double middle = (low + high) / 2;

		if (accesses_between(places, count, from_ns, middle) < accesses)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- threads side by side ---- */

struct company {
	double running_ns, together_ns; /* some window was open; several were */
	double most_ns;			/* the first time at which the most were */
};

static int by_number(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

static struct company company_until(const struct place *places, size_t count, double until_ns)
{
	struct company company = { 0 };
	double *ends_ns = sn_alloc_zeroed(count + 1, sizeof(*ends_ns)), last_ns = 0;
	size_t begun = 0, ended = 0, most = 0;

	for (size_t i = 0; i < count; i++)
		ends_ns[i] = (double)places[i].window->end_ns;
	qsort(ends_ns, count, sizeof(*ends_ns), by_number);
	while (ended < count) {
		double begin_ns = begun < count ? (double)places[begun].window->begin_ns : INFINITY;
		double now_ns = fmin(fmin(begin_ns, ends_ns[ended]), until_ns);

		company.running_ns += begun > ended ? now_ns - last_ns : 0;
		company.together_ns += begun > ended + 1 ? now_ns - last_ns : 0;
		last_ns = now_ns;
		if (now_ns >= until_ns)
			break;
		if (ends_ns[ended] <= begin_ns) {
			ended++;
			continue;
		}
		begun++;
		if (begun - ended > most) {
			most = begun - ended;
			company.most_ns = begin_ns;
		}
	}
	free(ends_ns);
	return company;
}

/* ---- windows that are cut ---- */

static uint32_t group_length_at(const struct sn_access_window *window, uint32_t record)
{
	uint32_t length = window->records[record].group_length,
		 left = window->record_count - record;

	return !length || length > left ? left : length; /* the former never by its maker */
}

/* Copies a group without its first iterations. Returns the number of records. */
static uint32_t group_copy(const struct sn_access_record *group, uint32_t length,
			   uint64_t iterations, struct sn_access_record *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < length; i++) {
		if (group[i].count <= iterations)
			continue;
		out[count] = group[i];
		out[count].address += (uint64_t)group[i].stride_bytes * iterations;
		out[count].count -= (uint32_t)iterations;
		out[count++].group_length = 0;
	}
	if (count)
		out->group_length = count;
	return count;
}

/* The accesses of a group in its first iterations. */
static uint64_t accesses_in(const struct sn_access_record *group, uint32_t length,
			    uint64_t iterations)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < length; i++)
		sum += group[i].count < iterations ? group[i].count : iterations;
	return sum;
}

/* The iterations of a group that have no more than so many accesses. */
static uint64_t iterations_with(const struct sn_access_record *group, uint32_t length,
				uint64_t accesses)
{
	uint64_t low = 0, high = (uint64_t)UINT32_MAX + 1;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (accesses_in(group, length, middle) <= accesses)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The window without its first accesses, and without what comes behind about so many. */
static const struct sn_access_window *
cut(struct sn_arena *arena, const struct sn_access_window *window, uint64_t first, uint64_t most)
{
	struct sn_access_window *copy = sn_arena_new(arena, struct sn_access_window);
	struct sn_access_record *records =
		sn_arena_array(arena, struct sn_access_record, window->record_count + 1);
	double access_ns = (double)(window->end_ns - window->begin_ns) / (double)window->accesses;
	uint64_t skipped = 0, kept = 0;
	uint32_t count = 0, length;

	for (uint32_t r = 0; r < window->record_count && kept < most; r += length) {
		const struct sn_access_record *group = &window->records[r];
		struct sn_access_record *to = &records[count];
		uint64_t iterations, times;
		uint32_t copied;

		length = group_length_at(window, r);
		if (skipped + accesses_in(group, length, UINT32_MAX) <= first) {
			skipped += accesses_in(group, length, UINT32_MAX);
			continue;
		}
		iterations = first > skipped ? iterations_with(group, length, first - skipped) : 0;
		copied = group_copy(group, length, iterations, to);
		skipped += accesses_in(group, length, iterations);
		first = 0;
		if (!copied)
			continue; /* never by its maker */
		times = (most - kept) / copied + 1;
		for (uint32_t i = 0; i < copied; i++)
			if (to[i].count > times)
				to[i].count = (uint32_t)times;
		kept += accesses_in(to, copied, UINT32_MAX);
		count += copied;
	}
	*copy = *window;
	copy->records = records;
	copy->record_count = count;
	copy->begin_ns = window->begin_ns + (int64_t)(access_ns * (double)skipped);
	copy->end_ns = copy->begin_ns + (int64_t)(access_ns * (double)kept);
	copy->accesses = kept;
	copy->number += skipped > 0; /* so that nothing goes on from the window before */
	copy->is_cut = true;
	return copy;
}

/* ---- all ---- */

/* (chosen) Less than so much of what threads do side by side in the whole: then the part begins where they do. */
static const double company_least = 0.5;

/* The first windows, until there are so many accesses; or from where the most threads are in the loop at once, if the first
 * windows are mostly those of a thread that is alone. */
static void loop_part(struct sn_arena *arena, const struct place *places, size_t count,
		      uint64_t most, const struct sn_access_window **plays)
{
	double from_ns = (double)places->window->begin_ns;
	double to_ns = time_of_accesses(places, count, from_ns, (double)most);

	if (!isinf(to_ns)) {
		struct company whole = company_until(places, count, INFINITY);
		struct company part = company_until(places, count, to_ns);

		if (part.together_ns * whole.running_ns <
		    company_least * whole.together_ns * part.running_ns) {
			from_ns = whole.most_ns;
			to_ns = time_of_accesses(places, count, from_ns, (double)most);
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct sn_access_window *window = places[i].window;
		double first = accesses_before(window, from_ns);
		double all = accesses_before(window, to_ns) - first;

		bool is_whole = !(first > 0) && (isinf(to_ns) || !(all < (double)window->accesses));

		if (is_whole)
			plays[places[i].index] = window;
		else
			plays[places[i].index] =
				all > 0 ? cut(arena, window, (uint64_t)first, (uint64_t)ceil(all))
					: NULL;
	}
}

const struct sn_access_window **sn_replay_part_find(struct sn_arena *arena,
						    const struct sn_profile *profile,
						    uint64_t accesses_most)
{
	const struct sn_experiment *e = profile->experiment;
	const struct sn_access_window **plays =
		sn_alloc_zeroed(e->windows.count + 1, sizeof(*plays));
	struct place *places = sn_alloc_zeroed(e->windows.count + 1, sizeof(*places));
	uint64_t loops = 0;
	size_t count = 0, end;

	for (size_t w = 0; w < e->windows.count; w++) {
		const struct sn_access_window *window = &e->windows.items[w];

		if (!window_passes(profile, window))
			continue;
		places[count++] =
			(struct place){ window, w, sn_replay_window_loop(profile, window) };
	}
	qsort(places, count, sizeof(*places), by_loop_and_begin);
	for (size_t i = 0; i < count; i++)
		loops += !i || places[i].loop != places[i - 1].loop;
	for (size_t i = 0; i < count; i = end) {
		for (end = i; end < count && places[end].loop == places[i].loop;)
			end++;
		if (accesses_most)
			loop_part(arena, &places[i], end - i, accesses_most / loops, plays);
		else
			for (size_t k = i; k < end; k++)
				plays[places[k].index] = places[k].window;
	}
	free(places);
	return plays;
}
