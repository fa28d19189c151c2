/*
 * Who ended each wait: the thread that released the object, signaled the condition, posted the semaphore or
 * woke the futex last before the waiter ran again; of a barrier the one that came last, of a join the one that
 * ended. What a condition's waiter waits for next is the condition's mutex.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "locks/parts.h"

struct finder {
	struct sn_lock_reader *reader;
	const struct sn_experiment *e;
	uint32_t *first_thread;			 /* by process */
	const struct sn_lock_event **releases;	 /* by process, address, time */
	SN_VEC(const struct sn_lock_event *) at; /* barriers: likewise */
	struct sn_map tids;			 /* process and tid -> its latest thread + 1 */
	uint32_t *earlier;	 /* by thread: one of the same tid that began before it, + 1 */
	struct sn_map uncertain; /* barriers some of whose calls left no wait */
	uint32_t meetings;
};

static uint64_t object_key(const struct sn_lock_event *event)
{
	return sn_hash_u64(event->entry->object) ^ event->process;
}

static int place_compare(const struct sn_lock_event *x, uint32_t process, uint64_t object,
			 double ns)
{
	if (x->process != process)
		return x->process < process ? -1 : 1;
	if (x->entry->object != object)
		return x->entry->object < object ? -1 : 1;
	return (x->begin_ns > ns) - (x->begin_ns < ns);
}

static int events_compare(const void *a, const void *b)
{
	const struct sn_lock_event *x = *(const struct sn_lock_event *const *)a;
	const struct sn_lock_event *y = *(const struct sn_lock_event *const *)b;
	int order = place_compare(x, y->process, y->entry->object, y->begin_ns);

	return order ? order : (x > y) - (x < y);
}

static uint32_t thread_of(const struct finder *finder, const struct sn_lock_event *event)
{
	uint64_t thread = (uint64_t)finder->first_thread[event->process] + event->thread_index;

	return event->tid && thread < finder->e->threads.count &&
			       finder->e->threads.items[thread].process == event->process
		       ? (uint32_t)thread
		       : SN_NONE;
}

/* The thread that had this tid at that time. */
static uint32_t thread_of_tid(const struct finder *finder, uint32_t process, uint32_t tid,
			      double ns)
{
	const uint64_t *latest =
		tid ? sn_map_get(&finder->tids, (uint64_t)process << 32 | tid) : NULL;
	uint32_t thread = latest ? (uint32_t)*latest : 0;

	while (thread && (double)finder->e->threads.items[thread - 1].start_ns > ns)
		thread = finder->earlier[thread - 1];
	return thread ? thread - 1 : SN_NONE;
}

/* The last release of what lies at an address, by another thread, from `since_ns` until the wait was over. */
static const struct sn_lock_event *last_release(const struct finder *finder,
						const struct sn_lock_event *wait, uint64_t object,
						double since_ns)
{
	size_t low = 0, high = finder->reader->releases.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (place_compare(finder->releases[middle], wait->process, object, wait->end_ns) <=
		    0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0) {
		const struct sn_lock_event *release = finder->releases[low];

		if (release->process != wait->process || release->entry->object != object ||
		    release->begin_ns < since_ns)
			return NULL;
		if (release->tid != wait->tid)
			return release;
	}
	return NULL;
}

static const struct sn_lock_event *who_ended(const struct finder *finder,
					     const struct sn_lock_event *wait)
{
	const struct sn_lock_event *release =
		last_release(finder, wait, wait->entry->object, wait->begin_ns);

	if (release && wait->entry->kind == SN_SYNC_CONDITION && wait->entry->held) {
		const struct sn_lock_event *next =
			last_release(finder, wait, wait->entry->held, release->begin_ns);

		return next ? next : release;
	}
	return release;
}

static void wait_end(struct finder *finder, const struct sn_lock_event *event,
		     struct sn_lock_wait *wait)
{
	if (event->is_open || !(event->entry->flags & SN_SYNC_ACQUIRED))
		return;
	if (event->entry->kind == SN_SYNC_JOIN) {
		wait->by = wait->holder;
		if (wait->by != SN_NONE)
			wait->released_ns = finder->e->threads.items[wait->by].end_ns;
	} else if (event->entry->kind != SN_SYNC_BARRIER) {
		const struct sn_lock_event *release = who_ended(finder, event);

		wait->by = release ? thread_of(finder, release) : SN_NONE;
		if (wait->by != SN_NONE) {
			wait->released_ns = (int64_t)release->begin_ns;
			wait->by_site = release->site;
		}
	}
	if (wait->released_ns > wait->t1_ns)
		wait->released_ns = wait->t1_ns;
	if (wait->released_ns < wait->t0_ns)
		wait->released_ns = wait->t0_ns;
}

static struct sn_lock_wait wait_of(struct finder *finder, const struct sn_lock_event *event)
{
	struct sn_lock_wait wait = { .t0_ns = (int64_t)event->begin_ns,
				     .asked_ns = (int64_t)event->begin_ns,
				     .t1_ns = (int64_t)event->end_ns,
				     .released_ns = (int64_t)event->end_ns,
				     .thread = thread_of(finder, event),
				     .by = SN_NONE,
				     .object = event->object,
				     .site = event->site,
				     .stack = SN_NONE,
				     .by_site = { SN_NONE, SN_NONE },
				     .kind = event->entry->kind,
				     .is_open = event->is_open,
				     .has_failed = !event->is_open &&
						   !(event->entry->flags & SN_SYNC_ACQUIRED) };

	sn_trace_stack_of(finder->reader->program, event->process, event->entry->path, &wait.stack);
	/* a thread may be joined before it has told that it began */
	wait.holder =
		thread_of_tid(finder, event->process, event->entry->holder,
			      event->entry->kind == SN_SYNC_JOIN ? event->end_ns : event->begin_ns);
	wait_end(finder, event, &wait);
	return wait;
}

/* Those who met at a barrier: each came before the first of them went on. */
static size_t meeting_add(struct finder *finder, size_t first)
{
	const struct sn_lock_event *const *at =
		(const struct sn_lock_event *const *)finder->at.items;
	struct sn_locks *locks = finder->reader->locks;
	double least_end_ns = at[first]->end_ns;
	size_t end = first + 1;
	uint32_t last;

	while (end < finder->at.count && at[end]->process == at[first]->process &&
	       at[end]->entry->object == at[first]->entry->object &&
	       at[end]->begin_ns < least_end_ns) {
		least_end_ns = fmin(least_end_ns, at[end]->end_ns);
		end++;
	}
	last = thread_of(finder, at[end - 1]);
	if (last == SN_NONE || at[end - 1]->is_open ||
	    sn_map_get(&finder->uncertain, object_key(at[first])))
		return end;
	finder->meetings++;
	for (size_t i = first; i < end; i++) {
		struct sn_lock_wait *wait =
			&locks->waits.items[at[i] - finder->reader->waits.items];

		wait->meeting = finder->meetings;
		wait->released_ns = (int64_t)at[end - 1]->begin_ns;
		wait->by = i + 1 < end ? last : SN_NONE;
		wait->by_site = at[end - 1]->site;
	}
	return end;
}

static void meetings_find(struct finder *finder)
{
	const struct sn_lock_reader *reader = finder->reader;

	for (size_t i = 0; i < reader->counts.count; i++)
		if (reader->counts.items[i].entry->kind == SN_SYNC_BARRIER)
			sn_map_put(&finder->uncertain, object_key(&reader->counts.items[i]), NULL);
	for (size_t i = 0; i < reader->waits.count; i++)
		if (reader->waits.items[i].entry->kind == SN_SYNC_BARRIER)
			sn_vec_push(&finder->at, &reader->waits.items[i]);
	if (finder->at.count)
		qsort(finder->at.items, finder->at.count, sizeof(*finder->at.items),
		      events_compare);
	for (size_t i = 0; i < finder->at.count;)
		i = meeting_add(finder, i);
}

static int waits_compare(const void *a, const void *b)
{
	const struct sn_lock_wait *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->t0_ns != y->t0_ns)
		return x->t0_ns < y->t0_ns ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

/* A thread that waits again for what did not come in time has waited since then. */
static void waits_chain(struct sn_locks *locks)
{
	if (locks->waits.count)
		qsort(locks->waits.items, locks->waits.count, sizeof(*locks->waits.items),
		      waits_compare);
	for (size_t i = 1; i < locks->waits.count; i++) {
		const struct sn_lock_wait *before = &locks->waits.items[i - 1];
		struct sn_lock_wait *wait = &locks->waits.items[i];

		if (before->thread == wait->thread && before->object == wait->object &&
		    before->kind == wait->kind && before->has_failed)
			wait->asked_ns = before->asked_ns;
	}
}

static void threads_index(struct finder *finder)
{
	const struct sn_experiment *e = finder->e;

	finder->first_thread = sn_alloc_zeroed(e->processes.count + 1, sizeof(uint32_t));
	finder->earlier = sn_alloc_zeroed(e->threads.count + 1, sizeof(uint32_t));
	for (uint32_t t = (uint32_t)e->threads.count; t-- > 0;)
		finder->first_thread[e->threads.items[t].process] = t;
	for (uint32_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		uint64_t *place =
			sn_map_put(&finder->tids,
				   (uint64_t)thread->process << 32 | (uint32_t)thread->tid, NULL);

		finder->earlier[t] = (uint32_t)*place;
		*place = t + 1;
	}
}

void sn_locks_find_ends(struct sn_lock_reader *reader)
{
	struct finder finder = { .reader = reader, .e = reader->program->experiment };
	size_t count = reader->releases.count;

	threads_index(&finder);
	finder.releases = sn_alloc_zeroed(count + 1, sizeof(*finder.releases));
	for (size_t i = 0; i < count; i++)
		finder.releases[i] = &reader->releases.items[i];
	qsort(finder.releases, count, sizeof(*finder.releases), events_compare);
	for (size_t i = 0; i < reader->waits.count; i++)
		sn_vec_push(&reader->locks->waits, wait_of(&finder, &reader->waits.items[i]));
	meetings_find(&finder);
	waits_chain(reader->locks);
	free(finder.first_thread);
	free(finder.releases);
	free(finder.earlier);
	sn_vec_free(&finder.at);
	sn_map_free(&finder.tids);
	sn_map_free(&finder.uncertain);
}
