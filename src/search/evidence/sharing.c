/* Transfers of lines, by how much of their time threads share an object at one time: in the replay, and in the run. */
#include "search/evidence/sharing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "caches/replay_part.h"

struct sharing {
	const struct sn_recorded *r, *times;
	const struct sn_replay *replay;
	uint32_t object;
	uint32_t process; /* of the replay's run */
	uint8_t *loops;	  /* 1: threads lose lines of the object in it */
	uint8_t *regions; /* of `times` */
};

/* ---- in the replay ---- */

/* A window begins, or ends. */
struct edge {
	int64_t time_ns;
	uint32_t window;
	bool is_end;
};
typedef SN_VEC(struct edge) edge_vec;

static int edges_compare(const void *left, const void *right)
{
	const struct edge *x = left, *y = right;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void windows_find(const struct sharing *s, edge_vec *edges)
{
	const struct sn_experiment *e = s->r->profile->experiment;

	for (uint32_t w = 0; w < e->windows.count; w++) {
		const struct sn_access_window *window = s->replay->plays[w];
		uint32_t loop = window ? sn_replay_window_loop(s->r->profile, window) : SN_NONE;

		if (loop == SN_NONE || !s->loops[loop] || window->end_ns <= window->begin_ns ||
		    e->threads.items[window->thread].process != s->process)
			continue;
		sn_vec_push(edges, (struct edge){ window->begin_ns, w, false });
		sn_vec_push(edges, (struct edge){ window->end_ns, w, true });
	}
	if (edges->count)
		qsort(edges->items, edges->count, sizeof(*edges->items), edges_compare);
}

/* Of the accesses that were replayed the share beside which another thread's were. A thread's windows follow each other. */
static double replay_share(const struct sharing *s)
{
	double *begin_s =
		sn_alloc_zeroed(s->r->profile->experiment->windows.count + 1, sizeof(*begin_s));
	edge_vec edges = { 0 };
	double several_s = 0, together = 0, all = 0;
	size_t active = 0;

	windows_find(s, &edges);
	for (size_t i = 0; i < edges.count; i++) {
		const struct edge *edge = &edges.items[i];
		const struct sn_access_window *window = s->replay->plays[edge->window];

		if (active > 1)
			several_s += (double)(edge->time_ns - edges.items[i - 1].time_ns) / 1e9;
		active += edge->is_end ? (size_t)-1 : 1;
		if (!edge->is_end) {
			begin_s[edge->window] = several_s;
			continue;
		}
		together += (double)window->accesses * (several_s - begin_s[edge->window]) /
			    ((double)(window->end_ns - window->begin_ns) / 1e9);
		all += (double)window->accesses;
	}
	sn_vec_free(&edges);
	free(begin_s);
	return all > 0 ? together / all : 0;
}

/* ---- in the run ---- */

/* The loops in which threads miss lines for the sake of others, and their regions in the run whose times count. */
static void loops_find(struct sharing *s)
{
	const struct sn_program *program = s->r->profile->program;

	memset(s->loops, 0, program->loops.count);
	memset(s->regions, 0, s->times->tables->members[SN_KEY_REGION].count);
	s->process = SN_NONE;
	for (size_t i = 0; i < s->replay->cells.count; i++) {
		const struct sn_replay_cell *cell = &s->replay->cells.items[i];
		const struct sn_replay_site *site = &s->replay->sites.items[cell->site];
		uint32_t region;

		if (cell->object != s->object || site->loop == SN_NONE ||
		    !cell->stages[0].misses[SN_SIM_COHERENCE])
			continue;
		s->process = site->process;
		s->loops[site->loop] = 1;
		region = sn_tables_member(s->times->tables, SN_KEY_REGION, SN_ALL,
					  sn_loop_main(program->loops.items[site->loop].code)->id);
		if (region != SN_ALL)
			s->regions[region] = 1;
	}
}

static uint32_t times_process(const struct sharing *s)
{
	uint32_t member = s->r->process_members[s->process];

	return member == SN_ALL
		       ? SN_ALL
		       : sn_tables_member(s->times->tables, SN_KEY_PROCESS, SN_ALL,
					  s->r->tables->members[SN_KEY_PROCESS].items[member].id);
}

static void object_find(struct sharing *s, const sn_gap_vec *gaps, struct sn_sharing *out)
{
	double replayed;

	*out = (struct sn_sharing){ .factor = 1 };
	loops_find(s);
	if (s->process == SN_NONE)
		return;
	out->is_shared = true;
	out->times = sn_together_of(s->times, gaps, times_process(s), s->regions);
	replayed = replay_share(s);
	if (!(replayed > 0)) /* lines went from window to window, not within their time */
		return;
	out->factor = out->times.share / replayed;
	out->error = fmax(out->times.high - out->times.share, out->times.share - out->times.low) /
		     replayed;
}

struct sn_sharing *sn_sharing_find(const struct sn_recorded *r, const struct sn_recorded *times,
				   const struct sn_replay *replay)
{
	struct sn_sharing *found = sn_alloc_zeroed(replay->objects.count + 1, sizeof(*found));
	struct sharing s = { .r = r, .times = times, .replay = replay };
	sn_gap_vec gaps = { 0 };

	s.loops = sn_alloc_zeroed(r->profile->program->loops.count + 1, 1);
	s.regions = sn_alloc_zeroed(times->tables->members[SN_KEY_REGION].count + 1, 1);
	sn_delays_gaps(times, &gaps);
	for (s.object = 0; s.object < replay->objects.count; s.object++)
		object_find(&s, &gaps, &found[s.object]);
	sn_vec_free(&gaps);
	free(s.loops);
	free(s.regions);
	return found;
}
