/**
 * The views: every table that `sonde show` prints and that reports repeat, as rows of typed cells.
 *
 * Keys follow CONTRACTS.md and docs/manual/views.md. A view has more columns than are shown unless
 * asked for: `data_columns` is what CSV and JSON have by default, `text_columns` what people see.
 */
#ifndef SN_VIEWS_VIEW_H
#define SN_VIEWS_VIEW_H

#include "base/table.h"
#include "profile/profile.h"
#include "profile/structures.h"

struct sn_view_input {
	const struct sn_profile *profile;
	enum sn_time_kind time;
	struct sn_structures *structures; /* for source and asm; may be NULL elsewhere */
	const char *subject;		  /* the function, loop or file asked for; NULL: none */
	bool all_paths;			  /* trees: no pruning */
	bool by_call_line;		  /* trees */
	bool with_runtime_loops;
	bool is_utf8;	  /* marks may be other than ASCII */
	size_t row_limit; /* samples: rows wanted, 0: all */
	size_t *cursor;	  /* samples: where to begin, moved on to where the rows end; NULL: all */
};

struct sn_view {
	const char *name;    /* "functions" */
	const char *schema;  /* "sonde.functions/1" */
	const char *summary; /* one line for help */
	const struct sn_column *columns;
	size_t column_count;
	const char *data_columns; /* NULL: all */
	const char *text_columns; /* NULL: those with a title */
	const char *wall_columns; /* text with --wall; NULL: no wall form */
	const char *sort;	  /* NULL: as filled */
	const char *share_column; /* for the footer */
	bool names_are_indented;  /* `name` is made for people, too (sn_view_is_composed) */
	sn_status (*fill)(const struct sn_view_input *input, struct sn_table *table,
			  struct sn_error *err);
	/* why an unfiltered run has no row, as a sentence; NULL: it always has one */
	const char *(*why_empty)(const struct sn_profile *profile);
};

/** All views, ended by a NULL name. */
extern const struct sn_view *const sn_views[];
const struct sn_view *sn_view_find(const char *name);

/** Whether a column is made for people of columns that CSV and JSON have: a mark, a bar,
 * "file:line", "low-high", an indented name. All others that text shows are data. */
bool sn_view_is_composed(const struct sn_view *view, const char *key);
/** What CSV and JSON have unless asked otherwise, as "a,b,c" that the caller frees: the data
 * columns and, with wall time, those of wall time too. NULL: all columns. */
char *sn_view_data_columns(const struct sn_view *view, enum sn_time_kind time);

/** A list of columns as asked for, headings of the view's text replaced by their keys ("-" before
 * one stays). What is neither stays as it is. The caller frees. */
char *sn_view_columns_of(const struct sn_view *view, const char *asked);

/** The function meant by a name: the whole name, the linkage name, a unique part of it, else the
 *  hottest that the text is part of. SN_ERR_NOT_FOUND otherwise. */
sn_status sn_view_function(const struct sn_profile *profile, const char *name, uint32_t *out,
			   struct sn_error *err);
/** The loop meant by an id, a unique prefix of one, "file:line", a label, or "#N" (rank in the
 * loops table, from 1). SN_ERR_NOT_FOUND; SN_ERR_USAGE if it is not unique. */
sn_status sn_view_loop(const struct sn_profile *profile, const char *name, bool with_runtime_loops,
		       uint32_t *out, struct sn_error *err);

#endif
