/*
 * Makes the folder of live data, and removes those of killed launchers that nobody needs any more.
 *
 * A folder says in a file of its own ("experiment") which launch file names it. While that one does,
 * the data can be read (docs/format/experiment.md), and stay.
 */
#include "record/live_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "experiment/launch.h"
#include "experiment/store.h"

enum {
	BYTES_LEAST = 64 << 20, /* free space that makes a temporary folder worth using */
	/* (chosen) between its making and its lock a folder is younger than that; versions without a
	   lock have files in theirs by then */
	YOUNG_S = 60,
	/* (chosen) an experiment that is not where it was may have been moved */
	MOVED_S = 24 * 3600,
	/* (chosen) of earlier versions, which do not say whose they are */
	UNMARKED_S = 7 * 24 * 3600,
	MARK_MOST = 2 * 4096,
};

static const char mark_name[] = "experiment";

static bool is_roomy(const char *folder)
{
	struct statvfs fs;

	return folder && *folder == '/' && !access(folder, W_OK | X_OK) && !statvfs(folder, &fs) &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= BYTES_LEAST;
}

const char *sn_live_place(void)
{
	const char *places[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (is_roomy(places[i]))
			return places[i];
	return NULL;
}

/* The process that made a folder of that name, or 0: not one of ours. */
static pid_t maker_of(const char *name)
{
	int pid = 0, end = 0;

	if (sscanf(name, "sonde-live.%d.%*6[A-Za-z0-9]%n", &pid, &end) != 1 || !end || name[end])
		return 0;
	return pid > 0 ? pid : 0;
}

/* ---- what is left of killed launchers ---- */

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* The lock counts across PID namespaces that share the folder, where a PID says nothing. */
static bool is_left(int fd, pid_t maker, const struct stat *st)
{
	return st->st_uid == geteuid() && is_gone(maker) && !flock(fd, LOCK_EX | LOCK_NB);
}

/* The namespaces in which paths and numbers of processes mean what they do here. */
static void namespaces_add(struct sn_text *out)
{
	static const char *const links[] = { "/proc/self/ns/mnt", "/proc/self/ns/pid" };

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		char name[64];
		ssize_t length = readlink(links[i], name, sizeof(name));

		sn_text_add_bytes(out, name, length > 0 ? (size_t)length : 0);
		sn_text_add_char(out, '\n');
	}
}

/* Namespaces, then the path of the launch file to the end: a path may have any characters. */
static void mark_write(const char *folder, const char *mark)
{
	struct sn_text path = { 0 };
	int fd;

	sn_text_addf(&path, "%s/%s", folder, mark_name);
	fd = open(path.chars, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* without it the folder counts as one of an earlier version */
	if (fd >= 0 && write(fd, mark, strlen(mark)) != (ssize_t)strlen(mark))
		unlink(path.chars);
	if (fd >= 0)
		close(fd);
	sn_text_free(&path);
}

static bool mark_read(int folder, char *mark)
{
	int fd = openat(folder, mark_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t length = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)
				 ? read(fd, mark, MARK_MOST - 1)
				 : -1;

	if (fd >= 0)
		close(fd);
	mark[length > 0 ? length : 0] = '\0';
	return length > 0;
}

static bool is_missing(const char *path)
{
	struct stat st;

	return stat(path, &st) && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether there is not even the folder in which the experiment was. */
static bool is_place_missing(const char *launch_path)
{
	char path[MARK_MOST];
	char *slash;

	snprintf(path, sizeof(path), "%s", launch_path);
	for (int i = 0; i < 2; i++) { /* the launch file's name, the experiment's */
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return *path && is_missing(path);
}

/* Whether the launch file still says that the data lie in this folder. */
static bool is_named(const char *launch_path, const char *name)
{
	struct sn_launch launch;
	const char *slash;
	bool is;

	if (sn_launch_read(launch_path, &launch, NULL) != SN_OK)
		return true; /* whoever can read it may tell */
	slash = launch.live_folder ? strrchr(launch.live_folder, '/') : NULL;
	is = slash && !strcmp(slash + 1, name);
	sn_launch_free(&launch);
	return is;
}

/* The launch file is not there: whether its experiment was removed, or ended before it had one. */
static bool is_removed(const char *launch_path, int64_t age_s)
{
	char experiment[MARK_MOST];
	char *slash;

	snprintf(experiment, sizeof(experiment), "%s", launch_path);
	slash = strrchr(experiment, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return !is_missing(experiment) || is_place_missing(launch_path) || age_s >= MOVED_S;
}

/* Whether what is left can be read from no experiment. */
static bool is_useless(int fd, const char *name, int64_t age_s)
{
	struct sn_text here = { 0 };
	char mark[MARK_MOST];
	const char *launch_path;
	bool is = false;

	if (!mark_read(fd, mark))
		return age_s >= UNMARKED_S;
	namespaces_add(&here);
	launch_path = mark + here.length;
	if (sn_starts_with(mark, here.chars))
		is = is_missing(launch_path) ? is_removed(launch_path, age_s)
					     : !is_named(launch_path, name);
	sn_text_free(&here);
	return is;
}

/* The process that writes a file HOST.PID.SEQUENCE.live, or 0. */
static pid_t writer_of(const char *name)
{
	const char *end = name + strlen(name);
	int pid = 0, used = 0;

	if (!sn_ends_with(name, ".live"))
		return 0;
	for (int dots = 0; dots < 3 && end > name;)
		dots += *--end == '.';
	return sscanf(end, ".%d.%*u.live%n", &pid, &used) == 1 && used ? pid : 0;
}

/* A target may outlive its launcher, and go on writing. */
static bool has_writer(DIR *names)
{
	bool has = false;

	for (struct dirent *entry; !has && (entry = readdir(names));) {
		pid_t pid = writer_of(entry->d_name);

		has = pid > 0 && !is_gone(pid);
	}
	rewinddir(names);
	return has;
}

/* Only files that we make; links are removed, not followed. */
static void content_remove(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = copy >= 0 ? fdopendir(copy) : NULL;

	if (!names) {
		if (copy >= 0)
			close(copy);
		return;
	}
	if (!has_writer(names))
		for (struct dirent *entry; (entry = readdir(names));)
			if (sn_store_is_live(entry->d_name))
				unlinkat(fd, entry->d_name, 0);
	closedir(names);
}

static void folder_sweep(int parent, const char *name, pid_t maker, int age_s)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int64_t unchanged_s;

	if (fd < 0)
		return;
	unchanged_s = fstat(fd, &st) ? -1 : time(NULL) - st.st_mtim.tv_sec;
	if (unchanged_s >= age_s && is_left(fd, maker, &st)) {
		if (is_useless(fd, name, unchanged_s))
			content_remove(fd);
		unlinkat(parent, name, AT_REMOVEDIR); /* if empty */
	}
	close(fd);
}

void sn_live_folders_sweep(const char *parent, int age_s)
{
	DIR *names = opendir(parent);

	for (struct dirent *entry; names && (entry = readdir(names));) {
		pid_t maker = maker_of(entry->d_name);

		if (maker && is_gone(maker))
			folder_sweep(dirfd(names), entry->d_name, maker, age_s);
	}
	if (names)
		closedir(names);
}

static void lock(struct sn_live_folder *folder)
{
	folder->lock_fd = open(folder->path.chars, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->lock_fd >= 0)
		flock(folder->lock_fd, LOCK_SH | LOCK_NB);
}

static void mark_make(const char *experiment, const char *host, struct sn_text *out)
{
	namespaces_add(out);
	sn_text_addf(out, "%s/launch.%s.%d.json", experiment, host, (int)getpid());
}

sn_status sn_live_folder_make(const char *experiment, const char *host, bool is_on_disk,
			      struct sn_live_folder *folder, struct sn_error *err)
{
	const char *candidates[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };
	char *absolute = realpath(experiment, NULL);

	folder->lock_fd = -1;
	for (size_t i = 0; !is_on_disk && i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (!is_roomy(candidates[i]))
			continue;
		sn_text_clear(&folder->path);
		sn_text_addf(&folder->path, "%s/sonde-live.%d.XXXXXX", candidates[i],
			     (int)getpid());
		if (mkdtemp(folder->path.chars)) {
			lock(folder);
			if (absolute)
				mark_make(absolute, host, &folder->mark);
			if (folder->mark.length)
				mark_write(folder->path.chars, folder->mark.chars);
			sn_live_folders_sweep(candidates[i], YOUNG_S);
			free(absolute);
			return SN_OK;
		}
	}
	sn_text_clear(&folder->path);
	sn_text_addf(&folder->path, "%s/live.%s.%d", absolute ? absolute : "", host, (int)getpid());
	free(absolute);
	if (mkdir(folder->path.chars, 0700))
		return sn_error_errno(err,
				      "cannot make a folder for the data, neither in $TMPDIR, "
				      "/dev/shm and /tmp nor in the experiment ('%s')",
				      folder->path.chars);
	lock(folder);
	return SN_OK;
}

void sn_live_folder_remove(struct sn_live_folder *folder)
{
	struct sn_text mark = { 0 };

	if (!folder->path.chars)
		return;
	sn_text_addf(&mark, "%s/%s", folder->path.chars, mark_name);
	if (folder->mark.length)
		unlink(mark.chars);
	if (rmdir(folder->path.chars) && errno != ENOENT && folder->mark.length)
		mark_write(folder->path.chars,
			   folder->mark.chars); /* it stays for a later launcher */
	sn_text_free(&mark);
}

void sn_live_folder_free(struct sn_live_folder *folder)
{
	if (folder->path.chars && folder->lock_fd >= 0)
		close(folder->lock_fd);
	sn_text_free(&folder->path);
	sn_text_free(&folder->mark);
}
