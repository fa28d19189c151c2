/** What the files of scenarios share. */
#ifndef SN_SEARCH_SIMULATE_SCENARIO_PARTS_H
#define SN_SEARCH_SIMULATE_SCENARIO_PARTS_H

#include "search/simulate/scenario.h"

/** The next range of a set such as "0-3,7"; moves on. False: there is none. */
bool sn_scenario_set_next(const char **at, uint32_t *first, uint32_t *last);
/** Whether the members and values of a scenario are what tables can have. */
sn_status sn_scenario_tables_check(const struct sn_scenario *scenario,
				   const struct sn_library *library, struct sn_error *err);

#endif
