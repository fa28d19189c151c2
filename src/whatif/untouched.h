/**
 * What loops took where they ran as they are: the first run's figures, kept in the experiment of the run in
 * which they ran as copies, so that the copies can be compared with them.
 */
#ifndef SN_WHATIF_UNTOUCHED_H
#define SN_WHATIF_UNTOUCHED_H

#include "profile/profile.h"

enum { SN_UNTOUCHED_SAMPLES_LEAST = 100 };

/** A loop of the first run. */
struct sn_untouched_loop {
	const char *id;	  /* as struct sn_loop has it */
	uint64_t user_ns; /* CPU time outside the kernel, all that is in the loop included */
	uint64_t samples; /* that it stands on */
};

struct sn_untouched {
	struct sn_arena arena;
	double counter_hz; /* of the time-stamp counter */
	SN_VEC(struct sn_untouched_loop) loops;
};

/** The profile's loops that samples met, into untouched.tsv of the experiment's folder. SN_ERR_IO. */
sn_status sn_untouched_write(const struct sn_profile *first, double counter_hz,
			     const char *experiment_path, struct sn_error *err);
/** SN_ERR_NOT_FOUND: the experiment has no such file; SN_ERR_FORMAT: it is damaged. Free it in any case. */
sn_status sn_untouched_read(const char *experiment_path, struct sn_untouched *out,
			    struct sn_error *err);
/** NULL: the loop is not among them. */
const struct sn_untouched_loop *sn_untouched_find(const struct sn_untouched *untouched,
						  const char *id);
/** Cycles an iteration of the loop as it was, of so many iterations in the run that counted them. NaN: unknown,
 * as fewer than SN_UNTOUCHED_SAMPLES_LEAST samples met it (or `loop` is NULL), or nothing was counted. */
double sn_untouched_cycles(const struct sn_untouched *untouched,
			   const struct sn_untouched_loop *loop, uint64_t iterations);
void sn_untouched_free(struct sn_untouched *untouched);

#endif
