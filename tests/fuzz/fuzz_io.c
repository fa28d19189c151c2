/* Traces of input and output: whatever the bytes are, reading ends, and what it gives is sound. */
#include "io/io.h"

#include "fuzz/trace_program.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct trace_experiment t;
	struct sn_program *program;
	struct sn_io *io;
	struct sn_error err;

	trace_experiment_make(&t, bytes, length);
	program = trace_program(&t);
	if (sn_io_read(program, &io, &err) == SN_OK) {
		check(io);
		sn_io_free(io);
	}
	sn_program_free(program);
	trace_experiment_free(&t);
	return 0;
}
