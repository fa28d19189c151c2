/**
 * The one-page answer: what elapsed time went to, where CPU time was spent, how sure that is, what
 * was not measured, and what to do next.
 */
#ifndef SN_VIEWS_SUMMARY_H
#define SN_VIEWS_SUMMARY_H

#include <stdio.h>

#include "base/json.h"
#include "heap/heap.h"
#include "machine/choice.h"
#include "profile/compile.h"
#include "profile/profile.h"
#include "profile/wait.h"
#include "views/summary/verdict.h"
#include "whatif/whatif.h"

enum { SN_SUMMARY_ROWS = 10, SN_SUMMARY_MODULES = 16 };

/** A source loop: peel, main, tail and inlined copies together. */
struct sn_summary_loop {
	uint32_t loop; /* the hottest of them */
	size_t rank;   /* its row in `show loops`, from 1: `show loop '#RANK'` */
	uint32_t parts;
	struct sn_weight exclusive;
	uint64_t inclusive_ns; /* of the hottest part */
	struct sn_interval share;
	double deviation; /* of the hottest part */
};

struct sn_summary {
	struct sn_arena arena;
	const struct sn_profile *profile;
	struct sn_structures *structures; /* borrowed, or NULL */
	/* seconds; NaN: unknown */
	double elapsed_s, cpu_s, user_s, system_s, sampled_cpu_s;
	/* what the elapsed times of threads at work went to, summed; NaN: unknown */
	double threads_elapsed_s, threads_user_s, threads_system_s, threads_wait_cpu_s,
		threads_blocked_s;
	double threads_off_cpu_s; /* waiting for a CPU and blocked; known where these are not */
	uint64_t samples, lost;
	size_t threads, processes;
	size_t images;		/* an exec within a process begins a new one */
	size_t threads_idle;	/* helpers that mostly sleep: not in the sums above */
	size_t threads_unknown; /* without an account of the kernel: not in the sums above */
	/* of measuring, by the program's CPU time without it; between which bounds */
	double overhead_share, overhead_share_low, overhead_share_high;
	double own_cpu_s; /* of sonde's own processes while recording; NaN: unknown */
	double loops_share, innermost_share; /* NaN without samples */
	double category_shares[SN_CATEGORIES];
	const char *clock_mechanism; /* of all processes, joined by '+'; NULL: there is none */
	double asked_hz, rate_hz; /* samples a second of CPU time; the latter: had, NaN unknown */
	double later_hz,
		burst_s; /* asked for after so much CPU time of a thread; 0: asked_hz stays */
	const char *rate_reason; /* why they are not the same; NULL: they are */
	SN_VEC(const char *) warnings;
	size_t death_count; /* of the warnings, the first: processes that a signal ended */
	size_t minor_first, minor_count; /* of the warnings: those that no page needs */

	struct sn_summary_loop loops[SN_SUMMARY_ROWS]; /* hottest source loops */
	size_t loop_count, source_loop_count;	       /* shown; of all */
	uint32_t functions[SN_SUMMARY_ROWS];	       /* hottest functions */
	size_t function_count, all_function_count;
	struct sn_wait_groups waits;
	struct sn_compile_facts compile[SN_SUMMARY_MODULES]; /* of own modules, by time */
	size_t compile_count;
	double threads_workers_s; /* of the blocked: waiting for own threads, and children that work
				   */
	double threads_spin_s;	  /* of the CPU time: waiting actively */
	const char *hint;	  /* a sentence on a hot loop, or NULL */
	uint32_t hint_loop;	  /* of the program; SN_NONE */
	struct sn_answer verdict;
	const char *causal_words; /* a sentence on causal experiments; NULL: none were made */
	/* the same as findings: what helps most; the largest part that does not */
	struct sn_finding causal_findings[2];
	size_t causal_finding_count;
	const char *heap_words; /* a sentence on the heap; NULL: it was not traced */
	struct sn_heap_sums heap;
};

/** Makes the summary. The advice on the hottest loop is that of `whatif`; NULL: there is none.
 * `structures` may be NULL. The profile must outlive the result. */
struct sn_summary *sn_summary_new(const struct sn_profile *profile,
				  struct sn_structures *structures, const struct sn_whatif *whatif);
/** The same for callers without a what-if. It asks the model of the chosen machine about the
 * hottest loops alone, and warns if the run was on another machine. */
struct sn_summary *sn_summary_of(const struct sn_profile *profile, struct sn_structures *structures,
				 const struct sn_machine_choice *choice);
/** Whether a warning is none for a page: the file for programs has it. */
static inline bool sn_summary_is_minor(const struct sn_summary *summary, size_t warning)
{
	return warning - summary->minor_first < summary->minor_count;
}
/** One more warning, a sentence; it is copied. */
void sn_summary_warn(struct sn_summary *summary, const char *sentence);
void sn_summary_free(struct sn_summary *summary);

/* summary/memory.c: the heap, where it was traced */
void sn_summary_add_heap(struct sn_summary *summary);
void sn_summary_write_heap(const struct sn_summary *summary, struct sn_json *json);

/* summary/causal.c: causal experiments, where they were made */
void sn_summary_add_causal(struct sn_summary *summary);

/** The page for people: 100 columns unless `width` says otherwise (0). */
void sn_summary_print(const struct sn_summary *summary, FILE *out, bool is_utf8, unsigned width);
/** The members of a summary (docs/manual/summary.md), into an open object. */
void sn_summary_write_json(const struct sn_summary *summary, struct sn_json *json);
#define SN_SUMMARY_SCHEMA "sonde.summary/2"
/** SN_SUMMARY_SCHEMA as one object, with its line's end. */
void sn_summary_write(const struct sn_summary *summary, FILE *out);

#endif
