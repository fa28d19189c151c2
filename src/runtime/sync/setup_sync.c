/* Finds the functions of sync.h, and makes locks be traced where that is asked for. */
#include "runtime/sync/sync.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime/calls/locks.h"
#include "runtime/calls/real.h"

struct sn_sync_real sn_sync_real;

#define FIND(name, parameters, symbol)                                                             \
	sn_sync_real.name = (__typeof__(sn_sync_real.name))dlsym(RTLD_NEXT, symbol);

void sn_sync_resolve(void)
{
	SN_SYNC_REAL(FIND)
}

/* The least wait by the Collector's rule: six times what a lock and its release take without one. */
static uint64_t calibrate(void)
{
	enum { ROUNDS = 1000, TIMES = 6 };
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	uint64_t least = UINT64_MAX;

	for (int repeat = 0; repeat < 5; repeat++) {
		uint64_t begin = __builtin_ia32_rdtsc();
		for (int i = 0; i < ROUNDS; i++) {
			REAL_CALL(pthread_mutex_lock)(&mutex);
			sn_sync_real.mutex_unlock(&mutex);
		}
		uint64_t ticks = __builtin_ia32_rdtsc() - begin;
		least = ticks < least ? ticks : least;
	}
	return least * TIMES / ROUNDS + 1;
}

static bool install(enum sn_data_origin origin)
{
	enum sn_sync_mode mode = sn_config.settings.sync;

	if (mode == SN_SYNC_OFF)
		return true;
	memset(&sn_sync_state, 0, sizeof sn_sync_state);
	if (!sn_paths_open() || !sn_trace_open(origin, SN_TRACE_SYNC)) {
		sn_warn("there was no room for a trace: locks were not traced");
		return true;
	}
	if (!sn_sync_real.mutex_unlock)
		sn_sync_resolve();
	if (mode == SN_SYNC_CALIBRATED)
		sn_sync_state.min_ticks = calibrate();
	sn_locks_trace(&sn_sync_locks);
	atomic_store_explicit(&sn_sync_state.is_on, 1, memory_order_release);
	return true;
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	(void)origin;
	if (!atomic_load_explicit(&sn_sync_state.is_on, memory_order_relaxed) &&
	    sn_config.settings.sync == SN_SYNC_OFF)
		return;
	memset(sn_sync_of(thread), 0, offsetof(struct sn_sync_thread, paths.frames));
	sn_calls_ask(thread, &sn_sync_collector,
		     1u << SN_WAIT_LOCK | 1u << SN_WAIT_CONDITION | 1u << SN_WAIT_JOIN |
			     1u << SN_WAIT_OTHER,
		     true);
}

struct sn_collector sn_sync_collector = {
	.name = "sync",
	.scratch_bytes = sizeof(struct sn_sync_thread),
	.load = sn_sync_resolve,
	.install = install,
	.thread_begin = begin_thread,
	.thread_end = sn_sync_end_thread,
	.account = sn_sync_account,
	.before_call = sn_sync_before_call,
	.after_call = sn_sync_after_call,
};
