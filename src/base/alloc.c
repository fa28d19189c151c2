/*
 * The one place where allocation fails: it prints one line and exits with 70. Every other
 * allocation of the tools goes through here, so callers need no failure path.
 */
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void sn_out_of_memory(size_t bytes)
{
	fprintf(stderr,
		"sonde: out of memory: %zu bytes more were refused; give it more memory or a "
		"smaller input\n",
		bytes);
	exit(SN_EXIT_NOMEM);
}

void *sn_alloc(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		sn_out_of_memory(bytes);
	return memory;
}

void *sn_alloc_zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes ? bytes : 1);

	if (!memory)
		sn_out_of_memory(count * bytes);
	return memory;
}

void *sn_realloc_array(void *old, size_t count, size_t bytes)
{
	void *memory = reallocarray(old, count ? count : 1, bytes ? bytes : 1);

	if (!memory)
		sn_out_of_memory(count * bytes);
	return memory;
}

char *sn_strndup(const char *chars, size_t length)
{
	char *copy = sn_alloc(length + 1);

	memcpy(copy, chars, length);
	copy[length] = '\0';
	return copy;
}

char *sn_strdup(const char *chars)
{
	return sn_strndup(chars, strlen(chars));
}
