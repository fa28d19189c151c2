/**
 * A search of several hosts: what lies in the folder of its experiment, which all of them see, and the bodies of
 * the results that their agents send.
 *
 *	search.secret		the keys of all links (search/link/link.h)
 *	search.front		where the front listens, a line an address
 *	search.journal		what the front has taken
 *	search.words		options that hosts need and the program, for whoever comes after a front that was killed
 *	search.nodes/number.K	a link to NODE: the agent of number K is that of this host
 *	search.nodes/NODE/PID	a link to the live folder of a recording there
 *	search.nodes/spool.K	what its agent has measured and the journal lacks
 *	search.nodes/inner.N	where inner agent N (from 0) listens, as search.front
 *
 * All but journal and words is removed at the end. The bodies, of which fields are only ever added at the ends:
 *
 *	window	u8 1, u32 step, string host, u64 from, to, u32 executions, processes, u32 threads: u32 pid, tid,
 *		u64 elapsed, CPU, waiting (ns); u32 processes: u32 pid, u64 minor, major page faults
 *	none	u8 2, u32 step: nothing could be measured
 *	end	u8 3, u32 whether a process could watch the phase, u32 segments refused, u32 executions, f64 seconds of
 *		one, u32 epochs: u32 epoch, u64 results; u32 whether the phase was passed too often to be watched
 */
#ifndef SN_SEARCH_ONLINE_NODES_H
#define SN_SEARCH_ONLINE_NODES_H

#include <sys/types.h>

#include "search/link/link.h"
#include "search/link/outbox.h"
#include "search/monitor/mri.h"

enum { SN_NODES_MOST = 16384, SN_NODE_NAME = 64 };
/** Without anything to do and a word of the front for so long (ns) an agent ends. */
#define SN_NODE_IDLE_NS 10000000000LL

/** FOLDER/NAME; the caller frees. */
char *sn_nodes_file(const char *folder, const char *name);

/** What this host is called among those of the search: SONDE_NODE, else its host name. */
void sn_node_name(char out[SN_NODE_NAME]);
/** Says that a recording of this host has its live data there. `is_first`: nobody did so before on this host, so its
 *  agent is to be started. */
sn_status sn_node_enter(const char *folder, const char *name, const char *live_folder,
			bool *is_first, struct sn_error *err);
/** The number of a host that was entered; false: it was not. */
bool sn_node_number(const char *folder, const char *name, uint32_t *out);
/** The name of a number; false: nobody has it. */
bool sn_node_of_number(const char *folder, uint32_t number, char out[SN_NODE_NAME]);
/** Each live folder of a host, in any order. */
void sn_node_live_folders(const char *folder, const char *name,
			  void (*see)(void *context, const char *live_folder), void *context);
/** Removes what only a search that goes on needs. */
void sn_nodes_remove(const char *folder);

/** A process that outlives this one, to remove the secret and the front's address from a folder. */
struct sn_nodes_sweeper {
	pid_t pid; /* 0: none could be started */
	int fd;	   /* of the pipe whose end tells it that this process has ended */
};
/** Starts it: however this process ends, nobody finds the secret afterwards. */
void sn_nodes_sweeper_start(const char *folder, struct sn_nodes_sweeper *out);
/** It sweeps, and has ended. */
void sn_nodes_sweeper_end(struct sn_nodes_sweeper *sweeper);

/** Where the front (SN_LINK_FRONT) or an inner agent listens. With `is_local` only this host can come. */
sn_status sn_agent_address_write(const char *folder, uint32_t agent, const char *address,
				 bool is_local, struct sn_error *err);
/** One of its addresses, another one with each turn. False: there is none (yet). */
bool sn_agent_address_read(const char *folder, uint32_t agent, uint32_t turn,
			   char out[SN_LINK_ADDRESS]);

enum sn_told_kind { SN_TOLD_WINDOW = 1, SN_TOLD_NONE, SN_TOLD_END };

struct sn_told {
	enum sn_told_kind kind;
	uint32_t step;		     /* of a window, or of none */
	struct sn_mri_window window; /* the reader frees */
	/* of an end */
	bool is_found, is_deaf;
	uint32_t refused, executions;
	double mean_s;
	SN_VEC(struct sn_outbox_epoch) epochs; /* the reader frees */
};

void sn_told_window(uint32_t step, const struct sn_mri_window *window, struct sn_text *out);
void sn_told_none(uint32_t step, struct sn_text *out);
/** The end counts itself among the results of the last epoch. */
void sn_told_end(const struct sn_told *end, const struct sn_outbox *outbox, struct sn_text *out);
/** False: it is damaged. Free in any case. */
bool sn_told_read(const uint8_t *body, size_t length, struct sn_told *out);
void sn_told_free(struct sn_told *told);

#endif
