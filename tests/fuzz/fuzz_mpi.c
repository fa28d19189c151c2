/* Traces of MPI: whatever the bytes are, reading ends, and what it gives is sound. */
#include "mpi/mpi.h"

#include "fuzz/trace_experiment.h"

static bool is_event(const struct sn_mpi *mpi, uint32_t event)
{
	return event == SN_NONE || event < mpi->events.count;
}

static void check(const struct sn_mpi *mpi)
{
	for (size_t i = 0; i < mpi->events.count; i++) {
		const struct sn_mpi_event *e = &mpi->events.items[i];

		if (e->wait_ns < 0 || e->wait_ns > e->t1_ns - e->t0_ns ||
		    !is_event(mpi, e->waited_for))
			abort();
	}
	for (size_t i = 0; i < mpi->messages.count; i++) {
		const struct sn_mpi_message *m = &mpi->messages.items[i];

		if (!is_event(mpi, m->sent) || !is_event(mpi, m->sent_done) ||
		    !is_event(mpi, m->posted) || !is_event(mpi, m->received) ||
		    (m->sent == SN_NONE && m->posted == SN_NONE))
			abort();
	}
	for (size_t i = 0; i < mpi->operations.count; i++) {
		const struct sn_mpi_operation *o = &mpi->operations.items[i];

		if (o->comm >= mpi->comms.count || o->first_part + o->part_count > mpi->parts.count)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct trace_experiment t;
	struct sn_mpi *mpi;
	struct sn_error err;

	trace_experiment_make(&t, bytes, length);
	t.experiment->processes.count = 0;
	for (int p = 0; p < 3; p++)
		sn_vec_push(&t.experiment->processes,
			    (struct sn_process){ .pid = 100 + p,
						 .host = p == 2 ? "other" : "h",
						 .end_ns = 2000000 });
	sn_vec_push(&t.experiment->trace_paths, (struct sn_trace_path){ 0, 1, 0 });
	if (sn_mpi_read(t.experiment, &mpi, &err) == SN_OK) {
		check(mpi);
		sn_mpi_free(mpi);
	}
	trace_experiment_free(&t);
	return 0;
}
