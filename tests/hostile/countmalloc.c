/* Preloaded: counts allocations made while every signal is blocked, as it is in sonde's handlers.
 * Writes the count to the file that COUNT_MALLOC names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long inside, outside;
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

static void count(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, 0, NULL, &mask, 8);
	if (__builtin_popcountll(mask) >= 57)
		inside++;
	else
		outside++;
}

void *malloc(size_t bytes)
{
	if (!next_malloc)
		next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	count();
	return next_malloc(bytes);
}

void free(void *memory)
{
	if (!next_free)
		next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	count();
	next_free(memory);
}

__attribute__((destructor)) static void report(void)
{
	char text[64];
	const char *path = getenv("COUNT_MALLOC");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
	int length = snprintf(text, sizeof text, "%ld %ld\n", (long)inside, (long)outside);

	if (fd >= 0 && write(fd, text, (size_t)length) < 0)
		_exit(99);
}
