/* Time, errors and memory of a process. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

int pd_node(void)
{
	return pd_state.me;
}

uint64_t pd_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t pd_now_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

void pd_die(const char *format, ...)
{
	char sentence[512];
	va_list args;
	int length;

	va_start(args, format);
	length = snprintf(sentence, sizeof(sentence), "sonde: pandore: ");
	vsnprintf(sentence + length, sizeof(sentence) - (size_t)length - 1, format, args);
	va_end(args);
	if (pd_state.program && pd_state.program->is_counting)
		pd_doubt(0, strchr(sentence, ':') + 2);
	strcat(sentence, "\n");
	if (pd_net_has_last_word() && write(STDERR_FILENO, sentence, strlen(sentence)) >= 0)
		fsync(STDERR_FILENO);
	pd_net_abort();
}

void pd_die_out_of_memory(void)
{
	pd_die("process %d is out of memory", pd_state.me);
}

void *pd_alloc_zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		pd_die_out_of_memory();
	return memory;
}

long pd_check(long subscript, long extent, const char *array, const char *file, int line)
{
	if (subscript < 0 || subscript >= extent)
		pd_die("%s:%d: node %d: subscript %ld of '%s' is out of bounds: 0 to %ld", file,
		       line, pd_state.me, subscript, array, extent - 1);
	return subscript;
}
