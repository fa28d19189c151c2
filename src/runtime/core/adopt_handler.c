/* How threads that began before our constructor become ours. */
#include "runtime/core/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "runtime/core/collector.h"
#include "runtime/core/parse.h"
#include "runtime/core/signals.h"

/*
 * Threads that were there before us, made by the constructor of a library that comes first. Our
 * constructor opens their events from outside, which disturbs nobody: a perf event of user mode
 * signals a thread that computes, and never one that is blocked in a system call.
 *
 * At its first signal, or its first call of a wrapper, the thread itself sets up what only it can:
 * its alternate stack, its mask, the bounds of its stack, the notice of its end.
 */

/* libc's own signals, 32 and 33, which no program can block: a thread that does is in libc, which
 * starts threads with all signals blocked. */
enum { LIBC_SIGNALS_SHIFT = 31 };

/* SigBlk of the thread; all of them if it cannot be had. */
static sn_sigset mask_of(int32_t tid)
{
	static const char name[] = "\nSigBlk:\t";
	char path[64] = "/proc/self/task/", text[4096];
	char *end = sn_format_number(path + sizeof "/proc/self/task/" - 1, (uint64_t)tid);

	sn_copy_text(end, "/status");
	sn_read_file_raw(path, text, sizeof text);
	for (const char *at = text; *at; at++) {
		const char *digits = at + sizeof name - 1;
		if (strncmp(at, name, sizeof name - 1) == 0)
			return sn_parse_hex(&digits);
	}
	return ~0ULL;
}

bool sn_adopt_is_starting(int32_t tid)
{
	return (mask_of(tid) >> LIBC_SIGNALS_SHIFT & 3) != 0;
}

/* A signal must not come while it is blocked: kernels before 5.18 kill the process for a perf
 * event's. */
void sn_adopt_open(struct sn_thread *thread)
{
	if (sn_config.settings.period_ns && !(mask_of(thread->tid) & SN_SIGNAL_BITS))
		sn_collect_resume(thread);
}

void sn_adopt_look_again(void)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	if (!atomic_load(&sn_state->awaited))
		return;
	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];
		uint32_t busy = 0;
		if (!thread || !atomic_load(&thread->is_awaited) ||
		    !atomic_compare_exchange_strong(&thread->busy, &busy, 1))
			continue;
		if (atomic_load(&thread->is_awaited) && !thread->is_collected)
			sn_adopt_open(thread);
		atomic_store_explicit(&thread->busy, 0, memory_order_release);
	}
}

static struct sn_thread *awaited_thread(int32_t tid)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];
		if (thread && thread->tid == tid && atomic_load(&thread->is_awaited))
			return thread;
	}
	return NULL;
}

struct sn_thread *sn_adopt_find(void)
{
	uint32_t busy = 0;

	if (!sn_is_active() || sn_state->is_sealed || !atomic_load(&sn_state->awaited))
		return NULL;
	struct sn_thread *thread = awaited_thread((int32_t)SYS(gettid));
	if (!thread || !atomic_compare_exchange_strong(&thread->busy, &busy, 1))
		return NULL;
	atomic_store(&thread->is_awaited, 0);
	atomic_fetch_sub(&sn_state->awaited, 1);
	return thread;
}

/* Reads /proc/self/maps a part at a time, since it has no upper size. */
struct maps {
	long fd;
	uint32_t at, length;
	char bytes[2048];
};

/* The first words of the next line, "START-END rwxp ..."; false at the end. */
static bool next_line(struct maps *maps, char *out, uint32_t out_bytes)
{
	uint32_t length = 0;

	for (;;) {
		if (maps->at == maps->length) {
			long got = SYS(read, maps->fd, maps->bytes, sizeof maps->bytes);
			if (got <= 0)
				return false;
			maps->at = 0;
			maps->length = (uint32_t)got;
		}
		char c = maps->bytes[maps->at++];
		if (c == '\n')
			break;
		if (length + 1 < out_bytes)
			out[length++] = c;
	}
	out[length] = '\0';
	return true;
}

/* The mapping that holds the address; false if none is found. */
static bool find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
	struct maps maps = { .fd = SYS(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	char line[64];
	bool is_found = false;

	while (maps.fd >= 0 && !is_found && next_line(&maps, line, sizeof line)) {
		const char *text = line;
		*start = sn_parse_hex(&text);
		text += *text == '-';
		*end = sn_parse_hex(&text);
		is_found = address >= *start && address < *end;
	}
	if (maps.fd >= 0)
		SYS(close, maps.fd);
	return is_found;
}

/* The thread's control block lies at the upper end of its stack, which is one mapping down to the
 * guard. Where the thread runs on another stack at the moment, the block still tells. */
static void find_stack(struct sn_thread *self, uint64_t sp)
{
	uint64_t block = (uint64_t)pthread_self(), start, end;

	if (!find_mapping(block - 1, &start, &end) || sp < start || sp >= block) {
		if (!find_mapping(sp, &start, &end)) {
			start = sp & ~4095UL;
			end = start + 4096;
		}
	}
	self->stack_start = start;
	self->stack_end = block > start && block < end ? block : end;
}

static void adopt_altstack(struct sn_thread *self, stack_t *kernel)
{
	if (kernel->ss_flags & SS_DISABLE) {
		*kernel = (stack_t){ .ss_sp = self->handler_stack_top - SN_STACK_BYTES,
				     .ss_size = SN_STACK_BYTES };
		return;
	}
	self->has_altstack = 1;
	self->altstack_start = (uint64_t)(uintptr_t)kernel->ss_sp;
	self->altstack_end = self->altstack_start + kernel->ss_size;
	self->altstack_flags = kernel->ss_flags & ~SS_ONSTACK;
	self->is_muted = kernel->ss_size < sn_config.signal_frame_bytes + 1024;
}

void sn_adopt_in_signal(struct sn_thread *self, ucontext_t *context)
{
	sn_sigset mask;

	sn_self = self;
	find_stack(self, (uint64_t)context->uc_mcontext.gregs[REG_RSP]);
	/* both are the kernel's when the handler returns */
	adopt_altstack(self, &context->uc_stack);
	__builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
	self->blocked = mask & SN_SIGNAL_BITS;
	mask = self->is_muted ? mask | SN_SIGNAL_BITS : mask & ~SN_SIGNAL_BITS;
	__builtin_memcpy(&context->uc_sigmask, &mask, sizeof mask);
	sn_pthread_note_end();
}

struct sn_thread *sn_adopt_in_call(void)
{
	int saved_errno = errno;
	struct sn_thread *self = sn_adopt_find();
	stack_t kernel = { 0 };

	if (!self)
		return NULL;
	sn_self = self;
	find_stack(self, (uint64_t)(uintptr_t)__builtin_frame_address(0));
	SYS(sigaltstack, NULL, &kernel);
	adopt_altstack(self, &kernel);
	if (!self->has_altstack)
		SYS(sigaltstack, &kernel, NULL);
	sn_pthread_note_end();
	if (self->is_muted) {
		sn_sigset ours = SN_SIGNAL_BITS;
		SYS(rt_sigprocmask, SIG_BLOCK, &ours, &self->blocked, 8);
		self->blocked &= SN_SIGNAL_BITS;
	} else {
		sn_signals_unblock(self);
		if (!self->is_collected)
			sn_collect_resume(self);
	}
	sn_leave(self);
	errno = saved_errno;
	return self;
}
