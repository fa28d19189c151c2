/**
 * Attributes of a loop's code as columns: one list for all tables of loops.
 *
 * A new attribute is a member of struct sn_loop, or a function of one, and a row of SN_LOOP_SHAPE:
 * `sonde structure` and `sonde show loops` then have its column. What names a loop stands in each
 * table's own order, and is set by its key, too.
 */
#ifndef SN_CODE_LOOP_COLUMNS_H
#define SN_CODE_LOOP_COLUMNS_H

#include "base/table.h"
#include "code/structure.h"

/* X(key, title, kind of cell, how it is set, value): a `count` of 0 is unknown. */

/** A loop's names, and its place in its nest and its source. */
#define SN_LOOP_NAMES(X)                                                                           \
	X("loop", NULL, TEXT, text, loop->id)                                                      \
	X("label", "Loop", TEXT, text, loop->label)                                                \
	X("function", "Function", TEXT, text, loop->function->name)                                \
	X("file", NULL, TEXT, text, loop->file)                                                    \
	X("line_first", NULL, INT, count, loop->line_first)                                        \
	X("line_last", NULL, INT, count, loop->line_last)                                          \
	X("depth", "Depth", INT, int, loop->depth)                                                 \
	X("innermost", "Innermost", BOOL, int, loop->is_innermost)                                 \
	X("irreducible", NULL, BOOL, int, loop->is_irreducible)                                    \
	X("role", "Role", TEXT, text, sn_loop_role_name(loop->role))                               \
	X("group", NULL, TEXT, text, sn_loop_main(loop)->id)

/** Attributes of a loop's code, each with its meaning in a sentence or two (`sonde explain`). */
#define SN_LOOP_SHAPE(X)                                                                           \
	X("unroll_count", "Unroll", INT, count, loop->unroll,                                      \
	  "Source iterations in one pass over the loop's machine code, vector lanes included; "    \
	  "unknown where the code does not tell.")                                                 \
	X("vector_bytes", "Vector", INT, int, loop->vector_bytes,                                  \
	  "Width of the widest register that the loop uses for packed arithmetic or moves; 0: "    \
	  "none.")                                                                                 \
	X("block_count", "Blocks", INT, int, loop->block_count,                                    \
	  "Basic blocks of the loop, those of nested loops included.")                             \
	X("instruction_count", "Instructions", INT, int, loop->instruction_count,                  \
	  "Machine instructions of the loop, those of nested loops included, each counted once.")  \
	X("range_count", NULL, INT, int, loop->range_count,                                        \
	  "Pieces of memory that the loop's code lies in: more than one where the compiler moved " \
	  "parts of it away.")                                                                     \
	X("exit_count", NULL, INT, int, loop->exit_count,                                          \
	  "Jumps that leave the loop. Compilers vectorize loops with a single exit only, or few.") \
	X("header_link_addr", NULL, INT, int, (int64_t)loop->header_link_addr,                     \
	  "Address of the loop's header in the module's file: the block that every pass begins "   \
	  "with.")                                                                                 \
	X("inlined_from", NULL, TEXT, text, sn_loop_inlined_from(loop),                            \
	  "The inlined function that the loop was written in; unknown where that is the function " \
	  "itself.")                                                                               \
	X("size_bytes", NULL, INT, int, (int64_t)sn_loop_size_bytes(loop),                         \
	  "Bytes of the loop's machine code, those of nested loops included. What is executed "    \
	  "again and again is fetched fastest where it fits the core's cache of decoded "          \
	  "instructions.")

#define SN_LOOP_COLUMN(key, title, cell, how, value, ...) { key, title, SN_CELL_##cell, 0 },
#define SN_LOOP_ONE(key, title, cell, how, value, ...)	  +1

enum { SN_LOOP_COLUMNS = 0 SN_LOOP_NAMES(SN_LOOP_ONE) SN_LOOP_SHAPE(SN_LOOP_ONE) };

/** The positions of these columns in a table. */
struct sn_loop_columns {
	size_t at[SN_LOOP_COLUMNS]; /* SIZE_MAX: nowhere */
};
struct sn_loop_columns sn_loop_columns_find(const struct sn_column *columns, size_t count);

/** All of them as members of an open object. `function` is the function that the loop was written
 * in: of an inlined loop not the one that holds its code. */
void sn_loop_columns_write(const struct sn_loop *loop, const char *function, struct sn_json *json);

/** Sets those that the table has, in its last row. */
void sn_loop_columns_set(const struct sn_loop_columns *where, struct sn_table *table,
			 const struct sn_loop *loop);

#endif
