/* A chain is delayed by operations that have nothing to do with it: those that need a unit, or its
 * way out, in the very cycle in which the chain's next step does. What each kind costs each kind of
 * step was measured on Zen 5: a chain of one step beside one, two and three such operations
 * (docs/method/cqa.md). */
#include <math.h>

#include "cqa/bounds.h"
#include "cqa/metrics.h"

enum step {
	STEP_INTEGER, /* of one cycle */
	STEP_ADD,     /* of FP */
	STEP_SELECT,  /* minimum, maximum, comparison, shift */
	STEP_PRODUCT, /* three cycles */
	STEP_FMA,
	STEP_SHORT, /* vector operations of one cycle */
	STEPS,
	STEP_NONE
};

enum beside {
	BESIDE_WIDE_PRODUCT, /* of two general registers */
	BESIDE_TRANSFER,     /* from a general to a vector register */
	BESIDE_CONVERSION,
	BESIDE_ADD,
	BESIDE_SELECT,
	BESIDES
};

/* Cycles of a pass: for each operation, and at most for a step of the chain. */
static const struct delay {
	double each, most;
} delays[STEPS][BESIDES] = {
	[STEP_INTEGER] = { [BESIDE_WIDE_PRODUCT] = { 0.35, INFINITY } },
	[STEP_ADD] = { [BESIDE_TRANSFER] = { 0.5, 1 },
		       [BESIDE_CONVERSION] = { 0.2, 0.5 },
		       [BESIDE_SELECT] = { 0.12, 0.4 } },
	[STEP_SELECT] = { [BESIDE_TRANSFER] = { 0.5, 1 }, [BESIDE_CONVERSION] = { 0.17, 0.5 } },
	[STEP_PRODUCT] = { [BESIDE_ADD] = { 0.25, 0.67 } },
	[STEP_FMA] = { [BESIDE_ADD] = { 0.1, 0.5 } },
	[STEP_SHORT] = { [BESIDE_TRANSFER] = { 0.2, 0.5 }, [BESIDE_ADD] = { 0.25, 0.5 } },
};

static bool is_addition(const struct sn_insn *insn)
{
	return insn->fp_kind == SN_FP_ADD;
}

static bool is_selection(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_MINSS:
	case ZYDIS_MNEMONIC_MINSD:
	case ZYDIS_MNEMONIC_MINPS:
	case ZYDIS_MNEMONIC_MINPD:
	case ZYDIS_MNEMONIC_MAXSS:
	case ZYDIS_MNEMONIC_MAXSD:
	case ZYDIS_MNEMONIC_MAXPS:
	case ZYDIS_MNEMONIC_MAXPD:
	case ZYDIS_MNEMONIC_VMINSS:
	case ZYDIS_MNEMONIC_VMINSD:
	case ZYDIS_MNEMONIC_VMINPS:
	case ZYDIS_MNEMONIC_VMINPD:
	case ZYDIS_MNEMONIC_VMAXSS:
	case ZYDIS_MNEMONIC_VMAXSD:
	case ZYDIS_MNEMONIC_VMAXPS:
	case ZYDIS_MNEMONIC_VMAXPD:
	case ZYDIS_MNEMONIC_COMISS:
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_VCOMISS:
	case ZYDIS_MNEMONIC_VCOMISD:
	case ZYDIS_MNEMONIC_VUCOMISS:
	case ZYDIS_MNEMONIC_VUCOMISD:
		return true;
	default:
		return false;
	}
}

static bool reads_general(const struct sn_insn *insn)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].role == SN_ROLE_DATA && insn->reads[k].resource < SN_RES_VECTOR)
			return true;
	return false;
}

static bool writes_vector(const struct sn_insn *insn)
{
	return insn->write_count && insn->writes[0] >= SN_RES_VECTOR &&
	       insn->writes[0] < SN_RES_MASK;
}

static enum step step_of(const struct sn_insn *insn)
{
	if (!insn->is_vector)
		return insn->latency <= 1 && insn->write_count ? STEP_INTEGER : STEP_NONE;
	if (!writes_vector(insn))
		return STEP_NONE;
	if (is_addition(insn))
		return STEP_ADD;
	if (is_selection(insn))
		return STEP_SELECT;
	if (insn->fp_kind == SN_FP_FMA)
		return STEP_FMA;
	if (insn->fp_kind == SN_FP_MUL)
		return STEP_PRODUCT;
	return insn->fp_kind < 0 && insn->set_count && insn->latency <= 2 ? STEP_SHORT : STEP_NONE;
}

/* How many operations of each kind it is. */
static void add_beside(const struct sn_insn *insn, double counts[BESIDES])
{
	if (insn->late_write != SN_RES_NONE)
		counts[BESIDE_WIDE_PRODUCT]++;
	if (!insn->is_vector)
		return;
	if (writes_vector(insn) && reads_general(insn))
		counts[BESIDE_TRANSFER]++;
	if (insn->category == ZYDIS_CATEGORY_CONVERT)
		counts[BESIDE_CONVERSION]++;
	else if (is_addition(insn))
		counts[BESIDE_ADD]++;
	else if (is_selection(insn))
		counts[BESIDE_SELECT]++;
}

bool sn_chain_may_be_delayed(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double counts[BESIDES] = { 0 }, all = 0;

	if (!machine->rules.chains_are_delayed)
		return false;
	for (size_t i = 0; i < block->count; i++)
		add_beside(&block->insns[i], counts);
	for (unsigned k = 0; k < BESIDES; k++)
		all += counts[k];
	return all > 0;
}

double sn_chain_delay(const struct sn_machine *machine, const struct sn_cqa_block *block,
		      struct sn_chain *chain)
{
	double counts[BESIDES] = { 0 }, steps[STEPS] = { 0 }, sum = 0;
	unsigned members = 0;

	if (!machine->rules.chains_are_delayed)
		return 0;
	for (size_t i = 0; i < block->count; i++) {
		enum step step = step_of(&block->insns[i]);

		members += chain->is_member[i];
		if (!chain->is_member[i])
			add_beside(&block->insns[i], counts);
		else if (step != STEP_NONE)
			steps[step]++;
	}
	for (size_t i = 0; i < block->count; i++) {
		enum step step = chain->is_member[i] ? step_of(&block->insns[i]) : STEP_NONE;
		double cycles = 0;

		/* longer chains and what is beside them fall into step: of 23 such loops of the
		 * corpus nearly none is delayed */
		if (step == STEP_NONE || (step != STEP_INTEGER && members > 1))
			continue;
		for (unsigned k = 0; k < BESIDES; k++)
			cycles += fmin(delays[step][k].each * counts[k] / steps[step],
				       delays[step][k].most);
		chain->step_cycles[i] += cycles * chain->passes;
		sum += cycles;
	}
	return sum;
}
