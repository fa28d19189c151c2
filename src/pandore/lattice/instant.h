/**
 * One instant of an execution as a picture: a line for each process, what it did last on the left of the instant, what
 * it does next on the right, and the messages between them. It shows the witness of a condition (property.h), and for a
 * receive that could have met another message the instant at which both are on their way.
 */
#ifndef SN_LATTICE_INSTANT_H
#define SN_LATTICE_INSTANT_H

#include <stdio.h>

#include "pandore/lattice/lattice.h"
#include "pandore/lattice/property.h"

struct sn_lattice_instant {
	const struct sn_execution *execution; /* borrowed */
	const char *title;		      /* borrowed */
	uint32_t *cut;			      /* events done, projected ones too, by process */
	bool *is_named;			      /* by process: of those that are drawn in any case */
	bool has_race;
	struct sn_lattice_race race;
};

/** The least instant in which the witness' points are done. `title` is the condition. */
void sn_lattice_instant_of_witness(const struct sn_execution *execution,
				   const struct sn_property *property, const uint32_t *witness,
				   const char *title, struct sn_lattice_instant *out);
/** Both messages are sent, and the receive has not ended. */
void sn_lattice_instant_of_race(const struct sn_execution *execution,
				const struct sn_lattice_race *race, const char *title,
				struct sn_lattice_instant *out);
/** The last one: of a run that did not come to its end, the calls that its processes stand in. */
void sn_lattice_instant_of_end(const struct sn_execution *execution, const char *title,
			       struct sn_lattice_instant *out);
void sn_lattice_instant_free(struct sn_lattice_instant *instant);

/** One picture (SVG). */
void sn_lattice_draw_instant(const struct sn_lattice_instant *instant, FILE *out);

/** Whether race number `i` looks like one before it: the same lines. Pictures and texts leave it out. */
bool sn_lattice_race_is_repeated(const struct sn_lattice_answer *answer, size_t i);

#endif
