/**
 * Windows over a part of a lattice that is over budget. Private to profile.c and windows.c.
 */
#ifndef SN_LATTICE_WINDOWS_H
#define SN_LATTICE_WINDOWS_H

#include "pandore/lattice/profile.h"

/** Appends a window to a profile; takes the counts. */
void sn_lattice_profile_add(struct sn_lattice_profile *profile, const uint32_t *from,
			    const uint32_t *to, bool is_whole, struct sn_interval_counts *counts);

/**
 * Appends windows between two cuts, as many as the time allows.
 *
 * A window is the lattice between "all events of depth <= t" and "all of depth <= t + d", where the
 * depth of an event is the longest chain that ends in it. d is the largest for which a count in the
 * middle stays small; windows overlap by half, or lie evenly spread with gaps if there is not time
 * for all of them.
 */
void sn_lattice_windows_add(struct sn_lattice_profile *profile,
			    const struct sn_lattice_order *order, const uint32_t *from,
			    const uint32_t *to, const struct sn_interval_limits *limits);

#endif
