/* An experiment of one process on host "h", with nothing but a trace: what readers of traces begin with. */
#ifndef FUZZ_TRACE_EXPERIMENT_H
#define FUZZ_TRACE_EXPERIMENT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "experiment/experiment.h"

struct trace_experiment {
	struct sn_experiment *experiment;
	int fd; /* the trace is this file, in memory */
	char path[64];
};

/* To be given back by trace_experiment_free. It must stay where it is. */
static inline void trace_experiment_make(struct trace_experiment *t, const uint8_t *bytes,
					 size_t length)
{
	t->fd = memfd_create("trace", MFD_CLOEXEC);
	if (t->fd < 0 || write(t->fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(t->path, sizeof(t->path), "/proc/self/fd/%d", t->fd);
	t->experiment = sn_experiment_new("x");
	sn_vec_push(&t->experiment->processes,
		    (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000 });
	sn_vec_push(&t->experiment->traces, (struct sn_trace_file){ t->path, "h" });
}

static inline void trace_experiment_free(struct trace_experiment *t)
{
	sn_experiment_free(t->experiment);
	close(t->fd);
}

#endif
