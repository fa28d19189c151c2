/**
 * What an experiment knows of the campaign that it is a run of: a small file in its folder,
 * `campaign.json`. So plain paths of experiments suffice to compare runs block by block.
 */
#ifndef SN_EXPERIMENT_CAMPAIGN_MARK_H
#define SN_EXPERIMENT_CAMPAIGN_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct sn_campaign_mark {
	const char *campaign;	   /* its id, which no other campaign has */
	const char *configuration; /* its name */
	uint32_t block, position;  /* from 0 */
	bool is_in_blocks;	   /* every configuration ran once a block, in shuffled order */
	uint32_t ranks, threads;   /* as they were set; 0: not set */
};

/** Writes the file into an experiment's folder, whole or not at all. */
sn_status sn_campaign_mark_write(const struct sn_campaign_mark *mark, const char *experiment,
				 struct sn_error *err);
/** Reads it, with texts in the arena. NULL: there is none, or it cannot be read. */
const struct sn_campaign_mark *sn_campaign_mark_read(const char *experiment,
						     struct sn_arena *arena);

#endif
