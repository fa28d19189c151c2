#include "code/loop_columns.h"

#include <string.h>

#include "harness/tap.h"

static const struct sn_function function;
static const struct sn_range pieces[] = { { 0x40, 0x70 }, { 0x100, 0x104 } };
static const struct sn_inline inlined = { .name = "kernel", .parent = -1 };
static const struct sn_loop loops[] = {
	{ .function = &function,
	  .index = 0,
	  .group = 0,
	  .parent = -1,
	  .depth = 1,
	  .is_innermost = true,
	  .header_link_addr = 0x40,
	  .block_count = 3,
	  .instruction_count = 11,
	  .exit_count = 2,
	  .ranges = pieces,
	  .range_count = 2,
	  .file = "/src/a.c",
	  .line_first = 4,
	  .line_last = 9,
	  .label = "a.c:4-9",
	  .id = "aa:0:40",
	  .inline_index = -1 },
	{ .function = &function,
	  .index = 1,
	  .group = 0,
	  .parent = -1,
	  .depth = 1,
	  .is_irreducible = true,
	  .header_link_addr = 0x80,
	  .label = "f+0x80",
	  .id = "aa:0:80",
	  .role = SN_LOOP_TAIL,
	  .unroll = 4,
	  .vector_bytes = 32,
	  .inline_index = 0 },
};
static const struct sn_function function = {
	.name = "f", .loops = loops, .loop_count = 2, .inlines = &inlined, .inline_count = 1
};

static const struct sn_column all[] = { SN_LOOP_NAMES(SN_LOOP_COLUMN)
						SN_LOOP_SHAPE(SN_LOOP_COLUMN) };
enum { ALL = sizeof(all) / sizeof(*all) };

/* A table of both loops. */
static void fill(struct sn_table *table, const struct sn_column *columns, size_t count)
{
	struct sn_loop_columns where = sn_loop_columns_find(columns, count);

	sn_table_init(table, columns, count);
	for (int i = 0; i < 2; i++) {
		sn_table_add_row(table);
		sn_loop_columns_set(&where, table, &loops[i]);
	}
}

static const struct sn_cell *cell(const struct sn_table *table, size_t row, const char *key)
{
	for (size_t c = 0; c < table->column_count; c++)
		if (!strcmp(table->columns[c].key, key))
			return &table->cells.items[row * table->column_count + c];
	tap_check(false, __FILE__, __LINE__, key);
	tap_end_test();
}

TEST(every_attribute_has_its_cell)
{
	struct sn_table table;

	fill(&table, all, ALL);
	CHECK_STRING(cell(&table, 0, "loop")->text, "aa:0:40");
	CHECK_STRING(cell(&table, 0, "function")->text, "f");
	CHECK_INT(cell(&table, 0, "line_last")->integer, 9);
	CHECK_INT(cell(&table, 0, "innermost")->integer, 1);
	CHECK_INT(cell(&table, 0, "irreducible")->integer, 0);
	CHECK_INT(cell(&table, 1, "irreducible")->integer, 1);
	CHECK_STRING(cell(&table, 0, "role")->text, "main");
	CHECK_STRING(cell(&table, 1, "role")->text, "tail");
	CHECK_STRING(cell(&table, 1, "group")->text, "aa:0:40");
	CHECK_INT(cell(&table, 1, "unroll_count")->integer, 4);
	CHECK_INT(cell(&table, 1, "vector_bytes")->integer, 32);
	CHECK_INT(cell(&table, 0, "block_count")->integer, 3);
	CHECK_INT(cell(&table, 0, "instruction_count")->integer, 11);
	CHECK_INT(cell(&table, 0, "exit_count")->integer, 2);
	CHECK_INT(cell(&table, 1, "header_link_addr")->integer, 0x80);
	CHECK_STRING(cell(&table, 1, "inlined_from")->text, "kernel");
	CHECK_INT(cell(&table, 0, "range_count")->integer, 2);
	CHECK_INT(cell(&table, 0, "size_bytes")->integer, 0x34);
	CHECK_INT(cell(&table, 1, "size_bytes")->integer, 0);
	sn_table_free(&table);
}

TEST(what_is_not_known_has_no_value)
{
	struct sn_table table;

	fill(&table, all, ALL);
	CHECK(!cell(&table, 1, "file")->is_known);
	CHECK(!cell(&table, 1, "line_first")->is_known);
	CHECK(!cell(&table, 0, "unroll_count")->is_known);
	CHECK(!cell(&table, 0, "inlined_from")->is_known);
	CHECK(cell(&table, 0, "vector_bytes")->is_known); /* 0: scalar */
	sn_table_free(&table);
}

TEST(a_table_has_those_that_it_has_columns_for)
{
	static const struct sn_column few[] = {
		{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
		{ "depth", "depth", SN_CELL_INT, 0 },
		{ "loop", "id", SN_CELL_TEXT, 0 },
	};
	struct sn_table table;

	fill(&table, few, 3);
	CHECK(!cell(&table, 0, "cpu_s")->is_known);
	CHECK_INT(cell(&table, 0, "depth")->integer, 1);
	CHECK_STRING(cell(&table, 1, "loop")->text, "aa:0:80");
	sn_table_free(&table);
}
