/*
 * The answer for people: totals, levels as a line of bars, the bottlenecks with their source
 * places; and its rows as CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "pandore/lattice/instant.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/lattice.h"
#include "pandore/lattice/places.h"

enum { PROFILE_COLUMNS = 72, PLACES_SHOWN = 5, DIGITS_SHOWN = 24 };

/* All digits, or what a double says of it if they are many. */
static void add_integer(struct sn_text *text, const uint64_t *number, unsigned limbs)
{
	double log10 = sn_limbs_log10(number, limbs);

	if (log10 > DIGITS_SHOWN)
		sn_text_addf(text, "%.4fe+%.0f", pow(10, log10 - floor(log10)), floor(log10));
	else
		sn_limbs_add_decimal(text, number, limbs);
}

static void add_name(struct sn_text *text, const char *chars)
{
	sn_text_add_printable(text, chars, strlen(chars));
}

/* ---- Totals --------------------------------------------------------------------------------- */

static void add_histogram(struct sn_text *text, const struct sn_interval_counts *counts)
{
	sn_text_add(text, "\n  events possible next      cuts      share\n");
	for (uint32_t d = 0; d < counts->degree_count; d++) {
		const uint64_t *number = counts->degrees + (size_t)d * counts->limbs;
		double share = sn_limbs_ratio(number, counts->cuts, counts->limbs);

		if (sn_limbs_is_zero(number, counts->limbs))
			continue;
		sn_text_addf(text, "  %6u  ", d);
		add_integer(text, number, counts->limbs);
		sn_text_addf(text, "  %.1f %%\n", 100 * share);
	}
}

static void add_counts(struct sn_text *text, const struct sn_lattice_window *window)
{
	const struct sn_interval_counts *counts = &window->counts;
	double mean = sn_lattice_window_mean(window);

	sn_text_add(text, "cuts ");
	add_integer(text, counts->cuts, counts->limbs);
	sn_text_add(text, "   arcs ");
	add_integer(text, counts->arcs, counts->limbs);
	if (!isnan(mean))
		sn_text_addf(text, "   mean out-degree over cuts %.3f", mean);
	sn_text_add(text, "\n");
}

static void add_windows(struct sn_text *text, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	uint32_t known = 0;

	for (uint32_t k = 0; k < profile->level_count; k++)
		known += !isnan(profile->level_mean[k]);
	if (answer->fault)
		sn_text_add(text, "  of the part of the trace that holds together:\n");
	if (profile->stopped_by)
		sn_text_addf(
			text,
			"  not counted whole: the budget of %s is spent (--max-%s); %zu windows, "
			"which show %.1f %% of the levels\n",
			profile->stopped_by, profile->stopped_by, profile->windows.count,
			100.0 * known / profile->level_count);
	for (size_t w = 0; w < profile->windows.count && w < 3; w++) {
		const struct sn_lattice_window *window = &profile->windows.items[w];

		sn_text_addf(text, "  levels %u-%u%s: ", window->level_first, window->level_last,
			     window->is_whole ? "" : " (window)");
		add_counts(text, window);
	}
	if (profile->windows.count > 3)
		sn_text_addf(text, "  ... and %zu more (--format json has all)\n",
			     profile->windows.count - 3);
}

static void add_realised(struct sn_text *text, const struct sn_schedule *schedule)
{
	double realised = schedule->work_s / schedule->elapsed_s;

	if (isnan(realised))
		return;
	sn_text_addf(text, realised < 0.1 ? ", realised %.2g" : ", realised %.2f", realised);
	sn_text_add(text, " (");
	sn_text_add_duration(text, schedule->elapsed_s);
	sn_text_add(text, " from first to last event)");
}

static void add_time(struct sn_text *text, const struct sn_schedule *schedule)
{
	if (!(schedule->critical_s > 0))
		return;
	sn_text_addf(text, "  parallelism possible %.2f (work ",
		     schedule->work_s / schedule->critical_s);
	sn_text_add_duration(text, schedule->work_s);
	sn_text_add(text, ", critical path ");
	sn_text_add_duration(text, schedule->critical_s);
	sn_text_add(text, ")");
	add_realised(text, schedule);
	sn_text_add(text, "\n");
	if (schedule->unknown_count)
		sn_text_addf(text, "  %u events have no duration and count as taking no time\n",
			     schedule->unknown_count);
}

static void add_at_once(struct sn_text *text, const struct sn_lattice_answer *answer)
{
	double mean = sn_lattice_mean_of_levels(&answer->profile);

	if (!answer->depth)
		return;
	sn_text_addf(text, "  events per step %.2f", sn_lattice_answer_per_step(answer));
	if (!isnan(mean))
		sn_text_addf(text, "   possible next %.2f, mean over the levels%s", mean,
			     answer->profile.stopped_by ? " counted" : "");
	sn_text_add(text, "\n");
}

/* ---- Levels as a line of bars --------------------------------------------------------------- */

static double mean_between(const struct sn_lattice_profile *profile, uint32_t first, uint32_t last)
{
	double sum = 0;
	uint32_t known = 0;

	for (uint32_t k = first; k <= last; k++)
		if (!isnan(profile->level_mean[k])) {
			sum += profile->level_mean[k];
			known++;
		}
	return known ? sum / known : NAN;
}

static void add_bars(struct sn_text *text, const struct sn_lattice_profile *profile)
{
	static const char *const BARS[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	uint32_t levels = profile->event_count; /* the last one has nothing left to do */
	uint32_t columns = levels < PROFILE_COLUMNS ? levels : PROFILE_COLUMNS;

	if (levels == 0)
		return;
	sn_text_addf(text,
		     "\n  mean out-degree along the levels 0-%u%s, full height = %u processes\n  ",
		     levels - 1, profile->stopped_by ? " (inside the windows)" : "",
		     profile->active_count);
	for (uint32_t c = 0; c < columns; c++) {
		uint32_t first = (uint32_t)((uint64_t)c * levels / columns);
		uint32_t last = (uint32_t)((uint64_t)(c + 1) * levels / columns) - 1;
		double mean = mean_between(profile, first, last);
		int bar = (int)(8 * mean / profile->active_count);

		sn_text_add(text, isnan(mean) ? "·" : BARS[bar < 0 ? 0 : bar > 7 ? 7 : bar]);
	}
	sn_text_add(text, "\n");
}

/* ---- Bottlenecks ---------------------------------------------------------------------------- */

static void add_interval(struct sn_text *text, const struct sn_segment *segment)
{
	sn_text_addf(text, "%.2f processes busy from ", segment->mean_busy);
	sn_text_add_duration(text, segment->t0_s);
	sn_text_add(text, " to ");
	sn_text_add_duration(text, segment->t1_s);
}

static void add_loss(struct sn_text *text, double lost_s)
{
	sn_text_add(text, ", loses ");
	sn_text_add_duration(text, lost_s);
	sn_text_add(text, " of processes' time");
}

static void add_segment(struct sn_text *text, const struct sn_lattice_answer *answer,
			const struct sn_segment *segment, size_t number)
{
	if (segment->level_first == segment->level_last)
		sn_text_addf(text, "  #%zu level %u: ", number, segment->level_first);
	else
		sn_text_addf(text, "  #%zu levels %u-%u: ", number, segment->level_first,
			     segment->level_last);
	if (segment->is_by_time)
		add_interval(text, segment);
	else if (isnan(segment->mean_out_degree))
		sn_text_addf(text, "%u processes can act at most", segment->processes_max);
	else
		sn_text_addf(text, "%.2f events possible next", segment->mean_out_degree);
	if (!isnan(segment->time_lost_s))
		add_loss(text, segment->time_lost_s);
	sn_text_add(text, "\n");
	sn_segment_add_places(text, answer->execution, segment, SN_SEGMENT_ACTS, "     acts   ",
			      PLACES_SHOWN);
	sn_segment_add_places(text, answer->execution, segment, SN_SEGMENT_WAITS, "     waits  ",
			      PLACES_SHOWN);
}

/* Without durations the narrowest first; with them they are in order already. */
static int by_narrowness(const void *left, const void *right)
{
	const struct sn_segment *a = *(const struct sn_segment *const *)left;
	const struct sn_segment *b = *(const struct sn_segment *const *)right;
	uint32_t length_a = a->level_last - a->level_first,
		 length_b = b->level_last - b->level_first;

	if (length_a != length_b)
		return length_a > length_b ? -1 : 1;
	return a->level_first < b->level_first ? -1 : a->level_first > b->level_first;
}

static const char *no_bottleneck(const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;

	if (profile->active_count < 2)
		return "\n  fewer than two processes have events: there is nothing to wait for\n";
	if (answer->schedule.critical_s > 0)
		return "\n  no bottleneck: nowhere are fewer than half of the processes busy\n";
	if (profile->stopped_by)
		return "\n  no bottleneck is certain: on every level half of the processes can act "
		       "in some cut, and not all cuts were counted\n";
	return "\n  no bottleneck: on every level half of the processes can act, on average over "
	       "its cuts\n";
}

/* Segments in order; those whose time passes in the same place stand behind the first of them. */
struct told {
	const struct sn_segment *segment;
	const struct sn_execution_event *heaviest;
	bool is_told;
};

/* Tells how many of those that follow are like the first one, and marks them. */
static size_t add_alike(struct sn_text *text, struct told *first, size_t count)
{
	double lost_s = first->segment->time_lost_s;
	size_t alike = 0;

	for (size_t s = 1; s < count; s++) {
		if (first[s].is_told || !first->heaviest || !first[s].heaviest ||
		    !sn_event_does_the_same(first->heaviest, first[s].heaviest))
			continue;
		first[s].is_told = true;
		lost_s += first[s].segment->time_lost_s;
		alike++;
	}
	if (!alike)
		return 0;
	sn_text_addf(text, "     and %zu more like it (--all shows them): together they lose ",
		     alike);
	sn_text_add_duration(text, lost_s);
	sn_text_add(text, " of processes' time\n");
	return alike;
}

static struct told *in_order(const struct sn_lattice_answer *answer)
{
	const struct sn_execution *execution = answer->execution;
	size_t count = answer->segments.items.count;
	const struct sn_segment **sorted = sn_alloc((count + 1) * sizeof(void *));
	struct told *told = sn_alloc_zeroed(count + 1, sizeof(*told));

	for (size_t s = 0; s < count; s++)
		sorted[s] = &answer->segments.items.items[s];
	if (!execution->has_durations)
		qsort(sorted, count, sizeof(void *), by_narrowness);
	for (size_t s = 0; s < count; s++) {
		told[s].segment = sorted[s];
		if (execution->has_durations)
			told[s].heaviest = sn_segment_heaviest(execution, sorted[s]);
	}
	free(sorted);
	return told;
}

static void add_segments(struct sn_text *text, const struct sn_lattice_answer *answer,
			 unsigned limit)
{
	size_t count = answer->segments.items.count, shown = 0, behind = 0;
	struct told *told;

	if (count == 0) {
		sn_text_add(text, no_bottleneck(answer));
		return;
	}
	told = in_order(answer);
	sn_text_addf(text, "\n  bottlenecks, %s first\n",
		     answer->execution->has_durations ? "what loses most time" : "the longest");
	for (size_t s = 0; s < count && (!limit || shown < limit); s++) {
		if (told[s].is_told)
			continue;
		add_segment(text, answer, told[s].segment,
			    (size_t)(told[s].segment - answer->segments.items.items) + 1);
		shown++;
		if (limit)
			behind += add_alike(text, &told[s], count - s);
	}
	if (shown + behind < count)
		sn_text_addf(text, "  and %zu more, less severe (--all shows all)\n",
			     count - shown - behind);
	free(told);
}

/* ---- Receives that could have met another message ------------------------------------------- */

static void add_event(struct sn_text *text, const struct sn_lattice_answer *answer, uint32_t number)
{
	const struct sn_execution_event *event = &answer->execution->events[number];

	sn_text_addf(text, "process %u ", event->process);
	if (event->label)
		add_name(text, event->label);
	if (event->file && event->line)
		sn_text_addf(text, " (%s:%u)", event->file, event->line);
}

static void add_race(struct sn_text *text, const struct sn_lattice_answer *answer,
		     const struct sn_lattice_race *race)
{
	sn_text_add(text, "     ");
	add_event(text, answer, race->receive);
	sn_text_add(text, "  met  ");
	add_event(text, answer, race->sent);
	sn_text_add(text, ", could have met  ");
	add_event(text, answer, race->other);
	sn_text_add(text, "\n");
}

/* Without a limit all of them; else some, each pair of places once. */
static void add_races(struct sn_text *text, const struct sn_lattice_answer *answer, unsigned limit)
{
	const struct sn_lattice_run *run = &answer->run;
	size_t shown = 0;

	if (!run->wildcard_count)
		return;
	sn_text_addf(text,
		     "\n  receives from any source %" PRIu64
		     "; other messages that they could have met: %zu\n",
		     run->wildcard_count, run->race_count);
	for (size_t i = 0; i < run->race_count && (!limit || shown < PLACES_SHOWN); i++) {
		if (limit && sn_lattice_race_is_repeated(answer, i))
			continue;
		shown++;
		add_race(text, answer, &run->races[i]);
	}
	if (shown < run->race_count)
		sn_text_addf(text, "     and %zu more (--all shows all)\n",
			     run->race_count - shown);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

void sn_lattice_add_crowding(const struct sn_lattice_answer *answer, struct sn_text *out)
{
	if (answer->run.cpu_count)
		sn_text_addf(
			out,
			"%u processes had %u CPU%s: what was measured is partly waiting for one; "
			"go by what is possible and by waiting by the order alone",
			answer->execution->process_count, answer->run.cpu_count,
			answer->run.cpu_count == 1 ? "" : "s");
}

static void add_crowding(struct sn_text *text, const struct sn_lattice_answer *answer)
{
	if (!answer->run.cpu_count)
		return;
	sn_text_add(text, "  ");
	sn_lattice_add_crowding(answer, text);
	sn_text_add(text, "\n");
}

static void add_waiting(struct sn_text *text, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_run *run = &answer->run;
	double measured_s = sn_lattice_answer_measured_wait_s(answer);

	if (!(answer->schedule.critical_s > 0))
		return;
	sn_text_add(text, "  waiting by the order alone ");
	sn_text_add_duration(text, answer->schedule.wait_s);
	if (!isnan(measured_s)) {
		sn_text_add(text, ", measured ");
		sn_text_add_duration(text, measured_s);
	}
	if (run->cpu_wait_s > 0) {
		sn_text_add(text, "; threads waited ");
		sn_text_add_duration(text, run->cpu_wait_s);
		sn_text_add(text, " for a CPU");
	}
	sn_text_add(text, "\n");
}

void sn_lattice_write_text(const struct sn_lattice_answer *answer, unsigned segment_limit,
			   FILE *out)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	struct sn_text text = { 0 };

	sn_text_add(&text, "lattice of executions");
	if (answer->name) {
		sn_text_add(&text, " of ");
		add_name(&text, answer->name);
	}
	sn_text_addf(&text,
		     "\n  processes %u   events %u   longest chain %u   synchronisations %u\n",
		     profile->process_count, profile->event_count, answer->depth,
		     profile->synchronisation_count);
	add_crowding(&text, answer);
	add_at_once(&text, answer);
	add_time(&text, &answer->schedule);
	add_waiting(&text, answer);
	if (sn_lattice_answer_is_exact(answer)) {
		sn_text_add(&text, "  ");
		add_counts(&text, &profile->windows.items[0]);
	} else {
		add_windows(&text, answer);
	}
	if (sn_lattice_answer_is_exact(answer))
		add_histogram(&text, &profile->windows.items[0].counts);
	add_bars(&text, profile);
	add_races(&text, answer, segment_limit);
	add_segments(&text, answer, segment_limit);
	fputs(text.chars, out);
	sn_text_free(&text);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void add_rows(struct sn_text *text, const struct sn_lattice_window *window, bool has_next)
{
	const struct sn_interval_counts *counts = &window->counts;

	for (uint32_t i = 0; i < counts->level_count; i++) {
		const uint64_t *cuts = counts->levels + (size_t)i * counts->limbs;
		const uint64_t *arcs = counts->level_arcs + (size_t)i * counts->limbs;

		/* The next whole window begins with this level's only cut, and knows its arcs. */
		if (i + 1 == counts->level_count && has_next)
			break;
		sn_text_addf(text, "%u,", window->level_first + i);
		sn_limbs_add_decimal(text, cuts, counts->limbs);
		sn_text_add_char(text, ',');
		sn_limbs_add_decimal(text, arcs, counts->limbs);
		sn_text_add_char(text, ',');
		sn_text_add_double(text, sn_limbs_ratio(arcs, cuts, counts->limbs));
		sn_text_addf(text, ",%s\n", window->is_whole ? "true" : "false");
	}
}

void sn_lattice_write_csv(const struct sn_lattice_answer *answer, FILE *out)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	struct sn_text text = { 0 };

	sn_text_add(&text, "level,cuts,arcs,mean_out_degree,whole\n");
	for (size_t w = 0; w < profile->windows.count; w++) {
		const struct sn_lattice_window *window = &profile->windows.items[w];

		add_rows(&text, window,
			 w + 1 < profile->windows.count && window[1].is_whole &&
				 window[1].level_first == window->level_last);
	}
	fputs(text.chars, out);
	sn_text_free(&text);
}
