/* Reductions with any contents: the fuzzer's bytes get a head that fits, as damage of a file is caught by its
 * hash. The data that they claim to be of are those of a node without any. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "experiment/reduction.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_experiment *e = sn_experiment_new("fuzz");
	struct sn_decoder decoder = { .experiment = e };
	struct sn_node node = { .host = "fuzz" };
	uint64_t head[2] = { length, sn_hash_bytes(bytes, length) };
	uint8_t *file = malloc(24 + length);

	memcpy(file, "SNREDUC1", 8);
	memcpy(file + 8, head, sizeof(head));
	if (length)
		memcpy(file + 24, bytes, length);
	sn_reduction_read(file, 24 + length, &node, &decoder);
	for (size_t i = 0; i < e->samples.count; i++)
		if (e->samples.items[i].thread >= e->threads.count ||
		    (e->samples.items[i].stack != SN_NONE &&
		     e->samples.items[i].stack >= e->stacks.count))
			abort();
	for (size_t i = 0; i < e->threads.count; i++)
		if (e->threads.items[i].process >= e->processes.count)
			abort();
	sn_decoder_finish(&decoder);
	sn_experiment_free(e);
	free(file);
	return 0;
}
