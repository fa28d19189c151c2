/**
 * What the general registers at an instruction tell: the addresses of data that the code around it
 * uses, and how a loop's counters move.
 *
 * Registers are as they were before the instruction. Behind it the code is followed for one pass;
 * an operand's address is known as long as nothing has written its registers. Before it, within its
 * basic block, it is known if nothing has written them since. Operands on the stack, at constant
 * addresses, relative to fs or gs and with an index in a vector register are left out.
 */
#ifndef SN_CODE_TOUCHED_H
#define SN_CODE_TOUCHED_H

#include "code/structure.h"

/** The instructions of one loop (nested ones left out), or of a function's code in no loop. */
struct sn_touching;

struct sn_touched {
	uint32_t operand; /* below sn_touching_operands: which memory operand of the code */
	uint64_t address;
};

/** A register that each pass moves by the same step. */
struct sn_counter {
	uint8_t number; /* as in struct sn_registers */
	int64_t step;
};

/** Of a function that is prepared (SN_PREPARE_CODE); `loop` NULL: its code in no loop. */
struct sn_touching *sn_touching_new(const struct sn_structure *structure,
				    const struct sn_function *function, const struct sn_loop *loop);
void sn_touching_free(struct sn_touching *code);

/** Memory operands that could be known; `hidden` is how many cannot: an index in a vector register. */
uint32_t sn_touching_operands(const struct sn_touching *code, uint32_t *hidden);

/** Addresses that the code around `link_addr` uses: at most `room`, the number is given. Each
 * operand that is met, known or not, counts in `met` ([sn_touching_operands], may be NULL). */
size_t sn_touched_find(const struct sn_touching *code, uint64_t link_addr,
		       const uint64_t registers[16], struct sn_touched *out, size_t room,
		       uint32_t *met);

/** At most 16. None without a loop, or with several ways back to its header. */
size_t sn_touching_counters(const struct sn_touching *code, struct sn_counter out[16]);

/** Conditional jumps of a pass, but for the one that ends it; calls. */
uint32_t sn_touching_jumps(const struct sn_touching *code);
bool sn_touching_calls(const struct sn_touching *code);

#endif
