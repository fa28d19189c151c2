/* Footers of files of the cache: made, and held against what a file should be. */
#include "code/kept_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"

struct footer {
	char magic[8];
	uint64_t state, length, sum; /* `length`: of what is before; `sum`: of that */
};

/* Four multiply-and-add chains over words of 8 bytes: whatever a disk may do is seen, and it takes a
 * millisecond where bytes one by one take ten. */
static uint64_t sum_of(const uint8_t *bytes, size_t length)
{
	uint64_t lanes[4] = { 1, 2, 3, 4 }, word;
	size_t at = 0;

	for (; length - at >= 32; at += 32)
		for (unsigned k = 0; k < 4; k++) {
			memcpy(&word, bytes + at + 8 * k, 8);
			lanes[k] = (lanes[k] + word) * UINT64_C(0x9e3779b97f4a7c15);
		}
	return lanes[0] ^ lanes[1] << 1 ^ lanes[2] << 2 ^ lanes[3] << 3 ^
	       sn_hash_bytes(bytes + at, length - at);
}

void sn_kept_path(struct sn_text *out, const char *folder, const char *id,
		  const struct sn_kept_kind *kind)
{
	sn_text_clear(out);
	sn_text_addf(out, "%s/%s.%s", folder, id, kind->ending);
}

static bool is_whole(const struct sn_file_view *file, const struct sn_kept_kind *kind,
		     uint64_t state)
{
	struct footer footer;

	if (file->length < sizeof(footer))
		return false;
	memcpy(&footer, file->bytes + file->length - sizeof(footer), sizeof(footer));
	return !memcmp(footer.magic, kind->magic, sizeof(footer.magic)) && footer.state == state &&
	       footer.length == file->length - sizeof(footer) &&
	       footer.sum == sum_of(file->bytes, footer.length);
}

bool sn_kept_read(const char *path, const struct sn_kept_kind *kind, uint64_t state,
		  struct sn_file_view *out)
{
	struct sn_file_view file;

	if (sn_file_map(path, &file, NULL) != SN_OK)
		return false;
	if (!is_whole(&file, kind, state)) {
		sn_file_unmap(&file);
		return false;
	}
	utimensat(AT_FDCWD, path, NULL, 0); /* used just now */
	*out = file;
	return true;
}

void sn_kept_write(const char *folder, const char *path, const struct sn_kept_kind *kind,
		   uint64_t state, const void *bytes, size_t length)
{
	struct footer footer = { .state = state, .length = length, .sum = sum_of(bytes, length) };
	struct sn_file_writer writer;

	if (sn_make_folders(folder, NULL) != SN_OK ||
	    sn_file_writer_open(&writer, path, NULL) != SN_OK)
		return;
	memcpy(footer.magic, kind->magic, sizeof(footer.magic));
	fwrite(bytes, 1, length, writer.out);
	fwrite(&footer, sizeof(footer), 1, writer.out);
	sn_file_writer_commit(&writer, NULL);
}

size_t sn_kept_length(const struct sn_file_view *file)
{
	return file->length - sizeof(struct footer);
}
