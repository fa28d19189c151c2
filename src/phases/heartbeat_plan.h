/**
 * A heartbeat plan as sn_phases_write_plan writes it, or by hand (schema sonde.heartbeat-plan/1).
 */
#ifndef SN_PHASES_HEARTBEAT_PLAN_H
#define SN_PHASES_HEARTBEAT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

/** Where a heartbeat is. Strings are NULL and numbers 0 where the plan does not say it. */
struct sn_heartbeat_site {
	const char *name; /* never NULL nor empty */
	bool is_loop;	  /* a beat is an iteration of the loop, else a call of the function */
	const char *function, *linkage_name; /* at least one, if there is no address */
	const char *module, *build_id;
	uint64_t function_link_addr;
	const char *loop_file; /* of a loop from here on */
	uint32_t loop_line_first, loop_line_last;
	uint64_t loop_header_link_addr;
	uint32_t every; /* one beat in so many is timed; at least 1 */
};

struct sn_heartbeat_plan {
	SN_VEC(struct sn_heartbeat_site) sites;
	struct sn_arena arena; /* the strings' */
};

/** Reads a plan of `length` bytes; `name` is for errors. SN_ERR_FORMAT: one sentence says what is wrong and in
 * which heartbeat. `out` is freed by sn_heartbeat_plan_free in any case. */
sn_status sn_heartbeat_plan_read(const char *bytes, size_t length, const char *name,
				 struct sn_heartbeat_plan *out, struct sn_error *err);
void sn_heartbeat_plan_free(struct sn_heartbeat_plan *plan);

#endif
