/* Output of several starts: kept aside, or copied on its way; counted and hashed. */
#include "record/written.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ROOM = 65536,
	ROUND_MS = 100,
	/* (chosen) so long after the program's end others may hold its output before they are left to themselves */
	REST_ROUNDS = 20,
};

static bool write_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t put = write(fd, bytes, count);

		if (put < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, ROUND_MS);
			continue;
		}
		if (put < 0 && errno != EINTR)
			return false;
		bytes += put > 0 ? put : 0;
		count -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

/* ---- aside ---- */

static int file_without_name(void)
{
	FILE *file = tmpfile();
	int copy = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;

	if (file)
		fclose(file);
	if (copy >= 0)
		fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_APPEND);
	return copy;
}

static void begin_aside(struct sn_written *w)
{
	w->fds[0] = file_without_name();
	w->fds[1] = w->is_one ? w->fds[0] : file_without_name();
}

/* Of a file from an offset to another. */
static struct sn_written_stream hash_of(int fd, off_t at, off_t end)
{
	struct sn_written_stream out = { .is_known = true };
	struct sn_sha256 hash;
	char bytes[ROOM];

	sn_sha256_begin(&hash);
	while (at < end) {
		size_t room = end - at < ROOM ? (size_t)(end - at) : ROOM;
		ssize_t got = pread(fd, bytes, room, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			out.is_known = false;
			break;
		}
		sn_sha256_add(&hash, bytes, (size_t)got);
		out.bytes += (uint64_t)got;
		at += got;
	}
	sn_sha256_end(&hash, out.hash);
	return out;
}

static off_t size_of(int fd)
{
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) ? status.st_size : -1;
}

static void end_aside(struct sn_written *w)
{
	for (int s = 0; s < (w->is_one ? 1 : 2); s++)
		if (size_of(w->fds[s]) >= 0)
			w->streams[s] = hash_of(w->fds[s], 0, size_of(w->fds[s]));
}

/* ---- shown, through a pipe ---- */

/* True: there was something, or nothing more comes. */
static bool copy_some(struct sn_written_copy *copy)
{
	struct pollfd wait = { .fd = copy->from, .events = POLLIN };
	char bytes[ROOM];
	ssize_t got;

	if (poll(&wait, 1, ROUND_MS) <= 0)
		return false;
	got = read(copy->from, bytes, sizeof(bytes));
	if (got < 0)
		return errno != EINTR && errno != EAGAIN ? (copy->has_ended = true) : false;
	if (!got) {
		copy->has_ended = true;
		return true;
	}
	sn_sha256_add(&copy->hash, bytes, (size_t)got);
	copy->bytes += (uint64_t)got;
	/* who reads has gone: the program is to notice, as it would without this pipe */
	if (!write_all(copy->to, bytes, (size_t)got)) {
		close(copy->from);
		copy->from = -1;
		copy->has_ended = true;
	}
	return true;
}

static void *copy_run(void *context)
{
	struct sn_written_copy *copy = context;
	unsigned idle = 0;

	while (!copy->has_ended && idle < REST_ROUNDS) {
		bool is_over = atomic_load(&copy->is_over);

		if (copy_some(copy))
			idle = 0;
		else
			idle += is_over;
	}
	return NULL;
}

static void copy_start(struct sn_written_copy *copy)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	copy->has_thread = !pthread_create(&copy->thread, NULL, copy_run, copy);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int begin_pipe(struct sn_written_copy *copy, int to)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	copy->from = ends[0];
	copy->to = fcntl(to, F_DUPFD_CLOEXEC, 3);
	sn_sha256_begin(&copy->hash);
	copy_start(copy);
	if (copy->has_thread && copy->to >= 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

/* A process that the program has left behind goes on writing: so does a copy of us. */
static void leave_behind(struct sn_written_copy *copy)
{
	pid_t child = fork();
	char bytes[4096];
	ssize_t got;

	if (child)
		return;
	while ((got = read(copy->from, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0 && !write_all(copy->to, bytes, (size_t)got))
			break;
	_exit(0);
}

static void end_pipe(struct sn_written_copy *copy, struct sn_written_stream *out)
{
	atomic_store(&copy->is_over, true);
	pthread_join(copy->thread, NULL);
	copy->has_thread = false;
	if (!copy->has_ended)
		leave_behind(copy);
	out->is_known = copy->has_ended && copy->from >= 0;
	out->bytes = copy->bytes;
	sn_sha256_end(&copy->hash, out->hash);
}

/* ---- shown ---- */

static off_t end_of_output(void)
{
	return fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND ? size_of(STDOUT_FILENO)
							: lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

static void begin_shown(struct sn_written *w)
{
	for (int s = 0; s < (w->is_one ? 1 : 2); s++) {
		int fd = s ? STDERR_FILENO : STDOUT_FILENO;
		struct stat status;

		if (fstat(fd, &status))
			continue;
		if (S_ISFIFO(status.st_mode))
			w->fds[s] = begin_pipe(&w->copies[s], fd);
		else if (S_ISREG(status.st_mode) && !s &&
			 !w->is_one) /* ours are in that of errors, too */
			w->begin = end_of_output();
	}
	if (w->is_one)
		w->fds[1] = w->fds[0];
}

static void end_shown(struct sn_written *w)
{
	int file;

	for (int s = 0; s < 2; s++) {
		if (w->fds[s] >= 0 && !(s && w->is_one))
			close(w->fds[s]);
		w->fds[s] = -1;
	}
	for (int s = 0; s < 2; s++)
		if (w->copies[s].has_thread)
			end_pipe(&w->copies[s], &w->streams[s]);
	if (w->begin < 0)
		return;
	file = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		w->streams[0] = hash_of(file, w->begin, end_of_output());
		close(file);
	}
}

static bool is_one_file(void)
{
	struct stat output, error;

	return !fstat(STDOUT_FILENO, &output) && !fstat(STDERR_FILENO, &error) &&
	       output.st_dev == error.st_dev && output.st_ino == error.st_ino &&
	       !isatty(STDOUT_FILENO);
}

void sn_written_begin(struct sn_written *w, bool is_aside)
{
	memset(w, 0, sizeof(*w));
	w->fds[0] = w->fds[1] = -1;
	w->begin = -1;
	for (int s = 0; s < 2; s++)
		w->copies[s].from = w->copies[s].to = -1;
	w->is_aside = is_aside;
	w->has_begun = true;
	w->is_one = is_one_file();
	fflush(stdout);
	if (is_aside)
		begin_aside(w);
	else
		begin_shown(w);
}

void sn_written_end(struct sn_written *w)
{
	if (w->is_aside)
		end_aside(w);
	else
		end_shown(w);
}

static bool copy_file(int from, int to)
{
	char bytes[ROOM];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(from, bytes, sizeof(bytes), at)) > 0) {
		if (!write_all(to, bytes, (size_t)got))
			return false;
		at += got;
	}
	return got == 0;
}

void sn_written_keep(const struct sn_written *w, const char *folder)
{
	static const char *const names[] = { "stdout.txt", "stderr.txt" };

	for (int s = 0; w->is_aside && s < (w->is_one ? 1 : 2); s++) {
		struct sn_text path = { 0 };
		int to;

		if (size_of(w->fds[s]) <= 0)
			continue;
		sn_text_addf(&path, "%s/%s", folder, names[s]);
		to = open(path.chars, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (to < 0 || !copy_file(w->fds[s], to))
			perror("sonde: what the program wrote cannot be kept");
		if (to >= 0)
			close(to);
		sn_text_free(&path);
	}
}

void sn_written_show(const struct sn_written *w)
{
	for (int s = 0; w->is_aside && s < (w->is_one ? 1 : 2); s++)
		if (w->fds[s] >= 0)
			copy_file(w->fds[s], s ? STDERR_FILENO : STDOUT_FILENO);
}

void sn_written_close(struct sn_written *w)
{
	if (!w->has_begun)
		return;
	if (w->fds[1] >= 0 && !w->is_one)
		close(w->fds[1]);
	if (w->fds[0] >= 0)
		close(w->fds[0]);
	w->fds[0] = w->fds[1] = -1;
	for (int s = 0; s < 2; s++) {
		if (w->copies[s].from >= 0)
			close(w->copies[s].from);
		if (w->copies[s].to >= 0)
			close(w->copies[s].to);
		w->copies[s].from = w->copies[s].to = -1;
	}
}

bool sn_written_differ(const struct sn_written *of, const struct sn_written *from,
		       struct sn_text *out)
{
	static const char *const names[] = { "standard output", "standard error" };
	bool differs = false;

	if (of->is_one != from->is_one)
		return false;
	for (int s = 0; s < 2; s++) {
		const struct sn_written_stream *a = &of->streams[s], *b = &from->streams[s];

		if (!a->is_known || !b->is_known ||
		    (a->bytes == b->bytes && !memcmp(a->hash, b->hash, sizeof(a->hash))))
			continue;
		sn_text_addf(out, "%s%s", differs ? " and " : "",
			     of->is_one ? "output and errors" : names[s]);
		if (a->bytes != b->bytes)
			sn_text_addf(out, " (%" PRIu64 " bytes, not %" PRIu64 ")", a->bytes,
				     b->bytes);
		else
			sn_text_addf(out, " (as many bytes, %" PRIu64 ")", a->bytes);
		differs = true;
	}
	return differs;
}
