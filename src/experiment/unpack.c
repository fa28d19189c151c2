/*
 * Unpacks archives. What an archive says is not trusted: it gets regular files and folders below one
 * new folder, made here and by nobody else, or one sentence.
 */
#include "experiment/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/vec.h"
#include "experiment/scratch.h"
#include "experiment/tar.h"

enum {
	MEMBERS_MAX = 1000000,
	PATH_MAX_BYTES = 4096,
	EXTENSION_MAX_BYTES = 1 << 20, /* of pax records */
	RATIO_MAX = 4096,	       /* as of extracts: more is not made by what we write */
	COPY_BYTES = 128 << 10,
};

static const uint64_t free_of_ratio_bytes = UINT64_C(64) << 20;

struct unpacking {
	const char *name, *into;
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	size_t hint;	      /* of the last call: 0 at the end of a frame */
	uint64_t given, most; /* bytes unpacked so far, and at most */
	size_t members;
	char *top;
	char *long_path; /* of the next member; NULL: as its header says */
	uint64_t long_size;
	uint8_t copy[COPY_BYTES];
	struct sn_error *err;
};

__attribute__((format(printf, 2, 3))) static sn_status refuse(struct unpacking *u,
							      const char *format, ...)
{
	struct sn_text why = { 0 };
	va_list args;

	va_start(args, format);
	sn_text_addv(&why, format, args);
	va_end(args);
	sn_error_set(u->err, SN_ERR_FORMAT, "the archive '%s' cannot be read: %s", u->name,
		     why.chars);
	sn_text_free(&why);
	return SN_ERR_FORMAT;
}

static sn_status cut_short(struct unpacking *u)
{
	return refuse(u, "it is cut short; copy it again");
}

/* ---- bytes ---- */

/* Up to `count` bytes; fewer only at the end of a whole archive. */
static sn_status bytes_try(struct unpacking *u, void *to, size_t count, size_t *got)
{
	ZSTD_outBuffer out = { to, count, 0 };

	while (out.pos < out.size) {
		size_t before = out.pos, read_before = u->in.pos;

		if (u->in.pos == u->in.size && !u->hint)
			break;
		u->hint = ZSTD_decompressStream(u->stream, &out, &u->in);
		if (ZSTD_isError(u->hint))
			return refuse(u, "its bytes are damaged (%s); copy it again",
				      ZSTD_getErrorName(u->hint));
		u->given += out.pos - before;
		if (u->given > u->most)
			return refuse(u, "it unpacks to more than %d times its size", RATIO_MAX);
		if (out.pos == before && u->in.pos == read_before && u->in.pos == u->in.size &&
		    u->hint)
			return cut_short(u);
	}
	*got = out.pos;
	return SN_OK;
}

static sn_status bytes_read(struct unpacking *u, void *to, size_t count)
{
	size_t got = 0;
	sn_status status = bytes_try(u, to, count, &got);

	return status == SN_OK && got < count ? cut_short(u) : status;
}

static sn_status bytes_skip(struct unpacking *u, uint64_t count)
{
	sn_status status = SN_OK;

	while (status == SN_OK && count) {
		size_t some = count < sizeof(u->copy) ? (size_t)count : sizeof(u->copy);

		status = bytes_read(u, u->copy, some);
		count -= some;
	}
	return status;
}

/* ---- paths ---- */

static bool leads_out(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (!length || (length == 1 && path[0] == '.') ||
		    (length == 2 && path[0] == '.' && path[1] == '.'))
			return true;
		path += length + (path[length] == '/');
	}
	return false;
}

/* A path below the archive's one folder; NULL: refused. Into `kept`, which it returns. */
static const char *path_of(struct unpacking *u, const char *said, struct sn_text *kept)
{
	size_t top;

	if (strlen(said) > PATH_MAX_BYTES) {
		refuse(u, "a path in it is longer than %d bytes", PATH_MAX_BYTES);
		return NULL;
	}
	if (said[0] == '/') {
		refuse(u, "'%s' in it is an absolute path", said);
		return NULL;
	}
	while (said[0] == '.' && said[1] == '/')
		said += 2;
	sn_text_add(kept, said);
	while (kept->length && kept->chars[kept->length - 1] == '/')
		kept->chars[--kept->length] = '\0';
	if (!kept->length || leads_out(kept->chars)) {
		refuse(u, "'%s' in it is no path within one folder", said);
		return NULL;
	}
	top = strcspn(kept->chars, "/");
	if (!u->top)
		u->top = sn_strndup(kept->chars, top);
	if (strlen(u->top) != top || strncmp(u->top, kept->chars, top) != 0) {
		refuse(u, "it holds more than one folder ('%s' and '%s')", u->top, kept->chars);
		return NULL;
	}
	return kept->chars;
}

/* ---- members ---- */

static sn_status not_made(struct unpacking *u, const char *path)
{
	if (errno == EEXIST || errno == ENOTDIR || errno == EISDIR)
		return refuse(u, "'%s' is in it twice", path);
	return sn_error_errno(u->err, "the archive '%s' cannot be unpacked: '%s' in '%s'", u->name,
			      path, u->into);
}

static sn_status has_room(struct unpacking *u, const char *path, uint64_t size)
{
	struct statvfs at;
	uint64_t room;

	if (statvfs(u->into, &at))
		return SN_OK;
	room = (uint64_t)at.f_bavail * at.f_frsize;
	if (size <= room)
		return SN_OK;
	return sn_error_set(u->err, SN_ERR_IO,
			    "the archive '%s' cannot be unpacked: '%s' in it has %llu bytes, and "
			    "%llu are free in '%s'; TMPDIR names another place",
			    u->name, path, (unsigned long long)size, (unsigned long long)room,
			    u->into);
}

static sn_status file_fill(struct unpacking *u, int fd, const char *path, uint64_t size)
{
	sn_status status = SN_OK;

	while (status == SN_OK && size) {
		size_t some = size < sizeof(u->copy) ? (size_t)size : sizeof(u->copy);
		size_t written = 0;

		status = bytes_read(u, u->copy, some);
		while (status == SN_OK && written < some) {
			ssize_t n = write(fd, u->copy + written, some - written);

			if (n <= 0)
				return sn_error_errno(
					u->err, "the archive '%s' cannot be unpacked: '%s' in '%s'",
					u->name, path, u->into);
			written += (size_t)n;
		}
		size -= some;
	}
	return status;
}

static sn_status file_make(struct unpacking *u, const char *full, const char *path, uint64_t size)
{
	sn_status status = has_room(u, path, size);
	int fd;

	if (status != SN_OK)
		return status;
	fd = open(full, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return not_made(u, path);
	status = file_fill(u, fd, path, size);
	if (close(fd) && status == SN_OK)
		status = not_made(u, path);
	return status == SN_OK ? bytes_skip(u, sn_tar_padding(size)) : status;
}

static sn_status member_make(struct unpacking *u, const struct sn_tar_header *header)
{
	struct sn_text kept = { 0 }, full = { 0 };
	const char *path = path_of(u, u->long_path ? u->long_path : header->path, &kept);
	uint64_t size = u->long_size != UINT64_MAX ? u->long_size : header->size;
	bool is_folder = header->kind == SN_TAR_FOLDER;
	sn_status status = path ? SN_OK : SN_ERR_FORMAT;

	if (path && ++u->members > MEMBERS_MAX)
		status = refuse(u, "it holds more than %d files", MEMBERS_MAX);
	if (status == SN_OK) {
		size_t end;

		sn_text_addf(&full, "%s/%s", u->into, path);
		end = is_folder ? full.length : (size_t)(strrchr(full.chars, '/') - full.chars);
		full.chars[end] = '\0';
		if (sn_make_folders(full.chars, u->err) != SN_OK)
			status = not_made(u, path);
		full.chars[end] = is_folder ? '\0' : '/';
	}
	if (status == SN_OK)
		status = is_folder ? bytes_skip(u, size + sn_tar_padding(size))
				   : file_make(u, full.chars, path, size);
	sn_text_free(&full);
	sn_text_free(&kept);
	free(u->long_path);
	u->long_path = NULL;
	u->long_size = UINT64_MAX;
	return status;
}

/* The path or size of the member that follows. */
static sn_status extension_read(struct unpacking *u, const struct sn_tar_header *header)
{
	sn_status status;
	char *bytes;

	if (header->size > EXTENSION_MAX_BYTES)
		return refuse(u, "a path in it is longer than %d bytes", PATH_MAX_BYTES);
	bytes = sn_alloc_zeroed(header->size + 1, 1);
	status = bytes_read(u, bytes, header->size);
	if (status == SN_OK)
		status = bytes_skip(u, sn_tar_padding(header->size));
	if (status == SN_OK && header->kind == SN_TAR_LONG_PATH) {
		free(u->long_path);
		u->long_path = sn_strdup(bytes);
	} else if (status == SN_OK && header->kind == SN_TAR_PAX &&
		   !sn_tar_read_pax(bytes, header->size, &u->long_path, &u->long_size)) {
		status = refuse(u, "its bytes are no tar file's");
	}
	free(bytes);
	return status;
}

static sn_status member_read(struct unpacking *u, const struct sn_tar_header *header)
{
	const char *path = u->long_path ? u->long_path : header->path;

	switch (header->kind) {
	case SN_TAR_FILE:
	case SN_TAR_FOLDER:
		return member_make(u, header);
	case SN_TAR_PAX:
	case SN_TAR_PAX_GLOBAL:
	case SN_TAR_LONG_PATH:
		return extension_read(u, header);
	case SN_TAR_LINK:
		return refuse(u, "'%s' in it is a link", path);
	case SN_TAR_DEVICE:
		return refuse(u, "'%s' in it is a device or pipe", path);
	default:
		return refuse(u, "'%s' in it is neither a file nor a folder", path);
	}
}

static sn_status members_read(struct unpacking *u)
{
	uint8_t block[SN_TAR_BLOCK];
	struct sn_tar_header header;
	sn_status status = SN_OK;
	size_t got = 0;

	while (status == SN_OK) {
		status = bytes_read(u, block, sizeof(block));
		if (status != SN_OK)
			break;
		if (!sn_tar_read_header(block, &header))
			return refuse(u, "its bytes are no tar file's");
		if (header.kind == SN_TAR_END)
			break;
		status = member_read(u, &header);
	}
	/* what tar fills its last record with; and the sum at the end of the zstd frame */
	do {
		if (status == SN_OK)
			status = bytes_try(u, u->copy, sizeof(u->copy), &got);
	} while (status == SN_OK && got);
	return status;
}

sn_status sn_unpack(const uint8_t *bytes, size_t length, const char *name, const char *into,
		    char **top, struct sn_error *err)
{
	struct unpacking *u = sn_alloc_zeroed(1, sizeof(*u));
	sn_status status = SN_OK;

	u->name = name;
	u->into = into;
	u->err = err;
	u->in = (ZSTD_inBuffer){ bytes, length, 0 };
	u->hint = 1;
	u->most = length > UINT64_MAX / RATIO_MAX / 2 ? UINT64_MAX
						      : length * RATIO_MAX + free_of_ratio_bytes;
	u->long_size = UINT64_MAX;
	u->stream = ZSTD_createDStream();
	if (!u->stream)
		sn_out_of_memory(sizeof(*u));
	status = members_read(u);
	if (status == SN_OK && !u->top)
		status = refuse(u, "it is empty");
	if (status == SN_OK) {
		*top = u->top;
		u->top = NULL;
	}
	ZSTD_freeDStream(u->stream);
	free(u->top);
	free(u->long_path);
	free(u);
	return status;
}

/* ---- archives of this command ---- */

struct opened {
	dev_t device;
	ino_t inode;
	char *path;   /* of the archive, as it was given */
	char *folder; /* that it holds */
};

static SN_VEC(struct opened) opened;

bool sn_is_archive(const char *path)
{
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	uint8_t first[sizeof(magic)];
	struct stat st;
	bool is_archive;
	int fd;

	if (!path || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_archive = read(fd, first, sizeof(first)) == sizeof(first) &&
		     !memcmp(first, magic, sizeof(magic));
	close(fd);
	return is_archive;
}

static bool has_file(const char *folder, const char *name)
{
	struct sn_text path = { 0 };
	bool is_there;

	sn_text_addf(&path, "%s/%s", folder, name);
	is_there = !access(path.chars, R_OK);
	sn_text_free(&path);
	return is_there;
}

static sn_status unpack_file(const char *path, char **folder, struct sn_error *err)
{
	struct sn_text into = { 0 }, full = { 0 };
	struct sn_file_view view = { 0 };
	sn_status status;
	char *top = NULL;

	status = sn_scratch_folder(&into, err);
	if (status == SN_OK)
		status = sn_file_map(path, &view, err);
	if (status == SN_OK)
		status = sn_unpack(view.bytes, view.length, path, into.chars, &top, err);
	sn_file_unmap(&view);
	if (status == SN_OK) {
		sn_text_addf(&full, "%s/%s", into.chars, top);
		if (!has_file(full.chars, "launch-key") && !has_file(full.chars, "state.jsonl"))
			status = sn_error_set(err, SN_ERR_FORMAT,
					      "the archive '%s' holds neither an experiment nor a "
					      "campaign; sonde archive makes one",
					      path);
	}
	if (status == SN_OK)
		*folder = sn_text_take(&full);
	else if (into.length)
		sn_scratch_remove(into.chars);
	free(top);
	sn_text_free(&into);
	sn_text_free(&full);
	return status;
}

sn_status sn_archive_open(const char *path, const char **folder, struct sn_error *err)
{
	struct opened fresh = { .path = NULL };
	sn_status status;
	struct stat st;

	if (stat(path, &st))
		return sn_error_errno(err, "cannot open the archive '%s'", path);
	for (size_t i = 0; i < opened.count; i++)
		if (opened.items[i].device == st.st_dev && opened.items[i].inode == st.st_ino) {
			*folder = opened.items[i].folder;
			return SN_OK;
		}
	status = unpack_file(path, &fresh.folder, err);
	if (status != SN_OK)
		return status;
	fresh.device = st.st_dev;
	fresh.inode = st.st_ino;
	fresh.path = sn_strdup(path);
	sn_vec_push(&opened, fresh);
	*folder = fresh.folder;
	return SN_OK;
}

bool sn_archive_open_within(const char *path, struct sn_text *out, sn_status *status,
			    struct sn_error *err)
{
	char *part = sn_strdup(path);
	const char *folder;
	bool is_one = false;

	for (char *end = strrchr(part, '/'); end && end > part && !is_one;
	     end = strrchr(part, '/')) {
		*end = '\0';
		is_one = sn_is_archive(part);
	}
	if (is_one) {
		*status = sn_archive_open(part, &folder, err);
		if (*status == SN_OK)
			sn_text_addf(out, "%s%s", folder, path + strlen(part));
	}
	free(part);
	return is_one;
}

const char *sn_archive_of(const char *path)
{
	for (size_t i = 0; path && i < opened.count; i++) {
		const char *folder = opened.items[i].folder;

		if (sn_starts_with(path, folder) &&
		    (!path[strlen(folder)] || path[strlen(folder)] == '/'))
			return opened.items[i].path;
	}
	return NULL;
}

sn_status sn_archive_refuse(const char *path, struct sn_error *err)
{
	const char *archive = sn_archive_of(path);

	return archive ? sn_error_set(
				 err, SN_ERR_USAGE,
				 "'%s' is an archive, which is only read; unpack it first: tar "
				 "--zstd -xf %s",
				 archive, archive)
		       : SN_OK;
}

void sn_archive_page_path(const char *experiment, const char *page, struct sn_text *out)
{
	const char *archive = sn_archive_of(experiment);

	if (!archive)
		sn_text_addf(out, "%s/%s", experiment, page);
	else
		sn_text_addf(out, "%.*s.%s",
			     (int)(strlen(archive) -
				   (sn_ends_with(archive, ".sonde") ? strlen(".sonde") : 0)),
			     archive, page);
}
