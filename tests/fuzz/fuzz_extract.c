/* Extracts with any payload: the fuzzer's bytes are packed into a valid frame, as damage of the
 * outside is caught by the hash. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "code/extract_format.h"

static void look_around(struct sn_structure *structure)
{
	static struct sn_location location;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *function = sn_structure_function(structure, i);
		uint64_t step = function->size_bytes / 64 + 1;

		for (uint64_t at = 0; at < function->size_bytes; at += step) {
			size_t available;

			sn_structure_locate(structure, function->link_addr + at, &location);
			sn_structure_bytes(structure, function->link_addr + at, &available);
		}
		for (uint32_t l = 0; l < function->loop_count; l++)
			if (function->loops[l].group >= function->loop_count)
				abort();
	}
}

static void read_as(uint64_t version, const uint8_t *bytes, size_t length)
{
	size_t room = ZSTD_compressBound(length), packed;
	struct sn_structure *structure = NULL;
	uint64_t head[5] = { 0, version, length };
	uint8_t *file = malloc(sizeof(head) + room);

	packed = ZSTD_compress(file + sizeof(head), room, bytes, length, 1);
	memcpy(head, SN_EXTRACT_MAGIC, 8);
	head[3] = packed;
	head[4] = sn_extract_hash(version, length, packed, file + sizeof(head));
	memcpy(file, head, sizeof(head));
	if (sn_extract_read_memory(file, sizeof(head) + packed, "fuzz", &structure, NULL) == SN_OK)
		look_around(structure);
	sn_structure_free(structure);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	for (uint64_t version = 1; version <= SN_EXTRACT_VERSION; version++)
		read_as(version, bytes, length);
	return 0;
}
