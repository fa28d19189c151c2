/*
 * Where the iterations of an instance are counted until its exit adds them to the record: in a register that the loop leaves
 * alone, or below the stack pointer. Of an instance that is not over the record lacks them, as with an induction variable.
 *
 * The loop makes no calls, so that nobody else uses either meanwhile, and the stack pointer stays where it is. Only innermost loops
 * do so: their instances are short, and of one that is killed little is lost.
 */
#include "rewrite/variant_parts.h"

enum {
	RAX = 0,
	AT = -32, /* above are the registers that stubs save; innermost loops lie in none of each other */
	COUNTING_MAX = 3, /* registers in a nest, so that stubs have enough of them */
};

/* What the loop reads or writes; false: it cannot have a counter. */
static bool read_registers(const struct rw_nest *nest, const struct sn_loop *loop,
			   uint16_t *registers)
{
	const struct sn_function *function = nest->function;

	*registers = 0;
	for (size_t b = 0; b < nest->blocks.count; b++) {
		const struct rw_block *block = &nest->blocks.items[b];

		if (!rw_loop_holds(function, (int32_t)loop->index,
				   function->blocks[block->index].loop))
			continue;
		for (uint32_t i = 0; i < block->insn_count; i++) {
			const struct rw_insn *at = &nest->insns.items[block->first_insn + i];
			ZydisDecodedInstruction insn;
			ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
			struct rw_effect effect;

			if (at->flow == SN_FLOW_CALL || at->flow == SN_FLOW_CALL_INDIRECT ||
			    !at->has_stack_change || at->stack_change ||
			    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), at->bytes,
								 at->length, &insn, operands)))
				return false;
			rw_effect_of(&insn, operands, &effect);
			*registers |= (uint16_t)(effect.reads | effect.writes);
		}
	}
	return true;
}

uint16_t rw_counters_registers(const struct rw_nest *nest, struct rw_counter *const *counters)
{
	uint16_t registers = 0;

	for (uint32_t l = 0; l < nest->function->loop_count; l++)
		if (counters[l] && counters[l]->reg >= 0)
			registers |= (uint16_t)(1u << counters[l]->reg);
	return registers;
}

/* One that nobody reads behind the loop if there is such; of those that stubs do not prefer. -1: none. */
static int choose(uint16_t untouched, uint16_t free, uint16_t counting)
{
	uint16_t from = untouched & free ? untouched & free : untouched;

	if (__builtin_popcount(counting) >= COUNTING_MAX)
		from = untouched & counting;
	for (int reg = 15; reg > RAX; reg--)
		if (from & 1u << reg)
			return reg;
	return -1;
}

static void find(struct rw_nest *nest, const struct sn_loop *loop, bool has_induction,
		 struct rw_counter **counters)
{
	int32_t header = rw_block_at(nest->function, loop->header_link_addr);
	struct rw_counter counter = { .reg = -1, .at = AT };
	uint16_t free = rw_free_registers(nest, header), registers;

	if (!read_registers(nest, loop, &registers))
		return;
	if (!has_induction)
		counter.reg = (int8_t)choose((uint16_t)(RW_USABLE_REGISTERS & ~registers), free,
					     rw_counters_registers(nest, counters));
	counter.is_saved = counter.reg >= 0 && !(free & 1u << counter.reg);
	/* adding to memory changes the flags */
	if (!has_induction && counter.reg < 0 && nest->flags_in[header])
		return;
	counters[loop->index] = sn_arena_new(&nest->arena, struct rw_counter);
	*counters[loop->index] = counter;
}

struct rw_counter **rw_counters_find(struct rw_nest *nest, struct rw_induction *const *inductions)
{
	const struct sn_function *function = nest->function;
	struct rw_counter **counters =
		sn_arena_array(&nest->arena, struct rw_counter *, function->loop_count + 1u);

	for (uint32_t l = 0; nest->has_red_zone && l < function->loop_count; l++)
		if (nest->is_selected[l] && function->loops[l].is_innermost)
			find(nest, &function->loops[l], inductions[l], counters);
	return counters;
}
