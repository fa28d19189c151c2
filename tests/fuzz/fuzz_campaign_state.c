/* State files: any bytes give a state or one sentence, and what is missing can be asked for. */
#include <stdint.h>
#include <stdlib.h>

#include "campaign/judge.h"
#include "campaign/schedule.h"

static void use(struct sn_campaign_state *state)
{
	static const char text[] =
		"[campaign]\nrepeat=2\n[default]\nprogram=a\n[sweep]\nthreads=1 2\n";
	struct sn_campaign_cursor cursor = { .is_dry = true };
	struct sn_campaign_plan *plan = NULL;
	struct sn_campaign_next next;
	int left = 9; /* four runs, each once or tried again */

	sn_campaign_judge(state);
	if (sn_campaign_plan_read(text, sizeof(text) - 1, "p", "/", &plan, NULL) != SN_OK)
		abort();
	while (left-- && sn_campaign_next(&cursor, plan, state, NULL, &next))
		cursor.position++;
	if (left < 0)
		abort();
	sn_campaign_cursor_free(&cursor);
	sn_campaign_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_campaign_state *state = NULL;
	struct sn_error err = { 0 };

	if (sn_campaign_state_open_memory(bytes, length, "state", &state, &err) == SN_OK)
		use(state);
	else if (!err.sentence[0] || state)
		abort();
	sn_campaign_state_free(state);
	return 0;
}
