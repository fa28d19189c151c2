/**
 * The collector of loop instances, and the state of its patches: set by the constructor, the same in
 * every child of a fork.
 */
#ifndef SN_RUNTIME_PATCH_PATCH_H
#define SN_RUNTIME_PATCH_PATCH_H

#include "runtime/core/collector.h"
#include "runtime/core/paths.h"
#include "wire/instances.h"
#include "wire/plan.h"

enum { SN_PATCH_MODULES_MAX = 64, SN_VARIANT_WAITS = 16 };

/** A module whose loops run as copies. */
struct sn_patched_module {
	struct sn_plan plan;
	uint64_t load_bias;
	uint64_t code; /* where the copies are */
	uint32_t first_loop;
};

struct sn_patched_loop {
	uint64_t header_load_addr;
	int64_t step;			     /* 0: iterations are counted one by one */
	int64_t clean_step;		     /* but not in ORIG and PF (wire/plan.h) */
	uint32_t stack;			     /* of the header, in this image's file */
	uint32_t guarded;		     /* bits of variants */
	bool is_apart;			     /* see struct sn_plan_loop */
	bool holds_others;		     /* loops within it are counted, too */
	bool has_blocks;		     /* it is some blocks of a function, in `table` */
	uint64_t variants[SN_VARIANT_CODES]; /* where they begin; 0: there is none */
	uint64_t recorder;		     /* likewise */
	uint32_t unit_words;		     /* of it (wire/plan.h) */
	const uint8_t *table;		     /* of wire/accesses.h */
	uint32_t table_bytes;
	_Atomic uint32_t is_table_written; /* in this image's file */
	_Atomic uint32_t
		owner; /* --threads one: the thread whose instances have variants, by its tid; 0: none yet */
	/* --threads all: how many instances after the n-th chosen one is the next, with n + 1 above */
	_Atomic uint64_t waits[SN_VARIANT_WAITS];
};

struct sn_patches {
	struct sn_patched_module modules[SN_PATCH_MODULES_MAX];
	struct sn_patched_loop loops[SN_PLAN_LOOPS_MAX];
	_Atomic uint32_t module_count; /* those below are all there; more may come (setup_late.c) */
	uint32_t loop_count;
	uint32_t capacity;	/* loops that threads have room for; 0: nothing is counted */
	uint32_t every;		/* one in so many instances is timed; 0: found while running */
	uint64_t timing_cycles; /* between the two readings of the counter, without a loop */
	bool has_variants;
	bool has_recorders;
	bool has_callers;	 /* instances are counted by call path */
	void *fault_handler;	 /* that takes faults of variants; NULL: there is none */
	uint32_t budget_percent; /* that variants may take; 0: as much as they want */
	uint64_t null_cycles;	 /* a variant that has no instruction */
	uint64_t cycles_a_second;
	uint64_t save_mask; /* of XSAVE */
	uint32_t save_bytes;
};

extern struct sn_patches sn_patches;
extern struct sn_collector sn_patch_collector;

struct sn_variant_context;
struct sn_trace_context;
struct sn_caller_context;

/** What the copies read of this thread: enum sn_plan_thread_word. */
struct sn_patch_words {
	struct sn_plan_slot *table;	    /* by the loop's index; NULL: nothing is measured */
	struct sn_variant_context *context; /* NULL: no variants run */
	uint64_t target, rax, arrivals;
	uint64_t trace_next, trace_units, trace_saved[2];
	uint64_t visits;
	uint64_t entered, left, ahead;
	uint64_t *places; /* by the loop's index: record, less `none` */
	struct sn_record_instances none;
	/* not read by copies */
	struct sn_trace_context *traces;   /* NULL: nothing is recorded */
	struct sn_caller_context *callers; /* NULL: no call paths */
};
_Static_assert(offsetof(struct sn_patch_words, visits) == SN_PLAN_WORD_VISITS, "as planned");
_Static_assert(offsetof(struct sn_patch_words, ahead) == SN_PLAN_WORD_AHEAD, "as planned");
_Static_assert(offsetof(struct sn_patch_words, none) == SN_PLAN_WORD_NONE, "as planned");
/** Places of threads that measure nothing: all zero. */
extern uint64_t sn_patch_no_places[SN_PLAN_LOOPS_MAX];
extern __thread struct sn_patch_words sn_patch_words __attribute__((tls_model("initial-exec")));

/* setup_patch.c */
/** After the main thread has begun. */
void sn_patch_setup(void);
/* patch_handler.c */
/** Gives loops from `first` on their stacks in this image's file. */
void sn_patch_intern(uint32_t first);

/* counts_handler.c: called by the copies */
uint64_t sn_patch_first(uint64_t loop);
/** A thread arrives at a point that tells of it. Gives 0. */
uint64_t sn_patch_reached(uint64_t point);
/** Gives the code of the variant that is to run in the loop's place, or 0. `entry` is the induction variable, of a record with
 *  a step: what the record has may be that of a handler's instance that came in between. */
uint64_t sn_patch_begin(struct sn_record_instances *record, uint64_t stack_pointer, uint64_t entry);
void sn_patch_end(struct sn_record_instances *record, uint64_t stack_pointer);
uint64_t sn_patch_next(struct sn_record_instances *record);
/** Adds a timing, and keeps some of them. */
void sn_patch_keep(struct sn_record_bucket *bucket, uint64_t number, uint64_t iterations,
		   uint64_t cycles);
/** The time-stamp counter when all before has been done, and what tells the CPU from others: the limit of a segment that the
 * kernel has for it, as a virtual machine may lack rdtscp and rdpid. */
static inline uint64_t sn_patch_tsc_after_all(uint64_t *cpu)
{
	enum { CPU_SEGMENT = 0x7b };
	uint32_t low, high, limit;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(CPU_SEGMENT) : "cc");
	*cpu = limit;
	return (uint64_t)high << 32 | low;
}

/** In the thread's file, zero, of a type that changes later. NULL: there is no room. */
void *sn_patch_new_record(struct sn_thread *self, uint8_t type, uint32_t bytes, uint32_t stack);

/** CLOCK_MONOTONIC by a system call; 0 where there may be none. */
int64_t sn_patch_now_ns(void);

/* ---- call paths ---- */

enum { SN_CALLER_SAVED_BYTES = 8192, SN_CALLER_SLOTS = 8192, SN_CALLER_PROBES = 16 };

/** A path of a loop that the thread has come by. */
struct sn_caller_slot {
	uint64_t key;	 /* the loop's index and the path's number, with one bit more; 0: empty */
	uint64_t record; /* address of a struct sn_record_caller */
};

/** Of a thread. */
struct sn_caller_context {
	/* callers_handler.c knows these offsets */
	uint64_t save_mask;						   /* 0 */
	uint8_t saved[SN_CALLER_SAVED_BYTES] __attribute__((aligned(64))); /* 64 */

	uint64_t holder; /* the stack pointer of who looks at the stack now; 0: nobody */
	uint64_t spent_cycles, cost_cycles; /* by looking; for one look */
	struct sn_path_cache paths;
	struct sn_caller_slot slots[SN_CALLER_SLOTS];
};
_Static_assert(offsetof(struct sn_caller_context, saved) == 64, "as assembled");

/** Where a thread stands: the loop's header, and the registers that functions keep. */
struct sn_caller_registers {
	uint64_t pc, stack_pointer;
	const uint64_t *kept; /* rbx, rbp, r12 to r15 */
};

/* callers_handler.c */
/** As sn_patch_begin, which it calls with the registers; for `calls` of a plan. */
void sn_patch_begin_by_path(void);
/** The call path (core/paths.h), or 0. The thread is held busy. */
uint32_t sn_caller_path(struct sn_caller_context *context, const struct sn_caller_registers *at);
/* counts_handler.c */
/** `kept` as in struct sn_caller_registers; NULL: the path is not looked for. */
uint64_t sn_patch_begin_from(struct sn_record_instances *record, uint64_t stack_pointer,
			     const uint64_t *kept, uint64_t entry);

/* ---- traces ---- */

enum { SN_TRACE_WORDS = 1 << 17 }; /* of a thread's buffer */

/** Of a thread. */
struct sn_trace_context {
	struct sn_record_instances *pending; /* between BEGIN and NEXT */
	struct sn_record_instances *open;    /* the loop whose accesses are recorded */
	uint64_t open_stack_pointer, number, arrivals;
	int64_t begin_ns;
	uint64_t begin_tsc;
	uint32_t is_first, is_cut,
		is_lost;	     /* nothing is written yet; some is missing; so is the rest */
	uint32_t is_alone;	     /* nobody makes room in the file */
	uint32_t has_thread_pointer; /* in the file */
	uint64_t spent_cycles, worked_cycles, last_tsc, bytes;
	uint64_t words[SN_TRACE_WORDS];
};

/* traces_handler.c */
/** The instance that begins may be recorded. */
void sn_trace_begin(struct sn_record_instances *record, uint64_t stack_pointer);
/** The code that it goes on in, or 0. */
uint64_t sn_trace_next(struct sn_record_instances *record);
/** See SN_PLAN_CALL_FULL. */
uint64_t sn_trace_full(struct sn_record_instances *record);
/** The instance is over; true: it was recorded, so what it took says nothing. */
bool sn_trace_end(struct sn_record_instances *record);
uint64_t sn_trace_arrivals(const struct sn_record_instances *record);
uint32_t sn_trace_countdown(const struct sn_record_instances *record);

/* ---- variants ---- */

enum { SN_VARIANT_STACK_BYTES = 64, SN_VARIANT_SAVE_AT = 1024 };

/** What a variant took in the instance that is open. */
struct sn_variant_timing {
	uint64_t cycles, clock_cycles;
	uint8_t variant, is_disturbed, is_faulted, is_runaway, is_warm;
};

enum {
	SN_VARIANT_SHARING = 6
}; /* variants that one instance can have: all that run in the loop's place */
_Static_assert((int)SN_VARIANT_SHARING >= (int)SN_VARIANT_PF, "by their codes");

/** Of a thread in one loop. */
struct sn_variant_loop {
	uint64_t records[SN_VARIANT_CODES][SN_VARIANT_BUCKETS]; /* of struct sn_record_variant */
	uint8_t order[SN_VARIANT_CODES], order_count, order_at;
	uint16_t is_disabled; /* bits of variants */
	uint32_t turn;	      /* instances that were chosen so far */
	/* of the instance that is being timed */
	uint8_t variant, is_disturbed, is_faulted, is_runaway, is_clean, is_called, is_warm;
	uint64_t cycles, arrivals;
	/* when it began: switches, page faults, CPU time of the thread; the CPU */
	uint64_t switches, faults, cpu_ns, cpu;
	uint64_t clock_cycles; /* see struct sn_record_variant; 0: not known */
	uint64_t orig_cycles, orig_count;
	uint64_t spent_cycles; /* by variants of this loop */
	/* where instances are scarce (variants_handler.c) */
	uint64_t warm_records[SN_VARIANT_SHARING][SN_VARIANT_BUCKETS];
	struct sn_variant_timing
		shared[SN_VARIANT_SHARING]; /* in this instance, before `variant` */
	uint8_t shared_count, is_sharing;
	uint32_t shared_instances,
		own_instances; /* that had variants in their place; that were timed themselves */
	uint32_t timed[SN_VARIANT_CODES]; /* timings that nothing disturbed */
	/* instances of each variant that ended at a call, and that did not */
	uint32_t called[SN_VARIANT_CODES], ended[SN_VARIANT_CODES];
	uint32_t called_in_a_row;
	uint64_t away_until; /* until so many entries no instance has a variant */
};

/** Of a thread: the memory that variants use comes first (wire/plan.h). */
struct sn_variant_context {
	/* run_handler.S knows these offsets */
	uint64_t registers[16];			    /* 0 */
	uint64_t loop_stack_pointer;		    /* 128 */
	uint64_t stack_pointer;			    /* 136 */
	uint64_t code;				    /* 144 */
	uint64_t save_mask;			    /* 152 */
	uint64_t begin_tsc, end_tsc;		    /* 160, 168 */
	uint64_t begin_cpu, end_cpu;		    /* 176, 184 */
	uint64_t mxcsr;				    /* 192 */
	uint64_t stack[SN_VARIANT_STACK_BYTES / 8]; /* 200 */
	uint64_t is_called;			    /* 264: it came to a call */

	_Atomic uint32_t is_running; /* what is interrupted now is a variant */
	uint32_t is_faulted, is_runaway;
	uint64_t ticks, limit_ns; /* signals that met it; CPU time that it may take */
	uint64_t old_mask;
	uint32_t random;
	/* the loop that is timed, by a variant or a copy that counts nothing else */
	struct sn_record_instances *pending; /* between BEGIN and NEXT */
	struct sn_record_instances *open;
	uint64_t open_stack_pointer;
	uint64_t spent_cycles; /* by variants */
	uint64_t clock_least;  /* of the chain that tells the core's clock */
};

_Static_assert(offsetof(struct sn_variant_context, loop_stack_pointer) == 128, "as assembled");
_Static_assert(offsetof(struct sn_variant_context, stack) == 200, "as assembled");
_Static_assert(offsetof(struct sn_variant_context, is_called) == 264, "as assembled");
_Static_assert(sizeof(struct sn_variant_context) <= SN_VARIANT_SAVE_AT, "the state comes behind");

static inline struct sn_variant_loop *sn_variant_loops(struct sn_variant_context *context)
{
	return (struct sn_variant_loop *)(void *)((uint8_t *)context + SN_PLAN_CONTEXT_END);
}

/* patch_handler.c */
/** First values of zeroed memory. */
void sn_variant_context_begin(struct sn_variant_context *context, uint32_t random);

/* variants_handler.c */
/** The instance that begins is to be timed: which variant runs, if any. */
uint64_t sn_variant_begin(struct sn_record_instances *record, uint64_t stack_pointer);
/** After it ran, or for the loop as it is: the copy that it goes on in, or 0. */
uint64_t sn_variant_next(struct sn_record_instances *record);
/** What an instance took. */
struct sn_patch_times {
	uint64_t cycles, iterations, cpu;
};
/** The instance is over. False: what it took is not what the loop takes. */
bool sn_variant_end(struct sn_record_instances *record, const struct sn_patch_times *times);
/** Iterations of the open instance that are not in its record. */
uint64_t sn_variant_arrivals(const struct sn_record_instances *record);
/** See SN_PLAN_CALL_UNTIME. Gives 0. */
uint64_t sn_variant_untime(struct sn_record_instances *record);
/** The thread's instances of the loop have no variants: there are none, or lately all came to a call. */
bool sn_variant_is_off(const struct sn_record_instances *record);
/** As many instances until one is timed again. */
uint32_t sn_variant_countdown(const struct sn_record_instances *record);

/** The code of one more variant for this instance, or 0: after each that ran in the loop's place. */
uint64_t sn_variant_again(void);

/* run_handler.c */
void sn_variant_run(void);     /* see SN_PLAN_CALL_RUN */
void sn_variant_exit(void);    /* see SN_PLAN_CALL_EXIT */
void sn_variant_at_call(void); /* see SN_PLAN_CALL_AT_CALL */
void sn_variant_abort(void);
/** Runs one that has no instruction, and gives the cycles. */
uint64_t sn_variant_run_null(struct sn_variant_context *context);

#endif
