/* Finds libc's functions of input and output, and makes them be traced where that is asked for. */
#include <dlfcn.h>
#include <string.h>

#include "runtime/core/pages.h"
#include "runtime/io/io.h"

struct sn_io_real sn_io_real;

#define FIND(type, name, parameters, symbol)                                                       \
	sn_io_real.name = (__typeof__(sn_io_real.name))dlsym(RTLD_NEXT, symbol);

void sn_io_resolve(void)
{
	SN_IO_REAL(FIND)
}

static bool make_state(void)
{
	if (!sn_io_state)
		sn_io_state = sn_pages_wiped_in_children(sizeof(*sn_io_state));
	return sn_io_state;
}

static bool install(enum sn_data_origin origin)
{
	if (!sn_config.settings.io)
		return true;
	if (!make_state() || !sn_paths_open() || !sn_trace_open(origin, SN_TRACE_IO)) {
		sn_warn("there was no room for a trace: input and output were not traced");
		return true;
	}
	sn_io_kernel_account(&sn_io_state->start_read, &sn_io_state->start_written);
	atomic_store_explicit(&sn_io_state->is_on, 1, memory_order_release);
	return true;
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct sn_io_thread *io = sn_io_of(thread);

	(void)origin;
	if (!sn_config.settings.io)
		return;
	io->draw = (struct sn_io_draw){ 0 };
	sn_entries_clear(io->entries.streams, &io->entries);
	sn_calls_ask(thread, &sn_io_collector, 1u << SN_WAIT_IO, true);
}

struct sn_collector sn_io_collector = {
	.name = "io",
	.scratch_bytes = sizeof(struct sn_io_thread),
	.load = sn_io_resolve,
	.install = install,
	.thread_begin = begin_thread,
	.thread_end = sn_io_end_thread,
	.account = sn_io_account,
	.after_call = sn_io_after_call,
};
