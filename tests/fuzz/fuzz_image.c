/* ELF and DWARF: symbols, lines, inlined frames, control flow, loops and variables of whatever the bytes claim
 * to be. */
#include <stdlib.h>

#include "code/held.h"
#include "code/image.h"
#include "code/structure.h"
#include "code/variables.h"

static int holds(const struct sn_function *function, uint64_t link_addr)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		if (link_addr >= function->ranges[i].first_link_addr &&
		    link_addr < function->ranges[i].end_link_addr)
			return 1;
	return 0;
}

/* The same bytes, read on demand: what is found around an address holds it. */
static void on_demand(const uint8_t *bytes, size_t length, struct sn_image *whole)
{
	enum { ASKED_MOST = 200 };
	struct sn_image_options options = { .only_this_file = true, .on_demand = true };
	static struct sn_location location;
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;
	size_t count;
	const struct sn_symbol *symbols = sn_image_symbols(whole, &count);

	if (sn_image_open_memory(bytes, length, "fuzz", &options, &image, NULL) != SN_OK)
		abort();
	if (sn_structure_open(image, &structure, NULL) == SN_OK)
		for (size_t i = 0; i < count && i < ASKED_MOST; i++)
			for (uint64_t at = symbols[i].link_addr - 1, k = 0; k < 3; at++, k++)
				if (sn_structure_locate(structure, at, &location) &&
				    !holds(location.function, at))
					abort();
	sn_structure_free(structure);
	sn_image_free(image);
}

static void held(struct sn_image *image, const struct sn_variables *variables)
{
	enum { ASKED_MOST = 200 };
	struct sn_arena arena = { 0 };
	size_t count;
	const struct sn_symbol *symbols = sn_image_symbols(image, &count);

	for (size_t i = 0; i < count && i < ASKED_MOST; i++)
		for (uint64_t at = 0; at < 16; at++)
			sn_held_find(image, variables, symbols[i].link_addr + at, &arena);
	sn_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_image_options options = { .only_this_file = true };
	static struct sn_location location;
	struct sn_structure *structure = NULL;
	struct sn_variables *variables = NULL;
	struct sn_image *image = NULL;

	if (sn_image_open_memory(bytes, length, "fuzz", &options, &image, NULL) != SN_OK)
		return 0;
	if (sn_structure_open(image, &structure, NULL) == SN_OK) {
		sn_structure_prepare_all(structure, SN_PREPARE_ALL);
		for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
			const struct sn_function *function = sn_structure_function(structure, i);

			for (uint32_t b = 0; b < function->block_count; b++)
				if (!sn_structure_locate(structure, function->blocks[b].link_addr,
							 &location) ||
				    location.function != function)
					abort();
		}
	}
	on_demand(bytes, length, image);
	if (sn_variables_read(image, &variables, NULL) == SN_OK)
		sn_variables_at(variables, length);
	held(image, variables);
	sn_variables_free(variables);
	sn_structure_free(structure);
	sn_image_free(image);
	return 0;
}
