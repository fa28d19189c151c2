/**
 * Small plots as SVG: values over time, bars of a histogram, one dot a run.
 *
 * Colours come from classes (sn_plot_style), so that the same drawing is light or dark as its
 * reader wishes. Nothing is loaded from anywhere.
 */
#ifndef SN_HEARTBEAT_PLOT_H
#define SN_HEARTBEAT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { SN_PLOT_WIDTH = 540, SN_PLOT_HEIGHT = 190, SN_PLOT_LINES_MAX = 8 };

enum sn_plot_unit { SN_PLOT_PER_SECOND, SN_PLOT_SECONDS, SN_PLOT_COUNT };

/** The style sheet that the plots need, for <style>. */
extern const char sn_plot_style[];

struct sn_plot_line {
	const char *label;    /* borrowed */
	const double *values; /* one a bin; NaN: nothing known */
};

/** `bin_count` bins of equal width from 0 to `end_s`. */
struct sn_plot {
	const char *title;
	enum sn_plot_unit unit;
	size_t bin_count, line_count;
	double end_s;
	const struct sn_plot_line *lines; /* SN_PLOT_LINES_MAX at most */
	const double *low, *high;	  /* a band behind them; NULL: none */
	const char *band_label;
};

/** An <svg> element at (x, y) of the drawing around it. */
void sn_plot_over_time(struct sn_text *out, const struct sn_plot *plot, int x, int y);

/** Bars for beats of [2^i, 2^(i+1)) ns. */
void sn_plot_histogram(struct sn_text *out, const char *title, const int64_t *buckets, size_t count,
		       int x, int y);

/** A dot for each run, oldest first, the last one being the run in question; NaN: not in that run.
 *  Lines at the median and at the limit (NaN: none). */
struct sn_plot_runs {
	const char *title;
	const double *values_s;
	const int64_t *numbers; /* of the runs */
	size_t count;
	double median_s, limit_s;
};

void sn_plot_runs(struct sn_text *out, const struct sn_plot_runs *runs, int x, int y);

/** "12.3 ms", "1,250 /s", "12.5 k": three significant digits. */
void sn_plot_add_value(struct sn_text *out, double value, enum sn_plot_unit unit);

#endif
