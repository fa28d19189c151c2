/* The spool of a search's agent. */
#include "search/online/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_spool spool;

	sn_spool_read_memory((const char *)bytes, length, &spool);
	sn_spool_free(&spool);
	return 0;
}
