/**
 * Reading a perf.data file: what perf record wrote, as events in the order of time.
 *
 * The layout is that of the kernel's tools/perf/Documentation/perf.data-file-format.txt and of
 * perf_event_open(2). The bytes are not trusted: what does not fit is left out and counted.
 */
#ifndef SN_EXCHANGE_PERF_DATA_H
#define SN_EXCHANGE_PERF_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"

enum { SN_PERF_REGS_MAX = 24, SN_PERF_PATH_MAX = 4096 };

enum sn_perf_kind {
	SN_PERF_MAP,
	SN_PERF_COMM, /* a name; with is_exec a new program */
	SN_PERF_FORK,
	SN_PERF_EXIT,
	SN_PERF_SAMPLE,
	SN_PERF_LOST,
};

/** One event; pointers borrow from the file. */
struct sn_perf_event {
	enum sn_perf_kind kind;
	int64_t time_ns; /* 0: before everything (what perf found when it started) */
	int32_t pid, tid;
	uint16_t cpu;
	/* MAP */
	uint64_t load_addr, length, file_offset;
	const uint8_t *build_id;
	uint8_t build_id_bytes;
	const char *name; /* path, or thread name */
	bool is_exec, is_executable;
	/* FORK, EXIT */
	int32_t parent_pid, parent_tid;
	/* LOST */
	uint64_t lost;
	/* SAMPLE */
	uint64_t ip, period;
	bool is_kernel;
	uint64_t chain_count;
	const uint8_t *chain; /* words, markers among them */
	bool has_regs;
	uint64_t regs[SN_PERF_REGS_MAX]; /* in the kernel's order (asm/perf_regs.h), by number */
	const uint8_t *stack;		 /* copied from the stack pointer upwards */
	uint64_t stack_bytes;
};

struct sn_perf_build_id {
	const char *path;
	const uint8_t *bytes;
	uint8_t length;
};

struct sn_perf_place; /* where an event lies, and its time */

struct sn_perf_data {
	struct sn_arena arena;
	struct sn_file_view file;
	struct sn_text unpacked;			       /* what compressed records held */
	const char *hostname, *kernel, *cpu_model, *arguments; /* NULL: not in the file */
	const char *event;   /* what was sampled: "cpu-clock", "cycles", "event 4:1c2" */
	bool event_is_time;  /* its periods are nanoseconds */
	double frequency_hz; /* asked for; 0: a fixed period */
	uint64_t sample_period;
	bool has_stacks;       /* DWARF chains: registers and stack of each sample */
	uint32_t other_events; /* that the file has too and that are not read */
	uint64_t damaged;
	SN_VEC(struct sn_perf_build_id) build_ids;
	/* of the reader */
	uint64_t sample_type, regs_mask, read_format, branch_type;
	bool has_sample_id;
	SN_VEC(uint64_t) ids; /* of the event that is read */
	struct sn_perf_place *places;
	size_t place_count, place_capacity;
};

/** Opens a file and sorts its events. SN_ERR_FORMAT: no perf.data, or damaged beyond use;
 *  SN_ERR_UNSUPPORTED: written to a pipe, of another machine's byte order, without times. */
sn_status sn_perf_data_open(const char *path, struct sn_perf_data *data, struct sn_error *err);
/** The same from bytes in memory, which are borrowed. */
sn_status sn_perf_data_open_memory(const void *bytes, size_t length, struct sn_perf_data *data,
				   struct sn_error *err);
void sn_perf_data_free(struct sn_perf_data *data);

/** The event at `index` in time; false if it is damaged, or of an event that is not read. */
bool sn_perf_data_event(struct sn_perf_data *data, size_t index, struct sn_perf_event *out);

/** Experiments from perf.data files: see perf_import.c. */
struct sn_perf_import {
	const char *output; /* folder; NULL: sonde.NAME.N here */
	const char *label;
};
struct sn_perf_import_result {
	struct sn_text path;
	uint64_t samples, without_stack;
	sn_strings warnings;
};
sn_status sn_perf_import(const char *path, const struct sn_perf_import *how,
			 struct sn_perf_import_result *result, struct sn_error *err);

#endif
