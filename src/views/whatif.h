/**
 * What-if as a table of loops, as a page of text and as members of JSON.
 */
#ifndef SN_VIEWS_WHATIF_H
#define SN_VIEWS_WHATIF_H

#include <stdio.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "whatif/whatif.h"

#define SN_WHATIF_SCHEMA "sonde.whatif/2"

/** Finds the variant that the table is ordered by: the one of this name (SN_ERR_USAGE if there is
 * none). For NULL it is the full vector, or the next bottleneck where vectors would gain hardly
 * anything. */
sn_status sn_whatif_variant_find(const struct sn_whatif *whatif, const char *name,
				 enum sn_variant *out, struct sn_error *err);

/** A row a loop, most gain by `variant` first, then the rest by heat (SN_VARIANT_COUNT: all by
 *  heat); schema SN_WHATIF_SCHEMA. Keys
 *  are in docs/manual/cqa.md. Costly ones are filled if `columns` has them (cqa/words/table.h). */
void sn_whatif_table(const struct sn_whatif *whatif, enum sn_variant variant, bool is_utf8,
		     const char *columns, struct sn_table *out);
/** The columns that people see of it, and those that CSV and JSON have by default; in `out`. */
void sn_whatif_columns(enum sn_variant variant, enum sn_format format, struct sn_text *out);

/** The table as `how` says; as text the program's speed-ups by variant come first, cumulated over
 *  loops, with what they rest on. `how->columns` is NULL or borrowed, and NULL afterwards. */
sn_status sn_whatif_show(const struct sn_whatif *whatif, enum sn_variant variant, bool is_utf8,
			 struct sn_table_view *how, FILE *out, struct sn_error *err);
/** Members of an open object: the figures of the program alone, or with each variant's cumulative
 *  steps. */
void sn_whatif_write_totals(const struct sn_whatif *whatif, struct sn_json *json);
void sn_whatif_write_json(const struct sn_whatif *whatif, struct sn_json *json);

#endif
