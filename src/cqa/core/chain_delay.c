/* A chain is delayed by operations that do not belong to it: those that need a unit, or its result
 * bus, in the very cycle in which the chain's next step does. What each kind of operation costs
 * each kind of step is a rule of the machine (machine/cores/). */
#include <math.h>

#include "cqa/core/bounds.h"
#include "cqa/block/metrics.h"

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

static enum sn_chain_step step_of(const struct sn_insn *insn)
{
	if (!insn->is_vector)
		return insn->latency <= 1 && insn->write_count ? SN_STEP_INTEGER : SN_STEPS;
	if (!writes_vector(insn))
		return SN_STEPS;
	if (is_addition(insn))
		return SN_STEP_ADD;
	if (is_selection(insn))
		return SN_STEP_SELECT;
	if (insn->fp_kind == SN_FP_FMA)
		return SN_STEP_FMA;
	if (insn->fp_kind == SN_FP_MUL)
		return SN_STEP_PRODUCT;
	return insn->fp_kind < 0 && insn->set_count && insn->latency <= 2 ? SN_STEP_SHORT
									  : SN_STEPS;
}

/* How many operations of each kind it is. */
static void add_beside(const struct sn_insn *insn, double counts[SN_BESIDES])
{
	if (insn->late_write != SN_RES_NONE)
		counts[SN_BESIDE_WIDE_PRODUCT]++;
	if (!insn->is_vector)
		return;
	if (writes_vector(insn) && reads_general(insn))
		counts[SN_BESIDE_TRANSFER]++;
	if (insn->category == ZYDIS_CATEGORY_CONVERT)
		counts[SN_BESIDE_CONVERSION]++;
	else if (is_addition(insn))
		counts[SN_BESIDE_ADD]++;
	else if (is_selection(insn))
		counts[SN_BESIDE_SELECT]++;
}

static bool reads_register(const struct sn_insn *insn, uint8_t resource)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].resource == resource && insn->reads[k].role == SN_ROLE_DATA)
			return true;
	return false;
}

static bool computes(const struct sn_insn *insn)
{
	return !insn->is_vector && !insn->memory_count && !insn->is_move_eliminated &&
	       (insn->set_count || insn->fuses_with_next);
}

static bool is_own_chain(const struct sn_insn *insn)
{
	return computes(insn) && insn->set_count && insn->latency == 1 && insn->write_count &&
	       insn->writes[0] < SN_RES_VECTOR && reads_register(insn, insn->writes[0]);
}

/* The only instruction that writes each general register; NULL: none or several do. */
static void find_writers(const struct sn_cqa_block *block,
			 const struct sn_insn *writers[SN_RES_VECTOR])
{
	unsigned counts[SN_RES_VECTOR] = { 0 };

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count; k++) {
			uint8_t written = block->insns[i].writes[k];

			if (written < SN_RES_VECTOR)
				writers[written] = counts[written]++ ? NULL : &block->insns[i];
		}
}

/* Integer operations that wait for a chain's step, in the pass or the next. */
static unsigned readers_of(const struct sn_cqa_block *block, const struct sn_insn *step)
{
	bool has[SN_RES_VECTOR] = { false };
	unsigned readers = 0;

	has[step->writes[0]] = true;
	for (size_t n = 0; n < 2 * block->count; n++) {
		bool is_next = n >= block->count, reads = false;
		const struct sn_insn *insn = &block->insns[is_next ? n - block->count : n];

		for (unsigned k = 0; k < insn->read_count; k++)
			reads |= insn->reads[k].resource < SN_RES_VECTOR &&
				 insn->reads[k].role == SN_ROLE_DATA &&
				 has[insn->reads[k].resource];
		readers += is_next && reads && insn != step && computes(insn);
		for (unsigned k = 0; k < insn->write_count; k++)
			if (insn->writes[k] < SN_RES_VECTOR)
				has[insn->writes[k]] =
					insn == step || (insn->is_move_eliminated && reads);
	}
	return readers;
}

/* Integer chains of one step, and what waits for the one that most wait for. */
static void add_crowd(const struct sn_cqa_block *block, double counts[SN_BESIDES])
{
	const struct sn_insn *writers[SN_RES_VECTOR] = { NULL };
	unsigned chains = 0, most = 0;

	find_writers(block, writers);
	for (unsigned r = 0; r < SN_RES_VECTOR; r++) {
		unsigned readers;

		if (!writers[r] || !is_own_chain(writers[r]))
			continue;
		readers = readers_of(block, writers[r]);
		most = readers > most ? readers : most;
		chains++;
	}
	if (most > 1)
		counts[SN_BESIDE_READER] = most - 1;
	if (most && chains > 1)
		counts[SN_BESIDE_CHAIN] = chains - 1;
}

static bool is_crowd_known(const struct sn_chain_delays *delays)
{
	return delays->of[SN_STEP_INTEGER][SN_BESIDE_READER].each > 0 ||
	       delays->of[SN_STEP_INTEGER][SN_BESIDE_CHAIN].each > 0;
}

bool sn_chain_may_be_delayed(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double counts[SN_BESIDES] = { 0 }, all = 0;

	if (!machine->rules.chain_delays)
		return false;
	for (size_t i = 0; i < block->count; i++)
		add_beside(&block->insns[i], counts);
	if (is_crowd_known(machine->rules.chain_delays))
		add_crowd(block, counts);
	for (unsigned k = 0; k < SN_BESIDES; k++)
		all += counts[k];
	return all > 0;
}

double sn_chain_delay(const struct sn_machine *machine, const struct sn_cqa_block *block,
		      struct sn_chain *chain)
{
	const struct sn_chain_delays *delays = machine->rules.chain_delays;
	double counts[SN_BESIDES] = { 0 }, steps[SN_STEPS] = { 0 }, sum = 0;
	unsigned members = 0;

	if (!delays)
		return 0;
	for (size_t i = 0; i < block->count; i++) {
		enum sn_chain_step step = step_of(&block->insns[i]);

		members += chain->is_member[i];
		if (!chain->is_member[i])
			add_beside(&block->insns[i], counts);
		else if (step != SN_STEPS)
			steps[step]++;
	}
	if (members == 1 && is_crowd_known(delays))
		add_crowd(block, counts);
	for (size_t i = 0; i < block->count; i++) {
		enum sn_chain_step step =
			chain->is_member[i] ? step_of(&block->insns[i]) : SN_STEPS;
		double cycles = 0;

		/* longer chains and what is beside them fall into step (docs/method/cores.md) */
		if (step == SN_STEPS || (step != SN_STEP_INTEGER && members > 1))
			continue;
		for (unsigned k = 0; k < SN_BESIDES; k++)
			cycles += fmin((double)delays->of[step][k].each * counts[k] / steps[step],
				       (double)delays->of[step][k].most);
		chain->step_cycles[i] += cycles * chain->passes;
		sum += cycles;
	}
	return sum;
}
