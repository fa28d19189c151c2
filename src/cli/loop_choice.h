/** Which loops: --loops and --exclude of vprof, decan, run and analyze. */
#ifndef SN_CLI_LOOP_CHOICE_H
#define SN_CLI_LOOP_CHOICE_H

#include "cli/command.h"
#include "profile/profile.h"
#include "whatif/plans.h"

/* For option tables; UNLESS is what is taken without the option. */
#define SN_LOOP_CHOICE_OPTIONS(UNLESS)                                                             \
	{ "loops", 0, "WHICH",                                                                     \
	  "the loops: top:N hottest (" UNLESS " unless said), share:P (each at least P % of CPU "  \
	  "time), cumulated:P (the hottest, until they have P %), all of the modules that "        \
	  "samples met, or LOOP,... by id, label, file:line or #N",                                \
	  NULL },                                                                                  \
	{                                                                                          \
		"exclude", 0, "LOOP,...", "but not these loops", NULL                              \
	}

/** What can be said of --loops before the program has run. SN_ERR_USAGE. */
sn_status sn_cli_loop_words_check(const char *which, struct sn_error *err);
sn_status sn_cli_loop_choice_check(const struct sn_args *args, struct sn_error *err);

/** Of the options, hottest first; `unless_said` is the value of --loops without it. Free with
 * sn_loop_choice_free. SN_ERR_USAGE, SN_ERR_NOT_FOUND: the option is wrong. */
sn_status sn_cli_loop_choice(const struct sn_args *args, const struct sn_profile *profile,
			     const char *unless_said, struct sn_loop_choice *out,
			     struct sn_error *err);

#endif
