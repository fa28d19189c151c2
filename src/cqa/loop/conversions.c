/* A loop whose data are of one floating-point type: its conversions between such types are gone. */
#include <string.h>

#include "cqa/loop/variant_parts.h"

/* To and from integers there is more to do than to change a type. */
static bool is_between_fp(const struct sn_insn *insn)
{
	static const char *const names[] = { "cvtss2sd", "cvtsd2ss", "cvtps2pd", "cvtpd2ps" };
	const char *name;

	if (insn->category != ZYDIS_CATEGORY_CONVERT)
		return false;
	name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name + (name[0] == 'v'), names[i]))
			return true;
	return false;
}

/* A load or a store stays; the value goes on under another name. */
static void spare(const struct sn_machine *machine, struct sn_insn *insn)
{
	insn->set_count = 0;
	insn->fused_uops = insn->issued_uops = 0;
	insn->latency = 0;
	insn->kept_upper = SN_RES_NONE;
	if (insn->memory_count)
		sn_variant_add_move(machine, insn, insn->memory[0].bytes, insn->memory[0].is_store,
				    1);
	else
		insn->is_move_eliminated = true;
}

void sn_cqa_variant_conversions(const struct sn_machine *machine, struct sn_cqa_path *path,
				struct sn_arena *arena)
{
	struct sn_cqa_block block = sn_variant_block(&path->block, arena);

	memset(&path->without_conversions, 0, sizeof(path->without_conversions));
	if (!path->metrics.conversions)
		return;
	for (size_t i = 0; i < path->block.count; i++) {
		block.insns[i] = path->block.insns[i];
		if (!is_between_fp(&block.insns[i]))
			continue;
		spare(machine, &block.insns[i]);
		path->without_conversions.is_applicable = true;
	}
	block.count = path->block.count;
	if (path->without_conversions.is_applicable)
		sn_variant_set(
			&path->without_conversions, path->estimate.cycles,
			sn_cqa_variant_cycles(machine, &block, NULL, path->estimate.cycles, arena));
}
