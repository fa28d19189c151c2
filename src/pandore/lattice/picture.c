/*
 * The cuts of a small lattice with their arcs, and the colours and escapes that all drawings use.
 */
#include "pandore/lattice/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/integer.h"

static void fill_cuts(struct sn_picture *picture)
{
	uint32_t processes = picture->process_count;

	for (uint32_t node = 0; node < picture->node_count; node++)
		for (uint32_t p = 0; p < processes; p++) {
			uint32_t above = sn_lattice_graph_arcs(picture->graph, node)[p];

			if (above == SN_NODE_NONE)
				continue;
			picture->degrees[node]++;
			memcpy(picture->cuts + (size_t)above * processes,
			       sn_picture_cut(picture, node), processes * sizeof(uint32_t));
			picture->cuts[(size_t)above * processes + p]++;
		}
}

bool sn_picture_make(struct sn_picture *picture, const struct sn_lattice_answer *answer,
		     uint32_t limit)
{
	const struct sn_interval_counts *counts;
	uint32_t processes = answer->profile.process_count;

	*picture = (struct sn_picture){ .answer = answer, .process_count = processes };
	if (!answer->profile.is_exact || processes == 0)
		return false;
	counts = &answer->profile.windows.items[0].counts;
	if (sn_limbs_log10(counts->cuts, counts->limbs) > log10(limit) + 1e-9)
		return false;
	picture->graph = sn_lattice_graph_new(processes, limit);
	if (sn_lattice_graph_add_order(picture->graph, &answer->execution->observed, NULL) !=
	    SN_OK) {
		sn_picture_free(picture);
		return false;
	}
	picture->node_count = sn_lattice_graph_node_count(picture->graph);
	picture->cuts = sn_alloc_zeroed((size_t)picture->node_count * processes, sizeof(uint32_t));
	picture->degrees = sn_alloc_zeroed(picture->node_count, sizeof(uint32_t));
	picture->levels = sn_lattice_graph_levels(picture->graph);
	fill_cuts(picture);
	return true;
}

void sn_picture_free(struct sn_picture *picture)
{
	sn_lattice_graph_free(picture->graph);
	free(picture->cuts);
	free(picture->degrees);
	*picture = (struct sn_picture){ 0 };
}

struct rgb {
	int r, g, b;
};

static int between(int from, int to, double share)
{
	return from + (int)((to - from) * share + 0.5);
}

const char *sn_picture_colour(double degree, uint32_t active)
{
	static const struct rgb STOPS[] = { { 176, 58, 36 },
					    { 226, 140, 60 },
					    { 240, 205, 120 },
					    { 120, 180, 165 },
					    { 30, 112, 122 } };
	static char colour[8];
	double share = active > 1 ? (degree - 1) / (active - 1) : 0, place;
	int stop;

	if (degree < 1e-9)
		return "#333333"; /* the end: nothing is left to do */
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	place = share * 4;
	stop = place >= 4 ? 3 : (int)place;
	place -= stop;
	snprintf(colour, sizeof(colour), "#%02x%02x%02x",
		 (unsigned)between(STOPS[stop].r, STOPS[stop + 1].r, place) & 255u,
		 (unsigned)between(STOPS[stop].g, STOPS[stop + 1].g, place) & 255u,
		 (unsigned)between(STOPS[stop].b, STOPS[stop + 1].b, place) & 255u);
	return colour;
}

const char *sn_picture_process_colour(uint32_t process, uint32_t process_count)
{
	/* Told apart by colour-blind readers too (Okabe and Ito 2008). */
	static const char *const COLOURS[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
					       "#56b4e9", "#e69f00", "#999933", "#555555" };

	return process_count <= 8 ? COLOURS[process % 8] : "#8a8f98";
}

void sn_picture_add_name(struct sn_text *text, const struct sn_execution *execution,
			 uint32_t process, uint32_t done, size_t columns)
{
	const struct sn_execution_event *event = sn_execution_observed(execution, process, done);
	const char *next = event->label;
	size_t used = 0;

	if (!event->label) {
		sn_text_addf(text, "p%u:%u", event->process, event->index);
		return;
	}
	while (*next) {
		size_t length = sn_utf8_length(next, strlen(next));

		if (used++ == columns) {
			sn_text_add(text, "…");
			return;
		}
		sn_text_add_bytes(text, length ? next : "?", length ? length : 1);
		next += length ? length : 1;
	}
}

void sn_picture_add_label(struct sn_text *svg, double x, double y, const char *style,
			  const char *chars)
{
	sn_text_addf(svg, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
	sn_text_add_html(svg, chars);
	sn_text_add(svg, "</text>\n");
}

void sn_picture_add_number(struct sn_text *svg, struct sn_picture_numbers *numbers, double x,
			   double y, size_t number)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%zu", number);

	if (numbers->count == SN_PICTURE_NUMBERED_MAX)
		return;
	for (int i = 0; i < numbers->count; i++)
		if (fabs(numbers->at[i] - x) < 8 * length + 4)
			return;
	numbers->at[numbers->count++] = x;
	sn_picture_add_label(svg, x, y, "text-anchor=\"middle\" fill=\"#b03a24\" font-size=\"11\"",
			     digits);
}

void sn_picture_add_rule(struct sn_text *svg, double left, double y, double width, uint32_t number)
{
	char digits[16];

	sn_text_addf(svg, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"#e3e7ec\"/>\n", left, y, width);
	snprintf(digits, sizeof(digits), "%u", number);
	sn_picture_add_label(svg, left - 8, y + 4,
			     "text-anchor=\"end\" fill=\"#5a6675\" font-size=\"11\"", digits);
}
