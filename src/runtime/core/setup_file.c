/*
 * The data file of an image: made, backed with disk space, mapped, and described.
 *
 * Everything here is also called in the child of a fork, where only what is safe after fork may run:
 * no malloc, no stdio streams. snprintf with plain conversions is safe in glibc.
 */
#include "runtime/core/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void sn_read_small_file(const char *path, char *out, size_t out_bytes)
{
	long fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long length = 0;

	if (fd >= 0) {
		length = SYS(read, fd, out, out_bytes - 1);
		SYS(close, fd);
	}
	out[length > 0 ? length : 0] = '\0';
}

/* Time that the machine was suspended. Whoever is interrupted between both clocks reads less. */
static int64_t suspended_ns(void)
{
	enum { READINGS = 4, ROUNDED_NS = 1000000 };
	int64_t most_ns = INT64_MIN;

	for (int i = 0; i < READINGS; i++) {
		int64_t boot_ns = sn_clock_ns(CLOCK_BOOTTIME);
		int64_t between_ns = boot_ns - sn_now_ns();

		most_ns = between_ns > most_ns ? between_ns : most_ns;
	}
	/* the same for all processes, or they would have begun in another order */
	return (most_ns + ROUNDED_NS / 2) / ROUNDED_NS * ROUNDED_NS;
}

/* The kernel's start time of the process in ns of CLOCK_MONOTONIC: field 22 of stat counts ticks of
 * 10 ms since boot, boot time includes suspend. */
static int64_t process_start_ns(void)
{
	char text[1024];
	int64_t offset_ns = suspended_ns();

	sn_read_small_file("/proc/self/stat", text, sizeof text);
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? (int64_t)strtoull(at + 1, NULL, 10) * 10000000 - offset_ns : 0;
}

static int number_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);
		if (value && *value >= '0' && *value <= '9')
			return atoi(value);
	}
	return -1;
}

static void describe_rank(struct sn_data_header *header)
{
	static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					     "MV2_COMM_WORLD_RANK", NULL };
	static const char *const counts[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					      "MV2_COMM_WORLD_SIZE", NULL };
	static const char *const slurm_rank[] = { "SLURM_PROCID", NULL };
	static const char *const slurm_count[] = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL };
	static const char *const jobs[] = { "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", NULL };

	header->rank = number_of(ranks);
	header->rank_count = number_of(counts);
	/* slurm sets its variables in batch scripts too, which are no step, and no rank */
	if (header->rank < 0 && getenv("SLURM_STEP_ID") && number_of(slurm_count) > 1) {
		header->rank = number_of(slurm_rank);
		header->rank_count = number_of(slurm_count);
	}
	for (int i = 0; jobs[i] && !header->job[0]; i++) {
		const char *value = getenv(jobs[i]);
		const char *step = getenv("SLURM_STEP_ID");
		if (value)
			snprintf(header->job, sizeof header->job, "%s%s%s", value,
				 i == 2 && step ? "." : "", i == 2 && step ? step : "");
	}
}

/* The name that was executed, where it is another one of the same file (a link: redis-server is
 * redis-check-rdb); a script's own name is not that of its interpreter. */
static void describe_program(struct sn_data_header *header)
{
	const char *executed = (const char *)getauxval(AT_EXECFN);
	char folder[sizeof header->program];
	struct stat own, named;

	SYS(readlink, "/proc/self/exe", header->program, sizeof header->program - 1);
	if (!executed || stat("/proc/self/exe", &own) != 0 || stat(executed, &named) != 0 ||
	    own.st_ino != named.st_ino || own.st_dev != named.st_dev)
		return;
	const char *name = strrchr(executed, '/'), *file = strrchr(header->program, '/');
	if (!name || !file || strcmp(name, file) == 0)
		return;
	long length = executed[0] == '/' ? 1 : SYS(getcwd, folder, sizeof folder);
	if (length <= 0 || (size_t)length + strlen(executed) + 1 > sizeof header->program)
		return;
	if (executed[0] == '/')
		folder[0] = '\0';
	else
		executed += executed[0] == '.' && executed[1] == '/' ? 1 : 0;
	snprintf(header->program, sizeof header->program, "%s%s%s", folder,
		 executed[0] == '/' ? "" : "/", executed);
}

static void describe_header(struct sn_data_header *header, enum sn_data_origin origin,
			    uint32_t parent_sequence)
{
	struct stat status;

	header->version = SN_DATA_VERSION;
	header->header_bytes = SN_DATA_HEADER_BYTES;
	header->chunk_bytes = SN_DATA_CHUNK_BYTES;
	header->chunks_max = (uint32_t)sn_config.settings.chunks_max;
	header->origin = origin;
	header->pid = (int32_t)SYS(getpid);
	header->parent_pid = (int32_t)SYS(getppid);
	header->parent_sequence = parent_sequence;
	header->uid = (uint32_t)SYS(getuid);
	header->start_ns = sn_now_ns();
	header->start_realtime_ns = sn_clock_ns(CLOCK_REALTIME);
	header->process_start_ns =
		origin == SN_DATA_ORIGIN_EXEC ? process_start_ns() : header->start_ns;
	header->exit_code = -1;
	header->period_ns = sn_config.settings.period_ns;
	header->period_later_ns = sn_config.settings.period_later_ns;
	header->burst_ns = sn_config.settings.burst_ns;
	header->end_wait_cpu_ns = -1;
	int64_t waited_ns = sn_thread_wait_cpu_ns((int32_t)SYS(gettid));
	header->start_wait_cpu_ns = waited_ns > 0 ? waited_ns : 0;
	header->is_paused = (sn_config.settings.is_paused ? SN_PAUSED_BY_LAUNCHER : 0) |
			    (sn_config.is_paused ? SN_PAUSED_BY_PROGRAM : 0);
	header->io_read_bytes = header->io_write_bytes = -1;
	header->pressure_cpu_ns = header->pressure_io_ns = header->pressure_memory_ns = -1;
	/* what earlier images of this process used; a forked child starts from zero */
	if (origin == SN_DATA_ORIGIN_EXEC) {
		header->follows_exec = sn_config.settings.is_same_process;
		header->start_user_ns = (int64_t)sn_config.settings.used_user_ns;
		header->start_system_ns = (int64_t)sn_config.settings.used_system_ns;
	}
	if (stat("/proc/self/ns/pid", &status) == 0)
		header->namespace_inode = status.st_ino;
	memcpy(header->host, sn_config.host, sizeof header->host);
	describe_program(header);
	describe_rank(header);
	/* the launcher takes a header with the magic for a whole one */
	atomic_thread_fence(memory_order_release);
	header->magic = SN_DATA_MAGIC;
}

/* Disk space for the first chunks: as many as there is room for. A hole would be a SIGBUS later, so
 * where fallocate is not supported the bytes are written. */
static uint32_t back_chunks(long fd, uint32_t chunks)
{
	static const char zeros[SN_DATA_CHUNK_BYTES];

	for (uint32_t count = chunks; count >= 1; count /= 2) {
		uint64_t bytes = sn_data_file_bytes(count);
		if (SYS(fallocate, fd, 0, 0, bytes) == 0)
			return count;
	}
	uint32_t written = 0;
	if (SYS(pwrite64, fd, zeros, SN_DATA_HEADER_BYTES, 0) != SN_DATA_HEADER_BYTES)
		return 0;
	while (written < chunks / 4 && SYS(pwrite64, fd, zeros, sizeof zeros,
					   sn_data_chunk_offset(written)) == sizeof zeros)
		written++;
	return written;
}

uint64_t sn_file_bytes_allowed(void)
{
	struct rlimit limit;

	return SYS(prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

static uint32_t chunks_allowed(uint32_t chunks)
{
	uint64_t bytes = sn_file_bytes_allowed();
	uint64_t most = bytes < SN_DATA_HEADER_BYTES
				? 0
				: (bytes - SN_DATA_HEADER_BYTES) / SN_DATA_CHUNK_BYTES;

	if (most < chunks)
		chunks = (uint32_t)most;
	if (sn_config.settings.chunks_max && sn_config.settings.chunks_max < chunks)
		chunks = (uint32_t)sn_config.settings.chunks_max;
	return chunks;
}

bool sn_file_create(enum sn_data_origin origin, uint32_t parent_sequence, uint32_t chunks_first)
{
	char path[SN_SETTINGS_PATH_MAX + SN_DATA_HOST_MAX + 64];
	uint32_t sequence = 0;
	long fd;

	chunks_first = chunks_allowed(chunks_first);
	if (chunks_first == 0)
		return false;
	do {
		snprintf(path, sizeof path, "%s/%s.%ld.%u.live", sn_config.settings.dir,
			 sn_config.host, SYS(getpid), sequence);
		fd = SYS(openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd == -EEXIST && ++sequence < 100000);
	if (fd < 0)
		return false;
	uint32_t backed = back_chunks(fd, chunks_first);
	long base = backed ? SYS(mmap, NULL, SN_DATA_MAP_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_NORESERVE, fd, 0)
			   : -1;
	bool is_small = backed && base < 0 && base > -4096;

	if (is_small) /* RLIMIT_AS: take what is backed */
		base = SYS(mmap, NULL, sn_data_file_bytes(backed), PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
	SYS(close, fd);
	if (base < 0 && base > -4096) {
		SYS(unlink, path);
		return false;
	}
	SYS(madvise, base, SN_DATA_MAP_BYTES, MADV_DONTFORK);
	/* else one store may fill a megabyte of page cache at once: 0.1 to 0.2 ms */
	SYS(madvise, base, SN_DATA_MAP_BYTES, MADV_RANDOM);
	sn_state->file.base = (uint8_t *)base;
	sn_state->file.half_full = SN_CHUNK_NONE;
	sn_header()->sequence = sequence;
	describe_header(sn_header(), origin, parent_sequence);
	if (is_small)
		sn_header()->chunks_max = backed;
	atomic_store_explicit(&sn_header()->chunks_backed, backed, memory_order_release);
	return true;
}

/* Values that a shared report should not reveal. */
static bool is_secret(const char *name, size_t length)
{
	static const char *const words[] = {
		"PASS",	  "SECRET", "TOKEN", "CREDENTIAL", "PRIVATE",
		"APIKEY", "_KEY",   "AUTH",  "COOKIE",	   "SESSION_ID"
	};

	for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
		size_t word_length = strlen(words[w]);
		for (size_t i = 0; i + word_length <= length; i++)
			if (!strncasecmp(name + i, words[w], word_length))
				return true;
	}
	return false;
}

static void describe_environment(struct sn_writer *writer, int64_t now_ns)
{
	char text[SN_DATA_STRING_MAX + 8];

	for (char **entry = environ; entry && *entry; entry++) {
		size_t length = strcspn(*entry, "=");
		if ((*entry)[length] != '=' || !is_secret(*entry, length)) {
			sn_writer_text(writer, now_ns, SN_TEXT_ENVIRONMENT, *entry, strlen(*entry));
			continue;
		}
		int bytes = snprintf(text, sizeof text, "%.*s=***", (int)length, *entry);
		sn_writer_text(writer, now_ns, SN_TEXT_ENVIRONMENT, text,
			       bytes < (int)sizeof text ? (size_t)bytes : sizeof text - 1);
	}
}

/* --password=X, --token X: the word stays, the value goes. */
static void describe_arguments(struct sn_writer *writer, int64_t now_ns)
{
	static char text[65536]; /* set-up only: one thread */
	long fd = SYS(openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long bytes = fd >= 0 ? SYS(read, fd, text, sizeof text - 1) : 0;
	bool is_value_secret = false;

	if (fd >= 0)
		SYS(close, fd);
	for (long at = 0; at < bytes; at += (long)strlen(text + at) + 1) {
		char *word = text + at;
		size_t name = strcspn(word, "=");
		bool is_option = word[0] == '-' && is_secret(word, name);
		if (is_value_secret && word[0] != '-') {
			sn_writer_text(writer, now_ns, SN_TEXT_ARGUMENT, "***", 3);
		} else if (is_option && word[name] == '=') {
			char cut[256];
			int n = snprintf(cut, sizeof cut, "%.*s=***", (int)(name & 127), word);
			sn_writer_text(writer, now_ns, SN_TEXT_ARGUMENT, cut, (size_t)n);
		} else {
			sn_writer_text(writer, now_ns, SN_TEXT_ARGUMENT, word, strlen(word));
		}
		is_value_secret = is_option && word[name] != '=';
	}
}

void sn_file_describe(struct sn_writer *writer)
{
	char folder[SN_SETTINGS_PATH_MAX];
	int64_t now_ns = sn_now_ns();
	long length = SYS(getcwd, folder, sizeof folder);

	sn_writer_text(writer, now_ns, SN_TEXT_PROGRAM, sn_header()->program,
		       strlen(sn_header()->program));
	describe_arguments(writer, now_ns);
	if (length > 1)
		sn_writer_text(writer, now_ns, SN_TEXT_FOLDER, folder, (size_t)length - 1);
	describe_environment(writer, now_ns);
}
