#include "report/xlsx/xlsx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "harness/tap.h"

static const struct sn_column columns[] = { { "name", NULL, SN_CELL_TEXT, 0 },
					    { "exclusive_share", NULL, SN_CELL_SHARE, 0 },
					    { "samples", NULL, SN_CELL_INT, 0 } };

static char folder[] = "/tmp/sonde-xlsx.XXXXXX", path[64];

static void table_make(struct sn_table *table)
{
	char *longest = calloc(100001, 1);

	memset(longest, 'x', 100000);
	sn_table_init(table, columns, 3);
	for (int i = 0; i < 4; i++) {
		const char *const names[] = { "=cmd|' /C calc'!A0", "a\x01\x1b[31m<b>&\"", longest,
					      "" };

		sn_table_add_row(table);
		sn_table_set_text(table, 0, names[i]);
		sn_table_set_real(table, 1, i ? 0.1 * i : NAN);
		sn_table_set_int(table, 2, i);
	}
	free(longest);
}

static struct sn_file_view written(const struct sn_table *table)
{
	struct sn_xlsx_sheet sheet = { .name = "Functions", .table = table };
	struct sn_file_view view = { 0 };
	struct sn_error err;
	sn_status status = sn_xlsx_write(path, &sheet, 1, &err);

	if (status == SN_ERR_UNSUPPORTED)
		SKIP("built without libxlsxwriter");
	REQUIRE(status == SN_OK);
	REQUIRE(sn_file_map(path, &view, &err) == SN_OK);
	return view;
}

TEST(the_same_table_gives_the_same_bytes)
{
	struct sn_table table;
	struct sn_file_view first, second;

	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/a.xlsx", folder);
	table_make(&table);
	first = written(&table);
	CHECK(first.length > 1000 && !memcmp(first.bytes, "PK", 2));
	second = written(&table);
	CHECK(first.length == second.length && !memcmp(first.bytes, second.bytes, first.length));
	sn_file_unmap(&first);
	sn_file_unmap(&second);
	sn_table_free(&table);
	unlink(path);
	CHECK_INT(rmdir(folder), 0); /* nothing else was left there */
}

TEST(what_is_no_file_is_refused)
{
	struct sn_table table;
	struct sn_xlsx_sheet sheet = { .name = "A", .table = &table };
	struct sn_error err;

	table_make(&table);
	CHECK(sn_xlsx_write("-", &sheet, 1, &err) != SN_OK);
	CHECK(sn_xlsx_write("/dev/null", &sheet, 1, &err) != SN_OK);
	CHECK(sn_xlsx_write("/nowhere/a.xlsx", &sheet, 1, &err) != SN_OK);
	CHECK(err.sentence[0]);
	sn_table_free(&table);
}
