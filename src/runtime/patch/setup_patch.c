/*
 * The constructor's part: for each module that has a plan, its copies are mapped near it and the
 * jumps are written. All of a module's patches are checked before the first is written; what cannot
 * be had is said, and the program runs as it is.
 */
#include "runtime/patch/patch.h"

#include "runtime/core/signals.h"

#include <cpuid.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	MAPS_BYTES = 1 << 20,
	PLACE_ATTEMPTS = 8,
	HOLES_FROM = 65536, /* vm.mmap_min_addr */
	PAGE = 4096,
};
#define REACH_BYTES (INT64_C(2040) << 20)

struct module {
	const struct dl_phdr_info *info;
	uint64_t start, end;
	struct sn_plan plan;
	uint64_t code;
};

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

static bool map_plan(const uint8_t *id, uint32_t id_bytes, struct sn_plan *plan)
{
	char path[SN_SETTINGS_PATH_MAX + 2 * SN_PLAN_ID_MAX + 8];
	int length = snprintf(path, sizeof(path), "%s/plan.", sn_config.settings.dir);
	struct stat about;
	long fd, at;

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
	sn_warn("a plan of copies is damaged: the loops of its module are not counted");
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
static uint64_t find_hole(const char *maps, const struct module *module, uint64_t bytes,
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

static bool relocate(const struct module *module, uint32_t first_loop, uint8_t *code)
{
	const struct sn_plan *plan = &module->plan;
	static void *const calls[SN_PLAN_CALLS] = { (void *)sn_patch_first, (void *)sn_patch_begin,
						    (void *)sn_patch_end,   (void *)sn_patch_next,
						    (void *)sn_trace_full,  (void *)sn_variant_run,
						    (void *)sn_variant_exit };

	for (uint32_t i = 0; i < plan->header->relocation_count; i++) {
		const struct sn_plan_relocation *relocation = &plan->relocations[i];
		int64_t value = relocation->addend;
		int32_t field;

		if (relocation->kind == SN_PLAN_PC)
			value += (int64_t)(module->info->dlpi_addr - module->code) -
				 relocation->offset;
		else if (relocation->kind == SN_PLAN_THREAD)
			value += (int64_t)((uintptr_t)&sn_patch_words -
					   (uintptr_t)__builtin_thread_pointer());
		else
			value += first_loop;
		if (relocation->kind == SN_PLAN_SLOT)
			value *= (int64_t)sizeof(struct sn_plan_slot);
		field = (int32_t)value;
		if (field != value)
			return false;
		memcpy(code + relocation->offset, &field, sizeof(field));
	}
	for (int c = 0; c < SN_PLAN_CALLS; c++)
		memcpy(code + plan->header->calls[c], &calls[c], sizeof(calls[c]));
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
static bool map_code(const struct module *module, uint32_t first_loop, uint8_t *buffer)
{
	uint64_t bytes = module->plan.header->code_bytes;

	memcpy(buffer, module->plan.code, bytes);
	return relocate(module, first_loop, buffer) && map_bytes(module->code, buffer, bytes);
}

uint64_t sn_patch_map_near(uint64_t start, uint64_t end, const uint8_t *code, uint64_t bytes)
{
	struct module module = { .start = start, .end = end };
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

static bool are_as_expected(const struct module *module)
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

static bool write_patch(const struct module *module, const struct sn_plan_patch *patch, long memory)
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

/* All, or none. */
static bool write_patches(const struct module *module)
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

/* ---- variants ---- */

/* The state components that a variant may change: x87, vectors, masks. Not tiles, which take 8 kB and no
 * loop that has variants uses, nor keys. */
#define SAVED_STATE 0xe7ULL

static bool find_state(void)
{
	unsigned a, b, c, d;
	uint32_t low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return false;
	if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(d & 1u << 27)) /* rdtscp */
		return false;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	sn_patches.save_mask = ((uint64_t)high << 32 | low) & SAVED_STATE;
	sn_patches.save_bytes = 576;
	for (unsigned i = 2; i < 8; i++)
		if (sn_patches.save_mask & 1u << i && __get_cpuid_count(13, i, &a, &b, &c, &d) &&
		    b + a > sn_patches.save_bytes)
			sn_patches.save_bytes = b + a;
	return sn_patches.save_bytes <= SN_PLAN_VALUES - SN_VARIANT_SAVE_AT;
}

/* What a variant takes that has nothing to do. */
static bool measure_variants(void)
{
	size_t bytes = SN_PLAN_CONTEXT_END;
	struct sn_variant_context *context;
	uint64_t least = UINT64_MAX;
	long at =
		SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at < 0 && at > -PAGE)
		return false;
	context = (void *)at;
	sn_variant_context_begin(context, 1);
	for (int i = 0; i < 64; i++) {
		uint64_t cycles = sn_variant_run_null(context);

		least = cycles < least ? cycles : least;
	}
	sn_patches.null_cycles = least;
	SYS(munmap, at, bytes);
	return true;
}

/* Ticks of the counter in a second. */
static void measure_counter(void)
{
	struct timespec begin, now;
	uint64_t begin_tsc;
	int64_t ns;

	SYS(clock_gettime, CLOCK_MONOTONIC, &begin);
	begin_tsc = __builtin_ia32_rdtsc();
	do {
		SYS(clock_gettime, CLOCK_MONOTONIC, &now);
		ns = (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec;
	} while (ns < 1000000);
	sn_patches.cycles_a_second =
		(uint64_t)((double)(__builtin_ia32_rdtsc() - begin_tsc) * 1e9 / (double)ns);
}

/* Whether this processor can keep and time all that variants use. */
static bool can_have_variants(void)
{
	static bool is_known, can;

	if (!is_known)
		can = find_state() && measure_variants();
	if (!is_known && !can)
		sn_warn("this processor cannot keep or time what variants of loops use: none run");
	is_known = true;
	return can;
}

/* ---- all of it ---- */

static void note_module(const struct module *module)
{
	uint32_t number = sn_patches.module_count;
	struct sn_patched_module *out = &sn_patches.modules[number];

	*out = (struct sn_patched_module){ .plan = module->plan,
					   .load_bias = module->info->dlpi_addr,
					   .code = module->code,
					   .first_loop = sn_patches.loop_count };
	for (uint32_t i = 0; i < module->plan.header->loop_count; i++) {
		const struct sn_plan_loop *from = &module->plan.loops[i];
		struct sn_patched_loop *loop = &sn_patches.loops[sn_patches.loop_count++];

		*loop = (struct sn_patched_loop){
			.header_load_addr = module->info->dlpi_addr + from->header_link_addr,
			.step = from->counting == SN_PLAN_COUNT_INDUCTION ? from->step : 0,
			.guarded = from->guarded,
			.holds_others = from->holds_others != 0,
			.recorder = from->recorder ? module->code + from->recorder : 0,
			.unit_words = from->unit_words ? from->unit_words : 1,
			.table = module->plan.tables + from->table,
			.table_bytes = from->table_bytes,
		};
		for (int v = 0; v < SN_VARIANTS; v++)
			if (from->code[v] && sn_patches.has_variants)
				loop->variants[v] = module->code + from->code[v];
	}
	atomic_store_explicit(&sn_patches.module_count, number + 1, memory_order_release);
}

/* Finds a place near the module, and maps the code there. Another thread may take the place meanwhile. */
static bool place_code(struct module *module, bool is_program)
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
		is_placed =
			module->code && map_code(module, sn_patches.loop_count, (uint8_t *)buffer);
		if (maps)
			SYS(munmap, maps, MAPS_BYTES);
	}
	SYS(munmap, buffer, bytes);
	return is_placed;
}

static void patch_module(struct module *module, bool is_program)
{
	if (sn_patches.module_count == SN_PATCH_MODULES_MAX ||
	    module->plan.header->loop_count > sn_patches.capacity - sn_patches.loop_count) {
		sn_warn("the plans have more loops than can be counted: some are not");
		return;
	}
	if (!are_as_expected(module)) {
		sn_warn("the code of a module is not what its plan was made for: its loops are not counted");
		return;
	}
	if (!place_code(module, is_program)) {
		sn_warn("there is no room for executable memory near a module: its loops are not counted");
		return;
	}
	if (!write_patches(module)) {
		SYS(munmap, module->code, module->plan.header->code_bytes);
		sn_warn("the code of a module cannot be written to: its loops are not counted");
		return;
	}
	note_module(module);
}

/* A library that was closed and is there again: at the place where it was its copies fit. True: it needs no
 * copies. */
static bool is_known(struct module *module)
{
	for (uint32_t i = 0; i < sn_patches.module_count; i++) {
		const struct sn_patched_module *known = &sn_patches.modules[i];

		if (known->plan.header->hash != module->plan.header->hash)
			continue;
		module->code = known->code;
		if (known->load_bias != module->info->dlpi_addr)
			sn_warn("a library was loaded again at another place: its loops are counted in the "
				"first one only");
		else if (are_as_expected(module) && !write_patches(module))
			sn_warn("the code of a module cannot be written to: its loops are not counted");
		return true;
	}
	return false;
}

/* How far the loader's list was looked through. */
struct look {
	uint64_t adds, subs, modules;
	uint64_t at; /* of this time */
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;
	struct module module = { .info = info, .start = UINT64_MAX };
	bool is_program = look->at == 0;
	uint32_t id_bytes = 0;
	const uint8_t *id;

	(void)size;
	if (is_program) {
		/* new ones come last, if none went */
		if (info->dlpi_subs != look->subs)
			look->modules = 0;
		look->adds = info->dlpi_adds;
		look->subs = info->dlpi_subs;
	}
	if (look->at++ < look->modules)
		return 0;
	id = find_build_id(info, &id_bytes);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		module.start = start < module.start ? start : module.start;
		module.end =
			start + phdr->p_memsz > module.end ? start + phdr->p_memsz : module.end;
	}
	if (!id || !map_plan(id, id_bytes, &module.plan))
		return 0;
	if (is_known(&module))
		SYS(munmap, module.plan.header, module.plan.header->file_bytes);
	else
		patch_module(&module, is_program);
	return 0;
}

void sn_patch_modules(void)
{
	static struct look look;
	uint32_t first = sn_patches.loop_count;

	look.at = 0;
	dl_iterate_phdr(visit, &look);
	look.modules = look.at;
	if (first == sn_patches.loop_count)
		return;
	atomic_store_explicit(&sn_header()->copied_loops, sn_patches.loop_count,
			      memory_order_relaxed);
	if (sn_enter(sn_self)) {
		sn_patch_intern(first);
		sn_leave(sn_self);
	}
}

/* Threads of libraries that were set up before us would run into half-written jumps. */
static bool is_alone(void)
{
	struct stat about;

	return stat("/proc/self/task", &about) == 0 && about.st_nlink == 3;
}

/* What timing adds to an instance: the least of some. */
static void measure_timing(void)
{
	struct sn_record_instances record = { .entries = 1 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 64; i++) {
		uint64_t cycles;

		sn_patch_begin(&record, 1);
		cycles = __builtin_ia32_rdtsc() - record.open_tsc;
		least = cycles < least ? cycles : least;
	}
	sn_patches.timing_cycles = least;
}

void sn_patch_setup(void)
{
	unsigned kinds = sn_config.settings.plan_kinds, loops = sn_config.settings.planned_loops;

	if (!is_alone()) {
		sn_warn("threads run before the program begins: no loops are counted");
		return;
	}
	sn_patches.capacity = loops < SN_PLAN_LOOPS_MAX ? loops : SN_PLAN_LOOPS_MAX;
	sn_patches.every = sn_config.settings.every;
	measure_timing();
	sn_patches.budget_percent = sn_config.settings.budget;
	sn_patches.has_recorders = kinds & SN_PLAN_HAS_RECORDERS;
	sn_patches.has_variants = kinds & SN_PLAN_HAS_VARIANTS && can_have_variants();
	if (sn_patches.has_variants || sn_patches.has_recorders)
		measure_counter();
	sn_patch_modules();
	if (sn_patches.loop_count < loops || !sn_patches.module_count)
		sn_patch_watch_loader();
	if (sn_patches.has_variants)
		sn_patches.fault_handler = sn_faults_guard();
}
