/**
 * One HTML page of Pandore runs: communication graphs to group and select in, phases, zones and
 * load balance; lattices with their levels and bottlenecks. Nothing is loaded from elsewhere;
 * without scripts the drawings and texts of the commands remain.
 *
 * The page has the counters as they were measured, and groups them itself by the rules of
 * profiler/graph.c; tests/end/pandore_page.py compares both.
 */
#ifndef SN_PANDORE_PAGE_H
#define SN_PANDORE_PAGE_H

#include <stdio.h>

#include "pandore/lattice/lattice.h"
#include "pandore/lattice/property.h"
#include "pandore/profiler/comm.h"

/** A condition that was asked for, and what is known of it. */
struct sn_page_condition {
	const char *text;
	const struct sn_property *property;
	const struct sn_execution *execution;
	const struct sn_property_answer *answer;
};

/** All borrowed; names are what the user called the files. */
struct sn_pandore_page {
	const char *title;
	struct sn_comm_profile *const *profiles;
	const char *const *profile_names;
	size_t profile_count;
	const struct sn_comm_choice *choice; /* what is shown first */
	enum sn_comm_value value;
	const struct sn_lattice_answer *answers;
	size_t answer_count;
	const struct sn_page_condition *condition; /* NULL: none */
};

/** Errors of writing are left to the stream. SN_ERR_USAGE if the choice names what is not there. */
sn_status sn_pandore_page_write(const struct sn_pandore_page *page, FILE *out,
				struct sn_error *err);

/* Parts of it: what stands in the body, and the data the script reads. */
sn_status sn_page_comm_body(const struct sn_pandore_page *page, FILE *out, struct sn_error *err);
void sn_page_comm_data(const struct sn_pandore_page *page, FILE *out);
void sn_page_lattice_body(const struct sn_pandore_page *page, FILE *out);
void sn_page_condition_body(const struct sn_page_condition *condition, FILE *out);
void sn_page_lattice_data(const struct sn_pandore_page *page, FILE *out);

#endif
