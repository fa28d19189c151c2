/* Windows in the order of time, threads in turn, their addresses as objects. */
#include "caches/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"
#include "caches/handed.h"
#include "caches/replay_part.h"
#include "caches/replay_places.h"
#include "wire/accesses.h"

enum {
	/* A thread's turn. A core keeps a line for some accesses before another gets it. */
	TURN_ACCESSES = 32,
};

/* What is replayed of one process. */
struct player {
	struct sn_replay *replay;
	const struct sn_profile *profile;
	uint32_t process;
	struct sn_sim *sim;
	struct sn_replay_places places; /* at the time of the window that plays */
	SN_VEC(uint32_t) core_threads;	/* by core */
	struct sn_map core_of;		/* thread -> core */
	uint32_t first_site;		/* of the process, in the replay */
	struct sn_map site_of;		/* hash -> site of the process */
	struct sn_map next_number;	/* hash of thread and loop -> number of the next instance */
};

/* ---- windows ---- */

/* A window that plays. */
struct playing {
	const struct sn_access_window *window;
	const uint32_t *sites; /* by record */
	unsigned core;
	uint32_t group;	    /* its first record */
	uint64_t iteration; /* of the group */
	uint64_t done;
};

struct windows {
	SN_VEC(struct playing) items; /* of the process, by the time of their begin */
};

static uint32_t window_module(const struct sn_profile *profile,
			      const struct sn_access_window *window)
{
	const struct sn_experiment *e = profile->experiment;

	return window->stack == SN_NONE ? SN_NONE : e->stacks.items[window->stack].frames[0].module;
}

static uint32_t site_add(struct player *player, const struct sn_replay_site *site)
{
	uint64_t key = sn_hash_pair(site->link_addr, (uint64_t)site->module << 32 | site->loop);
	bool is_new;
	uint64_t *number = sn_map_put(&player->site_of, key, &is_new);

	if (is_new) {
		*number = player->replay->sites.count - player->first_site;
		sn_vec_push(&player->replay->sites, *site);
	}
	return (uint32_t)*number;
}

static void window_add(struct player *player, const struct sn_access_window *window,
		       struct windows *windows)
{
	struct sn_replay_site site = { .process = player->process,
				       .module = window_module(player->profile, window),
				       .loop = sn_replay_window_loop(player->profile, window) };
	uint32_t *sites =
		sn_arena_array(&player->replay->arena, uint32_t, window->record_count + 1);
	bool is_new;
	uint64_t *core = sn_map_put(&player->core_of, window->thread, &is_new);

	for (uint32_t r = 0; r < window->record_count; r++) {
		site.link_addr = window->records[r].link_addr;
		sites[r] = site_add(player, &site);
	}
	if (is_new) {
		*core = player->core_threads.count % SN_SIM_CORES_MAX;
		sn_vec_push(&player->core_threads, window->thread);
	}
	sn_vec_push(&windows->items,
		    (struct playing){ .window = window, .sites = sites, .core = (unsigned)*core });
	player->replay->windows++;
	player->replay->cut_windows += window->is_cut;
	player->replay->accesses += window->accesses;
}

static int by_begin(const void *a, const void *b)
{
	const struct sn_access_window *x = ((const struct playing *)a)->window;
	const struct sn_access_window *y = ((const struct playing *)b)->window;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Whether instances between this window and the one before it of its loop and thread are missing. */
static bool has_gap_before(struct player *player, const struct playing *playing)
{
	const struct sn_access_window *window = playing->window;
	uint64_t key =
		(uint64_t)window->thread << 32 | sn_replay_window_loop(player->profile, window);
	uint64_t *next = sn_map_put(&player->next_number, key, NULL);
	bool has_gap = window->number != *next;

	*next = window->is_cut ? UINT64_MAX : window->number + 1;
	return has_gap;
}

/* ---- playing ---- */

static double time_of(const struct playing *playing)
{
	const struct sn_access_window *window = playing->window;
	double length = (double)(window->end_ns - window->begin_ns);

	return (double)window->begin_ns +
	       (window->accesses ? length * ((double)playing->done / (double)window->accesses) : 0);
}

/* Accesses of a window until a time. */
static uint64_t accesses_until(const struct playing *playing, double time_ns)
{
	const struct sn_access_window *window = playing->window;
	double length = (double)(window->end_ns - window->begin_ns), part;

	if (!(length > 0) || isinf(time_ns))
		return UINT64_MAX;
	part = (time_ns - (double)window->begin_ns) / length * (double)window->accesses -
	       (double)playing->done;
	return part > TURN_ACCESSES ? (uint64_t)part : TURN_ACCESSES;
}

/* The records of the group that go on; their number, and for how many iterations all of them do. */
static size_t group_ready(const struct playing *playing, struct sn_sim_access *accesses,
			  uint64_t *times)
{
	const struct sn_access_record *first = &playing->window->records[playing->group];
	uint32_t length = first->group_length;
	size_t count = 0;

	*times = UINT64_MAX;
	for (uint32_t r = 0; r < length; r++) {
		const struct sn_access_record *record = &first[r];

		if (record->count <= playing->iteration)
			continue;
		if (record->count - playing->iteration < *times)
			*times = record->count - playing->iteration;
		accesses[count++] = (struct sn_sim_access){
			.site = playing->sites[playing->group + r],
			.size_bytes = record->size_bytes,
			.address = record->address +
				   (uint64_t)record->stride_bytes * playing->iteration,
			.stride_bytes = record->stride_bytes,
			.is_write = (record->kind & SN_ACCESS_WRITE) != 0,
		};
	}
	return count;
}

/* Plays so many accesses, or some more; false: the window is over. */
static bool window_play(struct player *player, struct playing *playing, uint64_t accesses)
{
	const struct sn_access_window *window = playing->window;
	SN_VEC(struct sn_sim_access) ready = { 0 };

	player->places.now_ns = window->begin_ns;
	player->places.until_ns = window->end_ns;
	while (accesses && playing->group < window->record_count) {
		uint32_t length = window->records[playing->group].group_length;
		uint64_t times, played;
		size_t count;

		if (!length || length > window->record_count - playing->group)
			length = window->record_count - playing->group; /* never by its maker */
		sn_vec_reserve(&ready, length);
		count = group_ready(playing, ready.items, &times);
		if (!count) {
			playing->group += length;
			playing->iteration = 0;
			continue;
		}
		if (times > accesses / count)
			times = accesses / count ? accesses / count : 1;
		sn_sim_run(player->sim, playing->core, ready.items, count, times);
		played = times * count;
		playing->iteration += times;
		playing->done += played;
		accesses -= played < accesses ? played : accesses;
	}
	sn_vec_free(&ready);
	return playing->group < window->record_count;
}

/* Windows that play at one time. */
struct stage {
	SN_VEC(struct playing *) items;
};

/* The one whose next access comes first, and when the next one of the others comes. */
static size_t stage_first(const struct stage *stage, double *others_ns)
{
	double first_ns = INFINITY;
	size_t first = 0;

	*others_ns = INFINITY;
	for (size_t i = 0; i < stage->items.count; i++) {
		double time_ns = time_of(stage->items.items[i]);

		if (time_ns < first_ns) {
			*others_ns = first_ns;
			first_ns = time_ns;
			first = i;
		} else if (time_ns < *others_ns) {
			*others_ns = time_ns;
		}
	}
	return first;
}

static void windows_play(struct player *player, struct windows *windows)
{
	struct stage stage = { 0 };
	size_t next = 0;

	while (next < windows->items.count || stage.items.count) {
		double until_ns;
		size_t first = stage_first(&stage, &until_ns);
		const struct sn_access_window *coming =
			next < windows->items.count ? windows->items.items[next].window : NULL;

		if (coming && (!stage.items.count ||
			       (double)coming->begin_ns <= time_of(stage.items.items[first]))) {
			struct playing *playing = &windows->items.items[next++];

			if (!has_gap_before(player, playing))
				sn_sim_go_on(player->sim);
			else if (!stage.items.count)
				sn_sim_forget(player->sim);
			if (player->replay->blocks)
				sn_sim_objects_changed(player->sim, playing->core);
			sn_vec_push(&stage.items, playing);
			continue;
		}
		if (!stage.items.items)
			break; /* never: something plays, or comes */
		if (coming && (double)coming->begin_ns < until_ns)
			until_ns = (double)coming->begin_ns;
		if (!window_play(player, stage.items.items[first],
				 accesses_until(stage.items.items[first], until_ns)))
			stage.items.items[first] = stage.items.items[--stage.items.count];
	}
	sn_sim_forget(player->sim);
	sn_vec_free(&stage.items);
}

/* ---- what came of it ---- */

static void cells_take(struct player *player)
{
	struct sn_replay *replay = player->replay;
	size_t count;
	const struct sn_sim_cell *cells = sn_sim_cells(player->sim, &count);

	for (size_t i = 0; i < count; i++) {
		struct sn_replay_cell cell = {
			.site = player->first_site + cells[i].site,
			.thread = player->core_threads.items[cells[i].core],
			.object = cells[i].object,
		};

		memcpy(cell.stages, cells[i].stages, sizeof(cell.stages));
		memcpy(cell.strides, cells[i].strides, sizeof(cell.strides));
		sn_vec_push(&replay->cells, cell);
	}
}

static int by_object_and_line(const void *a, const void *b)
{
	const struct sn_sim_shared *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void sites_join(struct player *player, struct sn_replay_shared *to,
		       const struct sn_sim_shared *from)
{
	for (uint32_t s = 0; s < from->site_count; s++) {
		uint32_t site = player->first_site + from->sites[s];
		bool is_there = false;

		for (uint32_t k = 0; k < to->site_count; k++)
			is_there |= to->sites[k] == site;
		if (!is_there && to->site_count < SN_SIM_SITES_MAX)
			to->sites[to->site_count++] = site;
	}
}

/* Neighbouring lines of an object become one piece. */
static void shared_take(struct player *player)
{
	size_t count;
	const struct sn_sim_shared *given = sn_sim_shared(player->sim, &count);
	struct sn_sim_shared *lines = sn_alloc_zeroed(count + 1, sizeof(*lines));
	uint64_t cores[SN_SIM_CORES_MAX / 64] = { 0 };
	struct sn_replay_shared *piece = NULL;

	if (count)
		memcpy(lines, given, count * sizeof(*lines));
	qsort(lines, count, sizeof(*lines), by_object_and_line);
	for (size_t i = 0; i < count; i++) {
		const struct sn_sim_shared *line = &lines[i];

		if (!i || lines[i - 1].object != line->object ||
		    line->line - lines[i - 1].line > 1) {
			memset(cores, 0, sizeof(cores));
			sn_vec_push(
				&player->replay->shared,
				(struct sn_replay_shared){ .object = line->object,
							   .first_address = line->first_address,
							   .last_address = line->last_address });
		}
		piece = &sn_vec_last(&player->replay->shared);
		if (line->first_address < piece->first_address)
			piece->first_address = line->first_address;
		if (line->last_address > piece->last_address)
			piece->last_address = line->last_address;
		piece->true_transfers += line->true_transfers;
		piece->false_transfers += line->false_transfers;
		piece->thread_count = 0;
		for (size_t w = 0; w < SN_SIM_CORES_MAX / 64; w++) {
			cores[w] |= line->cores[w];
			piece->thread_count += (uint32_t)__builtin_popcountll(cores[w]);
		}
		sites_join(player, piece, line);
	}
	free(lines);
}

static void process_play(struct sn_replay *replay, const struct sn_profile *profile,
			 uint32_t process)
{
	const struct sn_experiment *e = profile->experiment;
	struct player player = {
		.replay = replay,
		.profile = profile,
		.process = process,
		.places = { .replay = replay, .profile = profile, .process = process },
		.first_site = (uint32_t)replay->sites.count
	};
	struct windows windows = { 0 };

	for (size_t w = 0; w < e->windows.count; w++) {
		const struct sn_access_window *window = replay->plays[w];

		if (window && e->threads.items[window->thread].process == process)
			window_add(&player, window, &windows);
	}
	if (windows.items.count) {
		size_t threads = player.core_threads.count;

		qsort(windows.items.items, windows.items.count, sizeof(*windows.items.items),
		      by_begin);
		player.sim = sn_sim_new(
			&replay->config,
			(unsigned)(threads < SN_SIM_CORES_MAX ? threads : SN_SIM_CORES_MAX),
			(uint32_t)replay->sites.count - player.first_site, sn_replay_object_at,
			&player.places);
		windows_play(&player, &windows);
		cells_take(&player);
		shared_take(&player);
	}
	sn_sim_free(player.sim);
	sn_vec_free(&windows.items);
	sn_vec_free(&player.core_threads);
	sn_replay_places_free(&player.places);
	sn_map_free(&player.core_of);
	sn_map_free(&player.site_of);
	sn_map_free(&player.next_number);
}

/* ---- how much of a loop was seen ---- */

static struct sn_replay_loop *loop_with(sn_replay_loop_vec *loops, uint32_t loop, uint32_t thread)
{
	for (size_t i = 0; i < loops->count; i++)
		if (loops->items[i].loop == loop && loops->items[i].thread == thread)
			return &loops->items[i];
	sn_vec_push(loops,
		    (struct sn_replay_loop){ .loop = loop, .thread = thread, .seen_share = NAN });
	return &sn_vec_last(loops);
}

/* `thread` may be SN_NONE: of all. *iterations is 0 where they are not known. */
static uint64_t instances_of(const struct sn_profile *profile, uint32_t loop, uint32_t thread,
			     uint64_t *iterations)
{
	bool are_known = true;
	const struct sn_experiment *e = profile->experiment;
	uint64_t instances = 0;

	for (size_t i = 0; i < e->instances.count; i++) {
		const struct sn_loop_instances *counted = &e->instances.items[i];

		if (counted->stack != SN_NONE && profile->thread_passes[counted->thread] &&
		    (thread == SN_NONE || counted->thread == thread) &&
		    sn_program_leaf(profile->program, counted->stack)->loop == loop) {
			instances += counted->instances;
			*iterations += counted->iterations;
			are_known &= counted->has_iterations;
		}
	}
	if (!are_known)
		*iterations = 0;
	return instances;
}

/* In an innermost loop it is that many iterations; in others more, so that less seems to be missing than is. */
static uint64_t iterations_of(const struct sn_access_window *window)
{
	struct sn_map counts = { 0 };
	uint64_t most = 0;

	for (uint32_t r = 0; r < window->record_count; r++) {
		uint64_t *count = sn_map_put(&counts, window->records[r].link_addr, NULL);

		*count += window->records[r].count;
		most = *count > most ? *count : most;
	}
	sn_map_free(&counts);
	return most;
}

static void window_count(struct sn_replay_loop *loop, const struct sn_access_window *window)
{
	loop->windows++;
	loop->cut_windows += window->is_cut;
	loop->accesses += window->accesses;
	if (!window->is_cut)
		loop->whole_accesses += window->accesses;
	else
		loop->cut_iterations += iterations_of(window);
}

/* By the accesses of whole windows, what all instances together may have had; without any, by iterations. */
static void seen_find(struct sn_replay_loop *loop, const struct sn_profile *profile)
{
	uint64_t iterations = 0;
	uint64_t instances = loop->loop == SN_NONE
				     ? 0
				     : instances_of(profile, loop->loop, loop->thread, &iterations);

	if (loop->whole_accesses && instances)
		loop->seen_share = fmin(1, (double)loop->accesses /
						   ((double)loop->whole_accesses /
						    (double)(loop->windows - loop->cut_windows) *
						    (double)instances));
	else if (loop->cut_iterations && iterations)
		loop->seen_share = fmin(1, (double)loop->cut_iterations / (double)iterations);
}

static void loops_find(struct sn_replay *replay, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t w = 0; w < e->windows.count; w++) {
		const struct sn_access_window *window = replay->plays[w];
		uint32_t loop;

		if (!window)
			continue;
		loop = sn_replay_window_loop(profile, window);
		window_count(loop_with(&replay->loops, loop, SN_NONE), window);
		window_count(loop_with(&replay->thread_loops, loop, window->thread), window);
	}
	for (size_t i = 0; i < replay->loops.count; i++)
		seen_find(&replay->loops.items[i], profile);
	for (size_t i = 0; i < replay->thread_loops.count; i++)
		seen_find(&replay->thread_loops.items[i], profile);
}

double sn_replay_seen_share(const struct sn_replay *replay, uint32_t loop, uint32_t thread)
{
	const struct sn_replay_loop *loops =
		thread == SN_NONE ? replay->loops.items : replay->thread_loops.items;
	size_t count = thread == SN_NONE ? replay->loops.count : replay->thread_loops.count;

	for (size_t i = 0; i < count; i++)
		if (loops[i].loop == loop && loops[i].thread == thread)
			return loops[i].seen_share;
	return NAN;
}

/* ---- what could have moved ---- */

static void object_once(const struct sn_replay *replay, uint32_t object,
			struct sn_replay_handed *out)
{
	for (size_t i = 0; i < out->objects.count; i++)
		if (!strcmp(replay->objects.items[out->objects.items[i]].name,
			    replay->objects.items[object].name))
			return;
	sn_vec_push(&out->objects, object);
}

static void process_handed(struct sn_replay *replay, const struct sn_profile *profile,
			   uint32_t process, struct sn_replay_handed *out)
{
	const struct sn_experiment *e = profile->experiment;
	struct player player = {
		.replay = replay,
		.profile = profile,
		.process = process,
		.places = { .replay = replay, .profile = profile, .process = process }
	};
	struct sn_handed handed = { .line_bytes = replay->config.line_bytes };
	struct sn_map threads = { 0 };
	uint32_t thread_count = 0;
	uint64_t first, last;

	for (size_t w = 0; w < e->windows.count; w++) {
		const struct sn_access_window *window = replay->plays[w];
		bool is_new;

		if (!window || e->threads.items[window->thread].process != process)
			continue;
		sn_map_put(&threads, window->thread, &is_new);
		thread_count += is_new;
		sn_handed_add(&handed, window);
	}
	for (size_t i = 0; i < handed.lines.count; i++) {
		player.places.now_ns = player.places.until_ns = handed.lines.items[i].at_ns;
		object_once(replay,
			    sn_replay_object_at(&player.places, handed.lines.items[i].address,
						&first, &last),
			    out);
	}
	out->lines += handed.lines.count;
	if (thread_count > out->threads)
		out->threads = thread_count;
	sn_map_free(&threads);
	sn_replay_places_free(&player.places);
	sn_handed_free(&handed);
}

void sn_replay_handed_find(struct sn_replay *replay, const struct sn_profile *profile,
			   struct sn_replay_handed *out)
{
	*out = (struct sn_replay_handed){ 0 };
	for (uint32_t p = 0; p < profile->experiment->processes.count; p++)
		process_handed(replay, profile, p, out);
}

void sn_replay_handed_free(struct sn_replay_handed *handed)
{
	sn_vec_free(&handed->objects);
}

struct sn_replay *sn_replay_new(const struct sn_profile *profile,
				const struct sn_sim_config *config, uint64_t accesses_most)
{
	struct sn_replay *replay = sn_alloc_zeroed(1, sizeof(*replay));

	replay->config = *config;
	replay->plays = sn_replay_part_find(&replay->arena, profile, accesses_most);
	replay->data = sn_data_objects_new(profile->experiment);
	sn_replay_blocks_find(replay, profile);
	for (uint32_t p = 0; p < profile->experiment->processes.count; p++)
		process_play(replay, profile, p);
	loops_find(replay, profile);
	return replay;
}

void sn_replay_free(struct sn_replay *replay)
{
	if (!replay)
		return;
	sn_vec_free(&replay->sites);
	sn_vec_free(&replay->objects);
	sn_vec_free(&replay->cells);
	sn_vec_free(&replay->shared);
	sn_vec_free(&replay->loops);
	sn_vec_free(&replay->thread_loops);
	free(replay->plays);
	sn_data_objects_free(replay->data);
	sn_heap_blocks_free(replay->blocks);
	sn_arena_free(&replay->arena);
	free(replay);
}
