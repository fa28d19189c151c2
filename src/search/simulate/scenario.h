/**
 * A scenario (sonde.scenario/1, docs/format/scenario.md): hosts with processes, the values that their sources
 * would give, phases that take real time, and faults of agents.
 */
#ifndef SN_SEARCH_SIMULATE_SCENARIO_H
#define SN_SEARCH_SIMULATE_SCENARIO_H

#include <jansson.h>

#include "search/evidence/recorded.h"
#include "search/properties/library.h"

enum { SN_HOSTS_MOST = 16384, SN_PHASES_MOST = 1000000 };

enum sn_fault_kind { SN_FAULT_KILL, SN_FAULT_FREEZE, SN_FAULT_CUT };

struct sn_fault {
	double at_s;
	enum sn_fault_kind kind;
	uint32_t agent; /* a node agent's host, or SN_LINK_FRONT, or SN_LINK_INNER + N */
	double for_s;	/* NaN: for ever */
};

struct sn_scenario {
	char *name; /* of the file, without its folder and ending */
	char *path; /* as it was read, for messages */
	json_t *root;
	double phase_s;
	uint32_t hosts, phases;
	uint32_t processes, threads; /* of each host */
	SN_VEC(struct sn_fault) faults;
	char *program; /* the id of the region that is the program */
};

/** Reads a scenario and checks all of it. SN_ERR_FORMAT names the place of what is wrong. */
sn_status sn_scenario_read(const char *path, const struct sn_library *library,
			   struct sn_scenario **out, struct sn_error *err);
/** The same from memory; `name` is for messages. */
sn_status sn_scenario_read_memory(const char *name, const char *bytes, size_t length,
				  const struct sn_library *library, struct sn_scenario **out,
				  struct sn_error *err);
void sn_scenario_free(struct sn_scenario *scenario);

/** What the sources of a host have after so many phases: sums of what adds up, means of what does not.
 *  Processes have their numbers over all hosts. NULL: only the front's check can say why. */
struct sn_recorded *sn_scenario_of_host(const struct sn_scenario *scenario,
					const struct sn_library *library, uint32_t host,
					uint32_t phases);
/** The members of all hosts, and which sources give which metrics; the values are none. */
struct sn_recorded *sn_scenario_of_all(const struct sn_scenario *scenario,
				       const struct sn_library *library);

#endif
