/* Opens what a user calls a binary: an ELF file, or an archive whose members are object files. */
#include "cqa/loop/module.h"

#include <ar.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "code/image.h"

#define THIN_MAGIC "!<thin>\n"

static sn_status add_unit(struct sn_cqa_module *module, const uint8_t *bytes, size_t length,
			  const char *name, const char *member, struct sn_error *err)
{
	struct sn_cqa_unit unit = { .member = member };
	size_t linked_length;
	sn_status status;

	unit.linked = sn_object_lay_out(bytes, length, &linked_length);
	status = sn_image_open_memory(unit.linked ? unit.linked : bytes,
				      unit.linked ? linked_length : length, name, NULL, &unit.image,
				      err);
	if (!status)
		status = sn_structure_open(unit.image, &unit.structure, err);
	if (status) {
		sn_image_free(unit.image);
		free(unit.linked);
		return status;
	}
	sn_vec_push(&module->units, unit);
	return SN_OK;
}

/* A decimal field of an archive header, padded with blanks. */
static bool field_number(const char *field, size_t width, uint64_t *out)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < width && field[i] >= '0' && field[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(field[i] - '0');
	*out = value;
	return i > 0;
}

/* "name/" or "/123", an offset into the table of long names. */
static const char *member_name(struct sn_cqa_module *module, const struct ar_hdr *header,
			       const char *long_names, size_t long_length)
{
	const char *name = header->ar_name;
	size_t length = 0;
	uint64_t offset;

	if (name[0] == '/' && field_number(name + 1, sizeof(header->ar_name) - 1, &offset) &&
	    long_names && offset < long_length) {
		name = long_names + offset;
		while (offset + length < long_length && name[length] != '\n')
			length++;
		length -= length && name[length - 1] == '/';
	} else {
		while (length < sizeof(header->ar_name) && name[length] != '/' &&
		       name[length] != ' ')
			length++;
	}
	return sn_arena_strndup(&module->arena, name, length);
}

/* A pipe or device, which may never end. */
static bool is_stream(const char *path)
{
	struct stat info;

	return !stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* A member of a thin archive: `name` from the archive's folder, or from the root. */
static void add_member_file(struct sn_cqa_module *module, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	int folder = slash && name[0] != '/' ? (int)(slash - path) + 1 : 0;
	const char *file = sn_arena_printf(&module->arena, "%.*s%s", folder, path, name);
	struct sn_file_view view = { 0 };
	struct sn_error ignored = { 0 };

	if (is_stream(file) || sn_file_map(file, &view, &ignored)) {
		module->first_lost = module->lost_members++ ? module->first_lost : file;
		return;
	}
	sn_vec_push(&module->member_views, view);
	if (add_unit(module, view.bytes, view.length, name, name, &ignored))
		module->skipped_members++;
}

/* `is_thin`: bodies of members are not here, but in files. */
static sn_status open_archive(struct sn_cqa_module *module, const uint8_t *bytes, size_t length,
			      const char *path, bool is_thin, struct sn_error *err)
{
	const char *long_names = NULL;
	size_t long_length = 0, at = SARMAG;

	while (at + sizeof(struct ar_hdr) <= length) {
		struct ar_hdr header;
		uint64_t size;
		const uint8_t *body = bytes + at + sizeof(header);
		struct sn_error ignored = { 0 };
		bool is_member;

		memcpy(&header, bytes + at, sizeof(header));
		if (memcmp(header.ar_fmag, ARFMAG, 2) != 0 ||
		    !field_number(header.ar_size, sizeof(header.ar_size), &size))
			size = UINT64_MAX;
		is_member = memcmp(header.ar_name, "// ", 3) != 0 &&
			    memcmp(header.ar_name, "/ ", 2) != 0 &&
			    memcmp(header.ar_name, "/SYM64/", 7) != 0;
		if (size == UINT64_MAX ||
		    (!(is_thin && is_member) && size > length - at - sizeof(header)))
			return sn_error_set(
				err, SN_ERR_FORMAT,
				"cqa: '%s' is a damaged archive: the header at byte %zu "
				"does not fit",
				path, at);
		if (memcmp(header.ar_name, "// ", 3) == 0) {
			long_names = (const char *)body;
			long_length = size;
		} else if (is_member) {
			const char *name = member_name(module, &header, long_names, long_length);

			if (is_thin)
				add_member_file(module, path, name);
			else if (add_unit(module, body, size, name, name, &ignored))
				module->skipped_members++;
		}
		at += sizeof(header) + (is_thin && is_member ? 0 : size + (size & 1));
	}
	if (!module->units.count && module->lost_members)
		return sn_error_set(
			err, SN_ERR_IO,
			"cqa: '%s' is a thin archive, which only names its members: '%s' is "
			"not there to be read",
			path, module->first_lost);
	if (!module->units.count)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "cqa: the archive '%s' holds no x86-64 object file", path);
	return SN_OK;
}

sn_status sn_cqa_module_open_memory(const uint8_t *bytes, size_t length, const char *name,
				    struct sn_cqa_module *out, struct sn_error *err)
{
	struct sn_cqa_module module = { 0 };
	sn_status status;

	if (length >= SARMAG && memcmp(bytes, ARMAG, SARMAG) == 0)
		status = open_archive(&module, bytes, length, name, false, err);
	else if (length >= SARMAG && memcmp(bytes, THIN_MAGIC, SARMAG) == 0)
		status = sn_error_set(err, SN_ERR_UNSUPPORTED,
				      "cqa: '%s' is a thin archive, which only names its members",
				      name);
	else
		status = add_unit(&module, bytes, length, name, NULL, err);
	if (status)
		sn_cqa_module_close(&module);
	else
		*out = module;
	return status;
}

sn_status sn_cqa_module_open(const char *path, struct sn_cqa_module *out, struct sn_error *err)
{
	struct sn_file_view view = { 0 };
	sn_status status;

	if (is_stream(path))
		return sn_error_set(err, SN_ERR_IO,
				    "cqa: '%s' is no regular file; copy its contents into one",
				    path);
	status = sn_file_map(path, &view, err);
	if (status)
		return status;
	if (view.length >= SARMAG && memcmp(view.bytes, THIN_MAGIC, SARMAG) == 0) {
		struct sn_cqa_module module = { 0 };

		status = open_archive(&module, view.bytes, view.length, path, true, err);
		if (status)
			sn_cqa_module_close(&module);
		else
			*out = module;
	} else {
		status = sn_cqa_module_open_memory(view.bytes, view.length, path, out, err);
	}
	if (status)
		sn_file_unmap(&view);
	else
		out->view = view;
	return status;
}

void sn_cqa_module_close(struct sn_cqa_module *module)
{
	for (size_t i = 0; i < module->units.count; i++) {
		struct sn_cqa_unit *unit = &module->units.items[i];

		sn_structure_free(unit->structure);
		sn_image_free(unit->image);
		free(unit->linked);
	}
	sn_vec_free(&module->units);
	for (size_t i = 0; i < module->member_views.count; i++)
		sn_file_unmap(&module->member_views.items[i]);
	sn_vec_free(&module->member_views);
	sn_arena_free(&module->arena);
	sn_file_unmap(&module->view);
	memset(module, 0, sizeof(*module));
}
