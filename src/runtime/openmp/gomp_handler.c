/*
 * libgomp: a compiler that meets `#pragma omp parallel` calls GOMP_parallel*(body, data, ...). We
 * hand on our own body, which remembers the region while the program's runs.
 */
#include "runtime/openmp/regions.h"

#include "runtime/core/next.h"
#include "runtime/openmp/ompt.h"

typedef void (*region_body)(void *);

/* A return address in this function tells a worker's stack: see sn_region_is_trampoline. */
__attribute__((noinline, used)) static void run_body(void *argument)
{
	struct sn_region *region = argument;
	struct sn_thread *self = sn_self;
	struct sn_region *outer = self ? sn_openmp_of(self)->region : NULL;

	if (self)
		sn_openmp_of(self)->region = region;
	struct sn_openmp_before before;
	if (region->team)
		sn_openmp_tracer->begin(region, &before);
	sn_collect_wait_is_over();
	region->body(region->argument);
	if (region->team)
		sn_openmp_tracer->end(region, &before);
	sn_collect_wakes(); /* a barrier follows */
	sn_collect_wait_begins();
	/* the stack must still hold this frame while the body runs: no tail call */
	if (self)
		sn_openmp_of(self)->region = outer;
	__asm__ volatile("");
}

/* run_body is short; the function that follows it in the file bounds it. */
__attribute__((noinline, used)) static void after_run_body(void)
{
	__asm__ volatile("");
}

bool sn_region_is_trampoline(uint64_t pc)
{
	uint64_t start = (uint64_t)(uintptr_t)run_body, end = (uint64_t)(uintptr_t)after_run_body;

	return end > start ? pc - start < end - start : pc - start < 512;
}

/* Fills the region from the wrapper that this is inlined into. False: call the real one plainly. */
static inline __attribute__((always_inline)) bool open_region(struct sn_region *region,
							      region_body body, void *argument)
{
	struct sn_thread *self = sn_self;

	if (!self || !sn_is_active() || sn_config.settings.is_openmp_off)
		return false;
	sn_unwind_regs_here(&region->regs);
	uint64_t sp = region->regs.value[SN_UNWIND_RSP];
	region->stack_end = sp >= self->stack_start && sp < self->stack_end ? self->stack_end : 0;
	region->outer = sn_openmp_of(self)->region;
	region->is_exact = true;
	atomic_store_explicit(&region->stack, 0, memory_order_relaxed);
	region->body = body;
	region->argument = argument;
	region->team = NULL;
	if (sn_openmp_tracer && !sn_ompt_has_library())
		sn_openmp_tracer->open(region, (uint64_t)(uintptr_t)__builtin_return_address(0),
				       (uint64_t)(uintptr_t)body);
	return true;
}

#define WITH_REGION(body, argument, call_plain, call_region)                                       \
	do {                                                                                       \
		struct sn_region region;                                                           \
		if (!open_region(&region, body, argument)) {                                       \
			call_plain;                                                                \
			return;                                                                    \
		}                                                                                  \
		sn_collect_wakes();                                                                \
		sn_collect_wait_begins();                                                          \
		call_region;                                                                       \
		sn_collect_wait_is_over();                                                         \
		if (region.team)                                                                   \
			sn_openmp_tracer->close(&region);                                          \
		__asm__ volatile("" : : "r"(&region) : "memory");                                  \
	} while (0)

void GOMP_parallel(region_body, void *, unsigned, unsigned);
SN_EXPORT void GOMP_parallel(region_body body, void *argument, unsigned threads, unsigned flags)
{
	__auto_type next = SN_NEXT(GOMP_parallel);

	WITH_REGION(body, argument, next(body, argument, threads, flags),
		    next(run_body, &region, threads, flags));
}

/* The worksharing forms all take (body, data, threads, start, end, step, [chunk,] flags). */
#define LOOP_WITH_CHUNK(name)                                                                      \
	void name(region_body, void *, unsigned, long, long, long, long, unsigned);                \
	SN_EXPORT void name(region_body body, void *argument, unsigned threads, long start,        \
			    long end, long step, long chunk, unsigned flags)                       \
	{                                                                                          \
		__auto_type next = SN_NEXT(name);                                                  \
		WITH_REGION(body, argument,                                                        \
			    next(body, argument, threads, start, end, step, chunk, flags),         \
			    next(run_body, &region, threads, start, end, step, chunk, flags));     \
	}
#define LOOP_WITHOUT_CHUNK(name)                                                                   \
	void name(region_body, void *, unsigned, long, long, long, unsigned);                      \
	SN_EXPORT void name(region_body body, void *argument, unsigned threads, long start,        \
			    long end, long step, unsigned flags)                                   \
	{                                                                                          \
		__auto_type next = SN_NEXT(name);                                                  \
		WITH_REGION(body, argument,                                                        \
			    next(body, argument, threads, start, end, step, flags),                \
			    next(run_body, &region, threads, start, end, step, flags));            \
	}
LOOP_WITH_CHUNK(GOMP_parallel_loop_static)
LOOP_WITH_CHUNK(GOMP_parallel_loop_dynamic)
LOOP_WITH_CHUNK(GOMP_parallel_loop_guided)
LOOP_WITH_CHUNK(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP_WITH_CHUNK(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

void GOMP_parallel_sections(region_body, void *, unsigned, unsigned, unsigned);
SN_EXPORT void GOMP_parallel_sections(region_body body, void *argument, unsigned threads,
				      unsigned count, unsigned flags)
{
	__auto_type next = SN_NEXT(GOMP_parallel_sections);

	WITH_REGION(body, argument, next(body, argument, threads, count, flags),
		    next(run_body, &region, threads, count, flags));
}

unsigned GOMP_parallel_reductions(region_body, void *, unsigned, unsigned);
SN_EXPORT unsigned GOMP_parallel_reductions(region_body body, void *argument, unsigned threads,
					    unsigned flags)
{
	__auto_type next = SN_NEXT(GOMP_parallel_reductions);
	struct sn_region region;

	/* libgomp reads its reductions from the data itself, so the body alone cannot be swapped */
	(void)region;
	return next(body, argument, threads, flags);
}
