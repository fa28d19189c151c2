#include "campaign/scaling/scaling.h"

#include <math.h>
#include <string.h>

#include "campaign/scaling/words.h"
#include "harness/tap.h"

/* A run of n workers: one part of `serial` seconds, one divided among them, elapsed as said. */
static struct sn_scaling_member member(uint32_t configuration, uint32_t block, double n,
				       double serial, double divided, double elapsed)
{
	struct sn_scaling_member m = { configuration, block, { .workers = n } };
	struct sn_scaling_part parts[] = {
		{ .kind = SN_SCALING_LOOP, .key = "s", .entry = { .name = "s" }, .loop = "id" },
		{ .kind = SN_SCALING_LOOP, .key = "d", .entry = { .name = "d" } }
	};

	parts[0].cpu_s = parts[0].busiest_s = serial;
	parts[1].cpu_s = divided;
	parts[1].busiest_s = divided / n * 1.25;
	m.run.elapsed_s = elapsed;
	m.run.cpu_s = serial + divided;
	m.run.useful_s = 0.9 * m.run.cpu_s;
	m.run.useful_busiest_s = 0.8 * elapsed;
	m.run.spin_s = 0.1;
	m.run.wait_cpu_s = 0.2;
	sn_vec_push(&m.run.parts, parts[0]);
	sn_vec_push(&m.run.parts, parts[1]);
	return m;
}

static const struct sn_scaling_configuration two[] = { { "one", "all", 1, 1 },
						       { "four", "all", 1, 4 } };

static struct sn_scaling *scaling_of(bool is_weak, const char *reference)
{
	static struct sn_scaling_member members[6];
	struct sn_scaling_options options = { .is_weak = is_weak,
					      .is_in_blocks = true,
					      .reference = reference };
	struct sn_scaling *scaling = NULL;
	struct sn_error err = { 0 };

	for (uint32_t b = 0; b < 3; b++) {
		members[2 * b] = member(0, b, 1, 1 + 0.01 * b, 3, 4.1 + 0.03 * b);
		members[2 * b + 1] = member(1, b, 4, 1.1, 3.3 + 0.02 * b, 1.9);
	}
	CHECK_INT(sn_scaling_new(members, 6, two, 2, &options, &scaling, &err), SN_OK);
	REQUIRE(scaling != NULL);
	return scaling;
}

TEST(every_identity_holds_to_the_last_digit)
{
	for (int weak = 0; weak < 2; weak++) {
		struct sn_scaling *s = scaling_of(weak, NULL);

		CHECK_INT(s->rows.count, 6);
		for (size_t i = 0; i < s->rows.count; i++) {
			const struct sn_scaling_row *r = &s->rows.items[i];

			CHECK_REAL(r->work * r->balance, r->efficiency, 1e-12);
			CHECK_REAL(r->speedup / r->ideal_speedup, r->efficiency, 1e-12);
			CHECK_REAL(r->ideal_speedup, weak || r->workers == 1 ? 1 : 4, 0);
			if (r->kind == SN_SCALING_APPLICATION)
				CHECK_REAL(r->load_balance * r->communication * r->computation,
					   r->efficiency, 1e-12);
			CHECK(r->configuration != r->reference || r->efficiency == 1);
		}
		sn_scaling_free(s);
	}
}

TEST(laws_of_loops_without_time_are_counted_not_told)
{
	struct sn_scaling scaling = { 0 };
	struct sn_scaling_laws laws;
	struct sn_text text = { 0 };

	sn_vec_push(&scaling.fits, ((struct sn_scaling_fit){ .kind = SN_SCALING_APPLICATION }));
	for (int i = 0; i < 20; i++) {
		struct sn_scaling_fit fit = { .kind = SN_SCALING_LOOP,
					      .share = i < 9	? 0.02
						       : i < 19 ? 0.009
								: 0.5 };

		fit.fit.model =
			i < 19 ? "amdahl" : NULL; /* without a law there is nothing to tell */
		sn_vec_push(&scaling.fits, fit);
	}
	sn_scaling_choose_laws(&scaling, &laws);
	CHECK_INT(laws.count, SN_LAWS_SHOWN);
	CHECK(laws.items[0] == &scaling.fits.items[0]);
	CHECK_INT(laws.more, 2);
	CHECK_INT(laws.small, 10);
	sn_scaling_add_left_out(&laws, &text);
	CHECK_STRING(text.chars,
		     "and 2 more; 10 loops of less than 1 % of the CPU time are left out");
	sn_text_clear(&text);
	scaling.fits.count = 3;
	sn_scaling_choose_laws(&scaling, &laws);
	sn_scaling_add_left_out(&laws, &text);
	CHECK_INT(laws.count, 3);
	CHECK_INT(text.length, 0);
	sn_text_free(&text);
	sn_vec_free(&scaling.fits);
}

TEST(the_reason_why_there_is_no_law_is_told_once)
{
	struct sn_scaling scaling = { 0 };
	struct sn_scaling_laws laws;
	struct sn_text text = { 0 };

	for (int i = 0; i < 4; i++) {
		struct sn_scaling_fit fit = { .kind = SN_SCALING_APPLICATION };

		snprintf(fit.fit.reason, sizeof(fit.fit.reason), i < 3 ? "few" : "other");
		sn_vec_push(&scaling.fits, fit);
	}
	sn_scaling_choose_laws(&scaling, &laws);
	CHECK_INT(laws.count, 2);
	CHECK(laws.items[1] == &scaling.fits.items[3]);
	CHECK_INT(laws.alike, 2);
	sn_scaling_add_left_out(&laws, &text);
	CHECK_STRING(text.chars, "and 2 more, without a law for the same reason");
	sn_text_free(&text);
	sn_vec_free(&scaling.fits);
}

TEST(references_that_waited_are_warned_of_in_one_sentence)
{
	static const struct sn_scaling_configuration four[] = { { "a 1", "a", 1, 1 },
								{ "a 2", "a", 1, 2 },
								{ "b 1", "b", 1, 1 },
								{ "b 2", "b", 1, 2 } };
	struct sn_scaling_member members[4];
	struct sn_scaling_options options = { 0 };
	struct sn_scaling *s = NULL;
	struct sn_text text = { 0 };
	size_t at = 0;

	for (uint32_t c = 0; c < 4; c++)
		members[c] = member(c, 0, 1 + c % 2, 1, 3, 4);
	REQUIRE(sn_scaling_new(members, 4, four, 4, &options, &s, NULL) == SN_OK);
	for (size_t i = 0; i < 4; i++)
		s->rows.items[i].wait_cpu_share = i == 0 ? 0.5 : i == 2 ? 0.25 : 0;
	CHECK(sn_scaling_add_warning(s, four, &at, &text));
	CHECK(text.chars &&
	      !strncmp(text.chars, "The references 'a 1' (50 %) and 'b 1' (25 %) waited ",
		       strlen("The references 'a 1' (50 %) and 'b 1' (25 %) waited ")));
	CHECK(!sn_scaling_add_warning(s, four, &at, &text));
	CHECK_REAL(s->rows.items[1].member_time_s[1], s->rows.items[1].time_s, 0);
	sn_text_free(&text);
	sn_scaling_free(s);
}

TEST(runs_of_one_number_of_workers_have_one_answer_and_no_warning)
{
	static const struct sn_scaling_configuration flat[] = { { "gcc", "gcc", 1, 2 },
								{ "clang", "clang", 1, 2 } };
	struct sn_scaling_member members[2];
	struct sn_scaling_options options = { 0 };
	struct sn_scaling *s = NULL;
	struct sn_error err = { 0 };
	struct sn_text text = { 0 };
	size_t at = 0;

	for (uint32_t c = 0; c < 2; c++) {
		members[c] = member(c, 0, 2, 1, 3, 4);
		members[c].run.wait_cpu_s = 7; /* a busy machine */
	}
	CHECK_INT(sn_scaling_new(members, 2, flat, 2, &options, &s, &err), SN_OK);
	REQUIRE(s != NULL);
	CHECK(sn_scaling_add_answer(s, flat, &at, &text));
	CHECK_STRING(text.chars, "Only runs of 2 workers are done: how it scales is not known; "
				 "'sonde diff CAMPAIGN' compares the 2 configurations.");
	CHECK(!sn_scaling_add_answer(s, flat, &at, &text));
	at = 0;
	CHECK(!sn_scaling_add_warning(s, flat, &at, &text));
	sn_text_free(&text);
	sn_scaling_free(s);
}

TEST(a_law_names_its_series_where_there_are_two)
{
	struct sn_scaling scaling = { 0 };
	struct sn_scaling_fit fits[] = { { .name = "a", .series = "gcc" },
					 { .name = "b", .series = "gcc" } };

	for (int i = 0; i < 2; i++)
		sn_vec_push(&scaling.fits, fits[i]);
	CHECK(sn_scaling_law_series(&scaling, &scaling.fits.items[0]) == NULL);
	scaling.fits.items[1].series = "clang";
	CHECK_STRING(sn_scaling_law_series(&scaling, &scaling.fits.items[0]), "gcc");
	CHECK_STRING(sn_scaling_law_series(&scaling, &scaling.fits.items[1]), "clang");
	sn_vec_free(&scaling.fits);
}

/* Two data sets, one of which is worth two threads: each is its own reference. */
TEST(configurations_of_series_of_one_are_not_set_against_each_other)
{
	static const struct sn_scaling_configuration data[] = { { "small", "small", 1, 1 },
								{ "large", "large", 1, 2 } };
	struct sn_scaling_member members[2];
	struct sn_scaling_options options = { 0 };
	struct sn_scaling *s = NULL;
	struct sn_error err = { 0 };
	struct sn_text text = { 0 };
	size_t at = 0;

	for (uint32_t c = 0; c < 2; c++)
		members[c] = member(c, 0, c + 1, 1, 3, 4);
	CHECK_INT(sn_scaling_new(members, 2, data, 2, &options, &s, &err), SN_OK);
	REQUIRE(s != NULL);
	CHECK(sn_scaling_is_flat(s));
	CHECK(sn_scaling_add_answer(s, data, &at, &text));
	CHECK_STRING(text.chars, "No two configurations differ in the number of workers alone: how "
				 "it scales is not known; 'sonde diff CAMPAIGN' compares the 2 "
				 "configurations.");
	sn_text_free(&text);
	sn_scaling_free(s);
}

TEST(a_serial_loop_has_an_efficiency_of_one_in_n)
{
	struct sn_scaling *s = scaling_of(false, NULL);
	const struct sn_scaling_row *r = NULL;

	for (size_t i = 0; i < s->rows.count; i++)
		if (!strcmp(s->rows.items[i].name, "s") && s->rows.items[i].workers == 4)
			r = &s->rows.items[i];
	REQUIRE(r != NULL);
	CHECK_REAL(r->efficiency, 1.01 / 1.1 / 4, 1e-9);
	CHECK_REAL(r->work, 1.01 / 1.1, 1e-9);
	CHECK_REAL(r->balance, 0.25, 1e-9);
	CHECK(r->interval.low < r->efficiency && r->efficiency < r->interval.high);
	CHECK_STRING(r->loop, "id");
	CHECK_INT(r->repeats, 3);
	sn_scaling_free(s);
}

TEST(references)
{
	struct sn_scaling *s = scaling_of(false, "fastest");
	struct sn_scaling_options options = { .reference = "none" };
	struct sn_scaling_member m = member(0, 0, 1, 1, 1, 2);
	struct sn_scaling *none = NULL;

	CHECK_INT(s->rows.items[0].reference, 1);
	sn_scaling_free(s);
	CHECK_INT(sn_scaling_new(&m, 1, two, 2, &options, &none, NULL), SN_ERR_USAGE);
	CHECK_INT(sn_scaling_new(NULL, 0, two, 2, &options, &none, NULL), SN_ERR_NO_DATA);
}

TEST(one_run_has_no_interval)
{
	struct sn_scaling_member m[] = { member(0, 0, 1, 1, 1, 2), member(1, 0, 4, 1, 1, 1) };
	struct sn_scaling_options options = { 0 };
	struct sn_scaling *s = NULL;

	REQUIRE(sn_scaling_new(m, 2, two, 2, &options, &s, NULL) == SN_OK);
	CHECK(isnan(s->rows.items[1].interval.low));
	CHECK(s->fits.items[0].fit.reason[0]);
	sn_scaling_free(s);
}

/* ---- words ---- */

static struct sn_scaling_row row_of(double load_balance, double communication, double computation)
{
	double efficiency = load_balance * communication * computation;

	return (struct sn_scaling_row){ .kind = SN_SCALING_APPLICATION,
					.configuration = 1,
					.workers = 2,
					.speedup = 2 * efficiency,
					.ideal_speedup = 2,
					.efficiency = efficiency,
					.interval = { 0.95 * efficiency, 1.05 * efficiency },
					.load_balance = load_balance,
					.communication = communication,
					.computation = computation };
}

static void check_reason(const struct sn_scaling_row *row, const char *expected)
{
	struct sn_text text = { 0 };

	sn_scaling_add_reason(row, &text);
	CHECK_STRING(text.chars ? text.chars : "", expected);
	sn_text_free(&text);
}

/* One worker of two without work, on a machine where both waited for CPUs. */
TEST(no_work_is_not_waiting_for_a_cpu)
{
	struct sn_scaling_row row = row_of(0.5, 0.95, 1);

	row.idle_workers = 1;
	row.wait_cpu_share = 0.4;
	row.waiting_part = 1;
	check_reason(&row, "1 of 2 workers had next to no work");
	row = row_of(0.5, 0.6, 1);
	row.idle_workers = 0;
	row.waiting_part = 0.9;
	check_reason(&row, "load balance: workers are uneven; waiting for CPUs");
	row = row_of(1, 0.6, 0.8);
	row.waiting_part = 0.1;
	check_reason(&row, "waiting for others, or input and output; more CPU time: contention or "
			   "more work");
	row = row_of(0.97, 0.97, 0.95);
	check_reason(&row, "a little of each factor");
	row = row_of(1, 0.5, 1);
	row.waiting_part = 0.1;
	row.turns = "critical section in crit (cr.c:8)";
	row.turns_share = 0.41;
	check_reason(&row,
		     "waiting for others, or input and output; 41 % of CPU time spins for the "
		     "critical section in crit (cr.c:8)");
	row.turns_share = 0.09;
	check_reason(&row, "waiting for others, or input and output");
	row = row_of(1, 0.95, 1);
	check_reason(&row, "");
}

TEST(confidence_falls_with_a_busy_reference_and_wide_intervals)
{
	struct sn_scaling_row row = row_of(0.9, 0.9, 1);

	CHECK_STRING(sn_scaling_confidence(&row), "high");
	row.reference_wait_share = 0.1;
	CHECK_STRING(sn_scaling_confidence(&row), "medium");
	row.reference_wait_share = 0.5;
	CHECK_STRING(sn_scaling_confidence(&row), "low");
	row.kind = SN_SCALING_LOOP; /* goes by CPU time */
	CHECK_STRING(sn_scaling_confidence(&row), "medium");
	row.reference_wait_share = 0;
	row.interval.high = 26;
	CHECK_STRING(sn_scaling_confidence(&row), "low");
	row.interval.low = row.interval.high = NAN;
	CHECK_STRING(sn_scaling_confidence(&row), "low");
}

/* The growth is the same, whichever end it is told from. */
static void check_turned(const char *answer)
{
	struct sn_scaling *s = scaling_of(false, "fastest");
	struct sn_text text = { 0 };
	size_t at = 0, length = (size_t)(strstr(answer, "):") - answer);

	REQUIRE(sn_scaling_add_answer(s, two, &at, &text));
	CHECK(!strncmp(text.chars, answer, length));
	sn_text_free(&text);
	sn_scaling_free(s);
}

/* A part of the workers' time is never more than all of it. */
TEST(shares_are_at_most_all)
{
	struct sn_scaling_member m[] = { member(0, 0, 1, 1, 1, 2), member(1, 0, 4, 1, 1, 1) };
	struct sn_scaling_options options = { 0 };
	struct sn_scaling *s = NULL;

	m[0].run.wait_cpu_s = m[1].run.spin_s = m[1].run.system_s = 100;
	REQUIRE(sn_scaling_new(m, 2, two, 2, &options, &s, NULL) == SN_OK);
	CHECK_REAL(s->rows.items[0].wait_cpu_share, 1, 0);
	CHECK_REAL(s->rows.items[1].reference_wait_share, 1, 0);
	CHECK_REAL(s->rows.items[1].spin_share, 1, 0);
	CHECK_REAL(s->rows.items[1].system_share, 1, 0);
	m[0].run.wait_cpu_s = NAN;
	sn_scaling_free(s);
	REQUIRE(sn_scaling_new(m, 2, two, 2, &options, &s, NULL) == SN_OK);
	CHECK(isnan(s->rows.items[0].wait_cpu_share));
	sn_scaling_free(s);
}

TEST(the_answer_and_its_warning_are_sentences)
{
	struct sn_scaling *s = scaling_of(false, NULL);
	struct sn_text text = { 0 };
	size_t at = 0;

	REQUIRE(sn_scaling_add_answer(s, two, &at, &text));
	CHECK(!strncmp(
		text.chars, "From 1 to 4 workers the application gets 2.17 times faster, of 4 ",
		strlen("From 1 to 4 workers the application gets 2.17 times faster, of 4 ")));
	CHECK(!sn_scaling_add_answer(s, two, &at, &text));
	check_turned(text.chars);
	at = 0;
	CHECK(!sn_scaling_add_warning(s, two, &at, &text));
	s->rows.items[0].wait_cpu_share = 0.6;
	at = 0;
	sn_text_clear(&text);
	REQUIRE(sn_scaling_add_warning(s, two, &at, &text));
	CHECK(strstr(text.chars, "'one' itself waited for a CPU for 60 %") != NULL);
	CHECK(!sn_scaling_add_warning(s, two, &at, &text));
	sn_text_free(&text);
	sn_scaling_free(s);
}

TEST(a_law_foretells_in_units_that_people_read)
{
	struct sn_fit fit = { .model = "amdahl", .workers_80 = 2, .workers_50 = NAN };
	struct sn_text text = { 0 };

	fit.predicted[0] = (struct sn_fit_prediction){ 8, 0.00583, 0.0000827, 1.5 };
	fit.predicted[1] = (struct sn_fit_prediction){ 16, 2, 1, 3 };
	sn_scaling_add_law(&fit, &text);
	CHECK_STRING(
		text.chars,
		"amdahl; efficiency below 0.8 from 2; n 8: 5.83 ms (95 %: 82.7 \xc2\xb5s to 1.50 s), "
		"n 16: 2.00 s (95 %: 1.00 s to 3.00 s)");
	sn_text_free(&text);
}

/* gcc has a loop at heat.c:12-13 and clang at heat.c:13: one row, with gcc's lines. */
TEST(ranges_of_lines_join_across_compilers)
{
	static const struct sn_scaling_configuration compilers[] = { { "gcc", "all", 1, 1 },
								     { "clang", "all", 1, 1 } };
	struct sn_scaling_options options = { 0 };
	struct sn_scaling_member members[2] = { 0 };
	struct sn_scaling *s = NULL;
	struct sn_error err = { 0 };
	size_t loops = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct sn_scaling_part part = {
			.kind = SN_SCALING_LOOP,
			.key = i ? "by clang" : "by gcc",
			.loop = i ? "clang:1" : "gcc:1",
			.entry = { .kind = SN_COMPARE_LOOP,
				   .module = "",
				   .function = "step",
				   .name = i ? "heat.c:13" : "heat.c:12-13",
				   .file = "heat.c",
				   .line_first = i ? 13 : 12,
				   .line_last = 13,
				   .depth = 1 },
			.cpu_s = 1 + i,
			.busiest_s = 1 + i,
		};

		members[1 - i].configuration = i; /* clang's run came first */
		members[1 - i].run.workers = 1;
		members[1 - i].run.elapsed_s = members[1 - i].run.cpu_s = 2 + i;
		sn_vec_push(&members[1 - i].run.parts, part);
	}
	CHECK_INT(sn_scaling_new(members, 2, compilers, 2, &options, &s, &err), SN_OK);
	REQUIRE(s != NULL);
	for (size_t i = 0; i < s->rows.count; i++) {
		if (s->rows.items[i].kind != SN_SCALING_LOOP)
			continue;
		loops++;
		CHECK_STRING(s->rows.items[i].name, "heat.c:12-13");
		CHECK_STRING(s->rows.items[i].loop,
			     s->rows.items[i].configuration ? "clang:1" : "gcc:1");
		CHECK_REAL(s->rows.items[i].cpu_s, 1 + s->rows.items[i].configuration, 1e-12);
	}
	CHECK_INT(loops, 2); /* a cell of each configuration */
	sn_scaling_free(s);
	for (int i = 0; i < 2; i++)
		sn_vec_free(&members[i].run.parts);
}
