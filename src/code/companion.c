/* Other files with information on an image: separate debug file, .gnu_debugdata, dwz file. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/debuginfod.h"
#include "code/image_parts.h"
#include "code/xz.h"

void sn_companion_close(struct companion *companion)
{
	sn_elf_view_close(&companion->elf);
	sn_file_unmap(&companion->file);
	free(companion->path);
	*companion = (struct companion){ 0 };
}

/* Takes the file view. */
static bool companion_take(struct companion *companion, struct sn_file_view file, const char *path)
{
	struct sn_elf_view elf;

	if (sn_elf_view_open(file.bytes, file.length, path, &elf, NULL) != SN_OK) {
		sn_file_unmap(&file);
		return false;
	}
	*companion = (struct companion){ file, elf, sn_strdup(path), true };
	return true;
}

static bool same_build_id(const struct sn_elf_view *a, const struct sn_elf_view *b)
{
	size_t a_length, b_length;
	const uint8_t *x = sn_elf_build_id(a, &a_length), *y = sn_elf_build_id(b, &b_length);

	return x && y && a_length == b_length && !memcmp(x, y, a_length);
}

static bool same_crc(const struct sn_file_view *file, uint32_t crc)
{
	uLong got = crc32_z(crc32_z(0, NULL, 0), file->bytes, file->length);

	return (uint32_t)got == crc;
}

/* Opens a candidate and keeps it if it belongs to the image: by build-id if the image has one, else
 * by the checksum of the debug link. */
static bool try_debug_file(struct sn_image *image, const char *path, const uint32_t *crc)
{
	struct sn_file_view file;
	bool is_same;

	if (sn_file_map(path, &file, NULL) != SN_OK)
		return false;
	if (file.bytes == image->elf.bytes || !companion_take(&image->debug, file, path))
		return false;
	is_same = image->has_build_id ? same_build_id(&image->elf, &image->debug.elf)
				      : crc && same_crc(&image->debug.file, *crc);
	if (!is_same)
		sn_companion_close(&image->debug);
	return is_same;
}

static bool find_by_build_id(struct sn_image *image, const char *const *folders, size_t count)
{
	struct sn_text path = { 0 };
	bool is_found = false;

	for (size_t i = 0; i < count && !is_found && image->has_build_id; i++) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/.build-id/%.2s/%s.debug", folders[i], image->id,
			     image->id + 2);
		is_found = try_debug_file(image, path.chars, NULL);
	}
	sn_text_free(&path);
	return is_found;
}

static char *folder_of(const char *path)
{
	char *copy = sn_strdup(path), *folder = sn_strdup(dirname(copy));

	free(copy);
	return folder;
}

/* .gnu_debuglink: a file name, zero-padded to four, and a CRC-32. */
static bool find_by_link(struct sn_image *image, const char *const *folders, size_t count)
{
	size_t length, name_length;
	const uint8_t *bytes = sn_elf_section_bytes(
		&image->elf, sn_elf_section_named(&image->elf, ".gnu_debuglink"), &length);
	const char *name = sn_elf_string(bytes, length, 0);
	struct sn_text path = { 0 };
	char *folder;
	uint32_t crc;
	bool is_found;

	name_length = (strlen(name) + 4) & ~(size_t)3;
	if (!*name || strchr(name, '/') || length < name_length + 4)
		return false;
	memcpy(&crc, bytes + name_length, 4);
	folder = folder_of(image->path);
	sn_text_addf(&path, "%s/%s", folder, name);
	is_found = try_debug_file(image, path.chars, &crc);
	if (!is_found) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/.debug/%s", folder, name);
		is_found = try_debug_file(image, path.chars, &crc);
	}
	for (size_t i = 0; i < count && !is_found && folder[0] == '/'; i++) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s%s/%s", folders[i], folder, name);
		is_found = try_debug_file(image, path.chars, &crc);
	}
	sn_text_free(&path);
	free(folder);
	return is_found;
}

static void open_mini(struct sn_image *image)
{
	size_t length;
	const uint8_t *bytes = sn_elf_section_bytes(
		&image->elf, sn_elf_section_named(&image->elf, ".gnu_debugdata"), &length);
	struct sn_file_view file;

	if (bytes && length && sn_unpack_xz(bytes, length, &file))
		companion_take(&image->mini, file, ".gnu_debugdata");
}

/* .gnu_debugaltlink: a path, absolute or from the debug file's folder, and the build-id of the dwz
 * file. */
static void open_alt(struct sn_image *image, const char *const *folders, size_t count)
{
	const struct companion *debug = &image->debug;
	const struct sn_elf_view *elf = debug->is_open ? &debug->elf : &image->elf;
	size_t length, id_length, name_length;
	const uint8_t *bytes =
		sn_elf_section_bytes(elf, sn_elf_section_named(elf, ".gnu_debugaltlink"), &length);
	const char *name = sn_elf_string(bytes, length, 0);
	struct sn_text path = { 0 };
	char *folder;

	if (!*name)
		return;
	name_length = strlen(name) + 1;
	folder = folder_of(debug->is_open ? debug->path : image->path);
	for (size_t i = 0; i <= count && !image->alt.is_open; i++) {
		struct sn_file_view file;
		const uint8_t *id;

		sn_text_clear(&path);
		if (i < count && length > name_length + 2) {
			sn_text_addf(&path, "%s/.build-id/%02x/", folders[i], bytes[name_length]);
			for (size_t k = name_length + 1; k < length; k++)
				sn_text_addf(&path, "%02x", bytes[k]);
			sn_text_add(&path, ".debug");
		} else if (i == count) {
			sn_text_addf(&path, "%s%s%s", name[0] == '/' ? "" : folder,
				     name[0] == '/' ? "" : "/", name);
		} else {
			continue;
		}
		if (sn_file_map(path.chars, &file, NULL) != SN_OK ||
		    !companion_take(&image->alt, file, path.chars))
			continue;
		id = sn_elf_build_id(&image->alt.elf, &id_length);
		if (!id || id_length != length - name_length ||
		    memcmp(id, bytes + name_length, id_length) != 0)
			sn_companion_close(&image->alt);
	}
	sn_text_free(&path);
	free(folder);
}

static bool find_by_debuginfod(struct sn_image *image)
{
	char *path = image->has_build_id ? sn_debuginfod_find(image->id) : NULL;
	bool is_found = path && try_debug_file(image, path, NULL);

	free(path);
	return is_found;
}

static bool has_debug_information(const struct sn_image *image)
{
	return sn_elf_section_named(&image->elf, ".debug_info") != NULL;
}

/* Where .build-id/xx/yyyy.debug files are looked for. */
static const char *const *debug_folders(const struct sn_image_options *options, size_t *count)
{
	static const char *const standard[] = { "/usr/lib/debug" };

	*count = options && options->debug_folders ? options->debug_folder_count : 1;
	return options && options->debug_folders ? options->debug_folders : standard;
}

void sn_image_find_debug(struct sn_image *image, const struct sn_image_options *options)
{
	size_t count;
	const char *const *folders = debug_folders(options, &count);

	if (options && options->only_this_file)
		return;
	if (!has_debug_information(image) && !find_by_build_id(image, folders, count) &&
	    !find_by_link(image, folders, count) && options && options->ask_debuginfod)
		find_by_debuginfod(image);
}

void sn_image_find_companions(struct sn_image *image, const struct sn_image_options *options)
{
	size_t count;
	const char *const *folders = debug_folders(options, &count);

	sn_image_find_debug(image, options);
	if (options && options->only_this_file)
		return;
	open_mini(image);
	open_alt(image, folders, count);
}
