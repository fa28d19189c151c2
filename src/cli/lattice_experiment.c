/* From an experiment to the order of its calls of MPI. */
#include "cli/lattice_experiment.h"

#include "cli/analysis_options.h"
#include "cli/command.h"

static void losses_tell(const struct sn_mpi *mpi)
{
	if (mpi->lost)
		sn_warn("%llu pieces of the trace of MPI were lost: calls are missing, and what they "
			"ordered",
			(unsigned long long)mpi->lost);
	if (mpi->damaged)
		sn_warn("%llu pieces of the trace of MPI are damaged: calls are missing, and what they "
			"ordered",
			(unsigned long long)mpi->damaged);
}

sn_status sn_lattice_experiment_open(const char *name, const struct sn_mpi_points *points,
				     struct sn_lattice_experiment *out, struct sn_error *err)
{
	struct sn_lattice_experiment e = { 0 };
	sn_status status = sn_cli_analysis_open(name, NULL, &e.analysis, err);

	*out = e;
	if (status != SN_OK)
		return status;
	status = sn_mpi_read(e.analysis->experiment, &e.mpi, err);
	if (status == SN_OK) {
		losses_tell(e.mpi);
		status = sn_mpi_order_make(e.analysis->program, e.mpi, points, &e.order, err);
	}
	if (status == SN_OK)
		*out = e;
	else
		sn_lattice_experiment_close(&e);
	return status;
}

static double cpu_wait_s(const struct sn_experiment *experiment)
{
	double sum = 0;

	for (size_t i = 0; i < experiment->threads.count; i++)
		if (experiment->threads.items[i].account.wait_cpu_ns > 0)
			sum += (double)experiment->threads.items[i].account.wait_cpu_ns / 1e9;
	return sum;
}

struct sn_lattice_run sn_lattice_experiment_run(const struct sn_lattice_experiment *experiment)
{
	const struct sn_mpi_order *order = &experiment->order;

	return (struct sn_lattice_run){ .races = order->races.items,
					.race_count = order->races.count,
					.knows_receives = true,
					.wildcard_count = order->wildcards,
					.measured_wait_s = order->measured_wait_s,
					.cpu_wait_s =
						cpu_wait_s(experiment->analysis->experiment) };
}

void sn_lattice_experiment_close(struct sn_lattice_experiment *experiment)
{
	sn_mpi_order_free(&experiment->order);
	sn_mpi_free(experiment->mpi);
	sn_analysis_free(experiment->analysis);
	*experiment = (struct sn_lattice_experiment){ 0 };
}
