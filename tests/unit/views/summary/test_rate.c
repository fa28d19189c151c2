#include "views/summary/rate.h"

#include <string.h>

#include "harness/tap.h"

/* The clock of two processes with so many samples of a CPU second each, in words. */
static struct sn_text words;

static const char *words_of(const char *first, uint64_t samples, const char *second, uint64_t more,
			    double system_s, const char **reason, const char **mechanism)
{
	static struct sn_summary s;
	struct sn_process processes[2] = {
		{ .clock_mechanism = first, .rate_hz = 1000 },
		{ .clock_mechanism = second, .rate_hz = 1000 },
	};
	struct sn_experiment experiment = { .processes = { .items = processes, .count = 2 } };
	struct sn_weight weights[2] = { { .samples = samples }, { .samples = more } };
	struct sn_profile profile = {
		.experiment = &experiment,
		.processes = weights,
		.total = { .cpu_ns = 2000000000, .system_ns = (uint64_t)(system_s * 1e9) },
	};

	sn_arena_free(&s.arena);
	s = (struct sn_summary){ .profile = &profile,
				 .sampled_cpu_s = 2,
				 .samples = samples + more };
	sn_summary_rate(&s);
	sn_text_clear(&words);
	sn_summary_rate_text(&s, &words);
	*reason = s.rate_reason;
	*mechanism = s.clock_mechanism;
	return words.chars;
}

TEST(a_rate_near_the_one_asked_for_is_that)
{
	const char *reason, *mechanism;

	CHECK_STRING(words_of("perf-signal", 990, "perf-signal", 1001, 0, &reason, &mechanism),
		     "perf-signal at 1000 Hz");
	CHECK(!reason);
	CHECK_STRING(mechanism, "perf-signal");
}

TEST(mechanisms_of_all_processes_are_named_once_those_of_most_samples_first)
{
	const char *reason, *mechanism;

	CHECK_STRING(words_of("perf-signal", 100, "perf-signal+thread-timer", 300, 0, &reason,
			      &mechanism),
		     "perf-signal, then timers: 200 of 1000 Hz");
	CHECK_STRING(mechanism, "perf-signal+thread-timer");
	CHECK(strstr(reason, "timers"));
	words_of("thread-timer", 100, "perf-signal", 900, 0, &reason, &mechanism);
	CHECK_STRING(mechanism, "perf-signal+thread-timer");
	words_of("off", 0, "perf-ring", 900, 0, &reason, &mechanism);
	CHECK_STRING(mechanism, "perf-ring");
}

TEST(time_in_the_kernel_is_a_reason)
{
	const char *reason, *mechanism;

	CHECK_STRING(words_of("perf-signal", 250, "perf-signal", 300, 1.8, &reason, &mechanism),
		     "perf-signal: 275 of 1000 Hz");
	CHECK(strstr(reason, "kernel"));
	CHECK_STRING(words_of("perf-signal", 2500, "perf-signal", 300, 0, &reason, &mechanism),
		     "perf-signal: 1400 of 1000 Hz");
	CHECK(strstr(reason, "short"));
}
