/*
 * Evidence from traces of locks: what threads wait for which lock, exactly, at the regions that lead to it, and how
 * long others waited for what a thread held. A lock's name says where it was held meanwhile, most of all.
 */
#include "locks/locks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/evidence/activity.h"
#include "search/evidence/sources.h"

enum { LOCK_WAIT, LOCK_WAIT_OF, HELD_UP, COLUMNS };
static const char *const given[] = {
	[LOCK_WAIT] = "lock_wait", [LOCK_WAIT_OF] = "lock_wait_of", [HELD_UP] = "held_up", NULL
};

struct telling {
	struct sn_recorded *r;
	const struct sn_locks *locks;
	uint32_t columns[COLUMNS], source;
	uint32_t *lock_of; /* by object: its member; SN_ALL: not yet one */
	/* the C library's functions that wait, which samples of blocked calls meet; SN_ALL: none */
	uint32_t functions[SN_SYNC_KINDS];
	double *doubts_s; /* by thread of the run: of all its waits for locks, half the width of the interval, squared, over them */
};

/* What one thread at a time has. */
static bool is_lock(uint8_t kind)
{
	return kind <= SN_SYNC_SPIN;
}

/* "___pthread_mutex_lock" is "pthread_mutex_lock". */
static uint32_t function_region(const struct sn_recorded *r, const char *name)
{
	const struct sn_program *program = r->profile->program;
	size_t regions = r->tables->members[SN_KEY_REGION].count;

	for (uint32_t g = 0; name && g < regions; g++) {
		const struct sn_program_function *f =
			r->region_functions[g] == SN_NONE
				? NULL
				: &program->functions.items[r->region_functions[g]];
		const char *own = f ? f->linkage_name : "";

		while (*own == '_')
			own++;
		if (f && r->region_loops[g] == SN_NONE && f->module != SN_NONE &&
		    program->module_classes[f->module] == SN_MODULE_CLASS_LIBC &&
		    !strcmp(own, name))
			return g;
	}
	return SN_ALL;
}

static void functions_find(struct telling *t)
{
	static const char *const names[SN_SYNC_KINDS] = {
		[SN_SYNC_MUTEX] = "pthread_mutex_lock",
		[SN_SYNC_RWLOCK_READ] = "pthread_rwlock_rdlock",
		[SN_SYNC_RWLOCK_WRITE] = "pthread_rwlock_wrlock",
		[SN_SYNC_SPIN] = "pthread_spin_lock",
	};

	for (int k = 0; k < SN_SYNC_KINDS; k++)
		t->functions[k] = function_region(t->r, names[k]);
}

/* ---- locks as members ---- */

static bool is_of_locks(const char *linkage_name)
{
	while (*linkage_name == '_')
		linkage_name++;
	return !strncmp(linkage_name, "pthread_", strlen("pthread_")) ||
	       !strncmp(linkage_name, "mtx_", strlen("mtx_"));
}

/* Where the object was held while most of the waiting for it went on; NULL: unknown. */
static const struct sn_lock_blame *holder_of(const struct sn_locks *locks, uint32_t object)
{
	const struct sn_lock_blame *worst = NULL;

	for (size_t i = 0; i < locks->blames.count; i++) {
		const struct sn_lock_blame *b = &locks->blames.items[i];

		if (b->object == object && b->holder.function != SN_NONE &&
		    (!worst || b->wait_ns > worst->wait_ns))
			worst = b;
	}
	return worst;
}

/* A function that releases a lock as the last thing it does has left its frame: the release is seen in its caller, whose
 * call of it is all that tells. NULL: the release was called there itself, or nothing is known. */
static const char *left_by_tail(const struct sn_recorded *r, struct sn_site site)
{
	const struct sn_program *program = r->profile->program;
	const char *called = NULL;

	for (size_t i = 0; i < program->places.count; i++) {
		const struct sn_program_place *place = &program->places.items[i];
		const char *name = place->function == site.function && place->line == site.line
					   ? sn_place_called(r->structures, place)
					   : NULL;

		if (name && (is_of_locks(name) || (called && strcmp(called, name) != 0)))
			return NULL;
		called = name ? name : called;
	}
	return called;
}

static uint32_t lock_member(struct telling *t, uint32_t object)
{
	const struct sn_lock_object *lock = &t->locks->objects.items[object];
	const struct sn_lock_blame *holder = holder_of(t->locks, object);
	const char *called;
	struct sn_text name = { 0 };
	struct sn_member member = { .id = lock->name, .parent = SN_ALL, .bytes = NAN };

	if (t->lock_of[object] != SN_ALL)
		return t->lock_of[object];
	sn_text_add(&name, lock->name);
	if (holder) {
		sn_text_add(&name, ", held in ");
		sn_site_add_name(t->r->profile->program, holder->holder, &name);
		called = left_by_tail(t->r, holder->holder);
		if (called)
			sn_text_addf(&name, " or in %s, which is called there", called);
	}
	member.name = name.chars;
	member.is_phrase = holder != NULL;
	t->lock_of[object] = sn_tables_add_member(t->r->tables, SN_KEY_LOCK, &member);
	sn_text_free(&name);
	return t->lock_of[object];
}

/* ---- values ---- */

static void add(struct telling *t, uint32_t column, uint32_t region, uint32_t lock, uint32_t thread,
		double seconds, double error_s)
{
	struct sn_value value = { .column = column,
				  .value = seconds,
				  .samples = NAN,
				  .error = error_s,
				  .source = t->source };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_LOCK] = lock;
	value.keys[SN_KEY_THREAD] = t->r->thread_members[thread];
	value.keys[SN_KEY_PROCESS] =
		t->r->tables->members[SN_KEY_THREAD].items[value.keys[SN_KEY_THREAD]].parent;
	sn_tables_add(t->r->tables, &value);
}

static void at_region_add(struct telling *t, const struct sn_lock_wait *wait, uint32_t lock,
			  uint32_t region)
{
	double seconds = (double)sn_spans_overlap_ns(&t->r->profile->filter.spans, wait->t0_ns,
						     wait->t1_ns) /
			 1e9;
	/* of a part of a thread's waits it is at least that part of it */
	double error_s = sqrt(seconds * t->doubts_s[wait->thread]);

	add(t, t->columns[LOCK_WAIT], region, SN_ALL, wait->thread, seconds, error_s);
	add(t, t->columns[LOCK_WAIT_OF], region, lock, wait->thread, seconds, error_s);
}

/* The clock is read, and the wait noted, within what is measured. */
static const double edges_s = 1e-6;

/* A wait lasts until its thread goes on. Entries that were lost would be waits, too. */
static void doubts_find(struct telling *t)
{
	const struct sn_experiment *e = t->r->profile->experiment;
	double *all_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*all_s));
	double *count = sn_alloc_zeroed(e->threads.count + 1, sizeof(*count));
	double kept = (double)t->locks->acquisitions, lost = (double)t->locks->lost;
	double lost_share = lost > 0 ? lost / (lost + kept) : 0;

	t->doubts_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*t->doubts_s));
	for (size_t i = 0; i < t->locks->waits.count; i++) {
		const struct sn_lock_wait *wait = &t->locks->waits.items[i];

		if (!is_lock(wait->kind) || wait->thread == SN_NONE)
			continue;
		all_s[wait->thread] += (double)sn_spans_overlap_ns(&t->r->profile->filter.spans,
								   wait->t0_ns, wait->t1_ns) /
				       1e9;
		count[wait->thread]++;
	}
	for (size_t i = 0; i < e->threads.count; i++) {
		double doubt_s = hypot(count[i] * edges_s, lost_share * all_s[i]);

		t->doubts_s[i] = all_s[i] > 0 ? doubt_s * doubt_s / all_s[i] : 0;
	}
	free(all_s);
	free(count);
}

/* Waits in runtimes are those of OpenMP and MPI. */
static void wait_tell(struct telling *t, const struct sn_lock_wait *wait)
{
	const struct sn_recorded *r = t->r;
	const struct sn_stack_facts *facts;
	uint32_t lock;

	if (!is_lock(wait->kind) || wait->thread == SN_NONE ||
	    r->thread_members[wait->thread] == SN_ALL || wait->t1_ns <= wait->t0_ns ||
	    wait->stack >= r->profile->program->stack_count)
		return;
	facts = &r->stacks[wait->stack];
	if (facts->activity != SN_ACTIVITY_WORK && facts->activity != SN_ACTIVITY_SPIN)
		return;
	lock = lock_member(t, wait->object);
	at_region_add(t, wait, lock, SN_ALL);
	for (uint32_t i = 0; i < facts->count; i++)
		at_region_add(t, wait, lock, r->stack_regions.items[facts->first + i]);
	if (t->functions[wait->kind] != SN_ALL)
		at_region_add(t, wait, lock, t->functions[wait->kind]);
}

static uint32_t thread_at(const struct sn_experiment *e, uint32_t process, int32_t tid)
{
	for (uint32_t i = 0; i < e->threads.count; i++)
		if (e->threads.items[i].process == process && e->threads.items[i].tid == tid)
			return i;
	return SN_NONE;
}

static void parts_tell(struct telling *t)
{
	for (size_t i = 0; i < t->locks->parts.count; i++) {
		const struct sn_lock_part *part = &t->locks->parts.items[i];
		uint32_t thread =
			part->held_up_ns && is_lock(part->kind)
				? thread_at(t->r->profile->experiment, part->process, part->tid)
				: SN_NONE;

		if (thread != SN_NONE && t->r->thread_members[thread] != SN_ALL)
			add(t, t->columns[HELD_UP], SN_ALL, SN_ALL, thread,
			    (double)part->held_up_ns / 1e9, 0);
	}
}

static void locks_collect(struct sn_recorded *r)
{
	struct telling t = { .r = r };
	struct sn_locks *locks = NULL;

	if ((!r->part && (r->profile->filter.from_ns || r->profile->filter.to_ns)) ||
	    sn_locks_read_within(r->profile->program, &r->profile->filter.spans, &locks, NULL) !=
		    SN_OK)
		return;
	t.locks = locks;
	t.lock_of = sn_alloc((locks->objects.count + 1) * sizeof(*t.lock_of));
	memset(t.lock_of, 0xff, (locks->objects.count + 1) * sizeof(*t.lock_of));
	if (locks->is_traced) {
		t.source = sn_tables_source(r->tables, "locks");
		for (int c = 0; c < COLUMNS; c++) {
			t.columns[c] = sn_tables_column(r->tables, given[c], NULL);
			sn_tables_complete(r->tables, t.columns[c]);
		}
		functions_find(&t);
		doubts_find(&t);
		for (size_t i = 0; i < locks->waits.count; i++)
			wait_tell(&t, &locks->waits.items[i]);
		parts_tell(&t);
	}
	free(t.lock_of);
	free(t.doubts_s);
	sn_locks_free(locks);
}

const struct sn_source sn_source_locks = {
	.name = "locks",
	.measures = "waiting for locks by lock, who held them and where, exactly",
	.needs = "a run that was recorded with --sync",
	.is_cut_by_time = true,
	.trace = SN_TRACE_SYNC,
	.monitored = SN_MONITOR_LOCKS,
	.costs = "what recording with --sync costs",
	.option = "sync",
	.gives = given,
	.times = given,
	.collect = locks_collect,
};
