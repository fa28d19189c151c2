/*
 * Constructs of GCC's libgomp, by wrapping its entry points: what waits, and tasks. A call of the library's
 * own does not come here.
 */
#include <string.h>

#include "runtime/core/next.h"
#include "runtime/openmp/ompt.h"
#include "runtime/openmp/trace.h"

#define RETURNS_TO ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* Programs may ask for a function weakly, and find ours where there is no OpenMP. */
#define FUNCTION(type, name, parameters, arguments, before, after, absent)                         \
	type name parameters;                                                                      \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		__auto_type next = SN_NEXT(name);                                                  \
		struct sn_openmp_worker *worker =                                                  \
			sn_ompt_has_library() ? NULL : sn_openmp_worker();                         \
		if (!next)                                                                         \
			return absent;                                                             \
		if (!worker)                                                                       \
			return next arguments;                                                     \
		before;                                                                            \
		after;                                                                             \
	}

#define WAITS		  sn_openmp_wait_begins(worker)
#define WAITED(construct) sn_openmp_wait_ends(worker, SN_OPENMP_##construct, RETURNS_TO)

/* ---- barriers ---- */

#define MEETS (sn_openmp_block_ends(worker), WAITS)
#define BARRIER(name, construct)                                                                   \
	FUNCTION(void, name, (void), (), MEETS, (next(), WAITED(construct)), )
#define BARRIER_BOOL(name, construct)                                                              \
	FUNCTION(bool, name, (void), (), MEETS, bool is = next(); WAITED(construct);               \
		 return is, false)

BARRIER(GOMP_barrier, BARRIER)
BARRIER_BOOL(GOMP_barrier_cancel, BARRIER)
BARRIER(GOMP_loop_end, LOOP_END)
BARRIER_BOOL(GOMP_loop_end_cancel, LOOP_END)
BARRIER(GOMP_sections_end, SECTIONS_END)
BARRIER_BOOL(GOMP_sections_end_cancel, SECTIONS_END)

/* ---- one of the team ---- */

FUNCTION(bool, GOMP_single_start, (void), (), bool is = next(),
	 if (is) sn_openmp_block_begins(worker, SN_OPENMP_SINGLE, RETURNS_TO);
	 return is, false)
/* The others wait here for the one that has the data. */
FUNCTION(void *, GOMP_single_copy_start, (void), (), WAITS, void *data = next();
	 WAITED(SINGLE_COPY);
	 if (!data) sn_openmp_block_begins(worker, SN_OPENMP_SINGLE, RETURNS_TO); return data, NULL)
FUNCTION(void, GOMP_single_copy_end, (void *data), (data), MEETS,
	 (next(data), WAITED(SINGLE_COPY)), )

/* ---- some of the team ---- */

#define SECTION                                                                                    \
	if (is)                                                                                    \
		sn_openmp_block_begins(worker, SN_OPENMP_SECTIONS, RETURNS_TO);                    \
	return is

FUNCTION(unsigned, GOMP_sections_start, (unsigned sections), (sections),
	 unsigned is = next(sections), SECTION, 0)
FUNCTION(unsigned, GOMP_sections_next, (void), (), sn_openmp_block_ends(worker);
	 unsigned is = next(), SECTION, 0)

/* ---- one at a time ---- */

#define TAKES(name, parameters, arguments, construct, object)                                      \
	FUNCTION(void, name, parameters, arguments, WAITS,                                         \
		 (next arguments, WAITED(construct),                                               \
		  sn_openmp_hold(worker, SN_OPENMP_##construct, object, RETURNS_TO)), )
#define TRIES(type, name, parameters, arguments, construct, object)                                \
	FUNCTION(                                                                                  \
		type, name, parameters, arguments, type is = next arguments,                       \
		if (is) {                                                                          \
			sn_openmp_met(worker, SN_OPENMP_##construct, RETURNS_TO);                  \
			sn_openmp_hold(worker, SN_OPENMP_##construct, object, RETURNS_TO);         \
		} return is,                                                                       \
		0)
#define GIVES(name, parameters, arguments, construct, object)                                      \
	FUNCTION(void, name, parameters, arguments,                                                \
		 sn_openmp_release(worker, SN_OPENMP_##construct, object), next arguments, )

TAKES(GOMP_critical_start, (void), (), CRITICAL, NULL)
GIVES(GOMP_critical_end, (void), (), CRITICAL, NULL)
TAKES(GOMP_critical_name_start, (void **name), (name), CRITICAL, name)
GIVES(GOMP_critical_name_end, (void **name), (name), CRITICAL, name)
TAKES(GOMP_atomic_start, (void), (), ATOMIC, NULL)
GIVES(GOMP_atomic_end, (void), (), ATOMIC, NULL)
TAKES(GOMP_ordered_start, (void), (), ORDERED, NULL)
GIVES(GOMP_ordered_end, (void), (), ORDERED, NULL)
TAKES(omp_set_lock, (void *lock), (lock), LOCK, lock)
TAKES(omp_set_nest_lock, (void *lock), (lock), LOCK, lock)
TRIES(int, omp_test_lock, (void *lock), (lock), LOCK, lock)
TRIES(int, omp_test_nest_lock, (void *lock), (lock), LOCK, lock)
GIVES(omp_unset_lock, (void *lock), (lock), LOCK, lock)
GIVES(omp_unset_nest_lock, (void *lock), (lock), LOCK, lock)
/* as Fortran calls them */
TAKES(omp_set_lock_, (void *lock), (lock), LOCK, lock)
TAKES(omp_set_nest_lock_, (void *lock), (lock), LOCK, lock)
TRIES(int, omp_test_lock_, (void *lock), (lock), LOCK, lock)
TRIES(int, omp_test_nest_lock_, (void *lock), (lock), LOCK, lock)
GIVES(omp_unset_lock_, (void *lock), (lock), LOCK, lock)
GIVES(omp_unset_nest_lock_, (void *lock), (lock), LOCK, lock)

/* ---- tasks ---- */

#define TASKS_END(name, construct)                                                                 \
	FUNCTION(void, name, (void), (), WAITS, (next(), WAITED(construct)), )

TASKS_END(GOMP_taskwait, TASKWAIT)
FUNCTION(void, GOMP_taskwait_depend, (void **depend), (depend), WAITS,
	 (next(depend), WAITED(TASKWAIT)), )
TASKS_END(GOMP_taskgroup_end, TASKGROUP)

/* The library copies a task's data: ours are the program's with this in front. Two words and a pointer are
 * left at the very front: of a taskloop the library writes its range there, and reads its reductions. */
struct task {
	uint64_t library_words[3];
	void (*body)(void *);
	void (*copy)(void *, void *);
	void *data; /* the program's own, as long as nothing is copied */
	uint64_t offset, is_loop;
};

enum { TASK_DATA_MOST = 4096, TASK_ALIGNED_MOST = 64, FLAG_DETACH = 1 << 13 };

/* From one task's data to another's, by the program's own function: for objects of C++. */
static void copy_task(void *to, void *from)
{
	const struct task *task = from;

	memcpy(to, from, sizeof(struct task));
	task->copy((uint8_t *)to + task->offset, task->data);
}

__attribute__((noinline)) static void run_task(void *argument)
{
	struct task *task = argument;
	uint8_t *data = (uint8_t *)argument + task->offset;
	struct sn_openmp_worker *worker = sn_openmp_worker();
	struct sn_openmp_before before;
	uint64_t pc = (uint64_t)(uintptr_t)task->body + 1; /* the task is gone when it is over */

	if (task->is_loop)
		memcpy(data, task->library_words, 2 * sizeof(uint64_t));
	if (worker)
		sn_openmp_task_begins(worker, &before);
	task->body(data);
	if (worker)
		sn_openmp_task_ends(worker, &before, pc);
}

/* Our data in place of the program's, in memory of the wrapper. False: leave the task alone. */
static inline bool wrap_task(struct task *task, void (*body)(void *), void *data,
			     void (*copy)(void *, void *), long bytes, long align, unsigned flags)
{
	if (bytes < 0 || bytes > TASK_DATA_MOST || align < 1 || align > TASK_ALIGNED_MOST ||
	    flags & FLAG_DETACH)
		return false;
	*task = (struct task){ .body = body, .copy = copy, .data = data };
	task->offset = (sizeof *task + TASK_ALIGNED_MOST - 1) & ~(TASK_ALIGNED_MOST - 1ULL);
	if (!copy && bytes)
		memcpy((uint8_t *)task + task->offset, data, (size_t)bytes);
	return true;
}

#define TASK_ROOM(bytes)                                                                           \
	__builtin_alloca_with_align(                                                               \
		((bytes) > 0 && (bytes) <= TASK_DATA_MOST ? (size_t)(bytes) : 0) +                 \
			sizeof(struct task) + TASK_ALIGNED_MOST,                                   \
		TASK_ALIGNED_MOST * 8)

typedef void (*task_body)(void *);
typedef void (*task_copy)(void *, void *);

void GOMP_task(task_body, void *, task_copy, long, long, bool, unsigned, void **, int, void *);
SN_EXPORT void GOMP_task(task_body body, void *data, task_copy copy, long bytes, long align,
			 bool is_deferred, unsigned flags, void **depend, int priority,
			 void *detach)
{
	__auto_type next = SN_NEXT(GOMP_task);
	struct sn_openmp_worker *worker = sn_ompt_has_library() ? NULL : sn_openmp_worker();
	struct task *task = worker ? TASK_ROOM(bytes) : NULL;

	if (!next)
		return;
	if (!task || !wrap_task(task, body, data, copy, bytes, align, flags))
		next(body, data, copy, bytes, align, is_deferred, flags, depend, priority, detach);
	else
		next(run_task, task, copy ? copy_task : NULL, bytes + (long)task->offset,
		     TASK_ALIGNED_MOST, is_deferred, flags, depend, priority, detach);
}

#define TASKLOOP(name, number)                                                                      \
	void name(task_body, void *, task_copy, long, long, unsigned, unsigned long, int, number,   \
		  number, number);                                                                  \
	SN_EXPORT void name(task_body body, void *data, task_copy copy, long bytes, long align,     \
			    unsigned flags, unsigned long tasks, int priority, number start,        \
			    number end, number step)                                                \
	{                                                                                           \
		__auto_type next = SN_NEXT(name);                                                   \
		struct sn_openmp_worker *worker =                                                   \
			sn_ompt_has_library() ? NULL : sn_openmp_worker();                          \
		struct task *task = worker ? TASK_ROOM(bytes) : NULL;                               \
		if (!next)                                                                          \
			return;                                                                     \
		if (!task || !wrap_task(task, body, data, copy, bytes, align, flags)) {             \
			next(body, data, copy, bytes, align, flags, tasks, priority, start, end,    \
			     step);                                                                 \
			return;                                                                     \
		}                                                                                   \
		task->is_loop = 1;                                                                  \
		memcpy(task->library_words, data,                                                   \
		       bytes < 24 ? (size_t)bytes : sizeof task->library_words);                    \
		WAITS; /* a group of tasks ends within the call, unless the program says nogroup */ \
		next(run_task, task, copy ? copy_task : NULL, bytes + (long)task->offset,           \
		     TASK_ALIGNED_MOST, flags, tasks, priority, start, end, step);                  \
		WAITED(TASKGROUP);                                                                  \
	}
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)
