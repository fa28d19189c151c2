/**
 * The images and the stack of the test's own process, as the runtime would list them.
 */
#ifndef SN_TESTS_UNIT_UNWIND_HERE_H
#define SN_TESTS_UNIT_UNWIND_HERE_H

#include "unwind/unwind.h"

struct here {
	struct sn_unwind_module modules[64];
	struct sn_unwind_window stacks[2];
	struct sn_unwind_target target;
};

/** Lists all images now loaded and the calling thread's stack. */
void here_fill(struct here *here);

#endif
