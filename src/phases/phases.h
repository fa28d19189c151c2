/**
 * The phases of a run, where each could be instrumented, and its cyclic parts.
 *
 *	struct sn_phases *phases;
 *	sn_phases_new(analysis->profile, NULL, &phases, &err);
 *	for (size_t i = 0; i < phases->phases.count; i++)
 *		use(phases->phases.items[i].name, phases->phases.items[i].share);
 *
 * docs/method/phases.md has the method, its sources and how well it does.
 */
#ifndef SN_PHASES_PHASES_H
#define SN_PHASES_PHASES_H

#include <stdio.h>

#include "base/arena.h"
#include "phases/activity.h"
#include "phases/choose.h"
#include "phases/pace.h"

struct sn_structures;

enum sn_sites_method {
	SN_SITES_CONTRAST, /* ours */
	SN_SITES_PAPER,	   /* Algorithm 1 of Aaziz et al., IncProf (2022) */
};

struct sn_phases_options {
	int64_t interval_ns; /* 0: automatic */
	struct sn_choose_options choose;
	enum sn_sites_method sites;
	struct sn_structures *structures; /* of the profile, borrowed; NULL: paces have no limits
					     from the code */
};

/** From so many rounds on, people know a loop by its parts, and a function is one that is called
 * again and again. */
enum { SN_PHASES_ROUNDS_MIN = 10 };

enum sn_site_type { SN_SITE_BODY, SN_SITE_LOOP };

/** A place to instrument for one phase. */
struct sn_phase_site {
	uint32_t heartbeat; /* from 1; equal for equal sites of several phases */
	uint32_t function;  /* of the program */
	uint32_t loop;	    /* of the program; SN_NONE: body, or no loop of it was seen */
	uint32_t entity;    /* phases/paths.h: what is instrumented */
	uint32_t mark;	    /* entity that tells the phase from others: the same, or a loop in it
			       whose beats would cost too much */
	const char *name;   /* of the heartbeat: short, and no other one's */
	enum sn_site_type type;
	bool is_alternative;   /* would do as well as the site before it, which does little but call
				  it; no phase is told from another by it */
	double phase_share;    /* fraction of the phase's intervals that it is the first site of */
	double app_share;      /* of the run's */
	struct sn_pace pace;   /* in the phase */
	uint32_t length_count; /* of the lengths looked at, those that give this site, too */
};

/** A function's part of a phase. */
struct sn_phase_part {
	uint32_t function;
	double share; /* own time; a library's with the function that called */
};

struct sn_phase {
	uint32_t number;
	const char *name; /* the same from run to run as long as its first site is */
	size_t interval_count;
	double share; /* of the intervals that are not idle */
	uint64_t user_ns, system_ns, blocked_ns;
	SN_VEC(struct sn_phase_site) sites;
	SN_VEC(struct sn_phase_part) profile; /* largest first */
};

enum sn_cycle_kind {
	SN_CYCLE_PART,	/* the main loop calls it again and again */
	SN_CYCLE_STAGE, /* called once or twice, and stayed in */
	SN_CYCLE_LOOP,	/* the main loop itself; its function is the owner */
};

/** A callee of the function that owns a main loop, or the loop. */
struct sn_phase_cycle {
	uint32_t owner, function; /* of the program */
	enum sn_cycle_kind kind;
	struct sn_phase_site site; /* heartbeat 0: none: it would cost too much, or take too little
				      time, or another site stands for it */
	uint32_t phase;		   /* whose main loop it is; SN_NONE: the whole run's */
	uint64_t calls;		   /* 0: too short to be counted by samples; from samples at least
				      so many (calls_source) */
	uint64_t
		thread_calls; /* of them those that samples saw in one thread, the most; 0: not counted so */
	double share;	/* of the run's time */
	double mean_ns; /* of a call; NaN: unknown; from samples at most so long */
};

/** A function as it is shown: a copy or an outlined piece has the name of what was written. */
struct sn_phase_function {
	const char *name; /* with the module where no symbol names it */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* of the declaration, of a region its first; 0: unknown */
	bool is_region;	  /* outlined OpenMP code: one function may have several */
};

/** The result of another length of the intervals (lengths.c). */
struct sn_phase_length {
	int64_t interval_ns;
	size_t phase_count;
	double explained; /* 0..1: how much its sites tell, see docs/method/phases.md */
	double agreement; /* with the chosen one: fraction of the time with the same site */
};

struct sn_phases {
	struct sn_arena arena;
	struct sn_phases_options options;
	const struct sn_profile *profile; /* borrowed */
	struct sn_intervals *intervals;
	struct sn_phase_paths *paths;
	struct sn_phase_beats *beats;
	struct sn_phase_function *functions; /* by function */
	struct sn_phase_vectors *vectors;
	struct sn_phase_activity *activity;
	struct sn_choice *choice;
	uint32_t *phase_of; /* by interval row: phase, SN_NONE: idle */
	SN_VEC(struct sn_phase) phases;
	SN_VEC(struct sn_phase_cycle) cycles;	/* by owner, then largest share first */
	SN_VEC(const char *) warnings;		/* sentences */
	SN_VEC(struct sn_phase_length) lengths; /* that were looked at; empty: the one asked for */
};

/** `options` may be NULL. Errors: those of sn_intervals_new. The profile must outlive the result.
 */
sn_status sn_phases_new(const struct sn_profile *profile, const struct sn_phases_options *options,
			struct sn_phases **out, struct sn_error *err);
void sn_phases_free(struct sn_phases *phases);

/** "silhouette", "elbow", "fixed"; "contrast", "paper"; "body", "loop". */
const char *sn_phase_method_name(enum sn_phase_method method);
const char *sn_sites_method_name(enum sn_sites_method method);
const char *sn_site_type_name(enum sn_site_type type);
/** "part", "stage", "loop". */
const char *sn_cycle_kind_name(enum sn_cycle_kind kind);

/** Appends a function's name without its parameters and arguments of templates, and without what
 *  stands before it: of "void a::b<c::d<e> >(f)" "a::b". Nothing for "<function at 0x..>". */
void sn_function_name_strip(const char *name, struct sn_text *out);

/** Schema "sonde.phases/1" (docs/manual/phases.md): one object with its line's end. */
void sn_phases_write_json(const struct sn_phases *phases, FILE *out);

/** The sites as a heartbeat plan, "sonde.heartbeat-plan/1" (docs/manual/phases.md). */
void sn_phases_write_plan(const struct sn_phases *phases, FILE *out);
/** The ribbon, a row a process, as SVG. */
void sn_phases_write_svg(const struct sn_phases *phases, FILE *out);

/**
 * A phase of one run and the phase of another run that is like it. They are matched by what they do
 * (the common part of their profiles, by module-independent function names), best pairs first.
 * NULL: there is none.
 */
struct sn_phase_pair {
	const struct sn_phase *a, *b;
	double likeness; /* 0..1, the common part; 0 without a partner */
};
struct sn_phase_pairs {
	SN_VEC(struct sn_phase_pair) items; /* in the order of a's phases, then b's unmatched */
};
void sn_phases_match(const struct sn_phases *a, const struct sn_phases *b,
		     struct sn_phase_pairs *out);

/* ---- between the files of this folder ---- */

/** The sites of the rows (of the vectors) with `label`, appended; shares are of those rows. */
void sn_sites_paper(const struct sn_phases *phases, const uint32_t *labels, uint32_t label,
		    struct sn_phase *out);
void sn_sites_contrast(const struct sn_phases *phases, const uint32_t *labels, uint32_t label,
		       struct sn_phase *out);
/** As sn_phases_new, with intervals of the length in the options (0: the shortest that will do).
 * `like` is the result for another length of the same run, or NULL: what does not depend on the
 * length is taken from there. */
sn_status sn_phases_new_at(const struct sn_profile *profile,
			   const struct sn_phases_options *options, const struct sn_phases *like,
			   struct sn_phases **out, struct sn_error *err);
/** A body stands for all of its function's loops, a loop for all within it. */
bool sn_sites_are_equal(const struct sn_phase_paths *paths, const struct sn_phase_site *x,
			const struct sn_phase_site *y);
/** Finds the owners of main loops and their callees: those of the run, before phases are known, and
 * those of each phase. */
void sn_phases_find_parts(struct sn_phases *phases);
void sn_phases_find_cycles(struct sn_phases *phases);
/** The site in a function that takes part of the run: its body, or a loop in it. */
struct sn_phase_site sn_site_of_function(const struct sn_phases *phases, uint32_t function);
/** A function's name for people: without parameters; a region has its line. */
const char *sn_phase_function_shown(const struct sn_phases *phases, uint32_t function,
				    struct sn_arena *arena);
/** Gives names: to functions as they are shown, to phases, and to heartbeats, with their numbers. */
void sn_phases_name_functions(struct sn_phases *phases);
void sn_phases_name_sites(struct sn_phases *phases);

#endif
