/*
 * The MPI back end, compiled together with the generated program by the user's mpicc. The host is
 * rank 0 and node k is rank k + 1; with the host inside node 0, node k is rank k.
 */
#include <errno.h>
#include <fcntl.h>
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
	ROOMS_MAX = 16,
	ROOM_BYTES_MIN = 64 << 10, /* smaller ones are malloc's business */
	ROOMS_BYTES_MAX = 64 << 20,
	FIRST_ROOMS_BYTES = 2 << 20,
	FIRST_BUFFER_BYTES = 1 << 20,
	PREFIX_BYTES = 16,
	EXPECTED_BYTES_MIN = 2 << 10, /* shorter ones come without being asked for */
	GUARD_WAITS_US = 100000
};

const char pd_net_name[] = "mpi";
const bool pd_net_has_one_clock = false;

/* A message on its way: its bytes must stay until MPI has taken them. */
struct sending {
	char *bytes;
};

/* Memory of large messages is kept: the first touch of a page is dear. PREFIX_BYTES before a
 * message's header have the size of its room. */
static char *rooms[ROOMS_MAX];
static int room_count;
static size_t rooms_bytes;

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

bool pd_net_kill(void)
{
	return false;
}

void pd_net_abort(void)
{
	watched->has_ended = 1;
	pd_keep_end(false);
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
void pd_net_guard(void)
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

static size_t *capacity_of(char *message)
{
	return (size_t *)(void *)(message - PREFIX_BYTES);
}

static void give_room(char *message)
{
	size_t capacity = *capacity_of(message);

	if (capacity < ROOM_BYTES_MIN || room_count == ROOMS_MAX ||
	    rooms_bytes + capacity > ROOMS_BYTES_MAX) {
		free(message - PREFIX_BYTES);
		return;
	}
	rooms[room_count++] = message;
	rooms_bytes += capacity;
}

/* The smallest kept room that is large enough; NULL: none. */
static char *take_room(size_t bytes)
{
	int best = -1;
	char *message;

	for (int i = 0; bytes >= ROOM_BYTES_MIN && i < room_count; i++)
		if (*capacity_of(rooms[i]) >= bytes &&
		    (best < 0 || *capacity_of(rooms[i]) < *capacity_of(rooms[best])))
			best = i;
	if (best < 0)
		return NULL;
	message = rooms[best];
	rooms_bytes -= *capacity_of(message);
	rooms[best] = rooms[--room_count];
	return message;
}

static char *make_room(size_t bytes)
{
	char *message = (char *)must(malloc(PREFIX_BYTES + bytes)) + PREFIX_BYTES;

	*capacity_of(message) = bytes;
	return message;
}

static char *room_for(size_t bytes)
{
	char *room = take_room(bytes);

	return room ? room : make_room(bytes);
}

/* MPI may need the sender's hand for a long message, so a receiver would wait until this process,
 * which computes next, comes here again. */
void pd_net_hand_over(void)
{
	MPI_Waitall(sending_count, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < sending_count; i++)
		give_room(sendings[i].bytes);
	sending_count = since_test = 0;
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
			give_room(sendings[i].bytes);
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
	if (sizeof(struct pd_header) + count >= ROOM_BYTES_MIN)
		drop_completed();
	return room_for(sizeof(struct pd_header) + count) + sizeof(struct pd_header);
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

static char *buffer_for(size_t bytes)
{
	if (bytes > buffer_bytes) {
		buffer = must(realloc(buffer, bytes * 2));
		buffer_bytes = bytes * 2;
	}
	return buffer;
}

/* By process: the room that its next message comes to, or NULL. */
static struct expected {
	char *room;
	MPI_Request request;
} * expected;
static char *lent; /* to who reads the last message that was expected */

void pd_net_expect(int from, size_t count)
{
	size_t whole = sizeof(struct pd_header) + count;
	struct expected *e = &expected[from];

	if (whole < EXPECTED_BYTES_MIN || whole > CHUNK_BYTES)
		return;
	e->room = room_for(whole);
	MPI_Irecv(e->room, (int)whole, MPI_BYTE, rank_of(from), TAG, MPI_COMM_WORLD, &e->request);
}

/* Receives into `room` or, where the message is expected, finds it there. Returns where. */
static char *receive_whole(int from, char *room, size_t capacity, size_t whole)
{
	struct expected *e = &expected[from];
	MPI_Status status;
	int got = 0;

	if (lent)
		give_room(lent);
	lent = e->room;
	if (e->room) {
		room = e->room;
		MPI_Wait(&e->request, &status);
		e->room = NULL;
	} else {
		MPI_Recv(room, (int)(capacity > CHUNK_BYTES ? CHUNK_BYTES : capacity), MPI_BYTE,
			 rank_of(from), TAG, MPI_COMM_WORLD, &status);
	}
	MPI_Get_count(&status, MPI_BYTE, &got);
	if ((size_t)got != whole)
		pd_die("process %d expected %zu bytes from process %d and got %d; the nodes have "
		       "gone different ways",
		       me, whole, from, got);
	return room;
}

struct pd_header pd_net_receive_there(int from, const char **bytes, size_t count, uint64_t *waited)
{
	size_t whole = sizeof(struct pd_header) + count;
	struct pd_header header;
	uint64_t start = waited ? __builtin_ia32_rdtsc() : 0;
	char *room;

	buffer_for(whole);
	room = receive_whole(from, buffer, buffer_bytes, whole);
	if (waited)
		*waited += __builtin_ia32_rdtsc() - start;
	memcpy(&header, room, sizeof(header));
	*bytes = room + sizeof(header);
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

/* Sends that leave their bytes where they are: to be waited for by pd_net_settle(). */
static MPI_Request *in_place;
static int in_place_count, in_place_capacity;

static void send_in_place(int to, char *bytes, size_t count)
{
	if (in_place_count == in_place_capacity) {
		in_place_capacity = in_place_capacity ? in_place_capacity * 2 : 64;
		in_place = must(realloc(in_place, (size_t)in_place_capacity * sizeof(*in_place)));
	}
	MPI_Isend(bytes, (int)count, MPI_BYTE, rank_of(to), TAG, MPI_COMM_WORLD,
		  &in_place[in_place_count++]);
}

void pd_net_settle(void)
{
	MPI_Waitall(in_place_count, in_place, MPI_STATUSES_IGNORE);
	in_place_count = 0;
}

/* One run goes from where it is, many go packed; in either case what MPI can count at a time. */
void pd_net_send_runs(int to, struct pd_header header, const struct pd_run *runs, size_t count)
{
	size_t bytes = bytes_of(runs, count), at = 0;
	char *from = count == 1 ? runs[0].place : buffer_for(bytes);

	for (size_t i = 0; count > 1 && i < count; at += runs[i++].bytes)
		memcpy(from + at, runs[i].place, runs[i].bytes);
	MPI_Send(&header, (int)sizeof(header), MPI_BYTE, rank_of(to), TAG, MPI_COMM_WORLD);
	for (at = 0; at < bytes; at += CHUNK_BYTES) {
		size_t now = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;

		if (count == 1)
			send_in_place(to, from + at, now);
		else /* the buffer is needed again */
			MPI_Send(from + at, (int)now, MPI_BYTE, rank_of(to), TAG, MPI_COMM_WORLD);
	}
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

struct offer {
	long pid, file;
	uint64_t token;
};

static int open_offered(const struct offer *offer)
{
	uint64_t token = 0;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/%ld/fd/%ld", offer->pid, offer->file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file >= 0 && pread(file, &token, sizeof(token), 0) == sizeof(token) &&
	    token == offer->token)
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

int pd_net_share(int file, bool *is_host)
{
	struct offer offer = { getpid(), file, 0 };
	int rank, is_there;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	*is_host = rank == 0;
	if (file >= 0 && pread(file, &offer.token, sizeof(offer.token), 0) != sizeof(offer.token))
		offer.file = -1;
	MPI_Bcast(&offer, sizeof(offer), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (offer.file < 0)
		return -1;
	if (rank)
		file = open_offered(&offer);
	is_there = file >= 0;
	MPI_Allreduce(MPI_IN_PLACE, &is_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (rank && file >= 0 && !is_there)
		close(file);
	return is_there ? file : -1;
}

/* Rooms to send from and to receive into, one each a peer, and the one for all else, their pages touched. */
static void make_first_rooms(int peers)
{
	size_t bytes = FIRST_ROOMS_BYTES / (size_t)(peers ? peers : 1);

	for (int i = 0; i < 2 * peers && bytes >= ROOM_BYTES_MIN; i++) {
		char *room = make_room(bytes);

		memset(room, 0, bytes);
		give_room(room);
	}
	memset(buffer_for(FIRST_BUFFER_BYTES / 2), 0, FIRST_BUFFER_BYTES);
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
	expected = must(calloc((size_t)count, sizeof(*expected)));
	make_first_rooms(nodes - 1);
	return me;
}

void pd_net_finish(void)
{
	MPI_Waitall(sending_count, requests, MPI_STATUSES_IGNORE);
	MPI_Finalize();
	watched->has_ended = 1;
}
