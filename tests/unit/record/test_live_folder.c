#include "record/live_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
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

static void file_make(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	REQUIRE(file && fputs(text, file) >= 0 && !fclose(file));
}

static void age(const char *path, int64_t seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = time(NULL) - seconds } };

	REQUIRE(!utimensat(AT_FDCWD, path, times, 0));
}

/* A folder with data, of the experiment EXPERIMENT below the parent. */
static const char *data_of(const char *suffix, pid_t writer, const char *experiment,
			   bool is_of_other)
{
	const char *folder = folder_of(dead(), suffix);
	char mnt[64] = "", pid[64] = "", mark[512], name[64];

	snprintf(name, sizeof(name), "a.b-c.%d.0.live", (int)writer);
	file_make(folder, name, "data");
	REQUIRE(readlink("/proc/self/ns/mnt", mnt, sizeof(mnt) - 1) > 0 &&
		readlink("/proc/self/ns/pid", pid, sizeof(pid) - 1) > 0);
	snprintf(mark, sizeof(mark), "%s\n%s\n%s/%s/launch.host.1.json",
		 is_of_other ? "mnt:[1]" : mnt, pid, parent, experiment);
	if (*experiment)
		file_make(folder, "experiment", mark);
	return folder;
}

static void experiment_make(const char *name, const char *live_folder)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "%s/%s", parent, name);
	REQUIRE(!mkdir(path, 0700));
	snprintf(text, sizeof(text), "{\"schema\":\"sonde.launch/1\",\"live_folder\":\"%s\"}",
		 live_folder);
	if (live_folder)
		file_make(path, "launch.host.1.json", text);
}

TEST(data_that_an_experiment_names_stay_and_others_go)
{
	char named[128], gathered[128], none[128], moved[128], removed[128], written[128],
		other[128], earlier[128], strange[128], path[256];

	REQUIRE(mkdtemp(strcpy(parent, "/tmp/sonde-test-live-XXXXXX")));
	strcpy(named, data_of("named0", dead(), "e1", false));
	experiment_make("e1", named);
	strcpy(gathered, data_of("gather", dead(), "e2", false));
	experiment_make("e2", "/elsewhere");
	strcpy(none, data_of("none00", dead(), "e3", false));
	experiment_make("e3", NULL); /* killed before the target began */
	strcpy(moved, data_of("moved0", dead(), "gone", false));
	strcpy(removed, data_of("remove", dead(), "folder/gone", false));
	strcpy(written, data_of("writes", getpid(), "folder/gone", false));
	strcpy(other, data_of("others", dead(), "folder/gone", true)); /* a container's */
	strcpy(earlier, data_of("before", dead(), "", false));
	strcpy(strange, data_of("strang", dead(), "folder/gone", false));
	file_make(strange, "thesis.tex", "");
	snprintf(path, sizeof(path), "%s/linked.%d.0.live", removed, (int)dead());
	REQUIRE(!symlink(named, path));
	snprintf(path, sizeof(path), "%s/sonde-live.%d.linked", parent, (int)dead());
	REQUIRE(!symlink(named, path));

	sn_live_folders_sweep(parent, 0);
	CHECK(is_there(named));
	CHECK(!is_there(gathered));
	CHECK(!is_there(none));
	CHECK(is_there(moved));
	CHECK(!is_there(removed));
	CHECK(is_there(written));
	CHECK(is_there(other));
	CHECK(is_there(earlier));
	CHECK(is_there(strange));
	CHECK(is_there(path));
	snprintf(path, sizeof(path), "%s/thesis.tex", strange);
	CHECK(is_there(path));

	age(moved, 25 * 3600);
	age(earlier, 8 * 24 * 3600);
	age(named, 100 * 24 * 3600);
	age(other, 100 * 24 * 3600);
	sn_live_folders_sweep(parent, 0);
	CHECK(!is_there(moved));
	CHECK(!is_there(earlier));
	CHECK(is_there(named));
	CHECK(is_there(other));
	snprintf(path, sizeof(path), "rm -r '%s'", parent);
	CHECK(!system(path));
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
	CHECK(!faccessat(other, "experiment", F_OK, 0));
	close(other);
	file_make(folder.path.chars, "host.1.0.live", "data");
	sn_live_folder_remove(&folder); /* gathering has failed: it still says whose it is */
	other = open(folder.path.chars, O_RDONLY | O_DIRECTORY);
	CHECK(other >= 0 && !faccessat(other, "experiment", F_OK, 0));
	CHECK(!unlinkat(other, "host.1.0.live", 0));
	close(other);
	sn_live_folder_remove(&folder);
	CHECK(!is_there(folder.path.chars));
	sn_live_folder_remove(&folder);
	sn_live_folder_free(&folder);
	CHECK(!rmdir(parent));
}
