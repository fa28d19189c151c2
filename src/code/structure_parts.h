/**
 * A structure from the inside: what structure.c, lines.c, cfg.c, jump_tables.c, loops.c and
 * extract.c share.
 */
#ifndef SN_CODE_STRUCTURE_PARTS_H
#define SN_CODE_STRUCTURE_PARTS_H

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "code/decode.h"
#include "code/image.h"
#include "code/structure.h"

/** A function's range, for finding the function around an address. */
struct function_range {
	struct sn_range range;
	uint32_t function;
};

/** Machine code that an extract brought along. */
struct code_piece {
	uint64_t link_addr;
	const uint8_t *bytes;
	size_t length;
};

struct source_map {
	const char *from, *to;
};

struct source_text {
	const char *file; /* interned */
	const char *chars;
	size_t length;
	bool is_heap; /* else in the arena */
};

/** The functions of an image that is read on demand: they come as addresses are asked for, and the
 * rest of `functions` is zero. */
struct on_demand {
	uint32_t used_count;
	bool is_full;		/* some had no room any more: the image is to be read whole */
	bool has_cold_parts;	/* they were looked for */
	struct sn_map by_start; /* link address -> index + 1 */
	SN_VEC(struct cold_part) cold_parts;
};
struct cold_part {
	uint64_t link_addr, parent_link_addr;
};

/** cold_parts.c: for each symbol the index of the symbol that it is a cold part of, else its own. The
 * caller frees. */
uint32_t *sn_cold_parts_join(const struct sn_image *image, const struct sn_symbol *symbols,
			     size_t count);
/** The same on demand: all cold parts with their parents. */
void sn_cold_parts_find(const struct sn_image *image, struct on_demand *d);

struct line_reader; /* lines.c */
struct cfg_scratch; /* cfg.c */

struct sn_structure {
	struct sn_arena arena;
	struct sn_interner strings;
	struct sn_image *image; /* NULL: from an extract */
	const char *id, *path, *command_line, *warning;
	uint64_t link_base;
	struct sn_function *functions;
	size_t function_count;
	struct on_demand *on_demand;	      /* NULL: all functions are there */
	SN_VEC(struct function_range) ranges; /* by address, disjoint */
	SN_VEC(struct code_piece) pieces;     /* by address, disjoint */
	SN_VEC(const struct sn_unit *) units;
	SN_VEC(struct source_map) source_maps;
	SN_VEC(struct source_text) sources;
	SN_VEC(uint64_t)
	misses; /* sorted: addresses that the extract was asked for and that are in no function */
	const char *debug_state;    /* see sn_image_identify; NULL unknown */
	struct sn_map source_index; /* interned file -> index + 1 in sources */
	struct sn_map returns;	    /* function index -> enum below, see cfg.c */
	struct line_reader *lines;
	struct cfg_scratch *scratch;
};

/** The interned copy: equal strings are one pointer. NULL stays NULL. */
const char *sn_structure_string(struct sn_structure *structure, const char *chars);

/** structure.c: an empty one. */
struct sn_structure *sn_structure_new(void);
/** Whether it was read on demand and has not all that was asked for. */
bool sn_structure_is_full(const struct sn_structure *structure);
/** How many functions there are so far: on demand fewer than there is room for. */
size_t sn_structure_known_count(const struct sn_structure *structure);
/** The index of the function around an address, or -1: without making its name. */
int64_t sn_structure_find(const struct sn_structure *structure, uint64_t link_addr);
/** The same, without reading more on demand: of functions that were asked for. */
int64_t sn_structure_find_known(const struct sn_structure *structure, uint64_t link_addr);

/** The text that names a loop, "BUILDID:FUNCTION:HEADER" (sn_function_id); in the structure's arena. */
const char *sn_loop_id(struct sn_structure *structure, const struct sn_function *function,
		       uint64_t header_link_addr);

/** lines.c: DWARF for these functions (sorted indices, none has lines yet). Sets has_lines. */
void sn_lines_prepare(struct sn_structure *structure, const uint32_t *functions, size_t count);
void sn_line_reader_free(struct line_reader *reader);

/** cfg.c: blocks and loops of one function. Sets has_code. */
void sn_cfg_prepare(struct sn_structure *structure, struct sn_function *function);
void sn_cfg_scratch_free(struct cfg_scratch *scratch);

/** One decoded instruction of the function in hand. Positions count bytes over its ranges in order.
 */
struct cfg_insn {
	struct sn_instruction insn;
	uint64_t link_addr;
	uint32_t position;
	int32_t previous; /* the instruction from which control came first, -1: none */
	uint8_t flags;	  /* enum cfg_insn_flags */
};

enum cfg_insn_flags {
	CFG_LEADER = 1,	     /* some control flow comes here from elsewhere than straight above */
	CFG_ENTRY = 2,	     /* entry of the function or a landing pad */
	CFG_SPECULATIVE = 4, /* nothing known leads here */
	CFG_NO_RETURN = 8,   /* a call that does not come back */
	CFG_UNRESOLVED = 16, /* an indirect jump to nowhere known */
	CFG_ROOT = 32,	     /* first of a speculative run */
};

/** jump_tables.c: targets of the indirect jump at the end of a path of instructions (oldest first).
 * Adds link addresses inside `function` to `targets` (in table order, repeats kept); where the
 * table itself lies in executable bytes, `*table` is its range. False if the jump is not
 * understood. */
struct jump_targets {
	uint64_t *items;
	size_t count, capacity;
};
struct jump_table {
	struct sn_range range; /* empty: in no executable bytes */
	bool is_bounded;       /* its length is known; else the last targets may be wrong */
	bool is_whole;	       /* and all its entries were read and are in the function */
	size_t bound_index;    /* of the path: the instruction that bounds the index */
};
bool sn_jump_table_read(const struct sn_structure *structure, const struct sn_function *function,
			const struct cfg_insn *const *path, size_t path_length,
			struct jump_targets *targets, struct jump_table *table);

/** Whether the address is in one of the function's ranges. */
static inline bool function_holds(const struct sn_function *function, uint64_t link_addr)
{
	for (uint32_t i = 0; i < function->range_count; i++)
		if (link_addr >= function->ranges[i].first_link_addr &&
		    link_addr < function->ranges[i].end_link_addr)
			return true;
	return false;
}

/** loops.c: the loops of a function whose blocks, successors and edges of exceptions are known.
 * `extra` are further edges (block to block; from UINT32_MAX: from outside) in pairs. */
void sn_loops_find(struct sn_structure *structure, struct sn_function *function,
		   const uint32_t *extra, size_t extra_count);
/** Source ranges, labels, roles: after lines and blocks are there. */
void sn_loops_describe(struct sn_structure *structure, struct sn_function *function);
/** loop_roles.c: groups loops of one source loop and says which is which. */
void sn_loops_group(struct sn_structure *structure, struct sn_function *function);
/** loop_unroll.c: the number of source iterations in one iteration of the code, by where its
 * operations were written; 0 unknown. `elements` is the number of array elements with which the
 * loop's accesses cover their stride of `advance_bytes`; 0 unknown. */
uint32_t sn_loop_iterations(const struct sn_structure *structure,
			    const struct sn_function *function, const struct sn_loop *loop,
			    uint32_t elements, uint32_t advance_bytes);

#endif
