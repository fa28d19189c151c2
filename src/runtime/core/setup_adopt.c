/* Finds the threads that were there before our constructor (core/adopt_handler.c). */
#include "runtime/core/adopt.h"

#include "runtime/core/collector.h"
#include "runtime/core/setup.h"
#include "runtime/core/signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

enum {
	LOOKS_MAX = 8, /* a thread that we do not know yet may make others meanwhile */
	STARTS_MAX = 50,
};

/* As the kernel's getdents64 gives it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool is_known(int32_t tid)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++)
		if (sn_state->blocks[i] && sn_state->blocks[i]->tid == tid)
			return true;
	return false;
}

/* One that begins at this moment unblocks its signals soon; later looks are a second apart. */
static void wait_for_start(int32_t tid)
{
	const struct timespec moment = { .tv_nsec = 200000 };

	for (int look = 0; look < STARTS_MAX && sn_adopt_is_starting(tid); look++)
		SYS(nanosleep, &moment, NULL);
}

static void adopt(int32_t tid)
{
	struct sn_thread *thread = sn_thread_new();

	if (!thread)
		return;
	sn_thread_await(thread, tid);
	wait_for_start(tid);
	sn_adopt_open(thread);
	sn_leave(thread);
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
		sn_collect_share();
		sn_altstacks_are_used(); /* by them, for all we know */
	}
}
