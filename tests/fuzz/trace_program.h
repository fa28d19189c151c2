/* The program of an experiment with nothing but a trace, whose addresses have no names. */
#ifndef FUZZ_TRACE_PROGRAM_H
#define FUZZ_TRACE_PROGRAM_H

#include "fuzz/trace_experiment.h"
#include "profile/program.h"

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

static inline struct sn_program *trace_program(struct trace_experiment *t)
{
	static const struct sn_resolver resolver = { NULL, NULL, resolve_nothing };

	return sn_program_new(t->experiment, &resolver);
}

#endif
