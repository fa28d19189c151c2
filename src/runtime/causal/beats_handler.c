/*
 * Heartbeats of sonde/heartbeat.h as progress points. Its fast path is inline in the program; a bit in a
 * heartbeat's mode leads to the library's functions, which are interposed here. Programs that were
 * linked with a library of their own (statically) do not pass here.
 */
#include "runtime/causal/causal.h"

#include "runtime/core/next.h"

enum { MODE_WATCHED = 16, HEARTBEATS_MAX = 256 };

/* Of include/sonde/heartbeat.h. */
struct heartbeat {
	uint32_t index, mode;
};

struct heartbeat *sonde_heartbeat_register(const char *name, unsigned flags);

/* By a heartbeat's index: its point + 1; 0: none. */
static _Atomic uint32_t point_of[HEARTBEATS_MAX];

bool sn_causal_is_beats_own(uint64_t pc)
{
	uint64_t known = (uint64_t)(uintptr_t)SN_NEXT(sonde_heartbeat_register);
	const struct sn_unwind_module *module = known && pc ? sn_module_of(known) : NULL;

	return module && module == sn_module_of(pc);
}

static bool is_name(const struct sn_causal_progress *point, const char *name)
{
	for (int i = 0; i < SN_CAUSAL_NAME_MAX - 1; i++)
		if (point->name[i] != name[i] || !name[i])
			return point->name[i] == name[i];
	return true; /* as far as there is room */
}

/* The point of this name, which all processes share; made if new. SN_CAUSAL_POINTS_MAX: no room. */
static uint32_t point_named(const char *name)
{
	for (uint32_t p = 0; p < SN_CAUSAL_POINTS_MAX; p++) {
		struct sn_causal_progress *point = &sn_causal_control->points[p];
		uint32_t is_free = 0;

		if (atomic_compare_exchange_strong(&point->is_taken, &is_free,
						   SN_CAUSAL_TAKEN_BY_PROCESS)) {
			for (int i = 0; i < SN_CAUSAL_NAME_MAX - 1 && name[i]; i++)
				point->name[i] = name[i];
			atomic_store_explicit(&point->kind, SN_CAUSAL_BEAT, memory_order_release);
			return p;
		}
		/* another process may just be writing its name */
		for (int i = 0; i < 1000 && !atomic_load(&point->kind); i++)
			SYS(sched_yield);
		if (atomic_load_explicit(&point->kind, memory_order_acquire) == SN_CAUSAL_BEAT &&
		    is_name(point, name)) {
			atomic_store(&point->is_taken, SN_CAUSAL_TAKEN_BY_PROCESS);
			return p;
		}
	}
	return SN_CAUSAL_POINTS_MAX;
}

static void watch(struct heartbeat *heartbeat, const char *name)
{
	uint32_t point;

	if (!heartbeat || !sn_causal_control || !sn_is_active() ||
	    heartbeat->index >= HEARTBEATS_MAX)
		return;
	if (!atomic_load(&point_of[heartbeat->index])) {
		point = point_named(name ? name : "");
		if (point == SN_CAUSAL_POINTS_MAX)
			return;
		atomic_store(&point_of[heartbeat->index], point + 1);
	}
	__atomic_fetch_or(&heartbeat->mode, MODE_WATCHED, __ATOMIC_RELAXED);
}

static uint32_t point_plus_one(const struct heartbeat *heartbeat)
{
	return heartbeat && sn_self && sn_is_active() && heartbeat->index < HEARTBEATS_MAX
		       ? atomic_load_explicit(&point_of[heartbeat->index], memory_order_relaxed)
		       : 0;
}

SN_EXPORT struct heartbeat *sonde_heartbeat_register(const char *name, unsigned flags)
{
	__auto_type next = SN_NEXT(sonde_heartbeat_register);
	struct heartbeat *heartbeat = next ? next(name, flags) : NULL;

	watch(heartbeat, name);
	return heartbeat;
}

struct heartbeat *sonde_heartbeat_by_id(uint32_t id);
SN_EXPORT struct heartbeat *sonde_heartbeat_by_id(uint32_t id)
{
	__auto_type next = SN_NEXT(sonde_heartbeat_by_id);
	struct heartbeat *heartbeat = next ? next(id) : NULL;
	char name[12], *at = name + sizeof name - 1;

	*at = '\0';
	do
		*--at = (char)('0' + id % 10);
	while (id /= 10);
	watch(heartbeat, at);
	return heartbeat;
}

void sonde_heartbeat_begin_slow(struct heartbeat *heartbeat);
SN_EXPORT void sonde_heartbeat_begin_slow(struct heartbeat *heartbeat)
{
	__auto_type next = SN_NEXT(sonde_heartbeat_begin_slow);
	uint32_t point = point_plus_one(heartbeat);

	if (point && sn_causal_control->points[point - 1].begin_point)
		sn_causal_visit(sn_self, sn_causal_control->points[point - 1].begin_point, 1);
	if (next)
		next(heartbeat);
}

void sonde_heartbeat_end_slow(struct heartbeat *heartbeat);
SN_EXPORT void sonde_heartbeat_end_slow(struct heartbeat *heartbeat)
{
	__auto_type next = SN_NEXT(sonde_heartbeat_end_slow);
	uint32_t point = point_plus_one(heartbeat);

	if (next)
		next(heartbeat);
	if (point)
		sn_causal_visit(sn_self, point - 1, 1);
}
