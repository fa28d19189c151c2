/* Gathers the entries of a bottleneck by source place and sorts them by weight. */
#include "pandore/lattice/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Entries of one kind: the same source line and label, and for waits the same two processes. */
struct place {
	const struct sn_execution_event *event, *waits_for; /* waits_for NULL: not a wait */
	uint32_t count;
	double seconds;
};

static bool is_same(const char *left, const char *right)
{
	return left == right || (left && right && !strcmp(left, right));
}

/* A source line stands for its events, whatever they are called; without one, the label does. */
static bool is_same_place(const struct sn_execution_event *a, const struct sn_execution_event *b)
{
	if (a->process != b->process || a->line != b->line || !is_same(a->file, b->file))
		return false;
	if (a->line)
		return true;
	return is_same(a->label, b->label) && (a->label || a->index == b->index);
}

static uint32_t add_place(struct place *places, uint32_t count, struct place entry)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_same_place(places[i].event, entry.event) &&
		    (!entry.waits_for || is_same_place(places[i].waits_for, entry.waits_for))) {
			places[i].count++;
			places[i].seconds += entry.seconds;
			return count;
		}
	places[count] = entry;
	return count + 1;
}

static int by_weight(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->seconds != b->seconds && !isnan(a->seconds) && !isnan(b->seconds))
		return a->seconds > b->seconds ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->event->process != b->event->process)
		return a->event->process < b->event->process ? -1 : 1;
	return a->event->index < b->event->index ? -1 : a->event->index > b->event->index;
}

static void add_work(struct sn_text *text, const struct sn_execution_event *event)
{
	if (!event->work_label)
		return;
	sn_text_add_printable(text, event->work_label, strlen(event->work_label));
	if (event->work_file && event->work_line) {
		sn_text_add(text, " (");
		sn_text_add_printable(text, event->work_file, strlen(event->work_file));
		sn_text_addf(text, ":%u)", event->work_line);
	}
	sn_text_add(text, " before ");
}

/* What took the time comes first. */
static void add_event(struct sn_text *text, const struct sn_execution_event *event, bool acts)
{
	sn_text_addf(text, "process %u ", event->process);
	if (acts)
		add_work(text, event);
	if (event->label)
		sn_text_add_printable(text, event->label, strlen(event->label));
	else
		sn_text_addf(text, "event %u", event->index);
	if (event->file || event->line) {
		sn_text_add(text, " (");
		if (event->file)
			sn_text_add_printable(text, event->file, strlen(event->file));
		else
			sn_text_add(text, "line ");
		if (event->line)
			sn_text_addf(text, "%s%u", event->file ? ":" : "", event->line);
		sn_text_add(text, ")");
	}
}

static uint32_t gather(const struct sn_execution *execution, const struct sn_segment *segment,
		       enum sn_segment_list list, struct place *places)
{
	const struct sn_execution_event *events = execution->events;
	uint32_t count = 0;

	if (list == SN_SEGMENT_ACTS)
		for (size_t i = 0; i < segment->enabled.count; i++)
			count = add_place(places, count,
					  (struct place){ &events[segment->enabled.items[i].event],
							  NULL, 1,
							  segment->enabled.items[i].seconds });
	else
		for (size_t i = 0; i < segment->blocked.count; i++)
			count = add_place(
				places, count,
				(struct place){ &events[segment->blocked.items[i].event],
						&events[segment->blocked.items[i].waits_for], 1,
						segment->blocked.items[i].seconds });
	qsort(places, count, sizeof(*places), by_weight);
	return count;
}

void sn_segment_add_places(struct sn_text *text, const struct sn_execution *execution,
			   const struct sn_segment *segment, enum sn_segment_list list,
			   const char *prefix, uint32_t limit)
{
	struct place *places = sn_alloc(SN_SEGMENT_ENTRIES_MAX * sizeof(*places));
	uint32_t count = gather(execution, segment, list, places);

	for (uint32_t i = 0; i < count && i < limit; i++) {
		sn_text_add(text, prefix);
		add_event(text, places[i].event, !places[i].waits_for);
		if (places[i].waits_for) {
			sn_text_add(text, "  for  ");
			add_event(text, places[i].waits_for, true);
		}
		if (!isnan(places[i].seconds)) {
			sn_text_add(text, "  ");
			sn_text_add_duration(text, places[i].seconds);
		}
		if (places[i].count > 1)
			sn_text_addf(text, "  x%u", places[i].count);
		sn_text_add(text, "\n");
	}
	if (count > limit)
		sn_text_addf(text, "%*sand %u more of other places\n", (int)strlen(prefix), "",
			     count - limit);
	free(places);
}

const struct sn_execution_event *sn_segment_heaviest(const struct sn_execution *execution,
						     const struct sn_segment *segment)
{
	struct place *places = sn_alloc(SN_SEGMENT_ENTRIES_MAX * sizeof(*places));
	uint32_t count = gather(execution, segment, SN_SEGMENT_ACTS, places);
	const struct sn_execution_event *heaviest = count ? places[0].event : NULL;

	free(places);
	return heaviest;
}

bool sn_event_does_the_same(const struct sn_execution_event *a, const struct sn_execution_event *b)
{
	return is_same_place(a, b) && a->work_line == b->work_line &&
	       is_same(a->work_file, b->work_file) && is_same(a->work_label, b->work_label);
}
