/*
 * Reads /proc/PID/maps and opens each executable mapping's file, to unwind through it. A file that
 * has been replaced since is reached by way of the mapping itself.
 */
#include "record/outside_images.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "unwind/cfi.h"
#include "unwind/module.h"
#include "wire/data.h"

#define DELETED " (deleted)"

/* ---- what an ELF file says ---- */

static const Elf64_Phdr *program_headers(const struct sn_file_view *view, unsigned *count)
{
	const Elf64_Ehdr *elf = (const void *)view->bytes;
	uint64_t size;

	*count = 0;
	if (view->length < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phoff % 8)
		return NULL;
	size = (uint64_t)elf->e_phnum * sizeof(Elf64_Phdr);
	if (size > view->length || elf->e_phoff > view->length - size)
		return NULL;
	*count = elf->e_phnum;
	return (const void *)(view->bytes + elf->e_phoff);
}

/* Load address minus link address, from the executable segment that the mapping shows. */
static bool bias_find(struct sn_outside_image *image)
{
	unsigned count;
	const Elf64_Phdr *p = program_headers(&image->view, &count);

	for (; count; count--, p++) {
		uint64_t first = p->p_offset & ~UINT64_C(4095);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || image->file_offset < first ||
		    image->file_offset - first >= p->p_filesz + (p->p_offset - first))
			continue;
		image->load_bias =
			image->load_start - (image->file_offset + p->p_vaddr - p->p_offset);
		return true;
	}
	return false;
}

static void build_id_find(struct sn_outside_image *image)
{
	unsigned count;
	const Elf64_Phdr *p = program_headers(&image->view, &count);

	for (; count; count--, p++) {
		const uint8_t *id;
		uint32_t bytes;

		if (p->p_type != PT_NOTE || p->p_filesz > image->view.length ||
		    p->p_offset > image->view.length - p->p_filesz)
			continue;
		id = sn_build_id_find(image->view.bytes + p->p_offset, p->p_filesz, SN_BUILD_ID_MAX,
				      &bytes);
		if (!id)
			continue;
		memcpy(image->build_id, id, bytes);
		image->build_id_bytes = (uint8_t)bytes;
		return;
	}
}

/* ---- opening ---- */

/* Opens the file by its path as the process sees it. If that is another file by now, it is opened
 * by the mapping itself, for which the kernel wants more rights. */
static bool file_open(struct sn_outside_image *image, pid_t pid)
{
	struct sn_text path = { 0 };
	bool is_open;

	sn_text_addf(&path, "/proc/%d/root%s", (int)pid, image->path);
	is_open = !(image->flags & SN_RECORD_MAP_DELETED) &&
		  sn_file_map(path.chars, &image->view, NULL) == SN_OK;
	if (!is_open && !(image->flags & SN_RECORD_MAP_DELETED))
		is_open = sn_file_map(image->path, &image->view, NULL) == SN_OK;
	if (!is_open) {
		sn_text_clear(&path);
		sn_text_addf(&path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			     image->load_start, image->load_end);
		is_open = sn_file_map(path.chars, &image->view, NULL) == SN_OK;
	}
	if (!is_open && (image->flags & SN_RECORD_MAP_MAIN)) {
		sn_text_clear(&path);
		sn_text_addf(&path, "/proc/%d/exe", (int)pid);
		is_open = sn_file_map(path.chars, &image->view, NULL) == SN_OK;
	}
	sn_text_free(&path);
	return is_open;
}

/* All processes of a kernel have the same vdso, so our own serves for theirs. */
static void vdso_open(struct sn_outside_image *image)
{
	const uint8_t *own = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);

	if (!own)
		return;
	image->load_bias = image->load_start;
	sn_unwind_module_of_file(&image->module, own, image->load_end - image->load_start,
				 image->load_bias);
}

static void image_open(struct sn_outside_image *image, pid_t pid)
{
	uint32_t count;

	if (image->flags & SN_RECORD_MAP_VDSO) {
		vdso_open(image);
		return;
	}
	if ((image->flags & SN_RECORD_MAP_ANONYMOUS) || !file_open(image, pid) || !bias_find(image))
		return;
	build_id_find(image);
	if (!sn_unwind_module_of_file(&image->module, image->view.bytes, image->view.length,
				      image->load_bias))
		return;
	if (sn_unwind_header_is_usable(&image->module))
		return;
	count = sn_unwind_index_size(&image->module);
	image->index = sn_alloc_zeroed(count + 1, sizeof(*image->index));
	sn_unwind_index_build(&image->module, image->index, count);
}

/* ---- /proc/PID/maps ---- */

struct map_line {
	uint64_t start, end, offset;
	const char *path; /* "" if none */
};

/* False for what is not executable, or not ours to look at. */
static bool line_parse(char *line, struct map_line *map)
{
	char permissions[8];
	int consumed = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &map->start,
		   &map->end, permissions, &map->offset, &consumed) < 4 ||
	    permissions[2] != 'x')
		return false;
	line[strcspn(line, "\n")] = '\0';
	map->path = line + consumed;
	return strcmp(map->path, "[vsyscall]") != 0;
}

static uint8_t flags_of(const struct map_line *map, const char *program)
{
	if (!strcmp(map->path, "[vdso]"))
		return SN_RECORD_MAP_VDSO;
	if (map->path[0] != '/')
		return SN_RECORD_MAP_ANONYMOUS;
	return (uint8_t)((!strcmp(map->path, program) ? SN_RECORD_MAP_MAIN : 0) |
			 (sn_ends_with(map->path, DELETED) ? SN_RECORD_MAP_DELETED : 0));
}

static struct sn_outside_image *image_find(struct sn_outside_images *images,
					   const struct map_line *map)
{
	for (size_t i = 0; i < images->list.count; i++) {
		struct sn_outside_image *image = images->list.items[i];

		if (!image->is_gone && image->load_start == map->start &&
		    image->load_end == map->end && image->file_offset == map->offset &&
		    sn_starts_with(map->path, image->path))
			return image;
	}
	return NULL;
}

static void image_add(struct sn_outside_images *images, const struct map_line *map,
		      const char *program, pid_t pid)
{
	struct sn_outside_image *image = sn_alloc_zeroed(1, sizeof(*image));

	image->load_start = map->start;
	image->load_end = map->end;
	image->file_offset = map->offset;
	image->flags = flags_of(map, program);
	image->path = sn_strdup(map->path);
	if (image->flags & SN_RECORD_MAP_DELETED)
		image->path[strlen(image->path) - strlen(DELETED)] = '\0';
	image->is_there = true;
	image_open(image, pid);
	sn_vec_push(&images->list, image);
}

static int modules_compare(const void *a, const void *b)
{
	const struct sn_unwind_module *x = a, *y = b;

	return (x->load_start > y->load_start) - (x->load_start < y->load_start);
}

/* The table for the unwinder: what is there now; an image that is mapped in pieces stands once. */
static void modules_list(struct sn_outside_images *images)
{
	size_t kept = 0;

	images->modules.count = 0;
	for (size_t i = 0; i < images->list.count; i++) {
		const struct sn_outside_image *image = images->list.items[i];

		if (image->is_there && image->module.load_end)
			sn_vec_push(&images->modules, image->module);
	}
	if (!images->modules.count)
		return;
	qsort(images->modules.items, images->modules.count, sizeof(images->modules.items[0]),
	      modules_compare);
	for (size_t i = 1; i < images->modules.count; i++)
		if (images->modules.items[i].load_start >= images->modules.items[kept].load_end)
			images->modules.items[++kept] = images->modules.items[i];
	images->modules.count = kept + 1;
}

static void program_path(pid_t pid, char *out, size_t size)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, out, size - 1);
	out[length > 0 ? length : 0] = '\0';
}

bool sn_outside_images_look(struct sn_outside_images *images, pid_t pid)
{
	char path[64], program[4096], *line = NULL;
	size_t room = 0;
	bool has_changed = false, is_alive = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	program_path(pid, program, sizeof(program));
	for (size_t i = 0; i < images->list.count; i++)
		images->list.items[i]->is_there = false;
	while (getline(&line, &room, maps) > 0) {
		struct sn_outside_image *image;
		struct map_line map;

		is_alive = true;
		if (!line_parse(line, &map))
			continue;
		image = image_find(images, &map);
		if (image) {
			image->is_there = true;
			continue;
		}
		image_add(images, &map, program, pid);
		has_changed = true;
	}
	free(line);
	fclose(maps);
	if (!is_alive) { /* ended: what was there serves the samples that are still to be read */
		for (size_t i = 0; i < images->list.count; i++)
			images->list.items[i]->is_there = !images->list.items[i]->is_gone;
		return false;
	}
	for (size_t i = 0; i < images->list.count; i++)
		has_changed |= !images->list.items[i]->is_there && !images->list.items[i]->is_gone;
	if (has_changed) {
		images->generation++;
		modules_list(images);
	}
	return true;
}

void sn_outside_images_free(struct sn_outside_images *images)
{
	for (size_t i = 0; i < images->list.count; i++) {
		struct sn_outside_image *image = images->list.items[i];

		sn_file_unmap(&image->view);
		free(image->index);
		free(image->path);
		free(image);
	}
	sn_vec_free(&images->list);
	sn_vec_free(&images->modules);
}
