/*
 * Reads /proc for what the runtime cannot know or no longer write: the kernel's account of each
 * thread, of sleeping processes, and of those that were killed. It has a chunk of its own in each
 * data file.
 */
#include "record/watch.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/redact.h"
#include "wire/writer.h"

enum {
	FIRST_NS = 50000000,
	TITLE_MOST = 400,   /* bytes */
	THREADS_MOST = 256, /* at one look at a process: each costs some 20 us */
};

/* ---- the data file ---- */

/* A fresh chunk of the launcher's own, begun by its OWNER. */
static bool chunk_take(struct sn_watch *watch, int fd, struct sn_data_header *header,
		       int64_t now_ns)
{
	struct sn_writer_file file = { .base = (uint8_t *)header };
	uint32_t index = sn_writer_draw_chunk(&file);
	struct sn_record_owner *owner;
	void *mapped;

	sn_watch_free(watch);
	if (index == SN_CHUNK_NONE)
		return false;
	mapped = mmap(NULL, SN_DATA_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      (off_t)sn_data_chunk_offset(index));
	if (mapped == MAP_FAILED)
		return false;
	watch->chunk = mapped;
	watch->chunk->magic = SN_CHUNK_MAGIC;
	watch->chunk->index = index;
	owner = (void *)(watch->chunk + 1);
	*owner = (struct sn_record_owner){ .header = { .type = SN_RECORD_OWNER,
						       .size_bytes = sizeof(*owner) },
					   .thread_index = SN_DATA_LAUNCHER,
					   .tid = header->pid,
					   .base_ns = now_ns };
	watch->used_bytes = sizeof(*watch->chunk) + sizeof(*owner);
	return true;
}

static void record_write(struct sn_watch *watch, int fd, struct sn_data_header *header,
			 const void *record, uint32_t bytes, int64_t now_ns)
{
	if (!watch->chunk || watch->used_bytes + bytes > SN_DATA_CHUNK_BYTES)
		if (!chunk_take(watch, fd, header, now_ns))
			return;
	memcpy((uint8_t *)watch->chunk + watch->used_bytes, record, bytes);
	watch->used_bytes += bytes;
	atomic_store_explicit(&watch->chunk->committed_bytes, watch->used_bytes,
			      memory_order_release);
}

/* ---- /proc ---- */

static bool file_read(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out, room - 1);

	if (fd >= 0)
		close(fd);
	out[got > 0 ? got : 0] = '\0';
	return got > 0;
}

struct stat_fields {
	char name[16], state;
	uint64_t minor_faults, major_faults, start_ticks;
	int64_t user_ns, system_ns;
};

/* The file `stat` of a process or task: name in brackets, then numbers. */
static bool stat_read(const char *path, struct stat_fields *out)
{
	int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
	unsigned long long minor, major, user, system, start;
	char text[1024], *open = NULL, *close;

	*out = (struct stat_fields){ 0 };
	if (!file_read(path, text, sizeof(text)))
		return false;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close ||
	    sscanf(close + 1,
		   " %c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d %*d %*d "
		   "%*d %llu",
		   &out->state, &minor, &major, &user, &system, &start) != 6)
		return false;
	*close = '\0';
	snprintf(out->name, sizeof(out->name), "%.15s", open + 1);
	out->minor_faults = minor;
	out->major_faults = major;
	out->user_ns = (int64_t)user * tick_ns;
	out->system_ns = (int64_t)system * tick_ns;
	out->start_ticks = start;
	return true;
}

/* CPU time and time waiting for a CPU of one task, in ns. */
static bool schedstat_read(const char *path, int64_t *cpu_ns, int64_t *wait_ns)
{
	long long run, wait;
	char text[128];

	if (!file_read(path, text, sizeof(text)) || sscanf(text, "%lld %lld", &run, &wait) != 2)
		return false;
	*cpu_ns = run;
	*wait_ns = wait;
	return true;
}

/* One thread's account; gives the time it waited for a CPU, -1 if it is gone. */
static int64_t task_look(struct sn_watch *watch, int fd, struct sn_data_header *header, int tid,
			 int64_t now_ns)
{
	struct sn_record_thread_account account = { .header = { .type = SN_RECORD_TASK,
								.size_bytes = sizeof(account) },
						    .thread_index = (uint32_t)tid,
						    .time_ns = now_ns };
	struct stat_fields stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", header->pid, tid);
	if (!stat_read(path, &stat))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", header->pid, tid);
	if (!schedstat_read(path, &account.cpu_ns, &account.wait_cpu_ns))
		return -1;
	account.user_ns = stat.user_ns;
	account.system_ns = stat.system_ns;
	account.minor_faults = stat.minor_faults;
	account.major_faults = stat.major_faults;
	memcpy(account.name, stat.name, sizeof(account.name));
	record_write(watch, fd, header, &account, sizeof(account), now_ns);
	return account.wait_cpu_ns;
}

static int64_t tasks_look(struct sn_watch *watch, int fd, struct sn_data_header *header,
			  int64_t now_ns)
{
	int64_t wait_ns = 0, waited;
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int looks = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", header->pid);
	tasks = opendir(path);
	while (tasks && looks < THREADS_MOST && (entry = readdir(tasks))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		looks++;
		waited = task_look(watch, fd, header, atoi(entry->d_name), now_ns);
		wait_ns += waited > 0 ? waited : 0;
	}
	if (tasks)
		closedir(tasks);
	return wait_ns;
}

static uint64_t resident_bytes(pid_t pid)
{
	unsigned long long pages;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (!file_read(path, text, sizeof(text)) || sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Bytes that the process read and wrote so far, by all system calls. Left alone if they cannot be had,
 * as of a process of another user. */
static void io_look(struct sn_data_header *header)
{
	unsigned long long read_bytes, write_bytes;
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/io", header->pid);
	if (!file_read(path, text, sizeof(text)) ||
	    sscanf(text, "rchar: %llu wchar: %llu", &read_bytes, &write_bytes) != 2)
		return;
	header->io_read_bytes = (int64_t)(read_bytes - header->own_read_bytes);
	header->io_write_bytes = (int64_t)write_bytes;
}

/* How long some task of the host has waited for a resource since boot (Linux, accounting/psi). */
static int64_t pressure_ns(const char *path)
{
	unsigned long long total_us;
	const char *total;
	char text[256];

	if (!file_read(path, text, sizeof(text)) || strncmp(text, "some ", 5) != 0)
		return -1;
	total = strstr(text, "total=");
	return total && sscanf(total, "total=%llu", &total_us) == 1 ? (int64_t)total_us * 1000 : -1;
}

static void pressure_look(struct sn_data_header *header)
{
	header->pressure_cpu_ns = pressure_ns("/proc/pressure/cpu");
	header->pressure_io_ns = pressure_ns("/proc/pressure/io");
	header->pressure_memory_ns = pressure_ns("/proc/pressure/memory");
}

/* ---- looks ---- */

/* The title of a process that wrote over its command line, whenever it is another. A server's workers
 * do so after fork, when what they began with is written. */
static void title_look(struct sn_watch *watch, int fd, struct sn_data_header *header,
		       int64_t now_ns)
{
	union {
		struct sn_record_text record;
		char bytes[sizeof(struct sn_record_text) + TITLE_MOST + 8];
	} out = { 0 };
	char path[64], title[4096] = "";
	uint64_t hash = 1469598103934665603u; /* FNV-1a */
	uint32_t length;
	ssize_t got;
	int cmdline;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", header->pid);
	cmdline = open(path, O_RDONLY | O_CLOEXEC);
	got = cmdline < 0 ? -1 : read(cmdline, title, sizeof(title) - 1);
	if (cmdline >= 0)
		close(cmdline);
	if (got <= 0 || !sn_process_title(title, (size_t)got))
		return;
	length = (uint32_t)strnlen(title, TITLE_MOST);
	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)title[i]) * 1099511628211u;
	if (hash == watch->title)
		return;
	watch->title = hash;
	out.record.header = (struct sn_record_header){
		.type = SN_RECORD_TEXT,
		.flags = SN_TEXT_TITLE,
		.size_bytes = (uint16_t)((sizeof(out.record) + length + 1 + 7) & ~7u),
	};
	out.record.text_bytes = length;
	memcpy(out.bytes + sizeof(out.record), title, length);
	record_write(watch, fd, header, &out, out.record.header.size_bytes, now_ns);
}

/* A number of /proc means our process only if that is not another with the same number: the data
 * file's process started before its header was written. */
static bool process_look(struct sn_watch *watch, int fd, struct sn_data_header *header,
			 int64_t now_ns, struct stat_fields *stat)
{
	int64_t wait_ns;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", header->pid);
	if (!stat_read(path, stat))
		return false;
	wait_ns = tasks_look(watch, fd, header, now_ns);
	if (wait_ns > header->wait_cpu_ns)
		header->wait_cpu_ns = wait_ns;
	if (stat->state != 'Z') {
		header->resident_bytes = resident_bytes(header->pid);
		io_look(header);
		pressure_look(header);
		title_look(watch, fd, header, now_ns);
	}
	return true;
}

static void packet_write(struct sn_watch *watch, int fd, struct sn_data_header *header,
			 int64_t now_ns, const struct stat_fields *stat, enum sn_packet_kind kind)
{
	struct sn_record_packet packet = {
		.header = { .type = SN_RECORD_PACKET,
			    .flags = (uint8_t)kind,
			    .size_bytes = sizeof(packet) },
		.time_ns = now_ns,
		.user_ns = stat->user_ns,
		.system_ns = stat->system_ns,
		.wait_cpu_ns = header->wait_cpu_ns,
		.minor_faults = stat->minor_faults,
		.major_faults = stat->major_faults,
		/* by thread: too much to read here */
		.voluntary_switches = UINT64_MAX,
		.involuntary_switches = UINT64_MAX,
		.resident_bytes = header->resident_bytes,
		.io_read_bytes = header->io_read_bytes,
		.io_write_bytes = header->io_write_bytes,
		.pressure_cpu_ns = header->pressure_cpu_ns,
		.pressure_io_ns = header->pressure_io_ns,
		.pressure_memory_ns = header->pressure_memory_ns,
	};

	record_write(watch, fd, header, &packet, sizeof(packet), now_ns);
	header->packet_ns = now_ns;
}

void sn_watch_look(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns)
{
	struct stat_fields stat;

	if (!watch->due_ns)
		watch->due_ns = header->start_ns + FIRST_NS;
	if (now_ns < watch->due_ns)
		return;
	watch->due_ns = now_ns + watch->every_ns;
	if (!process_look(watch, fd, header, now_ns, &stat))
		return;
	if (!header->packet_ns)
		header->packet_ns = header->start_ns;
	if (now_ns - header->packet_ns > watch->every_ns + watch->every_ns / 5)
		packet_write(watch, fd, header, now_ns, &stat, SN_PACKET_PERIODIC);
}

void sn_watch_packet(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns,
		     enum sn_packet_kind kind)
{
	struct stat_fields stat;

	if (process_look(watch, fd, header, now_ns, &stat))
		packet_write(watch, fd, header, now_ns, &stat, kind);
}

void sn_watch_end(struct sn_watch *watch, int fd, struct sn_data_header *header, int64_t now_ns)
{
	struct stat_fields stat;
	bool is_there;

	if (header->end_ns)
		return;
	is_there = process_look(watch, fd, header, now_ns, &stat);
	header->end_ns = now_ns;
	/* of all its threads, exact to a tick */
	if (is_there &&
	    stat.user_ns + stat.system_ns > header->end_user_ns + header->end_system_ns) {
		header->end_user_ns = stat.user_ns;
		header->end_system_ns = stat.system_ns;
	}
}

void sn_watch_free(struct sn_watch *watch)
{
	if (watch->chunk)
		munmap(watch->chunk, SN_DATA_CHUNK_BYTES);
	watch->chunk = NULL;
}
