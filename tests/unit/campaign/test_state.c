#include "campaign/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/judge.h"
#include "campaign/schedule.h"
#include "harness/tap.h"

#define HEADER                                                                                      \
	"{\"schema\":\"sonde.campaign-state/1\",\"id\":\"a\",\"plan\":\"p\",\"plan_folder\":\"/\"," \
	"\"seed\":7,\"configurations\":2,\"repeat\":3,\"retry\":1}\n"
#define BEGIN(c, b, a)                                                                             \
	"{\"event\":\"begin\",\"configuration\":" #c ",\"block\":" #b ",\"attempt\":" #a           \
	",\"position\":0,\"experiment\":\"runs/x\"}\n"
#define END(c, b, a, state)                                                                        \
	"{\"event\":\"end\",\"configuration\":" #c ",\"block\":" #b ",\"attempt\":" #a             \
	",\"state\":\"" state "\",\"exit_status\":0,\"experiment\":\"runs/x\",\"cpu_s\":1}\n"

static struct sn_campaign_state *read_state(const char *text)
{
	struct sn_campaign_state *state = NULL;
	struct sn_error err = { 0 };

	sn_campaign_state_open_memory(text, strlen(text), "state", &state, &err);
	CHECK_STRING(err.sentence, "");
	REQUIRE(state != NULL);
	return state;
}

TEST(a_run_is_what_its_last_event_says)
{
	struct sn_campaign_state *s = read_state(HEADER BEGIN(0, 0, 1) END(0, 0, 1, "failed") BEGIN(
		0, 0, 2) END(0, 0, 2, "done") BEGIN(1, 0, 1));

	REQUIRE(s->attempts.count == 3);
	CHECK_INT(s->attempts.items[0].state, SN_RUN_FAILED);
	CHECK_INT(sn_campaign_last(s, 0, 0)->state, SN_RUN_DONE);
	CHECK_INT(sn_campaign_last(s, 0, 0)->failed_before, 1);
	CHECK_INT(sn_campaign_last(s, 1, 0)->state, SN_RUN_RUNNING);
	CHECK(sn_campaign_last(s, 1, 1) == NULL);
	CHECK_INT(s->damaged, 0);
	sn_campaign_state_free(s);
}

TEST(every_cut_of_the_file_can_be_read)
{
	static const char whole[] = HEADER BEGIN(0, 0, 1) END(0, 0, 1, "done") BEGIN(1, 0, 1);

	for (size_t length = strlen(HEADER); length < sizeof(whole); length++) {
		struct sn_campaign_state *s = NULL;
		struct sn_error err;

		CHECK_INT(sn_campaign_state_open_memory(whole, length, "state", &s, &err), SN_OK);
		CHECK(s->attempts.count <= 2 && s->damaged <= 1);
		sn_campaign_state_free(s);
	}
}

TEST(lines_that_make_no_sense_are_passed_over)
{
	struct sn_campaign_state *s =
		read_state(HEADER "garbage\n" BEGIN(9, 0, 1) BEGIN(0, -1, 1) BEGIN(0, 0, 0)
				   END(0, 0, 1, "done") BEGIN(0, 0, 1) BEGIN(0, 0, 1)
					   END(0, 0, 1, "queued") END(0, 0, 1, "done"));

	CHECK_INT(s->damaged, 7);
	REQUIRE(s->attempts.count == 1);
	CHECK_INT(s->attempts.items[0].state, SN_RUN_DONE);
	sn_campaign_state_free(s);
}

TEST(what_is_written_is_read_again)
{
	char folder[] = "/tmp/sonde-state.XXXXXX", path[64];
	struct sn_campaign_state header = { .id = "x\"y",
					    .plan_name = "=cmd\n",
					    .plan_folder = "/",
					    .seed = 1u << 31,
					    .configurations = 2,
					    .repeat = 1 };
	struct sn_campaign_attempt a = { .configuration = 1,
					 .attempt = 1,
					 .state = SN_RUN_FAILED,
					 .exit_status = 3,
					 .reason = "</script> \"",
					 .facts = { 1.5, NAN, 10, 0, 5, 1, 2, 3 } };
	struct sn_campaign_state *s;
	struct sn_campaign_log log;
	struct sn_error err;

	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/state.jsonl", folder);
	REQUIRE(sn_campaign_log_open(folder, &log, &err) == SN_OK);
	CHECK_INT(sn_campaign_log_header(&log, &header, &err), SN_OK);
	CHECK_INT(sn_campaign_log_begin(&log, &a, &err), SN_OK);
	CHECK_INT(write(log.fd, "{\"eve", 6), 6); /* torn by a kill */
	sn_campaign_log_close(&log);
	REQUIRE(sn_campaign_log_open(folder, &log, &err) == SN_OK);
	CHECK_INT(sn_campaign_log_end(&log, &a, &err), SN_OK);
	sn_campaign_log_close(&log);
	REQUIRE(sn_campaign_state_read(folder, &s, &err) == SN_OK);
	CHECK_STRING(s->id, "x\"y");
	CHECK_INT(s->damaged, 1);
	REQUIRE(s->attempts.count == 1);
	CHECK_INT(s->attempts.items[0].state, SN_RUN_FAILED);
	CHECK_STRING(s->attempts.items[0].reason, "</script> \"");
	CHECK(isnan(s->attempts.items[0].facts.cpu_s));
	CHECK_INT(s->attempts.items[0].facts.threads_most, 3);
	sn_campaign_state_free(s);
	unlink(path);
	rmdir(folder);
}

/* ---- schedule ---- */

static struct sn_campaign_plan *two_by_three(void)
{
	static const char text[] =
		"[campaign]\nrepeat=3\n[default]\nprogram=a\n[sweep]\nthreads=1 2\n";
	struct sn_campaign_plan *plan = NULL;

	REQUIRE(sn_campaign_plan_read(text, sizeof(text) - 1, "p", "/", &plan, NULL) == SN_OK);
	return plan;
}

static void note(struct sn_campaign_state *s, const struct sn_campaign_next *n,
		 enum sn_run_state state)
{
	struct sn_campaign_attempt a = { .configuration = n->configuration,
					 .block = n->block,
					 .attempt = n->attempt,
					 .state = state };

	sn_campaign_state_begin(s, &a);
}

TEST(every_run_comes_once_block_by_block)
{
	struct sn_campaign_plan *plan = two_by_three();
	struct sn_campaign_state *s = read_state(HEADER);
	struct sn_campaign_cursor cursor = { 0 };
	struct sn_campaign_next n;
	int seen[2][3] = { { 0 } };
	uint32_t count = 0;

	while (sn_campaign_next(&cursor, plan, s, NULL, &n)) {
		CHECK_INT(n.block, count++ / 2);
		seen[n.configuration][n.block]++;
		note(s, &n, SN_RUN_DONE);
	}
	for (int i = 0; i < 6; i++)
		CHECK_INT(seen[i / 3][i % 3], 1);
	sn_campaign_cursor_free(&cursor);
	sn_campaign_state_free(s);
	sn_campaign_plan_free(plan);
}

TEST(what_failed_is_tried_again_at_the_end_of_its_block_and_what_was_stopped_is_run)
{
	struct sn_campaign_plan *plan = two_by_three();
	struct sn_campaign_state *s = read_state(HEADER);
	struct sn_campaign_cursor cursor = { 0 };
	struct sn_campaign_next first, second, n;

	REQUIRE(sn_campaign_next(&cursor, plan, s, NULL, &first));
	note(s, &first, SN_RUN_FAILED);
	REQUIRE(sn_campaign_next(&cursor, plan, s, NULL, &second));
	CHECK(second.configuration != first.configuration && second.block == 0);
	note(s, &second, SN_RUN_CANCELLED);
	REQUIRE(sn_campaign_next(&cursor, plan, s, NULL, &n));
	CHECK(n.configuration == second.configuration && n.attempt == 2);
	note(s, &n, SN_RUN_DONE);
	REQUIRE(sn_campaign_next(&cursor, plan, s, NULL, &n));
	CHECK(n.configuration == first.configuration && n.block == 0 && n.attempt == 2);
	note(s, &n, SN_RUN_FAILED);
	REQUIRE(sn_campaign_next(&cursor, plan, s, NULL, &n));
	CHECK_INT(n.block, 1); /* one retry is used up */
	sn_campaign_cursor_free(&cursor);
	sn_campaign_state_free(s);
	sn_campaign_plan_free(plan);
}

TEST(orders_are_shuffled_by_block_and_the_same_for_a_seed)
{
	uint32_t a[20], b[20], c[20];
	int differ = 0, at_home = 0;

	for (uint32_t block = 0; block < 50; block++) {
		sn_campaign_block_order(20, SN_CAMPAIGN_BLOCKS, 5, block, a);
		sn_campaign_block_order(20, SN_CAMPAIGN_BLOCKS, 5, block, b);
		sn_campaign_block_order(20, SN_CAMPAIGN_BLOCKS, 6, block, c);
		CHECK(!memcmp(a, b, sizeof(a)));
		differ += memcmp(a, c, sizeof(a)) != 0;
		for (uint32_t i = 0; i < 20; i++)
			at_home += a[i] == i;
	}
	CHECK_INT(differ, 50);
	CHECK(at_home > 15 && at_home < 95); /* 50 expected */
}

/* ---- suspicious runs ---- */

static struct sn_campaign_state *siblings(const struct sn_run_facts *last)
{
	struct sn_campaign_state *s = read_state(HEADER);

	for (uint32_t b = 0; b < 5; b++) {
		struct sn_campaign_attempt a = { .block = b,
						 .attempt = 1,
						 .state = SN_RUN_DONE,
						 .facts = { 1, 1 + 0.01 * b, 1000, 0, 1000, 1, 1,
							    1 } };

		if (b == 4)
			a.facts = *last;
		sn_campaign_state_begin(s, &a);
	}
	sn_campaign_judge(s);
	return s;
}

static enum sn_run_state judged(struct sn_run_facts last)
{
	struct sn_campaign_state *s = siblings(&last);
	enum sn_run_state state = s->attempts.items[4].state;

	for (int i = 0; i < 4; i++)
		CHECK_INT(s->attempts.items[i].state, SN_RUN_DONE);
	CHECK((state == SN_RUN_SUSPICIOUS) == (s->attempts.items[4].reason != NULL));
	sn_campaign_state_free(s);
	return state;
}

TEST(runs_unlike_their_siblings_are_suspicious)
{
	CHECK_INT(judged((struct sn_run_facts){ 1, 1.3, 1300, 0, 1000, 1, 1, 1 }), SN_RUN_DONE);
	CHECK_INT(judged((struct sn_run_facts){ 1, 2.3, 2300, 0, 1000, 1, 1, 1 }),
		  SN_RUN_SUSPICIOUS);
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 400, 0, 1000, 1, 1, 1 }), SN_RUN_SUSPICIOUS);
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 1000, 20, 1000, 1, 1, 1 }),
		  SN_RUN_SUSPICIOUS);
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 1000, 9, 1000, 1, 1, 1 }), SN_RUN_DONE);
	/* three of each of four ranks, as they start */
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 1000, 12, 1000, 4, 1, 1 }), SN_RUN_DONE);
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 1000, 40, 1000, 4, 1, 1 }),
		  SN_RUN_SUSPICIOUS);
	CHECK_INT(judged((struct sn_run_facts){ 1, 1, 1000, 0, 100, 1, 1, 1 }), SN_RUN_SUSPICIOUS);
	CHECK_INT(judged((struct sn_run_facts){ 1, NAN, -1, -1, -1, 1, 1, 1 }), SN_RUN_DONE);
}
