/** perf.data files of any bytes: every event that the reader gives must lie within them. */
#include "exchange/perf_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static volatile uint64_t sink;
	uint64_t sum = 0;
	struct sn_perf_data data;
	struct sn_perf_event event;

	if (sn_perf_data_open_memory(bytes, length, &data, NULL) != SN_OK)
		return 0;
	for (size_t i = 0; i < data.place_count; i++) {
		if (!sn_perf_data_event(&data, i, &event))
			continue;
		for (uint64_t k = 0; event.chain && k < event.chain_count * 8; k++)
			sum += event.chain[k];
		for (uint64_t k = 0; event.stack && k < event.stack_bytes; k++)
			sum += event.stack[k];
		for (const char *c = event.name; c && *c; c++)
			sum += (uint8_t)*c;
	}
	sink = sum;
	(void)sink;
	sn_perf_data_free(&data);
	return 0;
}
