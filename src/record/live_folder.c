/* Makes the folder of live data, and removes empty ones of killed launchers. */
#include "record/live_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum {
	BYTES_LEAST = 64 << 20, /* free space that makes a temporary folder worth using */
	/* (chosen) between its making and its lock a folder is younger than that; versions without a
	   lock have files in theirs by then */
	EMPTY_AGE_S = 60,
};

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

/* The lock counts across PID namespaces that share the folder, where a PID says nothing. */
static bool is_left(int fd, pid_t maker, int age_s)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() &&
	       time(NULL) - st.st_mtim.tv_sec >= age_s && kill(maker, 0) && errno == ESRCH &&
	       !flock(fd, LOCK_EX | LOCK_NB);
}

void sn_live_folders_sweep(const char *parent, int age_s)
{
	DIR *names = opendir(parent);

	for (struct dirent *entry; names && (entry = readdir(names));) {
		pid_t maker = maker_of(entry->d_name);
		int fd;

		if (!maker)
			continue;
		fd = openat(dirfd(names), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (is_left(fd, maker, age_s))
			unlinkat(dirfd(names), entry->d_name, AT_REMOVEDIR); /* if empty */
		if (fd >= 0)
			close(fd);
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

sn_status sn_live_folder_make(const char *experiment, const char *host, bool is_on_disk,
			      struct sn_live_folder *folder, struct sn_error *err)
{
	const char *candidates[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };
	char *absolute;

	folder->lock_fd = -1;
	for (size_t i = 0; !is_on_disk && i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (!is_roomy(candidates[i]))
			continue;
		sn_text_clear(&folder->path);
		sn_text_addf(&folder->path, "%s/sonde-live.%d.XXXXXX", candidates[i],
			     (int)getpid());
		if (mkdtemp(folder->path.chars)) {
			lock(folder);
			sn_live_folders_sweep(candidates[i], EMPTY_AGE_S);
			return SN_OK;
		}
	}
	absolute = realpath(experiment, NULL);
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
	if (folder->path.chars)
		rmdir(folder->path.chars);
}

void sn_live_folder_free(struct sn_live_folder *folder)
{
	if (folder->path.chars && folder->lock_fd >= 0)
		close(folder->lock_fd);
	sn_text_free(&folder->path);
}
