/* Which kind of search a program has. */
#include <string.h>

#include "search/online/parts.h"

sn_status sn_online_run(const struct sn_online_options *options, struct sn_online *out,
			struct sn_error *err)
{
	if (!options->phase || !strcmp(options->phase, SN_PHASE_AUTO))
		return sn_online_restart(options, out, err);
	return options->agents ? sn_online_hosts(options, out, err)
			       : sn_online_phases(options, out, err);
}

void sn_online_free(struct sn_online *online)
{
	sn_search_free(online->search);
	sn_executions_free(online->phases);
	sn_online_front_free(online->front);
	sn_hosts_free(online->hosts);
	sn_text_free(&online->path);
	sn_recorded_free(online->recorded);
	sn_analysis_free(online->analysis);
	*online = (struct sn_online){ 0 };
}
