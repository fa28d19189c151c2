/**
 * The views: every table and page that `sonde show` prints and that reports repeat.
 *
 * Keys are those of docs/manual/views.md. A view has more columns than are shown unless
 * asked for: `data_columns` is what CSV and JSON have by default, `text_columns` what people see.
 */
#ifndef SN_VIEWS_VIEW_H
#define SN_VIEWS_VIEW_H

#include "base/table.h"
#include "base/text.h"
#include "heap/heap.h"
#include "io/io.h"
#include "locks/locks.h"
#include "machine/choice.h"
#include "mpi/mpi.h"
#include "openmp/openmp.h"
#include "profile/profile.h"
#include "profile/structures.h"
#include "views/explain.h"

struct sn_replay;
struct sn_sim_config;
struct sn_whatif;

struct sn_view_input {
	const struct sn_profile *profile;
	/* --metric: `profile` is that of an event, and counts it (profile/event_profile.h); NULL: of time */
	const struct sn_event *event;
	enum sn_time_kind time;
	struct sn_structures *structures;	 /* for source and asm; may be NULL elsewhere */
	const struct sn_machine_choice *machine; /* for pages; may be NULL for tables */
	const char *subject;			 /* what is asked for; NULL: nothing */
	bool all_paths;				 /* trees: no pruning */
	bool by_call_line;			 /* trees */
	bool with_callers;			 /* heap: sites as trees of their callers */
	bool sums_rows; /* for people: where a view says so, rows are sums over threads */
	bool with_runtime_loops;
	bool is_utf8;	       /* marks may be other than ASCII */
	bool leaves_out_zeros; /* for people: where a view says so, rows in which nothing happened */
	size_t row_limit;      /* samples: rows wanted, 0: all */
	/* of the caller, who frees it: read by the first view that needs it; NULL: each reads its own */
	struct sn_heap **heap;
	struct sn_mpi **mpi; /* likewise */
	struct sn_locks **locks;
	struct sn_io **io;
	struct sn_openmp **openmp;
	struct sn_replay **replay;
	const struct sn_sim_config *caches; /* that are simulated; NULL: this machine's */
	const char *by; /* --by: what rows are made for; NULL: as the view has it */
	/* what the static model says, where the caller has it; NULL: views ask it themselves */
	const struct sn_whatif *whatif;
	size_t *cursor; /* samples: where to begin, moved on to where the rows end; NULL: all */
};

/** The evidence that a view needs. */
enum sn_view_need {
	SN_VIEW_NEEDS_TIME = 1 << 0,	/* samples or waits that pass the filters */
	SN_VIEW_NEEDS_MACHINE = 1 << 1, /* the model of a processor, which --arch chooses */
	/* a report leaves out the views whose data it does not have: traces of ... */
	SN_VIEW_NEEDS_HEAP = 1 << 2,
	SN_VIEW_NEEDS_MPI = 1 << 3,
	SN_VIEW_NEEDS_LOCKS = 1 << 4,
	SN_VIEW_NEEDS_IO = 1 << 5,
	SN_VIEW_NEEDS_OPENMP = 1 << 6,
	SN_VIEW_NEEDS_LANES = 1 << 7, /* of MPI or of locks */
	SN_VIEW_NEEDS_A_TRACE = SN_VIEW_NEEDS_HEAP | SN_VIEW_NEEDS_MPI | SN_VIEW_NEEDS_LOCKS |
				SN_VIEW_NEEDS_IO | SN_VIEW_NEEDS_OPENMP | SN_VIEW_NEEDS_LANES,
	/* ... and what was measured otherwise */
	SN_VIEW_NEEDS_INSTANCES = 1 << 8, /* loops that were counted */
	SN_VIEW_NEEDS_CAUSAL = 1 << 9,	  /* causal experiments */
	SN_VIEW_NEEDS_VARIANTS = 1 << 10, /* variants that ran */
	SN_VIEW_NEEDS_EVENTS = 1 << 11,	  /* counters that overflowed */
	SN_VIEW_NEEDS_WINDOWS = 1 << 12,  /* accesses that were recorded */
	SN_VIEW_NEEDS_SEARCH = 1 << 13,	  /* a search of the run */
	SN_VIEW_NEEDS_COUNTS = 1 << 14,	  /* functions that were counted */
};

/**
 * A view: one row of the registry (all.c). `sonde show`, its help, man page and completion, `sonde
 * explain` and reports take all that they know of a view from here.
 *
 * A view is a table (columns and `fill`), a page of its own (`show`), or the table of a command of
 * its own (`command`).
 */
struct sn_view {
	const char *name;  /* "functions" */
	const char *title; /* one line for help */

	/* what it is asked about */
	const char *subject; /* "[FUNCTION]", "LOOP"; NULL: it is about the whole run */
	/* what it cannot do without, for who left it out; NULL: the subject may be left out */
	const char *subject_missing;
	unsigned needs; /* bits of enum sn_view_need */
	bool takes_by;	/* it has another grouping (--by), beside those that traces of loops have */
	bool has_idle;	/* with wall time it has idle threads, too */

	/* a table */
	const char *schema; /* "sonde.functions/1" */
	const struct sn_column *columns;
	size_t column_count;
	/* what columns mean that no other view has, ended by a NULL key */
	const struct sn_explanation *words;
	const char *data_columns; /* CSV and JSON; NULL: all */
	const char *text_columns; /* NULL: those with a title */
	const char *by_columns;	  /* text with --by: first these, each with its comma */
	const char *wall_columns; /* text with --wall; NULL: no wall form */
	/* further columns of data where rows are trees of their callers (--paths); NULL: no such form */
	const char *caller_columns;
	const char *sort, *wall_sort; /* NULL: as filled; as without --wall */
	bool sums_suffice;	      /* it shows what a profile has, so sums of reduced nodes do */
	bool has_events;	      /* it has a form for events in place of CPU time (--metric) */
	const char *share_column;     /* for the footer */
	const char *whole_column;     /* text: it is never cut */
	bool names_are_indented;      /* `name` is made for people, too (sn_view_is_composed) */
	bool is_never_empty;	      /* no row means that its data are not there */
	bool is_listing; /* its order is its sense: shown whole unless asked otherwise */
	bool has_pieces; /* can be filled piece by piece: CSV of any length needs little memory */
	bool takes_campaign;	/* it has a form for a campaign, too (of_campaign.h) */
	bool is_in_report;	/* reports in text and JSON have the table, too */
	const char *page_title; /* the page has it as a view of its own, so called; NULL: not */
	const char *
		page_group; /* the heading in the page's rail that it stands under; NULL: System; "": none, another view has its rows */
	const char *page_columns; /* that the page has; NULL: those of text */
	bool has_sentences;	  /* few rows with sentences: the page breaks them over lines */
	/* Rows that the page makes itself, as it sums by time window ("loops"; NULL: none). It has
	 * the heading and the meaning of the columns that it computes from here, and all others as
	 * they are, but for those of `page_omits`: it has them otherwise, or has no use for them. */
	const char *page_rows, *page_omits;
	/* adds the row of one of these: a number of the program, or of the experiment's modules or
	 * threads */
	void (*add_row)(const struct sn_view_input *input, struct sn_table *table, uint32_t number);
	sn_status (*fill)(const struct sn_view_input *input, struct sn_table *table,
			  struct sn_error *err);
	/* adds why there is no row and what would give one, as a sentence, where only the view knows
	 * (empty.h says what all views have in common); NULL: it knows no more */
	void (*why_empty)(const struct sn_view_input *input, struct sn_text *out);

	/* for people, unless all rows are asked for: leaves rows out that they need not see, and adds a sentence that
	 * says so; the view's columns begin at `first`. NULL: the view has no such rows */
	void (*tidy)(struct sn_table *table, size_t first, struct sn_text *sentence);

	/* further members of the JSON object, and lines below the text; NULL: none */
	void (*write_members)(const struct sn_view_input *input, struct sn_json *json);
	void (*put_foot)(const struct sn_view_input *input, FILE *out);
	/* the same, made of the rows */
	void (*put_below)(const struct sn_table *table, FILE *out);

	/* a page */
	sn_status (*show)(const struct sn_view_input *input, struct sn_table_view *how, FILE *out,
			  struct sn_error *err);

	const char *command; /* the command that shows it; NULL: `sonde show` does */
};

/** Puts the run that has what the view needs in the place of `input`'s: a further one of the same program, where
 * accesses were recorded in that. */
void sn_view_take_run(const struct sn_view *view, struct sn_view_input *input);

/** Whether its rows are of the whole run, whatever the filter of the profile lets through: those of traces and
 * of experiments are. */
bool sn_view_is_of_whole_run(const struct sn_view *view);

/** Whether a search of the run has left what it found. */
bool sn_view_was_searched(const struct sn_profile *profile);

/** All views, ended by NULL. */
extern const struct sn_view *const sn_views[];
const struct sn_view *sn_view_find(const char *name);

/** Shows a view as `how` says: format, columns, order and rows, each as the view has it unless it
 * was asked for. A table says how many idle threads were left out, and why it has no row. */
sn_status sn_view_show(const struct sn_view *view, const struct sn_view_input *input,
		       struct sn_table_view *how, FILE *out, struct sn_error *err);

/** Whether a column is made for people of columns that CSV and JSON have: a mark, a bar,
 * "file:line", "low-high", an indented name. All others that text shows are data. */
bool sn_view_is_composed(const struct sn_view *view, const char *key);
/** Whether a column of `page_rows` is on the page as it is. */
bool sn_view_is_on_page(const struct sn_view *view, const char *key);
/** A column's heading where there is room and numbers have their unit: "Exclusive". */
const char *sn_view_page_heading(const struct sn_column *column);
/** The columns that CSV and JSON have by default, as "a,b,c" that the caller frees: the data
 * columns and, with wall time, those of wall time too. NULL: all columns. */
char *sn_view_data_columns(const struct sn_view *view, enum sn_time_kind time);

/** Columns of CPU time, "a,b,c", as those of events; what events do not have is left out. The caller frees. */
char *sn_view_event_columns(const char *columns);

/** A list of columns as asked for, headings of the view's text replaced by their keys ("-" before
 * one stays). What is neither stays as it is. The caller frees. */
char *sn_view_columns_of(const struct sn_view *view, const char *asked);

#endif
