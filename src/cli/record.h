/** The options of recording, which `record` and `run` share. */
#ifndef SN_CLI_RECORD_H
#define SN_CLI_RECORD_H

#include "cli/command.h"
#include "record/record.h"

/* For the option tables of record and run. */
#define SN_RECORD_OPTIONS                                                                                                 \
	{ "pid", 'p', "PID", "sample a process that runs already, from outside", NULL },                                  \
		{ "output", 'o', "FOLDER", "name of the experiment (default: sonde.NAME.N)",                              \
		  NULL },                                                                                                 \
		{ "label", 'l', "TEXT", "a label to know the experiment by", NULL },                                      \
		{ "clock", 'C', "RATE",                                                                                   \
		  "samples per second of CPU time: hi (1000), on (100), lo (10), a number, off, "                         \
		  "or auto: 1000 for a thread's first 0.25 s, then what costs 0.5 % here",                                \
		  NULL },                                                                                                 \
		{ "follow", 0, "WHICH",                                                                                   \
		  "measure which children: all, fork, exec, none or =REGEX of program paths",                             \
		  NULL },                                                                                                 \
		{ "heap", 0, "[=MODE]",                                                                                   \
		  "trace the heap, too: trace (each call), aggregate (sums), sample[:BYTES] (one byte in so many; 512k)", \
		  NULL },                                                                                                 \
		{ "mpi", 0, NULL, "trace MPI, too: every call with its call path, and messages",                          \
		  NULL },                                                                                                 \
		{ "sync", 0, "[=LEAST]",                                                                                  \
		  "trace locks, too: all, or waits of at least so many us; on: calibrated",                               \
		  NULL },                                                                                                 \
		{ "io", 0, "[=MODE]",                                                                                     \
		  "trace input and output, too, by file: trace (each call), sample (some of calls that come fast)",       \
		  NULL },                                                                                                 \
		{ "openmp", 0, NULL,                                                                                      \
		  "trace OpenMP, too: regions, barriers, locks, tasks: who works, who waits",                             \
		  NULL },                                                                                                 \
		{ "collect", 0, "LIST",                                                                                   \
		  "trace these, too: heap, sync, io, mpi, openmp, faults (page faults), or all; clock and waits are "     \
		  "always there",                                                                                         \
		  NULL },                                                                                                 \
		{ "event", 'e', "EVENT[:PERIOD],..",                                                                      \
		  "sample at every PERIOD-th of these events, too: page-faults, cycles, dcm ... "                         \
		  "(sonde list counters); hi, on or lo for PERIOD; +EVENT: with data addresses",                          \
		  NULL },                                                                                                 \
		{ "fallback", 0, "clock", "without an event of -e: sample CPU time alone",                                \
		  "clock" },                                                                                              \
		{ "delay", 0, "SECONDS", "begin to measure so late", NULL },                                              \
		{ "duration", 0, "SECONDS", "measure so long; the target runs on unmeasured",                             \
		  NULL },                                                                                                 \
		{ "max-size", 0, "MB", "stop storing data beyond so many megabytes; 0: no limit",                         \
		  NULL },                                                                                                 \
		{ "pause-signal", 0, "SIGNAL[,r]",                                                                        \
		  "sent to this command, it resumes and pauses measuring, which begins paused; "                          \
		  "with ,r it begins at once",                                                                            \
		  NULL },                                                                                                 \
		{ "packets", 0, "SECONDS", "from one sample packet to the next (default: 1)",                             \
		  NULL },                                                                                                 \
		{ "packet-signal", 0, "SIGNAL",                                                                           \
		  "sent to this command, it writes a sample packet of every process", NULL },                             \
		{ "no-source", 0, NULL, "keep no source text in the experiment", NULL },                                  \
		{ "debug-folder", 0, "FOLDER",                                                                            \
		  "look for separate debug files here too (may be repeated)", NULL },                                     \
		{ "debuginfod", 0, NULL,                                                                                  \
		  "ask the servers of DEBUGINFOD_URLS for debug files that are missing here",                             \
		  NULL },                                                                                                 \
	{                                                                                                                 \
		"quiet", 'q', NULL, "say nothing but errors", NULL                                                        \
	}

/** reduce.c: sums up the ranks of this node, if the launch has many and all of the node's have ended. Prints
 *  what went wrong. */
void sn_cli_reduce_at_end(const char *path);
/** Ends this command by the signal that ended the target, if it is a rank of MPI; for the very end of a command. */
void sn_cli_end_as_rank(const struct sn_record_result *result);
/** Records as the options say and archives. Returns the exit code; `result->experiment_path` is
 *  empty if the target did not run. Prints what went wrong. */
int sn_cli_record(const struct sn_args *args, struct sn_record_result *result);
/** The same with what no option says: `what` has plans, or is a pass before the one that was asked for;
 * its other members are left alone. If it has an output, the run lies there, without traces and sources. */
int sn_cli_record_with(const struct sn_args *args, const struct sn_record_options *what,
		       struct sn_record_result *result);

#endif
