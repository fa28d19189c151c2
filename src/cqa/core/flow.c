/* What instructions do with their data. For each instruction its row and its operands are read
 * first; then the effects of its neighbours are added. */
#include "cqa/core/flow.h"

#include <assert.h>
#include <string.h>

/* ---- an instruction ---- */

/* The stack engine follows rsp by itself. */
static bool is_followed(const struct sn_insn *insn, uint8_t resource)
{
	return insn->is_stack_engine && resource == SN_RES_RSP;
}

/* Bit k of `early_reads`: operand k comes a cycle early. */
static void read_operands(const struct sn_insn *insn, uint32_t early_reads,
			  struct sn_flow_insn *out)
{
	uint8_t count = 0;

	for (unsigned role = 0; role < SN_ROLE_COUNT; role++) {
		out->read_begin[role] = count;
		for (unsigned k = 0; k < insn->read_count; k++) {
			const struct sn_read *read = &insn->reads[k];

			if (read->role != role || is_followed(insn, read->resource))
				continue;
			out->reads[count++] = (struct sn_flow_read){
				read->resource,
				(int8_t)(read->delay_cycles - (int)(early_reads >> k & 1))
			};
		}
	}
	out->read_begin[SN_ROLE_COUNT] = count;
}

static void write_results(const struct sn_insn *insn, struct sn_flow_insn *out)
{
	for (unsigned k = 0; k < insn->write_count; k++) {
		uint8_t resource = insn->writes[k];

		if (!is_followed(insn, resource))
			out->writes[out->write_count++] =
				(struct sn_flow_write){ resource, resource >= SN_RES_FLAG,
							resource == insn->late_write };
	}
}

/* A value that is read from memory and stored again may take a shorter way than through both. The
 * rule is of an operation of one cycle. */
static double update_cycles_of(const struct sn_rules *rules, const struct sn_insn *insn)
{
	double latency = (double)insn->latency;
	bool adds_register = false;

	for (unsigned k = 0; k < insn->read_count; k++)
		adds_register |= insn->reads[k].role == SN_ROLE_DATA &&
				 insn->reads[k].resource < SN_RES_VECTOR;
	return (double)(adds_register && rules->rmw_register_latency > 0
				? rules->rmw_register_latency
				: rules->rmw_forward_latency) +
	       (latency > 1 ? latency - 1 : 0);
}

static void fill_insn(const struct sn_rules *rules, const struct sn_insn *insn,
		      uint32_t early_reads, struct sn_flow_insn *out)
{
	read_operands(insn, early_reads, out);
	write_results(insn, out);
	out->latency = (double)insn->latency;
	out->load_latency = (double)insn->load_latency;
	out->update_cycles = update_cycles_of(rules, insn);
}

struct sn_flow_insn sn_flow_insn_of(const struct sn_rules *rules, const struct sn_insn *insn)
{
	struct sn_flow_insn out = { .write_count = 0 };

	fill_insn(rules, insn, 0, &out);
	return out;
}

/* ---- what neighbours make of it ---- */

static bool is_fp_addition(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDPS:
	case ZYDIS_MNEMONIC_ADDPD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBPS:
	case ZYDIS_MNEMONIC_SUBPD:
	case ZYDIS_MNEMONIC_VADDSS:
	case ZYDIS_MNEMONIC_VADDSD:
	case ZYDIS_MNEMONIC_VADDPS:
	case ZYDIS_MNEMONIC_VADDPD:
	case ZYDIS_MNEMONIC_VSUBSS:
	case ZYDIS_MNEMONIC_VSUBSD:
	case ZYDIS_MNEMONIC_VSUBPS:
	case ZYDIS_MNEMONIC_VSUBPD:
		return true;
	default:
		return false;
	}
}

/* Operands of additions that come from additions, also those of the previous pass: a bit each. */
static void find_early_reads(const struct sn_data_flow *flow, uint32_t *early_reads)
{
	const struct sn_cqa_block *block = flow->block;
	bool by_addition[SN_RES_COUNT] = { false };

	if (!flow->machine->rules.forwards_additions)
		return;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			bool adds = is_fp_addition(insn);

			early_reads[i] = 0;
			for (unsigned k = 0; k < insn->read_count && adds; k++)
				if (by_addition[insn->reads[k].resource] &&
				    !(sn_form_mask_mode(insn->form) == SN_MASK_MERGE &&
				      insn->reads[k].resource == insn->writes[0]))
					early_reads[i] |= 1u << k;
			/* an eliminated move hands on what it was given */
			adds = adds || (insn->is_move_eliminated && insn->read_count == 1 &&
					by_addition[insn->reads[0].resource]);
			for (unsigned k = 0; k < insn->write_count; k++)
				by_addition[insn->writes[k]] = adds;
		}
}

static bool is_plain_general_load(const struct sn_insn *insn)
{
	return insn->memory_count == 1 && insn->memory[0].is_load && !insn->memory[0].is_store &&
	       insn->latency == 0 && !insn->is_vector;
}

/* By the faster way through the cache; of a load that stands for a share of a pass, or that data from
 * farther away slow down, as much less. */
static double simple_latency(const struct sn_rules *rules, double load_latency)
{
	double usual = (double)rules->load_latency;
	double saved = usual - (double)rules->load_latency_simple;

	return load_latency - saved * (load_latency < usual ? load_latency / usual : 1);
}

/* Base from a load, small displacement, no index: the faster way through the cache. */
static void find_pointer_chases(struct sn_data_flow *flow)
{
	const struct sn_rules *rules = &flow->machine->rules;
	const struct sn_cqa_block *block = flow->block;
	int32_t writer[16];

	for (unsigned pass = 0; pass < 2; pass++) {
		if (!pass)
			memset(writer, 0xff, sizeof(writer));
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			const struct sn_memory_operand *memory = &insn->memory[0];

			flow->insns[i].load_latency = (double)insn->load_latency;
			if (insn->memory_count && memory->is_load && memory->index < 16 &&
			    memory->scale > 1)
				flow->insns[i].load_latency += (double)rules->scaled_index_latency;
			if (insn->memory_count && memory->is_load && memory->base < 16 &&
			    memory->index == SN_RES_NONE && memory->displacement >= 0 &&
			    memory->displacement < rules->simple_displacement_bytes &&
			    writer[memory->base] >= 0 &&
			    is_plain_general_load(&block->insns[writer[memory->base]]) &&
			    !insn->is_vector)
				flow->insns[i].load_latency =
					simple_latency(rules, (double)insn->load_latency);
			for (unsigned k = 0; k < insn->write_count; k++)
				if (insn->writes[k] < 16)
					writer[insn->writes[k]] = (int32_t)i;
		}
	}
}

/* ---- values in memory ---- */

/* The load's address is spelt as the store's. */
static bool same_spelling(const struct sn_memory_operand *a, const struct sn_memory_operand *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale &&
	       a->displacement == b->displacement;
}

static bool is_renamed(const struct sn_rules *rules, const struct sn_insn *insn,
		       const struct sn_access *access, const struct sn_insn *store,
		       unsigned store_operand)
{
	return rules->renames_same_address && !insn->is_vector && !store->is_vector &&
	       access->address.bytes >= rules->renamed_bytes_least &&
	       same_spelling(&insn->memory[access->operand], &store->memory[store_operand]);
}

/* From the stored value to the load that takes it (`access` has a source). */
static double forward_cycles_of(const struct sn_data_flow *flow, const struct sn_insn *insn,
				const struct sn_access *access)
{
	const struct sn_rules *rules = &flow->machine->rules;
	const struct sn_access *store = &flow->block->accesses->items[access->source];
	bool from_vector = flow->block->insns[store->insn].is_vector;

	if (access->is_partial)
		return (double)rules->forward_stall;
	if (is_renamed(rules, insn, access, &flow->block->insns[store->insn], store->operand))
		return 0;
	if (insn->is_vector && !from_vector && rules->forward_latency_to_vector > 0)
		return (double)rules->forward_latency_to_vector;
	if (insn->is_vector && access->address.bytes == 64 && rules->forward_latency_512 > 0)
		return (double)rules->forward_latency_512;
	if (insn->is_vector || (from_vector && rules->renames_memory))
		return (double)rules->forward_latency_vector;
	if (rules->renames_memory && access->address.bytes < rules->renamed_bytes_least)
		return insn->latency > 0 ? 1 : (double)rules->forward_latency_narrow;
	return (double)rules->forward_latency;
}

static void find_forwards(struct sn_data_flow *flow)
{
	for (size_t i = 0; i < flow->block->count; i++)
		for (unsigned k = 0; k < flow->block->insns[i].memory_count; k++) {
			size_t number = flow->insns[i].first_access + k;
			const struct sn_access *access = &flow->block->accesses->items[number];

			if (access->is_load && access->source >= 0)
				flow->forward_cycles[number] =
					forward_cycles_of(flow, &flow->block->insns[i], access);
		}
}

/* The number of a cell, which is made if there is none yet; -1: there are too many. */
static int32_t cell_number(struct sn_data_flow *flow, struct sn_flow_cell cell)
{
	for (unsigned i = 0; i < flow->cell_count; i++)
		if (flow->cells[i].access == cell.access &&
		    flow->cells[i].distance == cell.distance)
			return (int32_t)i;
	if (flow->cell_count == SN_FLOW_CELLS_MAX)
		return -1;
	flow->cells[flow->cell_count] = cell;
	return (int32_t)flow->cell_count++;
}

static void find_cells(struct sn_data_flow *flow, struct sn_arena *arena)
{
	const struct sn_accesses *accesses = flow->block->accesses;
	size_t count = 0;

	for (size_t i = 0; i < accesses->count; i++)
		count += accesses->items[i].source_distance;
	count = count < SN_FLOW_CELLS_MAX ? count : SN_FLOW_CELLS_MAX;
	flow->cells = sn_arena_array(arena, struct sn_flow_cell, count + 1);
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *load = &accesses->items[i];

		flow->cell_of[i] = -1;
		if (!load->is_load || load->source < 0)
			continue;
		for (uint8_t d = 1; d && d <= load->source_distance; d++) {
			struct sn_flow_cell cell = { load->source, d, flow->cell_of[i] };

			flow->cell_of[i] = cell_number(flow, cell);
			if (flow->cell_of[i] < 0)
				break;
		}
	}
}

struct sn_data_flow *sn_data_flow_new(const struct sn_machine *machine,
				      const struct sn_cqa_block *block, struct sn_arena *arena)
{
	struct sn_data_flow *flow = sn_arena_new(arena, struct sn_data_flow);
	uint32_t *early_reads = sn_arena_array(arena, uint32_t, block->count + 1), next = 0;
	size_t accesses = block->accesses->count;

	flow->machine = machine;
	flow->block = block;
	flow->insns = sn_arena_array(arena, struct sn_flow_insn, block->count + 1);
	flow->cell_of = sn_arena_array(arena, int32_t, accesses + 1);
	flow->forward_cycles = sn_arena_array(arena, double, accesses + 1);
	find_early_reads(flow, early_reads);
	for (size_t i = 0; i < block->count; i++) {
		fill_insn(&machine->rules, &block->insns[i], early_reads[i], &flow->insns[i]);
		flow->insns[i].first_access = next;
		next += block->insns[i].memory_count;
	}
	find_pointer_chases(flow);
	find_cells(flow, arena);
	find_forwards(flow);
	for (unsigned i = 0; i < 8; i++)
		flow->turns_x87 |= block->x87_end.at[i] != i;
	return flow;
}

/* ST(i) of the next pass is what the stack's turning made of it. */
void sn_flow_turn_x87(const struct sn_data_flow *flow, void *x87_values, size_t value_bytes)
{
	char before[8 * SN_FLOW_VALUE_BYTES_MAX], *values = x87_values;

	if (!flow->turns_x87)
		return;
	assert(value_bytes <= SN_FLOW_VALUE_BYTES_MAX);
	memcpy(before, values, 8 * value_bytes);
	for (unsigned i = 0; i < 8; i++)
		memcpy(values + i * value_bytes, before + flow->block->x87_end.at[i] * value_bytes,
		       value_bytes);
}
