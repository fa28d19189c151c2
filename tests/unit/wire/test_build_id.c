/* Build-ids in notes made for it: behind other notes, too long, cut short. */
#include "wire/build_id.h"

#include <string.h>

#include "harness/tap.h"

struct notes {
	uint8_t bytes[256];
	uint32_t length;
};

static void note_add(struct notes *notes, uint32_t type, const char *owner, uint32_t bytes,
		     uint8_t fill)
{
	uint32_t name_bytes = (uint32_t)strlen(owner) + 1;
	uint32_t head[] = { name_bytes, bytes, type };
	uint8_t *at = notes->bytes + notes->length;

	memcpy(at, head, sizeof(head));
	memcpy(at + sizeof(head), owner, name_bytes);
	memset(at + sizeof(head) + ((name_bytes + 3) & ~3U), fill, bytes);
	notes->length += (uint32_t)sizeof(head) + ((name_bytes + 3) & ~3U) + ((bytes + 3) & ~3U);
}

TEST(the_build_id_stands_behind_other_notes)
{
	struct notes notes = { 0 };
	uint32_t bytes = 0;
	const uint8_t *id;

	note_add(&notes, NT_GNU_BUILD_ID, "Go", 5, 1);
	note_add(&notes, NT_GNU_BUILD_ID, "abc", 8, 2);
	note_add(&notes, 1, "GNU", 16, 3);
	note_add(&notes, NT_GNU_BUILD_ID, "GNU", 20, 4);
	id = sn_build_id_find(notes.bytes, notes.length, SN_BUILD_ID_MAX, &bytes);
	REQUIRE(id);
	CHECK_INT(bytes, 20);
	CHECK_INT(id[0], 4);
	CHECK_INT(id[19], 4);
	for (uint32_t cut = 0; cut < notes.length; cut++)
		CHECK(!sn_build_id_find(notes.bytes, cut, SN_BUILD_ID_MAX, &bytes));
}

TEST(one_that_is_too_long_is_none)
{
	struct notes notes = { 0 };
	uint32_t bytes = 7;

	note_add(&notes, NT_GNU_BUILD_ID, "GNU", SN_BUILD_ID_MAX + 1, 1);
	CHECK(!sn_build_id_find(notes.bytes, notes.length, SN_BUILD_ID_MAX, &bytes));
	CHECK_INT(bytes, 7);
	CHECK(sn_build_id_find(notes.bytes, notes.length, 64, &bytes));
	CHECK_INT(bytes, SN_BUILD_ID_MAX + 1);
	memset(notes.bytes, 0xff, sizeof(notes.bytes));
	CHECK(!sn_build_id_find(notes.bytes, notes.length, SN_BUILD_ID_MAX, &bytes));
}
