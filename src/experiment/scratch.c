/*
 * One folder a command holds all of its scratch. A child makes it, tells its name, and waits at a pipe:
 * the pipe ends when the command does, and then the child removes the folder. So at no moment the folder
 * is there and nobody who would remove it. At an ordinary end the command waits for that.
 */
#include "experiment/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static char *root; /* NULL: none yet */
static int lifeline = -1;
static pid_t remover, owner;
static unsigned folder_count;

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	remove(path);
	return 0;
}

void sn_scratch_remove(const char *folder)
{
	nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Holds nothing that somebody else waits for: no output, no terminal, no folder. No signal that ends a
 * command, and no one that ends its whole group, meets the child: they are blocked when it begins. */
static void remover_settle(int fd)
{
	int null;

	setsid();
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	dup2(fd, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	if (chdir("/"))
		errno = 0; /* then it stands where it is */
}

/* Makes the folder of this template and sends the name, or the number of the error. */
static __attribute__((noreturn)) void remover_run(char *template, int fd)
{
	int wrong;
	char byte;

	remover_settle(fd);
	wrong = mkdtemp(template) ? 0 : errno;
	fd = STDERR_FILENO + 1;
	/* nobody there any more: the read below sees that, too */
	if (send(fd, &wrong, sizeof(wrong), MSG_NOSIGNAL) == sizeof(wrong) && !wrong &&
	    send(fd, template, strlen(template), MSG_NOSIGNAL) < 0)
		errno = 0;
	while (read(fd, &byte, 1) > 0)
		;
	if (!wrong)
		sn_scratch_remove(template);
	_exit(0);
}

static void scratch_end(void)
{
	if (getpid() != owner)
		return;
	close(lifeline);
	waitpid(remover, NULL, 0);
}

/* Forks with all signals blocked in the child; -1 on failure. */
static pid_t remover_start(char *template, int ends[2])
{
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (!pid)
		remover_run(template, ends[1]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

/* The name fills the template in place. */
static sn_status name_take(int fd, char *template, struct sn_error *err)
{
	size_t length = strlen(template);
	int wrong = EIO;

	if (recv(fd, &wrong, sizeof(wrong), MSG_WAITALL) != sizeof(wrong))
		wrong = EIO;
	if (!wrong && recv(fd, template, length, MSG_WAITALL) != (ssize_t)length)
		wrong = EIO;
	errno = wrong;
	return wrong ? sn_error_errno(err, "cannot create '%s' (TMPDIR names another place)",
				      template)
		     : SN_OK;
}

static sn_status root_make(const char *place, struct sn_error *err)
{
	struct sn_text path = { 0 };
	int ends[2];
	char *real;
	sn_status status;

	if (!place)
		place = getenv("TMPDIR");
	real = realpath(place && place[0] ? place : "/tmp", NULL);
	if (!real)
		return sn_error_errno(err, "cannot use the temporary folder '%s' (TMPDIR)", place);
	sn_text_addf(&path, "%s/sonde-scratch.XXXXXX", real);
	free(real);
	remover = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
			  ? -1
			  : remover_start(path.chars, ends);
	if (remover < 0) {
		status = sn_error_errno(err, "cannot start what removes '%s' at the end",
					path.chars);
		sn_text_free(&path);
		return status;
	}
	close(ends[1]);
	status = name_take(ends[0], path.chars, err);
	if (status != SN_OK) {
		close(ends[0]);
		waitpid(remover, NULL, 0);
		sn_text_free(&path);
		return status;
	}
	root = sn_text_take(&path);
	owner = getpid();
	lifeline = ends[0];
	atexit(scratch_end);
	return SN_OK;
}

sn_status sn_scratch_folder_in(const char *place, struct sn_text *out, struct sn_error *err)
{
	sn_status status = root ? SN_OK : root_make(place, err);

	if (status != SN_OK)
		return status;
	sn_text_addf(out, "%s/%u", root, ++folder_count);
	if (mkdir(out->chars, 0700))
		return sn_error_errno(err, "cannot create '%s'", out->chars);
	return SN_OK;
}

sn_status sn_scratch_folder(struct sn_text *out, struct sn_error *err)
{
	return sn_scratch_folder_in(NULL, out, err);
}
