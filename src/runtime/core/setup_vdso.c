/* The kernel's own clocks, found in its image in memory. There no library can change what they say. */
#include "runtime/core/setup.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

/* The vDSO is an ELF image in memory: find a dynamic symbol by name. It is the kernel's own, so it
 * is trusted. */
void sn_setup_vdso(void)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)base;
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL;
	uintptr_t bias = 0;
	const Elf64_Dyn *dynamic = NULL;

	sn_config.signal_frame_bytes = (uint32_t)getauxval(51 /* AT_MINSIGSTKSZ */);
	if (sn_config.signal_frame_bytes < 4096)
		sn_config.signal_frame_bytes = 4096;
	if (!base)
		return;
	for (int i = 0; i < ehdr->e_phnum; i++) {
		const Elf64_Phdr *phdr = (const Elf64_Phdr *)(base + ehdr->e_phoff) + i;
		if (phdr->p_type == PT_LOAD && phdr->p_offset == 0)
			bias = base - phdr->p_vaddr;
		else if (phdr->p_type == PT_DYNAMIC)
			dynamic = (const Elf64_Dyn *)(base + phdr->p_offset);
		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X)) {
			sn_config.vdso_start = bias + phdr->p_vaddr;
			sn_config.vdso_end = sn_config.vdso_start + phdr->p_memsz;
		}
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t at = bias + dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const Elf64_Sym *)at;
		else if (dynamic->d_tag == DT_STRTAB)
			strings = (const char *)at;
		else if (dynamic->d_tag == DT_HASH)
			hash = (const uint32_t *)at;
	}
	/* newer kernels have no DT_HASH: the table ends where the strings begin */
	size_t count = !symbols || !strings ? 0
		       : hash		    ? hash[1]
			      : ((uintptr_t)strings - (uintptr_t)symbols) / sizeof *symbols;
	for (size_t i = 0; i < count; i++) {
		uintptr_t at = bias + symbols[i].st_value;
		if (!strcmp(strings + symbols[i].st_name, "__vdso_clock_gettime"))
			sn_config.clock_gettime = (int (*)(clockid_t, struct timespec *))at;
		else if (!strcmp(strings + symbols[i].st_name, "__vdso_getcpu"))
			sn_config.getcpu = (long (*)(unsigned *, unsigned *, void *))at;
	}
}
