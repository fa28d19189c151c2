/*
 * The unwinder over hostile bytes: an ELF file's, or (if they are none) a bare .eh_frame's. Lists
 * all functions, looks them up, runs their programs and walks a stack that leads through them.
 */
#include <stdlib.h>

#include "unwind/cfi.h"
#include "unwind/module.h"
#include "unwind/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define STACK_WORDS 64
#define STACK_START UINT64_C(0x7ffd00000000)

/* A walk from `pc` over a stack of return addresses to `pc` and pointers into itself. */
static void walk_from(const struct sn_unwind_module *module, struct sn_unwind_cache *cache,
		      uint64_t pc)
{
	uint64_t *stack = malloc(STACK_WORDS * 8), pcs[32];
	struct sn_unwind_window window = { STACK_START, STACK_START + STACK_WORDS * 8,
					   (const uint8_t *)stack };
	struct sn_unwind_target target = { .modules = module,
					   .module_count = 1,
					   .generation = (uint32_t)pc,
					   .stacks = &window,
					   .stack_count = 1 };
	struct sn_unwind_walk_result result;
	struct sn_unwind_regs regs;

	for (unsigned i = 0; i < STACK_WORDS; i++)
		stack[i] = i % 3 ? pc + i : STACK_START + 8 * i + 24;
	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		regs.value[i] = STACK_START + 16 * i;
	regs.value[SN_UNWIND_RIP] = pc;
	regs.valid = SN_UNWIND_ALL_VALID;
	sn_unwind_walk(&target, &regs, cache, pcs, 32, &result);
	free(stack);
}

static void try_functions(const struct sn_unwind_module *module)
{
	static uint8_t memory[4096] __attribute__((aligned(64)));
	struct sn_unwind_cache *cache = sn_unwind_cache_place(memory, sizeof(memory));
	struct sn_unwind_fde_iterator iterator = { .module = module };
	struct sn_unwind_fde fde, found;

	for (unsigned i = 0; i < 200 && sn_unwind_fde_next(&iterator, &fde); i++) {
		struct sn_unwind_row row;
		uint64_t last = fde.end_load_addr - 1;

		sn_unwind_fde_find(module, fde.start_load_addr, &found);
		sn_unwind_row_of(module, &fde, last, &row);
		walk_from(module, cache, fde.start_load_addr);
		walk_from(module, cache, last);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_unwind_index_entry *entries;
	struct sn_unwind_module module;
	uint32_t count;

	if (!sn_unwind_module_of_file(&module, bytes, length, 0x10000)) {
		module = (struct sn_unwind_module){ .load_start = 0x400000, .load_end = 0x600000 };
		module.eh_frame = (struct sn_unwind_window){ 0x500000, 0x500000 + length, bytes };
	}
	try_functions(&module);
	count = sn_unwind_index_size(&module);
	entries = malloc((count + !count) * sizeof(*entries));
	sn_unwind_index_build(&module, entries, count);
	try_functions(&module);
	free(entries);
	return 0;
}
