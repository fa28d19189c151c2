/**
 * DWARF expressions as call-frame rules use them (DWARF 5, section 2.5 less what 6.4.2 forbids).
 */
#ifndef SN_UNWIND_EXPRESSION_H
#define SN_UNWIND_EXPRESSION_H

#include "unwind/row.h"

/** Operations one expression may run, branches included, and the depth of its stack. */
#define SN_UNWIND_EXPRESSION_OPERATIONS_MAX 256
#define SN_UNWIND_EXPRESSION_STACK_MAX	    24

/** A word of one of the target's stacks; false if it lies in none. */
bool sn_unwind_stack_read(const struct sn_unwind_target *target, uint64_t load_addr,
			  uint64_t *value);

/**
 * Runs the rule's expression with `first` on the stack if it is not NULL (the CFA, for rules of
 * registers). Only stacks are read by its dereferences.
 */
enum sn_unwind_end sn_unwind_expression_run(const struct sn_unwind_target *target,
					    const struct sn_unwind_module *module,
					    const struct sn_unwind_rule *rule,
					    const struct sn_unwind_regs *regs,
					    const uint64_t *first, uint64_t *result);

#endif
