/**
 * Call paths at the price of a comparison, for collectors that write traces. A path is a node: a return
 * address, and the node of its callers. Nodes are written once a process image (PATH records); events
 * refer to them by number.
 */
#ifndef SN_RUNTIME_CORE_PATHS_H
#define SN_RUNTIME_CORE_PATHS_H

#include "runtime/core/runtime.h"

enum {
	SN_PATH_FRAMES = 512, /* of a stack that is remembered; deeper ones are walked whole */
	SN_PATH_ROWS = 1024,
	SN_PATH_NODES = 1 << 20, /* three quarters used */
};

/** A frame of the stack as it was at the last event. */
struct sn_path_frame {
	uint64_t pc;	    /* return address */
	uint64_t rsp, rbp;  /* as they are when control returns there */
	uint32_t path : 31; /* node: this frame and its callers */
	uint32_t is_site : 1;
	int32_t saved_at; /* where it keeps its caller's rbp, from rsp; SN_PATH_NOT_SAVED */
};
#define SN_PATH_NOT_SAVED INT32_MIN

/** How to find the caller of a return address, in short. */
struct sn_path_row {
	uint64_t pc; /* 0: empty */
	int32_t cfa_offset;
	int16_t rbp_slot;  /* from the CFA, in units of 8 bytes; 0: not saved */
	uint8_t is_by_rbp; /* else the CFA counts from rsp */
	uint8_t kind;	   /* enum sn_path_row_kind */
};
enum sn_path_row_kind { SN_PATH_ROW_STEP, SN_PATH_ROW_OUTERMOST, SN_PATH_ROW_HARD };

/** A thread's stack as one collector saw it last, outermost frame first. Lies in the collector's scratch;
 * to begin with, generation and frame_count are 0. Not reentrant. */
struct sn_path_cache {
	uint32_t generation, frame_count;
	struct sn_path_frame frames[SN_PATH_FRAMES], fresh[SN_PATH_FRAMES];
	struct sn_path_row rows[SN_PATH_ROWS];
};

/** Set-up, also in the child of a fork: makes the table of nodes, if the image has none yet. False: there
 * is no room for it. */
bool sn_paths_open(void);

/** The node of the call path that begins with the caller of the function whose frame (rbp) this is.
 *  0: none, as our own code was interrupted or the table is full. */
uint32_t sn_path_take(struct sn_thread *self, struct sn_path_cache *cache, const uint64_t *frame);

/** The node of the call path that begins with the instruction that the thread has come to, with these
 * registers. The caller holds the thread busy (sn_enter). 0: none. */
uint32_t sn_path_take_at(struct sn_thread *self, struct sn_path_cache *cache,
			 const struct sn_unwind_regs *regs);
/** The same, if all of it is known already; else 0. It uses general registers only, and writes no record.
 * `at`: pc is behind the first byte of the instruction. */
uint32_t sn_path_known_at(struct sn_thread *self, struct sn_path_cache *cache,
			  const struct sn_path_frame *at);
/** The same as sn_path_take, by the unwinder, from the frame that returns to `leaf`: for what is asked once a place. */
uint32_t sn_path_walk(struct sn_thread *self, struct sn_path_cache *cache, uint64_t leaf);
/** A path of one frame more within `path` (0: none), which returns to `pc`. */
uint32_t sn_path_below(struct sn_thread *self, uint32_t path, uint64_t pc);

#endif
