/*
 * The launcher's side of a trace: backs slots with space, copies full ones to disk and gives them
 * back. What the disk does not take closes all traces: from then on the runtime counts what it drops.
 */
#include "record/drain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "record/piece_events.h"
#include "wire/trace.h"

enum {
	LOOK_LEAST_US = 500, /* between looks while much comes ... */
	LOOK_MOST_US = 4000, /* ... and while nothing does */
	BACK_STEP = 256,     /* slots backed at a time: a millisecond's work */
	FREE_WANTED = 1024,  /* slots: 16 MB, which 200 MB a second fill in 80 ms */
	BUFFER_BYTES = 1 << 20,
	KEPT_ACCOUNTS = 4, /* (chosen) room on disk for accounts that a full disk would not take */
	MAP_BYTES = SN_TRACE_HEADER_BYTES + SN_TRACE_SLOTS * SN_TRACE_SLOT_BYTES,
};

struct trace {
	char *name;
	int fd;
	struct sn_trace_header *header; /* mapped; NULL: its process has ended and all was taken */
};

struct sn_drain {
	int folder_fd, out_fd;
	char *path;
	uint64_t max_bytes;
	uint64_t written_bytes;
	int failed_errno; /* the disk took no more; 0: it took all */
	bool is_limited;  /* max_bytes was reached */
	bool is_closed;	  /* nothing more is written */
	bool has_room;	  /* for KEPT_ACCOUNTS accounts, at the file's begin */
	uint32_t kept;	  /* accounts that lie there */
	uint8_t *buffer;
	size_t buffered;
	uint64_t namespace_inode;
	pthread_t thread;
	_Atomic bool is_over;
	SN_VEC(struct trace) traces;
};

/* ---- the file ---- */

static void close_all(struct sn_drain *drain)
{
	drain->is_closed = true;
	for (size_t i = 0; i < drain->traces.count; i++)
		if (drain->traces.items[i].header)
			drain->traces.items[i].header->is_closed = 1;
}

/* Events that could not be written are lost, each of them counted. */
static void events_lose(struct trace *trace, const struct sn_trace_piece *piece, uint32_t committed)
{
	/* sums of the heap count as the heap */
	uint32_t kind = piece->kind == SN_TRACE_HEAP_SUMS ? SN_TRACE_HEAP : piece->kind;

	if (kind < SN_TRACE_KINDS)
		trace->header->lost[kind] += sn_piece_events(piece, committed);
}

static struct trace *trace_of(struct sn_drain *drain, const struct sn_trace_piece *piece)
{
	for (size_t i = 0; i < drain->traces.count; i++) {
		struct trace *trace = &drain->traces.items[i];

		if (trace->header && trace->header->pid == piece->pid &&
		    trace->header->sequence == piece->sequence)
			return trace;
	}
	return NULL;
}

/* The disk took `done` bytes of the buffer: whole pieces stay, others are lost. Gives the bytes of those that stay. */
static size_t buffer_lose(struct sn_drain *drain, size_t done)
{
	size_t at = 0, whole = 0;

	while (at < drain->buffered) {
		const struct sn_trace_piece *piece = (const void *)(drain->buffer + at);
		struct trace *trace = trace_of(drain, piece);
		uint32_t committed = piece->committed_bytes;

		at += sn_trace_disk_bytes(committed);
		if (at <= done)
			whole = at;
		else if (trace)
			events_lose(trace, piece, committed);
	}
	return whole;
}

static void buffer_flush(struct sn_drain *drain)
{
	size_t done = 0;

	while (done < drain->buffered && !drain->is_closed) {
		ssize_t written =
			pwrite(drain->out_fd, drain->buffer + done, drain->buffered - done,
			       (off_t)(drain->written_bytes + done));

		if (written >= 0) {
			done += (size_t)written;
		} else if (errno != EINTR) {
			drain->failed_errno = errno;
			drain->written_bytes += buffer_lose(drain, done);
			/* a reader shall find whole pieces only */
			if (ftruncate(drain->out_fd, (off_t)drain->written_bytes))
				drain->failed_errno = errno;
			close_all(drain);
		}
	}
	if (!drain->is_closed)
		drain->written_bytes += drain->buffered;
	drain->buffered = 0;
}

static bool piece_write(struct sn_drain *drain, const void *piece, uint32_t bytes)
{
	static const uint8_t zeros[8];
	uint32_t padded = sn_trace_disk_bytes(bytes);

	if (drain->max_bytes &&
	    drain->written_bytes + drain->buffered + padded > drain->max_bytes) {
		drain->is_limited = true;
		buffer_flush(drain);
		close_all(drain);
	}
	if (drain->is_closed)
		return false;
	if (drain->buffered + padded > BUFFER_BYTES)
		buffer_flush(drain);
	if (drain->is_closed)
		return false;
	memcpy(drain->buffer + drain->buffered, piece, bytes);
	memcpy(drain->buffer + drain->buffered + bytes, zeros, padded - bytes);
	drain->buffered += padded;
	return true;
}

/* ---- one trace ---- */

static struct sn_trace_piece *slot_of(const struct trace *trace, uint32_t index)
{
	return (void *)((uint8_t *)trace->header + sn_trace_slot_offset(index));
}

static bool piece_is_whole(const struct sn_trace_piece *piece, uint32_t committed)
{
	return piece->magic == SN_TRACE_PIECE_MAGIC && committed > sizeof(*piece) &&
	       committed <= SN_TRACE_SLOT_BYTES;
}

static void slot_take(struct sn_drain *drain, struct trace *trace, uint32_t index)
{
	const struct sn_trace_piece *piece = slot_of(trace, index);
	uint32_t committed = atomic_load_explicit(&piece->committed_bytes, memory_order_acquire);

	if (piece_is_whole(piece, committed) && !piece_write(drain, piece, committed))
		events_lose(trace, piece, committed);
}

static void slots_give_back(struct trace *trace, const uint32_t *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&trace->header->states[slots[i]], SN_TRACE_FREE,
				      memory_order_release);
	atomic_fetch_add_explicit(&trace->header->given_back, count, memory_order_release);
}

/* Slots that are full; of a process that is gone, those that it was writing to, too. A slot is free
 * again when its bytes are the kernel's. Gives how many were taken. */
static uint32_t slots_take(struct sn_drain *drain, struct trace *trace, bool is_gone,
			   uint32_t *free_count)
{
	enum { AT_ONCE = BUFFER_BYTES / SN_TRACE_SLOT_BYTES };
	uint32_t backed = trace->header->slots_backed, taken[AT_ONCE], count = 0, all = 0;

	*free_count = 0;
	for (uint32_t i = 0; i < backed && i < SN_TRACE_SLOTS; i++) {
		uint32_t state =
			atomic_load_explicit(&trace->header->states[i], memory_order_acquire);

		*free_count += state == SN_TRACE_FREE;
		if (state != SN_TRACE_FULL && !(state == SN_TRACE_OWNED && is_gone))
			continue;
		slot_take(drain, trace, i);
		taken[count++] = i;
		all++;
		if (count == AT_ONCE) {
			buffer_flush(drain);
			slots_give_back(trace, taken, count);
			count = 0;
		}
	}
	if (count) {
		buffer_flush(drain);
		slots_give_back(trace, taken, count);
	}
	return all;
}

static void slots_back(struct trace *trace, uint32_t free_count)
{
	uint32_t backed = trace->header->slots_backed, wanted = backed;

	/* most children of forks never need more than they begin with */
	if (free_count >= FREE_WANTED || free_count > backed - backed / 8)
		return;
	while (wanted < SN_TRACE_SLOTS && wanted - backed + free_count < FREE_WANTED) {
		uint32_t next =
			wanted + BACK_STEP < SN_TRACE_SLOTS ? wanted + BACK_STEP : SN_TRACE_SLOTS;

		if (fallocate(trace->fd, 0, (off_t)sn_trace_slot_offset(wanted),
			      (off_t)(next - wanted) * SN_TRACE_SLOT_BYTES))
			return; /* it makes do with what it has */
		wanted = next;
		atomic_store_explicit(&trace->header->slots_backed, wanted, memory_order_release);
	}
}

/* ---- accounts ---- */

static struct sn_trace_account account_of(const struct sn_trace_header *header)
{
	struct sn_trace_account account = {
		.piece = { .magic = SN_TRACE_PIECE_MAGIC,
			   .committed_bytes = sizeof(account),
			   .number = UINT64_MAX,
			   .kind = SN_TRACE_ACCOUNT },
	};

	if (!header)
		return account;
	account.piece.pid = header->pid;
	account.piece.sequence = header->sequence;
	account.piece.thread_index = header->kinds;
	for (int k = 0; k < SN_TRACE_KINDS; k++) {
		account.lost[k] = header->lost[k];
		account.ticks[k] = header->ticks[k];
	}
	return account;
}

/* Room for accounts, of which the disk may have none later: what was lost is to be told at the least. */
static void room_keep(struct sn_drain *drain)
{
	struct sn_trace_account none[KEPT_ACCOUNTS];

	for (int i = 0; i < KEPT_ACCOUNTS; i++)
		none[i] = account_of(NULL);
	if (pwrite(drain->out_fd, none, sizeof(none), 0) == (ssize_t)sizeof(none)) {
		drain->has_room = true;
		drain->written_bytes = sizeof(none);
	} else {
		drain->failed_errno = errno;
		close_all(drain);
		if (ftruncate(drain->out_fd, 0))
			drain->failed_errno = errno;
	}
}

/* Into the room that was kept. What the last one of many processes has lost stands for those after it, too. */
static void account_keep(struct sn_drain *drain, struct sn_trace_account account)
{
	struct sn_trace_account last;

	if (!drain->has_room)
		return;
	if (drain->kept == KEPT_ACCOUNTS) {
		drain->kept--;
		if (pread(drain->out_fd, &last, sizeof(last),
			  (off_t)(drain->kept * sizeof(account))) == (ssize_t)sizeof(last)) {
			for (int k = 0; k < SN_TRACE_KINDS; k++)
				last.lost[k] += account.lost[k];
			last.piece.thread_index |= account.piece.thread_index;
			account = last;
		}
	}
	if (pwrite(drain->out_fd, &account, sizeof(account),
		   (off_t)(drain->kept * sizeof(account))) == (ssize_t)sizeof(account))
		drain->kept++;
}

/* Also behind a trace that may not grow any more. */
static void account_write(struct sn_drain *drain, const struct trace *trace)
{
	struct sn_trace_account account = account_of(trace->header);

	if (!drain->failed_errno) {
		ssize_t written = pwrite(drain->out_fd, &account, sizeof(account),
					 (off_t)drain->written_bytes);

		if (written == (ssize_t)sizeof(account)) {
			drain->written_bytes += sizeof(account);
			return;
		}
		drain->failed_errno = written < 0 ? errno : ENOSPC;
		if (ftruncate(drain->out_fd, (off_t)drain->written_bytes))
			drain->failed_errno = errno;
		close_all(drain);
	}
	account_keep(drain, account);
}

static void trace_let_go(struct sn_drain *drain, struct trace *trace)
{
	trace->header->is_closed = 1; /* for one that still runs */
	account_write(drain, trace);
	munmap(trace->header, MAP_BYTES);
	close(trace->fd);
	trace->header = NULL;
	unlinkat(drain->folder_fd, trace->name, 0);
}

static bool is_gone(const struct sn_drain *drain, const struct sn_trace_header *header)
{
	return header->namespace_inode == drain->namespace_inode && kill(header->pid, 0) &&
	       errno == ESRCH;
}

/* ---- all of them ---- */

/* One that is only just being made has no header yet: it is found again at the next look. */
static void trace_add(struct sn_drain *drain, const char *name)
{
	struct trace trace = { .fd = openat(drain->folder_fd, name, O_RDWR | O_CLOEXEC) };
	void *mapped = MAP_FAILED;
	struct stat st;

	if (trace.fd < 0)
		return;
	if (!fstat(trace.fd, &st) && st.st_size >= SN_TRACE_HEADER_BYTES)
		mapped = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace.fd, 0);
	if (mapped == MAP_FAILED) {
		close(trace.fd);
		return;
	}
	trace.header = mapped;
	if (trace.header->magic != SN_TRACE_MAGIC || trace.header->version != SN_TRACE_VERSION) {
		munmap(mapped, MAP_BYTES);
		close(trace.fd);
		return;
	}
	trace.name = sn_strdup(name);
	if (!drain->has_room && !drain->is_closed)
		room_keep(drain);
	if (drain->is_closed)
		trace.header->is_closed = 1;
	sn_vec_push(&drain->traces, trace);
}

static void traces_find(struct sn_drain *drain)
{
	int fd = openat(drain->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (sn_ends_with(entry->d_name, ".trace") &&
		    !sn_vec_has_name(&drain->traces, entry->d_name))
			trace_add(drain, entry->d_name);
	if (stream)
		closedir(stream);
}

/* Gives how many slots were taken. */
static uint32_t look(struct sn_drain *drain, bool is_over)
{
	uint32_t taken = 0, free_count;

	traces_find(drain);
	for (size_t i = 0; i < drain->traces.count; i++) {
		struct trace *trace = &drain->traces.items[i];
		bool gone;

		if (!trace->header)
			continue;
		/* asked first: what a process wrote before it was gone is there afterwards */
		gone = is_over || is_gone(drain, trace->header);
		taken += slots_take(drain, trace, gone, &free_count);
		if (gone)
			trace_let_go(drain, trace);
		else
			slots_back(trace, free_count);
	}
	return taken;
}

static void *drain_run(void *argument)
{
	struct sn_drain *drain = argument;
	long wait_us = LOOK_LEAST_US;

	while (!drain->is_over) {
		struct timespec pause = { 0, wait_us * 1000 };

		if (look(drain, false))
			wait_us = LOOK_LEAST_US;
		else if (wait_us < LOOK_MOST_US)
			wait_us += LOOK_LEAST_US;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void drain_free(struct sn_drain *drain)
{
	for (size_t i = 0; i < drain->traces.count; i++)
		free(drain->traces.items[i].name);
	sn_vec_free(&drain->traces);
	if (drain->folder_fd >= 0)
		close(drain->folder_fd);
	if (drain->out_fd >= 0)
		close(drain->out_fd);
	free(drain->path);
	free(drain->buffer);
	free(drain);
}

static void warn(struct sn_launch *launch, const char *sentence)
{
	sn_vec_push(&launch->warnings, sn_arena_strdup(&launch->arena, sentence));
}

/* Also at once: who sees it can repeat the run before he reads figures that are too low. */
static void failure_tell(const struct sn_drain *drain, struct sn_launch *launch)
{
	const char *sentence = sn_arena_printf(&launch->arena,
					       "the trace could not be written on (%s): later "
					       "events are counted, and not kept",
					       strerror(drain->failed_errno));

	warn(launch, sentence);
	sn_warn("%s: %s", drain->path, sentence);
}

struct sn_drain *sn_drain_begin(struct sn_launch *launch, const char *experiment_path,
				uint64_t max_bytes, bool is_static)
{
	struct sn_drain *drain;
	struct sn_text path = { 0 };
	struct stat st;

	if (is_static) {
		warn(launch, "a static program cannot be traced: not even its calls");
		return NULL;
	}
	drain = sn_alloc_zeroed(1, sizeof(*drain));
	sn_text_addf(&path, "%s/%s.%d.trace", experiment_path, launch->host, (int)launch->pid);
	drain->max_bytes = max_bytes;
	drain->path = sn_text_take(&path);
	drain->buffer = sn_alloc(BUFFER_BYTES);
	drain->folder_fd = open(launch->live_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	drain->out_fd = open(drain->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (!stat("/proc/self/ns/pid", &st))
		drain->namespace_inode = st.st_ino;
	if (drain->folder_fd < 0 || drain->out_fd < 0 ||
	    pthread_create(&drain->thread, NULL, drain_run, drain)) {
		warn(launch,
		     sn_arena_printf(&launch->arena, "the trace '%s' could not be begun (%s)",
				     drain->path, strerror(errno)));
		drain_free(drain);
		return NULL;
	}
	return drain;
}

uint64_t sn_drain_end(struct sn_drain *drain, struct sn_launch *launch)
{
	uint64_t bytes;

	if (!drain)
		return 0;
	drain->is_over = true;
	pthread_join(drain->thread, NULL);
	look(drain, true);
	bytes = drain->written_bytes;
	if (drain->failed_errno)
		failure_tell(drain, launch);
	else if (drain->is_limited)
		warn(launch, "the limit of --max-size was reached by the trace: later events are "
			     "counted, and not kept");
	if (!bytes)
		unlink(drain->path);
	drain_free(drain);
	return bytes;
}
