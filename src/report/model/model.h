/**
 * The report model: everything that a report says, made once from an analysis. Each format writes
 * from it (html/html.h, text/text.h, json/json.h), so that a number has one source.
 *
 * The model borrows from the analysis, which must outlive it. Rows refer to each other by index; an
 * index that points nowhere is SN_NONE (experiment/experiment.h). Times are nanoseconds since the
 * experiment's start, CPU time is nanoseconds, and an unknown account is -1.
 *
 * When a filter is set, the page aggregates by itself, from `records`. These are the samples, or,
 * where there are more than SN_REPORT_RECORDS_MAX, samples merged over equal slices of time.
 * Without a filter the page shows the totals here, which are exact.
 */
#ifndef SN_REPORT_MODEL_MODEL_H
#define SN_REPORT_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"
#include "phases/phases.h"
#include "profile/analysis.h"
#include "report/model/evidence.h"
#include "report/model/whatif.h"
#include "views/summary/summary.h"
#include "views/view.h"

enum {
	SN_REPORT_RECORDS_MAX = 1000000,
	SN_REPORT_WAITS_MAX = 200000,
	SN_REPORT_NODES_MAX = 200000,
	SN_REPORT_ROWS_MAX = 100000,
	SN_REPORT_TIMELINE_SLICES = 4096,
	SN_REPORT_SLICES_MIN = 512,
};

/** A category of time (docs/method/categories.md). */
struct sn_report_category {
	const char *name;
	uint64_t cpu_ns;
};

struct sn_report_module {
	const char *name, *path, *build_id;
	const char *producer; /* compiler and options; NULL: unknown */
	const char
		*missing; /* useful options that were not given, as words; NULL: none or unknown */
	uint64_t cpu_ns;
};

struct sn_report_file {
	const char *path;
	const char *text; /* the source, or NULL: not in the experiment */
	size_t length;
	uint32_t line_first; /* of the text's first line, from 1 */
};

struct sn_report_function {
	const char *name;
	uint32_t module, file, line; /* line: of the declaration, 0: unknown */
	bool is_inlined;
	bool is_spin; /* waits actively: not hot, whatever it takes */
	uint64_t exclusive_ns, inclusive_ns, samples;
	double share_low, share_high; /* 95 % interval of the exclusive share */
};

struct sn_report_loop {
	const struct sn_loop *code;
	uint32_t function, file;
	uint32_t parent; /* the loop around it */
	bool is_runtime; /* of OpenMP's or MPI's library: it waits */
	uint64_t exclusive_ns, inclusive_ns, samples;
	double share_low, share_high;
};

/** A call path. Parents come before children, and a node's descendants follow it (preorder). */
struct sn_report_node {
	uint32_t parent;   /* SN_NONE for a root */
	uint32_t function; /* entered by this step of the path ... */
	uint32_t loop;	   /* ... or the loop, within the function above; the other is SN_NONE */
};

/** An instruction that samples hit; its innermost function (inlined ones included) and loop. */
struct sn_report_place {
	uint32_t module, function, loop, file, line;
	uint64_t link_addr;
};

/** A kind of sample: call path, instruction, category, kernel or not. Ordered by node. */
struct sn_report_point {
	uint32_t node, place;
	uint8_t category;
	bool is_system;
	uint64_t cpu_ns, samples;
};

/** A sample (or several, merged): by thread, then time. */
struct sn_report_record {
	int64_t time_ns;
	uint32_t thread, point;
	uint64_t cpu_ns;
	uint32_t samples; /* observations; 0 for time left at a thread's exit */
};

struct sn_report_wait {
	int64_t time_ns;
	uint64_t duration_ns;
	uint32_t thread, node, count;
	uint8_t kind; /* enum sn_wait_kind */
};

struct sn_report_thread {
	uint32_t process;
	int32_t tid;
	const char *name;
	int64_t start_ns, end_ns;
	struct sn_time_account account;
	uint64_t cpu_ns, samples; /* of its samples */
	bool is_helper;		  /* sleeps nearly always: left out of sums of waiting */
};

struct sn_report_process {
	int32_t pid, rank;
	const char *host, *program, *arguments, *clock_mechanism;
	int64_t start_ns, end_ns;
	int32_t exit_status;
	double asked_hz;
	struct sn_time_account account;
};

/** One instruction of a listing. Those of one function stand together, by address. */
struct sn_report_instruction {
	uint64_t link_addr;
	uint32_t function; /* of the symbol, not of what was inlined */
	uint32_t loop, file, line;
	const char *words; /* "vmulpd ymm0, ymm1, ymm2" */
};

/** A table of `sonde show`, every column filled: as it has it, or with the rows of `page_rows`. */
struct sn_report_table {
	const struct sn_view *view;
	struct sn_table table;
	/* of the page's tables: lines below the rows, and why there is no row; NULL: none. In the arena */
	const char *foot, *why_empty;
};

struct sn_report {
	struct sn_arena arena;
	struct sn_analysis *analysis; /* borrowed, with its profile */
	const struct sn_profile *profile;
	struct sn_summary *summary; /* with its verdict and hint */
	struct sn_phases
		*phases; /* NULL: none were looked for, or there is nothing to find them in */
	struct sn_interner file_paths; /* number of a path = index in `files` */
	uint32_t *function_of,
		*loop_of; /* the program's function or loop -> index here, or SN_NONE */
	const char *experiment, *label, *program, *arguments, *version;
	const char *host, *cpu_model, *kernel;
	int64_t started_realtime_ns, elapsed_ns, clock_error_ns;
	int32_t exit_status;
	int64_t cpu_ns, user_ns, system_ns; /* the kernel's account */
	/* of threads that are no helpers; off_cpu_ns is known where its two parts before it are not
	 */
	int64_t thread_elapsed_ns, thread_user_ns, thread_system_ns, wait_cpu_ns, blocked_ns,
		off_cpu_ns;
	int64_t workers_ns,
		spin_ns; /* parts of the blocked, of the user time; views/summary/summary.h */
	uint64_t sampled_ns, sample_count, lost;
	uint64_t process_count, thread_count;		     /* an exec begins neither */
	double overhead_share, loops_share, innermost_share; /* NaN: unknown */
	const char *clock_mechanism;
	double rate_hz, asked_hz; /* samples a second of CPU time: had, asked for */
	int64_t slice_ns; /* width of the slices that records were merged over; 0: not merged */
	uint32_t stride;  /* samples that one record stands for; 0 or 1: itself */
	/* CPU time and waits of call paths whose inner frames count for a frame above, for want of
	 * room in `nodes`, over all of both; 0: none */
	double folded_share;

	const struct sn_machine *machine;   /* that loops were estimated for; NULL: none */
	const char *machine_absence;	    /* why there is none */
	const char *machine_warning;	    /* that the run was on another; NULL: none */
	struct sn_report_whatif *whatif;    /* what the static model says; NULL: no machine */
	struct sn_report_evidence evidence; /* of hot loops; only with details */
	struct sn_replay *replay;	    /* of recorded accesses; NULL: not asked for, or none */

	struct sn_answer verdict;
	SN_VEC(const char *) warnings;
	SN_VEC(struct sn_environment_variable) environment;
	SN_VEC(struct sn_report_category) categories;
	SN_VEC(struct sn_report_module) modules;
	SN_VEC(struct sn_report_file) files;
	SN_VEC(struct sn_report_function) functions; /* hottest (exclusive) first */
	SN_VEC(struct sn_report_loop) loops;	     /* hottest first */
	SN_VEC(struct sn_report_node) nodes;
	SN_VEC(struct sn_report_place) places;
	SN_VEC(struct sn_report_point) points;
	SN_VEC(struct sn_report_process) processes;
	SN_VEC(struct sn_report_thread) threads;
	SN_VEC(struct sn_report_record) records;
	SN_VEC(struct sn_report_wait) waits;
	SN_VEC(struct sn_report_instruction) instructions;
	SN_VEC(struct sn_report_table) tables;
	SN_VEC(struct sn_report_table)
	row_tables; /* of views with `page_rows`, with the same rows
						      as here; none where the page has no column */
};

/** Options of a report: which parts a format needs beyond the run's figures and the rows. */
struct sn_report_options {
	bool has_tables;  /* of `tables` those of reports in text and JSON */
	bool has_details; /* the page's tables, call paths, records, waits, phases, listings,
			   * sources, compile options, and all that the static model says of loops and
			   * their instructions */
};

/**
 * Makes the report: the summary first, then the rows of what ran, what-if, the details and the
 * tables. What the profile's filter leaves out is not in it. An analysis without structures has no
 * code, so there are no listings, no sources and no what-if. Errors are those of the tables.
 */
sn_status sn_report_new(struct sn_analysis *analysis, const struct sn_report_options *options,
			struct sn_report **out, struct sn_error *err);
/** The same in two steps, for who prints the summary before the rest is made. After the first the
 * report has its summary and the answer of the static model. The report is to be freed even if the
 * second fails. */
struct sn_report *sn_report_begin(struct sn_analysis *analysis);
sn_status sn_report_complete(struct sn_report *report, const struct sn_report_options *options,
			     struct sn_error *err);
void sn_report_free(struct sn_report *report);

#endif
