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
	SN_EXTRACT_VERSION = 1,
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

/** Covers the header's other fields and all bytes behind it. */
static inline uint64_t sn_extract_hash(uint64_t payload_bytes, uint64_t compressed_bytes,
				       const void *compressed)
{
	uint64_t parts[4] = { SN_EXTRACT_VERSION, payload_bytes, compressed_bytes,
			      sn_hash_bytes(compressed, compressed_bytes) };

	return sn_hash_bytes(parts, sizeof(parts));
}

/** Marks, by function index, and prepares the stubs of the linkage table that marked functions call
 * or jump to, so that their machine code reads "call malloc@plt" without the module, too. */
void sn_extract_want_stubs(struct sn_structure *structure, uint8_t *is_wanted);
/** The whole file as bytes, for the cache, which need not go through a file. The caller frees
 * `out`. `debug_state` and `misses` are for the cache and may be NULL and empty. */
void sn_extract_pack(struct sn_structure *structure, const uint32_t *functions, size_t count,
		     const struct sn_extract_options *options, const char *debug_state,
		     const uint64_t *misses, size_t miss_count, struct sn_text *out);

#endif
