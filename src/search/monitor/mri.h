/**
 * The monitoring request interface: an agent has processes of its host measured over executions of
 * their phase, through the segments beside their data files (wire/monitor.h).
 *
 * All functions return at once. sn_mri_look is to be called every few milliseconds: it beats, finds new
 * processes, tells them the phase's boundary and lets them go.
 */
#ifndef SN_SEARCH_MONITOR_MRI_H
#define SN_SEARCH_MONITOR_MRI_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"
#include "wire/monitor.h"

struct sn_mri_boundary {
	enum sn_monitor_boundary kind;
	const char *beat; /* SN_MONITOR_BOUNDARY_BEAT */
	const char
		*module; /* SN_MONITOR_BOUNDARY_ADDRESS: path of the file, and the address in it */
	uint64_t link_addrs[SN_MONITOR_PLACES_MAX]; /* 0: no more */
};

struct sn_mri_process {
	char *name;	      /* of the segment's file */
	struct sn_monitor *m; /* mapped */
	int pid;
	bool has_gone, has_let_go, takes_part; /* in the measuring that is on */
	/* what it had passed at two moments, a while apart, without stops: older, newer */
	struct {
		uint32_t ended;
		int64_t last_ns;
	} marks[2];
};

/** A folder of live data, which one recording makes. */
struct sn_mri_folder {
	char *path;
	struct sn_monitor_agent *agent; /* the page in it */
};

struct sn_mri {
	char *host;			 /* the name that files of live data begin with */
	struct sn_mri_boundary boundary; /* its texts are borrowed */
	SN_VEC(struct sn_mri_folder) folders;
	SN_VEC(struct sn_mri_process) processes;
	uint32_t
		traces; /* that are asked for beside samples and accounts: bits 1 << enum sn_monitor_source */
	uint32_t
		period_times; /* samples are asked for so many times as far apart as the recording has them; 0: as it does */
	uint32_t number;       /* of the newest table */
	uint32_t first_number; /* of that which asks for the first execution; 0: none */
	uint32_t refused;      /* segments that were not as they should be */
};

/** What a thread used over the executions that were measured, by the kernel's account; -1: unknown. */
struct sn_mri_thread {
	int pid, tid;
	int64_t elapsed_ns, cpu_ns, wait_cpu_ns;
};

struct sn_mri_faults {
	int pid;
	uint64_t minor, major;
};

/** Executions that were measured. Times are CLOCK_MONOTONIC of the host. */
struct sn_mri_window {
	int64_t from_ns, to_ns;
	uint32_t executions, processes;
	/* what measuring took in all processes, by their own count: handlers and hooks; traces */
	uint64_t overhead_ns, traced_ns;
	uint32_t traces; /* that were on in all processes: bits 1 << enum sn_monitor_source */
	SN_VEC(struct sn_mri_thread) threads;
	SN_VEC(struct sn_mri_faults) faults; /* one for each process */
	char *host; /* of several: whose clock and numbers of processes these are; NULL: there is one */
};

/** `live_folder` (NULL: none yet) is added. */
sn_status sn_mri_open(const char *live_folder, const char *host,
		      const struct sn_mri_boundary *boundary, struct sn_mri **out,
		      struct sn_error *err);
/** Looks at processes of a further recording of this host too, unless it does so already. The agent's page is
 *  made, or taken over from an agent that died. */
sn_status sn_mri_add(struct sn_mri *mri, const char *live_folder, struct sn_error *err);
void sn_mri_look(struct sn_mri *mri);
/** Executions that the process furthest ahead has ended; whether any process could watch the boundary. */
uint32_t sn_mri_ended(const struct sn_mri *mri, bool *is_found);
/** Whether some process has come to the phase at all. */
bool sn_mri_is_reached(const struct sn_mri *mri);
/** Whether some process passes the phase too often for it to be watched any more. */
bool sn_mri_is_deaf(const struct sn_mri *mri);
/** Every so many-th arrival is told, in the process that passes it most; 1: each. */
uint32_t sn_mri_every(const struct sn_mri *mri);
/** Seconds of one execution, on average over the last second or the last two executions; 0: none has ended. */
double sn_mri_mean_s(const struct sn_mri *mri);
/** Asks for so many executions, the same ones in all processes, stopped at their end for `stop_ns` at most.
 *  False: no process passes the phase. */
bool sn_mri_measure(struct sn_mri *mri, uint32_t executions, int64_t stop_ns);
/** The same from execution `first` on, as hosts have agreed. A process that has passed none takes no part. */
bool sn_mri_measure_from(struct sn_mri *mri, uint32_t first, uint32_t executions, int64_t stop_ns);
/** Asks every process that is asked for nothing yet, and all that start later, for its first execution, beside what else
 *  is asked. */
void sn_mri_measure_first(struct sn_mri *mri);
/** What was measured of processes that passed the phase once only, so that it lasted until their ends; false: nothing,
 *  or the phase was passed again. The caller frees with sn_mri_window_free. */
bool sn_mri_fetch_only(const struct sn_mri *mri, struct sn_mri_window *out);
/** Whether all that take part have measured, or are gone. */
bool sn_mri_is_measured(const struct sn_mri *mri);
/** What was measured; false: nothing. The caller frees with sn_mri_window_free. */
bool sn_mri_fetch(const struct sn_mri *mri, struct sn_mri_window *out);
void sn_mri_window_free(struct sn_mri_window *window);
/** What is stopped goes on. */
void sn_mri_go(struct sn_mri *mri);
/** Whether a process that was seen is still there; true as long as none was. */
bool sn_mri_is_needed(const struct sn_mri *mri);
/** Sources are off for good, nobody waits for this agent any more. */
void sn_mri_close(struct sn_mri *mri);

#endif
