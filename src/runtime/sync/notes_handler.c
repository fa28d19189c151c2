/* Entries of locks: counted up where they lie, or appended to the thread's piece. */
#include "runtime/sync/sync.h"

#include "runtime/sync/waits.h"

enum {
	WANTED = 4096, /* objects that somebody waits for share a counter by their hash */
};
/* Between readings of both clocks. */
static const uint64_t time_gap_ticks = 1u << 22;

struct sn_sync_state sn_sync_state;
static _Atomic uint32_t wanted[WANTED];

static inline uint64_t hash_object(uint64_t object)
{
	return (object >> 3) * 0x9e3779b97f4a7c15ULL >> 32;
}

static inline _Atomic uint32_t *wanted_of(uint64_t object)
{
	return &wanted[hash_object(object) % WANTED];
}

static inline bool is_lock(enum sn_sync_kind kind)
{
	return kind <= SN_SYNC_SPIN;
}

/* ---- entries ---- */

static struct sn_sync_entry *entry_at(const struct sn_sync_stream *stream, uint32_t number)
{
	return (struct sn_sync_entry *)(void *)(stream->writer.piece + 1) + number;
}

static void put_time(struct sn_sync_stream *stream)
{
	struct sn_sync_entry *time = entry_at(stream, 0);
	int64_t now_ns = sn_now_ns();

	/* a reader that comes between takes it for what it was, or for none */
	atomic_store_explicit(&time->type, SN_SYNC_NONE, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	time->begin_tsc = stream->time_tsc = __builtin_ia32_rdtsc();
	time->ticks = (uint64_t)now_ns;
	time->holder = sn_self ? (uint32_t)sn_self->tid : 0;
	time->gate = sn_self ? sn_self->creator_index : 0;
	atomic_store_explicit(&time->type, SN_SYNC_TIME, memory_order_release);
}

static struct sn_sync_entry *append(struct sn_sync_stream *stream, uint32_t thread_index,
				    const struct sn_sync_entry *entry)
{
	uint8_t *at = sn_trace_room(&stream->writer, sizeof *entry);

	if (__builtin_expect(!at, 0)) {
		if (!sn_trace_take_slot(&stream->writer, SN_TRACE_SYNC, thread_index))
			return NULL;
		memset(stream->index, 0, sizeof stream->index);
		at = sn_trace_room(&stream->writer, sizeof *entry);
		memset(at, 0, sizeof *entry);
		put_time(stream);
		sn_trace_commit(&stream->writer, at + sizeof *entry);
		at += sizeof *entry;
	}
	memcpy(at, entry, sizeof *entry);
	sn_trace_commit(&stream->writer, at + sizeof *entry);
	return (struct sn_sync_entry *)(void *)at;
}

/* One instruction: a signal's handler may count the same entry. */
static inline void increment(uint64_t *count)
{
	__asm__ volatile("incq %0" : "+m"(*count) : : "cc");
}

/* ---- who writes ---- */

static inline struct sn_sync_stream *hold(struct sn_thread *self, struct sn_sync_thread *sync,
					  const uint64_t *frame)
{
	uint64_t at = (uint64_t)(uintptr_t)frame;

	for (unsigned i = 0; i < 2; i++) {
		struct sn_sync_stream *stream = &sync->streams[i];
		if (__builtin_expect(stream->holder != 0, 0)) {
			if (!sn_trace_is_abandoned(self, stream->holder, at))
				continue;
			sync->paths.frame_count = 0;
		}
		stream->holder = at;
		atomic_signal_fence(memory_order_seq_cst);
		return stream;
	}
	sn_trace_lose(SN_TRACE_SYNC);
	return NULL;
}

static inline void let_go(struct sn_sync_stream *stream)
{
	atomic_signal_fence(memory_order_seq_cst);
	stream->holder = 0;
}

/* One note in many is measured. 0: this one is not. */
static inline uint64_t begin_measure(struct sn_sync_stream *stream)
{
	return sn_trace_measures(&stream->unmeasured, SN_TRACE_MEASURED) ? __builtin_ia32_rdtsc()
									 : 0;
}

static inline void end_measure(uint64_t begin_tsc, uint64_t times)
{
	if (__builtin_expect(begin_tsc != 0, 0))
		sn_trace_count_cost(SN_TRACE_SYNC, __builtin_ia32_rdtsc() - begin_tsc, times);
}

static uint32_t path_of(struct sn_thread *self, const struct sn_sync_stream *stream,
			const uint64_t *frame)
{
	struct sn_sync_thread *sync = sn_sync_of(self);

	return stream == sync->streams ? sn_path_take(self, &sync->paths, frame) : 0;
}

/* ---- counts ---- */

static inline bool is_same(const struct sn_sync_entry *a, const struct sn_sync_entry *b)
{
	return a->object == b->object && a->pc == b->pc && a->type == b->type &&
	       a->kind == b->kind && a->held == b->held && a->gate == b->gate;
}

/* The entry that counts what `wanted_entry` says; NULL: none yet. `place` is where its number is, or
 * where it is to go. */
static inline struct sn_sync_entry *find(struct sn_sync_stream *stream,
					 const struct sn_sync_entry *wanted_entry, uint16_t **place)
{
	uint64_t hash = hash_object(wanted_entry->object + wanted_entry->held * 5 +
				    (wanted_entry->pc << 7));
	uint16_t *first = &stream->index[hash % SN_SYNC_INDEX & ~1u];

	*place = first;
	if (__builtin_expect(!stream->writer.piece, 0))
		return NULL;
	for (unsigned way = 0; way < 2; way++) {
		struct sn_sync_entry *entry = entry_at(stream, first[way]);
		if (first[way] && is_same(entry, wanted_entry))
			return entry;
		if (!first[way])
			*place = &first[way];
	}
	return NULL;
}

/* A new one, which begins with 1. */
static __attribute__((noinline)) struct sn_sync_entry *
begin_count(struct sn_thread *self, struct sn_sync_stream *stream, struct sn_sync_entry *fresh,
	    uint16_t *place, const uint64_t *frame)
{
	struct sn_sync_entry *entry;

	fresh->count = 1;
	fresh->path = self && frame ? path_of(self, stream, frame) : 0;
	entry = append(stream, self ? self->index : SN_TRACE_NO_THREAD, fresh);
	if (entry)
		*place = (uint16_t)(entry - entry_at(stream, 0));
	return entry;
}

static inline void count(struct sn_thread *self, struct sn_sync_stream *stream,
			 enum sn_sync_kind kind, uint64_t object, const uint64_t *frame)
{
	struct sn_sync_entry fresh = {
		.type = SN_SYNC_COUNT, .kind = (uint8_t)kind, .object = object, .pc = frame[1]
	};
	uint16_t *place;
	struct sn_sync_entry *entry = find(stream, &fresh, &place);

	if (__builtin_expect(entry != NULL, 1))
		increment(&entry->count);
	else
		begin_count(self, stream, &fresh, place, frame);
}

/* ---- what the thread holds ---- */

static inline void push(struct sn_sync_thread *sync, uint64_t object, uint64_t pc)
{
	uint32_t at = sync->held_count;

	if (at >= SN_SYNC_HELD)
		return;
	/* a handler that comes between takes the place behind it */
	sync->held[at].object = 0;
	sync->held_count = at + 1;
	atomic_signal_fence(memory_order_seq_cst);
	sync->held[at].pc = pc;
	sync->held[at].is_signaled = 0;
	sync->held[at].object = object;
}

static inline struct sn_sync_held pop(struct sn_sync_thread *sync, uint64_t object)
{
	struct sn_sync_held found = { 0 };

	for (uint32_t i = sync->held_count; i-- > 0;) {
		if (sync->held[i].object != object)
			continue;
		found = sync->held[i];
		for (; i + 1 < sync->held_count; i++)
			sync->held[i] = sync->held[i + 1];
		sync->held_count--;
		break;
	}
	return found;
}

/* The order in which the thread takes locks: each that it holds comes before this one. */
static __attribute__((noinline)) void
note_orders(struct sn_thread *self, struct sn_sync_thread *sync, struct sn_sync_stream *stream,
	    enum sn_sync_kind kind, uint64_t object, const uint64_t *frame)
{
	uint64_t outermost = sync->held[0].object;
	uint32_t most = sync->held_count < 8 ? sync->held_count : 8;

	for (uint32_t i = 0; i < most; i++) {
		const struct sn_sync_held *held = &sync->held[sync->held_count - 1 - i];
		uint16_t *place;
		if (!held->object || held->object == object)
			continue;
		struct sn_sync_entry fresh = {
			.type = SN_SYNC_ORDER,
			.kind = (uint8_t)kind,
			.object = object,
			.pc = frame[1],
			.held = held->object,
			.gate = outermost == held->object || outermost == object
					? 0
					: (uint32_t)hash_object(outermost) | 1,
		};
		uint64_t now = __builtin_ia32_rdtsc();
		struct sn_sync_entry *entry = find(stream, &fresh, &place);
		if (entry) {
			increment(&entry->count);
			entry->ticks = now - entry->begin_tsc;
			continue;
		}
		fresh.begin_tsc = now;
		begin_count(self, stream, &fresh, place, frame);
	}
}

/* ---- threads that are none of ours ---- */

static __attribute__((noinline)) void count_stray(enum sn_sync_kind kind, uint64_t object,
						  const uint64_t *frame)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint32_t is_held = 0;
		if (atomic_compare_exchange_weak_explicit(&sn_sync_state.stray_lock, &is_held, 1,
							  memory_order_acquire,
							  memory_order_relaxed)) {
			count(NULL, &sn_sync_state.stray, kind, object, frame);
			atomic_store_explicit(&sn_sync_state.stray_lock, 0, memory_order_release);
			return;
		}
		__builtin_ia32_pause();
	}
	sn_trace_lose(SN_TRACE_SYNC);
}

/* ---- what wrappers tell ---- */

void sn_sync_took(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *at,
		  bool by_trying)
{
	struct sn_thread *self = sn_self_in_call();
	uint64_t object = (uint64_t)(uintptr_t)at;

	if (sn_trace_is_off(SN_TRACE_SYNC))
		return;
	if (__builtin_expect(!self, 0)) {
		count_stray(kind, object, frame);
		return;
	}
	struct sn_sync_thread *sync = sn_sync_of(self);
	struct sn_sync_stream *stream = hold(self, sync, frame);
	if (!stream)
		return;
	uint64_t begin_tsc = begin_measure(stream);
	count(self, stream, kind, object, frame);
	if (is_lock(kind)) {
		if (__builtin_expect(sync->held_count != 0, 0) && !by_trying)
			note_orders(self, sync, stream, kind, object, frame);
		push(sync, object, frame[1]);
	}
	end_measure(begin_tsc, sn_trace_stands_for(stream->unmeasured, SN_TRACE_MEASURED));
	let_go(stream);
}

static __attribute__((noinline)) void note_release(struct sn_thread *self,
						   struct sn_sync_thread *sync,
						   enum sn_sync_kind kind, uint64_t object,
						   uint64_t taken_pc, const uint64_t *frame)
{
	struct sn_sync_stream *stream = hold(self, sync, frame);

	if (!stream)
		return;
	struct sn_sync_entry entry = { .type = SN_SYNC_RELEASE,
				       .kind = (uint8_t)kind,
				       .object = object,
				       .pc = taken_pc,
				       .begin_tsc = __builtin_ia32_rdtsc(),
				       .path = path_of(self, stream, frame) };
	append(stream, self->index, &entry);
	end_measure(entry.begin_tsc, 1);
	let_go(stream);
}

static inline bool is_wanted(uint64_t object)
{
	return atomic_load_explicit(wanted_of(object), memory_order_relaxed) != 0;
}

static struct sn_sync_held leave(struct sn_thread *self, const uint64_t *frame,
				 enum sn_sync_kind kind, uint64_t object)
{
	struct sn_sync_thread *sync = sn_sync_of(self);
	struct sn_sync_held held = pop(sync, object);

	if (__builtin_expect(held.is_signaled || is_wanted(object), 0))
		note_release(self, sync, kind, object, held.pc, frame);
	return held;
}

void sn_sync_wakes(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *at)
{
	struct sn_thread *self = sn_self;
	uint64_t object = (uint64_t)(uintptr_t)at;

	if (!self || !is_wanted(object))
		return;
	struct sn_sync_thread *sync = sn_sync_of(self);
	note_release(self, sync, kind, object, 0, frame);
	/* who is woken waits for the mutex yet, which the caller may hold; it did not say that it wants it */
	if (kind == SN_SYNC_CONDITION)
		for (uint32_t i = 0; i < sync->held_count; i++)
			sync->held[i].is_signaled = 1;
}

void sn_sync_leaves(const uint64_t *frame, enum sn_sync_kind kind, const volatile void *object)
{
	if (sn_self)
		leave(sn_self, frame, kind, (uint64_t)(uintptr_t)object);
}

void sn_sync_begin(struct sn_sync_wait *wait, const uint64_t *frame, enum sn_sync_kind kind,
		   const volatile void *object, uint32_t holder, uint64_t mutex)
{
	struct sn_thread *self = sn_self_in_call();

	wait->entry = (struct sn_sync_entry){ .type = SN_SYNC_NONE,
					      .kind = (uint8_t)kind,
					      .object = (uint64_t)(uintptr_t)object,
					      .pc = frame[1],
					      .ticks = SN_SYNC_OPEN,
					      .held = mutex,
					      .holder = holder };
	wait->frame = frame;
	wait->place = NULL;
	if (!self || sn_trace_is_off(SN_TRACE_SYNC))
		return;
	struct sn_sync_thread *sync = sn_sync_of(self);
	struct sn_sync_stream *stream = hold(self, sync, frame);
	if (!stream)
		return;
	uint64_t begin_tsc = __builtin_ia32_rdtsc();
	if (is_lock(kind) && sync->held_count)
		note_orders(self, sync, stream, kind, wait->entry.object, frame);
	wait->entry.path = path_of(self, stream, frame);
	atomic_fetch_add(wanted_of(wait->entry.object), 1);
	wait->entry.type = SN_SYNC_WAIT;
	wait->entry.begin_tsc = __builtin_ia32_rdtsc();
	wait->place = append(stream, self->index, &wait->entry);
	wait->piece = stream->writer.piece;
	wait->piece_number = wait->place ? wait->piece->number : 0;
	end_measure(begin_tsc, 1);
	let_go(stream);
}

/* Whether its entry is still in a piece that is the thread's. */
static bool is_in_place(const struct sn_sync_thread *sync, const struct sn_sync_wait *wait)
{
	for (unsigned i = 0; i < 2; i++)
		if (wait->place && sync->streams[i].writer.piece == wait->piece &&
		    wait->piece->number == wait->piece_number)
			return true;
	return false;
}

static void write_end(struct sn_thread *self, struct sn_sync_thread *sync,
		      struct sn_sync_stream *stream, struct sn_sync_wait *wait, uint64_t ticks,
		      uint8_t flags)
{
	wait->entry.ticks = ticks;
	wait->entry.flags = flags;
	if (!is_in_place(sync, wait)) {
		append(stream, self->index, &wait->entry);
		return;
	}
	wait->place->flags = flags;
	atomic_signal_fence(memory_order_seq_cst);
	wait->place->ticks = ticks;
}

void sn_sync_end(struct sn_sync_wait *wait, bool is_acquired)
{
	uint64_t end_tsc = __builtin_ia32_rdtsc(), ticks = end_tsc - wait->entry.begin_tsc;
	struct sn_thread *self = sn_self;
	enum sn_sync_kind kind = wait->entry.kind;

	if (wait->entry.type == SN_SYNC_NONE || !self || !sn_sync_is_on()) {
		if (is_acquired && sn_sync_is_on())
			sn_sync_took(wait->frame, kind, (void *)(uintptr_t)wait->entry.object,
				     true);
		return;
	}
	struct sn_sync_thread *sync = sn_sync_of(self);
	struct sn_sync_stream *stream = hold(self, sync, wait->frame);
	if (!stream)
		return;
	atomic_fetch_sub(wanted_of(wait->entry.object), 1);
	bool is_none = sn_sync_state.min_ticks
			       ? ticks < sn_sync_state.min_ticks
			       : sn_config.settings.sync_min_ns &&
					 sn_waits_ns_of_ticks(ticks, sn_now_ns()) <
						 (int64_t)sn_config.settings.sync_min_ns;
	/* who joined whom is needed for what comes after */
	if (is_none && kind != SN_SYNC_JOIN && is_in_place(sync, wait)) {
		wait->place->type = SN_SYNC_NONE;
		if (is_acquired)
			count(self, stream, kind, wait->entry.object, wait->frame);
	} else {
		write_end(self, sync, stream, wait, ticks,
			  (uint8_t)((is_acquired ? SN_SYNC_ACQUIRED : 0) |
				    (is_none && kind == SN_SYNC_JOIN ? SN_SYNC_BRIEF : 0)));
	}
	if (is_acquired && is_lock(kind))
		push(sync, wait->entry.object, wait->entry.pc);
	if (end_tsc - stream->time_tsc > time_gap_ticks && stream->writer.piece)
		put_time(stream);
	end_measure(end_tsc, 1);
	let_go(stream);
}

/* ---- calls that calls/ wraps ---- */

/* Waits that were left by longjmp, or by a cancelled thread's clean-up. */
static void drop_left(struct sn_thread *self, struct sn_sync_thread *sync, const uint64_t *frame)
{
	while (sync->pending_count) {
		struct sn_sync_pending *last = &sync->pending[sync->pending_count - 1];
		if (frame && (uint64_t)(uintptr_t)frame < (uint64_t)(uintptr_t)last->wait.frame)
			return; /* a signal's handler, within it */
		sync->pending_count--;
		struct sn_sync_stream *stream = hold(self, sync, last->wait.frame);
		if (!stream || last->wait.entry.type == SN_SYNC_NONE)
			continue;
		atomic_fetch_sub(wanted_of(last->wait.entry.object), 1);
		write_end(self, sync, stream, &last->wait,
			  __builtin_ia32_rdtsc() - last->wait.entry.begin_tsc, SN_SYNC_LEFT);
		let_go(stream);
	}
}

/* The word of a mutex and of a semaphore that says whether it would block. */
static bool is_busy(const struct sn_call *call, enum sn_sync_kind *kind, uint32_t *holder)
{
	const pthread_mutex_t *mutex = (const void *)call->words[0];
	const pthread_rwlock_t *lock = (const void *)call->words[0];

	switch (call->which) {
	case SN_CALL_NAME_pthread_mutex_timedlock:
	case SN_CALL_NAME_pthread_mutex_clocklock:
	case SN_CALL_NAME_mtx_timedlock:
		*kind = SN_SYNC_MUTEX;
		*holder = (uint32_t)mutex->__data.__owner;
		return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) != 0 &&
		       *holder != (uint32_t)sn_self->tid;
	case SN_CALL_NAME_pthread_rwlock_timedrdlock:
	case SN_CALL_NAME_pthread_rwlock_clockrdlock:
		*kind = SN_SYNC_RWLOCK_READ;
		*holder = (uint32_t)lock->__data.__cur_writer;
		return lock->__data.__cur_writer != 0;
	case SN_CALL_NAME_pthread_rwlock_timedwrlock:
	case SN_CALL_NAME_pthread_rwlock_clockwrlock:
		*kind = SN_SYNC_RWLOCK_WRITE;
		*holder = (uint32_t)lock->__data.__cur_writer;
		return lock->__data.__cur_writer != 0 || lock->__data.__readers >= 8;
	default: /* a semaphore */
		*kind = SN_SYNC_SEMAPHORE;
		return *(const volatile unsigned *)call->words[0] == 0;
	}
}

enum what { IS_NONE, IS_LOCK, IS_WAIT, IS_WAKE };

static enum what what_is_futex(long operation)
{
	switch (operation) {
	case 0: /* FUTEX_WAIT */
	case 6: /* FUTEX_LOCK_PI */
	case 9: /* FUTEX_WAIT_BITSET */
		return IS_WAIT;
	case 1:	 /* FUTEX_WAKE */
	case 3:	 /* FUTEX_REQUEUE */
	case 4:	 /* FUTEX_CMP_REQUEUE */
	case 5:	 /* FUTEX_WAKE_OP */
	case 7:	 /* FUTEX_UNLOCK_PI */
	case 10: /* FUTEX_WAKE_BITSET */
		return IS_WAKE;
	default:
		return IS_NONE;
	}
}

/* What a call is to us. */
static enum what what_is(const struct sn_call *call, enum sn_sync_kind *kind)
{
	switch (call->which) {
	case SN_CALL_NAME_pthread_mutex_timedlock:
	case SN_CALL_NAME_pthread_mutex_clocklock:
	case SN_CALL_NAME_mtx_timedlock:
	case SN_CALL_NAME_pthread_rwlock_timedrdlock:
	case SN_CALL_NAME_pthread_rwlock_clockrdlock:
	case SN_CALL_NAME_pthread_rwlock_timedwrlock:
	case SN_CALL_NAME_pthread_rwlock_clockwrlock:
	case SN_CALL_NAME_sem_timedwait:
	case SN_CALL_NAME_sem_clockwait:
		return IS_LOCK;
	case SN_CALL_NAME_pthread_cond_wait:
	case SN_CALL_NAME_pthread_cond_timedwait:
	case SN_CALL_NAME_pthread_cond_clockwait:
	case SN_CALL_NAME_cnd_wait:
	case SN_CALL_NAME_cnd_timedwait:
		*kind = SN_SYNC_CONDITION;
		return IS_WAIT;
	case SN_CALL_NAME_pthread_barrier_wait:
		*kind = SN_SYNC_BARRIER;
		return IS_WAIT;
	case SN_CALL_NAME_pthread_join:
	case SN_CALL_NAME_pthread_timedjoin_np:
	case SN_CALL_NAME_pthread_clockjoin_np:
	case SN_CALL_NAME_thrd_join:
		*kind = SN_SYNC_JOIN;
		return IS_WAIT;
	case SN_CALL_NAME_syscall: {
		*kind = SN_SYNC_FUTEX;
		return call->words[0] == SYS_futex ? what_is_futex(call->words[2] & 127) : IS_NONE;
	}
	default:
		return IS_NONE;
	}
}

void sn_sync_before_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_sync_thread *sync = sn_sync_of(self);
	enum sn_sync_kind kind = SN_SYNC_KINDS;
	enum what what = what_is(call, &kind);
	uint32_t holder = 0;
	long object = call->words[kind == SN_SYNC_FUTEX];

	if (what == IS_NONE || !sn_sync_is_on())
		return;
	if (what == IS_WAKE) {
		sn_sync_wakes(call->frame, kind, (void *)object);
		return;
	}
	drop_left(self, sync, call->frame);
	if ((what == IS_LOCK && !is_busy(call, &kind, &holder)) ||
	    sync->pending_count == SN_SYNC_PENDING)
		return;
	struct sn_sync_pending *pending = &sync->pending[sync->pending_count];
	pending->begin = call->begin;
	pending->mutex = (struct sn_sync_held){ 0 };
	if (kind == SN_SYNC_CONDITION)
		pending->mutex = leave(self, call->frame, SN_SYNC_MUTEX, (uint64_t)call->words[1]);
	if (kind == SN_SYNC_JOIN)
		holder = sn_sync_tid_of((uint64_t)call->words[0]);
	pending->wait.frame = call->frame;
	pending->wait.entry.type = SN_SYNC_NONE;
	sync->pending_count++;
	sn_sync_begin(&pending->wait, call->frame, kind, (void *)object, holder,
		      kind == SN_SYNC_CONDITION ? (uint64_t)call->words[1] : 0);
}

void sn_sync_after_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_sync_thread *sync = sn_sync_of(self);
	enum sn_sync_kind kind = SN_SYNC_KINDS;
	enum what what = what_is(call, &kind);
	uint32_t holder;
	bool is_acquired = call->result == 0 || kind == SN_SYNC_BARRIER ||
			   (what == IS_LOCK && call->result == EOWNERDEAD);

	if (what == IS_NONE || what == IS_WAKE || !sn_sync_is_on())
		return;
	if (sync->pending_count && sync->pending[sync->pending_count - 1].begin == call->begin) {
		struct sn_sync_pending *pending = &sync->pending[--sync->pending_count];
		struct sn_sync_held mutex = pending->mutex;
		sn_sync_end(&pending->wait, is_acquired);
		if (mutex.object)
			push(sync, mutex.object, mutex.pc);
	} else if (is_acquired && what == IS_LOCK) {
		is_busy(call, &kind, &holder);
		sn_sync_took(call->frame, kind, (void *)call->words[0], false);
	}
}

void sn_sync_end_thread(struct sn_thread *self, int64_t now_ns)
{
	struct sn_sync_thread *sync = sn_sync_of(self);

	(void)now_ns;
	if (!sn_sync_is_on())
		return;
	if (self == sn_self)
		sn_sync_note_ended((uint32_t)self->tid);
	drop_left(self, sync, NULL);
	for (unsigned i = 0; i < 2; i++) {
		if (sync->streams[i].writer.piece)
			put_time(&sync->streams[i]);
		sn_trace_give_slot(&sync->streams[i].writer);
	}
}

/* The image ends: the last pair of clocks. Of other threads, which go on, only if they are not at it. */
void sn_sync_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		     bool is_ending)
{
	struct sn_sync_stream *stream = &sn_sync_of(thread)->streams[0];

	(void)writer, (void)now_ns, (void)is_ending;
	if (sn_sync_is_on() && thread == sn_self && !stream->holder && stream->writer.piece)
		put_time(stream);
}
