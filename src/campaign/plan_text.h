/**
 * A plan as text, from what somebody asked for on a command line.
 */
#ifndef SN_CAMPAIGN_PLAN_TEXT_H
#define SN_CAMPAIGN_PLAN_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/** Texts as the plan has them; NULL: not said. */
struct sn_campaign_wishes {
	const char *name, *level, *repeat, *order, *launcher, *timeout, *budget, *retry;
	const char *jobs, *parallel, *step, *template, *loops, *exclude, *helper_threads;
	bool is_weak;
	const char *directory, *build, *pin;
	const char *threads, *ranks, *dataset; /* lists, "1,2,4": swept over */
	const char *const *environment;	       /* "NAME=VALUE", ended by NULL; may be NULL */
	char *const *command;		       /* program and arguments, ended by NULL */
};

/** Adds the plan's text. SN_ERR_USAGE for what a plan cannot hold: a line's end in a word. */
sn_status sn_campaign_plan_text(const struct sn_campaign_wishes *wishes, struct sn_text *out,
				struct sn_error *err);

#endif
