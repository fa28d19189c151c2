/* Communication graphs as DOT and SVG. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pandore/profiler/comm.h"

static void value_text(double v, enum sn_comm_value value, char *out, size_t bytes)
{
	if (value == SN_COMM_WAIT)
		snprintf(out, bytes, "%.3g %s",
			 v < 1e-3 ? v * 1e6
			 : v < 1  ? v * 1e3
				  : v,
			 v < 1e-3 ? "us"
			 : v < 1  ? "ms"
				  : "s");
	else
		snprintf(out, bytes, "%.0f", v);
}

static double largest_value(const struct sn_comm_graph *g, enum sn_comm_value value)
{
	double largest = 0;

	for (size_t i = 0; i < g->arcs.count; i++)
		largest = fmax(largest, sn_comm_arc_value(&g->arcs.items[i], value));
	return largest;
}

static void dot_string(FILE *out, const char *chars)
{
	fputc('"', out);
	for (; *chars; chars++)
		fprintf(out, *chars == '"' || *chars == '\\' ? "\\%c" : "%c", *chars);
	fputc('"', out);
}

static void write_digraph(const struct sn_comm_graph *g, enum sn_comm_value value, double largest,
			  FILE *out)
{
	fprintf(out, "digraph comm {\n\tlabel=");
	dot_string(out, g->title);
	fprintf(out, ";\n\tnode [shape=box];\n");
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];
		double v = sn_comm_arc_value(arc, value);
		char label[64];

		value_text(v, value, label, sizeof(label));
		fprintf(out, "\t");
		dot_string(out, arc->source);
		fprintf(out, " -> ");
		dot_string(out, arc->target);
		fprintf(out, " [label=\"%s\", penwidth=%.2f%s];\n", label,
			largest > 0 ? 0.5 + 3.5 * v / largest : 0.5,
			arc->is_broadcast ? ", style=dashed" : "");
	}
	fprintf(out, "}\n");
}

void sn_comm_write_dot(const struct sn_comm_graph *graphs, size_t count, enum sn_comm_value value,
		       FILE *out)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, largest_value(&graphs[i], value));
	for (size_t i = 0; i < count; i++)
		write_digraph(&graphs[i], value, largest, out);
}

/* ---- SVG: a row of boxes for each variable, a column for each node ---- */

enum {
	BOX_WIDTH = 44,
	BOX_HEIGHT = 26,
	COLUMN_STEP = 92,
	ROW_STEP = 120,
	MARGIN = 40,
	TITLE_HEIGHT = 30,
	CAPTION_HEIGHT = 34,
	ROWS_MAX = 32,
	ARCS_LABELLED_MAX = 16,
};

struct layout {
	const char *rows[ROWS_MAX];
	int row_count, columns;
	double left, top; /* of this panel */
};

static int row_of(struct layout *l, const char *variable)
{
	for (int i = 0; i < l->row_count; i++)
		if (!strcmp(l->rows[i], variable))
			return i;
	if (l->row_count < ROWS_MAX)
		l->rows[l->row_count++] = variable;
	return l->row_count - 1;
}

/* Targets above sources, as the paper draws V over A. */
static struct layout layout_of(const struct sn_comm_graph *g)
{
	struct layout l = { .columns = 1 };

	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];

		if (strcmp(arc->target_variable, arc->source_variable))
			row_of(&l, arc->target_variable);
	}
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];

		row_of(&l, arc->source_variable);
		row_of(&l, arc->target_variable);
		l.columns = arc->from >= l.columns ? arc->from + 1 : l.columns;
		l.columns = arc->to >= l.columns ? arc->to + 1 : l.columns;
	}
	return l;
}

static double width_of(const struct layout *l)
{
	return 2 * MARGIN + (l->columns - 1) * COLUMN_STEP + BOX_WIDTH;
}

static double height_of(const struct layout *l)
{
	int rows = l->row_count ? l->row_count : 1;

	return TITLE_HEIGHT + 2 * MARGIN + (rows - 1) * ROW_STEP + BOX_HEIGHT + CAPTION_HEIGHT;
}

static double box_x(const struct layout *l, int column)
{
	return l->left + MARGIN + (column < 0 ? (l->columns - 1) / 2.0 : column) * COLUMN_STEP +
	       BOX_WIDTH / 2.0;
}

static double box_y(const struct layout *l, int row)
{
	return l->top + TITLE_HEIGHT + MARGIN + row * ROW_STEP + BOX_HEIGHT / 2.0;
}

static void svg_text(FILE *out, double x, double y, int size, const char *chars)
{
	struct sn_text text = { 0 };

	sn_text_add_html(&text, chars);
	fprintf(out,
		"<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"middle\">%s</text>\n",
		x, y, size, text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void draw_box(FILE *out, const struct layout *l, int row, int column, const char *name)
{
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#f4f4f0\" "
		"stroke=\"#444\"/>\n",
		box_x(l, column) - BOX_WIDTH / 2.0, box_y(l, row) - BOX_HEIGHT / 2.0, BOX_WIDTH,
		BOX_HEIGHT);
	svg_text(out, box_x(l, column), box_y(l, row) + 4, 13, name);
}

/* Arcs within a row bend: to the right above the boxes, to the left below them. */
static void draw_arc(FILE *out, const struct layout *l, const struct sn_comm_arc *arc, int from_row,
		     int to_row, double share, const char *label)
{
	double x0 = box_x(l, arc->from), y0 = box_y(l, from_row);
	double x1 = box_x(l, arc->to), y1 = box_y(l, to_row), half = BOX_HEIGHT / 2.0;
	double bend = 0, mx, my;

	if (from_row == to_row) {
		double side = x1 > x0 ? -1 : 1;

		y0 += side * half;
		y1 += side * half;
		bend = side * (18 + 8 * fabs(x1 - x0) / COLUMN_STEP);
	} else {
		y0 += from_row > to_row ? -half : half;
		y1 += from_row > to_row ? half : -half;
	}
	mx = (x0 + x1) / 2;
	my = (y0 + y1) / 2 + bend;
	fprintf(out,
		"<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"#2458a8\" "
		"stroke-width=\"%.2f\" stroke-opacity=\"0.8\" marker-end=\"url(#tip)\"/>\n",
		x0, y0, mx, my + bend * 0.2, x1, y1, 0.6 + 3.4 * share);
	if (label && from_row == to_row)
		svg_text(out, mx, my - (bend < 0 ? 3 : -10), 10, label);
	else if (label) { /* not in the middle, where lines cross; those of one source not side by
			     side */
		double at = 0.2 + 0.13 * (arc->to < 0 ? 0 : arc->to % 5);

		svg_text(out, x0 + (x1 - x0) * at, y0 + (y1 - y0) * at, 10, label);
	}
}

/* "128 messages on each of 6 arcs", if the arcs have few different values. */
static void describe(const struct sn_comm_graph *g, enum sn_comm_value value, char *out,
		     size_t bytes)
{
	size_t used = 0, shown = 0;

	out[0] = 0;
	if (!g->arcs.count) {
		snprintf(out, bytes, "no messages");
		return;
	}
	for (size_t i = 0; i < g->arcs.count && value == SN_COMM_MESSAGES; i++) {
		uint64_t v = g->arcs.items[i].messages;
		size_t same = 0, earlier = 0;

		for (size_t k = 0; k < g->arcs.count; k++) {
			same += g->arcs.items[k].messages == v;
			earlier += k < i && g->arcs.items[k].messages == v;
		}
		if (earlier || used >= bytes)
			continue;
		if (++shown > 3) {
			out[0] = 0;
			break;
		}
		used += (size_t)snprintf(out + used, bytes - used, "%s%llu on %zu arc%s",
					 used ? ", " : "messages: ", (unsigned long long)v, same,
					 same == 1 ? "" : "s");
	}
	if (!out[0]) {
		char largest[64];

		value_text(largest_value(g, value), value, largest, sizeof(largest));
		snprintf(out, bytes, "%s, widest arc: %s",
			 value == SN_COMM_WAIT ? "waiting time" : "messages", largest);
	}
}

static void draw_panel(FILE *out, const struct sn_comm_graph *g, struct layout *l,
		       enum sn_comm_value value, double widest)
{
	double largest = largest_value(g, value); /* of this graph: what is worth drawing */
	char text[256], label[64];
	bool is_said, has_room = g->arcs.count <= ARCS_LABELLED_MAX;

	describe(g, value, text, sizeof(text));
	is_said = sn_starts_with(text, "messages: "); /* the caption gives every value */
	svg_text(out, l->left + width_of(l) / 2, l->top + height_of(l) - 8, 12, text);
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];
		double v = sn_comm_arc_value(arc, value), share = largest > 0 ? v / largest : 0;

		if (share < 0.02)
			continue; /* invisible; the tables have it */
		value_text(v, value, label, sizeof(label));
		draw_arc(out, l, arc, row_of(l, arc->source_variable),
			 row_of(l, arc->target_variable), v / widest,
			 has_room && !is_said && share >= 0.1 ? label : NULL);
	}
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];

		draw_box(out, l, row_of(l, arc->source_variable), arc->from, arc->source);
		draw_box(out, l, row_of(l, arc->target_variable), arc->to, arc->target);
	}
}

void sn_comm_write_svg(const struct sn_comm_graph *graphs, size_t count, FILE *out)
{
	double width = 0, height = 0, left = 0, most_messages = 0, longest_wait = 0;

	for (size_t i = 0; i < count; i++) {
		struct layout l = layout_of(&graphs[i]);

		width += fmax(width_of(&l), 240);
		height = fmax(height, height_of(&l));
		most_messages = fmax(most_messages, largest_value(&graphs[i], SN_COMM_MESSAGES));
		longest_wait = fmax(longest_wait, largest_value(&graphs[i], SN_COMM_WAIT));
	}
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\">\n"
		"<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
		"markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
		"orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#2458a8\"/></marker></defs>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		width, 2 * height, width, 2 * height);
	for (size_t i = 0; i < count; i++) {
		struct layout l = layout_of(&graphs[i]);
		double column = fmax(width_of(&l), 240);

		l.left = left + (column - width_of(&l)) / 2;
		svg_text(out, left + column / 2, 20, 14, graphs[i].title);
		draw_panel(out, &graphs[i], &l, SN_COMM_MESSAGES, most_messages);
		l.top = height;
		draw_panel(out, &graphs[i], &l, SN_COMM_WAIT, longest_wait);
		left += column;
	}
	fprintf(out, "</svg>\n");
}
