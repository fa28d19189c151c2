#include "phases/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/structure.h"
#include "profile/fixture.h"
#include "harness/tap.h"

enum { MS = 1000 }; /* of microseconds */

static struct sn_phases *phases_of(struct fixture *f, const struct sn_phases_options *options)
{
	struct sn_phases *phases = NULL;
	struct sn_error err;

	fixture_profile(f, NULL);
	REQUIRE(sn_phases_new(f->profile, options, &phases, &err) == SN_OK);
	return phases;
}

static const char *function_at(const struct sn_phases *p, size_t phase, size_t site)
{
	REQUIRE(phase < p->phases.count && site < p->phases.items[phase].sites.count);
	return p->paths->program->functions.items[p->phases.items[phase].sites.items[site].function]
		.name;
}

/* main > fib for 0.8 s, main > leaf's loop for 0.8 s, fib again for 0.4 s. */
static void two_phases(struct fixture *f, uint32_t *fib, uint32_t *leaf)
{
	fixture_begin(f);
	*fib = fixture_stack(f, 0, 2, APP, FIB, APP, MAIN);
	*leaf = fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	fixture_samples(f, 0, *fib, 800, 1 * MS);
	fixture_samples(f, 0, *leaf, 800, 1 * MS);
	fixture_samples(f, 0, *fib, 400, 1 * MS);
}

TEST(two_phases_are_found_with_their_sites)
{
	struct fixture f;
	uint32_t fib, leaf;
	struct sn_phases *p;

	two_phases(&f, &fib, &leaf);
	p = phases_of(&f, NULL);
	CHECK_INT(p->intervals->interval_ns, 100000000);
	CHECK_INT(p->choice->k, 2);
	REQUIRE(p->phases.count == 2);
	CHECK_STRING(function_at(p, 0, 0), "fib");
	CHECK_STRING(p->phases.items[0].name, "fib");
	CHECK_STRING(function_at(p, 1, 0), "leaf");
	CHECK_INT(p->phases.items[1].sites.items[0].type, SN_SITE_LOOP);
	CHECK(p->phases.items[1].sites.items[0].loop != SN_NONE);
	CHECK_INT(p->phases.items[1].sites.items[0].heartbeat, 2);
	CHECK_REAL(p->phases.items[0].share, 0.6, 0.03);
	CHECK_REAL(p->phases.items[1].sites.items[0].app_share, 0.4, 0.03);
	CHECK_INT(p->phase_of[0], 0);
	CHECK_INT(p->phase_of[10], 1);
	sn_phases_free(p);
	fixture_end(&f);
}

static char *json_of(struct fixture *f)
{
	struct sn_phases *p = phases_of(f, NULL);
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	sn_phases_write_json(p, out);
	fclose(out);
	sn_phases_free(p);
	return chars;
}

TEST(the_same_input_gives_the_same_bytes)
{
	struct fixture f;
	uint32_t fib, leaf;
	char *one, *two;

	two_phases(&f, &fib, &leaf);
	one = json_of(&f);
	two = json_of(&f);
	CHECK_STRING(one, two);
	CHECK(strstr(one, "\"schema\":\"sonde.phases/1\"") != NULL);
	free(one);
	free(two);
	fixture_end(&f);
}

/* A change at 0.46 s: the CPU time of the interval is a tie, its wall time is not. */
TEST(an_interval_belongs_to_the_phase_that_lasts_longer_in_it)
{
	struct fixture f;
	uint32_t fib, leaf;
	struct sn_phases *p;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	fixture_samples(&f, 0, fib, 460, 1 * MS);
	for (int i = 0; i < 200; i++) { /* half the CPU */
		struct sn_sample sample = { .time_ns = (461 + 2 * i) * 1000000ll,
					    .cpu_ns = 1000000,
					    .stack = leaf };

		sn_vec_push(&f.experiment->samples, sample);
	}
	p = phases_of(&f, &(struct sn_phases_options){ .interval_ns = 100000000 });
	REQUIRE(p->phases.count == 2);
	CHECK_INT(p->phase_of[3], 0);
	CHECK_INT(p->phase_of[4], 0); /* 60 ms against 40 */
	CHECK_INT(p->phase_of[5], 1);
	sn_phases_free(p);
	fixture_end(&f);
}

TEST(waiting_is_a_phase_and_silence_is_none)
{
	struct fixture f;
	uint32_t fib, write;
	struct sn_phases *p;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	write = fixture_stack(&f, 0, 3, LIBC, WRITE, APP, LEAF, APP, MAIN);
	fixture_samples(&f, 0, fib, 600, 1 * MS);
	fixture_wait(&f, 0, write, 600 * MS, 500 * MS, SN_WAIT_IO);
	for (int i = 0; i < 300; i++) { /* from 1.4 s on: nothing is seen between */
		struct sn_sample sample = { .time_ns = (1400 + i) * 1000000ll,
					    .cpu_ns = 1000000,
					    .stack = fib };

		sn_vec_push(&f.experiment->samples, sample);
	}
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 2);
	CHECK_STRING(function_at(p, 1, 0), "leaf");
	CHECK_INT(p->phase_of[7], 1);
	CHECK(p->phase_of[12] == SN_NONE);
	CHECK_INT(p->phase_of[15], 0);
	CHECK_INT(p->phases.items[1].blocked_ns, 500000000);
	sn_phases_free(p);
	fixture_end(&f);
}

/* The phase of `fib` calls it in its first interval only; `leaf` is entered in each of its own. */
TEST(algorithm_1_takes_the_fewest_calls_and_says_body_or_loop)
{
	struct fixture f;
	uint32_t fib, leaf, main_only;
	struct sn_phases *p;
	struct sn_phases_options options = { .interval_ns = 100000000,
					     .sites = SN_SITES_PAPER,
					     .choose = { .method = SN_METHOD_FIXED, .k = 2 } };

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	main_only = fixture_stack(&f, 0, 1, APP, MAIN);
	fixture_samples(&f, 0, fib, 800, 1 * MS);
	for (int i = 0; i < 40; i++) {
		fixture_samples(&f, 0, main_only, 1, 1 * MS);
		fixture_samples(&f, 0, leaf, 19, 1 * MS);
	}
	p = phases_of(&f, &options);
	REQUIRE(p->phases.count == 2);
	CHECK_STRING(function_at(p, 0, 0), "fib");
	/* all intervals are equally near; in the first of them it is called */
	CHECK_INT(p->phases.items[0].sites.items[0].type, SN_SITE_BODY);
	CHECK_REAL(p->phases.items[0].sites.items[0].phase_share, 1, 0);
	/* main has own time there and no call at all: fewest calls first, as the paper has it */
	CHECK_STRING(function_at(p, 1, 0), "main");
	CHECK_INT(p->phases.items[1].sites.items[0].type, SN_SITE_LOOP);
	sn_phases_free(p);
	options.sites = SN_SITES_CONTRAST;
	p = phases_of(&f, &options);
	CHECK_STRING(function_at(p, 1, 0), "leaf");
	CHECK_INT(p->phases.items[1].sites.items[0].type, SN_SITE_BODY);
	sn_phases_free(p);
	fixture_end(&f);
}

/* Three clusters, two of which differ by how much is left for main: they have one site, are joined,
 * and numbered by appearance. */
TEST(phases_with_one_set_of_sites_are_one)
{
	struct fixture f;
	uint32_t leaf, fib, main_only;
	struct sn_phases *p;
	struct sn_phases_options options = { .interval_ns = 100000000,
					     .choose = { .method = SN_METHOD_FIXED, .k = 3 } };

	fixture_begin(&f);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	main_only = fixture_stack(&f, 0, 1, APP, MAIN);
	fixture_samples(&f, 0, leaf, 500, 1 * MS);
	fixture_samples(&f, 0, fib, 500, 1 * MS);
	for (int i = 0; i < 50; i++) {
		fixture_samples(&f, 0, leaf, 7, 1 * MS);
		fixture_samples(&f, 0, main_only, 3, 1 * MS);
	}
	p = phases_of(&f, &options);
	CHECK_INT(p->choice->k, 3);
	CHECK_INT(p->phases.count, 2);
	CHECK_INT(p->phase_of[0], 0);
	CHECK_INT(p->phase_of[7], 1);
	CHECK_INT(p->phase_of[12], 0);
	sn_phases_free(p);
	fixture_end(&f);
}

/* main's loop > leaf's innermost loop, and nothing else: a heartbeat in the latter would cost more
 * than the work. */
TEST(an_innermost_loop_of_a_called_leaf_is_no_site)
{
	struct fixture f;
	struct sn_phases *p;
	const struct sn_phase_site *site;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN_OUTER), 2000,
			1 * MS);
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 1 && p->phases.items[0].sites.count >= 1);
	site = &p->phases.items[0].sites.items[0];
	CHECK_STRING(function_at(p, 0, 0), "leaf");
	CHECK_INT(site->type, SN_SITE_BODY);
	CHECK(site->loop == SN_NONE);
	sn_phases_free(p);
	fixture_end(&f);
}

/* main's outer loop calls leaf and fib in turn: 2 and 1 samples. */
TEST(the_step_loop_of_one_phase_is_its_site)
{
	struct fixture f;
	struct sn_phases *p;
	const struct sn_phase_site *site;
	uint32_t leaf, fib;

	fixture_begin(&f);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN_OUTER);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN_OUTER + 4);
	for (int i = 0; i < 600; i++) {
		fixture_samples(&f, 0, leaf, 2, 1 * MS);
		fixture_samples(&f, 0, fib, 1, 1 * MS);
	}
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 1 && p->phases.items[0].sites.count == 1);
	site = &p->phases.items[0].sites.items[0];
	CHECK_STRING(function_at(p, 0, 0), "main");
	CHECK_INT(site->type, SN_SITE_LOOP);
	CHECK_REAL(site->pace.at_least_hz, 325, 15);
	CHECK(isnan(site->pace.expected_hz)); /* no code to tell from */
	sn_phases_free(p);
	fixture_end(&f);
}

/* main's outer loop over one command, whose function has the loop over steps: that one iterates. */
TEST(a_loop_entered_once_is_no_site)
{
	struct fixture f;
	struct sn_phases *p;
	uint32_t leaf, fib;

	fixture_begin(&f);
	leaf = fixture_stack(&f, 0, 3, APP, LEAF, APP, KERNEL_LOOP, APP, MAIN_OUTER);
	fib = fixture_stack(&f, 0, 3, APP, FIB, APP, KERNEL_LOOP + 4, APP, MAIN_OUTER);
	for (int i = 0; i < 300; i++) {
		fixture_samples(&f, 0, leaf, 4, 1 * MS);
		fixture_samples(&f, 0, fib, 2, 1 * MS);
	}
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 1 && p->phases.items[0].sites.count >= 1);
	CHECK_STRING(function_at(p, 0, 0), "kernel");
	CHECK_INT(p->phases.items[0].sites.items[0].type, SN_SITE_LOOP);
	CHECK_REAL(p->phases.items[0].sites.items[0].pace.at_least_hz, 165, 10);
	sn_phases_free(p);
	fixture_end(&f);
}

/* Both calls of one iteration, then the first again: each time a new one, however they are mixed
 * with the loop's own code. */
TEST(iterations_are_counted_where_a_part_comes_back)
{
	struct fixture f;
	struct sn_phases *p;
	uint32_t leaf, fib, own, away, loop;
	uint64_t seen = 0;

	fixture_begin(&f);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF, APP, MAIN_OUTER);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN_OUTER + 4);
	own = fixture_stack(&f, 0, 1, APP, MAIN_OUTER);
	away = fixture_stack(&f, 0, 1, APP, MAIN);
	fixture_samples(&f, 0, leaf, 3, 1 * MS); /* 1 */
	fixture_samples(&f, 0, own, 1, 1 * MS);
	fixture_samples(&f, 0, fib, 2, 1 * MS);
	fixture_samples(&f, 0, own, 1, 1 * MS);
	fixture_samples(&f, 0, leaf, 1, 1 * MS); /* 2 */
	fixture_samples(&f, 0, own, 1, 1 * MS);
	fixture_samples(&f, 0, leaf, 1, 1 * MS); /* 3: a call site runs once in an iteration */
	fixture_samples(&f, 0, away, 1, 1 * MS);
	fixture_samples(&f, 0, own, 1, 1 * MS); /* 4: entered again */
	p = phases_of(&f, NULL);
	loop = p->paths->function_count +
	       p->paths->program->loops.items[fixture_loop(&f, "app.c:10-20")].source_loop;
	for (size_t r = 0; r < p->vectors->matrix.row_count; r++)
		seen += sn_phase_beats_of(p->activity, r, loop);
	CHECK_INT(seen, 4);
	sn_phases_free(p);
	fixture_end(&f);
}

/* A function of five blocks: entry (4 instructions), header (3) of a loop, a detour in it (20) and
 * the way past it (2), which jumps back, and the return (1). */
TEST(the_shortest_way_round_a_loop_and_through_a_function)
{
	static const uint32_t successors[] = { 1, 2, 3, 4, 3, 1 };
	static const struct sn_block blocks[] = {
		{ 0x10, 16, 4, -1, 0, 1, SN_BLOCK_ENTRY },
		{ 0x20, 16, 3, 0, 1, 3, 0 },
		{ 0x30, 16, 20, 0, 4, 1, 0 },
		{ 0x40, 16, 2, 0, 5, 1, 0 },
		{ 0x50, 16, 1, -1, 6, 0, SN_BLOCK_RETURNS },
	};
	static const struct sn_loop loops[] = {
		{ .index = 0, .parent = -1, .header_link_addr = 0x20 }
	};
	struct sn_function function = { .link_addr = 0x10,
					.blocks = blocks,
					.block_count = 5,
					.successors = successors,
					.successor_count = 6,
					.loops = loops,
					.loop_count = 1 };

	CHECK_INT(sn_shortest_round(&function, &loops[0], 0), 5);
	CHECK_INT(sn_shortest_round(&function, NULL, 0),
		  5); /* the loop's own code is not counted */
	function.link_addr = 0x18;
	CHECK_INT(sn_shortest_round(&function, NULL, 0), 0); /* nothing begins there */
}

TEST(a_pace_is_told_in_few_digits)
{
	static const struct {
		struct sn_pace pace;
		const char *text;
	} rows[] = {
		{ { 20.25, NAN, 4e5, NAN, 0.01 }, ">= 20.2" },
		{ { 20, 123456, 4e7, 0.003, 1 }, "~ 120000" },
		{ { 7, 7, 7, 0, 0 }, "7" },
		{ { 0, NAN, NAN, NAN, NAN }, "-" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct sn_text text = { 0 };

		sn_pace_text(&rows[i].pace, &text);
		CHECK_STRING(text.chars, rows[i].text);
		sn_text_free(&text);
	}
}

/* A function without any loop that runs on through the phase. */
TEST(a_site_without_a_loop_is_a_body)
{
	struct fixture f;
	struct sn_phases *p;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, APP, LEAF, APP, MAIN), 2000, 1 * MS);
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 1);
	CHECK_STRING(function_at(p, 0, 0), "leaf");
	CHECK_INT(p->phases.items[0].sites.items[0].type, SN_SITE_BODY);
	sn_phases_free(p);
	fixture_end(&f);
}

TEST(library_time_belongs_to_the_caller)
{
	struct fixture f;
	uint32_t sine, fib;
	struct sn_phases *p;

	fixture_begin(&f);
	sine = fixture_stack(&f, 0, 3, LIBM, SIN, APP, LEAF, APP, MAIN);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	fixture_samples(&f, 0, sine, 500, 1 * MS);
	fixture_samples(&f, 0, fib, 500, 1 * MS);
	p = phases_of(&f, NULL);
	REQUIRE(p->phases.count == 2 && p->phases.items[0].profile.count >= 1);
	CHECK_STRING(
		p->paths->program->functions.items[p->phases.items[0].profile.items[0].function]
			.name,
		"leaf");
	sn_phases_free(p);
	fixture_end(&f);
}

/* main > leaf and main > fib, 12 ms and 8 ms, again and again. */
TEST(short_parts_are_a_cycle)
{
	struct fixture f;
	uint32_t fib, leaf;
	struct sn_phases *p;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	for (int i = 0; i < 100; i++) {
		fixture_samples(&f, 0, leaf, 12, 1 * MS);
		fixture_samples(&f, 0, fib, 8, 1 * MS);
	}
	p = phases_of(&f, NULL);
	CHECK_INT(p->phases.count, 1);
	REQUIRE(p->cycles.count == 2);
	CHECK_INT(p->cycles.items[0].calls, 100);
	CHECK_REAL(p->cycles.items[0].mean_ns, 12e6, 1e3);
	CHECK_REAL(p->cycles.items[1].share, 0.4, 1e-6);
	CHECK_STRING(p->cycles.items[0].site.name, "leaf");
	CHECK_STRING(p->cycles.items[1].site.name, "fib");
	CHECK(p->cycles.items[0].site.heartbeat && p->cycles.items[1].site.heartbeat &&
	      p->cycles.items[0].site.heartbeat != p->cycles.items[1].site.heartbeat);
	CHECK_INT(p->cycles.items[0].site.type, SN_SITE_BODY);
	sn_phases_free(p);
	fixture_end(&f);
}

/* kernel, inlined into main, has no calls of its own: it would always be the one with fewest. */
TEST(the_paper_counts_by_symbols)
{
	struct sn_phases_options paper = { .interval_ns = 100000000,
					   .sites = SN_SITES_PAPER,
					   .choose = { .method = SN_METHOD_FIXED, .k = 1 } };
	struct fixture f;
	uint32_t kernel;
	struct sn_phases *p;

	fixture_begin(&f);
	kernel = fixture_stack(&f, 0, 1, APP, MAIN_KERNEL_LOOP);
	fixture_samples(&f, 0, kernel, 1000, 1 * MS);
	p = phases_of(&f, &paper);
	CHECK_STRING(function_at(p, 0, 0), "main");
	sn_phases_free(p);
	paper.sites = SN_SITES_CONTRAST;
	p = phases_of(&f, &paper);
	REQUIRE(p->phases.count == 1 && p->phases.items[0].profile.count >= 1);
	CHECK_STRING(p->functions[p->phases.items[0].profile.items[0].function].name, "kernel");
	sn_phases_free(p);
	fixture_end(&f);
}

TEST(lengths_that_agree_are_told)
{
	struct fixture f;
	uint32_t fib, leaf;
	struct sn_phases *p;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	fixture_samples(&f, 0, fib, 4000, 1 * MS);
	fixture_samples(&f, 0, leaf, 6000, 1 * MS);
	p = phases_of(&f, NULL);
	REQUIRE(p->lengths.count == 3); /* of ten seconds: 0.1, 0.2, 0.5 s */
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(p->lengths.items[i].phase_count, 2);
		CHECK_REAL(p->lengths.items[i].explained, 1, 0.03);
		CHECK_REAL(p->lengths.items[i].agreement, 1, 0.03);
	}
	CHECK_INT(p->intervals->interval_ns, 100000000);
	CHECK_INT(p->phases.items[0].sites.items[0].length_count, 3);
	sn_phases_free(p);
	p = phases_of(&f, &(struct sn_phases_options){ .interval_ns = 200000000 });
	CHECK_INT(p->lengths.count, 0);
	sn_phases_free(p);
	fixture_end(&f);
}

/* A fifth of the CPU was there: the length goes by the rate. */
TEST(how_busy_the_machine_was_does_not_choose_the_length)
{
	struct fixture f;
	uint32_t fib;
	struct sn_phases *p;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	for (int i = 0; i < 600; i++)
		sn_vec_push(&f.experiment->samples,
			    (struct sn_sample){ .time_ns = 3 * i * 1000000ll,
						.cpu_ns = 1000000,
						.stack = fib });
	p = phases_of(&f, NULL);
	CHECK_INT(p->intervals->interval_ns, 100000000);
	sn_phases_free(p);
	fixture_end(&f);
}

/* Rounds of 0.3 s, longer than the shortest intervals: the steps are the sites at any length. */
TEST(steps_are_sites_whatever_the_interval)
{
	for (int64_t ms = 50; ms <= 1600; ms *= 2) {
		struct fixture f;
		uint32_t fib, leaf;
		struct sn_phases *p;
		size_t found = 0;

		fixture_begin(&f);
		fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
		leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
		for (int i = 0; i < 33; i++) {
			fixture_samples(&f, 0, leaf, 200, 1 * MS);
			fixture_samples(&f, 0, fib, 100, 1 * MS);
		}
		p = phases_of(&f, &(struct sn_phases_options){ .interval_ns = ms * 1000000 });
		for (size_t i = 0; i < p->cycles.count; i++)
			found += p->cycles.items[i].site.heartbeat != 0 &&
				 p->cycles.items[i].site.type == SN_SITE_BODY;
		CHECK_INT(found, 2);
		for (size_t i = 0; i < p->phases.count; i++)
			for (size_t s = 0; s < p->phases.items[i].sites.count; s++)
				CHECK(p->phases.items[i].sites.items[s].type == SN_SITE_BODY);
		sn_phases_free(p);
		fixture_end(&f);
	}
}

TEST(functions_are_told_without_parameters)
{
	static const char *const names[][2] = {
		{ "main", "main" },
		{ "void a::b<c::d<e> >(f, g<h>)", "a::b" },
		{ "int n::driver<double, long>(n::Box const&)", "n::driver" },
		{ "(anonymous namespace)::step(int)", "step" },
		{ "a::operator()(int) const", "a::operator()" },
		{ "std::ostream& operator<< <x>(std::ostream&, x)", "operator<<" },
		{ "<function at 0x11b0> (lmp)", "" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sn_text text = { 0 };

		sn_function_name_strip(names[i][0], &text);
		CHECK_STRING(text.chars ? text.chars : "", names[i][1]);
		sn_text_free(&text);
	}
}

/* 22 ms and 34 ms: an interval holds now more of the one, now of the other. */
TEST(a_cycle_out_of_step_with_the_intervals_is_one_phase)
{
	for (unsigned first = 20; first <= 40; first += 4) {
		struct fixture f;
		uint32_t fib, leaf;
		struct sn_phases *p;

		fixture_begin(&f);
		fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
		leaf = fixture_stack(&f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
		for (int i = 0; i < 30; i++) {
			fixture_samples(&f, 0, leaf, first, 1 * MS);
			fixture_samples(&f, 0, fib, 34, 1 * MS);
		}
		f.experiment->processes.items[0].end_ns = 30 * (first + 34) * 1000000ll;
		p = phases_of(&f, &(struct sn_phases_options){ .interval_ns = 100000000 });
		CHECK_INT(p->phases.count, 1);
		sn_phases_free(p);
		fixture_end(&f);
	}
}

TEST(ranks_are_one_model)
{
	struct fixture f;
	uint32_t second, thread, stacks[2][2];
	struct sn_phases *p;

	fixture_begin(&f);
	second = fixture_add_process(&f, 200);
	thread = fixture_add_thread(&f, second, 200, "app");
	for (uint32_t i = 0; i < 2; i++) {
		stacks[i][0] = fixture_stack(&f, i, 2, APP, FIB, APP, MAIN);
		stacks[i][1] = fixture_stack(&f, i, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	}
	fixture_samples(&f, 0, stacks[0][0], 700, 1 * MS);
	fixture_samples(&f, 0, stacks[0][1], 300, 1 * MS);
	fixture_samples(&f, thread, stacks[1][0], 300, 1 * MS); /* a shorter rank */
	fixture_samples(&f, thread, stacks[1][1], 300, 1 * MS);
	p = phases_of(&f, NULL);
	CHECK_INT(p->phases.count, 2);
	CHECK_INT(p->phase_of[sn_interval_row_at(p->intervals, 0, 450000000)], 0);
	CHECK_INT(p->phase_of[sn_interval_row_at(p->intervals, second, 450000000)], 1);
	sn_phases_free(p);
	fixture_end(&f);
}

/* A process of a tree: its work in ms (with FIB), its rank, its parent's pid. */
static void tree_add(struct fixture *f, int32_t pid, int32_t parent, int32_t rank,
		     const char *program, unsigned ms)
{
	uint32_t process = pid == 100 ? 0 : fixture_add_process(f, pid);
	uint32_t thread = pid == 100 ? 0 : fixture_add_thread(f, process, pid, "app");
	struct sn_process *p = &f->experiment->processes.items[process];

	p->parent_pid = parent;
	p->rank = rank;
	p->program = program;
	if (ms)
		fixture_samples(f, thread, fixture_stack(f, process, 2, APP, FIB, APP, MAIN), ms,
				1 * MS);
}

/* Which processes have intervals: a bit each. */
static unsigned application_of(struct fixture *f)
{
	struct sn_phases *p = phases_of(f, NULL);
	unsigned found = 0;

	for (size_t r = 0; r < p->intervals->row_count; r++)
		found |= 1u << p->intervals->rows.items[r].process;
	sn_phases_free(p);
	fixture_end(f);
	return found;
}

TEST(the_rule_of_programs_holds_within_each_rank)
{
	struct fixture f;

	/* no launcher: MPI_Init puts a rank into the environment, a command inherits it */
	fixture_begin(&f);
	tree_add(&f, 100, 1, -1, "/app", 900);
	tree_add(&f, 200, 100, 0, "/bin/sh", 2);
	tree_add(&f, 300, 200, 0, "/bin/mv", 1);
	CHECK_INT(application_of(&f), 1);
	/* beside another that runs no command */
	fixture_begin(&f);
	tree_add(&f, 100, 1, -1, "/app", 900);
	tree_add(&f, 200, 100, 0, "/bin/mv", 2);
	tree_add(&f, 300, 1, -1, "/app", 900);
	CHECK_INT(application_of(&f), 1 | 4);
	/* launched: a rank's commands are not the application, a rank that waits is */
	fixture_begin(&f);
	tree_add(&f, 100, 1, -1, "/bin/mpirun", 500);
	tree_add(&f, 200, 100, 0, "/app", 900);
	tree_add(&f, 300, 100, 1, "/app", 3);
	tree_add(&f, 400, 200, 0, "/bin/mv", 4);
	CHECK_INT(application_of(&f), 2 | 4);
	/* one rank: the launcher does little */
	fixture_begin(&f);
	tree_add(&f, 100, 1, -1, "/bin/mpirun", 20);
	tree_add(&f, 200, 100, 0, "/app", 900);
	tree_add(&f, 300, 200, 0, "/bin/mv", 4);
	CHECK_INT(application_of(&f), 2);
	/* a circle of parents, as in a damaged file */
	fixture_begin(&f);
	tree_add(&f, 100, 200, -1, "/app", 100);
	tree_add(&f, 200, 100, 0, "/app", 100);
	CHECK_INT(application_of(&f), 1 | 2);
}

TEST(little_data_is_one_sentence)
{
	struct fixture f;
	struct sn_phases *p = NULL;
	struct sn_error err;
	uint32_t fib;

	fixture_begin(&f);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_phases_new(f.profile, NULL, &p, &err), SN_ERR_NO_DATA);
	CHECK(strstr(err.sentence, "no sample") != NULL);
	fixture_end(&f);
	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	fixture_samples(&f, 0, fib, 1, 1 * MS); /* one sample, one interval */
	p = phases_of(&f, NULL);
	CHECK_INT(p->phases.count, 1);
	CHECK(p->warnings.count > 0);
	sn_phases_free(p);
	CHECK_INT(
		sn_phases_new(f.profile, &(struct sn_phases_options){ .interval_ns = 1 }, &p, &err),
		SN_ERR_RANGE);
	CHECK(strstr(err.sentence, "--interval") != NULL);
	fixture_end(&f);
}

TEST(damaged_times_neither_hang_nor_crash)
{
	static const struct {
		int64_t time_ns;
		uint64_t duration_ns;
	} waits[] = { { -5, 10 }, { 0, UINT64_MAX }, { INT64_MAX - 3, 1000 }, { 5, INT64_MAX } };
	struct fixture f;
	struct sn_phases *p;
	uint32_t fib;

	fixture_begin(&f);
	fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	fixture_samples(&f, 0, fib, 300, 1 * MS);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		struct sn_wait wait = { .time_ns = waits[i].time_ns,
					.duration_ns = waits[i].duration_ns,
					.stack = fib };

		sn_vec_push(&f.experiment->waits, wait);
	}
	sn_vec_push(&f.experiment->samples,
		    (struct sn_sample){ .time_ns = -7, .cpu_ns = 1, .stack = fib });
	p = phases_of(&f, NULL);
	CHECK_INT(p->phases.count, 1);
	sn_phases_free(p);
	fixture_end(&f);
}
