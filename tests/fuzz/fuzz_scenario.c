/* A scenario: what is read has tables for its hosts. */
#include "search/simulate/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct sn_library *library;
	struct sn_scenario *s = NULL;
	struct sn_error err;

	if (!library) {
		library = sn_library_new();
		sn_library_settle(library);
	}
	if (sn_scenario_read_memory("fuzz", (const char *)bytes, length, library, &s, &err) !=
	    SN_OK)
		return 0;
	sn_recorded_free(sn_scenario_of_host(s, library, s->hosts - 1, s->phases));
	if (s->hosts < 100)
		sn_recorded_free(sn_scenario_of_all(s, library));
	sn_scenario_free(s);
	return 0;
}
