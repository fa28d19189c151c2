/* What the agent of a program's host tells the front. */
#include "search/online/nodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_told told;

	sn_told_read(bytes, length, &told);
	sn_told_free(&told);
	return 0;
}
