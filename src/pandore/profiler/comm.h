/**
 * The profile of a Pandore run, read back, and the views of it that 'sonde comm' prints.
 *
 * Traffic is kept as the program counted it: for each reference of each statement and each ordered
 * pair of nodes. A view picks some of it (phase, zone, nodes, variables) and adds it up between
 * partitions (A1: what node 1 owns of A), between nodes, or between variables.
 */
#ifndef SN_PANDORE_PROFILER_COMM_H
#define SN_PANDORE_PROFILER_COMM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"

struct sn_comm_traffic {
	int line, phase, zone; /* zone -1: none */
	bool is_broadcast;     /* to a replicated variable, a condition or a subscript */
	const char *source, *target;
	int from, to; /* nodes */
	uint64_t messages, bytes;
	double wait_s; /* of the receiver */
};

struct sn_comm_assignments {
	int line, phase, zone, node;
	uint64_t count;
};

struct sn_comm_phase_time {
	int phase, node;
	uint64_t calls;
	double trigger_wait_s, distribution_s, run_s, collection_s;
	double other_wait_s; /* in run_s: for others, but for no message (of programs of MPI) */
};

struct sn_comm_zone_time {
	int zone, node;
	uint64_t executions;
	double time_s;
};

struct sn_comm_zone {
	const char *name;
	int phase;
};

struct sn_comm_profile {
	struct sn_arena arena; /* owns everything below */
	const char *program, *source, *scheme, *backend;
	int nodes;
	bool is_of_ranks; /* of a program of MPI: variables are functions */
	SN_VEC(const char *) phases;
	SN_VEC(struct sn_comm_zone) zones;
	SN_VEC(struct sn_comm_traffic) traffic;
	SN_VEC(struct sn_comm_assignments) assignments;
	SN_VEC(struct sn_comm_phase_time) phase_times;
	SN_VEC(struct sn_comm_zone_time) zone_times;
};

/** Reads PROG.profile.json. SN_ERR_FORMAT names what is wrong with it. */
sn_status sn_comm_profile_read(const char *path, struct sn_comm_profile **out,
			       struct sn_error *err);
void sn_comm_profile_free(struct sn_comm_profile *profile);

enum sn_comm_group { SN_COMM_PARTITIONS, SN_COMM_NODES, SN_COMM_VARIABLES };
enum sn_comm_value { SN_COMM_MESSAGES, SN_COMM_BYTES, SN_COMM_WAIT };

struct sn_comm_choice {
	const char *phase, *zone; /* names, or NULL: all */
	const char *nodes;	  /* "0,2", or NULL: traffic that touches any */
	const char *variables;	  /* "A,V", or NULL */
	enum sn_comm_group group;
};

struct sn_comm_arc {
	bool is_broadcast;
	const char *source, *target; /* "A1", "node 1" or "A" */
	const char *source_variable, *target_variable;
	int from, to; /* nodes; -1 when they were added up */
	uint64_t messages, bytes;
	double wait_s;
};

struct sn_comm_graph {
	struct sn_arena arena;
	SN_VEC(struct sn_comm_arc) arcs; /* by source, then target */
	const char *title;
};

/** SN_ERR_USAGE when the choice names what is not in the profile. */
sn_status sn_comm_graph_make(const struct sn_comm_profile *profile,
			     const struct sn_comm_choice *choice, struct sn_comm_graph *out,
			     struct sn_error *err);
void sn_comm_graph_free(struct sn_comm_graph *graph);
/** SN_ERR_USAGE when a variable of `list` ("A,V") has traffic in none of the profiles. */
sn_status sn_comm_check_variables(struct sn_comm_profile *const *profiles, size_t count,
				  const char *list, struct sn_error *err);
double sn_comm_arc_value(const struct sn_comm_arc *arc, enum sn_comm_value value);

/** Largest over mean, over the nodes; 1 is perfect, NaN if nothing was done. */
double sn_comm_balance(const double *by_node, int nodes);
/** What a node waited for others while it ran. */
double sn_comm_node_wait_s(const struct sn_comm_profile *profile, int node);
/** Sums for each node: assignments executed, and seconds in phases less those spent waiting. */
void sn_comm_node_sums(const struct sn_comm_profile *profile, double *assignments, double *busy_s);

/**
 * A run as one row. Work is the time that all nodes were busy. The busiest node's time is what no
 * other placement of messages could undercut; the run time is what was needed. Work over run time
 * is the number of nodes busy on average. Times are of phases only.
 */
struct sn_comm_totals {
	uint64_t messages, bytes;
	double wait_s, work_s, longest_s, run_s;
};

struct sn_comm_totals sn_comm_total(const struct sn_comm_profile *profile);

/**
 * Tables; `what` is arcs, zones, phases, nodes, lines or programs. Of several profiles (at least
 * one): text has a table each, JSON one object with an array `programs`, CSV and JSON lines a first
 * column `program` with the profile's entry of `names`. The table of programs is one for all, a row
 * a profile.
 */
sn_status sn_comm_write_tables(struct sn_comm_profile *const *profiles, const char *const *names,
			       size_t count, const struct sn_comm_choice *choice, const char *what,
			       const struct sn_table_view *view, FILE *out, struct sn_error *err);

/** A digraph for each profile, arcs labelled with the value; widths have one scale for all. */
void sn_comm_write_dot(const struct sn_comm_graph *graphs, size_t count, enum sn_comm_value value,
		       FILE *out);
/** Several profiles side by side, number of messages above, waiting time below: the comparison of
 *  distributions of the paper's Figure 4. Widths have one scale a picture, so that graphs compare.
 */
void sn_comm_write_svg(const struct sn_comm_graph *graphs, size_t count, FILE *out);

#endif
