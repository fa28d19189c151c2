/**
 * Measures an instruction form on this host: throughput from independent instances, latency from a
 * chain through operands of one register class.
 */
#ifndef SN_CQA_MEASURE_H
#define SN_CQA_MEASURE_H

#include "cqa/trip.h"

struct sn_measured {
	double throughput_cycles; /* per instance; NaN: not measured */
	double latency_cycles;	  /* NaN: no operand of the result's class, or not measured */
};

/** SN_ERR_UNSUPPORTED if no instance can be encoded or run here. `passes` as for blocks. */
sn_status sn_measure_form(const struct sn_machine *machine, sn_form form, unsigned passes,
			  struct sn_measured *out, struct sn_error *err);

/** The loop that is measured, for tests: encoded bytes, number of instances; 0 if there is none. */
size_t sn_measure_encode(sn_form form, bool is_chain, uint8_t *bytes, size_t room,
			 unsigned *instances);

#endif
