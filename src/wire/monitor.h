/**
 * How an agent steers the measuring of a process that runs: a segment beside each data file.
 *
 * In the live folder lie HOST.agent, which the agent writes and every process reads, and for each
 * process image HOST.PID.SEQUENCE.monitor, which both map. All are the user's alone (0600). The other
 * side is never trusted: both check owner, mode, size and every number.
 *
 * A process counts executions of its phase, from 0. The agent fills the table that is not in force and
 * raises `wanted`; the process takes it over at the next end of a phase, answers each request, switches
 * the sources on where execution `first` begins and off where `last` ends, and raises `done`.
 *
 * An agent that has not beaten for SN_MONITOR_DEAD_NS is dead: what is stopped goes on, sources are off.
 */
#ifndef SN_WIRE_MONITOR_H
#define SN_WIRE_MONITOR_H

#include <stdatomic.h>
#include <stdint.h>

#define SN_MONITOR_MAGIC   0x726f74696e6f4d53ULL /* "SMonitor" */
#define SN_MONITOR_DEAD_NS 2000000000LL
#define SN_MONITOR_BRIEF_NS                                                                        \
	50000000LL /* how long a phase's end may stop a thread, unless told else */

enum {
	SN_MONITOR_VERSION = 5,
	SN_MONITOR_REQUESTS_MAX = 8,
	SN_MONITOR_PERIOD_TIMES_MAX = 8,
	SN_MONITOR_THREADS_MAX = 1024, /* by index of the data file; others have no slab */
	SN_MONITOR_TEXT_MAX = 256,
	SN_MONITOR_PLACES_MAX = 4, /* as many as a processor has breakpoints */
	SN_MONITOR_WAKE_MS = 100,  /* how often a stopped thread looks whether the agent lives */
};

/** HOST.agent. */
struct sn_monitor_agent {
	uint64_t magic;
	uint32_t version;
	int32_t pid;
	_Atomic int64_t beat_ns; /* CLOCK_MONOTONIC; 0: the search is over, nobody beats */
};

/** Where the phase begins and ends. */
enum sn_monitor_boundary {
	SN_MONITOR_BOUNDARY_NONE,
	SN_MONITOR_BOUNDARY_BEAT, /* a heartbeat's begin and end (sonde/heartbeat.h) */
	SN_MONITOR_BOUNDARY_ADDRESS, /* each arrival at one of them ends an execution and begins the next one */
};

enum sn_monitor_source {
	SN_MONITOR_SAMPLES = 1, /* of CPU time, and calls that block */
	SN_MONITOR_ACCOUNTS,	/* what the kernel counts of each thread */
	/* traces of what the recording has been told to trace, which are off unless asked for */
	SN_MONITOR_IO,
	SN_MONITOR_LOCKS,
	SN_MONITOR_HEAP,
};

enum sn_monitor_answer {
	SN_MONITOR_UNANSWERED,
	SN_MONITOR_ACCEPTED,
	SN_MONITOR_NO_SUCH_SOURCE, /* or the recording does not trace it */
	SN_MONITOR_SEALED,	   /* no system call may be made any more (seccomp) */
};

struct sn_monitor_request {
	uint32_t source; /* enum sn_monitor_source */
	_Atomic uint32_t answer;
};

/** One side of the configuration, and what became of it. */
struct sn_monitor_table {
	uint32_t first, last; /* executions, both included */
	uint32_t request_count;
	struct sn_monitor_request requests[SN_MONITOR_REQUESTS_MAX];
	uint32_t
		period_times; /* samples are so many times as far apart as the recording asked for; 0 and 1: as it did */
	int64_t stop_ns; /* how long the end of `last` may stop the thread; 0: not at all */
	/* by the process */
	_Atomic int64_t begun_ns, ended_ns; /* of the executions; CLOCK_MONOTONIC */
	/* the execution that the sources were on from, and the first one without them again: a process may take the
	 * table over too late for `first`, and a heartbeat may end several at once */
	_Atomic uint32_t begun, ended;
	_Atomic uint64_t minor_faults[2], major_faults[2]; /* of the process, at begin and end */
	/* what the runtime has taken until then, by its own count, without what delivers signals: handlers and hooks; traces */
	_Atomic uint64_t overhead_ns[2], traced_ns[2];
};

/** What the kernel has counted of a thread where the sources went on [0] and off [1]. -1: unknown. */
struct sn_monitor_slab {
	int32_t tid;	     /* 0: no thread */
	uint32_t generation; /* of the table that it is of */
	int64_t time_ns[2];  /* when it was read: a thread may begin or end between */
	int64_t cpu_ns[2], wait_cpu_ns[2];
};

enum sn_monitor_state {
	SN_MONITOR_NEW,	     /* the segment is not whole yet */
	SN_MONITOR_STARTING, /* stopped in the constructor, until `go` */
	SN_MONITOR_RUNNING,
	SN_MONITOR_STOPPED,  /* at the end of a phase, until `go` changes */
	SN_MONITOR_DETACHED, /* sources are off for good */
};

struct sn_monitor {
	uint64_t magic;
	uint32_t version, bytes;
	int32_t pid;
	uint32_t sequence;	/* of the image, as the data file's */
	_Atomic uint32_t state; /* enum sn_monitor_state; by the process */

	/* by the agent, before the first `go` */
	uint32_t boundary; /* enum sn_monitor_boundary */
	uint64_t link_addrs
		[SN_MONITOR_PLACES_MAX];      /* copies of one place of the source; 0: no more */
	char beat[SN_MONITOR_TEXT_MAX];	      /* its name */
	char module[4 * SN_MONITOR_TEXT_MAX]; /* path of the file that link_addrs are in */

	_Atomic uint32_t go;	 /* a futex: raised to let a stopped thread go on */
	_Atomic uint32_t wanted; /* number of the newest table, tables[wanted & 1]; from 1 */
	_Atomic uint32_t detach; /* 1: sources off for good, at the next end of a phase or sample */

	/* by the process */
	_Atomic uint32_t is_found;    /* the boundary could be watched */
	_Atomic uint32_t taken, done; /* numbers of tables */
	_Atomic uint32_t ended;	      /* executions that have ended */
	_Atomic uint32_t
		is_only; /* the image has ended, and the phase was passed once: where that is an address, the image's
				   * end has ended its execution */
	_Atomic uint32_t is_deaf; /* it is passed too often to be watched, and is watched no more */
	_Atomic uint32_t
		every; /* it is passed so often that every so many-th arrival is told; 0 and 1: each */
	_Atomic uint32_t
		elsewhere; /* arrivals of other threads than the phase's, which do not count */
	_Atomic int64_t first_ns, last_ns; /* begin of the first execution, end of the latest one */
	_Atomic int64_t stopped_ns;	   /* sum */
	struct sn_monitor_table tables[2];
	struct sn_monitor_slab slabs[SN_MONITOR_THREADS_MAX];
};

#endif
