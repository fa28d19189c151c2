/* Values of another run of the same program, beside those of this one. */
#include <math.h>
#include <string.h>

#include "harness/tap.h"
#include "search/evidence/sources.h"

/* A program with region "f" and, if it is told so, "g"; one process; threads as many as told. */
static struct sn_tables *tables_make(bool has_g, uint32_t threads, int first_tid)
{
	struct sn_tables *t = sn_tables_new();
	char id[16];
	struct sn_member member = { .id = "program", .kind = "program", .parent = SN_ALL };

	sn_tables_add_member(t, SN_KEY_REGION, &member);
	if (has_g) {
		member.id = "g";
		sn_tables_add_member(t, SN_KEY_REGION, &member);
	}
	member.id = "f";
	sn_tables_add_member(t, SN_KEY_REGION, &member);
	member.id = "0";
	sn_tables_add_member(t, SN_KEY_PROCESS, &member);
	for (uint32_t i = 0; i < threads; i++) {
		snprintf(id, sizeof(id), "%d", first_tid + (int)i);
		member.id = id;
		member.parent = 0;
		sn_tables_add_member(t, SN_KEY_THREAD, &member);
	}
	return t;
}

static void add(struct sn_tables *t, const char *source, uint32_t region, uint32_t thread,
		double number)
{
	struct sn_value value = { .column = sn_tables_column(t, "m", NULL),
				  .value = number,
				  .samples = NAN,
				  .error = NAN,
				  .source = sn_tables_source(t, source) };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_PROCESS] = 0;
	value.keys[SN_KEY_THREAD] = thread;
	sn_tables_add(t, &value);
}

static double at(struct sn_tables *t, uint32_t region, uint32_t thread)
{
	const uint32_t keys[SN_KEYS] = { region, SN_ALL, 0, thread, SN_ALL, SN_ALL, SN_ALL };
	const struct sn_sum *sum =
		sn_tables_find(t, sn_tables_find_column(t, "m", NULL), keys, true);

	return sum ? sum->value : NAN;
}

TEST(values_go_where_their_ids_are)
{
	static const char *const given[] = { "m", NULL };
	const struct sn_source heap = { .name = "heap", .gives = given };
	struct sn_recorded here = { .tables = tables_make(false, 2, 100) };
	struct sn_recorded other = { .tables = tables_make(true, 3, 200) };

	add(other.tables, "heap", 2, 1, 5);   /* f, its second thread */
	add(other.tables, "heap", 2, 2, 7);   /* a third thread, which is not here */
	add(other.tables, "heap", 1, 0, 11);  /* g, which is not here */
	add(other.tables, "other", 2, 0, 13); /* of another source */
	CHECK(isnan(at(here.tables, 1, SN_ALL)));
	sn_recorded_join(&here, &other, &heap);
	CHECK_REAL(at(here.tables, 1, 1), 5, 0);
	CHECK_REAL(at(here.tables, 1, SN_ALL), 5, 0);
	CHECK(isnan(at(here.tables, 0, SN_ALL)));
	sn_tables_complete(other.tables, sn_tables_column(other.tables, "m", NULL));
	sn_recorded_join(&here, &other, &heap);
	CHECK_REAL(at(here.tables, 0, SN_ALL), 0, 0);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

TEST(what_a_source_settles_takes_the_place_of_samples)
{
	static const char *const given[] = { "m", NULL };
	const struct sn_source openmp = { .name = "openmp", .gives = given, .settles = given };
	struct sn_recorded here = { .tables = tables_make(true, 2, 100) };
	struct sn_recorded other = { .tables = tables_make(true, 2, 200) };
	struct sn_value cpu = { .column = sn_tables_column(here.tables, "cpu", NULL),
				.value = 3,
				.source = sn_tables_source(here.tables, "samples") };

	for (int k = 0; k < SN_KEYS; k++)
		cpu.keys[k] = SN_ALL;
	sn_tables_add(here.tables, &cpu);
	add(here.tables, "samples", 2, 1, 4); /* the same, of which samples saw less */
	add(here.tables, "samples", 1, 1, 2); /* they take it for g's */
	sn_recorded_join(&here, &other, &openmp);
	CHECK_REAL(at(here.tables, 2, 1), 4, 0); /* there was no trace */
	add(other.tables, "openmp", 2, 1, 7);
	sn_recorded_join(&here, &other, &openmp);
	CHECK_REAL(at(here.tables, 2, 1), 7, 0);
	CHECK_REAL(at(here.tables, SN_ALL, 1), 7, 0);
	CHECK(isnan(at(here.tables, 1, 1)));
	CHECK_REAL(sn_tables_find(here.tables, cpu.column, cpu.keys, true)->value, 3, 0);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

TEST(what_a_source_never_saw_is_none)
{
	static const char *const given[] = { "m", NULL };
	const struct sn_source mpi = { .name = "mpi", .gives = given };
	struct sn_recorded here = { .tables = tables_make(false, 1, 100) };
	struct sn_recorded other = { .tables = tables_make(false, 1, 200) };

	sn_tables_complete(other.tables, sn_tables_column(other.tables, "m", NULL));
	CHECK(isnan(at(here.tables, 1, 0)));
	sn_recorded_join(&here, &other, &mpi);
	CHECK_REAL(at(here.tables, 1, 0), 0, 0);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

TEST(times_keep_their_share_of_the_phase)
{
	static const char *const times[] = { "m", NULL }, *const others[] = { "n", NULL };
	const struct sn_source timed = { .name = "mpi", .times = times };
	const struct sn_source counted = { .name = "mpi", .times = others };
	struct sn_recorded here = { .tables = tables_make(false, 1, 100) };
	struct sn_recorded other = { .tables = tables_make(false, 1, 200) };

	here.tables->phase_s = 4;
	other.tables->phase_s = 8;
	add(other.tables, "mpi", 1, 0, 6);
	sn_recorded_join(&here, &other, &timed);
	CHECK_REAL(at(here.tables, 1, 0), 3, 0);
	sn_recorded_join(&here, &other, &counted);
	CHECK_REAL(at(here.tables, 1, 0), 9, 0);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

/* As if the processor had counted: executions of a phase, a quarter of the run, have their part of what another start counted in all
 * of its run. */
TEST(counters_of_another_start_are_those_of_a_phase_by_its_share)
{
	extern const struct sn_source sn_source_counters;
	const struct sn_part part = { .phase_s = 2, .share_of_run = 0.25 };
	struct sn_recorded here = { .tables = tables_make(false, 1, 100), .part = &part };
	struct sn_recorded other = { .tables = tables_make(false, 1, 200), .share_of_run = 1 };
	const uint32_t keys[SN_KEYS] = { 1, SN_ALL, 0, 0, SN_ALL, SN_ALL, SN_ALL };
	const char *const names[] = { "stalled", "misses" }, *const levels[] = { NULL, "L2" };
	const double counted[] = { 4, 1000 }, expected[] = { 4 * 2 / 10.0, 250 };

	here.tables->phase_s = part.phase_s;
	other.tables->phase_s = 10;
	for (int m = 0; m < 2; m++) {
		struct sn_value value = { .column = sn_tables_column(other.tables, names[m],
								     levels[m]),
					  .value = counted[m],
					  .samples = NAN,
					  .error = NAN,
					  .source = sn_tables_source(other.tables, "counters") };

		memcpy(value.keys, keys, sizeof(keys));
		sn_tables_add(other.tables, &value);
	}
	sn_recorded_join(&here, &other, &sn_source_counters);
	for (int m = 0; m < 2; m++) {
		const struct sn_sum *sum = sn_tables_find(
			here.tables, sn_tables_find_column(here.tables, names[m], levels[m]), keys,
			true);

		REQUIRE(sum != NULL);
		CHECK_REAL(sum->value, expected[m], 1e-9);
	}
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

/* The first thread is a lane in the other run alone: the others keep their order. */
TEST(threads_are_known_by_their_places)
{
	static const char *const given[] = { "m", NULL };
	const struct sn_source heap = { .name = "heap", .gives = given };
	struct sn_recorded here = { .tables = tables_make(false, 2, 101) };
	struct sn_recorded other = { .tables = tables_make(false, 3, 200) };

	for (uint32_t i = 0; i < 2; i++)
		here.tables->members[SN_KEY_THREAD].items[i].place = i + 2;
	for (uint32_t i = 0; i < 3; i++) {
		other.tables->members[SN_KEY_THREAD].items[i].place = i + 1;
		add(other.tables, "heap", 1, i, 1 + i);
	}
	sn_recorded_join(&here, &other, &heap);
	CHECK_REAL(at(here.tables, 1, 0), 2, 0);
	CHECK_REAL(at(here.tables, 1, 1), 3, 0);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}

static double error_at(struct sn_tables *t, uint32_t region)
{
	const uint32_t keys[SN_KEYS] = { region, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };

	return sn_sum_relative_error(
		sn_tables_find(t, sn_tables_find_column(t, "m", NULL), keys, true));
}

/* A start that took 1.5 times as long: its times are no surer than that; what is counted is. */
TEST(what_was_stretched_is_less_sure)
{
	static const char *const times[] = { "m", NULL };
	const struct sn_source timed = { .name = "mpi", .times = times };
	const struct sn_source counted = { .name = "heap" };
	uint64_t ns[] = { 8000000000, 4000000000 }, longer_ns[] = { 12000000000, 6000000000 };

	for (int is_timed = 0; is_timed < 2; is_timed++) {
		struct sn_recorded here = { .tables = tables_make(false, 1, 100), .region_ns = ns };
		struct sn_recorded other = { .tables = tables_make(false, 1, 200),
					     .region_ns = longer_ns };

		here.tables->phase_s = 8;
		other.tables->phase_s = 12;
		add(other.tables, is_timed ? "mpi" : "heap", 1, 0, 3);
		sn_recorded_join(&here, &other, is_timed ? &timed : &counted);
		CHECK_REAL(error_at(here.tables, 1), is_timed ? log(1.5) : 0, 1e-9);
		sn_tables_free(here.tables);
		sn_tables_free(other.tables);
	}
}

/* Exact as it is, it is of another start: that the region took 4 s here and 6 s of a phase half as long there is in its error, once
 * for both threads. */
TEST(a_value_of_another_start_is_as_sure_as_the_two_are_alike)
{
	static const char *const given[] = { "m", NULL };
	const struct sn_source traced = { .name = "heap", .gives = given };
	uint64_t here_ns[] = { 8000000000, 4000000000 }, there_ns[] = { 16000000000, 12000000000 };
	struct sn_recorded here = { .tables = tables_make(false, 2, 100), .region_ns = here_ns };
	struct sn_recorded other = { .tables = tables_make(false, 2, 200), .region_ns = there_ns };

	here.tables->phase_s = 4;
	other.tables->phase_s = 8;
	add(other.tables, "heap", 1, 0, 3);
	add(other.tables, "heap", 1, 1, 3);
	add(other.tables, "heap", 0, 0, 3);
	sn_recorded_join(&here, &other, &traced);
	CHECK_REAL(at(here.tables, 1, SN_ALL), 6, 0);
	CHECK_REAL(error_at(here.tables, 1), 0.5, 1e-9);
	CHECK_REAL(error_at(here.tables, 0), 0, 1e-9);
	sn_tables_free(here.tables);
	sn_tables_free(other.tables);
}
