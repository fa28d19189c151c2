/*
 * Finds loop-carried dependences that are reductions, which may be kept in parts. A reduction is a
 * chain of one associative operation (only additions and subtractions, only products, only minima,
 * only maxima) through one register. Each step takes something new, and nothing else reads its
 * values. A step may be left out in some passes, by a selection between the value with it and the
 * one without.
 *
 * Everything else is a recurrence, like Horner's rule, x = a / x or two sums that feed each other.
 * Its order cannot change, and no option of a compiler changes that.
 */
#include <string.h>

#include "base/text.h"
#include "cqa/block/address.h"
#include "cqa/loop/loop.h"

enum { CHAINS_MAX = 32, PASSES_MAX = 8 };

enum joining {
	JOIN_NONE,
	JOIN_COPY,
	JOIN_MASK,
	JOIN_UNITE,
	JOIN_SELECT,
	JOIN_ADD,
	JOIN_MUL,
	JOIN_MIN,
	JOIN_MAX
};

/* Operands (bits, the destination is 0) in which the chain may enter an FMA: its addend, with its
 * own sign. */
static unsigned addend_of_fma(const char *name)
{
	if (!sn_starts_with(name, "fmadd") && !sn_starts_with(name, "fnmadd"))
		return 0;
	name += sn_starts_with(name, "fmadd") ? 5 : 6;
	return sn_starts_with(name, "132")   ? 2
	       : sn_starts_with(name, "213") ? 4
					     : sn_starts_with(name, "231");
}

/* Parts of a selection: a blend, a move under a mask, or masks by logic: (new & m) | (old & ~m).
 * `operands` are those by which the chain may come, never the mask's. */
static enum joining selection_of(const struct sn_insn *insn, const char *name, bool is_vex,
				 unsigned *operands)
{
	bool has_memory = insn->memory_count > 0;

	name += name[0] == 'p';
	*operands = is_vex ? 6 : 3;
	if (sn_starts_with(name, "blendv") || sn_starts_with(name, "blendm"))
		return has_memory ? JOIN_NONE : JOIN_SELECT;
	if (sn_starts_with(name, "andn")) {
		*operands = is_vex ? 4 : 2; /* not the one that is complemented */
		return JOIN_MASK;
	}
	if (sn_starts_with(name, "and"))
		return JOIN_MASK;
	if (sn_starts_with(name, "or") && !has_memory)
		return JOIN_UNITE;
	return JOIN_NONE;
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
	if (insn->is_vector_move && !insn->memory_count)
		return sn_form_mask_mode(insn->form) == SN_MASK_MERGE ? JOIN_SELECT : JOIN_COPY;
	if (insn->memory_count && insn->memory[0].is_store)
		return JOIN_NONE;
	if (!sn_fp_operation_of(insn, &operation))
		return insn->is_vector ? selection_of(insn, name, is_vex, operands) : JOIN_NONE;
	if (operation.kind == SN_FP_FMA) {
		*operands = addend_of_fma(name);
		return *operands ? JOIN_ADD : JOIN_NONE;
	}
	if (sn_starts_with(name, is_x87 ? "fsub" : "sub")) {
		/* x - s turns the sign of the sum round in every pass */
		*operands = is_vex ? 2 : 1;
		return sn_starts_with(name, "fsubr") ? JOIN_NONE : JOIN_ADD;
	}
	if (operation.kind == SN_FP_MUL)
		return JOIN_MUL;
	if (sn_starts_with(name, "min"))
		return JOIN_MIN;
	if (sn_starts_with(name, "max"))
		return JOIN_MAX;
	/* not the horizontal ones, nor addsub */
	if ((sn_starts_with(name, "add") && !sn_starts_with(name, "addsub")) ||
	    sn_starts_with(name, "fadd") || sn_starts_with(name, "fiadd"))
		return JOIN_ADD;
	return JOIN_NONE;
}

/* What a register holds of the chain. */
enum holding {
	HOLDS_NOTHING,
	HOLDS_CHAIN,
	HOLDS_PART /* the chain where a mask says so, else zero */
};

enum { UNNAMED = 1 << SN_FORM_OPERANDS_MAX };

/* By which operands (bits) an instruction reads what of the chain. */
struct entry {
	unsigned chain, part;
	bool is_hidden; /* also by a register that is no operand, or as an address */
	bool is_kept;	/* the mask leaves a value of the chain in the destination */
};

static unsigned count_bits(unsigned bits)
{
	return (unsigned)__builtin_popcount(bits);
}

/* xorps xmm1,xmm1 does not. */
static bool reads_resource(const struct sn_insn *insn, uint8_t resource)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].resource == resource)
			return true;
	return false;
}

static struct entry entry_of(const struct sn_insn *insn, const uint8_t *holds)
{
	struct entry out = { 0 };
	bool merges = sn_form_mask_mode(insn->form) == SN_MASK_MERGE;

	for (unsigned k = 0; k < SN_FORM_OPERANDS_MAX; k++) {
		unsigned bit = 1U << k;

		if (insn->operands[k] == SN_RES_NONE || !holds[insn->operands[k]] ||
		    !reads_resource(insn, insn->operands[k]))
			continue;
		if (!k && merges)
			out.is_kept = holds[insn->operands[k]] == HOLDS_CHAIN;
		/* a destination that is only written, or left as it was where the mask says so */
		if (!k && (merges || !insn->reads_destination))
			continue;
		*(holds[insn->operands[k]] == HOLDS_CHAIN ? &out.chain : &out.part) |= bit;
	}
	for (unsigned k = 0; k < insn->read_count; k++) {
		bool is_operand = false;

		for (unsigned o = 0; o < SN_FORM_OPERANDS_MAX; o++)
			is_operand |= insn->operands[o] == insn->reads[k].resource;
		if (!holds[insn->reads[k].resource] ||
		    (is_operand && insn->reads[k].role != SN_ROLE_ADDRESS))
			continue;
		/* the x87 unit names the top of its stack or does not */
		if (insn->isa == ZYDIS_ISA_EXT_X87)
			out.chain |= UNNAMED;
		else
			out.is_hidden = true;
	}
	return out;
}

/* What an instruction that reads the chain hands on; false: something that no sum does. `all` is
 * the operation of the sum. */
static bool step(const struct sn_insn *insn, const struct entry *entry, bool is_first,
		 enum joining *all, enum holding *out)
{
	bool merges = sn_form_mask_mode(insn->form) == SN_MASK_MERGE;
	bool clears = sn_form_mask_mode(insn->form) == SN_MASK_ZERO;
	unsigned allowed;
	enum joining joining = joining_of(insn, &allowed);
	bool is_one = count_bits(entry->chain) == 1 && !entry->part;

	*out = HOLDS_CHAIN;
	if (entry->is_hidden || (entry->chain | entry->part) & ~(allowed | UNNAMED))
		return false;
	switch (joining) {
	case JOIN_NONE:
		return false;
	case JOIN_COPY:
		*out = entry->part || clears ? HOLDS_PART : HOLDS_CHAIN;
		return count_bits(entry->chain | entry->part) == 1 || is_first;
	case JOIN_MASK:
		*out = HOLDS_PART;
		return is_one || is_first;
	case JOIN_UNITE:
		return (count_bits(entry->part) == 2 && !entry->chain) || is_first;
	case JOIN_SELECT:
		return count_bits(entry->chain) == 2 ||
		       (count_bits(entry->chain) == 1 && entry->is_kept) || is_first;
	default:
		break;
	}
	if ((*all != JOIN_NONE && *all != joining) || clears)
		return false;
	*all = joining;
	/* the first pass takes what came before the loop */
	return is_first ? count_bits(entry->chain) <= 1 && !entry->part
			: is_one && (!merges || entry->is_kept);
}

static bool may_hold(unsigned resource)
{
	return resource >= SN_RES_VECTOR && resource < SN_RES_FLAG;
}

/* What the chain's values do in one pass; false: something that no sum does. Without a chain all
 * that reads what is held is taken for a member. */
static bool follow(const struct sn_cqa_block *block, const struct sn_chain *chain, uint8_t *holds,
		   bool is_first, enum joining *all)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct entry entry = entry_of(insn, holds);
		bool reads = entry.chain || entry.part || entry.is_hidden || entry.is_kept;
		enum holding made = HOLDS_NOTHING;
		unsigned allowed;
		bool is_member = chain ? chain->is_member[i] : reads;

		/* what is no member may only hand the chain to a selection */
		if (!is_member && reads && joining_of(insn, &allowed) > JOIN_SELECT)
			return false;
		if ((is_member || reads) && !step(insn, &entry, is_first, all, &made))
			return false;
		for (unsigned k = 0; k < insn->write_count; k++)
			holds[insn->writes[k]] =
				(uint8_t)(may_hold(insn->writes[k]) ? made : HOLDS_NOTHING);
	}
	return true;
}

bool sn_cqa_chain_is_reduction(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	uint8_t holds[SN_RES_NONE + 1] = { HOLDS_NOTHING }, before[sizeof(holds)];
	enum joining all = JOIN_NONE;

	if (!follow(block, chain, holds, true, &all))
		return false;
	/* copies of the chain go from pass to pass: until no more registers hold it */
	for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
		memcpy(before, holds, sizeof(holds));
		if (!follow(block, chain, holds, false, &all))
			return false;
		if (memcmp(before, holds, sizeof(holds)) == 0)
			break;
	}
	return all != JOIN_NONE;
}

/* Registers by which a pass takes the chain from the one before. */
static void find_carriers(const struct sn_cqa_block *block, const struct sn_chain *chain,
			  bool *is_carrier)
{
	bool is_written[SN_RES_NONE + 1] = { false }, is_made[SN_RES_NONE + 1] = { false };

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count && chain->is_member[i]; k++)
			is_made[block->insns[i].writes[k]] = may_hold(block->insns[i].writes[k]);
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		for (unsigned k = 0; k < insn->read_count && chain->is_member[i]; k++)
			is_carrier[insn->reads[k].resource] |= is_made[insn->reads[k].resource] &&
							       !is_written[insn->reads[k].resource];
		for (unsigned k = 0; k < insn->write_count; k++)
			is_written[insn->writes[k]] = true;
	}
}

bool sn_cqa_chain_survives(const struct sn_cqa_block *block, const struct sn_chain *chain,
			   const struct sn_cqa_block *other)
{
	bool is_carrier[SN_RES_NONE + 1] = { false };
	uint8_t holds[SN_RES_NONE + 1] = { HOLDS_NOTHING };
	enum joining all = JOIN_NONE;

	find_carriers(block, chain, is_carrier);
	for (unsigned i = 0; i < SN_RES_NONE; i++)
		holds[i] = is_carrier[i] ? HOLDS_CHAIN : HOLDS_NOTHING;
	if (!follow(other, NULL, holds, false, &all))
		return false;
	for (unsigned i = 0; i < SN_RES_NONE; i++)
		if (is_carrier[i] && holds[i] != HOLDS_CHAIN)
			return false;
	return true;
}

/* Without the chain: its members no longer take what the pass before made. */
static void cut(struct sn_cqa_block *block, const struct sn_chain *chain, struct sn_arena *arena)
{
	bool is_made[SN_RES_NONE + 1] = { false }, makes_address = false;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count && chain->is_member[i]; k++)
			is_made[block->insns[i].writes[k]] = true;
	for (size_t i = 0; i < block->count; i++) {
		struct sn_insn *insn = &block->insns[i];
		uint8_t kept = 0;

		for (unsigned k = 0; k < insn->read_count; k++)
			if (!chain->is_member[i] || !is_made[insn->reads[k].resource])
				insn->reads[kept++] = insn->reads[k];
		makes_address |=
			kept < insn->read_count && insn->write_count && insn->writes[0] < 16;
		insn->read_count = kept;
	}
	if (makes_address)
		block->accesses = sn_accesses_of(block, arena);
}

bool sn_cqa_chain_is_stored(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	bool on_chain[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		bool stores = insn->memory_count && insn->memory[0].is_store;

		for (unsigned k = 0; k < insn->read_count && stores; k++)
			if (insn->reads[k].role == SN_ROLE_DATA && insn->reads[k].resource >= 16 &&
			    on_chain[insn->reads[k].resource])
				return true;
		for (unsigned k = 0; k < insn->write_count; k++)
			on_chain[insn->writes[k]] = chain->is_member[i];
	}
	return false;
}

double sn_cqa_recurrence_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block,
				const struct sn_chain *longest, struct sn_arena *arena,
				bool *on_integers)
{
	struct sn_cqa_block rest = *block;
	struct sn_chain chain = *longest;
	double cycles = 0;

	rest.insns = sn_arena_array(arena, struct sn_insn, block->count + 1);
	memcpy(rest.insns, block->insns, block->count * sizeof(*rest.insns));
	for (unsigned i = 0; i < CHAINS_MAX && chain.cycles > SN_CHAIN_NOTICED; i++) {
		bool of_integers =
			!chain.through_memory && sn_cqa_chain_is_integer_recurrence(&rest, &chain);

		if (!(cycles > 0) &&
		    (of_integers || chain.through_memory || sn_cqa_chain_is_stored(&rest, &chain) ||
		     sn_cqa_chain_is_recurrence(&rest, &chain)))
			cycles = chain.cycles;
		if (cycles > 0 && !on_integers)
			break;
		for (size_t k = 0; k < block->count && on_integers && of_integers; k++)
			on_integers[k] |= chain.is_member[k];
		cut(&rest, &chain, arena);
		chain = sn_chain_of(machine, &rest, arena);
	}
	return cycles;
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

static bool is_gather(const struct sn_insn *insn)
{
	return insn->category == ZYDIS_CATEGORY_GATHER ||
	       insn->category == ZYDIS_CATEGORY_AVX2GATHER;
}

bool sn_cqa_chain_is_leftover(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	bool is_made[SN_RES_NONE + 1] = { false }, gathers = false;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count && chain->is_member[i]; k++)
			is_made[block->insns[i].writes[k]] = true;
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		if (!chain->is_member[i])
			continue;
		if (is_gather(insn)
			    ? is_made[insn->memory[0].base] || is_made[insn->memory[0].index]
			    : !insn->is_vector_move || insn->memory_count)
			return false;
		gathers |= is_gather(insn);
	}
	return gathers;
}

bool sn_cqa_chain_is_recurrence(const struct sn_cqa_block *block, const struct sn_chain *chain)
{
	if (walks_list(block))
		return true;
	if (sn_cqa_chain_is_leftover(block, chain) || sn_cqa_chain_is_reduction(block, chain))
		return false;
	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count; k++)
			if (chain->is_member[i] && block->insns[i].writes[k] >= SN_RES_VECTOR &&
			    block->insns[i].writes[k] < SN_RES_FLAG)
				return true;
	return sn_cqa_chain_is_integer_recurrence(block, chain);
}
