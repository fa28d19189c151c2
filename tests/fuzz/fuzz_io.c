/* Traces of input and output: whatever the bytes are, reading ends, and what it gives is sound. */
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(const struct sn_io *io)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < io->uses.count; i++) {
		calls += io->uses.items[i].calls;
		if (!io->uses.items[i].file)
			abort();
	}
	if (calls != io->calls)
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
	struct sn_io *io;
	struct sn_error err;
	char path[64];

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	program = sn_program_new(e, &resolver);
	if (sn_io_read(program, &io, &err) == SN_OK) {
		check(io);
		sn_io_free(io);
	}
	sn_program_free(program);
	sn_experiment_free(e);
	close(fd);
	return 0;
}
