#include "experiment/accesses.h"
#include "harness/tap.h"
#include "wire/accesses.h"

static void expect(struct sn_access_cursor *cursor, uint64_t link_addr, uint64_t address)
{
	struct sn_access access;

	REQUIRE(sn_access_next(cursor, &access));
	CHECK_INT(access.link_addr, link_addr);
	CHECK_INT(access.address, address);
}

TEST(accesses_of_a_group_take_turns)
{
	const struct sn_access_record records[] = {
		{ 1, 1000, 8, 3, 8, SN_ACCESS_READ, 2 },
		{ 2, 2000, -4, 2, 4, SN_ACCESS_WRITE, 0 },
		{ 3, 3000, 0, 1, 16, SN_ACCESS_BOTH, 1 },
	};
	const struct sn_access_window window = { .records = records, .record_count = 3 };
	struct sn_access_cursor cursor = { .window = &window };
	struct sn_access access;

	expect(&cursor, 1, 1000);
	expect(&cursor, 2, 2000);
	expect(&cursor, 1, 1008);
	expect(&cursor, 2, 1996);
	expect(&cursor, 1, 1016);
	REQUIRE(sn_access_next(&cursor, &access));
	CHECK_INT(access.address, 3000);
	CHECK_INT(access.size_bytes, 16);
	CHECK_INT(access.kind, SN_ACCESS_BOTH);
	CHECK(!sn_access_next(&cursor, &access));
	CHECK(!sn_access_next(&cursor, &access));
}

TEST(an_empty_window_has_no_access)
{
	const struct sn_access_window window = { 0 };
	struct sn_access_cursor cursor = { .window = &window };
	struct sn_access access;

	CHECK(!sn_access_next(&cursor, &access));
}
