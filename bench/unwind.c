/**
 * Cost of a stack walk, per frame: ours cold (rows decoded) and warm (rows cached), glibc's
 * backtrace() and libunwind's unw_backtrace(), interleaved, medians of CPU time.
 *
 *	build/bench/bench_unwind [FRAMES [ROUNDS]]
 *
 * The frames are 32 different functions of several shapes, without frame pointers, called in a
 * cycle. Runs in under two seconds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/unwind/here.h"
#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

enum { OURS_WARM, OURS_COLD, GLIBC, LIBUNWIND, LIBUNWIND_STEP, METHOD_COUNT };
#define ROUNDS_MAX 200

static const char *const method_name[METHOD_COUNT] = { "sonde, rows cached", "sonde, cold",
						       "glibc backtrace()", "libunwind backtrace",
						       "libunwind unw_step" };
static double cost_ns[METHOD_COUNT][ROUNDS_MAX];
static int frame_count[METHOD_COUNT];
static int rounds = 60;
static struct here here;
static struct sn_unwind_cache *cache;
static int (*glibc_backtrace)(void **, int); /* libunwind exports a function of the same name */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/** libunwind's general interface, the one that starts from a signal's context. */
static int step_by_step(void)
{
	int count = 0;
#ifdef HAVE_LIBUNWIND
	unw_cursor_t cursor;
	unw_context_t context;
	unw_word_t pc;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		count++;
	} while (unw_step(&cursor) > 0);
#endif
	return count;
}

static int walk_once(int method)
{
	static uint64_t pcs[512];
	struct sn_unwind_walk_result result;
	struct sn_unwind_regs regs;

	switch (method) {
	case GLIBC:
		return glibc_backtrace((void **)pcs, 512);
	case LIBUNWIND:
#ifdef HAVE_LIBUNWIND
		return unw_backtrace((void **)pcs, 512);
#else
		return 0;
#endif
	case LIBUNWIND_STEP:
		return step_by_step();
	default:
		sn_unwind_regs_here(&regs);
		return (int)sn_unwind_walk(&here.target, &regs, method == OURS_WARM ? cache : NULL,
					   pcs, 512, &result);
	}
}

static __attribute__((noinline)) int measure(void)
{
	static const int repeats[METHOD_COUNT] = { 400, 50, 50, 200, 10 };

	for (int round = 0; round < rounds; round++) {
		for (int method = 0; method < METHOD_COUNT; method++) {
			double start = now_ns();

			for (int i = 0; i < repeats[method]; i++)
				frame_count[method] = walk_once(method);
			cost_ns[method][round] = (now_ns() - start) / repeats[method];
		}
	}
	return rounds;
}

/* A function that keeps `saved` values over its call and has `bytes` of locals. */
typedef int (*level_function)(int depth);
static level_function levels[32];

#define LEVEL(number, bytes, saved)                                                                \
	static __attribute__((noinline)) int level_##number(int depth)                             \
	{                                                                                          \
		volatile char room[bytes];                                                         \
		int values[saved], sum;                                                            \
		for (int i = 0; i < saved; i++)                                                    \
			__asm__ volatile("" : "=r"(values[i]) : "0"(depth * i));                   \
		room[0] = (char)depth;                                                             \
		sum = depth == 0 ? measure() : levels[(number + 1) % 32](depth - 1);               \
		for (int i = 0; i < saved; i++)                                                    \
			__asm__ volatile("" : "+r"(sum) : "r"(values[i]));                         \
		return sum + room[0];                                                              \
	}
#define FOUR(a, b, c, d) LEVEL(a, 8, 1) LEVEL(b, 200, 3) LEVEL(c, 40, 5) LEVEL(d, 1000, 2)
/* clang-format off */
FOUR(0, 1, 2, 3)
FOUR(4, 5, 6, 7)
FOUR(8, 9, 10, 11)
FOUR(12, 13, 14, 15)
FOUR(16, 17, 18, 19) FOUR(20, 21, 22, 23) FOUR(24, 25, 26, 27) FOUR(28, 29, 30, 31)
	/* clang-format on */

	static level_function levels[32] = {
		level_0,  level_1,  level_2,  level_3,	level_4,  level_5,  level_6,  level_7,
		level_8,  level_9,  level_10, level_11, level_12, level_13, level_14, level_15,
		level_16, level_17, level_18, level_19, level_20, level_21, level_22, level_23,
		level_24, level_25, level_26, level_27, level_28, level_29, level_30, level_31,
	};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static uint8_t memory[32768] __attribute__((aligned(64)));
	int frames = argc > 1 ? atoi(argv[1]) : 37;

	if (argc > 2 && atoi(argv[2]) > 0 && atoi(argv[2]) < ROUNDS_MAX)
		rounds = atoi(argv[2]);
	cache = sn_unwind_cache_place(memory, sizeof(memory));
	here_fill(&here);
	glibc_backtrace = (int (*)(void **, int))dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
	if (!glibc_backtrace)
		return 1;
	level_0(frames > 6 ? frames - 6 : 0);
	for (int method = 0; method < METHOD_COUNT; method++) {
		double *cost = cost_ns[method];

		qsort(cost, (size_t)rounds, sizeof(*cost), by_value);
		printf("%-20s %3d frames  %8.0f ns a walk  %6.1f ns a frame  (best %.1f)\n",
		       method_name[method], frame_count[method], cost[rounds / 2],
		       cost[rounds / 2] / (frame_count[method] ? frame_count[method] : 1),
		       cost[0] / (frame_count[method] ? frame_count[method] : 1));
	}
	return 0;
}
