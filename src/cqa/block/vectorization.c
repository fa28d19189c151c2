/* How much of a block's work is done by vectors, by class of work and kind of data.
 *
 * FP and SIMD instructions speak for themselves; x87 has no vectors and does not count. Scalar
 * integer code is a candidate only where it handles data: loads whose value is no address, what is
 * computed from them, and stores. Addresses and counters are not what a vector would hold. */
#include <math.h>
#include <string.h>

#include "cqa/block/metrics.h"

struct tally {
	unsigned vectorizable, packed;
	double used;
};

struct census {
	const struct sn_machine *machine;
	const struct sn_cqa_block *block;
	struct tally tallies[SN_DATA_COUNT][SN_CLASS_COUNT];
	bool *makes_address; /* by instruction: its result ends in an address */
	bool *handles_data;  /* by instruction: reads what was loaded as data */
};

static void tally_add(struct census *c, enum sn_data_kind kind, enum sn_insn_class class,
		      bool is_packed, double used)
{
	for (unsigned i = 0; i < 2; i++) {
		struct tally *tally = &c->tallies[i ? kind : SN_DATA_BOTH][class];

		tally->vectorizable++;
		tally->packed += is_packed;
		tally->used += used;
	}
}

static void count(struct census *c, const struct sn_insn *insn, enum sn_data_kind kind,
		  enum sn_insn_class class, bool computes, bool is_packed, double used_bytes)
{
	double widest = c->machine->rules.vector_bytes;
	double used = used_bytes < widest ? used_bytes / widest : 1;
	bool loads = false, stores = false;

	for (unsigned i = 0; i < insn->memory_count; i++) {
		loads |= insn->memory[i].is_load;
		stores |= insn->memory[i].is_store;
	}
	tally_add(c, kind, SN_CLASS_ALL, is_packed, used);
	if (loads)
		tally_add(c, kind, SN_CLASS_LOAD, is_packed, used);
	if (stores)
		tally_add(c, kind, SN_CLASS_STORE, is_packed, used);
	if (computes)
		tally_add(c, kind, class, is_packed, used);
}

/* ---- scalar integers: what is data, what is an address ---- */

static bool is_general(uint8_t resource)
{
	return resource < SN_RES_VECTOR;
}

/* Backwards, twice round the loop: a register that an address needs marks what made it. */
static void find_addresses(struct census *c)
{
	bool needed[SN_RES_VECTOR] = { false };

	for (size_t round = 0; round < 2; round++)
		for (size_t i = c->block->count; i-- > 0;) {
			const struct sn_insn *insn = &c->block->insns[i];
			bool makes = false;

			for (unsigned k = 0; k < insn->write_count; k++)
				if (is_general(insn->writes[k])) {
					makes |= needed[insn->writes[k]];
					needed[insn->writes[k]] = false;
				}
			c->makes_address[i] |= makes;
			for (unsigned k = 0; k < insn->read_count; k++)
				if (is_general(insn->reads[k].resource) &&
				    (makes || insn->reads[k].role == SN_ROLE_ADDRESS ||
				     insn->reads[k].role == SN_ROLE_STORE_ADDRESS))
					needed[insn->reads[k].resource] = true;
		}
}

static bool touches_stack(const struct sn_insn *insn)
{
	return insn->is_stack_engine || (insn->memory_count && insn->memory[0].base == SN_RES_RSP);
}

/* Forwards, twice round the loop: loaded data and what is computed from it. */
static void find_data(struct census *c)
{
	bool is_data[SN_RES_VECTOR] = { false };

	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < c->block->count; i++) {
			const struct sn_insn *insn = &c->block->insns[i];
			bool reads = insn->memory_count && insn->memory[0].is_load &&
				     !touches_stack(insn);

			for (unsigned k = 0; k < insn->read_count && !reads; k++)
				reads = insn->reads[k].role == SN_ROLE_DATA &&
					is_general(insn->reads[k].resource) &&
					is_data[insn->reads[k].resource];
			c->handles_data[i] = reads && !c->makes_address[i];
			for (unsigned k = 0; k < insn->write_count; k++)
				if (is_general(insn->writes[k]))
					is_data[insn->writes[k]] = c->handles_data[i];
		}
}

static bool is_plain_move(const struct sn_insn *insn)
{
	return insn->category == ZYDIS_CATEGORY_DATAXFER ||
	       insn->category == ZYDIS_CATEGORY_CONVERT;
}

static bool is_arithmetic(const struct sn_insn *insn)
{
	return insn->category == ZYDIS_CATEGORY_BINARY ||
	       insn->category == ZYDIS_CATEGORY_LOGICAL || insn->category == ZYDIS_CATEGORY_SHIFT ||
	       insn->category == ZYDIS_CATEGORY_CMOV;
}

static enum sn_insn_class integer_class(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_LEA:
		return SN_CLASS_ADD_SUB;
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MUL:
		return SN_CLASS_MUL;
	default:
		return SN_CLASS_OTHER;
	}
}

static void count_integer(struct census *c, size_t index)
{
	const struct sn_insn *insn = &c->block->insns[index];
	bool stores = insn->memory_count && insn->memory[0].is_store && !touches_stack(insn);
	bool computes = is_arithmetic(insn);
	double used;

	if (insn->is_vector || insn->is_branch)
		return;
	if (!computes && !is_plain_move(insn))
		return;
	if ((!c->handles_data[index] && !stores) || insn->is_constant)
		return;
	/* copies between registers are the allocator's, not work */
	if (!computes && !insn->memory_count)
		return;
	used = insn->memory_count ? insn->memory[0].bytes : insn->operand_bytes;
	count(c, insn, SN_DATA_INTEGER, integer_class(insn), computes, false, used);
}

/* ---- vectors ---- */

static bool is_integer_simd(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	return insn->is_vector && (name[0] == 'p' || (name[0] == 'v' && name[1] == 'p'));
}

static bool is_integer_move(const char *name)
{
	name += name[0] == 'v';
	return strncmp(name, "movdq", 5) == 0 || strcmp(name, "movd") == 0 ||
	       strcmp(name, "movq") == 0 || strcmp(name, "lddqu") == 0;
}

static enum sn_insn_class simd_class(const char *name)
{
	name += name[0] == 'v';
	if (strncmp(name, "padd", 4) == 0 || strncmp(name, "psub", 4) == 0)
		return SN_CLASS_ADD_SUB;
	return strncmp(name, "pmul", 4) == 0 || strncmp(name, "pmadd", 5) == 0 ? SN_CLASS_MUL
									       : SN_CLASS_OTHER;
}

static void count_vector(struct census *c, const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	struct sn_fp_operation operation;

	if (sn_fp_operation_of(insn, &operation)) {
		count(c, insn, SN_DATA_FP,
		      operation.kind == SN_FP_ADD ? SN_CLASS_ADD_SUB
		      : operation.kind == SN_FP_MUL || operation.kind == SN_FP_FMA ? SN_CLASS_MUL
										   : SN_CLASS_OTHER,
		      true, operation.lanes > 1, operation.lanes * operation.element_bytes);
	} else if (insn->is_vector_move && insn->memory_count) {
		count(c, insn, is_integer_move(name) ? SN_DATA_INTEGER : SN_DATA_FP, SN_CLASS_OTHER,
		      false, insn->memory[0].bytes > 8 || sn_name_is_packed(name),
		      insn->memory[0].bytes);
	} else if (is_integer_simd(insn) && !insn->is_constant) {
		count(c, insn, SN_DATA_INTEGER, simd_class(name), true, true, insn->operand_bytes);
	}
}

void sn_vectorization_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
			 struct sn_arena *arena, struct sn_cqa_metrics *out)
{
	struct census c = { .machine = machine, .block = block };

	c.makes_address = sn_arena_array(arena, bool, block->count + 1);
	c.handles_data = sn_arena_array(arena, bool, block->count + 1);
	find_addresses(&c);
	find_data(&c);
	for (size_t i = 0; i < block->count; i++) {
		if (block->insns[i].isa == ZYDIS_ISA_EXT_X87)
			continue;
		count_vector(&c, &block->insns[i]);
		count_integer(&c, i);
	}
	for (unsigned kind = 0; kind < SN_DATA_COUNT; kind++)
		for (unsigned class = 0; class < SN_CLASS_COUNT; class ++) {
			const struct tally *tally = &c.tallies[kind][class];
			double n = tally->vectorizable;
			struct sn_vectorization *v = &out->vectorization[kind][class];

			v->ratio = n > 0 ? tally->packed / n : NAN;
			v->efficiency = n > 0 ? tally->used / n : NAN;
		}
}
