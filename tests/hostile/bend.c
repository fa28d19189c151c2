/* A preload that bends every clock it can: a year ahead, and running three times as fast. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void bend(struct timespec *time)
{
	long long ns = (time->tv_sec * 1000000000LL + time->tv_nsec) * 3;

	time->tv_sec = ns / 1000000000 + 365 * 86400;
	time->tv_nsec = ns % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	long result = syscall(SYS_clock_gettime, clock, time);

	if (result == 0)
		bend(time);
	return (int)result;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}
