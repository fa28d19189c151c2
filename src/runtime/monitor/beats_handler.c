/*
 * A heartbeat that bounds the phase. The heartbeat library asks at each registration whether a name is
 * watched, and calls for those that are, from its slow path (src/runtime/heartbeat).
 */
#include <errno.h>

#include "runtime/monitor/monitor.h"

SN_EXPORT int sonde_monitor_watches(const char *heartbeat);
SN_EXPORT void sonde_monitor_beat(const char *heartbeat, int ends);

int sonde_monitor_watches(const char *heartbeat)
{
	const char *wanted = sn_monitor_here.beat;

	if (!sn_monitor_here.segment || !*wanted)
		return 0;
	while (*wanted && *heartbeat == *wanted) {
		heartbeat++;
		wanted++;
	}
	return *heartbeat == *wanted;
}

void sonde_monitor_beat(const char *heartbeat, int ends)
{
	struct sn_thread *self = sn_self_in_call();
	int saved_errno = errno;

	(void)heartbeat;
	if (!sn_monitor_here.segment || !sn_enter(self))
		return;
	if (ends)
		sn_monitor_end(self, 1, sn_now_ns());
	else
		sn_monitor_begin(self, sn_now_ns());
	sn_leave(self);
	errno = saved_errno;
}
