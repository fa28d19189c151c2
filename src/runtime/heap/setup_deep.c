/*
 * Libraries loaded with RTLD_DEEPBIND look for malloc among their own before they come to us. The program
 * reaches their code by dlsym: so each time it asks, entries of libraries that came meanwhile are turned to us,
 * if both their own order and ours end at the same allocator. What a library's constructors allocated is past.
 *
 * dlsym looks at who calls it (RTLD_NEXT), so its wrapper leaves by a jump, with the stack as it was. dlopen
 * does so, too (RUNPATH), and has no end that we could see: it has no wrapper.
 */
#include "runtime/heap/heap.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"

enum { SEEN_MOST = 4096, FRESH_MOST = 64, NAME_BYTES = 512, PAGE = 4096 };

/* A library that came since the last time. */
struct fresh {
	uint64_t load_bias, relro_start, relro_end;
	char name[NAME_BYTES];
};

/* By whoever has the lock. */
static _Atomic uint32_t lock;
static uint64_t seen[SEEN_MOST]; /* load addresses */
static uint32_t seen_count, first_count;
static unsigned long long adds, subs;
static struct fresh fresh[FRESH_MOST];
static uint32_t fresh_count;

/* ---- what is replaced ---- */

struct replaced {
	const char *name;
	void *ours;
	void *const *real; /* of the allocator that ours call; NULL there: not known yet */
};

#define OURS(name) extern char ours_##name[] __asm__(#name);
OURS(malloc)
OURS(free)
OURS(calloc)
OURS(realloc)
OURS(reallocarray)
OURS(memalign)
OURS(aligned_alloc)
OURS(posix_memalign)
OURS(valloc)
OURS(pvalloc)
#define NEW(which, name)    OURS(name)
#define DELETE(which, name) OURS(name)
#include "runtime/heap/operators.h"
#undef NEW
#undef DELETE

#define REAL_AT(member)	    ((void *const *)(const void *)&sn_heap_real.member)
#define NEW(which, name)    { #name, ours_##name, REAL_AT(news[which]) },
#define DELETE(which, name) { #name, ours_##name, REAL_AT(deletes[which]) },
static const struct replaced functions[] = {
	{ "malloc", ours_malloc, REAL_AT(c_alloc) },
	{ "free", ours_free, REAL_AT(c_release) },
	{ "calloc", ours_calloc, REAL_AT(c_zeroed) },
	{ "realloc", ours_realloc, REAL_AT(c_resize) },
	{ "reallocarray", ours_reallocarray, REAL_AT(c_resize_array) },
	{ "memalign", ours_memalign, REAL_AT(c_memalign) },
	{ "aligned_alloc", ours_aligned_alloc, REAL_AT(c_aligned) },
	{ "posix_memalign", ours_posix_memalign, REAL_AT(c_posix) },
	{ "valloc", ours_valloc, REAL_AT(c_valloc) },
	{ "pvalloc", ours_pvalloc, REAL_AT(c_pvalloc) },
#include "runtime/heap/operators.h"
};
#undef NEW
#undef DELETE

static const struct replaced *replaced_of(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

/* ---- one library ---- */

static void write_entry(const struct fresh *library, uint64_t *entry, void *value)
{
	uint64_t at = (uint64_t)(uintptr_t)entry, page = at & ~(uint64_t)(PAGE - 1);
	bool is_closed = at >= library->relro_start && at < library->relro_end;

	if (is_closed &&
	    sn_sys(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_WRITE, 0, 0, 0) != 0)
		return;
	__atomic_store_n(entry, (uint64_t)(uintptr_t)value, __ATOMIC_RELEASE);
	if (is_closed)
		sn_sys(SYS_mprotect, (long)page, PAGE, PROT_READ, 0, 0, 0);
}

/* What the library itself would call by this name is what ours call: then it may call ours. */
static void entries_turn(const struct fresh *library, void *handle, const Elf64_Sym *symbols,
			 const char *strings, const Elf64_Rela *entries, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*entries); i++) {
		uint32_t type = (uint32_t)ELF64_R_TYPE(entries[i].r_info);
		uint64_t *entry = (uint64_t *)(uintptr_t)(library->load_bias + entries[i].r_offset);
		const struct replaced *function;
		void *meant;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		function = replaced_of(strings + symbols[ELF64_R_SYM(entries[i].r_info)].st_name);
		if (!function || *entry == (uint64_t)(uintptr_t)function->ours)
			continue;
		meant = dlsym(handle, function->name);
		if (meant && meant != function->ours &&
		    (!*function->real || meant == *function->real))
			write_entry(library, entry, function->ours);
	}
}

static void library_turn(const struct fresh *library)
{
	void *handle = dlopen(library->name, RTLD_LAZY | RTLD_NOLOAD);
	const struct link_map *map = handle;
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	const Elf64_Rela *calls = NULL, *data = NULL;
	size_t calls_bytes = 0, data_bytes = 0;

	if (!handle)
		return;
	for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)(uintptr_t)d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			symbols = at;
			break;
		case DT_STRTAB:
			strings = at;
			break;
		case DT_JMPREL:
			calls = at;
			break;
		case DT_PLTRELSZ:
			calls_bytes = d->d_un.d_val;
			break;
		case DT_RELA:
			data = at;
			break;
		case DT_RELASZ:
			data_bytes = d->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (map->l_addr == library->load_bias && symbols && strings) {
		entries_turn(library, handle, symbols, strings, calls, calls ? calls_bytes : 0);
		entries_turn(library, handle, symbols, strings, data, data ? data_bytes : 0);
	}
	REAL(dlclose)(handle);
}

/* ---- which came ---- */

static bool is_seen(uint64_t load_bias)
{
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i] == load_bias)
			return true;
	return false;
}

/* As few bytes as possible under the loader's lock: what changes nothing ends at the first. */
static int library_meet(struct dl_phdr_info *info, size_t size, void *context)
{
	struct fresh *library = &fresh[fresh_count];

	(void)size;
	if (info->dlpi_adds == adds && info->dlpi_subs == subs)
		return 1;
	if (info->dlpi_subs != subs) { /* another library may lie where one was */
		seen_count = first_count;
		subs = info->dlpi_subs;
	}
	*(unsigned long long *)context = info->dlpi_adds;
	if (is_seen(info->dlpi_addr) || seen_count == SEEN_MOST || fresh_count == FRESH_MOST ||
	    !info->dlpi_name || strlen(info->dlpi_name) >= NAME_BYTES)
		return 0;
	seen[seen_count++] = info->dlpi_addr;
	if (!info->dlpi_name[0])
		return 0;
	*library = (struct fresh){ .load_bias = info->dlpi_addr };
	memcpy(library->name, info->dlpi_name, strlen(info->dlpi_name) + 1);
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			library->relro_start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			library->relro_end = library->relro_start + info->dlpi_phdr[i].p_memsz;
		}
	fresh_count++;
	return 0;
}

static void libraries_turn(bool is_first)
{
	unsigned long long now_adds = adds;
	uint32_t is_free = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock, &is_free, 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	do {
		fresh_count = 0;
		dl_iterate_phdr(library_meet, &now_adds);
		for (uint32_t i = 0; i < fresh_count && !is_first; i++)
			library_turn(&fresh[i]);
	} while (fresh_count == FRESH_MOST);
	adds = now_adds;
	if (is_first)
		first_count = seen_count;
	atomic_store_explicit(&lock, 0, memory_order_release);
}

/* What is there as the program begins is bound to us. */
void sn_heap_know_libraries(void)
{
	if (!first_count)
		libraries_turn(true);
}

/* ---- dlsym ---- */

/* For the wrapper below alone: gives libc's dlsym. */
__attribute__((used)) static void *before_lookup(uint64_t caller)
{
	static _Atomic(void *) real;
	void *found = atomic_load_explicit(&real, memory_order_relaxed);
	int error = errno;

	if (!found) {
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!found)
			found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		atomic_store_explicit(&real, found, memory_order_relaxed);
	}
	if (!sn_is_own_code(caller) && sn_heap_is_on())
		libraries_turn(false);
	errno = error;
	return found;
}

__attribute__((naked)) void *plain_dlsym(void *handle, const char *name) __asm__("dlsym");

SN_EXPORT void *plain_dlsym(void *handle __attribute__((unused)),
			    const char *name __attribute__((unused)))
{
	__asm__("pushq %rdi\n\t"
		".cfi_adjust_cfa_offset 8\n\t"
		"pushq %rsi\n\t"
		".cfi_adjust_cfa_offset 8\n\t"
		"movq 16(%rsp), %rdi\n\t"
		"subq $8, %rsp\n\t"
		".cfi_adjust_cfa_offset 8\n\t"
		"call before_lookup\n\t"
		"addq $8, %rsp\n\t"
		".cfi_adjust_cfa_offset -8\n\t"
		"popq %rsi\n\t"
		".cfi_adjust_cfa_offset -8\n\t"
		"popq %rdi\n\t"
		".cfi_adjust_cfa_offset -8\n\t"
		"jmp *%rax");
}
