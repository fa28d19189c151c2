/**
 * The phase that a user names, as a place in the program.
 */
#ifndef SN_SEARCH_ONLINE_PHASE_H
#define SN_SEARCH_ONLINE_PHASE_H

#include "base/text.h"
#include "record/record.h"
#include "search/monitor/mri.h"

struct sn_phase {
	struct sn_mri_boundary boundary; /* its texts are this struct's */
	struct sn_text name, module, file;
	uint32_t line; /* 0: unknown */
	int exit_code; /* where there is no phase: 126, 127 if there is no program */
	/* code that tells of arrivals, of places where it can be; its parts are the texts */
	struct sn_record_plan plan;
	struct sn_text plan_id, plan_bytes;
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
/** Plans code that tells of arrivals at the phase's places (wire/plan.h). Why none can be there, as what follows "because": then
 * breakpoints of the processor do; NULL: it is planned, or the phase is a heartbeat. */
const char *sn_phase_plan(struct sn_phase *phase);
/** Lets a recording put that code into the program, if there is any. Borrows the phase. */
void sn_phase_watch(const struct sn_phase *phase, struct sn_record_options *record);
/** Adds that the phase is passed too often, with a place that is passed less often, and more than once, if there is one. */
void sn_phase_often_add(const struct sn_phase *phase, struct sn_text *out);
void sn_phase_free(struct sn_phase *phase);

#endif
