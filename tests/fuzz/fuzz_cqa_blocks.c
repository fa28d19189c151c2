/* Lines of hex as `sonde cqa --blocks` reads them, for an Intel and an AMD model, both modes. The
 * bytes are also taken for code as they are. */
#include <stdlib.h>

#include "cqa/cqa.h"
#include "cqa/measure.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const names[] = { "cascadelake", "zen5" };
	struct sn_cqa_estimate estimate;
	struct sn_timing_request request;
	struct sn_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; i < 2; i++) {
		const struct sn_machine *machine;

		if (sn_machine_find(names[i], &machine, &err))
			abort();
		sn_cqa_blocks_print(machine, bytes, length, i, out);
		if (!sn_cqa_bytes(machine, bytes, length < 400 ? length : 400, i, &estimate,
				  &err) &&
		    !(estimate.cycles >= 0))
			abort();
		/* the plan only: nothing is run */
		sn_trip_plan(machine, bytes, length < 400 ? length : 400, i, &request, &err);
	}
	fclose(out);
	free(text);
	return 0;
}
