/* Windows of an experiment made by hand, replayed. */
#include "caches/replay.h"

#include "harness/tap.h"
#include "profile/fixture.h"
#include "wire/accesses.h"

enum { LINES = 100 };

static struct fixture f;
static struct sn_experiment *experiment; /* of the fixture */

static const struct sn_sim_config config = { .levels = { { 64, 8 }, { 512, 8 } },
					     .level_count = 2,
					     .line_bytes = 64,
					     .tlb = { 16, 4 },
					     .page_bytes = 4096 };

static void begin(unsigned threads)
{
	fixture_begin(&f);
	experiment = f.experiment;
	for (unsigned i = 1; i < threads; i++)
		fixture_add_thread(&f, 0, 100 + (int32_t)i, "t");
}

/* A window of one record. */
static void window(uint32_t thread, uint64_t number, int64_t begin_ns, int64_t end_ns,
		   struct sn_access_record record)
{
	struct sn_access_record *records =
		sn_arena_new(&experiment->arena, struct sn_access_record);

	record.group_length = 1;
	*records = record;
	sn_vec_push(&experiment->windows, (struct sn_access_window){ .thread = thread,
								     .stack = SN_NONE,
								     .number = number,
								     .begin_ns = begin_ns,
								     .end_ns = end_ns,
								     .accesses = record.count,
								     .records = records,
								     .record_count = 1 });
}

static struct sn_access_record walk(uint64_t address)
{
	return (struct sn_access_record){ .link_addr = 16,
					  .address = address,
					  .stride_bytes = 64,
					  .count = LINES,
					  .size_bytes = 8,
					  .kind = SN_ACCESS_READ };
}

static struct sn_access_record adds(uint64_t address)
{
	return (struct sn_access_record){ .link_addr = 32,
					  .address = address,
					  .count = 6400,
					  .size_bytes = 8,
					  .kind = SN_ACCESS_BOTH };
}

static struct sn_replay *replayed(void)
{
	fixture_profile(&f, NULL);
	return sn_replay_new(f.profile, &config, 0);
}

static void end(struct sn_replay *replay)
{
	sn_replay_free(replay);
	fixture_end(&f);
}

static uint64_t misses(const struct sn_replay *replay)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < replay->cells.count; i++)
		sum += sn_sim_stage_misses(&replay->cells.items[i].stages[0]);
	return sum;
}

static uint64_t transfers(const struct sn_replay *replay, bool is_true)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < replay->shared.count; i++)
		sum += is_true ? replay->shared.items[i].true_transfers
			       : replay->shared.items[i].false_transfers;
	return sum;
}

TEST(instances_that_follow_find_the_caches_as_they_were)
{
	struct sn_replay *replay;

	begin(1);
	for (uint64_t i = 0; i < 5; i++)
		window(0, i, (int64_t)i * 100, (int64_t)i * 100 + 50, walk(1 << 20));
	replay = replayed();
	CHECK_INT(misses(replay), LINES);
	CHECK_INT(replay->windows, 5);
	CHECK_INT(replay->accesses, 5 * LINES);
	end(replay);
}

TEST(a_loop_is_replayed_until_it_has_its_part)
{
	struct sn_replay *replay;

	begin(1);
	for (uint64_t i = 0; i < 5; i++)
		window(0, i, (int64_t)i * 100, (int64_t)i * 100 + 50, walk((i + 1) << 20));
	fixture_profile(&f, NULL);
	replay = sn_replay_new(f.profile, &config, 2 * LINES + LINES / 2);
	CHECK_INT(replay->windows, 3);
	CHECK(replay->accesses >= 2 * LINES + LINES / 2 && replay->accesses < 3 * LINES);
	CHECK_INT(misses(replay), replay->accesses);
	CHECK_INT(replay->cut_windows, 1);
	end(replay);
}

/* A thread that begins first does not get the part of all: they would never be seen to meet. */
TEST(threads_side_by_side_are_replayed_for_the_same_time)
{
	struct sn_replay *replay;

	begin(2);
	window(0, 0, 0, 6400, adds(4096));
	window(1, 0, 1, 6401, adds(4096 + 8));
	fixture_profile(&f, NULL);
	replay = sn_replay_new(f.profile, &config, 3200);
	CHECK_INT(replay->windows, 2);
	CHECK(replay->accesses >= 3200 && replay->accesses <= 3300);
	CHECK(transfers(replay, false) > 50 && transfers(replay, false) <= 110);
	end(replay);
}

/* What one thread does alone is left out, where it would be all of the part. */
TEST(a_part_begins_where_threads_are_side_by_side)
{
	struct sn_replay *replay;

	begin(2);
	window(0, 0, 0, 6400, adds(4096));
	window(1, 0, 4800, 11200, adds(4096 + 8));
	fixture_profile(&f, NULL);
	replay = sn_replay_new(f.profile, &config, 2000);
	CHECK_INT(replay->windows, 2);
	CHECK_INT(replay->cut_windows, 2);
	CHECK(replay->accesses >= 2000 && replay->accesses <= 2100);
	CHECK(transfers(replay, false) > 30);
	end(replay);
}

/* Records of a group go on at their own strides; one that is over stays over. */
TEST(a_window_without_its_beginning_goes_on_where_it_was)
{
	struct sn_access_record group[2] = { walk(1 << 20), walk(1 << 24) };
	struct sn_replay *replay;

	begin(2);
	group[0].group_length = 2;
	group[1].count = 10;
	sn_vec_push(&experiment->windows, (struct sn_access_window){ .stack = SN_NONE,
								     .end_ns = 110,
								     .accesses = LINES + 10,
								     .records = group,
								     .record_count = 2 });
	window(1, 0, 60, 160, walk((1 << 20) + 30 * 64));
	fixture_profile(&f, NULL);
	replay = sn_replay_new(f.profile, &config, 50);
	/* 60 of 110 accesses are 30 iterations: lines 30 to 56 of the first record, the same as the other thread's */
	CHECK_INT(replay->windows, 2);
	CHECK(misses(replay) >= 50 && misses(replay) <= 60);
	CHECK_INT(replay->accesses, misses(replay));
	end(replay);
}

TEST(behind_instances_that_were_left_out_caches_are_empty)
{
	struct sn_replay *replay;

	begin(1);
	for (uint64_t i = 0; i < 5; i++)
		window(0, i * 2, (int64_t)i * 100, (int64_t)i * 100 + 50, walk(1 << 20));
	replay = replayed();
	CHECK_INT(misses(replay), 5 * LINES);
	end(replay);
}

TEST(a_window_that_is_cut_leaves_what_follows_unknown)
{
	struct sn_replay *replay;

	begin(1);
	window(0, 0, 0, 50, walk(1 << 20));
	experiment->windows.items[0].is_cut = true;
	window(0, 1, 100, 150, walk(1 << 20));
	replay = replayed();
	CHECK_INT(misses(replay), 2 * LINES);
	CHECK_INT(replay->cut_windows, 1);
	end(replay);
}

/* By their times they meet at every turn: 200 turns of 32 accesses each, and every one takes the line. */
TEST(threads_at_one_time_take_the_line_from_each_other)
{
	struct sn_replay *replay;

	begin(2);
	window(0, 0, 0, 6400, adds(4096));
	window(1, 0, 0, 6400, adds(4096 + 8));
	replay = replayed();
	CHECK(transfers(replay, false) > 300 && transfers(replay, false) <= 400);
	CHECK_INT(transfers(replay, true), 0);
	REQUIRE(replay->shared.count == 1);
	CHECK_INT(replay->shared.items[0].thread_count, 2);
	CHECK_INT(replay->shared.items[0].first_address, 4096);
	CHECK_INT(replay->shared.items[0].last_address, 4096 + 15);
	end(replay);
}

TEST(threads_one_after_the_other_hand_it_over_once)
{
	struct sn_replay *replay;

	begin(2);
	window(0, 0, 0, 6400, adds(4096));
	window(1, 0, 6401, 12800, adds(4096));
	replay = replayed();
	CHECK_INT(transfers(replay, true), 1);
	CHECK_INT(transfers(replay, false), 0);
	end(replay);
}

/* Instances that were left out lie between: nothing is seen to move, but a line was handed on. */
TEST(what_could_have_moved_is_named_where_nothing_was_seen_to)
{
	struct sn_replay *replay;
	struct sn_replay_handed handed;

	begin(2);
	window(0, 3, 0, 6400, adds(4096));
	window(0, 5, 6500, 6600, walk(1 << 20));
	window(1, 7, 7000, 12800, adds(4096 + 8));
	window(1, 9, 13000, 13100, walk(1 << 20)); /* both read: it stays */
	replay = replayed();
	CHECK_INT(replay->shared.count, 0);
	sn_replay_handed_find(replay, f.profile, &handed);
	CHECK_INT(handed.lines, 1);
	CHECK_INT(handed.threads, 2);
	REQUIRE(handed.objects.count == 1);
	CHECK_STRING(replay->objects.items[handed.objects.items[0]].name, "[heap]");
	sn_replay_handed_free(&handed);
	end(replay);
}

/* Windows that the part has no room for are not there. */
TEST(what_was_not_replayed_is_not_handed_on)
{
	struct sn_replay *replay;
	struct sn_replay_handed handed;

	begin(1);
	for (uint64_t i = 0; i < 5; i++)
		window(0, i, (int64_t)i * 100, (int64_t)i * 100 + 50, walk((i + 1) << 20));
	fixture_profile(&f, NULL);
	replay = sn_replay_new(f.profile, &config, LINES);
	CHECK(replay->windows < 5);
	sn_replay_handed_find(replay, f.profile, &handed);
	CHECK_INT(handed.threads, 1);
	CHECK_INT(handed.lines, 0);
	sn_replay_handed_free(&handed);
	end(replay);
}

TEST(what_a_thread_alone_used_is_not_handed_on)
{
	struct sn_replay *replay;
	struct sn_replay_handed handed;

	begin(2);
	window(0, 3, 0, 6400, adds(4096));
	window(0, 5, 7000, 12800, adds(4096));
	window(1, 3, 13000, 13100, adds(8192));
	replay = replayed();
	sn_replay_handed_find(replay, f.profile, &handed);
	CHECK_INT(handed.lines, 0);
	CHECK_INT(handed.objects.count, 0);
	sn_replay_handed_free(&handed);
	end(replay);
}

/* Records of a group take turns, and one whose count is over is left out. */
TEST(a_group_in_turns)
{
	struct sn_access_record records[2] = { walk(1 << 20), walk(1 << 21) };
	struct sn_replay *replay;

	begin(1);
	window(0, 0, 0, 50, walk(1 << 20));
	records[0].group_length = 2;
	records[1].count = 30;
	experiment->windows.items[0].records = records;
	experiment->windows.items[0].record_count = 2;
	experiment->windows.items[0].accesses = LINES + 30;
	replay = replayed();
	CHECK_INT(misses(replay), LINES + 30);
	end(replay);
}

/* Of four instances two were recorded, whole. */
TEST(a_loops_share_seen_is_by_its_instances)
{
	uint32_t stack;
	struct sn_replay *replay;

	begin(1);
	stack = fixture_stack(&f, 0, 1, APP, LEAF_MAIN_LOOP);
	for (uint64_t i = 0; i < 2; i++) {
		window(0, i * 2, (int64_t)i * 100, (int64_t)i * 100 + 50, walk(1 << 20));
		sn_vec_last(&experiment->windows).stack = stack;
	}
	sn_vec_push(&experiment->instances,
		    (struct sn_loop_instances){ .stack = stack, .instances = 4 });
	replay = replayed();
	REQUIRE(replay->loops.count == 1);
	CHECK(replay->loops.items[0].loop != SN_NONE);
	CHECK_REAL(replay->loops.items[0].seen_share, 0.5, 1e-9);
	CHECK_INT(replay->sites.items[replay->cells.items[0].site].loop,
		  replay->loops.items[0].loop);
	end(replay);
}

TEST(memory_of_no_file_is_told_by_its_region)
{
	static const struct {
		uint64_t address;
		const char *kind;
	} regions[] = {
		{ 0x555555560000, "heap" },
		{ 0x7fff00000000, "stack" },
		{ 0x7f0000000000, "mapped" },
	};

	for (size_t i = 0; i < sizeof(regions) / sizeof(*regions); i++) {
		struct sn_replay *replay;

		begin(1);
		window(0, 0, 0, 50, walk(regions[i].address));
		replay = replayed();
		REQUIRE(replay->objects.count == 1);
		CHECK_STRING(replay->objects.items[0].kind, regions[i].kind);
		end(replay);
	}
}
