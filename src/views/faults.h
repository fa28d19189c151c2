/** Page faults by function, where they were sampled (record --collect faults, -e minor-faults,major-faults). */
#ifndef SN_VIEWS_FAULTS_H
#define SN_VIEWS_FAULTS_H

#include "profile/profile.h"

enum sn_fault { SN_FAULT_MINOR, SN_FAULT_MAJOR, SN_FAULTS };

struct sn_faults {
	bool is_known[SN_FAULTS]; /* they were sampled */
	struct sn_metrics *of
		[SN_FAULTS]; /* by function of the program; its cpu_ns are faults. NULL: not known */
	uint64_t total[SN_FAULTS];
};

/** What passes the profile's filter. The caller frees. */
sn_status sn_faults_find(const struct sn_profile *profile, struct sn_faults *out,
			 struct sn_error *err);
void sn_faults_free(struct sn_faults *faults);
/** The faults in the function's own code, of one kind; -1: they were not sampled. */
int64_t sn_faults_in(const struct sn_faults *faults, uint32_t function, enum sn_fault kind);

#endif
