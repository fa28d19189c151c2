/* Shared by the files of libpandore, not part of its API. */
#ifndef PANDORE_RUNTIME_H
#define PANDORE_RUNTIME_H

#include "pandore/runtime/net.h"
#include "pandore/runtime/pandore.h"
#include "pandore/runtime/pieces.h"

struct pd_phase_times {
	uint64_t calls, trigger_ticks, distribution_ticks, run_ticks, collection_ticks;
	uint64_t wait_ticks; /* of the receives within the run */
};

struct pd_zone_times {
	uint64_t executions, ticks;
};

struct pd_state {
	const struct pd_program *program;
	int me, process_count, host_process; /* process numbers */
	struct pd_phase_times *phase_times;
	struct pd_zone_times *zone_times;
	uint64_t *zone_entered;
	uint64_t start_ticks, start_ns;
	uint64_t event_ticks; /* of the last traced event */
};

extern struct pd_state pd_state;

uint64_t pd_now_ticks(void);
uint64_t pd_now_ns(void);

__attribute__((noreturn)) void pd_die_out_of_memory(void);
void *pd_alloc_zeroed(size_t count, size_t bytes);

/* copy.c: the part of an array that a node owns (all of it, if replicated) as runs of bytes where
 * they are. Starts as { 0 }; its memory is used again. */
struct pd_runs {
	struct pd_run *items;
	size_t count, capacity, bytes;
};
void pd_part_runs(const struct pd_array *array, int nodes, int node, void *storage,
		  struct pd_runs *runs);

/* inspect.c: the elements listed for the next message to a node (is_out) or from it: their bytes, the
 * reference that asked for the first of them, and copying them, after which the list is empty */
size_t pd_listed_bytes(int node, int is_out);
int pd_listed_site(int node, int is_out);
void pd_listed_pack(int node, char *bytes);
void pd_listed_unpack(int node, const char *bytes);
/* both lists are empty then */
void pd_listed_forget(int node);

/* count.c: the counting build's main(): prints what each phase would send */
int pd_count(const struct pd_program *program, int argc, char **argv);
void pd_count_moved(void); /* all that was noted has moved */

/**
 * clocks.c: one time for the traces of all processes: seconds since the host began. On one machine
 * all read the same clock. Else host and nodes ask each other for the time when they begin and when
 * they end, and times between are interpolated.
 */
void pd_clocks_begin(void);	   /* before the nodes are made */
void pd_clocks_meet_first(void);   /* all together, before the first phase */
void pd_clocks_ask_last(int node); /* the host, while that node answers: */
void pd_clocks_answer_last(void);
/** Host: `ns` of a node's clock. A node: its own, as far as it knows while it runs. */
double pd_clocks_seconds(int node, uint64_t ns);
/** Reads both clocks at one moment, even if the reading is interrupted. */
void pd_clocks_read(uint64_t *ticks, uint64_t *ns);

/* keep.c: if the run ends before its time, a keeper writes what was measured until then. */
void pd_keep_begin(void); /* who is or may be the host, before the nodes are made */
void pd_keep_share(void); /* all that there are, when the number of nodes is known */
void pd_keep_watch(void); /* the host, after that: signals that end it end the run in order */

/* measure.c: counters and traces, brought to the host at the end and written there */
void pd_measure_start(void);
void pd_measure_give(void);    /* a node: to the host */
void pd_measure_collect(void); /* the host: from all, writes the files */
struct pd_header pd_measure_header(size_t count, int event);
void pd_measure_run_begin(int phase); /* this process's part of a phase */
void pd_measure_run_end(int phase);
void pd_measure_sent(int to, size_t bytes);
/* Trace: a send is recorded before its message leaves, with the event's index in the header; a receive
 * after. */
struct pd_header pd_trace_header(int site, int to, size_t count);
void pd_trace_received(int site, int from, struct pd_header header);
/* Bytes of the next message to a node that go there for this reference. */
void pd_measure_bytes(int site, int to, size_t bytes);
/* The order through the host, for traces: what the host has collected from a node came before all
 * that it triggers later. */
struct pd_header pd_measure_collection_header(size_t bytes);  /* a node */
void pd_measure_collected(int node, struct pd_header header); /* the host */
void pd_measure_ran_inside(void);     /* the host that is a node: its part of a phase is over */
void pd_measure_order_inside(void);   /* and: it begins */
void pd_measure_send_order(int node); /* the host, with a trigger */
void pd_measure_receive_order(void);  /* a node */

#endif
