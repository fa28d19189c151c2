/*
 * Draws a lattice that is too large for its cuts: how many there are on each level, on a
 * logarithmic scale, in the colour of the mean number of events possible next.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pandore/lattice/picture.h"

enum { COLUMNS_MAX = 1000, MARKED_MAX = 2000 };

static const double PLOT_WIDTH = 1040, LEFT = 56, BODY = 260, STRIP = 90;

struct silhouette {
	const struct sn_lattice_profile *profile;
	uint32_t columns;
	double *mean, *log10; /* of each column; NaN: not counted */
	bool *is_whole;	      /* every cut of its levels was counted */
	double highest;	      /* log10, 1 at least */
};

static double column_x(const struct silhouette *s, double column)
{
	return LEFT + PLOT_WIDTH * column / s->columns;
}

static double level_x(const struct silhouette *s, double level)
{
	return LEFT + PLOT_WIDTH * level / s->profile->event_count;
}

/* Levels that share a column: the mean of what was counted. */
static void gather(struct silhouette *s)
{
	uint32_t levels = s->profile->event_count;

	for (uint32_t c = 0; c < s->columns; c++) {
		uint32_t first = (uint32_t)((uint64_t)c * levels / s->columns);
		uint32_t last = (uint32_t)((uint64_t)(c + 1) * levels / s->columns), known = 0;
		double mean = 0, high = 0;

		s->is_whole[c] = true;

		for (uint32_t k = first; k < last; k++) {
			s->is_whole[c] = s->is_whole[c] && s->profile->level_is_whole[k];
			if (!isnan(s->profile->level_mean[k])) {
				mean += s->profile->level_mean[k];
				high += s->profile->level_log10[k];
				known++;
			}
		}
		s->mean[c] = known ? mean / known : NAN;
		s->log10[c] = known ? high / known : NAN;
		s->highest = known ? fmax(s->highest, s->log10[c]) : s->highest;
	}
}

/* Where a column begins, as it is printed: the next begins where this one ends, as pale bars that
 * overlap would darken into stripes. */
static double bar_x(const struct silhouette *s, uint32_t column)
{
	return round(100 * column_x(s, column)) / 100;
}

/* What is known only in windows is pale. */
static void add_bar(struct sn_text *svg, const struct silhouette *s, uint32_t column, double y,
		    double height)
{
	sn_text_addf(svg,
		     "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"%s/>\n",
		     bar_x(s, column), y, bar_x(s, column + 1) - bar_x(s, column), height,
		     isnan(s->mean[column])
			     ? "#eef0f3"
			     : sn_picture_colour(s->mean[column], s->profile->active_count),
		     s->is_whole[column] || isnan(s->mean[column]) ? "" : " opacity=\"0.5\"");
}

static void add_column(struct sn_text *svg, const struct silhouette *s, uint32_t column)
{
	double half = fmax(BODY / 2 * s->log10[column] / s->highest, 2.5);

	if (isnan(s->mean[column]))
		half = BODY / 2;
	add_bar(svg, s, column, BODY / 2 - half, 2 * half);
}

/* Powers of ten on both sides of the middle, some four of them. */
static void add_scale(struct sn_text *svg, const struct silhouette *s)
{
	double step = fmax(1, ceil(s->highest / 4));

	for (int tick = 0; tick * step <= s->highest + 1e-9; tick++) {
		double power = tick * step;
		double offset = BODY / 2 * power / s->highest;

		sn_text_addf(svg,
			     "<path d=\"M%.1f %.1fh%.1fM%.1f %.1fh%.1f\" stroke=\"#9aa4b1\" "
			     "stroke-opacity=\"0.35\"/>\n",
			     LEFT, BODY / 2 - offset, PLOT_WIDTH, LEFT, BODY / 2 + offset,
			     PLOT_WIDTH);
		sn_text_addf(
			svg,
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#5a6675\" "
			"font-size=\"11\">10<tspan dy=\"-4\" font-size=\"8\">%.0f</tspan></text>\n",
			LEFT - 8, BODY / 2 - offset + 4, power);
	}
}

static void add_level_axis(struct sn_text *svg, const struct silhouette *s, double y)
{
	double raw = s->profile->event_count / 8.0, unit = pow(10, floor(log10(fmax(raw, 1))));
	double step = raw / unit > 5   ? 10 * unit
		      : raw / unit > 2 ? 5 * unit
		      : raw / unit > 1 ? 2 * unit
				       : unit;
	char number[32];

	for (int tick = 0; tick * step <= s->profile->event_count; tick++) {
		double level = tick * step;

		snprintf(number, sizeof(number), "%.0f", level);
		sn_picture_add_label(svg, level_x(s, level), y + 16,
				     "text-anchor=\"middle\" fill=\"#5a6675\" font-size=\"11\"",
				     number);
		sn_text_addf(svg, "<path d=\"M%.1f %.1fv4\" stroke=\"#9aa4b1\"/>\n",
			     level_x(s, level), y);
	}
	sn_picture_add_label(svg, LEFT + PLOT_WIDTH, y + 32, "text-anchor=\"end\" fill=\"#5a6675\"",
			     "level: events done →");
}

/* Where cuts were left out, the processes that can act somewhere on the level, as a line. */
static void add_bound(struct sn_text *svg, const struct silhouette *s, double top)
{
	uint32_t levels = s->profile->event_count, active = s->profile->active_count;

	if (!s->profile->stopped_by)
		return;
	sn_text_add(svg, "<path fill=\"none\" stroke=\"#1d2733\" stroke-width=\"1\" d=\"");
	for (uint32_t c = 0; c < s->columns; c++) {
		uint32_t first = (uint32_t)((uint64_t)c * levels / s->columns);
		uint32_t last = (uint32_t)((uint64_t)(c + 1) * levels / s->columns), most = 0;

		for (uint32_t k = first; k < last; k++)
			most = s->profile->level_processes[k] > most
				       ? s->profile->level_processes[k]
				       : most;
		sn_text_addf(svg, "%c%.1f %.1fh%.2f", c ? 'L' : 'M', column_x(s, c),
			     top + STRIP * (1 - (double)most / active), PLOT_WIDTH / s->columns);
	}
	sn_text_add(svg, "\"/>\n");
}

/* The mean out-degree as bars in the same colours, over a grid of whole numbers. */
static void add_strip(struct sn_text *svg, const struct silhouette *s, double top)
{
	uint32_t active = s->profile->active_count, step = active > 8 ? (active + 3) / 4 : 1;

	for (uint32_t d = 0; d <= active; d += active > 4 && step == 1 ? 2 : step) {
		double y = top + STRIP * (1 - (double)d / active);

		sn_picture_add_rule(svg, LEFT, y, PLOT_WIDTH, d);
	}
	sn_text_add(svg, "<g shape-rendering=\"crispEdges\">\n");
	for (uint32_t c = 0; c < s->columns; c++) {
		double height = STRIP * s->mean[c] / active;

		if (!isnan(s->mean[c]))
			add_bar(svg, s, c, top + STRIP - height, height);
	}
	sn_text_add(svg, "</g>\n");
	add_bound(svg, s, top);
}

/* The bottlenecks, numbered as in the text answer if they are few. */
static void add_marks(struct sn_text *svg, const struct silhouette *s,
		      const struct sn_segments *segments, double y)
{
	struct sn_picture_numbers numbers = { 0 };

	for (size_t i = 0; i < segments->items.count && i < MARKED_MAX; i++) {
		const struct sn_segment *segment = &segments->items.items[i];
		double from = level_x(s, segment->level_first);
		double to = level_x(s, fmin(segment->level_last + 1.0, s->profile->event_count));

		to = fmax(to, from + 2);
		sn_text_addf(svg,
			     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"5\" rx=\"2\" "
			     "fill=\"#b03a24\"/>\n",
			     from, y, to - from);
		if (segments->items.count <= SN_PICTURE_NUMBERED_MAX)
			sn_picture_add_number(svg, &numbers, (from + to) / 2, y + 17, i + 1);
	}
}

static void add_ramp(struct sn_text *svg, uint32_t active, double y)
{
	char number[16];

	sn_picture_add_label(svg, LEFT, y, "fill=\"#5a6675\"", "events possible next, on average");
	for (int i = 0; i < 60; i++)
		sn_text_addf(
			svg,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"3.3\" height=\"11\" fill=\"%s\"/>\n",
			LEFT + 244 + 3 * i, y - 10,
			sn_picture_colour(1 + (active - 1) * i / 59.0, active));
	sn_picture_add_label(svg, LEFT + 236, y, "text-anchor=\"end\" fill=\"#1d2733\"", "1");
	snprintf(number, sizeof(number), "%u", active);
	sn_picture_add_label(svg, LEFT + 430, y, "fill=\"#1d2733\"", number);
}

double sn_picture_draw_silhouette(struct sn_text *svg, const struct sn_lattice_answer *answer,
				  double *width)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	struct silhouette s = { .profile = profile, .highest = 1 };
	double strip_top = BODY + 66;

	s.columns = profile->event_count < COLUMNS_MAX ? profile->event_count : COLUMNS_MAX;
	if (s.columns == 0)
		return 0;
	s.mean = sn_alloc_zeroed(s.columns, sizeof(double));
	s.log10 = sn_alloc_zeroed(s.columns, sizeof(double));
	s.is_whole = sn_alloc_zeroed(s.columns, sizeof(bool));
	gather(&s);
	sn_text_add(svg, "<g shape-rendering=\"crispEdges\">\n");
	for (uint32_t c = 0; c < s.columns; c++)
		add_column(svg, &s, c);
	sn_text_add(svg, "</g>\n");
	add_scale(svg, &s);
	sn_picture_add_label(svg, LEFT, BODY + 22, "fill=\"#5a6675\"",
			     profile->stopped_by
				     ? "height: cuts of the level (logarithmic); pale: only those "
				       "inside the windows"
				     : "height: cuts of the level (logarithmic)");
	sn_picture_add_label(
		svg, LEFT, strip_top - 10, "fill=\"#5a6675\"",
		profile->stopped_by
			? "mean events possible next; line: processes that can act at all"
			: "mean events possible next");
	add_strip(svg, &s, strip_top);
	add_marks(svg, &s, &answer->segments, strip_top + STRIP + 6);
	add_level_axis(svg, &s, strip_top + STRIP + 28);
	add_ramp(svg, profile->active_count, strip_top + STRIP + 78);
	*width = fmax(*width, LEFT + PLOT_WIDTH + 16);
	free(s.mean);
	free(s.log10);
	free(s.is_whole);
	return strip_top + STRIP + 84;
}
