/* Scenarios: values of hosts and phases, the program's own, and words for what is wrong. */
#include "search/simulate/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/tap.h"
#include "wire/link.h"

#define REGIONS                                                                                    \
	"\"regions\":[{\"region\":\"f\",\"kind\":\"function\",\"name\":\"f\"},"                    \
	"{\"region\":\"l\",\"kind\":\"loop\",\"parent\":\"f\"}],"
#define HEAD "{\"schema\":\"sonde.scenario/1\",\"phase_s\":2,\"hosts\":4,\"phases\":5,"

static struct sn_library *library(void)
{
	struct sn_library *made = sn_library_new();

	sn_library_settle(made);
	return made;
}

static sn_status read(const char *text, const struct sn_library *l, struct sn_scenario **out,
		      struct sn_error *err)
{
	return sn_scenario_read_memory("folder/four.json", text, strlen(text), l, out, err);
}

/* The value of a metric at a region and thread of a process; NaN: none. */
static double value(const struct sn_recorded *r, const char *metric, const char *region,
		    const char *process, const char *thread)
{
	struct sn_tables *t = r->tables;
	uint32_t column = sn_tables_find_column(t, metric, NULL), keys[SN_KEYS];
	const struct sn_sum *sum;

	for (int k = 0; k < SN_KEYS; k++)
		keys[k] = SN_ALL;
	keys[SN_KEY_REGION] = sn_tables_member(t, SN_KEY_REGION, SN_ALL, region);
	keys[SN_KEY_PROCESS] = sn_tables_member(t, SN_KEY_PROCESS, SN_ALL, process);
	if (thread)
		keys[SN_KEY_THREAD] =
			sn_tables_member(t, SN_KEY_THREAD, keys[SN_KEY_PROCESS], thread);
	sum = column == SN_ALL ? NULL : sn_tables_find(t, column, keys, true);
	return sum ? sum->value : NAN;
}

TEST(hosts_and_phases_have_their_values)
{
	struct sn_library *l = library();
	struct sn_scenario *s = NULL;
	struct sn_recorded *r;
	struct sn_error err;

	REQUIRE(read(HEAD REGIONS
		     "\"processes\":[{\"process\":0,\"threads\":[0,1]},{\"process\":1,\"threads\":[0]}],"
		     "\"metrics\":[{\"metric\":\"cpu\",\"region\":\"f\",\"process\":1,\"thread\":0,\"value\":1},"
		     "{\"metric\":\"cpu\",\"region\":\"l\",\"process\":1,\"thread\":0,\"value\":0.5,"
		     "\"hosts\":\"0,2-3\",\"phases\":\"1-2,4\"}]}",
		     l, &s, &err) == SN_OK);
	CHECK_STRING(s->name, "four");
	CHECK_INT(s->processes, 2);
	r = sn_scenario_of_host(s, l, 2, 3);
	REQUIRE(r);
	CHECK_REAL(r->tables->phase_s, 6, 0);
	CHECK_REAL(value(r, "cpu", "f", "5", "0"), 3, 1e-12);
	CHECK_REAL(value(r, "cpu", "l", "5", "0"), 1, 1e-12); /* of phases 1 and 2 */
	CHECK(sn_tables_member(r->tables, SN_KEY_PROCESS, SN_ALL, "1") ==
	      SN_ALL); /* another host's */
	/* what its outermost regions have; the loop is in f */
	CHECK_REAL(value(r, "cpu", "program", "5", "0"), 3, 1e-12);
	CHECK_INT((int64_t)r->edges.count, 2);
	sn_recorded_free(r);
	r = sn_scenario_of_host(s, l, 1, 3);
	REQUIRE(r);
	CHECK(isnan(value(r, "cpu", "l", "3", "0")));
	sn_recorded_free(r);
	r = sn_scenario_of_all(s, l);
	REQUIRE(r);
	CHECK_INT((int64_t)r->tables->members[SN_KEY_PROCESS].count, 8);
	CHECK_INT((int64_t)r->tables->members[SN_KEY_THREAD].count, 12);
	sn_recorded_free(r);
	sn_scenario_free(s);
	sn_library_free(l);
}

TEST(what_does_not_add_up_is_a_mean)
{
	struct sn_library *l = library();
	struct sn_scenario *s = NULL;
	struct sn_recorded *r;
	struct sn_error err;

	REQUIRE(read(HEAD REGIONS
		     "\"metrics\":[{\"metric\":\"vector_gain\",\"region\":\"l\",\"value\":2,\"phases\":\"0-1\"},"
		     "{\"metric\":\"vector_gain\",\"region\":\"l\",\"value\":8,\"phases\":\"2\"}]}",
		     l, &s, &err) == SN_OK);
	r = sn_scenario_of_host(s, l, 0, 2);
	REQUIRE(r);
	CHECK_REAL(value(r, "vector_gain", "l", "0", NULL), 2, 1e-12);
	sn_recorded_free(r);
	r = sn_scenario_of_host(s, l, 0, 3);
	REQUIRE(r);
	CHECK_REAL(value(r, "vector_gain", "l", "0", NULL), 4, 1e-12);
	CHECK(isnan(value(r, "vector_gain", "program", "0", NULL)));
	sn_recorded_free(r);
	sn_scenario_free(s);
	sn_library_free(l);
}

TEST(faults_are_read)
{
	struct sn_library *l = library();
	struct sn_scenario *s = NULL;
	struct sn_error err;

	REQUIRE(read(HEAD "\"faults\":[{\"at_s\":1.5,\"kind\":\"kill\",\"agent\":\"front\"},"
			  "{\"at_s\":0,\"kind\":\"freeze\",\"agent\":\"inner 3\"},"
			  "{\"at_s\":2,\"kind\":\"cut\",\"agent\":\"node 1\",\"for_s\":5}]}",
		     l, &s, &err) == SN_OK);
	REQUIRE(s->faults.count == 3);
	CHECK(s->faults.items[0].agent == SN_LINK_FRONT &&
	      s->faults.items[0].kind == SN_FAULT_KILL);
	CHECK(s->faults.items[1].agent == SN_LINK_INNER + 3 && isnan(s->faults.items[1].for_s));
	CHECK_INT(s->faults.items[2].agent, 1);
	CHECK_REAL(s->faults.items[2].for_s, 5, 0);
	sn_scenario_free(s);
	sn_library_free(l);
}

TEST(what_is_wrong_is_named)
{
	static const char *const wrong[][2] = {
		{ "[", "no JSON" },
		{ "{}", "\"schema\" is not" },
		{ "{\"schema\":\"sonde.scenario/1\"}", "\"phase_s\"" },
		{ "{\"schema\":\"sonde.scenario/1\",\"phase_s\":1,\"hosts\":0}", "\"hosts\"" },
		{ "{\"schema\":\"sonde.scenario/1\",\"phase_s\":1,\"hosts\":2.5}", "\"hosts\"" },
		{ HEAD "\"metrics\":[{\"metric\":\"cpu\",\"value\":1,\"hosts\":\"0-4\"}]}",
		  "names 4, and there are 4, from 0 to 3" },
		{ HEAD "\"metrics\":[{\"metric\":\"cpu\",\"value\":1,\"hosts\":\"3-1\"}]}",
		  "\"hosts\" of metrics[0] is no set" },
		{ HEAD "\"metrics\":[{\"metric\":\"cpu\",\"value\":1,\"phases\":7}]}",
		  "\"phases\" of metrics[0] is no set" },
		{ HEAD "\"metrics\":[{\"metric\":\"cpu\",\"value\":1,\"region\":\"x\"}]}",
		  "metrics[0] names a region" },
		{ HEAD "\"metrics\":[{\"metric\":\"cpu\",\"value\":1},"
		       "{\"metric\":\"lock_wiat\",\"value\":1}]}",
		  "metrics[1]: there is no metric 'lock_wiat'; did you mean 'lock_wait'?" },
		{ HEAD "\"metrics\":[{\"metric\":\"zzzzzzzzzz\",\"value\":1}]}",
		  "metrics[0]: there is no metric 'zzzzzzzzzz'" },
		{ HEAD "\"faults\":[{\"at_s\":1,\"kind\":\"hit\",\"agent\":\"front\"}]}",
		  "\"kind\" of faults[0]" },
		{ HEAD "\"faults\":[{\"at_s\":1,\"kind\":\"kill\",\"agent\":\"node\"}]}",
		  "\"agent\" of faults[0]" },
		{ HEAD "\"faults\":[{\"at_s\":1,\"kind\":\"kill\",\"agent\":\"node 4\"}]}",
		  "names node 4" },
		{ HEAD "\"faults\":[{\"kind\":\"kill\",\"agent\":\"node 1\"}]}",
		  "\"at_s\" of faults[0]" },
		{ HEAD "\"faults\":[{\"at_s\":1,\"kind\":\"cut\",\"agent\":\"node 1\"}]}",
		  "\"for_s\"" },
	};
	struct sn_library *l = library();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct sn_scenario *s = NULL;
		struct sn_error err = { 0 };

		CHECK(read(wrong[i][0], l, &s, &err) == SN_ERR_FORMAT);
		if (!strstr(err.sentence, wrong[i][1]))
			CHECK_STRING(err.sentence, wrong[i][1]);
	}
	sn_library_free(l);
}
