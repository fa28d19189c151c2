/* Heartbeat plans: what reads has sites that can be looked for; the others give one sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "phases/heartbeat_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_heartbeat_plan plan;
	struct sn_error err = { 0 };

	if (sn_heartbeat_plan_read((const char *)bytes, length, "plan", &plan, &err) != SN_OK &&
	    !err.sentence[0])
		abort();
	for (size_t i = 0; i < plan.sites.count; i++) {
		const struct sn_heartbeat_site *site = &plan.sites.items[i];

		if (!site->name[0] || !site->every || (!site->function && !site->linkage_name) ||
		    (site->is_loop && !site->loop_header_link_addr && !site->loop_line_first))
			abort();
	}
	sn_heartbeat_plan_free(&plan);
	return 0;
}
