/**
 * A profile in the formats of other tools. docs/manual/exchange.md says what each keeps.
 *
 * Names are written as they are, made valid for the format (JSON escapes, no separators of the
 * format inside a name). Output depends on the profile only.
 */
#ifndef SN_EXCHANGE_EXPORT_H
#define SN_EXCHANGE_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"

struct sn_export_options {
	bool with_loops;    /* loops as frames of their own (folded, speedscope, chrome) */
	bool with_blocked;  /* blocked time too */
	bool count_samples; /* folded: weights are observations, not microseconds */
};

struct sn_export_format {
	const char *name;      /* "pprof" */
	const char *extension; /* "pb.gz" */
	const char *summary;
	/** Writes the profile. The caller checks the stream for errors of writing. */
	sn_status (*write)(const struct sn_profile *profile,
			   const struct sn_export_options *options, FILE *out,
			   struct sn_error *err);
	/** In place of it, of a format of several files: fills a folder, which is there and empty. The caller
	 *  removes it after an error. */
	sn_status (*write_folder)(const struct sn_profile *profile,
				  const struct sn_export_options *options, const char *folder,
				  struct sn_error *err);
};

/** Whether --to otf2 can be written here; else why not (SN_ERR_UNSUPPORTED). */
sn_status sn_export_otf2_check(struct sn_error *err);

/** The format of this name, or NULL. */
const struct sn_export_format *sn_export_find(const char *name);

#endif
