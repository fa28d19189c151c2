/** How a walk's result is told of the stack that it gave (wire/kinds.h). */
#ifndef SN_UNWIND_STACK_FLAGS_H
#define SN_UNWIND_STACK_FLAGS_H

#include "unwind/unwind.h"
#include "wire/kinds.h"

/** The flag for what ended a walk, enum sn_unwind_end. */
static inline uint8_t sn_unwind_end_flag(uint8_t end)
{
	static const uint8_t by_end[] = {
		[SN_UNWIND_COMPLETE] = SN_STACK_COMPLETE,
		[SN_UNWIND_NO_RULE] = SN_STACK_NO_CFI,
		[SN_UNWIND_BAD_CFI] = SN_STACK_BAD_CFI,
		[SN_UNWIND_STACK_RANGE] = SN_STACK_UNREADABLE,
		[SN_UNWIND_TOO_DEEP] = SN_STACK_TOO_DEEP,
		[SN_UNWIND_UNREADABLE] = SN_STACK_UNREADABLE,
		[SN_UNWIND_GOES_ON] = SN_STACK_BAD_CFI, /* of a step, not of a walk */
	};

	return by_end[end];
}

/** All flags of a walked stack: what ended it, and what its frames were guessed by. */
static inline uint8_t sn_unwind_stack_flags(const struct sn_unwind_walk_result *walk)
{
	uint8_t flags = sn_unwind_end_flag(walk->end);

	if (walk->flags & (SN_UNWIND_BY_FRAME_POINTER | SN_UNWIND_BY_RETURN_GUESS))
		flags |= SN_STACK_NO_CFI;
	if (walk->flags & SN_UNWIND_BY_SCAN)
		flags |= SN_STACK_SCANNED;
	return flags;
}

#endif
