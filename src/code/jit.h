/**
 * Code that a program generated while it ran: names from perf-PID.map files and jitdump files.
 */
#ifndef SN_CODE_JIT_H
#define SN_CODE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sn_jit;

/** One piece of generated code. */
struct sn_jit_symbol {
	uint64_t load_addr, size_bytes;
	uint64_t since_ns; /* the jitdump's clock; 0 for map files: from the beginning */
	const char *name;
	const uint8_t *code; /* machine code, or NULL (map files) */
	const char *file;    /* source of its first line, or NULL */
	uint32_t line;
};

/** Reads a perf map ("START SIZE name", hex, one a line) or a jitdump (by its magic). Lines that do
 * not parse are counted, not fatal. SN_ERR_FORMAT if nothing of it can be used. */
sn_status sn_jit_read(const char *path, struct sn_jit **out, struct sn_error *err);
sn_status sn_jit_read_memory(const void *bytes, size_t length, const char *name,
			     struct sn_jit **out, struct sn_error *err);
/** Whether a list was written at or after a time (CLOCK_REALTIME) and is a regular file. A list in
 * /tmp may be left by an earlier process of the same number. */
bool sn_jit_list_is_since(const char *path, int64_t realtime_ns);
void sn_jit_free(struct sn_jit *jit);

/** Lines or records that were left out because they do not parse. */
size_t sn_jit_bad_count(const struct sn_jit *jit);
/** Sorted by load_addr, then since_ns. */
const struct sn_jit_symbol *sn_jit_symbols(const struct sn_jit *jit, size_t *count);
/** The symbol around an address at a time (the latest that began by then; 0: the last of all). */
const struct sn_jit_symbol *sn_jit_symbol_at(const struct sn_jit *jit, uint64_t load_addr,
					     uint64_t time_ns);

#endif
