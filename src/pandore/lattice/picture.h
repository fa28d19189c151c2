/**
 * What the drawings share: the cuts of a small lattice, colours, escaped text. Private to draw_*.c.
 */
#ifndef SN_LATTICE_PICTURE_H
#define SN_LATTICE_PICTURE_H

#include "base/text.h"
#include "pandore/lattice/lattice.h"
#include "pandore/lattice/online.h"

/** Every cut of a small lattice. */
struct sn_picture {
	const struct sn_lattice_answer *answer;
	struct sn_lattice_graph *graph;
	uint32_t node_count, process_count;
	const uint32_t *levels; /* of the nodes */
	uint32_t *cuts;		/* process_count numbers a node */
	uint32_t *degrees;
};

/** False, and nothing made, if the lattice has more than `limit` cuts. */
bool sn_picture_make(struct sn_picture *picture, const struct sn_lattice_answer *answer,
		     uint32_t limit);
void sn_picture_free(struct sn_picture *picture);

static inline const uint32_t *sn_picture_cut(const struct sn_picture *picture, uint32_t node)
{
	return picture->cuts + (size_t)node * picture->process_count;
}

/** "#rrggbb" for this many events possible next of `active`; borrowed, valid until the next call.
 */
const char *sn_picture_colour(double degree, uint32_t active);
/** A process' colour; grey beyond eight. */
const char *sn_picture_process_colour(uint32_t process, uint32_t process_count);

/** The name of event `done` (from 1) of a process: its label, or "p1:3"; at most `columns` columns,
 *  then an ellipsis. Not escaped. */
void sn_picture_add_name(struct sn_text *text, const struct sn_execution *execution,
			 uint32_t process, uint32_t done, size_t columns);

/** A text element. `style` is attributes, or "". */
void sn_picture_add_label(struct sn_text *svg, double x, double y, const char *style,
			  const char *chars);

enum { SN_PICTURE_NUMBERED_MAX = 12 };

/** Where numbers of bottlenecks stand already. Starts as { 0 }. */
struct sn_picture_numbers {
	double at[SN_PICTURE_NUMBERED_MAX];
	int count;
};

/** The number of a bottleneck; nothing where one stands already that it would cover. */
void sn_picture_add_number(struct sn_text *svg, struct sn_picture_numbers *numbers, double x,
			   double y, size_t number);

/** A line of a grid with its number before it, right-aligned. */
void sn_picture_add_rule(struct sn_text *svg, double left, double y, double width, uint32_t number);

/* One picture each at the origin; they return its height and raise `*width`. */
double sn_picture_draw_grid(struct sn_text *svg, const struct sn_picture *picture, double *width);
double sn_picture_draw_levels(struct sn_text *svg, const struct sn_picture *picture, double *width);
/** Busy processes over the time of the schedule; height 0, nothing drawn, without durations. */
double sn_picture_draw_time(struct sn_text *svg, const struct sn_lattice_answer *answer,
			    double *width);
double sn_picture_draw_silhouette(struct sn_text *svg, const struct sn_lattice_answer *answer,
				  double *width);

#endif
