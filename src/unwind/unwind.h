/**
 * Walks a stack by call-frame information (.eh_frame), where nothing may be called.
 *
 * The same code runs in a signal handler of the target (windows on its own memory) and offline over
 * copied registers and stack (windows on copies). It calls no function of libc, allocates nothing
 * and takes no lock. It uses no thread-local and no floating-point or vector register. It reads
 * only inside the windows that it was given, and does a bounded amount of work per frame.
 *
 * 	struct sn_unwind_target target = { modules, count, generation, &stack, 1 };
 * 	sn_unwind_regs_from_gregs(&regs, (const int64_t *)ucontext->uc_mcontext.gregs);
 * 	sn_unwind_walk(&target, &regs, cache, pcs, 512, &walk);
 *
 * The caller owns every table and window and keeps them alive and unchanged during a walk (an epoch
 * or a seqlock of its own guards dlclose). Walks of different threads share nothing but the tables.
 *
 * Sources: DWARF 5, section 6.4; Linux Standard Base 5, "Exception Frames" and .eh_frame_hdr;
 * System V ABI, AMD64 supplement, figure 3.36 (register numbers) and section 3.2.
 */
#ifndef SN_UNWIND_UNWIND_H
#define SN_UNWIND_UNWIND_H

#include "unwind/bytes.h"

/** DWARF numbers of the registers (AMD64 ABI, figure 3.36). */
enum sn_unwind_reg {
	SN_UNWIND_RAX,
	SN_UNWIND_RDX,
	SN_UNWIND_RCX,
	SN_UNWIND_RBX,
	SN_UNWIND_RSI,
	SN_UNWIND_RDI,
	SN_UNWIND_RBP,
	SN_UNWIND_RSP,
	SN_UNWIND_R8,
	SN_UNWIND_R9,
	SN_UNWIND_R10,
	SN_UNWIND_R11,
	SN_UNWIND_R12,
	SN_UNWIND_R13,
	SN_UNWIND_R14,
	SN_UNWIND_R15,
	SN_UNWIND_RIP,
	SN_UNWIND_REG_COUNT,
};

/** The registers of one frame. Bit n of `valid` says that value[n] is known. */
struct sn_unwind_regs {
	uint64_t value[SN_UNWIND_REG_COUNT];
	uint32_t valid;
};

#define SN_UNWIND_ALL_VALID ((UINT32_C(1) << SN_UNWIND_REG_COUNT) - 1)

/** One function of a module's own index (see cfi.h), for modules without a usable header. */
struct sn_unwind_index_entry {
	uint32_t start_offset; /* of the function, from the module's load_start */
	uint32_t fde_offset;   /* of its description, from eh_frame.start */
};

enum sn_unwind_module_flag {
	/** eh_frame is exactly the section: a zero word inside does not end it. Without this flag
	 * the window may run on to the end of its segment, and the first zero word ends the list.
	 */
	SN_UNWIND_MODULE_EXACT_EH_FRAME = 1,
	/** The bytes are those of the file: absolute addresses in them are link addresses. */
	SN_UNWIND_MODULE_UNRELOCATED = 2,
};

/** The facts of one loaded image that the unwinder needs; sn_unwind_module_of_* in module.h fill
 * it. */
struct sn_unwind_module {
	uint64_t load_start, load_end; /* addresses that belong to the image, all segments */
	uint64_t load_bias;	       /* load address - link address, modulo 2^64 */
	uint64_t entry_load_addr;      /* of e_entry, where every stack ends; 0 unknown */
	struct sn_unwind_window text;  /* executable bytes; empty: calls cannot be validated */
	struct sn_unwind_window eh_frame_hdr; /* empty: none */
	struct sn_unwind_window eh_frame;     /* empty: none */
	const struct sn_unwind_index_entry
		*index; /* sorted by start_offset; NULL: use the header */
	uint32_t index_count;
	uint32_t flags;
};

/** Everything that may be read during a walk. */
struct sn_unwind_target {
	/** Sorted by load_start, not overlapping. */
	const struct sn_unwind_module *modules;
	uint32_t module_count;
	/** Differs whenever `modules` says something else: rows cached under another one are stale.
	 */
	uint32_t generation;
	/** Stacks that may be read, the interrupted one first; others are reached across signal
	 * frames and stack switches (alternate signal stacks, coroutines). */
	const struct sn_unwind_window *stacks;
	uint32_t stack_count;
	/** Code that stands for other code lies in [start, end), perhaps among modules: `translate` makes
	 * registers in it those of the instruction that it stands for, which has been come to, and leaves
	 * others as they are. NULL: there is none. The first frame is the caller's to translate. */
	uint64_t copies_start, copies_end;
	void (*translate)(struct sn_unwind_regs *regs);
};

/** Why a walk ended. The numbers are stored in experiments: never renumber. */
enum sn_unwind_end {
	SN_UNWIND_COMPLETE = 0,	   /* the outermost frame: _start, clone, a coroutine's first */
	SN_UNWIND_NO_RULE = 1,	   /* no call-frame information here, and no fallback held */
	SN_UNWIND_BAD_CFI = 2,	   /* corrupt, contradictory or beyond our limits */
	SN_UNWIND_STACK_RANGE = 3, /* the frame lies outside the stacks given */
	SN_UNWIND_TOO_DEEP = 4,	   /* the caller's array is full */
	SN_UNWIND_UNREADABLE = 5,  /* a rule needs a register or memory that is not known */
	SN_UNWIND_GOES_ON = 6,	   /* of a step only: there is a caller */
};

/** How certain the frames are; bits of sn_unwind_walk_result.flags, stored in experiments. */
enum sn_unwind_flag {
	SN_UNWIND_BY_FRAME_POINTER = 1, /* a pc without rules was stepped over by rbp */
	SN_UNWIND_BY_RETURN_GUESS = 2,	/* the word at rsp was taken for the return address */
	SN_UNWIND_CROSSED_SIGNAL = 4,	/* a signal frame lies in between */
	SN_UNWIND_SWITCHED_STACK = 8,	/* the frames lie on more than one of the stacks */
	SN_UNWIND_BY_SCAN = 16, /* a pc without rules was stepped over by what its code does */
};

struct sn_unwind_walk_result {
	uint32_t count;		/* pcs written */
	uint32_t first_guessed; /* index of the first pc that a fallback produced; count if none */
	uint8_t end;		/* enum sn_unwind_end */
	uint8_t flags;		/* enum sn_unwind_flag */
};

/** Decoded rules by pc; memory of the caller's, one per thread. See sn_unwind_cache_place. */
struct sn_unwind_cache;

/** Registers from the kernel's order in a signal frame (ucontext_t.uc_mcontext.gregs, 17 words). */
static inline void sn_unwind_regs_from_gregs(struct sn_unwind_regs *regs, const int64_t *gregs)
{
	static const uint8_t number[SN_UNWIND_REG_COUNT] = { 8, 9, 10, 11, 12, 13, 14, 15, 5,
							     4, 6, 3,  1,  0,  2,  7,  16 };

	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		regs->value[number[i]] = (uint64_t)gregs[i];
	regs->valid = SN_UNWIND_ALL_VALID;
}

/** The registers of the function that this stands in; the first pc is then an exact one in it. */
#ifdef __clang_analyzer__ /* it does not know what assembly writes */
void sn_unwind_regs_here(struct sn_unwind_regs *regs);
#else
static inline __attribute__((always_inline)) void sn_unwind_regs_here(struct sn_unwind_regs *regs)
{
	uint64_t *value = regs->value;

	__asm__ volatile("lea 0(%%rip), %%rax\n\t"
			 "mov %%rax, 128(%0)\n\t"
			 "mov %%rsp, 56(%0)\n\t"
			 "mov %%rbp, 48(%0)\n\t"
			 "mov %%rbx, 24(%0)\n\t"
			 "mov %%r12, 96(%0)\n\t"
			 "mov %%r13, 104(%0)\n\t"
			 "mov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)"
			 :
			 : "r"(value)
			 : "rax", "memory");
	regs->valid = UINT32_C(0x1f0c8);
}
#endif

/**
 * Lays a cache over `bytes` of memory that is zero and 64-byte aligned (fresh from mmap: pages are
 * touched only as rows are used). Gives NULL if there is no room for one set. 16 kB hold some 500
 * pcs. One thread uses it; a handler that interrupts a walk of the same thread may use it too.
 */
struct sn_unwind_cache *sn_unwind_cache_place(void *memory, size_t bytes);

/** Lookups of this cache that needed no decoding. */
uint64_t sn_unwind_cache_hits(const struct sn_unwind_cache *cache);

/**
 * Walks from `regs` (where the thread was interrupted) outwards; writes at most `max` pcs.
 *
 * pcs[0] is the interrupted instruction itself. Every later pc stands one past the first byte or
 * more of the instruction that its frame is executing, so `pc - 1` lies in that instruction. For a
 * call it is the return address. For a frame that a signal interrupted, it is the interrupted
 * address plus one. For the trampoline to which the handler returns, it is the trampoline's address
 * plus one.
 *
 * `regs` is left at the last frame. `cache` may be NULL. Returns the number of pcs.
 *
 * Safe in signal handlers. Never reads outside the windows of `target`.
 */
uint32_t sn_unwind_walk(const struct sn_unwind_target *target, struct sn_unwind_regs *regs,
			struct sn_unwind_cache *cache, uint64_t *pcs, uint32_t max,
			struct sn_unwind_walk_result *result);

/** A walk one frame at a time: for tests, and for who wants registers of outer frames. */
struct sn_unwind_frame {
	struct sn_unwind_regs regs;
	bool is_exact; /* the pc is of an interrupted instruction, not a return address */
	uint8_t flags; /* enum sn_unwind_flag, of all steps so far */
};

/** Replaces the frame by its caller's (GOES_ON), or says why that cannot be; then `frame` is as it
 *  was. */
enum sn_unwind_end sn_unwind_step(const struct sn_unwind_target *target,
				  struct sn_unwind_cache *cache, struct sn_unwind_frame *frame);

/** The module that `load_addr` belongs to, or NULL. */
const struct sn_unwind_module *sn_unwind_find_module(const struct sn_unwind_target *target,
						     uint64_t load_addr);

#endif
