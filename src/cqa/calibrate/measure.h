/**
 * Measures an instruction form on this host: throughput from independent instances, latency from a
 * chain through operands of one register class.
 */
#ifndef SN_CQA_MEASURE_H
#define SN_CQA_MEASURE_H

#include "cqa/calibrate/trip.h"

struct sn_measured {
	double throughput_cycles; /* per instance; NaN: not measured */
	double latency_cycles;	  /* NaN: no operand of the result's class, or not measured */
	bool is_chain; /* the model agrees that the latency's instances wait for each other */
};

/** SN_ERR_UNSUPPORTED if no instance can be encoded or run here. `passes` as for blocks. */
sn_status sn_measure_form(const struct sn_machine *machine, sn_form form, unsigned passes,
			  struct sn_measured *out, struct sn_error *err);

/** Whether small loops are replayed from a buffer. Two loops of one-byte operations are timed that
 * op cache and decoders deliver more slowly than the renamer takes them. One has 13 operations, too
 * many for a line of AMD's op cache. One has 20 with length-changing prefixes, too many for 32
 * bytes of Intel's. A core whose buffer is on runs both at the renamer's width. */
sn_status sn_measure_loop_buffer(const struct sn_machine *machine, bool *is_on,
				 struct sn_error *err);

#endif
