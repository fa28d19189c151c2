/**
 * The counters of record -e: from a name to what the kernel is asked for, tried before the target starts;
 * and the events beside them that only count, by which samples are reconciled.
 *
 * Names are those of perf, those of the Collector (cycles, insts, dcm ...), rUUEE (umask and event in hex),
 * and libpfm4's for this processor, if that library is installed.
 */
#ifndef SN_RECORD_COUNTERS_H
#define SN_RECORD_COUNTERS_H

#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "experiment/launch.h"
#include "wire/counters.h"

struct sn_counters {
	struct sn_counter_spec specs[SN_COUNTERS_MAX];
	uint32_t count;
};

/** Reads "EVENT[:PERIOD|:hi|:on|:lo],..", '+' before a name for data addresses, and opens each as a thread
 *  of the target will. SN_ERR_USAGE: a name or period that is none; SN_ERR_UNSUPPORTED: it cannot be had
 *  here, with the reason. */
sn_status sn_counters_read(const char *list, struct sn_counters *out, struct sn_error *err);

/** As the runtime reads them: "...,..." */
void sn_counters_add_text(const struct sn_counters *counters, struct sn_text *text);

/** Events of a process that stands before its exec and of all that it will start, from that exec on; -1 in
 *  place of one that is not counted: the processor's own counters are too few for that. */
void sn_counters_count_begin(const struct sn_counters *counters, pid_t pid,
			     int fds[SN_COUNTERS_MAX]);
/** Ends them: what each counted goes to the launch. A part of a run cannot be held against the whole, so of one
 *  that was measured in part it is unknown. */
void sn_counters_count_end(const struct sn_counters *counters, const int fds[SN_COUNTERS_MAX],
			   struct sn_launch *launch);

/** A counter that can be named here. */
struct sn_counter_listed {
	enum sn_counter_kind { SN_COUNTER_ALIAS, SN_COUNTER_SOFTWARE, SN_COUNTER_RAW } kind;
	char *name;
	char *title;	 /* in words; "" if none are known */
	char *alias_for; /* NULL: it is none */
	uint64_t period; /* at which it overflows unless said */
	bool is_clock;	 /* it counts cycles or ns */
	bool has_addresses;
	char *refusal; /* why it cannot be had; NULL: it can */
};

struct sn_counter_list {
	SN_VEC(struct sn_counter_listed) items; /* by kind */
	const char *library;			/* why raw names are not known; NULL: they are */
};

/** All names. Raw ones are tried as one: if the first cannot be opened, none can. */
void sn_counters_list(struct sn_counter_list *out);
void sn_counter_list_free(struct sn_counter_list *list);

#endif
