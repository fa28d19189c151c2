/* Draws every cut: as a grid for two processes, by levels for more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/picture.h"

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* ---- Nodes, arcs, legend -------------------------------------------------------------------- */

static void add_tooltip(struct sn_text *svg, const struct sn_picture *picture, uint32_t node)
{
	const uint32_t *arcs = sn_lattice_graph_arcs(picture->graph, node);
	const uint32_t *cut = sn_picture_cut(picture, node);
	struct sn_text line = { 0 };
	bool any = false;

	sn_text_add(&line, "cut (");
	for (uint32_t p = 0; p < picture->process_count; p++)
		sn_text_addf(&line, "%s%u", p ? "," : "", cut[p]);
	sn_text_add(&line, ")");
	for (uint32_t p = 0; p < picture->process_count; p++) {
		if (arcs[p] == SN_NODE_NONE)
			continue;
		sn_text_add(&line, any ? ", " : " next: ");
		sn_picture_add_name(&line, picture->answer->execution, p, cut[p] + 1, 40);
		any = true;
	}
	sn_text_add(svg, "<title>");
	sn_text_add_html(svg, line.chars);
	sn_text_add(svg, "</title>");
	sn_text_free(&line);
}

static void add_node(struct sn_text *svg, const struct sn_picture *picture, uint32_t node, double x,
		     double y, double radius)
{
	sn_text_addf(
		svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.2f\" fill=\"%s\">", x, y, radius,
		sn_picture_colour(picture->degrees[node], picture->answer->profile.active_count));
	add_tooltip(svg, picture, node);
	sn_text_add(svg, "</circle>\n");
}

/* Swatches for 1 .. A events possible next; what is in between is left out if there are many. */
static void add_legend(struct sn_text *svg, uint32_t active, double x, double y)
{
	uint32_t step = active > 8 ? (active + 7) / 8 : 1;
	char number[16];

	sn_picture_add_label(svg, x, y, "fill=\"#5a6675\"", "events possible next");
	x += 156;
	for (uint32_t d = 1; d <= active; d += step) {
		snprintf(number, sizeof(number), "%u", d);
		sn_text_addf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\" fill=\"%s\"/>\n", x,
			     y - 4, sn_picture_colour(d, active));
		sn_picture_add_label(svg, x + 9, y, "fill=\"#1d2733\"", number);
		x += 32;
	}
	sn_text_addf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\" fill=\"#333333\"/>\n", x,
		     y - 4);
	sn_picture_add_label(svg, x + 9, y, "fill=\"#1d2733\"", "end");
}

static void add_process_legend(struct sn_text *svg, uint32_t processes, double x, double y)
{
	char name[16];

	if (processes > 8)
		return;
	sn_picture_add_label(svg, x, y, "fill=\"#5a6675\"", "arcs: an event of process");
	x += 180;
	for (uint32_t p = 0; p < processes; p++) {
		snprintf(name, sizeof(name), "%u", p);
		sn_text_addf(svg,
			     "<path d=\"M%.1f %.1fh16\" stroke=\"%s\" stroke-width=\"2.5\"/>\n", x,
			     y - 4, sn_picture_process_colour(p, processes));
		sn_picture_add_label(svg, x + 20, y, "fill=\"#1d2733\"", name);
		x += 44;
	}
}

/* ---- Two processes: a grid ------------------------------------------------------------------ */

struct grid {
	const struct sn_picture *picture;
	double left, top, step; /* of cut (0, m_1), the upper left corner */
	uint32_t columns, rows;
};

static double grid_x(const struct grid *grid, uint32_t done)
{
	return grid->left + grid->step * done;
}

static double grid_y(const struct grid *grid, uint32_t done)
{
	return grid->top + grid->step * (grid->rows - done);
}

/* Instants that no execution can pass through, so that the shape of what remains is seen. */
static void add_forbidden(struct sn_text *svg, const struct grid *grid)
{
	uint8_t *there = sn_alloc_zeroed(((size_t)grid->columns + 1) * (grid->rows + 1), 1);

	for (uint32_t node = 0; node < grid->picture->node_count; node++) {
		const uint32_t *cut = sn_picture_cut(grid->picture, node);

		there[(size_t)cut[0] * (grid->rows + 1) + cut[1]] = 1;
	}
	sn_text_add(svg, "<g fill=\"#dde2e8\">\n");
	for (uint32_t x = 0; x <= grid->columns; x++)
		for (uint32_t y = 0; y <= grid->rows; y++)
			if (!there[(size_t)x * (grid->rows + 1) + y])
				sn_text_addf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
					     grid_x(grid, x), grid_y(grid, y),
					     grid->step * 0.035 + 0.6);
	sn_text_add(svg, "</g>\n");
	free(there);
}

static void add_axes(struct sn_text *svg, const struct grid *grid, size_t columns)
{
	const struct sn_execution *execution = grid->picture->answer->execution;
	struct sn_text name = { 0 }, style = { 0 };
	double bottom = grid_y(grid, 0);

	for (uint32_t c = 1; c <= grid->columns && columns; c++) {
		double x = (grid_x(grid, c - 1) + grid_x(grid, c)) / 2, y = bottom + 20;

		sn_text_clear(&name);
		sn_text_clear(&style);
		sn_picture_add_name(&name, execution, 0, c, columns);
		sn_text_addf(
			&style,
			"text-anchor=\"end\" fill=\"#1d2733\" transform=\"rotate(-35 %.1f %.1f)\"",
			x + 5, y);
		sn_picture_add_label(svg, x + 5, y, style.chars, name.chars ? name.chars : "");
	}
	for (uint32_t c = 1; c <= grid->rows && columns; c++) {
		sn_text_clear(&name);
		sn_picture_add_name(&name, execution, 1, c, columns);
		sn_picture_add_label(
			svg, grid->left - 18, (grid_y(grid, c - 1) + grid_y(grid, c)) / 2 + 4,
			"text-anchor=\"end\" fill=\"#1d2733\"", name.chars ? name.chars : "");
	}
	sn_text_free(&name);
	sn_text_free(&style);
}

static void add_grid_arcs(struct sn_text *svg, const struct grid *grid)
{
	const struct sn_picture *picture = grid->picture;

	for (uint32_t p = 0; p < 2; p++) {
		sn_text_addf(svg,
			     "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.65\" "
			     "stroke-width=\"%.2f\" d=\"",
			     sn_picture_process_colour(p, 2), clamp(grid->step * 0.05, 0.6, 2.4));
		for (uint32_t node = 0; node < picture->node_count; node++) {
			const uint32_t *cut = sn_picture_cut(picture, node);

			if (sn_lattice_graph_arcs(picture->graph, node)[p] == SN_NODE_NONE)
				continue;
			sn_text_addf(svg, "M%.1f %.1f%c%.1f", grid_x(grid, cut[0]),
				     grid_y(grid, cut[1]), p ? 'v' : 'h',
				     p ? -grid->step : grid->step);
		}
		sn_text_add(svg, "\"/>\n");
	}
}

static size_t longest_name(const struct sn_picture *picture, uint32_t process, size_t columns)
{
	const struct sn_execution *execution = picture->answer->execution;
	struct sn_text name = { 0 };
	size_t longest = 0;

	for (uint32_t c = 1; c <= execution->observed.counts[process]; c++) {
		size_t length;

		sn_text_clear(&name);
		sn_picture_add_name(&name, execution, process, c, columns);
		length = name.chars ? sn_utf8_columns(name.chars) : 0;
		longest = length > longest ? length : longest;
	}
	sn_text_free(&name);
	return longest;
}

double sn_picture_draw_grid(struct sn_text *svg, const struct sn_picture *picture, double *width)
{
	const uint32_t *counts = picture->answer->execution->observed.counts;
	uint32_t longer = counts[0] > counts[1] ? counts[0] : counts[1];
	struct grid grid = { .picture = picture, .columns = counts[0], .rows = counts[1] };
	size_t columns;
	double below, right;

	grid.step = clamp(900.0 / (longer + 1), 6, 64);
	columns = grid.step >= 22 ? 26 : 0; /* no room for names otherwise */
	grid.left = 40 + 6.2 * (double)longest_name(picture, 1, columns);
	below = columns ? 24 + 3.5 * (double)longest_name(picture, 0, columns) : 30;
	/* The first slanted name reaches to the left of its column. */
	grid.left =
		fmax(grid.left, 5.4 * (double)(columns ? longest_name(picture, 0, columns) : 0) -
					grid.step / 2 + 10);
	grid.top = 32;
	if (grid.step > 12)
		add_forbidden(svg, &grid);
	add_grid_arcs(svg, &grid);
	for (uint32_t node = 0; node < picture->node_count; node++)
		add_node(svg, picture, node, grid_x(&grid, sn_picture_cut(picture, node)[0]),
			 grid_y(&grid, sn_picture_cut(picture, node)[1]),
			 clamp(grid.step * 0.13, 1.6, 7.5));
	add_axes(svg, &grid, columns);
	sn_picture_add_label(svg, grid_x(&grid, grid.columns) + 14, grid_y(&grid, 0) + 4,
			     "fill=\"#0072b2\" font-weight=\"600\"", "process 0 →");
	sn_picture_add_label(svg, grid.left - 10, grid.top - 20,
			     "fill=\"#d55e00\" font-weight=\"600\"", "↑ process 1");
	right = grid_x(&grid, grid.columns) + 100;
	*width = fmax(*width, right);
	add_legend(svg, picture->answer->profile.active_count, 0, grid_y(&grid, 0) + below + 26);
	return grid_y(&grid, 0) + below + 32;
}

/* ---- More processes: by level --------------------------------------------------------------- */

struct placed {
	uint32_t node, level;
	double key; /* a direction for each process */
};

static int by_level(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Cuts in the order in which they are stacked: parallel arcs of a process keep one direction. */
static struct placed *place_nodes(const struct sn_picture *picture, uint32_t *widest)
{
	struct placed *placed = sn_alloc_zeroed(picture->node_count, sizeof(*placed));
	uint32_t run = 0;

	for (uint32_t node = 0; node < picture->node_count; node++) {
		placed[node].node = node;
		placed[node].level = picture->levels[node];
		for (uint32_t p = 0; p < picture->process_count; p++)
			placed[node].key += sn_picture_cut(picture, node)[p] *
					    (p - (picture->process_count - 1) / 2.0);
	}
	qsort(placed, picture->node_count, sizeof(*placed), by_level);
	*widest = 1;
	for (uint32_t i = 0; i < picture->node_count; i++) {
		run = i && placed[i].level == placed[i - 1].level ? run + 1 : 1;
		*widest = run > *widest ? run : *widest;
	}
	return placed;
}

struct level_layout {
	const struct sn_picture *picture;
	double step_x, step_y, middle, radius;
	double *x, *y; /* by node */
};

static void spread(struct level_layout *layout, const struct placed *placed)
{
	uint32_t count = layout->picture->node_count;

	for (uint32_t first = 0, last; first < count; first = last) {
		for (last = first; last < count && placed[last].level == placed[first].level;)
			last++;
		for (uint32_t i = first; i < last; i++) {
			layout->x[placed[i].node] = 14 + layout->step_x * placed[i].level;
			layout->y[placed[i].node] =
				layout->middle -
				layout->step_y * (i - first - (last - first - 1) / 2.0);
		}
	}
}

static void add_level_arcs(struct sn_text *svg, const struct level_layout *layout)
{
	const struct sn_picture *picture = layout->picture;
	double opacity = picture->node_count > 1500 ? 0.28 : picture->node_count > 300 ? 0.45 : 0.7;

	for (uint32_t p = 0; p < picture->process_count; p++) {
		sn_text_addf(svg,
			     "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"%.2f\" "
			     "stroke-width=\"%.2f\" d=\"",
			     sn_picture_process_colour(p, picture->process_count), opacity,
			     clamp(layout->radius * 0.35, 0.5, 1.8));
		for (uint32_t node = 0; node < picture->node_count; node++) {
			uint32_t above = sn_lattice_graph_arcs(picture->graph, node)[p];

			if (above != SN_NODE_NONE)
				sn_text_addf(svg, "M%.1f %.1fL%.1f %.1f", layout->x[node],
					     layout->y[node], layout->x[above], layout->y[above]);
		}
		sn_text_add(svg, "\"/>\n");
	}
}

/* Below the graph: the mean out-degree of each level, on the same x. */
static double add_strip(struct sn_text *svg, const struct level_layout *layout, double top)
{
	const struct sn_lattice_profile *profile = &layout->picture->answer->profile;
	double height = 64, bar = fmax(layout->step_x * 0.72, 1);
	char number[32];

	sn_picture_add_label(svg, 0, top + 4, "fill=\"#5a6675\"",
			     "mean events possible next, by level");
	top += 16;
	for (uint32_t d = 0; d <= profile->active_count;
	     d += profile->active_count > 8 ? (profile->active_count + 3) / 4 : 1) {
		double y = top + height * (1 - (double)d / profile->active_count);

		sn_text_addf(
			svg,
			"<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e3e7ec\" stroke-width=\"1\"/>\n",
			14 - bar / 2, y, 14 + layout->step_x * profile->event_count + bar / 2);
		snprintf(number, sizeof(number), "%u", d);
		sn_picture_add_label(svg, 14 + layout->step_x * profile->event_count + bar / 2 + 6,
				     y + 4, "fill=\"#5a6675\" font-size=\"10\"", number);
	}
	for (uint32_t k = 0; k < profile->event_count; k++) {
		double mean = profile->level_mean[k], size = height * mean / profile->active_count;

		if (!isnan(mean))
			sn_text_addf(svg,
				     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				     "fill=\"%s\"><title>level %u: %.3g</title></rect>\n",
				     14 + layout->step_x * k - bar / 2, top + height - size, bar,
				     size, sn_picture_colour(mean, profile->active_count), k, mean);
	}
	return top + height;
}

double sn_picture_draw_levels(struct sn_text *svg, const struct sn_picture *picture, double *width)
{
	uint32_t widest, levels = picture->answer->profile.event_count;
	struct placed *placed = place_nodes(picture, &widest);
	struct level_layout layout = { .picture = picture };
	double bottom;

	layout.step_x = clamp(1120.0 / (levels + 1), 10, 60);
	layout.step_y = clamp(620.0 / widest, 3, 30);
	layout.middle = 10 + layout.step_y * (widest - 1) / 2.0;
	layout.radius = clamp(fmin(layout.step_x, layout.step_y) * 0.3, 1.2, 6);
	layout.x = sn_alloc_zeroed(picture->node_count, sizeof(double));
	layout.y = sn_alloc_zeroed(picture->node_count, sizeof(double));
	spread(&layout, placed);
	add_level_arcs(svg, &layout);
	for (uint32_t node = 0; node < picture->node_count; node++)
		add_node(svg, picture, node, layout.x[node], layout.y[node], layout.radius);
	bottom = add_strip(svg, &layout, 10 + layout.step_y * (widest - 1) + 36);
	*width = fmax(*width, 14 + layout.step_x * levels + 50);
	add_legend(svg, picture->answer->profile.active_count, 0, bottom + 34);
	add_process_legend(svg, picture->process_count, 0, bottom + 56);
	free(placed);
	free(layout.x);
	free(layout.y);
	return bottom + 62;
}
