/*
 * Axes with round ticks, lines, bands and bars as SVG text. Values that differ by much are drawn
 * on a logarithmic scale.
 */
#include "heartbeat/plot.h"

#include <math.h>
#include <string.h>

const char sn_plot_style[] =
	":root{color-scheme:light dark;--back:#fff;--panel:#f6f7f9;--ink:#1c2330;--dim:#5b6575;"
	"--rule:#dde1e8;--band:#2f6fde2b;--limit:#c2410c;"
	"--c0:#2f6fde;--c1:#c2410c;--c2:#15803d;--c3:#9333ea;"
	"--c4:#b45309;--c5:#0e7490;--c6:#be185d;--c7:#4d5b70}"
	"@media(prefers-color-scheme:dark){:root{--back:#12161d;--panel:#1a202a;--ink:#e4e8ef;"
	"--dim:#98a3b3;--rule:#303846;--band:#6ea2ff33;--limit:#fb923c;"
	"--c0:#6ea2ff;--c1:#fb923c;--c2:#4ade80;--c3:#c792ff;"
	"--c4:#facc15;--c5:#38d3ee;--c6:#f472b6;--c7:#a8b3c4}}"
	".pl{font:11px system-ui,sans-serif}.pl text{fill:var(--dim)}.pl .t{fill:var(--ink);"
	"font-weight:600;font-size:12px}.pl .g{stroke:var(--rule);fill:none}"
	".pl .b{fill:var(--band);stroke:none}"
	".pl .l{fill:none;stroke-width:1.6;stroke-linejoin:round}"
	".pl .m{stroke:var(--dim);stroke-dasharray:4 3}"
	".pl .x{stroke:var(--limit);stroke-dasharray:4 3}"
	".k0{stroke:var(--c0);fill:var(--c0)}.k1{stroke:var(--c1);fill:var(--c1)}"
	".k2{stroke:var(--c2);fill:var(--c2)}.k3{stroke:var(--c3);fill:var(--c3)}"
	".k4{stroke:var(--c4);fill:var(--c4)}.k5{stroke:var(--c5);fill:var(--c5)}"
	".k6{stroke:var(--c6);fill:var(--c6)}.k7{stroke:var(--c7);fill:var(--c7)}";

/* The frame within which values are drawn. */
enum { LEFT = 64, RIGHT = 12, TOP = 38, BOTTOM = 24 };
enum { INNER_WIDTH = SN_PLOT_WIDTH - LEFT - RIGHT, INNER_HEIGHT = SN_PLOT_HEIGHT - TOP - BOTTOM };

struct scale {
	double low, high; /* logarithms if is_log */
	bool is_log;
	enum sn_plot_unit unit;
};

static void add_scaled(struct sn_text *out, double value, const char *const *units, double step,
		       size_t unit_count, const char *after)
{
	size_t unit = 0;

	while (unit + 1 < unit_count && fabs(value) >= 999.5) {
		value /= step;
		unit++;
	}
	sn_text_addf(out, "%.*f%s%s",
		     value == floor(value) || fabs(value) >= 99.95 ? 0
		     : fabs(value) >= 9.995			   ? 1
								   : 2,
		     value, units[unit], after);
}

void sn_plot_add_value(struct sn_text *out, double value, enum sn_plot_unit unit)
{
	static const char *const times[] = { " ns", " µs", " ms", " s" };
	static const char *const counts[] = { "", " k", " M", " G", " T" };

	if (isnan(value))
		sn_text_add(out, "–");
	else if (value == 0)
		sn_text_add(out, "0");
	else if (unit == SN_PLOT_SECONDS)
		add_scaled(out, value * 1e9, times, 1000, 4, "");
	else
		add_scaled(out, value, counts, 1000, 5, unit == SN_PLOT_PER_SECOND ? "/s" : "");
}

/* 1, 2 or 5 times a power of ten, so that about `count` of them fit. */
static double tick_step(double span, double count)
{
	double raw = span / count, power = pow(10, floor(log10(raw)));

	return (raw <= power ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10) * power;
}

static double y_of(const struct scale *scale, double value)
{
	double at = scale->is_log ? log10(value > 0 ? value : 1e-12) : value;
	double part = (at - scale->low) / (scale->high - scale->low);

	return TOP + INNER_HEIGHT * (1 - (part < 0 ? 0 : part > 1 ? 1 : part));
}

/* From 0, or by decades where values differ a lot. */
static struct scale scale_for(double low, double high, enum sn_plot_unit unit)
{
	struct scale scale = { .unit = unit };

	scale.is_log = unit == SN_PLOT_SECONDS && low > 0 && high / low > 30;
	if (scale.is_log) {
		scale.low = floor(log10(low));
		scale.high = ceil(log10(high));
		if (scale.high <= scale.low)
			scale.high = scale.low + 1;
	} else {
		double step = tick_step(high > 0 ? high : 1, 4);

		scale.high = ceil((high > 0 ? high : 1) / step - 1e-9) * step;
	}
	return scale;
}

static void add_tick(struct sn_text *out, const struct scale *scale, double value)
{
	double y = y_of(scale, value);

	sn_text_addf(out,
		     "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
		     "text-anchor=\"end\">",
		     LEFT, y, LEFT + INNER_WIDTH, LEFT - 6, y + 3.5);
	sn_plot_add_value(out, value, scale->unit);
	sn_text_add(out, "</text>");
}

static void add_y_axis(struct sn_text *out, const struct scale *scale)
{
	double step =
		scale->is_log ? ceil((scale->high - scale->low) / 5) : tick_step(scale->high, 4);

	int ticks = (int)floor((scale->high - scale->low) / step + 1e-6);

	for (int i = 0; i <= ticks; i++) {
		double at = scale->low + i * step;

		add_tick(out, scale, scale->is_log ? pow(10, at) : at);
	}
}

/* Seconds below ten minutes, else minutes, else hours. */
static void add_time_axis(struct sn_text *out, double end_s)
{
	double unit_s = end_s < 600 ? 1 : end_s < 36000 ? 60 : 3600;
	const char *unit = end_s < 600 ? "s" : end_s < 36000 ? "min" : "h";
	double step = tick_step(end_s / unit_s, 6);

	for (double at = 0; at * unit_s <= end_s * (1 + 1e-9); at += step) {
		bool is_last = (at + step) * unit_s > end_s * (1 + 1e-9);
		double x = LEFT + INNER_WIDTH * at * unit_s / end_s;
		bool is_at_edge = x > SN_PLOT_WIDTH - 24;

		sn_text_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%g%s%s</text>",
			     is_at_edge ? SN_PLOT_WIDTH - 4 : x, SN_PLOT_HEIGHT - 8,
			     is_at_edge ? "end" : "middle", at, is_last ? " " : "",
			     is_last ? unit : "");
	}
}

static void begin(struct sn_text *out, const char *title, int x, int y)
{
	sn_text_addf(out,
		     "<svg class=\"pl\" xmlns=\"http://www.w3.org/2000/svg\" x=\"%d\" y=\"%d\" "
		     "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
		     x, y, SN_PLOT_WIDTH, SN_PLOT_HEIGHT, SN_PLOT_WIDTH, SN_PLOT_HEIGHT);
	sn_text_add_html(out, title);
	sn_text_addf(out, "\"><text class=\"t\" x=\"%d\" y=\"14\">", LEFT);
	sn_text_add_html(out, title);
	sn_text_add(out, "</text>");
}

static double bin_x(const struct sn_plot *plot, size_t bin)
{
	return LEFT + INNER_WIDTH * ((double)bin + 0.5) / (double)plot->bin_count;
}

static void add_line(struct sn_text *out, const struct sn_plot *plot, const struct scale *scale,
		     size_t number)
{
	const struct sn_plot_line *line = &plot->lines[number];
	bool is_down = false;

	sn_text_addf(out, "<path class=\"k%zu l\" style=\"fill:none\" d=\"", number % 8);
	for (size_t i = 0; i < plot->bin_count; i++) {
		bool is_known = !isnan(line->values[i]);

		if (is_known && is_down)
			sn_text_addf(out, "L%.1f %.1f", bin_x(plot, i),
				     y_of(scale, line->values[i]));
		else if (is_known) /* a mark, where it stands alone */
			sn_text_addf(out, "M%.1f %.1fh4", bin_x(plot, i) - 2,
				     y_of(scale, line->values[i]));
		is_down = is_known;
	}
	sn_text_add(out, "\" stroke-linecap=\"round\"><title>");
	sn_text_add_html(out, line->label);
	sn_text_add(out, "</title></path>");
}

/* Runs of bins in which both edges are known. */
static void add_band(struct sn_text *out, const struct sn_plot *plot, const struct scale *scale)
{
	sn_text_add(out, "<path class=\"b\" d=\"");
	for (size_t first = 0, last; first < plot->bin_count; first = last + 1) {
		for (last = first; last < plot->bin_count && !isnan(plot->low[last]); last++)
			;
		for (size_t i = first; i < last; i++)
			sn_text_addf(out, "%c%.1f %.1f", i == first ? 'M' : 'L', bin_x(plot, i),
				     y_of(scale, plot->high[i]));
		for (size_t i = last; i > first; i--)
			sn_text_addf(out, "L%.1f %.1f", bin_x(plot, i - 1),
				     y_of(scale, plot->low[i - 1]));
		if (last > first)
			sn_text_add(out, "Z");
	}
	sn_text_add(out, "\"/>");
}

static void add_legend(struct sn_text *out, const struct sn_plot *plot)
{
	int x = LEFT;

	for (size_t i = 0; plot->line_count > 1 && i < plot->line_count; i++) {
		sn_text_addf(out,
			     "<rect class=\"k%zu\" x=\"%d\" y=\"23\" width=\"8\" height=\"4\"/>"
			     "<text x=\"%d\" y=\"29\">",
			     i % 8, x, x + 12);
		sn_text_add_html(out, plot->lines[i].label);
		sn_text_add(out, "</text>");
		x += 22 + 6 * (int)sn_utf8_columns(plot->lines[i].label);
	}
	if (plot->low && plot->band_label) {
		sn_text_addf(out,
			     "<rect class=\"b\" x=\"%d\" y=\"21\" width=\"8\" height=\"8\"/>"
			     "<text x=\"%d\" y=\"29\">",
			     x, x + 12);
		sn_text_add_html(out, plot->band_label);
		sn_text_add(out, "</text>");
	}
}

static void widen(double *low, double *high, double value)
{
	if (isnan(value))
		return;
	if (value > 0 && (!(*low > 0) || value < *low))
		*low = value;
	if (value > *high)
		*high = value;
}

void sn_plot_over_time(struct sn_text *out, const struct sn_plot *plot, int x, int y)
{
	double low = 0, high = 0;
	struct scale scale;

	for (size_t i = 0; i < plot->bin_count; i++) {
		for (size_t k = 0; k < plot->line_count; k++)
			widen(&low, &high, plot->lines[k].values[i]);
		if (plot->low) {
			widen(&low, &high, plot->low[i]);
			widen(&low, &high, plot->high[i]);
		}
	}
	scale = scale_for(low, high, plot->unit);
	begin(out, plot->title, x, y);
	add_y_axis(out, &scale);
	add_time_axis(out, plot->end_s);
	if (plot->low)
		add_band(out, plot, &scale);
	for (size_t k = plot->line_count; k-- > 0;)
		add_line(out, plot, &scale, k);
	add_legend(out, plot);
	sn_text_add(out, "</svg>");
}

void sn_plot_histogram(struct sn_text *out, const char *title, const int64_t *buckets, size_t count,
		       int x, int y)
{
	size_t first = count, last = 0;
	int64_t most = 0;
	struct scale scale;
	double width;

	for (size_t i = 0; i < count; i++)
		if (buckets[i] > 0) {
			first = i < first ? i : first;
			last = i;
			most = buckets[i] > most ? buckets[i] : most;
		}
	begin(out, title, x, y);
	if (first == count) {
		sn_text_add(out, "</svg>");
		return;
	}
	first = first > 0 ? first - 1 : 0;
	last = last + 1 < count ? last + 1 : last;
	scale = scale_for(0, (double)most, SN_PLOT_COUNT);
	add_y_axis(out, &scale);
	width = (double)INNER_WIDTH / (double)(last - first + 1);
	for (size_t i = first; i <= last; i++) {
		double top = y_of(&scale, (double)buckets[i]),
		       left = LEFT + width * (double)(i - first);

		sn_text_addf(out,
			     "<rect class=\"k0\" style=\"stroke:none\" x=\"%.1f\" y=\"%.1f\" "
			     "width=\"%.1f\" height=\"%.1f\"><title>",
			     left + 1, top, width - 2, TOP + INNER_HEIGHT - top);
		sn_plot_add_value(out, (double)(UINT64_C(1) << i) * 1e-9, SN_PLOT_SECONDS);
		sn_text_addf(out, " and more: %lld</title></rect>", (long long)buckets[i]);
		if (width > 46 || (i - first) % 3 == 0) {
			sn_text_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", left,
				     SN_PLOT_HEIGHT - 8);
			sn_plot_add_value(out, (double)(UINT64_C(1) << i) * 1e-9, SN_PLOT_SECONDS);
			sn_text_add(out, "</text>");
		}
	}
	sn_text_add(out, "</svg>");
}

static void add_level(struct sn_text *out, const struct scale *scale, const char *class,
		      const char *label, double value, int label_dy)
{
	if (isnan(value))
		return;
	sn_text_addf(out,
		     "<path class=\"%s\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">%s</text>",
		     class, LEFT, y_of(scale, value), LEFT + INNER_WIDTH, LEFT + 4,
		     y_of(scale, value) + label_dy, label);
}

void sn_plot_runs(struct sn_text *out, const struct sn_plot_runs *runs, int x, int y)
{
	double low = 0, high = 0;
	struct scale scale;

	for (size_t i = 0; i < runs->count; i++)
		widen(&low, &high, runs->values_s[i]);
	widen(&low, &high, runs->median_s);
	widen(&low, &high, runs->limit_s);
	scale = scale_for(low, high, SN_PLOT_SECONDS);
	begin(out, runs->title, x, y);
	add_y_axis(out, &scale);
	add_level(out, &scale, "m", "median", runs->median_s, 13);
	add_level(out, &scale, "x", "limit", runs->limit_s, -4);
	for (size_t i = 0; i < runs->count; i++) {
		bool is_this = i + 1 == runs->count;

		if (isnan(runs->values_s[i]))
			continue;
		sn_text_addf(
			out,
			"<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>run %lld: ",
			is_this ? "k1" : "k0",
			LEFT + INNER_WIDTH * ((double)i + 0.5) / (double)runs->count,
			y_of(&scale, runs->values_s[i]), is_this ? "4" : "2.5",
			(long long)runs->numbers[i]);
		sn_plot_add_value(out, runs->values_s[i], SN_PLOT_SECONDS);
		sn_text_add(out, "</title></circle>");
	}
	sn_text_addf(out, "<text x=\"%d\" y=\"%d\">older</text>", LEFT, SN_PLOT_HEIGHT - 8);
	sn_text_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">this run</text></svg>",
		     LEFT + INNER_WIDTH, SN_PLOT_HEIGHT - 8);
}
