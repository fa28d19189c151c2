#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pandore/lattice/picture.h"

enum { COLUMNS = 800, NUMBERED_MAX = 12 };

static const double PLOT_WIDTH = 1040, LEFT = 56, HEIGHT = 90;

/* Processes busy in each column of the schedule, on average over the column. */
static double *busy_by_column(const struct sn_lattice_answer *answer)
{
	const struct sn_schedule *schedule = &answer->schedule;
	double *busy = sn_alloc_zeroed(COLUMNS, sizeof(double));
	double column_s = schedule->critical_s / COLUMNS;

	for (uint32_t e = 0; e < answer->execution->event_count; e++) {
		double begin = schedule->begin_s[e] / column_s, end = schedule->end_s[e] / column_s;

		for (int c = (int)begin; c < end && c < COLUMNS; c++)
			busy[c] += fmin(end, c + 1) - fmax(begin, c);
	}
	return busy;
}

static double time_x(const struct sn_lattice_answer *answer, double time_s)
{
	return LEFT + PLOT_WIDTH * time_s / answer->schedule.critical_s;
}

static void add_scale(struct sn_text *svg, uint32_t processes, double top)
{
	uint32_t step = processes > 4 ? (processes + 3) / 4 : 1;
	char number[16];

	for (uint32_t d = 0; d <= processes; d += step) {
		double y = top + HEIGHT * (1 - (double)d / processes);

		sn_text_addf(svg, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"#e3e7ec\"/>\n", LEFT, y,
			     PLOT_WIDTH);
		snprintf(number, sizeof(number), "%u", d);
		sn_picture_add_label(svg, LEFT - 8, y + 4,
				     "text-anchor=\"end\" fill=\"#5a6675\" font-size=\"11\"",
				     number);
	}
}

static void add_seconds(struct sn_text *svg, const struct sn_lattice_answer *answer, double y)
{
	static const char *const units[] = { "seconds →", "ms →", "µs →", "ns →" };
	double raw = answer->schedule.critical_s / 8, unit = pow(10, floor(log10(raw)));
	double step = raw / unit > 5 ? 10 * unit : raw / unit > 2 ? 5 * unit : 2 * unit;
	double scale = 1;
	char number[32];
	int name = 0;

	while (answer->schedule.critical_s * scale < 1 && name < 3) {
		scale *= 1000;
		name++;
	}
	for (int tick = 0; tick * step <= answer->schedule.critical_s * (1 + 1e-9); tick++) {
		double x = time_x(answer, tick * step);

		snprintf(number, sizeof(number), "%.6g", tick * step * scale);
		sn_text_addf(svg, "<path d=\"M%.1f %.1fv4\" stroke=\"#9aa4b1\"/>\n", x, y);
		sn_picture_add_label(svg, x, y + 16,
				     "text-anchor=\"middle\" fill=\"#5a6675\" font-size=\"11\"",
				     number);
	}
	sn_picture_add_label(svg, LEFT + PLOT_WIDTH, y + 32, "text-anchor=\"end\" fill=\"#5a6675\"",
			     units[name]);
}

/* The stretches that lose time, with the numbers of the text answer if they are few. */
static void add_marks(struct sn_text *svg, const struct sn_lattice_answer *answer, double y)
{
	char number[16];

	for (size_t i = 0; i < answer->segments.items.count; i++) {
		const struct sn_segment *segment = &answer->segments.items.items[i];
		double from, to;

		if (!segment->is_by_time)
			continue;
		from = time_x(answer, segment->t0_s);
		to = fmax(time_x(answer, segment->t1_s), from + 2);
		sn_text_addf(svg,
			     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"5\" rx=\"2\" "
			     "fill=\"#b03a24\"><title>#%zu: loses ",
			     from, y, to - from, i + 1);
		sn_text_add_duration(svg, segment->time_lost_s);
		sn_text_add(svg, " of processes' time</title></rect>\n");
		if (i >= NUMBERED_MAX)
			continue;
		snprintf(number, sizeof(number), "%zu", i + 1);
		sn_picture_add_label(svg, (from + to) / 2, y + 17,
				     "text-anchor=\"middle\" fill=\"#b03a24\" font-size=\"11\"",
				     number);
	}
}

double sn_picture_draw_time(struct sn_text *svg, const struct sn_lattice_answer *answer,
			    double *width)
{
	uint32_t processes = answer->schedule.busy_process_count;
	double *busy, top = 14;
	struct sn_text title = { 0 };

	if (!(answer->schedule.critical_s > 0))
		return 0;
	sn_text_add(&title, "processes busy if every event runs as soon as it can: work ");
	sn_text_add_duration(&title, answer->schedule.work_s);
	sn_text_add(&title, " in ");
	sn_text_add_duration(&title, answer->schedule.critical_s);
	sn_text_addf(&title, ", %.2f on average",
		     answer->schedule.work_s / answer->schedule.critical_s);
	sn_picture_add_label(svg, LEFT, top - 10, "fill=\"#5a6675\"", title.chars);
	sn_text_free(&title);
	add_scale(svg, processes, top);
	busy = busy_by_column(answer);
	sn_text_add(svg, "<g shape-rendering=\"crispEdges\">\n");
	for (int c = 0; c < COLUMNS; c++)
		sn_text_addf(svg,
			     "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			     "fill=\"%s\"/>\n",
			     LEFT + PLOT_WIDTH * c / COLUMNS,
			     top + HEIGHT * (1 - busy[c] / processes), PLOT_WIDTH / COLUMNS + 0.3,
			     HEIGHT * busy[c] / processes,
			     sn_picture_colour(fmax(busy[c], 0.1), processes));
	sn_text_add(svg, "</g>\n");
	free(busy);
	add_marks(svg, answer, top + HEIGHT + 6);
	add_seconds(svg, answer, top + HEIGHT + 28);
	*width = fmax(*width, LEFT + PLOT_WIDTH + 16);
	return top + HEIGHT + 66;
}
