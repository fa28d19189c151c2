/** What commands that search share. */
#ifndef SN_CLI_SEARCH_H
#define SN_CLI_SEARCH_H

#include "cli/command.h"
#include "search/engine/search.h"

/** The value of an option as a share from 0 to 1; `otherwise` if it was not given. */
sn_status sn_search_share_read(const struct sn_args *args, const char *name, double otherwise,
			       double *out, struct sn_error *err);
/** Children of an inner agent. */
#define SN_FANOUT_OPTION                                                                           \
	{                                                                                          \
		"fanout", 0, "N", "children of an inner agent at most (32 unless said)", NULL      \
	}
sn_status sn_search_fanout_read(const struct sn_args *args, uint32_t *out, struct sn_error *err);
/** Reads --severity: lost unless said. */
enum sn_severity sn_search_severity_read(const struct sn_args *args);
/** --threshold where it is not given; of rates the one that the Periscope paper's table needs. */
double sn_search_threshold(const struct sn_args *args);
#define SN_SEVERITY_OPTION                                                                                          \
	{                                                                                                           \
		"severity", 0, "UNIT",                                                                              \
			"what severities are: lost (lane-seconds lost over wall time times lanes, the default) or " \
			"rate (a property's own ratio, such as misses over accesses, where it states one)",         \
			"lost|rate"                                                                                 \
	}
/** The rows of `sonde show searched` as CSV. */
void sn_search_write_csv(const struct sn_search *search, FILE *out);
/** Prints a result (format NULL: text); the exit status: 1 if a severity reaches `check`. */
int sn_search_answer(const struct sn_search *search, const char *format, double check);

#endif
