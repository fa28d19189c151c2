/**
 * The link of a host's agent to the front: a thread of its own, so that it answers while the agent evaluates. What the
 * agent tells goes into its spool first, and from there to the front until its journal has it.
 */
#ifndef SN_SEARCH_ONLINE_NODE_H
#define SN_SEARCH_ONLINE_NODE_H

#include "search/online/nodes.h"

/** What the front asks all hosts to measure. */
struct sn_node_step {
	uint32_t step; /* from 1 on */
	uint32_t first, executions;
	int64_t stop_ns;
	uint32_t
		traces; /* bits 1 << enum sn_monitor_source; 0 of a front that does not know them */
};

struct sn_node_view {
	uint32_t ended;
	double mean_s;
	bool is_found, is_needed; /* a process watches the phase; one is still there */
	bool is_deaf;		  /* one passes it too often for it to be watched any more */
};

struct sn_node;

/** `folder` and `name` are borrowed; `fanout` as in tree.h. */
sn_status sn_node_open(const char *folder, const char *name, uint32_t fanout, uint32_t epoch,
		       struct sn_node **out, struct sn_error *err);
/** What is to be known of the host's processes now, and whether its search wants another step, with which traces. */
void sn_node_tell(struct sn_node *node, const struct sn_node_view *view);
void sn_node_want(struct sn_node *node, bool wants, uint32_t traces);
/** The newest step that was asked for; false: none after `after`. */
bool sn_node_asked(struct sn_node *node, uint32_t after, struct sn_node_step *out);
/** What a step has measured; `window` NULL: nothing. */
void sn_node_measured(struct sn_node *node, uint32_t step, const struct sn_mri_window *window);
/** A sentence for whoever watches the search. It may get lost. */
void sn_node_say(struct sn_node *node, const char *sentence);
/** Whether the search is over, or the front is gone for good. */
bool sn_node_is_over(struct sn_node *node);
/** Tells the end, waits for some seconds until the front has all, and frees. */
void sn_node_close(struct sn_node *node, const struct sn_told *end);

#endif
