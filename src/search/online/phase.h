/**
 * The phase that a user names, as a place in the program.
 */
#ifndef SN_SEARCH_ONLINE_PHASE_H
#define SN_SEARCH_ONLINE_PHASE_H

#include "base/text.h"
#include "search/monitor/mri.h"

struct sn_phase {
	struct sn_mri_boundary boundary; /* its texts are this struct's */
	struct sn_text name, module, file;
	struct sn_text outer; /* what is passed less often, as a phase is named; "": not known */
	uint32_t line;	      /* 0: unknown */
	int exit_code;	      /* where there is no phase: 126, 127 if there is no program */
};

/**
 * NAME of a heartbeat, if the program uses heartbeats and has this text, else of a function, or of a place in one
 * (FUNCTION+0xOFFSET);
 * FILE:LINE is the loop that begins at this line (its header), else the line's first instruction. Up to
 * SN_MONITOR_PLACES_MAX copies of it are watched (places.h). What the
 * program's own file does not have is looked for in the libraries that it is started with.
 * `program` is found as a shell finds it. SN_ERR_USAGE: nothing is meant by it, or several places
 * are. The caller frees with sn_phase_free in any case.
 */
sn_status sn_phase_find(const char *program, const char *wanted, struct sn_phase *out,
			struct sn_error *err);
/** The phase that an address of a module bounds, by this name. The caller frees in any case. */
sn_status sn_phase_at(const char *name, const char *module, uint64_t link_addr,
		      struct sn_phase *out, struct sn_error *err);
void sn_phase_free(struct sn_phase *phase);

#endif
