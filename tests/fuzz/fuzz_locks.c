/* Traces of locks: whatever the bytes are, reading ends, and what it gives is sound. */
#include "locks/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(const struct sn_locks *locks)
{
	uint64_t acquisitions = 0, contended = 0;

	for (size_t i = 0; i < locks->uses.count; i++) {
		acquisitions += locks->uses.items[i].acquisitions;
		contended += locks->uses.items[i].contended;
		if (locks->uses.items[i].object >= locks->objects.count)
			abort();
	}
	if (acquisitions != locks->acquisitions || contended != locks->contended)
		abort();
	for (size_t i = 0; i < locks->blames.count; i++)
		if (locks->blames.items[i].object >= locks->objects.count)
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
	struct sn_locks *locks;
	struct sn_error err;
	char path[64];

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 1000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	for (int32_t tid = 1; tid <= 3; tid++)
		sn_vec_push(&e->threads,
			    (struct sn_thread){ .tid = tid, .name = "t", .end_ns = 1000 });
	program = sn_program_new(e, &resolver);
	if (sn_locks_read(program, &locks, &err) == SN_OK) {
		check(locks);
		sn_locks_free(locks);
	}
	sn_program_free(program);
	sn_experiment_free(e);
	close(fd);
	return 0;
}
