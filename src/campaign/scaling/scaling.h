/**
 * Scalability of a campaign: every configuration against one with fewer workers, for the application and
 * each of its functions, loops and categories.
 *
 * Strong: speed-up = T_ref / T, ideal = n / n_ref, efficiency = speed-up / ideal. Weak: efficiency =
 * T_ref / T. Means over the runs of a configuration stand for all times, so that the identities hold to
 * the last digit (docs/method/scalability.md):
 *
 *	efficiency = work x balance; of the application also load balance x communication x computation
 */
#ifndef SN_CAMPAIGN_SCALING_SCALING_H
#define SN_CAMPAIGN_SCALING_SCALING_H

#include "campaign/scaling/fit.h"
#include "campaign/scaling/run.h"

/** One run of a configuration. */
struct sn_scaling_member {
	uint32_t configuration, block;
	struct sn_scaling_run run;
};

struct sn_scaling_configuration {
	const char *name, *series; /* configurations of one series differ in workers only */
	uint32_t ranks, threads;
};

struct sn_scaling_row {
	enum sn_scaling_kind kind;
	const char *key;
	const struct sn_compare_entry *entry; /* names */
	const char *name, *loop;	      /* loop: its id, or NULL */
	uint32_t configuration, reference;    /* numbers */
	double workers;
	uint32_t repeats;
	double time_s, cpu_s; /* means over the runs */
	const double *member_time_s,
		*member_cpu_s;		/* by member, of all configurations; the result's */
	double time_low_s, time_high_s; /* 95 % interval of the mean; NaN: one run */
	double speedup, ideal_speedup, efficiency; /* NaN: no time */
	struct sn_interval interval;		   /* of the efficiency, 95 %; NaN: one run */
	double work, balance;			   /* their product is the efficiency */
	double share;				   /* of the CPU time */
	/* the application's; NaN of others */
	double load_balance, communication, computation; /* their product is the efficiency */
	double spin_share, blocked_share, wait_cpu_share, system_share; /* of workers x elapsed */
	double turns_share;  /* of the CPU time: spun for a turn in a critical section */
	const char *turns;   /* which, of most of it; NULL: nobody did. Borrowed from a member */
	double idle_workers; /* with next to no work, of `workers`; mean of the runs */
	/* what waiting for CPUs has of the loss in `communication`: of the busiest worker, against the
	 * reference. 0 where nothing is lost */
	double waiting_part;
	/* all rows: of the reference's workers' time, able to run without a CPU; NaN: unknown */
	double reference_wait_share;
};

struct sn_scaling_fit {
	enum sn_scaling_kind kind;
	const char *key; /* that of the part's rows; NULL: the application */
	const char *name, *loop, *series;
	double share; /* of the CPU time, in the run where it has most */
	struct sn_fit fit;
};

struct sn_scaling {
	struct sn_arena arena;
	const char *mixed; /* a sentence: runs of one series ran two programs; NULL: none did */
	bool is_weak;
	SN_VEC(struct sn_scaling_row)
	rows; /* application, then categories, loops and functions by
					     * share, each with its configurations by workers */
	SN_VEC(struct sn_scaling_fit) fits;
};

struct sn_scaling_options {
	bool is_weak;
	bool is_in_blocks;     /* runs of one block are compared with each other */
	const char *reference; /* name of a configuration, "fastest", or NULL: fewest workers */
	double smallest_share; /* parts below it in all configurations are left out; 0: 0.005 */
};

/** Compares. Members are borrowed and must outlive the result. Configurations without a member have no
 * row. SN_ERR_NO_DATA: no run at all; SN_ERR_USAGE: no configuration with runs has the reference's name. */
sn_status sn_scaling_new(const struct sn_scaling_member *members, size_t count,
			 const struct sn_scaling_configuration *configurations,
			 size_t configuration_count, const struct sn_scaling_options *options,
			 struct sn_scaling **out, struct sn_error *err);
void sn_scaling_free(struct sn_scaling *scaling);

#endif
