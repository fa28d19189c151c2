/* Traces of OpenMP: whatever the bytes are, reading ends, and what it gives is sound. */
#include "openmp/openmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const struct sn_resolver resolver = { NULL, NULL, resolve_nothing };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_program *program;
	struct sn_openmp *openmp;
	struct sn_error err;
	char path[64];

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	program = sn_program_new(e, &resolver);
	if (sn_openmp_read(program, &openmp, &err) == SN_OK) {
		check(openmp);
		sn_openmp_free(openmp);
	}
	sn_program_free(program);
	sn_experiment_free(e);
	close(fd);
	return 0;
}
