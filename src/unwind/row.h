/**
 * The rules of one row of the call-frame table (DWARF 5, section 6.4.1), and running the program
 * that makes it.
 */
#ifndef SN_UNWIND_ROW_H
#define SN_UNWIND_ROW_H

#include "unwind/cfi.h"

enum sn_unwind_rule_kind {
	SN_UNWIND_RULE_UNSPECIFIED, /* taken as "same", as every unwinder does on this ABI */
	SN_UNWIND_RULE_UNDEFINED,
	SN_UNWIND_RULE_SAME,
	SN_UNWIND_RULE_AT_CFA,	  /* saved at CFA + value */
	SN_UNWIND_RULE_IS_CFA,	  /* is CFA + value */
	SN_UNWIND_RULE_REGISTER,  /* is the register numbered value */
	SN_UNWIND_RULE_AT_RESULT, /* saved at the expression's result */
	SN_UNWIND_RULE_IS_RESULT, /* is the expression's result */
};

/**
 * How one register of the caller is found. For the CFA itself: AT_CFA means register `reg` plus
 * `value`, IS_RESULT an expression. Expressions are `length` bytes at offset `value` of .eh_frame.
 */
struct sn_unwind_rule {
	int32_t value;
	uint16_t length;
	uint8_t kind;
	uint8_t reg;
};

struct sn_unwind_row {
	struct sn_unwind_rule cfa;
	struct sn_unwind_rule regs[SN_UNWIND_REG_COUNT];
};

/** Programs of one function that are longer than this are refused, to bound the time in a handler:
 *  the longest in Debian's libraries is far shorter (docs/method/unwinding.md). */
#define SN_UNWIND_CFA_OPERATIONS_MAX 20000
/** Depth of DW_CFA_remember_state: compilers nest it once or twice. */
#define SN_UNWIND_REMEMBERED_MAX 8

/** The row that holds at `load_addr`, which lies in the function. False if the program is corrupt
 *  or beyond a limit. Safe in handlers. */
bool sn_unwind_row_of(const struct sn_unwind_module *module, const struct sn_unwind_fde *fde,
		      uint64_t load_addr, struct sn_unwind_row *row);

#endif
