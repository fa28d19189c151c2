/*
 * The MPI back end, compiled together with the generated program by the user's mpicc. The host is
 * rank 0 and node k is rank k + 1; with the host inside node 0, node k is rank k.
 */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"
#include "pandore.h"

/* MPICH's MPI_STATUSES_IGNORE is a bad address on purpose, which gcc takes for an array of none. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum {
	NODES_MAX = 1024,
	TAG = 7,
	CHUNK_BYTES = 1 << 30,
	TESTED_EVERY = 64,
	GUARD_WAITS_US = 100000
};

const char pd_net_name[] = "mpi";
const bool pd_net_has_one_clock = false;

/* A message on its way: its bytes must stay until MPI has taken them. */
struct sending {
	char *bytes;
};

/* Shared with this process's guard. */
struct watched {
	int node;		    /* -1: the host */
	int has_started, has_ended; /* between these its end is a death that nobody explained */
};

static struct watched unwatched, *watched = &unwatched;
static struct sending *sendings;
static MPI_Request *requests;
static int *completed;
static int sending_count, sending_capacity, since_test;
static int me, host, has_own_host;
static char *buffer;
static size_t buffer_bytes;

static int rank_of(int process)
{
	if (!has_own_host)
		return process;
	return process == host ? 0 : process + 1;
}

static void *must(void *memory)
{
	if (!memory)
		pd_die("process %d is out of memory", me);
	return memory;
}

bool pd_net_has_last_word(void)
{
	return true;
}

void pd_net_abort(void)
{
	watched->has_ended = 1;
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

static void say_death(pid_t pid, int status)
{
	char name[40] = "the host", why[96], sentence[224];
	int length;

	if (!watched->has_started)
		snprintf(name, sizeof(name), "a process that was no node yet");
	else if (watched->node >= 0)
		snprintf(name, sizeof(name), "node %d", watched->node);
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "died by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(why, sizeof(why), "ended with status %d before its time",
			 WEXITSTATUS(status));
	length =
		snprintf(sentence, sizeof(sentence),
			 "sonde: pandore: %s (pid %d) %s; the run is ended\n", name, (int)pid, why);
	if (write(STDERR_FILENO, sentence, (size_t)length) < 0)
		_exit(1);
}

/* Whoever ends a run often signals a whole group: wait whether that was meant for us, too. */
static bool may_be_mpirun(int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return number == SIGTERM || number == SIGINT || number == SIGKILL;
}

__attribute__((noreturn)) static void guard(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!watched->has_ended && (watched->has_started || WIFSIGNALED(status))) {
		if (may_be_mpirun(status))
			usleep(GUARD_WAITS_US);
		say_death(child, status);
	}
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/*
 * What mpirun started stays behind as a guard and the program goes on in its child, so that even a
 * node killed by SIGKILL has somebody who says which one it was. When mpirun then ends the others,
 * it kills their guards, which say nothing, and their children with them. The guard keeps the
 * descriptors that mpirun watches open until it has spoken.
 */
static void start_guard(void)
{
	pid_t parent = getpid(), child;

	watched = mmap(NULL, sizeof(*watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (watched == MAP_FAILED)
		watched = &unwatched;
	child = watched == &unwatched ? -1 : fork();
	if (child > 0)
		guard(child);
	if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
}

static void drop_completed(void)
{
	int count = 0, kept = 0;

	since_test = 0;
	if (!sending_count)
		return;
	MPI_Testsome(sending_count, requests, &count, completed, MPI_STATUSES_IGNORE);
	if (count == MPI_UNDEFINED)
		count = 0;
	for (int i = 0; i < sending_count; i++) {
		if (requests[i] == MPI_REQUEST_NULL) {
			free(sendings[i].bytes);
			continue;
		}
		requests[kept] = requests[i];
		sendings[kept++] = sendings[i];
	}
	sending_count = kept;
}

char *pd_net_room(size_t count)
{
	if (count > CHUNK_BYTES - sizeof(struct pd_header))
		pd_die("a message of %zu bytes is too long for MPI", count);
	return (char *)must(malloc(sizeof(struct pd_header) + count)) + sizeof(struct pd_header);
}

void pd_net_send_filled(int to, struct pd_header header, char *room, size_t count)
{
	struct sending *s;

	if (++since_test >= TESTED_EVERY)
		drop_completed();
	if (sending_count == sending_capacity) {
		sending_capacity = sending_capacity ? sending_capacity * 2 : 256;
		sendings = must(realloc(sendings, (size_t)sending_capacity * sizeof(*sendings)));
		requests = must(realloc(requests, (size_t)sending_capacity * sizeof(*requests)));
		completed = must(realloc(completed, (size_t)sending_capacity * sizeof(*completed)));
	}
	s = &sendings[sending_count];
	s->bytes = room - sizeof(header);
	memcpy(s->bytes, &header, sizeof(header));
	MPI_Isend(s->bytes, (int)(sizeof(header) + count), MPI_BYTE, rank_of(to), TAG,
		  MPI_COMM_WORLD, &requests[sending_count++]);
}

void pd_net_send(int to, struct pd_header header, const void *bytes, size_t count)
{
	char *room = pd_net_room(count);

	if (count)
		memcpy(room, bytes, count);
	pd_net_send_filled(to, header, room, count);
}

struct pd_header pd_net_receive_there(int from, const char **bytes, size_t count, uint64_t *waited)
{
	size_t whole = sizeof(struct pd_header) + count;
	struct pd_header header;
	MPI_Status status;
	uint64_t start = waited ? __builtin_ia32_rdtsc() : 0;
	int got = 0;

	if (whole > buffer_bytes) {
		buffer = must(realloc(buffer, whole * 2));
		buffer_bytes = whole * 2;
	}
	MPI_Recv(buffer, (int)(buffer_bytes > CHUNK_BYTES ? CHUNK_BYTES : buffer_bytes), MPI_BYTE,
		 rank_of(from), TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &got);
	if ((size_t)got != whole)
		pd_die("process %d expected %zu bytes from process %d and got %d; the nodes have "
		       "gone different ways",
		       me, whole, from, got);
	if (waited)
		*waited += __builtin_ia32_rdtsc() - start;
	memcpy(&header, buffer, sizeof(header));
	*bytes = buffer + sizeof(header);
	return header;
}

struct pd_header pd_net_receive(int from, void *bytes, size_t count, uint64_t *waited)
{
	const char *there;
	struct pd_header header = pd_net_receive_there(from, &there, count, waited);

	if (count)
		memcpy(bytes, there, count);
	return header;
}

static size_t bytes_of(const struct pd_run *runs, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += runs[i].bytes;
	return bytes;
}

static char *buffer_for(size_t bytes)
{
	if (bytes > buffer_bytes) {
		buffer = must(realloc(buffer, bytes * 2));
		buffer_bytes = bytes * 2;
	}
	return buffer;
}

/* One run goes from where it is, many go packed; in either case what MPI can count at a time. */
void pd_net_send_runs(int to, struct pd_header header, const struct pd_run *runs, size_t count)
{
	size_t bytes = bytes_of(runs, count), at = 0;
	char *from = count == 1 ? runs[0].place : buffer_for(bytes);

	for (size_t i = 0; count > 1 && i < count; at += runs[i++].bytes)
		memcpy(from + at, runs[i].place, runs[i].bytes);
	MPI_Send(&header, (int)sizeof(header), MPI_BYTE, rank_of(to), TAG, MPI_COMM_WORLD);
	for (at = 0; at < bytes; at += CHUNK_BYTES)
		MPI_Send(from + at, (int)(bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES),
			 MPI_BYTE, rank_of(to), TAG, MPI_COMM_WORLD);
}

struct pd_header pd_net_receive_runs(int from, const struct pd_run *runs, size_t count)
{
	size_t bytes = bytes_of(runs, count), at = 0;
	char *into = count == 1 ? runs[0].place : buffer_for(bytes);
	struct pd_header header;

	MPI_Recv(&header, (int)sizeof(header), MPI_BYTE, rank_of(from), TAG, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	if (header.bytes != (uint32_t)bytes)
		pd_die("process %d expected %zu bytes from process %d and got %u; the nodes have "
		       "gone different ways",
		       me, bytes, from, header.bytes);
	for (at = 0; at < bytes; at += CHUNK_BYTES)
		MPI_Recv(into + at, (int)(bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES),
			 MPI_BYTE, rank_of(from), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	at = 0;
	for (size_t i = 0; count > 1 && i < count; at += runs[i++].bytes)
		memcpy(runs[i].place, into + at, runs[i].bytes);
	return header;
}

int pd_net_begin(int *argc, char ***argv, int nodes, bool host_inside)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	int rank, size, count;

	start_guard();
	MPI_Init(argc, argv);
	/* MPI's handlers print backtraces around the guard's sentence, and end a run with status 1
	 */
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!nodes && size > !host_inside && size - !host_inside <= NODES_MAX)
		nodes = size - !host_inside;
	if (!nodes)
		pd_die("this program needs %s and at most %d nodes; use another mpirun -np",
		       host_inside ? "a process"
				   : "a process for the host, at least one for a node,",
		       NODES_MAX);
	count = nodes + !host_inside;
	if (size != count) {
		if (rank == 0)
			fprintf(stderr,
				"sonde: pandore: this program was compiled for %d node%s, so for "
				"%d MPI processes%s, and cannot run on %d; use mpirun -np %d or "
				"compile it with another -D P=\n",
				nodes, nodes == 1 ? "" : "s", count,
				host_inside ? "" : " with the host", size, count);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Finalize();
		exit(1);
	}
	return nodes;
}

int pd_net_start(int count, int nodes, int host_process)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	host = host_process;
	has_own_host = count > nodes;
	me = has_own_host ? (rank == 0 ? host_process : rank - 1) : rank;
	watched->node = me < nodes ? me : -1;
	watched->has_started = 1;
	return me;
}

void pd_net_finish(void)
{
	MPI_Waitall(sending_count, requests, MPI_STATUSES_IGNORE);
	MPI_Finalize();
	watched->has_ended = 1;
}
