/** What a campaign tells while it runs. */
#ifndef SN_CLI_CAMPAIGN_PROGRESS_H
#define SN_CLI_CAMPAIGN_PROGRESS_H

#include "campaign/engine.h"

enum sn_campaign_telling { TELL_NOTHING, TELL_LINES, TELL_TERMINAL, TELL_JSON };

struct sn_campaign_teller {
	enum sn_campaign_telling how;
	bool is_drawn; /* a line that stays unless it is cleared */
};

/** Of --progress (NULL: not given) and --quiet. */
enum sn_campaign_telling sn_campaign_telling_of(const char *asked, bool is_quiet);
/** For sn_campaign_engine_options; `context` is a teller. */
void sn_campaign_progress_tell(void *context, const struct sn_campaign_progress *p);

#endif
