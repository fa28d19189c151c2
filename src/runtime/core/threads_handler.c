/* A thread from its block to its end: pool of blocks, bounds of its stack, records of its life. */
#include "runtime/core/collector.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "runtime/core/parse.h"
#include "runtime/core/signals.h"

/* A block: a page with struct sn_thread and the collectors' parts, then the handler's stack, which
 * grows down from the cache, the cache, the frames (pcs), the collectors' scratch. */
static struct sn_thread *map_block(void)
{
	long at = SYS(mmap, NULL, SN_BLOCK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at < 0 && at > -4096 ? NULL : (struct sn_thread *)at;
}

static struct sn_thread *pop_free_block(void)
{
	uint64_t head = atomic_load_explicit(&sn_state->free_blocks, memory_order_acquire);

	for (;;) {
		uint32_t index = (uint32_t)head;
		if (index == UINT32_MAX)
			return NULL;
		struct sn_thread *block = sn_state->blocks[index];
		uint64_t next = ((head >> 32) + 1) << 32 |
				atomic_load_explicit(&block->free_next, memory_order_relaxed);
		if (atomic_compare_exchange_weak(&sn_state->free_blocks, &head, next))
			return block;
	}
}

static void lay_out(struct sn_thread *thread)
{
	uint8_t *block = (uint8_t *)thread;

	thread->handler_stack_top = block + 4096 + SN_STACK_BYTES;
	thread->cache = sn_unwind_cache_place(block + 4096 + SN_STACK_BYTES, SN_CACHE_BYTES);
	thread->pcs = (uint64_t *)(void *)(block + 4096 + SN_STACK_BYTES + SN_CACHE_BYTES);
}

/* A used block: everything but its place and its cache starts afresh. */
static void clear(struct sn_thread *thread)
{
	struct sn_thread kept = { .block_index = thread->block_index,
				  .handler_stack_top = thread->handler_stack_top,
				  .cache = thread->cache,
				  .pcs = thread->pcs };

	*thread = kept;
	sn_collect_clear(thread);
}

struct sn_thread *sn_thread_new(void)
{
	struct sn_thread *thread = pop_free_block();

	if (thread) {
		clear(thread);
	} else {
		uint32_t index = atomic_fetch_add(&sn_state->next_block, 1);
		if (index >= SN_BLOCKS_MAX || sn_state->is_sealed || !(thread = map_block())) {
			sn_lose(SN_LOSS_THREAD_TABLE);
			sn_warn("more threads at one time than sonde can hold: some are not measured");
			return NULL;
		}
		thread->block_index = index;
		lay_out(thread);
		atomic_store_explicit(&sn_state->blocks[index], thread, memory_order_release);
	}
	thread->writer.file = &sn_state->file;
	thread->index = atomic_fetch_add(&sn_state->next_thread, 1);
	thread->writer.thread_index = thread->index;
	thread->creator_index = UINT32_MAX;
	return thread;
}

void sn_thread_give_back(struct sn_thread *thread)
{
	uint64_t head = atomic_load_explicit(&sn_state->free_blocks, memory_order_relaxed), next;

	do {
		atomic_store_explicit(&thread->free_next, (uint32_t)head, memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | thread->block_index;
	} while (!atomic_compare_exchange_weak(&sn_state->free_blocks, &head, next));
}

/* The thread's control block lies at the upper end of its stack, whoever allocated it: so the end
 * is known without asking pthread_getattr_np, which allocates. */
static void find_stack(struct sn_thread *thread, bool is_main)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t self = (uint64_t)pthread_self();

	if (is_main && here < sn_config.main_stack_end) {
		struct rlimit limit = { .rlim_cur = 8 << 20 };
		SYS(prlimit64, 0, RLIMIT_STACK, NULL, &limit);
		if (limit.rlim_cur > 1 << 30)
			limit.rlim_cur = 1 << 30;
		thread->stack_end = sn_config.main_stack_end;
		thread->stack_start = thread->stack_end - limit.rlim_cur;
		if (here >= thread->stack_start)
			return;
	}
	thread->stack_end =
		self > here && self - here < 4096UL << 20 ? self : (here + 4095) & ~4095UL;
	thread->stack_start = thread->stack_end - (thread->stack_end - here + (64 << 10));
}

/* As large as pthread_create was asked to make it. */
static void widen_stack(struct sn_thread *thread)
{
	if (thread->stack_bytes > thread->stack_end - thread->stack_start)
		thread->stack_start = thread->stack_end + 4096 - thread->stack_bytes;
}

static void install_altstack(struct sn_thread *thread, bool is_main)
{
	stack_t ours = { .ss_sp = thread->handler_stack_top - SN_STACK_BYTES,
			 .ss_size = SN_STACK_BYTES };
	stack_t old = { 0 };

	if (is_main && SYS(sigaltstack, NULL, &old) == 0 && !(old.ss_flags & SS_DISABLE) &&
	    old.ss_sp != ours.ss_sp) {
		thread->has_altstack = 1; /* set by who ran before us */
		thread->altstack_start = (uint64_t)(uintptr_t)old.ss_sp;
		thread->altstack_end = thread->altstack_start + old.ss_size;
		thread->altstack_flags = old.ss_flags & ~SS_ONSTACK;
		sn_altstacks_are_used();
		return;
	}
	SYS(sigaltstack, &ours, NULL);
}

static uint32_t since_made_ns(const struct sn_thread *self)
{
	int64_t ns = self->made_ns ? self->start_ns - self->made_ns : 0;

	return ns > 0 && ns <= UINT32_MAX ? (uint32_t)ns : 0;
}

static void write_start(struct sn_thread *self)
{
	struct sn_record_thread_start *record =
		sn_writer_reserve(&self->writer, sizeof *record, self->start_ns);

	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	*record = (struct sn_record_thread_start){
		.header = { .type = SN_RECORD_THREAD_START, .size_bytes = sizeof *record },
		.thread_index = self->index,
		.tid = self->tid,
		.creator_index = self->creator_index,
		.time_ns = self->start_ns,
		.start_routine = (uint64_t)(uintptr_t)self->start,
		.create_stack = self->create_stack,
		.since_made_ns = since_made_ns(self),
	};
	sn_writer_commit(&self->writer, sizeof *record);
}

static void introduce(struct sn_thread *self, int32_t tid)
{
	self->tid = self->writer.tid = tid;
	self->start_ns = sn_now_ns();
	self->next_account_ns = self->start_ns + 1000000000;
	atomic_fetch_add_explicit(&sn_header()->threads_started, 1, memory_order_relaxed);
}

void sn_thread_await(struct sn_thread *thread, int32_t tid)
{
	introduce(thread, tid);
	atomic_store(&thread->busy, 1);
	atomic_fetch_add(&sn_state->live_threads, 1);
	write_start(thread);
	sn_collect_thread_begin(thread, SN_THREAD_AWAITED);
	atomic_store_explicit(&thread->is_live, 1, memory_order_release);
	atomic_store_explicit(&thread->is_awaited, 1, memory_order_release);
	atomic_fetch_add(&sn_state->awaited, 1);
}

void sn_thread_begin(struct sn_thread *self, bool is_main)
{
	introduce(self, (int32_t)SYS(gettid));
	find_stack(self, is_main);
	widen_stack(self);
	if (is_main)
		atomic_fetch_add(&sn_state->live_threads, 1);
	write_start(self);
	sn_collect_thread_begin(self, is_main ? SN_THREAD_MAIN : SN_THREAD_MADE);
	if (!sn_state->is_sealed)
		install_altstack(self, is_main);
	atomic_store_explicit(&self->is_live, 1, memory_order_release);
	sn_self = self;
}

int64_t sn_thread_wait_cpu_ns(int32_t tid)
{
	char path[64] = "/proc/self/task/", text[96];
	char *at = path + sizeof "/proc/self/task/" - 1;
	const char *next = text;

	if (sn_state->is_sealed)
		return -1;
	at = sn_format_number(at, (uint64_t)tid);
	sn_copy_text(at, "/schedstat");
	sn_read_file_raw(path, text, sizeof text);
	sn_parse_number(&next);
	return text[0] ? (int64_t)sn_parse_number(&next) : -1;
}

/* user and system ticks of another thread: fields 14 and 15 of its stat */
void sn_thread_times(int32_t tid, int64_t *user_ns, int64_t *system_ns)
{
	char path[64] = "/proc/self/task/", text[512];
	char *at = sn_format_number(path + sizeof "/proc/self/task/" - 1, (uint64_t)tid);
	const char *next = text, *close = NULL;

	sn_copy_text(at, "/stat");
	sn_read_file_raw(path, text, sizeof text);
	for (const char *c = text; *c; c++)
		if (*c == ')')
			close = c;
	if (!close)
		return;
	next = close;
	for (int field = 2; field < 14 && *next; next++)
		field += *next == ' ';
	*user_ns = (int64_t)sn_parse_number(&next) * 10000000;
	*system_ns = (int64_t)sn_parse_number(&next) * 10000000;
}

/* Of a thread; 0: not known. */
static uint8_t allowed_cpus(int32_t tid)
{
	uint64_t mask[1024 / 64] = { 0 };
	long bytes = sn_state->is_sealed ? 0 : SYS(sched_getaffinity, tid, sizeof mask, mask);
	unsigned count = 0;

	for (long i = 0; i < bytes / 8; i++)
		for (; mask[i]; mask[i] &= mask[i] - 1)
			count++;
	return count < UINT8_MAX ? (uint8_t)count : UINT8_MAX;
}

void sn_thread_write_account(struct sn_thread *thread, struct sn_writer *writer, uint8_t type,
			     int64_t now_ns)
{
	bool is_self = thread == sn_self;
	struct rusage usage = { 0 };
	struct sn_record_thread_account account = {
		.header = { .type = type,
			    .flags = allowed_cpus(is_self ? 0 : thread->tid),
			    .size_bytes = sizeof account },
		.thread_index = thread->index,
		.time_ns = now_ns,
		.user_ns = -1,
		.system_ns = -1,
		.cpu_ns = sn_thread_cpu_ns(is_self ? 0 : thread->tid),
		.wait_cpu_ns = -1,
	};

	if (is_self && !sn_state->is_sealed && SYS(getrusage, RUSAGE_THREAD, &usage) == 0) {
		account.user_ns =
			usage.ru_utime.tv_sec * 1000000000 + usage.ru_utime.tv_usec * 1000;
		account.system_ns =
			usage.ru_stime.tv_sec * 1000000000 + usage.ru_stime.tv_usec * 1000;
		account.voluntary_switches = (uint64_t)usage.ru_nvcsw;
		account.involuntary_switches = (uint64_t)usage.ru_nivcsw;
		account.minor_faults = (uint64_t)usage.ru_minflt;
		account.major_faults = (uint64_t)usage.ru_majflt;
		SYS(prctl, PR_GET_NAME, account.name);
		sn_collect_cost(thread, (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
	} else if (!is_self && !sn_state->is_sealed) {
		sn_thread_times(thread->tid, &account.user_ns, &account.system_ns);
	}
	if (type == SN_RECORD_THREAD_END && now_ns - thread->start_ns > 5000000)
		account.wait_cpu_ns = sn_thread_wait_cpu_ns(thread->tid);
	struct sn_record_thread_account *record = sn_writer_reserve(writer, sizeof *record, now_ns);
	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	*record = account;
	sn_writer_commit(writer, sizeof *record);
}

void sn_thread_account_if_due(struct sn_thread *self, int64_t now_ns)
{
	if (now_ns < self->next_account_ns || sn_state->is_sealed)
		return;
	self->next_account_ns = now_ns + 1000000000;
	sn_thread_write_account(self, &self->writer, SN_RECORD_THREAD_ACCOUNT, now_ns);
}

void sn_thread_find_root(struct sn_thread *self)
{
	struct sn_unwind_regs regs;

	if (atomic_load_explicit(&sn_state->thread_root, memory_order_relaxed) ||
	    !sn_enter_call(self))
		return;
	sn_unwind_regs_here(&regs);
	uint32_t stack = sn_stack_capture(self, &regs, 0, false, self->start_ns);
	atomic_store_explicit(&sn_state->thread_root, stack, memory_order_relaxed);
	sn_leave_call(self);
}

void sn_thread_end(void)
{
	struct sn_thread *self = sn_self;

	if (!self || self->has_ended || !sn_enter(self))
		return;
	int64_t begin_ns = sn_now_ns();
	self->has_ended = 1;
	sn_writer_count_loss(&sn_state->file, SN_LOSS_REENTRY, self->late_count);
	sn_collect_thread_end(self, begin_ns);
	if (!sn_state->is_sealed)
		sn_collect_pause(self);
	uint32_t live = 1;
	if (atomic_compare_exchange_strong(&self->is_live, &live, 0)) {
		int64_t now_ns = sn_now_ns();
		sn_collect_account(self, &self->writer, now_ns, true);
		sn_thread_write_account(self, &self->writer, SN_RECORD_THREAD_END, now_ns);
	}
	sn_writer_release(&self->writer);
	uint32_t ended = atomic_fetch_add(&sn_state->ended_next, 1);
	atomic_store(&sn_state->ended_tids[ended % SN_ENDED_MAX], self->tid);
	atomic_fetch_sub(&sn_state->live_threads, 1);
	if ((!self->has_altstack || self->is_altstack_swapped) && !sn_state->is_sealed) {
		stack_t off = { .ss_flags = SS_DISABLE };
		SYS(sigaltstack, &off, NULL);
	}
	sn_self = NULL;
	sn_thread_give_back(self);
	sn_count_overhead(begin_ns);
}
