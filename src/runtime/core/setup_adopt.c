/* Finds the threads that were there before our constructor (core/adopt_handler.c). */
#include "runtime/core/setup.h"

#include "runtime/core/signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_MAX = 8 }; /* a thread that we do not know yet may make others meanwhile */

/* As the kernel's getdents64 gives it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool blocks_our_signals(int32_t tid)
{
	char path[64], text[4096];

	snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
	sn_read_small_file(path, text, sizeof text);
	const char *at = strstr(text, "SigBlk:");
	return !at || (strtoull(at + strlen("SigBlk:"), NULL, 16) & SN_SIGNAL_BITS) != 0;
}

static bool is_known(int32_t tid)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++)
		if (sn_state->blocks[i] && sn_state->blocks[i]->tid == tid)
			return true;
	return false;
}

/* A signal must not come while it is blocked: kernels before 5.18 kill the process for a perf
 * event's. Such a thread is sampled from its first call of a wrapper on. */
static void adopt(int32_t tid)
{
	struct sn_thread *thread = sn_thread_new();

	if (!thread)
		return;
	sn_thread_await(thread, tid);
	if (sn_config.settings.period_ns && !blocks_our_signals(tid))
		sn_events_start(thread);
	atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

static bool adopt_unknown(long folder)
{
	char bytes[4096] __attribute__((aligned(8)));
	bool has_found = false;
	long length;

	while ((length = SYS(getdents64, folder, bytes, sizeof bytes)) > 0)
		for (long at = 0; at < length;) {
			const struct entry *entry = (const void *)(bytes + at);
			int32_t tid = (int32_t)strtol(entry->name, NULL, 10);
			at += entry->bytes;
			if (tid <= 0 || is_known(tid))
				continue;
			adopt(tid);
			has_found = true;
		}
	return has_found;
}

void sn_setup_adopt(void)
{
	for (int look = 0; look < LOOKS_MAX; look++) {
		long folder = SYS(openat, AT_FDCWD, "/proc/self/task",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0)
			return;
		bool has_found = adopt_unknown(folder);
		SYS(close, folder);
		if (!has_found)
			return;
		sn_locks_watch();
		sn_altstacks_are_used(); /* by them, for all we know */
	}
}
