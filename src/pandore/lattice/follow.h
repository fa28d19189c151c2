/**
 * The lattice of a program that is still running: exact counts of what has happened so far.
 *
 * Events are given in the order in which they are heard of. An event counts as soon as its whole
 * past has been heard of. Events that are not observed are projected away at once, by clocks of
 * observed events. The graph grows with the events (online.h) up to `node_limit` cuts. Above, each
 * look counts the prefix without visiting its cuts (profile.h), within its budget.
 */
#ifndef SN_LATTICE_FOLLOW_H
#define SN_LATTICE_FOLLOW_H

#include "base/text.h"
#include "pandore/lattice/execution.h"
#include "pandore/lattice/profile.h"

struct sn_follow;

struct sn_follow *sn_follow_new(uint32_t node_limit);
void sn_follow_free(struct sn_follow *follow);

/** Says how many processes there will be. Without it, counting begins again whenever a new one
 * appears. */
void sn_follow_expect(struct sn_follow *follow, uint32_t process_count);

/** An event that has happened. A second one of the same name, or one that names a process or an
 * index beyond what a trace may have, is passed over (the reader speaks of faults). */
void sn_follow_add(struct sn_follow *follow, const struct sn_lattice_event *event);

struct sn_follow_view {
	uint32_t processes;
	uint32_t events, observed; /* with all their past */
	uint32_t pending;	   /* whose past has not all been heard of */
	bool has_given_up;	   /* clocks would need over 2 GB: later events are not counted */
	bool is_exact;		   /* the three below are known */
	struct sn_text cuts, arcs; /* decimal; freed by sn_follow_view_free */
	double mean_out_degree;	   /* arcs / (cuts - 1); NaN for one cut */
	uint32_t frontier;	   /* processes that have events */
};

/** The lattice of what has happened so far. Takes no longer than the budget. */
void sn_follow_look(struct sn_follow *follow, const struct sn_lattice_budget *budget,
		    struct sn_follow_view *out);
void sn_follow_view_free(struct sn_follow_view *view);

#endif
