/* Curves over the number of workers, as SVG. Sizes are in its own units: a drawing is as wide as it is let. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/campaigns/campaign_parts.h"

enum {
	WIDTH = 560,
	HEIGHT = 280,
	LEFT = 46,
	RIGHT = 14,
	TOP = 12,
	BOTTOM = 40,
	COLOURS = 8,
	TICKS = 6,
	LOG_FROM = 16, /* so many times the fewest workers */
};

struct axes {
	double x_least, x_most, y_most;
	bool is_log, is_weak;
};

static double x_of(const struct axes *a, double workers)
{
	double part = a->is_log ? log2(workers / a->x_least) / log2(a->x_most / a->x_least)
				: (workers - a->x_least) / (a->x_most - a->x_least);

	return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *a, double value)
{
	return TOP + (1 - value / a->y_most) * (HEIGHT - TOP - BOTTOM);
}

static double value_of(const struct axes *a, const struct sn_scaling_row *row, double efficiency)
{
	return a->is_weak ? efficiency : efficiency * row->ideal_speedup;
}

static bool axes_of(const struct sn_scaling *scaling, const struct sn_campaign_part *part,
		    struct axes *a)
{
	*a = (struct axes){ .x_least = INFINITY, .is_weak = scaling->is_weak };
	for (size_t i = 0; i < part->count; i++) {
		const struct sn_scaling_row *row = &part->rows[i];
		double ideal = a->is_weak ? 1 : row->ideal_speedup;
		double high = value_of(a, row, row->interval.high);

		if (isnan(row->efficiency))
			continue;
		a->x_least = fmin(a->x_least, row->workers);
		a->x_most = fmax(a->x_most, row->workers);
		a->y_most = fmax(a->y_most, fmax(ideal, value_of(a, row, row->efficiency)));
		/* a bar without end must not flatten the curve */
		if (!isnan(high))
			a->y_most = fmax(a->y_most, fmin(high, 2 * ideal));
	}
	a->y_most *= 1.06;
	a->is_log = a->x_most >= LOG_FROM * a->x_least;
	return a->x_most > a->x_least && a->y_most > 0;
}

static double step_of(double most)
{
	double power = pow(10, floor(log10(most / TICKS)));

	for (int k = 1; k < 10; k = k == 2 ? 5 : 2 * k)
		if (most / (k * power) <= TICKS)
			return k * power;
	return 10 * power;
}

static void grid_add(const struct axes *a, const struct sn_campaign_part *part, struct sn_text *out)
{
	double step = step_of(a->y_most), last = -1;

	for (int k = 0; k * step <= a->y_most; k++)
		sn_text_addf(
			out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
			"x=\"%d\" y=\"%.1f\" class=\"end\">%g</text>",
			LEFT, WIDTH - RIGHT, y_of(a, k * step), y_of(a, k * step), LEFT - 6,
			y_of(a, k * step) + 4, k * step);
	for (size_t i = 0; i < part->count; i++) {
		double x = x_of(a, part->rows[i].workers);

		if (x < last + 22 && i)
			continue;
		last = x;
		sn_text_addf(out, "<text x=\"%.1f\" y=\"%d\" class=\"middle\">%.0f</text>", x,
			     HEIGHT - BOTTOM + 16, part->rows[i].workers);
	}
	sn_text_addf(out,
		     "<text x=\"%d\" y=\"%d\" class=\"middle\">workers (ranks × threads)</text>",
		     (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
}

/* What ends beyond the frame has an arrow there in place of its end. */
static void bar_add(const struct axes *a, double x, double low, double high, struct sn_text *out)
{
	double bottom = y_of(a, fmax(0, fmin(low, a->y_most)));
	double top = y_of(a, fmin(high, a->y_most));

	sn_text_addf(out, "<path class=\"error\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh8", x, bottom, top,
		     x - 4, bottom);
	if (high > a->y_most)
		sn_text_addf(out, "M%.1f %.1fl4 -6l4 6", x - 4, top + 6);
	else
		sn_text_addf(out, "M%.1f %.1fh8", x - 4, top);
	sn_text_add(out, "\"/>");
}

static void point_add(const struct sn_scaling_campaign *read, const struct axes *a,
		      const struct sn_scaling_row *row, struct sn_text *out)
{
	double x = x_of(a, row->workers), y = y_of(a, value_of(a, row, row->efficiency));

	if (!isnan(row->interval.low))
		bar_add(a, x, value_of(a, row, row->interval.low),
			value_of(a, row, row->interval.high), out);
	sn_text_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>", x, y);
	sn_text_add_html(out, sn_campaign_row_name(read, row));
	sn_text_addf(out, ": %.2f of ideal %.2f, efficiency %.2f",
		     value_of(a, row, row->efficiency), a->is_weak ? 1 : row->ideal_speedup,
		     row->efficiency);
	if (!isnan(row->interval.low))
		sn_text_addf(out, " [%.2f, %.2f]", row->interval.low, row->interval.high);
	sn_text_add(out, "</title></circle>");
}

static bool is_first_of_series(const struct sn_scaling_campaign *read,
			       const struct sn_campaign_part *part, size_t i)
{
	const char *series = read->configurations[part->rows[i].configuration].series;

	for (size_t k = 0; k < i; k++)
		if (read->configurations[part->rows[k].configuration].series == series)
			return false;
	return true;
}

/* The points of one series, from its first row on; `is_ideal`: where they would be. */
static void line_add(const struct sn_scaling_campaign *read, const struct axes *a,
		     const struct sn_campaign_part *part, size_t first, bool is_ideal,
		     struct sn_text *out)
{
	const char *series = read->configurations[part->rows[first].configuration].series;

	sn_text_add(out, is_ideal ? "<polyline class=\"ideal\" points=\"" : "<polyline points=\"");
	for (size_t i = first; i < part->count; i++) {
		const struct sn_scaling_row *row = &part->rows[i];

		if (read->configurations[row->configuration].series != series ||
		    isnan(row->efficiency))
			continue;
		sn_text_addf(out, "%.1f,%.1f ", x_of(a, row->workers),
			     y_of(a, value_of(a, row, is_ideal ? 1 : row->efficiency)));
	}
	sn_text_add(out, "\"/>");
}

static void series_add(const struct sn_scaling_campaign *read, const struct axes *a,
		       const struct sn_campaign_part *part, size_t first, unsigned colour,
		       struct sn_text *out)
{
	const char *series = read->configurations[part->rows[first].configuration].series;

	line_add(read, a, part, first, true, out);
	sn_text_addf(out, "<g class=\"n%u\">", colour % COLOURS + 1);
	line_add(read, a, part, first, false, out);
	for (size_t i = first; i < part->count; i++)
		if (read->configurations[part->rows[i].configuration].series == series &&
		    !isnan(part->rows[i].efficiency))
			point_add(read, a, &part->rows[i], out);
	sn_text_add(out, "</g>");
}

static void legend_add(const struct sn_scaling_campaign *read, const struct sn_campaign_part *part,
		       const struct axes *a, struct sn_text *out)
{
	unsigned colour = 0, count = 0;

	sn_text_addf(out, "<figcaption class=\"dim\">%s over workers; dashed: ideal; bars: 95 %%",
		     a->is_weak ? "Efficiency" : "Speed-up");
	for (size_t i = 0; i < part->count; i++)
		count += is_first_of_series(read, part, i);
	/* a single curve needs no name */
	for (size_t i = 0; count > 1 && i < part->count; i++) {
		if (!is_first_of_series(read, part, i))
			continue;
		sn_text_addf(out, " <span class=\"key\"><i class=\"n%u\"></i>",
			     colour++ % COLOURS + 1);
		sn_text_add_html(out, read->configurations[part->rows[i].configuration].series);
		sn_text_add(out, "</span>");
	}
	sn_text_add(out, "</figcaption>");
}

void sn_campaign_add_curve(const struct sn_scaling_campaign *read,
			   const struct sn_campaign_part *part, struct sn_text *out)
{
	unsigned colour = 0;
	struct axes a;

	if (!axes_of(read->scaling, part, &a))
		return;
	sn_text_addf(
		out,
		"<figure><svg class=\"curve\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		"role=\"img\" aria-label=\"the numbers are in the table beside\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	grid_add(&a, part, out);
	for (size_t i = 0; i < part->count; i++)
		if (is_first_of_series(read, part, i))
			series_add(read, &a, part, i, colour++, out);
	sn_text_add(out, "</svg>");
	legend_add(read, part, &a, out);
	sn_text_add(out, "</figure>\n");
}
