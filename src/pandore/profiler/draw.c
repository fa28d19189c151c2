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
	BOX_HEIGHT = 26,
	GAP = 48, /* between boxes that stand beside each other */
	CHAR_WIDTH = 8,
	LABEL_CHAR_WIDTH = 6,
	LABEL_HEIGHT = 11,
	NAME_MOST = 28,
	ROW_STEP = 120,
	MARGIN = 40,
	TITLE_HEIGHT = 30,
	CAPTION_HEIGHT = 34,
	GRID_WIDTH = 1100,
	GRID_ROWS_MIN = 6,
	PANEL_WIDTH_MIN = 340,
	ARCS_LABELLED_MAX = 16,
};

struct covered {
	double x, y, width, height; /* around (x, y) */
};

struct layout {
	SN_VEC(const char *) rows;
	int columns;
	int per_line; /* rows that stand beside each other, as no node parts them; 1: each on its own line */
	double box_width, left, top;	/* of this panel */
	SN_VEC(struct covered) covered; /* what labels must not cover */
	double thinnest[SN_COMM_WAIT + 1];
};

/* What is thinner is invisible; the tables have it. */
static bool is_drawn(const struct layout *l, const struct sn_comm_arc *arc,
		     enum sn_comm_value value)
{
	double v = sn_comm_arc_value(arc, value);

	return v > 0 && v >= l->thinnest[value];
}

static bool has_boxes(const struct layout *l, const struct sn_comm_arc *arc)
{
	return is_drawn(l, arc, SN_COMM_MESSAGES) || is_drawn(l, arc, SN_COMM_WAIT);
}

static int row_of(struct layout *l, const char *variable)
{
	for (size_t i = 0; i < l->rows.count; i++)
		if (!strcmp(l->rows.items[i], variable))
			return (int)i;
	sn_vec_push(&l->rows, variable);
	return (int)l->rows.count - 1;
}

/* The end of a long name: that of a call path is the call. */
static const char *shown_name(const char *name, char *out, size_t bytes)
{
	size_t length = strlen(name);

	if (length <= NAME_MOST)
		return name;
	name += length - (NAME_MOST - 1);
	while ((*name & 0xC0) == 0x80) /* within a character of UTF-8 */
		name++;
	snprintf(out, bytes, "…%s", name);
	return out;
}

static void fit_name(struct layout *l, const char *name)
{
	size_t length = strlen(name);

	l->box_width = fmax(l->box_width,
			    (double)(length < NAME_MOST ? length : NAME_MOST) * CHAR_WIDTH + 12);
}

/* Targets above sources, as the paper draws V over A. */
static struct layout layout_of(const struct sn_comm_graph *g)
{
	struct layout l = { .columns = 1, .per_line = 1, .box_width = 44 };
	bool is_of_nodes = false, is_of_none = false;

	for (int value = 0; value <= SN_COMM_WAIT; value++)
		l.thinnest[value] = 0.02 * largest_value(g, (enum sn_comm_value)value);
	for (int is_second = 0; is_second < 2; is_second++)
		for (size_t i = 0; i < g->arcs.count; i++) {
			const struct sn_comm_arc *arc = &g->arcs.items[i];

			if (!has_boxes(&l, arc))
				continue;
			if (is_second || strcmp(arc->target_variable, arc->source_variable))
				row_of(&l, arc->target_variable);
			if (is_second)
				row_of(&l, arc->source_variable);
			is_of_nodes |= arc->from >= 0 || arc->to >= 0;
			is_of_none |= arc->from < 0 || arc->to < 0;
			l.columns = arc->from >= l.columns ? arc->from + 1 : l.columns;
			l.columns = arc->to >= l.columns ? arc->to + 1 : l.columns;
			fit_name(&l, arc->source);
			fit_name(&l, arc->target);
		}
	l.columns += is_of_nodes && is_of_none; /* beside the nodes */
	if (!is_of_nodes && l.rows.count >= GRID_ROWS_MIN)
		l.columns = l.per_line = (int)fmax(1, GRID_WIDTH / (l.box_width + GAP));
	return l;
}

static void layout_free(struct layout *l)
{
	sn_vec_free(&l->rows);
	sn_vec_free(&l->covered);
}

static double width_of(const struct layout *l)
{
	return 2 * MARGIN + (l->columns - 1) * (l->box_width + GAP) + l->box_width;
}

static double height_of(const struct layout *l)
{
	int rows = l->rows.count ? (int)l->rows.count : 1, lines = (rows - 1) / l->per_line + 1;

	return TITLE_HEIGHT + 2 * MARGIN + (lines - 1) * ROW_STEP + BOX_HEIGHT + CAPTION_HEIGHT;
}

static double box_x(const struct layout *l, int row, int column)
{
	int at = l->per_line > 1 ? row % l->per_line : column < 0 ? l->columns - 1 : column;

	return l->left + MARGIN + at * (l->box_width + GAP) + l->box_width / 2;
}

static double box_y(const struct layout *l, int row)
{
	int line = row / l->per_line;

	return l->top + TITLE_HEIGHT + MARGIN + line * ROW_STEP + BOX_HEIGHT / 2.0;
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
	char shown[4 * NAME_MOST + 8];

	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%d\" rx=\"4\" fill=\"#f4f4f0\" "
		"stroke=\"#444\"/>\n",
		box_x(l, row, column) - l->box_width / 2, box_y(l, row) - BOX_HEIGHT / 2.0,
		l->box_width, BOX_HEIGHT);
	svg_text(out, box_x(l, row, column), box_y(l, row) + 4, 13,
		 shown_name(name, shown, sizeof(shown)));
}

static bool is_free(const struct layout *l, struct covered place)
{
	for (size_t i = 0; i < l->covered.count; i++) {
		const struct covered *other = &l->covered.items[i];

		if (fabs(other->x - place.x) < (other->width + place.width) / 2 &&
		    fabs(other->y - place.y) < (other->height + place.height) / 2)
			return false;
	}
	return true;
}

/* A label at a share of the curve x0 y0, cx cy, x1 y1 at which it covers nothing; without one the tables
 * have it. */
static void draw_label(FILE *out, struct layout *l, const double curve[6], const char *label)
{
	static const double shares[] = { 0.5, 0.27, 0.4, 0.6, 0.73, 0.2, 0.8 };

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		double t = shares[i], rest = 1 - t;
		struct covered place = {
			rest * rest * curve[0] + 2 * t * rest * curve[2] + t * t * curve[4],
			rest * rest * curve[1] + 2 * t * rest * curve[3] + t * t * curve[5] - 3,
			(double)strlen(label) * LABEL_CHAR_WIDTH, LABEL_HEIGHT
		};

		if (!is_free(l, place))
			continue;
		sn_vec_push(&l->covered, place);
		svg_text(out, place.x, place.y, 10, label);
		return;
	}
}

static void draw_path(FILE *out, double share, const char *path)
{
	fprintf(out,
		"<path d=\"%s\" fill=\"none\" stroke=\"#2458a8\" stroke-width=\"%.2f\" "
		"stroke-opacity=\"0.8\" marker-end=\"url(#tip)\"/>\n",
		path, 0.6 + 3.4 * share);
}

/* Arcs within a row bend: to the right above the boxes, to the left below them. */
static void draw_arc(FILE *out, struct layout *l, const struct sn_comm_arc *arc, int from_row,
		     int to_row, double share, const char *label)
{
	double x0 = box_x(l, from_row, arc->from), y0 = box_y(l, from_row);
	double x1 = box_x(l, to_row, arc->to), y1 = box_y(l, to_row), half = BOX_HEIGHT / 2.0;
	double side = y0 == y1 ? (x1 > x0 ? -1 : 1) : (y0 > y1 ? -1 : 1), bend = 0;
	char path[256];

	if (x0 == x1 && y0 == y1) { /* within one box */
		double top[] = { x0, y0 - 46, x0, y0 - 46, x0, y0 - 46 };

		snprintf(path, sizeof(path), "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x0 - 10,
			 y0 - half, x0 - 26, y0 - 52, x0 + 26, y0 - 52, x0 + 10, y0 - half);
		draw_path(out, share, path);
		if (label)
			draw_label(out, l, top, label);
		return;
	}
	if (y0 == y1)
		bend = 1.2 * side * (18 + 8 * fabs(x1 - x0) / (l->box_width + GAP));
	y1 += bend != 0 ? side * half : -side * half;
	y0 += side * half;
	{
		double curve[] = { x0, y0, (x0 + x1) / 2, (y0 + y1) / 2 + bend, x1, y1 };

		snprintf(path, sizeof(path), "M%.1f %.1f Q%.1f %.1f %.1f %.1f", curve[0], curve[1],
			 curve[2], curve[3], curve[4], curve[5]);
		draw_path(out, share, path);
		if (label)
			draw_label(out, l, curve, label);
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

static void cover_box(struct layout *l, int row, int column)
{
	sn_vec_push(&l->covered, ((struct covered){ box_x(l, row, column), box_y(l, row),
						    l->box_width, BOX_HEIGHT }));
}

static void draw_panel(FILE *out, const struct sn_comm_graph *g, struct layout *l,
		       enum sn_comm_value value, double widest)
{
	double largest = largest_value(g, value); /* of this graph: what is worth drawing */
	char text[256], label[64];
	bool is_said, has_room = g->arcs.count <= ARCS_LABELLED_MAX;
	size_t left_out = 0;

	describe(g, value, text, sizeof(text));
	is_said = sn_starts_with(text, "messages: "); /* the caption gives every value */
	l->covered.count = 0;
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];

		if (!has_boxes(l, arc))
			continue;
		cover_box(l, row_of(l, arc->source_variable), arc->from);
		cover_box(l, row_of(l, arc->target_variable), arc->to);
	}
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];
		double v = sn_comm_arc_value(arc, value), share = largest > 0 ? v / largest : 0;

		if (!is_drawn(l, arc, value)) {
			left_out += v > 0;
			continue;
		}
		value_text(v, value, label, sizeof(label));
		draw_arc(out, l, arc, row_of(l, arc->source_variable),
			 row_of(l, arc->target_variable), v / widest,
			 has_room && !is_said && share >= 0.1 ? label : NULL);
	}
	for (size_t i = 0; i < g->arcs.count; i++) {
		const struct sn_comm_arc *arc = &g->arcs.items[i];

		if (!has_boxes(l, arc))
			continue;
		draw_box(out, l, row_of(l, arc->source_variable), arc->from, arc->source);
		draw_box(out, l, row_of(l, arc->target_variable), arc->to, arc->target);
	}
	if (left_out)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "; %zu thinner than 2 %% of it not drawn", left_out);
	svg_text(out, l->left + width_of(l) / 2, l->top + height_of(l) - 8, 12, text);
}

void sn_comm_write_svg(const struct sn_comm_graph *graphs, size_t count, FILE *out)
{
	double width = 0, height = 0, left = 0, most_messages = 0, longest_wait = 0;

	for (size_t i = 0; i < count; i++) {
		struct layout l = layout_of(&graphs[i]);

		width += fmax(width_of(&l), PANEL_WIDTH_MIN);
		height = fmax(height, height_of(&l));
		most_messages = fmax(most_messages, largest_value(&graphs[i], SN_COMM_MESSAGES));
		longest_wait = fmax(longest_wait, largest_value(&graphs[i], SN_COMM_WAIT));
		layout_free(&l);
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
		double column = fmax(width_of(&l), PANEL_WIDTH_MIN);

		l.left = left + (column - width_of(&l)) / 2;
		svg_text(out, left + column / 2, 20, 14, graphs[i].title);
		draw_panel(out, &graphs[i], &l, SN_COMM_MESSAGES, most_messages);
		l.top = height;
		draw_panel(out, &graphs[i], &l, SN_COMM_WAIT, longest_wait);
		left += column;
		layout_free(&l);
	}
	fprintf(out, "</svg>\n");
}
