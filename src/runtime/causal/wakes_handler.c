/* Wrappers of what lets other threads go on: the caller pays first what it owes. They are called in
 * signals' handlers, too (sem_post). */
#include "runtime/causal/wakes.h"

#include "runtime/causal/causal.h"

#define WAKE_AFTER(before, type, name, parameters, arguments)                                      \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		sn_causal_meet();                                                                  \
		if (__builtin_expect(!sn_causal_real.name, 0))                                     \
			sn_causal_find_real();                                                     \
		before;                                                                            \
		return sn_causal_real.name arguments;                                              \
	}
#define WAKE(type, name, parameters, arguments)                                                    \
	WAKE_AFTER((void)0, type, name, parameters, arguments)
#define RELEASE(type, name, parameters, arguments)                                                 \
	WAKE_AFTER(sn_causal_release(lock), type, name, parameters, arguments)
SN_CAUSAL_RELEASES(RELEASE)
SN_CAUSAL_WAKES(WAKE)

#define TEAM_WAIT(type, name, parameters, arguments)                                               \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		if (sn_causal_is_due())                                                            \
			sn_causal_pay();                                                           \
		if (!sn_causal_real.name)                                                          \
			sn_causal_find_real();                                                     \
		sn_causal_wait_begins();                                                           \
		sn_causal_real.name arguments;                                                     \
		sn_causal_wait_is_over();                                                          \
	}
SN_CAUSAL_TEAM_WAITS(TEAM_WAIT)
