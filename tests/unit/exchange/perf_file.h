/**
 * perf.data files built byte by byte, after the kernel's perf.data-file-format.txt and
 * perf_event_open(2): one event, cpu-clock at 1000 Hz, whose samples have ip, tid, time, cpu,
 * period and a callchain; other records end in tid, time and cpu.
 */
#ifndef SN_TESTS_EXCHANGE_PERF_FILE_H
#define SN_TESTS_EXCHANGE_PERF_FILE_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum {
	PERF_LOST = 2,
	PERF_COMM,
	PERF_EXIT,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2,
	PERF_SAMPLE_TYPE = 1 | 2 | 4 | 32 | 128 | 256,
	PERF_ATTR_BYTES = 112,
	PERF_HEADER_BYTES = 104,
	PERF_MISC_USER = 2,
	PERF_MISC_EXEC = 1 << 13,
};

struct perf_file {
	struct sn_text bytes; /* header, description of the event, records */
	size_t record;	      /* where the open record begins */
};

static inline void perf_add(struct perf_file *f, uint64_t value, size_t bytes)
{
	sn_text_add_bytes(&f->bytes, (const char *)&value, bytes);
}

static inline void perf_set(struct perf_file *f, size_t at, uint64_t value, size_t bytes)
{
	memcpy(f->bytes.chars + at, &value, bytes);
}

static inline void perf_begin(struct perf_file *f)
{
	*f = (struct perf_file){ 0 };
	sn_text_add(&f->bytes, "PERFILE2");
	perf_add(f, PERF_HEADER_BYTES, 8);
	perf_add(f, PERF_ATTR_BYTES + 16, 8);
	perf_add(f, PERF_HEADER_BYTES, 8); /* events: where, bytes */
	perf_add(f, PERF_ATTR_BYTES + 16, 8);
	perf_add(f, PERF_HEADER_BYTES + PERF_ATTR_BYTES + 16, 8); /* records: where, bytes */
	sn_text_add_repeated(&f->bytes, '\0', 8 + 16 + 32);
	perf_add(f, 1, 4); /* a software event: the CPU's clock */
	perf_add(f, PERF_ATTR_BYTES, 4);
	perf_add(f, 0, 8);
	perf_add(f, 1000, 8); /* hertz */
	perf_add(f, PERF_SAMPLE_TYPE, 8);
	perf_add(f, 0, 8);
	perf_add(f, 1 << 10 | 1 << 18, 8); /* it is a frequency; identities end the records */
	sn_text_add_repeated(&f->bytes, '\0', PERF_ATTR_BYTES - 48);
	perf_add(f, 0, 8); /* identities of the event: none */
	perf_add(f, 0, 8);
}

static inline void perf_record(struct perf_file *f, uint32_t type, uint16_t misc)
{
	f->record = f->bytes.length;
	perf_add(f, type, 4);
	perf_add(f, misc, 2);
	perf_add(f, 0, 2); /* bytes: set at its end */
}

static inline void perf_record_end(struct perf_file *f)
{
	perf_set(f, f->record + 6, f->bytes.length - f->record, 2);
	perf_set(f, 48, f->bytes.length - PERF_HEADER_BYTES - PERF_ATTR_BYTES - 16, 8);
}

static inline void perf_identity_end(struct perf_file *f, int32_t pid, int32_t tid, int64_t time_ns)
{
	perf_add(f, (uint32_t)pid, 4);
	perf_add(f, (uint32_t)tid, 4);
	perf_add(f, (uint64_t)time_ns, 8);
	perf_add(f, 0, 8); /* cpu */
	perf_record_end(f);
}

static inline void perf_string(struct perf_file *f, const char *chars)
{
	size_t length = strlen(chars) + 1;

	sn_text_add_bytes(&f->bytes, chars, length);
	sn_text_add_repeated(&f->bytes, '\0', (8 - length % 8) % 8);
}

static inline void perf_comm(struct perf_file *f, int32_t tid, const char *name, int64_t time_ns)
{
	perf_record(f, PERF_COMM, PERF_MISC_EXEC);
	perf_add(f, 100, 4);
	perf_add(f, (uint32_t)tid, 4);
	perf_string(f, name);
	perf_identity_end(f, 100, tid, time_ns);
}

static inline void perf_map(struct perf_file *f, uint64_t load_addr, uint64_t length,
			    uint64_t file_offset, const char *path, int64_t time_ns)
{
	perf_record(f, PERF_MMAP2, PERF_MISC_USER);
	perf_add(f, 100, 4);
	perf_add(f, 100, 4);
	perf_add(f, load_addr, 8);
	perf_add(f, length, 8);
	perf_add(f, file_offset, 8);
	sn_text_add_repeated(&f->bytes, '\0', 24); /* device, inode, generation */
	perf_add(f, 5, 4);			   /* PROT_READ | PROT_EXEC */
	perf_add(f, 2, 4);
	perf_string(f, path);
	perf_identity_end(f, 100, 100, time_ns);
}

/** `type`: PERF_FORK or PERF_EXIT of a thread. */
static inline void perf_life(struct perf_file *f, uint32_t type, int32_t tid, int64_t time_ns)
{
	perf_record(f, type, 0);
	perf_add(f, 100, 4);
	perf_add(f, 100, 4);
	perf_add(f, (uint32_t)tid, 4);
	perf_add(f, 100, 4);
	perf_add(f, (uint64_t)time_ns, 8);
	perf_identity_end(f, 100, tid, time_ns);
}

static inline void perf_lost(struct perf_file *f, uint64_t count, int64_t time_ns)
{
	perf_record(f, PERF_LOST, 0);
	perf_add(f, 0, 8);
	perf_add(f, count, 8);
	perf_identity_end(f, 100, 100, time_ns);
}

/** `chain`: the pc first, then return addresses. */
static inline void perf_sample(struct perf_file *f, int32_t tid, int64_t time_ns, uint64_t period,
			       const uint64_t *chain, size_t chain_count)
{
	perf_record(f, PERF_SAMPLE, PERF_MISC_USER);
	perf_add(f, chain[0], 8);
	perf_add(f, 100, 4);
	perf_add(f, (uint32_t)tid, 4);
	perf_add(f, (uint64_t)time_ns, 8);
	perf_add(f, 3, 8); /* cpu */
	perf_add(f, period, 8);
	perf_add(f, chain_count + 1, 8);
	perf_add(f, (uint64_t)-512, 8); /* what follows is of user mode */
	sn_text_add_bytes(&f->bytes, (const char *)chain, chain_count * 8);
	perf_record_end(f);
}

#endif
