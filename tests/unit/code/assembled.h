/** Functions written in assembler in a test program, as the structure of that program has them. */
#ifndef SN_TESTS_CODE_ASSEMBLED_H
#define SN_TESTS_CODE_ASSEMBLED_H

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "code/image.h"
#include "code/structure.h"
#include "harness/tap.h"

/** A function of the assembler's: its symbol, `body`, its size. */
#define ASSEMBLED(name, body)                                                                      \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n" body              \
		"\n.size " name ", .-" name "\n")

struct assembled {
	struct sn_image *image;
	struct sn_structure *structure;
	const struct sn_function *function;
};

static inline struct assembled assembled_open(const char *name)
{
	struct assembled a = { 0 };
	const struct sn_symbol *symbol;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &a.image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(a.image, &a.structure, NULL) == SN_OK);
	symbol = sn_image_symbol_named(a.image, name);
	REQUIRE(symbol != NULL);
	a.function = sn_structure_function_at(a.structure, symbol->link_addr);
	REQUIRE(a.function != NULL);
	sn_function_prepare(a.structure, a.function, SN_PREPARE_ALL);
	return a;
}

static inline void assembled_close(struct assembled *a)
{
	sn_structure_free(a->structure);
	sn_image_free(a->image);
}

static inline void add_flags(struct sn_text *text, uint32_t flags)
{
	static const char *const names[] = { "entry",	   "calls",	  "returns",
					     "leaves",	   "no-return",	  "indirect",
					     "unresolved", "speculative", "proved" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (flags >> i & 1)
			sn_text_addf(text, " %s", names[i]);
}

/** A line for each block: its number, its instructions, where it goes, what it is. */
static inline void check_blocks(const char *name, const char *want)
{
	struct assembled a = assembled_open(name);
	struct sn_text text = { 0 };

	for (uint32_t b = 0; b < a.function->block_count; b++) {
		const struct sn_block *block = &a.function->blocks[b];

		sn_text_addf(&text, "%" PRIu32 ": %" PRIu32 " ->", b, block->instruction_count);
		for (uint32_t s = 0; s < block->successor_count; s++)
			sn_text_addf(&text, " %" PRIu32,
				     a.function->successors[block->first_successor + s]);
		add_flags(&text, block->flags);
		sn_text_add(&text, "\n");
	}
	CHECK_STRING(text.chars, want);
	sn_text_free(&text);
	assembled_close(&a);
}

/** A line for each loop: its parent, then what is counted of it, then what it is. */
static inline void check_loops(const char *name, const char *want)
{
	struct assembled a = assembled_open(name);
	struct sn_text text = { 0 };

	sn_text_add(&text, "");
	for (uint32_t l = 0; l < a.function->loop_count; l++) {
		const struct sn_loop *loop = &a.function->loops[l];

		sn_text_addf(&text,
			     "%" PRIu32 " in %" PRId32 ": depth %u, blocks %" PRIu32
			     ", instructions %" PRIu32 ", latches %" PRIu32 ", exits %" PRIu32
			     "%s%s\n",
			     l, loop->parent, (unsigned)loop->depth, loop->block_count,
			     loop->instruction_count, loop->latch_count, loop->exit_count,
			     loop->is_innermost ? ", innermost" : "",
			     loop->is_irreducible ? ", irreducible" : "");
	}
	CHECK_STRING(text.chars ? text.chars : "", want);
	sn_text_free(&text);
	assembled_close(&a);
}

#endif
