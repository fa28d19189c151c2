/* Which modules are loaded, for walks of the stack and as MAP and UNMAP records. */
#include "runtime/core/collector.h"
#include "runtime/core/packets.h"

#include <elf.h>
#include <link.h>

#include "unwind/module.h"

/* glibc 2.35 and later: which module holds a pc, without a lock, safe in handlers. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object
#else
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	unsigned long long reserved[7];
};
extern int _dl_find_object(void *pc, struct dl_find_object *result) __attribute__((weak));
#endif

/* What a MAP record says of one executable segment. */
struct image {
	const char *path;
	const Elf64_Phdr *phdrs;
	uint32_t phdr_count;
	uint64_t load_bias;
	bool is_main, is_vdso;
};

static void find_build_id(const struct image *image, struct sn_map_facts *facts)
{
	for (uint32_t i = 0; i < image->phdr_count && !facts->build_id; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type == PT_NOTE)
			facts->build_id = sn_build_id_find(
				(const uint8_t *)(image->load_bias + phdr->p_vaddr), phdr->p_memsz,
				SN_BUILD_ID_MAX, &facts->build_id_bytes);
	}
}

void sn_map_write(struct sn_writer *writer, const struct sn_map_facts *facts, int64_t now_ns)
{
	size_t length = 0;

	while (facts->path[length] && length < SN_DATA_STRING_MAX)
		length++;
	uint32_t bytes = (uint32_t)((offsetof(struct sn_record_map, path) + length + 1 + 7) & ~7UL);
	struct sn_record_map *record = sn_writer_reserve(writer, bytes, now_ns);
	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	record->header = (struct sn_record_header){ .type = SN_RECORD_MAP,
						    .flags = facts->flags,
						    .size_bytes = (uint16_t)bytes };
	record->path_bytes = (uint32_t)length;
	record->time_ns = now_ns;
	record->load_start = facts->load_start;
	record->load_end = facts->load_end;
	record->load_bias = facts->load_bias;
	record->file_offset = facts->file_offset;
	record->build_id_bytes = (uint8_t)facts->build_id_bytes;
	for (uint32_t i = 0; i < facts->build_id_bytes; i++)
		record->build_id[i] = facts->build_id[i];
	for (size_t i = 0; i < length; i++)
		record->path[i] = facts->path[i];
	record->path[length] = '\0';
	sn_writer_commit(writer, bytes);
}

static void write_map(struct sn_writer *writer, const struct image *image, const Elf64_Phdr *phdr,
		      int64_t now_ns)
{
	struct sn_map_facts facts = { .path = image->path,
				      .flags = (uint8_t)((image->is_main ? SN_RECORD_MAP_MAIN : 0) |
							 (image->is_vdso ? SN_RECORD_MAP_VDSO : 0)),
				      .load_start = image->load_bias + phdr->p_vaddr,
				      .load_bias = image->load_bias,
				      .file_offset = phdr->p_offset };

	facts.load_end = facts.load_start + phdr->p_memsz;
	find_build_id(image, &facts);
	sn_map_write(writer, &facts, now_ns);
	sn_collect_mapped(&facts);
}

static void write_maps(struct sn_writer *writer, const struct image *image, int64_t now_ns)
{
	for (uint32_t i = 0; i < image->phdr_count; i++)
		if (image->phdrs[i].p_type == PT_LOAD && (image->phdrs[i].p_flags & PF_X))
			write_map(writer, image, &image->phdrs[i], now_ns);
}

static bool lock_tables(void)
{
	uint32_t free_now = 0;

	return atomic_compare_exchange_strong(&sn_state->table_lock, &free_now, 1);
}

static void unlock_tables(void)
{
	atomic_store_explicit(&sn_state->table_lock, 0, memory_order_release);
}

/* A copy of the current table to be changed; others go on reading the old one. The ring of tables
 * is long enough that none is still read when its turn comes again. The first one, of what was
 * there at the start, stays. */
static struct sn_module_table *copy_table(void)
{
	struct sn_module_table *old = atomic_load(&sn_state->table);
	struct sn_module_table *copy =
		sn_state->tables[1 + sn_state->table_next++ % (SN_TABLES - 1)];

	copy->count = old ? old->count : 0;
	copy->generation = (old ? old->generation : 0) + 1;
	for (uint32_t i = 0; i < copy->count; i++)
		copy->modules[i] = old->modules[i];
	return copy;
}

/* Keeps the table sorted by load_start and without overlaps. */
static void insert(struct sn_module_table *table, const struct sn_unwind_module *module)
{
	uint32_t at = table->count;

	if (at == SN_MODULES_MAX) {
		sn_warn("more modules at one time than sonde can hold: stacks in some are cut");
		return;
	}
	for (; at > 0 && table->modules[at - 1].load_start > module->load_start; at--)
		table->modules[at] = table->modules[at - 1];
	table->modules[at] = *module;
	table->count++;
}

static void remove_overlaps(struct sn_module_table *table, uint64_t start, uint64_t end)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < table->count; i++)
		if (table->modules[i].load_end <= start || table->modules[i].load_start >= end)
			table->modules[kept++] = table->modules[i];
	table->count = kept;
}

static void add_image(struct sn_module_table *table, struct sn_writer *writer,
		      const struct image *image, int64_t now_ns)
{
	struct sn_unwind_module module;

	if (!sn_unwind_module_of_process(&module, image->phdrs, image->phdr_count,
					 image->load_bias))
		return;
	remove_overlaps(table, module.load_start, module.load_end);
	insert(table, &module);
	sn_control_connect(image->phdrs, image->phdr_count, image->load_bias);
	write_maps(writer, image, now_ns);
}

const struct sn_unwind_module *sn_module_of(uint64_t pc)
{
	struct dl_find_object found;
	struct sn_module_table *table = atomic_load(&sn_state->table);
	struct sn_unwind_target target = { .modules = table->modules,
					   .module_count = table->count };
	const struct sn_unwind_module *module = sn_unwind_find_module(&target, pc);

	if (module || !_dl_find_object || !sn_self || sn_state->is_closing ||
	    _dl_find_object((void *)pc, &found) != 0 || !found.dlfo_link_map)
		return module;
	const Elf64_Ehdr *ehdr = found.dlfo_map_start;
	if (ehdr->e_phoff > 4096 - sizeof(Elf64_Phdr) || ehdr->e_phnum > 64 ||
	    ehdr->e_ident[0] != ELFMAG0 || ehdr->e_ident[1] != ELFMAG1 || !lock_tables())
		return NULL;
	struct image image = { .path = found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name
								   : "",
			       .phdrs = (const void *)((const uint8_t *)ehdr + ehdr->e_phoff),
			       .phdr_count = ehdr->e_phnum,
			       .load_bias = found.dlfo_link_map->l_addr };
	table = copy_table();
	add_image(table, &sn_self->writer, &image, sn_now_ns());
	atomic_store(&sn_state->table, table);
	unlock_tables();
	target.modules = table->modules;
	target.module_count = table->count;
	return sn_unwind_find_module(&target, pc);
}

struct start_context {
	struct sn_module_table *table;
	int64_t now_ns;
	uint64_t vdso;
	bool is_first;
};

static bool holds(const struct dl_phdr_info *info, uint64_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static void note_own_text(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *phdr = &info->dlpi_phdr[i];
		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X)) {
			sn_config.library_start = info->dlpi_addr + phdr->p_vaddr;
			sn_config.library_end = sn_config.library_start + phdr->p_memsz;
		}
	}
}

static int add_at_start(struct dl_phdr_info *info, size_t size, void *context)
{
	struct start_context *start = context;
	struct image image = { .path = info->dlpi_name ? info->dlpi_name : "",
			       .phdrs = info->dlpi_phdr,
			       .phdr_count = info->dlpi_phnum,
			       .load_bias = info->dlpi_addr,
			       .is_main = start->is_first,
			       .is_vdso = start->vdso && holds(info, start->vdso) };

	(void)size;
	start->is_first = false;
	if (image.is_main)
		image.path = sn_header()->program;
	else if (image.is_vdso)
		image.path = "[vdso]";
	if (holds(info, (uint64_t)(uintptr_t)&note_own_text))
		note_own_text(info);
	add_image(start->table, &sn_self->writer, &image, start->now_ns);
	return 0;
}

/* The first table has what was there when the program began, which the loader never unloads. A
 * forked child has loaded more by then: it goes by what its first ancestor noted. */
static void make_lasting_table(const struct sn_module_table *table)
{
	static uint64_t starts[SN_MODULES_MAX];
	static uint32_t count;
	struct sn_module_table *lasting = sn_state->tables[0];
	uint32_t at = 0;

	if (!count)
		for (uint32_t i = 0; i < table->count; i++)
			starts[count++] = table->modules[i].load_start;
	lasting->count = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		while (at < count && starts[at] < table->modules[i].load_start)
			at++;
		if (at < count && starts[at] == table->modules[i].load_start)
			lasting->modules[lasting->count++] = table->modules[i];
	}
}

bool sn_modules_start(void)
{
	struct start_context start = { .now_ns = sn_now_ns(),
				       .is_first = true,
				       .vdso = (uint64_t)(uintptr_t)sn_config.clock_gettime };

	start.table = copy_table();
	dl_iterate_phdr(add_at_start, &start);
	make_lasting_table(start.table);
	atomic_store(&sn_state->table, start.table);
	return true;
}

struct live {
	uint64_t start[SN_MODULES_MAX];
	uint32_t count;
};

/* In the order of the loader, which is not sorted. */
static int list_live(struct dl_phdr_info *info, size_t size, void *context)
{
	struct live *live = context;
	struct sn_unwind_module module;

	(void)size;
	if (live->count < SN_MODULES_MAX &&
	    sn_unwind_module_of_process(&module, info->dlpi_phdr, info->dlpi_phnum,
					info->dlpi_addr))
		live->start[live->count++] = module.load_start;
	return 0;
}

static bool is_live(const struct live *live, uint64_t start)
{
	for (uint32_t i = 0; i < live->count; i++)
		if (live->start[i] == start)
			return true;
	return false;
}

static void write_unmap(struct sn_writer *writer, const struct sn_unwind_module *module)
{
	int64_t now_ns = sn_now_ns();
	struct sn_record_unmap *record = sn_writer_reserve(writer, sizeof *record, now_ns);

	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	*record = (struct sn_record_unmap){ .header = { .type = SN_RECORD_UNMAP,
							.size_bytes = sizeof *record },
					    .time_ns = now_ns,
					    .load_start = module->load_start,
					    .load_end = module->load_end };
	sn_writer_commit(writer, sizeof *record);
}

void sn_modules_refresh(void)
{
	static struct live live; /* under table_lock */
	uint32_t kept = 0;

	if (!sn_self || !lock_tables())
		return;
	struct sn_module_table *table = copy_table();
	live.count = 0;
	dl_iterate_phdr(list_live, &live);
	for (uint32_t i = 0; i < table->count; i++) {
		if (is_live(&live, table->modules[i].load_start))
			table->modules[kept++] = table->modules[i];
		else
			write_unmap(&sn_self->writer, &table->modules[i]);
	}
	table->count = kept;
	atomic_store(&sn_state->table, table);
	unlock_tables();
}
