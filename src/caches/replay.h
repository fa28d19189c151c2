/**
 * What a trace recorded (sonde trace), replayed through caches: accesses, misses and transfers by loop,
 * instruction, thread and data object.
 *
 * Windows of one process that overlap in time, or between which nothing of their loops was left out,
 * find the caches as the ones before left them; others find them empty.
 */
#ifndef SN_CACHES_REPLAY_H
#define SN_CACHES_REPLAY_H

#include "base/arena.h"
#include "caches/simulate.h"
#include "heap/blocks.h"
#include "profile/data_objects.h"
#include "profile/profile.h"

struct sn_replay_object {
	/* "table"; ".bss"; "unew (grid_new, solve.c:41)", what holds a block of the heap and where it was allocated;
	 * "grid_new (solve.c:41)"; "[heap]", "[stack]", "[mapped]" */
	const char *name;
	const char *kind;   /* "variable", "section", "heap", "stack", "mapped", "unknown" */
	const char *file;   /* of the declaration, or of the allocation; NULL: unknown */
	uint32_t line;	    /* 0: unknown */
	const char *module; /* base name; NULL: none */
	bool has_address;   /* of a variable, or the only block of its site: offsets can be told */
	uint64_t address;
};

/** An instruction of a loop. */
struct sn_replay_site {
	uint32_t process, module, loop; /* of the program; SN_NONE: unknown */
	uint64_t link_addr;
};

/** What an instruction of one thread did to an object. */
struct sn_replay_cell {
	uint32_t site, thread, object;
	struct sn_sim_stage stages[SN_SIM_STAGES];
	struct sn_sim_stride strides[SN_SIM_STRIDES];
};

/** A piece of an object that moved between threads. */
struct sn_replay_shared {
	uint32_t object;
	uint64_t first_address, last_address;
	uint64_t true_transfers, false_transfers;
	uint32_t thread_count;
	uint32_t sites[SN_SIM_SITES_MAX], site_count;
};

struct sn_replay_loop {
	uint32_t loop;	 /* SN_NONE: windows of which no loop is known */
	uint32_t thread; /* SN_NONE: all of them */
	uint64_t windows, cut_windows, accesses;
	uint64_t whole_accesses; /* of windows that are not cut */
	/* of those that are cut: how often the instruction came that came most often */
	uint64_t cut_iterations;
	double seen_share; /* of the loop's accesses, estimated; NaN: unknown */
};

typedef SN_VEC(struct sn_replay_loop) sn_replay_loop_vec;

struct sn_replay {
	struct sn_sim_config config;
	SN_VEC(struct sn_replay_site) sites;
	SN_VEC(struct sn_replay_object) objects;
	SN_VEC(struct sn_replay_cell) cells;
	SN_VEC(struct sn_replay_shared) shared;	 /* by object, then address */
	sn_replay_loop_vec loops;		 /* of all threads */
	sn_replay_loop_vec thread_loops;	 /* of each thread that has windows of it */
	uint64_t windows, cut_windows, accesses; /* an access over two lines counts once here */
	const struct sn_access_window *
		*plays; /* by the experiment's window: what was replayed of it; NULL: nothing */
	struct sn_data_objects *data;  /* whose texts objects use */
	struct sn_heap_blocks *blocks; /* that windows met; NULL: the heap was not traced */
	struct sn_arena arena;
};

/** How much of what a thread (SN_NONE: all) did in a loop was seen; NaN: unknown. */
double sn_replay_seen_share(const struct sn_replay *replay, uint32_t loop, uint32_t thread);

/** Some ten seconds of replay (chosen). What of a loop is left out then counts as not seen. */
#define SN_REPLAY_ACCESSES_MOST 200000000

/** Replays windows of threads that pass the profile's filter: all, or of each loop what its threads do in a time that has its
 * part of so many accesses (0: any number; replay_part.h). The profile must outlive the result. */
struct sn_replay *sn_replay_new(const struct sn_profile *profile,
				const struct sn_sim_config *config, uint64_t accesses_most);
void sn_replay_free(struct sn_replay *replay);

/** Objects of which one thread wrote a line and another used it, in windows at any times. */
struct sn_replay_handed {
	SN_VEC(uint32_t) objects; /* each name once, as they were met */
	uint64_t lines;
	uint32_t threads; /* that have windows; the most of one process */
};

/** Finds them in the windows that were replayed; the profile is the one of sn_replay_new. Free with
 * sn_replay_handed_free. */
void sn_replay_handed_find(struct sn_replay *replay, const struct sn_profile *profile,
			   struct sn_replay_handed *out);
void sn_replay_handed_free(struct sn_replay_handed *handed);

#endif
