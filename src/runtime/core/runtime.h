/**
 * What every part of the runtime shares. Three kinds of memory:
 *
 *   sn_config  set by the constructor, never changed; survives fork.
 *   sn_state   of this process image; MADV_WIPEONFORK, so that after any kind of fork `active` is 0
 *              in the child before its first instruction, until the fork wrapper sets it up anew.
 *   sn_self    of this thread: a block from our own pool, with the collectors' parts
 *              (core/collector.h), the handler's stack and scratch.
 *
 * Rules for all code here but set-up: no malloc, no lock of the target's, no stdio, errno kept.
 */
#ifndef SN_RUNTIME_CORE_RUNTIME_H
#define SN_RUNTIME_CORE_RUNTIME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <time.h>

#include "runtime/core/sys.h"
#include "unwind/unwind.h"
#include "wire/settings.h"
#include "wire/writer.h"

#pragma weak __libc_single_threaded /* since glibc 2.32 */

#define SN_EXPORT __attribute__((visibility("default")))

enum {
	SN_SIGNAL = SIGSTKFLT,	  /* standard and unused on Linux: coalesces when blocked */
	SN_SIGNAL_TRAP = SIGTRAP, /* perf events come by this where the kernel can: cheaper */
	SN_BLOCKS_MAX = 32768,	  /* threads alive at one time */
	SN_BLOCK_BYTES = 640 << 10,
	SN_STACK_BYTES = 64 << 10, /* for handlers, in the block */
	SN_CACHE_BYTES = 64 << 10,
	SN_FRAMES_MAX = 8192, /* and half of it again for a creator's stack */
	SN_MODULES_MAX = 2048,
	SN_TABLES = 32,
	SN_OWN_MAPS_MAX = 256, /* mappings of code that the program made itself */
	SN_INTERN_SLOTS = 1 << 17,
	SN_ENDED_MAX = 4096, /* threads that have told us their end, kept by number */
	SN_WARNINGS_MAX = 32,
	SN_BREAKPOINTS_MAX = 4, /* what the processor has (core/breakpoints.h) */
	/* in a block, behind the frames */
	SN_SCRATCH_OFFSET = 4096 + SN_STACK_BYTES + SN_CACHE_BYTES + SN_FRAMES_MAX / 2 * 3 * 8,
};

/** The kernel's own signal set, 64 bits. */
typedef uint64_t sn_sigset;
#define SN_SIGNAL_BITS (1ULL << (SN_SIGNAL - 1) | 1ULL << (SN_SIGNAL_TRAP - 1))

/** A breakpoint as one thread has it. */
struct sn_thread_breakpoint {
	void *page; /* of its event; NULL: none */
	uint32_t generation, every;
	uint32_t arrivals; /* signals since window_ns */
	uint32_t passed;   /* at its code, since the thread was last told */
	int64_t window_ns;
};

/** A thread: the beginning of its block. What only one collector knows of it follows in that
 *  collector's part. */
struct sn_thread {
	struct sn_writer writer;
	uint32_t index;	      /* in the order of start */
	uint32_t block_index; /* where it lies in the directory */
	int32_t tid;
	_Atomic uint32_t is_live;    /* 1: counts; 2: is being accounted by another */
	_Atomic uint32_t busy;	     /* our own code is at work: handlers keep off */
	_Atomic uint32_t is_awaited; /* began before us, and is not set up yet */
	_Atomic uint32_t is_walking; /* reads modules' tables: dlclose waits */
	/* Between sn_enter_call and sn_leave_call a sample waits for their end, where its stack can be
	 * walked. Only the thread and its handlers look. */
	_Atomic uint32_t takes_late, late_count;
	uint64_t late_pc; /* in our own code */
	uint64_t stack_start, stack_end;
	int64_t start_ns, next_account_ns;
	uint8_t is_collected; /* all collectors are on */

	/* what the target believes */
	sn_sigset blocked;	    /* which of our signals its mask holds */
	sn_sigset pending;	    /* which were sent to it while blocked */
	uint8_t has_altstack;	    /* its own is installed in the kernel, not ours */
	uint8_t has_small_altstack; /* it believes that its own is; the kernel has ours */
	uint8_t is_muted;	    /* its alternate stack is too small for our frame */
	uint8_t own_eintr;	    /* a call was interrupted by our signal only */
	uint8_t has_ended;
	uint64_t altstack_start, altstack_end;
	int32_t altstack_flags;	     /* as the target gave them */
	uint8_t is_altstack_swapped; /* its handler is at work, and the kernel has ours */
	uint64_t interrupted_sp;     /* by that handler */

	struct sn_thread_breakpoint breakpoints[SN_BREAKPOINTS_MAX];
	uint32_t breakpoints_seen; /* which of them it has */

	struct sn_unwind_cache *cache;
	uint64_t *pcs;
	uint32_t pcs_count; /* of the last stack that was captured */
	uint8_t *handler_stack_top;
	/* handed from pthread_create */
	void *(*start)(void *);
	void *start_argument;
	uint64_t stack_bytes; /* as asked for; its end is found by the thread itself */
	uint32_t creator_index, create_stack;
	int64_t made_ns; /* just before libc made it; 0: not known */
	_Atomic uint32_t free_next;
};

struct sn_trace_header; /* wire/trace.h */

struct sn_module_table {
	uint32_t count, generation;
	struct sn_unwind_module modules[SN_MODULES_MAX];
};

/** Wiped on fork: nothing in here is valid in a child until it was set up anew. */
struct sn_state {
	_Atomic uint32_t active;
	uint32_t is_sealed; /* seccomp: no system calls any more */
	int32_t pid;
	struct sn_writer_file file;
	struct sn_trace_header *trace; /* core/trace.h; NULL: no collector writes one */
	_Atomic uint32_t next_thread, next_block;
	_Atomic uint32_t awaited;      /* threads that began before us */
	_Atomic uint32_t live_threads; /* from before they are made to their end */
	_Atomic uint32_t thread_root;  /* stack: who calls a thread's start routine */
	_Atomic uint32_t ended_next;
	_Atomic int32_t ended_tids[SN_ENDED_MAX];
	_Atomic uint64_t free_blocks; /* tag << 32 | index; index 0xffffffff: none */
	_Atomic uint32_t next_raw_stack, interned;
	_Atomic uint64_t *intern;
	_Atomic(struct sn_thread *) *blocks;
	_Atomic int64_t next_packet_ns;
	_Atomic(const char *) warned[SN_WARNINGS_MAX]; /* each sentence once */

	_Atomic(struct sn_module_table *) table;
	_Atomic uint32_t table_lock, is_closing, table_next;
	struct sn_module_table *tables[SN_TABLES];

	/* code that no module has (core/maps_handler.c) */
	_Atomic uint32_t maps_lock, has_unknown_code, own_map_count;
	_Atomic int64_t next_maps_ns;
	struct {
		uint64_t start, end;
	} own_maps[SN_OWN_MAPS_MAX];

	_Atomic uint32_t has_finished;
	/* raised where an agent has the sources begin and end (wire/monitor.h): what is counted up begins anew there */
	_Atomic uint32_t windows;
	/* samples are so many times as far apart as the settings say; 0: as they do */
	_Atomic uint32_t period_times;
	_Atomic uint32_t
		traces_off; /* bits by enum sn_trace_kind: that it wants off at the moment */
};

struct sn_config {
	bool is_traced; /* a debugger or strace watches: SIGTRAP is theirs */
	bool is_set_up; /* the constructor ran and found settings */
	bool is_sealed; /* a filter or no time-stamp counter: children are not measured */
	/* this program is to be measured (else only the environment is handed on) */
	bool is_followed;
	bool is_paused; /* the program paused its measurement: so are its children */
	struct sn_settings settings;
	char settings_text[SN_SETTINGS_PATH_MAX + 512 +
			   SN_COUNTER_TEXT_BYTES]; /* as it was in the environment */
	char library[SN_SETTINGS_PATH_MAX];	   /* our path in LD_PRELOAD */
	char host[SN_DATA_HOST_MAX];
	uint64_t library_start, library_end; /* our own text */
	uint64_t vdso_start, vdso_end;	     /* the kernel's, that our clock is in; 0: none */
	uint64_t main_stack_end;
	uint32_t signal_frame_bytes;
	int (*clock_gettime)(clockid_t, struct timespec *); /* the vDSO's, or NULL */
	long (*getcpu)(unsigned *, unsigned *, void *);
	uint64_t start_tsc; /* with start_tsc_ns: what a tick of the counter is */
	int64_t start_tsc_ns;
	uint32_t sequence_of_parent;
};

extern struct sn_config sn_config;
extern struct sn_state *sn_state; /* never NULL: points to a static zero before set-up */
extern __thread struct sn_thread *sn_self __attribute__((tls_model("initial-exec")));

static inline bool sn_is_active(void)
{
	return atomic_load_explicit(&sn_state->active, memory_order_acquire) != 0;
}

static inline struct sn_data_header *sn_header(void)
{
	return sn_writer_header(&sn_state->file);
}

/** Whether pc is in our own text. */
static inline bool sn_is_own_code(uint64_t pc)
{
	return pc - sn_config.library_start < sn_config.library_end - sn_config.library_start;
}

/** CLOCK_MONOTONIC in ns, by the vDSO. A library that changes clocks cannot change this one. */
int64_t sn_now_ns(void);
int64_t sn_clock_ns(clockid_t clock);
/** The kernel's clock of a thread's CPU time; 0 is the caller. */
int32_t sn_thread_clock(int32_t tid);
/** CPU time of a thread of this process; 0 is the caller. -1 if it cannot be had. */
int64_t sn_thread_cpu_ns(int32_t tid);
uint16_t sn_current_cpu(void);

/** Enters our own code: false if this thread is already in it, or there is nothing to do. */
static inline bool sn_enter(struct sn_thread *self)
{
	if (!self || !sn_is_active() || atomic_load_explicit(&self->busy, memory_order_relaxed))
		return false;
	atomic_store_explicit(&self->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void sn_leave(struct sn_thread *self)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&self->busy, 0, memory_order_relaxed);
}

/** Writes the samples that waited. The caller holds the thread busy, and is called by the program. */
void sn_take_late(struct sn_thread *self);

/** As sn_enter, in a wrapper that the program calls: a sample that falls into our own code waits until
 *  sn_leave_call, and has the caller's stack. */
static inline bool sn_enter_call(struct sn_thread *self)
{
	if (!sn_enter(self))
		return false;
	atomic_store_explicit(&self->takes_late, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

/** The end of it. Not where vector registers are the program's: it may walk the stack. */
static inline void sn_leave_call(struct sn_thread *self)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&self->late_count, memory_order_relaxed) != 0, 0))
		sn_take_late(self);
	atomic_store_explicit(&self->takes_late, 0, memory_order_relaxed);
	sn_leave(self);
}

/** What the caller of sn_hold has interrupted. */
struct sn_held {
	struct sn_writer writer;
	bool is_nested;
};

/** Enters our own code where it cannot be put off: the process ends or becomes another program, perhaps in a
 *  handler of the program's that has interrupted our own code. That one's record, which may be half written,
 *  is left alone. `self` may be NULL. Not for callers that hold the thread themselves. */
static inline struct sn_held sn_hold(struct sn_thread *self)
{
	struct sn_held held = { .is_nested = false };

	if (!self)
		return held;
	held.is_nested = atomic_exchange_explicit(&self->busy, 1, memory_order_relaxed) != 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (held.is_nested)
		held.writer = sn_writer_step_aside(&self->writer);
	return held;
}

/** The end of it. */
static inline void sn_let_go(struct sn_thread *self, const struct sn_held *held)
{
	if (!self)
		return;
	if (held->is_nested)
		sn_writer_step_back(&self->writer, &held->writer);
	else
		sn_leave(self);
}

static inline bool sn_is_paused(void)
{
	return atomic_load_explicit(&sn_header()->is_paused, memory_order_relaxed) != 0;
}

static inline void sn_lose(enum sn_loss cause)
{
	sn_writer_count_loss(&sn_state->file, cause, 1);
}

/** Adds the time since begin_ns to our own cost. A span that is very long was itself interrupted. */
static inline void sn_count_overhead(int64_t begin_ns)
{
	int64_t spent_ns = sn_now_ns() - begin_ns;

	atomic_fetch_add_explicit(&sn_header()->overhead_ns,
				  (uint64_t)(spent_ns < 0	 ? 0
					     : spent_ns > 500000 ? 500000
								 : spent_ns),
				  memory_order_relaxed);
}

/* core/setup_start.c */
/** Makes the data file and the state of this image and this thread's block. For exec and fork. The
 *  clock is not started. */
bool sn_start_image(enum sn_data_origin origin, uint32_t parent_sequence);
/** No data file could be made: the process runs unmeasured, the launcher finds the mark. */
void sn_start_failed(void);

/* core/exec_handler.c, core/pthread_handler.c: what the constructor must do for them */
void sn_fork_start(void);
void sn_pthread_start(void);
/** The calling thread's end shall be noticed. Safe in handlers. */
void sn_pthread_note_end(void);

/* core/setup_file.c */
bool sn_file_create(enum sn_data_origin origin, uint32_t parent_sequence, uint32_t chunks_first);
/** Arguments, environment, folder: once per image. */
void sn_file_describe(struct sn_writer *writer);
/** How long a file may be: going beyond RLIMIT_FSIZE sends SIGXFSZ to the target. */
uint64_t sn_file_bytes_allowed(void);
void sn_read_small_file(const char *path, char *out, size_t out_bytes);

/* core/threads_handler.c */
/** A block for a thread about to be made, or NULL. */
struct sn_thread *sn_thread_new(void);
/** Gives back a block whose thread was never made. */
void sn_thread_give_back(struct sn_thread *thread);
/** The calling thread begins: its block becomes sn_self, its stack is found. Nothing is collected
 *  yet. */
void sn_thread_begin(struct sn_thread *thread, bool is_main);
/** A thread of this process that began before us: its block counts from here on, and is its own
 *  once it is adopted (core/adopt.h), which it cannot be while it is busy, as it is now. */
void sn_thread_await(struct sn_thread *thread, int32_t tid);
/** The calling thread ends: remainder, account, chunk and block go back. */
void sn_thread_end(void);
/** Called where every thread begins: what calls its start routine. */
void sn_thread_find_root(struct sn_thread *self);
void sn_thread_write_account(struct sn_thread *thread, struct sn_writer *writer, uint8_t type,
			     int64_t now_ns);
/** How long a thread has waited for a CPU, by the kernel (the second number of schedstat); -1: not
 * known. Opens a file for a moment, so only threads that lived long enough are worth it. */
int64_t sn_thread_wait_cpu_ns(int32_t tid);
/** CPU time of another thread by /proc, in steps of 10 ms; left alone if it cannot be had. */
void sn_thread_times(int32_t tid, int64_t *user_ns, int64_t *system_ns);
/** The latest account, if a second is over since the one before. */
void sn_thread_account_if_due(struct sn_thread *self, int64_t now_ns);

/* core/adopt_handler.c */
/** For wrappers: the calling thread's block, if the thread began before us and was not set up; else
 * NULL. */
struct sn_thread *sn_adopt_in_call(void);
/** This thread's block, in wrappers. NULL: it is not measured. */
static inline struct sn_thread *sn_self_in_call(void)
{
	if (__builtin_expect(
		    !sn_self && atomic_load_explicit(&sn_state->awaited, memory_order_relaxed), 0))
		return sn_adopt_in_call();
	return sn_self;
}

/* core/finish_handler.c */
/** The image ends: accounts of all threads, end times. More than once is fine. */
void sn_finish(enum sn_data_state state, int code);
/** Looks for threads that the kernel knows and we do not, and notes their number. */
void sn_count_raw_threads(void);

/* core/packets_handler.c */
/** A packet, if one is due. */
void sn_packet_if_due(struct sn_thread *self, int64_t now_ns);

/* core/warn_handler.c */
/** Says a sentence once per image. It is known by its address. */
void sn_warn(const char *sentence);
/** Ends the measuring of a process that goes on (core/finish_handler.c): every wrapper and handler
 *  passes through from here on, and its children are not measured. */
void sn_finish_early(const char *why);

/* core/stacks_handler.c */
/** Interns frames (leaf first) with what continues them. 0: no room, counted. */
/** Set-up: code in these bytes stands for other code, as a collector's `translate` knows. */
void sn_stack_add_copies(uint64_t start, uint64_t bytes);
uint32_t sn_stack_intern(struct sn_writer *writer, const uint64_t *pcs, uint32_t count,
			 uint32_t flags, uint32_t parent, int64_t now_ns);
/** The stack at these registers; frames of our own library are left out, but for the one that a
 *  signal interrupted (`is_signal`). `leaf` (0: none) is put before the first frame, as for a call
 *  that blocks. Gives an id, 0 for none. */
uint32_t sn_stack_capture(struct sn_thread *self, struct sn_unwind_regs *regs, uint64_t leaf,
			  bool is_signal, int64_t now_ns);
/** Only walks: the program's frames, into self->pcs. The caller holds the thread busy. */
uint32_t sn_stack_walk(struct sn_thread *self, const struct sn_unwind_regs *regs, int64_t now_ns);
/** Leaves out frames of our own library; gives how many are left. */
uint32_t sn_stack_drop_own(uint64_t *pcs, uint32_t count, bool is_signal);

/* core/modules_handler.c */
/** Whether pc is in a known module; learns of a new one through the loader's lock-free index. */
const struct sn_unwind_module *sn_module_of(uint64_t pc);
bool sn_modules_start(void);
/** To be called after a dlclose: modules that are gone get an UNMAP. */
void sn_modules_refresh(void);

/** The facts of a piece of code in a MAP record. */
struct sn_map_facts {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	uint8_t flags; /* enum sn_record_map_flags */
	uint64_t load_start, load_end, load_bias, file_offset;
};
void sn_map_write(struct sn_writer *writer, const struct sn_map_facts *facts, int64_t now_ns);

/* core/maps_handler.c */
/** A sample fell on a pc that no module has: looks it up in the kernel's list of mappings, now and
 *  then. */
void sn_maps_meet(struct sn_thread *self, uint64_t pc, int64_t now_ns);
/** The process ends: once more, if there was such a sample. */
void sn_maps_finish(struct sn_thread *self, int64_t now_ns);

#endif
