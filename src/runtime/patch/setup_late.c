/*
 * Libraries that are loaded while the program runs. The loader calls a function that does nothing whenever its
 * list of modules has changed, for debuggers: after a library is mapped, before its constructors. A jump there
 * calls us. A wrapper of dlopen would make the loader look for libraries as if we were the caller.
 *
 * No thread runs code of a library that was just mapped, so its jumps may be written while others work.
 */
#include "runtime/patch/place.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/core/sys.h"

enum { FUNCTION_ALIGNED = 16, PAGE = 4096 };

static struct r_debug *debug;
static void (*when_changed)(void);

static void modules_changed(void)
{
	int kept = errno;

	if (debug->r_state == RT_CONSISTENT)
		when_changed();
	errno = kept;
}

/* The program's, which the loader has told where its own structure is. */
static int find_debug(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Dyn) * entry;

		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; entry->d_tag != DT_NULL; entry++)
			if (entry->d_tag == DT_DEBUG)
				debug = (struct r_debug *)entry->d_un.d_ptr;
	}
	return 1;
}

/* Where the bytes of a jump fit: a function that only returns, and what is left of its 16 bytes; 0: it is
 * another function than we know, or a debugger's breakpoint is there. */
static uint64_t place_of_jump(void)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *at = (const uint8_t *)debug->r_brk;
	bool is_marked = !memcmp(at, endbr, sizeof(endbr));

	if (debug->r_brk % FUNCTION_ALIGNED || at[is_marked ? 4 : 0] != 0xc3)
		return 0;
	return debug->r_brk + (is_marked ? 4 : 0);
}

bool sn_place_watch_loader(void (*changed)(void))
{
	void (*const target)(void) = modules_changed;
	uint8_t stub[14] = { 0xff, 0x25 }, jump[5] = { 0xe9 }; /* jmp *0(%rip); jmp stub */
	uint64_t at, near;
	int32_t distance;
	bool is_written;
	long memory;

	when_changed = changed;
	dl_iterate_phdr(find_debug, NULL);
	at = debug && debug->r_brk ? place_of_jump() : 0;
	memcpy(stub + 6, &target, sizeof(target));
	near = at ? sn_place_near(at & ~(PAGE - 1UL), (at & ~(PAGE - 1UL)) + PAGE, stub,
				  sizeof(stub))
		  : 0;
	distance = (int32_t)(near - (at + sizeof(jump)));
	memcpy(jump + 1, &distance, sizeof(distance));
	memory = near ? SYS(openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC) : -1;
	is_written =
		memory >= 0 && SYS(pwrite64, memory, jump, sizeof(jump), at) == (long)sizeof(jump);
	if (memory >= 0)
		SYS(close, memory);
	return is_written;
}
