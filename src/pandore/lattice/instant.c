/* Draws an instant: events from left to right such that each stands right of all that it needs. */
#include "pandore/lattice/instant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "pandore/lattice/picture.h"

enum {
	ROWS_MAX = 16,
	BEFORE = 6, /* events of a process on the left of the instant, */
	AFTER = 4,  /* and on its right */
	NAME_COLUMNS = 26,
};

static const double MARGIN = 24, STEP = 46, ROW = 58, TOP = 76;

struct shown {
	uint32_t event; /* of the execution */
	uint32_t rank;	/* events that it needs, itself included */
	uint32_t row;
	double x; /* in steps */
	bool is_after;
};

struct diagram {
	const struct sn_lattice_instant *instant;
	const struct sn_execution *execution;
	SN_VEC(uint32_t) rows;	    /* processes */
	uint32_t *row_of;	    /* by process, + 1; 0: not drawn */
	SN_VEC(struct shown) items; /* by rank */
	double instant_x, end_x;
	double left;
	struct sn_text svg;
};

/* ---- instants ---- */

static void cut_reach(const struct sn_execution *e, uint32_t event, uint32_t *cut)
{
	const struct sn_execution_event *at = &e->events[event];
	const uint32_t *past = sn_lattice_past(&e->all, at->process, at->index + 1);

	for (uint32_t p = 0; p < e->process_count; p++)
		cut[p] = past[p] > cut[p] ? past[p] : cut[p];
}

static void instant_begin(const struct sn_execution *execution, const char *title,
			  struct sn_lattice_instant *out)
{
	*out = (struct sn_lattice_instant){ .execution = execution, .title = title };
	out->cut = sn_alloc_zeroed((size_t)execution->process_count + 1, sizeof(*out->cut));
	out->is_named =
		sn_alloc_zeroed((size_t)execution->process_count + 1, sizeof(*out->is_named));
}

void sn_lattice_instant_of_witness(const struct sn_execution *execution,
				   const struct sn_property *property, const uint32_t *witness,
				   const char *title, struct sn_lattice_instant *out)
{
	instant_begin(execution, title, out);
	for (uint32_t p = 0; p < execution->process_count; p++) {
		out->is_named[p] = sn_property_names(property, p);
		if (witness[p])
			cut_reach(execution,
				  execution->event_of[execution->observed.base[p] + witness[p]],
				  out->cut);
	}
}

void sn_lattice_instant_of_race(const struct sn_execution *execution,
				const struct sn_lattice_race *race, const char *title,
				struct sn_lattice_instant *out)
{
	instant_begin(execution, title, out);
	out->has_race = true;
	out->race = *race;
	cut_reach(execution, race->sent, out->cut);
	cut_reach(execution, race->other, out->cut);
	if (execution->events[race->receive].index)
		cut_reach(execution, race->receive - 1, out->cut);
	out->is_named[execution->events[race->receive].process] = true;
	out->is_named[execution->events[race->sent].process] = true;
	out->is_named[execution->events[race->other].process] = true;
}

void sn_lattice_instant_of_end(const struct sn_execution *execution, const char *title,
			       struct sn_lattice_instant *out)
{
	instant_begin(execution, title, out);
	memcpy(out->cut, execution->all.counts, execution->process_count * sizeof(*out->cut));
}

void sn_lattice_instant_free(struct sn_lattice_instant *instant)
{
	free(instant->cut);
	free(instant->is_named);
	*instant = (struct sn_lattice_instant){ 0 };
}

static bool is_same_place(const struct sn_lattice_answer *answer, uint32_t x, uint32_t y)
{
	const struct sn_execution_event *a = &answer->execution->events[x];
	const struct sn_execution_event *b = &answer->execution->events[y];

	return a->process == b->process && a->line == b->line && a->file == b->file;
}

bool sn_lattice_race_is_repeated(const struct sn_lattice_answer *answer, size_t race)
{
	const struct sn_lattice_race *races = answer->run.races;

	for (size_t i = race < 100 ? 0 : race - 100; i < race; i++)
		if (is_same_place(answer, races[i].receive, races[race].receive) &&
		    is_same_place(answer, races[i].other, races[race].other))
			return true;
	return false;
}

/* ---- what is shown, and where ---- */

static void rows_choose(struct diagram *d)
{
	uint32_t count = d->execution->process_count, room = ROWS_MAX;

	for (uint32_t p = 0; p < count; p++)
		room -= room && d->instant->is_named[p];
	for (uint32_t p = 0, named = 0; p < count && d->rows.count < ROWS_MAX; p++) {
		bool is_named = d->instant->is_named[p] && named++ < ROWS_MAX;

		if (!is_named && !room)
			continue;
		room -= !is_named;
		sn_vec_push(&d->rows, p);
		d->row_of[p] = (uint32_t)d->rows.count;
	}
}

static void event_show(struct diagram *d, uint32_t event, bool is_after)
{
	const struct sn_execution_event *at = &d->execution->events[event];

	sn_vec_push(&d->items,
		    (struct shown){ .event = event,
				    .rank = sn_lattice_order_rank(&d->execution->all, at->process,
								  at->index + 1),
				    .row = d->row_of[at->process] - 1,
				    .is_after = is_after });
}

/* The last events done, the last point among them, and the next ones. */
static void row_fill(struct diagram *d, uint32_t process)
{
	uint32_t first = d->execution->first[process], done = d->instant->cut[process];
	uint32_t count = d->execution->all.counts[process],
		 from = done < BEFORE ? 0 : done - BEFORE;
	uint32_t point = done;

	while (point && !d->execution->events[first + point - 1].is_observed)
		point--;
	if (point && point - 1 < from)
		event_show(d, first + point - 1, false);
	for (uint32_t i = from; i < done; i++)
		event_show(d, first + i, false);
	for (uint32_t i = done; i < count && i < done + AFTER; i++)
		event_show(d, first + i, true);
}

static int rank_compare(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

static const struct shown *shown_of(const struct diagram *d, uint32_t event)
{
	for (size_t i = 0; i < d->items.count; i++)
		if (d->items.items[i].event == event)
			return &d->items.items[i];
	return NULL;
}

/* Events on which this one waits directly; `refs` has room for all processes. */
static uint32_t waits_of(const struct diagram *d, uint32_t event, struct sn_lattice_ref *refs)
{
	const struct sn_execution_event *at = &d->execution->events[event];

	return sn_lattice_order_waits(&d->execution->all, at->process, at->index + 1, refs);
}

static void place(struct diagram *d)
{
	uint32_t process_count = d->execution->process_count;
	struct sn_lattice_ref *refs = sn_alloc_zeroed((size_t)process_count + 1, sizeof(*refs));
	double *row_x = sn_alloc_zeroed(d->rows.count + 1, sizeof(*row_x));

	for (int is_after = 0; is_after < 2; is_after++) {
		double most = d->instant_x;

		for (size_t i = 0; i < d->items.count; i++) {
			struct shown *s = &d->items.items[i];
			uint32_t count;

			if (s->is_after != (is_after == 1))
				continue;
			s->x = fmax(row_x[s->row], d->instant_x) + 1;
			count = waits_of(d, s->event, refs);
			for (uint32_t k = 0; k < count; k++) {
				const struct shown *from =
					shown_of(d, d->execution->first[refs[k].process] +
							    refs[k].index - 1);

				if (from)
					s->x = fmax(s->x, from->x + 1);
			}
			row_x[s->row] = s->x;
			most = fmax(most, s->x);
		}
		if (!is_after)
			d->instant_x = most + 1;
		d->end_x = most + 1;
	}
	free(row_x);
	free(refs);
}

/* ---- drawing ---- */

static double x_of(const struct diagram *d, double steps)
{
	return d->left + STEP * steps;
}

static double y_of(const struct diagram *d, uint32_t row)
{
	(void)d;
	return TOP + ROW * (row + 0.5);
}

/* "critical (mutex.c:21)", at most so many columns. */
static void name_add(struct sn_text *out, const struct sn_execution_event *event, size_t columns)
{
	struct sn_text whole = { 0 };
	size_t used = 0;

	if (event->label)
		sn_text_add(&whole, event->label);
	else
		sn_text_addf(&whole, "event %u", event->index);
	if (event->file && event->line)
		sn_text_addf(&whole, " (%s:%u)", sn_base_name(event->file), event->line);
	for (const char *next = whole.chars; *next;) {
		size_t length = sn_utf8_length(next, strlen(next));

		if (used++ == columns) {
			sn_text_add(out, "…");
			break;
		}
		sn_text_add_bytes(out, length ? next : "?", length ? length : 1);
		next += length ? length : 1;
	}
	sn_text_free(&whole);
}

static void arrow_add(struct diagram *d, const struct shown *from, const struct shown *to,
		      const char *style)
{
	double x0 = x_of(d, from->x), y0 = y_of(d, from->row), x1 = x_of(d, to->x),
	       y1 = y_of(d, to->row), length = hypot(x1 - x0, y1 - y0);
	double ux = (x1 - x0) / length, uy = (y1 - y0) / length;

	x0 += 7 * ux;
	y0 += 7 * uy;
	x1 -= 8 * ux;
	y1 -= 8 * uy;
	sn_text_addf(&d->svg,
		     "<path d=\"M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1fL%.1f %.1f\" "
		     "fill=\"none\" %s/>\n",
		     x0, y0, x1, y1, x1 - 8 * ux - 4 * uy, y1 - 8 * uy + 4 * ux, x1, y1,
		     x1 - 8 * ux + 4 * uy, y1 - 8 * uy - 4 * ux, style);
}

static const char MET[] = "stroke=\"#1e707a\" stroke-width=\"2.4\"";
static const char OTHER[] = "stroke=\"#b03a24\" stroke-width=\"2.4\" stroke-dasharray=\"6 4\"";

static void arrows_add(struct diagram *d)
{
	const struct sn_lattice_instant *instant = d->instant;
	struct sn_lattice_ref *refs =
		sn_alloc_zeroed((size_t)d->execution->process_count + 1, sizeof(*refs));

	for (size_t i = 0; i < d->items.count; i++) {
		const struct shown *to = &d->items.items[i];
		uint32_t count = waits_of(d, to->event, refs);

		for (uint32_t k = 0; k < count; k++) {
			uint32_t event = d->execution->first[refs[k].process] + refs[k].index - 1;
			const struct shown *from = shown_of(d, event);

			if (from && !(instant->has_race && event == instant->race.sent &&
				      to->event == instant->race.receive))
				arrow_add(d, from, to, "stroke=\"#8a8f98\" stroke-width=\"1.3\"");
		}
	}
	if (instant->has_race) {
		const struct shown *receive = shown_of(d, instant->race.receive);
		const struct shown *sent = shown_of(d, instant->race.sent);
		const struct shown *other = shown_of(d, instant->race.other);

		if (receive && sent)
			arrow_add(d, sent, receive, MET);
		if (receive && other)
			arrow_add(d, other, receive, OTHER);
	}
	free(refs);
}

/* The event that the row's name stands at: of the race, else the last point that is done. */
static uint32_t named_event(const struct diagram *d, uint32_t process)
{
	const struct sn_lattice_instant *instant = d->instant;
	uint32_t first = d->execution->first[process], done = instant->cut[process];
	const uint32_t of_race[] = { instant->race.receive, instant->race.sent,
				     instant->race.other };

	for (int i = 0; instant->has_race && i < 3; i++)
		if (d->execution->events[of_race[i]].process == process)
			return of_race[i];
	while (done && !d->execution->events[first + done - 1].is_observed)
		done--;
	return done ? first + done - 1 : UINT32_MAX;
}

static void event_add(struct diagram *d, const struct shown *s)
{
	const struct sn_execution_event *event = &d->execution->events[s->event];
	bool is_named = named_event(d, event->process) == s->event;
	struct sn_text name = { 0 };

	name_add(&name, event, 200);
	sn_text_addf(&d->svg,
		     "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"%s><title>process %u: ",
		     x_of(d, s->x), y_of(d, s->row),
		     is_named		  ? 6.5
		     : event->is_observed ? 4.5
					  : 2.8,
		     event->is_observed ? sn_picture_process_colour(event->process,
								    d->execution->process_count)
					: "#8a8f98",
		     s->is_after ? " fill-opacity=\"0.45\"" : "", event->process);
	sn_text_add_html(&d->svg, name.chars);
	sn_text_add(&d->svg, "</title></circle>\n");
	if (is_named) {
		sn_text_clear(&name);
		name_add(&name, event, NAME_COLUMNS);
		/* on the side where its own message does not run */
		sn_picture_add_label(
			&d->svg, x_of(d, s->x) + (s->is_after ? 8 : 4), y_of(d, s->row) - 12,
			s->is_after ? "fill=\"#1d2733\" font-weight=\"600\""
				    : "text-anchor=\"end\" fill=\"#1d2733\" font-weight=\"600\"",
			name.chars);
	}
	sn_text_free(&name);
}

static void rows_add(struct diagram *d)
{
	char name[32];

	for (uint32_t row = 0; row < d->rows.count; row++) {
		sn_text_addf(&d->svg, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#dde2e8\"/>\n", d->left,
			     y_of(d, row), x_of(d, d->end_x));
		snprintf(name, sizeof(name), "process %u", d->rows.items[row]);
		sn_picture_add_label(&d->svg, d->left - 12, y_of(d, row) + 4,
				     "text-anchor=\"end\" fill=\"#1d2733\"", name);
	}
}

static void instant_add(struct diagram *d)
{
	double x = x_of(d, d->instant_x), bottom = TOP + ROW * (double)d->rows.count;

	sn_text_addf(&d->svg,
		     "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#5a6675\" stroke-width=\"1.5\" "
		     "stroke-dasharray=\"3 3\"/>\n",
		     x, TOP - 12, bottom);
	sn_picture_add_label(&d->svg, x, TOP - 18, "text-anchor=\"middle\" fill=\"#5a6675\"",
			     "the instant");
}

static double legend_add(struct diagram *d, double y)
{
	uint32_t missing = d->execution->process_count - (uint32_t)d->rows.count;
	char text[96];

	if (d->instant->has_race) {
		sn_text_addf(&d->svg, "<path d=\"M%.1f %.1fh34\" %s/>\n", MARGIN, y, MET);
		sn_picture_add_label(&d->svg, MARGIN + 42, y + 4, "fill=\"#5a6675\"",
				     "the message that it met");
		sn_text_addf(&d->svg, "<path d=\"M%.1f %.1fh34\" %s/>\n", MARGIN + 220, y, OTHER);
		sn_picture_add_label(&d->svg, MARGIN + 262, y + 4, "fill=\"#5a6675\"",
				     "one that it could have met");
		y += 22;
	}
	sn_picture_add_label(&d->svg, MARGIN, y + 4, "fill=\"#5a6675\"",
			     "left: done; right: still to come. Arrows: what comes before what. "
			     "Small grey dots only order.");
	if (missing) {
		snprintf(text, sizeof(text), "%u more process%s not drawn.", missing,
			 missing == 1 ? " is" : "es are");
		y += 20;
		sn_picture_add_label(&d->svg, MARGIN, y + 4, "fill=\"#5a6675\"", text);
	}
	return y + 24;
}

void sn_lattice_draw_instant(const struct sn_lattice_instant *instant, FILE *out)
{
	struct diagram d = { .instant = instant, .execution = instant->execution, .left = 150 };
	double width, height;

	d.row_of = sn_alloc_zeroed((size_t)d.execution->process_count + 1, sizeof(*d.row_of));
	rows_choose(&d);
	for (size_t i = 0; i < d.rows.count; i++)
		row_fill(&d, d.rows.items[i]);
	if (d.items.count)
		qsort(d.items.items, d.items.count, sizeof(*d.items.items), rank_compare);
	place(&d);
	sn_picture_add_label(&d.svg, MARGIN, 30,
			     "font-size=\"15\" font-weight=\"600\" fill=\"#1d2733\"",
			     instant->title);
	rows_add(&d);
	instant_add(&d);
	arrows_add(&d);
	for (size_t i = 0; i < d.items.count; i++)
		event_add(&d, &d.items.items[i]);
	height = legend_add(&d, TOP + ROW * (double)d.rows.count + 20);
	width = fmax(fmax(x_of(&d, d.end_x) + 150,
			  2 * MARGIN + 8.6 * (double)sn_utf8_columns(instant->title)),
		     620);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
		"font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s"
		"</svg>\n",
		width, height, width, height, d.svg.chars);
	sn_text_free(&d.svg);
	sn_vec_free(&d.items);
	sn_vec_free(&d.rows);
	free(d.row_of);
}
