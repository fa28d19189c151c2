/*
 * One folder a command holds all of its scratch. A child waits at a pipe: the pipe ends when the
 * command does, and then the child removes the folder. At an ordinary end the command waits for that.
 */
#include "experiment/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Holds nothing that somebody else waits for: no output, no terminal, no folder. */
static __attribute__((noreturn)) void remover_run(int fd)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	char byte;
	int null;

	setsid();
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], SIG_IGN);
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	dup2(fd, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	while (read(STDERR_FILENO + 1, &byte, 1) > 0)
		;
	if (chdir("/") == 0)
		sn_scratch_remove(root);
	_exit(0);
}

static void scratch_end(void)
{
	if (getpid() != owner)
		return;
	close(lifeline);
	waitpid(remover, NULL, 0);
}

static sn_status root_make(struct sn_error *err)
{
	const char *place = getenv("TMPDIR");
	struct sn_text path = { 0 };
	int pipes[2];
	char *real;

	real = realpath(place && place[0] ? place : "/tmp", NULL);
	if (!real)
		return sn_error_errno(err, "cannot use the temporary folder '%s' (TMPDIR)", place);
	sn_text_addf(&path, "%s/sonde-archive.XXXXXX", real);
	free(real);
	if (!mkdtemp(path.chars)) {
		sn_error_errno(err, "cannot create '%s' (TMPDIR names another place)", path.chars);
		sn_text_free(&path);
		return SN_ERR_IO;
	}
	root = sn_text_take(&path);
	owner = getpid();
	remover = pipe2(pipes, O_CLOEXEC) ? -1 : fork();
	if (!remover) {
		close(pipes[1]);
		remover_run(pipes[0]);
	}
	if (remover < 0) {
		sn_error_errno(err, "cannot start what removes '%s' at the end", root);
		rmdir(root);
		free(root);
		root = NULL;
		return SN_ERR_IO;
	}
	close(pipes[0]);
	lifeline = pipes[1];
	atexit(scratch_end);
	return SN_OK;
}

sn_status sn_scratch_folder(struct sn_text *out, struct sn_error *err)
{
	sn_status status = root ? SN_OK : root_make(err);

	if (status != SN_OK)
		return status;
	sn_text_addf(out, "%s/%u", root, ++folder_count);
	if (mkdir(out->chars, 0700))
		return sn_error_errno(err, "cannot create '%s'", out->chars);
	return SN_OK;
}
