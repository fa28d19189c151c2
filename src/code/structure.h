/**
 * Program structure of one module: function > loop nest > basic block, with source lines and
 * inlined frames. This is what every analysis works on.
 *
 * A structure comes from an image (sn_structure_open) or from an extract (extract.h). From an image
 * functions are known at once, and the rest is computed when asked for. An extract has only the
 * functions it was written for, complete. Readers need not know which it is.
 *
 * Pointers into a structure stay valid until it is freed, also when more of it is computed. Equal
 * strings (names, files) are one pointer, so they may be compared and hashed by address. Addresses
 * are link addresses of the module (image.h).
 *
 * A structure is for one thread. Any number of threads may read functions that are prepared while
 * nobody prepares.
 */
#ifndef SN_CODE_STRUCTURE_H
#define SN_CODE_STRUCTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sn_image;
struct sn_structure;
struct sn_function;

/** Half-open: [first_link_addr, end_link_addr). */
struct sn_range {
	uint64_t first_link_addr, end_link_addr;
};

/** A compilation unit: how a piece of the module was compiled. */
struct sn_unit {
	const char *name;     /* source file as given to the compiler */
	const char *folder;   /* DW_AT_comp_dir, or NULL */
	const char *producer; /* DW_AT_producer: compiler, version and (gcc) options; or NULL */
	uint16_t language;    /* DW_LANG_*, 0 unknown */
};

/** A source position from its address up to the next row's. Rows are sorted, and cover each of the
 *  function's ranges from its start; where nothing is known `line` is 0 and `file` NULL. */
struct sn_line {
	uint64_t link_addr;
	const char *file;
	uint32_t line;
	uint16_t column;      /* 0 unknown */
	int32_t inline_index; /* innermost inlined subroutine at these addresses, -1: none */
};

/** A subroutine that was inlined here. Parents come before children. */
struct sn_inline {
	const char *name, *linkage_name; /* as in sn_function; linkage_name may be NULL */
	const char *file;		 /* declaration, or NULL */
	uint32_t line;
	const char *call_file; /* where it is called in its parent, or NULL */
	uint32_t call_line;    /* 0 unknown */
	uint16_t call_column;
	int32_t parent; /* inline index, -1: the function itself */
};

enum sn_block_flags {
	SN_BLOCK_ENTRY = 1, /* control comes from outside: the function's entry or a landing pad */
	SN_BLOCK_CALLS =
		2, /* ends in a call (calls end blocks only if they may not return) or has one */
	SN_BLOCK_RETURNS = 4,	  /* ends in ret */
	SN_BLOCK_LEAVES = 8,	  /* ends in a tail call or a jump out of the function */
	SN_BLOCK_NO_RETURN = 16,  /* ends in a call that does not come back, ud2, hlt */
	SN_BLOCK_INDIRECT = 32,	  /* ends in an indirect jump; its successors are a jump table's */
	SN_BLOCK_UNRESOLVED = 64, /* ends in an indirect jump whose targets are not known */
	SN_BLOCK_SPECULATIVE = 128, /* reached by no known jump: decoded because it lies in a gap */
	/* with INDIRECT: a comparison or a mask on every way to the jump says how long the table is,
	 * and all its entries are in the function: there are no other successors */
	SN_BLOCK_PROVED = 256,
};

/** Instructions that control enters at the first and leaves at the last only. Sorted by link_addr.
 * Blocks overlap only where instructions do. */
struct sn_block {
	uint64_t link_addr;
	uint32_t size_bytes, instruction_count;
	int32_t loop;		  /* innermost loop, -1: none */
	uint32_t first_successor; /* index into the function's successors */
	uint32_t successor_count;
	uint32_t flags; /* enum sn_block_flags */
};

enum sn_loop_role {
	SN_LOOP_MAIN, /* the only one of its source loop, or the one that does most of the work */
	SN_LOOP_PEEL, /* iterations before the main loop (alignment) */
	SN_LOOP_TAIL, /* remainder after it (an epilogue may itself be vectorized) */
	SN_LOOP_VERSION, /* another version of it, chosen at run time (aliasing, unswitching) */
};
/** "main", "peel", "tail", "version". */
const char *sn_loop_role_name(enum sn_loop_role role);

/** Loops nested deeper belong to the one at this depth. */
enum { SN_LOOP_DEPTH_MAX = 128 };

/** A natural loop, or an irreducible region. Parents come before children. */
struct sn_loop {
	const struct sn_function *function;
	uint32_t index; /* in function->loops */
	int32_t parent; /* index of the enclosing loop in function->loops, -1: none */
	uint16_t depth; /* from 1 */
	bool is_innermost;
	bool is_irreducible; /* can be entered elsewhere than at its header */
	uint64_t header_link_addr;
	const struct sn_range
		*ranges; /* the body with all nested loops: sorted, disjoint, non-adjacent */
	uint32_t range_count;
	uint32_t block_count;	    /* nested loops' blocks included */
	uint32_t instruction_count; /* likewise */
	uint32_t latch_count;	    /* jumps back to the header */
	uint32_t exit_count;	    /* edges that leave */
	/* source: of the function or inlined subroutine that the loop was written in */
	const char *file;		/* NULL unknown */
	uint32_t line_first, line_last; /* 0 unknown */
	int32_t inline_index; /* the inlined subroutine the loop was written in, -1: the function
				 itself */
	const char *label; /* "file.c:41-57" (base name), "file.c:41"; without lines "NAME+0x1a0" */
	const char *id;	   /* "BUILDID:FUNCTION:HEADER", see sn_function_id */
	/* how it came from the source loop */
	uint8_t role;	 /* enum sn_loop_role */
	uint32_t group;	 /* index of the main loop of its source loop; equals `index` for that */
	uint16_t unroll; /* source iterations in one pass, vector lanes included; 0: not known */
	uint16_t vector_bytes; /* widest register used for packed arithmetic or moves; 0: scalar */
};

/** The main loop of its source loop; itself where it is that. */
const struct sn_loop *sn_loop_main(const struct sn_loop *loop);

/** Bytes of its machine code, nested loops included. */
uint64_t sn_loop_size_bytes(const struct sn_loop *loop);
/** The inlined subroutine that it was written in; NULL: the function itself. */
const char *sn_loop_inlined_from(const struct sn_loop *loop);

/** How a function was found. */
enum sn_function_kind {
	SN_FUNCTION_SYMBOL, /* named by a symbol */
	SN_FUNCTION_PLT,    /* a stub of the linker: "name@plt" */
	SN_FUNCTION_FDE,    /* known from .eh_frame only: "<function at 0x1a0>" */
	SN_FUNCTION_GAP,    /* executable bytes that nothing names: "<code at 0x1a0>" */
};

/** A concrete function: code of its own in the module. */
struct sn_function {
	uint32_t index;		  /* in the structure; sorted by link_addr */
	uint8_t kind;		  /* enum sn_function_kind */
	bool has_lines, has_code; /* what was prepared (enum sn_prepare) */
	const char *name;	  /* demangled, "ns::f(int)"; never NULL */
	const char *linkage_name;
	uint64_t link_addr; /* entry */
	/** The range of the entry first, then parts split off (".cold"), by address. */
	const struct sn_range *ranges;
	uint32_t range_count;
	uint64_t size_bytes; /* sum of the ranges */
	/* SN_PREPARE_LINES */
	const char *file;    /* of the declaration; NULL unknown */
	uint32_t line;	     /* of the declaration; 0 unknown */
	uint32_t entry_line; /* of the first row at the entry, often the opening brace; 0 unknown */
	const struct sn_unit *unit; /* NULL without DWARF */
	const struct sn_line *lines;
	uint32_t line_count;
	const struct sn_inline *inlines;
	uint32_t inline_count;
	/* SN_PREPARE_CODE */
	const struct sn_block *blocks;
	uint32_t block_count;
	const uint32_t *successors; /* block indices */
	uint32_t successor_count;
	const struct sn_loop *loops;
	uint32_t loop_count;
	bool never_returns;
};

/** A structure over an image, which it borrows (free the structure first). Cheap: it names
 * functions, joins cold parts to their parents, and reads no DWARF. */
sn_status sn_structure_open(struct sn_image *image, struct sn_structure **out,
			    struct sn_error *err);
void sn_structure_free(struct sn_structure *structure);

/** Identity, see sn_image_id; path as opened. */
const char *sn_structure_id(const struct sn_structure *structure);
const char *sn_structure_path(const struct sn_structure *structure);
/** The text that says how a function was compiled (code/options.h): its unit's producer if that has
 * options, else the file's command lines, else NULL. `function` may be NULL. */
const char *sn_function_options(const struct sn_structure *structure,
				const struct sn_function *function);
/** One sentence on what is missing and matters ("no symbols: functions are named by address"), or
 * NULL. */
const char *sn_structure_warning(const struct sn_structure *structure);

size_t sn_structure_function_count(const struct sn_structure *structure);
/** The function of this index. It may not be prepared yet. */
const struct sn_function *sn_structure_function(const struct sn_structure *structure, size_t index);
/** The function around an address (its cold parts too), or NULL. O(log n). */
const struct sn_function *sn_structure_function_at(const struct sn_structure *structure,
						   uint64_t link_addr);

enum sn_prepare {
	SN_PREPARE_LINES = 1, /* DWARF: lines, inlined subroutines, declaration, unit */
	SN_PREPARE_CODE = 2, /* blocks, loops (their source ranges need SN_PREPARE_LINES as well) */
	SN_PREPARE_ALL = 3,
};
/** Computes what is asked for the functions around `count` addresses, in any order, repeats
 * allowed. Each compilation unit is read once in a call, for all of its functions; so give every
 * address in one call. What is already there is kept. Damaged DWARF gives fewer lines, never an
 * error. */
void sn_structure_prepare(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
			  enum sn_prepare what);
/** Computes what is asked for every function of the module. */
void sn_structure_prepare_all(struct sn_structure *structure, enum sn_prepare what);
/** Computes what is asked for one function; does nothing where it is there. */
void sn_function_prepare(struct sn_structure *structure, const struct sn_function *function,
			 enum sn_prepare what);

enum { SN_FRAMES_MAX = 64 };

/** A (possibly inlined) function and where it stands: the source position of the address for the
 * innermost, of the call below for the others. */
struct sn_source_frame {
	const char *name, *linkage_name; /* linkage_name may be NULL for inlined ones */
	const char *decl_file;		 /* of the function's declaration, or NULL */
	uint32_t decl_line;
	const char *file; /* NULL unknown */
	uint32_t line;	  /* 0 unknown */
	uint16_t column;
	bool is_inlined; /* false for the last frame only */
};

struct sn_location {
	const struct sn_function *function; /* the concrete one */
	const struct sn_block *block;	    /* NULL: no code decoded there */
	const struct sn_loop *loop;	    /* innermost, or NULL */
	uint32_t frame_count;		    /* at least 1 */
	struct sn_source_frame
		frames[SN_FRAMES_MAX]; /* innermost first; the last is the concrete function */
};

/** The function, line, loop and frames of an address. It prepares the function if need be; that is
 * slow for many addresses, which are better prepared together first. False, with nothing written,
 * if no function of this structure holds it. */
bool sn_structure_locate(struct sn_structure *structure, uint64_t link_addr,
			 struct sn_location *out);

/** As above, without frames (cheaper): only reads, so NULL where it is not prepared. */
const struct sn_loop *sn_function_loop_at(const struct sn_function *function, uint64_t link_addr);
const struct sn_block *sn_function_block_at(const struct sn_function *function, uint64_t link_addr);
const struct sn_line *sn_function_line_at(const struct sn_function *function, uint64_t link_addr);

/** Machine code at an address, borrowed, with how many bytes follow; NULL and 0 where there are
 * none. */
const uint8_t *sn_structure_bytes(const struct sn_structure *structure, uint64_t link_addr,
				  size_t *available);

/** The text of a source file named by a line, an inline or a loop; borrowed, zero-terminated. From
 * the extract if it was embedded, else from disk (through the prefix maps). NULL if it cannot be
 * had. */
const char *sn_structure_source(struct sn_structure *structure, const char *file, size_t *length);
/** Source paths that begin with `from` are looked for under `to` (the last one added wins). */
void sn_structure_map_source(struct sn_structure *structure, const char *from, const char *to);

/** "BUILDID:FUNCTION", as the ids of its loops begin: "BUILDID:FUNCTION:HEADER". Both are hex numbers.
 * FUNCTION counts from the link base, HEADER from the function. It may be negative ("-1a0": the
 * header lies in a cold part before the entry). */
const char *sn_function_id(struct sn_structure *structure, const struct sn_function *function);

#endif
