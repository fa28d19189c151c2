/** What the files of a search with an agent on each host share. */
#ifndef SN_SEARCH_ONLINE_HOSTS_PARTS_H
#define SN_SEARCH_ONLINE_HOSTS_PARTS_H

#include <sys/types.h>

#include "search/link/downlink.h"
#include "search/link/journal.h"
#include "search/online/host_list.h"
#include "search/online/nodes.h"
#include "search/online/parts.h"

struct host_node {
	char name[SN_NODE_NAME];
	bool is_joined, is_silent, has_ended, wants, is_found;
	bool is_to_be_told; /* what the journal has of it */
	bool is_deaf;	    /* the phase is passed too often to be watched any more */
	int64_t heard_ns;
	uint32_t epoch, ended, answered;
	double mean_s;
	uint32_t traces;	      /* that its search wants, bits 1 << enum sn_monitor_source */
	uint32_t refused, executions; /* as it said at its end */
};

struct host_window {
	uint32_t step, node;
	struct sn_mri_window window;
};

struct sn_hosts {
	const struct sn_online_options *options; /* its own */
	struct sn_online_options own;
	struct sn_phase phase;
	char *path; /* of the experiment */
	uint8_t secret[SN_LINK_SECRET];
	struct sn_nodes_sweeper sweeper;
	struct sn_link *link;
	struct sn_downlink down;
	struct sn_map inners;  /* inner agents that were heard of -> their epoch */
	struct sn_map refused; /* inner agent and epoch -> strangers that it refused */
	struct sn_journal journal;
	bool has_journal, is_full; /* is_full: nothing more is taken */
	SN_VEC(struct host_node) nodes;
	sn_strings awaited; /* that are to take part; none: whoever comes */
	SN_VEC(struct host_window) windows;
	SN_VEC(pid_t) launchers; /* of agents */
	double scanned_s, began_s, asked_s, sent_s, answered_s, entered_s;
	/* the newest step */
	uint32_t step, first, executions;
	uint32_t traces; /* that it asks all hosts for */
	double lead_s;
	bool is_step_open, is_late; /* a host has measured nothing for it */
	uint32_t evaluated;	    /* by the search at the end */
	pid_t child;
	int exit_code;
	bool has_child_ended;
	uint32_t restarted;
};

/* ---- hosts_launch.c ---- */

/** Whether agents are started by words, and not by the first recording of a host. */
bool sn_hosts_has_launcher(const struct sn_hosts *hosts);
/** Starts the agent of a host by them. */
void sn_hosts_agent_launch(struct sn_hosts *hosts, const char *host);
/** Starts the program's launcher, which starts recordings. */
sn_status sn_hosts_program_start(struct sn_hosts *hosts, struct sn_error *err);

/** Whether the launcher may start processes of the program on other hosts, or without this command's environment. */
bool sn_hosts_are_elsewhere(const struct sn_online_options *options);
/** A start that is recorded without agents: the launcher starts recordings, wherever it starts the program. `path` becomes
 * the experiment's. Signals that ask for an end are the program's, and stay blocked. Not SN_OK: the program was not started. */
sn_status sn_hosts_record(const struct sn_online_options *options, struct sn_text *path,
			  int *exit_code, struct sn_error *err);

/* ---- hosts.c ---- */

/** Takes a result that is new, of a host that is in the list. */
void sn_hosts_result_take(struct sn_hosts *hosts, const struct sn_link_frame *frame);
/** Whether a host that is to take part has come. */
bool sn_hosts_has_come(const struct sn_hosts *hosts, const char *name);

/* ---- hosts_again.c ---- */

sn_status sn_hosts_again(const struct sn_online_options *options, const char *folder,
			 struct sn_online *out, struct sn_error *err);

/* ---- hosts_result.c ---- */

/** If all windows of a step are too short to be evaluated: so many executions would be enough, of that host which has least of
 *  them lacking; else 0, also if there is none. */
uint32_t sn_hosts_step_lacks(const struct sn_hosts *hosts, uint32_t step);

/** The search of what was measured. SN_ERR_NO_DATA: nothing was. */
sn_status sn_hosts_result(struct sn_hosts *hosts, struct sn_online *out, struct sn_error *err);

#endif
