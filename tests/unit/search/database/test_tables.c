/* Lookups with keys left out, values that lack keys, and files that are wrong. */
#include "search/database/tables.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

static struct sn_tables *read(const char *text)
{
	struct sn_tables *tables = NULL;
	struct sn_error err;

	if (sn_tables_read_memory("t", text, strlen(text), &tables, &err) != SN_OK)
		tap_check_string(err.sentence, "", __FILE__, __LINE__, "the tables");
	return tables;
}

static double value_at(struct sn_tables *tables, const char *metric, uint32_t region,
		       uint32_t process, uint32_t thread, bool adds)
{
	const uint32_t keys[SN_KEYS] = { region, SN_ALL, process, thread, SN_ALL, SN_ALL, SN_ALL };
	const struct sn_sum *sum =
		sn_tables_find(tables, sn_tables_find_column(tables, metric, NULL), keys, adds);

	return sum ? sum->value : NAN;
}

#define HEAD                                                                                       \
	"{\"schema\":\"sonde.tables/1\",\"phase_s\":2,\"processes\":[{\"process\":0,\"threads\":"  \
	"[1,2]},{\"process\":1,\"threads\":[1]}],\"regions\":[{\"region\":\"a\"},{\"region\":7,"   \
	"\"parent\":\"a\"}],\"metrics\":["

TEST(what_is_left_out_is_summed)
{
	struct sn_tables *t = read(
		HEAD "{\"metric\":\"m\",\"region\":\"a\",\"process\":0,\"thread\":1,\"value\":1},"
		     "{\"metric\":\"m\",\"region\":\"a\",\"process\":0,\"thread\":2,\"value\":2},"
		     "{\"metric\":\"m\",\"region\":7,\"process\":1,\"thread\":1,\"value\":4}]}");

	REQUIRE(t);
	CHECK_REAL(t->phase_s, 2, 0);
	CHECK_REAL(value_at(t, "m", 0, 0, SN_ALL, true), 3, 0);
	CHECK_REAL(value_at(t, "m", 0, 0, 1, true), 2, 0);
	CHECK_REAL(value_at(t, "m", SN_ALL, SN_ALL, SN_ALL, true), 7, 0);
	CHECK_REAL(value_at(t, "m", SN_ALL, 1, SN_ALL, true), 4, 0);
	CHECK(isnan(value_at(t, "m", 1, 0, SN_ALL, true)));
	CHECK(isnan(value_at(t, "n", 0, 0, SN_ALL, true)));
	CHECK_INT(t->members[SN_KEY_REGION].items[1].parent, 0);
	sn_tables_free(t);
}

TEST(a_value_of_all_counts_before_a_sum_of_parts)
{
	struct sn_tables *t = read(
		HEAD
		"{\"metric\":\"m\",\"region\":\"a\",\"process\":0,\"value\":10},"
		"{\"metric\":\"m\",\"region\":\"a\",\"process\":0,\"thread\":2,\"value\":2}]}");

	REQUIRE(t);
	CHECK_REAL(value_at(t, "m", 0, 0, SN_ALL, true), 10, 0);
	CHECK_REAL(value_at(t, "m", 0, 0, 1, true), 2, 0);
	sn_tables_free(t);
}

TEST(a_value_without_a_thread_holds_for_each_only_if_it_does_not_add_up)
{
	struct sn_tables *t = read(HEAD "{\"metric\":\"m\",\"region\":\"a\",\"value\":10}]}");

	REQUIRE(t);
	CHECK_REAL(value_at(t, "m", 0, 1, 2, false), 10, 0);
	CHECK(isnan(value_at(t, "m", 0, 1, 2, true)));
	CHECK_REAL(value_at(t, "m", 0, 1, SN_ALL, true), 10, 0);
	sn_tables_free(t);
}

TEST(the_better_of_two_sources_counts)
{
	struct sn_tables *t = read(
		HEAD
		"{\"metric\":\"m\",\"process\":0,\"value\":1,\"error\":0.5,\"source\":\"x\"},"
		"{\"metric\":\"m\",\"process\":0,\"value\":2,\"error\":0.1,\"source\":\"y\"},"
		"{\"metric\":\"m\",\"process\":0,\"value\":3,\"error\":0.2,\"source\":\"z\"}]}");

	REQUIRE(t);
	CHECK_REAL(value_at(t, "m", SN_ALL, 0, SN_ALL, true), 2, 0);
	sn_tables_free(t);
}

TEST(a_thread_without_a_process_is_one_of_each)
{
	struct sn_tables *t = read(HEAD "{\"metric\":\"m\",\"thread\":1,\"value\":5}]}");

	REQUIRE(t);
	CHECK_REAL(value_at(t, "m", SN_ALL, 0, 0, true), 5, 0);
	CHECK_REAL(value_at(t, "m", SN_ALL, 1, 2, true), 5, 0);
	sn_tables_free(t);
}

TEST(what_is_wrong_is_named)
{
	static const char *const wrong[][2] = {
		{ "{}", "\"schema\"" },
		{ "[", "no JSON" },
		{ HEAD "{\"value\":1}]}", "metrics[0] has no \"metric\"" },
		{ HEAD "{\"metric\":\"m\",\"region\":\"b\",\"value\":1}]}",
		  "a region that the file" },
		{ HEAD "{\"metric\":\"m\",\"thread\":9,\"value\":1}]}",
		  "a thread that no process" },
		{ HEAD "{\"metric\":\"m\",\"value\":\"x\"}]}", "\"value\" of metrics[0]" },
		{ "{\"schema\":\"sonde.tables/1\",\"regions\":[{\"region\":1,\"parent\":2},{\"region\":2,"
		  "\"parent\":1}]}",
		  "inside itself" },
		{ "{\"schema\":\"sonde.tables/1\",\"data\":[{\"data\":1},{\"data\":\"1\"}]}",
		  "there twice" },
		{ "{\"schema\":\"sonde.tables/1\",\"phase_s\":0}", "phase_s" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct sn_tables *tables = NULL;
		struct sn_error err = { 0 };

		CHECK(sn_tables_read_memory("t", wrong[i][0], strlen(wrong[i][0]), &tables, &err) ==
		      SN_ERR_FORMAT);
		if (!strstr(err.sentence, wrong[i][1]))
			CHECK_STRING(err.sentence, wrong[i][1]);
		CHECK(!tables);
	}
}
