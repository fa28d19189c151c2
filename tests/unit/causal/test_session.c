/* Which experiments come next: every candidate once a block, at one of its speed-ups, a baseline before each. */
#include "causal/session.h"

#include <stdlib.h>
#include <string.h>

#include "causal/carry.h"
#include "causal/page.h"
#include "harness/tap.h"

enum { CANDIDATES = 3 };

static void begin(struct sn_causal_session *session, struct sn_causal_control *page)
{
	*session = (struct sn_causal_session){ .log = sn_causal_log_new(),
					       .page = page,
					       .speedups = { 0.25, 1 },
					       .speedup_count = 2,
					       .left_s = 10 };
	session->log->seed = 5;
	page->target_count = CANDIDATES;
	for (int c = 0; c < CANDIDATES; c++) {
		struct sn_causal_candidate candidate = { "loop", "id", "x", "f", "f.c", 1, 2, 0.1 };

		page->targets[c].range_count = 1;
		sn_vec_push(&session->log->candidates, candidate);
	}
	sn_causal_session_begin(session);
}

static void end(struct sn_causal_session *session, struct sn_causal_control *page)
{
	sn_causal_log_free(session->log);
	sn_causal_session_free(session);
	free(page);
}

TEST(a_block_has_each_once_between_baselines)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	unsigned seen[CANDIDATES][2] = { 0 };
	struct sn_causal_trial_plan plan;

	begin(&session, page);
	for (uint32_t block = 0; block < 4; block++) {
		unsigned of_block[CANDIDATES] = { 0 };

		for (int i = 0; i < 2 * CANDIDATES; i++) {
			CHECK(sn_causal_session_next(&session, &plan));
			CHECK(plan.block == block);
			CHECK((plan.candidate == SN_CAUSAL_BASELINE) == (i % 2 == 0));
			if (plan.candidate != SN_CAUSAL_BASELINE) {
				of_block[plan.candidate]++;
				seen[plan.candidate][plan.speedup == 1]++;
			}
			sn_causal_session_advance(&session);
		}
		for (int c = 0; c < CANDIDATES; c++)
			CHECK(of_block[c] == 1);
		/* as many blocks as there are speed-ups have each of them once */
		for (int c = 0; c < CANDIDATES && block % 2; c++)
			CHECK(seen[c][0] == seen[c][1]);
	}
	end(&session, page);
}

/* One experiment alone: what it leaves behind is seen beside a baseline behind a baseline. */
TEST(one_experiment_alone_has_a_baseline_more)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	struct sn_causal_trial_plan plan;

	begin(&session, page);
	page->target_count = 1;
	session.speedup_count = 1;
	for (int i = 0; i < 6; i++) {
		CHECK(sn_causal_session_next(&session, &plan));
		CHECK((plan.candidate == SN_CAUSAL_BASELINE) == (i % 3 != 1));
		CHECK(session.settle_ns == SN_CAUSAL_SETTLE_LEAST_NS);
		sn_causal_session_advance(&session);
	}
	end(&session, page);
}

TEST(what_was_not_made_comes_again)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	struct sn_causal_trial_plan first, again;

	begin(&session, page);
	CHECK(sn_causal_session_next(&session, &first));
	CHECK(sn_causal_session_next(&session, &again));
	CHECK(!memcmp(&first, &again, sizeof(first)));
	end(&session, page);
}

TEST(no_time_ends_it)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	struct sn_causal_trial_plan plan;

	begin(&session, page);
	session.left_s = 0;
	CHECK(!sn_causal_session_next(&session, &plan));
	CHECK(session.end == SN_CAUSAL_OUT_OF_TIME);
	end(&session, page);
}

/* Candidates whose slope is known well enough are tried no more. */
TEST(what_is_known_is_left_out)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	struct sn_causal_trial_plan plan;

	begin(&session, page);
	for (uint32_t block = 0; block < 12; block++)
		for (int32_t c = 0; c < CANDIDATES - 1; c++) {
			struct sn_causal_trial trial = { .block = block,
							 .candidate = SN_CAUSAL_BASELINE,
							 .step_ns = 100,
							 .visits = 1 };

			sn_vec_push(&session.log->trials, trial);
			trial.candidate = c;
			trial.speedup = 1;
			trial.step_ns = 80;
			sn_vec_push(&session.log->trials, trial);
		}
	sn_causal_session_begin(&session);
	for (int i = 0; i < 2; i++) {
		CHECK(sn_causal_session_next(&session, &plan));
		CHECK(plan.candidate == SN_CAUSAL_BASELINE || plan.candidate == CANDIDATES - 1);
		CHECK(plan.block == 12);
		sn_causal_session_advance(&session);
	}
	end(&session, page);
}

/* What this session's runs have counted decides, once there is enough of it. */
TEST(machines_that_cannot_answer_are_refused)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_causal_session session;
	struct sn_causal_run queue = { .ran_ns = 1000000000, .queued_ns = 9000000000 };
	struct sn_causal_trial trial = { .candidate = SN_CAUSAL_BASELINE, .visits = 1 };

	begin(&session, page);
	/* of a session before */
	sn_vec_push(&session.log->runs, queue);
	sn_causal_session_begin(&session);
	page->ran_ns = 3900000000;
	page->queued_ns = 2000000000;
	CHECK(!sn_causal_session_refusal(&session, page)); /* no experiment yet */
	for (int i = 0; i < 8; i++)
		sn_vec_push(&session.log->trials, trial);
	CHECK(sn_causal_session_refusal(&session, page) == SN_CAUSAL_REFUSED_QUEUES);
	page->ran_ns = 1900000000;
	CHECK(!sn_causal_session_refusal(&session, page)); /* 3.9 s say too little */
	page->ran_ns = 9900000000;
	CHECK(!sn_causal_session_refusal(&session, page));
	page->asked_ns = 1000000000;
	page->slept_ns = 1090000000;
	CHECK(!sn_causal_session_refusal(&session, page));
	page->slept_ns = 1110000000;
	CHECK(sn_causal_session_refusal(&session, page) == SN_CAUSAL_REFUSED_DELAYS);
	page->sealed_processes = 1;
	CHECK(sn_causal_session_refusal(&session, page) == SN_CAUSAL_REFUSED_SEALED);
	CHECK(!sn_causal_session_refusal(&session, NULL));
	end(&session, page);
}
