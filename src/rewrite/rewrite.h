/**
 * Loops that run as copies: which can, why the others cannot, and the plan that makes them.
 *
 * A copy does what the original does, instruction by instruction, and counts entries, exits and
 * iterations. The original gets a jump to it at its header; calls stay where they are, so that
 * return addresses are the original's. What is not understood is refused, with the reason.
 */
#ifndef SN_REWRITE_REWRITE_H
#define SN_REWRITE_REWRITE_H

#include "base/text.h"
#include "code/image.h"
#include "code/structure.h"
#include "wire/variants.h"

struct sn_rewriter;

/** In place of the bits of variants: loops get a copy that records the addresses of their accesses to
 * memory (wire/accesses.h). Others are counted, too, and refused as what they were asked for. */
#define SN_REWRITER_RECORDER (1u << 30)
/** Beside the bits of variants: a loop that holds another one of the plan has none, so that counts of all are
 * exact. (While a loop is timed as ORIG or PF, those in it are not counted.) */
#define SN_REWRITER_INNERMOST (1u << 31)

/** Borrows both; the structure must be the image's. Reads all code of the module once. */
struct sn_rewriter *sn_rewriter_new(struct sn_image *image, struct sn_structure *structure);
void sn_rewriter_free(struct sn_rewriter *rewriter);

/** Why a loop, whose function is prepared (SN_PREPARE_CODE), cannot run as a copy, as what follows
 * "because"; NULL: it can. */
const char *sn_rewriter_refusal(struct sn_rewriter *rewriter, const struct sn_loop *loop);

/** For each of SN_VARIANTS why such a loop cannot have it, as what follows "because"; NULL: it can. Of a
 * loop that can run as a copy. `structure` may be an extract's. True: where it goes on depends on loads at addresses that do
 * not move by a constant (a list), which every variant keeps. */
bool sn_loop_variants_judge(struct sn_structure *structure, const struct sn_loop *loop,
			    const char **why);
/** What that says of LS and DL1 (the same address) of a loop that accesses no memory. */
extern const char sn_loop_without_memory[], sn_loop_without_arithmetic[];

/** Likewise why such a loop cannot have a copy that records its accesses; NULL: it can. */
const char *sn_loop_recorder_refusal(struct sn_structure *structure, const struct sn_loop *loop);

/**
 * The plan for these loops of the module, as a file's bytes (wire/plan.h) added to `out`. Loops
 * within one that is among them are counted in its copy. `variants`: bits (1 << enum sn_decan_variant) of
 * those that they shall have besides ORIG, if they can; 0: none; and SN_REWRITER_INNERMOST. `refusals`, if not NULL, has an entry for
 * each loop: NULL, or why it is not in the plan (or cannot record, if it shall). The number of the others;
 * 0: no plan.
 */
size_t sn_rewriter_plan(struct sn_rewriter *rewriter, const struct sn_loop *const *loops,
			size_t count, uint32_t variants, const char **refusals,
			struct sn_text *out);

/**
 * The plan that counts arrivals at the instruction at `link_addr`, of a function that is prepared (SN_PREPARE_CODE): a
 * jump there leads to code that adds 1 to the thread's SN_PLAN_WORD_VISITS, does the instructions that the jump
 * lies on, and goes on behind them. Why it cannot be made, as what follows "because"; NULL: the bytes are added to
 * `out`.
 */
const char *sn_rewriter_point(struct sn_rewriter *rewriter, const struct sn_function *function,
			      uint64_t link_addr, struct sn_text *out);

/**
 * The plan that tells the runtime of arrivals at the instructions at these addresses (wire/plan.h), patches in their order; each as
 * with sn_rewriter_point, and refused like that.
 */
const char *sn_rewriter_told_points(struct sn_rewriter *rewriter, const uint64_t *link_addrs,
				    size_t count, struct sn_text *out);

/** A heartbeat that is to be inserted. */
struct sn_inserted_beat {
	const struct sn_function *function; /* prepared: SN_PREPARE_ALL */
	const struct sn_loop
		*loop; /* of it: a beat is an iteration. NULL: a call of the function */
	const char *name;
	uint32_t every; /* one beat in so many is timed; 0 and 1: all */
};

/**
 * The plan that puts heartbeats into functions and loops of the module, added to `out` (wire/plan.h). An iteration begins
 * behind a test on top of the loop, as the source's first line of the body does. `refusals` has an entry for
 * each: NULL, or why it is not in the plan, as what follows "because". The number of the others; 0: no plan.
 */
size_t sn_rewriter_beats(struct sn_rewriter *rewriter, const struct sn_inserted_beat *beats,
			 size_t count, const char **refusals, struct sn_text *out);

/**
 * The plan that counts the executions of all basic blocks of these functions, which are prepared (SN_PREPARE_ALL), added to
 * `out` (wire/plan.h). `refusals` has an entry for each: NULL, or why it is not in the plan, as what follows "because". The
 * number of the others; 0: no plan.
 */
size_t sn_rewriter_blocks(struct sn_rewriter *rewriter, const struct sn_function *const *functions,
			  size_t count, const char **refusals, struct sn_text *out);

#endif
