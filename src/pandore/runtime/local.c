/* The local back end: fork, and one byte ring in shared memory for each ordered pair of processes.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

enum {
	RING_BYTES = 1 << 16, /* a power of two; what does not fit is queued by the sender */
	SPINS = 40,
	YIELDS = 60,
	NODES_MAX = 1024,
	SLEEP_NS = 20000000, /* then somebody looks whether a process died */
};

const char pd_net_name[] = "local";
const bool pd_net_has_one_clock = true;

/* Written by one process each: `head` by the sender, `tail` by the receiver. */
struct ring {
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) _Atomic uint32_t starved; /* the sender has more and found no room */
	_Alignas(64) char bytes[RING_BYTES];
};

struct mailbox {
	_Alignas(64) _Atomic uint32_t sleeping; /* futex word: 1 while its owner sleeps */
};

struct shared {
	_Atomic int ended;     /* the run is over before its time */
	_Atomic int explained; /* a process has said why */
};

/* What a ring had no room for. */
struct queue {
	char *bytes;
	size_t first, end, capacity;
};

static struct shared *shared;
static struct mailbox *mailboxes;
static struct ring *rings;
static struct queue *queues;
static pid_t *children;
static int me, process_count, node_count, host, queued_count;

static struct ring *ring_of(int from, int to)
{
	return &rings[from * process_count + to];
}

static void wake(int process)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&mailboxes[process].sleeping, memory_order_relaxed)) {
		atomic_store(&mailboxes[process].sleeping, 0);
		syscall(SYS_futex, &mailboxes[process].sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

bool pd_net_has_last_word(void)
{
	return !shared || !atomic_exchange(&shared->explained, 1);
}

bool pd_net_kill(void)
{
	for (int i = 0; shared && me == host && i < process_count; i++)
		if (i != host && children[i] > 0)
			kill(children[i], SIGKILL);
	return true;
}

void pd_net_abort(void)
{
	if (shared)
		atomic_store(&shared->ended, 1);
	pd_net_kill();
	pd_keep_end(false);
	_exit(1);
}

static void end_after_death(int node, int status)
{
	if (atomic_load(&shared->explained))
		pd_net_abort();
	if (WIFSIGNALED(status))
		pd_die("node %d (pid %d) died by signal %d (%s); the run is ended", node,
		       (int)children[node], WTERMSIG(status), strsignal(WTERMSIG(status)));
	pd_die("node %d (pid %d) ended with status %d before its time; the run is ended", node,
	       (int)children[node], WEXITSTATUS(status));
}

/* The host: has a node died? A node: has the host ended the run? */
static void look_around(void)
{
	if (me != host) {
		if (atomic_load(&shared->ended))
			_exit(1);
		return;
	}
	for (int i = 0; i < process_count; i++) {
		int status;

		if (i != host && children[i] > 0 && waitpid(children[i], &status, WNOHANG) > 0) {
			children[i] = WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : children[i];
			if (children[i])
				end_after_death(i, status);
		}
	}
}

/* ---- sending ---- */

static size_t push(int to, const char *bytes, size_t count)
{
	struct ring *ring = ring_of(me, to);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	size_t room = RING_BYTES - (size_t)(head - tail), at = head & (RING_BYTES - 1), first;

	if (count > room)
		count = room;
	first = count < RING_BYTES - at ? count : RING_BYTES - at;
	memcpy(ring->bytes + at, bytes, first);
	memcpy(ring->bytes, bytes + first, count - first);
	atomic_store_explicit(&ring->head, head + count, memory_order_release);
	return count;
}

static void enqueue(int to, const char *bytes, size_t count)
{
	struct queue *q = &queues[to];

	if (!count)
		return;
	if (q->first == q->end) {
		q->first = q->end = 0;
		queued_count++;
	}
	if (q->end + count > q->capacity) {
		size_t capacity = (q->end + count) * 2;

		q->bytes = realloc(q->bytes, capacity);
		if (!q->bytes)
			pd_die_out_of_memory();
		q->capacity = capacity;
	}
	memcpy(q->bytes + q->end, bytes, count);
	q->end += count;
}

static void flush_queue(int to)
{
	struct queue *q = &queues[to];
	size_t sent;

	if (q->first == q->end)
		return;
	/* first the flag, then the look: a receiver that makes room later sees it */
	atomic_store(&ring_of(me, to)->starved, 1);
	sent = push(to, q->bytes + q->first, q->end - q->first);
	q->first += sent;
	if (q->first == q->end) {
		queued_count--;
		atomic_store(&ring_of(me, to)->starved, 0);
	}
	if (sent)
		wake(to);
}

static void flush_queues(void)
{
	for (int to = 0; queued_count && to < process_count; to++)
		flush_queue(to);
}

void pd_net_send(int to, struct pd_header header, const void *bytes, size_t count)
{
	size_t sent = 0;

	flush_queue(to);
	if (queues[to].first == queues[to].end) {
		sent = push(to, (const char *)&header, sizeof(header));
		if (sent == sizeof(header))
			sent += push(to, bytes, count);
	}
	if (sent < sizeof(header)) {
		enqueue(to, (const char *)&header + sent, sizeof(header) - sent);
		enqueue(to, bytes, count);
	} else {
		enqueue(to, (const char *)bytes + (sent - sizeof(header)),
			count - (sent - sizeof(header)));
	}
	wake(to);
}

/* ---- receiving ---- */

static bool is_empty(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire) ==
	       atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

static void sleep_until_woken(const struct ring *ring)
{
	struct timespec timeout = { 0, SLEEP_NS };

	atomic_store(&mailboxes[me].sleeping, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if ((!ring || is_empty(ring)) &&
	    syscall(SYS_futex, &mailboxes[me].sleeping, FUTEX_WAIT, 1, &timeout, NULL, 0) < 0 &&
	    errno == ETIMEDOUT)
		look_around();
	atomic_store(&mailboxes[me].sleeping, 0);
}

static bool is_full(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed) -
		       atomic_load_explicit(&ring->tail, memory_order_acquire) ==
	       RING_BYTES;
}

/* `starved` is set: whoever makes room wakes this process. */
static void sleep_until_room(const struct ring *ring)
{
	struct timespec timeout = { 0, SLEEP_NS };

	atomic_store(&mailboxes[me].sleeping, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (is_full(ring) &&
	    syscall(SYS_futex, &mailboxes[me].sleeping, FUTEX_WAIT, 1, &timeout, NULL, 0) < 0 &&
	    errno == ETIMEDOUT)
		look_around();
	atomic_store(&mailboxes[me].sleeping, 0);
}

/* Spins for some turns, then yields, then asks to sleep. */
static bool must_sleep(int turn)
{
	if (turn < SPINS)
		__builtin_ia32_pause();
	else if (turn < SPINS + YIELDS)
		sched_yield();
	return turn >= SPINS + YIELDS;
}

static void wait_for_bytes(const struct ring *ring)
{
	for (int turn = 0; is_empty(ring); turn++) {
		flush_queues();
		if (must_sleep(turn))
			sleep_until_woken(ring);
	}
}

static void pull(int from, char *bytes, size_t count, uint64_t *waited)
{
	struct ring *ring = ring_of(from, me);

	while (count) {
		uint64_t head, tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
		size_t there, at = tail & (RING_BYTES - 1), first;

		if (is_empty(ring)) {
			uint64_t start = waited ? pd_now_ticks() : 0;

			wait_for_bytes(ring);
			if (waited)
				*waited += pd_now_ticks() - start;
		}
		head = atomic_load_explicit(&ring->head, memory_order_acquire);
		there = (size_t)(head - tail) < count ? (size_t)(head - tail) : count;
		first = there < RING_BYTES - at ? there : RING_BYTES - at;
		memcpy(bytes, ring->bytes + at, first);
		memcpy(bytes + first, ring->bytes, there - first);
		atomic_store_explicit(&ring->tail, tail + there, memory_order_release);
		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load_explicit(&ring->starved, memory_order_relaxed))
			wake(from);
		bytes += there;
		count -= there;
	}
}

/* The receiver takes bytes while this process adds more. */
static void push_all(int to, const char *bytes, size_t count)
{
	struct ring *ring = ring_of(me, to);
	int turn = 0;

	while (count) {
		size_t sent = push(to, bytes, count);

		bytes += sent;
		count -= sent;
		if (sent) {
			turn = 0;
			wake(to);
			continue;
		}
		flush_queues();
		if (must_sleep(turn++)) {
			atomic_store(&ring->starved, 1);
			sleep_until_room(ring);
			atomic_store(&ring->starved, 0);
		}
	}
}

void pd_net_hand_over(void)
{
	for (int turn = 0; queued_count; turn++) {
		flush_queues();
		if (queued_count && must_sleep(turn))
			sleep_until_woken(NULL);
	}
}

void pd_net_send_runs(int to, struct pd_header header, const struct pd_run *runs, size_t count)
{
	while (queues[to].first != queues[to].end) {
		flush_queue(to);
		if (queues[to].first != queues[to].end)
			sleep_until_woken(NULL);
	}
	push_all(to, (const char *)&header, sizeof(header));
	for (size_t i = 0; i < count; i++)
		push_all(to, runs[i].place, runs[i].bytes);
}

void pd_net_settle(void)
{
}

static char *memory_for(char **memory, size_t *capacity, size_t count)
{
	if (count > *capacity) {
		*capacity = count * 2;
		free(*memory);
		*memory = malloc(*capacity);
		if (!*memory)
			pd_die_out_of_memory();
	}
	return *memory;
}

char *pd_net_room(size_t count)
{
	static char *room;
	static size_t capacity;

	return memory_for(&room, &capacity, count);
}

void pd_net_send_filled(int to, struct pd_header header, char *room, size_t count)
{
	pd_net_send(to, header, room, count);
}

void pd_net_expect(int from, size_t count)
{
	(void)from;
	(void)count;
}

struct pd_header pd_net_receive_there(int from, const char **bytes, size_t count, uint64_t *waited)
{
	static char *room;
	static size_t capacity;

	*bytes = memory_for(&room, &capacity, count);
	return pd_net_receive(from, room, count, waited);
}

static void check_size(int from, uint32_t bytes, size_t count)
{
	if (bytes != (uint32_t)count)
		pd_die("process %d expected %zu bytes from process %d and got %u; the nodes have "
		       "gone different ways",
		       me, count, from, bytes);
}

struct pd_header pd_net_receive_runs(int from, const struct pd_run *runs, size_t count)
{
	struct pd_header header;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += runs[i].bytes;
	pull(from, (char *)&header, sizeof(header), NULL);
	check_size(from, header.bytes, bytes);
	for (size_t i = 0; i < count; i++)
		pull(from, runs[i].place, runs[i].bytes, NULL);
	return header;
}

struct pd_header pd_net_receive(int from, void *bytes, size_t count, uint64_t *waited)
{
	struct pd_header header;

	pull(from, (char *)&header, sizeof(header), waited);
	check_size(from, header.bytes, count);
	pull(from, bytes, count, waited);
	return header;
}

/* ---- starting and ending ---- */

/* The host inside node 0 has no parent of ours who could tell: it says itself how it dies. */
static void die_of_signal(int number)
{
	char sentence[128];
	int length = snprintf(sentence, sizeof(sentence),
			      "sonde: pandore: node %d, which is the host (pid %d), died by "
			      "signal %d; the run is ended\n",
			      me, (int)getpid(), number);

	if (!atomic_exchange(&shared->explained, 1) &&
	    write(STDERR_FILENO, sentence, (size_t)length) < 0)
		_exit(1);
	pd_net_kill();
	pd_keep_end(false);
	raise(number); /* blocked until we return, then by default: the shell sees the signal */
}

static void say_own_death(void)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction action = { .sa_handler = die_of_signal, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		sigaction(deadly[i], &action, NULL);
}

static void make_shared(void)
{
	size_t pairs = (size_t)process_count * (size_t)process_count;
	size_t bytes = sizeof(struct shared) + 64 + (size_t)process_count * sizeof(struct mailbox) +
		       pairs * sizeof(struct ring);
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		pd_die("cannot get %zu bytes of shared memory for %d processes", bytes,
		       process_count);
	mailboxes = (struct mailbox *)memory;
	rings = (struct ring *)(mailboxes + process_count);
	shared = (struct shared *)(rings + pairs);
}

static void check_node_count(int nodes)
{
	const char *wanted = getenv("PANDORE_NODES");

	if (wanted && atoi(wanted) != nodes)
		pd_die("this program was compiled for %d node%s and cannot run on %.20s; compile "
		       "it with -D P=%.20s",
		       nodes, nodes == 1 ? "" : "s", wanted, wanted);
}

/* A number of nodes as a user wrote it. */
static int nodes_of(const char *text, const char *where)
{
	char *end;
	long nodes = strtol(text, &end, 10);

	if (end == text || *end || nodes < 1 || nodes > NODES_MAX)
		pd_die("%s is 1 to %d, not '%.20s'", where, NODES_MAX, text);
	return (int)nodes;
}

/* "PROG --nodes 4 ...": the words are not the host's. */
static int nodes_of_arguments(int *argc, char **argv)
{
	int nodes;

	if (*argc < 2 || strcmp(argv[1], "--nodes"))
		return 0;
	if (*argc < 3)
		pd_die("--nodes takes the number of nodes");
	nodes = nodes_of(argv[2], "--nodes");
	for (int i = 3; i <= *argc; i++)
		argv[i - 2] = argv[i];
	*argc -= 2;
	return nodes;
}

static int usable_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 1)
		return 1;
	return CPU_COUNT(&set) < NODES_MAX ? CPU_COUNT(&set) : NODES_MAX;
}

void pd_net_guard(void)
{
}

int pd_net_share(int file, bool *is_host)
{
	*is_host = true; /* the others are not made yet, and inherit it */
	return file;
}

int pd_net_begin(int *argc, char ***argv, int nodes, bool host_inside)
{
	const char *wanted = getenv("PANDORE_NODES");

	(void)host_inside;
	if (nodes) {
		check_node_count(nodes);
		return nodes;
	}
	nodes = nodes_of_arguments(argc, *argv);
	if (!nodes)
		nodes = wanted ? nodes_of(wanted, "PANDORE_NODES") : usable_processors();
	return nodes;
}

int pd_net_start(int count, int nodes, int host_process)
{
	pid_t parent = getpid();

	process_count = count;
	node_count = nodes;
	host = me = host_process;
	make_shared();
	queues = pd_alloc_zeroed((size_t)count, sizeof(*queues));
	children = pd_alloc_zeroed((size_t)count, sizeof(*children));
	for (int i = 0; i < count; i++) {
		if (i == host)
			continue;
		children[i] = fork();
		if (children[i] < 0) {
			children[i] = 0;
			pd_die("cannot start node %d: %s", i, strerror(errno));
		}
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			me = i;
			return i;
		}
	}
	if (host < nodes)
		say_own_death();
	return me;
}

void pd_net_finish(void)
{
	while (queued_count) {
		flush_queues();
		if (queued_count)
			sleep_until_woken(NULL);
	}
	if (me != host)
		return;
	for (int i = 0; i < process_count; i++) {
		int status;

		if (i == host || children[i] <= 0)
			continue;
		while (waitpid(children[i], &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			end_after_death(i, status);
		children[i] = 0;
	}
}
