/* What one experiment leaves behind for the next, in experiments that are made up. */
#include "causal/carry.h"

#include <math.h>
#include <stdio.h>

#include "base/stats.h"
#include "causal/estimate.h"
#include "harness/tap.h"

/* The first of two candidates at 0.5 leaves so much behind. */
struct left {
	double steps; /* in the baseline behind it: by so much a step is shorter */
	double work;  /* there: so much fewer samples a step */
	double own;   /* so much is the experiment's own effect off */
};

static const double speedups[] = { 0.25, 0.5 };

static double noise_of(struct sn_random *random, double deviation)
{
	double sum = -6; /* about normal (Irwin and Hall) */

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(random);
	return 1 + deviation * sum;
}

static void add_blocks(struct sn_causal_log *log, struct sn_random *random, struct left left,
		       int64_t settle_ns, uint32_t blocks)
{
	bool is_behind = false;

	for (uint32_t block = 0; block < blocks; block++)
		for (int i = 0; i < 4; i++) {
			uint32_t turn = (uint32_t)sn_random_below(random, 2);
			struct sn_causal_trial trial = { .block = block,
							 .candidate = SN_CAUSAL_BASELINE,
							 .visits = 100,
							 .time_ns = 1000000000,
							 .settle_ns = settle_ns };
			double effect = 0;

			trial.step_ns = 1e7 * (1 - left.steps * is_behind) * noise_of(random, 0.02);
			trial.samples = (uint64_t)(5000 * (1 - left.work * is_behind) *
						   noise_of(random, 0.05));
			sn_vec_push(&log->trials, trial);
			trial.candidate = i % 2;
			trial.speedup = speedups[turn];
			is_behind = trial.candidate == 0 && turn == 1;
			if (trial.candidate == 0)
				effect = fmin(trial.speedup, 0.3) + left.own * is_behind;
			trial.step_ns = 1e7 * (1 - effect) * noise_of(random, 0.02);
			trial.samples = 5000;
			sn_vec_push(&log->trials, trial);
		}
}

static struct sn_causal_log *make_log(struct sn_random *random, uint64_t seed)
{
	struct sn_causal_log *log = sn_causal_log_new();
	struct sn_causal_candidate candidate = { "loop", "id", "name", "f", "f.c", 1, 2, 0.2 };

	sn_random_seed(random, seed);
	log->kind = "heartbeat";
	sn_vec_push(&log->candidates, candidate);
	sn_vec_push(&log->candidates, candidate);
	return log;
}

static const struct sn_causal_answer *answer_of(const struct sn_causal_answers *answers,
						uint32_t candidate)
{
	for (size_t i = 0; i < answers->rows.count; i++)
		if (answers->rows.items[i].candidate == candidate)
			return &answers->rows.items[i];
	return NULL;
}

/* 0.01 of the logs at most: 2 are expected of 200, and 12 is beyond 5 sigma. */
TEST(where_nothing_is_left_nothing_is_seen)
{
	enum { LOGS = 200 };
	unsigned alarms = 0;

	for (uint64_t seed = 0; seed < LOGS; seed++) {
		struct sn_random random;
		struct sn_causal_log *log = make_log(&random, seed);
		double carried;

		add_blocks(log, &random, (struct left){ 0 }, SN_CAUSAL_SETTLE_LEAST_NS, 4);
		alarms += sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) > 0;
		CHECK(sn_causal_settled_ns(log, &carried) == SN_CAUSAL_SETTLE_LEAST_NS);
		sn_causal_log_free(log);
	}
	printf("# %u of %d logs\n", alarms, LOGS);
	CHECK(alarms <= 12);
}

/* Behind the code is a buffer that the baseline works off: its steps are too short. */
TEST(what_steps_show_is_seen)
{
	struct sn_random random;
	struct sn_causal_log *log = make_log(&random, 1);
	double carried;

	add_blocks(log, &random, (struct left){ .steps = 0.2 }, SN_CAUSAL_SETTLE_LEAST_NS, 4);
	CHECK(fabs(sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) - 0.22) < 0.05);
	CHECK(sn_causal_settled_ns(log, &carried) == SN_CAUSAL_SETTLE_LEAST_NS && carried > 0);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_NEXT_NS);
	log->kind = "end"; /* whole runs */
	CHECK(sn_causal_settled_ns(log, &carried) == SN_CAUSAL_SETTLE_LEAST_NS && carried == 0);
	sn_causal_log_free(log);
}

/* The progress point is in front of the buffer: steps of baselines are right, and those of the experiment are not. */
TEST(what_samples_show_is_seen)
{
	struct sn_random random;
	struct sn_causal_log *log = make_log(&random, 2);

	add_blocks(log, &random, (struct left){ .work = 0.2, .own = 0.2 },
		   SN_CAUSAL_SETTLE_LEAST_NS, 4);
	CHECK(fabs(sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) - 0.22) < 0.1);
	sn_causal_log_free(log);
}

TEST(few_baselines_show_nothing)
{
	struct sn_random random;
	struct sn_causal_log *log = make_log(&random, 3);

	CHECK(sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) == 0);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_LEAST_NS);
	add_blocks(log, &random, (struct left){ .steps = 0.5 }, SN_CAUSAL_SETTLE_LEAST_NS, 1);
	CHECK(sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) == 0);
	/* nor those with another settling time */
	add_blocks(log, &random, (struct left){ .steps = 0.5 }, SN_CAUSAL_SETTLE_LEAST_NS, 4);
	CHECK(sn_causal_carried(log, SN_CAUSAL_SETTLE_LEAST_NS) > 0);
	CHECK(sn_causal_carried(log, SN_CAUSAL_SETTLE_NEXT_NS) == 0);
	sn_causal_log_free(log);
}

/* Effects are those of the experiments that settled. */
TEST(what_settled_counts)
{
	struct sn_random random;
	struct sn_causal_log *log = make_log(&random, 4);
	struct sn_causal_answers answers;
	double carried;

	add_blocks(log, &random, (struct left){ .steps = 0.3 }, SN_CAUSAL_SETTLE_LEAST_NS, 6);
	sn_causal_answers_find(log, &answers);
	CHECK(answers.carried_share > 0.2);
	CHECK(answer_of(&answers, 0)->points[1].low <= 0.3 &&
	      answer_of(&answers, 0)->points[1].high >= 0.3);
	/* it may bring something, which the baselines behind others' experiments hide */
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_UNKNOWN);
	CHECK_STRING(answer_of(&answers, 1)->reason, "carried-over");
	sn_causal_answers_free(&answers);

	/* of these there are too few at first: the others stay, with what is carried over */
	add_blocks(log, &random, (struct left){ 0 }, SN_CAUSAL_SETTLE_NEXT_NS, 1);
	sn_causal_answers_find(log, &answers);
	CHECK(answers.settle_ns == SN_CAUSAL_SETTLE_LEAST_NS && answers.carried_share > 0.2);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_NEXT_NS);
	CHECK(answer_of(&answers, 0)->points[0].experiments +
		      answer_of(&answers, 0)->points[1].experiments ==
	      14);
	sn_causal_answers_free(&answers);

	add_blocks(log, &random, (struct left){ 0 }, SN_CAUSAL_SETTLE_NEXT_NS, 39);
	CHECK(sn_causal_settled_ns(log, &carried) == SN_CAUSAL_SETTLE_NEXT_NS && carried == 0);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_NEXT_NS);
	sn_causal_answers_find(log, &answers);
	CHECK(answers.settle_ns == SN_CAUSAL_SETTLE_NEXT_NS && answers.carried_share == 0);
	CHECK(fabs(answer_of(&answers, 0)->points[1].effect - 0.3) < 0.03);
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_NOTHING);
	CHECK(answer_of(&answers, 0)->points[0].experiments +
		      answer_of(&answers, 0)->points[1].experiments ==
	      80);
	CHECK(fabs(answers.rate_per_s - 100) < 1e-9);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* A buffer that takes longer than a second: longer still, and then whole runs. */
TEST(what_never_settles_is_said)
{
	struct sn_random random;
	struct sn_causal_log *log = make_log(&random, 5);
	struct left left = { .steps = 0.2 };
	double carried;

	add_blocks(log, &random, left, SN_CAUSAL_SETTLE_LEAST_NS, 4);
	add_blocks(log, &random, left, SN_CAUSAL_SETTLE_NEXT_NS, 4);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_MOST_NS);
	add_blocks(log, &random, left, SN_CAUSAL_SETTLE_MOST_NS, 4);
	CHECK(sn_causal_settle_next_ns(log) == SN_CAUSAL_SETTLE_MOST_NS);
	CHECK(sn_causal_settled_ns(log, &carried) == SN_CAUSAL_SETTLE_MOST_NS && carried > 0.1);
	sn_causal_log_free(log);
}
