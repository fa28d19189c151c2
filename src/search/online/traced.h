/**
 * What a program is traced for beside its samples, while executions of a phase are measured.
 */
#ifndef SN_SEARCH_ONLINE_TRACED_H
#define SN_SEARCH_ONLINE_TRACED_H

#include "experiment/experiment.h"
#include "record/record.h"
#include "search/evidence/sources.h"

/** Adds traces of the runtimes that the loader maps for the program: OpenMP, MPI. They cost what the program uses of these. */
void sn_traced_add(const char *program, struct sn_record_options *record);
/** Adds traces that an agent has on where a step asks for them, and off else. What allocates much, and calls of
 *  input and output that come fast, are sampled, where the budget, a share of the CPU time, is too small to trace them. */
void sn_traced_add_switched(struct sn_record_options *record, double budget);
/** Has the heap sampled in place of traced, where that would take more than the budget of a program whose allocator takes this
 *  share of its CPU time. */
void sn_traced_heap_bound(struct sn_record_options *record, double heap_share, double budget);
/** Likewise calls of input and output, where these take this share. */
void sn_traced_io_bound(struct sn_record_options *record, double io_share, double budget);
/** The share of the CPU time that a metric has ("heap_time", "io_cpu"); 0: none, or not known. */
double sn_traced_cpu_share(struct sn_tables *tables, const char *metric);
/** Adds what a search asks the processor's counters for. SN_ERR_UNSUPPORTED: they are not to be had here; the sentence says
 *  why. */
sn_status sn_traced_counters_add(struct sn_record_options *record, struct sn_error *err);
/** These: bit i of sn_sources[i]. */
uint32_t sn_traced_switched(void);
/** What is to be asked of a process for sources, bits of sn_sources: bits 1 << enum sn_monitor_source. */
uint32_t sn_traced_requests(uint32_t sources);
/** What the trace of a source took of the CPU time that was sampled, at least; 0: there is none. */
double sn_traced_share(const struct sn_experiment *experiment, const struct sn_source *source);

#endif
