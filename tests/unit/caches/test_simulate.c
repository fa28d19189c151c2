/* The simulation against formulas, cases made by hand, and a slow model. */
#include "caches/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"
#include "naive_caches.h"

/* L1 32 KiB of 8 ways, L2 256 KiB of 8 ways, each thread's own. */
static struct sn_sim_config config_usual(void)
{
	return (struct sn_sim_config){ .levels = { { 64, 8 }, { 512, 8 } },
				       .level_count = 2,
				       .line_bytes = 64,
				       .tlb = { 16, 4 },
				       .page_bytes = 4096 };
}

static struct sn_sim_stage total(const struct sn_sim *sim, unsigned stage)
{
	struct sn_sim_stage sum = { 0 };
	size_t count;
	const struct sn_sim_cell *cells = sn_sim_cells(sim, &count);

	for (size_t i = 0; i < count; i++)
		sn_sim_stage_add(&sum, &cells[i].stages[stage]);
	return sum;
}

static void stream(struct sn_sim *sim, unsigned core, uint32_t site, uint64_t address,
		   int64_t stride, uint64_t count, bool is_write)
{
	struct sn_sim_access access = { .site = site,
					.size_bytes = 8,
					.address = address,
					.stride_bytes = stride,
					.is_write = is_write };

	sn_sim_run(sim, core, &access, 1, count);
}

static void one(struct sn_sim *sim, unsigned core, uint32_t site, uint64_t address, bool is_write)
{
	stream(sim, core, site, address, 0, 1, is_write);
}

/* ---- formulas ---- */

TEST(a_stream_misses_once_a_line_or_once_an_access)
{
	for (int64_t stride = 8; stride <= 512; stride *= 2) {
		struct sn_sim_config config = config_usual();
		struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);
		uint64_t count = 100000, bytes = count * (uint64_t)stride;
		struct sn_sim_stage l1, l2, tlb;

		stream(sim, 0, 0, 1 << 20, stride, count, false);
		sn_sim_forget(sim);
		l1 = total(sim, 0);
		l2 = total(sim, 1);
		tlb = total(sim, SN_SIM_TLB);
		CHECK_INT(l1.accesses, count);
		CHECK_INT(l1.read_misses, stride < 64 ? bytes / 64 : count);
		CHECK_INT(l1.misses[SN_SIM_COLD], l1.read_misses);
		CHECK_INT(l2.accesses, l1.read_misses);
		CHECK_INT(l2.read_misses, l2.accesses);
		CHECK_INT(tlb.read_misses, (bytes + 4095) / 4096);
		CHECK_INT(l1.lines, l1.read_misses);
		CHECK_REAL((double)l1.used_bytes / (double)(l1.lines * 64),
			   stride < 64 ? 8.0 / (double)stride : 0.125, 0.001);
		sn_sim_free(sim);
	}
}

TEST(downwards_is_as_upwards)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);

	stream(sim, 0, 0, (2 << 20) - 8, -8, 80000, true);
	CHECK_INT(total(sim, 0).write_misses, 10000);
	CHECK_INT(total(sim, 0).writes, 80000);
	sn_sim_free(sim);
}

/* What fits stays; with LRU what is one line too large misses at each access. */
TEST(repeated_streams_by_size)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);
	struct sn_sim_stage l1;

	for (int turn = 0; turn < 10; turn++)
		stream(sim, 0, 0, 1 << 20, 64, 512, false);
	CHECK_INT(total(sim, 0).read_misses, 512);
	sn_sim_free(sim);
	sim = sn_sim_new(&config, 1, 1, NULL, NULL);
	for (int turn = 0; turn < 10; turn++)
		stream(sim, 0, 0, 1 << 20, 64, 1024, false);
	l1 = total(sim, 0);
	CHECK_INT(l1.read_misses, 10240);
	CHECK_INT(l1.misses[SN_SIM_COLD], 1024);
	CHECK_INT(l1.misses[SN_SIM_CAPACITY], 9216);
	CHECK_INT(total(sim, 1).read_misses, 1024);
	CHECK_REAL(sn_sim_stage_median(&l1), 1023, 1023.0 / 8);
	sn_sim_free(sim);
}

/* Nine lines of one set, of eight ways, while the cache is nearly empty. */
TEST(lines_of_one_set_conflict)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);
	struct sn_sim_stage l1;

	for (int turn = 0; turn < 10; turn++)
		stream(sim, 0, 0, 1 << 20, 4096, 9, false);
	l1 = total(sim, 0);
	CHECK_INT(l1.misses[SN_SIM_COLD], 9);
	CHECK_INT(l1.open, 8); /* the set held eight lines before at most */
	CHECK_INT(l1.misses[SN_SIM_CONFLICT], 81);
	CHECK_INT(l1.misses[SN_SIM_CAPACITY], 0);
	sn_sim_free(sim);
}

/* b[j][i] = a[i][j], n = 1024 doubles: a row of b is 8 KiB, so a walk down a column touches 1024 lines of
 * 8 sets (64 places of L1), and none is left when the next column comes. */
TEST(transpose)
{
	enum { N = 1024 };
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 2, NULL, NULL);
	const struct sn_sim_cell *cells;
	size_t count;

	for (uint64_t i = 0; i < N; i++) {
		struct sn_sim_access accesses[] = {
			{ 0, 8, (16 << 20) + i * N * 8, 8, false },
			{ 1, 8, (64 << 20) + i * 8, N * 8, true },
		};

		sn_sim_run(sim, 0, accesses, 2, N);
	}
	cells = sn_sim_cells(sim, &count);
	REQUIRE(count == 2);
	CHECK_INT(cells[0].stages[0].accesses, N * N);
	CHECK_INT(cells[0].stages[0].read_misses, N * N / 8);
	CHECK_INT(cells[1].stages[0].write_misses, N * N);
	CHECK_INT(cells[1].stages[0].misses[SN_SIM_COLD], N * N / 8);
	CHECK_INT(cells[1].stages[0].misses[SN_SIM_CAPACITY], N * N - N * N / 8);
	CHECK_INT(cells[0].strides[0].bytes, 8);
	CHECK_INT(cells[1].strides[0].bytes, N * 8);
	sn_sim_free(sim);
}

/* A list in random order through twice the L2: with LRU each of its lines misses on each round. */
TEST(a_chase_through_a_list)
{
	enum { LINES = 8192 };
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);
	struct sn_random random;
	static uint32_t order[LINES];

	sn_random_seed(&random, 7);
	for (uint32_t i = 0; i < LINES; i++)
		order[i] = i;
	for (uint32_t i = LINES - 1; i; i--) {
		uint32_t k = (uint32_t)sn_random_below(&random, i + 1), kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < LINES; i++)
			one(sim, 0, 0, (uint64_t)order[i] * 64, false);
	CHECK_INT(total(sim, 0).read_misses, 3 * LINES);
	CHECK_INT(total(sim, 1).read_misses, 3 * LINES);
	CHECK_INT(total(sim, 1).misses[SN_SIM_CAPACITY], 2 * LINES);
	sn_sim_free(sim);
}

TEST(an_access_over_two_lines_is_two)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);

	one(sim, 0, 0, (1 << 20) + 60, false);
	CHECK_INT(total(sim, 0).accesses, 2);
	CHECK_INT(total(sim, 0).read_misses, 2);
	CHECK_INT(total(sim, SN_SIM_TLB).accesses, 2);
	CHECK_INT(total(sim, SN_SIM_TLB).read_misses, 1);
	sn_sim_free(sim);
}

TEST(the_prefetcher_hides_a_stream_but_for_its_beginning_in_each_page)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim;

	config.has_prefetcher = true;
	sim = sn_sim_new(&config, 1, 1, NULL, NULL);
	stream(sim, 0, 0, 1 << 20, 8, 512 * 100, false);
	CHECK_INT(total(sim, 0).accesses, 51200);
	CHECK_INT(total(sim, 0).read_misses, 100);
	sn_sim_free(sim);
}

TEST(what_was_forgotten_is_cold)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, NULL, NULL);

	for (int turn = 0; turn < 3; turn++) {
		stream(sim, 0, 0, 1 << 20, 8, 64, false);
		sn_sim_forget(sim);
	}
	CHECK_INT(total(sim, 0).misses[SN_SIM_COLD], 24);
	CHECK_INT(total(sim, 0).open, 24); /* each time the caches could have had them */
	CHECK_INT(total(sim, 0).lines, 24);
	CHECK_INT(total(sim, 0).used_bytes, 24 * 64);
	sn_sim_free(sim);
}

/* ---- MESI ---- */

static void transfers(const struct sn_sim *sim, uint64_t *of_true, uint64_t *of_false)
{
	size_t count;
	const struct sn_sim_shared *shared = sn_sim_shared(sim, &count);

	*of_true = *of_false = 0;
	for (size_t i = 0; i < count; i++) {
		*of_true += shared[i].true_transfers;
		*of_false += shared[i].false_transfers;
	}
}

TEST(readers_share_without_misses)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 2, 1, NULL, NULL);
	uint64_t of_true, of_false;

	for (int turn = 0; turn < 10; turn++)
		for (unsigned core = 0; core < 2; core++)
			one(sim, core, 0, 4096, false);
	sn_sim_forget(sim);
	transfers(sim, &of_true, &of_false);
	CHECK_INT(total(sim, 0).read_misses, 2);
	CHECK_INT(of_true + of_false, 0);
	sn_sim_free(sim);
}

TEST(a_counter_that_two_threads_write_is_true_sharing)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 2, 2, NULL, NULL);
	uint64_t of_true, of_false;
	size_t count;

	for (int turn = 0; turn < 10; turn++)
		for (unsigned core = 0; core < 2; core++)
			one(sim, core, core, 4096, true);
	sn_sim_forget(sim);
	transfers(sim, &of_true, &of_false);
	/* 20 writes, each a miss: two cold, and the first finds nobody */
	CHECK_INT(total(sim, 0).write_misses, 20);
	CHECK_INT(total(sim, 0).misses[SN_SIM_COHERENCE], 18);
	CHECK_INT(of_true, 19);
	CHECK_INT(of_false, 0);
	CHECK_INT(sn_sim_shared(sim, &count)[0].site_count, 2);
	CHECK_INT(count, 1);
	CHECK_INT(sn_sim_shared(sim, &count)[0].cores[0], 3);
	sn_sim_free(sim);
}

TEST(neighbours_of_one_line_share_it_falsely)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 2, 1, NULL, NULL);
	const struct sn_sim_shared *shared;
	uint64_t of_true, of_false;
	size_t count;

	for (int turn = 0; turn < 10; turn++)
		for (unsigned core = 0; core < 2; core++)
			one(sim, core, 0, 4096 + 8 * core, true);
	sn_sim_forget(sim);
	transfers(sim, &of_true, &of_false);
	CHECK_INT(of_true, 0);
	CHECK_INT(of_false, 19);
	shared = sn_sim_shared(sim, &count);
	CHECK_INT(shared[0].first_address, 4096);
	CHECK_INT(shared[0].last_address, 4096 + 15);
	sn_sim_free(sim);
}

/* What another wrote is used later in the line's life (Dubois and others 1993). */
TEST(a_transfer_is_true_if_its_data_are_used_before_the_line_goes)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 2, 1, NULL, NULL);
	uint64_t of_true, of_false;

	one(sim, 0, 0, 4096, true);
	one(sim, 1, 0, 4096 + 8, false); /* fetched for another word */
	one(sim, 1, 0, 4096, false);	 /* which is used now */
	sn_sim_forget(sim);
	transfers(sim, &of_true, &of_false);
	CHECK_INT(of_true, 1);
	CHECK_INT(of_false, 0);
	sn_sim_free(sim);
}

TEST(threads_apart_share_nothing)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 4, 1, NULL, NULL);
	uint64_t of_true, of_false;

	for (int turn = 0; turn < 100; turn++)
		for (unsigned core = 0; core < 4; core++)
			one(sim, core, 0, 4096 + 64 * core, true);
	sn_sim_forget(sim);
	transfers(sim, &of_true, &of_false);
	CHECK_INT(total(sim, 0).write_misses, 4);
	CHECK_INT(of_true + of_false, 0);
	sn_sim_free(sim);
}

/* A shared level sees what one thread brought when another asks. */
TEST(the_last_level_is_one_for_all)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim;

	config.levels[2] = (struct sn_sim_shape){ 1024, 16 };
	config.level_count = 3;
	config.last_is_shared = true;
	sim = sn_sim_new(&config, 2, 1, NULL, NULL);
	stream(sim, 0, 0, 0, 64, 1000, false);
	stream(sim, 1, 0, 0, 64, 1000, false);
	CHECK_INT(total(sim, 1).read_misses, 2000);
	CHECK_INT(total(sim, 2).accesses, 2000);
	CHECK_INT(total(sim, 2).read_misses, 1000);
	sn_sim_free(sim);
}

/* ---- against the slow model ---- */

static void compare(const struct sn_sim *sim, struct naive *naive, int trial)
{
	uint64_t of_true, of_false;
	bool is_same = true;

	for (unsigned s = 0; s < SN_SIM_STAGES; s++) {
		struct sn_sim_stage stage = total(sim, s);
		const struct naive_counts *counts = &naive->counts[s];

		is_same &= stage.accesses == counts->accesses && stage.writes == counts->writes &&
			   stage.read_misses == counts->read_misses &&
			   stage.write_misses == counts->write_misses &&
			   stage.open == counts->open &&
			   !memcmp(stage.misses, counts->misses, sizeof(stage.misses));
		if (s < naive->private_count)
			is_same &= stage.lines == counts->lines && stage.used_bytes == counts->used;
	}
	transfers(sim, &of_true, &of_false);
	is_same &= of_true == naive->true_transfers && of_false == naive->false_transfers;
	if (!is_same)
		printf("# trial %d\n", trial);
	CHECK(is_same);
}

static struct sn_sim_config config_random(struct sn_random *random)
{
	struct sn_sim_config config = { .level_count = 1 + (unsigned)sn_random_below(random, 3),
					.page_bytes = 256,
					.tlb = { 1 + sn_random_below(random, 2), 2 } };

	config.line_bytes = 8u << sn_random_below(random, 5);
	config.is_plru = sn_random_below(random, 2);
	for (unsigned l = 0; l < config.level_count; l++)
		config.levels[l] = (struct sn_sim_shape){
			1 + sn_random_below(random, 3 + l),
			1 + (unsigned)sn_random_below(random, 6),
		};
	config.last_is_shared = config.level_count > 1 && sn_random_below(random, 2);
	return config;
}

/* Runs of several instructions with strides in turn, by several threads, on few lines. */
TEST(random_runs_as_in_a_slow_model)
{
	static struct naive naive;
	struct sn_random random;

	sn_random_seed(&random, 12);
	for (int trial = 0; trial < tap_trials(1500); trial++) {
		struct sn_sim_config config = config_random(&random);
		unsigned cores = 1 + (unsigned)sn_random_below(&random, NAIVE_CORES);
		uint64_t room = (uint64_t)config.line_bytes * 48;
		struct sn_sim *sim = sn_sim_new(&config, cores, 8, NULL, NULL);

		memset(&naive, 0, sizeof(naive));
		naive.config = config;
		naive.private_count = config.level_count - config.last_is_shared;
		for (int run = 0; run < 40; run++) {
			struct sn_sim_access accesses[3];
			size_t count = 1 + sn_random_below(&random, 3);
			uint64_t times = 1 + sn_random_below(&random, 30);
			unsigned core = (unsigned)sn_random_below(&random, cores);

			for (size_t i = 0; i < count; i++)
				accesses[i] = (struct sn_sim_access){
					.site = (uint32_t)(sn_random_below(&random, 2) * 4 + i),
					.size_bytes = 1u << sn_random_below(&random, 4),
					.address = 256 + sn_random_below(&random, room),
					.stride_bytes = (int64_t)sn_random_below(&random, 17) - 8,
					.is_write = sn_random_below(&random, 3) == 0,
				};
			for (uint64_t t = 0; t < times; t++)
				for (size_t i = 0; i < count; i++)
					naive_access(&naive, core,
						     accesses[i].address +
							     t * (uint64_t)accesses[i].stride_bytes,
						     accesses[i].size_bytes, accesses[i].is_write);
			sn_sim_run(sim, core, accesses, count, times);
		}
		naive_end(&naive);
		sn_sim_forget(sim);
		compare(sim, &naive, trial);
		sn_sim_free(sim);
	}
}

/* ---- objects, strides ---- */

static uint32_t halves(void *context, uint64_t address, uint64_t *first, uint64_t *last)
{
	(void)context;
	*first = address < 8192 ? 0 : 8192;
	*last = address < 8192 ? 8191 : UINT64_MAX;
	return address < 8192 ? 1 : 2;
}

TEST(accesses_are_told_apart_by_object)
{
	struct sn_sim_config config = config_usual();
	struct sn_sim *sim = sn_sim_new(&config, 1, 1, halves, NULL);
	const struct sn_sim_cell *cells;
	size_t count;

	stream(sim, 0, 0, 4096, 8, 1024, false);
	cells = sn_sim_cells(sim, &count);
	REQUIRE(count == 2);
	CHECK_INT(cells[0].object, 1);
	CHECK_INT(cells[0].stages[0].accesses, 512);
	CHECK_INT(cells[1].object, 2);
	CHECK_INT(cells[1].stages[0].accesses, 512);
	sn_sim_free(sim);
}

TEST(the_median_of_small_distances_is_exact)
{
	struct sn_sim_stage stage = { 0 };

	CHECK(isnan(sn_sim_stage_median(&stage)));
	stage.reuse[3] = 5;
	stage.reuse[7] = 4;
	CHECK_REAL(sn_sim_stage_median(&stage), 3, 0);
}

TEST(a_stride_of_most_accesses_is_found_among_many)
{
	struct sn_sim_stride strides[SN_SIM_STRIDES] = { 0 };
	uint64_t most = 0;
	int64_t bytes = 0;

	for (int64_t i = 0; i < 1000; i++)
		sn_sim_stride_add(strides, i % 3 ? 24 : i * 1000, 1);
	for (int s = 0; s < SN_SIM_STRIDES; s++)
		if (strides[s].count > most) {
			most = strides[s].count;
			bytes = strides[s].bytes;
		}
	CHECK_INT(bytes, 24);
	CHECK(most >= 666 - 1000 / 5 && most <= 666);
}
