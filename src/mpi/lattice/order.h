/**
 * The partial order of an MPI program's run, as an execution (pandore/lattice/execution.h): which of its
 * calls had to wait for which. docs/method/lattice.md, "MPI programs", has the rules.
 *
 * A call is one event; one that both lets others go on and waits for others (a barrier, MPI_Sendrecv) is two, of which
 * the first, its begin, is no point. Processes are ranks, by world.
 */
#ifndef SN_MPI_LATTICE_ORDER_H
#define SN_MPI_LATTICE_ORDER_H

#include "mpi/mpi.h"
#include "pandore/lattice/lattice.h"
#include "profile/program.h"

/** Which events are points: those of any of the choices. */
struct sn_mpi_points {
	SN_VEC(struct sn_mpi_point_choice)
	choices; /* none: all calls of MPI but those that begin and
						     * end it, and those that only ask and find nothing */
};

/** Adds "zone=NAME", "line=N", "line=FILE:N", "function=F", "kind=send,recv" or "label=L" ("*": any). `text` is
 * borrowed. SN_ERR_USAGE says what is wrong. */
sn_status sn_mpi_points_add(struct sn_mpi_points *points, const char *text, struct sn_error *err);
void sn_mpi_points_free(struct sn_mpi_points *points);

struct sn_mpi_order {
	struct sn_execution *execution;
	SN_VEC(struct sn_lattice_race) races;
	SN_VEC(uint32_t) ranks;	 /* by process of the execution: process of the experiment */
	double *measured_wait_s; /* by process of the execution: in calls of MPI */
	uint64_t wildcards;	 /* receives from any source */
};

/** SN_ERR_NO_DATA: MPI was not traced. SN_ERR_FORMAT, with `out` empty: what was matched has a cycle, as damaged
 * traces may. */
sn_status sn_mpi_order_make(const struct sn_program *program, const struct sn_mpi *mpi,
			    const struct sn_mpi_points *points, struct sn_mpi_order *out,
			    struct sn_error *err);
void sn_mpi_order_free(struct sn_mpi_order *order);

#endif
