/**
 * Fills struct sn_unwind_module from program headers in memory, or from the bytes of an ELF file.
 */
#ifndef SN_UNWIND_MODULE_H
#define SN_UNWIND_MODULE_H

#include <elf.h>

#include "unwind/unwind.h"

/**
 * An image mapped in this process: `phdrs` as dl_iterate_phdr gives them, `load_bias` its
 * dlpi_addr. Reads the few bytes of .eh_frame_hdr that say where .eh_frame begins. Without
 * PT_GNU_EH_FRAME the module has no rules (a reader of the file can add eh_frame and an index).
 * False if nothing is executable. Calls nothing.
 */
bool sn_unwind_module_of_process(struct sn_unwind_module *module, const Elf64_Phdr *phdrs,
				 uint32_t phdr_count, uint64_t load_bias);

/**
 * An ELF file's bytes (untrusted, borrowed), as it lies in a process with this `load_bias`. Finds
 * .eh_frame by section headers where there are some, by PT_GNU_EH_FRAME otherwise. False if the
 * bytes are no little-endian x86-64 ELF with executable code.
 */
bool sn_unwind_module_of_file(struct sn_unwind_module *module, const uint8_t *bytes,
			      uint64_t length, uint64_t load_bias);

#endif
