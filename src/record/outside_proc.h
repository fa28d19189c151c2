/**
 * What /proc says of a process (tid 0) or of one of its threads. False, or 0 bytes: it is gone.
 */
#ifndef SN_RECORD_OUTSIDE_PROC_H
#define SN_RECORD_OUTSIDE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

/** Reads /proc/PID/NAME or /proc/PID/task/TID/NAME, at most `size` - 1 bytes and a zero. */
size_t sn_proc_read(pid_t pid, pid_t tid, const char *name, char *out, size_t size);

/** Fields of the file `stat`. Times are as fine as the kernel's ticks. */
struct sn_proc_stat_fields {
	int64_t user_ns, system_ns;
	int32_t parent_pid;
	uint64_t minor_faults, major_faults, resident_bytes;
	char state;
};
bool sn_proc_stat(pid_t pid, pid_t tid, struct sn_proc_stat_fields *out);

/** The process's CPU clock: exact for threads that do not run just now, and for one that has ended
 * and was not waited for. Negative: it is gone. */
int64_t sn_proc_cpu_ns(pid_t pid);

/** CPU time and time waiting for a CPU, both exact. */
bool sn_proc_schedstat(pid_t pid, pid_t tid, int64_t *cpu_ns, int64_t *wait_ns);

/** Context switches since the thread's start; left alone if it is gone. */
void sn_proc_switches(pid_t pid, pid_t tid, uint64_t *voluntary, uint64_t *involuntary);

/** The command line of a process, ended by NULL; [0] is never missing. `*has_title`: it is one word that the process
 * wrote over it (setproctitle). SN_ERR_NOT_FOUND: no such process; SN_ERR_UNSUPPORTED: it has none. The caller frees
 * the words in either case. */
sn_status sn_proc_words(pid_t pid, sn_strings *words, bool *has_title, struct sn_error *err);

#endif
