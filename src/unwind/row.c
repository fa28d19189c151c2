/*
 * Runs the call-frame program of a function up to the pc that is asked for (DWARF 5, section
 * 6.4.2). What is left is one row: where the caller's stack pointer and each of its registers are.
 */
#include "unwind/row.h"

#include "unwind/dwarf.h"

/** The state of a program in execution. */
struct machine {
	const struct sn_unwind_module *module;
	const struct sn_unwind_fde *fde;
	struct sn_unwind_row *row;
	const struct sn_unwind_row *initial; /* NULL while the CIE's own program runs */
	uint64_t location, target;
	unsigned operations_left;
	int32_t last_cfa_offset; /* survives an expression, see set_cfa_register */
	unsigned remembered_count;
	struct sn_unwind_row remembered[SN_UNWIND_REMEMBERED_MAX];
};

/** Copied by words: a struct assignment of this size may become a call to memcpy. */
static void copy_row(struct sn_unwind_row *to, const struct sn_unwind_row *from)
{
	to->cfa = from->cfa;
	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		to->regs[i] = from->regs[i];
}

static void set_rule(struct machine *m, uint64_t reg, enum sn_unwind_rule_kind kind, int64_t value,
		     struct sn_unwind_bytes *cur)
{
	if (reg >= SN_UNWIND_REG_COUNT)
		return; /* vector and status registers: nothing here depends on them */
	if (value != (int32_t)value) {
		cur->failed = true;
		return;
	}
	m->row->regs[reg] =
		(struct sn_unwind_rule){ .kind = (uint8_t)kind, .value = (int32_t)value };
}

static int64_t factored(const struct machine *m, int64_t offset, struct sn_unwind_bytes *cur)
{
	int64_t product = 0;

	if (__builtin_mul_overflow(offset, m->fde->data_align, &product))
		cur->failed = true;
	return product;
}

/** An offset given as unsigned LEB128, times the alignment factor. */
static int64_t factored_uleb(const struct machine *m, struct sn_unwind_bytes *cur)
{
	uint64_t offset = sn_unwind_bytes_uleb(cur);

	if (offset > INT32_MAX)
		cur->failed = true;
	return factored(m, (int64_t)offset, cur);
}

static void set_cfa_register(struct machine *m, uint64_t reg, struct sn_unwind_bytes *cur)
{
	if (reg >= SN_UNWIND_REG_COUNT) {
		cur->failed = true;
		return;
	}
	/* After an expression the standard wants an offset, too; hand-written code (libgcrypt's)
	 * gives none and means the one before, as libgcc understands it. */
	if (m->row->cfa.kind != SN_UNWIND_RULE_AT_CFA)
		m->row->cfa.value = m->last_cfa_offset;
	m->row->cfa.kind = SN_UNWIND_RULE_AT_CFA;
	m->row->cfa.reg = (uint8_t)reg;
}

static void set_cfa_offset(struct machine *m, int64_t offset, struct sn_unwind_bytes *cur)
{
	if (m->row->cfa.kind != SN_UNWIND_RULE_AT_CFA || offset != (int32_t)offset) {
		cur->failed = true;
		return;
	}
	m->row->cfa.value = m->last_cfa_offset = (int32_t)offset;
}

static struct sn_unwind_rule read_expression(struct machine *m, enum sn_unwind_rule_kind kind,
					     struct sn_unwind_bytes *cur)
{
	struct sn_unwind_rule rule = { .kind = (uint8_t)kind };
	uint64_t length = sn_unwind_bytes_uleb(cur);
	const uint8_t *begin = sn_unwind_bytes_skip(cur, length);
	uint64_t offset = cur->failed ? 0 : (uint64_t)(begin - m->module->eh_frame.bytes);

	if (length > UINT16_MAX || offset > INT32_MAX)
		cur->failed = true;
	rule.value = (int32_t)offset;
	rule.length = (uint16_t)length;
	return rule;
}

static void set_expression(struct machine *m, enum sn_unwind_rule_kind kind,
			   struct sn_unwind_bytes *cur)
{
	uint64_t reg = sn_unwind_bytes_uleb(cur);
	struct sn_unwind_rule rule = read_expression(m, kind, cur);

	if (reg < SN_UNWIND_REG_COUNT)
		m->row->regs[reg] = rule;
}

static void restore_rule(struct machine *m, uint64_t reg, struct sn_unwind_bytes *cur)
{
	if (!m->initial)
		cur->failed = true; /* nothing to go back to inside the CIE */
	else if (reg < SN_UNWIND_REG_COUNT)
		m->row->regs[reg] = m->initial->regs[reg];
}

static void remember(struct machine *m, struct sn_unwind_bytes *cur)
{
	if (m->remembered_count == SN_UNWIND_REMEMBERED_MAX) {
		cur->failed = true;
		return;
	}
	copy_row(&m->remembered[m->remembered_count++], m->row);
}

static void restore(struct machine *m, struct sn_unwind_bytes *cur)
{
	if (m->remembered_count == 0) {
		cur->failed = true;
		return;
	}
	copy_row(m->row, &m->remembered[--m->remembered_count]);
}

static void advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes = 0;

	/* An overflow ends the program just as any address beyond the target does. */
	if (__builtin_mul_overflow(delta, m->fde->code_align, &bytes) ||
	    __builtin_add_overflow(m->location, bytes, &m->location))
		m->location = UINT64_MAX;
}

/** The operations whose operands are bytes of their own. */
static void run_extended(struct machine *m, uint8_t operation, struct sn_unwind_bytes *cur)
{
	uint64_t reg;

	switch (operation) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		m->location = sn_unwind_address_read(m->module, cur, m->fde->pointer_encoding);
		break;
	case DW_CFA_advance_loc1:
		advance(m, sn_unwind_bytes_uint(cur, 1));
		break;
	case DW_CFA_advance_loc2:
		advance(m, sn_unwind_bytes_uint(cur, 2));
		break;
	case DW_CFA_advance_loc4:
		advance(m, sn_unwind_bytes_uint(cur, 4));
		break;
	case DW_CFA_MIPS_advance_loc8:
		advance(m, sn_unwind_bytes_uint(cur, 8));
		break;
	case DW_CFA_offset_extended:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_AT_CFA, factored_uleb(m, cur), cur);
		break;
	case DW_CFA_offset_extended_sf:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_AT_CFA, factored(m, sn_unwind_bytes_sleb(cur), cur),
			 cur);
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_AT_CFA, -factored_uleb(m, cur), cur);
		break;
	case DW_CFA_val_offset:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_IS_CFA, factored_uleb(m, cur), cur);
		break;
	case DW_CFA_val_offset_sf:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_IS_CFA, factored(m, sn_unwind_bytes_sleb(cur), cur),
			 cur);
		break;
	case DW_CFA_restore_extended:
		restore_rule(m, sn_unwind_bytes_uleb(cur), cur);
		break;
	case DW_CFA_undefined:
		set_rule(m, sn_unwind_bytes_uleb(cur), SN_UNWIND_RULE_UNDEFINED, 0, cur);
		break;
	case DW_CFA_same_value:
		set_rule(m, sn_unwind_bytes_uleb(cur), SN_UNWIND_RULE_SAME, 0, cur);
		break;
	case DW_CFA_register:
		reg = sn_unwind_bytes_uleb(cur);
		set_rule(m, reg, SN_UNWIND_RULE_REGISTER,
			 (int64_t)(sn_unwind_bytes_uleb(cur) & INT32_MAX), cur);
		break;
	case DW_CFA_remember_state:
		remember(m, cur);
		break;
	case DW_CFA_restore_state:
		restore(m, cur);
		break;
	case DW_CFA_def_cfa:
		set_cfa_register(m, sn_unwind_bytes_uleb(cur), cur);
		set_cfa_offset(m, (int64_t)sn_unwind_bytes_uleb(cur), cur);
		break;
	case DW_CFA_def_cfa_sf:
		set_cfa_register(m, sn_unwind_bytes_uleb(cur), cur);
		set_cfa_offset(m, factored(m, sn_unwind_bytes_sleb(cur), cur), cur);
		break;
	case DW_CFA_def_cfa_register:
		if (m->row->cfa.kind == SN_UNWIND_RULE_UNSPECIFIED)
			cur->failed = true;
		set_cfa_register(m, sn_unwind_bytes_uleb(cur), cur);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(m, (int64_t)sn_unwind_bytes_uleb(cur), cur);
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(m, factored(m, sn_unwind_bytes_sleb(cur), cur), cur);
		break;
	case DW_CFA_def_cfa_expression:
		m->row->cfa = read_expression(m, SN_UNWIND_RULE_IS_RESULT, cur);
		break;
	case DW_CFA_expression:
		set_expression(m, SN_UNWIND_RULE_AT_RESULT, cur);
		break;
	case DW_CFA_val_expression:
		set_expression(m, SN_UNWIND_RULE_IS_RESULT, cur);
		break;
	case DW_CFA_GNU_args_size:
		sn_unwind_bytes_uleb(cur);
		break;
	default:
		cur->failed = true;
	}
}

/** Runs until the location has passed the target or the program ends; false if it is corrupt. */
static bool run(struct machine *m, struct sn_unwind_bytes cur)
{
	while (!cur.failed && cur.next < cur.end && m->location <= m->target) {
		uint8_t operation = *cur.next++;
		uint8_t operand = operation & 0x3f;

		if (m->operations_left-- == 0)
			return false;
		switch (operation & 0xc0) {
		case DW_CFA_advance_loc:
			advance(m, operand);
			break;
		case DW_CFA_offset:
			set_rule(m, operand, SN_UNWIND_RULE_AT_CFA, factored_uleb(m, &cur), &cur);
			break;
		case DW_CFA_restore:
			restore_rule(m, operand, &cur);
			break;
		default:
			run_extended(m, operation, &cur);
		}
	}
	return !cur.failed;
}

bool sn_unwind_row_of(const struct sn_unwind_module *module, const struct sn_unwind_fde *fde,
		      uint64_t load_addr, struct sn_unwind_row *row)
{
	struct sn_unwind_row initial;
	struct machine m; /* not initialised as a whole: most of it is the remembered rows */

	row->cfa = (struct sn_unwind_rule){ .kind = SN_UNWIND_RULE_UNSPECIFIED };
	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		row->regs[i] = (struct sn_unwind_rule){ .kind = SN_UNWIND_RULE_UNSPECIFIED };
	m.module = module;
	m.fde = fde;
	m.row = row;
	m.initial = NULL;
	m.location = fde->start_load_addr;
	m.target = load_addr;
	m.operations_left = SN_UNWIND_CFA_OPERATIONS_MAX;
	m.remembered_count = 0;
	m.last_cfa_offset = 0;
	if (!run(&m, fde->initial))
		return false;
	copy_row(&initial, row);
	m.initial = &initial;
	m.location = fde->start_load_addr;
	return run(&m, fde->program);
}
