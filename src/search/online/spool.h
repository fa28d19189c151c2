/**
 * The spool of an agent: the executions that it has measured, and what has become of it, in the folder of
 * the experiment. With the data of the experiment it is all that a search needs: whoever has both comes
 * to the same result, as an agent that was started again does, and the front at the end.
 */
#ifndef SN_SEARCH_ONLINE_SPOOL_H
#define SN_SEARCH_ONLINE_SPOOL_H

#include "search/monitor/mri.h"

/** What an agent knows when it ends. */
struct sn_spool_end {
	bool is_found;	     /* a process could watch the boundary */
	bool is_reached;     /* the phase was, once at least */
	bool is_deaf;	     /* it was passed too often to be watched any more */
	uint32_t refused;    /* segments */
	uint32_t executions; /* of the phase, as far as was seen */
	double mean_s;
};

struct sn_spool {
	SN_VEC(struct sn_mri_window) windows; /* one a step */
	SN_VEC(int) agents;		      /* pids of guardians and workers, as they began */
	uint32_t restarted;
	bool has_ended;
	struct sn_spool_end end; /* if it has */
};

/** Each appends a line or more, and returns when they are on disk. Not SN_OK: there was no room. */
sn_status sn_spool_agent(const char *experiment_path, int pid, bool is_again, struct sn_error *err);
sn_status sn_spool_window(const char *experiment_path, const struct sn_mri_window *window,
			  struct sn_error *err);
/** A sentence for whoever watches the search; not on disk when it returns. */
sn_status sn_spool_found(const char *experiment_path, const char *sentence, struct sn_error *err);
sn_status sn_spool_end(const char *experiment_path, const struct sn_spool_end *end,
		       struct sn_error *err);

/** The sentences between two places of the file, each handed to `say`. Returns the place where the next
 *  call begins. */
uint64_t sn_spool_watch(const char *experiment_path, uint64_t from, void (*say)(const char *));
/** Reads what is there; no file is an empty spool. What a write was cut off in is left out. */
void sn_spool_read(const char *experiment_path, struct sn_spool *out);
/** Whether an experiment has one. */
bool sn_spool_exists(const char *experiment_path);
/** From memory. */
void sn_spool_read_memory(const char *chars, size_t length, struct sn_spool *out);
void sn_spool_free(struct sn_spool *spool);

#endif
