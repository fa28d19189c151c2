/**
 * Parallel regions of OpenMP. A worker's stack ends in the runtime library; what made it work is
 * the stack of the thread that created the region. That thread cannot leave the region before its
 * workers do. So the stack above its call stays as it is, and a sample of a worker can walk it,
 * once.
 */
#ifndef SN_RUNTIME_OPENMP_REGIONS_H
#define SN_RUNTIME_OPENMP_REGIONS_H

#include "runtime/core/collector.h"

enum { SN_REGION_PCS_MAX = 32 };

struct sn_region {
	struct sn_unwind_regs regs; /* in the wrapper that created it */
	uint64_t stack_end;	    /* of the creator's stack; 0: not known, no stitching */
	struct sn_region *outer;    /* the creator's own region */
	_Atomic uint32_t stack;	    /* 0: not walked yet; UINT32_MAX: cannot be walked */
	/* once it is walked: return addresses up to the region around it, innermost first, as far as there is room */
	uint32_t pcs_count;
	uint64_t pcs[SN_REGION_PCS_MAX];
	bool is_exact; /* regs are at an instruction, not behind a call */
	void (*body)(void *);
	void *argument;
	struct sn_openmp_team *team; /* where it is traced (trace.h); else NULL */
};

enum { SN_REGIONS_MAX = 16 /* that one thread has open */ };

/** The collector's part of a thread's block. */
struct sn_openmp {
	struct sn_region *region; /* that the thread works for; NULL: none */
	uint32_t depth; /* of the regions that it has created itself, by OMPT: in scratch */
};
extern struct sn_collector sn_openmp_collector;

static inline struct sn_openmp *sn_openmp_of(const struct sn_thread *thread)
{
	return sn_thread_part(thread, &sn_openmp_collector);
}

/** What a thread was at before it began a body of a region, or a task. */
struct sn_openmp_before {
	struct sn_openmp_team *team, *joined; /* joined: a task at the end of its region */
	uint64_t mark, work, waited, begin;
	uint64_t block_pc, block_begin;
	uint8_t block_construct;
	bool is_waiting, is_over;
};

/** What tracing hears of regions. NULL: nobody traces. */
struct sn_openmp_tracer {
	/** The calling thread opens a region, whose call returns to pc (a call that is its caller's last
	 *  returns further out), and closes it. `body`: its code; 0: not known. */
	void (*open)(struct sn_region *region, uint64_t pc, uint64_t body);
	void (*close)(struct sn_region *region);
	/** It begins the region's body, and has ended it. */
	void (*begin)(const struct sn_region *region, struct sn_openmp_before *before);
	void (*end)(const struct sn_region *region, const struct sn_openmp_before *before);
	/** By OMPT: of teams of LLVM's runtime. `region`: NULL at ends. */
	void (*implicit_task)(const struct sn_region *region, bool is_begin, unsigned index);
	/** Asks OMPT for the events of constructs. */
	void (*ask)(int (*set)(int event, void (*callback)(void)));
};
extern const struct sn_openmp_tracer *sn_openmp_tracer;

/** Whether pc is a return address in the function that calls a region's body. */
bool sn_region_is_trampoline(uint64_t pc);

#endif
