/* A preload whose malloc fails: every third call, once the program has begun. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static void *(*real)(size_t);
static unsigned calls;

__attribute__((constructor)) static void find(void)
{
	real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

extern void *__libc_malloc(size_t);

void *malloc(size_t bytes)
{
	if (!real)
		return __libc_malloc(bytes);
	return __sync_add_and_fetch(&calls, 1) % 3 ? real(bytes) : NULL;
}
