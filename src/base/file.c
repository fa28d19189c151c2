/*
 * Reading maps regular files and reads all others (pipes, /proc). Writing goes to a temporary file
 * beside the final one, which a rename puts in its place: a reader sees the old file or the new
 * one, never half of it.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

static sn_status read_all(int fd, const char *path, struct sn_file_view *out, struct sn_error *err)
{
	struct sn_text bytes = { 0 };
	char piece[65536];
	ssize_t got;

	while ((got = read(fd, piece, sizeof(piece))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			sn_text_free(&bytes);
			return sn_error_errno(err, "cannot read '%s'", path);
		}
		sn_text_add_bytes(&bytes, piece, (size_t)got);
	}
	out->length = bytes.length;
	out->bytes = (const uint8_t *)sn_text_take(&bytes);
	out->is_mapped = false;
	return SN_OK;
}

/* Whether some of its bytes have no place on the disk. */
static bool has_holes(int fd, off_t length)
{
	off_t hole = lseek(fd, 0, SEEK_HOLE);

	return hole >= 0 && hole < length;
}

/* To read a hole of a tmpfs through a mapping takes a page of it: where it is full, that is a SIGBUS. So such a file is copied;
 * memory is needed for what is no hole. */
static sn_status copy_around_holes(int fd, off_t length, const char *path, struct sn_file_view *out,
				   struct sn_error *err)
{
	uint8_t *bytes = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	off_t at = 0;

	if (bytes == MAP_FAILED)
		return sn_error_errno(err, "cannot read '%s'", path);
	while (at < length && (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < length) {
		off_t end = lseek(fd, at, SEEK_HOLE);
		ssize_t got = pread(fd, bytes + at,
				    (size_t)((end > at && end < length ? end : length) - at), at);

		if (got < 0 && errno != EINTR) {
			sn_status status = sn_error_errno(err, "cannot read '%s'", path);

			munmap(bytes, (size_t)length);
			return status;
		}
		if (got == 0)
			break; /* it has become shorter */
		at += got > 0 ? got : 0;
	}
	*out = (struct sn_file_view){ bytes, (size_t)length, true };
	return SN_OK;
}

sn_status sn_file_map(const char *path, struct sn_file_view *out, struct sn_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	sn_status status = SN_OK;
	struct stat st;
	void *bytes;

	if (fd < 0)
		return sn_error_errno(err, "cannot open '%s'", path);
	if (fstat(fd, &st)) {
		status = sn_error_errno(err, "cannot read '%s'", path);
	} else if (S_ISDIR(st.st_mode)) {
		status = sn_error_set(err, SN_ERR_IO, "cannot read '%s': it is a folder", path);
	} else if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		status = read_all(fd, path, out, err);
	} else if (has_holes(fd, st.st_size)) {
		status = copy_around_holes(fd, st.st_size, path, out, err);
	} else {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			status = sn_error_errno(err, "cannot map '%s'", path);
		else
			*out = (struct sn_file_view){ bytes, (size_t)st.st_size, true };
	}
	close(fd);
	return status;
}

void sn_file_unmap(struct sn_file_view *view)
{
	if (view->is_mapped)
		munmap((void *)view->bytes, view->length);
	else
		free((void *)view->bytes);
	*view = (struct sn_file_view){ 0 };
}

static void writer_free(struct sn_file_writer *writer)
{
	free(writer->path);
	free(writer->temporary);
	*writer = (struct sn_file_writer){ 0 };
}

/* The file behind symbolic links, or the path itself where there is none yet. */
static char *final_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : sn_strdup(path);
}

sn_status sn_file_writer_open(struct sn_file_writer *writer, const char *path, struct sn_error *err)
{
	struct stat info;

	*writer = (struct sn_file_writer){ 0 };
	if (!stat(path, &info) && !S_ISREG(info.st_mode)) {
		writer->path = sn_strdup(path);
		writer->out = S_ISDIR(info.st_mode) ? NULL : fopen(path, "we");
		errno = S_ISDIR(info.st_mode) ? EISDIR : errno;
	} else {
		struct sn_text temporary = { 0 };

		writer->path = final_path(path);
		sn_text_addf(&temporary, "%s.part.%d", writer->path, (int)getpid());
		writer->temporary = sn_text_take(&temporary);
		unlink(writer->temporary); /* of an earlier process of this number */
		writer->out = fopen(writer->temporary, "wxe");
	}
	if (!writer->out) {
		sn_status status = sn_error_errno(err, "cannot write '%s'", path);

		writer_free(writer);
		return status;
	}
	return SN_OK;
}

bool sn_file_has_failed(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return false;
	/* an earlier write failed: the next one does so for the same reason */
	if (!errno && write(fileno(out), "", 1) >= 0)
		errno = EIO;
	return true;
}

static void (*caller_file_limit)(int) = SIG_DFL;

void sn_file_limit_mind(void)
{
	caller_file_limit = signal(SIGXFSZ, SIG_IGN);
}

void sn_file_limit_leave(void)
{
	signal(SIGXFSZ, caller_file_limit);
}

sn_status sn_file_writer_commit(struct sn_file_writer *writer, struct sn_error *err)
{
	sn_status status = SN_OK;
	bool failed = sn_file_has_failed(writer->out);
	int fault = errno;

	if (fclose(writer->out) || failed ||
	    (writer->temporary && rename(writer->temporary, writer->path))) {
		errno = failed ? fault : errno;
		status = sn_error_errno(err, "cannot write '%s'", writer->path);
		if (writer->temporary)
			unlink(writer->temporary);
	}
	writer_free(writer);
	return status;
}

void sn_file_writer_abandon(struct sn_file_writer *writer)
{
	if (!writer->out)
		return;
	fclose(writer->out);
	if (writer->temporary)
		unlink(writer->temporary);
	writer_free(writer);
}

sn_status sn_make_folders(const char *path, struct sn_error *err)
{
	char *partial = sn_strdup(path);
	sn_status status = SN_OK;

	for (char *at = partial + 1; status == SN_OK; at++) {
		char kept = *at;

		if (kept != '/' && kept != '\0')
			continue;
		*at = '\0';
		if (mkdir(partial, 0777) && errno != EEXIST)
			status = sn_error_errno(err, "cannot create the folder '%s'", partial);
		*at = kept;
		if (!kept)
			break;
	}
	free(partial);
	return status;
}

void sn_file_remove_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *all = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (all && (entry = readdir(all))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dirfd(all), entry->d_name, 0) && (errno == EISDIR || errno == EPERM))
			sn_file_remove_folder(dirfd(all), entry->d_name);
	}
	if (all)
		closedir(all);
	unlinkat(parent, name, AT_REMOVEDIR);
}

const char *sn_boot_id(struct sn_arena *arena)
{
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
	char line[64] = "";

	if (in && fgets(line, sizeof(line), in))
		line[strcspn(line, "\n")] = '\0';
	if (in)
		fclose(in);
	return sn_arena_strdup(arena, line);
}
