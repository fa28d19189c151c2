/**
 * The verdict on a run and what it rests on: one line in the words of the reader's trade, then
 * findings ranked by the seconds at stake. Each finding has its evidence and its remedy.
 *
 * sn_verdict_decide is a pure function of figures and names (struct sn_evidence); evidence.h takes
 * these from a profile. docs/method/verdict.md says which figures make which kind, and has the
 * thresholds with their reasons.
 */
#ifndef SN_VIEWS_VERDICT_H
#define SN_VIEWS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/stats.h"

enum sn_verdict_kind {
	SN_VERDICT_COMPUTE_LOOPS,
	SN_VERDICT_COMPUTE_FLAT,
	SN_VERDICT_OVERSUBSCRIBED,
	SN_VERDICT_SPIN,
	SN_VERDICT_LOCK_WAIT,
	SN_VERDICT_IO_WAIT,
	SN_VERDICT_CHILD_WAIT,
	SN_VERDICT_MPI_WAIT,
	SN_VERDICT_SLEEP,
	SN_VERDICT_MEMORY,
	SN_VERDICT_WAITING_FOR_CPU,
	SN_VERDICT_UNKNOWN_CODE,
	SN_VERDICT_TOO_SHORT,
	SN_VERDICT_OPENMP,
	SN_VERDICT_CAUSAL, /* of findings alone */
	SN_VERDICT_KINDS
};
/** "compute_loops", ... as in JSON. */
const char *sn_verdict_kind_name(enum sn_verdict_kind kind);

enum sn_trust { SN_TRUST_HIGH, SN_TRUST_MEDIUM, SN_TRUST_LOW };
/** "high", "medium", "low". */
const char *sn_trust_name(enum sn_trust confidence);

/** Kinds of time in which threads are on no CPU and want none. */
enum sn_pause {
	SN_PAUSE_LOCK,	  /* mutexes, read-write locks */
	SN_PAUSE_BARRIER, /* pthread_barrier_wait */
	SN_PAUSE_SIGNAL,  /* conditions, semaphores, futexes */
	SN_PAUSE_OPENMP,  /* below an OpenMP runtime */
	SN_PAUSE_IO,
	SN_PAUSE_POLL, /* poll, select, epoll_wait */
	SN_PAUSE_SLEEP,
	SN_PAUSE_CHILD, /* of a child that was not measured */
	SN_PAUSE_MPI,
	SN_PAUSE_MPI_START, /* in MPI_Init and MPI_Finalize: nobody's lateness */
	SN_PAUSE_UNTRACED,  /* blocked by the kernel's account, in no call that was traced */
	SN_PAUSES
};

/** One place of a kind: the one with most of it. Texts may be NULL. */
struct sn_evidence_place {
	const char *what;   /* the function called, the loop's label */
	const char *caller; /* who called it, whose loop it is */
	const char *file;   /* base name */
	uint32_t line;
	double seconds;
	const char *module; /* where `what` is an address in place of a name; else NULL */
	bool has_no_code;   /* its machine code is not at hand: nothing is known of its loops */
};

enum { SN_EVIDENCE_TOP = 3 };

/** How many times faster, and the 95 % interval; 0: not measured. */
struct sn_evidence_measured {
	double times;
	struct sn_interval range;
};

/** The hot loops or functions: those with SN_HOT_SHARE or more of the CPU time each. */
struct sn_evidence_hot {
	size_t count;
	double seconds; /* of all of them */
	size_t top_count;
	struct sn_evidence_place top[SN_EVIDENCE_TOP]; /* hottest first, hot or not */
};

/** All that the verdict is made of. Seconds are sums over threads at work; NaN: unknown. */
struct sn_evidence {
	double elapsed_s; /* of the run */
	double threads_s; /* elapsed times of threads at work, summed: what shares are of */
	double cpu_s;	  /* sampled */
	double system_s;  /* by the kernel's account; NaN: unknown */
	double off_cpu_s; /* known even where its parts are not */
	uint64_t samples;
	size_t threads, processes; /* threads at work */
	size_t team;		   /* of them in one process that wait for each other at barriers */
	unsigned cpus;		   /* that it had: sn_experiment_cpus */
	/* CPU time: these sum to cpu_s */
	double compute_s, data_s, memory_s, io_cpu_s, lock_cpu_s, unknown_s;
	double loading_s; /* in the dynamic linker */
	double spin_lock_s, spin_openmp_s, spin_mpi_s;
	/* of spin_openmp_s: for a turn in a critical section; most of it where (NULL: nobody did), and what it is */
	double spin_turns_s;
	const char *turns_place, *turns_kind;
	/* waiting for a CPU: for threads of the program itself, for its other processes, for others
	 */
	double wait_own_s, wait_jobs_s, wait_others_s;
	double pauses_s[SN_PAUSES];
	struct sn_evidence_place pauses[SN_PAUSES];
	/* waiting for its own workers: no pause, for the workers' time is told already */
	double join_s, child_s;
	struct sn_evidence_place child; /* `what` the waiting call */
	struct sn_evidence_hot loops, functions;
	struct sn_evidence_hot rests; /* of functions: their time outside of the hot loops */
	size_t loop_rank;	      /* of the first in 'show loops'; 0: not known */
	/* functions with more CPU time than the first, which wait, copy or have no names */
	size_t functions_before;
	struct sn_evidence_place module; /* that computes most; `what` NULL: there is one only */
	/* loops that wait for their data (data_s): of the hottest what tells it */
	struct sn_evidence_hot data;
	double data_pass_ns, data_near_cycles, data_spread_bytes;
	struct sn_evidence_measured data_dl1;
	double data_list_cycles; /* of an iteration, measured, of a list that is far; else 0 */
	bool data_is_sure;
	double unsettled_s; /* of the hot places: they may compute or wait for data */
	/* of hot loops that were measured to take what their loads and stores take, with data where they are; and of these
	 * those in which each load waits for the one before */
	double near_s, near_latency_s;
	enum sn_trust near_trust;		   /* of those that are least sure */
	struct sn_evidence_place memory, io, spin; /* the function with most; spin: of its own */
	struct sn_evidence_place
		mpi; /* the call with most waiting for ranks, asleep and actively */
	/* MPI, where it was traced: waiting for other ranks, all of it; most of it and what to do, in
	 * words (NULL: nobody waited) */
	bool is_mpi_traced;
	double mpi_wait_s, mpi_end_wait_s; /* the latter: of it, in MPI_Finalize */
	const char *mpi_words, *mpi_remedy;
	const char *mpi_ranks; /* who waits most and least, by samples and waits; NULL: not known */
	/* locks and I/O, where they were traced: most of the waiting and what to do (NULL: none) */
	const char *lock_words, *lock_remedy, *deadlock_words;
	double deadlock_s;  /* waited for the locks of the deadlock */
	double io_traced_s; /* in calls of input and output */
	const char *io_words, *io_remedy;
	/* OpenMP, where it was traced: waiting in regions, by its events; NULL: none */
	double openmp_wait_s;
	const char *openmp_words, *openmp_remedy;
	double busiest_ratio; /* the busiest thread's CPU time over the mean; 0: one */
	const char *worker;   /* the program of most CPU time, if it is no first one */
	double worker_s;
	size_t worker_processes;
	const char *unknown_module; /* with most of unknown_s */
	bool unknown_is_generated;
	const char *unknown_names_by; /* what makes its maker list its names, or NULL */
	bool is_cut;		      /* samples and the kernel's account differ */
	double overhead_share;	      /* NaN: unknown */
	const char *hint;	      /* advice on one of the hot loops, or NULL */
	bool hint_is_of_first;	      /* on the hottest of them */
	bool hint_is_of_data;	      /* its loop is one of `data`, by what was measured of it */
};

struct sn_finding {
	enum sn_verdict_kind kind;
	enum sn_trust confidence;
	double seconds, share; /* share of threads_s */
	const char *sentence, *remedy;
	bool is_harmless; /* nothing is lost by it: it comes after all that something is */
};

enum { SN_FINDINGS_MAX = 8 };

struct sn_answer {
	enum sn_verdict_kind kind;
	enum sn_trust confidence;
	const char *sentence;
	bool goes_on; /* "Otherwise: ...": two causes; the confidence is that of the less sure */
	size_t count;
	/* most seconds first; those that are harmless behind all others */
	struct sn_finding findings[SN_FINDINGS_MAX];
};

/** A loop or function is hot from this share of CPU time on: below it no single place is worth the
 *  reader's first look. */
#define SN_HOT_SHARE 0.05

/** Texts go into `arena`. */
void sn_verdict_decide(const struct sn_evidence *evidence, struct sn_arena *arena,
		       struct sn_answer *out);
/** Adds a finding that rests on no cause of this evidence, in its place by seconds; the texts are not
 *  copied. Of more than there is room for the one with the fewest seconds is dropped. */
void sn_verdict_add(struct sn_answer *answer, const struct sn_finding *finding);
/** The page's view that shows the evidence of a kind: "#/threads". */
const char *sn_verdict_view(enum sn_verdict_kind kind);
/** The command that goes on from there: "sonde show waits". */
const char *sn_verdict_command(enum sn_verdict_kind kind);
/** The members `verdict` and `findings` of an open object. */
void sn_verdict_write_json(const struct sn_answer *verdict, struct sn_json *json);

#endif
