/*
 * What a run measures lies in memory that outlives its processes: one file without a name, with a window
 * for each process. A keeper, a child of the host, writes profile and trace from it if the run
 * ends before its time, however the host dies. Where the processes are not all on one machine, and where the
 * kernel gives no such file, it is memory of each process, and there is no keeper.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pandore/runtime/measure.h"

enum { WINDOW_BITS = 38, WAITS_BIT = 36, EVENTS_BIT = 37, PROCESSES_MAX = 1 << 14 };

/* Shared by host and keeper, in the page before the windows. */
struct promise {
	uint64_t token; /* of this run: pd_net_share() */
	_Atomic int nodes, is_over, is_written;
};

enum { PROMISE_BYTES = 4096, KEEPERS_FILE = 3 };

static int file = -1;
static struct promise *promise;
static pid_t keeper, keepers_host;

/* ---- memory ---- */

static off_t place_of(int process, off_t within)
{
	return PROMISE_BYTES + ((off_t)process << WINDOW_BITS) + within;
}

static void *map_at(off_t place, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file,
			    file < 0 ? 0 : place);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t fixed_bytes(const struct pd_program *p)
{
	size_t counters = (size_t)p->site_count * (size_t)p->nodes;

	return sizeof(struct pd_measured_head) + counters * sizeof(struct pd_counter) +
	       (size_t)p->point_count * sizeof(uint64_t) +
	       (size_t)p->phase_count * sizeof(struct pd_phase_times) +
	       (size_t)p->zone_count * sizeof(struct pd_zone_times);
}

bool pd_keep_open(int process, struct pd_measured *kept)
{
	const struct pd_program *p = pd_state.program;
	char *memory = map_at(place_of(process, 0), fixed_bytes(p));

	if (!memory)
		return false;
	kept->head = (struct pd_measured_head *)memory;
	kept->counters = (struct pd_counter *)(kept->head + 1);
	kept->phases = (struct pd_phase_times *)(kept->counters +
						 (size_t)p->site_count * (size_t)p->nodes);
	kept->zones = (struct pd_zone_times *)(kept->phases + p->phase_count);
	kept->executions = (uint64_t *)(kept->zones + p->zone_count);
	return true;
}

void *pd_keep_grow(int process, enum pd_measured_list list, void *old, size_t old_bytes,
		   size_t bytes)
{
	off_t within = (off_t)1 << (list == PD_MEASURED_WAITS ? WAITS_BIT : EVENTS_BIT);
	void *memory;

	if (!old)
		return map_at(place_of(process, within), bytes);
	memory = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
	return memory == MAP_FAILED ? NULL : memory;
}

/* ---- the keeper ---- */

/* How many events there are such that all which they came after are among them. A process that still ran
 * while others were read may have some more. */
static bool cut_events(struct pd_node_measure *nodes, int n)
{
	struct pd_node_measure *m = &nodes[n];
	size_t columns = (size_t)pd_state.program->nodes + 1, row = 0;

	for (uint64_t i = 0; i < m->summary.event_count; i++) {
		const struct pd_event *e = &m->events[i];
		bool is_early = e->kind == PD_EVENT_RECEIVE &&
				e->peer_event >= nodes[e->peer].summary.event_count;

		if (row < m->summary.wait_count && m->waits[row * columns] == i) {
			for (size_t k = 1; k < columns; k++)
				is_early |= m->waits[row * columns + k] >
					    nodes[k - 1].summary.event_count;
			row++;
		}
		if (is_early) {
			m->summary.event_count = i;
			return true;
		}
	}
	return false;
}

static void make_consistent(struct pd_node_measure *nodes)
{
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (int n = 0; n < pd_state.program->nodes; n++)
			has_changed |= cut_events(nodes, n);
	}
}

/* The phase that a process was in lasted until now. */
static void add_unfinished(const struct pd_measured *kept, uint64_t ticks)
{
	int phase = kept->head->running - 1;

	if (phase < 0 || phase >= pd_state.program->phase_count)
		return;
	kept->phases[phase].run_ticks += ticks - kept->head->running_since;
	kept->phases[phase].calls++;
}

static bool read_measure(int node, struct pd_node_measure *out)
{
	size_t columns = (size_t)pd_state.program->nodes + 1;
	uint64_t ticks, ns;
	struct pd_measured kept;

	if (!pd_keep_open(node, &kept))
		return false;
	pd_clocks_read(&ticks, &ns);
	add_unfinished(&kept, ticks);
	*out = (struct pd_node_measure){ kept.head->summary,
					 kept.counters,
					 kept.executions,
					 kept.phases,
					 kept.zones,
					 NULL,
					 NULL };
	ticks -= out->summary.first_tick;
	out->summary.ns_per_tick = out->summary.first_tick && ticks
					   ? (double)(ns - out->summary.first_ns) / (double)ticks
					   : 1;
	if (out->summary.event_count)
		out->events = pd_keep_grow(node, PD_MEASURED_EVENTS, NULL, 0,
					   out->summary.event_count * sizeof(*out->events));
	if (out->summary.wait_count)
		out->waits = pd_keep_grow(node, PD_MEASURED_WAITS, NULL, 0,
					  out->summary.wait_count * columns * sizeof(uint32_t));
	return (out->events || !out->summary.event_count) &&
	       (out->waits || !out->summary.wait_count);
}

static void write_what_is_kept(void)
{
	static struct pd_program of_run;
	const struct pd_program *p = &of_run;
	struct pd_node_measure *nodes;
	bool is_read;

	of_run = *pd_state.program;
	of_run.nodes = promise->nodes;
	pd_state.program = p;
	if (!of_run.nodes) /* there was no run yet */
		return;
	nodes = calloc((size_t)p->nodes, sizeof(*nodes));
	is_read = nodes != NULL;
	for (int n = 0; is_read && n < p->nodes; n++)
		is_read = read_measure(n, &nodes[n]);
	if (!is_read) {
		fprintf(stderr, "sonde: pandore: out of memory: what the run measured until its "
				"end is lost\n");
		return;
	}
	if (p->has_profile) /* first: a long trace takes its time */
		pd_write_profile(nodes, true);
	if (p->has_trace) {
		make_consistent(nodes);
		pd_write_trace(nodes, true);
	}
	fprintf(stderr,
		"sonde: pandore: the run ended before its time; the %s what was measured "
		"until then\n",
		p->has_profile && p->has_trace ? "profile and the trace have"
		: p->has_profile	       ? "profile has"
					       : "trace has");
}

/* All signals are blocked, so what ends the others does not end it; the death of the host is one of them. */
__attribute__((noreturn)) static void keep(const sigset_t *all)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	prctl(PR_SET_NAME, "pandore-keeper");
	/* nobody waits for the end of what it holds open, but for its last word */
	file = dup2(file, KEEPERS_FILE);
	syscall(SYS_close_range, KEEPERS_FILE + 1, ~0U, 0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (!promise->is_over && getppid() == keepers_host)
		sigwaitinfo(all, NULL);
	if (!promise->is_written)
		write_what_is_kept();
	_exit(0);
}

static bool make_file(void)
{
	file = memfd_create("sonde-pandore", MFD_CLOEXEC);
	if (file >= 0 && !ftruncate(file, place_of(PROCESSES_MAX, 0)))
		promise = mmap(NULL, PROMISE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file >= 0 && promise && promise != MAP_FAILED &&
	    getrandom(&promise->token, sizeof(promise->token), 0) == sizeof(promise->token))
		return true;
	if (file >= 0)
		close(file);
	file = -1;
	return false;
}

static bool is_measured(void)
{
	return pd_state.program->has_profile || pd_state.program->has_trace;
}

void pd_keep_begin(void)
{
	sigset_t all, before;

	if (!is_measured() || !make_file())
		return;
	keepers_host = getpid();
	/* blocked before there is a keeper: the host may be at its end before the keeper has run at all */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	keeper = fork();
	if (!keeper)
		keep(&all);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void pd_keep_share(void)
{
	int own = file;
	bool is_host;

	if (!is_measured())
		return;
	file = pd_net_share(own, &is_host);
	if (is_host && file >= 0) {
		promise->nodes = pd_state.program->nodes;
		return;
	}
	pd_keep_end(true);
	if (own >= 0)
		close(own);
}

/* ---- the end ---- */

/* Safe in handlers of signals. */
void pd_keep_end(bool is_written)
{
	pid_t pid = keeper;

	if (pid <= 0 || getpid() != keepers_host)
		return;
	keeper = 0;
	promise->is_written = is_written;
	promise->is_over = 1;
	kill(pid, SIGUSR1);
	waitpid(pid, NULL, 0);
}

/* So that the files are there when the shell goes on. */
static void end_by_signal(int number)
{
	if (keeper > 0 && getpid() == keepers_host) {
		pd_net_kill();
		pd_keep_end(false);
	}
	raise(number); /* blocked until we return, then by default */
}

void pd_keep_watch(void)
{
	static const int deadly[] = { SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGXCPU, SIGALRM,
				      SIGABRT, SIGSEGV, SIGBUS,	 SIGFPE,  SIGILL };
	struct sigaction action = { .sa_handler = end_by_signal, .sa_flags = SA_RESETHAND }, old;

	for (size_t i = 0; keeper > 0 && i < sizeof(deadly) / sizeof(*deadly); i++)
		if (!sigaction(deadly[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}
