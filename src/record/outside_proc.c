/*
 * Reads and parses the files of /proc/PID and /proc/PID/task/TID. A process may end at any moment,
 * so each function can say that it is gone.
 */
#include "record/outside_proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "record/redact.h"

size_t sn_proc_read(pid_t pid, pid_t tid, const char *name, char *out, size_t size)
{
	char path[96];
	size_t got;
	FILE *in;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	in = fopen(path, "re");
	out[0] = '\0';
	if (!in)
		return 0;
	got = fread(out, 1, size - 1, in);
	out[got] = '\0';
	fclose(in);
	return got;
}

bool sn_proc_stat(pid_t pid, pid_t tid, struct sn_proc_stat_fields *out)
{
	char text[1024], *at;
	unsigned long long minor, major, user, system;
	long long resident;
	int parent;
	int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);

	if (!sn_proc_read(pid, tid, "stat", text, sizeof(text)) || !(at = strrchr(text, ')')))
		return false;
	if (sscanf(at + 1,
		   " %c %d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d %*d %*d "
		   "%*d %*u %*u %lld",
		   &out->state, &parent, &minor, &major, &user, &system, &resident) < 7)
		return false;
	out->parent_pid = parent;
	out->user_ns = (int64_t)user * tick_ns;
	out->system_ns = (int64_t)system * tick_ns;
	out->minor_faults = minor;
	out->major_faults = major;
	out->resident_bytes = resident > 0 ? (uint64_t)resident * 4096 : 0;
	return true;
}

int64_t sn_proc_cpu_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return -1;
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

bool sn_proc_schedstat(pid_t pid, pid_t tid, int64_t *cpu_ns, int64_t *wait_ns)
{
	char text[128];
	long long cpu, wait;

	if (!sn_proc_read(pid, tid, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%lld %lld", &cpu, &wait) != 2)
		return false;
	*cpu_ns = cpu;
	*wait_ns = wait;
	return true;
}

void sn_proc_switches(pid_t pid, pid_t tid, uint64_t *voluntary, uint64_t *involuntary)
{
	char text[4096], *at;

	if (!sn_proc_read(pid, tid, "status", text, sizeof(text)))
		return;
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	if (at)
		*voluntary = strtoull(at + 25, NULL, 10);
	at = strstr(text, "\nnonvoluntary_ctxt_switches:");
	if (at)
		*involuntary = strtoull(at + 28, NULL, 10);
}

/* A title in place of a command line (setproctitle) is one word, as it stands. */
static bool title_take(sn_strings *words, const uint8_t *bytes, size_t length)
{
	char *title = sn_alloc_zeroed(length + 1, 1);
	bool is_title;

	memcpy(title, bytes, length);
	is_title = sn_process_title(title, length);
	if (is_title) {
		while (words->count)
			free(words->items[--words->count]);
		sn_vec_push(words, sn_strdup(title));
	}
	free(title);
	return is_title;
}

sn_status sn_proc_words(pid_t pid, sn_strings *words, bool *has_title, struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_view view;
	sn_status status;

	sn_text_addf(&path, "/proc/%d/cmdline", (int)pid);
	status = sn_file_map(path.chars, &view, NULL);
	sn_text_free(&path);
	if (status != SN_OK)
		return sn_error_set(err, SN_ERR_NOT_FOUND, "there is no process %d", (int)pid);
	for (size_t at = 0; at < view.length;) {
		char *word = strndup((const char *)view.bytes + at, view.length - at);

		at += strlen(word) + 1;
		sn_vec_push(words, word);
	}
	*has_title |= title_take(words, view.bytes, view.length);
	sn_file_unmap(&view);
	if (!words->count)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "process %d has no program (it has ended, or is the kernel's)",
				    (int)pid);
	sn_vec_push(words, NULL);
	return SN_OK;
}
