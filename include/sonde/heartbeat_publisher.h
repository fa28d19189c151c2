/**
 * Publishers: plug-ins that libsonde-heartbeat loads with dlopen() and gives every row that it
 * writes. SONDE_HEARTBEAT_PUBLISH names them: "openmetrics", "ldms", or the path of a plug-in.
 *
 * A plug-in is a shared library that defines `sonde_heartbeat_publisher`. All its functions are
 * called with every signal blocked, never two at a time, and mostly by the library's own thread, so
 * they may allocate and write files. They must not block for longer than an interval (rows wait
 * meanwhile), end the process, or call the heartbeat library.
 */
#ifndef SONDE_HEARTBEAT_PUBLISHER_H
#define SONDE_HEARTBEAT_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SONDE_HEARTBEAT_PUBLISHER_VERSION = 1 };

/** Who publishes. The strings live as long as the process. */
struct sonde_heartbeat_process {
	const char *host, *program;
	const char *job_id; /* of Slurm or PBS; NULL: none */
	uint64_t pid;
	int64_t rank, ranks; /* -1: unknown */
	uint64_t interval_ns;
};

/** What one heartbeat did in one interval, in one thread (jobwide: in all). */
struct sonde_heartbeat_row {
	const char *name; /* any bytes; lives as long as the process */
	size_t name_length;
	uint32_t index;	  /* of the heartbeat, from 0 without gaps */
	uint32_t every;	  /* beats are timed one in so many */
	uint64_t thread;  /* kernel id; 0: all of `threads` together */
	uint64_t threads; /* behind this row */
	uint64_t count;	  /* beats that ended */
	uint64_t timed;	  /* those of them in the next four */
	uint64_t sum_ns, min_ns, max_ns;
	uint64_t histogram[32];	  /* [2^i, 2^(i+1)) ns */
	uint64_t open, open_ns;	  /* at the interval's end; time within the interval */
	uint64_t work;		  /* of sonde_heartbeat_pulse() */
	uint64_t misuse, dropped; /* dropped: beats that found no memory */
};

struct sonde_heartbeat_publisher {
	uint32_t version; /* SONDE_HEARTBEAT_PUBLISHER_VERSION */
	/** Before the first row. NULL when all is well, else one sentence why not: it is printed on
	 *  standard error, and the publisher is not called again. */
	const char *(*start)(const struct sonde_heartbeat_process *process);
	void (*row)(const struct sonde_heartbeat_row *row);
	/** After the rows of an interval (also when there were none). */
	void (*interval)(uint64_t end_realtime_ns, uint64_t length_ns);
	/** At the end of the process, after the last interval. */
	void (*stop)(void);
	/** In a forked child, where no other thread of the parent runs: forget connections, sockets
	 *  and threads. If beats follow, start() is called again. NULL: not used in children. */
	void (*forked)(void);
};

extern const struct sonde_heartbeat_publisher sonde_heartbeat_publisher;

#ifdef __cplusplus
}
#endif

#endif
