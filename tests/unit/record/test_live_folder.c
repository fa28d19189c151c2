#include "record/live_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "harness/tap.h"

static char parent[] = "/tmp/sonde-test-live-XXXXXX";

static const char *folder_of(pid_t maker, const char *suffix)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/sonde-live.%d.%s", parent, (int)maker, suffix);
	REQUIRE(!mkdir(path, 0700));
	return path;
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

/* A process that has ended; nobody has its number before it is waited for. */
static pid_t dead(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
	return child;
}

TEST(only_empty_folders_of_dead_launchers_are_swept)
{
	char left[128], ours[128], full[128], file[160], held[128], other[128];
	int lock;

	REQUIRE(mkdtemp(parent));
	strcpy(left, folder_of(dead(), "aB3dEf"));
	strcpy(ours, folder_of(getpid(), "aB3dEf"));
	strcpy(full, folder_of(dead(), "full00"));
	snprintf(file, sizeof(file), "%s/data", full);
	REQUIRE(!close(open(file, O_CREAT | O_WRONLY, 0600)));
	strcpy(held, folder_of(dead(), "held00"));
	lock = open(held, O_RDONLY | O_DIRECTORY);
	REQUIRE(lock >= 0 && !flock(lock, LOCK_SH));
	strcpy(other, folder_of(dead(), "toolong"));

	sn_live_folders_sweep(parent, 3600);
	CHECK(is_there(left)); /* young */
	sn_live_folders_sweep(parent, 0);
	CHECK(!is_there(left));
	CHECK(is_there(ours));
	CHECK(is_there(full) && is_there(file));
	CHECK(is_there(held));
	CHECK(is_there(other));

	close(lock);
	sn_live_folders_sweep(parent, 0);
	CHECK(!is_there(held));
	CHECK(!unlink(file) && !rmdir(full) && !rmdir(ours) && !rmdir(other) && !rmdir(parent));
}

TEST(a_folder_in_use_is_held)
{
	struct sn_live_folder folder = { 0 };
	struct sn_error err = { 0 };
	int other;

	REQUIRE(mkdtemp(strcpy(parent, "/tmp/sonde-test-live-XXXXXX")));
	setenv("TMPDIR", parent, 1);
	REQUIRE(sn_live_folder_make(parent, "host", false, &folder, &err) == SN_OK);
	CHECK(is_there(folder.path.chars) && !strncmp(folder.path.chars, parent, strlen(parent)));
	other = open(folder.path.chars, O_RDONLY | O_DIRECTORY);
	CHECK(other >= 0 && flock(other, LOCK_EX | LOCK_NB));
	close(other);
	sn_live_folder_remove(&folder);
	CHECK(!is_there(folder.path.chars));
	sn_live_folder_remove(&folder);
	sn_live_folder_free(&folder);
	CHECK(!rmdir(parent));
}
