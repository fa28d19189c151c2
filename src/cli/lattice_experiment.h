/** The lattice of an experiment: what `sonde lattice` reads besides traces. */
#ifndef SN_CLI_LATTICE_EXPERIMENT_H
#define SN_CLI_LATTICE_EXPERIMENT_H

#include "base/text.h"
#include "mpi/lattice/order.h"
#include "profile/analysis.h"

/** Zero: none is open. */
struct sn_lattice_experiment {
	struct sn_analysis *analysis;
	struct sn_mpi *mpi;
	struct sn_mpi_order order;
	struct sn_text early_end; /* which ranks did not come to their end; empty: all did */
};

/** Reads the experiment and its calls of MPI, which may be none; no order is made. The caller closes, also after
 * an error. */
sn_status sn_lattice_experiment_read(const char *name, struct sn_lattice_experiment *out,
				     struct sn_error *err);
/** Makes the order, too. SN_ERR_USAGE: MPI was not traced in it. The caller closes. */
sn_status sn_lattice_experiment_open(const char *name, const struct sn_mpi_points *points,
				     struct sn_lattice_experiment *out, struct sn_error *err);
/** SN_ERR_FORMAT: parts of its trace of MPI are damaged. What is left has an answer. */
sn_status sn_lattice_experiment_damage(const struct sn_lattice_experiment *experiment,
				       struct sn_error *err);
/** What it points to lives as long as the experiment is open. */
struct sn_lattice_run sn_lattice_experiment_run(const struct sn_lattice_experiment *experiment);
void sn_lattice_experiment_close(struct sn_lattice_experiment *experiment);

#endif
