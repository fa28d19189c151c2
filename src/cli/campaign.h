/** Running a campaign and telling of it, for the commands that are short forms of it. */
#ifndef SN_CLI_CAMPAIGN_H
#define SN_CLI_CAMPAIGN_H

#include "campaign/campaign.h"
#include "campaign/plan_text.h"
#include "cli/command.h"

/** Begins the campaign that the wishes mean and runs it. `args` has --output and, if its command has
 * them, --seed, --retry and --progress. Returns the exit code. */
int sn_cli_campaign_of(const struct sn_campaign_wishes *wishes, const struct sn_args *args);

#endif
