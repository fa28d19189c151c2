/* Reads and writes at random by calls and by streams, counts for itself, and prints what it counted.
 * Arguments: seed, threads, rounds, forks, folder, and perhaps "kill" or "exit". */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	READ,
	WRITE,
	PREAD,
	PWRITE,
	WRITEV,
	SEND,
	RECV,
	FREAD,
	FWRITE,
	FGETC,
	FPUTC,
	FGETS,
	FPUTS,
	FPRINTF,
	OPENED,
	KINDS
};
static const char *const names[KINDS] = { "read",  "write", "pread", "pwrite",	"writev",
					  "send",  "recv",  "fread", "fwrite",	"fgetc",
					  "fputc", "fgets", "fputs", "fprintf", "failed" };
static atomic_ullong calls[KINDS], bytes[KINDS];
static const char *folder;
static unsigned rounds, seed;

static void count(int kind, long moved)
{
	calls[kind]++;
	bytes[kind] += moved > 0 ? (unsigned long long)moved : 0;
}

struct files {
	int fd, sockets[2];
	FILE *stream;
	char buffer[8192];
};

static void one(struct files *f, int kind, unsigned size)
{
	struct iovec parts[2] = { { f->buffer, size / 2 }, { f->buffer + 4096, size - size / 2 } };

	switch (kind) {
	case READ:
		count(READ, read(f->fd, f->buffer, size));
		break;
	case WRITE:
		count(WRITE, write(f->fd, f->buffer, size));
		break;
	case PREAD:
		count(PREAD, pread(f->fd, f->buffer, size, size * 3));
		break;
	case PWRITE:
		count(PWRITE, pwrite(f->fd, f->buffer, size, size * 2));
		break;
	case WRITEV:
		count(WRITEV, writev(f->fd, parts, 2));
		break;
	case SEND:
	case RECV:
		count(SEND, send(f->sockets[0], f->buffer, size % 1000 + 1, 0));
		count(RECV, recv(f->sockets[1], f->buffer, 2000, 0));
		break;
	case FREAD:
		rewind(f->stream);
		count(FREAD, (long)fread(f->buffer, 1, size, f->stream));
		break;
	case FWRITE:
		fseek(f->stream, 0, SEEK_END);
		count(FWRITE, (long)fwrite(f->buffer, 1, size, f->stream));
		break;
	case FGETC:
		rewind(f->stream);
		count(FGETC, fgetc(f->stream) >= 0);
		break;
	case FPUTC:
		fseek(f->stream, 0, SEEK_END);
		count(FPUTC, fputc('x', f->stream) >= 0);
		break;
	case FGETS:
		rewind(f->stream);
		count(FGETS, fgets(f->buffer, (int)size % 100 + 2, f->stream)
				     ? (long)strlen(f->buffer)
				     : 0);
		break;
	case FPUTS:
		fseek(f->stream, 0, SEEK_END);
		count(FPUTS, fputs("a line\n", f->stream) >= 0 ? 7 : 0);
		break;
	case FPRINTF:
		fseek(f->stream, 0, SEEK_END);
		count(FPRINTF, fprintf(f->stream, "%u %s\n", size, "words"));
		break;
	default:
		count(OPENED, open("/no/such/file", O_RDONLY));
	}
}

static void *work(void *number)
{
	unsigned state = seed * 7919 + (unsigned)(size_t)number * 104729 + 1;
	struct files f = { .fd = -1 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/data.%zu.%d", folder, (size_t)number, getpid());
	f.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	snprintf(path, sizeof(path), "%s/stream.%zu.%d", folder, (size_t)number, getpid());
	f.stream = fopen(path, "w+");
	socketpair(AF_UNIX, SOCK_STREAM, 0, f.sockets);
	memset(f.buffer, 'y', sizeof(f.buffer));
	for (unsigned i = 0; i < rounds; i++) {
		state = state * 1103515245 + 12345;
		one(&f, (int)((state >> 16) % KINDS), (state >> 8) % 5000 + 1);
		if (i % 100 == 50)
			lseek(f.fd, 0, SEEK_SET);
	}
	close(f.fd);
	fclose(f.stream);
	close(f.sockets[0]);
	close(f.sockets[1]);
	return NULL;
}

static void print(void)
{
	char line[200];

	for (int k = 0; k < KINDS; k++) {
		int length = snprintf(line, sizeof(line), "%s %llu %llu\n", names[k],
				      (unsigned long long)calls[k], (unsigned long long)bytes[k]);
		if (write(1, line, (size_t)length) < 0)
			abort();
	}
}

int main(int argument_count, char **arguments)
{
	unsigned threads, forks;
	pthread_t made[64];

	seed = (unsigned)atoi(arguments[1]);
	threads = (unsigned)atoi(arguments[2]);
	rounds = (unsigned)atoi(arguments[3]);
	forks = (unsigned)atoi(arguments[4]);
	folder = arguments[5];
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&made[i], NULL, work, (void *)(size_t)(i + 1));
	work(NULL);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	for (unsigned i = 0; i < forks; i++) {
		pid_t child = fork();
		if (child == 0) {
			for (int k = 0; k < KINDS; k++)
				calls[k] = bytes[k] = 0;
			work((void *)(size_t)(100 + i));
			print();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	print();
	if (argument_count > 6 && !strcmp(arguments[6], "kill"))
		kill(getpid(), SIGKILL);
	if (argument_count > 6 && !strcmp(arguments[6], "exit"))
		_exit(7);
	return 0;
}
