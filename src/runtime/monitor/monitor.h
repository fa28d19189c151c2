/** What the files of the monitor share. */
#ifndef SN_RUNTIME_MONITOR_MONITOR_H
#define SN_RUNTIME_MONITOR_MONITOR_H

#include "runtime/core/collector.h"
#include "wire/monitor.h"

extern struct sn_collector sn_monitor_collector;

/** Of this image; forked children set it up anew. */
struct sn_monitor_here {
	struct sn_monitor *segment;	      /* NULL: none */
	const struct sn_monitor_agent *agent; /* NULL: none; kept by forks */
	bool has_breakpoint;		      /* at an address of the boundary. Kept by forks */
	char beat[SN_MONITOR_TEXT_MAX];	      /* "": none. Kept by forks */
	_Atomic int32_t owner;		      /* the thread whose executions count; 0: the next */
	bool is_inside;			      /* an execution has begun */
	bool is_on;			      /* sources are */
	int64_t next_look_ns;
};
extern struct sn_monitor_here sn_monitor_here;

/** `install` of core/collector.h. */
bool sn_monitor_install(enum sn_data_origin origin);
/** Whether the agent has beaten lately. */
bool sn_monitor_has_agent(int64_t now_ns);
/** The thread begins an execution of the phase, or ends one (of `count` that were not told apart). It is
 *  held busy. */
void sn_monitor_begin(struct sn_thread *self, int64_t now_ns);
void sn_monitor_end(struct sn_thread *self, uint32_t count, int64_t now_ns);
/** Has those traces on that a table wants, and no others; NULL: none. */
void sn_monitor_traces_keep(const struct sn_monitor_table *table);
/** A watched address was reached. */
void sn_monitor_reached(struct sn_thread *self, unsigned which, uint32_t arrivals);
/** Reads the kernel's accounts of all threads into their slabs: at a begin (0) or an end (1). */
void sn_monitor_accounts(struct sn_thread *self, struct sn_monitor_table *table, uint32_t number,
			 int end);
/** The account of a thread that ends meanwhile. */
void sn_monitor_account_of(struct sn_thread *thread, uint32_t number, int end);

#endif
