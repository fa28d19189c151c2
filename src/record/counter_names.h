/** The names of counters: a table, and libpfm4's of this processor. For counters.c. */
#ifndef SN_RECORD_COUNTER_NAMES_H
#define SN_RECORD_COUNTER_NAMES_H

#include "record/counters.h"

struct sn_counter_name {
	const char *name;
	const char *title;
	uint32_t type;
	uint64_t config;
	uint64_t period; /* the default ("on") */
	unsigned flags;	 /* enum sn_counter_flags; ADDRESSES: it can have them */
	bool is_alias;	 /* the Collector's */
	const char *const
		*pfm; /* names of libpfm4's, of which the first that is known is taken; ended by
				 * NULL; NULL: type and config say it */
	const char *const *pfm_address; /* with '+'; NULL: the same */
};

/** Ended by a NULL name. */
extern const struct sn_counter_name sn_counter_names[];

/** Encodes a name of libpfm4's. False: it knows none of that name; *why is its reason, or why there is no
 *  libpfm4. */
bool sn_pfm_encode(const char *name, struct sn_counter_spec *out, const char **why);
/** Calls `take` with each event of this machine's processor ("EVENT:UMASK"), and its words. Gives why there
 *  are none; NULL: there are. */
const char *sn_pfm_list(void (*take)(void *context, const char *name, const char *words),
			void *context);

#endif
