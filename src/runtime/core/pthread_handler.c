/* Threads are made and end here, and modules go: wrappers of pthread_create, thrd_create, dlclose. */
#include "runtime/core/collector.h"

#include <errno.h>

#include "runtime/core/real.h"
#include "runtime/core/signals.h"

static pthread_key_t end_key;
static bool has_end_key;
static size_t default_stack_bytes;

/* Destructors of keys run in rounds; ours puts itself off until the last one, so that what the
 * target's own destructors do is measured too. */
static void end_of_thread(void *value)
{
	uintptr_t round = (uintptr_t)value;

	if (round < 4 && pthread_setspecific(end_key, (void *)(round + 1)) == 0)
		return;
	sn_thread_end();
}

void sn_pthread_start(void)
{
	struct rlimit limit;

	has_end_key = pthread_key_create(&end_key, end_of_thread) == 0;
	default_stack_bytes = 8 << 20;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		default_stack_bytes = limit.rlim_cur;
}

/* Keys of the first block lie in the thread itself; for others libc would allocate. */
void sn_pthread_note_end(void)
{
	enum { FIRST_BLOCK = 32 };

	if (has_end_key && end_key < FIRST_BLOCK)
		pthread_setspecific(end_key, (void *)1);
}

static void *begin(void *argument)
{
	struct sn_thread *self = argument;
	void *(*start)(void *) = self->start;
	void *start_argument = self->start_argument;

	/* the process may have forked or ended its measuring since */
	if (sn_is_active()) {
		int64_t begin_ns = sn_now_ns();
		sn_thread_begin(self, false);
		sn_thread_find_root(self);
		if (has_end_key)
			pthread_setspecific(end_key, (void *)1);
		if (!sn_state->is_sealed && sn_config.settings.period_ns) {
			if (self->is_muted) {
				sn_sigset ours = SN_SIGNAL_BITS;
				self->is_muted = 0;
				SYS(rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, 8);
			}
			sn_collect_resume(self);
		}
		sn_count_overhead(begin_ns);
	}
	return start(start_argument);
}

static uint64_t stack_bytes_of(const pthread_attr_t *attr)
{
	size_t bytes = default_stack_bytes;

	if (attr)
		pthread_attr_getstacksize(attr, &bytes);
	return bytes;
}

SN_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *argument)
{
	struct sn_thread *self = sn_self_in_call(), *child;

	sn_collect_share();
	if (sn_is_active() && sn_state->is_sealed)
		sn_lose(SN_LOSS_SECCOMP);
	if (!sn_is_active() || !self || sn_state->is_sealed || !(child = sn_thread_new()))
		return REAL(pthread_create)(thread, attr, start, argument);
	child->start = start;
	child->start_argument = argument;
	child->creator_index = self->index;
	child->blocked = self->blocked;
	child->is_muted = self->is_muted;
	child->stack_bytes = stack_bytes_of(attr);
	atomic_fetch_add(&sn_state->live_threads, 1);
	child->made_ns = sn_now_ns();
	int result = REAL(pthread_create)(thread, attr, begin, child);
	if (result != 0) {
		atomic_fetch_sub(&sn_state->live_threads, 1);
		sn_thread_give_back(child);
	}
	return result;
}

struct c11_start {
	thrd_start_t function;
	void *argument;
	_Atomic bool is_taken;
};

/* thrd_create calls pthread_create inside libc, past us: so it is made of ours. */
static void *begin_c11(void *argument)
{
	struct c11_start *handed = argument, start = *handed;

	atomic_store_explicit(&handed->is_taken, true, memory_order_release);
	return (void *)(intptr_t)start.function(start.argument);
}

SN_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	/* the new thread takes its copy while we wait: nothing needs to be allocated */
	struct c11_start start = { function, argument, false };
	int result = pthread_create(thread, NULL, begin_c11, &start);

	if (result == ENOMEM)
		return thrd_nomem;
	if (result != 0)
		return thrd_error;
	while (!atomic_load_explicit(&start.is_taken, memory_order_acquire))
		SYS(sched_yield);
	return thrd_success;
}

SN_EXPORT int dlclose(void *handle)
{
	struct sn_thread *self = sn_self;

	if (!sn_is_active() || !self)
		return REAL(dlclose)(handle);
	/* no handler may read tables of a module while it goes */
	atomic_fetch_add(&sn_state->is_closing, 1);
	uint32_t count = atomic_load(&sn_state->next_block);
	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];
		while (thread && thread != self && atomic_load(&thread->is_walking))
			SYS(sched_yield);
	}
	int result = REAL(dlclose)(handle);
	if (sn_enter_call(self)) {
		sn_modules_refresh();
		sn_leave_call(self);
	}
	atomic_fetch_sub(&sn_state->is_closing, 1);
	return result;
}
