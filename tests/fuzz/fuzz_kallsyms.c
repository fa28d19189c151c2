/* The kernel's list of its functions, of any bytes. */
#include <stdlib.h>

#include "record/kernel_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_kernel_symbols symbols;

	if (sn_kernel_symbols_read_memory((const char *)bytes, length, &symbols, NULL) != SN_OK)
		return 0;
	for (size_t i = 0; i < symbols.items.count; i++)
		if (sn_kernel_symbol_at(&symbols, symbols.items.items[i].load_addr) !=
		    &symbols.items.items[i])
			abort();
	sn_kernel_symbols_free(&symbols);
	return 0;
}
