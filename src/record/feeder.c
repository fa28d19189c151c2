/*
 * The launcher's side of the data files. It finds new files, gives them disk space ahead of their
 * writers, writes the end of processes that were killed, and at last copies all into one file.
 */
#include "record/feeder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "experiment/decode.h"
#include "record/redact.h"
#include "wire/data.h"

enum {
	WAIT_LEAST_MS = 1,
	WAIT_MOST_MS = 20,
	/* in one process: below that the cost of measuring what they cost is not worth it */
	SIGNALS_WORTH_MEASURING = 32,
	/* The price of switches is measured (some 30 ms of CPU time) where those with an event are
	 * many and may be a 200th of the CPU time; else they are taken to cost what they mostly do. */
	SWITCHES_WORTH_MEASURING = 2000,
	SWITCH_MOST_NS = 10000,
	SWITCH_NS = 5000,
	SWITCH_AFTER_NS = 40,
	SWITCHES_PART = 200,
	CALLS_WORTH_MEASURING = 10000,
	/* per cent by which a part of the overhead may be off, found by runs with and without */
	DOUBT_SEEN = 10,
	DOUBT_SIGNALS = 15,
	DOUBT_INTERRUPTS = 100, /* 11 us in a loop, up to 50 in a server's system calls */
	DOUBT_SWITCHES = 50,
	DOUBT_CALLS = 30,
	DOUBT_TRACES = 45,
	DOUBT_LOCKS = 50,
	SCARCE_PART = 16, /* of the space, that recorded accesses leave to all else */
	/* as many as a process maps */
	CHUNKS_MOST = (SN_DATA_MAP_BYTES - SN_DATA_HEADER_BYTES) / SN_DATA_CHUNK_BYTES,
	FAST_GROWTH_CHUNKS = 32, /* in one look: look again at once */
	/* a process that was killed on its way leaves a file that never gets ready */
	UNREADY_FAST_LOOKS = 1000,
};

sn_status sn_feeder_open(struct sn_feeder *feeder, const char *folder, uint64_t max_bytes,
			 int64_t packets_ns, struct sn_error *err)
{
	struct stat st;

	*feeder = (struct sn_feeder){ .max_bytes = max_bytes,
				      .packets_ns = packets_ns,
				      .wait_ms = WAIT_LEAST_MS };
	feeder->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	feeder->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (feeder->folder_fd < 0)
		return sn_error_errno(err, "cannot open the data folder '%s'", folder);
	if (feeder->notify_fd >= 0)
		inotify_add_watch(feeder->notify_fd, folder, IN_CREATE);
	feeder->folder = sn_strdup(folder);
	if (!stat("/proc/self/ns/pid", &st))
		feeder->namespace_inode = st.st_ino;
	return SN_OK;
}

/* The program's own pause stays. */
static void pause_set(struct sn_data_header *header, bool is_paused)
{
	if (is_paused)
		atomic_fetch_or(&header->is_paused, SN_PAUSED_BY_LAUNCHER);
	else
		atomic_fetch_and(&header->is_paused, ~(uint32_t)SN_PAUSED_BY_LAUNCHER);
}

/* A file that the runtime is only just making has no header yet: it is tried again later. */
static bool file_add(struct sn_feeder *feeder, const char *name)
{
	struct sn_fed_file file = { .fd = openat(feeder->folder_fd, name, O_RDWR | O_CLOEXEC) };
	struct stat st;
	void *header = MAP_FAILED;

	if (file.fd < 0)
		return false;
	if (!fstat(file.fd, &st) && st.st_size >= SN_DATA_HEADER_BYTES)
		header = mmap(NULL, SN_DATA_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			      file.fd, 0);
	if (header == MAP_FAILED) {
		close(file.fd);
		return false;
	}
	file.header = header;
	file.watch.every_ns = feeder->packets_ns;
	if (file.header->magic != SN_DATA_MAGIC) {
		munmap(header, SN_DATA_HEADER_BYTES);
		close(file.fd);
		return false;
	}
	file.name = sn_strdup(name);
	file.is_of_fork = file.header->origin == SN_DATA_ORIGIN_FORK;
	file.is_ours = file.header->namespace_inode == feeder->namespace_inode &&
		       file.header->origin != SN_DATA_ORIGIN_OUTSIDE;
	if (feeder->has_pause && file.header->origin != SN_DATA_ORIGIN_OUTSIDE)
		pause_set(file.header, feeder->is_paused);
	feeder->backed_bytes += (uint64_t)st.st_size;
	sn_vec_push(&feeder->files, file);
	return true;
}

static void files_find(struct sn_feeder *feeder)
{
	int fd = openat(feeder->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	feeder->has_unready = false;
	while (stream && (entry = readdir(stream)))
		if (sn_ends_with(entry->d_name, ".live") &&
		    !sn_vec_has_name(&feeder->files, entry->d_name))
			feeder->has_unready |= !file_add(feeder, entry->d_name);
	if (stream)
		closedir(stream);
}

/* True if inotify told of a new file, or cannot tell. */
static bool folder_has_changed(struct sn_feeder *feeder)
{
	_Alignas(8) char events[4096];
	bool has_changed = feeder->notify_fd < 0;

	while (feeder->notify_fd >= 0 && read(feeder->notify_fd, events, sizeof(events)) > 0)
		has_changed = true;
	return has_changed;
}

/* Space for bytes [from, to) of the file: real blocks, so that no store can meet a full disk.
 * Returns 0 or the kernel's error. */
static int space_reserve(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[65536];

	int failed;

	do
		failed = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
	while (failed && errno == EINTR);
	if (!failed)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return errno;
	while (from < to) {
		size_t piece = to - from < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
		ssize_t written = pwrite(fd, zeros, piece, (off_t)from);

		if (written < 0 && errno != EINTR)
			return errno;
		if (written > 0)
			from += (uint64_t)written;
	}
	return 0;
}

static void file_back(struct sn_feeder *feeder, struct sn_fed_file *file, uint32_t wanted)
{
	uint32_t backed = file->header->chunks_backed;
	uint64_t more = (uint64_t)(wanted - backed) * SN_DATA_CHUNK_BYTES;
	int fault;

	if (feeder->max_bytes && feeder->backed_bytes + more > feeder->max_bytes) {
		file->is_full = feeder->is_scarce = true;
		return;
	}
	fault = space_reserve(file->fd, sn_data_file_bytes(backed), sn_data_file_bytes(wanted));
	if (fault) {
		file->is_full = feeder->is_scarce = true;
		feeder->out_of_space_errno = fault;
		return;
	}
	feeder->backed_bytes += more;
	if (feeder->max_bytes &&
	    feeder->backed_bytes > feeder->max_bytes - feeder->max_bytes / SCARCE_PART)
		feeder->is_scarce = true;
	atomic_store_explicit(&file->header->chunks_backed, wanted, memory_order_release);
}

static void file_let_go(struct sn_feeder *feeder, struct sn_fed_file *file)
{
	if (!file->header)
		return;
	feeder->have_accesses_ended |= file->header->has_accesses_ended != 0;
	if (file->header->copied_loops > feeder->copied_loops)
		feeder->copied_loops = file->header->copied_loops;
	feeder->lost_for_space += file->header->lost[SN_LOSS_NO_SPACE];
	sn_watch_free(&file->watch);
	munmap(file->header, SN_DATA_HEADER_BYTES);
	close(file->fd);
	file->header = NULL;
}

static bool is_gone(const struct sn_data_header *header)
{
	return kill(header->pid, 0) && errno == ESRCH;
}

/* A process that was killed says nothing: then we do. */
static void file_watch(struct sn_fed_file *file)
{
	if (!file->is_ours || file->header->state != SN_DATA_RUNNING)
		return;
	if (is_gone(file->header))
		sn_watch_end(&file->watch, file->fd, file->header, sn_clock_ns(CLOCK_MONOTONIC));
	else
		sn_watch_look(&file->watch, file->fd, file->header, sn_clock_ns(CLOCK_MONOTONIC));
}

void sn_feeder_end(struct sn_feeder *feeder, int32_t pid)
{
	files_find(feeder);
	for (size_t i = 0; i < feeder->files.count; i++) {
		struct sn_fed_file *file = &feeder->files.items[i];

		if (file->header && file->is_ours && file->header->pid == pid &&
		    file->header->state == SN_DATA_RUNNING)
			sn_watch_end(&file->watch, file->fd, file->header,
				     sn_clock_ns(CLOCK_MONOTONIC));
	}
}

/* Chunks drawn since the last look. */
static uint32_t file_feed(struct sn_feeder *feeder, struct sn_fed_file *file)
{
	struct sn_data_header *header = file->header;
	uint32_t state, next, backed, grown, wanted, most;

	if (!header)
		return 0;
	state = atomic_load_explicit(&header->state, memory_order_acquire);
	next = header->next_chunk;
	backed = header->chunks_backed;
	grown = next - file->seen_chunks;
	file->seen_chunks = next;
	/* An exec may fail and the process go on: only its pid tells its end for certain. */
	file_watch(file);
	if (state != SN_DATA_STARTING && state != SN_DATA_RUNNING && is_gone(header)) {
		file_let_go(feeder, file);
		return 0;
	}
	wanted = next + SN_DATA_CHUNKS_AHEAD;
	most = header->chunks_max && header->chunks_max < CHUNKS_MOST ? header->chunks_max
								      : CHUNKS_MOST;
	if (wanted > most)
		wanted = most;
	if (feeder->is_scarce || wanted > most - most / SCARCE_PART)
		atomic_store_explicit(&header->is_space_scarce, 1, memory_order_relaxed);
	/* Backing begins when some of the first are used: most processes never need more. */
	if (backed && !file->is_full && next >= SN_DATA_CHUNKS_FIRST / 16 &&
	    wanted > backed + SN_DATA_CHUNKS_AHEAD / 4)
		file_back(feeder, file, wanted);
	return grown;
}

void sn_feeder_feed(struct sn_feeder *feeder)
{
	uint32_t grown = 0;

	/* The notice comes when a file is made, which may be long before its header is written. */
	if (folder_has_changed(feeder) || feeder->has_unready)
		files_find(feeder);
	feeder->unready_looks = feeder->has_unready ? feeder->unready_looks + 1 : 0;
	if (feeder->has_unready && feeder->unready_looks < UNREADY_FAST_LOOKS)
		grown = FAST_GROWTH_CHUNKS;
	for (size_t i = 0; i < feeder->files.count; i++)
		grown += file_feed(feeder, &feeder->files.items[i]);
	if (grown >= FAST_GROWTH_CHUNKS)
		feeder->wait_ms = WAIT_LEAST_MS;
	else if (feeder->wait_ms < WAIT_MOST_MS)
		feeder->wait_ms++;
}

void sn_feeder_pause(struct sn_feeder *feeder, bool is_paused)
{
	feeder->has_pause = true;
	feeder->is_paused = is_paused;
	files_find(feeder);
	for (size_t i = 0; i < feeder->files.count; i++)
		if (feeder->files.items[i].header)
			pause_set(feeder->files.items[i].header, is_paused);
}

void sn_feeder_packet(struct sn_feeder *feeder, enum sn_packet_kind kind)
{
	files_find(feeder);
	for (size_t i = 0; i < feeder->files.count; i++) {
		struct sn_fed_file *file = &feeder->files.items[i];

		if (file->header && file->is_ours && file->header->state == SN_DATA_RUNNING)
			sn_watch_packet(&file->watch, file->fd, file->header,
					sn_clock_ns(CLOCK_MONOTONIC), kind);
	}
}

size_t sn_feeder_running_count(struct sn_feeder *feeder)
{
	size_t running = 0, forked = 0, begun = 0;

	files_find(feeder);
	for (size_t i = 0; i < feeder->files.count; i++) {
		struct sn_fed_file *file = &feeder->files.items[i];
		struct sn_data_header *header = file->header;

		if (header)
			file->children_forked = header->children_forked;
		forked += file->children_forked;
		begun += file->is_of_fork;
		running += header && header->state <= SN_DATA_RUNNING &&
			   (!kill(header->pid, 0) || errno == EPERM);
	}
	return running + (forked > begun ? forked - begun : 0);
}

static int names_compare(const void *a, const void *b)
{
	return strverscmp(((const struct sn_fed_file *)a)->name,
			  ((const struct sn_fed_file *)b)->name);
}

/* Measures what has not been measured yet, and matters to this process. */
static void cost_measure(struct sn_cost *cost, const struct sn_data_header *header,
			 uint64_t signals)
{
	uint64_t cpu_ns = (uint64_t)(header->end_user_ns + header->end_system_ns);

	if (signals >= SIGNALS_WORTH_MEASURING && !cost->signal_ns)
		cost->signal_ns = sn_cost_of_signal();
	if (header->kernel_interrupts >= SIGNALS_WORTH_MEASURING && !cost->interrupt_ns)
		cost->interrupt_ns = sn_cost_of_interrupt();
	if (header->switch_count >= SWITCHES_WORTH_MEASURING && !cost->switch_ns &&
	    header->switch_count * SWITCH_MOST_NS > cpu_ns / SWITCHES_PART)
		sn_cost_of_switch(cost);
	if (header->timed_calls >= CALLS_WORTH_MEASURING && !cost->timing_ns)
		cost->timing_ns = sn_cost_of_timing();
}

/* What the runtime cannot see of its own cost (wire/data.h, overhead_ns), and how far each part may
 * be off (docs/method/sampling.md). */
static void overhead_complete(struct sn_feeder *feeder, struct sn_data_header *header)
{
	struct sn_cost *cost = &feeder->cost;
	uint64_t signals = header->handler_count + header->lost[SN_LOSS_REENTRY];

	cost_measure(cost, header, signals);
	const struct {
		uint64_t ns;
		unsigned doubt_percent;
	} parts[] = {
		{ signals * cost->signal_ns,
		  header->mechanism == SN_MECHANISM_PERF_RING ? DOUBT_INTERRUPTS : DOUBT_SIGNALS },
		{ header->kernel_interrupts * cost->interrupt_ns, DOUBT_INTERRUPTS },
		{ header->switch_count * (cost->switch_ns ? cost->switch_ns : SWITCH_NS),
		  DOUBT_SWITCHES },
		{ header->switch_after_count *
			  (cost->switch_ns ? cost->switch_after_ns : SWITCH_AFTER_NS),
		  DOUBT_SWITCHES },
		{ header->timed_calls * cost->timing_ns, DOUBT_CALLS },
		{ header->trace_ticks
			  ? (uint64_t)((double)header->trace_ticks / sn_cost_ticks_per_ns(cost))
			  : 0,
		  DOUBT_TRACES },
	};
	uint64_t seen_ns = header->overhead_ns - header->lock_samples_ns, doubt = 0;

	doubt = seen_ns * DOUBT_SEEN + header->lock_samples_ns * DOUBT_LOCKS;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		header->overhead_ns += parts[i].ns;
		doubt += parts[i].ns * parts[i].doubt_percent;
	}
	header->overhead_doubt_ns = doubt / 100;
}

static sn_status file_append(struct sn_feeder *feeder, const char *name, FILE *out, uint64_t *bytes,
			     struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_view view = { 0 };
	size_t used;
	sn_status status;

	sn_text_addf(&path, "%s/%s", feeder->folder, name);
	status = sn_file_map(path.chars, &view, err);
	if (status == SN_OK && view.is_mapped &&
	    mprotect((void *)(uintptr_t)view.bytes, view.length, PROT_READ | PROT_WRITE))
		status = sn_error_errno(err, "cannot change the copy of '%s'", path.chars);
	sn_text_free(&path);
	if (status != SN_OK) {
		sn_file_unmap(&view);
		return status;
	}
	/* pages that change become ours alone; the others are never in memory twice */
	used = sn_data_used_bytes(view.bytes, view.length);
	sn_redact_data((uint8_t *)(uintptr_t)view.bytes, used);
	if (used >= SN_DATA_HEADER_BYTES)
		overhead_complete(feeder, (struct sn_data_header *)(uintptr_t)view.bytes);
	fwrite(view.bytes, 1, used, out);
	sn_file_unmap(&view);
	*bytes += used;
	return SN_OK;
}

sn_status sn_feeder_gather(struct sn_feeder *feeder, const char *path, uint64_t *bytes,
			   struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status;

	files_find(feeder);
	for (size_t i = 0; i < feeder->files.count; i++) {
		if (feeder->files.items[i].header)
			file_watch(&feeder->files.items[i]);
		file_let_go(feeder, &feeder->files.items[i]);
	}
	if (feeder->files.count)
		qsort(feeder->files.items, feeder->files.count, sizeof(*feeder->files.items),
		      names_compare);
	status = sn_file_writer_open(&writer, path, err);
	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < feeder->files.count && status == SN_OK; i++)
		status = file_append(feeder, feeder->files.items[i].name, writer.out, bytes, err);
	if (status != SN_OK) {
		sn_file_writer_abandon(&writer);
		return status;
	}
	status = sn_file_writer_commit(&writer, err);
	for (size_t i = 0; i < feeder->files.count && status == SN_OK; i++)
		unlinkat(feeder->folder_fd, feeder->files.items[i].name, 0);
	return status;
}

void sn_feeder_close(struct sn_feeder *feeder)
{
	for (size_t i = 0; i < feeder->files.count; i++) {
		file_let_go(feeder, &feeder->files.items[i]);
		free(feeder->files.items[i].name);
	}
	sn_vec_free(&feeder->files);
	if (feeder->notify_fd >= 0)
		close(feeder->notify_fd);
	if (feeder->folder_fd >= 0)
		close(feeder->folder_fd);
	free(feeder->folder);
}
