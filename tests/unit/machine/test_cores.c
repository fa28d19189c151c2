/* What every core must say of itself, lest the model divides by what is not there. */
#include "machine/cores/cores.h"

#include <string.h>

#include "harness/tap.h"
#include "machine/machine.h"

TEST(every_core_has_what_all_cores_have)
{
	for (unsigned i = 0; sn_cores[i]; i++) {
		const struct sn_rules *rules = &sn_cores[i]->rules;

		printf("# %s\n", sn_cores[i]->name);
		CHECK(rules->issue_width && rules->decode_width && rules->op_cache_width);
		CHECK(rules->reorder_uops && rules->scheduler_uops);
		CHECK(rules->load_latency > 0 && rules->vector_load_latency[2] > 0);
		CHECK(rules->taken_branch_cycles > 0);
		CHECK(rules->loads_per_cycle && rules->stores_per_cycle && rules->vector_bytes);
		CHECK(rules->usual_memory && rules->usual_memory->misses_in_flight > 0);
		CHECK(rules->sampled && rules->sampled->retire_width > 0);
		/* a width without its partner would be a division by zero */
		CHECK(!rules->predecode_bytes == !rules->predecode_width);
		CHECK(!rules->predecode_bytes || rules->complex_decoder_uops);
		CHECK(!rules->op_cache_window_bytes == !rules->op_cache_window_uops);
		CHECK(!rules->op_cache_line_bytes == !rules->op_cache_entry_ops);
		CHECK(!rules->op_cache_line_bytes == !rules->op_cache_entries);
		CHECK(!rules->loop_buffer_uops == !rules->loop_buffer_copies);
		CHECK(!(rules->meeting_exponent > 0) == !(rules->meeting_noticed >= 1));
		CHECK(!rules->general_scheduler_uops || rules->vector_queue_uops);
		CHECK(!rules->general_scheduler_uops || rules->microcode_portion_uops);
		CHECK(!rules->general_scheduler_uops || rules->window_noticed >= 1);
		CHECK(!rules->renames_memory || rules->renamed_bytes_least);
		CHECK(!(rules->load_latency_simple > 0) == !rules->simple_displacement_bytes);
	}
}

TEST(every_core_is_found_by_its_names_and_has_units)
{
	for (unsigned i = 0; sn_cores[i]; i++) {
		const struct sn_machine *machine, *by_alias;

		REQUIRE(sn_machine_find(sn_cores[i]->name, &machine, NULL) == SN_OK);
		CHECK_STRING(machine->title, sn_cores[i]->title);
		CHECK(machine->rows.count > 1000);
		CHECK(machine->alu_units && machine->load_units && machine->vector_units);
		CHECK(machine->branch_units && machine->taken_branch_units);
		CHECK(machine->store_data_units || machine->store_address_units);
		if (!sn_cores[i]->alias)
			continue;
		REQUIRE(sn_machine_find(sn_cores[i]->alias, &by_alias, NULL) == SN_OK);
		CHECK(by_alias == machine);
	}
}

TEST(no_two_cores_share_a_name)
{
	for (unsigned i = 0; sn_cores[i]; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(strcmp(sn_cores[i]->name, sn_cores[k]->name) != 0);
}
