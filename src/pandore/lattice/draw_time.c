/*
 * Draws how many processes are busy over time: in the schedule that the order allows, and in the
 * run as it was traced.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pandore/lattice/picture.h"

enum { COLUMNS = 800 };

static const double PLOT_WIDTH = 1040, LEFT = 56, HEIGHT = 90;

/* When the events of an execution ran, from 0 to total_s: as soon as they could, or as they did. */
struct course {
	const double *begin_s, *end_s;
	double total_s;
};

/* Processes busy in each column, on average over the column. */
static double *busy_by_column(const struct sn_lattice_answer *answer, const struct course *course)
{
	double *busy = sn_alloc_zeroed(COLUMNS, sizeof(double));
	double column_s = course->total_s / COLUMNS;

	for (uint32_t e = 0; e < answer->execution->event_count; e++) {
		double begin = course->begin_s[e] / column_s, end = course->end_s[e] / column_s;

		for (int c = (int)begin; c < end && c < COLUMNS; c++)
			busy[c] += fmin(end, c + 1) - fmax(begin, c);
	}
	return busy;
}

static double time_x(double time_s, double total_s)
{
	return LEFT + PLOT_WIDTH * time_s / total_s;
}

static void add_scale(struct sn_text *svg, uint32_t processes, double top)
{
	uint32_t step = processes > 4 ? (processes + 3) / 4 : 1;

	for (uint32_t d = 0; d <= processes; d += step) {
		double y = top + HEIGHT * (1 - (double)d / processes);

		sn_picture_add_rule(svg, LEFT, y, PLOT_WIDTH, d);
	}
}

static void add_seconds(struct sn_text *svg, double total_s, double y)
{
	static const char *const units[] = { "seconds →", "ms →", "µs →", "ns →" };
	double raw = total_s / 8, unit = pow(10, floor(log10(raw)));
	double step = raw / unit > 5 ? 10 * unit : raw / unit > 2 ? 5 * unit : 2 * unit;
	double scale = 1;
	char number[32];
	int name = 0;

	while (total_s * scale < 1 && name < 3) {
		scale *= 1000;
		name++;
	}
	for (int tick = 0; tick * step <= total_s * (1 + 1e-9); tick++) {
		double x = time_x(tick * step, total_s);

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
	struct sn_picture_numbers numbers = { 0 };

	for (size_t i = 0; i < answer->segments.items.count; i++) {
		const struct sn_segment *segment = &answer->segments.items.items[i];
		double from, to;

		if (!segment->is_by_time)
			continue;
		from = time_x(segment->t0_s, answer->schedule.critical_s);
		to = fmax(time_x(segment->t1_s, answer->schedule.critical_s), from + 2);
		sn_text_addf(svg,
			     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"5\" rx=\"2\" "
			     "fill=\"#b03a24\"><title>#%zu: loses ",
			     from, y, to - from, i + 1);
		sn_text_add_duration(svg, segment->time_lost_s);
		sn_text_add(svg, " of processes' time</title></rect>\n");
		if (i < SN_PICTURE_NUMBERED_MAX)
			sn_picture_add_number(svg, &numbers, (from + to) / 2, y + 17, i + 1);
	}
}

/* Scale, bars and title of one course; the time axis is left to the caller. */
static void add_course(struct sn_text *svg, const struct sn_lattice_answer *answer,
		       const struct course *course, const char *what, double top)
{
	uint32_t processes = answer->schedule.busy_process_count;
	double *busy = busy_by_column(answer, course);
	struct sn_text title = { 0 };

	sn_text_addf(&title, "%s: work ", what);
	sn_text_add_duration(&title, answer->schedule.work_s);
	sn_text_add(&title, " in ");
	sn_text_add_duration(&title, course->total_s);
	sn_text_addf(&title, ", %.*f on average",
		     answer->schedule.work_s < 0.1 * course->total_s ? 4 : 2,
		     answer->schedule.work_s / course->total_s);
	sn_picture_add_label(svg, LEFT, top - 10, "fill=\"#5a6675\"", title.chars);
	sn_text_free(&title);
	add_scale(svg, processes, top);
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
}

/* What the processes did in the traced run; the height that it takes. */
static double add_realised(struct sn_text *svg, const struct sn_lattice_answer *answer, double top)
{
	const struct sn_execution *execution = answer->execution;
	double *begin_s, *end_s, first = INFINITY;
	struct course course;

	if (isnan(answer->schedule.elapsed_s))
		return 0;
	begin_s = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(double));
	end_s = sn_alloc_zeroed((size_t)execution->event_count + 1, sizeof(double));
	for (uint32_t e = 0; e < execution->event_count; e++)
		first = fmin(first, execution->events[e].start_s);
	for (uint32_t e = 0; e < execution->event_count; e++) {
		double duration_s = execution->events[e].duration_s;

		begin_s[e] = execution->events[e].start_s - first;
		end_s[e] = begin_s[e] + (isnan(duration_s) ? 0 : duration_s);
		/* a median may be longer than this time; a process does one thing at a time */
		if (e && execution->events[e - 1].process == execution->events[e].process)
			end_s[e - 1] = fmax(begin_s[e - 1], fmin(end_s[e - 1], begin_s[e]));
		/* nor does it go on after the run */
		end_s[e] = fmin(end_s[e], answer->schedule.elapsed_s);
	}
	course = (struct course){ begin_s, end_s, answer->schedule.elapsed_s };
	add_course(svg, answer, &course, "processes busy in the traced run", top);
	add_seconds(svg, course.total_s, top + HEIGHT + 6);
	free(begin_s);
	free(end_s);
	return HEIGHT + 76;
}

double sn_picture_draw_time(struct sn_text *svg, const struct sn_lattice_answer *answer,
			    double *width)
{
	const struct sn_schedule *schedule = &answer->schedule;
	struct course course = { schedule->begin_s, schedule->end_s, schedule->critical_s };
	double top = 14, below;

	if (!(schedule->critical_s > 0))
		return 0;
	add_course(svg, answer, &course, "processes busy if every event runs as soon as it can",
		   top);
	add_marks(svg, answer, top + HEIGHT + 6);
	add_seconds(svg, schedule->critical_s, top + HEIGHT + 28);
	*width = fmax(*width, LEFT + PLOT_WIDTH + 16);
	below = top + HEIGHT + 66;
	return below + add_realised(svg, answer, below + 24);
}
