/* From an experiment to the order of its calls of MPI. */
#include "cli/lattice_experiment.h"

#include <string.h>

#include "cli/analysis_options.h"
#include "cli/command.h"

sn_status sn_lattice_experiment_damage(const struct sn_lattice_experiment *experiment,
				       struct sn_error *err)
{
	const char *launch = experiment->analysis->experiment->damaged_launch;

	if (launch)
		return sn_error_set(err, SN_ERR_FORMAT,
				    "%s; ranks of it are missing, and what they ordered", launch);
	if (!experiment->mpi->damaged)
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_FORMAT,
		"%llu pieces of the trace of MPI are damaged: calls are missing, and what "
		"they ordered",
		(unsigned long long)experiment->mpi->damaged);
}

static bool has_finalized(const struct sn_mpi *mpi, uint32_t process)
{
	for (size_t i = mpi->events.count; i-- > 0;)
		if (mpi->events.items[i].process == process &&
		    sn_mpi_function_meaning(mpi->events.items[i].function) == SN_MPI_MEANS_FINALIZE)
			return true;
	return false;
}

/* Ranks that were traced and have not called MPI_Finalize: those that died by name, the others as a number. */
static void early_ends_find(struct sn_lattice_experiment *experiment)
{
	const struct sn_mpi *mpi = experiment->mpi;
	const struct sn_experiment *e = experiment->analysis->experiment;
	struct sn_text *out = &experiment->early_end;
	unsigned others = 0;

	for (uint32_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];

		if (mpi->ranks[p] < 0 || has_finalized(mpi, p))
			continue;
		if (process->exit_signal > 0)
			sn_text_addf(out, "%srank %d died by signal %d (%s)",
				     out->length ? ", " : "", mpi->ranks[p], process->exit_signal,
				     strsignal(process->exit_signal));
		else
			others++;
	}
	if (others)
		sn_text_addf(out, "%s%u %srank%s did not come to MPI_Finalize",
			     out->length ? ", " : "", others, out->length ? "other " : "",
			     others == 1 ? "" : "s");
	if (out->length) {
		sn_text_add(out, ": this is the run up to then");
		sn_warn("%s", out->chars);
	}
}

sn_status sn_lattice_experiment_read(const char *name, struct sn_lattice_experiment *out,
				     struct sn_error *err)
{
	sn_status status;

	*out = (struct sn_lattice_experiment){ 0 };
	status = sn_cli_analysis_open(name, NULL, &out->analysis, err);
	if (status == SN_OK)
		status = sn_mpi_read(out->analysis->experiment, &out->mpi, err);
	if (status == SN_OK && out->mpi->lost)
		sn_warn("%llu pieces of the trace of MPI were lost: calls are missing, and what they "
			"ordered",
			(unsigned long long)out->mpi->lost);
	if (status == SN_OK && out->mpi->is_traced)
		early_ends_find(out);
	return status;
}

sn_status sn_lattice_experiment_open(const char *name, const struct sn_mpi_points *points,
				     struct sn_lattice_experiment *out, struct sn_error *err)
{
	sn_status status = sn_lattice_experiment_read(name, out, err);

	if (status == SN_OK)
		status = sn_mpi_order_make(out->analysis->program, out->mpi, points, &out->order,
					   err);
	if (status != SN_OK)
		sn_lattice_experiment_close(out);
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

static double cpu_used_s(const struct sn_experiment *experiment)
{
	double sum = 0;

	for (size_t i = 0; i < experiment->threads.count; i++)
		if (experiment->threads.items[i].account.user_ns >= 0)
			sum += (double)(experiment->threads.items[i].account.user_ns +
					experiment->threads.items[i].account.system_ns) /
			       1e9;
	return sum;
}

struct sn_lattice_run sn_lattice_experiment_run(const struct sn_lattice_experiment *experiment)
{
	const struct sn_mpi_order *order = &experiment->order;
	const struct sn_experiment *e = experiment->analysis->experiment;
	double waited_s = cpu_wait_s(e);
	unsigned cpus = sn_experiment_cpus(e);

	/* few samples may have met few of many CPUs: then nobody waited for one */
	if (cpus >= order->ranks.count || waited_s < 0.05 * cpu_used_s(e))
		cpus = 0;
	return (struct sn_lattice_run){ .races = order->races.items,
					.race_count = order->races.count,
					.knows_receives = true,
					.wildcard_count = order->wildcards,
					.measured_wait_s = order->measured_wait_s,
					.ended_early = experiment->early_end.length
							       ? experiment->early_end.chars
							       : NULL,
					.cpu_wait_s = waited_s,
					.cpu_count = cpus };
}

void sn_lattice_experiment_close(struct sn_lattice_experiment *experiment)
{
	sn_text_free(&experiment->early_end);
	sn_mpi_order_free(&experiment->order);
	sn_mpi_free(experiment->mpi);
	sn_analysis_free(experiment->analysis);
	*experiment = (struct sn_lattice_experiment){ 0 };
}
