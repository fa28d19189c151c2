#include "base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

static const struct sn_column columns[] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "exclusive_cpu_s", "time s", SN_CELL_SECONDS, 0 },
	{ "exclusive_share", "share", SN_CELL_SHARE, 0 },
	{ "samples", NULL, SN_CELL_INT, 0 },
};

static void fill(struct sn_table *table)
{
	static const struct {
		const char *name;
		double seconds;
		int samples;
	} rows[] = { { "beta", 1, 10 }, { "alpha", 3, 30 }, { "g<h>,i", NAN, 5 } };

	sn_table_init(table, columns, 4);
	for (size_t i = 0; i < 3; i++) {
		sn_table_add_row(table);
		sn_table_set_text(table, 0, rows[i].name);
		sn_table_set_real(table, 1, rows[i].seconds);
		sn_table_set_real(table, 2, rows[i].seconds / 4);
		sn_table_set_int(table, 3, rows[i].samples);
	}
}

static char *written(struct sn_table_view view, sn_status want)
{
	struct sn_table table;
	struct sn_error err;
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	fill(&table);
	CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), want);
	sn_table_free(&table);
	fclose(out);
	return chars;
}

TEST(columns_are_found_by_their_headings)
{
	struct sn_table_view by_key = { .sort = "-exclusive_cpu_s", .columns = "function,samples" };
	struct sn_table_view by_heading = { .sort = "-Time s", .columns = "function,samples" };
	char *one = written(by_key, SN_OK), *other = written(by_heading, SN_OK);
	struct sn_table_view view = { .top = 1, .sort = "samples" };
	struct sn_table table;

	CHECK_STRING(one, other);
	free(one);
	free(other);
	fill(&table);
	CHECK(sn_table_shows(&table, &(struct sn_table_view){ .columns = "samples" }, 3, 10));
	view.columns = "function";
	CHECK(!sn_table_shows(&table, &view, 3, 30)); /* not a column that is shown */
	view.columns = "samples";
	CHECK(sn_table_shows(&table, &view, 3, 30));
	CHECK(!sn_table_shows(&table, &view, 3, 10)); /* not among the first rows */
	sn_table_free(&table);
}

TEST(a_heading_may_be_empty_and_a_wrong_name_gets_near_ones)
{
	static const struct sn_column headed[] = { { "mark", "", SN_CELL_TEXT, 0 },
						   { "cpu_s", "time", SN_CELL_REAL, 0 },
						   { "wall_s", "time", SN_CELL_REAL, 0 } };
	struct sn_table_view view = { .width = 80 };
	struct sn_table table;
	struct sn_error err;
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	sn_table_init(&table, headed, 3);
	sn_table_add_row(&table);
	CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), SN_OK);
	view.sort = "time";
	CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), SN_ERR_USAGE);
	CHECK(strstr(err.sentence, "'time': cpu_s, wall_s") != NULL);
	view.sort = "wal_s";
	CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), SN_ERR_USAGE);
	CHECK(strstr(err.sentence, "near it are: wall_s (") != NULL);
	fclose(out);
	free(chars);
	sn_table_free(&table);
}

TEST(durations_have_three_digits_and_a_unit)
{
	static const struct sn_column column[] = { { "mean_s", "mean", SN_CELL_DURATION, 0 } };
	static const struct {
		double seconds;
		const char *text;
	} cases[] = { { 0, "0.00 s" },	     { 5e-10, "0.50 ns" },    { 5.04e-8, "50.4 ns" },
		      { 1e-6, "1.00 µs" },   { 9.996e-4, "1.00 ms" }, { 0.25, "250 ms" },
		      { 1.5, "1.50 s" },     { 75, "75.0 s" },	      { 7200, "7200 s" },
		      { -0.002, "-2.00 ms" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_table_view view = { .width = 80 };
		struct sn_table table;
		struct sn_error err;
		char *chars = NULL;
		size_t length;
		FILE *out = open_memstream(&chars, &length);

		sn_table_init(&table, column, 1);
		sn_table_add_row(&table);
		sn_table_set_real(&table, 0, cases[i].seconds);
		CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), SN_OK);
		fclose(out);
		CHECK(strstr(chars, cases[i].text) != NULL);
		free(chars);
		sn_table_free(&table);
	}
}

TEST(text_elides_hidden_columns_and_says_what_it_left_out)
{
	char *text = written((struct sn_table_view){ .sort = "exclusive_cpu_s",
						     .top = 1,
						     .share_column = "exclusive_share",
						     .width = 80 },
			     SN_OK);

	CHECK_STRING(text, "function  time s   share\n"
			   "alpha      3.000  75.0 %\n"
			   "showing 1 of 3 rows = 75.0 % of time (--all shows every row)\n");
	free(text);
}

TEST(sentences_are_never_cut_and_nothing_is_cut_for_them)
{
	static const char sentence[] = "a sentence that is much longer than a line may be here";
	static const struct sn_column two[] = { { "name", "name", SN_CELL_TEXT, 0 },
						{ "cycles", "cycles", SN_CELL_REAL, 2 },
						{ "why", "why", SN_CELL_TEXT, 0 } };
	struct sn_table_view view = { .width = 40, .whole_column = "why" };
	struct sn_table table;
	struct sn_error err;
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	sn_table_init(&table, two, 3);
	sn_table_add_row(&table);
	sn_table_set_text(&table, 0, "a_name_of_20_letters");
	sn_table_set_real(&table, 1, 13402846924.0);
	sn_table_set_text(&table, 2, sentence);
	sn_table_add_row(&table);
	sn_table_set_real(&table, 1, 99.25);
	CHECK(sn_table_write(&table, &view, out, NULL, NULL, &err) == SN_OK);
	fclose(out);
	CHECK_STRING(
		chars,
		"name                       cycles  why\n"
		"a_name_of_20_letters  13402846924  a sentence that is much longer than a line "
		"may be here\n"
		"-                           99.25  -\n");
	free(chars);
	sn_table_free(&table);
}

TEST(csv_has_keys_and_empty_unknowns)
{
	char *text = written((struct sn_table_view){ .format = SN_FORMAT_CSV, .sort = "function" },
			     SN_OK);

	CHECK_STRING(text, "function,exclusive_cpu_s,exclusive_share,samples\n"
			   "alpha,3,0.75,30\nbeta,1,0.25,10\n\"g<h>,i\",,,5\n");
	free(text);
}

TEST(json_has_schema_rows_and_null)
{
	char *text = written((struct sn_table_view){ .format = SN_FORMAT_JSON,
						     .schema = "sonde.t/1",
						     .experiment = "sonde.a.1",
						     .filter = "samples<10",
						     .columns = "function,exclusive_cpu_s" },
			     SN_OK);

	CHECK_STRING(text, "{\"schema\":\"sonde.t/1\",\"experiment\":\"sonde.a.1\",\"rows\":[{"
			   "\"function\":\"g\\u003ch\\u003e,i\",\"exclusive_cpu_s\":null}]}\n");
	free(text);
}

TEST(filters_and_columns_that_do_not_exist_are_usage_errors)
{
	free(written((struct sn_table_view){ .sort = "nonsense" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .columns = "function,nonsense" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "function" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "function~[" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "samples=x" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "function~^a,samples>=30" }, SN_OK));
}

static bool is_beta(const struct sn_table *table, size_t row, void *context)
{
	return !strcmp(table->cells.items[row * table->column_count].text, context);
}

TEST(rows_that_are_left_out_leave_the_others_as_they_were)
{
	struct sn_table table;

	fill(&table);
	CHECK_INT(sn_table_leave_out(&table, is_beta, "nothing"), 3);
	CHECK_INT(sn_table_leave_out(&table, is_beta, "beta"), 2);
	CHECK_INT(table.row_count, 2);
	CHECK_STRING(table.cells.items[0].text, "alpha");
	CHECK_INT(table.cells.items[3].integer, 30);
	CHECK_STRING(table.cells.items[4].text, "g<h>,i");
	sn_table_add_row(&table);
	sn_table_set_text(&table, 0, "new");
	CHECK_STRING(table.cells.items[8].text, "new");
	sn_table_free(&table);
}

TEST(texts_that_no_row_has_take_no_room_unless_they_were_asked_for)
{
	static const struct sn_column three[] = { { "name", "name", SN_CELL_TEXT, 0 },
						  { "reason", "reason", SN_CELL_TEXT, 0 },
						  { "exit", "exit", SN_CELL_INT, 0 } };

	for (int asked = 0; asked < 2; asked++) {
		struct sn_table_view view = { .width = 80, .may_leave_out = !asked };
		struct sn_table table;
		struct sn_error err;
		char *chars = NULL;
		size_t length;
		FILE *out = open_memstream(&chars, &length);

		sn_table_init(&table, three, 3);
		sn_table_add_row(&table);
		sn_table_set_text(&table, 0, "a");
		CHECK_INT(sn_table_write(&table, &view, out, NULL, NULL, &err), SN_OK);
		fclose(out);
		CHECK_STRING(chars, asked ? "name  reason  exit\na     -          -\n"
					  : "name  exit\na        -\n");
		free(chars);
		sn_table_free(&table);
	}
}

/* Rows of "fill" that pass, by the first letter of their function. */
static void passes(const char *filter, const char *want)
{
	struct sn_table_view view = { .format = SN_FORMAT_CSV,
				      .filter = filter,
				      .columns = "function",
				      .without_header = true };
	char *chars = written(view, SN_OK), got[8] = "";
	size_t count = 0;

	for (const char *at = chars; *at; at = strchr(at, '\n') + 1)
		got[count++] = *at == '"' ? at[1] : *at;
	CHECK_STRING(got, want);
	free(chars);
}

TEST(a_filter_joins_conditions_by_and_and_or)
{
	passes("samples>5 and samples<30", "b");
	passes("samples>5,samples<30", "b");
	passes("samples=5 or samples=30", "ag");
	/* "and" binds closer */
	passes("samples=5 or samples=30 and function=beta", "g");
	passes("(samples=5 or samples=30) and function=alpha", "a");
	passes("(samples=5 or(samples=30))and(function=alpha)", "a");
	passes("( time s > 0.5 and ( samples >= 30 or samples == 10 ) )", "ba");
	passes(" samples != 10 ", "ag");
	passes("", "bag");
}

TEST(a_filter_of_text_keeps_what_belongs_to_it)
{
	passes("function='g<h>,i'", "g"); /* a comma ends what is not in quotes */
	passes("function=\"alpha\" or function='beta'", "ba");
	passes("function~^(a|b)", "ba");
	passes("(function~^(a|b) and samples<30)", "b");
	passes("function~\\(", "");
	passes("function=beta and alpha", ""); /* no condition follows: a name */
	passes("function!=beta and alpha", "bag");
}

TEST(numbers_of_a_filter_have_units)
{
	passes("exclusive_cpu_s>1ms", "ba");
	passes("exclusive_cpu_s>=1000ms and exclusive_cpu_s<2 s", "b");
	passes("exclusive_cpu_s<1000001us", "b");
	passes("exclusive_cpu_s<0.02min", "b");
	passes("exclusive_share>25%", "a");
	passes("exclusive_share>=25 % and samples<30", "b");
	free(written((struct sn_table_view){ .filter = "samples>1ms" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "samples>1kB" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "exclusive_cpu_s>1%" }, SN_ERR_USAGE));
	free(written((struct sn_table_view){ .filter = "exclusive_cpu_s>1parsec" }, SN_ERR_USAGE));
}

TEST(units_of_bytes_and_of_whole_nanoseconds)
{
	static const struct sn_column sizes[] = {
		{ "name", "name", SN_CELL_TEXT, 0 },
		{ "bytes", "bytes", SN_CELL_INT, 0 },
		{ "wait_ns", "wait", SN_CELL_INT, 0 },
		{ "is_last", "last", SN_CELL_BOOL, 0 },
	};
	static const struct {
		const char *filter;
		size_t rows;
	} cases[] = {
		{ "bytes>=3.5MB", 2 },	{ "bytes>3.5MB", 1 },  { "bytes>=4MiB", 1 },
		{ "bytes=3500kB", 1 },	{ "bytes<1GB", 2 },    { "wait_ns=2us", 1 },
		{ "wait_ns>1ms", 1 },	{ "is_last=true", 1 }, { "is_last=1", 1 },
		{ "is_last=false", 1 },
	};
	struct sn_table table;

	sn_table_init(&table, sizes, 4);
	for (int i = 0; i < 2; i++) {
		sn_table_add_row(&table);
		sn_table_set_text(&table, 0, "x");
		sn_table_set_int(&table, 1, i ? 4 << 20 : 3500000);
		sn_table_set_int(&table, 2, i ? 5000000 : 2000);
		sn_table_set_int(&table, 3, i);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_table_view view = { .filter = cases[i].filter };

		CHECK_INT(sn_table_rows_shown(&table, &view), cases[i].rows);
	}
	sn_table_free(&table);
}

TEST(a_filter_that_does_not_parse_is_a_usage_error)
{
	static const char *const bad[] = { "(samples>1",   "samples>1)",
					   "samples>1 or", "or samples>1",
					   "()",	   "samples>1 and (",
					   "samples",	   "samples>",
					   "samples>1 x",  "(samples>1) samples<3",
					   "no_such>1",	   "function>3" };
	char deep[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		free(written((struct sn_table_view){ .filter = bad[i] }, SN_ERR_USAGE));
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	free(written((struct sn_table_view){ .filter = deep }, SN_ERR_USAGE));
}
