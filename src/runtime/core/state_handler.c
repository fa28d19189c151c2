/* What all share (core/runtime.h), and the clocks. */
#include "runtime/core/runtime.h"

static struct sn_state state_before_start;

struct sn_config sn_config;
struct sn_state *sn_state = &state_before_start;
__thread struct sn_thread *sn_self __attribute__((tls_model("initial-exec")));

int64_t sn_clock_ns(clockid_t clock)
{
	struct timespec time = { 0 };

	if (sn_config.clock_gettime)
		sn_config.clock_gettime(clock, &time);
	else if (!sn_state->is_sealed)
		SYS(clock_gettime, clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int64_t sn_now_ns(void)
{
	return sn_clock_ns(CLOCK_MONOTONIC);
}

/* (~tid << 3) | per-thread (4) | sched (2) */
int32_t sn_thread_clock(int32_t tid)
{
	return tid ? (int32_t)((~(uint32_t)tid << 3) | 6u) : CLOCK_THREAD_CPUTIME_ID;
}

int64_t sn_thread_cpu_ns(int32_t tid)
{
	struct timespec time;

	if (sn_state->is_sealed || SYS(clock_gettime, sn_thread_clock(tid), &time) != 0)
		return -1;
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

uint16_t sn_current_cpu(void)
{
	unsigned cpu = 0;

	if (sn_config.getcpu)
		sn_config.getcpu(&cpu, NULL, NULL);
	return (uint16_t)cpu;
}
