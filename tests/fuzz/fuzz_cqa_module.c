/* An ELF file or archive: laid out, its loops found and analysed. */
#include <stdlib.h>

#include "cqa/loop/module.h"
#include "cqa/words/table.h"
#include "cqa/words/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Everything that is done with a loop: weights, columns, pages, and what is left without its code.
 */
static void use_loop(const struct sn_machine *machine, const struct sn_cqa_unit *unit,
		     struct sn_cqa_loop *result)
{
	const struct sn_cqa_page how = { .share = 0.5 };
	struct sn_heat heat[64];
	sn_advice_list advice = { 0 };
	struct sn_table table;
	char *chars = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&chars, &length);
	struct sn_json json = { .out = out };

	for (unsigned i = 0; i < 64; i++)
		heat[i] = (struct sn_heat){ result->loop->header_link_addr + 3 * i, i % 5 };
	sn_cqa_loop_weigh(result, heat, 64);
	sn_cqa_page_text(machine, unit->structure, result, &how, out);
	sn_json_object(&json);
	sn_cqa_page_json(machine, unit->structure, result, &how, &json);
	sn_json_close(&json);
	fclose(out);
	free(chars);
	sn_cqa_table_init(&table);
	sn_cqa_table_add(&table, machine, result, NULL, NULL);
	sn_cqa_loop_shrink(result);
	sn_cqa_table_add(&table, machine, result, NULL, NULL);
	sn_table_free(&table);
	sn_cqa_advise(machine, result, &advice);
	sn_vec_free(&advice);
}

static void analyse_unit(const struct sn_machine *machine, const struct sn_cqa_unit *unit)
{
	struct sn_bandwidths bandwidths = sn_bandwidths_of(machine);
	size_t count = sn_structure_function_count(unit->structure);

	for (size_t i = 0; i < count && i < 50; i++) {
		const struct sn_function *function = sn_structure_function(unit->structure, i);

		sn_function_prepare(unit->structure, function, SN_PREPARE_CODE);
		for (uint32_t k = 0; k < function->loop_count && k < 20; k++) {
			struct sn_cqa_loop result;

			sn_cqa_loop_analyse(machine, unit->structure, &function->loops[k],
					    &bandwidths, NULL, 0, &result);
			use_loop(machine, unit, &result);
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
