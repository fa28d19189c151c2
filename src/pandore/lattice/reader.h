/**
 * Reads a trace: JSON lines, one event a line, in any order.
 *
 *	{"processes":2}                                             optional, first line only
 *	{"process":0,"index":0,"label":"send","file":"x.c","line":7,"duration_s":1e-6}
 *	{"process":1,"index":0,"after":[[0,0]],"observed":true}
 *	{"process":1,"index":1,"clock":[1,2]}
 *	{"end":true}                                                optional: nothing more will come
 *
 * Keys that are not known are skipped over. Blank lines are ignored. What is wrong is one sentence
 * with the line's number; the rest of the trace is read all the same, see sn_execution_build.
 */
#ifndef SN_LATTICE_READER_H
#define SN_LATTICE_READER_H

#include "pandore/lattice/execution.h"

/** Reads a file, or standard input if the path is "-". Sentences begin with the path. Statuses and
 *  `*out` as of sn_execution_build; SN_ERR_IO if the file cannot be read. */
sn_status sn_execution_read(const char *path, struct sn_execution **out, struct sn_error *err);

/** The same for bytes in memory, called `name` in sentences. */
sn_status sn_execution_read_memory(const char *bytes, size_t length, const char *name,
				   struct sn_execution **out, struct sn_error *err);

/** A trace that comes piece by piece, of any size, as it is being written. */
struct sn_trace_reading;

/** `see` is called for each event that could be read, in the order of the lines. */
struct sn_trace_reading *sn_trace_reading_new(void (*see)(const struct sn_lattice_event *event,
							  void *context),
					      void *context);
void sn_trace_reading_add(struct sn_trace_reading *reading, const char *bytes, size_t length);
/** As the first line says; 0: it does not. */
uint32_t sn_trace_reading_processes(const struct sn_trace_reading *reading);
/** A line has said that nothing more will come. */
bool sn_trace_reading_has_ended(const struct sn_trace_reading *reading);
/** Builds the execution and frees the reading. Statuses as of sn_execution_build. */
sn_status sn_trace_reading_finish(struct sn_trace_reading *reading, const char *name,
				  struct sn_execution **out, struct sn_error *err);

#endif
