/*
 * Lays out the parts of a picture below each other: title, lattice, levels, course of time, for
 * one execution or several.
 */
#include "pandore/lattice/draw.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/picture.h"

static const double MARGIN = 24, HEADER = 58, GAP = 34;

static void add_integer(struct sn_text *text, const uint64_t *number, unsigned limbs)
{
	double log10 = sn_limbs_log10(number, limbs);

	if (log10 > 15)
		sn_text_addf(text, "%.2f·10^%.0f", pow(10, log10 - floor(log10)), floor(log10));
	else
		sn_limbs_add_decimal(text, number, limbs);
}

/* Title, and one line of totals. */
static void add_header(struct sn_text *svg, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	const struct sn_interval_counts *counts =
		profile->windows.count ? &profile->windows.items[0].counts : NULL;
	struct sn_text line = { 0 };

	sn_text_add(&line, "Lattice of executions");
	if (answer->name)
		sn_text_addf(&line, ": %s", sn_base_name(answer->name));
	sn_picture_add_label(svg, 0, 18, "font-size=\"17\" font-weight=\"600\" fill=\"#1d2733\"",
			     line.chars);
	sn_text_clear(&line);
	sn_text_addf(&line, "%u processes, %u events", profile->process_count,
		     profile->event_count);
	if (sn_lattice_answer_is_exact(answer)) {
		assert(counts);
		sn_text_add(&line, " · ");
		add_integer(&line, counts->cuts, counts->limbs);
		sn_text_add(&line, " cuts, ");
		add_integer(&line, counts->arcs, counts->limbs);
		sn_text_addf(&line, " arcs · mean out-degree %.2f",
			     sn_lattice_window_mean(&profile->windows.items[0]));
	} else if (answer->fault) {
		sn_text_add(&line, " · only the part of the trace that holds together");
	} else {
		sn_text_addf(&line, " · not counted whole: %zu windows", profile->windows.count);
	}
	sn_picture_add_label(svg, 0, 39, "font-size=\"13\" fill=\"#5a6675\"", line.chars);
	sn_text_free(&line);
}

static double draw_one(struct sn_text *svg, const struct sn_lattice_answer *answer,
		       uint32_t exact_cuts, double *width)
{
	struct sn_picture picture;
	double height;

	if (!sn_picture_make(&picture, answer, exact_cuts))
		return sn_picture_draw_silhouette(svg, answer, width);
	height = answer->profile.process_count == 2 ? sn_picture_draw_grid(svg, &picture, width)
						    : sn_picture_draw_levels(svg, &picture, width);
	sn_picture_free(&picture);
	return height;
}

void sn_lattice_draw_svg(const struct sn_lattice_answer *answers, size_t count, uint32_t exact_cuts,
			 FILE *out)
{
	struct sn_text body = { 0 };
	double y = MARGIN, width = 560, height, below;

	for (size_t i = 0; i < count; i++) {
		sn_text_addf(&body, "<g transform=\"translate(%.0f %.1f)\">\n", MARGIN, y);
		add_header(&body, &answers[i]);
		sn_text_addf(&body, "<g transform=\"translate(0 %.0f)\">\n", HEADER);
		height = draw_one(&body, &answers[i], exact_cuts, &width);
		sn_text_addf(&body, "</g>\n<g transform=\"translate(0 %.0f)\">\n",
			     HEADER + height + GAP);
		below = sn_picture_draw_time(&body, &answers[i], &width);
		y += HEADER + height + (below > 0 ? GAP + below : 0) + GAP;
		sn_text_add(&body, "</g>\n</g>\n");
	}
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
		"font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		width + 2 * MARGIN, y - GAP + MARGIN, width + 2 * MARGIN, y - GAP + MARGIN);
	if (body.chars)
		fputs(body.chars, out);
	fputs("</svg>\n", out);
	sn_text_free(&body);
}
