/* Finds the functions of calls/real.h. */
#include "runtime/calls/locks.h"
#include "runtime/calls/real.h"

#include <dlfcn.h>

struct sn_calls_real sn_calls_real;

#define FIND(name) sn_calls_real.real_##name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
#define FIND_VERSION(name, version)                                                                \
	found = dlvsym(RTLD_NEXT, #name, version);                                                 \
	if (found)                                                                                 \
		sn_calls_real.real_##name = (__typeof__(name) *)found;
#define CALL(group, type, name, parameters, arguments) FIND(name)

void sn_calls_resolve(void)
{
	void *found;

	SN_CALLS_BY_HAND(FIND)
#include "runtime/calls/list.h"
	SN_CALLS_OF_VERSION(FIND_VERSION)
}

static void tell_nobody(struct sn_thread *self, const struct sn_call *call)
{
	(void)self, (void)call;
}

void sn_calls_load(void)
{
	sn_calls.part_offset = sn_calls_collector.thread_offset;
	for (int i = 0; i < SN_COLLECTORS_MAX && sn_collectors[i]; i++) {
		__typeof__(&tell_nobody) before = sn_collectors[i]->before_call;
		__typeof__(&tell_nobody) after = sn_collectors[i]->after_call;
		sn_calls.before[i] = before ? before : tell_nobody;
		sn_calls.after[i] = after ? after : tell_nobody;
	}
	sn_calls_resolve();
	if (&__libc_single_threaded && __libc_single_threaded)
		sn_locks_leave();
}
