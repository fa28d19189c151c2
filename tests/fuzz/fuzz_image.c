/* ELF and DWARF: symbols, lines, inlined frames, control flow, loops and variables of whatever the bytes claim
 * to be. */
#include <stdlib.h>

#include "code/image.h"
#include "code/structure.h"
#include "code/variables.h"

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
	if (sn_variables_read(image, &variables, NULL) == SN_OK)
		sn_variables_at(variables, length);
	sn_variables_free(variables);
	sn_structure_free(structure);
	sn_image_free(image);
	return 0;
}
