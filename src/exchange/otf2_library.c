/* libotf2, under the names that it has upstream and in Debian. */
#include "exchange/otf2_library.h"

#include <dlfcn.h>
#include <stddef.h>

static void *library_load(void)
{
	static const char *const names[] = { "libotf2.so.10", "libopen-trace-format2.so.10" };
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(*names); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

const struct sn_otf2 *sn_otf2_library(struct sn_error *err)
{
	static struct sn_otf2 otf2;
	static bool is_loaded;
	void *library = is_loaded ? NULL : library_load();

	if (is_loaded)
		return &otf2;
	if (!library) {
		sn_error_set(err, SN_ERR_UNSUPPORTED,
			     "--to otf2 needs libotf2 3 (Debian: apt-get install "
			     "libopen-trace-format2-10)");
		return NULL;
	}
#define LOAD(name)                                                                                 \
	*(void **)&otf2.name = dlsym(library, "OTF2_" #name);                                      \
	if (!otf2.name) {                                                                          \
		sn_error_set(err, SN_ERR_UNSUPPORTED,                                              \
			     "the libotf2 that is installed lacks OTF2_" #name                     \
			     "; --to otf2 needs version 3");                                       \
		return NULL;                                                                       \
	}
	SN_OTF2_FUNCTIONS(LOAD)
#undef LOAD
	is_loaded = true;
	return &otf2;
}
