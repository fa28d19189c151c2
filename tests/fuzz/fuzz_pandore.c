/* The compiler of Pandore programs on any bytes: it may refuse them, it may not fall over. */
#include <string.h>

#include "pandore/compiler/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void compile(const uint8_t *bytes, size_t length, enum sn_pnd_scheme scheme, bool check)
{
	struct sn_arena arena = { 0 };
	struct sn_pnd_diags diags = { .arena = &arena };
	struct sn_pnd_options options = { .scheme = scheme, .check = check, .explain = true };
	struct sn_pnd_file file = { "fuzz.pnd", (const char *)bytes, length };
	struct sn_pnd_result result = { 0 };

	sn_vec_push(&diags.files, file);
	sn_pnd_compile(&diags, &options, &result);
	sn_pnd_result_free(&result);
	sn_pnd_diags_free(&diags);
	sn_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (length > 1 << 16)
		return 0;
	compile(bytes, length, SN_PND_OPT, false);
	compile(bytes, length, SN_PND_NAIVE, length & 1);
	return 0;
}
