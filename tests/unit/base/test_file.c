#include "base/file.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/tap.h"

static char folder[] = "/tmp/sonde-file-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static sn_status write_text(const char *path, const char *text)
{
	struct sn_file_writer writer;
	struct sn_error err;
	sn_status status = sn_file_writer_open(&writer, path, &err);

	if (status != SN_OK)
		return status;
	fputs(text, writer.out);
	return sn_file_writer_commit(&writer, &err);
}

static off_t size_of(const char *path)
{
	struct stat info;

	return stat(path, &info) ? -1 : info.st_size;
}

TEST(a_file_stands_there_only_when_it_is_whole)
{
	struct sn_file_writer writer;
	struct sn_error err;

	REQUIRE(mkdtemp(folder) != NULL);
	CHECK_INT(sn_file_writer_open(&writer, in_folder("a"), &err), SN_OK);
	fputs("some", writer.out);
	CHECK_INT(size_of(in_folder("a")), -1);
	sn_file_writer_abandon(&writer);
	CHECK_INT(size_of(in_folder("a")), -1);
	CHECK_INT(write_text(in_folder("a"), "whole"), SN_OK);
	CHECK_INT(size_of(in_folder("a")), 5);
	unlink(in_folder("a"));
	CHECK_INT(rmdir(folder), 0);
}

/* To read a hole through a mapping would take a page of the tmpfs, and be a SIGBUS where it has none. */
TEST(holes_are_read_without_taking_room)
{
	char path[] = "/dev/shm/sonde-file-XXXXXX";
	struct sn_file_view view;
	struct sn_error err;
	struct stat before, after;
	struct statfs system;
	unsigned sum = 0;
	int fd = mkstemp(path);

	if (fd < 0 || fstatfs(fd, &system) || system.f_type != TMPFS_MAGIC)
		SKIP("/dev/shm is no tmpfs");
	CHECK_INT(pwrite(fd, "begin", 5, 100), 5);
	CHECK_INT(pwrite(fd, "end", 3, 1 << 20), 3);
	CHECK_INT(ftruncate(fd, 2 << 20), 0);
	CHECK_INT(fstat(fd, &before), 0);
	REQUIRE(sn_file_map(path, &view, &err) == SN_OK);
	CHECK_INT(view.length, 2 << 20);
	CHECK(memcmp(view.bytes + 100, "begin", 5) == 0);
	CHECK(memcmp(view.bytes + (1 << 20), "end", 3) == 0);
	for (size_t i = 0; i < view.length; i++)
		sum += view.bytes[i];
	CHECK_INT(sum, 'b' + 'e' + 'g' + 'i' + 'n' + 'e' + 'n' + 'd');
	CHECK_INT(fstat(fd, &after), 0);
	CHECK_INT(after.st_blocks, before.st_blocks);
	sn_file_unmap(&view);
	close(fd);
	unlink(path);
}

TEST(what_is_no_regular_file_stays_what_it_is)
{
	struct stat info;
	char link_path[128];

	strcpy(folder, "/tmp/sonde-file-XXXXXX");
	REQUIRE(mkdtemp(folder) != NULL);
	CHECK_INT(symlink("/dev/null", in_folder("null")), 0);
	CHECK_INT(write_text(in_folder("null"), "gone"), SN_OK);
	CHECK(!lstat(in_folder("null"), &info) && S_ISLNK(info.st_mode));
	CHECK(!stat("/dev/null", &info) && S_ISCHR(info.st_mode));
	strcpy(link_path, in_folder("link"));
	CHECK_INT(symlink("target", link_path), 0);
	CHECK_INT(write_text(in_folder("target"), "one"), SN_OK);
	CHECK_INT(write_text(link_path, "three"), SN_OK);
	CHECK(!lstat(link_path, &info) && S_ISLNK(info.st_mode));
	CHECK_INT(size_of(in_folder("target")), 5);
	CHECK_INT(write_text(folder, "x"), SN_ERR_IO);
	unlink(in_folder("null"));
	unlink(in_folder("link"));
	unlink(in_folder("target"));
	CHECK_INT(rmdir(folder), 0);
}

/* Each test is a process of its own: its limit goes with it. */
TEST(a_write_beyond_the_limit_of_file_sizes_says_so)
{
	const struct rlimit limit = { 4096, 4096 };
	char text[8193] = { 0 };
	struct sn_file_writer writer;
	struct sn_error err;

	memset(text, 'x', sizeof(text) - 1);
	REQUIRE(mkdtemp(folder) != NULL);
	sn_file_limit_mind();
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_INT(sn_file_writer_open(&writer, in_folder("a"), &err), SN_OK);
	/* the first failure is not the last write */
	fputs(text, writer.out);
	fflush(writer.out);
	errno = 0;
	CHECK_INT(sn_file_writer_commit(&writer, &err), SN_ERR_IO);
	CHECK(strstr(err.sentence, strerror(EFBIG)) != NULL);
	CHECK(strstr(err.sentence, "limit on file sizes is 4 kB") != NULL);
	CHECK(strstr(err.sentence, "ulimit -f") != NULL);
	CHECK_INT(size_of(in_folder("a")), -1);
	CHECK_INT(rmdir(folder), 0);
}
