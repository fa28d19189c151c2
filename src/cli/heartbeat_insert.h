/** From the sites of a heartbeat plan to code that can be inserted (wire/plan.h). */
#ifndef SN_CLI_HEARTBEAT_INSERT_H
#define SN_CLI_HEARTBEAT_INSERT_H

#include "base/text.h"
#include "phases/heartbeat_plan.h"

/** Code for one module. */
struct sn_insert_module {
	char *build_id;
	struct sn_text code; /* the plan file's bytes */
};

struct sn_inserts {
	SN_VEC(struct sn_insert_module) modules;
	uint32_t beats; /* in all of them */
	uint32_t sites; /* of the plan that are in */
};

/** Finds each site in `program` (the path of an ELF file or a script) or the file that the plan names, and makes
 * its code. Sites that cannot be had are said, each with its reason, on standard error. */
void sn_cli_inserts_make(const struct sn_heartbeat_plan *plan, const char *program,
			 struct sn_inserts *out);
void sn_cli_inserts_free(struct sn_inserts *inserts);

#endif
