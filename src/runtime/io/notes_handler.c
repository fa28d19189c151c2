/* Entries of input and output, names of files, and what the kernel has counted. */
#include "runtime/io/io.h"

#include <errno.h>
#include <fcntl.h>

struct sn_io_state *sn_io_state;

/* Between looks at the kernel's account, 0.1 s or so, and between readings of both clocks. */
static const uint64_t account_gap_ticks = 1u << 28, time_gap_ticks = 1u << 22;

enum { FILES_FULL = SN_IO_FILES / 4 * 3, FILE_PROBES = 64, NUMBER_BITS = 24 };
/* Calls, a prime. They cost from 0.1 to 10 us (a walk through a deep stack, a file that is new), and there are few of them. */
enum { MEASURED_EVERY = 7 };

/* ---- files ---- */

static struct sn_io_descriptor *descriptor_of(int fd)
{
	return fd >= 0 && fd < SN_IO_DESCRIPTORS ? &sn_io_state->descriptors[fd] : NULL;
}

/* FNV-1a, mixed; the lower bits are left for the number. */
static uint64_t hash_name(const char *name, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3ULL;
	hash ^= hash >> 32;
	return (hash * 0xd6e8feb86659fd93ULL) >> NUMBER_BITS << NUMBER_BITS;
}

static void write_name(struct sn_thread *self, struct sn_entry_stream *stream, uint32_t number,
		       const char *name, size_t bytes)
{
	uint32_t entries = 1 + (uint32_t)((bytes + SN_ENTRY_BYTES - 1) / SN_ENTRY_BYTES);
	struct sn_io_entry entry = { .type = SN_IO_NAME, .file = number, .calls = bytes };
	uint8_t *at = sn_entries_reserve(stream, SN_TRACE_IO, self, entries * SN_ENTRY_BYTES);

	if (!at)
		return;
	memset(at, 0, entries * SN_ENTRY_BYTES);
	memcpy(at, &entry, sizeof entry);
	memcpy(at + SN_ENTRY_BYTES, name, bytes);
	sn_trace_commit(&stream->writer, at + entries * SN_ENTRY_BYTES);
}

/* The number of a file of this name, which is written if it is new. 0: there are too many. */
static uint32_t number_of(struct sn_thread *self, struct sn_entry_stream *stream, const char *name,
			  size_t bytes)
{
	uint64_t hash = hash_name(name, bytes);

	for (uint32_t probe = 0; probe < FILE_PROBES; probe++) {
		_Atomic uint64_t *place =
			&sn_io_state->files[((hash >> 40) + probe) & (SN_IO_FILES - 1)];
		uint64_t is = atomic_load_explicit(place, memory_order_relaxed);
		if (!is) {
			uint32_t number = atomic_fetch_add_explicit(&sn_io_state->next_file, 1,
								    memory_order_relaxed) +
					  1;
			if (number >= FILES_FULL)
				return 0;
			if (atomic_compare_exchange_strong(place, &is, hash | number)) {
				write_name(self, stream, number, name, bytes);
				return number;
			}
		}
		if (is >> NUMBER_BITS << NUMBER_BITS == hash)
			return (uint32_t)(is & ((1u << NUMBER_BITS) - 1));
	}
	return 0;
}

static void put_number(char *at, unsigned number)
{
	char digits[12];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*at++ = digits[--count];
	*at = '\0';
}

/* Asks the kernel. */
static uint32_t learn(struct sn_thread *self, struct sn_entry_stream *stream, int fd)
{
	struct sn_io_thread *io = sn_io_of(self);
	char *name = io->names[stream != io->entries.streams];
	char link[32] = "/proc/self/fd/";

	if (fd < 0 || sn_state->is_sealed)
		return 0;
	put_number(link + 14, (unsigned)fd);
	long bytes = SYS(readlink, link, name, SN_IO_NAME_BYTES);
	return bytes > 0 ? number_of(self, stream, name, (size_t)bytes) : 0;
}

static uint32_t file_of(struct sn_thread *self, struct sn_entry_stream *stream, int fd)
{
	struct sn_io_descriptor *descriptor = descriptor_of(fd);
	uint32_t file = descriptor ? descriptor->file : 0;

	if (__builtin_expect(file == 0, 0)) {
		file = learn(self, stream, fd);
		if (descriptor)
			descriptor->file = file;
	}
	return file;
}

static void clear(struct sn_io_descriptor *descriptor)
{
	descriptor->file = 0;
	descriptor->has_moved = 0;
	descriptor->end = 0;
}

uint32_t sn_io_forget(const uint64_t *frame, int fd)
{
	struct sn_thread *self = sn_self_in_call();
	struct sn_io_descriptor *descriptor = descriptor_of(fd);
	uint32_t file = 0;

	if (self && frame) {
		struct sn_entry_stream *stream =
			sn_entries_hold(self, &sn_io_of(self)->entries, SN_TRACE_IO, frame);
		if (stream) {
			file = file_of(self, stream, fd);
			sn_entries_let_go(stream);
		}
	}
	if (descriptor)
		clear(descriptor);
	return file;
}

void sn_io_forget_all(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < SN_IO_DESCRIPTORS; fd++)
		if (sn_io_state->descriptors[fd].file)
			clear(&sn_io_state->descriptors[fd]);
}

void sn_io_note_move(int fd)
{
	struct sn_io_descriptor *descriptor = descriptor_of(fd);

	if (descriptor)
		descriptor->has_moved = 1;
}

/* Whether a transfer begins where the one before it on this descriptor has ended. */
static bool is_sequential(const struct sn_io_call *call)
{
	struct sn_io_descriptor *descriptor = descriptor_of(call->fd);

	if (!descriptor)
		return true;
	if (call->offset >= 0) {
		bool is_so = descriptor->end == (uint64_t)call->offset;
		descriptor->end = (uint64_t)call->offset + call->bytes;
		return is_so;
	}
	return !descriptor->has_moved || atomic_exchange(&descriptor->has_moved, 0) == 0;
}

/* ---- the kernel's account ---- */

/* What follows a line's name in the text of /proc/self/io. */
static uint64_t number_after(const char *text, const char *name, size_t length)
{
	const char *at = text;

	while (at && strncmp(at, name, length) != 0) {
		at = strchr(at, '\n');
		at = at && at[1] ? at + 1 : NULL;
	}
	uint64_t number = 0;
	for (at = at ? at + length : ""; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

bool sn_io_kernel_account(uint64_t *read, uint64_t *written)
{
	char text[512];
	long fd, bytes;

	if (sn_state->is_sealed)
		return false;
	fd = SYS(openat, AT_FDCWD, "/proc/self/io", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = SYS(read, fd, text, sizeof text - 1);
	SYS(close, fd);
	if (bytes <= 0)
		return false;
	text[bytes] = '\0';
	/* this reading is not yet in the account */
	*read = number_after(text, "rchar: ", 7) - atomic_fetch_add_explicit(&sn_io_state->own_read,
									     (uint64_t)bytes,
									     memory_order_relaxed);
	*written = number_after(text, "wchar: ", 7);
	return true;
}

/* What streams still hold when the image ends: libc writes it after us. */
#pragma weak _IO_list_all
extern FILE *_IO_list_all;

static uint64_t unwritten_bytes(void)
{
	uint64_t bytes = 0;

	if (!&_IO_list_all)
		return 0;
	for (const FILE *f = _IO_list_all; f; f = f->_chain)
		if (f->_fileno >= 0 && f->_IO_write_ptr > f->_IO_write_base)
			bytes += (uint64_t)(f->_IO_write_ptr - f->_IO_write_base);
	return bytes;
}

static void put_account(struct sn_thread *self, struct sn_entry_stream *stream,
			uint64_t to_be_written, bool is_last)
{
	struct sn_io_entry entry = { .type = SN_IO_ACCOUNT, .calls = is_last };

	if (!sn_io_kernel_account(&entry.bytes, &entry.ticks))
		return;
	entry.bytes -= sn_io_state->start_read;
	entry.ticks += to_be_written - sn_io_state->start_written;
	sn_entries_append(stream, SN_TRACE_IO, self, &entry);
}

static void account_if_due(struct sn_thread *self, struct sn_entry_stream *stream, uint64_t tsc)
{
	uint64_t due = atomic_load_explicit(&sn_io_state->next_account_tsc, memory_order_relaxed);

	if (tsc >= due && atomic_compare_exchange_strong(&sn_io_state->next_account_tsc, &due,
							 tsc + account_gap_ticks))
		put_account(self, stream, 0, false);
}

/* ---- counts ---- */

static inline bool is_same(const struct sn_io_entry *a, const struct sn_io_entry *b)
{
	return a->type == b->type && a->operation == b->operation &&
	       a->size_class == b->size_class && a->path == b->path && a->file == b->file &&
	       a->error == b->error && a->period == b->period;
}

static struct sn_io_entry *find(struct sn_entry_stream *stream, const struct sn_io_entry *entry,
				uint16_t **place)
{
	uint64_t key = (uint64_t)entry->path << 32 ^ (uint64_t)entry->file << 12 ^
		       (uint64_t)entry->operation << 6 ^ entry->size_class ^
		       (uint64_t)entry->error << 40 ^ (uint64_t)entry->period << 50;
	uint16_t *first =
		&stream->index[((key * 0x9e3779b97f4a7c15ULL >> 40) % SN_ENTRY_INDEX) & ~1u];

	*place = first;
	if (!stream->writer.piece)
		return NULL;
	for (unsigned way = 0; way < 2; way++) {
		struct sn_io_entry *there = sn_entry_at(stream, first[way]);
		if (first[way] && is_same(there, entry))
			return there;
		if (!first[way])
			*place = &first[way];
	}
	return NULL;
}

static void add(struct sn_thread *self, struct sn_entry_stream *stream,
		const struct sn_io_entry *fresh)
{
	uint16_t *place;
	struct sn_io_entry *entry = find(stream, fresh, &place);

	if (!entry) {
		entry = sn_entries_append(stream, SN_TRACE_IO, self, fresh);
		if (entry)
			*place = sn_entry_number(stream, entry);
		return;
	}
	sn_entry_add(&entry->calls, fresh->calls);
	sn_entry_add(&entry->bytes, fresh->bytes);
	sn_entry_add(&entry->ticks, fresh->ticks);
	sn_entry_add(&entry->sequential, fresh->sequential);
}

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (length < SN_IO_NAME_BYTES - 1 && text[length])
		length++;
	return length;
}

/* ---- which calls are met ---- */

/* (chosen) 25,000 a second of CPU time, of 0.1 to 0.2 us each: less than half a percent. */
enum { DRAW_LOOK = 256 };
static const int64_t look_ns = DRAW_LOOK * 40000ll;
/* What a call takes that is not met, 8 to 10 ns at 2.6 GHz with sn_trace_whole_tenths: writes of one byte to /dev/null, the fastest
 * of 40 times 100,000, with and without --io=sample (AMD Zen 5). */
enum { SKIP_TICKS = 16 };

static uint32_t draw_below(struct sn_io_draw *draw, uint8_t period)
{
	/* xorshift64*: Marsaglia 2003, Vigna 2016 */
	draw->random ^= draw->random >> 12;
	draw->random ^= draw->random << 25;
	draw->random ^= draw->random >> 27;
	return (uint32_t)((draw->random * 0x2545f4914f6cdd1dULL >> 32) & ((1u << period) - 1));
}

/* Calls that come faster or slower than before have another period: whatever it is, it is known before its calls come, so what
 * they stand for is right on average. */
static void draw_adapt(struct sn_io_draw *draw)
{
	int64_t now_ns = sn_thread_cpu_ns(0), ns = now_ns - draw->begin_ns;

	draw->met = 0;
	draw->begin_ns = now_ns;
	if (now_ns <= 0 || ns <= 0)
		return;
	for (; ns < look_ns / 2 && draw->period < SN_IO_PERIOD_MOST; ns *= 2)
		draw->period++;
	for (; ns > look_ns * 2 && draw->period > 0; ns /= 2)
		draw->period--;
}

/* Of a call that is met: for how many it stands, as a logarithm; and which is the next. */
static uint8_t draw_next(struct sn_io_draw *draw, uint64_t tsc)
{
	uint8_t period = draw->period;

	if (!draw->random) {
		draw->begin_ns = sn_state->is_sealed ? 0 : sn_thread_cpu_ns(0);
		draw->random = tsc | 1;
	}
	if (++draw->met >= DRAW_LOOK && !sn_state->is_sealed)
		draw_adapt(draw);
	uint32_t at = draw_below(draw, draw->period);
	draw->skips = draw->rest + at;
	draw->rest = (1u << draw->period) - 1 - at;
	return period;
}

static bool is_skipped(struct sn_io_draw *draw)
{
	if (!draw->skips)
		return false;
	draw->skips--;
	return true;
}

void sn_io_note(struct sn_io_call *call)
{
	struct sn_thread *self = sn_self_in_call();

	if (sn_trace_is_off(SN_TRACE_IO))
		return;
	if (!self) {
		sn_trace_lose(SN_TRACE_IO);
		return;
	}
	struct sn_io_thread *io = sn_io_of(self);
	bool is_in_turn = is_sequential(call);
	if (is_skipped(&io->draw))
		return;
	struct sn_entry_stream *stream =
		sn_entries_hold(self, &io->entries, SN_TRACE_IO, call->frame);
	if (!stream)
		return;
	uint64_t tsc = __builtin_ia32_rdtsc();
	uint8_t period = sn_config.settings.io == SN_IO_SAMPLE ? draw_next(&io->draw, tsc) : 0;
	uint64_t begin_tsc = sn_entries_measure(stream, MEASURED_EVERY);
	if (!call->file && call->path)
		call->file = number_of(self, stream, call->path, length_of(call->path));
	else if (!call->file)
		call->file = file_of(self, stream, call->fd);
	struct sn_io_entry entry = {
		.type = SN_IO_COUNT,
		.operation = call->operation,
		.size_class = sn_io_size_class(call->bytes),
		.path = sn_entries_path(self, &io->entries, stream, call->frame),
		.file = call->file,
		.error = (uint32_t)call->error,
		.period = period,
		.calls = 1ull << period,
		.bytes = call->bytes << period,
		.ticks = call->ticks << period,
		.sequential = (uint64_t)is_in_turn << period,
	};
	add(self, stream, &entry);
	account_if_due(self, stream, tsc);
	if (tsc - stream->time_tsc > time_gap_ticks && stream->writer.piece)
		sn_entries_put_time(stream);
	uint64_t stands_for = sn_trace_stands_for(stream->unmeasured, MEASURED_EVERY);
	sn_entries_measured(SN_TRACE_IO, begin_tsc, stands_for);
	if (begin_tsc && period)
		sn_trace_count_cost(SN_TRACE_IO, SKIP_TICKS, stands_for * ((1ull << period) - 1));
	sn_entries_let_go(stream);
}

void sn_io_end_thread(struct sn_thread *self, int64_t now_ns)
{
	(void)now_ns;
	if (sn_io_is_on())
		sn_entries_end_thread(&sn_io_of(self)->entries);
}

void sn_io_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		   bool is_ending)
{
	(void)writer, (void)now_ns;
	if (!sn_io_is_on() || thread != sn_self)
		return;
	struct sn_entries *entries = &sn_io_of(thread)->entries;
	if (!is_ending && !entries->streams[0].holder)
		put_account(thread, &entries->streams[0], unwritten_bytes(), true);
	sn_entries_account(thread, entries);
}

/* ---- calls that calls/ wraps ---- */

#define SAME(function, operation)                                                                  \
	case function:                                                                             \
		return SN_IO_##operation;

/* What a system call by its number is; SN_IO_OPERATION_COUNT: none of ours. */
static enum sn_io_operation operation_of_number(long number)
{
	switch (number) {
		SAME(SYS_read, READ)
		SAME(SYS_write, WRITE)
		SAME(SYS_readv, READV)
		SAME(SYS_writev, WRITEV)
		SAME(SYS_pread64, PREAD)
		SAME(SYS_pwrite64, PWRITE)
		SAME(SYS_recvfrom, RECVFROM)
		SAME(SYS_recvmsg, RECVMSG)
		SAME(SYS_sendto, SENDTO)
		SAME(SYS_sendmsg, SENDMSG)
		SAME(SYS_accept, ACCEPT)
		SAME(SYS_accept4, ACCEPT4)
		SAME(SYS_connect, CONNECT)
		SAME(SYS_fsync, FSYNC)
		SAME(SYS_fdatasync, FDATASYNC)
		SAME(SYS_flock, FLOCK)
	default:
		return SN_IO_OPERATION_COUNT;
	}
}

static enum sn_io_operation operation_of(const struct sn_call *call)
{
	switch (call->which) {
	case SN_CALL_NAME_read:
		SAME(SN_CALL_NAME___read_chk, READ)
		SAME(SN_CALL_NAME_write, WRITE)
		SAME(SN_CALL_NAME_readv, READV)
		SAME(SN_CALL_NAME_writev, WRITEV)
	case SN_CALL_NAME_pread64:
		SAME(SN_CALL_NAME___pread64_chk, PREAD)
		SAME(SN_CALL_NAME_pwrite64, PWRITE)
	case SN_CALL_NAME_recv:
		SAME(SN_CALL_NAME___recv_chk, RECV)
	case SN_CALL_NAME_recvfrom:
		SAME(SN_CALL_NAME___recvfrom_chk, RECVFROM)
		SAME(SN_CALL_NAME_recvmsg, RECVMSG)
		SAME(SN_CALL_NAME_send, SEND)
		SAME(SN_CALL_NAME_sendto, SENDTO)
		SAME(SN_CALL_NAME_sendmsg, SENDMSG)
		SAME(SN_CALL_NAME_accept, ACCEPT)
		SAME(SN_CALL_NAME_accept4, ACCEPT4)
		SAME(SN_CALL_NAME_connect, CONNECT)
		SAME(SN_CALL_NAME_fsync, FSYNC)
		SAME(SN_CALL_NAME_fdatasync, FDATASYNC)
		SAME(SN_CALL_NAME_flock, FLOCK)
	case SN_CALL_NAME_syscall:
		return operation_of_number(call->words[0]);
	default:
		return SN_IO_OPERATION_COUNT;
	}
}

void sn_io_after_call(struct sn_thread *self, const struct sn_call *call)
{
	enum sn_io_operation operation = operation_of(call);
	const long *words = call->which == SN_CALL_NAME_syscall ? call->words + 1 : call->words;
	int error = errno;

	(void)self;
	if (operation == SN_IO_OPERATION_COUNT || !sn_io_is_on())
		return;
	bool moves_bytes = operation <= SN_IO_SENDMSG;
	/* results of int are in the lower half */
	long result = moves_bytes ? call->result : (int)call->result;
	if ((operation == SN_IO_ACCEPT || operation == SN_IO_ACCEPT4) && result >= 0)
		sn_io_forget(NULL, (int)result);
	struct sn_io_call ours = {
		.frame = call->frame,
		.ticks = call->ticks,
		.bytes = moves_bytes && result > 0 ? (uint64_t)result : 0,
		.offset = operation == SN_IO_PREAD || operation == SN_IO_PWRITE ? words[3] : -1,
		.fd = (int)words[0],
		.error = result < 0 ? error : 0,
		.operation = (uint8_t)operation,
	};
	sn_io_note(&ours);
	errno = error;
}
