/**
 * Loops' static quality as rows of the shared table: every figure has a key, and keys come in
 * groups.
 */
#ifndef SN_CQA_TABLE_H
#define SN_CQA_TABLE_H

#include "base/table.h"
#include "base/text.h"
#include "cqa/words/advice.h"

/** All columns (docs/manual/cqa.md). */
extern const struct sn_column sn_cqa_columns[];
extern const size_t sn_cqa_column_count;
/** The group of a column: "identity", "cycles", "vector", ... */
const char *sn_cqa_column_group(size_t column);
/** Adds what a column means, in words; false if nothing is known of it. */
bool sn_cqa_column_explain(size_t column, struct sn_text *out);
/** The columns that CSV and JSON have by default, joined by commas. */
extern const char sn_cqa_default_columns[];

/** `asked` with names of groups and "all" replaced by their keys, in `out`. A word that is neither
 * stays as it is, and sn_table_write judges it. */
void sn_cqa_columns_expand(const char *asked, struct sn_text *out);

void sn_cqa_table_init(struct sn_table *table);
/** Adds a row for a loop. `member` is the archive's member, or NULL. Costly columns (advice, units)
 * are filled if `columns`, joined by commas, has one of their group; NULL: all. */
void sn_cqa_table_add(struct sn_table *table, const struct sn_machine *machine,
		      struct sn_cqa_loop *result, const char *member, const char *columns);
/** Sets the cells of the last row from column `first` on, in a wider table that holds these
 * columns. `advice` is advice that was made already, or NULL. */
void sn_cqa_row_set(struct sn_table *table, size_t first, const struct sn_machine *machine,
		    struct sn_cqa_loop *result, const char *member, const sn_advice_list *advice,
		    const char *columns);

/** "P0 1.00\nP1 0.50\n": busy cycles of the units in a pass over a block. */
void sn_cqa_units_text(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_text *out);

#endif
