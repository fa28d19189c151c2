/* Data files of the runtime: whatever the bytes say, decoding ends and stays inside them. */
#include <stdlib.h>
#include <string.h>

#include "experiment/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_decoder decoder = { .experiment = sn_experiment_new("fuzz") };
	uint8_t *aligned = aligned_alloc(4096, (length + 4096) & ~(size_t)4095);

	memcpy(aligned, bytes, length);
	sn_decode_data(&decoder, aligned, length, "fuzz");
	sn_decoder_finish(&decoder);
	sn_experiment_sort(decoder.experiment);
	sn_experiment_free(decoder.experiment);
	free(aligned);
	return 0;
}
