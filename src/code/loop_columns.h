/**
 * What the code of a loop tells of it, as columns: one list for the tables of loops.
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

/** What a loop is called, and where it stands in its nest and its source. */
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

/** What its code is like. */
#define SN_LOOP_SHAPE(X)                                                                           \
	X("unroll_count", "Unroll", INT, count, loop->unroll)                                      \
	X("vector_bytes", "Vector", INT, int, loop->vector_bytes)                                  \
	X("block_count", "Blocks", INT, int, loop->block_count)                                    \
	X("instruction_count", "Instructions", INT, int, loop->instruction_count)                  \
	X("range_count", NULL, INT, int, loop->range_count)                                        \
	X("exit_count", NULL, INT, int, loop->exit_count)                                          \
	X("header_link_addr", NULL, INT, int, (int64_t)loop->header_link_addr)                     \
	X("inlined_from", NULL, TEXT, text, sn_loop_inlined_from(loop))                            \
	X("size_bytes", NULL, INT, int, (int64_t)sn_loop_size_bytes(loop))

#define SN_LOOP_COLUMN(key, title, cell, how, value) { key, title, SN_CELL_##cell, 0 },
#define SN_LOOP_ONE(key, title, cell, how, value)    +1

enum { SN_LOOP_COLUMNS = 0 SN_LOOP_NAMES(SN_LOOP_ONE) SN_LOOP_SHAPE(SN_LOOP_ONE) };

/** Where a table has these columns. */
struct sn_loop_columns {
	size_t at[SN_LOOP_COLUMNS]; /* SIZE_MAX: nowhere */
};
struct sn_loop_columns sn_loop_columns_find(const struct sn_column *columns, size_t count);

/** Sets those that the table has, in its last row. */
void sn_loop_columns_set(const struct sn_loop_columns *where, struct sn_table *table,
			 const struct sn_loop *loop);

#endif
