/* An ELF file or archive: laid out, its loops found and analysed. */
#include "cqa/module.h"
#include "cqa/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void analyse_unit(const struct sn_machine *machine, const struct sn_cqa_unit *unit)
{
	struct sn_bandwidths bandwidths = sn_bandwidths_of(machine);
	size_t count = sn_structure_function_count(unit->structure);

	for (size_t i = 0; i < count && i < 50; i++) {
		const struct sn_function *function = sn_structure_function(unit->structure, i);

		sn_function_prepare(unit->structure, function, SN_PREPARE_CODE);
		for (uint32_t k = 0; k < function->loop_count && k < 20; k++) {
			struct sn_cqa_loop result;
			sn_advice_list advice = { 0 };

			sn_cqa_loop_analyse(machine, unit->structure, &function->loops[k],
					    &bandwidths, &result);
			sn_cqa_advise(machine, &result, &advice);
			sn_vec_free(&advice);
			sn_cqa_loop_free(&result);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const struct sn_machine *machine;
	struct sn_cqa_module module;
	struct sn_error err;

	if (sn_machine_find("cascadelake", &machine, &err) ||
	    sn_cqa_module_open_memory(bytes, length, "fuzz", &module, &err))
		return 0;
	for (size_t i = 0; i < module.units.count && i < 8; i++)
		analyse_unit(machine, &module.units.items[i]);
	sn_cqa_module_close(&module);
	return 0;
}
