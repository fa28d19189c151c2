/* Answers from experiments that are made up: the truth is known, and so is the noise. */
#include "causal/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "causal/sentence.h"
#include "harness/tap.h"

static const double speedups[] = { 0.25, 0.5, 0.75, 1 };

struct maker {
	struct sn_causal_log *log;
	struct sn_random random;
	double noise; /* relative, of each experiment's step */
	double drift; /* relative, an experiment */
	double level;
};

/* About normal: the sum of twelve uniform ones (Irwin and Hall). */
static double normal(struct maker *m)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(&m->random);
	return sum;
}

static void add_trial(struct maker *m, uint32_t block, int32_t candidate, double speedup,
		      double effect)
{
	struct sn_causal_trial trial = { .block = block,
					 .candidate = candidate,
					 .speedup = speedup,
					 .visits = 10,
					 .time_ns = 1000000000 };

	m->level *= 1 + m->drift;
	trial.step_ns = 1e8 * m->level * (1 - effect) * (1 + m->noise * normal(m));
	sn_vec_push(&m->log->trials, trial);
}

static void add_candidate(struct maker *m, double share)
{
	struct sn_causal_candidate candidate = { "loop", "id", "name", "f", "f.c", 1, 2, share };

	sn_vec_push(&m->log->candidates, candidate);
}

/* `slopes` by candidate; effects do not grow beyond `most`. */
static struct sn_causal_log *make_log(const double *slopes, uint32_t candidates, uint32_t blocks,
				      double most, double noise, double drift, uint64_t seed)
{
	struct maker m = { sn_causal_log_new(), .noise = noise, .drift = drift, .level = 1 };

	sn_random_seed(&m.random, seed);
	m.log->kind = "heartbeat";
	for (uint32_t c = 0; c < candidates; c++)
		add_candidate(&m, 0.2);
	for (uint32_t block = 0; block < blocks; block++)
		for (uint32_t c = 0; c < candidates; c++)
			for (size_t s = 0; s < sizeof(speedups) / sizeof(*speedups); s++) {
				add_trial(&m, block, SN_CAUSAL_BASELINE, 0, 0);
				add_trial(&m, block, (int32_t)c, speedups[s],
					  fmin(slopes[c] * speedups[s], most));
			}
	return m.log;
}

static const struct sn_causal_answer *answer_of(const struct sn_causal_answers *answers,
						uint32_t candidate)
{
	for (size_t i = 0; i < answers->rows.count; i++)
		if (answers->rows.items[i].candidate == candidate)
			return &answers->rows.items[i];
	return NULL;
}

TEST(verdicts_follow_the_truth)
{
	const double slopes[] = { 0.4, 0, -0.3 };
	struct sn_causal_log *log = make_log(slopes, 3, 8, 1, 0.01, 0, 1);
	struct sn_causal_answers answers;

	sn_causal_answers_find(log, &answers);
	CHECK(answers.rows.count == 3);
	CHECK(answers.rows.items[0].candidate == 0); /* most helpful first */
	CHECK(answer_of(&answers, 0)->verdict == SN_CAUSAL_HELPS);
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_NOTHING);
	CHECK(answer_of(&answers, 2)->verdict == SN_CAUSAL_CONTENDED);
	CHECK(fabs(answer_of(&answers, 0)->slope - 0.4) < 0.03);
	CHECK(answer_of(&answers, 0)->point_count == 4);
	CHECK(answer_of(&answers, 0)->points[1].speedup == 0.5);
	CHECK(answer_of(&answers, 0)->points[1].experiments == 8);
	CHECK(fabs(answers.rate_per_s - 10) < 1e-9);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* Code with 1 % of the CPU time cannot be said to be waited for by nobody where it may bring that. */
TEST(nothing_is_said_of_code_that_may_bring_its_share)
{
	static const double slopes[][2] = { { 0.5, 0 }, { 0.5, 0.012 } };
	static const double shares[] = { 0.4, 0.012 };
	static const char *const says[] = {
		"name (40 % of CPU time): no faster code there makes a step faster: it is not what "
		"others wait for, name is",
		"name (1 % of CPU time): however fast it gets, ",
	};

	for (int i = 0; i < 2; i++) {
		struct sn_causal_log *log = make_log(slopes[i], 2, 12, 1, 0.005, 0, 3);
		struct sn_causal_answers answers;
		struct sn_text text = { 0 };

		log->candidates.items[1].cpu_share = shares[i];
		sn_causal_answers_find(log, &answers);
		CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_NOTHING);
		sn_causal_sentence(log, &answers, answer_of(&answers, 1), &text);
		CHECK(!strncmp(text.chars, says[i], strlen(says[i])));
		CHECK(i == 0 || strstr(text.chars, "% less for a step at most"));
		sn_text_free(&text);
		sn_causal_answers_free(&answers);
		sn_causal_log_free(log);
	}
}

/* Pauses cost the others a little, which is no contention however sure it is. */
TEST(what_pauses_cost_is_not_contention)
{
	const double slopes[] = { 0.4, -0.03 };
	struct sn_causal_log *log = make_log(slopes, 2, 12, 1, 0.001, 0, 1);
	struct sn_causal_answers answers;

	sn_causal_answers_find(log, &answers);
	CHECK(answer_of(&answers, 1)->slope_high < 0);
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_NOTHING);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

TEST(a_curve_that_bends_says_up_to_where)
{
	const double slope = 0.6;
	struct sn_causal_log *log = make_log(&slope, 1, 8, 0.3, 0.001, 0, 2);
	struct sn_causal_answers answers;

	sn_causal_answers_find(log, &answers);
	CHECK(answers.rows.items[0].up_to == 0.5);
	CHECK(fabs(sn_causal_best_point(&answers.rows.items[0])->effect - 0.3) < 0.01);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

TEST(few_experiments_settle_nothing)
{
	const double slope = 0.5;
	struct sn_causal_log *log = make_log(&slope, 1, 2, 1, 0.001, 0, 3);
	struct sn_causal_answers answers;

	sn_causal_answers_find(log, &answers);
	CHECK(answers.rows.items[0].verdict == SN_CAUSAL_UNKNOWN);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
	log = sn_causal_log_new();
	sn_causal_answers_find(log, &answers);
	CHECK(answers.rows.count == 0 && isnan(answers.rate_per_s));
	CHECK(isnan(answers.false_alarm_rate) && isnan(answers.delay_error_share));
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* A machine that becomes slower all the time: each experiment has its baselines beside it. */
TEST(drift_is_no_effect)
{
	const double slopes[] = { 0, 0.2 };
	struct sn_causal_log *log = make_log(slopes, 2, 8, 1, 0.001, 0.01, 4);
	struct sn_causal_answers answers;

	sn_causal_answers_find(log, &answers);
	CHECK(answer_of(&answers, 0)->verdict == SN_CAUSAL_NOTHING);
	CHECK(fabs(answer_of(&answers, 0)->slope) < 0.01);
	CHECK(fabs(answer_of(&answers, 1)->slope - 0.2) < 0.01);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* A program that ends after a third of a second has room for one experiment in a run. */
TEST(runs_of_one_experiment_are_neighbours)
{
	const double slopes[] = { 0, 0.2 };
	struct sn_causal_log *log = make_log(slopes, 2, 8, 1, 0.001, 0, 4);
	struct sn_causal_answers answers;

	for (size_t i = 0; i < log->trials.count; i++)
		log->trials.items[i].run = (uint32_t)i;
	sn_causal_answers_find(log, &answers);
	CHECK(answer_of(&answers, 0)->verdict == SN_CAUSAL_NOTHING);
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_HELPS);
	CHECK(fabs(answer_of(&answers, 1)->slope - 0.2) < 0.01);
	sn_causal_answers_free(&answers);

	/* no baseline in a run of two: what another run did at another place is none */
	for (size_t i = 0; i < log->trials.count; i++) {
		bool is_baseline = i % 3 == 2;

		log->trials.items[i].run = (uint32_t)(is_baseline ? log->trials.count : i / 3);
		log->trials.items[i].candidate = is_baseline ? SN_CAUSAL_BASELINE : 1;
		log->trials.items[i].speedup = is_baseline ? 0 : 0.5;
	}
	sn_causal_answers_find(log, &answers);
	CHECK(answer_of(&answers, 1)->verdict == SN_CAUSAL_UNKNOWN);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* The intervals of slopes hold the truth in 95 of 100: 400 logs, 5 sigma are 5.5 in 100. And nothing
 * that does nothing is said to help: 0.01 in all of a log's candidates, 400 logs: 4 expected, 16 is
 * beyond 5 sigma. */
TEST(intervals_hold_the_truth)
{
	enum { LOGS = 400 };
	const double slopes[] = { 0.3, 0, 0 };
	unsigned held = 0, alarms = 0;

	for (uint64_t seed = 0; seed < LOGS; seed++) {
		struct sn_causal_log *log = make_log(slopes, 3, 6, 1, 0.05, 0, 100 + seed);
		struct sn_causal_answers answers;
		const struct sn_causal_answer *first;

		sn_causal_answers_find(log, &answers);
		first = answer_of(&answers, 0);
		held += first->slope_low <= 0.3 && first->slope_high >= 0.3;
		alarms += answer_of(&answers, 1)->verdict == SN_CAUSAL_HELPS ||
			  answer_of(&answers, 2)->verdict == SN_CAUSAL_HELPS;
		sn_causal_answers_free(&answers);
		sn_causal_log_free(log);
	}
	printf("# %u of %d intervals hold the truth, %u false alarms\n", held, LOGS, alarms);
	CHECK(held >= LOGS * 895 / 1000);
	CHECK(alarms <= 16);
}

/* Blocks with one speed-up of each candidate, as sessions make them: points of one speed-up have few
 * experiments, and their intervals still hold the truth in 95 of 100, or more, as the method's own error
 * is in them. 400 logs of four points, which share their deviation: 90 of 100 is beyond 5 sigma. */
TEST(intervals_of_points_hold_the_truth)
{
	enum { LOGS = 400, BLOCKS = 16, POINTS = sizeof(speedups) / sizeof(*speedups) };
	unsigned held = 0, settled = 0;

	for (uint64_t seed = 0; seed < LOGS; seed++) {
		struct maker m = { sn_causal_log_new(), .noise = 0.05, .level = 1 };
		struct sn_causal_answers answers;

		sn_random_seed(&m.random, 900 + seed);
		m.log->kind = "heartbeat";
		add_candidate(&m, 0.2);
		for (uint32_t block = 0; block < BLOCKS; block++) {
			double speedup = speedups[block % POINTS];

			add_trial(&m, block, SN_CAUSAL_BASELINE, 0, 0);
			add_trial(&m, block, 0, speedup, fmin(0.4 * speedup, 0.2));
		}
		sn_causal_answers_find(m.log, &answers);
		CHECK(answers.rows.items[0].point_count == POINTS);
		for (size_t p = 0; p < POINTS; p++) {
			const struct sn_causal_point *point = &answers.rows.items[0].points[p];
			double truth = fmin(0.4 * speedups[p], 0.2);

			CHECK(point->experiments == BLOCKS / POINTS);
			held += point->low <= truth && truth <= point->high;
		}
		settled += answers.rows.items[0].verdict == SN_CAUSAL_HELPS;
		sn_causal_answers_free(&answers);
		sn_causal_log_free(m.log);
	}
	printf("# %u of %d intervals hold the truth, %u of %d help\n", held, LOGS * POINTS, settled,
	       LOGS);
	CHECK(held >= LOGS * POINTS * 90 / 100);
	CHECK(settled >= LOGS * 3 / 4);
}

TEST(width_is_infinite_without_blocks)
{
	const double slope = 0.3;
	struct sn_causal_log *log = make_log(&slope, 1, 5, 1, 0.01, 0, 7);
	uint32_t blocks;

	CHECK(sn_causal_slope_width(log, 0, &blocks) < 0.1 && blocks == 5);
	CHECK(isinf(sn_causal_slope_width(log, 1, &blocks)) && blocks == 0);
	sn_causal_log_free(log);
}

/* One speed-up, in each block, with an effect of 0.066 and threads that waited for CPUs. */
static void answer_one(double speedup, uint32_t blocks, double noise, int64_t queued_ns,
		       struct sn_causal_log **log, struct sn_causal_answers *answers)
{
	struct maker m = { sn_causal_log_new(), .noise = noise, .level = 1 };
	struct sn_causal_run run = { .asked_ns = 1000,
				     .slept_ns = 1000,
				     .ran_ns = 1000 - queued_ns,
				     .queued_ns = queued_ns };

	sn_random_seed(&m.random, 11);
	m.log->kind = "end";
	sn_vec_push(&m.log->runs, run);
	add_candidate(&m, 0.2);
	for (uint32_t block = 0; block < blocks; block++) {
		add_trial(&m, block, SN_CAUSAL_BASELINE, 0, 0);
		add_trial(&m, block, 0, speedup, 0.066);
	}
	*log = m.log;
	sn_causal_answers_find(m.log, answers);
}

/* With one speed-up the slope is the effect over it, and its interval the effect's, too. */
TEST(a_slope_errs_by_what_its_effects_do)
{
	const double tried[] = { 0.25, 0.5, 1 };

	for (size_t i = 0; i < sizeof(tried) / sizeof(*tried); i++) {
		struct sn_causal_log *log;
		struct sn_causal_answers answers;
		const struct sn_causal_answer *answer;

		answer_one(tried[i], 12, 0.005, 60, &log, &answers);
		answer = &answers.rows.items[0];
		CHECK(answer->verdict == SN_CAUSAL_HELPS);
		CHECK(fabs(answer->slope_low * tried[i] - answer->points[0].low) < 0.002);
		CHECK(fabs(answer->slope_high * tried[i] - answer->points[0].high) < 0.002);
		sn_causal_answers_free(&answers);
		sn_causal_log_free(log);
	}
}

/* More experiments are advised only where some would be made. */
TEST(who_is_as_narrow_as_can_be_is_not_asked_for_more)
{
	struct sn_causal_log *log;
	struct sn_causal_answers answers;

	answer_one(1, 12, 0.005, 200, &log, &answers);
	CHECK(answers.rows.items[0].verdict == SN_CAUSAL_UNKNOWN);
	CHECK_STRING(answers.rows.items[0].reason, "method");
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
	answer_one(1, 12, 0.1, 200, &log, &answers);
	CHECK_STRING(answers.rows.items[0].reason, "noise");
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
	answer_one(1, 5, 0.005, 200, &log, &answers);
	CHECK_STRING(answers.rows.items[0].reason, "noise");
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* Experiments of one speed-up are few and noisy; the slope has those of all. */
TEST(the_sentence_tells_what_is_known_best)
{
	struct sn_causal_log *log = make_log((double[]){ 0.5 }, 1, 8, 1, 0.02, 0, 7);
	struct sn_causal_answers answers = { 0 };
	struct sn_causal_answer answer = { .verdict = SN_CAUSAL_HELPS,
					   .slope = 0.51,
					   .slope_low = 0.36,
					   .slope_high = 0.67,
					   .up_to = 1,
					   .points = { { 0.5, 0.2, -0.2, 0.6, 4 },
						       { 1, 0.47, 0, 0.93, 4 } },
					   .point_count = 2 };
	struct sn_text text = { 0 };

	sn_causal_sentence(log, &answers, &answer, &text);
	CHECK_STRING(text.chars, "name (20 % of CPU time): 100 % less time in it, 51 % less for a "
				 "step [36-67]");
	sn_text_clear(&text);
	answer.points[1].low = 0.44; /* narrower than the slope's */
	answer.points[1].high = 0.5;
	sn_causal_sentence(log, &answers, &answer, &text);
	CHECK(strstr(text.chars, "47 % less for a step [44-50]"));
	sn_text_clear(&text);
	answer.points[1].low = 0; /* the curve bends */
	answer.points[1].high = 0.93;
	answer.up_to = 0.5;
	sn_causal_sentence(log, &answers, &answer, &text);
	CHECK(strstr(text.chars, "47 % less for a step [0-93]; more than 50 % brings nothing"));
	sn_text_free(&text);
	sn_causal_log_free(log);
}

/* Each speed-up of the one candidate in each of `blocks` blocks of a run, with effects of this slope. */
static void add_records(struct sn_text *text, uint32_t run, uint32_t blocks, double slope)
{
	for (uint32_t block = 0; block < blocks; block++)
		for (size_t s = 0; s < sizeof(speedups) / sizeof(*speedups); s++) {
			double jitter = 1 + 0.001 * (double)((block + s) % 3);

			sn_text_addf(text, "trial\t%u\t%u\t-1\t0\t%g", run, block + 100 * run, 1e8);
			sn_text_add(text, "\t10\t1000000000\t0\t0\t0\t0\t0\t5000000\n");
			sn_text_addf(text, "trial\t%u\t%u\t0\t%g\t%g", run, block + 100 * run,
				     speedups[s], 1e8 * jitter * (1 - slope * speedups[s]));
			sn_text_add(text, "\t10\t1000000000\t0\t0\t0\t0\t0\t5000000\n");
		}
}

/* The command was killed, so that nobody knows how long threads waited for CPUs: on a loaded machine effects are too small. */
TEST(a_run_that_was_cut_tells_no_effect)
{
	struct sn_text text = { 0 }, sentence = { 0 };
	struct sn_causal_log *log = NULL;
	struct sn_causal_answers answers;
	struct sn_error err;

	for (int complete = 0; complete < 2; complete++) {
		sn_text_add(&text, "sonde.causal-log\t1\nprogress\theartbeat\tstep\n"
				   "candidate\tloop\tid\tname\tf\tf.c\t1\t2\t0.5\n");
		if (complete) {
			sn_text_add(&text, "run\t8000000000\t1000\t1000\t0\t1\t0\t1\t0\t0"
					   "\t8000000000\t1000000\n");
			add_records(&text, 0, 6, 0.59);
		}
		add_records(&text, (uint32_t)complete, 6, 0.34);
		CHECK(sn_causal_log_parse(text.chars, text.length, "x", &log, &err) == SN_OK);
		sn_causal_answers_find(log, &answers);
		CHECK(answers.cut_trials == 48);
		if (complete) { /* what its run has told still counts */
			CHECK(answers.rows.items[0].verdict == SN_CAUSAL_HELPS);
			CHECK(fabs(answers.rows.items[0].slope - 0.59) < 0.01);
			CHECK(answers.rows.items[0].points[0].experiments == 6);
		} else {
			CHECK(answers.rows.items[0].verdict == SN_CAUSAL_UNKNOWN);
			CHECK_STRING(answers.rows.items[0].reason, "cut-off");
			CHECK(isnan(answers.rows.items[0].slope));
			CHECK(!answers.rows.items[0].point_count && isnan(answers.rate_per_s));
			sn_causal_sentence(log, &answers, &answers.rows.items[0], &sentence);
			CHECK(strstr(sentence.chars, "not known: the run was cut off"));
			CHECK(strstr(sentence.chars, "--from"));
			sn_text_free(&sentence);
		}
		sn_causal_answers_free(&answers);
		sn_causal_log_free(log);
		sn_text_clear(&text);
	}
	sn_text_free(&text);
}

/* Threads that wait for CPUs: no number is better than a wrong one. */
TEST(queues_are_refused)
{
	const double slopes[] = { 0.5 };
	struct sn_causal_log *log = make_log(slopes, 1, 12, 1, 0.001, 0, 5);
	struct sn_causal_run run = {
		.asked_ns = 1000, .slept_ns = 1000, .ran_ns = 1000, .queued_ns = 300
	};
	struct sn_causal_answers answers;

	sn_vec_push(&log->runs, run);
	sn_causal_answers_find(log, &answers);
	CHECK(answers.refusal == SN_CAUSAL_NOT_REFUSED);
	CHECK(answers.rows.items[0].verdict == SN_CAUSAL_HELPS);
	CHECK(!answers.rows.items[0].reason);
	sn_causal_answers_free(&answers);
	log->runs.items[0].queued_ns = 400;
	sn_causal_answers_find(log, &answers);
	CHECK(answers.refusal == SN_CAUSAL_REFUSED_QUEUES);
	CHECK(answers.rows.items[0].verdict == SN_CAUSAL_UNKNOWN);
	CHECK(isnan(answers.rows.items[0].slope) && !answers.rows.items[0].point_count);
	CHECK_STRING(answers.rows.items[0].reason, "cpu-waits");
	sn_causal_answers_free(&answers);
	log->runs.items[0].queued_ns = 0;
	log->runs.items[0].slept_ns = 1200;
	sn_causal_answers_find(log, &answers);
	CHECK(answers.refusal == SN_CAUSAL_REFUSED_DELAYS);
	CHECK_STRING(answers.rows.items[0].reason, "late-pauses");
	sn_causal_answers_free(&answers);
	log->trials.count = 0;
	sn_causal_answers_find(log, &answers);
	CHECK_STRING(answers.rows.items[0].reason, "no-experiments");
	sn_causal_answers_free(&answers);
	log->refused = "one-thread";
	sn_causal_answers_find(log, &answers);
	CHECK_STRING(answers.rows.items[0].reason, "one-thread");
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}
