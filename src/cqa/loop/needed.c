/* Integer work that FP work cannot do without: where data decide which elements are taken or
 * converted (an index array, a list, a random number). Integer work that follows from the loop's
 * counters alone could be done otherwise. */

#include "base/text.h"
#include "cqa/block/address.h"
#include "cqa/loop/loop.h"

static bool is_gather(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	return insn->memory_count &&
	       (sn_starts_with(name, "vgatherd") || sn_starts_with(name, "vgatherq") ||
		sn_starts_with(name, "vscatterd") || sn_starts_with(name, "vscatterq"));
}

static bool is_fp_work(const struct sn_insn *insn)
{
	struct sn_fp_operation operation;

	return sn_fp_operation_of(insn, &operation) || insn->is_vector_move || is_gather(insn);
}

/* Of integers in a general register. */
static bool is_conversion(const struct sn_insn *insn)
{
	return insn->is_vector && insn->category == ZYDIS_CATEGORY_CONVERT && !insn->memory_count;
}

static bool holds_values(unsigned resource)
{
	return resource < SN_RES_MASK && resource != SN_RES_RSP;
}

/* Loads from a place that moves: not a variable that was spilled. */
static bool loads_data(const struct sn_cqa_block *block, size_t insn)
{
	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];

		if (access->insn == insn && access->is_load &&
		    !(access->has_stride && !access->stride_bytes))
			return true;
	}
	return false;
}

/* Forwards, twice round the loop: what was loaded or is a recurrence, and what is computed from it.
 */
static void find_data(const struct sn_cqa_block *block, const bool *on_recurrence, bool *is_data)
{
	bool holds[SN_RES_NONE + 1] = { false };

	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];

			is_data[i] = loads_data(block, i) || (on_recurrence && on_recurrence[i]);
			for (unsigned k = 0; k < insn->read_count; k++)
				is_data[i] |= holds[insn->reads[k].resource];
			for (unsigned k = 0; k < insn->write_count; k++)
				holds[insn->writes[k]] =
					is_data[i] && holds_values(insn->writes[k]);
		}
}

/* Whether FP work needs what it reads there from integers. */
static bool needs(const struct sn_insn *insn, const struct sn_read *read)
{
	if (read->role == SN_ROLE_ADDRESS || read->role == SN_ROLE_STORE_ADDRESS)
		return is_fp_work(insn);
	return (is_fp_work(insn) || is_conversion(insn)) && read->resource < SN_RES_VECTOR;
}

void sn_cqa_find_needed(const struct sn_cqa_block *block, const bool *on_recurrence,
			bool *is_needed, struct sn_arena *arena)
{
	bool *is_data = sn_arena_array(arena, bool, block->count + 1);
	bool wanted[SN_RES_NONE + 1] = { false };

	find_data(block, on_recurrence, is_data);
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = block->count; i-- > 0;) {
			const struct sn_insn *insn = &block->insns[i];
			bool makes = false;

			for (unsigned k = 0; k < insn->write_count; k++) {
				makes |= wanted[insn->writes[k]];
				wanted[insn->writes[k]] = false;
			}
			is_needed[i] |= (makes && is_data[i]) || is_gather(insn) ||
					(is_conversion(insn) && is_data[i]) ||
					(on_recurrence && on_recurrence[i]);
			for (unsigned k = 0; k < insn->read_count; k++)
				if (holds_values(insn->reads[k].resource) &&
				    (needs(insn, &insn->reads[k]) || (makes && is_data[i])))
					wanted[insn->reads[k].resource] = true;
		}
}
