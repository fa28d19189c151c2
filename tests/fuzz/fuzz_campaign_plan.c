/* Plans: what reads has configurations with a program each; the others give one sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "campaign/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_campaign_plan *plan = NULL;
	struct sn_error err = { 0 };

	if (sn_campaign_plan_read((const char *)bytes, length, "plan", "/", &plan, &err) != SN_OK) {
		if (!err.sentence[0] || plan)
			abort();
		return 0;
	}
	for (size_t i = 0; i < plan->configurations.count; i++)
		if (!plan->configurations.items[i].program[0] ||
		    !plan->configurations.items[i].name[0])
			abort();
	sn_campaign_plan_free(plan);
	return 0;
}
