/*
 * Evidence from traces of loops' accesses, replayed through caches (caches/replay.h): what a region's threads did to
 * each data object, and what a miss costs there.
 *
 * A miss counts if it is one whatever the caches held when a window began; those that may have been hits are its error.
 * What was not recorded is estimated by the instances of the loop in each thread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "caches/replay.h"
#include "cqa/loop/levels.h"
#include "machine/roofs.h"
#include "search/evidence/sharing.h"
#include "search/evidence/sources.h"

enum {
	MISSES,
	TLB = MISSES + SN_SIM_TLB,
	REFS,
	CONFLICT,
	CHAINED,
	FALSELY,
	SHARED,
	MOVED,
	USED,
	COLUMNS
};

static const struct {
	const char *metric, *level;
} names[COLUMNS] = {
	{ "misses", "L1" },
	{ "misses", "L2" },
	{ "misses", "L3" },
	{ "misses", "TLB" },
	[REFS] = { "refs", NULL },
	[CONFLICT] = { "conflict_misses", NULL },
	[CHAINED] = { "chained_misses", NULL },
	[FALSELY] = { "lines_shared_falsely", NULL },
	[SHARED] = { "lines_shared", NULL },
	[MOVED] = { "bytes_moved", NULL },
	[USED] = { "bytes_used", NULL },
};

static const char *const given[] = {
	"refs",		  "misses",	    "conflict_misses", "lines_shared_falsely",
	"lines_shared",	  "bytes_moved",    "bytes_used",      "penalty",
	"bandwidth_peak", "shared_at_once", "chained_misses",  NULL
};

static const char *const needs_of[] = {
	"bandwidth_peak",
	"what the memory of this host gives ('sonde calibrate' measures it), and a run of sonde trace",
	NULL,
};

/* (chosen) a core's clock; the latencies are in its cycles */
static const double hz = 3e9;
/* (chosen) a walk whose tables are in L1 and L2 */
static const double walk_cycles = 25;
/* as `overlap` in memory.prop: what of a miss's latency other work hides */
static const double overlap = 0.5;
/* (chosen) Behind each other, with a loaded memory and a walk of two tables (of a virtual machine), accesses were seen to take
 * so many times the latency of an idle one. */
static const double chain_most = 6;

struct place {
	uint32_t region;
	double share; /* of the loop's instances in the thread that were there */
};

/* The regions that a loop of a thread lies in. */
struct loop_places {
	uint32_t loop, thread;
	SN_VEC(struct place) items;
};

/* What a loop's misses cost, all of its threads. */
struct loop_cost {
	uint32_t loop, process;
	double misses[SN_SIM_STAGES], transfers;
	bool is_chain;
	double factor; /* of the penalties: what its CPU time has room for; of a chain what it takes */
};

struct caching {
	struct sn_recorded *r;
	struct sn_replay *replay;
	uint32_t source, columns[COLUMNS];
	double penalties_s[SN_SIM_STAGES]; /* NaN: not known */
	SN_VEC(struct loop_places) loops;
	SN_VEC(struct loop_cost) costs;
	uint32_t *data; /* by object of the replay: a member */
	double *coherence, *false_transfers, *true_transfers; /* by object */
	struct sn_sharing *sharing;			      /* by object */
};

/* ---- where ---- */

static void place_add(struct loop_places *places, uint32_t region, double share)
{
	for (size_t i = 0; i < places->items.count; i++)
		if (places->items.items[i].region == region) {
			places->items.items[i].share += share;
			return;
		}
	sn_vec_push(&places->items, (struct place){ region, share });
}

static void stack_places(const struct sn_recorded *r, struct loop_places *places, uint32_t stack,
			 double share)
{
	const struct sn_stack_facts *facts = &r->stacks[stack];

	for (uint32_t i = 0; i < facts->count; i++)
		place_add(places, r->stack_regions.items[facts->first + i], share);
}

static bool is_of(const struct caching *c, const struct sn_loop_instances *counted, uint32_t loop,
		  uint32_t thread)
{
	return counted->stack != SN_NONE && counted->thread == thread &&
	       sn_program_leaf(c->r->profile->program, counted->stack)->loop == loop;
}

static const struct loop_places *places_of(struct caching *c, uint32_t loop, uint32_t thread)
{
	const struct sn_experiment *e = c->r->profile->experiment;
	struct loop_places places = { .loop = loop, .thread = thread };
	double all = 0;

	for (size_t i = 0; i < c->loops.count; i++)
		if (c->loops.items[i].loop == loop && c->loops.items[i].thread == thread)
			return &c->loops.items[i];
	for (size_t i = 0; i < e->instances.count; i++)
		if (is_of(c, &e->instances.items[i], loop, thread))
			all += (double)e->instances.items[i].instances;
	for (size_t i = 0; i < e->instances.count && all > 0; i++)
		if (is_of(c, &e->instances.items[i], loop, thread))
			stack_places(c->r, &places, e->instances.items[i].stack,
				     (double)e->instances.items[i].instances / all);
	if (!places.items.count)
		place_add(&places, SN_REGION_PROGRAM, 1);
	sn_vec_push(&c->loops, places);
	return &sn_vec_last(&c->loops);
}

/* ---- data ---- */

static uint32_t data_member(struct caching *c, uint32_t object)
{
	const struct sn_replay_object *o = &c->replay->objects.items[object];
	struct sn_text id = { 0 };
	struct sn_member member = { .name = o->name,
				    .kind = o->kind,
				    .file = o->file,
				    .line_first = o->line,
				    .parent = SN_ALL,
				    .bytes = NAN };
	uint32_t found;

	sn_text_addf(&id, "%s:%s", o->module ? o->module : "", o->name);
	if (o->line)
		sn_text_addf(&id, ":%u", o->line);
	found = sn_tables_member(c->r->tables, SN_KEY_DATA, SN_ALL, id.chars);
	member.id = id.chars;
	if (found == SN_ALL)
		found = sn_tables_add_member(c->r->tables, SN_KEY_DATA, &member);
	sn_text_free(&id);
	return found;
}

static void objects_find(struct caching *c)
{
	size_t count = c->replay->objects.count;

	c->data = sn_alloc((count + 1) * sizeof(*c->data));
	c->coherence = sn_alloc_zeroed(count + 1, sizeof(double));
	c->false_transfers = sn_alloc_zeroed(count + 1, sizeof(double));
	c->true_transfers = sn_alloc_zeroed(count + 1, sizeof(double));
	for (uint32_t i = 0; i < count; i++)
		c->data[i] = data_member(c, i);
	for (size_t i = 0; i < c->replay->shared.count; i++) {
		const struct sn_replay_shared *piece = &c->replay->shared.items[i];

		c->false_transfers[piece->object] += (double)piece->false_transfers;
		c->true_transfers[piece->object] += (double)piece->true_transfers;
	}
	for (size_t i = 0; i < c->replay->cells.count; i++) {
		const struct sn_replay_cell *cell = &c->replay->cells.items[i];

		c->coherence[cell->object] += (double)cell->stages[0].misses[SN_SIM_COHERENCE];
	}
}

/* Told once for each object of a process. */
static void sharing_add(const struct caching *c)
{
	for (uint32_t i = 0; i < c->replay->objects.count; i++) {
		struct sn_value value = { .column = sn_tables_column(c->r->tables, "shared_at_once",
								     NULL),
					  .source = c->source };
		const struct sn_sharing *sharing = &c->sharing[i];

		if (!sharing->is_shared || !(sharing->times.samples > 0))
			continue;
		for (int k = 0; k < SN_KEYS; k++)
			value.keys[k] = SN_ALL;
		value.keys[SN_KEY_DATA] = c->data[i];
		value.value = sharing->times.share;
		value.samples = sharing->times.samples;
		value.error = (sharing->times.high - sharing->times.low) / 2;
		sn_tables_add(c->r->tables, &value);
	}
}

/* ---- what is known of a loop's code ---- */

static double value_at(const struct sn_recorded *times, const char *metric,
		       const uint32_t keys[SN_KEYS], double otherwise)
{
	uint32_t column = sn_tables_find_column(times->tables, metric, NULL);
	const struct sn_sum *sum =
		column == SN_ALL ? NULL : sn_tables_find(times->tables, column, keys, true);

	return sum && sum->values ? sum->value : otherwise;
}

/* The run whose times count. */
static const struct sn_recorded *times_of(const struct caching *c)
{
	return c->r->times ? c->r->times : c->r;
}

/* The loop there. False: no sample met it. */
static bool loop_keys(const struct caching *c, uint32_t loop, uint32_t keys[SN_KEYS])
{
	const struct sn_loop *code =
		loop == SN_NONE ? NULL
				: sn_loop_main(c->r->profile->program->loops.items[loop].code);

	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	if (code)
		keys[SN_KEY_REGION] =
			sn_tables_member(times_of(c)->tables, SN_KEY_REGION, SN_ALL, code->id);
	return keys[SN_KEY_REGION] != SN_ALL;
}

static double static_value(const struct caching *c, uint32_t loop, const char *metric,
			   double otherwise)
{
	uint32_t keys[SN_KEYS];

	return loop_keys(c, loop, keys) ? value_at(times_of(c), metric, keys, otherwise)
					: otherwise;
}

static bool is_chain(const struct caching *c, uint32_t loop)
{
	return static_value(c, loop, "chained_loads", 0) > 0;
}

/* ---- values ---- */

/* What was seen stands for so many times as much. Of a loop of which no instance was seen to its end that is not known: then
 * for itself. */
static double scale_of(const struct caching *c, const struct sn_replay_cell *cell)
{
	uint32_t loop = c->replay->sites.items[cell->site].loop;
	double seen = sn_replay_seen_share(c->replay, loop, cell->thread);

	if (isnan(seen))
		seen = sn_replay_seen_share(c->replay, loop, SN_NONE);
	return (seen > 0 ? 1 / seen : 1) * (c->r->share_of_run > 0 ? c->r->share_of_run : 1);
}

/* An object's transfers, as its instructions missed for the sake of other cores. */
static double transfers_of(const struct caching *c, const struct sn_replay_cell *cell,
			   const double *transfers)
{
	double all = c->coherence[cell->object];

	return all > 0 ? transfers[cell->object] *
				 (double)cell->stages[0].misses[SN_SIM_COHERENCE] / all
		       : 0;
}

/* Misses that may be hits. An instance behind one that was recorded finds the caches as in the program; if half of the
 * accesses are of such, they stand for those of instances that found them empty. */
static double open_of(const struct sn_replay_cell *cell, unsigned stage)
{
	const struct sn_sim_stage *at = &cell->stages[stage],
				  *all = &cell->stages[stage == SN_SIM_TLB ? stage : 0];
	double others = 1 - sn_share(all->accesses_at_start, all->accesses);

	return others >= 0.5 ? (double)(at->open - at->open_at_start) / others : (double)at->open;
}

/* Those that other cores are to blame for are as many as the threads' overlap in time makes them. */
static double misses_of(const struct caching *c, const struct sn_replay_cell *cell, unsigned stage)
{
	const struct sn_sim_stage *at = &cell->stages[stage];
	double known = (double)(sn_sim_stage_misses(at) - at->open);
	double others = (double)at->misses[SN_SIM_COHERENCE];

	return fmax(0, known + others * (c->sharing[cell->object].factor - 1));
}

static void cell_values(const struct caching *c, const struct sn_replay_cell *cell,
			double values[COLUMNS], double errors[COLUMNS])
{
	unsigned last = c->replay->config.level_count - 1;
	const struct sn_sim_stage *outer = &cell->stages[last];
	const struct sn_sharing *sharing = &c->sharing[cell->object];
	double line_bytes = c->replay->config.line_bytes;
	double used = sn_share(outer->used_bytes, outer->lines * c->replay->config.line_bytes);

	memset(errors, 0, COLUMNS * sizeof(*errors));
	for (unsigned s = 0; s < SN_SIM_STAGES; s++) {
		values[MISSES + s] = misses_of(c, cell, s);
		errors[MISSES + s] = open_of(cell, s);
	}
	values[REFS] = (double)cell->stages[0].accesses;
	values[CONFLICT] = (double)cell->stages[1].misses[SN_SIM_CONFLICT];
	values[CHAINED] = is_chain(c, c->replay->sites.items[cell->site].loop)
				  ? values[MISSES + SN_LEVEL_L3]
				  : 0;
	errors[CHAINED] = values[CHAINED] > 0 ? errors[MISSES + SN_LEVEL_L3] : 0;
	values[FALSELY] = transfers_of(c, cell, c->false_transfers) * sharing->factor;
	values[SHARED] = transfers_of(c, cell, c->true_transfers) * sharing->factor;
	for (int i = FALSELY; i <= SHARED; i++)
		errors[i] = sharing->factor > 0 ? values[i] * sharing->error / sharing->factor : 0;
	values[MOVED] = values[MISSES + last] * line_bytes;
	values[USED] = isnan(used) ? values[MOVED] : values[MOVED] * used;
	errors[MOVED] = errors[MISSES + last] * line_bytes;
	errors[USED] = isnan(used) ? errors[MOVED] : errors[MOVED] * used;
}

static bool has_column(const struct caching *c, int column)
{
	unsigned levels = c->replay->config.level_count;

	if (column < TLB)
		return (unsigned)column < levels;
	if (column == CHAINED)
		return levels > SN_LEVEL_L3;
	return column != CONFLICT || levels > 1;
}

static void cost_add(struct caching *c, const struct sn_replay_cell *cell,
		     const double values[COLUMNS])
{
	const struct sn_replay_site *site = &c->replay->sites.items[cell->site];
	struct loop_cost *cost = NULL;

	for (size_t i = 0; i < c->costs.count && !cost; i++)
		if (c->costs.items[i].loop == site->loop &&
		    c->costs.items[i].process == site->process)
			cost = &c->costs.items[i];
	if (!cost) {
		sn_vec_push(&c->costs, (struct loop_cost){ .loop = site->loop,
							   .process = site->process,
							   .is_chain = is_chain(c, site->loop) });
		cost = &sn_vec_last(&c->costs);
	}
	for (unsigned s = 0; s < SN_SIM_STAGES; s++)
		cost->misses[s] += values[MISSES + s];
	cost->transfers += values[FALSELY] + values[SHARED];
}

static void cell_add(struct caching *c, const struct sn_replay_cell *cell)
{
	struct sn_recorded *r = c->r;
	const struct loop_places *places;
	double values[COLUMNS], errors[COLUMNS], scale = scale_of(c, cell);
	struct sn_value value = { .source = c->source, .samples = NAN };

	if (r->thread_members[cell->thread] == SN_ALL)
		return;
	places = places_of(c, c->replay->sites.items[cell->site].loop, cell->thread);
	cell_values(c, cell, values, errors);
	for (int i = 0; i < COLUMNS; i++) {
		values[i] *= scale;
		errors[i] *= scale;
	}
	cost_add(c, cell, values);
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_DATA] = c->data[cell->object];
	value.keys[SN_KEY_THREAD] = r->thread_members[cell->thread];
	value.keys[SN_KEY_PROCESS] =
		r->tables->members[SN_KEY_THREAD].items[value.keys[SN_KEY_THREAD]].parent;
	for (int i = 0; i < COLUMNS; i++) {
		if (!has_column(c, i) || (!(values[i] > 0) && !(errors[i] > 0)))
			continue;
		value.column = c->columns[i];
		for (size_t p = 0; p < places->items.count; p++) {
			value.keys[SN_KEY_REGION] = places->items.items[p].region;
			value.value = values[i] * places->items.items[p].share;
			value.error =
				errors[i] > 0 ? errors[i] * places->items.items[p].share : NAN;
			value.open =
				i == FALSELY || i == SHARED || !(errors[i] > 0) ? 0 : value.error;
			sn_tables_add(r->tables, &value);
		}
	}
}

/* ---- what a miss costs ---- */

static void penalties_find(struct caching *c)
{
	const struct sn_machine *machine = c->r->machine ? c->r->machine->machine : NULL;
	unsigned levels = c->replay->config.level_count;
	struct sn_bandwidths memory;

	for (unsigned s = 0; s < SN_SIM_STAGES; s++)
		c->penalties_s[s] = NAN;
	if (!machine)
		return;
	memory = sn_bandwidths_of(machine);
	for (unsigned l = 0; l < levels; l++) {
		unsigned next = l + 1 < levels ? l + 1 : SN_LEVEL_RAM;

		c->penalties_s[l] =
			fmax(0, memory.latency_cycles[next] - memory.latency_cycles[l]) / hz;
	}
	c->penalties_s[SN_SIM_TLB] = walk_cycles / hz;
}

/* What is left of the loop's CPU time for its misses, in the run whose times count: without page faults, and without what
 * other remedies are said to save. NaN: no sample met it there. */
static double loop_seconds(const struct caching *c, uint32_t loop, uint32_t process)
{
	const struct sn_recorded *times = times_of(c);
	const struct sn_member *owner =
		&c->r->tables->members[SN_KEY_PROCESS].items[c->r->process_members[process]];
	uint32_t keys[SN_KEYS];
	double seconds, gain, saved;

	if (!loop_keys(c, loop, keys))
		return NAN;
	keys[SN_KEY_PROCESS] = sn_tables_member(times->tables, SN_KEY_PROCESS, SN_ALL, owner->id);
	if (keys[SN_KEY_PROCESS] == SN_ALL)
		return NAN;
	seconds = value_at(times, "own", keys, NAN) - value_at(times, "faults", keys, 0);
	keys[SN_KEY_PROCESS] = SN_ALL; /* the static model's values are of the code */
	gain = value_at(times, "vector_gain", keys, 1);
	saved = fmax(value_at(times, "slow_cost", keys, 0), gain > 1 ? 1 - 1 / gain : 0);
	return fmax(0, seconds) * (1 - saved);
}

/* What passes over a chain would take with all of its data in L1. NaN: how many there were is not known. */
static double passes_seconds(const struct caching *c, uint32_t loop, uint32_t process)
{
	const struct sn_experiment *e = c->r->profile->experiment;
	double passes = 0;

	for (size_t i = 0; i < e->instances.count; i++) {
		const struct sn_loop_instances *counted = &e->instances.items[i];

		if (!is_of(c, counted, loop, counted->thread) ||
		    e->threads.items[counted->thread].process != process)
			continue;
		passes += counted->has_iterations ? (double)counted->iterations : NAN;
	}
	return passes * (c->r->share_of_run > 0 ? c->r->share_of_run : 1) *
	       static_value(c, loop, "cycles_in_l1", NAN) / hz;
}

/* The misses of a chain take what its loop takes beyond its passes: each waits for the one before, and nothing hides it.
 * `all`: what they would cost where half is hidden. */
static double chain_factor(const struct caching *c, const struct loop_cost *cost, double seconds,
			   double all)
{
	double left = seconds - passes_seconds(c, cost->loop, cost->process);

	if (isnan(left))
		return NAN;
	return fmin(fmax(left, 0) / all, chain_most / (1 - overlap));
}

static void factors_find(struct caching *c)
{
	for (size_t i = 0; i < c->costs.count; i++) {
		struct loop_cost *cost = &c->costs.items[i];
		double all = cost->misses[SN_SIM_TLB] * c->penalties_s[SN_SIM_TLB], seconds = NAN;

		for (unsigned l = 0; l < c->replay->config.level_count; l++)
			all += cost->misses[l] * c->penalties_s[l] * (1 - overlap);
		all += cost->transfers * c->penalties_s[c->replay->config.level_count - 1];
		if (cost->loop != SN_NONE)
			seconds = loop_seconds(c, cost->loop, cost->process);
		cost->factor =
			cost->is_chain && all > 0 ? chain_factor(c, cost, seconds, all) : NAN;
		if (isnan(cost->factor))
			cost->factor = all > 0 && seconds < all ? seconds / all : 1;
		if (isnan(seconds)) /* so short that no sample met it */
			cost->factor = 0;
	}
}

/* A region's penalties are those of its loops, by their misses. */
struct region_cost {
	double misses[SN_SIM_STAGES], weighted[SN_SIM_STAGES];
};

static void region_costs_find(struct caching *c, uint32_t process, struct region_cost *costs)
{
	for (size_t i = 0; i < c->costs.count; i++) {
		const struct loop_cost *cost = &c->costs.items[i];

		if (c->r->process_members[cost->process] != process)
			continue;
		for (size_t k = 0; k < c->loops.count; k++) {
			const struct loop_places *places = &c->loops.items[k];

			if (places->loop != cost->loop ||
			    c->r->profile->experiment->threads.items[places->thread].process !=
				    cost->process)
				continue;
			for (size_t p = 0; p < places->items.count; p++) {
				struct region_cost *at = &costs[places->items.items[p].region];

				for (unsigned s = 0; s < SN_SIM_STAGES; s++) {
					double misses = cost->misses[s] + 1e-9;

					misses *= places->items.items[p].share;
					at->misses[s] += misses;
					at->weighted[s] += misses * cost->factor;
				}
			}
		}
	}
}

static void penalty_add(struct caching *c, unsigned stage, uint32_t region, uint32_t process,
			double seconds)
{
	struct sn_value value = { .column = sn_tables_column(c->r->tables, "penalty",
							     names[MISSES + stage].level),
				  .source = c->source,
				  .value = seconds,
				  .samples = NAN,
				  .error = NAN };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_PROCESS] = process;
	sn_tables_add(c->r->tables, &value);
}

static void penalties_add(struct caching *c)
{
	size_t regions = c->r->tables->members[SN_KEY_REGION].count;
	size_t processes = c->r->tables->members[SN_KEY_PROCESS].count;
	struct region_cost *costs = sn_alloc(regions * sizeof(*costs));

	for (unsigned s = 0; s < SN_SIM_STAGES; s++)
		if (!isnan(c->penalties_s[s])) /* of whatever is not told below */
			penalty_add(c, s, SN_ALL, SN_ALL, c->penalties_s[s]);
	for (uint32_t p = 0; p < processes; p++) {
		memset(costs, 0, regions * sizeof(*costs));
		region_costs_find(c, p, costs);
		for (uint32_t g = 0; g < regions; g++)
			for (unsigned s = 0; s < SN_SIM_STAGES; s++)
				if (costs[g].misses[s] > 0 && !isnan(c->penalties_s[s]))
					penalty_add(c, s, g, p,
						    c->penalties_s[s] * costs[g].weighted[s] /
							    costs[g].misses[s]);
	}
	free(costs);
}

/* What the memory of this host gives to so many threads, if that was measured. */
static void bandwidth_add(struct caching *c)
{
	struct sn_value value = { .column = sn_tables_column(c->r->tables, "bandwidth_peak", NULL),
				  .source = c->source,
				  .samples = NAN,
				  .error = NAN };
	char *path = sn_roofs_path();
	struct sn_roofs roofs = { 0 };
	const struct sn_roof *roof = NULL;
	struct sn_error err;

	if (path && sn_roofs_read(path, &roofs, &err) == SN_OK)
		roof = sn_roofs_find(&roofs, SN_ROOF_READ, SN_MEMORY_LEVELS - 1,
				     sn_roofs_threads(&roofs));
	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	if (roof && roof->value > 0) {
		value.value = roof->value;
		sn_tables_add(c->r->tables, &value);
	}
	sn_roofs_free(&roofs);
	free(path);
}

/* ---- all ---- */

static void caching_free(struct caching *c)
{
	for (size_t i = 0; i < c->loops.count; i++)
		sn_vec_free(&c->loops.items[i].items);
	sn_vec_free(&c->loops);
	sn_vec_free(&c->costs);
	free(c->data);
	free(c->coherence);
	free(c->false_transfers);
	free(c->true_transfers);
	free(c->sharing);
	sn_replay_free(c->replay);
}

static void caches_collect(struct sn_recorded *r)
{
	struct caching c = { .r = r };
	struct sn_sim_config native;

	if (r->part || !r->profile->experiment->windows.count)
		return;
	if (!r->caches)
		sn_sim_config_native(&native);
	c.replay =
		sn_replay_new(r->profile, r->caches ? r->caches : &native, SN_REPLAY_ACCESSES_MOST);
	c.source = sn_tables_source(r->tables, "caches");
	for (int i = 0; i < COLUMNS; i++) {
		c.columns[i] = SN_ALL;
		if (!has_column(&c, i))
			continue;
		c.columns[i] = sn_tables_column(r->tables, names[i].metric, names[i].level);
		sn_tables_complete(r->tables, c.columns[i]);
	}
	objects_find(&c);
	c.sharing = sn_sharing_find(r, r->times ? r->times : r, c.replay);
	sharing_add(&c);
	for (size_t i = 0; i < c.replay->cells.count; i++)
		cell_add(&c, &c.replay->cells.items[i]);
	penalties_find(&c);
	factors_find(&c);
	penalties_add(&c);
	bandwidth_add(&c);
	caching_free(&c);
}

static const char *const counts[] = { "refs",
				      "misses",
				      "conflict_misses",
				      "chained_misses",
				      "lines_shared_falsely",
				      "lines_shared",
				      "bytes_moved",
				      "bytes_used",
				      NULL };

const struct sn_source sn_source_caches = {
	.name = "caches",
	.measures =
		"accesses and misses of loops by data object and thread, replayed through caches of any size",
	.needs = "a run of sonde trace",
	.none = "no hot loop of this program can give",
	.costs = "a fifth of the CPU time, and the replay of what was recorded",
	.option = "trace",
	.needs_of = needs_of,
	.gives = given,
	.counts = counts,
	.collect = caches_collect,
};
