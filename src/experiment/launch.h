/**
 * The launch file: what one `record` knows of its launch, as JSON in the experiment folder. It is
 * written when the target starts, and again, whole, when the target has ended. So a file that says
 * `has_ended` false, and whose writer is gone, belongs to a run that was killed.
 */
#ifndef SN_EXPERIMENT_LAUNCH_H
#define SN_EXPERIMENT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct sn_launch_variable {
	const char *name, *value;
};

/** What the kernel counted beside a counter that overflows. */
struct sn_launch_event {
	const char *name;
	int64_t count; /* of all processes; -1: unknown */
};

struct sn_launch {
	struct sn_arena arena; /* owns what was read; a writer may point elsewhere */
	const char *version, *program, *arguments, *label; /* label: NULL if none */
	const char *host, *cpu_model, *kernel, *folder;
	const char *boot;	 /* its id, "": unknown; started_monotonic_ns is of it */
	const char *live_folder; /* where data lie while the target runs, or NULL: merged */
	const char *clock;	 /* what was asked for: "hi", "250", ... */
	double rate_hz;
	int64_t memory_bytes; /* of the host; -1: unknown */
	int32_t pid, rank;    /* of the record command; rank -1: none */
	int32_t target_pid;   /* -1: unknown, or not ours */
	int32_t exit_status;  /* -1: unknown */
	int32_t exit_signal;  /* that ended the target; 0: none */
	bool has_ended;
	bool is_windowed; /* only parts were measured: --delay, --duration, a pause by signal */
	int64_t started_monotonic_ns, started_realtime_ns, elapsed_ns;
	int64_t tree_user_ns, tree_system_ns; /* -1: unknown */
	int64_t own_cpu_ns;		      /* of the launcher so far; -1: unknown */
	double others_share; /* of the machine's CPU time, the tree's left out; -1: unknown */
	uint32_t processes_not_measured;
	SN_VEC(struct sn_launch_variable) environment; /* redacted */
	SN_VEC(const char *) warnings;
	SN_VEC(struct sn_launch_event) events; /* record -e */
};

/** Writes `FOLDER/launch.HOST.PID.json`, whole or not at all. */
sn_status sn_launch_write(const struct sn_launch *launch, const char *folder, struct sn_error *err);
/** Reads one launch file. SN_ERR_FORMAT names the file. The caller frees with sn_launch_free. */
sn_status sn_launch_read(const char *path, struct sn_launch *out, struct sn_error *err);
void sn_launch_free(struct sn_launch *launch);

#endif
