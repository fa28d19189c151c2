/* Results: hosts' searches merged are the search of all, in whatever order results come. */
#include "search/simulate/result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "search/simulate/scenario.h"
#include "harness/tap.h"

enum { HOSTS = 4 };

static const char text[] =
	"{\"schema\":\"sonde.scenario/1\",\"phase_s\":1,\"hosts\":4,"
	"\"processes\":[{\"process\":0,\"threads\":[0,1]}],"
	"\"regions\":[{\"region\":\"f\",\"kind\":\"function\",\"name\":\"f\",\"file\":\"a.c\",\"line\":3},"
	"{\"region\":\"p\",\"kind\":\"parallel\",\"name\":\"p\",\"file\":\"a.c\",\"line\":4,\"parent\":\"f\"}],"
	"\"metrics\":[{\"metric\":\"cpu\",\"region\":\"f\",\"thread\":0,\"value\":0.9},"
	"{\"metric\":\"body\",\"region\":\"p\",\"thread\":0,\"value\":0.9,\"hosts\":\"1-3\"},"
	"{\"metric\":\"body\",\"region\":\"p\",\"thread\":1,\"value\":0.3,\"hosts\":\"1-3\"},"
	"{\"metric\":\"parallel_wait\",\"region\":\"p\",\"thread\":1,\"value\":0.6,\"hosts\":\"1-3\"},"
	"{\"metric\":\"lock_wait\",\"region\":\"f\",\"thread\":1,\"value\":0.3,\"hosts\":\"0-1\"},"
	"{\"metric\":\"lock_wait\",\"region\":\"f\",\"thread\":1,\"value\":0.5,\"hosts\":\"2\"}]}";

struct made {
	struct sn_library *library;
	struct sn_scenario *scenario;
	struct sn_search_options options;
	sn_bodies bodies[HOSTS];
};

/* Strategies are found from the command's place; a test is at another one. */
static const char *strategy(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, 3000);

	while (length > 0 && path[length - 1] != '/')
		length--;
	strcpy(path + (length > 0 ? length : 0), "../../src/search/strategies/time.so");
	return path;
}

static void make(struct made *m)
{
	struct sn_outbox outbox = { 0 };
	struct sn_error err;

	memset(m, 0, sizeof(*m));
	m->library = sn_library_new();
	sn_library_settle(m->library);
	m->options = (struct sn_search_options){ .strategy = strategy(),
						 .threshold = 0.05,
						 .mode = "phases" };
	REQUIRE(sn_scenario_read_memory("s", text, strlen(text), m->library, &m->scenario, &err) ==
		SN_OK);
	sn_vec_push(&outbox.epochs, (struct sn_outbox_epoch){ .epoch = 1 });
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct sn_recorded *r = sn_scenario_of_host(m->scenario, m->library, h, 1);
		struct sn_search *s = NULL;
		struct sn_text phase = { 0 };

		REQUIRE(r && sn_search_run(r, m->library, &m->options, &s, &err) == SN_OK);
		sn_result_shares_write(s, 1, &m->bodies[h]);
		sn_result_phase_write(s, 1, &outbox, (uint32_t)m->bodies[h].count, &phase);
		sn_vec_push(&m->bodies[h], phase);
		sn_search_free(s);
		sn_recorded_free(r);
	}
	sn_vec_free(&outbox.epochs);
}

static void unmake(struct made *m)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		for (size_t i = 0; i < m->bodies[h].count; i++)
			sn_text_free(&m->bodies[h].items[i]);
		sn_vec_free(&m->bodies[h]);
	}
	sn_scenario_free(m->scenario);
	sn_library_free(m->library);
}

static bool body_add(struct sn_search *s, const struct sn_text *body, uint32_t host)
{
	const uint8_t *bytes = (const uint8_t *)body->chars;
	enum sn_result_kind kind;
	uint32_t phase;

	if (!sn_result_head(bytes, body->length, &kind, &phase))
		return false;
	return kind == SN_RESULT_SHARE ? sn_result_share_add(bytes, body->length, host, 1, s)
				       : sn_result_phase_add(bytes, body->length, s);
}

/* The whole result as JSON; each host's bodies begin with the `first` and go round. The caller frees. */
static char *merged(struct made *m, size_t first)
{
	struct sn_recorded *r = sn_scenario_of_all(m->scenario, m->library);
	struct sn_search *s = NULL;
	struct sn_error err;
	char *out = NULL;
	size_t length;
	FILE *file = open_memstream(&out, &length);

	REQUIRE(r && file && sn_search_begin(r, m->library, &m->options, &s, &err) == SN_OK);
	for (uint32_t h = 0; h < HOSTS; h++)
		for (size_t k = 0; k < m->bodies[h].count; k++)
			CHECK(body_add(s, &m->bodies[h].items[(first + k) % m->bodies[h].count],
				       h));
	sn_search_settle(s);
	sn_search_write_json(s, file);
	fclose(file);
	sn_search_free(s);
	sn_recorded_free(r);
	return out;
}

TEST(merged_members_keep_their_own_values)
{
	struct made m;
	char *json;

	make(&m);
	json = merged(&m, 0);
	/* lock_wait: .3, .3 and .5 of two lanes; the classes are no wider than .05 */
	CHECK(strstr(json, "\"property\":\"LockContention\",\"severity\":0.1833"));
	CHECK(strstr(json,
		     "{\"processes\":\"0-1\",\"count\":2,\"mean\":0.15,\"min\":0.15,\"max\":0.15},"
		     "{\"processes\":\"2\",\"count\":1,\"mean\":0.25,\"min\":0.25,\"max\":0.25}"));
	CHECK(strstr(json, "\"property\":\"ImbalanceInParallelRegion\",\"severity\":0.3"));
	CHECK(strstr(json, "\"processes\":\"1-3\""));
	free(json);
	unmake(&m);
}

TEST(the_order_of_results_does_not_show)
{
	struct made m;
	char *first, *other;

	make(&m);
	first = merged(&m, 0);
	for (size_t i = 1; i < 8; i++) {
		other = merged(&m, i);
		CHECK(!strcmp(other, first));
		free(other);
	}
	free(first);
	unmake(&m);
}

/* Cut at every byte: refused, or as if fields at the end were not there yet. */
TEST(bodies_that_are_cut_do_no_harm)
{
	struct made m;
	struct sn_recorded *r;
	struct sn_search *s = NULL;
	struct sn_error err;

	make(&m);
	r = sn_scenario_of_all(m.scenario, m.library);
	REQUIRE(r && sn_search_begin(r, m.library, &m.options, &s, &err) == SN_OK);
	for (size_t i = 0; i < m.bodies[1].count; i++)
		for (size_t length = 0; length < m.bodies[1].items[i].length; length++) {
			struct sn_text cut = { 0 };

			sn_text_add_bytes(&cut, m.bodies[1].items[i].chars, length);
			if (cut.length)
				body_add(s, &cut, 1);
			sn_text_free(&cut);
		}
	CHECK(!s->findings.count); /* a share ends with its members */
	sn_search_settle(s);
	sn_search_free(s);
	sn_recorded_free(r);
	unmake(&m);
}
