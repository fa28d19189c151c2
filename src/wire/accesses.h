/**
 * Memory accesses of loop instances: what a trace records, and how it is read (docs/format/accesses.md).
 *
 * A copy of a loop writes words of 64 bits (wire/plan.h), in the order of the program. They make sense
 * with the loop's table, which says where its instructions access memory:
 *
 *   [table][sites][groups][lines][members]
 *
 * A word that begins something is a marker: its kind, and a number. A group is some accesses that
 * follow each other: its marker, then an address for each. A line is a loop without branches in it:
 * where it is entered there are its marker, the counting register, and the first address of each
 * access that moves by a constant; where it is left there are its marker and the counting register
 * again. Between the two are the groups of its other accesses.
 *
 * A window is one instance of a loop: records ACCESSES of one thread, one after the other.
 */
#ifndef SN_WIRE_ACCESSES_H
#define SN_WIRE_ACCESSES_H

#include "wire/data.h"

/** What an instruction does at an address: bits. */
enum sn_access_kind {
	SN_ACCESS_READ = 1,
	SN_ACCESS_WRITE = 2,
	SN_ACCESS_BOTH = 3, /* reads, then writes the same bytes */
};

/** Kinds of markers, in bits 28 to 30. The other bits are a number. */
enum sn_access_marker {
	SN_ACCESS_GROUP = 1, /* of the group */
	SN_ACCESS_ENTER = 2, /* of the line */
	SN_ACCESS_LEAVE = 3, /* of the line << 12 | what was left (below) */
};
enum {
	SN_ACCESS_MARKER_SHIFT = 28,
	SN_ACCESS_LINE_SHIFT = 12,
	SN_ACCESS_LINES_MAX = 1 << 16,
	SN_ACCESS_LINE_BLOCKS_MAX = 4000,
	/* left before an iteration began; else 1 + the last block that was done, in the line's order */
	SN_ACCESS_AT_HEADER = 0,
	SN_ACCESS_TABLE_MAX = 1 << 20, /* bytes */
	SN_ACCESS_WORDS_MAX = 480,     /* of a record */
	SN_ACCESS_PART_MAX = 3840,     /* bytes of a table in a record */
};

/** The head of a loop's table. */
struct sn_access_table {
	uint32_t site_count, group_count, line_count, member_count;
};

/** An operand in memory. */
struct sn_access_site {
	uint64_t link_addr;   /* of the instruction */
	int64_t stride_bytes; /* of a line's own: from one iteration to the next */
	uint32_t size_bytes;
	uint32_t kind; /* enum sn_access_kind */
};

struct sn_access_group {
	uint32_t first_site, site_count;
};

struct sn_access_line {
	uint32_t first_member, member_count; /* in the order of the program */
	int64_t step;			     /* of the counting register, once an iteration */
	uint32_t step_block;		     /* the block that makes the step */
	uint32_t first_count;		     /* members with first addresses */
};

/** What a line does in each iteration. */
struct sn_access_member {
	uint32_t index; /* of a site, whose first address is noted; or of a group */
	uint16_t is_group;
	uint16_t block; /* of the line, in its order */
};

/** A part of a loop's table. */
struct sn_record_access_table {
	struct sn_record_header header;
	uint32_t loop; /* index in the process, as in INSTANCES */
	uint32_t offset, total_bytes;
	uint8_t bytes[]; /* up to the end of the record, or of the table */
};

enum sn_record_access_flags {
	SN_ACCESS_FIRST = 1, /* a window begins */
	SN_ACCESS_LAST = 2,  /* it ends */
	SN_ACCESS_CUT = 4,   /* accesses are missing behind this */
};

/** A part of a window. */
struct sn_record_accesses {
	struct sn_record_header header; /* flags: enum sn_record_access_flags */
	uint32_t stack;			/* of one frame: the loop's header */
	uint32_t loop;
	uint32_t word_count;
	uint64_t number; /* of the loop's instances in the thread, from 0 */
	int64_t time_ns; /* of its begin if it is the first, else of now */
	int64_t end_ns;	 /* now */
	uint64_t words[];
};

/** Where a thread's own variables lie: before its thread pointer. Written before its first window. */
struct sn_record_thread_pointer {
	struct sn_record_header header;
	uint32_t reserved;
	uint64_t thread_pointer;
};

_Static_assert(sizeof(struct sn_access_site) == 24, "no padding in a table");
_Static_assert(sizeof(struct sn_access_line) == 24, "no padding in a table");
_Static_assert(sizeof(struct sn_access_member) == 8, "no padding in a table");
_Static_assert(sizeof(struct sn_record_accesses) == 40, "no padding in a record");

#endif
