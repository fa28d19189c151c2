/*
 * Constructs of LLVM's libomp, and of what descends from it, by its tools interface (OMPT). The barrier at a
 * region's end is told of by callbacks as others are; the workers hear of its end only when their next
 * region begins. So its begin is the end of the thread's body.
 */
#include <dlfcn.h>

#include "runtime/openmp/ompt.h"
#include "runtime/openmp/trace.h"

enum { SCOPE_BEGIN = 1, SCOPE_END = 2 };

enum { /* ompt_sync_region_t */
       SYNC_BARRIER = 1,
       SYNC_IMPLICIT,
       SYNC_EXPLICIT,
       SYNC_IMPLEMENTATION,
       SYNC_TASKWAIT,
       SYNC_TASKGROUP,
       SYNC_REDUCTION,
       SYNC_WORKSHARE,
       SYNC_PARALLEL,
       SYNC_TEAMS,
};

enum { /* ompt_mutex_t */
       MUTEX_LOCK = 1,
       MUTEX_TEST_LOCK,
       MUTEX_NEST_LOCK,
       MUTEX_TEST_NEST_LOCK,
       MUTEX_CRITICAL,
       MUTEX_ATOMIC,
       MUTEX_ORDERED,
};

enum { WORK_LOOP = 1, WORK_SECTIONS, WORK_SINGLE_EXECUTOR, WORK_STATIC = 10, WORK_GUIDED = 12 };
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3, TASK_DETACH = 4, TASK_SWITCH = 7, TASK_EXPLICIT = 4 };

static uint64_t pc_of(const void *return_address)
{
	return (uint64_t)(uintptr_t)return_address;
}

void sn_ompt_trace_implicit_task(const struct sn_region *region, bool is_begin, unsigned index)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();
	struct sn_openmp_before *before;

	(void)index;
	if (!worker)
		return;
	if (is_begin) {
		before = worker->before_count < SN_REGIONS_MAX
				 ? &worker->before[worker->before_count]
				 : NULL;
		worker->before_count++;
		if (!before)
			return;
		before->is_over = !region || !region->team;
		if (!before->is_over)
			sn_openmp_begin_body(region, before);
	} else if (worker->before_count && worker->before_count-- <= SN_REGIONS_MAX) {
		/* of a team of one no barrier is told */
		before = &worker->before[worker->before_count];
		if (!before->is_over && worker->team)
			sn_openmp_end_body(worker, before);
		before->is_over = true;
	}
}

static enum sn_openmp_construct construct_of(int kind)
{
	switch (kind) {
	case SYNC_IMPLICIT:
	case SYNC_WORKSHARE:
	case SYNC_IMPLEMENTATION:
		return SN_OPENMP_IMPLICIT;
	case SYNC_TASKWAIT:
		return SN_OPENMP_TASKWAIT;
	case SYNC_TASKGROUP:
		return SN_OPENMP_TASKGROUP;
	default:
		return SN_OPENMP_BARRIER;
	}
}

/* Of workers the place is not told there, of the one who opened the region it is the region's. */
static bool is_region_end(const struct sn_openmp_worker *worker, int kind, uint64_t pc)
{
	return kind == SYNC_PARALLEL || kind == SYNC_TEAMS ||
	       (kind == SYNC_IMPLICIT && worker->team && (!pc || pc == worker->team->pc));
}

static void on_wait(int kind, int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
		    const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();
	uint64_t pc = pc_of(return_address);
	struct sn_openmp_before *before;

	(void)parallel, (void)task;
	if (!worker)
		return;
	before = worker->before_count && worker->before_count <= SN_REGIONS_MAX
			 ? &worker->before[worker->before_count - 1]
			 : NULL;
	if (is_region_end(worker, kind, pc)) {
		if (endpoint == SCOPE_BEGIN && before && !before->is_over && worker->team) {
			before->is_over = true;
			sn_openmp_end_body(worker, before);
		}
	} else if (endpoint == SCOPE_BEGIN) {
		sn_openmp_wait_begins(worker);
	} else {
		sn_openmp_wait_ends(worker, construct_of(kind), pc);
	}
}

static enum sn_openmp_construct construct_of_mutex(int kind)
{
	return kind == MUTEX_CRITICAL  ? SN_OPENMP_CRITICAL
	       : kind == MUTEX_ATOMIC  ? SN_OPENMP_ATOMIC
	       : kind == MUTEX_ORDERED ? SN_OPENMP_ORDERED
				       : SN_OPENMP_LOCK;
}

static const void *object_of(uint64_t wait_id)
{
	return (const void *)(uintptr_t)wait_id;
}

static void on_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
		       const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)hint, (void)implementation, (void)wait_id, (void)return_address;
	if (worker && kind != MUTEX_TEST_LOCK && kind != MUTEX_TEST_NEST_LOCK)
		sn_openmp_wait_begins(worker);
}

static void on_acquired(int kind, uint64_t wait_id, const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();
	enum sn_openmp_construct construct = construct_of_mutex(kind);

	if (!worker)
		return;
	if (kind == MUTEX_TEST_LOCK || kind == MUTEX_TEST_NEST_LOCK)
		sn_openmp_met(worker, construct, pc_of(return_address));
	else
		sn_openmp_wait_ends(worker, construct, pc_of(return_address));
	sn_openmp_hold(worker, construct, object_of(wait_id), pc_of(return_address));
}

static void on_released(int kind, uint64_t wait_id, const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)return_address;
	if (worker)
		sn_openmp_release(worker, construct_of_mutex(kind), object_of(wait_id));
}

/* Taken once more by the thread that has it. */
static void on_nested_lock(int endpoint, uint64_t wait_id, const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)wait_id;
	if (worker && endpoint == SCOPE_BEGIN)
		sn_openmp_wait_ends(worker, SN_OPENMP_LOCK, pc_of(return_address));
}

static void on_work(int kind, int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
		    uint64_t times, const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)parallel, (void)task, (void)times;
	if (worker && endpoint != SCOPE_BEGIN &&
	    (kind == WORK_SECTIONS || kind == WORK_SINGLE_EXECUTOR))
		sn_openmp_block_ends(worker);
	if (!worker || endpoint != SCOPE_BEGIN)
		return;
	if (kind == WORK_LOOP || (kind >= WORK_STATIC && kind <= WORK_GUIDED + 1))
		sn_openmp_met(worker, SN_OPENMP_LOOP, pc_of(return_address));
	else if (kind == WORK_SECTIONS)
		sn_openmp_block_begins(worker, SN_OPENMP_SECTIONS, pc_of(return_address));
	else if (kind == WORK_SINGLE_EXECUTOR)
		sn_openmp_block_begins(worker, SN_OPENMP_SINGLE, pc_of(return_address));
}

static void on_masked(int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
		      const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)parallel, (void)task;
	if (worker && endpoint == SCOPE_BEGIN)
		sn_openmp_block_begins(worker, SN_OPENMP_MASKED, pc_of(return_address));
	else if (worker)
		sn_openmp_block_ends(worker);
}

static void on_reduction(int kind, int endpoint, union sn_ompt_data *parallel,
			 union sn_ompt_data *task, const void *return_address)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	(void)kind, (void)parallel, (void)task;
	if (worker && endpoint == SCOPE_BEGIN && return_address)
		sn_openmp_met(worker, SN_OPENMP_REDUCTION, pc_of(return_address));
}

/* A task's data are where it was made. */
static void on_task_create(union sn_ompt_data *task, const void *frame, union sn_ompt_data *made,
			   int flags, int has_dependences, const void *return_address)
{
	(void)task, (void)frame, (void)has_dependences;
	if (flags & TASK_EXPLICIT)
		made->value = pc_of(return_address);
}

static void on_task_schedule(union sn_ompt_data *prior, int status, union sn_ompt_data *next)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	if (!worker)
		return;
	if (status == TASK_COMPLETE || status == TASK_CANCEL || status == TASK_DETACH) {
		if (!worker->task_count)
			return;
		if (--worker->task_count < SN_OPENMP_TASKS)
			sn_openmp_task_ends(worker, &worker->tasks[worker->task_count],
					    prior->value);
	} else if (status == TASK_SWITCH && next && next->value) {
		if (worker->task_count < SN_OPENMP_TASKS)
			sn_openmp_task_begins(worker, &worker->tasks[worker->task_count]);
		worker->task_count++;
	}
}

void *sn_kmpc_opens(uint64_t microtask, unsigned which)
{
	static const char *const names[] = { "__kmpc_fork_call", "__kmpc_fork_call_if" };
	static _Atomic(void *) found[2];
	struct sn_openmp_worker *worker = sn_openmp_worker();
	void *next = atomic_load_explicit(&found[which], memory_order_relaxed);

	if (!next) {
		next = dlsym(RTLD_NEXT, names[which]);
		atomic_store_explicit(&found[which], next, memory_order_relaxed);
	}
	if (worker)
		worker->microtask = microtask;
	return next;
}

void sn_ompt_trace_ask(int (*set)(int event, void (*callback)(void)))
{
	static const struct {
		int event; /* ompt_callbacks_t */
		void *callback;
	} events[] = {
		{ 5, (void *)on_task_create },	{ 6, (void *)on_task_schedule },
		{ 16, (void *)on_wait },	{ 17, (void *)on_released },
		{ 20, (void *)on_work },	{ 21, (void *)on_masked },
		{ 26, (void *)on_acquire },	{ 27, (void *)on_acquired },
		{ 28, (void *)on_nested_lock }, { 31, (void *)on_reduction },
	};

	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		set(events[i].event, (void (*)(void))events[i].callback);
}
