/* Names of functions without what compilers add to those of their copies and parts. */
#include "compare/names.h"

#include <string.h>

/* Where the name of a copy or part that a compiler made of a function goes on behind the function's
 * own name (gcc's clones, outlined regions and cold halves; LLVM's are alike). The length of the
 * name if it does not. */
static size_t own_name_length(const char *name)
{
	static const char *const words[] = { "constprop", "isra",	  "part",
					     "cold",	  "lto_priv",	  "_omp_fn",
					     "llvm",	  "omp_outlined", "omp_outlined_debug__" };

	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		for (size_t w = 0; dot > name && w < sizeof(words) / sizeof(*words); w++) {
			size_t length = strlen(words[w]);

			if (!strncmp(dot + 1, words[w], length) &&
			    (!dot[1 + length] || dot[1 + length] == '.' || dot[1 + length] == ']'))
				return (size_t)(dot - name);
		}
	return strlen(name);
}

size_t sn_compare_own_length(const char *name)
{
	static const char clone[] = " [clone "; /* how demanglers write the rest */
	size_t length = own_name_length(name), tail = sizeof(clone) - 1;

	if (length > tail && name[length] && !strncmp(name + length - tail, clone, tail))
		length -= tail;
	return length;
}

const char *sn_compare_own_name(struct sn_arena *arena, const char *name)
{
	return sn_arena_strndup(arena, name, sn_compare_own_length(name));
}
