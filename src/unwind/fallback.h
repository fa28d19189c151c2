/**
 * Stepping out of code that nothing describes: just-in-time code, assembler without CFI.
 */
#ifndef SN_UNWIND_FALLBACK_H
#define SN_UNWIND_FALLBACK_H

#include "unwind/cfi.h"

/**
 * Steps over a frame without rules; `module` holds the pc, or is NULL. In order of trust:
 *
 * 1. the trampoline that ends a signal handler, known by its bytes (musl describes none): the
 *    interrupted registers lie at rsp;
 * 2. the entry point of an image: the stack ends here;
 * 3. at the first or last instruction of a function the return address is on top of the stack,
 *    believed only if a call instruction stands before it;
 * 4. the chain of frame pointers, believed only if it leads outwards on the same stack, to what may
 *    follow a call;
 * 5. the word at rsp, for a leaf without a frame: again only after a call instruction.
 *
 * 3 and 5 are tried for an interrupted frame only. Every guess is flagged.
 */
enum sn_unwind_end sn_unwind_fall_back(const struct sn_unwind_target *target,
				       const struct sn_unwind_module *module,
				       struct sn_unwind_frame *frame);

/** Whether fall_back has a rule of its own for this pc: a signal's trampoline, an image's entry. */
bool sn_unwind_is_known_end(const struct sn_unwind_module *module, uint64_t pc);

/** Whether a call may stand before this address. */
bool sn_unwind_may_return_to(const struct sn_unwind_target *target, uint64_t load_addr);

/**
 * Steps out of an interrupted function whose description says nothing after its entry although its
 * code begins with pushes (the multi-precision routines of glibc's printf are like that). The
 * return address is the first word after a call that lies no more than these pushes away; the
 * registers pushed below it are brought back. False if the function is not of this kind, or nothing
 * fits.
 */
bool sn_unwind_step_undescribed(const struct sn_unwind_target *target,
				const struct sn_unwind_module *module,
				const struct sn_unwind_fde *fde, struct sn_unwind_frame *frame);

/**
 * Whether a return address is the first byte of a function and follows no call: then nothing called
 * from there, and whoever made this stack by hand (makecontext) put it under the first frame.
 */
bool sn_unwind_is_planted(const struct sn_unwind_target *target,
			  const struct sn_unwind_module *module, uint64_t pc);

#endif
