/** gmon.out files of any bytes. */
#include "exchange/gmon.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static volatile uint64_t sink;
	uint64_t sum = 0;
	struct sn_gmon gmon;

	if (sn_gmon_read(bytes, length, "input", &gmon, NULL) != SN_OK)
		return 0;
	for (size_t i = 0; i < gmon.histograms.count; i++)
		for (uint32_t bin = 0; bin < gmon.histograms.items[i].bin_count; bin++)
			sum += gmon.histograms.items[i].bins[bin];
	for (size_t i = 0; i < gmon.arcs.count; i++)
		sum += gmon.arcs.items[i].count;
	sink = sum;
	(void)sink;
	sn_gmon_free(&gmon);
	return 0;
}
