/* Traces of OpenMP: whatever the bytes are, reading ends, and what it gives is sound. */
#include "openmp/openmp.h"

#include "fuzz/trace_program.h"

static void check(const struct sn_openmp *openmp)
{
	for (size_t i = 0; i < openmp->regions.count; i++) {
		const struct sn_openmp_region *region = &openmp->regions.items[i];

		if (!(sn_openmp_imbalance(region) >= 0 && sn_openmp_imbalance(region) <= 1) ||
		    !(sn_openmp_wait_ns(region) >= 0) || !(region->gain_ns >= 0))
			abort();
	}
	for (size_t i = 0; i < openmp->places.count; i++)
		if (openmp->places.items[i].region != SN_NONE &&
		    openmp->places.items[i].region >= openmp->regions.count)
			abort();
	for (size_t i = 0; i < openmp->members.count; i++)
		if (openmp->members.items[i].region >= openmp->regions.count)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct trace_experiment t;
	struct sn_program *program;
	struct sn_openmp *openmp;
	struct sn_error err;

	trace_experiment_make(&t, bytes, length);
	program = trace_program(&t);
	if (sn_openmp_read(program, &openmp, &err) == SN_OK) {
		check(openmp);
		sn_openmp_free(openmp);
	}
	sn_program_free(program);
	trace_experiment_free(&t);
	return 0;
}
