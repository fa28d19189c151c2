/* The constructor: from the loading of the library to the first measured instruction. */
#include "runtime/core/setup.h"

#include <fcntl.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/core/collector.h"
#include "runtime/core/packets.h"
#include "runtime/core/pages.h"
#include "runtime/core/real.h"
#include "runtime/core/signals.h"

extern void *__libc_stack_end;

/* The main stack ends at the end of its mapping: stat's field 28 is where it began. */
static uint64_t main_stack_end(void)
{
	char text[1024];

	sn_read_small_file("/proc/self/stat", text, sizeof text);
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	uint64_t start = at ? strtoull(at + 1, NULL, 10) : 0;
	return start ? start : (uint64_t)(uintptr_t)__libc_stack_end;
}

static bool is_traced(void)
{
	char text[2048];

	sn_read_small_file("/proc/self/status", text, sizeof text);
	const char *at = strstr(text, "TracerPid:");
	return at && strtol(at + strlen("TracerPid:"), NULL, 10) != 0;
}

/* Where the main thread's stack ends, our own text, the host's name. */
static void setup_places(void)
{
	struct utsname names;

	sn_config.is_traced = is_traced();

	if (uname(&names) == 0)
		snprintf(sn_config.host, sizeof sn_config.host, "%.63s", names.nodename);
	for (char *c = sn_config.host; *c; c++)
		if (*c == '/')
			*c = '_';
	sn_config.main_stack_end = main_stack_end();
}

/* The state and its tables in one mapping, which the kernel wipes in every child: a child sets it
 * up again in place. */
static bool make_state(void)
{
	size_t intern_at = (sizeof(struct sn_state) + 4095) & ~4095UL;
	size_t blocks_at = intern_at + SN_INTERN_SLOTS * sizeof(uint64_t);
	size_t tables_at = blocks_at + SN_BLOCKS_MAX * sizeof(void *);
	size_t bytes = tables_at + SN_TABLES * sizeof(struct sn_module_table);
	static uint8_t *mapping;

	if (!mapping) {
		mapping = sn_pages_wiped_in_children(bytes);
		if (!mapping)
			return false;
	}
	struct sn_state *state = (void *)mapping;
	state->intern = (void *)(mapping + intern_at);
	state->blocks = (void *)(mapping + blocks_at);
	for (int i = 0; i < SN_TABLES; i++)
		state->tables[i] = (struct sn_module_table *)(void *)(mapping + tables_at) + i;
	state->free_blocks = 0xffffffff;
	state->pid = (int32_t)SYS(getpid);
	sn_state = state;
	return true;
}

bool sn_start_image(enum sn_data_origin origin, uint32_t parent_sequence)
{
	uint32_t chunks =
		origin == SN_DATA_ORIGIN_FORK ? SN_DATA_CHUNKS_FIRST / 4 : SN_DATA_CHUNKS_FIRST;

	if (!make_state() || !sn_file_create(origin, parent_sequence, chunks))
		return false;
	sn_signals_adopt();
	struct sn_thread *self = sn_thread_new();
	if (!self)
		return false;
	sn_thread_begin(self, true);
	sn_config.sequence_of_parent = sn_header()->sequence;
	sn_file_describe(&self->writer);
	sn_modules_start();
	if (!sn_collect_install(origin))
		return false;
	atomic_store_explicit(&sn_header()->state, SN_DATA_RUNNING, memory_order_release);
	int64_t now_ns = sn_now_ns();
	sn_packet_write(self, SN_PACKET_START, NULL, now_ns);
	sn_state->next_packet_ns = now_ns + (int64_t)sn_config.settings.packets_ns;
	atomic_store_explicit(&sn_state->active, 1, memory_order_release);
	return true;
}

/* Registered before the program registers anything, even the loader's own finalizer: so these run
 * last of all. */
static void stop(int status, void *unused)
{
	(void)unused;
	sn_finish(SN_DATA_EXITED, status & 0xff);
}

static void stop_quickly(void)
{
	sn_finish(SN_DATA_EXITED, -1);
}

/* All that the calling thread does from here on is the runtime's own: CPU time tells best. */
static int64_t cpu_now_ns(void)
{
	int64_t cpu_ns = sn_thread_cpu_ns(0);

	return cpu_ns < 0 ? 0 : cpu_ns;
}

/*
 * The library is linked with -z initfirst: the loader calls this before the constructors of all
 * others, of libc too, so that threads and time of theirs are measured. Only one library can have
 * that; with another that has (libpthread before glibc 2.34), it comes last.
 */
__attribute__((constructor(101))) static void start(int count, char **arguments, char **variables)
{
	int64_t begin_ns = cpu_now_ns();

	(void)count, (void)arguments;
	if (!environ)
		environ = variables; /* as libc's constructor does */
	sn_real_resolve();
	bool has_room = sn_collect_load();
	if (!sn_setup_environment() || !has_room)
		return;
	sn_setup_vdso();
	setup_places();
	sn_config.start_tsc = __builtin_ia32_rdtsc();
	sn_config.start_tsc_ns = sn_now_ns();
	sn_config.is_set_up = true;
	sn_config.is_followed = sn_setup_is_followed();
	if (!sn_config.is_followed)
		return;
	sn_fork_start();
	sn_pthread_start();
	on_exit(stop, NULL);
	at_quick_exit(stop_quickly);
	if (!sn_start_image(SN_DATA_ORIGIN_EXEC, UINT32_MAX)) {
		sn_start_failed();
		return;
	}
	sn_collect_resume(sn_self);
	sn_setup_adopt();
	atomic_fetch_add(&sn_header()->overhead_ns, (uint64_t)(cpu_now_ns() - begin_ns));
}
