/** gmon.out files as glibc writes them (<sys/gmon_out.h>), built byte by byte. */
#ifndef SN_TESTS_EXCHANGE_GMON_FILE_H
#define SN_TESTS_EXCHANGE_GMON_FILE_H

#include <stdint.h>

#include "base/text.h"

static inline void gmon_add(struct sn_text *file, uint64_t value, size_t bytes)
{
	sn_text_add_bytes(file, (const char *)&value, bytes);
}

static inline void gmon_begin(struct sn_text *file)
{
	sn_text_add(file, "gmon");
	gmon_add(file, 1, 4); /* version */
	gmon_add(file, 0, 8);
	gmon_add(file, 0, 4);
}

static inline void gmon_histogram(struct sn_text *file, uint64_t low, uint64_t high,
				  const uint16_t *bins, uint32_t bin_count)
{
	gmon_add(file, 0, 1);
	gmon_add(file, low, 8);
	gmon_add(file, high, 8);
	gmon_add(file, bin_count, 4);
	gmon_add(file, 100, 4); /* ticks a second */
	sn_text_add_bytes(file, "seconds\0\0\0\0\0\0\0\0s", 16);
	sn_text_add_bytes(file, (const char *)bins, bin_count * sizeof(*bins));
}

static inline void gmon_arc(struct sn_text *file, uint64_t from, uint64_t self, uint32_t count)
{
	gmon_add(file, 1, 1);
	gmon_add(file, from, 8);
	gmon_add(file, self, 8);
	gmon_add(file, count, 4);
}

#endif
