/* Dependences from pass to pass through general registers. An induction (a register plus what does
 * not change, or changes by a constant itself) is known for any pass. A sum of integers may be kept
 * in parts, whatever the options. Everything else, like a random number that is computed from the
 * last one, is a recurrence: its order cannot change. */
#include <string.h>

#include "cqa/block/address.h"
#include "cqa/loop/loop.h"

enum { PASSES_MAX = 8 };

enum joining {
	JOIN_NONE,
	JOIN_COPY,
	JOIN_SELECT,
	JOIN_COMPARE,
	JOIN_ADD,
	JOIN_MUL,
	JOIN_AND,
	JOIN_OR,
	JOIN_XOR,
	JOIN_EXTREME
};

static bool is_general(unsigned resource)
{
	return resource < SN_RES_VECTOR && resource != SN_RES_RSP;
}

static bool is_addition_with_carry(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_ADCX:
	case ZYDIS_MNEMONIC_ADOX:
		return true;
	default:
		return false;
	}
}

static enum joining joining_of(const struct sn_insn *insn)
{
	if (insn->category == ZYDIS_CATEGORY_CMOV)
		return JOIN_SELECT;
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWDE:
		return JOIN_COPY;
	case ZYDIS_MNEMONIC_CMP:
		return JOIN_COMPARE;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SBB:
		return JOIN_ADD;
	case ZYDIS_MNEMONIC_IMUL:
		return JOIN_MUL;
	case ZYDIS_MNEMONIC_AND:
		return JOIN_AND;
	case ZYDIS_MNEMONIC_OR:
		return JOIN_OR;
	case ZYDIS_MNEMONIC_XOR:
		return JOIN_XOR;
	default:
		return JOIN_NONE;
	}
}

/* A destination of which only a part is written, or that the core waits for without need. */
static bool is_needless(const struct sn_insn *insn, uint8_t resource)
{
	bool has_address = insn->memory_count || sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_LEA;

	if (insn->operands[0] != resource || insn->reads_destination ||
	    insn->category == ZYDIS_CATEGORY_CMOV ||
	    (has_address &&
	     (insn->memory[0].base == resource || insn->memory[0].index == resource)))
		return false;
	for (unsigned k = 1; k < SN_FORM_OPERANDS_MAX; k++)
		if (insn->operands[k] == resource)
			return false;
	return true;
}

static bool reads_held(const struct sn_insn *insn, const bool *holds)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (holds[insn->reads[k].resource] && !is_needless(insn, insn->reads[k].resource))
			return true;
	return false;
}

/* What an instruction takes of the chain. */
struct entry {
	unsigned count;	   /* operands that are the chain */
	bool is_first;	   /* the destination is one of them */
	bool by_address;   /* it decides where memory is accessed */
	bool is_multiple;  /* a lea scales it */
	bool from_outside; /* an operand that is not the chain comes from `outside` */
};

static bool reads_as_address(const struct sn_insn *insn, uint8_t resource)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].resource == resource && insn->reads[k].role != SN_ROLE_DATA &&
		    insn->reads[k].role != SN_ROLE_LATE)
			return true;
	return false;
}

static void enter(struct entry *entry, uint8_t resource, const bool *holds, const bool *outside)
{
	if (resource >= SN_RES_VECTOR)
		return;
	entry->count += holds[resource];
	entry->from_outside |= !holds[resource] && outside[resource];
}

static struct entry entry_of(const struct sn_insn *insn, const bool *holds, const bool *outside)
{
	struct entry out = { 0 };
	enum joining joining = joining_of(insn);

	for (unsigned r = 0; r < SN_RES_VECTOR; r++)
		out.by_address |= holds[r] && reads_as_address(insn, (uint8_t)r);
	if (sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_LEA) {
		enter(&out, insn->memory[0].base, holds, outside);
		enter(&out, insn->memory[0].index, holds, outside);
		out.is_multiple = insn->memory[0].index < SN_RES_VECTOR &&
				  holds[insn->memory[0].index] && insn->memory[0].scale > 1;
		return out;
	}
	for (unsigned k = 0; k < SN_FORM_OPERANDS_MAX; k++) {
		if (!k && !insn->reads_destination && joining != JOIN_SELECT)
			continue;
		enter(&out, insn->operands[k], holds, outside);
		out.is_first |= !k && insn->operands[k] < SN_RES_VECTOR && holds[insn->operands[k]];
	}
	if (sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_CDQE ||
	    sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_CWDE)
		out.count = holds[SN_RES_GPR];
	return out;
}

static void set_written(const struct sn_insn *insn, bool *holds, bool value)
{
	for (unsigned k = 0; k < insn->write_count; k++)
		holds[insn->writes[k]] = value;
}

/* ---- the same register plus what does not change ---- */

static bool is_subtraction(const struct sn_insn *insn)
{
	ZydisMnemonic mnemonic = sn_form_mnemonic(insn->form);

	return mnemonic == ZYDIS_MNEMONIC_SUB || mnemonic == ZYDIS_MNEMONIC_SBB;
}

/* Its memory operand is read from one place that the pass does not store to. */
static bool loads_constant(const struct sn_cqa_block *block, size_t insn)
{
	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];

		if (access->insn == insn && (access->is_store || !access->has_stride ||
					     access->stride_bytes || access->source >= 0))
			return false;
	}
	return true;
}

static bool keeps_induction(const struct sn_cqa_block *block, size_t i, const struct entry *entry)
{
	const struct sn_insn *insn = &block->insns[i];

	if (entry->count != 1 || entry->by_address || entry->is_multiple || entry->from_outside ||
	    !loads_constant(block, i))
		return false;
	if (joining_of(insn) == JOIN_COPY)
		return true;
	return joining_of(insn) == JOIN_ADD && !is_addition_with_carry(insn) &&
	       (!is_subtraction(insn) || entry->is_first);
}

static bool is_induction(const struct sn_cqa_block *block, const bool *carriers)
{
	bool holds[SN_RES_NONE + 1] = { false }, varies[SN_RES_VECTOR];

	memcpy(holds, carriers, SN_RES_COUNT);
	for (unsigned r = 0; r < SN_RES_VECTOR; r++)
		varies[r] = !block->accesses->steps[r].is_induction;
	for (size_t i = 0; i < block->count; i++) {
		struct entry entry = entry_of(&block->insns[i], holds, varies);
		bool keeps = entry.count && keeps_induction(block, i, &entry);

		for (unsigned k = 0; k < block->insns[i].write_count; k++)
			if (block->insns[i].writes[k] < SN_RES_VECTOR)
				holds[block->insns[i].writes[k]] = keeps;
	}
	for (unsigned r = 0; r < SN_RES_VECTOR; r++)
		if (carriers[r] && !holds[r])
			return false;
	return true;
}

/* ---- a sum that nothing else reads ---- */

struct sum {
	bool holds[SN_RES_NONE + 1];	/* the chain, in a general register */
	bool compared[SN_RES_NONE + 1]; /* flags of a comparison with it */
	bool spoilt[SN_RES_NONE + 1];	/* flags that its arithmetic left */
	enum joining operation;
};

static bool reads_any(const struct sn_insn *insn, const bool *which)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].role != SN_ROLE_LATE && which[insn->reads[k].resource])
			return true;
	return false;
}

static bool joins(struct sum *sum, enum joining operation)
{
	if (sum->operation != JOIN_NONE && sum->operation != operation)
		return false;
	sum->operation = operation;
	return true;
}

/* A selection between the sum with something and without it, or by a comparison with it. */
static bool selects(struct sum *sum, const struct sn_insn *insn, const struct entry *entry)
{
	if (reads_any(insn, sum->compared))
		return entry->count == 1 && joins(sum, JOIN_EXTREME);
	return entry->count == 2;
}

/* An instruction that reads the sum: whether it is a step of it. */
static bool steps(struct sum *sum, const struct sn_insn *insn, const struct entry *entry)
{
	enum joining joining = joining_of(insn);

	if (entry->by_address || entry->is_multiple || reads_any(insn, sum->spoilt) ||
	    (insn->memory_count && insn->memory[0].is_store))
		return false;
	switch (joining) {
	case JOIN_NONE:
		return false;
	case JOIN_COPY:
	case JOIN_COMPARE:
		return entry->count == 1;
	case JOIN_SELECT:
		return selects(sum, insn, entry);
	default:
		break;
	}
	if (entry->count != 1 || (is_subtraction(insn) && !entry->is_first))
		return false;
	return joins(sum, joining);
}

static bool follow_sum(const struct sn_cqa_block *block, struct sum *sum)
{
	static const bool nowhere[SN_RES_NONE + 1];

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct entry entry = entry_of(insn, sum->holds, nowhere);
		bool reads = entry.count || reads_held(insn, sum->holds);
		bool compares = joining_of(insn) == JOIN_COMPARE;

		if (!reads && (reads_any(insn, sum->compared) || reads_any(insn, sum->spoilt)))
			return false;
		if (reads && !steps(sum, insn, &entry))
			return false;
		for (unsigned k = 0; k < insn->write_count; k++) {
			bool is_flag = insn->writes[k] >= SN_RES_FLAG;

			sum->compared[insn->writes[k]] = is_flag && reads && compares;
			sum->spoilt[insn->writes[k]] = is_flag && reads && !compares;
			sum->holds[insn->writes[k]] =
				insn->writes[k] < SN_RES_VECTOR && reads && !compares;
		}
	}
	return true;
}

static bool is_sum(const struct sn_cqa_block *block, const bool *carriers)
{
	struct sum sum = { .operation = JOIN_NONE };
	bool before[sizeof(sum.holds)];

	memcpy(sum.holds, carriers, SN_RES_COUNT);
	/* copies go from pass to pass: until no more registers hold it */
	for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
		memcpy(before, sum.holds, sizeof(before));
		if (!follow_sum(block, &sum))
			return false;
		for (unsigned r = 0; r < SN_RES_VECTOR; r++)
			if (carriers[r] && !sum.holds[r])
				return false;
		if (memcmp(before, sum.holds, sizeof(before)) == 0)
			break;
	}
	return sum.operation != JOIN_NONE;
}

/* ---- what is carried at all ---- */

/* General registers by which members take what the pass before made; false: none. */
static bool find_carriers(const struct sn_cqa_block *block, const struct sn_chain *chain,
			  bool *carriers)
{
	bool is_written[SN_RES_NONE + 1] = { false }, is_made[SN_RES_NONE + 1] = { false };
	bool found = false;

	for (size_t i = 0; i < block->count; i++)
		if (chain->is_member[i])
			set_written(&block->insns[i], is_made, true);
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		for (unsigned k = 0; k < insn->read_count && chain->is_member[i]; k++) {
			uint8_t from = insn->reads[k].resource;

			if (is_general(from) && is_made[from] && !is_written[from])
				found = carriers[from] = true;
		}
		set_written(insn, is_written, true);
	}
	return found;
}

/* The value itself comes round, not only a wait for the register it was in. */
static bool comes_round(const struct sn_cqa_block *block, const bool *carriers)
{
	bool holds[SN_RES_NONE + 1] = { false };

	memcpy(holds, carriers, SN_RES_COUNT);
	for (size_t i = 0; i < block->count; i++)
		set_written(&block->insns[i], holds, reads_held(&block->insns[i], holds));
	for (unsigned r = 0; r < SN_RES_VECTOR; r++)
		if (carriers[r] && holds[r])
			return true;
	return false;
}

bool sn_cqa_chain_is_integer_recurrence(const struct sn_cqa_block *block,
					const struct sn_chain *chain)
{
	bool carriers[SN_RES_COUNT] = { false };
	bool has_carry = false;

	for (size_t i = 0; i < block->count; i++) {
		for (unsigned k = 0; k < block->insns[i].write_count && chain->is_member[i]; k++)
			if (block->insns[i].writes[k] >= SN_RES_VECTOR &&
			    block->insns[i].writes[k] < SN_RES_FLAG)
				return false;
		has_carry |= chain->is_member[i] && is_addition_with_carry(&block->insns[i]);
	}
	if (!find_carriers(block, chain, carriers))
		return has_carry;
	return comes_round(block, carriers) && !is_induction(block, carriers) &&
	       !is_sum(block, carriers);
}
