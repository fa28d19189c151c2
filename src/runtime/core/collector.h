/**
 * A collector gathers one kind of evidence inside the target: CPU time, waits, parallel regions. It
 * lives in a folder of its own. core knows it by this struct alone, and core/collectors.h lists
 * all of them.
 *
 * core calls the functions of every collector in the order of that list; NULL means that there is
 * nothing to do. They run in wrappers and handlers, under the rules of core/runtime.h, unless they
 * are marked as set-up. The caller holds the thread busy (sn_enter) where its record may be written
 * to.
 */
#ifndef SN_RUNTIME_CORE_COLLECTOR_H
#define SN_RUNTIME_CORE_COLLECTOR_H

#include "runtime/core/runtime.h"

/** How a thread came to be measured. */
enum sn_thread_origin {
	SN_THREAD_MAIN,	   /* the one that begins an image, of an exec or a fork */
	SN_THREAD_MADE,	   /* by pthread_create */
	SN_THREAD_AWAITED, /* it began before us, and another thread sets it up */
};

struct sn_collector;

/** The frames of a walked stack, leaf first. */
struct sn_frames {
	uint64_t *pcs;
	uint32_t count;
	bool is_signal;			   /* the first is where a signal interrupted the thread */
	const struct sn_collector *cut_by; /* whose `rest` gives the stack that goes on; or NULL */
};

struct sn_call; /* calls/calls.h */

struct sn_collector {
	const char *name;

	/* Its part of each thread's block: zero when the thread begins. Scratch is not cleared
	 * between threads. The offsets from struct sn_thread are set by core. */
	uint32_t thread_bytes, scratch_bytes;
	uint32_t thread_offset, scratch_offset;
	uint32_t index; /* in the list; set by core */

	/* ---- the image ---- */

	/** Set-up. The library was loaded, whether or not this program will be measured. */
	void (*load)(void);
	/** Set-up, also in the child of a fork: the main thread has begun, modules are known, nothing
	 *  is measured yet. False: the image cannot be measured. */
	bool (*install)(enum sn_data_origin origin);
	/** A second thread is about to begin, or was found. */
	void (*share)(void);
	/** Called in the child when the program calls fork, before it is resumed; `function` is
	 * libc's. Not called in children that libc forks within calls of its own (daemon, forkpty). */
	void (*fork)(struct sn_thread *self, const void *function);
	/** A seccomp filter comes: the last system calls. If the filter is refused, resume follows. */
	void (*seal)(struct sn_thread *self);

	/** The image ends: nothing is accounted for yet. `self` may be NULL. */
	void (*image_end)(struct sn_thread *self, int64_t now_ns);
	/** Code was mapped: once for each executable segment of a module, before install, too. */
	void (*mapped)(const struct sn_map_facts *facts);

	/* ---- a thread ---- */

	/** The block is new: first values of its part. It is not sn_self yet. */
	void (*thread_begin)(struct sn_thread *thread, enum sn_thread_origin origin);
	/** Measuring begins, or goes on after a pause; when it is on already, nothing happens. Another
	 *  thread may call this for an awaited one. False: it is not on, so ask again later. */
	bool (*resume)(struct sn_thread *thread);
	/** Another thread of the process asks: the thread shall resume by itself, as soon as it
	 *  computes. */
	void (*call_in)(struct sn_thread *thread);
	/** Nothing of the collector may reach the thread until resume: it ends, or the image execs. */
	void (*pause)(struct sn_thread *thread);
	/** The window that an agent has measured ends: what is held back of any thread is told. */
	void (*settle)(struct sn_thread *self);
	/** The calling thread ends, and has not been accounted for. */
	void (*thread_end)(struct sn_thread *self, int64_t now_ns);
	/** Writes what is left of a thread: of the caller that ends (`is_ending`), or, when the image
	 *  ends, of any. Of the caller `writer` is that of its block. What was written is not left: an exec that
	 *  fails goes on, and ends again. */
	void (*account)(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
			bool is_ending);
	/** Adds to the header's counts what measuring the caller has cost so far, by its context
	 *  switches since it began. */
	void (*cost)(struct sn_thread *self, uint64_t switches);

	/** The clock has handled a signal of the thread, interrupted at pc; cpu_ns is what the sample
	 *  claims, 0: it is none. Last of all in the handler, so it may pause the thread. The sample's
	 *  frames are in self->pcs. */
	void (*after_sample)(struct sn_thread *self, uint64_t pc, int64_t cpu_ns);
	/** A SIGTRAP has come, whoever's: `data` is what a perf event carries (core/signals.h), else 0. True:
	 *  it was the collector's own, and the program is not to see it. */
	bool (*trap)(uint64_t data, void *ucontext);
	/** Samples that waited for the end of our own code (sn_thread.late_count) have this stack. The
	 *  caller holds the thread busy. */
	void (*late)(struct sn_thread *self, uint32_t stack, int64_t now_ns);
	/** The calling thread is about to let others go on, or to wait for some, or has waited, by means
	 *  of its own libraries that calls/ does not see (a team's barrier). */
	void (*wakes)(void);
	void (*wait_begins)(void);
	void (*wait_is_over)(void);

	/* ---- stacks ---- */

	/** Takes frames away that the program did not call, or cuts the stack where another one goes
	 *  on. Frames of our own library are still there. */
	void (*trim)(struct sn_thread *self, struct sn_frames *frames);
	/** The registers are somewhere in code of the collector's own, which stands for code of the
	 *  program: makes them what they would be there. */
	void (*translate)(struct sn_unwind_regs *regs);
	/** A signal or a fault (`is_fault`) has interrupted the thread, whose own code may be at work
	 * meanwhile (sn_enter). True: it was code that the collector runs between the program's; the
	 * registers are those to go on with. */
	bool (*interrupted)(struct sn_thread *self, bool is_fault, void *ucontext);
	/** User time so far that the collector has used in the thread between its code, and that
	 * belongs to nobody. */
	int64_t (*left_out_ns)(const struct sn_thread *thread);
	/** The id of the stack that goes on where this collector has cut one. 0: none. */
	uint32_t (*rest)(struct sn_thread *self, int64_t now_ns);

	/* ---- calls of libc that the collector asked for: calls/calls.h ---- */

	void (*before_call)(struct sn_thread *self, const struct sn_call *call);
	void (*after_call)(struct sn_thread *self, const struct sn_call *call);
};

enum { SN_COLLECTORS_MAX = 12 };

/** By core/collectors.h; ends with NULL. */
extern struct sn_collector *const sn_collectors[];

/** The collector's part of a thread's block. */
static inline void *sn_thread_part(const struct sn_thread *thread,
				   const struct sn_collector *collector)
{
	return (uint8_t *)thread + collector->thread_offset;
}

static inline void *sn_thread_scratch(const struct sn_thread *thread,
				      const struct sn_collector *collector)
{
	return (uint8_t *)thread + collector->scratch_offset;
}

/* core/collect_handler.c: the same, of all collectors in turn */
/** Gives each its place in a thread's block, and calls `load`. False: there is no room for all. */
bool sn_collect_load(void);
/** A used block: the parts are zero again. */
void sn_collect_clear(struct sn_thread *thread);
bool sn_collect_install(enum sn_data_origin origin);
void sn_collect_share(void);
void sn_collect_fork(struct sn_thread *self, const void *function);
void sn_collect_seal(struct sn_thread *self);
void sn_collect_image_end(struct sn_thread *self, int64_t now_ns);
void sn_collect_thread_begin(struct sn_thread *thread, enum sn_thread_origin origin);
/** Notes in the thread whether all are on (is_collected). */
void sn_collect_resume(struct sn_thread *thread);
void sn_collect_pause(struct sn_thread *thread);
/** What pause does, of a thread that stays watched (core/breakpoints.h). */
void sn_collect_hold(struct sn_thread *self);
void sn_collect_call_in(struct sn_thread *thread);
void sn_collect_settle(struct sn_thread *self);
/** Pauses the collectors for all threads of the process. */
void sn_collect_pause_all(void);
void sn_collect_thread_end(struct sn_thread *self, int64_t now_ns);
void sn_collect_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
			bool is_ending);
void sn_collect_cost(struct sn_thread *self, uint64_t switches);
void sn_collect_mapped(const struct sn_map_facts *facts);
void sn_collect_after_sample(struct sn_thread *self, uint64_t pc, int64_t cpu_ns);
bool sn_collect_trap(uint64_t data, void *ucontext);
void sn_collect_late(struct sn_thread *self, uint32_t stack, int64_t now_ns);
void sn_collect_wakes(void);
void sn_collect_wait_begins(void);
void sn_collect_wait_is_over(void);
void sn_collect_trim(struct sn_thread *self, struct sn_frames *frames);
void sn_collect_translate(struct sn_unwind_regs *regs);
bool sn_collect_interrupted(struct sn_thread *self, bool is_fault, void *ucontext);
int64_t sn_collect_left_out_ns(const struct sn_thread *thread);

#endif
