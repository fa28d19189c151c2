/**
 * One ELF file of x86-64 code: identity, segments, symbols, PLT names, debug companions.
 *
 * An image is read once and does not change. It owns all it points to. Several threads may read one
 * image; opening and freeing are for one thread. Nothing here uses a network. Nothing in the file
 * is trusted: every offset is checked, so a damaged file gives fewer symbols or an error, never a
 * crash.
 *
 * Addresses are link addresses, as the file's program headers have them. The load address in a
 * process is link address + load bias. The bias belongs to the mapping (see sn_image_link_addr).
 */
#ifndef SN_CODE_IMAGE_H
#define SN_CODE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sn_image;

struct sn_image_options {
	/** Folders with .build-id/xx/yyyy.debug files, looked into in order; NULL: /usr/lib/debug.
	 */
	const char *const *debug_folders;
	size_t debug_folder_count;
	/** Ask debuginfod servers for what is in none of them (debuginfod.h). */
	bool ask_debuginfod;
	/** Do not look for a separate debug file (.gnu_debuglink, build-id), nor for
	 * .gnu_debugdata. */
	bool only_this_file;
	/** Look only at what stands around the addresses that are asked for: for a few functions of a
	 * large file. Of such an image ask no lists (symbols, FDEs), and ask in one thread only. Where
	 * the file has no index of its FDEs, it is read whole all the same. */
	bool on_demand;
	/** Where debug sections are kept that had to be unpacked (unpacked.h); NULL: nowhere. */
	const char *unpacked_folder;
	/** Only read what is kept there: of a module that is met for the first time nothing is kept. */
	bool keeps_nothing;
};

/** Opens an ELF file. `options` may be NULL. SN_ERR_UNSUPPORTED: ELF, but 32-bit, big-endian or
 *  not x86-64; SN_ERR_FORMAT: no ELF file, or damaged beyond use; SN_ERR_IO, SN_ERR_NOT_FOUND. */
sn_status sn_image_open(const char *path, const struct sn_image_options *options,
			struct sn_image **out, struct sn_error *err);
/** The same from bytes in memory (a vdso, an archive's member, a fuzzer's input). They are borrowed
 * and must outlive the image. `name` stands in messages and as the path. */
sn_status sn_image_open_memory(const void *bytes, size_t length, const char *name,
			       const struct sn_image_options *options, struct sn_image **out,
			       struct sn_error *err);
void sn_image_free(struct sn_image *image);

/** The version of symbol reading, by which caches go. It is raised when functions get other bounds
 * or names from the same file. */
enum { SN_SYMBOLS_VERSION = 3 };

struct sn_text;
/** The identity of a file (sn_image_id) without a look at its symbols. It also gives a line that
 * differs whenever the debug information in use differs (path, size, time of change). */
sn_status sn_image_identify(const char *path, const struct sn_image_options *options,
			    struct sn_text *id, struct sn_text *debug_state, struct sn_error *err);

/** As given to open. */
const char *sn_image_path(const struct sn_image *image);
/** The identity in every loop id and file name: the build-id in lower-case hex; without one, 'h'
 * and the first 20 bytes (hex) of a hash of the executable segments' bytes and link addresses. */
const char *sn_image_id(const struct sn_image *image);
bool sn_image_has_build_id(const struct sn_image *image);
/** Lowest page of the first PT_LOAD: 0 for PIE and shared objects, 0x400000 for most others.
 * Function offsets in loop ids count from here. */
uint64_t sn_image_link_base(const struct sn_image *image);
/** Text of .GCC.command.line, lines separated by '\n', or NULL. */
const char *sn_image_command_line(const struct sn_image *image);
/** The kind of the file, and what could not be read of it. */
struct sn_image_facts {
	bool is_executable;   /* ET_EXEC, or ET_DYN with an interpreter or DF_1_PIE */
	bool is_static;	      /* executable without an interpreter */
	bool has_symtab;      /* .symtab, here, in the debug file or in .gnu_debugdata */
	bool has_debug_lines; /* .debug_line, here or in the debug file */
	bool has_unwind;      /* .eh_frame */
	bool is_damaged;      /* something pointed outside of the file and was ignored */
	/* of variables of which each thread has its own, padded: in a program they begin so far before the
	 * thread pointer (x86-64's variant II); 0: there are none */
	uint64_t thread_bytes;
};
struct sn_image_facts sn_image_facts(const struct sn_image *image);

/** A PT_LOAD segment. */
struct sn_segment {
	uint64_t link_addr, memory_bytes, file_offset, file_bytes;
	bool is_executable, is_writable;
};
const struct sn_segment *sn_image_segments(const struct sn_image *image, size_t *count);

/** A section that takes memory; segments are cut into such pieces when section headers are missing.
 */
struct sn_section {
	const char *name;
	uint64_t link_addr, size_bytes;
	bool is_executable, is_writable, has_bytes;
};
/** The section around an address, or NULL. */
const struct sn_section *sn_image_section_at(const struct sn_image *image, uint64_t link_addr);

/** Link address of a byte of the file (mappings name file offsets: pc - map start + map offset).
 *  UINT64_MAX if no segment holds it. */
uint64_t sn_image_link_addr(const struct sn_image *image, uint64_t file_offset);

/** The bytes at a link address, borrowed, and how many follow it (`*available`, up to the end of
 * its segment's file part). NULL and 0 where the file has none. */
const uint8_t *sn_image_bytes(const struct sn_image *image, uint64_t link_addr, size_t *available);

/** The value that the dynamic loader (or the linker) puts into the 8 bytes at a link address, as a
 * link address: RELATIVE relocations are applied. `*value` is written on true. */
bool sn_image_pointer(const struct sn_image *image, uint64_t link_addr, uint64_t *value);

enum sn_symbol_kind {
	SN_SYMBOL_FUNCTION, /* STT_FUNC, STT_GNU_IFUNC, or untyped in an executable section */
	SN_SYMBOL_PLT,	    /* a stub; the name ends in "@plt" */
	SN_SYMBOL_FDE,	    /* known from .eh_frame only; no name */
	SN_SYMBOL_GAP,	    /* executable bytes that nothing names */
	SN_SYMBOL_DATA,	    /* STT_OBJECT, STT_TLS is left out */
};

struct sn_symbol {
	uint64_t link_addr;
	uint64_t size_bytes; /* never 0 for code */
	const char *name;    /* linkage name, NULL where there is none; a version is kept as in the
				file: "memcpy@@GLIBC_2.14" is "memcpy" here */
	const char *after;   /* of a gap: the symbol without a size behind which it lies, or NULL */
	const char *file;    /* STT_FILE before a local symbol, or NULL */
	uint8_t kind;	     /* enum sn_symbol_kind */
	bool is_local, is_weak;
	bool is_size_inferred;
	bool is_ifunc; /* the resolver's code, not the chosen implementation */
};

/** Code symbols sorted by link_addr, one for each start address, not overlapping. They cover every
 * executable byte but padding. Of aliases one is chosen so that the answer does not depend on the
 * table's order: local names last, then fewest leading underscores, global before weak, shorter,
 * alphabetical. */
const struct sn_symbol *sn_image_symbols(const struct sn_image *image, size_t *count);
/** The code symbol around an address, or NULL. O(log n). */
const struct sn_symbol *sn_image_symbol_at(const struct sn_image *image, uint64_t link_addr);
/** Every code name in the tables (aliases, labels), by address; what sn_image_symbols was made of.
 */
const struct sn_symbol *sn_image_names(const struct sn_image *image, size_t *count);
/** Whether symbols are read when they are asked for (options' on_demand, and the file has an index). */
bool sn_image_is_on_demand(const struct sn_image *image);
/** Of such an image: whether it has code at all, whether any name may be one of a cold part, and the
 * span of the stubs of its PLT (empty: none). */
bool sn_image_has_code(const struct sn_image *image);
bool sn_image_has_cold_names(const struct sn_image *image);
void sn_image_plt_span(const struct sn_image *image, uint64_t *first, uint64_t *end);
/** Any code symbol of this linkage name (the lowest address), or NULL. */
const struct sn_symbol *sn_image_symbol_named(const struct sn_image *image, const char *name);
/** Data objects, sorted by link_addr; may overlap as in the file. */
const struct sn_symbol *sn_image_data_symbols(const struct sn_image *image, size_t *count);
/** The last of them that begins at or before an address; false: none does. */
bool sn_image_data_symbol_before(const struct sn_image *image, uint64_t link_addr,
				 struct sn_symbol *found);

/** An address range of .eh_frame's tables. */
struct sn_fde {
	uint64_t link_addr, size_bytes;
	uint64_t lsda_link_addr; /* language-specific data (landing pads), 0: none */
};
struct sn_fdes {
	struct sn_fde *items;
	size_t count, capacity;
};
/** Adds those that begin in [first, end), in order; on demand, too. */
void sn_image_fdes_between(const struct sn_image *image, uint64_t first, uint64_t end,
			   struct sn_fdes *fdes);

/** For code/lines.c only: the handle that libdw reads (the debug file's if there is one), or NULL.
 */
struct Dwarf *sn_image_dwarf(struct sn_image *image);

#endif
