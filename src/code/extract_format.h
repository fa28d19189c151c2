/**
 * The bytes of a module extract (docs/format/extract.md), shared by its writer and its reader.
 */
#ifndef SN_CODE_EXTRACT_FORMAT_H
#define SN_CODE_EXTRACT_FORMAT_H

#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "code/extract.h"
#include "code/structure_parts.h"

#define SN_EXTRACT_MAGIC "SNDXTRCT"

enum {
	/* A reader takes this version and all before it. From version 2 on, a loop's record begins
	   with its length, and may have more members than these, or fewer. */
	SN_EXTRACT_VERSION = 2,
	SN_EXTRACT_VERSION_OF_LENGTHS = 2,
	/* The first so many members of SN_EXTRACT_LOOP are in every extract: version 1 has no
	   others. */
	SN_EXTRACT_LOOP_FIRST = 18,
	SN_EXTRACT_HEADER_BYTES = 40,
	/* A payload may not claim to be larger than this for each compressed byte, nor than that in
	   all. */
	SN_EXTRACT_RATIO_MAX = 4096,
};
#define SN_EXTRACT_PAYLOAD_MAX (UINT64_C(8) << 30)

enum sn_extract_function_flags {
	SN_EXTRACT_HAS_LINES = 1,
	SN_EXTRACT_HAS_CODE = 2,
	SN_EXTRACT_NEVER_RETURNS = 4,
};

enum sn_extract_loop_flags { SN_EXTRACT_INNERMOST = 1, SN_EXTRACT_IRREDUCIBLE = 2 };

/** The members of a loop that an extract stores, in order. The writer and the reader each make
 * their code from this list. X(how, member, bound): `bound` is what the reader takes at most (of an
 * index: less than), in its own terms. `flags` and `ranges` stand for more than one member.
 *
 * A new member goes to the end and is a UINT, an INDEX or a STRING. It needs no new version. A
 * reader skips members that it does not know. In an extract that lacks a member it is 0, -1 or NULL:
 * let that mean "unknown". What stands here stays, and keeps its place and its meaning. */
#define SN_EXTRACT_LOOP(X)                                                                         \
	X(INDEX, parent, index)                                                                    \
	X(UINT, depth, UINT16_MAX)                                                                 \
	X(FLAGS, flags, SN_EXTRACT_INNERMOST | SN_EXTRACT_IRREDUCIBLE)                             \
	X(ADDRESS, header_link_addr, 0)                                                            \
	X(RANGES, ranges, 0)                                                                       \
	X(UINT, block_count, UINT32_MAX)                                                           \
	X(UINT, instruction_count, UINT32_MAX)                                                     \
	X(UINT, latch_count, UINT32_MAX)                                                           \
	X(UINT, exit_count, UINT32_MAX)                                                            \
	X(STRING, file, 0)                                                                         \
	X(UINT, line_first, UINT32_MAX)                                                            \
	X(UINT, line_last, UINT32_MAX)                                                             \
	X(INDEX, inline_index, function->inline_count)                                             \
	X(STRING, label, 0)                                                                        \
	X(UINT, role, SN_LOOP_VERSION)                                                             \
	X(UINT, group, count - 1)                                                                  \
	X(UINT, unroll, UINT16_MAX)                                                                \
	X(UINT, vector_bytes, UINT16_MAX)

/** Covers the header's other fields and all bytes behind it. */
static inline uint64_t sn_extract_hash(uint64_t version, uint64_t payload_bytes,
				       uint64_t compressed_bytes, const void *compressed)
{
	uint64_t parts[4] = { version, payload_bytes, compressed_bytes,
			      sn_hash_bytes(compressed, compressed_bytes) };

	return sn_hash_bytes(parts, sizeof(parts));
}

/** The length of the extract that bytes begin with; 0: they begin with none, or it is cut short. */
size_t sn_extract_length(const void *bytes, size_t length);

/** Prepares the functions around addresses and marks them by index. Stubs of the linkage table that
 * they call or jump to are marked, too, so that their machine code reads "call malloc@plt" without
 * the module. */
void sn_extract_want(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
		     uint8_t *is_wanted);
/** Functions for an extract, of structures of one module (what a cache had and what was missing):
 * sorted by entry, each once. */
struct sn_extract_functions {
	struct sn_extract_function {
		struct sn_structure *structure; /* that has its code */
		const struct sn_function *function;
	} * items;
	size_t count, capacity;
};
/** Adds the marked functions of a structure. */
void sn_extract_add(struct sn_extract_functions *to, struct sn_structure *structure,
		    const uint8_t *is_wanted);
/** Adds all functions of a structure that was read from an extract. */
void sn_extract_add_all(struct sn_extract_functions *to, struct sn_structure *structure);
/** Sorts; of functions that were added twice the first stays. */
void sn_extract_settle(struct sn_extract_functions *functions);

/** The whole file as bytes. What is not of a function comes from `structure`. The caller frees
 * `out`. `debug_state` and `misses` are for the cache and may be NULL and empty. */
void sn_extract_pack(struct sn_structure *structure, const struct sn_extract_functions *functions,
		     const struct sn_extract_options *options, const char *debug_state,
		     const uint64_t *misses, size_t miss_count, struct sn_text *out);
/** Packs for an experiment and writes. */
sn_status sn_extract_save(struct sn_structure *structure,
			  const struct sn_extract_functions *functions,
			  const struct sn_extract_options *options, const char *path,
			  struct sn_error *err);

#endif
