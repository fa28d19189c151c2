/* Standard input that is read again, and standard output that is kept in files without names. */
#include "record/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int file_without_name(void)
{
	FILE *file = tmpfile();
	int copy;

	if (!file)
		return -1;
	copy = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
	fclose(file);
	return copy;
}

/* Copies from where `from` stands to its end; false: not all of it could be written. */
static bool copy_all(int from, int to)
{
	char bytes[65536];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR))
		for (ssize_t at = 0; at < got;) {
			ssize_t put = write(to, bytes + at, (size_t)(got - at));

			if (put < 0 && errno != EINTR)
				return false;
			at += put > 0 ? put : 0;
		}
	return got == 0;
}

void sn_streams_open(struct sn_streams *s)
{
	*s = (struct sn_streams){ .input = -1, .output = -1, .aside = -1, .before = -1 };
	s->input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (s->input_at >= 0 || isatty(STDIN_FILENO))
		return;
	s->input = file_without_name();
	if (s->input < 0)
		return;
	copy_all(STDIN_FILENO, s->input);
	dup2(s->input, STDIN_FILENO);
	s->input_at = 0;
	sn_streams_rewind(s);
}

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void sn_streams_rewind(const struct sn_streams *s)
{
	if (s->input_at >= 0)
		lseek(STDIN_FILENO, s->input_at, SEEK_SET);
}

void sn_streams_begin(struct sn_streams *s)
{
	sn_streams_rewind(s);
	fflush(stdout);
	close_and_forget(&s->before);
	s->before = s->aside;
	s->aside = file_without_name();
	s->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->aside >= 0)
		dup2(s->aside, STDOUT_FILENO);
	else
		perror("sonde: no file can be made that keeps the program's output");
}

void sn_streams_end(struct sn_streams *s)
{
	if (s->output < 0)
		return;
	dup2(s->output, STDOUT_FILENO);
	close_and_forget(&s->output);
}

bool sn_streams_are_alike(const struct sn_streams *s)
{
	off_t at = 0;

	if (s->before < 0 || s->aside < 0)
		return true;
	for (;;) {
		char one[65536], other[65536];
		ssize_t got = pread(s->aside, one, sizeof(one), at);
		ssize_t had = pread(s->before, other, sizeof(other), at);

		if (got < 0 || got != had || memcmp(one, other, (size_t)got) != 0)
			return false;
		if (!got)
			return true;
		at += got;
	}
}

void sn_streams_show(const struct sn_streams *s, int fd)
{
	if (s->aside < 0)
		return;
	lseek(s->aside, 0, SEEK_SET);
	if (!copy_all(s->aside, fd))
		perror("sonde: not all that the program wrote could be passed on");
}

void sn_streams_close(struct sn_streams *s)
{
	sn_streams_end(s);
	close_and_forget(&s->input);
	close_and_forget(&s->aside);
	close_and_forget(&s->before);
}
