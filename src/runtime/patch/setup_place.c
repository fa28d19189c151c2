/* Modules that have plans: their copies are mapped near them and the jumps are written (place.h). */
#include "runtime/patch/place.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/core/sys.h"
#include "wire/build_id.h"

enum {
	MAPS_BYTES = 1 << 20,
	PLACE_ATTEMPTS = 8,
	HOLES_FROM = 65536, /* vm.mmap_min_addr */
	PAGE = 4096,
};
#define REACH_BYTES (INT64_C(2040) << 20)

/* ---- finding ---- */

/* The build-id in the notes of a loaded module. */
static const uint8_t *find_build_id(const struct dl_phdr_info *info, uint32_t *bytes)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const uint8_t *id = NULL;

		if (phdr->p_type == PT_NOTE)
			id = sn_build_id_find((const uint8_t *)(info->dlpi_addr + phdr->p_vaddr),
					      phdr->p_memsz, SN_PLAN_ID_MAX, bytes);
		if (id)
			return id;
	}
	return NULL;
}

static bool map_plan(const char *folder, const uint8_t *id, uint32_t id_bytes, struct sn_plan *plan,
		     bool *is_damaged)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path) - 2 * SN_PLAN_ID_MAX, "%s/plan.", folder);
	struct stat about;
	long fd, at;

	if (length < 0 || (size_t)length >= sizeof(path) - 2 * SN_PLAN_ID_MAX)
		return false;
	for (uint32_t i = 0; i < id_bytes; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x", id[i]);
	fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (SYS(newfstatat, fd, "", &about, AT_EMPTY_PATH) != 0 || about.st_size <= 0) {
		SYS(close, fd);
		return false;
	}
	at = SYS(mmap, NULL, about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	SYS(close, fd);
	if (at < 0 && at > -PAGE)
		return false;
	if (sn_plan_read((const void *)at, (uint64_t)about.st_size, plan) &&
	    plan->header->id_bytes == id_bytes && !memcmp(plan->header->id, id, id_bytes))
		return true;
	*is_damaged = true;
	SYS(munmap, at, about.st_size);
	return false;
}

/* ---- placing ---- */

static char *read_maps(void)
{
	long at = SYS(mmap, NULL, MAPS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	long fd = SYS(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC), got;
	size_t length = 0;

	if (at < 0 && at > -PAGE)
		return NULL;
	while (fd >= 0 && length + 1 < MAPS_BYTES &&
	       (got = SYS(read, fd, at + (long)length, MAPS_BYTES - 1 - length)) > 0)
		length += (size_t)got;
	if (fd >= 0)
		SYS(close, fd);
	return (char *)at;
}

static uint64_t parse_hex(const char **at)
{
	uint64_t value = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* The place for `bytes` nearest below the module; above it only for libraries, as above the program
 * its heap grows. 0: none within reach. */
static uint64_t find_hole(const char *maps, const struct sn_place *module, uint64_t bytes,
			  bool is_program)
{
	uint64_t end = HOLES_FROM, below = 0, above = 0;

	for (const char *line = maps; *line;) {
		uint64_t first = parse_hex(&line), last;

		line++;
		last = parse_hex(&line);
		if (first > end && first - end >= bytes + 2 * PAGE) {
			if (first <= module->start)
				below = first - bytes - PAGE;
			else if (end >= module->end && !above)
				above = end + PAGE;
		}
		end = last > end ? last : end;
		while (*line && *line++ != '\n')
			continue;
	}
	if (below && module->end - below < (uint64_t)REACH_BYTES)
		return below;
	if (above && !is_program && above + bytes - module->start < (uint64_t)REACH_BYTES)
		return above;
	return 0;
}

static bool relocate(const struct sn_place *module, const struct sn_place_calls *calls,
		     uint32_t first_loop, uint8_t *code)
{
	const struct sn_plan *plan = &module->plan;

	for (uint32_t i = 0; i < plan->header->relocation_count; i++) {
		const struct sn_plan_relocation *relocation = &plan->relocations[i];
		int64_t value = relocation->addend;
		int32_t field;

		if (relocation->kind == SN_PLAN_PC)
			value += (int64_t)(module->info->dlpi_addr - module->code) -
				 relocation->offset;
		else if (relocation->kind == SN_PLAN_THREAD)
			value += calls->thread_words;
		else
			value += first_loop;
		if (relocation->kind == SN_PLAN_SLOT)
			value *= (int64_t)sizeof(struct sn_plan_slot);
		else if (relocation->kind == SN_PLAN_PLACE)
			value *= (int64_t)sizeof(uint64_t);
		field = (int32_t)value;
		if (field != value)
			return false;
		memcpy(code + relocation->offset, &field, sizeof(field));
	}
	for (int c = 0; c < SN_PLAN_CALLS; c++)
		memcpy(code + plan->header->calls[c], &calls->call[c], sizeof(calls->call[c]));
	return true;
}

/* Never writable and executable at one time: written to a file of memory, then mapped. */
static bool map_bytes(uint64_t at, const uint8_t *code, uint64_t bytes)
{
	long fd = SYS(memfd_create, "sonde-copies", 1 /* MFD_CLOEXEC */);
	bool is_mapped = false;

	if (fd < 0)
		return false;
	if (SYS(pwrite64, fd, code, bytes, 0) == (long)bytes)
		is_mapped = SYS(mmap, at, bytes, PROT_READ | PROT_EXEC,
				MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == (long)at;
	SYS(close, fd);
	return is_mapped;
}

/* `buffer` has room for the code. */
static bool map_code(const struct sn_place *module, const struct sn_place_calls *calls,
		     uint32_t first_loop, uint8_t *buffer)
{
	uint64_t bytes = module->plan.header->code_bytes;

	memcpy(buffer, module->plan.code, bytes);
	return relocate(module, calls, first_loop, buffer) &&
	       map_bytes(module->code, buffer, bytes);
}

uint64_t sn_place_near(uint64_t start, uint64_t end, const uint8_t *code, uint64_t bytes)
{
	struct sn_place module = { .start = start, .end = end };
	char *maps = read_maps();
	uint64_t at = maps ? find_hole(maps, &module, PAGE, false) : 0;

	if (maps)
		SYS(munmap, maps, MAPS_BYTES);
	return at && map_bytes(at, code, bytes) ? at : 0;
}

/* ---- writing ---- */

static bool is_code(const struct dl_phdr_info *info, uint64_t link_addr, uint32_t bytes)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X && link_addr >= phdr->p_vaddr &&
		    link_addr - phdr->p_vaddr <= phdr->p_filesz - bytes)
			return true;
	}
	return false;
}

bool sn_place_is_as_expected(const struct sn_place *module)
{
	for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
		const struct sn_plan_patch *patch = &module->plan.patches[i];

		if (!is_code(module->info, patch->link_addr, patch->length) ||
		    memcmp((const void *)(module->info->dlpi_addr + patch->link_addr),
			   patch->expected, patch->length) != 0)
			return false;
	}
	return true;
}

static bool write_patch(const struct sn_place *module, const struct sn_plan_patch *patch,
			long memory)
{
	uint64_t at = module->info->dlpi_addr + patch->link_addr;
	uint8_t bytes[5] = { 0xe9 };
	int64_t far = (int64_t)(module->code + patch->target - (at + 5));
	int32_t field = (int32_t)far;

	if (patch->length == 2) {
		bytes[0] = 0xeb;
		bytes[1] = (uint8_t)patch->target;
	} else {
		if (field != far)
			return false;
		memcpy(bytes + 1, &field, sizeof(field));
	}
	return SYS(pwrite64, memory, bytes, patch->length, at) == (long)patch->length;
}

bool sn_place_write(const struct sn_place *module)
{
	long memory = SYS(openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
	uint32_t count = module->plan.header->patch_count, written = 0;

	if (memory < 0)
		return false;
	while (written < count && write_patch(module, &module->plan.patches[written], memory))
		written++;
	for (uint32_t i = written; written < count && i-- > 0;)
		SYS(pwrite64, memory, module->plan.patches[i].expected,
		    module->plan.patches[i].length,
		    module->info->dlpi_addr + module->plan.patches[i].link_addr);
	SYS(close, memory);
	return written == count;
}

/* ---- all of a module ---- */

bool sn_place_code(struct sn_place *module, bool is_program, const struct sn_place_calls *calls,
		   uint32_t first_loop)
{
	uint64_t bytes = (module->plan.header->code_bytes + PAGE - 1) & ~(PAGE - 1UL);
	/* mapped before a place is looked for, as the kernel may put it into the one that is found */
	long buffer =
		SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_placed = false;

	if (buffer < 0 && buffer > -PAGE)
		return false;
	for (int attempt = 0; attempt < PLACE_ATTEMPTS && !is_placed; attempt++) {
		char *maps = read_maps();

		module->code = maps ? find_hole(maps, module, bytes, is_program) : 0;
		is_placed = module->code && map_code(module, calls, first_loop, (uint8_t *)buffer);
		if (maps)
			SYS(munmap, maps, MAPS_BYTES);
	}
	SYS(munmap, buffer, bytes);
	return is_placed;
}

bool sn_place_find(const struct dl_phdr_info *info, const char *folder, struct sn_place *out,
		   bool *is_damaged)
{
	uint32_t id_bytes = 0;
	const uint8_t *id = find_build_id(info, &id_bytes);

	*is_damaged = false;
	*out = (struct sn_place){ .info = info, .start = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		out->start = start < out->start ? start : out->start;
		out->end = start + phdr->p_memsz > out->end ? start + phdr->p_memsz : out->end;
	}
	return id && map_plan(folder, id, id_bytes, &out->plan, is_damaged);
}

struct walk {
	struct sn_place_look *look;
	void (*visit)(const struct dl_phdr_info *info, bool is_program);
	uint64_t at;
};

static int walk_visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct walk *walk = context;
	struct sn_place_look *look = walk->look;
	bool is_program = walk->at == 0;

	(void)size;
	if (is_program && info->dlpi_subs != look->subs) {
		look->modules = 0; /* new ones come last, if none went */
		look->subs = info->dlpi_subs;
	}
	if (walk->at++ >= look->modules)
		walk->visit(info, is_program);
	return 0;
}

void sn_place_look(struct sn_place_look *look,
		   void (*visit)(const struct dl_phdr_info *info, bool is_program))
{
	struct walk walk = { look, visit, 0 };

	dl_iterate_phdr(walk_visit, &walk);
	look->modules = walk.at;
}

bool sn_place_is_alone(void)
{
	struct stat about;

	return stat("/proc/self/task", &about) == 0 && about.st_nlink == 3;
}
