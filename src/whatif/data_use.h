/**
 * Whether a hot loop or function computes or waits for its data, as far as samples tell it without
 * hardware counters (docs/method/memory.md): the registers of samples tell which addresses it uses
 * and how long a pass takes; the static model tells how long it would take with data in L1.
 */
#ifndef SN_WHATIF_DATA_USE_H
#define SN_WHATIF_DATA_USE_H

#include "machine/machine.h"
#include "profile/profile.h"
#include "profile/structures.h"

enum sn_data_reach {
	SN_DATA_UNSETTLED, /* its data may be far away, and how long a pass takes does not tell */
	SN_DATA_NEAR,	   /* no data, or so few that a core's own caches hold them */
	SN_DATA_FAST,	   /* a pass takes as long as with data in L1 */
	SN_DATA_SLOW,	   /* a pass takes far longer than with data in L1: it waits for data */
};

struct sn_data_use {
	enum sn_data_reach reach;
	size_t records;	     /* samples with registers that were looked at */
	double spread_bytes; /* blocks of memory in which addresses were seen, summed; 0: none */
	double pass_ns;	     /* NaN: not known */
	double near_cycles;  /* a pass with data in L1, by the model; NaN: not known */
	bool is_sure;	     /* of SLOW and FAST: by a wide margin, or a model of this machine */
};

/** Of a loop of the program. `machine` NULL: a typical one stands in. */
void sn_data_use_of_loop(const struct sn_machine *machine, const struct sn_profile *profile,
			 struct sn_structures *structures, uint32_t loop, struct sn_data_use *out);
/** How long a pass of a loop takes, by pairs of samples: the median, and the quantiles 0.1 and
 * 0.75. (Above it are pairs that hold time on no CPU.) */
struct sn_pass_time {
	double ns, low_ns, high_ns;
};
/** Also where its data are near. False, and nothing set: not known. */
bool sn_data_use_pass_time(const struct sn_profile *profile, struct sn_structures *structures,
			   uint32_t loop, struct sn_pass_time *out);
/** Of a function with all its loops: NEAR or UNSETTLED. */
void sn_data_use_of_function(const struct sn_profile *profile, struct sn_structures *structures,
			     uint32_t function, struct sn_data_use *out);

#endif
