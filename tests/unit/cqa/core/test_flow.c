/* What instructions do with their data, read from known blocks. */
#include "cqa/core/flow.h"

#include <string.h>

#include "cqa/block/hex.h"
#include "harness/tap.h"

static struct sn_arena arena;

static const struct sn_data_flow *flow_of(const char *arch, const char *hex)
{
	static struct sn_cqa_block block;
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	uint8_t bytes[256];
	size_t count = sizeof(bytes);

	REQUIRE(sn_machine_find(arch, &machine, &err) == SN_OK);
	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	REQUIRE(sn_cqa_block_decode(machine, &arena, bytes, count, &block, &err) == SN_OK);
	return sn_data_flow_new(machine, &block, &arena);
}

static unsigned reads_of(const struct sn_flow_insn *insn, enum sn_role role)
{
	return insn->read_begin[role + 1] - insn->read_begin[role];
}

TEST(operands_are_sorted_by_how_they_enter)
{
	/* add rax,[rbx+rcx*8]; mov [rdx],rax */
	const struct sn_data_flow *flow = flow_of("zen5", "480304cb 488902");
	const struct sn_flow_insn *add = &flow->insns[0], *store = &flow->insns[1];

	CHECK_INT(reads_of(add, SN_ROLE_DATA), 1);
	CHECK_INT(reads_of(add, SN_ROLE_ADDRESS), 2);
	CHECK_INT(add->reads[add->read_begin[SN_ROLE_DATA]].resource, 0);
	CHECK_INT(reads_of(store, SN_ROLE_DATA), 1);
	CHECK_INT(reads_of(store, SN_ROLE_STORE_ADDRESS), 1);
	CHECK_INT(store->first_access, 1);
	/* a scaled index costs this core a cycle */
	CHECK_REAL(add->load_latency, (double)flow->machine->rules.load_latency + 1, 1e-9);
}

TEST(the_stack_engine_takes_rsp_out_of_push_and_pop)
{
	/* push rax; pop rcx; add rsp,8 */
	const struct sn_data_flow *flow = flow_of("cascadelake", "50 59 4883c408");

	CHECK_INT(flow->insns[0].write_count, 0);
	CHECK_INT(reads_of(&flow->insns[0], SN_ROLE_DATA), 1);
	CHECK_INT(flow->insns[1].write_count, 1);
	CHECK_INT(flow->insns[1].writes[0].resource, 1);
	CHECK_INT(reads_of(&flow->insns[1], SN_ROLE_ADDRESS), 0);
	CHECK_INT(flow->insns[2].writes[0].resource, SN_RES_RSP);
}

TEST(alone_too_push_and_pop_do_not_wait_for_rsp)
{
	const struct sn_data_flow *flow = flow_of("cascadelake", "50 59");
	struct sn_flow_insn pop = sn_flow_insn_of(&flow->machine->rules, &flow->block->insns[1]);

	CHECK_INT(reads_of(&flow->insns[1], SN_ROLE_ADDRESS), 0);
	CHECK_INT(reads_of(&pop, SN_ROLE_ADDRESS), 0);
	CHECK_INT(pop.write_count, 1);
}

TEST(flags_are_told_from_other_results)
{
	/* adc rax,rbx */
	const struct sn_flow_insn adc = flow_of("cascadelake", "4811d8")->insns[0];

	for (unsigned k = 0; k < adc.write_count; k++)
		CHECK_INT(adc.writes[k].is_flag, adc.writes[k].resource >= SN_RES_FLAG);
	CHECK(adc.write_count > 1);
}

TEST(the_high_half_of_a_product_comes_late_where_the_rule_says_so)
{
	/* mul rbx: rdx is resource 2 */
	const struct sn_flow_insn late = flow_of("zen5", "48f7e3")->insns[0],
				  plain = flow_of("zen4", "48f7e3")->insns[0];

	for (unsigned k = 0; k < late.write_count; k++)
		CHECK_INT(late.writes[k].is_late, late.writes[k].resource == 2);
	for (unsigned k = 0; k < plain.write_count; k++)
		CHECK(!plain.writes[k].is_late);
}

TEST(an_addition_takes_the_result_of_another_a_cycle_early)
{
	/* addsd xmm0,xmm1; mulsd xmm0,xmm2; addsd xmm3,xmm3: the last is fed by itself alone */
	const struct sn_data_flow *flow = flow_of("zen5", "f20f58c1 f20f59c2 f20f58db");

	CHECK_INT(flow->insns[0].reads[0].cycles, 0);
	CHECK_INT(flow->insns[2].reads[0].cycles, -1);
	CHECK_INT(flow_of("zen4", "f20f58c1 f20f59c2 f20f58db")->insns[2].reads[0].cycles, 0);
}

TEST(alone_an_instruction_knows_nothing_of_its_neighbours)
{
	const struct sn_data_flow *flow = flow_of("zen5", "f20f58db");
	struct sn_flow_insn alone = sn_flow_insn_of(&flow->machine->rules, &flow->block->insns[0]);

	CHECK_INT(flow->insns[0].reads[0].cycles, -1);
	CHECK_INT(alone.reads[0].cycles, 0);
	CHECK_INT(alone.read_begin[SN_ROLE_COUNT], flow->insns[0].read_begin[SN_ROLE_COUNT]);
}

TEST(loads_take_what_earlier_passes_stored)
{
	/* mov rax,[rdi-16]; add rdi,8; mov [rdi],rax: it was stored three passes ago */
	const struct sn_data_flow *flow = flow_of("cascadelake", "488b47f0 4883c708 488907");

	REQUIRE(flow->cell_of[0] >= 0);
	CHECK_INT(flow->cells[flow->cell_of[0]].distance, 3);
	CHECK_INT(flow->cell_count, 3);
	CHECK_REAL(flow->forward_cycles[0], (double)flow->machine->rules.forward_latency, 1e-9);
	for (unsigned i = 0; i < flow->cell_count; i++)
		CHECK_INT(flow->cells[i].younger, (int)i - 1);
}

TEST(an_update_in_memory_takes_the_shorter_way)
{
	/* add [rdi],rax: 7 cycles with a register where the rule says so; add [rdi],1 */
	CHECK_REAL(flow_of("sapphirerapids", "480107")->insns[0].update_cycles, 7, 1e-9);
	CHECK_REAL(flow_of("sapphirerapids", "48830701")->insns[0].update_cycles, 1, 1e-9);
	CHECK_REAL(flow_of("cascadelake", "480107")->insns[0].update_cycles, 4, 1e-9);
}

TEST(the_way_through_a_loaded_base_is_shorter_in_proportion)
{
	/* mov rax,[rax]; cmp rcx,[rax+8]: the second in each fourth pass only, or far from the core */
	const struct sn_data_flow *flow = flow_of("cascadelake", "488b00 483b4808");
	const struct sn_rules *rules = &flow->machine->rules;
	struct sn_cqa_block block = *flow->block;
	double simple = (double)rules->load_latency_simple, usual = (double)rules->load_latency;

	REQUIRE(simple < usual);
	CHECK_REAL(flow->insns[0].load_latency, simple, 1e-9);
	CHECK_REAL(flow->insns[1].load_latency, simple, 1e-9);
	block.insns[1].load_latency = (float)(usual / 4);
	flow = sn_data_flow_new(flow->machine, &block, &arena);
	CHECK_REAL(flow->insns[1].load_latency, simple / 4, 1e-6);
	block.insns[1].load_latency = (float)(usual + 100);
	flow = sn_data_flow_new(flow->machine, &block, &arena);
	CHECK_REAL(flow->insns[1].load_latency, simple + 100, 1e-6);
}

TEST(x87_values_get_the_names_of_the_next_pass)
{
	/* fld1 pushes: ST(0) of the next pass is new, ST(1) was ST(0) */
	const struct sn_data_flow *flow = flow_of("cascadelake", "d9e8");
	int values[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	bool moved = false;

	CHECK(flow->turns_x87);
	sn_flow_turn_x87(flow, values, sizeof(*values));
	for (unsigned i = 0; i < 8; i++) {
		CHECK_INT(values[i], flow->block->x87_end.at[i]);
		moved |= values[i] != (int)i;
	}
	CHECK(moved);
	CHECK(!flow_of("cascadelake", "4801c0")->turns_x87);
}
