/* perf maps and jitdumps. */
#include "code/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_jit *jit = NULL;

	if (sn_jit_read_memory(bytes, length, "fuzz", &jit, NULL) == SN_OK) {
		size_t count;
		const struct sn_jit_symbol *symbols = sn_jit_symbols(jit, &count);

		for (size_t i = 0; i < count; i++)
			sn_jit_symbol_at(jit, symbols[i].load_addr, symbols[i].since_ns);
	}
	sn_jit_free(jit);
	return 0;
}
