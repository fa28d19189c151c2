/* Which loop-carried dependence is a sum that may be kept in parts: a chain of one associative
 * operation (only additions and subtractions, only products, only minima, only maxima) through one
 * register, that takes something new in each step and whose values nothing else reads. All else,
 * like Horner's rule, x = a / x or two sums that feed each other, is a recurrence: its order is its
 * meaning, and no option of a compiler changes that. */
#include <string.h>

#include "cqa/loop.h"

enum joining { JOIN_NONE, JOIN_COPY, JOIN_ADD, JOIN_MUL, JOIN_MIN, JOIN_MAX };

static bool begins_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

/* Operands (bits, the destination is 0) in which the chain may enter an FMA: its addend, with its
 * own sign. */
static unsigned addend_of_fma(const char *name)
{
	if (!begins_with(name, "fmadd") && !begins_with(name, "fnmadd"))
		return 0;
	name += begins_with(name, "fmadd") ? 5 : 6;
	return begins_with(name, "132")	  ? 2
	       : begins_with(name, "213") ? 4
					  : begins_with(name, "231");
}

/* How an instruction joins the chain with something else, and the operands by which the chain may
 * come. */
static enum joining joining_of(const struct sn_insn *insn, unsigned *operands)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	bool is_vex = name[0] == 'v', is_x87 = insn->isa == ZYDIS_ISA_EXT_X87;
	struct sn_fp_operation operation;

	name += is_vex;
	*operands = ~0U;
	if (sn_is_vector_move(insn) && !insn->memory_count)
		return JOIN_COPY;
	if (insn->memory_count && insn->memory[0].is_store)
		return JOIN_NONE;
	if (!sn_fp_operation_of(insn, &operation))
		return JOIN_NONE;
	if (operation.kind == SN_FP_FMA) {
		*operands = addend_of_fma(name);
		return *operands ? JOIN_ADD : JOIN_NONE;
	}
	if (begins_with(name, is_x87 ? "fsub" : "sub")) {
		/* x - s turns the sign of the sum round in every pass */
		*operands = is_vex ? 2 : 1;
		return begins_with(name, "fsubr") ? JOIN_NONE : JOIN_ADD;
	}
	if (operation.kind == SN_FP_MUL)
		return JOIN_MUL;
	if (begins_with(name, "min"))
		return JOIN_MIN;
	if (begins_with(name, "max"))
		return JOIN_MAX;
	/* not the horizontal ones, nor addsub */
	if ((begins_with(name, "add") && !begins_with(name, "addsub")) ||
	    begins_with(name, "fadd") || begins_with(name, "fiadd"))
		return JOIN_ADD;
	return JOIN_NONE;
}

/* By how many operands, of how many registers, an instruction reads the chain. */
struct entry {
	unsigned registers, operands; /* operands: bits */
};

static struct entry entry_of(const struct sn_insn *insn, const bool *on_chain)
{
	struct entry out = { 0, 0 };
	bool merges = sn_form_mask_mode(insn->form) == SN_MASK_MERGE;

	for (unsigned k = 0; k < insn->read_count; k++)
		out.registers += on_chain[insn->reads[k].resource];
	for (unsigned k = 0; k < SN_FORM_OPERANDS_MAX; k++)
		if (insn->operands[k] != SN_RES_NONE && on_chain[insn->operands[k]])
			out.operands |= 1U << k;
	/* a destination that is only written, or left as it was where the mask says so */
	if (merges ? out.operands & ~1U : !insn->reads_destination)
		out.operands &= ~1U;
	return out;
}

/* What the chain's values do in one pass; false: something that no sum does. */
static bool follow(const struct sn_cqa_block *block, const struct sn_chain *chain, bool *on_chain,
		   bool is_first, enum joining *all)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct entry entry = entry_of(insn, on_chain);
		unsigned allowed;

		if (!chain->is_member[i] && entry.registers)
			return false;
		if (chain->is_member[i]) {
			enum joining joining = joining_of(insn, &allowed);

			if (joining == JOIN_NONE)
				return false;
			if (joining != JOIN_COPY && *all != JOIN_NONE && *all != joining)
				return false;
			if (joining != JOIN_COPY)
				*all = joining;
			/* the first pass takes what came before the loop */
			if (entry.registers > 1 || (!entry.registers && !is_first) ||
			    (entry.operands & (entry.operands - 1)) || entry.operands & ~allowed)
				return false;
		}
		for (unsigned k = 0; k < insn->write_count; k++)
			on_chain[insn->writes[k]] = chain->is_member[i] &&
						    insn->writes[k] >= SN_RES_VECTOR &&
						    insn->writes[k] < SN_RES_FLAG;
	}
	return true;
}

bool sn_cqa_chain_is_reduction(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	bool on_chain[SN_RES_NONE + 1] = { false };
	enum joining all = JOIN_NONE;

	return follow(block, chain, on_chain, true, &all) &&
	       follow(block, chain, on_chain, false, &all) && all != JOIN_NONE;
}

/* A register that is loaded through its own value of the pass before: a list. */
static bool walks_list(const struct sn_cqa_block *block)
{
	bool is_written[SN_RES_NONE + 1] = { false };

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		for (unsigned k = 0; k < insn->read_count && insn->write_count; k++)
			if (insn->reads[k].role == SN_ROLE_ADDRESS && insn->memory_count &&
			    !insn->is_stack_engine && insn->reads[k].resource == insn->writes[0] &&
			    !is_written[insn->writes[0]])
				return true;
		for (unsigned k = 0; k < insn->write_count; k++)
			is_written[insn->writes[k]] = true;
	}
	return false;
}

bool sn_cqa_chain_is_recurrence(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	if (walks_list(block))
		return true;
	if (sn_cqa_chain_is_reduction(block, chain))
		return false;
	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count; k++)
			if (chain->is_member[i] && block->insns[i].writes[k] >= SN_RES_VECTOR &&
			    block->insns[i].writes[k] < SN_RES_FLAG)
				return true;
	return false;
}
