/* A breakpoint of perf on a function of our own, which is called: is it counted? */
#include "machine/breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 3 };

static __attribute__((noinline)) void watched(void)
{
	__asm__ volatile("" ::: "memory"); /* so that it is called, not known */
}

bool sn_breakpoints_fire(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(attr),
					.bp_type = HW_BREAKPOINT_X,
					.bp_addr = (uintptr_t)watched,
					.bp_len = sizeof(long),
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	void (*volatile call)(void) = watched;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t hits = 0;
	bool is_read;

	if (fd < 0)
		return true;
	for (int i = 0; i < CALLS; i++)
		call();
	is_read = read(fd, &hits, sizeof(hits)) == (ssize_t)sizeof(hits);
	close(fd);
	return !is_read || hits;
}
