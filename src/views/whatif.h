/**
 * What-if as a table of loops, as a page of text and as members of JSON.
 */
#ifndef SN_VIEWS_WHATIF_H
#define SN_VIEWS_WHATIF_H

#include <stdio.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "views/view.h"
#include "whatif/variants.h"
#include "whatif/whatif.h"

#define SN_WHATIF_SCHEMA	  "sonde.whatif/2"
#define SN_WHATIF_MEASURED_SCHEMA "sonde.whatif-measured/1"

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

/** What the columns of the program's speed-ups are called; NULL behind the last. */
extern const char *const sn_whatif_headings[];
/** The table as `how` says; as text the program's speed-ups by variant come first, cumulated over
 *  loops, with what they rest on. `how->columns` is NULL or borrowed, and NULL afterwards. */
sn_status sn_whatif_show(const struct sn_whatif *whatif, enum sn_variant variant, bool is_utf8,
			 struct sn_table_view *how, FILE *out, struct sn_error *err);
/** The program's gain by variant: a row each, keys as in `variants` of the JSON. The caller frees. */
void sn_whatif_totals_table(const struct sn_whatif *whatif, struct sn_table *out);
/** Members of an open object: the figures of the program alone, or with each variant's cumulative
 *  steps. */
void sn_whatif_write_totals(const struct sn_whatif *whatif, struct sn_json *json);
void sn_whatif_write_json(const struct sn_whatif *whatif, struct sn_json *json);

/** Whether `name` is a variant that is measured and has gains: "ls", "fp", "arith", "dl1", "pf". */
bool sn_whatif_measured_find(const char *name, enum sn_decan_variant *out);

/** The gains of one measured variant, most first, added up; schema SN_WHATIF_MEASURED_SCHEMA. Needs no model
 * of the processor. A run without such timings gives no rows, and a warning says why. */
sn_status sn_whatif_measured_show(const struct sn_view_input *input, enum sn_decan_variant variant,
				  struct sn_table_view *how, FILE *out, struct sn_error *err);

#endif
