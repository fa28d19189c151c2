/** Sites of the call paths that entries of traces refer to, each found once. */
#ifndef SN_PROFILE_TRACE_SITES_H
#define SN_PROFILE_TRACE_SITES_H

#include "base/map.h"
#include "profile/site.h"

/** All zero is empty. */
struct sn_trace_sites {
	struct sn_map index; /* stack -> index + 1 */
	SN_VEC(struct sn_site) sites;
};

/** The site of a path of a process; both SN_NONE: no path was taken, or it is not known. */
struct sn_site sn_trace_site_of(struct sn_trace_sites *sites, const struct sn_program *program,
				uint32_t process, uint32_t path);
/** The stack of a path; false: it is not known. */
bool sn_trace_stack_of(const struct sn_program *program, uint32_t process, uint32_t path,
		       uint32_t *stack);
void sn_trace_sites_free(struct sn_trace_sites *sites);

#endif
