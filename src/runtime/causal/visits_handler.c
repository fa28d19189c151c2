/* Visits of progress points: counted by thread, and brought to the control page at most every so often,
 * so that a point may be reached a million times a second. */
#include "runtime/causal/causal.h"

#include "runtime/core/breakpoints.h"
#include "runtime/patch/patch.h"

/* ticks: about 0.1 ms. A point that is reached more seldom has a stamp for every visit. */
enum { FLUSH_TICKS = 250000 };

/* of the place that a breakpoint watches */
static uint32_t point_of_breakpoint[SN_BREAKPOINTS_MAX];
static uint64_t
	planned_load_addr; /* of the place that inserted code counts; 0: none is mapped so far */

/* The calling thread's virtual time, and the experiment that it belongs to. */
static int64_t virtual_now_ns(struct sn_thread *self, uint64_t *word)
{
	struct sn_causal *causal = sn_causal_of(self);

	*word = atomic_load_explicit(&sn_causal_control->experiment, memory_order_acquire);
	/* it has not noticed the new experiment: it owes nothing, and has no excess */
	if (causal->experiment != sn_causal_number(*word))
		return sn_now_ns();
	return sn_now_ns() - (causal->had - sn_causal_control->start_due_ns) - causal->excess;
}

static void stamp(struct sn_causal_progress *point, uint64_t count, uint64_t word,
		  int64_t virtual_ns)
{
	uint32_t version = atomic_load_explicit(&point->version, memory_order_relaxed);

	/* another thread is at it: this visit has none */
	if ((version & 1) ||
	    !atomic_compare_exchange_strong(&point->version, &version, version + 1))
		return;
	if (count >= atomic_load_explicit(&point->stamp_count, memory_order_relaxed)) {
		atomic_store_explicit(&point->stamp_experiment, word, memory_order_relaxed);
		atomic_store_explicit(&point->stamp_count, count, memory_order_relaxed);
		atomic_store_explicit(&point->stamp_time_ns, sn_now_ns(), memory_order_relaxed);
		atomic_store_explicit(&point->stamp_virtual_ns, virtual_ns, memory_order_relaxed);
	}
	atomic_store_explicit(&point->version, version + 2, memory_order_release);
}

void sn_causal_flush(struct sn_thread *self)
{
	struct sn_causal *causal = sn_causal_of(self);
	struct sn_causal_progress *point = &sn_causal_control->points[causal->pending_point];
	uint32_t visits = causal->pending;
	uint64_t word;

	if (!visits)
		return;
	causal->pending = 0;
	int64_t virtual_ns = virtual_now_ns(self, &word);
	causal->noted = __builtin_ia32_rdtsc();
	uint64_t count =
		atomic_fetch_add_explicit(&point->count, visits, memory_order_relaxed) + visits;
	stamp(point, count, word, virtual_ns);
}

static void add_time(struct sn_thread *self, struct sn_causal_progress *point, uint32_t count)
{
	uint64_t word;
	int64_t virtual_ns = virtual_now_ns(self, &word);

	atomic_fetch_add_explicit(&point->sum_ns,
				  count * (virtual_ns - sn_causal_control->start_ns),
				  memory_order_relaxed);
	sn_causal_flush(self);
}

void sn_causal_visit(struct sn_thread *self, uint32_t point, uint32_t count)
{
	struct sn_causal *causal = sn_causal_of(self);

	if (causal->pending && causal->pending_point != point)
		sn_causal_flush(self);
	causal->pending_point = point;
	causal->pending += count;
	if (sn_causal_control->points[point].is_timed)
		add_time(self, &sn_causal_control->points[point], count);
	else if (__builtin_ia32_rdtsc() - causal->noted > FLUSH_TICKS)
		sn_causal_flush(self);
}

void sn_causal_take_planned(struct sn_thread *self)
{
	uint64_t visits = sn_patch_words.visits, more = visits - sn_causal_of(self)->planned;

	if (!more || !sn_causal_control->points[0].is_planned)
		return;
	sn_causal_of(self)->planned = visits;
	sn_causal_visit(self, 0, more < UINT32_MAX ? (uint32_t)more : UINT32_MAX);
}

void sn_causal_skip_planned(struct sn_thread *self)
{
	sn_causal_of(self)->planned = sn_patch_words.visits;
}

static void reach(struct sn_thread *self, unsigned breakpoint, uint32_t arrivals)
{
	if (sn_breakpoint_is_deaf(breakpoint))
		atomic_store(
			&sn_causal_control->points[point_of_breakpoint[breakpoint]].is_too_often,
			1);
	sn_causal_visit(self, point_of_breakpoint[breakpoint], arrivals);
}

static void watch(uint32_t p, uint64_t load_addr)
{
	int which = sn_breakpoint_set(load_addr, reach);

	if (which >= 0)
		point_of_breakpoint[which] = p;
	else
		sn_causal_control->points[p].is_bare = 1;
}

void sn_causal_watch_places(uint32_t module, uint64_t load_bias)
{
	for (uint32_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++) {
		struct sn_causal_progress *point = &sn_causal_control->points[p];

		if (atomic_load(&point->kind) != SN_CAUSAL_PLACE || point->module != module)
			continue;
		if (point->is_planned)
			planned_load_addr = load_bias + point->link_addr;
		else
			watch(p, load_bias + point->link_addr);
	}
}

void sn_causal_watch_unpatched(void)
{
	if (planned_load_addr && !sn_patches.module_count)
		watch(0, planned_load_addr);
}
