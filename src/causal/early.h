/**
 * Names of code and progress points, looked for before anything runs: in the program's file and in the
 * libraries that its loader gives it.
 */
#ifndef SN_CAUSAL_EARLY_H
#define SN_CAUSAL_EARLY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "code/image.h"
#include "record/target.h"

struct sn_causal_wanted {
	const char *targets;   /* as --target has it; NULL: none is named */
	const char *point;     /* the progress point; NULL: none is named */
	const char *begin;     /* with a latency between two places: the first; else NULL */
	const char *option;    /* which named the point: "--progress" or "--latency" */
	bool may_be_heartbeat; /* of the point: a heartbeat's name will do, too */
	bool is_heartbeat;     /* nothing else will */
	bool *is_doubted; /* set where the point is in no file, but may be a heartbeat; NULL: nobody asks */
};

/**
 * Whether all names are there. SN_ERR_NOT_FOUND says which is not, and what is nearest: the program then
 * loads no other code, and starts no other program. Where it may, `doubt` gets a sentence and SN_OK is
 * given, as where nothing can be looked at (a script). SN_ERR_USAGE: a number of --target is none.
 */
sn_status sn_causal_names_check(const struct sn_target *target,
				const struct sn_image_options *options,
				const struct sn_causal_wanted *wanted, struct sn_text *doubt,
				struct sn_error *err);

#endif
