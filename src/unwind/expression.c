/*
 * A stack machine of 64-bit values, as DWARF 5, section 2.5, defines it. Errors stick, and the
 * number of operations is bounded, so that a loop in an expression ends.
 */
#include "unwind/expression.h"

#include "unwind/dwarf.h"

struct evaluator {
	const struct sn_unwind_target *target;
	const struct sn_unwind_module *module;
	const struct sn_unwind_regs *regs;
	struct sn_unwind_bytes cur;
	const uint8_t *begin;
	unsigned depth;
	bool is_unreadable;
	uint64_t stack[SN_UNWIND_EXPRESSION_STACK_MAX];
};

bool sn_unwind_stack_read(const struct sn_unwind_target *target, uint64_t load_addr,
			  uint64_t *value)
{
	for (uint32_t i = 0; i < target->stack_count; i++) {
		if (!sn_unwind_window_holds(&target->stacks[i], load_addr, 8))
			continue;
		*value = sn_unwind_load_word(sn_unwind_window_at(&target->stacks[i], load_addr));
		return true;
	}
	return false;
}

static void push(struct evaluator *e, uint64_t value)
{
	if (e->depth == SN_UNWIND_EXPRESSION_STACK_MAX)
		e->cur.failed = true;
	else
		e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluator *e)
{
	if (e->depth == 0) {
		e->cur.failed = true;
		return 0;
	}
	return e->stack[--e->depth];
}

/** The value `below` places under the top. */
static uint64_t peek(struct evaluator *e, uint64_t below)
{
	if (below >= e->depth) {
		e->cur.failed = true;
		return 0;
	}
	return e->stack[e->depth - 1 - below];
}

static void push_register(struct evaluator *e, uint64_t reg, int64_t offset)
{
	if (reg >= SN_UNWIND_REG_COUNT || !(e->regs->valid & (UINT32_C(1) << reg))) {
		e->is_unreadable = true;
		return;
	}
	push(e, e->regs->value[reg] + (uint64_t)offset);
}

static void dereference(struct evaluator *e, uint64_t width)
{
	uint64_t addr = pop(e), value = 0;

	if (width == 0 || width > 8) {
		e->cur.failed = true;
		return;
	}
	if (!sn_unwind_stack_read(e->target, addr, &value))
		e->is_unreadable = true;
	push(e, width == 8 ? value : value & ((UINT64_C(1) << (8 * width)) - 1));
}

static void branch(struct evaluator *e, bool is_taken)
{
	int64_t distance = sn_unwind_bytes_int(&e->cur, 2);
	int64_t position = e->cur.next - e->begin + distance;

	if (!is_taken || e->cur.failed)
		return;
	if (position < 0 || position > e->cur.end - e->begin)
		e->cur.failed = true;
	else
		e->cur.next = e->begin + position;
}

static uint64_t divide(struct evaluator *e, uint64_t dividend, uint64_t divisor)
{
	if (divisor == 0) {
		e->cur.failed = true;
		return 0;
	}
	if (divisor == UINT64_MAX)
		return 0 - dividend; /* the one quotient that overflows */
	return (uint64_t)((int64_t)dividend / (int64_t)divisor);
}

static uint64_t modulo(struct evaluator *e, uint64_t dividend, uint64_t divisor)
{
	if (divisor == 0) {
		e->cur.failed = true;
		return 0;
	}
	return dividend % divisor;
}

static uint64_t shift_right_signed(uint64_t value, uint64_t count)
{
	return (uint64_t)((int64_t)value >> (count < 63 ? count : 63));
}

/** Operations that take two values, `a` the lower one, and give one. */
static uint64_t combine(struct evaluator *e, uint8_t operation, uint64_t a, uint64_t b)
{
	switch (operation) {
	case DW_OP_and:
		return a & b;
	case DW_OP_div:
		return divide(e, a, b);
	case DW_OP_minus:
		return a - b;
	case DW_OP_mod:
		return modulo(e, a, b);
	case DW_OP_mul:
		return a * b;
	case DW_OP_or:
		return a | b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return shift_right_signed(a, b);
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_eq:
		return a == b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	case DW_OP_gt:
		return (int64_t)a > (int64_t)b;
	case DW_OP_le:
		return (int64_t)a <= (int64_t)b;
	case DW_OP_lt:
		return (int64_t)a < (int64_t)b;
	case DW_OP_ne:
		return a != b;
	default:
		e->cur.failed = true;
		return 0;
	}
}

static void run_constant(struct evaluator *e, uint8_t operation)
{
	/* DW_OP_const1u to const8s: width doubles every second number, odd ones are signed. */
	unsigned width = 1u << ((operation - DW_OP_const1u) / 2);

	if ((operation - DW_OP_const1u) % 2)
		push(e, (uint64_t)sn_unwind_bytes_int(&e->cur, width));
	else
		push(e, sn_unwind_bytes_uint(&e->cur, width));
}

static void run_stack_operation(struct evaluator *e, uint8_t operation)
{
	uint64_t a, b, c;

	switch (operation) {
	case DW_OP_dup:
		push(e, peek(e, 0));
		break;
	case DW_OP_drop:
		pop(e);
		break;
	case DW_OP_over:
		push(e, peek(e, 1));
		break;
	case DW_OP_pick:
		push(e, peek(e, sn_unwind_bytes_uint(&e->cur, 1)));
		break;
	case DW_OP_swap:
		a = pop(e);
		b = pop(e);
		push(e, a);
		push(e, b);
		break;
	case DW_OP_rot:
		a = pop(e);
		b = pop(e);
		c = pop(e);
		push(e, a);
		push(e, c);
		push(e, b);
		break;
	default:
		e->cur.failed = true;
	}
}

static void run_operation(struct evaluator *e, uint8_t operation)
{
	uint64_t a, b;

	switch (operation) {
	case DW_OP_addr:
		push(e, sn_unwind_address_read(e->module, &e->cur, DW_EH_PE_absptr));
		break;
	case DW_OP_constu:
		push(e, sn_unwind_bytes_uleb(&e->cur));
		break;
	case DW_OP_consts:
		push(e, (uint64_t)sn_unwind_bytes_sleb(&e->cur));
		break;
	case DW_OP_const1u ... DW_OP_const8s:
		run_constant(e, operation);
		break;
	case DW_OP_dup ... DW_OP_rot:
		run_stack_operation(e, operation);
		break;
	case DW_OP_deref:
		dereference(e, 8);
		break;
	case DW_OP_deref_size:
		dereference(e, sn_unwind_bytes_uint(&e->cur, 1));
		break;
	case DW_OP_abs:
		a = pop(e);
		push(e, (int64_t)a < 0 ? 0 - a : a);
		break;
	case DW_OP_neg:
		push(e, 0 - pop(e));
		break;
	case DW_OP_not:
		push(e, ~pop(e));
		break;
	case DW_OP_plus_uconst:
		a = pop(e);
		push(e, a + sn_unwind_bytes_uleb(&e->cur));
		break;
	case DW_OP_skip:
		branch(e, true);
		break;
	case DW_OP_bra:
		branch(e, pop(e) != 0);
		break;
	case DW_OP_lit0 ... DW_OP_lit31:
		push(e, operation - DW_OP_lit0);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(e, operation - DW_OP_breg0, sn_unwind_bytes_sleb(&e->cur));
		break;
	case DW_OP_bregx:
		a = sn_unwind_bytes_uleb(&e->cur);
		push_register(e, a, sn_unwind_bytes_sleb(&e->cur));
		break;
	case DW_OP_nop:
		break;
	default:
		b = pop(e);
		a = pop(e);
		push(e, combine(e, operation, a, b));
	}
}

enum sn_unwind_end sn_unwind_expression_run(const struct sn_unwind_target *target,
					    const struct sn_unwind_module *module,
					    const struct sn_unwind_rule *rule,
					    const struct sn_unwind_regs *regs,
					    const uint64_t *first, uint64_t *result)
{
	struct evaluator e; /* the stack is not initialised: only what was pushed is read */

	e.target = target;
	e.module = module;
	e.regs = regs;
	e.cur = sn_unwind_bytes_at(&module->eh_frame,
				   module->eh_frame.start + (uint32_t)rule->value);
	e.begin = e.cur.next;
	if (rule->length > sn_unwind_bytes_left(&e.cur))
		return SN_UNWIND_BAD_CFI;
	e.cur.end = e.cur.next + rule->length;
	e.depth = 0;
	e.is_unreadable = false;
	if (first)
		push(&e, *first);
	for (unsigned left = SN_UNWIND_EXPRESSION_OPERATIONS_MAX; e.cur.next < e.cur.end; left--) {
		if (left == 0)
			return SN_UNWIND_BAD_CFI;
		run_operation(&e, (uint8_t)sn_unwind_bytes_uint(&e.cur, 1));
		if (e.is_unreadable)
			return SN_UNWIND_UNREADABLE;
		if (e.cur.failed)
			return SN_UNWIND_BAD_CFI;
	}
	if (e.depth == 0)
		return SN_UNWIND_BAD_CFI;
	*result = e.stack[e.depth - 1];
	return SN_UNWIND_GOES_ON;
}
