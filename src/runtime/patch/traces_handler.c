/*
 * Windows of a trace: in some instances of a loop the copy that records runs, and what it has written
 * goes into the thread's file. Compiled for general registers only, like counts_handler.c.
 *
 * With --every all words of a window are written, and a thread waits a while for room in its file. Else a
 * window ends where the buffer is full, and there are as many as their budget allows, of time and bytes. A loop's first
 * instance in a thread has a window whatever others have spent of the time, as it may be its only one.
 *
 * When the launcher says that space is scarce, no window begins any more, and loops run as copies that only
 * count. An open window is cut; what its buffer holds is still written.
 */
#include "runtime/patch/patch.h"

#include "wire/accesses.h"

enum {
	PERCENT = 100,
	GAP_PARTS = 4,		  /* of a second: longer without an instance, the thread was away */
	BYTES_A_SECOND = 2 << 20, /* of a thread's work */
	BYTES_FIRST = 1 << 20,	  /* that it has from the beginning */
	WORDS_IN_BUDGET = 1 << 15, /* of a window */
	COUNTDOWN_MAX = 1 << 20,
	COUNTDOWN_OVER = 1 << 30, /* where nothing is recorded any more */
	CHUNKS_LEFT = 16,	  /* of the file, for all else; a child begins with 32 */
	WAIT_NS = 1000000,	  /* for room in the file */
	WAITS_MAX = 3000,	  /* without any: nobody makes room */
};

static bool is_whole(void)
{
	return sn_patches.every != 0;
}

/* The launcher gives no more space. */
static bool is_over(void)
{
	return atomic_load_explicit(&sn_header()->is_space_scarce, memory_order_relaxed) != 0;
}

static uint64_t room_words(void)
{
	return is_whole() ? SN_TRACE_WORDS : WORDS_IN_BUDGET;
}

/* ---- budget ---- */

static void note_work(struct sn_trace_context *context)
{
	uint64_t now = __builtin_ia32_rdtsc(), gap = now - context->last_tsc;
	uint64_t most = sn_patches.cycles_a_second / GAP_PARTS;

	context->worked_cycles += gap < most ? gap : most;
	context->last_tsc = now;
}

/* Cycles of work until a window of this loop is in its budget; 0: it is. */
static uint64_t due_cycles(const struct sn_trace_context *context,
			   const struct sn_record_instances *record)
{
	uint64_t time = 0, bytes = 0, due;

	if (sn_patches.budget_percent && sn_instances_entries(record) > 1)
		time = context->spent_cycles / sn_patches.budget_percent * PERCENT;
	if (context->bytes > BYTES_FIRST)
		bytes = (context->bytes - BYTES_FIRST) / 1024 *
			(sn_patches.cycles_a_second / (BYTES_A_SECOND / 1024));
	due = time > bytes ? time : bytes;
	return due > context->worked_cycles ? due - context->worked_cycles : 0;
}

uint32_t sn_trace_countdown(const struct sn_record_instances *record)
{
	struct sn_trace_context *context = sn_patch_words.traces;
	uint64_t due, mean, wait;

	if (is_over())
		return COUNTDOWN_OVER;
	if (record->every)
		return record->every;
	if (!context || !sn_instances_entries(record))
		return 1;
	note_work(context);
	due = due_cycles(context, record);
	mean = context->worked_cycles / sn_instances_entries(record) + 1;
	wait = due / mean + 1;
	return wait > COUNTDOWN_MAX ? COUNTDOWN_MAX : (uint32_t)wait;
}

/* ---- writing ---- */

/* Room for a record, in a chunk that lies behind the thread's others. The last chunks of the file are
 * left to all else that is recorded. */
static void *reserve_now(uint32_t bytes)
{
	struct sn_writer *writer = &sn_self->writer;
	struct sn_data_header *header = sn_header();
	uint32_t needed =
		bytes > SN_CHUNK_WORTH_KEEPING_BYTES ? bytes : SN_CHUNK_WORTH_KEEPING_BYTES;

	if ((!writer->chunk || writer->used_bytes + needed > SN_DATA_CHUNK_BYTES) &&
	    atomic_load_explicit(&header->next_chunk, memory_order_relaxed) + CHUNKS_LEFT >
		    atomic_load_explicit(&header->chunks_backed, memory_order_relaxed))
		return NULL;
	return sn_writer_reserve(writer, needed, sn_patch_now_ns());
}

/* With --every, waits for the launcher to make room. */
static void *reserve(struct sn_trace_context *context, uint32_t bytes)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };
	void *record = reserve_now(bytes);

	for (unsigned i = 0;
	     !record && is_whole() && !context->is_alone && !is_over() && i < WAITS_MAX; i++) {
		SYS(nanosleep, &pause, NULL);
		record = reserve_now(bytes);
		context->is_alone = !record && i + 1 == WAITS_MAX;
	}
	return record;
}

/* Once in each file. */
static bool write_table(struct sn_trace_context *context, uint32_t index)
{
	struct sn_patched_loop *loop = &sn_patches.loops[index];
	uint32_t at = 0;

	if (atomic_exchange_explicit(&loop->is_table_written, 1, memory_order_relaxed))
		return true;
	while (at < loop->table_bytes) {
		uint32_t part = loop->table_bytes - at < SN_ACCESS_PART_MAX ? loop->table_bytes - at
									    : SN_ACCESS_PART_MAX;
		uint32_t bytes = (uint32_t)(sizeof(struct sn_record_access_table) + part + 7) & ~7u;
		struct sn_record_access_table *record = reserve(context, bytes);

		if (!record)
			return false;
		record->header = (struct sn_record_header){ .type = SN_RECORD_ACCESS_TABLE,
							    .size_bytes = (uint16_t)bytes };
		record->loop = index;
		record->offset = at;
		record->total_bytes = loop->table_bytes;
		for (uint32_t i = 0; i < part; i++)
			record->bytes[i] = loop->table[at + i];
		sn_writer_commit(&sn_self->writer, bytes);
		at += part;
	}
	return true;
}

/* Once in each thread's part of a file. */
static void write_thread_pointer(struct sn_trace_context *context)
{
	struct sn_record_thread_pointer *record;

	if (context->has_thread_pointer)
		return;
	record = reserve(context, sizeof(*record));
	if (!record)
		return;
	record->header = (struct sn_record_header){ .type = SN_RECORD_THREAD_POINTER,
						    .size_bytes = sizeof(*record) };
	record->reserved = 0;
	record->thread_pointer = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	sn_writer_commit(&sn_self->writer, sizeof(*record));
	context->has_thread_pointer = 1;
}

static bool write_part(struct sn_trace_context *context, const uint64_t *words, uint32_t count,
		       uint8_t flags)
{
	const struct sn_record_instances *of = context->open;
	uint32_t bytes = (uint32_t)(sizeof(struct sn_record_accesses) + count * sizeof(*words));
	struct sn_record_accesses *record = reserve(context, bytes);
	int64_t now = sn_patch_now_ns();

	if (!record)
		return false;
	record->header = (struct sn_record_header){ .type = SN_RECORD_ACCESSES,
						    .flags = flags,
						    .size_bytes = (uint16_t)bytes };
	record->stack = of->stack;
	record->loop = of->loop;
	record->word_count = count;
	record->number = context->number;
	record->time_ns = flags & SN_ACCESS_FIRST ? context->begin_ns : now;
	record->end_ns = now;
	for (uint32_t i = 0; i < count; i++)
		record->words[i] = words[i];
	sn_writer_commit(&sn_self->writer, bytes);
	context->bytes += bytes;
	return true;
}

/* What is in the buffer. False: some of it is lost. */
static bool write_out(struct sn_trace_context *context, bool is_last)
{
	const uint64_t *words = context->words, *end = (const uint64_t *)sn_patch_words.trace_next;
	bool is_written = true;

	if (!sn_enter(sn_self)) {
		context->is_cut = 1;
		return false;
	}
	if (context->is_lost)
		end = words;
	do {
		uint64_t left = (uint64_t)(end - words);
		uint32_t count = left < SN_ACCESS_WORDS_MAX ? (uint32_t)left : SN_ACCESS_WORDS_MAX;
		uint8_t flags = context->is_first ? SN_ACCESS_FIRST : 0;

		if (count == left && is_last)
			flags |= (uint8_t)(SN_ACCESS_LAST | (context->is_cut ? SN_ACCESS_CUT : 0));
		is_written = write_part(context, words, count, flags);
		context->is_first &= !is_written;
		words += count;
	} while (is_written && words < end);
	sn_leave(sn_self);
	if (!is_written)
		context->is_cut = context->is_lost = 1;
	sn_patch_words.trace_next = (uint64_t)context->words;
	return is_written;
}

/* ---- a window ---- */

static void close_window(struct sn_trace_context *context)
{
	write_out(context, true);
	context->spent_cycles += __builtin_ia32_rdtsc() - context->begin_tsc;
	context->open = NULL;
}

void sn_trace_begin(struct sn_record_instances *record, uint64_t stack_pointer)
{
	struct sn_trace_context *context = sn_patch_words.traces;
	const struct sn_patched_loop *loop = &sn_patches.loops[record->loop];
	bool has_table;

	if (!context || !loop->recorder || !sn_self || sn_state->is_sealed || !sn_is_active() ||
	    sn_is_paused())
		return;
	context->pending = NULL;
	if (context->open) {
		/* by a handler, while the copy runs that records */
		if (sn_instances_is_open(context->open) &&
		    stack_pointer < context->open_stack_pointer)
			return;
		context->is_cut = 1;
		close_window(context);
	}
	if (is_over()) {
		atomic_store_explicit(&sn_header()->has_accesses_ended, 1, memory_order_relaxed);
		return;
	}
	note_work(context);
	if ((!is_whole() && due_cycles(context, record)) || !sn_enter(sn_self))
		return;
	write_thread_pointer(context);
	has_table = write_table(context, record->loop);
	sn_leave(sn_self);
	if (!has_table)
		return;
	context->open_stack_pointer = stack_pointer;
	context->pending = record;
}

uint64_t sn_trace_next(struct sn_record_instances *record)
{
	struct sn_trace_context *context = sn_patch_words.traces;
	const struct sn_patched_loop *loop = &sn_patches.loops[record->loop];

	if (!context || context->pending != record)
		return 0;
	context->pending = NULL;
	context->open = record;
	context->number = record->open_number;
	context->is_first = 1;
	context->is_cut = context->is_lost = 0;
	context->arrivals = sn_patch_words.arrivals;
	context->begin_ns = sn_patch_now_ns();
	context->begin_tsc = __builtin_ia32_rdtsc();
	sn_patch_words.trace_next = (uint64_t)context->words;
	sn_patch_words.trace_units = room_words() / loop->unit_words - 1;
	return loop->recorder;
}

uint64_t sn_trace_full(struct sn_record_instances *record)
{
	struct sn_trace_context *context = sn_patch_words.traces;

	if (!context || context->open != record)
		return 0;
	if (is_over())
		atomic_store_explicit(&sn_header()->has_accesses_ended, 1, memory_order_relaxed);
	else if (is_whole() && write_out(context, false)) {
		sn_patch_words.trace_units =
			room_words() / sn_patches.loops[record->loop].unit_words - 1;
		return 1;
	}
	context->is_cut = 1;
	return 0;
}

bool sn_trace_end(struct sn_record_instances *record)
{
	struct sn_trace_context *context = sn_patch_words.traces;

	if (!context || context->open != record)
		return false;
	close_window(context);
	return true;
}

/* Iterations that the copy has counted beside the record. */
uint64_t sn_trace_arrivals(const struct sn_record_instances *record)
{
	struct sn_trace_context *context = sn_patch_words.traces;

	return context && context->open == record && !record->step
		       ? sn_patch_words.arrivals - context->arrivals
		       : 0;
}
