/**
 * Module extracts: what is needed of a module to show an experiment after binary, debug file and
 * sources are gone. An extract is one zstd-compressed file; docs/format/extract.md describes its
 * bytes.
 *
 * It holds the functions around given addresses, complete: names, ranges, code bytes, lines,
 * inlined subroutines, blocks and loops. It also holds their units' compile options. If asked, it
 * holds the text of the source files that their lines name.
 */
#ifndef SN_CODE_EXTRACT_H
#define SN_CODE_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
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
 * SN_ERR_UNSUPPORTED for a newer version; older ones are read. The result is a structure like any other. */
sn_status sn_extract_read(const char *path, struct sn_structure **out, struct sn_error *err);
/** The same from bytes in memory, which need not outlive the call. */
sn_status sn_extract_read_memory(const void *bytes, size_t length, const char *name,
				 struct sn_structure **out, struct sn_error *err);

/** Adds an extract's bytes without the text of source files to `out`. Errors as sn_extract_read. */
sn_status sn_extract_drop_source(const void *bytes, size_t length, const char *name,
				 struct sn_text *out, struct sn_error *err);

/**
 * The code of the module at `path` around addresses, through a cache. The cache holds extracts,
 * named by identity, in $XDG_CACHE_HOME/sonde/extracts (~/.cache/... if unset). Functions in the
 * cache are taken from there if the debug information and this version of sonde are the same. The
 * rest is read from the module, and the cache then holds both.
 *
 * The cache is an optimisation only: where it is damaged, old or not writable, the answer is the
 * same. It keeps to 512 MB; the files that were not used for longest are removed.
 */
struct sn_image_options;
struct sn_module_code;
sn_status sn_module_code_open(const char *path, const struct sn_image_options *options,
			      const uint64_t *link_addrs, size_t count, struct sn_module_code **out,
			      struct sn_error *err);
void sn_module_code_free(struct sn_module_code *code);
/** See sn_image_id, sn_image_has_build_id. */
const char *sn_module_code_id(const struct sn_module_code *code);
bool sn_module_code_has_build_id(const struct sn_module_code *code);
/** As sn_extract_write, for the addresses that it was opened for. */
sn_status sn_module_code_write(struct sn_module_code *code,
			       const struct sn_extract_options *options, const char *path,
			       struct sn_error *err);

/** The same as a structure. It is always made from an extract: it needs no image, and its source is
 * read from disk. */
sn_status sn_structure_open_cached(const char *path, const struct sn_image_options *options,
				   const uint64_t *link_addrs, size_t count,
				   struct sn_structure **out, struct sn_error *err);

#endif
