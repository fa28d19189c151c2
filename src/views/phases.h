/**
 * The phases of a run as people and scripts read them.
 */
#ifndef SN_VIEWS_PHASES_H
#define SN_VIEWS_PHASES_H

#include <stdio.h>

#include "base/table.h"
#include "phases/phases.h"

/** The sites of all phases; as text with what they rest on; as JSON all of it (phases/write.c). Or
 * the table of intervals. */
sn_status sn_phases_show(const struct sn_phases *phases, bool by_interval,
			 struct sn_table_view *view, FILE *out, struct sn_error *err);
/** The phases of two runs side by side, "sonde.phase-pairs/1". */
sn_status sn_phases_show_pairs(const struct sn_phases *a, const struct sn_phases *b,
			       struct sn_table_view *view, FILE *out, struct sn_error *err);

#endif
