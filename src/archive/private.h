/**
 * What of a file must not travel: the environment of a run, its arguments, source text.
 */
#ifndef SN_ARCHIVE_PRIVATE_H
#define SN_ARCHIVE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "campaign/campaign.h"

struct sn_archive_redaction {
	bool environment, arguments, source;
};

/** Whether a file of this name in an experiment has something of it. */
bool sn_private_is_in(const char *name, const struct sn_archive_redaction *redaction);
/** Adds the file's bytes without it to `out`. SN_ERR_FORMAT: the bytes cannot be read, so that nobody
 * knows what is in them. */
sn_status sn_private_take_out(const char *name, const char *path, const void *bytes, size_t length,
			      const struct sn_archive_redaction *redaction, struct sn_text *out,
			      struct sn_error *err);

/** A plan with the same configurations as the campaign's, and words in place of what is private: equal
 * ones in place of equal texts. SN_ERR_UNSUPPORTED: a configuration's name has some of it. */
sn_status sn_private_plan(const struct sn_campaign *campaign,
			  const struct sn_archive_redaction *redaction, struct sn_text *out,
			  struct sn_error *err);
/** Overwrites what looks like a secret in a plan's text, in place: values of variables with such a name, and of
 * options as sn_redact_word knows them. Swept values stay, as they are in the names of configurations. */
void sn_private_plan_mask(char *text);

#endif
