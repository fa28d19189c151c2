/* Time that threads asked to sleep: no loss by itself, but where the time goes, which people look for. */
#include <string.h>

#include "profile/site.h"
#include "search/engine/parts.h"

double sn_search_asleep(const struct sn_search *s, struct sn_text *site)
{
	const struct sn_profile *profile = s->recorded->profile;
	double lanes = sn_search_lanes(s->recorded->tables), seconds = 0;
	uint64_t most_ns = 0;
	uint32_t stack = SN_NONE;

	/* executions of a phase are a part of what the profile has */
	if (!profile || !strcmp(s->options.mode, "phases") || !(s->phase.mean_s * lanes > 0))
		return 0;
	for (size_t i = 0; i < profile->experiment->waits.count; i++) {
		const struct sn_wait *wait = &profile->experiment->waits.items[i];
		uint64_t ns = sn_profile_wait_ns(profile, wait);

		if (wait->kind != SN_WAIT_SLEEP ||
		    s->recorded->thread_members[wait->thread] == SN_ALL)
			continue;
		seconds += (double)ns / 1e9;
		if (ns > most_ns && wait->stack < profile->program->stack_count) {
			most_ns = ns;
			stack = wait->stack;
		}
	}
	if (stack != SN_NONE)
		sn_site_add_name(profile->program, sn_site_of(profile->program, stack), site);
	return seconds / (s->phase.mean_s * lanes);
}
