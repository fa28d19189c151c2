/**
 * Module extracts: what is needed of a module to show an experiment after binary, debug file and
 * sources are gone. One zstd-compressed file; docs/format/extract.md tells its bytes.
 *
 * It holds the functions around given addresses, complete: names, ranges, code bytes, lines,
 * inlined subroutines, blocks, loops; their units' compile options; and, if asked, the text of the
 * source files that their lines name.
 */
#ifndef SN_CODE_EXTRACT_H
#define SN_CODE_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "code/structure.h"

struct sn_extract_options {
	bool with_source;	  /* embed source text */
	size_t source_file_bytes; /* files above this are left out; 0: 4 MiB */
};

/** Writes the functions around `count` addresses (prepared here if they are not; addresses in no
 * function are left out) under a temporary name, then renames. `options` may be NULL. */
sn_status sn_extract_write(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
			   const struct sn_extract_options *options, const char *path,
			   struct sn_error *err);

/** Reads an extract. SN_ERR_FORMAT for damage (every byte is covered by a checksum),
 * SN_ERR_UNSUPPORTED for a newer version. The result is a structure like any other. */
sn_status sn_extract_read(const char *path, struct sn_structure **out, struct sn_error *err);
/** The twin over bytes, which need not outlive the call. */
sn_status sn_extract_read_memory(const void *bytes, size_t length, const char *name,
				 struct sn_structure **out, struct sn_error *err);

/** Opens the module at `path` for these addresses through the cache: an extract in
 *  $XDG_CACHE_HOME/sonde/extracts (else ~/.cache/...) named by identity, that is used if it covers
 * all addresses, and is else (re)written with the union of its functions and the asked ones. The
 * cache is only ever an optimisation: damaged, old or unwritable, the answer is the same. `*image`
 * (may be NULL) is the image if it had to be opened, which the caller frees after the structure;
 * NULL otherwise. */
struct sn_image_options;
sn_status sn_structure_open_cached(const char *path, const struct sn_image_options *options,
				   const uint64_t *link_addrs, size_t count,
				   struct sn_structure **out, struct sn_error *err);

#endif
