/** The kernel's own list of its functions, as /proc/kallsyms has it. */
#ifndef SN_RECORD_KERNEL_SYMBOLS_H
#define SN_RECORD_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct sn_kernel_symbol {
	uint64_t load_addr, size_bytes; /* up to the next one */
	const char *name;
	const char *module; /* "ext4"; NULL: the kernel itself */
};

struct sn_kernel_symbols {
	struct sn_arena arena;
	SN_VEC(struct sn_kernel_symbol) items; /* by address; one of those at equal addresses */
};

/** Reads /proc/kallsyms. SN_ERR_UNSUPPORTED: it is not there, or the kernel hides its addresses. */
sn_status sn_kernel_symbols_read(struct sn_kernel_symbols *out, struct sn_error *err);
/** The same from bytes: "ADDRESS TYPE name [module]" lines; what does not parse is left out. */
sn_status sn_kernel_symbols_read_memory(const char *bytes, size_t length,
					struct sn_kernel_symbols *out, struct sn_error *err);
/** The one around an address; NULL: none. */
const struct sn_kernel_symbol *sn_kernel_symbol_at(const struct sn_kernel_symbols *symbols,
						   uint64_t load_addr);
void sn_kernel_symbols_free(struct sn_kernel_symbols *symbols);

#endif
