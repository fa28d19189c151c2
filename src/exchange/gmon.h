/**
 * gmon.out files, as programs compiled with -pg write them, and experiments from series of them.
 *
 * The layout is that of glibc's <sys/gmon_out.h>: a header of 20 bytes, then records, each a tag
 * byte and its body: 0 a histogram of pc samples, 1 an arc of the call graph with its count, 2
 * basic-block counts. The bytes are not trusted.
 */
#ifndef SN_EXCHANGE_GMON_H
#define SN_EXCHANGE_GMON_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

struct sn_gmon_histogram {
	uint64_t low_link_addr, high_link_addr; /* [low, high), divided evenly among the bins */
	uint32_t rate_hz, bin_count;
	uint16_t *bins; /* owned; counts wrap at 65,536 */
};

struct sn_gmon_arc {
	uint64_t from_link_addr, self_link_addr; /* the call, and an address in the callee */
	uint32_t count;
};

struct sn_gmon {
	SN_VEC(struct sn_gmon_histogram) histograms;
	SN_VEC(struct sn_gmon_arc) arcs;
};

/** SN_ERR_FORMAT: no gmon.out file, or damaged; the sentence has `name` and the byte. */
sn_status sn_gmon_read(const void *bytes, size_t length, const char *name, struct sn_gmon *out,
		       struct sn_error *err);
void sn_gmon_free(struct sn_gmon *gmon);

struct sn_gmon_import {
	const char *program;	  /* the file that ran; needed for names */
	const char *const *paths; /* snapshots in the order in which they were written */
	size_t path_count;
	int64_t interval_ns;	    /* between two snapshots */
	const char *output, *label; /* as in sn_perf_import */
};

/**
 * Makes an experiment from snapshots of one run, each with the totals since its start. What a
 * snapshot has more than the one before happened in its interval. Ticks become samples, spread
 * evenly over the interval. Arcs become exact counts of calls, in the file `gmon.calls` of the
 * experiment. SN_ERR_FORMAT also for snapshots that are not of one run. `folder` gets the
 * experiment's path.
 */
sn_status sn_gmon_import(const struct sn_gmon_import *how, struct sn_text *folder,
			 uint64_t *sample_count, struct sn_error *err);

#endif
